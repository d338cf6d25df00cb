/* lower_registers.c: from the bodies of a loop to one loop in registers (lower_registers.h has the picture). */
#include "lazy/control/lower_registers.h"

#include "ops_gen.h"

/* What a turn takes of which elements are taken apart, in cheap maps of one vector; and how many of these take as long
 * as a step that is interpreted, whose maps take many elements at once. */
enum { FUNCTION_TIME = 48, STEP_TIME = 120 };

/* The most elements of arrays that are read or stacked turn by turn: a block goes from one to the next, which memory
 * likes less than one array after the other. */
enum { LONG = 8192 };

/* The most elements of functions: a turn waits for the ones of the turn before, and no more than these run side by
 * side, while the elements of a loop through memory are all independent of each other. */
enum { SIDE_BY_SIDE = 64 };

static bool fits(lower_registers *m, int64_t size) {
    if (size < 1)
        return lower_refuse(&m->parts, "its arrays are empty");
    if (size > 1 && m->n == 1)
        m->n = size;
    return size == 1 || size == m->n || lower_refuse(&m->parts, "its turns run over different sizes");
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */
static held *find_held(lower_registers *m, const lower_place *place) {
    for (int64_t k = m->held.n - 1; k >= 0; k--) {
        const body_address *a = &m->held.at[k].place.address, *b = &place->address;
        if (place->from == LOWER_ADDRESS && a->from == b->from && a->index == b->index && a->offset == b->offset)
            return &m->held.at[k];
    }
    return NULL;
}

static bool hold(lower_registers *m, lower_place place, int32_t value, int64_t size) {
    held *h = find_held(m, &place), now = {place, value, size};
    if (h)
        *h = now;
    return h || lower_pushed(&m->parts, lazy_push(&m->held, now));
}

/* Is it where a turn leaves something that it stacks? */
static bool is_stacked(const lower_place *place) {
    return place->from == LOWER_ADDRESS && place->address.from == BODY_OUTPUT && place->move != 0;
}

/* Do turns write there? */
static bool is_written(const lower_registers *m, const lower_place *place) {
    const lazy_runner *runner = m->parts.runner;
    const body_address *a = &place->address;
    return place->from == LOWER_ADDRESS &&
           (a->from == BODY_OUTPUT || a->from == BODY_SCRATCH ||
            (a->from == BODY_INPUT && a->index < runner->operands && !runner->fixed[a->index]));
}

/* A load from a place, which has none of the other loads' slots. */
static int32_t new_load(lower_registers *m, int dtype, bool vector, lower_place place) {
    const lazy_load load = {.kind = LAZY_LOAD_BUFFER,
                            .dtype = (uint8_t)dtype,
                            .slot = (int16_t)m->parts.places.n,
                            .read.stride[0] = vector};
    bool done = dtype < NEAP_DTYPE_C64 || lower_refuse(&m->parts, "its turns have complex numbers");
    if (m->parts.places.n >= LOWER_PLACES)
        done = lower_refuse(&m->parts, "its turns read and write too much");
    done = done && lower_pushed(&m->parts, lazy_push(&m->parts.loads, load)) &&
           lower_pushed(&m->parts, lazy_push(&m->parts.places, place));
    return done ? ~(int32_t)(m->parts.places.n - 1) : LOWER_NO_VALUE;
}

/* What is no carry is loaded once. */
static int32_t add_load(lower_registers *m, int dtype, bool vector, lower_place place) {
    for (int64_t k = m->carries.n; k < m->parts.places.n; k++) {
        const lazy_load *load = &m->parts.loads.at[k];
        if (load->dtype == dtype && load->read.stride[0] == vector && lower_place_same(&m->parts.places.at[k], &place))
            return ~(int32_t)k;
    }
    return new_load(m, dtype, vector, place);
}

int32_t registers_read(lower_registers *m, lower_place place, int dtype, int64_t size) {
    const held *h = find_held(m, &place);
    if (h && h->size == size && lower_dtype_of(&m->parts, h->value) == dtype)
        return h->value;
    if (h || is_written(m, &place)) {
        lower_refuse(&m->parts, "its turns read parts of what they carry or make");
        return LOWER_NO_VALUE;
    }
    return add_load(m, dtype, size > 1, place);
}

bool registers_write(lower_registers *m, lower_place place, int64_t offset, int32_t value, int64_t size) {
    bool part = offset && !m->apart; /* of what is held as a whole */
    if (is_stacked(&place)) {
        if (m->in->outer)
            return lower_refuse(&m->parts, "its branches stack what they make");
        if (!lower_pushed(&m->parts, lazy_push(&m->left, ((left){place, value, size > 1}))))
            return false;
        if (part)
            return true;
    } else if (part || !is_written(m, &place)) {
        return lower_refuse(&m->parts, "its turns put arrays together from pieces");
    }
    return hold(m, place, value, size);
}

int32_t registers_iota(lower_registers *m, int dtype, int64_t first, int naxes, const int64_t *shape,
                       const int64_t *stride, int64_t n) {
    lower_place place;
    bool done = lower_add_iota(&m->parts, dtype, first, naxes, shape, stride, n, &place);
    return done ? registers_read(m, place, dtype, n) : LOWER_NO_VALUE;
}

int32_t registers_number(lower_registers *m, const body_item *item, const lazy_load *load) {
    lower_place place;
    int dtype;
    if (!lower_find_number(&m->parts, m->in, item, load, &place, &dtype))
        return LOWER_NO_VALUE;
    int32_t value = registers_read(m, place, dtype, 1);
    return dtype == load->dtype || value == LOWER_NO_VALUE
               ? value
               : registers_map(m, LAZY_OP_astype, dtype, load->dtype, 1, &value);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */
/* Does the map lead to one element? */
static bool is_single(const lazy_kernel *kernel, const lazy_wide_map *map) {
    bool single = true;
    for (int k = 0; k < kernel->ndim; k++)
        single &= kernel->shape[k] == 1 || map->stride[k] == 0;
    return single;
}

/* Does the map lead from one element to the next in memory? */
static bool is_contiguous(const lazy_kernel *kernel, const lazy_wide_map *map) {
    bool contiguous = true;
    int64_t stride = 1;
    for (int k = kernel->ndim - 1; k >= 0; k--) {
        contiguous &= kernel->shape[k] == 1 || map->stride[k] == stride;
        stride *= kernel->shape[k];
    }
    return contiguous;
}

static int32_t read_load(lower_registers *m, const body_item *item, const lazy_load *load) {
    const lazy_kernel *kernel = item->kernel;
    bool single = is_single(kernel, &load->read);
    int64_t size = single ? 1 : registers_size(kernel);
    if (load->kind == LAZY_LOAD_IOTA)
        return single ? registers_iota(m, load->dtype, load->read.offset, 1, (int64_t[]){1}, (int64_t[]){0}, 1)
                      : registers_iota(m, load->dtype, load->read.offset, kernel->ndim, kernel->shape,
                                       load->read.stride, size);
    if (load->kind == LAZY_LOAD_SCALAR)
        return registers_number(m, item, load);
    if (load->kind != LAZY_LOAD_BUFFER || (!single && !is_contiguous(kernel, &load->read))) {
        lower_refuse(&m->parts, load->kind == LAZY_LOAD_BUFFER ? "its turns read arrays otherwise than they lie"
                                                               : "its turns do more than maps");
        return LOWER_NO_VALUE;
    }
    return registers_read(m, registers_place(m, item, load->slot, load->read.offset * neap_dtype_bytes(load->dtype)),
                          load->dtype, size);
}

/* Equal maps of equal operands are one. */
static int32_t find_ins(const lower_registers *m, const lazy_ins *ins) {
    for (int64_t k = 0; k < m->parts.ins.n; k++) {
        const lazy_ins *other = &m->parts.ins.at[k];
        if (other->op == ins->op && other->dtype == ins->dtype && other->result == ins->result &&
            memcmp(other->arg, ins->arg, sizeof ins->arg) == 0)
            return (int32_t)k;
    }
    return LOWER_NO_VALUE;
}

int32_t registers_map(lower_registers *m, int op, int dtype, int result, int narg, const int32_t *arg) {
    const lazy_op *row = lazy_ops[op];
    if (row->flags & LAZY_OP_IDENTITY)
        return arg[0];
    if (row->kind != LAZY_MAP || !native_has(op, dtype, result)) {
        lower_refuse(&m->parts, "its turns do more than maps that there is code for");
        return LOWER_NO_VALUE;
    }
    lazy_ins made = {.op = (int16_t)op, .dtype = (uint8_t)dtype, .result = (uint8_t)result, .narg = (uint8_t)narg};
    for (int a = 0; a < narg; a++)
        if ((made.arg[a] = arg[a]) == LOWER_NO_VALUE) {
            lower_refuse(&m->parts, "its turns read what is not made yet");
            return LOWER_NO_VALUE;
        }
    int32_t found = find_ins(m, &made);
    if (found != LOWER_NO_VALUE)
        return found;
    m->parts.weight += lower_weight_of(&made);
    m->computes |= row->ulp > 0;
    m->time += row->ulp > 0 ? FUNCTION_TIME : 1;
    bool done = m->parts.weight <= LOWER_WEIGHT ? lower_pushed(&m->parts, lazy_push(&m->parts.ins, made))
                                                : lower_refuse(&m->parts, "its turns do too much");
    return done ? (int32_t)m->parts.ins.n - 1 : LOWER_NO_VALUE;
}

static bool add_sink(lower_registers *m, const body_item *item, const lazy_sink *sink, const int32_t *values) {
    int64_t size = registers_size(item->kernel);
    if (sink->kind != LAZY_SINK_STORE)
        return lower_refuse(&m->parts, "its turns do more than maps");
    if (size > 1 && !is_contiguous(item->kernel, &sink->write))
        return lower_refuse(&m->parts, "its turns write arrays otherwise than they are read");
    int64_t offset = sink->write.offset * neap_dtype_bytes(sink->dtype);
    return registers_write(m, registers_place(m, item, sink->slot, offset), offset, values[sink->value], size);
}

static bool add_kernel(lower_registers *m, const body_item *item) {
    const lazy_kernel *kernel = item->kernel;
    if (kernel->nkept != kernel->ndim)
        return lower_refuse(&m->parts, "its turns do more than maps");
    if (!fits(m, registers_size(kernel)))
        return false;
    if (vm_kernel_splits(kernel))
        return lower_refuse(&m->parts, "its turns are split over the workers");
    int32_t *values = malloc(((size_t)kernel->nloads + (size_t)kernel->nins + 1) * sizeof *values);
    bool done = values || lower_refuse(&m->parts, "out of memory");
    for (int k = 0; k < kernel->nloads && done; k++)
        done = (values[k] = read_load(m, item, &kernel->loads[k])) != LOWER_NO_VALUE;
    for (int k = 0; k < kernel->nins && done; k++) {
        const lazy_ins *ins = &kernel->ins[k];
        int32_t arg[3] = {0};
        for (int a = 0; a < ins->narg; a++)
            arg[a] = values[ins->arg[a]];
        done = (values[kernel->nloads + k] = registers_map(m, ins->op, ins->dtype, ins->result, ins->narg, arg)) !=
               LOWER_NO_VALUE;
    }
    for (int k = 0; k < kernel->nsinks && done; k++)
        done = add_sink(m, item, &kernel->sinks[k], values);
    free(values);
    return done;
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */
/* Copies `size` elements from pointer 0 of the item, some bytes on, to pointer 1. */
static bool add_copy(lower_registers *m, const body_item *item, int64_t offset, int dtype, int64_t size) {
    int64_t width = neap_dtype_bytes(dtype), once = m->apart ? 1 : size;
    bool done = m->apart || fits(m, size);
    for (int64_t k = 0; k < size && done; k += once) {
        int32_t value = registers_read(m, registers_place(m, item, 0, offset + k * width), dtype, once);
        done = value != LOWER_NO_VALUE && registers_write(m, registers_place(m, item, 1, k * width), 0, value, once);
    }
    return done;
}

static bool add_output(lower_registers *m, const body_item *item) {
    const lazy_runner *runner = m->in->outer ? m->in->node->inner : m->parts.runner;
    bool truth = !m->in->outer && runner->kind->condition && m->in->which == 0;
    int dtype = truth ? NEAP_DTYPE_BOOL : runner->out_dtypes[m->in->body->pointers.at[item->first + 1].index];
    return add_copy(m, item, 0, dtype, (int64_t)item->bytes / neap_dtype_bytes(dtype));
}

static bool add_call(lower_registers *m, const body_item *item) {
    const lazy_call *call = &item->step->call;
    lazy_intrinsic known;
    if (!call->op->intrinsic || !call->op->intrinsic(call, &known) || known.what != LAZY_INTRINSIC_COPY)
        return lower_refuse(&m->parts, "its turns do more than maps");
    return add_copy(m, item, item->step->offsets[0] + known.first, call->out->dtype, call->out->size);
}

static bool add_inner(lower_registers *m, const body_item *item) {
    const lazy_runner *inner = item->inner;
    if (inner->kind->loop)
        return lower_refuse(&m->parts, "its turns do more than maps");
    if (inner->kind->branches)
        return registers_add_branches(m, item);
    lower_scope own = lower_scope_inside(m->in, item, 0);
    return registers_add_body(m, &own);
}

bool registers_add_body(lower_registers *m, const lower_scope *in) {
    const lower_scope *outer = m->in;
    m->in = in;
    bool done = true;
    for (int64_t k = 0; k < in->body->items.n && done; k++) {
        const body_item *item = &in->body->items.at[k];
        if (item->what == BODY_KERNEL)
            done = m->apart ? registers_add_apart(m, item) : add_kernel(m, item);
        else if (item->what == BODY_COPY)
            done = add_output(m, item);
        else if (item->what == BODY_CALL)
            done = add_call(m, item);
        else if (item->what == BODY_INNER)
            done = add_inner(m, item);
        else
            done = lower_refuse(&m->parts, "its turns do more than maps");
    }
    m->in = outer;
    return done;
}

static bool add_body(lower_registers *m, int which) {
    const lower_scope own = {.body = m->parts.runner->bodies[which], .which = which};
    return registers_add_body(m, &own);
}

/* What each turn hands on as it is is no carry. */
static bool add_carries(lower_registers *m) {
    const lazy_runner *runner = m->parts.runner;
    for (int32_t k = 0; k < runner->operands; k++) {
        int dtype = runner->out_dtypes[k];
        int64_t width = neap_dtype_bytes(dtype), size = runner->in_bytes[k] / width, once = m->apart ? 1 : size;
        if (runner->fixed[k])
            continue;
        if (runner->updated[k])
            return lower_refuse(&m->parts, "its turns write parts of a carry over");
        if (!m->apart && !fits(m, size))
            return false;
        for (int64_t e = 0; e < size; e += once) {
            lower_place place = {.from = LOWER_ADDRESS, .which = control_giver(runner->kind)};
            place.address = (body_address){.from = BODY_INPUT, .index = k, .offset = e * width};
            int32_t value = new_load(m, dtype, once > 1, place);
            if (value == LOWER_NO_VALUE ||
                !lower_pushed(&m->parts, lazy_push(&m->carries, ((carried){k, e * width, once}))) ||
                !hold(m, place, value, once))
                return false;
        }
    }
    return true;
}

/* What the place of an output holds once its body has run. */
static int32_t output_value(lower_registers *m, int32_t k, int64_t offset, int64_t size) {
    const lower_place place = {.from = LOWER_ADDRESS, .address = {.from = BODY_OUTPUT, .index = k, .offset = offset}};
    const held *h = find_held(m, &place);
    if (h && h->size == size)
        return h->value;
    lower_refuse(&m->parts, "its turns put arrays together from pieces");
    return LOWER_NO_VALUE;
}

/* Carries are the first loads, by their number. */
static bool close_carries(lower_registers *m) {
    bool done = true;
    for (int64_t k = 0; k < m->carries.n && done; k++) {
        const carried *c = &m->carries.at[k];
        const loop_carry carry = {~(int32_t)k, output_value(m, c->carry, c->offset, c->size)};
        done = carry.next != LOWER_NO_VALUE && lower_pushed(&m->parts, lazy_push(&m->parts.carries, carry));
    }
    return done;
}

/* What the condition has left in its places is gone when the body begins. */
static void forget(lower_registers *m) {
    int64_t n = 0;
    for (int64_t k = 0; k < m->held.n; k++)
        if (m->held.at[k].place.address.from == BODY_INPUT)
            m->held.at[n++] = m->held.at[k];
    m->held.n = n;
}

/* Are long arrays read or stacked turn by turn? */
static bool is_far_apart(const lower_registers *m) {
    bool moves = false;
    for (int64_t k = 0; k < m->parts.loads.n; k++)
        moves |= m->parts.places.at[k].move != 0 && m->parts.loads.at[k].read.stride[0] != 0;
    for (int64_t k = 0; k < m->left.n; k++)
        moves |= m->left.at[k].wide;
    return moves && m->n > LONG;
}

/* What turns leave in memory, behind the loads, and the loop. */
static bool close_loop(lower_registers *m) {
    lower_parts *p = &m->parts;
    bool done = true;
    for (int64_t k = 0; k < m->left.n && done; k++) {
        const left *l = &m->left.at[k];
        const lazy_sink sink = {.kind = LAZY_SINK_STORE,
                                .dtype = (uint8_t)lower_dtype_of(p, l->value),
                                .slot = (int16_t)p->places.n,
                                .value = l->value,
                                .write.stride[0] = l->wide};
        done = lower_pushed(p, lazy_push(&p->sinks, sink)) && lower_pushed(p, lazy_push(&p->places, l->place));
    }
    const lower_loop loop = {.ndim = 1,
                             .nkept = 1,
                             .shape[0] = m->n <= NATIVE_FEW ? m->n : 0,
                             .loads = p->loads.n,
                             .ins = p->ins.n,
                             .sinks = p->sinks.n};
    return done && lower_pushed(p, lazy_push(&p->loops, loop));
}

bool registers_run(lower_registers *m) {
    const lazy_runner *runner = m->parts.runner;
    m->condition = LOWER_NO_VALUE;
    if (!add_carries(m))
        return false;
    if (runner->kind->condition) {
        m->condition = add_body(m, 0) ? output_value(m, 0, 0, 1) : LOWER_NO_VALUE;
        if (m->condition == LOWER_NO_VALUE)
            return false;
        m->head = (int32_t)m->parts.ins.n;
        forget(m);
    }
    bool done = add_body(m, control_giver(runner->kind)) && close_carries(m);
    int64_t steps = 0;
    for (int p = 0; p < runner->nbodies; p++)
        steps += runner->bodies[p]->items.n;
    if (done && m->apart && m->time > steps * STEP_TIME)
        done = lower_refuse(&m->parts, "its steps are as fast");
    if (done && m->parts.loads.n + m->left.n > LOWER_PLACES)
        done = lower_refuse(&m->parts, "its turns read and write too much");
    if (done && is_far_apart(m))
        done = lower_refuse(&m->parts, "its turns are long");
    if (done && !m->apart && m->computes && m->n > SIDE_BY_SIDE)
        done = lower_refuse(&m->parts, "its elements are many, and wait for functions");
    return done && close_loop(m);
}

void registers_free(lower_registers *m) {
    lower_parts_free(&m->parts);
    lazy_vector_free(&m->carries);
    lazy_vector_free(&m->held);
    lazy_vector_free(&m->left);
}
