/* shard.h: for writing .shard rules (sharding.h): how an op on arrays that are divided over a mesh is put together from
 * the op on their blocks.
 *
 * A rule does not decide how arrays lie. It says how the axes of the inputs and of the result belong together, by
 * *factors*: a factor is an extent over which the op works part by part. Axes that name the same factor are divided
 * alike:
 *
 *      matmul   a (m, k)   b (k, n)   result (m, n)      factors m, n and k, which the result does not have
 *      reshape  (6, 4) ─▶ (2, 3, 4)                      factors 2, 3 and 4; axis 0 of the input is 2 · 3
 *
 * What the result does not have is combined between the devices, if the rule names an op for that. An axis without a
 * factor is needed whole. shard_solve chooses for each factor the axes of the mesh that divide it:
 *
 *  1. Inputs propose what they are divided by, those of more bytes first, equal ones in order. A factor gets the first
 *     proposal; a later one that begins with it may add to it.
 *  2. An axis of the mesh divides one factor only.
 *  3. Sizes divide evenly: what does not fit is left out, and so is what no axis of several factors can express.
 *
 * Inputs that lie otherwise are moved first. What an input is not divided by costs nothing to divide: its parts are
 * there.
 */
#ifndef LAZY_SHARD_H
#define LAZY_SHARD_H

#include "lazy/shard/shape.h"

enum { LAZY_MAX_FACTORS = 3 * NEAP_MAX_DIMS, LAZY_SHARD_RESULT = NEAP_MAX_INPUTS };

typedef struct lazy_factor {
    int64_t size;
    bool kept; /* the result has it */
    /* By which axes of the mesh it is divided, written as in a sharding; shard_solve sets it. */
    uint8_t split[NEAP_MESH_AXES];
} lazy_factor;

typedef struct lazy_factors {
    int n;
    lazy_factor at[LAZY_MAX_FACTORS];
    /* By array, the result behind the inputs, and axis: the factors that it is the product of, major first; they have
     * consecutive numbers. 0 of them: it is needed whole. */
    uint8_t first[NEAP_MAX_INPUTS + 1][NEAP_MAX_DIMS], count[NEAP_MAX_INPUTS + 1][NEAP_MAX_DIMS];
} lazy_factors;

/* A new factor; its number. */
int shard_factor_new(lazy_factors *f, int64_t size);
/* An axis of an array (the number of an input, or LAZY_SHARD_RESULT) is this factor, or has it behind those that it
 * has. */
void shard_factor_axis(lazy_factors *f, int array, int axis, int factor);
/* Axis `axis` of input `input` becomes axis `to` of the result: one factor. */
void shard_factor_keep(lazy_factors *f, const lazy_shard_rule *g, int input, int axis, int to);
/* Sets want and result, and combine and over if parts of a result remain to be combined by `combine`, the number of an
 * op, or -1: there is none, so the axes that the result does not have are needed whole. Returns 0. */
int shard_solve(lazy_shard_rule *g, lazy_factors *f, int combine);
/* How many axes of the mesh divide something (as in a sharding: 1 + axis, 0 ends), which ones, and into how many
 * parts. */
static inline int shard_split_length(const uint8_t *split) {
    int n = 0;
    while (n < NEAP_MESH_AXES && split[n])
        n++;
    return n;
}
uint32_t shard_split_axes(const uint8_t *split);
/* 'P("i", nil)' for an array of ndim axes, into `text`, which is returned. */
const char *shard_spec_text(const lazy_sharding *sharding, int ndim, char *text, size_t capacity);
/* block_attrs[at + step·k] is the size of axis k of the result, for all axes: makes it that of a block. */
void shard_local_sizes(lazy_shard_rule *g, int at, int step);

/* ---- Rules that rows share --------------------------------------------------------------------------------------- */
int shard_elementwise(
    lazy_shard_rule *g);               /* all maps: axes are aligned from the right; those of size 1 are not divided */
int shard_reduce(lazy_shard_rule *g);  /* all reductions: the axes that are reduced are needed whole */
int shard_combine(lazy_shard_rule *g); /* the same, or the results of the parts are combined as elements are */
int shard_same(lazy_shard_rule *g);    /* the result is like input 0, element by element; other inputs are whole */
int shard_axis(lazy_shard_rule *g);    /* as shard_same, except for the axis that the first attribute counts */
int shard_matrices(
    lazy_shard_rule *g); /* all but the last two axes of input 0 are those of a batch, everywhere first */

#endif
