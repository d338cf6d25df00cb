/* weak.c: weak arrays, which are computed of numbers alone, as np.where(mask, 1, 0) is (docs/numbers.md).
 *
 * Their elements are f32, and look so; but where they meet arrays that have a dtype of their own, they take that as
 * numbers do: `yields` of the node says so, and `fraction` whether they are no integers, as far as is known. Both are
 * properties of the result of a call of graph_record, so they matter while something is recorded and to nothing else:
 * what is planned, run and saved has the dtypes that came of it. (A number by itself, LAZY_WEAK, is computed in f64.)
 */
#include "lazy/graph/graph.h"

/* Of the inputs of a row, those whose dtypes have to do with that of its result: first … end - 1. */
typedef struct weak_range {
    int first, end;
} weak_range;

static weak_range valued_inputs(const lazy_op *row, int nin) {
    return (weak_range){row->dtype == graph_dtype_where, row->kind == LAZY_GATHER && nin > 1 ? 1 : nin};
}

static bool is_untyped(const neap_node *node) {
    return node->yields || node->flags & LAZY_WEAK;
}

bool graph_meets_dtypes(const lazy_op *row, int nin, neap_node *const *in) {
    bool promotes = row->dtype == graph_dtype_promote || row->dtype == graph_dtype_real ||
                    row->dtype == graph_dtype_where || row->dtype == graph_dtype_compare;
    bool some = false;
    for (int k = row->dtype == graph_dtype_where; k < nin && promotes && !some; k++)
        some = !is_untyped(in[k]);
    return some;
}

/* Only elements that are there, or maps of them: not what sums, sorts or multiplies matrices. */
static bool stays_weak(const lazy_op *row, int nin, neap_node *const *in) {
    bool kind =
        row->kind == LAZY_MAP || row->kind == LAZY_VIEW || row->kind == LAZY_ASSEMBLE || row->kind == LAZY_GATHER;
    bool all = kind && !(row->flags & LAZY_OP_CASTS), arrays = row->dtype == graph_dtype_where;
    weak_range range = valued_inputs(row, nin);
    for (int k = range.first; k < range.end && all; k++) {
        all = is_untyped(in[k]);
        arrays |= in[k]->yields;
    }
    return all && arrays;
}

static bool is_fraction(neap_node *node) {
    return node->yields ? node->fraction : graph_number_is_fraction(node);
}

void graph_mark_weak(const lazy_op *row, int nin, neap_node *const *in, neap_node *node) {
    if (node->dtype != NEAP_DTYPE_F32 || node->flags & LAZY_WEAK || !stays_weak(row, nin, in))
        return;
    weak_range range = valued_inputs(row, nin);
    bool keeps = row->kind != LAZY_MAP || row->dtype == graph_dtype_where || row->dtype == graph_dtype_same ||
                 row->flags & LAZY_OP_INTEGRAL;
    bool fraction = !keeps, given = false;
    for (int k = range.first; k < range.end; k++) {
        fraction |= is_fraction(in[k]);
        given |= in[k] == node;
    }
    if (given) /* an input, which is what it is */
        return;
    node->yields = true;
    node->fraction = fraction;
}

void graph_weak_like(neap_node *node, const neap_node *like) {
    if (!like->yields || node->id || node->dtype != like->dtype)
        return;
    node->yields = true;
    node->fraction = like->fraction;
}
