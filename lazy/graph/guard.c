/* guard.c: np.transfer_guard: copies from one memory to another are told of, or refused.
 *
 * A copy is *explicit* if np.device_put asks for the copy, or a new array of the script goes to the session's device.
 * Other copies follow from where arrays lie, and a script may not know of these:
 *
 *      a step uses an array of another memory       asked before the plan runs (plan/transfer.c)
 *      the host reads an array                      asked before the copy for the host is pushed (devices.c)
 *
 * A refused copy, and the work behind the copy, have not begun, so a script may try again. Without a guard a plan's run
 * costs one load more.
 */
#include <stdio.h>
#include <string.h>

#include "effects/effects.h"
#include "lazy/graph/graph.h"
#include "ops_gen.h"

int neap_transfer_guard(neap_ctx *ctx, int way, int level) {
    int before = ctx->guard.levels[way];
    if (level >= 0)
        ctx->guard.levels[way] = (uint8_t)level;
    ctx->guard.any = false;
    for (int k = 0; k < NEAP_TRANSFER_WAYS; k++)
        ctx->guard.any |= ctx->guard.levels[k] != NEAP_GUARD_ALLOW;
    return before;
}

static int way_of(const graph_transfer *transfer) {
    int from = neap_device_memory_space(transfer->from), to = neap_device_memory_space(transfer->to);
    return from == 0 ? NEAP_TRANSFER_TO_DEVICE : to == 0 ? NEAP_TRANSFER_TO_HOST : NEAP_TRANSFER_BETWEEN;
}

/* Writes at *n, as far as there is space: snprintf one behind the other. */
static void append(char *text, size_t capacity, size_t *n, const char *before, const char *what) {
    if (what && *what && *n < capacity)
        *n += (size_t)snprintf(text + *n, capacity - *n, "%s%s", before, what);
}

/* "host-to-device transfer of f32(3,), 12 bytes, made at t.lua:2, from cpu:0 to null:0, for exp at t.lua:3" */
static void say_transfer(const neap_ctx *ctx, const graph_transfer *transfer, char *text, size_t capacity) {
    static const char *const ways[] = {"host-to-device", "device-to-host", "device-to-device"};
    const neap_node *node = transfer->node;
    char shape[256];
    size_t n = (size_t)snprintf(text, capacity, "%s%s transfer of %s%s, %zu bytes", transfer->asked ? "explicit " : "",
                                ways[way_of(transfer)], neap_dtype_name(node->dtype),
                                graph_shape_text(node->ndim, node->shape, shape, sizeof shape), graph_node_bytes(node));
    append(text, capacity, &n, ", made at ", graph_site_text(ctx, node->site));
    append(text, capacity, &n, ", from ", neap_device_name(transfer->from));
    append(text, capacity, &n, " to ", neap_device_name(transfer->to));
    append(text, capacity, &n, ", for ", transfer->by);
    append(text, capacity, &n, " at ", transfer->by ? transfer->site : NULL);
    append(text, capacity, &n, ", since the device cannot: ", transfer->lacks);
}

int graph_guard(neap_ctx *ctx, const graph_transfer *transfer) {
    int level = ctx->guard.levels[way_of(transfer)];
    bool refuses = level == NEAP_GUARD_DISALLOW_EXPLICIT || (level == NEAP_GUARD_DISALLOW && !transfer->asked);
    bool tells = level == NEAP_GUARD_LOG_EXPLICIT || (level == NEAP_GUARD_LOG && !transfer->asked);
    char text[1024];
    if (!refuses && !tells)
        return 0;
    size_t n = (size_t)snprintf(text, sizeof text, "np.transfer_guard: ");
    say_transfer(ctx, transfer, text + n, sizeof text - n - 1);
    if (refuses)
        return neap_error(NEAP_E_STATE, "np.transfer_guard disallows the %s%s", text + n,
                          transfer->asked ? "" : "; np.device_put moves what is to move");
    n = strlen(text);
    text[n] = '\n';
    return neap_out_write(NEAP_STDERR, text, n + 1);
}

int neap_transfer_asked(neap_ctx *ctx, int32_t id, int device) {
    neap_node *node = graph_lookup(ctx, id);
    if (!node)
        return neap_error_code();
    if (graph_is_meshed(node) || !graph_leaves_memory(node, device))
        return 0;
    return graph_guard(
        ctx, &(graph_transfer){
                 .node = node, .from = graph_node_runs_on(graph_read_target(node)), .to = device, .asked = true});
}
