/* devices.c: the devices of a session, and what the host reads of their memory. */
#include "lazy/graph/graph.h"

lazy_devices graph_devices;
_Thread_local int graph_default_device;

int neap_session_devices(int *first) {
    *first = graph_devices.first;
    return graph_devices.n ? graph_devices.n : neap_engine_devices();
}

int neap_session_use(const char *kind, int n) {
    int first = 0, number = 0, status = neap_engine_start(NULL);
    status = status == NEAP_E_STATE ? NEAP_OK : status; /* it runs already */
    for (int k = 0; k < n && status == NEAP_OK; k++) {
        status = neap_device_open(kind, k, &number);
        first = k == 0 ? number : first;
        if (status == NEAP_OK && number != first + k)
            status = neap_error(NEAP_E_STATE, "devices of the kind '%s' were opened before", kind);
    }
    if (status == NEAP_OK)
        graph_devices = (lazy_devices){.first = first, .n = n};
    return status;
}

/* Does it lie in memory that the host must not touch? */
static bool is_foreign_buffer(const neap_buffer *buffer) {
    return neap_device_memory_space(neap_buffer_device(buffer)) != 0;
}

static int guard_read(neap_ctx *ctx, const neap_node *node) {
    if (!ctx || !ctx->guard.any)
        return NEAP_OK;
    return graph_guard(ctx, &(graph_transfer){.node = node, .from = neap_buffer_device(node->buffer), .to = 0});
}

int graph_host_buffer(neap_ctx *ctx, const neap_node *node, neap_buffer **out) {
    *out = is_foreign_buffer(node->buffer) ? node->mirror : node->buffer;
    if (*out)
        return NEAP_OK;
    neap_buffer *mirror;
    int status = guard_read(ctx, node);
    if (status == NEAP_OK)
        status = neap_buffer_new(0, neap_buffer_bytes(node->buffer), &mirror);
    if (status == NEAP_OK && (status = neap_buffer_copy(mirror, node->buffer, &(neap_push){.name = "to host"})) != 0)
        neap_buffer_release(mirror);
    if (status == NEAP_OK)
        *out = ((neap_node *)node)->mirror = mirror; /* no part of its value */
    return status;
}

static int poll_buffer(neap_buffer *buffer, neap_waker *waker) {
    int status = neap_var_poll(neap_buffer_var(buffer), waker);
    if (status < 0)
        neap_var_told(neap_buffer_var(buffer));
    return status;
}

int graph_poll(const neap_node *node, neap_waker *waker) {
    return poll_buffer(node->buffer, waker);
}

int graph_host_poll(neap_ctx *ctx, const neap_node *node, neap_buffer **out) {
    int status = poll_buffer(node->buffer, ctx->waker);
    if (status == NEAP_OK && (status = graph_host_buffer(ctx, node, out)) == NEAP_OK && *out != node->buffer)
        status = poll_buffer(*out, ctx->waker);
    return status;
}

const void *graph_host_data(const neap_node *node) {
    return neap_buffer_data(node->mirror ? node->mirror : node->buffer);
}
