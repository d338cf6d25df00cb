/* engine_internal.h: the structures that the files of the engine share.
 *
 * The files from the ground up. A file needs symbols of those before it alone, so it can be read without knowing those
 * behind it; tools/check_layers reads this list and holds the objects to it.
 *
 *      ground:     sync state thread status slab spawn
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
 * Four times something below has to reach what stands above, through a pointer that is handed down: a pool's workers
 * run an op (engine_pool_open), a thread that waits pushes what it had joined (engine_thread's close_bulk), a thread
 * that ends gives back what others keep in its block (engine_thread_on_end), a device's stream calls back (device.h).
 *
 * The way of an op:
 *
 *      push ──▶ admit ──▶ var (queues) ──▶ pool (ready queues, workers) ──▶ op_run (run, finish) ──▶ var …
 *      operator, bulk: other ways to push
 *
 *      op ─┬─ entry ── var A        A var's queue links the entries of the ops that wait for it. An op is one
 *          ├─ entry ── var B        allocation with its entries behind it. `waiting` counts the entries that are
 *          └─ entry ── var C        not granted yet; whoever brings it to 0 hands the op to the pool.
 *
 * Invariants: a variable is granted either to one writer or to any number of readers; an entry stands in a queue only
 * while it is not granted; a queue is non-empty only while somebody holds a grant. Every thread that completes grants
 * passes them on, so no other thread ever has to look.
 */
#ifndef NEAP_ENGINE_INTERNAL_H
#define NEAP_ENGINE_INTERNAL_H

#include "engine/engine.h"
#include "engine/sync.h"

/* Debug builds have tighter limits, so that tests reach what lies behind them. */
#if NEAP_DEBUG
#define ENGINE_LIMIT(release, debug) (debug)
#else
#define ENGINE_LIMIT(release, debug) (release)
#endif

/* ---- Failures (failure.c): shared, immutable but for `reported` -------------------------------------------------- */
typedef struct engine_failure {
    _Atomic uint32_t refs;
    _Atomic uint32_t
        reported; /* the epoch that began when a wait returned it, 0: none has; it stays on its variables */
    int code;
    struct engine_failure *next; /* in the list of failures that neap_wait_all may still report */
    const char *text;
} engine_failure;

/* A failure of `code`, told as "site: name: text". OWNED; never NULL: without memory it is a constant one. */
engine_failure *engine_failure_new(int code, const char *text, const char *name, const char *site);
engine_failure *engine_failure_retain(engine_failure *failure);
void engine_failure_release(engine_failure *failure);
/* Sets the calling thread's error to this failure and returns its code. */
int engine_failure_raise(engine_failure *failure);
/* Whether it was reported before an op of this epoch was pushed. */
bool engine_failure_settled(const engine_failure *failure, uint32_t epoch);
/* Raises it if no wait has reported it yet, else NEAP_OK. */
int engine_failure_report(engine_failure *failure);
/* Reports the first failure that nobody reported and forgets all. */
int engine_failure_report_all(void);

/* ---- Threads (thread.c, spawn.c) --------------------------------------------------------------------------------- */
typedef struct engine_op engine_op;
typedef struct engine_pool engine_pool;
typedef struct engine_track engine_track;

typedef struct engine_magazine { /* a thread's own stock of a slab's objects */
    void *open, *full;           /* chains: one that is used, one that is full or NULL */
    uint32_t count;              /* objects in `open` */
} engine_magazine;

enum { ENGINE_SLABS = 16 }; /* slabs that there may be, and one */

typedef struct engine_thread {        /* one per thread that ever called the engine */
    int worker;                       /* index among the workers, -1 outside */
    int depth;                        /* ops running on this thread, one inside the other */
    const char *op_name;              /* of the innermost one. BORROWED while it runs */
    int64_t op_cost;                  /* of the innermost one: its estimated ns, 0: not known */
    engine_track *track;              /* of the timeline; NULL before its first record */
    int code;                         /* of the last error */
    uint64_t errors;                  /* errors set on this thread, ever */
    engine_pool *pool;                /* whose worker this is, or NULL */
    engine_op *following;             /* a worker: the op that it runs next, made ready by its last one */
    uint32_t followed;                /* ops in a row that it ran so */
    engine_op *naive, **naive_tail;   /* ready ops that the naive scheduler runs when the thread's outer op returns */
    engine_op *joined, **joined_tail; /* bulk.c: ops that wait to be pushed as one */
    int joined_count, bulk_most;
    void (*close_bulk)(struct engine_thread *self); /* pushes `joined`; set as long as there are such ops */
    engine_magazine magazines[ENGINE_SLABS];
    /* Written by this thread only. begun and ended count ops in queues, which wait.c compares. */
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

/* What else ends with a thread, in this order: each file that keeps something in engine_thread says how it ends there,
 * before it keeps the first. */
enum { ENGINE_LEAVES_BULK, ENGINE_LEAVES_SLABS, ENGINE_LEAVES_TIMELINE, ENGINE_LEAVERS };
void engine_thread_on_end(int which, void (*leave)(engine_thread *self));
/* Whether as many queued ops have ended as have begun, at one moment during the call. */
bool engine_thread_idle(void);

/* Rounding to nearest, denormals kept: the numbers of an op must not depend on the thread that runs it. A worker sets
 * this mode at its start; debug builds check that ops leave it so. */
void engine_float_mode_set(void);
bool engine_float_mode_good(void);

static inline void engine_count_one(_Atomic uint64_t *counter) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_release);
}

/* Makes a thread with every asynchronous signal blocked (Ctrl-C belongs to the main thread). NEAP_E_STATE: the system
 * gives none, and the error says why. */
int engine_thread_spawn(void *(*main)(void *), void *arg, const char *name, void *pthread_out);
/* After that: the caller does the work itself, which is told on stderr, once in the life of the process. */
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
void *engine_alloc(size_t bytes); /* malloc that tests can make fail; freed by free() */

/* For tests: the n-th next allocation of the engine fails (1: the next one; 0: none). Buffers and threads count as one
 * each. Returns what was left of the last count: 0 or less if that allocation was reached. */
int64_t engine_alloc_fail(int64_t nth);
bool engine_alloc_refuse(void); /* true: this allocation is the one that has to fail */

/* ---- Wakers (wake.c, wait.c) ------------------------------------------------------------------------------------- */
struct neap_waker {
    _Atomic uint32_t refs;
    _Atomic uint32_t woken;
    int fd; /* -1: a thread sleeps on `woken` itself */
};

neap_waker *engine_waker_local(void); /* for a thread that blocks. OWNED, NULL: out of memory */
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

/* The lists are guarded by their owner's lock, which is held around add and take, but not around fire. */
/* Puts `made` (TAKES, from engine_alloc) on the list, unless the same is on it: then returns it, to be freed. */
engine_watch *engine_watch_add(engine_watch **list, engine_watch *made, neap_waker *waker, uint64_t target);
/* One for engine_watch_add. OWNED; NULL: there is no memory, and the waker is woken after a nap. So whoever waits with
 * it looks again and again, and waiting needs no memory. */
engine_watch *engine_watch_new(neap_waker *waker);
engine_watch *engine_watch_take(engine_watch **list, uint64_t reached);
void engine_watch_fire(engine_watch *due);

/* ---- Variables (var.c) ------------------------------------------------------------------------------------------- */
/* A fresh write forgets the failure that it finds. A fence excludes as a write does, but does not end as one. */
enum { ENGINE_READ, ENGINE_WRITE, ENGINE_FRESH, ENGINE_FENCE };

typedef struct engine_entry {
    neap_var *var;
    struct engine_entry *next;
    uint32_t writes;                 /* that are pushed with it: 1 for a write; a bulk's fence: those of its ops */
    uint32_t index : 29, access : 2; /* its place among the op's entries */
    uint32_t promised : 1;           /* stream_order.c */
} engine_entry;

struct neap_var { /* one cache line */
    engine_lock lock;
    uint32_t readers;               /* granted */
    bool writing;                   /* granted */
    bool deleted;                   /* destroy when nothing is granted any more */
    bool in_buffer;                 /* first member of a neap_buffer */
    uint32_t writes;                /* that are pushed, and have not completed */
    struct engine_early_var *early; /* stream_order.c. NULL: no op on a stream has used it */
    engine_entry *head, *tail;
    _Atomic uint64_t version; /* completed writes */
    engine_failure *failure;
    engine_watch *watches;
};

typedef struct engine_ready { /* ops that became ready, in order */
    engine_op *head, **tail;
} engine_ready;

void engine_var_init(neap_var *var, bool in_buffer);
/* Grants every listed variable at once if all are idle enough and unlocked; false: nothing was changed. */
bool engine_var_claim(int nreads, neap_var *const *reads, int nwrites, neap_var *const *writes);
/* Sorts the variables of `count` entries by address into `order`. False: one is listed twice. */
bool engine_var_order(uint32_t count, const engine_entry *entries, neap_var **order);
/* Puts the op's entries into the queues of their variables (`order`: these, sorted), all at once. True: the op is
 * ready. */
bool engine_var_enqueue(engine_op *op, neap_var *const *order);
/* Gives a grant back, of an op that was `sent` (stream_order.c) or was not; counts a write and attaches its failure
 * (may be NULL). Appends the entries that are granted now to the list whose end is *granted; returns its new end. */
engine_entry **engine_var_finish(neap_var *var, int access, bool sent, engine_failure *failure, engine_entry **granted);
/* Counts granted entries down in their ops and appends those that became ready. Apart from the above, so that several
 * variables can be left before the first of these ops, which lie in other cores' caches, is looked at. */
void engine_var_release(engine_entry *granted, engine_ready *ready);
/* Counts a write, with its failure or NULL, of a variable that the caller keeps fenced. */
void engine_var_wrote(neap_var *var, int access, engine_failure *failure);
/* The access of an op of this epoch to the variable, which is granted: a write begins anew if the variable's failure
 * had been reported when the op was pushed. */
static inline int engine_var_access(const neap_var *var, int access, uint32_t epoch) {
    bool anew = access == ENGINE_WRITE && var->failure && engine_failure_settled(var->failure, epoch);
    return anew ? ENGINE_FRESH : access;
}
uint64_t engine_var_target(neap_var *var); /* the version that all writes pushed so far will have made */
/* Adds a watch for a version. NEAP_OK: it is reached. NEAP_PENDING: the waker is woken when one should look again. */
int engine_var_watch(neap_var *var, neap_waker *waker, uint64_t target);
bool engine_var_idle(neap_var *var); /* nothing is granted or queued */

/* ---- State (state.c, status.c) ----------------------------------------------------------------------------------- */
enum { ENGINE_DEVICES_MOST = 1024, ENGINE_WORKERS_MOST = 1024 };
enum { ENGINE_OFF, ENGINE_RUNNING, ENGINE_CLOSED, ENGINE_DEAD /* a fork's child */ };

typedef struct engine_state {
    _Atomic int phase;
    _Atomic int cpus, cores; /* set while OFF; cpus: CPU devices, the first numbers */
    _Atomic int scheduler;   /* set while OFF, but it becomes the naive one when there is no thread */
    _Atomic int devices;     /* that are open, of all kinds; grows */
    _Atomic int workers;     /* that there may be, of all pools */
    _Atomic uint64_t shuffle;
    _Atomic uint32_t epoch; /* counts cancellations and reports of failures: what came before a push, and what after */
    _Atomic uint32_t cancelled; /* the epoch that the last neap_engine_cancel began */
    _Atomic int elsewhere; /* jobs of other threads, as of communication: they may need the core of one that spins */
} engine_state;

extern engine_state engine;

/* Counts the cores that the process may run on, and ranks them: at start. */
int engine_cores_count(void);
/* Where the core that this thread runs on stands among the process's cores, as one of 0 … parts - 1. */
int engine_core_part(int parts);

/* Whether an op may run at its push: only the CPU's small ones. Others would call into a driver, which may wait. */
static inline bool engine_push_small(const neap_push *push) {
    return push->flags & NEAP_PUSH_SMALL && push->device < engine.cpus;
}

static inline int engine_phase(void) {
    return atomic_load_explicit(&engine.phase, memory_order_relaxed);
}
/* NEAP_OK, or the error that tells why the engine cannot serve. */
int engine_check_alive(void);
int engine_check_running(void);
static inline uint32_t engine_epoch(void) {
    return atomic_load_explicit(&engine.epoch, memory_order_relaxed);
}
/* Begins the next epoch, and returns it. Never 0, but once in 2^32 times. */
static inline uint32_t engine_epoch_next(void) {
    return atomic_fetch_add(&engine.epoch, 1) + 1;
}
/* Whether epoch `a` began before `b`; they may wrap. */
static inline bool engine_epoch_before(uint32_t a, uint32_t b) {
    return (int32_t)(a - b) < 0;
}
/* Whether what was pushed in this epoch has been given up. */
static inline bool engine_is_cancelled(uint32_t epoch) {
    return engine_epoch_before(epoch, atomic_load_explicit(&engine.cancelled, memory_order_relaxed));
}
static inline bool engine_is_naive(void) {
    return atomic_load_explicit(&engine.scheduler, memory_order_relaxed) == NEAP_SCHEDULER_NAIVE;
}
/* May small ops run at their push and on threads that wait? */
static inline bool engine_inlines(void) {
    return atomic_load_explicit(&engine.scheduler, memory_order_relaxed) != NEAP_SCHEDULER_DEVICE;
}
void engine_wait_idle(void); /* wait.c: until nothing is outstanding; reports nothing */

/* ---- What is under way (activity.c) ------------------------------------------------------------------------------ */
/* Between a successful begin and end the engine does not stop. */
int engine_activity_begin(engine_thread *self);
void engine_activity_end(engine_thread *self);
/* The calling thread finds nothing to do after it has finished ops: wakes those who wait for the end of all. */
void engine_activity_signal(void);
/* NEAP_OK: nothing is under way. NEAP_PENDING: the waker is woken when one should look again. */
int engine_activity_watch(neap_waker *waker);

/* plugin.c: the transport that a plugin registered last; NULL: none did. */
const struct neap_transport *engine_transport(void);

#endif
