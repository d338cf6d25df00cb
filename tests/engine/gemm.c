/* gemm.c: matrix products: right values; the same bits for any number of workers, any layout of the operands, packed or
 * not, and any instruction set. */
#include "engine/engine.h"
#include "engine/libs/blas.h"
#include "engine/libs/product.h"
#include "tests/check.h"

#include <math.h>
#include <stdlib.h>

typedef struct shape {
    int64_t m, n, k, batch;
} shape;

static const shape SHAPES[] = {
    {1, 1, 1, 1},       {2, 3, 4, 1},       {7, 5, 3, 3},        {1, 64, 64, 1},     {64, 1, 64, 1},
    {1, 1, 1000, 2},    {1, 700, 900, 1},   {700, 1, 900, 1},    {16, 16, 16, 40},   {33, 47, 65, 2},
    {64, 64, 64, 2},    {100, 100, 100, 1}, {101, 99, 103, 1},   {128, 10, 256, 1},  {128, 256, 10, 1},
    {128, 128, 128, 1}, {129, 127, 130, 1}, {3, 2000, 700, 1},   {2000, 3, 700, 1},  {256, 256, 256, 2},
    {128, 784, 256, 1}, {784, 128, 256, 1}, {500, 400, 300, 1},  {385, 769, 130, 1}, {300, 400, 40, 1},
    {2200, 1, 1000, 1}, {1, 2200, 1000, 1}, {450, 450, 1100, 1}, {900, 900, 1, 1},   {0, 3, 4, 1},
    {3, 0, 4, 1},       {3, 4, 0, 2},       {3, 4, 5, 0},        {4, 4, 4, 1000},    {8, 8, 8, 333},
    {5, 1, 3, 500},     {64, 1, 64, 70},    {1, 63, 257, 70},    {12, 32, 256, 1},   {13, 33, 257, 1},
    {11, 31, 255, 3},   {193, 513, 70, 1},  {196, 130, 520, 1},  {2, 9, 100000, 1},  {1, 1, 131072, 1},
    {1, 1, 300001, 1},  {5, 1, 140000, 2},  {1, 3, 262145, 2},   {1, 1, 256, 1},     {33, 1, 1025, 1},
    {20, 600, 2000, 1}, {12, 32, 20, 9},    {12, 33, 20, 9},     {3, 17, 5, 200},    {13, 5, 7, 50},
};

/* Sanitizers make the test's own loops slow: they see the smaller shapes. tsan looks at workers, which do the same with
 * every instruction set. */
#if defined(__SANITIZE_THREAD__)
static const int64_t WORK_MOST = 400000;
static const bool EVERY_SET = false;
#elif defined(__SANITIZE_ADDRESS__)
static const int64_t WORK_MOST = 5000000;
static const bool EVERY_SET = true;
#else
static const int64_t WORK_MOST = INT64_MAX;
static const bool EVERY_SET = true;
#endif

/* The test's own loops over elements need no watching, and are slow when watched. */
#define UNWATCHED __attribute__((no_sanitize("thread", "address", "undefined")))

typedef struct job {
    engine_gemm_args args;
    int status;
} job;

static int multiply(void *arg, const neap_run *run) {
    job *j = arg;
    j->status = engine_gemm(run, &j->args);
    return 0;
}

static uint64_t random_state = 1;

UNWATCHED static double draw(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(random_state >> 11) / 4503599627370496.0 - 1.0;
}

UNWATCHED static void put(void *data, bool f64, int64_t at, double value) {
    if (f64) {
        ((double *)data)[at] = value;
    } else {
        ((float *)data)[at] = (float)value;
    }
}

UNWATCHED static double get(const void *data, bool f64, int64_t at) {
    return f64 ? ((const double *)data)[at] : (double)((const float *)data)[at];
}

static void *new_data(int64_t count, bool f64) {
    int64_t bytes = (count > 0 ? count : 1) * (f64 ? 8 : 4);
    return calloc(1, (size_t)bytes);
}

/* A copy of batch matrices of rows × columns, transposed or not, with padding at the end of its rows. */
UNWATCHED static void *lay_out(const void *plain, bool f64, const shape *s, int64_t rows, int64_t columns,
                               bool transposed, int64_t pad) {
    int64_t height = transposed ? columns : rows, width = (transposed ? rows : columns) + pad;
    void *data = new_data(s->batch * height * width, f64);
    for (int64_t b = 0; b < s->batch; b++) {
        for (int64_t i = 0; i < rows; i++) {
            for (int64_t j = 0; j < columns; j++) {
                int64_t at = b * height * width + (transposed ? j * width + i : i * width + j);
                put(data, f64, at, get(plain, f64, (b * rows + i) * columns + j));
            }
        }
    }
    return data;
}

enum { PACKED = 8, LAYOUTS = 12 }; /* 1: a is transposed; 2: b is; 4: rows have padding; 8: b is packed */

/* A batch has no packed right side. */
static int layouts_of(const shape *s) {
    return s->batch == 1 ? LAYOUTS : PACKED;
}

/* Packs the right side, and hides it: b is read no more. The panels, to be freed; NULL: there are none. */
UNWATCHED static void *pack(job *j, engine_gemm_packed *packed, void *b, int64_t elements) {
    j->args.batch_axes = 0;
    *packed = engine_gemm_plan_packed(&j->args);
    if (!packed->bytes)
        return NULL;
    packed->panels = malloc(packed->bytes);
    engine_gemm_pack(&j->args, packed);
    j->args.packed = packed;
    for (int64_t i = 0; i < elements; i++)
        put(b, j->args.f64, i, NAN);
    return packed->panels;
}

/* The product with the given layout, tightly stored; the buffer is filled with NaN before. */
UNWATCHED static void *product(const shape *s, bool f64, const void *plain_a, const void *plain_b, int layout) {
    bool ta = layout & 1, tb = layout & 2;
    int64_t pad = layout & 4 ? 5 : 0;
    void *a = lay_out(plain_a, f64, s, s->m, s->k, ta, pad), *b = lay_out(plain_b, f64, s, s->k, s->n, tb, pad);
    int64_t ldc = s->n + pad;
    void *c = new_data(s->batch * s->m * ldc, f64), *tight = new_data(s->batch * s->m * s->n, f64);
    for (int64_t i = 0; i < s->batch * s->m * ldc; i++)
        put(c, f64, i, NAN);
    job j = {.args = {.f64 = f64,
                      .transpose_a = ta,
                      .transpose_b = tb,
                      .m = s->m,
                      .n = s->n,
                      .k = s->k,
                      .batch_axes = 1,
                      .batch = &s->batch,
                      .a = a,
                      .b = b,
                      .c = c,
                      .lda = (ta ? s->m : s->k) + pad,
                      .ldb = (tb ? s->k : s->n) + pad,
                      .ldc = ldc}};
    int64_t stride_a = (ta ? s->k : s->m) * j.args.lda, stride_b = (tb ? s->n : s->k) * j.args.ldb;
    j.args.strides_a = &stride_a;
    j.args.strides_b = &stride_b;
    j.args.stride_c = s->m * ldc;
    engine_gemm_packed packed;
    void *panels = layout & PACKED ? pack(&j, &packed, b, stride_b) : NULL;
    neap_push push = {.name = "matmul"};
    CHECK_EQ(neap_push_sync(multiply, &j, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(j.status, NEAP_OK);
    int64_t touched = 0;
    for (int64_t i = 0; i < s->batch * s->m; i++) {
        for (int64_t k = 0; k < s->n; k++)
            put(tight, f64, i * s->n + k, get(c, f64, i * ldc + k));
        for (int64_t k = s->n; k < ldc; k++)
            touched += !isnan(get(c, f64, i * ldc + k));
    }
    CHECK_EQ(touched, 0); /* nothing is written between the rows */
    free(a), free(b), free(c), free(panels);
    return tight;
}

UNWATCHED static void check_values(const shape *s, bool f64, const void *a, const void *b, const void *c) {
    double tolerance = (f64 ? 1e-15 : 5e-7) * (10 + sqrt((double)s->k) * 4);
    int64_t step = 1 + s->m * s->n * s->k / 1000000, wrong = 0; /* large products: every few rows */
    for (int64_t row = 0; row < s->batch * s->m; row += step) {
        for (int64_t j = 0; j < s->n; j++) {
            long double sum = 0; /* what is checked may be more exact than doubles added in order */
            for (int64_t k = 0; k < s->k; k++) {
                sum += (long double)get(a, f64, row * s->k + k) * get(b, f64, (row / s->m * s->k + k) * s->n + j);
            }
            wrong += !(fabs(get(c, f64, row * s->n + j) - (double)sum) <= tolerance * 4);
        }
    }
    CHECK_EQ(wrong, 0);
}

/* Whether the loops of an instruction set give the bits that others give: all vectors do, and all sets with fused
 * multiply-adds; others up to a limit (engine/libs/product.c). */
static bool gives_equal_bits(const shape *s, const char *isa) {
#if defined(__x86_64__)
    bool fused = strcmp(isa, "baseline") != 0;
#else
    bool fused = true;
#endif
    return fused || s->m == 1 || s->n == 1 || s->m * s->n * s->k <= 1 << 15;
}

UNWATCHED static void check_isas(const shape *s, bool f64, const void *a, const void *b, const void *first) {
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    size_t bytes = (size_t)(s->batch * s->m * s->n) * (f64 ? 8 : 4);
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if (engine_gemm_isa(isas[i]) != NEAP_OK)
            continue; /* this CPU has not got it */
        for (int layout = 0; layout < layouts_of(s); layout += 3) {
            void *c = product(s, f64, a, b, layout);
            check_values(s, f64, a, b, c);
            if (gives_equal_bits(s, isas[i]) && !CHECK(memcmp(first, c, bytes) == 0))
                fprintf(stderr, "%s: %lld x %lld x %lld\n", isas[i], (long long)s->m, (long long)s->n, (long long)s->k);
            free(c);
        }
    }
    CHECK_EQ(engine_gemm_isa(NULL), NEAP_OK);
}

UNWATCHED static void check_shape(const shape *s, bool f64) {
    static const neap_engine_config configs[] = {
        {.workers = 2}, {.workers = 1}, {.workers = 3}, {.scheduler = NEAP_SCHEDULER_NAIVE}};
    void *a = new_data(s->batch * s->m * s->k, f64), *b = new_data(s->batch * s->k * s->n, f64), *first = NULL;
    for (int64_t i = 0; i < s->batch * s->m * s->k; i++)
        put(a, f64, i, draw());
    for (int64_t i = 0; i < s->batch * s->k * s->n; i++)
        put(b, f64, i, draw());
    size_t bytes = (size_t)(s->batch * s->m * s->n) * (f64 ? 8 : 4);
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        CHECK_EQ(neap_engine_start(&configs[i]), NEAP_OK);
        for (int layout = 0; layout < layouts_of(s); layout += i == 0 ? 1 : 5) {
            void *c = product(s, f64, a, b, layout);
            if (!first) {
                first = c;
                check_values(s, f64, a, b, c);
                continue;
            }
            if (!CHECK(memcmp(first, c, bytes) == 0)) {
                fprintf(stderr, "%s %lld x %lld x %lld, batch %lld: layout %d, configuration %zu\n",
                        f64 ? "f64" : "f32", (long long)s->m, (long long)s->n, (long long)s->k, (long long)s->batch,
                        layout, i);
            }
            free(c);
        }
        if (i == 0 && EVERY_SET)
            check_isas(s, f64, a, b, first);
        neap_engine_stop();
    }
    free(a), free(b), free(first);
}

/* Loops other than those that b was packed for read b itself. */
static void packed_for_others(void) {
    enum { M = 5, N = 40, K = 3 };
    float a[M * K], b[K * N], c[M * N];
    for (int i = 0; i < M * K; i++)
        a[i] = (float)i;
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 7);
    engine_gemm_args args = {.m = M, .n = N, .k = K, .a = a, .b = b, .c = c, .lda = K, .ldb = N, .ldc = N};
    engine_gemm_packed packed = engine_gemm_plan_packed(&args);
    CHECK(packed.bytes >= sizeof b);
    packed.panels = calloc(1, packed.bytes); /* zeros, so that who reads them is seen */
    args.packed = &packed;
    bool others = engine_gemm_isa("baseline") == NEAP_OK && packed.loops != engine_gemm_loops();
    neap_run run = {.worker = -1};
    CHECK_EQ(engine_gemm(&run, &args), NEAP_OK);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++)
            CHECK_EQ(c[i * N + j],
                     others ? a[i * K] * b[j] + a[i * K + 1] * b[N + j] + a[i * K + 2] * b[2 * N + j] : 0);
    CHECK_EQ(engine_gemm_isa(NULL), NEAP_OK);
    free(packed.panels);
}

/* One matrix for the whole batch: stride 0. */
static void shared_operand(void) {
    float a[2 * 2 * 3] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, b[3] = {1, 10, 100}, c[4];
    neap_run run = {.worker = -1};
    engine_gemm_args args = {.m = 2,
                             .n = 1,
                             .k = 3,
                             .batch_axes = 1,
                             .batch = (int64_t[]){2},
                             .a = a,
                             .b = b,
                             .c = c,
                             .lda = 3,
                             .ldb = 1,
                             .ldc = 1,
                             .strides_a = (int64_t[]){6},
                             .strides_b = (int64_t[]){0},
                             .stride_c = 2};
    CHECK_EQ(engine_gemm(&run, &args), NEAP_OK);
    CHECK(c[0] == 321 && c[1] == 654 && c[2] == 987 && c[3] == 1320);
    args.m = -1;
    CHECK_EQ(engine_gemm(&run, &args), NEAP_E_SHAPE);
}

/* Matrices by their own transposes: as by a copy of these, bit for bit. */
UNWATCHED static void check_own_transpose(int64_t n, int64_t k, bool f64, bool transpose) {
    int64_t one = n * k, width = transpose ? n : k, batch = 2;
    void *a = new_data(batch * one, f64), *copy = new_data(batch * one, f64), *c[2];
    for (int64_t i = 0; i < batch * one; i++)
        put(a, f64, i, draw());
    memcpy(copy, a, (size_t)(batch * one) * (f64 ? 8 : 4));
    neap_engine_start(&(neap_engine_config){.workers = 3});
    for (int own = 0; own < 2; own++) {
        c[own] = new_data(batch * n * n, f64);
        job j = {.args = {.f64 = f64,
                          .transpose_a = transpose,
                          .transpose_b = !transpose,
                          .m = n,
                          .n = n,
                          .k = k,
                          .batch_axes = 1,
                          .batch = &batch,
                          .strides_a = &one,
                          .strides_b = &one,
                          .a = a,
                          .b = own ? a : copy,
                          .c = c[own],
                          .lda = width,
                          .ldb = width,
                          .ldc = n,
                          .stride_c = n * n}};
        neap_push push = {.name = "matmul"};
        CHECK_EQ(neap_push_sync(multiply, &j, &push), NEAP_OK);
        CHECK_EQ(neap_wait_all(), NEAP_OK);
        CHECK_EQ(j.status, NEAP_OK);
    }
    neap_engine_stop();
    CHECK(memcmp(c[0], c[1], (size_t)(batch * n * n) * (f64 ? 8 : 4)) == 0);
    free(a), free(copy), free(c[0]), free(c[1]);
}

/* Products of matrices of 2 × 2 that lie one behind the other; the caller adds a batch. */
static engine_gemm_args of_two_by_two(const float *a, const float *b, float *c) {
    return (engine_gemm_args){
        .m = 2, .n = 2, .k = 2, .a = a, .b = b, .c = c, .lda = 2, .ldb = 2, .ldc = 2, .stride_c = 4};
}

/* Two axes of a batch that no one distance leads through, as of heads that are not next to each other. */
static void batch_of_two_axes(void) {
    float a[2 * 3 * 4] = {0}, b[3 * 4], c[2 * 3 * 4];
    for (int i = 0; i < 24; i++)
        a[i] = (float)i;
    for (int i = 0; i < 12; i++)
        b[i] = (float)(i % 5);
    neap_run run = {.worker = -1};
    /* Matrices of 2 × 2 at a[i][j] of (2, 3, 2, 2), taken in the order (3, 2); b's (3, 2, 2) are shared by the 2. */
    engine_gemm_args args = of_two_by_two(a, b, c);
    args.batch_axes = 2;
    args.batch = (int64_t[]){3, 2};
    args.strides_a = (int64_t[]){4, 12};
    args.strides_b = (int64_t[]){4, 0};
    CHECK_EQ(engine_gemm(&run, &args), NEAP_OK);
    for (int j = 0; j < 3; j++) {
        for (int i = 0; i < 2; i++) {
            const float *x = a + (i * 3 + j) * 4, *y = b + j * 4, *z = c + (j * 2 + i) * 4;
            CHECK(z[0] == x[0] * y[0] + x[1] * y[2] && z[1] == x[0] * y[1] + x[1] * y[3]);
            CHECK(z[2] == x[2] * y[0] + x[3] * y[2] && z[3] == x[2] * y[1] + x[3] * y[3]);
        }
    }
}

/* Two axes of a batch that one distance leads through: 2 × 3 matrices, one behind the other, by one for all. */
static void batch_of_even_axes(void) {
    float a[2 * 3 * 4], b[4] = {1, 10, 100, 1000}, c[2 * 3 * 4];
    for (int i = 0; i < 24; i++)
        a[i] = (float)(i % 7);
    neap_run run = {.worker = -1};
    engine_gemm_args args = of_two_by_two(a, b, c);
    args.batch_axes = 3;
    args.batch = (int64_t[]){2, 1, 3};
    args.strides_a = (int64_t[]){12, 99, 4};
    args.strides_b = (int64_t[]){0, 99, 0};
    CHECK_EQ(engine_gemm(&run, &args), NEAP_OK);
    for (int i = 0; i < 24; i += 2)
        CHECK(c[i] == a[i] + 100 * a[i + 1] && c[i + 1] == 10 * a[i] + 1000 * a[i + 1]);
}

/* A NaN or an infinity reaches the elements that it belongs to, and no others. */
static void special_values(void) {
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if (engine_gemm_isa(isas[i]) != NEAP_OK)
            continue;
        for (int64_t n = 1; n < 40; n += 3) {
            float a[9 * 5], b[5 * 40], c[9 * 40];
            for (int k = 0; k < 45; k++)
                a[k] = 1;
            for (int k = 0; k < 200; k++)
                b[k] = k % n ? 2 : 0;
            a[0] = INFINITY, a[8 * 5 + 4] = NAN;
            neap_run run = {.worker = -1};
            engine_gemm_args args = {
                .m = 9, .n = n, .k = 5, .a = a, .b = b, .c = c, .lda = 5, .ldb = n, .ldc = n, .stride_c = 9 * n};
            CHECK_EQ(engine_gemm(&run, &args), NEAP_OK);
            for (int64_t row = 0; row < 9; row++) {
                for (int64_t j = 0; j < n; j++) {
                    float x = c[row * n + j];
                    bool nan = row == 8 || (row == 0 && j == 0);
                    CHECK(nan ? isnan(x) : row == 0 ? isinf(x) : x == (j ? 10 : 0));
                }
            }
        }
    }
    CHECK_EQ(engine_gemm_isa("nonsense"), NEAP_E_ARGUMENT);
    CHECK_EQ(engine_gemm_isa(NULL), NEAP_OK);
}

int main(void) {
    CHECK_EQ(engine_blas_load(), NEAP_OK);
    CHECK(engine_blas_name() != NULL);
    CHECK(getenv("OPENBLAS_NUM_THREADS") == NULL);
    shared_operand();
    packed_for_others();
    batch_of_two_axes();
    batch_of_even_axes();
    for (int k = 0; k < 8; k++)
        check_own_transpose(k & 4 ? 131 : 300, 90, k & 1, k & 2);
    special_values();
    for (size_t i = 0; i < sizeof SHAPES / sizeof SHAPES[0]; i++) {
        if (SHAPES[i].m * SHAPES[i].n * SHAPES[i].k > WORK_MOST)
            continue;
        check_shape(&SHAPES[i], false);
        check_shape(&SHAPES[i], true);
    }
    return check_end();
}
