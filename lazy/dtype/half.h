/* half.h: f16 and bf16, numbers of 16 bits. Both are halves of f32: each of their numbers is an f32, and arithmetic on
 * them is done there. The result is rounded once, to nearest, halves to even; for + - * / and sqrt it is the exact
 * result rounded once, since f32 has more than twice as many digits.
 *
 * Conversions are integer code without branches, which compilers turn into vectors on every instruction set, and which
 * gives the same bits on all of them. Conditions compare signed integers, since that is one instruction everywhere.
 */
#ifndef LAZY_HALF_H
#define LAZY_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define HALF_INLINE static inline __attribute__((always_inline))

HALF_INLINE int32_t half_bits(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
HALF_INLINE float half_float(int32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- As f32, exactly --------------------------------------------------------------------------------------------- */
HALF_INLINE float half_wide_bf16(uint16_t h) {
    return half_float((int32_t)((uint32_t)h << 16));
}

/* The bits in the places where f32 has them are a number 2^112 times too small, but for infinities and NaNs. */
HALF_INLINE float half_wide_f16(uint16_t h) {
    const int32_t size = h & 0x7fff, sign = (int32_t)((uint32_t)(h & 0x8000) << 16);
    const int32_t beyond = size >= 0x7c00 ? 0x7f800000 : 0;
    return half_float(half_bits(half_float(size << 13) * 0x1p112f) | beyond | sign);
}

/* ---- From f32, rounded once -------------------------------------------------------------------------------------- */
HALF_INLINE uint16_t half_of_f32_bf16(float x) {
    const int32_t bits = half_bits(x);
    const uint32_t rounded = ((uint32_t)bits + 0x7fff + ((uint32_t)bits >> 16 & 1)) >> 16;
    return (uint16_t)(x == x ? rounded : 0x7fc0);
}

/* Below 2^-14, where f16 has fixed places, adding 0.5 rounds to them: 0.5 has the same last place. */
HALF_INLINE uint16_t half_of_f32_f16(float x) {
    const int32_t bits = half_bits(x), size = bits & 0x7fffffff, sign = (int32_t)((uint32_t)bits >> 16 & 0x8000);
    const int32_t normal = ((size + 0xfff + (size >> 13 & 1)) >> 13) - (112 << 10);
    const int32_t small = half_bits(half_float(size) + 0.5f) - 0x3f000000;
    const int32_t finite = size < 0x38800000 ? small : normal;
    const int32_t number = sign | (size < 0x47800000 ? finite : 0x7c00);
    return (uint16_t)(size > 0x7f800000 ? 0x7e00 : number);
}

/* ---- From others, rounded once ----------------------------------------------------------------------------------- */
/* The f32 with which a half is rounded as from the number itself: one that is not an f32 becomes the f32 towards zero,
 * its last bit set, so that it is never halfway between two halves. */
HALF_INLINE float half_odd_f64(double x) {
    const float near = (float)x;
    const int32_t bits = half_bits(near);
    const double size = x < 0 ? -x : x, met = near < 0 ? -(double)near : (double)near;
    const int32_t odd = (met > size ? bits - 1 : bits) | 1;
    return met == size || x != x ? near : half_float(odd);
}
/* The same for integers, that have at most 64 digits: beyond 2^53 the lowest 11 become one that tells of them. */
HALF_INLINE float half_odd_i64(int64_t x) {
    const int64_t told = (x & ~INT64_C(0x7ff)) | ((x & 0x7ff) != 0 ? 0x800 : 0);
    const bool fits = x <= INT64_C(1) << 53 && x >= -(INT64_C(1) << 53);
    return half_odd_f64((double)(fits ? x : told));
}
HALF_INLINE float half_odd_u64(uint64_t x) {
    const uint64_t told = (x & ~UINT64_C(0x7ff)) | ((x & 0x7ff) != 0 ? 0x800 : 0);
    return half_odd_f64((double)(x <= UINT64_C(1) << 53 ? x : told));
}

#define HALF_OF_F64(name)                                                                                              \
    HALF_INLINE uint16_t half_of_f64_##name(double x) {                                                                \
        return half_of_f32_##name(half_odd_f64(x));                                                                    \
    }
HALF_OF_F64(f16)
HALF_OF_F64(bf16)

#endif
