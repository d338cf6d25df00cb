/* callback.c: the ops of callbacks. What they do is in lazy/callback.c; here is what they look like as nodes. */
#include <string.h>

#include "lazy/op.h"

/* The node of a call refers to a record in C's memory, so nobody but that file may make one. */
static int refuse(const lazy_call_desc *call, lazy_result *out) {
    (void)call;
    (void)out;
    return neap_error(NEAP_E_ARGUMENT, "callback: recorded by neap_callback_push");
}

static int part_dtype(const lazy_call_desc *call, lazy_result *out) {
    if (call->nattrs < 2 || call->attrs[1] < 0 || call->attrs[1] >= NEAP_DTYPE_COUNT)
        return neap_error(NEAP_E_DTYPE, "callback_part: no such dtype");
    out->compute = NEAP_DTYPE_U8;
    out->dtype = (uint8_t)call->attrs[1];
    return 0;
}

static int part_shape(const lazy_call_desc *call, lazy_result *out) {
    int64_t bytes = neap_dtype_bytes(out->dtype), room = call->in[0].size - call->attrs[0];
    out->ndim = (uint8_t)(call->nattrs - 2);
    if (call->nattrs - 2 > NEAP_MAX_DIMS || call->attrs[0] < 0)
        return neap_error(NEAP_E_SHAPE, "callback_part: bad place or shape");
    for (int k = 0; k < out->ndim; k++) {
        out->shape[k] = call->attrs[2 + k];
        if (out->shape[k] < 0 || __builtin_mul_overflow(bytes, out->shape[k], &bytes))
            return neap_error(NEAP_E_SHAPE, "callback_part: bad size of an axis");
    }
    return bytes <= room ? 0 : neap_error(NEAP_E_SHAPE, "callback_part: reads behind the end of the block");
}

static int part_call(const lazy_call *call, const neap_run *run) {
    (void)run;
    size_t bytes = (size_t)call->out->size * (size_t)neap_dtype_bytes(call->out->dtype);
    if (bytes)
        memcpy(call->out->data, (const char *)call->in[0].data + call->attrs[0], bytes);
    return 0;
}

/* clang-format off */
NEAP_OP(callback,
    .doc = "A call of a Lua function on the inputs: an effect, done by the user thread. Its value is a block of bytes "
           "with all results.",
    .attrs = "callback", .kind = LAZY_CALL, .arity = 255, .types = LAZY_ALL,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN | LAZY_OP_EFFECT | LAZY_OP_PROMPT | LAZY_OP_ZERO_GRAD, .dtype = refuse)

NEAP_OP(callback_part,
    .doc = "One result of a callback: the bytes of its block from a place on, as an array of a dtype and shape.",
    .attrs = "place dtype …", .kind = LAZY_CALL, .arity = 1, .types = LAZY_INT,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN | LAZY_OP_PROMPT, .dtype = part_dtype, .shape = part_shape,
    .call = part_call)
/* clang-format on */
