/* lanes.h: the ready ops of a pool (pool.c), which guards them with its lock.
 *
 *      device 0   small lane ─┐   ring of small lanes
 *                 plain lane ─┼─┐
 *      device 1   small lane ─┘ │
 *                 plain lane ───┴ ring of plain lanes
 *
 * A device is two lanes. A lane is a list for ops of priority 0 and a pairing heap for the others. Lanes with ops stand
 * in a ring and take turns, so devices share the workers fairly. A worker takes the higher priority of the two rings'
 * fronts; among equals small ops go first, but no more than SMALL_STREAK in a row.
 */
#ifndef NEAP_ENGINE_LANES_H
#define NEAP_ENGINE_LANES_H

#include "engine/op_internal.h"

enum { ENGINE_SMALL, ENGINE_PLAIN, ENGINE_KINDS };

typedef struct engine_lane {
    engine_op *head, *tail;   /* priority 0, in order */
    engine_op *heap;          /* other priorities; the root runs next */
    struct engine_lane *next; /* in its ring */
    bool in_ring;
} engine_lane;

typedef struct engine_lanes {
    engine_lane *at;                  /* [devices][ENGINE_KINDS], from first_device on */
    engine_lane *rings[ENGINE_KINDS]; /* the last lane of each ring; its next is the front */
    uint64_t order;                   /* ops that ever entered a heap; shuffled: the state of a generator */
    bool shuffled;                    /* every op enters the heap, with a random order */
    int streak;                       /* small ops taken in a row */
    int first_device;
    _Atomic uint32_t ready[ENGINE_KINDS]; /* ops in lanes */
    _Atomic uint32_t urgent;              /* of these, in heaps */
} engine_lanes;

/* Counts that only the holder of the lock changes, and that are hints to those who look without. */
static inline void engine_hint_add(_Atomic uint32_t *count, int change) {
    uint32_t value = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, value + (uint32_t)change, memory_order_relaxed);
}

static inline uint32_t engine_hint(const _Atomic uint32_t *count) {
    return atomic_load_explicit(count, memory_order_relaxed);
}

void engine_lanes_add(engine_lanes *lanes, engine_op *op);
/* The op that is next of its kind; NULL: none. */
engine_op *engine_lanes_front(const engine_lanes *lanes, int kind);
/* Takes `count` ops, or fewer, from the ring's front lane, which is not empty, and moves on to the next lane. More than
 * one come from its list only. */
engine_op *engine_lanes_take(engine_lanes *lanes, int kind, int count);
/* Takes what one of so many workers should run next, and some more, if many wait. NULL: nothing is ready. */
engine_op *engine_lanes_take_any(engine_lanes *lanes, int workers);

static inline bool engine_lanes_any(const engine_lanes *lanes) {
    return lanes->rings[ENGINE_SMALL] || lanes->rings[ENGINE_PLAIN];
}

#endif
