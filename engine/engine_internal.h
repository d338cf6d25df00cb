/* engine_internal.h: the structures that the files of the engine share.
 *
 *      push.c ──▶ var.c (queues) ──▶ pool.c (ready lanes, workers) ──▶ push.c (run, finish) ──▶ var.c …
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
    _Atomic bool reported; /* some wait has returned it; it stays on its variables */
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
/* Raises it if no wait has reported it yet, else NEAP_OK. */
int engine_failure_report(engine_failure *failure);
/* Reports the first failure that nobody reported and forgets all. */
int engine_failure_report_all(void);

/* ---- Threads (thread.c) ------------------------------------------------------------------------------------------ */
typedef struct engine_op engine_op;

typedef struct engine_thread {      /* one per thread that ever called the engine */
    int worker;                     /* index in the pool, -1 outside */
    int depth;                      /* ops running on this thread, one inside the other */
    int code;                       /* of the last error */
    uint64_t errors;                /* errors set on this thread, ever */
    engine_op *naive, **naive_tail; /* ready ops that the naive scheduler runs when the thread's outer op returns */
    _Atomic uint64_t pushed, completed, inlined, skipped; /* written by this thread only */
    struct engine_thread *next, *previous;
    char text[1024];
} engine_thread;

extern _Thread_local engine_thread *engine_thread_current __attribute__((tls_model("initial-exec")));
engine_thread *engine_thread_attach(void);

static inline engine_thread *engine_self(void) {
    engine_thread *self = engine_thread_current;
    return self ? self : engine_thread_attach();
}

/* Rounding to nearest, denormals kept: the numbers of an op must not depend on the thread that runs it. A worker sets
 * this mode at its start; debug builds check that ops leave it so. */
void engine_float_mode_set(void);
bool engine_float_mode_good(void);

static inline void engine_count_one(_Atomic uint64_t *counter) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* Makes a thread with every asynchronous signal blocked (Ctrl-C belongs to the main thread). False: no thread. */
bool engine_thread_spawn(void *(*main)(void *), void *arg, const char *name, void *pthread_out);

/* ---- Memory for the engine's own structures (slab.c) ------------------------------------------------------------- */
typedef struct engine_slab { /* objects of one size, recycled through a list */
    engine_lock lock;
    uint32_t bytes;
    void *free;
} engine_slab;

void *engine_slab_get(engine_slab *slab); /* NULL: out of memory */
void engine_slab_put(engine_slab *slab, void *object);
void *engine_alloc(size_t bytes); /* malloc that tests can make fail; freed by free() */

/* For tests: the n-th next allocation of the engine fails (1: the next one; 0: none). Buffers count as one each. */
void engine_alloc_fail(int64_t nth);
bool engine_alloc_refuse(void); /* true: this allocation is the one that has to fail */

/* ---- Wakers (wake.c) --------------------------------------------------------------------------------------------- */
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
/* Blocks until woken, running ready small ops meanwhile when `help`. */
void engine_waker_block(neap_waker *waker, bool help);

typedef struct engine_watch { /* wakes `waker` when some count reaches `target` */
    struct engine_watch *next;
    neap_waker *waker;
    uint64_t target;
} engine_watch;

/* The lists are guarded by their owner's lock, which is held around add and take, but not around fire. */
/* Puts `made` (TAKES, from engine_alloc) on the list, unless the same is on it: then returns it, to be freed. */
engine_watch *engine_watch_add(engine_watch **list, engine_watch *made, neap_waker *waker, uint64_t target);
engine_watch *engine_watch_take(engine_watch **list, uint64_t reached);
void engine_watch_fire(engine_watch *due);

/* ---- Variables (var.c) ------------------------------------------------------------------------------------------- */
enum { ENGINE_READ, ENGINE_WRITE, ENGINE_FENCE }; /* a fence excludes as a write does, but is not counted as one */

typedef struct engine_entry {
    neap_var *var;
    engine_op *op;
    struct engine_entry *next;
    int access;
} engine_entry;

struct neap_var { /* one cache line */
    engine_lock lock;
    uint32_t readers; /* granted */
    bool writing;     /* granted */
    bool deleted;     /* destroy when nothing is granted any more */
    bool in_buffer;   /* first member of a neap_buffer */
    engine_entry *head, *tail;
    uint64_t pushed_writes;
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
/* Puts the op's entries into the queues of their variables, all at once. True: the op is ready. False with
 * *duplicate: nothing was changed, that variable is listed twice. */
bool engine_var_enqueue(engine_op *op, neap_var **order, neap_var **duplicate);
/* Gives one grant back and appends ops that became ready; attaches a failure (may be NULL) to a written variable. */
void engine_var_finish(neap_var *var, int access, engine_failure *failure, engine_ready *ready);
/* Adds a watch for all writes pushed so far. NEAP_OK: there are none; NEAP_PENDING; NEAP_E_MEMORY. */
int engine_var_watch(neap_var *var, neap_waker *waker);
bool engine_var_idle(neap_var *var); /* nothing is granted or queued */

/* ---- Ops (push.c) ------------------------------------------------------------------------------------------------ */
struct engine_op {
    _Atomic uint32_t waiting;
    uint32_t flags; /* NEAP_PUSH_… and ENGINE_OP_… */
    int device, priority;
    union {
        neap_sync_fn sync;
        neap_async_fn async;
    } fn;
    void *arg;
    void (*release)(void *arg);
    const char *name, *site;
    engine_op *next;  /* in a lane or a ready list; in a lane's heap: the next sibling */
    engine_op *child; /* in a lane's heap */
    uint64_t order;   /* in a lane's heap: breaks ties of priority */
    uint32_t entry_count;
    engine_entry entries[];
};

enum { ENGINE_OP_ASYNC = 1 << 16, ENGINE_OP_HIDDEN = 1 << 17 /* not in the counters */ };

/* Runs a ready op on this thread and finishes it (an async op: starts it). */
void engine_op_run(engine_op *op, engine_thread *self);
/* Pushes a small op that fences `var` and wakes `waker` once everything pushed before has finished. */
int engine_op_fence(neap_var *var, neap_waker *waker);

/* ---- Pool (pool.c, parallel.c) ----------------------------------------------------------------------------------- */
typedef struct engine_parallel engine_parallel;

int engine_pool_open(int workers, int devices);
void engine_pool_close(void);
/* Makes sure that at least one worker exists. NEAP_E_STATE: the system gives no thread. */
int engine_pool_ensure(void);
void engine_pool_submit(engine_ready *ready, engine_thread *self);
engine_op *engine_pool_take_small(void); /* for threads that help; NULL: none */
/* Offers a parallel loop to up to `helpers` workers, and takes the offer back. */
void engine_pool_offer(engine_parallel *loop, int helpers);
void engine_pool_retract(engine_parallel *loop);
void engine_parallel_join(engine_parallel *loop, int worker);

struct engine_parallel { /* lives on the caller's stack while it is offered */
    void (*fn)(void *arg, int64_t i, const neap_run *run);
    void *arg;
    int64_t n, chunk;
    _Atomic int64_t next;    /* first index that nobody claimed */
    _Atomic uint32_t active; /* helpers inside */
    int device, wanted;      /* helpers that may still join */
    engine_parallel *link;
};

/* ---- State (engine.c) -------------------------------------------------------------------------------------------- */
enum { ENGINE_OFF, ENGINE_RUNNING, ENGINE_CLOSED, ENGINE_DEAD /* a fork's child */ };

typedef struct engine_state {
    _Atomic int phase;
    _Atomic int workers, devices, scheduler, cores; /* set while OFF */
    _Atomic uint64_t outstanding; /* ops that stand in queues or run, but for those that run inside their push */
} engine_state;

extern engine_state engine;

static inline int engine_phase(void) {
    return atomic_load_explicit(&engine.phase, memory_order_relaxed);
}
/* NEAP_OK, or the error that tells why the engine cannot serve. */
int engine_check_alive(void);
int engine_check_running(void);
/* One op less is outstanding: wakes those who wait for all (wait.c). */
void engine_wait_signal(void);
void engine_wait_idle(void); /* until nothing is outstanding; reports nothing */

/* ---- Buffers (buffer.c) ------------------------------------------------------------------------------------------ */
void engine_buffer_recycle(neap_var *var); /* the buffer's last reference is gone and its variable idle */

#endif
