/* op.c: the life of an op from the moment when it is ready: running, failing, finishing.
 *
 *      ready ──▶ run ──▶ returned (sync), or neap_complete (async), or the stream's event (devices with streams)
 *                             └──▶ release(arg) ──▶ grants given back ──▶ ops that became ready ──▶ handed over
 *
 * `release` is called before the grants are given back, so whoever waited for the op finds it already called.
 *
 * An op fails if its function fails, if it was cancelled, or if one of its variables carries a failure; in the last
 * case, and when it was cancelled before it started, its function is skipped. A failure attaches to the written
 * variables. None of this touches an op pushed with NEAP_PUSH_ALWAYS, but for its function's own failure.
 *
 * Where ready ops go: those that a worker's last op made ready, the first to the same worker, which runs it next (a
 * chain of ops never leaves its core), the others to their device's pool. The naive scheduler has no pool: every op
 * runs at its push, on the pushing thread; one that has to wait (for an async op, for another thread) runs on the
 * thread that completes what it waited for, once no op of that thread is running.
 */
#include "engine/device_internal.h"
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

/* ---- Handing over ------------------------------------------------------------------------------------------------ */

static void run_naively(engine_ready *ready, engine_thread *self) {
    if (ready->head) {
        *self->naive_tail = ready->head;
        self->naive_tail = ready->tail;
    }
    if (self->depth > 0)
        return;
    self->depth++; /* what these ops make ready is appended, not run inside them */
    while (self->naive) {
        engine_op *op = self->naive;
        self->naive = op->next;
        if (!self->naive)
            self->naive_tail = &self->naive;
        engine_op_run(op, self);
    }
    self->depth--;
}

void engine_op_hand_over(engine_ready *ready, engine_thread *self) {
    if (engine_is_naive()) {
        run_naively(ready, self);
        return;
    }
    engine_op *first = ready->head;
    if (first && self->pool && self->depth == 0 && !self->following && engine_pool_may_follow(first, self)) {
        self->following = first;
        ready->head = first->next;
        if (!ready->head)
            ready->tail = &ready->head;
    }
    if (ready->head)
        engine_pool_submit(ready, self);
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

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

/* The failure that keeps the op from running, or NULL. The op holds all grants, so nobody changes the fields. */
static engine_failure *failure_of_entries(engine_op *op) {
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
    engine_failure *failure = failure_of_entries(op);
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

/* The op is over, with a failure (TAKES) or NULL. It is counted before its variables are left, so whoever waited for
 * one of them sees it counted. */
static void finish_op(engine_op *op, engine_failure *failure, engine_thread *self) {
    engine_ready ready = {NULL, &ready.head};
    engine_entry *granted = NULL, **end = &granted;
    if (!(op->flags & ENGINE_OP_HIDDEN))
        engine_count_one(&self->completed);
    for (uint32_t i = 0; i < op->entry_count; i++) {
        const engine_entry *entry = &op->entries[i];
        end = engine_var_finish(entry->var, entry->access, op->sent, failure, end);
    }
    engine_var_release(granted, &ready);
    engine_failure_release(failure);
    engine_op_free(op);
    engine_op_hand_over(&ready, self);
    engine_count_one(&self->ended);
    if (!self->pool) /* a worker looks when it finds nothing more to do */
        engine_wait_signal();
}

static void finish_async(engine_op *op, engine_failure *failure, engine_thread *self) {
    if (op->release)
        op->release(op->arg);
    if (op->bytes | op->cost)
        engine_ahead_ended(op->bytes, op->cost);
    finish_op(op, failure, self);
}

/* Of an op with ENGINE_OP_STREAM: it has run, and has all grants. What it needed may have failed since it started. */
static void finish_stream_op(engine_op *op, engine_thread *self) {
    engine_failure *failure = op->fn.failure, *needed = failure_of_entries(op);
    if (needed) {
        engine_failure_release(failure);
        failure = needed;
    }
    finish_async(op, failure, self);
}

/* Such an op has been enqueued, or could not be. It may be over by now. */
static void leave_stream_op(engine_op *op, bool enqueued, engine_thread *self) {
    engine_ready ready = {NULL, &ready.head};
    if (enqueued)
        engine_early_enqueued(op, &ready);
    if (engine_early_count(op, 1, 0) == ENGINE_EARLY_OVER)
        finish_stream_op(op, self);
    engine_op_hand_over(&ready, self);
}

static void run_on_stream(engine_op *op, const neap_run *run, bool early, engine_thread *self) {
    bool counted = op->flags & ENGINE_OP_STREAM;
    int status = early ? engine_early_order(op, run->stream) : NEAP_OK;
    bool enqueued = engine_stream_run(op, run, status);
    if (counted)
        leave_stream_op(op, enqueued, self);
}

/* An async op, or a sync op on a device with streams, which ends as one. */
static void start_async_op(engine_op *op, neap_stream *stream, engine_thread *self) {
    bool early = op->flags & ENGINE_OP_STREAM && engine_early_running(op);
    engine_failure *failure = early ? NULL : failure_of_entries(op);
    if (failure) {
        engine_count_one(&self->skipped);
        int64_t now = engine_timeline_now();
        if (now)
            engine_timeline_op(op, now, failure, true);
        finish_async(op, failure, self);
        return;
    }
    if (op->flags & ENGINE_OP_STREAM && !early)
        engine_early_run_ready(op);
    char name[ENGINE_TIMELINE_NAME];
    int64_t began = engine_timeline_start(op, name);
    neap_run run = {.device = op->device, .worker = self->worker, .epoch = op->epoch, .stream = stream};
    self->depth++; /* the op may be gone when these return */
    if (op->flags & ENGINE_OP_ASYNC) {
        op->fn.async(op->arg, &run, (neap_completion *)op);
    } else {
        run_on_stream(op, &run, early, self);
    }
    self->depth--;
    if (began)
        engine_timeline_started(name, began);
    engine_ready none = {NULL, &none.head};
    engine_op_hand_over(&none, self);
}

void engine_op_run(engine_op *op, engine_thread *self) {
    if (op->flags & ENGINE_OP_OVER) {
        finish_stream_op(op, self);
        return;
    }
    for (uint32_t i = 0; i < op->entry_count; i++)
        __builtin_prefetch(op->entries[i].var, 1); /* finish will write there */
    neap_stream *stream = engine_device_stream(op->device, op->flags);
    if (stream || op->flags & ENGINE_OP_ASYNC) {
        start_async_op(op, stream, self);
    } else {
        finish_op(op, engine_op_perform(op, self), self);
    }
}

void neap_complete(neap_completion *done, int status) {
    if (engine_phase() == ENGINE_DEAD)
        return;
    engine_op *op = (engine_op *)done;
    engine_thread *self = engine_self();
    engine_failure *failure = NULL;
    if (engine_is_cancelled(op->epoch) && !(op->flags & NEAP_PUSH_ALWAYS))
        failure = engine_failure_new(NEAP_E_INTERRUPT, NULL, op->name, op->site);
    else if (status < 0)
        failure = engine_failure_new(status, self->code == status ? self->text : NULL, op->name, op->site);
    engine_timeline_complete(op, failure);
    if (!(op->flags & ENGINE_OP_STREAM)) {
        finish_async(op, failure, self);
        return;
    }
    op->fn.failure = failure;
    if (engine_early_count(op, 1, 0) == ENGINE_EARLY_OVER)
        finish_stream_op(op, self);
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
