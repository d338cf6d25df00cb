/* check.c: np.debug.check: a condition, and a failure where the condition is false.
 *
 * The op's result is the condition, and np.debug.check reads the result with `where`: so a check of several arrays is
 * one op, the arrays are fused as ever, and the failure has the op's line. The message is data, as the values are:
 * texts, with a zero behind each text:
 *
 *      "step {0} of {1:.2f}"     ─▶     "step " "" " of " ":.2f" ""       text, conversion, text, conversion, text
 *
 * An empty conversion writes a value as print does. In a batch the examples are the first axes of all inputs, and the
 * message is of the first example that fails.
 */
#include <string.h>

#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"

enum { CONDITION, MESSAGE, VALUES }; /* inputs; values from there on */

static int check_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *condition = &call->in[CONDITION];
    if (call->nin < VALUES || condition->dtype != NEAP_DTYPE_BOOL || call->in[MESSAGE].dtype != NEAP_DTYPE_U8 ||
        call->in[MESSAGE].ndim != condition->ndim + 1)
        return neap_error(NEAP_E_ARGUMENT, "check: expected a condition, of dtype bool, and a message, of dtype u8");
    for (int k = MESSAGE; k < call->nin; k++)
        if (call->in[k].ndim < condition->ndim ||
            memcmp(call->in[k].shape, condition->shape, condition->ndim * sizeof *condition->shape) != 0)
            return neap_error(NEAP_E_SHAPE, "check: input %d is not of the examples that the condition is of", k);
    return graph_shape_same(call, out);
}

typedef struct telling { /* of an example that fails */
    const lazy_call *call;
    int64_t example;
    const char *at, *end; /* what is left of the message */
    lazy_text text;
} telling;

/* The next text of the message; NULL: there is none. */
static const char *next_text(telling *t) {
    const char *text = t->at, *zero = t->at < t->end ? memchr(t->at, '\0', (size_t)(t->end - t->at)) : NULL;
    if (!zero) {
        neap_error(NEAP_E_ARGUMENT, "the message has fewer texts than the values need");
        return NULL;
    }
    t->at = zero + 1;
    return text;
}

static int add_text(telling *t) {
    const char *text = next_text(t);
    return text ? graph_text_add(&t->text, text, strlen(text)) : NEAP_E_ARGUMENT;
}

/* What the example has of value k. */
static int add_value(telling *t, int k) {
    const lazy_tensor *condition = &t->call->in[CONDITION], *value = &t->call->in[k];
    int64_t size = value->size / condition->size;
    const char *data = (const char *)value->data + t->example * size * neap_dtype_bytes(value->dtype);
    const char *conversion = next_text(t);
    if (!conversion)
        return NEAP_E_ARGUMENT;
    if (*conversion && size == 1)
        return graph_format_number(value->dtype, data, conversion, &t->text);
    return graph_format(value->dtype, value->ndim - condition->ndim, value->shape + condition->ndim, data, &t->text);
}

/* ", in example 3", or of a batch in a batch ", in example (0, 3)". */
static int add_example(telling *t) {
    const lazy_tensor *condition = &t->call->in[CONDITION];
    int64_t left = t->example, size = condition->size;
    int status =
        condition->ndim ? graph_text_addf(&t->text, condition->ndim > 1 ? ", in example (" : ", in example ") : 0;
    for (int a = 0; a < condition->ndim && status == 0; a++) {
        size /= condition->shape[a];
        status = graph_text_addf(&t->text, a ? ", %lld" : "%lld", (long long)(left / size));
        left %= size;
    }
    return status == 0 && condition->ndim > 1 ? graph_text_add(&t->text, ")", 1) : status;
}

static int tell(const lazy_call *call, int64_t example) {
    const lazy_tensor *message = &call->in[MESSAGE];
    int64_t bytes = message->shape[message->ndim - 1];
    const char *data = bytes ? (const char *)message->data + example * bytes : NULL;
    telling t = {.call = call, .example = example, .at = data, .end = data + bytes};
    int status = add_text(&t);
    for (int k = VALUES; k < call->nin && status == 0; k++)
        if ((status = add_value(&t, k)) == 0)
            status = add_text(&t);
    if (status == 0)
        status = add_example(&t);
    if (status == 0)
        status = neap_error(NEAP_E_FAILED, "%.*s", (int)t.text.bytes, t.text.bytes ? t.text.data : "");
    graph_text_free(&t.text);
    return status;
}

static int check_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *condition = &call->in[CONDITION];
    const uint8_t *holds = condition->data;
    (void)run;
    for (int64_t k = 0; k < condition->size; k++)
        if (!holds[k])
            return tell(call, k);
    if (condition->size)
        memcpy(call->out->data, holds, (size_t)condition->size);
    return 0;
}

/* clang-format off */
NEAP_OP(check,
    .doc = "A condition, a bool, that fails where it is false, with a message: texts with zeros behind them, u8, among "
           "which the values of the further inputs stand. All have the examples in front that the condition is of.",
    .kind = LAZY_CALL, .arity = 255, .types = LAZY_ANY,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN | LAZY_OP_FAILS | LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_same,
    .shape = check_shape, .call = check_call, .batch = derive_batch_guarded)
