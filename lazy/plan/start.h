/* start.h: when recorded work starts (start.c). */
#ifndef LAZY_START_H
#define LAZY_START_H

#include "lazy/graph/graph.h"

/* Between hold and unhold recording does not flush, and nodes that graph_build* returned live in ctx->start.arena. The
 * outermost unhold releases those, starts the calls recorded meanwhile, and applies the limits. */
static inline void plan_hold(neap_ctx *ctx) {
    ctx->start.hold++;
}
int plan_unhold(neap_ctx *ctx);
/* The same around recording an op on the blocks of arrays on a mesh. `node`: what was recorded, or NULL; if its script
 * line is wanted, the calls among its blocks wait for that. */
static inline void plan_hold_blocks(neap_ctx *ctx) {
    ctx->start.hold++;
    ctx->start.expanding++;
}
int plan_unhold_blocks(neap_ctx *ctx, neap_node *node);
/* Starts a node that was just recorded, or pending work, if it should not wait. */
int plan_start(neap_ctx *ctx, neap_node *node);
/* Starts these nodes. Out of memory is no error: what is not started stays pending, and Lua is asked to collect. */
int plan_start_now(neap_ctx *ctx, int n, neap_node *const *nodes);
/* The hooks of a context: plan_start, and what waited for its script line. */
void plan_start_recorded(neap_ctx *ctx, neap_node *node);
void plan_start_located(neap_ctx *ctx, neap_node *node);

#endif
