/* gather.c: reading and writing at places that are data.
 *
 * Indices count from 0; negative ones count from the end. Out of range they are clamped to the nearest element in
 * `take`, and ignored in the `put` ops, as JAX does inside compiled code: an index is data, so it cannot be an error
 * when the op is recorded. Labels are no such indices: a put op whose attribute `forward` is set leaves negative ones
 * out, too.
 */
#include <string.h>

#include "lazy/derive/build.h"
#include "lazy/dtype/scalar.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/launches.h"
#include "lazy/vm/kernel.h"

static bool is_index_dtype(int dtype) {
    int kind = neap_dtype_kind(dtype);
    return kind == 'i' || kind == 'u';
}

static int gather_check(const char *op, const lazy_call_desc *call, const lazy_aval *indices, int *axis) {
    if (!is_index_dtype(indices->dtype))
        return neap_error(NEAP_E_DTYPE, "%s: expected integer indices, got dtype %s", op,
                          neap_dtype_name(indices->dtype));
    if (call->nattrs < 1 || call->nattrs > 2)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected an axis", op);
    return graph_axis(op, call->attrs[0], call->in[0].ndim, axis);
}

/* Sizes before, at and after the axis. */
static void extents(int ndim, const int64_t *shape, int axis, int64_t *outer, int64_t *size, int64_t *inner) {
    *outer = *inner = 1;
    for (int k = 0; k < axis; k++)
        *outer *= shape[k];
    for (int k = axis + 1; k < ndim; k++)
        *inner *= shape[k];
    *size = shape[axis];
}

static int gather_axis(int64_t axis, int ndim) {
    return (int)(axis < 0 ? axis + ndim : axis);
}

/* Are negative indices out of range? The attribute is there only where they are. */
static bool is_forward(int nattrs, const int64_t *attrs) {
    return nattrs > 1 && attrs[1] != 0;
}
static bool node_is_forward(const neap_node *node) {
    return is_forward(graph_node_nattrs(node), graph_node_attrs(node));
}

/* Indices, i64, of a node into `size`: those that count from the end as the others. */
static neap_node *counted(neap_ctx *ctx, const neap_node *node, neap_node *wide, int64_t size) {
    if (node_is_forward(node))
        return wide;
    neap_node *up = graph_build2(ctx, LAZY_OP_add, wide, graph_build_number(ctx, (double)size));
    return graph_build3(ctx, LAZY_OP_where, graph_build2(ctx, LAZY_OP_less, wide, graph_build_number(ctx, 0)), up,
                        wide);
}

/* ---- Batches: one long axis for the places of all examples ------------------------------------------------------- */
typedef struct flat { /* x of one example as (before, size, after…), its axis as one with those of all examples */
    int64_t before, size;
    int axis, ndim, indices; /* axes of x and of the indices */
    int lead; /* axes of the places before those of the indices: the examples, `before` if there is such */
    int64_t shape[NEAP_MAX_DIMS + 1];
} flat;

static flat flat_of(const lazy_batching *g) {
    lazy_aval x = graph_node_aval(INPUT(0));
    flat f = {.axis = gather_axis(graph_node_attrs(g->node)[0], x.ndim), .ndim = x.ndim};
    int64_t after;
    f.indices = graph_node_aval(INPUT(1)).ndim;
    f.lead = f.axis > 0 ? 2 : 1;
    extents(x.ndim, x.shape, f.axis, &f.before, &f.size, &after);
    f.shape[0] = g->size * f.before * f.size;
    memcpy(f.shape + 1, x.shape + f.axis + 1, (size_t)(x.ndim - f.axis - 1) * sizeof *x.shape);
    return f;
}

/* All x as one (n·before·size, after…). */
static neap_node *flat_source(lazy_batching *g, const flat *f) {
    neap_node *x = derive_batch_all(g, 0);
    return x ? graph_build_reshape(g->ctx, x, f->ndim - f->axis, f->shape) : NULL;
}

/* Indices as i64. Those that would not fit are beyond any extent, and stay so: 2^53 is the largest number that the
 * dtype can meet. */
static neap_node *wide_indices(neap_ctx *ctx, neap_node *indices) {
    int dtype = indices ? graph_node_aval(indices).dtype : 0;
    if (neap_dtype_kind(dtype) == 'u' && neap_dtype_bytes(dtype) == 8)
        indices = graph_build2(ctx, LAZY_OP_minimum, indices, graph_build_number(ctx, 0x1p53));
    return graph_build_cast(ctx, indices, NEAP_DTYPE_I64);
}

/* Indices into that, i64 of shape (n, before, axes of the indices…), of indices of each example into its own axis.
 * Those out of range are clamped to it, or become one that is out of range there too. */
static neap_node *flat_indices(lazy_batching *g, const flat *f, bool clamp) {
    neap_node *own = derive_batch_all(g, 1), *zero = NUMBER(0), *size = NUMBER((double)f->size);
    int64_t shape[NEAP_MAX_DIMS + 2] = {g->size, 1}, rows[NEAP_MAX_DIMS + 2] = {g->size, f->before};
    for (int k = 0; k < f->indices; k++) {
        shape[f->lead + k] = graph_node_aval(INPUT(1)).shape[k];
        rows[f->lead + k] = 1;
    }
    own = wide_indices(g->ctx, own);
    own = own ? graph_build_reshape(g->ctx, own, f->indices + f->lead, shape) : NULL;
    neap_node *row = graph_build(g->ctx, LAZY_OP_iota, 0, NULL, 2, (int64_t[]){g->size * f->before, NEAP_DTYPE_I64});
    row = row ? graph_build_reshape(g->ctx, row, f->indices + f->lead, rows) : NULL;
    neap_node *up = counted(g->ctx, g->node, own, f->size);
    neap_node *start = BUILD2(multiply, row, size);
    if (clamp) {
        neap_node *last = NUMBER((double)(f->size > 0 ? f->size - 1 : 0));
        return BUILD2(add, start, BUILD2(minimum, BUILD2(maximum, up, zero), last));
    }
    neap_node *inside = BUILD2(logical_and, BUILD2(greater_equal, up, zero), BUILD2(less, up, size));
    return BUILD3(where, inside, BUILD2(add, start, up), NUMBER((double)f->shape[0]));
}

/* ---- take -------------------------------------------------------------------------------------------------------- */
static int take_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *x = &call->in[0], *indices = &call->in[1];
    int axis, status = gather_check("take", call, indices, &axis);
    if (status)
        return status;
    if (x->ndim - 1 + indices->ndim > NEAP_MAX_DIMS)
        return neap_error(NEAP_E_SHAPE, "take: the result would have more than %d axes", NEAP_MAX_DIMS);
    if (x->shape[axis] == 0 && indices->size > 0)
        return neap_error(NEAP_E_INDEX, "take: axis %d has no elements", axis);
    out->ndim = 0;
    for (int k = 0; k < axis; k++)
        out->shape[out->ndim++] = x->shape[k];
    for (int k = 0; k < indices->ndim; k++)
        out->shape[out->ndim++] = indices->shape[k];
    for (int k = axis + 1; k < x->ndim; k++)
        out->shape[out->ndim++] = x->shape[k];
    return 0;
}

/* The indices as `take` reads them: counted from the start, inside the range. */
static neap_node *clamped(lazy_grad *g, neap_node *indices, int64_t size) {
    neap_node *zero = NUMBER(0), *up = counted(g->ctx, g->node, wide_indices(g->ctx, indices), size);
    return BUILD2(minimum, BUILD2(maximum, up, zero), NUMBER((double)(size > 0 ? size - 1 : 0)));
}

static int take_grad(lazy_grad *g) {
    lazy_aval x = graph_node_aval(INPUT(0));
    int64_t axis = graph_node_attrs(g->node)[0];
    neap_node *indices = clamped(g, INPUT(1), x.shape[gather_axis(axis, x.ndim)]);
    neap_node *zero = graph_build_cast(g->ctx, NUMBER(0), x.dtype);
    neap_node *zeros = zero ? graph_build_broadcast(g->ctx, zero, x.ndim, x.shape) : NULL;
    g->out[0] = graph_build(g->ctx, LAZY_OP_put_add, 3, (neap_node *[]){zeros, indices, g->ct}, 1, &axis);
    return g->out[0] ? 0 : NEAP_E_MEMORY;
}

static int take_batch(lazy_batching *g) {
    lazy_aval out = graph_node_aval(g->node);
    flat f = flat_of(g);
    int64_t axis = f.axis + g->batched[0];
    if (!g->batched[0] || !g->batched[1]) {
        neap_node *taken = graph_build(g->ctx, LAZY_OP_take, 2, g->in, 1, &axis);
        g->out = g->batched[0] ? taken : derive_batch_move(g, taken, f.axis, 0);
        return derive_batch_done(g);
    }
    int64_t shape[NEAP_MAX_DIMS + 1] = {g->size};
    memcpy(shape + 1, out.shape, out.ndim * sizeof *shape);
    neap_node *in[2] = {flat_source(g, &f), flat_indices(g, &f, true)};
    neap_node *taken = graph_build(g->ctx, LAZY_OP_take, 2, in, 1, (int64_t[]){0});
    g->out = taken ? graph_build_reshape(g->ctx, taken, out.ndim + 1, shape) : NULL;
    return derive_batch_done(g);
}

/* The places stay divided, and the axes of x but the one that is read at places. */
static int take_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    int axis = gather_axis(g->attrs[0], g->in[0].ndim), places = g->in[1].ndim;
    for (int k = 0; k < g->in[0].ndim; k++)
        if (k != axis)
            shard_factor_keep(&f, g, 0, k, k < axis ? k : k - 1 + places);
    for (int k = 0; k < places; k++)
        shard_factor_keep(&f, g, 1, k, axis + k);
    return shard_solve(g, &f, -1);
}

NEAP_OP(
    take,
    .doc = "Elements of the first input along an axis at the places that the second, of integers, names: the axis is "
           "replaced by the axes of the indices. Negative indices count from the end; others are clamped to the range.",
    .attrs = "axis", .kind = LAZY_GATHER, .arity = 2, .types = LAZY_ALL, .ns = 1, .flags = LAZY_OP_HIDDEN,
    .residual = LAZY_RESIDUAL_IN1, .dtype = graph_dtype_same, .shape = take_shape, .grad = take_grad,
    .batch = take_batch, .shard = take_shard)

/* ---- put_add, put_set -------------------------------------------------------------------------------------------- */
static int put_shape(const char *op, const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *x = &call->in[0], *indices = &call->in[1], *updates = &call->in[2];
    lazy_result taken = {0};
    int axis, status = gather_check(op, call, indices, &axis);
    if (status)
        return status;
    if (is_forward(call->nattrs, call->attrs) && neap_dtype_bytes(indices->dtype) < 4)
        return neap_error(NEAP_E_DTYPE, "%s: forward takes indices of 32 or 64 bits, got dtype %s", op,
                          neap_dtype_name(indices->dtype));
    if (updates->dtype != x->dtype)
        return neap_error(NEAP_E_DTYPE, "%s: expected updates of dtype %s, got %s", op, neap_dtype_name(x->dtype),
                          neap_dtype_name(updates->dtype));
    if (x->shape[axis] > 0 && (status = take_shape(call, &taken)) != 0)
        return status;
    char left[256], right[256];
    if (x->shape[axis] > 0 &&
        (taken.ndim != updates->ndim || memcmp(taken.shape, updates->shape, taken.ndim * sizeof *taken.shape) != 0))
        return neap_error(NEAP_E_SHAPE, "%s: expected updates of shape %s, got %s", op,
                          graph_shape_text(taken.ndim, taken.shape, left, sizeof left),
                          graph_shape_text(updates->ndim, updates->shape, right, sizeof right));
    return graph_shape_same(call, out);
}

#define PUT_SHAPE(name)                                                                                                \
    static int name##_shape(const lazy_call_desc *call, lazy_result *out) {                                            \
        return put_shape(#name, call, out);                                                                            \
    }
PUT_SHAPE(put_set)
PUT_SHAPE(put_add)
PUT_SHAPE(put_mul)
PUT_SHAPE(put_max)
PUT_SHAPE(put_min)

/* The dtype that the indices are read as. Without its sign, what is negative is beyond any extent. */
int put_index_dtype(const lazy_call *call) {
    const int dtype = call->in[1].dtype;
    if (!is_forward(call->nattrs, call->attrs) || neap_dtype_kind(dtype) == 'u')
        return dtype;
    return neap_dtype_bytes(dtype) == 8 ? NEAP_DTYPE_U64 : NEAP_DTYPE_U32;
}

static int put_call(const lazy_call *call, lazy_meeting how, const neap_run *run) {
    const lazy_tensor *x = &call->in[0], *indices = &call->in[1];
    vm_put put = {.out = call->out->data, .indices = indices->data, .updates = call->in[2].data};
    put.dtype = x->dtype, put.index_dtype = (uint8_t)put_index_dtype(call), put.how = how, put.n = indices->size;
    extents(x->ndim, x->shape, gather_axis(call->attrs[0], x->ndim), &put.outer, &put.size, &put.inner);
    vm_put_rows(&put, run);
    return 0;
}

static bool put_intrinsic(const lazy_call *call, int joins, lazy_intrinsic *out) {
    const lazy_tensor *x = &call->in[0];
    int64_t outer;
    *out = (lazy_intrinsic){.what = LAZY_INTRINSIC_PUT, .n = call->in[1].size, .joins = joins};
    extents(x->ndim, x->shape, gather_axis(call->attrs[0], x->ndim), &outer, &out->size, &out->inner);
    return outer == 1 && !is_forward(call->nattrs, call->attrs);
}

#define PUT_CALL(name, how, joins)                                                                                     \
    static int name##_call(const lazy_call *call, const neap_run *run) {                                               \
        return put_call(call, how, run);                                                                               \
    }                                                                                                                  \
    static bool name##_intrinsic(const lazy_call *call, lazy_intrinsic *out) {                                         \
        return put_intrinsic(call, joins, out);                                                                        \
    }
PUT_CALL(put_set, LAZY_PUT_SET, -1)
PUT_CALL(put_add, LAZY_PUT_ADD, LAZY_OP_add)
PUT_CALL(put_mul, LAZY_PUT_MULTIPLY, LAZY_OP_multiply)
PUT_CALL(put_max, LAZY_PUT_MAXIMUM, LAZY_OP_maximum)
PUT_CALL(put_min, LAZY_PUT_MINIMUM, LAZY_OP_minimum)

/* All put ops: along one axis further where all examples have the same indices. */
static int put_batch(lazy_batching *g) {
    lazy_aval x = graph_node_aval(INPUT(0)), updates = graph_node_aval(INPUT(2));
    flat f = flat_of(g);
    if (!g->batched[1]) {
        neap_node *in[3] = {derive_batch_all(g, 0), g->in[1], derive_batch_all(g, 2)};
        g->out = graph_build(g->ctx, g->node->op, 3, in, graph_node_nattrs(g->node),
                             (int64_t[]){f.axis + 1, node_is_forward(g->node)});
        return derive_batch_done(g);
    }
    int after = x.ndim - f.axis - 1;
    int64_t wide[NEAP_MAX_DIMS + 2] = {g->size, f.before}, shape[NEAP_MAX_DIMS + 1] = {g->size};
    memcpy(wide + f.lead, updates.shape + f.axis, (size_t)(f.indices + after) * sizeof *wide);
    memcpy(shape + 1, x.shape, x.ndim * sizeof *shape);
    neap_node *all = derive_batch_all(g, 2);
    neap_node *in[3] = {flat_source(g, &f), flat_indices(g, &f, false),
                        all ? graph_build_reshape(g->ctx, all, f.indices + after + f.lead, wide) : NULL};
    neap_node *put = graph_build(g->ctx, g->node->op, 3, in, 1, (int64_t[]){0});
    g->out = put ? graph_build_reshape(g->ctx, put, x.ndim + 1, shape) : NULL;
    return derive_batch_done(g);
}

/* All put ops: the axes of x stay divided, but the one that is written at places. */
static int put_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    int axis = gather_axis(g->attrs[0], g->in[0].ndim);
    for (int k = 0; k < g->in[0].ndim; k++) {
        if (k == axis)
            continue;
        shard_factor_keep(&f, g, 0, k, k);
        shard_factor_axis(&f, 2, k < axis ? k : k - 1 + g->in[1].ndim, f.n - 1);
    }
    return shard_solve(g, &f, -1);
}

/* A put node in a rule of either mode. */
typedef struct put_rule {
    neap_ctx *ctx;
    neap_node *node;
} put_rule;
#define PUT_RULE (&(put_rule){g->ctx, g->node})

static int put_axis(const put_rule *g) {
    return gather_axis(graph_node_attrs(g->node)[0], graph_node_aval(INPUT(0)).ndim);
}

static neap_node *put_take(const put_rule *g, neap_node *x) {
    return graph_build(g->ctx, LAZY_OP_take, 2, (neap_node *[]){x, INPUT(1)}, 1, graph_node_attrs(g->node));
}

/* The indices counted from the start, i64; and where they are inside, in a shape that broadcasts to the updates'. */
static neap_node *put_places(const put_rule *g, neap_node **inside) {
    lazy_aval x = graph_node_aval(INPUT(0)), indices = graph_node_aval(INPUT(1));
    int axis = put_axis(g), after = x.ndim - axis - 1;
    int64_t shape[NEAP_MAX_DIMS];
    neap_node *zero = NUMBER(0), *size = NUMBER((double)x.shape[axis]);
    neap_node *up = counted(g->ctx, g->node, wide_indices(g->ctx, INPUT(1)), x.shape[axis]);
    memcpy(shape, indices.shape, indices.ndim * sizeof *shape);
    for (int k = 0; k < after; k++)
        shape[indices.ndim + k] = 1;
    *inside = BUILD2(logical_and, BUILD2(greater_equal, up, zero), BUILD2(less, up, size));
    *inside = *inside ? graph_build_reshape(g->ctx, *inside, indices.ndim + after, shape) : NULL;
    return up;
}

/* Of something of x's shape what stands where an update goes; 0 for those that go nowhere. */
static neap_node *put_taken(const put_rule *g, neap_node *x) {
    neap_node *inside, *places = put_places(g, &inside);
    return places ? BUILD3(where, inside, put_take(g, x), NUMBER(0)) : NULL;
}

/* Something of x's shape, all `value`. */
static neap_node *put_full(const put_rule *g, double value) {
    lazy_aval x = graph_node_aval(INPUT(0));
    neap_node *number = graph_build_cast(g->ctx, NUMBER(value), x.dtype);
    return number ? graph_build_broadcast(g->ctx, number, x.ndim, x.shape) : NULL;
}

/* The same op, or another one of its kind, of x and updates. */
static neap_node *put_alike(const put_rule *g, int op, neap_node *x, neap_node *updates) {
    return graph_build(g->ctx, op, 3, (neap_node *[]){x, INPUT(1), updates}, graph_node_nattrs(g->node),
                       graph_node_attrs(g->node));
}

static int put_add_grad(lazy_grad *g) {
    if (g->wants[0])
        g->out[0] = g->ct;
    if (g->wants[2])
        g->out[2] = put_taken(PUT_RULE, g->ct);
    return g->wants[2] && !g->out[2] ? NEAP_E_MEMORY : 0;
}

/* ---- Derivatives of put_mul -------------------------------------------------------------------------------------- */
/* Elements from … from + count - 1 of the middle axis of rows (before, n, after), every one or backwards. */
static neap_node *put_part(neap_ctx *ctx, neap_node *rows, int64_t from, int64_t step, int64_t count) {
    lazy_aval of = graph_node_aval(rows);
    return graph_build_slice(ctx, rows, (int64_t[]){0, 1, of.shape[0], from, step, count, 0, 1, of.shape[2]});
}

/* The same behind `apart` ones. */
static neap_node *put_behind(neap_ctx *ctx, neap_node *rows, int64_t apart) {
    return graph_build(ctx, LAZY_OP_pad, 2, (neap_node *[]){rows, graph_build_number(ctx, 1)}, 9,
                       (int64_t[]){0, 0, 0, apart, 0, 0, 0, 0, 0});
}

/* rows[k - apart] at k, where both have one place; 1 elsewhere. `places`, (1, n, 1), are in order. */
static neap_node *put_before(neap_ctx *ctx, neap_node *rows, neap_node *places, int64_t apart) {
    const int64_t n = graph_node_aval(places).shape[1];
    neap_node *same = graph_build2(ctx, LAZY_OP_equal, put_part(ctx, places, apart, 1, n - apart),
                                   put_part(ctx, places, 0, 1, n - apart));
    neap_node *kept =
        graph_build3(ctx, LAZY_OP_where, same, put_part(ctx, rows, 0, 1, n - apart), graph_build_number(ctx, 1));
    return kept ? put_behind(ctx, kept, apart) : NULL;
}

/* For each row the product of those before it at the same place. */
static neap_node *put_products(neap_ctx *ctx, neap_node *rows, neap_node *places) {
    if (!rows || !places)
        return NULL;
    const int64_t n = graph_node_aval(places).shape[1];
    for (int64_t apart = 1; apart < n && rows; apart *= 2) {
        neap_node *before = put_before(ctx, rows, places, apart);
        rows = before ? graph_build2(ctx, LAZY_OP_multiply, rows, before) : NULL;
    }
    return rows ? put_before(ctx, rows, places, 1) : NULL;
}

/* For each update what it is multiplied with: what was there, and all other updates of its place. Without divisions, so
 * that derivatives of any order are right where elements are zero. */
static neap_node *put_others(const put_rule *g) {
    lazy_aval x = graph_node_aval(INPUT(0)), updates = graph_node_aval(INPUT(2));
    int64_t rows[3] = {1, graph_node_aval(INPUT(1)).size, 1}, line[3] = {1, rows[1], 1}, size;
    neap_node *inside, *places = put_places(g, &inside);
    extents(x.ndim, x.shape, put_axis(g), &rows[0], &size, &rows[2]);
    if (updates.size == 0)
        return INPUT(2);
    places = graph_build_reshape(g->ctx, places, 1, &rows[1]);
    neap_node *order = places ? graph_build(g->ctx, LAZY_OP_argsort, 1, &places, 2, (int64_t[]){0, 0}) : NULL;
    neap_node *back = order ? graph_build(g->ctx, LAZY_OP_argsort, 1, &order, 2, (int64_t[]){0, 0}) : NULL;
    neap_node *v = graph_build_reshape(g->ctx, INPUT(2), 3, rows);
    if (!v || !back)
        return NULL;
    v = graph_build(g->ctx, LAZY_OP_take, 2, (neap_node *[]){v, order}, 1, (int64_t[]){1});
    places = graph_build(g->ctx, LAZY_OP_take, 2, (neap_node *[]){places, order}, 1, (int64_t[]){0});
    places = places ? graph_build_reshape(g->ctx, places, 3, line) : NULL;
    if (!v || !places)
        return NULL;
    neap_node *turned = put_products(g->ctx, put_part(g->ctx, v, rows[1] - 1, -1, rows[1]),
                                     put_part(g->ctx, places, rows[1] - 1, -1, rows[1]));
    neap_node *after = turned ? put_part(g->ctx, turned, rows[1] - 1, -1, rows[1]) : NULL;
    neap_node *all[2] = {BUILD2(multiply, put_products(g->ctx, v, places), after), back};
    v = all[0] ? graph_build(g->ctx, LAZY_OP_take, 2, all, 1, (int64_t[]){1}) : NULL;
    v = v ? graph_build_reshape(g->ctx, v, updates.ndim, updates.shape) : NULL;
    return BUILD2(multiply, v, put_taken(g, INPUT(0)));
}

static int put_mul_grad(lazy_grad *g) {
    if (g->wants[0])
        g->out[0] = BUILD2(multiply, g->ct, put_alike(PUT_RULE, LAZY_OP_put_mul, put_full(PUT_RULE, 1), INPUT(2)));
    if (g->wants[2])
        g->out[2] = BUILD2(multiply, put_taken(PUT_RULE, g->ct), put_others(PUT_RULE));
    g->wants[1] = false;
    return grad_done(g, 3);
}

static int put_mul_jvp(lazy_tangent *g) {
    neap_node *of_x = NULL, *of_updates = NULL;
    if (g->in[0])
        of_x = BUILD2(multiply, g->in[0], put_alike(PUT_RULE, LAZY_OP_put_mul, put_full(PUT_RULE, 1), INPUT(2)));
    if (g->in[2])
        of_updates = put_alike(PUT_RULE, LAZY_OP_put_add, put_full(PUT_RULE, 0),
                               BUILD2(multiply, g->in[2], put_others(PUT_RULE)));
    if (!g->in[0] && !g->in[2])
        return NEAP_OK;
    g->out = of_x && of_updates ? BUILD2(add, of_x, of_updates) : of_x ? of_x : of_updates;
    return jvp_done(g);
}

/* ---- Derivatives of put_max, put_min ----------------------------------------------------------------------------- */
/* Where what was there, and where an update is the extreme one, 1 or 0; equal ones share what they get, of each place
 * the inverse of how many they are. */
static neap_node *put_winners(const put_rule *g, neap_node **there, neap_node **came) {
    neap_node *inside, *places = put_places(g, &inside);
    int dtype = graph_node_aval(g->node).dtype;
    *there = graph_build_cast(g->ctx, BUILD2(equal, INPUT(0), g->node), dtype);
    *came = BUILD2(logical_and, inside, BUILD2(equal, INPUT(2), put_take(g, g->node)));
    *came = places && *came ? graph_build_cast(g->ctx, *came, dtype) : NULL;
    return *there && *came ? BUILD1(reciprocal, put_alike(g, LAZY_OP_put_add, *there, *came)) : NULL;
}

static int put_extremum_grad(lazy_grad *g) {
    neap_node *there, *came, *share = put_winners(PUT_RULE, &there, &came);
    share = BUILD2(multiply, g->ct, share);
    if (g->wants[0])
        g->out[0] = BUILD3(where, there, share, NUMBER(0));
    if (g->wants[2])
        g->out[2] = share ? BUILD3(where, came, put_take(PUT_RULE, share), NUMBER(0)) : NULL;
    g->wants[1] = false;
    return grad_done(g, 3);
}

static int put_extremum_jvp(lazy_tangent *g) {
    neap_node *there, *came, *share = put_winners(PUT_RULE, &there, &came);
    if (!g->in[0] && !g->in[2])
        return NEAP_OK;
    neap_node *of_x = g->in[0] ? BUILD3(where, there, g->in[0], NUMBER(0)) : put_full(PUT_RULE, 0);
    if (g->in[2] && of_x)
        of_x = put_alike(PUT_RULE, LAZY_OP_put_add, of_x, BUILD3(where, came, g->in[2], NUMBER(0)));
    g->out = BUILD2(multiply, of_x, share);
    return jvp_done(g);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
NEAP_OP(put_add,
        .doc = "The first input with the third added along an axis at the places that the second, of integers, names. "
               "Repeated "
               "places add up in order. Negative indices count from the end, but with `forward`; others out of range "
               "are ignored.",
        .attrs = "axis forward…", .kind = LAZY_CALL, .updates = 2, .arity = 3, .types = LAZY_ALL,
        .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN, .residual = LAZY_RESIDUAL_IN1, .dtype = graph_dtype_same,
        .shape = put_add_shape, .call = put_add_call, .intrinsic = put_add_intrinsic, .gpu = launches_put_add,
        .grad = put_add_grad, .jvp = derive_jvp_linear, .batch = put_batch, .shard = put_shard)

/* What was written over gets no cotangent; of repeated places the last one that was written gets it. */
static int put_set_grad(lazy_grad *g) {
    lazy_aval x = graph_node_aval(INPUT(0)), updates = graph_node_aval(INPUT(2));
    neap_node *zero = graph_build_cast(g->ctx, NUMBER(0), x.dtype);
    if (g->wants[0]) {
        neap_node *zeros = zero ? graph_build_broadcast(g->ctx, zero, updates.ndim, updates.shape) : NULL;
        g->out[0] = put_alike(PUT_RULE, LAZY_OP_put_set, g->ct, zeros);
    }
    if (g->wants[2]) {
        /* Number the updates, write the numbers the same way, and see which of them are still there. */
        neap_node *number = graph_build(g->ctx, LAZY_OP_iota, 0, NULL, 2, (int64_t[]){updates.size, NEAP_DTYPE_I64});
        neap_node *none = graph_build_cast(g->ctx, NUMBER(-1), NEAP_DTYPE_I64);
        number = number ? graph_build_reshape(g->ctx, number, updates.ndim, updates.shape) : NULL;
        none = none ? graph_build_broadcast(g->ctx, none, x.ndim, x.shape) : NULL;
        neap_node *written = put_alike(PUT_RULE, LAZY_OP_put_set, none, number);
        g->out[2] = BUILD3(where, BUILD2(equal, put_take(PUT_RULE, written), number), put_take(PUT_RULE, g->ct), zero);
    }
    return (g->wants[0] && !g->out[0]) || (g->wants[2] && !g->out[2]) ? NEAP_E_MEMORY : 0;
}

NEAP_OP(
    put_set,
    .doc = "The first input with the third written along an axis at the places that the second, of integers, names; of "
           "repeated places the last one wins. Indices as in put_add.",
    .attrs = "axis forward…", .kind = LAZY_CALL, .updates = 2, .arity = 3, .types = LAZY_ANY,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN, .residual = LAZY_RESIDUAL_IN1, .dtype = graph_dtype_same,
    .shape = put_set_shape, .call = put_set_call, .intrinsic = put_set_intrinsic, .gpu = launches_put_set,
    .grad = put_set_grad, .jvp = derive_jvp_linear, .batch = put_batch, .shard = put_shard)

NEAP_OP(
    put_mul,
    .doc =
        "The first input multiplied by the third along an axis at the places that the second, of integers, names, in "
        "the order of the indices. Indices as in put_add.",
    .attrs = "axis forward…", .kind = LAZY_CALL, .updates = 2, .arity = 3, .types = LAZY_ALL,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1 | LAZY_RESIDUAL_IN2,
    .dtype = graph_dtype_same, .shape = put_mul_shape, .call = put_mul_call, .intrinsic = put_mul_intrinsic,
    .grad = put_mul_grad, .jvp = put_mul_jvp, .batch = put_batch, .shard = put_shard)

NEAP_OP(
    put_max,
    .doc = "The greater one of the first input and the third along an axis at the places that the second, of integers, "
           "names; NaN if one is NaN. Indices as in put_add.",
    .attrs = "axis forward…", .kind = LAZY_CALL, .updates = 2, .arity = 3, .types = LAZY_ORDERED,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1 | LAZY_RESIDUAL_IN2 | LAZY_RESIDUAL_OUT,
    .dtype = graph_dtype_same, .shape = put_max_shape, .call = put_max_call, .intrinsic = put_max_intrinsic,
    .grad = put_extremum_grad, .jvp = put_extremum_jvp, .batch = put_batch, .shard = put_shard)

NEAP_OP(
    put_min,
    .doc = "The smaller one of the first input and the third along an axis at the places that the second, of integers, "
           "names; NaN if one is NaN. Indices as in put_add.",
    .attrs = "axis forward…", .kind = LAZY_CALL, .updates = 2, .arity = 3, .types = LAZY_ORDERED,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1 | LAZY_RESIDUAL_IN2 | LAZY_RESIDUAL_OUT,
    .dtype = graph_dtype_same, .shape = put_min_shape, .call = put_min_call, .intrinsic = put_min_intrinsic,
    .grad = put_extremum_grad, .jvp = put_extremum_jvp, .batch = put_batch, .shard = put_shard)
