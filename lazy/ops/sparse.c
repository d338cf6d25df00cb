/* sparse.c: products of matrices of which only the elements that are not zero are stored, row by row (CSR).
 *
 * A matrix of m rows is three arrays: `data`, the elements, row after row; `indices`, the column of each; and `starts`,
 * where each row begins in them, and behind the last one where it ends:
 *
 *      5 0 6         data     5 6 7
 *      0 0 0         indices  0 2 1
 *      0 7 0         starts   0 2 2 3
 *
 * Two rows are each other's derivatives: the product with a dense matrix, by the matrix or by its transpose, and the
 * *sample*, elements of a product of two dense matrices at the places of a sparse one. Terms are added up in the order
 * of `data`, on any number of workers: workers share rows of the result, or columns where the matrix is transposed.
 * Columns out of range, and what `starts` says beyond the elements, are left out: both are data, so they cannot be
 * errors when the op is recorded.
 *
 * A third row solves triangular systems, row by row; its derivatives, which are those of any system (sparse_solve.c),
 * are made of the same three.
 */
#include <string.h>

#include "lazy/derive/build.h"
#include "lazy/dtype/scalar.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/sparse.h"

enum {
    PART_WORK = 1 << 14, /* multiplications of a part that one worker does */
    PART_COLUMNS = 64    /* of a part of a product by the transpose */
};

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
typedef struct sparse_part { /* rows first … last - 1 of one matrix, columns from … to - 1 of the dense ones */
    const void *a, *b;       /* data and dense; of a sample both are dense */
    void *out;
    const int32_t *indices, *starts;
    int64_t n, k, stored; /* columns of the matrix, of the dense ones; stored elements */
    int64_t first, last, from, to;
    bool lower, transposed, unit; /* of a triangular system */
} sparse_part;

/* The elements of a row. */
static inline void row_range(const sparse_part *p, int64_t row, int64_t *start, int64_t *end) {
    sparse_range(p->starts, p->stored, row, start, end);
}

typedef void sparse_loop(const sparse_part *part);
typedef struct sparse_loops {
    sparse_loop *product, *transposed, *sample;
} sparse_loops;

#define INSIDE(column) ((uint32_t)(column) < (uint64_t)p->n)
#define VECTOR(W) (64 / (int)sizeof(W))

/* T: the type of elements; W: the one to compute in, whose overflow is defined. */
#define SPARSE_LOOPS(name, T, W)                                                                                       \
    static void name##_vector(const sparse_part *p) {                                                                  \
        const T *data = p->a, *x = p->b;                                                                               \
        T *out = p->out;                                                                                               \
        for (int64_t row = p->first, e, end; row < p->last; row++) {                                                   \
            W sum = 0;                                                                                                 \
            for (row_range(p, row, &e, &end); e < end; e++)                                                            \
                if (INSIDE(p->indices[e]))                                                                             \
                    sum += (W)data[e] * (W)x[p->indices[e]];                                                           \
            out[row] = (T)sum;                                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    /* `count` columns of one row of the result, from j on: as many sums as vector registers hold. */                  \
    static inline void name##_columns(const sparse_part *p, int64_t row, int64_t j, const int count) {                 \
        const T *data = p->a, *x = p->b;                                                                               \
        T *out = (T *)p->out + row * p->k + j;                                                                         \
        W sum[VECTOR(W)] = {0};                                                                                        \
        int64_t e, end;                                                                                                \
        for (row_range(p, row, &e, &end); e < end; e++) {                                                              \
            if (!INSIDE(p->indices[e]))                                                                                \
                continue;                                                                                              \
            const T *from = x + p->indices[e] * p->k + j;                                                              \
            for (int l = 0; l < count; l++)                                                                            \
                sum[l] += (W)data[e] * (W)from[l];                                                                     \
        }                                                                                                              \
        for (int l = 0; l < count; l++)                                                                                \
            out[l] = (T)sum[l];                                                                                        \
    }                                                                                                                  \
    static void name##_product(const sparse_part *p) {                                                                 \
        if (p->k == 1) {                                                                                               \
            name##_vector(p);                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t row = p->first; row < p->last; row++) {                                                           \
            int64_t j = 0;                                                                                             \
            for (; j + VECTOR(W) <= p->k; j += VECTOR(W))                                                              \
                name##_columns(p, row, j, VECTOR(W));                                                                  \
            if (j < p->k)                                                                                              \
                name##_columns(p, row, j, (int)(p->k - j));                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_scatter(const sparse_part *p) {                                                                 \
        const T *data = p->a, *x = p->b;                                                                               \
        T *out = p->out;                                                                                               \
        memset(out, 0, (size_t)p->n * sizeof(T));                                                                      \
        for (int64_t row = p->first, e, end; row < p->last; row++) {                                                   \
            const W by = (W)x[row];                                                                                    \
            for (row_range(p, row, &e, &end); e < end; e++)                                                            \
                if (INSIDE(p->indices[e]))                                                                             \
                    out[p->indices[e]] = (T)((W)out[p->indices[e]] + (W)data[e] * by);                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_transposed(const sparse_part *p) {                                                              \
        const T *data = p->a, *x = p->b;                                                                               \
        if (p->k == 1) {                                                                                               \
            name##_scatter(p);                                                                                         \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t row = 0; row < p->n; row++)                                                                       \
            memset((T *)p->out + row * p->k + p->from, 0, (size_t)(p->to - p->from) * sizeof(T));                      \
        for (int64_t row = p->first, e, end; row < p->last; row++)                                                     \
            for (row_range(p, row, &e, &end); e < end; e++) {                                                          \
                if (!INSIDE(p->indices[e]))                                                                            \
                    continue;                                                                                          \
                T *restrict out = (T *)p->out + p->indices[e] * p->k;                                                  \
                for (int64_t j = p->from; j < p->to; j++)                                                              \
                    out[j] = (T)((W)out[j] + (W)data[e] * (W)x[row * p->k + j]);                                       \
            }                                                                                                          \
    }                                                                                                                  \
    static void name##_sample(const sparse_part *p) {                                                                  \
        T *out = p->out;                                                                                               \
        for (int64_t row = p->first, e, end; row < p->last; row++)                                                     \
            for (row_range(p, row, &e, &end); e < end; e++) {                                                          \
                if (!INSIDE(p->indices[e]))                                                                            \
                    continue;                                                                                          \
                const T *left = (const T *)p->a + row * p->k, *right = (const T *)p->b + p->indices[e] * p->k;         \
                W sum = 0;                                                                                             \
                for (int64_t j = 0; j < p->k; j++)                                                                     \
                    sum += (W)left[j] * (W)right[j];                                                                   \
                out[e] = (T)sum;                                                                                       \
            }                                                                                                          \
    }                                                                                                                  \
    static const sparse_loops of_##name = {name##_product, name##_transposed, name##_sample};

SPARSE_LOOPS(bytes1, uint8_t, uint32_t)
SPARSE_LOOPS(bytes2, uint16_t, uint32_t)
SPARSE_LOOPS(bytes4, uint32_t, uint32_t)
SPARSE_LOOPS(bytes8, uint64_t, uint64_t)
SPARSE_LOOPS(f32, float, float)
SPARSE_LOOPS(f64, double, double)
SPARSE_LOOPS(c64, neap_c64, neap_c64)
SPARSE_LOOPS(c128, neap_c128, neap_c128)

/* Rows of a triangular system are solved from the first to the last, or backwards, so that a row depends on rows that
 * are solved. In the transposed system the solution of a row is subtracted from the rows that depend on it. */
#define SPARSE_SOLVE(name, T)                                                                                          \
    static void name##_solve(const sparse_part *p) {                                                                   \
        const T *data = p->a;                                                                                          \
        for (int64_t i = 0, e, end; i < p->n; i++) {                                                                   \
            const int64_t row = p->lower != p->transposed ? i : p->n - 1 - i;                                          \
            T diagonal = 0, *own = (T *)p->out + row * p->k;                                                           \
            for (row_range(p, row, &e, &end); e < end; e++) {                                                          \
                const int64_t column = p->indices[e];                                                                  \
                diagonal += column == row ? data[e] : 0;                                                               \
                if (p->transposed || !INSIDE(column) || !(p->lower ? column < row : column > row))                     \
                    continue;                                                                                          \
                const T *other = (const T *)p->out + column * p->k;                                                    \
                for (int64_t j = p->from; j < p->to; j++)                                                              \
                    own[j] -= data[e] * other[j];                                                                      \
            }                                                                                                          \
            for (int64_t j = p->from; !p->unit && j < p->to; j++)                                                      \
                own[j] /= diagonal;                                                                                    \
            for (row_range(p, row, &e, &end); p->transposed && e < end; e++) {                                         \
                const int64_t column = p->indices[e];                                                                  \
                if (!INSIDE(column) || !(p->lower ? column < row : column > row))                                      \
                    continue;                                                                                          \
                T *other = (T *)p->out + column * p->k;                                                                \
                for (int64_t j = p->from; j < p->to; j++)                                                              \
                    other[j] -= data[e] * own[j];                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

SPARSE_SOLVE(f32, float)
SPARSE_SOLVE(f64, double)
SPARSE_SOLVE(c64, neap_c64)
SPARSE_SOLVE(c128, neap_c128)

static sparse_loop *solver_of(int dtype) {
    const bool wide = dtype_of_part(dtype) == NEAP_DTYPE_F64;
    if (neap_dtype_kind(dtype) == 'c')
        return wide ? c128_solve : c64_solve;
    return wide ? f64_solve : f32_solve;
}

int ops_sparse_kind(int dtype) {
    const int wide = dtype_of_part(dtype) == NEAP_DTYPE_F64;
    _Static_assert(NEAP_DTYPE_REALS == 2, "sparse products are of f32 and f64");
    if (neap_dtype_kind(dtype) == 'c')
        return 6 + wide;
    if (neap_dtype_kind(dtype) == 'f')
        return 4 + wide;
    return __builtin_ctz((unsigned)neap_dtype_bytes(dtype));
}

static const sparse_loops *loops_of(int dtype) {
    static const sparse_loops *const kinds[SPARSE_KINDS] = {&of_bytes1, &of_bytes2, &of_bytes4, &of_bytes8,
                                                            &of_f32,    &of_f64,    &of_c64,    &of_c128};
    return kinds[ops_sparse_kind(dtype)];
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
typedef struct sparse_work {
    sparse_part whole; /* the first matrix */
    sparse_loop *loop;
    int64_t m, parts, step;        /* parts of a matrix; rows or columns of a part */
    int64_t a, b, out;             /* bytes from one matrix to the next */
    bool by_columns, whole_matrix; /* parts are columns; a matrix is one part */
} sparse_work;

static int64_t extent(const lazy_tensor *t, int from_end) {
    return t->shape[t->ndim - 1 - from_end];
}

static void sparse_part_run(void *arg, int64_t index, const neap_run *run) {
    const sparse_work *work = arg;
    const int64_t matrix = index / work->parts, at = index % work->parts * work->step;
    sparse_part p = work->whole;
    (void)run;
    p.a = (const char *)p.a + matrix * work->a;
    p.b = (const char *)p.b + matrix * work->b;
    p.out = (char *)p.out + matrix * work->out;
    p.indices += matrix * p.stored;
    p.starts += matrix * (work->m + 1);
    if (work->by_columns) {
        p.from = at;
        p.to = at + work->step < p.k ? at + work->step : p.k;
    } else {
        p.first = at;
        p.last = at + work->step < work->m ? at + work->step : work->m;
    }
    work->loop(&p);
}

static int sparse_run(const lazy_call *call, sparse_work *work, const neap_run *run) {
    const lazy_tensor *in = call->in, *out = call->out;
    sparse_part *p = &work->whole;
    int64_t matrices = 1, bytes = neap_dtype_bytes(out->dtype);
    for (int k = 0; k < in[3].ndim - 1; k++)
        matrices *= in[3].shape[k];
    p->a = in[0].data, p->b = in[1].data, p->out = out->data;
    p->indices = in[2].data, p->starts = in[3].data;
    p->k = extent(&in[1], 0), p->stored = extent(&in[2], 0);
    p->first = 0, p->last = work->m = extent(&in[3], 0) - 1;
    p->from = 0, p->to = p->k;
    if (matrices == 0 || out->size == 0)
        return NEAP_OK;
    work->a = in[0].size / matrices * bytes, work->b = in[1].size / matrices * bytes;
    work->out = out->size / matrices * bytes;
    const double multiplications = (double)p->stored * (double)p->k + (double)work->m;
    const int64_t range = work->by_columns ? p->k : work->m;
    const double share = (double)range * PART_WORK / multiplications;
    work->step = work->by_columns ? PART_COLUMNS : share < 1 ? 1 : share < (double)range ? (int64_t)share : range;
    work->step = work->whole_matrix ? range : work->step;
    work->step = work->step > 0 ? work->step : 1;
    work->parts = range > 0 ? (range + work->step - 1) / work->step : 1;
    if (multiplications * (double)matrices >= PART_WORK) {
        neap_parallel_for(run, matrices * work->parts, sparse_part_run, work);
    } else {
        for (int64_t k = 0; k < matrices * work->parts; k++)
            sparse_part_run(work, k, run);
    }
    return NEAP_OK;
}

static int product_call(const lazy_call *call, const neap_run *run) {
    const sparse_loops *loops = loops_of(call->out->dtype);
    const bool transposed = call->attrs[1] != 0;
    sparse_work work = {.loop = transposed ? loops->transposed : loops->product, .by_columns = transposed};
    work.whole.n = call->attrs[0];
    return sparse_run(call, &work, run);
}

bool ops_sparse_rise(const lazy_tensor *starts) {
    const int32_t *at = starts->data;
    const int64_t n = extent(starts, 0);
    bool rise = true;
    for (int64_t k = 1; k < starts->size; k++)
        rise &= k % n == 0 || at[k] >= at[k - 1];
    return rise;
}

static int solve_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *b = &call->in[1];
    sparse_work work = {.loop = solver_of(call->out->dtype), .by_columns = true};
    work.whole.n = extent(b, 1);
    work.whole.lower = call->attrs[0] != 0;
    work.whole.transposed = call->attrs[1] != 0;
    work.whole.unit = call->attrs[2] != 0;
    if (b->size > 0)
        memcpy(call->out->data, b->data, (size_t)b->size * (size_t)neap_dtype_bytes(b->dtype));
    return sparse_run(call, &work, run);
}

static int sample_call(const lazy_call *call, const neap_run *run) {
    sparse_work work = {.loop = loops_of(call->out->dtype)->sample, .whole_matrix = !ops_sparse_rise(&call->in[3])};
    work.whole.n = extent(&call->in[1], 1);
    if (call->out->size > 0)
        memset(call->out->data, 0, (size_t)call->out->size * (size_t)neap_dtype_bytes(call->out->dtype));
    return sparse_run(call, &work, run);
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */
static int check_places(const char *op, const lazy_call_desc *call, bool matrices) {
    const lazy_aval *in = call->in;
    const int lead = in[3].ndim - 1;
    bool fits = lead >= 0 && in[2].ndim == lead + 1 && in[1].ndim == lead + 2 && in[0].ndim == lead + 1 + matrices;
    for (int k = 0; fits && k < lead; k++)
        fits = in[0].shape[k] == in[3].shape[k] && in[1].shape[k] == in[3].shape[k] && in[2].shape[k] == in[3].shape[k];
    if (!fits || in[3].shape[lead] < 1)
        return neap_error(NEAP_E_SHAPE, "%s: the shapes of elements, indices and starts of rows do not fit", op);
    if (in[2].dtype != NEAP_DTYPE_I32 || in[3].dtype != NEAP_DTYPE_I32)
        return neap_error(NEAP_E_DTYPE, "%s: expected indices of dtype i32, got %s and %s", op,
                          neap_dtype_name(in[2].dtype), neap_dtype_name(in[3].dtype));
    if (in[0].dtype != in[1].dtype)
        return neap_error(NEAP_E_DTYPE, "%s: expected two operands of one dtype, got %s and %s", op,
                          neap_dtype_name(in[0].dtype), neap_dtype_name(in[1].dtype));
    return NEAP_OK;
}

static int sparse_product_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = call->in;
    if (call->nattrs != 2 || call->attrs[0] < 0 || call->attrs[0] > INT32_MAX)
        return neap_error(NEAP_E_ARGUMENT,
                          "sparse_product: expected a number of columns, and which side is multiplied");
    int status = check_places("sparse_product", call, false);
    if (status)
        return status;
    const int lead = in[3].ndim - 1;
    const int64_t rows = in[3].shape[lead] - 1, columns = call->attrs[0];
    const bool transposed = call->attrs[1] != 0;
    if (in[0].shape[lead] != in[2].shape[lead] || in[1].shape[lead] != (transposed ? rows : columns))
        return neap_error(NEAP_E_SHAPE,
                          "sparse_product: %lld elements with %lld indices, times %lld rows, of a matrix of shape "
                          "(%lld, %lld)",
                          (long long)in[0].shape[lead], (long long)in[2].shape[lead], (long long)in[1].shape[lead],
                          (long long)rows, (long long)columns);
    out->ndim = (uint8_t)(lead + 2);
    memcpy(out->shape, in[1].shape, (size_t)(lead + 2) * sizeof *out->shape);
    out->shape[lead] = transposed ? columns : rows;
    return NEAP_OK;
}

static int sparse_sample_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = call->in;
    int status = check_places("sparse_sample", call, true);
    if (status)
        return status;
    const int lead = in[3].ndim - 1;
    if (in[0].shape[lead] != in[3].shape[lead] - 1 || in[0].shape[lead + 1] != in[1].shape[lead + 1])
        return neap_error(NEAP_E_SHAPE, "sparse_sample: %lld and %lld columns, %lld rows for %lld starts of rows",
                          (long long)in[0].shape[lead + 1], (long long)in[1].shape[lead + 1],
                          (long long)in[0].shape[lead], (long long)in[3].shape[lead]);
    out->ndim = (uint8_t)(lead + 1);
    memcpy(out->shape, in[2].shape, (size_t)(lead + 1) * sizeof *out->shape);
    return NEAP_OK;
}

int ops_sparse_system_shape(const char *op, const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = call->in;
    int status = check_places(op, call, false);
    if (status)
        return status;
    const int lead = in[3].ndim - 1;
    if (in[0].shape[lead] != in[2].shape[lead] || in[1].shape[lead] != in[3].shape[lead] - 1)
        return neap_error(NEAP_E_SHAPE, "%s: %lld elements with %lld indices, %lld rows, a right side of %lld rows", op,
                          (long long)in[0].shape[lead], (long long)in[2].shape[lead], (long long)in[3].shape[lead] - 1,
                          (long long)in[1].shape[lead]);
    out->ndim = (uint8_t)(lead + 2);
    memcpy(out->shape, in[1].shape, (size_t)(lead + 2) * sizeof *out->shape);
    return NEAP_OK;
}

static int sparse_triangular_shape(const lazy_call_desc *call, lazy_result *out) {
    if (call->nattrs != 3)
        return neap_error(NEAP_E_ARGUMENT, "sparse_triangular: expected lower, transposed and unit");
    return ops_sparse_system_shape("sparse_triangular", call, out);
}

/* A multiplication and a sum for each stored element and column. */
static double sparse_flops(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return 2 * (double)call->in[2].size * (double)call->in[1].shape[call->in[1].ndim - 1];
}

static int64_t sparse_cost(const lazy_call_desc *call, const lazy_result *out) {
    return 300 + (int64_t)sparse_flops(call, out);
}

/* ---- Derivatives ------------------------------------------------------------------------------------------------- */
static neap_node *product_of(neap_ctx *ctx, const neap_node *node, neap_node *data, neap_node *dense, int64_t columns,
                             bool transposed) {
    neap_node *in[4] = {data, dense, graph_node_in(node, 2), graph_node_in(node, 3)};
    return data && dense ? graph_build(ctx, LAZY_OP_sparse_product, 4, in, 2, (int64_t[]){columns, transposed}) : NULL;
}

static neap_node *sample_of(neap_ctx *ctx, const neap_node *node, neap_node *left, neap_node *right) {
    neap_node *in[4] = {left, right, graph_node_in(node, 2), graph_node_in(node, 3)};
    return left && right ? graph_build(ctx, LAZY_OP_sparse_sample, 4, in, 0, NULL) : NULL;
}

/* Of y = A x: the elements of ȳ xᵀ at the places of A, and Aᵀ ȳ. Of y = Aᵀ x: those of x ȳᵀ, and A ȳ. */
static int sparse_product_grad(lazy_grad *g) {
    const int64_t columns = graph_node_attrs(g->node)[0];
    const bool transposed = graph_node_attrs(g->node)[1] != 0;
    if (g->wants[0])
        g->out[0] =
            transposed ? sample_of(g->ctx, g->node, INPUT(1), g->ct) : sample_of(g->ctx, g->node, g->ct, INPUT(1));
    if (g->wants[1])
        g->out[1] = product_of(g->ctx, g->node, INPUT(0), g->ct, columns, !transposed);
    g->wants[2] = g->wants[3] = false;
    return grad_done(g, 4);
}

static int sparse_product_jvp(lazy_tangent *g) {
    const int64_t columns = graph_node_attrs(g->node)[0];
    const bool transposed = graph_node_attrs(g->node)[1] != 0;
    if (!g->in[0] && !g->in[1])
        return NEAP_OK;
    neap_node *a = g->in[0] ? product_of(g->ctx, g->node, g->in[0], INPUT(1), columns, transposed) : NULL;
    neap_node *b = g->in[1] ? product_of(g->ctx, g->node, INPUT(0), g->in[1], columns, transposed) : NULL;
    if ((g->in[0] && !a) || (g->in[1] && !b))
        return NEAP_E_MEMORY;
    g->out = a && b ? BUILD2(add, a, b) : a ? a : b;
    return jvp_done(g);
}

/* Of d = sample(L, R): with the matrix D̄ of the places, L̄ = D̄ R and R̄ = D̄ᵀ L. */
static int sparse_sample_grad(lazy_grad *g) {
    const lazy_aval right = graph_node_aval(INPUT(1));
    const int64_t columns = right.shape[right.ndim - 2];
    if (g->wants[0])
        g->out[0] = product_of(g->ctx, g->node, g->ct, INPUT(1), columns, false);
    if (g->wants[1])
        g->out[1] = product_of(g->ctx, g->node, g->ct, INPUT(0), columns, true);
    g->wants[2] = g->wants[3] = false;
    return grad_done(g, 4);
}

static int sparse_sample_jvp(lazy_tangent *g) {
    if (!g->in[0] && !g->in[1])
        return NEAP_OK;
    neap_node *a = g->in[0] ? sample_of(g->ctx, g->node, g->in[0], INPUT(1)) : NULL;
    neap_node *b = g->in[1] ? sample_of(g->ctx, g->node, INPUT(0), g->in[1]) : NULL;
    if ((g->in[0] && !a) || (g->in[1] && !b))
        return NEAP_E_MEMORY;
    g->out = a && b ? BUILD2(add, a, b) : a ? a : b;
    return jvp_done(g);
}

static neap_node *solve_of(neap_ctx *ctx, const neap_node *node, neap_node *b, bool transposed) {
    const int nattrs = graph_node_nattrs(node);
    int64_t own[3];
    memcpy(own, graph_node_attrs(node), (size_t)nattrs * sizeof *own);
    own[1] = transposed;
    neap_node *in[4] = {graph_node_in(node, 0), b, graph_node_in(node, 2), graph_node_in(node, 3)};
    return b ? graph_build(ctx, node->op, 4, in, nattrs, own) : NULL;
}

/* B̄ = A⁻ᵀ X̄, and -B̄ Xᵀ at the places of A; of the transposed system A⁻¹ X̄ and -X B̄ᵀ. */
int ops_sparse_system_grad(lazy_grad *g) {
    const bool transposed = graph_node_attrs(g->node)[1] != 0;
    neap_node *b = solve_of(g->ctx, g->node, g->ct, !transposed);
    if (g->wants[0]) {
        neap_node *minus = BUILD1(negative, b);
        g->out[0] = sample_of(g->ctx, g->node, transposed ? g->node : minus, transposed ? minus : g->node);
    }
    if (g->wants[1])
        g->out[1] = b;
    g->wants[2] = g->wants[3] = false;
    return grad_done(g, 4);
}

/* dX = A⁻¹ (dB - dA X) */
int ops_sparse_system_jvp(lazy_tangent *g) {
    const lazy_aval out = graph_node_aval(g->node);
    const bool transposed = graph_node_attrs(g->node)[1] != 0;
    neap_node *moved = g->in[1];
    if (!g->in[0] && !g->in[1])
        return NEAP_OK;
    if (g->in[0]) {
        neap_node *of_a = product_of(g->ctx, g->node, g->in[0], g->node, out.shape[out.ndim - 2], transposed);
        moved = g->in[1] ? BUILD2(subtract, g->in[1], of_a) : BUILD1(negative, of_a);
    }
    g->out = solve_of(g->ctx, g->node, moved, transposed);
    return jvp_done(g);
}

/* One matrix, dense ones (n, …, r, k): the examples are further columns of one product. */
int ops_sparse_columns_batch(lazy_batching *g) {
    if (g->batched[0] || g->batched[2] || g->batched[3])
        return derive_batch_leading(g);
    const lazy_aval one = graph_node_aval(INPUT(1)), out = graph_node_aval(g->node);
    const int n = one.ndim;
    int64_t shape[NEAP_MAX_DIMS + 1];
    neap_node *b = derive_batch_move(g, g->in[1], 0, n - 1);
    memcpy(shape, one.shape, (size_t)n * sizeof *shape);
    shape[n - 1] *= g->size;
    b = b ? graph_build_reshape(g->ctx, b, n, shape) : NULL;
    neap_node *in[4] = {g->in[0], b, g->in[2], g->in[3]};
    neap_node *product =
        b ? graph_build(g->ctx, g->node->op, 4, in, graph_node_nattrs(g->node), graph_node_attrs(g->node)) : NULL;
    shape[n - 2] = out.shape[n - 2];
    shape[n - 1] = g->size;
    shape[n] = out.shape[n - 1];
    g->out = derive_batch_move(g, product ? graph_build_reshape(g->ctx, product, n + 1, shape) : NULL, n - 1, 0);
    return derive_batch_done(g);
}

/* The columns of dense matrices stay divided; all else is needed whole. */
int ops_sparse_columns_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    shard_factor_keep(&f, g, 1, g->in[1].ndim - 1, g->out->ndim - 1);
    return shard_solve(g, &f, -1);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
NEAP_OP(
    sparse_product,
    .doc =
        "The product of a sparse matrix, or of its transpose, and a dense one: elements (…, s), dense (…, n, k) or "
        "(…, m, k), the column of each element (…, s) and where each row begins (…, m + 1), both i32, give (…, m, k), "
        "or (…, n, k) where `transposed` is 1; `columns` is n. Terms are added in the order of the elements; "
        "integers wrap around; columns out of range are left out.",
    .attrs = "columns transposed", .kind = LAZY_CALL, .arity = 4, .types = LAZY_NUMERIC | LAZY_COMPLEX,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1 | LAZY_RESIDUAL_IN2, .dtype = graph_dtype_same,
    .shape = sparse_product_shape, .call = product_call, .cost = sparse_cost, .flops = sparse_flops,
    .grad = sparse_product_grad, .jvp = sparse_product_jvp, .batch = ops_sparse_columns_batch,
    .shard = ops_sparse_columns_shard)

NEAP_OP(
    sparse_sample,
    .doc =
        "Elements of left · rightᵀ at the places of a sparse matrix: left (…, m, k), right (…, n, k), columns (…, s) "
        "and starts of rows (…, m + 1) as in sparse_product give (…, s). Products are added in the order of k; 0 "
        "where a column is out of range.",
    .kind = LAZY_CALL, .arity = 4, .types = LAZY_NUMERIC | LAZY_COMPLEX,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1 | LAZY_RESIDUAL_IN2, .dtype = graph_dtype_same,
    .shape = sparse_sample_shape, .call = sample_call, .cost = sparse_cost, .flops = sparse_flops,
    .grad = sparse_sample_grad, .jvp = sparse_sample_jvp, .batch = derive_batch_leading)

NEAP_OP(
    sparse_triangular,
    .doc =
        "X with A X = B for a sparse triangular matrix of n rows, Aᵀ X = B where `transposed` is 1: elements (…, s), "
        "B (…, n, k), columns (…, s) and starts of rows (…, n + 1) as in sparse_product. The upper triangle is not "
        "read where `lower` is 1, else the lower one, nor the diagonal where `unit` is 1: the derivative is right "
        "where elements that are not read are 0. A zero on the diagonal gives infinities and NaN.",
    .attrs = "lower transposed unit", .kind = LAZY_CALL, .arity = 4, .types = LAZY_INEXACT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN2 | LAZY_RESIDUAL_OUT, .dtype = graph_dtype_same,
    .shape = sparse_triangular_shape, .call = solve_call, .cost = sparse_cost, .flops = sparse_flops,
    .grad = ops_sparse_system_grad, .jvp = ops_sparse_system_jvp, .batch = ops_sparse_columns_batch,
    .shard = ops_sparse_columns_shard)
