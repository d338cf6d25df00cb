/* flush.c: flushing: which pending nodes are run together, and what becomes of the nodes of a region that was run.
 *
 * A flush runs its roots and what they need as one region, by one plan. Where there is no memory for that, the roots
 * are flushed one by one, and one that cannot be computed is given up: none keeps the others from being computed.
 */
#include <stdio.h>

#include "lazy/graph/graph.h"
#include "lazy/plan/plan.h"

enum { MUCH_LEFT = 1 << 20 }; /* bytes of nodes that are pending no more */

static neap_node *node_itself(void *arg, neap_node *node) {
    (void)arg;
    return node;
}

static size_t origin_start(void *arg, const neap_node *leaf) {
    int64_t origin = plan_origin(arg, leaf);
    return origin > 0 ? (size_t)origin * (size_t)neap_dtype_bytes(leaf->dtype) : 0;
}

static int node_effect(void *arg, const lazy_launch *launch) {
    return plan_launch_push(arg, launch);
}

void plan_leave_pending(neap_ctx *ctx, neap_node *node, uint8_t state) {
    ctx->pending.n -= node->state == LAZY_PENDING;
    ctx->pending.exchanges -= node->state == LAZY_PENDING && graph_is_exchange(node);
    node->state = state;
    ctx->pending.left += (int64_t)graph_node_bytes(node);
    graph_count_pending(ctx, node);
}

/* Lets go of nodes that are pending no more: once in a while, when they may keep much memory, or `now`. */
static void tidy_pending(neap_ctx *ctx, bool now) {
    if (!now && ctx->pending.n > 0 && ctx->pending.nodes.n < 2 * ctx->pending.n && ctx->pending.left < MUCH_LEFT)
        return;
    ctx->pending.left = 0;
    int64_t kept = 0, n = ctx->pending.nodes.n;
    int inner = 0; /* levels whose first node has been met */
    for (int64_t k = 0; k < n; k++) {
        neap_node *node = ctx->pending.nodes.at[k];
        for (; inner < ctx->levels.n && ctx->levels.at[inner].pending <= k; inner++)
            ctx->levels.at[inner].pending = kept;
        if (node->state == LAZY_PENDING)
            ctx->pending.nodes.at[kept++] = node;
        else
            graph_release(ctx, node);
    }
    for (; inner < ctx->levels.n; inner++)
        ctx->levels.at[inner].pending = kept;
    ctx->pending.nodes.n = kept;
    ctx->start.first_call = 0;
}

void plan_tidy(neap_ctx *ctx) {
    tidy_pending(ctx, true);
}

static bool is_awaited(const neap_node *node) {
    return node->state == LAZY_PENDING || node->state == LAZY_DEFERRED || node->state == LAZY_STAGED;
}

static void settle_region(neap_ctx *ctx, lazy_plan *plan, neap_buffer **made) {
    for (int64_t k = 0; k < ctx->walk.order.n; k++) {
        neap_node *node = ctx->walk.order.at[k];
        if (is_awaited(node)) {
            plan_leave_pending(ctx, node, LAZY_RECIPE);
            node->asked = 0;
        }
        if (node->state == LAZY_RECIPE && ctx->plans.counted)
            graph_ask(node, ctx->plans.asked.at[k].elements);
    }
    for (int32_t k = 0; k < plan->nslots; k++)
        if (made[k]) {
            neap_node *node = graph_retain(ctx->walk.order.at[plan->slots[k].node]);
            node->buffer = made[k];
            node->state = LAZY_DONE;
            if (!graph_is_constant(node))
                node->ran = plan_ran_link(plan, k);
        }
    for (int32_t k = 0; k < plan->nslots; k++)
        if (made[k])
            graph_node_drop(ctx, ctx->walk.order.at[plan->slots[k].node]);
    for (int32_t k = 0; k < plan->nslots; k++)
        if (made[k])
            graph_release(ctx, ctx->walk.order.at[plan->slots[k].node]);
    tidy_pending(ctx, plan->reuse != NULL); /* what has died and shares its memory is not seen again */
}

static int want(neap_ctx *ctx, neap_node *root) {
    neap_node *target = plan_region_root(root);
    if (target != root && lazy_push(&ctx->plans.views, root))
        return NEAP_E_MEMORY;
    return target->buffer ? 0 : lazy_push(&ctx->plans.wanted, target);
}

static int want_blocks(neap_ctx *ctx, const lazy_shards *shards) {
    int status = 0;
    for (int32_t b = 0; b < shards->sharding->nblocks && status == 0; b++)
        if (!shards->blocks[b]->buffer)
            status = want(ctx, shards->blocks[b]);
    return status;
}

/* Exchanges run in the order in which they were recorded, in all processes: none before one that is pending yet. */
static int want_exchanges(neap_ctx *ctx) {
    int status = 0;
    for (int64_t k = 0; k < ctx->pending.nodes.n && ctx->pending.exchanges > 0 && status == 0; k++)
        if (ctx->pending.nodes.at[k]->state == LAZY_PENDING && graph_is_exchange(ctx->pending.nodes.at[k]))
            status = want(ctx, ctx->pending.nodes.at[k]);
    return status;
}

/* Views among the roots that need no buffer of their own take that of their base. */
static void take_bases(neap_ctx *ctx) {
    for (int64_t k = 0; k < ctx->plans.views.n; k++) {
        neap_node *view = ctx->plans.views.at[k];
        if (view->buffer)
            continue;
        view->buffer = neap_buffer_retain(view->base->buffer);
        view->state = LAZY_DONE;
        view->ran = graph_is_constant(view->base) ? 0 : view->base->ran;
        graph_node_drop(ctx, view);
    }
}

int plan_flush_roots(neap_ctx *ctx, int nroots, neap_node *const *roots) {
    ctx->plans.wanted.n = ctx->plans.views.n = 0;
    int status = want_exchanges(ctx);
    for (int k = 0; k < nroots && status == 0; k++) {
        if (roots[k]->flags & LAZY_ABSTRACT && !roots[k]->levels)
            status = neap_error(NEAP_E_TRACE, "the array belongs to a trace that has ended: a jitted function must "
                                              "return what it computes, not keep it");
        else if (roots[k]->flags & LAZY_ABSTRACT)
            status = neap_error(NEAP_E_TRACE,
                                "the value of a traced array is not known while tracing; use np.cond or np.where, or "
                                "make the argument static");
        else if (graph_is_meshed(roots[k]))
            status = want_blocks(ctx, roots[k]->shards);
        else if (!roots[k]->buffer)
            status = want(ctx, roots[k]);
    }
    lazy_plan *plan = NULL;
    if (status == 0 && ctx->plans.wanted.n > 0 &&
        (status = plan_region_collect(ctx, ctx->plans.wanted.n, ctx->plans.wanted.at)) == 0)
        status = plan_region_plan(ctx, ctx->plans.wanted.n, ctx->plans.wanted.at, true, &plan);
    if (plan && status == 0) {
        lazy_run run;
        run.ctx = ctx, run.plan = plan, run.region = ctx->walk.order.at;
        run.binding = (lazy_binding){
            .source = node_itself, .start = plan->nsliced ? origin_start : NULL, .effect = node_effect, .arg = ctx};
        status = plan_run(&run);
        if (status == 0) {
            ctx->counters.flushes++;
            settle_region(ctx, plan, run.made);
        } else if (run.begun) {
            status = plan_memory_give_up(ctx, plan, status);
        }
        plan_run_close(&run);
    }
    if (status == 0)
        take_bases(ctx);
    return status;
}

/* Takes a root that cannot be computed, and what it needs, off the pending work. Asking for it tries again. */
static void abandon_root(neap_ctx *ctx, neap_node *root) {
    plan_region_collect(ctx, 1, &root); /* as far as it gets: to a deleted array, perhaps */
    for (int64_t k = 0; k < ctx->walk.order.n; k++)
        if (ctx->walk.order.at[k]->state == LAZY_PENDING)
            plan_leave_pending(ctx, ctx->walk.order.at[k], LAZY_READY);
    plan_leave_pending(ctx, root, LAZY_READY);
}

/* One root at a time, after there was no memory for all of them: what finds none in a second try, before which Lua has
 * collected, is given up. So no array keeps others from being computed. */
static int flush_each(neap_ctx *ctx, const lazy_nodes *roots) {
    char text[256] = "";
    int status = 0;
    for (int64_t k = 0; k < roots->n; k++)
        graph_retain(roots->at[k]);
    for (int64_t k = 0; k < roots->n && (status == 0 || status == NEAP_E_MEMORY); k++) {
        neap_node *node = roots->at[k];
        int result = node->state == LAZY_PENDING ? plan_flush_roots(ctx, 1, &node) : 0;
        if (result == NEAP_E_MEMORY)
            snprintf(text, sizeof text, "%s", neap_error_text());
        if (result == NEAP_E_MEMORY && ctx->pending.short_of_memory)
            abandon_root(ctx, node);
        status = result == 0 ? status : result;
    }
    for (int64_t k = 0; k < roots->n; k++)
        graph_release(ctx, roots->at[k]);
    tidy_pending(ctx, false);
    if (status != NEAP_E_MEMORY)
        return status;
    ctx->pending.short_of_memory = !ctx->pending.short_of_memory;
    return neap_error(status, "%s", text);
}

/* Which pending nodes a flush starts. OTHERS: neither marked ones, nor what counts for no bytes. */
typedef enum flush_choice { FLUSH_ALL, FLUSH_SINKS, FLUSH_OTHER_SINKS, FLUSH_OTHERS_COUNTED } flush_choice;

static bool is_chosen(const neap_ctx *ctx, const neap_node *node, flush_choice choice) {
    if (node->state != LAZY_PENDING)
        return false;
    bool other = node->flags & LAZY_COUNTED && node->mark != ctx->walk.epoch;
    switch (choice) {
    case FLUSH_SINKS:
        return node->consumers == 0;
    case FLUSH_OTHER_SINKS:
        return node->consumers == 0 && other;
    case FLUSH_OTHERS_COUNTED:
        return other;
    default:
        return true;
    }
}

static int flush_where(neap_ctx *ctx, flush_choice choice) {
    lazy_nodes roots = {0};
    int status = 0;
    for (int64_t k = 0; k < ctx->pending.nodes.n && status == 0; k++)
        if (is_chosen(ctx, ctx->pending.nodes.at[k], choice))
            status = lazy_push(&roots, ctx->pending.nodes.at[k]);
    if (status == 0 && roots.n > 0)
        status = plan_flush_roots(ctx, (int)roots.n, roots.at);
    if (status == NEAP_E_MEMORY)
        status = flush_each(ctx, &roots);
    lazy_vector_free(&roots);
    return status;
}

/* What nobody has consumed is what the recorded graph ends in; nodes whose consumers never ran (a trace that was given
 * up) remain and are computed for their own sake. */
int neap_flush(neap_ctx *ctx) {
    int status = flush_where(ctx, FLUSH_SINKS);
    if (status == 0 && ctx->pending.n > 0)
        status = flush_where(ctx, FLUSH_ALL);
    ctx->pending.short_of_memory = ctx->pending.short_of_memory && status == NEAP_E_MEMORY;
    return status;
}

/* Marks a node if its readers may make what they need of it themselves, and are at most so many; returns whether. */
static bool mark_unread(neap_ctx *ctx, neap_node *node, int32_t readers) {
    if (node->mark == ctx->walk.epoch || node->state != LAZY_PENDING || node->consumers > readers ||
        !graph_is_made_in_place(node))
        return false;
    node->mark = ctx->walk.epoch;
    ctx->pending.unread += node->flags & LAZY_COUNTED ? (int64_t)graph_node_bytes(node) : 0;
    return true;
}

/* Marks what the newest node is or reads, with the pieces that it is put together from, if nobody has read that yet. */
static int mark_newest(neap_ctx *ctx, neap_node *newest) {
    neap_node *target = graph_read_target(newest);
    int status = mark_unread(ctx, target, 0) ? lazy_push(&ctx->walk.stack, target) : 0;
    while (ctx->walk.stack.n > 0 && status == 0) {
        neap_node *node = ctx->walk.stack.at[--ctx->walk.stack.n];
        for (int k = 0; k < node->nin && graph_node_op(node)->kind == LAZY_ASSEMBLE && status == 0; k++) {
            neap_node *piece = graph_read_target(node->in[k]);
            status = mark_unread(ctx, piece, 1) ? lazy_push(&ctx->walk.stack, piece) : 0;
        }
    }
    return status;
}

/* Sets the bytes of pending nodes that the newest one, or its blocks, keep from being started, and marks those. */
static int find_unread(neap_ctx *ctx, neap_node *newest) {
    ctx->walk.epoch++;
    ctx->walk.stack.n = 0;
    ctx->pending.unread = 0;
    if (!newest || !graph_is_meshed(newest))
        return newest ? mark_newest(ctx, newest) : 0;
    int status = 0;
    for (int32_t b = 0; b < newest->shards->sharding->nblocks && graph_has_blocks(newest) && status == 0; b++)
        status = mark_newest(ctx, newest->shards->blocks[b]);
    return status;
}

int plan_flush_past_limits(neap_ctx *ctx, neap_node *newest) {
    if (ctx->pending.most_nodes && ctx->pending.n >= ctx->pending.most_nodes)
        return neap_flush(ctx);
    int status = 0;
    for (flush_choice choice = FLUSH_OTHER_SINKS; choice <= FLUSH_OTHERS_COUNTED && status == 0; choice++) {
        status = find_unread(ctx, newest);
        if (status == 0 && ctx->pending.bytes - ctx->pending.unread >= ctx->pending.most_bytes)
            status = flush_where(ctx, choice);
    }
    ctx->pending.short_of_memory = ctx->pending.short_of_memory && status == NEAP_E_MEMORY;
    return status;
}

int plan_force(neap_ctx *ctx, neap_node *node) {
    return node->buffer ? 0 : plan_flush_roots(ctx, 1, &node);
}
