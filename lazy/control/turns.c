/* control/turns.c: from the bodies of a loop to one body of lazy/native (turns.h has the picture).
 *
 * Steps are gone through in order. What a place in memory *holds* is known by its address: the value that was stored
 * there, and of how many elements. Other places do not change while the loop runs, or move with the turns; loads from
 * there are inputs. While a body is made, a value is the number of an instruction, or ~k for input k.
 */
#include "lazy/control/turns.h"

#include <stdio.h>

typedef struct held { /* what lies at an address */
    body_address address;
    int32_t value;
    int64_t size; /* elements */
} held;

typedef struct left { /* an output of the code */
    turns_place place;
    int32_t value;
    bool wide;
} left;

typedef struct maker {
    const lazy_runner *runner;
    const lazy_body *body; /* that is gone through, and its number */
    int which;
    int64_t n; /* elements of what has more than one */
    int weight;
    const char *why; /* the loop has no such code */
    LAZY_VECTOR(native_input) inputs;
    LAZY_VECTOR(int32_t) next; /* by input */
    LAZY_VECTOR(turns_place) places;
    LAZY_VECTOR(native_ins) ins;
    LAZY_VECTOR(held) held;
    LAZY_VECTOR(left) left;
    LAZY_VECTOR(lazy_scalar) constants;
} maker;

enum { NO_VALUE = INT32_MIN };

/* What making the code may take, in cheap maps; functions take longer than those. */
enum { WEIGHT = 256, FUNCTION_WEIGHT = 4, CONSTANT_BYTES = 1 << 14 };

/* ns between two looks for an interrupt, and the most turns. */
enum { SLICE = 10 * 1000 * 1000, SLICE_TURNS = 1 << 16 };

static bool refuse(maker *m, const char *why) {
    m->why = m->why ? m->why : why;
    return false;
}

static bool pushed(maker *m, int status) {
    return status == 0 || refuse(m, "out of memory");
}

static bool fits(maker *m, int64_t size) {
    if (size < 1)
        return refuse(m, "its arrays are empty");
    if (size > 1 && m->n == 1)
        m->n = size;
    return size == 1 || size == m->n || refuse(m, "its turns run over different sizes");
}

static int dtype_of(const maker *m, int32_t value) {
    return value < 0 ? m->inputs.at[~value].dtype : m->ins.at[value].result;
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */
static held *find_held(maker *m, const body_address *address) {
    for (int64_t k = m->held.n - 1; k >= 0; k--) {
        held *h = &m->held.at[k];
        if (h->address.from == address->from && h->address.index == address->index &&
            h->address.offset == address->offset)
            return h;
    }
    return NULL;
}

static bool hold(maker *m, const body_address *address, int32_t value, int64_t size) {
    held *h = find_held(m, address);
    held now = {*address, value, size};
    if (h)
        *h = now;
    return h || pushed(m, lazy_push(&m->held, now));
}

static bool is_slice(const maker *m, const body_address *address) {
    const lazy_runner *runner = m->runner;
    return runner->kind->stacks && address->from == BODY_INPUT && address->index >= runner->operands &&
           address->index < runner->operands + runner->xs;
}

/* Is it where a turn leaves something that it stacks? */
static bool is_stacked(const maker *m, const body_address *address) {
    return m->runner->kind->stacks && address->from == BODY_OUTPUT && address->index >= m->runner->operands;
}

static int32_t add_input(maker *m, int dtype, bool vector, turns_place place, int32_t next) {
    for (int64_t k = 0; k < m->places.n; k++) {
        const turns_place *p = &m->places.at[k];
        if (m->next.at[k] == next && m->inputs.at[k].dtype == dtype && m->inputs.at[k].vector == vector &&
            p->from == place.from && p->which == place.which && p->address.from == place.address.from &&
            p->address.index == place.address.index && p->address.offset == place.address.offset)
            return ~(int32_t)k;
    }
    bool done = dtype < NEAP_DTYPE_C64 || refuse(m, "its turns have complex numbers");
    done = done && pushed(m, lazy_push(&m->inputs, ((native_input){(uint8_t)dtype, vector}))) &&
           pushed(m, lazy_push(&m->next, next)) && pushed(m, lazy_push(&m->places, place));
    return done ? ~(int32_t)(m->places.n - 1) : NO_VALUE;
}

/* What is read at an address, or `offset` bytes behind it: one element, or `size`. */
static int32_t read_address(maker *m, const body_address *address, int64_t offset, int dtype, int64_t size) {
    const held *h = find_held(m, address);
    if (h) {
        if (offset == 0 && h->size == size && dtype_of(m, h->value) == dtype)
            return h->value;
        refuse(m, "its turns read parts of what they carry or make");
        return NO_VALUE;
    }
    if (address->from == BODY_OUTPUT || address->from == BODY_SCRATCH) {
        refuse(m, "its turns put arrays together from pieces");
        return NO_VALUE;
    }
    turns_place place = {.from = TURNS_ADDRESS, .which = m->which, .address = *address};
    place.address.offset += offset;
    if (is_slice(m, address)) {
        int64_t bytes = m->runner->in_bytes[m->body->input_at[address->index]];
        place.move = m->runner->reverse ? -bytes : bytes;
        return add_input(m, dtype, size > 1, place, NATIVE_MOVES);
    }
    return add_input(m, dtype, size > 1, place, NATIVE_STAYS);
}

static bool write_address(maker *m, const body_address *address, int64_t offset, int32_t value, int64_t size) {
    if (is_stacked(m, address)) {
        int64_t bytes = m->runner->out_bytes[address->index];
        left output = {.value = value, .wide = size > 1};
        output.place = (turns_place){.from = TURNS_ADDRESS, .which = m->which, .address = *address};
        output.place.address.offset += offset;
        output.place.move = m->runner->reverse ? -bytes : bytes;
        if (!pushed(m, lazy_push(&m->left, output)))
            return false;
        if (offset)
            return true;
    } else if (offset || address->from == BODY_INPUT || address->from == BODY_BUFFER) {
        return refuse(m, "its turns put arrays together from pieces");
    }
    return hold(m, address, value, size);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */
static int64_t size_of(const lazy_kernel *kernel) {
    int64_t size = 1;
    for (int k = 0; k < kernel->ndim; k++)
        size *= kernel->shape[k];
    return size;
}

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

static int32_t read_iota(maker *m, const lazy_kernel *kernel, const lazy_load *load) {
    bool single = is_single(kernel, &load->read);
    int64_t size = single ? 1 : size_of(kernel), bytes = size * neap_dtype_bytes(load->dtype), from = m->constants.n;
    if (load->dtype >= NEAP_DTYPE_C64 || bytes > CONSTANT_BYTES) {
        refuse(m, "its turns count too far");
        return NO_VALUE;
    }
    for (int64_t k = 0; k * (int64_t)sizeof(lazy_scalar) < bytes; k++)
        if (!pushed(m, lazy_push(&m->constants, (lazy_scalar){0})))
            return NO_VALUE;
    vm_iota(load->dtype, m->constants.at + from, load->read.offset, single ? 0 : kernel->ndim, kernel->shape,
            load->read.stride, 0, size);
    turns_place place = {.from = TURNS_CONSTANT, .address.offset = from * (int64_t)sizeof(lazy_scalar)};
    return add_input(m, load->dtype, !single, place, NATIVE_STAYS);
}

static int32_t read_load(maker *m, const body_item *item, const lazy_load *load) {
    const lazy_kernel *kernel = item->kernel;
    if (load->kind == LAZY_LOAD_IOTA)
        return read_iota(m, kernel, load);
    if (load->kind == LAZY_LOAD_SCALAR) {
        turns_place place = {.from = TURNS_NUMBER, .which = m->which};
        place.address.index = item->step->first_number + load->slot;
        return add_input(m, load->dtype, false, place, NATIVE_STAYS);
    }
    bool single = is_single(kernel, &load->read);
    if (load->kind != LAZY_LOAD_BUFFER || (!single && !is_contiguous(kernel, &load->read))) {
        refuse(m, load->kind == LAZY_LOAD_BUFFER ? "its turns read arrays otherwise than they lie"
                                                 : "its turns do more than maps");
        return NO_VALUE;
    }
    return read_address(m, &m->body->pointers.at[item->first + load->slot],
                        load->read.offset * neap_dtype_bytes(load->dtype), load->dtype, single ? 1 : size_of(kernel));
}

static bool add_ins(maker *m, const lazy_ins *ins, const int32_t *values, int32_t *out) {
    const lazy_op *op = lazy_ops[ins->op];
    const char *text = op->kernel.any;
    if (op->kind == LAZY_MAP && text && strcmp(text, "a") == 0) {
        *out = values[ins->arg[0]];
        return true;
    }
    if (op->kind != LAZY_MAP || !native_has(ins->op, ins->dtype, ins->result))
        return refuse(m, "its turns do more than maps that there is code for");
    native_ins made = {.op = ins->op, .dtype = ins->dtype, .result = ins->result, .narg = ins->narg};
    for (int k = 0; k < ins->narg; k++)
        made.arg[k] = values[ins->arg[k]];
    m->weight += op->ulp > 0 ? FUNCTION_WEIGHT : 1;
    *out = (int32_t)m->ins.n;
    return m->weight <= WEIGHT ? pushed(m, lazy_push(&m->ins, made)) : refuse(m, "its turns do too much");
}

static bool add_sink(maker *m, const body_item *item, const lazy_sink *sink, const int32_t *values) {
    int64_t size = size_of(item->kernel);
    if (sink->kind != LAZY_SINK_STORE)
        return refuse(m, "its turns do more than maps");
    if (size > 1 && !is_contiguous(item->kernel, &sink->write))
        return refuse(m, "its turns write arrays otherwise than they are read");
    return write_address(m, &m->body->pointers.at[item->first + sink->slot],
                         sink->write.offset * neap_dtype_bytes(sink->dtype), values[sink->value], size);
}

static bool add_kernel(maker *m, const body_item *item) {
    const lazy_kernel *kernel = item->kernel;
    if (kernel->nkept != kernel->ndim)
        return refuse(m, "its turns do more than maps");
    if (!fits(m, size_of(kernel)))
        return false;
    if (vm_kernel_splits(kernel))
        return refuse(m, "its turns are split over the workers");
    int32_t *values = malloc(((size_t)kernel->nloads + (size_t)kernel->nins + 1) * sizeof *values);
    bool done = values || refuse(m, "out of memory");
    for (int k = 0; k < kernel->nloads && done; k++) {
        values[k] = read_load(m, item, &kernel->loads[k]);
        done = values[k] != NO_VALUE;
    }
    for (int k = 0; k < kernel->nins && done; k++)
        done = add_ins(m, &kernel->ins[k], values, &values[kernel->nloads + k]);
    for (int k = 0; k < kernel->nsinks && done; k++)
        done = add_sink(m, item, &kernel->sinks[k], values);
    free(values);
    return done;
}

/* ---- Bodies ------------------------------------------------------------------------------------------------------ */
static bool is_condition(const maker *m) {
    return m->runner->kind->condition && m->which == 0;
}

static bool add_copy(maker *m, const body_item *item) {
    const body_address *from = &m->body->pointers.at[item->first], *to = from + 1;
    int dtype = is_condition(m) ? NEAP_DTYPE_BOOL : m->runner->out_dtypes[to->index];
    int64_t size = (int64_t)item->bytes / neap_dtype_bytes(dtype);
    int32_t value = fits(m, size) ? read_address(m, from, 0, dtype, size) : NO_VALUE;
    return value != NO_VALUE && write_address(m, to, 0, value, size);
}

static bool add_body(maker *m, int which) {
    m->which = which;
    m->body = m->runner->bodies[which];
    bool done = true;
    for (int64_t k = 0; k < m->body->items.n && done; k++) {
        const body_item *item = &m->body->items.at[k];
        done = item->what == BODY_KERNEL ? add_kernel(m, item)
               : item->what == BODY_COPY ? add_copy(m, item)
                                         : refuse(m, "its turns do more than maps");
    }
    return done;
}

/* Carries are the first inputs. What each turn hands on as it is is none. */
static bool add_carries(maker *m) {
    const lazy_runner *runner = m->runner;
    m->body = runner->bodies[control_giver(runner->kind)];
    for (int32_t k = 0; k < runner->operands; k++) {
        int dtype = runner->out_dtypes[k];
        int64_t size = runner->in_bytes[k] / neap_dtype_bytes(dtype);
        turns_place place = {.from = TURNS_ADDRESS, .which = control_giver(runner->kind)};
        place.address = (body_address){.from = BODY_INPUT, .index = k};
        if (runner->fixed[k])
            continue;
        if (runner->updated[k])
            return refuse(m, "its turns write parts of a carry over");
        int32_t value = fits(m, size) ? add_input(m, dtype, size > 1, place, 0) : NO_VALUE;
        if (value == NO_VALUE || !hold(m, &place.address, value, size))
            return false;
    }
    return true;
}

/* What the place of an output holds once its body has run. */
static int32_t output_value(maker *m, int32_t k, int64_t size) {
    const held *h = find_held(m, &(body_address){.from = BODY_OUTPUT, .index = k});
    if (h && h->size == size)
        return h->value;
    refuse(m, "its turns put arrays together from pieces");
    return NO_VALUE;
}

static bool close_carries(maker *m) {
    const lazy_runner *runner = m->runner;
    for (int32_t k = 0, input = 0; k < runner->operands; k++) {
        if (runner->fixed[k])
            continue;
        m->next.at[input] = output_value(m, k, runner->in_bytes[k] / neap_dtype_bytes(runner->out_dtypes[k]));
        if (m->next.at[input++] == NO_VALUE)
            return false;
    }
    return true;
}

/* What the condition has left in its places is gone when the body begins. */
static void forget(maker *m) {
    int64_t n = 0;
    for (int64_t k = 0; k < m->held.n; k++)
        if (m->held.at[k].address.from == BODY_INPUT)
            m->held.at[n++] = m->held.at[k];
    m->held.n = n;
}

/* ---- Code -------------------------------------------------------------------------------------------------------- */
static int32_t number_of(const maker *m, int32_t value) {
    return value < 0 ? ~value : (int32_t)m->inputs.n + value;
}

/* Asks for the code of what has been found. */
static native_unit *want(maker *m, native_turns turns) {
    int32_t *outputs;
    bool *wide;
    if (!LAZY_ARENA(LAZY_PART(outputs, m->left.n + 1), LAZY_PART(wide, m->left.n + 1)))
        return NULL;
    int32_t carries = 0;
    for (int k = 0; k < m->runner->operands; k++)
        carries += !m->runner->fixed[k];
    for (int32_t k = 0; k < carries; k++)
        m->next.at[k] = number_of(m, m->next.at[k]);
    for (int64_t k = 0; k < m->ins.n; k++)
        for (int a = 0; a < m->ins.at[k].narg; a++)
            m->ins.at[k].arg[a] = number_of(m, m->ins.at[k].arg[a]);
    for (int64_t k = 0; k < m->left.n; k++)
        outputs[k] = number_of(m, m->left.at[k].value), wide[k] = m->left.at[k].wide;
    turns.next = m->next.at, turns.wide = wide;
    native_body body = {(int)m->inputs.n, (int)m->ins.n, (int)m->left.n, m->inputs.at, m->ins.at, outputs, &turns};
    native_unit *unit = native_want(&body, vm_isa_name());
    free(outputs);
    return unit;
}

static turns_code *code_new(maker *m, native_unit *unit) {
    turns_code *code;
    turns_place *places;
    lazy_scalar *constants;
    size_t nin = (size_t)m->inputs.n, nout = (size_t)m->left.n;
    if (!LAZY_ARENA(LAZY_PART(code, 1), LAZY_PART(places, nin + nout + 1), LAZY_PART(constants, m->constants.n + 1)))
        return NULL;
    *code = (turns_code){unit, (int)nin, (int)nout, places, constants, m->n, 0, 0};
    if (nin)
        memcpy(places, m->places.at, nin * sizeof *places);
    for (size_t k = 0; k < nout; k++)
        places[nin + k] = m->left.at[k].place;
    if (m->constants.n)
        memcpy(constants, m->constants.at, (size_t)m->constants.n * sizeof *constants);
    int64_t cost = 1;
    for (int p = 0; p < m->runner->nbodies; p++) {
        cost += m->runner->bodies[p]->cost;
        code->written += m->runner->bodies[p]->written;
    }
    code->slice = SLICE / cost < 1 ? 1 : SLICE / cost < SLICE_TURNS ? SLICE / cost : SLICE_TURNS;
    return code;
}

static turns_code *make(maker *m) {
    const lazy_runner *runner = m->runner;
    native_turns turns = {.condition = -1};
    bool done = runner->effects == 0 || refuse(m, "its turns have effects");
    done = done && add_carries(m);
    if (done && runner->kind->condition) {
        int32_t condition = add_body(m, 0) ? output_value(m, 0, 1) : NO_VALUE;
        done = condition != NO_VALUE;
        turns.head = (int32_t)m->ins.n;
        turns.condition = condition;
        forget(m);
    }
    done = done && add_body(m, control_giver(runner->kind)) && close_carries(m);
    done = done && (m->inputs.n + m->left.n <= TURNS_PLACES || refuse(m, "its turns read and write too many arrays"));
    if (!done)
        return NULL;
    if (runner->kind->condition)
        turns.condition = number_of(m, turns.condition);
    turns.extent = m->n <= NATIVE_FEW ? (int32_t)m->n : 0;
    native_unit *unit = want(m, turns);
    turns_code *code = unit ? code_new(m, unit) : NULL;
    if (!code) {
        native_drop(unit);
        refuse(m, "out of memory");
    }
    return code;
}

static void ask(const lazy_runner *runner) {
    body_turns *turns = runner->turns;
    int expected = TURNS_COLD;
    if (!atomic_compare_exchange_strong(&turns->state, &expected, TURNS_ASKED))
        return;
    maker m = {.runner = runner, .n = 1};
    turns_code *code = make(&m);
    turns->never = m.why;
    atomic_store_explicit(&turns->code, code, memory_order_release);
    if (!code)
        atomic_store_explicit(&turns->state, TURNS_NEVER, memory_order_release);
    lazy_vector_free(&m.inputs);
    lazy_vector_free(&m.next);
    lazy_vector_free(&m.places);
    lazy_vector_free(&m.ins);
    lazy_vector_free(&m.held);
    lazy_vector_free(&m.left);
    lazy_vector_free(&m.constants);
}

/* ---- When -------------------------------------------------------------------------------------------------------- */
static turns_state state_of(body_turns *turns) {
    turns_state state = (turns_state)atomic_load_explicit(&turns->state, memory_order_acquire);
    const turns_code *code = atomic_load_explicit(&turns->code, memory_order_acquire);
    if (state != TURNS_ASKED || !code || native_state_of(code->unit) == NATIVE_WAITS)
        return state;
    state = native_state_of(code->unit) == NATIVE_READY ? TURNS_READY : TURNS_FAILED;
    atomic_store_explicit(&turns->state, state, memory_order_release);
    return state;
}

const turns_code *turns_now(const lazy_runner *runner, int64_t turns) {
    enum { TURN = 50 }; /* ns that a turn takes besides its steps */
    body_turns *t = runner->turns;
    turns_state state = state_of(t);
    if (state == TURNS_READY)
        return atomic_load_explicit(&t->code, memory_order_acquire);
    if (state != TURNS_COLD)
        return NULL;
    int64_t cost = TURN;
    for (int p = 0; p < runner->nbodies; p++)
        cost += runner->bodies[p]->cost;
    int64_t spent = atomic_fetch_add_explicit(&t->spent, cost * turns, memory_order_relaxed);
    if (vm_tier_asks(spent))
        ask(runner);
    return NULL;
}

void turns_begin(const lazy_runner *runner) {
    if (!vm_tier_is_code())
        return;
    ask(runner);
    const turns_code *code = atomic_load(&runner->turns->code);
    if (code)
        native_await(code->unit);
}

void turns_free(body_turns *turns) {
    turns_code *code = turns ? atomic_load(&turns->code) : NULL;
    if (code)
        native_drop(code->unit);
    free(code);
    free(turns);
}

const char *control_runner_why(const lazy_runner *runner, char *text, size_t capacity) {
    body_turns *turns = runner->turns;
    turns_state state = turns ? state_of(turns) : TURNS_READY;
    *text = '\0';
    if (state == TURNS_COLD)
        vm_tier_why(atomic_load(&turns->spent), text, capacity);
    else if (state == TURNS_ASKED)
        snprintf(text, capacity, "its native code is being made");
    else if (state == TURNS_FAILED)
        snprintf(text, capacity, "no native code: %s", native_failure(atomic_load(&turns->code)->unit));
    else if (state == TURNS_NEVER)
        snprintf(text, capacity, "no native code of its own: %s", turns->never);
    return text;
}

bool control_runner_is_native(const lazy_runner *runner) {
    return runner->turns && state_of(runner->turns) == TURNS_READY;
}
