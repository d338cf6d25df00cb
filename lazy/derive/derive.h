/* derive.h: derivatives of what a tape holds, on nodes: for the public functions, and for rules of nodes that are made
 * of programs, which derive those on tapes of their own.
 *
 * A tape is a level (level.c). While it is open, recorded ops that depend on its aliases are listed in order; reverse
 * mode is one walk back over the list (gradient.c), forward mode one walk along it (tangent.c). What the walks record
 * belongs to levels around the tape, not to the tape itself.
 */
#ifndef LAZY_DERIVE_H
#define LAZY_DERIVE_H

#include "lazy/derive/batch.h"
#include "lazy/plan/plan.h"

/* level.c: an alias of a node on a tape; OWNED. NULL: error. */
neap_node *graph_tape_alias(neap_ctx *ctx, int level, neap_node *node);
/* Takes the nodes on the tape from index `from` on off a level. */
void graph_leave_level(neap_ctx *ctx, int64_t from, uint32_t bit);

typedef struct lazy_walk { /* what both walks need */
    neap_ctx *ctx;
    uint32_t bit;       /* of the tape */
    int64_t start, n;   /* first index of the tape, and how many nodes it had when the walk began */
    neap_node **values; /* cotangents or tangents by index on the tape - start; NULL: zero. BORROWED from the arena */
} lazy_walk;

static inline bool derive_on_tape(const lazy_walk *w, const neap_node *node) {
    return node->levels & w->bit;
}
static inline neap_node **derive_walk_value(const lazy_walk *w, const neap_node *node) {
    return &w->values[node->tape - w->start];
}
/* Begins a walk over an open tape, for which recording is held; errors name `op`. */
int derive_walk_begin(neap_ctx *ctx, int level, lazy_walk *w);
/* Ends it, whatever became of it, with a status; retains the n nodes of `out` if that is 0. Returns the status. */
int derive_walk_end(lazy_walk *w, int status, int n, neap_node *const *out);
/* Checks that the nodes are aliases of the tape. */
int derive_walk_aliases(const lazy_walk *w, const char *op, int n, neap_node *const *nodes);

/* As graph_noted, of a note whose operands are three lists, one behind the other. */
typedef struct derive_list {
    int32_t n;
    const int32_t *ids;
} derive_list;
int derive_noted(neap_ctx *ctx, int status, const derive_list *lists, graph_note *note);

/* Zeros of a node's dtype and shape; in the arena. */
neap_node *derive_zeros_like(neap_ctx *ctx, const neap_node *node);
/* Zeros (NULL for NULL) as an array that lies on a mesh as `node` does, in a body too; in the arena. */
neap_node *derive_zeros_typed(neap_ctx *ctx, neap_node *zeros, const neap_node *node);
/* A node with the dtype of another; numbers stay numbers. In the arena. */
neap_node *derive_cast_like(neap_ctx *ctx, neap_node *node, const neap_node *like);

/* Cotangents (OWNED) of n aliases for the cotangents `seeds` of results: a NULL among them is zero; NULL for all means
 * one, and then the results must be 0-d floats. */
int derive_tape_gradient(neap_ctx *ctx, int level, int nresults, neap_node *const *results, neap_node *const *seeds,
                         int n, neap_node *const *wrt, neap_node **out);
/* Tangents (OWNED) of results for those of n aliases; a NULL tangent is zero. */
int derive_tape_tangent(neap_ctx *ctx, int level, int n, neap_node *const *wrt, neap_node *const *tangents,
                        int nresults, neap_node *const *results, neap_node **out);

/* derive/program.c: a program on given inputs; what it gives is in the arena. -------------------------------------- */
int derive_program_on(neap_ctx *ctx, neap_program *program, neap_node *const *in, neap_node **out);
/* Cotangents of the inputs with active[k] (of the others NULL) for those of the outputs; a NULL seed is zero. */
int derive_program_gradient(neap_ctx *ctx, neap_program *program, neap_node *const *in, const bool *active,
                            neap_node *const *seeds, neap_node **back);
/* Tangents of the outputs for those of the inputs; NULL is zero. */
int derive_program_tangent(neap_ctx *ctx, neap_program *program, neap_node *const *in, neap_node *const *tangents,
                           neap_node **out);

#endif
