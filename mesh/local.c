/* local.c: collectives, between blocks of this process as ordinary ops on them. What needs other processes is done
 * first (remote.c); here are the blocks that are left.
 *
 * Devices of the CPU share memory, so what a collective gives to several devices is one block, made once: a psum is a
 * tree of additions over the participants' blocks, which fuses into one pass over their memory that all cores share.
 *
 * Devices with memories of their own move no more than they must. Where they have collectives (engine/device.h) a psum
 * is cut into parts, one for each of them:
 *
 *      device 0   a0 a1 a2        a0 b0 c0 ──tree──▶ s0        s0 s1 s2
 *      device 1   b0 b1 b2  ──▶   a1 b1 c1 ──tree──▶ s1  join  s0 s1 s2       what an all-reduce moves, with our order
 *      device 2   c0 c1 c2        a2 b2 c2 ──tree──▶ s2  ──▶   s0 s1 s2
 *
 * The join is one node, as the result is one for all devices; its copies on the others are transfers (plan/transfer.c),
 * which the same collective fills. An all_gather is such a join alone. Without collectives all blocks go to one device.
 *
 * Combining follows a balanced tree over places along the axes: tree(lo, n) joins tree(lo, m) and tree(lo + m, n - m),
 * where m is the largest power of two below n. It is the same whatever processes the places belong to.
 */
#include <stdio.h>
#include <string.h>

#include "engine/comm/comm.h"
#include "engine/device.h"
#include "mesh/internal.h"
#include "ops_gen.h"

/* ---- Axes -------------------------------------------------------------------------------------------------------- */
static int add_axis(const lazy_mesh *mesh, const char *name, size_t length, mesh_axes *out) {
    for (int k = 0; k < mesh->naxes; k++)
        if (strlen(mesh->names[k]) == length && memcmp(mesh->names[k], name, length) == 0 && !(out->mask >> k & 1)) {
            out->at[out->n++] = k;
            out->mask |= 1u << k;
            out->size *= mesh->sizes[k];
            return 0;
        }
    return neap_error(NEAP_E_ARGUMENT, "the mesh has no axis '%.*s'", (int)length, name);
}

int mesh_axes_named(neap_ctx *ctx, const lazy_mesh *mesh, int64_t name, mesh_axes *out) {
    const char *text = name > 0 && name < ctx->sites.texts.n ? graph_site_text(ctx, (int32_t)name) : NULL;
    *out = (mesh_axes){.size = 1};
    if (!text)
        return neap_error(NEAP_E_ARGUMENT, "an op over an axis without a name");
    for (int status = 0;; text++) {
        size_t length = strcspn(text, ",");
        if ((status = add_axis(mesh, text, length, out)) != 0)
            return status;
        text += length;
        if (!*text)
            return 0;
    }
}

mesh_axes mesh_axes_masked(const lazy_mesh *mesh, uint32_t mask) {
    mesh_axes out = {.mask = mask, .size = 1};
    for (int k = 0; k < mesh->naxes; k++)
        if (mask >> k & 1) {
            out.at[out.n++] = k;
            out.size *= mesh->sizes[k];
        }
    return out;
}

int32_t mesh_axes_name(neap_ctx *ctx, const lazy_mesh *mesh, const mesh_axes *axes) {
    size_t bytes = 1;
    for (int k = 0; k < axes->n; k++)
        bytes += strlen(mesh->names[axes->at[k]]) + 1;
    char *text = malloc(bytes), *to = text;
    for (int k = 0; k < axes->n && text; k++)
        to += sprintf(to, "%s%s", k ? "," : "", mesh->names[axes->at[k]]);
    int32_t name = text ? neap_axis_name(ctx, text) : 0;
    free(text);
    return name;
}

int mesh_member(const lazy_mesh *mesh, int position, const mesh_axes *axes, int place) {
    for (int k = axes->n - 1; k >= 0; k--) {
        int size = mesh->sizes[axes->at[k]];
        position = shard_mesh_move(mesh, position, axes->at[k], place % size);
        place /= size;
    }
    return position;
}

int mesh_axes_position(const lazy_mesh *mesh, int position, const mesh_axes *axes) {
    int place = 0;
    for (int k = 0; k < axes->n; k++)
        place = place * mesh->sizes[axes->at[k]] + shard_mesh_coordinate(mesh, position, axes->at[k]);
    return place;
}

/* The blocks of all places along the axes, for the devices that agree with `position` on the others; committed to
 * nothing. */
static int gather_members(neap_ctx *ctx, const mesh_value *in, const lazy_mesh *mesh, const mesh_axes *axes,
                          int position, int home, neap_node **members) {
    for (int m = 0; m < axes->size; m++) {
        neap_node *block = mesh_block_at(in, mesh_member(mesh, position, axes, m));
        if (!block)
            return neap_error(NEAP_E_INTERNAL, "a collective lacks a block");
        if (!(members[m] = mesh_at_home(ctx, block, home)))
            return neap_error_code();
    }
    return 0;
}

/* Keeps what was built. */
static int keep_built(neap_node **to, neap_node *node) {
    if (!node)
        return neap_error_code();
    *to = graph_retain(node);
    return 0;
}

/* ---- Combining --------------------------------------------------------------------------------------------------- */
/* Joins n nodes in place, from the leaves up: what stands at multiples of `step` is the tree over the next `step`. */
static neap_node *tree(neap_ctx *ctx, int op, int n, neap_node **nodes) {
    for (int step = 1; step < n; step *= 2)
        for (int k = 0; k + step < n; k += 2 * step)
            if (!(nodes[k] = graph_build2(ctx, op, nodes[k], nodes[k + step])))
                return NULL;
    return nodes[0];
}

/* ---- Devices with memories of their own -------------------------------------------------------------------------- */
enum { APART_MOST = 64 };
typedef struct apart { /* the members of a group, each of whose blocks lies on a device with a memory of its own */
    int n, devices[APART_MOST];
    neap_node *blocks[APART_MOST];
} apart;

/* False: the group has none, or some members share a memory, or their blocks lie nowhere for sure. */
static bool find_apart(const mesh_value *in, const lazy_mesh *mesh, const mesh_axes *axes, int position, apart *out) {
    bool fits = axes->size > 1 && axes->size <= APART_MOST;
    out->n = axes->size;
    for (int m = 0; m < axes->size && fits; m++) {
        neap_node *block = mesh_block_at(in, mesh_member(mesh, position, axes, m));
        fits = block && block->device >= 0;
        for (int k = 0; k < m && fits; k++)
            fits = neap_device_memory_space(out->devices[k]) != neap_device_memory_space(block->device);
        if (fits) {
            out->blocks[m] = block;
            out->devices[m] = block->device;
        }
    }
    return fits;
}

/* Have they a collective that joins parts of so many elements? If not, np.explain tells why. */
static bool can_join(neap_ctx *ctx, const apart *who, int64_t elements) {
    int64_t bytes = elements * neap_dtype_bytes(who->blocks[0]->dtype);
    const char *lacks = neap_collective_lacks(who->n, who->devices, (size_t)bytes, who->n, who->devices);
    if (lacks)
        mesh_note_collective(ctx, lacks);
    return !lacks;
}

static neap_node *flat(neap_ctx *ctx, neap_node *node) {
    return graph_build_reshape(ctx, node, 1, &node->size);
}

/* Some elements of a flat node, on a device. */
static neap_node *part_at(neap_ctx *ctx, neap_node *node, int64_t from, int64_t elements, int device) {
    return mesh_at_home(ctx, graph_build_slice(ctx, node, (int64_t[]){from, 1, elements}), device);
}

/* The combination of all blocks: each device makes a part of it. In the arena. */
static neap_node *reduce_apart(neap_ctx *ctx, int op, const apart *who, int home) {
    neap_node *flats[APART_MOST], *sums[APART_MOST], *like = who->blocks[0];
    int64_t size = like->size, length = (size + who->n - 1) / who->n;
    int nparts = 0;
    for (int m = 0; m < who->n; m++)
        if (!(flats[m] = flat(ctx, who->blocks[m])))
            return NULL;
    for (int64_t from = 0; from < size; from += length) {
        neap_node *parts[APART_MOST];
        int64_t elements = length < size - from ? length : size - from;
        for (int m = 0; m < who->n; m++)
            if (!(parts[m] = part_at(ctx, flats[m], from, elements, who->devices[nparts])))
                return NULL;
        if (!(sums[nparts++] = tree(ctx, op, who->n, parts)))
            return NULL;
    }
    neap_node *all = graph_build(ctx, LAZY_OP_join, nparts, sums, 1, (int64_t[]){graph_home(ctx, home)});
    return all ? graph_build_reshape(ctx, all, like->ndim, like->shape) : NULL;
}

/* All blocks, along a new axis at `at`. In the arena. */
static neap_node *gather_apart(neap_ctx *ctx, const apart *who, int at, int home) {
    neap_node *flats[APART_MOST], *like = who->blocks[0];
    int64_t shape[NEAP_MAX_DIMS] = {who->n};
    for (int m = 0; m < who->n; m++)
        if (!(flats[m] = flat(ctx, who->blocks[m])))
            return NULL;
    memcpy(shape + 1, like->shape, like->ndim * sizeof *shape);
    neap_node *all = graph_build(ctx, LAZY_OP_join, who->n, flats, 1, (int64_t[]){graph_home(ctx, home)});
    return all ? mesh_move_axis(ctx, graph_build_reshape(ctx, all, like->ndim + 1, shape), 0, at) : NULL;
}

/* ---- Combining for a group --------------------------------------------------------------------------------------- */
/* The combination for the devices that agree with `position`; in the arena. */
static neap_node *reduce_group(neap_ctx *ctx, int op, const mesh_value *in, const lazy_mesh *mesh,
                               const mesh_axes *axes, int position, int home) {
    apart who;
    if (find_apart(in, mesh, axes, position, &who) && who.blocks[0]->size >= who.n &&
        can_join(ctx, &who, who.blocks[0]->size / who.n))
        return reduce_apart(ctx, op, &who, home);
    neap_node **members = malloc((size_t)axes->size * sizeof *members), *sum = NULL;
    if (!members)
        neap_error(NEAP_E_MEMORY, "out of memory for a collective");
    else if (gather_members(ctx, in, mesh, axes, position, home, members) == 0)
        sum = tree(ctx, op, axes->size, members);
    free(members);
    return sum;
}

int mesh_reduce(neap_ctx *ctx, int op, const mesh_value *in, const mesh_axes *axes, const lazy_sharding *to,
                neap_node **blocks) {
    const char *name = lazy_ops[op]->collective;
    mesh_remote far = {.kind = ENGINE_COMM_REDUCE, .op = op, .in = in, .axes = axes, .split = -1, .name = name};
    int status = mesh_exchange_groups(ctx, &far, to, blocks);
    for (int b = 0; b < to->nblocks && status == 0; b++)
        if (!blocks[b])
            status = keep_built(&blocks[b], reduce_group(ctx, op, in, to->mesh, axes, to->position[b], to->home[b]));
    return status;
}

/* ---- Joining and dealing out ------------------------------------------------------------------------------------- */
/* x with a new axis of size 1 at place `at`. */
static neap_node *with_axis(neap_ctx *ctx, neap_node *x, int at) {
    int64_t shape[NEAP_MAX_DIMS];
    if (!x)
        return NULL;
    memcpy(shape, x->shape, (size_t)at * sizeof *shape);
    shape[at] = 1;
    memcpy(shape + at + 1, x->shape + at, (size_t)(x->ndim - at) * sizeof *shape);
    return graph_build_reshape(ctx, x, x->ndim + 1, shape);
}

/* The members along a new axis at `at`. */
static neap_node *stack(neap_ctx *ctx, int n, neap_node **members, int at) {
    for (int m = 0; m < n; m++)
        if (!(members[m] = with_axis(ctx, members[m], at)))
            return NULL;
    return n == 1 ? members[0] : graph_build_concatenate(ctx, n, members, at);
}

static int check_positions(const char *op, const mesh_axes *axes) {
    return axes->size <= NEAP_MAX_INPUTS
               ? 0
               : neap_error(NEAP_E_ARGUMENT, "%s: over %d devices, more than %d", op, axes->size, NEAP_MAX_INPUTS);
}

/* All blocks of a group, along a new axis. In the arena. */
static neap_node *gather_group(neap_ctx *ctx, const mesh_value *in, const lazy_mesh *mesh, const mesh_axes *axes,
                               int position, int at, int home) {
    neap_node *members[NEAP_MAX_INPUTS];
    apart who;
    if (find_apart(in, mesh, axes, position, &who) && who.blocks[0]->size && can_join(ctx, &who, who.blocks[0]->size))
        return gather_apart(ctx, &who, at, home);
    int status = gather_members(ctx, in, mesh, axes, position, home, members);
    return status ? NULL : stack(ctx, axes->size, members, at);
}

int mesh_gather(neap_ctx *ctx, const mesh_value *in, const mesh_axes *axes, int at, const lazy_sharding *to,
                neap_node **blocks) {
    mesh_remote far = {
        .kind = ENGINE_COMM_GATHER, .op = -1, .in = in, .axes = axes, .split = -1, .concat = at, .name = "all_gather"};
    int status = check_positions("all_gather", axes);
    if (status == 0)
        status = mesh_exchange_groups(ctx, &far, to, blocks);
    for (int b = 0; b < to->nblocks && status == 0; b++)
        if (!blocks[b])
            status = keep_built(&blocks[b], gather_group(ctx, in, to->mesh, axes, to->position[b], at, to->home[b]));
    return status;
}

/* A part of the sum, from the same parts of all blocks, where these are apart. In the arena. */
static neap_node *sum_part(neap_ctx *ctx, const apart *who, int at, int place, int home) {
    neap_node *parts[APART_MOST];
    for (int m = 0; m < who->n; m++)
        if (!(parts[m] = mesh_part(ctx, who->blocks[m], at, place)) || !(parts[m] = mesh_at_home(ctx, parts[m], home)))
            return NULL;
    return tree(ctx, LAZY_OP_add, who->n, parts);
}

/* The sum is made once, for all; each takes its part of it, which is a view. Devices apart make their parts. */
static int scatter_here(neap_ctx *ctx, const mesh_value *in, const mesh_axes *axes, int at, const lazy_sharding *to,
                        neap_node **sums, const lazy_sharding *shared, neap_node **blocks) {
    int status = 0;
    for (int b = 0; b < to->nblocks && status == 0; b++) {
        int position = to->position[b];
        neap_node **sum = &sums[shard_sharding_block(shared, position)];
        apart who;
        if (blocks[b])
            continue;
        if (to->home[b] >= 0 && find_apart(in, to->mesh, axes, position, &who)) {
            int place = mesh_axes_position(to->mesh, position, axes);
            status = keep_built(&blocks[b], sum_part(ctx, &who, at, place, to->home[b]));
            continue;
        }
        if (!*sum && !(*sum = reduce_group(ctx, LAZY_OP_add, in, to->mesh, axes, position, -1)))
            return neap_error_code();
        neap_node *own = mesh_part(ctx, *sum, at, mesh_axes_position(to->mesh, position, axes));
        status = keep_built(&blocks[b], own ? mesh_at_home(ctx, own, to->home[b]) : NULL);
    }
    return status;
}

int mesh_scatter(neap_ctx *ctx, const mesh_value *in, const mesh_axes *axes, int at, const lazy_sharding *to,
                 neap_node **blocks) {
    mesh_remote far = {
        .kind = ENGINE_COMM_SCATTER, .op = LAZY_OP_add, .in = in, .axes = axes, .split = at, .name = "psum_scatter"};
    lazy_sharding like = *to;
    like.differs &= ~axes->mask;
    mesh_remove_axes(&like, axes->mask);
    const lazy_sharding *shared = shard_sharding_intern(&like);
    neap_node **sums = shared ? calloc((size_t)shared->nblocks + 1, sizeof *sums) : NULL;
    int status = sums ? mesh_exchange_groups(ctx, &far, to, blocks)
                      : neap_error(NEAP_E_MEMORY, "out of memory for a collective");
    if (status == 0)
        status = scatter_here(ctx, in, axes, at, to, sums, shared, blocks);
    free(sums);
    return status;
}

int mesh_exchange(neap_ctx *ctx, const mesh_value *in, const mesh_axes *axes, int split, int concat,
                  const lazy_sharding *to, neap_node **blocks) {
    neap_node *members[NEAP_MAX_INPUTS];
    mesh_remote far = {.kind = ENGINE_COMM_SWAP,
                       .op = -1,
                       .in = in,
                       .axes = axes,
                       .split = split,
                       .concat = concat,
                       .name = "all_to_all"};
    int status = check_positions("all_to_all", axes);
    if (status == 0)
        status = mesh_exchange_groups(ctx, &far, to, blocks);
    for (int b = 0; b < to->nblocks && status == 0; b++) {
        int position = to->position[b];
        if (blocks[b])
            continue;
        int place = mesh_axes_position(to->mesh, position, axes);
        for (int m = 0; m < axes->size && status == 0; m++) { /* parts are moved, not blocks */
            neap_node *block = mesh_block_at(in, mesh_member(to->mesh, position, axes, m));
            neap_node *part = block ? mesh_part(ctx, block, split, place) : NULL;
            if (!block)
                status = neap_error(NEAP_E_INTERNAL, "a collective lacks a block");
            else if (!part || !(members[m] = mesh_at_home(ctx, part, to->home[b])))
                status = neap_error_code();
        }
        if (status == 0)
            status = keep_built(&blocks[b], stack(ctx, axes->size, members, concat));
    }
    return status;
}

/* Zeros like a block. */
static neap_node *zeros(neap_ctx *ctx, const neap_node *node) {
    neap_node *zero = graph_arena(ctx, graph_constant(ctx, node->dtype, false, 0));
    return zero ? graph_build_broadcast(ctx, zero, node->ndim, node->shape) : NULL;
}

static int permute_far(neap_ctx *ctx, const mesh_value *in, const mesh_axes *axes, const int64_t *sources,
                       const lazy_sharding *to, neap_node **blocks) {
    int32_t *source = malloc((size_t)axes->size * sizeof *source);
    if (!source)
        return neap_error(NEAP_E_MEMORY, "out of memory for a collective");
    for (int m = 0; m < axes->size; m++)
        source[m] = (int32_t)sources[m];
    mesh_remote far = {.kind = ENGINE_COMM_PERMUTE,
                       .op = -1,
                       .in = in,
                       .axes = axes,
                       .split = -1,
                       .source = source,
                       .name = "ppermute"};
    int status = mesh_exchange_groups(ctx, &far, to, blocks);
    free(source);
    return status;
}

int mesh_permute(neap_ctx *ctx, const mesh_value *in, const mesh_axes *axes, const int64_t *sources,
                 const lazy_sharding *to, neap_node **blocks) {
    int status = permute_far(ctx, in, axes, sources, to, blocks);
    for (int b = 0; b < to->nblocks && status == 0; b++) {
        int position = to->position[b];
        int64_t source = sources[mesh_axes_position(to->mesh, position, axes)];
        if (blocks[b])
            continue;
        neap_node *block =
            mesh_block_at(in, source < 0 ? position : mesh_member(to->mesh, position, axes, (int)source));
        if (source < 0)
            block = zeros(ctx, block);
        status = keep_built(&blocks[b], block ? mesh_at_home(ctx, block, to->home[b]) : NULL);
    }
    return status;
}
