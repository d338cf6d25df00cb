/* var.c: variables and their queues.
 *
 * The order of a variable's queue is the order of pushes. Two pushes that share several variables must stand in the
 * same order in all of them, or each could wait for the other: so a push locks all its variables, by rising address,
 * before it enters any queue. Completion locks one variable at a time.
 *
 * stream_order.c lets ops on streams start before they are granted what they need.
 *
 *      grant rules     a read is granted when nothing is queued and no write is granted
 *                      a write is granted when nothing is queued and nothing is granted
 *      on completion   the queue's front is granted as far as these rules allow: one write, or a run of reads
 */
#include "engine/device_internal.h"

#include <stdlib.h>

static engine_slab var_slab = {.bytes = sizeof(neap_var)};

void engine_var_init(neap_var *var, bool in_buffer) {
    *var = (neap_var){.in_buffer = in_buffer};
}

int neap_var_new(neap_var **out) {
    int status = engine_check_alive();
    if (status)
        return status;
    neap_var *var = engine_slab_get(&var_slab);
    if (!var)
        return neap_error(NEAP_E_MEMORY, "no memory for a variable");
    engine_var_init(var, false);
    *out = var;
    return NEAP_OK;
}

static bool is_idle(const neap_var *var) {
    return !var->writing && var->readers == 0;
}

/* Nobody refers to the variable any more. */
static void destroy_var(neap_var *var) {
    engine_failure_release(var->failure);
    if (var->early)
        engine_early_forget(var);
    if (var->in_buffer) {
        engine_device_recycle((neap_buffer *)var);
    } else {
        engine_slab_put(&var_slab, var);
    }
}

void neap_var_delete(neap_var *var) {
    if (!var || engine_phase() == ENGINE_DEAD)
        return;
    engine_bulk_flush(engine_self());
    engine_lock_take(&var->lock);
    bool idle = is_idle(var);
    var->deleted = true;
    engine_lock_drop(&var->lock);
    if (idle)
        destroy_var(var);
}

uint64_t neap_var_version(const neap_var *var) {
    return atomic_load_explicit(&var->version, memory_order_acquire);
}

void engine_var_begin_anew(neap_var *var) {
    engine_lock_take(&var->lock);
    var->anew = true;
    engine_lock_drop(&var->lock);
}

bool engine_var_idle(neap_var *var) {
    engine_lock_take(&var->lock);
    bool idle = is_idle(var);
    engine_lock_drop(&var->lock);
    return idle;
}

/* ---- Entering ---------------------------------------------------------------------------------------------------- */

static void unlock_list(int count, neap_var *const *vars) {
    for (int i = 0; i < count; i++)
        engine_lock_drop(&vars[i]->lock);
}

/* Of a locked idle variable, whose buffer was taken over: what was written before is nobody's any more. */
static void forget_past(neap_var *var) {
    engine_failure_release(var->failure);
    var->failure = NULL;
    var->anew = false;
}

/* Tries the locks without waiting, so their order does not matter; a variable that is listed twice fails here, too. */
bool engine_var_claim(int nreads, neap_var *const *reads, int nwrites, neap_var *const *writes) {
    int read = 0, write = 0;
    for (; read < nreads; read++) {
        if (!reads[read] || !engine_lock_try(&reads[read]->lock))
            goto busy;
        if (reads[read]->writing || reads[read]->head) {
            read++;
            goto busy;
        }
    }
    for (; write < nwrites; write++) {
        if (!writes[write] || !engine_lock_try(&writes[write]->lock))
            goto busy;
        if (!is_idle(writes[write])) {
            write++;
            goto busy;
        }
    }
    for (int i = 0; i < nreads; i++) {
        reads[i]->readers++;
        engine_lock_drop(&reads[i]->lock);
    }
    for (int i = 0; i < nwrites; i++) {
        if (writes[i]->anew)
            forget_past(writes[i]);
        writes[i]->writing = true;
        writes[i]->writes++;
        engine_lock_drop(&writes[i]->lock);
    }
    return true;
busy:
    unlock_list(read, reads);
    unlock_list(write, writes);
    return false;
}

static int compare_addresses(const void *a, const void *b) {
    uintptr_t x = (uintptr_t) * (neap_var *const *)a, y = (uintptr_t) * (neap_var *const *)b;
    return (x > y) - (x < y);
}

static void sort_by_address(neap_var **vars, uint32_t count) {
    if (count > 16) {
        qsort(vars, count, sizeof(neap_var *), compare_addresses);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        neap_var *var = vars[i];
        uint32_t at = i;
        for (; at > 0 && (uintptr_t)vars[at - 1] > (uintptr_t)var; at--)
            vars[at] = vars[at - 1];
        vars[at] = var;
    }
}

static _Atomic uint32_t entered; /* ops that came to queues so far */

uint32_t engine_var_entered(void) {
    return atomic_load_explicit(&entered, memory_order_relaxed);
}

static uint32_t number_op(void) {
    return atomic_fetch_add_explicit(&entered, 1, memory_order_relaxed);
}

/* Grants the entry, of the op of this number, or appends it to the queue of its locked variable. True: granted. */
static bool enter(engine_entry *entry, uint32_t number) {
    neap_var *var = entry->var;
    var->writes += entry->writes;
    if (var->in_buffer)
        engine_buffer_used((neap_buffer *)var, engine_entry_op(entry), number);
    if (var->anew && entry->writes > 0) {
        entry->access = entry->access == ENGINE_WRITE ? ENGINE_FRESH : entry->access;
        var->anew = false;
    }
    if (entry->access == ENGINE_READ ? !var->writing && !var->head : is_idle(var)) {
        if (entry->access == ENGINE_READ) {
            var->readers++;
        } else {
            var->writing = true;
        }
        return true;
    }
    entry->next = NULL;
    if (var->head) {
        var->tail->next = entry;
    } else {
        var->head = entry;
    }
    var->tail = entry;
    if (var->early)
        engine_early_enter(entry);
    return false;
}

bool engine_var_order(uint32_t count, const engine_entry *entries, neap_var **order) {
    for (uint32_t i = 0; i < count; i++)
        order[i] = entries[i].var;
    sort_by_address(order, count);
    for (uint32_t i = 1; i < count; i++) {
        if (order[i] == order[i - 1])
            return false;
    }
    return true;
}

/* One variable needs no other order than its own lock's. */
static bool enqueue_one(engine_op *op) {
    neap_var *var = op->entries[0].var;
    atomic_store_explicit(&op->waiting, 1, memory_order_relaxed);
    engine_lock_take(&var->lock);
    bool granted = enter(&op->entries[0], number_op());
    engine_lock_drop(&var->lock);
    return granted; /* if not, the op is another thread's from the moment of the drop on */
}

/* The same for an op that may start early. */
static bool enqueue_for_stream(engine_op *op, neap_var *const *order) {
    uint32_t count = op->entry_count, granted = 0, promised = 0, number = number_op();
    bool sure = true;
    atomic_store_explicit(&op->waiting, engine_early_start_count(count + 1), memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++)
        engine_lock_take(&order[i]->lock);
    for (uint32_t i = 0; i < count; i++) {
        bool is_granted = enter(&op->entries[i], number);
        granted += is_granted;
        promised += op->entries[i].promised;
        sure = sure && engine_early_is_sure(&op->entries[i], is_granted);
    }
    engine_early_entered(op, sure);
    for (uint32_t i = 0; i < count; i++)
        engine_lock_drop(&order[i]->lock);
    return engine_early_count(op, granted + 1, granted + promised + 1) != ENGINE_EARLY_WAITS;
}

bool engine_var_enqueue(engine_op *op, neap_var *const *order) {
    uint32_t count = op->entry_count, granted = 0;
    if (op->flags & ENGINE_OP_STREAM)
        return enqueue_for_stream(op, order);
    if (count == 1)
        return enqueue_one(op);
    uint32_t number = number_op();
    atomic_store_explicit(&op->waiting, count + 1, memory_order_relaxed); /* one more: not ready before we are done */
    for (uint32_t i = 0; i < count; i++)
        engine_lock_take(&order[i]->lock);
    for (uint32_t i = 0; i < count; i++)
        granted += enter(&op->entries[i], number);
    for (uint32_t i = 0; i < count; i++)
        engine_lock_drop(&order[i]->lock);
    if (granted == count)
        return true; /* no queue has an entry of it, so nobody else counts */
    return atomic_fetch_sub_explicit(&op->waiting, granted + 1, memory_order_acq_rel) == granted + 1;
}

/* ---- Leaving ----------------------------------------------------------------------------------------------------- */

/* Takes from the locked variable the entries that may now be granted, and grants them. Returns as engine_var_finish. */
static engine_entry **grant_front(neap_var *var, engine_entry **granted) {
    engine_entry *last = NULL;
    *granted = var->head;
    while (var->head && !var->writing) {
        engine_entry *entry = var->head;
        if (entry->access == ENGINE_READ) {
            var->readers++;
        } else if (var->readers == 0) {
            var->writing = true;
        } else {
            break;
        }
        __builtin_prefetch(engine_entry_op(entry), 1);
        if (var->early)
            engine_early_granted(entry);
        var->head = entry->next;
        last = entry;
    }
    if (!last) {
        *granted = NULL;
        return granted;
    }
    last->next = NULL;
    return &last->next;
}

static void append_ready(engine_ready *ready, engine_op *op) {
    op->next = NULL;
    *ready->tail = op;
    ready->tail = &op->next;
}

/* Counts a write of the locked variable and attaches its failure. Returns the watches that are due; *forgotten is
 * released by the caller, without the lock. */
static engine_watch *count_write(neap_var *var, int access, engine_failure *failure, engine_failure **forgotten) {
    uint64_t version = atomic_load_explicit(&var->version, memory_order_relaxed) + 1;
    if (access == ENGINE_FRESH) {
        *forgotten = var->failure;
        var->failure = NULL;
    }
    if (failure && !var->failure)
        var->failure = engine_failure_retain(failure);
    var->writes--;
    atomic_store_explicit(&var->version, version, memory_order_release);
    return var->watches ? engine_watch_take(&var->watches, version) : NULL;
}

engine_entry **engine_var_finish(neap_var *var, int access, bool sent, engine_failure *failure,
                                 engine_entry **granted) {
    engine_watch *due = NULL;
    engine_failure *forgotten = NULL;
    engine_lock_take(&var->lock);
    if (access == ENGINE_READ) {
        var->readers--;
    } else {
        var->writing = false;
        if (access != ENGINE_FENCE)
            due = count_write(var, access, failure, &forgotten);
    }
    if (var->head)
        granted = grant_front(var, granted);
    if (var->early)
        engine_early_left(var, sent);
    if (var->head)
        __builtin_prefetch(var->head, 1); /* most likely what comes next */
    bool gone = var->deleted && is_idle(var);
    engine_lock_drop(&var->lock);
    if (gone)
        destroy_var(var);
    if (forgotten)
        engine_failure_release(forgotten);
    if (due)
        engine_watch_fire(due);
    return granted;
}

/* A grant of an op that may start early, or has. */
static void release_for_stream(engine_op *op, const engine_entry *entry, engine_ready *ready) {
    engine_early state = engine_early_count(op, 1, !entry->promised);
    if (state == ENGINE_EARLY_OVER)
        op->flags |= ENGINE_OP_OVER;
    if (state != ENGINE_EARLY_WAITS)
        append_ready(ready, op);
}

void engine_var_release(engine_entry *granted, engine_ready *ready) {
    while (granted) {
        engine_entry *next = granted->next;
        engine_op *op = engine_entry_op(granted);
        if (op->flags & ENGINE_OP_STREAM) {
            release_for_stream(op, granted, ready);
            granted = next;
            continue;
        }
        /* With one count left it is ours, and nobody else touches it. */
        if (atomic_load_explicit(&op->waiting, memory_order_acquire) == 1 ||
            atomic_fetch_sub_explicit(&op->waiting, 1, memory_order_acq_rel) == 1)
            append_ready(ready, op);
        granted = next;
    }
}

void engine_var_wrote(neap_var *var, int access, engine_failure *failure) {
    engine_failure *forgotten = NULL;
    engine_lock_take(&var->lock);
    engine_watch *due = count_write(var, access, failure, &forgotten);
    engine_lock_drop(&var->lock);
    if (forgotten)
        engine_failure_release(forgotten);
    if (due)
        engine_watch_fire(due);
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

uint64_t engine_var_target(neap_var *var) {
    engine_lock_take(&var->lock);
    uint64_t target = atomic_load_explicit(&var->version, memory_order_relaxed) + var->writes;
    engine_lock_drop(&var->lock);
    return target;
}

int engine_var_watch(neap_var *var, neap_waker *waker, uint64_t target) {
    engine_watch *made = engine_watch_new(waker);
    if (!made)
        return NEAP_PENDING;
    engine_lock_take(&var->lock);
    bool pending = atomic_load_explicit(&var->version, memory_order_relaxed) < target;
    if (pending)
        made = engine_watch_add(&var->watches, made, waker, target);
    engine_lock_drop(&var->lock);
    free(made);
    return pending ? NEAP_PENDING : NEAP_OK;
}

int neap_var_failure(neap_var *var) {
    engine_lock_take(&var->lock);
    engine_failure *failure = var->failure ? engine_failure_retain(var->failure) : NULL;
    engine_lock_drop(&var->lock);
    int status = failure ? engine_failure_raise(failure) : NEAP_OK;
    engine_failure_release(failure);
    return status;
}

int neap_var_poll(neap_var *var, neap_waker *waker) {
    int status = engine_check_alive();
    if (status)
        return status;
    engine_bulk_flush(engine_self());
    for (;;) {
        engine_lock_take(&var->lock);
        bool pending = var->writes > 0;
        engine_failure *failure = !pending && var->failure ? engine_failure_retain(var->failure) : NULL;
        engine_lock_drop(&var->lock);
        if (!pending) {
            if (failure)
                status = engine_failure_raise(failure);
            engine_failure_release(failure);
            return status;
        }
        status = waker ? engine_var_watch(var, waker, engine_var_target(var)) : NEAP_PENDING;
        if (status != NEAP_OK)
            return status; /* else the writes completed in between */
    }
}
