/* search.c: places of elements: those that are not zero, and where values would stand in a sorted line. */
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"

enum { BLOCK = 4096, BLOCKS = 16 /* of a task */, TOGETHER = 8 /* values that are looked up at a time */ };

/* ---- nonzero ----------------------------------------------------------------------------------------------------- */
typedef struct nonzero_functions {
    int32_t (*count)(const void *in, int64_t n);
    int32_t (*find)(int32_t *places, const void *in, int64_t n); /* `places` has room for n */
} nonzero_functions;

#define NONZERO(NAME, name, kind, ctype, ...)                                                                          \
    static int32_t count_##name(const void *in, int64_t n) {                                                           \
        const ctype *x = in;                                                                                           \
        int32_t count = 0;                                                                                             \
        for (int64_t i = 0; i < n; i++)                                                                                \
            count += x[i] != 0;                                                                                        \
        return count;                                                                                                  \
    }                                                                                                                  \
    static int32_t find_##name(int32_t *places, const void *in, int64_t n) {                                           \
        const ctype *x = in;                                                                                           \
        int32_t count = 0;                                                                                             \
        for (int32_t i = 0; i < n; i++) {                                                                              \
            places[count] = i;                                                                                         \
            count += x[i] != 0;                                                                                        \
        }                                                                                                              \
        return count;                                                                                                  \
    }
NEAP_DTYPE_ROWS(NONZERO)

static const nonzero_functions nonzero_of[NEAP_DTYPE_COUNT] = {
#define FUNCTIONS(NAME, name, ...) [NEAP_DTYPE_##NAME] = {count_##name, find_##name},
    NEAP_DTYPE_ROWS(FUNCTIONS)
#undef FUNCTIONS
};

typedef struct nonzero_job {
    const nonzero_functions *f;
    const char *in;
    void *out;
    int bytes;
    bool wide; /* places are i64 */
    int64_t n, blocks;
    int64_t count, *starts; /* places of the result, and how many the blocks before each have */
} nonzero_job;

static int64_t block_size(const nonzero_job *j, int64_t block) {
    return j->n - block * BLOCK < BLOCK ? j->n - block * BLOCK : BLOCK;
}

static void nonzero_count(void *arg, int64_t task, const neap_run *run) {
    const nonzero_job *j = arg;
    (void)run;
    for (int64_t b = task * BLOCKS; b < (task + 1) * BLOCKS && b < j->blocks; b++)
        j->starts[b] = j->f->count(j->in + b * BLOCK * j->bytes, block_size(j, b));
}

static void nonzero_write(void *arg, int64_t task, const neap_run *run) {
    const nonzero_job *j = arg;
    int32_t places[BLOCK];
    (void)run;
    for (int64_t b = task * BLOCKS; b < (task + 1) * BLOCKS && b < j->blocks; b++) {
        int64_t count = j->f->find(places, j->in + b * BLOCK * j->bytes, block_size(j, b)), at = j->starts[b];
        count = at + count > j->count ? j->count - at : count;
        if (j->wide)
            for (int64_t i = 0; i < count; i++)
                ((int64_t *)j->out)[at + i] = places[i] + b * BLOCK;
        else
            for (int64_t i = 0; i < count; i++)
                ((int32_t *)j->out)[at + i] = places[i] + (int32_t)(b * BLOCK);
    }
}

static int nonzero_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *in = &call->in[0], *out = call->out;
    nonzero_job j = {.f = &nonzero_of[in->dtype],
                     .in = in->data,
                     .out = out->data,
                     .bytes = neap_dtype_bytes(in->dtype),
                     .wide = out->dtype == NEAP_DTYPE_I64,
                     .n = in->size,
                     .blocks = (in->size + BLOCK - 1) / BLOCK,
                     .count = out->size};
    void *room;
    if (out->size == 0)
        return NEAP_OK;
    int status = neap_run_alloc(run, (size_t)j.blocks * sizeof *j.starts, &room);
    if (status)
        return status;
    j.starts = room;
    neap_parallel_for(run, (j.blocks + BLOCKS - 1) / BLOCKS, nonzero_count, &j);
    int64_t at = 0;
    for (int64_t b = 0; b < j.blocks && !neap_run_cancelled(run); b++) {
        int64_t count = j.starts[b];
        j.starts[b] = at < j.count ? at : j.count;
        at += count;
    }
    if (at < j.count) /* the caller counted something else */
        memset(out->data, 0, (size_t)(out->size * neap_dtype_bytes(out->dtype)));
    if (!neap_run_cancelled(run))
        neap_parallel_for(run, (j.blocks + BLOCKS - 1) / BLOCKS, nonzero_write, &j);
    neap_run_free(run, room, (size_t)j.blocks * sizeof *j.starts);
    return NEAP_OK;
}

static int nonzero_dtype(const lazy_call_desc *call, lazy_result *out) {
    out->compute = call->in[0].dtype;
    out->dtype = call->in[0].size > INT32_MAX ? NEAP_DTYPE_I64 : NEAP_DTYPE_I32;
    return NEAP_OK;
}

static int nonzero_shape(const lazy_call_desc *call, lazy_result *out) {
    if (call->nattrs != 1 || call->attrs[0] < 0 || call->attrs[0] > call->in[0].size)
        return neap_error(NEAP_E_ARGUMENT, "places: expected how many elements are not 0");
    out->ndim = 1;
    out->shape[0] = call->attrs[0];
    return NEAP_OK;
}

/* ---- searchsorted ------------------------------------------------------------------------------------------------ */
/* Some values at a time, each of which halves its range without a branch, so that many reads are under way together. An
 * element is before a value if it is less, on the right side if it is equal, too; NaN is behind all other numbers: what
 * its lookup gives is replaced. */
#define SEARCH_SIDE(name, ctype, before)                                                                               \
    static inline void search_##name(int32_t *out, const ctype *a, int64_t n, const ctype *v) {                        \
        int64_t at[TOGETHER] = {0};                                                                                    \
        for (int64_t left = n; left > 1; left -= left / 2) {                                                           \
            const ctype *middle = a + left / 2 - 1;                                                                    \
            const int64_t half = left / 2;                                                                             \
            _Pragma("GCC unroll 8") for (int k = 0; k < TOGETHER; k++) at[k] +=                                        \
                -(int64_t)(middle[at[k]] before v[k]) & half;                                                          \
        }                                                                                                              \
        for (int k = 0; k < TOGETHER; k++)                                                                             \
            out[k] = (int32_t)(at[k] + (a[at[k]] before v[k]));                                                        \
    }

#define SEARCH(NAME, name, kind, ctype, ...)                                                                           \
    SEARCH_SIDE(left_##name, ctype, <)                                                                                 \
    SEARCH_SIDE(right_##name, ctype, <=)                                                                               \
    /* Where the NaNs of a line begin. */                                                                              \
    static int32_t numbers_##name(const ctype *a, int64_t n) {                                                         \
        int64_t at = 0;                                                                                                \
        for (int64_t end = n; at < end;) {                                                                             \
            const int64_t middle = at + (end - at) / 2;                                                                \
            const bool number = a[middle] == a[middle];                                                                \
            at = number ? middle + 1 : at;                                                                             \
            end = number ? end : middle;                                                                               \
        }                                                                                                              \
        return (int32_t)at;                                                                                            \
    }                                                                                                                  \
    static void search_##name(int32_t *out, const void *sorted, int64_t n, const void *values, int64_t m,              \
                              bool right) {                                                                            \
        const ctype *v = values;                                                                                       \
        ctype some[TOGETHER] = {0};                                                                                    \
        int32_t found[TOGETHER];                                                                                       \
        for (int64_t i = 0; i < m; i += TOGETHER) {                                                                    \
            const int64_t count = m - i < TOGETHER ? m - i : TOGETHER;                                                 \
            memcpy(some, v + i, (size_t)count * sizeof *v);                                                            \
            if (right)                                                                                                 \
                search_right_##name(found, sorted, n, some);                                                           \
            else                                                                                                       \
                search_left_##name(found, sorted, n, some);                                                            \
            for (int64_t k = 0; k < count; k++)                                                                        \
                out[i + k] = some[k] == some[k] ? found[k] : right ? (int32_t)n : numbers_##name(sorted, n);           \
        }                                                                                                              \
    }
NEAP_DTYPE_ROWS(SEARCH)

typedef void (*search_function)(int32_t *out, const void *sorted, int64_t n, const void *values, int64_t m, bool right);
static const search_function search_of[NEAP_DTYPE_COUNT] = {
#define FUNCTIONS(NAME, name, ...) [NEAP_DTYPE_##NAME] = search_##name,
    NEAP_DTYPE_ROWS(FUNCTIONS)
#undef FUNCTIONS
};

typedef struct search_job {
    search_function search;
    const char *sorted, *values;
    int32_t *out;
    int bytes;
    bool right;
    int64_t n, m, blocks; /* elements of a line; values for it, and blocks of these */
} search_job;

static void search_block(void *arg, int64_t task, const neap_run *run) {
    const search_job *j = arg;
    int64_t line = task / j->blocks, first = task % j->blocks * BLOCK, at = line * j->m + first;
    (void)run;
    j->search(j->out + at, j->sorted + line * j->n * j->bytes, j->n, j->values + at * j->bytes,
              j->m - first < BLOCK ? j->m - first : BLOCK, j->right);
}

static int searchsorted_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *sorted = &call->in[0], *values = &call->in[1];
    if (values->size == 0)
        return NEAP_OK;
    search_job j = {.search = search_of[sorted->dtype],
                    .sorted = sorted->data,
                    .values = values->data,
                    .out = call->out->data,
                    .bytes = neap_dtype_bytes(sorted->dtype),
                    .right = call->attrs[0] != 0,
                    .n = sorted->shape[sorted->ndim - 1],
                    .m = values->size};
    for (int k = 0; k < sorted->ndim - 1; k++)
        j.m /= sorted->shape[k];
    if (j.n == 0) {
        memset(j.out, 0, (size_t)values->size * sizeof *j.out);
        return NEAP_OK;
    }
    j.blocks = (j.m + BLOCK - 1) / BLOCK;
    neap_parallel_for(run, values->size / j.m * j.blocks, search_block, &j);
    return NEAP_OK;
}

static int searchsorted_dtype(const lazy_call_desc *call, lazy_result *out) {
    int status = graph_dtype_promote(call, out);
    out->dtype = NEAP_DTYPE_I32;
    return status;
}

static int searchsorted_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *sorted = &call->in[0], *values = &call->in[1];
    bool fits = sorted->ndim > 0 && sorted->ndim - 1 <= values->ndim && call->nattrs == 1;
    for (int k = 0; fits && k < sorted->ndim - 1; k++)
        fits = sorted->shape[k] == values->shape[k];
    char left[256], right[256];
    if (!fits)
        return neap_error(NEAP_E_SHAPE, "searchsorted: shapes %s and %s do not fit",
                          graph_shape_text(sorted->ndim, sorted->shape, left, sizeof left),
                          graph_shape_text(values->ndim, values->shape, right, sizeof right));
    if (sorted->shape[sorted->ndim - 1] > INT32_MAX)
        return neap_error(NEAP_E_SHAPE, "searchsorted: expected at most 2^31 - 1 elements to search");
    out->ndim = values->ndim;
    memcpy(out->shape, values->shape, values->ndim * sizeof *values->shape);
    return NEAP_OK;
}

static int64_t searchsorted_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return 300 + call->in[1].size * 6;
}

/* Where all examples search one line, their values are values of it. */
static int searchsorted_batch(lazy_batching *g) {
    neap_node *in[2] = {g->in[0], g->in[1]};
    if (g->batched[0] || graph_node_aval(INPUT(0)).ndim > 1)
        for (int k = 0; k < 2; k++)
            in[k] = derive_batch_all(g, k);
    g->out = graph_build(g->ctx, LAZY_OP_searchsorted, 2, in, 1, graph_node_attrs(g->node));
    return derive_batch_done(g);
}

/* Values stay divided, and with them the lines for them. */
static int searchsorted_shard(lazy_shard_rule *g) {
    lazy_factors f = {0};
    for (int k = 0; k < g->in[1].ndim; k++) {
        shard_factor_keep(&f, g, 1, k, k);
        if (k < g->in[0].ndim - 1)
            shard_factor_axis(&f, 0, k, f.n - 1);
    }
    return shard_solve(g, &f, -1);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
/* clang-format off */
NEAP_OP(places,
    .doc = "Row-major places (i32, of more than 2^31 - 1 elements i64) of the elements that are not 0, in order; "
           "`count` says how many there are. NaN is not 0.",
    .attrs = "count", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ALL,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = nonzero_dtype,
    .shape = nonzero_shape, .call = nonzero_call)

NEAP_OP(searchsorted,
    .doc = "For each value of the second input its place (i32) in the first one, lines in ascending order: before its "
           "equals, or behind them where `right` is set. NaN stands last. All axes but the last of the first input are "
           "the first ones of the second.",
    .attrs = "right", .kind = LAZY_CALL, .arity = 2, .types = LAZY_ALL,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = searchsorted_dtype,
    .shape = searchsorted_shape, .call = searchsorted_call, .cost = searchsorted_cost, .batch = searchsorted_batch,
    .shard = searchsorted_shard)
/* clang-format on */
