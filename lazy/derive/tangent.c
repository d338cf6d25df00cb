/* tangent.c: forward mode: one walk along a tape; and what both walks share.
 *
 * The tangent of a node is made from those of its inputs by its row's rule, .jvp. Rows that have none are linear in
 * their inputs, or are maps: these have diagonal derivatives, so their gradient rules give tangents as well as
 * cotangents. A tangent that is zero because nothing depends on the aliases is NULL and costs nothing.
 */
#include <string.h>

#include "lazy/derive/derive.h"
#include "lazy/dtype/scalar.h"

/* ---- Walks ------------------------------------------------------------------------------------------------------- */
int derive_walk_begin(neap_ctx *ctx, int level, lazy_walk *w) {
    if (level < 0 || level >= ctx->levels.n)
        return neap_error(NEAP_E_STATE, "the gradient is not open");
    if (ctx->levels.at[level].trace)
        return neap_error(NEAP_E_STATE, "the level is a trace, not a gradient");
    *w = (lazy_walk){.ctx = ctx, .bit = 1u << level, .start = ctx->levels.at[level].start};
    w->n = ctx->levels.tape.n - w->start;
    w->values = calloc((size_t)w->n + 1, sizeof *w->values);
    if (!w->values)
        return neap_error(NEAP_E_MEMORY, "out of memory for a gradient");
    ctx->levels.walked |= w->bit;
    plan_hold(ctx);
    return 0;
}

int derive_walk_end(lazy_walk *w, int status, int n, neap_node *const *out) {
    for (int k = 0; k < n && status == 0; k++)
        graph_retain(out[k]);
    graph_leave_level(w->ctx, w->start + w->n, w->bit); /* what was recorded needs no derivative here, so it may go */
    w->ctx->levels.walked &= ~w->bit;
    free(w->values);
    int held = plan_unhold(w->ctx);
    if (status == 0 && held)
        for (int k = 0; k < n; k++)
            graph_release(w->ctx, out[k]);
    return status ? status : held;
}

int derive_noted(neap_ctx *ctx, int status, const derive_list *lists, graph_note *note) {
    if (!ctx->transcript)
        return status;
    note->nin = lists[0].n + lists[1].n + lists[2].n;
    int32_t *in = malloc((size_t)note->nin * sizeof *in + 1), *to = in;
    if (!in)
        return graph_unnoted(ctx, status);
    for (int k = 0; k < 3; k++) {
        if (lists[k].n)
            memcpy(to, lists[k].ids, (size_t)lists[k].n * sizeof *to);
        to += lists[k].n;
    }
    note->in = in;
    status = graph_noted(ctx, status, note);
    free(in);
    return status;
}

int derive_walk_aliases(const lazy_walk *w, const char *op, int n, neap_node *const *nodes) {
    for (int k = 0; k < n; k++)
        if (!derive_on_tape(w, nodes[k]) || !(graph_node_op(nodes[k])->flags & LAZY_OP_ALIAS))
            return neap_error(NEAP_E_ARGUMENT, "%s: not an argument of this gradient", op);
    return 0;
}

neap_node *derive_zeros_like(neap_ctx *ctx, const neap_node *node) {
    neap_node *zero = graph_arena(ctx, graph_constant(ctx, node->dtype, false, 0));
    return zero ? graph_build_broadcast(ctx, zero, node->ndim, node->shape) : NULL;
}

neap_node *derive_zeros_typed(neap_ctx *ctx, neap_node *zeros, const neap_node *node) {
    return zeros && graph_is_meshed(node) ? graph_mesh()->fitted(ctx, zeros, graph_sharding_of(node)) : zeros;
}

neap_node *derive_cast_like(neap_ctx *ctx, neap_node *node, const neap_node *like) {
    if (like->flags & LAZY_WEAK || (node->dtype == like->dtype && !(node->flags & LAZY_WEAK)))
        return node;
    return graph_build_cast(ctx, node, like->dtype);
}

/* ---- Default rules ----------------------------------------------------------------------------------------------- */
/* The op on tangents: zeros where there are none, the inputs themselves where they are not floats. */
int derive_jvp_linear(lazy_tangent *t) {
    neap_node *in[NEAP_MAX_INPUTS], *node = t->node;
    for (int k = 0; k < node->nin; k++) {
        bool whole = !dtype_is_inexact(node->in[k]->dtype);
        in[k] = whole ? node->in[k] : t->in[k] ? t->in[k] : derive_zeros_like(t->ctx, node->in[k]);
    }
    t->out = graph_build(t->ctx, node->op, node->nin, in, node->nattrs, node->attrs);
    return t->out ? 0 : neap_error_code();
}

/* Of a map: what the gradient rule makes of the tangent of each input, summed. */
static int jvp_map(lazy_tangent *t) {
    const neap_node *node = t->node;
    for (int k = 0; k < node->nin; k++) {
        if (!t->in[k])
            continue;
        bool wants[3] = {false};
        neap_node *out[3] = {NULL};
        lazy_grad g = {.ctx = t->ctx, .node = t->node, .ct = t->in[k], .wants = wants, .out = out};
        wants[k] = true;
        int status = graph_node_op(node)->grad(&g);
        if (status)
            return status;
        if (!out[k])
            continue;
        neap_node *part = derive_cast_like(t->ctx, out[k], node);
        t->out = t->out ? graph_build_add(t->ctx, t->out, part) : part;
        if (!t->out)
            return neap_error_code();
    }
    return 0;
}

static int apply_tangent_rule(lazy_tangent *t) {
    const lazy_op *row = graph_node_op(t->node);
    if (row->jvp)
        return row->jvp(t);
    if (row->kind == LAZY_MAP && row->grad)
        return jvp_map(t);
    if (row->kind == LAZY_VIEW || row->kind == LAZY_ASSEMBLE || row->kind == LAZY_GATHER)
        return derive_jvp_linear(t);
    int32_t site = t->node->site;
    return neap_error(NEAP_E_ARGUMENT, "jvp: %s has no forward derivative%s%s", row->name, site ? ", recorded at " : "",
                      site ? graph_site_text(t->ctx, site) : "");
}

/* ---- The walk ---------------------------------------------------------------------------------------------------- */
typedef struct outs { /* the tangents of a block's results */
    int64_t block;    /* index on the tape - start */
    int nresults;
    neap_node **at;
} outs;

typedef struct forward {
    lazy_walk walk;
    LAZY_VECTOR(outs) blocks; /* in the order of the tape */
} forward;

/* The tangents of the results of a block that the walk has passed; NULL: all are zero. */
static const outs *find_result_block(const forward *f, int64_t block) {
    int64_t low = 0, high = f->blocks.n;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (f->blocks.at[middle].block < block)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->blocks.n && f->blocks.at[low].block == block ? &f->blocks.at[low] : NULL;
}

/* A rule may give a broadcast shape, or a number. */
static int set_tangent(const lazy_walk *w, neap_node *node, neap_node *tangent) {
    neap_node *fit = derive_cast_like(w->ctx, tangent, node);
    if (fit && (fit->ndim != node->ndim || memcmp(fit->shape, node->shape, node->ndim * sizeof *node->shape) != 0))
        fit = graph_build_broadcast(w->ctx, fit, node->ndim, node->shape);
    *derive_walk_value(w, node) = fit;
    return fit ? 0 : neap_error_code();
}

static int call_tangent_rule(forward *f, neap_node *node, neap_node **in, int64_t place) {
    const lazy_op *row = graph_node_op(node);
    lazy_tangent t = {.ctx = f->walk.ctx, .node = node, .in = in};
    if (row->results) {
        outs block = {.block = place, .nresults = row->results(node)};
        t.nresults = block.nresults;
        t.outs = block.at = calloc((size_t)block.nresults + 1, sizeof *block.at);
        if (!t.outs || lazy_push(&f->blocks, block)) {
            free(t.outs);
            return neap_error(NEAP_E_MEMORY, "out of memory for tangents");
        }
    }
    int32_t scope = graph_scope_enter(t.ctx, node);
    int status = apply_tangent_rule(&t);
    graph_scope_swap(t.ctx, scope);
    return status || !t.out ? status : set_tangent(&f->walk, node, t.out);
}

static int walk_node(forward *f, neap_node *node, int64_t place) {
    lazy_walk *w = &f->walk;
    const lazy_op *row = graph_node_op(node);
    if (row->flags & LAZY_OP_PART) {
        const outs *block = derive_on_tape(w, node->in[0]) ? find_result_block(f, node->in[0]->tape - w->start) : NULL;
        neap_node *tangent = block ? block->at[node->attrs[0]] : NULL;
        return tangent ? set_tangent(w, node, tangent) : 0;
    }
    neap_node *few[NEAP_MAX_INPUTS], **in = node->nin <= NEAP_MAX_INPUTS ? few : malloc(node->nin * sizeof *in);
    bool any = false;
    for (int k = 0; in && k < node->nin; k++) {
        in[k] = derive_on_tape(w, node->in[k]) ? *derive_walk_value(w, node->in[k]) : NULL;
        any |= in[k] != NULL;
    }
    int status = !in   ? neap_error(NEAP_E_MEMORY, "out of memory for tangents")
                 : any ? call_tangent_rule(f, node, in, place)
                       : 0;
    if (in != few)
        free(in);
    return status;
}

static int check_tangent(const neap_node *alias, const neap_node *tangent) {
    char left[256], right[256];
    if (tangent->ndim != alias->ndim || memcmp(tangent->shape, alias->shape, alias->ndim * sizeof(int64_t)) != 0)
        return neap_error(NEAP_E_SHAPE, "jvp: expected a tangent of shape %s, got %s",
                          graph_shape_text(alias->ndim, alias->shape, left, sizeof left),
                          graph_shape_text(tangent->ndim, tangent->shape, right, sizeof right));
    if (tangent->dtype != alias->dtype)
        return neap_error(NEAP_E_DTYPE, "jvp: expected a tangent of dtype %s, got %s", neap_dtype_name(alias->dtype),
                          neap_dtype_name(tangent->dtype));
    return 0;
}

static int walk_along(forward *f) {
    lazy_walk *w = &f->walk;
    int status = 0;
    for (int64_t k = 0; k < w->n && status == 0; k++) {
        neap_node *node = w->ctx->levels.tape.at[w->start + k];
        if (derive_on_tape(w, node) && !w->values[k])
            status = walk_node(f, node, k);
    }
    return status;
}

int derive_tape_tangent(neap_ctx *ctx, int level, int n, neap_node *const *wrt, neap_node *const *tangents,
                        int nresults, neap_node *const *results, neap_node **out) {
    forward f = {0};
    int status = derive_walk_begin(ctx, level, &f.walk);
    if (status)
        return status;
    status = derive_walk_aliases(&f.walk, "jvp", n, wrt);
    for (int k = 0; k < n && status == 0; k++) {
        if (tangents[k])
            status = check_tangent(wrt[k], tangents[k]);
        if (status == 0)
            *derive_walk_value(&f.walk, wrt[k]) = tangents[k];
    }
    if (status == 0)
        status = walk_along(&f);
    for (int k = 0; k < nresults && status == 0; k++) {
        out[k] = derive_on_tape(&f.walk, results[k]) ? *derive_walk_value(&f.walk, results[k]) : NULL;
        if (!out[k] && !(out[k] = derive_zeros_like(ctx, results[k])))
            status = neap_error_code();
    }
    for (int64_t k = 0; k < f.blocks.n; k++)
        free(f.blocks.at[k].at);
    lazy_vector_free(&f.blocks);
    return derive_walk_end(&f.walk, status, nresults, out);
}

static int tape_tangent(neap_ctx *ctx, int level, int n, const int32_t *wrt, const int32_t *tangents, int nresults,
                        const int32_t *results, int32_t *out) {
    neap_node **nodes = calloc(2 * (size_t)n + 2 * (size_t)nresults + 1, sizeof *nodes);
    neap_node **given = nodes + n, **values = given + n, **made = values + nresults;
    int status = nodes ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for tangents");
    if (status == 0)
        status = graph_lookup_all(ctx, false, n, wrt, nodes);
    if (status == 0)
        status = graph_lookup_all(ctx, true, n, tangents, given);
    if (status == 0)
        status = graph_lookup_all(ctx, false, nresults, results, values);
    if (status == 0)
        status = derive_tape_tangent(ctx, level, n, nodes, given, nresults, values, made);
    if (status == 0)
        status = graph_publish_all(ctx, nresults, made, out);
    free(nodes);
    return status ? status : graph_safepoint(ctx);
}

/* Operands of its note: wrt, their tangents, then the results. */
static int play_tangent(neap_ctx *ctx, graph_note *note) {
    int n = (note->nin - note->nout) / 2;
    if (n < 0 || 2 * n + note->nout != note->nin)
        return neap_error(NEAP_E_ARGUMENT, "jvp: %d arrays for %d results", note->nin, note->nout);
    return tape_tangent(ctx, note->level, n, note->in, note->in + n, note->nout, note->in + 2 * n, note->out);
}
const graph_note_kind derive_note_tangent = {
    .name = "tangent",
    .play = play_tangent,
    .shapes = GRAPH_NOTE_LAST,
    .form = {.ints = "", .nin = GRAPH_NOTE_ANY, .nout = GRAPH_NOTE_ANY, .level = GRAPH_NOTE_TAPE, .misses = true}};

int neap_tape_tangent(neap_ctx *ctx, int level, int n, const int32_t *wrt, const int32_t *tangents, int nresults,
                      const int32_t *results, int32_t *out) {
    int status = tape_tangent(ctx, level, n, wrt, tangents, nresults, results, out);
    return derive_noted(ctx, status, (derive_list[]){{n, wrt}, {n, tangents}, {nresults, results}},
                        &(graph_note){.kind = &derive_note_tangent, .level = level, .nout = nresults, .out = out});
}
