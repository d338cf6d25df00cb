/* cast.c: casts and copies. */
#include "lazy/derive/build.h"
#include "lazy/dtype/scalar.h"
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
                          "astype: %s does not become %s, which would drop the imaginary part; x:real() is the real "
                          "part, x:abs() the size",
                          neap_dtype_name(out->compute), neap_dtype_name(out->dtype));
    return NEAP_OK;
}

/* A cast that took nothing away must not do so now: it may have been chosen by the dtype that its input had. */
static int follow_cast(lazy_follow *f) {
    int to = (int)f->attrs[0], was = f->node->in[0]->dtype, now = f->in[0]->dtype;
    bool weak = (f->node->in[0]->flags | f->in[0]->flags) & LAZY_WEAK;
    if (weak || was == now || neap_dtype_promote(was, to) != to || neap_dtype_promote(now, to) == to)
        return 0;
    return neap_error(NEAP_E_DTYPE, "astype: a cast from %s to %s would take digits from %s", neap_dtype_name(was),
                      neap_dtype_name(to), neap_dtype_name(now));
}

/* Rows read as tables. */
/* clang-format off */
NEAP_OP(astype,
    .doc = "a as another dtype. To bool: a != 0. Between integers: wraps around. Real to integer: rounds towards zero, "
           "numbers out of range give the nearest end of the range and NaN gives 0. To real: rounds to nearest. "
           "Complex to real: an error.",
    .attrs = "dtype",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_CHEAP | LAZY_OP_CASTS, .dtype = dtype_astype,
    .grad = grad_astype, .follow = follow_cast,
    .kernel = {.any = "F(cast)(a)"},
    .domain = {0, 100})

NEAP_OP(copy,
    .doc = "a itself, as an array of its own.",
    .example = "np.copy(np.arange(3))\n[0 1 2]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL, .dtype = graph_dtype_same, .grad = grad_copy,
    .kernel = {.any = "a"},
    .domain = {-3, 3}, .reference = "a")

NEAP_OP(stop_gradient,
    .doc = "a itself, but differentiation takes it for a constant.",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_same,
    .kernel = {.any = "a"},
    .domain = {-3, 3}, .reference = "a")
/* clang-format on */
