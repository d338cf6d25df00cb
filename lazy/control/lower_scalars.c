/* lower_scalars.c: a small kernel as maps of single elements. So loads and stores may lead anywhere, and a reduction is
 * the maps of its tree (lazy/loop/tree.h), of which one leaf is enough here.
 */
#include "lazy/control/lower_registers.h"

/* The most elements of a kernel. */
enum { ELEMENTS = 64 };

typedef struct taker { /* a kernel that is taken apart */
    lower_registers *m;
    const body_item *item;
    const lazy_kernel *kernel;
    int64_t size, length; /* elements; of a row */
    int32_t *values;      /* by value and element; LOWER_NO_VALUE: not there yet */
} taker;

/* Where a map leads to from element e of a box. */
static int64_t place_of(int naxes, const int64_t *shape, const lazy_wide_map *map, int64_t e) {
    int64_t place = map->offset;
    for (int k = naxes - 1; k >= 0; k--) {
        place += e % shape[k] * map->stride[k];
        e /= shape[k];
    }
    return place;
}

static int32_t read_element(const taker *t, const lazy_load *load, int64_t e) {
    if (load->kind == LAZY_LOAD_SCALAR)
        return registers_number(t->m, t->item, load);
    int64_t place = place_of(t->kernel->ndim, t->kernel->shape, &load->read, e);
    if (load->kind == LAZY_LOAD_IOTA)
        return registers_iota(t->m, load->dtype, place, 1, (int64_t[]){1}, (int64_t[]){0}, 1);
    if (load->kind == LAZY_LOAD_BUFFER)
        return registers_read(t->m, registers_place(t->m, t->item, load->slot, place * neap_dtype_bytes(load->dtype)),
                              load->dtype, 1);
    lower_refuse(&t->m->parts, "its turns take elements at places that are data");
    return LOWER_NO_VALUE;
}

/* ---- Reductions -------------------------------------------------------------------------------------------------- */
/* The result of a reduction for one row. */
static int32_t reduce_row(const taker *t, const lazy_sink *sink, const int32_t *elements) {
    int op = lazy_combines(sink->op, sink->dtype);
    int32_t lane[LAZY_LANES];
    if (op < 0 || !native_has(op, sink->dtype, sink->dtype)) {
        lower_refuse(&t->m->parts, "its turns do more than maps and sums");
        return LOWER_NO_VALUE;
    }
    for (int64_t e = 0; e < t->length; e++) {
        int32_t *to = &lane[e % LAZY_LANES];
        *to = e < LAZY_LANES ? elements[e]
                             : registers_map(t->m, op, sink->dtype, sink->dtype, 2, (int32_t[]){*to, elements[e]});
        if (*to == LOWER_NO_VALUE)
            return LOWER_NO_VALUE;
    }
    LOOP_EACH_HALF(half) {
        for (int l = 0; l < half && l + half < loop_lanes(t->length); l++) {
            lane[l] = registers_map(t->m, op, sink->dtype, sink->dtype, 2, (int32_t[]){lane[l], lane[l + half]});
            if (lane[l] == LOWER_NO_VALUE)
                return LOWER_NO_VALUE;
        }
    }
    return lane[0];
}

/* The operand k of an instruction is there, or a reduction whose operand is. */
static bool make_ready(taker *t, int value) {
    const lazy_kernel *kernel = t->kernel;
    int32_t *to = t->values + value * t->size;
    if (value >= kernel->nloads || kernel->loads[value].kind != LAZY_LOAD_RESULT || *to != LOWER_NO_VALUE)
        return true;
    const lazy_sink *sink = &kernel->sinks[kernel->loads[value].slot];
    if (!make_ready(t, sink->value))
        return false;
    for (int64_t row = 0; row < t->size; row += t->length) {
        int32_t result = reduce_row(t, sink, t->values + sink->value * t->size + row);
        for (int64_t e = 0; e < t->length; e++)
            to[row + e] = result;
        if (result == LOWER_NO_VALUE)
            return false;
    }
    return true;
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */
static bool add_ins(taker *t, int k) {
    const lazy_ins *ins = &t->kernel->ins[k];
    int32_t *to = t->values + (t->kernel->nloads + k) * t->size;
    bool done = true;
    for (int a = 0; a < ins->narg && done; a++)
        done = make_ready(t, ins->arg[a]);
    for (int64_t e = 0; e < t->size && done; e++) {
        int32_t arg[3] = {0};
        for (int a = 0; a < ins->narg; a++)
            arg[a] = t->values[ins->arg[a] * t->size + e];
        done = (to[e] = registers_map(t->m, ins->op, ins->dtype, ins->result, ins->narg, arg)) != LOWER_NO_VALUE;
    }
    return done;
}

static bool add_sink(taker *t, const lazy_sink *sink) {
    const lazy_kernel *kernel = t->kernel;
    const int32_t *from = t->values + sink->value * t->size;
    bool each = sink->kind == LAZY_SINK_STORE, done = sink->slot < 0 || make_ready(t, sink->value);
    for (int64_t e = 0; e < t->size && sink->slot >= 0 && done; e += each ? 1 : t->length) {
        int32_t value = sink->kind == LAZY_SINK_REDUCE ? reduce_row(t, sink, from + e) : from[e];
        int64_t place = each ? place_of(kernel->ndim, kernel->shape, &sink->write, e)
                             : place_of(kernel->nkept, kernel->shape, &sink->write, e / t->length);
        lower_place to = registers_place(t->m, t->item, sink->slot, place * neap_dtype_bytes(sink->dtype));
        done = value != LOWER_NO_VALUE && registers_write(t->m, to, 0, value, 1);
    }
    return done;
}

bool registers_add_apart(lower_registers *m, const body_item *item) {
    const lazy_kernel *kernel = item->kernel;
    taker t = {.m = m, .item = item, .kernel = kernel, .size = registers_size(kernel)};
    t.length = loop_elements(kernel->shape, kernel->nkept, kernel->ndim);
    if (t.size < 1 || t.size > ELEMENTS)
        return lower_refuse(&m->parts, "its turns do too much");
    size_t values = (size_t)(kernel->nloads + kernel->nins + 1) * (size_t)t.size;
    bool done = (t.values = malloc(values * sizeof *t.values)) || lower_refuse(&m->parts, "out of memory");
    for (size_t k = 0; k < values && done; k++)
        t.values[k] = LOWER_NO_VALUE;
    for (int k = 0; k < kernel->nloads && done; k++)
        for (int64_t e = 0; e < t.size && kernel->loads[k].kind != LAZY_LOAD_RESULT && done; e++)
            done = (t.values[k * t.size + e] = read_element(&t, &kernel->loads[k], e)) != LOWER_NO_VALUE;
    for (int k = 0; k < kernel->nins && done; k++)
        done = add_ins(&t, k);
    for (int k = 0; k < kernel->nsinks && done; k++)
        done = add_sink(&t, &kernel->sinks[k]);
    free(t.values);
    return done;
}
