/* node.c: nodes and handles: allocation, reference counts, ids.
 *
 * Nodes are carved from free lists by block size (multiples of 32 bytes). Releasing follows inputs with an explicit
 * stack, so a chain of a million nodes is dropped without recursion. A slot of the handle table carries a generation
 * that changes when it is freed, so an id kept too long is an error and not another array.
 *
 * A node that keeps its structure after computing holds its inputs loosely from then on: `forms` counts such
 * references, which are part of `refs`. While refs > forms somebody may still ask for the value; when they become equal
 * the node gives back its buffer, and in turn loosens what it holds (or lets go of it, if nobody can ask for its
 * structure).
 */
#include <stdlib.h>
#include <string.h>

#include "lazy/graph/graph.h"
#include "lazy/graph/sharding.h"

int lazy_vector_grow(void **at, int64_t *capacity, size_t item) {
    int64_t wider = *capacity ? *capacity * 2 : 16;
    void *moved = realloc(*at, (size_t)wider * item);
    if (!moved)
        return neap_error(NEAP_E_MEMORY, "out of memory for a table of %lld entries", (long long)wider);
    *at = moved;
    *capacity = wider;
    return 0;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */
#ifdef NEAP_SANITIZED /* every node by itself, so that the sanitizer sees a use after free */
enum { BLOCK_STEP = 32, BLOCK_LISTS = 1, BLOCKS_AT_ONCE = 64 };
#else
enum { BLOCK_STEP = 32, BLOCK_LISTS = 16, BLOCKS_AT_ONCE = 64 };
#endif

static void *block_get(neap_ctx *ctx, size_t bytes) {
    size_t list = (bytes + BLOCK_STEP - 1) / BLOCK_STEP;
    if (list >= BLOCK_LISTS)
        return malloc(bytes);
    if (!ctx->blocks.free[list]) {
        /* A slab is threaded onto the list and lives as long as the context; its first block links the slabs. */
        char *slab = malloc(list * BLOCK_STEP * BLOCKS_AT_ONCE + BLOCK_STEP);
        if (!slab)
            return NULL;
        *(void **)slab = ctx->blocks.free[0];
        ctx->blocks.free[0] = slab;
        for (int k = 0; k < BLOCKS_AT_ONCE; k++) {
            void **block = (void **)(slab + BLOCK_STEP + (size_t)k * list * BLOCK_STEP);
            *block = ctx->blocks.free[list];
            ctx->blocks.free[list] = block;
        }
    }
    void **block = ctx->blocks.free[list];
    char *next = ctx->blocks.free[list] = *block;
    for (int line = 0; next && line < 3; line++) /* it was used long ago: it has time to come until it is asked for */
        __builtin_prefetch(next + 64 * line, 1);
    return block;
}

static void block_put(neap_ctx *ctx, void *block, size_t bytes) {
    size_t list = (bytes + BLOCK_STEP - 1) / BLOCK_STEP;
    if (list >= BLOCK_LISTS) {
        free(block);
        return;
    }
    *(void **)block = ctx->blocks.free[list];
    ctx->blocks.free[list] = block;
}

/* The struct, then shape, attributes, inputs and (views) offset and strides. */
static size_t block_bytes(int ndim, int nattrs, int nin, bool view) {
    return sizeof(neap_node) + 8 * ((size_t)ndim + (size_t)nattrs + (size_t)nin + (view ? 1 + (size_t)ndim : 0));
}

neap_node *graph_node_new(neap_ctx *ctx, int op, const lazy_result *result, int nin, neap_node *const *in, int nattrs,
                          const int64_t *attrs) {
    bool view = lazy_ops[op]->kind == LAZY_VIEW;
    neap_node *node = block_get(ctx, block_bytes(result->ndim, nattrs, nin, view));
    if (!node) {
        neap_error(NEAP_E_MEMORY, "out of memory for a node");
        return NULL;
    }
    *node = (neap_node){.refs = 1,
                        .op = (int16_t)op,
                        .dtype = result->dtype,
                        .ndim = result->ndim,
                        .nin = (uint16_t)nin & 0x7ff,
                        .nattrs = (int16_t)nattrs,
                        .device = -1,
                        .flags = nin == 0 && lazy_ops[op]->flags & LAZY_OP_CHEAP ? LAZY_CONSTRUCTED : 0,
                        .shape = (int64_t *)(node + 1)};
    node->attrs = node->shape + result->ndim;
    node->in = (neap_node **)(node->attrs + nattrs);
    if (view)
        node->map = (lazy_map *)(node->in + nin);
    node->size = 1;
    for (int k = 0; k < result->ndim; k++) {
        node->shape[k] = result->shape[k];
        node->size *= result->shape[k];
    }
    if (nattrs)
        memcpy(node->attrs, attrs, (size_t)nattrs * sizeof *attrs);
    for (int k = 0; k < nin; k++) {
        node->in[k] = graph_retain(in[k]);
        if (node->device == -1 || graph_is_meshed(in[k]))
            node->device = in[k]->device;
    }
    return node;
}

/* ---- Releasing: a stack linked through the nodes themselves, empty between calls --------------------------------- */
/* Can it give anything back but itself? A constant has nothing, and needs the place of the link for its value; a
 * literal of deferred mode is what it is by its data. */
static bool holds_data(const neap_node *node) {
    if (node->lasting && graph_is_data(node))
        return false;
    bool inputs = node->nin && !node->loose && !(node->flags & LAZY_DROPPED);
    bool blocks = graph_is_meshed(node) && node->shards && node->shards->sharding->nblocks && graph_has_blocks(node);
    return (node->buffer || blocks || inputs) && !graph_is_constant(node);
}

static void put_dead(neap_ctx *ctx, neap_node *node) {
    node->next_dead = ctx->blocks.dead;
    ctx->blocks.dead = node;
}

/* After a reference went, or became one to structure: what nobody needs is put on the stack; with a reference of the
 * stack, if its structure is still needed. */
static void weigh(neap_ctx *ctx, neap_node *node) {
    if (node->refs > 0 && !holds_data(node))
        return;
    node->refs += node->refs > 0;
    put_dead(ctx, node);
}

static void unref_node(neap_ctx *ctx, neap_node *node) {
    if (node && --node->refs <= node->loose_refs)
        weigh(ctx, node);
}

static void release_loose(neap_ctx *ctx, neap_node *node) {
    if (node) {
        node->loose_refs--;
        unref_node(ctx, node);
    }
}

static void loosen_one(neap_ctx *ctx, neap_node *node) {
    if (node && ++node->loose_refs == node->refs)
        weigh(ctx, node);
}

static void loosen_inputs(neap_ctx *ctx, neap_node *node) {
    if (node->loose)
        return;
    node->loose = 1;
    for (int k = 0; k < node->nin; k++)
        loosen_one(ctx, node->in[k]);
    loosen_one(ctx, node->base);
}

static void unref_inputs(neap_ctx *ctx, neap_node *node) {
    if (!(node->flags & LAZY_DROPPED))
        for (int k = 0; k < node->nin; k++)
            (node->loose ? release_loose : unref_node)(ctx, node->in[k]);
    node->flags |= LAZY_DROPPED;
}

static void unref_base(neap_ctx *ctx, neap_node *node) {
    (node->loose ? release_loose : unref_node)(ctx, node->base);
    node->base = NULL;
}

static void release_blocks(neap_ctx *ctx, lazy_shards *shards) {
    for (int32_t b = 0; b < shards->sharding->nblocks; b++) {
        unref_node(ctx, shards->blocks[b]);
        shards->blocks[b] = NULL;
    }
    unref_node(ctx, shards->whole);
    shards->whole = NULL;
}

static void release_data(neap_ctx *ctx, neap_node *node) {
    if (!node->buffer) {
        if (node->shards)
            release_blocks(ctx, node->shards);
        return;
    }
    neap_buffer_release(node->buffer);
    if (node->mirror)
        neap_buffer_release(node->mirror);
    node->buffer = node->mirror = NULL;
}

/* Only its structure is needed from now on. */
/* The node lives on without its inputs. */
static void leave_inputs(neap_ctx *ctx, neap_node *node) {
    if (node->flags & LAZY_WEAK && node->nin > 0 && !(node->flags & LAZY_DROPPED))
        graph_note_meetings(node);
    unref_inputs(ctx, node);
}

static void give_data_back(neap_ctx *ctx, neap_node *node) {
    release_data(ctx, node);
    if (graph_keeps_structure(node)) {
        loosen_inputs(ctx, node);
    } else {
        leave_inputs(ctx, node);
        unref_base(ctx, node);
    }
}

static void free_node(neap_ctx *ctx, neap_node *node) {
    unref_inputs(ctx, node);
    unref_base(ctx, node);
    release_data(ctx, node);
    if (!node->buffer && node->shards)
        free(node->shards);
    const lazy_payload *payload = graph_node_op(node)->payload;
    if (payload && payload->release)
        payload->release(node);
    if (ctx->sites.node == node)
        ctx->sites.node = NULL;
    block_put(ctx, node, block_bytes(node->ndim, node->nattrs, node->nin, graph_node_op(node)->kind == LAZY_VIEW));
}

static void free_dead(neap_ctx *ctx) {
    while (ctx->blocks.dead) {
        neap_node *node = ctx->blocks.dead;
        ctx->blocks.dead = node->next_dead;
        if (node->refs > 0 && --node->refs > 0)
            give_data_back(ctx, node);
        else
            free_node(ctx, node);
    }
}

void graph_release(neap_ctx *ctx, neap_node *node) {
    unref_node(ctx, node);
    free_dead(ctx);
}

void graph_node_drop(neap_ctx *ctx, neap_node *node) {
    if (node->levels == 0 && graph_keeps_structure(node))
        loosen_inputs(ctx, node);
    else if (node->levels == 0)
        leave_inputs(ctx, node);
    free_dead(ctx);
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */
enum { SLOT_MASK = (1 << NEAP_SLOT_BITS) - 1 };

/* Is it a block of a body that has ended? */
static bool is_escaped(const neap_ctx *ctx, const lazy_sharding *s) {
    if (!s->manual || (s->mesh->number == ctx->mesh.open && !(s->manual & ~ctx->mesh.manual)))
        return false;
    neap_error(NEAP_E_STATE,
               "the array is a block of a np.shard_map whose body has ended: return it from the body, and "
               "use what np.shard_map gives for it");
    return true;
}

neap_node *graph_lookup_any(neap_ctx *ctx, int32_t id) {
    int64_t slot = id & SLOT_MASK;
    if (id <= 0 || slot >= ctx->handles.slots.n || ctx->handles.ids.at[slot] != id) {
        neap_error(NEAP_E_HANDLE, "the array is not known (a stale handle, or one of another Lua state)");
        return NULL;
    }
    neap_node *node = ctx->handles.slots.at[slot];
    if (node->flags & LAZY_DELETED) {
        const char *site = graph_site_text(ctx, node->site);
        neap_error(NEAP_E_STATE,
                   site ? "the array was donated to the jitted function that was called at %s"
                        : "the array was deleted%s",
                   site ? site : "");
        return NULL;
    }
    return node;
}

neap_node *graph_lookup(neap_ctx *ctx, int32_t id) {
    neap_node *node = graph_lookup_any(ctx, id);
    return node && graph_is_meshed(node) && is_escaped(ctx, node->shards->sharding) ? NULL : node;
}

/* Lengthens the tables by a free slot. */
static int add_slot(neap_ctx *ctx) {
    int32_t slot = (int32_t)ctx->handles.slots.n;
    if (slot > SLOT_MASK)
        return neap_error(NEAP_E_MEMORY, "more than %d live arrays", SLOT_MASK);
    if (lazy_push(&ctx->handles.slots, NULL) || lazy_push(&ctx->handles.ids, 0) ||
        lazy_push(&ctx->handles.generations, 0) || lazy_push(&ctx->handles.unused, slot)) {
        ctx->handles.slots.n = ctx->handles.ids.n = ctx->handles.generations.n =
            slot; /* the tables stay of one length */
        return NEAP_E_MEMORY;
    }
    return 0;
}

int graph_publish(neap_ctx *ctx, neap_node *node, int32_t *out) {
    if (node->id) {
        *out = node->id;
        graph_release(ctx, node);
        return 0;
    }
    int status = ctx->handles.unused.n > 0 ? 0 : add_slot(ctx);
    if (status) {
        graph_release(ctx, node);
        return status;
    }
    int32_t slot = ctx->handles.unused.at[--ctx->handles.unused.n];
    node->id = slot | (ctx->handles.generations.at[slot] & 0xff) << NEAP_SLOT_BITS;
    ctx->handles.slots.at[slot] = node;
    ctx->handles.ids.at[slot] = node->id;
    ctx->handles.live++;
    *out = node->id;
    return 0;
}

int graph_lookup_all(neap_ctx *ctx, bool misses, int n, const int32_t *ids, neap_node **nodes) {
    for (int k = 0; k < n; k++) {
        bool missing = misses && !ids[k];
        nodes[k] = missing ? NULL : graph_lookup(ctx, ids[k]);
        if (!missing && !nodes[k])
            return neap_error_code();
    }
    return 0;
}

int graph_publish_all(neap_ctx *ctx, int n, neap_node *const *nodes, int32_t *out) {
    int status = 0;
    while (ctx->handles.unused.n < n && status == 0) /* then none of them can fail below */
        status = add_slot(ctx);
    for (int k = 0; k < n; k++)
        if (status == 0)
            status = graph_publish(ctx, nodes[k], &out[k]);
        else
            graph_release(ctx, nodes[k]);
    return status;
}

const int32_t *neap_handles(neap_ctx *ctx, int32_t *count) {
    *count = (int32_t)ctx->handles.ids.n;
    return ctx->handles.ids.at;
}

int neap_release(neap_ctx *ctx, int32_t n, const int32_t *ids) {
    for (int32_t k = 0; k < n; k++) {
        int64_t slot = ids[k] & SLOT_MASK;
        if (ids[k] <= 0 || slot >= ctx->handles.slots.n || ctx->handles.ids.at[slot] != ids[k])
            return neap_error(NEAP_E_HANDLE, "release: not a live array");
        neap_node *node = ctx->handles.slots.at[slot];
        if (lazy_push(&ctx->handles.unused, (int32_t)slot))
            return NEAP_E_MEMORY;
        ctx->handles.slots.at[slot] = NULL;
        ctx->handles.ids.at[slot] = 0;
        ctx->handles.generations.at[slot]++;
        ctx->handles.live--;
        node->id = 0;
        graph_release(ctx, node);
    }
    return 0;
}

int graph_node_mesh(neap_node *node, const lazy_sharding *sharding) {
    lazy_shards *shards = calloc(1, sizeof *shards + (size_t)sharding->nblocks * sizeof *shards->blocks);
    if (!shards)
        return neap_error(NEAP_E_MEMORY, "out of memory for the blocks of an array");
    shards->sharding = sharding;
    node->shards = shards;
    node->device = LAZY_MESHED;
    return 0;
}
