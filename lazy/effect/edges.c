/* edges.c: prints of large arrays that have not been computed.
 *
 * Of a large array a print shows the first and the last elements along each axis. So what is printed of one that has no
 * buffer is not the array but these elements, put together:
 *
 *      x (9, 9)   ─▶   x[0:3], x[6:9]   ─▶   (6, 9)   ─▶   (6, 6)       a layout that is cut
 *
 * What they do not depend on is not computed, where x is made of maps, views and constructors; x stays as it was. An
 * array that has a buffer, or is small, is shown itself: of the first the print reads no more either, and computing the
 * second whole costs little and serves later readers.
 */
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/graph/graph.h"
#include "lazy/plan/plan.h"

enum { LARGE = 1 << 16 }; /* elements */

/* `count` parts of an axis, from `first` on. In the arena. */
static neap_node *slice_of_axis(neap_ctx *ctx, neap_node *node, int axis, int64_t first, int64_t count) {
    int64_t slice[3 * NEAP_MAX_DIMS];
    for (int k = 0; k < node->ndim; k++) {
        slice[3 * k] = k == axis ? first : 0;
        slice[3 * k + 1] = 1;
        slice[3 * k + 2] = k == axis ? count : node->shape[k];
    }
    return graph_build_slice(ctx, node, slice);
}

neap_node *effect_edges_of(neap_ctx *ctx, neap_node *node) {
    for (int k = 0; node && k < node->ndim; k++) {
        if (node->shape[k] <= 2 * LAZY_FORMAT_EDGE)
            continue;
        neap_node *ends[2] = {slice_of_axis(ctx, node, k, 0, LAZY_FORMAT_EDGE),
                              slice_of_axis(ctx, node, k, node->shape[k] - LAZY_FORMAT_EDGE, LAZY_FORMAT_EDGE)};
        node = graph_build_concatenate(ctx, 2, ends, k);
    }
    return node;
}

/* What is recorded on a tape, or waits for a program to be made of it, is left alone. */
static bool is_shown_by_edges(const lazy_fragment *fragment, neap_node *const *nodes) {
    if (fragment->n != 1 || fragment->text || fragment->layout)
        return false;
    neap_node *node = nodes[fragment->first];
    uint8_t state = graph_read_target(node)->state;
    return node->size >= LARGE && graph_format_cuts(node->size) && !node->buffer && !graph_is_meshed(node) &&
           !(node->flags & LAZY_ABSTRACT) && !node->levels && state != LAZY_DEFERRED && state != LAZY_STAGED;
}

bool effect_edges_needed(neap_ctx *ctx, int n, const lazy_fragment *fragments, neap_node *const *nodes) {
    bool needed = false;
    for (int k = 0; k < n && !needed && !ctx->levels.n; k++)
        needed = is_shown_by_edges(&fragments[k], nodes);
    return needed;
}

/* Adds a fragment, with its nodes or with the edges of its array. */
static int show_fragment(neap_ctx *ctx, const lazy_fragment *from, neap_node *const *nodes, lazy_shown *out) {
    lazy_fragment f = *from;
    bool edges = is_shown_by_edges(from, nodes);
    f.first = (int32_t)out->nodes.n;
    f.layout = NULL;
    for (int32_t b = 0; b < from->n; b++) {
        neap_node *node = nodes[from->first + b];
        neap_node *shown = edges ? effect_edges_of(ctx, node) : node;
        int status = shown ? lazy_push(&out->nodes, shown) : neap_error_code();
        if (status)
            return status;
        graph_retain(shown);
    }
    if ((edges || from->layout) && !(f.layout = calloc(1, sizeof *f.layout)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a print");
    if (from->layout) {
        *f.layout = *from->layout;
    } else if (edges) {
        const neap_node *node = nodes[from->first];
        *f.layout = (lazy_layout){.ndim = node->ndim, .cut = true};
        memcpy(f.layout->shape, node->shape, node->ndim * sizeof *node->shape);
        for (int k = 0; k < node->ndim; k++)
            f.layout->parts[k] = 1;
    }
    int status = lazy_push(&out->fragments, f);
    if (status)
        free(f.layout);
    return status;
}

int effect_edges(neap_ctx *ctx, int n, const lazy_fragment *fragments, neap_node *const *nodes, lazy_shown *out) {
    int status = 0;
    plan_hold(ctx);
    for (int k = 0; k < n && status == 0; k++)
        status = show_fragment(ctx, &fragments[k], nodes, out);
    int held = plan_unhold(ctx);
    return status ? status : held;
}
