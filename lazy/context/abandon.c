/* abandon.c: after Ctrl-C, gives up work in flight whose results nobody can see.
 *
 * The engine can only give up everything (neap_engine_cancel), so what is in flight is given up only if none of it is
 * wanted. Wanted is what an effect still waits for, and what can be reached from an array that Lua holds, from pending
 * work or from a program: then all of it goes on, and the wanted part stays valid. So is what arrays were donated to,
 * as those could not be given back (donate.c).
 */
#include "lazy/program/program.h"

static int add_all(lazy_nodes *to, int64_t n, neap_node *const *nodes) {
    int status = 0;
    for (int64_t k = 0; k < n && status == 0; k++)
        if (nodes[k] && !(nodes[k]->flags & LAZY_DELETED))
            status = lazy_push(to, nodes[k]);
    return status;
}

/* Whether a buffer that can be reached from the roots waits for work in flight. */
static int reaches_work(neap_ctx *ctx, const lazy_nodes *roots) {
    int status = plan_region_collect(ctx, roots->n, roots->at);
    for (int64_t k = 0; k < ctx->walk.order.n && status == 0; k++) {
        neap_buffer *buffer = ctx->walk.order.at[k]->buffer;
        status = buffer && neap_var_poll(neap_buffer_var(buffer), NULL) == NEAP_PENDING;
    }
    return status;
}

int neap_abandon(neap_ctx *ctx) {
    if (ctx->levels.n > 0 || atomic_load(&ctx->programs.donations) > 0 ||
        neap_effects_poll(ctx->effects, NULL) == NEAP_PENDING)
        return NEAP_PENDING;
    lazy_nodes roots = {0};
    int status = add_all(&roots, ctx->handles.slots.n, ctx->handles.slots.at);
    if (status == 0)
        status = add_all(&roots, ctx->pending.nodes.n, ctx->pending.nodes.at);
    if (status == 0)
        status = program_list_all(ctx, &roots);
    if (status == 0)
        status = reaches_work(ctx, &roots) ? NEAP_PENDING : NEAP_OK;
    lazy_vector_free(&roots);
    if (status == NEAP_OK)
        neap_engine_cancel();
    return status;
}
