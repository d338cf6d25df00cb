/* pure.c: callbacks of pure functions (np.pure_callback), whose results are all that there is of a call.
 *
 * Such a callback stands among the effects of its trace, since the user thread does it as it does others, but is of no
 * order: LAZY_EFFECTS_CALLBACK is all that it has of effects, and all that control flow has that has nothing else
 * inside. What an effect forbids is allowed here:
 *
 *      unused    when a trace ends, a call whose results nothing needs is taken back, and so is such control flow
 *      equal     in a trace, a further call of one family on the same nodes is the call that is there
 *      again     a derivative that applies a program again calls again, where other callbacks are asked once
 *      batched   one call may serve all examples: f gets arrays with the examples in front, and gives such
 */
#include <string.h>

#include "lazy/effect/effect.h"

/* It is one of its inputs, as of any op, or that of a closed trace, which captures these: a trace that others open for
 * a while, as the transpose of a rule does (control/custom.c), is none of its own. */
lazy_level *effect_pure_trace(neap_ctx *ctx, int n, neap_node *const *in) {
    for (int k = ctx->levels.n - 1; k >= ctx->levels.floor; k--) {
        lazy_level *level = &ctx->levels.at[k];
        bool here = level->closed || level->lowers;
        for (int i = 0; i < n; i++)
            here |= in[i]->levels >> k & 1;
        if (level->trace && here)
            return level;
    }
    return NULL;
}

neap_node *effect_pure_twin(const lazy_level *trace, const lazy_callback *callback, int n, neap_node *const *in) {
    for (int64_t k = trace->effects.n; callback->pure && k-- > 0;) {
        neap_node *node = trace->effects.at[k]->node;
        if (!node || !effect_is_callback(node) || node->nin != n)
            continue;
        const lazy_callback *there = effect_callback_of(node);
        bool same = there == callback || (callback->family && there->family == callback->family);
        if (same && memcmp(node->in, in, (size_t)n * sizeof *in) == 0)
            return node;
    }
    return NULL;
}

/* ---- What nothing needs ------------------------------------------------------------------------------------------ */
static bool may_be_dropped(const lazy_effect *effect) {
    return effect->node && effect_is_pure(effect_bits(effect));
}

/* Marks the nodes of traces that these need. */
static int mark_needed(neap_ctx *ctx, int64_t n, neap_node *const *roots) {
    lazy_nodes *stack = &ctx->walk.stack;
    uint32_t epoch = ctx->walk.epoch;
    int status = 0;
    for (int64_t r = 0; r < n && status == 0; r++)
        status = lazy_push(stack, roots[r]);
    while (stack->n && status == 0) {
        neap_node *node = stack->at[--stack->n];
        if (node->mark == epoch || !(node->flags & LAZY_ABSTRACT))
            continue;
        node->mark = epoch;
        for (int k = 0; k < node->nin && status == 0; k++)
            status = lazy_push(stack, node->in[k]);
    }
    stack->n = 0;
    return status;
}

int effect_drop_unused(neap_ctx *ctx, lazy_level *trace, int n, neap_node *const *outputs) {
    int64_t kept = 0, some = 0;
    for (int64_t e = 0; e < trace->effects.n; e++)
        some += may_be_dropped(trace->effects.at[e]);
    if (!some)
        return 0;
    ctx->walk.epoch++;
    ctx->walk.stack.n = 0;
    int status = mark_needed(ctx, n, outputs);
    for (int64_t e = 0; e < trace->effects.n && status == 0; e++) {
        const lazy_effect *effect = trace->effects.at[e];
        if (!may_be_dropped(effect))
            status = mark_needed(ctx, effect->nodes.n, effect->nodes.at);
    }
    if (status)
        return status;
    for (int64_t e = 0; e < trace->effects.n; e++) {
        lazy_effect *effect = trace->effects.at[e];
        if (may_be_dropped(effect) && effect->node->mark != ctx->walk.epoch)
            effect_free(ctx, effect);
        else
            trace->effects.at[kept++] = effect;
    }
    trace->effects.n = kept;
    return 0;
}

/* ---- Batches ----------------------------------------------------------------------------------------------------- */
int effect_callback_batched(lazy_callback *callback, int64_t size, lazy_callback **out) {
    int n = callback->nresults, status = 0;
    neap_spec *results = calloc((size_t)n + 1, sizeof *results);
    if (!results)
        return neap_error(NEAP_E_MEMORY, "out of memory for a batch of callbacks");
    for (int k = 0; k < n && status == 0; k++) {
        const neap_spec *one = &callback->results[k];
        results[k] = (neap_spec){.dtype = one->dtype, .ndim = one->ndim + 1, .shape = {size}};
        if (one->ndim >= NEAP_MAX_DIMS)
            status =
                neap_error(NEAP_E_SHAPE, "vmap: result %d of a callback has more than %d axes", k + 1, NEAP_MAX_DIMS);
        else
            memcpy(results[k].shape + 1, one->shape, (size_t)one->ndim * sizeof *one->shape);
    }
    neap_callback how = {.callee = callback->callee,
                         .kind = callback->kind,
                         .unordered = 1,
                         .nresults = n,
                         .results = results,
                         .name = callback->name,
                         .site = callback->site,
                         .pure = callback->pure,
                         .numbers = callback->numbers};
    if (status == 0 && (status = effect_callback_new(callback->ctx, &how, out)) == 0) {
        (*out)->owner = effect_callback_retain(callback);
        callback->ctx->counters.callees--; /* it is the owner's */
    }
    free(results);
    return status;
}
