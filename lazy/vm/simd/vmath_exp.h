/* vmath_exp.h: exponentials and what is made of them.
 *
 * exp(x) = 2^n exp(r) with n = round(x / log 2) and r = x - n log 2, |r| <= log(2) / 2, where n log 2 is subtracted in
 * two parts (Cody and Waite). n is found by adding a number so large that its last bit counts ones; the bits of the sum
 * then go into the exponent. That is sound where the result is a normal number; other arguments are rare, and the slow
 * functions limit them and scale in two steps, of which the second rounds.
 */
#ifndef LAZY_SIMD_VMATH_EXP_H
#define LAZY_SIMD_VMATH_EXP_H

#include "lazy/vm/simd/vmath_base.h"

/* BIAS and SHIFT: of the exponent; ROUND: 1.5 * 2^mantissa bits; LOW … HIGH: outside, exp is 0 or infinite; NQ, NH:
 * terms. */
#define VM_EXP(D, C, T, U, BIAS, SHIFT, ROUND, LOW, HIGH, NQ, NQ2, LOW2, HIGH2, NH)                                    \
    /* 2^n for an integral n whose factor is a normal number. */                                                       \
    VM_INLINE T vm_power_##D(T n) {                                                                                    \
        return vm_float_##D((vm_bits_##D(n + ROUND) + BIAS) << SHIFT);                                                 \
    }                                                                                                                  \
    VM_INLINE T vm_scale_##D(T y, T n) {                                                                               \
        const T half = (n * (T)0.5 + ROUND) - ROUND;                                                                   \
        return y * vm_power_##D(half) * vm_power_##D(n - half);                                                        \
    }                                                                                                                  \
    /* y 2^n for normal y and result; `shifted` is n + ROUND. */                                                       \
    VM_INLINE T vm_raise_##D(T y, T shifted) {                                                                         \
        return vm_float_##D(vm_bits_##D(y) + (vm_bits_##D(shifted) << SHIFT));                                         \
    }                                                                                                                  \
    VM_INLINE T vm_clamp_##D(T x, T low, T high) {                                                                     \
        x = x > high ? high : x;                                                                                       \
        return x < low ? low : x;                                                                                      \
    }                                                                                                                  \
    /* exp(x) = 2^n (1 + p): gives p and n + ROUND. The second part of n log 2 is taken from the small terms. */       \
    VM_INLINE T vm_exp_parts_##D(T x, T *shifted) {                                                                    \
        *shifted = vm_fma_##D(x, VM_LOG2E_1_##C, ROUND);                                                               \
        const T n = *shifted - ROUND, rest = n * VM_LN2_2_##C;                                                         \
        const T part = vm_fma_##D(-n, VM_LN2_1_##C, x), r = part - rest;                                               \
        return part + vm_fma_##D(r * r, vm_poly_##D(vm_exp_##D##_terms, NQ, r), -rest);                                \
    }                                                                                                                  \
    VM_INLINE T vm_exp_##D(T x) {                                                                                      \
        T shifted;                                                                                                     \
        const T p = vm_exp_parts_##D(x, &shifted);                                                                     \
        return vm_raise_##D(1 + p, shifted);                                                                           \
    }                                                                                                                  \
    /* 2^k exp(x) for every x. */                                                                                      \
    VM_INLINE T vm_exp_scaled_##D(T x, T k) {                                                                          \
        T shifted;                                                                                                     \
        const T p = vm_exp_parts_##D(vm_clamp_##D(x, LOW, HIGH + 2), &shifted);                                        \
        return vm_scale_##D(1 + p, shifted - ROUND + k);                                                               \
    }                                                                                                                  \
    VM_INLINE T vm_slow_exp_##D(T x) {                                                                                 \
        return vm_exp_scaled_##D(x, 0);                                                                                \
    }                                                                                                                  \
    VM_INLINE T vm_exp2_##D(T x) {                                                                                     \
        const T shifted = x + ROUND, r = x - (shifted - ROUND);                                                        \
        return vm_raise_##D(vm_fma_##D(r, vm_poly_##D(vm_exp2_##D##_terms, NQ2, r), 1), shifted);                      \
    }                                                                                                                  \
    VM_INLINE T vm_slow_exp2_##D(T x) {                                                                                \
        const T limited = vm_clamp_##D(x, LOW2, HIGH2), n = (limited + ROUND) - ROUND, r = limited - n;                \
        return vm_scale_##D(vm_fma_##D(r, vm_poly_##D(vm_exp2_##D##_terms, NQ2, r), 1), n);                            \
    }                                                                                                                  \
    /* 2^n p + (2^n - 1), with one halving against overflow. */                                                        \
    VM_INLINE T vm_expm1_##D(T x) {                                                                                    \
        T shifted;                                                                                                     \
        const T p = vm_exp_parts_##D(x, &shifted), half = vm_raise_##D((T)0.5, shifted);                               \
        return vm_copysign_##D(2 * vm_fma_##D(half, p, half - (T)0.5), x);                                             \
    }                                                                                                                  \
    VM_INLINE T vm_slow_expm1_##D(T x) {                                                                               \
        return vm_expm1_##D(vm_clamp_##D(x, -50, HIGH));                                                               \
    }                                                                                                                  \
    /* exp(-|x|) never overflows, and keeps small results on the left exact to the end. */                             \
    VM_INLINE T vm_sigmoid_of_##D(T x, T e) {                                                                          \
        return (x < 0 ? e : 1) / (1 + e);                                                                              \
    }                                                                                                                  \
    VM_INLINE T vm_sigmoid_##D(T x) {                                                                                  \
        return vm_sigmoid_of_##D(x, vm_exp_##D(-vm_abs_##D(x)));                                                       \
    }                                                                                                                  \
    VM_INLINE T vm_slow_sigmoid_##D(T x) {                                                                             \
        return vm_sigmoid_of_##D(x, vm_slow_exp_##D(-vm_abs_##D(x)));                                                  \
    }                                                                                                                  \
    /* exp(±x) = 2^±n (c ± s), c and s being the hyperbolic cosine and sine of r. Those of x are c·m + s·d and \
     * c·d + s·m, where m and d are half the sum and half the difference of 2^n and 2^-n: no large numbers cancel. */  \
    typedef struct vm_hyperbolic_##D {                                                                                 \
        T s, more, up, down; /* c = 1 + more; up and down: half of 2^n and 2^-n */                                     \
    } vm_hyperbolic_##D;                                                                                               \
    VM_INLINE vm_hyperbolic_##D vm_hyperbolic_of_##D(T x) {                                                            \
        const T shifted = vm_fma_##D(x, VM_LOG2E_1_##C, ROUND), n = shifted - ROUND, rest = n * VM_LN2_2_##C;          \
        const T part = vm_fma_##D(-n, VM_LN2_1_##C, x), r = part - rest, w = r * r;                                    \
        const T s = part + vm_fma_##D(r * w, vm_poly_##D(vm_sinh_##D##_terms, NH, w), -rest);                          \
        return (vm_hyperbolic_##D){s, w * vm_poly_##D(vm_cosh_##D##_terms, NH, w), vm_raise_##D((T)0.5, shifted),      \
                                   vm_raise_##D((T)0.5, ROUND - n)};                                                   \
    }                                                                                                                  \
    VM_INLINE T vm_sinh_##D(T x) {                                                                                     \
        const vm_hyperbolic_##D h = vm_hyperbolic_of_##D(x);                                                           \
        const T mean = h.up + h.down, difference = h.up - h.down;                                                      \
        return vm_copysign_##D(difference + vm_fma_##D(h.s, mean, h.more * difference), x);                            \
    }                                                                                                                  \
    VM_INLINE T vm_cosh_##D(T x) {                                                                                     \
        const vm_hyperbolic_##D h = vm_hyperbolic_of_##D(vm_abs_##D(x));                                               \
        const T mean = h.up + h.down, difference = h.up - h.down;                                                      \
        return h.up + vm_fma_##D(h.s, difference, vm_fma_##D(h.more, mean, h.down));                                   \
    }                                                                                                                  \
    /* Beyond the arguments that are not rare, exp(-|x|) no longer counts. */                                          \
    VM_INLINE T vm_slow_sinh_##D(T x) {                                                                                \
        const T a = vm_abs_##D(x);                                                                                     \
        return vm_rare_sinh_##D(x) ? vm_copysign_##D(vm_exp_scaled_##D(a, -1), x) : vm_sinh_##D(x);                    \
    }                                                                                                                  \
    VM_INLINE T vm_slow_cosh_##D(T x) {                                                                                \
        return vm_rare_cosh_##D(x) ? vm_exp_scaled_##D(vm_abs_##D(x), -1) : vm_cosh_##D(x);                            \
    }

/* |x| up to 87, 708, 126 and 1022: results are normal. */
enum { VM_EXP_SIZE_F32 = 0x42ae0000, VM_EXP2_SIZE_F32 = 0x42fc0000 };
#define VM_EXP_SIZE_F64 INT64_C(0x4086200000000000)
#define VM_EXP2_SIZE_F64 INT64_C(0x408ff00000000000)

VM_RARE(exp, f32, float, vm_size_f32(x) > VM_EXP_SIZE_F32)
VM_RARE(exp, f64, double, vm_size_f64(x) > VM_EXP_SIZE_F64)
VM_RARE(exp2, f32, float, vm_size_f32(x) > VM_EXP2_SIZE_F32)
VM_RARE(exp2, f64, double, vm_size_f64(x) > VM_EXP2_SIZE_F64)
VM_RARE(expm1, f32, float, vm_size_f32(x) > VM_EXP_SIZE_F32)
VM_RARE(expm1, f64, double, vm_size_f64(x) > VM_EXP_SIZE_F64)
VM_RARE(sigmoid, f32, float, vm_size_f32(x) > VM_EXP_SIZE_F32)
VM_RARE(sigmoid, f64, double, vm_size_f64(x) > VM_EXP_SIZE_F64)
VM_RARE(sinh, f32, float, vm_size_f32(x) > VM_EXP_SIZE_F32)
VM_RARE(sinh, f64, double, vm_size_f64(x) > VM_EXP_SIZE_F64)
VM_RARE(cosh, f32, float, vm_size_f32(x) > VM_EXP_SIZE_F32)
VM_RARE(cosh, f64, double, vm_size_f64(x) > VM_EXP_SIZE_F64)

VM_EXP(f32, F32, float, uint32_t, 127, 23, 0x1.8p23f, -104.0f, 89.0f, 5, 7, -151.0f, 129.0f, 3)
VM_EXP(f64, F64, double, uint64_t, 1023, 52, 0x1.8p52, -746.0, 710.0, 10, 12, -1076.0, 1025.0, 6)

/* tanh(a) = t / (t + 2) = 1 - 2 / (t + 2) with t = exp(2a) - 1, a = |x|: the first form where the result is small. */
VM_INLINE double vm_tanh_f64(double x) {
    const double a = vm_abs_f64(x), t = vm_expm1_f64(2 * (a > 22 ? 22 : a));
    const double part = (a < 0.55 ? t : 2) / (t + 2);
    return vm_copysign_f64(a < 0.55 ? part : 1 - part, x);
}

/* An odd polynomial near 0, else 1 - 2 / (1 + exp(2a)), which is 1 where a is limited. A loop that carries a tanh waits
 * for all that stands between it and the next one, so little does: exp(2a) is 2^n times a polynomial of r, whose terms
 * are made side by side, and 1 is added to the first of them. Nothing is rare: a NaN is not limited. */
VM_INLINE float vm_tanh_f32(float x) {
    const float a = vm_abs_f32(x), limited = a > 9.5f ? 9.5f : a, w = a * a, *c = vm_exp_twice_f32_terms;
    const float near = vm_fma_f32(a * w, vm_poly_f32(vm_tanh_f32_terms, 4, w), a), round = 0x1.8p23f + 127;
    const float shifted = vm_fma_f32(limited, 2 * VM_LOG2E_1_F32, round), n = shifted - round;
    const float power = vm_float_f32(vm_bits_f32(shifted) << 23);
    const float r = vm_fma_f32(-n, VM_LN2_HALF_1_F32, limited), v = r * r;
    const float low = vm_fma_f32(vm_fma_f32(c[1], r, c[0]), power, 1);
    const float high = vm_fma_f32(vm_fma_f32(c[5], r, c[4]), v, vm_fma_f32(c[3], r, c[2]));
    const float far = 1 - 2 / vm_fma_f32(high, v * power, low);
    return vm_copysign_f32(a < 0.56f ? near : far, x);
}

#endif
