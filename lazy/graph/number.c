/* number.c: what becomes of a number where it meets an array (docs/numbers.md has the rules): whether it is a fraction,
 * and which dtypes can hold it. A number that is computed of others is what these are, as far as the ops between give
 * integers of integers. Arguments of a trace remember what was decided of them: `meets` of the node.
 */
#include <math.h>

#include "lazy/graph/graph.h"

enum { NUMBER_OPS = 64 }; /* nodes of which a number is computed, beyond which nobody looks */

/* Lists the constants, arguments and dropped numbers that a number is computed of, at most NUMBER_OPS. Returns how many
 * there are, or 0 if an op on the way may make fractions of integers, or there are too many. */
static int list_numbers(neap_node *number, neap_node **of) {
    int n = 1, leaves = 0;
    of[0] = number;
    for (int k = 0; k < n; k++) {
        if (graph_is_placeholder(of[k]) || graph_is_constant(of[k]) || of[k]->flags & LAZY_DROPPED) {
            of[leaves++] = of[k];
            continue;
        }
        if (!(graph_node_op(of[k])->flags & LAZY_OP_INTEGRAL) || of[k]->nin == 0 || n + of[k]->nin > NUMBER_OPS)
            return 0;
        for (int j = 0; j < of[k]->nin; j++)
            of[n++] = of[k]->in[j];
    }
    return leaves;
}

bool graph_number_looks_fraction(neap_node *number) {
    neap_node *of[NUMBER_OPS];
    if (graph_is_constant(number))
        return !isfinite(number->value) || number->value != floor(number->value);
    int n = list_numbers(number, of);
    bool fraction = n == 0;
    for (int k = 0; k < n; k++)
        fraction |= graph_is_constant(of[k])      ? !dtype_holds(NEAP_DTYPE_I64, of[k]->value)
                    : graph_is_placeholder(of[k]) ? (of[k]->meets & LAZY_NUMBER_FRACTION) != 0
                                                  : !(of[k]->meets >> NEAP_DTYPE_I64 & 1);
    return fraction;
}

void graph_note_wholeness(neap_node *number) {
    neap_node *of[NUMBER_OPS];
    int n = list_numbers(number, of);
    for (int k = 0; k < n; k++)
        if (graph_is_placeholder(of[k]))
            of[k]->meets |= LAZY_NUMBER_DECIDED;
}

bool graph_number_is_fraction(neap_node *number) {
    graph_note_wholeness(number);
    return graph_number_looks_fraction(number);
}

/* A number that is computed of others. */
static bool computed_number_meets(neap_node *number, int dtype) {
    neap_node *of[NUMBER_OPS];
    if (neap_dtype_kind(dtype) != 'i' || neap_dtype_bytes(dtype) < 8)
        return false;
    int n = list_numbers(number, of);
    for (int k = 0; k < n; k++)
        if (graph_is_constant(of[k])      ? !dtype_holds(dtype, of[k]->value)
            : graph_is_placeholder(of[k]) ? false
                                          : !(of[k]->meets >> dtype & 1))
            return false;
    for (int k = 0; k < n; k++)
        if (graph_is_placeholder(of[k]))
            of[k]->meets |= 1u << dtype;
    return n > 0;
}

bool graph_number_meets(neap_node *number, int dtype) {
    if (graph_is_constant(number))
        return dtype_holds(dtype, number->value);
    if (!graph_is_placeholder(number))
        return computed_number_meets(number, dtype);
    number->meets |= 1u << dtype;
    return true;
}

void graph_note_meetings(neap_node *number) {
    uint32_t meets = 0;
    for (int dtype = 0; dtype < NEAP_DTYPE_COUNT; dtype++)
        meets |= (uint32_t)computed_number_meets(number, dtype) << dtype;
    number->meets = meets;
}

neap_node *graph_compared_number(neap_ctx *ctx, double value, const graph_call *call) {
    for (int k = 0; k < call->nin; k++) {
        int dtype = call->in[k]->dtype;
        if (!(call->in[k]->flags & LAZY_WEAK) && !dtype_is_inexact(dtype) && value >= ldexp(1, dtype_digits(dtype)))
            value = (double)INFINITY;
    }
    return graph_constant(ctx, NEAP_DTYPE_F64, false, value);
}
