/* share.c: how the threads inside a loop share its indices.
 *
 *      indices   0 ──────────── n/2 ──────────── n      two parts, for two workers. A thread claims chunks of the part
 *                │ part 0 ▶▶    │ part 1 ▶▶▶▶    │      of the core that it runs on, and then of those that follow.
 *
 * So the same elements come to the same core op by op, where its caches have them: with one counter for all, two
 * threads read 16 MiB again and again at 30 GB/s each, so at 110 (two cores of Zen 5).
 */
#include "engine/timeline.h"

enum { SPINS_BEFORE_SLEEP = 1000, FOR_EVER = -1 };

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

int64_t engine_share_left(const engine_parallel *loop) {
    int64_t left = 0;
    for (int k = 0; k < loop->nparts; k++) {
        int64_t next = atomic_load_explicit(&loop->parts[k].next, memory_order_relaxed);
        left += next < loop->parts[k].end ? loop->parts[k].end - next : 0;
    }
    return left;
}

void engine_share_divide(engine_parallel *loop, int64_t n, int parts) {
    parts = parts < ENGINE_PARTS ? parts : ENGINE_PARTS;
    loop->nparts = n < parts ? (int)n : parts;
    int64_t each = n / loop->nparts, longer = n % loop->nparts;
    for (int k = 0; k < loop->nparts; k++) {
        atomic_init(&loop->parts[k].next, k * each + (k < longer ? k : longer));
        loop->parts[k].end = (k + 1) * each + (k + 1 < longer ? k + 1 : longer);
    }
}

bool engine_share_work(engine_parallel *loop, const neap_run *run, int64_t most, neap_waker *waker) {
    int64_t began = engine_timeline_now(), done = 0, clock = engine_now(), first, end;
    int interrupts = neap_interrupt_pending(), at = engine_core_part(loop->nparts);
    int64_t left = most > 0 ? most : INT64_MAX;
    bool claimed = true;
    while (left-- > 0 && !(waker && (engine_waker_woken(waker) || neap_interrupt_pending() != interrupts))) {
        claimed = !engine_is_cancelled(loop->epoch) && claim(loop, &at, &first, &end);
        if (!claimed)
            break;
        for (int64_t i = first; i < end && !engine_is_cancelled(loop->epoch); i++, done++)
            loop->fn(loop->arg, i, run);
        if (done == end - first)
            measure(loop, clock);
    }
    if (began && done > 0)
        engine_timeline_share(loop->name, began, done);
    return claimed;
}

/* A wake on the loop's old address is harmless, as every sleeper on a futex looks again. */
void engine_share_leave(engine_parallel *loop) {
    _Atomic uint32_t *active = &loop->active;
    if (atomic_fetch_sub_explicit(active, 1, memory_order_acq_rel) == (CALLER_SLEEPS | 1))
        engine_futex_wake(active, 1);
}

void engine_share_wait(engine_parallel *loop) {
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
