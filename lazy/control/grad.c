/* control/grad.c: derivatives of branches and loops. (Those of calls are in custom.c.)
 *
 * Each rule makes new programs of the node's programs and records one control node that runs them:
 *
 *      cond     reverse   the branches' gradients: (operands, cotangents, own…) → cotangents of what is wanted
 *               forward   the branches' tangents: (operands, tangents, own…) → tangents
 *      scan     reverse   a scan that goes the other way: carries are the cotangents of the carries, and sums of those
 *                         of consts; it reads what each turn began with, which a run of the loop has stored, and
 *                         runs the turn again
 *               forward   a scan over carries and their tangents
 *      while    forward   the same as a while loop. Nobody knows how often it runs, so nothing can be stored for
 *                         reverse
 *
 * Effects of a body happen once: where its programs are run again for a derivative they are left out. What callbacks
 * have answered is given to them (answers.c).
 */
#include <string.h>

#include "lazy/control/derive.h"
#include "lazy/derive/build.h"
#include "lazy/derive/derive.h"
#include "lazy/dtype/scalar.h"

static bool is_strong_float(const neap_node *node) {
    return dtype_is_inexact(node->dtype) && !(node->flags & LAZY_WEAK);
}

/* Does the program hand input k on as output k? */
static bool is_passed(const neap_program *program, int k) {
    return program->outputs.at[k] == program->inputs.at[k];
}

/* Results of a new control node, from `first` on, go where `to` points; BORROWED. */
static int take_results(neap_ctx *ctx, neap_node *node, int first, int n, neap_node **const *to) {
    for (int k = 0; k < n; k++)
        if (!(*to[k] = graph_arena(ctx, control_result(ctx, node, first + k))))
            return neap_error_code();
    return 0;
}

/* What a rule is about to record: attributes, inputs, and where results go. BORROWED nodes. */
typedef struct plan {
    lazy_nodes in;
    LAZY_VECTOR(neap_node **) to;
    LAZY_VECTOR(int64_t) attrs;
} plan;

static void plan_free(plan *p) {
    lazy_vector_free(&p->in);
    lazy_vector_free(&p->to);
    lazy_vector_free(&p->attrs);
}

/* Records a node of the same row as `of`. */
static int record_plan(neap_ctx *ctx, const neap_node *of, int nprograms, neap_program *const *programs,
                       const plan *p) {
    graph_call call = {
        .op = of->op, .nin = (int)p->in.n, .nattrs = (int)p->attrs.n, .in = p->in.at, .attrs = p->attrs.at};
    neap_node *node = control_record(ctx, nprograms, programs, &call);
    if (!graph_arena(ctx, node))
        return neap_error_code();
    node->site = of->site;
    if (ctx->sites.node == node)
        ctx->sites.node = NULL;
    return take_results(ctx, node, 0, (int)p->to.n, p->to.at);
}

/* ---- One program's derivative ------------------------------------------------------------------------------------ */
/* The cotangents of `wrt` (m->in of those on the tape) for seeds of the float outputs; they are appended to results,
 * each added to sums[k] if that is there. */
static int add_gradients(lazy_maker *m, neap_node *const *seeds, int n, neap_node *const *wrt, neap_node *const *sums) {
    int64_t nout = m->program->outputs.n, count = 0;
    neap_node **list = calloc(2 * (size_t)nout + (size_t)n + 1, sizeof *list), **given = list + nout,
              **out = given + nout;
    int status = list ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (int64_t k = 0; k < nout && status == 0; k++)
        if (is_strong_float(m->out[k])) {
            list[count] = m->out[k];
            given[count++] = seeds[k];
        }
    if (status == 0)
        status = derive_tape_gradient(m->ctx, m->tape, (int)count, list, given, n, wrt, out);
    for (int k = 0; k < n && status == 0; k++) {
        neap_node *ct = graph_arena(m->ctx, out[k]);
        if (ct && sums && sums[k])
            ct = graph_build_add(m->ctx, sums[k], ct);
        status = ct ? lazy_push(&m->results, ct) : neap_error_code();
    }
    free(list);
    return status;
}

/* The tangents of the float outputs are put into tangents[k] (BORROWED; NULL for others). */
static int find_tangents(lazy_maker *m, neap_node *const *given, neap_node **tangents) {
    int64_t nin = m->program->inputs.n, nout = m->program->outputs.n, n = 0, count = 0;
    neap_node **wrt = calloc(2 * (size_t)nin + 2 * (size_t)nout + 1, sizeof *wrt), **dots = wrt + nin;
    neap_node **list = dots + nin, **out = list + nout;
    int status = wrt ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (int64_t k = 0; k < nin && status == 0; k++)
        if (given[k]) {
            wrt[n] = m->in[k];
            dots[n++] = given[k];
        }
    for (int64_t k = 0; k < nout && status == 0; k++)
        if (is_strong_float(m->out[k]))
            list[count++] = m->out[k];
    if (status == 0)
        status = derive_tape_tangent(m->ctx, m->tape, (int)n, wrt, dots, (int)count, list, out);
    count = 0;
    for (int64_t k = 0; k < nout && status == 0; k++) {
        tangents[k] = NULL;
        if (is_strong_float(m->out[k]) && !(tangents[k] = graph_arena(m->ctx, out[count++])))
            status = neap_error_code();
    }
    free(wrt);
    return status;
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */
/* Inputs of a derived branch: the operands, one for each extra (not NULL), then its own; on the tape where `taped`. */
static int branch_inputs(lazy_maker *m, const lazy_control_shape *shape, int p, int nextra, neap_node *const *extra,
                         neap_node **extras, const bool *taped) {
    int status = 0;
    for (int k = 0; k < m->program->inputs.n + nextra && status == 0; k++) {
        int e = k - shape->operands, own = k - nextra;
        if (e >= 0 && e < nextra) {
            if (extra[e] && !(extras[e] = control_maker_input(m, extra[e])))
                status = NEAP_E_MEMORY;
            continue;
        }
        int at = e < 0 ? k : own;
        status = control_maker_given(m, at, control_maker_input(m, m->program->inputs.at[at]),
                                     taped[control_input_of(shape, p, at)]);
    }
    return status;
}

/* Makes what is derived of branch p. */
typedef int branch_maker(void *arg, const lazy_control *control, int p, const bool *key, neap_program **made);

/* The gradient of branch p: zeros for what belongs to other branches. */
static int branch_gradient(void *arg, const lazy_control *control, int p, const bool *wants, neap_program **made) {
    lazy_grad *g = arg;
    const lazy_control_shape *shape = &control->shape;
    int n = 0, nin = shape->nin;
    lazy_maker m;
    neap_node **seeds = calloc((size_t)control->nresults + (size_t)nin + 1, sizeof *seeds);
    neap_node **wrt = seeds + control->nresults;
    int status = control_maker_begin(&m, g->ctx, control->programs[p], true);
    if (status == 0 && !seeds)
        status = neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    if (status == 0)
        status = branch_inputs(&m, shape, p, control->nresults, g->cts, seeds, wants);
    if (status == 0)
        status = control_maker_apply(&m, NULL);
    for (int k = 0; k < m.program->inputs.n && status == 0; k++)
        if (wants[control_input_of(shape, p, k)])
            wrt[n++] = m.in[k];
    if (status == 0)
        status = add_gradients(&m, seeds, n, wrt, NULL);
    lazy_nodes own = m.results;
    m.results = (lazy_nodes){0};
    n = 0;
    for (int j = 0; j < nin && status == 0; j++) {
        bool mine = j < shape->first + shape->operands ||
                    (j >= shape->const_at[p] && j < shape->const_at[p] + shape->consts[p]);
        if (!wants[j])
            continue;
        neap_node *ct = mine ? own.at[n++] : derive_zeros_like(g->ctx, graph_node_in(g->node, j));
        status = ct ? lazy_push(&m.results, ct) : neap_error_code();
    }
    lazy_vector_free(&own);
    free(seeds);
    return control_maker_end(&m, status, made);
}

typedef struct branches { /* the same rule for each branch */
    const lazy_control *control;
    neap_program **programs;
    int n;
} branches;

static void free_program_list(neap_program **programs, int n) {
    for (int p = 0; p < n && programs; p++)
        neap_program_free(programs[p]);
    free(programs);
}

/* Inputs of the node that runs derived branches: index, operands, extras that are there, own. */
static int plan_branches(neap_ctx *ctx, const neap_node *node, int nextra, neap_node *const *extra, plan *p) {
    const lazy_control_shape *shape = &control_of(node)->shape;
    int status = 0, extras = 0, operands = shape->first + shape->operands;
    (void)ctx;
    for (int j = 0; j < operands && status == 0; j++)
        status = lazy_push(&p->in, graph_node_in(node, j));
    for (int e = 0; e < nextra && status == 0; e++)
        if (extra[e]) {
            status = lazy_push(&p->in, extra[e]);
            extras++;
        }
    for (int j = operands; j < shape->nin && status == 0; j++)
        status = lazy_push(&p->in, graph_node_in(node, j));
    if (status == 0)
        status = lazy_push(&p->attrs, shape->operands + extras);
    for (int k = 0; k < control_of(node)->nprograms && status == 0; k++)
        status = lazy_push(&p->attrs, shape->consts[k]);
    return status;
}

/* Float inputs that a cotangent is wanted of, by input; then which results have one. OWNED. */
static bool *gradient_key(const lazy_grad *g, const lazy_control *control) {
    bool *key = calloc((size_t)(control->shape.nin + control->nresults) + 1, sizeof *key);
    for (int j = 0; j < control->shape.nin && key; j++)
        key[j] = g->wants[j] && dtype_is_inexact(control->shape.in[j].dtype);
    for (int k = 0; k < control->nresults && key; k++)
        key[control->shape.nin + k] = g->cts[k];
    if (!key)
        neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    return key;
}

/* The programs that `make` derives of the branches for this key: those that the node has kept, or new ones.
 * BORROWED. */
static int derive_branches(lazy_control *control, char kind, int nkey, const bool *key, branch_maker *make, void *arg,
                           neap_program ***programs) {
    int n = control->nprograms, made = 0;
    if ((*programs = control_derived_find(control, kind, nkey, key)) != NULL)
        return 0;
    neap_program **list = calloc((size_t)n, sizeof *list);
    int status = list ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (; made < n && status == 0; made += status == 0)
        status = make(arg, control, made, key, &list[made]);
    if (status == 0 && !(*programs = control_derived_keep(control, kind, nkey, key, n, list)))
        status = NEAP_E_MEMORY;
    else if (status)
        free_program_list(list, made), list = NULL;
    free(list);
    return status;
}

static int cond_grad(lazy_grad *g) {
    lazy_control *control = control_of(g->node);
    int n = control->nprograms, nkey = control->shape.nin + control->nresults;
    bool *key = gradient_key(g, control);
    if (!key)
        return NEAP_E_MEMORY;
    neap_program **programs = NULL;
    int status = derive_branches(control, 'g', nkey, key, branch_gradient, g, &programs);
    plan p = {0};
    if (status == 0)
        status = plan_branches(g->ctx, g->node, control->nresults, g->cts, &p);
    for (int j = 0; j < control->shape.nin && status == 0; j++)
        if (key[j])
            status = lazy_push(&p.to, &g->out[j]);
    if (status == 0)
        status = record_plan(g->ctx, g->node, n, programs, &p);
    plan_free(&p);
    free(key);
    return status;
}

/* The tangents of branch p's float results, for tangents of the operands and of all consts (a branch sees all of
 * them). */
static int branch_tangent(void *arg, const lazy_control *control, int p, const bool *key, neap_program **made) {
    lazy_tangent *t = arg;
    const lazy_control_shape *shape = &control->shape;
    size_t nin = (size_t)shape->nin;
    lazy_maker m;
    neap_node **dots = calloc(3 * nin + (size_t)control->nresults + 1, sizeof *dots), **given = dots + nin;
    neap_node **tangents = given + nin;
    int status = control_maker_begin(&m, t->ctx, control->programs[p], true);
    if (status == 0 && !dots)
        status = neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    if (status == 0)
        status = branch_inputs(&m, shape, p, shape->nin, t->in, dots, key);
    for (int k = 0; k < m.program->inputs.n && status == 0; k++)
        given[k] = key[control_input_of(shape, p, k)] ? dots[control_input_of(shape, p, k)] : NULL;
    if (status == 0)
        status = control_maker_apply(&m, NULL);
    if (status == 0)
        status = find_tangents(&m, given, tangents);
    for (int k = 0; k < control->nresults && status == 0; k++)
        if (tangents[k])
            status = lazy_push(&m.results, tangents[k]);
    free(dots);
    return control_maker_end(&m, status, made);
}

/* Which inputs have a tangent. OWNED. */
static bool *tangent_key(const lazy_tangent *t, const lazy_control *control) {
    bool *key = calloc((size_t)control->shape.nin + 1, sizeof *key);
    for (int j = 0; j < control->shape.nin && key; j++)
        key[j] = t->in[j];
    if (!key)
        neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    return key;
}

static int cond_jvp(lazy_tangent *t) {
    lazy_control *control = control_of(t->node);
    int n = control->nprograms, nkey = control->shape.nin;
    bool *key = tangent_key(t, control);
    if (!key)
        return NEAP_E_MEMORY;
    neap_program **programs = NULL;
    int status = derive_branches(control, 't', nkey, key, branch_tangent, t, &programs);
    plan p = {0};
    if (status == 0)
        status = plan_branches(t->ctx, t->node, nkey, t->in, &p);
    for (int k = 0; k < control->nresults && status == 0; k++)
        if (dtype_is_inexact(control->results[k].dtype))
            status = lazy_push(&p.to, &t->outs[k]);
    if (status == 0)
        status = record_plan(t->ctx, t->node, n, programs, &p);
    plan_free(&p);
    free(key);
    return status;
}

/* ---- Scans, in reverse ------------------------------------------------------------------------------------------- */
/* The scan that also stacks what each turn begins with: the carries that are not passed. This derivative uses the rules
 * in the body where it runs the turns again, so here they are used. */
static int storing_program(neap_ctx *ctx, lazy_control *control, const bool *wants, neap_program **made) {
    neap_program **programs = control_programs_used(ctx, control, wants), *program = programs ? programs[0] : NULL;
    lazy_maker m;
    if (!programs)
        return neap_error_code();
    int status = control_maker_begin(&m, ctx, program, false);
    for (int k = 0; k < program->inputs.n && status == 0; k++)
        status = control_maker_given(&m, k, control_maker_input(&m, program->inputs.at[k]), false);
    if (status == 0)
        status = control_maker_apply(&m, NULL);
    for (int k = 0; k < program->outputs.n && status == 0; k++)
        status = lazy_push(&m.results, m.out[k]);
    for (int k = 0; k < control->shape.operands && status == 0; k++)
        if (!is_passed(control->programs[0], k))
            status = lazy_push(&m.results, m.in[k]);
    return control_maker_end(&m, status, made);
}

/* Runs the loop again and gives what its turns began with: stored[k], by carry. wants: by input. BORROWED. */
static int store_carries(neap_ctx *ctx, neap_node *node, const bool *wants, neap_node **stored) {
    lazy_control *control = control_of(node);
    neap_program **programs = control_derived_find(control, 's', node->nin, wants), *made;
    int status = 0, at = control->nresults;
    if (!programs && (status = storing_program(ctx, control, wants, &made)) == 0)
        status = (programs = control_derived_keep(control, 's', node->nin, wants, 1, &made)) ? 0 : NEAP_E_MEMORY;
    if (status)
        return status;
    graph_call call = {.op = node->op,
                       .nin = node->nin,
                       .nattrs = graph_node_nattrs(node) - 1,
                       .in = node->in,
                       .attrs = graph_node_attrs(node) + 1};
    neap_node *again = graph_arena(ctx, control_record(ctx, 1, programs, &call));
    for (int k = 0; k < control->shape.operands && status == 0 && again; k++)
        if (!is_passed(control->programs[0], k) && !(stored[k] = graph_arena(ctx, control_result(ctx, again, at++))))
            status = neap_error_code();
    return again ? status : neap_error_code();
}

/* Which inputs of the reverse scan there are: its carries, xs and own stand in this order. */
typedef struct scan_back {
    const lazy_control *control;
    const bool *wants, *has; /* by input of the node; by result */
    neap_node **seeds, **sums, **wrt;
    int nwrt;
} scan_back;

static bool is_real(const lazy_result *type) {
    return dtype_is_inexact(type->dtype);
}

/* Placeholders: cotangents of carries and sums of those of consts; carries, xs and cotangents of ys; what stays. */
static int scan_back_inputs(lazy_maker *m, scan_back *b) {
    const lazy_control_shape *shape = &b->control->shape;
    const lazy_nodes *in = &m->program->inputs;
    int status = 0, own = shape->operands + shape->xs;
    for (int k = 0; k < shape->operands && status == 0; k++)
        if (is_real(&shape->in[k]) && !(b->seeds[k] = control_maker_input(m, in->at[k])))
            status = NEAP_E_MEMORY;
    for (int k = own; k < shape->nin && status == 0; k++)
        if (b->wants[k] && !(b->sums[k] = control_maker_input(m, in->at[k])))
            status = NEAP_E_MEMORY;
    for (int k = 0; k < own && status == 0; k++)
        if (k >= shape->operands || !is_passed(m->program, k))
            status = control_maker_given(m, k, control_maker_input(m, in->at[k]),
                                         k < shape->operands ? is_real(&shape->in[k]) : b->wants[k]);
    for (int k = shape->operands; k < b->control->nresults && status == 0; k++)
        if (b->has[k] && !(b->seeds[k] = control_maker_input(m, m->program->outputs.at[k])))
            status = NEAP_E_MEMORY;
    for (int k = 0; k < shape->nin && status == 0; k++)
        if (k >= own || (k < shape->operands && is_passed(m->program, k)))
            status = control_maker_given(m, k, control_maker_input(m, in->at[k]),
                                         k < own ? is_real(&shape->in[k]) : b->wants[k]);
    return status;
}

/* One turn, backwards: cotangents of the carries, sums, then those of the xs. */
static int scan_back_program(neap_ctx *ctx, scan_back *b, neap_program **made) {
    const lazy_control_shape *shape = &b->control->shape;
    int own = shape->operands + shape->xs;
    lazy_maker m;
    neap_node **sums = calloc((size_t)shape->nin + 1, sizeof *sums);
    int status = control_maker_begin(&m, ctx, b->control->programs[0], true);
    if (status == 0 && !sums)
        status = neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    if (status == 0)
        status = scan_back_inputs(&m, b);
    if (status == 0)
        status = control_maker_apply(&m, NULL);
    for (int k = 0; k < shape->operands && status == 0; k++)
        if (is_real(&shape->in[k]))
            b->wrt[b->nwrt++] = m.in[k];
    for (int k = own; k < shape->nin && status == 0; k++)
        if (b->wants[k]) {
            sums[b->nwrt] = b->sums[k];
            b->wrt[b->nwrt++] = m.in[k];
        }
    for (int k = shape->operands; k < own && status == 0; k++)
        if (b->wants[k])
            b->wrt[b->nwrt++] = m.in[k];
    if (status == 0)
        status = add_gradients(&m, b->seeds, b->nwrt, b->wrt, sums);
    free(sums);
    return control_maker_end(&m, status, made);
}

static neap_program **find_scan_back(lazy_grad *g, lazy_control *control, const bool *key) {
    size_t nin = (size_t)control->shape.nin, nres = (size_t)control->nresults;
    int nkey = (int)(nin + nres);
    neap_program **programs = control_derived_find(control, 'g', nkey, key), *made;
    if (programs)
        return programs;
    neap_node **memory = calloc(nres + 2 * nin + 1, sizeof *memory);
    scan_back b = {.control = control, .wants = key, .has = key + nin, .seeds = memory};
    if (!memory) {
        neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
        return NULL;
    }
    b.sums = memory + nres;
    b.wrt = b.sums + nin;
    if (scan_back_program(g->ctx, &b, &made) == 0)
        programs = control_derived_keep(control, 'g', nkey, key, 1, &made);
    free(memory);
    return programs;
}

/* The inputs of the reverse scan, in the order of scan_back_inputs. */
static int plan_scan_back(lazy_grad *g, const lazy_control *control, const bool *key, neap_node *const *stored,
                          plan *p) {
    const lazy_control_shape *shape = &control->shape;
    const bool *has = key + shape->nin;
    int own = shape->operands + shape->xs, status = 0;
    int64_t carries = 0, xs = 0;
    for (int k = 0; k < shape->operands && status == 0; k++)
        if (is_real(&shape->in[k])) {
            neap_node *ct = g->cts[k] ? g->cts[k] : derive_zeros_like(g->ctx, graph_node_in(g->node, k));
            status = ct ? lazy_push(&p->in, ct) : neap_error_code();
            carries++;
        }
    for (int k = own; k < shape->nin && status == 0; k++)
        if (key[k]) {
            neap_node *zero = derive_zeros_like(g->ctx, graph_node_in(g->node, k));
            status = zero ? lazy_push(&p->in, zero) : neap_error_code();
            carries++;
        }
    for (int k = 0; k < own && status == 0; k++)
        if (k >= shape->operands || stored[k]) {
            status = lazy_push(&p->in, k < shape->operands ? stored[k] : graph_node_in(g->node, k));
            xs++;
        }
    for (int k = shape->operands; k < control->nresults && status == 0; k++)
        if (has[k]) {
            status = lazy_push(&p->in, g->cts[k]);
            xs++;
        }
    for (int k = 0; k < shape->nin && status == 0; k++)
        if (k >= own || (k < shape->operands && !stored[k]))
            status = lazy_push(&p->in, graph_node_in(g->node, k));
    int64_t attrs[] = {shape->length, !shape->reverse, shape->unroll, carries, xs};
    for (int a = 0; a < 5 && status == 0; a++)
        status = lazy_push(&p->attrs, attrs[a]);
    return status;
}

static int scan_grad(lazy_grad *g) {
    lazy_control *control = control_of(g->node);
    const lazy_control_shape *shape = &control->shape;
    int own = shape->operands + shape->xs, status = 0;
    bool *key = gradient_key(g, control);
    neap_node **stored = calloc(2 * (size_t)shape->operands + 1, sizeof *stored), **spare = stored + shape->operands;
    if (key && !stored)
        neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    neap_program **programs = key && stored ? find_scan_back(g, control, key) : NULL;
    plan p = {0};
    status = programs ? store_carries(g->ctx, g->node, key, stored) : neap_error_code();
    if (status == 0)
        status = plan_scan_back(g, control, key, stored, &p);
    for (int k = 0; k < shape->operands && status == 0; k++)
        if (is_real(&shape->in[k]))
            status = lazy_push(&p.to, key[k] ? &g->out[k] : &spare[k]);
    for (int k = own; k < shape->nin && status == 0; k++)
        if (key[k])
            status = lazy_push(&p.to, &g->out[k]);
    for (int k = shape->operands; k < own && status == 0; k++)
        if (key[k])
            status = lazy_push(&p.to, &g->out[k]);
    if (status == 0)
        status = record_plan(g->ctx, g->node, 1, programs, &p);
    plan_free(&p);
    free(stored);
    free(key);
    return status;
}

/* ---- Loops, forward ---------------------------------------------------------------------------------------------- */
/* Does input k of the body have a tangent in the new loop? All real carries do. */
static bool moves(const lazy_control *control, int p, int k, const bool *key) {
    const lazy_control_shape *shape = &control->shape;
    return k < shape->operands ? is_real(&shape->in[k]) : key[control_input_of(shape, p, k)];
}

/* Program p over carries, their tangents, xs, their tangents, own, their tangents. `step`: its outputs are carries,
 * tangents of carries, and tangents of ys; else it is a condition, which looks at the carries alone. */
static int loop_tangent(lazy_tangent *t, const lazy_control *control, int p, const bool *key, bool step,
                        neap_program **made) {
    neap_program *program = control->programs[p];
    int nin = (int)program->inputs.n, nout = (int)program->outputs.n, first = 0;
    int ends[] = {control->shape.operands, control->shape.operands + control->shape.xs, nin};
    lazy_maker m;
    neap_node **dots = calloc((size_t)nin + (size_t)nout + 1, sizeof *dots), **tangents = dots + nin;
    int status = control_maker_begin(&m, t->ctx, program, true);
    if (status == 0 && !dots)
        status = neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    for (int group = 0; group < 3 && status == 0; first = ends[group++]) {
        for (int k = first; k < ends[group] && status == 0; k++)
            status = control_maker_given(&m, k, control_maker_input(&m, program->inputs.at[k]),
                                         step && moves(control, p, k, key));
        for (int k = first; k < ends[group] && status == 0; k++)
            if (moves(control, p, k, key) && !(dots[k] = control_maker_input(&m, program->inputs.at[k])))
                status = NEAP_E_MEMORY;
    }
    if (status == 0)
        status = control_maker_apply(&m, NULL);
    if (status == 0 && step)
        status = find_tangents(&m, dots, tangents);
    for (int k = 0; k < (step ? control->shape.operands : nout) && status == 0; k++)
        status = lazy_push(&m.results, m.out[k]);
    for (int k = 0; k < nout && step && status == 0; k++)
        if (tangents[k])
            status = lazy_push(&m.results, tangents[k]);
    free(dots);
    return control_maker_end(&m, status, made);
}

static neap_program **find_loop_tangent(lazy_tangent *t, lazy_control *control, const bool *key) {
    int n = control->nprograms, nkey = control->shape.nin, made = 0, status = 0;
    neap_program **programs = control_derived_find(control, 't', nkey, key), *list[2];
    if (programs)
        return programs;
    for (; made < n && status == 0; made += status == 0)
        status = loop_tangent(t, control, made, key, made == n - 1, &list[made]);
    if (status == 0)
        return control_derived_keep(control, 't', nkey, key, n, list);
    while (made-- > 0)
        neap_program_free(list[made]);
    return NULL;
}

/* Appends inputs first … end-1 of the node, then their tangents. Of real carries without one, zeros. */
static int plan_group(lazy_tangent *t, const lazy_control *control, int first, int end, int64_t *count, plan *p) {
    int status = 0;
    *count = end - first;
    for (int k = first; k < end && status == 0; k++)
        status = lazy_push(&p->in, graph_node_in(t->node, k));
    for (int k = first; k < end && status == 0; k++) {
        neap_node *dot = t->in[k];
        if (!dot && (k >= control->shape.operands || !is_real(&control->shape.in[k])))
            continue;
        if (!dot)
            dot = derive_zeros_like(t->ctx, graph_node_in(t->node, k));
        status = dot ? lazy_push(&p->in, dot) : neap_error_code();
        ++*count;
    }
    return status;
}

static int plan_loop(lazy_tangent *t, const lazy_control *control, plan *p) {
    const lazy_control_shape *shape = &control->shape;
    bool scan = shape->kind->stacks;
    int own = shape->operands + shape->xs;
    int64_t carries, xs, test = 0, rest;
    int status = plan_group(t, control, 0, shape->operands, &carries, p);
    if (status == 0)
        status = plan_group(t, control, shape->operands, own, &xs, p);
    if (status == 0 && !scan)
        status = plan_group(t, control, own, own + shape->consts[0], &test, p);
    if (status == 0)
        status = plan_group(t, control, scan ? own : own + shape->consts[0], shape->nin, &rest, p);
    int64_t attrs[LAZY_CONTROL_ATTRS];
    int n = status == 0 ? shape->kind->write(shape, carries, xs, 0, attrs) : 0;
    for (int a = 0; a < n && status == 0; a++)
        status = lazy_push(&p->attrs, attrs[a]);
    return status || scan ? status : lazy_push(&p->attrs, test);
}

static int loop_jvp(lazy_tangent *t) {
    lazy_control *control = control_of(t->node);
    const lazy_control_shape *shape = &control->shape;
    bool *key = tangent_key(t, control);
    neap_program **programs = key ? find_loop_tangent(t, control, key) : NULL;
    neap_node **spare = calloc((size_t)shape->operands + 1, sizeof *spare);
    plan p = {0};
    if (programs && !spare)
        neap_error(NEAP_E_MEMORY, "out of memory for a derivative");
    int status = programs && spare ? plan_loop(t, control, &p) : neap_error_code();
    for (int k = 0; k < shape->operands && status == 0; k++)
        status = lazy_push(&p.to, &spare[k]);
    for (int k = 0; k < control->nresults && status == 0; k++)
        if (is_real(&control->results[k]))
            status = lazy_push(&p.to, &t->outs[k]);
    if (status == 0)
        status = record_plan(t->ctx, t->node, control->nprograms, programs, &p);
    plan_free(&p);
    free(spare);
    free(key);
    return status;
}

/* ---- What the rows ask for --------------------------------------------------------------------------------------- */
int control_cond_grad(lazy_grad *g) {
    return control_grad_answered(g, cond_grad);
}

int control_cond_jvp(lazy_tangent *t) {
    return control_jvp_answered(t, cond_jvp);
}

int control_scan_grad(lazy_grad *g) {
    return control_grad_answered(g, scan_grad);
}

int control_loop_jvp(lazy_tangent *t) {
    return control_jvp_answered(t, loop_jvp);
}

int control_while_grad(lazy_grad *g) {
    int32_t site = g->node->site;
    return neap_error(NEAP_E_ARGUMENT,
                      "grad: a while_loop has no reverse-mode derivative, as nobody knows how often it runs%s%s; use "
                      "np.fori_loop with bounds that are numbers, np.scan, or forward mode (np.jvp, np.jacfwd), and "
                      "np.integrate.odeint in place of np.integrate.solve_ivp",
                      site ? ", recorded at " : "", site ? graph_site_text(g->ctx, site) : "");
}
