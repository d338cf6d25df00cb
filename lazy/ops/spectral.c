/* spectral.c: orthogonal factorizations by LAPACK: QR, eigenvalues and vectors of symmetric matrices, singular values
 * and vectors; and the derivative of the pseudoinverse.
 *
 * A node has one result, so the parts of a factorization lie packed in one array, from which Lua cuts them by views:
 * flat in a last axis, row by row (qr, svd), or as rows above each other (eigh).
 *
 * Derivatives: of QR, S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with
 * application in optimum experimental design", 2009; of eigenvectors, Giles 2008 (solve.c); of singular vectors,
 * J. Townsend, "Differentiating the singular value decomposition", 2016; of the pseudoinverse, G. Golub and V. Pereyra,
 * "The differentiation of pseudo-inverses and nonlinear least squares problems", 1973. Vectors are determined up to a
 * sign, or a rotation where values are equal: derivatives are those of functions that do not depend on it. Where values
 * are equal, vectors have no derivative: what depends on them has NaN, as in JAX; what depends on the values alone has
 * its own.
 *
 * Where a factorization does not converge, which a NaN or an infinity in the matrix brings about, it is all NaN.
 */
#include <math.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/derive/derive.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/matrix.h"

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t factor_cost(const lazy_call_desc *call, double factor) {
    const lazy_aval *a = &call->in[0];
    double m = (double)ops_matrix_rows(a), n = (double)ops_matrix_columns(a), k = m < n ? m : n;
    return ops_matrix_cost(a, factor * m * n * k);
}

/* ---- qr ---------------------------------------------------------------------------------------------------------- */
typedef struct qr_parts { /* q is m × k, r is k × n */
    int64_t m, n, k;
} qr_parts;

static qr_parts qr_of(const lazy_aval *a, const int64_t *attrs) {
    int64_t m = ops_matrix_rows(a), n = ops_matrix_columns(a);
    return (qr_parts){m, n, attrs[0] ? m : least(m, n)};
}

static int qr_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = ops_matrix_check("qr", &call->in[0]);
    status = status ? status : ops_matrix_check_attrs("qr", call, 1);
    if (status)
        return status;
    qr_parts p = qr_of(&call->in[0], call->attrs);
    out->shape[ops_matrix_batch_shape(&call->in[0], out)] = p.k * (p.m + p.n);
    out->ndim++;
    return NEAP_OK;
}

static int64_t qr_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return factor_cost(call, 4);
}

/* Upper triangular rows of r out of the columns that geqrf left; the first k columns are made those of q. */
static void qr_finish(const lazy_matrices *x, char *columns, const void *tau, void *work, int lwork, char *out, int k) {
    int64_t m = x->m, n = x->n;
    char *r = out + (size_t)(m * k) * x->item;
    ops_matrix_copy_transposed(x, r, columns, n, k, m);
    for (int64_t i = 1; i < k; i++)
        memset(r + (size_t)(i * n) * x->item, 0, (size_t)least(i, n) * x->item);
    int info = 0, reflectors = (int)least(m, n), ld = x->m > 1 ? x->m : 1;
    if (k > 0)
        (x->complex ? x->lapack->ungqr : x->lapack->orgqr)(&x->m, &k, &reflectors, columns, &ld, tau, work, &lwork,
                                                           &info);
    ops_matrix_copy_transposed(x, out, columns, k, m, m);
}

static int qr_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    int64_t m = x->m, n = x->n, wide = m > n ? m : n;
    int k = (int)(x->call->attrs[0] ? m : least(m, n)), info = 0, query = -1, ld = m > 1 ? (int)m : 1;
    double answer[4] = {0};
    x->lapack->geqrf(&x->m, &x->n, NULL, &ld, NULL, &answer[0], &query, &info);
    int reflectors = (int)least(m, n), asked = ops_matrix_work_size(x, &answer[0]);
    (x->complex ? x->lapack->ungqr : x->lapack->orgqr)(&x->m, &k, &reflectors, NULL, &ld, NULL, &answer[2], &query,
                                                       &info);
    int lwork = asked > ops_matrix_work_size(x, &answer[2]) ? asked : ops_matrix_work_size(x, &answer[2]);
    size_t bytes = (size_t)(m * wide + wide + lwork) * x->item;
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    char *columns = scratch, *tau = columns + (size_t)(m * wide) * x->item, *work = tau + (size_t)wide * x->item;
    ops_matrix_copy_transposed(x, columns, ops_matrix_at(x, &x->call->in[0], index, m * n), m, n, n);
    if (n > 0)
        x->lapack->geqrf(&x->m, &x->n, columns, &ld, tau, work, &lwork, &info);
    qr_finish(x, columns, tau, work, lwork, ops_matrix_at(x, x->call->out, index, (m + n) * k), k);
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

static int qr_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each(call, run, qr_one);
}

static const char *qr_routine(const lazy_call *call, neap_routine *out) {
    const char *lacks = ops_matrix_factor(call, NEAP_FACTOR_QR, out);
    out->factor.full = call->attrs[0] != 0;
    return lacks;
}

/* The parts of a node, or of its cotangent. */
static qr_parts qr_split(neap_ctx *ctx, const neap_node *node, neap_node *packed, neap_node **q, neap_node **r) {
    lazy_aval a = graph_node_aval(graph_node_in(node, 0));
    qr_parts p = qr_of(&a, graph_node_attrs(node));
    *q = ops_matrix_part(ctx, packed, 0, p.m, p.k);
    *r = ops_matrix_part(ctx, packed, p.m * p.k, p.k, p.n);
    return p;
}

static int qr_check_derivative(const qr_parts *p) {
    if (p->k == p->n)
        return NEAP_OK;
    return neap_error(
        NEAP_E_ARGUMENT,
        "qr: expected at least as many rows as columns, and mode \"reduced\" if more, to have a derivative; "
        "got q of shape (%lld, %lld) and r of shape (%lld, %lld)",
        (long long)p->m, (long long)p->k, (long long)p->k, (long long)p->n);
}

/* a R⁻¹ */
static neap_node *over_r(neap_ctx *ctx, neap_node *a, neap_node *r) {
    return ops_matrix_transpose(ctx, ops_matrix_solve_triangular(ctx, r, ops_matrix_transpose(ctx, a), false, true));
}

/* Ā = (Q̄ + conj(Q C)) R⁻ᵀ, C the Hermitian matrix with the lower triangle of R R̄ᵀ - Q̄ᵀ Q; cotangents are
 * conjugates of gradients. */
static int qr_grad(lazy_grad *g) {
    neap_ctx *ctx = g->ctx;
    neap_node *q, *r, *ct_q, *ct_r;
    qr_parts p = qr_split(ctx, g->node, g->node, &q, &r);
    int status = qr_check_derivative(&p);
    if (status)
        return status;
    qr_split(ctx, g->node, g->ct, &ct_q, &ct_r);
    neap_node *rr = ops_matrix_product(ctx, r, ops_matrix_transpose(ctx, ops_matrix_upper(ctx, ct_r, 0)));
    neap_node *m = ops_matrix_minus(ctx, rr, ops_matrix_product(ctx, ops_matrix_transpose(ctx, ct_q), q));
    neap_node *c = BUILD2(add, ops_matrix_lower(ctx, m, 0), ops_matrix_adjoint(ctx, ops_matrix_lower(ctx, m, -1)));
    if (c && neap_dtype_kind(graph_node_aval(c).dtype) == 'c')
        c = ops_matrix_diagonal_or(ctx, BUILD1(real, c), c, p.n);
    neap_node *qc = ops_matrix_conj(ctx, ops_matrix_product(ctx, q, c));
    neap_node *sum = ops_matrix_transpose(ctx, BUILD2(add, ct_q, qc));
    g->out[0] = ops_matrix_transpose(ctx, ops_matrix_solve_triangular(ctx, r, sum, false, false));
    return grad_done(g, 1);
}

/* With X = dA R⁻¹, C = Qᵀ X and Ω = lower(C) - lower(C)ᵀ: dQ = X + Q (Ω - C), dR = (C - Ω) R. */
static int qr_jvp(lazy_tangent *g) {
    neap_ctx *ctx = g->ctx;
    neap_node *q, *r;
    qr_parts p = qr_split(ctx, g->node, g->node, &q, &r);
    int status = qr_check_derivative(&p);
    if (status)
        return status;
    neap_node *x = over_r(ctx, g->in[0], r), *c = ops_matrix_product(ctx, ops_matrix_adjoint(ctx, q), x);
    neap_node *lower = ops_matrix_lower(ctx, c, -1);
    neap_node *rest = ops_matrix_minus(ctx, c, ops_matrix_minus(ctx, lower, ops_matrix_adjoint(ctx, lower)));
    if (rest && neap_dtype_kind(graph_node_aval(rest).dtype) == 'c') /* the diagonal of r stays real */
        rest = ops_matrix_diagonal_or(ctx, BUILD1(real, rest), rest, p.n);
    neap_node *dq = ops_matrix_minus(ctx, x, ops_matrix_product(ctx, q, rest));
    g->out = ops_matrix_pack(ctx, 2, (neap_node *[]){dq, ops_matrix_product(ctx, rest, r)});
    return jvp_done(g);
}

NEAP_OP(
    qr,
    .doc =
        "q and r with q r = a, q with orthonormal columns and r upper triangular, by LAPACK's geqrf, for each m × n "
        "matrix a of the last two axes: packed along one last axis, q (m × k) and then r (k × n), k = min(m, n), or m "
        "where `complete` is 1. The signs are LAPACK's. Derivatives: where r is square.",
    .attrs = "complete", .kind = LAZY_CALL, .arity = 1, .types = LAZY_INEXACT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .residual = LAZY_RESIDUAL_OUT, .dtype = graph_dtype_real,
    .shape = qr_shape, .call = qr_call, .library = ops_matrix_library, .routine = qr_routine, .cost = qr_cost,
    .grad = qr_grad, .jvp = qr_jvp, .batch = derive_batch_leading, .shard = shard_matrices)

/* ---- eigh -------------------------------------------------------------------------------------------------------- */
static int eigh_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = ops_matrix_check_square("eigh", &call->in[0]);
    status = status ? status : ops_matrix_check_attrs("eigh", call, 1);
    if (status)
        return status;
    status = graph_shape_same(call, out);
    out->shape[out->ndim - 2] = call->attrs[0] ? out->shape[out->ndim - 1] + 1 : 1;
    return status;
}

static int64_t eigh_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return factor_cost(call, call->attrs[0] ? 9 : 4. / 3);
}

/* Of complex matrices, by heev: in columns lies the conjugate matrix, whose vectors are conjugates. */
static int complex_eigh_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    const bool vectors = x->call->attrs[0] != 0;
    const int64_t n = x->n;
    const size_t part = x->item / 2;
    const void *a = ops_matrix_at(x, &x->call->in[0], index, n * n);
    char *out = ops_matrix_at(x, x->call->out, index, vectors ? n * (n + 1) : n);
    double answer[2] = {0};
    int info = 0, query = -1;
    x->lapack->heev(vectors ? "V" : "N", "U", &x->n, NULL, &x->n, NULL, answer, &query, NULL, &info, 1, 1);
    int lwork = ops_matrix_work_size(x, answer);
    const size_t bytes = (size_t)(n * n + lwork) * x->item + (size_t)(4 * n) * part;
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    char *columns = scratch, *work = columns + (size_t)(n * n) * x->item, *w = work + (size_t)lwork * x->item;
    char *rwork = w + (size_t)n * part;
    memcpy(columns, a, (size_t)(n * n) * x->item);
    if (ops_matrix_is_finite(x, a, n * n))
        x->lapack->heev(vectors ? "V" : "N", "U", &x->n, columns, &x->n, w, work, &lwork, rwork, &info, 1, 1);
    else
        info = 1;
    for (int64_t k = 0; k < n; k++)
        ops_matrix_set(x, out, k, info ? NAN : x->f64 ? ((double *)w)[k] : (double)((float *)w)[k]);
    char *v = out + (size_t)n * x->item;
    if (vectors && info)
        ops_matrix_fill(x, v, n * n, NAN);
    else if (vectors)
        ops_matrix_copy_transposed(x, v, columns, n, n, n);
    for (int64_t k = 0; k < n * n && vectors; k++)
        if (x->f64)
            ((double *)v)[2 * k + 1] = -((double *)v)[2 * k + 1];
        else
            ((float *)v)[2 * k + 1] = -((float *)v)[2 * k + 1];
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

static int eigh_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    if (x->complex)
        return complex_eigh_one(x, index, run);
    bool vectors = x->call->attrs[0] != 0;
    int64_t n = x->n;
    const char *job = vectors ? "V" : "N";
    double answer = 0;
    int info = 0, query = -1, liwork = 0;
    const void *a = ops_matrix_at(x, &x->call->in[0], index, n * n);
    char *out = ops_matrix_at(x, x->call->out, index, vectors ? n * (n + 1) : n);
    x->lapack->syevd(job, "U", &x->n, NULL, &x->n, NULL, &answer, &query, &liwork, &query, &info, 1, 1);
    int lwork = ops_matrix_work_size(x, &answer);
    size_t integers = ((size_t)liwork * sizeof(int) + 7) / 8 * 8;
    size_t bytes = integers + (size_t)(n * n + lwork) * x->item;
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    char *columns = (char *)scratch + integers, *work = columns + (size_t)(n * n) * x->item;
    memcpy(columns, a, (size_t)(n * n) * x->item);
    if (ops_matrix_is_finite(x, a, n * n)) {
        x->lapack->syevd(job, "U", &x->n, columns, &x->n, out, work, &lwork, scratch, &liwork, &info, 1, 1);
    } else {
        info = 1;
    }
    if (info)
        ops_matrix_fill(x, out, vectors ? n * (n + 1) : n, NAN);
    else if (vectors)
        ops_matrix_copy_transposed(x, out + (size_t)n * x->item, columns, n, n, n);
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

static int eigh_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each(call, run, eigh_one);
}

static const char *eigh_routine(const lazy_call *call, neap_routine *out) {
    const char *lacks = ops_matrix_factor(call, NEAP_FACTOR_EIGH, out);
    out->factor.vectors = call->attrs[0] != 0;
    return lacks;
}

/* w (…, n) and the matrix v of a node that has both; of one that has not: of the same matrix again. */
static void eigh_parts(neap_ctx *ctx, neap_node *node, neap_node **w, neap_node **v) {
    neap_node *a = graph_node_in(node, 0);
    int64_t n = graph_node_aval(a).shape[graph_node_aval(a).ndim - 1];
    if (!graph_node_attrs(node)[0])
        node = graph_build(ctx, LAZY_OP_eigh, 1, &a, 1, (int64_t[]){1});
    *w = ops_matrix_cut(ctx, node, -2, 0, 1);
    *v = ops_matrix_cut(ctx, node, -2, 1, n);
}

/* m[i][j] / (w[j] - w[i]) but on the diagonal, where it is `diagonal`; w is (…, 1, n). */
static neap_node *over_gaps(neap_ctx *ctx, neap_node *m, neap_node *w, neap_node *diagonal) {
    neap_node *gaps = ops_matrix_minus(ctx, w, ops_matrix_transpose(ctx, w));
    if (!gaps)
        return NULL;
    lazy_aval of = graph_node_aval(gaps);
    return ops_matrix_diagonal_or(ctx, diagonal, ops_matrix_quotient(ctx, m, gaps), ops_matrix_rows(&of));
}

/* Ā = conj(V) (diag(w̄) + F ∘ (Vᵀ V̄)) Vᵀ, F[i][j] = 1 / (w[j] - w[i]) and 0 on the diagonal. */
static int eigh_grad(lazy_grad *g) {
    neap_ctx *ctx = g->ctx;
    neap_node *w, *v, *ct_w = g->ct, *inner;
    eigh_parts(ctx, g->node, &w, &v);
    neap_node *vt = ops_matrix_transpose(ctx, v);
    if (graph_node_attrs(g->node)[0]) {
        int64_t n = graph_node_aval(g->ct).shape[graph_node_aval(g->ct).ndim - 1];
        ct_w = ops_matrix_cut(ctx, g->ct, -2, 0, 1);
        inner = ops_matrix_product(ctx, vt, ops_matrix_cut(ctx, g->ct, -2, 1, n));
        inner = ops_matrix_product(ctx, ops_matrix_conj(ctx, v), over_gaps(ctx, inner, w, ct_w));
    } else {
        inner = BUILD2(multiply, ops_matrix_conj(ctx, v), ct_w);
    }
    g->out[0] = ops_matrix_product(ctx, inner, vt);
    return grad_done(g, 1);
}

/* With M = Vᴴ dA V: dw = diag(M), dV = V (F ∘ M). */
static int eigh_jvp(lazy_tangent *g) {
    neap_ctx *ctx = g->ctx;
    neap_node *w, *v;
    eigh_parts(ctx, g->node, &w, &v);
    neap_node *m = ops_matrix_product(ctx, ops_matrix_adjoint(ctx, v), ops_matrix_product(ctx, g->in[0], v));
    neap_node *dw = ops_matrix_row(ctx, ops_matrix_diagonal(ctx, m));
    if (graph_node_attrs(g->node)[0]) {
        neap_node *dv = ops_matrix_product(ctx, v, over_gaps(ctx, m, w, NUMBER(0)));
        g->out = ops_matrix_join(ctx, -2, 2, (neap_node *[]){dw, dv});
    } else {
        g->out = dw;
    }
    return jvp_done(g);
}

NEAP_OP(
    eigh,
    .doc =
        "Eigenvalues w, ascending, and orthonormal eigenvectors of each Hermitian matrix of the last two axes, by "
        "LAPACK's syevd or heev, as (…, n + 1, n): w as the first row, and below it the matrix whose columns are the "
        "vectors; "
        "with `vectors` 0 only w, as (…, 1, n). Reads the lower triangle; differentiates as a function of symmetric "
        "matrices. Signs are LAPACK's.",
    .attrs = "vectors", .kind = LAZY_CALL, .arity = 1, .types = LAZY_INEXACT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .residual = LAZY_RESIDUAL_OUT | LAZY_RESIDUAL_IN0,
    .dtype = graph_dtype_real, .shape = eigh_shape, .call = eigh_call, .library = ops_matrix_library,
    .routine = eigh_routine, .cost = eigh_cost, .grad = eigh_grad, .jvp = eigh_jvp, .batch = derive_batch_leading,
    .shard = shard_matrices)

/* ---- svd --------------------------------------------------------------------------------------------------------- */
typedef struct svd_parts { /* u is m × mu, s has k values, vh is nv × n */
    int64_t m, n, k, mu, nv;
} svd_parts;

static svd_parts svd_of(int64_t m, int64_t n, const int64_t *attrs) {
    int64_t k = least(m, n);
    return (svd_parts){m, n, k, attrs[0] ? m : k, attrs[0] ? n : k};
}

static int svd_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = ops_matrix_check("svd", &call->in[0]);
    status = status ? status : ops_matrix_check_attrs("svd", call, 2);
    if (status)
        return status;
    svd_parts p = svd_of(ops_matrix_rows(&call->in[0]), ops_matrix_columns(&call->in[0]), call->attrs);
    out->shape[ops_matrix_batch_shape(&call->in[0], out)] = call->attrs[1] ? p.m * p.mu + p.k + p.nv * p.n : p.k;
    out->ndim++;
    return NEAP_OK;
}

static int64_t svd_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return factor_cost(call, call->attrs[1] ? 14 : 4);
}

/* Of complex matrices, by gesvd. */
static int complex_svd_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    const int64_t *attrs = x->call->attrs;
    const svd_parts p = svd_of(x->m, x->n, attrs);
    const int64_t in = p.m * p.n, size = attrs[1] ? p.m * p.mu + p.k + p.nv * p.n : p.k;
    const char *job = !attrs[1] ? "N" : attrs[0] ? "A" : "S";
    const size_t part = x->item / 2;
    const void *a = ops_matrix_at(x, &x->call->in[0], index, in);
    char *out = ops_matrix_at(x, x->call->out, index, size);
    char *s = out + (attrs[1] ? (size_t)(p.m * p.mu) * x->item : 0), *vh = s + (size_t)p.k * x->item;
    double answer[2] = {0};
    int info = 0, query = -1, ldvt = p.mu > 0 ? (int)p.mu : 1;
    x->lapack->gesvd(job, job, &x->n, &x->m, NULL, &x->n, NULL, NULL, &x->n, NULL, &ldvt, answer, &query, NULL, &info,
                     1, 1);
    int lwork = ops_matrix_work_size(x, answer);
    const size_t bytes = (size_t)(in + lwork) * x->item + (size_t)(6 * p.k) * part;
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    char *columns = scratch, *work = columns + (size_t)in * x->item, *values = work + (size_t)lwork * x->item;
    memcpy(columns, a, (size_t)in * x->item);
    if (ops_matrix_is_finite(x, a, in))
        x->lapack->gesvd(job, job, &x->n, &x->m, columns, &x->n, values, vh, &x->n, out, &ldvt, work, &lwork,
                         values + (size_t)p.k * part, &info, 1, 1);
    else
        info = 1;
    for (int64_t k = 0; k < p.k; k++)
        ops_matrix_set(x, s, k, x->f64 ? ((double *)values)[k] : (double)((float *)values)[k]);
    if (info)
        ops_matrix_fill(x, out, size, NAN);
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

/* In columns the matrix is aᵀ = V S Uᵀ, so LAPACK's left vectors are V, and its columns are the rows of vh here. */
static int svd_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    const int64_t *attrs = x->call->attrs;
    svd_parts p = svd_of(x->m, x->n, attrs);
    int64_t in = p.m * p.n, size = attrs[1] ? p.m * p.mu + p.k + p.nv * p.n : p.k;
    const char *job = !attrs[1] ? "N" : attrs[0] ? "A" : "S";
    char *out = ops_matrix_at(x, x->call->out, index, size), *s = out + (attrs[1] ? (size_t)(p.m * p.mu) * x->item : 0);
    char *vh = s + (size_t)p.k * x->item;
    const void *a = ops_matrix_at(x, &x->call->in[0], index, in);
    if (p.k == 0) { /* LAPACK leaves bases of nothing out */
        if (p.mu > 0)
            ops_matrix_unit(x, out, p.mu);
        if (p.nv > 0)
            ops_matrix_unit(x, vh, p.nv);
        return NEAP_OK;
    }
    if (x->complex)
        return complex_svd_one(x, index, run);
    double answer = 0;
    int info = 0, query = -1, ldvt = (int)p.mu;
    x->lapack->gesdd(job, &x->n, &x->m, NULL, &x->n, NULL, NULL, &x->n, NULL, &ldvt, &answer, &query, NULL, &info, 1);
    int lwork = ops_matrix_work_size(x, &answer);
    size_t integers = (size_t)p.k * 8 * sizeof(int), bytes = integers + (size_t)(in + lwork) * x->item;
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    char *columns = (char *)scratch + integers, *work = columns + (size_t)in * x->item;
    memcpy(columns, a, (size_t)in * x->item);
    if (ops_matrix_is_finite(x, a, in)) {
        x->lapack->gesdd(job, &x->n, &x->m, columns, &x->n, s, vh, &x->n, out, &ldvt, work, &lwork, scratch, &info, 1);
    } else {
        info = 1;
    }
    if (info)
        ops_matrix_fill(x, out, size, NAN);
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

static int svd_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each(call, run, svd_one);
}

static const char *svd_routine(const lazy_call *call, neap_routine *out) {
    const char *lacks = ops_matrix_factor(call, NEAP_FACTOR_SVD, out);
    out->factor.full = call->attrs[0] != 0;
    out->factor.vectors = call->attrs[1] != 0;
    return lacks;
}

/* The parts of a packed node with vectors; s is (…, 1, k). */
static void svd_split(neap_ctx *ctx, const svd_parts *p, neap_node *packed, neap_node **u, neap_node **s,
                      neap_node **vh) {
    *u = ops_matrix_part(ctx, packed, 0, p->m, p->mu);
    *s = ops_matrix_part(ctx, packed, p->m * p->mu, 1, p->k);
    *vh = ops_matrix_part(ctx, packed, p->m * p->mu + p->k, p->nv, p->n);
}

static svd_parts svd_parts_of(const neap_node *node) {
    lazy_aval a = graph_node_aval(graph_node_in(node, 0));
    return svd_of(ops_matrix_rows(&a), ops_matrix_columns(&a), graph_node_attrs(node));
}

static int svd_check_derivative(const neap_node *node, const svd_parts *p) {
    if (neap_dtype_kind(graph_node_aval(node).dtype) == 'c')
        return neap_error(NEAP_E_DTYPE,
                          "svd: singular vectors of complex matrices have no derivative, values no tangent; "
                          "np.linalg.svdvals has a gradient");
    if (p->mu == p->k && p->nv == p->k)
        return NEAP_OK;
    return neap_error(NEAP_E_ARGUMENT,
                      "svd: expected full_matrices=false to have a derivative; got full matrices of a matrix of shape "
                      "(%lld, %lld)",
                      (long long)p->m, (long long)p->n);
}

/* A node with vectors for the matrix of a node without. */
static neap_node *svd_with_vectors(neap_ctx *ctx, const neap_node *node) {
    neap_node *a = graph_node_in(node, 0);
    return graph_build(ctx, LAZY_OP_svd, 1, &a, 2, (int64_t[]){0, 1});
}

/* s[j]² - s[i]² */
static neap_node *svd_gaps(neap_ctx *ctx, neap_node *s) {
    neap_node *column = ops_matrix_transpose(ctx, s);
    return graph_build2(ctx, LAZY_OP_multiply, ops_matrix_minus(ctx, s, column),
                        graph_build2(ctx, LAZY_OP_add, s, column));
}

/* a - aᵀ */
static neap_node *antisymmetric(neap_ctx *ctx, neap_node *a) {
    return ops_matrix_minus(ctx, a, ops_matrix_transpose(ctx, a));
}

static neap_node *zero_diagonal(neap_ctx *ctx, neap_node *a, int64_t n) {
    return ops_matrix_diagonal_or(ctx, graph_build_number(ctx, 0), a, n);
}

/* Singular values alone: Ā = U diag(s̄) Vᵀ. */
static int svdvals_grad(lazy_grad *g) {
    neap_node *u, *s, *vh;
    svd_parts p = svd_of(svd_parts_of(g->node).m, svd_parts_of(g->node).n, (int64_t[]){0, 1});
    svd_split(g->ctx, &p, svd_with_vectors(g->ctx, g->node), &u, &s, &vh);
    neap_node *a = ops_matrix_product(g->ctx, BUILD2(multiply, u, ops_matrix_row(g->ctx, g->ct)), vh);
    g->out[0] = ops_matrix_conj(g->ctx, a);
    return grad_done(g, 1);
}

/* With A₁ = Uᵀ Ū, A₂ = Vᵀ V̄, and F[i][j] = 1 / (s[j]² - s[i]²), 0 on the diagonal:
 * Ā = U ((F ∘ (A₁ - A₁ᵀ)) S + S (F ∘ (A₂ - A₂ᵀ)) + diag(s̄)) Vᵀ + (Ū - U A₁) S⁻¹ Vᵀ + U S⁻¹ (V̄ᵀ - A₂ᵀ Vᵀ) */
static int svd_grad(lazy_grad *g) {
    neap_ctx *ctx = g->ctx;
    if (!graph_node_attrs(g->node)[1])
        return svdvals_grad(g);
    svd_parts p = svd_parts_of(g->node);
    int status = svd_check_derivative(g->node, &p);
    if (status)
        return status;
    neap_node *u, *s, *vh, *ct_u, *ct_s, *ct_vh;
    svd_split(ctx, &p, g->node, &u, &s, &vh);
    svd_split(ctx, &p, g->ct, &ct_u, &ct_s, &ct_vh);
    neap_node *a1 = ops_matrix_product(ctx, ops_matrix_transpose(ctx, u), ct_u);
    neap_node *a2t = ops_matrix_product(ctx, ct_vh, ops_matrix_transpose(ctx, vh));
    neap_node *gaps = svd_gaps(ctx, s), *column = ops_matrix_transpose(ctx, s);
    neap_node *left = BUILD2(multiply, ops_matrix_quotient(ctx, antisymmetric(ctx, a1), gaps), s);
    neap_node *right =
        BUILD2(multiply, column, ops_matrix_quotient(ctx, antisymmetric(ctx, ops_matrix_transpose(ctx, a2t)), gaps));
    neap_node *core = ops_matrix_diagonal_or(ctx, ct_s, BUILD2(add, left, right), p.k);
    neap_node *sum = ops_matrix_product(ctx, u, core), *over = ops_matrix_reciprocal(ctx, s);
    if (p.m > p.k) {
        neap_node *rest = ops_matrix_minus(ctx, ct_u, ops_matrix_product(ctx, u, a1));
        sum = BUILD2(add, sum, BUILD2(multiply, rest, over));
    }
    g->out[0] = ops_matrix_product(ctx, sum, vh);
    if (p.n > p.k) {
        neap_node *rest = ops_matrix_minus(ctx, ct_vh, ops_matrix_product(ctx, a2t, vh));
        rest = BUILD2(multiply, ops_matrix_transpose(ctx, over), rest);
        g->out[0] = BUILD2(add, g->out[0], ops_matrix_product(ctx, u, rest));
    }
    return grad_done(g, 1);
}

/* With P = Uᵀ dA V: ds = diag(P), dU = U (F ∘ (P S + S Pᵀ)) + (I - U Uᵀ) dA V S⁻¹, and dV the same of dAᵀ. */
static int svd_jvp(lazy_tangent *g) {
    neap_ctx *ctx = g->ctx;
    bool vectors = graph_node_attrs(g->node)[1] != 0;
    svd_parts p = svd_parts_of(g->node);
    bool complex = neap_dtype_kind(graph_node_aval(g->node).dtype) == 'c';
    int status = vectors || complex ? svd_check_derivative(g->node, &p) : NEAP_OK;
    if (status)
        return status;
    neap_node *u, *s, *vh;
    if (!vectors)
        p = svd_of(p.m, p.n, (int64_t[]){0, 1});
    svd_split(ctx, &p, vectors ? g->node : svd_with_vectors(ctx, g->node), &u, &s, &vh);
    neap_node *ut = ops_matrix_transpose(ctx, u), *uta = ops_matrix_product(ctx, ut, g->in[0]);
    neap_node *inner = ops_matrix_product(ctx, uta, ops_matrix_transpose(ctx, vh));
    neap_node *ds = ops_matrix_diagonal(ctx, inner);
    if (!vectors) {
        g->out = ds;
        return jvp_done(g);
    }
    neap_node *inner_t = ops_matrix_transpose(ctx, inner), *column = ops_matrix_transpose(ctx, s);
    neap_node *gaps = svd_gaps(ctx, s), *over = ops_matrix_reciprocal(ctx, s);
    neap_node *of_u = BUILD2(add, BUILD2(multiply, inner, s), BUILD2(multiply, column, inner_t));
    neap_node *of_v = BUILD2(add, BUILD2(multiply, column, inner), BUILD2(multiply, inner_t, s));
    neap_node *du = ops_matrix_product(ctx, u, zero_diagonal(ctx, ops_matrix_quotient(ctx, of_u, gaps), p.k));
    neap_node *dvh = ops_matrix_product(
        ctx, ops_matrix_transpose(ctx, zero_diagonal(ctx, ops_matrix_quotient(ctx, of_v, gaps), p.k)), vh);
    if (p.m > p.k) {
        neap_node *av = ops_matrix_product(ctx, g->in[0], ops_matrix_transpose(ctx, vh));
        av = ops_matrix_minus(ctx, av, ops_matrix_product(ctx, u, inner));
        du = BUILD2(add, du, BUILD2(multiply, av, over));
    }
    if (p.n > p.k) {
        uta = ops_matrix_minus(ctx, uta, ops_matrix_product(ctx, inner, vh));
        dvh = BUILD2(add, dvh, BUILD2(multiply, ops_matrix_transpose(ctx, over), uta));
    }
    g->out = ops_matrix_pack(ctx, 3, (neap_node *[]){du, ops_matrix_row(ctx, ds), dvh});
    return jvp_done(g);
}

NEAP_OP(
    svd,
    .doc =
        "Singular values s, descending, and vectors u, vh with u diag(s) vh = a, for each m × n matrix a of the last "
        "two axes, by LAPACK's gesdd: packed along one last axis, u (m × k), s (k), vh (k × n), k = min(m, n); where "
        "`full` is 1, u is m × m and vh n × n; where `vectors` is 0, only s. Signs are LAPACK's. Derivatives: not of "
        "full vectors of matrices that are not square.",
    .attrs = "full vectors", .kind = LAZY_CALL, .arity = 1, .types = LAZY_INEXACT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .residual = LAZY_RESIDUAL_OUT | LAZY_RESIDUAL_IN0,
    .dtype = graph_dtype_real, .shape = svd_shape, .call = svd_call, .library = ops_matrix_library,
    .routine = svd_routine, .cost = svd_cost, .grad = svd_grad, .jvp = svd_jvp, .batch = derive_batch_leading,
    .shard = shard_matrices)

/* ---- pinv -------------------------------------------------------------------------------------------------------- */
static int pinv_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *a = &call->in[0], *p = &call->in[1];
    int status = ops_matrix_check("pinv", a);
    status = status ? status : ops_matrix_check("pinv", p);
    status = status ? status : ops_matrix_check_batch("pinv", a, p);
    char text[256];
    if (status == 0 && (ops_matrix_rows(a) != ops_matrix_columns(p) || ops_matrix_columns(a) != ops_matrix_rows(p)))
        return neap_error(NEAP_E_SHAPE, "pinv: expected a pseudoinverse of %lld rows and %lld columns, got shape %s",
                          (long long)ops_matrix_columns(a), (long long)ops_matrix_rows(a),
                          graph_shape_text(p->ndim, p->shape, text, sizeof text));
    if (status == 0)
        memcpy(out->shape, p->shape, p->ndim * sizeof *p->shape);
    out->ndim = p->ndim;
    return status;
}

static int pinv_call(const lazy_call *call, const neap_run *run) {
    (void)run;
    if (call->out->size)
        memcpy(call->out->data, call->in[1].data, (size_t)(call->out->size * neap_dtype_bytes(call->out->dtype)));
    return NEAP_OK;
}

/* a - b c */
static neap_node *minus_product(neap_ctx *ctx, neap_node *a, neap_node *b, neap_node *c) {
    return ops_matrix_minus(ctx, a, ops_matrix_product(ctx, b, c));
}

/* With P = A⁺: Ā = -Pᵀ P̄ Pᵀ + (I - A P) P̄ᵀ P Pᵀ + Pᵀ P P̄ᵀ (I - P A) */
static int pinv_grad(lazy_grad *g) {
    neap_ctx *ctx = g->ctx;
    neap_node *a = INPUT(0), *p = g->node, *pt = ops_matrix_transpose(ctx, p);
    neap_node *ct_t = ops_matrix_transpose(ctx, g->ct);
    g->wants[1] = false;
    if (g->wants[0]) {
        neap_node *first = ops_matrix_product(ctx, ops_matrix_product(ctx, pt, g->ct), pt);
        neap_node *second = ops_matrix_product(ctx, ops_matrix_product(ctx, ct_t, p), pt);
        second = minus_product(ctx, second, a, ops_matrix_product(ctx, p, second));
        neap_node *third = ops_matrix_product(ctx, pt, ops_matrix_product(ctx, p, ct_t));
        third = minus_product(ctx, third, ops_matrix_product(ctx, third, p), a);
        g->out[0] = ops_matrix_minus(ctx, BUILD2(add, second, third), first);
    }
    return grad_done(g, 2);
}

/* dP = -P dA P + P Pᵀ dAᵀ (I - A P) + (I - P A) dAᵀ Pᵀ P */
static int pinv_jvp(lazy_tangent *g) {
    neap_ctx *ctx = g->ctx;
    if (!g->in[0])
        return NEAP_OK;
    neap_node *a = INPUT(0), *p = g->node, *pt = ops_matrix_transpose(ctx, p);
    neap_node *da_t = ops_matrix_transpose(ctx, g->in[0]);
    neap_node *first = ops_matrix_product(ctx, ops_matrix_product(ctx, p, g->in[0]), p);
    neap_node *second = ops_matrix_product(ctx, p, ops_matrix_product(ctx, pt, da_t));
    second = minus_product(ctx, second, ops_matrix_product(ctx, second, a), p);
    neap_node *third = ops_matrix_product(ctx, ops_matrix_product(ctx, da_t, pt), p);
    third = minus_product(ctx, third, p, ops_matrix_product(ctx, a, third));
    g->out = ops_matrix_minus(ctx, BUILD2(add, second, third), first);
    return jvp_done(g);
}

NEAP_OP(pinv,
        .doc = "The second input, the pseudoinverse of the first, with the derivative of a pseudoinverse: for matrices "
               "whose rank does not change nearby.",
        .kind = LAZY_CALL, .arity = 2, .types = LAZY_REAL, .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE,
        .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT, .dtype = graph_dtype_real, .shape = pinv_shape,
        .call = pinv_call, .grad = pinv_grad, .jvp = pinv_jvp, .batch = derive_batch_leading, .shard = shard_matrices)
