/* pool.c: ready ops, devices, worker threads.
 *
 *      device 0   small lane ─┐   ring of small lanes  ──▶ workers, and threads that wait
 *                 plain lane ─┼─┐
 *      device 1   small lane ─┘ │
 *                 plain lane ───┴ ring of plain lanes  ──▶ workers
 *
 * A device is two lanes of ready ops over the one pool of threads. A lane is a list for ops of priority 0 and a pairing
 * heap for the others. Lanes with ops stand in a ring and take turns, so devices share the workers fairly. A worker
 * takes the higher priority of the two rings' fronts; among equals small ops go first, but no more than SMALL_STREAK in
 * a row.
 *
 * Workers are started one by one while there is more work than free workers. A free worker spins for SPIN_NS before it
 * sleeps; only one spins at a time, and none on a single core. Whoever adds an op wakes a sleeper only if nobody spins
 * or arrives (was started and has not looked for work yet). A worker that takes an op while others remain wakes the
 * next one. A worker that has finished an op and made others ready wakes nobody: it comes for the first of them itself.
 *
 * Everything in `pool` is guarded by its lock, but for the atomic counts, which are hints to those that look without.
 */
#include "engine/engine_internal.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { SPIN_NS = 50000, SPINS_PER_LOOK = 32, SMALL_STREAK = ENGINE_LIMIT(16, 2), FOR_EVER = -1 };
enum { SMALL, PLAIN, KINDS };

typedef struct lane {
    engine_op *head, *tail; /* priority 0, in order */
    engine_op *heap;        /* other priorities; the root runs next */
    struct lane *next;      /* in its ring */
    bool in_ring;
} lane;

static struct {
    engine_lock lock;
    lane *lanes;            /* [devices][KINDS] */
    lane *rings[KINDS];     /* the last lane of each ring; its next is the front */
    uint64_t order;         /* ops that ever entered a heap */
    int streak;             /* small ops taken in a row */
    engine_parallel *loops; /* offered */
    int most;               /* workers */
    _Atomic int started;
    int arriving, spinning, sleeping;
    bool closing;
    pthread_t *threads;
    _Atomic uint32_t signals;      /* sleepers that were told to get up and have not yet */
    _Atomic uint32_t ready[KINDS]; /* ops in lanes */
    _Atomic uint32_t open_loops;   /* loops that still want helpers */
} pool;

static pthread_mutex_t grow_mutex = PTHREAD_MUTEX_INITIALIZER; /* one thread is being started at a time */

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

static bool runs_before(const engine_op *a, const engine_op *b) {
    return a->priority != b->priority ? a->priority > b->priority : a->order < b->order;
}

static engine_op *meld(engine_op *a, engine_op *b) {
    if (!a || !b)
        return a ? a : b;
    engine_op *top = runs_before(a, b) ? a : b, *below = top == a ? b : a;
    below->next = top->child;
    top->child = below;
    return top;
}

/* The heap without its root: its children are melded in pairs from the left, then the pairs from the right. */
static engine_op *without_root(engine_op *root) {
    engine_op *pairs = NULL, *child = root->child, *heap = NULL;
    while (child) {
        engine_op *first = child, *second = child->next;
        child = second ? second->next : NULL;
        first->next = NULL;
        if (second)
            second->next = NULL;
        engine_op *pair = meld(first, second);
        pair->next = pairs;
        pairs = pair;
    }
    while (pairs) {
        engine_op *rest = pairs->next;
        pairs->next = NULL;
        heap = meld(heap, pairs);
        pairs = rest;
    }
    return heap;
}

static int top_priority(const lane *from) {
    return from->heap && (!from->head || from->heap->priority > 0) ? from->heap->priority : 0;
}

static void add_op(engine_op *op) {
    int kind = op->flags & NEAP_PUSH_SMALL ? SMALL : PLAIN;
    lane *to = &pool.lanes[op->device * KINDS + kind];
    op->next = NULL;
    if (op->priority != 0) {
        op->child = NULL;
        op->order = pool.order++;
        to->heap = meld(to->heap, op);
    } else if (to->head) {
        to->tail = to->tail->next = op;
    } else {
        to->head = to->tail = op;
    }
    atomic_fetch_add_explicit(&pool.ready[kind], 1, memory_order_relaxed);
    if (to->in_ring)
        return;
    to->in_ring = true;
    lane *last = pool.rings[kind];
    to->next = last ? last->next : to;
    if (last)
        last->next = to;
    pool.rings[kind] = to;
}

/* Takes the first op of the ring's front lane and sends the lane to the end of the ring. The ring is not empty. */
static engine_op *take_op(int kind) {
    lane *last = pool.rings[kind], *front = last->next;
    engine_op *op;
    if (front->heap && (!front->head || front->heap->priority > 0)) {
        op = front->heap;
        front->heap = without_root(op);
    } else {
        op = front->head;
        front->head = op->next;
    }
    atomic_fetch_sub_explicit(&pool.ready[kind], 1, memory_order_relaxed);
    if (front->head || front->heap) {
        pool.rings[kind] = front;
    } else {
        front->in_ring = false;
        last->next = front->next;
        if (front == last)
            pool.rings[kind] = NULL;
    }
    return op;
}

static engine_op *take_any(void) {
    lane *small = pool.rings[SMALL], *plain = pool.rings[PLAIN];
    if (!small && !plain)
        return NULL;
    int kind = small ? SMALL : PLAIN;
    if (small && plain) {
        int lead = top_priority(small->next) - top_priority(plain->next);
        if (lead < 0 || (lead == 0 && pool.streak >= SMALL_STREAK))
            kind = PLAIN;
    }
    pool.streak = kind == SMALL ? pool.streak + 1 : 0;
    return take_op(kind);
}

engine_op *engine_pool_take_small(void) {
    if (atomic_load_explicit(&pool.ready[SMALL], memory_order_relaxed) == 0)
        return NULL;
    engine_lock_take(&pool.lock);
    engine_op *op = pool.rings[SMALL] ? take_op(SMALL) : NULL;
    engine_lock_drop(&pool.lock);
    return op;
}

/* ---- Waking and starting workers --------------------------------------------------------------------------------- */

/* What has to happen after the lock was dropped. */
typedef struct summons {
    int wake, start;
} summons;

/* Decides how `count` more workers come to work. The caller holds the lock. */
static summons summon(int count) {
    summons call = {0, 0};
    count -= pool.arriving + pool.spinning;
    while (count > 0 && pool.sleeping > 0) {
        pool.sleeping--;
        atomic_fetch_add_explicit(&pool.signals, 1, memory_order_relaxed);
        call.wake++;
        count--;
    }
    if (count > 0 && !pool.closing && pool.started < pool.most) {
        call.start = count < pool.most - pool.started ? count : pool.most - pool.started;
    }
    return call;
}

static void *worker_main(void *arg);

/* Starts one more worker if there may be more than `enough`. False: the system gives no thread. */
static bool grow(int enough) {
    bool made = true;
    pthread_mutex_lock(&grow_mutex);
    engine_lock_take(&pool.lock);
    int index = pool.started;
    bool wanted = index < pool.most && index < enough && !pool.closing;
    if (wanted)
        pool.arriving++;
    engine_lock_drop(&pool.lock);
    if (wanted) {
        char name[16];
        snprintf(name, sizeof name, "neap-%d", index % 10000);
        made = engine_thread_spawn(worker_main, &pool.threads[index], name, &pool.threads[index]);
        engine_lock_take(&pool.lock);
        if (made) {
            pool.started++;
        } else {
            pool.arriving--;
            if (index > 0)
                pool.most = index; /* do with those that we have */
        }
        engine_lock_drop(&pool.lock);
    }
    pthread_mutex_unlock(&grow_mutex);
    return made;
}

static void answer(summons call) {
    if (call.wake > 0)
        engine_futex_wake(&pool.signals, call.wake);
    while (call.start-- > 0)
        grow(INT_MAX);
}

int engine_pool_ensure(void) {
    if (pool.started > 0 || grow(1))
        return NEAP_OK;
    return neap_error(NEAP_E_STATE, "cannot start a worker thread");
}

void engine_pool_submit(engine_ready *ready, engine_thread *self) {
    summons call = {0, 0};
    int count = 0;
    engine_lock_take(&pool.lock);
    for (engine_op *op = ready->head, *next; op; op = next) {
        next = op->next;
        add_op(op);
        count++;
    }
    if (self->worker < 0 || self->depth > 0)
        call = summon(count);
    engine_lock_drop(&pool.lock);
    answer(call);
}

/* ---- Offered loops ----------------------------------------------------------------------------------------------- */

void engine_pool_offer(engine_parallel *loop, int helpers) {
    engine_lock_take(&pool.lock);
    if (helpers > pool.most - 1)
        helpers = pool.most > 0 ? pool.most - 1 : 0;
    loop->wanted = helpers;
    loop->link = pool.loops;
    pool.loops = loop;
    if (helpers > 0)
        atomic_fetch_add_explicit(&pool.open_loops, 1, memory_order_relaxed);
    summons call = summon(helpers);
    engine_lock_drop(&pool.lock);
    answer(call);
}

void engine_pool_retract(engine_parallel *loop) {
    engine_lock_take(&pool.lock);
    engine_parallel **link = &pool.loops;
    while (*link != loop)
        link = &(*link)->link;
    *link = loop->link;
    if (loop->wanted > 0)
        atomic_fetch_sub_explicit(&pool.open_loops, 1, memory_order_relaxed);
    engine_lock_drop(&pool.lock);
}

/* A loop that wants helpers, entered; or NULL. */
static engine_parallel *enter_loop(void) {
    engine_parallel *loop = pool.loops;
    while (loop && loop->wanted == 0)
        loop = loop->link;
    if (!loop)
        return NULL;
    if (--loop->wanted == 0)
        atomic_fetch_sub_explicit(&pool.open_loops, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&loop->active, 1, memory_order_relaxed);
    return loop;
}

/* ---- Workers ----------------------------------------------------------------------------------------------------- */

typedef struct task {
    engine_op *op;
    engine_parallel *loop;
    bool stop;
} task;

static bool something_offered(void) {
    return atomic_load_explicit(&pool.ready[PLAIN], memory_order_relaxed) ||
           atomic_load_explicit(&pool.ready[SMALL], memory_order_relaxed) ||
           atomic_load_explicit(&pool.open_loops, memory_order_relaxed);
}

/* A task, or false. The caller holds the lock. Loops go first: somebody waits for them already. */
static bool find_task(task *out, summons *call) {
    *out = (task){.loop = enter_loop()};
    if (!out->loop)
        out->op = take_any();
    out->stop = !out->loop && !out->op && pool.closing;
    if ((out->loop || out->op) && (pool.rings[SMALL] || pool.rings[PLAIN]))
        *call = summon(1);
    return out->loop || out->op || out->stop;
}

/* Looks for work without the lock for a while. The caller holds the lock before and after. */
static void spin(void) {
    if (pool.spinning > 0 || engine.cores < 2)
        return;
    pool.spinning++;
    engine_lock_drop(&pool.lock);
    int64_t end = engine_now() + SPIN_NS;
    while (!something_offered() && engine_now() < end) {
        for (int i = 0; i < SPINS_PER_LOOK && !something_offered(); i++) {
            engine_pause();
        }
        sched_yield(); /* whoever will bring work may have to run on this core */
    }
    engine_lock_take(&pool.lock);
    pool.spinning--;
}

/* Sleeps until summoned. The caller holds the lock before and after. */
static void sleep_until_summoned(void) {
    pool.sleeping++;
    for (;;) {
        engine_lock_drop(&pool.lock);
        engine_futex_wait(&pool.signals, 0, FOR_EVER);
        engine_lock_take(&pool.lock);
        if (atomic_load_explicit(&pool.signals, memory_order_relaxed) > 0)
            break;
    }
    atomic_fetch_sub_explicit(&pool.signals, 1, memory_order_relaxed);
}

static task next_task(void) {
    task found;
    summons call = {0, 0};
    engine_lock_take(&pool.lock);
    while (!find_task(&found, &call)) {
        spin();
        if (find_task(&found, &call))
            break;
        sleep_until_summoned();
    }
    engine_lock_drop(&pool.lock);
    answer(call);
    return found;
}

static void *worker_main(void *arg) {
    engine_thread *self = engine_self();
    self->worker = (int)((pthread_t *)arg - pool.threads);
    engine_float_mode_set();
    engine_lock_take(&pool.lock);
    pool.arriving--; /* it looks for work at once, so nothing is missed */
    engine_lock_drop(&pool.lock);
    for (;;) {
        task found = next_task();
        if (found.stop)
            return NULL;
        if (found.loop) {
            engine_parallel_join(found.loop, self->worker);
        } else {
            engine_op_run(found.op, self);
        }
        assert(engine_float_mode_good());
    }
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

int engine_pool_open(int workers, int devices) {
    lane *lanes = calloc((size_t)devices * KINDS, sizeof *lanes);
    pthread_t *threads = calloc((size_t)workers, sizeof *threads);
    if (!lanes || !threads) {
        free(lanes);
        free(threads);
        return neap_error(NEAP_E_MEMORY, "no memory for %d workers and %d devices", workers, devices);
    }
    engine_lock_take(&pool.lock);
    pool.lanes = lanes;
    pool.threads = threads;
    pool.most = workers;
    pool.started = 0;
    pool.arriving = pool.spinning = pool.sleeping = pool.streak = 0;
    pool.closing = false;
    atomic_store(&pool.signals, 0);
    engine_lock_drop(&pool.lock);
    return NEAP_OK;
}

/* Nothing is ready or running any more. */
void engine_pool_close(void) {
    pthread_mutex_lock(&grow_mutex); /* a worker that is being started is counted before we count */
    engine_lock_take(&pool.lock);
    pool.closing = true;
    int started = pool.started;
    summons call = summon(started);
    engine_lock_drop(&pool.lock);
    pthread_mutex_unlock(&grow_mutex);
    answer(call);
    for (int i = 0; i < started; i++)
        pthread_join(pool.threads[i], NULL);
    engine_lock_take(&pool.lock);
    free(pool.lanes);
    free(pool.threads);
    pool.lanes = NULL;
    pool.threads = NULL;
    pool.most = 0;
    pool.started = 0;
    engine_lock_drop(&pool.lock);
}
