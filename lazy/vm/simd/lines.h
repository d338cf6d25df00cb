/* lines.h: one line beside another, the contract between lazy/vm/simd/lines.c (compiled once per instruction set) and
 * lazy/ops: sliding products (slide.c), and the places of values in a line that is in order (search.c).
 *
 * A sliding product's order is fixed by places alone: the products of taps r * LAZY_SLIDE_RUN up to the next run are
 * added one after another, by rising tap, and then the sums of the runs, by rising run. Each step rounds.
 *
 * Places are exact, however they are found. A line is cut into buckets by a function of elements that never falls:
 *
 *      bucket(v) = trunc((clamp(v, low, high) - low) * scale), at most buckets - 1, in float or double arithmetic
 *
 * so what is before a value stands in the buckets before its own, or in it. starts[b] is the first element of bucket b.
 * From there on steps of `half` elements, half of that, … lead to the value's place: half is the greatest power of two
 * that is at most the elements of the largest bucket (0: there are none).
 */
#ifndef LAZY_SIMD_LINES_H
#define LAZY_SIMD_LINES_H

#include <stdbool.h>

#include "lazy/dtype/scalar.h"

enum { LAZY_SLIDE_RUN = 256 /* taps */ };

/* out[i - first] is the sum of in[i - before + j] * taps[j] for all j < m for which that is one of n elements; for i
 * from first up to end, each of which has such a j. Of dtypes of 4 and 8 bytes. */
typedef void (*lazy_slide)(void *out, const void *in, int64_t n, const void *taps, int64_t m, int64_t before,
                           int64_t first, int64_t end);

typedef struct lazy_lookup {
    const void *sorted;
    int32_t n, numbers; /* elements; how many are not NaN: they stand first */
    const int32_t *starts;
    double low, high, scale;
    int32_t buckets, half;
} lazy_lookup;

/* Cuts the line `sorted` of n elements into at most so many buckets, of which `starts` has room. */
typedef void (*lazy_cut_line)(lazy_lookup *lookup, const void *sorted, int32_t n, int32_t *starts, int32_t buckets);
/* The places of m values, before (behind, if `right`) the elements that are equal; NaN equals NaN and is behind all. */
typedef void (*lazy_find_places)(int32_t *out, const lazy_lookup *lookup, const void *values, int64_t m, bool right);

typedef struct lazy_lines {
    lazy_slide slide[NEAP_DTYPE_COUNT];
    lazy_cut_line cut[NEAP_DTYPE_COUNT];
    lazy_find_places find[NEAP_DTYPE_COUNT];
} lazy_lines;

#endif
