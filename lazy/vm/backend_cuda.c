/* backend_cuda.c: devices of the kind "cuda" as a backend. A kernel is launches of code that the generator makes of it
 * (vm/gpu.h), for the target of the device; np.explain shows "gpu". Calls are in backend_cuda_calls.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lazy/vm/backend_cuda.h"
#include "lazy/vm/gpu.h"
#include "lazy/vm/gpu_units.h"

enum { FEW_BUFFERS = 16, FEW_WORDS = 64, LAUNCH_COST = 3000 /* ns */ };

/* What a core does in less than the time of a launch: a guess, too. */
enum { LAUNCH_BYTES = 4096 };

/* ns of a byte, as on GPUs of data centres: a guess. */
static const double BYTE_COST = 0.0005;

typedef struct cuda_kernel { /* what a kernel's `prepared` is */
    vm_gpu *plan;
    vm_gpu_unit *unit;
    int64_t cost;
} cuda_kernel;

/* ---- Preparing --------------------------------------------------------------------------------------------------- */
static const char *lacks_kernel(const lazy_kernel *kernel, int device) {
    (void)device;
    vm_gpu *plan;
    if (vm_gpu_new(kernel, &plan) != NEAP_OK)
        return NULL; /* preparing it will say so */
    const char *lacks = vm_gpu_lacks(plan);
    vm_gpu_free(plan);
    return lacks;
}

static void unprepare(lazy_kernel *kernel) {
    cuda_kernel *own = kernel->prepared;
    if (own->unit)
        vm_gpu_unit_drop(own->unit);
    vm_gpu_free(own->plan);
    free(own);
    kernel->prepared = NULL;
}

static int64_t estimate(const lazy_kernel *kernel, const vm_gpu *plan) {
    lazy_traffic traffic = vm_kernel_traffic(kernel);
    return plan->nlaunches * (int64_t)LAUNCH_COST + (int64_t)(BYTE_COST * (double)(traffic.read + traffic.written));
}

static int ask_for_code(cuda_kernel *own, int device) {
    const neap_device_kind *kind = neap_device_kind_of(device);
    const char *entries[2];
    for (int k = 0; k < own->plan->nlaunches; k++)
        entries[k] = own->plan->launches[k].entry;
    return kind ? vm_gpu_unit_ask(&own->plan->code, own->plan->nlaunches, entries, device,
                                  kind->code_target(neap_device_handle(device)), &own->unit)
                : neap_error_code();
}

static int ask(lazy_kernel *kernel, int device) {
    cuda_kernel *own = calloc(1, sizeof *own);
    kernel->prepared = own;
    if (!own)
        return neap_error(NEAP_E_MEMORY, "out of memory for a kernel of a GPU");
    int status = vm_gpu_new(kernel, &own->plan);
    if (!status)
        status = ask_for_code(own, device);
    if (status)
        unprepare(kernel);
    return status;
}

/* What fails here is told by `prepare`, which tries again. */
static void ask_early(lazy_kernel *kernel, int device) {
    ask(kernel, device);
}

static int prepare(lazy_kernel *kernel, int device) {
    int status = kernel->prepared ? NEAP_OK : ask(kernel, device);
    if (status)
        return status;
    cuda_kernel *own = kernel->prepared;
    status = vm_gpu_unit_wait(own->unit);
    if (status)
        unprepare(kernel);
    else
        own->cost = estimate(kernel, own->plan);
    return status;
}

static int64_t cost(const lazy_kernel *kernel) {
    return ((const cuda_kernel *)kernel->prepared)->cost;
}

static const char *tier(const lazy_kernel *kernel, char *text, size_t capacity) {
    const cuda_kernel *own = kernel->prepared;
    snprintf(text, capacity, own->plan->nlaunches > 1 ? "gpu, %d launches" : "gpu", own->plan->nlaunches);
    return text;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */
/* The launches, with the scratch between them, of which nobody else gets a block before the stream is past them. */
static int launch(const cuda_kernel *own, const char *name, void **buffers, const uint64_t *words,
                  const neap_run *run) {
    const vm_gpu *plan = own->plan;
    const int nbuffers = plan->code.nbuffers + plan->code.reduces;
    int status = NEAP_OK;
    if (plan->code.reduces)
        buffers[nbuffers - 1] = NULL;
    if (plan->partial_bytes > 0)
        status = neap_run_alloc(run, (size_t)plan->partial_bytes, &buffers[nbuffers - 1]);
    if (status)
        return status;
    for (int k = 0; k < plan->nlaunches && !status; k++) {
        neap_launch one = {.name = name,
                           .code = vm_gpu_unit_code(own->unit, k),
                           .nbuffers = nbuffers,
                           .nscalars = plan->code.nwords,
                           .buffers = buffers,
                           .scalars = words,
                           .groups = {(uint32_t)plan->launches[k].groups, 1, 1},
                           .threads = {GPU_THREADS, 1, 1}};
        if (plan->launches[k].groups > 0)
            status = neap_run_launch(run, &one);
    }
    if (plan->partial_bytes > 0)
        neap_run_free(run, buffers[nbuffers - 1], (size_t)plan->partial_bytes);
    return status;
}

static int run_kernel(const lazy_kernel *kernel, const lazy_operands *with, const neap_run *run) {
    const cuda_kernel *own = kernel->prepared;
    const size_t nbuffers = (size_t)own->plan->code.nbuffers + 1, nwords = (size_t)own->plan->code.nwords;
    void *few[FEW_BUFFERS], **buffers = nbuffers <= FEW_BUFFERS ? few : malloc(nbuffers * sizeof *buffers);
    uint64_t few_words[FEW_WORDS], *words = nwords <= FEW_WORDS ? few_words : malloc(nwords * sizeof *words);
    int status = buffers && words ? NEAP_OK : neap_error(NEAP_E_MEMORY, "out of memory for a launch");
    if (!status) {
        memcpy(buffers, with->bufs, (nbuffers - 1) * sizeof *buffers);
        vm_gpu_words(own->plan, with->numbers, words);
        status = launch(own, with->name, buffers, words, run);
    }
    if (buffers != few)
        free(buffers);
    if (words != few_words)
        free(words);
    return status;
}

const lazy_backend vm_backend_cuda = {
    .kind = "cuda",
    .lacks_kernel = lacks_kernel,
    .lacks_call = vm_cuda_call_lacks,
    .ask = ask_early,
    .ask_call = vm_cuda_call_ask,
    .prepare_call = vm_cuda_call_prepare,
    .unprepare_call = vm_cuda_call_unprepare,
    .prepare = prepare,
    .unprepare = unprepare,
    .cost = cost,
    .tier = tier,
    .run = run_kernel,
    .call = vm_cuda_call,
    .call_launches = vm_cuda_call_launches,
    .records_call = vm_cuda_call_records,
    .copy = vm_backend_copy,
    .launch_bytes = LAUNCH_BYTES,
};
