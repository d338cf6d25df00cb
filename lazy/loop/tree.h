/* tree.h: the shape of a reduction of n elements, in row-major order of the reduced axes. The shape depends on n alone.
 * All code for reductions asks here: the VM (vm/reduce.c), code for CPUs (native/plugin/folds.c, sequence_columns.c,
 * control/lower_scalars.c) and code for GPUs (native/plugin/gpu_fold.c). Of 600 elements:
 *
 *      leaves   0 … 255             256 … 511           512 … 599      LAZY_LEAF (256) elements, the last may be short
 *      lanes    lane l of a leaf takes its elements l, l+16, l+32, … in order, one of LAZY_LANES (16)
 *      leaf     lanes (l, l+8) are combined, then (l, l+4), (l, l+2), (l, l+1): lane 0 has the result
 *      row      leaves (0, 1), then (0 1, 2): tree(lo, hi) splits at lo + the largest power of two below hi - lo
 *
 * A lane begins with the identity, or with its first element, which is the same to the bit. A lane without elements
 * takes no part.
 */
#ifndef LAZY_LOOP_TREE_H
#define LAZY_LOOP_TREE_H

#include "lazy/vm/simd/simd.h"

/* Lanes l and l + half are combined, for all l below half: half is 8, then 4, 2, 1. */
#define LOOP_EACH_HALF(half) for (int half = LAZY_LANES / 2; half > 0; half /= 2)

static inline int64_t loop_leaves(int64_t n) {
    return (n + LAZY_LEAF - 1) / LAZY_LEAF;
}
/* Lanes with elements, of a leaf of n. */
static inline int64_t loop_lanes(int64_t n) {
    return n < LAZY_LANES ? n : LAZY_LANES;
}

#endif
