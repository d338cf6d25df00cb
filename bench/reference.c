/* reference.c: hand-written C for the kernels that the bench runs through neap, one thread, f32. It is built with
 * -O3 -march=native as libneap_bench_reference.so, and the runner calls it through ffi in the process that runs neap.
 *
 * Each function runs its kernel `repeats` times and returns the median ns of a run. Results above the last-level cache
 * are written with non-temporal stores. tanh and exp are those of lazy/simd/vmath.h, inlined: the same polynomials
 * as neap's, so that the comparison is one of how loops are run.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#include "lazy/simd/vmath.h"

#define EXPORT __attribute__((visibility("default")))

enum { BLOCK = 32, LANES = 64 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, int64_t n) {
    qsort(times, (size_t)n, sizeof *times, by_value);
    double result = times[n / 2];
    free(times);
    return result;
}

static int64_t cache_bytes(void) {
    long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return size > 0 ? size : 32 << 20;
}

static void store_block(float *to, const float *block) {
#if defined(__AVX__)
    for (int k = 0; k < BLOCK; k += 8)
        _mm256_stream_ps(to + k, _mm256_loadu_ps(block + k));
#else
    memcpy(to, block, BLOCK * sizeof *to);
#endif
}

/* y[i] = expression of x = in[i], in cache or streamed. */
#define MAP(name, expression, ...)                                                                                     \
    static void name##_plain(int64_t n, const float *restrict in, float *restrict out, ##__VA_ARGS__) {                \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const float x = in[i];                                                                                     \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_stream(int64_t n, const float *restrict in, float *restrict out, ##__VA_ARGS__) {               \
        int64_t i = 0;                                                                                                 \
        for (; i < n && ((uintptr_t)(out + i) & 31) != 0; i++) {                                                       \
            const float x = in[i];                                                                                     \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
        for (; i + BLOCK <= n; i += BLOCK) {                                                                           \
            float block[BLOCK];                                                                                        \
            for (int k = 0; k < BLOCK; k++) {                                                                          \
                const float x = in[i + k];                                                                             \
                block[k] = expression;                                                                                 \
            }                                                                                                          \
            store_block(out + i, block);                                                                               \
        }                                                                                                              \
        for (; i < n; i++) {                                                                                           \
            const float x = in[i];                                                                                     \
            out[i] = expression;                                                                                       \
        }                                                                                                              \
    }

#define TIMED(repeats, statement)                                                                                      \
    double *times = malloc((size_t)(repeats) * sizeof *times);                                                         \
    for (int64_t r = 0; times && r < (repeats); r++) {                                                                 \
        double start = now();                                                                                          \
        statement;                                                                                                     \
        times[r] = now() - start;                                                                                      \
    }                                                                                                                  \
    return times ? median(times, repeats) : -1

MAP(axpb, a *x + b, float a, float b)
MAP(polynomial, (((0.1f * x + 0.2f) * x + 0.3f) * x + 0.4f) * x + 0.5f)
MAP(activation, vm_tanh_f32(a *x + b) * vm_exp_f32(-x * x), float a, float b)

/* y = a x + b */
EXPORT double bench_axpb(int64_t n, float a, float b, const float *x, float *y, int64_t repeats) {
    const int large = 2 * n * (int64_t)sizeof *x > cache_bytes();
    TIMED(repeats, large ? axpb_stream(n, x, y, a, b) : axpb_plain(n, x, y, a, b));
}

/* y = (((0.1 x + 0.2) x + 0.3) x + 0.4) x + 0.5: eight cheap ops */
EXPORT double bench_polynomial(int64_t n, const float *x, float *y, int64_t repeats) {
    const int large = 2 * n * (int64_t)sizeof *x > cache_bytes();
    TIMED(repeats, large ? polynomial_stream(n, x, y) : polynomial_plain(n, x, y));
}

/* y = tanh(a x + b) exp(-x x) */
EXPORT double bench_activation(int64_t n, float a, float b, const float *x, float *y, int64_t repeats) {
    const int large = 2 * n * (int64_t)sizeof *x > cache_bytes();
    TIMED(repeats, large ? activation_stream(n, x, y, a, b) : activation_plain(n, x, y, a, b));
}

static float square_distance(int64_t n, const float *restrict x, const float *restrict y) {
    float lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            const float d = x[i + k] - y[i + k];
            lane[k] += d * d;
        }
    for (; i < n; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    for (int k = 0; k < LANES; k++)
        sum += lane[k];
    return sum;
}

/* *out = sum((x - y)²) */
EXPORT double bench_square_distance(int64_t n, const float *x, const float *y, float *out, int64_t repeats) {
    TIMED(repeats, *out = square_distance(n, x, y));
}

static void softmax_row(int64_t n, const float *restrict x, float *restrict y) {
    float lane[LANES], most = x[0], sum = 0;
    int64_t i = 0;
    for (int k = 0; k < LANES; k++)
        lane[k] = x[0];
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];
    for (; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int k = 0; k < LANES; k++)
        most = lane[k] > most ? lane[k] : most, lane[k] = 0;
    for (i = 0; i < n; i++)
        y[i] = vm_exp_f32(x[i] - most);
    for (i = 0; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            lane[k] += y[i + k];
    for (; i < n; i++)
        sum += y[i];
    for (int k = 0; k < LANES; k++)
        sum += lane[k];
    for (i = 0; i < n; i++)
        y[i] /= sum;
}

/* y = softmax of each of the n / row rows of x */
EXPORT double bench_softmax(int64_t n, int64_t row, const float *x, float *y, int64_t repeats) {
    TIMED(repeats, for (int64_t i = 0; i + row <= n; i += row) softmax_row(row, x + i, y + i));
}
