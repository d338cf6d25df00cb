/* sharding.c: shardings and meshes by number: interned, compared by content, kept for the life of the process.
 *
 * A table of pointers that only grows; a lock guards it, since contexts of several threads may ask.
 */
#include "lazy/graph/graph.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LAZY_VECTOR(lazy_mesh *) meshes;
static LAZY_VECTOR(lazy_sharding *) shardings;

/* ---- Meshes ------------------------------------------------------------------------------------------------------ */
static bool same_mesh(const lazy_mesh *a, const lazy_mesh *b) {
    bool same = a->naxes == b->naxes && a->size == b->size && a->explicit == b->explicit;
    for (int k = 0; k < a->naxes && same; k++)
        same = a->sizes[k] == b->sizes[k] && strcmp(a->names[k], b->names[k]) == 0;
    for (int k = 0; k < a->size && same; k++)
        same = a->process[k] == b->process[k] && a->device[k] == b->device[k];
    return same;
}

static void free_mesh(lazy_mesh *mesh) {
    for (int k = 0; mesh && k < mesh->naxes; k++)
        free((char *)mesh->names[k]);
    if (mesh)
        free(mesh->process);
    free(mesh);
}

static lazy_mesh *copy_mesh(const lazy_mesh *like, int here) {
    lazy_mesh *mesh = malloc(sizeof *mesh);
    size_t n = (size_t)like->size;
    if (!mesh)
        return NULL;
    *mesh = *like;
    mesh->process = malloc(3 * n * sizeof *mesh->process);
    bool sound = mesh->process != NULL;
    for (int k = 0; k < like->naxes; k++)
        sound &= (mesh->names[k] = strdup(like->names[k])) != NULL;
    if (!sound) {
        free_mesh(mesh);
        return NULL;
    }
    mesh->device = mesh->process + n;
    mesh->local = mesh->device + n;
    memcpy(mesh->process, like->process, n * sizeof *mesh->process);
    memcpy(mesh->device, like->device, n * sizeof *mesh->device);
    mesh->nlocal = 0;
    for (int k = 0; k < like->size; k++)
        if (like->process[k] == here)
            mesh->local[mesh->nlocal++] = k;
    return mesh;
}

const lazy_mesh *shard_mesh_intern(const lazy_mesh *like, int here) {
    lazy_mesh *mesh = NULL;
    pthread_mutex_lock(&lock);
    for (int64_t k = 0; k < meshes.n && !mesh; k++)
        if (same_mesh(meshes.at[k], like))
            mesh = meshes.at[k];
    if (!mesh && (mesh = copy_mesh(like, here)) != NULL) {
        mesh->number = (int32_t)meshes.n + 1;
        if (lazy_push(&meshes, mesh)) {
            free_mesh(mesh);
            mesh = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    if (!mesh)
        neap_error(NEAP_E_MEMORY, "out of memory for a mesh");
    return mesh;
}

const lazy_mesh *shard_mesh_get(int64_t number) {
    pthread_mutex_lock(&lock);
    const lazy_mesh *mesh = number > 0 && number <= meshes.n ? meshes.at[number - 1] : NULL;
    pthread_mutex_unlock(&lock);
    return mesh;
}

int shard_mesh_coordinate(const lazy_mesh *mesh, int position, int axis) {
    for (int k = mesh->naxes - 1; k > axis; k--)
        position /= mesh->sizes[k];
    return position % mesh->sizes[axis];
}

int shard_mesh_move(const lazy_mesh *mesh, int position, int axis, int coordinate) {
    int stride = 1;
    for (int k = mesh->naxes - 1; k > axis; k--)
        stride *= mesh->sizes[k];
    return position + (coordinate - shard_mesh_coordinate(mesh, position, axis)) * stride;
}

/* ---- Shardings --------------------------------------------------------------------------------------------------- */
static bool same_sharding(const lazy_sharding *a, const lazy_sharding *b) {
    return a->mesh == b->mesh && a->manual == b->manual && a->varies == b->varies && a->differs == b->differs &&
           a->unchecked == b->unchecked && a->unreduced == b->unreduced && a->reduced == b->reduced &&
           memcmp(a->split, b->split, sizeof a->split) == 0;
}

/* The coordinates over the axes of `mask`, as one number. */
static int coordinate_number(const lazy_mesh *mesh, int position, uint32_t mask) {
    int place = 0;
    for (int k = 0; k < mesh->naxes; k++)
        if (mask >> k & 1)
            place = place * mesh->sizes[k] + shard_mesh_coordinate(mesh, position, k);
    return place;
}

/* Which blocks there are, and where. */
static void derive_blocks(lazy_sharding *s) {
    const lazy_mesh *mesh = s->mesh;
    int distinct = 1;
    for (int k = 0; k < mesh->naxes; k++)
        distinct *= s->distinct >> k & 1 ? mesh->sizes[k] : 1;
    s->nblocks = 0;
    for (int k = 0; k < mesh->nlocal; k++) {
        int place = coordinate_number(mesh, mesh->local[k], s->distinct), b = 0;
        while (b < s->nblocks && coordinate_number(mesh, s->position[b], s->distinct) != place)
            b++;
        if (b == s->nblocks)
            s->position[s->nblocks++] = mesh->local[k];
    }
    for (int p = 0; p < mesh->size; p++) {
        int place = coordinate_number(mesh, p, s->distinct), b = s->nblocks - 1;
        while (b >= 0 && coordinate_number(mesh, s->position[b], s->distinct) != place)
            b--;
        s->block_of[p] = b;
    }
    /* Alone is a block that has as many devices as the whole mesh has for each: one. */
    for (int b = 0; b < s->nblocks; b++)
        s->home[b] = distinct == mesh->size ? mesh->device[s->position[b]] : -1;
    s->addressable = s->nblocks == distinct;
}

static lazy_sharding *copy_sharding(const lazy_sharding *like) {
    lazy_sharding *s = malloc(sizeof *s);
    if (!s)
        return NULL;
    *s = *like;
    size_t n = (size_t)like->mesh->nlocal, size = (size_t)like->mesh->size;
    if (!(s->block_of = calloc(size + 2 * n + 1, sizeof *s->block_of))) {
        free(s);
        return NULL;
    }
    s->position = s->block_of + size;
    s->home = s->position + n;
    s->splits = 0;
    s->ndim = 0;
    for (int a = 0; a < NEAP_MAX_DIMS; a++)
        for (int k = 0; k < NEAP_MESH_AXES && s->split[a][k]; k++) {
            s->splits |= 1u << (s->split[a][k] - 1);
            s->ndim = (uint8_t)(a + 1);
        }
    s->distinct = s->differs | s->splits | s->unreduced;
    derive_blocks(s);
    return s;
}

const lazy_sharding *shard_sharding_intern(const lazy_sharding *like) {
    lazy_sharding *s = NULL;
    pthread_mutex_lock(&lock);
    for (int64_t k = shardings.n - 1; k >= 0 && !s; k--)
        if (same_sharding(shardings.at[k], like))
            s = shardings.at[k];
    if (!s && (s = copy_sharding(like)) != NULL) {
        s->number = (int32_t)shardings.n + 1;
        if (lazy_push(&shardings, s)) {
            free(s->block_of);
            free(s);
            s = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    if (!s)
        neap_error(NEAP_E_MEMORY, "out of memory for a sharding");
    return s;
}

const lazy_sharding *shard_sharding_get(int64_t number) {
    pthread_mutex_lock(&lock);
    const lazy_sharding *s = number > 0 && number <= shardings.n ? shardings.at[number - 1] : NULL;
    pthread_mutex_unlock(&lock);
    if (!s)
        neap_error(NEAP_E_ARGUMENT, "no such sharding (%lld)", (long long)number);
    return s;
}

const lazy_sharding *shard_sharding_dual(const lazy_sharding *s) {
    lazy_sharding like = *s;
    like.unreduced = s->reduced;
    like.reduced = s->unreduced;
    return like.unreduced == like.reduced ? s : shard_sharding_intern(&like);
}

int shard_sharding_block(const lazy_sharding *s, int position) {
    return s->block_of[position];
}

int64_t shard_sharding_parts(const lazy_sharding *s, int axis) {
    int64_t parts = 1;
    for (int k = 0; k < NEAP_MESH_AXES && s->split[axis][k]; k++)
        parts *= s->mesh->sizes[s->split[axis][k] - 1];
    return parts;
}

/* ---- Causes of differences --------------------------------------------------------------------------------------- */
/* The cause as an input's reader sees the cause: the input's script line is known by then. All readers share the node
 * of a coordinate along an axis, so the line of a coordinate is the line of the first reader. */
static lazy_cause cause_by(const neap_node *in, int axis) {
    lazy_cause cause = in->shards->cause[axis];
    if (!cause.op)
        cause.op = 1 + in->op;
    if (!cause.site && !graph_is_token(in))
        cause.site = in->site;
    return cause;
}

/* The token of a collective names an axis, and brings no difference. */
static bool brings_difference(const neap_node *node, int k, int axis) {
    const neap_node *in = node->in[k];
    bool token = graph_node_op(node)->flags & LAZY_OP_AXIS && k == 1;
    return graph_is_meshed(in) && !token && graph_sharding_of(in)->differs >> axis & 1;
}

void shard_inherit_causes(neap_node *node) {
    const lazy_sharding *s = graph_sharding_of(node);
    for (int axis = 0; s->differs >> axis; axis++)
        for (int k = 0; k < node->nin && s->differs >> axis & 1; k++)
            if (brings_difference(node, k, axis)) {
                node->shards->cause[axis] = cause_by(node->in[k], axis);
                break;
            }
}

const char *shard_cause_text(const neap_ctx *ctx, const neap_node *node, uint32_t axes, char *text, size_t capacity) {
    int axis = axes ? __builtin_ctz(axes) : 0;
    lazy_cause cause = cause_by(node, axis);
    const char *line = graph_site_text(ctx, cause.site ? cause.site : node->site);
    const lazy_op *row = lazy_ops[cause.op - 1];
    bool argument = row->flags & LAZY_OP_MESH && row->arity, part = row->flags & LAZY_OP_PART;
    const char *name = argument ? "an argument that in_specs divide" : part ? "a loop or a branch" : row->name;
    snprintf(text, capacity, "; it does so by %s%s%s%s", argument || part ? "" : "np.", name, line ? ", " : "",
             line ? line : "");
    return text;
}

/* ---- Expansion --------------------------------------------------------------------------------------------------- */

int shard_expansion_begin(lazy_expansion *g) {
    const lazy_sharding *s = shard_sharding_intern(&g->sharding);
    return s ? graph_node_mesh(g->node, s) : NEAP_E_MEMORY;
}
