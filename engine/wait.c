/* wait.c: waiting for one variable, and for everything.
 *
 * A waiting thread runs ready work meanwhile (pool.c). A wait inside an op would wait for the very op, or keep a worker
 * from working, so it is an error, unless there is nothing to wait for.
 *
 * A failure is reported once, by the first wait on one of its variables; later waits, also on variables that inherited
 * the failure, do not report. The failure stays on its variables, where neap_var_poll shows it, and ops that read a
 * failed variable are skipped. A write pushed after the report begins the variable anew (failure.c).
 */
#include "engine/timeline.h"

#include <poll.h>
#include <time.h>

enum { FOR_EVER = -1, NAP_NS = 100000 };

/* ---- How a thread sleeps ----------------------------------------------------------------------------------------- */

static int sleep_on(neap_waker *waker, int timeout_ms, int64_t *began) {
    int interrupts = neap_interrupt_pending();
    if (timeout_ms != 0 && engine_pool_attend(waker, NULL, began))
        return 1;
    if (neap_interrupt_pending() != interrupts)
        return 0; /* the signal has been here already */
    struct pollfd ready = {.fd = waker->fd, .events = POLLIN};
    return poll(&ready, 1, timeout_ms) > 0 ? 1 : 0;
}

int neap_waker_sleep(neap_waker *waker, int timeout_ms) {
    if (engine_waker_woken(waker))
        return 1;
    int64_t began = engine_timeline_now();
    int woken = sleep_on(waker, timeout_ms, &began);
    if (began)
        engine_timeline_wait(began);
    return woken;
}

void engine_waker_block(neap_waker *waker, const neap_var *awaited) {
    while (!engine_waker_woken(waker)) {
        int64_t began = engine_timeline_now();
        if (!engine_pool_attend(waker, awaited, &began))
            engine_futex_wait(&waker->woken, 0, FOR_EVER);
        if (began)
            engine_timeline_wait(began);
    }
}

static int refuse_inside_op(void) {
    if (engine_self()->depth == 0)
        return NEAP_OK;
    return neap_error(NEAP_E_STATE, "cannot wait inside an operation");
}

/* ---- One variable ------------------------------------------------------------------------------------------------ */

static int report_failure(neap_var *var) {
    engine_lock_take(&var->lock);
    engine_failure *failure = var->failure ? engine_failure_retain(var->failure) : NULL;
    engine_lock_drop(&var->lock);
    if (!failure)
        return NEAP_OK;
    int status = engine_failure_report(failure);
    engine_failure_release(failure);
    return status;
}

void neap_var_told(neap_var *var) {
    engine_lock_take(&var->lock);
    if (var->failure)
        engine_failure_tell(var->failure);
    engine_lock_drop(&var->lock);
}

/* Registers a fresh waker by `arrange`, with `target`, and blocks until the waker is woken. */
static int block_on(neap_var *var, int (*arrange)(neap_var *var, neap_waker *waker, uint64_t target), uint64_t target) {
    int status = refuse_inside_op();
    if (status)
        return status;
    neap_waker *waker = engine_waker_local();
    if (!waker)
        return neap_error(NEAP_E_MEMORY, "no memory to wait for a variable");
    status = arrange(var, waker, target);
    if (status == NEAP_PENDING)
        engine_waker_block(waker, var);
    neap_waker_free(waker);
    return status < 0 ? status : NEAP_OK;
}

static int arrange_fence(neap_var *var, neap_waker *waker, uint64_t target) {
    (void)target;
    int status = engine_push_fence(var, waker);
    return status ? status : NEAP_PENDING;
}

int neap_var_wait_to_read(neap_var *var) {
    int status = engine_check_alive();
    if (!status)
        engine_bulk_flush(engine_self());
    uint64_t target = status ? 0 : engine_var_target(var);
    while (!status && neap_var_version(var) < target) /* again, if there was no memory for a watch */
        status = block_on(var, engine_var_watch, target);
    return status ? status : report_failure(var);
}

int neap_var_wait_to_write(neap_var *var) {
    int status = engine_check_alive();
    if (!status)
        engine_bulk_flush(engine_self());
    if (!status && !engine_var_idle(var))
        status = block_on(var, arrange_fence, 0);
    return status ? status : report_failure(var);
}

/* ---- Everything -------------------------------------------------------------------------------------------------- */

int neap_poll_all(neap_waker *waker) {
    int status = engine_check_running();
    if (status)
        return status;
    engine_bulk_flush(engine_self());
    if (!engine_thread_idle()) {
        status = waker ? engine_activity_watch(waker) : NEAP_PENDING;
        if (status)
            return status;
    }
    return engine_failure_report_all();
}

/* Without memory for a waker the thread looks again and again, at leisure. */
void engine_wait_idle(void) {
    while (!engine_thread_idle()) {
        neap_waker *waker = engine_waker_local();
        if (waker && engine_activity_watch(waker) == NEAP_PENDING) {
            engine_waker_block(waker, NULL);
        } else if (neap_engine_help(NAP_NS) == 0) {
            nanosleep(&(struct timespec){0, NAP_NS}, NULL);
        }
        neap_waker_free(waker);
    }
}

int neap_wait_all(void) {
    int status = engine_check_running();
    if (!status)
        engine_bulk_flush(engine_self());
    if (!status && !engine_thread_idle()) {
        status = refuse_inside_op();
        if (!status)
            engine_wait_idle();
    }
    return status ? status : engine_failure_report_all();
}

int neap_engine_help(int64_t budget_ns) {
    engine_thread *self = engine_self();
    if (engine_phase() != ENGINE_RUNNING || self->depth > 0)
        return 0;
    engine_bulk_flush(self);
    int ran = 0;
    int64_t began = engine_now();
    while ((ran == 0 || engine_now() - began < budget_ns) && engine_pool_help())
        ran++;
    return ran;
}
