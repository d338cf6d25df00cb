/* parallel.c: a loop that is split over the workers from inside an op.
 *
 * The caller offers the loop to the pool, works on it itself, takes the offer back, and waits for the helpers inside.
 * The caller alone would finish the loop, so nested loops, and loops while every worker is busy, cannot deadlock. A
 * cancelled loop (neap_engine_cancel) claims no more indices.
 *
 *      indices   0 ──────────── n/2 ──────────── n      two parts, for two workers. A thread claims chunks of the part
 *                │ part 0 ▶▶    │ part 1 ▶▶▶▶    │      of the core that it runs on, and then of those that follow.
 *
 * So the same elements come to the same core op by op, where its caches have them: with one counter for all, two
 * threads read 16 MiB again and again at 30 GB/s each, so at 110 (two cores of Zen 5).
 */
#include "engine/timeline.h"

enum { CHUNKS_PER_WORKER = 8, SPINS_BEFORE_SLEEP = 1000, PIECE_NS = ENGINE_BRIEF_NS / 2, FOR_EVER = -1 };

static const uint32_t CALLER_SLEEPS = UINT32_C(1) << 31; /* a bit of `active` */

static void measure(engine_parallel *loop, int64_t began) {
    int64_t ns = engine_now() - began;
    atomic_store_explicit(&loop->piece_ns, ns > 0 ? ns : 1, memory_order_relaxed);
}

/* A chunk of the part `*at`, or of those behind it; false: none is left. */
static bool claim(engine_parallel *loop, int *at, int64_t *first, int64_t *end) {
    for (int tries = 0; tries < loop->nparts; tries++) {
        engine_part *part = &loop->parts[*at];
        if (atomic_load_explicit(&part->next, memory_order_relaxed) < part->end &&
            (*first = atomic_fetch_add_explicit(&part->next, loop->chunk, memory_order_relaxed)) < part->end) {
            *end = part->end - *first < loop->chunk ? part->end : *first + loop->chunk;
            return true;
        }
        *at = *at + 1 < loop->nparts ? *at + 1 : 0;
    }
    return false;
}

int64_t engine_parallel_left(const engine_parallel *loop) {
    int64_t left = 0;
    for (int k = 0; k < loop->nparts; k++) {
        int64_t next = atomic_load_explicit(&loop->parts[k].next, memory_order_relaxed);
        left += next < loop->parts[k].end ? loop->parts[k].end - next : 0;
    }
    return left;
}

/* Parts of nearly equal lengths. */
static void divide(engine_parallel *loop, int64_t n, int parts) {
    parts = parts < ENGINE_PARTS ? parts : ENGINE_PARTS;
    loop->nparts = n < parts ? (int)n : parts;
    int64_t each = n / loop->nparts, longer = n % loop->nparts;
    for (int k = 0; k < loop->nparts; k++) {
        atomic_init(&loop->parts[k].next, k * each + (k < longer ? k : longer));
        loop->parts[k].end = (k + 1) * each + (k + 1 < longer ? k + 1 : longer);
    }
}

/* Until no index is left, or `waker`, if there is one, is woken. Its first chunk tells how long one takes. `calls`:
 * this is the thread that offers the loop. */
static void work_on_loop(engine_parallel *loop, const neap_run *run, bool calls, neap_waker *waker) {
    int64_t began = engine_timeline_now(), done = 0, clock = engine_now(), first, end;
    int interrupts = neap_interrupt_pending(), at = engine_core_part(loop->nparts);
    while (!waker || !(engine_waker_woken(waker) || neap_interrupt_pending() != interrupts)) {
        if (engine_is_cancelled(loop->epoch) || !claim(loop, &at, &first, &end))
            break;
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
    if (waker && engine_parallel_left(loop) > 0)
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
                            .chunk = chunk,
                            .piece_ns = (int64_t)(cost * (double)chunk),
                            .device = run->device,
                            .epoch = run->epoch,
                            .name = self->op_name};
    divide(&loop, n, workers);
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
