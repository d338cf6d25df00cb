/* scan_step.h: what a cumulative operation (scans.h) does with two elements, and the form in which elements of memory
 * are combined: extrema of real numbers as integers. scans.c makes loops of it; the generator of code for GPUs takes
 * the same text.
 */
#ifndef LAZY_SIMD_SCAN_STEP_H
#define LAZY_SIMD_SCAN_STEP_H

#include <stdint.h>

#define ADD(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define GREATER(a, b) ((a) > (b) ? (a) : (b))
#define LESSER(a, b) ((a) < (b) ? (a) : (b))

/* ---- Bits of real numbers as integers of the same order, and back; NaN becomes the end that wins ----------------- */
#define SAME(x) (x)
#define ORDERED(x, bits, low) ((x) ^ (((x) >> (bits - 1)) & (low)))
#define ORDERED32(x) ORDERED(x, 32, INT32_MAX)
#define ORDERED64(x) ORDERED(x, 64, INT64_MAX)
#define IS_NAN32(x) (((x)&INT32_MAX) > INT32_C(0x7f800000))
#define IS_NAN64(x) (((x)&INT64_MAX) > INT64_C(0x7ff0000000000000))
#define HIGH32(x) (IS_NAN32(x) ? INT32_MAX : ORDERED32(x))
#define LOW32(x) (IS_NAN32(x) ? INT32_MIN : ORDERED32(x))
#define HIGH64(x) (IS_NAN64(x) ? INT64_MAX : ORDERED64(x))
#define LOW64(x) (IS_NAN64(x) ? INT64_MIN : ORDERED64(x))

#endif
