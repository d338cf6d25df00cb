/* control/stand_in.c: nodes whose programs have constants in them that an export puts others in place of
 * (program/deferred.c). A listed input is one of these: inside of a body it was a constant, and is an own input now.
 *
 *      scan x { a ─ add z ─▶ }    ── z is listed ──▶    scan x z' { a, b ─ add b ─▶ }
 *
 * Each program is applied in a trace, which captures what stands in for its constants, as whatever it reads of levels
 * around it. What it runs itself is recorded again there, in the same way.
 */
#include "lazy/control/derive.h"

typedef struct replaced { /* what a node is recorded again with */
    neap_ctx *ctx;
    const lazy_control *control;
    neap_program **programs; /* one reference each */
    lazy_nodes in;           /* BORROWED */
    LAZY_VECTOR(int64_t) attrs;
} replaced;

bool control_has_stand_ins(neap_ctx *ctx, const neap_node *node) {
    lazy_nodes constants = {0};
    bool some = ctx->levels.stand_ins && program_constants(ctx, node, &constants) != 0;
    for (int64_t k = 0; k < constants.n && !some; k++)
        some = program_stand_in(ctx, constants.at[k]) != constants.at[k];
    lazy_vector_free(&constants);
    return some;
}

/* The program with stand-ins for its constants, if it has any. */
static int replace_in(neap_ctx *ctx, neap_program *program, neap_program **made) {
    lazy_maker m;
    int status = control_maker_begin(&m, ctx, program, false);
    for (int k = 0; k < program->inputs.n && status == 0; k++)
        status = control_maker_given(&m, k, control_maker_input(&m, program->inputs.at[k]), false);
    if (status == 0)
        status = program_apply(ctx, program, m.in, m.out);
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++)
        status = lazy_push(&m.results, m.out[k]);
    return control_maker_end(&m, status, made);
}

static int push_inputs(replaced *r, int64_t n, neap_node *const *in) {
    int status = 0;
    for (int64_t k = 0; k < n && status == 0; k++)
        status = lazy_push(&r->in, in[k]);
    return status;
}

/* The inputs: those in front of the programs' own, then the own ones of each program, with what it captures now. The
 * last attributes count them. */
static int replace_programs(replaced *r, const neap_node *node, neap_node *const *in) {
    const lazy_control_shape *shape = &r->control->shape;
    int n = r->control->nprograms, counted = n - shape->kind->rest;
    int status = push_inputs(r, shape->const_at[0], in);
    for (int k = 1; k < node->nattrs - counted && status == 0; k++)
        status = lazy_push(&r->attrs, node->attrs[k]);
    for (int p = 0; p < n && status == 0; p++) {
        neap_program **made = &r->programs[p];
        int64_t from = r->in.n;
        status = push_inputs(r, shape->consts[p], in + shape->const_at[p]);
        if (status == 0)
            status = replace_in(r->ctx, r->control->programs[p], made);
        if (status == 0)
            status = push_inputs(r, (*made)->captured.n, (*made)->captured.at);
        if (status == 0 && p < counted)
            status = lazy_push(&r->attrs, r->in.n - from);
    }
    return status;
}

neap_node *control_record_replaced(neap_ctx *ctx, const neap_node *node, neap_node *const *in) {
    replaced r = {.ctx = ctx, .control = control_of(node)};
    int n = r.control->nprograms;
    neap_node *made = NULL;
    plan_hold(ctx);
    if (!(r.programs = calloc((size_t)n, sizeof(neap_program *))))
        neap_error(NEAP_E_MEMORY, "out of memory for a program");
    else if (replace_programs(&r, node, in) == 0) {
        program_take_rule(r.programs[0], r.control->programs[0]);
        graph_call call = {
            .op = node->op, .nin = (int)r.in.n, .nattrs = (int)r.attrs.n, .in = r.in.at, .attrs = r.attrs.at};
        lazy_control_as as = {.site = node->site, .kept = r.control->kept, .answers = r.control->answers};
        made = control_record_as(ctx, &as, n, r.programs, &call);
    }
    for (int p = 0; p < n && r.programs; p++)
        neap_program_free(r.programs[p]);
    free(r.programs);
    lazy_vector_free(&r.in);
    lazy_vector_free(&r.attrs);
    int held = plan_unhold(ctx);
    if (held && made) {
        graph_release(ctx, made);
        made = NULL;
    }
    return made;
}
