/* view.c: ops that read their input at other places: no launch, no copy (lazy/graph/view.c composes them). */
#include <string.h>

#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"
#include "lazy/program/program.h"

static int shape_in_attrs(const char *op, const lazy_call_desc *call, lazy_result *out) {
    if (call->nattrs > NEAP_MAX_DIMS)
        return neap_error(NEAP_E_SHAPE, "%s: expected at most %d axes, got %d", op, NEAP_MAX_DIMS, call->nattrs);
    out->ndim = (uint8_t)call->nattrs;
    for (int k = 0; k < call->nattrs; k++) {
        if (call->attrs[k] < 0)
            return neap_error(NEAP_E_SHAPE, "%s: expected sizes of at least 0, got %lld", op,
                              (long long)call->attrs[k]);
        out->shape[k] = call->attrs[k];
    }
    return 0;
}

/* ---- alias ------------------------------------------------------------------------------------------------------- */
static int identity_view(const lazy_call_desc *call, const lazy_result *out, lazy_map *map) {
    (void)call;
    map->offset = 0;
    graph_row_major(out->ndim, out->shape, map->stride);
    return 0;
}

static int alias_grad(lazy_grad *g) {
    g->out[0] = g->ct;
    return 0;
}

NEAP_OP(alias, .doc = "The same array under a new name: what a gradient or trace differentiates with respect to.",
        .kind = LAZY_VIEW, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_HIDDEN | LAZY_OP_ALIAS,
        .dtype = graph_dtype_same, .shape = graph_shape_same, .view = identity_view, .grad = alias_grad,
        .batch = derive_batch_leading, .shard = shard_same)

NEAP_OP(bare, .doc = "The same array on no tape: as the blocks of a meshed array see it.", .kind = LAZY_VIEW,
        .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_same,
        .shape = graph_shape_same, .view = identity_view, .batch = derive_batch_leading, .shard = shard_same)

/* ---- device_put -------------------------------------------------------------------------------------------------- */
static int device_put_shape(const lazy_call_desc *call, lazy_result *out) {
    int64_t device = call->nattrs == 1 ? call->attrs[0] : -2;
    if (device < -1 || device >= neap_device_count())
        return neap_error(NEAP_E_ARGUMENT, "device_put: expected one of %d devices", neap_device_count());
    return graph_shape_same(call, out);
}

static int device_put_grad(lazy_grad *g) {
    g->out[0] = graph_build_place(g->ctx, g->ct, graph_node_device(INPUT(0)));
    return grad_done(g, 1);
}

NEAP_OP(device_put,
        .doc =
            "The same array, committed to a device: what is computed from it is computed there. With device -1 it is "
            "committed to none. The gradient goes back to where the input is.",
        .attrs = "device", .kind = LAZY_VIEW, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_HIDDEN | LAZY_OP_PLACES,
        .dtype = graph_dtype_same, .shape = device_put_shape, .view = identity_view, .grad = device_put_grad,
        .batch = derive_batch_leading)

static int transfer_call(const lazy_call *call, const neap_run *run) {
    (void)run;
    if (call->out->size)
        memcpy(call->out->data, call->in->data, (size_t)(call->out->size * neap_dtype_bytes(call->out->dtype)));
    return 0;
}

NEAP_OP(
    transfer,
    .doc = "What device_put is where the devices have different memories: a copy of the array, committed to a device.",
    .attrs = "device", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ANY,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_PLACES | LAZY_OP_DENSE, .dtype = graph_dtype_same, .shape = device_put_shape,
    .call = transfer_call, .grad = device_put_grad, .jvp = derive_jvp_linear, .batch = derive_batch_leading)

/* ---- join -------------------------------------------------------------------------------------------------------- */
static int join_shape(const lazy_call_desc *call, lazy_result *out) {
    int64_t device = call->nattrs == 1 ? call->attrs[0] : -2;
    if (device < -1 || device >= neap_device_count())
        return neap_error(NEAP_E_ARGUMENT, "join: expected one of %d devices", neap_device_count());
    out->ndim = 1;
    for (int k = 0; k < call->nin; k++) {
        if (call->in[k].ndim != 1)
            return neap_error(NEAP_E_SHAPE, "join: expected arrays with one axis, got %d axes", call->in[k].ndim);
        if (__builtin_add_overflow(out->shape[0], call->in[k].size, &out->shape[0]))
            return neap_error(NEAP_E_SHAPE, "join: the result would have more than 2^63 elements");
    }
    return 0;
}

static int join_call(const lazy_call *call, const neap_run *run) {
    char *to = call->out->data;
    (void)run;
    for (int k = 0; k < call->nin; k++) {
        size_t bytes = (size_t)(call->in[k].size * neap_dtype_bytes(call->in[k].dtype));
        if (bytes)
            memcpy(to, call->in[k].data, bytes);
        to += bytes;
    }
    return 0;
}

/* Made of blocks alone, which are on no tape: the derivative is that of the op over the mesh. */
NEAP_OP(join,
        .doc =
            "Arrays of one axis, of several devices, one behind the other: one array, committed to a device, or with "
            "device -1 to none. Where the devices have a collective for it, the same op makes the copies that other "
            "devices read.",
        .attrs = "device", .kind = LAZY_CALL, .arity = 255, .types = LAZY_ANY,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_PLACES | LAZY_OP_DENSE | LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_promote,
        .shape = join_shape, .call = join_call)

/* ---- reshape ----------------------------------------------------------------------------------------------------- */
static int reshape_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = shape_in_attrs("reshape", call, out);
    int64_t size = 1;
    for (int k = 0; k < out->ndim && status == 0; k++)
        if (__builtin_mul_overflow(size, out->shape[k], &size))
            size = -1;
    char left[256], right[256];
    if (status == 0 && size != call->in[0].size)
        return neap_error(NEAP_E_SHAPE, "reshape: an array of shape %s has %lld elements, shape %s has %lld",
                          graph_shape_text(call->in[0].ndim, call->in[0].shape, left, sizeof left),
                          (long long)call->in[0].size, graph_shape_text(out->ndim, out->shape, right, sizeof right),
                          (long long)size);
    return status;
}

static int reshape_grad(lazy_grad *g) {
    lazy_aval in = graph_node_aval(INPUT(0));
    g->out[0] = graph_build_reshape(g->ctx, g->ct, in.ndim, in.shape);
    return grad_done(g, 1);
}

/* The op whose attributes are the shape of one example, for all of them. */
static int reshaped(lazy_batching *g, neap_node *in) {
    int64_t shape[NEAP_MAX_DIMS + 1] = {g->size};
    int n = graph_node_nattrs(g->node);
    memcpy(shape + 1, graph_node_attrs(g->node), (size_t)n * sizeof *shape);
    g->out = in ? graph_build(g->ctx, g->node->op, 1, &in, n + 1, shape) : NULL;
    return derive_batch_done(g);
}

static int reshape_batch(lazy_batching *g) {
    return reshaped(g, g->in[0]);
}

static int64_t common_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Both shapes are taken apart from the left into the factors that they share. Where what is left of two axes shares
 * none (2 and 3), there are no factors up to where axes of both end together. */
static int reshape_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    const int64_t *from = g->in[0].shape, *to = g->out->shape;
    int i = -1, j = -1;
    int64_t a = 1, b = 1; /* what is left of axes i and j */
    while (g->in[0].size > 0) {
        while (a == 1 && i + 1 < g->in[0].ndim)
            a = from[++i];
        while (b == 1 && j + 1 < g->out->ndim)
            b = to[++j];
        if (a == 1 || b == 1)
            break;
        int64_t size = common_divisor(a, b);
        if (size > 1) {
            int factor = shard_factor_new(&f, size);
            shard_factor_axis(&f, 0, i, factor);
            shard_factor_axis(&f, LAZY_SHARD_RESULT, j, factor);
            a /= size;
            b /= size;
            continue;
        }
        while (a != b)
            *(a < b ? &a : &b) *= a < b ? from[++i] : to[++j];
        a = b = 1;
    }
    shard_solve(g, &f, -1);
    shard_local_sizes(g, 0, 1);
    return NEAP_OK;
}

NEAP_OP(reshape, .doc = "The same elements in row-major order under another shape of the same size.", .attrs = "shape…",
        .kind = LAZY_VIEW, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_HIDDEN, .dtype = graph_dtype_same,
        .shape = reshape_shape, .view = identity_view, .grad = reshape_grad, .batch = reshape_batch,
        .shard = reshape_shard)

/* ---- transpose --------------------------------------------------------------------------------------------------- */
static int transpose_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0];
    uint32_t seen = 0;
    if (call->nattrs != in->ndim)
        return neap_error(NEAP_E_ARGUMENT, "transpose: expected %d axes, got %d", in->ndim, call->nattrs);
    out->ndim = in->ndim;
    for (int k = 0; k < in->ndim; k++) {
        int64_t axis = call->attrs[k];
        if (axis < 0 || axis >= in->ndim || seen >> axis & 1)
            return neap_error(NEAP_E_ARGUMENT, "transpose: expected each of the axes 0..%d once, got %lld",
                              in->ndim - 1, (long long)axis);
        seen |= 1u << axis;
        out->shape[k] = in->shape[axis];
    }
    return 0;
}

static int transpose_view(const lazy_call_desc *call, const lazy_result *out, lazy_map *map) {
    int64_t row[NEAP_MAX_DIMS];
    graph_row_major(call->in[0].ndim, call->in[0].shape, row);
    map->offset = 0;
    for (int k = 0; k < out->ndim; k++)
        map->stride[k] = row[call->attrs[k]];
    return 0;
}

static int transpose_grad(lazy_grad *g) {
    int64_t inverse[NEAP_MAX_DIMS];
    const int64_t *perm = graph_node_attrs(g->node);
    int n = graph_node_nattrs(g->node);
    for (int k = 0; k < n; k++)
        inverse[perm[k]] = k;
    g->out[0] = graph_build(g->ctx, LAZY_OP_transpose, 1, &g->ct, n, inverse);
    return grad_done(g, 1);
}

static int transpose_batch(lazy_batching *g) {
    int64_t perm[NEAP_MAX_DIMS + 1] = {0};
    int n = graph_node_nattrs(g->node);
    for (int k = 0; k < n; k++)
        perm[k + 1] = graph_node_attrs(g->node)[k] + 1;
    g->out = graph_build(g->ctx, LAZY_OP_transpose, 1, g->in, n + 1, perm);
    return derive_batch_done(g);
}

static int transpose_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    for (int k = 0; k < g->out->ndim; k++)
        shard_factor_keep(&f, g, 0, (int)g->attrs[k], k);
    return shard_solve(g, &f, -1);
}

NEAP_OP(transpose, .doc = "Axes in another order: axis k of the result is axis axes[k] of the input.", .attrs = "axes…",
        .kind = LAZY_VIEW, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_HIDDEN, .dtype = graph_dtype_same,
        .shape = transpose_shape, .view = transpose_view, .grad = transpose_grad, .batch = transpose_batch,
        .shard = transpose_shard)

/* ---- broadcast_to ------------------------------------------------------------------------------------------------ */
static int broadcast_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0];
    int status = shape_in_attrs("broadcast_to", call, out), lead = out->ndim - in->ndim;
    bool fits = lead >= 0;
    for (int k = 0; k < in->ndim && fits; k++)
        fits = in->shape[k] == 1 || in->shape[k] == out->shape[lead + k];
    char left[256], right[256], remedy[600];
    if (status == 0 && !fits)
        return neap_error(NEAP_E_SHAPE, "broadcast_to: shape %s does not broadcast to %s%s",
                          graph_shape_text(in->ndim, in->shape, left, sizeof left),
                          graph_shape_text(out->ndim, out->shape, right, sizeof right),
                          neap_broadcast_remedy(in->ndim, in->shape, out->ndim, out->shape, remedy, sizeof remedy));
    return status;
}

static int broadcast_view(const lazy_call_desc *call, const lazy_result *out, lazy_map *map) {
    const lazy_aval *in = &call->in[0];
    int64_t row[NEAP_MAX_DIMS];
    int lead = out->ndim - in->ndim;
    graph_row_major(in->ndim, in->shape, row);
    map->offset = 0;
    for (int k = 0; k < out->ndim; k++)
        map->stride[k] = k < lead || in->shape[k - lead] == 1 ? 0 : row[k - lead];
    return 0;
}

static int broadcast_grad(lazy_grad *g) {
    lazy_aval in = graph_node_aval(INPUT(0)), out = graph_node_aval(g->node);
    int lead = out.ndim - in.ndim;
    int64_t mask = 0;
    for (int k = 0; k < out.ndim; k++)
        if (k < lead || (in.shape[k - lead] == 1 && out.shape[k] != 1))
            mask |= (int64_t)1 << k;
    neap_node *sum = graph_build(g->ctx, LAZY_OP_sum, 1, &g->ct, 2, (int64_t[]){mask, 0});
    g->out[0] = sum ? graph_build_reshape(g->ctx, sum, in.ndim, in.shape) : NULL;
    return grad_done(g, 1);
}

static int broadcast_batch(lazy_batching *g) {
    return reshaped(g, derive_batch_align(g, 0, graph_node_nattrs(g->node)));
}

static int broadcast_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    int lead = g->out->ndim - g->in[0].ndim;
    for (int k = 0; k < g->in[0].ndim; k++)
        if (g->in[0].shape[k] == g->out->shape[lead + k])
            shard_factor_keep(&f, g, 0, k, lead + k);
    shard_solve(g, &f, -1);
    shard_local_sizes(g, 0, 1);
    return NEAP_OK;
}

NEAP_OP(broadcast_to, .doc = "The input repeated along new leading axes and along its axes of size 1.",
        .attrs = "shape…", .kind = LAZY_VIEW, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_HIDDEN,
        .dtype = graph_dtype_same, .shape = broadcast_shape, .view = broadcast_view, .grad = broadcast_grad,
        .batch = broadcast_batch, .shard = broadcast_shard)

/* ---- slice ------------------------------------------------------------------------------------------------------- */
static int slice_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0];
    if (call->nattrs != 3 * in->ndim)
        return neap_error(NEAP_E_ARGUMENT, "slice: expected start, step and count for %d axes", in->ndim);
    out->ndim = in->ndim;
    for (int k = 0; k < in->ndim; k++) {
        int64_t start = call->attrs[3 * k], step = call->attrs[3 * k + 1], count = call->attrs[3 * k + 2];
        int64_t last;
        if (count < 0 || step == 0 || __builtin_mul_overflow(step, count > 0 ? count - 1 : 0, &last) ||
            __builtin_add_overflow(last, start, &last) ||
            (count > 0 && (start < 0 || start >= in->shape[k] || last < 0 || last >= in->shape[k])))
            return neap_error(NEAP_E_INDEX,
                              "slice: axis %d of size %lld has no %lld elements from %lld in steps of %lld", k,
                              (long long)in->shape[k], (long long)count, (long long)start, (long long)step);
        out->shape[k] = count;
    }
    return 0;
}

/* The step along axis k; 1 where there are no two elements, as any step fits them. */
static int64_t slice_step(const int64_t *attrs, int k, int64_t count) {
    return count > 1 ? attrs[3 * k + 1] : 1;
}

static int slice_view(const lazy_call_desc *call, const lazy_result *out, lazy_map *map) {
    int64_t row[NEAP_MAX_DIMS];
    graph_row_major(call->in[0].ndim, call->in[0].shape, row);
    map->offset = 0;
    for (int k = 0; k < out->ndim; k++) {
        if (out->shape[k] > 0)
            map->offset += call->attrs[3 * k] * row[k];
        map->stride[k] = slice_step(call->attrs, k, out->shape[k]) * row[k];
    }
    return 0;
}

/* The cotangent is put back: flipped along axes of negative step, then padded with zeros. */
static int slice_grad(lazy_grad *g) {
    lazy_aval in = graph_node_aval(INPUT(0)), out = graph_node_aval(g->node);
    const int64_t *attrs = graph_node_attrs(g->node);
    int64_t flip[3 * NEAP_MAX_DIMS], pad[3 * NEAP_MAX_DIMS];
    bool flips = false;
    for (int k = 0; k < in.ndim; k++) {
        int64_t start = attrs[3 * k], count = out.shape[k], step = slice_step(attrs, k, count);
        bool down = step < 0;
        int64_t first = down ? start + step * (count - 1) : start, stride = down ? -step : step;
        flips |= down && count > 1;
        flip[3 * k] = down && count > 0 ? count - 1 : 0;
        flip[3 * k + 1] = down ? -1 : 1;
        flip[3 * k + 2] = count;
        pad[3 * k] = count > 0 ? first : 0;
        pad[3 * k + 2] = stride - 1;
        pad[3 * k + 1] = in.shape[k] - pad[3 * k] - (count > 0 ? (count - 1) * stride + 1 : 0);
    }
    neap_node *ct = flips ? graph_build(g->ctx, LAZY_OP_slice, 1, &g->ct, 3 * in.ndim, flip) : g->ct;
    neap_node *zero = NUMBER(0);
    g->out[0] = graph_build(g->ctx, LAZY_OP_pad, 2, (neap_node *[]){ct, zero}, 3 * in.ndim, pad);
    return grad_done(g, 1);
}

static int slice_batch(lazy_batching *g) {
    int64_t slice[3 * NEAP_MAX_DIMS + 3] = {0, 1, g->size};
    int n = graph_node_nattrs(g->node);
    memcpy(slice + 3, graph_node_attrs(g->node), (size_t)n * sizeof *slice);
    g->out = graph_build(g->ctx, LAZY_OP_slice, 1, g->in, n + 3, slice);
    return derive_batch_done(g);
}

/* An axis that is taken whole, in order, stays divided. */
static int slice_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    for (int k = 0; k < g->out->ndim; k++)
        if (g->out->shape[k] == g->in[0].shape[k] && slice_step(g->attrs, k, g->out->shape[k]) == 1)
            shard_factor_keep(&f, g, 0, k, k);
    shard_solve(g, &f, -1);
    shard_local_sizes(g, 2, 3);
    return NEAP_OK;
}

NEAP_OP(slice,
        .doc = "Per axis, count elements from start in steps of step, which may be negative. All inside the input.",
        .attrs = "(start step count)…", .kind = LAZY_VIEW, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_HIDDEN,
        .dtype = graph_dtype_same, .shape = slice_shape, .view = slice_view, .grad = slice_grad, .batch = slice_batch,
        .shard = slice_shard)
