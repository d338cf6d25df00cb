/* deferred.c: deferred mode, and the export of what was recorded in it.
 *
 * In the mode recording starts nothing: no limit, call or program does (record.c, program/run.c). What is recorded is
 * DEFERRED, which is PENDING without a place in the context's list: so only a demand computes it, and what nobody
 * refers to any more is gone. The nodes are *lasting*: they keep their structure when they are computed, and let go of
 * data only:
 *
 *      x ◀── multiply ◀── sum ◀── y        y is computed: its references are loose. Once Lua has forgotten x, only
 *      data               DONE             structure refers to its node, which gives the data back (node.c)
 *
 * Export walks the structure behind arrays back to others that were listed, and records it again on placeholders of an
 * open trace:
 *
 *      listed, whatever it is         its placeholder
 *      lasting, or a formula          the op again, on what its inputs have become
 *      a number, a literal            itself; a literal is data that the body spelled out, and keeps it
 *      what runs programs             the op again. It also stands on the constants in its programs: what a listed one
 *                                     has become stands in for it there (control/stand_in.c)
 *      anything else is data          the error of an input that was not listed
 *
 * Invariants:
 *   - Whether something has been computed, or its data still exists, does not matter to an export.
 *   - A program that is exported binds no data but literals: what is computed from constructors alone is computed by
 *     its runs.
 *   - Effects (callbacks, control flow with effects) come in the order in which they were recorded.
 */
#include <stdio.h>
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/graph/graph.h"
#include "lazy/program/program.h"

/* ---- The mode ---------------------------------------------------------------------------------------------------- */
int neap_deferred_begin(neap_ctx *ctx) {
    graph_sites_want(ctx);
    return ctx->start.deferring++;
}

int neap_deferred_switch(neap_ctx *ctx, int depth) {
    int before = ctx->start.deferring;
    ctx->start.deferring = depth > 0 ? depth : 0;
    return before;
}

/* Whoever demands it first, it is computed once. */
static void keep_result(neap_node *node) {
    if (node->state == LAZY_DEFERRED || node->state == LAZY_STAGED)
        node->flags |= LAZY_KEPT;
}

int neap_deferred_end(neap_ctx *ctx, int depth, int n, const int32_t *results) {
    if (depth < 0 || depth >= ctx->start.deferring)
        return neap_error(NEAP_E_STATE, "deferred mode is not open");
    ctx->start.deferring = depth;
    for (int k = 0; k < n && depth == 0; k++) {
        neap_node *node = graph_lookup(ctx, results[k]);
        if (!node)
            return neap_error_code();
        keep_result(node);
        for (int32_t b = 0; graph_is_meshed(node) && b < node->shards->sharding->nblocks; b++)
            if (graph_has_blocks(node))
                keep_result(node->shards->blocks[b]);
    }
    return 0;
}

int neap_array_literal(neap_ctx *ctx, int32_t id) {
    neap_node *node = graph_lookup(ctx, id);
    if (!node)
        return neap_error_code();
    if (graph_is_data(node))
        node->lasting = ctx->start.deferring > 0;
    return 0;
}

/* Inner results of a graph that is still held, by chance, are left to whoever reads them. */
static int want_deferred(neap_ctx *ctx, neap_node *node, lazy_nodes *roots) {
    neap_node *target = graph_read_target(node);
    ctx->start.any_deferred |= target->state == LAZY_DEFERRED;
    bool wanted = target->state == LAZY_DEFERRED && (target->flags & LAZY_KEPT || target->consumers == 0);
    return wanted ? lazy_push(roots, target) : 0;
}

/* Computes the arrays of deferred mode that Lua holds. */
static int start_deferred_arrays(neap_ctx *ctx) {
    lazy_nodes roots = {0};
    int status = 0;
    if (!ctx->start.any_deferred)
        return 0;
    ctx->start.any_deferred = false; /* unless one is met */
    for (int64_t k = 1; k < ctx->handles.slots.n && status == 0; k++) {
        neap_node *node = ctx->handles.slots.at[k];
        if (!node || !graph_is_meshed(node) || node->flags & LAZY_DELETED)
            status = node ? want_deferred(ctx, node, &roots) : 0;
        else
            for (int32_t b = 0; b < node->shards->sharding->nblocks && graph_has_blocks(node) && status == 0; b++)
                status = want_deferred(ctx, node->shards->blocks[b], &roots);
    }
    if (status == 0 && roots.n)
        status = plan_flush_roots(ctx, (int)roots.n, roots.at);
    ctx->start.any_deferred |= status != 0;
    lazy_vector_free(&roots);
    return status;
}

/* ---- Export: what is behind the outputs -------------------------------------------------------------------------- */
typedef struct program_range { /* constants of programs that a node runs, which are being followed */
    const neap_node *node;
    int64_t from, next; /* in export_walk.inner, up to its end or the next range */
} program_range;

typedef struct export_constant {
    const neap_node *node;
    int32_t place; /* in order */
} export_constant;

typedef LAZY_VECTOR(export_constant) export_constants;

struct lazy_stand_ins {
    export_constants constants; /* by address */
    neap_node **again;          /* by place. OWNED */
};

typedef struct export_walk {
    neap_ctx *ctx;
    const neap_ports *inputs, *outputs;
    neap_node **ends;        /* of the outputs */
    lazy_nodes stack;        /* while a node is on it, its index counts the inputs already followed */
    lazy_nodes order, calls; /* order: the listed inputs, then inputs before users. calls: the effects among them */
    bool *reached;           /* by listed input */
    lazy_nodes inner;        /* constants of programs, range by range. BORROWED */
    LAZY_VECTOR(program_range) ranges; /* the innermost last: of nodes on the stack */
    LAZY_VECTOR(int32_t) links;        /* places: of the inputs of what is not listed, node by node; of the ends */
    struct lazy_stand_ins stand_ins;
} export_walk;

static bool is_listed_export(const export_walk *w, const neap_node *node) {
    return node->index < (uint32_t)w->inputs->n && w->order.at[node->index] == node;
}

/* The coordinates of an axis of a mesh, too: a collective reads them. */
static bool has_structure(const neap_node *node) {
    return graph_is_token(node) || (!graph_is_placeholder(node) && graph_keeps_structure(node));
}

/* The same inside of programs that were recorded before the mode, or read from a file: as long as it has its inputs. */
static bool has_inner_structure(const neap_node *node) {
    return has_structure(node) ||
           !(graph_is_data(node) || graph_is_placeholder(node) || node->flags & (LAZY_ABSTRACT | LAZY_DROPPED));
}

/* Appends the constants of a program, and the nodes in it that run others. Each program is looked into once. */
static int list_constants(neap_ctx *ctx, neap_program *program, lazy_nodes *constants, lazy_nodes *runs) {
    int status = 0;
    if (program->walk == ctx->walk.programs)
        return 0;
    program->walk = ctx->walk.programs;
    for (int64_t k = 0; k < program->nodes.n && status == 0; k++) {
        neap_node *node = program->nodes.at[k];
        if (!(node->flags & LAZY_ABSTRACT))
            status = lazy_push(constants, node);
        else if (graph_has_programs(node))
            status = lazy_push(runs, node);
    }
    return status;
}

int program_constants(neap_ctx *ctx, const neap_node *node, lazy_nodes *to) {
    lazy_nodes runs = {0};
    int status = lazy_push(&runs, (neap_node *)node);
    ctx->walk.programs++;
    for (int64_t k = 0; k < runs.n && status == 0; k++) {
        lazy_inner inner = graph_node_programs(runs.at[k]);
        for (int p = 0; p < inner.n && status == 0; p++)
            status = list_constants(ctx, inner.programs[p], to, &runs);
    }
    lazy_vector_free(&runs);
    return status;
}

/* Starts a walk: marks the listed inputs. */
static int mark_inputs(export_walk *w) {
    int status = 0;
    w->ctx->walk.epoch++;
    for (int k = 0; k < w->inputs->n && status == 0; k++) {
        neap_node *node = w->order.at[k];
        if (node->mark == w->ctx->walk.epoch)
            return neap_error(NEAP_E_ARGUMENT, "the inputs '%s' and '%s' are the same array",
                              w->inputs->names[node->index], w->inputs->names[k]);
        node->mark = w->ctx->walk.epoch;
        node->index = (uint32_t)k;
    }
    return status;
}

/* `node`, which `reader` reads (NULL: it is the output itself), cannot be made by the program. */
static int unlisted(const export_walk *w, int output, const neap_node *node, const neap_node *reader) {
    char shape[256], where[512] = "";
    const char *name = w->outputs->names[output], *dtype = neap_dtype_name(node->dtype);
    graph_shape_text(node->ndim, node->shape, shape, sizeof shape);
    if (node->flags & LAZY_ABSTRACT)
        return neap_error(NEAP_E_TRACE, "output '%s' depends on an array of an open trace, which has no value", name);
    if (!reader)
        return neap_error(NEAP_E_ARGUMENT,
                          "output '%s' (%s, shape %s) was not recorded in deferred mode, and is not listed as an input",
                          name, dtype, shape);
    if (reader->site)
        snprintf(where, sizeof where, " at %s", graph_site_text(w->ctx, reader->site));
    return neap_error(
        NEAP_E_ARGUMENT,
        "output '%s' needs an input that is not listed: an array of dtype %s and shape %s, which %s reads%s", name,
        dtype, shape, graph_node_op(reader)->name, where);
}

static int visit_exported(export_walk *w, int output, neap_node *node, const neap_node *reader) {
    if (node->mark == w->ctx->walk.epoch) {
        if (is_listed_export(w, node))
            w->reached[node->index] = true;
        return 0;
    }
    if (!(w->ranges.n ? has_inner_structure(node) : has_structure(node)))
        return unlisted(w, output, node, reader);
    node->mark = w->ctx->walk.epoch;
    node->index = 0;
    return lazy_push(&w->stack, node);
}

static int leave(export_walk *w, neap_node *node) {
    w->stack.n--;
    node->index = (uint32_t)w->order.n;
    int status = graph_is_effect(node) && !graph_is_exchange(node) ? lazy_push(&w->calls, node) : 0;
    return status ? status : lazy_push(&w->order, node);
}

/* The next of the constants in the programs that a node runs; NULL: there is no further one. */
static int next_constant(export_walk *w, neap_node *node, neap_node **next) {
    program_range *range = w->ranges.n ? &w->ranges.at[w->ranges.n - 1] : NULL;
    int status = 0;
    if (graph_has_programs(node) && (!range || range->node != node)) {
        int64_t from = w->inner.n;
        status = lazy_push(&w->ranges, ((program_range){.node = node, .from = from, .next = from}));
        status = status ? status : program_constants(w->ctx, node, &w->inner);
        range = w->ranges.at + w->ranges.n - 1;
    }
    *next = NULL;
    if (status || !range || range->node != node)
        return status;
    if (range->next < w->inner.n) {
        *next = w->inner.at[range->next++];
        return lazy_push(&w->stand_ins.constants, ((export_constant){.node = *next}));
    }
    w->inner.n = range->from;
    w->ranges.n--;
    return 0;
}

/* What a node needs, then the node. */
static int walk_from(export_walk *w, int output, neap_node *root) {
    int status = visit_exported(w, output, root, NULL);
    while (w->stack.n > 0 && status == 0) {
        neap_node *node = w->stack.at[w->stack.n - 1], *next = NULL;
        if (node->index < node->nin)
            next = node->in[node->index++];
        else
            status = next_constant(w, node, &next);
        if (status == 0)
            status = next ? visit_exported(w, output, next, node) : leave(w, node);
    }
    return status;
}

static int walk_outputs(export_walk *w) {
    int status = 0;
    for (int k = 0; k < w->outputs->n && status == 0; k++)
        status = walk_from(w, k, w->ends[k]);
    return status;
}

static uint64_t serial_of_level(const neap_node *node) {
    return graph_node_op(node)->payload->serial(node);
}

/* Calls that a replay has recorded again share their number: they come as the walk has met them, inputs before
 * users. */
static int compare_calls(const void *a, const void *b) {
    const neap_node *left = *(neap_node *const *)a, *right = *(neap_node *const *)b;
    if (serial_of_level(left) != serial_of_level(right))
        return serial_of_level(left) < serial_of_level(right) ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* Walks again, from the effects first, in the order in which they were recorded: none needs a later one. */
static int walk_in_order(export_walk *w) {
    lazy_nodes calls = w->calls;
    w->calls = (lazy_nodes){0};
    w->order.n = w->inputs->n;
    w->stand_ins.constants.n = 0;
    qsort(calls.at, (size_t)calls.n, sizeof *calls.at, compare_calls);
    int status = mark_inputs(w);
    for (int64_t k = 0; k < calls.n && status == 0; k++)
        status = walk_from(w, 0, calls.at[k]);
    lazy_vector_free(&calls);
    return status ? status : walk_outputs(w);
}

static int find_structure(export_walk *w) {
    int status = mark_inputs(w);
    if (status == 0)
        status = walk_outputs(w);
    for (int k = 0; k < w->inputs->n && status == 0; k++)
        if (!w->reached[k])
            status = neap_error(NEAP_E_ARGUMENT, "no output depends on the input '%s'", w->inputs->names[k]);
    return status == 0 && w->calls.n > 1 ? walk_in_order(w) : status;
}

/* ---- Export: recording it again ---------------------------------------------------------------------------------- */
neap_node *program_take_in(neap_ctx *ctx, int level, neap_node *node) {
    neap_node *alias = graph_alias(ctx, node);
    if (!alias)
        return NULL;
    alias->tape = (int32_t)ctx->levels.tape.n;
    if (lazy_push(&ctx->levels.tape, alias)) {
        graph_release(ctx, alias);
        return NULL;
    }
    alias->lasting = 0;
    alias->flags = (uint8_t)((alias->flags & ~LAZY_CONSTRUCTED) | LAZY_ABSTRACT);
    alias->levels |= 1u << level;
    return graph_retain(alias);
}

static int compare_constants(const void *a, const void *b) {
    uintptr_t left = (uintptr_t)((const export_constant *)a)->node,
              right = (uintptr_t)((const export_constant *)b)->node;
    return (left > right) - (left < right);
}

neap_node *program_stand_in(const neap_ctx *ctx, neap_node *node) {
    const struct lazy_stand_ins *all = ctx->levels.stand_ins;
    const export_constant key = {.node = node}, *found = NULL;
    if (all && all->constants.n)
        found = bsearch(&key, all->constants.at, (size_t)all->constants.n, sizeof key, compare_constants);
    neap_node *again = found ? all->again[found->place] : NULL;
    return again && again->flags & LAZY_ABSTRACT ? again : node;
}

/* Notes where everything stands: recording programs again numbers nodes, too. */
static int note_places(export_walk *w) {
    int status = 0;
    for (int64_t k = w->inputs->n; k < w->order.n && status == 0; k++)
        for (int i = 0; i < w->order.at[k]->nin && status == 0; i++)
            status = lazy_push(&w->links, (int32_t)w->order.at[k]->in[i]->index);
    for (int k = 0; k < w->outputs->n && status == 0; k++)
        status = lazy_push(&w->links, (int32_t)w->ends[k]->index);
    export_constants *constants = &w->stand_ins.constants;
    for (int64_t k = 0; k < constants->n; k++)
        constants->at[k].place = (int32_t)constants->at[k].node->index;
    if (constants->n)
        qsort(constants->at, (size_t)constants->n, sizeof *constants->at, compare_constants);
    return status;
}

/* links: the places of its inputs. */
static neap_node *record_again(export_walk *w, int level, const neap_node *node, const int32_t *links) {
    neap_node *in[LAZY_MAX_CONTROL_INPUTS], *taken = NULL;
    bool outside = node->nin > 0 && !(node->flags & LAZY_CONSTRUCTED);
    for (int k = 0; k < node->nin; k++) {
        in[k] = w->stand_ins.again[links[k]];
        outside &= !(in[k]->flags & LAZY_ABSTRACT);
    }
    if (outside && !(taken = in[0] = program_take_in(w->ctx, level, in[0])))
        return NULL;
    neap_node *again = program_node_again(w->ctx, node, in);
    if (again && !(again->flags & LAZY_WEAK))
        again->site = node->site;
    graph_release(w->ctx, taken);
    return again;
}

/* Fills the stand-ins. */
static int record_structure(export_walk *w, int level, neap_node *const *placeholders) {
    neap_node **again = w->stand_ins.again;
    const int32_t *links = w->links.at;
    int status = 0;
    for (int k = 0; k < w->inputs->n; k++)
        again[k] = graph_retain(placeholders[k]);
    for (int64_t k = w->inputs->n; k < w->order.n && status == 0; k++) {
        neap_node *node = w->order.at[k];
        bool itself = graph_is_constant(node) || graph_is_data(node) || (graph_is_meshed(node) && node->nin == 0);
        again[k] = itself ? graph_retain(node) : record_again(w, level, node, links);
        status = again[k] ? 0 : neap_error_code();
        links += node->nin;
    }
    return status;
}

/* Recording in deferred mode: nothing that is not part of the trace starts; script lines are those of the structure. */
static int record_in_trace(export_walk *w, int level, neap_node *const *placeholders) {
    neap_ctx *ctx = w->ctx;
    lazy_site_sampling *asks = ctx->sites.asks;
    ctx->sites.asks = NULL;
    ctx->start.deferring++;
    ctx->levels.stand_ins = &w->stand_ins;
    int status = record_structure(w, level, placeholders);
    ctx->levels.stand_ins = NULL;
    ctx->start.deferring--;
    ctx->sites.asks = asks;
    return status;
}

static int open_walk(export_walk *w) {
    int status = 0;
    w->ends = calloc((size_t)w->outputs->n + 1, sizeof *w->ends);
    w->reached = calloc((size_t)w->inputs->n + 1, sizeof *w->reached);
    if (!w->ends || !w->reached)
        return neap_error(NEAP_E_MEMORY, "out of memory for an export");
    for (int k = 0; k < w->inputs->n && status == 0; k++) {
        neap_node *node = graph_lookup(w->ctx, w->inputs->ids[k]);
        status = node ? lazy_push(&w->order, node) : neap_error_code();
    }
    for (int k = 0; k < w->outputs->n && status == 0; k++)
        status = (w->ends[k] = graph_lookup(w->ctx, w->outputs->ids[k])) ? 0 : neap_error_code();
    return status;
}

static void close_walk(export_walk *w) {
    for (int64_t k = 0; w->stand_ins.again && k < w->order.n; k++)
        graph_release(w->ctx, w->stand_ins.again[k]);
    free(w->stand_ins.again);
    lazy_vector_free(&w->stand_ins.constants);
    lazy_vector_free(&w->inner);
    lazy_vector_free(&w->ranges);
    lazy_vector_free(&w->links);
    free(w->reached);
    free(w->ends);
    lazy_vector_free(&w->stack);
    lazy_vector_free(&w->order);
    lazy_vector_free(&w->calls);
}

int neap_export(neap_ctx *ctx, int level, const neap_ports *inputs, const int32_t *stand_ins, const neap_ports *outputs,
                int32_t *out) {
    export_walk w = {.ctx = ctx, .inputs = inputs, .outputs = outputs};
    neap_node **placeholders = calloc((size_t)inputs->n + 1, sizeof *placeholders);
    int status = placeholders ? open_walk(&w) : neap_error(NEAP_E_MEMORY, "out of memory for an export");
    for (int k = 0; k < inputs->n && status == 0; k++)
        status = (placeholders[k] = graph_lookup(ctx, stand_ins[k])) ? 0 : neap_error_code();
    if (status == 0 && (level < 0 || level != ctx->levels.n - 1 || !ctx->levels.at[level].trace))
        status = neap_error(NEAP_E_STATE, "the trace is not the innermost open level");
    int64_t recorded = status == 0 ? ctx->levels.at[level].effects.n : 0;
    if (status == 0)
        status = find_structure(&w);
    if (status == 0)
        status = note_places(&w);
    if (status == 0 && !(w.stand_ins.again = calloc((size_t)w.order.n + 1, sizeof *w.stand_ins.again)))
        status = neap_error(NEAP_E_MEMORY, "out of memory for an export");
    if (status == 0 && (status = record_in_trace(&w, level, placeholders)) != 0)
        effect_cut(ctx, &ctx->levels.at[level], recorded);
    for (int k = 0; k < outputs->n && status == 0; k++)
        w.ends[k] = graph_retain(w.stand_ins.again[w.links.at[w.links.n - outputs->n + k]]);
    if (status == 0)
        status = graph_publish_all(ctx, outputs->n, w.ends, out);
    close_walk(&w);
    free(placeholders);
    return status ? status : graph_safepoint(ctx);
}

int neap_poll_everything(neap_ctx *ctx) {
    int status = neap_flush(ctx);
    if (status == 0)
        status = start_deferred_arrays(ctx);
    if (status == 0 && ctx->callbacks.open.n > 0)
        status = neap_error(NEAP_E_STATE, "a callback cannot wait for everything, which is also for itself: use "
                                          "x:wait() or np.effects_barrier()");
    return status ? status : neap_poll_all(ctx->waker);
}
