/* parallel.c: a loop that is split over the workers from inside an op.
 *
 * The caller offers the loop to the pool, works on it itself, takes the offer back, and waits for the helpers inside.
 * The caller alone would finish the loop, so nested loops, and loops while every worker is busy, cannot deadlock. A
 * cancelled loop (neap_engine_cancel) claims no more indices.
 * share.c says how threads share its indices.
 */
#include "engine/op_internal.h"

enum { CHUNKS_PER_WORKER = 8, PIECE_NS = ENGINE_BRIEF_NS / 2 };

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
    engine_share_divide(&loop, n, workers);
    int64_t others = (n + loop.chunk - 1) / loop.chunk - 1;
    engine_pool_offer(&loop, others < workers ? (int)others : workers);
    bool more = true;
    if (loop.expects && (more = engine_share_work(&loop, run, 1, NULL)))
        engine_pool_insist(&loop);
    if (more)
        engine_share_work(&loop, run, 0, NULL);
    engine_pool_retract(&loop);
    engine_share_wait(&loop);
}

/* An op that runs at its push is not counted as under way, so the engine may stop meanwhile; its loop is, or it would
 * be offered to a pool that is gone. */
void neap_parallel_for(const neap_run *run, int64_t n, void (*fn)(void *arg, int64_t i, const neap_run *run),
                       void *arg) {
    engine_thread *self = engine_self();
    bool outside = run->worker < 0;
    if (n <= 1 || engine_is_naive() || engine_phase() == ENGINE_DEAD ||
        (outside && engine_activity_begin(self) != NEAP_OK)) {
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
        engine_activity_end(self);
}
