/* math.h: what rows take of C's library, for targets that have none. fmod is exact, so there is one result that it can
 * have: it is computed here with integers, bit by bit of the quotient. A compiler would make of it what its target
 * calls a remainder, which on GPUs is not exact. */
#ifndef LAZY_NATIVE_PLUGIN_FREESTANDING_MATH_H
#define LAZY_NATIVE_PLUGIN_FREESTANDING_MATH_H

#include <stdint.h>

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")

/* Long division of the mantissas, each of MANTISSA bits and a leading one above them: what is left stays below twice
 * the divisor. Exponents of what was subnormal go below 1 while its mantissa has been shifted up. */
#define FREESTANDING_FMOD(name, T, U, MANTISSA, BITS)                                                                  \
    static inline U name##_bits(T x) {                                                                                 \
        U bits;                                                                                                        \
        __builtin_memcpy(&bits, &x, sizeof bits);                                                                      \
        return bits;                                                                                                   \
    }                                                                                                                  \
    static inline U name##_parts(U bits, int *exponent) {                                                              \
        const U one = (U)1 << (MANTISSA);                                                                              \
        U mantissa = bits & (one - 1);                                                                                 \
        *exponent = (int)(bits >> (MANTISSA));                                                                         \
        if (*exponent > 0)                                                                                             \
            return mantissa | one;                                                                                     \
        for (*exponent = 1; mantissa < one; (*exponent)--)                                                             \
            mantissa <<= 1;                                                                                            \
        return mantissa;                                                                                               \
    }                                                                                                                  \
    static __attribute__((noinline, unused)) T name(T a, T b) {                                                        \
        const U sign = (U)1 << ((BITS)-1), one = (U)1 << (MANTISSA), endless = ~sign & ~(one - 1);                     \
        const U u = name##_bits(a) & ~sign, v = name##_bits(b) & ~sign;                                                \
        int up, exponent;                                                                                              \
        if (u >= endless || v > endless || v == 0)                                                                     \
            return NAN;                                                                                                \
        if (u < v)                                                                                                     \
            return a;                                                                                                  \
        U rest = name##_parts(u, &up);                                                                                 \
        const U divisor = name##_parts(v, &exponent);                                                                  \
        for (; up > exponent; up--)                                                                                    \
            rest = (rest >= divisor ? rest - divisor : rest) << 1;                                                     \
        rest = rest >= divisor ? rest - divisor : rest;                                                                \
        for (; rest != 0 && rest < one; exponent--)                                                                    \
            rest <<= 1;                                                                                                \
        const U size = rest == 0      ? 0                                                                              \
                       : exponent > 0 ? (rest - one) | (U)exponent << (MANTISSA)                                       \
                                      : rest >> (1 - exponent);                                                        \
        const U bits = (name##_bits(a) & sign) | size;                                                                 \
        T result;                                                                                                      \
        __builtin_memcpy(&result, &bits, sizeof result);                                                               \
        return result;                                                                                                 \
    }
FREESTANDING_FMOD(freestanding_fmodf, float, uint32_t, 23, 32)
FREESTANDING_FMOD(freestanding_fmod, double, uint64_t, 52, 64)
#undef FREESTANDING_FMOD
#define __builtin_fmodf freestanding_fmodf
#define __builtin_fmod freestanding_fmod

#endif
