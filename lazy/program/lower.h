/* lower.h: programs with values on a mesh: what is run for them, and the shardings of what they are made of (lower.c,
 * shard/sharding_shape.c).
 *
 *      program        x: f32[8,4]{i,-}            ─▶ ops, collectives ─▶ y: f32[8,4]{i,-}
 *                        │ blocks, in their order                         ▲ blocks
 *      its lowered    x0: f32[2,4]@0, x1: f32[2,4]@1, … ─▶ ordinary ops ─▶ y0, y1, …
 *
 * A program is lowered when it is first run: replayed, in a trace that *lowers*, on nodes whose blocks are placeholders of
 * that trace. The recorder then records on blocks, as it does for arrays with values, and the trace becomes an ordinary
 * program of all blocks, which is planned, fused and run like any other.
 */
#ifndef LAZY_LOWER_H
#define LAZY_LOWER_H

#include "lazy/graph/sharding.h"
#include "lazy/program/donate.h"
#include "lazy/program/program.h"

typedef struct lazy_lowered {
    neap_program *program;      /* ordinary; its inputs and outputs are the blocks of those of the other, in order */
    int64_t nin, nout;          /* of the other, … */
    const lazy_sharding **lies; /* … which lie so: inputs, then outputs; NULL: ordinary, one block */
    int32_t *first;             /* by input, then output: its first block; after each group, where it ends */
    int32_t *leaf_of;           /* by block of the inputs: see lazy_donation */
} lazy_lowered;

/* ---- lower.c ------------------------------------------------------------------------------------------------------ */
/* Lowers a program, if that was not done, and plans the result. */
int program_lower(neap_program *program);
void program_lowered_free(lazy_lowered *lowered); /* NULL is harmless */
/* The program whose plan is run for this one: itself, or the lowered one, planned. NULL: the error is set. BORROWED. */
neap_program *program_lowered(neap_program *program);
/* Runs the lowered program on the blocks of inputs that fit. outputs are OWNED. */
int program_lowered_run(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, lazy_donation *gift,
                        neap_node **outputs);
/* Makes the lowered program alone. placed: its inputs are committed as blocks are; else to no device, as bodies of control
 * flow want it. lies, by output: what its blocks are to be those of, if that is not NULL, as it may be for all of them; a result
 * may differ over less. */
int program_lower_on(neap_ctx *ctx, neap_program *program, bool placed, const lazy_sharding *const *lies,
                     lazy_lowered **out); /* OWNED */
/* A value that lies so, made of blocks, which are retained. OWNED. */
neap_node *program_node_of_blocks(neap_ctx *ctx, const lazy_result *aval, const lazy_sharding *sharding,
                                  neap_node *const *blocks);
/* May blocks be recorded of this input? Of what belongs to a trace, only in one that lowers. */
bool program_spreads(const neap_ctx *ctx, const neap_node *in);
/* The device that a block belongs to, whose home is this: in the bodies of control flow none. */
int program_home(const neap_ctx *ctx, int home);
/* How many blocks a value has that lies so; an ordinary one (NULL) is one. Block k of a node. */
static inline int32_t shard_block_count(const lazy_sharding *sharding) {
    return sharding ? sharding->nblocks : 1;
}
static inline neap_node *shard_block(neap_node *node, int32_t k) {
    return graph_is_meshed(node) ? node->shards->blocks[k] : node;
}
/* Which block of such a value a position of the mesh has. */
static inline int32_t shard_block_at(const lazy_sharding *sharding, int position) {
    return sharding ? shard_sharding_block(sharding, position) : 0;
}

/* ---- shard/sharding_shape.c ----------------------------------------------------------------------------------------------------- */
/* Of an array with a new axis in front; of one part along axis 0, which must not be divided; of the same array with axis 0
 * in one piece. NULL: memory. */
const lazy_sharding *shard_sharding_stacked(const lazy_sharding *sharding);
const lazy_sharding *shard_sharding_part(const lazy_sharding *sharding);
const lazy_sharding *shard_sharding_joined(const lazy_sharding *sharding);
/* What holds values of both (NULL: ordinary ones): divided as `a`, unless that is ordinary. *out may be NULL then. Those of
 * several meshes are an error; `op` names who asks. */
int shard_sharding_cover(const char *op, const lazy_sharding *a, const lazy_sharding *b, const lazy_sharding **out);
/* Can a value that lies so (NULL: an ordinary one) stand for one that lies as `want` does? It may differ over less. */
bool shard_sharding_serves(const lazy_sharding *is, const lazy_sharding *want);
/* Like `of`, but whole and the same everywhere. */
const lazy_sharding *shard_sharding_whole(const lazy_sharding *of);
/* The same, divided into the blocks of all that `sharding` and `of` tell apart: for what is computed for each device. */
const lazy_sharding *shard_sharding_apart(const lazy_sharding *of, uint32_t distinct);
/* "{i,-}", "{V:i,j}": the axes that divide it, those that it varies over. Returns `text`. */
const char *shard_sharding_text(const lazy_sharding *sharding, int ndim, char *text, size_t capacity);

#endif
