/* fft_plain.c: discrete Fourier transforms by our own code, of any length.
 *
 * A length is taken apart into factors 4, 2, 3, 5 and other primes up to PRIME_MOST; each is one pass over the row from
 * one buffer to another, in the order of Stockham, which needs no reversal of digits. A length with a larger prime is a
 * convolution with a chirp (Bluestein), by transforms of a power of two. Everything is computed in f64; roots of unity
 * come from angles below π/4, with errors below one unit in the last place. Each row is computed by itself, in one
 * order.
 *
 *      pass of factor f, with l = the product of the factors before, m = n / (l f), w = exp(-2πi / n):
 *      to[i + m (k + l j)] = w^(i j l) · Σ_q from[i + m (q + f k)] exp(-2πi j q / f)      i < m, k < l, j < f
 *
 * What a length needs is kept for further calls: a *plan*. A few are kept, and those in use. */
#include "lazy/ops/fft_plain.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lazy/op.h"
#include "lazy/vm/simd/simd.h"
#include "ops_gen.h"

typedef ops_fft_number number;

enum { FACTORS = 64, PRIME_MOST = 31, PLANS_KEPT = 16 };

struct ops_fft_plan {
    int64_t n;
    int nfactors, factor[FACTORS];
    number *roots;         /* by pass: w^(i j l) for j = 1 … f - 1, i < m */
    number *unit[FACTORS]; /* by pass of another prime: exp(-2πi q / f), q < f */
    /* Bluestein: a transform of `length`, the chirp exp(πi k² / n), and the transform of its convolution's kernel. */
    ops_fft_plan *chirped;
    number *chirp, *kernel;
    int refs; /* calls that use it */
    ops_fft_plan *next;
};

static struct {
    pthread_mutex_t lock;
    ops_fft_plan *first; /* the latest used first */
} plans = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Roots of unity ---------------------------------------------------------------------------------------------- */
static double apply(int op, double x) {
    double y;
    vm_simd()->map[op][NEAP_DTYPE_F64].by_scalars[0](&y, &x, &x, &x, 1);
    return y;
}

/* exp(2πi k / n), 0 <= k < n. */
static number root_of_unity(int64_t k, int64_t n) {
    const int64_t octant = 8 * k / n, rest = 8 * k % n;
    const double angle = 0.785398163397448309616 * ((double)(octant & 1 ? n - rest : rest) / (double)n);
    const double c = apply(LAZY_OP_cos, angle), s = apply(LAZY_OP_sin, angle);
    const bool swapped = (octant + 1) & 2;
    const double x = swapped ? s : c, y = swapped ? c : s;
    return (number){octant >= 2 && octant <= 5 ? -x : x, octant >= 4 ? -y : y};
}

static number conjugate_root(int64_t k, int64_t n) {
    const number root = root_of_unity(k, n);
    return (number){root.re, -root.im};
}

static inline number times(number a, number b) {
    return (number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline number plus(number a, number b) {
    return (number){a.re + b.re, a.im + b.im};
}
static inline number minus(number a, number b) {
    return (number){a.re - b.re, a.im - b.im};
}
static inline number turned(number a) { /* -i a */
    return (number){a.im, -a.re};
}
static inline number scaled(number a, double by) {
    return (number){a.re * by, a.im * by};
}

/* ---- Passes ------------------------------------------------------------------------------------------------------ */
typedef struct pass {
    int f;
    int64_t l, m;
    const number *roots, *unit;
} pass;

/* The transforms of f numbers each, in place. */
static inline void transform2(number *t) {
    const number a = t[0];
    t[0] = plus(a, t[1]), t[1] = minus(a, t[1]);
}
static inline void transform4(number *t) {
    const number a = plus(t[0], t[2]), b = minus(t[0], t[2]), c = plus(t[1], t[3]), d = turned(minus(t[1], t[3]));
    t[0] = plus(a, c), t[1] = plus(b, d), t[2] = minus(a, c), t[3] = minus(b, d);
}
static inline void transform3(number *t) {
    const number sum = plus(t[1], t[2]), middle = minus(t[0], scaled(sum, 0.5));
    const number side = turned(scaled(minus(t[1], t[2]), 0.866025403784438646763));
    t[0] = plus(t[0], sum), t[1] = plus(middle, side), t[2] = minus(middle, side);
}
static inline void transform5(number *t) {
    const double c1 = 0.309016994374947424102, c2 = -0.809016994374947424102;
    const double s1 = 0.951056516295153572116, s2 = 0.587785252292473129169;
    const number p = plus(t[1], t[4]), q = plus(t[2], t[3]), u = minus(t[1], t[4]), v = minus(t[2], t[3]), a = t[0];
    const number x = plus(a, plus(scaled(p, c1), scaled(q, c2))), y = plus(a, plus(scaled(p, c2), scaled(q, c1)));
    const number z = turned(plus(scaled(u, s1), scaled(v, s2))), w = turned(minus(scaled(u, s2), scaled(v, s1)));
    t[0] = plus(a, plus(p, q)), t[1] = plus(x, z), t[4] = minus(x, z), t[2] = plus(y, w), t[3] = minus(y, w);
}
static void transform_prime(number *t, int f, const number *unit) {
    number out[PRIME_MOST];
    for (int j = 0; j < f; j++) {
        out[j] = t[0];
        for (int q = 1; q < f; q++)
            out[j] = plus(out[j], times(t[q], unit[j * q % f]));
    }
    memcpy(t, out, (size_t)f * sizeof *t);
}

#define PASS(name, F, most, transform)                                                                                 \
    static void name(const pass *p, number *restrict to, const number *restrict from) {                                \
        const int64_t l = p->l, m = p->m;                                                                              \
        for (int64_t k = 0; k < l; k++)                                                                                \
            for (int64_t i = 0; i < m; i++) {                                                                          \
                number t[most];                                                                                        \
                for (int q = 0; q < (F); q++)                                                                          \
                    t[q] = from[i + m * (q + (F)*k)];                                                                  \
                transform;                                                                                             \
                to[i + m * k] = t[0];                                                                                  \
                for (int j = 1; j < (F); j++)                                                                          \
                    to[i + m * (k + l * j)] = times(t[j], p->roots[(j - 1) * m + i]);                                  \
            }                                                                                                          \
    }
PASS(pass2, 2, 2, transform2(t))
PASS(pass3, 3, 3, transform3(t))
PASS(pass4, 4, 4, transform4(t))
PASS(pass5, 5, 5, transform5(t))
PASS(pass_prime, p->f, PRIME_MOST, transform_prime(t, p->f, p->unit))

/* Transforms a row; `other` has room for as much. The result is in the buffer that is returned. */
static number *transform_row(const ops_fft_plan *plan, number *row, number *other) {
    const number *roots = plan->roots;
    int64_t l = 1;
    for (int k = 0; k < plan->nfactors; k++) {
        const int f = plan->factor[k];
        const pass p = {.f = f, .l = l, .m = plan->n / (l * f), .roots = roots, .unit = plan->unit[k]};
        (f == 2 ? pass2 : f == 3 ? pass3 : f == 4 ? pass4 : f == 5 ? pass5 : pass_prime)(&p, other, row);
        number *last = row;
        row = other, other = last;
        roots += (f - 1) * p.m, l *= f;
    }
    return row;
}

/* ---- Plans ------------------------------------------------------------------------------------------------------- */
static void free_plan(ops_fft_plan *plan) {
    if (!plan)
        return;
    for (int k = 0; k < plan->nfactors; k++)
        free(plan->unit[k]);
    free_plan(plan->chirped);
    free(plan->roots), free(plan->chirp), free(plan->kernel), free(plan);
}

/* The factors of n; false: one of them is a large prime. */
static bool find_factors(ops_fft_plan *plan, int64_t n) {
    static const int first[] = {4, 2, 3, 5};
    for (int k = 0; k < 4; k++)
        for (; n % first[k] == 0; n /= first[k])
            plan->factor[plan->nfactors++] = first[k];
    for (int f = 7; f <= PRIME_MOST; f += 2)
        for (; n % f == 0; n /= f)
            plan->factor[plan->nfactors++] = f;
    return n == 1;
}

static bool make_roots(ops_fft_plan *plan) {
    int64_t count = 0, l = 1, n = plan->n;
    for (int k = 0; k < plan->nfactors; l *= plan->factor[k++])
        count += (plan->factor[k] - 1) * (n / (l * plan->factor[k]));
    number *to = plan->roots = malloc((size_t)(count + 1) * sizeof *to);
    l = 1;
    for (int k = 0; k < plan->nfactors && to; l *= plan->factor[k++]) {
        const int f = plan->factor[k];
        const int64_t m = n / (l * f);
        for (int j = 1; j < f; j++)
            for (int64_t i = 0; i < m; i++)
                *to++ = conjugate_root(i * j * l % n, n);
        if (f <= 5)
            continue;
        if (!(plan->unit[k] = malloc((size_t)f * sizeof *to)))
            return false;
        for (int q = 0; q < f; q++)
            plan->unit[k][q] = conjugate_root(q, f);
    }
    return plan->roots != NULL;
}

static ops_fft_plan *make_plan(int64_t n);

/* The chirp, and the transform of its kernel over a power of two of at least 2 n - 1 elements, divided by that. */
static bool make_chirp(ops_fft_plan *plan) {
    int64_t n = plan->n, length = 1, square = 0;
    while (length < 2 * n - 1)
        length *= 2;
    number *spare = malloc((size_t)length * sizeof *spare), *kernel = calloc((size_t)length, sizeof *kernel);
    plan->chirped = make_plan(length);
    plan->chirp = malloc((size_t)n * sizeof *plan->chirp);
    plan->kernel = kernel;
    if (!spare || !kernel || !plan->chirped || !plan->chirp) {
        free(spare);
        return false;
    }
    for (int64_t k = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
        plan->chirp[k] = root_of_unity(square, 2 * n);
        kernel[k] = scaled(plan->chirp[k], 1 / (double)length);
        if (k > 0)
            kernel[length - k] = kernel[k];
    }
    plan->kernel = transform_row(plan->chirped, kernel, spare);
    free(plan->kernel == kernel ? spare : kernel);
    return true;
}

static ops_fft_plan *make_plan(int64_t n) {
    ops_fft_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    plan->n = n;
    if (!find_factors(plan, n))
        plan->nfactors = 0;
    if (plan->nfactors || n == 1 ? make_roots(plan) : make_chirp(plan))
        return plan;
    free_plan(plan);
    return NULL;
}

ops_fft_plan *ops_fft_open(int64_t n) {
    pthread_mutex_lock(&plans.lock);
    ops_fft_plan **at = &plans.first;
    while (*at && (*at)->n != n)
        at = &(*at)->next;
    ops_fft_plan *plan = *at;
    if (plan)
        *at = plan->next;
    else
        plan = make_plan(n);
    if (plan) {
        plan->refs++;
        plan->next = plans.first;
        plans.first = plan;
    }
    pthread_mutex_unlock(&plans.lock);
    return plan;
}

void ops_fft_close(ops_fft_plan *done) {
    pthread_mutex_lock(&plans.lock);
    done->refs--;
    int kept = 0;
    for (ops_fft_plan **at = &plans.first; *at;) {
        ops_fft_plan *plan = *at;
        if (++kept <= PLANS_KEPT || plan->refs) {
            at = &plan->next;
            continue;
        }
        *at = plan->next;
        free_plan(plan);
    }
    pthread_mutex_unlock(&plans.lock);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
/* The transform of a row as a convolution: Σ x[j] w^(jk) = c[k] Σ (x[j] c[j]) c'[k - j], c = exp(-πi k² / n). The
 * inverse transform over the power of two is that of changed places. */
static number *transform_chirped(const ops_fft_plan *plan, number *row, number *other) {
    const ops_fft_plan *inner = plan->chirped;
    const int64_t n = plan->n, length = inner->n;
    for (int64_t k = 0; k < n; k++)
        row[k] = times(row[k], (number){plan->chirp[k].re, -plan->chirp[k].im});
    memset(row + n, 0, (size_t)(length - n) * sizeof *row);
    number *spectrum = transform_row(inner, row, other);
    for (int64_t k = 0; k < length; k++) {
        const number product = times(spectrum[k], plan->kernel[k]);
        spectrum[k] = (number){product.im, product.re};
    }
    number *result = transform_row(inner, spectrum, spectrum == row ? other : row);
    for (int64_t k = 0; k < n; k++)
        result[k] = times((number){result[k].im, result[k].re}, (number){plan->chirp[k].re, -plan->chirp[k].im});
    return result;
}

int64_t ops_fft_scratch(const ops_fft_plan *plan) {
    return plan->chirped ? plan->chirped->n : plan->n;
}

ops_fft_number *ops_fft_row(const ops_fft_plan *plan, ops_fft_number *row, ops_fft_number *other) {
    return plan->chirped ? transform_chirped(plan, row, other) : transform_row(plan, row, other);
}
