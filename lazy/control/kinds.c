/* control/kinds.c: the kinds of control flow: what tells calls, branches and loops apart for all files that handle
 * them, in one table. The rows (ops/control.c) refer to it, and say which inputs and attributes a kind has.
 */
#include "lazy/control/control.h"

/* ---- Taking attributes apart ------------------------------------------------------------------------------------- */
/* Counts of the consts of each program, from attribute `from` on; those of the last program may be what is left. */
static int count_consts(lazy_control *control, int nattrs, const int64_t *attrs, int from, int used) {
    lazy_control_shape *shape = &control->shape;
    int64_t at = used;
    for (int p = 0; p < control->nprograms; p++) {
        int64_t n = from + p < nattrs ? attrs[from + p] : shape->nin - at;
        if (n < 0 || n > shape->nin - at)
            return control_refuse(control, "more inputs are counted than there are");
        shape->consts[p] = (int32_t)n;
        shape->const_at[p] = (int32_t)at;
        at += n;
    }
    return at == shape->nin ? 0 : control_refuse(control, "there are more inputs than are counted");
}

static int parse_call(lazy_control *control, int nattrs, const int64_t *attrs) {
    static const int programs[] = {
        [NEAP_RULE_NONE] = 1, [NEAP_RULE_VJP] = 3, [NEAP_RULE_JVP] = 2, [NEAP_RULE_VMAP] = 1};
    bool used = nattrs > 0 && attrs[0] == NEAP_RULE_USED;
    lazy_control_shape *shape = &control->shape;
    if (nattrs != 3 + control->nprograms || attrs[0] < 0 || attrs[0] > NEAP_RULE_VMAP ||
        (!used && control->nprograms != programs[attrs[0]]) || attrs[1] < 0 || attrs[1] > shape->nin || attrs[2] < 0 ||
        attrs[2] > control->programs[0]->outputs.n)
        return control_refuse(control, "bad attributes");
    shape->rule = (int)attrs[0];
    shape->operands = (int)attrs[1];
    shape->results = (int)attrs[2];
    return count_consts(control, nattrs, attrs, 3, shape->operands);
}

static int parse_cond(lazy_control *control, int nattrs, const int64_t *attrs) {
    lazy_control_shape *shape = &control->shape;
    shape->first = 1;
    if (nattrs != 1 + control->nprograms || attrs[0] < 0 || attrs[0] > shape->nin - 1)
        return control_refuse(control, "bad attributes");
    shape->operands = (int)attrs[0];
    if (shape->in[0].dtype != NEAP_DTYPE_I32 || shape->in[0].ndim != 0)
        return control_refuse(control, "expected an index that is one i32");
    return count_consts(control, nattrs, attrs, 1, 1 + shape->operands);
}

static int parse_while(lazy_control *control, int nattrs, const int64_t *attrs) {
    lazy_control_shape *shape = &control->shape;
    if (nattrs != 2 || control->nprograms != 2 || attrs[0] < 0 || attrs[0] > shape->nin)
        return control_refuse(control, "bad attributes");
    shape->operands = (int)attrs[0];
    return count_consts(control, nattrs, attrs, 1, shape->operands);
}

static int parse_scan(lazy_control *control, int nattrs, const int64_t *attrs) {
    lazy_control_shape *shape = &control->shape;
    if (nattrs != 5 || control->nprograms != 1 || attrs[0] < 0 || attrs[2] < 1 || attrs[2] > INT32_MAX ||
        attrs[3] < 0 || attrs[3] > shape->nin || attrs[4] < 0 || attrs[4] > shape->nin - attrs[3])
        return control_refuse(control, "bad attributes");
    shape->length = attrs[0];
    shape->reverse = attrs[1] != 0;
    shape->unroll = (int)attrs[2];
    shape->operands = (int)attrs[3];
    shape->xs = (int)attrs[4];
    return count_consts(control, nattrs, attrs, nattrs, shape->operands + shape->xs);
}

/* ---- Writing them ------------------------------------------------------------------------------------------------ */
static int write_call(const lazy_control_shape *shape, int64_t operands, int64_t xs, int64_t results, int64_t *attrs) {
    (void)xs;
    attrs[0] = shape->rule == NEAP_RULE_NONE ? NEAP_RULE_NONE : NEAP_RULE_USED;
    attrs[1] = operands;
    attrs[2] = results;
    return 3;
}

static int write_operands(const lazy_control_shape *shape, int64_t operands, int64_t xs, int64_t results,
                          int64_t *attrs) {
    (void)shape, (void)xs, (void)results;
    attrs[0] = operands;
    return 1;
}

static int write_scan(const lazy_control_shape *shape, int64_t operands, int64_t xs, int64_t results, int64_t *attrs) {
    (void)results;
    attrs[0] = shape->length;
    attrs[1] = shape->reverse;
    attrs[2] = shape->unroll;
    attrs[3] = operands;
    attrs[4] = xs;
    return 5;
}

/* ---- Defaults ---------------------------------------------------------------------------------------------------- */
static bool call_default(const int64_t *attrs, int k) {
    return k == 0 && attrs[0] == NEAP_RULE_NONE;
}

static bool scan_default(const int64_t *attrs, int k) {
    enum { REVERSE = 1, UNROLL = 2 };
    return k == REVERSE ? attrs[k] == 0 : k == UNROLL && attrs[k] == 1;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */
const lazy_control_kind control_call = {
    .takes = 3, .rules = true, .parse = parse_call, .write = write_call, .is_default = call_default};
const lazy_control_kind control_cond = {.takes = 0, .branches = true, .parse = parse_cond, .write = write_operands};
const lazy_control_kind control_while = {
    .takes = -1, .loop = true, .condition = true, .rest = true, .parse = parse_while, .write = write_operands};
const lazy_control_kind control_scan = {.takes = 4,
                                        .loop = true,
                                        .stacks = true,
                                        .rest = true,
                                        .parse = parse_scan,
                                        .write = write_scan,
                                        .is_default = scan_default};
