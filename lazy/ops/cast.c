/* cast.c: casts and copies. */
#include <string.h>

#include "lazy/derive/build.h"
#include "lazy/dtype/scalar.h"
#include "lazy/ops/launches.h"
#include "lazy/program/program.h"

static int grad_copy(lazy_grad *g) {
    g->out[0] = g->ct;
    return NEAP_OK;
}

/* A cotangent that was complex, of a real input: its real part. */
static int grad_astype(lazy_grad *g) {
    int dtype = graph_node_aval(INPUT(0)).dtype;
    neap_node *ct = neap_dtype_kind(dtype) == 'c' ? g->ct : BUILD1(real, g->ct);
    g->out[0] = graph_build_cast(g->ctx, ct, dtype);
    return grad_done(g, 1);
}

/* The attribute is the result's dtype; the input keeps its own. */
static int dtype_astype(const lazy_call_desc *call, lazy_result *out) {
    if (call->nattrs != 1 || call->attrs[0] < 0 || call->attrs[0] >= NEAP_DTYPE_COUNT)
        return neap_error(NEAP_E_DTYPE, "expected a dtype as attribute");
    out->compute = call->in[0].dtype;
    out->dtype = (uint8_t)call->attrs[0];
    int to = neap_dtype_kind(out->dtype);
    if (neap_dtype_kind(out->compute) == 'c' && to != 'c' && to != 'b')
        return neap_error(NEAP_E_DTYPE,
                          "astype: %s does not become %s, which would drop the imaginary part; x.real is the real "
                          "part, x:abs() the size",
                          neap_dtype_name(out->compute), neap_dtype_name(out->dtype));
    return NEAP_OK;
}

/* ---- The same bits ----------------------------------------------------------------------------------------------- */
static int bitcast_dtype(const lazy_call_desc *call, lazy_result *out) {
    if (call->nattrs != 1 || call->attrs[0] < 0 || call->attrs[0] >= NEAP_DTYPE_COUNT)
        return neap_error(NEAP_E_DTYPE, "bitcast: expected a dtype as attribute");
    if (neap_dtype_kind(call->in[0].dtype) == 'b' || neap_dtype_kind((int)call->attrs[0]) == 'b')
        return neap_error(NEAP_E_DTYPE, "bitcast: bools are no bits; cast to or from u8 with astype");
    out->compute = call->in[0].dtype;
    out->dtype = (uint8_t)call->attrs[0];
    return NEAP_OK;
}

static int bitcast_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0];
    int from = neap_dtype_bytes(in->dtype), to = neap_dtype_bytes((int)call->attrs[0]);
    graph_shape_same(call, out);
    if (to < from) {
        if (in->ndim == NEAP_MAX_DIMS)
            return neap_error(NEAP_E_SHAPE, "bitcast: the result would have more than %d axes", NEAP_MAX_DIMS);
        out->shape[out->ndim++] = from / to;
    } else if (to > from) {
        if (in->ndim == 0 || in->shape[in->ndim - 1] != to / from)
            return neap_error(NEAP_E_SHAPE, "bitcast: from %s to %s the last axis must have %d elements",
                              neap_dtype_name(in->dtype), neap_dtype_name((int)call->attrs[0]), to / from);
        out->ndim--;
    }
    return NEAP_OK;
}

static int bitcast_call(const lazy_call *call, const neap_run *run) {
    (void)run;
    memcpy(call->out->data, call->in[0].data, (size_t)(call->out->size * neap_dtype_bytes(call->out->dtype)));
    return NEAP_OK;
}

/* Rows read as tables. */
/* clang-format off */
NEAP_OP(bitcast,
    .doc = "The bits of a as another dtype, no bool. Of narrower elements there are several for each of a, along a new "
           "last axis, the lowest bits first; of wider ones there is one for the last axis of a, which goes away.",
    .attrs = "dtype",
    .kind = LAZY_CALL, .arity = 1, .types = LAZY_NUMERIC | LAZY_HALF | LAZY_COMPLEX,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_ZERO_GRAD, .dtype = bitcast_dtype, .shape = bitcast_shape,
    .call = bitcast_call, .gpu = launches_bitcast, .batch = derive_batch_leading)

NEAP_OP(astype,
    .doc = "a as another dtype. To bool: a != 0. Between integers: wraps around. Real to integer: rounds towards zero, "
           "numbers out of range give the nearest end of the range and NaN gives 0. To real: rounds to nearest. "
           "Complex to real: an error.",
    .attrs = "dtype",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_CHEAP | LAZY_OP_CASTS, .dtype = dtype_astype,
    .undone = LAZY_UNDONE_LINEAR, .grad = grad_astype,
    .kernel = {.any = "F(cast)(a)"},
    .domain = {0, 100})

NEAP_OP(copy,
    .doc = "a itself, as an array of its own.",
    .example = "np.copy(np.arange(3))\n[0 1 2]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL,
    .flags = LAZY_OP_IDENTITY, .dtype = graph_dtype_same, .undone = LAZY_UNDONE_LINEAR, .grad = grad_copy,
    .kernel = {.any = "a", .half = "a"},
    .domain = {-3, 3}, .reference = "a")

NEAP_OP(stop_gradient,
    .doc = "a itself, but differentiation takes it for a constant.",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL,
    .flags = LAZY_OP_ZERO_GRAD | LAZY_OP_IDENTITY, .undone = LAZY_UNDONE_LINEAR, .dtype = graph_dtype_same,
    .kernel = {.any = "a", .half = "a"},
    .domain = {-3, 3}, .reference = "a")
/* clang-format on */
