/* control/answers.c: callbacks with results in branches and loops that are differentiated.
 *
 * A derivative runs the programs of a node again. What their callbacks have answered cannot be asked for again, so it
 * is kept, and given to that run:
 *
 *      on a tape        the node's programs hand out the answers of their callbacks, and of nodes inside, behind their
 *                       results: the branch that runs, each turn (stacked), the call. (rules.c, LAZY_RULES_KEPT)
 *      for derivatives  the same node without its effects, which takes its answers as inputs
 *
 *      cond   in: index, operands…, answers…, own…          each branch has the answers of all, zeros for others'
 *      scan   in: carries…, xs…, answers…, own…             a turn sees its own
 *      call   in: operands…, own…, answers…, own of its rule…
 *
 * Nobody knows how many turns a while_loop has, so its answers have no shape: inside of another node its results are
 * answers themselves, and it is constant to the derivative.
 */
#include "lazy/control/derive.h"
#include "lazy/dtype/scalar.h"

/* ---- The node without its effects -------------------------------------------------------------------------------- */
typedef struct answered { /* how it is recorded */
    neap_program **programs;
    lazy_nodes in;
    LAZY_VECTOR(int64_t) attrs; /* from the second on, as a graph_call has them */
} answered;

static void answered_free(answered *a) {
    lazy_vector_free(&a->in);
    lazy_vector_free(&a->attrs);
}

/* Where answers stand among the inputs of the node, and of its program p. */
static int place_in_node(const lazy_control_shape *shape) {
    return shape->kind->rules ? shape->const_at[0] + shape->consts[0] : shape->first + shape->operands + shape->xs;
}

static int64_t place_in_program(const lazy_control *control, int p) {
    const lazy_control_shape *shape = &control->shape;
    return shape->kind->rules ? control->programs[p]->inputs.n : shape->operands + shape->xs;
}

/* Program p without its effects, to which answers are given. */
static int make_answered(neap_ctx *ctx, const lazy_control *control, int p, const void *how, neap_program **made) {
    (void)how;
    neap_program *program = control->programs[p];
    int64_t first = program->outputs.n - control->answers, at = place_in_program(control, p);
    neap_node **given = calloc((size_t)control->answers + 1, sizeof *given);
    lazy_maker m;
    int status = control_maker_begin(&m, ctx, program, false);
    if (status == 0 && !given)
        status = neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (int64_t k = 0; k <= program->inputs.n && status == 0; k++) {
        for (int a = 0; k == at && a < control->answers && status == 0; a++)
            if (!(given[a] = control_maker_input(&m, program->outputs.at[first + a])))
                status = NEAP_E_MEMORY;
        if (k < program->inputs.n && status == 0)
            status = control_maker_given(&m, (int)k, control_maker_input(&m, program->inputs.at[k]), false);
    }
    if (status == 0)
        status = control_maker_apply(&m, &(lazy_answers){.program = program, .first = first, .given = given});
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++)
        status = lazy_push(&m.results, k < first ? m.out[k] : given[k - first]);
    free(given);
    return control_maker_end(&m, status, made);
}

/* ---- Whether answers are constant -------------------------------------------------------------------------------- */
/* What callbacks are asked must not depend on what is differentiated. They say so themselves, where they are left out:
 * the program is applied on a tape, and nothing is kept of that. active: by input of the node; those carries of a loop
 * are added that a turn makes depend on others, *more tells. */
static int check_program(neap_ctx *ctx, const lazy_control *control, int p, bool *active, bool *more) {
    neap_program *program = control->programs[p], *made = NULL;
    const lazy_control_shape *shape = &control->shape;
    int64_t first = program->outputs.n - control->answers;
    neap_node **given = calloc((size_t)control->answers + 1, sizeof *given);
    lazy_maker m;
    int status = control_maker_begin(&m, ctx, program, true);
    if (status == 0 && !given)
        status = neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (int k = 0; k < program->inputs.n && status == 0; k++)
        status = control_maker_given(&m, k, control_maker_input(&m, program->inputs.at[k]),
                                     active[control_input_of(shape, p, k)]);
    for (int a = 0; a < control->answers && status == 0; a++)
        if (!(given[a] = control_maker_input(&m, program->outputs.at[first + a])))
            status = NEAP_E_MEMORY;
    if (status == 0)
        status = control_maker_apply(&m, &(lazy_answers){.program = program, .first = first, .given = given});
    for (int k = 0; k < shape->operands && shape->kind->loop && status == 0; k++)
        if (!active[k] && m.out[k]->levels >> m.tape & 1)
            active[k] = *more = true;
    free(given);
    status = control_maker_end(&m, status, &made);
    if (status == 0)
        neap_program_free(made);
    return status;
}

static int check_constant(neap_ctx *ctx, lazy_control *control, const bool *wants) {
    int nin = control->shape.nin, status = 0;
    if (control_derived_find(control, 'c', nin, wants))
        return 0;
    bool *active = calloc((size_t)nin + 1, sizeof *active), more = true;
    if (!active)
        return neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (int k = 0; k < nin; k++)
        active[k] = wants[k] && dtype_is_inexact(control->shape.in[k].dtype);
    while (more && status == 0) {
        more = false;
        for (int p = 0; p < control_bodies(control) && status == 0; p++)
            status = check_program(ctx, control, p, active, &more);
    }
    free(active);
    return status ? status : control_derived_keep(control, 'c', nin, wants, 0, NULL) ? 0 : NEAP_E_MEMORY;
}

/* ---- How it is recorded ------------------------------------------------------------------------------------------ */
/* Programs, inputs and attributes of the node without its effects. active: which inputs are differentiated. */
static int answer(neap_ctx *ctx, const neap_node *node, neap_node *const *in, const bool *active,
                  neap_node *const *answers, answered *a) {
    lazy_control *control = control_of(node);
    int at = place_in_node(&control->shape), takes = control->shape.kind->takes;
    bool rule = control_has_rule(&control->shape) && !control->kept; /* whose effects do not happen either */
    int counted = rule ? control->nprograms : control_bodies(control);
    *a = (answered){.programs = control_derived_make(ctx, control, 'm', 0, NULL, counted, make_answered, NULL)};
    int status = a->programs ? 0 : neap_error_code();
    if (status == 0 && control->asks && !control_has_rule(&control->shape))
        status = check_constant(ctx, control, active);
    for (int k = 0; k <= node->nin && status == 0; k++) {
        for (int j = 0; k == at && j < control->answers && status == 0; j++)
            status = lazy_push(&a->in, answers[j]);
        if (k < node->nin && status == 0)
            status = lazy_push(&a->in, in[k]);
    }
    for (int k = 0; k < node->nattrs && status == 0; k++)
        status = lazy_push(&a->attrs, k == 0 ? 0 : node->attrs[k] + (k - 1 == takes ? control->answers : 0));
    if (status == 0 && control->shape.rule == NEAP_RULE_VMAP)
        a->attrs.at[1] = NEAP_RULE_USED;
    return status;
}

static graph_call call_of(const neap_node *node, const answered *a) {
    return (graph_call){
        .op = node->op, .nin = (int)a->in.n, .nattrs = (int)a->attrs.n - 1, .in = a->in.at, .attrs = a->attrs.at + 1};
}

/* ---- As part of a program that is applied ------------------------------------------------------------------------ */
/* Is the node's result `which` what output k is? */
static bool is_result(const neap_node *output, const neap_node *node, int64_t which) {
    return graph_node_op(output)->flags & LAZY_OP_PART && output->in[0] == node && output->attrs[0] == which;
}

/* What is given for the node's answers. */
static int find_given(const neap_node *node, const lazy_answers *given, neap_node **answers) {
    const lazy_control *control = control_of(node);
    int64_t n = given && given->given ? given->program->outputs.n : 0;
    for (int j = 0; j < control->answers; j++) {
        for (int64_t k = given ? given->first : 0; k < n && !answers[j]; k++)
            if (is_result(given->program->outputs.at[k], node, control->nresults - control->answers + j))
                answers[j] = given->given[k - given->first];
        if (!answers[j])
            return control_refuse(control, "a callback in it would be called again for a derivative");
    }
    return 0;
}

static const char *const no_answers = "a while_loop with callbacks that have results cannot be differentiated: nobody "
                                      "knows how many answers there will be; give it np.stop_gradient(x)";

neap_node *control_record_answered(neap_ctx *ctx, const neap_node *node, neap_node *const *in,
                                   const lazy_answers *given) {
    const lazy_control *control = control_of(node);
    neap_node **answers = calloc((size_t)control->answers + 1, sizeof *answers), *made = NULL;
    bool *active = calloc((size_t)node->nin + 1, sizeof *active);
    answered a = {0};
    if (control->asks && control->shape.kind->takes < 0) { /* its results are answers */
        free(answers);
        free(active);
        if (given && given->given && !control_on_tape(ctx, node->nin, in))
            return graph_constant(ctx, NEAP_DTYPE_U8, false, 0);
        control_refuse(control, no_answers);
        return NULL;
    }
    int status = answers && active ? find_given(node, given, answers)
                                   : neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (int k = 0; k < node->nin && status == 0; k++)
        active[k] = control_on_tape(ctx, 1, &in[k]);
    if (status == 0)
        status = answer(ctx, node, in, active, answers, &a);
    if (status == 0) {
        graph_call call = call_of(node, &a);
        const lazy_control_as as = {.site = node->site, .kept = control->kept, .answers = control->answers};
        made = control_record_as(ctx, &as, control->nprograms, a.programs, &call);
    }
    answered_free(&a);
    free(answers);
    free(active);
    return made;
}

int control_take_answers(neap_ctx *ctx, neap_node *node, lazy_nodes *to) {
    const lazy_control *control = control_of(node);
    int status = 0;
    for (int k = control->nresults - control->answers; k < control->nresults && status == 0; k++) {
        neap_node *answer = graph_arena(ctx, control_result(ctx, node, k));
        status = answer ? lazy_push(to, answer) : neap_error_code();
    }
    return status;
}

/* ---- Under a rule ------------------------------------------------------------------------------------------------ */
/* The node without its effects, for a rule to look at: nobody else knows it, and it is not run. */
typedef struct stand_in {
    neap_node node;
    lazy_control *control;
    answered how;
} stand_in;

static void stand_in_free(stand_in *s) {
    answered_free(&s->how);
    if (s->control)
        control_release(s->control);
}

static int stand_in_new(neap_ctx *ctx, neap_node *node, const bool *active, stand_in *s) {
    lazy_nodes answers = {0};
    neap_node **in = calloc((size_t)node->nin + 1, sizeof *in);
    *s = (stand_in){.node = *node};
    int status =
        in ? control_take_answers(ctx, node, &answers) : neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (int k = 0; k < node->nin && status == 0; k++)
        in[k] = graph_node_in(node, k);
    if (status == 0)
        status = answer(ctx, node, in, active, answers.at, &s->how);
    if (status == 0) {
        graph_call call = call_of(node, &s->how);
        status = control_new(control_of(node)->nprograms, s->how.programs, &call, &s->control);
    }
    if (status == 0) {
        s->control->kept = control_of(node)->kept;
        s->how.attrs.at[0] = (int64_t)(intptr_t)s->control;
        s->node.attrs = s->how.attrs.at;
        s->node.in = s->how.in.at;
        s->node.nin = (uint16_t)s->how.in.n & 2047;
    }
    lazy_vector_free(&answers);
    free(in);
    return status;
}

/* The input of the node that input k of its stand-in is; -1: an answer. */
static int input_behind(const neap_node *node, int k) {
    int at = place_in_node(&control_of(node)->shape), n = control_of(node)->answers;
    return k < at ? k : k < at + n ? -1 : k - n;
}

int control_grad_answered(lazy_grad *g, int (*rule)(lazy_grad *g)) {
    if (!control_of(g->node)->asks)
        return rule(g);
    stand_in s;
    int status = stand_in_new(g->ctx, g->node, g->wants, &s), n = s.node.nin;
    bool *wants = calloc((size_t)n + 1, sizeof *wants);
    neap_node **out = calloc((size_t)n + 1, sizeof *out);
    if (status == 0 && (!wants || !out))
        status = neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (int k = 0; k < n && status == 0; k++)
        wants[k] = input_behind(g->node, k) >= 0 && g->wants[input_behind(g->node, k)];
    lazy_grad of = {.ctx = g->ctx, .node = &s.node, .nresults = g->nresults, .cts = g->cts, .wants = wants, .out = out};
    if (status == 0)
        status = rule(&of);
    for (int k = 0; k < n && status == 0; k++)
        if (input_behind(g->node, k) >= 0)
            g->out[input_behind(g->node, k)] = out[k];
    free(wants);
    free(out);
    stand_in_free(&s);
    return status;
}

int control_jvp_answered(lazy_tangent *t, int (*rule)(lazy_tangent *t)) {
    const lazy_control *control = control_of(t->node);
    if (!control->asks)
        return rule(t);
    if (control->shape.kind->takes < 0)
        return control_refuse(control, no_answers);
    bool *active = calloc((size_t)t->node->nin + 1, sizeof *active);
    if (!active)
        return neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (int k = 0; k < t->node->nin; k++)
        active[k] = t->in[k];
    stand_in s;
    int status = stand_in_new(t->ctx, t->node, active, &s), n = s.node.nin;
    free(active);
    neap_node **in = calloc((size_t)n + 1, sizeof *in);
    if (status == 0 && !in)
        status = neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (int k = 0; k < n && status == 0; k++)
        in[k] = input_behind(t->node, k) >= 0 ? t->in[input_behind(t->node, k)] : NULL;
    lazy_tangent of = {.ctx = t->ctx, .node = &s.node, .in = in, .nresults = t->nresults, .outs = t->outs};
    if (status == 0)
        status = rule(&of);
    free(in);
    stand_in_free(&s);
    return status;
}
