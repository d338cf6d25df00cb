/* reference.c: hand-written C for the kernels of bench/kernels.lua, f32, on one thread or on several, and the bounds
 * that memory sets: triad, copy, fill and read. It is built with -O3 -march=native -fopenmp as
 * libneap_bench_reference.so, which the runner calls through ffi in the process that runs neap.
 *
 * A kernel is one or two passes over parts of the data, each on a thread of its own, with a merge of what the parts
 * found after each pass. Results above the last-level cache are written with non-temporal stores. tanh, exp and log are
 * those of lazy/vm/simd/vmath.h, inlined: the same polynomials as neap's, so that the comparison is one of how loops
 * are run.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "lazy/vm/simd/vmath.h"

#define EXPORT __attribute__((visibility("default")))

enum { BLOCK = 32, LANES = 64, MAX_PARTS = 64, MAX_COLUMNS = 4096 };

typedef struct partial { /* what a part of a reduction found */
    float value;
    int64_t at;
    float columns[MAX_COLUMNS];
} partial;

typedef struct job {
    int64_t n, columns; /* elements of each array; of a row, 1 without rows */
    const float *const *in;
    float *const *out;
    bool large; /* results go past the caches */
    int parts;
    float mean;
    partial *partial;
} job;

typedef void pass_fn(job *j, int part, int64_t from, int64_t to);
typedef void merge_fn(job *j);
typedef struct kernel {
    const char *name;
    pass_fn *pass[2];
    merge_fn *merge[2];
} kernel;

static void store_block(float *to, const float *block) {
#if defined(__AVX__)
    for (int k = 0; k < BLOCK; k += 8)
        _mm256_stream_ps(to + k, _mm256_loadu_ps(block + k));
#else
    memcpy(to, block, BLOCK * sizeof *to);
#endif
}

/* out[i] = expression of x = in[0][i] and y = in[1][i]. */
#define MAP(name, expression)                                                                                          \
    static inline float name##_of(float x, float y) {                                                                  \
        (void)x, (void)y;                                                                                              \
        return expression;                                                                                             \
    }                                                                                                                  \
    static void name(job *j, int part, int64_t i, int64_t to) {                                                        \
        const float *restrict x = j->in[0], *restrict y = j->in[1];                                                    \
        float *restrict out = j->out[0];                                                                               \
        (void)part;                                                                                                    \
        for (; j->large && i < to && ((uintptr_t)(out + i) & 31) != 0; i++)                                            \
            out[i] = name##_of(x[i], y[i]);                                                                            \
        for (; j->large && i + BLOCK <= to; i += BLOCK) {                                                              \
            float block[BLOCK];                                                                                        \
            for (int k = 0; k < BLOCK; k++)                                                                            \
                block[k] = name##_of(x[i + k], y[i + k]);                                                              \
            store_block(out + i, block);                                                                               \
        }                                                                                                              \
        for (; i < to; i++)                                                                                            \
            out[i] = name##_of(x[i], y[i]);                                                                            \
    }

MAP(copy, x)
MAP(fill, 1.5f)
MAP(triad, x + 1.5f * y)
MAP(axpb, 1.5f * x + 0.25f)
MAP(polynomial, (((0.1f * x + 0.2f) * x + 0.3f) * x + 0.4f) * x + 0.5f)
MAP(activation, vm_tanh_f32(1.5f * x + 0.25f) * vm_exp_f32(-x * x))
MAP(clipped, x > y ? (x < -0.5f ? -0.5f : x > 0.5f ? 0.5f : x) * y : x - y)
MAP(gelu, 0.5f * x * (1 + vm_tanh_f32(0.7978845608f * (x + 0.044715f * x * x * x))))

/* ---- Sums and extremes over parts -------------------------------------------------------------------------------- */
#define FOLD(name, start, term, combine)                                                                               \
    static float name(const job *j, int64_t i, int64_t to) {                                                           \
        const float *restrict x = j->in[0], *restrict y = j->in[1];                                                    \
        float lane[LANES], all = start;                                                                                \
        const float mean = j->mean;                                                                                    \
        (void)y, (void)mean;                                                                                           \
        for (int k = 0; k < LANES; k++)                                                                                \
            lane[k] = start;                                                                                           \
        for (; i + LANES <= to; i += LANES)                                                                            \
            for (int k = 0; k < LANES; k++) {                                                                          \
                const float a = lane[k], b = term(i + k);                                                              \
                lane[k] = combine;                                                                                     \
            }                                                                                                          \
        for (int k = 0; k < LANES; k++) {                                                                              \
            const float a = all, b = lane[k];                                                                          \
            all = combine;                                                                                             \
        }                                                                                                              \
        for (; i < to; i++) {                                                                                          \
            const float a = all, b = term(i);                                                                          \
            all = combine;                                                                                             \
        }                                                                                                              \
        return all;                                                                                                    \
    }
#define ELEMENT(i) x[i]
#define DISTANCE(i) ((x[i] - y[i]) * (x[i] - y[i]))
#define DEVIATION(i) ((x[i] - mean) * (x[i] - mean))

FOLD(fold_sum, 0, ELEMENT, a + b)
FOLD(fold_max, -__FLT_MAX__, ELEMENT, a > b ? a : b)
FOLD(fold_distance, 0, DISTANCE, a + b)
FOLD(fold_deviation, 0, DEVIATION, a + b)

#define PASS_OF(name)                                                                                                  \
    static void part_##name(job *j, int part, int64_t from, int64_t to) {                                              \
        j->partial[part].value = fold_##name(j, from, to);                                                             \
    }
PASS_OF(sum)
PASS_OF(distance)
PASS_OF(deviation)

static void merge_sum(job *j) {
    float sum = 0;
    for (int p = 0; p < j->parts; p++)
        sum += j->partial[p].value;
    j->out[0][0] = sum;
}

static void merge_mean(job *j) {
    merge_sum(j);
    j->mean = j->out[0][0] /= (float)j->n;
}

/* The first greatest element: of each lane, then of all. */
static void part_argmax(job *j, int part, int64_t from, int64_t to) {
    const float most = fold_max(j, from, to), *x = j->in[0];
    int64_t i = from;
    for (int found = 0; i + LANES <= to && !found; i += found ? 0 : LANES)
        for (int k = 0; k < LANES; k++)
            found |= x[i + k] == most;
    while (i < to && x[i] != most)
        i++;
    j->partial[part].value = most;
    j->partial[part].at = i;
}

static void merge_argmax(job *j) {
    int best = 0;
    for (int p = 1; p < j->parts; p++)
        best = j->partial[p].value > j->partial[best].value ? p : best;
    ((int32_t *)j->out[0])[0] = (int32_t)j->partial[best].at;
}

/* ---- Rows and columns -------------------------------------------------------------------------------------------- */
static void part_columns(job *j, int part, int64_t from, int64_t to) {
    float *restrict most = j->partial[part].columns;
    const int64_t columns = j->columns;
    memcpy(most, j->in[0] + from, (size_t)columns * sizeof *most);
    for (int64_t i = from + columns; i < to; i += columns) {
        const float *restrict x = j->in[0] + i;
        for (int64_t k = 0; k < columns; k++)
            most[k] = x[k] > most[k] ? x[k] : most[k];
    }
}

static void merge_columns(job *j) {
    for (int64_t k = 0; k < j->columns; k++) {
        float most = j->partial[0].columns[k];
        for (int p = 1; p < j->parts; p++)
            most = j->partial[p].columns[k] > most ? j->partial[p].columns[k] : most;
        j->out[0][k] = most;
    }
}

static void rows_max(job *j, int part, int64_t from, int64_t to) {
    (void)part;
    for (int64_t i = from; i < to; i += j->columns)
        j->out[0][i / j->columns] = fold_max(j, i, i + j->columns);
}

/* The sum of values below `n`. */
static float sum_of(int64_t n, const float *restrict values) {
    float lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += values[i + k];
    for (int k = 0; n >= LANES && k < LANES; k++)
        sum += lane[k];
    for (; i < n; i++)
        sum += values[i];
    return sum;
}

/* e[k] = exp(x[k] - the row's greatest element); returns their sum. */
static float shifted_exp(const job *j, int64_t i, float *restrict e, float *most) {
    const float *restrict x = j->in[0] + i;
    const int64_t n = j->columns;
    *most = fold_max(j, i, i + n);
    const float shift = *most;
    for (int64_t k = 0; k < n; k++)
        e[k] = vm_exp_f32(x[k] - shift);
    return sum_of(n, e);
}

static void rows_softmax(job *j, int part, int64_t from, int64_t to) {
    float most;
    (void)part;
    for (int64_t i = from; i < to; i += j->columns) {
        float *restrict e = j->out[0] + i;
        const float sum = shifted_exp(j, i, e, &most);
        for (int64_t k = 0; k < j->columns; k++)
            e[k] /= sum;
    }
}

static void rows_logsumexp(job *j, int part, int64_t from, int64_t to) {
    float most, *e = j->partial[part].columns;
    for (int64_t i = from; i < to; i += j->columns) {
        const float sum = shifted_exp(j, i, e, &most);
        j->out[0][i / j->columns] = vm_log_f32(sum) + most;
    }
}

static void rows_layer_norm(job *j, int part, int64_t from, int64_t to) {
    const int64_t n = j->columns;
    float *restrict square = j->partial[part].columns;
    for (int64_t i = from; i < to; i += n) {
        const float *restrict x = j->in[0] + i;
        float *restrict out = j->out[0] + i;
        const float mean = fold_sum(j, i, i + n) / (float)n;
        for (int64_t k = 0; k < n; k++)
            square[k] = (x[k] - mean) * (x[k] - mean);
        const float deviation = __builtin_sqrtf(sum_of(n, square) / (float)n + 1e-5f);
        for (int64_t k = 0; k < n; k++)
            out[k] = (x[k] - mean) / deviation;
    }
}

/* ---- Adam -------------------------------------------------------------------------------------------------------- */
static void adam(job *j, int part, int64_t from, int64_t to) {
    const float *restrict p = j->in[0], *restrict g = j->in[1], *restrict m = j->in[2], *restrict v = j->in[3];
    float *restrict new_p = j->out[0], *restrict new_m = j->out[1], *restrict new_v = j->out[2];
    (void)part;
    for (int64_t i = from; i < to; i += BLOCK) {
        float block[3][BLOCK];
        const int n = to - i < BLOCK ? (int)(to - i) : BLOCK;
        for (int k = 0; k < n; k++) {
            block[1][k] = 0.9f * m[i + k] + 0.1f * g[i + k];
            block[2][k] = 0.999f * v[i + k] + 0.001f * g[i + k] * g[i + k];
            block[0][k] = p[i + k] - 0.01f * block[1][k] / (__builtin_sqrtf(block[2][k] * 1000) + 1e-8f);
        }
        float *const to_arrays[3] = {new_p + i, new_m + i, new_v + i};
        for (int k = 0; k < 3; k++)
            if (j->large && n == BLOCK && ((uintptr_t)to_arrays[k] & 31) == 0)
                store_block(to_arrays[k], block[k]);
            else
                memcpy(to_arrays[k], block[k], (size_t)n * sizeof(float));
    }
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */
static const kernel KERNELS[] = {
    {.name = "copy", .pass = {copy}},
    {.name = "fill", .pass = {fill}},
    {.name = "triad", .pass = {triad}},
    {.name = "read", .pass = {part_sum}, .merge = {merge_sum}},
    {.name = "axpb", .pass = {axpb}},
    {.name = "polynomial", .pass = {polynomial}},
    {.name = "activation", .pass = {activation}},
    {.name = "clipped", .pass = {clipped}},
    {.name = "gelu", .pass = {gelu}},
    {.name = "softmax", .pass = {rows_softmax}},
    {.name = "layer_norm", .pass = {rows_layer_norm}},
    {.name = "adam", .pass = {adam}},
    {.name = "distance", .pass = {part_distance}, .merge = {merge_sum}},
    {.name = "max_columns", .pass = {part_columns}, .merge = {merge_columns}},
    {.name = "max_rows", .pass = {rows_max}},
    {.name = "mean", .pass = {part_sum}, .merge = {merge_mean}},
    {.name = "variance", .pass = {part_sum, part_deviation}, .merge = {merge_mean, merge_mean}},
    {.name = "argmax", .pass = {part_argmax}, .merge = {merge_argmax}},
    {.name = "logsumexp", .pass = {rows_logsumexp}},
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run(const kernel *k, job *j) {
    const int64_t rows = j->n / j->columns;
    for (int pass = 0; pass < 2 && k->pass[pass]; pass++) {
        if (j->parts == 1) {
            k->pass[pass](j, 0, 0, j->n);
        } else {
#pragma omp parallel for num_threads(j->parts) schedule(static, 1)
            for (int p = 0; p < j->parts; p++)
                k->pass[pass](j, p, rows * p / j->parts * j->columns, rows * (p + 1) / j->parts * j->columns);
        }
        if (k->merge[pass])
            k->merge[pass](j);
    }
}

/* ns of one of `count` runs of a kernel on arrays of n elements, in rows of `columns` (1: no rows); -1 for an unknown
 * kernel, or without memory. `bytes` is what a run reads and writes. */
EXPORT double bench_reference(const char *name, int threads, int64_t n, int64_t columns, int64_t bytes,
                              const float *const *in, float *const *out, int64_t count) {
    const kernel *k = NULL;
    for (size_t i = 0; i < sizeof KERNELS / sizeof *KERNELS; i++)
        if (strcmp(KERNELS[i].name, name) == 0)
            k = &KERNELS[i];
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    job j = {.n = n, .columns = columns, .in = in, .out = out, .large = bytes > (cache > 0 ? cache : 32 << 20)};
    j.parts = n / columns >= threads && threads <= MAX_PARTS ? threads : 1;
    j.partial = calloc((size_t)j.parts, sizeof *j.partial);
    if (!k || !j.partial || columns > MAX_COLUMNS) {
        free(j.partial);
        return -1;
    }
    const double start = now();
    for (int64_t r = 0; r < count; r++)
        run(k, &j);
    const double time = (now() - start) / (double)count;
    free(j.partial);
    return time;
}
