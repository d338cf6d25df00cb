/* callback.c: the ops of callbacks. What they do is in lazy/effect/callback.c; here is what they look like as nodes. */
#include <stdlib.h>
#include <string.h>

#include "lazy/derive/build.h"
#include "lazy/effect/effect.h"

/* The node of a call refers to a record in C's memory, so nobody but that file may make one. */
static int refuse_new(const lazy_call_desc *call, lazy_result *out) {
    (void)call;
    (void)out;
    return neap_error(NEAP_E_ARGUMENT, "callback: recorded by neap_callback_push");
}

static int call_part_dtype(const lazy_call_desc *call, lazy_result *out) {
    if (call->nattrs < 2 || call->attrs[1] < 0 || call->attrs[1] >= NEAP_DTYPE_COUNT)
        return neap_error(NEAP_E_DTYPE, "callback_part: no such dtype");
    out->compute = NEAP_DTYPE_U8;
    out->dtype = (uint8_t)call->attrs[1];
    return 0;
}

static int call_part_shape(const lazy_call_desc *call, lazy_result *out) {
    int own = call->nattrs - 2, lead = call->in[0].ndim - 1;
    if (lead < 0 || lead + own > NEAP_MAX_DIMS || call->attrs[0] < 0)
        return neap_error(NEAP_E_SHAPE, "callback_part: bad place or shape");
    int64_t bytes = neap_dtype_bytes(out->dtype), room = call->in[0].shape[lead] - call->attrs[0];
    out->ndim = (uint8_t)(lead + own);
    for (int k = 0; k < lead; k++)
        out->shape[k] = call->in[0].shape[k];
    for (int k = 0; k < own; k++) {
        out->shape[lead + k] = call->attrs[2 + k];
        if (call->attrs[2 + k] < 0 || __builtin_mul_overflow(bytes, call->attrs[2 + k], &bytes))
            return neap_error(NEAP_E_SHAPE, "callback_part: bad size of an axis");
    }
    return bytes <= room ? 0 : neap_error(NEAP_E_SHAPE, "callback_part: reads behind the end of the block");
}

static int call_part_copy(const lazy_call *call, const neap_run *run) {
    (void)run;
    const lazy_tensor *block = &call->in[0];
    int64_t step = block->shape[block->ndim - 1], blocks = step ? block->size / step : 0;
    size_t bytes = blocks ? (size_t)(call->out->size / blocks) * (size_t)neap_dtype_bytes(call->out->dtype) : 0;
    for (int64_t b = 0; b < blocks && bytes; b++)
        memcpy((char *)call->out->data + (size_t)b * bytes, (const char *)block->data + b * step + call->attrs[0],
               bytes);
    return 0;
}

/* Its arguments are arrays of their own, since the function may keep them. */
static bool reads_nothing_else(const lazy_tensor *operand) {
    (void)operand;
    return false;
}

/* ---- Batches ----------------------------------------------------------------------------------------------------- */
/* n blocks of shape (1, bytes) as one of shape (n, bytes). */
static neap_node *join_byte_blocks(lazy_batching *g, int64_t n, neap_node **blocks) {
    while (n > 1) {
        int64_t joined = 0;
        for (int64_t k = 0; k < n; k += NEAP_MAX_INPUTS) {
            int some = n - k < NEAP_MAX_INPUTS ? (int)(n - k) : NEAP_MAX_INPUTS;
            blocks[joined++] = graph_build(g->ctx, LAZY_OP_concatenate, some, blocks + k, 1, (int64_t[]){0});
        }
        n = joined;
    }
    return blocks[0];
}

/* One call for all examples. Its results are given to their parts, since there is no block for each example. */
static int call_at_once(lazy_batching *g, lazy_callback *callback) {
    neap_node *in[NEAP_MAX_INPUTS];
    lazy_callback *all;
    for (int k = 0; k < g->node->nin; k++) {
        bool as_it_is = g->batched[k] || callback->numbers >> k & 1;
        int64_t shape[NEAP_MAX_DIMS + 1] = {1};
        memcpy(shape + 1, g->in[k]->shape, g->in[k]->ndim * sizeof *shape);
        in[k] = as_it_is ? g->in[k]
                : callback->pure == NEAP_PURE_BROADCAST
                    ? derive_batch_all(g, k)
                    : graph_build_reshape(g->ctx, g->in[k], g->in[k]->ndim + 1, shape);
        if (!in[k])
            return neap_error_code();
    }
    int status = effect_callback_batched(callback, g->size, &all);
    if (status)
        return status;
    neap_node *call = graph_arena(g->ctx, effect_callback_again(g->ctx, all, g->node->nin, in));
    status = call ? 0 : neap_error_code();
    for (int k = 0; k < all->nresults && status == 0; k++)
        status = derive_batch_give(g, graph_arena(g->ctx, effect_callback_part(g->ctx, call, k)), true);
    effect_callback_release(all);
    return status;
}

/* A result of a block, or of a call that was made for all examples. */
static int callback_part_batch(lazy_batching *g) {
    const neap_node *part = g->node;
    if (g->in[0])
        return derive_batch_leading(g);
    const lazy_callback *callback = effect_callback_of(part->in[0]);
    for (int k = 0; k < callback->nresults; k++) {
        const neap_spec *spec = &callback->results[k];
        if (callback->offsets[k] == part->attrs[0] && spec->dtype == part->attrs[1] && spec->ndim == part->ndim &&
            memcmp(spec->shape, part->shape, part->ndim * sizeof *spec->shape) == 0)
            return derive_batch_part(g, k);
    }
    return neap_error(NEAP_E_INTERNAL, "callback_part: no such result");
}

/* One call that all examples share. */
static int call_shared(lazy_batching *g, lazy_callback *callback) {
    g->out = graph_arena(g->ctx, effect_callback_again(g->ctx, callback, g->node->nin, g->in));
    g->shared = true;
    return derive_batch_done(g);
}

static bool some_batched(const lazy_batching *g) {
    bool some = false;
    for (int k = 0; k < g->node->nin; k++)
        some |= g->batched[k];
    return some;
}

/* One call for each example, in their order. */
static int call_each(lazy_batching *g, lazy_callback *callback) {
    neap_node *in[NEAP_MAX_INPUTS], **blocks = calloc((size_t)g->size + 1, sizeof *blocks);
    int64_t shape[2] = {1, callback->bytes};
    int status = blocks ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a batch of callbacks");
    for (int64_t e = 0; e < g->size && status == 0; e++) {
        for (int k = 0; k < g->node->nin && status == 0; k++) {
            in[k] = g->batched[k] ? derive_batch_example(g->ctx, g->in[k], e) : g->in[k];
            status = in[k] ? 0 : neap_error_code();
        }
        neap_node *call =
            status == 0 ? graph_arena(g->ctx, effect_callback_again(g->ctx, callback, g->node->nin, in)) : NULL;
        blocks[e] = call ? graph_build_reshape(g->ctx, call, 2, shape) : NULL;
        status = blocks[e] ? 0 : neap_error_code();
    }
    if (status == 0 && (g->size == 0 || callback->nresults == 0)) { /* nobody reads it */
        shape[0] = g->size;
        blocks[0] = graph_build_cast(g->ctx, NUMBER(0), NEAP_DTYPE_U8);
        g->out = blocks[0] ? graph_build_broadcast(g->ctx, blocks[0], 2, shape) : NULL;
    } else if (status == 0) {
        g->out = join_byte_blocks(g, g->size, blocks);
    }
    free(blocks);
    return status ? status : derive_batch_done(g);
}

static int callback_batch(lazy_batching *g) {
    lazy_callback *callback = effect_callback_of(g->node);
    if (callback->pure && !some_batched(g))
        return call_shared(g, callback);
    return effect_calls_at_once(callback) ? call_at_once(g, callback) : call_each(g, callback);
}

/* clang-format off */
NEAP_OP(callback,
    .doc = "A call of a Lua function on the inputs: an effect, done by the user thread. Its value is a block of bytes "
           "with all results.",
    .attrs = "callback", .kind = LAZY_CALL, .arity = 255, .types = LAZY_ANY,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN | LAZY_OP_PROMPT | LAZY_OP_ZERO_GRAD, .payload = &effect_callback_payload,
    .dtype = refuse_new, .reads = reads_nothing_else, .batch = callback_batch)

NEAP_OP(callback_part,
    .doc = "One result of a callback: the bytes of its block from a place on, as an array of a dtype and shape; of "
           "each block, if there are several.",
    .attrs = "place dtype shape…", .kind = LAZY_CALL, .arity = 1, .types = LAZY_INT,
    .flags = LAZY_OP_DENSE | LAZY_OP_HIDDEN | LAZY_OP_PROMPT, .dtype = call_part_dtype, .shape = call_part_shape,
    .call = call_part_copy, .batch = callback_part_batch)
/* clang-format on */
