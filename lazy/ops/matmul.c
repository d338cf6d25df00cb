/* matmul.c: products of matrices, batched. Everything else that contracts (dot, vectors, broadcast batches) is spelled
 * with views around this op. Floats are computed in tiles chosen from the shape alone (engine/libs/product.h), complex
 * numbers as floats;
 * integers and bools wrap around (bool: any of the products). */
#include <string.h>

#include "engine/device.h"
#include "engine/libs/product.h"
#include "lazy/derive/build.h"
#include "lazy/dtype/scalar.h"
#include "lazy/graph/graph.h"

static int matmul_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *a = &call->in[0], *b = &call->in[1];
    int n = a->ndim;
    bool fits = n >= 2 && b->ndim == n && a->shape[n - 1] == b->shape[n - 2];
    for (int k = 0; k < n - 2 && fits; k++)
        fits = a->shape[k] == b->shape[k];
    char left[256], right[256];
    if (!fits)
        return neap_error(NEAP_E_SHAPE, "matmul: shapes %s and %s do not fit",
                          graph_shape_text(a->ndim, a->shape, left, sizeof left),
                          graph_shape_text(b->ndim, b->shape, right, sizeof right));
    out->ndim = (uint8_t)n;
    memcpy(out->shape, a->shape, (size_t)n * sizeof *a->shape);
    out->shape[n - 1] = b->shape[n - 1];
    return 0;
}

/* A product and a sum for each pair of elements that meet. */
static double matmul_flops(const lazy_call_desc *call, const lazy_result *out) {
    double flops = 2 * (double)call->in[0].shape[call->in[0].ndim - 1];
    for (int a = 0; a < out->ndim; a++)
        flops *= (double)out->shape[a];
    return flops;
}

static int64_t matmul_cost(const lazy_call_desc *call, const lazy_result *out) {
    int64_t size = 1, k = call->in[0].shape[call->in[0].ndim - 1];
    for (int a = 0; a < out->ndim; a++)
        size *= out->shape[a];
    double flops = 2.0 * (double)size * (double)k;
    int kind = neap_dtype_kind(out->dtype);
    return 300 + (int64_t)(flops / (kind == 'f' ? 100 : kind == 'c' ? 25 : 20));
}

/* An operand as engine_gemm takes it: leading dimension and a transpose flag. False: its strides do not allow it. */
static bool stored_matrix(const lazy_tensor *t, int64_t *ld, bool *transposed) {
    int64_t rows = t->shape[t->ndim - 2], cols = t->shape[t->ndim - 1];
    int64_t rs = rows > 1 ? t->stride[t->ndim - 2] : (cols > 1 ? cols : 1);
    int64_t cs = cols > 1 ? t->stride[t->ndim - 1] : 1;
    if (rs > INT32_MAX || cs > INT32_MAX)
        return false; /* a BLAS counts in 32 bits */
    if (cs == 1 && rs >= (cols > 1 ? cols : 1)) {
        *transposed = false;
        *ld = rs;
        return true;
    }
    if (cols > 1 && rows <= 1) { /* one row with a stride: a column vector, transposed */
        *transposed = true;
        *ld = cs;
        return cs >= 1;
    }
    if (t->stride[t->ndim - 2] == 1 && cs >= rows) {
        *transposed = true;
        *ld = cs;
        return true;
    }
    return false;
}

/* Offset of batch b of a tensor: the axes before the last two, row-major. */
static int64_t batch_offset(const lazy_tensor *t, int64_t b) {
    int64_t at = 0;
    for (int k = t->ndim - 3; k >= 0; k--) {
        at += b % t->shape[k] * t->stride[k];
        b /= t->shape[k];
    }
    return at;
}

/* ---- Integers and bools ------------------------------------------------------------------------------------------ */
enum { INTEGER_ROWS = 32, INTEGER_WORK = 1 << 17 }; /* rows of a part; multiplications from which workers share them */

typedef struct integer_work {
    const lazy_call *call;
    void (*loop)(const engine_product *p);
    int64_t parts; /* of a matrix */
} integer_work;

static void integer_part(void *arg, int64_t index, const neap_run *run) {
    const integer_work *work = arg;
    const lazy_tensor *a = &work->call->in[0], *b = &work->call->in[1], *c = work->call->out;
    int n = a->ndim, bytes = neap_dtype_bytes(c->dtype);
    int64_t matrix = index / work->parts, row = index % work->parts * INTEGER_ROWS;
    engine_product p = {.m = a->shape[n - 2] - row < INTEGER_ROWS ? a->shape[n - 2] - row : INTEGER_ROWS,
                        .n = b->shape[n - 1],
                        .k = a->shape[n - 1],
                        .a_row = a->stride[n - 2],
                        .a_column = a->stride[n - 1],
                        .b_row = b->stride[n - 2],
                        .b_column = b->stride[n - 1],
                        .c_row = b->shape[n - 1]};
    p.a = (const char *)a->data + (batch_offset(a, matrix) + row * p.a_row) * bytes;
    p.b = (const char *)b->data + batch_offset(b, matrix) * bytes;
    p.c = (char *)c->data + (matrix * a->shape[n - 2] + row) * p.c_row * bytes;
    (void)run;
    work->loop(&p);
}

static int integer_matmul(const lazy_call *call, const neap_run *run) {
    int dtype = call->out->dtype, n = call->out->ndim;
    int loop = dtype == NEAP_DTYPE_BOOL ? 0 : 1 + __builtin_ctz((unsigned)neap_dtype_bytes(dtype));
    int64_t rows = call->out->shape[n - 2], one = call->out->shape[n - 1] * rows;
    if (one == 0)
        return NEAP_OK;
    integer_work work = {
        .call = call, .loop = engine_gemm_loops()->integers[loop], .parts = (rows + INTEGER_ROWS - 1) / INTEGER_ROWS};
    int64_t parts = work.parts * (call->out->size / one);
    double products = (double)call->out->size * (double)call->in[0].shape[n - 1];
    if (products >= INTEGER_WORK) {
        neap_parallel_for(run, parts, integer_part, &work);
    } else {
        for (int64_t k = 0; k < parts; k++)
            integer_part(&work, k, run);
    }
    return NEAP_OK;
}

/* ---- Floats and complex numbers ---------------------------------------------------------------------------------- */
/* Matrices of which one axis is contiguous, wherever those of a batch lie; of complex numbers the last one. */
static bool matmul_reads(const lazy_tensor *t) {
    int64_t ld;
    bool transposed;
    if (!dtype_is_inexact(t->dtype))
        return true;
    return stored_matrix(t, &ld, &transposed) && !(transposed && neap_dtype_kind(t->dtype) == 'c');
}

/* A complex product is one real product: rows of a, as they lie, are rows of twice as many real numbers, and each row
 * (x + iy, …) of b becomes two, (x, y, …) and (-y, x, …). So its bits are those of a real product with k twice as
 * large. */
typedef struct pairs_work {
    const lazy_tensor *b;
    void *to;
    bool f64;
} pairs_work;

enum { PAIRS_ROWS = 64 }; /* rows of b of a task */

#define PAIR_ROW(T)                                                                                                    \
    do {                                                                                                               \
        const T *from = (const T *)b->data + 2 * at;                                                                   \
        T *first = (T *)work->to + 4 * row * cols, *second = first + 2 * cols;                                         \
        for (int64_t j = 0; j < cols; j++) {                                                                           \
            const T x = from[2 * j * step], y = from[2 * j * step + 1];                                                \
            first[2 * j] = x, first[2 * j + 1] = y;                                                                    \
            second[2 * j] = -y, second[2 * j + 1] = x;                                                                 \
        }                                                                                                              \
    } while (0)

static void pair_rows(void *arg, int64_t task, const neap_run *run) {
    const pairs_work *work = arg;
    const lazy_tensor *b = work->b;
    const int64_t rows = b->shape[b->ndim - 2], cols = b->shape[b->ndim - 1], step = b->stride[b->ndim - 1];
    const int64_t all = b->size / cols, end = (task + 1) * PAIRS_ROWS < all ? (task + 1) * PAIRS_ROWS : all;
    (void)run;
    for (int64_t row = task * PAIRS_ROWS; row < end; row++) {
        const int64_t at = batch_offset(b, row / rows) + row % rows * b->stride[b->ndim - 2];
        if (work->f64)
            PAIR_ROW(double);
        else
            PAIR_ROW(float);
    }
}

/* Writes the pairs of b's rows; its matrices then lie one after another. */
static int pair_matrices(const lazy_tensor *b, bool f64, const neap_run *run, size_t bytes, void **pairs) {
    int status = neap_run_alloc(run, bytes, pairs);
    if (status)
        return status;
    pairs_work work = {.b = b, .to = *pairs, .f64 = f64};
    const int64_t rows = b->size / b->shape[b->ndim - 1], tasks = (rows + PAIRS_ROWS - 1) / PAIRS_ROWS;
    if (tasks > 1)
        neap_parallel_for(run, tasks, pair_rows, &work);
    else
        pair_rows(&work, 0, run);
    return NEAP_OK;
}

static int complex_matmul(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *a = &call->in[0], *b = &call->in[1];
    int n = call->out->ndim;
    int64_t rows = call->out->shape[n - 2], cols = call->out->shape[n - 1], k = a->shape[n - 1], ld;
    int64_t strides_a[NEAP_MAX_DIMS], strides_b[NEAP_MAX_DIMS], step = 4 * k * cols;
    bool transposed, f64 = dtype_of_part(call->out->dtype) == NEAP_DTYPE_F64;
    if (!stored_matrix(a, &ld, &transposed) || transposed)
        return neap_error(NEAP_E_INTERNAL, "matmul: an operand that cannot be taken as it lies");
    for (int d = n - 3; d >= 0; step *= call->out->shape[d--])
        strides_a[d] = 2 * a->stride[d], strides_b[d] = step;
    void *pairs = NULL;
    const size_t bytes = 2 * (size_t)b->size * (size_t)neap_dtype_bytes(b->dtype);
    int status = bytes ? pair_matrices(b, f64, run, bytes, &pairs) : NEAP_OK;
    if (status)
        return status;
    engine_gemm_args args = {.f64 = f64,
                             .m = rows,
                             .n = 2 * cols,
                             .k = 2 * k,
                             .a = a->data,
                             .b = pairs,
                             .c = call->out->data,
                             .lda = 2 * ld,
                             .ldb = 2 * cols,
                             .ldc = 2 * cols,
                             .batch_axes = n - 2,
                             .batch = call->out->shape,
                             .strides_a = strides_a,
                             .strides_b = strides_b,
                             .stride_c = 2 * rows * cols};
    status = engine_gemm(run, &args);
    if (pairs)
        neap_run_free(run, pairs, bytes);
    return status;
}

static int matmul_call(const lazy_call *call, const neap_run *run) {
    if (neap_dtype_kind(call->out->dtype) == 'c')
        return complex_matmul(call, run);
    if (neap_dtype_kind(call->out->dtype) != 'f')
        return integer_matmul(call, run);
    const lazy_tensor *in = call->in;
    int64_t ld[2];
    bool transposed[2];
    int n = call->out->ndim;
    for (int k = 0; k < 2; k++)
        if (!stored_matrix(&in[k], &ld[k], &transposed[k]))
            return neap_error(NEAP_E_INTERNAL, "matmul: an operand that cannot be taken as it lies");
    int64_t rows = call->out->shape[n - 2], cols = call->out->shape[n - 1];
    _Static_assert(NEAP_DTYPE_REALS == 2, "products are of f32 and f64");
    engine_gemm_args args = {.f64 = call->out->dtype == NEAP_DTYPE_F64,
                             .m = rows,
                             .n = cols,
                             .k = in[0].shape[n - 1],
                             .a = in[0].data,
                             .b = in[1].data,
                             .c = call->out->data,
                             .lda = ld[0],
                             .ldb = ld[1],
                             .ldc = cols,
                             .transpose_a = transposed[0],
                             .transpose_b = transposed[1],
                             .batch_axes = n - 2,
                             .batch = call->out->shape,
                             .strides_a = in[0].stride,
                             .strides_b = in[1].stride,
                             .stride_c = rows * cols};
    return engine_gemm(run, &args);
}

/* A matrix by a vector. */
static bool matmul_intrinsic(const lazy_call *call, lazy_intrinsic *out) {
    const lazy_tensor *a = &call->in[0], *b = &call->in[1], *c = call->out;
    const int n = c->ndim;
    const bool row = c->shape[n - 1] > 1; /* a row by a matrix: that, transposed, by the row */
    const int64_t left = a->stride[n - 1], right = b->stride[n - 2];
    *out = (lazy_intrinsic){.what = LAZY_INTRINSIC_DOT, .inner = a->shape[n - 1], .size = c->size, .matrix = row};
    out->step = row ? b->stride[n - 1] : a->stride[n - 2];
    out->apart = row ? right : left;
    return neap_dtype_kind(c->dtype) == 'f' && c->size == (row ? c->shape[n - 1] : c->shape[n - 2]) &&
           (row ? left : right) == 1 && (out->apart == 1 || out->step == 1);
}

static const char *matmul_routine(const lazy_call *call, neap_routine *out) {
    const lazy_tensor *a = &call->in[0], *b = &call->in[1], *c = call->out;
    const int n = c->ndim;
    neap_product p = {.m = c->shape[n - 2], .n = c->shape[n - 1], .k = a->shape[n - 1]};
    if (!dtype_is_inexact(c->dtype))
        return "libraries of GPUs multiply no matrices of integers and bools";
    if (!stored_matrix(a, &p.lda, &p.transpose_a) || !stored_matrix(b, &p.ldb, &p.transpose_b))
        return "an operand has strides that libraries do not take";
    p.a = a->data, p.b = b->data, p.c = c->data;
    p.ldc = p.n;
    p.batch_axes = n - 2;
    p.batch = c->shape;
    p.strides_a = a->stride, p.strides_b = b->stride;
    p.stride_c = p.m * p.n;
    *out = (neap_routine){.what = NEAP_ROUTINE_PRODUCT,
                          .half = dtype_half(a->dtype),
                          .rounds = dtype_is_half(c->dtype),
                          .f64 = dtype_of_part(c->dtype) == NEAP_DTYPE_F64,
                          .complex = neap_dtype_kind(c->dtype) == 'c',
                          .product = p};
    return NULL;
}

static neap_node *transposed_last(lazy_grad *g, neap_node *node) {
    lazy_aval aval = graph_node_aval(node);
    int64_t perm[NEAP_MAX_DIMS];
    for (int k = 0; k < aval.ndim; k++)
        perm[k] = k < aval.ndim - 2 ? k : 2 * aval.ndim - 3 - k;
    return graph_build(g->ctx, LAZY_OP_transpose, 1, &node, aval.ndim, perm);
}

static int matmul_grad(lazy_grad *g) {
    if (g->wants[0])
        g->out[0] = BUILD2(matmul2, g->ct, transposed_last(g, INPUT(1)));
    if (g->wants[1])
        g->out[1] = BUILD2(matmul2, transposed_last(g, INPUT(0)), g->ct);
    return grad_done(g, 2);
}

static int matmul_jvp(lazy_tangent *g) {
    neap_node *left = g->in[0] ? BUILD2(matmul2, g->in[0], INPUT(1)) : NULL;
    neap_node *right = g->in[1] ? BUILD2(matmul2, INPUT(0), g->in[1]) : NULL;
    if ((g->in[0] && !left) || (g->in[1] && !right))
        return NEAP_E_MEMORY;
    g->out = left && right ? BUILD2(add, left, right) : left ? left : right;
    return jvp_done(g);
}

/* Left operands (n, …, r, k), one right operand (…, k, c): the examples are further rows of one product. */
static neap_node *left_batch(lazy_batching *g, neap_node *a, neap_node *b) {
    lazy_aval one = graph_node_aval(INPUT(0)), out = graph_node_aval(g->node);
    int n = one.ndim;
    int64_t shape[NEAP_MAX_DIMS + 1];
    a = derive_batch_move(g, a, 0, n - 2);
    memcpy(shape, one.shape, (size_t)n * sizeof *shape);
    shape[n - 2] *= g->size;
    neap_node *product = BUILD2(matmul2, a ? graph_build_reshape(g->ctx, a, n, shape) : NULL, b);
    shape[n - 2] = g->size;
    shape[n - 1] = out.shape[n - 2];
    shape[n] = out.shape[n - 1];
    return derive_batch_move(g, product ? graph_build_reshape(g->ctx, product, n + 1, shape) : NULL, n - 2, 0);
}

/* One left operand (…, r, k), right operands (n, …, k, c): the examples are further columns of one product. */
static neap_node *right_batch(lazy_batching *g, neap_node *a, neap_node *b) {
    lazy_aval one = graph_node_aval(INPUT(1)), out = graph_node_aval(g->node);
    int n = one.ndim;
    int64_t shape[NEAP_MAX_DIMS + 1];
    b = derive_batch_move(g, b, 0, n - 1);
    memcpy(shape, one.shape, (size_t)n * sizeof *shape);
    shape[n - 1] *= g->size;
    neap_node *product = BUILD2(matmul2, a, b ? graph_build_reshape(g->ctx, b, n, shape) : NULL);
    shape[n - 2] = out.shape[n - 2];
    shape[n - 1] = g->size;
    shape[n] = out.shape[n - 1];
    return derive_batch_move(g, product ? graph_build_reshape(g->ctx, product, n + 1, shape) : NULL, n - 1, 0);
}

/* An operand that all examples share is not copied for each. Where the others do not lie side by side, as columns of
 * several each, the shared matrix is read again for each example, which costs no copy either. */
static int matmul_batch(lazy_batching *g) {
    lazy_aval out = graph_node_aval(g->node);
    bool columns = out.ndim == 2 && out.shape[1] > 1;
    if (!g->batched[1])
        g->out = left_batch(g, g->in[0], g->in[1]);
    else if (!g->batched[0] && !columns)
        g->out = right_batch(g, g->in[0], g->in[1]);
    else
        g->out = BUILD2(matmul2, derive_batch_all(g, 0), g->in[1]);
    return derive_batch_done(g);
}

/* The batch, rows of the left and columns of the right operand stay divided; where k is, products of the parts are
 * added. */
static int matmul_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    int n = g->out->ndim;
    for (int axis = 0; axis < n - 2; axis++) {
        shard_factor_keep(&f, g, 0, axis, axis);
        shard_factor_axis(&f, 1, axis, f.n - 1);
    }
    shard_factor_keep(&f, g, 0, n - 2, n - 2);
    shard_factor_keep(&f, g, 1, n - 1, n - 1);
    int inner = shard_factor_new(&f, g->in[0].shape[n - 1]);
    shard_factor_axis(&f, 0, n - 1, inner);
    shard_factor_axis(&f, 1, n - 2, inner);
    return shard_solve(g, &f, g->out->dtype == NEAP_DTYPE_BOOL ? LAZY_OP_maximum : LAZY_OP_add);
}

/* Small products are our own on every processor. */
static const char *matmul_library(const lazy_call *call) {
    int dtype = call->out->dtype;
    return (dtype == NEAP_DTYPE_F32 || dtype == NEAP_DTYPE_F64) && !engine_gemm_loops()->fused ? "BLAS" : NULL;
}

NEAP_OP(
    matmul2,
    .doc =
        "Products of matrices: (…, m, k) times (…, k, n) with equal leading axes gives (…, m, n). Terms are added in "
        "an order that follows from k alone; integers wrap around.",
    .kind = LAZY_CALL, .arity = 2, .types = LAZY_ALL, .flags = LAZY_OP_HIDDEN | LAZY_OP_SPLITS | LAZY_OP_HALVES,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .dtype = graph_dtype_promote, .shape = matmul_shape,
    .call = matmul_call, .intrinsic = matmul_intrinsic, .library = matmul_library, .routine = matmul_routine,
    .reads = matmul_reads, .cost = matmul_cost, .flops = matmul_flops, .undone = LAZY_UNDONE_FACTORS,
    .grad = matmul_grad, .jvp = matmul_jvp, .batch = matmul_batch, .shard = matmul_shard)
