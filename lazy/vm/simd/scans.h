/* scans.h: cumulative sums, products and extrema of one block, the contract between lazy/vm/simd/scans.c (compiled once
 * per instruction set) and lazy/ops/scan.c, which cuts lines into blocks.
 *
 * The order is fixed by places alone, whatever the instruction set. Of a block each group of 16 elements is combined by
 * doubling: with T(d) for all elements of the d before the aligned run of d that an element stands in,
 *
 *      P[13] = T(8) ∘ (T(4) ∘ (x[12] ∘ x[13]))            out[i] = start ∘ (carry ∘ P[i])
 *
 * carry combines the groups of the block before this one from left to right; start is what the blocks before this one
 * combine to. Every step keeps the order of what it adds to, so sums of numbers that are not negative never fall.
 *
 * Extrema of real numbers are those of integers of the same order (-0 below 0), NaN beyond all others.
 */
#ifndef LAZY_SIMD_SCANS_H
#define LAZY_SIMD_SCANS_H

#include "lazy/dtype/scalar.h"

enum {
    LAZY_SCAN_GROUP = 16,
    LAZY_SCAN_BLOCK = 4096, /* elements of a line that are combined before `start` joins them */
    LAZY_SCAN_WIDTH = 256   /* most lines of `columns` */
};

typedef enum lazy_scan_kind {
    LAZY_SCAN_SUM,
    LAZY_SCAN_PROD,
    LAZY_SCAN_MAX,
    LAZY_SCAN_MIN,
    LAZY_SCAN_KINDS
} lazy_scan_kind;

/* One operation on one dtype. What lies in `start` and `total` is in the kernel's own form: the bits of `identity`,
 * and what `combine` makes of such. out: NULL: the total alone. */
typedef struct lazy_scan {
    lazy_scalar identity;
    /* n elements in a row. */
    void (*row)(void *out, const void *in, int64_t n, const void *start, void *total);
    /* `width` lines beside each other, whose elements are `step` apart (in elements; it may be negative). */
    void (*columns)(void *out, const void *in, int64_t n, int64_t step, int64_t width, const void *start, void *total);
    /* to[k] = a[k] ∘ b[k], for n lines. */
    void (*combine)(void *to, const void *a, const void *b, int64_t n);
} lazy_scan;

/* h[i] = a[i] · h[i - 1] + b[i], from h[-1] = 0, each product and sum rounded; where a[i] is 0, h[i] = b[i]. */
typedef struct lazy_recurrence {
    /* `lines` lines of n elements, one behind the other; step 1 or -1: from the front or from the back. */
    void (*rows)(void *out, const void *a, const void *b, int64_t n, int64_t lines, int step);
    /* `width` lines beside each other. */
    void (*columns)(void *out, const void *a, const void *b, int64_t n, int64_t step, int64_t width);
} lazy_recurrence;

typedef struct lazy_scans {
    lazy_scan of[LAZY_SCAN_KINDS][NEAP_DTYPE_COUNT]; /* row NULL: not of this dtype */
    lazy_recurrence recurrence[NEAP_DTYPE_COUNT];
    void (*turn)(void *to, const void *from, int64_t n, int bytes); /* to[k] = from[n - 1 - k] */
} lazy_scans;

extern const lazy_scans lazy_scans_baseline;
#if defined(__x86_64__)
extern const lazy_scans lazy_scans_avx2, lazy_scans_avx512;
#endif

#endif
