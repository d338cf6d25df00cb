/* backend_host.c: the backend of devices that run host functions in the order of their streams, and have no other: each
 * step is a launch, whose host function is the chunked VM.
 *
 * A launch carries buffers and words. So what the host function needs beside the buffers (the kernel, or the call; the
 * op's run-context) goes into the first words, and the numbers of the step follow.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/vm/backend.h"

enum { WORD_WORK, WORD_OFFSETS, WORD_EPOCH, WORD_NUMBERS, FEW = 32 };

enum { WORDS_OF_NUMBER = sizeof(lazy_scalar) / sizeof(uint64_t) };
_Static_assert(sizeof(lazy_scalar) % sizeof(uint64_t) == 0, "a number of a step is words of a launch");

/* The host function runs on the host: its scratch memory too is that of a CPU device. */
static neap_run run_of(const neap_launch *launch) {
    return (neap_run){.worker = -1, .epoch = (uint32_t)launch->scalars[WORD_EPOCH]};
}

static int run_kernel(const neap_launch *launch) {
    neap_run run = run_of(launch);
    return vm_kernel_run((const lazy_kernel *)(uintptr_t)launch->scalars[WORD_WORK], launch->buffers,
                         (const lazy_scalar *)(launch->scalars + WORD_NUMBERS), &run);
}

static int run_call(const neap_launch *launch) {
    neap_run run = run_of(launch);
    return vm_call_run((const lazy_call *)(uintptr_t)launch->scalars[WORD_WORK],
                       (const int64_t *)(uintptr_t)launch->scalars[WORD_OFFSETS], launch->buffers, NULL, &run);
}

static int launch_step(const void *work, const int64_t *offsets, const lazy_operands *with, const neap_run *run,
                       int (*host)(const neap_launch *launch)) {
    size_t n = WORD_NUMBERS + WORDS_OF_NUMBER * (size_t)with->nnumbers;
    uint64_t few[FEW], *words = n <= FEW ? few : malloc(n * sizeof *words);
    if (!words)
        return neap_error(NEAP_E_MEMORY, "out of memory for a launch");
    words[WORD_WORK] = (uintptr_t)work;
    words[WORD_OFFSETS] = (uintptr_t)offsets;
    words[WORD_EPOCH] = run->epoch;
    if (with->nnumbers)
        memcpy(words + WORD_NUMBERS, with->numbers, (size_t)with->nnumbers * sizeof *with->numbers);
    neap_launch launch = {.name = with->name,
                          .nbuffers = with->nbufs,
                          .nscalars = (int)n,
                          .buffers = with->bufs,
                          .scalars = words,
                          .groups = {1, 1, 1},
                          .threads = {1, 1, 1},
                          .host = host};
    int status = neap_run_launch(run, &launch);
    if (words != few)
        free(words);
    return status;
}

static int host_run(const lazy_kernel *kernel, const lazy_operands *with, const neap_run *run) {
    return launch_step(kernel, NULL, with, run, run_kernel);
}

static int host_call(const lazy_call *call, const int64_t *offsets, const lazy_operands *with, const neap_run *run) {
    return launch_step(call, offsets, with, run, run_call);
}

const lazy_backend vm_backend_host = {
    .kind = NULL,
    .prepare = vm_backend_prepare,
    .unprepare = vm_kernel_unprepare,
    .cost = vm_kernel_cost,
    .tier = vm_kernel_tier,
    .why = vm_kernel_why,
    .compile = vm_kernel_compile,
    .run = host_run,
    .call = host_call,
    .copy = vm_backend_copy,
};
