/* search.c: places of elements: those that are not zero, and where values would stand in a sorted line. */
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/launches.h"
#include "lazy/vm/simd/simd.h"

enum {
    BLOCK = 4096, /* elements */
    BLOCKS = 16,  /* of a task */
    WORD = 64
};

/* ---- Marks ------------------------------------------------------------------------------------------------------- */
/* An array of words: a bit for each element (simd.h), and how many are set in the last word. */
static int64_t words_of(int64_t elements) {
    return (elements + WORD - 1) / WORD;
}

typedef struct mark_work {
    const char *in;
    uint64_t *words;
    int dtype, bytes;
    bool changes; /* marked is what differs from the element before it, and the first one; without: what is not 0 */
    int64_t n, count;
} mark_work;

static void mark_task(void *arg, int64_t task, const neap_run *run) {
    mark_work *j = arg;
    const lazy_marks *marks = vm_simd()->marks;
    int64_t first = task * BLOCKS * BLOCK, n = j->n - first < BLOCKS * BLOCK ? j->n - first : BLOCKS * BLOCK;
    uint64_t *words = j->words + first / WORD;
    (void)run;
    if (!j->changes) {
        marks->nonzero[j->dtype](words, j->in + first * j->bytes, n);
    } else if (first > 0) {
        marks->changes[j->dtype](words, j->in + first * j->bytes, n);
    } else { /* nothing is before the first element */
        uint64_t copy[WORD + 1];
        int64_t head = n < WORD ? n : WORD;
        memcpy((char *)(copy + 1) - j->bytes, j->in, (size_t)j->bytes);
        memcpy(copy + 1, j->in, (size_t)(head * j->bytes));
        marks->changes[j->dtype](words, copy + 1, head);
        words[0] |= 1;
        if (n > WORD)
            marks->changes[j->dtype](words + 1, j->in + WORD * (int64_t)j->bytes, n - WORD);
    }
    __atomic_fetch_add(&j->count, marks->count(words, n), __ATOMIC_RELAXED);
}

static int mark_call(const lazy_call *call, const neap_run *run, bool changes) {
    const lazy_tensor *in = &call->in[0];
    mark_work j = {.in = in->data,
                   .words = call->out->data,
                   .dtype = in->dtype,
                   .bytes = neap_dtype_bytes(in->dtype),
                   .changes = changes,
                   .n = in->size};
    neap_parallel_for(run, (j.n + BLOCKS * BLOCK - 1) / (BLOCKS * BLOCK), mark_task, &j);
    j.words[words_of(j.n)] = (uint64_t)j.count;
    return NEAP_OK;
}

static int nonzero_call(const lazy_call *call, const neap_run *run) {
    return mark_call(call, run, false);
}

static int changes_call(const lazy_call *call, const neap_run *run) {
    return mark_call(call, run, true);
}

static int marks_dtype(const lazy_call_desc *call, lazy_result *out) {
    out->compute = call->in[0].dtype;
    out->dtype = NEAP_DTYPE_U64;
    return NEAP_OK;
}

static int marks_shape(const lazy_call_desc *call, lazy_result *out) {
    out->ndim = 1;
    out->shape[0] = words_of(call->in[0].size) + 1;
    return NEAP_OK;
}

/* ---- places ------------------------------------------------------------------------------------------------------ */
typedef struct places_work {
    const uint64_t *words;
    char *out;
    bool wide; /* places are i64 */
    int64_t n, blocks;
    int64_t *starts; /* how many places the blocks before each have, and at the end all have */
} places_work;

static void places_count(void *arg, int64_t task, const neap_run *run) {
    const places_work *j = arg;
    (void)run;
    for (int64_t b = task * BLOCKS; b < (task + 1) * BLOCKS && b < j->blocks; b++) {
        int64_t n = j->n - b * BLOCK < BLOCK ? j->n - b * BLOCK : BLOCK;
        j->starts[b + 1] = vm_simd()->marks->count(j->words + b * (BLOCK / WORD), n);
    }
}

static void places_write(void *arg, int64_t task, const neap_run *run) {
    const places_work *j = arg;
    (void)run;
    for (int64_t b = task * BLOCKS; b < (task + 1) * BLOCKS && b < j->blocks; b++)
        vm_simd()->marks->places[j->wide](j->out + j->starts[b] * (j->wide ? 8 : 4), j->words + b * (BLOCK / WORD),
                                          j->starts[b + 1] - j->starts[b], b * BLOCK);
}

static int places_call(const lazy_call *call, const neap_run *run) {
    places_work j = {.words = call->in[0].data,
                     .out = call->out->data,
                     .wide = call->out->dtype == NEAP_DTYPE_I64,
                     .n = call->attrs[1],
                     .blocks = (call->attrs[1] + BLOCK - 1) / BLOCK};
    const int64_t tasks = (j.blocks + BLOCKS - 1) / BLOCKS;
    const size_t bytes = (size_t)(j.blocks + 1) * sizeof *j.starts;
    void *scratch;
    if (call->out->size == 0)
        return NEAP_OK;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    j.starts = scratch;
    j.starts[0] = 0;
    neap_parallel_for(run, tasks, places_count, &j);
    if (!neap_run_cancelled(run)) {
        for (int64_t b = 0; b < j.blocks; b++)
            j.starts[b + 1] += j.starts[b];
        if (j.starts[j.blocks] == call->out->size)
            neap_parallel_for(run, tasks, places_write, &j);
        else
            status = neap_error(NEAP_E_ARGUMENT, "places: expected %lld marks, got %lld", (long long)call->out->size,
                                (long long)j.starts[j.blocks]);
    }
    neap_run_free(run, scratch, bytes);
    return status;
}

static int places_dtype(const lazy_call_desc *call, lazy_result *out) {
    out->compute = call->in[0].dtype;
    out->dtype = call->nattrs == 2 && call->attrs[1] > INT32_MAX ? NEAP_DTYPE_I64 : NEAP_DTYPE_I32;
    return NEAP_OK;
}

static int places_shape(const lazy_call_desc *call, lazy_result *out) {
    const lazy_aval *marks = &call->in[0];
    if (marks->dtype != NEAP_DTYPE_U64)
        return neap_error(NEAP_E_DTYPE, "places: expected marks of dtype u64, got %s", neap_dtype_name(marks->dtype));
    if (call->nattrs != 2 || call->attrs[0] < 0 || call->attrs[0] > call->attrs[1] ||
        marks->size != words_of(call->attrs[1]) + 1)
        return neap_error(NEAP_E_ARGUMENT, "places: expected how many elements are marked, of how many");
    out->ndim = 1;
    out->shape[0] = call->attrs[0];
    return NEAP_OK;
}

/* ---- searchsorted ------------------------------------------------------------------------------------------------ */
/* Lines that are searched for many values are cut into buckets first (simd/lines.h). */
enum { BUCKETS_OF_ELEMENT = 4, BUCKETS_MOST = 1 << 24 };

typedef struct search_work {
    const lazy_lines *lines;
    int dtype, bytes;
    const char *sorted, *values;
    int32_t *out, *starts;
    lazy_lookup *lookups; /* of each line */
    bool right;
    int64_t n, m, blocks; /* elements of a line; values for it, and blocks of these */
    int32_t buckets;
} search_work;

static void search_cut(void *arg, int64_t line, const neap_run *run) {
    const search_work *j = arg;
    (void)run;
    j->lines->cut[j->dtype](&j->lookups[line], j->sorted + line * j->n * j->bytes, (int32_t)j->n,
                            j->starts + line * j->buckets, j->buckets);
}

static void search_block(void *arg, int64_t task, const neap_run *run) {
    const search_work *j = arg;
    int64_t line = task / j->blocks, first = task % j->blocks * BLOCK, at = line * j->m + first;
    (void)run;
    j->lines->find[j->dtype](j->out + at, &j->lookups[line], j->values + at * j->bytes,
                             j->m - first < BLOCK ? j->m - first : BLOCK, j->right);
}

static int searchsorted_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *sorted = &call->in[0], *values = &call->in[1];
    if (values->size == 0)
        return NEAP_OK;
    search_work j = {.lines = vm_simd()->lines,
                     .dtype = sorted->dtype,
                     .bytes = neap_dtype_bytes(sorted->dtype),
                     .sorted = sorted->data,
                     .values = values->data,
                     .out = call->out->data,
                     .right = call->attrs[0] != 0,
                     .n = sorted->shape[sorted->ndim - 1],
                     .m = values->size,
                     .buckets = 1};
    for (int k = 0; k < sorted->ndim - 1; k++)
        j.m /= sorted->shape[k];
    const int64_t lines = values->size / j.m;
    if (j.n > 1 && j.m / BUCKETS_OF_ELEMENT >= j.n)
        j.buckets = (int32_t)(j.n < BUCKETS_MOST / BUCKETS_OF_ELEMENT ? BUCKETS_OF_ELEMENT * j.n : BUCKETS_MOST);
    const size_t bytes = (size_t)lines * (sizeof *j.lookups + (size_t)j.buckets * sizeof *j.starts);
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    j.lookups = scratch;
    j.starts = (int32_t *)(j.lookups + lines);
    j.blocks = (j.m + BLOCK - 1) / BLOCK;
    neap_parallel_for(run, lines, search_cut, &j);
    if (!neap_run_cancelled(run))
        neap_parallel_for(run, lines * j.blocks, search_block, &j);
    neap_run_free(run, scratch, bytes);
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
NEAP_OP(marks_nonzero,
    .doc = "One bit for each element, row-major, in words of 64: set where it is not 0; NaN is not 0. A last word says "
           "how many are set.",
    .kind = LAZY_CALL, .arity = 1, .types = LAZY_ALL,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = marks_dtype,
    .shape = marks_shape, .call = nonzero_call)

NEAP_OP(marks_changes,
    .doc = "As `marks_nonzero`, of the first element and those that differ from the one before them; NaN equals NaN.",
    .kind = LAZY_CALL, .arity = 1, .types = LAZY_ORDERED,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = marks_dtype,
    .shape = marks_shape, .call = changes_call)

NEAP_OP(places,
    .doc = "The places (i32, of more than 2^31 - 1 elements i64) of the bits that are set in what a `marks` op gives, "
           "in order: `count` of `size` elements.",
    .attrs = "count size", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ALL,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = places_dtype,
    .shape = places_shape, .call = places_call)

NEAP_OP(searchsorted,
    .doc = "For each value of the second input its place (i32) in the first one, lines in ascending order: before its "
           "equals, or behind them where `right` is set. NaN stands last. All axes but the last of the first input are "
           "the first ones of the second.",
    .attrs = "right", .kind = LAZY_CALL, .arity = 2, .types = LAZY_ORDERED,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = searchsorted_dtype,
    .shape = searchsorted_shape, .call = searchsorted_call, .gpu = launches_searchsorted,
    .cost = searchsorted_cost, .batch = searchsorted_batch,
    .shard = searchsorted_shard)
/* clang-format on */
