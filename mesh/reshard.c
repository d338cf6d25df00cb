/* reshard.c: blocks of one sharding from those of another: joined to the whole, then cut. */
#include <string.h>

#include "mesh/internal.h"

/* The blocks along one axis of the array joined, for all axes in turn: what is left is one node. */
static neap_node *joined(neap_ctx *ctx, const mesh_value *in, int ndim, int position) {
    const lazy_sharding *s = in->sharding;
    if (!s)
        return in->same;
    int axis = 0;
    while (axis < ndim && !s->split[axis][0])
        axis++;
    (void)axis;
    /* depth-first over the axes that are split */
    struct level {
        mesh_axes axes;
    } levels[NEAP_MAX_DIMS];
    int nlevels = 0, dims[NEAP_MAX_DIMS];
    for (int a = 0; a < ndim; a++) {
        if (!s->split[a][0])
            continue;
        mesh_axes axes = {.size = 1};
        for (int k = 0; k < NEAP_MESH_AXES && s->split[a][k]; k++) {
            axes.at[axes.n++] = s->split[a][k] - 1;
            axes.mask |= 1u << (s->split[a][k] - 1);
            axes.size *= s->mesh->sizes[s->split[a][k] - 1];
        }
        dims[nlevels] = a;
        levels[nlevels++].axes = axes;
    }
    int total = 1;
    for (int l = 0; l < nlevels; l++)
        total *= levels[l].axes.size;
    neap_node **parts = malloc((size_t)total * sizeof *parts);
    if (!parts)
        return NULL;
    for (int k = 0; k < total; k++) {
        int at = position, rest = k;
        for (int l = nlevels - 1; l >= 0; l--) {
            at = mesh_member(s->mesh, at, &levels[l].axes, rest % levels[l].axes.size);
            rest /= levels[l].axes.size;
        }
        neap_node *block = mesh_block_at(in, at);
        parts[k] = block ? mesh_at_home(ctx, block, -1) : NULL;
    }
    for (int l = nlevels - 1; l >= 0; l--) {
        int n = levels[l].axes.size;
        total /= n;
        for (int k = 0; k < total; k++)
            parts[k] =
                n == 1 ? parts[k * n] : lazy_build(ctx, LAZY_OP_concatenate, n, parts + k * n, 1, (int64_t[]){dims[l]});
    }
    neap_node *all = parts[0];
    free(parts);
    return all;
}

static neap_node *cut(neap_ctx *ctx, neap_node *x, const lazy_sharding *to, int position) {
    int64_t slice[3 * NEAP_MAX_DIMS];
    bool whole = true;
    for (int a = 0; a < x->ndim; a++) {
        mesh_axes axes = {.size = 1};
        for (int k = 0; k < NEAP_MESH_AXES && to->split[a][k]; k++) {
            axes.at[axes.n++] = to->split[a][k] - 1;
            axes.size *= to->mesh->sizes[to->split[a][k] - 1];
        }
        slice[3 * a + 2] = x->shape[a] / axes.size;
        slice[3 * a] = mesh_place(to->mesh, position, &axes) * slice[3 * a + 2];
        slice[3 * a + 1] = 1;
        whole &= axes.size == 1;
    }
    if (whole)
        return x;
    neap_node *view = lazy_build(ctx, LAZY_OP_slice, 1, &x, 3 * x->ndim, slice);
    return view && !(x->flags & LAZY_CONSTRUCTED) ? lazy_build1(ctx, LAZY_OP_copy, view) : view;
}

int mesh_reshard_blocks(neap_ctx *ctx, neap_node *node, const lazy_sharding *to, neap_node **blocks) {
    mesh_value in = mesh_value_of(node);
    int status = 0;
    for (int b = 0; b < to->nblocks && status == 0; b++) {
        neap_node *block = joined(ctx, &in, node->ndim, to->position[b]);
        block = block ? cut(ctx, block, to, to->position[b]) : NULL;
        block = block ? mesh_at_home(ctx, block, to->home[b]) : NULL;
        if (block)
            blocks[b] = lazy_retain(block);
        else
            status = neap_error_code();
    }
    return status;
}
