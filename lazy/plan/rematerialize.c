/* rematerialize.c: what is cheaper to compute again than to store.
 *
 * A value with several consumers is stored where no kernel can have them all, as where a call stands between them. This
 * is what gradients do: in gelu(x @ w) the forward pass makes x * 0.5, x * x and tanh(…) + 1, and the backward pass,
 * with products in between, reads them again. A cheap map of what is stored anyway is not stored but computed where it
 * is read. It gives the same bits there, since it is the same op of the same operands.
 *
 *      storing:          its bytes, once written, and read by each later kernel
 *      computing again:  what it is made of, read by each later kernel, and its maps
 *
 * Later kernels are told apart by the calls that they wait for. Where there are none, how many kernels will read the
 * value is not known yet (merge.c); and who reads it behind this region, as what a gradient will read or what has
 * consumers that do not run now, is not known at all. Then a value is computed again only if that is hardly more than
 * to read it, each time: x * 0.5, x - mean, h + bias. For readers behind the region it stays a recipe, which keeps what
 * it is made of: at most half more memory than the value itself would take.
 *
 * Nor is it then read across memory, or made of what is spread over short rows. Never computed again is what is no map,
 * and what lies on another device.
 */
#include <string.h>

#include "lazy/arena.h"
#include "lazy/plan/plan.h"

enum { LEAST_BYTES = 1 << 16 };       /* of what readers are not known of: smaller ones are stored */
enum { ROW_LONG = 128 };              /* elements of rows of one element that are not short */
enum { SOURCES = 4 };                 /* most stored values that a value is computed from again */
static const double MOST_AGAIN = 1.5; /* the same: what computing it may take, if reading it takes 1 */

typedef struct recipe { /* how a value that is inside of kernels comes from what is stored */
    double cost;        /* ns for an element; negative: not at all */
    bool spread;        /* it is read across memory, or in short rows of one element */
    int n;
    int32_t from[SOURCES];
} recipe;

typedef struct weigher {
    neap_ctx *ctx;
    uint8_t *made;
    const lazy_waits *waits;
    lazy_waits
        *runs;      /* by node: what the kernel waits for that makes it; of what is inside of kernels, that reads it */
    int32_t *later; /* by node: kernels that wait for further calls and read it, and the last one found */
    lazy_waits *last;
    bool *across; /* by node: a view reads it so */
    recipe *recipes;
} weigher;

static neap_node *node_at(const weigher *w, int64_t k) {
    return w->ctx->walk.order.at[k];
}

/* Is a box read in rows that lie in memory as they are, or are one element each? Short rows of one element are not:
 * they are spread first. */
static bool reads_rows(int ndim, const int64_t *shape, const int64_t *stride) {
    int64_t run = 1;
    int last = ndim - 1;
    for (; last >= 0 && (shape[last] == 1 || stride[last] == 0); last--)
        run *= shape[last];
    return last < 0 || (run == 1 ? stride[last] == 1 : run >= ROW_LONG);
}

/* The same of input k of a map. */
static bool map_reads_rows(const neap_node *node, int k) {
    const neap_node *in = node->in[k];
    int64_t stride[NEAP_MAX_DIMS], step = 1;
    for (int a = node->ndim - 1, b = in->ndim - 1; a >= 0; a--, b--) {
        int64_t extent = b >= 0 ? in->shape[b] : 1;
        stride[a] = extent == 1 ? 0 : step;
        step *= extent;
    }
    return in->size == 1 || reads_rows(node->ndim, node->shape, stride);
}

/* Notes that a kernel reads the node. */
static void add_reader(const weigher *w, const neap_node *node, const lazy_waits *reader) {
    int64_t k = node->index;
    if (!w->made[k] && !plan_is_leaf(node) && reader->depth < w->runs[k].depth)
        w->runs[k] = *reader;
    if (plan_waits_equal(reader, &w->waits[k]) || plan_waits_equal(reader, &w->last[k]))
        return;
    w->later[k]++;
    w->last[k] = *reader;
}

/* Finds out which kernels read what is stored. */
static void find_later_readers(const weigher *w) {
    for (int64_t k = w->ctx->walk.order.n - 1; k >= 0; k--) {
        neap_node *node = node_at(w, k), *const * in;
        int n = plan_region_children(node, &in);
        if (plan_same(w->ctx, node) != node && !w->made[k])
            continue;
        if (w->made[k] || w->runs[k].depth == INT32_MAX)
            w->runs[k] = w->waits[k];
        if (graph_is_view(node) && n && !reads_rows(node->ndim, node->shape, node->map->stride))
            w->across[plan_same(w->ctx, node->base)->index] = true;
        for (int i = 0; i < n; i++)
            add_reader(w, plan_same(w->ctx, in[i]), &w->runs[k]);
    }
}

/* Is it there for later kernels? What may lose its buffer, since one kernel has all that read it, keeps it then. */
static bool is_stored(const weigher *w, const neap_node *node) {
    return plan_is_leaf(node) || w->made[node->index] != LAZY_WHY_NOT;
}

static bool may_lose_buffer(const weigher *w, const neap_node *node) {
    uint8_t why = w->made[node->index];
    return !plan_is_leaf(node) && w->later[node->index] == 0 &&
           (why == LAZY_WHY_REDUCTION || why == LAZY_WHY_KERNELS || why == LAZY_WHY_TIMES);
}

static bool add_source(recipe *to, int32_t from) {
    for (int k = 0; k < to->n; k++)
        if (to->from[k] == from)
            return true;
    if (to->n == SOURCES)
        return false;
    to->from[to->n++] = from;
    return true;
}

/* How the node comes from what is stored, if it is computed where it is read. */
static recipe recipe_of(const weigher *w, const neap_node *node) {
    const recipe none = {.cost = -1};
    recipe out = {0};
    if (graph_is_number(node) || graph_node_op(node)->kind == LAZY_SOURCE)
        return out;
    neap_node *const *in;
    int n = plan_region_children((neap_node *)node, &in);
    if (graph_is_view(node)) {
        out.spread = !reads_rows(node->ndim, node->shape, node->map->stride);
    } else {
        if (graph_node_op(node)->kind != LAZY_MAP || node->size == 0)
            return none;
        out.cost = vm_ins_cost(node->op, node->in[node->nin - 1]->dtype);
    }
    for (int i = 0; i < n; i++) {
        const neap_node *from = plan_same(w->ctx, in[i]);
        const recipe *other = &w->recipes[from->index];
        out.spread |= !graph_is_view(node) && !map_reads_rows(node, i);
        if (!graph_is_number(from) && graph_node_runs_on(from) != graph_node_runs_on(node))
            return none;
        if (is_stored(w, from)) {
            if (!add_source(&out, (int32_t)from->index))
                return none;
            continue;
        }
        if (other->cost < 0)
            return none;
        out.cost += other->cost;
        out.spread |= other->spread;
        for (int k = 0; k < other->n; k++)
            if (!add_source(&out, other->from[k]))
                return none;
    }
    return out;
}

/* Is it stored for readers behind this region? */
static bool is_for_others(uint8_t why) {
    return why == LAZY_WHY_SHARED || why == LAZY_WHY_RESIDUAL || why == LAZY_WHY_AGAIN;
}

static bool may_compute_again(uint8_t why) {
    return why == LAZY_WHY_KERNELS || is_for_others(why);
}

static bool pays(const weigher *w, const neap_node *node, const recipe *how) {
    uint8_t why = w->made[node->index];
    double later = w->later[node->index], bytes = (double)graph_node_bytes(node), read = 0;
    if (!may_compute_again(why) || how->cost < 0 || plan_same(w->ctx, node) != node)
        return false;
    for (int k = 0; k < how->n; k++) {
        const neap_node *from = node_at(w, how->from[k]);
        read += (may_lose_buffer(w, from) ? 2 : 1) * (double)graph_node_bytes(from);
    }
    double again = read * LAZY_BYTE_COST + how->cost * (double)node->size;
    if (is_for_others(why) || later == 0)
        return bytes >= LEAST_BYTES && !how->spread && !w->across[node->index] &&
               again <= MOST_AGAIN * bytes * LAZY_BYTE_COST;
    return later * again < bytes * (1 + later) * LAZY_BYTE_COST;
}

int plan_rematerialize(neap_ctx *ctx, uint8_t *made, const lazy_waits *waits) {
    int64_t n = ctx->walk.order.n;
    bool any = false;
    for (int64_t k = 0; k < n; k++)
        any |= may_compute_again(made[k]);
    if (!any)
        return 0;
    weigher w = {.ctx = ctx, .made = made, .waits = waits};
    if (!LAZY_ARENA(LAZY_PART(w.recipes, n), LAZY_PART(w.runs, n), LAZY_PART(w.later, n), LAZY_PART(w.last, n),
                    LAZY_PART(w.across, n)))
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    for (int64_t k = 0; k < n; k++)
        w.runs[k].depth = INT32_MAX;
    find_later_readers(&w);
    for (int64_t k = 0; k < n; k++) {
        const neap_node *node = node_at(&w, k);
        if (plan_is_leaf(node))
            continue;
        w.recipes[k] = recipe_of(&w, node);
        if (pays(&w, node, &w.recipes[k]))
            made[k] = LAZY_WHY_NOT;
    }
    free(w.recipes);
    return 0;
}
