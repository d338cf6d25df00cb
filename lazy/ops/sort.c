/* sort.c: the order of elements along an axis. Values are mapped to unsigned keys of the same order (NaN last), which
 * are sorted alone, or with their places (radix.h). Both sorts are stable: zeros of both signs are equal and keep their
 * order. Short lines go to the workers in groups; of few long ones each goes to all of them.
 */
#include <inttypes.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/derive/build.h"
#include "lazy/graph/graph.h"
#include "lazy/ops/launches.h"
#include "lazy/ops/radix.h"

enum {
    PART = 1 << 15,    /* elements that are worth a task */
    SIDE_BY_SIDE = 16, /* lines that are read together where they lie beside each other, */
    TILE = 64,         /* so many elements of each at a time */
    TOGETHER = 64      /* elements that a selection looks at together */
};

/* ---- Lines ------------------------------------------------------------------------------------------------------- */
typedef struct sort_work {
    const lazy_keys *f;
    radix_form form;
    bool places, descending; /* the result is the order, not the values */
    const char *in;
    char *out;
    int in_bytes, out_bytes;
    int64_t n, stride;       /* of a line: its elements, and how far apart they are */
    int64_t lines, together; /* lines that a task has */
    char *scratch;           /* of a long line: its keys, and as much again */
    int64_t at;              /* its first element */
    int failed;              /* set by any task; read when all are done */
} sort_work;

static int64_t line_start(const sort_work *j, int64_t line) {
    return line / j->stride * j->n * j->stride + line % j->stride;
}

static void sort_read(const sort_work *j, char *keys, int64_t at, int64_t first, int64_t n) {
    const char *from = j->in + (at + first * j->stride) * j->in_bytes;
    char *to = keys + first * radix_bytes(j->form);
    if (j->places)
        j->f->pairs(to, from, n, j->stride, j->descending, first);
    else
        j->f->keys(to, from, n, j->stride, j->descending);
}

static void sort_write(const sort_work *j, const char *keys, int64_t at, int64_t first, int64_t n) {
    char *to = j->out + (at + first * j->stride) * j->out_bytes;
    if (j->form == RADIX_PAIR32)
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)to)[i * j->stride] = (int32_t)((const uint64_t *)keys)[first + i];
    else if (j->form == RADIX_PAIR64)
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)to)[i * j->stride] = (int32_t)((const lazy_pair *)keys)[first + i].place;
    else
        j->f->values(to, keys + first * radix_bytes(j->form), n, j->stride, j->descending);
}

static void sort_zeros(const sort_work *j, char *keys, int64_t at) {
    if (!j->places && j->f->zeros)
        j->f->zeros(keys, j->in + at * j->in_bytes, j->n, j->stride, j->descending);
}

/* Lines first … end - 1, some at a time; `scratch` has their keys and those of one more line. */
static void sort_some(const sort_work *j, char *scratch, int64_t first, int64_t end) {
    const int64_t bytes = j->n * radix_bytes(j->form);
    for (int64_t i = 0; i < j->n; i += TILE)
        for (int64_t line = first; line < end; line++)
            sort_read(j, scratch + (line - first) * bytes, line_start(j, line), i, j->n - i < TILE ? j->n - i : TILE);
    for (int64_t line = first; line < end; line++) {
        radix_sort(j->form, scratch + (line - first) * bytes, scratch + (end - first) * bytes, j->n);
        sort_zeros(j, scratch + (line - first) * bytes, line_start(j, line));
    }
    for (int64_t i = 0; i < j->n; i += TILE)
        for (int64_t line = first; line < end; line++)
            sort_write(j, scratch + (line - first) * bytes, line_start(j, line), i, j->n - i < TILE ? j->n - i : TILE);
}

static void sort_lines(void *arg, int64_t task, const neap_run *run) {
    sort_work *j = arg;
    int64_t first = task * j->together, end = first + j->together < j->lines ? first + j->together : j->lines;
    int64_t width = j->stride > 1 ? SIDE_BY_SIDE : 1;
    size_t bytes = (size_t)(width + 1) * (size_t)j->n * (size_t)radix_bytes(j->form);
    uint64_t few[1024];
    void *scratch = few;
    if (bytes > sizeof few && neap_run_alloc(run, bytes, &scratch) != 0) {
        __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t line = first; line < end; line += width)
        sort_some(j, scratch, line, line + width < end ? line + width : end);
    if (scratch != few)
        neap_run_free(run, scratch, bytes);
}

/* ---- A line for all workers -------------------------------------------------------------------------------------- */
static void sort_read_part(void *arg, int64_t part, const neap_run *run) {
    const sort_work *j = arg;
    (void)run;
    sort_read(j, j->scratch, j->at, part * PART, j->n - part * PART < PART ? j->n - part * PART : PART);
}

static void sort_write_part(void *arg, int64_t part, const neap_run *run) {
    const sort_work *j = arg;
    (void)run;
    sort_write(j, j->scratch, j->at, part * PART, j->n - part * PART < PART ? j->n - part * PART : PART);
}

static int sort_long(sort_work *j, const neap_run *run, int64_t line) {
    const size_t half = (size_t)j->n * (size_t)radix_bytes(j->form);
    void *scratch;
    int status = neap_run_alloc(run, 2 * half, &scratch);
    if (status)
        return status;
    j->scratch = scratch;
    j->at = line_start(j, line);
    neap_parallel_for(run, (j->n + PART - 1) / PART, sort_read_part, j);
    status = radix_sort_parallel(run, j->form, j->scratch, j->scratch + half, j->n);
    if (status == NEAP_OK && !neap_run_cancelled(run)) {
        sort_zeros(j, j->scratch, j->at);
        neap_parallel_for(run, (j->n + PART - 1) / PART, sort_write_part, j);
    }
    neap_run_free(run, scratch, 2 * half);
    return status;
}

static int sort_run(const lazy_call *call, const neap_run *run, bool places) {
    const lazy_tensor *in = &call->in[0];
    int axis, status = graph_axis(call->op->name, call->attrs[0], in->ndim, &axis);
    if (status || in->size == 0)
        return status;
    const bool wide = neap_dtype_bytes(in->dtype) > 4;
    sort_work j = {.f = &vm_simd()->keys[in->dtype],
                   .form = places ? (wide ? RADIX_PAIR64 : RADIX_PAIR32) : (wide ? RADIX_KEYS64 : RADIX_KEYS32),
                   .places = places,
                   .descending = call->attrs[1] != 0,
                   .in = in->data,
                   .out = call->out->data,
                   .in_bytes = neap_dtype_bytes(in->dtype),
                   .out_bytes = neap_dtype_bytes(call->out->dtype),
                   .n = in->shape[axis],
                   .stride = 1};
    for (int k = axis + 1; k < in->ndim; k++)
        j.stride *= in->shape[k];
    j.lines = in->size / j.n;
    if (j.n >= 2 * PART && j.lines < 2 * neap_engine_workers()) {
        for (int64_t line = 0; line < j.lines && status == NEAP_OK && !neap_run_cancelled(run); line++)
            status = sort_long(&j, run, line);
    } else {
        int64_t width = j.stride > 1 ? SIDE_BY_SIDE : 1;
        j.together = PART / 4 / (j.n * width) > 1 ? PART / 4 / (j.n * width) * width : width;
        neap_parallel_for(run, (j.lines + j.together - 1) / j.together, sort_lines, &j);
        status = j.failed ? NEAP_E_MEMORY : NEAP_OK;
    }
    return status == NEAP_E_MEMORY
               ? neap_error(NEAP_E_MEMORY, "%s: no memory to sort lines of %" PRId64 " elements", call->op->name, j.n)
               : status;
}

static int argsort_call(const lazy_call *call, const neap_run *run) {
    return sort_run(call, run, true);
}

static int sort_call(const lazy_call *call, const neap_run *run) {
    return sort_run(call, run, false);
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */
static int argsort_dtype(const lazy_call_desc *call, lazy_result *out) {
    out->compute = call->in[0].dtype;
    out->dtype = NEAP_DTYPE_I32;
    return NEAP_OK;
}

static int sorted_axis(const char *op, const lazy_call_desc *call, int *axis) {
    if (call->nattrs != 2)
        return neap_error(NEAP_E_ARGUMENT, "%s: expected two attributes, the first an axis", op);
    int status = graph_axis(op, call->attrs[0], call->in[0].ndim, axis);
    if (status)
        return status;
    if (call->in[0].shape[*axis] > INT32_MAX)
        return neap_error(NEAP_E_SHAPE, "%s: expected at most 2^31 - 1 elements along an axis", op);
    return NEAP_OK;
}

static int argsort_shape(const lazy_call_desc *call, lazy_result *out) {
    int axis, status = sorted_axis("argsort", call, &axis);
    return status ? status : graph_shape_same(call, out);
}

static int sort_shape(const lazy_call_desc *call, lazy_result *out) {
    int axis, status = sorted_axis("sort", call, &axis);
    return status ? status : graph_shape_same(call, out);
}

static int64_t sort_cost(const lazy_call_desc *call, const lazy_result *out) {
    (void)out;
    return call->in[0].size * 10;
}

/* x, lines along the axis in another order: element i of a line is the one at order[i]. */
static neap_node *in_order(neap_ctx *ctx, neap_node *x, neap_node *order, int64_t axis) {
    if (!x || !order)
        return NULL;
    lazy_aval of = graph_node_aval(x);
    int64_t last = of.ndim - 1, perm[NEAP_MAX_DIMS], moved[NEAP_MAX_DIMS], rows[2];
    if (of.size == 0)
        return x;
    axis += axis < 0 ? of.ndim : 0;
    for (int64_t k = 0; k < of.ndim; k++)
        perm[k] = k == axis ? last : k == last ? axis : k;
    for (int64_t k = 0; k < of.ndim; k++)
        moved[k] = of.shape[perm[k]];
    rows[1] = moved[last];
    rows[0] = of.size / rows[1];
    const int dtype = of.size > INT32_MAX ? NEAP_DTYPE_I64 : NEAP_DTYPE_I32;
    x = graph_build_reshape(ctx, graph_build_transpose(ctx, x, perm), 1, &of.size);
    order = graph_build_reshape(ctx, graph_build_transpose(ctx, order, perm), 2, rows);
    neap_node *row = graph_build(ctx, LAZY_OP_iota, 0, NULL, 2, (int64_t[]){rows[0], dtype});
    row = row ? graph_build_reshape(ctx, row, 2, (int64_t[]){rows[0], 1}) : NULL;
    row = graph_build2(ctx, LAZY_OP_multiply, row, graph_build_number(ctx, (double)rows[1]));
    neap_node *places = graph_build2(ctx, LAZY_OP_add, graph_build_cast(ctx, order, dtype), row);
    neap_node *taken = places ? graph_build(ctx, LAZY_OP_take, 2, (neap_node *[]){x, places}, 1, (int64_t[]){0}) : NULL;
    taken = taken ? graph_build_reshape(ctx, taken, of.ndim, moved) : NULL;
    return taken ? graph_build_transpose(ctx, taken, perm) : NULL;
}

static neap_node *order_of(neap_ctx *ctx, neap_node *x, int64_t axis, int64_t descending) {
    return x ? graph_build(ctx, LAZY_OP_argsort, 1, &x, 2, (int64_t[]){axis, descending}) : NULL;
}

/* Cotangents go back to where the elements came from: in the order that sorts the order. */
static int sort_grad(lazy_grad *g) {
    const int64_t *attrs = graph_node_attrs(g->node);
    neap_node *order = order_of(g->ctx, INPUT(0), attrs[0], attrs[1]);
    g->out[0] = in_order(g->ctx, g->ct, order_of(g->ctx, order, attrs[0], 0), attrs[0]);
    return grad_done(g, 1);
}

static int sort_jvp(lazy_tangent *g) {
    const int64_t *attrs = graph_node_attrs(g->node);
    g->out = in_order(g->ctx, g->in[0], order_of(g->ctx, INPUT(0), attrs[0], attrs[1]), attrs[0]);
    return jvp_done(g);
}

/* ---- A few of many ----------------------------------------------------------------------------------------------- */
/* The k first of a descending order. Candidates are gathered under a bound, the worst of the k best so far, and sorted
 * when there are many. A line is cut into segments, whose best are sorted in turn; as the order of keys and places is
 * the only one there is, it does not matter how. A segment begins with the bounds of those before it that are done:
 * what is as good as such a bound comes behind k others. */
enum { SEGMENT = 1 << 16, CANDIDATES = 192 };

typedef struct top_work {
    const lazy_keys *f;
    radix_form form;
    const char *in;
    int32_t *out;
    int dtype, in_bytes;
    uint64_t nan; /* the key of NaN: as a bound it leaves nothing out */
    int64_t n, stride, lines;
    int64_t k, most; /* wanted of a line, and of a segment */
    int64_t segments;
    char *best; /* by line and segment: `most` pairs */
    int64_t *found;
    uint64_t *bounds; /* the same, for those behind it; that of NaN until it is known */
    int failed;
} top_work;

static uint64_t top_key(const top_work *j, const char *pairs, int64_t i) {
    return j->form == RADIX_PAIR32 ? ((const uint64_t *)pairs)[i] >> 32 : ((const lazy_pair *)pairs)[i].key;
}

/* Elements of a segment that may be among its best: pairs in descending order of keys are the better ones. */
typedef struct top_some {
    char *pairs;
    int64_t count;
    bool bounded;
    uint64_t bound, value; /* the key that a candidate comes before, and the element that has it */
} top_some;

static void top_bound(const top_work *j, top_some *some, uint64_t bound) {
    some->bound = bound;
    some->bounded = bound < j->nan;
    const uint32_t narrow = (uint32_t)bound;
    j->f->values(&some->value, j->form == RADIX_PAIR32 ? (const void *)&narrow : &some->bound, 1, 1, true);
}

static void top_sort(const top_work *j, top_some *some, int64_t fitting) {
    radix_sort(j->form, some->pairs, some->pairs + fitting * radix_bytes(j->form), some->count);
    if (some->count < j->most)
        return;
    some->count = j->most;
    top_bound(j, some, top_key(j, some->pairs, some->count - 1));
}

/* The best bound of the segments of a line before this one. */
static uint64_t top_bound_before(const top_work *j, int64_t task) {
    uint64_t bound = j->nan;
    for (int64_t k = task - task % j->segments; k < task; k++) {
        const uint64_t other = __atomic_load_n(&j->bounds[k], __ATOMIC_RELAXED);
        bound = other < bound ? other : bound;
    }
    return bound;
}

/* All of n elements from `first` on, without those that are not before the bound. */
static void top_add(const top_work *j, top_some *some, const char *from, int64_t first, int64_t n) {
    char *to = some->pairs + some->count * radix_bytes(j->form);
    j->f->pairs(to, from + first * j->stride * j->in_bytes, n, j->stride, true, first);
    if (!some->bounded) {
        some->count += n;
        return;
    }
    for (int64_t k = 0, before = some->count; k < n; k++) {
        if (j->form == RADIX_PAIR32)
            ((uint64_t *)some->pairs)[some->count] = ((const uint64_t *)some->pairs)[before + k];
        else
            ((lazy_pair *)some->pairs)[some->count] = ((const lazy_pair *)some->pairs)[before + k];
        some->count += top_key(j, some->pairs, some->count) < some->bound;
    }
}

/* The next elements of a line without gaps that are above the bound. Returns where they end. */
static int64_t top_add_next(const top_work *j, top_some *some, const char *from, int64_t first, int64_t end) {
    uint64_t word;
    first = vm_simd()->marks->above[j->dtype](&word, from, first, end, &some->value);
    for (; word != 0; word &= word - 1, some->count++) {
        const int64_t place = first + __builtin_ctzll(word);
        j->f->pairs(some->pairs + some->count * radix_bytes(j->form), from + place * j->in_bytes, 1, 1, true, place);
    }
    return first + TOGETHER < end ? first + TOGETHER : end;
}

static void top_of_segment(void *arg, int64_t task, const neap_run *run) {
    top_work *j = arg;
    const int64_t line = task / j->segments, first = task % j->segments * SEGMENT, bytes = radix_bytes(j->form);
    const int64_t end = first + SEGMENT < j->n ? first + SEGMENT : j->n, fitting = 2 * j->most + CANDIDATES;
    const char *from = j->in + (line / j->stride * j->n * j->stride + line % j->stride) * j->in_bytes;
    void *scratch;
    if (neap_run_alloc(run, (size_t)(2 * fitting * bytes), &scratch) != 0) {
        __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    top_some some = {.pairs = scratch};
    top_bound(j, &some, top_bound_before(j, task));
    for (int64_t i = first; i < end || some.count > j->most;) {
        if (i == end || some.count + TOGETHER > fitting) {
            top_sort(j, &some, fitting);
        } else if (some.bounded && j->stride == 1) {
            i = top_add_next(j, &some, from, i, end);
        } else {
            const int64_t n = end - i < TOGETHER ? end - i : TOGETHER;
            top_add(j, &some, from, i, n);
            i += n;
        }
    }
    j->found[task] = some.count;
    if (j->most == j->k) /* else it is no bound of the line */
        __atomic_store_n(&j->bounds[task], some.bound, __ATOMIC_RELAXED);
    memcpy(j->best + task * j->most * bytes, some.pairs, (size_t)(some.count * bytes));
    neap_run_free(run, scratch, (size_t)(2 * fitting * bytes));
}

static void top_of_line(void *arg, int64_t line, const neap_run *run) {
    top_work *j = arg;
    const int64_t bytes = radix_bytes(j->form), most = j->segments * j->most;
    int64_t count = 0;
    void *scratch;
    if (neap_run_alloc(run, (size_t)(2 * most * bytes), &scratch) != 0) {
        __atomic_store_n(&j->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    char *all = scratch;
    for (int64_t task = line * j->segments; task < (line + 1) * j->segments; task++) {
        memcpy(all + count * bytes, j->best + task * j->most * bytes, (size_t)(j->found[task] * bytes));
        count += j->found[task];
    }
    radix_sort(j->form, all, all + most * bytes, count);
    for (int64_t i = 0; i < j->k && i < count; i++)
        j->out[(line / j->stride * j->k + i) * j->stride + line % j->stride] =
            (int32_t)(j->form == RADIX_PAIR32 ? ((uint64_t *)scratch)[i] : ((lazy_pair *)scratch)[i].place);
    neap_run_free(run, scratch, (size_t)(2 * most * bytes));
}

static int argtop_call(const lazy_call *call, const neap_run *run) {
    const lazy_tensor *in = &call->in[0];
    int axis, status = graph_axis("argtop", call->attrs[0], in->ndim, &axis);
    if (status || in->size == 0 || call->attrs[1] == 0)
        return status;
    top_work j = {.f = &vm_simd()->keys[in->dtype],
                  .form = neap_dtype_bytes(in->dtype) > 4 ? RADIX_PAIR64 : RADIX_PAIR32,
                  .in = in->data,
                  .out = call->out->data,
                  .dtype = in->dtype,
                  .in_bytes = neap_dtype_bytes(in->dtype),
                  .n = in->shape[axis],
                  .stride = 1,
                  .k = call->attrs[1]};
    for (int k = axis + 1; k < in->ndim; k++)
        j.stride *= in->shape[k];
    j.lines = in->size / j.n;
    j.nan = j.form == RADIX_PAIR64 ? UINT64_MAX : UINT32_MAX;
    j.segments = (j.n + SEGMENT - 1) / SEGMENT;
    j.most = j.k < SEGMENT ? j.k : SEGMENT;
    const int64_t tasks = j.lines * j.segments;
    const size_t pairs = (size_t)(tasks * j.most * radix_bytes(j.form));
    const size_t bytes = pairs + (size_t)tasks * (sizeof *j.found + sizeof *j.bounds);
    void *scratch;
    status = neap_run_alloc(run, bytes, &scratch);
    if (status)
        return status;
    j.best = scratch;
    j.found = (int64_t *)(j.best + pairs);
    j.bounds = (uint64_t *)(j.found + tasks);
    for (int64_t k = 0; k < tasks; k++)
        j.bounds[k] = j.nan;
    neap_parallel_for(run, tasks, top_of_segment, &j);
    if (!j.failed && !neap_run_cancelled(run))
        neap_parallel_for(run, j.lines, top_of_line, &j);
    neap_run_free(run, scratch, bytes);
    return j.failed ? neap_error(NEAP_E_MEMORY, "top_k: no memory to choose from lines of %" PRId64 " elements", j.n)
                    : NEAP_OK;
}

static int argtop_shape(const lazy_call_desc *call, lazy_result *out) {
    int axis, status = sorted_axis("argtop", call, &axis);
    status = status ? status : graph_shape_same(call, out);
    if (status)
        return status;
    if (call->attrs[1] < 0 || call->attrs[1] > call->in[0].shape[axis])
        return neap_error(NEAP_E_ARGUMENT, "argtop: expected to choose at most %" PRId64 " elements, got %" PRId64,
                          call->in[0].shape[axis], call->attrs[1]);
    out->shape[axis] = call->attrs[1];
    return NEAP_OK;
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
/* clang-format off */
NEAP_OP(argsort,
    .doc = "The indices (i32) that sort an array along an axis, stably: equal elements keep their order. Zeros of both "
           "signs are equal; NaN comes last, also in descending order.",
    .attrs = "axis descending", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ORDERED,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = argsort_dtype,
    .shape = argsort_shape, .call = argsort_call, .gpu = launches_argsort,
    .cost = sort_cost, .batch = derive_batch_axis, .shard = shard_axis)

NEAP_OP(sort,
    .doc = "An array in order along an axis, stably, as `argsort` orders it.",
    .attrs = "axis descending", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ORDERED,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = graph_dtype_same, .shape = sort_shape,
    .call = sort_call, .gpu = launches_sort,
    .cost = sort_cost, .grad = sort_grad, .jvp = sort_jvp, .residual = LAZY_RESIDUAL_IN0,
    .batch = derive_batch_axis, .shard = shard_axis)

NEAP_OP(argtop,
    .doc = "The indices (i32) of the k greatest elements along an axis, in descending order, as the first k of a "
           "descending `argsort`: found without sorting the others.",
    .attrs = "axis k", .kind = LAZY_CALL, .arity = 1, .types = LAZY_ORDERED,
    .flags = LAZY_OP_HIDDEN | LAZY_OP_ZERO_GRAD | LAZY_OP_DENSE | LAZY_OP_SPLITS, .dtype = argsort_dtype,
    .shape = argtop_shape, .call = argtop_call, .gpu = launches_argtop, .batch = derive_batch_axis, .shard = shard_axis)
/* clang-format on */
