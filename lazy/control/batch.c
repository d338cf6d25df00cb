/* control/batch.c: batching control flow: programs of one example become programs of many, and the node runs those.
 *
 *      call            the program, batched; or what the rule of its function records (batch_rule.c)
 *      cond            with one index for all: the branches, batched; with one for each example: all branches run, and
 *                      each example takes its own
 *      scan            the body, batched, on carries that are batched if the body makes them so: it takes some tries
 *      while_loop      the same; with a condition for each example it runs until none holds, and examples that are done
 *                      stay as they are
 *
 * A program is batched inside a trace of its own (batch.c), so the result is a closed program like any other. An effect
 * that an example may or may not reach happens for those that do: the programs are batched under a guard (guard.c).
 */
#include <string.h>

#include "lazy/control/derive.h"
#include "lazy/derive/build.h"
#include "lazy/derive/derive.h"
#include "lazy/dtype/scalar.h"
#include "lazy/program/program.h"

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
/* What becomes of an output: as it comes; batched in any case; summed over the examples if it is batched. */
enum { AS_IT_COMES, BATCHED, SUMMED };

/* Lists of one word for each of n inputs or outputs, made at once. */
static bool *flags_new(int64_t n) {
    bool *flags = calloc((size_t)n + 1, sizeof *flags);
    if (!flags)
        neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    return flags;
}

static neap_node **nodes_new(int64_t n) {
    neap_node **nodes = calloc((size_t)n + 1, sizeof *nodes);
    if (!nodes)
        neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    return nodes;
}

/* Records a program for the examples; its outputs are in the arena. */
static int apply_batched(lazy_batching *g, neap_program *program, neap_node *const *in, const bool *batched,
                         neap_node **out, bool *out_batched) {
    int status = derive_program_batch(g->ctx, program, g->size, g->guard, in, batched, out, out_batched), kept = 0;
    for (int64_t k = 0; k < program->outputs.n && status == 0; k++)
        kept = graph_arena(g->ctx, out[k]) ? kept : NEAP_E_MEMORY;
    return status ? status : kept;
}

static neap_node *as_wanted(lazy_batching *g, neap_node *node, int want, bool *batched) {
    if (want == BATCHED && !*batched) {
        *batched = true;
        return derive_batch_broadcast(g, node);
    }
    if (want == SUMMED && *batched) {
        *batched = false;
        return graph_build_sum(g->ctx, node, 1);
    }
    return node;
}

/* Inside a trace: records a program on placeholders of its own, and brings its outputs into the form that is wanted
 * (by output; NULL: as they come). */
static int record_wanted(lazy_batching *g, int level, neap_program *program, const bool *batched, const uint8_t *want,
                         neap_node **out, bool *out_batched) {
    neap_node **in = nodes_new(program->inputs.n);
    int status = in ? derive_batch_inputs(g->ctx, g->size, level, program, 0, batched, in) : NEAP_E_MEMORY;
    if (status == 0)
        status = apply_batched(g, program, in, batched, out, out_batched);
    for (int64_t k = 0; k < program->outputs.n && status == 0 && want; k++)
        status = (out[k] = as_wanted(g, out[k], want[k], &out_batched[k])) ? 0 : neap_error_code();
    free(in);
    return status;
}

/* The program for the examples, of inputs that are batched or not. OWNED. */
static int derive(lazy_batching *g, neap_program *program, const bool *batched, const uint8_t *want,
                  neap_program **derived, bool *out_batched) {
    neap_node **out = nodes_new(program->outputs.n);
    int level, status = out ? graph_trace_derived(g->ctx, &level) : NEAP_E_MEMORY;
    if (status == 0) {
        status = record_wanted(g, level, program, batched, want, out, out_batched);
        if (status == 0)
            status = program_trace_end(g->ctx, level, (int)program->outputs.n, out, derived);
        if (status)
            graph_level_end(g->ctx, level);
    }
    free(out);
    return status;
}

/* Which of the outputs would be batched. */
static int find_batched_outputs(lazy_batching *g, neap_program *program, const bool *batched, bool *out_batched) {
    neap_program *derived;
    int status = derive(g, program, batched, NULL, &derived, out_batched);
    if (status == 0)
        neap_program_free(derived);
    return status;
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
typedef struct flow { /* a node that is being batched, and what its programs become */
    lazy_batching *g;
    const lazy_control *control;
    const lazy_control_shape *shape;
    bool *main;              /* by operand, carry and xs: do the programs get it batched? */
    bool **flags;            /* by program: which of its inputs are batched: those of `main`, then its own */
    bool **out;              /* by program: which of its outputs are batched */
    neap_program **programs; /* of the new node; OWNED */
    lazy_nodes in;           /* of the new node; BORROWED */
    int64_t *attrs;          /* of the new node, without the pointer */
} flow;

static int main_inputs(const flow *f) {
    return f->shape->operands + f->shape->xs;
}

static void flow_end(flow *f) {
    for (int p = 0; p < f->control->nprograms; p++) {
        if (f->flags)
            free(f->flags[p]);
        if (f->out)
            free(f->out[p]);
        if (f->programs)
            neap_program_free(f->programs[p]);
    }
    free(f->main);
    free(f->flags);
    free(f->out);
    free(f->programs);
    free(f->attrs);
    lazy_vector_free(&f->in);
}

static int flow_begin(flow *f, lazy_batching *g) {
    const lazy_control *control = control_of(g->node);
    size_t n = (size_t)control->nprograms;
    int nattrs = g->node->nattrs - 1;
    *f = (flow){.g = g, .control = control, .shape = &control->shape};
    f->main = flags_new(main_inputs(f));
    f->flags = calloc(n + 1, sizeof *f->flags);
    f->out = calloc(n + 1, sizeof *f->out);
    f->programs = calloc(n + 1, sizeof *f->programs);
    f->attrs = malloc((size_t)nattrs * sizeof *f->attrs);
    int status = f->main && f->flags && f->out && f->programs && f->attrs ? 0 : NEAP_E_MEMORY;
    for (size_t p = 0; p < n && status == 0; p++) {
        const neap_program *program = control->programs[p];
        f->flags[p] = flags_new(program->inputs.n);
        f->out[p] = flags_new(program->outputs.n);
        status = f->flags[p] && f->out[p] ? 0 : NEAP_E_MEMORY;
    }
    if (status)
        return neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    memcpy(f->attrs, g->node->attrs + 1, (size_t)nattrs * sizeof *f->attrs);
    for (int k = 0; k < main_inputs(f); k++)
        f->main[k] = g->batched[f->shape->first + k];
    return 0;
}

/* The flags of program p, whose first inputs are the main ones. */
static const bool *flags_of(flow *f, int p) {
    int main = main_inputs(f);
    memcpy(f->flags[p], f->main, (size_t)main * sizeof *f->main);
    for (int k = 0; k < f->shape->consts[p]; k++)
        f->flags[p][main + k] = f->g->batched[f->shape->const_at[p] + k];
    return f->flags[p];
}

static int add_flow_input(flow *f, neap_node *node) {
    return !node ? neap_error_code() : lazy_push(&f->in, node) ? NEAP_E_MEMORY : 0;
}

/* Adds what program p alone reads of the node's inputs. */
static int add_consts(flow *f, int p) {
    int status = 0;
    for (int k = 0; k < f->shape->consts[p] && status == 0; k++)
        status = add_flow_input(f, f->g->in[f->shape->const_at[p] + k]);
    return status;
}

/* Adds what the program that p has become reads besides: the arrays that its trace has captured. */
static int add_captured(flow *f, int p) {
    const lazy_nodes *captured = &f->programs[p]->captured;
    int status = 0;
    for (int64_t k = 0; k < captured->n && status == 0; k++)
        status = add_flow_input(f, graph_arena(f->g->ctx, graph_retain(captured->at[k])));
    return status;
}

/* Both; *count: how many. */
static int add_own(flow *f, int p, int64_t *count) {
    int64_t before = f->in.n;
    int status = add_consts(f, p);
    if (status == 0)
        status = add_captured(f, p);
    *count = f->in.n - before;
    return status;
}

/* A main input as the programs want it. The xs of a scan have the axis that they are taken along first. */
static neap_node *main_input(flow *f, int k) {
    lazy_batching *g = f->g;
    neap_node *in = g->in[f->shape->first + k];
    if (k >= f->shape->operands)
        return f->main[k] ? derive_batch_move(g, in, 0, 1) : in;
    return f->main[k] ? derive_batch_all(g, f->shape->first + k) : in;
}

static int add_main(flow *f) {
    int status = 0;
    for (int k = 0; k < main_inputs(f) && status == 0; k++)
        status = add_flow_input(f, main_input(f, k));
    return status;
}

/* Records the new node and gives its results; `batched` says which are. */
static int record_flow(flow *f, const bool *batched) {
    lazy_batching *g = f->g;
    graph_call call = {
        .op = f->shape->op, .nin = (int)f->in.n, .nattrs = g->node->nattrs - 1, .in = f->in.at, .attrs = f->attrs};
    g->out = graph_arena(g->ctx, control_record(g->ctx, f->control->nprograms, f->programs, &call));
    int status = derive_batch_done(g);
    for (int k = 0; k < f->control->nresults && status == 0; k++) {
        neap_node *result = graph_arena(g->ctx, control_result(g->ctx, g->out, k));
        bool stacked = control_is_stacked(f->shape, k);
        status = derive_batch_give(g, stacked && batched[k] ? derive_batch_move(g, result, 1, 0) : result, batched[k]);
    }
    return status;
}

static int refuse_effects(const flow *f, const char *what) {
    const char *site = f->g->node->site ? graph_site_text(f->g->ctx, f->g->node->site) : "an unknown line";
    return neap_error(NEAP_E_TRACE, "vmap: the %s at %s depends on the example and has %s",
                      graph_node_op(f->g->node)->name, site, what);
}

/* Records program p, whose effects happen for the examples of `own`, as far as there is a guard around it for these. */
static int apply_guarded(flow *f, int p, neap_node *own, neap_node *const *in, neap_node **out) {
    lazy_batching *g = f->g;
    const lazy_batch_guard *outer = g->guard;
    lazy_batch_guard guard = {.mask = outer ? BUILD2(logical_and, outer->mask, own) : own, .record = control_guarded};
    if (!guard.mask)
        return neap_error_code();
    g->guard = &guard;
    int status = apply_batched(g, f->control->programs[p], in, f->flags[p], out, f->out[p]);
    g->guard = outer;
    return status;
}

/* Does it matter to program p which examples take it? */
static bool is_selective(const flow *f, int p) {
    return f->control->effects || f->control->maps || derive_program_is_guarded(f->control->programs[p]);
}

/* ---- call -------------------------------------------------------------------------------------------------------- */
static bool is_float_node(const neap_node *node) {
    return dtype_is_inexact(node->dtype);
}

/* Program 2 of a rule for reverse mode, (residuals…, cotangents of float results…, own…) → cotangents of float
 * operands…: `residuals` says which residuals are batched, and result flags are those of program 0. */
static int derive_backward(flow *f, int nresults) {
    neap_program *forward = f->control->programs[1], *backward = f->control->programs[2];
    bool *flags = f->flags[2];
    uint8_t *want = calloc((size_t)backward->outputs.n + 1, 1);
    int64_t at = 0, out = 0;
    if (!want)
        return neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    for (int64_t k = nresults; k < forward->outputs.n; k++)
        flags[at++] = f->out[1][k];
    for (int k = 0; k < nresults; k++)
        if (is_float_node(forward->outputs.at[k]))
            flags[at++] = f->out[0][k];
    for (int k = 0; k < f->shape->consts[2]; k++)
        flags[at++] = f->g->batched[f->shape->const_at[2] + k];
    for (int k = 0; k < f->shape->operands; k++)
        if (is_float_node(forward->inputs.at[k]) && out < backward->outputs.n)
            want[out++] = f->main[k] ? BATCHED : SUMMED;
    int status = derive(f->g, backward, flags, want, &f->programs[2], f->out[2]);
    free(want);
    return status;
}

/* Program 1 of a rule for forward mode, (operands…, tangents of float operands…, own…): its flags. */
static const bool *tangent_flags(flow *f) {
    const neap_program *program = f->control->programs[1];
    int64_t at = f->shape->operands;
    memcpy(f->flags[1], f->main, (size_t)at * sizeof *f->main);
    for (int k = 0; k < f->shape->operands; k++)
        if (is_float_node(program->inputs.at[k]))
            f->flags[1][at++] = f->main[k];
    for (int k = 0; k < f->shape->consts[1]; k++)
        f->flags[1][at++] = f->g->batched[f->shape->const_at[1] + k];
    return f->flags[1];
}

/* Which results are batched: those that one of the programs batches, or whose tangent is. `results` gets that. */
static int look_at_results(flow *f, int nresults, bool *results) {
    int status = find_batched_outputs(f->g, f->control->programs[0], flags_of(f, 0), f->out[0]);
    bool ruled = control_has_rule(f->shape);
    if (status == 0 && ruled)
        status = find_batched_outputs(f->g, f->control->programs[1],
                                      f->shape->rule == NEAP_RULE_JVP ? tangent_flags(f) : flags_of(f, 1), f->out[1]);
    for (int k = 0, tangent = nresults; k < nresults && status == 0; k++) {
        results[k] = f->out[0][k] || (ruled && f->out[1][k]);
        if (f->shape->rule == NEAP_RULE_JVP && is_float_node(f->control->programs[0]->outputs.at[k]))
            results[k] |= f->out[1][tangent++];
    }
    return status;
}

/* Programs 0 and 1, whose results, and tangents of results, are batched alike. */
static int derive_results(flow *f, int p, int nresults, const bool *results) {
    neap_program *program = f->control->programs[p];
    uint8_t *want = calloc((size_t)program->outputs.n + 1, 1);
    if (!want)
        return neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    for (int k = 0, tangent = nresults; k < nresults; k++) {
        want[k] = results[k] ? BATCHED : AS_IT_COMES;
        if (p == 1 && f->shape->rule == NEAP_RULE_JVP && is_float_node(program->outputs.at[k]))
            want[tangent++] = want[k];
    }
    int status = derive(f->g, program, f->flags[p], want, &f->programs[p], f->out[p]);
    free(want);
    return status;
}

static int batch_call(flow *f) {
    if (f->shape->rule == NEAP_RULE_VMAP)
        f->attrs[0] = NEAP_RULE_USED; /* nobody has the rule: as if there were none */
    int n = f->control->nprograms, nresults = f->shape->results, own = f->g->node->nattrs - 1 - n;
    bool *results = flags_new(nresults);
    int status = results ? look_at_results(f, nresults, results) : NEAP_E_MEMORY;
    int used = control_has_rule(f->shape) ? n : 1;
    for (int p = used; p < n; p++)
        f->programs[p] = program_retain(f->control->programs[p]); /* left over: nobody runs it */
    for (int p = 0; p < used && p < 2 && status == 0; p++)
        status = derive_results(f, p, nresults, results);
    if (status == 0 && f->shape->rule == NEAP_RULE_VJP)
        status = derive_backward(f, f->shape->results);
    if (status == 0)
        status = add_main(f);
    for (int p = 0; p < n && status == 0; p++)
        status = add_own(f, p, &f->attrs[own + p]);
    free(results);
    return status ? status : record_flow(f, f->out[0]);
}

/* ---- cond -------------------------------------------------------------------------------------------------------- */
/* The examples that take branch p: those with its number as index; of the first and the last one, also those with what
 * is below or above. */
static neap_node *takers_of(flow *f, int p) {
    lazy_batching *g = f->g;
    int last = f->control->nprograms - 1;
    neap_node *from = BUILD2(greater_equal, g->in[0], NUMBER(p)), *to = BUILD2(less_equal, g->in[0], NUMBER(p));
    return p == 0      ? (last == 0 ? BUILD2(equal, g->in[0], g->in[0]) : to)
           : p == last ? from
                       : BUILD2(logical_and, from, to);
}

/* Records branch p on all examples, its effects for those that take it; chosen[k] gets its result for these. */
static int add_branch(flow *f, int p, neap_node **in, neap_node **out, neap_node **chosen) {
    lazy_batching *g = f->g;
    int n = f->control->nresults, main = main_inputs(f);
    memcpy(in, g->in + 1, (size_t)main * sizeof *in);
    memcpy(in + main, g->in + f->shape->const_at[p], (size_t)f->shape->consts[p] * sizeof *in);
    flags_of(f, p);
    int status = is_selective(f, p) ? apply_guarded(f, p, takers_of(f, p), in, out)
                                    : apply_batched(g, f->control->programs[p], in, f->flags[p], out, f->out[p]);
    neap_node *here = BUILD2(greater_equal, g->in[0], NUMBER(p)); /* the last that is not above the index */
    for (int k = 0; k < n && status == 0; k++) {
        int64_t shape[NEAP_MAX_DIMS + 1] = {g->size};
        int ndim = f->control->results[k].ndim;
        for (int a = 0; a < ndim; a++)
            shape[1 + a] = 1;
        out[k] = f->out[p][k] ? out[k] : derive_batch_broadcast(g, out[k]);
        neap_node *there = p && here ? graph_build_reshape(g->ctx, here, ndim + 1, shape) : NULL;
        chosen[k] = p ? BUILD3(where, there, out[k], chosen[k]) : out[k];
        status = chosen[k] ? 0 : neap_error_code();
    }
    return status;
}

/* All branches, of which each example takes its own. */
static int select_branches(flow *f) {
    lazy_batching *g = f->g;
    int n = f->control->nresults, status = 0;
    neap_node **chosen = nodes_new(n), **out = nodes_new(n), **in = nodes_new(g->node->nin);
    if (f->control->effects & (LAZY_EFFECTS_ORDERED | LAZY_EFFECTS_EXCHANGE))
        status = refuse_effects(f, "effects in its functions that would happen for some examples only");
    if (status == 0 && (!chosen || !out || !in))
        status = NEAP_E_MEMORY;
    for (int p = 0; p < f->control->nprograms && status == 0; p++)
        status = add_branch(f, p, in, out, chosen);
    for (int k = 0; k < n && status == 0; k++)
        status = derive_batch_give(g, chosen[k], true);
    g->out = g->in[0]; /* nobody reads it */
    free(chosen);
    free(out);
    free(in);
    return status;
}

static int batch_cond(flow *f) {
    int n = f->control->nprograms, nresults = f->control->nresults;
    if (f->g->batched[0])
        return select_branches(f);
    uint8_t *want = calloc((size_t)nresults + 1, 1);
    int status = want ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    for (int p = 0; p < n && status == 0; p++) {
        status = find_batched_outputs(f->g, f->control->programs[p], flags_of(f, p), f->out[p]);
        for (int k = 0; k < nresults && status == 0; k++)
            want[k] |= f->out[p][k];
    }
    for (int p = 0; p < n && status == 0; p++)
        status = derive(f->g, f->control->programs[p], f->flags[p], want, &f->programs[p], f->out[p]);
    if (status == 0)
        status = add_flow_input(f, f->g->in[0]);
    if (status == 0)
        status = add_main(f);
    for (int p = 0; p < n && status == 0; p++)
        status = add_own(f, p, &f->attrs[1 + p]);
    free(want);
    return status ? status : record_flow(f, f->out[0]);
}

/* ---- scan -------------------------------------------------------------------------------------------------------- */
/* Finds out which carries of a loop are batched: those that are at the start, and those that its body (program p)
 * makes so. */
static int fix_carries(flow *f, int p) {
    bool more = true;
    int status = 0;
    while (more && status == 0) {
        status = find_batched_outputs(f->g, f->control->programs[p], flags_of(f, p), f->out[p]);
        more = false;
        for (int k = 0; k < f->shape->operands && status == 0; k++) {
            more |= f->out[p][k] && !f->main[k];
            f->main[k] |= f->out[p][k];
        }
    }
    return status;
}

/* What the body of a loop has to give. */
static uint8_t *carries_wanted(const flow *f, const neap_program *body) {
    uint8_t *want = calloc((size_t)body->outputs.n + 1, 1);
    for (int k = 0; k < f->shape->operands && want; k++)
        want[k] = f->main[k] ? BATCHED : AS_IT_COMES;
    if (!want)
        neap_error(NEAP_E_MEMORY, "out of memory for a batch");
    return want;
}

static int batch_scan(flow *f) {
    neap_program *body = f->control->programs[0];
    int64_t own;
    int status = fix_carries(f, 0);
    uint8_t *want = status == 0 ? carries_wanted(f, body) : NULL;
    if (status == 0)
        status = want ? derive(f->g, body, flags_of(f, 0), want, &f->programs[0], f->out[0]) : NEAP_E_MEMORY;
    if (status == 0)
        status = add_main(f);
    if (status == 0)
        status = add_own(f, 0, &own);
    free(want);
    return status ? status : record_flow(f, f->out[0]);
}

/* ---- while_loop -------------------------------------------------------------------------------------------------- */
/* Inside a trace: the condition, and whether any example has it. */
static int record_condition(flow *f, int level, neap_node **out) {
    lazy_batching *g = f->g;
    int status = record_wanted(g, level, f->control->programs[0], f->flags[0], NULL, out, f->out[0]);
    if (status == 0)
        *out = graph_build(g->ctx, LAZY_OP_any, 1, out, 2, (int64_t[]){1, 0});
    return status ? status : *out ? 0 : neap_error_code();
}

/* Inside a trace: the body, which leaves the carries of examples without the condition as they are. Its inputs are
 * those of the body, then those that the condition has alone. */
static int record_body(flow *f, int level, neap_node **out) {
    lazy_batching *g = f->g;
    neap_program *condition = f->control->programs[0], *body = f->control->programs[1];
    int n = f->shape->operands;
    neap_node **in = nodes_new(body->inputs.n), **of_condition = nodes_new(condition->inputs.n), *holds = NULL;
    int status =
        in && of_condition ? derive_batch_inputs(g->ctx, g->size, level, body, 0, f->flags[1], in) : NEAP_E_MEMORY;
    if (status == 0) {
        memcpy(of_condition, in, (size_t)n * sizeof *in);
        status = derive_batch_inputs(g->ctx, g->size, level, condition, n, f->flags[0], of_condition);
    }
    if (status == 0)
        status = apply_batched(g, condition, of_condition, f->flags[0], &holds, f->out[0]);
    if (status == 0)
        status = is_selective(f, 1) ? apply_guarded(f, 1, holds, in, out)
                                    : apply_batched(g, body, in, f->flags[1], out, f->out[1]);
    for (int k = 0; k < n && status == 0; k++) {
        int64_t shape[NEAP_MAX_DIMS + 1] = {g->size};
        for (int a = 1; a < in[k]->ndim; a++)
            shape[a] = 1;
        neap_node *next = f->out[1][k] ? out[k] : derive_batch_broadcast(g, out[k]);
        out[k] = BUILD3(where, graph_build_reshape(g->ctx, holds, in[k]->ndim, shape), next, in[k]);
        f->out[1][k] = true;
        status = out[k] ? 0 : neap_error_code();
    }
    free(in);
    free(of_condition);
    return status;
}

static int derive_by(flow *f, int (*record)(flow *, int, neap_node **), int n, neap_program **program) {
    neap_node **out = nodes_new(n);
    int level, status = out ? graph_trace_derived(f->g->ctx, &level) : NEAP_E_MEMORY;
    if (status == 0) {
        status = record(f, level, out);
        if (status == 0)
            status = program_trace_end(f->g->ctx, level, n, out, program);
        if (status)
            graph_level_end(f->g->ctx, level);
    }
    free(out);
    return status;
}

/* The examples may stop at different turns. */
static int derive_each(flow *f) {
    if (f->control->effects & (LAZY_EFFECTS_ORDERED | LAZY_EFFECTS_EXCHANGE))
        return refuse_effects(f, "effects in its functions that would happen for some examples only");
    if (control_has_visible_effects(f->control->programs[0]))
        return refuse_effects(f, "effects in its condition, which is asked for all examples together");
    for (int k = 0; k < f->shape->operands; k++)
        f->main[k] = true;
    flags_of(f, 0);
    flags_of(f, 1);
    int status = derive_by(f, record_condition, 1, &f->programs[0]);
    return status ? status : derive_by(f, record_body, f->shape->operands, &f->programs[1]);
}

static int batch_while(flow *f) {
    neap_program *const *programs = f->control->programs;
    int status = fix_carries(f, 1);
    if (status == 0)
        status = find_batched_outputs(f->g, programs[0], flags_of(f, 0), f->out[0]);
    bool each = status == 0 && f->out[0][0];
    uint8_t *want = status == 0 && !each ? carries_wanted(f, programs[1]) : NULL;
    if (each)
        status = derive_each(f);
    else if (status == 0)
        status = want ? derive(f->g, programs[0], f->flags[0], NULL, &f->programs[0], f->out[0]) : NEAP_E_MEMORY;
    if (status == 0 && !each)
        status = derive(f->g, programs[1], flags_of(f, 1), want, &f->programs[1], f->out[1]);
    if (status == 0)
        status = add_main(f);
    if (status == 0)
        status = add_own(f, 0, &f->attrs[1]);
    if (status == 0)
        status = add_consts(f, 1);
    if (status == 0 && each)
        status = add_consts(f, 0);
    if (status == 0)
        status = add_captured(f, 1);
    free(want);
    return status ? status : record_flow(f, f->main);
}

/* ---- The rules --------------------------------------------------------------------------------------------------- */
static int batch_by(lazy_batching *g, int (*rule)(flow *f)) {
    flow f;
    int status = flow_begin(&f, g);
    if (status == 0)
        status = rule(&f);
    flow_end(&f);
    return status;
}

int control_call_batch(lazy_batching *g) {
    return control_has_batch_rule(g) ? control_batch_by_rule(g) : batch_by(g, batch_call);
}

int control_cond_batch(lazy_batching *g) {
    return batch_by(g, batch_cond);
}

int control_while_batch(lazy_batching *g) {
    return batch_by(g, batch_while);
}

int control_scan_batch(lazy_batching *g) {
    return batch_by(g, batch_scan);
}
