/* ready_queue.h: the ready ops of a pool (pool.c), which guards them with its lock.
 *
 *      device 0   small queue ─┐   ring of small queues
 *                 plain queue ─┼─┐
 *      device 1   small queue ─┘ │
 *                 plain queue ───┴ ring of plain queues
 *
 * A device is two queues. A queue is a list for ops of priority 0 and a pairing heap for the others. Queues with ops
 * stand in a ring and take turns, so devices share the workers fairly. A worker takes the higher priority of the two
 * rings' fronts; among equals small ops go first, but no more than SMALL_STREAK in a row.
 */
#ifndef NEAP_ENGINE_READY_QUEUE_H
#define NEAP_ENGINE_READY_QUEUE_H

#include "engine/op_internal.h"

enum { ENGINE_SMALL, ENGINE_PLAIN, ENGINE_KINDS };

typedef struct engine_ready_queue {
    engine_op *head, *tail;          /* priority 0, in order */
    engine_op *heap;                 /* other priorities; the root runs next */
    struct engine_ready_queue *next; /* in its ring */
    bool in_ring;
} engine_ready_queue;

typedef struct engine_ready_queues {
    engine_ready_queue *at;                  /* [devices][ENGINE_KINDS], from first_device on */
    engine_ready_queue *rings[ENGINE_KINDS]; /* the last queue of each ring; its next is the front */
    uint64_t order;                          /* ops that ever entered a heap; shuffled: the state of a generator */
    bool shuffled;                           /* every op enters the heap, with a random order */
    int streak;                              /* small ops taken in a row */
    int first_device;
    _Atomic uint32_t ready[ENGINE_KINDS]; /* ops in queues */
    _Atomic uint32_t urgent;              /* of these, in heaps */
} engine_ready_queues;

/* Counts that only the holder of the lock changes, and that are hints to those who look without. */
static inline void engine_hint_add(_Atomic uint32_t *count, int change) {
    uint32_t value = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, value + (uint32_t)change, memory_order_relaxed);
}

static inline uint32_t engine_hint(const _Atomic uint32_t *count) {
    return atomic_load_explicit(count, memory_order_relaxed);
}

void engine_ready_queues_add(engine_ready_queues *queues, engine_op *op);
/* The op that is next of its kind; NULL: none. */
engine_op *engine_ready_queues_front(const engine_ready_queues *queues, int kind);
/* Takes `count` ops, or fewer, from the ring's front queue, which is not empty, and moves on to the next queue. More
 * than one come from its list only. */
engine_op *engine_ready_queues_take(engine_ready_queues *queues, int kind, int count);
/* Takes what one of so many workers should run next, and some more, if many wait. NULL: nothing is ready. */
engine_op *engine_ready_queues_take_any(engine_ready_queues *queues, int workers);

static inline bool engine_ready_queues_any(const engine_ready_queues *queues) {
    return queues->rings[ENGINE_SMALL] || queues->rings[ENGINE_PLAIN];
}

#endif
