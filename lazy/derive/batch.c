/* batch.c: batching a program: its ops are recorded again for many examples at once.
 *
 * The walk goes over the program's nodes in their order, inputs before users. A node without a batched input is
 * recorded as it was, once for all examples; any other is built by the row's rule (batch.h). So the number of nodes
 * depends on the program alone, and the result is made of ordinary ops: it may be differentiated, traced, and batched
 * again.
 *
 * A call whose function has a rule of its own (np.custom_vmap) is batched by a program that the caller of the batch has
 * traced: for which operands are batched, nobody knows before the walk comes there. So the caller asks first, again and
 * again, which rule is missing (neap_program_batch_wants): then the walk happens in a trace that is dropped.
 *
 * Effects stay in their order. An ordered effect is refused: its order is one of program points, and says nothing about
 * the examples. An unordered one that reads something batched happens once for each example, in their order; inside a
 * branch or a loop that some examples take and others do not, for those that do (the guard). So does a check.
 */
#include <string.h>

#include "lazy/derive/batch.h"
#include "lazy/derive/build.h"
#include "lazy/effect/effect.h"
#include "lazy/program/program.h"

typedef struct given { /* one of several results of a node */
    neap_node *node;   /* one reference */
    bool batched;
} given;

typedef struct lazy_batch_walk {
    neap_ctx *ctx;
    neap_program *program;
    int64_t size;
    const lazy_batch_guard *guard;
    neap_node *const *inputs;
    const bool *of_inputs; /* which of them are batched */
    /* By position in program->nodes: */
    neap_node **now; /* one reference each; NULL where several results were given */
    bool *batched;
    int64_t *several; /* where the results start in `given` */
    LAZY_VECTOR(given) given;
    neap_node **in;       /* the inputs of the node at hand */
    bool *in_batched;     /* which of these are batched */
    const int32_t *links; /* the positions of these inputs */
    int64_t next_effect, root;
} batching;

/* ---- For writing rules ------------------------------------------------------------------------------------------- */
int derive_batch_done(const lazy_batching *g) {
    return g->out ? 0 : neap_error_code();
}

neap_node *derive_batch_broadcast(lazy_batching *g, neap_node *node) {
    int64_t shape[NEAP_MAX_DIMS + 1] = {g->size};
    if (!node)
        return NULL;
    memcpy(shape + 1, node->shape, node->ndim * sizeof *shape);
    return graph_build_broadcast(g->ctx, node, node->ndim + 1, shape);
}

neap_node *derive_batch_all(lazy_batching *g, int k) {
    return g->batched[k] ? g->in[k] : derive_batch_broadcast(g, g->in[k]);
}

neap_node *derive_batch_align(lazy_batching *g, int k, int ndim) {
    const neap_node *in = g->in[k];
    int64_t shape[NEAP_MAX_DIMS + 1] = {g->size};
    int own = in->ndim - 1, fresh = ndim - own;
    if (!g->batched[k] || fresh <= 0)
        return g->in[k];
    for (int a = 0; a < fresh; a++)
        shape[1 + a] = 1;
    memcpy(shape + 1 + fresh, in->shape + 1, (size_t)own * sizeof *shape);
    return graph_build_reshape(g->ctx, g->in[k], ndim + 1, shape);
}

neap_node *derive_batch_move(lazy_batching *g, neap_node *node, int from, int to) {
    int64_t perm[NEAP_MAX_DIMS];
    if (!node || from == to)
        return node;
    for (int a = 0, source = 0; a < node->ndim; a++) {
        source += source == from;
        perm[a] = a == to ? from : source++;
    }
    return graph_build_transpose(g->ctx, node, perm);
}

neap_node *derive_batch_example(neap_ctx *ctx, neap_node *node, int64_t example) {
    int64_t slice[3 * NEAP_MAX_DIMS] = {example, 1, 1};
    for (int a = 1; a < node->ndim; a++) {
        slice[3 * a + 1] = 1;
        slice[3 * a + 2] = node->shape[a];
    }
    neap_node *one = graph_build_slice(ctx, node, slice);
    return one ? graph_build_reshape(ctx, one, node->ndim - 1, node->shape + 1) : NULL;
}

int derive_batch_give(lazy_batching *g, neap_node *result, bool batched) {
    if (!result)
        return neap_error_code();
    if (lazy_push(&g->walk->given, ((given){result, batched})))
        return NEAP_E_MEMORY;
    graph_retain(result);
    return 0;
}

int derive_batch_part(lazy_batching *g, int k) {
    const given *result = &g->walk->given.at[g->walk->several[g->walk->links[0]] + k];
    g->out = result->node;
    g->shared = !result->batched;
    return 0;
}

int derive_batch_inputs(neap_ctx *ctx, int64_t size, int level, const neap_program *program, int64_t first,
                        const bool *batched, neap_node **to) {
    for (int64_t k = first; k < program->inputs.n; k++) {
        const neap_node *like = program->inputs.at[k];
        lazy_result aval = {.dtype = like->dtype, .ndim = (uint8_t)(like->ndim + batched[k]), .shape = {size}};
        if (aval.ndim > NEAP_MAX_DIMS)
            return neap_error(NEAP_E_SHAPE, "vmap: more than %d axes inside control flow", NEAP_MAX_DIMS);
        memcpy(aval.shape + batched[k], like->shape, like->ndim * sizeof *like->shape);
        const lazy_sharding *sharding = graph_sharding_of(like);
        if (sharding && batched[k] && !(sharding = shard_sharding_stacked(sharding)))
            return NEAP_E_MEMORY;
        if (!(to[k] = graph_placeholder(ctx, level, &aval, like->flags & LAZY_WEAK, like->device, sharding)))
            return NEAP_E_MEMORY;
    }
    return 0;
}

/* ---- Rules of functions ------------------------------------------------------------------------------------------ */
_Static_assert((int)NEAP_MOST_OPERANDS >= (int)LAZY_MAX_CONTROL_INPUTS, "the operands of a call have room");

static bool rule_fits(const neap_batch_rule *rule, int n, const bool *batched) {
    if (rule->program->inputs.n != n + rule->nlifted)
        return false;
    for (int k = 0; k < n; k++)
        if ((rule->batched[k] != 0) != batched[k])
            return false;
    return true;
}

bool derive_batch_has_rule(const lazy_batching *g, neap_program *callee) {
    const neap_batch *how = g->ctx->batch.how;
    bool has = how && program_ruled(callee)->rule;
    for (int32_t k = 0; how && k < how->nrules; k++)
        has |= how->rules[k].callee == program_ruled(callee);
    return has;
}

const neap_batch_rule *derive_batch_rule(lazy_batching *g, neap_program *callee, int n, const bool *batched) {
    const lazy_batch_state *state = &g->ctx->batch;
    callee = program_ruled(callee);
    for (int32_t k = 0; k < state->how->nrules; k++)
        if (state->how->rules[k].callee == callee && rule_fits(&state->how->rules[k], n, batched))
            return &state->how->rules[k];
    if (state->wanted && !state->wanted->callee) {
        state->wanted->callee = program_retain(callee);
        state->wanted->number = callee->rule;
        for (int k = 0; k < n; k++)
            state->wanted->batched[k] = batched[k];
    }
    neap_error(NEAP_E_ARGUMENT, "vmap: the rule of a function was not given");
    return NULL;
}

/* ---- Rules that rows share --------------------------------------------------------------------------------------- */
/* All maps: ranks are aligned, what is not batched broadcasts. */
static int batch_map(lazy_batching *g) {
    neap_node *in[NEAP_MAX_INPUTS];
    for (int k = 0; k < g->node->nin; k++)
        in[k] = derive_batch_align(g, k, g->node->ndim);
    g->out = graph_build(g->ctx, g->node->op, g->node->nin, in, g->node->nattrs, g->node->attrs);
    return derive_batch_done(g);
}

/* All reductions: axes are counted one further. */
static int batch_reduce(lazy_batching *g) {
    int64_t attrs[2] = {g->node->attrs[0] << 1, g->node->attrs[1]};
    g->out = graph_build(g->ctx, g->node->op, 1, g->in, 2, attrs);
    return derive_batch_done(g);
}

static int all_batched(lazy_batching *g, const int64_t *attrs) {
    neap_node *in[NEAP_MAX_INPUTS];
    for (int k = 0; k < g->node->nin; k++)
        in[k] = derive_batch_all(g, k);
    g->out = graph_build(g->ctx, g->node->op, g->node->nin, in, g->node->nattrs, attrs);
    return derive_batch_done(g);
}

int derive_batch_leading(lazy_batching *g) {
    return all_batched(g, g->node->attrs);
}

int derive_batch_axis(lazy_batching *g) {
    int64_t attrs[8];
    if (g->node->nattrs > 8)
        return neap_error(NEAP_E_INTERNAL, "%s: too many attributes for its batching rule",
                          graph_node_op(g->node)->name);
    memcpy(attrs, g->node->attrs, (size_t)g->node->nattrs * sizeof *attrs);
    attrs[0] += attrs[0] >= 0; /* a negative one counts from the end */
    return all_batched(g, attrs);
}

int derive_batch_guarded(lazy_batching *g) {
    neap_node *in[NEAP_MAX_INPUTS];
    for (int k = 0; k < g->node->nin; k++)
        in[k] = derive_batch_all(g, k);
    if (g->guard && in[0]) {
        int64_t shape[NEAP_MAX_DIMS] = {g->size};
        for (int a = 1; a < in[0]->ndim; a++)
            shape[a] = 1;
        neap_node *others = BUILD1(logical_not, g->guard->mask);
        in[0] = BUILD2(logical_or, in[0], others ? graph_build_reshape(g->ctx, others, in[0]->ndim, shape) : NULL);
    }
    g->out = graph_build(g->ctx, g->node->op, g->node->nin, in, g->node->nattrs, g->node->attrs);
    return derive_batch_done(g);
}

static bool is_guarded(const neap_node *node) {
    if (!(node->flags & LAZY_ABSTRACT))
        return false;
    const lazy_op *row = graph_node_op(node);
    lazy_inner inner = {0};
    if (row->payload && row->payload->programs)
        row->payload->programs(node, &inner);
    bool guarded = row->batch == derive_batch_guarded;
    for (int k = 0; k < inner.bodies && !guarded; k++)
        guarded = derive_program_is_guarded(inner.programs[k]);
    return guarded;
}

bool derive_program_is_guarded(const neap_program *program) {
    bool guarded = false;
    for (int64_t k = 0; k < program->nodes.n && !guarded; k++)
        guarded = is_guarded(program->nodes.at[k]);
    return guarded;
}

/* ---- The walk ---------------------------------------------------------------------------------------------------- */
static int refuse_ordered(const char *what, const char *site) {
    return neap_error(
        NEAP_E_TRACE,
        "vmap: the %s at %s is an ordered effect, which has no order among the examples of a batch; make it "
        "unordered ({ordered=false}, as np.debug.print takes it), or move it out of the function",
        what, site && *site ? site : "an unknown line");
}

static int check_effect(const neap_program *program, const lazy_effect *effect) {
    const neap_node *node = effect->node;
    if (effect_bits(effect) & LAZY_EFFECTS_ORDERED || (node && graph_is_exchange(node)))
        return refuse_ordered(node ? graph_node_op(node)->name : neap_effect_name(effect->how.kind),
                              effect_site(program->ctx, effect));
    return 0;
}

bool derive_has_batch_rules(const neap_node *node) {
    const lazy_payload *payload = node->flags & LAZY_ABSTRACT ? graph_node_op(node)->payload : NULL;
    return payload && payload->has_batch_rules && payload->has_batch_rules(node);
}

/* Before anything is recorded: are there effects that have no batch? Those of a function with a rule are seen later:
 * the rule's take their place. */
static int check_effects(const neap_program *program) {
    int status = 0;
    for (int64_t e = 0; e < program->effects.n && status == 0; e++)
        if (!program->effects.at[e]->node || !derive_has_batch_rules(program->effects.at[e]->node))
            status = check_effect(program, program->effects.at[e]);
    return status;
}

/* A print for one example; `nodes` gets what it shows. */
static int print_example(batching *w, const lazy_effect *effect, int64_t example, neap_node **nodes) {
    int status = 0;
    for (int64_t k = 0; k < effect->nodes.n && status == 0; k++) {
        int32_t at = w->program->root_nodes.at[w->root + k];
        nodes[k] = w->batched[at] ? derive_batch_example(w->ctx, w->now[at], example) : w->now[at];
        status = nodes[k] ? 0 : neap_error_code();
    }
    return status ? status : effect_print_nodes(w->ctx, &effect->how, effect->nfragments, effect->fragments, nodes);
}

/* A print for the examples of the guard. */
static int guard_print(batching *w, const lazy_effect *effect) {
    size_t n = (size_t)effect->nodes.n;
    neap_node **nodes = calloc(n + 1, sizeof *nodes), *nothing;
    bool *batched = calloc(n + 1, sizeof *batched);
    int status = nodes && batched ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a print");
    for (size_t k = 0; k < n && status == 0; k++) {
        int32_t at = w->program->root_nodes.at[w->root + (int64_t)k];
        nodes[k] = w->now[at];
        batched[k] = w->batched[at];
    }
    if (status == 0)
        status = w->guard->record(w->guard, w->ctx, effect, (int)n, nodes, batched, &nothing);
    free(nodes);
    free(batched);
    return status;
}

static int batch_print(batching *w, const lazy_effect *effect) {
    bool each = false;
    for (int64_t k = 0; k < effect->nodes.n; k++)
        each |= w->batched[w->program->root_nodes.at[w->root + k]];
    neap_node **nodes = calloc((size_t)effect->nodes.n + 1, sizeof *nodes);
    int status = nodes ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a print");
    for (int64_t e = 0; e < (each ? w->size : 1) && status == 0; e++) {
        plan_hold(w->ctx);
        status = print_example(w, effect, e, nodes);
        int held = plan_unhold(w->ctx);
        status = status ? status : held;
    }
    free(nodes);
    return status;
}

/* Prints, up to the next callback. */
static int batch_prints(batching *w) {
    int status = 0;
    while (w->next_effect < w->program->effects.n && status == 0) {
        const lazy_effect *effect = w->program->effects.at[w->next_effect];
        if (effect->node)
            break;
        if ((status = w->guard ? guard_print(w, effect) : batch_print(w, effect)) == 0) {
            w->next_effect++;
            w->root += effect->nodes.n;
        }
    }
    return status;
}

static int run_rule(lazy_batching *g) {
    const lazy_op *row = graph_node_op(g->node);
    if (g->guard && effect_is_callback(g->node) && !effect_calls_at_once(effect_callback_of(g->node)))
        return g->guard->record(g->guard, g->ctx, g->walk->program->effects.at[g->walk->next_effect], g->node->nin,
                                g->in, g->batched, &g->out);
    int (*rule)(lazy_batching *) = row->batch                 ? row->batch
                                   : row->kind == LAZY_MAP    ? batch_map
                                   : row->kind == LAZY_REDUCE ? batch_reduce
                                                              : NULL;
    if (!rule)
        return neap_error(NEAP_E_ARGUMENT, "vmap: %s has no batching rule", row->name);
    int32_t scope = graph_scope_enter(g->ctx, g->node);
    int status = rule(g);
    graph_scope_swap(g->ctx, scope);
    return status;
}

/* What was made for an op has the script line of that op. */
static void give_site(batching *w, const lazy_batching *g, neap_node *node) {
    for (int a = 0; a < g->node->nin; a++)
        if (g->in[a] == node)
            return;
    node->site = g->node->site;
    if (w->ctx->sites.node == node)
        w->ctx->sites.node = NULL;
}

/* Node k of the program, whose inputs stand at `links`. */
static int batch_node(batching *w, int64_t k, const int32_t *links) {
    const neap_node *node = w->program->nodes.at[k];
    lazy_batching g = {.ctx = w->ctx,
                       .node = node,
                       .size = w->size,
                       .in = w->in,
                       .batched = w->in_batched,
                       .guard = w->guard,
                       .walk = w};
    bool effect = graph_is_effect(node), any = w->guard && (effect || is_guarded(node));
    w->links = links;
    w->several[k] = w->given.n;
    for (int a = 0; a < node->nin; a++) {
        g.in[a] = w->now[links[a]];
        any |= g.batched[a] = w->batched[links[a]];
    }
    int status = effect ? batch_prints(w) : 0;
    if (status == 0 && effect && !any)
        status = check_effect(w->program, w->program->effects.at[w->next_effect]);
    if (status == 0 && any)
        status = run_rule(&g);
    if (status)
        return status;
    w->batched[k] = any && !g.shared;
    if (any && !g.out && w->given.n > w->several[k])
        w->now[k] = NULL;
    else if (!(w->now[k] = any ? graph_retain(g.out) : program_node_again(w->ctx, node, g.in)))
        return neap_error_code();
    else
        give_site(w, &g, w->now[k]);
    w->next_effect += effect;
    w->root += effect;
    return 0;
}

static int batch_nodes(batching *w) {
    const int32_t *links = w->program->links.at;
    for (int64_t k = 0; k < w->program->nodes.n; k++) {
        neap_node *node = w->program->nodes.at[k];
        if (graph_is_placeholder(node)) {
            int input = (int)node->value;
            w->now[k] = graph_retain(w->inputs[input]);
            w->batched[k] = w->of_inputs[input];
        } else if (!(node->flags & LAZY_ABSTRACT)) {
            w->now[k] = graph_retain(node);
        } else {
            int status = batch_node(w, k, links);
            if (status)
                return status;
            links += node->nin;
        }
    }
    return 0;
}

static int batch_program(batching *w, neap_node **outputs, bool *out_batched) {
    const neap_program *program = w->program;
    int status = check_effects(program);
    if (status)
        return status;
    plan_hold(w->ctx);
    status = batch_nodes(w);
    int held = plan_unhold(w->ctx);
    status = status ? status : held;
    for (int64_t k = w->root; k < program->effect_roots && status == 0; k++) {
        neap_node *node = w->now[program->root_nodes.at[k]];
        if (node &&
            !(node->flags & LAZY_ABSTRACT)) /* before the first print, so that a failure can still be repeated */
            status = plan_force(w->ctx, node);
    }
    if (status == 0)
        status = batch_prints(w);
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++) {
        int32_t at = program->root_nodes.at[program->effect_roots + k];
        outputs[k] = graph_retain(w->now[at]);
        graph_weak_like(outputs[k], program->outputs.at[k]);
        out_batched[k] = w->batched[at];
    }
    return status;
}

static int begin_batching(batching *w) {
    size_t n = (size_t)w->program->nodes.n + 1, widest = 1;
    for (int64_t k = 0; k < w->program->nodes.n; k++)
        if (w->program->nodes.at[k]->nin > widest)
            widest = w->program->nodes.at[k]->nin;
    w->now = calloc(n, sizeof *w->now);
    w->batched = calloc(n, sizeof *w->batched);
    w->several = calloc(n, sizeof *w->several);
    w->in = calloc(widest, sizeof *w->in);
    w->in_batched = calloc(widest, sizeof *w->in_batched);
    bool all = w->now && w->batched && w->several && w->in && w->in_batched;
    return all ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a batch");
}

static void walk_end(batching *w) {
    for (int64_t k = 0; w->now && k < w->program->nodes.n; k++)
        graph_release(w->ctx, w->now[k]);
    for (int64_t k = 0; k < w->given.n; k++)
        graph_release(w->ctx, w->given.at[k].node);
    lazy_vector_free(&w->given);
    free(w->now);
    free(w->batched);
    free(w->several);
    free(w->in);
    free(w->in_batched);
}

int derive_program_batch(neap_ctx *ctx, neap_program *program, int64_t size, const lazy_batch_guard *guard,
                         neap_node *const *inputs, const bool *batched, neap_node **outputs, bool *out_batched) {
    batching w = {.ctx = ctx, .program = program, .size = size, .guard = guard, .inputs = inputs, .of_inputs = batched};
    int status = begin_batching(&w);
    lazy_level *trace = effect_open_trace(ctx);
    int64_t recorded = trace ? trace->effects.n : 0;
    if (status == 0)
        status = batch_program(&w, outputs, out_batched);
    if (status && trace)
        effect_cut(ctx, trace, recorded);
    walk_end(&w);
    return status ? program_fail_for_good(status, !trace && w.next_effect > 0) : 0;
}
