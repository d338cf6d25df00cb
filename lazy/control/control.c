/* control/mesh.c: control nodes: what stands behind them, and recording them.
 *
 * The node's value is a block of bytes, which its op fills; `part` nodes copy the results out of it. As of callbacks,
 * what is run is no part of a region's structure: the key has the plans of the bodies, which are found by structure
 * themselves, so a fresh closure of the same code needs no new plan.
 */
#include "lazy/control/control.h"

#include <string.h>

#include "lazy/control/body.h"
#include "lazy/control/derive.h"
#include "ops_gen.h"

/* ---- What stands behind a node ----------------------------------------------------------------------------------- */
/* Adds up what the node's programs do. */
static int sum_up_programs(lazy_control *control) {
    int own = control_bodies(control);
    control->ruled = control_has_rule(&control->shape);
    control->maps = control->shape.rule == NEAP_RULE_VMAP;
    for (int p = 0; p < control->nprograms; p++) {
        const neap_program *program = control->programs[p];
        for (int64_t e = 0; e < program->effects.n && p < own; e++)
            control->effects |= effect_bits(program->effects.at[e]);
        control->tells_in_rules |= p >= own && control_has_visible_effects(program);
        for (int64_t k = 0; k < program->nodes.n; k++) {
            const neap_node *node = program->nodes.at[k];
            bool asks = effect_is_callback(node) && effect_asks_once(effect_callback_of(node));
            control->asks |= p < own && asks;
            control->asks_in_rules |= asks;
            if (!control_is_control(node) || !(node->flags & LAZY_ABSTRACT))
                continue;
            control->ruled |= p < own && control_of(node)->ruled;
            control->maps |= control_of(node)->maps;
            control->asks |= p < own && control_of(node)->asks;
            control->asks_in_rules |= control_of(node)->asks_in_rules;
            control->tells_in_rules |= control_of(node)->tells_in_rules;
            if (control_of(node)->depth > control->depth)
                control->depth = control_of(node)->depth;
        }
    }
    if (++control->depth > LAZY_MAX_NESTING)
        return neap_error(NEAP_E_ARGUMENT, "%s: more than %d loops and branches inside each other",
                          lazy_ops[control->shape.op]->name, LAZY_MAX_NESTING);
    return 0;
}

void control_release(lazy_control *control) {
    if (--control->refs > 0)
        return;
    control_derived_free(control->derived);
    for (int p = 0; p < control->nprograms; p++)
        neap_program_free(control->programs[p]);
    for (int64_t k = 0; k < control->runners.n; k++)
        control_runner_release(control->runners.at[k]);
    lazy_vector_free(&control->runners);
    free(control->shape.in);
    free(control->shardings);
    free(control->results);
    free(control->programs);
    free(control);
}

int control_new(int nprograms, neap_program *const *programs, const graph_call *call, lazy_control **out) {
    lazy_control *control = calloc(1, sizeof *control);
    if (control)
        control->programs = calloc((size_t)nprograms + 1, sizeof *control->programs);
    if (!control || !control->programs) {
        free(control);
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    }
    control->refs = 1;
    control->shape.op = call->op;
    control->shape.kind = lazy_ops[call->op]->control;
    for (; control->nprograms < nprograms; control->nprograms++)
        control->programs[control->nprograms] = program_retain(programs[control->nprograms]);
    int status = control_check(control, call);
    if (status == 0)
        status = sum_up_programs(control);
    if (status)
        control_release(control);
    else
        *out = control;
    return status;
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */
static int check_given(int op, int nprograms, int nattrs, int nin) {
    if (op < 0 || op >= lazy_op_count || !lazy_ops[op]->control)
        return neap_error(NEAP_E_ARGUMENT, "control: no such op");
    if (nprograms < 1 || nattrs < 1 || nattrs >= INT16_MAX || nin < 0 || nin > LAZY_MAX_CONTROL_INPUTS)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected programs and at most %d inputs, got %d and %d",
                          lazy_ops[op]->name, LAZY_MAX_CONTROL_INPUTS, nprograms, nin);
    return 0;
}

static int check_arrays(const char *op, int nin, neap_node *const *in) {
    int device = -1;
    bool meshed = false; /* then each device's block is taken there */
    for (int k = 0; k < nin; k++)
        meshed |= graph_is_meshed(in[k]);
    for (int k = 0; k < nin; k++) {
        if (in[k]->flags & LAZY_ABSTRACT && !in[k]->levels)
            return neap_error(NEAP_E_TRACE, "%s: an argument belongs to a trace that has ended", op);
        if (in[k]->device >= 0 && device >= 0 && in[k]->device != device && !meshed)
            return neap_error(NEAP_E_ARGUMENT, "%s: the arrays are on different devices, %s and %s", op,
                              neap_device_name(device), neap_device_name(in[k]->device));
        device = in[k]->device >= 0 ? in[k]->device : device;
    }
    return 0;
}

/* The open trace that the node belongs to whatever it reads, since it has effects; NULL: none. What only exchanges data
 * with other processes belongs to one if something that it reads does. */
static lazy_level *trace_of_effects(neap_ctx *ctx, const lazy_control *control, int nin, neap_node *const *in) {
    int effects = control->effects & ~LAZY_EFFECTS_EXCHANGE;
    if (effect_is_pure(effects))
        return effect_pure_trace(ctx, nin, in);
    return effects ? effect_open_trace(ctx) : NULL;
}

/* Numbers become arrays of one f64; what is from outside of closed traces is captured. given[k] is OWNED. */
static int take_inputs(neap_ctx *ctx, const lazy_control *control, int nin, neap_node *const *in, neap_node **captured,
                       neap_node **given) {
    lazy_level *trace = trace_of_effects(ctx, control, nin, in);
    memcpy(captured, in, (size_t)nin * sizeof *captured);
    int status = ctx->levels.closed ? graph_capture_inputs(ctx, nin, in, captured) : 0;
    if (status == 0 && trace && trace->closed)
        status = graph_capture_into(ctx, (int)(trace - ctx->levels.at), nin, captured, captured);
    for (int k = 0; k < nin && status == 0; k++) {
        given[k] = captured[k]->flags & LAZY_WEAK ? graph_number_as_array(ctx, captured[k]) : graph_retain(captured[k]);
        status = given[k] ? 0 : NEAP_E_MEMORY;
    }
    return status;
}

static neap_node *make_node(neap_ctx *ctx, lazy_control *control, int32_t site, const graph_call *call) {
    int nattrs = call->nattrs;
    lazy_result block = {.dtype = NEAP_DTYPE_U8, .ndim = 1, .shape = {control->bytes}};
    int64_t few[16], *all = nattrs < 16 ? few : malloc(((size_t)nattrs + 1) * sizeof *all);
    if (!all) {
        neap_error(NEAP_E_MEMORY, "out of memory for a node");
        return NULL;
    }
    all[0] = (int64_t)(intptr_t)control;
    memcpy(all + 1, call->attrs, (size_t)nattrs * sizeof *all);
    neap_node *node = graph_node_new(ctx, call->op, &block, call->nin, call->in, nattrs + 1, all);
    if (all != few)
        free(all);
    if (!node)
        return NULL;
    control->refs++;
    lazy_level *trace = trace_of_effects(ctx, control, call->nin, call->in);
    if (trace) {
        node->flags |= LAZY_ABSTRACT;
        node->levels |= 1u << (trace - ctx->levels.at);
    }
    if ((control->apart && graph_node_mesh(node, control->apart)) || graph_enroll(ctx, node) != 0) {
        graph_release(ctx, node);
        return NULL;
    }
    if (site) {
        node->site = site;
        ctx->sites.node = NULL;
        ctx->collector.requests &= ~NEAP_SAFEPOINT_SITE;
    }
    return node;
}

/* Effects happen, or are those of the open trace; other nodes start, unless recording is held or deferred. What starts
 * of a node on a mesh are the nodes of its blocks. */
static int start_control_node(neap_ctx *ctx, neap_node *node) {
    if (graph_is_meshed(node) && control_expands(ctx, node)) {
        int status = control_expand(ctx, node);
        if (status == 0 && !(node->flags & LAZY_ABSTRACT))
            graph_node_drop(ctx, node);
        return status;
    }
    if (node->flags & LAZY_ABSTRACT) {
        lazy_level *trace = effect_is_pure(graph_node_effects(node)) ? effect_pure_trace(ctx, node->nin, node->in)
                            : graph_is_effect(node)                  ? effect_open_trace(ctx)
                                                                     : NULL;
        return trace ? effect_record(ctx, trace, node) : 0;
    }
    bool exchanges = (control_of(node)->effects & LAZY_EFFECTS_EXCHANGE) != 0;
    int status = exchanges ? effect_exchange_check(ctx, graph_node_op(node)->name) : 0;
    if (status)
        return status;
    status = control_prepare(ctx, node);
    if (status) {
        plan_leave_pending(ctx, node, LAZY_RECIPE); /* it cannot be planned, and nobody will have it */
        return status;
    }
    if (graph_is_effect(node))
        return plan_flush_roots(ctx, 1, &node);
    return plan_start(ctx, node);
}

/* site: of the node; 0: Lua is asked for it. */
static neap_node *record_control_node(neap_ctx *ctx, lazy_control *control, int32_t site, const graph_call *call) {
    int nin = call->nin;
    neap_node **captured = calloc(2 * (size_t)nin + 1, sizeof *captured), **given = captured + nin, *node = NULL;
    int status = captured ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a node");
    graph_call own = *call;
    own.in = given;
    if (status == 0)
        status = take_inputs(ctx, control, nin, call->in, captured, given);
    if (status == 0 && (node = make_node(ctx, control, site, &own)) && start_control_node(ctx, node)) {
        graph_release(ctx, node);
        node = NULL;
    }
    for (int k = 0; k < nin && captured; k++)
        graph_release(ctx, given[k]);
    free(captured);
    return node;
}

/* Does a derivative inside of the closed trace that a node belongs to depend on one of the inputs? An array on which
 * those around the trace depend is captured. */
static bool on_tape_of_trace(const neap_ctx *ctx, int nin, neap_node *const *in) {
    uint32_t some = 0, inner = ~0u;
    for (int k = 0; k < nin; k++)
        some |= in[k]->levels;
    for (int at = 0; at < ctx->levels.n; at++)
        if (some >> at & 1 && ctx->levels.at[at].closed)
            inner = ~0u << at;
    return some & inner & ~(graph_trace_levels(ctx) | ctx->levels.walked);
}

/* The node with the rules kept of all that depends on what a derivative depends on. */
static neap_node *record_kept(neap_ctx *ctx, lazy_control *control, int32_t site, const graph_call *call) {
    bool *active = calloc((size_t)call->nin + 1, sizeof *active);
    if (!active) {
        neap_error(NEAP_E_MEMORY, "out of memory for a node");
        return NULL;
    }
    for (int k = 0; k < call->nin; k++)
        active[k] = control_on_tape(ctx, 1, &call->in[k]);
    neap_node *node = control_record_ruled(ctx, control, LAZY_RULES_KEPT, active, site, call);
    free(active);
    return node;
}

static neap_node *record_checked(neap_ctx *ctx, lazy_control *control, int32_t site, const graph_call *call) {
    if (control->shape.kind->rules && control_call_check(ctx, control, call->nin, call->in))
        return NULL;
    bool changes = (control->ruled || control->asks) && control_on_tape(ctx, call->nin, call->in);
    if (control->shape.rule == NEAP_RULE_VMAP)
        changes = on_tape_of_trace(ctx, call->nin, call->in);
    return changes && !control->kept ? record_kept(ctx, control, site, call)
                                     : record_control_node(ctx, control, site, call);
}

/* The node, where something of it lies on a mesh: with programs and inputs that fit each other. */
static neap_node *record_meshed_control(neap_ctx *ctx, const lazy_control *given, int32_t site,
                                        const graph_call *call) {
    neap_node **to = calloc((size_t)call->nin + 1, sizeof *to), *node = NULL;
    lazy_control *control = NULL;
    graph_call fitted = *call;
    fitted.in = to;
    if (!to) {
        neap_error(NEAP_E_MEMORY, "out of memory for a node");
        return NULL;
    }
    plan_hold(ctx);
    if (control_fix_shardings(ctx, given, call, to, &control) == 0) {
        control->serial = given->serial;
        control->kept = given->kept;
        control->answers = given->answers;
        node = record_checked(ctx, control, site, &fitted);
        control_release(control);
    }
    free(to);
    int held = plan_unhold(ctx);
    if (held && node) {
        graph_release(ctx, node);
        node = NULL;
    }
    return node;
}

static neap_node *record_any(neap_ctx *ctx, lazy_control *control, int32_t site, const graph_call *call) {
    return control_mesh_needed(control, call->nin, call->in) ? record_meshed_control(ctx, control, site, call)
                                                             : record_checked(ctx, control, site, call);
}

neap_node *control_record_as(neap_ctx *ctx, const lazy_control_as *as, int nprograms, neap_program *const *programs,
                             const graph_call *call) {
    lazy_control *control = NULL;
    neap_node *node = NULL;
    if (check_given(call->op, nprograms, call->nattrs, call->nin) ||
        check_arrays(lazy_ops[call->op]->name, call->nin, call->in) || control_new(nprograms, programs, call, &control))
        return NULL;
    control->serial = ++ctx->callbacks.last;
    control->kept = as->kept;
    control->answers = as->answers;
    node = record_any(ctx, control, as->site, call);
    control_release(control);
    return node;
}

neap_node *control_record(neap_ctx *ctx, int nprograms, neap_program *const *programs, const graph_call *call) {
    return control_record_as(ctx, &(lazy_control_as){0}, nprograms, programs, call);
}

/* Is a node that has no rule, nor any inside, one whose answers somebody takes? */
static bool gives_answers(const lazy_control *control, const lazy_answers *answers) {
    return answers && answers->taken && control->asks && !control->ruled && control->shape.kind->takes >= 0;
}

/* Are rules in a node kept or used, where these inputs are active? Callbacks with results of one that is neither would
 * be asked again for each derivative. */
static bool changes_rules(const lazy_control *control, const bool *active) {
    bool some = !active || control->asks_in_rules;
    for (int k = 0; k < control->shape.nin && !some; k++)
        some = active[k];
    return some && control->ruled;
}

/* Has the node effects, which do not happen where a derivative runs its programs again? A rule that is neither kept nor
 * used may have some, too. */
static bool tells(const lazy_control *control) {
    return control->effects || (control->tells_in_rules && !control->kept);
}

/* The same node again, on other inputs. Its results are the first ones of this. OWNED. */
static neap_node *record_control_again(neap_ctx *ctx, const neap_node *node, neap_node *const *in) {
    lazy_control *control = control_of(node);
    const lazy_answers *answers = ctx->levels.answers;
    const bool *active = ctx->levels.active;
    ctx->levels.answers = NULL;
    ctx->levels.active = NULL;
    if (check_arrays(graph_node_op(node)->name, node->nin, in))
        return NULL;
    if (control_has_stand_ins(ctx, node))
        return control_record_replaced(ctx, node, in);
    graph_call call = {
        .op = node->op, .nin = node->nin, .nattrs = node->nattrs - 1, .in = in, .attrs = node->attrs + 1};
    int rules = ctx->levels.rules;
    bool gives = gives_answers(control, answers);
    if (gives || (rules && changes_rules(control, active))) {
        ctx->levels.rules = LAZY_RULES_AS_THEY_ARE;
        neap_node *made =
            control_record_ruled(ctx, control, gives ? LAZY_RULES_KEPT : rules, active, node->site, &call);
        ctx->levels.rules = rules;
        if (made && answers && answers->taken && control_take_answers(ctx, made, answers->taken)) {
            graph_release(ctx, made);
            made = NULL;
        }
        return made;
    }
    if (ctx->levels.without_effects && tells(control))
        return control_record_answered(ctx, node, in, answers);
    return record_any(ctx, control, node->site, &call);
}

neap_node *control_result(neap_ctx *ctx, neap_node *node, int k) {
    const lazy_control *control = control_of(node);
    const lazy_result *result = &control->results[k];
    int64_t attrs[3 + NEAP_MAX_DIMS] = {k, control->places[k], result->dtype};
    memcpy(attrs + 3, result->shape, result->ndim * sizeof *result->shape);
    if (graph_is_meshed(node))
        return graph_record(ctx, LAZY_OP_part, 1, &node, 3 + result->ndim, attrs);
    neap_node *part = graph_node_new(ctx, LAZY_OP_part, result, 1, &node, 3 + result->ndim, attrs);
    if (part && graph_enroll(ctx, part)) {
        graph_release(ctx, part);
        return NULL;
    }
    return part;
}

/* ---- As the payload of nodes ------------------------------------------------------------------------------------- */
static void release_programs(const neap_node *node) {
    control_release(control_of(node));
}

static int effects_of_bodies(const neap_node *node) {
    return control_of(node)->effects;
}

/* A loop whose number of turns nobody knows cannot hand out what its callbacks have answered. */
static bool asks_for_itself(const neap_node *node) {
    return control_of(node)->asks && control_of(node)->shape.kind->takes < 0;
}

static uint64_t serial_of_programs(const neap_node *node) {
    return control_of(node)->serial;
}

static int count_key_words(const neap_node *node) {
    return 2 + control_bodies(control_of(node));
}

/* Nodes of one row differ if their bodies have different plans. */
static uint64_t *put_key(uint64_t *to, const neap_node *node) {
    const lazy_runner *runner = control_runner_of(node);
    *to++ = node->nin;
    *to++ = (uint64_t)runner->effects;
    for (int p = 0; p < runner->nbodies; p++)
        *to++ = runner->bodies[p]->plan->serial;
    return to;
}

static int64_t cost_of_run(const neap_node *node, int device) {
    const lazy_runner *runner = control_runner_at(control_of(node), device);
    return runner ? control_runner_cost(runner) : 0;
}

static size_t scratch_of_run(const neap_node *node, int device) {
    const lazy_runner *runner = control_runner_at(control_of(node), device);
    return runner ? control_runner_bytes(runner) : 0;
}

static void list_programs(const neap_node *node, lazy_inner *out) {
    const lazy_control *control = control_of(node);
    *out = (lazy_inner){.n = control->nprograms,
                        .bodies = control_bodies(control),
                        .one = control->shape.kind->branches,
                        .inlined = control->shape.kind->rules && control->shape.rule != NEAP_RULE_NONE,
                        .turns = control_turns(control->shape.kind, control->shape.length),
                        .programs = control->programs};
}

static bool has_part(const neap_node *node, int64_t nattrs, const int64_t *attrs) {
    const lazy_control *control = control_of(node);
    if (nattrs < 3 || attrs[0] < 0 || attrs[0] >= control->nresults)
        return false;
    const lazy_result *result = &control->results[attrs[0]];
    return nattrs == 3 + result->ndim && attrs[1] == control->places[attrs[0]] && attrs[2] == result->dtype &&
           memcmp(attrs + 3, result->shape, result->ndim * sizeof *result->shape) == 0;
}

static bool has_batch_rules(const neap_node *node) {
    return control_of(node)->maps;
}

/* A node's first attribute is the pointer to its programs. */
static bool is_default(const neap_node *node, int attr) {
    const lazy_control_kind *kind = graph_node_op(node)->control;
    return kind->is_default && kind->is_default(node->attrs + 1, attr - 1);
}

static bool is_native(const neap_node *node, int device) {
    const lazy_runner *runner = control_runner_at(control_of(node), device);
    return runner && control_runner_is_native(runner);
}

static const char *say_how_it_runs(const neap_node *node, int device, char *text, size_t capacity) {
    const lazy_runner *runner = control_runner_at(control_of(node), device);
    *text = '\0';
    return runner ? control_runner_why(runner, text, capacity) : text;
}

static bool compile_run(const neap_node *node, int device) {
    const lazy_runner *runner = control_runner_at(control_of(node), device);
    return runner && control_runner_compile(runner);
}

const lazy_payload control_payload = {
    .pointer = true,
    .release = release_programs,
    .effects = effects_of_bodies,
    .serial = serial_of_programs,
    .prepare = control_prepare,
    .key = put_key,
    .key_words = count_key_words,
    .cost = cost_of_run,
    .scratch = scratch_of_run,
    .lacks = control_lacks,
    .push = control_push,
    .is_native = is_native,
    .why = say_how_it_runs,
    .compile = compile_run,
    .record = control_record,
    .again = record_control_again,
    .leave_tape = control_leave_tape,
    .without_effects = record_control_again, /* its programs without their effects */
    .once = asks_for_itself,
    .programs = list_programs,
    .has_part = has_part,
    .has_batch_rules = has_batch_rules,
    .is_default = is_default,
};

/* ---- Public ------------------------------------------------------------------------------------------------------ */
/* Starts the copies of results; what finds no memory now is started by whoever asks for it. */
static void start_control_parts(neap_ctx *ctx, neap_node *node, int n, neap_node *const *parts) {
    if (n > 0 && node->buffer)
        (void)plan_start_now(ctx, n, parts);
}

static int push_control(neap_ctx *ctx, const neap_control *how, int n, const int32_t *ids, int32_t *results) {
    neap_node **in = calloc((size_t)(n > 0 ? n : 0) + (size_t)(how->nresults > 0 ? how->nresults : 0) + 1, sizeof *in);
    neap_node *node = NULL, **parts = in + (n > 0 ? n : 0);
    int status = in ? check_given(how->op, how->nprograms, how->nattrs, n)
                    : neap_error(NEAP_E_MEMORY, "out of memory for a node");
    for (int k = 0; k < n && status == 0; k++)
        status = (in[k] = graph_lookup_any(ctx, ids[k])) ? 0 : neap_error_code();
    graph_call call = {.op = how->op, .nin = n, .nattrs = how->nattrs, .in = in, .attrs = how->attrs};
    const lazy_control_as as = {.site = graph_site_intern(ctx, how->site)};
    if (status == 0 && !(node = control_record_as(ctx, &as, how->nprograms, how->programs, &call)))
        status = neap_error_code();
    if (status == 0 && how->nresults > control_of(node)->nresults)
        status =
            neap_error(NEAP_E_ARGUMENT, "%s: it has %d results", graph_node_op(node)->name, control_of(node)->nresults);
    for (int k = 0; k < how->nresults && status == 0; k++)
        status = (parts[k] = control_result(ctx, node, k)) ? 0 : NEAP_E_MEMORY;
    if (status == 0) {
        start_control_parts(ctx, node, how->nresults, parts);
        for (int k = 0; k < how->nresults; k++)
            graph_retain(parts[k]);
        status = graph_publish_all(ctx, how->nresults, parts, results);
    }
    for (int k = 0; k < how->nresults && in; k++)
        graph_release(ctx, parts[k]);
    graph_release(ctx, node);
    free(in);
    return status ? status : graph_safepoint(ctx);
}

static int play_control(neap_ctx *ctx, graph_note *note) {
    neap_control how = {.op = note->op,
                        .nprograms = note->nprograms,
                        .nattrs = note->nints,
                        .nresults = note->nout,
                        .programs = note->programs,
                        .attrs = note->ints,
                        .site = note->text};
    return push_control(ctx, &how, note->nin, note->in, note->out);
}
const graph_note_kind control_note = {
    .name = "control",
    .play = play_control,
    .shapes = GRAPH_NOTE_OUTPUTS,
    .form = {.ints = "a*", .nin = GRAPH_NOTE_ANY, .nout = GRAPH_NOTE_ANY, .nprograms = GRAPH_NOTE_ANY, .op = true}};

int neap_control_push(neap_ctx *ctx, const neap_control *how, int n, const int32_t *inputs, int32_t *results) {
    int status = push_control(ctx, how, n, inputs, results);
    return graph_noted(ctx, status,
                       &(graph_note){.kind = &control_note,
                                     .op = how->op,
                                     .level = -1,
                                     .nin = n,
                                     .in = inputs,
                                     .nout = how->nresults,
                                     .out = results,
                                     .nints = how->nattrs,
                                     .ints = how->attrs,
                                     .nprograms = how->nprograms,
                                     .programs = how->programs,
                                     .text = how->site,
                                     .bytes = how->site ? strlen(how->site) : 0});
}
