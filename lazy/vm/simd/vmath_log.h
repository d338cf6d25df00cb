/* vmath_log.h: logarithms and what is made of them.
 *
 * x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2). In f64, log(1 + f) = f - (f²/2 - s (f²/2 + R(s²))) with
 * s = f / (2 + f), as in fdlibm; in f32, f - f²/2 + f³ P(f).
 */
#ifndef LAZY_SIMD_VMATH_LOG_H
#define LAZY_SIMD_VMATH_LOG_H

#include "lazy/vm/simd/vmath_base.h"
#include "lazy/vm/simd/vmath_exp.h"

/* x = 2^e (1 + f), for positive finite x; subnormal numbers are scaled by 2^UP first. ROOT: bits of sqrt(1/2). */
#define VM_LOG_PARTS(D, T, U, BIAS, SHIFT, ROOT, TINY, UP)                                                             \
    VM_INLINE T vm_log_parts_##D(T x, T *e) {                                                                          \
        const T scaled = x < TINY ? x * (T)(1ull << UP) : x;                                                           \
        const U bits = vm_bits_##D(scaled), one = (U)BIAS << SHIFT;                                                    \
        const U biased = (bits + (one - ROOT)) >> SHIFT;                                                               \
        const T count = vm_float_##D(vm_bits_##D((T)(1ull << SHIFT)) | biased) - (T)(1ull << SHIFT);                   \
        *e = count - (x < TINY ? BIAS + UP : BIAS);                                                                    \
        return vm_float_##D(bits - ((biased - BIAS) << SHIFT)) - 1;                                                    \
    }                                                                                                                  \
    /* What a logarithm is where there are no parts; `value` elsewhere. */                                             \
    VM_INLINE T vm_log_edges_##D(T x, T value) {                                                                       \
        value = x == vm_highest_##D ? x : value;                                                                       \
        value = x == 0 ? vm_lowest_##D : value;                                                                        \
        return x >= 0 ? value : (x - x) / (x - x);                                                                     \
    }

VM_LOG_PARTS(f32, float, uint32_t, 127, 23, 0x3f3504f3u, 0x1p-126f, 25)
VM_LOG_PARTS(f64, double, uint64_t, 1023, 52, 0x3fe6a09e667f3bcdull, 0x1p-1022, 54)

/* log(1 + f) = f - square + rest, with square = f²/2 rounded. */
VM_INLINE double vm_log_rest_f64(double f, double square) {
    const double s = f / (2 + f), w = s * s;
    return s * vm_fma_f64(w, vm_poly_f64(vm_log_f64_terms, 8, w), square);
}
VM_INLINE float vm_log_rest_f32(float f, float square) {
    return 2 * square * f * vm_poly_f32(vm_log_f32_terms, 9, f);
}

/* log: the two parts of e log 2. log1p: of u = 1 + x, and what u lost in rounding, as `lost` / u. log2 and log10: f -
 * square as a sum of two numbers, times the factor as a sum of two numbers. */
#define VM_LOG(D, C, T)                                                                                                \
    VM_INLINE T vm_log_##D(T x) {                                                                                      \
        T e;                                                                                                           \
        const T f = vm_log_parts_##D(x, &e), square = (T)0.5 * f * f;                                                  \
        const T rest = vm_fma_##D(e, VM_LN2_2_##C, vm_log_rest_##D(f, square));                                        \
        return vm_log_edges_##D(x, vm_fma_##D(e, VM_LN2_1_##C, f - (square - rest)));                                  \
    }                                                                                                                  \
    VM_INLINE T vm_log1p_##D(T x) {                                                                                    \
        T e;                                                                                                           \
        const T u = 1 + x, f = vm_log_parts_##D(u, &e), square = (T)0.5 * f * f;                                       \
        const T lost = (x > 1 ? 1 - (u - x) : x - (u - 1)) / u;                                                        \
        const T rest = vm_log_rest_##D(f, square) + vm_fma_##D(e, VM_LN2_2_##C, lost);                                 \
        const T value = vm_fma_##D(e, VM_LN2_1_##C, f - (square - rest));                                              \
        return u == 1 ? x : vm_log_edges_##D(u, value);                                                                \
    }                                                                                                                  \
    VM_INLINE T vm_log_scaled_##D(T x, T factor, T factor_low, T unit, T unit_low) {                                   \
        T e;                                                                                                           \
        const T f = vm_log_parts_##D(x, &e), square = (T)0.5 * f * f;                                                  \
        const T high = f - square, low = ((f - high) - square) + vm_log_rest_##D(f, square);                           \
        const T main = high * factor, exponent = e * unit, sum = exponent + main;                                      \
        const T tail = vm_fma_##D(high, factor, -main) + vm_fma_##D(low, factor, high * factor_low);                   \
        return vm_log_edges_##D(x, sum + (((exponent - sum) + main) + vm_fma_##D(e, unit_low, tail)));                 \
    }                                                                                                                  \
    VM_INLINE T vm_log2_##D(T x) {                                                                                     \
        return vm_log_scaled_##D(x, VM_LOG2E_1_##C, VM_LOG2E_2_##C, 1, 0);                                             \
    }                                                                                                                  \
    VM_INLINE T vm_log10_##D(T x) {                                                                                    \
        return vm_log_scaled_##D(x, VM_LOG10E_1_##C, VM_LOG10E_2_##C, VM_LOG10_2_1_##C, VM_LOG10_2_2_##C);             \
    }                                                                                                                  \
    VM_INLINE T vm_logaddexp_##D(T a, T b) {                                                                           \
        const T difference = a == b ? 0 : a - b;                                                                       \
        return vm_max_##D(a, b) + vm_log1p_##D(vm_exp_##D(-vm_abs_##D(difference)));                                   \
    }

VM_LOG(f32, F32, float)
VM_LOG(f64, F64, double)

/* sign(x) log1p(a + a² / (1 + sqrt(1 + a²))), and log(2a) where a² no longer notices 1. */
VM_INLINE double vm_asinh_f64(double x) {
    const double a = vm_abs_f64(x), w = a * a;
    const bool large = a > 0x1p28;
    const double value = vm_log1p_f64(large ? a - 1 : a + w / (1 + vm_sqrt_f64(1 + w)));
    return vm_copysign_f64(large ? value + VM_LN2_2_F64 + VM_LN2_1_F64 : value, x);
}

/* log1p(u + sqrt(2u + u²)) with u = x - 1; log(2x) for large x. */
VM_INLINE double vm_acosh_f64(double x) {
    const double u = x - 1;
    const bool large = x > 0x1p28;
    const double value = vm_log1p_f64(large ? u : u + vm_sqrt_f64(2 * u + u * u));
    return x >= 1 ? (large ? value + VM_LN2_2_F64 + VM_LN2_1_F64 : value) : (x - x) / (x - x);
}

/* sign(x) log1p(2a / (1 - a)) / 2 */
VM_INLINE double vm_atanh_f64(double x) {
    const double a = vm_abs_f64(x);
    return vm_copysign_f64(0.5 * vm_log1p_f64(2 * a / (1 - a)), x);
}

VM_FROM_F64(asinh)
VM_FROM_F64(acosh)
VM_FROM_F64(atanh)

/* log(x) as high + *low with a relative error near 2^-65: 2 atanh(s), whose first two terms are sums of two numbers. */
VM_INLINE double vm_log_double_f64(double x, double *low) {
    double e;
    const double f = vm_log_parts_f64(x, &e), d = 2 + f, d_low = f - (d - 2);
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
    double low, n;
    const double high = vm_log_double_f64(a, &low), product = y * high;
    const double rest = vm_fma_f64(y, high, -product) + y * low;
    const bool inside = (product > -800) & (product < 800);
    const double p = vm_exp_parts_f64(vm_clamp_f64(product, -800, 800), &n);
    return vm_scale_f64(1 + vm_fma_f64(inside ? rest : 0, 1 + p, p), n);
}

VM_INLINE double vm_pow_f64(double x, double y) {
    const double a = vm_abs_f64(x), infinite = vm_highest_f64;
    const bool integral = vm_trunc_f64(y) == y, odd = integral & (vm_trunc_f64(y * 0.5) != y * 0.5);
    const bool bad_root = (x < 0) & !integral & (a != infinite), is_nan = (x != x) | (y != y);
    double value = vm_pow_magnitude_f64(a, y);
    value = (a == 0) | (a == infinite) ? ((a == 0) == (y < 0) ? infinite : 0) : value;
    value = vm_abs_f64(y) == infinite ? (a == 1 ? 1 : (a > 1) == (y > 0) ? infinite : 0) : value;
    value = odd ? vm_copysign_f64(value, x) : value;
    value = bad_root ? (x - x) / (x - x) : value;
    value = is_nan ? x + y : value;
    return (y == 0) | (x == 1) ? 1 : value;
}

VM_INLINE float vm_pow_f32(float x, float y) {
    return (float)vm_pow_f64(x, y);
}

#endif
