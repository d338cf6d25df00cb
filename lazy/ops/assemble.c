/* assemble.c: results put together from pieces: each input is stored, through whatever was fused into it, directly into
 * its window of the result. */
#include <string.h>

#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"
#include "lazy/program/program.h"

/* ---- concatenate ------------------------------------------------------------------------------------------------- */
static int concatenate_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *first = &call->in[0];
    int axis;
    if (call->nattrs != 1)
        return neap_error(NEAP_E_ARGUMENT, "concatenate: expected one axis");
    if (first->ndim == 0)
        return neap_error(NEAP_E_SHAPE, "concatenate: expected arrays with at least one axis, got a 0-d array");
    int status = graph_axis("concatenate", call->attrs[0], first->ndim, &axis);
    if (status)
        return status;
    out->ndim = first->ndim;
    memcpy(out->shape, first->shape, first->ndim * sizeof *first->shape);
    for (int k = 1; k < call->nin; k++) {
        const lazy_aval *in = &call->in[k];
        bool fits = in->ndim == first->ndim;
        for (int a = 0; a < first->ndim && fits; a++)
            fits = a == axis || in->shape[a] == first->shape[a];
        char left[256], right[256];
        if (!fits)
            return neap_error(NEAP_E_SHAPE, "concatenate: shapes %s and %s differ outside of axis %d",
                              graph_shape_text(first->ndim, first->shape, left, sizeof left),
                              graph_shape_text(in->ndim, in->shape, right, sizeof right), axis);
        if (__builtin_add_overflow(out->shape[axis], in->shape[axis], &out->shape[axis]))
            return neap_error(NEAP_E_SHAPE, "concatenate: the result would have more than 2^63 elements along axis %d",
                              axis);
    }
    return 0;
}

static int joined_axis(int64_t axis, int ndim) {
    return (int)(axis < 0 ? axis + ndim : axis);
}

static int concatenate_pieces(const lazy_call_desc *call, const lazy_result *out, lazy_piece *pieces) {
    int axis = joined_axis(call->attrs[0], out->ndim);
    int64_t row[NEAP_MAX_DIMS], at = 0;
    graph_row_major(out->ndim, out->shape, row);
    for (int k = 0; k < call->nin; k++) {
        pieces[k] = (lazy_piece){.input = k, .write.offset = at * row[axis]};
        memcpy(pieces[k].write.stride, row, out->ndim * sizeof *row);
        at += call->in[k].shape[axis];
    }
    return call->nin;
}

static int concatenate_grad(lazy_grad *g) {
    lazy_aval out = graph_node_aval(g->node);
    int axis = joined_axis(graph_node_attrs(g->node)[0], out.ndim);
    int64_t at = 0;
    for (int k = 0; k < NEAP_MAX_INPUTS && at < out.shape[axis]; k++) {
        lazy_aval in = graph_node_aval(INPUT(k));
        int64_t slice[3 * NEAP_MAX_DIMS];
        for (int a = 0; a < out.ndim; a++) {
            slice[3 * a] = a == axis ? at : 0;
            slice[3 * a + 1] = 1;
            slice[3 * a + 2] = in.shape[a];
        }
        if (g->wants[k] && !(g->out[k] = graph_build(g->ctx, LAZY_OP_slice, 1, &g->ct, 3 * out.ndim, slice)))
            return NEAP_E_MEMORY;
        at += in.shape[axis];
    }
    return 0;
}

static int concatenate_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    int along = joined_axis(g->attrs[0], g->out->ndim);
    for (int axis = 0; axis < g->out->ndim; axis++) {
        if (axis == along)
            continue;
        shard_factor_keep(&f, g, 0, axis, axis);
        for (int k = 1; k < g->nin; k++)
            shard_factor_axis(&f, k, axis, f.n - 1);
    }
    return shard_solve(g, &f, -1);
}

NEAP_OP(concatenate, .doc = "Arrays of equal shapes, but for one axis, joined along that axis. Dtypes are promoted.",
        .attrs = "axis", .kind = LAZY_ASSEMBLE, .arity = 255, .types = LAZY_ALL, .flags = LAZY_OP_HIDDEN,
        .dtype = graph_dtype_promote, .shape = concatenate_shape, .pieces = concatenate_pieces,
        .grad = concatenate_grad, .batch = derive_batch_axis, .shard = concatenate_shard)

/* ---- pad --------------------------------------------------------------------------------------------------------- */
static int pad_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0];
    if (call->nattrs != 3 * in->ndim)
        return neap_error(NEAP_E_ARGUMENT, "pad: expected low, high and interior for %d axes", in->ndim);
    if (call->in[1].ndim != 0)
        return neap_error(NEAP_E_SHAPE, "pad: expected a 0-d pad value, got %d axes", call->in[1].ndim);
    out->ndim = in->ndim;
    for (int k = 0; k < in->ndim; k++) {
        int64_t low = call->attrs[3 * k], high = call->attrs[3 * k + 1], interior = call->attrs[3 * k + 2], inside = 0;
        if (low < 0 || high < 0 || interior < 0 || interior == INT64_MAX ||
            (in->shape[k] > 0 && __builtin_mul_overflow(in->shape[k] - 1, interior + 1, &inside)) ||
            __builtin_add_overflow(inside + (in->shape[k] > 0), low, &inside) ||
            __builtin_add_overflow(inside, high, &out->shape[k]))
            return neap_error(NEAP_E_ARGUMENT, "pad: axis %d: expected widths of at least 0, got %lld, %lld and %lld",
                              k, (long long)low, (long long)high, (long long)interior);
    }
    return 0;
}

/* A fill of the box of places from `low` on, with `box` elements along each axis. */
static lazy_piece filled_box(int ndim, const int64_t *row, const int64_t *low, const int64_t *box) {
    lazy_piece piece = {.input = 1, .fill = true};
    for (int k = 0; k < ndim; k++) {
        piece.write.offset += low[k] * row[k];
        piece.write.stride[k] = row[k];
        piece.box[k] = box[k];
    }
    return piece;
}

/* What surrounds input 0: along each axis the places before and after it, of as many as are inside along the axes
 * before and of all along those behind. So no place is written twice; but where there are places between elements, or
 * none are inside, everything is filled first. */
static int pad_pieces(const lazy_call_desc *call, const lazy_result *out, lazy_piece *pieces) {
    int64_t row[NEAP_MAX_DIMS], low[NEAP_MAX_DIMS] = {0}, box[NEAP_MAX_DIMS];
    lazy_piece inside = {.input = 0};
    bool whole = call->in[0].size == 0;
    int n = 0;
    graph_row_major(out->ndim, out->shape, row);
    for (int k = 0; k < out->ndim; k++) {
        const bool apart = call->attrs[3 * k + 2] > 0 && call->in[0].shape[k] > 1; /* else it may be of any size */
        inside.write.offset += call->attrs[3 * k] * row[k];
        inside.write.stride[k] = apart ? row[k] * (call->attrs[3 * k + 2] + 1) : row[k];
        whole |= apart;
        box[k] = out->shape[k];
    }
    if (whole)
        pieces[n++] = filled_box(out->ndim, row, low, box);
    for (int k = 0; k < out->ndim && !whole; k++) {
        const int64_t extent = call->in[0].shape[k], before = call->attrs[3 * k], after = call->attrs[3 * k + 1];
        if ((box[k] = before) > 0)
            pieces[n++] = filled_box(out->ndim, row, low, box);
        low[k] = before + extent;
        if ((box[k] = after) > 0)
            pieces[n++] = filled_box(out->ndim, row, low, box);
        low[k] = before;
        box[k] = extent;
    }
    pieces[n++] = inside;
    return n;
}

static int pad_grad(lazy_grad *g) {
    lazy_aval in = graph_node_aval(INPUT(0));
    const int64_t *attrs = graph_node_attrs(g->node);
    int64_t slice[3 * NEAP_MAX_DIMS];
    for (int k = 0; k < in.ndim; k++) {
        slice[3 * k] = attrs[3 * k];
        slice[3 * k + 1] = attrs[3 * k + 2] + 1;
        slice[3 * k + 2] = in.shape[k];
    }
    neap_node *inside = graph_build(g->ctx, LAZY_OP_slice, 1, &g->ct, 3 * in.ndim, slice);
    int64_t all = ((int64_t)1 << in.ndim) - 1;
    g->out[0] = inside;
    if (g->wants[1]) /* everything that is not inside */
        g->out[1] = BUILD2(subtract, graph_build(g->ctx, LAZY_OP_sum, 1, &g->ct, 2, (int64_t[]){all, 0}),
                           inside ? graph_build(g->ctx, LAZY_OP_sum, 1, &inside, 2, (int64_t[]){all, 0}) : NULL);
    return grad_done(g, 2);
}

/* A value for each example is chosen where there is nothing of input 0: pieces are filled with one value only. */
static int pad_batch(lazy_batching *g) {
    lazy_aval in = graph_node_aval(INPUT(0));
    int n = graph_node_nattrs(g->node);
    int64_t widths[3 * NEAP_MAX_DIMS + 3] = {0};
    memcpy(widths + 3, graph_node_attrs(g->node), (size_t)n * sizeof *widths);
    if (!g->batched[1]) {
        g->out = graph_build(g->ctx, LAZY_OP_pad, 2, g->in, n + 3, widths);
        return derive_batch_done(g);
    }
    neap_node *one = graph_build_cast(g->ctx, NUMBER(1), NEAP_DTYPE_BOOL);
    neap_node *none = graph_build_cast(g->ctx, NUMBER(0), NEAP_DTYPE_BOOL);
    neap_node *zero = graph_build_cast(g->ctx, NUMBER(0), in.dtype);
    neap_node *inside = one ? graph_build_broadcast(g->ctx, one, in.ndim, in.shape) : NULL;
    inside = graph_build(g->ctx, LAZY_OP_pad, 2, (neap_node *[]){inside, none}, n, widths + 3);
    neap_node *padded = graph_build(g->ctx, LAZY_OP_pad, 2, (neap_node *[]){g->in[0], zero}, g->batched[0] ? n + 3 : n,
                                    g->batched[0] ? widths : widths + 3);
    g->out = BUILD3(where, inside, padded, derive_batch_align(g, 1, in.ndim));
    return derive_batch_done(g);
}

static int pad_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    for (int k = 0; k < g->out->ndim; k++)
        if (g->attrs[3 * k] == 0 && g->attrs[3 * k + 1] == 0 && g->attrs[3 * k + 2] == 0)
            shard_factor_keep(&f, g, 0, k, k);
    return shard_solve(g, &f, -1);
}

NEAP_OP(pad,
        .doc =
            "The first input surrounded by the second, a 0-d value: per axis `low` elements before, `high` after, and "
            "`interior` between neighbours.",
        .attrs = "(low high interior)…", .kind = LAZY_ASSEMBLE, .arity = 2, .types = LAZY_ALL, .flags = LAZY_OP_HIDDEN,
        .dtype = graph_dtype_promote, .shape = pad_shape, .pieces = pad_pieces, .grad = pad_grad, .batch = pad_batch,
        .shard = pad_shard)
