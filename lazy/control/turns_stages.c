/* turns_stages.c: from the bodies of a loop to stages of lazy/native (turns_stages.h has the picture). */
#include "lazy/control/turns_stages.h"

#include "ops_gen.h"

/* ns of a turn that takes so long that going through its steps is nothing. */
enum { LONG_TURN = 50000 };

/* ---- Places ------------------------------------------------------------------------------------------------------ */
static int32_t place_of(turns_stager *s, const turns_scope *in, const body_item *item, int slot, int64_t offset) {
    return stager_place(s, turns_scope_pointer(s->runner, in, item, slot, offset));
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */
typedef struct staging { /* a kernel that becomes a stage */
    turns_stager *s;
    const turns_scope *in;
    const body_item *item;
    const lazy_kernel *kernel;
    int split;            /* axes before it number the rows */
    int64_t rows, length; /* elements */
    int32_t *value;       /* by value: an instruction, or ~input */
    bool *each;           /* by value: it differs along a row */
    int32_t *fold;        /* by sink: of a reduction */
} staging;

/* Does a map lead from row to row at one distance, and along rows from one element to the next, or nowhere? */
static bool is_of_rows(const staging *g, const lazy_wide_map *map, int ndim, native_operand *out) {
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
    out->along = (int32_t)along, out->across = (int32_t)across;
    return fits && across >= INT32_MIN && across <= INT32_MAX;
}

/* What an operand is: an input, or what an earlier stage has made of it. */
static bool add_read(staging *g, int v, int dtype, native_operand operand, bool placed) {
    if (placed && operand.place < 0)
        return false;
    g->each[v] = operand.along;
    return (g->value[v] = stager_read(g->s, dtype, operand)) != STAGER_NONE;
}

/* The numbers that differ stand in memory: all, one for each row, or one. */
static bool read_iota(staging *g, int v, const lazy_load *load) {
    const lazy_kernel *kernel = g->kernel;
    native_operand operand = {0};
    lazy_scalar *to;
    bool along = false, across = false;
    for (int k = 0; k < kernel->ndim; k++)
        if (kernel->shape[k] > 1 && load->read.stride[k] != 0) {
            along |= k >= g->split;
            across |= k < g->split;
        }
    int64_t n = along ? g->rows * g->length : across ? g->rows : 1;
    if (load->dtype >= NEAP_DTYPE_C64)
        return turns_refuse(&g->s->parts, "its turns have complex numbers");
    if ((operand.place = stager_constants(g->s, n * neap_dtype_bytes(load->dtype), &to)) < 0)
        return false;
    if (n == 1)
        vm_iota(load->dtype, to, load->read.offset, 1, (int64_t[]){1}, (int64_t[]){0}, 0, 1);
    else
        vm_iota(load->dtype, to, load->read.offset, along ? kernel->ndim : g->split, kernel->shape, load->read.stride,
                0, n);
    operand.along = along;
    operand.across = along ? (int32_t)g->length : across;
    return add_read(g, v, load->dtype, operand, true);
}

/* A number of the loop's body is an element of its frame's; one of a body inside is constant, or an f64 operand. */
static bool read_number(staging *g, int v, const lazy_load *load) {
    turns_stager *s = g->s;
    int32_t index = g->item->step->first_number + load->slot;
    native_operand operand = {0};
    if (!g->in->outer) {
        turns_place place = {.from = TURNS_NUMBER, .which = g->in->which, .address.index = index};
        operand.place = stager_place(s, place);
        return add_read(g, v, load->dtype, operand, true);
    }
    const body_number *number = &g->in->body->numbers[index];
    if (number->input < 0) {
        lazy_scalar *to = NULL;
        operand.place = stager_constants(s, (int64_t)sizeof *to, &to);
        if (operand.place >= 0)
            *to = number->value;
        return add_read(g, v, load->dtype, operand, true);
    }
    operand.place = stager_place(s, turns_scope_place(s->runner, g->in, (body_address){BODY_INPUT, number->input, 0}));
    if (!add_read(g, v, NEAP_DTYPE_F64, operand, true) || load->dtype == NEAP_DTYPE_F64)
        return !s->parts.why;
    lazy_ins cast = {
        .op = LAZY_OP_astype, .dtype = NEAP_DTYPE_F64, .result = load->dtype, .narg = 1, .arg = {g->value[v]}};
    return (g->value[v] = stager_map(s, cast)) != STAGER_NONE;
}

static bool read_load(staging *g, int v) {
    const lazy_load *load = &g->kernel->loads[v];
    native_operand operand = {0};
    if (load->kind == LAZY_LOAD_SCALAR)
        return read_number(g, v, load);
    if (load->kind == LAZY_LOAD_IOTA)
        return read_iota(g, v, load);
    if (load->kind == LAZY_LOAD_RESULT) {
        operand.place = ~g->fold[load->slot];
        return add_read(g, v, load->dtype, operand, false);
    }
    if (!is_of_rows(g, &load->read, g->kernel->ndim, &operand))
        return turns_refuse(&g->s->parts, "its turns read arrays otherwise than they lie");
    if (load->kind == LAZY_LOAD_TABLE) {
        if (load->extent < 1 || load->extent > INT32_MAX || load->step < INT32_MIN || load->step > INT32_MAX)
            return turns_refuse(&g->s->parts, "its turns are long");
        operand.extent = (int32_t)load->extent, operand.step = (int32_t)load->step;
    }
    operand.place = place_of(g->s, g->in, g->item, load->slot, load->read.offset * neap_dtype_bytes(load->dtype));
    return add_read(g, v, load->dtype, operand, true);
}

static bool add_ins(staging *g, int k) {
    turns_stager *s = g->s;
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
        return turns_refuse(&s->parts, "its turns take elements at places that are data");
    return (g->value[v] = stager_map(s, made)) != STAGER_NONE;
}

static bool add_fold(staging *g, int k) {
    const lazy_sink *sink = &g->kernel->sinks[k];
    turns_stager *s = g->s;
    if (lazy_ops[sink->op]->flags & LAZY_OP_ARG || !native_has_fold(sink->op, sink->dtype))
        return turns_refuse(&s->parts, "its turns do more than maps and sums");
    native_fold fold = {.op = sink->op, .dtype = sink->dtype, .value = g->value[sink->value]};
    return turns_pushed(&s->parts, lazy_push(&s->folds, fold));
}

static bool add_write(staging *g, int k) {
    const lazy_sink *sink = &g->kernel->sinks[k];
    turns_stager *s = g->s;
    native_operand operand = {0};
    bool each = sink->kind == LAZY_SINK_STORE;
    if (sink->slot < 0)
        return true;
    if (!is_of_rows(g, &sink->write, each ? g->kernel->ndim : g->kernel->nkept, &operand) ||
        (each && g->length > 1 && operand.along != 1))
        return turns_refuse(&s->parts, "its turns write arrays otherwise than they are read");
    if (sink->kind == LAZY_SINK_STORE_ROW && g->each[sink->value])
        return turns_refuse(&s->parts, "its turns do more than maps and sums");
    operand.place = place_of(s, g->in, g->item, sink->slot, sink->write.offset * neap_dtype_bytes(sink->dtype));
    int32_t value = sink->kind == LAZY_SINK_REDUCE ? STAGER_RESULT + g->fold[k] : g->value[sink->value];
    return operand.place >= 0 && stager_write(s, value, operand);
}

/* Numbers of the sinks' folds: results are read before they are made. */
static void number_folds(staging *g) {
    int32_t n = (int32_t)g->s->folds.n;
    for (int k = 0; k < g->kernel->nsinks; k++)
        g->fold[k] = g->kernel->sinks[k].kind == LAZY_SINK_REDUCE ? n++ : 0;
}

static bool fill_stage(staging *g) {
    const lazy_kernel *kernel = g->kernel;
    bool done = true;
    memset(g->each, 0, (size_t)(kernel->nloads + kernel->nins) * sizeof *g->each);
    for (int k = 0; k < kernel->nloads && done; k++)
        done = read_load(g, k);
    for (int k = 0; k < kernel->nins && done; k++)
        done = add_ins(g, k);
    for (int k = 0; k < kernel->nsinks && done; k++)
        done = kernel->sinks[k].kind != LAZY_SINK_REDUCE || add_fold(g, k);
    for (int k = 0; k < kernel->nsinks && done; k++)
        done = add_write(g, k);
    return done;
}

/* Tries the kernel with its rows split off before an axis. What has been added is taken away if that does not do. */
static bool try_split(staging *g, int split) {
    turns_stager *s = g->s;
    stager_mark before = stager_begin(s);
    g->split = split;
    g->rows = loop_elements(g->kernel->shape, 0, split);
    g->length = loop_elements(g->kernel->shape, split, g->kernel->ndim);
    return stager_end(s, &before, g->rows, g->length, fill_stage(g));
}

static int weight_of(const lazy_kernel *kernel) {
    int weight = 1;
    for (int k = 0; k < kernel->nins; k++)
        weight += turns_weight_of(&kernel->ins[k]);
    return weight;
}

/* Is there a stage of maps of the kernel, which has been added? Where not, s->parts.why may say why. */
static bool add_maps(turns_stager *s, const turns_scope *in, const body_item *item) {
    const lazy_kernel *kernel = item->kernel;
    bool reduces = kernel->nkept < kernel->ndim;
    int64_t size = loop_elements(kernel->shape, 0, kernel->ndim),
            length = loop_elements(kernel->shape, kernel->nkept, kernel->ndim);
    int values = kernel->nloads + kernel->nins, first = reduces ? kernel->nkept : 0, last = first, folds = 0;
    for (int k = 0; k < kernel->nsinks; k++)
        folds += kernel->sinks[k].kind == LAZY_SINK_REDUCE;
    if (size < 1 || size > STAGER_LONG || (reduces && length > STAGER_LONG_ROW) || vm_kernel_splits(kernel))
        return turns_refuse(&s->parts, "its turns are long");
    if (s->parts.weight + weight_of(kernel) > TURNS_WEIGHT || s->folds.n + folds > NATIVE_FOLDS_MAX)
        return turns_refuse(&s->parts, "its turns do too much");
    staging g = {.s = s, .in = in, .item = item, .kernel = kernel};
    if (!LAZY_ARENA(LAZY_PART(g.value, values + 1), LAZY_PART(g.each, values + 1),
                    LAZY_PART(g.fold, kernel->nsinks + 1)))
        return turns_refuse(&s->parts, "out of memory");
    if (!reduces)
        last = kernel->ndim > 0 ? kernel->ndim - 1 : 0;
    number_folds(&g);
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
static bool add_call(turns_stager *s, const turns_scope *in, const body_item *item, int n) {
    native_stage stage = {.what = NATIVE_CALL, .which = (int32_t)s->calls.n, .first = (int32_t)s->pointers.n, .n = n};
    bool done = true;
    for (int k = 0; k < n && done; k++) {
        int32_t place = place_of(s, in, item, k, 0);
        done = place >= 0 && turns_pushed(&s->parts, lazy_push(&s->pointers, place));
    }
    turns_call call = {item, in->which, in->scratch + (int64_t)body_round(in->body->scratch)};
    s->held.n = 0;
    return done && turns_pushed(&s->parts, lazy_push(&s->calls, call)) &&
           turns_pushed(&s->parts, lazy_push(&s->list, stage));
}

static bool add_kernel(turns_stager *s, const turns_scope *in, const body_item *item) {
    if (add_maps(s, in, item))
        return true;
    if (in->outer && item->step->nnumbers > 0) /* which only a frame of its own has */
        return turns_refuse(&s->parts, "its turns do more than maps");
    s->parts.why = NULL;
    return add_call(s, in, item, item->step->nbufs);
}

static bool add_items(turns_stager *s, const turns_scope *in);

/* Body b of a node, which are stages of their own if there are others. What these write over is held no more. */
static bool add_branch(turns_stager *s, const turns_scope *in, const body_item *item, int b) {
    turns_scope own = turns_scope_inside(in, item, b);
    int64_t at = s->list.n, held = s->held.n;
    native_stage stage = {.what = NATIVE_CASE, .which = b, .n = item->inner->nbodies};
    if (!item->inner->kind->branches)
        return add_items(s, &own);
    stage.first = place_of(s, in, item, 0, 0);
    stager_held *before = malloc((size_t)(held + 1) * sizeof *before);
    if (!before)
        return turns_refuse(&s->parts, "out of memory");
    if (held)
        memcpy(before, s->held.at, (size_t)held * sizeof *before);
    bool done = stage.first >= 0 && turns_pushed(&s->parts, lazy_push(&s->list, stage)) && add_items(s, &own);
    if (done)
        s->list.at[at].stages = (int32_t)(s->list.n - at - 1);
    stager_keep_held(s, before, held);
    free(before);
    return done;
}

static bool add_inner(turns_stager *s, const turns_scope *in, const body_item *item) {
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

static bool add_items(turns_stager *s, const turns_scope *in) {
    bool done = true;
    for (int64_t k = 0; k < in->body->items.n && done; k++) {
        const body_item *item = &in->body->items.at[k];
        if (item->what == BODY_KERNEL)
            done = add_kernel(s, in, item);
        else if (item->what == BODY_INNER)
            done = add_inner(s, in, item);
        else if (item->what == BODY_COPY)
            done = stager_copy(s, in, item) || add_call(s, in, item, 2);
        else if (item->what == BODY_CALL)
            done = stager_turn(s, in, item) || add_call(s, in, item, item->step->nbufs);
        else
            done = turns_refuse(&s->parts, "its turns have effects");
    }
    return done;
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */
static bool add_body(turns_stager *s, int which) {
    turns_scope own = {.body = s->runner->bodies[which], .which = which};
    return add_items(s, &own);
}

/* Does no turn write there, and is it the same place in all? */
static bool is_constant(const lazy_runner *runner, const turns_place *place) {
    const int32_t k = place->address.index;
    if (place->from != TURNS_ADDRESS || place->address.from == BODY_BUFFER)
        return true;
    return place->address.from == BODY_INPUT && place->move == 0 && (k >= runner->operands || runner->fixed[k]);
}

/* Single elements are not read turn by turn, if they are constant, or carries whose next value is held at the end. */
static void carry_held(turns_stager *s) {
    const lazy_runner *runner = s->runner;
    for (int32_t k = 0; k < s->reads.n; k++) {
        native_operand *read = &s->reads.at[k];
        if (read->place < 0 || read->along || read->across || read->extent)
            continue;
        turns_place place = s->parts.places.at[read->place];
        const int32_t carry = place.address.index;
        int32_t value = STAGER_NONE;
        if (is_constant(runner, &place)) {
            value = ~k;
        } else if (place.address.from == BODY_INPUT && place.move == 0 && !runner->updated[carry]) {
            place.which = control_giver(runner->kind), place.address.from = BODY_OUTPUT;
            value = stager_held_at(s, place, s->parts.inputs.at[k].dtype);
        }
        read->carried = value != STAGER_NONE, read->index = read->carried ? value : 0;
    }
}

bool stager_run(turns_stager *s) {
    const lazy_runner *runner = s->runner;
    bool done = true;
    int64_t cost = 0;
    for (int p = 0; p < runner->nbodies; p++)
        cost += runner->bodies[p]->cost;
    s->stages.truth = -1;
    if (runner->kind->condition) {
        done = add_body(s, 0);
        turns_place truth = {.from = TURNS_ADDRESS, .address = {BODY_OUTPUT, 0, 0}};
        s->stages.truth = done ? stager_place(s, truth) : -1;
        done = s->stages.truth >= 0;
    }
    s->stages.head = (int32_t)s->list.n;
    done = done && add_body(s, control_giver(runner->kind));
    if (done && cost - s->inner > LONG_TURN)
        return turns_refuse(&s->parts, "its turns are long");
    carry_held(s);
    return done && (s->maps > 0 || turns_refuse(&s->parts, "its turns do more than maps"));
}

void stager_free(turns_stager *s) {
    turns_parts_free(&s->parts);
    lazy_vector_free(&s->list);
    lazy_vector_free(&s->reads);
    lazy_vector_free(&s->writes);
    lazy_vector_free(&s->outputs);
    lazy_vector_free(&s->folds);
    lazy_vector_free(&s->pointers);
    lazy_vector_free(&s->calls);
    lazy_vector_free(&s->held);
}
