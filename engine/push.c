/* push.c: pushing an op: from the call into the queues of its variables.
 *
 *      push ──▶ small, sync, all variables idle: run here, without an op structure      (the hot path)
 *        ├────▶ small, sync, this thread joins ops: into its bulk (bulk.c)
 *        └────▶ op + entries into the queues ──▶ ready? small: run here; else ──▶ its device's pool
 *
 * On failure nothing was pushed and `release` was not called.
 */
#include "engine/timeline.h"

int engine_push_check(const neap_push *push, bool has_function) {
    int status = engine_check_running();
    if (status)
        return status;
    if (!has_function)
        return neap_error(NEAP_E_ARGUMENT, "push without a function");
    if (push->device < 0 || push->device >= engine.devices) {
        return neap_error(NEAP_E_ARGUMENT, "push to device %d of %d", push->device, engine.devices);
    }
    if (push->nreads < 0 || push->nfresh < 0 || push->nwrites < push->nfresh)
        return neap_error(NEAP_E_ARGUMENT, "push with a negative count, or more fresh writes than writes");
    for (int i = 0; i < push->nreads + push->nwrites; i++) {
        neap_var *var = i < push->nreads ? push->reads[i] : push->writes[i - push->nreads];
        if (!var)
            return neap_error(NEAP_E_ARGUMENT, "push with a null variable");
        __builtin_prefetch(var, 1); /* the locks are taken one after the other, but their lines can come at once */
    }
    return NEAP_OK;
}

/* ---- Running at the push ----------------------------------------------------------------------------------------- */

/* How the op, which was pushed in this epoch, writes its variable `i`. */
static int write_access(const neap_push *push, int i, uint32_t epoch) {
    if (i < push->nfresh)
        return ENGINE_FRESH;
    return push->flags & NEAP_PUSH_ALWAYS ? ENGINE_WRITE : engine_var_access(push->writes[i], ENGINE_WRITE, epoch);
}

static engine_failure *failure_of_push(const neap_push *push, uint32_t epoch) {
    if (push->flags & NEAP_PUSH_ALWAYS)
        return NULL;
    for (int i = 0; i < push->nreads; i++) {
        if (push->reads[i]->failure)
            return engine_failure_retain(push->reads[i]->failure);
    }
    for (int i = push->nfresh; i < push->nwrites; i++) {
        if (push->writes[i]->failure && write_access(push, i, epoch) != ENGINE_FRESH)
            return engine_failure_retain(push->writes[i]->failure);
    }
    return NULL;
}

/* Runs a sync op whose variables were claimed. */
static void run_claimed(neap_sync_fn fn, void *arg, const neap_push *push, engine_thread *self) {
    neap_run run = {.device = push->device, .worker = self->worker, .epoch = engine_epoch()};
    engine_ready ready = {NULL, &ready.head};
    engine_count_one(&self->pushed);
    engine_count_one(&self->inlined);
    int64_t began = engine_timeline_now();
    engine_failure *failure = failure_of_push(push, run.epoch);
    bool skipped = failure;
    if (skipped) {
        engine_count_one(&self->skipped);
    } else {
        failure = engine_op_call(fn, arg, &run, push->cost, push->flags, push->name, push->site, self);
    }
    if (began)
        engine_timeline_push(push, began, failure, skipped);
    if (push->release)
        push->release(arg);
    engine_count_one(&self->completed);
    engine_entry *granted = NULL, **end = &granted;
    for (int i = 0; i < push->nreads; i++)
        end = engine_var_finish(push->reads[i], ENGINE_READ, false, NULL, end);
    for (int i = 0; i < push->nwrites; i++)
        end = engine_var_finish(push->writes[i], write_access(push, i, run.epoch), false, failure, end);
    engine_var_release(granted, &ready);
    if (failure)
        engine_failure_release(failure);
    engine_op_hand_over(&ready, self);
}

/* With a shuffled schedule, half of the ops that could run at their push do not. */
static bool shuffled_away(const engine_thread *self) {
    uint64_t count = atomic_load_explicit(&self->pushed, memory_order_relaxed);
    return ((count + engine.shuffle) * UINT64_C(0x9e3779b97f4a7c15)) >> 63;
}

bool engine_push_inline(neap_sync_fn fn, void *arg, const neap_push *push, engine_thread *self) {
    if (self->depth >= ENGINE_NEST_MOST || push->device >= engine.cpus || self->joined ||
        (engine.shuffle && shuffled_away(self)) ||
        !engine_var_claim(push->nreads, push->reads, push->nwrites, push->writes)) {
        return false;
    }
    run_claimed(fn, arg, push, self);
    return true;
}

/* ---- The public calls -------------------------------------------------------------------------------------------- */

int neap_push_now(neap_sync_fn fn, void *arg, const neap_push *push) {
    bool may = (engine_push_small(push) && engine_inlines()) || engine_is_naive();
    bool sound = engine_phase() == ENGINE_RUNNING && fn && (unsigned)push->device < (unsigned)engine.devices &&
                 (push->nreads | push->nfresh) >= 0 && push->nfresh <= push->nwrites;
    return may && sound && engine_push_inline(fn, arg, push, engine_self()) ? NEAP_OK : NEAP_PENDING;
}

int neap_push_sync(neap_sync_fn fn, void *arg, const neap_push *push) {
    if (neap_push_now(fn, arg, push) == NEAP_OK)
        return NEAP_OK;
    engine_thread *self = engine_self();
    bool small = engine_push_small(push);
    int status = engine_push_check(push, fn);
    engine_op *op = status ? NULL : engine_op_of_push(push);
    if (!op)
        return status ? status : NEAP_E_MEMORY;
    op->fn.sync = fn;
    op->arg = arg;
    op->flags |= engine_early_possible(push) ? ENGINE_OP_STREAM : 0;
    if (small && self->bulk_most)
        return engine_bulk_join(op, NULL, self);
    engine_bulk_flush(self);
    return engine_admit(op, NULL, self);
}

int neap_push_async(neap_async_fn fn, void *arg, const neap_push *push) {
    engine_thread *self = engine_self();
    int status = engine_push_check(push, fn);
    engine_op *op = status ? NULL : engine_op_of_push(push);
    if (!op)
        return status ? status : NEAP_E_MEMORY;
    op->flags |= ENGINE_OP_ASYNC;
    op->fn.async = fn;
    op->arg = arg;
    engine_bulk_flush(self);
    return engine_admit(op, NULL, self);
}

static int wake(void *waker, const neap_run *run) {
    (void)run;
    neap_waker_wake(waker);
    return NEAP_OK;
}

static void free_pushed_waker(void *waker) {
    neap_waker_free(waker);
}

int engine_push_fence(neap_var *var, neap_waker *waker) {
    engine_op *op = engine_op_of_push(&(neap_push){
        .flags = NEAP_PUSH_SMALL | NEAP_PUSH_ALWAYS, .release = free_pushed_waker, .nwrites = 1, .writes = &var});
    if (!op)
        return NEAP_E_MEMORY;
    op->fn.sync = wake;
    op->arg = engine_waker_retain(waker);
    op->flags |= ENGINE_OP_HIDDEN;
    op->entries[0].access = ENGINE_FENCE;
    op->entries[0].writes = 0;
    int status = engine_admit(op, NULL, engine_self());
    if (status)
        neap_waker_free(waker);
    return status;
}
