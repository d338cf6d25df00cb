/* activity.c: whether anything is under way: pushes, queued ops, loops. Threads count what they begin and end
 * (thread.c); who waits for the end of all is told here.
 */
#include "engine/engine_internal.h"

#include <stdlib.h>

static struct {
    engine_lock lock;
    engine_watch *first;
    _Atomic bool any; /* looked at without the lock */
} waiting_for_all;

static void fire_all(void) {
    engine_lock_take(&waiting_for_all.lock);
    engine_watch *due = engine_watch_take(&waiting_for_all.first, 0);
    atomic_store(&waiting_for_all.any, false);
    engine_lock_drop(&waiting_for_all.lock);
    engine_watch_fire(due);
}

/* The waiter sets `any` and then looks whether all is idle; we have counted what we ended (the addition of nothing
 * orders that count before the look) and then look at `any`: one of us sees. Of several threads that end the last ops
 * the last one to come here sees that all is idle. */
void engine_activity_signal(void) {
    atomic_fetch_add(&engine_self()->ended, 0);
    if (atomic_load(&waiting_for_all.any) && engine_thread_idle())
        fire_all();
}

int engine_activity_watch(neap_waker *waker) {
    engine_watch *made = engine_watch_new(waker);
    if (!made)
        return NEAP_PENDING;
    engine_lock_take(&waiting_for_all.lock);
    made = engine_watch_add(&waiting_for_all.first, made, waker, 0);
    atomic_store(&waiting_for_all.any, true);
    engine_lock_drop(&waiting_for_all.lock);
    free(made);
    if (!engine_thread_idle())
        return NEAP_PENDING;
    fire_all();
    return NEAP_OK;
}

void engine_activity_end(engine_thread *self) {
    engine_count_one(&self->ended);
    engine_activity_signal();
}

/* The count is raised before the look at the phase: see neap_engine_stop. */
int engine_activity_begin(engine_thread *self) {
    atomic_fetch_add(&self->begun, 1);
    int status = engine_check_running();
    if (status)
        engine_activity_end(self);
    return status;
}
