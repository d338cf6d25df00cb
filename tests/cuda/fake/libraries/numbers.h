/* numbers.h: numbers of four dtypes, and of halves; LU factors of matrices by columns. For libraries that stand in for
 * CUDA's. */
#ifndef NEAP_TESTS_CUDA_FAKE_NUMBERS_H
#define NEAP_TESTS_CUDA_FAKE_NUMBERS_H

#include <complex.h>
#undef complex /* a name elsewhere */
#include <math.h>

#include "lazy/dtype/half.h"
#include "tests/cuda/fake/library.h"

static const int64_t item_bytes[] = {
    [CUDA_R_32F] = 4, [CUDA_R_64F] = 8, [CUDA_C_32F] = 8, [CUDA_C_64F] = 16, [CUDA_R_16F] = 2, [CUDA_R_16BF] = 2};

static inline double _Complex get(const void *at, uint64_t type, int64_t k) {
    switch (type) {
    case CUDA_R_32F:
        return (double)((const float *)at)[k];
    case CUDA_R_64F:
        return ((const double *)at)[k];
    case CUDA_C_32F:
        return ((const float _Complex *)at)[k];
    case CUDA_R_16F:
        return (double)half_wide_f16(((const uint16_t *)at)[k]);
    case CUDA_R_16BF:
        return (double)half_wide_bf16(((const uint16_t *)at)[k]);
    default:
        return ((const double _Complex *)at)[k];
    }
}

static inline void put(void *at, uint64_t type, int64_t k, double _Complex x) {
    switch (type) {
    case CUDA_R_32F:
        ((float *)at)[k] = (float)creal(x);
        return;
    case CUDA_R_64F:
        ((double *)at)[k] = creal(x);
        return;
    case CUDA_C_32F:
        ((float _Complex *)at)[k] = (float _Complex)x;
        return;
    case CUDA_R_16F: /* of sums in f32 */
        ((uint16_t *)at)[k] = half_of_f32_f16((float)creal(x));
        return;
    case CUDA_R_16BF:
        ((uint16_t *)at)[k] = half_of_f32_bf16((float)creal(x));
        return;
    default:
        ((double _Complex *)at)[k] = x;
    }
}

static inline void exchange_rows(void *a, uint64_t type, int64_t ld, int64_t columns, int64_t i, int64_t j) {
    for (int64_t k = 0; k < columns && i != j; k++) {
        const double _Complex x = get(a, type, i + k * ld);
        put(a, type, i + k * ld, get(a, type, j + k * ld));
        put(a, type, j + k * ld, x);
    }
}

/* What is compared to choose a pivot: by LAPACK and cuSOLVER |real| + |imag|, by cuBLAS the absolute value. */
static inline double magnitude(double _Complex x, bool absolute) {
    return absolute ? cabs(x) : fabs(creal(x)) + fabs(cimag(x));
}

/* As LAPACK's getrf, n × n. Returns the number of the first pivot that is zero; 0: none. */
static inline int factor_matrix(void *a, uint64_t type, int64_t n, int *pivots, bool absolute) {
    int info = 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (magnitude(get(a, type, i + k * n), absolute) > magnitude(get(a, type, pivot + k * n), absolute))
                pivot = i;
        pivots[k] = (int)pivot + 1;
        exchange_rows(a, type, n, n, k, pivot);
        const double _Complex over = get(a, type, k + k * n);
        if (over == 0) {
            info = info ? info : (int)k + 1;
            continue;
        }
        for (int64_t i = k + 1; i < n; i++) {
            const double _Complex factor = get(a, type, i + k * n) / over;
            put(a, type, i + k * n, factor);
            for (int64_t j = k + 1; j < n; j++)
                put(a, type, i + j * n, get(a, type, i + j * n) - factor * get(a, type, k + j * n));
        }
    }
    return info;
}

/* One column by a triangle of the factors, or by the transposed triangle. */
static inline void solve_column(const void *a, uint64_t type, int64_t n, void *x, bool lower, bool transposed) {
    const bool down = lower != transposed;
    for (int64_t step = 0; step < n; step++) {
        const int64_t i = down ? step : n - 1 - step;
        double _Complex sum = get(x, type, i);
        for (int64_t j = down ? 0 : i + 1; j < (down ? i : n); j++)
            sum -= get(a, type, transposed ? j + i * n : i + j * n) * get(x, type, j);
        put(x, type, i, lower ? sum : sum / get(a, type, i + i * n));
    }
}

/* As LAPACK's getrs, of k columns. */
static inline void substitute_matrix(const void *a, uint64_t type, int64_t n, int64_t k, const int *pivots, void *b,
                                     bool transposed) {
    for (int64_t i = 0; i < n && !transposed; i++)
        exchange_rows(b, type, n, k, i, pivots[i] - 1);
    for (int64_t column = 0; column < k; column++) {
        char *x = (char *)b + column * n * item_bytes[type];
        solve_column(a, type, n, x, !transposed, transposed);
        solve_column(a, type, n, x, transposed, transposed);
    }
    for (int64_t i = n - 1; i >= 0 && transposed; i--)
        exchange_rows(b, type, n, k, i, pivots[i] - 1);
}

#endif
