/* early.c: ops on streams that start before what they need has been done: the order of the streams stands in for it.
 *
 *      A writes x on a stream:   run ──▶ enqueued ─────────────────────▶ its callback ──▶ grants of x
 *      B reads x, on a stream:              └──▶ run early ──▶ enqueued ─────┴──▶ its callback, and its grants ──▶ over
 *
 * Without this each dependence would cost a round trip over the host, in which the device has nothing to do. What an op
 * needs counts as *promised* where the only op in its way has been enqueued: on the same stream nothing more is needed,
 * behind another stream of devices of the same kind the early op's stream waits for an event. So B may be enqueued when
 * each of its variables is granted or promised.
 *
 * All else is as if B had waited. It is over when its stream has passed it and all its grants are there; by then the
 * failures of what it needed are known, and one of them is its own, whatever it computed from that. Versions, waits and
 * the start of ops elsewhere follow from grants alone.
 *
 * Promises are given for the front of a variable's queue while the writer that holds the variable has been enqueued
 * (neap_var.stream): to a run of reads, or to one write. An entry that was promised and is granted later counts once.
 *
 *      op->waiting     low bits: grants that are missing, and while the op runs its callback and its start
 *                      high bits: entries that are neither granted nor promised
 *
 * Whoever brings the high bits to 0 while grants are missing starts the op early; whoever brings the low bits to 0 has
 * the op for itself.
 */
#include "engine/device_internal.h"

enum { STREAMS_MOST = UINT8_MAX, PROMISE_SHIFT = 24, ENTRIES_MOST = 200 /* fit into the high bits */ };

static const uint32_t GRANTS = (UINT32_C(1) << PROMISE_SHIFT) - 1;
static const uint32_t RUNNING = 2; /* the callback, and the start itself */

/* Numbers the streams of open devices from 1; 0: it has none, or there are too many. */
static uint8_t number_stream(int device, uint32_t flags) {
    int number = 2 * (device - engine.cpus) + (flags & NEAP_PUSH_COPY ? 2 : 1);
    return number > 0 && number < STREAMS_MOST ? (uint8_t)number : 0;
}

static uint8_t stream_number(const engine_op *op) {
    return number_stream(op->device, op->flags);
}

static engine_device *device_of_stream(uint8_t number) {
    return engine_device_at(engine.cpus + (number - 1) / 2);
}

static neap_stream *stream_of(uint8_t number) {
    const engine_device *device = device_of_stream(number);
    return number % 2 ? device->work : device->copies;
}

bool engine_early_possible(const neap_push *push) {
    return push->device >= engine.cpus && !engine_is_naive() && !(push->flags & NEAP_PUSH_ALWAYS) &&
           push->nreads + push->nwrites <= ENTRIES_MOST && neap_device_stream(push->device, push->flags);
}

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

uint32_t engine_early_start_count(uint32_t entries) {
    return entries << PROMISE_SHIFT | entries;
}

engine_early engine_early_count(engine_op *op, uint32_t grants, uint32_t promises) {
    uint32_t old = atomic_load_explicit(&op->waiting, memory_order_acquire), now;
    bool starts;
    do {
        now = old - grants - (promises << PROMISE_SHIFT);
        starts = promises && now >> PROMISE_SHIFT == 0 && (now & GRANTS) != 0;
    } while (!atomic_compare_exchange_weak_explicit(&op->waiting, &old, starts ? now + RUNNING : now,
                                                    memory_order_acq_rel, memory_order_acquire));
    if (starts)
        return ENGINE_EARLY_START;
    if (now & GRANTS)
        return ENGINE_EARLY_WAITS;
    return old >> PROMISE_SHIFT ? ENGINE_EARLY_READY : ENGINE_EARLY_OVER;
}

bool engine_early_running(engine_op *op) {
    return (atomic_load_explicit(&op->waiting, memory_order_acquire) & GRANTS) > RUNNING;
}

void engine_early_run_ready(engine_op *op) {
    atomic_store_explicit(&op->waiting, RUNNING, memory_order_release);
}

/* ---- Promises ---------------------------------------------------------------------------------------------------- */

/* Whether work on one stream can be ordered behind that of another without the host. */
static bool can_follow(uint8_t stream, uint8_t first) {
    if (stream == 0 || first == 0)
        return false;
    const neap_device_kind *kind = device_of_stream(stream)->kind;
    return stream == first || (kind == device_of_stream(first)->kind && kind->event_new);
}

bool engine_early_promise(engine_entry *entry, const engine_entry *before) {
    const engine_op *op = engine_entry_op(entry);
    bool front = !before || (before->promised && before->access == ENGINE_READ && entry->access == ENGINE_READ);
    entry->promised = front && entry->access != ENGINE_FENCE && op->flags & ENGINE_OP_STREAM &&
                      can_follow(stream_number(op), entry->var->stream);
    return entry->promised;
}

int neap_var_promised(neap_var *var, int device) {
    if (engine_check_alive())
        return 0;
    engine_bulk_flush(engine_self());
    engine_lock_take(&var->lock);
    bool queue = !var->head || (var->tail->promised && var->tail->access == ENGINE_READ);
    bool there = !var->writing && !var->head && !var->failure;
    bool promised =
        queue && var->writing && can_follow(number_stream(device, 0), var->stream) && !engine_is_cancelled(var->epoch);
    engine_lock_drop(&var->lock);
    return there || promised;
}

/* The op, which holds the variable, has been enqueued: promises what follows. */
static void promise_front(engine_op *op, neap_var *var, engine_ready *ready) {
    engine_lock_take(&var->lock);
    var->stream = stream_number(op);
    var->epoch = op->epoch;
    const engine_entry *before = NULL;
    for (engine_entry *entry = var->head; entry && engine_early_promise(entry, before); entry = entry->next) {
        engine_op *next = engine_entry_op(entry); /* lives as long as its entry stands in the locked queue */
        if (engine_early_count(next, 0, 1) == ENGINE_EARLY_START) {
            next->next = NULL;
            *ready->tail = next;
            ready->tail = &next->next;
        }
        if (entry->access != ENGINE_READ)
            break;
        before = entry;
    }
    engine_lock_drop(&var->lock);
}

void engine_early_enqueued(engine_op *op, engine_ready *ready) {
    for (uint32_t k = 0; k < op->entry_count; k++) {
        const engine_entry *entry = &op->entries[k];
        if (entry->access != ENGINE_READ && !entry->promised)
            promise_front(op, entry->var, ready);
    }
}

/* ---- Starting early ---------------------------------------------------------------------------------------------- */

static int wait_for_stream(engine_device *device, neap_stream *stream, uint8_t first) {
    engine_device *source = device_of_stream(first);
    neap_event *event;
    int status = source->kind->event_new(source->handle, stream_of(first), &event);
    if (status)
        return status;
    status = device->kind->stream_wait(device->handle, stream, event);
    source->kind->event_free(source->handle, event);
    return status;
}

/* The event marks where the other stream stands by now, which is behind the work in question. */
int engine_early_order(engine_op *op, neap_stream *stream) {
    engine_device *device = engine_device_at(op->device);
    uint8_t own = stream_number(op), last = 0;
    int status = NEAP_OK;
    for (uint32_t k = 0; k < op->entry_count && !status; k++) {
        if (!op->entries[k].promised)
            continue;
        neap_var *var = op->entries[k].var;
        engine_lock_take(&var->lock);
        uint8_t first = var->stream; /* 0: it is done */
        engine_lock_drop(&var->lock);
        if (first && first != own && first != last)
            status = wait_for_stream(device, stream, last = first);
    }
    return status;
}
