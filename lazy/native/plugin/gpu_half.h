/* gpu_half.h: the conversions of f16 (lazy/dtype/half.h) by the instruction that GPUs have for each, for the rows of
 * gpu_rows.c. cvt.f32.f16 is exact; cvt.rn.f16.f32 rounds once, to nearest, halves to even, and keeps subnormal
 * numbers. So bits are those of the integer code, and any NaN becomes the one that half.h makes of all.
 *
 * On the emulated grid these are instructions of the processor: vcvtps2ph and vcvtph2ps (F16C), or fcvt. bf16 keeps its
 * integer code, which is five instructions, as x86 has none for it that all processors know. So do numbers of 64 bits:
 * they become the f32 of half.h, from which f16 is rounded as from the number itself.
 */
#ifndef LAZY_NATIVE_PLUGIN_GPU_HALF_H
#define LAZY_NATIVE_PLUGIN_GPU_HALF_H

#include "lazy/dtype/half.h"

HALF_INLINE float gpu_wide_f16(uint16_t h) {
    _Float16 x;
    memcpy(&x, &h, sizeof x);
    return (float)x;
}

HALF_INLINE uint16_t gpu_of_f32_f16(float x) {
    const _Float16 rounded = (_Float16)x;
    uint16_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    return x == x ? bits : 0x7e00;
}

/* Texts of rows call them by these names. */
#define half_wide_f16 gpu_wide_f16
#define half_of_f32_f16 gpu_of_f32_f16

#endif
