/* ready_queue.c: ready ops, device by device, and whose turn it is. */
#include "engine/ready_queue.h"

enum { SMALL_STREAK = ENGINE_LIMIT(16, 2), TAKE_MOST = ENGINE_LIMIT(32, 3) /* ops taken at once */ };

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

static int top_priority(const engine_ready_queue *from) {
    return from->heap && (!from->head || from->heap->priority > 0) ? from->heap->priority : 0;
}

/* Splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void engine_ready_queues_add(engine_ready_queues *queues, engine_op *op) {
    int kind = op->flags & NEAP_PUSH_SMALL ? ENGINE_SMALL : ENGINE_PLAIN;
    engine_ready_queue *to = &queues->at[(op->device - queues->first_device) * ENGINE_KINDS + kind];
    op->next = NULL;
    if (op->priority != 0 || queues->shuffled) {
        op->child = NULL;
        op->order = queues->shuffled ? next_random(&queues->order) : queues->order++;
        to->heap = meld(to->heap, op);
        engine_hint_add(&queues->urgent, 1);
    } else if (to->head) {
        to->tail = to->tail->next = op;
    } else {
        to->head = to->tail = op;
    }
    engine_hint_add(&queues->ready[kind], 1);
    if (to->in_ring)
        return;
    to->in_ring = true;
    engine_ready_queue *last = queues->rings[kind];
    to->next = last ? last->next : to;
    if (last)
        last->next = to;
    queues->rings[kind] = to;
}

/* The op that is next in a queue. */
static engine_op *next_op(const engine_ready_queue *front) {
    return front->heap && (!front->head || front->heap->priority > 0) ? front->heap : front->head;
}

engine_op *engine_ready_queues_take(engine_ready_queues *queues, int kind, int count) {
    engine_ready_queue *last = queues->rings[kind], *front = last->next;
    engine_op *op = next_op(front);
    int taken = 1;
    if (op == front->heap) {
        front->heap = without_root(op);
        op->next = NULL;
        engine_hint_add(&queues->urgent, -1);
    } else {
        engine_op *end = op;
        for (; taken < count && end->next; taken++)
            end = end->next;
        front->head = end->next;
        end->next = NULL;
    }
    engine_hint_add(&queues->ready[kind], -taken);
    if (front->head || front->heap) {
        queues->rings[kind] = front;
    } else {
        front->in_ring = false;
        last->next = front->next;
        if (front == last)
            queues->rings[kind] = NULL;
    }
    return op;
}

/* How many ops a worker takes at once: its share of a half of what there is. */
static int take_count(const engine_ready_queues *queues, int kind, int workers) {
    int share = (int)(engine_hint(&queues->ready[kind]) / (2 * (uint32_t)workers));
    return share < 1 ? 1 : share < TAKE_MOST ? share : TAKE_MOST;
}

engine_op *engine_ready_queues_take_any(engine_ready_queues *queues, int workers) {
    engine_ready_queue *small = queues->rings[ENGINE_SMALL], *plain = queues->rings[ENGINE_PLAIN];
    if (!small && !plain)
        return NULL;
    int kind = small ? ENGINE_SMALL : ENGINE_PLAIN;
    if (small && plain) {
        int lead = top_priority(small->next) - top_priority(plain->next);
        if (lead < 0 || (lead == 0 && queues->streak >= SMALL_STREAK))
            kind = ENGINE_PLAIN;
    }
    queues->streak = kind == ENGINE_SMALL ? queues->streak + 1 : 0;
    return engine_ready_queues_take(queues, kind, take_count(queues, kind, workers));
}

engine_op *engine_ready_queues_front(const engine_ready_queues *queues, int kind) {
    return queues->rings[kind] ? next_op(queues->rings[kind]->next) : NULL;
}
