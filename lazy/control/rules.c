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
 * tape its programs are made again with kept calls, and when the node leaves the tape with used ones: the calls that
 * depend on *active* inputs, those on the tape, or whose callbacks have results. In grad(x => jvp(c => cond(p, h(x),
 * c))) the rule of h serves grad, though the cond is on both tapes. What the program of a used call calls in turn has
 * its rule still: that serves the next derivative.
 *
 * A program that is kept has the answers of its callbacks behind its results (answers.c). The effects of a rule for
 * forward mode happen with the results, where they do not read tangents: the rule itself is then one without them, to
 * which the answers are given.
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
/* Zeros that lie as `like` does, as part of the program that is being made; in the arena. */
static neap_node *zeros_of_trace(lazy_maker *m, const neap_node *like) {
    neap_node *zeros = derive_zeros_like(m->ctx, like);
    zeros = zeros ? graph_arena(m->ctx, program_take_in(m->ctx, m->trace, zeros)) : NULL;
    return derive_zeros_typed(m->ctx, zeros, like);
}

/* Is input k of a rule for forward mode a tangent? */
static bool is_tangent(const lazy_control *control, int64_t k) {
    const lazy_control_shape *shape = &control->shape;
    return k >= shape->operands && k < control->programs[1]->inputs.n - shape->consts[1];
}

/* A rule for forward mode without its tangents: (operands…, own…) → results. One with effects has no tangents at all,
 * so that what reads them does not happen; its answers are behind the results. */
static int make_values(neap_ctx *ctx, const lazy_control *control, neap_program *rule, neap_program **made) {
    bool effects = control_has_visible_effects(rule);
    lazy_maker m;
    int status = control_maker_begin(&m, ctx, rule, false);
    for (int k = 0; k < rule->inputs.n && status == 0; k++) {
        const neap_node *like = rule->inputs.at[k];
        if (!is_tangent(control, k))
            status = control_maker_given(&m, k, control_maker_input(&m, like), false);
        else if (!effects)
            status = control_maker_given(&m, k, zeros_of_trace(&m, like), false);
    }
    if (status == 0)
        status = control_maker_apply_as(&m, LAZY_RULES_AS_THEY_ARE, false);
    for (int64_t k = 0; k < rule->outputs.n && status == 0; k++) {
        bool answer = k >= control->programs[1]->outputs.n;
        if (k < control->shape.results || (answer && m.out[k]))
            status = m.out[k] ? lazy_push(&m.results, m.out[k])
                              : neap_error(NEAP_E_ARGUMENT, "custom_jvp: a rule with effects must compute its results "
                                                            "apart from the tangents");
    }
    return control_maker_end(&m, status, made);
}

/* By node of a program: does it depend on a tangent? OWNED. */
static bool *find_late(const lazy_control *control, const neap_program *rule) {
    bool *late = calloc((size_t)rule->nodes.n + 1, sizeof *late);
    const int32_t *link = rule->links.at;
    for (int64_t k = 0; k < rule->nodes.n && late; k++) {
        const neap_node *node = rule->nodes.at[k];
        if (graph_is_placeholder(node)) {
            late[k] = is_tangent(control, (int64_t)node->value);
        } else if (node->flags & LAZY_ABSTRACT) {
            for (int a = 0; a < node->nin; a++)
                late[k] |= late[*link++];
        }
    }
    if (!late)
        neap_error(NEAP_E_MEMORY, "out of memory for a rule");
    return late;
}

/* Inputs of the rule to which answers are given: (operands…, tangents…, answers…, own…). Answers that depend on
 * tangents are not given: `late`. */
static int rule_inputs(lazy_maker *m, const lazy_control *control, const bool *late, neap_node **given) {
    const neap_program *rule = m->program;
    int64_t first = control->programs[1]->outputs.n, own = rule->inputs.n - control->shape.consts[1];
    int status = 0;
    for (int64_t k = 0; k < own && status == 0; k++)
        status = control_maker_given(m, (int)k, control_maker_input(m, rule->inputs.at[k]), false);
    for (int64_t k = first; k < rule->outputs.n && status == 0; k++)
        if (!late[rule->root_nodes.at[rule->effect_roots + k]] &&
            !(given[k - first] = control_maker_input(m, rule->outputs.at[k])))
            status = NEAP_E_MEMORY;
    for (int64_t k = own; k < rule->inputs.n && status == 0; k++)
        status = control_maker_given(m, (int)k, control_maker_input(m, rule->inputs.at[k]), false);
    return status;
}

/* The rule itself, without the effects that happen with the values. */
static int make_answered_rule(neap_ctx *ctx, const lazy_control *control, neap_program *rule, neap_program **made) {
    int64_t first = control->programs[1]->outputs.n;
    bool *late = find_late(control, rule);
    neap_node **given = calloc((size_t)(rule->outputs.n - first) + 1, sizeof *given);
    lazy_maker m;
    int status = control_maker_begin(&m, ctx, rule, false);
    if (status == 0 && (!late || !given))
        status = neap_error(NEAP_E_MEMORY, "out of memory for a rule");
    if (status == 0)
        status = rule_inputs(&m, control, late, given);
    if (status == 0)
        status =
            control_maker_apply(&m, &(lazy_answers){.program = rule, .first = first, .given = given, .late = late});
    for (int64_t k = 0; k < first && status == 0; k++)
        status = lazy_push(&m.results, m.out[k]);
    free(late);
    free(given);
    return control_maker_end(&m, status, made);
}

/* Of a rule for forward mode: what gives its values, and the rule. */
static int split_rule(neap_ctx *ctx, const lazy_control *control, neap_program *made[2]) {
    neap_program *rule = program_retain(control->programs[1]), *asking;
    int status = 0;
    if (control_has_visible_effects(rule) && (status = control_program_asking(ctx, rule, &asking)) == 0) {
        neap_program_free(rule);
        rule = asking;
    }
    if (status == 0)
        status = make_values(ctx, control, rule, &made[0]);
    if (status == 0) {
        made[1] = program_retain(rule);
        if (control_has_visible_effects(rule)) {
            neap_program_free(made[1]);
            status = make_answered_rule(ctx, control, rule, &made[1]);
        }
        if (status)
            neap_program_free(made[0]);
    }
    neap_program_free(rule);
    return status;
}

/* The programs of a kept call: what gives its results and answers, then those of its rule. BORROWED. */
static neap_program **programs_of_call(neap_ctx *ctx, lazy_control *control) {
    if (control->kept)
        return control->programs;
    neap_program *made[3] = {0}, **found = control_derived_find(control, 'v', 0, NULL);
    if (found)
        return found;
    int status;
    if (control->shape.rule == NEAP_RULE_JVP) {
        status = split_rule(ctx, control, made);
    } else if ((status = control_program_asking(ctx, control->programs[1], &made[0])) == 0) {
        made[1] = program_retain(control->programs[1]);
        made[2] = program_retain(control->programs[2]);
    }
    return status ? NULL : control_derived_keep(control, 'v', 0, NULL, control->nprograms, made);
}

/* ---- Programs with kept and used calls in them ------------------------------------------------------------------ */
static int apply_kept(lazy_maker *m) {
    return control_maker_apply_as(m, LAZY_RULES_KEPT, true);
}

static int apply_kept_alone(lazy_maker *m) {
    return control_maker_apply_as(m, LAZY_RULES_KEPT, false);
}

static int apply_used(lazy_maker *m) {
    return control_maker_apply_as(m, LAZY_RULES_USED, false);
}

/* Branch p, which has the answers of all branches, `how`: zeros for those of others. */
static int give_all_answers(neap_ctx *ctx, const lazy_control *control, int p, const void *how, neap_program **made) {
    neap_program *const *branches = how;
    lazy_maker m;
    int status = control_maker_begin(&m, ctx, branches[p], false);
    for (int k = 0; k < branches[p]->inputs.n && status == 0; k++)
        status = control_maker_given(&m, k, control_maker_input(&m, branches[p]->inputs.at[k]), false);
    if (status == 0)
        status = control_maker_apply_as(&m, LAZY_RULES_AS_THEY_ARE, false);
    for (int k = 0; k < control->nresults && status == 0; k++)
        status = lazy_push(&m.results, m.out[k]);
    for (int q = 0; q < control->nprograms; q++)
        for (int64_t k = control->nresults; k < branches[q]->outputs.n && status == 0; k++) {
            neap_node *answer = q == p ? m.out[k] : zeros_of_trace(&m, branches[q]->outputs.at[k]);
            status = answer ? lazy_push(&m.results, answer) : neap_error_code();
        }
    return control_maker_end(&m, status, made);
}

/* Branches of one number of results. BORROWED. */
static neap_program **branches_kept(neap_ctx *ctx, lazy_control *control, const bool *active) {
    int n = control->nprograms;
    bool same = true;
    neap_program **found = control_derived_find(control, 'K', control->shape.nin, active);
    neap_program **apart = found ? NULL : control_derived_again(ctx, control, 'k', active, apply_kept);
    for (int p = 0; p < n && apart; p++)
        same &= apart[p]->outputs.n == control->nresults;
    if (found || !apart || same)
        return found ? found : apart;
    return control_derived_make(ctx, control, 'K', control->shape.nin, active, n, give_all_answers, apart);
}

/* The inputs of the node that depend on active ones (NULL: all), in any turn. OWNED. */
static bool *find_active(const lazy_control *control, const bool *active) {
    const lazy_control_shape *shape = &control->shape;
    const int giver = control_giver(shape->kind);
    const neap_program *program = control->programs[giver];
    bool *all = malloc((size_t)shape->nin + 1), more = shape->kind->loop && active;
    for (int k = 0; k < shape->nin && all; k++)
        all[k] = !active || active[k];
    while (all && more) {
        bool *depends = control_depends(control, giver, all);
        more = false;
        for (int k = 0; k < shape->operands && depends; k++)
            if (!all[k] && depends[program->root_nodes.at[program->effect_roots + k]])
                all[k] = more = true;
        if (!depends) {
            free(all);
            all = NULL;
        }
        free(depends);
    }
    if (!all)
        neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    return all;
}

/* Of a node without a rule of its own. BORROWED. */
static neap_program **programs_kept(neap_ctx *ctx, lazy_control *control, const bool *active) {
    const lazy_control_kind *kind = control->shape.kind;
    bool *all = find_active(control, active);
    neap_program **programs = !all             ? NULL
                              : kind->branches ? branches_kept(ctx, control, all)
                                               : control_derived_again(ctx, control, 'k', all,
                                                                       kind->takes < 0 ? apply_kept_alone : apply_kept);
    free(all);
    return programs;
}

neap_program **control_programs_used(neap_ctx *ctx, lazy_control *control, const bool *active) {
    bool *all = control->ruled ? find_active(control, active) : NULL;
    neap_program **programs = all              ? control_derived_again(ctx, control, 'u', all, apply_used)
                              : control->ruled ? NULL
                                               : control->programs;
    free(all);
    return programs;
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */
/* The call, whose first program is what its rule computes; without the others, if the rule is used. */
static neap_node *record_call(neap_ctx *ctx, lazy_control *control, bool keeps, int32_t site, neap_node *const *in) {
    enum { MOST = 3 };
    const lazy_control_shape *shape = &control->shape;
    int n = keeps ? control->nprograms : 1;
    int64_t attrs[3 + MOST] = {keeps ? shape->rule : NEAP_RULE_USED, shape->operands, shape->results};
    neap_program **programs = programs_of_call(ctx, control);
    lazy_nodes given = {0};
    int status = programs ? 0 : neap_error_code();
    for (int k = 0; k < shape->operands && status == 0; k++)
        status = lazy_push(&given, in[k]);
    for (int p = 0; p < n && status == 0; p++) {
        int own = p || control->kept ? p : 1;
        attrs[3 + p] = shape->consts[own];
        for (int k = 0; k < shape->consts[own] && status == 0; k++)
            status = lazy_push(&given, in[shape->const_at[own] + k]);
    }
    graph_call call = {.op = shape->op, .nin = (int)given.n, .nattrs = 3 + n, .in = given.at, .attrs = attrs};
    lazy_control_as as = {.site = site, .kept = keeps, .answers = control->answers};
    if (status == 0 && !control->kept) {
        int64_t known = shape->rule == NEAP_RULE_VJP ? control->programs[1]->outputs.n : shape->results;
        as.answers = (int)(programs[0]->outputs.n - known);
    }
    neap_node *node = status == 0 ? control_record_as(ctx, &as, n, programs, &call) : NULL;
    lazy_vector_free(&given);
    return node;
}

/* The node with programs in which rules are kept, or used. A derivative is of what a call with a batching rule runs, so
 * on a tape the rule is dropped. */
static neap_node *record_with_rules(neap_ctx *ctx, lazy_control *control, bool keeps, const bool *active, int32_t site,
                                    const graph_call *given) {
    int giver = control_giver(control->shape.kind);
    int64_t few[3 + 1] = {0};
    graph_call dropped = *given;
    const graph_call *call = given;
    if (keeps && control->shape.rule == NEAP_RULE_VMAP) {
        memcpy(few, given->attrs, sizeof few);
        few[0] = NEAP_RULE_USED;
        dropped.attrs = few;
        call = &dropped;
    }
    neap_program **programs = keeps ? programs_kept(ctx, control, active) : control_programs_used(ctx, control, active);
    lazy_control_as as = {.site = site, .kept = keeps, .answers = control->answers};
    if (programs && keeps)
        as.answers = (int)(programs[giver]->outputs.n - control->programs[giver]->outputs.n);
    return programs ? control_record_as(ctx, &as, control->nprograms, programs, call) : NULL;
}

neap_node *control_record_ruled(neap_ctx *ctx, lazy_control *control, int rules, const bool *active, int32_t site,
                                const graph_call *call) {
    plan_hold(ctx);
    bool keeps = rules == LAZY_RULES_KEPT;
    neap_node *node = control_has_rule(&control->shape) ? record_call(ctx, control, keeps, site, call->in)
                                                        : record_with_rules(ctx, control, keeps, active, site, call);
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
    now->answers = before->answers;
    now->apart = before->apart;
    if (!before->shardings)
        return 0;
    if (!(now->shardings = calloc(n + 1, sizeof *now->shardings)))
        return neap_error(NEAP_E_MEMORY, "out of memory for control flow on a mesh");
    memcpy(now->shardings, before->shardings, n * sizeof *now->shardings);
    return 0;
}

/* The programs with used rules, where these depend on the innermost level. BORROWED. */
static neap_program **programs_of_left(neap_ctx *ctx, const neap_node *node) {
    bool *active = calloc((size_t)node->nin + 1, sizeof *active);
    for (int k = 0; k < node->nin && active; k++)
        active[k] = node->in[k]->levels >> (ctx->levels.n - 1) & 1;
    neap_program **programs = active ? control_programs_used(ctx, control_of(node), active) : NULL;
    if (!active)
        neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    free(active);
    return programs;
}

/* The same with used rules. Its inputs and attributes are as many as before: those of the rule are left unread. */
static int make_used(neap_ctx *ctx, const neap_node *node, lazy_control **out) {
    lazy_control *control = control_of(node);
    bool call = control_has_rule(&control->shape);
    neap_program **programs = call ? control->programs : programs_of_left(ctx, node);
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
