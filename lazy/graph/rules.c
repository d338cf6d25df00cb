/* rules.c: dtype and shape rules that op rows share (declared in op.h).
 *
 * Dtypes follow JAX's promotion table. A weak input (a number) takes the dtype of those that have one, if that can hold
 * it; a fraction among integers makes them real, a complex number what it meets complex. When all inputs are weak the
 * rules say f64, or c128, and the recorder keeps the result weak. Real-valued functions of bool and integers compute in
 * f32, of 64-bit integers in f64, as JAX does when 64-bit dtypes are enabled.
 */
#include "lazy/dtype/scalar.h"
#include "lazy/op.h"

static bool is_complex_number(const lazy_aval *in) {
    return in->weak && neap_dtype_kind(in->dtype) == 'c';
}

/* The promoted dtype of inputs first … nin-1 that are no numbers, -1 without such. */
static int promoted_arrays(const lazy_call_desc *call, int first) {
    int dtype = -1;
    for (int k = first; k < call->nin; k++) {
        const lazy_aval *in = &call->in[k];
        if (!in->weak)
            dtype = dtype < 0 ? in->dtype : neap_dtype_promote(dtype, in->dtype);
    }
    return dtype;
}

/* The same with the numbers, which take the dtype of what they meet; but complex ones make that complex, fractions make
 * real numbers of integers, and numbers integers of bools. */
static int promoted(const lazy_call_desc *call, int first) {
    int dtype = promoted_arrays(call, first);
    bool numbers = false, fractions = false, complex = false;
    for (int k = first; k < call->nin; k++) {
        numbers |= call->in[k].weak;
        fractions |= call->in[k].weak && call->in[k].fraction;
        complex |= is_complex_number(&call->in[k]);
    }
    if (complex)
        return dtype_of_complex(dtype < 0 ? NEAP_DTYPE_F64 : dtype);
    if (dtype < 0)
        return NEAP_DTYPE_F64;
    if (fractions)
        return dtype_of_real(dtype);
    return numbers && neap_dtype_kind(dtype) == 'b' ? NEAP_DTYPE_I32 : dtype;
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

/* Numbers that integers of this dtype are compared with as real numbers: those that are none of them. f64 has all
 * integers of 32 bits, so there it may be any number. */
static bool compares_as_real(const lazy_aval *number, int dtype) {
    if (number->fraction)
        return true;
    return number->unknown ? neap_dtype_bytes(dtype) < 8 : !dtype_holds(dtype, number->value);
}

int graph_dtype_compare(const lazy_call_desc *call, lazy_result *out) {
    int dtype = promoted_arrays(call, 0);
    bool real = dtype < 0, complex = false;
    for (int k = 0; k < call->nin; k++) {
        real = real || (call->in[k].weak && !dtype_is_inexact(dtype) && compares_as_real(&call->in[k], dtype));
        complex |= is_complex_number(&call->in[k]);
    }
    out->compute = (uint8_t)(complex ? promoted(call, 0) : real ? NEAP_DTYPE_F64 : dtype);
    out->dtype = NEAP_DTYPE_BOOL;
    return NEAP_OK;
}

int graph_dtype_part(const lazy_call_desc *call, lazy_result *out) {
    out->compute = (uint8_t)promoted(call, 0);
    out->dtype = (uint8_t)dtype_of_part(out->compute);
    return NEAP_OK;
}

int graph_dtype_parts(const lazy_call_desc *call, lazy_result *out) {
    out->dtype = (uint8_t)dtype_of_complex(promoted(call, 0));
    out->compute = (uint8_t)dtype_of_part(out->dtype);
    return NEAP_OK;
}

int graph_dtype_same(const lazy_call_desc *call, lazy_result *out) {
    out->compute = out->dtype = call->in[0].dtype;
    return NEAP_OK;
}

int graph_dtype_where(const lazy_call_desc *call, lazy_result *out) {
    bool numbers = call->in[1].weak && call->in[2].weak;
    int dtype = promoted(call, 1);
    if (numbers)
        dtype = neap_dtype_kind(dtype) == 'c' ? NEAP_DTYPE_C64 : NEAP_DTYPE_F32;
    out->compute = out->dtype = (uint8_t)dtype;
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
