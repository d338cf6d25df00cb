/* libraries.c: routines between other work of a stream, with the fake driver and its libraries: they stand in the
 * stream's order without a wait; any call of the driver or of a library may fail; a lost device is told; handles, plans
 * and scratch memory are given back. What routines compute: libraries_test.lua. */
#include "tests/cuda/cuda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 12, SIZE = N * N };

/* ---- Ops --------------------------------------------------------------------------------------------------------- */

typedef struct work {
    neap_buffer *a, *b, *c;
    neap_routine routine; /* without addresses */
} work;

static int run_product(void *arg, const neap_run *run) {
    work *w = arg;
    neap_routine routine = w->routine;
    routine.product.a = neap_buffer_data(w->a);
    routine.product.b = neap_buffer_data(w->b);
    routine.product.c = neap_buffer_data(w->c);
    return neap_run_routine(run, &routine);
}

static int run_transform(void *arg, const neap_run *run) {
    work *w = arg;
    neap_routine routine = w->routine;
    routine.fourier.in = neap_buffer_data(w->a);
    routine.fourier.out = neap_buffer_data(w->c);
    return neap_run_routine(run, &routine);
}

static int run_factor(void *arg, const neap_run *run) {
    work *w = arg;
    neap_routine routine = w->routine;
    routine.factor.a = neap_buffer_data(w->a);
    routine.factor.out = neap_buffer_data(w->c);
    return neap_run_routine(run, &routine);
}

static int run_convolution(void *arg, const neap_run *run) {
    work *w = arg;
    neap_routine routine = w->routine;
    routine.convolution.of.x = neap_buffer_data(w->a);
    routine.convolution.of.w = neap_buffer_data(w->b);
    routine.convolution.of.y = neap_buffer_data(w->c);
    return neap_run_routine(run, &routine);
}

static int scale_on_host(const neap_launch *launch) {
    double *data = launch->buffers[0];
    for (int k = 0; k < SIZE; k++)
        data[k] *= (double)launch->scalars[0];
    return NEAP_OK;
}

typedef struct scale {
    neap_buffer *buffer;
    uint64_t by;
} scale;

static int run_scale(void *arg, const neap_run *run) {
    const scale *s = arg;
    void *data = neap_buffer_data(s->buffer);
    neap_launch launch = {.name = "scale",
                          .nbuffers = 1,
                          .nscalars = 1,
                          .buffers = &data,
                          .scalars = &s->by,
                          .groups = {1, 1, 1},
                          .threads = {1, 1, 1},
                          .host = scale_on_host};
    return neap_run_launch(run, &launch);
}

static int push(neap_sync_fn fn, void *arg, int nreads, neap_buffer *const *reads, neap_buffer *writes) {
    neap_var *read[2], *write = neap_buffer_var(writes);
    for (int k = 0; k < nreads; k++)
        read[k] = neap_buffer_var(reads[k]);
    neap_push as = {.name = "routine",
                    .site = "here:1",
                    .device = neap_buffer_device(writes),
                    .nreads = nreads,
                    .reads = read,
                    .nwrites = 1,
                    .writes = &write};
    return neap_push_sync(fn, arg, &as);
}

static neap_routine product_of_f64(void) {
    return (neap_routine){.what = NEAP_ROUTINE_PRODUCT,
                          .f64 = true,
                          .product = {.m = N, .n = N, .k = N, .lda = N, .ldb = N, .ldc = N, .stride_c = SIZE}};
}

/* Real numbers back and forth would be (n, n / 2 + 1): here complex ones, half as many lines. */
static neap_routine transform_of_f64(void) {
    return (neap_routine){.what = NEAP_ROUTINE_FOURIER,
                          .f64 = true,
                          .fourier = {.kind = NEAP_FOURIER_COMPLEX, .n = 9, .outer = SIZE / 18, .inner = 1}};
}

/* ---- A chain of work --------------------------------------------------------------------------------------------- */

static int seen(int status) {
    if (status)
        CHECK(neap_error_text()[0] != 0);
    return status != NEAP_OK;
}

/* c = (3 a) b, c = 2 c; then its transform, whose first element is the sum of a line. Returns how much failed. */
static int compute(int device, bool held) {
    neap_buffer *host = NULL, *a = NULL, *b = NULL, *c = NULL, *d = NULL, *back = NULL;
    neap_buffer **all[] = {&host, &a, &b, &c, &d, &back};
    const int places[] = {0, device, device, device, device, 0};
    int failed = 0;
    for (int k = 0; k < 6; k++)
        failed += seen(neap_buffer_new(places[k], SIZE * sizeof(double), all[k]));
    work product = {a, b, c, product_of_f64()}, transform = {c, NULL, d, transform_of_f64()};
    scale first = {a, 3}, second = {c, 2};
    if (!failed) {
        double *numbers = neap_buffer_data(host);
        for (int k = 0; k < SIZE; k++)
            numbers[k] = (double)(k % 7) - 2;
        failed += seen(neap_buffer_copy(a, host, NULL)) + seen(neap_buffer_copy(b, host, NULL));
        failed += seen(neap_wait_all());
        if (held)
            fake->hold(0, true);
        failed += seen(push(run_scale, &first, 0, NULL, a));
        failed += seen(push(run_product, &product, 2, (neap_buffer *[]){a, b}, c));
        failed += seen(push(run_scale, &second, 0, NULL, c));
        failed += seen(push(run_transform, &transform, 1, &c, d));
        failed += seen(neap_buffer_copy(back, d, NULL));
        if (held) { /* nobody waited, and all of it is in the stream */
            CHECK_EQ(neap_var_poll(neap_buffer_var(d), NULL), NEAP_PENDING);
            fake->hold(0, false);
        }
        failed += seen(neap_var_wait_to_read(neap_buffer_var(back)));
        const double *got = neap_buffer_data(back);
        for (int line = 0; line < SIZE / 18 && !failed; line++) {
            double re = 0, im = 0;
            for (int j = 18 * line; j < 18 * line + 18; j++) {
                double sum = 0;
                for (int k = 0; k < N; k++)
                    sum += 6 * numbers[j / N * N + k] * numbers[k * N + j % N];
                re += j % 2 ? 0 : sum, im += j % 2 ? sum : 0;
            }
            CHECK(fabs(got[18 * line] - re) < 1e-9 && fabs(got[18 * line + 1] - im) < 1e-9);
        }
    }
    neap_wait_all();
    for (int k = 0; k < 6; k++)
        if (*all[k])
            neap_buffer_release(*all[k]);
    return failed;
}

static neap_routine factor_of_f64(neap_factor_kind kind) {
    return (neap_routine){
        .what = NEAP_ROUTINE_FACTOR, .f64 = true, .factor = {.kind = kind, .m = N, .n = N, .batch = 1}};
}

/* An image of N × N and a kernel of 3 × 3, as many results: more padding in front of the first axis than behind it. */
static neap_routine convolution_of_f64(void) {
    return (neap_routine){.what = NEAP_ROUTINE_CONVOLUTION,
                          .f64 = true,
                          .convolution = {.kind = NEAP_CONVOLUTION_FORWARD,
                                          .of = {.f64 = true,
                                                 .ndim = 2,
                                                 .batch = 1,
                                                 .channels = 1,
                                                 .features = 1,
                                                 .groups = 1,
                                                 .in = {N, N},
                                                 .kernel = {3, 3},
                                                 .out = {N, N},
                                                 .stride = {1, 1},
                                                 .dilation = {1, 1},
                                                 .low = {2, 1},
                                                 .high = {0, 1}}}};
}

/* The eigenvalues of b, and what the image l with l lᵀ = a gives under the kernel that a begins with. b is a, doubled.
 * Returns how much failed. */
static int factor(int device, bool held) {
    neap_buffer *host = NULL, *a = NULL, *l = NULL, *y = NULL, *values = NULL, *back[2] = {NULL};
    neap_buffer **all[] = {&host, &a, &l, &y, &values, &back[0], &back[1]};
    const int places[] = {0, device, device, device, device, 0, 0};
    int failed = 0;
    (void)held;
    for (int k = 0; k < 7; k++)
        failed += seen(neap_buffer_new(places[k], SIZE * sizeof(double), all[k]));
    work cholesky = {a, NULL, l, factor_of_f64(NEAP_FACTOR_CHOLESKY)}, convolution = {l, a, y, convolution_of_f64()};
    work eigenvalues = {a, NULL, values, factor_of_f64(NEAP_FACTOR_EIGH)};
    scale twice = {a, 2};
    if (!failed) {
        double *numbers = neap_buffer_data(host); /* of l lᵀ, l with ones on and below the diagonal */
        for (int k = 0; k < SIZE; k++)
            numbers[k] = (double)(k / N < k % N ? k / N : k % N) + 1;
        failed += seen(neap_buffer_copy(a, host, NULL));
        failed += seen(push(run_factor, &cholesky, 1, &a, l));
        failed += seen(push(run_convolution, &convolution, 2, (neap_buffer *[]){l, a}, y));
        failed += seen(push(run_scale, &twice, 0, NULL, a));
        failed += seen(push(run_factor, &eigenvalues, 1, &a, values));
        failed += seen(neap_buffer_copy(back[0], y, NULL)) + seen(neap_buffer_copy(back[1], values, NULL));
        failed += seen(neap_var_wait_to_read(neap_buffer_var(back[0])));
        failed += seen(neap_var_wait_to_read(neap_buffer_var(back[1])));
        const double *got = neap_buffer_data(back[0]), *w = neap_buffer_data(back[1]);
        double sum = 0;
        for (int k = 0; k < N && !failed; k++)
            sum += w[k];
        CHECK(failed || fabs(sum - N * (N + 1)) < 1e-9);
        /* The kernel is {1 … 1}, {1 … of another row}: 9 numbers of a's first row, all 1. */
        CHECK(failed || (fabs(got[0] - 1) < 1e-9 && fabs(got[5 * N + 1] - 9) < 1e-9));
    }
    neap_wait_all();
    for (int k = 0; k < 7; k++)
        if (*all[k])
            neap_buffer_release(*all[k]);
    return failed;
}

static const char *lacks(neap_routine routine) {
    return neap_routine_lacks(gpus[0], &routine);
}

static void in_order(int scheduler) {
    start(scheduler);
    CHECK(lacks(product_of_f64()) == NULL && lacks(transform_of_f64()) == NULL);
    const uint64_t before = counts().libraries;
    CHECK_EQ(compute(gpus[0], scheduler == NEAP_SCHEDULER_POOL), 0);
    CHECK_EQ(counts().libraries - before, 2);
    CHECK_EQ(compute(gpus[1], false), 0); /* whose handle is another one, made by need */
    stop();
}

/* Routines wait for nothing: as many waits as without them. */
static void no_waits(void) {
    start(NEAP_SCHEDULER_POOL);
    CHECK_EQ(compute(gpus[0], false), 0);
    neap_buffer *a = new_buffer(gpus[0], SIZE), *c = new_buffer(gpus[0], SIZE), *host = new_buffer(0, SIZE);
    fill(host, 1);
    CHECK_EQ(neap_buffer_copy(a, host, NULL), NEAP_OK);
    neap_wait_all();
    work w = {a, a, c, product_of_f64()};
    fake->hold(0, true);
    const uint64_t before = counts().libraries;
    for (int k = 0; k < 5; k++)
        CHECK_EQ(push(run_product, &w, 1, &a, c), NEAP_OK);
    for (int k = 0; k < 2000 && counts().libraries == before; k++)
        nap();
    CHECK(counts().libraries > before);
    fake->hold(0, false);
    neap_wait_all();
    CHECK_EQ(counts().libraries - before, 5);
    neap_buffer_release(a);
    neap_buffer_release(c);
    neap_buffer_release(host);
    stop();
}

/* A product is enqueued while cuSOLVER holds the caller of another routine up. */
static void not_behind_solver(void) {
    int (*pause)(bool pause) = NULL;
    char path[4200];
    snprintf(path, sizeof path, "%s/libcusolver.so.12", getenv("NEAP_CUDA_LIBRARIES"));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL),
         *found = library ? dlsym(library, "fake_cusolver_pause") : NULL;
    CHECK(found != NULL);
    if (!found)
        return;
    memcpy(&pause, &found, sizeof pause);
    start(NEAP_SCHEDULER_POOL);
    neap_buffer *a = new_buffer(gpus[0], SIZE), *c = new_buffer(gpus[0], SIZE), *values = new_buffer(gpus[0], SIZE);
    neap_buffer *host = new_buffer(0, SIZE);
    fill(host, 1);
    CHECK_EQ(neap_buffer_copy(a, host, NULL), NEAP_OK);
    neap_wait_all();
    CHECK(lacks(product_of_f64()) == NULL && lacks(factor_of_f64(NEAP_FACTOR_EIGH)) == NULL);
    work product = {a, a, c, product_of_f64()};
    work eigenvalues = {a, NULL, values, factor_of_f64(NEAP_FACTOR_EIGH)};
    const uint64_t before = counts().libraries;
    pause(true);
    CHECK_EQ(push(run_factor, &eigenvalues, 1, &a, values), NEAP_OK);
    for (int k = 0; k < 20000 && pause(true) == 0; k++)
        nap();
    CHECK_EQ(pause(true), 1);
    CHECK_EQ(push(run_product, &product, 1, &a, c), NEAP_OK);
    for (int k = 0; k < 20000 && counts().libraries == before; k++)
        nap();
    CHECK_EQ(counts().libraries - before, 1); /* the product */
    pause(false);
    neap_wait_all();
    neap_buffer *const all[] = {a, c, values, host};
    for (int k = 0; k < 4; k++)
        neap_buffer_release(all[k]);
    stop();
}

/* What a library or a copy takes is kept by the pool, which is no loss to whoever asks. */
static void kept_memory(void) {
    neap_device_facts facts;
    start(NEAP_SCHEDULER_POOL);
    CHECK_EQ(factor(gpus[0], false), 0);
    neap_wait_all();
    CHECK_EQ(neap_device_get(gpus[0], &facts), NEAP_OK);
    const uint64_t pooled = facts.memory_bytes - facts.memory_free; /* by the engine: whole blocks */
    CHECK(pooled < 1 << 20);
    CHECK_EQ(factor(gpus[0], false), 0);
    neap_wait_all();
    CHECK_EQ(neap_device_get(gpus[0], &facts), NEAP_OK);
    CHECK_EQ(facts.memory_bytes - facts.memory_free, pooled);
    stop();
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

/* Each call in turn fails, for want of memory, which is tried once more, or otherwise. */
static void each_call(int (*run)(int device, bool held), CUresult code, int step) {
    int failures = 0, n = 1;
    for (int64_t left = 0; left <= 0; n += step) {
        start(NEAP_SCHEDULER_POOL);
        fake->fail(n, code);
        failures += run(gpus[0], false) > 0;
        left = fake->fail(0, code);
        stop();
    }
    CHECK(failures > 0 && n > 40);
}

static void lost(int (*run)(int device, bool held), int64_t items) {
    for (int64_t item = 1; item < items; item++) {
        start(NEAP_SCHEDULER_POOL);
        fake->break_item(0, item, CUDA_ERROR_ILLEGAL_ADDRESS);
        if (run(gpus[0], false)) {
            CHECK(lacks(product_of_f64()) == NULL || strstr(lacks(product_of_f64()), "lost"));
            CHECK_EQ(run(gpus[1], false), 0); /* others work on */
        }
        stop();
    }
}

int main(void) {
    use_libraries();
    load_cuda();
    for (int scheduler = NEAP_SCHEDULER_POOL; scheduler <= NEAP_SCHEDULER_DEVICE; scheduler++)
        in_order(scheduler);
    no_waits();
    not_behind_solver();
    start(NEAP_SCHEDULER_POOL);
    CHECK(lacks(factor_of_f64(NEAP_FACTOR_CHOLESKY)) == NULL && lacks(convolution_of_f64()) == NULL);
    CHECK_EQ(factor(gpus[0], false), 0);
    stop();
    kept_memory();
    each_call(compute, CUDA_ERROR_OUT_OF_MEMORY, check_times(1, 5));
    each_call(compute, CUDA_ERROR_INVALID_VALUE, check_times(3, 11));
    each_call(factor, CUDA_ERROR_OUT_OF_MEMORY, check_times(2, 5));
    each_call(factor, CUDA_ERROR_INVALID_VALUE, check_times(3, 11));
    lost(compute, 12);
    lost(factor, 30);
    return check_end();
}
