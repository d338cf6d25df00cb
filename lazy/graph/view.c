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

bool graph_map_contiguous(int ndim, const int64_t *shape, const lazy_map *map) {
    int64_t s = 1;
    if (map->offset != 0)
        return false;
    for (int k = ndim - 1; k >= 0; k--) {
        if (shape[k] != 1 && map->stride[k] != s)
            return false;
        s *= shape[k];
    }
    return true;
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

bool graph_map_compose(int nbox, const int64_t *box, int64_t offset, const int64_t *stride, int ndim,
                       const int64_t *shape, int64_t inner_offset, const int64_t *inner, int64_t *out_offset,
                       int64_t *out, int64_t split[2]) {
    int64_t row[NEAP_MAX_DIMS], low[NEAP_MAX_DIMS], high[NEAP_MAX_DIMS], c[NEAP_MAX_DIMS];
    split[0] = -1;
    graph_row_major(ndim, shape, row);
    graph_take_apart(offset, ndim, row, low);
    *out_offset = inner_offset;
    memset(out, 0, (size_t)nbox * sizeof *out);
    for (int a = 0; a < ndim; a++) {
        high[a] = low[a];
        *out_offset += low[a] * inner[a];
    }
    for (int k = 0; k < nbox; k++) {
        if (box[k] == 1 || stride[k] == 0)
            continue;
        if (box[k] == 0)
            return true;
        graph_take_apart(stride[k], ndim, row, c);
        for (int a = 0; a < ndim; a++) {
            int64_t reach = c[a] * (box[k] - 1);
            if (reach > 0)
                high[a] += reach;
            else
                low[a] += reach;
            if ((low[a] < 0 || high[a] >= shape[a]) && split[0] < 0) {
                split[0] = k;
                split[1] = split_extent(box[k], c[a], shape[a]);
            }
            out[k] += c[a] * inner[a];
        }
    }
    if (split[0] >= 0 && split[1] == 0)
        split[0] = -1;
    for (int a = 0; a < ndim; a++)
        if (low[a] < 0 || high[a] >= shape[a])
            return false;
    return true;
}
