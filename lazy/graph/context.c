/* context.c: the state of one user thread: its life, what it asks Lua to attend to, limits, counters.
 *
 * Limits: the defaults flush a pending region at 1024 nodes, or when it would write a sixteenth of the machine's memory,
 * so that workers start early and recording stays ahead. Less memory would cut expressions over large arrays in the
 * middle, where several operands are pending, and pass over them several times.
 * Collection: Lua's collector sees 24 bytes per array, so native bytes drive it: for each 4 MiB of new buffers, which
 * take some ten times as long to be written, it is asked for a step; when live buffers pass max(256 MiB, 2 × what was
 * live after the last collection), for a full collection.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/comm/comm.h"
#include "lazy/effect/effect.h"

enum { DEFAULT_NODES = 1024 };
static const int64_t LEAST_BYTES = 64 << 20;
static const int64_t LOOK_AT_BYTES = 4 << 20;
static const uint64_t COLLECT_AT_LEAST = 256 << 20;

#ifndef NEAP_VERSION
#define NEAP_VERSION "0.1.0"
#endif

static int64_t default_bytes(void) {
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE) / 16;
    return bytes > LEAST_BYTES ? bytes : LEAST_BYTES;
}

const char *neap_version(void) {
    return NEAP_VERSION;
}

int neap_ctx_new(neap_ctx **out) {
    int status = neap_engine_start(NULL);
    if (status != 0 && neap_engine_workers() == 0)
        return status;
    neap_ctx *ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return neap_error(NEAP_E_MEMORY, "out of memory for a context");
    ctx->quick.plain = calloc((size_t)lazy_op_count, NEAP_DTYPE_COUNT);
    if (!ctx->quick.plain) {
        free(ctx);
        return neap_error(NEAP_E_MEMORY, "out of memory for a context");
    }
    ctx->pending.most_nodes = DEFAULT_NODES;
    ctx->pending.most_bytes = default_bytes();
    ctx->collector.above = COLLECT_AT_LEAST;
    if ((status = engine_comm_start(neap_engine_devices())) != 0 || (status = neap_waker_new(&ctx->waker)) != 0 ||
        (status = neap_effects_new(ctx->waker, &ctx->effects)) != 0 || (status = lazy_push(&ctx->handles.slots, NULL)) != 0 ||
        (status = lazy_push(&ctx->handles.ids, 0)) != 0 || (status = lazy_push(&ctx->handles.generations, 0)) != 0 ||
        (status = lazy_push(&ctx->sites.texts, "")) != 0) {
        neap_ctx_free(ctx);
        return status;
    }
    *out = ctx;
    return 0;
}

static void release_all(neap_ctx *ctx, lazy_nodes *nodes) {
    while (nodes->n > 0)
        graph_release(ctx, nodes->at[--nodes->n]);
    free(nodes->at);
}

void neap_ctx_free(neap_ctx *ctx) {
    if (!ctx)
        return;
    neap_effects_free(ctx->effects); /* first: callbacks that nobody will run hold up what waits for them */
    neap_wait_all();                 /* jobs in flight tell the context when they end */
    while (ctx->levels.n > 0)
        neap_level_end(ctx, ctx->levels.n - 1);
    program_jit_free_all(ctx);
    program_free_all(ctx);
    release_all(ctx, &ctx->pending.nodes);
    release_all(ctx, &ctx->levels.tape);
    release_all(ctx, &ctx->start.arena);
    release_all(ctx, &ctx->mesh.tokens);
    graph_release(ctx, ctx->quick.number);
    for (int64_t k = 1; k < ctx->handles.slots.n; k++)
        graph_release(ctx, ctx->handles.slots.at[k]);
    plan_free_all(ctx);
    effect_callback_free_all(ctx);
    if (ctx->waker)
        neap_waker_free(ctx->waker);
    for (void *slab = ctx->blocks.free[0]; slab;) {
        void *next = *(void **)slab;
        free(slab);
        slab = next;
    }
    free(ctx->handles.slots.at);
    free(ctx->handles.ids.at);
    free(ctx->handles.generations.at);
    free(ctx->handles.unused.at);
    graph_site_free_all(ctx);
    free(ctx->walk.stack.at);
    free(ctx->walk.order.at);
    free(ctx->plans.key.at);
    free(ctx->plans.made.at);
    free(ctx->plans.wanted.at);
    free(ctx->plans.views.at);
    free(ctx->quick.plain);
    free(ctx);
}

neap_waker *neap_ctx_waker(neap_ctx *ctx) {
    return ctx->waker;
}

neap_effects *neap_ctx_effects(neap_ctx *ctx) {
    return ctx->effects;
}

/* ---- Attention ---------------------------------------------------------------------------------------------------- */
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
    return ctx->collector.attention || neap_interrupt_pending() || neap_effects_requested(ctx->effects) ? NEAP_ATTEND : NEAP_OK;
}

/* ---- Limits and counters ------------------------------------------------------------------------------------------ */
void neap_limits(neap_ctx *ctx, int64_t nodes, int64_t bytes) {
    ctx->pending.most_nodes = nodes;
    ctx->pending.most_bytes = bytes;
}

void neap_counters_get(neap_ctx *ctx, neap_counters *out) {
    *out = ctx->counters;
    out->pending = (uint64_t)ctx->pending.n;
    out->live_handles = ctx->handles.live;
}
