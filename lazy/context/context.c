/* context.c: the state of one user thread: how it begins and ends. It stands above all folders whose state it holds.
 *
 * Limits: the defaults flush a pending region at 1024 nodes, or when it would write a sixteenth of the machine's
 * memory, so that workers start early and recording stays ahead. Less memory would cut expressions over large arrays in
 * the middle, where several operands are pending, and pass over them several times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/comm/comm.h"
#include "lazy/effect/effect.h"
#include "lazy/program/program.h"
#include "lazy/sizes/sizes.h"
#include "lazy/vm/kernel.h"

enum { DEFAULT_NODES = 1024 };
static const int64_t LEAST_BYTES = 64 << 20;

static int64_t default_bytes(void) {
    int64_t bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE) / 16;
    return bytes > LEAST_BYTES ? bytes : LEAST_BYTES;
}

const char *neap_version(void) {
    return NEAP_VERSION;
}

static const graph_note_kind *const kinds[] = {
    &graph_note_op,         &graph_note_number,      &graph_note_level_end, &graph_note_tape_begin,
    &graph_note_tape_alias, &graph_note_trace_begin, &program_note_input,   &program_note_end,
    &program_note_captured, &program_note_on,        &program_note_replay,  &derive_note_gradient,
    &derive_note_tangent,   &derive_note_batch,      &effect_note_print,    &effect_note_callback,
    &control_note,          &quick_note_number,      &quick_note_part,      NULL};

static const graph_hooks hooks = {.recorded = plan_start_recorded,
                                  .located = plan_start_located,
                                  .effect_free = effect_free,
                                  .noted = sizes_noted,
                                  .kinds = kinds,
                                  .read = sizes_read};

static void warn_on_stderr(const char *text) {
    neap_out_write(NEAP_STDERR, text, strlen(text));
}

int neap_ctx_new(neap_ctx **out) {
    int status = vm_isa_check();
    if (status)
        return status;
    status = neap_engine_start(NULL);
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
    graph_count_recorded_from_here(ctx);
    neap_collected(ctx);
    ctx->hooks = &hooks;
    int first;
    if ((status = engine_comm_start(neap_session_devices(&first), warn_on_stderr)) != 0 ||
        (status = neap_waker_new(&ctx->waker)) != 0 || (status = neap_effects_new(ctx->waker, &ctx->effects)) != 0 ||
        (status = lazy_push(&ctx->handles.slots, NULL)) != 0 || (status = lazy_push(&ctx->handles.ids, 0)) != 0 ||
        (status = lazy_push(&ctx->handles.generations, 0)) != 0 || (status = lazy_push(&ctx->sites.texts, "")) != 0) {
        neap_ctx_free(ctx);
        return status;
    }
    *out = ctx;
    return 0;
}

static void release_node_list(neap_ctx *ctx, lazy_nodes *nodes) {
    while (nodes->n > 0)
        graph_release(ctx, nodes->at[--nodes->n]);
    free(nodes->at);
}

void neap_ctx_free(neap_ctx *ctx) {
    if (!ctx)
        return;
    neap_effects_free(ctx->effects); /* first: callbacks that nobody will run hold up what waits for them */
    neap_wait_all();                 /* runs under way tell the context when they end */
    if (ctx->transcript)
        neap_transcript_end(ctx, 0, &(neap_transcript *){NULL});
    while (ctx->levels.n > 0)
        graph_level_end(ctx, ctx->levels.n - 1);
    program_jit_free_all(ctx);
    program_free_all(ctx);
    release_node_list(ctx, &ctx->pending.nodes);
    release_node_list(ctx, &ctx->levels.tape);
    release_node_list(ctx, &ctx->start.arena);
    release_node_list(ctx, &ctx->mesh.tokens);
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
    free(ctx->programs.unused_rules.at);
    free(ctx->plans.key.at);
    free(ctx->plans.made.at);
    free(ctx->plans.asked.at);
    free(ctx->plans.origins.at);
    free(ctx->plans.same.at);
    plan_unsettled_free(ctx);
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
