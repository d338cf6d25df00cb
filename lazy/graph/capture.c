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
    if (made && node->flags & LAZY_WEAK && graph_number_looks_fraction((neap_node *)node))
        made->meets = LAZY_NUMBER_FRACTION;
    if (made)
        graph_weak_like(made, node);
    return made;
}

/* ---- Capturing --------------------------------------------------------------------------------------------------- */
/* The placeholder that stands for a node, or NULL. */
static neap_node *find_captured(const lazy_level *level, const neap_node *node) {
    int64_t first = level->inputs.n - level->captured.n, at = -1;
    for (int32_t k; (k = graph_table_next(&level->places, graph_hash_address(node), &at)) != 0;)
        if (level->captured.at[k - 1] == node)
            return level->inputs.at[first + k - 1];
    return NULL;
}

neap_node *graph_capture(neap_ctx *ctx, int at, neap_node *node) {
    lazy_level *level = &ctx->levels.at[at];
    neap_node *known = find_captured(level, node);
    if (known)
        return known;
    if (graph_table_grow(&level->places) || lazy_push(&level->captured, node))
        return NULL;
    neap_node *placeholder = graph_placeholder_like(ctx, at, node);
    if (placeholder && node->flags & LAZY_WEAK)
        graph_note_wholeness(node); /* the placeholder has it, and decides by it */
    if (!placeholder) {
        level->captured.n--;
        return NULL;
    }
    graph_retain(node);
    graph_table_add(&level->places, graph_hash_address(node), (int32_t)level->captured.n);
    return placeholder;
}

/* Was it computed of constants alone since a trace began that stages, this one or one inside it? */
static bool is_staged_inside(const neap_ctx *ctx, int at, neap_node *node) {
    for (int inner = at; inner < ctx->levels.n; inner++) {
        const lazy_level *level = &ctx->levels.at[inner];
        if (level->closed && level->stages && graph_is_staged(node, level->serial))
            return true;
    }
    return false;
}

/* Is it an array from outside of the trace, and no part of any program that reads it? Where a program is derived of one
 * that is closed, arrays that no level knows come from the rules, and so from constants: the new program holds them. */
static bool is_outside(const neap_ctx *ctx, int at, neap_node *node) {
    if (node->levels >> at)
        return false; /* of this trace, or of a level inside it */
    if (ctx->levels.at[at].derived)
        return node->levels;
    bool part = graph_is_constant(node) || node->flags & LAZY_CONSTRUCTED || is_staged_inside(ctx, at, node);
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
