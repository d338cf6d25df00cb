/* vmath_integer.h: integer division, powers, and casts between all dtypes, defined for every operand. */
#ifndef LAZY_SIMD_VMATH_INTEGER_H
#define LAZY_SIMD_VMATH_INTEGER_H

#include "lazy/vm/simd/vmath_base.h"

/* Signed division rounds down; x // 0 = x % 0 = 0; dividing by -1 negates and wraps around, so the divisor -1 never
 * reaches the hardware (where MIN / -1 traps), and neither does 0. */
#define VM_SIGNED(D, T, U)                                                                                             \
    VM_INLINE T vm_floor_divide_##D(T a, T b) {                                                                        \
        const T d = b == 0 || b == -1 ? 1 : b;                                                                         \
        const T quotient = a / d, rest = a % d;                                                                        \
        const T floored = quotient - (rest != 0 && (rest ^ d) < 0);                                                    \
        return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : floored;                                                         \
    }                                                                                                                  \
    VM_INLINE T vm_remainder_##D(T a, T b) {                                                                           \
        const T d = b == 0 || b == -1 ? 1 : b;                                                                         \
        const T rest = a % d;                                                                                          \
        return rest != 0 && (rest ^ d) < 0 ? rest + d : rest;                                                          \
    }                                                                                                                  \
    VM_INLINE T vm_pow_##D(T a, T b) {                                                                                 \
        if (b < 0)                                                                                                     \
            return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;                                                        \
        U result = 1, base = (U)a;                                                                                     \
        for (; b != 0; b >>= 1, base *= base)                                                                          \
            result *= b & 1 ? base : 1;                                                                                \
        return (T)result;                                                                                              \
    }

/* Small types are multiplied as W, so that no promotion to int overflows. */
#define VM_UNSIGNED(D, T, W)                                                                                           \
    VM_INLINE T vm_floor_divide_##D(T a, T b) {                                                                        \
        return b == 0 ? 0 : (T)(a / (b == 0 ? 1 : b));                                                                 \
    }                                                                                                                  \
    VM_INLINE T vm_remainder_##D(T a, T b) {                                                                           \
        return b == 0 ? 0 : (T)(a % (b == 0 ? 1 : b));                                                                 \
    }                                                                                                                  \
    VM_INLINE T vm_pow_##D(T a, T b) {                                                                                 \
        W result = 1, base = a;                                                                                        \
        for (; b != 0; b = (T)(b >> 1), base *= base)                                                                  \
            result *= b & 1 ? base : 1;                                                                                \
        return (T)result;                                                                                              \
    }

VM_SIGNED(i32, int32_t, uint32_t)
VM_SIGNED(i64, int64_t, uint64_t)
VM_UNSIGNED(u8, uint8_t, uint32_t)
VM_UNSIGNED(u32, uint32_t, uint32_t)

/* The ends of each dtype, constants: the identities of max and min. */
#define vm_lowest_bool 0
#define vm_lowest_u8 0
#define vm_lowest_i32 INT32_MIN
#define vm_lowest_u32 0
#define vm_lowest_i64 INT64_MIN
#define vm_highest_bool 1
#define vm_highest_u8 UINT8_MAX
#define vm_highest_i32 INT32_MAX
#define vm_highest_u32 UINT32_MAX
#define vm_highest_i64 INT64_MAX

/* ---- Casts: vm_cast_FROM_TO ------------------------------------------------------------------------------------- */
#define VM_CAST(name, A, O, expression)                                                                                \
    VM_INLINE O name(A a) {                                                                                            \
        return expression;                                                                                             \
    }

/* Between integers the low bits stay; to real, the nearest number. */
#define VM_CASTS_INTEGER(FROM, A)                                                                                      \
    VM_CAST(FROM##_bool, A, uint8_t, a != 0)                                                                           \
    VM_CAST(FROM##_u8, A, uint8_t, (uint8_t)a)                                                                         \
    VM_CAST(FROM##_i32, A, int32_t, (int32_t)a)                                                                        \
    VM_CAST(FROM##_u32, A, uint32_t, (uint32_t)a)                                                                      \
    VM_CAST(FROM##_i64, A, int64_t, (int64_t)a)                                                                        \
    VM_CAST(FROM##_f32, A, float, (float)a)                                                                            \
    VM_CAST(FROM##_f64, A, double, (double)a)

/* Real to integer: the bounds are the first numbers that do not fit, exact in both real dtypes; NaN fails both tests and
 * is caught by the last. */
#define VM_CASTS_REAL(FROM, A)                                                                                         \
    VM_CAST(FROM##_bool, A, uint8_t, a != 0)                                                                           \
    VM_CAST(FROM##_u8, A, uint8_t, (uint8_t)(int32_t)(a >= 256 ? 255 : a > 0 ? a : 0))                                 \
    VM_CAST(FROM##_i32, A, int32_t, a >= (A)0x1p31 ? INT32_MAX : a < (A)-0x1p31 ? INT32_MIN : a == a ? (int32_t)a : 0) \
    VM_CAST(FROM##_u32, A, uint32_t, a >= (A)0x1p32 ? UINT32_MAX : a > 0 ? (uint32_t)(int64_t)a : 0)                   \
    VM_CAST(FROM##_i64, A, int64_t, a >= (A)0x1p63 ? INT64_MAX : a < (A)-0x1p63 ? INT64_MIN : a == a ? (int64_t)a : 0) \
    VM_CAST(FROM##_f32, A, float, (float)a)                                                                            \
    VM_CAST(FROM##_f64, A, double, (double)a)

VM_CASTS_INTEGER(vm_cast_bool, uint8_t)
VM_CASTS_INTEGER(vm_cast_u8, uint8_t)
VM_CASTS_INTEGER(vm_cast_i32, int32_t)
VM_CASTS_INTEGER(vm_cast_u32, uint32_t)
VM_CASTS_INTEGER(vm_cast_i64, int64_t)
VM_CASTS_REAL(vm_cast_f32, float)
VM_CASTS_REAL(vm_cast_f64, double)

#endif
