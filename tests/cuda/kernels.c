/* kernels.c: random kernels by the CUDA backend give the VM's bits, as launches of their code on devices of the fake
 * driver; equal code is made once, also by several threads; failures of the driver, of each call in turn, are told, and
 * leave nothing behind. Skipped without a generator. (release build only: generated code has no sanitizer in it) */
#include <pthread.h>

#include "lazy/vm/backend.h"
#include "tests/cuda/cuda.h"
#include "tests/lazy/vm_gpu.h"
#include "tests/lazy/vm_kernels.h"

enum { BUFFERS = MAX_LOADS + MAX_SINKS };

static const lazy_backend *const backend = &vm_backend_cuda;

/* ---- Running ----------------------------------------------------------------------------------------------------- */
typedef struct step {
    const lazy_kernel *kernel;
    const sample *from;
    neap_buffer *buffers[BUFFERS];
} step;

static int run_step(void *arg, const neap_run *run) {
    const step *s = arg;
    void *data[BUFFERS];
    for (int k = 0; k < s->from->nbufs; k++)
        data[k] = neap_buffer_data(s->buffers[k]);
    lazy_operands with = {
        .name = "step", .nbufs = s->from->nbufs, .nnumbers = MAX_LOADS, .bufs = data, .numbers = s->from->scalars};
    return backend->run(s->kernel, &with, run);
}

static neap_buffer *buffer_of(int device, const void *data, int64_t bytes) {
    neap_buffer *host = NULL, *there = NULL;
    CHECK_EQ(neap_buffer_new(0, (size_t)bytes, &host), NEAP_OK);
    CHECK_EQ(neap_buffer_new(device, (size_t)bytes, &there), NEAP_OK);
    memcpy(neap_buffer_data(host), data, (size_t)bytes);
    CHECK_EQ(neap_buffer_copy(there, host, NULL), NEAP_OK);
    neap_buffer_release(host);
    return there;
}

/* Does a buffer of a device hold these bits? */
static bool holds(neap_buffer *buffer, int dtype, const void *bits, int64_t bytes) {
    neap_buffer *host = NULL;
    CHECK_EQ(neap_buffer_new(0, (size_t)bytes, &host), NEAP_OK);
    CHECK_EQ(neap_buffer_copy(host, buffer, NULL), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(host)), NEAP_OK);
    bool ok = CHECK(same(dtype, neap_buffer_data(host), bits, bytes));
    neap_buffer_release(host);
    return ok;
}

static int sink_dtype(const sample *s, int slot) {
    for (int k = 0; k < s->kernel.nsinks; k++)
        if (s->kernel.sinks[k].slot == slot)
            return s->kernel.sinks[k].dtype;
    return NEAP_DTYPE_U8;
}

/* Runs a prepared kernel on a device and compares all buffers with what the VM makes of the sample's, which it does. */
static void compare(sample *s, const lazy_kernel *kernel, int device) {
    step one = {.kernel = kernel, .from = s};
    neap_var *vars[BUFFERS];
    for (int k = 0; k < s->nbufs; k++) {
        one.buffers[k] = buffer_of(device, s->bufs[k], s->bytes[k]);
        vars[k] = neap_buffer_var(one.buffers[k]);
    }
    neap_push push = {.name = "step", .site = "here:1", .device = device, .nwrites = s->nbufs, .writes = vars};
    CHECK_EQ(neap_push_sync(run_step, &one, &push), NEAP_OK);
    CHECK_EQ(vm_kernel_prepare(&s->kernel), NEAP_OK);
    CHECK_EQ(vm_kernel_run(&s->kernel, s->bufs, s->scalars, NULL), NEAP_OK);
    vm_kernel_unprepare(&s->kernel);
    bool ok = true;
    for (int k = 0; k < s->nbufs; k++)
        ok = holds(one.buffers[k], sink_dtype(s, k), s->bufs[k], s->bytes[k]) && ok;
    if (!ok)
        gpu_describe(kernel, -1);
    for (int k = 0; k < s->nbufs; k++)
        neap_buffer_release(one.buffers[k]);
}

static void try_sample(sample *s) {
    const uint64_t kernels = counts().kernels;
    lazy_kernel own = s->kernel;
    char text[64];
    gpu_random_limits();
    CHECK(!backend->lacks_kernel(&own, gpus[0]));
    if (CHECK_EQ(backend->prepare(&own, gpus[0]), NEAP_OK)) {
        CHECK_TEXT(backend->tier(&own, text, sizeof text), "gpu");
        CHECK(backend->cost(&own) > 0);
        compare(s, &own, gpus[0]);
        CHECK(counts().kernels > kernels || s->bytes[0] == 0);
        backend->unprepare(&own);
    } else {
        fprintf(stderr, "%s\n", neap_error_text());
    }
    CHECK_EQ(counts().modules, 0);
    sample_free(s);
}

/* ---- Sharing ----------------------------------------------------------------------------------------------------- */
/* y = x * x + x, of so many elements. */
static void plain_new(sample *s, int64_t n) {
    *s = (sample){.kernel = {.ndim = 1, .nkept = 1, .shape = {n}, .nloads = 1, .nins = 2, .nsinks = 1}};
    s->kernel.loads = s->loads, s->kernel.ins = s->ins, s->kernel.sinks = s->sinks;
    s->loads[0] = (lazy_load){.kind = LAZY_LOAD_BUFFER, .dtype = NEAP_DTYPE_F32, .read = {.stride = {1}}};
    s->ins[0] = (lazy_ins){LAZY_OP_multiply, NEAP_DTYPE_F32, NEAP_DTYPE_F32, 2, {0, 0}};
    s->ins[1] = (lazy_ins){LAZY_OP_add, NEAP_DTYPE_F32, NEAP_DTYPE_F32, 2, {1, 0}};
    s->sinks[0] = (lazy_sink){.kind = LAZY_SINK_STORE, .dtype = NEAP_DTYPE_F32, .slot = 1, .value = 2};
    s->sinks[0].write.stride[0] = 1;
    s->nbufs = 2;
    s->bytes[0] = s->bytes[1] = n * 4;
    s->bufs[0] = random_buffer(NEAP_DTYPE_F32, n);
    s->bufs[1] = calloc((size_t)n, 4);
}

static void *prepare_one(void *arg) {
    CHECK_EQ(backend->prepare(arg, gpus[0]), NEAP_OK);
    return NULL;
}

static void sharing(void) {
    enum { THREADS = 4 };
    sample s[THREADS];
    lazy_kernel own[THREADS], there;
    pthread_t threads[THREADS];
    const uint64_t loaded = counts().loaded;
    for (int k = 0; k < THREADS; k++) {
        plain_new(&s[k], 100 + k);
        own[k] = s[k].kernel;
        pthread_create(&threads[k], NULL, prepare_one, &own[k]);
    }
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    CHECK_EQ(counts().loaded - loaded, 1);
    CHECK_EQ(counts().modules, 1);
    there = s[0].kernel;
    CHECK_EQ(backend->prepare(&there, gpus[1]), NEAP_OK);
    CHECK_EQ(counts().modules, 2);
    compare(&s[0], &there, gpus[1]);
    backend->unprepare(&there);
    for (int k = 0; k < THREADS; k++) {
        if (k > 0)
            compare(&s[k], &own[k], gpus[0]);
        CHECK_EQ(counts().modules, 1);
        backend->unprepare(&own[k]);
        sample_free(&s[k]);
    }
    CHECK_EQ(counts().modules, 0);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */
/* Kernels of different code are asked for, and prepared, or not: what was begun ends, and nothing is left. */
static void asking(void) {
    static const int ops[] = {LAZY_OP_add, LAZY_OP_subtract, LAZY_OP_multiply, LAZY_OP_maximum, LAZY_OP_minimum};
    enum { KERNELS = sizeof ops / sizeof *ops };
    sample s[KERNELS];
    lazy_kernel own[KERNELS], same;
    const uint64_t loaded = counts().loaded;
    for (int turn = 0; turn < 4; turn++) {
        for (int k = 0; k < KERNELS; k++) {
            plain_new(&s[k], 50 + k);
            s[k].ins[1].op = (uint16_t)ops[k];
            own[k] = s[k].kernel;
            backend->ask(&own[k], gpus[0]);
            CHECK(own[k].prepared != NULL);
        }
        same = s[KERNELS - 1].kernel;
        backend->ask(&same, gpus[0]);
        if (turn == 1) /* the first who asked goes, perhaps before anybody has begun */
            backend->unprepare(&own[KERNELS - 1]);
        for (int k = 0; k < KERNELS; k++) {
            if (turn == 0)
                CHECK_EQ(backend->prepare(&own[k], gpus[0]), NEAP_OK);
            if (turn == 0)
                compare(&s[k], &own[k], gpus[0]);
            if (own[k].prepared)
                backend->unprepare(&own[k]);
        }
        CHECK_EQ(backend->prepare(&same, gpus[0]), NEAP_OK);
        compare(&s[KERNELS - 1], &same, gpus[0]);
        backend->unprepare(&same);
        CHECK_EQ(counts().modules, 0);
        CHECK(turn > 0 || counts().loaded - loaded == KERNELS);
        for (int k = 0; k < KERNELS; k++)
            sample_free(&s[k]);
    }
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */
/* Each call that preparing takes fails in turn: it is told, and works the next time. */
static void failing(void) {
    sample s;
    int failed = 0;
    columns_new(&s, 3);
    for (int n = 1;; n++) {
        lazy_kernel own = s.kernel;
        fake->fail(n, CUDA_ERROR_INVALID_PTX);
        int status = backend->prepare(&own, gpus[0]);
        if (fake->fail(0, CUDA_SUCCESS) > 0) { /* there was no n-th call */
            CHECK_EQ(status, NEAP_OK);
            compare(&s, &own, gpus[0]);
            backend->unprepare(&own);
            break;
        }
        if (status) {
            CHECK_EQ(status, NEAP_E_LIBRARY);
            CHECK(own.prepared == NULL);
            CHECK_TEXT(neap_error_text(), "cuModule");
            failed++;
        } else {
            backend->unprepare(&own);
        }
        CHECK_EQ(counts().modules, 0);
    }
    CHECK(failed >= 2);
    sample_free(&s);
}

/* kernels [SAMPLES] */
int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 24;
    if (!gpu_begin())
        return 0;
    load_cuda();
    start(NEAP_SCHEDULER_POOL);
    for (int k = 0; k < samples; k++) {
        sample s;
        if (k % 6 == 4)
            columns_new(&s, k);
        else if (k % 6 == 5)
            strips_new(&s, k);
        else
            sample_new(&s, k % 2);
        try_sample(&s);
    }
    vm_gpu_limit = (vm_gpu_limits){.slots = 2048, .groups = 1024};
    sharing();
    asking();
    failing();
    stop();
    return check_end();
}
