/* samplers.h: random numbers that are drawn by rejection: gamma, Poisson, binomial. Part of draws.c, whose bits and
 * floats they take.
 *
 * Algorithms and their use of keys are those of JAX (jax/_src/random, version 0.10): the method of Marsaglia and Tsang
 * (2000) for gamma; Knuth's for Poisson numbers of a mean below 10, Hörmann's transformed rejection (1993) above; sums
 * of geometric numbers for binomial ones of a mean up to 10, Hörmann's BTRS above. So numbers for a key are JAX's, but
 * where a comparison falls on another side of what the two round.
 *
 * Gamma number i has a key of its own, number `first` + i of those that the key is split into. The other two take a new
 * key round after round, the same for all elements, and of each what it draws at `first` + i. By rejection an element
 * gets the first that is accepted, so it does not depend on the others; JAX goes on until all have one and keeps the
 * last, so there numbers that are drawn alone are the same, and those of an array need not be.
 */
#ifndef LAZY_SIMD_SAMPLERS_H
#define LAZY_SIMD_SAMPLERS_H

#include "lazy/vm/simd/draws.h"
#include "lazy/vm/simd/vmath_gamma.h"

enum { ROUNDS_MAX = 100000 }; /* until an element is given up, which none is */

/* Pair number k of those that a key is split into. */
VM_INLINE vm_key pair_at(vm_key key, uint64_t k) {
    uint32_t hi = (uint32_t)(k >> 32), lo = (uint32_t)k;
    threefry(schedule_of(key), &hi, &lo);
    return (vm_key){hi, lo};
}
VM_INLINE float unit_at_f32(vm_key key, uint64_t k) {
    const vm_key pair = pair_at(key, k);
    return unit_f32(pair.hi ^ pair.lo);
}
VM_INLINE double unit_at_f64(vm_key key, uint64_t k) {
    return unit_f64(pair_at(key, k));
}

/* Of many keys pair number k. */
static void pairs_of_keys(vm_key *out, const vm_key *keys, uint32_t k, int64_t count) {
    EACH {
        uint32_t hi = 0, lo = k;
        threefry(schedule_of(keys[i]), &hi, &lo);
        out[i] = (vm_key){hi, lo};
    }
}
VM_INLINE float unit_of_f32(vm_key pair) {
    return unit_f32(pair.hi ^ pair.lo);
}
VM_INLINE double unit_of_f64(vm_key pair) {
    return unit_f64(pair);
}

/* Elements are drawn together, the first round of each: nine of ten are accepted by their squares alone. Those that are
 * not, and do not pass the whole test, are drawn again, each for itself. */
#define GAMMAS(D, T)                                                                                                   \
    static bool gamma_passes_##D(T square, T cube, T u, T d) {                                                         \
        return !(u >= 1 - (T)0.0331 * (square * square) &&                                                             \
                 vm_slow_log_##D(u) >= square * (T)0.5 + d * ((1 - cube) + vm_slow_log_##D(cube)));                    \
    }                                                                                                                  \
    /* The cube whose product with d is a number for a shape from 1 up: c = 1 / (3 sqrt(d)). */                        \
    static T gamma_cube_##D(vm_key key, T d, T c) {                                                                    \
        T x, v, cube = 1;                                                                                              \
        for (int round = 0; round < ROUNDS_MAX; round++) {                                                             \
            vm_key normals = pair_at(key, 1);                                                                          \
            const vm_key units = pair_at(key, 2);                                                                      \
            key = pair_at(key, 0);                                                                                     \
            int tries = 0;                                                                                             \
            do {                                                                                                       \
                x = normal_##D(unit_at_##D(pair_at(normals, 1), 0));                                                   \
                normals = pair_at(normals, 0);                                                                         \
                v = 1 + x * c;                                                                                         \
            } while (v <= 0 && tries++ < ROUNDS_MAX);                                                                  \
            cube = v * v * v;                                                                                          \
            if (gamma_passes_##D(x * x, cube, unit_at_##D(units, 0), d))                                               \
                break;                                                                                                 \
        }                                                                                                              \
        return cube;                                                                                                   \
    }                                                                                                                  \
    /* The cubes of some elements. */                                                                                  \
    static void gamma_cubes_##D(T *cubes, const vm_key *keys, const T *d, const T *c, int64_t count) {                 \
        vm_key normals[PART], units[PART];                                                                             \
        T squares[PART], u[PART];                                                                                      \
        pairs_of_keys(normals, keys, 1, count);                                                                        \
        pairs_of_keys(normals, normals, 1, count);                                                                     \
        pairs_of_keys(normals, normals, 0, count);                                                                     \
        pairs_of_keys(units, keys, 2, count);                                                                          \
        pairs_of_keys(units, units, 0, count);                                                                         \
        EACH {                                                                                                         \
            const T x = normal_##D(unit_of_##D(normals[i])), v = 1 + x * c[i];                                         \
            squares[i] = x * x, u[i] = unit_of_##D(units[i]);                                                          \
            cubes[i] = v > 0 ? v * v * v : 0;                                                                          \
        }                                                                                                              \
        for (int64_t i = 0; i < count; i++)                                                                            \
            if (!(cubes[i] > 0) || !gamma_passes_##D(squares[i], cubes[i], u[i], d[i]))                                \
                cubes[i] = gamma_cube_##D(keys[i], d[i], c[i]);                                                        \
    }                                                                                                                  \
    /* For shapes below 1, and logarithms. */                                                                          \
    static T gamma_boosted_##D(T cube, T d, T alpha, vm_key boosts, bool logarithm) {                                  \
        const bool large = alpha >= 1;                                                                                 \
        if (logarithm) {                                                                                               \
            const T sample = -exponential_##D(unit_at_##D(boosts, 0));                                                 \
            const T boost = large || sample == 0 ? 0 : sample * (1 / alpha);                                           \
            return (vm_slow_log_##D(d) + vm_slow_log_##D(cube)) + boost;                                               \
        }                                                                                                              \
        const T sample = 1 - unit_at_##D(boosts, 0);                                                                   \
        return d * cube * (large ? 1 : (T)vm_pow_f64((double)sample, (double)(1 / alpha)));                            \
    }                                                                                                                  \
    static void gammas_part_##D(T *out, const T *alpha, vm_key key, uint64_t first, int64_t count, bool logarithm) {   \
        vm_key keys[PART], boosts[PART];                                                                               \
        T d[PART], c[PART], cubes[PART];                                                                               \
        draw_pairs(keys, key, first, count);                                                                           \
        pairs_of_keys(boosts, keys, 1, count);                                                                         \
        pairs_of_keys(keys, keys, 0, count);                                                                           \
        EACH {                                                                                                         \
            const T raised = alpha[i] >= 1 ? alpha[i] : alpha[i] + 1;                                                  \
            d[i] = (raised > 0) & (raised < vm_highest_##D) ? raised - (T)(1.0 / 3) : 1;                               \
            c[i] = (T)(1.0 / 3) / vm_sqrt_##D(d[i]);                                                                   \
        }                                                                                                              \
        gamma_cubes_##D(cubes, keys, d, c, count);                                                                     \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const T a = alpha[i];                                                                                      \
            const bool valid = a > 0 && a < vm_highest_##D;                                                            \
            const T edge = a == 0 ? (logarithm ? vm_lowest_##D : 0) : a > 0 ? a : (a - a) / (a - a);                   \
            out[i] = !valid                 ? edge                                                                     \
                     : a >= 1 && !logarithm ? d[i] * cubes[i]                                                          \
                                            : gamma_boosted_##D(cubes[i], d[i], a, boosts[i], logarithm);              \
        }                                                                                                              \
    }                                                                                                                  \
    static void draw_gamma_##D(void *out, const void *alpha, vm_key key, uint64_t first, int64_t n, bool logarithm) {  \
        for (int64_t from = 0; from < n; from += PART)                                                                 \
            gammas_part_##D((T *)out + from, (const T *)alpha + from, key, first + (uint64_t)from,                     \
                            n - from < PART ? n - from : PART, logarithm);                                             \
    }
GAMMAS(f32, float)
GAMMAS(f64, double)

/* ---- Poisson ----------------------------------------------------------------------------------------------------- */
typedef struct poisson_form { /* of the transformed rejection */
    float mean, log_mean, a, b, inv_alpha, v_r;
} poisson_form;

static inline poisson_form poisson_form_of(float mean) {
    const float b = 0.931f + 2.53f * vm_sqrt_f32(mean), a = -0.059f + 0.02483f * b;
    return (poisson_form){mean, vm_log_f32(mean), a, b, 1.1239f + 1.1328f / (b - 3.4f), 0.9277f - 3.6224f / (b - 2)};
}

static inline bool poisson_accepts(const poisson_form *f, float uniform, float v, float *k) {
    const float u = uniform - 0.5f, shifted = 0.5f - vm_abs_f32(u);
    *k = vm_floor_f32((2 * f->a / shifted + f->b) * u + f->mean + 0.43f);
    const float s = vm_slow_log_f32(v * f->inv_alpha / (f->a / (shifted * shifted) + f->b));
    const float t = -f->mean + *k * f->log_mean - vm_lgamma_f32(*k + 1);
    return (shifted >= 0.07f && v <= f->v_r) || (!(*k < 0 || (shifted < 0.013f && v > shifted)) && s <= t);
}

/* Of a mean from 10 up, by rejection. */
static float poisson_of(vm_key key, uint64_t at, float mean) {
    const poisson_form form = poisson_form_of(mean);
    float value = -1;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        if (poisson_accepts(&form, unit_at_f32(pair_at(key, 1), at), unit_at_f32(pair_at(key, 2), at), &value))
            break;
        key = pair_at(key, 0);
    }
    return value;
}

/* Of means below 10: how many uniform numbers can be multiplied before the product is below exp(-mean). Elements go
 * round by round together, as long as one of them goes on. */
static void poisson_counts(int32_t *counts, const float *means, vm_key key, uint64_t first, int64_t count) {
    float sums[PART];
    uint32_t words[PART];
    int any = 1;
    EACH counts[i] = -1, sums[i] = 0;
    for (int round = 0; any && round < ROUNDS_MAX; round++, key = pair_at(key, 0)) {
        any = 0;
        draw_words(words, pair_at(key, 1), first, count);
        EACH {
            const float sum = sums[i] + vm_slow_log_f32(unit_f32(words[i]));
            const int goes_on = sums[i] > -means[i];
            counts[i] += goes_on;
            sums[i] = goes_on ? sum : sums[i];
            any |= goes_on;
        }
    }
}

/* -1 for a mean that is negative, infinite or NaN. */
static void draw_poisson(float *out, const float *given, vm_key key, uint64_t first, int64_t n) {
    for (int64_t from = 0; from < n; from += PART, first += PART) {
        const int64_t count = n - from < PART ? n - from : PART;
        const float *mean = given + from;
        int32_t counts[PART];
        float means[PART];
        EACH means[i] = (mean[i] > 0) & (mean[i] < 10) ? mean[i] : 0;
        poisson_counts(counts, means, key, first, count);
        for (int64_t i = 0; i < count; i++)
            out[from + i] = means[i] > 0 ? (float)counts[i]
                            : (mean[i] >= 10) & (mean[i] < vm_highest_f32)
                                ? poisson_of(key, first + (uint64_t)i, mean[i])
                            : mean[i] == 0 ? 0.0f
                                           : -1.0f;
    }
}

/* ---- Binomial ---------------------------------------------------------------------------------------------------- */
/* lgamma(k + 1) less Stirling's main terms, as JAX has it. */
static const double stirling_tails[10] = {
    0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211,
    0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287,
};

#define BINOMIALS(D, T)                                                                                                \
    static inline T stirling_tail_##D(T k) {                                                                           \
        if (k <= 9)                                                                                                    \
            return (T)stirling_tails[k > 0 ? (int)k : 0];                                                              \
        const T square = (k + 1) * (k + 1);                                                                            \
        return ((T)(1.0 / 12) - ((T)(1.0 / 360) - (T)(1.0 / 1260) / square) / square) / (k + 1);                       \
    }                                                                                                                  \
    static inline bool binomial_accepts_##D(T n, T p, T uniform, T second, T *number) {                                \
        const T deviation = vm_sqrt_##D(n * p * (1 - p)), b = (T)1.15 + (T)2.53 * deviation;                           \
        const T a = (T)-0.0873 + (T)0.0248 * b + (T)0.01 * p, c = n * p + (T)0.5, v_r = (T)0.92 - (T)4.2 / b;          \
        const T r = p / (1 - p), alpha = ((T)2.83 + (T)5.1 / b) * deviation, m = vm_floor_##D((n + 1) * p);            \
        const T u = uniform - (T)0.5, us = (T)0.5 - vm_abs_##D(u), k = vm_floor_##D((2 * a / us + b) * u + c);         \
        *number = k;                                                                                                   \
        if (us >= (T)0.07 && second <= v_r)                                                                            \
            return true;                                                                                               \
        if (!(k >= 0 && k <= n))                                                                                       \
            return false;                                                                                              \
        const T v = vm_slow_log_##D(second * alpha / (a / (us * us) + b));                                             \
        const T bound = (m + (T)0.5) * vm_slow_log_##D((m + 1) / (r * (n - m + 1))) +                                  \
                        (n + 1) * vm_slow_log_##D((n - m + 1) / (n - k + 1)) +                                         \
                        (k + (T)0.5) * vm_slow_log_##D(r * (n - k + 1) / (k + 1)) + stirling_tail_##D(m) +             \
                        stirling_tail_##D(n - m) - stirling_tail_##D(k) - stirling_tail_##D(n - k);                    \
        return v <= bound;                                                                                             \
    }                                                                                                                  \
    /* One element: at most about ten rounds, or few. */                                                               \
    static T binomial_of_##D(vm_key key, uint64_t at, T n, T p, bool few) {                                            \
        if (few) {                                                                                                     \
            const T log = vm_slow_log1p_##D(-p);                                                                       \
            T sum = 0;                                                                                                 \
            int drawn = 0;                                                                                             \
            for (; sum <= n && drawn < ROUNDS_MAX; drawn++) {                                                          \
                sum += vm_ceil_##D(vm_slow_log_##D(unit_at_##D(pair_at(key, 0), at)) / log);                           \
                key = pair_at(key, 1);                                                                                 \
            }                                                                                                          \
            return (T)(drawn - 1);                                                                                     \
        }                                                                                                              \
        T number = 0;                                                                                                  \
        for (int round = 0; round < ROUNDS_MAX; round++) {                                                             \
            const T u = unit_at_##D(pair_at(key, 1), at), v = unit_at_##D(pair_at(key, 2), at);                        \
            if (binomial_accepts_##D(n, p, u, v, &number))                                                             \
                break;                                                                                                 \
            key = pair_at(key, 0);                                                                                     \
        }                                                                                                              \
        return number;                                                                                                 \
    }                                                                                                                  \
    static void draw_binomial_##D(void *out, const void *counts, const void *probs, vm_key key, uint64_t first,        \
                                  int64_t size) {                                                                      \
        for (int64_t i = 0; i < size; i++) {                                                                           \
            const T n = ((const T *)counts)[i], p = ((const T *)probs)[i], q = p < (T)0.5 ? p : 1 - p;                 \
            T value;                                                                                                   \
            if (!(n >= 0) || !(q >= 0))                                                                                \
                value = (n - n) / (n - n);                                                                             \
            else if (n == vm_highest_##D)                                                                              \
                value = n;                                                                                             \
            else                                                                                                       \
                value = binomial_of_##D(key, first + (uint64_t)i, vm_floor_##D(n), q, n * q <= 10),                    \
                value = p < (T)0.5 ? value : vm_floor_##D(n) - value;                                                  \
            ((T *)out)[i] = value;                                                                                     \
        }                                                                                                              \
    }
BINOMIALS(f32, float)
BINOMIALS(f64, double)

#endif
