/* rank.c: the order of rows, as words are ordered: by their first elements, equal ones by their second elements, and so
 * on. All rows are sorted by the first column; then each run of rows that are equal so far is sorted by the next one,
 * as long as there are such runs. Elements are compared by the keys that sort.c takes.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/radix.h"

typedef struct rank_run { /* rows first … end - 1 of the order */
    int32_t first, end;
} rank_run;

typedef struct rank_work {
    const lazy_keys *f;
    radix_form form;
    const char *in; /* of one matrix */
    int64_t n, m, bytes, pair;
    char *pairs, *spare; /* of n rows */
    rank_run *runs;      /* as many as there may be, and as many again */
} rank_work;

static int32_t rank_row(const rank_work *j, int64_t k) {
    return (int32_t)(j->form == RADIX_PAIR32 ? ((const uint64_t *)j->pairs)[k]
                                             : ((const lazy_pair *)j->pairs)[k].place);
}

static uint64_t rank_key(const rank_work *j, int64_t k) {
    return j->form == RADIX_PAIR32 ? ((const uint64_t *)j->pairs)[k] >> 32 : ((const lazy_pair *)j->pairs)[k].key;
}

/* Appends the runs of more than one row whose keys are equal, of those of `all`. */
static rank_run *rank_split(const rank_work *j, rank_run all, rank_run *to) {
    for (int32_t first = all.first, end; first < all.end; first = end) {
        for (end = first + 1; end < all.end && rank_key(j, end) == rank_key(j, first);)
            end++;
        if (end - first > 1)
            *to++ = (rank_run){first, end};
    }
    return to;
}

/* The rows of a run by this column. They stand in the order in which the matrix has them, and stay so if equal. */
static void rank_sort(const rank_work *j, rank_run run, int64_t column) {
    char *pairs = j->pairs + run.first * j->pair, *spare = j->spare + run.first * j->pair;
    for (int64_t k = run.first; k < run.end; k++) {
        const int32_t row = rank_row(j, k);
        j->f->pairs(j->pairs + k * j->pair, j->in + (row * j->m + column) * j->bytes, 1, 1, false, row);
    }
    radix_sort(j->form, pairs, spare, run.end - run.first);
}

static int rank_matrix(const rank_work *j, int32_t *out, const neap_run *run) {
    rank_run *runs = j->runs, *next = j->runs + j->n / 2;
    j->f->pairs(j->pairs, j->in, j->n, j->m, false, 0);
    int status = radix_sort_parallel(run, j->form, j->pairs, j->spare, j->n);
    int64_t count = rank_split(j, (rank_run){0, (int32_t)j->n}, runs) - runs;
    for (int64_t column = 1; column < j->m && count > 0 && !neap_run_cancelled(run); column++) {
        rank_run *end = next, *before = runs;
        for (int64_t k = 0; k < count; k++) {
            rank_sort(j, runs[k], column);
            end = rank_split(j, runs[k], end);
        }
        count = end - next;
        runs = next;
        next = before;
    }
    for (int64_t k = 0; k < j->n; k++)
        out[k] = rank_row(j, k);
    return status;
}

static int rank_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *in = &call->in[0];
    const bool wide = neap_dtype_bytes(in->dtype) > 4;
    rank_work j = {.f = &vm_simd()->keys[in->dtype],
                   .form = wide ? RADIX_PAIR64 : RADIX_PAIR32,
                   .n = in->shape[in->ndim - 2],
                   .m = in->shape[in->ndim - 1],
                   .bytes = neap_dtype_bytes(in->dtype)};
    j.pair = radix_bytes(j.form);
    if (call->out->size == 0)
        return NEAP_OK;
    /* Runs have two rows at least. */
    const size_t pairs = (size_t)(j.n * j.pair), bytes = 2 * pairs + (size_t)(j.n / 2) * 2 * sizeof(rank_run);
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return neap_error(NEAP_E_MEMORY, "argsort_rows: no memory to sort %" PRId64 " rows", j.n);
    j.pairs = scratch;
    j.spare = j.pairs + pairs;
    j.runs = (rank_run *)(j.spare + pairs);
    for (int64_t k = 0; k < call->out->size / j.n && status == NEAP_OK; k++) {
        j.in = (const char *)in->data + k * j.n * j.m * j.bytes;
        status = rank_matrix(&j, (int32_t *)call->out->data + k * j.n, run);
    }
    neap_run_free(run, scratch, bytes);
    return status;
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */
static int rank_dtype(const lazy_call_desc *call, lazy_result *out) {
    out->compute = call->in[0].dtype;
    out->dtype = NEAP_DTYPE_I32;
    return NEAP_OK;
}

static int rank_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *in = &call->in[0];
    if (in->ndim < 2 || in->shape[in->ndim - 1] == 0 || in->shape[in->ndim - 2] > INT32_MAX)
        return neap_error(NEAP_E_SHAPE, "argsort_rows: expected at most 2^31 - 1 rows, each with elements");
    graph_shape_same(call, out);
    out->ndim--;
    return NEAP_OK;
}

static int64_t rank_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return call->in[0].size * 10;
}

/* clang-format off */
NEAP_OP(argsort_rows,
    .doc = "The indices (i32) that sort the rows of (…, n, m) by their first elements, equal ones by the second, and "
           "so on; stably, elements being ordered as by `argsort`.",
    .kind = LAZY_CALL, .arity = 1, .types = LAZY_ORDERED,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = rank_dtype,
    .shape = rank_shape, .call = rank_call, .cost = rank_cost, .batch = derive_batch_leading, .shard = shard_matrices)
/* clang-format on */
