/* matrix.c: what the rows of linear algebra share (matrix.h). */
#include "lazy/ops/matrix.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "engine/device.h"
#include "engine/libs/blas.h"
#include "engine/libs/factor.h"
#include "lazy/dtype/scalar.h"
#include "lazy/graph/graph.h"
#include "ops_gen.h"

enum { PARALLEL_COST = 20000 }; /* estimated ns of a batch from which other workers are asked */

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */
int ops_matrix_check(const char *op, const lazy_aval *a) {
    char text[256];
    if (a->ndim < 2)
        return neap_error(NEAP_E_SHAPE, "%s: expected matrices (at least 2 axes), got shape %s", op,
                          graph_shape_text(a->ndim, a->shape, text, sizeof text));
    int64_t m = ops_matrix_rows(a), n = ops_matrix_columns(a);
    if (m >= INT_MAX || n >= INT_MAX || (m && n > (INT64_MAX >> 8) / m))
        return neap_error(NEAP_E_SHAPE, "%s: expected matrices of fewer than 2^31 rows and columns, got shape %s", op,
                          graph_shape_text(a->ndim, a->shape, text, sizeof text));
    return NEAP_OK;
}

int ops_matrix_check_square(const char *op, const lazy_aval *a) {
    int status = ops_matrix_check(op, a);
    char text[256];
    if (status == 0 && ops_matrix_rows(a) != ops_matrix_columns(a))
        return neap_error(NEAP_E_SHAPE, "%s: expected square matrices, got shape %s", op,
                          graph_shape_text(a->ndim, a->shape, text, sizeof text));
    return status;
}

int ops_matrix_check_batch(const char *op, const lazy_aval *a, const lazy_aval *b) {
    char left[256], right[256];
    if (a->ndim != b->ndim || memcmp(a->shape, b->shape, (size_t)(a->ndim - 2) * sizeof *a->shape) != 0)
        return neap_error(NEAP_E_SHAPE, "%s: expected equal axes before the last two, got shapes %s and %s", op,
                          graph_shape_text(a->ndim, a->shape, left, sizeof left),
                          graph_shape_text(b->ndim, b->shape, right, sizeof right));
    return NEAP_OK;
}

int ops_matrix_batch_shape(const lazy_aval *a, lazy_result *out) {
    memcpy(out->shape, a->shape, (size_t)(a->ndim - 2) * sizeof *a->shape);
    out->ndim = (uint8_t)(a->ndim - 2);
    return out->ndim;
}

int ops_matrix_check_attrs(const char *op, const lazy_call_desc *call, int count) {
    if (call->nattrs != count)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected %d attributes, got %d", op, count, call->nattrs);
    return NEAP_OK;
}

static int64_t batches_of(int ndim, const int64_t *shape) {
    int64_t count = 1;
    for (int k = 0; k < ndim - 2; k++)
        count *= shape[k];
    return count;
}

int64_t ops_matrix_cost(const lazy_aval *a, double flops) {
    double cost = (500 + flops / 5) * (double)batches_of(a->ndim, a->shape);
    return cost < 1e15 ? (int64_t)cost : (int64_t)1e15;
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */
typedef struct batch {
    lazy_matrices x;
    int (*one)(const lazy_matrices *x, int64_t index, const neap_run *run);
} batch;

static void run_one_matrix(void *arg, int64_t index, const neap_run *run) {
    batch *b = arg;
    bool alone = false;
    int status = b->x.lapack ? engine_blas_enter(&alone) : NEAP_OK;
    if (status == NEAP_OK) {
        status = b->one(&b->x, index, run);
        if (b->x.lapack)
            engine_blas_leave(alone);
    }
    if (status)
        atomic_store(&b->x.failed, status);
}

static int run_matrices(const lazy_call *call, const neap_run *run, bool own,
                        int (*one)(const lazy_matrices *x, int64_t index, const neap_run *run)) {
    const lazy_tensor *a = &call->in[0];
    batch b = {.one = one};
    b.x.call = call;
    _Static_assert(NEAP_DTYPE_REALS == 2, "LAPACK has f32 and f64");
    b.x.f64 = dtype_of_part(call->out->dtype) == NEAP_DTYPE_F64;
    b.x.complex = neap_dtype_kind(call->out->dtype) == 'c';
    b.x.item = (size_t)neap_dtype_bytes(call->out->dtype);
    b.x.m = (int)a->shape[a->ndim - 2];
    b.x.n = (int)a->shape[a->ndim - 1];
    own = own && !b.x.complex && engine_factor_pays(b.x.n);
    int status = own ? NEAP_OK : engine_lapack_get(b.x.f64, b.x.complex, &b.x.lapack);
    int64_t batches = batches_of(a->ndim, a->shape);
    if (status || call->out->size == 0)
        return status;
    if ((double)batches * b.x.m * b.x.n < PARALLEL_COST) {
        for (int64_t k = 0; k < batches; k++)
            run_one_matrix(&b, k, run);
    } else {
        neap_parallel_for(run, batches, run_one_matrix, &b);
    }
    status = atomic_load(&b.x.failed);
    return status ? neap_error(status, "%s: no memory for a factorization", call->op->name) : NEAP_OK;
}

int ops_matrix_each(const lazy_call *call, const neap_run *run,
                    int (*one)(const lazy_matrices *x, int64_t index, const neap_run *run)) {
    return run_matrices(call, run, false, one);
}

int ops_matrix_each_own(const lazy_call *call, const neap_run *run,
                        int (*one)(const lazy_matrices *x, int64_t index, const neap_run *run)) {
    return run_matrices(call, run, true, one);
}

const char *ops_matrix_factor(const lazy_call *call, neap_factor_kind kind, neap_routine *out) {
    const lazy_tensor *a = call->in, *result = call->out;
    neap_factor f = {.kind = kind, .batch = 1, .a = a->data, .out = result->data};
    f.m = a->shape[a->ndim - 2];
    f.n = a->shape[a->ndim - 1];
    for (int k = 0; k < a->ndim - 2; k++)
        f.batch *= a->shape[k];
    *out = (neap_routine){.what = NEAP_ROUTINE_FACTOR,
                          .f64 = dtype_of_part(result->dtype) == NEAP_DTYPE_F64,
                          .complex = neap_dtype_kind(result->dtype) == 'c',
                          .factor = f};
    return f.m && f.n ? NULL : "matrices without elements are not for libraries";
}

const char *ops_matrix_library(const lazy_call *call) {
    (void)call;
    return "LAPACK";
}

const char *ops_matrix_library_of_complex(const lazy_call *call) {
    const lazy_tensor *a = &call->in[0];
    const bool own = neap_dtype_kind(call->out->dtype) != 'c' && engine_factor_pays(a->shape[a->ndim - 1]);
    return own ? NULL : "LAPACK";
}

void *ops_matrix_take_scratch(ops_matrix_scratch *scratch, const neap_run *run, size_t bytes) {
    scratch->more = NULL;
    scratch->bytes = bytes;
    if (bytes <= sizeof scratch->few)
        return scratch->few;
    return neap_run_alloc(run, bytes, &scratch->more) == NEAP_OK ? scratch->more : NULL;
}

void ops_matrix_give_scratch(ops_matrix_scratch *scratch, const neap_run *run) {
    if (scratch->more)
        neap_run_free(run, scratch->more, scratch->bytes);
}

void *ops_matrix_at(const lazy_matrices *x, const lazy_tensor *t, int64_t index, int64_t elements) {
    return (char *)t->data + (size_t)(index * elements) * x->item;
}

/* In blocks, for the caches' sake: within one, stores follow each other. */
#define DEFINE_COPY_TRANSPOSED(name, type)                                                                             \
    static void name(type *restrict to, const type *restrict from, int64_t rows, int64_t columns, int64_t stride) {    \
        enum { BLOCK = 16 };                                                                                           \
        for (int64_t i0 = 0; i0 < rows; i0 += BLOCK) {                                                                 \
            int64_t i1 = i0 + BLOCK < rows ? i0 + BLOCK : rows;                                                        \
            for (int64_t j = 0; j < columns; j++)                                                                      \
                for (int64_t i = i0; i < i1; i++)                                                                      \
                    to[j * rows + i] = from[i * stride + j];                                                           \
        }                                                                                                              \
    }
DEFINE_COPY_TRANSPOSED(copy_transposed_f32, float)
DEFINE_COPY_TRANSPOSED(copy_transposed_f64, double)
DEFINE_COPY_TRANSPOSED(copy_transposed_c64, float _Complex)
DEFINE_COPY_TRANSPOSED(copy_transposed_c128, double _Complex)
#undef DEFINE_COPY_TRANSPOSED

void ops_matrix_copy_transposed(const lazy_matrices *x, void *to, const void *from, int64_t rows, int64_t columns,
                                int64_t stride) {
    if (x->complex && x->f64)
        copy_transposed_c128(to, from, rows, columns, stride);
    else if (x->complex)
        copy_transposed_c64(to, from, rows, columns, stride);
    else if (x->f64)
        copy_transposed_f64(to, from, rows, columns, stride);
    else
        copy_transposed_f32(to, from, rows, columns, stride);
}

bool ops_matrix_is_finite(const lazy_matrices *x, const void *from, int64_t n) {
    for (int64_t k = 0; k < n << x->complex; k++)
        if (!isfinite(x->f64 ? ((const double *)from)[k] : (double)((const float *)from)[k]))
            return false;
    return true;
}

int ops_matrix_work_size(const lazy_matrices *x, const void *answer) {
    double size = ops_matrix_get(x, answer, 0) * (1 + 1e-6) + 1;
    return size < INT_MAX ? (int)size : INT_MAX;
}

void ops_matrix_fill(const lazy_matrices *x, void *to, int64_t n, double value) {
    for (int64_t k = 0; k < n; k++)
        ops_matrix_set(x, to, k, value);
}

void ops_matrix_unit(const lazy_matrices *x, void *to, int64_t n) {
    memset(to, 0, (size_t)(n * n) * x->item);
    for (int64_t k = 0; k < n; k++)
        ops_matrix_set(x, to, k * n + k, 1);
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */
neap_node *ops_matrix_transpose(neap_ctx *ctx, neap_node *a) {
    if (!a)
        return NULL;
    int ndim = graph_node_aval(a).ndim;
    int64_t order[NEAP_MAX_DIMS];
    for (int k = 0; k < ndim; k++)
        order[k] = k < ndim - 2 ? k : 2 * ndim - 3 - k;
    return graph_build(ctx, LAZY_OP_transpose, 1, &a, ndim, order);
}

neap_node *ops_matrix_conj(neap_ctx *ctx, neap_node *a) {
    return a && neap_dtype_kind(graph_node_aval(a).dtype) == 'c' ? graph_build1(ctx, LAZY_OP_conj, a) : a;
}

neap_node *ops_matrix_adjoint(neap_ctx *ctx, neap_node *a) {
    return ops_matrix_conj(ctx, ops_matrix_transpose(ctx, a));
}

neap_node *ops_matrix_product(neap_ctx *ctx, neap_node *a, neap_node *b) {
    return graph_build2(ctx, LAZY_OP_matmul2, a, b);
}

neap_node *ops_matrix_minus(neap_ctx *ctx, neap_node *a, neap_node *b) {
    return graph_build2(ctx, LAZY_OP_subtract, a, b);
}

neap_node *ops_matrix_negative(neap_ctx *ctx, neap_node *a) {
    return graph_build1(ctx, LAZY_OP_negative, a);
}

/* Row numbers plus `more` as a column, column numbers as a row. */
static neap_node *numbers(neap_ctx *ctx, int64_t n, bool column, int64_t more) {
    neap_node *i = graph_build(ctx, LAZY_OP_iota, 0, NULL, 2, (int64_t[]){n, NEAP_DTYPE_I32});
    if (more)
        i = graph_build2(ctx, LAZY_OP_add, i, graph_build_number(ctx, (double)more));
    return i ? graph_build_reshape(ctx, i, 2, (int64_t[]){column ? n : 1, column ? 1 : n}) : NULL;
}

static neap_node *triangle(neap_ctx *ctx, neap_node *a, int k, int compare) {
    if (!a)
        return NULL;
    lazy_aval of = graph_node_aval(a);
    neap_node *inside = graph_build2(ctx, compare, numbers(ctx, ops_matrix_rows(&of), true, k),
                                     numbers(ctx, ops_matrix_columns(&of), false, 0));
    return graph_build3(ctx, LAZY_OP_where, inside, a, graph_build_number(ctx, 0));
}

neap_node *ops_matrix_lower(neap_ctx *ctx, neap_node *a, int k) {
    return triangle(ctx, a, k, LAZY_OP_greater_equal);
}

neap_node *ops_matrix_upper(neap_ctx *ctx, neap_node *a, int k) {
    return triangle(ctx, a, k, LAZY_OP_less_equal);
}

neap_node *ops_matrix_diagonal_or(neap_ctx *ctx, neap_node *a, neap_node *b, int64_t n) {
    neap_node *on = graph_build2(ctx, LAZY_OP_equal, numbers(ctx, n, true, 0), numbers(ctx, n, false, 0));
    return graph_build3(ctx, LAZY_OP_where, on, a, b);
}

neap_node *ops_matrix_eye(neap_ctx *ctx, neap_node *like, int64_t n) {
    if (!like)
        return NULL;
    lazy_aval of = graph_node_aval(like);
    int64_t shape[NEAP_MAX_DIMS];
    memcpy(shape, of.shape, (size_t)of.ndim * sizeof *shape);
    shape[of.ndim - 2] = shape[of.ndim - 1] = n;
    neap_node *one = graph_build_cast(ctx, graph_build_number(ctx, 1), of.dtype);
    neap_node *eye = ops_matrix_diagonal_or(ctx, one, graph_build_number(ctx, 0), n);
    return eye ? graph_build_broadcast(ctx, eye, of.ndim, shape) : NULL;
}

/* x with axes of extent 1 before (`row`) or after its last axis, or both after all axes (`scalar`). */
static neap_node *widen_matrix(neap_ctx *ctx, neap_node *x, bool scalar, bool row) {
    if (!x)
        return NULL;
    lazy_aval of = graph_node_aval(x);
    int64_t shape[NEAP_MAX_DIMS + 2];
    int ndim = of.ndim;
    memcpy(shape, of.shape, (size_t)ndim * sizeof *shape);
    if (scalar) {
        shape[ndim++] = 1;
        shape[ndim++] = 1;
    } else {
        int64_t n = shape[ndim - 1];
        shape[ndim - 1] = row ? 1 : n;
        shape[ndim++] = row ? n : 1;
    }
    return graph_build_reshape(ctx, x, ndim, shape);
}

neap_node *ops_matrix_scalar(neap_ctx *ctx, neap_node *x) {
    return widen_matrix(ctx, x, true, false);
}

neap_node *ops_matrix_column(neap_ctx *ctx, neap_node *x) {
    return widen_matrix(ctx, x, false, false);
}

neap_node *ops_matrix_row(neap_ctx *ctx, neap_node *x) {
    return widen_matrix(ctx, x, false, true);
}

neap_node *ops_matrix_diagonal(neap_ctx *ctx, neap_node *a) {
    if (!a)
        return NULL;
    lazy_aval of = graph_node_aval(a);
    int64_t n = ops_matrix_columns(&of);
    neap_node *on = ops_matrix_diagonal_or(ctx, a, graph_build_number(ctx, 0), n);
    return graph_build(ctx, LAZY_OP_sum, 1, &on, 2, (int64_t[]){(int64_t)1 << (of.ndim - 2), 0});
}

neap_node *ops_matrix_cut(neap_ctx *ctx, neap_node *x, int axis, int64_t from, int64_t count) {
    if (!x)
        return NULL;
    lazy_aval of = graph_node_aval(x);
    int64_t slice[3 * NEAP_MAX_DIMS];
    for (int k = 0; k < of.ndim; k++) {
        bool cut = k == of.ndim + axis;
        slice[3 * k] = cut && count ? from : 0;
        slice[3 * k + 1] = 1;
        slice[3 * k + 2] = cut ? count : of.shape[k];
    }
    return graph_build(ctx, LAZY_OP_slice, 1, &x, 3 * of.ndim, slice);
}

neap_node *ops_matrix_part(neap_ctx *ctx, neap_node *x, int64_t from, int64_t rows, int64_t columns) {
    x = ops_matrix_cut(ctx, x, -1, from, rows * columns);
    if (!x)
        return NULL;
    lazy_aval of = graph_node_aval(x);
    int64_t shape[NEAP_MAX_DIMS + 1];
    memcpy(shape, of.shape, (size_t)of.ndim * sizeof *shape);
    shape[of.ndim - 1] = rows;
    shape[of.ndim] = columns;
    return graph_build_reshape(ctx, x, of.ndim + 1, shape);
}

neap_node *ops_matrix_join(neap_ctx *ctx, int axis, int n, neap_node *const *parts) {
    return graph_build(ctx, LAZY_OP_concatenate, n, parts, 1, (int64_t[]){axis});
}

neap_node *ops_matrix_pack(neap_ctx *ctx, int n, neap_node *const *parts) {
    neap_node *flat[4];
    for (int k = 0; k < n; k++) {
        if (!parts[k])
            return NULL;
        lazy_aval of = graph_node_aval(parts[k]);
        int64_t shape[NEAP_MAX_DIMS];
        memcpy(shape, of.shape, (size_t)of.ndim * sizeof *shape);
        shape[of.ndim - 2] *= shape[of.ndim - 1];
        flat[k] = graph_build_reshape(ctx, parts[k], of.ndim - 1, shape);
    }
    return ops_matrix_join(ctx, -1, n, flat);
}

neap_node *ops_matrix_solve_triangular(neap_ctx *ctx, neap_node *a, neap_node *b, bool lower, bool transposed) {
    return graph_build(ctx, LAZY_OP_triangular_solve, 2, (neap_node *[]){a, b}, 3, (int64_t[]){lower, transposed, 0});
}

/* b, but 1 where it is 0; *is_zero says where. */
static neap_node *without_zeros(neap_ctx *ctx, neap_node *b, neap_node **is_zero) {
    *is_zero = graph_build2(ctx, LAZY_OP_equal, b, graph_build_number(ctx, 0));
    return graph_build3(ctx, LAZY_OP_where, *is_zero, graph_build_number(ctx, 1), b);
}

neap_node *ops_matrix_reciprocal(neap_ctx *ctx, neap_node *a) {
    neap_node *is_zero, *safe = without_zeros(ctx, a, &is_zero), *zero = graph_build_number(ctx, 0);
    neap_node *over = graph_build2(ctx, LAZY_OP_divide, graph_build_number(ctx, 1), safe);
    return graph_build3(ctx, LAZY_OP_where, is_zero, zero, over);
}

neap_node *ops_matrix_quotient(neap_ctx *ctx, neap_node *a, neap_node *b) {
    neap_node *is_zero, *safe = without_zeros(ctx, b, &is_zero), *zero = graph_build_number(ctx, 0);
    neap_node *rest =
        graph_build3(ctx, LAZY_OP_where, graph_build2(ctx, LAZY_OP_equal, a, zero), zero, graph_build_number(ctx, NAN));
    return graph_build3(ctx, LAZY_OP_where, is_zero, rest, graph_build2(ctx, LAZY_OP_divide, a, safe));
}
