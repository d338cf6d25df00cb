/* lower.h: programs with values on a mesh: what is run for them (lower.c).
 *
 *      program        x: f32[8,4]{i,-}            ─▶ ops, collectives ─▶ y: f32[8,4]{i,-}
 *                        │ blocks, in their order                         ▲ blocks
 *      its lowered    x0: f32[2,4]@0, x1: f32[2,4]@1, … ─▶ ordinary ops ─▶ y0, y1, …
 *
 * A program is lowered when it is first run: replayed, in a trace that *lowers*, on nodes whose blocks are placeholders
 * of that trace. The recorder then records on blocks, as it does for arrays with values, and the trace becomes an
 * ordinary program of all blocks, which is planned, fused and run like any other.
 */
#ifndef LAZY_LOWER_H
#define LAZY_LOWER_H

#include "lazy/program/donate.h"
#include "lazy/program/program.h"
#include "lazy/shard/shard.h"

typedef struct lazy_lowered {
    neap_program *program; /* ordinary; its inputs and outputs are the blocks of the meshed program's, in order */
    int64_t nin, nout;     /* how many inputs and outputs the meshed program has */
    const lazy_sharding **shardings; /* how these lie: inputs, then outputs; NULL: ordinary, one block */
    int32_t *first;                  /* by input, then output: its first block; after each group, where it ends */
    int32_t *leaf_of;                /* by block of the inputs: see lazy_donation */
} lazy_lowered;

/* ---- lower.c ----------------------------------------------------------------------------------------------------- */
/* Lowers a program, if that was not done, and plans the result. */
int program_lower(neap_program *program);
void program_lowered_free(lazy_lowered *lowered); /* NULL is harmless */
/* The program whose plan is run for this one: itself, or the lowered one, planned. NULL: the error is set. BORROWED. */
neap_program *program_lowered(neap_program *program);
/* Runs the lowered program on the blocks of inputs that fit. outputs are OWNED. */
int program_lowered_run(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, lazy_donation *donation,
                        neap_node **outputs);
/* Makes the lowered program alone. placed: its inputs are committed as blocks are; else to no device, as bodies of
 * control flow want it. shardings[k]: the sharding whose blocks output k is to have; NULL, for one output or for all:
 * as the output lies. A result may differ over fewer axes. */
int program_lower_on(neap_ctx *ctx, neap_program *program, bool placed, const lazy_sharding *const *shardings,
                     lazy_lowered **out); /* OWNED */
/* May blocks of this input be recorded? If it belongs to a trace, only in a trace that lowers. */
bool program_expands(const neap_ctx *ctx, const neap_node *in);

#endif
