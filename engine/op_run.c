/* op_run.c: the life of a ready op: running, finishing.
 *
 *      ready ──▶ run ──▶ returned (sync), or neap_complete (async), or the stream's event (devices with streams)
 *                             └──▶ release(arg) ──▶ grants given back ──▶ ops that became ready ──▶ handed over
 *
 * `release` is called before the grants are given back: when a wait for the op returns, the call is over.
 *
 * Where ready ops go: of the ops that a worker's last op made ready, the first runs next on the same worker (a chain of
 * ops never leaves its core), the others go to their device's pool. The naive scheduler has no pool: every op runs at
 * its push, on the pushing thread; an op that has to wait (for an async op, for another thread) runs on the thread of
 * the last completion it waits for, once no op of the thread is running.
 */
#include "engine/device_internal.h"
#include "engine/timeline.h"

#include <stdlib.h>
#include <string.h>

/* ---- Handing over ------------------------------------------------------------------------------------------------ */

static void run_naively(engine_ready *ready, engine_thread *self) {
    if (ready->head) {
        *self->naive_tail = ready->head;
        self->naive_tail = ready->tail;
    }
    if (self->depth > 0)
        return;
    self->depth++; /* ops made ready are appended, and do not run inside */
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

/* ---- Finishing --------------------------------------------------------------------------------------------------- */

/* The op is over, with a failure (TAKES) or NULL. The op is counted before its variables are left, so a wait for a
 * variable ends after the count. */
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
    if (!self->pool) /* a worker looks when its work ends */
        engine_activity_signal();
}

static void finish_async(engine_op *op, engine_failure *failure, engine_thread *self) {
    if (op->release)
        op->release(op->arg);
    if (op->bytes | op->cost)
        engine_ahead_ended(op->bytes, op->cost);
    finish_op(op, failure, self);
}

/* An op with ENGINE_OP_STREAM has run, and has all grants. Its inputs may have failed since its start. */
static void finish_stream_op(engine_op *op, engine_thread *self) {
    engine_failure *failure = op->fn.failure, *needed = engine_op_failure(op);
    if (needed) {
        engine_failure_release(failure);
        failure = needed;
    }
    finish_async(op, failure, self);
}

/* Such an op has been enqueued, or could not be, and may be over by now. */
static void leave_stream_op(engine_op *op, bool enqueued, engine_thread *self) {
    engine_ready ready = {NULL, &ready.head};
    if (enqueued)
        engine_early_enqueued(op, &ready);
    if (engine_early_count(op, 1, 0) == ENGINE_EARLY_OVER)
        finish_stream_op(op, self);
    engine_op_hand_over(&ready, self);
}

/* ---- Ops on streams ---------------------------------------------------------------------------------------------- */

static bool run_stream_op(engine_op *op, const neap_run *run, int status);

static void complete_op(void *done, int status) {
    neap_complete(done, status);
}

/* An op with a failed function, and maybe with work in the stream: ends with the failure, but not before the work. */
typedef struct failed_op {
    neap_completion *done;
    int status;
    char text[];
} failed_op;

static void complete_failed(void *arg, int status) {
    failed_op *op = arg;
    neap_completion *done = op->done;
    status = neap_error(op->status, "%s", op->text);
    free(op);
    neap_complete(done, status);
}

/* The stream has come to the end of the op's work so far, and the op has more to do (neap_sync_fn). */
static void go_on(void *arg, int status) {
    engine_op *op = arg;
    engine_thread *self = engine_self();
    if (status < 0) {
        neap_complete(arg, status);
        return;
    }
    neap_run run = {.device = op->device,
                    .worker = self->worker,
                    .epoch = op->epoch,
                    .stream = engine_device_stream(op->device, op->flags)};
    self->depth++; /* the op may be gone afterwards */
    run_stream_op(op, &run, NEAP_OK);
    self->depth--;
}

/* False: there is no memory, or the device cannot tell. */
static bool complete_when_done(engine_device *device, neap_stream *stream, neap_completion *done, int status) {
    if (status >= 0) {
        neap_stream_fn then = status == NEAP_PENDING ? go_on : complete_op;
        return device->kind->stream_then(device->handle, stream, then, done) == NEAP_OK;
    }
    const char *text = neap_error_text();
    failed_op *op = engine_alloc(sizeof *op + strlen(text) + 1);
    if (!op)
        return false;
    op->done = done;
    op->status = status;
    strcpy(op->text, text);
    if (device->kind->stream_then(device->handle, stream, complete_failed, op) == NEAP_OK)
        return true;
    neap_error(status, "%s", op->text);
    free(op);
    return false;
}

static bool is_given_up(const engine_op *op, const neap_run *run) {
    return neap_run_cancelled(run) && !(op->flags & NEAP_PUSH_ALWAYS);
}

/* Calls the op's function, unless the op has failed already, or was given up. */
static int call_on_stream(engine_op *op, const neap_run *run, int status) {
    engine_thread *self = engine_self();
    uint64_t errors = self->errors;
    bool called = status == NEAP_OK && !is_given_up(op, run);
    if (called)
        status = op->fn.sync(op->arg, run);
    if (is_given_up(op, run))
        return neap_error(NEAP_E_INTERRUPT, "%s", neap_status_text(NEAP_E_INTERRUPT));
    if (status < 0 && called && self->errors == errors)
        neap_error(status, "%s", neap_status_text(status));
    return status;
}

/* Calls a sync op's function on a device with a stream, and completes the op when the stream has done the work: the
 * naive scheduler waits here. A negative status, with the error set, completes the op without a call. Returns whether
 * the work stands in the stream, with the callback behind. */
static bool run_stream_op(engine_op *op, const neap_run *run, int status) {
    engine_device *device = engine_device_at(run->device);
    engine_thread *self = engine_self();
    neap_completion *done = (neap_completion *)op;
    for (;;) {
        status = call_on_stream(op, run, status);
        if (!engine_is_naive() && complete_when_done(device, run->stream, done, status))
            return status == NEAP_OK;
        char text[sizeof self->text];
        strcpy(text, self->text);
        int late = device->kind->stream_sync(device->handle, run->stream);
        if (status != NEAP_PENDING || late < 0) {
            neap_complete(done, status < 0 ? neap_error(status, "%s", text) : late);
            return false;
        }
        status = NEAP_OK;
    }
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static void run_on_stream(engine_op *op, const neap_run *run, bool early, engine_thread *self) {
    bool counted = op->flags & ENGINE_OP_STREAM;
    int status = early ? engine_early_order(op, run->stream) : NEAP_OK;
    bool enqueued = run_stream_op(op, run, status);
    if (counted)
        leave_stream_op(op, enqueued, self);
}

/* An async op, or a sync op on a device with streams, with an end like an async op's. */
static void start_async_op(engine_op *op, neap_stream *stream, engine_thread *self) {
    bool early = op->flags & ENGINE_OP_STREAM && engine_early_running(op);
    engine_failure *failure = early ? NULL : engine_op_failure(op);
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
    self->depth++; /* the op may be gone afterwards */
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
