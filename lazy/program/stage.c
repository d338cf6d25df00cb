/* stage.c: what a trace has recorded from constants alone becomes part of its program, instead of data that is kept.
 *
 * While a trace is open, what depends on none of its arguments is STAGED: nobody computes it but a reader on the host,
 * for whom it is an ordinary array, also after the trace has ended. When the trace ends, what its outputs and effects
 * need of such nodes is recorded again as nodes of the trace, which are read in their place:
 *
 *      key ◀── random_bits ◀── … ◀── add ──▶ x        add is of the trace, the others are STAGED
 *      key ◀── alias ◀── random_bits′ ◀── … ′ ◀── add ──▶ x
 *
 * What has a value by then is data, which the program keeps: what was there before the trace, literals, and what the
 * function has looked at.
 */
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/graph/graph.h"
#include "lazy/program/program.h"

typedef struct staged_read { /* something of the trace that reads a staged node */
    neap_node *reader;       /* as input k; NULL: an output or an operand of a print, at `place` */
    neap_node **place;
    neap_node *node;
    int k;
    int32_t at; /* of the node in order */
} staged_read;

typedef struct stage_walk {
    neap_ctx *ctx;
    int level;
    uint64_t serial;            /* of the trace */
    lazy_nodes found;           /* what the program needs of the trace's nodes */
    lazy_nodes order;           /* staged nodes, inputs before users. One reference each */
    LAZY_VECTOR(int32_t) links; /* their inputs, node by node, as positions in `order`; -1: not staged */
    LAZY_VECTOR(staged_read) reads;
    neap_node **again; /* by place in order. OWNED */
} stage_walk;

/* A number, or what is made of numbers alone, is no part of a trace: it is an operand, or a constructor. */
static bool is_made_again(const stage_walk *w, neap_node *node) {
    bool on_mesh = graph_is_meshed(node), shown = graph_node_op(node)->payload != NULL, arrays = false;
    if (node->flags & (LAZY_WEAK | LAZY_DROPPED) || (on_mesh && shown) || !graph_is_staged(node, w->serial))
        return false; /* dropped: its inputs may be gone */
    for (int k = 0; k < node->nin; k++)
        arrays |= !(node->in[k]->flags & LAZY_WEAK);
    return arrays;
}

/* ---- What the program reads -------------------------------------------------------------------------------------- */
/* Appends a staged node behind what it is made of. */
static int order_from(stage_walk *w, neap_node *root) {
    lazy_nodes *stack = &w->ctx->walk.stack;
    uint32_t epoch = w->ctx->walk.epoch;
    neap_node *next = root;
    int status = 0;
    stack->n = 0;
    while (status == 0) {
        if (next && next->mark != epoch && is_made_again(w, next)) {
            next->mark = epoch;
            next->index = 0;
            status = lazy_push(stack, next);
        }
        next = NULL;
        if (status || stack->n == 0)
            break;
        neap_node *node = stack->at[stack->n - 1];
        if (node->index < node->nin) {
            next = node->in[node->index++];
            continue;
        }
        stack->n--;
        node->index = (uint32_t)w->order.n;
        if ((status = lazy_push(&w->order, node)) == 0)
            graph_retain(node);
    }
    return status;
}

static int visit_read(stage_walk *w, staged_read read) {
    neap_node *node = read.node;
    if (node->flags & LAZY_ABSTRACT) {
        if (node->mark == w->ctx->walk.epoch)
            return 0;
        node->mark = w->ctx->walk.epoch;
        return lazy_push(&w->found, node);
    }
    if (!is_made_again(w, node))
        return 0;
    int status = order_from(w, node);
    return status ? status : lazy_push(&w->reads, read);
}

static int visit_ends(stage_walk *w, int64_t n, neap_node **places) {
    int status = 0;
    for (int64_t k = 0; k < n && status == 0; k++)
        status = visit_read(w, (staged_read){.place = &places[k], .node = places[k]});
    return status;
}

static int find_staged(stage_walk *w, neap_program *program) {
    w->ctx->walk.epoch++;
    int status = visit_ends(w, program->outputs.n, program->outputs.at);
    for (int64_t e = 0; e < program->effects.n && status == 0; e++)
        status = visit_ends(w, program->effects.at[e]->nodes.n, program->effects.at[e]->nodes.at);
    for (int64_t k = 0; k < w->found.n && status == 0; k++) {
        neap_node *node = w->found.at[k];
        for (int i = 0; i < node->nin && status == 0; i++)
            status = visit_read(w, (staged_read){.reader = node, .k = i, .node = node->in[i]});
    }
    return status;
}

/* Notes where everything stands: recording walks over nodes too, and changes their marks. */
static int note_places(stage_walk *w) {
    int status = 0;
    for (int64_t k = 0; k < w->reads.n; k++)
        w->reads.at[k].at = (int32_t)w->reads.at[k].node->index;
    for (int64_t k = 0; k < w->order.n; k++)
        for (int i = 0; i < w->order.at[k]->nin && status == 0; i++) {
            neap_node *in = w->order.at[k]->in[i];
            bool staged = in->mark == w->ctx->walk.epoch && !(in->flags & LAZY_ABSTRACT);
            status = lazy_push(&w->links, staged ? (int32_t)in->index : -1);
        }
    return status;
}

/* ---- Recording it again ------------------------------------------------------------------------------------------ */
/* One of the inputs as a node of the trace, if none is one: what the op gives belongs to the trace then. In *taken, if
 * that is OWNED. */
static int take_in_one(stage_walk *w, const neap_node *node, neap_node **in, neap_node **taken) {
    neap_ctx *ctx = w->ctx;
    bool closed = ctx->levels.at[w->level].closed, traced = graph_is_meshed(node);
    if (closed && graph_capture_into(ctx, w->level, node->nin, in, in))
        return neap_error_code();
    for (int k = 0; k < node->nin; k++)
        traced |= in[k]->levels >> w->level & 1;
    if (traced)
        return 0;
    int first = 0;
    while (in[first]->flags & LAZY_WEAK)
        first++;
    *taken = in[first] = program_take_in(ctx, w->level, in[first]);
    return *taken ? 0 : neap_error_code();
}

/* The node again, on a mesh: without the blocks that recording the op would give it. OWNED. */
static neap_node *mesh_again(stage_walk *w, const neap_node *node, neap_node *const *in) {
    lazy_result aval = {.dtype = node->dtype, .ndim = node->ndim};
    memcpy(aval.shape, node->shape, node->ndim * sizeof *node->shape);
    neap_node *again = graph_node_new(w->ctx, node->op, &aval, node->nin, in, node->nattrs, node->attrs);
    if (!again)
        return NULL;
    again->map = NULL;
    again->flags = LAZY_ABSTRACT;
    again->levels = 1u << w->level;
    if (graph_node_mesh(again, graph_sharding_of(node)) == 0 && graph_enroll(w->ctx, again) == 0)
        return again;
    graph_release(w->ctx, again);
    return NULL;
}

static neap_node *stage_again(stage_walk *w, const neap_node *node, const int32_t *links) {
    neap_ctx *ctx = w->ctx;
    neap_node *in[LAZY_MAX_CONTROL_INPUTS], *taken = NULL, *again = NULL;
    for (int k = 0; k < node->nin; k++)
        in[k] = links[k] < 0 ? node->in[k] : w->again[links[k]];
    int32_t around = ctx->sites.again;
    ctx->sites.again = node->site ? node->site : around;
    if (take_in_one(w, node, in, &taken) == 0)
        again = graph_is_meshed(node) ? mesh_again(w, node, in) : program_node_again(ctx, node, in);
    ctx->sites.again = around;
    graph_release(ctx, taken);
    return again;
}

static int record_staged(stage_walk *w) {
    const int32_t *links = w->links.at;
    if (!(w->again = calloc((size_t)w->order.n + 1, sizeof *w->again)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    for (int64_t k = 0; k < w->order.n; k++) {
        if (!(w->again[k] = stage_again(w, w->order.at[k], links)))
            return neap_error_code();
        links += w->order.at[k]->nin;
    }
    return 0;
}

static void reread(stage_walk *w) {
    for (int64_t k = 0; k < w->reads.n; k++) {
        const staged_read *read = &w->reads.at[k];
        neap_node *again = w->again[read->at];
        if (read->reader) {
            graph_reread(w->ctx, read->reader, read->k, again);
        } else {
            *read->place = graph_retain(again);
            graph_release(w->ctx, read->node);
        }
    }
}

int program_stage(neap_ctx *ctx, int level, neap_program *program) {
    lazy_level *trace = &ctx->levels.at[level];
    if (ctx->levels.staged == trace->staged)
        return 0;
    stage_walk w = {.ctx = ctx, .level = level, .serial = trace->serial};
    if (trace->end > ctx->levels.tape.n)
        trace->end = ctx->levels.tape.n;
    int status = find_staged(&w, program);
    if (status == 0)
        status = note_places(&w);
    if (status == 0)
        status = record_staged(&w);
    if (status == 0)
        reread(&w);
    for (int64_t k = 0; k < w.order.n; k++) {
        graph_release(ctx, w.again ? w.again[k] : NULL);
        graph_release(ctx, w.order.at[k]);
    }
    free(w.again);
    lazy_vector_free(&w.found);
    lazy_vector_free(&w.order);
    lazy_vector_free(&w.links);
    lazy_vector_free(&w.reads);
    return status;
}
