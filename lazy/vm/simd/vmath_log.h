/* vmath_log.h: logarithms and what is made of them.
 *
 * x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). In f64, log(1 + f) = f - (f²/2 - s (f²/2 + R(s²))) with
 * s = f / (2 + f), as in fdlibm; in f32, f + f² P(f). That is sound for positive normal numbers; others are rare.
 */
#ifndef LAZY_SIMD_VMATH_LOG_H
#define LAZY_SIMD_VMATH_LOG_H

#include "lazy/vm/simd/vmath_base.h"
#include "lazy/vm/simd/vmath_exp.h"

/* x = 2^e (1 + f), 1 + f from ROOT (its bits) on, for log1p from ROOT1; subnormal numbers are scaled by 2^UP first,
 * where they are asked for. COUNT: the integer k as a number of type T. */
#define VM_LOG_PARTS(D, T, U, I, BIAS, SHIFT, ROOT, COUNT, TINY, UP, ROOT1)                                            \
    VM_INLINE T vm_log_parts_##D(T x, T *e) {                                                                          \
        const U bits = vm_bits_##D(x);                                                                                 \
        const I k = (I)(bits - ROOT) >> SHIFT;                                                                         \
        *e = COUNT;                                                                                                    \
        return vm_float_##D(bits - ((U)k << SHIFT)) - 1;                                                               \
    }                                                                                                                  \
    VM_INLINE T vm_log_all_parts_##D(T x, T *e) {                                                                      \
        const T f = vm_log_parts_##D(x < TINY ? x * (T)(1ull << UP) : x, e);                                           \
        *e -= x < TINY ? UP : 0;                                                                                       \
        return f;                                                                                                      \
    }                                                                                                                  \
    /* What a logarithm is where there are no parts; `value` elsewhere. */                                             \
    VM_INLINE T vm_log_edges_##D(T x, T value) {                                                                       \
        value = x == vm_highest_##D ? x : value;                                                                       \
        value = x == 0 ? vm_lowest_##D : value;                                                                        \
        return x >= 0 ? value : (x - x) / (x - x);                                                                     \
    }                                                                                                                  \
    /* 1 + x = 2^e (1 + f), 1 + f from 3/4 on, where f is rounded once and x itself for e = 0. */                      \
    VM_INLINE T vm_log1p_parts_##D(T x, T *e) {                                                                        \
        const I k = (I)(vm_bits_##D(1 + x) - ROOT1) >> SHIFT;                                                          \
        const T scale = vm_float_##D((U)(BIAS - k) << SHIFT);                                                          \
        *e = COUNT;                                                                                                    \
        return vm_fma_##D(x, scale, scale - 1);                                                                        \
    }

VM_LOG_PARTS(f32, float, uint32_t, int32_t, 127, 23, 0x3f3504f3u, (float)k, 0x1p-126f, 25, 0x3f400000u)
VM_LOG_PARTS(f64, double, uint64_t, int64_t, 1023, 52, 0x3fe6a09e667f3bcdull,
             vm_float_f64(vm_bits_f64(0x1.8p52) + (uint64_t)k) - 0x1.8p52, 0x1p-1022, 54, 0x3fe8000000000000ull)

/* log(2^e (1 + f)) = e log 2 + f - square + rest, with square = f²/2 rounded; TERMS of R. */
#define VM_LOG_REST_F64(f, square, s, TERMS, N) ((s)*vm_fma_f64((s) * (s), vm_poly_f64(TERMS, N, (s) * (s)), square))
VM_INLINE double vm_log_rest_f64(double f, double square) {
    const double s = f / (2 + f);
    return VM_LOG_REST_F64(f, square, s, vm_log_f64_terms, 8);
}
VM_INLINE double vm_log_of_f64(double f, double e) {
    const double square = 0.5 * f * f, rest = vm_fma_f64(e, VM_LN2_2_F64, vm_log_rest_f64(f, square));
    return vm_fma_f64(e, VM_LN2_1_F64, f - (square - rest));
}
VM_INLINE double vm_log1p_of_f64(double f, double e) {
    const double square = 0.5 * f * f, s = f / (2 + f);
    const double rest = vm_fma_f64(e, VM_LN2_2_F64, VM_LOG_REST_F64(f, square, s, vm_log1p_f64_terms, 9));
    return vm_fma_f64(e, VM_LN2_1_F64, f - (square - rest));
}

/* f - square as a sum of two numbers, times the factor as a sum of two numbers. */
VM_INLINE double vm_log_scaled_f64(double f, double e, double factor, double factor_low, double unit, double unit_low) {
    const double square = 0.5 * f * f;
    const double high = f - square, low = ((f - high) - square) + vm_log_rest_f64(f, square);
    const double main = high * factor, exponent = e * unit, sum = exponent + main;
    const double tail = vm_fma_f64(high, factor, -main) + vm_fma_f64(low, factor, high * factor_low);
    return sum + (((exponent - sum) + main) + vm_fma_f64(e, unit_low, tail));
}
VM_INLINE double vm_log2_of_f64(double f, double e) {
    return vm_log_scaled_f64(f, e, VM_LOG2E_1_F64, VM_LOG2E_2_F64, 1, 0);
}
VM_INLINE double vm_log10_of_f64(double f, double e) {
    return vm_log_scaled_f64(f, e, VM_LOG10E_1_F64, VM_LOG10E_2_F64, VM_LOG10_2_1_F64, VM_LOG10_2_2_F64);
}

/* In f32, with the small terms first. */
VM_INLINE float vm_log_of_f32(float f, float e) {
    const float rest = vm_fma_f32(f * f, vm_poly_f32(vm_log_f32_terms, 10, f), e * VM_LN2_2_F32);
    return vm_fma_f32(e, VM_LN2_1_F32, f + rest);
}
VM_INLINE float vm_log1p_of_f32(float f, float e) {
    const float rest = vm_fma_f32(f * f, vm_poly_f32(vm_log1p_f32_terms, 11, f), e * VM_LN2_2_F32);
    return vm_fma_f32(e, VM_LN2_1_F32, f + rest);
}
VM_INLINE float vm_log2_of_f32(float f, float e) {
    const float rest = f * f * vm_poly_f32(vm_log2_f32_terms, 10, f);
    return e + vm_fma_f32(f, VM_LOG2E_1_F32, vm_fma_f32(f, VM_LOG2E_2_F32, rest));
}
VM_INLINE float vm_log10_of_f32(float f, float e) {
    const float rest = vm_fma_f32(f * f, vm_poly_f32(vm_log10_f32_terms, 10, f), e * VM_LOG10_2_2_F32);
    return vm_fma_f32(e, VM_LOG10_2_1_F32, vm_fma_f32(f, VM_LOG10E_1_F32, vm_fma_f32(f, VM_LOG10E_2_F32, rest)));
}

#define VM_LOG(name, D, T)                                                                                             \
    VM_INLINE T vm_##name##_##D(T x) {                                                                                 \
        T e;                                                                                                           \
        const T f = vm_log_parts_##D(x, &e);                                                                           \
        return vm_##name##_of_##D(f, e);                                                                               \
    }                                                                                                                  \
    VM_INLINE T vm_slow_##name##_##D(T x) {                                                                            \
        T e;                                                                                                           \
        const T f = vm_log_all_parts_##D(x, &e);                                                                       \
        return vm_log_edges_##D(x, vm_##name##_of_##D(f, e));                                                          \
    }
VM_LOG(log, f32, float)
VM_LOG(log, f64, double)
VM_LOG(log2, f32, float)
VM_LOG(log2, f64, double)
VM_LOG(log10, f32, float)
VM_LOG(log10, f64, double)

/* Not positive, normal and finite; the sum turns these into the numbers from some number up. */
#define VM_LOG_RARE_F32 ((int32_t)(vm_bits_f32(x) + 0x7f800000u) >= (int32_t)0xff000000u)
#define VM_LOG_RARE_F64 ((int64_t)(vm_bits_f64(x) + 0x7ff0000000000000ull) >= (int64_t)0xffe0000000000000ull)
VM_RARE(log, f32, float, VM_LOG_RARE_F32)
VM_RARE(log, f64, double, VM_LOG_RARE_F64)
VM_RARE(log2, f32, float, VM_LOG_RARE_F32)
VM_RARE(log2, f64, double, VM_LOG_RARE_F64)
VM_RARE(log10, f32, float, VM_LOG_RARE_F32)
VM_RARE(log10, f64, double, VM_LOG_RARE_F64)

VM_RARE(log1p, f32, float, !((x > -1) & (x < 0x1p100f)))
VM_RARE(log1p, f64, double, !((x > -1) & (x < 0x1p1000)))
VM_RARE(asinh, f32, float, vm_size_f32(x) >= VM_2_28_F32)
VM_RARE(asinh, f64, double, vm_size_f64(x) >= VM_2_28_F64)
VM_RARE(acosh, f32, float, !((x >= 1) & (x < 0x1p28f)))
VM_RARE(acosh, f64, double, !((x >= 1) & (x < 0x1p28)))
VM_RARE(atanh, f32, float, vm_size_f32(x) >= VM_ONE_F32)
VM_RARE(atanh, f64, double, vm_size_f64(x) >= VM_ONE_F64)
VM_RARE2(logaddexp, f32, float, !(vm_abs_f32(x - y) < 80))
VM_RARE2(logaddexp, f64, double, !(vm_abs_f64(x - y) < 700))

/* Where they are rare, asinh and acosh are log(2x). */
#define VM_AREA(D, C, T)                                                                                               \
    VM_INLINE T vm_log1p_##D(T x) {                                                                                    \
        T e;                                                                                                           \
        const T f = vm_log1p_parts_##D(x, &e);                                                                         \
        return vm_copysign_##D(vm_log1p_of_##D(f, e), x);                                                              \
    }                                                                                                                  \
    VM_INLINE T vm_slow_log1p_##D(T x) {                                                                               \
        return vm_rare_log1p_##D(x) ? vm_slow_log_##D(1 + x) : vm_log1p_##D(x);                                        \
    }                                                                                                                  \
    VM_INLINE T vm_log_twice_##D(T x) {                                                                                \
        return vm_slow_log_##D(x) + VM_LN2_2_##C + VM_LN2_1_##C;                                                       \
    }                                                                                                                  \
    /* sign(x) log1p(a + a² / (1 + sqrt(1 + a²))) */                                                                 \
    VM_INLINE T vm_asinh_##D(T x) {                                                                                    \
        const T a = vm_abs_##D(x), w = a * a;                                                                          \
        return vm_copysign_##D(vm_log1p_##D(a + w / (1 + vm_sqrt_##D(1 + w))), x);                                     \
    }                                                                                                                  \
    VM_INLINE T vm_slow_asinh_##D(T x) {                                                                               \
        return vm_rare_asinh_##D(x) ? vm_copysign_##D(vm_log_twice_##D(vm_abs_##D(x)), x) : vm_asinh_##D(x);           \
    }                                                                                                                  \
    /* log1p(u + sqrt(2u + u²)) with u = x - 1 */                                                                     \
    VM_INLINE T vm_acosh_##D(T x) {                                                                                    \
        const T u = x - 1;                                                                                             \
        return vm_log1p_##D(u + vm_sqrt_##D(vm_fma_##D(u, u, 2 * u)));                                                 \
    }                                                                                                                  \
    VM_INLINE T vm_slow_acosh_##D(T x) {                                                                               \
        return x < 1 ? (x - x) / (x - x) : vm_rare_acosh_##D(x) ? vm_log_twice_##D(x) : vm_acosh_##D(x);               \
    }                                                                                                                  \
    /* sign(x) log1p(2a / (1 - a)) / 2 */                                                                              \
    VM_INLINE T vm_atanh_##D(T x) {                                                                                    \
        const T a = vm_abs_##D(x);                                                                                     \
        return vm_copysign_##D((T)0.5 * vm_log1p_##D(2 * a / (1 - a)), x);                                             \
    }                                                                                                                  \
    VM_INLINE T vm_slow_atanh_##D(T x) {                                                                               \
        const T a = vm_abs_##D(x);                                                                                     \
        const T edge = a == 1 ? vm_copysign_##D(vm_highest_##D, x) : (x - x) / (x - x);                                \
        return vm_rare_atanh_##D(x) ? edge : vm_atanh_##D(x);                                                          \
    }                                                                                                                  \
    VM_INLINE T vm_logaddexp_##D(T a, T b) {                                                                           \
        return (a > b ? a : b) + vm_log1p_##D(vm_exp_##D(-vm_abs_##D(a - b)));                                         \
    }                                                                                                                  \
    VM_INLINE T vm_slow_logaddexp_##D(T a, T b) {                                                                      \
        const T difference = a == b ? 0 : a - b;                                                                       \
        return vm_max_##D(a, b) + vm_log1p_##D(vm_slow_exp_##D(-vm_abs_##D(difference)));                              \
    }
VM_AREA(f32, F32, float)
VM_AREA(f64, F64, double)

/* x log(y), x log1p(y) and -x log(x). Where x is 0 they are 0, the first two unless y is NaN; the last is -infinite
 * below 0. */
VM_RARE2(xlogy, f32, float, (x == 0) | vm_rare_log_f32(y))
VM_RARE2(xlogy, f64, double, (x == 0) | vm_rare_log_f64(y))
VM_RARE2(xlog1py, f32, float, (x == 0) | vm_rare_log1p_f32(y))
VM_RARE2(xlog1py, f64, double, (x == 0) | vm_rare_log1p_f64(y))
VM_RARE(entr, f32, float, vm_rare_log_f32(x))
VM_RARE(entr, f64, double, vm_rare_log_f64(x))
#define VM_LOG_PRODUCTS(D, T)                                                                                          \
    VM_INLINE T vm_xlogy_##D(T x, T y) {                                                                               \
        return x * vm_log_##D(y);                                                                                      \
    }                                                                                                                  \
    VM_INLINE T vm_slow_xlogy_##D(T x, T y) {                                                                          \
        return (x == 0) & (y == y) ? 0 : x * vm_slow_log_##D(y);                                                       \
    }                                                                                                                  \
    VM_INLINE T vm_xlog1py_##D(T x, T y) {                                                                             \
        return x * vm_log1p_##D(y);                                                                                    \
    }                                                                                                                  \
    VM_INLINE T vm_slow_xlog1py_##D(T x, T y) {                                                                        \
        return (x == 0) & (y == y) ? 0 : x * vm_slow_log1p_##D(y);                                                     \
    }                                                                                                                  \
    VM_INLINE T vm_entr_##D(T x) {                                                                                     \
        return -(x * vm_log_##D(x));                                                                                   \
    }                                                                                                                  \
    VM_INLINE T vm_slow_entr_##D(T x) {                                                                                \
        const T value = -(x * vm_slow_log_##D(x));                                                                     \
        return x < 0 ? vm_lowest_##D : x == 0 ? 0 : value;                                                             \
    }
VM_LOG_PRODUCTS(f32, float)
VM_LOG_PRODUCTS(f64, double)

/* log(x) as high + *low with a relative error near 2^-65: 2 atanh(s), whose first two terms are sums of two numbers. */
VM_INLINE double vm_log_double_f64(double x, double *low) {
    double e;
    const double f = vm_log_all_parts_f64(x, &e), d = 2 + f, d_low = f - (d - 2);
    const double s = f / d, s_low = (vm_fma_f64(-s, d, f) - s * d_low) / d;
    const double w = s * s, w_low = vm_fma_f64(s, s, -w) + 2 * s * s_low;
    const double c = s * w, c_low = vm_fma_f64(s, w, -c) + (s * w_low + s_low * w);
    const double t = c * VM_TWO_THIRDS_1_F64;
    const double t_low =
        vm_fma_f64(c, VM_TWO_THIRDS_1_F64, -t) + (c * VM_TWO_THIRDS_2_F64 + c_low * VM_TWO_THIRDS_1_F64);
    const double tail = c * w * vm_poly_f64(vm_log_tail_f64_terms, 8, w);
    const double sum = 2 * s + t, sum_low = ((2 * s - sum) + t) + (2 * s_low + t_low + tail);
    const double main = e * VM_LN2_1_F64, high = main + sum;
    const double rest = ((main - high) + sum) + vm_fma_f64(e, VM_LN2_2_F64, sum_low);
    const double result = high + rest;
    *low = (high - result) + rest;
    return result;
}

/* |x|^y for finite nonzero x and finite y. */
VM_INLINE double vm_pow_magnitude_f64(double a, double y) {
    double low, shifted;
    const double high = vm_log_double_f64(a, &low), product = y * high;
    const double rest = vm_fma_f64(y, high, -product) + y * low;
    const bool inside = (product > -800) & (product < 800);
    const double p = vm_exp_parts_f64(vm_clamp_f64(product, -800, 800), &shifted);
    return vm_scale_f64(1 + vm_fma_f64(inside ? rest : 0, 1 + p, p), shifted - 0x1.8p52);
}

/* What C's pow is at the edges; `value` is |x|^y for the others. */
#define VM_POW_EDGES(D, T)                                                                                             \
    VM_INLINE T vm_pow_edges_##D(T x, T y, T value) {                                                                  \
        const T a = vm_abs_##D(x), infinite = vm_highest_##D;                                                          \
        const bool integral = vm_trunc_##D(y) == y, odd = integral & (vm_trunc_##D(y * (T)0.5) != y * (T)0.5);         \
        const bool bad_root = (x < 0) & !integral & (a != infinite), is_nan = (x != x) | (y != y);                     \
        value = (a == 0) | (a == infinite) ? ((a == 0) == (y < 0) ? infinite : 0) : value;                             \
        value = vm_abs_##D(y) == infinite ? (a == 1 ? 1 : (a > 1) == (y > 0) ? infinite : 0) : value;                  \
        value = odd ? vm_copysign_##D(value, x) : value;                                                               \
        value = bad_root ? (x - x) / (x - x) : value;                                                                  \
        value = is_nan ? x + y : value;                                                                                \
        return (y == 0) | (x == 1) ? 1 : value;                                                                        \
    }
VM_POW_EDGES(f32, float)
VM_POW_EDGES(f64, double)

VM_INLINE double vm_pow_f64(double x, double y) {
    return vm_pow_edges_f64(x, y, vm_pow_magnitude_f64(vm_abs_f64(x), y));
}

/* x^y of f32 as 2^t, t = y log2(x). With x = 2^e m, m from 0.83 to 1.66, and z = m - 1 or 3/4 m - 1, which is exact,
 * s = z / (2 + z) is up to 0.11, and log2(x) = e - log2(3/4) + 2 (s + s³/3 + …) / log(2) has an error near 2^-31 as a
 * sum of two numbers; so t is one with an error near 2^-25 where |t| is up to 64. All is in f32, since vectors of f64
 * have half as many numbers, and conversions take as long as several operations. */
VM_INLINE float vm_pow_f32(float x, float y) {
    const uint32_t bits = vm_bits_f32(x);
    const int32_t k = (int32_t)(bits - 0x3f547ae1u) >> 23;
    const float m = vm_float_f32(bits - ((uint32_t)k << 23)), z = vm_fma_f32(m, m < 1.2f ? 1 : 0.75f, -1);
    const float e = (float)k + (m < 1.2f ? 0 : VM_LOG2_4_3_1_F32), e_low = m < 1.2f ? 0 : VM_LOG2_4_3_2_F32;
    const float d = 2 + z, d_low = z - (d - 2), inverse = 1 / d, s = z * inverse, w = s * s;
    const float rest = vm_fma_f32(-s, d_low, vm_fma_f32(-s, d, z)); /* of the quotient, times d */
    const float main = s * VM_TWO_LOG2E_1_F32, high = e + main;
    const float start = vm_fma_f32(s, VM_TWO_LOG2E_2_F32, e_low);
    const float tail = vm_fma_f32(s * w, vm_poly_f32(vm_pow_log2_f32_terms, 4, w), start);
    const float more = vm_fma_f32(rest * VM_TWO_LOG2E_1_F32, inverse, tail);
    const float low = (more + vm_fma_f32(s, VM_TWO_LOG2E_1_F32, -main)) + (main - (high - e));
    const float t = y * high, t_low = vm_fma_f32(y, low, vm_fma_f32(y, high, -t));
    const float shifted = (t + t_low) + 0x1.8p23f, r = (t - (shifted - 0x1.8p23f)) + t_low;
    return vm_raise_f32(vm_fma_f32(r, vm_poly_f32(vm_pow_exp2_f32_terms, 6, r), 1), shifted);
}
/* Elsewhere t = y (e + log2(1 + f)) with an error near 2^-30, in f64, rounded at the end. */
VM_INLINE float vm_pow_wide_f32(float x, float y) {
    float e;
    const float f = vm_log_all_parts_f32(x, &e);
    const double log2 = vm_fma_f64(f, vm_poly_f64(vm_pow_log2_f64_terms, 13, f), e);
    const double t = vm_clamp_f64(y * log2, -400, 400);
    const double shifted = t + 0x1.8p52, r = t - (shifted - 0x1.8p52);
    return (float)vm_raise_f64(vm_fma_f64(r, vm_poly_f64(vm_pow_exp2_f64_terms, 6, r), 1), shifted);
}
/* The bits of x count |log2(x)| in units of 2^-23, with an error up to 0.09. */
VM_RARE2(pow, f32, float,
         VM_LOG_RARE_F32 | !(vm_abs_f32(y * (float)(int32_t)(vm_bits_f32(x) - (uint32_t)VM_ONE_F32)) < 0x1p29f))
VM_INLINE float vm_slow_pow_f32(float x, float y) {
    return vm_rare_pow_f32(x, y) ? vm_pow_edges_f32(x, y, vm_pow_wide_f32(vm_abs_f32(x), y)) : vm_pow_f32(x, y);
}

#endif
