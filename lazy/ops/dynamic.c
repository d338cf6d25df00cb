/* dynamic.c: reading and writing a box of an array at a place that is data.
 *
 * The sizes of the box are structure, its start along each axis is an element of a vector of i64: another start runs
 * the same plan. Starts count from 0, negative ones from the end, and are then clamped so that the box lies inside of
 * the array, as XLA does: a start is data, so it cannot be an error when the op is recorded.
 *
 * Both are calls that copy rows: what reads a box is mostly a product, which wants it in memory, and a row is copied
 * faster than it is gathered by elements. An axis that the box has whole starts at 0 whatever its start is, so it may
 * be divided over a mesh, or be that of a batch.
 */
#include <string.h>

#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/launches.h"
#include "lazy/program/program.h"

static int check_box(const char *op, const lazy_call_desc *call, int nsizes, const int64_t *sizes) {
    const lazy_aval *x = &call->in[0], *starts = &call->in[call->nin - 1];
    char left[256], right[256];
    if (starts->dtype != NEAP_DTYPE_I64 || starts->ndim != 1 || starts->shape[0] != x->ndim)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected %d starts of dtype i64, got %s of shape %s", op, x->ndim,
                          neap_dtype_name(starts->dtype),
                          graph_shape_text(starts->ndim, starts->shape, left, sizeof left));
    bool fits = nsizes == x->ndim;
    for (int k = 0; k < x->ndim && fits; k++)
        fits = sizes[k] >= 0 && sizes[k] <= x->shape[k];
    if (!fits)
        return neap_error(NEAP_E_SHAPE, "%s: a box of shape %s is none of an array of shape %s", op,
                          graph_shape_text(nsizes, sizes, left, sizeof left),
                          graph_shape_text(x->ndim, x->shape, right, sizeof right));
    return 0;
}

/* The element of x at which the box begins. */
static int64_t box_offset(const lazy_tensor *x, const lazy_tensor *starts, const int64_t *sizes) {
    int64_t offset = 0;
    for (int k = 0; k < x->ndim; k++) {
        int64_t at = ((const int64_t *)starts->data)[k * starts->stride[0]], last = x->shape[k] - sizes[k];
        at = at < 0 ? at + x->shape[k] : at;
        offset += (at < 0 ? 0 : at > last ? last : at) * x->stride[k];
    }
    return offset;
}

/* Copies the elements of a box from one layout to another; strides are in elements. */
static void copy_box(int ndim, const int64_t *shape, int64_t bytes, char *to, const int64_t *to_stride,
                     const char *from, const int64_t *from_stride) {
    int64_t at[NEAP_MAX_DIMS] = {0}, run = bytes;
    for (int k = 0; k < ndim; k++)
        if (shape[k] == 0)
            return;
    while (ndim > 0 &&
           (shape[ndim - 1] == 1 || (to_stride[ndim - 1] * bytes == run && from_stride[ndim - 1] * bytes == run)))
        run *= shape[--ndim];
    for (;;) {
        memcpy(to, from, (size_t)run);
        int k = ndim - 1;
        for (; k >= 0 && ++at[k] == shape[k]; k--) {
            to -= (shape[k] - 1) * to_stride[k] * bytes;
            from -= (shape[k] - 1) * from_stride[k] * bytes;
            at[k] = 0;
        }
        if (k < 0)
            return;
        to += to_stride[k] * bytes;
        from += from_stride[k] * bytes;
    }
}

/* ---- Batches ----------------------------------------------------------------------------------------------------- */
/* Starts that are the same for all examples: the examples become an axis that the box has whole. */
static neap_node *starts_with_examples(lazy_batching *g, int k) {
    neap_node *zero = graph_build_cast(g->ctx, NUMBER(0), NEAP_DTYPE_I64);
    zero = zero ? graph_build_broadcast(g->ctx, zero, 1, (int64_t[]){1}) : NULL;
    return zero ? graph_build_concatenate(g->ctx, 2, (neap_node *[]){zero, g->in[k]}, 0) : NULL;
}

/* One axis of the box in each example: the distance of its elements from the example's first, of shape (n or 1, 1, …,
 * size, …, 1). */
static neap_node *axis_positions(lazy_batching *g, const lazy_aval *x, const int64_t *sizes, neap_node *starts, int k) {
    int64_t own[NEAP_MAX_DIMS + 1], ranges[6] = {0, 1, g->size, k, 1, 1}, step = 1;
    for (int a = 0; a <= x->ndim; a++)
        own[a] = 1;
    own[1 + k] = sizes[k];
    for (int a = k + 1; a < x->ndim; a++)
        step *= x->shape[a];
    neap_node *at = graph_build(g->ctx, LAZY_OP_iota, 0, NULL, 2, (int64_t[]){sizes[k], NEAP_DTYPE_I64});
    at = at ? graph_build_reshape(g->ctx, at, x->ndim + 1, own) : NULL;
    if (sizes[k] < x->shape[k]) {
        own[0] = g->size;
        own[1 + k] = 1;
        neap_node *start = graph_build_slice(g->ctx, starts, ranges), *zero = NUMBER(0);
        start = start ? graph_build_reshape(g->ctx, start, x->ndim + 1, own) : NULL;
        start = BUILD3(where, BUILD2(less, start, zero), BUILD2(add, start, NUMBER((double)x->shape[k])), start);
        at = BUILD2(add, at, BUILD3(clip, start, zero, NUMBER((double)(x->shape[k] - sizes[k]))));
    }
    return BUILD2(multiply, at, NUMBER((double)step));
}

/* Where the elements of the boxes of all examples are, i64 of shape (n, sizes…), with starts of shape (n, axes), in x
 * of all examples, flat, or in the one x that they share. */
static neap_node *box_positions(lazy_batching *g, const int64_t *sizes, neap_node *starts, bool shared) {
    lazy_aval x = graph_node_aval(INPUT(0));
    int64_t own[NEAP_MAX_DIMS + 1] = {g->size}, all[NEAP_MAX_DIMS + 1] = {g->size};
    for (int k = 0; k < x.ndim; k++) {
        own[1 + k] = 1;
        all[1 + k] = sizes[k];
    }
    neap_node *at = graph_build(g->ctx, LAZY_OP_iota, 0, NULL, 2, (int64_t[]){g->size, NEAP_DTYPE_I64});
    at = at ? graph_build_reshape(g->ctx, at, x.ndim + 1, own) : NULL;
    at = BUILD2(multiply, at, NUMBER(shared ? 0 : (double)x.size));
    for (int k = 0; k < x.ndim; k++)
        at = BUILD2(add, at, axis_positions(g, &x, sizes, starts, k));
    return at ? graph_build_broadcast(g->ctx, at, x.ndim + 1, all) : NULL;
}

static neap_node *flattened(lazy_batching *g, neap_node *x) {
    return x ? graph_build_reshape(g->ctx, x, 1, (int64_t[]){graph_node_aval(x).size}) : NULL;
}

/* ---- dynamic_slice ----------------------------------------------------------------------------------------------- */
static int dynamic_slice_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = check_box("dynamic_slice", call, call->nattrs, call->attrs);
    if (status)
        return status;
    out->ndim = call->in[0].ndim;
    memcpy(out->shape, call->attrs, out->ndim * sizeof *out->shape);
    return 0;
}

static int dynamic_slice_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *x = &call->in[0];
    int64_t bytes = neap_dtype_bytes(x->dtype);
    (void)run;
    if (call->out->size > 0)
        copy_box(x->ndim, call->attrs, bytes, call->out->data, call->out->stride,
                 (const char *)x->data + box_offset(x, &call->in[1], call->attrs) * bytes, x->stride);
    return 0;
}

/* That of its result: the rest of x is not touched. */
static int64_t dynamic_slice_cost(const lazy_call_desc *call, const lazy_result *out) {
    int64_t bytes = neap_dtype_bytes(call->in[0].dtype);
    for (int k = 0; k < out->ndim; k++)
        bytes *= out->shape[k];
    return 50 + bytes / 4;
}

static int dynamic_slice_grad(lazy_grad *g) {
    lazy_aval x = graph_node_aval(INPUT(0));
    neap_node *zero = graph_build_cast(g->ctx, NUMBER(0), x.dtype);
    neap_node *zeros = zero ? graph_build_broadcast(g->ctx, zero, x.ndim, x.shape) : NULL;
    g->out[0] = BUILD3(dynamic_update_slice, zeros, g->ct, INPUT(1));
    return grad_done(g, 1);
}

static int dynamic_slice_batch(lazy_batching *g) {
    lazy_aval out = graph_node_aval(g->node);
    int64_t sizes[NEAP_MAX_DIMS + 1] = {g->size};
    memcpy(sizes + 1, out.shape, out.ndim * sizeof *sizes);
    if (!g->batched[1]) {
        neap_node *in[2] = {g->in[0], starts_with_examples(g, 1)};
        g->out = graph_build(g->ctx, LAZY_OP_dynamic_slice, 2, in, out.ndim + 1, sizes);
        return derive_batch_done(g);
    }
    neap_node *in[2] = {flattened(g, g->in[0]), box_positions(g, out.shape, g->in[1], !g->batched[0])};
    g->out = graph_build(g->ctx, LAZY_OP_take, 2, in, 1, (int64_t[]){0});
    return derive_batch_done(g);
}

static int dynamic_slice_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    for (int k = 0; k < g->out->ndim; k++)
        if (g->out->shape[k] == g->in[0].shape[k])
            shard_factor_keep(&f, g, 0, k, k);
    shard_solve(g, &f, -1);
    shard_local_sizes(g, 0, 1);
    return NEAP_OK;
}

NEAP_OP(dynamic_slice,
        .doc = "The box of the first input whose sizes are attributes and whose start along each axis is an element of "
               "the second, a vector of i64. Negative starts count from the end; then they are clamped so that the box "
               "lies inside.",
        .attrs = "size…", .kind = LAZY_CALL, .arity = 2, .types = LAZY_ANY, .flags = LAZY_OP_HIDDEN,
        .residual = LAZY_RESIDUAL_IN1, .dtype = graph_dtype_same, .shape = dynamic_slice_shape,
        .call = dynamic_slice_call, .gpu = launches_dynamic_slice, .cost = dynamic_slice_cost,
        .grad = dynamic_slice_grad, .jvp = derive_jvp_linear, .batch = dynamic_slice_batch,
        .shard = dynamic_slice_shard)

/* ---- dynamic_update_slice ---------------------------------------------------------------------------------------- */
static int dynamic_update_slice_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *update = &call->in[1];
    if (update->dtype != call->in[0].dtype)
        return neap_error(NEAP_E_DTYPE, "dynamic_update_slice: expected an update of dtype %s, got %s",
                          neap_dtype_name(call->in[0].dtype), neap_dtype_name(update->dtype));
    int status = check_box("dynamic_update_slice", call, update->ndim, update->shape);
    return status ? status : graph_shape_same(call, out);
}

static int dynamic_update_slice_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *update = &call->in[1], *out = call->out;
    int64_t bytes = neap_dtype_bytes(out->dtype);
    (void)run;
    if (update->size > 0)
        copy_box(out->ndim, update->shape, bytes,
                 (char *)out->data + box_offset(out, &call->in[2], update->shape) * bytes, out->stride, update->data,
                 update->stride);
    return 0;
}

static int dynamic_update_slice_grad(lazy_grad *g) {
    lazy_aval x = graph_node_aval(INPUT(0)), update = graph_node_aval(INPUT(1));
    if (g->wants[0]) {
        neap_node *zero = graph_build_cast(g->ctx, NUMBER(0), x.dtype);
        neap_node *zeros = zero ? graph_build_broadcast(g->ctx, zero, update.ndim, update.shape) : NULL;
        g->out[0] = BUILD3(dynamic_update_slice, g->ct, zeros, INPUT(2));
    }
    if (g->wants[1])
        g->out[1] =
            graph_build(g->ctx, LAZY_OP_dynamic_slice, 2, (neap_node *[]){g->ct, INPUT(2)}, update.ndim, update.shape);
    return grad_done(g, 2);
}

static int dynamic_update_slice_batch(lazy_batching *g) {
    lazy_aval x = graph_node_aval(INPUT(0)), update = graph_node_aval(INPUT(1));
    if (!g->batched[2]) {
        neap_node *in[3] = {derive_batch_all(g, 0), derive_batch_all(g, 1), starts_with_examples(g, 2)};
        g->out = graph_build(g->ctx, LAZY_OP_dynamic_update_slice, 3, in, 0, NULL);
        return derive_batch_done(g);
    }
    int64_t shape[NEAP_MAX_DIMS + 1] = {g->size};
    memcpy(shape + 1, x.shape, x.ndim * sizeof *shape);
    neap_node *in[3] = {flattened(g, derive_batch_all(g, 0)), box_positions(g, update.shape, g->in[2], false),
                        derive_batch_all(g, 1)};
    neap_node *put = graph_build(g->ctx, LAZY_OP_put_set, 3, in, 1, (int64_t[]){0});
    g->out = put ? graph_build_reshape(g->ctx, put, x.ndim + 1, shape) : NULL;
    return derive_batch_done(g);
}

static int dynamic_update_slice_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    for (int k = 0; k < g->in[0].ndim; k++)
        if (g->in[1].shape[k] == g->in[0].shape[k]) {
            shard_factor_keep(&f, g, 0, k, k);
            shard_factor_axis(&f, 1, k, f.n - 1);
        }
    return shard_solve(g, &f, -1);
}

NEAP_OP(dynamic_update_slice,
        .doc = "The first input with the second written over the box whose start along each axis is an element of the "
               "third, a vector of i64. Starts as in dynamic_slice.",
        .kind = LAZY_CALL, .updates = 1, .arity = 3, .types = LAZY_ANY, .flags = LAZY_OP_HIDDEN,
        .residual = LAZY_RESIDUAL_IN2, .dtype = graph_dtype_same, .shape = dynamic_update_slice_shape,
        .call = dynamic_update_slice_call, .gpu = launches_dynamic_update_slice, .grad = dynamic_update_slice_grad,
        .jvp = derive_jvp_linear, .batch = dynamic_update_slice_batch, .shard = dynamic_update_slice_shard)
