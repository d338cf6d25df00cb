/* control/check.c: whether programs, attributes and inputs of a control node fit each other.
 *
 * Nodes come from traces, from rules and from files, so everything is checked here, once: what runs a body trusts it.
 * Which inputs are what stands in the rows (ops/control.c).
 */
#include <stdio.h>
#include <string.h>

#include "lazy/control/control.h"

int control_refuse(const lazy_control *control, const char *what) {
    return neap_error(NEAP_E_ARGUMENT, "%s: %s", lazy_ops[control->shape.op]->name, what);
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */
static const char *type_text(const lazy_result *aval, char *text, size_t capacity) {
    char shape[192];
    snprintf(text, capacity, "shape %s and dtype %s", graph_shape_text(aval->ndim, aval->shape, shape, sizeof shape),
             neap_dtype_name(aval->dtype));
    return text;
}

static bool same_type(const lazy_result *a, const lazy_result *b) {
    return a->dtype == b->dtype && a->ndim == b->ndim && memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) == 0;
}

static lazy_result type_of(const neap_node *node) {
    lazy_result aval = {.dtype = node->dtype, .ndim = node->ndim};
    memcpy(aval.shape, node->shape, node->ndim * sizeof *node->shape);
    return aval;
}

/* One turn's part of an xs. */
static lazy_result slice_of(const lazy_result *whole) {
    lazy_result slice = *whole;
    slice.ndim = (uint8_t)(whole->ndim - 1);
    memcpy(slice.shape, whole->shape + 1, slice.ndim * sizeof *slice.shape);
    return slice;
}

/* Input k of program p against what the node gives it. A number is given as an f64. */
static int check_body_input(const lazy_control *control, int p, int k, neap_node *node) {
    const lazy_control_shape *shape = &control->shape;
    const neap_node *want = control->programs[p]->inputs.at[k];
    bool loop = shape->kind->loop, slice = control_is_xs(shape, k);
    lazy_result given = type_of(node), takes = type_of(want);
    char left[256], right[256];
    if (slice) {
        if (given.ndim == 0 || given.shape[0] != shape->length)
            return neap_error(NEAP_E_SHAPE, "scan: input %d: expected a first axis of %lld, got %s", k + 1,
                              (long long)shape->length, type_text(&given, left, sizeof left));
        given = slice_of(&given);
    }
    if (want->flags & LAZY_WEAK && (slice || (loop && k < shape->operands)))
        return neap_error(NEAP_E_DTYPE, "%s: input %d: a number has no dtype to be carried", lazy_ops[shape->op]->name,
                          k + 1);
    if (node->flags & LAZY_WEAK && want->flags & LAZY_WEAK)
        return program_check(control->programs[p], k, node, false);
    if (!same_type(&given, &takes))
        return neap_error(NEAP_E_SHAPE, "%s: input %d: expected %s, got %s", lazy_ops[shape->op]->name, k + 1,
                          type_text(&takes, left, sizeof left), type_text(&given, right, sizeof right));
    return 0;
}

static int check_body_inputs(const lazy_control *control, neap_node *const *in) {
    const lazy_control_shape *shape = &control->shape;
    int own = shape->operands + shape->xs;
    for (int p = 0; p < control_bodies(control); p++) {
        if (control->programs[p]->inputs.n != own + shape->consts[p])
            return neap_error(NEAP_E_ARGUMENT, "%s: program %d has %lld inputs, expected %d", lazy_ops[shape->op]->name,
                              p + 1, (long long)control->programs[p]->inputs.n, own + shape->consts[p]);
        for (int k = 0; k < own + shape->consts[p]; k++) {
            int status = check_body_input(control, p, k, in[control_input_of(shape, p, k)]);
            if (status)
                return status;
        }
    }
    return 0;
}

/* Output k of program p must be of this type. */
static int check_output(const lazy_control *control, int p, int k, const lazy_result *want) {
    lazy_result given = type_of(control->programs[p]->outputs.at[k]);
    char left[256], right[256];
    if (same_type(&given, want))
        return 0;
    return neap_error(NEAP_E_SHAPE, "%s: result %d of program %d: expected %s, got %s",
                      lazy_ops[control->shape.op]->name, k + 1, p + 1, type_text(want, left, sizeof left),
                      type_text(&given, right, sizeof right));
}

/* Results of call and cond are those of their programs; of loops the carries, of a scan also the ys. */
static int check_outputs(lazy_control *control) {
    const lazy_control_shape *shape = &control->shape;
    bool loop = shape->kind->loop, stacks = shape->kind->stacks;
    int giver = control_giver(shape->kind);
    const neap_program *main = control->programs[giver];
    if (loop && (stacks ? main->outputs.n < shape->operands : main->outputs.n != shape->operands))
        return control_refuse(control, "the body does not return the carries");
    control->nresults = (int)main->outputs.n;
    control->results = calloc((size_t)control->nresults + 1, sizeof *control->results + sizeof *control->places);
    if (!control->results)
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    control->places = (int64_t *)(control->results + control->nresults + 1);
    for (int k = 0; k < control->nresults; k++) {
        lazy_result *result = &control->results[k];
        *result = type_of(main->outputs.at[k]);
        int status = loop && k < shape->operands ? check_output(control, giver, k, &shape->in[k]) : 0;
        for (int p = 1; p < control->nprograms && shape->kind->branches && status == 0; p++)
            status = control->programs[p]->outputs.n == control->nresults
                         ? check_output(control, p, k, result)
                         : control_refuse(control, "the branches have different numbers of results");
        if (status)
            return status;
        if (!control_is_stacked(shape, k))
            continue;
        if (result->ndim == NEAP_MAX_DIMS)
            return neap_error(NEAP_E_SHAPE, "scan: result %d would have more than %d axes", k + 1, NEAP_MAX_DIMS);
        memmove(result->shape + 1, result->shape, result->ndim * sizeof *result->shape);
        result->shape[0] = shape->length;
        result->ndim++;
    }
    return 0;
}

static int check_condition(const lazy_control *control) {
    const neap_program *condition = control->programs[0];
    if (!control->shape.kind->condition)
        return 0;
    if (condition->outputs.n == 1 && condition->outputs.at[0]->dtype == NEAP_DTYPE_BOOL &&
        condition->outputs.at[0]->ndim == 0)
        return 0;
    return control_refuse(control, "expected a condition that gives one bool");
}

/* Places of the results in the block; each has one of its own, also what is empty. */
static int lay_out_results(lazy_control *control) {
    for (int k = 0; k < control->nresults; k++) {
        int64_t bytes = neap_dtype_bytes(control->results[k].dtype);
        for (int a = 0; a < control->results[k].ndim; a++)
            if (__builtin_mul_overflow(bytes, control->results[k].shape[a], &bytes) || bytes > INT64_MAX / 16)
                return neap_error(NEAP_E_SHAPE, "%s: result %d is too large", lazy_ops[control->shape.op]->name, k + 1);
        control->places[k] = control->bytes;
        control->bytes += (bytes + !bytes + LAZY_BLOCK_ALIGN - 1) / LAZY_BLOCK_ALIGN * LAZY_BLOCK_ALIGN;
        if (control->bytes > INT64_MAX / 16)
            return neap_error(NEAP_E_SHAPE, "%s: the results are too large", lazy_ops[control->shape.op]->name);
    }
    control->bytes += control->bytes == 0; /* its variable is what the results wait for */
    return 0;
}

int control_check(lazy_control *control, const graph_call *call) {
    neap_node *const *in = call->in;
    int nin = call->nin;
    lazy_control_shape *shape = &control->shape;
    size_t programs = (size_t)control->nprograms;
    shape->nin = nin;
    shape->in = calloc(1, ((size_t)nin + 1) * sizeof *shape->in + 2 * programs * sizeof *shape->consts);
    if (!shape->in)
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    shape->consts = (int32_t *)(shape->in + nin + 1);
    shape->const_at = shape->consts + programs;
    for (int k = 0; k < nin; k++)
        shape->in[k] = type_of(in[k]);
    int status = shape->kind->parse(control, call->nattrs, call->attrs);
    if (status == 0)
        status = check_body_inputs(control, in);
    if (status == 0)
        status = check_condition(control);
    if (status == 0)
        status = check_outputs(control);
    return status ? status : lay_out_results(control);
}
