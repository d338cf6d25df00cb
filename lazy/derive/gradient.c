/* gradient.c: reverse mode: one walk back over a tape.
 *
 * Cotangents are graph nodes built by the rows' rules, with the same recorder as everything else: so they fuse, may be
 * jitted, and are themselves differentiable by an outer level whose bit they inherit.
 *
 * A node with several results is a block (its row has .results) that *parts* are taken from. The walk meets the parts
 * before their block; their cotangents wait in a list for it, and its rule gets them all at once.
 */
#include <string.h>

#include "lazy/derive/derive.h"
#include "lazy/dtype/scalar.h"
#include "lazy/graph/graph.h"

typedef struct waiting { /* the cotangent of a part */
    int32_t next;        /* of the same block: index + 1, 0: none */
    int32_t result;
    neap_node *ct;
} waiting;

typedef struct reverse {
    lazy_walk walk;
    LAZY_VECTOR(waiting) parts;
    int32_t *heads; /* by index on the tape - start: index + 1 of a block's last part, 0: none; NULL: no block yet */
} reverse;

/* A map's cotangent summed back over the axes along which its input was broadcast. */
static neap_node *unbroadcast(neap_ctx *ctx, neap_node *ct, const neap_node *in) {
    if (!ct || (ct->ndim == in->ndim && memcmp(ct->shape, in->shape, in->ndim * sizeof *in->shape) == 0))
        return ct;
    int lead = ct->ndim - in->ndim;
    int64_t mask = 0;
    for (int a = 0; a < ct->ndim; a++)
        if (a < lead || (in->shape[a - lead] == 1 && ct->shape[a] != 1))
            mask |= (int64_t)1 << a;
    neap_node *sum = graph_build_sum(ctx, ct, mask);
    return sum ? graph_build_reshape(ctx, sum, in->ndim, in->shape) : NULL;
}

/* An uncommitted array may have met arrays of several devices: cotangents that come back from there are summed
 * uncommitted. */
static int add_cotangent(const lazy_walk *w, neap_node *node, neap_node *ct) {
    neap_node **at = derive_walk_value(w, node);
    if (graph_is_meshed(node) || graph_is_meshed(ct))
        ct = graph_mesh()->cotangent(w->ctx, ct, node);
    if (!ct)
        return neap_error_code();
    if (*at && (*at)->device >= 0 && ct->device >= 0 && (*at)->device != ct->device) {
        *at = graph_build_place(w->ctx, *at, -1);
        if (!*at || !(ct = graph_build_place(w->ctx, ct, -1)))
            return neap_error_code();
    }
    *at = *at ? graph_build_add(w->ctx, *at, ct) : ct;
    return *at ? 0 : neap_error_code();
}

static int call_gradient_rule(const lazy_walk *w, lazy_grad *g) {
    neap_node *node = g->node;
    const lazy_op *row = graph_node_op(node);
    bool any = false;
    for (int k = 0; k < node->nin; k++) {
        any |= g->wants[k] = derive_on_tape(w, node->in[k]);
        g->out[k] = NULL;
    }
    if (!any)
        return 0;
    if (!row->grad)
        return neap_error(NEAP_E_ARGUMENT, "grad: %s has no gradient%s%s", row->name,
                          node->site ? ", recorded at " : "", node->site ? graph_site_text(w->ctx, node->site) : "");
    int32_t scope = graph_scope_enter(w->ctx, node);
    int status = row->grad(g);
    graph_scope_swap(w->ctx, scope);
    for (int k = 0; k < node->nin && status == 0; k++) {
        if (!g->wants[k] || !g->out[k])
            continue;
        neap_node *back = row->kind == LAZY_MAP ? unbroadcast(w->ctx, g->out[k], node->in[k]) : g->out[k];
        back = back ? derive_cast_like(w->ctx, back, node->in[k]) : NULL;
        status = back ? add_cotangent(w, node->in[k], back) : neap_error_code();
    }
    return status;
}

/* Calls a node's rule, and adds what it says to its inputs. */
static int apply_gradient_rule(const lazy_walk *w, lazy_grad g) {
    bool wants[NEAP_MAX_INPUTS];
    neap_node *out[NEAP_MAX_INPUTS];
    int nin = g.node->nin;
    g.wants = wants;
    g.out = out;
    if (nin <= NEAP_MAX_INPUTS)
        return call_gradient_rule(w, &g);
    g.wants = malloc((size_t)nin * sizeof *g.wants);
    g.out = malloc((size_t)nin * sizeof *g.out);
    int status =
        g.wants && g.out ? call_gradient_rule(w, &g) : neap_error(NEAP_E_MEMORY, "out of memory for a gradient");
    free(g.wants);
    free(g.out);
    return status;
}

static int keep_part(reverse *r, neap_node *node, neap_node *ct) {
    int64_t block = node->in[0]->tape - r->walk.start;
    if (!derive_on_tape(&r->walk, node->in[0]))
        return 0;
    if (!r->heads && !(r->heads = calloc((size_t)r->walk.n, sizeof *r->heads)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a gradient");
    waiting part = {.next = r->heads[block], .result = (int32_t)node->attrs[0], .ct = ct};
    if (lazy_push(&r->parts, part))
        return NEAP_E_MEMORY;
    r->heads[block] = (int32_t)r->parts.n;
    return 0;
}

static int walk_block(reverse *r, neap_node *node, int32_t head) {
    lazy_grad g = {.ctx = r->walk.ctx, .node = node, .nresults = graph_node_op(node)->results(node)};
    if (!(g.cts = calloc((size_t)g.nresults + 1, sizeof *g.cts)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a gradient");
    int status = 0;
    for (; head && status == 0; head = r->parts.at[head - 1].next) { /* one result may have been taken several times */
        const waiting *part = &r->parts.at[head - 1];
        neap_node **at = &g.cts[part->result];
        *at = *at ? graph_build_add(r->walk.ctx, *at, part->ct) : part->ct;
        status = *at ? 0 : neap_error_code();
    }
    if (status == 0)
        status = apply_gradient_rule(&r->walk, g);
    free(g.cts);
    return status;
}

static int walk_back(reverse *r) {
    lazy_walk *w = &r->walk;
    int status = 0;
    for (int64_t k = w->n - 1; k >= 0 && status == 0; k--) {
        neap_node *node = w->ctx->levels.tape.at[w->start + k], *ct = w->values[k];
        if (!derive_on_tape(w, node))
            continue;
        if (r->heads && r->heads[k])
            status = walk_block(r, node, r->heads[k]);
        else if (ct && graph_node_op(node)->flags & LAZY_OP_PART)
            status = keep_part(r, node, ct);
        else if (ct)
            status = apply_gradient_rule(w, (lazy_grad){.ctx = w->ctx, .node = node, .ct = ct});
    }
    return status;
}

static int take_cotangents(const lazy_walk *w, int n, neap_node *const *wrt, neap_node **out) {
    for (int j = 0; j < n; j++) {
        out[j] = *derive_walk_value(w, wrt[j]);
        if (!out[j])
            out[j] = derive_zeros_like(w->ctx, wrt[j]);
        if (wrt[j]->device >= 0) /* of what met no array of its device */
            out[j] = graph_build_place(w->ctx, out[j], wrt[j]->device);
        else if (graph_is_meshed(wrt[j]))
            out[j] = graph_mesh()->moved(w->ctx, out[j], graph_sharding_of(wrt[j]));
        if (!out[j])
            return neap_error_code();
    }
    return 0;
}

static int check_float(const neap_node *result) {
    if (!dtype_is_inexact(result->dtype))
        return neap_error(NEAP_E_DTYPE, "grad: expected a function with a float result, got dtype %s",
                          neap_dtype_name(result->dtype));
    return 0;
}

static int one_seed(neap_ctx *ctx, const neap_node *result, neap_node **seed) {
    char text[256];
    if (check_float(result))
        return NEAP_E_DTYPE;
    if (result->ndim != 0)
        return neap_error(NEAP_E_SHAPE, "grad: expected a function with a scalar result, got shape %s",
                          graph_shape_text(result->ndim, result->shape, text, sizeof text));
    *seed = graph_arena(ctx, graph_constant(ctx, result->dtype, false, 1));
    return *seed ? 0 : neap_error_code();
}

static int check_seed(const neap_node *result, const neap_node *seed) {
    char left[256], right[256];
    if (check_float(result))
        return NEAP_E_DTYPE;
    if (seed->ndim != result->ndim || memcmp(seed->shape, result->shape, result->ndim * sizeof(int64_t)) != 0)
        return neap_error(NEAP_E_SHAPE, "vjp: expected a cotangent of shape %s, got %s",
                          graph_shape_text(result->ndim, result->shape, left, sizeof left),
                          graph_shape_text(seed->ndim, seed->shape, right, sizeof right));
    if (seed->dtype != result->dtype)
        return neap_error(NEAP_E_DTYPE, "vjp: expected a cotangent of dtype %s, got %s", neap_dtype_name(result->dtype),
                          neap_dtype_name(seed->dtype));
    if (seed->device >= 0 && result->device >= 0 && seed->device != result->device)
        return neap_error(NEAP_E_ARGUMENT, "vjp: expected a cotangent on %s, got one on %s",
                          neap_device_name(result->device), neap_device_name(seed->device));
    return 0;
}

int derive_tape_gradient(neap_ctx *ctx, int level, int nresults, neap_node *const *results, neap_node *const *seeds,
                         int n, neap_node *const *wrt, neap_node **out) {
    reverse r = {0};
    int status = derive_walk_begin(ctx, level, &r.walk);
    if (status)
        return status;
    status = derive_walk_aliases(&r.walk, "grad", n, wrt);
    for (int k = 0; k < nresults && status == 0; k++) {
        neap_node *seed = seeds ? seeds[k] : NULL;
        status = !seeds ? one_seed(ctx, results[k], &seed) : seed ? check_seed(results[k], seed) : 0;
        if (seed && status == 0 && derive_on_tape(&r.walk, results[k]))
            status = add_cotangent(&r.walk, results[k], seed);
    }
    if (status == 0)
        status = walk_back(&r);
    if (status == 0)
        status = take_cotangents(&r.walk, n, wrt, out);
    free(r.heads);
    lazy_vector_free(&r.parts);
    return derive_walk_end(&r.walk, status, n, out);
}

static int tape_gradient(neap_ctx *ctx, int level, int nresults, const int32_t *results, const int32_t *seeds, int n,
                         const int32_t *wrt, int32_t *out) {
    size_t count = 2 * (size_t)nresults + 2 * (size_t)n;
    neap_node **nodes = calloc(count + 1, sizeof *nodes);
    neap_node **given = nodes + nresults, **aliases = given + nresults, **cotangents = aliases + n;
    int status = nodes ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a gradient");
    if (status == 0)
        status = graph_lookup_all(ctx, false, nresults, results, nodes);
    if (status == 0 && seeds)
        status = graph_lookup_all(ctx, true, nresults, seeds, given);
    if (status == 0)
        status = graph_lookup_all(ctx, false, n, wrt, aliases);
    if (status == 0)
        status = derive_tape_gradient(ctx, level, nresults, nodes, seeds ? given : NULL, n, aliases, cotangents);
    if (status == 0)
        status = graph_publish_all(ctx, n, cotangents, out);
    free(nodes);
    return status ? status : graph_safepoint(ctx);
}

/* Operands of its note: results, seeds if there are some, then wrt. */
static int play_gradient(neap_ctx *ctx, graph_note *note) {
    int nresults = (int)note->ints[0], n = note->nout;
    bool seeded = note->ints[1] != 0;
    if (nresults != note->ints[0] || nresults < 0 || nresults > note->nin ||
        (1 + seeded) * (int64_t)nresults + n != note->nin)
        return neap_error(NEAP_E_ARGUMENT, "grad: %d arrays for %d gradients", note->nin, n);
    return tape_gradient(ctx, note->level, nresults, note->in, seeded ? note->in + nresults : NULL, n,
                         note->in + note->nin - n, note->out);
}
const graph_note_kind derive_note_gradient = {
    .name = "gradient",
    .play = play_gradient,
    .shapes = GRAPH_NOTE_LAST,
    .form = {.ints = "nn", .nin = GRAPH_NOTE_ANY, .nout = GRAPH_NOTE_ANY, .level = GRAPH_NOTE_TAPE, .misses = true}};

int neap_tape_gradient(neap_ctx *ctx, int level, int nresults, const int32_t *results, const int32_t *seeds, int n,
                       const int32_t *wrt, int32_t *out) {
    int status = tape_gradient(ctx, level, nresults, results, seeds, n, wrt, out);
    int64_t ints[] = {nresults, seeds != NULL};
    return derive_noted(
        ctx, status, (derive_list[]){{nresults, results}, {seeds ? nresults : 0, seeds}, {n, wrt}},
        &(graph_note){.kind = &derive_note_gradient, .level = level, .nout = n, .out = out, .nints = 2, .ints = ints});
}

/* ---- The value that is not asked for ----------------------------------------------------------------------------- */
/* Takes a node off the pending work, whose readers are off it. What it reads alone may follow. */
static int leave_unread(neap_ctx *ctx, neap_node *node) {
    const lazy_op *row = graph_node_op(node);
    bool map = graph_is_made_in_place(node) || row->kind == LAZY_REDUCE;
    if (node->mark != ctx->walk.epoch || node->state != LAZY_PENDING || node->consumers > 0 || !map ||
        graph_is_effect(node))
        return 0;
    plan_leave_pending(ctx, node, LAZY_RECIPE);
    node->asked = 0;
    int status = 0;
    for (int k = 0; k < node->nin && status == 0; k++) {
        bool again = false;
        for (int j = 0; j < k; j++)
            again |= node->in[j] == node->in[k];
        neap_node *target = graph_read_target(node->in[k]);
        if (again || target->consumers == 0)
            continue;
        target->consumers--;
        if (!target->buffer)
            graph_count_pending(ctx, target);
        status = lazy_push(&ctx->walk.stack, target);
    }
    return status;
}

static int push_blocks(neap_ctx *ctx, const lazy_shards *shards) {
    int status = 0;
    for (int32_t b = 0; b < shards->sharding->nblocks && status == 0; b++)
        status = lazy_push(&ctx->walk.stack, graph_read_target(shards->blocks[b]));
    return status;
}

/* A demand computes it nevertheless, as what has been fused away (region.c). */
int neap_tape_unread(neap_ctx *ctx, int level, int32_t id) {
    neap_node *node = graph_lookup(ctx, id);
    if (!node)
        return neap_error_code();
    if (level < 0 || level >= ctx->levels.n)
        return neap_error(NEAP_E_STATE, "the gradient is not open");
    ctx->walk.epoch++;
    ctx->walk.stack.n = 0;
    for (int64_t k = ctx->levels.at[level].pending; k < ctx->pending.nodes.n; k++)
        ctx->pending.nodes.at[k]->mark = ctx->walk.epoch;
    int status = !graph_is_meshed(node)   ? lazy_push(&ctx->walk.stack, graph_read_target(node))
                 : graph_has_blocks(node) ? push_blocks(ctx, node->shards)
                                          : 0;
    while (ctx->walk.stack.n > 0 && status == 0)
        status = leave_unread(ctx, ctx->walk.stack.at[--ctx->walk.stack.n]);
    return status;
}
