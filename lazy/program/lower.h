/* lower.h: programs that are not run as they were recorded: what is run for them (lower.c).
 *
 * The values of a program may lie on a mesh:
 *
 *      program        x: f32[8,4]{i,-}            ─▶ ops, collectives ─▶ y: f32[8,4]{i,-}
 *                        │ blocks, in their order                         ▲ blocks
 *      its lowered    x0: f32[2,4]@0, x1: f32[2,4]@1, … ─▶ ordinary ops ─▶ y0, y1, …
 *
 * And it may call functions with rules of their own, for derivatives and batches (np.custom_jvp, np.custom_vjp,
 * np.custom_vmap):
 *
 *      program        x ─▶ multiply ─▶ call, its function, its rule ─▶ add ─▶ y
 *      its lowered    x ─▶ multiply ─▶ what the function records    ─▶ add ─▶ y
 *
 * A program is lowered when it is first run: replayed, in a trace that *lowers*. There the recorder records ops on
 * blocks, as it does for arrays with values, and the function of a call in place of the call; the trace becomes an
 * ordinary program, which is planned, fused and run like any other. Derivatives and batches are made of the program
 * itself, which has the rules. The bodies of control flow are lowered when the bodies are planned. Calls of
 * np.checkpoint and np.optimization_barrier, which are borders, stay calls.
 *
 * The lowered program of a program on a mesh may have calls, for blocks, and is lowered in turn.
 */
#ifndef LAZY_LOWER_H
#define LAZY_LOWER_H

#include "lazy/program/donate.h"
#include "lazy/program/program.h"
#include "lazy/shard/shard.h"

typedef struct lazy_lowered {
    neap_program *program; /* ordinary; its inputs and outputs are those of the other one, or their blocks, in order */
    int64_t nin, nout;     /* how many inputs and outputs the program has that was lowered */
    const lazy_sharding **shardings; /* how these lie: inputs, then outputs; NULL: ordinary, one block */
    int32_t *first;                  /* by input, then output: its first block; after each group, where it ends */
    int32_t *leaf_of;                /* by block of the inputs: see lazy_donation */
} lazy_lowered;

/* ---- lower.c ----------------------------------------------------------------------------------------------------- */
/* The program that is run for this one: itself, or what it is lowered to, which is made if it is not there. Its plan is
 * made by program_plan. NULL: the error is set. BORROWED. */
neap_program *program_runs(neap_program *program);
/* Of a meshed program that has been planned: finds the slots of the plan that donated blocks may be. */
int program_lowered_leaves(neap_program *program);
void program_lowered_free(lazy_lowered *lowered); /* NULL is harmless */
/* The same, planned. */
neap_program *program_lowered(neap_program *program);
/* Runs what a meshed program is lowered to on the blocks of inputs that fit. outputs are OWNED. */
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
