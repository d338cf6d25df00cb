/* count.c: how often integers occur, by value: histograms and counts of labels. The workers share lines, or parts of a
 * long one, each with tables of its own, which are added up in the end; sums of integers do not depend on their order.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"

enum {
    PART = 1 << 16, /* elements that are worth a task */
    TABLES = 4,     /* that neighbours are counted in, so that equal ones need not wait for each other, */
    FEW_BINS = 2048 /* as long as they stay in the first-level cache */
};

/* Elements are counted in TABLES tables in turn, which are `apart` bins apart; 0 if there is one. */
typedef void (*count_loop)(uint32_t *tables, int64_t apart, const void *in, int64_t n, int64_t stride, uint64_t bins);

/* Negative numbers are too large. */
#define COUNT_ONE(table, value)                                                                                        \
    {                                                                                                                  \
        const uint64_t at = (uint64_t)(value);                                                                         \
        if (at < bins)                                                                                                 \
            (table)[at]++;                                                                                             \
    }
#define COUNT(NAME, name, kind, I, ...)                                                                                \
    static void count_##name(uint32_t *tables, int64_t apart, const void *in, int64_t n, int64_t stride,               \
                             uint64_t bins) {                                                                          \
        const I *x = in;                                                                                               \
        uint32_t *second = tables + apart, *third = second + apart, *fourth = third + apart;                           \
        int64_t i = 0;                                                                                                 \
        for (; i + TABLES <= n; i += TABLES, x += TABLES * stride) {                                                   \
            COUNT_ONE(tables, x[0])                                                                                    \
            COUNT_ONE(second, x[stride])                                                                               \
            COUNT_ONE(third, x[2 * stride])                                                                            \
            COUNT_ONE(fourth, x[3 * stride])                                                                           \
        }                                                                                                              \
        for (; i < n; i++, x += stride)                                                                                \
            COUNT_ONE(tables, x[0])                                                                                    \
    }
NEAP_DTYPE_INTEGER_ROWS(COUNT)
#define COUNT_OF(NAME, name, ...) [NEAP_DTYPE_##NAME] = count_##name,
static const count_loop count_loops[NEAP_DTYPE_COUNT] = {NEAP_DTYPE_INTEGER_ROWS(COUNT_OF)};

typedef struct count_work {
    count_loop loop;
    const char *in;
    uint32_t *out;
    int64_t bytes;                  /* of an element */
    int64_t n, bins, stride, lines; /* of a line: elements and results, and how far apart they lie */
    int64_t tables, together;       /* of a part; lines of a task */
    int64_t parts, line;            /* of the line that is counted in parts */
    uint32_t *scratch;              /* its tables */
    int failed;                     /* set by any task; read when all are done */
} count_work;

static void count_part(const count_work *j, uint32_t *tables, int64_t line, int64_t first, int64_t end) {
    const int64_t at = line / j->stride * j->n * j->stride + line % j->stride + first * j->stride;
    memset(tables, 0, (size_t)(j->tables * j->bins) * sizeof *tables);
    j->loop(tables, j->tables > 1 ? j->bins : 0, j->in + at * j->bytes, end - first, j->stride, (uint64_t)j->bins);
}

static void count_add_up(const count_work *j, const uint32_t *tables, int64_t count, int64_t line) {
    uint32_t *out = j->out + line / j->stride * j->bins * j->stride + line % j->stride;
    for (int64_t b = 0; b < j->bins; b++) {
        uint32_t sum = 0;
        for (int64_t k = 0; k < count; k++)
            sum += tables[k * j->bins + b];
        out[b * j->stride] = sum;
    }
}

static void count_lines(void *arg, int64_t task, const neap_run *run) {
    count_work *j = arg;
    const int64_t end = (task + 1) * j->together < j->lines ? (task + 1) * j->together : j->lines;
    const size_t bytes = (size_t)(j->tables * j->bins) * sizeof *j->scratch;
    void *scratch;
    if (j->tables == 1 && j->stride == 1) { /* the results are the table */
        for (int64_t line = task * j->together; line < end; line++)
            count_part(j, j->out + line * j->bins, line, 0, j->n);
        return;
    }
    if (neap_run_alloc(run, bytes, &scratch) != 0) {
        __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t line = task * j->together; line < end; line++) {
        count_part(j, scratch, line, 0, j->n);
        count_add_up(j, scratch, j->tables, line);
    }
    neap_run_free(run, scratch, bytes);
}

static void count_long_part(void *arg, int64_t part, const neap_run *run) {
    const count_work *j = arg;
    (void)run;
    count_part(j, j->scratch + part * j->tables * j->bins, j->line, j->n * part / j->parts,
               j->n * (part + 1) / j->parts);
}

static int count_long(count_work *j, const neap_run *run) {
    const size_t bytes = (size_t)(j->parts * j->tables * j->bins) * sizeof *j->scratch;
    void *scratch;
    int status = neap_run_alloc(run, bytes, &scratch);
    j->scratch = scratch;
    for (j->line = 0; j->line < j->lines && status == NEAP_OK && !neap_run_cancelled(run); j->line++) {
        neap_parallel_for(run, j->parts, count_long_part, j);
        count_add_up(j, scratch, j->parts * j->tables, j->line);
    }
    if (status == NEAP_OK)
        neap_run_free(run, scratch, bytes);
    return status;
}

static int counts_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *in = &call->in[0];
    int axis, status = graph_axis("counts", call->attrs[0], in->ndim, &axis);
    if (status || call->out->size == 0)
        return status;
    count_work j = {.loop = count_loops[in->dtype],
                    .in = in->data,
                    .out = call->out->data,
                    .bytes = neap_dtype_bytes(in->dtype),
                    .n = in->shape[axis],
                    .bins = call->attrs[1],
                    .stride = 1};
    for (int k = axis + 1; k < in->ndim; k++)
        j.stride *= in->shape[k];
    const int64_t workers = neap_engine_workers(), most = j.n / (j.bins > PART ? j.bins : PART);
    j.lines = call->out->size / j.bins;
    j.tables = j.bins <= FEW_BINS && j.n >= 2 * TABLES * j.bins ? TABLES : 1;
    j.parts = most < workers ? most : workers;
    j.together = PART / (j.n + j.bins) + 1;
    if (j.parts > 1 && j.lines < 2 * workers)
        status = count_long(&j, run);
    else
        neap_parallel_for(run, (j.lines + j.together - 1) / j.together, count_lines, &j);
    return status || j.failed ? neap_error(NEAP_E_MEMORY, "counts: no memory for %" PRId64 " counts", j.bins) : NEAP_OK;
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */
static int counts_dtype(const lazy_call_desc *call, lazy_result *out) {
    out->compute = call->in[0].dtype;
    out->dtype = NEAP_DTYPE_I32;
    return NEAP_OK;
}

static int counts_shape(const lazy_call_desc *call, lazy_result *out) {
    int axis, status;
    if (call->nattrs != 2)
        return neap_error(NEAP_E_ARGUMENT, "counts: expected an axis and how many bins there are");
    status = graph_axis("counts", call->attrs[0], call->in[0].ndim, &axis);
    status = status ? status : graph_shape_same(call, out);
    if (status)
        return status;
    if (call->attrs[1] < 0)
        return neap_error(NEAP_E_SHAPE, "counts: expected bins from 0 up, got %" PRId64, call->attrs[1]);
    out->shape[axis] = call->attrs[1];
    return NEAP_OK;
}

static int64_t counts_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return call->in[0].size;
}

/* clang-format off */
NEAP_OP(counts,
    .doc = "How often each of 0, 1, … bins - 1 is among the integers along an axis (i32); others are not counted.",
    .attrs = "axis bins", .kind = LAZY_CALL, .arity = 1, .types = LAZY_INT,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = counts_dtype,
    .shape = counts_shape, .call = counts_call, .cost = counts_cost, .batch = derive_batch_axis, .shard = shard_axis)
/* clang-format on */
