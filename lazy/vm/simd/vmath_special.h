/* vmath_special.h: error functions, roots. */
#ifndef LAZY_SIMD_VMATH_SPECIAL_H
#define LAZY_SIMD_VMATH_SPECIAL_H

#include "lazy/vm/simd/vmath_exp.h"
#include "lazy/vm/simd/vmath_log.h"

VM_RARE(erf_inv, f32, float, vm_size_f32(x) >= VM_ONE_F32)

/* erfc(a) for a from 0.45 on: exp(-a²) / (1 + 2a) times a polynomial in (a - 2) / (a + 2). The part of a² that rounding
 * cut off is put back. */
VM_INLINE double vm_erfc_tail_f64(double a) {
    const double square = a * a, low = vm_fma_f64(a, a, -square), e = vm_exp_f64(-square);
    const double shape = vm_poly_f64(vm_erfc_f64_terms, 19, (a - 2) / (a + 2));
    return vm_fma_f64(-e, low, e) * shape / (1 + 2 * a);
}

/* erf(a) for a from 0 to 0.9: a + a P(a²). Beyond it is any number; where a is large P is that of 6. */
VM_INLINE double vm_erf_near_f64(double a) {
    const double limited = a > 6 ? 6 : a;
    return vm_fma_f64(a, vm_poly_f64(vm_erf_f64_terms, 13, limited * limited), a);
}

/* That near 0, else 1 - erfc. */
VM_INLINE double vm_erf_f64(double x) {
    const double a = vm_abs_f64(x), tail = vm_erfc_tail_f64(a > 6 ? 6 : a);
    return vm_copysign_f64(a < 0.9 ? vm_erf_near_f64(a) : 1 - tail, x);
}

/* The same near 0, else 1 - 2^P(a), for a up to 4; from there on erf is 1. */
VM_INLINE float vm_erf_f32(float x) {
    const float a = vm_abs_f32(x);
    const float small = vm_fma_f32(a, vm_poly_f32(vm_erf_f32_terms, 7, a * a), a);
    return vm_copysign_f32(a < 0.9f ? small : 1 - vm_exp2_f32(vm_poly_f32(vm_erfc_f32_terms, 9, a)), x);
}
VM_RARE(erf, f32, float, vm_size_f32(x) > 0x40800000)
VM_INLINE float vm_slow_erf_f32(float x) {
    return x == x ? vm_erf_f32(vm_clamp_f32(x, -4, 4)) : x;
}

/* x times a polynomial in w = -log(1 - x²) up to 5, in sqrt(w) - 3 beyond (the variables of Giles, "Approximating the
 * erfinv function", 2011). |x| from 1 on is rare. */
VM_INLINE float vm_erf_inv_f32(float x) {
    const float w = -vm_log_f32((1 - x) * (1 + x));
    const float near = vm_poly_f32(vm_erf_inv_near_f32_terms, 11, w);
    const float far = vm_poly_f32(vm_erf_inv_far_f32_terms, 11, vm_sqrt_f32(w) - 3);
    return x * (w < 5 ? near : far);
}
VM_INLINE float vm_slow_erf_inv_f32(float x) {
    const float a = vm_abs_f32(x), edge = a == 1 ? x * vm_highest_f32 : (x - x) / (x - x);
    return vm_rare_erf_inv_f32(x) ? edge : vm_erf_inv_f32(x);
}

/* In f64 shorter polynomials, with an error near 2^-16, and a step of Halley's method with the next term of the series
 * of the inverse, which takes the error to its fourth power: on erf(y) - a, or from 1/2 on on (1 - a) - erfc(y), which
 * is exact in a. */
VM_INLINE double vm_erf_inv_f64(double x) {
    const double a = vm_abs_f64(x), w = -vm_log_f64((1 - a) * (1 + a));
    const double near = vm_poly_f64(vm_erf_inv_near_f64_terms, 7, w);
    const double far = vm_poly_f64(vm_erf_inv_far_f64_terms, 8, vm_sqrt_f64(w) - 4);
    const double y = a * (w < 5 ? near : far), square = y * y, low = vm_fma_f64(y, y, -square);
    const double rough = vm_exp_f64(-square), e = vm_fma_f64(-rough, low, rough);
    const double tail = e * vm_poly_f64(vm_erfc_f64_terms, 19, (y - 2) / (y + 2)) / (1 + 2 * y);
    const double start = vm_fma_f64(y, vm_poly_f64(vm_erf_f64_terms, 13, square), y);
    const double miss = a < 0.5 ? start - a : (1 - a) - tail;
    const double change = miss * 0.88622692545275805 / e;
    const double further = change * change * change * vm_fma_f64(y, y, 1) * (1.0 / 3);
    return vm_copysign_f64(y - (change / (1 + y * change) + further), x);
}
VM_RARE(erf_inv, f64, double, vm_size_f64(x) >= VM_ONE_F64)
VM_INLINE double vm_slow_erf_inv_f64(double x) {
    const double a = vm_abs_f64(x), edge = a == 1 ? x * vm_highest_f64 : (x - x) / (x - x);
    return vm_rare_erf_inv_f64(x) ? edge : vm_erf_inv_f64(x);
}

/* 2^(e/3) of a polynomial for the mantissa in [0.7, 5.7), one step of Halley's method, and one of Newton's whose
 * residual is computed exactly. */
VM_INLINE double vm_cbrt_f64(double x) {
    double e;
    const double a = vm_abs_f64(x), f = vm_log_all_parts_f64(a, &e);
    const double round = 0x1.8p52, third = ((e - 1) * (1.0 / 3) + round) - round;
    const double m = (1 + f) * vm_power_f64(e - 3 * third);
    double y = vm_poly_f64(vm_cbrt_f64_terms, 6, m);
    const double cube = y * y * y;
    y = y * ((cube + 2 * m) / (2 * cube + m));
    const double square = y * y, square_low = vm_fma_f64(y, y, -square), third_power = square * y;
    const double residual = (m - third_power) - vm_fma_f64(square, y, -third_power) - square_low * y;
    const double value = vm_power_f64(third) * (y + residual / (3 * square));
    return (a == 0) | !(a < vm_highest_f64) ? x + x : vm_copysign_f64(value, x);
}

/* r = a^(-1/3): bits of a / -3 are within 4 % of its bits, and with e = 1 - a r³, from -0.1204 to 0.0902, it is
 * (1 - e)^(-1/3) times as much: to 2.8e-6 by a polynomial. Then y = a r² is corrected by (a - y³) / 3y². Arguments that
 * are not normal are rare. */
VM_INLINE float vm_cbrt_f32(float x) {
    const float a = vm_abs_f32(x);
    const int32_t bits = (int32_t)((float)vm_size_f32(x) * (-1.0f / 3));
    const float start = vm_float_f32((uint32_t)(bits + 0x54a2fa8c));
    const float e = vm_fma_f32(-a * start, start * start, 1);
    const float more = vm_fma_f32(vm_fma_f32(0.16596741f, e, 0.22338221f), e, 0.3333673f);
    const float r = vm_fma_f32(start * e, more, start), square = r * r, y = a * square;
    return vm_copysign_f32(vm_fma_f32(vm_fma_f32(-(y * y), y, a) * square, 1.0f / 3, y), x);
}
VM_RARE(cbrt, f32, float, (int32_t)((uint32_t)vm_size_f32(x) + 0x7f800000u) >= (int32_t)0xff000000u)
VM_INLINE float vm_slow_cbrt_f32(float x) {
    return vm_rare_cbrt_f32(x) ? (float)vm_cbrt_f64((double)x) : vm_cbrt_f32(x);
}

/* A step of Newton's method on 1 / sqrt(x), whose residual 1 - x y² is computed exactly; not where y is 0 or
 * infinite. */
#define VM_RSQRT(D, T)                                                                                                 \
    VM_INLINE T vm_rsqrt_##D(T x) {                                                                                    \
        const T y = 1 / vm_sqrt_##D(x), p = x * y;                                                                     \
        const T residual = vm_fma_##D(-p, y, 1) - vm_fma_##D(x, y, -p) * y;                                            \
        return vm_fma_##D((T)0.5 * y, residual, y);                                                                    \
    }                                                                                                                  \
    VM_INLINE T vm_slow_rsqrt_##D(T x) {                                                                               \
        return (x > 0) & (x < vm_highest_##D) ? vm_rsqrt_##D(x) : 1 / vm_sqrt_##D(x);                                  \
    }
VM_RSQRT(f32, float)
VM_RSQRT(f64, double)
VM_RARE(rsqrt, f32, float, VM_LOG_RARE_F32)
VM_RARE(rsqrt, f64, double, VM_LOG_RARE_F64)

/* The square root of the sum, corrected by what the squares, the sum and the root lost. Scaled so that no square leaves
 * the range. */
VM_INLINE double vm_hypot_f64(double x, double y) {
    const double a = vm_abs_f64(x), b = vm_abs_f64(y), top = a > b ? a : b, other = a > b ? b : a;
    const double scale = top > 0x1p500 ? 0x1p-600 : top < 0x1p-400 ? 0x1p600 : 1;
    const double back = top > 0x1p500 ? 0x1p600 : top < 0x1p-400 ? 0x1p-600 : 1;
    const double m = top * scale, n = other * scale, p = m * m, q = n * n, h = vm_sqrt_f64(p + q), square = h * h;
    const double lost = vm_fma_f64(m, m, -p) + vm_fma_f64(n, n, -q) - vm_fma_f64(h, h, -square);
    const double value = h + (h > 0 ? (((p - square) + q) + lost) / (2 * h) : 0);
    const double infinite = vm_highest_f64;
    return (a == infinite) | (b == infinite) ? infinite : (x != x) | (y != y) ? x + y : value * back;
}
/* Squares of f32 are exact in f64, and none leaves its range. */
VM_INLINE float vm_hypot_f32(float x, float y) {
    const float value = (float)vm_sqrt_f64((double)x * x + (double)y * y);
    return (vm_size_f32(x) == VM_INFINITE_F32) | (vm_size_f32(y) == VM_INFINITE_F32) ? vm_highest_f32 : value;
}

#endif
