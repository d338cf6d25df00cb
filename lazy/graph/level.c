/* level.c: levels: tapes and traces.
 *
 * An op belongs to a level iff an input does, so a level is a bit that nodes inherit, and the tape is the list of all
 * nodes with any bit, in order of recording: inputs stand before users, and reverse mode is one walk back over it.
 * Levels close in reverse order of opening. Nodes that leave the last level may let go of their inputs.
 */
#include "lazy/dtype/scalar.h"
#include "lazy/graph/graph.h"
#include "lazy/graph/sharding.h"
#include "ops_gen.h"

static int level_open(neap_ctx *ctx, bool trace, bool closed, int *out) {
    if (ctx->levels.n == LAZY_MAX_LEVELS)
        return neap_error(NEAP_E_STATE, "more than %d gradients and traces inside each other", LAZY_MAX_LEVELS);
    lazy_level *level = &ctx->levels.at[ctx->levels.n];
    *level = (lazy_level){.open = true,
                          .trace = trace,
                          .closed = closed,
                          .serial = trace ? ++ctx->levels.traces : 0,
                          .staged = ctx->levels.staged,
                          .start = ctx->levels.tape.n,
                          .pending = ctx->pending.nodes.n,
                          .end = INT64_MAX};
    ctx->levels.closed += closed;
    *out = ctx->levels.n++;
    return 0;
}

static int level_check(neap_ctx *ctx, int level) {
    if (level < 0 || level >= ctx->levels.n)
        return neap_error(NEAP_E_STATE, "the gradient or trace is not open");
    return 0;
}

void graph_leave_level(neap_ctx *ctx, int64_t from, uint32_t bit) {
    int64_t kept = from, n = ctx->levels.tape.n;
    bool trace = ctx->levels.at[__builtin_ctz(bit)].trace;
    for (int64_t k = from; k < n; k++) {
        neap_node *node = ctx->levels.tape.at[k];
        if (trace && node->levels & bit)
            node->levels = 0; /* it depends on what will never have a value: no derivative may look at it */
        node->levels &= ~bit;
        if (node->levels) {
            node->tape = (int32_t)kept;
            ctx->levels.tape.at[kept++] = node;
        } else {
            if (node->buffer || (node->shards && !(node->flags & LAZY_ABSTRACT)))
                graph_node_drop(ctx, node);
            graph_release(ctx, node);
        }
    }
    ctx->levels.tape.n = kept;
}

/* Closes the innermost level. */
static void level_close(neap_ctx *ctx) {
    lazy_level *level = &ctx->levels.at[--ctx->levels.n];
    uint32_t bit = 1u << ctx->levels.n;
    graph_leave_level(ctx, level->start, bit);
    for (int64_t k = 0; k < level->inputs.n; k++) {
        level->inputs.at[k]->levels &= ~bit;
        graph_release(ctx, level->inputs.at[k]);
    }
    lazy_vector_free(&level->inputs);
    for (int64_t k = 0; k < level->captured.n; k++)
        graph_release(ctx, level->captured.at[k]);
    lazy_vector_free(&level->captured);
    graph_table_free(&level->places);
    ctx->levels.closed -= level->closed;
    for (int64_t k = 0; k < level->effects.n; k++)
        ctx->hooks->effect_free(ctx, level->effects.at[k]);
    lazy_vector_free(&level->effects);
}

/* Nodes that lose the innermost derivative that they belong to are told, if something may still look at them: an outer
 * level, or an export. */
static int leave_tape(neap_ctx *ctx) {
    int at = ctx->levels.n - 1, status = 0;
    uint32_t bit = 1u << at;
    int64_t n = ctx->levels.at[at].trace ? 0 : ctx->levels.tape.n;
    for (int64_t k = ctx->levels.at[at].start; k < n && status == 0; k++) {
        neap_node *node = ctx->levels.tape.at[k];
        const lazy_payload *payload = graph_node_op(node)->payload;
        if (payload && payload->leave_tape && node->levels & bit && (node->levels & ~bit || node->lasting))
            status = payload->leave_tape(ctx, node);
    }
    return status;
}

int graph_level_end(neap_ctx *ctx, int level) {
    int wrong = level_check(ctx, level), status = wrong;
    while (!wrong && ctx->levels.n > level) {
        int left = leave_tape(ctx);
        status = status ? status : left;
        level_close(ctx);
    }
    return status;
}

int graph_tape_begin(neap_ctx *ctx, int *level) {
    return level_open(ctx, false, false, level);
}

neap_node *graph_tape_alias(neap_ctx *ctx, int level, neap_node *node) {
    if (!dtype_is_inexact(node->dtype)) {
        neap_error(NEAP_E_DTYPE, "grad: expected arguments of a float dtype, got %s", neap_dtype_name(node->dtype));
        return NULL;
    }
    int trace = graph_innermost_closed(ctx, level); /* to which the ops of the function belong, if there is one */
    if (trace >= 0 && !(node->levels >> trace) && !(node = graph_capture(ctx, trace, node)))
        return NULL;
    neap_node *alias = graph_alias(ctx, node);
    if (!alias)
        return NULL;
    if (!alias->levels) { /* the recorder puts on the tape only what inherits a level */
        alias->tape = (int32_t)ctx->levels.tape.n;
        if (lazy_push(&ctx->levels.tape, alias)) {
            graph_release(ctx, alias);
            return NULL;
        }
        graph_retain(alias);
    }
    alias->levels |= 1u << level;
    return alias;
}

neap_node *graph_untaped(neap_ctx *ctx, neap_node *node) {
    bool taped = !graph_is_meshed(node) && node->levels & ~graph_trace_levels(ctx);
    return taped ? graph_build1(ctx, LAZY_OP_bare, node) : node;
}

static int tape_alias(neap_ctx *ctx, int level, int32_t id, int32_t *out) {
    neap_node *node = graph_lookup(ctx, id);
    int status = level_check(ctx, level);
    if (!node || status)
        return neap_error_code();
    neap_node *alias = graph_tape_alias(ctx, level, node);
    status = alias ? graph_publish(ctx, alias, out) : neap_error_code();
    return status ? status : graph_safepoint(ctx);
}

int graph_trace_begin(neap_ctx *ctx, int kind, int *level) {
    int status = level_open(ctx, true, kind != NEAP_TRACE_OPEN, level);
    if (status == 0)
        ctx->levels.at[*level].stages = kind == NEAP_TRACE_STAGES;
    return status;
}

/* ---- Public ------------------------------------------------------------------------------------------------------ */
static int play_level_end(neap_ctx *ctx, graph_note *note) {
    return graph_level_end(ctx, note->level);
}
const graph_note_kind graph_note_level_end = {
    .name = "level_end", .play = play_level_end, .form = {.ints = "", .level = GRAPH_NOTE_TAPE | GRAPH_NOTE_TRACE}};

int neap_level_end(neap_ctx *ctx, int level) {
    int status = graph_level_end(ctx, level);
    return graph_noted(ctx, status, &(graph_note){.kind = &graph_note_level_end, .level = level});
}

static int play_tape_begin(neap_ctx *ctx, graph_note *note) {
    return graph_tape_begin(ctx, &note->level);
}
const graph_note_kind graph_note_tape_begin = {
    .name = "tape_begin", .play = play_tape_begin, .opens = true, .form = {.ints = ""}};

int neap_tape_begin(neap_ctx *ctx, int *level) {
    int status = graph_tape_begin(ctx, level);
    return graph_noted(ctx, status, &(graph_note){.kind = &graph_note_tape_begin, .level = *level});
}

static int play_tape_alias(neap_ctx *ctx, graph_note *note) {
    return tape_alias(ctx, note->level, note->in[0], note->out);
}
const graph_note_kind graph_note_tape_alias = {.name = "tape_alias",
                                               .play = play_tape_alias,
                                               .shapes = GRAPH_NOTE_LAST,
                                               .form = {.ints = "", .nin = 1, .nout = 1, .level = GRAPH_NOTE_TAPE}};

int neap_tape_alias(neap_ctx *ctx, int level, int32_t id, int32_t *out) {
    int status = tape_alias(ctx, level, id, out);
    return graph_noted(
        ctx, status,
        &(graph_note){.kind = &graph_note_tape_alias, .level = level, .nin = 1, .in = &id, .nout = 1, .out = out});
}

static int play_trace_begin(neap_ctx *ctx, graph_note *note) {
    return graph_trace_begin(ctx, (int)note->ints[0], &note->level);
}
const graph_note_kind graph_note_trace_begin = {
    .name = "trace_begin", .play = play_trace_begin, .opens = true, .form = {.ints = "n"}};

int neap_trace_begin(neap_ctx *ctx, int kind, int *level) {
    int status = graph_trace_begin(ctx, kind, level);
    int64_t ints[] = {kind};
    return graph_noted(ctx, status,
                       &(graph_note){.kind = &graph_note_trace_begin, .level = *level, .nints = 1, .ints = ints});
}

lazy_level *graph_open_trace(neap_ctx *ctx) {
    for (int k = ctx->levels.n - 1; k >= ctx->levels.floor; k--)
        if (ctx->levels.at[k].trace)
            return &ctx->levels.at[k];
    return NULL;
}

int graph_trace_derived(neap_ctx *ctx, int *level) {
    int status = level_open(ctx, true, true, level);
    if (status == 0)
        ctx->levels.at[*level].derived = true;
    return status;
}

int graph_home(const neap_ctx *ctx, int home) {
    int level = ctx->levels.n - 1;
    while (level >= 0 && !ctx->levels.at[level].lowers)
        level--;
    return level >= 0 && ctx->levels.at[level].without_device ? -1 : home;
}
