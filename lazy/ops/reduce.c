/* reduce.c: reductions over the axes of a bit mask. Sums and products of real numbers are combined over a fixed tree
 * (lazy/kernel.h), so their bits do not depend on strides, threads or fusion; the others give the same bits in any
 * order. */
#include <inttypes.h>

#include "lazy/ops/build.h"

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
    int status = lazy_shape_reduce(call, out);
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

static int dtype_logical(const lazy_call_desc *call, lazy_result *out) {
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
static neap_node *spread(lazy_grad *g, neap_node *node) {
    lazy_aval in = lazy_node_aval(INPUT(0));
    int64_t shape[NEAP_MAX_DIMS];
    for (int k = 0; k < in.ndim; k++)
        shape[k] = lazy_node_attrs(g->node)[0] >> k & 1 ? 1 : in.shape[k];
    return lazy_build_broadcast(g->ctx, lazy_build_reshape(g->ctx, node, in.ndim, shape), in.ndim, in.shape);
}

/* The same reduction as the rule's node's, over another op and input. */
static neap_node *reduce_alike(lazy_grad *g, int op, neap_node *input) {
    return lazy_build(g->ctx, op, 1, &input, lazy_node_nattrs(g->node), lazy_node_attrs(g->node));
}

static int grad_sum(lazy_grad *g) {
    g->out[0] = spread(g, g->ct);
    return grad_done(g, 1);
}

/* The product of the other elements: y / x without zeros; with one zero only that element has one, the product of the
 * rest. Exact in the first order; second derivatives at zeros are not defined by it. */
static int grad_prod(lazy_grad *g) {
    neap_node *x = INPUT(0), *is_zero = BUILD2(equal, x, NUMBER(0));
    neap_node *filled = BUILD3(where, is_zero, NUMBER(1), x);
    neap_node *zeros = spread(g, reduce_alike(g, LAZY_OP_sum, lazy_build_cast(g->ctx, is_zero, NEAP_DTYPE_I32)));
    neap_node *rest = spread(g, reduce_alike(g, LAZY_OP_prod, filled));
    neap_node *zero = NUMBER(0);
    neap_node *at_zero = BUILD3(where, BUILD2(equal, zeros, NUMBER(1)), rest, zero);
    neap_node *elsewhere = BUILD3(where, BUILD2(equal, zeros, zero), BUILD2(divide, rest, filled), zero);
    g->out[0] = BUILD2(multiply, spread(g, g->ct), BUILD3(where, is_zero, at_zero, elsewhere));
    return grad_done(g, 1);
}

/* Elements that equal the extremum share the cotangent equally. */
static int grad_extremum(lazy_grad *g) {
    neap_node *ties = BUILD2(equal, INPUT(0), spread(g, g->node));
    neap_node *count = reduce_alike(g, LAZY_OP_sum, lazy_build_cast(g->ctx, ties, lazy_node_aval(g->ct).dtype));
    g->out[0] = BUILD3(where, ties, spread(g, BUILD2(divide, g->ct, count)), NUMBER(0));
    return grad_done(g, 1);
}

/* Rows read as tables. */
/* clang-format off */
NEAP_OP(sum,
    .doc = "The sum over axes. bool and u8 are summed as i32; integers wrap around. Nothing sums to 0.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_NUMERIC, .dtype = lazy_dtype_sum, .shape = lazy_shape_reduce,
    .grad = grad_sum,
    .kernel = {.integer = "(T)((U)a + (U)b)", .real = "a + b", .identity = "(T)-0.0"},
    .domain = {-3, 3}, .reference = "a + b")

NEAP_OP(prod,
    .doc = "The product over axes. bool and u8 are multiplied as i32; integers wrap around. Of nothing: 1.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_NUMERIC, .dtype = lazy_dtype_sum, .shape = lazy_shape_reduce,
    .grad = grad_prod, .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.integer = "(T)((U)a * (U)b)", .real = "a * b", .identity = "(T)1"},
    .domain = {0.5, 1.5}, .reference = "a * b")

NEAP_OP(max,
    .doc = "The greatest element over axes; NaN if one is NaN; 0.0 is greater than -0.0. Not of nothing.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_ALL, .dtype = lazy_dtype_same, .shape = shape_extremum,
    .grad = grad_extremum, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT,
    .kernel = {.boolean = "a | b", .integer = "a > b ? a : b", .real = "F(max)(a, b)", .identity = "F(lowest)"},
    .domain = {-3, 3}, .reference = "math.max(a, b)")

NEAP_OP(min,
    .doc = "The smallest element over axes; NaN if one is NaN; -0.0 is smaller than 0.0. Not of nothing.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_ALL, .dtype = lazy_dtype_same, .shape = shape_extremum,
    .grad = grad_extremum, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT,
    .kernel = {.boolean = "a & b", .integer = "a < b ? a : b", .real = "F(min)(a, b)", .identity = "F(highest)"},
    .domain = {-3, 3}, .reference = "math.min(a, b)")

NEAP_OP(any,
    .doc = "Whether some element over axes is true (not 0). Of nothing: false.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_BOOL, .flags = LAZY_OP_ZERO_GRAD, .dtype = dtype_logical,
    .shape = lazy_shape_reduce,
    .kernel = {.boolean = "a | b", .identity = "0"},
    .domain = {-3, 3}, .reference = "a or b")

NEAP_OP(all,
    .doc = "Whether all elements over axes are true (not 0). Of nothing: true.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_BOOL, .flags = LAZY_OP_ZERO_GRAD, .dtype = dtype_logical,
    .shape = lazy_shape_reduce,
    .kernel = {.boolean = "a & b", .identity = "1"},
    .domain = {-3, 3}, .reference = "a and b")

NEAP_OP(argmax,
    .doc = "The index (i32) of the greatest element over axes, counted in row-major order of these axes; the first of "
           "equal ones, the first NaN if there is one; zeros of both signs are equal. Not of nothing.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_ARG, .dtype = dtype_arg,
    .shape = shape_arg,
    .kernel = {.boolean = "a > b", .integer = "a > b", .real = "(a > b) | ((a != a) & (b == b))"},
    .domain = {-3, 3})

NEAP_OP(argmin,
    .doc = "The index (i32) of the smallest element over axes, counted in row-major order of these axes; the first of "
           "equal ones, the first NaN if there is one; zeros of both signs are equal. Not of nothing.",
    .attrs = "axes keepdims",
    .kind = LAZY_REDUCE, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_ARG, .dtype = dtype_arg,
    .shape = shape_arg,
    .kernel = {.boolean = "a < b", .integer = "a < b", .real = "(a < b) | ((a != a) & (b == b))"},
    .domain = {-3, 3})
/* clang-format on */
