/* operator.c: ops that are pushed again and again.
 *
 * An operator keeps a push whose variables were checked, and their order for locking. Each of its pushes makes an op as
 * any other, which refers to the operator: so several of them may be under way at once, in the order of their
 * variables' queues. The last reference (the caller's, or that of the last op to finish) releases the argument.
 */
#include "engine/op_internal.h"

#include <stdlib.h>
#include <string.h>

struct neap_operator {
    _Atomic uint32_t refs;
    engine_fn fn;
    void *arg;
    void (*release)(void *arg);
    bool is_async;
    neap_push push; /* of its ops; the arrays lie behind the operator */
    neap_var **order;
};

static void release_operator(void *arg) {
    neap_operator *op = arg;
    if (atomic_fetch_sub_explicit(&op->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (op->release)
        op->release(op->arg);
    free(op);
}

static int run_sync(void *arg, const neap_run *run) {
    neap_operator *op = arg;
    return op->fn.sync(op->arg, run);
}

static void run_async(void *arg, const neap_run *run, neap_completion *done) {
    neap_operator *op = arg;
    op->fn.async(op->arg, run, done);
}

/* Sorts by way of an op's entries, as a push does. */
static int check_variables(neap_operator *made) {
    engine_op *op = engine_op_of_push(&made->push);
    if (!op)
        return NEAP_E_MEMORY;
    bool good = engine_var_order(op->entry_count, op->entries, made->order);
    engine_op_free(op);
    return good ? NEAP_OK : neap_error(NEAP_E_ARGUMENT, "a variable is listed twice in one operator");
}

static int new_operator(neap_operator model, const neap_push *push, bool has_function, neap_operator **out) {
    int status = engine_push_check(push, has_function);
    if (status)
        return status;
    size_t reads = (size_t)push->nreads, writes = (size_t)push->nwrites;
    neap_operator *op = engine_alloc(sizeof *op + 2 * (reads + writes) * sizeof(neap_var *));
    if (!op)
        return neap_error(NEAP_E_MEMORY, "no memory for an operator");
    *op = model;
    neap_var **vars = (neap_var **)(op + 1);
    if (reads)
        memcpy(vars, push->reads, reads * sizeof *vars);
    if (writes)
        memcpy(vars + reads, push->writes, writes * sizeof *vars);
    op->push = *push;
    op->push.reads = vars;
    op->push.writes = vars + reads;
    op->push.release = release_operator;
    op->order = vars + reads + writes;
    op->release = push->release;
    atomic_init(&op->refs, 1);
    status = check_variables(op);
    if (status) {
        free(op);
        return status;
    }
    *out = op;
    return NEAP_OK;
}

int neap_operator_new(neap_sync_fn fn, void *arg, const neap_push *push, neap_operator **out) {
    return new_operator((neap_operator){.fn.sync = fn, .arg = arg}, push, fn, out);
}

int neap_operator_new_async(neap_async_fn fn, void *arg, const neap_push *push, neap_operator **out) {
    return new_operator((neap_operator){.fn.async = fn, .arg = arg, .is_async = true}, push, fn, out);
}

int neap_operator_push(neap_operator *operator, int device, int priority) {
    engine_thread *self = engine_self();
    int status = engine_check_running();
    if (!status && (device < 0 || device >= engine.devices))
        status = neap_error(NEAP_E_ARGUMENT, "push to device %d of %d", device, engine.devices);
    if (status)
        return status;
    neap_push push = operator->push;
    push.device = device;
    push.priority = priority;
    bool small = engine_push_small(&push) && !operator->is_async;
    atomic_fetch_add_explicit(&operator->refs, 1, memory_order_relaxed);
    if (((small && engine_inlines()) || (engine_is_naive() && !operator->is_async)) &&
        engine_push_inline(run_sync, operator, & push, self)) {
        return NEAP_OK;
    }
    engine_op *op = engine_op_of_push(&push);
    if (op) {
        op->arg = operator;
        if (operator->is_async) {
            op->flags |= ENGINE_OP_ASYNC;
            op->fn.async = run_async;
        } else {
            op->fn.sync = run_sync;
            op->flags |= engine_early_possible(&push) ? ENGINE_OP_STREAM : 0;
        }
        if (!small || !self->bulk_most)
            engine_bulk_flush(self);
        status = small && self->bulk_most ? engine_bulk_join(op, operator->order, self)
                                          : engine_admit(op, operator->order, self);
    } else {
        status = NEAP_E_MEMORY;
    }
    if (status)
        atomic_fetch_sub_explicit(&operator->refs, 1, memory_order_relaxed); /* the caller still has its own */
    return status;
}

void neap_operator_delete(neap_operator *operator) {
    if (operator&& engine_phase() != ENGINE_DEAD)
        release_operator(operator);
}
