/* vm_gpu.h: how tests run code for GPUs, on the CPU as an emulated grid (lazy/native/gpu.h), or, with NEAP_TEST_ON=cuda
 * in the environment, on the first GPU; and how they compare that of a kernel with the VM. */
#ifndef NEAP_TESTS_LAZY_VM_GPU_H
#define NEAP_TESTS_LAZY_VM_GPU_H

#include "engine/device.h"
#include "lazy/vm/gpu.h"
#include "tests/lazy/vm_native.h"
#include "tests/lazy/vm_random.h"

static int gpu_device = -1; /* the engine's number of the GPU; -1: the emulated grid */

/* Whether code for GPUs can be made; says so if not. Starts the engine if there is a GPU to run on. Another
 * NEAP_TEST_SEED draws other samples. */
static inline bool gpu_begin(void) {
    char text[256];
    const char *on = getenv("NEAP_TEST_ON"), *drawn = getenv("NEAP_TEST_SEED");
    native_begin();
    neap_tier_set("vm");
    seed += drawn ? strtoull(drawn, NULL, 10) << 20 : 0;
    const bool is_there = gpu_available(text, sizeof text);
    if (native_is_there && !is_there)
        fprintf(stderr, "0 passed, 0 failed, 1 skipped\nskipped code for GPUs: %s\n", text);
    if (!is_there || !on)
        return is_there;
    if (!CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2}), NEAP_OK) ||
        !CHECK_EQ(neap_device_open(on, 0, &gpu_device), NEAP_OK)) {
        fprintf(stderr, "%s\n", neap_error_text());
        exit(check_end());
    }
    return true;
}

/* ---- Code and its launches --------------------------------------------------------------------------------------- */

typedef struct gpu_made { /* code of all entries: for the emulated grid, or a text with one of its entries loaded */
    gpu_code *host;
    char *text;
    size_t bytes;
    neap_code *kept; /* which keeps the driver from compiling it again */
} gpu_made;

/* `entry`: any of the code. */
static inline bool gpu_make(const gpu_kernel *kernel, const char *entry, gpu_made *out) {
    int status;
    *out = (gpu_made){0};
    if (gpu_device < 0) {
        status = gpu_code_new(kernel, &out->host);
    } else {
        const char *target = neap_device_kind_of(gpu_device)->code_target(neap_device_handle(gpu_device));
        status = gpu_text(kernel, target, &out->text, &out->bytes);
        if (!status)
            status = neap_code_new(gpu_device, entry, out->text, out->bytes, &out->kept);
    }
    if (!CHECK_EQ(status, NEAP_OK))
        fprintf(stderr, "%s\n", neap_error_text());
    return status == NEAP_OK;
}

static inline void gpu_unmake(gpu_made *made) {
    gpu_code_free(made->host);
    if (made->kept)
        neap_code_free(gpu_device, made->kept);
    free(made->text);
    *made = (gpu_made){0};
}

typedef struct gpu_launch {
    const char *entry;
    uint64_t groups;
    uint64_t *words;
} gpu_launch;

typedef struct gpu_launches { /* with the same buffers */
    const gpu_made *made;
    int n, nbuffers, nwords;
    const gpu_launch *of;
    void *const *buffers;
    const int64_t *bytes;
    int64_t scratch_bytes; /* of a buffer more, that is theirs alone */
    int taken;             /* buffers that the code takes: these, the scratch if it has one, any others */
    neap_buffer **there;   /* their copies on the GPU, which begin as far behind a multiple of 16 bytes */
} gpu_launches;

static inline void gpu_emulate(const gpu_launches *l, bool backwards) {
    enum { GUARD = 64 };
    void **buffers = calloc((size_t)(l->nbuffers + l->taken + 1), sizeof *buffers);
    char *scratch = malloc((size_t)l->scratch_bytes + GUARD);
    memset(scratch, 0x77, (size_t)l->scratch_bytes + GUARD);
    memcpy(buffers, l->buffers, (size_t)l->nbuffers * sizeof *buffers);
    buffers[l->nbuffers] = scratch;
    for (int k = 0; k < l->n; k++) {
        const uint64_t groups = l->of[k].groups;
        const gpu_entry entry = gpu_code_entry(l->made->host, l->of[k].entry);
        for (uint64_t g = 0; g < groups; g++)
            entry(buffers, l->of[k].words, backwards ? (groups - 1 - g) | GPU_BACKWARDS : g);
    }
    for (int k = 0; k < GUARD; k++)
        CHECK_EQ(scratch[l->scratch_bytes + k], 0x77);
    free(scratch), free(buffers);
}

static inline size_t gpu_shift(const void *buffer) {
    return (uintptr_t)buffer % 16;
}

static inline int gpu_enqueue(void *arg, const neap_run *run) {
    const gpu_launches *l = arg;
    void **buffers = calloc((size_t)(l->nbuffers + l->taken + 1), sizeof *buffers);
    int status = NEAP_OK;
    for (int k = 0; k < l->nbuffers; k++)
        buffers[k] = (char *)neap_buffer_data(l->there[k]) + gpu_shift(l->buffers[k]);
    if (l->scratch_bytes > 0)
        status = neap_run_alloc(run, (size_t)l->scratch_bytes, &buffers[l->nbuffers]);
    for (int k = 0; k < l->n && !status; k++) {
        neap_code *code = NULL; /* of the text that is loaded */
        neap_launch one = {.name = l->of[k].entry,
                           .nbuffers = l->taken,
                           .nscalars = l->nwords,
                           .buffers = buffers,
                           .scalars = l->of[k].words,
                           .groups = {(uint32_t)l->of[k].groups, 1, 1},
                           .threads = {GPU_THREADS, 1, 1}};
        if (l->of[k].groups == 0)
            continue;
        status = neap_code_new(gpu_device, l->of[k].entry, l->made->text, l->made->bytes, &code);
        one.code = code;
        if (!status)
            status = neap_run_launch(run, &one);
        if (code)
            neap_code_free(gpu_device, code);
    }
    if (l->scratch_bytes > 0)
        neap_run_free(run, buffers[l->nbuffers], (size_t)l->scratch_bytes);
    free(buffers);
    return status;
}

/* Copies of buffers go to the GPU, and what it makes of them comes back. */
static inline void gpu_launch_there(gpu_launches *l) {
    const size_t n = (size_t)l->nbuffers;
    neap_buffer **host = calloc(n, sizeof *host);
    neap_var **vars = calloc(n, sizeof *vars);
    l->there = calloc(n, sizeof *l->there);
    for (size_t k = 0; k < n; k++) {
        const size_t shift = gpu_shift(l->buffers[k]), bytes = (size_t)l->bytes[k] + shift;
        CHECK_EQ(neap_buffer_new(0, bytes + 1, &host[k]), NEAP_OK);
        CHECK_EQ(neap_buffer_new(gpu_device, bytes + 1, &l->there[k]), NEAP_OK);
        memcpy((char *)neap_buffer_data(host[k]) + shift, l->buffers[k], (size_t)l->bytes[k]);
        CHECK_EQ(neap_buffer_copy(l->there[k], host[k], NULL), NEAP_OK);
        vars[k] = neap_buffer_var(l->there[k]);
    }
    neap_push push = {.name = "launches", .device = gpu_device, .nwrites = l->nbuffers, .writes = vars};
    CHECK_EQ(neap_push_sync(gpu_enqueue, l, &push), NEAP_OK);
    for (size_t k = 0; k < n; k++) {
        CHECK_EQ(neap_buffer_copy(host[k], l->there[k], NULL), NEAP_OK);
        if (!CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(host[k])), NEAP_OK))
            fprintf(stderr, "%s\n", neap_error_text());
        memcpy(l->buffers[k], (char *)neap_buffer_data(host[k]) + gpu_shift(l->buffers[k]), (size_t)l->bytes[k]);
        neap_buffer_release(host[k]);
        neap_buffer_release(l->there[k]);
    }
    free(l->there), free(vars), free(host);
}

/* On the emulated grid group after group and thread after thread, from the last ones on if `backwards`. */
static inline void gpu_do(gpu_launches *l, bool backwards) {
    if (gpu_device < 0)
        gpu_emulate(l, backwards);
    else
        gpu_launch_there(l);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

/* What plans were run: of how many elements of a thread, of neighbours, of more than GPU_EACH of them, by tiles, across
 * rows, of several stages, in blocks, in waves, and so several rows of a group. */
static struct {
    int several, near, full, tiled, across, staged, blocks, waves, rows_in_blocks, rows_in_waves;
} gpu_seen;

static inline void gpu_count(const vm_gpu *plan) {
    gpu_seen.several += plan->code.each > 1;
    gpu_seen.near += plan->code.near;
    gpu_seen.full += plan->code.near && plan->code.each > GPU_EACH;
    gpu_seen.tiled += plan->code.tiled;
    gpu_seen.across += plan->code.across;
    gpu_seen.staged += plan->code.staged;
    gpu_seen.blocks += plan->nlaunches > 1;
    gpu_seen.waves += plan->code.reduces && plan->words[GPU_WAVES] > 1;
    gpu_seen.rows_in_blocks += plan->nlaunches > 1 && plan->words[GPU_GROUP_ROWS] > 1;
    gpu_seen.rows_in_waves += plan->code.reduces && plan->words[GPU_WAVES] > 1 && plan->words[GPU_GROUP_ROWS] > 1;
}

/* Runs the launches of a plan. */
static inline void gpu_run(const vm_gpu *plan, const gpu_made *made, void *const *bufs, const int64_t *bytes,
                           const lazy_scalar *numbers, bool backwards) {
    gpu_launch launches[2];
    uint64_t *words = malloc((size_t)plan->code.nwords * sizeof *words);
    gpu_count(plan);
    vm_gpu_words(plan, numbers, words);
    for (int k = 0; k < plan->nlaunches; k++)
        launches[k] = (gpu_launch){plan->launches[k].entry, plan->launches[k].groups, words};
    gpu_launches all = {.made = made,
                        .n = plan->nlaunches,
                        .nbuffers = plan->code.nbuffers,
                        .nwords = plan->code.nwords,
                        .of = launches,
                        .buffers = bufs,
                        .bytes = bytes,
                        .scratch_bytes = plan->partial_bytes,
                        .taken = plan->code.nbuffers + plan->code.reduces};
    gpu_do(&all, backwards);
    free(words);
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
static inline bool gpu_agrees_by(lazy_kernel *kernel, const vm_gpu *plan, const gpu_made *made, void *const *bufs,
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
        gpu_run(plan, made, mine, bytes, numbers, below(2));
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
    gpu_made made = {0};
    gpu_random_limits();
    bool ok = CHECK(nbufs <= 64) && CHECK_EQ(vm_gpu_new(kernel, &plan), NEAP_OK) && CHECK(!vm_gpu_lacks(plan)) &&
              gpu_make(&plan->code, plan->launches[0].entry, &made) &&
              gpu_agrees_by(kernel, plan, &made, bufs, bytes, nbufs, numbers);
    gpu_unmake(&made);
    vm_gpu_free(plan);
    return ok;
}

#endif
