/* vmath_base.h: bits, fused multiply-add, and the real functions that are exact. */
#ifndef LAZY_SIMD_VMATH_BASE_H
#define LAZY_SIMD_VMATH_BASE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "engine/libs/simd/fma.h"
#include "lazy/vm/simd/vmath_tables.h"

/* A call that is left in a loop keeps it from being vectorized. */
#define VM_INLINE static inline __attribute__((always_inline))

VM_INLINE uint32_t vm_bits_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
VM_INLINE float vm_float_f32(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
VM_INLINE uint64_t vm_bits_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
VM_INLINE double vm_float_f64(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* a * b + c with one rounding. */
VM_INLINE float vm_fma_f32(float a, float b, float c) {
    return engine_fma_f32(a, b, c);
}
VM_INLINE double vm_fma_f64(double a, double b, double c) {
    return engine_fma_f64(a, b, c);
}

/* c[0] + c[1] x + … + c[n-1] x^(n-1); n is a constant wherever it is called. */
#define VM_POLY(D, T)                                                                                                  \
    VM_INLINE T vm_poly_##D(const T *c, int n, T x) {                                                                  \
        T value = c[n - 1];                                                                                            \
        _Pragma("GCC unroll 32") for (int k = n - 2; k >= 0; k--) value = vm_fma_##D(value, x, c[k]);                  \
        return value;                                                                                                  \
    }
VM_POLY(f32, float)
VM_POLY(f64, double)

/* Rare arguments. VM_RARE(NAME, D, T, condition on x) and VM_RARE2 (on x and y) say for which arguments vm_NAME_D is
 * not sound; there is a vm_slow_NAME_D then, which takes all, and gives the same bits for those that are not rare.
 * tools/gen/kernels.lua finds these lines. Conditions compare bits as signed integers where they can, since that is one
 * instruction everywhere. */
#define VM_RARE(name, D, T, condition)                                                                                 \
    VM_INLINE int vm_rare_##name##_##D(T x) {                                                                          \
        return condition;                                                                                              \
    }
#define VM_RARE2(name, D, T, condition)                                                                                \
    VM_INLINE int vm_rare_##name##_##D(T x, T y) {                                                                     \
        return condition;                                                                                              \
    }

/* The bits of |x|, ordered as |x| is, with NaN above infinity. */
VM_INLINE int32_t vm_size_f32(float x) {
    return (int32_t)(vm_bits_f32(x) & 0x7fffffffu);
}
VM_INLINE int64_t vm_size_f64(double x) {
    return (int64_t)(vm_bits_f64(x) & 0x7fffffffffffffffull);
}

/* Bits of f32 and f64 that conditions name. */
enum { VM_ONE_F32 = 0x3f800000, VM_INFINITE_F32 = 0x7f800000, VM_2_28_F32 = 0x4d800000 };
#define VM_ONE_F64 INT64_C(0x3ff0000000000000)
#define VM_INFINITE_F64 INT64_C(0x7ff0000000000000)
#define VM_2_28_F64 INT64_C(0x41b0000000000000)

/* Functions of one width: S is "f" or "" in C's names, T float or double, U its bits, NAN_BITS sets a NaN. minimum and
 * maximum are those of IEEE 754-2019: both selections agree unless the operands are NaN or zeros of different signs;
 * `or` of the bits then keeps a NaN or the minus sign, `and` drops the minus sign. */
#define VM_EXACT(D, T, U, S, WIDTH)                                                                                    \
    VM_INLINE T vm_abs_##D(T a) {                                                                                      \
        return __builtin_fabs##S(a);                                                                                   \
    }                                                                                                                  \
    VM_INLINE T vm_copysign_##D(T a, T b) {                                                                            \
        return __builtin_copysign##S(a, b);                                                                            \
    }                                                                                                                  \
    VM_INLINE T vm_sqrt_##D(T a) {                                                                                     \
        return __builtin_sqrt##S(a);                                                                                   \
    }                                                                                                                  \
    VM_INLINE T vm_floor_##D(T a) {                                                                                    \
        return __builtin_floor##S(a);                                                                                  \
    }                                                                                                                  \
    VM_INLINE T vm_ceil_##D(T a) {                                                                                     \
        return __builtin_ceil##S(a);                                                                                   \
    }                                                                                                                  \
    VM_INLINE T vm_trunc_##D(T a) {                                                                                    \
        return __builtin_trunc##S(a);                                                                                  \
    }                                                                                                                  \
    VM_INLINE T vm_round_##D(T a) {                                                                                    \
        return __builtin_rint##S(a);                                                                                   \
    }                                                                                                                  \
    VM_INLINE uint8_t vm_signbit_##D(T a) {                                                                            \
        return (uint8_t)(vm_bits_##D(a) >> (WIDTH - 1));                                                               \
    }                                                                                                                  \
    VM_INLINE T vm_min_##D(T a, T b) {                                                                                 \
        const T left = a < b ? a : b, right = b < a ? b : a;                                                           \
        return vm_float_##D(vm_bits_##D(left) | vm_bits_##D(right));                                                   \
    }                                                                                                                  \
    VM_INLINE T vm_max_##D(T a, T b) {                                                                                 \
        const T left = a > b ? a : b, right = b > a ? b : a;                                                           \
        const U unordered = (a != a) | (b != b) ? ~(U)0 : 0;                                                           \
        return vm_float_##D((vm_bits_##D(left) & vm_bits_##D(right)) | unordered);                                     \
    }                                                                                                                  \
    /* A NaN is left out, unless both are. */                                                                          \
    VM_INLINE T vm_min_number_##D(T a, T b) {                                                                          \
        return vm_min_##D(a == a ? a : b, b == b ? b : a);                                                             \
    }                                                                                                                  \
    VM_INLINE T vm_max_number_##D(T a, T b) {                                                                          \
        return vm_max_##D(a == a ? a : b, b == b ? b : a);                                                             \
    }

VM_EXACT(f32, float, uint32_t, f, 32)
VM_EXACT(f64, double, uint64_t, , 64)

#define vm_nan_f32 __builtin_nanf("")
#define vm_nan_f64 __builtin_nan("")
#define vm_lowest_f32 (-__builtin_inff())
#define vm_lowest_f64 (-__builtin_inf())
#define vm_highest_f32 __builtin_inff()
#define vm_highest_f64 __builtin_inf()
#define vm_max_finite_f32 0x1.fffffep127f
#define vm_max_finite_f64 0x1.fffffffffffffp1023

/* Quotients rounded down, as NumPy. Where |a / b| is below 2^22 (2^51), its floor q is that of the exact quotient, or
 * one more when rounding reached an integer; then a - q b is exact and has the wrong side. Elsewhere, and for a divisor
 * 0 or infinite, the rest is that of fmod, brought to b's side, and the quotient is rounded to the integer that it
 * stands for. */
#define VM_DIVISION(D, T, S)                                                                                           \
    VM_INLINE T vm_remainder_##D(T a, T b) {                                                                           \
        const T rest = vm_fma_##D(-vm_floor_##D(a / b), b, a);                                                         \
        return vm_copysign_##D((rest != 0) & ((b < 0) != (rest < 0)) ? rest + b : rest, b);                            \
    }                                                                                                                  \
    VM_INLINE T vm_floor_divide_##D(T a, T b) {                                                                        \
        const T quotient = vm_floor_##D(a / b), rest = vm_fma_##D(-quotient, b, a);                                    \
        return quotient - ((rest != 0) & ((b < 0) != (rest < 0)) ? 1 : 0);                                             \
    }                                                                                                                  \
    VM_INLINE T vm_slow_remainder_##D(T a, T b) {                                                                      \
        const T rest = __builtin_fmod##S(a, b);                                                                        \
        return rest != 0 ? ((b < 0) != (rest < 0) ? rest + b : rest) : __builtin_copysign##S(rest, b);                 \
    }                                                                                                                  \
    VM_INLINE T vm_slow_floor_divide_##D(T a, T b) {                                                                   \
        const T rest = __builtin_fmod##S(a, b);                                                                        \
        const T quotient = (a - rest) / b - (rest != 0 && (b < 0) != (rest < 0) ? 1 : 0);                              \
        const T floored = __builtin_floor##S(quotient);                                                                \
        const T rounded = floored + (quotient - floored > (T)0.5 ? 1 : 0);                                             \
        return b == 0 ? a / b : quotient != 0 ? rounded : __builtin_copysign##S(0, a / b);                             \
    }
VM_DIVISION(f32, float, f)
VM_DIVISION(f64, double, )
VM_RARE2(remainder, f32, float, !((vm_abs_f32(x) < 0x1p22f * vm_abs_f32(y)) & (vm_abs_f32(y) < vm_highest_f32)))
VM_RARE2(remainder, f64, double, !((vm_abs_f64(x) < 0x1p51 * vm_abs_f64(y)) & (vm_abs_f64(y) < vm_highest_f64)))
VM_RARE2(floor_divide, f32, float, vm_rare_remainder_f32(x, y))
VM_RARE2(floor_divide, f64, double, vm_rare_remainder_f64(x, y))

/* The remainder of the quotient that is rounded towards zero, exactly, as C's fmod; where it is fast is as above. */
#define VM_FMOD(D, T, S)                                                                                               \
    VM_INLINE T vm_fmod_##D(T a, T b) {                                                                                \
        const T u = vm_abs_##D(a), v = vm_abs_##D(b), rest = vm_fma_##D(-vm_floor_##D(u / v), v, u);                   \
        return vm_copysign_##D(rest < 0 ? rest + v : rest, a);                                                         \
    }                                                                                                                  \
    VM_INLINE T vm_slow_fmod_##D(T a, T b) {                                                                           \
        return __builtin_fmod##S(a, b);                                                                                \
    }
VM_FMOD(f32, float, f)
VM_FMOD(f64, double, )
VM_RARE2(fmod, f32, float, vm_rare_remainder_f32(x, y))
VM_RARE2(fmod, f64, double, vm_rare_remainder_f64(x, y))

/* Neighbours, and scaling by powers of two. nextafter counts bits, which are ordered as magnitudes are. ldexp
 * multiplies by one to three powers; where the last one makes the result subnormal, the others were exact or so small
 * that nothing but 0 or the smallest number is near. HIGH and LOW are the exponents of the largest and the smallest
 * normal power; DOWN stays above LOW by as many bits as the dtype has. The exponent is b without its fraction; 0 for
 * NaN. */
#define VM_SCALES(D, T, U, MANTISSA, HIGH, LOW, DOWN)                                                                  \
    VM_INLINE T vm_nextafter_##D(T a, T b) {                                                                           \
        const U bits = vm_bits_##D(a), up = (a < b) == (a > 0), smallest = 1;                                          \
        const T step = vm_float_##D(bits + (up ? 1 : ~(U)0));                                                          \
        const T from_zero = vm_copysign_##D(vm_float_##D(smallest), b);                                                \
        return a != a ? a : b != b || a == b ? b : a == 0 ? from_zero : step;                                          \
    }                                                                                                                  \
    VM_INLINE T vm_power_of_two_##D(int32_t n) {                                                                       \
        return vm_float_##D((U)(HIGH + n) << (MANTISSA));                                                              \
    }                                                                                                                  \
    VM_INLINE T vm_ldexp_##D(T a, T b) {                                                                               \
        const T most = 4 * (HIGH), bounded = b < -most ? -most : b > most ? most : b;                                  \
        int32_t n = b == b ? (int32_t)bounded : 0;                                                                     \
        for (int k = 0; k < 2; k++) {                                                                                  \
            a = n > (HIGH) ? a * vm_power_of_two_##D(HIGH) : n < (LOW) ? a * vm_power_of_two_##D(DOWN) : a;            \
            n -= n > (HIGH) ? (HIGH) : n < (LOW) ? (DOWN) : 0;                                                         \
        }                                                                                                              \
        return a * vm_power_of_two_##D(n > (HIGH) ? (HIGH) : n < (LOW) ? (LOW) : n);                                   \
    }
VM_SCALES(f32, float, uint32_t, 23, 127, -126, -102)
VM_SCALES(f64, double, uint64_t, 52, 1023, -1022, -969)

#endif
