/* window.c: reading an array that is put together from pieces without putting it together.
 *
 * A read of such an array goes from a box to its elements. If all of them lie in one piece, and no later piece covers
 * it, that piece is read instead. If an edge of a piece cuts through them, the box is cut there, and each part of the
 * kernel reads a piece of its own:
 *
 *      concatenate(a, b) * 2      a | b          one kernel over the elements of a, one over those of b
 *      pad(x, 1, 1) + 1         0 | x | 0        three kernels, two of which read the value that x is padded with
 *      concatenate(a, b)[:n]      a              with n elements in a: one kernel, which reads a
 *
 * That takes a single axis of the box that runs across the edge, and pieces whose elements are neighbours in the result
 * (pad with an interior has others). Anything else needs the whole array in memory.
 */
#include <string.h>

#include "lazy/plan/draft.h"

typedef struct place_span { /* along one axis of the assembled array: the places low … high */
    int64_t low, high;
} place_span;

typedef struct reach { /* where a read goes */
    place_span at[NEAP_MAX_DIMS];
    int64_t first[NEAP_MAX_DIMS];                 /* with all indices of the box 0 */
    int64_t step[LAZY_MAX_DOMAIN][NEAP_MAX_DIMS]; /* by axis of the box */
} reach;

/* False: the box runs over the end of an axis. */
static bool find_read_span(const lazy_fusion *fusion, const neap_node *node, const lazy_wide_map *map, reach *r) {
    int64_t row[NEAP_MAX_DIMS];
    memset(r, 0, sizeof *r);
    graph_row_major(node->ndim, node->shape, row);
    graph_take_apart(map->offset, node->ndim, row, r->first);
    for (int a = 0; a < node->ndim; a++)
        r->at[a].low = r->at[a].high = r->first[a];
    for (int k = 0; k < fusion->ndim; k++) {
        if (fusion->box[k] == 0)
            return false;
        if (fusion->box[k] == 1 || map->stride[k] == 0)
            continue;
        graph_take_apart(map->stride[k], node->ndim, row, r->step[k]);
        for (int a = 0; a < node->ndim; a++) {
            int64_t way = r->step[k][a] * (fusion->box[k] - 1);
            *(way > 0 ? &r->at[a].high : &r->at[a].low) += way;
        }
    }
    for (int a = 0; a < node->ndim; a++)
        if (r->at[a].low < 0 || r->at[a].high >= node->shape[a])
            return false;
    return true;
}

/* The places that a piece fills. False if there are others between them. */
static bool piece_spans(const neap_node *node, const lazy_piece *piece, place_span *to) {
    const neap_node *in = node->in[piece->input];
    int64_t row[NEAP_MAX_DIMS], at[NEAP_MAX_DIMS] = {0};
    graph_row_major(node->ndim, node->shape, row);
    graph_take_apart(piece->write.offset, node->ndim, row, at);
    for (int a = 0; a < node->ndim; a++) {
        int64_t extent = piece->fill ? piece->box[a] : in->shape[a];
        if (!piece->fill && extent > 1 && piece->write.stride[a] != row[a])
            return false;
        to[a] = (place_span){at[a], at[a] + extent - 1};
    }
    return true;
}

/* Cuts the box at the edge between the places below `edge` of axis a and the others. */
static int cut_box(const lazy_fusion *fusion, const reach *r, int ndim, int a, int64_t edge, lazy_cut *cut) {
    int across = -1;
    for (int k = 0; k < fusion->ndim; k++) {
        if (r->step[k][a] == 0)
            continue;
        if (across >= 0 || k >= fusion->nkept)
            return NEAP_PENDING;
        across = k;
    }
    for (int other = 0; other < ndim && across >= 0; other++)
        if (other != a && r->step[across][other] != 0)
            return NEAP_PENDING;
    int64_t step = across < 0 ? 0 : r->step[across][a], from = r->first[a];
    if (step != 0) {
        cut->axis = across;
        cut->at = step > 0 ? (edge - from + step - 1) / step : (from - edge) / -step + 1;
    }
    return NEAP_PENDING;
}

int plan_window_read(const lazy_fusion *fusion, neap_node **node, lazy_wide_map *map, lazy_cut *cut) {
    neap_node *whole = *node;
    lazy_piece pieces[NEAP_MAX_INPUTS + 1];
    int n = plan_node_pieces(whole, pieces);
    reach r;
    cut->axis = -1;
    if (n < 0)
        return n;
    if (!find_read_span(fusion, whole, map, &r))
        return NEAP_PENDING;
    for (int k = n - 1; k >= 0; k--) { /* later pieces are written over earlier ones */
        place_span piece[NEAP_MAX_DIMS];
        neap_node *in = whole->in[pieces[k].input];
        bool inside = true, apart = !pieces[k].fill && in->size == 0;
        if (!piece_spans(whole, &pieces[k], piece))
            return NEAP_PENDING;
        for (int a = 0; a < whole->ndim; a++) {
            inside &= r.at[a].low >= piece[a].low && r.at[a].high <= piece[a].high;
            apart |= r.at[a].high < piece[a].low || r.at[a].low > piece[a].high;
        }
        if (apart)
            continue;
        for (int a = 0; a < whole->ndim && !inside; a++) {
            if (r.at[a].low < piece[a].low)
                return cut_box(fusion, &r, whole->ndim, a, piece[a].low, cut);
            if (r.at[a].high > piece[a].high)
                return cut_box(fusion, &r, whole->ndim, a, piece[a].high + 1, cut);
        }
        int64_t row[NEAP_MAX_DIMS];
        graph_row_major(in->ndim, in->shape, row);
        lazy_wide_map to = {0};
        for (int a = 0; a < in->ndim; a++) {
            to.offset += (r.first[a] - piece[a].low) * row[a];
            for (int i = 0; i < fusion->ndim; i++)
                to.stride[i] += r.step[i][a] * row[a];
        }
        *map = to;
        *node = in;
        return 0;
    }
    return NEAP_PENDING; /* places that no piece fills: there are none */
}
