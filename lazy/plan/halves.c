/* halves.c: products of halves that a library of a device takes as they are.
 *
 * A product of f16 or bf16 is recorded as one of f32 (graph/record.c), which the host computes:
 *
 *      a ──▶ a as f32 ──▶ product, f32 ──▶ the product as f16           a, b: f16
 *      b ──▶ b as f32 ──┘
 *
 * Where the library of a device multiplies halves and adds up in f32, the call reads a and b themselves, also through
 * views on both sides of the casts, and the casts are not computed for it. In the program of a trace, where nobody else
 * reads the product, the call writes what the cast behind it would have made, too. So the results are the same but for
 * the order in which the library adds up.
 *
 * Which calls these are follows from the structure of the region, its devices and their libraries.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/plan/draft.h"

typedef struct finder {
    neap_ctx *ctx;
    uint8_t *made;
    int32_t *readers; /* by node of the region: how often it is read, through views too; of these, past its cast: */
    int32_t *past;
    int32_t *last; /* the last reader, -1 */
} finder;

static neap_node *node_at(const finder *f, int64_t k) {
    return f->ctx->walk.order.at[k];
}

/* What is read for an operand, past views that have no buffer of their own. */
static neap_node *read_by(const neap_ctx *ctx, neap_node *operand) {
    neap_node *node = plan_same(ctx, operand);
    return graph_is_view(node) && !node->buffer ? plan_same(ctx, node->base) : node;
}

static bool is_cast(const neap_node *node, int to) {
    return !plan_is_leaf(node) && graph_node_op(node)->flags & LAZY_OP_CASTS && node->dtype == to;
}

bool plan_half_operand(const neap_ctx *ctx, neap_node *operand, lazy_half_operand *out) {
    neap_node *node = plan_same(ctx, operand), *cast = read_by(ctx, operand);
    if (!is_cast(cast, NEAP_DTYPE_F32) || !dtype_is_half(cast->in[0]->dtype))
        return false;
    int64_t row[NEAP_MAX_DIMS];
    lazy_box_map outer = {node->ndim, node->shape, 0, row};
    lazy_split split;
    graph_row_major(node->ndim, node->shape, row);
    if (node != cast) {
        outer.offset = node->map->offset;
        outer.stride = node->map->stride;
    }
    const neap_node *half = plan_same(ctx, cast->in[0]);
    out->node = read_by(ctx, cast->in[0]);
    if (out->node == half) {
        out->offset = outer.offset;
        memcpy(out->stride, outer.stride, node->ndim * sizeof *row);
    } else {
        const lazy_box_map inner = {half->ndim, half->shape, half->map->offset, half->map->stride};
        if (!graph_map_compose(&outer, &inner, &out->offset, out->stride, &split))
            return false;
    }
    const int64_t origin = plan_origin(ctx, out->node);
    out->offset -= origin > 0 ? origin : 0;
    return graph_node_space(out->node) == graph_node_space(cast);
}

/* ---- Which calls ------------------------------------------------------------------------------------------------- */

/* Would a library of the device do the call, of these halves, with a result of this dtype? */
static bool library_takes(const neap_node *node, const lazy_half_operand *halves, int dtype) {
    lazy_tensor in[2], out = {.dtype = (uint8_t)dtype, .ndim = node->ndim, .size = node->size, .shape = node->shape};
    int64_t row[NEAP_MAX_DIMS];
    const lazy_op *op = graph_node_op(node);
    for (int k = 0; k < 2; k++) {
        const neap_node *operand = node->in[k];
        in[k] = (lazy_tensor){.dtype = halves[k].node->dtype,
                              .ndim = operand->ndim,
                              .size = operand->size,
                              .shape = operand->shape,
                              .stride = halves[k].stride};
        if (op->reads && !op->reads(&in[k]))
            return false;
        if (op->flags & LAZY_OP_DENSE &&
            (halves[k].offset != 0 || !graph_strides_contiguous(operand->ndim, operand->shape, halves[k].stride)))
            return false;
    }
    graph_row_major(node->ndim, node->shape, row);
    out.stride = row;
    const lazy_call call = {.op = op, .nin = 2, .nattrs = node->nattrs, .in = in, .out = &out, .attrs = node->attrs};
    neap_routine routine;
    return !op->routine(&call, &routine) && !neap_routine_lacks(graph_node_runs_on(node), &routine);
}

static bool may_take(const neap_ctx *ctx, const neap_node *node, lazy_half_operand *halves) {
    if (plan_is_leaf(node) || !(graph_node_op(node)->flags & LAZY_OP_HALVES) || node->dtype != NEAP_DTYPE_F32 ||
        node->size == 0 || graph_node_space(node) == 0)
        return false;
    for (int k = 0; k < 2; k++)
        if (!plan_half_operand(ctx, node->in[k], &halves[k]) ||
            graph_node_space(halves[k].node) != graph_node_space(node))
            return false;
    return halves[0].node->dtype == halves[1].node->dtype;
}

/* The one node that reads this one, as it is; NULL: there is none, or several. */
static neap_node *only_reader(const finder *f, const neap_node *node) {
    neap_node *reader = f->readers[node->index] == 1 ? node_at(f, f->last[node->index]) : NULL;
    return reader && reader->nin == 1 && reader->in[0] == node && plan_same(f->ctx, reader) == reader ? reader : NULL;
}

/* The one cast to such a half that reads the call of a trace, past the real part that derivatives take of what may be
 * complex; NULL: there is none, or something else reads the call, too. */
static neap_node *rounded(const finder *f, const neap_node *node, int half) {
    neap_node *cast = only_reader(f, node);
    while (cast && graph_node_op(cast)->flags & LAZY_OP_REAL && !f->made[cast->index])
        cast = only_reader(f, cast);
    bool alone = cast && is_cast(cast, half) && graph_node_runs_on(cast) == graph_node_runs_on(node);
    return alone && f->made[node->index] == LAZY_WHY_CALL && node->flags & LAZY_ABSTRACT ? cast : NULL;
}

/* Decides about a call. */
static void settle_call(const finder *f, neap_node *node, uint8_t *takes, int32_t *rounds) {
    lazy_half_operand halves[2];
    if (!f->made[node->index] || plan_same(f->ctx, node) != node || !may_take(f->ctx, node, halves))
        return;
    const int half = halves[0].node->dtype;
    const neap_node *cast = rounded(f, node, half);
    if (cast && library_takes(node, halves, half)) {
        rounds[cast->index] = (int32_t)node->index;
        f->made[node->index] = LAZY_WHY_NOT;
        if (f->made[cast->index] != LAZY_WHY_ASKED)
            f->made[cast->index] = LAZY_WHY_CALL;
    } else if (!library_takes(node, halves, NEAP_DTYPE_F32)) {
        return;
    }
    takes[node->index] = true;
    for (int k = 0; k < 2; k++)
        f->past[read_by(f->ctx, node->in[k])->index]++;
}

/* ---- Casts that nobody reads ------------------------------------------------------------------------------------- */

static void count_reader(const finder *f, neap_node *read, int64_t reader) {
    const int64_t k = read_by(f->ctx, read)->index;
    f->readers[k]++;
    f->last[k] = (int32_t)reader;
}

static void count_readers(const finder *f) {
    for (int64_t k = 0; k < f->ctx->walk.order.n; k++) {
        neap_node *node = node_at(f, k);
        f->last[k] = -1;
        if (plan_is_leaf(node))
            continue;
        if (plan_same(f->ctx, node) != node || graph_is_view(node)) {
            if (f->made[k])
                count_reader(f, node, k);
            continue;
        }
        for (int i = 0; i < node->nin; i++)
            count_reader(f, node->in[i], k);
    }
}

/* A cast past which all calls of the region read stays a recipe, of a half that is stored: who reads it later may read
 * past it, too. */
static void leave_casts(const finder *f) {
    for (int64_t k = 0; k < f->ctx->walk.order.n; k++)
        if (f->past[k] > 0 && f->past[k] == f->readers[k] && f->made[k] != LAZY_WHY_ASKED && !node_at(f, k)->lasting)
            f->made[k] = LAZY_WHY_NOT;
}

static bool has_candidates(const neap_ctx *ctx) {
    lazy_half_operand halves[2];
    for (int64_t k = 0; k < ctx->walk.order.n; k++)
        if (may_take(ctx, ctx->walk.order.at[k], halves))
            return true;
    return false;
}

int plan_take_halves(neap_ctx *ctx, uint8_t *made, uint8_t *takes, int32_t *rounds) {
    const int64_t n = ctx->walk.order.n;
    if (!has_candidates(ctx))
        return 0;
    finder f = {.ctx = ctx, .made = made, .readers = calloc(3 * (size_t)n + 1, sizeof *f.readers)};
    if (!f.readers)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    f.past = f.readers + n;
    f.last = f.past + n;
    count_readers(&f);
    for (int64_t k = 0; k < n; k++)
        settle_call(&f, node_at(&f, k), takes, rounds);
    leave_casts(&f);
    free(f.readers);
    return 0;
}
