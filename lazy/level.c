/* level.c: levels (tapes and traces) and differentiation.
 *
 * An op belongs to a level iff an input does, so a level is a bit that nodes inherit, and the tape is the list of all
 * nodes with any bit, in order of recording: inputs stand before users, and reverse mode is one walk back over it. Levels
 * close in reverse order of opening. Nodes that leave the last level may let go of their inputs.
 *
 * Gradients are graph nodes built by the rows' rules, with the same recorder as everything else: so they fuse, may be
 * jitted, and are themselves differentiable by an outer level whose bit they inherit.
 */
#include <string.h>

#include "lazy/effect.h"

static int level_open(neap_ctx *ctx, bool trace, bool closed, int *out) {
    if (ctx->nlevels == LAZY_MAX_LEVELS)
        return neap_error(NEAP_E_STATE, "more than %d gradients and traces inside each other", LAZY_MAX_LEVELS);
    lazy_level *level = &ctx->levels[ctx->nlevels];
    *level = (lazy_level){.open = true, .trace = trace, .closed = closed, .start = ctx->tape.n};
    ctx->nclosed += closed;
    *out = ctx->nlevels++;
    return 0;
}

static int level_check(neap_ctx *ctx, int level) {
    if (level < 0 || level >= ctx->nlevels)
        return neap_error(NEAP_E_STATE, "the gradient or trace is not open");
    return 0;
}

/* Takes the nodes on the tape from index `from` on off a level. */
static void leave_level(neap_ctx *ctx, int64_t from, uint32_t bit) {
    int64_t kept = from, n = ctx->tape.n;
    for (int64_t k = from; k < n; k++) {
        neap_node *node = ctx->tape.at[k];
        node->levels &= ~bit;
        if (node->levels) {
            node->tape = (int32_t)kept;
            ctx->tape.at[kept++] = node;
        } else {
            if (node->buffer)
                lazy_node_drop(ctx, node);
            lazy_release(ctx, node);
        }
    }
    ctx->tape.n = kept;
}

/* Closes the innermost level. */
static void level_close(neap_ctx *ctx) {
    lazy_level *level = &ctx->levels[--ctx->nlevels];
    uint32_t bit = 1u << ctx->nlevels;
    leave_level(ctx, level->start, bit);
    for (int64_t k = 0; k < level->inputs.n; k++) {
        level->inputs.at[k]->levels &= ~bit;
        lazy_release(ctx, level->inputs.at[k]);
    }
    lazy_vector_free(&level->inputs);
    for (int64_t k = 0; k < level->lifted.n; k++)
        lazy_release(ctx, level->lifted.at[k]);
    lazy_vector_free(&level->lifted);
    free(level->lift_table);
    ctx->nclosed -= level->closed;
    for (int64_t k = 0; k < level->effects.n; k++)
        lazy_effect_free(ctx, level->effects.at[k]);
    lazy_vector_free(&level->effects);
}

int neap_level_end(neap_ctx *ctx, int level) {
    int status = level_check(ctx, level);
    while (status == 0 && ctx->nlevels > level)
        level_close(ctx);
    return status;
}

int neap_tape_begin(neap_ctx *ctx, int *level) {
    return level_open(ctx, false, false, level);
}

int neap_tape_alias(neap_ctx *ctx, int level, int32_t id, int32_t *out) {
    neap_node *node = lazy_lookup(ctx, id);
    int status = level_check(ctx, level);
    if (!node || status)
        return neap_error_code();
    if (neap_dtype_kind(node->dtype) != 'f')
        return neap_error(NEAP_E_DTYPE, "grad: expected arguments of a float dtype, got %s",
                          neap_dtype_name(node->dtype));
    int trace = lazy_innermost_closed(ctx, level); /* to which the ops of the function belong, if there is one */
    if (trace >= 0 && !(node->levels >> trace) && !(node = lazy_lift(ctx, trace, node)))
        return NEAP_E_MEMORY;
    neap_node *alias = lazy_record(ctx, LAZY_OP_alias, 1, &node, 0, NULL);
    if (!alias)
        return neap_error_code();
    if (!alias->levels) { /* the recorder puts on the tape only what inherits a level */
        alias->tape = (int32_t)ctx->tape.n;
        if (lazy_push(&ctx->tape, alias)) {
            lazy_release(ctx, alias);
            return NEAP_E_MEMORY;
        }
        lazy_retain(alias);
    }
    alias->levels |= 1u << level;
    status = lazy_publish(ctx, alias, out);
    return status ? status : lazy_attend(ctx);
}

/* ---- Reverse mode -------------------------------------------------------------------------------------------------- */
/* A map's cotangent summed back over the axes along which its input was broadcast. */
static neap_node *unbroadcast(neap_ctx *ctx, neap_node *ct, const neap_node *in) {
    if (!ct || (ct->ndim == in->ndim && memcmp(ct->shape, in->shape, in->ndim * sizeof *in->shape) == 0))
        return ct;
    int lead = ct->ndim - in->ndim;
    int64_t mask = 0;
    for (int a = 0; a < ct->ndim; a++)
        if (a < lead || (in->shape[a - lead] == 1 && ct->shape[a] != 1))
            mask |= (int64_t)1 << a;
    neap_node *sum = lazy_build(ctx, LAZY_OP_sum, 1, &ct, 2, (int64_t[]){mask, 0});
    return sum ? lazy_build_reshape(ctx, sum, in->ndim, in->shape) : NULL;
}

typedef struct tape_walk {
    neap_ctx *ctx;
    uint32_t bit;
    int64_t start, n;
    neap_node **cts; /* cotangents by tape index - start. BORROWED from the arena */
} tape_walk;

static bool on_level(const tape_walk *w, const neap_node *node) {
    return node->levels & w->bit;
}

/* An uncommitted array may have met arrays of several devices: cotangents that come back from there are summed
 * uncommitted. */
static int add_cotangent(tape_walk *w, neap_node *node, neap_node *ct) {
    neap_node **at = &w->cts[node->tape - w->start];
    if (*at && (*at)->device >= 0 && ct->device >= 0 && (*at)->device != ct->device) {
        *at = lazy_build_place(w->ctx, *at, -1);
        if (!*at || !(ct = lazy_build_place(w->ctx, ct, -1)))
            return neap_error_code();
    }
    *at = *at ? lazy_build2(w->ctx, LAZY_OP_add, *at, ct) : ct;
    return *at ? 0 : neap_error_code();
}

static int walk_node(tape_walk *w, neap_node *node, neap_node *ct) {
    const lazy_op *row = lazy_node_op(node);
    lazy_grad g = {.ctx = w->ctx, .node = node, .ct = ct};
    bool any = false;
    for (int k = 0; k < node->nin; k++)
        any |= g.wants[k] = on_level(w, node->in[k]);
    if (!any)
        return 0;
    if (!row->grad)
        return neap_error(NEAP_E_ARGUMENT, "grad: %s has no gradient%s%s", row->name,
                          node->site ? ", recorded at " : "", node->site ? lazy_site_text(w->ctx, node->site) : "");
    int status = row->grad(&g);
    for (int k = 0; k < node->nin && status == 0; k++) {
        if (!g.wants[k] || !g.out[k])
            continue;
        neap_node *in = node->in[k];
        neap_node *back = row->kind == LAZY_MAP ? unbroadcast(w->ctx, g.out[k], in) : g.out[k];
        if (back && (back->dtype != in->dtype || (back->flags & LAZY_WEAK) != (in->flags & LAZY_WEAK)))
            back = in->flags & LAZY_WEAK ? back : lazy_build_cast(w->ctx, back, in->dtype);
        status = back ? add_cotangent(w, in, back) : neap_error_code();
    }
    return status;
}

static neap_node *zeros_like(neap_ctx *ctx, const neap_node *node) {
    neap_node *zero = lazy_arena(ctx, lazy_constant(ctx, node->dtype, false, 0));
    return zero ? lazy_build_broadcast(ctx, zero, node->ndim, node->shape) : NULL;
}

static int walk_back(tape_walk *w, neap_node *result, neap_node *seed, int n, neap_node *const *wrt, neap_node **out) {
    int status = on_level(w, result) ? add_cotangent(w, result, seed) : 0;
    for (int64_t k = w->n - 1; k >= 0 && status == 0; k--) {
        neap_node *node = w->ctx->tape.at[w->start + k];
        bool asked = false;
        if (!w->cts[k] || !on_level(w, node))
            continue;
        for (int j = 0; j < n && !asked; j++)
            asked = wrt[j] == node;
        if (!asked)
            status = walk_node(w, node, w->cts[k]);
    }
    for (int j = 0; j < n && status == 0; j++) {
        out[j] = w->cts[wrt[j]->tape - w->start];
        if (!out[j])
            out[j] = zeros_like(w->ctx, wrt[j]);
        if (wrt[j]->device >= 0) /* of what met no array of its device */
            out[j] = lazy_build_place(w->ctx, out[j], wrt[j]->device);
        status = out[j] ? 0 : neap_error_code();
    }
    return status;
}

static int check_result(neap_node *result, neap_node *seed) {
    char left[256], right[256];
    if (neap_dtype_kind(result->dtype) != 'f')
        return neap_error(NEAP_E_DTYPE, "grad: expected a function with a float result, got dtype %s",
                          neap_dtype_name(result->dtype));
    if (!seed && result->ndim != 0)
        return neap_error(NEAP_E_SHAPE, "grad: expected a function with a scalar result, got shape %s",
                          lazy_shape_text(result->ndim, result->shape, left, sizeof left));
    if (seed && (seed->ndim != result->ndim || memcmp(seed->shape, result->shape, result->ndim * sizeof(int64_t)) != 0))
        return neap_error(NEAP_E_SHAPE, "vjp: expected a cotangent of shape %s, got %s",
                          lazy_shape_text(result->ndim, result->shape, left, sizeof left),
                          lazy_shape_text(seed->ndim, seed->shape, right, sizeof right));
    if (seed && seed->device >= 0 && result->device >= 0 && seed->device != result->device)
        return neap_error(NEAP_E_ARGUMENT, "vjp: expected a cotangent on %s, got one on %s",
                          neap_device_name(result->device), neap_device_name(seed->device));
    return 0;
}

static int gradient(neap_ctx *ctx, int level, neap_node *result, neap_node *seed, int n, neap_node **wrt,
                    neap_node **out) {
    tape_walk w = {.ctx = ctx, .bit = 1u << level, .start = ctx->levels[level].start};
    int status = check_result(result, seed);
    for (int k = 0; k < n && status == 0; k++)
        if (!on_level(&w, wrt[k]) || wrt[k]->op != LAZY_OP_alias)
            status = neap_error(NEAP_E_ARGUMENT, "grad: not an argument of this gradient");
    w.n = ctx->tape.n - w.start;
    if (status == 0 && !(w.cts = calloc((size_t)w.n + 1, sizeof *w.cts)))
        status = neap_error(NEAP_E_MEMORY, "out of memory for a gradient");
    if (status == 0) {
        lazy_hold(ctx);
        if (!seed)
            seed = lazy_arena(ctx, lazy_constant(ctx, result->dtype, false, 1));
        status = seed ? walk_back(&w, result, seed, n, wrt, out) : NEAP_E_MEMORY;
        for (int k = 0; k < n && status == 0; k++)
            lazy_retain(out[k]);
        leave_level(ctx, w.start + w.n, w.bit); /* the gradient has none of its own here, so it need not be kept */
        int held = lazy_unhold(ctx);
        status = status ? status : held;
    }
    free(w.cts);
    return status;
}

int neap_tape_gradient(neap_ctx *ctx, int level, int32_t result, int32_t seed, int n, const int32_t *wrt,
                       int32_t *out) {
    int status = level_check(ctx, level);
    if (status == 0 && ctx->levels[level].trace)
        status = neap_error(NEAP_E_STATE, "the level is a trace, not a gradient");
    neap_node *result_node = lazy_lookup(ctx, result), *seed_node = seed ? lazy_lookup(ctx, seed) : NULL;
    if (status || !result_node || (seed && !seed_node))
        return neap_error_code();
    neap_node **nodes = malloc(2 * (size_t)n * sizeof *nodes + 1);
    if (!nodes)
        return neap_error(NEAP_E_MEMORY, "out of memory for a gradient");
    for (int k = 0; k < n && status == 0; k++)
        if (!(nodes[k] = lazy_lookup(ctx, wrt[k])))
            status = neap_error_code();
    if (status == 0)
        status = gradient(ctx, level, result_node, seed_node, n, nodes, nodes + n);
    for (int k = 0; k < n && status == 0; k++)
        status = lazy_publish(ctx, nodes[n + k], &out[k]);
    free(nodes);
    return status ? status : lazy_attend(ctx);
}

int neap_trace_begin(neap_ctx *ctx, int closed, int *level) {
    return level_open(ctx, true, closed, level);
}
