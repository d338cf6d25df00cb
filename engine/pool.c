/* pool.c: ready ops, devices, worker threads.
 *
 *      ring of small queues  ──▶ workers, and waiting threads
 *      ring of plain queues  ──▶ workers ──▶ each has a short list of its own
 *                               (brief ops: also waiting threads)
 *
 * All devices share a pool of threads, or, under NEAP_SCHEDULER_DEVICE, each has a pool. Ready ops stand in queues
 * (ready_queue.h).
 *
 * When many ops wait, a worker takes several at once into its own list, from which idle workers steal. After an op the
 * worker runs the first op made ready by it, if nobody is more urgent, and after that its list.
 *
 * Workers are started singly while there is more work than free workers. A free worker spins for SPIN_NS before sleep;
 * only one worker spins at a time, and none while more threads are awake than there are cores. An added op wakes a
 * sleeper only if nobody spins or arrives (was started and has not looked for work yet). A worker that takes an op
 * while others remain wakes the next worker. A worker sleeps only when all lists of the pool are empty, and an op
 * enters a list only under the pool's lock: so no op is forgotten.
 *
 * A waiting thread outside of the pool is a guest: awake for SPIN_NS after its last piece of work, under the same
 * condition, a guest counts as a worker, and takes brief work. So a loop is offered to guests first. The loop wakes
 * workers only if it lasts, and only as far as fewer threads are awake than the pool may have workers. Where guests
 * have come, the waking is put off for the time of a chunk: the pushing thread may be about to wait. A leaving guest
 * wakes a worker for the rest of the work.
 *
 * Spinning threads do not yield their core: the kernel would give the core away for milliseconds.
 *
 * The lock of a pool guards all but the atomic counts, hints to threads without the lock. The lock of a worker's list
 * is taken inside the pool's lock, or alone.
 */
#include "engine/device_internal.h"
#include "engine/ready_queue.h"
#include "engine/timeline.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SPIN_NS = 50000,
    SPINS_PER_LOOK = 32,
    WAKE_NS = 30000,                   /* until a sleeper has come: shorter loops wake none */
    FOLLOW_MOST = ENGINE_LIMIT(64, 3), /* ops run in a row without asking the pool */
    FOR_EVER = -1
};

typedef struct worker {
    _Alignas(64) engine_lock lock;
    _Atomic uint32_t count; /* ops in its list */
    engine_op *head;
    engine_pool *pool;
    pthread_t thread;
} worker;

struct engine_pool {
    engine_lock lock;
    engine_ready_queues queues;
    engine_parallel *loops; /* offered */
    int first_worker;
    _Atomic int most; /* workers */
    _Atomic int started;
    int arriving, spinning, sleeping;
    int guests, idle; /* threads outside, waiting awake; of them, looking for work */
    bool guests_come; /* the last expected guest has come: pushing threads wait soon after */
    bool closing;
    worker *workers;
    _Atomic uint32_t answering;  /* threads busy waking and starting workers, without the lock */
    _Atomic uint32_t signals;    /* sleepers told to get up, and not up yet */
    _Atomic uint32_t open_loops; /* loops in want of helpers */
};

static struct {
    engine_pool *_Atomic one[ENGINE_DEVICES_MOST]; /* by device, or only the first */
    _Atomic int count;
    _Atomic bool by_device;
    int most;             /* workers of each */
    _Atomic int visitors; /* threads outside at the only pool, which stays open until all have gone */
    uint64_t shuffle;
    void (*run)(engine_op *op, engine_thread *self); /* of a ready op, to its end: engine_op_run */
} pools;

static pthread_mutex_t grow_mutex = PTHREAD_MUTEX_INITIALIZER; /* one thread is being started at a time */

static engine_pool *pool_of(int device) {
    return pools.one[pools.by_device ? device : 0];
}

/* ---- What guests take -------------------------------------------------------------------------------------------- */

static bool is_brief(const engine_op *op) {
    return op->cost > 0 && op->cost <= ENGINE_BRIEF_NS && !(op->flags & ENGINE_OP_ASYNC) && op->device < engine.cpus;
}

/* Does a waiting thread do better to run the op than to wake a worker, in some 50 µs, and to sleep? Either the work is
 * known to be short, so callbacks and interrupts do not wait long for this thread; or the thread has nothing else to
 * see to, and cannot go on before the op has run. */
static bool suits_guest(const engine_op *op, const neap_var *awaited) {
    bool due = is_brief(op);
    for (uint32_t i = 0; i < op->entry_count && awaited && !due; i++)
        due = op->entries[i].var == awaited;
    return due && !(op->flags & ENGINE_OP_ASYNC) && op->device < engine.cpus;
}

/* An op for a guest, or NULL. The caller holds the lock. */
static engine_op *take_for_guest(engine_pool *pool, const neap_var *awaited) {
    engine_op *plain = engine_ready_queues_front(&pool->queues, ENGINE_PLAIN);
    if (engine_ready_queues_front(&pool->queues, ENGINE_SMALL))
        return engine_ready_queues_take(&pool->queues, ENGINE_SMALL, 1);
    return plain && suits_guest(plain, awaited) ? engine_ready_queues_take(&pool->queues, ENGINE_PLAIN, 1) : NULL;
}

/* ---- Workers' own lists ------------------------------------------------------------------------------------------ */

/* The first op of a list of ops; the worker, whose list is empty, keeps the others. */
static engine_op *keep_rest(worker *own, engine_op *ops) {
    engine_op *rest = ops->next;
    if (!rest)
        return ops;
    uint32_t count = 0;
    for (engine_op *op = rest; op; op = op->next)
        count++;
    ops->next = NULL;
    engine_lock_take(&own->lock);
    own->head = rest;
    engine_hint_add(&own->count, (int)count);
    engine_lock_drop(&own->lock);
    return ops;
}

static engine_op *take_own(worker *own) {
    if (engine_hint(&own->count) == 0) /* only its worker adds */
        return NULL;
    engine_lock_take(&own->lock);
    engine_op *op = own->head;
    if (op) {
        own->head = op->next;
        op->next = NULL;
        engine_hint_add(&own->count, -1);
    }
    engine_lock_drop(&own->lock);
    return op;
}

/* The first half of some other worker's list. The caller holds the pool's lock. */
static engine_op *steal(engine_pool *pool, const worker *own) {
    for (int i = 0; i < pool->started; i++) {
        worker *other = &pool->workers[i];
        if (other == own || engine_hint(&other->count) == 0)
            continue;
        engine_lock_take(&other->lock);
        engine_op *first = other->head, *end = first;
        int half = ((int)engine_hint(&other->count) + 1) / 2;
        for (int k = 1; k < half; k++)
            end = end->next;
        if (first) {
            other->head = end->next;
            end->next = NULL;
            engine_hint_add(&other->count, -half);
        }
        engine_lock_drop(&other->lock);
        if (first)
            return first;
    }
    return NULL;
}

bool engine_pool_may_follow(const engine_op *op, const engine_thread *self) {
    const engine_pool *pool = self->pool;
    return pool == pool_of(op->device) && !pool->queues.shuffled && op->priority >= 0 && self->followed < FOLLOW_MOST &&
           engine_hint(&pool->queues.urgent) == 0 && engine_hint(&pool->open_loops) == 0;
}

/* ---- Waking and starting workers --------------------------------------------------------------------------------- */

/* Calls to workers, made after the lock was dropped. By then the op in question may have ended, and with the op the
 * reason why the engine does not stop: so the pool stays open until everybody has answered. */
typedef struct summons {
    int wake, start;
} summons;

/* Decides how `count` more workers come to work. The caller holds the lock. */
static summons summon_workers(engine_pool *pool, int count) {
    summons call = {0, 0};
    count -= pool->arriving + pool->spinning;
    while (count > 0 && pool->sleeping > 0) {
        pool->sleeping--;
        atomic_fetch_add_explicit(&pool->signals, 1, memory_order_relaxed);
        call.wake++;
        count--;
    }
    if (count > 0 && !pool->closing && pool->started < pool->most) {
        call.start = count < pool->most - pool->started ? count : pool->most - pool->started;
    }
    if (call.wake > 0 || call.start > 0)
        atomic_fetch_add(&pool->answering, 1);
    return call;
}

static void *worker_main(void *arg);
static void answer_summons(engine_pool *pool, summons call);

/* Starts a further worker if there may be more than `enough`. If the system gives no thread, the present workers do the
 * work; without any worker, the scheduler is the naive one from now on. No op waits in the pool then: each has come by
 * engine_pool_ensure. */
static void start_worker(engine_pool *pool, int enough) {
    summons instead = {0, 0};
    pthread_mutex_lock(&grow_mutex);
    engine_lock_take(&pool->lock);
    int index = pool->started;
    bool wanted = index < pool->most && index < enough && !pool->closing && !engine_is_naive();
    if (wanted)
        pool->arriving++;
    engine_lock_drop(&pool->lock);
    if (wanted) {
        char name[16];
        snprintf(name, sizeof name, "neap-%d", (pool->first_worker + index) % 10000);
        bool made =
            engine_thread_spawn(worker_main, &pool->workers[index], name, &pool->workers[index].thread) == NEAP_OK;
        engine_lock_take(&pool->lock);
        if (made) {
            pool->started++;
        } else {
            pool->arriving--;
            if (index > 0) {
                pool->most = index;
                instead = summon_workers(pool, 1); /* somebody saw a worker arriving and woke no sleeper */
            } else {
                atomic_store(&engine.scheduler, NEAP_SCHEDULER_NAIVE);
            }
        }
        engine_lock_drop(&pool->lock);
        if (!made && index == 0)
            engine_thread_tell_missing();
    }
    pthread_mutex_unlock(&grow_mutex);
    answer_summons(pool, instead);
}

static void answer_summons(engine_pool *pool, summons call) {
    if (call.wake == 0 && call.start == 0)
        return;
    if (call.wake > 0)
        engine_futex_wake(&pool->signals, call.wake);
    while (call.start-- > 0)
        start_worker(pool, INT_MAX);
    atomic_fetch_sub(&pool->answering, 1); /* now the pool may be gone */
}

void engine_pool_ensure(int device) {
    engine_pool *pool = pool_of(device);
    if (pool->started == 0 && !engine_is_naive())
        start_worker(pool, 1);
}

/* Adds ops from the front of the list, all of one pool. Returns the others. */
static engine_op *submit_some(engine_op *op, const engine_thread *self) {
    engine_pool *pool = pool_of(op->device);
    summons call = {0, 0};
    int count = 0, brief = 0;
    engine_lock_take(&pool->lock);
    do {
        engine_op *next = op->next;
        brief += op->flags & NEAP_PUSH_SMALL || is_brief(op);
        engine_ready_queues_add(&pool->queues, op);
        count++;
        op = next;
    } while (op && pool_of(op->device) == pool);
    /* A worker between two ops comes for an op itself, unless it has other work; so do idle guests. */
    bool comes = self->pool == pool && self->depth == 0 && !self->following;
    call = summon_workers(pool, count - comes - (brief < pool->idle ? brief : pool->idle));
    engine_lock_drop(&pool->lock);
    answer_summons(pool, call);
    return op;
}

void engine_pool_submit(engine_ready *ready, engine_thread *self) {
    engine_op *op = ready->head;
    while (op)
        op = submit_some(op, self);
}

/* ---- Offered loops ----------------------------------------------------------------------------------------------- */

int engine_pool_width(int device) {
    return engine_phase() == ENGINE_OFF ? 1 : pool_of(device)->most;
}

/* Whether the pieces suit a thread with callbacks and interrupts to see to. */
static bool is_in_brief_pieces(const engine_parallel *loop) {
    int64_t ns = atomic_load_explicit(&loop->piece_ns, memory_order_relaxed);
    return ns > 0 && ns <= ENGINE_BRIEF_NS;
}

/* ns of unclaimed work. */
static double left_of(const engine_parallel *loop) {
    int64_t ns = atomic_load_explicit(&loop->piece_ns, memory_order_relaxed);
    return (double)ns * (double)engine_share_left(loop) / (double)loop->chunk;
}

static int awake(const engine_pool *pool) {
    return pool->started - pool->sleeping + pool->guests;
}

/* Whether a thread may spin. */
static bool has_core(const engine_pool *pool) {
    return awake(pool) <= engine.cores && atomic_load_explicit(&engine.elsewhere, memory_order_relaxed) == 0;
}

/* Decides how the loop gets its helpers: idle guests, if the pieces are brief, then workers, as many as may be awake.
 * Guests are as good as gone if the pieces are not brief. The caller holds the lock. */
static summons summon_helpers(engine_pool *pool, const engine_parallel *loop) {
    bool open = is_in_brief_pieces(loop);
    if (open && left_of(loop) < WAKE_NS)
        return (summons){0, 0};
    int missing = loop->wanted - (open ? pool->idle : 0);
    int room = pool->most - awake(pool) + (open ? 0 : pool->idle) + pool->arriving + pool->spinning;
    return summon_workers(pool, missing < room ? missing : room);
}

static void want_helpers(engine_pool *pool, engine_parallel *loop, int helpers) {
    if (loop->wanted == 0 && helpers > 0)
        engine_hint_add(&pool->open_loops, 1);
    loop->wanted += helpers;
}

void engine_pool_offer(engine_parallel *loop, int helpers) {
    engine_pool *pool = pool_of(loop->device);
    engine_lock_take(&pool->lock);
    if (helpers > pool->most - 1)
        helpers = pool->most > 0 ? pool->most - 1 : 0;
    loop->link = pool->loops;
    pool->loops = loop;
    want_helpers(pool, loop, helpers);
    loop->expects = pool->guests_come && pool->guests == 0 && helpers > 0 && is_in_brief_pieces(loop);
    summons call = loop->expects ? (summons){0, 0} : summon_helpers(pool, loop);
    engine_lock_drop(&pool->lock);
    answer_summons(pool, call);
}

void engine_pool_insist(engine_parallel *loop) {
    engine_pool *pool = pool_of(loop->device);
    summons call = {0, 0};
    loop->expects = false;
    engine_lock_take(&pool->lock);
    if (loop->wanted > 0) {
        pool->guests_come = false;
        call = summon_helpers(pool, loop);
    }
    engine_lock_drop(&pool->lock);
    answer_summons(pool, call);
}

static void reoffer(engine_parallel *loop) {
    engine_pool *pool = pool_of(loop->device);
    summons call = {0, 0};
    engine_lock_take(&pool->lock);
    engine_parallel *offered = pool->loops;
    while (offered && offered != loop)
        offered = offered->link;
    if (offered) {
        want_helpers(pool, loop, 1);
        call = summon_workers(pool, 1);
    }
    engine_lock_drop(&pool->lock);
    answer_summons(pool, call);
}

void engine_pool_retract(engine_parallel *loop) {
    engine_pool *pool = pool_of(loop->device);
    engine_lock_take(&pool->lock);
    engine_parallel **link = &pool->loops;
    while (*link != loop)
        link = &(*link)->link;
    *link = loop->link;
    if (loop->wanted > 0)
        engine_hint_add(&pool->open_loops, -1);
    engine_lock_drop(&pool->lock);
}

/* A loop in want of helpers, entered; or NULL. The caller holds the lock. */
static engine_parallel *enter_loop(engine_pool *pool, bool guest) {
    engine_parallel *loop = pool->loops;
    while (loop && (loop->wanted == 0 || (guest && !is_in_brief_pieces(loop))))
        loop = loop->link;
    if (!loop)
        return NULL;
    if (--loop->wanted == 0)
        engine_hint_add(&pool->open_loops, -1);
    atomic_fetch_add_explicit(&loop->active, 1, memory_order_relaxed);
    return loop;
}

/* Works on an entered loop, to its end; a guest only until `waker` is woken (a worker: NULL). A guest leaving before
 * the loop's end lets another thread come instead. */
static void join_loop(engine_parallel *loop, neap_waker *waker) {
    engine_thread *self = engine_self();
    neap_run run = {.device = loop->device, .worker = self->worker, .epoch = loop->epoch};
    self->depth++;
    engine_share_work(loop, &run, 0, waker);
    self->depth--;
    if (waker && engine_share_left(loop) > 0)
        reoffer(loop);
    engine_share_leave(loop);
}

/* ---- Workers ----------------------------------------------------------------------------------------------------- */

typedef struct task {
    engine_op *op;
    engine_parallel *loop;
    bool stop;
} task;

static bool something_offered(const engine_pool *pool) {
    return engine_hint(&pool->queues.ready[ENGINE_PLAIN]) || engine_hint(&pool->queues.ready[ENGINE_SMALL]) ||
           engine_hint(&pool->open_loops);
}

/* A task, or false. The caller holds the lock. Loops go first: somebody waits for them already. */
static bool find_task(worker *own, task *out, summons *call) {
    engine_pool *pool = own->pool;
    *out = (task){.loop = enter_loop(pool, false)};
    if (!out->loop && (out->op = take_own(own)) == NULL) {
        engine_op *ops = engine_ready_queues_take_any(&pool->queues, pool->most);
        if (!ops)
            ops = steal(pool, own);
        if (ops)
            out->op = keep_rest(own, ops);
    }
    out->stop = !out->loop && !out->op && pool->closing;
    if ((out->loop || out->op) && engine_ready_queues_any(&pool->queues))
        *call = summon_workers(pool, 1);
    return out->loop || out->op || out->stop;
}

/* Looks for work without the lock for a while. The caller holds the lock before and after. */
static void spin(engine_pool *pool) {
    if (pool->spinning > 0 || engine.cores < 2 || !has_core(pool))
        return;
    pool->spinning++;
    engine_lock_drop(&pool->lock);
    int64_t end = engine_now() + SPIN_NS;
    while (!something_offered(pool) && engine_now() < end &&
           atomic_load_explicit(&engine.elsewhere, memory_order_relaxed) == 0) {
        for (int i = 0; i < SPINS_PER_LOOK && !something_offered(pool); i++)
            engine_pause();
    }
    engine_lock_take(&pool->lock);
    pool->spinning--;
}

static void find_due(engine_device *device, void *due) {
    if (engine_memory_due(device) >= 0)
        *(int64_t *)due = engine_memory_due(device);
}

static void tidy(engine_device *device, void *now) {
    engine_memory_tidy(device, *(int64_t *)now);
}

/* Sleeps until summoned; meanwhile, unused memory goes back to the system. The caller holds the lock before and
 * after. */
static void sleep_until_summoned(engine_pool *pool) {
    pool->sleeping++;
    for (;;) {
        engine_lock_drop(&pool->lock);
        int64_t due = FOR_EVER;
        engine_devices_each(find_due, &due);
        engine_futex_wait(&pool->signals, 0, due);
        if (due != FOR_EVER)
            engine_devices_each(tidy, &(int64_t){engine_now()});
        engine_lock_take(&pool->lock);
        if (engine_hint(&pool->signals) > 0)
            break;
    }
    atomic_fetch_sub_explicit(&pool->signals, 1, memory_order_relaxed);
}

static task next_task(worker *own) {
    engine_pool *pool = own->pool;
    task found = {0};
    if (engine_hint(&pool->open_loops) == 0 && engine_hint(&pool->queues.urgent) == 0 &&
        (found.op = take_own(own)) != NULL)
        return found;
    summons call = {0, 0};
    engine_lock_take(&pool->lock);
    while (!find_task(own, &found, &call)) {
        engine_lock_drop(&pool->lock);
        engine_activity_signal();
        engine_lock_take(&pool->lock);
        spin(pool);
        if (find_task(own, &found, &call))
            break;
        sleep_until_summoned(pool);
    }
    engine_lock_drop(&pool->lock);
    answer_summons(pool, call);
    return found;
}

/* Runs the op, and then each op's follower on this worker. */
static void run_ops(engine_op *op, engine_thread *self) {
    self->followed = 0;
    while (op) {
        pools.run(op, self);
        op = self->following;
        self->following = NULL;
        self->followed++;
    }
}

static void *worker_main(void *arg) {
    worker *own = arg;
    engine_pool *pool = own->pool;
    engine_thread *self = engine_self();
    self->pool = pool;
    self->worker = pool->first_worker + (int)(own - pool->workers);
    engine_float_mode_set();
    engine_lock_take(&pool->lock);
    pool->arriving--; /* the worker looks for work at once, so nothing is missed */
    engine_lock_drop(&pool->lock);
    for (;;) {
        task found = next_task(own);
        if (found.stop)
            return NULL;
        if (found.loop) {
            join_loop(found.loop, NULL);
        } else {
            run_ops(found.op, self);
        }
        assert(engine_float_mode_good());
    }
}

/* ---- Guests ------------------------------------------------------------------------------------------------------ */

/* The only pool, open until the visitor leaves; or NULL. The visitor is counted before the look at the phase: see
 * neap_engine_stop. */
static engine_pool *enter_pool(void) {
    atomic_fetch_add(&pools.visitors, 1);
    engine_pool *pool = atomic_load(&engine.phase) == ENGINE_RUNNING && !pools.by_device ? pools.one[0] : NULL;
    if (!pool || engine_self()->depth > 0) {
        atomic_fetch_sub(&pools.visitors, 1);
        return NULL;
    }
    return pool;
}

static void leave_pool(void) {
    atomic_fetch_sub(&pools.visitors, 1);
}

/* A task for a guest, or false. The caller holds the lock. */
static bool find_for_guest(engine_pool *pool, const neap_var *awaited, task *out, summons *call) {
    *out = (task){.loop = enter_loop(pool, true)};
    pool->guests_come |= out->loop != NULL;
    if (!out->loop)
        out->op = take_for_guest(pool, awaited);
    if (out->op && engine_ready_queues_any(&pool->queues))
        *call = summon_workers(pool, 1);
    return out->loop || out->op;
}

bool engine_pool_help(void) {
    engine_pool *pool = enter_pool();
    if (!pool)
        return false;
    engine_op *op = NULL;
    if (engine_hint(&pool->queues.ready[ENGINE_SMALL]) + engine_hint(&pool->queues.ready[ENGINE_PLAIN]) > 0) {
        engine_lock_take(&pool->lock);
        op = take_for_guest(pool, NULL);
        pool->guests += op != NULL;
        engine_lock_drop(&pool->lock);
    }
    if (op) {
        pools.run(op, engine_self());
        engine_lock_take(&pool->lock);
        pool->guests--;
        engine_lock_drop(&pool->lock);
    }
    leave_pool();
    return op;
}

/* Calls somebody instead of a leaving guest. The caller holds the lock. */
static summons summon_instead(engine_pool *pool) {
    for (engine_parallel *loop = pool->loops; loop; loop = loop->link)
        if (loop->wanted > 0)
            return summon_helpers(pool, loop);
    const engine_op *plain = engine_ready_queues_front(&pool->queues, ENGINE_PLAIN);
    return summon_workers(pool, engine_ready_queues_front(&pool->queues, ENGINE_SMALL) || (plain && is_brief(plain)));
}

/* Looks for a while, without the lock, until woken or until work is offered; if the offered work is not for this
 * thread, `fruitless`, until woken alone. */
static void look_out(const engine_pool *pool, neap_waker *waker, bool fruitless) {
    for (int i = 0; i < SPINS_PER_LOOK && !engine_waker_woken(waker) && (fruitless || !something_offered(pool)); i++)
        engine_pause();
}

bool engine_pool_attend(neap_waker *waker, const neap_var *awaited, int64_t *began) {
    engine_pool *pool = enter_pool();
    if (!pool)
        return engine_waker_woken(waker);
    task found;
    summons call = {0, 0};
    int64_t end = engine_now() + SPIN_NS;
    int interrupts = neap_interrupt_pending();
    engine_lock_take(&pool->lock);
    pool->guests++;
    while (!engine_waker_woken(waker) && neap_interrupt_pending() == interrupts) {
        if (find_for_guest(pool, awaited, &found, &call)) {
            engine_lock_drop(&pool->lock);
            if (*began)
                engine_timeline_wait(*began);
            answer_summons(pool, call);
            call = (summons){0, 0};
            if (found.loop) {
                join_loop(found.loop, waker);
            } else {
                pools.run(found.op, engine_self());
            }
            *began = engine_timeline_now();
            end = engine_now() + SPIN_NS;
            engine_lock_take(&pool->lock);
        } else {
            if (!has_core(pool) || engine_now() >= end || engine_phase() != ENGINE_RUNNING)
                break;
            bool fruitless = something_offered(pool);
            pool->idle++;
            engine_lock_drop(&pool->lock);
            look_out(pool, waker, fruitless);
            engine_lock_take(&pool->lock);
            pool->idle--;
        }
    }
    pool->guests--;
    call = summon_instead(pool);
    engine_lock_drop(&pool->lock);
    answer_summons(pool, call);
    leave_pool();
    return engine_waker_woken(waker);
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

static void free_pool(engine_pool *pool) {
    if (pool) {
        free(pool->queues.at);
        free(pool->workers);
        free(pool);
    }
}

/* A pool for `devices` devices from `first` on. NULL: out of memory. */
static engine_pool *new_pool(int first, int devices) {
    engine_pool *pool = engine_alloc_refuse() ? NULL : calloc(1, sizeof *pool);
    if (!pool)
        return NULL;
    size_t bytes = (size_t)pools.most * sizeof(worker);
    pool->queues.at = engine_alloc_refuse() ? NULL : calloc((size_t)devices * ENGINE_KINDS, sizeof *pool->queues.at);
    pool->workers = engine_alloc_refuse() ? NULL : aligned_alloc(_Alignof(worker), bytes);
    if (!pool->queues.at || !pool->workers) {
        free_pool(pool);
        return NULL;
    }
    pool->queues.first_device = first;
    pool->first_worker = first * pools.most;
    pool->most = pools.most;
    pool->queues.shuffled = pools.shuffle != 0;
    pool->queues.order = pools.shuffle;
    for (int i = 0; i < pools.most; i++)
        pool->workers[i] = (worker){.pool = pool};
    return pool;
}

static void close_pool(engine_pool *pool) {
    while (atomic_load(&pools.visitors) > 0)
        sched_yield();
    pthread_mutex_lock(&grow_mutex); /* a starting worker is counted before we count */
    engine_lock_take(&pool->lock);
    pool->closing = true;
    int started = pool->started;
    summons call = summon_workers(pool, started);
    engine_lock_drop(&pool->lock);
    pthread_mutex_unlock(&grow_mutex);
    answer_summons(pool, call);
    for (int i = 0; i < started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    while (atomic_load(&pool->answering) > 0)
        sched_yield();
}

static int no_memory_for_pool(int workers, int devices) {
    return neap_error(NEAP_E_MEMORY, "no memory for %d workers and %d devices", workers, devices);
}

int engine_pool_open(const neap_engine_config *config, void (*run)(engine_op *op, engine_thread *self)) {
    int workers = config->workers, devices = config->devices;
    pools.by_device = config->scheduler == NEAP_SCHEDULER_DEVICE;
    pools.most = workers;
    pools.shuffle = config->shuffle;
    pools.run = run;
    if (!pools.by_device) {
        pools.one[0] = new_pool(0, ENGINE_DEVICES_MOST);
        pools.count = pools.one[0] != NULL;
        engine.workers = workers;
        return pools.count ? NEAP_OK : no_memory_for_pool(workers, devices);
    }
    for (int device = 0; device < devices; device++) {
        if (engine_pool_add_device(device) != NEAP_OK) {
            engine_pool_close();
            return no_memory_for_pool(workers, devices);
        }
    }
    return NEAP_OK;
}

int engine_pool_add_device(int device) {
    if (!pools.by_device)
        return NEAP_OK;
    engine_pool *pool = new_pool(device, 1);
    if (!pool)
        return no_memory_for_pool(pools.most, 1);
    pools.one[device] = pool;
    pools.count = device + 1;
    engine.workers += pools.most;
    return NEAP_OK;
}

/* Nothing is ready or running any more. */
void engine_pool_close(void) {
    int count = pools.count;
    for (int i = 0; i < count; i++)
        close_pool(pools.one[i]);
    pools.count = engine.workers = 0;
    for (int i = 0; i < count; i++) {
        free_pool(pools.one[i]);
        pools.one[i] = NULL;
    }
}
