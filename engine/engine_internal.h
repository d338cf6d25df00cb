/* engine_internal.h: the structures shared by the files of the engine.
 *
 * The files from the ground up. A file needs symbols of earlier files alone, so a reader needs no later ones;
 * tools/check_layers reads this list and holds the objects to it.
 *
 *      ground:     sync state thread status slab spawn quota cores
 *      waking:     wake activity failure child
 *      devices:    device_cpu memory device_kinds plugin device memory_stats
 *      timeline:   timeline_file timeline
 *      variables:  stream_order var backpressure buffer
 *      streams:    launch_graph device_run
 *      pools:      ready_queue share pool device_open
 *      ops:        op op_run admit bulk
 *      calls:      push operator parallel wait copy join
 *      the engine: engine
 *
 * Four times a lower file has to reach a higher one, through a pointer that was handed down: a pool's workers run an op
 * (engine_pool_open), a waiting thread pushes its joined ops (engine_thread's close_bulk), an ending thread gives back
 * the contents of its block (engine_thread_on_end), a device's stream calls back (device.h).
 *
 * The way of an op:
 *
 *      push ──▶ admit ──▶ var (queues) ──▶ pool (ready queues, workers) ──▶ op_run (run, finish) ──▶ var …
 *      operator, bulk: other ways to push
 *
 *      op ─┬─ entry ── var A        A var's queue links the entries of waiting ops. An op is one allocation with
 *          ├─ entry ── var B        its entries behind it. `waiting` counts the entries without a grant; the thread
 *          └─ entry ── var C        whose grant brings it to 0 hands the op to the pool.
 *
 * Invariants: a variable is granted either to one writer or to any number of readers; an entry stands in a queue only
 * while it is not granted; a queue is non-empty only while somebody holds a grant. Every thread passes on the grants of
 * the ops that it completes, so no other thread ever has to look.
 */
#ifndef NEAP_ENGINE_INTERNAL_H
#define NEAP_ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "engine/sync.h"

/* Debug builds have tighter limits, so that tests reach the code behind a limit. */
#if NEAP_DEBUG
#define ENGINE_LIMIT(release, debug) (debug)
#else
#define ENGINE_LIMIT(release, debug) (release)
#endif

/* ---- Failures (failure.c): shared, immutable but for `reported` -------------------------------------------------- */
typedef struct engine_failure {
    _Atomic uint32_t refs;
    _Atomic uint32_t
        reported; /* the epoch begun by the wait that returned the failure, 0: none did; variables keep the failure */
    _Atomic bool told; /* known without a wait (neap_var_told): neap_wait_all settles the failure, but is silent */
    int code;
    struct engine_failure *next; /* in the list of failures for neap_wait_all to report */
    const char *text;
} engine_failure;

/* A failure of `code`, told as "site: name: text". OWNED; never NULL: a constant failure without memory. */
engine_failure *engine_failure_new(int code, const char *text, const char *name, const char *site);
engine_failure *engine_failure_retain(engine_failure *failure);
void engine_failure_release(engine_failure *failure);
/* Sets the calling thread's error to this failure and returns its code. */
int engine_failure_raise(engine_failure *failure);
/* Whether the failure was reported before an op of this epoch was pushed. */
bool engine_failure_settled(const engine_failure *failure, uint32_t epoch);
/* Raises the failure if no wait has reported it yet, else NEAP_OK. */
int engine_failure_report(engine_failure *failure);
void engine_failure_tell(engine_failure *failure);
/* Reports the first unreported failure that nobody was told of, and forgets all. */
int engine_failure_report_all(void);

/* ---- Threads (thread.c, spawn.c) --------------------------------------------------------------------------------- */
typedef struct engine_op engine_op;
typedef struct engine_pool engine_pool;
typedef struct engine_track engine_track;

typedef struct engine_magazine { /* a thread's own stock of a slab's objects */
    void *open, *full;           /* chains: one in use, one full or NULL */
    uint32_t count;              /* objects in `open` */
} engine_magazine;

enum { ENGINE_SLABS = 16 }; /* the most slabs, and 1 */

typedef struct engine_thread {        /* for each thread, from its first call of the engine on */
    int worker;                       /* index among the workers, -1 outside */
    int depth;                        /* ops running on this thread, one inside the other */
    const char *op_name;              /* of the innermost op. BORROWED while that runs */
    int64_t op_cost;                  /* of the innermost op: estimated ns, 0: not known */
    engine_track *track;              /* of the timeline; NULL before its first record */
    int code;                         /* of the last error */
    uint64_t errors;                  /* errors set on this thread, ever */
    engine_pool *pool;                /* of a worker; else NULL */
    engine_op *following;             /* a worker: the op to run next, made ready by the last one */
    uint32_t followed;                /* ops in a row that came so */
    engine_op *naive, **naive_tail;   /* ready ops, for when the thread's outer op returns: naive scheduler */
    engine_op *joined, **joined_tail; /* bulk.c: ops to be pushed as one */
    int joined_count, bulk_most;
    void (*close_bulk)(struct engine_thread *self); /* pushes `joined`; set while there are any */
    engine_magazine magazines[ENGINE_SLABS];
    /* Written by this thread only. begun and ended count ops in queues; activity.c compares their sums. */
    _Atomic uint64_t pushed, completed, inlined, skipped, begun, ended;
    struct engine_thread *next, *previous;
    char text[1024];
} engine_thread;

extern _Thread_local engine_thread *engine_thread_current __attribute__((tls_model("initial-exec")));
engine_thread *engine_thread_attach(void);

static inline engine_thread *engine_self(void) {
    engine_thread *self = engine_thread_current;
    return self ? self : engine_thread_attach();
}

/* What else ends with a thread, in this order: a file with data in engine_thread registers how the data ends, before
 * the first is there. */
enum { ENGINE_LEAVES_BULK, ENGINE_LEAVES_SLABS, ENGINE_LEAVES_TIMELINE, ENGINE_LEAVERS };
void engine_thread_on_end(int which, void (*leave)(engine_thread *self));
/* Whether as many queued ops have ended as have begun, at one moment during the call. */
bool engine_thread_idle(void);

/* Rounding to nearest, denormals kept: the numbers of an op must not depend on the thread. A worker sets this mode at
 * its start; debug builds check it after ops. */
void engine_float_mode_set(void);
bool engine_float_mode_good(void);

static inline void engine_count_one(_Atomic uint64_t *counter) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_release);
}

/* Makes a thread with every asynchronous signal blocked (Ctrl-C belongs to the main thread). NEAP_E_STATE: the system
 * gives no thread, and the error says why. */
int engine_thread_spawn(void *(*main)(void *), void *arg, const char *name, void *pthread_out);
/* After NEAP_E_STATE the caller does the work itself; stderr says so, once in the life of the process. */
void engine_thread_tell_missing(void);

/* ---- Memory for the engine's own structures (slab.c) ------------------------------------------------------------- */
typedef struct engine_slab { /* objects of one size, recycled through threads' magazines and a list of full chains */
    engine_lock lock;
    uint32_t bytes;
    _Atomic int place; /* among the threads' magazines, from its first use on; before 0 */
    void *chains;
    uint32_t grown; /* chunks asked for */
} engine_slab;

void *engine_slab_get(engine_slab *slab); /* NULL: out of memory */
void engine_slab_put(engine_slab *slab, void *object);
void *engine_alloc(size_t bytes); /* malloc, which tests can make fail; freed by free() */

/* For tests: the n-th next allocation of the engine fails (1: the next one; 0: none). A buffer or a thread
 * counts as 1. Returns the rest of the last count: 0 or less if its allocation was reached. */
int64_t engine_alloc_fail(int64_t nth);
bool engine_alloc_refuse(void); /* true: this allocation has to fail */

/* ---- Wakers (wake.c, wait.c) ------------------------------------------------------------------------------------- */
struct neap_waker {
    _Atomic uint32_t refs;
    _Atomic uint32_t woken;
    int fd; /* -1: a thread sleeps on `woken` itself */
};

neap_waker *engine_waker_local(void); /* for a blocking thread. OWNED, NULL: out of memory */
neap_waker *engine_waker_retain(neap_waker *waker);
static inline bool engine_waker_woken(neap_waker *waker) {
    return atomic_load_explicit(&waker->woken, memory_order_acquire) != 0;
}
/* Blocks until woken, working meanwhile: engine_pool_attend. */
void engine_waker_block(neap_waker *waker, const neap_var *awaited);

typedef struct engine_watch { /* wakes `waker` when some count reaches `target` */
    struct engine_watch *next;
    neap_waker *waker;
    uint64_t target;
} engine_watch;

/* The owner of a list guards it by a lock, held around add and take, but not around fire. */
/* Puts `made` (TAKES, from engine_alloc) on the list, unless an equal watch is there: then returns `made`, to free. */
engine_watch *engine_watch_add(engine_watch **list, engine_watch *made, neap_waker *waker, uint64_t target);
/* A watch for engine_watch_add. OWNED; NULL: there is no memory, and the waker is woken after a nap. So the waiting
 * thread looks again and again, and waiting needs no memory. */
engine_watch *engine_watch_new(neap_waker *waker);
engine_watch *engine_watch_take(engine_watch **list, uint64_t reached);
void engine_watch_fire(engine_watch *due);

/* ---- Variables (var.c) ------------------------------------------------------------------------------------------- */
/* A fresh write forgets an earlier failure. A fence excludes others as a write does, but does not end as a write. */
enum { ENGINE_READ, ENGINE_WRITE, ENGINE_FRESH, ENGINE_FENCE };

typedef struct engine_entry {
    neap_var *var;
    struct engine_entry *next;
    uint32_t writes;                 /* pushed with the entry: 1 for a write; the sum over a bulk's ops for its fence */
    uint32_t index : 29, access : 2; /* among the op's entries */
    uint32_t promised : 1;           /* stream_order.c */
} engine_entry;

struct neap_var { /* one cache line */
    engine_lock lock;
    uint32_t readers;               /* granted */
    bool writing;                   /* granted */
    bool deleted;                   /* destroy when nothing is granted any more */
    bool in_buffer;                 /* first member of a neap_buffer */
    bool anew;                      /* the next write that is pushed forgets earlier failures */
    uint32_t writes;                /* pushed and not completed */
    struct engine_early_var *early; /* stream_order.c. NULL: no op on a stream has used the variable */
    engine_entry *head, *tail;
    _Atomic uint64_t version; /* completed writes */
    engine_failure *failure;
    engine_watch *watches;
};

typedef struct engine_ready { /* a list of ready ops, in order */
    engine_op *head, **tail;
} engine_ready;

void engine_var_init(neap_var *var, bool in_buffer);
/* Grants every listed variable at once if all are idle enough and unlocked; false: nothing was changed. */
bool engine_var_claim(int nreads, neap_var *const *reads, int nwrites, neap_var *const *writes);
/* Sorts the variables of `count` entries by address into `order`. False: one is listed twice. */
bool engine_var_order(uint32_t count, const engine_entry *entries, neap_var **order);
/* Puts the op's entries into the queues of their variables (`order`: the variables, sorted), all at once. True: the op
 * is ready. */
bool engine_var_enqueue(engine_op *op, neap_var *const *order);
/* Gives a grant back, of an op that was `sent` (stream_order.c) or was not; counts a write and attaches its failure
 * (may be NULL). Appends the entries granted now to the list with the end *granted; returns the new end. */
engine_entry **engine_var_finish(neap_var *var, int access, bool sent, engine_failure *failure, engine_entry **granted);
/* Counts granted entries down in their ops and appends the ops that became ready. A function of its own, since several
 * variables should be left before the first op, in another core's cache, is looked at. */
void engine_var_release(engine_entry *granted, engine_ready *ready);
/* Counts a write, with its failure or NULL, of a variable under a fence of the caller. */
void engine_var_wrote(neap_var *var, int access, engine_failure *failure);
/* The access of an op of this epoch to a variable, once granted: a write begins anew if the variable's failure had been
 * reported when the op was pushed. */
static inline int engine_var_access(const neap_var *var, int access, uint32_t epoch) {
    bool anew = access == ENGINE_WRITE && var->failure && engine_failure_settled(var->failure, epoch);
    return anew ? ENGINE_FRESH : access;
}
uint64_t engine_var_target(neap_var *var); /* the version after all writes pushed so far */
/* Adds a watch for a version. NEAP_OK: the version is reached. NEAP_PENDING: the waker is woken when to look again. */
int engine_var_watch(neap_var *var, neap_waker *waker, uint64_t target);
uint32_t engine_var_entered(void);         /* how many ops have come to queues, ever */
void engine_var_begin_anew(neap_var *var); /* the next write that is pushed, whatever became of earlier writes */
bool engine_var_idle(neap_var *var);       /* nothing is granted or queued */

/* ---- State (state.c, status.c, cores.c) -------------------------------------------------------------------------- */
enum { ENGINE_DEVICES_MOST = 1024, ENGINE_WORKERS_MOST = 1024 };
enum { ENGINE_OFF, ENGINE_RUNNING, ENGINE_CLOSED, ENGINE_DEAD /* a fork's child */ };

typedef struct engine_state {
    _Atomic int phase;
    _Atomic int cpus, cores; /* set while OFF; cpus: CPU devices, the first numbers */
    _Atomic int scheduler;   /* set while OFF; becomes the naive one when there is no thread */
    _Atomic int devices;     /* open ones, of all kinds; grows */
    _Atomic int workers;     /* the most, of all pools */
    _Atomic uint64_t shuffle;
    _Atomic uint32_t epoch;     /* counts cancellations and reports of failures, to tell before a push from after */
    _Atomic uint32_t cancelled; /* the epoch begun by the last neap_engine_cancel */
    _Atomic int elsewhere; /* work of other threads, such as communication: it may need the core of a spinning thread */
} engine_state;

extern engine_state engine;

/* Counts and ranks the cores of the process, at start. Returns how many of them it can keep busy: all, unless a CPU
 * quota (quota.h) allows less. */
int engine_cores_count(void);
/* How many workers the environment's NEAP_WORKERS asks for, 0: it is not set. NEAP_E_ARGUMENT: it is no such number. */
int engine_workers_wanted(int *out);
/* Where this thread's core stands among the process's cores, as one of 0 … parts - 1. */
int engine_core_part(int parts);

/* Whether an op may run at its push: only small ops of the CPU. Others would call into a driver, and that may wait. */
static inline bool engine_push_small(const neap_push *push) {
    return push->flags & NEAP_PUSH_SMALL && push->device < engine.cpus;
}

static inline int engine_phase(void) {
    return atomic_load_explicit(&engine.phase, memory_order_relaxed);
}
/* NEAP_OK, or the error: why the engine cannot serve. */
int engine_check_alive(void);
int engine_check_running(void);
static inline uint32_t engine_epoch(void) {
    return atomic_load_explicit(&engine.epoch, memory_order_relaxed);
}
/* Begins and returns the next epoch. Never 0, but once in 2^32 times. */
static inline uint32_t engine_epoch_next(void) {
    return atomic_fetch_add(&engine.epoch, 1) + 1;
}
/* Whether epoch `a` began before `b`; epochs may wrap. */
static inline bool engine_epoch_before(uint32_t a, uint32_t b) {
    return (int32_t)(a - b) < 0;
}
/* Whether pushes of this epoch have been given up. */
static inline bool engine_is_cancelled(uint32_t epoch) {
    return engine_epoch_before(epoch, atomic_load_explicit(&engine.cancelled, memory_order_relaxed));
}
static inline bool engine_is_naive(void) {
    return atomic_load_explicit(&engine.scheduler, memory_order_relaxed) == NEAP_SCHEDULER_NAIVE;
}
/* May small ops run at their push and on waiting threads? */
static inline bool engine_inlines(void) {
    return atomic_load_explicit(&engine.scheduler, memory_order_relaxed) != NEAP_SCHEDULER_DEVICE;
}
void engine_wait_idle(void); /* wait.c: until nothing is outstanding; reports nothing */

/* ---- What is under way (activity.c) ------------------------------------------------------------------------------ */
/* Between a successful begin and end the engine does not stop. */
int engine_activity_begin(engine_thread *self);
void engine_activity_end(engine_thread *self);
/* The calling thread has finished ops and finds nothing to do: wakes who waits for the end of all. */
void engine_activity_signal(void);
/* NEAP_OK: nothing is under way. NEAP_PENDING: the waker is woken when to look again. */
int engine_activity_watch(neap_waker *waker);

/* plugin.c: the transport registered last, by a plugin; NULL: there is none. */
const struct neap_transport *engine_transport(void);

#endif
