/* unroll.c: reductions of few elements that lie far apart, as maps.
 *
 * A pool over images with their channels last reduces windows of nine elements, of which each stands 24 channels or
 * more from the next one. A loop over such rows does little between two places of memory. As a map, the loop reads nine
 * places at once and runs along the channels:
 *
 *      kept (56, 56, 24), reduced (3, 3)                kept (56, 56, 24)
 *      load 0   x, strides 5376 48 1, 2688 24           loads 0 … 8   x, offsets 0 24 48 2688 …, strides 5376 48 1
 *      sink     REDUCE max of load 0                    values        maximum of loads 0 and 8, then of that and 4, …
 *                                                       sink          STORE the last value
 *
 * The elements are combined in the tree of every reduction (loop/tree.h), so the bits stay the same. Drafts are merged
 * before: a value that a loop makes of the results of its reductions is one of the map, too.
 */
#include <string.h>

#include "lazy/arena.h"
#include "lazy/plan/draft.h"

enum {
    MOST_ELEMENTS = 32, /* of a row */
    MOST_VALUES = 256,  /* of the map: loads and instructions */
    LEAST_READ = 4096,  /* elements: smaller loops take no time either way */
    MOST_APART = 2      /* elements: neighbours of a row's neighbours, in windows that move by so many */
};

typedef struct unroller {
    const lazy_draft *from;
    lazy_draft *to;
    int32_t n;      /* elements of a row */
    int32_t *loads; /* [load][element]: the value in `to`; of a RESULT, once it is made */
    int32_t *ins;   /* [instruction][element] */
    bool *there;    /* by load: of a RESULT, that it is made */
} unroller;

/* ---- When it pays ------------------------------------------------------------------------------------------------ */
/* The last kept axis of more than one element; -1: there is none. */
static int last_kept(const lazy_draft *draft) {
    int axis = draft->nkept - 1;
    while (axis >= 0 && draft->box[axis] == 1)
        axis--;
    return axis;
}

static int windowed_axes(const lazy_draft *draft) {
    int axes = 0;
    for (int k = draft->nkept; k < draft->ndim; k++)
        axes += draft->box[k] > 1;
    return axes;
}

/* Does a load's memory run along the kept axis rather than along the rows? */
static bool runs_along(const lazy_draft *draft, const lazy_load *load, int axis) {
    int64_t apart = llabs(load->read.stride[axis]);
    bool inside = true;
    for (int k = draft->nkept; k < draft->ndim && inside; k++)
        inside = draft->box[k] == 1 || load->read.stride[k] == 0 || llabs(load->read.stride[k]) >= apart;
    return apart <= 1 ? inside : apart <= MOST_APART && windowed_axes(draft) > 1;
}

static bool load_can(const lazy_draft *draft, const lazy_load *load, int axis) {
    switch (load->kind) {
    case LAZY_LOAD_BUFFER:
        return runs_along(draft, load, axis);
    case LAZY_LOAD_TABLE:
    case LAZY_LOAD_VALUE:
        return false;
    default:
        return true;
    }
}

static bool sink_can(const lazy_sink *sink) {
    bool combines =
        sink->kind == LAZY_SINK_REDUCE && lazy_combines(sink->op, sink->dtype) >= 0 && !dtype_is_half(sink->dtype);
    return combines || sink->kind == LAZY_SINK_STORE_ROW;
}

static bool pays(const lazy_draft *draft, int64_t n) {
    const int axis = last_kept(draft);
    const int64_t values = n * (draft->loads.n + draft->ins.n + draft->sinks.n);
    bool can = axis >= 0 && n > 1 && n <= MOST_ELEMENTS && values <= MOST_VALUES &&
               n * loop_elements(draft->box, 0, draft->nkept) >= LEAST_READ;
    for (int64_t k = 0; k < draft->loads.n && can; k++)
        can = load_can(draft, &draft->loads.at[k].load, axis);
    for (int64_t k = 0; k < draft->sinks.n && can; k++)
        can = sink_can(&draft->sinks.at[k].sink);
    return can;
}

/* ---- Unrolling --------------------------------------------------------------------------------------------------- */
static int32_t *copies_of(const unroller *u, int32_t value) {
    return value < 0 ? u->loads + (-1 - value) * u->n : u->ins + value * u->n;
}

/* Adds an instruction; the value, or a status. */
static int add_ins(const unroller *u, const lazy_ins *ins, int32_t *value) {
    *value = (int32_t)u->to->ins.n;
    return lazy_push(&u->to->ins, *ins);
}

/* The place of element e of a row in what the map reads. */
static int64_t distance_of(const lazy_draft *draft, const lazy_wide_map *map, int64_t e) {
    int64_t distance = 0;
    for (int k = draft->ndim - 1; k >= draft->nkept; k--) {
        distance += e % draft->box[k] * map->stride[k];
        e /= draft->box[k];
    }
    return distance;
}

static bool is_same_along_rows(const lazy_draft *draft, const lazy_load *load) {
    bool same = true;
    for (int k = draft->nkept; k < draft->ndim && same && loop_has_map(load); k++)
        same = draft->box[k] == 1 || load->read.stride[k] == 0;
    return same;
}

static int unroll_load(const unroller *u, int64_t k) {
    const lazy_draft *draft = u->from;
    const lazy_draft_load *load = &draft->loads.at[k];
    const bool same = is_same_along_rows(draft, &load->load);
    int status = 0;
    for (int32_t e = 0; e < u->n && status == 0 && load->load.kind != LAZY_LOAD_RESULT; e++) {
        lazy_draft_load own = *load;
        u->loads[k * u->n + e] = -1 - (int32_t)u->to->loads.n;
        if (e > 0 && same) {
            u->loads[k * u->n + e] = u->loads[k * u->n];
            continue;
        }
        own.load.read.offset += distance_of(draft, &load->load.read, e);
        for (int a = draft->nkept; a < draft->ndim; a++)
            own.load.read.stride[a] = 0;
        status = lazy_push(&u->to->loads, own);
    }
    return status;
}

/* The result of a reduction of these values: lanes as in tree.h. */
static int combine(const unroller *u, const lazy_sink *sink, const int32_t *values, int32_t *result) {
    int32_t lanes[LAZY_LANES];
    lazy_ins ins = {
        .op = (int16_t)lazy_combines(sink->op, sink->dtype), .dtype = sink->dtype, .result = sink->dtype, .narg = 2};
    int status = 0;
    const int32_t most = (int32_t)loop_lanes(u->n);
    for (int32_t e = 0; e < u->n && status == 0; e++) {
        int32_t *lane = &lanes[e % LAZY_LANES];
        ins.arg[0] = e < LAZY_LANES ? 0 : *lane;
        ins.arg[1] = *lane = values[e];
        if (e >= LAZY_LANES)
            status = add_ins(u, &ins, lane);
    }
    LOOP_EACH_HALF(half)
    for (int32_t l = 0; l < half && l + half < most && status == 0; l++) {
        ins.arg[0] = lanes[l], ins.arg[1] = lanes[l + half];
        status = add_ins(u, &ins, &lanes[l]);
    }
    *result = lanes[0];
    return status;
}

/* Makes the value, if it is a RESULT that is not there yet. */
static int make_result(const unroller *u, int32_t value) {
    const int64_t load = -1 - (int64_t)value;
    if (load < 0 || u->there[load] || u->from->loads.at[load].load.kind != LAZY_LOAD_RESULT)
        return 0;
    const lazy_sink *sink = &u->from->sinks.at[u->from->loads.at[load].load.slot].sink;
    int32_t result = 0;
    int status = combine(u, sink, copies_of(u, sink->value), &result);
    for (int32_t e = 0; e < u->n; e++)
        copies_of(u, value)[e] = result;
    u->there[load] = true;
    return status;
}

/* What is the same for each element of a row is computed once. */
static int unroll_ins(const unroller *u, int64_t k) {
    const lazy_ins *ins = &u->from->ins.at[k];
    int status = 0;
    for (int a = 0; a < ins->narg && status == 0; a++)
        status = make_result(u, ins->arg[a]);
    for (int32_t e = 0; e < u->n && status == 0; e++) {
        lazy_ins own = *ins;
        bool same = e > 0;
        for (int a = 0; a < ins->narg; a++) {
            own.arg[a] = copies_of(u, ins->arg[a])[e];
            same = same && own.arg[a] == copies_of(u, ins->arg[a])[0];
        }
        u->ins[k * u->n + e] = u->ins[k * u->n];
        if (!same)
            status = add_ins(u, &own, &u->ins[k * u->n + e]);
    }
    return status;
}

static int unroll_sink(const unroller *u, int64_t k) {
    lazy_draft_sink own = u->from->sinks.at[k];
    const int32_t *values = copies_of(u, own.sink.value);
    int status = make_result(u, own.sink.value);
    if (own.sink.kind == LAZY_SINK_REDUCE && own.sink.slot < 0)
        return 0;
    if (own.sink.kind == LAZY_SINK_REDUCE) {
        status = combine(u, &own.sink, values, &own.sink.value);
        own.sink.op = (int16_t)lazy_combines(own.sink.op, own.sink.dtype);
    } else {
        own.sink.value = values[0];
    }
    own.sink.kind = LAZY_SINK_STORE;
    for (int a = u->from->nkept; a < u->from->ndim; a++)
        own.sink.write.stride[a] = 0;
    return status ? status : lazy_push(&u->to->sinks, own);
}

static int unroll(const unroller *u) {
    int status = 0;
    for (int64_t k = 0; k < u->from->loads.n && status == 0; k++)
        status = unroll_load(u, k);
    for (int64_t k = 0; k < u->from->ins.n && status == 0; k++)
        status = unroll_ins(u, k);
    for (int64_t k = 0; k < u->from->sinks.n && status == 0; k++)
        status = unroll_sink(u, k);
    return status;
}

int plan_unroll(lazy_draft *draft) {
    const int64_t n = draft->call || !draft->reduces ? 0 : loop_elements(draft->box, draft->nkept, draft->ndim);
    if (n == 0 || !pays(draft, n))
        return 0;
    lazy_draft own = *draft;
    memset(&own.loads, 0, sizeof own.loads);
    memset(&own.ins, 0, sizeof own.ins);
    memset(&own.sinks, 0, sizeof own.sinks);
    own.reduces = false;
    own.ndim = draft->nkept;
    unroller u = {.from = draft, .to = &own, .n = (int32_t)n};
    if (!LAZY_ARENA(LAZY_PART(u.loads, (size_t)(draft->loads.n * n + 1)), LAZY_PART(u.ins, (size_t)(draft->ins.n * n)),
                    LAZY_PART(u.there, (size_t)draft->loads.n)))
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    int status = unroll(&u);
    free(u.loads);
    lazy_draft *left = status ? &own : draft;
    lazy_vector_free(&left->loads);
    lazy_vector_free(&left->ins);
    lazy_vector_free(&left->sinks);
    if (status == 0)
        *draft = own;
    return status;
}
