/* array.c: arrays as the user's side sees them: facts, data in, life. (Data out: plan/read.c.) */
#include <string.h>

#include "lazy/graph/graph.h"
#include "lazy/graph/sharding.h"

/* Where it lies, or would be computed now. Data that the host wrote moves to a memory of its own when it is used. */
static int device_of(const neap_node *node) {
    int device = graph_node_runs_on(node), lies = node->buffer ? neap_buffer_device(node->buffer) : device;
    if (node->device >= 0 || lies == device)
        return device;
    return neap_device_memory_space(lies) == neap_device_memory_space(device) ? lies : device;
}

static bool is_uncomputed(const neap_node *node) {
    return !node->buffer && !graph_is_number(node) && !(node->flags & LAZY_DELETED);
}

/* What is to be computed of it: also of what lies on a mesh, whose blocks are computed. */
static void describe_progress(neap_node *node, neap_info *out) {
    if (!graph_is_meshed(node) || node->flags & LAZY_DELETED || !graph_has_blocks(node)) {
        out->deferred = is_uncomputed(node);
        out->latent = graph_read_target(node)->state == LAZY_DEFERRED;
        return;
    }
    out->deferred = out->latent = 0;
    for (int32_t b = 0; b < node->shards->sharding->nblocks; b++) {
        out->deferred |= is_uncomputed(node->shards->blocks[b]);
        out->latent |= graph_read_target(node->shards->blocks[b])->state == LAZY_DEFERRED;
    }
}

void graph_node_info(neap_node *node, neap_info *out) {
    out->dtype = node->dtype;
    out->ndim = node->ndim;
    out->weak = node->flags & LAZY_WEAK ? 1 + graph_number_looks_fraction((neap_node *)node) : 0;
    out->yields = node->yields ? 1 + node->fraction : 0;
    describe_progress(node, out);
    out->deleted = (node->flags & LAZY_DELETED) != 0;
    out->device = device_of(node);
    out->committed = node->device >= 0;
    out->traced = (node->flags & LAZY_ABSTRACT) != 0;
    out->taped = node->levels != 0;
    out->constructed = node->flags & LAZY_CONSTRUCTED && !node->buffer;
    out->sharding = graph_is_meshed(node) && node->shards ? node->shards->sharding->number : 0;
    out->size = node->size;
    memcpy(out->shape, node->shape, node->ndim * sizeof *node->shape);
}

int neap_array_info(neap_ctx *ctx, int32_t id, neap_info *out) {
    int64_t slot = id & ((1 << NEAP_SLOT_BITS) - 1);
    if (id <= 0 || slot >= ctx->handles.slots.n || ctx->handles.ids.at[slot] != id)
        return graph_lookup(ctx, id) ? NEAP_E_INTERNAL : neap_error_code();
    graph_node_info(ctx->handles.slots.at[slot], out); /* also of a deleted array */
    return 0;
}

int neap_number_decides(neap_ctx *ctx, int32_t id) {
    neap_node *node = graph_lookup(ctx, id);
    if (!node)
        return neap_error_code();
    if (node->flags & LAZY_WEAK)
        graph_note_wholeness(node);
    return 0;
}

int neap_array_holding(neap_ctx *ctx, int32_t id, int k, neap_holding *out) {
    int64_t slot = id & ((1 << NEAP_SLOT_BITS) - 1);
    neap_node *node = id > 0 && slot < ctx->handles.slots.n ? ctx->handles.slots.at[slot] : NULL;
    bool meshed = node && graph_is_meshed(node);
    if (!node || (meshed ? !node->shards || k >= graph_sharding_of(node)->nblocks : k > 0))
        return 0;
    neap_node *part = meshed ? node->shards->blocks[k] : node;
    const neap_node *target = part ? graph_read_target(part) : NULL;
    const neap_buffer *buffer = target ? target->buffer : NULL;
    *out = (neap_holding){.memory = buffer,
                          .bytes = buffer ? (int64_t)neap_buffer_bytes(buffer) : 0,
                          .site = graph_site_text(ctx, meshed || !target ? node->site : target->site)};
    return 1;
}

/* ---- Data in ----------------------------------------------------------------------------------------------------- */
neap_node *graph_node_of_buffer(neap_ctx *ctx, const lazy_result *aval, neap_buffer *buffer) {
    neap_node *node = graph_data(ctx, aval);
    if (!node) {
        neap_buffer_release(buffer);
        return NULL;
    }
    node->buffer = buffer;
    node->state = LAZY_DONE;
    return node;
}

/* What an array of this dtype and shape is, and its bytes; or an error. */
static int describe_new(int dtype, int ndim, const int64_t *shape, lazy_result *aval, int64_t *bytes) {
    if (dtype < 0 || dtype >= NEAP_DTYPE_COUNT)
        return neap_error(NEAP_E_DTYPE, "array: no such dtype (%d)", dtype);
    if (ndim < 0 || ndim > NEAP_MAX_DIMS)
        return neap_error(NEAP_E_SHAPE, "array: expected at most %d axes, got %d", NEAP_MAX_DIMS, ndim);
    *aval = (lazy_result){.dtype = (uint8_t)dtype, .ndim = (uint8_t)ndim};
    *bytes = neap_dtype_bytes(dtype);
    int64_t nonzero = *bytes;
    for (int k = 0; k < ndim; k++) {
        if (shape[k] < 0)
            return neap_error(NEAP_E_SHAPE, "array: expected sizes of at least 0, got %lld", (long long)shape[k]);
        if (__builtin_mul_overflow(nonzero, shape[k] ? shape[k] : 1, &nonzero))
            return neap_error(NEAP_E_MEMORY, "array: more bytes than an address can count");
        aval->shape[k] = shape[k];
        *bytes *= shape[k];
    }
    return 0;
}

int neap_array_empty(neap_ctx *ctx, int dtype, int ndim, const int64_t *shape, void **data, int32_t *out) {
    lazy_result aval;
    int64_t bytes;
    int status = describe_new(dtype, ndim, shape, &aval, &bytes);
    if (status)
        return status;
    neap_buffer *buffer;
    status = neap_buffer_new(graph_host_device(graph_home_device()), (size_t)bytes, &buffer);
    if (status)
        return status;
    *data = neap_buffer_data(buffer);
    neap_node *node = graph_node_of_buffer(ctx, &aval, buffer);
    if (!node)
        return NEAP_E_MEMORY;
    graph_count_bytes(ctx, bytes);
    status = graph_publish(ctx, node, out);
    return status ? status : graph_safepoint(ctx);
}

int neap_array_new(neap_ctx *ctx, int dtype, int ndim, const int64_t *shape, const void *data, int32_t *out) {
    void *memory;
    int status = neap_array_empty(ctx, dtype, ndim, shape, &memory, out);
    if (status < 0)
        return status;
    neap_node *node = graph_lookup(ctx, *out);
    if (graph_node_bytes(node))
        memcpy(memory, data, graph_node_bytes(node));
    return status;
}

int neap_array_borrow(neap_ctx *ctx, int dtype, int ndim, const int64_t *shape, const void *data,
                      void (*release)(void *), void *arg, int32_t *out) {
    lazy_result aval;
    int64_t bytes;
    neap_buffer *buffer = NULL;
    int status = describe_new(dtype, ndim, shape, &aval, &bytes);
    if (status == 0)
        status = neap_buffer_borrow(data, (size_t)bytes, release, arg, &buffer);
    if (status) {
        if (release)
            release(arg);
        return status;
    }
    neap_node *node = graph_node_of_buffer(ctx, &aval, buffer);
    status = node ? graph_publish(ctx, node, out) : NEAP_E_MEMORY;
    return status ? status : graph_safepoint(ctx);
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */
neap_node *graph_tombstone(neap_ctx *ctx, const neap_node *node) {
    lazy_result aval = {.dtype = node->dtype, .ndim = node->ndim};
    memcpy(aval.shape, node->shape, node->ndim * sizeof *node->shape);
    neap_node *gone = graph_data(ctx, &aval);
    if (gone) {
        gone->flags |= LAZY_DELETED;
        gone->device = graph_is_meshed(node) ? -1 : node->device;
    }
    return gone;
}

void graph_bury(neap_ctx *ctx, neap_node *node, neap_node *gone) {
    gone->id = node->id;
    node->id = 0;
    ctx->handles.slots.at[gone->id & ((1 << NEAP_SLOT_BITS) - 1)] = gone;
    graph_release(ctx, node);
}

/* The handle goes on to name a node that is nothing but deleted. The array itself is freed with the last of those that
 * still read it: views, work that was recorded, programs. */
int neap_array_delete(neap_ctx *ctx, int32_t id) {
    neap_node *node = graph_lookup(ctx, id);
    if (!node)
        return neap_error_code();
    if (node->flags & LAZY_ABSTRACT)
        return neap_error(NEAP_E_TRACE, "delete: a traced array has no memory to give back");
    neap_node *gone = graph_tombstone(ctx, node);
    if (!gone)
        return NEAP_E_MEMORY;
    /* If nobody reads it, Lua's collector has no more to find. Else it may be a dead handle's recipe that does. */
    if (node->buffer && neap_buffer_sole(node->buffer) && graph_node_holders(node) == 1) {
        int64_t bytes = (int64_t)graph_node_bytes(node), since = ctx->collector.since;
        ctx->collector.since -= bytes < since ? bytes : since;
    }
    graph_bury(ctx, node, gone);
    return 0;
}
