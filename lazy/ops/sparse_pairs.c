/* sparse_pairs.c: the elements of sums and products of two sparse matrices, at places that are known
 * (sparse_places.c).
 *
 * The elements of a row are added up in a row of scratch, an element for each column, in the order in which operands
 * store them, as in Gustavson's algorithm (ACM TOMS 4, 1978): bits do not depend on who computes which rows.
 *
 * Both ops are their own derivatives. sparse_matmul gives, for matrices A, B and C, the gradient of
 * Σ a(i,k) b(k,j) c(i,j) by the elements of one of them, from those of the two others: by C it is the product.
 * sparse_collect from places X to places Y has the transpose from Y to X.
 */
#include <string.h>

#include "lazy/derive/build.h"
#include "lazy/dtype/scalar.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/sparse.h"

/* ---- Elements ---------------------------------------------------------------------------------------------------- */
/* T: the type of elements; W: the one to compute in, whose overflow is defined. `sums` and `row` are scratch, whose
 * columns are set to zero before they are added to, or behind the row that has set them. */
#define PAIR_LOOPS(name, T, W)                                                                                         \
    static void name##_by_c(const sparse_pair *p, int64_t first, int64_t last, void *scratch) {                        \
        const T *a = p->data[0], *b = p->data[1];                                                                      \
        T *out = p->out;                                                                                               \
        W *sums = scratch;                                                                                             \
        for (int64_t row = first, e, f, g, a_end, b_end, c, c_end; row < last; row++) {                                \
            sparse_row(&p->c, row, &c, &c_end);                                                                        \
            for (g = c; g < c_end; g++)                                                                                \
                if (sparse_inside(p->c.indices[g], p->n))                                                              \
                    sums[p->c.indices[g]] = 0;                                                                         \
            for (sparse_row(&p->a, row, &e, &a_end); e < a_end; e++) {                                                 \
                if (!sparse_inside(p->a.indices[e], p->b.rows))                                                        \
                    continue;                                                                                          \
                const W by = (W)a[e];                                                                                  \
                for (sparse_row(&p->b, p->a.indices[e], &f, &b_end); f < b_end; f++)                                   \
                    if (sparse_inside(p->b.indices[f], p->n))                                                          \
                        sums[p->b.indices[f]] += by * (W)b[f];                                                         \
            }                                                                                                          \
            for (g = c; g < c_end; g++)                                                                                \
                if (sparse_inside(p->c.indices[g], p->n))                                                              \
                    out[g] = (T)sums[p->c.indices[g]];                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    /* A row of C, as a dense one. */                                                                                  \
    static inline void name##_spread(const sparse_pair *p, int64_t at, W *row, bool away) {                            \
        int64_t g, end;                                                                                                \
        for (sparse_row(&p->c, at, &g, &end); g < end; g++)                                                            \
            if (sparse_inside(p->c.indices[g], p->n))                                                                  \
                row[p->c.indices[g]] = away ? 0 : row[p->c.indices[g]] + (W)((const T *)p->data[1])[g];                \
    }                                                                                                                  \
    static void name##_by_a(const sparse_pair *p, int64_t first, int64_t last, void *scratch) {                        \
        const T *b = p->data[0];                                                                                       \
        T *out = p->out;                                                                                               \
        W *row = scratch;                                                                                              \
        for (int64_t at = first, e, f, a_end, b_end; at < last; at++) {                                                \
            name##_spread(p, at, row, false);                                                                          \
            for (sparse_row(&p->a, at, &e, &a_end); e < a_end; e++) {                                                  \
                W sum = 0;                                                                                             \
                if (!sparse_inside(p->a.indices[e], p->b.rows))                                                        \
                    continue;                                                                                          \
                for (sparse_row(&p->b, p->a.indices[e], &f, &b_end); f < b_end; f++)                                   \
                    if (sparse_inside(p->b.indices[f], p->n))                                                          \
                        sum += (W)b[f] * row[p->b.indices[f]];                                                         \
                out[e] = (T)sum;                                                                                       \
            }                                                                                                          \
            name##_spread(p, at, row, true);                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_by_b(const sparse_pair *p, int64_t first, int64_t last, void *scratch) {                        \
        const T *a = p->data[0];                                                                                       \
        T *out = p->out;                                                                                               \
        W *row = scratch;                                                                                              \
        for (int64_t at = first, e, f, a_end, b_end; at < last; at++) {                                                \
            name##_spread(p, at, row, false);                                                                          \
            for (sparse_row(&p->a, at, &e, &a_end); e < a_end; e++) {                                                  \
                if (!sparse_inside(p->a.indices[e], p->b.rows))                                                        \
                    continue;                                                                                          \
                for (sparse_row(&p->b, p->a.indices[e], &f, &b_end); f < b_end; f++)                                   \
                    if (sparse_inside(p->b.indices[f], p->n))                                                          \
                        out[f] = (T)((W)out[f] + (W)a[e] * row[p->b.indices[f]]);                                      \
            }                                                                                                          \
            name##_spread(p, at, row, true);                                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static inline void name##_gather(const sparse_places *x, const T *data, int64_t n, int64_t row, W *sums) {         \
        int64_t e, end;                                                                                                \
        for (sparse_row(x, row, &e, &end); e < end; e++)                                                               \
            if (sparse_inside(x->indices[e], n))                                                                       \
                sums[x->indices[e]] += (W)data[e];                                                                     \
    }                                                                                                                  \
    static void name##_collect(const sparse_pair *p, int64_t first, int64_t last, void *scratch) {                     \
        T *out = p->out;                                                                                               \
        W *sums = scratch;                                                                                             \
        for (int64_t row = first, g, start, end; row < last; row++) {                                                  \
            sparse_row(&p->c, row, &start, &end);                                                                      \
            for (g = start; g < end; g++)                                                                              \
                if (sparse_inside(p->c.indices[g], p->n))                                                              \
                    sums[p->c.indices[g]] = 0;                                                                         \
            name##_gather(&p->a, p->data[0], p->n, row, sums);                                                         \
            if (p->data[1])                                                                                            \
                name##_gather(&p->b, p->data[1], p->n, row, sums);                                                     \
            for (g = start; g < end; g++)                                                                              \
                if (sparse_inside(p->c.indices[g], p->n))                                                              \
                    out[g] = (T)sums[p->c.indices[g]];                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static const pair_loops of_##name = {{name##_by_a, name##_by_b, name##_by_c}, name##_collect, sizeof(W)};

typedef void pair_loop(const sparse_pair *p, int64_t first, int64_t last, void *scratch);
typedef struct pair_loops {
    pair_loop *by[3], *collect;
    size_t bytes; /* of an element of scratch */
} pair_loops;

PAIR_LOOPS(bytes1, uint8_t, uint32_t)
PAIR_LOOPS(bytes2, uint16_t, uint32_t)
PAIR_LOOPS(bytes4, uint32_t, uint32_t)
PAIR_LOOPS(bytes8, uint64_t, uint64_t)
PAIR_LOOPS(f32, float, float)
PAIR_LOOPS(f64, double, double)
PAIR_LOOPS(c64, neap_c64, neap_c64)
PAIR_LOOPS(c128, neap_c128, neap_c128)

static const pair_loops *loops_of(int dtype) {
    static const pair_loops *const kinds[SPARSE_KINDS] = {&of_bytes1, &of_bytes2, &of_bytes4, &of_bytes8,
                                                          &of_f32,    &of_f64,    &of_c64,    &of_c128};
    return kinds[ops_sparse_kind(dtype)];
}

/* The elements of an input, or of the result, of one of several matrices. */
static void *elements_of(const lazy_tensor *t, int64_t matrix) {
    return (char *)t->data + matrix * sparse_extent(t) * neap_dtype_bytes(t->dtype);
}

static int elements_run(const lazy_call *call, const neap_run *run, sparse_pair *p, int64_t matrix, double work,
                        bool alone) {
    void *out = elements_of(call->out, matrix);
    if (sparse_extent(call->out) == 0)
        return NEAP_OK;
    memset(out, 0, (size_t)(sparse_extent(call->out) * neap_dtype_bytes(call->out->dtype)));
    p->out = out;
    p->n = call->attrs[0];
    p->scratch = (size_t)(p->n + 1) * loops_of(call->out->dtype)->bytes;
    return ops_sparse_run(call, run, p, work, alone);
}

static int matmul_call(const lazy_call *call, const neap_run *run) {
    const int64_t by = call->attrs[1];
    const bool alone = by == 1 || !ops_sparse_rise(&call->in[3 + 2 * by]);
    int status = NEAP_OK;
    for (int64_t k = 0; k < ops_sparse_matrices(&call->in[3]) && status == NEAP_OK; k++) {
        sparse_pair p = {
            .a = ops_sparse_places(call, 2, k), .b = ops_sparse_places(call, 4, k), .c = ops_sparse_places(call, 6, k)};
        p.data[0] = elements_of(&call->in[0], k);
        p.data[1] = elements_of(&call->in[1], k);
        p.rows = loops_of(call->out->dtype)->by[by];
        p.m = p.a.rows;
        status = elements_run(call, run, &p, k, ops_sparse_terms(&p.a, &p.b) + (double)p.c.stored, alone);
    }
    return status;
}

static int collect_call(const lazy_call *call, const neap_run *run) {
    const int to = call->nin - 2;
    const bool alone = !ops_sparse_rise(&call->in[to + 1]);
    int status = NEAP_OK;
    for (int64_t k = 0; k < ops_sparse_matrices(&call->in[to + 1]) && status == NEAP_OK; k++) {
        sparse_pair p = {.a = ops_sparse_places(call, 1, k), .c = ops_sparse_places(call, to, k)};
        p.data[0] = elements_of(&call->in[0], k);
        if (call->nin == 8) {
            p.b = ops_sparse_places(call, 4, k);
            p.data[1] = elements_of(&call->in[3], k);
        }
        p.rows = loops_of(call->out->dtype)->collect;
        p.m = p.c.rows;
        status = elements_run(call, run, &p, k, (double)(p.a.stored + p.b.stored + p.c.stored + p.m), alone);
    }
    return status;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */
static int sparse_matmul_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = call->in;
    int status = ops_sparse_check_places("sparse_matmul", call, 2, 3);
    if (status == NEAP_OK && (call->nattrs != 2 || call->attrs[1] < 0 || call->attrs[1] > 2))
        status = neap_error(NEAP_E_ARGUMENT, "sparse_matmul: expected columns, and which matrix is wanted");
    if (status)
        return status;
    const int64_t by = call->attrs[1];
    status = ops_sparse_check_data("sparse_matmul", &in[0], &in[by == 0 ? 4 : 2], in[0].dtype);
    if (status == NEAP_OK)
        status = ops_sparse_check_data("sparse_matmul", &in[1], &in[by == 2 ? 4 : 6], in[0].dtype);
    if (status == NEAP_OK)
        status = ops_sparse_check_rows("sparse_matmul", &in[3], &in[7]);
    const lazy_aval *wanted = &in[2 + 2 * by];
    return status ? status : ops_sparse_last_axis(out, wanted, wanted->shape[wanted->ndim - 1]);
}

static int sparse_collect_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = call->in;
    const int to = call->nin - 2;
    if (call->nin != 5 && call->nin != 8)
        return neap_error(NEAP_E_ARGUMENT, "sparse_collect: expected one or two matrices, and places");
    int status = NEAP_OK;
    for (int k = 0; k < to && status == NEAP_OK; k += 3) {
        status = ops_sparse_check_places("sparse_collect", call, k + 1, 1);
        if (status == NEAP_OK)
            status = ops_sparse_check_data("sparse_collect", &in[k], &in[k + 1], in[0].dtype);
        if (status == NEAP_OK)
            status = ops_sparse_check_data("sparse_collect", &in[k + 2], &in[to + 1], NEAP_DTYPE_I32);
    }
    if (status == NEAP_OK)
        status = ops_sparse_check_places("sparse_collect", call, to, 1);
    return status ? status : ops_sparse_last_axis(out, &in[to], in[to].shape[in[to].ndim - 1]);
}

/* ---- Costs ------------------------------------------------------------------------------------------------------- */
static double sparse_matmul_flops(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return 2 * ops_sparse_flops(&call->in[2], &call->in[4], &call->in[5]);
}

static int64_t sparse_matmul_cost(const lazy_call_desc *call, const lazy_result *out) {
    return 500 + (int64_t)sparse_matmul_flops(call, out) + 2 * call->in[6].size;
}

static int64_t sparse_collect_cost(const lazy_call_desc *call, const lazy_result *out) {
    int64_t elements = 0;
    (void)out;
    for (int k = 0; k < call->nin; k++)
        elements += call->in[k].size;
    return 500 + elements;
}

/* ---- Derivatives ------------------------------------------------------------------------------------------------- */
/* The matrices whose elements a node has, of A, B and C. */
static int matrix_of(const neap_node *node, int input) {
    const int64_t by = graph_node_attrs(node)[1];
    return input == 0 ? by == 0 : by == 2 ? 1 : 2;
}

/* By another matrix, from the elements of matrix `first` and of the third one. */
static neap_node *matmul_of(neap_ctx *ctx, const neap_node *node, int by, int first, neap_node *x, neap_node *y) {
    const bool in_order = first < 3 - by - first;
    neap_node *in[8] = {in_order ? x : y, in_order ? y : x};
    for (int k = 2; k < 8; k++)
        in[k] = graph_node_in(node, k);
    return x && y ? graph_build(ctx, LAZY_OP_sparse_matmul, 8, in, 2, (int64_t[]){graph_node_attrs(node)[0], by})
                  : NULL;
}

static int sparse_matmul_grad(lazy_grad *g) {
    for (int k = 0; k < 2; k++)
        if (g->wants[k])
            g->out[k] =
                matmul_of(g->ctx, g->node, matrix_of(g->node, k), matrix_of(g->node, 1 - k), INPUT(1 - k), g->ct);
    for (int k = 2; k < 8; k++)
        g->wants[k] = false;
    return grad_done(g, 8);
}

static int sparse_matmul_jvp(lazy_tangent *g) {
    const int by = (int)graph_node_attrs(g->node)[1], first = matrix_of(g->node, 0);
    if (!g->in[0] && !g->in[1])
        return NEAP_OK;
    neap_node *a = g->in[0] ? matmul_of(g->ctx, g->node, by, first, g->in[0], INPUT(1)) : NULL;
    neap_node *b = g->in[1] ? matmul_of(g->ctx, g->node, by, first, INPUT(0), g->in[1]) : NULL;
    if ((g->in[0] && !a) || (g->in[1] && !b))
        return NEAP_E_MEMORY;
    g->out = a && b ? BUILD2(add, a, b) : a ? a : b;
    return jvp_done(g);
}

static int sparse_collect_grad(lazy_grad *g) {
    const int to = g->node->nin - 2;
    for (int k = 0; k < to; k += 3) {
        if (g->wants[k]) {
            neap_node *in[5] = {g->ct, INPUT(to), INPUT(to + 1), INPUT(k + 1), INPUT(k + 2)};
            g->out[k] = graph_build(g->ctx, LAZY_OP_sparse_collect, 5, in, 1, graph_node_attrs(g->node));
        }
        g->wants[k + 1] = g->wants[k + 2] = false;
    }
    g->wants[to] = g->wants[to + 1] = false;
    return grad_done(g, g->node->nin);
}

static int sparse_collect_jvp(lazy_tangent *g) {
    const int to = g->node->nin - 2;
    neap_node *in[8];
    int n = 0;
    for (int k = 0; k < to; k += 3)
        if (g->in[k]) {
            in[n] = g->in[k];
            in[n + 1] = INPUT(k + 1);
            in[n + 2] = INPUT(k + 2);
            n += 3;
        }
    if (n == 0)
        return NEAP_OK;
    in[n] = INPUT(to);
    in[n + 1] = INPUT(to + 1);
    g->out = graph_build(g->ctx, LAZY_OP_sparse_collect, n + 2, in, 1, graph_node_attrs(g->node));
    return jvp_done(g);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
NEAP_OP(
    sparse_matmul,
    .doc =
        "The gradient of Σ a(i,k) b(k,j) c(i,j) by the elements of one of the sparse matrices A (0), B (1) and C (2), "
        "which `by` says, from those of the other two, in this order: by C it is the product of A and B at the places "
        "of C. Elements (…, s) and (…, t), and columns and starts of rows, i32, of A, B and C, give (…, u). Terms are "
        "added in the order of the elements of A, then of B; integers wrap around; places out of range are left out.",
    .attrs = "columns by", .kind = LAZY_CALL, .arity = 8, .types = LAZY_NUMERIC | LAZY_COMPLEX,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .dtype = graph_dtype_same, .shape = sparse_matmul_shape, .call = matmul_call, .cost = sparse_matmul_cost,
    .flops = sparse_matmul_flops, .grad = sparse_matmul_grad, .jvp = sparse_matmul_jvp, .batch = derive_batch_leading)

NEAP_OP(
    sparse_collect,
    .doc =
        "The elements that sparse matrices have at the places of another one, and 0 where they have none; those of one "
        "place are added up, in order, from 0: elements (…, s), columns (…, s) and starts of rows (…, m + 1) of one "
        "matrix or two, and columns (…, u) and starts of rows of the places give (…, u).",
    .attrs = "columns", .kind = LAZY_CALL, .arity = 255, .types = LAZY_NUMERIC | LAZY_COMPLEX,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same, .shape = sparse_collect_shape,
    .call = collect_call, .cost = sparse_collect_cost, .grad = sparse_collect_grad, .jvp = sparse_collect_jvp,
    .batch = derive_batch_leading)
