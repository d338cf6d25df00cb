/* start.c: when recorded work starts. This file alone decides it.
 *
 *   a call              at once, since all that it needs is recorded; but not an update of a small part of an array,
 *                       which is pending, so that a chain of updates is one region; nor a large draw, which is pending
 *                       too, since a part of it may be all that is read
 *   anything pending    when it is past the context's limit of nodes
 *   pending sinks       when they are past the limit of bytes; but not what is made of constructors alone, nor what is
 *                       read by slices alone, nor the newest node: what of these is needed is known when they are read
 *   an effect           at once, with its ancestors, by those who record it (plan_flush_roots)
 *   what is read        when it is asked for (plan_force)
 *
 * What a trace records from constants alone starts only when it is read. Nothing starts by itself in deferred mode,
 * aside (neap_aside), or while both limits are 0. While recording is held (a rule builds nodes, ops are recorded on
 * blocks of a mesh), calls wait for its end; a call whose script line is about to be asked for waits for that. Such
 * calls are found again behind ctx->start.first_call.
 *
 * Out of memory is not an error here: the work stays pending, and Lua is asked to collect.
 */
#include "lazy/plan/start.h"

#include "lazy/graph/graph.h"
#include "lazy/plan/plan.h"

static bool never_starts(const neap_ctx *ctx) {
    return ctx->start.deferring || ctx->start.aside || (ctx->pending.most_nodes == 0 && ctx->pending.most_bytes == 0);
}

static int ask_for_memory(neap_ctx *ctx, int status) {
    if (status != NEAP_E_MEMORY)
        return status;
    ctx->collector.requests |= NEAP_SAFEPOINT_COLLECT;
    return 0;
}

int plan_start_now(neap_ctx *ctx, int n, neap_node *const *nodes) {
    return ask_for_memory(ctx, plan_flush_roots(ctx, n, nodes));
}

/* Starts calls that were recorded but not started. */
static int flush_calls(neap_ctx *ctx) {
    lazy_nodes roots = {0};
    int status = 0;
    for (int64_t k = ctx->start.first_call; k < ctx->pending.nodes.n && status == 0; k++) {
        neap_node *node = ctx->pending.nodes.at[k];
        if (node->state == LAZY_PENDING && graph_starts_at_once(node))
            status = lazy_push(&roots, node);
    }
    if (status == 0 && roots.n)
        status = plan_flush_roots(ctx, (int)roots.n, roots.at);
    lazy_vector_free(&roots);
    ctx->start.has_calls = false;
    ctx->start.first_call = status ? 0 : ctx->pending.nodes.n;
    return status;
}

int plan_start(neap_ctx *ctx, neap_node *node) {
    int status = 0;
    if (never_starts(ctx) || node->state == LAZY_STAGED)
        return 0;
    bool call = graph_starts_at_once(node);
    if (ctx->start.hold || (call && node == ctx->sites.node)) {
        ctx->start.has_calls |= call;
        return 0;
    }
    if (ctx->start.has_calls)
        status = flush_calls(ctx);
    else if (call)
        status = plan_flush_roots(ctx, 1, &node);
    else if (graph_past_limits(ctx))
        status = plan_flush_past_limits(ctx, node);
    if (status == NEAP_E_MEMORY)
        ctx->start.first_call = 0; /* what was not started is looked for again */
    return ask_for_memory(ctx, status);
}

/* What cannot be started raises when it is read. */
void plan_start_recorded(neap_ctx *ctx, neap_node *node) {
    (void)plan_start(ctx, node);
}

/* The exchange that a block comes from by views and copies alone; NULL: there is none. */
static neap_node *exchange_behind(neap_node *block) {
    while (block && !graph_is_exchange(block)) {
        bool placed = graph_node_op(block)->flags & LAZY_OP_PLACES && !(block->flags & LAZY_DROPPED);
        block = graph_is_view(block) ? block->base : placed ? block->in[0] : NULL;
    }
    return block;
}

void plan_start_located(neap_ctx *ctx, neap_node *node) {
    if (graph_is_meshed(node)) {
        for (int32_t b = 0; b < node->shards->sharding->nblocks && graph_has_blocks(node); b++) {
            neap_node *block = node->shards->blocks[b], *from = exchange_behind(block);
            block->site = node->site;
            if (from)
                from->site = node->site;
        }
        if (ctx->start.has_calls && !ctx->start.hold)
            (void)ask_for_memory(ctx, flush_calls(ctx));
        return;
    }
    ctx->start.has_calls = false;
    if (node->state == LAZY_PENDING && graph_starts_at_once(node))
        plan_start_recorded(ctx, node);
}

/* newest: what was recorded; NULL: the last pending node. */
static int unhold(neap_ctx *ctx, neap_node *newest) {
    if (--ctx->start.hold > 0)
        return 0;
    for (int64_t k = 0; k < ctx->start.arena.n;
         k++) /* first: what nobody else refers to may share memory in the flush */
        graph_release(ctx, ctx->start.arena.at[k]);
    ctx->start.arena.n = 0;
    int status = 0;
    if (ctx->start.has_calls)
        status = flush_calls(ctx);
    else if (!ctx->start.deferring && graph_past_limits(ctx))
        status = plan_flush_past_limits(
            ctx, newest || ctx->pending.nodes.n == 0 ? newest : ctx->pending.nodes.at[ctx->pending.nodes.n - 1]);
    return ask_for_memory(ctx, status);
}

int plan_unhold(neap_ctx *ctx) {
    return unhold(ctx, NULL);
}

int plan_unhold_blocks(neap_ctx *ctx, neap_node *node) {
    ctx->start.expanding--;
    bool waits = node && ctx->sites.node == node && ctx->start.has_calls && ctx->start.hold == 1;
    if (waits)
        ctx->start.has_calls = false;
    int status = unhold(ctx, node);
    ctx->start.has_calls |= waits;
    return status;
}

int neap_aside(neap_ctx *ctx, int on) {
    int before = ctx->start.aside;
    ctx->start.aside = on != 0;
    return before;
}

int neap_default_device(neap_ctx *ctx, int device, int *before) {
    *before = graph_home_device();
    if (device < 0 || device == *before)
        return NEAP_OK;
    if (device >= neap_device_count())
        return neap_error(NEAP_E_ARGUMENT, "default_device: expected an open device, got %d", device);
    int status = neap_flush(ctx);
    if (status == NEAP_OK)
        graph_default_device = device - graph_devices.first;
    return status;
}
