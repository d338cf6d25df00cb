/* node.c: nodes and handles: allocation, reference counts, ids.
 *
 * Nodes are carved from free lists by block size (multiples of 32 bytes). Releasing follows inputs with an explicit stack, so
 * a chain of a million nodes is dropped without recursion. A slot of the handle table carries a generation that
 * changes when it is freed, so an id kept too long is an error and not another array.
 */
#include <stdlib.h>
#include <string.h>

#include "lazy/effect.h"

int lazy_vector_grow(void **at, int64_t *capacity, size_t item) {
    int64_t wider = *capacity ? *capacity * 2 : 16;
    void *moved = realloc(*at, (size_t)wider * item);
    if (!moved)
        return neap_error(NEAP_E_MEMORY, "out of memory for a table of %lld entries", (long long)wider);
    *at = moved;
    *capacity = wider;
    return 0;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------- */
#ifdef NEAP_SANITIZED /* every node by itself, so that the sanitizer sees a use after free */
enum { BLOCK_STEP = 32, BLOCK_LISTS = 1, BLOCKS_AT_ONCE = 64 };
#else
enum { BLOCK_STEP = 32, BLOCK_LISTS = 16, BLOCKS_AT_ONCE = 64 };
#endif

static void *block_get(neap_ctx *ctx, size_t bytes) {
    size_t list = (bytes + BLOCK_STEP - 1) / BLOCK_STEP;
    if (list >= BLOCK_LISTS)
        return malloc(bytes);
    if (!ctx->blocks[list]) {
        /* A slab is threaded onto the list and lives as long as the context; its first block links the slabs. */
        char *slab = malloc(list * BLOCK_STEP * BLOCKS_AT_ONCE + BLOCK_STEP);
        if (!slab)
            return NULL;
        *(void **)slab = ctx->blocks[0];
        ctx->blocks[0] = slab;
        for (int k = 0; k < BLOCKS_AT_ONCE; k++) {
            void **block = (void **)(slab + BLOCK_STEP + (size_t)k * list * BLOCK_STEP);
            *block = ctx->blocks[list];
            ctx->blocks[list] = block;
        }
    }
    void **block = ctx->blocks[list];
    char *next = ctx->blocks[list] = *block;
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
    *(void **)block = ctx->blocks[list];
    ctx->blocks[list] = block;
}

neap_node *lazy_node_new(neap_ctx *ctx, int op, const lazy_result *result, int nin, neap_node *const *in, int nattrs,
                         const int64_t *attrs) {
    bool view = lazy_ops[op]->kind == LAZY_VIEW;
    size_t bytes = sizeof(neap_node) + 8 * ((size_t)result->ndim + (size_t)nattrs + (size_t)nin);
    size_t map = view ? sizeof(int64_t) * (1 + (size_t)result->ndim) : 0;
    neap_node *node = block_get(ctx, bytes + map);
    if (!node) {
        neap_error(NEAP_E_MEMORY, "out of memory for a node");
        return NULL;
    }
    *node = (neap_node){.refs = 1,
                        .op = (int16_t)op,
                        .dtype = result->dtype,
                        .ndim = result->ndim,
                        .nin = (uint8_t)nin,
                        .nattrs = (int16_t)nattrs,
                        .device = -1,
                        .flags = nin == 0 && lazy_ops[op]->flags & LAZY_OP_CHEAP ? LAZY_CONSTRUCTED : 0,
                        .bytes = (uint32_t)(bytes + map),
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
        node->in[k] = lazy_retain(in[k]);
        if (node->device < 0)
            node->device = in[k]->device;
    }
    return node;
}

/* ---- Releasing: a stack linked through the dead nodes themselves, empty between calls ----------------------------- */
static void unref(neap_ctx *ctx, neap_node *node) {
    if (!node || --node->refs > 0)
        return;
    node->next_dead = ctx->dead;
    ctx->dead = node;
}

static void unref_inputs(neap_ctx *ctx, neap_node *node) {
    if (!(node->flags & LAZY_DROPPED))
        for (int k = 0; k < node->nin; k++)
            unref(ctx, node->in[k]);
    node->flags |= LAZY_DROPPED;
}

static void free_dead(neap_ctx *ctx) {
    while (ctx->dead) {
        neap_node *node = ctx->dead;
        ctx->dead = node->next_dead;
        unref_inputs(ctx, node);
        unref(ctx, node->base);
        if (node->buffer)
            neap_buffer_release(node->buffer);
        if (lazy_node_op(node)->flags & LAZY_OP_EFFECT)
            lazy_callback_release(lazy_callback_of(node));
        if (ctx->site_node == node)
            ctx->site_node = NULL;
        block_put(ctx, node, node->bytes);
    }
}

void lazy_release(neap_ctx *ctx, neap_node *node) {
    unref(ctx, node);
    free_dead(ctx);
}

void lazy_node_drop(neap_ctx *ctx, neap_node *node) {
    if (node->levels == 0)
        unref_inputs(ctx, node);
    free_dead(ctx);
}

/* ---- Handles ------------------------------------------------------------------------------------------------------ */
enum { SLOT_MASK = (1 << NEAP_SLOT_BITS) - 1 };

neap_node *lazy_lookup(neap_ctx *ctx, int32_t id) {
    int64_t slot = id & SLOT_MASK;
    if (id <= 0 || slot >= ctx->slots.n || ctx->ids.at[slot] != id) {
        neap_error(NEAP_E_HANDLE, "the array is not known (a stale handle, or one of another Lua state)");
        return NULL;
    }
    neap_node *node = ctx->slots.at[slot];
    if (node->flags & LAZY_DELETED) {
        neap_error(NEAP_E_STATE, "the array was deleted");
        return NULL;
    }
    return node;
}

/* Lengthens the tables by a free slot. */
static int add_slot(neap_ctx *ctx) {
    int32_t slot = (int32_t)ctx->slots.n;
    if (slot > SLOT_MASK)
        return neap_error(NEAP_E_MEMORY, "more than %d live arrays", SLOT_MASK);
    if (lazy_push(&ctx->slots, NULL) || lazy_push(&ctx->ids, 0) || lazy_push(&ctx->generations, 0) ||
        lazy_push(&ctx->free_slots, slot)) {
        ctx->slots.n = ctx->ids.n = ctx->generations.n = slot; /* the tables stay of one length */
        return NEAP_E_MEMORY;
    }
    return 0;
}

int lazy_publish(neap_ctx *ctx, neap_node *node, int32_t *out) {
    if (node->id) {
        *out = node->id;
        lazy_release(ctx, node);
        return 0;
    }
    int status = ctx->free_slots.n > 0 ? 0 : add_slot(ctx);
    if (status) {
        lazy_release(ctx, node);
        return status;
    }
    int32_t slot = ctx->free_slots.at[--ctx->free_slots.n];
    node->id = slot | (ctx->generations.at[slot] & 0xff) << NEAP_SLOT_BITS;
    ctx->slots.at[slot] = node;
    ctx->ids.at[slot] = node->id;
    ctx->live_handles++;
    *out = node->id;
    return 0;
}

int lazy_lookup_all(neap_ctx *ctx, int n, const int32_t *ids, neap_node **nodes) {
    for (int k = 0; k < n; k++) {
        nodes[k] = ids[k] ? lazy_lookup(ctx, ids[k]) : NULL;
        if (ids[k] && !nodes[k])
            return neap_error_code();
    }
    return 0;
}

int lazy_publish_all(neap_ctx *ctx, int n, neap_node *const *nodes, int32_t *out) {
    int status = 0;
    while (ctx->free_slots.n < n && status == 0) /* then none of them can fail below */
        status = add_slot(ctx);
    for (int k = 0; k < n; k++)
        if (status == 0)
            status = lazy_publish(ctx, nodes[k], &out[k]);
        else
            lazy_release(ctx, nodes[k]);
    return status;
}

const int32_t *neap_handles(neap_ctx *ctx, int32_t *count) {
    *count = (int32_t)ctx->ids.n;
    return ctx->ids.at;
}

int neap_release(neap_ctx *ctx, int32_t n, const int32_t *ids) {
    for (int32_t k = 0; k < n; k++) {
        int64_t slot = ids[k] & SLOT_MASK;
        if (ids[k] <= 0 || slot >= ctx->slots.n || ctx->ids.at[slot] != ids[k])
            return neap_error(NEAP_E_HANDLE, "release: not a live array");
        neap_node *node = ctx->slots.at[slot];
        if (lazy_push(&ctx->free_slots, (int32_t)slot))
            return NEAP_E_MEMORY;
        ctx->slots.at[slot] = NULL;
        ctx->ids.at[slot] = 0;
        ctx->generations.at[slot]++;
        ctx->live_handles--;
        node->id = 0;
        lazy_release(ctx, node);
    }
    return 0;
}
