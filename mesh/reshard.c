/* reshard.c: an array that lies one way as it lies another way: the blocks of the one made of parts of the blocks of
 * the other, by ordinary ops (slices, concatenations).
 *
 *      (8, 6) divided as P("i", nil) over 2          as P(nil, "j") over 3
 *      ┌───────────┐ block 0                         ┌───┬───┬───┐
 *      ├───────────┤                            ─▶   │   │   │   │   block 0: [:, 0:2] of both, joined along axis 0
 *      └───────────┘ block 1                         └───┴───┴───┘
 *
 * A block that is there already is taken as it is. What is cut out of an ordinary array, of which other devices need
 * other parts, gets memory of its own, so that the array can go; but for constructors, which are made where they are
 * read, and for inputs that an op cuts for itself, which are views.
 *
 * Where a process does not have the blocks that its own are made of, the array is moved by steps, each of which all
 * processes take: what is divided otherwise is gathered, or dealt out along another axis, over one axis of the mesh
 * after the other; then each process cuts what it needs. The steps are chosen by the two shardings and the shape alone.
 */
#include <string.h>

#include "lazy/shard/shard.h"
#include "mesh/internal.h"
#include "ops_gen.h"

typedef struct reshard_work { /* one block of the result */
    neap_ctx *ctx;
    const mesh_value *from;
    const lazy_sharding *to;
    int b;
    /* A position on the mesh of `from`: the block is made of those that agree with it where `from` is not split. */
    int base;
    int ndim;
    int64_t shape[NEAP_MAX_DIMS];                      /* of the array */
    int64_t start[NEAP_MAX_DIMS], size[NEAP_MAX_DIMS]; /* what the block is of it */
    int64_t parts[NEAP_MAX_DIMS],
        part[NEAP_MAX_DIMS]; /* in how many parts `from` has each axis; the one that is looked at */
    bool missing;            /* a part is in another process */
} reshard_work;

/* The axes of the mesh that divide axis `axis` of the array. */
static mesh_axes axes_of(const lazy_sharding *s, int axis) {
    mesh_axes axes = {.size = 1};
    for (int k = 0; k < NEAP_MESH_AXES && s->split[axis][k]; k++) {
        axes.at[axes.n++] = s->split[axis][k] - 1;
        axes.mask |= 1u << (s->split[axis][k] - 1);
        axes.size *= s->mesh->sizes[s->split[axis][k] - 1];
    }
    return axes;
}

static reshard_work work_of(neap_ctx *ctx, const neap_node *node, const mesh_value *from, const lazy_sharding *to,
                            int b) {
    const lazy_sharding *s = from->sharding;
    reshard_work j = {.ctx = ctx, .from = from, .to = to, .b = b, .base = to->position[b], .ndim = node->ndim};
    if (s && s->mesh != to->mesh)
        j.base = s->nblocks ? s->position[0] : 0;
    for (int axis = 0; axis < node->ndim; axis++) {
        mesh_axes axes = axes_of(to, axis);
        j.shape[axis] = node->shape[axis];
        j.size[axis] = node->shape[axis] / axes.size;
        j.start[axis] = mesh_axes_position(to->mesh, to->position[b], &axes) * j.size[axis];
        j.parts[axis] = s ? shard_sharding_parts(s, axis) : 1;
    }
    return j;
}

/* ---- Putting a block together ------------------------------------------------------------------------------------ */
/* The block of `from` that j->part says, without what lies outside of the one that is made. */
static neap_node *cut_source_block(reshard_work *j) {
    const lazy_sharding *s = j->from->sharding;
    int64_t slice[3 * NEAP_MAX_DIMS];
    int position = j->base;
    bool whole = true;
    for (int axis = 0; axis < j->ndim; axis++) {
        int64_t extent = j->shape[axis] / j->parts[axis], first = j->part[axis] * extent;
        int64_t from = j->start[axis] > first ? j->start[axis] : first;
        int64_t end = j->start[axis] + j->size[axis] < first + extent ? j->start[axis] + j->size[axis] : first + extent;
        slice[3 * axis] = end > from ? from - first : 0;
        slice[3 * axis + 1] = 1;
        slice[3 * axis + 2] = end > from ? end - from : 0;
        whole &= slice[3 * axis + 2] == extent;
        if (s) {
            mesh_axes axes = axes_of(s, axis);
            position = mesh_member(s->mesh, position, &axes, (int)j->part[axis]);
        }
    }
    neap_node *block = mesh_block_at(j->from, position);
    j->missing |= !block;
    if (block && !whole) {
        bool own = !s && mesh_is_asked(j->ctx) && !(block->flags & (LAZY_CONSTRUCTED | LAZY_ABSTRACT));
        block = graph_build_slice(j->ctx, block, slice);
        block =
            own && block ? graph_build1(j->ctx, LAZY_OP_copy, mesh_at_home(j->ctx, block, j->to->home[j->b])) : block;
    }
    return block ? mesh_at_home(j->ctx, block, j->to->home[j->b]) : NULL;
}

/* Joins n > 0 nodes along an axis, as many at once as an op takes. Uses up `parts`. */
static neap_node *join_nodes(neap_ctx *ctx, int64_t n, neap_node **parts, int axis) {
    while (n > 1) {
        int64_t groups = 0;
        for (int64_t k = 0; k < n; k += NEAP_MAX_INPUTS, groups++) {
            int count = (int)(n - k < NEAP_MAX_INPUTS ? n - k : NEAP_MAX_INPUTS);
            parts[groups] = count == 1 ? parts[k] : graph_build_concatenate(ctx, count, parts + k, axis);
            if (!parts[groups])
                return NULL;
        }
        n = groups;
    }
    return parts[0];
}

/* What the block is of the parts that j->part says for the axes before this one, all other axes joined. */
static neap_node *build_block(reshard_work *j, int axis) {
    if (axis == j->ndim)
        return cut_source_block(j);
    int64_t extent = j->shape[axis] / j->parts[axis];
    int64_t first = extent ? j->start[axis] / extent : 0;
    int64_t last = j->size[axis] ? (j->start[axis] + j->size[axis] - 1) / extent : first;
    neap_node **parts = malloc((size_t)(last - first + 1) * sizeof *parts);
    bool built = parts != NULL;
    if (!parts)
        neap_error(NEAP_E_MEMORY, "out of memory for the blocks of an array");
    for (int64_t k = first; k <= last && built; k++) {
        j->part[axis] = k;
        built = (parts[k - first] = build_block(j, axis + 1)) != NULL;
    }
    neap_node *all = built ? join_nodes(j->ctx, last - first + 1, parts, axis) : NULL;
    free(parts);
    return all;
}

static int build_blocks(neap_ctx *ctx, const neap_node *node, const mesh_value *from, const lazy_sharding *to,
                        neap_node **blocks) {
    int status = 0;
    for (int b = 0; b < to->nblocks && status == 0; b++) {
        reshard_work j = work_of(ctx, node, from, to, b);
        neap_node *block = build_block(&j, 0);
        if (block)
            blocks[b] = graph_retain(block);
        else
            status =
                j.missing ? neap_error(NEAP_E_STATE, "a part of the array is in another process") : neap_error_code();
    }
    return status;
}

/* ---- Between processes ------------------------------------------------------------------------------------------- */
static bool spans_processes(const lazy_mesh *mesh) {
    bool spans = false;
    for (int k = 1; k < mesh->size; k++)
        spans |= mesh->process[k] != mesh->process[0];
    return spans;
}

/* Is what stands at place `at` to be had in the process of place `near`, without anything that is sent? */
static bool is_near(const lazy_sharding *s, int at, int near) {
    for (int k = 0; k < s->mesh->size; k++) {
        bool same = s->mesh->process[k] == s->mesh->process[near];
        for (int axis = 0; axis < s->mesh->naxes && same; axis++)
            same = !(s->distinct >> axis & 1) ||
                   shard_mesh_coordinate(s->mesh, k, axis) == shard_mesh_coordinate(s->mesh, at, axis);
        if (same)
            return true;
    }
    return false;
}

/* Does every process have all that its blocks of `to` are made of? The answer is the same in all processes. Sizes do
 * not matter: only whether the parts that an axis is divided into here and there overlap. */
static bool all_near(const lazy_sharding *s, const lazy_sharding *to) {
    for (int p = 0; p < to->mesh->size; p++)
        for (int q = 0; q < s->mesh->size; q++) {
            bool needed = true;
            for (int axis = 0; axis < s->mesh->naxes && needed; axis++) /* what it is not divided over is as at p */
                needed = s->splits >> axis & 1 ||
                         shard_mesh_coordinate(s->mesh, p, axis) == shard_mesh_coordinate(s->mesh, q, axis);
            for (int axis = 0; axis < s->ndim && needed; axis++) {
                mesh_axes from = axes_of(s, axis), other = axes_of(to, axis);
                int64_t have = mesh_axes_position(s->mesh, q, &from), want = mesh_axes_position(to->mesh, p, &other);
                needed = have * other.size < (want + 1) * from.size && want * from.size < (have + 1) * other.size;
            }
            if (needed && !is_near(s, q, p))
                return false;
        }
    return true;
}

typedef struct stage { /* of the way from one sharding to another */
    const lazy_sharding *sharding;
    neap_node **blocks;
} stage;

/* Does what divides an axis begin with these n axes of the mesh? */
static bool begins_with(const uint8_t *split, const uint8_t *begin, int n) {
    return memcmp(split, begin, (size_t)n) == 0;
}

/* The first axis that is divided otherwise than `to` begins with, so that its last division has to go; -1: none. */
static int wrong_axis(const lazy_sharding *s, const lazy_sharding *to) {
    for (int axis = 0; axis < NEAP_MAX_DIMS; axis++)
        if (!begins_with(to->split[axis], s->split[axis], shard_split_length(s->split[axis])))
            return axis;
    return -1;
}

/* The axis that `to` divides next by axis `over` of the mesh; -1: none, as yet. */
static int next_home(const lazy_sharding *s, const lazy_sharding *to, int over) {
    for (int axis = 0; axis < NEAP_MAX_DIMS; axis++) {
        int n = shard_split_length(s->split[axis]);
        if (n < NEAP_MESH_AXES && to->split[axis][n] == over + 1 && begins_with(to->split[axis], s->split[axis], n))
            return axis;
    }
    return -1;
}

/* A block with axis `axis` as two, of `outer` elements and the rest; or with axes `axis` and the next one as one. */
static neap_node *part_axis(neap_ctx *ctx, neap_node *x, int axis, int64_t outer) {
    int64_t shape[NEAP_MAX_DIMS + 1];
    for (int k = 0; k < x->ndim; k++)
        shape[k + (k > axis)] = x->shape[k];
    shape[axis + 1] = x->shape[axis] / outer;
    shape[axis] = outer;
    return graph_build_reshape(ctx, x, x->ndim + 1, shape);
}

static neap_node *merge_axis(neap_ctx *ctx, neap_node *x, int axis) {
    int64_t shape[NEAP_MAX_DIMS];
    for (int k = 0; k < x->ndim - 1; k++)
        shape[k] = x->shape[k + (k > axis)];
    shape[axis] = x->shape[axis] * x->shape[axis + 1];
    return graph_build_reshape(ctx, x, x->ndim - 1, shape);
}

/* Replaces each block by what a function of views makes of it. */
static int each_block(neap_ctx *ctx, const stage *at, int axis, int64_t outer) {
    for (int b = 0; b < at->sharding->nblocks; b++) {
        neap_node *old = at->blocks[b];
        neap_node *view = outer ? part_axis(ctx, old, axis, outer) : merge_axis(ctx, old, axis);
        if (!view)
            return neap_error_code();
        at->blocks[b] = graph_retain(view);
        graph_release(ctx, old);
    }
    return 0;
}

static int stage_begin(stage *at, const lazy_sharding *s) {
    at->sharding = s;
    at->blocks = s ? calloc((size_t)s->nblocks + 1, sizeof *at->blocks) : NULL;
    return at->blocks ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for the blocks of an array");
}

static void stage_end(neap_ctx *ctx, stage *at) {
    for (int b = 0; at->blocks && b < at->sharding->nblocks; b++)
        graph_release(ctx, at->blocks[b]);
    free(at->blocks);
    at->blocks = NULL;
}

/* Undoes the last division of axis `axis`: each gets what all along that axis of the mesh have; or all of another
 * axis's part, if that is to be divided by it next. */
static int take_step(neap_ctx *ctx, stage *at, int axis, const lazy_sharding *to) {
    lazy_sharding like = *at->sharding;
    int n = shard_split_length(like.split[axis]), over = like.split[axis][n - 1] - 1;
    mesh_axes axes = mesh_axes_masked(like.mesh, 1u << over);
    like.split[axis][n - 1] = 0;
    int home = next_home(&like, to, over);
    if (home >= 0)
        like.split[home][shard_split_length(like.split[home])] = (uint8_t)(over + 1);
    stage next;
    int status = stage_begin(&next, shard_sharding_intern(&like));
    if (status == 0 && home >= 0)
        status = each_block(ctx, at, home, axes.size);
    mesh_value in = {.sharding = at->sharding, .blocks = at->blocks};
    if (status == 0)
        status = home >= 0 ? mesh_exchange(ctx, &in, &axes, home, axis, next.sharding, next.blocks)
                           : mesh_gather(ctx, &in, &axes, axis, next.sharding, next.blocks);
    if (status == 0)
        status = each_block(ctx, &next, axis, 0);
    stage_end(ctx, at);
    *at = next;
    return status;
}

int mesh_reshard_by_steps(neap_ctx *ctx, const neap_node *node, const lazy_sharding *to, neap_node **blocks) {
    const lazy_shards *shards = node->shards;
    lazy_sharding whole = *shards->sharding; /* to another mesh: everybody has everything first */
    memset(whole.split, 0, sizeof whole.split);
    const lazy_sharding *aim = whole.mesh == to->mesh ? to : &whole;
    stage at;
    int status = stage_begin(&at, shards->sharding);
    for (int b = 0; status == 0 && b < at.sharding->nblocks; b++)
        at.blocks[b] = graph_retain(shards->blocks[b]);
    for (int axis; status == 0 && (axis = wrong_axis(at.sharding, aim)) >= 0;)
        status = take_step(ctx, &at, axis, aim);
    if (status == 0)
        status = build_blocks(ctx, node, &(mesh_value){.sharding = at.sharding, .blocks = at.blocks}, to, blocks);
    stage_end(ctx, &at);
    return status;
}

int mesh_reshard_here(neap_ctx *ctx, neap_node *node, const lazy_sharding *to, neap_node **blocks) {
    mesh_value from = mesh_value_of(node);
    return build_blocks(ctx, node, &from, to, blocks);
}

int mesh_reshard_blocks(neap_ctx *ctx, neap_node *node, const lazy_sharding *to, neap_node **blocks) {
    mesh_value from = mesh_value_of(node);
    const lazy_sharding *s = from.sharding;
    bool steps = s && spans_processes(s->mesh) && (s->mesh != to->mesh || !all_near(s, to));
    return steps ? mesh_reshard_by_steps(ctx, node, to, blocks) : build_blocks(ctx, node, &from, to, blocks);
}
