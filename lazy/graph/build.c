/* build.c: recording for rules of derivatives, batches and blocks: what they record is BORROWED from the context's
 * arena, and NULL among the inputs gives NULL, so a rule looks for a failure once, at its end.
 */
#include "lazy/graph/graph.h"
#include "ops_gen.h"

neap_node *graph_arena(neap_ctx *ctx, neap_node *node) {
    if (node && lazy_push(&ctx->start.arena, node) != 0) {
        graph_release(ctx, node);
        return NULL;
    }
    return node;
}

neap_node *graph_build(neap_ctx *ctx, int op, int nin, neap_node *const *in, int nattrs, const int64_t *attrs) {
    for (int k = 0; k < nin; k++)
        if (!in[k])
            return NULL;
    return graph_arena(ctx, graph_record(ctx, op, nin, in, nattrs, attrs));
}

neap_node *graph_build1(neap_ctx *ctx, int op, neap_node *a) {
    return graph_build(ctx, op, 1, &a, 0, NULL);
}

neap_node *graph_build2(neap_ctx *ctx, int op, neap_node *a, neap_node *b) {
    return graph_build(ctx, op, 2, (neap_node *[]){a, b}, 0, NULL);
}

neap_node *graph_build3(neap_ctx *ctx, int op, neap_node *a, neap_node *b, neap_node *c) {
    return graph_build(ctx, op, 3, (neap_node *[]){a, b, c}, 0, NULL);
}

neap_node *graph_build_number(neap_ctx *ctx, double value) {
    return graph_arena(ctx, graph_constant(ctx, NEAP_DTYPE_F64, true, value));
}

neap_node *graph_build_cast(neap_ctx *ctx, neap_node *a, int dtype) {
    return a ? graph_arena(ctx, graph_as_dtype(ctx, "astype", a, dtype)) : NULL;
}

neap_node *graph_build_broadcast(neap_ctx *ctx, neap_node *a, int ndim, const int64_t *shape) {
    return graph_build(ctx, LAZY_OP_broadcast_to, 1, &a, ndim, shape);
}

neap_node *graph_build_reshape(neap_ctx *ctx, neap_node *a, int ndim, const int64_t *shape) {
    return graph_build(ctx, LAZY_OP_reshape, 1, &a, ndim, shape);
}

neap_node *graph_build_place(neap_ctx *ctx, neap_node *a, int device) {
    return !a || a->device == device ? a : graph_build(ctx, LAZY_OP_device_put, 1, &a, 1, (int64_t[]){device});
}

neap_node *graph_build_add(neap_ctx *ctx, neap_node *a, neap_node *b) {
    return graph_build2(ctx, LAZY_OP_add, a, b);
}

neap_node *graph_build_sum(neap_ctx *ctx, neap_node *a, int64_t axes) {
    return graph_build(ctx, LAZY_OP_sum, 1, &a, 2, (int64_t[]){axes, 0});
}

neap_node *graph_build_slice(neap_ctx *ctx, neap_node *a, const int64_t *ranges) {
    return a ? graph_build(ctx, LAZY_OP_slice, 1, &a, 3 * a->ndim, ranges) : NULL;
}

neap_node *graph_build_transpose(neap_ctx *ctx, neap_node *a, const int64_t *axes) {
    return a ? graph_build(ctx, LAZY_OP_transpose, 1, &a, a->ndim, axes) : NULL;
}

neap_node *graph_build_concatenate(neap_ctx *ctx, int n, neap_node *const *parts, int axis) {
    return graph_build(ctx, LAZY_OP_concatenate, n, parts, 1, (int64_t[]){axis});
}
