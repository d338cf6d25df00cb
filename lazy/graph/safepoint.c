/* safepoint.c: what a context asks Lua to do between two calls, and what it counts for that.
 *
 * Collection: Lua's collector sees 24 bytes per array, so native bytes drive it.
 *
 *   - A whole cycle is due once the bytes allocated since the last one are worth it: when to touch so much new memory
 *     takes eight times as long as a cycle does. Lua runs it while it waits for the workers, or else when it records.
 *     So of a loop that drops a large array in each turn, two blocks go round. Pending bytes that will be written
 *     count too, from 64 MiB on: of what is dead by then, later steps of the same flush take the memory.
 *   - Where it is 32 times as long, one comes before the flush of a large array that is waited for: its result is
 *     written to the memory of the last one, which may be in a cache, and one block goes round.
 *   - Where cycles take longer, one is due as well once blocks were taken from the system that take as long to be
 *     touched, and an eighth of what is live: dead arrays may have been there for them. Each time the pool has more
 *     blocks after it, so of n turns only about the root of n do so, and of a program that keeps what it makes, few.
 *   - Where a cycle takes more than a millisecond (much Lua data), for each 4 MiB of new buffers, which take some ten
 *     times as long to be written, the collector is asked for a step.
 *   - What cycles take beyond what they took when they last left out all that was alive then (nothing, before the
 *     first did) is a waste, of a script that has much Lua data: once that is four times what it takes to leave out all
 *     that is alive now, a cycle does so (tools/luajit-patches). What it left out and is dead is found by the next
 *     such one, or by a full collection.
 *   - When live buffers pass max(256 MiB, 2 × what was live after the last collection), for a full collection.
 *
 *   - Before an update of a large array that nothing but a handle names: if that is dead, as in x = x:at{i}:set(v), the
 *     update needs no copy. Where cycles do not find it dead, fewer and fewer updates ask for one.
 */
#include <time.h>

#include "lazy/graph/graph.h"

static const int64_t LOOK_AT_BYTES = 4 << 20, LARGE_BYTES = 1 << 20;
static const uint64_t COLLECT_AT_LEAST = 256 << 20;
static const int64_t MUCH_RECORDED = 64 << 20; /* as much as may run ahead of the script */
static const int64_t BYTES_PER_NS = 10;        /* first touch of new memory, in huge pages */
static const int64_t WORTH = 8;                /* how much longer that must take than a cycle */
static const int64_t WORTH_FIRST = 32;         /* the same, if the work waits for the cycle */
static const int64_t RELEASE_NS = 300;         /* to find and release a dead array */
static const uint64_t GROWN_PART = 8;          /* of what is live: new blocks that are no growth of it yet */
static const int64_t MADE_BYTES_PER_NS = 2; /* of blocks that were taken: huge pages may be rare, and the host's too */
static const int64_t LONG_NS = 1000000;     /* a cycle that is rather made in steps */
static const int64_t KEEP_WORTH = 4, KEEP_LEAST_NS = 250000;

int neap_safepoint(neap_ctx *ctx) {
    int bits = ctx->collector.requests;
    ctx->collector.requests &= NEAP_SAFEPOINT_STEP; /* until neap_collector_due */
    if (neap_interrupt_pending())
        bits |= NEAP_SAFEPOINT_INTERRUPT;
    if (neap_effects_requested(ctx->effects) || ctx->callbacks.dropping ||
        atomic_load_explicit(&ctx->callbacks.dropped, memory_order_relaxed))
        bits |= NEAP_SAFEPOINT_CALLBACK;
    return bits;
}

void neap_collector_cycled(neap_ctx *ctx) {
    ctx->collector.requests |= NEAP_SAFEPOINT_SWEEP;
    ctx->collector.took -= ctx->collector.took / 8; /* there may be less Lua data now: in the end that is tried */
}

void neap_collected(neap_ctx *ctx) {
    uint64_t live = neap_memory_live();
    ctx->collector.requests &= ~NEAP_SAFEPOINT_STEP;
    ctx->collector.above = live * 2 > COLLECT_AT_LEAST ? live * 2 : COLLECT_AT_LEAST;
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_cycle_due(const lazy_collector *collector) {
    const int64_t since = collector->since - collector->awaited;
    if (since < LARGE_BYTES)
        return false;
    if (since / BYTES_PER_NS >= WORTH * collector->took)
        return true;
    const int64_t made = (int64_t)(neap_memory_made() - collector->made);
    return made >= LARGE_BYTES && made >= collector->grown && made / MADE_BYTES_PER_NS >= collector->took;
}

static bool is_keep_due(const lazy_collector *collector) {
    return collector->excess >= KEEP_WORTH * (collector->keep > KEEP_LEAST_NS ? collector->keep : KEEP_LEAST_NS);
}

/* ---- Before updates ---------------------------------------------------------------------------------------------- */
/* The array that is there and that a chain of pending updates, of which the node is the last or a view, copies; NULL:
 * there is none. */
static neap_node *updated_array(neap_node *node) {
    bool updated = false;
    while (!node->buffer && (graph_is_update(node) || graph_is_view(node)) && !(node->flags & LAZY_DROPPED)) {
        updated |= graph_is_update(node);
        node = node->in[0];
    }
    return updated && node->buffer ? node : NULL;
}

/* Does nothing but a handle name the array, and is a cycle short beside a copy of it? Until there was a cycle, nobody
 * knows, or who polls has no collector. */
static bool is_worth_a_look(const neap_ctx *ctx, const neap_node *array) {
    int64_t bytes = (int64_t)graph_node_bytes(array), took = ctx->collector.took;
    return array->id && ctx->levels.n == 0 && neap_buffer_sole(array->buffer) && took > 0 && bytes >= LARGE_BYTES &&
           bytes / BYTES_PER_NS >= WORTH * took;
}

/* Is a cycle so short beside a flush for this node that it had better come first, and may there be dead arrays, whose
 * memory, still in a cache, the result can have? */
static bool is_short_beside(const neap_ctx *ctx, const neap_node *node) {
    const lazy_collector *collector = &ctx->collector;
    return !node->buffer && !graph_is_meshed(node) && (int64_t)graph_node_bytes(node) >= LARGE_BYTES &&
           collector->since >= LARGE_BYTES && ctx->levels.n == 0 && collector->took > 0 &&
           collector->since / BYTES_PER_NS >= WORTH_FIRST * collector->took;
}

/* The flush of the array's update: how often cycles found it alive says whether to ask for one. */
static bool is_cycle_promising(neap_ctx *ctx, const neap_node *array, int put_off) {
    enum { PASS_MOST = 63 };
    lazy_collector *collector = &ctx->collector;
    if (!is_worth_a_look(ctx, array)) {
        collector->in_vain = put_off < 0 ? 0 : collector->in_vain;
        return false;
    }
    if (put_off < 0) { /* there was a cycle, and the array is there */
        collector->pass = collector->in_vain = collector->in_vain < PASS_MOST ? 2 * collector->in_vain + 1 : PASS_MOST;
        return false;
    }
    if (put_off == 0 && collector->pass > 0) {
        collector->pass--;
        return false;
    }
    return true;
}

bool graph_collects_first(neap_ctx *ctx, neap_node *node) {
    enum { ASKS = 3 }; /* a quick call, the call, and the first of those that wait */
    lazy_collector *collector = &ctx->collector;
    const neap_node *array = updated_array(node);
    int put_off = collector->put_off;
    collector->put_off = 0;
    bool asks = array ? is_cycle_promising(ctx, array, put_off) : put_off >= 0 && is_short_beside(ctx, node);
    if (!asks || put_off == ASKS)
        return false;
    collector->put_off = put_off + 1;
    collector->awaited = 0;      /* that wait is over */
    neap_waker_wake(ctx->waker); /* nothing else would */
    return true;
}

int neap_collector_due(neap_ctx *ctx) {
    bool step = ctx->collector.requests & NEAP_SAFEPOINT_STEP && ctx->collector.took > LONG_NS;
    ctx->collector.requests &= ~NEAP_SAFEPOINT_STEP;
    bool put_off = ctx->collector.put_off > 0;
    ctx->collector.put_off = put_off ? -1 : ctx->collector.put_off;
    if (put_off || is_cycle_due(&ctx->collector) || ctx->pending.bytes >= ctx->collector.asks_at) {
        ctx->collector.keeping = is_keep_due(&ctx->collector);
        return ctx->collector.keeping ? NEAP_COLLECT_KEEP : NEAP_COLLECT_CYCLE;
    }
    return step ? NEAP_COLLECT_STEP : NEAP_COLLECT_NOTHING;
}

void neap_cycle_begin(neap_ctx *ctx) {
    ctx->collector.since = ctx->collector.awaited;
    ctx->collector.handles = (int64_t)ctx->handles.live;
    ctx->collector.began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* To release what was dead takes as long whenever it is done, so it speaks against no cycle. A single long one, of cold
 * caches, is taken at half its word. */
void neap_cycle_end(neap_ctx *ctx) {
    int64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - ctx->collector.began, before = ctx->collector.took;
    const int64_t least = ctx->collector.least;
    const bool was_left_out = ctx->collector.keep > 0;
    int64_t released = (ctx->collector.handles - (int64_t)ctx->handles.live) * RELEASE_NS;
    took = ctx->collector.said ? ctx->collector.said : took - released > took / 4 ? took - released : took / 4;
    if (ctx->collector.keeping) {
        ctx->collector.keep = took;
        ctx->collector.least = ctx->collector.excess = 0;
    } else {
        ctx->collector.least = was_left_out ? least && least < took ? least : took : 0;
        ctx->collector.excess += took - ctx->collector.least;
        ctx->collector.took = before && took > before ? before + (took - before) / 2 : took;
    }
    ctx->collector.keeping = false;
    graph_count_recorded_from_here(ctx);
    ctx->collector.made = neap_memory_made();
    ctx->collector.grown = (int64_t)(neap_memory_live() / GROWN_PART);
    ctx->collector.requests &= ~(NEAP_SAFEPOINT_SWEEP | NEAP_SAFEPOINT_STEP);
}

void neap_debug_collector(neap_ctx *ctx, int64_t cycle_ns) {
    ctx->collector.said = ctx->collector.took = cycle_ns;
    graph_count_recorded_from_here(ctx);
}

void graph_count_recorded_from_here(neap_ctx *ctx) {
    const int64_t worth = WORTH * ctx->collector.took * BYTES_PER_NS;
    ctx->collector.much = worth > MUCH_RECORDED ? worth : MUCH_RECORDED;
    ctx->collector.asks_at = ctx->pending.bytes + ctx->collector.much;
}

/* Live bytes are those of all threads and devices, so they are looked at once in a while only. */
void graph_count_bytes(neap_ctx *ctx, int64_t bytes) {
    ctx->collector.unseen += bytes;
    ctx->collector.since += bytes;
    if (ctx->collector.unseen < LOOK_AT_BYTES)
        return;
    ctx->collector.unseen = 0;
    ctx->collector.requests |= neap_memory_live() > ctx->collector.above ? NEAP_SAFEPOINT_COLLECT : NEAP_SAFEPOINT_STEP;
}

void graph_count_awaited(neap_ctx *ctx, int64_t since) {
    if (ctx->collector.since > since)
        ctx->collector.awaited = ctx->collector.since - since;
}

int neap_throttle(neap_ctx *ctx) {
    return neap_ahead_poll(ctx->waker);
}

int graph_safepoint(neap_ctx *ctx) {
    return ctx->collector.requests || neap_interrupt_pending() || neap_effects_requested(ctx->effects) ? NEAP_SAFEPOINT
                                                                                                       : NEAP_OK;
}

/* ---- Limits and counters ----------------------------------------------------------------------------------------- */
void neap_limits(neap_ctx *ctx, int64_t nodes, int64_t bytes) {
    ctx->pending.most_nodes = nodes;
    ctx->pending.most_bytes = bytes;
}

_Atomic uint64_t graph_written_in_bodies;

void neap_counters_get(neap_ctx *ctx, neap_counters *out) {
    *out = ctx->counters;
    out->written += atomic_load_explicit(&graph_written_in_bodies, memory_order_relaxed);
    out->pending = (uint64_t)ctx->pending.n;
    out->live_handles = ctx->handles.live;
}
