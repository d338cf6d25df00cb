/* vm_gpu.h: how tests run a kernel through the emulated grid (lazy/native/gpu.h) and compare that with the VM. */
#ifndef NEAP_TESTS_LAZY_VM_GPU_H
#define NEAP_TESTS_LAZY_VM_GPU_H

#include "lazy/vm/gpu.h"
#include "tests/lazy/vm_native.h"
#include "tests/lazy/vm_random.h"

/* Whether code for GPUs can be made; says so if not. */
static inline bool gpu_begin(void) {
    char text[256];
    native_begin();
    neap_tier_set("vm");
    const bool is_there = gpu_available(text, sizeof text);
    if (native_is_there && !is_there)
        fprintf(stderr, "0 passed, 0 failed, 1 skipped\nskipped code for GPUs: %s\n", text);
    return is_there;
}

/* What plans were run: of how many elements of a thread, of neighbours, across rows, of several stages, in blocks, in
 * waves. */
static struct { int several, near, across, staged, blocks, waves; } gpu_seen;

static inline void gpu_count(const vm_gpu *plan) {
    gpu_seen.several += plan->code.each > 1;
    gpu_seen.near += plan->code.near;
    gpu_seen.across += plan->code.across;
    gpu_seen.staged += plan->code.staged;
    gpu_seen.blocks += plan->nlaunches > 1;
    gpu_seen.waves += plan->code.reduces && plan->words[GPU_WAVES] > 1;
}

/* Runs the launches of a plan, group after group and thread after thread, from the last ones on if `backwards`. */
static inline void gpu_run(const vm_gpu *plan, const gpu_code *code, void *const *bufs, const lazy_scalar *numbers,
                           bool backwards) {
    const int n = plan->code.nbuffers;
    gpu_count(plan);
    void **buffers = malloc((size_t)(n + 1) * sizeof *buffers);
    uint64_t *words = malloc((size_t)plan->code.nwords * sizeof *words);
    memcpy(buffers, bufs, (size_t)n * sizeof *buffers);
    buffers[n] = malloc((size_t)plan->partial_bytes + 16);
    vm_gpu_words(plan, numbers, words);
    for (int k = 0; k < plan->nlaunches; k++) {
        gpu_entry entry = gpu_code_entry(code, plan->launches[k].entry);
        uint64_t groups = plan->launches[k].groups;
        for (uint64_t g = 0; g < groups; g++)
            entry(buffers, words, backwards ? (groups - 1 - g) | GPU_BACKWARDS : g);
    }
    free(buffers[n]), free(buffers), free(words);
}

static inline void *gpu_copy(const void *data, int64_t bytes) {
    return memcpy(malloc((size_t)bytes + 16), data, (size_t)bytes);
}

static inline void gpu_describe(const lazy_kernel *kernel, int slot) {
    fprintf(stderr, "in buffer %d: domain", slot);
    for (int k = 0; k < kernel->ndim; k++)
        fprintf(stderr, "%s%d", k == kernel->nkept ? " | " : " ", (int)kernel->shape[k]);
    for (int k = 0; k < kernel->nloads; k++)
        fprintf(stderr, ", load %d of %d:%s", kernel->loads[k].kind, kernel->loads[k].slot,
                neap_dtype_name(kernel->loads[k].dtype));
    for (int k = 0; k < kernel->nins; k++)
        fprintf(stderr, ", %s(%d %d %d):%s", lazy_ops[kernel->ins[k].op]->name, kernel->ins[k].arg[0],
                kernel->ins[k].arg[1], kernel->ins[k].arg[2], neap_dtype_name(kernel->ins[k].dtype));
    for (int k = 0; k < kernel->nsinks; k++)
        fprintf(stderr, "; sink %d of %d %s to %d", kernel->sinks[k].kind, kernel->sinks[k].value,
                kernel->sinks[k].kind == LAZY_SINK_REDUCE ? lazy_ops[kernel->sinks[k].op]->name : "",
                kernel->sinks[k].slot);
    fprintf(stderr, "\n");
}

/* Does a kernel give the VM's bits by this code, and write nothing else? `bufs` keep what they hold. */
static inline bool gpu_agrees_by(lazy_kernel *kernel, const vm_gpu *plan, const gpu_code *code, void *const *bufs,
                                 const int64_t *bytes, int nbufs, const lazy_scalar *numbers) {
    void *mine[64], *theirs[64], *memory[64];
    const int shift = plan->code.near && below(4) == 0 ? 8 : 0; /* where no vector may be */
    for (int k = 0; k < nbufs; k++) {
        memory[k] = malloc((size_t)bytes[k] + 32), theirs[k] = gpu_copy(bufs[k], bytes[k]);
        mine[k] = memcpy((char *)memory[k] + shift, bufs[k], (size_t)bytes[k]);
    }
    bool ok =
        CHECK_EQ(vm_kernel_prepare(kernel), NEAP_OK) && CHECK_EQ(vm_kernel_run(kernel, theirs, numbers, NULL), NEAP_OK);
    vm_kernel_unprepare(kernel);
    if (ok)
        gpu_run(plan, code, mine, numbers, below(2));
    for (int k = 0; ok && k < nbufs; k++) {
        int dtype = NEAP_DTYPE_U8;
        for (int sink = 0; sink < kernel->nsinks; sink++)
            dtype = kernel->sinks[sink].slot == k ? kernel->sinks[sink].dtype : dtype;
        ok = CHECK(same(dtype, mine[k], theirs[k], bytes[k]));
        if (!ok)
            gpu_describe(kernel, k);
    }
    for (int k = 0; k < nbufs; k++)
        free(memory[k]), free(theirs[k]);
    return ok;
}

/* Rows in one wave or in several, in few blocks or in many, numbers of elements of 32 bits or of 64. */
static inline void gpu_random_limits(void) {
    vm_gpu_limit.slots = 256 << below(4);
    vm_gpu_limit.groups = below(3) ? 1024 : 1;
    vm_gpu_limit.wide = below(4) == 0;
}

/* The same by code of its own. */
static inline bool gpu_agrees(lazy_kernel *kernel, void *const *bufs, const int64_t *bytes, int nbufs,
                              const lazy_scalar *numbers) {
    vm_gpu *plan = NULL;
    gpu_code *code = NULL;
    gpu_random_limits();
    bool ok = CHECK(nbufs <= 64) && CHECK_EQ(vm_gpu_new(kernel, &plan), NEAP_OK) && CHECK(!vm_gpu_lacks(plan));
    if (ok && !CHECK_EQ(gpu_code_new(&plan->code, &code), NEAP_OK)) {
        fprintf(stderr, "%s\n", neap_error_text());
        ok = false;
    }
    ok = ok && gpu_agrees_by(kernel, plan, code, bufs, bytes, nbufs, numbers);
    gpu_code_free(code);
    vm_gpu_free(plan);
    return ok;
}

#endif
