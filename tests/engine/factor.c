/* factor.c: triangular systems, Cholesky and LU factorizations: small residuals, LAPACK's pivots; the same bits for any
 * number of workers and any instruction set. */
#include "engine/libs/factor.h"
#include "engine/libs/lapack.h"
#include "engine/libs/product.h"
#include "tests/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sanitizers make the test's own loops slow: they see the smaller sizes. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const int64_t LARGEST = 130;
#else
static const int64_t LARGEST = INT64_MAX;
#endif
#define UNWATCHED __attribute__((no_sanitize("thread", "address", "undefined")))

static const int64_t SIZES[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 73, 127, 130, 200, 257, 500};
static const int64_t SIDES[] = {1, 3, 17, 64, 65, 150};
enum { EMULATED = 65 }; /* rows of what is compared without fused multiply-adds, which take long */

/* ---- Matrices ---------------------------------------------------------------------------------------------------- */
static uint64_t random_state = 1;

UNWATCHED static double draw(void) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(random_state >> 11) / 4503599627370496.0 - 1.0;
}

UNWATCHED static void put(void *data, bool f64, int64_t at, double value) {
    if (f64)
        ((double *)data)[at] = value;
    else
        ((float *)data)[at] = (float)value;
}

UNWATCHED static double get(const void *data, bool f64, int64_t at) {
    return f64 ? ((const double *)data)[at] : (double)((const float *)data)[at];
}

static void *new_matrix(int64_t count, bool f64) {
    return calloc((size_t)(count > 0 ? count : 1), f64 ? 8 : 4);
}

/* Random numbers of at most this size, and `more` of them on the diagonal. */
UNWATCHED static void *drawn(int64_t rows, int64_t columns, bool f64, double size, double more) {
    void *a = new_matrix(rows * columns, f64);
    for (int64_t i = 0; i < rows * columns; i++)
        put(a, f64, i, draw() * size + (i / columns == i % columns ? more : 0));
    return a;
}

/* Symmetric and definite: a row's other elements add up to less than its diagonal. NaN above the diagonal, which nobody
 * reads. */
UNWATCHED static void *definite(int64_t n, bool f64) {
    void *a = drawn(n, n, f64, 1, (double)n + 1);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i + 1; j < n; j++)
            put(a, f64, i * n + j, NAN);
    }
    return a;
}

static double tolerance_of(int64_t n, bool f64) {
    return (f64 ? 1e-15 : 5e-7) * (10 + 4 * (double)n);
}

/* ---- One of the functions ---------------------------------------------------------------------------------------- */
typedef enum what { TRIANGULAR, CHOLESKY, LU, LU_SOLVE, INVERT } what;

typedef struct job {
    what what;
    bool f64, lower, transposed, unit, found;
    int64_t n, k;
    const void *a, *b; /* LU_SOLVE: a is the factors */
    void *out;
    int32_t *pivots;
    int status;
} job;

static int run_job(void *arg, const neap_run *run) {
    job *j = arg;
    switch (j->what) {
    case TRIANGULAR:
        j->status =
            engine_solve_triangular(run, j->f64, j->n, j->k, j->a, j->lower, j->transposed, j->unit, j->b, j->out);
        break;
    case CHOLESKY:
        j->status = engine_cholesky(run, j->f64, j->n, j->a, j->out, &j->found);
        break;
    case LU:
        j->status = engine_lu(run, j->f64, j->n, j->a, j->out, j->pivots);
        break;
    case LU_SOLVE:
        j->status = engine_lu_solve(run, j->f64, j->n, j->k, j->transposed, j->a, j->pivots, j->b, j->out);
        break;
    case INVERT:
        j->status = engine_invert(run, j->f64, j->n, j->a, j->out);
        break;
    }
    return 0;
}

static void compute(job *j) {
    neap_push push = {.name = "factor"};
    CHECK_EQ(neap_push_sync(run_job, j, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(j->status, NEAP_OK);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */
/* Element (i, j) of a job's matrix, as the job reads it. */
UNWATCHED static double element(const job *j, const void *a, int64_t row, int64_t column) {
    if (j->transposed) {
        const int64_t other = row;
        row = column;
        column = other;
    }
    if (j->what == TRIANGULAR && (j->lower ? column > row : column < row))
        return 0;
    return j->what == TRIANGULAR && j->unit && row == column ? 1 : get(a, j->f64, row * j->n + column);
}

/* Whether a x = b, but for rounding; some rows of large ones. */
UNWATCHED static void check_solution(const job *j, const void *a) {
    int64_t wrong = 0, step = 1 + j->n * j->n * j->k / 2000000;
    for (int64_t row = 0; row < j->n; row += step) {
        for (int64_t column = 0; column < j->k; column++) {
            double sum = 0, size = 1;
            for (int64_t i = 0; i < j->n; i++) {
                const double term = element(j, a, row, i) * get(j->out, j->f64, i * j->k + column);
                sum += term;
                size += fabs(term);
            }
            const double want = j->b ? get(j->b, j->f64, row * j->k + column) : row == column;
            wrong += !(fabs(sum - want) <= tolerance_of(j->n, j->f64) * size);
        }
    }
    if (!CHECK_EQ(wrong, 0))
        fprintf(stderr, "function %d: %lld rows, %lld columns\n", j->what, (long long)j->n, (long long)j->k);
}

UNWATCHED static void check_cholesky(const job *j) {
    const int64_t n = j->n;
    int64_t wrong = 0, step = 1 + n * n * n / 8000000;
    for (int64_t row = 0; row < n; row += step) {
        for (int64_t column = 0; column < n; column++) {
            double sum = 0;
            for (int64_t i = 0; i <= row && i <= column; i++)
                sum += get(j->out, j->f64, row * n + i) * get(j->out, j->f64, column * n + i);
            if (column > row)
                wrong += get(j->out, j->f64, row * n + column) != 0;
            else
                wrong += !(fabs(sum - get(j->a, j->f64, row * n + column)) <= tolerance_of(n, j->f64) * (double)n);
        }
    }
    CHECK_EQ(wrong, 0);
}

/* p aᵀ = l u, with no element of l above 1, and the pivots that LAPACK finds. */
UNWATCHED static void check_lu(const job *j) {
    const int64_t n = j->n;
    int64_t wrong = 0, step = 1 + n * n * n / 8000000;
    int64_t *order = calloc((size_t)n, sizeof *order);
    for (int64_t k = 0; k < n; k++)
        order[k] = k;
    for (int64_t k = 0; k < n; k++) {
        const int64_t pivot = j->pivots[k] - 1, other = order[k];
        CHECK(pivot >= k && pivot < n);
        order[k] = order[pivot];
        order[pivot] = other;
    }
    for (int64_t row = 0; row < n; row += step) {
        for (int64_t column = 0; column < n; column++) {
            double sum = 0;
            for (int64_t i = 0; i <= row && i <= column; i++) {
                const double l = i == row ? 1 : get(j->out, j->f64, i * n + row);
                sum += l * get(j->out, j->f64, column * n + i);
                wrong += fabs(l) > 1;
            }
            const double want = get(j->a, j->f64, column * n + order[row]);
            wrong += !(fabs(sum - want) <= tolerance_of(n, j->f64) * 4 * sqrt((double)n));
        }
    }
    CHECK_EQ(wrong, 0);
    free(order);
    const engine_lapack *lapack;
    const size_t bytes = (size_t)(n * n) * (j->f64 ? 8 : 4);
    int m = (int)n, info = 0, *pivots = calloc((size_t)n, sizeof *pivots);
    void *copy = malloc(bytes);
    memcpy(copy, j->a, bytes);
    if (CHECK_EQ(engine_lapack_get(j->f64, false, &lapack), NEAP_OK)) {
        lapack->getrf(&m, &m, copy, &m, pivots, &info);
        CHECK(memcmp(pivots, j->pivots, (size_t)n * sizeof *pivots) == 0);
    }
    free(copy), free(pivots);
}

/* ---- The same bits ----------------------------------------------------------------------------------------------- */
typedef struct results { /* of all functions, in the order of check_size */
    void *of[64];
    size_t bytes[64];
    int n;
} results;

/* The result of a job, or the one that was there before, which it equals. */
static void compare(results *all, bool first, const job *j, size_t elements, const char *by) {
    const size_t bytes = elements * (j->f64 ? 8 : 4);
    if (first) {
        all->of[all->n] = j->out;
        all->bytes[all->n++] = bytes;
        return;
    }
    if (!CHECK(all->bytes[all->n] == bytes && memcmp(all->of[all->n], j->out, bytes) == 0))
        fprintf(stderr, "function %d, %s: %lld rows, %lld columns: %s\n", j->what, j->f64 ? "f64" : "f32",
                (long long)j->n, (long long)j->k, by);
    all->n++;
    free(j->out);
}

typedef struct inputs {
    int64_t n, k;
    void *regular, *small, *definite, *sides; /* small: for triangles with ones on the diagonal */
} inputs;

static void all_functions(const inputs *in, bool f64, results *all, bool first, const char *by) {
    const int64_t n = in->n, k = in->k;
    all->n = 0;
    for (int form = 0; form < 8; form++) {
        job j = {.what = TRIANGULAR,
                 .f64 = f64,
                 .n = n,
                 .k = k,
                 .a = form & 4 ? in->small : in->regular,
                 .b = in->sides,
                 .lower = form & 1,
                 .transposed = form & 2,
                 .unit = form & 4,
                 .out = new_matrix(n * k, f64)};
        compute(&j);
        if (first)
            check_solution(&j, j.a);
        compare(all, first, &j, (size_t)(n * k), by);
    }
    job c = {.what = CHOLESKY, .f64 = f64, .n = n, .a = in->definite, .out = new_matrix(n * n, f64)};
    compute(&c);
    CHECK(c.found);
    if (first)
        check_cholesky(&c);
    compare(all, first, &c, (size_t)(n * n), by);
    int32_t *pivots = calloc((size_t)n, sizeof *pivots);
    job lu = {.what = LU, .f64 = f64, .n = n, .a = in->regular, .out = new_matrix(n * n, f64), .pivots = pivots};
    compute(&lu);
    void *factors = new_matrix(n * n, f64);
    memcpy(factors, lu.out, (size_t)(n * n) * (f64 ? 8 : 4));
    if (first)
        check_lu(&lu);
    compare(all, first, &lu, (size_t)(n * n), by);
    for (int transposed = 0; transposed < 2; transposed++) {
        job s = {.what = LU_SOLVE,
                 .f64 = f64,
                 .n = n,
                 .k = k,
                 .a = factors,
                 .b = in->sides,
                 .transposed = transposed,
                 .out = new_matrix(n * k, f64),
                 .pivots = pivots};
        compute(&s);
        if (first)
            check_solution(&s, in->regular);
        compare(all, first, &s, (size_t)(n * k), by);
    }
    free(factors), free(pivots);
    job inverse = {.what = INVERT, .f64 = f64, .n = n, .k = n, .a = in->regular, .out = new_matrix(n * n, f64)};
    compute(&inverse);
    if (first)
        check_solution(&inverse, in->regular);
    compare(all, first, &inverse, (size_t)(n * n), by);
}

static void check_sets(const inputs *in, bool f64, results *all) {
    static const char *const isas[] = {"baseline", "avx2", "avx512"};
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if (engine_gemm_isa(isas[i]) != NEAP_OK || (!engine_gemm_loops()->fused && in->n > EMULATED))
            continue;
        all_functions(in, f64, all, false, isas[i]);
    }
    CHECK_EQ(engine_gemm_isa(NULL), NEAP_OK);
}

static void check_size(int64_t n, int64_t k, bool f64) {
    static const neap_engine_config configs[] = {
        {.workers = 1}, {.workers = 2}, {.workers = 4}, {.scheduler = NEAP_SCHEDULER_NAIVE}};
    static const char *const names[] = {"one worker", "two workers", "four workers", "no workers"};
    inputs in = {.n = n, .k = k};
    in.regular = drawn(n, n, f64, 1, 1 + sqrt((double)n));
    in.small = drawn(n, n, f64, 1 / (double)n, 0);
    in.definite = definite(n, f64);
    in.sides = drawn(n, k, f64, 1, 0);
    results all = {.n = 0};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        CHECK_EQ(neap_engine_start(&configs[i]), NEAP_OK);
        all_functions(&in, f64, &all, i == 0, names[i]);
        if (i == 0)
            check_sets(&in, f64, &all);
        neap_engine_stop();
    }
    for (int i = 0; i < all.n; i++)
        free(all.of[i]);
    free(in.regular), free(in.small), free(in.definite), free(in.sides);
}

/* ---- Matrices without factors ------------------------------------------------------------------------------------ */
/* A column of zeros: pivots of 0, no elements that are not finite in the factors, infinities or NaN in solutions. */
static void check_singular(int64_t n, bool f64) {
    void *a = drawn(n, n, f64, 1, 0), *out = new_matrix(n * n, f64);
    int32_t *pivots = calloc((size_t)n, sizeof *pivots);
    for (int64_t j = 0; j < n; j++)
        put(a, f64, n / 2 * n + j, 0);
    job lu = {.what = LU, .f64 = f64, .n = n, .a = a, .out = out, .pivots = pivots};
    compute(&lu);
    int64_t zeros = 0;
    for (int64_t i = 0; i < n; i++)
        zeros += get(out, f64, i * n + i) == 0;
    for (int64_t i = 0; i < n * n; i++)
        CHECK(isfinite(get(out, f64, i)));
    CHECK(zeros >= 1);
    job inverse = {.what = INVERT, .f64 = f64, .n = n, .a = a, .out = out};
    compute(&inverse);
    bool finite = true;
    for (int64_t i = 0; i < n * n; i++)
        finite &= isfinite(get(out, f64, i)) != 0;
    CHECK(!finite);
    free(a), free(out), free(pivots);
}

/* A negative, a zero and a NaN on the diagonal, at its end and before. */
static void check_not_definite(int64_t n, bool f64) {
    static const double bad[] = {-1, 0, NAN, -INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (int end = 0; end < 2; end++) {
            void *a = new_matrix(n * n, f64), *out = new_matrix(n * n, f64);
            for (int64_t k = 0; k < n; k++)
                put(a, f64, k * n + k, k == (end ? n - 1 : n / 2) ? bad[i] : 2);
            job c = {.what = CHOLESKY, .f64 = f64, .n = n, .a = a, .out = out};
            compute(&c);
            CHECK(!c.found);
            free(a), free(out);
        }
    }
}

/* A NaN in a right side stays in its column; one in the matrix reaches what depends on it. */
static void check_not_finite(int64_t n, bool f64) {
    void *a = drawn(n, n, f64, 1, 1 + sqrt((double)n)), *b = drawn(n, 3, f64, 1, 0),
         *out = new_matrix(n * (n + 3), f64);
    put(b, f64, 1, NAN);
    job t = {.what = TRIANGULAR, .f64 = f64, .n = n, .k = 3, .a = a, .b = b, .out = out, .lower = true};
    compute(&t);
    for (int64_t i = 0; i < n; i++)
        CHECK(isfinite(get(out, f64, 3 * i)) && isnan(get(out, f64, 3 * i + 1)) && isfinite(get(out, f64, 3 * i + 2)));
    put(a, f64, n / 2 * n + n / 3, NAN);
    job inverse = {.what = INVERT, .f64 = f64, .n = n, .a = a, .out = out};
    compute(&inverse);
    bool some = false;
    for (int64_t i = 0; i < n * n; i++)
        some |= isnan(get(out, f64, i)) != 0;
    CHECK(some);
    free(a), free(b), free(out);
}

/* Numbers on the diagonal whose reciprocals are none: quotients are exact. */
static void check_tiny_diagonal(bool f64) {
    const double tiny = f64 ? 0x1p-1070 : 0x1p-146, huge = f64 ? 0x1p1023 : 0x1p127;
    void *a = new_matrix(4, f64), *b = new_matrix(2, f64), *out = new_matrix(2, f64);
    put(a, f64, 0, tiny), put(a, f64, 3, huge);
    put(b, f64, 0, 3 * tiny), put(b, f64, 1, huge / 4);
    job t = {.what = TRIANGULAR, .f64 = f64, .n = 2, .k = 1, .a = a, .b = b, .out = out, .lower = true};
    compute(&t);
    CHECK(get(out, f64, 0) == 3 && get(out, f64, 1) == 0.25);
    free(a), free(b), free(out);
}

int main(void) {
    int side = 0;
    for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
        if (SIZES[i] > LARGEST)
            continue;
        for (int f64 = 0; f64 < 2; f64++)
            check_size(SIZES[i], SIDES[side++ % (int)(sizeof SIDES / sizeof *SIDES)], f64);
    }
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2}), NEAP_OK);
    for (int f64 = 0; f64 < 2; f64++) {
        for (int64_t n = 2; n < 100; n = 2 * n + 1) {
            check_singular(n, f64);
            check_not_definite(n, f64);
            check_not_finite(n, f64);
        }
        check_tiny_diagonal(f64);
    }
    neap_engine_stop();
    return check_end();
}
