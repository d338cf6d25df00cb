/* backpressure.c: how far the pushing threads are ahead of the work: bytes and estimated time of unfinished ops.
 *
 * The engine only counts; it never refuses a push. Whoever can pause between two pushes asks neap_ahead_poll, and is
 * woken when half of the budget is free, so that work does not run dry while it starts again.
 *
 * Results have their memory from the push on, scratch is asked for when the work begins: so results of what is under
 * way get a part only of what a device has left, or its memory would be gone before its ops have had theirs.
 */
#include "engine/device_internal.h"

#include <stdlib.h>

/* More of either bought no overlap in any loop that was measured, and each op ahead holds memory of its own: blocks
 * that are taken fresh from the system cost more than the work that they were taken for. */
static const int64_t BYTES = INT64_C(64) << 20, NS_PER_WORKER = 25000000;
enum { ROOM_PART = 4 };

static struct {
    _Atomic int64_t bytes, cost;
    _Atomic int64_t most_bytes, most_cost; /* 0: the default */
    _Atomic int64_t room;                  /* a part of the memory that the device with the least of it has left */
    engine_lock lock;
    engine_watch *watches;
    _Atomic bool awaited; /* looked at without the lock */
} ahead = {.room = INT64_MAX};

/* Whether what is under way is at most 1/part of the budget. */
static bool within(int part) {
    int64_t most_bytes = atomic_load_explicit(&ahead.most_bytes, memory_order_relaxed);
    int64_t most_cost = atomic_load_explicit(&ahead.most_cost, memory_order_relaxed);
    int64_t room = atomic_load_explicit(&ahead.room, memory_order_relaxed);
    if (most_bytes == 0)
        most_bytes = room < BYTES ? room : BYTES;
    if (most_cost == 0)
        most_cost = NS_PER_WORKER * engine.workers;
    return atomic_load(&ahead.bytes) <= most_bytes / part && atomic_load(&ahead.cost) <= most_cost / part;
}

static void find_least(engine_device *device, void *arg) {
    int64_t *least = arg, left = engine_memory_left(device);
    *least = left < *least ? left : *least;
}

static void look_at_memory(void) {
    int64_t least = INT64_MAX / 2;
    atomic_store_explicit(&engine_memory_was_taken, false, memory_order_relaxed);
    engine_devices_each(find_least, &least);
    atomic_store_explicit(&ahead.room, (least + atomic_load(&ahead.bytes)) / ROOM_PART, memory_order_relaxed);
}

static void fire(void) {
    engine_lock_take(&ahead.lock);
    engine_watch *due = engine_watch_take(&ahead.watches, 0);
    atomic_store(&ahead.awaited, false);
    engine_lock_drop(&ahead.lock);
    engine_watch_fire(due);
}

void engine_ahead_began(int64_t bytes, int64_t cost) {
    atomic_fetch_add_explicit(&ahead.bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&ahead.cost, cost, memory_order_relaxed);
}

/* A waiter sets `awaited` and then looks at the sums; we lower the sums and then look at `awaited`: one of us sees. */
void engine_ahead_ended(int64_t bytes, int64_t cost) {
    atomic_fetch_sub(&ahead.bytes, bytes);
    atomic_fetch_sub(&ahead.cost, cost);
    if (atomic_load(&ahead.awaited) && within(2))
        fire();
}

int neap_ahead_poll(neap_waker *waker) {
    if (engine_phase() == ENGINE_DEAD)
        return engine_check_alive();
    bool taken = atomic_load_explicit(&engine_memory_was_taken, memory_order_relaxed);
    if (taken || (!within(1) && atomic_load_explicit(&ahead.room, memory_order_relaxed) < BYTES))
        look_at_memory(); /* which is less now, or some may have come back */
    if (within(1))
        return NEAP_OK;
    engine_bulk_flush(engine_self());
    if (!waker)
        return NEAP_PENDING;
    engine_watch *made = engine_watch_new(waker);
    if (!made)
        return NEAP_PENDING;
    engine_lock_take(&ahead.lock);
    made = engine_watch_add(&ahead.watches, made, waker, 0);
    atomic_store(&ahead.awaited, true);
    engine_lock_drop(&ahead.lock);
    free(made);
    if (within(2))
        fire();
    return NEAP_PENDING;
}

int64_t neap_ahead_bytes(void) {
    return atomic_load(&ahead.bytes);
}

void neap_ahead_limit(int64_t bytes, int64_t ns) {
    atomic_store(&ahead.most_bytes, bytes > 0 ? bytes : 0);
    atomic_store(&ahead.most_cost, ns > 0 ? ns : 0);
    if (atomic_load(&ahead.awaited))
        fire(); /* those who wait look again */
}
