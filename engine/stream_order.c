/* stream_order.c: ops on streams that start before their inputs are there: the order of streams replaces the wait.
 *
 *      A writes x on a stream:   run ──▶ enqueued ─────────────────────▶ its callback ──▶ grants of x
 *      B reads x, on a stream:              └──▶ run early ──▶ enqueued ─────┴──▶ its callback, and its grants ──▶ over
 *
 * Otherwise each dependence would cost a round trip over the host, while the device has nothing to do. An access of a
 * variable is *sent* once its op has been enqueued. An entry in the queue is *promised* when all accesses in its way
 * have been sent: on the same stream nothing more is needed, behind another stream of devices of the same kind the
 * early op's stream waits for an event. So B may be enqueued when each of its variables is granted or promised.
 *
 * All else is as if B had waited. B is over when its stream has passed the work and all grants are there; by then the
 * failures of the inputs are known, and B fails with the first, whatever it computed. Versions, waits and the start of
 * ops elsewhere follow from grants alone.
 *
 * Promises are given from the front of the queue on: to a write behind sent accesses, and to a run of reads behind a
 * sent write. An entry with a promise and a later grant counts once.
 *
 *      granted   W sent
 *      queue     R promised, sent    R promised    W    R ...       the W is promised when the second R is sent
 *
 *      op->waiting     low bits: missing grants, and while the op runs its callback and its start
 *                      high bits: entries neither granted nor promised
 *
 * The thread that brings the high bits to 0 while grants are missing starts the op early; the thread that brings the
 * low bits to 0 owns the op.
 *
 * An op is *sure* if none of its inputs has failed, and the op waits for streams alone, or for sure ops: maybe for a
 * worker to enqueue it, but for nothing that a user might do (neap_var_is_sure).
 */
#include "engine/device_internal.h"

enum { PROMISE_SHIFT = 24, ENTRIES_MOST = 200 /* for the high bits */ };
enum { STREAMS_MOST = 64 /* a bit each */ };

static const uint32_t GRANTS = (UINT32_C(1) << PROMISE_SHIFT) - 1;
static const uint32_t RUNNING = 2; /* the callback, and the start itself */

/* Of a variable used by ops on streams. */
typedef struct engine_early_var {
    engine_entry *behind; /* the first entry without a promise in the queue; NULL: all have promises */
    uint8_t writer;       /* the stream of the last sent write; 0: there is none */
    uint64_t readers;     /* the streams of reads sent since, a bit for each number */
    uint32_t sent;        /* of the granted and promised accesses */
    uint32_t promised;    /* entries of the queue */
    uint32_t epoch;       /* of the op of `sure` */
    uint8_t sure;         /* the stream of the last writing op, if sure; 0: not sure, or ended */
    bool last_writes;     /* the last promised entry */
} engine_early_var;

static engine_slab early_slab = {.bytes = sizeof(engine_early_var)};

/* Numbers the streams of open devices from 1; 0: the device has none, or there are too many. */
static uint8_t number_stream(int device, uint32_t flags) {
    int number = 2 * (device - engine.cpus) + (flags & NEAP_PUSH_COPY ? 2 : 1);
    return number > 0 && number < STREAMS_MOST ? (uint8_t)number : 0;
}

static uint8_t stream_number(const engine_op *op) {
    return number_stream(op->device, op->flags);
}

static uint64_t stream_bit(uint8_t number) {
    return number ? UINT64_C(1) << number : 0;
}

static engine_device *device_of_stream(uint8_t number) {
    return engine_device_at(engine.cpus + (number - 1) / 2);
}

static neap_stream *stream_of(uint8_t number) {
    const engine_device *device = device_of_stream(number);
    return number % 2 ? device->work : device->copies;
}

bool engine_early_possible(const neap_push *push) {
    return number_stream(push->device, push->flags) && !engine_is_naive() && !(push->flags & NEAP_PUSH_ALWAYS) &&
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

/* Whether work on one stream can be ordered behind another stream's without the host. */
static bool can_follow(uint8_t stream, uint8_t first) {
    const neap_device_kind *kind = device_of_stream(stream)->kind;
    return stream == first || (kind == device_of_stream(first)->kind && kind->event_new);
}

/* Takes the lowest stream out of a set; 0: the set is empty. */
static uint8_t take_stream(uint64_t *streams) {
    if (*streams == 0)
        return 0;
    uint8_t number = (uint8_t)__builtin_ctzll(*streams);
    *streams &= *streams - 1;
    return number;
}

static bool can_follow_all(uint8_t stream, uint64_t streams) {
    for (uint8_t first; (first = take_stream(&streams)) != 0;)
        if (!can_follow(stream, first))
            return false;
    return true;
}

static int prepare(neap_var *var) {
    engine_lock_take(&var->lock);
    if (!var->early && (var->early = engine_slab_get(&early_slab)) != NULL)
        *var->early = (engine_early_var){.behind = var->head};
    bool done = var->early;
    engine_lock_drop(&var->lock);
    return done ? NEAP_OK : neap_error(NEAP_E_MEMORY, "no memory for an operation");
}

int engine_early_prepare(const engine_op *op) {
    int status = NEAP_OK;
    for (uint32_t k = 0; k < op->entry_count && !status; k++)
        status = prepare(op->entries[k].var);
    return status;
}

void engine_early_forget(neap_var *var) {
    engine_slab_put(&early_slab, var->early);
    var->early = NULL;
}

/* The streams of the sent accesses directly before this access; they themselves follow all earlier ones. */
static uint64_t streams_before(const engine_early_var *early, int access) {
    return access == ENGINE_READ || !early->readers ? stream_bit(early->writer) : early->readers;
}

/* Promises the first entry without a promise, if possible. */
static bool promise_next(neap_var *var) {
    engine_early_var *early = var->early;
    engine_entry *entry = early->behind;
    if (!entry || entry->access == ENGINE_FENCE)
        return false;
    const engine_op *op = engine_entry_op(entry); /* lives as long as its entry stands in the locked queue */
    bool all_sent = early->sent == var->readers + var->writing + early->promised;
    bool behind_reads = early->promised ? !early->last_writes : !var->writing;
    if (!(all_sent || (behind_reads && entry->access == ENGINE_READ)) || !(op->flags & ENGINE_OP_STREAM) ||
        !can_follow_all(stream_number(op), streams_before(early, entry->access)))
        return false;
    entry->promised = true;
    early->promised++;
    early->last_writes = entry->access != ENGINE_READ;
    early->behind = entry->next;
    return true;
}

void engine_early_enter(engine_entry *entry) {
    engine_early_var *early = entry->var->early;
    if (!(engine_entry_op(entry)->flags & ENGINE_OP_STREAM))
        early->sure = 0;
    if (early->behind)
        return;
    early->behind = entry;
    promise_next(entry->var);
}

void engine_early_granted(const engine_entry *entry) {
    engine_early_var *early = entry->var->early;
    if (entry->promised)
        early->promised--;
    else
        early->behind = entry->next;
}

void engine_early_left(neap_var *var, bool sent) {
    engine_early_var *early = var->early;
    early->sent -= sent;
    if (!var->writing && !var->head)
        early->sure = 0;
    if (!var->writing && !var->readers)
        early->writer = 0, early->readers = 0;
}

/* The entry's op, with a grant or a promise of the variable, has been enqueued: promises the next entries. */
static void send_entry(const engine_op *op, const engine_entry *entry, engine_ready *ready) {
    neap_var *var = entry->var;
    engine_lock_take(&var->lock);
    engine_early_var *early = var->early;
    early->sent++;
    if (entry->access == ENGINE_READ)
        early->readers |= stream_bit(stream_number(op));
    else
        early->writer = stream_number(op), early->readers = 0;
    for (engine_entry *next; (next = early->behind) != NULL && promise_next(var);) {
        engine_op *behind = engine_entry_op(next);
        if (engine_early_count(behind, 0, 1) == ENGINE_EARLY_START) {
            behind->next = NULL;
            *ready->tail = behind;
            ready->tail = &behind->next;
        }
    }
    engine_lock_drop(&var->lock);
}

void engine_early_enqueued(engine_op *op, engine_ready *ready) {
    op->sent = true;
    for (uint32_t k = 0; k < op->entry_count; k++)
        send_entry(op, &op->entries[k], ready);
}

/* ---- What is sure ------------------------------------------------------------------------------------------------ */

bool engine_early_is_sure(const engine_entry *entry, bool granted) {
    const neap_var *var = entry->var;
    uint8_t own = stream_number(engine_entry_op(entry)), last = var->early->sure;
    if (granted)
        return entry->access == ENGINE_FRESH || !var->failure;
    return entry->promised || (last && can_follow(own, last));
}

void engine_early_entered(engine_op *op, bool sure) {
    for (uint32_t k = 0; k < op->entry_count; k++) {
        const engine_entry *entry = &op->entries[k];
        engine_early_var *early = entry->var->early;
        if (sure && !entry->writes)
            continue;
        early->sure = sure ? stream_number(op) : 0;
        early->epoch = op->epoch;
    }
}

int neap_var_is_sure(neap_var *var, int device) {
    if (engine_check_alive())
        return 0;
    engine_bulk_flush(engine_self());
    engine_lock_take(&var->lock);
    uint8_t own = number_stream(device, 0), last = var->early ? var->early->sure : 0;
    bool there = !var->writing && !var->head && !var->failure;
    bool sure = own && last && can_follow(own, last) && !engine_is_cancelled(var->early->epoch);
    engine_lock_drop(&var->lock);
    return there || sure;
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

/* The event marks the present end of the other stream, behind the work in question. A promise from a stream of another
 * kind of device has become a grant meanwhile. */
int engine_early_order(engine_op *op, neap_stream *stream) {
    engine_device *device = engine_device_at(op->device);
    uint8_t own = stream_number(op);
    uint64_t streams = 0;
    for (uint32_t k = 0; k < op->entry_count; k++) {
        const engine_entry *entry = &op->entries[k];
        if (!entry->promised)
            continue;
        engine_lock_take(&entry->var->lock);
        streams |= streams_before(entry->var->early, entry->access);
        engine_lock_drop(&entry->var->lock);
    }
    int status = NEAP_OK;
    for (uint8_t first; (first = take_stream(&streams)) != 0 && !status;)
        if (first != own && can_follow(own, first))
            status = wait_for_stream(device, stream, first);
    return status;
}
