/* view.c: the algebra of affine views.
 *
 * A view reads element offset + Σ i[k]·stride[k] of its base, whose elements count in row-major order. Views of views
 * and reads through fused maps need the composition of two such maps. The outer one gives a row-major index into a
 * shape; to go on, that index must be taken apart into one index per axis, and this is possible without carries only
 * if the outer map moves along each axis within its extent:
 *
 *      outer stride s = Σ_a c[a]·rowstride[a]     (from the largest row stride down)
 *      for each axis a:  0 ≤ o[a] + Σ_k c[k][a]·i[k] < shape[a]  over the whole box
 *
 * Where an axis of the box runs through several axes of the shape (a reshape that merges), the box can be refined: its
 * axis is split in two, and the caller tries again.
 */
#include <string.h>

#include "lazy/graph/graph.h"

void graph_row_major(int ndim, const int64_t *shape, int64_t *stride) {
    int64_t s = 1;
    for (int k = ndim - 1; k >= 0; k--) {
        stride[k] = s;
        s *= shape[k] ? shape[k] : 1;
    }
}

bool graph_strides_contiguous(int ndim, const int64_t *shape, const int64_t *stride) {
    int64_t s = 1;
    for (int k = ndim - 1; k >= 0; k--) {
        if (shape[k] != 1 && stride[k] != s)
            return false;
        s *= shape[k];
    }
    return true;
}

bool graph_map_contiguous(int ndim, const int64_t *shape, const lazy_map *map) {
    return map->offset == 0 && graph_strides_contiguous(ndim, shape, map->stride);
}

void graph_take_apart(int64_t index, int ndim, const int64_t *row, int64_t *out) {
    for (int a = 0; a < ndim; a++) {
        out[a] = index / row[a];
        index -= out[a] * row[a];
    }
}

/* Where box axis `k` leaves axis `a` of the shape, the extent at which to split it: the steps that fit into `a`. */
static int64_t split_extent(int64_t extent, int64_t c, int64_t size) {
    if (c == 0)
        return 0;
    int64_t step = c < 0 ? -c : c;
    if (size % step != 0)
        return 0;
    int64_t inner = size / step;
    return inner > 1 && inner < extent && extent % inner == 0 ? inner : 0;
}

bool graph_map_compose(const lazy_box_map *outer, const lazy_box_map *inner, int64_t *offset, int64_t *stride,
                       lazy_split *split) {
    const int64_t *box = outer->shape, *shape = inner->shape;
    int64_t row[NEAP_MAX_DIMS], low[NEAP_MAX_DIMS], high[NEAP_MAX_DIMS], c[NEAP_MAX_DIMS];
    split->axis = -1;
    graph_row_major(inner->ndim, shape, row);
    graph_take_apart(outer->offset, inner->ndim, row, low);
    *offset = inner->offset;
    memset(stride, 0, (size_t)outer->ndim * sizeof *stride);
    for (int a = 0; a < inner->ndim; a++) {
        high[a] = low[a];
        *offset += low[a] * inner->stride[a];
    }
    for (int k = 0; k < outer->ndim; k++) {
        if (box[k] == 1 || outer->stride[k] == 0)
            continue;
        if (box[k] == 0)
            return true;
        graph_take_apart(outer->stride[k], inner->ndim, row, c);
        for (int a = 0; a < inner->ndim; a++) {
            int64_t reach = c[a] * (box[k] - 1);
            if (reach > 0)
                high[a] += reach;
            else
                low[a] += reach;
            if ((low[a] < 0 || high[a] >= shape[a]) && split->axis < 0)
                *split = (lazy_split){.axis = k, .inner = split_extent(box[k], c[a], shape[a])};
            stride[k] += c[a] * inner->stride[a];
        }
    }
    if (split->axis >= 0 && split->inner == 0)
        split->axis = -1;
    for (int a = 0; a < inner->ndim; a++)
        if (low[a] < 0 || high[a] >= shape[a])
            return false;
    return true;
}
