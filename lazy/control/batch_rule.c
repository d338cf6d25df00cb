/* control/batch_rule.c: batching a call whose function has a rule for batches (np.custom_vmap).
 *
 * The rule is a program that the caller of the batch has traced for these batched operands (neap_batch_rule). It is
 * recorded in place of the call, with its effects. A rule says nothing about what its function reads from around it, so
 * that must not be batched.
 */
#include <string.h>

#include "lazy/control/derive.h"
#include "lazy/derive/derive.h"
#include "lazy/program/program.h"

bool control_has_batch_rule(const lazy_batching *g) {
    const lazy_control *control = control_of(g->node);
    bool any = false;
    for (int k = 0; k < g->node->nin; k++)
        any |= g->batched[k];
    return any && control->shape.rule == NEAP_RULE_VMAP && derive_batch_has_rule(g, control->programs[0]);
}

static const char *site_of(const lazy_batching *g) {
    return g->node->site ? graph_site_text(g->ctx, g->node->site) : "an unknown line";
}

/* A rule that was read from a file may be anything. */
static int check_inputs(const neap_program *program, neap_node *const *in) {
    int status = 0;
    for (int64_t k = 0; k < program->inputs.n && status == 0; k++)
        if (!(program->inputs.at[k]->flags & LAZY_WEAK))
            status = program_check_type(program, (int)k, in[k], false);
    return status;
}

static int check_result(const lazy_batching *g, int k, bool batched, const neap_node *result) {
    const lazy_result *want = &control_of(g->node)->results[k];
    bool fits = result->dtype == want->dtype && result->ndim == want->ndim + batched &&
                (!batched || result->shape[0] == g->size) &&
                memcmp(result->shape + batched, want->shape, want->ndim * sizeof *want->shape) == 0;
    return fits
               ? 0
               : neap_error(NEAP_E_SHAPE,
                            "custom_vmap: result %d of the rule has another shape or dtype than the function's", k + 1);
}

/* Records what the rule does. in, out: room for its inputs and outputs. */
static int apply_rule(lazy_batching *g, const neap_batch_rule *rule, neap_node **in, neap_node **out) {
    const lazy_control_shape *shape = &control_of(g->node)->shape;
    int n = shape->operands, status = 0;
    memcpy(in, g->in, (size_t)n * sizeof *in);
    for (int k = 0; k < rule->nlifted && status == 0; k++)
        status = (in[n + k] = graph_lookup_any(g->ctx, rule->lifted[k])) ? 0 : neap_error_code();
    if (status == 0)
        status = check_inputs(rule->program, in);
    if (status == 0)
        status = derive_program_on(g->ctx, rule->program, in, out);
    for (int k = 0; k < shape->results && status == 0; k++)
        status = check_result(g, k, rule->batched[n + k], out[k]);
    for (int k = 0; k < shape->results && status == 0; k++)
        status = derive_batch_give(g, out[k], rule->batched[n + k]);
    g->out = g->in[0]; /* nobody reads it */
    return status;
}

int control_batch_by_rule(lazy_batching *g) {
    const lazy_control *control = control_of(g->node);
    int n = control->shape.operands, nresults = control->shape.results;
    for (int k = n; k < g->node->nin; k++)
        if (g->batched[k])
            return neap_error(NEAP_E_ARGUMENT,
                              "custom_vmap: the function that is called at %s reads an array that is batched from "
                              "around it; pass it as an argument",
                              site_of(g));
    const neap_batch_rule *rule = derive_batch_rule(g, control->programs[0], n, g->batched);
    if (!rule)
        return neap_error_code();
    if (rule->program->outputs.n != nresults)
        return neap_error(NEAP_E_ARGUMENT, "custom_vmap: the rule does not fit its call");
    if (g->guard && control_has_visible_effects(rule->program))
        return neap_error(NEAP_E_TRACE,
                          "custom_vmap: the function that is called at %s is reached by some examples only, and its "
                          "rule has effects",
                          site_of(g));
    neap_node **in = calloc((size_t)(n + rule->nlifted + nresults) + 1, sizeof *in);
    int status = in ? apply_rule(g, rule, in, in + n + rule->nlifted) : neap_error(NEAP_E_MEMORY, "out of memory");
    free(in);
    return status;
}
