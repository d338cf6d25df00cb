/* parallel.c: a loop that is split over the workers from inside an op.
 *
 * The caller offers the loop to the pool, works on it itself, takes the offer back, and waits for the helpers inside.
 * Indices are claimed in chunks from one atomic counter. The caller alone would finish the loop, so nested loops, and
 * loops while every worker is busy, cannot deadlock. A cancelled loop (neap_engine_cancel) claims no more indices.
 */
#include "engine/timeline.h"

enum { CHUNKS_PER_WORKER = 8, SPINS_BEFORE_SLEEP = 1000, PIECE_NS = ENGINE_BRIEF_NS / 2, FOR_EVER = -1 };

static const uint32_t CALLER_SLEEPS = UINT32_C(1) << 31; /* a bit of `active` */

static void measure(engine_parallel *loop, int64_t began) {
    int64_t ns = engine_now() - began;
    atomic_store_explicit(&loop->piece_ns, ns > 0 ? ns : 1, memory_order_relaxed);
}

/* Until no index is left, or `waker`, if there is one, is woken. Its first chunk tells how long one takes. `calls`:
 * this is the thread that offers the loop. */
static void work_on_loop(engine_parallel *loop, const neap_run *run, bool calls, neap_waker *waker) {
    int64_t began = engine_timeline_now(), done = 0, clock = engine_now();
    int interrupts = neap_interrupt_pending();
    while (!waker || !(engine_waker_woken(waker) || neap_interrupt_pending() != interrupts)) {
        int64_t first = atomic_fetch_add_explicit(&loop->next, loop->chunk, memory_order_relaxed);
        if (first >= loop->n || engine_is_cancelled(loop->epoch))
            break;
        int64_t end = first + loop->chunk < loop->n ? first + loop->chunk : loop->n;
        for (int64_t i = first; i < end && !engine_is_cancelled(loop->epoch); i++, done++)
            loop->fn(loop->arg, i, run);
        if (done == end - first)
            measure(loop, clock);
        if (calls && loop->expects)
            engine_pool_insist(loop);
    }
    if (began && done > 0)
        engine_timeline_share(loop->name, began, done);
}

/* A helper's part: it entered under the pool's lock. The loop may be gone once `active` is 0: a wake on its old
 * address is harmless, as every sleeper on a futex looks again. */
void engine_parallel_join(engine_parallel *loop, neap_waker *waker) {
    engine_thread *self = engine_self();
    neap_run run = {.device = loop->device, .worker = self->worker, .epoch = loop->epoch};
    self->depth++;
    work_on_loop(loop, &run, false, waker);
    self->depth--;
    if (waker && atomic_load_explicit(&loop->next, memory_order_relaxed) < loop->n)
        engine_pool_reoffer(loop);
    _Atomic uint32_t *active = &loop->active;
    if (atomic_fetch_sub_explicit(active, 1, memory_order_acq_rel) == (CALLER_SLEEPS | 1))
        engine_futex_wake(active, 1);
}

static void wait_for_helpers(engine_parallel *loop) {
    for (int spin = 0; spin < SPINS_BEFORE_SLEEP; spin++) {
        if (atomic_load_explicit(&loop->active, memory_order_acquire) == 0)
            return;
        engine_pause();
    }
    uint32_t active = atomic_fetch_or_explicit(&loop->active, CALLER_SLEEPS, memory_order_acq_rel) | CALLER_SLEEPS;
    while (active != CALLER_SLEEPS) {
        engine_futex_wait(&loop->active, active, FOR_EVER);
        active = atomic_load_explicit(&loop->active, memory_order_acquire);
    }
}

static void run_alone(const neap_run *run, int64_t n, void (*fn)(void *arg, int64_t i, const neap_run *run),
                      void *arg) {
    for (int64_t i = 0; i < n && !neap_run_cancelled(run); i++)
        fn(arg, i, run);
}

/* Chunks are so short, as far as the op's cost tells, that a thread that waits may take some. */
static void split(const neap_run *run, int64_t n, void (*fn)(void *arg, int64_t i, const neap_run *run), void *arg,
                  int workers) {
    const engine_thread *self = engine_self();
    double cost = (double)self->op_cost / (double)n;
    int64_t chunk = n / ((int64_t)workers * CHUNKS_PER_WORKER);
    if (cost * (double)chunk > PIECE_NS)
        chunk = (int64_t)(PIECE_NS / cost);
    if (chunk < 1)
        chunk = 1;
    engine_parallel loop = {.fn = fn,
                            .arg = arg,
                            .n = n,
                            .chunk = chunk,
                            .piece_ns = (int64_t)(cost * (double)chunk),
                            .device = run->device,
                            .epoch = run->epoch,
                            .name = self->op_name};
    int64_t others = (n + loop.chunk - 1) / loop.chunk - 1;
    engine_pool_offer(&loop, others < workers ? (int)others : workers);
    work_on_loop(&loop, run, true, NULL);
    engine_pool_retract(&loop);
    wait_for_helpers(&loop);
}

/* An op that runs at its push is not counted as under way, so the engine may stop meanwhile; its loop is, or it would
 * be offered to a pool that is gone. */
void neap_parallel_for(const neap_run *run, int64_t n, void (*fn)(void *arg, int64_t i, const neap_run *run),
                       void *arg) {
    engine_thread *self = engine_self();
    bool outside = run->worker < 0;
    if (n <= 1 || engine_is_naive() || engine_phase() == ENGINE_DEAD ||
        (outside && engine_push_begin(self) != NEAP_OK)) {
        run_alone(run, n, fn, arg);
        return;
    }
    int workers = engine_pool_width(run->device);
    if (workers > 1) {
        split(run, n, fn, arg, workers);
    } else {
        run_alone(run, n, fn, arg);
    }
    if (outside)
        engine_push_end(self);
}
