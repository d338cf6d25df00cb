/* control/rules.c: which derivative uses the rule of a call (np.custom_vjp, np.custom_jvp), and what the others see.
 *
 * A rule serves one derivative: the innermost one that depends on the operands. Derivatives around that one, and those
 * that are taken later, are of what it has computed:
 *
 *      on a tape             the call runs what its rule computes as results: the program that gives residuals too, or
 *                            the rule for forward mode without its tangents. Such a node is `kept`
 *      the tape is closed    and other levels are open: the rule is used, and the call is no more than that program
 *
 * Calls inside the programs of branches, loops and np.checkpoint are treated alike: where such a node is recorded on a
 * tape its programs are made again with kept calls, and when it leaves the tape with used ones. What the program of a
 * used call calls in turn has its rule still: that serves the next derivative.
 */
#include <string.h>

#include "lazy/control/derive.h"
#include "lazy/derive/derive.h"

bool control_on_tape(const neap_ctx *ctx, int nin, neap_node *const *in) {
    uint32_t tapes = ~(graph_trace_levels(ctx) | ctx->levels.walked), some = 0;
    for (int k = 0; k < nin; k++)
        some |= in[k]->levels;
    return some & tapes;
}

/* ---- What a rule computes as results ----------------------------------------------------------------------------- */
/* Zeros, as part of the program that is being made; in the arena. */
static neap_node *zeros_of_trace(lazy_maker *m, const neap_node *like) {
    neap_node *zeros = derive_zeros_like(m->ctx, like);
    return zeros ? graph_arena(m->ctx, program_take_in(m->ctx, m->trace, zeros)) : NULL;
}

/* A rule for forward mode without its tangents: (operands…, own…) → results. */
static int make_values(neap_ctx *ctx, const lazy_control *control, neap_program **made) {
    const lazy_control_shape *shape = &control->shape;
    neap_program *rule = control->programs[1];
    int n = (int)rule->inputs.n;
    lazy_maker m;
    int status = control_maker_begin(&m, ctx, rule, false);
    for (int k = 0; k < n && status == 0; k++) {
        bool tangent = k >= shape->operands && k < n - shape->consts[1];
        const neap_node *like = rule->inputs.at[k];
        status = control_maker_given(&m, k, tangent ? zeros_of_trace(&m, like) : control_maker_input(&m, like), false);
    }
    if (status == 0)
        status = control_maker_apply(&m);
    for (int k = 0; k < shape->results && status == 0; k++)
        status = lazy_push(&m.results, m.out[k]);
    return control_maker_end(&m, status, made);
}

/* BORROWED. */
static neap_program *values_of_rule(neap_ctx *ctx, lazy_control *control) {
    if (control->kept)
        return control->programs[0];
    if (control->shape.rule == NEAP_RULE_VJP)
        return control->programs[1];
    neap_program *made = NULL, **found = control_derived_find(control, 'v', 0, NULL);
    if (!found && make_values(ctx, control, &made) == 0)
        found = control_derived_keep(control, 'v', 0, NULL, 1, &made);
    return found ? *found : NULL;
}

/* ---- Programs with kept and used calls in them ------------------------------------------------------------------ */
static int apply_as(lazy_maker *m, int rules) {
    lazy_levels *levels = &m->ctx->levels;
    lazy_levels before = *levels;
    levels->rules = rules;
    levels->without_effects = 0;
    int status = program_apply(m->ctx, m->program, m->in, m->out);
    levels->rules = before.rules;
    levels->without_effects = before.without_effects;
    return status;
}

static int apply_kept(lazy_maker *m) {
    return apply_as(m, LAZY_RULES_KEPT);
}

static int apply_used(lazy_maker *m) {
    return apply_as(m, LAZY_RULES_USED);
}

/* Of a node without a rule of its own. BORROWED. */
static neap_program **programs_kept(neap_ctx *ctx, lazy_control *control) {
    return control_derived_again(ctx, control, 'k', apply_kept);
}

neap_program **control_programs_used(neap_ctx *ctx, lazy_control *control) {
    return control->ruled ? control_derived_again(ctx, control, 'u', apply_used) : control->programs;
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */
/* The call, whose first program is what its rule computes; without the others, if the rule is used. */
static neap_node *record_call(neap_ctx *ctx, lazy_control *control, bool keeps, int32_t site, neap_node *const *in) {
    enum { MOST = 3 };
    const lazy_control_shape *shape = &control->shape;
    int n = keeps ? control->nprograms : 1;
    int64_t attrs[3 + MOST] = {keeps ? shape->rule : NEAP_RULE_USED, shape->operands, shape->results};
    neap_program *programs[MOST] = {values_of_rule(ctx, control)};
    lazy_nodes given = {0};
    int status = programs[0] ? 0 : neap_error_code();
    for (int k = 0; k < shape->operands && status == 0; k++)
        status = lazy_push(&given, in[k]);
    for (int p = 0; p < n && status == 0; p++) {
        int own = p || control->kept ? p : 1;
        programs[p] = p ? control->programs[p] : programs[0];
        attrs[3 + p] = shape->consts[own];
        for (int k = 0; k < shape->consts[own] && status == 0; k++)
            status = lazy_push(&given, in[shape->const_at[own] + k]);
    }
    graph_call call = {.op = shape->op, .nin = (int)given.n, .nattrs = 3 + n, .in = given.at, .attrs = attrs};
    neap_node *node = status == 0 ? control_record_as(ctx, site, keeps, n, programs, &call) : NULL;
    lazy_vector_free(&given);
    return node;
}

neap_node *control_record_ruled(neap_ctx *ctx, lazy_control *control, int rules, int32_t site, const graph_call *call) {
    plan_hold(ctx);
    neap_node *node = NULL;
    neap_program **programs = NULL;
    bool keeps = rules == LAZY_RULES_KEPT;
    if (control_has_rule(&control->shape))
        node = record_call(ctx, control, keeps, site, call->in);
    else if ((programs = keeps ? programs_kept(ctx, control) : control_programs_used(ctx, control)) != NULL)
        node = control_record_as(ctx, site, keeps, control->nprograms, programs, call);
    int held = plan_unhold(ctx);
    if (held && node) {
        graph_release(ctx, node);
        node = NULL;
    }
    return node;
}

/* ---- Leaving a tape --------------------------------------------------------------------------------------------- */
/* What a node is besides its programs. */
static int take_over(lazy_control *now, const lazy_control *before) {
    size_t n = (size_t)(before->shape.nin + 2 * before->nresults);
    now->serial = before->serial;
    now->joined = before->joined;
    now->apart = before->apart;
    if (!before->shardings)
        return 0;
    if (!(now->shardings = calloc(n + 1, sizeof *now->shardings)))
        return neap_error(NEAP_E_MEMORY, "out of memory for control flow on a mesh");
    memcpy(now->shardings, before->shardings, n * sizeof *now->shardings);
    return 0;
}

/* The same with used rules. Its inputs and attributes are as many as before: those of the rule are left unread. */
static int make_used(neap_ctx *ctx, const neap_node *node, lazy_control **out) {
    lazy_control *control = control_of(node);
    bool call = control_has_rule(&control->shape);
    neap_program **programs = call ? control->programs : control_programs_used(ctx, control);
    int64_t few[3 + 3] = {0};
    graph_call again = {
        .op = node->op, .nin = node->nin, .nattrs = node->nattrs - 1, .in = node->in, .attrs = node->attrs + 1};
    if (call) {
        memcpy(few, again.attrs, (size_t)again.nattrs * sizeof *few);
        few[0] = NEAP_RULE_USED;
        again.attrs = few;
    }
    int status = programs ? control_new(control->nprograms, programs, &again, out) : neap_error_code();
    if (status == 0 && (status = take_over(*out, control)) != 0)
        control_release(*out);
    for (int64_t k = 0; k < control->runners.n && status == 0 && call; k++)
        status = control_runner_share(*out, control->runners.at[k]);
    return status;
}

int control_leave_tape(neap_ctx *ctx, neap_node *node) {
    lazy_control *before = control_of(node), *now = NULL;
    if (!before->ruled)
        return 0;
    plan_hold(ctx);
    int status = make_used(ctx, node, &now);
    if (status == 0) {
        node->attrs[0] = (int64_t)(intptr_t)now;
        if (control_has_rule(&before->shape))
            node->attrs[1] = NEAP_RULE_USED;
        control_release(before);
        if (!(node->flags & LAZY_ABSTRACT) && !node->buffer && !graph_is_meshed(node))
            status = control_payload.prepare(ctx, node);
    }
    int held = plan_unhold(ctx);
    return status ? status : held;
}
