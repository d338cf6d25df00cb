/* eig.c: eigenvalues and vectors of any square matrices, complex, by LAPACK's geev; of real ones by its real geevx, so
 * that they are exactly conjugate pairs.
 *
 * Values come as LAPACK orders them; vectors have the length 1 and a largest part that is real. Derivatives: as JAX's,
 * of vectors whose length is not looked at; where eigenvalues are equal, what depends on the vectors has NaN. */
#include <math.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/matrix.h"

static int eig_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = ops_matrix_check_square("eig", &call->in[0]);
    status = status ? status : ops_matrix_check_attrs("eig", call, 2);
    if (status)
        return status;
    status = graph_shape_same(call, out);
    out->shape[out->ndim - 2] = call->attrs[0] ? out->shape[out->ndim - 1] + 1 : 1;
    return status;
}

static int64_t eig_cost(const lazy_call_desc *call, const lazy_result *out) {
    double n = (double)ops_matrix_columns(&call->in[0]);
    (void)out;
    return ops_matrix_cost(&call->in[0], (call->attrs[0] ? 100 : 40) * n * n * n);
}

static bool is_finite(const lazy_matrices *x, const void *from, int64_t n) {
    for (int64_t k = 0; k < 2 * n; k++)
        if (!isfinite(x->f64 ? ((const double *)from)[k] : (double)((const float *)from)[k]))
            return false;
    return true;
}

/* From an answer to a query of LAPACK: how many elements it works with. */
static int fitting(double answer) {
    const double asked = answer * (1 + 1e-6) + 1;
    return asked < INT32_MAX ? (int)asked : INT32_MAX;
}

/* Values w and, if v is not NULL, vectors as columns, column behind column. `columns`: the matrix, which is written
 * over. *info: LAPACK's. */
static int eig_complex(const lazy_matrices *x, void *columns, void *w, void *v, int *info, const neap_run *run) {
    const char *job = v ? "V" : "N";
    double answer[2] = {0}, spare[2];
    int query = -1;
    x->lapack->geev("N", job, &x->n, NULL, &x->n, NULL, NULL, &x->n, NULL, &x->n, answer, &query, spare, info, 1, 1);
    const int lwork = fitting(ops_matrix_get(x, answer, 0));
    const size_t bytes = (size_t)(lwork + x->n) * x->item; /* 2n real numbers are n complex ones */
    void *work;
    int status = neap_run_alloc(run, bytes, &work);
    if (status)
        return status;
    char *rwork = (char *)work + (size_t)lwork * x->item;
    x->lapack->geev("N", job, &x->n, columns, &x->n, w, NULL, &x->n, v, &x->n, work, &lwork, rwork, info, 1, 1);
    neap_run_free(run, work, bytes);
    return NEAP_OK;
}

static void put_complex(const lazy_matrices *x, void *to, int64_t k, double re, double im) {
    if (x->f64) {
        ((double *)to)[2 * k] = re, ((double *)to)[2 * k + 1] = im;
    } else {
        ((float *)to)[2 * k] = (float)re, ((float *)to)[2 * k + 1] = (float)im;
    }
}

/* The same of a matrix whose imaginary parts are zeros. Of a pair of values the vectors are re ± i·im, where LAPACK has
 * re and im as two columns. */
static int eig_real(const lazy_matrices *x, void *columns, void *w, void *v, int *info, const neap_run *run) {
    lazy_matrices r = {.f64 = x->f64, .item = x->item / 2, .m = x->n, .n = x->n};
    const char *job = v ? "V" : "N";
    const int64_t n = x->n;
    double answer[2] = {0}, norm[2];
    int query = -1, low, high, status = engine_lapack_get(x->f64, false, &r.lapack);
    if (status)
        return status;
    r.lapack->geevx("B", "N", job, "N", &x->n, NULL, &x->n, NULL, NULL, NULL, &x->n, NULL, &x->n, &low, &high, NULL,
                    norm, NULL, NULL, answer, &query, NULL, info, 1, 1, 1, 1);
    const int lwork = fitting(ops_matrix_get(&r, answer, 0));
    const size_t bytes = ((size_t)(2 * n * n + 5 * n) + (size_t)lwork) * r.item;
    void *scratch;
    status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    char *a = scratch, *vectors = a + (size_t)(n * n) * r.item, *wr = vectors + (size_t)(n * n) * r.item;
    char *wi = wr + (size_t)n * r.item, *scale = wi + (size_t)n * r.item, *work = scale + (size_t)(3 * n) * r.item;
    for (int64_t k = 0; k < n * n; k++)
        ops_matrix_set(&r, a, k, ops_matrix_get(x, columns, k));
    r.lapack->geevx("B", "N", job, "N", &x->n, a, &x->n, wr, wi, NULL, &x->n, vectors, &x->n, &low, &high, scale, norm,
                    scale + (size_t)n * r.item, scale + (size_t)(2 * n) * r.item, work, &lwork, NULL, info, 1, 1, 1, 1);
    for (int64_t j = 0; j < n && *info == 0; j++) {
        const double im = ops_matrix_get(&r, wi, j);
        const int64_t first = im < 0 ? j - 1 : j; /* of a pair, which begins with the positive part */
        put_complex(x, w, j, ops_matrix_get(&r, wr, j), im);
        for (int64_t i = 0; i < n && v; i++)
            put_complex(x, v, j * n + i, ops_matrix_get(&r, vectors, first * n + i),
                        im == 0 ? 0 : copysign(1, im) * ops_matrix_get(&r, vectors, (first + 1) * n + i));
    }
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

static int eig_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    const bool vectors = x->call->attrs[0] != 0;
    const int64_t n = x->n;
    const void *a = ops_matrix_at(x, &x->call->in[0], index, n * n);
    char *out = ops_matrix_at(x, x->call->out, index, vectors ? n * (n + 1) : n);
    const size_t matrix = (size_t)(n * n) * x->item, bytes = 2 * matrix;
    int info = !is_finite(x, a, n * n);
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    char *columns = scratch, *v = vectors ? columns + matrix : NULL;
    ops_matrix_copy_transposed(x, columns, a, n, n, n);
    if (!info)
        status = (x->call->attrs[1] ? eig_real : eig_complex)(x, columns, out, v, &info, run);
    if (info)
        ops_matrix_fill(x, out, vectors ? n * (n + 1) : n, NAN);
    else if (vectors && !status)
        ops_matrix_copy_transposed(x, out + (size_t)n * x->item, v, n, n, n);
    neap_run_free(run, scratch, bytes);
    return status;
}

static int eig_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each(call, run, eig_one);
}

/* w (…, 1, n) and the matrix v of a node that has both; of one that has not: of the same matrix again. */
static void eig_parts(neap_ctx *ctx, neap_node *node, neap_node **w, neap_node **v) {
    neap_node *a = graph_node_in(node, 0);
    int64_t n = graph_node_aval(a).shape[graph_node_aval(a).ndim - 1];
    if (!graph_node_attrs(node)[0])
        node = graph_build(ctx, LAZY_OP_eig, 1, &a, 2, (int64_t[]){1, graph_node_attrs(node)[1]});
    *w = ops_matrix_cut(ctx, node, -2, 0, 1);
    *v = ops_matrix_cut(ctx, node, -2, 1, n);
}

/* v⁻¹ b, or v⁻ᵀ b. */
static neap_node *over_vectors(neap_ctx *ctx, neap_node *v, neap_node *b, bool transposed) {
    neap_node *factors = v ? graph_build1(ctx, LAZY_OP_lu, v) : NULL;
    return graph_build(ctx, LAZY_OP_solve, 3, (neap_node *[]){v, factors, b}, 1, (int64_t[]){transposed});
}

/* m[i][j] / (w[j] - w[i]) but on the diagonal, where it is `diagonal`. */
static neap_node *over_gaps(neap_ctx *ctx, neap_node *m, neap_node *w, neap_node *diagonal) {
    neap_node *gaps = ops_matrix_minus(ctx, w, ops_matrix_transpose(ctx, w));
    if (!gaps)
        return NULL;
    lazy_aval of = graph_node_aval(gaps);
    return ops_matrix_diagonal_or(ctx, diagonal, ops_matrix_quotient(ctx, m, gaps), ops_matrix_rows(&of));
}

/* Ā = V⁻ᵀ (diag(w̄) + F ∘ (Vᵀ V̄)) Vᵀ, F[i][j] = 1 / (w[j] - w[i]) and 0 on the diagonal. */
static int eig_grad(lazy_grad *g) {
    neap_ctx *ctx = g->ctx;
    neap_node *w, *v, *ct_w = g->ct, *inner = NUMBER(0);
    eig_parts(ctx, g->node, &w, &v);
    neap_node *vt = ops_matrix_transpose(ctx, v);
    if (graph_node_attrs(g->node)[0]) {
        int64_t n = graph_node_aval(g->ct).shape[graph_node_aval(g->ct).ndim - 1];
        ct_w = ops_matrix_cut(ctx, g->ct, -2, 0, 1);
        inner = ops_matrix_product(
            ctx, over_gaps(ctx, ops_matrix_product(ctx, vt, ops_matrix_cut(ctx, g->ct, -2, 1, n)), w, ct_w), vt);
    } else {
        inner = BUILD2(multiply, ops_matrix_transpose(ctx, ct_w), vt);
    }
    g->out[0] = over_vectors(ctx, v, inner, true);
    return grad_done(g, 1);
}

/* With M = V⁻¹ dA V: dw = diag(M), dV = V (F ∘ M). */
static int eig_jvp(lazy_tangent *g) {
    neap_ctx *ctx = g->ctx;
    neap_node *w, *v;
    eig_parts(ctx, g->node, &w, &v);
    neap_node *m = over_vectors(ctx, v, ops_matrix_product(ctx, g->in[0], v), false);
    neap_node *dw = ops_matrix_row(ctx, ops_matrix_diagonal(ctx, m));
    g->out = dw;
    if (graph_node_attrs(g->node)[0]) {
        neap_node *dv = ops_matrix_product(ctx, v, over_gaps(ctx, m, w, NUMBER(0)));
        g->out = ops_matrix_join(ctx, -2, 2, (neap_node *[]){dw, dv});
    }
    return jvp_done(g);
}

NEAP_OP(
    eig,
    .doc =
        "Eigenvalues w and eigenvectors of length 1 of each complex square matrix of the last two axes, by LAPACK's "
        "geev, as (…, n + 1, n): w as the first row, and below it the matrix whose columns are the vectors; with "
        "`vectors` 0 only w, as (…, 1, n). `real`: all imaginary parts are 0, and pairs are conjugates, by geevx. In "
        "LAPACK's order. NaN where a matrix has a NaN or an infinity.",
    .attrs = "vectors real", .kind = LAZY_CALL, .arity = 1, .types = LAZY_COMPLEX,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .residual = LAZY_RESIDUAL_OUT | LAZY_RESIDUAL_IN0,
    .dtype = graph_dtype_same, .shape = eig_shape, .call = eig_call, .library = ops_matrix_library, .cost = eig_cost,
    .grad = eig_grad, .jvp = eig_jvp, .batch = derive_batch_leading, .shard = shard_matrices)
