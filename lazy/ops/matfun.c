/* matfun.c: functions of any square matrices, the square root and the logarithm, by the Schur form of LAPACK's gees:
 * A = Z T Zᴴ with an upper triangular T, so f(A) = Z f(T) Zᴴ. All is computed in f64 and rounded once. The derivative
 * in the direction E is the block above the diagonal of f of ((A, E), (0, A)).
 *
 * N. Higham, Functions of Matrices, 2008: the recurrence of Björck and Hammarling for roots (6.2), inverse scaling and
 * squaring with a Padé approximant in partial fractions for logarithms (11.5).
 */
#include <complex.h>
#undef complex /* a name elsewhere */
#include <math.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/matrix.h"

enum { SQRT, LOG, FUNCTIONS };
enum { NODES = 7, MOST_ROOTS = 100 };

#define NEAR_ONE 0.2640 /* the 1-norm of T - I up to which the approximant with so many nodes is exact in f64 */

/* Of the Gauss-Legendre rule on [0, 1]: the logarithm of I + X is nearly the sum of weight · X (I + node · X)⁻¹. */
static const double node_of[NODES] = {0.025446043828620737737, 0.12923440720030278007, 0.29707742431130141655, 0.5,
                                      0.70292257568869858345,  0.87076559279969721993, 0.97455395617137926226};
static const double weight_of[NODES] = {0.064742483084434846635, 0.13985269574463833395, 0.19091502525255947248,
                                        0.20897959183673469388,  0.19091502525255947248, 0.13985269574463833395,
                                        0.064742483084434846635};

static int matfun_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = ops_matrix_check_square("matrix_function", &call->in[0]);
    status = status ? status : ops_matrix_check_attrs("matrix_function", call, 1);
    if (status == 0 && (call->attrs[0] < 0 || call->attrs[0] >= FUNCTIONS))
        status = neap_error(NEAP_E_ARGUMENT, "matrix_function: no function has this number");
    return status ? status : graph_shape_same(call, out);
}

static int64_t matfun_cost(const lazy_call_desc *call, const lazy_result *out) {
    double n = (double)ops_matrix_columns(&call->in[0]);
    (void)out;
    return ops_matrix_cost(&call->in[0], (call->attrs[0] == LOG ? 400 : 150) * n * n * n);
}

/* ---- Upper triangular matrices, column by column; what is below the diagonal is neither read nor written --------- */
static neap_c128 product(neap_c128 a, neap_c128 b) {
    return CMPLX(creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b));
}

/* r r = t; r may be t. */
static void triangular_root(neap_c128 *r, const neap_c128 *t, int64_t n) {
    for (int64_t j = 0; j < n; j++) {
        r[j * n + j] = csqrt(t[j * n + j]);
        for (int64_t i = j - 1; i >= 0; i--) {
            neap_c128 sum = t[j * n + i];
            for (int64_t k = i + 1; k < j; k++)
                sum -= product(r[k * n + i], r[j * n + k]);
            r[j * n + i] = sum == 0 ? 0 : sum / (r[i * n + i] + r[j * n + j]);
        }
    }
}

static double distance_to_one(const neap_c128 *t, int64_t n) {
    double most = 0;
    for (int64_t j = 0; j < n; j++) {
        double sum = cabs(t[j * n + j] - 1);
        for (int64_t i = 0; i < j; i++)
            sum += cabs(t[j * n + i]);
        most = sum > most ? sum : most;
    }
    return most;
}

/* Column j of log t above the diagonal, times 2^-roots, where x = t^(2^-roots) - I; `column` has room for one. */
static void add_log_column(neap_c128 *out, const neap_c128 *x, int64_t n, int64_t j, double scale, neap_c128 *column) {
    for (int k = 0; k < NODES; k++) {
        memcpy(column, x + j * n, (size_t)(j + 1) * sizeof *column);
        for (int64_t i = j; i >= 0; i--) { /* (I + node · x)⁻¹ of it */
            column[i] /= 1 + node_of[k] * x[i * n + i];
            for (int64_t l = 0; l < i; l++)
                column[l] -= product(node_of[k] * x[i * n + l], column[i]);
        }
        for (int64_t i = 0; i < j; i++)
            out[j * n + i] += scale * weight_of[k] * column[i];
    }
}

/* out = log t; t is overwritten, `column` has room for one. */
static void triangular_log(neap_c128 *out, neap_c128 *t, int64_t n, neap_c128 *column) {
    int roots = 0;
    for (int64_t k = 0; k < n; k++)
        out[k * n + k] = clog(t[k * n + k]);
    for (; roots < MOST_ROOTS && distance_to_one(t, n) > NEAR_ONE; roots++)
        triangular_root(t, t, n);
    for (int64_t k = 0; k < n; k++)
        t[k * n + k] -= 1;
    for (int64_t j = 1; j < n; j++) {
        memset(out + j * n, 0, (size_t)j * sizeof *out);
        add_log_column(out, t, n, j, ldexp(1, roots), column);
    }
}

/* ---- Any matrices ------------------------------------------------------------------------------------------------ */
/* A matrix by rows as columns of f64; whether all of it is finite. */
static bool read_columns(const lazy_matrices *x, neap_c128 *to, const void *from) {
    bool finite = true;
    for (int64_t i = 0; i < x->n; i++)
        for (int64_t j = 0; j < x->n; j++) {
            int64_t k = i * x->n + j;
            neap_c128 value = x->f64 ? ((const neap_c128 *)from)[k] : (neap_c128)((const neap_c64 *)from)[k];
            finite &= isfinite(creal(value)) && isfinite(cimag(value));
            to[j * x->n + i] = value;
        }
    return finite;
}

/* to = z f zᴴ by rows, in the dtype of the result; `column` has room for one. */
static void write_back(const lazy_matrices *x, void *to, const neap_c128 *z, const neap_c128 *f, neap_c128 *column) {
    const int64_t n = x->n;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) { /* row i of z f */
            column[j] = 0;
            for (int64_t k = 0; k <= j; k++)
                column[j] += product(z[k * n + i], f[j * n + k]);
        }
        for (int64_t j = 0; j < n; j++) {
            neap_c128 sum = 0;
            for (int64_t k = 0; k < n; k++)
                sum += product(column[k], conj(z[k * n + j]));
            if (x->f64)
                ((neap_c128 *)to)[i * n + j] = sum;
            else
                ((neap_c64 *)to)[i * n + j] = (neap_c64)sum;
        }
    }
}

/* t, by columns, becomes its Schur form, and z its vectors. */
static int schur(const engine_lapack *lapack, neap_c128 *t, neap_c128 *z, int n, const neap_run *run, int *info) {
    neap_c128 answer, spare;
    int query = -1, none = 0, lwork = 1;
    lapack->gees("V", "N", NULL, &n, t, &n, &none, &spare, z, &n, &answer, &query, NULL, NULL, info, 1, 1);
    lwork = creal(answer) < INT32_MAX ? (int)creal(answer) + 1 : INT32_MAX;
    const size_t bytes = ((size_t)lwork + 2 * (size_t)n) * sizeof *t;
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    neap_c128 *values = scratch, *real = values + n, *work = real + n;
    lapack->gees("V", "N", NULL, &n, t, &n, &none, values, z, &n, work, &lwork, (double *)real, NULL, info, 1, 1);
    neap_run_free(run, scratch, bytes);
    return NEAP_OK;
}

static int matfun_one(const lazy_matrices *x, int64_t index, const neap_run *run) {
    const int64_t n = x->n, all = n * n;
    const engine_lapack *lapack;
    int info = 0, status = engine_lapack_get(true, true, &lapack);
    const size_t bytes = (size_t)(3 * all + n) * sizeof(neap_c128);
    void *scratch, *out = ops_matrix_at(x, x->call->out, index, all);
    status = status ? status : neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    neap_c128 *t = scratch, *z = t + all, *f = z + all, *column = f + all;
    bool finite = read_columns(x, t, ops_matrix_at(x, &x->call->in[0], index, all));
    if (finite)
        status = schur(lapack, t, z, (int)n, run, &info);
    if (!finite || info) {
        ops_matrix_fill(x, out, all, NAN);
    } else if (status == 0) {
        if (x->call->attrs[0] == LOG)
            triangular_log(f, t, n, column);
        else
            triangular_root(f, t, n);
        write_back(x, out, z, f, column);
    }
    neap_run_free(run, scratch, bytes);
    return status;
}

static int matfun_call(const lazy_call *call, const neap_run *run) {
    return ops_matrix_each(call, run, matfun_one);
}

/* ---- Derivatives ------------------------------------------------------------------------------------------------- */
/* The derivative of the node's function at a in the direction e. */
static neap_node *derivative(neap_ctx *ctx, const neap_node *node, neap_node *a, neap_node *e) {
    if (!a || !e)
        return NULL;
    lazy_aval of = graph_node_aval(a);
    int64_t n = ops_matrix_rows(&of);
    neap_node *zeros =
        graph_build_broadcast(ctx, graph_build_cast(ctx, graph_build_number(ctx, 0), of.dtype), of.ndim, of.shape);
    neap_node *above = ops_matrix_join(ctx, -1, 2, (neap_node *[]){a, e});
    neap_node *below = ops_matrix_join(ctx, -1, 2, (neap_node *[]){zeros, a});
    neap_node *both = ops_matrix_join(ctx, -2, 2, (neap_node *[]){above, below});
    neap_node *f = graph_build(ctx, LAZY_OP_matrix_function, 1, &both, 1, graph_node_attrs(node));
    return ops_matrix_cut(ctx, ops_matrix_cut(ctx, f, -2, 0, n), -1, n, n);
}

/* Of the transposed matrix, in the direction of the cotangent. */
static int matfun_grad(lazy_grad *g) {
    g->out[0] = derivative(g->ctx, g->node, ops_matrix_transpose(g->ctx, INPUT(0)), g->ct);
    return grad_done(g, 1);
}

static int matfun_jvp(lazy_tangent *g) {
    g->out = derivative(g->ctx, g->node, INPUT(0), g->in[0]);
    return jvp_done(g);
}

NEAP_OP(
    matrix_function,
    .doc = "The principal square root (`function` 0) or logarithm (1) of each complex square matrix of the last two "
           "axes, by its Schur form, computed in f64 and rounded once. NaN where a matrix has a NaN or an infinity.",
    .attrs = "function", .kind = LAZY_CALL, .arity = 1, .types = LAZY_COMPLEX,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .residual = LAZY_RESIDUAL_IN0, .dtype = graph_dtype_same,
    .shape = matfun_shape, .call = matfun_call, .library = ops_matrix_library, .cost = matfun_cost, .grad = matfun_grad,
    .jvp = matfun_jvp, .batch = derive_batch_leading, .shard = shard_matrices)
