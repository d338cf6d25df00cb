/* lower_memory.c: from the bodies of a loop to a sequence through memory (lower_memory.h has the picture). */
#include "lazy/control/lower_memory.h"

#include "ops_gen.h"

/* ns of a turn that takes so long that going through its steps is nothing. */
enum { LONG_TURN = 50000 };

/* ---- Places ------------------------------------------------------------------------------------------------------ */
static int32_t place_of(lower_memory *s, const lower_scope *in, const body_item *item, int slot, int64_t offset) {
    return memory_place(s, lower_scope_pointer(s->parts.runner, in, item, slot, offset));
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */
typedef struct staging { /* a kernel that becomes a loop of rows */
    lower_memory *s;
    const lower_scope *in;
    const body_item *item;
    const lazy_kernel *kernel;
    int split;            /* axes before it number the rows */
    int64_t rows, length; /* elements */
    int32_t *value;       /* by value: an instruction, or ~load */
    bool *each;           /* by value: it differs along a row */
} staging;

/* Does a map lead from row to row at one distance, and along rows from one element to the next, or nowhere? Then it is
 * so of two axes, but for its offset. */
static bool is_of_rows(const staging *g, const lazy_wide_map *map, int ndim, lazy_wide_map *out) {
    const lazy_kernel *kernel = g->kernel;
    int64_t along = 0, across = 0, count = 1;
    bool fits = true, any = false;
    for (int k = ndim - 1; k >= g->split; k--) {
        if (kernel->shape[k] == 1)
            continue;
        if (!any)
            along = map->stride[k], any = true;
        fits &= map->stride[k] == along * count && (along == 0 || along == 1);
        count *= kernel->shape[k];
    }
    any = false, count = 1;
    for (int k = (g->split < ndim ? g->split : ndim) - 1; k >= 0; k--) {
        if (kernel->shape[k] == 1)
            continue;
        if (!any)
            across = map->stride[k], any = true;
        fits &= map->stride[k] == across * count;
        count *= kernel->shape[k];
    }
    *out = (lazy_wide_map){.stride = {across, along}};
    return fits;
}

/* What an operand is: a load, or what an earlier loop has made of it. */
static bool add_load(staging *g, int v, lazy_load load, bool placed) {
    if (placed && load.slot < 0)
        return false;
    g->each[v] = load.read.stride[1] != 0;
    return (g->value[v] = memory_read(g->s, load)) != LOWER_NO_VALUE;
}

/* The numbers that differ stand in memory: all, one for each row, or one. */
static bool read_iota(staging *g, int v, const lazy_load *iota) {
    const lazy_kernel *kernel = g->kernel;
    lazy_load load = {.kind = LAZY_LOAD_BUFFER, .dtype = iota->dtype};
    lower_place place;
    bool along = false, across = false;
    for (int k = 0; k < kernel->ndim; k++)
        if (kernel->shape[k] > 1 && iota->read.stride[k] != 0) {
            along |= k >= g->split;
            across |= k < g->split;
        }
    int64_t n = along ? g->rows * g->length : across ? g->rows : 1;
    if (!lower_add_iota(&g->s->parts, iota->dtype, iota->read.offset,
                        n == 1  ? 0
                        : along ? kernel->ndim
                                : g->split,
                        kernel->shape, iota->read.stride, n, &place))
        return false;
    load.slot = (int16_t)memory_place(g->s, place);
    load.read.stride[0] = along ? g->length : across;
    load.read.stride[1] = along;
    return add_load(g, v, load, true);
}

static bool read_number(staging *g, int v, const lazy_load *number) {
    lower_memory *s = g->s;
    lower_place place;
    int dtype;
    if (!lower_find_number(&s->parts, g->in, g->item, number, &place, &dtype))
        return false;
    g->each[v] = false;
    g->value[v] = memory_read_single(s, dtype, place);
    if (g->value[v] == LOWER_NO_VALUE || dtype == number->dtype)
        return g->value[v] != LOWER_NO_VALUE;
    lazy_ins cast = {
        .op = LAZY_OP_astype, .dtype = (uint8_t)dtype, .result = number->dtype, .narg = 1, .arg = {g->value[v]}};
    return (g->value[v] = memory_map(s, cast)) != LOWER_NO_VALUE;
}

static bool read_load(staging *g, int v) {
    const lazy_load *from = &g->kernel->loads[v];
    lazy_load load = *from;
    if (from->kind == LAZY_LOAD_SCALAR)
        return read_number(g, v, from);
    if (from->kind == LAZY_LOAD_IOTA)
        return read_iota(g, v, from);
    load.read = (lazy_wide_map){0};
    if (!loop_has_buffer(from))
        return add_load(g, v, load, false);
    if (!is_of_rows(g, &from->read, g->kernel->ndim, &load.read))
        return lower_refuse(&g->s->parts, "its turns read arrays otherwise than they lie");
    load.slot = (int16_t)place_of(g->s, g->in, g->item, from->slot, from->read.offset * neap_dtype_bytes(from->dtype));
    return add_load(g, v, load, true);
}

static bool add_ins(staging *g, int k) {
    lower_memory *s = g->s;
    const lazy_ins *ins = &g->kernel->ins[k];
    const lazy_op *row = lazy_ops[ins->op];
    int v = g->kernel->nloads + k;
    if (row->flags & LAZY_OP_IDENTITY) {
        g->value[v] = g->value[ins->arg[0]], g->each[v] = g->each[ins->arg[0]];
        return true;
    }
    lazy_ins made = {.op = ins->op, .dtype = ins->dtype, .result = ins->result, .narg = ins->narg};
    for (int a = 0; a < ins->narg; a++) {
        made.arg[a] = g->value[ins->arg[a]];
        g->each[v] |= g->each[ins->arg[a]];
    }
    if (row->kind == LAZY_GATHER && g->each[ins->arg[1]])
        return lower_refuse(&s->parts, "its turns take elements at places that are data");
    return (g->value[v] = memory_map(s, made)) != LOWER_NO_VALUE;
}

/* Sinks keep their numbers, by which results are read. */
static bool add_sink(staging *g, int k) {
    lazy_sink sink = g->kernel->sinks[k];
    lower_memory *s = g->s;
    const bool each = sink.kind == LAZY_SINK_STORE, reduces = sink.kind == LAZY_SINK_REDUCE;
    if (reduces && (lazy_ops[sink.op]->flags & LAZY_OP_ARG || !native_has_fold(sink.op, sink.dtype)))
        return lower_refuse(&s->parts, "its turns do more than maps and sums");
    if (!each && !reduces && g->each[sink.value])
        return lower_refuse(&s->parts, "its turns do more than maps and sums");
    const int64_t offset = sink.write.offset * neap_dtype_bytes(sink.dtype);
    const int slot = sink.slot;
    sink.value = g->value[sink.value];
    if (slot >= 0) {
        const int ndim = each ? g->kernel->ndim : g->kernel->nkept;
        if (!is_of_rows(g, &g->kernel->sinks[k].write, ndim, &sink.write) ||
            (each && g->length > 1 && sink.write.stride[1] != 1))
            return lower_refuse(&s->parts, "its turns write arrays otherwise than they are read");
        sink.slot = (int16_t)place_of(s, g->in, g->item, slot, offset);
    }
    return (slot < 0 || sink.slot >= 0) && memory_write(s, sink);
}

static bool fill_loop(staging *g) {
    const lazy_kernel *kernel = g->kernel;
    bool done = true;
    memset(g->each, 0, (size_t)(kernel->nloads + kernel->nins) * sizeof *g->each);
    for (int k = 0; k < kernel->nloads && done; k++)
        done = read_load(g, k);
    for (int k = 0; k < kernel->nins && done; k++)
        done = add_ins(g, k);
    for (int k = 0; k < kernel->nsinks && done; k++)
        done = add_sink(g, k);
    return done;
}

/* Tries the kernel with its rows split off before an axis. What has been added is taken away if that does not do. */
static bool try_split(staging *g, int split) {
    lower_memory *s = g->s;
    const lower_loop before = memory_begin(s);
    const int nkept = g->kernel->nkept < g->kernel->ndim ? 1 : 2;
    g->split = split;
    g->rows = loop_elements(g->kernel->shape, 0, split);
    g->length = loop_elements(g->kernel->shape, split, g->kernel->ndim);
    return memory_end(s, &before, nkept, g->rows, g->length, fill_loop(g));
}

static int weight_of(const lazy_kernel *kernel) {
    int weight = 1;
    for (int k = 0; k < kernel->nins; k++)
        weight += lower_weight_of(&kernel->ins[k]);
    return weight;
}

/* Is there a loop of the kernel, which has been added? Where not, s->parts.why may say why. */
static bool add_loop(lower_memory *s, const lower_scope *in, const body_item *item) {
    const lazy_kernel *kernel = item->kernel;
    bool reduces = kernel->nkept < kernel->ndim;
    int64_t size = loop_elements(kernel->shape, 0, kernel->ndim),
            length = loop_elements(kernel->shape, kernel->nkept, kernel->ndim);
    int values = kernel->nloads + kernel->nins, first = reduces ? kernel->nkept : 0, last = first, folds = 0;
    for (int k = 0; k < kernel->nsinks; k++)
        folds += kernel->sinks[k].kind == LAZY_SINK_REDUCE;
    if (size < 1 || size > MEMORY_LONG || (reduces && length > MEMORY_LONG_ROW) || vm_kernel_splits(kernel))
        return lower_refuse(&s->parts, "its turns are long");
    if (s->parts.weight + weight_of(kernel) > LOWER_WEIGHT || s->folds + folds > NATIVE_FOLDS_MAX)
        return lower_refuse(&s->parts, "its turns do too much");
    staging g = {.s = s, .in = in, .item = item, .kernel = kernel};
    if (!LAZY_ARENA(LAZY_PART(g.value, values + 1), LAZY_PART(g.each, values + 1)))
        return lower_refuse(&s->parts, "out of memory");
    if (!reduces)
        last = kernel->ndim > 0 ? kernel->ndim - 1 : 0;
    bool done = false;
    for (int split = first; split <= last && !done; split++) {
        s->parts.why = NULL;
        done = try_split(&g, split);
    }
    free(g.value);
    s->parts.weight += done ? weight_of(kernel) : 0;
    s->maps += done;
    return done;
}

/* ---- Other items ------------------------------------------------------------------------------------------------- */
/* An item that is called, with so many pointers. Nobody knows what it writes. */
static bool add_call(lower_memory *s, const lower_scope *in, const body_item *item, int n) {
    lower_parts *p = &s->parts;
    const loop_item made = {.what = LOOP_CALL, .which = (int32_t)p->calls.n, .first = (int32_t)p->pointers.n, .n = n};
    bool done = true;
    for (int k = 0; k < n && done; k++) {
        int32_t place = place_of(s, in, item, k, 0);
        done = place >= 0 && lower_pushed(p, lazy_push(&p->pointers, place));
    }
    lower_call call = {item, in->which, in->scratch + (int64_t)body_round(in->body->scratch)};
    s->held.n = 0;
    return done && lower_pushed(p, lazy_push(&p->calls, call)) && lower_pushed(p, lazy_push(&p->items, made));
}

static bool add_kernel(lower_memory *s, const lower_scope *in, const body_item *item) {
    if (add_loop(s, in, item))
        return true;
    if (in->outer && item->step->nnumbers > 0) /* which only a frame of its own has */
        return lower_refuse(&s->parts, "its turns do more than maps");
    s->parts.why = NULL;
    return add_call(s, in, item, item->step->nbufs);
}

static bool add_items(lower_memory *s, const lower_scope *in);

/* Body b of a node, behind a test if there are others. What it writes over is held no more. */
static bool add_branch(lower_memory *s, const lower_scope *in, const body_item *item, int b) {
    lower_scope own = lower_scope_inside(in, item, b);
    lower_parts *p = &s->parts;
    int64_t at = p->items.n, held = s->held.n;
    loop_item test = {.what = LOOP_CASE, .which = b, .n = item->inner->nbodies};
    if (!item->inner->kind->branches)
        return add_items(s, &own);
    test.first = place_of(s, in, item, 0, 0);
    memory_held *before = malloc((size_t)(held + 1) * sizeof *before);
    if (!before)
        return lower_refuse(p, "out of memory");
    if (held)
        memcpy(before, s->held.at, (size_t)held * sizeof *before);
    bool done = test.first >= 0 && lower_pushed(p, lazy_push(&p->items, test)) && add_items(s, &own);
    if (done)
        p->items.at[at].items = (int32_t)(p->items.n - at - 1);
    memory_keep_held(s, before, held);
    free(before);
    return done;
}

static bool add_inner(lower_memory *s, const lower_scope *in, const body_item *item) {
    const lazy_runner *inner = item->inner;
    bool done = true;
    if (inner->kind->loop) {
        s->inner += inner->cost;
        return add_call(s, in, item, inner->nin + 1);
    }
    for (int b = 0; b < inner->nbodies && done; b++)
        done = add_branch(s, in, item, b);
    return done;
}

static bool add_items(lower_memory *s, const lower_scope *in) {
    bool done = true;
    for (int64_t k = 0; k < in->body->items.n && done; k++) {
        const body_item *item = &in->body->items.at[k];
        if (item->what == BODY_KERNEL)
            done = add_kernel(s, in, item);
        else if (item->what == BODY_INNER)
            done = add_inner(s, in, item);
        else if (item->what == BODY_COPY)
            done = memory_copy(s, in, item) || add_call(s, in, item, 2);
        else if (item->what == BODY_CALL)
            done = memory_turn(s, in, item) || add_call(s, in, item, item->step->nbufs);
        else
            done = lower_refuse(&s->parts, "its turns have effects");
    }
    return done;
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */
static bool add_body(lower_memory *s, int which) {
    lower_scope own = {.body = s->parts.runner->bodies[which], .which = which};
    return add_items(s, &own);
}

/* Does no turn write there, and is it the same place in all? */
static bool is_constant(const lazy_runner *runner, const lower_place *place) {
    const int32_t k = place->address.index;
    if (place->from != LOWER_ADDRESS || place->address.from == BODY_BUFFER)
        return true;
    return place->address.from == BODY_INPUT && place->move == 0 && (k >= runner->operands || runner->fixed[k]);
}

/* Single elements are not read turn by turn, if they are constant, or carries whose next value is held at the end. */
static bool carry_held(lower_memory *s) {
    lower_parts *p = &s->parts;
    bool done = true;
    for (int32_t k = 0; k < p->loads.n && done; k++) {
        const lazy_load *load = &p->loads.at[k];
        if (load->kind != LAZY_LOAD_BUFFER || load->read.stride[0] || load->read.stride[1])
            continue;
        lower_place place = p->places.at[load->slot];
        const int32_t carry = place.address.index;
        int32_t value = LOWER_NO_VALUE;
        if (is_constant(p->runner, &place)) {
            value = ~k;
        } else if (place.address.from == BODY_INPUT && place.move == 0 && !p->runner->updated[carry]) {
            place.which = control_giver(p->runner->kind), place.address.from = BODY_OUTPUT;
            value = memory_held_at(s, place, load->dtype);
        }
        if (value != LOWER_NO_VALUE)
            done = lower_pushed(p, lazy_push(&p->carries, ((loop_carry){~k, value})));
    }
    return done;
}

bool memory_run(lower_memory *s) {
    const lazy_runner *runner = s->parts.runner;
    bool done = true;
    int64_t cost = 0;
    for (int p = 0; p < runner->nbodies; p++)
        cost += runner->bodies[p]->cost;
    s->truth = -1;
    if (runner->kind->condition) {
        done = add_body(s, 0);
        lower_place truth = {.from = LOWER_ADDRESS, .address = {BODY_OUTPUT, 0, 0}};
        s->truth = done ? memory_place(s, truth) : -1;
        done = s->truth >= 0;
    }
    s->head = (int32_t)s->parts.items.n;
    done = done && add_body(s, control_giver(runner->kind));
    if (done && cost - s->inner > LONG_TURN)
        return lower_refuse(&s->parts, "its turns are long");
    return done && carry_held(s) && (s->maps > 0 || lower_refuse(&s->parts, "its turns do more than maps"));
}

void memory_free(lower_memory *s) {
    lower_parts_free(&s->parts);
    lazy_vector_free(&s->held);
}
