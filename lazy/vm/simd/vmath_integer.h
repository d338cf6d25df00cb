/* vmath_integer.h: integer division, powers, divisors, bits, and casts of real numbers to integers, defined for every
 * operand. */
#ifndef LAZY_SIMD_VMATH_INTEGER_H
#define LAZY_SIMD_VMATH_INTEGER_H

#include "lazy/dtype/dtype.h"
#include "lazy/vm/simd/vmath_base.h"

/* The unsigned type W in which numbers of so many bits are multiplied: C would promote narrower ones to int, which
 * their products could overflow. */
#define VM_WIDE_8 uint32_t
#define VM_WIDE_16 uint32_t
#define VM_WIDE_32 uint32_t
#define VM_WIDE_64 uint64_t

/* a / d towards zero, for d != 0, and d != -1 where there are negative numbers. CPUs divide several real numbers at
 * once, but no integers, so those of at most 32 bits are divided as real ones. That is exact: a quotient that is no
 * integer is at least 1 / |d| from the next one, and is rounded by less, |a / d| · 2^-53 in f64 and, of 16 bits,
 * |a / d| · 2^-24 in f32. GPUs have no such gain, and divide f64 slowly. */
#define VM_QUOTIENT(D, T, R)                                                                                           \
    VM_INLINE T vm_quotient_##D(T a, T d) {                                                                            \
        return (T)((R)a / (R)d);                                                                                       \
    }
#define VM_QUOTIENT_64(D, T) VM_QUOTIENT(D, T, T)
#if defined(__NVPTX__)
#define VM_QUOTIENT_32 VM_QUOTIENT_64
#define VM_QUOTIENT_16 VM_QUOTIENT_64
#else
#define VM_QUOTIENT_32(D, T) VM_QUOTIENT(D, T, double)
#define VM_QUOTIENT_16(D, T) VM_QUOTIENT(D, T, float)
#endif
#define VM_QUOTIENT_8 VM_QUOTIENT_16
#define VM_QUOTIENT_ROW(NAME, name, kind, ctype, bits, ...) VM_QUOTIENT_##bits(name, ctype)
NEAP_DTYPE_INTEGER_ROWS(VM_QUOTIENT_ROW)

/* Signed division rounds down; x // 0 = x % 0 = 0; dividing by -1 negates and wraps around, so the divisor -1 never
 * reaches the hardware (where MIN / -1 traps), and neither does 0. */
#define VM_SIGNED(D, T, U, W)                                                                                          \
    VM_INLINE W vm_magnitude_##D(T a) {                                                                                \
        return a < 0 ? 0 - (W)a : (W)a;                                                                                \
    }                                                                                                                  \
    VM_INLINE T vm_floor_divide_##D(T a, T b) {                                                                        \
        const T d = b == 0 || b == -1 ? 1 : b;                                                                         \
        const T quotient = vm_quotient_##D(a, d), rest = (T)(a - quotient * d);                                        \
        const T floored = (T)(quotient - (rest != 0 && (rest ^ d) < 0));                                               \
        return b == 0 ? 0 : b == -1 ? (T)(0 - (U)a) : floored;                                                         \
    }                                                                                                                  \
    VM_INLINE T vm_remainder_##D(T a, T b) {                                                                           \
        const T d = b == 0 || b == -1 ? 1 : b;                                                                         \
        const T rest = (T)(a - vm_quotient_##D(a, d) * d);                                                             \
        return (T)(rest != 0 && (rest ^ d) < 0 ? rest + d : rest);                                                     \
    }                                                                                                                  \
    VM_INLINE T vm_fmod_##D(T a, T b) {                                                                                \
        const T d = b == 0 || b == -1 ? 1 : b;                                                                         \
        return (T)(a - vm_quotient_##D(a, d) * d);                                                                     \
    }                                                                                                                  \
    VM_INLINE T vm_pow_##D(T a, T b) {                                                                                 \
        if (b < 0)                                                                                                     \
            return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;                                                        \
        W result = 1, base = (U)a;                                                                                     \
        for (; b != 0; b >>= 1, base *= base)                                                                          \
            result *= b & 1 ? base : 1;                                                                                \
        return (T)result;                                                                                              \
    }

#define VM_UNSIGNED(D, T, W)                                                                                           \
    VM_INLINE W vm_magnitude_##D(T a) {                                                                                \
        return a;                                                                                                      \
    }                                                                                                                  \
    VM_INLINE T vm_floor_divide_##D(T a, T b) {                                                                        \
        return b == 0 ? 0 : vm_quotient_##D(a, b == 0 ? 1 : b);                                                        \
    }                                                                                                                  \
    VM_INLINE T vm_remainder_##D(T a, T b) {                                                                           \
        const T d = b == 0 ? 1 : b;                                                                                    \
        return b == 0 ? 0 : (T)(a - (W)vm_quotient_##D(a, d) * d);                                                     \
    }                                                                                                                  \
    VM_INLINE T vm_fmod_##D(T a, T b) {                                                                                \
        return vm_remainder_##D(a, b);                                                                                 \
    }                                                                                                                  \
    VM_INLINE T vm_pow_##D(T a, T b) {                                                                                 \
        W result = 1, base = a;                                                                                        \
        for (; b != 0; b = (T)(b >> 1), base *= base)                                                                  \
            result *= b & 1 ? base : 1;                                                                                \
        return (T)result;                                                                                              \
    }

#define VM_SIGNED_ROW(NAME, name, kind, ctype, bits, ...) VM_SIGNED(name, ctype, uint##bits##_t, VM_WIDE_##bits)
#define VM_UNSIGNED_ROW(NAME, name, kind, ctype, bits, ...) VM_UNSIGNED(name, ctype, VM_WIDE_##bits)
NEAP_DTYPE_SIGNED_ROWS(VM_SIGNED_ROW)
NEAP_DTYPE_UNSIGNED_ROWS(VM_UNSIGNED_ROW)

/* How many bits are set: sums over 2, 4 and 8 neighbours, then one product that adds the bytes. */
VM_INLINE uint64_t vm_bits_set(uint64_t x) {
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return x * UINT64_C(0x0101010101010101) >> 56;
}

/* The magnitude of the smallest number is itself, so a divisor or multiple that does not fit wraps around. */
#define VM_DIVISORS(D, T, W)                                                                                           \
    VM_INLINE T vm_gcd_##D(T a, T b) {                                                                                 \
        W u = vm_magnitude_##D(a), v = vm_magnitude_##D(b);                                                            \
        while (v != 0) {                                                                                               \
            const W rest = u % v;                                                                                      \
            u = v;                                                                                                     \
            v = rest;                                                                                                  \
        }                                                                                                              \
        return (T)u;                                                                                                   \
    }                                                                                                                  \
    VM_INLINE T vm_lcm_##D(T a, T b) {                                                                                 \
        const W u = vm_magnitude_##D(a), v = vm_magnitude_##D(b), w = vm_magnitude_##D(vm_gcd_##D(a, b));              \
        return w == 0 ? 0 : (T)(u / w * v);                                                                            \
    }                                                                                                                  \
    VM_INLINE T vm_bitwise_count_##D(T a) {                                                                            \
        return (T)vm_bits_set(vm_magnitude_##D(a));                                                                    \
    }
#define VM_DIVISORS_ROW(NAME, name, kind, ctype, bits, ...) VM_DIVISORS(name, ctype, VM_WIDE_##bits)
NEAP_DTYPE_INTEGER_ROWS(VM_DIVISORS_ROW)

/* The cast of a real number of type A to an integer, towards zero. The bounds are the first numbers that do not fit,
 * exact in both real dtypes; NaN fails both tests and gives 0. What fits a narrow type or u32 goes through a wider
 * signed one, for which there are instructions. The conditions on the type are constants. */
#define VM_CAST_OF_REAL(name, A, T, kind, bits, lowest, highest)                                                       \
    VM_INLINE T name(A a) {                                                                                            \
        const A beyond = kind == 'i' ? -(A)(lowest) : 2 * (A)((uint64_t)1 << ((bits)-1));                              \
        if ((bits) < 32 && kind == 'u')                                                                                \
            return (T)(int32_t)(a >= beyond ? (A)(highest) : a > 0 ? a : 0);                                           \
        if ((bits) < 32)                                                                                               \
            return (T)(int32_t)(a >= beyond ? (A)(highest) : a > (A)(lowest) ? a : a == a ? (A)(lowest) : 0);          \
        if (kind == 'i')                                                                                               \
            return a >= beyond ? (T)(highest) : a < (A)(lowest) ? (T)(lowest) : a == a ? (T)a : 0;                     \
        if ((bits) == 32)                                                                                              \
            return a >= beyond ? (T)(highest) : a > 0 ? (T)(int64_t)a : 0;                                             \
        return a >= beyond ? (T)(highest) : a > 0 ? (T)a : 0;                                                          \
    }

#endif
