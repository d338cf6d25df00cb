/* read.c: arrays read by the host: what is asked for is computed, and then waited for by whoever asked.
 *
 * Nothing here blocks: a value that is not there yet is NEAP_PENDING, and the call may be repeated.
 */
#include "lazy/dtype/scalar.h"
#include "lazy/graph/graph.h"
#include "lazy/plan/plan.h"

int plan_host_node(neap_ctx *ctx, neap_node *node, neap_node **out) {
    *out = node;
    return graph_is_meshed(node) ? graph_mesh()->whole(ctx, node, out) : 0;
}

/* A flush for somebody who goes on when it has been computed, not before. */
static int flush_awaited(neap_ctx *ctx, int n, neap_node *const *nodes) {
    bool before = ctx->plans.awaited;
    int64_t since = ctx->collector.since;
    ctx->plans.awaited = true;
    int status = plan_flush_roots(ctx, n, nodes);
    ctx->plans.awaited = before;
    graph_count_awaited(ctx, since);
    return status;
}

static int force_awaited(neap_ctx *ctx, neap_node *node) {
    return node->buffer ? 0 : flush_awaited(ctx, 1, &node);
}

int neap_array_start(neap_ctx *ctx, int32_t n, const int32_t *ids, int awaited) {
    neap_node **nodes = malloc((size_t)n * sizeof *nodes + 1);
    int status = nodes ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for %d arrays", n);
    for (int k = 0; k < n && status == 0; k++)
        if (!(nodes[k] = graph_lookup(ctx, ids[k])))
            status = neap_error_code();
    if (status == 0)
        status = awaited ? flush_awaited(ctx, n, nodes) : plan_flush_roots(ctx, n, nodes);
    free(nodes);
    return status;
}

int plan_host_read(neap_ctx *ctx, int32_t id, neap_buffer **out) {
    neap_node *node = graph_lookup(ctx, id);
    if (!node)
        return neap_error_code();
    int status = graph_may_read(ctx, node);
    if (status == 0)
        status = plan_host_node(ctx, node, &node);
    if (status == 0 && graph_collects_first(ctx, node))
        return NEAP_PENDING;
    if (status == 0)
        status = force_awaited(ctx, node);
    return status ? status : graph_host_poll(ctx, node, out);
}

/* Of a meshed array: all its blocks here. */
int neap_array_poll(neap_ctx *ctx, int32_t id) {
    neap_node *node = graph_lookup(ctx, id);
    if (!node)
        return neap_error_code();
    if (graph_may_read(ctx, node))
        return neap_error_code();
    if (graph_collects_first(ctx, node))
        return NEAP_PENDING;
    int status = flush_awaited(ctx, 1, &node);
    if (status || !graph_is_meshed(node))
        return status ? status : graph_poll(node, ctx->waker);
    for (int32_t b = 0; b < node->shards->sharding->nblocks && status == 0; b++)
        status = graph_poll(node->shards->blocks[b], ctx->waker);
    return status;
}

int neap_array_data(neap_ctx *ctx, int32_t id, const void **data) {
    neap_buffer *buffer = NULL;
    int status = plan_host_read(ctx, id, &buffer);
    if (status == 0)
        *data = neap_buffer_data(buffer);
    return status;
}

/* LuaJIT keeps types in the bits of NaNs, so one of unknown bits must never get there. */
static double plain(double value) {
    return value == value ? value : __builtin_nan("");
}

/* The element as one double, or as two if it is complex. */
static void element_values(int dtype, const char *at, double *out) {
    int part = dtype_of_part(dtype);
    out[0] = plain(dtype_number(part, at));
    if (part != dtype)
        out[1] = plain(dtype_number(part, at + neap_dtype_bytes(part)));
}

/* One element of a value is read where it lies, without copying the view that names it. */
int neap_array_item(neap_ctx *ctx, int32_t id, double *out, int32_t *dtype) {
    neap_node *node = graph_lookup(ctx, id);
    if (!node)
        return neap_error_code();
    if (node->size != 1) {
        char shape[256];
        return neap_error(NEAP_E_SHAPE, "item: the array must have one element, got shape %s",
                          graph_shape_text(node->ndim, node->shape, shape, sizeof shape));
    }
    *dtype = node->dtype;
    int whole = graph_may_read(ctx, node);
    if (whole == 0)
        whole = plan_host_node(ctx, node, &node);
    if (whole)
        return whole;
    if (graph_is_number(node) && !(node->flags & LAZY_ABSTRACT)) {
        *out = plain(dtype_round(node->dtype, node->value));
        if (dtype_of_part(node->dtype) != node->dtype)
            out[1] = 0;
        return 0;
    }
    int64_t at = 0;
    if (graph_is_view(node) && !node->buffer && node->base->buffer) {
        at = node->map->offset;
        node = node->base;
    } else {
        int status = graph_collects_first(ctx, node) ? NEAP_PENDING : force_awaited(ctx, node);
        if (status)
            return status;
    }
    neap_buffer *buffer;
    int status = graph_host_poll(ctx, node, &buffer);
    if (status == 0)
        element_values(node->dtype, (char *)neap_buffer_data(buffer) + at * neap_dtype_bytes(node->dtype), out);
    return status;
}
