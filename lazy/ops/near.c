/* near.c: which points are nearest to others, by a tree of boxes.
 *
 * Points are put into an order in which each node of a balanced tree is a range, with the box around its points. Node i
 * is cut into nodes 2 i and 2 i + 1, in the middle, along the axis in which its box is widest. Of 11 points, 3 in a
 * leaf at most:
 *
 *      node 1  0 ───────────────────────── 11
 *      2, 3    0 ────────── 5 ──────────── 11
 *      4 to 7  0 ─── 2 ──── 5 ──── 8 ───── 11      node 4 + j of m points begins at m j / 4
 *
 * A query looks at nodes from the nearer one on, and leaves out a node if no point of its box can come before the last
 * of the points found (J. H. Friedman, J. L. Bentley and R. A. Finkel, An algorithm for finding best matches in
 * logarithmic expected time, 1977).
 *
 * Results are those of all pairs, to the bit, for any tree: a squared distance is the sum of squares of differences,
 * axis by axis. The distance of a box is computed in the same way, from the differences to the nearer ends of the box.
 * No step falls where its operands rise, so no point in a box is nearer than the box. Of equally near points the first
 * come first. Points with NaN stand behind the others, in no node; NaN distances come last.
 */
#include <math.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"

enum {
    LEAF = 8,     /* points, at most one more */
    QUERIES = 64, /* of a task */
    LEVELS = 32
};

typedef struct near_set { /* points to choose from */
    const double *points; /* in their first order: (n, axes) */
    int64_t numbers;      /* how many have no NaN */
    int levels;           /* below the root */
    double *sorted;       /* (axes, n): points without NaN in the order of the tree */
    double *boxes;        /* of each node and axis the least and the greatest number */
    int32_t *order;       /* the point at each place: first points without NaN */
    int32_t *first;       /* of each node the least index of a point */
} near_set;

typedef struct near_work {
    near_set *sets;
    const double *queries;
    int32_t *out;
    double *distances; /* of points found for a query, by task */
    int64_t n, m, axes, k, blocks;
    int level; /* in the making */
} near_work;

/* ---- The tree ---------------------------------------------------------------------------------------------------- */
static int levels_of(int64_t n) {
    int levels = 0;
    while (n >> levels > LEAF)
        levels++;
    return levels;
}

static int64_t node_start(const near_set *s, int level, int64_t j) {
    return (s->numbers * j) >> level;
}

static bool has_nan(const double *point, int64_t axes) {
    bool found = false;
    for (int64_t c = 0; c < axes; c++)
        found |= isnan(point[c]);
    return found;
}

static void order_points(void *arg, int64_t set, const neap_run *run) {
    const near_work *w = arg;
    near_set *s = &w->sets[set];
    int64_t at = 0;
    (void)run;
    for (int nan = 0; nan < 2; nan++) {
        for (int64_t i = 0; i < w->n; i++)
            if (has_nan(s->points + i * w->axes, w->axes) == nan)
                s->order[at++] = (int32_t)i;
        if (!nan)
            s->numbers = at;
    }
    s->levels = levels_of(s->numbers);
}

/* Reorders places start to end: along an axis, points before `middle` are not above the points from there on. */
static void part_points(near_set *s, int64_t axes, int64_t axis, int64_t start, int64_t end, int64_t middle) {
    const double *x = s->points + axis;
    uint64_t random = (uint64_t)end;
    while (end - start > 1) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* no order of the points is a slow one */
        const double pivot = x[s->order[start + (int64_t)((random >> 33) % (uint64_t)(end - start))] * axes];
        int64_t i = start, j = end - 1;
        while (i <= j) {
            while (x[s->order[i] * axes] < pivot)
                i++;
            while (x[s->order[j] * axes] > pivot)
                j--;
            if (i <= j) {
                const int32_t point = s->order[i];
                s->order[i++] = s->order[j];
                s->order[j--] = point;
            }
        }
        if (middle <= j)
            end = j + 1;
        else if (middle >= i)
            start = i;
        else
            return;
    }
}

/* Makes a node of the level: its box, and for its children the order. */
static void make_node(void *arg, int64_t task, const neap_run *run) {
    const near_work *w = arg;
    near_set *s = &w->sets[task >> w->level];
    const int64_t j = task & (((int64_t)1 << w->level) - 1), node = ((int64_t)1 << w->level) + j;
    if (w->level > s->levels)
        return;
    const int64_t start = node_start(s, w->level, j), end = node_start(s, w->level, j + 1);
    double *box = s->boxes + node * 2 * w->axes, widest = 0;
    int64_t axis = -1;
    (void)run;
    s->first[node] = INT32_MAX;
    for (int64_t at = start; at < end; at++)
        if (s->order[at] < s->first[node])
            s->first[node] = s->order[at];
    for (int64_t c = 0; c < w->axes; c++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t at = start; at < end; at++) {
            const double x = s->points[s->order[at] * w->axes + c];
            low = x < low ? x : low;
            high = x > high ? x : high;
        }
        box[2 * c] = low;
        box[2 * c + 1] = high;
        if (high - low > widest) {
            widest = high - low;
            axis = c;
        }
    }
    if (w->level < s->levels && axis >= 0)
        part_points(s, w->axes, axis, start, end, node_start(s, w->level + 1, 2 * j + 1));
    for (int64_t c = 0; w->level == s->levels && c < w->axes; c++)
        for (int64_t at = start; at < end; at++)
            s->sorted[c * w->n + at] = s->points[s->order[at] * w->axes + c];
}

/* ---- Queries ----------------------------------------------------------------------------------------------------- */
typedef struct near_found { /* a heap of at most k points, the last in front */
    double *distance;
    int32_t *point;
    int64_t count, k;
} near_found;

/* Does one point at a distance come before another one? */
static inline bool is_before(double a, int32_t i, double b, int32_t j) {
    return a < b || (a == b && i < j) || (isnan(b) && (!isnan(a) || i < j));
}

/* Puts a point into the heap, the first `count` places, from a place on down. */
static void sink(near_found *f, int64_t at, int64_t count, double distance, int32_t point) {
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count &&
            is_before(f->distance[child], f->point[child], f->distance[child + 1], f->point[child + 1]))
            child++;
        if (!is_before(distance, point, f->distance[child], f->point[child]))
            break;
        f->distance[at] = f->distance[child];
        f->point[at] = f->point[child];
        at = child;
    }
    f->distance[at] = distance;
    f->point[at] = point;
}

/* Is the heap full of points before this one? */
static inline bool is_out(const near_found *f, double distance, int32_t point) {
    return f->count == f->k && !is_before(distance, point, f->distance[0], f->point[0]);
}

static void offer(near_found *f, double distance, int32_t point) {
    if (is_out(f, distance, point))
        return;
    if (f->count == f->k) {
        sink(f, 0, f->k, distance, point);
        return;
    }
    int64_t at = f->count++;
    for (int64_t parent; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (!is_before(f->distance[parent], f->point[parent], distance, point))
            break;
        f->distance[at] = f->distance[parent];
        f->point[at] = f->point[parent];
    }
    f->distance[at] = distance;
    f->point[at] = point;
}

/* Sorts the points found. */
static void put_in_order(near_found *f) {
    for (int64_t last = f->count - 1; last > 0; last--) {
        const double distance = f->distance[last];
        const int32_t point = f->point[last];
        f->distance[last] = f->distance[0];
        f->point[last] = f->point[0];
        sink(f, 0, last, distance, point);
    }
}

static double distance_of_box(const double *box, const double *query, int64_t axes) {
    double sum = 0;
    for (int64_t c = 0; c < axes; c++) {
        const double below = box[2 * c] - query[c], above = query[c] - box[2 * c + 1];
        double off = below > 0 ? below : 0; /* of NaN 0 */
        off = above > off ? above : off;
        sum += off * off;
    }
    return sum;
}

static void look_at_leaf(const near_work *w, const near_set *s, int64_t leaf, const double *query, near_found *f) {
    const int64_t start = node_start(s, s->levels, leaf), count = node_start(s, s->levels, leaf + 1) - start;
    double sums[LEAF + 1] = {0};
    for (int64_t c = 0; c < w->axes; c++)
        for (int64_t at = 0; at < count; at++) {
            const double off = query[c] - s->sorted[c * w->n + start + at];
            sums[at] += off * off;
        }
    for (int64_t at = 0; at < count; at++)
        offer(f, sums[at], s->order[start + at]);
}

static void find_points(const near_work *w, const near_set *s, const double *query, near_found *f) {
    struct {
        int64_t node;
        double distance;
    } left[LEVELS + 1] = {{.node = 1}};
    const int64_t leaves = (int64_t)1 << s->levels;
    for (int n = s->numbers > 0; n > 0;) {
        const int64_t node = left[--n].node;
        if (is_out(f, left[n].distance, s->first[node]))
            continue;
        if (node >= leaves) {
            look_at_leaf(w, s, node - leaves, query, f);
            continue;
        }
        double near = distance_of_box(s->boxes + 4 * node * w->axes, query, w->axes);
        double far = distance_of_box(s->boxes + (4 * node + 2) * w->axes, query, w->axes);
        const bool swap = is_before(far, s->first[2 * node + 1], near, s->first[2 * node]);
        left[n].node = 2 * node + !swap;
        left[n++].distance = swap ? near : far;
        left[n].node = 2 * node + swap;
        left[n++].distance = swap ? far : near;
    }
    for (int64_t at = s->numbers; at < w->n && !is_out(f, NAN, s->order[at]); at++)
        offer(f, NAN, s->order[at]);
}

static void find_block(void *arg, int64_t task, const neap_run *run) {
    const near_work *w = arg;
    const near_set *s = &w->sets[task / w->blocks];
    const int64_t start = task % w->blocks * QUERIES, end = start + QUERIES < w->m ? start + QUERIES : w->m;
    (void)run;
    for (int64_t q = task / w->blocks * w->m + start; q < task / w->blocks * w->m + end; q++) {
        near_found f = {.distance = w->distances + task * w->k, .point = w->out + q * w->k, .k = w->k};
        find_points(w, s, w->queries + q * w->axes, &f);
        put_in_order(&f);
    }
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */
static int nearest_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *points = &call->in[0];
    if (call->out->size == 0)
        return NEAP_OK;
    near_work w = {.queries = call->in[1].data,
                   .out = call->out->data,
                   .n = points->shape[points->ndim - 2],
                   .axes = points->shape[points->ndim - 1],
                   .k = call->attrs[0]};
    int64_t sets = 1;
    for (int k = 0; k < points->ndim - 2; k++)
        sets *= points->shape[k];
    w.m = call->out->size / (sets * w.k);
    w.blocks = (w.m + QUERIES - 1) / QUERIES;
    const int levels = levels_of(w.n);
    const int64_t nodes = (int64_t)2 << levels, numbers = w.axes * (w.n + 2 * nodes), integers = w.n + nodes;
    const size_t bytes =
        (size_t)sets * (sizeof(near_set) + (size_t)numbers * sizeof(double) + (size_t)integers * sizeof(int32_t)) +
        (size_t)(sets * w.blocks * w.k) * sizeof(double);
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    w.sets = scratch;
    w.distances = (double *)(w.sets + sets);
    double *number = w.distances + sets * w.blocks * w.k;
    int32_t *integer = (int32_t *)(number + sets * numbers);
    for (int64_t k = 0; k < sets; k++, number += numbers, integer += integers)
        w.sets[k] = (near_set){.points = (const double *)points->data + k * w.n * w.axes,
                               .sorted = number,
                               .boxes = number + w.axes * w.n,
                               .order = integer,
                               .first = integer + w.n};
    neap_parallel_for(run, sets, order_points, &w);
    for (w.level = 0; w.level <= levels && !neap_run_cancelled(run); w.level++)
        neap_parallel_for(run, sets << w.level, make_node, &w);
    if (!neap_run_cancelled(run))
        neap_parallel_for(run, sets * w.blocks, find_block, &w);
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

static int nearest_dtype(const lazy_call_desc *call, lazy_result *out) {
    (void)call;
    out->compute = NEAP_DTYPE_F64;
    out->dtype = NEAP_DTYPE_I32;
    return NEAP_OK;
}

static int nearest_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *points = &call->in[0], *queries = &call->in[1];
    const int sets = points->ndim - 2;
    bool fits = sets >= 0 && queries->ndim > sets && points->shape[sets + 1] == queries->shape[queries->ndim - 1];
    for (int k = 0; fits && k < sets; k++)
        fits = points->shape[k] == queries->shape[k];
    char left[256], right[256];
    if (!fits)
        return neap_error(NEAP_E_SHAPE, "nearest: shapes %s and %s do not fit",
                          graph_shape_text(points->ndim, points->shape, left, sizeof left),
                          graph_shape_text(queries->ndim, queries->shape, right, sizeof right));
    if (points->shape[sets] > INT32_MAX)
        return neap_error(NEAP_E_SHAPE, "nearest: expected at most 2^31 - 1 points");
    if (call->nattrs != 1 || call->attrs[0] < 1 || call->attrs[0] > points->shape[sets])
        return neap_error(NEAP_E_ARGUMENT, "nearest: expected how many of %lld points are asked for",
                          (long long)points->shape[sets]);
    out->ndim = queries->ndim;
    for (int k = 0; k < queries->ndim - 1; k++)
        out->shape[k] = queries->shape[k];
    out->shape[queries->ndim - 1] = call->attrs[0];
    return NEAP_OK;
}

static int64_t nearest_cost(const lazy_call_desc *call, const lazy_result *out) {
    int64_t found = 1;
    for (int k = 0; k < out->ndim; k++)
        found *= out->shape[k];
    return 1000 + call->in[0].size * 40 + call->in[1].size * 200 + found * 30;
}

/* Where all examples have one set of points, all queries are queries of this set. */
static int nearest_batch(lazy_batching *g) {
    neap_node *in[2] = {g->in[0], g->in[1]};
    if (g->batched[0] || graph_node_aval(INPUT(0)).ndim > 2)
        for (int k = 0; k < 2; k++)
            in[k] = derive_batch_all(g, k);
    g->out = graph_build(g->ctx, LAZY_OP_nearest, 2, in, 1, graph_node_attrs(g->node));
    return derive_batch_done(g);
}

/* Queries stay divided, and so do their sets. */
static int nearest_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    for (int k = 0; k < g->in[1].ndim - 1; k++) {
        shard_factor_keep(&f, g, 1, k, k);
        if (k < g->in[0].ndim - 2)
            shard_factor_axis(&f, 0, k, f.n - 1);
    }
    return shard_solve(g, &f, -1);
}

/* clang-format off */
NEAP_OP(nearest,
    .doc = "The indices (i32) of the points that are nearest to each query, the nearest one first, and of equally near "
           "ones the first: points (…, n, axes) and queries (…, axes), of which the first axes are those of the "
           "points, give (…, count). Distances are Euclidean, of f64; NaN comes last.",
    .attrs = "count", .kind = LAZY_CALL, .arity = 2, .types = LAZY_REAL,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = nearest_dtype,
    .shape = nearest_shape, .call = nearest_call, .cost = nearest_cost, .batch = nearest_batch,
    .shard = nearest_shard)
/* clang-format on */
