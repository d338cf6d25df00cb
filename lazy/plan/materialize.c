/* materialize.c: what is computed so often that it is cheaper to store.
 *
 * A value that is fused into its reader is computed for each element that the reader makes of it. Where the reader
 * broadcasts, that is more often than it has elements: in `w * (x * x + 1) ^ -1.5`, with w of (8, n, n) and x of
 * (n, n), the power is computed eight times for each element of x. Such a value gets a buffer if that costs less:
 *
 *      computing:  (evaluations - elements) · what an element takes, with all that is fused into it
 *      storing:    a pass over memory and back, and a kernel more
 *
 * Evaluations are counted from the last node of the region to the first, so the widest value of a chain is stored, and
 * what it is made of is judged by how often that is computed now. What stays the same along the last axes of its reader
 * is computed once for each of their rows there (vm.h), which costs about as much as ROW_ELEMENTS do.
 *
 * What ops cost stands in their rows. Nothing else decides but the structure of the region, so it is part of the plan.
 */
#include <string.h>

#include "lazy/plan/plan.h"

enum {
    KERNEL_COST = 5000, /* ns: about what a kernel more takes to push, begin and wait for */
    ROW_ELEMENTS = 16,
    ROW_LONG = 128 /* elements of rows for each of which a single element is computed by itself (nest.c) */
};

typedef struct pricer {
    neap_ctx *ctx;
    uint8_t *made;
    double *evals; /* of each node: how many of its elements are computed, or read */
    double *work;  /* the same, elements that are computed one by one counted as ROW_ELEMENTS */
    double *cost;  /* ns to compute one of them from what is stored */
} pricer;

static neap_node *node_at(const pricer *p, int64_t k) {
    return p->ctx->walk.order.at[k];
}

/* Is it computed wherever it is read? */
static bool is_inside(const pricer *p, const neap_node *node) {
    return !plan_is_leaf(node) && !p->made[node->index];
}

/* The elements of the reader's last axes along which its input is broadcast. */
static int64_t run_of_input(const neap_node *node, const neap_node *in) {
    int64_t run = 1;
    for (int a = node->ndim - 1; a >= 0; a--) {
        int b = a - (node->ndim - in->ndim);
        if (b >= 0 && in->shape[b] != 1)
            break;
        run *= node->shape[a];
    }
    return run;
}

/* The same of a view and its base. */
static int64_t run_of_view(const neap_node *view) {
    int64_t run = 1;
    for (int a = view->ndim - 1; a >= 0 && (view->map->stride[a] == 0 || view->shape[a] == 1); a--)
        run *= view->shape[a];
    return run;
}

static bool repeats(const neap_node *node, int k) {
    for (int j = 0; j < k; j++)
        if (node->in[j] == node->in[k])
            return true;
    return false;
}

/* How many elements of its input k a node reads, or has computed, that makes so many of its own; *alone: one by one. */
static double evals_of_input(const neap_node *node, int k, double elements, bool *alone) {
    const neap_node *in = node->in[k];
    int64_t run = 1;
    switch (graph_node_op(node)->kind) {
    case LAZY_MAP:
        run = run_of_input(node, in);
        *alone = run >= ROW_LONG;
        return in->size == 1 ? 1 : elements / (double)run;
    case LAZY_GATHER: /* of its indices; the table is stored */
        return k == 0 || node->size == 0 ? 0 : elements * (double)in->size / (double)node->size;
    case LAZY_ASSEMBLE:
        return elements < (double)in->size ? elements : (double)in->size;
    default:
        return (double)in->size;
    }
}

static void add_evals(const pricer *p, const neap_node *read, double elements, double weight) {
    int64_t k = plan_same(p->ctx, read)->index;
    p->evals[k] += elements;
    p->work[k] += elements * weight;
}

/* Adds what is read of a node's inputs, where the node itself is made of so many elements. */
static void hand_on(const pricer *p, const neap_node *node, double elements, double weight) {
    if (plan_same(p->ctx, node) != node) {
        add_evals(p, node, elements, weight);
    } else if (graph_is_view(node)) {
        int64_t run = run_of_view(node);
        add_evals(p, node->base, elements / (double)run, run >= ROW_LONG ? ROW_ELEMENTS : weight);
    } else {
        for (int k = 0; k < node->nin; k++) {
            bool alone = false;
            double evals = evals_of_input(node, k, elements, &alone);
            if (!repeats(node, k))
                add_evals(p, node->in[k], evals, alone ? ROW_ELEMENTS : weight);
        }
    }
}

/* Sets what an element costs. Where the node has several inputs of one node below, it is counted for each. */
static void add_cost(const pricer *p, int64_t k) {
    const neap_node *node = node_at(p, k);
    if (plan_is_leaf(node) || graph_is_number(node))
        return;
    if (graph_is_view(node)) {
        const neap_node *base = plan_same(p->ctx, node->base);
        p->cost[k] = is_inside(p, base) ? p->cost[base->index] : 0;
        return;
    }
    if (!graph_is_fusible(node) || node->size == 0)
        return;
    p->cost[k] = vm_ins_cost(node->op, node->in[node->nin - 1]->dtype);
    for (int i = 0; i < node->nin; i++) {
        const neap_node *in = plan_same(p->ctx, node->in[i]);
        bool alone;
        double each = evals_of_input(node, i, (double)node->size, &alone) / (double)node->size;
        if (is_inside(p, in) && !repeats(node, i))
            p->cost[k] += p->cost[in->index] * each;
    }
}

static bool pays(const pricer *p, int64_t k) {
    const neap_node *node = node_at(p, k);
    if (!is_inside(p, node) || !graph_is_fusible(node) || graph_is_formula(node) ||
        p->evals[k] < 2 * (double)node->size)
        return false;
    double more = p->work[k] - (double)node->size;
    return more * p->cost[k] > KERNEL_COST + 2 * LAZY_BYTE_COST * (double)graph_node_bytes(node);
}

int plan_materialize(neap_ctx *ctx, uint8_t *made, int32_t *times) {
    int64_t n = ctx->walk.order.n;
    pricer p = {.ctx = ctx, .made = made, .evals = calloc(3 * (size_t)n + 1, sizeof *p.evals)};
    if (!p.evals)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    p.work = p.evals + n;
    p.cost = p.work + n;
    for (int64_t k = 0; k < n; k++)
        add_cost(&p, k);
    for (int64_t k = n - 1; k >= 0; k--) {
        const neap_node *node = node_at(&p, k);
        if (plan_is_leaf(node) || node->size == 0 || (p.evals[k] == 0 && !made[k]))
            continue;
        if (pays(&p, k)) {
            double count = p.evals[k] / (double)node->size;
            made[k] = LAZY_WHY_TIMES;
            times[k] = count < INT32_MAX ? (int32_t)count : INT32_MAX;
        }
        bool whole = made[k] != LAZY_WHY_NOT;
        hand_on(&p, node, whole ? (double)node->size : p.evals[k], whole ? 1 : p.work[k] / p.evals[k]);
    }
    free(p.evals);
    return 0;
}
