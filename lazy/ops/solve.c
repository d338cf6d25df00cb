/* solve.c: systems of linear equations and determinants: Cholesky and LU factorizations, triangular systems. Those of
 * real numbers are engine/libs/factor.h's, those of complex ones LAPACK's, as are large ones on processors without
 * fused multiply-add.
 *
 * The workers share the matrices of a batch, and the work of large real ones. A matrix that cannot be factored (not
 * positive definite, singular) gives NaN or infinities, as in JAX: a batch of matrices then keeps its other results,
 * and nothing depends on when the values are there.
 *
 * LAPACK is column-major: what lies row-major in memory is the transposed matrix there. For a symmetric matrix that is
 * the same; the LU factorization is the one of the transposed matrix, which solves as well. Factors of real numbers
 * have the same form.
 *
 * Derivatives: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
 * differentiation", 2008; of Cholesky's factorization: I. Murray, "Differentiation of the Cholesky decomposition",
 * 2016. */
#include <math.h>
#include <string.h>

#include "engine/device.h"
#include "engine/libs/factor.h"
#include "lazy/derive/build.h"
#include "lazy/derive/derive.h"
#include "lazy/dtype/scalar.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/matrix.h"

static double cube(const lazy_aval *a) {
    double n = (double)ops_matrix_columns(a);
    return n * n * n;
}

/* ---- cholesky ---------------------------------------------------------------------------------------------------- */
static int cholesky_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = ops_matrix_check_square("cholesky", &call->in[0]);
    return status ? status : graph_shape_same(call, out);
}

static int64_t cholesky_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return ops_matrix_cost(&call->in[0], cube(&call->in[0]) / 3);
}

/* An upper triangle in columns is a lower one in rows: A = UᵀU there is A = LLᵀ here. */
static void call_potrf(const lazy_matrices *x, const char *a, char *out, int *info) {
    const int64_t n = x->n;
    for (int64_t i = 0; i < n; i++) {
        size_t row = (size_t)(i * n) * x->item, below = (size_t)(i + 1) * x->item;
        memcpy(out + row, a + row, below);
        memset(out + row + below, 0, (size_t)n * x->item - below);
    }
    x->lapack->potrf("U", &x->n, out, &x->n, info, 1);
}

static int cholesky_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    const int64_t n = x->n;
    int info = 0, status = NEAP_OK;
    bool found = true;
    char *out = ops_matrix_at(x, x->call->out, index, n * n);
    const char *a = ops_matrix_at(x, &x->call->in[0], index, n * n);
    if (x->lapack)
        call_potrf(x, a, out, &info);
    else
        status = engine_cholesky(run, x->f64, n, a, out, &found);
    if (status || (found && !info))
        return status;
    memset(out, 0, (size_t)(n * n) * x->item);
    for (int64_t i = 0; i < n; i++)
        ops_matrix_fill(x, out + (size_t)(i * n) * x->item, i + 1, NAN);
    return NEAP_OK;
}

static int cholesky_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each_own(call, run, cholesky_one);
}

static const char *cholesky_routine(const lazy_call *call, neap_routine *out) {
    return ops_matrix_factor(call, NEAP_FACTOR_CHOLESKY, out);
}

/* The lower triangle with half of the diagonal. */
static neap_node *half_lower(neap_ctx *ctx, neap_node *a) {
    if (!a)
        return NULL;
    lazy_aval of = graph_node_aval(a);
    neap_node *half = graph_build2(ctx, LAZY_OP_multiply, a, graph_build_number(ctx, 0.5));
    return ops_matrix_lower(ctx, ops_matrix_diagonal_or(ctx, half, a, ops_matrix_columns(&of)), 0);
}

/* S = L⁻ᵀ half_lower(Lᵀ L̄) conj(L)⁻¹, made Hermitian: cotangents are conjugates of gradients. */
static int cholesky_grad(lazy_grad *g) {
    neap_node *l = g->node;
    neap_node *ct = ops_matrix_lower(g->ctx, g->ct, 0);
    neap_node *p = half_lower(g->ctx, ops_matrix_product(g->ctx, ops_matrix_transpose(g->ctx, l), ct));
    neap_node *left = ops_matrix_solve_triangular(g->ctx, l, p, true, true);
    neap_node *over = ops_matrix_conj(g->ctx, l);
    neap_node *s = ops_matrix_solve_triangular(g->ctx, over, ops_matrix_transpose(g->ctx, left), true, true);
    neap_node *both = BUILD2(add, ops_matrix_conj(g->ctx, s), ops_matrix_transpose(g->ctx, s));
    g->out[0] = BUILD2(multiply, both, NUMBER(0.5));
    return grad_done(g, 1);
}

/* dL = L half_lower(L⁻¹ dA L⁻ᴴ) */
static int cholesky_jvp(lazy_tangent *g) {
    neap_node *l = g->node, *left = ops_matrix_solve_triangular(g->ctx, l, g->in[0], true, false);
    neap_node *over = ops_matrix_conj(g->ctx, l);
    neap_node *both = ops_matrix_solve_triangular(g->ctx, over, ops_matrix_transpose(g->ctx, left), true, false);
    g->out = ops_matrix_product(g->ctx, l, half_lower(g->ctx, ops_matrix_transpose(g->ctx, both)));
    return jvp_done(g);
}

NEAP_OP(
    cholesky,
    .doc =
        "Lower triangular L with L Lᴴ = a, for each Hermitian positive definite matrix a of the last two axes (complex "
        "ones by LAPACK's potrf). Reads the lower triangle, but differentiates as a function of Hermitian matrices. "
        "NaN where a matrix is not positive definite.",
    .kind = LAZY_CALL, .arity = 1, .types = LAZY_INEXACT, .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS,
    .residual = LAZY_RESIDUAL_OUT, .dtype = graph_dtype_real, .shape = cholesky_shape, .call = cholesky_call,
    .library = ops_matrix_library_of_complex, .routine = cholesky_routine, .cost = cholesky_cost, .grad = cholesky_grad,
    .jvp = cholesky_jvp, .batch = derive_batch_leading, .shard = shard_matrices)

/* ---- triangular_solve -------------------------------------------------------------------------------------------- */
/* The right sides of op: matrices of as many rows as the first input has. */
static int check_right_side(const char *op, const lazy_aval *a, const lazy_aval *b) {
    int status = ops_matrix_check_square(op, a);
    status = status ? status : ops_matrix_check(op, b);
    status = status ? status : ops_matrix_check_batch(op, a, b);
    if (status == 0 && ops_matrix_rows(a) != ops_matrix_rows(b))
        return neap_error(NEAP_E_SHAPE, "%s: expected right sides of %lld rows, got %lld", op,
                          (long long)ops_matrix_rows(a), (long long)ops_matrix_rows(b));
    return status;
}

static int triangular_solve_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = ops_matrix_check_attrs("triangular_solve", call, 3);
    status = status ? status : check_right_side("triangular_solve", &call->in[0], &call->in[1]);
    if (status)
        return status;
    out->ndim = call->in[1].ndim;
    memcpy(out->shape, call->in[1].shape, out->ndim * sizeof *out->shape);
    return NEAP_OK;
}

static int64_t triangular_solve_cost(const lazy_call_desc *call, const lazy_result *out) {
    double n = (double)ops_matrix_rows(&call->in[0]);
    return ops_matrix_cost(&call->in[0], n * n * (double)out->shape[out->ndim - 1]);
}

/* In columns: Xᵀ op(A)ᵀ = Bᵀ, where the stored matrix is Aᵀ, of the other triangle. */
static int triangular_solve_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    static const double one_f64[2] = {1};
    static const float one_f32[2] = {1};
    const lazy_tensor *b = &x->call->in[1];
    const int64_t *attrs = x->call->attrs;
    int k = (int)b->shape[b->ndim - 1];
    int64_t size = (int64_t)x->n * k;
    void *out = ops_matrix_at(x, x->call->out, index, size);
    const void *a = ops_matrix_at(x, &x->call->in[0], index, (int64_t)x->n * x->n);
    const void *right = ops_matrix_at(x, b, index, size);
    if (!x->lapack)
        return engine_solve_triangular(run, x->f64, x->n, k, a, attrs[0], attrs[1], attrs[2], right, out);
    memcpy(out, right, (size_t)size * x->item);
    x->lapack->trsm("R", attrs[0] ? "U" : "L", attrs[1] ? "T" : "N", attrs[2] ? "U" : "N", &k, &x->n,
                    x->f64 ? (const void *)one_f64 : (const void *)one_f32, a, &x->n, out, &k, 1, 1, 1, 1);
    return NEAP_OK;
}

static int triangular_solve_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each_own(call, run, triangular_solve_one);
}

static const char *triangular_solve_routine(const lazy_call *call, neap_routine *out) {
    const lazy_tensor *a = &call->in[0], *b = &call->in[1];
    const int64_t n = b->shape[b->ndim - 2], k = b->shape[b->ndim - 1];
    *out = (neap_routine){.what = NEAP_ROUTINE_TRIANGULAR,
                          .f64 = dtype_of_part(b->dtype) == NEAP_DTYPE_F64,
                          .complex = neap_dtype_kind(b->dtype) == 'c',
                          .triangular = {.lower = call->attrs[0] != 0,
                                         .transposed = call->attrs[1] != 0,
                                         .unit = call->attrs[2] != 0,
                                         .n = n,
                                         .k = k,
                                         .batch = n * k > 0 ? b->size / (n * k) : 0,
                                         .a = a->data,
                                         .b = b->data,
                                         .out = call->out->data}};
    return NULL;
}

static neap_node *triangular_like(neap_ctx *ctx, const neap_node *node, neap_node *b, bool transpose) {
    const int64_t *attrs = graph_node_attrs(node);
    return graph_build(ctx, LAZY_OP_triangular_solve, 2, (neap_node *[]){graph_node_in(node, 0), b}, 3,
                       (int64_t[]){attrs[0], attrs[1] != transpose, attrs[2]});
}

/* The part of a matrix that the op reads. */
static neap_node *read_triangle(neap_ctx *ctx, const neap_node *node, neap_node *a) {
    const int64_t *attrs = graph_node_attrs(node);
    int k = attrs[2] != 0;
    return attrs[0] ? ops_matrix_lower(ctx, a, -k) : ops_matrix_upper(ctx, a, k);
}

/* B̄ = op(A)⁻ᵀ X̄ and, of op(A), -B̄ Xᵀ, in the triangle that is read. */
static int triangular_solve_grad(lazy_grad *g) {
    neap_node *b = triangular_like(g->ctx, g->node, g->ct, true);
    if (g->wants[1])
        g->out[1] = b;
    if (g->wants[0]) {
        bool transposed = graph_node_attrs(g->node)[1] != 0;
        neap_node *left = transposed ? g->node : b, *right = transposed ? b : g->node;
        neap_node *a = ops_matrix_product(g->ctx, left, ops_matrix_transpose(g->ctx, right));
        g->out[0] = read_triangle(g->ctx, g->node, ops_matrix_negative(g->ctx, a));
    }
    return grad_done(g, 2);
}

/* dB - op(dA) X; either may be NULL, zero. */
static neap_node *moved_right_side(neap_ctx *ctx, neap_node *x, neap_node *da, neap_node *db, bool transposed) {
    if (!da)
        return db;
    neap_node *product = ops_matrix_product(ctx, transposed ? ops_matrix_transpose(ctx, da) : da, x);
    return db ? ops_matrix_minus(ctx, db, product) : ops_matrix_negative(ctx, product);
}

/* dX = op(A)⁻¹ (dB - op(dA) X) */
static int triangular_solve_jvp(lazy_tangent *g) {
    neap_node *da = g->in[0] ? read_triangle(g->ctx, g->node, g->in[0]) : NULL;
    if (g->in[0] && !da)
        return NEAP_E_MEMORY;
    bool transposed = graph_node_attrs(g->node)[1] != 0;
    g->out = triangular_like(g->ctx, g->node, moved_right_side(g->ctx, g->node, da, g->in[1], transposed), false);
    return jvp_done(g);
}

NEAP_OP(
    triangular_solve,
    .doc =
        "X with a X = b (aᵀ X = b where `transposed` is 1), for triangular matrices a of shape (…, n, n), b of shape "
        "(…, n, k) with equal leading axes (complex ones by the BLAS's trsm). Reads the lower or the upper triangle of "
        "a; with `unit`, its diagonal counts as ones. A zero on the diagonal gives infinities and NaN.",
    .attrs = "lower transposed unit", .kind = LAZY_CALL, .arity = 2, .types = LAZY_INEXACT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT,
    .dtype = graph_dtype_real, .shape = triangular_solve_shape, .call = triangular_solve_call,
    .library = ops_matrix_library_of_complex, .routine = triangular_solve_routine, .cost = triangular_solve_cost,
    .grad = triangular_solve_grad, .jvp = triangular_solve_jvp, .batch = derive_batch_leading, .shard = shard_matrices)

/* ---- lu ---------------------------------------------------------------------------------------------------------- */
static int lu_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = ops_matrix_check_square("lu", &call->in[0]);
    if (status)
        return status;
    status = graph_shape_same(call, out);
    out->shape[out->ndim - 2] += 1;
    return status;
}

/* Factors of halves are f32: their pivots are bits, which no rounding keeps. */
static int lu_dtype(const lazy_call_desc *call, lazy_result *out) {
    int status = graph_dtype_real(call, out);
    if (dtype_is_half(out->compute))
        out->compute = out->dtype = NEAP_DTYPE_F32;
    return status;
}

static int64_t lu_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return ops_matrix_cost(&call->in[0], cube(&call->in[0]) * 2 / 3);
}

static int lu_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    int64_t n = x->n;
    int info = 0;
    ops_matrix_scratch scratch;
    char *out = ops_matrix_at(x, x->call->out, index, n * (n + 1)), *row = out + (size_t)(n * n) * x->item;
    int *pivots = ops_matrix_take_scratch(&scratch, run, (size_t)n * sizeof(int));
    if (!pivots)
        return NEAP_E_MEMORY;
    const void *a = ops_matrix_at(x, &x->call->in[0], index, n * n);
    int status = NEAP_OK;
    if (x->lapack) {
        memcpy(out, a, (size_t)(n * n) * x->item);
        x->lapack->getrf(&x->n, &x->n, out, &x->n, pivots, &info);
    } else {
        status = engine_lu(run, x->f64, n, a, out, pivots);
    }
    memset(row, 0, (size_t)n * x->item);
    memcpy(row, pivots, (size_t)n * sizeof *pivots);
    ops_matrix_give_scratch(&scratch, run);
    return status;
}

/* The routine of a system; `a` is its first input, `n` wide. */
static const char *fill_system(const lazy_call *call, neap_system_kind kind, neap_routine *out) {
    const lazy_tensor *a = call->in, *result = call->out;
    const int64_t n = a->shape[a->ndim - 1];
    neap_system s = {.kind = kind, .n = n, .k = n, .batch = 1, .a = a->data, .out = result->data};
    for (int k = 0; k < a->ndim - 2; k++)
        s.batch *= a->shape[k];
    *out = (neap_routine){.what = NEAP_ROUTINE_SYSTEM,
                          .f64 = dtype_of_part(result->dtype) == NEAP_DTYPE_F64,
                          .complex = neap_dtype_kind(result->dtype) == 'c',
                          .system = s};
    return NULL;
}

static const char *lu_routine(const lazy_call *call, neap_routine *out) {
    return fill_system(call, NEAP_SYSTEM_FACTOR, out);
}

static int lu_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each_own(call, run, lu_one);
}

NEAP_OP(
    lu,
    .doc =
        "For each matrix a of shape (n, n) in the last two axes: n rows with the factors of aᵀ as LAPACK's getrf "
        "stores them, transposed, and one row that begins with the bits of its n pivots, 32-bit integers counted from "
        "1; each is where the largest magnitude of what is left of its column stands, the first of equal ones. What "
        "`solve`, `slogdet` and `det` work with. Not differentiated: those take the matrix itself as well.",
    .kind = LAZY_CALL, .arity = 1, .types = LAZY_INEXACT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS | LAZY_OP_ZERO_GRAD, .dtype = lu_dtype, .shape = lu_shape,
    .call = lu_call, .library = ops_matrix_library_of_complex, .routine = lu_routine, .cost = lu_cost,
    .batch = derive_batch_leading, .shard = shard_matrices)

/* ---- solve ------------------------------------------------------------------------------------------------------- */
/* The dtype of the inputs but for input 1, what `lu` made of a matrix; halves are computed as f32. */
static int dtype_beside_factors(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval others[2] = {call->in[0], call->in[call->nin - 1]};
    lazy_call_desc some = *call;
    some.in = others;
    some.nin = call->nin == 2 ? 1 : 2;
    int status = graph_dtype_real(&some, out);
    if (dtype_is_half(out->compute))
        out->compute = NEAP_DTYPE_F32;
    return status;
}

/* Inputs 0 and 1: a matrix and what `lu` made of it. */
static int check_factors(const char *op, const lazy_call_desc *call) {
    const lazy_aval *a = &call->in[0], *f = &call->in[1];
    int status = ops_matrix_check_square(op, a);
    status = status ? status : ops_matrix_check(op, f);
    status = status ? status : ops_matrix_check_batch(op, a, f);
    char text[256];
    if (status == 0 && (ops_matrix_columns(f) != ops_matrix_columns(a) || ops_matrix_rows(f) != ops_matrix_rows(a) + 1))
        return neap_error(NEAP_E_SHAPE, "%s: expected the factors that lu gives, got shape %s", op,
                          graph_shape_text(f->ndim, f->shape, text, sizeof text));
    return status;
}

static int solve_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = ops_matrix_check_attrs("solve", call, 1);
    status = status ? status : check_factors("solve", call);
    status = status ? status : check_right_side("solve", &call->in[0], &call->in[2]);
    if (status)
        return status;
    out->ndim = call->in[2].ndim;
    memcpy(out->shape, call->in[2].shape, out->ndim * sizeof *out->shape);
    return NEAP_OK;
}

static int64_t solve_cost(const lazy_call_desc *call, const lazy_result *out) {
    double n = (double)ops_matrix_rows(&call->in[0]);
    return ops_matrix_cost(&call->in[0], 2 * n * n * (double)out->shape[out->ndim - 1]);
}

/* Pivots are data: what no factorization gives is brought into the range. */
static void read_pivots(const lazy_matrices *x, const void *row, int *pivots) {
    memcpy(pivots, row, (size_t)x->n * sizeof *pivots);
    for (int k = 0; k < x->n; k++)
        pivots[k] = pivots[k] >= 1 && pivots[k] <= x->n ? pivots[k] : k + 1;
}

/* By columns, in `room` for the right side. */
static void call_getrs(const lazy_matrices *x, int k, const char *factors, const int *pivots, const void *right,
                       void *out, void *room) {
    int info;
    ops_matrix_copy_transposed(x, room, right, x->n, k, k);
    x->lapack->getrs(x->call->attrs[0] ? "N" : "T", &x->n, &k, factors, &x->n, pivots, room, &x->n, &info, 1);
    ops_matrix_copy_transposed(x, out, room, k, x->n, x->n);
}

static int solve_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    const lazy_tensor *b = &x->call->in[2];
    const int k = (int)b->shape[b->ndim - 1];
    const int64_t n = x->n, size = n * k;
    const char *factors = ops_matrix_at(x, &x->call->in[1], index, n * (n + 1));
    const void *right = ops_matrix_at(x, b, index, size);
    void *out = ops_matrix_at(x, x->call->out, index, size);
    const size_t bytes = (size_t)n * sizeof(double);
    ops_matrix_scratch scratch;
    int status = NEAP_OK;
    int *pivots = ops_matrix_take_scratch(&scratch, run, bytes + (x->lapack ? (size_t)size * x->item : 0));
    if (!pivots)
        return NEAP_E_MEMORY;
    read_pivots(x, factors + (size_t)(n * n) * x->item, pivots);
    if (x->lapack)
        call_getrs(x, k, factors, pivots, right, out, (char *)pivots + bytes);
    else
        status = engine_lu_solve(run, x->f64, n, k, x->call->attrs[0], factors, pivots, right, out);
    ops_matrix_give_scratch(&scratch, run);
    return status;
}

static const char *solve_routine(const lazy_call *call, neap_routine *out) {
    const lazy_tensor *b = &call->in[2];
    fill_system(call, NEAP_SYSTEM_SOLVE, out);
    out->system.transposed = call->attrs[0] != 0;
    out->system.a = call->in[1].data;
    out->system.b = b->data;
    out->system.k = b->shape[b->ndim - 1];
    return NULL;
}

static int solve_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each_own(call, run, solve_one);
}

static neap_node *solve_with(neap_ctx *ctx, neap_node *a, neap_node *factors, neap_node *b, bool transposed) {
    return graph_build(ctx, LAZY_OP_solve, 3, (neap_node *[]){a, factors, b}, 1, (int64_t[]){transposed});
}

/* B̄ = op(A)⁻ᵀ X̄ and, of op(A), -B̄ Xᵀ. The factors are no variables. */
static int solve_grad(lazy_grad *g) {
    bool transposed = graph_node_attrs(g->node)[0] != 0;
    neap_node *b = solve_with(g->ctx, INPUT(0), INPUT(1), g->ct, !transposed);
    if (g->wants[0]) {
        neap_node *left = transposed ? g->node : b, *right = transposed ? b : g->node;
        neap_node *a = ops_matrix_product(g->ctx, left, ops_matrix_transpose(g->ctx, right));
        g->out[0] = ops_matrix_negative(g->ctx, a);
    }
    if (g->wants[2])
        g->out[2] = b;
    g->wants[1] = false;
    return grad_done(g, 3);
}

/* dX = op(A)⁻¹ (dB - op(dA) X) */
static int solve_jvp(lazy_tangent *g) {
    bool transposed = graph_node_attrs(g->node)[0] != 0;
    if (!g->in[0] && !g->in[2])
        return NEAP_OK;
    g->out = solve_with(g->ctx, INPUT(0), INPUT(1), moved_right_side(g->ctx, g->node, g->in[0], g->in[2], transposed),
                        transposed);
    return jvp_done(g);
}

NEAP_OP(
    solve,
    .doc =
        "X with a X = b (aᵀ X = b where `transposed` is 1), for matrices a of shape (…, n, n), what `lu` made of them, "
        "and b of shape (…, n, k) with equal leading axes (complex ones by LAPACK's getrs). A singular matrix gives "
        "infinities and NaN. The values come from the factors, the derivative is that of a⁻¹ b.",
    .attrs = "transposed", .kind = LAZY_CALL, .arity = 3, .types = LAZY_INEXACT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1 | LAZY_RESIDUAL_OUT, .dtype = dtype_beside_factors,
    .shape = solve_shape, .call = solve_call, .library = ops_matrix_library_of_complex, .routine = solve_routine,
    .cost = solve_cost, .grad = solve_grad, .jvp = solve_jvp, .batch = derive_batch_leading, .shard = shard_matrices)

/* ---- inv --------------------------------------------------------------------------------------------------------- */
static int inv_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = ops_matrix_check_square("inv", &call->in[0]);
    return status ? status : graph_shape_same(call, out);
}

static int64_t inv_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return ops_matrix_cost(&call->in[0], cube(&call->in[0]) * 2);
}

/* Matrices of few rows are inverted here, in one go. `rows` is n
 * rows of the matrix and the unit matrix side by side: eliminated from top to bottom, with the largest element of what
 * is left of a column as its pivot, the first of equal ones; then from bottom to top. */
enum { INV_SMALL = 16 };
#define INVERT(name, T, magnitude)                                                                                     \
    static inline __attribute__((always_inline)) void name##_rows(T *out, const T *a, int n) {                         \
        T rows[INV_SMALL * 2 * INV_SMALL];                                                                             \
        const int wide = 2 * n;                                                                                        \
        for (int i = 0; i < n; i++)                                                                                    \
            for (int j = 0; j < n; j++) {                                                                              \
                rows[i * wide + j] = a[i * n + j];                                                                     \
                rows[i * wide + n + j] = (T)(i == j);                                                                  \
            }                                                                                                          \
        for (int k = 0; k < n; k++) {                                                                                  \
            int pivot = k;                                                                                             \
            for (int i = k + 1; i < n; i++)                                                                            \
                pivot = magnitude(rows[i * wide + k]) > magnitude(rows[pivot * wide + k]) ? i : pivot;                 \
            for (int j = k; j < wide && pivot != k; j++) {                                                             \
                const T other = rows[k * wide + j];                                                                    \
                rows[k * wide + j] = rows[pivot * wide + j];                                                           \
                rows[pivot * wide + j] = other;                                                                        \
            }                                                                                                          \
            const T over = 1 / rows[k * wide + k];                                                                     \
            for (int i = k + 1; i < n; i++) {                                                                          \
                const T factor = rows[i * wide + k] * over;                                                            \
                for (int j = k + 1; j < wide; j++)                                                                     \
                    rows[i * wide + j] -= factor * rows[k * wide + j];                                                 \
            }                                                                                                          \
        }                                                                                                              \
        for (int k = n - 1; k >= 0; k--) {                                                                             \
            for (int i = k + 1; i < n; i++)                                                                            \
                for (int j = n; j < wide; j++)                                                                         \
                    rows[k * wide + j] -= rows[k * wide + i] * rows[i * wide + j];                                     \
            for (int j = n; j < wide; j++)                                                                             \
                out[k * n + j - n] = rows[k * wide + j] /= rows[k * wide + k];                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static void name(T *out, const T *a, int n) {                                                                      \
        switch (n) { /* a number that the compiler knows */                                                            \
        case 2:                                                                                                        \
            name##_rows(out, a, 2);                                                                                    \
            return;                                                                                                    \
        case 3:                                                                                                        \
            name##_rows(out, a, 3);                                                                                    \
            return;                                                                                                    \
        case 4:                                                                                                        \
            name##_rows(out, a, 4);                                                                                    \
            return;                                                                                                    \
        default:                                                                                                       \
            name##_rows(out, a, n);                                                                                    \
        }                                                                                                              \
    }
INVERT(invert_f32, float, fabsf)
INVERT(invert_f64, double, fabs)

/* By columns the stored matrix is Aᵀ, and the inverse of that as it is stored is A⁻¹ by rows. */
static int inv_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    int64_t n = x->n;
    int info = 0;
    const void *a = ops_matrix_at(x, &x->call->in[0], index, n * n);
    void *out = ops_matrix_at(x, x->call->out, index, n * n);
    if (n <= INV_SMALL && !x->complex) {
        if (x->f64)
            invert_f64(out, a, x->n);
        else
            invert_f32(out, a, x->n);
        return NEAP_OK;
    }
    if (!x->lapack)
        return engine_invert(run, x->f64, n, a, out);
    ops_matrix_scratch scratch;
    int *pivots = ops_matrix_take_scratch(&scratch, run, (size_t)n * sizeof(double) + (size_t)(n * n) * x->item);
    if (!pivots)
        return NEAP_E_MEMORY;
    void *factors = (char *)pivots + (size_t)n * sizeof(double);
    memcpy(factors, a, (size_t)(n * n) * x->item);
    x->lapack->getrf(&x->n, &x->n, factors, &x->n, pivots, &info);
    ops_matrix_unit(x, out, n);
    x->lapack->getrs("N", &x->n, &x->n, factors, &x->n, pivots, out, &x->n, &info, 1);
    ops_matrix_give_scratch(&scratch, run);
    return NEAP_OK;
}

static const char *inv_routine(const lazy_call *call, neap_routine *out) {
    return fill_system(call, NEAP_SYSTEM_INVERT, out);
}

static int inv_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each_own(call, run, inv_one);
}

/* -x y x */
static neap_node *between_inverses(neap_ctx *ctx, neap_node *x, neap_node *y) {
    return ops_matrix_negative(ctx, ops_matrix_product(ctx, ops_matrix_product(ctx, x, y), x));
}

/* Ā = -Xᵀ X̄ Xᵀ with X = A⁻¹. */
static int inv_grad(lazy_grad *g) {
    g->out[0] = between_inverses(g->ctx, ops_matrix_transpose(g->ctx, g->node), g->ct);
    return grad_done(g, 1);
}

/* dX = -X dA X. */
static int inv_jvp(lazy_tangent *g) {
    g->out = between_inverses(g->ctx, g->node, g->in[0]);
    return jvp_done(g);
}

NEAP_OP(
    inv,
    .doc = "The inverse of each matrix of the last two axes, by elimination with pivots; of more than 16 rows by an LU "
           "factorization, of complex numbers by LAPACK's getrf and getrs. Infinities or NaN where a matrix is "
           "singular.",
    .kind = LAZY_CALL, .arity = 1, .types = LAZY_INEXACT, .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS,
    .residual = LAZY_RESIDUAL_OUT, .dtype = graph_dtype_real, .shape = inv_shape, .call = inv_call,
    .library = ops_matrix_library_of_complex, .routine = inv_routine, .cost = inv_cost, .grad = inv_grad,
    .jvp = inv_jvp, .batch = derive_batch_leading, .shard = shard_matrices)

/* ---- slogdet, det ------------------------------------------------------------------------------------------------ */
static int slogdet_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = check_factors("slogdet", call);
    if (status == 0)
        out->shape[ops_matrix_batch_shape(&call->in[0], out)] = 2;
    out->ndim++;
    return status;
}

static int det_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = check_factors("det", call);
    if (status == 0)
        ops_matrix_batch_shape(&call->in[0], out);
    return status;
}

/* The sign of the row exchanges of the factors of matrix `index`, which are returned. */
static const char *factors_of(const lazy_matrices *x, int64_t index, double *sign) {
    int64_t n = x->n;
    const char *factors = ops_matrix_at(x, &x->call->in[1], index, n * (n + 1));
    *sign = 1;
    for (int64_t k = 0; k < n; k++) {
        int32_t pivot;
        memcpy(&pivot, factors + (size_t)(n * n) * x->item + (size_t)k * sizeof pivot, sizeof pivot);
        *sign = pivot == k + 1 ? *sign : -*sign;
    }
    return factors;
}

static int slogdet_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    (void)run;
    double sign, sum = 0;
    const char *factors = factors_of(x, index, &sign);
    for (int64_t k = 0; k < x->n; k++) {
        double d = ops_matrix_get(x, factors, k * x->n + k);
        sign = sign * (isnan(d) ? d : (d > 0) - (d < 0)) + 0.0; /* + 0.0: no negative zero */
        sum += log(fabs(d));
    }
    ops_matrix_set(x, x->call->out->data, 2 * index, sign);
    ops_matrix_set(x, x->call->out->data, 2 * index + 1, sum);
    return NEAP_OK;
}

static int complex_det(const lazy_matrices *x, int64_t index) {
    double sign;
    const char *factors = factors_of(x, index, &sign);
    double _Complex product = sign;
    for (int64_t k = 0, at; k < x->n; k++) {
        at = 2 * (k * x->n + k);
        const double re = x->f64 ? ((const double *)factors)[at] : (double)((const float *)factors)[at];
        const double im = x->f64 ? ((const double *)factors)[at + 1] : (double)((const float *)factors)[at + 1];
        product = __builtin_complex(__real__ product * re - __imag__ product * im,
                                    __real__ product * im + __imag__ product * re);
    }
    if (x->f64)
        ((double _Complex *)x->call->out->data)[index] = product;
    else
        ((float _Complex *)x->call->out->data)[index] = (float _Complex)product;
    return NEAP_OK;
}

static int det_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    (void)run;
    if (x->complex)
        return complex_det(x, index);
    double product;
    const char *factors = factors_of(x, index, &product);
    for (int64_t k = 0; k < x->n; k++)
        product *= ops_matrix_get(x, factors, k * x->n + k);
    ops_matrix_set(x, x->call->out->data, index, product);
    return NEAP_OK;
}

static int slogdet_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each_own(call, run, slogdet_one);
}

static int det_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each_own(call, run, det_one);
}

/* A⁻ᵀ from the factors. */
static neap_node *inverse_transposed(neap_ctx *ctx, neap_node *a, neap_node *factors) {
    lazy_aval of = graph_node_aval(a);
    return solve_with(ctx, a, factors, ops_matrix_eye(ctx, a, ops_matrix_columns(&of)), true);
}

/* d log|det A| = tr(A⁻¹ dA); the sign is constant. */
static int slogdet_grad(lazy_grad *g) {
    neap_node *ct = ops_matrix_cut(g->ctx, g->ct, -1, 1, 1); /* (…, 1) */
    g->wants[1] = false;
    if (g->wants[0])
        g->out[0] = BUILD2(multiply, ops_matrix_column(g->ctx, ct), inverse_transposed(g->ctx, INPUT(0), INPUT(1)));
    return grad_done(g, 2);
}

/* d det A = det A tr(A⁻¹ dA). */
static int det_grad(lazy_grad *g) {
    g->wants[1] = false;
    if (g->wants[0])
        g->out[0] = BUILD2(multiply, ops_matrix_scalar(g->ctx, BUILD2(multiply, g->ct, g->node)),
                           inverse_transposed(g->ctx, INPUT(0), INPUT(1)));
    return grad_done(g, 2);
}

/* tr(A⁻¹ dA) */
static neap_node *trace_of_quotient(lazy_tangent *g) {
    lazy_aval a = graph_node_aval(INPUT(0));
    neap_node *product = BUILD2(multiply, inverse_transposed(g->ctx, INPUT(0), INPUT(1)), g->in[0]);
    return graph_build(g->ctx, LAZY_OP_sum, 1, &product, 2, (int64_t[]){(int64_t)3 << (a.ndim - 2), 0});
}

static int slogdet_jvp(lazy_tangent *g) {
    if (!g->in[0])
        return NEAP_OK;
    lazy_aval out = graph_node_aval(g->node);
    int64_t shape[NEAP_MAX_DIMS];
    memcpy(shape, out.shape, out.ndim * sizeof *shape);
    shape[out.ndim - 1] = 1;
    neap_node *trace = trace_of_quotient(g), *zero = graph_build_cast(g->ctx, NUMBER(0), out.dtype);
    trace = trace ? graph_build_reshape(g->ctx, trace, out.ndim, shape) : NULL;
    zero = zero ? graph_build_broadcast(g->ctx, zero, out.ndim, shape) : NULL;
    g->out = ops_matrix_join(g->ctx, -1, 2, (neap_node *[]){zero, trace});
    return jvp_done(g);
}

static int det_jvp(lazy_tangent *g) {
    if (!g->in[0])
        return NEAP_OK;
    g->out = BUILD2(multiply, g->node, trace_of_quotient(g));
    return jvp_done(g);
}

NEAP_OP(slogdet,
        .doc =
            "For matrices (…, n, n) and what `lu` made of them: the sign of the determinant and the logarithm of its "
            "magnitude, as (…, 2). A singular matrix gives 0 and -inf, and its derivative is not finite.",
        .kind = LAZY_CALL, .arity = 2, .types = LAZY_REAL, .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE,
        .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .dtype = dtype_beside_factors, .shape = slogdet_shape,
        .call = slogdet_call, .grad = slogdet_grad, .jvp = slogdet_jvp, .batch = derive_batch_leading,
        .shard = shard_matrices)

NEAP_OP(det,
        .doc =
            "For matrices (…, n, n) and what `lu` made of them: the determinant, as (…). Its derivative is made of the "
            "inverse, so it is not finite where the matrix is singular.",
        .kind = LAZY_CALL, .arity = 2, .types = LAZY_INEXACT, .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE,
        .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1 | LAZY_RESIDUAL_OUT, .dtype = dtype_beside_factors,
        .shape = det_shape, .call = det_call, .grad = det_grad, .jvp = det_jvp, .batch = derive_batch_leading,
        .shard = shard_matrices)
