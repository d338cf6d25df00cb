/* vmath_erfc.h: what is left of the error function: erfc, erfcx, and the inverse of erfc. */
#ifndef LAZY_SIMD_VMATH_ERFC_H
#define LAZY_SIMD_VMATH_ERFC_H

#include "lazy/vm/simd/vmath_gamma.h"
#include "lazy/vm/simd/vmath_special.h"

/* exp(a²) erfc(a) for a from 0.45 on: near, 1 / (1 + 2a) times a polynomial in (a - 2) / (a + 2) (a variable of
 * Shepherd and Laframboise, 1981); from 6 on 1 / (sqrt(pi) a) times one in 1 / a². */
VM_INLINE double vm_erfcx_tail(double a) {
    const double near = vm_poly_f64(vm_erfc_f64_terms, 19, (a - 2) / (a + 2)) / (1 + 2 * a), inverse = 1 / a;
    const double far = inverse * 0.56418958354775629 * VM_TERMS(vm_erfcx_far_terms, inverse * inverse);
    return a < 6 ? near : far;
}

/* exp(-a²) 2^k for 0 <= a < 28: what rounding cut off from a² is put back. */
VM_INLINE double vm_exp_of_square(double a, double k) {
    const double square = a * a, low = vm_fma_f64(a, a, -square), e = vm_exp_scaled_f64(-square, k);
    return vm_fma_f64(-e, low, e);
}

/* Scaled while factors come together, so that a subnormal result is rounded once. Without branches, for loops of
 * vectors: the exact GELU is made of it. */
VM_INLINE double vm_erfc_f64(double x) {
    const double a = vm_abs_f64(x), limited = a < 28 ? a : 28;
    const double tail = vm_exp_of_square(limited, 200) * vm_erfcx_tail(limited) * 0x1p-200;
    const double far = x < 0 ? 2 - tail : tail;
    return a >= 0.45 ? far : 1 - vm_copysign_f64(vm_erf_near_f64(a), x);
}

/* Infinite from -26.7 down. */
VM_CALLED double vm_erfcx_f64(double x) {
    const double a = vm_abs_f64(x);
    if (x != x)
        return x;
    if (a < 0.45) {
        const double square = x * x, low = vm_fma_f64(x, x, -square), e = vm_exp_f64(square);
        return vm_fma_f64(e, low, e) * (1 - vm_erf_f64(x));
    }
    if (x > 0)
        return vm_erfcx_tail(a);
    if (a > 27)
        return vm_highest_f64;
    const double square = a * a, low = vm_fma_f64(a, a, -square);
    return 2 * vm_two_exp((vm_two){square, low}, 0) - vm_erfcx_tail(a);
}

/* y with erfc(y) = q. From 1/2 on it is erf_inv(1 - q), which is exact in q; below, three steps of Halley's method on
 * erfcx(y) - q exp(y²) from the first terms of the asymptotic series, or from the polynomials of erf_inv. */
VM_CALLED double vm_erfc_inv_f64(double q) {
    const double infinite = vm_highest_f64;
    if (!(q > 0 && q < 2))
        return q == 0 ? infinite : q == 2 ? -infinite : infinite - infinite;
    if (q >= 0.5)
        return q <= 1.5 ? vm_erf_inv_f64(1 - q) : -vm_erfc_inv_f64(2 - q);
    const vm_two log = vm_two_log(q);
    double y;
    if (q > 1e-15) {
        const double w = -vm_log_f64(q * (2 - q));
        const double near = vm_poly_f64(vm_erf_inv_near_f64_terms, 7, w);
        y = (1 - q) * (w < 5 ? near : vm_poly_f64(vm_erf_inv_far_f64_terms, 8, vm_sqrt_f64(w) - 4));
    } else {
        const double w = -log.high - 0.57236494292470008; /* log(sqrt(pi)) */
        y = vm_sqrt_f64(w - 0.5 * vm_log_f64(w));
    }
    for (int step = 0; step < (q > 1e-15 ? 1 : 3); step++) {
        const double square = y * y, low = vm_fma_f64(y, y, -square);
        const double times = vm_two_exp(vm_two_add((vm_two){square, low}, log), 0); /* q exp(y²) */
        const double change = (times - vm_erfcx_tail(y)) * 0.88622692545275805;
        const double further = change * change * change * vm_fma_f64(y, y, 1) * (1.0 / 3);
        y -= change / (1 + y * change) + further;
    }
    return y;
}

VM_ROUNDED1(erfc)
VM_ROUNDED1(erfcx)
VM_ROUNDED1(erfc_inv)

#endif
