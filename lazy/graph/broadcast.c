/* broadcast.c: the shape that the operands of a map broadcast to; of shapes that do not, the axis at which they differ,
 * and a remedy that is sure to fit:
 *
 *     (4,) and (4, 3)          x:reshape(4, 1): the axes of the one are axes of the other, in one way
 *     (8,) and (2, 8, 5, 5)    x:reshape(8, 1, 1)
 *     (4,) and (4, 4, 3)       none: it may be either axis
 *     (3, 4) and (4, 3)        x.T
 */
#include <stdio.h>
#include <string.h>

#include "lazy/graph/graph.h"

/* ---- What fits --------------------------------------------------------------------------------------------------- */
/* Finds axes[0…n) in order among the extents `to`: the first ones that fit, or the last ones. Returns whether there are
 * such, and their places. */
static bool axes_find(int n, const int64_t *axes, int to_ndim, const int64_t *to, bool last, int *place) {
    int found = 0;
    for (int k = 0; k < to_ndim && found < n; k++) {
        int from = last ? n - 1 - found : found, at = last ? to_ndim - 1 - k : k;
        if (axes[from] == to[at]) {
            place[from] = at;
            found++;
        }
    }
    return found == n;
}

/* The one shape with the elements of `shape`, and axes of extent 1 between them, that broadcasts to `to`. Returns its
 * number of axes; 0: there is none, or more than one. */
static int shape_with_ones(int ndim, const int64_t *shape, int to_ndim, const int64_t *to, int64_t *result) {
    int64_t axes[NEAP_MAX_DIMS];
    int first[NEAP_MAX_DIMS], last[NEAP_MAX_DIMS], n = 0;
    for (int k = 0; k < ndim; k++)
        if (shape[k] != 1)
            axes[n++] = shape[k];
    if (n == 0 || !axes_find(n, axes, to_ndim, to, false, first) || !axes_find(n, axes, to_ndim, to, true, last) ||
        memcmp(first, last, (size_t)n * sizeof *first) != 0)
        return 0;
    int leading = to_ndim - first[0] < 2 && to_ndim > 1 ? first[0] - 1 : first[0]; /* (1, 3) says more than (3,) */
    for (int k = leading; k < to_ndim; k++)
        result[k - leading] = 1;
    for (int k = 0; k < n; k++)
        result[first[k] - leading] = axes[k];
    return to_ndim - leading;
}

const char *neap_broadcast_remedy(int ndim, const int64_t *shape, int to_ndim, const int64_t *to, char *text,
                                  size_t capacity) {
    int64_t fitting[NEAP_MAX_DIMS];
    char from[256], into[256];
    int count = shape_with_ones(ndim, shape, to_ndim, to, fitting);
    graph_shape_text(ndim, shape, from, sizeof from);
    text[0] = 0;
    if (count > 1) {
        graph_shape_text(count, fitting, into, sizeof into);
        snprintf(text, capacity, "; %s fits as x:reshape%s", from, into);
    } else if (ndim == 2 && to_ndim == 2 && shape[0] == to[1] && shape[1] == to[0]) {
        snprintf(text, capacity, "; %s fits as x.T", from);
    }
    return text;
}

/* ---- What does not ----------------------------------------------------------------------------------------------- */
/* Whether a remedy for one of two operands leaves the others as they are: those broadcast to the second. */
static bool others_fit(const lazy_call_desc *call, int one, int two) {
    const lazy_aval *to = &call->in[two];
    for (int k = 0; k < call->nin; k++) {
        const lazy_aval *in = &call->in[k];
        int lead = to->ndim - in->ndim;
        bool fits = k == one || lead >= 0;
        for (int a = 0; a < in->ndim && fits && k != one; a++)
            fits = in->shape[a] == 1 || in->shape[a] == to->shape[lead + a];
        if (!fits)
            return false;
    }
    return true;
}

/* The error of operand k, whose extent at an axis, counted from the last one, -1, is not that of an operand before. */
static int broadcast_fail(const char *name, const lazy_call_desc *call, int k, int axis, int64_t extent) {
    const lazy_aval *in = &call->in[k], *other = &call->in[0];
    int before = 0;
    while (before < k && (other->ndim < -axis || other->shape[other->ndim + axis] != extent))
        other = &call->in[++before];
    char left[256], right[256], where[64] = "", remedy[600] = "";
    if (in->ndim > 1 || other->ndim > 1)
        snprintf(where, sizeof where, ": %lld meets %lld at axis %d", (long long)extent,
                 (long long)in->shape[in->ndim + axis], axis);
    if (others_fit(call, before, k))
        neap_broadcast_remedy(other->ndim, other->shape, in->ndim, in->shape, remedy, sizeof remedy);
    if (!remedy[0] && others_fit(call, k, before))
        neap_broadcast_remedy(in->ndim, in->shape, other->ndim, other->shape, remedy, sizeof remedy);
    return neap_error(NEAP_E_SHAPE, "%s: shapes %s and %s do not broadcast%s%s", name,
                      graph_shape_text(other->ndim, other->shape, left, sizeof left),
                      graph_shape_text(in->ndim, in->shape, right, sizeof right), where, remedy);
}

int graph_broadcast(const char *name, const lazy_call_desc *call, lazy_result *out) {
    int ndim = call->in[0].ndim;
    bool same = true;
    for (int k = 1; k < call->nin; k++) {
        same &= graph_same_shape(call->in[0].ndim, call->in[0].shape, call->in[k].ndim, call->in[k].shape);
        ndim = call->in[k].ndim > ndim ? call->in[k].ndim : ndim;
    }
    out->ndim = (uint8_t)ndim;
    if (same) {
        for (int a = 0; a < ndim; a++)
            out->shape[a] = call->in[0].shape[a];
        return 0;
    }
    for (int a = 0; a < ndim; a++)
        out->shape[a] = 1;
    for (int k = 0; k < call->nin; k++) {
        const lazy_aval *in = &call->in[k];
        int64_t *shape = out->shape + ndim - in->ndim;
        for (int a = in->ndim - 1; a >= 0; a--) {
            if (shape[a] == 1)
                shape[a] = in->shape[a];
            else if (in->shape[a] != 1 && in->shape[a] != shape[a])
                return broadcast_fail(name, call, k, a - in->ndim, shape[a]);
        }
    }
    return 0;
}
