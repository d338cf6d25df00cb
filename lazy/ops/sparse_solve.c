/* sparse_solve.c: systems of linear equations with any sparse matrix, by KLU's LU factorization (engine/libs/klu.c),
 * and its factors.
 *
 * The library takes columns; rows (sparse.c draws how these are stored) are the columns of the transposed matrix, whose
 * factors solve both systems. All is computed in f64, or in pairs of f64, and rounded once. Elements of one place are
 * added up first, in their order. A matrix that is singular, has an element that is not finite, or so small ones that
 * the solution of finite right sides is not finite, fails the call: its text says which row or column.
 *
 * One matrix: the calling thread factors, and workers share the right sides. Several: workers share the matrices. Where
 * something failed, the calling thread goes on alone from there: an error's text belongs to the thread that met it, and
 * what lacked memory may find some.
 *
 * How many elements factors have depends on those of the matrix, so factors take three calls: where columns begin,
 * which says how many there are; the rows; the elements. The calls find the same factors, which the engine keeps. */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "engine/device.h"
#include "engine/libs/klu.h"
#include "lazy/derive/build.h"
#include "lazy/derive/derive.h"
#include "lazy/dtype/scalar.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/sparse.h"

enum {
    TOGETHER = 4,         /* right sides of a part: as many as the library takes at once */
    SHARED_WORK = 1 << 14 /* numbers, from which on workers share them */
};

typedef struct system_work {
    const lazy_call *call;
    const lazy_tensor *data, *places; /* the matrices: elements; columns and starts of rows */
    int64_t n, k, stored, matrices;
    bool complex, wide, transposed;
    bool whole;                /* two triangles are wanted */
    int parts;                 /* numbers of an element */
    const engine_klu *factors; /* of the matrix whose right sides are shared */
    _Atomic bool failed;       /* a part of them has */
    _Atomic int64_t first;     /* the first matrix that failed */
} system_work;

static double number_at(const void *data, int64_t k, bool wide) {
    return wide ? ((const double *)data)[k] : (double)((const float *)data)[k];
}

static void set_number(void *data, int64_t k, bool wide, double x) {
    if (wide)
        ((double *)data)[k] = x;
    else
        ((float *)data)[k] = (float)x;
}

/* ---- The matrix -------------------------------------------------------------------------------------------------- */
/* A matrix as the library takes it, in memory of its own. */
typedef struct system_matrix {
    int32_t *starts, *columns, *seen; /* seen: where a column last got an element */
    double *elements;
    void *memory;
    size_t bytes;
} system_matrix;

static int take_matrix(const system_work *w, const neap_run *run, system_matrix *out) {
    const size_t n = (size_t)w->n, stored = (size_t)w->stored, numbers = stored * (size_t)w->parts;
    out->bytes = numbers * sizeof(double) + (2 * n + 1 + stored) * sizeof(int32_t);
    int status = neap_run_alloc(run, out->bytes, &out->memory);
    if (status)
        return neap_error(status, "no memory for a sparse matrix");
    out->elements = out->memory;
    out->starts = (int32_t *)(out->elements + numbers);
    out->seen = out->starts + n + 1;
    out->columns = out->seen + n;
    return NEAP_OK;
}

static int not_finite(const system_work *w, int64_t row, int64_t column) {
    return neap_error(NEAP_E_FAILED, "the element (%lld, %lld) of the matrix is not finite",
                      (long long)(w->transposed ? column : row), (long long)(w->transposed ? row : column));
}

/* Row by row, elements of one place added up. */
static int read_matrix(const system_work *w, int64_t matrix, system_matrix *out) {
    const int32_t *columns = (const int32_t *)w->places[0].data + matrix * w->stored;
    const int32_t *starts = (const int32_t *)w->places[1].data + matrix * (w->n + 1);
    int32_t count = 0;
    memset(out->seen, -1, (size_t)w->n * sizeof *out->seen);
    for (int64_t row = 0, e, end; row < w->n; row++) {
        const int32_t first = out->starts[row] = count;
        for (sparse_range(starts, w->stored, row, &e, &end); e < end; e++) {
            if (!sparse_inside(columns[e], w->n))
                continue;
            const int32_t before = out->seen[columns[e]], at = before >= first ? before : count;
            if (at == w->stored)
                return neap_error(NEAP_E_FAILED, "starts of rows fall, so rows share elements");
            count += at == count;
            out->seen[columns[e]] = at;
            out->columns[at] = columns[e];
            for (int p = 0; p < w->parts; p++) {
                const double x = number_at(w->data->data, (matrix * w->stored + e) * w->parts + p, w->wide);
                double *to = &out->elements[(int64_t)at * w->parts + p];
                *to = before >= first ? *to + x : x;
                if (!isfinite(*to))
                    return not_finite(w, row, columns[e]);
            }
        }
    }
    out->starts[w->n] = count;
    return NEAP_OK;
}

static int singular(const system_work *w, int64_t matrix, const engine_klu_pivot *pivot) {
    char which[48] = "", places[64] = "";
    if (w->matrices > 1)
        snprintf(which, sizeof which, " %lld of %lld", (long long)matrix, (long long)w->matrices);
    if (pivot->rank < w->n)
        snprintf(places, sizeof places, ", and its places allow a rank of %d", pivot->rank);
    return neap_error(NEAP_E_FAILED, "the matrix%s is singular: %s %d depends on others%s", which,
                      w->transposed ? "column" : "row", pivot->column, places);
}

/* What the matrices are. */
static void read_work(system_work *w) {
    const lazy_tensor *indices = &w->places[0], *starts = &w->places[1];
    w->matrices = 1;
    for (int k = 0; k < starts->ndim - 1; k++)
        w->matrices *= starts->shape[k];
    w->n = sparse_extent(starts) - 1, w->stored = sparse_extent(indices);
    w->complex = neap_dtype_kind(w->data->dtype) == 'c';
    w->wide = dtype_of_part(w->data->dtype) == NEAP_DTYPE_F64;
    w->parts = w->complex ? 2 : 1;
}

static int factor(const system_work *w, int64_t matrix, const neap_run *run, engine_klu **out) {
    system_matrix own;
    int status = take_matrix(w, run, &own);
    if (status)
        return status;
    engine_klu_pivot pivot = {.column = -1};
    status = read_matrix(w, matrix, &own);
    if (status == NEAP_OK) {
        const engine_klu_matrix a = {.n = (int32_t)w->n,
                                     .complex = w->complex,
                                     .starts = own.starts,
                                     .rows = own.columns,
                                     .elements = own.elements};
        status = engine_klu_factor(&a, w->whole, out, &pivot);
    }
    neap_run_free(run, own.memory, own.bytes);
    return status && pivot.column >= 0 ? singular(w, matrix, &pivot) : status;
}

/* ---- Right sides ------------------------------------------------------------------------------------------------- */
/* Columns from … from + count - 1 of the right sides of a matrix. */
static int solve_columns(const system_work *w, const engine_klu *factors, int64_t matrix, int64_t from, int count,
                         const neap_run *run) {
    const lazy_tensor *b = &w->call->in[1], *out = w->call->out;
    const int64_t numbers = w->n * w->parts, row = w->k * w->parts;
    const int64_t first = (matrix * w->n * w->k + from) * w->parts;
    const size_t bytes = (size_t)(count * numbers) * sizeof(double) + engine_klu_scratch(factors);
    void *memory;
    int status = neap_run_alloc(run, bytes, &memory);
    if (status)
        return neap_error(status, "no memory for a right side");
    double *x = memory;
    bool finite[TOGETHER];
    for (int j = 0; j < count; j++) {
        double *to = x + j * numbers;
        finite[j] = true;
        for (int64_t i = 0, at = first + j * w->parts; i < w->n; i++, at += row)
            for (int p = 0; p < w->parts; p++, to++) {
                *to = number_at(b->data, at + p, w->wide);
                finite[j] &= isfinite(*to) != 0;
            }
    }
    engine_klu_solve(factors, !w->transposed, count, x, x + count * numbers);
    for (int j = 0; j < count; j++) {
        const double *from_x = x + j * numbers;
        for (int64_t i = 0, at = first + j * w->parts; i < w->n; i++, at += row)
            for (int p = 0; p < w->parts; p++, from_x++) {
                set_number(out->data, at + p, w->wide, *from_x);
                if (finite[j] && !isfinite(*from_x))
                    status = NEAP_E_FAILED;
            }
    }
    neap_run_free(run, memory, bytes);
    return status ? neap_error(status, "the solution is not finite: the matrix is nearly singular, or numbers overflow")
                  : NEAP_OK;
}

static void solve_part(void *arg, int64_t index, const neap_run *run) {
    system_work *w = arg;
    const int64_t from = index * TOGETHER, rest = w->k - from;
    if (solve_columns(w, w->factors, 0, from, rest < TOGETHER ? (int)rest : TOGETHER, run))
        atomic_store(&w->failed, true);
}

/* All right sides of one matrix, on this thread. */
static int solve_matrix(const system_work *w, int64_t matrix, const neap_run *run) {
    engine_klu *factors;
    int status = factor(w, matrix, run, &factors);
    if (status)
        return status;
    for (int64_t from = 0; from < w->k && status == NEAP_OK; from += TOGETHER)
        status = solve_columns(w, factors, matrix, from, w->k - from < TOGETHER ? (int)(w->k - from) : TOGETHER, run);
    engine_klu_release(factors);
    return status;
}

static void solve_one(void *arg, int64_t index, const neap_run *run) {
    system_work *w = arg;
    int status = solve_matrix(w, index, run);
    int64_t first = atomic_load(&w->first);
    while (status && index < first && !atomic_compare_exchange_weak(&w->first, &first, index)) {
    }
}

static int solve_shared(system_work *w, const neap_run *run) {
    engine_klu *factors;
    int status = factor(w, 0, run, &factors);
    if (status)
        return status;
    w->factors = factors;
    neap_parallel_for(run, (w->k + TOGETHER - 1) / TOGETHER, solve_part, w);
    w->factors = NULL;
    engine_klu_release(factors);
    return atomic_load(&w->failed) ? solve_matrix(w, 0, run) : NEAP_OK;
}

static int sparse_solve_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *in = call->in;
    system_work w = {.call = call, .data = &in[0], .places = &in[2], .transposed = call->attrs[1] != 0};
    int status = engine_klu_load();
    if (status || call->out->size == 0)
        return status;
    read_work(&w);
    w.k = sparse_extent(&in[1]);
    atomic_store(&w.first, w.matrices);
    if (w.matrices == 1 && w.k > TOGETHER && w.k * w.n > SHARED_WORK)
        return solve_shared(&w, run);
    if (w.matrices > 1 && w.matrices * w.stored > SHARED_WORK)
        neap_parallel_for(run, w.matrices, solve_one, &w);
    else
        for (int64_t k = 0; k < w.matrices; k++)
            solve_one(&w, k, run);
    for (int64_t k = atomic_load(&w.first); k < w.matrices && status == NEAP_OK; k++)
        status = solve_matrix(&w, k, run);
    return status;
}

/* ---- Factors ----------------------------------------------------------------------------------------------------- */
/* Memory for whole factors, and where in it they stand. */
static int take_triangles(const neap_run *run, int64_t n, int parts, engine_klu_triangles *t, void **memory,
                          size_t *bytes) {
    const size_t lower = (size_t)t->lower.count, elements = lower + (size_t)t->upper.count;
    *bytes = elements * ((size_t)parts * sizeof(double) + sizeof(int32_t)) + (4 * (size_t)n + 2) * sizeof(int32_t);
    int status = neap_run_alloc(run, *bytes, memory);
    if (status)
        return neap_error(status, "no memory for the factors of a sparse matrix");
    double *data = *memory;
    for (int p = 0; p < parts; p++, data += elements) {
        t->lower.elements[p] = data;
        t->upper.elements[p] = data + lower;
    }
    t->rows = (int32_t *)data; /* in the order in which sparse_factor_places gives them */
    t->columns = t->rows + n;
    t->lower.starts = t->columns + n;
    t->upper.starts = t->lower.starts + n + 1;
    t->lower.rows = t->upper.starts + n + 1;
    t->upper.rows = t->lower.rows + lower;
    return NEAP_OK;
}

/* The factors of one matrix, as the row wants them. */
static int write_factors(const system_work *w, int64_t matrix, const engine_klu_triangles *t, int64_t elements) {
    const lazy_tensor *out = w->call->out;
    const int64_t size = sparse_extent(out), counted = (int64_t)t->lower.count + t->upper.count;
    if (elements > 0 && elements != counted)
        return neap_error(NEAP_E_FAILED, "the factors have %lld elements, expected %lld", (long long)counted,
                          (long long)elements);
    if (out->dtype == NEAP_DTYPE_I32)
        memcpy((int32_t *)out->data + matrix * size, elements > 0 ? t->lower.rows : t->rows,
               (size_t)size * sizeof(int32_t));
    else
        for (int64_t e = 0; e < size; e++)
            for (int p = 0; p < w->parts; p++)
                set_number(out->data, (matrix * size + e) * w->parts + p, w->wide, t->lower.elements[p][e]);
    return NEAP_OK;
}

static int factor_one(const system_work *w, int64_t matrix, const neap_run *run) {
    engine_klu *factors;
    engine_klu_triangles t;
    void *memory;
    size_t bytes;
    int status = factor(w, matrix, run, &factors);
    if (status)
        return status;
    engine_klu_counts(factors, &t);
    status = take_triangles(run, w->n, w->parts, &t, &memory, &bytes);
    if (status == NEAP_OK) {
        status = engine_klu_extract(factors, &t);
        if (status == NEAP_OK)
            status = write_factors(w, matrix, &t, w->call->attrs[0]);
        neap_run_free(run, memory, bytes);
    }
    engine_klu_release(factors);
    return status;
}

static int factors_of(system_work *w, const neap_run *run) {
    int status = engine_klu_load();
    read_work(w);
    w->whole = w->transposed = true; /* what is stored line by line are columns */
    for (int64_t k = 0; k < w->matrices && status == NEAP_OK; k++)
        status = factor_one(w, k, run);
    return status;
}

static int factor_places_call(const lazy_call *call, const neap_run *run) {
    return factors_of(&(system_work){.call = call, .data = &call->in[2], .places = &call->in[0]}, run);
}

static int factors_call(const lazy_call *call, const neap_run *run) {
    return factors_of(&(system_work){.call = call, .data = &call->in[0], .places = &call->in[1]}, run);
}

/* Elements that the matrix does not store appear in the factors, so their derivatives would be of other places. */
static int no_derivative(void) {
    return neap_error(NEAP_E_ARGUMENT,
                      "the factors L and U of a sparse matrix have no derivative; solutions, lu:solve(b), have");
}

static int sparse_factors_grad(lazy_grad *g) {
    (void)g;
    return no_derivative();
}

static int sparse_factors_jvp(lazy_tangent *g) {
    return g->in[0] ? no_derivative() : NEAP_OK;
}

/* ---- The rows ---------------------------------------------------------------------------------------------------- */
static int sparse_solve_shape(const lazy_call_desc *call, lazy_result *out) {
    if (call->nattrs != 2)
        return neap_error(NEAP_E_ARGUMENT, "sparse_solve: expected a number of columns, and which system is solved");
    int status = engine_klu_load(); /* whoever asks for a system is told at once what is missing */
    if (status == NEAP_OK)
        status = ops_sparse_system_shape("sparse_solve", call, out);
    if (status == NEAP_OK && out->shape[out->ndim - 2] != call->attrs[0])
        status = neap_error(NEAP_E_SHAPE, "sparse_solve: %lld columns and %lld rows", (long long)call->attrs[0],
                            (long long)out->shape[out->ndim - 2]);
    if (status == NEAP_OK && (call->attrs[0] >= INT32_MAX || call->in[2].shape[call->in[2].ndim - 1] > INT32_MAX))
        status = neap_error(NEAP_E_SHAPE, "sparse_solve: a matrix has less than %d rows and elements", INT32_MAX);
    return status;
}

/* Factors of a grid have some ten times as many elements, and each takes some hundred operations. */
static int64_t sparse_solve_cost(const lazy_call_desc *call, const lazy_result *out) {
    const double stored = (double)call->in[2].size, columns = (double)out->shape[out->ndim - 1];
    return 2000 + (int64_t)(stored * (500 + 10 * columns));
}

static int factors_shape(const char *op, const lazy_call_desc *call, const lazy_aval *places, const lazy_aval *data,
                         lazy_result *out) {
    int status = ops_sparse_check_places(op, call, (int)(places - call->in), 1);
    if (status == NEAP_OK)
        status = ops_sparse_check_data(op, data, &places[0], data->dtype);
    const int64_t n = status ? 0 : places[1].shape[places[1].ndim - 1] - 1;
    if (status == NEAP_OK && n < 1)
        status = neap_error(NEAP_E_SHAPE, "%s: a matrix has at least one row", op);
    return status ? status : ops_sparse_last_axis(out, &places[1], call->attrs[0] > 0 ? call->attrs[0] : 4 * n + 2);
}

static int sparse_factor_places_shape(const lazy_call_desc *call, lazy_result *out) {
    return factors_shape("sparse_factor_places", call, &call->in[0], &call->in[2], out);
}

static int sparse_factors_shape(const lazy_call_desc *call, lazy_result *out) {
    int status = factors_shape("sparse_factors", call, &call->in[1], &call->in[0], out);
    return status == NEAP_OK && call->attrs[0] < 1
               ? neap_error(NEAP_E_ARGUMENT, "sparse_factors: expected a number of elements")
               : status;
}

static int64_t sparse_factors_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return 2000 + 100 * call->in[1].size;
}

static const char *sparse_solve_library(const lazy_call *call) {
    (void)call;
    return "KLU";
}

NEAP_OP(
    sparse_solve,
    .doc =
        "X with A X = B for a sparse matrix of n rows, Aᵀ X = B where `transposed` is 1: elements (…, s), B (…, n, k), "
        "columns (…, s) and starts of rows (…, n + 1) as in sparse_product; `columns` is n. By KLU's LU factorization, "
        "in f64, rounded once. Fails where a matrix is singular, where an element is not finite, and where the "
        "solution of a finite right side is not.",
    .attrs = "columns transposed", .kind = LAZY_CALL, .arity = 4, .types = LAZY_INEXACT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS | LAZY_OP_FAILS,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN2 | LAZY_RESIDUAL_OUT, .dtype = graph_dtype_same,
    .shape = sparse_solve_shape, .call = sparse_solve_call, .library = sparse_solve_library, .cost = sparse_solve_cost,
    .grad = ops_sparse_system_grad, .jvp = ops_sparse_system_jvp, .batch = ops_sparse_columns_batch,
    .shard = ops_sparse_columns_shard)

NEAP_OP(
    sparse_factor_places,
    .doc =
        "Where the factors L U = A[rows][:, columns] of a sparse matrix of n rows and columns, which is stored by "
        "columns, have elements: rows (…, s) and starts of columns (…, n + 1), i32, and elements (…, s) give i32. With "
        "`elements` 0 it is (…, 4 n + 2): rows, columns, where columns of L begin, and those of U; with the sum of "
        "what the last two end with (…, elements): the row of each element of L, column after column, then of U. Rows "
        "are not scaled; by KLU, in f64. Fails as sparse_solve.",
    .attrs = "elements", .kind = LAZY_CALL, .arity = 3, .types = LAZY_INT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_FAILS, .dtype = graph_dtype_same,
    .shape = sparse_factor_places_shape, .call = factor_places_call, .library = sparse_solve_library,
    .cost = sparse_factors_cost, .batch = derive_batch_leading)

NEAP_OP(sparse_factors,
        .doc = "The elements of the factors of which sparse_factor_places says the places, rounded once: elements (…, "
               "s), rows (…, s) and starts of columns (…, n + 1) give (…, elements). They have no derivative.",
        .attrs = "elements", .kind = LAZY_CALL, .arity = 3, .types = LAZY_INEXACT,
        .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_FAILS, .dtype = graph_dtype_same,
        .shape = sparse_factors_shape, .call = factors_call, .library = sparse_solve_library,
        .cost = sparse_factors_cost, .grad = sparse_factors_grad, .jvp = sparse_factors_jvp,
        .batch = derive_batch_leading)
