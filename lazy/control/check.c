/* control/check.c: whether programs, attributes and inputs of a control node fit each other.
 *
 * Nodes come from traces, from rules and from files, so everything is checked here, once: what runs a body trusts it.
 * Which inputs are what stands in the rows (ops/control.c).
 */
#include <stdio.h>
#include <string.h>

#include "lazy/control/control.h"

static int bad(const lazy_control *control, const char *what) {
    return neap_error(NEAP_E_ARGUMENT, "%s: %s", lazy_ops[control->shape.op]->name, what);
}

/* ---- Attributes --------------------------------------------------------------------------------------------------- */
/* Counts of the consts of each program, from attribute `from` on; those of the last program may be what is left. */
static int take_consts(lazy_control *control, int nattrs, const int64_t *attrs, int from, int used) {
    lazy_control_shape *shape = &control->shape;
    int64_t at = used;
    for (int p = 0; p < control->nprograms; p++) {
        int64_t n = from + p < nattrs ? attrs[from + p] : shape->nin - at;
        if (n < 0 || n > shape->nin - at)
            return bad(control, "more inputs are counted than there are");
        shape->consts[p] = (int32_t)n;
        shape->const_at[p] = (int32_t)at;
        at += n;
    }
    return at == shape->nin ? 0 : bad(control, "there are more inputs than are counted");
}

static int take_call(lazy_control *control, int nattrs, const int64_t *attrs) {
    static const int programs[] = {[NEAP_RULE_NONE] = 1, [NEAP_RULE_VJP] = 3, [NEAP_RULE_JVP] = 2};
    lazy_control_shape *shape = &control->shape;
    if (nattrs != 3 + control->nprograms || attrs[0] < 0 || attrs[0] > NEAP_RULE_JVP ||
        control->nprograms != programs[attrs[0]] || attrs[1] < 0 || attrs[1] > shape->nin || attrs[2] < 0 ||
        attrs[2] > control->programs[0]->outputs.n)
        return bad(control, "bad attributes");
    shape->rule = (int)attrs[0];
    shape->operands = (int)attrs[1];
    shape->results = (int)attrs[2];
    return take_consts(control, nattrs, attrs, 3, shape->operands);
}

static int take_cond(lazy_control *control, int nattrs, const int64_t *attrs) {
    lazy_control_shape *shape = &control->shape;
    shape->first = 1;
    if (nattrs != 1 + control->nprograms || attrs[0] < 0 || attrs[0] > shape->nin - 1)
        return bad(control, "bad attributes");
    shape->operands = (int)attrs[0];
    if (shape->in[0].dtype != NEAP_DTYPE_I32 || shape->in[0].ndim != 0)
        return bad(control, "expected an index that is one i32");
    return take_consts(control, nattrs, attrs, 1, 1 + shape->operands);
}

static int take_while(lazy_control *control, int nattrs, const int64_t *attrs) {
    lazy_control_shape *shape = &control->shape;
    if (nattrs != 2 || control->nprograms != 2 || attrs[0] < 0 || attrs[0] > shape->nin)
        return bad(control, "bad attributes");
    shape->operands = (int)attrs[0];
    return take_consts(control, nattrs, attrs, 1, shape->operands);
}

static int take_scan(lazy_control *control, int nattrs, const int64_t *attrs) {
    lazy_control_shape *shape = &control->shape;
    if (nattrs != 5 || control->nprograms != 1 || attrs[0] < 0 || attrs[2] < 1 || attrs[2] > INT32_MAX ||
        attrs[3] < 0 || attrs[3] > shape->nin || attrs[4] < 0 || attrs[4] > shape->nin - attrs[3])
        return bad(control, "bad attributes");
    shape->length = attrs[0];
    shape->reverse = attrs[1] != 0;
    shape->unroll = (int)attrs[2];
    shape->operands = (int)attrs[3];
    shape->xs = (int)attrs[4];
    return take_consts(control, nattrs, attrs, nattrs, shape->operands + shape->xs);
}

/* ---- Programs ----------------------------------------------------------------------------------------------------- */
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
static int check_input(const lazy_control *control, int p, int k, neap_node *node) {
    const lazy_control_shape *shape = &control->shape;
    const neap_node *want = control->programs[p]->inputs.at[k];
    bool loop = shape->op == LAZY_OP_while_loop || shape->op == LAZY_OP_scan;
    bool slice = k >= shape->operands && k < shape->operands + shape->xs;
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

static int check_inputs(const lazy_control *control, neap_node *const *in) {
    const lazy_control_shape *shape = &control->shape;
    int own = shape->operands + shape->xs, programs = shape->op == LAZY_OP_call ? 1 : control->nprograms;
    for (int p = 0; p < programs; p++) {
        if (control->programs[p]->inputs.n != own + shape->consts[p])
            return neap_error(NEAP_E_ARGUMENT, "%s: program %d has %lld inputs, expected %d", lazy_ops[shape->op]->name,
                              p + 1, (long long)control->programs[p]->inputs.n, own + shape->consts[p]);
        for (int k = 0; k < own + shape->consts[p]; k++) {
            int at = k < own ? shape->first + k : shape->const_at[p] + k - own;
            int status = check_input(control, p, k, in[at]);
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
    bool loop = shape->op == LAZY_OP_while_loop || shape->op == LAZY_OP_scan;
    const neap_program *main = control->programs[shape->op == LAZY_OP_while_loop ? 1 : 0];
    if (loop &&
        (shape->op == LAZY_OP_while_loop ? main->outputs.n != shape->operands : main->outputs.n < shape->operands))
        return bad(control, "the body does not return the carries");
    control->nresults = (int)main->outputs.n;
    control->results = calloc((size_t)control->nresults + 1, sizeof *control->results + sizeof *control->places);
    if (!control->results)
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    control->places = (int64_t *)(control->results + control->nresults + 1);
    for (int k = 0; k < control->nresults; k++) {
        lazy_result *result = &control->results[k];
        *result = type_of(main->outputs.at[k]);
        int status =
            loop && k < shape->operands ? check_output(control, shape->op == LAZY_OP_while_loop, k, &shape->in[k]) : 0;
        for (int p = 1; p < control->nprograms && shape->op == LAZY_OP_cond && status == 0; p++)
            status = control->programs[p]->outputs.n == control->nresults
                         ? check_output(control, p, k, result)
                         : bad(control, "the branches have different numbers of results");
        if (status)
            return status;
        if (shape->op != LAZY_OP_scan || k < shape->operands)
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
    if (control->shape.op != LAZY_OP_while_loop)
        return 0;
    if (condition->outputs.n == 1 && condition->outputs.at[0]->dtype == NEAP_DTYPE_BOOL &&
        condition->outputs.at[0]->ndim == 0)
        return 0;
    return bad(control, "expected a condition that gives one bool");
}

/* Places of the results in the block; each has one of its own, also what is empty. */
static int lay_out(lazy_control *control) {
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

int control_check(lazy_control *control, int nattrs, const int64_t *attrs, int nin, neap_node *const *in) {
    lazy_control_shape *shape = &control->shape;
    int status = 0;
    size_t programs = (size_t)control->nprograms;
    shape->nin = nin;
    shape->in = calloc(1, ((size_t)nin + 1) * sizeof *shape->in + 2 * programs * sizeof *shape->consts);
    if (!shape->in)
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    shape->consts = (int32_t *)(shape->in + nin + 1);
    shape->const_at = shape->consts + programs;
    for (int k = 0; k < nin; k++)
        shape->in[k] = type_of(in[k]);
    if (shape->op == LAZY_OP_call)
        status = take_call(control, nattrs, attrs);
    else if (shape->op == LAZY_OP_cond)
        status = take_cond(control, nattrs, attrs);
    else if (shape->op == LAZY_OP_while_loop)
        status = take_while(control, nattrs, attrs);
    else
        status = take_scan(control, nattrs, attrs);
    if (status == 0)
        status = check_inputs(control, in);
    if (status == 0)
        status = check_condition(control);
    if (status == 0)
        status = check_outputs(control);
    return status ? status : lay_out(control);
}
