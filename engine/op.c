/* op.c: what an op is made of, and what becomes of its function: a call, a failure, or neither.
 *
 * An op fails if its function fails, if it was cancelled, or if one of its variables carries a failure; in the last
 * case, and when it was cancelled before it started, its function is skipped. A failure attaches to the written
 * variables. None of this touches an op pushed with NEAP_PUSH_ALWAYS, but for its function's own failure.
 */
#include "engine/timeline.h"

#include <stdio.h>
#include <stdlib.h>

enum { FEW_ENTRIES = 5, SOME_ENTRIES = 13 };

static engine_slab few_slab = {.bytes = sizeof(engine_op) + FEW_ENTRIES * sizeof(engine_entry)};
static engine_slab some_slab = {.bytes = sizeof(engine_op) + SOME_ENTRIES * sizeof(engine_entry)};

engine_op *engine_op_new(uint32_t entry_count) {
    engine_op *op = entry_count <= FEW_ENTRIES    ? engine_slab_get(&few_slab)
                    : entry_count <= SOME_ENTRIES ? engine_slab_get(&some_slab)
                                                  : engine_alloc(sizeof *op + entry_count * sizeof(engine_entry));
    if (op) {
        op->entry_count = entry_count;
        op->sent = false;
    }
    return op;
}

void engine_op_free(engine_op *op) {
    if (op->entry_count <= FEW_ENTRIES) {
        engine_slab_put(&few_slab, op);
    } else if (op->entry_count <= SOME_ENTRIES) {
        engine_slab_put(&some_slab, op);
    } else {
        free(op);
    }
}

engine_op *engine_op_of_push(const neap_push *push) {
    uint32_t reads = (uint32_t)push->nreads, count = reads + (uint32_t)push->nwrites;
    uint32_t fresh = reads + (uint32_t)push->nfresh;
    engine_op *op = engine_op_new(count);
    if (!op) {
        neap_error(NEAP_E_MEMORY, "no memory for an operation");
        return NULL;
    }
    op->flags = engine_push_small(push) ? push->flags : push->flags & ~(uint32_t)NEAP_PUSH_SMALL;
    op->device = (int16_t)push->device;
    op->priority = push->priority;
    op->release = push->release;
    op->name = push->name;
    op->site = push->site;
    op->bytes = push->bytes;
    op->cost = push->cost;
    op->queued = engine_timeline_now();
    op->epoch = engine_epoch();
    for (uint32_t i = 0; i < count; i++) {
        engine_entry *entry = &op->entries[i];
        entry->var = i < reads ? push->reads[i] : push->writes[i - reads];
        entry->index = i;
        entry->access = i < reads ? ENGINE_READ : i < fresh ? ENGINE_FRESH : ENGINE_WRITE;
        entry->writes = i >= reads;
        entry->promised = false;
    }
    return op;
}

/* ---- Calling its function ---------------------------------------------------------------------------------------- */

engine_failure *engine_op_call(neap_sync_fn fn, void *arg, const neap_run *run, int64_t cost, uint32_t flags,
                               const char *name, const char *site, engine_thread *self) {
    uint64_t errors = self->errors;
    const char *outer = self->op_name;
    int64_t outer_cost = self->op_cost;
    self->op_name = name;
    self->op_cost = cost;
#if NEAP_DEBUG
    if (!engine_float_mode_good()) { /* a foreign library's doing, on a thread that is not ours */
        fprintf(stderr, "neap: the rounding or denormal mode of this thread was changed; it is put back\n");
        engine_float_mode_set();
    }
#endif
    self->depth++;
    int status = fn(arg, run);
    self->depth--;
    self->op_name = outer;
    self->op_cost = outer_cost;
    if (engine_is_cancelled(run->epoch) && !(flags & NEAP_PUSH_ALWAYS))
        return engine_failure_new(NEAP_E_INTERRUPT, NULL, name, site);
    if (status >= 0)
        return NULL;
    return engine_failure_new(status, self->errors != errors ? self->text : NULL, name, site);
}

engine_failure *engine_op_failure(engine_op *op) {
    if (op->flags & NEAP_PUSH_ALWAYS)
        return NULL;
    engine_failure *failure = NULL;
    for (uint32_t i = 0; i < op->entry_count; i++) {
        engine_entry *entry = &op->entries[i];
        entry->access = (uint8_t)engine_var_access(entry->var, entry->access, op->epoch);
        if (!failure && entry->access != ENGINE_FRESH)
            failure = entry->var->failure;
    }
    if (failure)
        return engine_failure_retain(failure);
    if (engine_is_cancelled(op->epoch))
        return engine_failure_new(NEAP_E_INTERRUPT, NULL, op->name, op->site);
    return NULL;
}

engine_failure *engine_op_perform(engine_op *op, engine_thread *self) {
    neap_run run = {.device = op->device, .worker = self->worker, .epoch = op->epoch};
    int64_t began = engine_timeline_now();
    engine_failure *failure = engine_op_failure(op);
    bool skipped = failure;
    if (skipped) {
        engine_count_one(&self->skipped);
    } else {
        failure = engine_op_call(op->fn.sync, op->arg, &run, op->cost, op->flags, op->name, op->site, self);
    }
    if (began)
        engine_timeline_op(op, began, failure, skipped);
    if (op->release)
        op->release(op->arg);
    if (op->bytes | op->cost)
        engine_ahead_ended(op->bytes, op->cost);
    return failure;
}

/* ---- Giving up --------------------------------------------------------------------------------------------------- */

void neap_engine_cancel(void) {
    uint32_t now = engine_epoch_next(), last = atomic_load(&engine.cancelled);
    while (engine_epoch_before(last, now) && !atomic_compare_exchange_weak(&engine.cancelled, &last, now))
        ;
}

/* Without threads the op keeps the user's thread from dealing with an interrupt, so it has to give itself up. */
int neap_run_cancelled(const neap_run *run) {
    if (engine_is_naive() && run->worker < 0 && neap_interrupt_pending())
        neap_engine_cancel();
    return engine_is_cancelled(run->epoch);
}
