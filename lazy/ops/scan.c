/* scan.c: cumulative sums, products and extrema along an axis, and linear recurrences.
 *
 * A line is cut into blocks of LAZY_SCAN_BLOCK elements, each of which has a fixed order of its own (simd/scans.h);
 * what the blocks before one combine to is joined from left to right. So bits depend on the extent alone. Lines go to
 * the workers in groups: a row, or some lines that lie beside each other. Where there are too few of these, blocks go
 * to the workers in two sweeps, the first of which finds what each combines to; that gives the same bits.
 */
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/launches.h"
#include "lazy/vm/simd/simd.h"

enum {
    TASK = 1 << 15,        /* elements that are worth a task */
    GROUPS_PER_WORKER = 2, /* with so many groups, workers take whole ones */
    LINES_TOGETHER = 64    /* rows of a recurrence that a task gets */
};

/* ---- Cutting ----------------------------------------------------------------------------------------------------- */
typedef struct scan_work {
    const lazy_scan *scan;
    char *out;
    const char *in;
    int bytes;               /* of an element */
    bool reverse;            /* lines run from their last element to the first */
    int64_t n, outer, inner; /* elements of a line; lines are outer × inner */
    int64_t width, parts;    /* lines of a group; groups that `inner` lines make */
    int64_t groups, blocks;  /* of all lines; of a line */
    int64_t together;        /* groups of a task */
    char *starts;            /* two sweeps: by group, block and line of a group */
} scan_work;

/* A group of lines: where its elements begin, and how many lines it has. */
static int64_t group_place(const scan_work *j, int64_t group, int64_t *width) {
    int64_t first = group % j->parts * j->width;
    *width = j->inner - first < j->width ? j->inner - first : j->width;
    return group / j->parts * j->n * j->inner + first;
}

/* One block of a group: `total` gets what it combines to, without `start`. store: the result is written, too. */
static void scan_block(const scan_work *j, int64_t group, int64_t block, const void *start, void *total, bool store) {
    int64_t width, at = group_place(j, group, &width), first = block * LAZY_SCAN_BLOCK;
    int64_t n = j->n - first < LAZY_SCAN_BLOCK ? j->n - first : LAZY_SCAN_BLOCK;
    if (j->inner > 1) {
        at += (j->reverse ? j->n - 1 - first : first) * j->inner;
        j->scan->columns(store ? j->out + at * j->bytes : NULL, j->in + at * j->bytes, n,
                         j->reverse ? -j->inner : j->inner, width, start, total);
        return;
    }
    at += j->reverse ? j->n - first - n : first;
    char *out = store ? j->out + at * j->bytes : NULL;
    if (!j->reverse) {
        j->scan->row(out, j->in + at * j->bytes, n, start, total);
        return;
    }
    uint64_t turned[LAZY_SCAN_BLOCK];
    vm_simd()->scans->turn(turned, j->in + at * j->bytes, n, j->bytes);
    j->scan->row(store ? turned : NULL, turned, n, start, total);
    if (store)
        vm_simd()->scans->turn(out, turned, n, j->bytes);
}

static void clear_start(const scan_work *j, char *start, int64_t width) {
    for (int64_t k = 0; k < width; k++)
        memcpy(start + k * j->bytes, &j->scan->identity, (size_t)j->bytes);
}

/* ---- Sweeps ------------------------------------------------------------------------------------------------------ */
/* Whole groups, block by block. */
static void scan_groups(void *arg, int64_t task, const neap_run *run) {
    const scan_work *j = arg;
    int64_t end = (task + 1) * j->together < j->groups ? (task + 1) * j->together : j->groups;
    (void)run;
    for (int64_t group = task * j->together; group < end; group++) {
        uint64_t start[LAZY_SCAN_WIDTH], total[LAZY_SCAN_WIDTH];
        clear_start(j, (char *)start, j->width);
        for (int64_t block = 0; block < j->blocks; block++) {
            scan_block(j, group, block, start, total, true);
            j->scan->combine(start, start, total, j->width);
        }
    }
}

static char *start_of(const scan_work *j, int64_t group, int64_t block) {
    return j->starts + (group * j->blocks + block) * j->width * j->bytes;
}

static void scan_totals(void *arg, int64_t task, const neap_run *run) {
    const scan_work *j = arg;
    uint64_t none[LAZY_SCAN_WIDTH];
    (void)run;
    clear_start(j, (char *)none, j->width);
    scan_block(j, task / j->blocks, task % j->blocks, none, start_of(j, task / j->blocks, task % j->blocks), false);
}

static void scan_from_starts(void *arg, int64_t task, const neap_run *run) {
    const scan_work *j = arg;
    uint64_t total[LAZY_SCAN_WIDTH];
    (void)run;
    scan_block(j, task / j->blocks, task % j->blocks, start_of(j, task / j->blocks, task % j->blocks), total, true);
}

/* What blocks combine to becomes what the blocks before each combine to. */
static void scan_starts(const scan_work *j) {
    for (int64_t group = 0; group < j->groups; group++) {
        uint64_t before[LAZY_SCAN_WIDTH], next[LAZY_SCAN_WIDTH];
        clear_start(j, (char *)before, j->width);
        for (int64_t block = 0; block < j->blocks; block++) {
            j->scan->combine(next, before, start_of(j, group, block), j->width);
            memcpy(start_of(j, group, block), before, (size_t)(j->width * j->bytes));
            memcpy(before, next, (size_t)(j->width * j->bytes));
        }
    }
}

static int scan_in_two_sweeps(scan_work *j, const neap_run *run) {
    size_t bytes = (size_t)(j->groups * j->blocks * j->width * j->bytes);
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    j->starts = scratch;
    neap_parallel_for(run, j->groups * j->blocks, scan_totals, j);
    scan_starts(j);
    neap_parallel_for(run, j->groups * j->blocks, scan_from_starts, j);
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

static int scan_call(const lazy_call *call, const neap_run *run, lazy_scan_kind kind) {
    const lazy_tensor *in = &call->in[0];
    scan_work j = {.scan = &vm_simd()->scans->of[kind][in->dtype],
                   .out = call->out->data,
                   .in = in->data,
                   .bytes = neap_dtype_bytes(in->dtype),
                   .reverse = call->attrs[1] != 0};
    if (in->size == 0)
        return NEAP_OK;
    int axis = (int)(call->attrs[0] < 0 ? call->attrs[0] + in->ndim : call->attrs[0]);
    j.n = in->shape[axis];
    j.outer = j.inner = 1;
    for (int k = 0; k < in->ndim; k++)
        *(k < axis ? &j.outer : k > axis ? &j.inner : &(int64_t){0}) *= in->shape[k];
    j.width = j.inner < LAZY_SCAN_WIDTH ? j.inner : LAZY_SCAN_WIDTH;
    j.parts = (j.inner + j.width - 1) / j.width;
    j.groups = j.outer * j.parts;
    j.blocks = (j.n + LAZY_SCAN_BLOCK - 1) / LAZY_SCAN_BLOCK;
    int workers = neap_engine_workers();
    if (workers > 1 && j.blocks > 1 && in->size >= 2 * TASK && j.groups < (int64_t)workers * GROUPS_PER_WORKER)
        return scan_in_two_sweeps(&j, run);
    j.together = TASK / (j.n * j.width) > 1 ? TASK / (j.n * j.width) : 1;
    neap_parallel_for(run, (j.groups + j.together - 1) / j.together, scan_groups, &j);
    return NEAP_OK;
}

static int cumsum_call(const lazy_call *call, const neap_run *run) {
    return scan_call(call, run, LAZY_SCAN_SUM);
}
static int cumprod_call(const lazy_call *call, const neap_run *run) {
    return scan_call(call, run, LAZY_SCAN_PROD);
}
static int cummax_call(const lazy_call *call, const neap_run *run) {
    return scan_call(call, run, LAZY_SCAN_MAX);
}
static int cummin_call(const lazy_call *call, const neap_run *run) {
    return scan_call(call, run, LAZY_SCAN_MIN);
}

/* ---- Recurrences ------------------------------------------------------------------------------------------------- */
typedef struct recurrence_work {
    const lazy_recurrence *recurrence;
    char *out;
    const char *a, *b;
    int bytes;
    bool reverse;
    int64_t n, outer, inner, parts;
} recurrence_work;

static void recur_rows(void *arg, int64_t task, const neap_run *run) {
    const recurrence_work *j = arg;
    int64_t first = task * LINES_TOGETHER, lines = j->outer - first, at = first * j->n * j->bytes;
    (void)run;
    lines = lines < LINES_TOGETHER ? lines : LINES_TOGETHER;
    j->recurrence->rows(j->out + at, j->a + at, j->b + at, j->n, lines, j->reverse ? -1 : 1);
}

static void recur_columns(void *arg, int64_t task, const neap_run *run) {
    const recurrence_work *j = arg;
    int64_t first = task % j->parts * LAZY_SCAN_WIDTH, width = j->inner - first;
    int64_t at = task / j->parts * j->n * j->inner + first + (j->reverse ? (j->n - 1) * j->inner : 0);
    (void)run;
    at *= j->bytes;
    j->recurrence->columns(j->out + at, j->a + at, j->b + at, j->n, j->reverse ? -j->inner : j->inner,
                           width < LAZY_SCAN_WIDTH ? width : LAZY_SCAN_WIDTH);
}

static int recurrence_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *a = &call->in[0];
    recurrence_work j = {.recurrence = &vm_simd()->scans->recurrence[a->dtype],
                         .out = call->out->data,
                         .a = a->data,
                         .b = call->in[1].data,
                         .bytes = neap_dtype_bytes(a->dtype),
                         .reverse = call->attrs[1] != 0};
    if (a->size == 0)
        return NEAP_OK;
    int axis = (int)(call->attrs[0] < 0 ? call->attrs[0] + a->ndim : call->attrs[0]);
    j.n = a->shape[axis];
    j.outer = j.inner = 1;
    for (int k = 0; k < a->ndim; k++)
        *(k < axis ? &j.outer : k > axis ? &j.inner : &(int64_t){0}) *= a->shape[k];
    j.parts = (j.inner + LAZY_SCAN_WIDTH - 1) / LAZY_SCAN_WIDTH;
    if (j.inner > 1)
        neap_parallel_for(run, j.outer * j.parts, recur_columns, &j);
    else
        neap_parallel_for(run, (j.outer + LINES_TOGETHER - 1) / LINES_TOGETHER, recur_rows, &j);
    return NEAP_OK;
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */
static int scan_shape(const lazy_call_desc *call, lazy_result *out) {
    int axis;
    if (call->nattrs != 2)
        return neap_error(NEAP_E_ARGUMENT, "expected an axis and whether to run from its end");
    int status = graph_axis("cumulative", call->attrs[0], call->in[0].ndim, &axis);
    return status ? status : graph_shape_same(call, out);
}

static int recurrence_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *a = &call->in[0], *b = &call->in[1];
    char left[256], right[256];
    if (a->ndim != b->ndim || memcmp(a->shape, b->shape, a->ndim * sizeof *a->shape) != 0)
        return neap_error(NEAP_E_SHAPE, "recurrence: shapes %s and %s differ",
                          graph_shape_text(a->ndim, a->shape, left, sizeof left),
                          graph_shape_text(b->ndim, b->shape, right, sizeof right));
    return scan_shape(call, out);
}

static int64_t scan_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return 300 + call->in[0].size;
}

static double scan_flops(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return (double)call->in[0].size;
}

/* Both inputs stay divided alike, but not along the axis. */
static int recurrence_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    int axis = (int)(g->attrs[0] < 0 ? g->attrs[0] + g->in[0].ndim : g->attrs[0]);
    for (int k = 0; k < g->in[0].ndim; k++)
        if (k != axis) {
            shard_factor_keep(&f, g, 0, k, k);
            shard_factor_axis(&f, 1, k, f.n - 1);
        }
    return shard_solve(g, &f, -1);
}

/* ---- Building nodes along the axis of a node, in the order in which it runs -------------------------------------- */
typedef struct along {
    neap_ctx *ctx;
    int axis;
    bool reverse;
} along;

static along along_of(neap_ctx *ctx, const neap_node *node) {
    const int64_t *attrs = graph_node_attrs(node);
    return (along){ctx, (int)(attrs[0] < 0 ? attrs[0] + graph_node_aval(node).ndim : attrs[0]), attrs[1] != 0};
}

/* x without its first element of each line, or without its last one. */
static neap_node *without(const along *a, neap_node *x, bool first) {
    if (!x)
        return NULL;
    lazy_aval of = graph_node_aval(x);
    int64_t ranges[3 * NEAP_MAX_DIMS];
    for (int k = 0; k < of.ndim; k++) {
        ranges[3 * k] = k == a->axis && first != a->reverse;
        ranges[3 * k + 1] = 1;
        ranges[3 * k + 2] = of.shape[k] - (k == a->axis);
    }
    return graph_build_slice(a->ctx, x, ranges);
}

/* x with a zero of its dtype in front of each line, or behind it. */
static neap_node *with_zero(const along *a, neap_node *x, bool first) {
    if (!x)
        return NULL;
    lazy_aval of = graph_node_aval(x);
    int64_t widths[3 * NEAP_MAX_DIMS] = {0};
    widths[3 * a->axis + (first == a->reverse)] = 1;
    neap_node *zero = graph_build_cast(a->ctx, graph_build_number(a->ctx, 0), of.dtype);
    return graph_build(a->ctx, LAZY_OP_pad, 2, (neap_node *[]){x, zero}, 3 * of.ndim, widths);
}

/* The element before each one, or behind it; 0 at the end. Of nothing, nothing. */
static neap_node *before(const along *a, neap_node *x) {
    return x && graph_node_aval(x).size == 0 ? x : with_zero(a, without(a, x, false), true);
}
static neap_node *behind(const along *a, neap_node *x) {
    return x && graph_node_aval(x).size == 0 ? x : with_zero(a, without(a, x, true), false);
}

static neap_node *recur(const along *a, neap_node *factor, neap_node *own, bool back) {
    return graph_build(a->ctx, LAZY_OP_recurrence, 2, (neap_node *[]){factor, own}, 2,
                       (int64_t[]){a->axis, a->reverse != back});
}

/* ---- Derivatives ------------------------------------------------------------------------------------------------- */
static int cumsum_grad(lazy_grad *g) {
    along a = along_of(g->ctx, g->node);
    g->out[0] = graph_build(g->ctx, LAZY_OP_cumsum, 1, &g->ct, 2, (int64_t[]){a.axis, !a.reverse});
    return grad_done(g, 1);
}

/* What the products before each element are: 1 at the first. */
static neap_node *products_before(const along *a, neap_node *y) {
    neap_node *ones = graph_build_cast(a->ctx, graph_build_number(a->ctx, 1), graph_node_aval(y).dtype);
    neap_node *first = graph_build_broadcast(a->ctx, ones, graph_node_aval(y).ndim, graph_node_aval(y).shape);
    /* One where `before` has its zero. */
    neap_node *head = graph_node_aval(y).size ? with_zero(a, without(a, first, false), true) : first;
    return graph_build3(a->ctx, LAZY_OP_where, graph_build_cast(a->ctx, head, NEAP_DTYPE_BOOL), before(a, y), first);
}

/* y[i] = x[i] · y[i - 1]: without divisions, so that derivatives of any order are right where elements are zero. */
static int cumprod_grad(lazy_grad *g) {
    along a = along_of(g->ctx, g->node);
    neap_node *sums = recur(&a, behind(&a, INPUT(0)), g->ct, true);
    g->out[0] = BUILD2(multiply, sums, products_before(&a, g->node));
    return grad_done(g, 1);
}

static int cumprod_jvp(lazy_tangent *g) {
    along a = along_of(g->ctx, g->node);
    g->out = recur(&a, INPUT(0), BUILD2(multiply, g->in[0], products_before(&a, g->node)), false);
    return jvp_done(g);
}

/* Where the extremum so far is the one that the element before has: a bool. */
static neap_node *is_held(const along *a, neap_node *y) {
    neap_ctx *ctx = a->ctx;
    neap_node *own = without(a, y, true), *last = without(a, y, false);
    neap_node *same = graph_build2(ctx, LAZY_OP_equal, own, last);
    neap_node *none = graph_build2(ctx, LAZY_OP_logical_and, graph_build2(ctx, LAZY_OP_not_equal, own, own),
                                   graph_build2(ctx, LAZY_OP_not_equal, last, last));
    return with_zero(a, graph_build2(ctx, LAZY_OP_logical_or, same, none), true);
}

/* The cotangents of all places that have an extremum go to where it is reached first. */
static int cumulative_extremum_grad(lazy_grad *g) {
    along a = along_of(g->ctx, g->node);
    if (graph_node_aval(g->node).size == 0) {
        g->out[0] = g->ct;
        return NEAP_OK;
    }
    neap_node *held = is_held(&a, g->node);
    neap_node *factor = behind(&a, graph_build_cast(g->ctx, held, graph_node_aval(g->ct).dtype));
    g->out[0] = BUILD3(where, held, NUMBER(0), recur(&a, factor, g->ct, true));
    return grad_done(g, 1);
}

static int cumulative_extremum_jvp(lazy_tangent *g) {
    along a = along_of(g->ctx, g->node);
    if (graph_node_aval(g->node).size == 0) {
        g->out = g->in[0];
        return NEAP_OK;
    }
    neap_node *held = is_held(&a, g->node);
    neap_node *factor = graph_build_cast(g->ctx, held, graph_node_aval(g->node).dtype);
    g->out = recur(&a, factor, BUILD3(where, held, NUMBER(0), g->in[0]), false);
    return jvp_done(g);
}

static int recurrence_grad(lazy_grad *g) {
    along a = along_of(g->ctx, g->node);
    neap_node *sums = recur(&a, behind(&a, INPUT(0)), g->ct, true);
    if (g->wants[0])
        g->out[0] = BUILD2(multiply, sums, before(&a, g->node));
    if (g->wants[1])
        g->out[1] = sums;
    return grad_done(g, 2);
}

static int recurrence_jvp(lazy_tangent *g) {
    along a = along_of(g->ctx, g->node);
    neap_node *own = g->in[1];
    if (g->in[0]) {
        neap_node *moved = BUILD2(multiply, g->in[0], before(&a, g->node));
        own = own ? BUILD2(add, own, moved) : moved;
    }
    g->out = recur(&a, INPUT(0), own, false);
    return jvp_done(g);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
/* clang-format off */
NEAP_OP(cumsum,
    .doc = "Sums of all elements up to each one along an axis, or from each one on where `reverse` is set. Dtypes as "
           "in sum. Blocks of 4096 elements have an order of additions of their own (docs/numbers.md).",
    .attrs = "axis reverse", .kind = LAZY_CALL, .arity = 1, .types = LAZY_NUMERIC,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_sum, .shape = scan_shape,
    .call = cumsum_call, .gpu = launches_cumsum,
    .cost = scan_cost, .flops = scan_flops, .grad = cumsum_grad, .jvp = derive_jvp_linear,
    .batch = derive_batch_axis, .shard = shard_axis)

NEAP_OP(cumprod,
    .doc = "Products of all elements up to each one along an axis, or from each one on where `reverse` is set. Dtypes "
           "as in prod, the order as in cumsum.",
    .attrs = "axis reverse", .kind = LAZY_CALL, .arity = 1, .types = LAZY_NUMERIC,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_sum, .shape = scan_shape,
    .call = cumprod_call, .gpu = launches_cumprod,
    .cost = scan_cost, .flops = scan_flops, .grad = cumprod_grad, .jvp = cumprod_jvp,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT, .batch = derive_batch_axis, .shard = shard_axis)

NEAP_OP(cummax,
    .doc = "The greatest of all elements up to each one along an axis, or from each one on where `reverse` is set; NaN "
           "from the first NaN on; 0.0 is greater than -0.0. The gradient goes to where the greatest is reached first.",
    .attrs = "axis reverse", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ORDERED,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same, .shape = scan_shape,
    .call = cummax_call, .gpu = launches_cummax,
    .cost = scan_cost, .flops = scan_flops, .grad = cumulative_extremum_grad,
    .jvp = cumulative_extremum_jvp, .residual = LAZY_RESIDUAL_OUT, .batch = derive_batch_axis, .shard = shard_axis)

NEAP_OP(cummin,
    .doc = "The smallest of all elements up to each one along an axis, or from each one on where `reverse` is set; NaN "
           "from the first NaN on; -0.0 is smaller than 0.0. The gradient goes to where the smallest is reached first.",
    .attrs = "axis reverse", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ORDERED,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same, .shape = scan_shape,
    .call = cummin_call, .gpu = launches_cummin,
    .cost = scan_cost, .flops = scan_flops, .grad = cumulative_extremum_grad,
    .jvp = cumulative_extremum_jvp, .residual = LAZY_RESIDUAL_OUT, .batch = derive_batch_axis, .shard = shard_axis)

NEAP_OP(recurrence,
    .doc = "h[i] = a[i] * h[i - 1] + b[i] along an axis from h[-1] = 0, or from its end where `reverse` is set; where "
           "a[i] is 0, h[i] = b[i]. Each product and each sum is rounded. What derivatives of cumprod, cummax and "
           "cummin are made of.",
    .attrs = "axis reverse", .kind = LAZY_CALL, .arity = 2, .types = LAZY_INEXACT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_real, .shape = recurrence_shape,
    .call = recurrence_call, .gpu = launches_recurrence,
    .cost = scan_cost, .flops = scan_flops, .grad = recurrence_grad, .jvp = recurrence_jvp,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT, .batch = derive_batch_axis, .shard = recurrence_shard)
/* clang-format on */
