/* lower_parts.c: gathering a sequence of loops, and asking for its code (lower_parts.h). */
#include "lazy/control/lower_parts.h"

#include <stdio.h>

#include "lazy/loop/verify.h"

bool lower_refuse(lower_parts *parts, const char *why) {
    parts->why = parts->why ? parts->why : why;
    return false;
}

bool lower_pushed(lower_parts *parts, int status) {
    return status == 0 || lower_refuse(parts, "out of memory");
}

int lower_dtype_of(const lower_parts *parts, int32_t value) {
    return value < 0 ? parts->loads.at[~value].dtype : parts->ins.at[value].result;
}

/* ---- Constants --------------------------------------------------------------------------------------------------- */
bool lower_add_constant(lower_parts *parts, int64_t bytes, lower_place *place) {
    const int64_t offset = parts->constants.n * (int64_t)sizeof(lazy_scalar);
    if (bytes > LOWER_CONSTANT_BYTES)
        return lower_refuse(parts, "its turns count too far");
    *place = (lower_place){.from = LOWER_CONSTANT, .address.offset = offset};
    for (int64_t k = 0; k * (int64_t)sizeof(lazy_scalar) < bytes; k++)
        if (!lower_pushed(parts, lazy_push(&parts->constants, (lazy_scalar){0})))
            return false;
    return true;
}

bool lower_add_iota(lower_parts *parts, int dtype, int64_t first, int naxes, const int64_t *shape,
                    const int64_t *stride, int64_t n, lower_place *place) {
    static const int64_t one = 1, nowhere = 0;
    if (dtype >= NEAP_DTYPE_C64)
        return lower_refuse(parts, "its turns have complex numbers");
    if (!lower_add_constant(parts, n * neap_dtype_bytes(dtype), place))
        return false;
    vm_iota(dtype, lower_constant_at(parts, place), first, n == 1 ? 1 : naxes, n == 1 ? &one : shape,
            n == 1 ? &nowhere : stride, 0, n);
    return true;
}

bool lower_find_number(lower_parts *parts, const lower_scope *in, const body_item *item, const lazy_load *load,
                       lower_place *place, int *dtype) {
    const int32_t index = item->step->first_number + load->slot;
    const body_number *number = &in->body->numbers[index];
    *dtype = load->dtype;
    if (!in->outer) {
        *place = (lower_place){.from = LOWER_NUMBER, .which = in->which, .address.index = index};
        return true;
    }
    if (number->input >= 0) {
        *dtype = NEAP_DTYPE_F64;
        *place = lower_scope_place(parts->runner, in, (body_address){BODY_INPUT, number->input, 0});
        return true;
    }
    if (!lower_add_constant(parts, (int64_t)sizeof number->value, place))
        return false;
    *lower_constant_at(parts, place) = number->value;
    return true;
}

/* ---- The sequence ------------------------------------------------------------------------------------------------ */
/* A value as it is numbered in a sequence; in its loop, if that is given. */
static int32_t number_of(const lower_parts *parts, int32_t value, const lower_loop *of) {
    lower_loop before = {0};
    for (int64_t k = 0;; before = parts->loops.at[k++]) {
        const lower_loop *loop = &parts->loops.at[k];
        if (value < 0 ? ~value >= loop->loads : value >= loop->ins)
            continue;
        int64_t number = value < 0 ? ~value - before.loads : loop->loads - before.loads + value - before.ins;
        return (int32_t)(of ? number : before.loads + before.ins + number);
    }
}

/* The loop behind `before`, whose values are numbered from now on. */
static lazy_kernel loop_of(lower_parts *parts, const lower_loop *before, const lower_loop *loop) {
    lazy_kernel made = {.ndim = loop->ndim, .nkept = loop->nkept, .shape = {loop->shape[0], loop->shape[1]}};
    made.nloads = (int)(loop->loads - before->loads), made.loads = parts->loads.at + before->loads;
    made.nins = (int)(loop->ins - before->ins), made.ins = parts->ins.at + before->ins;
    made.nsinks = (int)(loop->sinks - before->sinks), made.sinks = parts->sinks.at + before->sinks;
    for (int k = 0; k < made.nloads; k++)
        if (made.loads[k].kind == LAZY_LOAD_VALUE)
            made.loads[k].slot = (int16_t)number_of(parts, made.loads[k].slot, NULL);
    for (int k = 0; k < made.nins; k++)
        for (int a = 0; a < made.ins[k].narg; a++)
            made.ins[k].arg[a] = number_of(parts, made.ins[k].arg[a], loop);
    for (int k = 0; k < made.nsinks; k++) {
        lazy_sink *sink = &made.sinks[k];
        sink->value = number_of(parts, sink->value, loop);
        sink->index = sink->kind == LAZY_SINK_PUT ? number_of(parts, sink->index, loop) : 0;
    }
    return made;
}

native_unit *lower_want(lower_parts *parts, loop_sequence sequence) {
    lazy_kernel *loops;
    int32_t *moves;
    if (!LAZY_ARENA(LAZY_PART(loops, parts->loops.n), LAZY_PART(moves, parts->places.n)))
        return NULL;
    for (int64_t k = 0; k < parts->carries.n; k++) {
        loop_carry *carry = &parts->carries.at[k];
        *carry = (loop_carry){number_of(parts, carry->load, NULL), number_of(parts, carry->next, NULL)};
    }
    if (sequence.in_registers)
        sequence.truth = sequence.truth == LOWER_NO_VALUE ? -1 : number_of(parts, sequence.truth, NULL);
    lower_loop before = {0};
    for (int64_t k = 0; k < parts->loops.n; before = parts->loops.at[k++])
        loops[k] = loop_of(parts, &before, &parts->loops.at[k]);
    for (int64_t k = 0; k < parts->places.n; k++)
        moves[k] = parts->places.at[k].move != 0;
    sequence.nitems = (int32_t)parts->items.n, sequence.items = parts->items.at;
    sequence.npointers = (int32_t)parts->pointers.n, sequence.pointers = parts->pointers.at;
    sequence.nplaces = (int32_t)parts->places.n, sequence.moves = moves;
    sequence.ncarries = (int32_t)parts->carries.n, sequence.carries = parts->carries.at;
    native_body body = {.nloops = (int)parts->loops.n, .loops = loops, .sequence = &sequence};
    if (LOOP_VERIFY_SEQUENCE(&sequence, body.nloops, loops, "lowering a loop") == NEAP_E_INTERNAL) { /* debug builds */
        fprintf(stderr, "%s\n", neap_error_text());
        abort();
    }
    native_unit *unit = native_want(&body, vm_isa_name());
    free(loops);
    return unit;
}

void lower_parts_free(lower_parts *parts) {
    lazy_vector_free(&parts->loads);
    lazy_vector_free(&parts->ins);
    lazy_vector_free(&parts->sinks);
    lazy_vector_free(&parts->loops);
    lazy_vector_free(&parts->items);
    lazy_vector_free(&parts->pointers);
    lazy_vector_free(&parts->carries);
    lazy_vector_free(&parts->places);
    lazy_vector_free(&parts->calls);
    lazy_vector_free(&parts->constants);
}
