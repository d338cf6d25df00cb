/* vmath_bessel.h: Bessel functions of order 0 and 1: j0, j1, and the modified i0, i1 with their scaled forms.
 *
 * Up to 8 a series of Chebyshev polynomials; beyond, one in 1/x (modified functions) or those of Hankel's P and Q in
 * 1/x² (DLMF 10.17.3). Scalar code, called once per element, in f64; functions of f32 round what these give.
 */
#ifndef LAZY_SIMD_VMATH_BESSEL_H
#define LAZY_SIMD_VMATH_BESSEL_H

#include "lazy/vm/simd/vmath_gamma.h"

/* The sum of c[k] T_k(t) for |t| <= 1 (Clenshaw, 1955). */
VM_INLINE double vm_chebyshev(const double *c, int n, double t) {
    double next = 0, value = 0;
    for (int k = n - 1; k > 0; k--) {
        const double sum = vm_fma_f64(2 * t, value, c[k] - next);
        next = value;
        value = sum;
    }
    return vm_fma_f64(t, value, c[0] - next);
}
#define VM_SERIES(table, t) vm_chebyshev(table, (int)(sizeof(table) / sizeof *(table)), t)

/* exp(-a) I_n(a) for a >= 0. Up to 8 the series is of that times a polynomial which keeps its size even. */
VM_INLINE double vm_i0e_right(double a) {
    if (a <= 8)
        return VM_SERIES(vm_i0e_terms, 0.25 * a - 1) / (1 + a);
    return VM_SERIES(vm_i0e_far_terms, 16 / a - 1) / vm_sqrt_f64(a);
}
VM_INLINE double vm_i1e_scale(double a) {
    return vm_fma_f64(0.25 * a, a, 1 + a);
}
VM_INLINE double vm_i1e_right(double a) {
    if (a <= 8)
        return a * VM_SERIES(vm_i1e_terms, 0.25 * a - 1) / vm_i1e_scale(a);
    return VM_SERIES(vm_i1e_far_terms, 16 / a - 1) / vm_sqrt_f64(a);
}
/* exp(a) is divided in two, since it overflows before the product does. */
VM_INLINE double vm_unscaled(double value, double a) {
    const double part = vm_slow_exp_f64(0.5 * a);
    return a < 700 ? value * vm_slow_exp_f64(a) : value * part * part;
}

VM_CALLED double vm_i0e_f64(double x) {
    return x == x ? vm_i0e_right(vm_abs_f64(x)) : x;
}
VM_CALLED double vm_i1e_f64(double x) {
    return x == x ? vm_copysign_f64(vm_i1e_right(vm_abs_f64(x)), x) : x;
}
VM_CALLED double vm_i0_f64(double x) {
    const double a = vm_abs_f64(x);
    if (x != x)
        return x;
    return a < 720 ? vm_unscaled(vm_i0e_right(a), a) : vm_highest_f64;
}
VM_CALLED double vm_i1_f64(double x) {
    const double a = vm_abs_f64(x);
    if (x != x)
        return x;
    return vm_copysign_f64(a < 720 ? vm_unscaled(vm_i1e_right(a), a) : vm_highest_f64, x);
}

/* sqrt(2 / (pi x)) (P cos(chi) - Q sin(chi)), chi = x - pi/4 or x - 3 pi/4, whose sine and cosine are sums and
 * differences of those of x, divided by sqrt(2). Arguments are reduced exactly, whatever their size. */
VM_CALLED double vm_j0_f64(double x) {
    const double a = vm_abs_f64(x);
    if (x != x)
        return x;
    if (a <= 8)
        return VM_SERIES(vm_j0_terms, a * a * 0x1p-5 - 1);
    if (a == vm_highest_f64)
        return 0;
    const double inverse = 1 / a, t = 128 * inverse * inverse - 1;
    const double p = VM_SERIES(vm_j0_p_terms, t), q = VM_SERIES(vm_j0_q_terms, t) * inverse;
    const double s = vm_slow_sin_f64(a), c = vm_slow_cos_f64(a);
    return (p * (c + s) - q * (s - c)) / vm_sqrt_f64(VM_PI_F64) / vm_sqrt_f64(a);
}
VM_CALLED double vm_j1_f64(double x) {
    const double a = vm_abs_f64(x);
    if (x != x)
        return x;
    if (a <= 8)
        return x * VM_SERIES(vm_j1_terms, a * a * 0x1p-5 - 1);
    if (a == vm_highest_f64)
        return vm_copysign_f64(0, x);
    const double inverse = 1 / a, t = 128 * inverse * inverse - 1;
    const double p = VM_SERIES(vm_j1_p_terms, t), q = VM_SERIES(vm_j1_q_terms, t) * inverse;
    const double s = vm_slow_sin_f64(a), c = vm_slow_cos_f64(a);
    const double value = (p * (s - c) + q * (s + c)) / vm_sqrt_f64(VM_PI_F64) / vm_sqrt_f64(a);
    return x < 0 ? -value : value;
}

VM_ROUNDED1(i0e)
VM_ROUNDED1(i1e)
VM_ROUNDED1(i0)
VM_ROUNDED1(i1)
VM_ROUNDED1(j0)
VM_ROUNDED1(j1)

#endif
