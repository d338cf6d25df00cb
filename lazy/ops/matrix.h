/* matrix.h: what the rows of linear algebra share: checks of shapes, a loop over a batch of matrices, and short names
 * for building nodes that are matrices. A matrix is the last two axes of an array; the axes before them are its
 * batch. */
#ifndef LAZY_OPS_MATRIX_H
#define LAZY_OPS_MATRIX_H

#include <string.h>

#include "engine/libs/lapack.h"
#include "lazy/op.h"

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */
/* At least two axes, and extents that LAPACK can count. Errors name the op and what was given. */
int ops_matrix_check(const char *op, const lazy_aval *a);
int ops_matrix_check_square(const char *op, const lazy_aval *a);
/* b has the batch axes of a. */
int ops_matrix_check_batch(const char *op, const lazy_aval *a, const lazy_aval *b);
/* The batch axes of a as the first axes of the result; returns their number. */
int ops_matrix_batch_shape(const lazy_aval *a, lazy_result *out);
int ops_matrix_check_attrs(const char *op, const lazy_call_desc *call, int count);
static inline int64_t ops_matrix_rows(const lazy_aval *a) {
    return a->shape[a->ndim - 2];
}
static inline int64_t ops_matrix_columns(const lazy_aval *a) {
    return a->shape[a->ndim - 1];
}
/* Estimated ns of `flops` for each matrix of a batch. */
int64_t ops_matrix_cost(const lazy_aval *a, double flops);

/* ---- Work -------------------------------------------------------------------------------------------------------- */
typedef struct lazy_matrices { /* one call over a batch */
    const lazy_call *call;
    const engine_lapack *lapack; /* NULL: these matrices are for engine/libs/factor.h */
    bool f64, complex;           /* f64: its parts are */
    size_t item;                 /* bytes of an element */
    int m, n;                    /* rows and columns of the first input */
    _Atomic int failed;
} lazy_matrices;

/* Runs `one` for each matrix of the first input; on the workers where that pays. A status that it returns fails the
 * call. */
int ops_matrix_each(const lazy_call *call, const neap_run *run,
                    int (*one)(const lazy_matrices *x, int64_t index, const neap_run *run));
/* The same of ops that need LAPACK only for matrices that engine/libs/factor.h is not for, complex ones above all. */
int ops_matrix_each_own(const lazy_call *call, const neap_run *run,
                        int (*one)(const lazy_matrices *x, int64_t index, const neap_run *run));
/* lazy_op.routine of factorizations: fills `out` for all matrices of the first input. */
const char *ops_matrix_factor(const lazy_call *call, neap_factor_kind kind, neap_routine *out);
/* lazy_op.library of such a call. */
const char *ops_matrix_library(const lazy_call *call);
/* The same with ops_matrix_each_own. */
const char *ops_matrix_library_of_complex(const lazy_call *call);
/* Memory for the work of one matrix: on the stack where that is enough, since a batch may be of many small ones. NULL:
 * there is none. Aligned as a double. */
typedef struct ops_matrix_scratch {
    double few[128];
    void *more;
    size_t bytes;
} ops_matrix_scratch;
void *ops_matrix_take_scratch(ops_matrix_scratch *scratch, const neap_run *run, size_t bytes);
void ops_matrix_give_scratch(ops_matrix_scratch *scratch, const neap_run *run);
/* Where part `index` of a tensor begins, each part having `elements`. */
void *ops_matrix_at(const lazy_matrices *x, const lazy_tensor *t, int64_t index, int64_t elements);
/* to[j][i] = from[i][j] for i < rows, j < columns; `to` is contiguous, rows of `from` are `stride` elements apart. */
void ops_matrix_copy_transposed(const lazy_matrices *x, void *to, const void *from, int64_t rows, int64_t columns,
                                int64_t stride);
bool ops_matrix_is_finite(const lazy_matrices *x, const void *from, int64_t n);
/* The number that a query for work space answered; f32 may have rounded it. */
int ops_matrix_work_size(const lazy_matrices *x, const void *answer);
void ops_matrix_fill(const lazy_matrices *x, void *to, int64_t n, double value);
/* A unit matrix of n rows. */
void ops_matrix_unit(const lazy_matrices *x, void *to, int64_t n);
/* Element k, of complex ones the real part; and written as a real number. */
static inline double ops_matrix_get(const lazy_matrices *x, const void *from, int64_t k) {
    k <<= x->complex;
    return x->f64 ? ((const double *)from)[k] : (double)((const float *)from)[k];
}
static inline void ops_matrix_set(const lazy_matrices *x, void *to, int64_t k, double value) {
    if (x->complex)
        memset((char *)to + (size_t)k * x->item, 0, x->item);
    k <<= x->complex;
    if (x->f64) {
        ((double *)to)[k] = value;
    } else {
        ((float *)to)[k] = (float)value;
    }
}

/* ---- Nodes; a NULL operand gives NULL, results are BORROWED as those of graph_build ------------------------------ */
neap_node *ops_matrix_transpose(neap_ctx *ctx, neap_node *a);
/* The complex conjugate; of real matrices themselves. */
neap_node *ops_matrix_conj(neap_ctx *ctx, neap_node *a);
neap_node *ops_matrix_adjoint(neap_ctx *ctx, neap_node *a);
neap_node *ops_matrix_product(neap_ctx *ctx, neap_node *a, neap_node *b);
neap_node *ops_matrix_minus(neap_ctx *ctx, neap_node *a, neap_node *b);
neap_node *ops_matrix_negative(neap_ctx *ctx, neap_node *a);
/* The elements on and below diagonal k (k > 0: above the main one), zeros elsewhere. */
neap_node *ops_matrix_lower(neap_ctx *ctx, neap_node *a, int k);
neap_node *ops_matrix_upper(neap_ctx *ctx, neap_node *a, int k);
/* `a` on the diagonal, `b` elsewhere. Either may be a number. */
neap_node *ops_matrix_diagonal_or(neap_ctx *ctx, neap_node *a, neap_node *b, int64_t n);
/* The unit matrices of n rows of the batch and dtype of `like`. */
neap_node *ops_matrix_eye(neap_ctx *ctx, neap_node *like, int64_t n);
/* x, of shape (…), as (…, 1, 1); (…, n) as (…, n, 1) and (…, 1, n). */
neap_node *ops_matrix_scalar(neap_ctx *ctx, neap_node *x);
neap_node *ops_matrix_column(neap_ctx *ctx, neap_node *x);
neap_node *ops_matrix_row(neap_ctx *ctx, neap_node *x);
/* The diagonal of square matrices as (…, n). */
neap_node *ops_matrix_diagonal(neap_ctx *ctx, neap_node *a);
/* Elements [from, from + count) of axis `axis`, which counts from the end: -1 is the last. */
neap_node *ops_matrix_cut(neap_ctx *ctx, neap_node *x, int axis, int64_t from, int64_t count);
/* The last axis of x cut from `from` on into matrices of rows × columns. */
neap_node *ops_matrix_part(neap_ctx *ctx, neap_node *x, int64_t from, int64_t rows, int64_t columns);
/* Arrays joined along an axis that counts from the end; matrices joined along one last axis, row by row. */
neap_node *ops_matrix_join(neap_ctx *ctx, int axis, int n, neap_node *const *parts);
neap_node *ops_matrix_pack(neap_ctx *ctx, int n, neap_node *const *parts);
/* op(a)⁻¹ b, a triangular. */
neap_node *ops_matrix_solve_triangular(neap_ctx *ctx, neap_node *a, neap_node *b, bool lower, bool transposed);
/* 1 / a, but 0 where a is 0; without a NaN in any derivative. */
neap_node *ops_matrix_reciprocal(neap_ctx *ctx, neap_node *a);
/* a / b; where b is 0: 0 if a is 0 too, else NaN. Derivatives have no other NaN. */
neap_node *ops_matrix_quotient(neap_ctx *ctx, neap_node *a, neap_node *b);

#endif
