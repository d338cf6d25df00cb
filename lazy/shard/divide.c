/* shard/divide.c: an array of the host as one that lies on a mesh: each block is a copy of its part (shape.h).
 *
 * Nothing is recorded, so that it can be done while a trace is open: the blocks are data, and belong to no level.
 */
#include <string.h>

#include "lazy/shard/shape.h"

typedef struct box { /* part of an array, row-major */
    int ndim;
    size_t width; /* bytes of an element */
    const int64_t *shape;
    int64_t start[NEAP_MAX_DIMS], size[NEAP_MAX_DIMS];
} box;

/* Which of its parts along an axis of the array a position of the mesh has. */
static int64_t part_at(const lazy_sharding *lies, int position, int axis) {
    int64_t part = 0;
    for (int k = 0; k < NEAP_MESH_AXES && lies->split[axis][k]; k++) {
        int of = lies->split[axis][k] - 1;
        part = part * lies->mesh->sizes[of] + shard_mesh_coordinate(lies->mesh, position, of);
    }
    return part;
}

/* Copies the box from axis `axis` on, of what begins at `from`; returns where the copy ends. */
static char *copy_box(const box *b, int axis, const char *from, char *to) {
    size_t step = b->width;
    if (axis == b->ndim) {
        memcpy(to, from, b->width);
        return to + b->width;
    }
    for (int k = axis + 1; k < b->ndim; k++)
        step *= (size_t)b->shape[k];
    from += (size_t)b->start[axis] * step;
    if (axis == b->ndim - 1) {
        memcpy(to, from, (size_t)b->size[axis] * step);
        return to + (size_t)b->size[axis] * step;
    }
    for (int64_t k = 0; k < b->size[axis]; k++)
        to = copy_box(b, axis + 1, from + (size_t)k * step, to);
    return to;
}

static neap_node *copy_block(neap_ctx *ctx, const neap_node *whole, const lazy_sharding *lies, int b) {
    box part = {.ndim = whole->ndim, .width = (size_t)neap_dtype_bytes(whole->dtype), .shape = whole->shape};
    lazy_result type = {.dtype = whole->dtype, .ndim = whole->ndim};
    size_t bytes = part.width;
    neap_buffer *buffer;
    for (int a = 0; a < whole->ndim; a++) {
        part.size[a] = type.shape[a] = whole->shape[a] / shard_sharding_parts(lies, a);
        part.start[a] = part_at(lies, lies->position[b], a) * part.size[a];
        bytes *= (size_t)part.size[a];
    }
    if (neap_buffer_new(0, bytes, &buffer))
        return NULL;
    if (bytes)
        copy_box(&part, 0, graph_host_data(whole), neap_buffer_data(buffer));
    graph_count_bytes(ctx, (int64_t)bytes);
    neap_node *block = graph_node_of_buffer(ctx, &type, buffer);
    if (block)
        block->device = (int16_t)lies->home[b];
    return block;
}

neap_node *shard_divide(neap_ctx *ctx, const neap_node *whole, const lazy_sharding *lies) {
    lazy_result type = {.dtype = whole->dtype, .ndim = whole->ndim};
    memcpy(type.shape, whole->shape, whole->ndim * sizeof *whole->shape);
    neap_node *node = graph_data(ctx, &type);
    bool made = node && graph_node_mesh(node, lies) == 0;
    for (int b = 0; b < lies->nblocks && made; b++)
        made = (node->shards->blocks[b] = copy_block(ctx, whole, lies, b)) != NULL;
    if (made)
        return node;
    graph_release(ctx, node);
    neap_error(NEAP_E_MEMORY, "out of memory for an array on a mesh");
    return NULL;
}
