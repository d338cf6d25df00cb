/* vmath_special.h: error functions, roots. */
#ifndef LAZY_SIMD_VMATH_SPECIAL_H
#define LAZY_SIMD_VMATH_SPECIAL_H

#include "lazy/vm/simd/vmath_exp.h"
#include "lazy/vm/simd/vmath_log.h"

/* erfc(a) for a from 0.45 on: exp(-a²) / (1 + 2a) times a polynomial in (a - 2) / (a + 2). The part of a² that rounding
 * cut off is put back. */
VM_INLINE double vm_erfc_tail_f64(double a) {
    const double square = a * a, low = vm_fma_f64(a, a, -square), e = vm_exp_f64(-square);
    const double shape = vm_poly_f64(vm_erfc_f64_terms, 19, (a - 2) / (a + 2));
    return vm_fma_f64(-e, low, e) * shape / (1 + 2 * a);
}

/* x + x P(x²) near 0, else 1 - erfc. */
VM_INLINE double vm_erf_f64(double x) {
    const double a = vm_abs_f64(x), limited = a > 6 ? 6 : a;
    const double small = vm_fma_f64(a, vm_poly_f64(vm_erf_f64_terms, 13, limited * limited), a);
    return vm_copysign_f64(a < 0.9 ? small : 1 - vm_erfc_tail_f64(limited), x);
}

/* The same near 0, else 1 - 2^P(a). */
VM_INLINE float vm_erf_f32(float x) {
    const float a = vm_abs_f32(x), limited = a > 4 ? 4 : a;
    const float small = vm_fma_f32(a, vm_poly_f32(vm_erf_f32_terms, 7, limited * limited), a);
    return vm_copysign_f32(a < 0.9f ? small : 1 - vm_exp2_f32(vm_poly_f32(vm_erfc_f32_terms, 9, limited)), x);
}

VM_INLINE double vm_erf_inv_step(double y, double a) {
    const double miss = a < 0.5 ? vm_erf_f64(y) - a : (1 - a) - vm_erfc_tail_f64(y);
    const double change = miss * 0.88622692545275805 * vm_exp_f64(y * y);
    return y - (change / (1 + y * change) + change * change * change * vm_fma_f64(y, y, 1) * (1.0 / 3));
}

/* Winitzki's formula (2008, error 2e-3), then two steps of Halley's method with the next term of the inverse's series,
 * each of which takes the error to its fourth power: on erf(y) - a, or from 1/2 on on (1 - a) - erfc(y), which is exact
 * in a. */
VM_INLINE double vm_erf_inv_f64(double x) {
    const double a = vm_abs_f64(x), factor = 1 / 0.147;
    const double logarithm = vm_log_f64((1 - a) * (1 + a));
    const double t = 2 / 3.14159265358979312 * factor + 0.5 * logarithm, q = -logarithm * factor;
    double y = vm_sqrt_f64(q / (vm_sqrt_f64(t * t + q) + t));
    y = vm_erf_inv_step(y, a);
    y = vm_erf_inv_step(y, a);
    y = a == 1 ? vm_highest_f64 : y;
    return a <= 1 ? vm_copysign_f64(y, x) : (a - a) / (a - a);
}
VM_FROM_F64(erf_inv)

/* 2^(e/3) of a polynomial for the mantissa in [0.7, 5.7), one step of Halley's method, and one of Newton's whose
 * residual is computed exactly. */
VM_INLINE double vm_cbrt_f64(double x) {
    double e;
    const double a = vm_abs_f64(x), f = vm_log_parts_f64(a, &e);
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
VM_FROM_F64(cbrt)

/* A step of Newton's method on 1 / sqrt(x), whose residual 1 - x y² is computed exactly; not where y is 0 or
 * infinite. */
VM_INLINE double vm_rsqrt_f64(double x) {
    const double y = 1 / vm_sqrt_f64(x), p = x * y;
    const double residual = vm_fma_f64(-p, y, 1) - vm_fma_f64(x, y, -p) * y;
    const double value = vm_fma_f64(0.5 * y, residual, y);
    return (x > 0) & (x < vm_highest_f64) ? value : y;
}
VM_FROM_F64(rsqrt)

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
VM_INLINE float vm_hypot_f32(float x, float y) {
    return (float)vm_hypot_f64((double)x, (double)y);
}

#endif
