/* least.c: least squares by LAPACK.
 *
 * The solution of least norm depends on how many singular values count as zeros. Most matrices are far from the
 * limit: a triangular factor (gels) is enough for those, whose condition is at most the root of that in the 1-norm by
 * that in the infinity-norm, which are estimated (trcon). Of others a QR factorization with exchanged columns (gelsy)
 * estimates the condition itself, in three times as long. Only where this comes near the limit are singular values
 * computed (gelsd), in three times as long again.
 *
 * Derivatives: those of A⁺b for a rank that stays, by the derivative of the pseudoinverse (spectral.c). Each A⁺ in it
 * is a least squares problem of its own, and (A⁺)ᵀ = (Aᵀ)⁺, so the rule needs no other op. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/derive/derive.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/matrix.h"

enum {
    FAR = 16,  /* how much larger than the limit the estimated condition's inverse has to be, */
    BOUND = 4, /* and that of a bound of the condition */
    BLOCK = 64 /* columns of LAPACK's blocks, at most */
};

static int lstsq_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *a = &call->in[0], *b = &call->in[1], *limit = &call->in[2];
    int status = ops_matrix_check("lstsq", a);
    for (int k = 1; k < 3; k++) {
        status = status ? status : ops_matrix_check("lstsq", &call->in[k]);
        status = status ? status : ops_matrix_check_batch("lstsq", a, &call->in[k]);
    }
    if (status == 0 && ops_matrix_rows(a) != ops_matrix_rows(b))
        return neap_error(NEAP_E_SHAPE, "lstsq: expected right sides of %lld rows, got %lld",
                          (long long)ops_matrix_rows(a), (long long)ops_matrix_rows(b));
    if (status == 0 && (ops_matrix_rows(limit) != 1 || ops_matrix_columns(limit) != 1))
        return neap_error(NEAP_E_SHAPE, "lstsq: expected one limit for each matrix");
    if (status)
        return status;
    ops_matrix_batch_shape(a, out);
    out->shape[out->ndim++] = ops_matrix_columns(a);
    out->shape[out->ndim++] = ops_matrix_columns(b);
    return NEAP_OK;
}

static int64_t lstsq_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    double m = (double)ops_matrix_rows(&call->in[0]), n = (double)ops_matrix_columns(&call->in[0]);
    return ops_matrix_cost(&call->in[0], 4 * m * n * (m < n ? m : n));
}

typedef struct problem { /* one matrix, in columns */
    const lazy_matrices *x;
    const void *from, *right;
    double limit;
    int m, n, k, least, most; /* k: right sides; rows and columns: the smaller, the larger number */
    void *a, *b;              /* m × n; most × k, the solution in the first n rows */
} problem;

/* The matrix and its right sides in columns, as LAPACK overwrites them. */
static void fill_columns(const problem *p) {
    const size_t item = p->x->item;
    ops_matrix_copy_transposed(p->x, p->a, p->from, p->m, p->n, p->n);
    for (int64_t j = 0; j < p->k; j++)
        for (int64_t i = 0; i < p->m; i++)
            memcpy((char *)p->b + (size_t)(j * p->most + i) * item,
                   (const char *)p->right + (size_t)(i * p->k + j) * item, item);
}

/* Whether a bound of its condition says that the matrix is far from a lower rank; its solution then. */
static bool solve_farther(const problem *p, const neap_run *run, int *status) {
    const lazy_matrices *x = p->x;
    const char *half = p->m < p->n ? "L" : "U";
    double inverse[2] = {0, 0}, wanted = p->limit * BOUND;
    int info = 0, ignored = 0, size = p->least + BLOCK * (p->least > p->k ? p->least : p->k);
    ops_matrix_scratch scratch;
    char *work = ops_matrix_take_scratch(&scratch, run, (size_t)size * x->item + (size_t)p->least * sizeof(double));
    if (!work) {
        *status = NEAP_E_MEMORY;
        return false;
    }
    int *integers = (int *)work;
    work += (size_t)p->least * sizeof(double);
    fill_columns(p);
    x->lapack->gels("N", &p->m, &p->n, &p->k, p->a, &p->m, p->b, &p->most, work, &size, &info, 1);
    for (int k = 0; k < 2 && info == 0; k++) {
        double given[1];
        x->lapack->trcon(k ? "I" : "1", half, "N", &p->least, p->a, &p->m, given, work, integers, &ignored, 1, 1, 1);
        inverse[k] = ops_matrix_get(x, given, 0);
    }
    ops_matrix_give_scratch(&scratch, run);
    return info == 0 && inverse[0] * inverse[1] > wanted * wanted;
}

/* Whether the matrix is far from a lower rank; its solution then. */
static bool solve_far(const problem *p, const neap_run *run, int *status) {
    const lazy_matrices *x = p->x;
    double wanted = p->limit * FAR, given[1];
    int rank = 0, info = 0, size = 2 * p->least + BLOCK * (p->most + 1 + p->k) + p->n;
    ops_matrix_scratch scratch;
    if (!(wanted < 1))
        return false;
    int *columns = ops_matrix_take_scratch(&scratch, run, (size_t)p->n * sizeof(double) + (size_t)size * x->item);
    if (!columns) {
        *status = NEAP_E_MEMORY;
        return false;
    }
    memset(columns, 0, (size_t)p->n * sizeof *columns);
    fill_columns(p);
    ops_matrix_set(x, given, 0, wanted);
    x->lapack->gelsy(&p->m, &p->n, &p->k, p->a, &p->m, p->b, &p->most, columns, given, &rank, (double *)columns + p->n,
                     &size, &info);
    ops_matrix_give_scratch(&scratch, run);
    return info == 0 && rank == p->least;
}

/* By singular values. *converged: they were found. */
static int solve_near(const problem *p, const neap_run *run, bool *converged) {
    const lazy_matrices *x = p->x;
    double given[1], answer[1];
    int rank = 0, info = 0, size = -1, integers = 0;
    ops_matrix_set(x, given, 0, p->limit);
    x->lapack->gelsd(&p->m, &p->n, &p->k, p->a, &p->m, p->b, &p->most, p->a, given, &rank, answer, &size, &integers,
                     &info);
    size = ops_matrix_work_size(x, answer);
    ops_matrix_scratch scratch;
    size_t values = (size_t)p->least * sizeof(double), integer_bytes = ((size_t)integers + 1) * sizeof(double);
    char *work = ops_matrix_take_scratch(&scratch, run, values + integer_bytes + (size_t)size * x->item);
    if (!work)
        return NEAP_E_MEMORY;
    fill_columns(p);
    x->lapack->gelsd(&p->m, &p->n, &p->k, p->a, &p->m, p->b, &p->most, work, given, &rank,
                     work + values + integer_bytes, &size, (int *)(work + values), &info);
    ops_matrix_give_scratch(&scratch, run);
    *converged = info == 0;
    return NEAP_OK;
}

static int solve_problem(const problem *p, void *out, const neap_run *run) {
    int status = NEAP_OK;
    bool solved = solve_farther(p, run, &status);
    solved = solved || status ? solved : solve_far(p, run, &status);
    status = solved || status ? status : solve_near(p, run, &solved);
    if (!solved)
        ops_matrix_fill(p->x, out, (int64_t)p->n * p->k, NAN);
    const size_t item = p->x->item;
    for (int64_t j = 0; solved && j < p->k; j++)
        for (int64_t i = 0; i < p->n; i++)
            memcpy((char *)out + (size_t)(i * p->k + j) * item, (const char *)p->b + (size_t)(j * p->most + i) * item,
                   item);
    return status;
}

static int lstsq_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    const lazy_tensor *b = &x->call->in[1];
    problem p = {.x = x, .m = x->m, .n = x->n, .k = (int)b->shape[b->ndim - 1]};
    int64_t elements = (int64_t)p.m * p.n, sides = (int64_t)p.m * p.k;
    void *out = ops_matrix_at(x, x->call->out, index, (int64_t)p.n * p.k);
    p.least = p.m < p.n ? p.m : p.n;
    p.most = p.m < p.n ? p.n : p.m;
    p.from = ops_matrix_at(x, &x->call->in[0], index, elements);
    p.right = ops_matrix_at(x, b, index, sides);
    p.limit = ops_matrix_get(x, ops_matrix_at(x, &x->call->in[2], index, 1), 0);
    p.limit = p.limit <= 0 ? FLT_MIN : p.limit; /* LAPACK has a limit of its own for 0, and for 1 and above */
    bool known =
        !isnan(p.limit) && ops_matrix_is_finite(x, p.from, elements) && ops_matrix_is_finite(x, p.right, sides);
    if (p.least == 0 || !known || p.limit >= 1) {
        ops_matrix_fill(x, out, (int64_t)p.n * p.k, p.least == 0 || known ? 0 : NAN);
        return NEAP_OK;
    }
    ops_matrix_scratch scratch;
    size_t of_a = ((size_t)elements * x->item + sizeof(double) - 1) / sizeof(double) * sizeof(double);
    p.a = ops_matrix_take_scratch(&scratch, run, of_a + (size_t)p.most * (size_t)p.k * x->item);
    if (!p.a)
        return NEAP_E_MEMORY;
    p.b = (char *)p.a + of_a;
    int status = solve_problem(&p, out, run);
    ops_matrix_give_scratch(&scratch, run);
    return status;
}

static int lstsq_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each(call, run, lstsq_one);
}

/* a⁺ b */
static neap_node *least(neap_ctx *ctx, neap_node *a, neap_node *b, neap_node *limit) {
    return graph_build3(ctx, LAZY_OP_lstsq, a, b, limit);
}

static neap_node *rest(neap_ctx *ctx, neap_node *b, neap_node *a, neap_node *x) {
    return ops_matrix_minus(ctx, b, ops_matrix_product(ctx, a, x));
}

/* With w = (Aᵀ)⁺ X̄: B̄ = w, Ā = -w Xᵀ + (B - A X) (A⁺ w)ᵀ + (Aᵀ)⁺ X (X̄ - Aᵀ w)ᵀ. */
static int lstsq_grad(lazy_grad *g) {
    neap_ctx *ctx = g->ctx;
    neap_node *a = INPUT(0), *at = ops_matrix_transpose(ctx, a), *x = g->node, *limit = INPUT(2);
    neap_node *w = least(ctx, at, g->ct, limit);
    if (g->wants[0]) {
        neap_node *z = ops_matrix_transpose(ctx, least(ctx, a, w, limit));
        neap_node *y = ops_matrix_transpose(ctx, rest(ctx, g->ct, at, w));
        neap_node *first = ops_matrix_product(ctx, rest(ctx, INPUT(1), a, x), z);
        neap_node *second = ops_matrix_product(ctx, least(ctx, at, x, limit), y);
        g->out[0] = rest(ctx, BUILD2(add, first, second), w, ops_matrix_transpose(ctx, x));
    }
    if (g->wants[1])
        g->out[1] = w;
    g->wants[2] = false;
    return grad_done(g, 3);
}

/* With q = dAᵀ (Aᵀ)⁺ X: dX = A⁺ (dB - dA X + (Aᵀ)⁺ dAᵀ (B - A X) - A q) + q. */
static int lstsq_jvp(lazy_tangent *g) {
    neap_ctx *ctx = g->ctx;
    neap_node *a = INPUT(0), *at = ops_matrix_transpose(ctx, a), *x = g->node, *limit = INPUT(2);
    if (!g->in[0] && !g->in[1])
        return NEAP_OK;
    if (!g->in[0]) {
        g->out = least(ctx, a, g->in[1], limit);
        return jvp_done(g);
    }
    neap_node *da = g->in[0], *da_t = ops_matrix_transpose(ctx, da);
    neap_node *q = ops_matrix_product(ctx, da_t, least(ctx, at, x, limit));
    neap_node *moved = least(ctx, at, ops_matrix_product(ctx, da_t, rest(ctx, INPUT(1), a, x)), limit);
    moved = rest(ctx, rest(ctx, moved, da, x), a, q);
    moved = g->in[1] ? BUILD2(add, g->in[1], moved) : moved;
    g->out = BUILD2(add, least(ctx, a, moved, limit), q);
    return jvp_done(g);
}

NEAP_OP(
    lstsq,
    .doc = "For matrices a (…, m, n), b (…, m, k) and limits (…, 1, 1): the x of least norm among those that minimise "
           "|a x - b|, singular values of at most the limit times the largest counting as zeros; by LAPACK's gels, and "
           "by gelsy and gelsd near the limit. The derivative is that for a rank that stays. NaN where an element is "
           "not finite.",
    .kind = LAZY_CALL, .arity = 3, .types = LAZY_REAL, .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1 | LAZY_RESIDUAL_IN2 | LAZY_RESIDUAL_OUT,
    .dtype = graph_dtype_real, .shape = lstsq_shape, .call = lstsq_call, .library = ops_matrix_library,
    .cost = lstsq_cost, .grad = lstsq_grad, .jvp = lstsq_jvp, .batch = derive_batch_leading, .shard = shard_matrices)
