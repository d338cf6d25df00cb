/* graph/capture.c: traces and their inputs: placeholders for arguments, and those that a closed trace makes for what it
 * reads from outside of itself.
 *
 * An op belongs to a trace iff one of its inputs does. When an op of a *closed* trace also reads an array from outside,
 * a placeholder is made for that array and read instead: the array is *captured*. So everything that such a trace
 * depends on is an input of its program, and derivatives and batches reach what its function reads from around it.
 * Numbers, and what is made of constructors alone, stay as they are: they are part of the program. So is what a trace
 * that *stages* has recorded from constants alone (program/stage.c). Where the innermost trace stages, an op on arrays
 * of outer traces alone belongs to it too.
 *
 * Of several open traces the innermost comes first: an array of an outer trace meets one of an inner trace as a
 * placeholder of the inner one. An array of a level that was opened inside the trace belongs there and is never
 * captured.
 */
#include <string.h>

#include "lazy/graph/graph.h"
#include "lazy/graph/sharding.h"
#include "ops_gen.h"

/* ---- Placeholders ------------------------------------------------------------------------------------------------ */
neap_node *graph_placeholder(neap_ctx *ctx, int level, const lazy_result *aval, bool weak, int device,
                             const lazy_sharding *sharding) {
    neap_node *node = graph_node_new(ctx, LAZY_OP_placeholder, aval, 0, NULL, 0, NULL);
    lazy_nodes *inputs = &ctx->levels.at[level].inputs;
    if (!node)
        return NULL;
    node->flags = LAZY_ABSTRACT | (weak ? LAZY_WEAK : 0);
    node->device = (int16_t)device;
    node->levels = 1u << level;
    node->value = (double)inputs->n; /* its position */
    if ((sharding && graph_node_mesh(node, sharding)) || lazy_push(inputs, node)) {
        graph_release(ctx, node);
        return NULL;
    }
    return node;
}

neap_node *graph_placeholder_like(neap_ctx *ctx, int level, const neap_node *node) {
    lazy_result aval = {.dtype = node->dtype, .ndim = node->ndim};
    memcpy(aval.shape, node->shape, node->ndim * sizeof *node->shape);
    neap_node *made =
        graph_placeholder(ctx, level, &aval, node->flags & LAZY_WEAK, node->device, graph_sharding_of(node));
    if (made && node->flags & LAZY_WEAK && graph_is_placeholder(node))
        made->meets = node->meets & LAZY_NUMBER_FRACTION;
    if (made)
        graph_weak_like(made, node);
    return made;
}

/* ---- Capturing --------------------------------------------------------------------------------------------------- */
static uint64_t place_of_capture(const lazy_level *level, const neap_node *node) {
    return ((uint64_t)(uintptr_t)node >> 4) * 0x9e3779b97f4a7c15u >> 20 & (uint64_t)(level->capture_slots - 1);
}

static void add_captured_to_table(lazy_level *level, int64_t k) {
    uint64_t place = place_of_capture(level, level->captured.at[k]);
    while (level->capture_slot[place])
        place = (place + 1) & (uint64_t)(level->capture_slots - 1);
    level->capture_slot[place] = (int32_t)k + 1;
}

/* Keeps the table at most half full. */
static int table_capacity(lazy_level *level) {
    if (2 * (level->captured.n + 1) <= level->capture_slots)
        return 0;
    int64_t wider = level->capture_slots ? 2 * level->capture_slots : 16;
    int32_t *table = calloc((size_t)wider, sizeof *table);
    if (!table)
        return neap_error(NEAP_E_MEMORY, "out of memory for a trace");
    free(level->capture_slot);
    level->capture_slot = table;
    level->capture_slots = wider;
    for (int64_t k = 0; k < level->captured.n; k++)
        add_captured_to_table(level, k);
    return 0;
}

/* The placeholder that stands for a node, or NULL. */
static neap_node *find_captured(const lazy_level *level, const neap_node *node) {
    if (!level->capture_slots)
        return NULL;
    int64_t first = level->inputs.n - level->captured.n;
    uint64_t place = place_of_capture(level, node);
    for (int32_t k; (k = level->capture_slot[place]) != 0; place = (place + 1) & (uint64_t)(level->capture_slots - 1))
        if (level->captured.at[k - 1] == node)
            return level->inputs.at[first + k - 1];
    return NULL;
}

neap_node *graph_capture(neap_ctx *ctx, int at, neap_node *node) {
    lazy_level *level = &ctx->levels.at[at];
    neap_node *known = find_captured(level, node);
    if (known)
        return known;
    if (table_capacity(level) || lazy_push(&level->captured, node))
        return NULL;
    neap_node *placeholder = graph_placeholder_like(ctx, at, node);
    if (!placeholder) {
        level->captured.n--;
        return NULL;
    }
    graph_retain(node);
    add_captured_to_table(level, level->captured.n - 1);
    return placeholder;
}

/* Is it an array from outside of the trace, and no part of any program that reads it? Where a program is derived of one
 * that is closed, arrays that no level knows come from the rules, and so from constants: the new program holds them. */
static bool is_outside(const neap_ctx *ctx, int at, neap_node *node) {
    if (node->levels >> at)
        return false; /* of this trace, or of a level inside it */
    if (ctx->levels.at[at].derived)
        return node->levels;
    const lazy_level *level = &ctx->levels.at[at];
    bool part = graph_is_constant(node) || node->flags & LAZY_CONSTRUCTED ||
                (level->stages && graph_is_staged(node, level->serial));
    return node->levels || node->buffer || !part;
}

int graph_capture_into(neap_ctx *ctx, int at, int n, neap_node *const *nodes, neap_node **to) {
    for (int k = 0; k < n; k++)
        if (!(to[k] = is_outside(ctx, at, nodes[k]) ? graph_capture(ctx, at, nodes[k]) : nodes[k]))
            return NEAP_E_MEMORY;
    return 0;
}

/* The bit of the innermost trace, if it stages: it also records what is computed of arrays of outer traces alone. */
static uint32_t level_that_stages(neap_ctx *ctx) {
    const lazy_level *trace = graph_open_trace(ctx);
    return trace && trace->stages ? 1u << (trace - ctx->levels.at) : 0;
}

int graph_capture_inputs(neap_ctx *ctx, int n, neap_node *const *nodes, neap_node **to) {
    int status = 0;
    uint32_t some = 0;
    bool traced = false;
    for (int k = 0; k < n; k++) {
        to[k] = nodes[k];
        some |= nodes[k]->levels;
        traced |= nodes[k]->flags & LAZY_ABSTRACT && nodes[k]->levels;
    }
    some |= traced ? level_that_stages(ctx) : 0;
    for (int at = ctx->levels.n - 1; at >= 0 && status == 0; at--)
        if (ctx->levels.at[at].closed && some >> at & 1)
            status = graph_capture_into(ctx, at, n, to, to);
    return status;
}

int graph_innermost_closed(const neap_ctx *ctx, int below) {
    int at = below - 1;
    while (at >= 0 && !ctx->levels.at[at].closed)
        at--;
    return at;
}
