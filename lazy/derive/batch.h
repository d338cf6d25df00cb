/* batch.h: batching: from the op of one example to an op over many.
 *
 * A *batched* array has the examples along axis 0, ahead of the axes that it has for one example; what is not batched
 * is the same for all examples. A row's rule (.batch) is given an op as it was recorded for one example, and what its
 * inputs have become, and builds what its result becomes:
 *
 *      one example   in (3, 4)      in (4,)    ─▶ op ─▶ (3, 4)
 *      the rule      in (n, 3, 4)   in (4,)    ─▶ op ─▶ (n, 3, 4)
 *
 * Requirements for a rule:
 *  1. It is called when an input is batched, with any of them batched, and for an effect under a guard, when none may
 *     be. It builds as many nodes for two examples as for a thousand (but callbacks, which are called once for each).
 *  2. Element for element its result has the bits that the op gives for each example alone; a library's product may be
 *     put together differently.
 *  3. What is not batched is not copied for each example where one op can do without.
 */
#ifndef LAZY_BATCH_H
#define LAZY_BATCH_H

#include "lazy/effect/effect.h"
#include "lazy/op.h"
#include "lazy/programs.h"

/* The examples for which effects happen, inside a branch or a loop that some of them take and others do not. */
typedef struct lazy_batch_guard {
    neap_node *mask; /* a bool for each example */
    /* Records an unordered print, or a callback, on n inputs, some of them batched, for the examples of the mask; *out
     * gets the blocks of the calls, all batched; of a print it is of no use. In the arena. */
    int (*record)(const struct lazy_batch_guard *guard, neap_ctx *ctx, const lazy_effect *effect, int n,
                  neap_node *const *in, const bool *batched, neap_node **out);
} lazy_batch_guard;

struct lazy_batching {
    neap_ctx *ctx;
    const neap_node *node; /* the op for one example: its shapes, dtypes and attributes */
    int64_t size;          /* examples */
    neap_node **in;        /* BORROWED, as many as the node has */
    bool *batched;
    neap_node *out;                /* what the rule builds; BORROWED from the arena, or an input */
    bool shared;                   /* the rule sets it where the result is not batched */
    const lazy_batch_guard *guard; /* NULL: effects happen for all examples */
    struct lazy_batch_walk *walk;
};

/* ---- Rules that rows share --------------------------------------------------------------------------------------- */
/* The same op with the same attributes on all inputs batched: of ops that take any axes in front. */
int derive_batch_leading(lazy_batching *g);
/* As derive_batch_leading, where the first attribute is an axis of the first input. */
int derive_batch_axis(lazy_batching *g);
/* As derive_batch_leading, of ops that fail where the first input, a bool, is false: under a guard it is true for the
 * examples that are not of the mask. There the rule is asked even if no input is batched. */
int derive_batch_guarded(lazy_batching *g);

/* ---- For writing rules ------------------------------------------------------------------------------------------- */
/* Input k with the examples in front, whether it was batched or not: then it is broadcast. */
neap_node *derive_batch_all(lazy_batching *g, int k);
/* The same of any node that is not batched. */
neap_node *derive_batch_broadcast(lazy_batching *g, neap_node *node);
/* Input k with as many axes as `ndim` after that of the examples: new ones of size 1 stand in front of its own. What
 * is not batched is left as it is. */
neap_node *derive_batch_align(lazy_batching *g, int k, int ndim);
/* A node with its axis `from` moved to place `to`. */
neap_node *derive_batch_move(lazy_batching *g, neap_node *node, int from, int to);
/* Placeholders of a trace for inputs first, … of a program, batched or not. BORROWED from the trace. */
int derive_batch_inputs(neap_ctx *ctx, int64_t size, int level, const neap_program *program, int64_t first,
                        const bool *batched, neap_node **to);
/* The rule that the caller of the batch has given for a call of a program whose n operands are batched so. NULL: error,
 * and the caller gets to know that the batch needs the rule. BORROWED. */
const neap_batch_rule *derive_batch_rule(lazy_batching *g, neap_program *callee, int n, const bool *batched);
/* Has the caller such a rule, for whatever operands? */
bool derive_batch_has_rule(const lazy_batching *g, neap_program *callee);
/* Does a guard mean something to a program: has it, or a program that it runs, an op with derive_batch_guarded? */
bool derive_program_is_guarded(const neap_program *program);
/* Is a node of a program, or one in the programs that it runs, batched by such a rule? */
bool derive_has_batch_rules(const neap_node *node);
/* One example of a batched node; BORROWED from the arena. */
neap_node *derive_batch_example(neap_ctx *ctx, neap_node *node, int64_t example);
/* Of a node with several results, that parts are taken from: gives the next of them; the rule has no `out` then. */
int derive_batch_give(lazy_batching *g, neap_node *result, bool batched);
/* The rule of a part: result k of those that the rule of its input gave. */
int derive_batch_part(lazy_batching *g, int k);
/* The end of a rule: out of memory, or whatever error there was, if nothing was built. */
int derive_batch_done(const lazy_batching *g);

/* ---- The driver ----------------------------------------------------------------------------------------------------
 * Records the ops of a program for `size` examples, on inputs of which some are batched. outputs are OWNED (on failure
 * there are none); out_batched says which of them are batched. Its effects are those of the innermost open trace, or
 * happen; one that is unordered and reads something batched happens for each example in turn, one that is ordered is an
 * error. Under a guard (NULL: none) all of them happen for its examples alone. The inputs must fit (neap_program_batch
 * checks). */
int derive_program_batch(neap_ctx *ctx, neap_program *program, int64_t size, const lazy_batch_guard *guard,
                         neap_node *const *inputs, const bool *batched, neap_node **outputs, bool *out_batched);

#endif
