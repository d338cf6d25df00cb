/* remote.c: collectives whose participants are of several processes: which ones those are, and what is exchanged.
 *
 * A collective over some axes falls into *groups*: the devices that agree on all other axes over which its input
 * differs. Whether a group needs other processes follows from mesh and sharding alone, so all its processes decide
 * alike: if one of them lacks the block of one member, all of them record one `exchange` (lazy/effect/exchange.h), else
 * none does. Groups are gone through in row-major order of the mesh, so processes that share several of them meet in
 * the same order.
 *
 * Of a member that lies in several processes the first one sends the block. What an exchange gives is one ordinary
 * array for all blocks that this process has of the group; they are views of it.
 */
#include <string.h>

#include "lazy/effect/effect.h"
#include "mesh/internal.h"

typedef struct group {
    const mesh_remote *what;
    int first;       /* a position of it, whose places along the axes are 0 */
    neap_node *like; /* a block of this process */
    int here;        /* this process among its ranks; -1: it is none of them */
    int own, wants;  /* members that this process sends, and wants */
    int32_t *owner;  /* by member */
    uint8_t *wanted; /* by rank and member */
    int32_t *ranks;
    int nranks;
} group;

/* ---- Who takes part ---------------------------------------------------------------------------------------------- */
/* The axes that tell groups apart. */
static uint32_t base_mask(const mesh_remote *what) {
    uint32_t distinct = what->in->sharding ? what->in->sharding->distinct : 0;
    return distinct & ~what->axes->mask;
}

static int coordinates(const lazy_mesh *mesh, int position, uint32_t mask) {
    int place = 0;
    for (int k = 0; k < mesh->naxes; k++)
        if (mask >> k & 1)
            place = place * mesh->sizes[k] + shard_mesh_coordinate(mesh, position, k);
    return place;
}

static int index_among_ranks(const group *g, int32_t rank) {
    int k = 0;
    while (k < g->nranks && g->ranks[k] != rank)
        k++;
    return k;
}

/* Lists ranks in ascending order, then who owns and wants what. */
static void take_part(group *g, const lazy_mesh *mesh, int base) {
    uint32_t mask = base_mask(g->what);
    int n = g->what->axes->size, me = neap_process_index();
    g->nranks = 0;
    for (int p = 0; p < mesh->size; p++) {
        int at = index_among_ranks(g, mesh->process[p]);
        if (coordinates(mesh, p, mask) != base || at < g->nranks)
            continue;
        for (at = g->nranks++; at > 0 && g->ranks[at - 1] > mesh->process[p]; at--)
            g->ranks[at] = g->ranks[at - 1];
        g->ranks[at] = mesh->process[p];
    }
    memset(g->wanted, 0, (size_t)g->nranks * (size_t)n);
    for (int m = 0; m < n; m++)
        g->owner[m] = -1;
    for (int p = mesh->size - 1; p >= 0; p--) {
        if (coordinates(mesh, p, mask) != base)
            continue;
        int m = mesh_axes_position(mesh, p, g->what->axes), rank = mesh->process[p];
        g->wanted[index_among_ranks(g, rank) * n + m] = 1;
        if (rank == me)
            g->like = mesh_block_at(g->what->in, p);
        if (g->owner[m] < 0 || rank < g->owner[m])
            g->owner[m] = rank;
        g->first = m == 0 ? p : g->first;
    }
    g->here = index_among_ranks(g, me) < g->nranks ? index_among_ranks(g, me) : -1;
    g->own = g->wants = 0;
    for (int m = 0; m < n; m++) {
        g->own += g->owner[m] == me;
        g->wants += g->here >= 0 && g->wanted[g->here * n + m];
    }
}

/* Does a rank have the block of a member somewhere? */
static bool has_member(const group *g, const lazy_mesh *mesh, int rank, int member) {
    const lazy_sharding *s = g->what->in->sharding;
    uint32_t mask = s ? s->distinct : 0;
    int want = coordinates(mesh, mesh_member(mesh, g->first, g->what->axes, member), mask);
    for (int p = 0; p < mesh->size; p++)
        if (mesh->process[p] == rank && coordinates(mesh, p, mask) == want)
            return true;
    return false;
}

static bool needs_others(const group *g, const lazy_mesh *mesh) {
    for (int r = 0; r < g->nranks; r++)
        for (int m = 0; m < g->what->axes->size; m++)
            if (!has_member(g, mesh, g->ranks[r], m))
                return true;
    return false;
}

/* ---- Exchanging -------------------------------------------------------------------------------------------------- */
neap_node *mesh_move_axis(neap_ctx *ctx, neap_node *x, int from, int to) {
    int64_t axes[NEAP_MAX_DIMS];
    int n = 0;
    if (!x || from == to)
        return x;
    for (int k = 0; k < x->ndim; k++)
        if (k != from)
            axes[n++] = k;
    memmove(axes + to + 1, axes + to, (size_t)(n - to) * sizeof *axes);
    axes[to] = from;
    return graph_build_transpose(ctx, x, axes);
}

/* This process's block of a member, with the axis that is dealt out in front. */
static neap_node *sent(neap_ctx *ctx, const group *g, const lazy_mesh *mesh, int member) {
    neap_node *block = mesh_block_at(g->what->in, mesh_member(mesh, g->first, g->what->axes, member));
    block = block ? mesh_at_home(ctx, block, -1) : NULL;
    return g->what->split >= 0 ? mesh_move_axis(ctx, block, g->what->split, 0) : block;
}

/* The group's exchange; in the arena. */
static neap_node *exchange_in_group(neap_ctx *ctx, const group *g, const lazy_mesh *mesh) {
    const mesh_remote *what = g->what;
    int n = what->axes->size, nin = 0;
    neap_node **in = malloc((size_t)(g->own + 1) * sizeof *in), *out = NULL;
    for (int m = 0; m < n && in; m++)
        if (g->owner[m] == g->ranks[g->here] && !(in[nin++] = sent(ctx, g, mesh, m)))
            goto done;
    /* Who sends nothing says by some block of its own to which trace, if any, the exchange belongs. */
    if (!in || (nin == 0 && !(in[nin++] = mesh_at_home(ctx, g->like, -1))))
        goto done;
    lazy_exchange_pattern like = {
        .kind = what->kind,
        .op = what->op,
        .dtype = g->like->dtype,
        .elements = g->like->size,
        .group = {.nmembers = n, .nranks = g->nranks, .ranks = g->ranks, .owner = g->owner, .wanted = g->wanted},
        .source = what->source,
        .name = what->name};
    const lazy_exchange_pattern *pattern = effect_exchange_pattern_intern(&like);
    out = pattern ? graph_arena(ctx, effect_exchange_record(ctx, pattern, nin, in)) : NULL;
done:
    free(in);
    return out;
}

/* What an exchange gives, as an array of `lead` sizes and then those of a block, whose axis in front is that which was
 * dealt out. */
static neap_node *shaped(neap_ctx *ctx, const group *g, neap_node *x, int nlead, const int64_t *lead, bool dealt) {
    const neap_node *like = g->like;
    int64_t shape[2 * NEAP_MAX_DIMS];
    int ndim = 0;
    for (int k = 0; k < nlead; k++)
        shape[ndim++] = lead[k];
    for (int k = 0; k < like->ndim; k++)
        if (!dealt || k != g->what->split)
            shape[ndim++] = like->shape[k];
    return x ? graph_build_reshape(ctx, x, ndim, shape) : NULL;
}

neap_node *mesh_part(neap_ctx *ctx, neap_node *x, int at, int64_t index) {
    int64_t slice[3 * NEAP_MAX_DIMS], shape[NEAP_MAX_DIMS];
    int ndim = 0;
    if (!x)
        return NULL;
    for (int k = 0; k < x->ndim; k++) {
        slice[3 * k] = k == at ? index : 0;
        slice[3 * k + 1] = 1;
        slice[3 * k + 2] = k == at ? 1 : x->shape[k];
        if (k != at)
            shape[ndim++] = x->shape[k];
    }
    neap_node *one = graph_build_slice(ctx, x, slice);
    return one ? graph_build_reshape(ctx, one, ndim, shape) : NULL;
}

/* The block of a member, out of the exchange's value. */
static neap_node *received(neap_ctx *ctx, const group *g, neap_node *value, int member) {
    const mesh_remote *what = g->what;
    int64_t n = what->axes->size, lead[2] = {g->wants, n};
    int at = 0;
    for (int m = 0; m < member; m++)
        at += g->wanted[g->here * n + m];
    switch (what->kind) {
    case ENGINE_COMM_REDUCE:
        return shaped(ctx, g, value, 0, NULL, false);
    case ENGINE_COMM_GATHER:
        return mesh_move_axis(ctx, shaped(ctx, g, value, 1, &n, false), 0, what->concat);
    case ENGINE_COMM_SCATTER:
        return mesh_part(ctx, shaped(ctx, g, value, 1, lead, true), 0, at);
    case ENGINE_COMM_SWAP:
        return mesh_move_axis(ctx, mesh_part(ctx, shaped(ctx, g, value, 2, lead, true), 0, at), 0, what->concat);
    default:
        return mesh_part(ctx, shaped(ctx, g, value, 1, lead, false), 0, at);
    }
}

static int exchange_group(neap_ctx *ctx, const group *g, const lazy_sharding *to, int base, neap_node **blocks) {
    const lazy_mesh *mesh = to->mesh;
    neap_node *value = exchange_in_group(ctx, g, mesh);
    if (!value)
        return neap_error_code();
    for (int b = 0; b < to->nblocks; b++) {
        int position = to->position[b];
        if (coordinates(mesh, position, base_mask(g->what)) != base)
            continue;
        neap_node *block = received(ctx, g, value, mesh_axes_position(mesh, position, g->what->axes));
        if (!block || !(block = mesh_at_home(ctx, block, to->home[b])))
            return neap_error_code();
        blocks[b] = graph_retain(block);
    }
    return 0;
}

int mesh_exchange_groups(neap_ctx *ctx, const mesh_remote *what, const lazy_sharding *to, neap_node **blocks) {
    const lazy_mesh *mesh = to->mesh;
    size_t n = (size_t)what->axes->size, size = (size_t)mesh->size;
    if (mesh->nlocal == mesh->size)
        return 0;
    int32_t *memory = malloc((n + size) * sizeof *memory + n * size);
    if (!memory)
        return neap_error(NEAP_E_MEMORY, "out of memory for a collective");
    group g = {.what = what, .owner = memory, .ranks = memory + n, .wanted = (uint8_t *)(memory + n + size)};
    int groups = 1, status = 0;
    for (int k = 0; k < mesh->naxes; k++)
        groups *= base_mask(what) >> k & 1 ? mesh->sizes[k] : 1;
    for (int base = 0; base < groups && status == 0; base++) {
        take_part(&g, mesh, base);
        if (g.here >= 0 && needs_others(&g, mesh))
            status = exchange_group(ctx, &g, to, base, blocks);
    }
    free(memory);
    return status;
}
