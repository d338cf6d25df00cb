/* custom.c: derivatives of calls (ops/control.c): of np.checkpoint, np.custom_vjp and np.custom_jvp.
 *
 * A call without a rule, or with one that a derivative has used (rules.c), is differentiated by its program, which the
 * derivative applies again: so nothing inside is kept for the backward pass. A rule for reverse mode is two programs:
 * one from the operands to the results and residuals, one from these and cotangents to cotangents. On a tape the call
 * itself is one of the first program, so its residuals are kept. A rule for forward mode is one program, linear in its
 * tangents, which also gets the answers (answers.c) that the call has behind its results; for reverse mode it is
 * transposed, on a tape whose tangents have no values: so a cotangent that needs them tells that the rule is not
 * linear. Branches and loops in the rule read their operands again in reverse, be they needed or not; with those, the
 * tangents are zeros, as good as any others.
 *
 * Forward mode has no use for a rule for reverse mode, and refuses such a call.
 *
 * What the programs of a rule read from around the function is no operand, and the rule says nothing about it: so
 * differentiating it is an error.
 */
#include "lazy/control/derive.h"
#include "lazy/derive/derive.h"
#include "lazy/dtype/scalar.h"
#include "lazy/effect/effect.h"

static int refuse_custom_rule(neap_ctx *ctx, const neap_node *node, const char *name, const char *what) {
    return neap_error(NEAP_E_ARGUMENT, "%s: %s%s%s", name, what, node->site ? ", recorded at " : "",
                      node->site ? graph_site_text(ctx, node->site) : "");
}

static const char *const reads_around = "the function reads an array that is differentiated from around it; pass it as "
                                        "an argument";

static bool is_float_result(const lazy_result *aval) {
    return dtype_is_inexact(aval->dtype);
}

/* Appends a node for each float among n: nodes[k], or zeros. */
static int floats_or_zeros(neap_ctx *ctx, int n, const lazy_result *avals, neap_node *const *nodes, neap_node **to,
                           int *count) {
    for (int k = 0; k < n; k++) {
        if (!is_float_result(&avals[k]))
            continue;
        neap_node *node = nodes[k];
        if (!node && (node = graph_arena(ctx, graph_constant(ctx, avals[k].dtype, false, 0))))
            node = graph_build_broadcast(ctx, node, avals[k].ndim, avals[k].shape);
        if (!node)
            return NEAP_E_MEMORY;
        to[(*count)++] = node;
    }
    return 0;
}

/* Applies program p of the call to n nodes, which stand in room for all of its inputs; outputs is a new table. */
static int apply_rule_program(neap_ctx *ctx, const neap_node *node, int p, int n, neap_node **given,
                              neap_node ***outputs) {
    const lazy_control *control = control_of(node);
    neap_program *program = control->programs[p];
    if (program->inputs.n != n + control->shape.consts[p])
        return neap_error(NEAP_E_ARGUMENT, "call: program %d has %lld inputs, expected %d", p + 1,
                          (long long)program->inputs.n, n + control->shape.consts[p]);
    for (int k = 0; k < control->shape.consts[p]; k++)
        given[n + k] = node->in[control->shape.const_at[p] + k];
    neap_node **out = calloc((size_t)program->outputs.n + 1, sizeof *out);
    int status =
        out ? derive_program_on(ctx, program, given, out) : neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    if (status)
        free(out);
    else
        *outputs = out;
    return status;
}

/* Room for the inputs of any program of the call, and as much again. */
static neap_node **inputs_capacity(const neap_node *node) {
    const lazy_control *control = control_of(node);
    size_t room = (size_t)node->nin + (size_t)control->nresults;
    for (int p = 0; p < control->nprograms; p++)
        room += (size_t)control->programs[p]->inputs.n + (size_t)control->programs[p]->outputs.n;
    neap_node **given = calloc(2 * room + 1, sizeof *given);
    if (!given)
        neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    else
        for (int k = 0; k < control->shape.operands; k++)
            given[k] = node->in[k];
    return given;
}

/* Adds cotangents to what the operands get: one for each float, in their order. */
static int give_cotangents(lazy_grad *g, int n, neap_node *const *cotangents) {
    const lazy_control_shape *shape = &control_of(g->node)->shape;
    int used = 0;
    for (int k = 0; k < shape->operands; k++) {
        if (!is_float_result(&shape->in[k]))
            continue;
        if (used == n)
            return neap_error(NEAP_E_ARGUMENT, "call: its rule gives only %d cotangents", n);
        neap_node *one = cotangents[used++];
        g->out[k] = !g->wants[k] ? NULL : g->out[k] ? graph_build_add(g->ctx, g->out[k], one) : one;
        if (g->wants[k] && !g->out[k])
            return neap_error_code();
    }
    return 0;
}

/* ---- Rules for reverse mode -------------------------------------------------------------------------------------- */
/* Puts the residuals that the call has kept into `to`. */
static int take_residuals(lazy_grad *g, int n, neap_node **to) {
    int results = control_of(g->node)->shape.results, status = 0;
    for (int k = 0; k < n && status == 0; k++)
        if (!(to[k] = graph_arena(g->ctx, control_result(g->ctx, g->node, results + k))))
            status = neap_error_code();
    return status;
}

static int vjp_grad(lazy_grad *g) {
    const lazy_control *control = control_of(g->node);
    int results = control->shape.results, n = (int)control->programs[1]->outputs.n - results;
    neap_node **given = inputs_capacity(g->node), **cotangents = NULL;
    int status = given ? take_residuals(g, n, given) : NEAP_E_MEMORY;
    if (status == 0)
        status = floats_or_zeros(g->ctx, results, control->results, g->cts, given, &n);
    if (status == 0)
        status = apply_rule_program(g->ctx, g->node, 2, n, given, &cotangents);
    if (status == 0)
        status = give_cotangents(g, (int)control->programs[2]->outputs.n, cotangents);
    free(cotangents);
    free(given);
    return status;
}

/* ---- Rules for forward mode -------------------------------------------------------------------------------------- */
/* The answers of the call go to `to`. */
static int take_answers(neap_ctx *ctx, neap_node *node, neap_node **to) {
    lazy_nodes answers = {0};
    int status = control_take_answers(ctx, node, &answers);
    for (int64_t k = 0; k < answers.n && status == 0; k++)
        to[k] = answers.at[k];
    lazy_vector_free(&answers);
    return status;
}

static bool has_control(const neap_program *program) {
    for (int64_t k = 0; k < program->nodes.n; k++)
        if (graph_has_programs(program->nodes.at[k]))
            return true;
    return false;
}

/* A tangent of operand k: a placeholder of the trace, or zeros, which are part of the program that is being made around
 * it, if there is one, and no input of that. Zeros lie as the operand does: a tangent that was the same on all devices
 * of a body would get the sum of their cotangents. BORROWED. */
static neap_node *new_tangent(lazy_grad *g, int trace, int k) {
    const lazy_control *control = control_of(g->node);
    if (!has_control(control->programs[1]))
        return graph_placeholder_like(g->ctx, trace, g->node->in[k]);
    neap_node *zeros = derive_zeros_like(g->ctx, g->node->in[k]);
    int around = graph_innermost_closed(g->ctx, trace);
    if (zeros && around >= 0)
        zeros = graph_arena(g->ctx, program_take_in(g->ctx, around, zeros));
    return derive_zeros_typed(g->ctx, zeros, g->node->in[k]);
}

/* Tangents of the float operands with aliases on a tape, in the arena. */
static int open_tangents(lazy_grad *g, int *trace, int *tape, neap_node **aliases, int *n) {
    const lazy_control_shape *shape = &control_of(g->node)->shape;
    int status = graph_trace_begin(g->ctx, 0, trace);
    if (status == 0)
        status = graph_tape_begin(g->ctx, tape);
    for (int k = 0; k < shape->operands && status == 0; k++) {
        if (!is_float_result(&shape->in[k]))
            continue;
        neap_node *tangent = new_tangent(g, *trace, k);
        aliases[*n] = tangent ? graph_arena(g->ctx, graph_tape_alias(g->ctx, *tape, tangent)) : NULL;
        status = aliases[(*n)++] ? 0 : neap_error_code();
    }
    return status;
}

/* Cotangents (in the arena) of the n tangents that follow the operands in `given`. */
static int transpose(lazy_grad *g, int trace, int tape, int n, neap_node **given, neap_node **back) {
    const lazy_control *control = control_of(g->node);
    int operands = control->shape.operands, results = control->shape.results, used = 0;
    neap_node **outputs = NULL, **seeds = calloc((size_t)results + 1, sizeof *seeds);
    int status = seeds ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a gradient");
    if (status == 0)
        status = floats_or_zeros(g->ctx, results, control->results, g->cts, seeds, &used);
    if (status == 0)
        status = take_answers(g->ctx, g->node, given + operands + n);
    if (status == 0)
        status = apply_rule_program(g->ctx, g->node, 1, operands + n + control->answers, given, &outputs);
    if (status == 0)
        status = derive_tape_gradient(g->ctx, tape, used, outputs + results, seeds, n, given + operands, back);
    for (int k = 0, made = status == 0 ? n : 0; k < made; k++) {
        if (!graph_arena(g->ctx, back[k]))
            status = NEAP_E_MEMORY;
        else if (back[k]->levels >> trace & 1 && status == 0)
            status = refuse_custom_rule(g->ctx, g->node, "custom_jvp",
                                        "the rule's tangents of results are not linear in its tangents");
    }
    free(outputs);
    free(seeds);
    return status;
}

static int jvp_grad(lazy_grad *g) {
    int n = 0, trace = -1, tape = -1;
    if (control_has_visible_effects(control_of(g->node)->programs[1]))
        return refuse_custom_rule(g->ctx, g->node, "custom_jvp",
                                  "the rule has effects that read its tangents, which have no values in reverse mode");
    neap_node **given = inputs_capacity(g->node), **back = calloc((size_t)g->node->nin + 1, sizeof *back);
    int status = given && back ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a gradient");
    if (status == 0)
        status = open_tangents(g, &trace, &tape, given + control_of(g->node)->shape.operands, &n);
    if (status == 0)
        status = transpose(g, trace, tape, n, given, back);
    if (trace >= 0)
        graph_level_end(g->ctx, trace);
    if (status == 0)
        status = give_cotangents(g, n, back);
    free(given);
    free(back);
    return status;
}

static int jvp_jvp(lazy_tangent *g) {
    const lazy_control *control = control_of(g->node);
    int operands = control->shape.operands, results = control->shape.results, n = operands, used = 0;
    neap_node **given = inputs_capacity(g->node), **outputs = NULL;
    int status = given ? floats_or_zeros(g->ctx, operands, control->shape.in, g->in, given, &n) : NEAP_E_MEMORY;
    if (status == 0)
        status = take_answers(g->ctx, g->node, given + n);
    if (status == 0)
        status = apply_rule_program(g->ctx, g->node, 1, n + control->answers, given, &outputs);
    for (int k = 0; k < results && status == 0; k++)
        if (is_float_result(&control->results[k]))
            g->outs[k] = outputs[results + used++];
    free(outputs);
    free(given);
    return status;
}

/* ---- What the row of calls asks for ------------------------------------------------------------------------------ */
static const char *const names[] = {"checkpoint", "custom_vjp", "custom_jvp"};

/* By its program. */
static int program_grad(lazy_grad *g) {
    const lazy_control *control = control_of(g->node);
    g->ctx->levels.without_effects += control->shape.rule == NEAP_RULE_USED;
    int status = derive_program_gradient(g->ctx, control->programs[0], g->node->in, g->wants, g->cts, g->out);
    g->ctx->levels.without_effects -= control->shape.rule == NEAP_RULE_USED;
    return status;
}

static int program_jvp(lazy_tangent *g) {
    const lazy_control *control = control_of(g->node);
    g->ctx->levels.without_effects += control->shape.rule == NEAP_RULE_USED;
    int status = derive_program_tangent(g->ctx, control->programs[0], g->node->in, g->in, g->outs);
    g->ctx->levels.without_effects -= control->shape.rule == NEAP_RULE_USED;
    for (int k = 0; k < g->nresults && status == 0; k++)
        if (!is_float_result(&control->results[k]))
            g->outs[k] = NULL;
    return status;
}

int control_call_grad(lazy_grad *g) {
    const lazy_control *control = control_of(g->node);
    int rule = control->shape.rule;
    if (!control_has_rule(&control->shape))
        return control_grad_answered(g, program_grad);
    for (int k = control->shape.operands; k < g->node->nin; k++)
        if (g->wants[k])
            return refuse_custom_rule(g->ctx, g->node, names[rule], reads_around);
    return rule == NEAP_RULE_VJP ? vjp_grad(g) : jvp_grad(g);
}

int control_call_jvp(lazy_tangent *g) {
    const lazy_control *control = control_of(g->node);
    int rule = control->shape.rule;
    if (!control_has_rule(&control->shape))
        return control_jvp_answered(g, program_jvp);
    if (rule == NEAP_RULE_VJP)
        return refuse_custom_rule(g->ctx, g->node, "jvp",
                                  "a function with np.custom_vjp has no forward derivative; in place of "
                                  "np.integrate.odeint use np.integrate.solve_ivp");
    for (int k = control->shape.operands; k < g->node->nin; k++)
        if (g->in[k])
            return refuse_custom_rule(g->ctx, g->node, names[rule], reads_around);
    return jvp_jvp(g);
}

/* The name of an effect, and its line; NULL: it has no order. */
static const char *ordered_effect(neap_ctx *ctx, const lazy_effect *effect, const char **site) {
    const neap_node *node = effect->node;
    *site = effect_site(ctx, effect);
    if (!(effect_bits(effect) & LAZY_EFFECTS_ORDERED))
        return NULL;
    if (!node)
        return neap_effect_name(effect->how.kind);
    return effect_is_callback(node) ? effect_callback_of(node)->name : graph_node_op(node)->name;
}

int control_call_check(neap_ctx *ctx, const lazy_control *control, int nin, neap_node *const *in) {
    const neap_program *program = control->programs[0];
    if (control->shape.rule != NEAP_RULE_NONE || !control_on_tape(ctx, nin, in))
        return 0;
    for (int64_t k = 0; k < program->effects.n; k++) {
        const char *site = NULL, *name = ordered_effect(ctx, program->effects.at[k], &site);
        if (name)
            return neap_error(
                NEAP_E_ARGUMENT,
                "checkpoint: the function is differentiated and has an ordered effect, %s%s%s, which would "
                "happen twice; take it out of the function, or let it be unordered",
                name, site ? " at " : "", site ? site : "");
    }
    return 0;
}
