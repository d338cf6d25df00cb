/* fma.h: a * b + c with one rounding, on every instruction set: the hardware's, or the same bits computed in another
 * way. The functions of the library (lazy/vm/simd/vmath_base.h) and products of matrices are made of it. */
#ifndef NEAP_ENGINE_FMA_H
#define NEAP_ENGINE_FMA_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__NVPTX__)
#define ENGINE_FMA_HARDWARE 1
static inline __attribute__((always_inline)) float engine_fma_f32(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
static inline __attribute__((always_inline)) double engine_fma_f64(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
#else
#define ENGINE_FMA_HARDWARE 0
/* The product is exact in double. The sum is rounded to odd (its last bit is set when something was cut off), so that
 * the second rounding to float sees on which side of a tie the exact sum lies (Boldo and Melquiond, 2008). */
static inline __attribute__((always_inline)) float engine_fma_f32(float a, float b, float c) {
    const double product = (double)a * b, addend = c, sum = product + addend;
    const double part = sum - product, error = (product - (sum - part)) + (addend - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    const uint64_t inexact = (error > 0) | (error < 0), even = ~bits & 1;
    const uint64_t outwards = (error > 0) == (sum > 0);
    bits += (inexact & even) * (2 * outwards - 1);
    double odd;
    memcpy(&odd, &bits, sizeof odd);
    return (float)odd;
}
static inline __attribute__((always_inline)) double engine_fma_f64(double a, double b, double c) {
    return fma(a, b, c);
}
#endif

#endif
