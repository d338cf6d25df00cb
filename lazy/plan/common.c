/* common.c: what a region computes twice is computed once.
 *
 * Two nodes are *equal* if they are the same op of equal inputs, with the same attributes, dtype, shape and device. The
 * first of them is computed, and who reads another one reads that:
 *
 *      b = sum a      c = a - b      d = sum a      e = a - d       e and d are read as c and b
 *
 * Numbers are operands: only a node of its own is equal to itself, whatever its value, but for counts of elements,
 * which follow from shapes and so are part of the key. Leaves are equal to themselves alone; so draws of different keys
 * never meet. What has an effect, runs programs or functions of the script, or is shared with other processes is left
 * alone.
 *
 * A node that is stored for the sake of others outside of the region is stored still, as a copy of its equal, which
 * merge.c makes a second store of one kernel. All of this follows from the structure of the region, so it belongs to
 * the plan and costs a run nothing.
 */
#include <string.h>

#include "lazy/plan/plan.h"

typedef struct finder {
    neap_ctx *ctx;
    int32_t *number; /* of each node, that of the first one with the same value */
    int32_t *bucket; /* hash table of region numbers + 1, open; `mask` + 1 of them */
    uint64_t mask;
} finder;

static neap_node *node_at(const finder *f, int64_t k) {
    return f->ctx->walk.order.at[k];
}

/* May another node take its place? */
static bool may_be_equal(const neap_node *node) {
    const lazy_op *row = graph_node_op(node);
    if (plan_is_leaf(node) || row->payload || row->control || row->flags & (LAZY_OP_PROMPT | LAZY_OP_MESH))
        return false;
    return row->kind != LAZY_SOURCE || row->origin == LAZY_ORIGIN_INDEX || graph_counts_elements(node);
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 32;
}

static uint64_t mix_words(uint64_t hash, int64_t n, const int64_t *words) {
    for (int64_t k = 0; k < n; k++)
        hash = mix(hash, (uint64_t)words[k]);
    return hash;
}

static uint64_t hash_value(const finder *f, const neap_node *node) {
    uint64_t hash = mix((uint64_t)node->op, (uint64_t)node->dtype << 8 | node->ndim);
    hash = mix_words(hash, node->ndim, node->shape);
    if (graph_is_view(node)) {
        hash = mix(hash, (uint64_t)f->number[node->base->index]);
        hash = mix(hash, (uint64_t)plan_view_offset(f->ctx, node));
        return mix_words(hash, node->ndim, node->map->stride);
    }
    hash = mix_words(hash, node->nattrs, node->attrs);
    for (int k = 0; k < node->nin; k++)
        hash = mix(hash, (uint64_t)f->number[node->in[k]->index]);
    return hash;
}

static bool same_words(int64_t n, const int64_t *a, const int64_t *b) {
    return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool same_value(const finder *f, const neap_node *a, const neap_node *b) {
    bool views = graph_is_view(a);
    if (a->op != b->op || a->dtype != b->dtype || a->device != b->device || (a->flags ^ b->flags) & LAZY_WEAK ||
        views != graph_is_view(b) || !graph_same_shape(a->ndim, a->shape, b->ndim, b->shape))
        return false;
    if (views)
        return f->number[a->base->index] == f->number[b->base->index] &&
               plan_view_offset(f->ctx, a) == plan_view_offset(f->ctx, b) &&
               same_words(a->ndim, a->map->stride, b->map->stride);
    if (graph_counts_elements(a)) /* bits are compared: NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
        return graph_counts_elements(b) && memcmp(&a->value, &b->value, sizeof a->value) == 0;
    if (graph_is_number(b) || a->nattrs != b->nattrs || a->nin != b->nin || !same_words(a->nattrs, a->attrs, b->attrs))
        return false;
    for (int k = 0; k < a->nin; k++)
        if (f->number[a->in[k]->index] != f->number[b->in[k]->index])
            return false;
    return true;
}

/* Another name of the base, all of it: has the same value. */
static bool is_whole(const neap_node *view) {
    const neap_node *base = view->base;
    return view->dtype == base->dtype && view->device == base->device &&
           graph_same_shape(view->ndim, view->shape, base->ndim, base->shape) &&
           graph_map_contiguous(view->ndim, view->shape, view->map);
}

static int32_t find_number(finder *f, int32_t k) {
    const neap_node *node = node_at(f, k);
    if (graph_is_view(node) && !plan_is_leaf(node) && is_whole(node))
        return f->number[node->base->index];
    if (!may_be_equal(node))
        return k;
    uint64_t at = hash_value(f, node) & f->mask;
    for (; f->bucket[at]; at = (at + 1) & f->mask)
        if (same_value(f, node_at(f, f->bucket[at] - 1), node))
            return f->bucket[at] - 1;
    f->bucket[at] = k + 1;
    return k;
}

/* Is nothing left of the node if nobody in the region reads it? */
static bool leaves_no_trace(const finder *f, const int32_t *inside, int32_t k, lazy_why why) {
    const neap_node *node = node_at(f, k);
    if (why == LAZY_WHY_NOT || why == LAZY_WHY_KERNELS || why == LAZY_WHY_REDUCTION)
        return true;
    bool inner = why == LAZY_WHY_CALL || why == LAZY_WHY_VERSION || why == LAZY_WHY_OPERAND;
    return inner && !node->lasting && inside[k] == node->consumers;
}

/* Are so many of its elements asked for that it is worth to have them all? (See is_little in region.c.) */
static bool wants_all(const finder *f, const neap_node *node, int64_t asked) {
    return !f->ctx->plans.counted || !graph_is_made_in_place(node) || asked >= node->size / 2;
}

/* A value whose readers have become several gets a buffer, which merge.c takes away if one kernel has them all. */
static void store_what_is_shared(const finder *f, uint8_t *made, const int32_t *same, const int32_t *readers,
                                 const int64_t *asked) {
    for (int64_t k = 0; k < f->ctx->walk.order.n; k++) {
        const neap_node *node = node_at(f, k);
        bool plain = !plan_is_leaf(node) && graph_is_fusible(node) && !graph_is_formula(node);
        if (same[k] == k && asked[k] >= 0 && plain && made[k] == LAZY_WHY_NOT && readers[k] > 1 &&
            node->consumers < 2 && wants_all(f, node, asked[k]))
            made[k] = LAZY_WHY_KERNELS;
    }
}

static void count_reader(const int32_t *same, int32_t *readers, const neap_node *node) {
    for (int i = 0; i < node->nin; i++) {
        int32_t target = same[graph_read_target(node->in[i])->index];
        bool again = false;
        for (int j = 0; j < i; j++)
            again |= same[graph_read_target(node->in[j])->index] == target;
        readers[target] += !again;
    }
}

/* Says of each node what is read in its place, and which values get a buffer now. */
static int settle_equals(const finder *f, uint8_t *made, int32_t *same) {
    int64_t n = f->ctx->walk.order.n;
    int32_t *inside = calloc(2 * (size_t)n, sizeof *inside), *readers = inside + n;
    int64_t *asked = malloc((size_t)n * sizeof *asked);
    int status = inside && asked ? 0 : neap_error(NEAP_E_MEMORY, "out of memory while planning");
    if (status == 0)
        plan_count_consumers(f->ctx, inside);
    for (int32_t k = 0; k < n && status == 0; k++) {
        const neap_node *node = node_at(f, k);
        asked[k] = -1; /* no other node is equal to it */
        same[k] = graph_is_view(node) ? k : f->number[k];
        if (same[k] == k)
            continue;
        int64_t *first = &asked[same[k]];
        if (f->ctx->plans.counted)
            *first =
                (*first < 0 ? f->ctx->plans.asked.at[same[k]].elements : *first) + f->ctx->plans.asked.at[k].elements;
        else
            *first = 0;
        if (made[k] == LAZY_WHY_CALL && !made[same[k]]) /* a draw of which the first of them asks little */
            made[same[k]] = LAZY_WHY_CALL;
        if (leaves_no_trace(f, inside, k, made[k]))
            made[k] = LAZY_WHY_NOT;
    }
    for (int32_t k = 0; k < n && status == 0; k++) {
        const neap_node *node = node_at(f, k);
        if (same[k] != k && made[k])
            readers[same[k]]++;
        else if (same[k] == k && !plan_is_leaf(node) && !graph_is_view(node))
            count_reader(same, readers, node);
    }
    if (status == 0)
        store_what_is_shared(f, made, same, readers, asked);
    free(inside);
    free(asked);
    return status;
}

int plan_find_common(neap_ctx *ctx, uint8_t *made) {
    int64_t n = ctx->walk.order.n;
    finder f = {.ctx = ctx, .mask = 15};
    while ((int64_t)f.mask < 2 * n)
        f.mask = f.mask * 2 + 1;
    ctx->plans.same.n = 0;
    f.number = malloc((size_t)n * sizeof *f.number + 1);
    f.bucket = calloc((size_t)f.mask + 1, sizeof *f.bucket);
    int status = f.number && f.bucket ? 0 : neap_error(NEAP_E_MEMORY, "out of memory while planning");
    bool any = false;
    for (int32_t k = 0; k < n && status == 0; k++) {
        f.number[k] = find_number(&f, k);
        any |= f.number[k] != k && !graph_is_view(node_at(&f, k));
    }
    for (int64_t k = 0; k < n && status == 0; k++)
        status = lazy_push(&ctx->plans.same, (int32_t)k) ? NEAP_E_MEMORY : 0;
    if (any && status == 0)
        status = settle_equals(&f, made, ctx->plans.same.at);
    free(f.number);
    free(f.bucket);
    return status;
}
