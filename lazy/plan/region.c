/* region.c: what a demand needs, its structure as a key, and the table of plans.
 *
 * The key describes each node of the region by op, dtype, shape, attributes and the numbers of its inputs; leaves by
 * dtype, shape and the memory that they lie in; constants by dtype alone, since numbers are operands (but counts of
 * elements, which follow from shapes, by their value); what is computed on a device that it is committed to, also by
 * that device. So a changing learning rate finds the plan of the last iteration, and so does the next slice of an
 * array: where the first one begins is no part of the key. The table is bounded by bytes: when it is full it is
 * emptied, which costs a replan and nothing else.
 */
#include <malloc.h>
#include <string.h>

#include "lazy/plan/plan.h"

static const int64_t PLAN_BYTES = 256 << 20;

/* Is it there, whatever it was made of? What lies on a mesh is by its blocks. */
static bool is_given(const neap_node *node) {
    return node->buffer || (node->shards && !(node->flags & LAZY_ABSTRACT));
}

int plan_region_children(neap_node *node, neap_node *const **children) {
    if (is_given(node)) {
        *children = NULL;
        return 0;
    }
    if (graph_is_view(node)) {
        *children = &node->base;
        return 1;
    }
    *children = node->in;
    return node->nin;
}

static int collect_push(neap_ctx *ctx, neap_node *node) {
    node->mark = ctx->walk.epoch;
    if (is_given(node) || (node->nin == 0 && !graph_is_view(node))) { /* nothing to follow */
        node->index = (uint32_t)ctx->walk.order.n;
        return lazy_push(&ctx->walk.order, node);
    }
    node->index = 0;
    return lazy_push(&ctx->walk.stack, node);
}

/* Depth first, with the context's stack; while a node is on it, its index counts the children already followed. */
static int collect_from(neap_ctx *ctx, neap_node *root) {
    int status = root->mark == ctx->walk.epoch ? 0 : collect_push(ctx, root);
    while (ctx->walk.stack.n > 0 && status == 0) {
        neap_node *node = ctx->walk.stack.at[ctx->walk.stack.n - 1], *const * children;
        int n = plan_region_children(node, &children);
        if (node->index < (uint32_t)n) {
            neap_node *child = children[node->index++];
            if (child->mark != ctx->walk.epoch)
                status = collect_push(ctx, child);
            continue;
        }
        ctx->walk.stack.n--;
        node->index = (uint32_t)ctx->walk.order.n;
        status = lazy_push(&ctx->walk.order, node);
    }
    return status;
}

int plan_region_collect(neap_ctx *ctx, int64_t nroots, neap_node *const *roots) {
    ctx->walk.epoch++;
    ctx->walk.order.n = ctx->walk.stack.n = 0;
    int status = 0;
    for (int64_t k = 0; k < nroots && status == 0; k++)
        status = collect_from(ctx, roots[k]);
    return status;
}

/* ---- Key --------------------------------------------------------------------------------------------------------- */
enum { KEY_LEAF = 0xffff, KEY_NUMBER = 0xfffe };

static int reserve_items(void **at, int64_t *capacity, int64_t most, size_t item) {
    int status = 0;
    while (*capacity < most && status == 0)
        status = lazy_vector_grow(at, capacity, item);
    return status;
}

static uint64_t *put_words(uint64_t *to, int64_t n, const int64_t *words) {
    for (int64_t k = 0; k < n; k++)
        *to++ = (uint64_t)words[k];
    return to;
}

/* Writes the words of a node that is no leaf; returns their end. offset: of a view, as the plan counts. */
static uint64_t *put_key_node(uint64_t *to, const neap_node *node, uint8_t made, int64_t offset) {
    bool number = graph_is_number(node), placed = node->device >= 0, counts = graph_counts_elements(node);
    uint64_t op = number ? KEY_NUMBER : (uint64_t)node->op;
    *to++ = op | (uint64_t)node->dtype << 16 | (uint64_t)node->ndim << 24 | (uint64_t)made << 32 |
            (uint64_t)placed << 39 |
            (number ? (uint64_t)counts << 40
                    : (uint64_t)(node->nin & 0xff) << 40 | (uint64_t)(node->nattrs & 0xffff) << 48);
    to = put_words(to, node->ndim, node->shape);
    if (counts)
        memcpy(to++, &node->value, sizeof *to);
    if (number)
        return to;
    if (placed)
        *to++ = (uint64_t)node->device;
    if (graph_is_view(node)) {
        *to++ = node->base->index;
        *to++ = (uint64_t)offset;
        return put_words(to, node->ndim, node->map->stride);
    }
    const lazy_op *row = graph_node_op(node);
    int32_t apart = graph_has_pointer(row); /* what is run is no structure */
    if (row->payload && row->payload->key)
        to = row->payload->key(to, node);
    to = put_words(to, node->nattrs - apart, node->attrs + apart);
    for (int k = 0; k < node->nin; k++)
        *to++ = node->in[k]->index;
    return to;
}

static uint64_t *put_leaf(uint64_t *to, const neap_node *node, bool sliced) {
    *to++ = KEY_LEAF | (uint64_t)node->dtype << 16 | (uint64_t)node->ndim << 24 |
            (uint64_t)graph_node_space(node) << 32 | (uint64_t)sliced << 63;
    return put_words(to, node->ndim, node->shape);
}

/* Multiply and fold, 64 bits at a time. */
static uint64_t hash_words(uint64_t hash, const uint64_t *from, const uint64_t *to) {
    for (; from < to; from++) {
        hash = (hash ^ *from) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

/* ---- Table ------------------------------------------------------------------------------------------------------- */
void plan_free_all(neap_ctx *ctx) {
    for (int64_t b = 0; b < ctx->plans.buckets; b++)
        while (ctx->plans.table[b]) {
            lazy_plan *plan = ctx->plans.table[b];
            ctx->plans.table[b] = plan->next;
            plan_release(plan);
        }
    free(ctx->plans.table);
    ctx->plans.table = NULL;
    ctx->plans.buckets = ctx->plans.n = ctx->plans.bytes = 0;
}

static int table_grow(neap_ctx *ctx) {
    int64_t wider = ctx->plans.buckets ? ctx->plans.buckets * 4 : 256;
    lazy_plan **table = calloc((size_t)wider, sizeof *table);
    if (!table)
        return neap_error(NEAP_E_MEMORY, "out of memory for the table of plans");
    for (int64_t b = 0; b < ctx->plans.buckets; b++)
        for (lazy_plan *plan = ctx->plans.table[b], *next; plan; plan = next) {
            next = plan->next;
            plan->next = table[plan->hash & (uint64_t)(wider - 1)];
            table[plan->hash & (uint64_t)(wider - 1)] = plan;
        }
    free(ctx->plans.table);
    ctx->plans.table = table;
    ctx->plans.buckets = wider;
    return 0;
}

int64_t plan_bytes(const lazy_plan *plan) {
    void *blocks[] = {(void *)plan, plan->key, plan->slots, plan->steps, plan->groups, plan->numbers, plan->transfers};
    size_t bytes = 0;
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
        bytes += malloc_usable_size(blocks[k]);
    for (int32_t k = 0; k < plan->nsteps; k++) {
        lazy_step *step = plan->steps[k];
        bytes += malloc_usable_size(step);
        bytes += malloc_usable_size(step->kind == LAZY_STEP_KERNEL ? step->kernel.prepared : step->call.prepared);
    }
    for (int32_t k = 0; k < plan->ngroups; k++)
        bytes += malloc_usable_size(plan->groups[k].slots);
    return (int64_t)bytes;
}

static int add_plan_to_table(neap_ctx *ctx, lazy_plan *plan) {
    int64_t bytes = plan_bytes(plan);
    if (ctx->plans.bytes + bytes > PLAN_BYTES)
        plan_free_all(ctx);
    if (ctx->plans.n >= ctx->plans.buckets && table_grow(ctx) != 0)
        return NEAP_E_MEMORY;
    lazy_plan **bucket = &ctx->plans.table[plan->hash & (uint64_t)(ctx->plans.buckets - 1)];
    plan->next = *bucket;
    *bucket = plan;
    plan->serial = ++ctx->plans.last;
    ctx->plans.n++;
    ctx->plans.bytes += bytes;
    return 0;
}

/* ---- What gets a buffer ------------------------------------------------------------------------------------------ */
static const int64_t MOST_ASKED = (int64_t)1 << 60;

/* Is it a large array, computed wherever it is read, of which less than half has been asked for, now and before? */
static bool is_little(const neap_node *node, int64_t asked) {
    int64_t before = node->state == LAZY_RECIPE ? node->asked : 0;
    return node->size >= LAZY_LARGE_SIZE && graph_is_made_in_place(node) && before + asked < node->size / 2;
}

bool plan_region_asks_little(const neap_ctx *ctx, const neap_node *node) {
    return ctx->plans.counted && !ctx->plans.made.at[node->index] && node->consumers > 1 &&
           is_little(node, ctx->plans.asked.at[node->index].elements);
}

/* What a flush materializes depends on the recorded graph alone (but see must_stay_apart): what was asked for; what has
 * several consumers, unless all that were recorded run in one kernel; reductions, with the same exception; operands and
 * results of calls, and residuals of open gradients; and what was fused away once already and is asked for again, by
 * others than the one node that may have been fused away with it. So nothing is computed more than twice. An update of
 * an array whose next update is computed with it may be written over by that: it becomes a recipe then, as what is
 * fused away (plan.c).
 *
 * Of a large array of which little is asked (is_little), a draw among them, only that is computed: it is materialized
 * once half of its elements have been asked for. Here only the graph is looked at: what is marked KERNELS or REDUCTION
 * may lose its buffer when merge.c has decided which kernels there are. */
static lazy_why needs_buffer(const neap_node *node, const lazy_asked *asked) {
    if (plan_is_leaf(node) || graph_is_number(node))
        return LAZY_WHY_NOT;
    lazy_class kind = graph_node_op(node)->kind;
    if (kind == LAZY_VIEW || kind == LAZY_SOURCE)
        return LAZY_WHY_NOT;
    bool little = is_little(node, asked->elements);
    if (kind == LAZY_CALL)
        return little ? LAZY_WHY_NOT : LAZY_WHY_CALL;
    if (node->state == LAZY_RECIPE && !little && (node->consumers != 1 || asked->viewed))
        return LAZY_WHY_AGAIN;
    if (node->flags & LAZY_KEPT && !little)
        return LAZY_WHY_OPERAND;
    if (graph_is_formula(node))
        return LAZY_WHY_NOT;
    if (graph_is_residual(node))
        return LAZY_WHY_RESIDUAL;
    if (node->consumers >= 2 && !little)
        return LAZY_WHY_SHARED;
    return kind == LAZY_REDUCE ? LAZY_WHY_REDUCTION : LAZY_WHY_NOT;
}

/* Not of what costs nothing where it is read, nor of uncommitted work that is fused into this node, on its device. */
neap_node *plan_region_root(neap_node *node) {
    if (plan_is_leaf(node) || !graph_is_view(node) || node->size != node->base->size ||
        !graph_map_contiguous(node->ndim, node->shape, node->map))
        return node;
    neap_node *base = node->base;
    if (graph_node_space(base) != graph_node_space(node))
        return node;
    bool here = base->device == node->device && graph_node_op(base)->kind != LAZY_SOURCE;
    lazy_asked all = {.elements = base->size, .viewed = true};
    return here || plan_is_leaf(base) || needs_buffer(base, &all) ? base : node;
}

void plan_count_consumers(const neap_ctx *ctx, int32_t *consumers) {
    for (int64_t k = 0; k < ctx->walk.order.n; k++) {
        const neap_node *node = ctx->walk.order.at[k];
        if (plan_is_leaf(node) || graph_is_view(node))
            continue;
        for (int i = 0; i < node->nin; i++) { /* counted as when they were recorded */
            bool again = false;
            for (int j = 0; j < i; j++)
                again |= node->in[j] == node->in[i];
            consumers[graph_read_target(node->in[i])->index] += !again;
        }
    }
}

/* The update of which a node of the region is the next one: all of its elements, in order, and on the same device.
 * NULL: it is none. */
static const neap_node *updated_version(const neap_node *node) {
    if (plan_is_leaf(node) || !graph_is_update(node))
        return NULL;
    const neap_node *in = node->in[0], *target = graph_read_target(node->in[0]);
    bool whole = target == in || (target->size == in->size && graph_map_contiguous(in->ndim, in->shape, in->map));
    bool result = target->lasting && target->flags & LAZY_KEPT; /* of deferred mode */
    return whole && !plan_is_leaf(target) && graph_is_update(target) && !graph_is_residual(target) && !result &&
                   graph_node_runs_on(target) == graph_node_runs_on(node)
               ? target
               : NULL;
}

/* Tells nodes whose recorded consumers are all in the region from those that are read again later. An update of an
 * array that only the region reads, among others its next update, need not outlive that. */
static int mark_inner_consumers(neap_ctx *ctx) {
    int64_t n = ctx->walk.order.n;
    uint8_t *made = ctx->plans.made.at;
    int32_t *consumers = calloc((size_t)n, sizeof *consumers + sizeof(bool));
    if (!consumers)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    bool *updated = (bool *)(consumers + n);
    plan_count_consumers(ctx, consumers);
    for (int64_t k = 0; k < n; k++) {
        const neap_node *version = updated_version(ctx->walk.order.at[k]);
        if (version)
            updated[version->index] = true;
    }
    for (int64_t k = 0; k < n; k++) {
        bool inside = consumers[k] == ctx->walk.order.at[k]->consumers;
        if (made[k] == LAZY_WHY_SHARED && inside && graph_node_op(ctx->walk.order.at[k])->kind != LAZY_ASSEMBLE)
            made[k] = LAZY_WHY_KERNELS;
        else if (made[k] == LAZY_WHY_REDUCTION && !inside)
            made[k] = LAZY_WHY_SHARED;
        else if (made[k] == LAZY_WHY_CALL && inside && updated[k])
            made[k] = LAZY_WHY_VERSION;
    }
    free(consumers);
    return 0;
}

/* Are there arrays that may wait for this session's own doing, have failed, or may fail with what an earlier region has
 * started? A kernel with several results gives them all or none, so it must not join what reads such an array with what
 * does not: a callback that has not run could read the result that waits for it, and a failure would reach an array
 * that has nothing to do with it. Calls of this region are told apart by merge.c, as many as its bits are for. The plan
 * of a program is made before its inputs are known: its results come and fail together. */
static bool must_stay_apart(neap_ctx *ctx) {
    bool apart = atomic_load_explicit(&ctx->callbacks.requests, memory_order_relaxed) > 0, traced = false;
    bool may_fail = false;
    int64_t calls = 0;
    if (ctx->plans.unsettled.n)
        plan_unsettled_forget(ctx);
    for (int64_t k = 0; k < ctx->walk.order.n; k++) {
        const neap_node *node = ctx->walk.order.at[k];
        traced |= node->flags & LAZY_ABSTRACT;
        apart |= node->buffer &&
                 (neap_var_poll(neap_buffer_var(node->buffer), NULL) < 0 || plan_is_unsettled(ctx, node->buffer));
        if (!node->buffer && graph_node_op(node)->kind == LAZY_CALL) {
            may_fail |= plan_may_fail(node);
            calls++;
        }
    }
    return (apart || (may_fail && calls > LAZY_CALLS_TOLD_APART)) && !traced;
}

/* How many elements of its input k a node reads that makes so many of its own. */
static int64_t asked_of_input(const neap_node *node, int k, int64_t elements) {
    const neap_node *in = node->in[k];
    switch (graph_node_op(node)->kind) {
    case LAZY_MAP:
        return elements;
    case LAZY_GATHER: /* of a table any, but of draws */
        return k == 0 && !graph_takes_little(node) ? in->size : elements;
    case LAZY_ASSEMBLE:
        return elements < in->size ? elements : in->size;
    default:
        return in->size;
    }
}

static void ask_more(lazy_asked *asked, int64_t elements) {
    asked->elements = asked->elements > MOST_ASKED - elements ? MOST_ASKED : asked->elements + elements;
}

/* Hands on what is asked of node k, whose own reasons are known, to what it reads. */
static void ask_inputs(neap_ctx *ctx, int64_t k) {
    neap_node *node = ctx->walk.order.at[k], *const * children;
    lazy_asked *asked = ctx->plans.asked.at;
    bool made = ctx->plans.made.at[k] != LAZY_WHY_NOT;
    int64_t elements = made ? node->size : asked[k].elements;
    int n = plan_region_children(node, &children);
    if (graph_is_view(node) && n) {
        ask_more(&asked[node->base->index], elements);
        asked[node->base->index].viewed |= made;
        return;
    }
    for (int i = 0; i < n; i++) {
        bool again = false;
        for (int j = 0; j < i && !again; j++)
            again = children[j] == children[i];
        if (!again)
            ask_more(&asked[children[i]->index], asked_of_input(node, i, elements));
    }
}

/* Does it matter what is asked of the nodes of the region? */
static bool counts_asked(const neap_ctx *ctx) {
    bool counts = false;
    for (int64_t k = 0; k < ctx->walk.order.n && !counts; k++) {
        const neap_node *node = ctx->walk.order.at[k];
        counts = node->size >= LAZY_LARGE_SIZE || node->state == LAZY_RECIPE;
    }
    return counts;
}

/* Room for what is known of each node of the region. */
static int open_choice(neap_ctx *ctx) {
    int64_t n = ctx->walk.order.n;
    int status = reserve_items((void **)&ctx->plans.made.at, &ctx->plans.made.capacity, n, sizeof *ctx->plans.made.at);
    ctx->plans.counted = false;
    if (status || n == 0)
        return status;
    memset(ctx->plans.made.at, LAZY_WHY_NOT, (size_t)n);
    if (!(ctx->plans.counted = counts_asked(ctx)))
        return 0;
    status = reserve_items((void **)&ctx->plans.asked.at, &ctx->plans.asked.capacity, n, sizeof *ctx->plans.asked.at);
    if (status == 0)
        memset(ctx->plans.asked.at, 0, (size_t)n * sizeof *ctx->plans.asked.at);
    return status;
}

/* ---- Slices ------------------------------------------------------------------------------------------------------ */
enum { ORIGIN_UNREAD = -1, ORIGIN_FIXED = -2 }; /* of a leaf that no view was met of; that is not sliced */

/* Does the view leave out elements of its base? */
static bool is_part(const neap_node *view) {
    int64_t size = 1;
    for (int a = 0; a < view->ndim; a++)
        size *= view->map->stride[a] ? view->shape[a] : 1;
    return size < view->base->size;
}

/* What is read as it lies is not sliced, nor what an op reads that pushes itself, or a copy to another device. */
static void fix_inputs(neap_ctx *ctx, const neap_node *node) {
    const lazy_op *row = graph_node_op(node);
    bool alone = row->payload || row->flags & LAZY_OP_PLACES;
    for (int k = 0; k < node->nin; k++) {
        const neap_node *in = node->in[k], *target = graph_read_target(node->in[k]);
        if (target->buffer && (target == in || alone))
            ctx->plans.origins.at[target->index] = ORIGIN_FIXED;
    }
}

/* Sets the origins of the region's leaves. */
static int find_sliced(neap_ctx *ctx) {
    int64_t n = ctx->walk.order.n;
    int status =
        reserve_items((void **)&ctx->plans.origins.at, &ctx->plans.origins.capacity, n, sizeof *ctx->plans.origins.at);
    for (int64_t k = 0; k < n && status == 0; k++)
        ctx->plans.origins.at[k] = ORIGIN_UNREAD;
    for (int64_t k = 0; k < n && status == 0; k++) {
        const neap_node *node = ctx->walk.order.at[k];
        if (is_given(node))
            continue;
        if (!graph_is_view(node)) {
            fix_inputs(ctx, node);
            continue;
        }
        int64_t *origin = &ctx->plans.origins.at[node->base->index];
        if (node->base->buffer && *origin == ORIGIN_UNREAD)
            *origin = is_part(node) ? node->map->offset : ORIGIN_FIXED;
    }
    ctx->plans.sliced = status == 0;
    return status;
}

/* Sets ctx->plans.made and ctx->plans.asked, by number in the region: users before inputs. *apart: see must_stay_apart;
 * what has one result is no matter of it. *parts: are there views of leaves with a buffer? */
static int choose_materialized(neap_ctx *ctx, int64_t nroots, neap_node *const *roots, bool *apart, bool *parts) {
    int64_t results = 0;
    bool shared = false, views = false;
    int status = open_choice(ctx);
    if (status)
        return status;
    for (int64_t k = 0; k < nroots; k++)
        if (!plan_is_leaf(roots[k]))
            ctx->plans.made.at[roots[k]->index] = LAZY_WHY_ASKED;
    const lazy_asked all = {.elements = MOST_ASKED, .viewed = true};
    bool counted = ctx->plans.counted;
    for (int64_t k = ctx->walk.order.n - 1; k >= 0; k--) {
        neap_node *node = ctx->walk.order.at[k];
        uint8_t *made = &ctx->plans.made.at[k];
        if (plan_is_leaf(node))
            continue;
        views |= graph_is_view(node) && node->base->buffer;
        if (*made == LAZY_WHY_NOT)
            *made = (uint8_t)needs_buffer(node, counted ? &ctx->plans.asked.at[k] : &all);
        shared |= *made == LAZY_WHY_SHARED || *made == LAZY_WHY_REDUCTION || graph_is_update(node);
        results += *made != LAZY_WHY_NOT;
        if (counted)
            ask_inputs(ctx, k);
    }
    *parts = views;
    *apart = results > 1 && must_stay_apart(ctx);
    return shared ? mark_inner_consumers(ctx) : 0;
}

/* Sets ctx->plans.key and its hash. */
static int write_key(neap_ctx *ctx, bool apart, uint64_t *hash) {
    uint64_t first = (uint64_t)apart | (uint64_t)(ctx->plans.placing > 0) << 1 | (uint64_t)graph_home_device() << 2;
    *hash = 0xbf58476d1ce4e5b9u * (first + 1);
    ctx->plans.key.n = 0;
    int status = lazy_push(&ctx->plans.key, first);
    for (int64_t k = 0; k < ctx->walk.order.n && status == 0; k++) {
        const neap_node *node = ctx->walk.order.at[k];
        int64_t most = ctx->plans.key.n + 4 + 2 * node->ndim + node->nattrs + node->nin;
        const lazy_payload *payload = graph_node_op(node)->payload;
        most += payload && payload->key ? payload->key_words(node) : 0;
        if ((status = reserve_items((void **)&ctx->plans.key.at, &ctx->plans.key.capacity, most,
                                    sizeof *ctx->plans.key.at)) != 0)
            return status;
        uint64_t *from = ctx->plans.key.at + ctx->plans.key.n;
        uint64_t *to = plan_is_leaf(node) ? put_leaf(from, node, plan_origin(ctx, node) >= 0)
                                          : put_key_node(from, node, ctx->plans.made.at[k],
                                                         graph_is_view(node) ? plan_view_offset(ctx, node) : 0);
        *hash = hash_words(*hash, from, to);
        ctx->plans.key.n = to - ctx->plans.key.at;
    }
    return status;
}

static int make_region_plan(neap_ctx *ctx, uint64_t hash, bool apart, lazy_plan **out) {
    lazy_plan *plan;
    int status = plan_new(ctx, ctx->plans.made.at, apart, &plan);
    if (status)
        return status;
    ctx->counters.plans++;
    plan->hash = hash;
    plan->nkey = ctx->plans.key.n;
    plan->key = malloc((size_t)ctx->plans.key.n * sizeof *plan->key + 1);
    if (plan->key)
        memcpy(plan->key, ctx->plans.key.at, (size_t)ctx->plans.key.n * sizeof *plan->key);
    status = plan->key ? add_plan_to_table(ctx, plan) : neap_error(NEAP_E_MEMORY, "out of memory for a plan");
    if (status)
        plan_release(plan);
    else
        *out = plan;
    return status;
}

int plan_region_plan(neap_ctx *ctx, int64_t nroots, neap_node *const *roots, bool sliced, lazy_plan **out) {
    uint64_t hash = 0;
    bool apart, parts = false;
    int status = choose_materialized(ctx, nroots, roots, &apart, &parts);
    ctx->plans.sliced = false;
    if (status == 0 && parts && sliced && neap_device_count() == neap_engine_devices())
        status = find_sliced(ctx);
    if (status == 0)
        status = write_key(ctx, apart, &hash);
    if (status)
        return status;
    lazy_plan *plan = ctx->plans.buckets ? ctx->plans.table[hash & (uint64_t)(ctx->plans.buckets - 1)] : NULL;
    while (plan && (plan->hash != hash || plan->nkey != ctx->plans.key.n ||
                    memcmp(plan->key, ctx->plans.key.at, (size_t)plan->nkey * sizeof *plan->key) != 0))
        plan = plan->next;
    *out = plan;
    return plan ? 0 : make_region_plan(ctx, hash, apart, out);
}
