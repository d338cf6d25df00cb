/* vmath_exp.h: exponentials and what is made of them.
 *
 * exp(x) = 2^n exp(r) with n = round(x / log 2) and r = x - n log 2, |r| <= log(2) / 2, where n log 2 is subtracted in
 * two parts (Cody and Waite). n is found by adding a number so large that its last bit counts ones; the bits of the sum
 * then make the factor 2^n. Results below the normal range are scaled in two steps, of which the second rounds.
 */
#ifndef LAZY_SIMD_VMATH_EXP_H
#define LAZY_SIMD_VMATH_EXP_H

#include "lazy/vm/simd/vmath_base.h"

/* BIAS and SHIFT: of the exponent; ROUND: 1.5 * 2^mantissa bits; LOW … HIGH: outside, exp is 0 or infinite; NQ:
 * terms. */
#define VM_EXP(D, C, T, BIAS, SHIFT, ROUND, LOW, HIGH, NQ, NQ2, LOW2, HIGH2)                                           \
    /* 2^n for an integral n whose factor is a normal number. */                                                       \
    VM_INLINE T vm_power_##D(T n) {                                                                                    \
        return vm_float_##D((vm_bits_##D(n + ROUND) + BIAS) << SHIFT);                                                 \
    }                                                                                                                  \
    VM_INLINE T vm_scale_##D(T y, T n) {                                                                               \
        const T half = (n * (T)0.5 + ROUND) - ROUND;                                                                   \
        return y * vm_power_##D(half) * vm_power_##D(n - half);                                                        \
    }                                                                                                                  \
    VM_INLINE T vm_clamp_##D(T x, T low, T high) {                                                                     \
        x = x > high ? high : x;                                                                                       \
        return x < low ? low : x;                                                                                      \
    }                                                                                                                  \
    /* exp(x) = 2^n (1 + p): gives p and n. */                                                                         \
    VM_INLINE T vm_exp_parts_##D(T x, T *n) {                                                                          \
        *n = vm_fma_##D(x, VM_LOG2E_1_##C, ROUND) - ROUND;                                                             \
        const T part = vm_fma_##D(-*n, VM_LN2_1_##C, x);                                                               \
        const T r = vm_fma_##D(-*n, VM_LN2_2_##C, part);                                                               \
        const T rest = vm_fma_##D(-*n, VM_LN2_2_##C, part - r);                                                        \
        return r + vm_fma_##D(r * r, vm_poly_##D(vm_exp_##D##_terms, NQ, r), rest);                                    \
    }                                                                                                                  \
    /* 2^k exp(x) */                                                                                                   \
    VM_INLINE T vm_exp_scaled_##D(T x, T k) {                                                                          \
        T n;                                                                                                           \
        const T p = vm_exp_parts_##D(vm_clamp_##D(x, LOW, HIGH + 2), &n);                                              \
        return vm_scale_##D(1 + p, n + k);                                                                             \
    }                                                                                                                  \
    VM_INLINE T vm_exp_##D(T x) {                                                                                      \
        return vm_exp_scaled_##D(x, 0);                                                                                \
    }                                                                                                                  \
    VM_INLINE T vm_exp2_##D(T x) {                                                                                     \
        const T limited = vm_clamp_##D(x, LOW2, HIGH2), n = (limited + ROUND) - ROUND, r = limited - n;                \
        return vm_scale_##D(vm_fma_##D(r, vm_poly_##D(vm_exp2_##D##_terms, NQ2, r), 1), n);                            \
    }                                                                                                                  \
    /* 2^n p + (2^n - 1), with one halving against overflow. */                                                        \
    VM_INLINE T vm_expm1_##D(T x) {                                                                                    \
        T n;                                                                                                           \
        const T p = vm_exp_parts_##D(vm_clamp_##D(x, -50, HIGH), &n);                                                  \
        const T half = vm_power_##D(n - 1);                                                                            \
        return x == 0 ? x : 2 * vm_fma_##D(half, p, half - (T)0.5);                                                    \
    }                                                                                                                  \
    /* exp(-|x|) never overflows, and keeps small results on the left exact to the end. */                             \
    VM_INLINE T vm_sigmoid_##D(T x) {                                                                                  \
        const T e = vm_exp_##D(-vm_abs_##D(x));                                                                        \
        return (x < 0 ? e : 1) / (1 + e);                                                                              \
    }

VM_EXP(f32, F32, float, 127, 23, 0x1.8p23f, -104.0f, 89.0f, 5, 7, -151.0f, 129.0f)
VM_EXP(f64, F64, double, 1023, 52, 0x1.8p52, -746.0, 710.0, 10, 12, -1076.0, 1025.0)

/* tanh(a) = t / (t + 2) = 1 - 2 / (t + 2) with t = exp(2a) - 1, a = |x|: the first form where the result is small. */
VM_INLINE double vm_tanh_f64(double x) {
    const double a = vm_abs_f64(x), t = vm_expm1_f64(2 * (a > 22 ? 22 : a));
    const double part = (a < 0.55 ? t : 2) / (t + 2);
    return vm_copysign_f64(a < 0.55 ? part : 1 - part, x);
}

/* An odd polynomial near 0, else 1 - 2 / (exp(2a) + 1). */
VM_INLINE float vm_tanh_f32(float x) {
    float n;
    const float a = vm_abs_f32(x), limited = a > 10.0f ? 10.0f : a, w = a * a;
    const float small = vm_fma_f32(a * w, vm_poly_f32(vm_tanh_f32_terms, 6, w), a);
    const float p = vm_exp_parts_f32(2 * limited, &n);
    const float large = 1 - 2 / (vm_fma_f32(1 + p, vm_power_f32(n), 1));
    return vm_copysign_f32(a < 0.6f ? small : large, x);
}

/* sinh(a) = (t + t / (t + 1)) / 2 with t = exp(a) - 1, and exp(a) / 2 where the rest no longer counts. */
VM_INLINE double vm_sinh_f64(double x) {
    const double a = vm_abs_f64(x), t = vm_expm1_f64(a > 22 ? 22 : a);
    return vm_copysign_f64(a < 22 ? 0.5 * (t + t / (t + 1)) : vm_exp_scaled_f64(a, -1), x);
}

VM_INLINE double vm_cosh_f64(double x) {
    const double half = vm_exp_scaled_f64(vm_abs_f64(x), -1);
    return half + 0.25 / half;
}

VM_FROM_F64(sinh)
VM_FROM_F64(cosh)

#endif
