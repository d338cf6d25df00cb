/* drawing.h: elements of a draw one by one, inside of the kernel that reads them.
 *
 * An element of a draw (a row with .drawn) depends on its key and on its counter, so who reads a few elements need not
 * have the others. fuse.c reads such a draw as maps of the key and of the counters that the read leads to:
 *
 *      normal(key, (100000, 100000))[7, 1:5]      random_normal(random_hash(key, 700001 + i)), i = 0 … 3
 *
 * Which maps these are, the row says. Their bits are those of the call that draws the whole array, whose loops are made
 * of the same text (vm/simd/drawn.h).
 */
#ifndef LAZY_DRAWING_H
#define LAZY_DRAWING_H

#include "lazy/plan/draft.h"

enum { LAZY_DRAWING_INS = 16 }; /* instructions of an element, at most, with those that lead to its place */

struct lazy_drawing {
    const neap_node *node;
    lazy_fused *to;
    int32_t key, counter; /* values, u64; the counter is that of the element among those of its key */
    int32_t part;         /* of draws that make pairs of words: which word, u64 */
    int32_t bounds[2];    /* of draws with bounds: values of the node's dtype */
    int status;           /* NEAP_E_MEMORY once something could not be written */
};

/* For rows: each writes to d->to, and returns the value. */
/* A map of so many values. */
int32_t plan_drawing_map(lazy_drawing *d, int op, int dtype, int result, int narg, const int32_t *arg);
int32_t plan_drawing_map1(lazy_drawing *d, int op, int dtype, int result, int32_t a);
int32_t plan_drawing_map2(lazy_drawing *d, int op, int dtype, int result, int32_t a, int32_t b);
/* A number, u64. */
int32_t plan_drawing_number(lazy_drawing *d, int64_t value);
/* For fuse.c. Counting, u64. */
int32_t plan_drawing_count(lazy_drawing *d, const lazy_wide_map *map);
/* The key of two words, u32. */
int32_t plan_drawing_key(lazy_drawing *d, int32_t high, int32_t low);
/* The place that an index of an integer dtype means along an axis, as `take` reads it, u64. */
int32_t plan_drawing_place(lazy_drawing *d, int32_t index, int dtype, int64_t extent);
/* counter + place · step. */
int32_t plan_drawing_step(lazy_drawing *d, int32_t counter, int32_t place, int64_t step);

#endif
