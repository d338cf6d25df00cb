/* source.c: ops without inputs. They are made by their own functions (constants, placeholders, data) or cost nothing to
 * compute where they are read (iota). */
#include "lazy/op.h"

static int iota_dtype(const lazy_call_desc *call, lazy_result *out) {
    int64_t dtype = call->nattrs == 2 ? call->attrs[1] : -1;
    if (dtype < 0 || dtype >= NEAP_DTYPE_COUNT || neap_dtype_kind((int)dtype) == 'b')
        return neap_error(NEAP_E_DTYPE, "iota: expected a size and a numeric dtype");
    out->compute = out->dtype = (uint8_t)dtype;
    return 0;
}

static int iota_shape(const lazy_call_desc *call, lazy_result *out) {
    if (call->attrs[0] < 0)
        return neap_error(NEAP_E_SHAPE, "iota: expected a size of at least 0, got %lld", (long long)call->attrs[0]);
    out->ndim = 1;
    out->shape[0] = call->attrs[0];
    return 0;
}

NEAP_OP(constant, .doc = "A number: a 0-d array whose value is an operand of whatever reads it.", .kind = LAZY_SOURCE,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_CHEAP, .origin = LAZY_ORIGIN_VALUE)

NEAP_OP(placeholder, .doc = "An input of a program that is being traced.", .kind = LAZY_SOURCE, .flags = LAZY_OP_HIDDEN,
        .origin = LAZY_ORIGIN_CALLER)

NEAP_OP(array, .doc = "Data.", .kind = LAZY_SOURCE, .flags = LAZY_OP_HIDDEN, .origin = LAZY_ORIGIN_BUFFER)

NEAP_OP(iota,
        .doc = "The integers 0, 1, … n-1 as an array of shape (n,) of a numeric dtype. Costs nothing: whoever reads it "
               "computes it. Integers wrap around, floats round, as casts do.",
        .attrs = "n dtype", .kind = LAZY_SOURCE, .arity = 0, .types = LAZY_NUMERIC, .flags = LAZY_OP_CHEAP,
        .origin = LAZY_ORIGIN_INDEX, .dtype = iota_dtype, .shape = iota_shape)
