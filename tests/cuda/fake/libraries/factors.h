/* factors.h: Cholesky, QR, eigenvalues and singular values of matrices by columns, by plain loops, for libraries that
 * stand in for CUDA's. Numbers are computed as double complex ones. */
#ifndef NEAP_TESTS_CUDA_FAKE_FACTORS_H
#define NEAP_TESTS_CUDA_FAKE_FACTORS_H

#include <stdlib.h>

#include "tests/cuda/fake/libraries/numbers.h"

typedef double _Complex number;

enum { SWEEPS = 60 };

static inline void put_real(void *at, uint64_t type, int64_t k, double x) {
    if (type == CUDA_R_32F || type == CUDA_C_32F)
        ((float *)at)[k] = (float)x;
    else
        ((double *)at)[k] = x;
}

/* As LAPACK's potrf of the upper triangle. Returns the number of the first pivot that is not positive; 0: none. */
static inline int factor_positive(void *a, uint64_t type, int64_t n) {
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i <= j; i++) {
            number sum = get(a, type, i + j * n);
            for (int64_t l = 0; l < i; l++)
                sum -= conj(get(a, type, l + i * n)) * get(a, type, l + j * n);
            if (i == j && !(creal(sum) > 0))
                return (int)j + 1;
            put(a, type, i + j * n, i == j ? sqrt(creal(sum)) : sum / get(a, type, i + i * n));
        }
    return 0;
}

/* Column j of a, of m rows, becomes (1 - tau v vᴴ) of it, or with conj(tau); v is column k from row k on, 1 there. */
static inline void reflect(void *a, uint64_t type, int64_t m, number *x, int64_t k, number tau) {
    number dot = x[k];
    for (int64_t i = k + 1; i < m; i++)
        dot += conj(get(a, type, i + k * m)) * x[i];
    x[k] -= tau * dot;
    for (int64_t i = k + 1; i < m; i++)
        x[i] -= tau * dot * get(a, type, i + k * m);
}

static inline void reflect_column(void *a, uint64_t type, int64_t m, int64_t j, int64_t k, number tau) {
    number *x = malloc((size_t)m * sizeof *x);
    for (int64_t i = 0; i < m; i++)
        x[i] = get(a, type, i + j * m);
    reflect(a, type, m, x, k, tau);
    for (int64_t i = k; i < m; i++)
        put(a, type, i + j * m, x[i]);
    free(x);
}

/* As LAPACK's geqrf. */
static inline void factor_orthogonal(void *a, uint64_t type, int64_t m, int64_t n, void *taus) {
    for (int64_t k = 0; k < m && k < n; k++) {
        const number alpha = get(a, type, k + k * m);
        double rest = 0;
        for (int64_t i = k + 1; i < m; i++)
            rest += creal(get(a, type, i + k * m) * conj(get(a, type, i + k * m)));
        const double norm = sqrt(creal(alpha * conj(alpha)) + rest), beta = creal(alpha) > 0 ? -norm : norm;
        const bool flat = rest == 0 && cimag(alpha) == 0;
        const number tau = flat ? 0 : (beta - alpha) / beta;
        put(taus, type, k, tau);
        if (flat)
            continue;
        for (int64_t i = k + 1; i < m; i++)
            put(a, type, i + k * m, get(a, type, i + k * m) / (alpha - beta));
        for (int64_t j = k + 1; j < n; j++)
            reflect_column(a, type, m, j, k, conj(tau));
        put(a, type, k + k * m, beta);
    }
}

/* As LAPACK's orgqr and ungqr: n columns of the product of k reflections. */
static inline void make_orthogonal(void *a, uint64_t type, int64_t m, int64_t n, int64_t k, const void *taus) {
    number *q = calloc((size_t)(m * n), sizeof *q);
    for (int64_t j = 0; j < n; j++) {
        q[j + j * m] = 1;
        for (int64_t l = k - 1; l >= 0; l--)
            reflect(a, type, m, q + j * m, l, get(taus, type, l));
    }
    for (int64_t i = 0; i < m * n; i++)
        put(a, type, i, q[i]);
    free(q);
}

/* Turns columns p and q of x, of m rows: by the rotation that makes two of them orthogonal where a, b are their
 * squares and c is their product. */
static inline void rotate(number *x, int64_t m, int64_t p, int64_t q, double cosine, double sine, number phase) {
    for (int64_t i = 0; i < m; i++) {
        const number left = x[i + p * m], right = x[i + q * m] * conj(phase);
        x[i + p * m] = cosine * left - sine * right;
        x[i + q * m] = sine * left + cosine * right;
    }
}

/* One-sided Jacobi: x, of m × n by columns, m >= n, becomes u s, and v, of n × n, is turned with it. */
static inline void make_columns_orthogonal(number *x, int64_t m, int64_t n, number *v) {
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int64_t p = 0; p < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                double a = 0, b = 0;
                number c = 0;
                for (int64_t i = 0; i < m; i++) {
                    a += creal(x[i + p * m] * conj(x[i + p * m]));
                    b += creal(x[i + q * m] * conj(x[i + q * m]));
                    c += conj(x[i + p * m]) * x[i + q * m];
                }
                if (cabs(c) <= 1e-300 || cabs(c) <= 1e-17 * sqrt(a * b))
                    continue;
                const double zeta = (b - a) / (2 * cabs(c));
                const double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
                const double cosine = 1 / sqrt(1 + t * t);
                rotate(x, m, p, q, cosine, cosine * t, c / cabs(c));
                rotate(v, n, p, q, cosine, cosine * t, c / cabs(c));
            }
}

/* Adds columns to an orthonormal basis, from `has` to `wants` of m rows. */
static inline void complete_basis(number *u, int64_t m, int64_t has, int64_t wants) {
    for (int64_t e = 0; e < m && has < wants; e++) {
        number *x = u + has * m;
        double norm = 0;
        for (int64_t i = 0; i < m; i++)
            x[i] = i == e;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t j = 0; j < has; j++) {
                number dot = 0;
                for (int64_t i = 0; i < m; i++)
                    dot += conj(u[i + j * m]) * x[i];
                for (int64_t i = 0; i < m; i++)
                    x[i] -= dot * u[i + j * m];
            }
        for (int64_t i = 0; i < m; i++)
            norm += creal(x[i] * conj(x[i]));
        for (int64_t i = 0; i < m && norm > 1e-2 / (double)m; i++)
            x[i] /= sqrt(norm);
        has += norm > 1e-2 / (double)m;
    }
}

typedef struct singular { /* of m × n, m >= n; in descending order */
    number *u, *v;        /* m × m, n × n */
    double *s;
} singular;

static inline void exchange_columns(number *x, int64_t m, int64_t p, int64_t q) {
    for (int64_t i = 0; i < m; i++) {
        const number kept = x[i + p * m];
        x[i + p * m] = x[i + q * m];
        x[i + q * m] = kept;
    }
}

static inline singular find_singular(const void *a, uint64_t type, int64_t m, int64_t n) {
    singular r = {calloc((size_t)(m * m), sizeof(number)), calloc((size_t)(n * n), sizeof(number)),
                  calloc((size_t)n, sizeof(double))};
    for (int64_t i = 0; i < m * n; i++)
        r.u[i] = get(a, type, i);
    for (int64_t i = 0; i < n; i++)
        r.v[i + i * n] = 1;
    make_columns_orthogonal(r.u, m, n, r.v);
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = 0; i < m; i++)
            r.s[j] += creal(r.u[i + j * m] * conj(r.u[i + j * m]));
        r.s[j] = sqrt(r.s[j]);
    }
    for (int64_t j = 0; j < n; j++)
        for (int64_t l = j + 1; l < n; l++)
            if (r.s[l] > r.s[j]) {
                const double kept = r.s[j];
                r.s[j] = r.s[l];
                r.s[l] = kept;
                exchange_columns(r.u, m, j, l);
                exchange_columns(r.v, n, j, l);
            }
    int64_t rank = 0;
    for (; rank < n && r.s[rank] > 1e-13 * r.s[0]; rank++)
        for (int64_t i = 0; i < m; i++)
            r.u[i + rank * m] /= r.s[rank];
    complete_basis(r.u, m, rank, m);
    return r;
}

/* Of the Hermitian matrix of which the upper triangle is there: values w, ascending, and vectors, as columns, in its
 * place. They are the singular vectors of a + shift, which is positive definite. Returns 1 where something is no
 * number. */
static inline int find_eigenvalues(void *a, uint64_t type, int64_t n, void *w, bool vectors) {
    number *x = calloc((size_t)(3 * n * n), sizeof *x), *v = x + n * n, *given = v + n * n;
    double shift = 0;
    for (int64_t j = 0; j < n; j++) {
        double sum = 1;
        for (int64_t i = 0; i < n; i++) {
            const number upper = i <= j ? get(a, type, i + j * n) : conj(get(a, type, j + i * n));
            x[i + j * n] = given[i + j * n] = i == j ? creal(upper) : upper;
            sum += cabs(upper);
        }
        shift = sum > shift || isnan(sum) ? sum : shift;
    }
    for (int64_t j = 0; j < n; j++)
        x[j + j * n] += shift, v[j + j * n] = 1;
    if (isfinite(shift))
        make_columns_orthogonal(x, n, n, v);
    double *values = calloc((size_t)n, sizeof *values);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t l = 0; l < n; l++)
                values[j] += creal(conj(v[i + j * n]) * given[i + l * n] * v[l + j * n]);
    for (int64_t j = 0; j < n; j++)
        for (int64_t l = j + 1; l < n; l++)
            if (values[l] < values[j]) {
                const double kept = values[j];
                values[j] = values[l];
                values[l] = kept;
                exchange_columns(v, n, j, l);
            }
    for (int64_t j = 0; j < n; j++)
        put_real(w, type, j, values[j]);
    for (int64_t i = 0; i < n * n; i++)
        put(a, type, i, vectors ? v[i] : NAN);
    free(values);
    free(x);
    return isfinite(shift) ? 0 : 1;
}

#endif
