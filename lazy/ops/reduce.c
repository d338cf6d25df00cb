/* reduce.c: reductions over the axes of a bit mask. Sums and products of real numbers are combined over a fixed tree
 * (lazy/loop/tree.h), so their bits do not depend on strides, threads or fusion; the others give the same bits in any
 * order. */
#include <inttypes.h>

#include "lazy/derive/build.h"

/* Elements that one result combines; 0 for an empty axis. */
static int64_t reduced_size(const lazy_call_desc *call) {
    int64_t n = 1;
    for (int k = 0; k < call->in[0].ndim; k++)
        if (call->attrs[0] >> k & 1)
            n *= call->in[0].shape[k];
    return n;
}

/* Extrema have no neutral element. */
static int shape_extremum(const lazy_call_desc *call, lazy_result *out) {
    int status = graph_shape_reduce(call, out);
    if (status == NEAP_OK && reduced_size(call) == 0)
        return neap_error(NEAP_E_SHAPE, "an extremum over an axis of size 0 has no value");
    return status;
}

static int shape_arg(const lazy_call_desc *call, lazy_result *out) {
    int status = shape_extremum(call, out);
    if (status == NEAP_OK && reduced_size(call) > INT32_MAX)
        return neap_error(NEAP_E_SHAPE, "expected at most 2^31 - 1 elements to choose from, got %" PRId64,
                          reduced_size(call));
    return status;
}

static int dtype_of_any_all(const lazy_call_desc *call, lazy_result *out) {
    (void)call;
    out->compute = out->dtype = NEAP_DTYPE_BOOL;
    return NEAP_OK;
}

static int dtype_arg(const lazy_call_desc *call, lazy_result *out) {
    out->compute = call->in[0].dtype;
    out->dtype = NEAP_DTYPE_I32;
    return NEAP_OK;
}

/* Something of the result's shape at all places of the input that it came from. */
static neap_node *broadcast_over(neap_ctx *ctx, neap_node *reduction, neap_node *node) {
    lazy_aval in = graph_node_aval(graph_node_in(reduction, 0));
    int64_t shape[NEAP_MAX_DIMS];
    for (int k = 0; k < in.ndim; k++)
        shape[k] = graph_node_attrs(reduction)[0] >> k & 1 ? 1 : in.shape[k];
    return graph_build_broadcast(ctx, graph_build_reshape(ctx, node, in.ndim, shape), in.ndim, in.shape);
}
#define SPREAD(node_) broadcast_over(g->ctx, g->node, node_)

/* The same reduction as the rule's node's, over another op and input. */
static neap_node *reduce_alike(neap_ctx *ctx, neap_node *reduction, int op, neap_node *input) {
    return graph_build(ctx, op, 1, &input, graph_node_nattrs(reduction), graph_node_attrs(reduction));
}
#define REDUCE(op, input) reduce_alike(g->ctx, g->node, LAZY_OP_##op, input)

static int grad_sum(lazy_grad *g) {
    g->out[0] = SPREAD(g->ct);
    return grad_done(g, 1);
}

/* Elements [from, to) of the last axis of rows (m, n), with ones behind the end. */
static neap_node *row_part(neap_ctx *ctx, neap_node *rows, int64_t from, int64_t to) {
    lazy_aval in = graph_node_aval(rows);
    int64_t missing = to > in.shape[1] ? to - in.shape[1] : 0;
    neap_node *part =
        graph_build(ctx, LAZY_OP_slice, 1, &rows, 6, (int64_t[]){0, 1, in.shape[0], from, 1, to - from - missing});
    return missing ? graph_build(ctx, LAZY_OP_pad, 2, (neap_node *[]){part, graph_build_number(ctx, 1)}, 6,
                                 (int64_t[]){0, 0, 0, 0, missing, 0})
                   : part;
}

/* For rows (m, n): the product of all elements of its row but itself. Halves are multiplied with each other until one
 * column is left; on the way back each half gets the product of what is outside of it. Without divisions, so that
 * derivatives of any order are right where elements are zero. */
static neap_node *others_of_rows(neap_ctx *ctx, neap_node *rows) {
    neap_node *left[64], *right[64], *one = graph_build_number(ctx, 1);
    int depth = 0;
    int64_t size[64], shape[2] = {graph_node_aval(rows).shape[0], 1};
    for (int64_t n = graph_node_aval(rows).shape[1]; rows && n > 1; n = (n + 1) / 2, depth++) {
        size[depth] = n;
        left[depth] = row_part(ctx, rows, 0, (n + 1) / 2);
        right[depth] = row_part(ctx, rows, (n + 1) / 2, (n + 1) / 2 * 2);
        rows = graph_build2(ctx, LAZY_OP_multiply, left[depth], right[depth]);
    }
    if (!rows)
        return NULL;
    neap_node *out = graph_build_broadcast(ctx, graph_build_cast(ctx, one, graph_node_aval(rows).dtype), 2, shape);
    for (int k = depth - 1; k >= 0 && out; k--) {
        neap_node *halves[] = {graph_build2(ctx, LAZY_OP_multiply, out, right[k]),
                               graph_build2(ctx, LAZY_OP_multiply, out, left[k])};
        out = graph_build(ctx, LAZY_OP_concatenate, 2, halves, 1, (int64_t[]){1});
        out = out ? row_part(ctx, out, 0, size[k]) : NULL;
    }
    return out;
}

/* For each input of a product, the product of the others that are multiplied with it. */
static neap_node *others(neap_ctx *ctx, neap_node *product) {
    neap_node *x = graph_node_in(product, 0);
    lazy_aval in = graph_node_aval(x);
    int64_t perm[NEAP_MAX_DIMS], inverse[NEAP_MAX_DIMS], moved[NEAP_MAX_DIMS], rows[2] = {1, 1};
    int n = 0;
    for (int reduced = 0; reduced < 2; reduced++)
        for (int k = 0; k < in.ndim; k++)
            if ((graph_node_attrs(product)[0] >> k & 1) == reduced) {
                rows[reduced] *= in.shape[k];
                inverse[k] = n;
                moved[n] = in.shape[k];
                perm[n++] = k;
            }
    if (in.size == 0)
        return x;
    neap_node *last = graph_build_reshape(ctx, graph_build(ctx, LAZY_OP_transpose, 1, &x, n, perm), 2, rows);
    neap_node *out = last ? others_of_rows(ctx, last) : NULL;
    out = out ? graph_build_reshape(ctx, out, n, moved) : NULL;
    return graph_build(ctx, LAZY_OP_transpose, 1, &out, n, inverse);
}

static int grad_prod(lazy_grad *g) {
    g->out[0] = BUILD2(multiply, SPREAD(g->ct), others(g->ctx, g->node));
    return grad_done(g, 1);
}

static int jvp_prod(lazy_tangent *g) {
    g->out = REDUCE(sum, BUILD2(multiply, g->in[0], others(g->ctx, g->node)));
    return jvp_done(g);
}

/* Elements that equal the extremum share the cotangent equally. */
static int grad_extremum(lazy_grad *g) {
    neap_node *ties = BUILD2(equal, INPUT(0), SPREAD(g->node));
    neap_node *count = REDUCE(sum, graph_build_cast(g->ctx, ties, graph_node_aval(g->ct).dtype));
    neap_node *none = SPREAD(BUILD2(divide, NUMBER(0), count)); /* NaN where nothing equals a NaN */
    g->out[0] = BUILD3(where, ties, SPREAD(BUILD2(divide, g->ct, count)), none);
    return grad_done(g, 1);
}

static int jvp_extremum(lazy_tangent *g) {
    neap_node *ties = BUILD2(equal, INPUT(0), SPREAD(g->node));
    neap_node *count = REDUCE(sum, graph_build_cast(g->ctx, ties, graph_node_aval(g->node).dtype));
    g->out = BUILD2(divide, REDUCE(sum, BUILD3(where, ties, g->in[0], NUMBER(0))), count);
    return jvp_done(g);
}

/* Rows read as tables. */
/* clang-format off */
NEAP_OP(sum,
    .doc = "The sum over axes. bool, u8, i8 and i16 are summed as i32, u16 as u32; integers wrap around. Nothing sums "
           "to 0.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_NUMERIC | LAZY_COMPLEX, .dtype = graph_dtype_sum,
    .shape = graph_shape_reduce,
    .grad = grad_sum, .jvp = derive_jvp_linear,
    .shard = shard_combine,
    .combines = LAZY_OP_add,
    .kernel = {.identity = "(T)-0.0", .complex_identity = "F(no_sum)",
               .absorbs = "square, multiply, square of subtract"},
    .domain = {-3, 3}, .reference = "a + b")

NEAP_OP(prod,
    .doc = "The product over axes. bool, u8, i8 and i16 are multiplied as i32, u16 as u32; integers wrap around. Of "
           "nothing: 1.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_NUMERIC | LAZY_COMPLEX, .dtype = graph_dtype_sum,
    .shape = graph_shape_reduce,
    .grad = grad_prod, .jvp = jvp_prod, .residual = LAZY_RESIDUAL_IN0,
    .combines = LAZY_OP_multiply, .kernel = {.complex = "F(join_product)(a, b)", .identity = "(T)1"},
    .domain = {0.5, 1.5}, .reference = "a * b")

NEAP_OP(max,
    .doc = "The greatest element over axes; NaN if one is NaN; 0.0 is greater than -0.0. Not of nothing.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_ORDERED, .dtype = graph_dtype_same, .shape = shape_extremum,
    .grad = grad_extremum, .jvp = jvp_extremum, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT,
    .shard = shard_combine,
    .combines = LAZY_OP_maximum, .kernel = {.identity = "F(lowest)"},
    .domain = {-3, 3}, .reference = "math.max(a, b)")

NEAP_OP(min,
    .doc = "The smallest element over axes; NaN if one is NaN; -0.0 is smaller than 0.0. Not of nothing.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_ORDERED, .dtype = graph_dtype_same, .shape = shape_extremum,
    .grad = grad_extremum, .jvp = jvp_extremum, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT,
    .shard = shard_combine,
    .combines = LAZY_OP_minimum, .kernel = {.identity = "F(highest)"},
    .domain = {-3, 3}, .reference = "math.min(a, b)")

NEAP_OP(nanmax,
    .doc = "The greatest element over axes that is not NaN; NaN if all are; 0.0 is greater than -0.0. Not of nothing.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_REAL, .flags = LAZY_OP_HIDDEN, .dtype = graph_dtype_same,
    .shape = shape_extremum,
    .grad = grad_extremum, .jvp = jvp_extremum, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT,
    .shard = shard_combine,
    .combines = LAZY_OP_fmax, .kernel = {.identity = "F(nan)", .worst = "F(lowest)"},
    .domain = {-3, 3}, .reference = "math.max(a, b)")

NEAP_OP(nanmin,
    .doc = "The smallest element over axes that is not NaN; NaN if all are; -0.0 is smaller than 0.0. Not of nothing.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_REAL, .flags = LAZY_OP_HIDDEN, .dtype = graph_dtype_same,
    .shape = shape_extremum,
    .grad = grad_extremum, .jvp = jvp_extremum, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT,
    .shard = shard_combine,
    .combines = LAZY_OP_fmin, .kernel = {.identity = "F(nan)", .worst = "F(highest)"},
    .domain = {-3, 3}, .reference = "math.min(a, b)")

NEAP_OP(any,
    .doc = "Whether some element over axes is true (not 0). Of nothing: false.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_BOOL, .flags = LAZY_OP_ZERO_GRAD, .dtype = dtype_of_any_all,
    .shape = graph_shape_reduce,
    .shard = shard_combine,
    .combines = LAZY_OP_maximum, .kernel = {.identity = "0"},
    .domain = {-3, 3}, .reference = "a or b")

NEAP_OP(all,
    .doc = "Whether all elements over axes are true (not 0). Of nothing: true.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_BOOL, .flags = LAZY_OP_ZERO_GRAD, .dtype = dtype_of_any_all,
    .shape = graph_shape_reduce,
    .shard = shard_combine,
    .combines = LAZY_OP_minimum, .kernel = {.identity = "1"},
    .domain = {-3, 3}, .reference = "a and b")

NEAP_OP(argmax,
    .doc = "The index (i32) of the greatest element over axes, counted in row-major order of these axes; the first of "
           "equal ones, the first NaN if there is one; zeros of both signs are equal. Not of nothing.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_ORDERED, .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_ARG,
    .dtype = dtype_arg, .shape = shape_arg,
    .kernel = {.boolean = "a > b", .integer = "a > b", .real = "!(a <= b) & (b == b)"},
    .domain = {-3, 3})

NEAP_OP(argmin,
    .doc = "The index (i32) of the smallest element over axes, counted in row-major order of these axes; the first of "
           "equal ones, the first NaN if there is one; zeros of both signs are equal. Not of nothing.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_ORDERED, .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_ARG,
    .dtype = dtype_arg, .shape = shape_arg,
    .kernel = {.boolean = "a < b", .integer = "a < b", .real = "!(a >= b) & (b == b)"},
    .domain = {-3, 3})
/* clang-format on */
