/* push.c: the life of an op, from its push to its end.
 *
 *      push ──▶ small, sync, all variables idle: run here, without an op structure      (the hot path)
 *        └────▶ op + entries into the queues ──▶ ready? small: run here; else ──▶ pool ──▶ worker: run
 *                                                                                              │
 *               release(arg) ◀── finish ◀── returned (sync) or neap_complete (async) ◀─────────┘
 *                    └──▶ grants given back ──▶ ops that became ready ──▶ pool
 *
 * `release` is called before the grants are given back, so whoever waited for the op finds it already called.
 *
 * An op fails if its function fails, or, unless it was pushed with NEAP_PUSH_ALWAYS, if one of its variables carries a
 * failure: then the function is skipped. A failure attaches to the written variables.
 *
 * The naive scheduler uses the same queues but no pool: every op runs at its push, on the pushing thread; one that has
 * to wait (for an async op, for another thread) runs on the thread that completes what it waited for.
 */
#include "engine/engine_internal.h"

#include <stdlib.h>

enum {
    NEST_MOST = ENGINE_LIMIT(8, 2),   /* ops that run inside each other's pushes */
    SHORT_LIST = ENGINE_LIMIT(32, 2), /* variables of a push that need no memory to be sorted */
    FEW_ENTRIES = 4,
    SOME_ENTRIES = 12
};

static engine_slab few_slab = {.bytes = sizeof(engine_op) + FEW_ENTRIES * sizeof(engine_entry)};
static engine_slab some_slab = {.bytes = sizeof(engine_op) + SOME_ENTRIES * sizeof(engine_entry)};

static engine_op *new_op(uint32_t entry_count) {
    if (entry_count <= FEW_ENTRIES)
        return engine_slab_get(&few_slab);
    if (entry_count <= SOME_ENTRIES)
        return engine_slab_get(&some_slab);
    return engine_alloc(sizeof(engine_op) + entry_count * sizeof(engine_entry));
}

static void free_op(engine_op *op) {
    if (op->entry_count <= FEW_ENTRIES) {
        engine_slab_put(&few_slab, op);
    } else if (op->entry_count <= SOME_ENTRIES) {
        engine_slab_put(&some_slab, op);
    } else {
        free(op);
    }
}

/* ---- Running and finishing --------------------------------------------------------------------------------------- */

/* Passes ready ops on. Under the naive scheduler they run here, once no op of this thread is running. */
static void hand_over(engine_ready *ready, engine_thread *self) {
    if (engine.scheduler != NEAP_SCHEDULER_NAIVE) {
        if (ready->head)
            engine_pool_submit(ready, self);
        return;
    }
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

/* Calls a sync function. NULL, or its failure (OWNED). */
static engine_failure *call_sync(neap_sync_fn fn, void *arg, const neap_run *run, const char *name, const char *site,
                                 engine_thread *self) {
    uint64_t errors = self->errors;
    self->depth++;
    int status = fn(arg, run);
    self->depth--;
    if (status >= 0)
        return NULL;
    return engine_failure_new(status, self->errors != errors ? self->text : NULL, name, site);
}

/* The op is over, with a failure (TAKES) or NULL. */
static void finish(engine_op *op, engine_failure *failure, engine_thread *self) {
    engine_ready ready = {NULL, &ready.head};
    if (op->release)
        op->release(op->arg);
    for (uint32_t i = 0; i < op->entry_count; i++) {
        engine_var_finish(op->entries[i].var, op->entries[i].access, failure, &ready);
    }
    engine_failure_release(failure);
    if (!(op->flags & ENGINE_OP_HIDDEN))
        engine_count_one(&self->completed);
    free_op(op);
    hand_over(&ready, self);
    engine_wait_signal();
}

/* The failure that keeps the op from running, or NULL. The op holds all grants, so nobody changes the fields. */
static engine_failure *inherited(engine_op *op) {
    if (op->flags & NEAP_PUSH_ALWAYS)
        return NULL;
    for (uint32_t i = 0; i < op->entry_count; i++) {
        if (op->entries[i].var->failure)
            return engine_failure_retain(op->entries[i].var->failure);
    }
    return NULL;
}

void engine_op_run(engine_op *op, engine_thread *self) {
    neap_run run = {.device = op->device, .worker = self->worker};
    engine_failure *failure = inherited(op);
    if (failure) {
        engine_count_one(&self->skipped);
    } else if (op->flags & ENGINE_OP_ASYNC) {
        self->depth++;
        op->fn.async(op->arg, &run, (neap_completion *)op); /* the op may be gone when this returns */
        self->depth--;
        engine_ready none = {NULL, &none.head};
        hand_over(&none, self);
        return;
    } else {
        failure = call_sync(op->fn.sync, op->arg, &run, op->name, op->site, self);
    }
    finish(op, failure, self);
}

void neap_complete(neap_completion *done, int status) {
    if (engine_phase() == ENGINE_DEAD)
        return;
    engine_op *op = (engine_op *)done;
    engine_thread *self = engine_self();
    engine_failure *failure = NULL;
    if (status < 0)
        failure = engine_failure_new(status, self->code == status ? self->text : NULL, op->name, op->site);
    finish(op, failure, self);
}

/* ---- Pushing ----------------------------------------------------------------------------------------------------- */

static int check_push(const neap_push *push, bool has_function) {
    int status = engine_check_running();
    if (status)
        return status;
    if (!has_function)
        return neap_error(NEAP_E_ARGUMENT, "push without a function");
    if (push->device < 0 || push->device >= engine.devices) {
        return neap_error(NEAP_E_ARGUMENT, "push to device %d of %d", push->device, engine.devices);
    }
    if (push->nreads < 0 || push->nwrites < 0)
        return neap_error(NEAP_E_ARGUMENT, "push with a negative count");
    for (int i = 0; i < push->nreads + push->nwrites; i++) {
        neap_var *var = i < push->nreads ? push->reads[i] : push->writes[i - push->nreads];
        if (!var)
            return neap_error(NEAP_E_ARGUMENT, "push with a null variable");
    }
    return NEAP_OK;
}

/* Enters the op into the queues and runs it or hands it over when it is ready. Frees it on failure. */
static int admit(engine_op *op, engine_thread *self) {
    bool naive = engine.scheduler == NEAP_SCHEDULER_NAIVE;
    bool inlines = self->depth < NEST_MOST && (naive || op->flags & NEAP_PUSH_SMALL);
    bool hidden = op->flags & ENGINE_OP_HIDDEN;
    neap_var *few[SHORT_LIST], **order = few, *duplicate = NULL;
    int status = naive ? NEAP_OK : engine_pool_ensure();
    if (!status && op->entry_count > SHORT_LIST && !(order = engine_alloc(op->entry_count * sizeof(neap_var *)))) {
        status = neap_error(NEAP_E_MEMORY, "no memory for an operation");
    }
    if (status) {
        free_op(op);
        return status;
    }
    atomic_fetch_add(&engine.outstanding, 1); /* before the look at the phase: see neap_engine_stop */
    status = engine_check_running();
    bool ready = !status && engine_var_enqueue(op, order, &duplicate);
    if (duplicate)
        status = neap_error(NEAP_E_ARGUMENT, "a variable is listed twice in one push");
    if (order != few)
        free(order);
    if (status) {
        free_op(op);
        engine_wait_signal();
        return status;
    }
    if (!hidden)
        engine_count_one(&self->pushed);
    if (ready && inlines) {
        if (!hidden)
            engine_count_one(&self->inlined);
        engine_op_run(op, self);
    } else if (ready) {
        op->next = NULL;
        engine_ready list = {op, &op->next};
        hand_over(&list, self);
    }
    return NEAP_OK;
}

static int push_op(engine_op model, const neap_push *push, bool has_function) {
    int status = check_push(push, has_function);
    if (status)
        return status;
    uint32_t count = (uint32_t)push->nreads + (uint32_t)push->nwrites;
    engine_op *op = new_op(count);
    if (!op)
        return neap_error(NEAP_E_MEMORY, "no memory for an operation");
    *op = model;
    op->flags |= push->flags;
    op->device = push->device;
    op->priority = push->priority;
    op->release = push->release;
    op->name = push->name;
    op->site = push->site;
    op->entry_count = count;
    for (uint32_t i = 0; i < count; i++) {
        bool read = i < (uint32_t)push->nreads;
        op->entries[i] = (engine_entry){
            .var = read ? push->reads[i] : push->writes[i - (uint32_t)push->nreads],
            .op = op,
            .access = read ? ENGINE_READ : ENGINE_WRITE,
        };
    }
    return admit(op, engine_self());
}

static engine_failure *inherited_by_push(const neap_push *push) {
    if (push->flags & NEAP_PUSH_ALWAYS)
        return NULL;
    for (int i = 0; i < push->nreads; i++) {
        if (push->reads[i]->failure)
            return engine_failure_retain(push->reads[i]->failure);
    }
    for (int i = 0; i < push->nwrites; i++) {
        if (push->writes[i]->failure)
            return engine_failure_retain(push->writes[i]->failure);
    }
    return NULL;
}

/* Runs a sync op whose variables were claimed. */
static void run_claimed(neap_sync_fn fn, void *arg, const neap_push *push, engine_thread *self) {
    neap_run run = {.device = push->device, .worker = self->worker};
    engine_ready ready = {NULL, &ready.head};
    engine_count_one(&self->pushed);
    engine_count_one(&self->inlined);
    engine_failure *failure = inherited_by_push(push);
    if (failure) {
        engine_count_one(&self->skipped);
    } else {
        failure = call_sync(fn, arg, &run, push->name, push->site, self);
    }
    if (push->release)
        push->release(arg);
    for (int i = 0; i < push->nreads; i++)
        engine_var_finish(push->reads[i], ENGINE_READ, NULL, &ready);
    for (int i = 0; i < push->nwrites; i++)
        engine_var_finish(push->writes[i], ENGINE_WRITE, failure, &ready);
    if (failure)
        engine_failure_release(failure);
    engine_count_one(&self->completed);
    hand_over(&ready, self);
}

int neap_push_sync(neap_sync_fn fn, void *arg, const neap_push *push) {
    if (push->flags & NEAP_PUSH_SMALL || engine.scheduler == NEAP_SCHEDULER_NAIVE) {
        engine_thread *self = engine_self();
        bool sound = engine_phase() == ENGINE_RUNNING && fn && (unsigned)push->device < (unsigned)engine.devices &&
                     (push->nreads | push->nwrites) >= 0;
        if (sound && self->depth < NEST_MOST &&
            engine_var_claim(push->nreads, push->reads, push->nwrites, push->writes)) {
            run_claimed(fn, arg, push, self);
            return NEAP_OK;
        }
    }
    return push_op((engine_op){.fn.sync = fn, .arg = arg}, push, fn);
}

int neap_push_async(neap_async_fn fn, void *arg, const neap_push *push) {
    return push_op((engine_op){.fn.async = fn, .arg = arg, .flags = ENGINE_OP_ASYNC}, push, fn);
}

static int wake(void *waker, const neap_run *run) {
    (void)run;
    neap_waker_wake(waker);
    return NEAP_OK;
}

static void unref(void *waker) {
    neap_waker_free(waker);
}

int engine_op_fence(neap_var *var, neap_waker *waker) {
    engine_op *op = new_op(1);
    if (!op)
        return neap_error(NEAP_E_MEMORY, "no memory to wait for a variable");
    *op = (engine_op){.fn.sync = wake,
                      .arg = engine_waker_retain(waker),
                      .release = unref,
                      .flags = NEAP_PUSH_SMALL | NEAP_PUSH_ALWAYS | ENGINE_OP_HIDDEN,
                      .entry_count = 1};
    op->entries[0] = (engine_entry){.var = var, .op = op, .access = ENGINE_FENCE};
    int status = admit(op, engine_self());
    if (status)
        neap_waker_free(waker);
    return status;
}
