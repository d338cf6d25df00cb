/* rules.c: dtype and shape rules that op rows share (declared in op.h).
 *
 * Dtypes follow JAX's promotion table. A weak input (a number) has no say when an input with a dtype of its own is
 * there; when all inputs are weak the rules say f64, and the recorder keeps the result weak. Real-valued functions of
 * bool and integers compute in f32, of 64-bit integers in f64, as JAX does when 64-bit dtypes are enabled. A weak
 * complex number makes complex what it meets.
 */
#include "lazy/dtype/scalar.h"
#include "lazy/op.h"

/* The promoted dtype of inputs first … nin-1. */
static int promoted(const lazy_call_desc *call, int first) {
    int dtype = -1;
    bool complex = false;
    for (int k = first; k < call->nin; k++) {
        const lazy_aval *in = &call->in[k];
        if (!in->weak)
            dtype = dtype < 0 ? in->dtype : neap_dtype_promote(dtype, in->dtype);
        else
            complex |= neap_dtype_kind(in->dtype) == 'c';
    }
    dtype = dtype < 0 ? NEAP_DTYPE_F64 : dtype;
    return complex ? dtype_of_complex(dtype) : dtype;
}

int graph_dtype_promote(const lazy_call_desc *call, lazy_result *out) {
    out->compute = out->dtype = (uint8_t)promoted(call, 0);
    return NEAP_OK;
}

int graph_dtype_real(const lazy_call_desc *call, lazy_result *out) {
    int dtype = promoted(call, 0);
    out->compute = out->dtype = (uint8_t)dtype_of_real(dtype);
    return NEAP_OK;
}

int graph_dtype_compare(const lazy_call_desc *call, lazy_result *out) {
    out->compute = (uint8_t)promoted(call, 0);
    out->dtype = NEAP_DTYPE_BOOL;
    return NEAP_OK;
}

int graph_dtype_part(const lazy_call_desc *call, lazy_result *out) {
    out->compute = (uint8_t)promoted(call, 0);
    out->dtype = (uint8_t)dtype_of_part(out->compute);
    return NEAP_OK;
}

int graph_dtype_parts(const lazy_call_desc *call, lazy_result *out) {
    int dtype = dtype_of_real(promoted(call, 0));
    out->compute = (uint8_t)dtype;
    out->dtype = (uint8_t)dtype_of_complex(dtype);
    return NEAP_OK;
}

int graph_dtype_same(const lazy_call_desc *call, lazy_result *out) {
    out->compute = out->dtype = call->in[0].dtype;
    return NEAP_OK;
}

int graph_dtype_where(const lazy_call_desc *call, lazy_result *out) {
    out->compute = out->dtype = (uint8_t)promoted(call, 1);
    return NEAP_OK;
}

int graph_dtype_sum(const lazy_call_desc *call, lazy_result *out) {
    out->compute = out->dtype = (uint8_t)dtype_of_sum(call->in[0].dtype);
    return NEAP_OK;
}

int graph_shape_reduce(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0];
    if (call->nattrs != 2)
        return neap_error(NEAP_E_ARGUMENT, "expected attributes axes, keepdims; got %d attributes", call->nattrs);
    int64_t mask = call->attrs[0];
    bool keepdims = call->attrs[1] != 0;
    if (mask < 0 || mask >> in->ndim != 0)
        return neap_error(NEAP_E_ARGUMENT, "expected a mask of axes of an array with %d axes, got %#llx", in->ndim,
                          (unsigned long long)mask);
    out->ndim = 0;
    for (int k = 0; k < in->ndim; k++) {
        bool reduced = mask >> k & 1;
        if (!reduced || keepdims)
            out->shape[out->ndim++] = reduced ? 1 : in->shape[k];
    }
    return NEAP_OK;
}

int graph_shape_same(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0];
    out->ndim = in->ndim;
    for (int k = 0; k < in->ndim; k++)
        out->shape[k] = in->shape[k];
    return NEAP_OK;
}

int graph_axis(const char *op, int64_t axis, int ndim, int *out) {
    if (axis < -ndim || axis >= ndim)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected an axis in %d..%d, got %lld", op, -ndim, ndim - 1,
                          (long long)axis);
    *out = (int)(axis < 0 ? axis + ndim : axis);
    return NEAP_OK;
}
