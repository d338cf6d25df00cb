/* attention.c: what a context asks Lua to attend to, and what it counts.
 *
 * Collection: Lua's collector sees 24 bytes per array, so native bytes drive it: for each 4 MiB of new buffers, which
 * take some ten times as long to be written, it is asked for a step; when live buffers pass max(256 MiB, 2 × what was
 * live after the last collection), for a full collection.
 */
#include "lazy/graph/graph.h"

static const int64_t LOOK_AT_BYTES = 4 << 20;
static const uint64_t COLLECT_AT_LEAST = 256 << 20;

int neap_attention(neap_ctx *ctx) {
    int bits = ctx->collector.attention;
    ctx->collector.attention = 0;
    if (neap_interrupt_pending())
        bits |= NEAP_ATTEND_INTERRUPT;
    if (neap_effects_requested(ctx->effects) || ctx->callbacks.dropping ||
        atomic_load_explicit(&ctx->callbacks.dropped, memory_order_relaxed))
        bits |= NEAP_ATTEND_CALLBACK;
    return bits;
}

void neap_collector_cycled(neap_ctx *ctx) {
    ctx->collector.attention |= NEAP_ATTEND_SWEEP;
}

void neap_collected(neap_ctx *ctx) {
    uint64_t live = neap_memory_live();
    ctx->collector.above = live * 2 > COLLECT_AT_LEAST ? live * 2 : COLLECT_AT_LEAST;
}

/* Live bytes are those of all threads and devices, so they are looked at once in a while only. */
void graph_count_bytes(neap_ctx *ctx, int64_t bytes) {
    ctx->collector.unseen += bytes;
    if (ctx->collector.unseen < LOOK_AT_BYTES)
        return;
    ctx->collector.unseen = 0;
    ctx->collector.attention |= neap_memory_live() > ctx->collector.above ? NEAP_ATTEND_COLLECT : NEAP_ATTEND_STEP;
}

int neap_throttle(neap_ctx *ctx) {
    return neap_ahead_poll(ctx->waker);
}

int graph_attend(neap_ctx *ctx) {
    return ctx->collector.attention || neap_interrupt_pending() || neap_effects_requested(ctx->effects) ? NEAP_ATTEND
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
