/* admit.c: an op's way into the queues of its variables, and from there to where it runs. */
#include "engine/op_internal.h"

#include <stdlib.h>

enum { SHORT_LIST = ENGINE_LIMIT(32, 2) /* variables of a push that need no memory to be sorted */ };

/* Sorts the op's variables, with memory for long lists. */
static int sort_variables(engine_op *op, neap_var **few, neap_var ***order) {
    *order = op->entry_count <= SHORT_LIST ? few : engine_alloc(op->entry_count * sizeof(neap_var *));
    if (!*order)
        return neap_error(NEAP_E_MEMORY, "no memory for an operation");
    if (engine_var_order(op->entry_count, op->entries, *order))
        return NEAP_OK;
    if (*order != few)
        free(*order);
    *order = few;
    return neap_error(NEAP_E_ARGUMENT, "a variable is listed twice in one push");
}

int engine_admit(engine_op *op, neap_var *const *sorted, engine_thread *self) {
    neap_var *few[SHORT_LIST], **own = few;
    int status = sorted ? NEAP_OK : sort_variables(op, few, &own);
    if (!status && op->flags & ENGINE_OP_STREAM)
        status = engine_early_prepare(op);
    if (!status)
        status = engine_activity_begin(self);
    if (!status)
        engine_pool_ensure(op->device);
    bool hidden = op->flags & ENGINE_OP_HIDDEN;
    bool inlines =
        self->depth < ENGINE_NEST_MOST && (engine_is_naive() || (op->flags & NEAP_PUSH_SMALL && engine_inlines()));
    if (!status && (op->bytes | op->cost))
        engine_ahead_began(op->bytes, op->cost);
    bool ready = !status && engine_var_enqueue(op, sorted ? sorted : own);
    if (own != few)
        free(own);
    if (status) {
        engine_op_free(op);
        return status;
    }
    if (!hidden)
        engine_count_one(&self->pushed);
    if (ready && inlines) {
        if (!hidden)
            engine_count_one(&self->inlined);
        op->flags |= ENGINE_OP_AT_PUSH;
        engine_op_run(op, self);
    } else if (ready) {
        op->next = NULL;
        engine_ready list = {op, &op->next};
        engine_op_hand_over(&list, self);
    }
    return NEAP_OK;
}
