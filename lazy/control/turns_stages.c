/* turns_stages.c: from the bodies of a loop to stages of lazy/native (turns_stages.h has the picture). */
#include "lazy/control/turns_stages.h"

#include "ops_gen.h"

/* What making the code may take, in cheap maps; functions take longer than those. */
enum { WEIGHT = 256, FUNCTION_WEIGHT = 4, CONSTANT_BYTES = 1 << 14 };

/* The most elements of a stage, and of rows that are reduced, of which values are kept on the stack; ns of a turn that
 * takes so long that going through its steps is nothing. */
enum { LONG = 8192, LONG_ROW = 2048, LONG_TURN = 50000 };

typedef struct scope { /* a body that is gone through */
    const lazy_body *body;
    int which;                 /* of the loop's, if it is one */
    int64_t scratch;           /* where its scratch begins in that of the loop */
    const struct scope *outer; /* of a node inside; NULL */
    const body_item *node;     /* of the outer body */
} scope;

static bool refuse(turns_stager *s, const char *why) {
    s->why = s->why ? s->why : why;
    return false;
}

static bool pushed(turns_stager *s, int status) {
    return status == 0 || refuse(s, "out of memory");
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */
enum { NO_PLACE = -1 };

static int32_t add_place(turns_stager *s, turns_place place) {
    for (int64_t k = 0; k < s->places.n; k++) {
        const turns_place *p = &s->places.at[k];
        if (p->from == place.from && p->which == place.which && p->address.from == place.address.from &&
            p->address.index == place.address.index && p->address.offset == place.address.offset &&
            p->buffer == place.buffer)
            return (int32_t)k;
    }
    if (s->places.n >= TURNS_PLACES)
        return refuse(s, "its turns read and write too much"), NO_PLACE;
    return pushed(s, lazy_push(&s->places, place)) ? (int32_t)s->places.n - 1 : NO_PLACE;
}

/* The bytes that what is at an address of a loop's body moves by in a turn. */
static int64_t move_of(const lazy_runner *runner, const lazy_body *body, const body_address *address) {
    int32_t k = address->index - runner->operands;
    int64_t bytes = 0;
    if (runner->kind->stacks && address->from == BODY_INPUT && k >= 0 && k < runner->xs)
        bytes = runner->in_bytes[body->input_at[address->index]];
    else if (runner->kind->stacks && address->from == BODY_OUTPUT && k >= 0)
        bytes = runner->out_bytes[address->index];
    return runner->reverse ? -bytes : bytes;
}

/* What an address of a body means in the loop's. */
static turns_place find_place(const turns_stager *s, const scope *in, body_address a) {
    for (; in->outer; in = in->outer) {
        const lazy_runner *inner = in->node->inner;
        int64_t offset = a.offset;
        if (a.from == BODY_BUFFER)
            return (turns_place){
                .from = TURNS_BUFFER, .address.offset = offset, .buffer = in->body->buffers.at[a.index]};
        if (a.from == BODY_SCRATCH) {
            a.offset += in->scratch;
            while (in->outer)
                in = in->outer;
            break;
        }
        int32_t k = a.from == BODY_INPUT ? in->body->input_at[a.index] : inner->nin;
        offset += a.from == BODY_INPUT ? 0 : inner->places[a.index];
        a = in->outer->body->pointers.at[in->node->first + k];
        a.offset += offset;
    }
    return (turns_place){
        .from = TURNS_ADDRESS, .which = in->which, .address = a, .move = move_of(s->runner, in->body, &a)};
}

static int32_t place_of(turns_stager *s, const scope *in, const body_item *item, int slot, int64_t offset) {
    body_address a = in->body->pointers.at[item->first + slot];
    a.offset += offset;
    return add_place(s, find_place(s, in, a));
}

/* The place of n scalars of memory that stays; *to is that. */
static int32_t add_constants(turns_stager *s, int64_t bytes, lazy_scalar **to) {
    int64_t from = s->constants.n;
    if (bytes > CONSTANT_BYTES)
        return refuse(s, "its turns count too far"), NO_PLACE;
    for (int64_t k = 0; k * (int64_t)sizeof(lazy_scalar) < bytes; k++)
        if (!pushed(s, lazy_push(&s->constants, (lazy_scalar){0})))
            return NO_PLACE;
    *to = s->constants.at + from;
    return add_place(s, (turns_place){.from = TURNS_CONSTANT, .address.offset = from * (int64_t)sizeof(lazy_scalar)});
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */
typedef struct staging { /* a kernel that becomes a stage */
    turns_stager *s;
    const scope *in;
    const body_item *item;
    const lazy_kernel *kernel;
    int split;            /* axes before it number the rows */
    int64_t rows, length; /* elements */
    int32_t *value;       /* by value: an instruction, or ~input */
    bool *each;           /* by value: it differs along a row */
    int32_t *fold;        /* by sink: of a reduction */
} staging;

static int64_t size_of(const lazy_kernel *kernel, int from, int to) {
    int64_t size = 1;
    for (int k = from; k < to; k++)
        size *= kernel->shape[k];
    return size;
}

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

/* Adds an input that an operand is; its number is ~ of what is returned. */
static bool add_read(staging *g, int v, int dtype, native_operand operand, bool placed) {
    turns_stager *s = g->s;
    if (placed && operand.place < 0)
        return false;
    if (dtype >= NEAP_DTYPE_C64)
        return refuse(s, "its turns have complex numbers");
    g->value[v] = ~(int32_t)s->inputs.n;
    g->each[v] = operand.along;
    return pushed(s, lazy_push(&s->inputs, ((native_input){(uint8_t)dtype, operand.along}))) &&
           pushed(s, lazy_push(&s->reads, operand));
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
        return refuse(g->s, "its turns have complex numbers");
    if ((operand.place = add_constants(g->s, n * neap_dtype_bytes(load->dtype), &to)) < 0)
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
        operand.place = add_place(s, place);
        return add_read(g, v, load->dtype, operand, true);
    }
    const body_number *number = &g->in->body->numbers[index];
    if (number->input < 0) {
        lazy_scalar *to = NULL;
        operand.place = add_constants(s, (int64_t)sizeof *to, &to);
        if (operand.place >= 0)
            *to = number->value;
        return add_read(g, v, load->dtype, operand, true);
    }
    operand.place = add_place(s, find_place(s, g->in, (body_address){BODY_INPUT, number->input, 0}));
    if (!add_read(g, v, NEAP_DTYPE_F64, operand, true) || load->dtype == NEAP_DTYPE_F64)
        return !s->why;
    if (!native_has(LAZY_OP_astype, NEAP_DTYPE_F64, load->dtype))
        return refuse(s, "its turns do more than maps that there is code for");
    native_ins cast = {
        .op = LAZY_OP_astype, .dtype = NEAP_DTYPE_F64, .result = load->dtype, .narg = 1, .arg = {g->value[v]}};
    g->value[v] = (int32_t)s->ins.n;
    return pushed(s, lazy_push(&s->ins, cast));
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
        return refuse(g->s, "its turns read arrays otherwise than they lie");
    if (load->kind == LAZY_LOAD_TABLE) {
        if (load->extent < 1 || load->extent > INT32_MAX || load->step < INT32_MIN || load->step > INT32_MAX)
            return refuse(g->s, "its turns are long");
        operand.extent = (int32_t)load->extent, operand.step = (int32_t)load->step;
    }
    operand.place = place_of(g->s, g->in, g->item, load->slot, load->read.offset * neap_dtype_bytes(load->dtype));
    return add_read(g, v, load->dtype, operand, true);
}

static bool add_ins(staging *g, int k) {
    turns_stager *s = g->s;
    const lazy_ins *ins = &g->kernel->ins[k];
    const lazy_op *row = lazy_ops[ins->op];
    const char *text = row->kernel.any;
    int v = g->kernel->nloads + k;
    bool take = row->kind == LAZY_GATHER;
    if (row->kind == LAZY_MAP && text && strcmp(text, "a") == 0) {
        g->value[v] = g->value[ins->arg[0]], g->each[v] = g->each[ins->arg[0]];
        return true;
    }
    native_ins made = {.op = ins->op, .dtype = ins->dtype, .result = ins->result, .narg = ins->narg};
    for (int a = 0; a < ins->narg; a++) {
        made.arg[a] = g->value[ins->arg[a]];
        g->each[v] |= g->each[ins->arg[a]];
    }
    if (take && g->each[ins->arg[1]])
        return refuse(s, "its turns take elements at places that are data");
    if (!take && !native_has(ins->op, ins->dtype, ins->result))
        return refuse(s, "its turns do more than maps that there is code for");
    g->value[v] = (int32_t)s->ins.n;
    return pushed(s, lazy_push(&s->ins, made));
}

static bool add_fold(staging *g, int k) {
    const lazy_sink *sink = &g->kernel->sinks[k];
    turns_stager *s = g->s;
    if (lazy_ops[sink->op]->flags & LAZY_OP_ARG || !native_has_fold(sink->op, sink->dtype))
        return refuse(s, "its turns do more than maps and sums");
    native_fold fold = {.op = sink->op, .dtype = sink->dtype, .value = g->value[sink->value]};
    return pushed(s, lazy_push(&s->folds, fold));
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
        return refuse(s, "its turns write arrays otherwise than they are read");
    if (sink->kind == LAZY_SINK_STORE_ROW && g->each[sink->value])
        return refuse(s, "its turns do more than maps and sums");
    operand.place = place_of(s, g->in, g->item, sink->slot, sink->write.offset * neap_dtype_bytes(sink->dtype));
    int32_t value = sink->kind == LAZY_SINK_REDUCE ? STAGER_RESULT + g->fold[k] : g->value[sink->value];
    return operand.place >= 0 && pushed(s, lazy_push(&s->outputs, value)) && pushed(s, lazy_push(&s->writes, operand));
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
    int64_t inputs = s->inputs.n, ins = s->ins.n, outputs = s->outputs.n, folds = s->folds.n;
    g->split = split;
    g->rows = size_of(g->kernel, 0, split);
    g->length = size_of(g->kernel, split, g->kernel->ndim);
    bool done = fill_stage(g);
    if (done) {
        native_stage stage = {.what = NATIVE_MAPS,
                              .rows = (int32_t)g->rows,
                              .length = (int32_t)g->length,
                              .inputs = (int32_t)(s->inputs.n - inputs),
                              .ins = (int32_t)(s->ins.n - ins),
                              .outputs = (int32_t)(s->outputs.n - outputs),
                              .folds = (int32_t)(s->folds.n - folds)};
        done = pushed(s, lazy_push(&s->list, stage));
    }
    if (!done) {
        s->inputs.n = s->reads.n = inputs, s->ins.n = ins, s->folds.n = folds;
        s->outputs.n = s->writes.n = outputs;
    }
    return done;
}

static int weight_of(const lazy_kernel *kernel) {
    int weight = 1;
    for (int k = 0; k < kernel->nins; k++)
        weight += lazy_ops[kernel->ins[k].op]->ulp > 0 ? FUNCTION_WEIGHT : 1;
    return weight;
}

/* Is there a stage of maps of the kernel, which has been added? Where not, s->why may say why. */
static bool add_maps(turns_stager *s, const scope *in, const body_item *item) {
    const lazy_kernel *kernel = item->kernel;
    bool reduces = kernel->nkept < kernel->ndim;
    int64_t size = size_of(kernel, 0, kernel->ndim), length = size_of(kernel, kernel->nkept, kernel->ndim);
    int values = kernel->nloads + kernel->nins, first = reduces ? kernel->nkept : 0, last = first, folds = 0;
    for (int k = 0; k < kernel->nsinks; k++)
        folds += kernel->sinks[k].kind == LAZY_SINK_REDUCE;
    if (size < 1 || size > LONG || (reduces && length > LONG_ROW) || vm_kernel_splits(kernel))
        return refuse(s, "its turns are long");
    if (s->weight + weight_of(kernel) > WEIGHT || s->folds.n + folds > NATIVE_FOLDS_MAX)
        return refuse(s, "its turns do too much");
    staging g = {.s = s, .in = in, .item = item, .kernel = kernel};
    if (!LAZY_ARENA(LAZY_PART(g.value, values + 1), LAZY_PART(g.each, values + 1),
                    LAZY_PART(g.fold, kernel->nsinks + 1)))
        return refuse(s, "out of memory");
    if (!reduces)
        last = kernel->ndim > 0 ? kernel->ndim - 1 : 0;
    number_folds(&g);
    bool done = false;
    for (int split = first; split <= last && !done; split++) {
        s->why = NULL;
        done = try_split(&g, split);
    }
    free(g.value);
    s->weight += done ? weight_of(kernel) : 0;
    s->maps += done;
    return done;
}

/* ---- Other items ------------------------------------------------------------------------------------------------- */
/* An item that is called, with so many pointers. */
static bool add_call(turns_stager *s, const scope *in, const body_item *item, int n) {
    native_stage stage = {.what = NATIVE_CALL, .which = (int32_t)s->calls.n, .first = (int32_t)s->pointers.n, .n = n};
    bool done = true;
    for (int k = 0; k < n && done; k++) {
        int32_t place = place_of(s, in, item, k, 0);
        done = place >= 0 && pushed(s, lazy_push(&s->pointers, place));
    }
    turns_call call = {item, in->which, in->scratch + (int64_t)body_round(in->body->scratch)};
    return done && pushed(s, lazy_push(&s->calls, call)) && pushed(s, lazy_push(&s->list, stage));
}

static bool add_kernel(turns_stager *s, const scope *in, const body_item *item) {
    if (add_maps(s, in, item))
        return true;
    if (in->outer && item->step->nnumbers > 0) /* which only a frame of its own has */
        return refuse(s, "its turns do more than maps");
    s->why = NULL;
    return add_call(s, in, item, item->step->nbufs);
}

static bool add_items(turns_stager *s, const scope *in);

static bool add_inner(turns_stager *s, const scope *in, const body_item *item) {
    const lazy_runner *inner = item->inner;
    bool done = true;
    if (inner->kind->loop) {
        s->inner += inner->cost;
        return add_call(s, in, item, inner->nin + 1);
    }
    for (int b = 0; b < inner->nbodies && done; b++) {
        scope own = {.body = inner->bodies[b],
                     .scratch = in->scratch + (int64_t)(body_round(in->body->scratch) + inner->frame),
                     .outer = in,
                     .node = item};
        int64_t at = s->list.n;
        native_stage stage = {.what = NATIVE_CASE, .which = b, .n = inner->nbodies};
        if (inner->kind->branches) {
            stage.first = place_of(s, in, item, 0, 0);
            done = stage.first >= 0 && pushed(s, lazy_push(&s->list, stage));
        }
        done = done && add_items(s, &own);
        if (done && inner->kind->branches)
            s->list.at[at].stages = (int32_t)(s->list.n - at - 1);
    }
    return done;
}

static bool add_items(turns_stager *s, const scope *in) {
    bool done = true;
    for (int64_t k = 0; k < in->body->items.n && done; k++) {
        const body_item *item = &in->body->items.at[k];
        if (item->what == BODY_KERNEL)
            done = add_kernel(s, in, item);
        else if (item->what == BODY_INNER)
            done = add_inner(s, in, item);
        else if (item->what == BODY_COPY)
            done = add_call(s, in, item, 2);
        else if (item->what == BODY_CALL)
            done = add_call(s, in, item, item->step->nbufs);
        else
            done = refuse(s, "its turns have effects");
    }
    return done;
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */
static bool add_body(turns_stager *s, int which) {
    scope own = {.body = s->runner->bodies[which], .which = which};
    return add_items(s, &own);
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
        s->stages.truth = done ? add_place(s, truth) : -1;
        done = s->stages.truth >= 0;
    }
    s->stages.head = (int32_t)s->list.n;
    done = done && add_body(s, control_giver(runner->kind));
    if (done && cost - s->inner > LONG_TURN)
        return refuse(s, "its turns are long");
    return done && (s->maps > 0 || refuse(s, "its turns do more than maps"));
}

void stager_free(turns_stager *s) {
    lazy_vector_free(&s->list);
    lazy_vector_free(&s->inputs);
    lazy_vector_free(&s->reads);
    lazy_vector_free(&s->writes);
    lazy_vector_free(&s->ins);
    lazy_vector_free(&s->outputs);
    lazy_vector_free(&s->folds);
    lazy_vector_free(&s->pointers);
    lazy_vector_free(&s->places);
    lazy_vector_free(&s->calls);
    lazy_vector_free(&s->constants);
}
