/* op_internal.h: ops, ways to push ops, and pools: shared by the files of pools, of ops and of calls.
 *
 * An op has one owner at a time: its pusher, until the op is in the queues; the thread whose grant brings `waiting` to
 * 0; the pool; the thread that runs the op and frees it (an async op: the thread that completes it).
 */
#ifndef NEAP_OP_INTERNAL_H
#define NEAP_OP_INTERNAL_H

#include "engine/engine_internal.h"

/* ---- Ops (op.c, op_run.c) ---------------------------------------------------------------------------------------- */
typedef union engine_fn { /* the op's flags tell which member */
    neap_sync_fn sync;
    neap_async_fn async;
    engine_failure *failure; /* of an op with ENGINE_OP_STREAM, once it has run. OWNED, or NULL */
} engine_fn;

struct engine_op { /* two cache lines with one entry: ops pass from core to core, and each line costs */
    _Atomic uint32_t waiting;
    uint32_t entry_count;
    uint32_t flags; /* NEAP_PUSH_… and ENGINE_OP_… */
    uint32_t epoch; /* engine.epoch at its push */
    int32_t priority;
    int16_t device;
    bool sent; /* stream_order.c */
    engine_fn fn;
    void *arg;
    void (*release)(void *arg);
    const char *name, *site;
    engine_op *next; /* in a queue, a ready list or a bulk; in a queue's heap: the next sibling */
    union {
        engine_op *child; /* in a queue's heap */
        int64_t queued;   /* of an op outside of heaps: when it was pushed, for the timeline, 0: not recorded */
    };
    union {
        uint64_t order; /* in a queue's heap: breaks ties of priority */
        uint64_t slice; /* once started: its number in the timeline, 0: not recorded */
    };
    int64_t bytes, cost; /* of the run-ahead budget */
    engine_entry entries[];
};

static inline engine_op *engine_entry_op(const engine_entry *entry) {
    return (engine_op *)((char *)(entry - entry->index) - offsetof(engine_op, entries));
}

enum {
    ENGINE_OP_ASYNC = 1 << 16,
    ENGINE_OP_HIDDEN = 1 << 17,  /* not in the counters */
    ENGINE_OP_AT_PUSH = 1 << 18, /* ready at its push, and run there */
    ENGINE_OP_STREAM = 1 << 19,  /* a sync op; may start early (stream_order.c) */
    ENGINE_OP_OVER = 1 << 20     /* has run and has its last grant: to be finished */
};

engine_op *engine_op_new(uint32_t entry_count); /* with nothing but entry_count and `sent` set. NULL: out of memory */
/* An op with entries for a checked push. NULL with the error set. */
engine_op *engine_op_of_push(const neap_push *push);
void engine_op_free(engine_op *op);
/* Runs and finishes a ready op on this thread (an async op: starts it). */
void engine_op_run(engine_op *op, engine_thread *self);
/* Why the op must not run (OWNED), or NULL. The op holds all grants, so nobody changes the variables' failures. */
engine_failure *engine_op_failure(engine_op *op);
/* Calls the function, unless the op fails before, then `release`. NULL, or the failure (OWNED). */
engine_failure *engine_op_perform(engine_op *op, engine_thread *self);
/* Calls a sync function. NULL, or its failure (OWNED). */
engine_failure *engine_op_call(neap_sync_fn fn, void *arg, const neap_run *run, int64_t cost, uint32_t flags,
                               const char *name, const char *site, engine_thread *self);
/* Passes ready ops on to a pool, or runs them. */
void engine_op_hand_over(engine_ready *ready, engine_thread *self);

/* ---- Starting early (stream_order.c): ops with ENGINE_OP_STREAM -------------------------------------------------- */
typedef enum engine_early {
    ENGINE_EARLY_WAITS, /* the op is somebody else's */
    ENGINE_EARLY_READY, /* the op has all grants, and has not been started */
    ENGINE_EARLY_START, /* all is granted or promised: the op may start */
    ENGINE_EARLY_OVER   /* the op has run, and has all grants */
} engine_early;

bool engine_early_possible(const neap_push *push); /* of a sync op */
uint32_t engine_early_start_count(uint32_t entries);
/* Counts op->waiting down. But for WAITS the op is the caller's. */
engine_early engine_early_count(engine_op *op, uint32_t grants, uint32_t promises);
bool engine_early_running(engine_op *op);   /* after the hand-over: grants are still missing */
void engine_early_run_ready(engine_op *op); /* starts with all grants; counts callback and start */
/* Before an op on a stream enters queues: gives each of its variables an engine_early_var; NEAP_E_MEMORY. */
int engine_early_prepare(const engine_op *op);
/* Of a locked variable with an engine_early_var: */
void engine_early_enter(engine_entry *entry); /* the entry has come to the queue: promises it, if possible */
void engine_early_granted(const engine_entry *entry);
void engine_early_left(neap_var *var, bool sent);
void engine_early_forget(neap_var *var);
/* Whether the op waits, by this new entry, for streams alone; all entries of the op have entered. */
bool engine_early_is_sure(const engine_entry *entry, bool granted);
void engine_early_entered(engine_op *op, bool sure);
/* The op has been enqueued: promises its variables to ops behind. Appends the ops that may start. */
void engine_early_enqueued(engine_op *op, engine_ready *ready);
/* Holds the op's stream up behind the other streams of its promises. */
int engine_early_order(engine_op *op, neap_stream *stream);

/* ---- Pushing (admit.c, push.c) ----------------------------------------------------------------------------------- */
/* NEAP_OK, or the fault of a push. */
int engine_push_check(const neap_push *push, bool has_function);
/* Runs a small sync op here if nothing is in its way; false: did not run. `push` must be sound. */
bool engine_push_inline(neap_sync_fn fn, void *arg, const neap_push *push, engine_thread *self);
/* Enters the op into the queues (`order`: its variables, sorted; NULL: sorts and checks them). A ready op is run or
 * handed over. Frees the op on failure. */
int engine_admit(engine_op *op, neap_var *const *order, engine_thread *self);
enum { ENGINE_NEST_MOST = ENGINE_LIMIT(8, 2) }; /* ops that run inside each other's pushes */
/* Pushes a small op with a fence of `var`; wakes `waker` once everything pushed before has finished. */
int engine_push_fence(neap_var *var, neap_waker *waker);

/* ---- Bulks (bulk.c) ---------------------------------------------------------------------------------------------- */
/* Takes a small sync op into the thread's bulk, or pushes it; bulk_most is not 0. `order` as for admit. Frees the op on
 * failure. */
int engine_bulk_join(engine_op *op, neap_var *const *order, engine_thread *self);
/* Pushes the joined ops of this thread: called first by whatever must not overtake them. */
static inline void engine_bulk_flush(engine_thread *self) {
    if (self->joined)
        self->close_bulk(self);
}

/* ---- Running ahead (backpressure.c) ------------------------------------------------------------------------------ */
void engine_ahead_began(int64_t bytes, int64_t cost);
void engine_ahead_ended(int64_t bytes, int64_t cost);

/* ---- Pools (pool.c) ---------------------------------------------------------------------------------------------- */
typedef struct engine_parallel engine_parallel;

/* Makes one pool for all devices, or one for each. `run` is engine_op_run. */
int engine_pool_open(const neap_engine_config *config, void (*run)(engine_op *op, engine_thread *self));
/* Makes room for a further device, the next in number. */
int engine_pool_add_device(int device);
void engine_pool_close(void);
/* Afterwards the device's pool has a worker, or the scheduler is the naive one. */
void engine_pool_ensure(int device);
void engine_pool_submit(engine_ready *ready, engine_thread *self);

/* A waiting thread outside of the pool is a *guest*: while awake, a guest counts as a worker. Guests run small and
 * brief ops, the op of the awaited variable, and brief pieces of offered loops. */
/* Runs a small or brief op; false: there is none for a guest. */
bool engine_pool_help(void);
/* Waits awake for `waker`, and works meanwhile, while there is a core for the thread and work may come soon. Returns
 * whether the waker was woken. `awaited`: the variable for which the thread does nothing but wait, or NULL. *began, for
 * the timeline: the beginning of the wait, or 0. */
bool engine_pool_attend(neap_waker *waker, const neap_var *awaited, int64_t *began);
/* Whether a worker may run this op, made ready by its last one, next and without asking. */
bool engine_pool_may_follow(const engine_op *op, const engine_thread *self);
/* Offers a parallel loop to up to `helpers` workers of its device's pool, and takes the offer back. */
void engine_pool_offer(engine_parallel *loop, int helpers);
void engine_pool_retract(engine_parallel *loop);
/* No guest has come to a loop that expects one: wakes workers. */
void engine_pool_insist(engine_parallel *loop);
int engine_pool_width(int device); /* the most workers of a loop on the device */

/* ---- Loops that are shared (share.c, parallel.c) ----------------------------------------------------------------- */
enum { ENGINE_PARTS = 16 };            /* of a loop, at most */
typedef struct engine_part {           /* of a loop's indices; in a line of the cache of its own */
    _Alignas(64) _Atomic int64_t next; /* the first unclaimed index */
    int64_t end;
} engine_part;

struct engine_parallel { /* on the caller's stack while the loop is offered */
    void (*fn)(void *arg, int64_t i, const neap_run *run);
    void *arg;
    int64_t chunk;
    int nparts;
    engine_part parts[ENGINE_PARTS]; /* the first nparts are set */
    _Atomic int64_t piece_ns;        /* of a chunk: estimated, later measured; 0: not known */
    _Atomic uint32_t active;         /* helpers inside */
    int device, wanted;              /* helpers still to join */
    uint32_t epoch;
    bool expects;     /* a guest, so no worker was woken: after the first chunk the caller looks for a guest */
    const char *name; /* of the op around */
    engine_parallel *link;
};

int64_t engine_share_left(const engine_parallel *loop); /* unclaimed indices */
/* Divides [0, n) among parts of nearly equal lengths. */
void engine_share_divide(engine_parallel *loop, int64_t n, int parts);
/* Works on the loop: at most so many chunks (0: to its end); with a `waker` only until that is woken or a signal has
 * come. The first chunk tells how long a chunk takes. Returns whether chunks may be left. */
bool engine_share_work(engine_parallel *loop, const neap_run *run, int64_t most, neap_waker *waker);
/* A helper leaves. The loop may be gone afterwards. */
void engine_share_leave(engine_parallel *loop);
void engine_share_wait(engine_parallel *loop); /* until all helpers have left */

enum { ENGINE_BRIEF_NS = 200000 }; /* callbacks and interrupts may wait so long for a helping thread */

#endif
