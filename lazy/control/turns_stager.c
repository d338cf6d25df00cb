/* turns_stager.c: what stages are put together from: places, inputs, outputs, and what is held (turns_stages.h). */
#include "lazy/control/turns_stages.h"

#include "ops_gen.h"

/* ---- Places ------------------------------------------------------------------------------------------------------ */
int32_t stager_place(turns_stager *s, turns_place place) {
    for (int64_t k = 0; k < s->parts.places.n; k++)
        if (turns_place_same(&s->parts.places.at[k], &place))
            return (int32_t)k;
    if (s->parts.places.n >= TURNS_PLACES)
        return turns_refuse(&s->parts, "its turns read and write too much"), STAGER_NO_PLACE;
    return turns_pushed(&s->parts, lazy_push(&s->parts.places, place)) ? (int32_t)s->parts.places.n - 1
                                                                       : STAGER_NO_PLACE;
}

int32_t stager_constants(turns_stager *s, int64_t bytes, lazy_scalar **to) {
    turns_place place;
    if (!turns_add_constant(&s->parts, bytes, &place))
        return STAGER_NO_PLACE;
    *to = turns_constant_at(&s->parts, &place);
    return stager_place(s, place);
}

/* ---- What is held ------------------------------------------------------------------------------------------------ */
static const stager_held *find_held(const turns_stager *s, const turns_place *place) {
    for (int64_t k = 0; k < s->held.n; k++)
        if (turns_place_same(&s->held.at[k].place, place))
            return &s->held.at[k];
    return NULL;
}

/* Bytes [from, to) behind what a place's offset counts from are written over. */
static void release(turns_stager *s, const turns_place *place, int64_t from, int64_t to) {
    int64_t n = 0;
    for (int64_t k = 0; k < s->held.n; k++) {
        const turns_place *p = &s->held.at[k].place;
        int64_t first = p->address.offset, bytes = neap_dtype_bytes(turns_dtype_of(&s->parts, s->held.at[k].value));
        bool other = p->address.from != place->address.from || p->address.index != place->address.index;
        if (other || first + bytes <= from || first >= to)
            s->held.at[n++] = s->held.at[k];
    }
    s->held.n = n;
}

/* Output k of a stage has been written. A table is so anywhere. */
static bool note_write(turns_stager *s, int64_t k, int64_t rows, int64_t length) {
    const native_operand *o = &s->writes.at[k];
    int32_t value = s->outputs.at[k];
    bool fold = value >= STAGER_RESULT, table = o->extent > 0;
    turns_place place = s->parts.places.at[o->place];
    int64_t width =
        neap_dtype_bytes(fold ? s->folds.at[value - STAGER_RESULT].dtype : turns_dtype_of(&s->parts, value));
    int64_t first = place.address.offset, last = (rows - 1) * o->across, end = first + width;
    end += width * ((o->along ? length - 1 : 0) + (table ? (int64_t)(o->extent - 1) * o->step : 0));
    release(s, &place, last < 0 ? first + last * width : first, last < 0 ? end : end + last * width);
    bool single = !fold && !table && !o->along && rows == 1 && place.from == TURNS_ADDRESS;
    return !single || turns_pushed(&s->parts, lazy_push(&s->held, ((stager_held){place, value})));
}

int32_t stager_held_at(const turns_stager *s, turns_place place, int dtype) {
    const stager_held *held = find_held(s, &place);
    return held && turns_dtype_of(&s->parts, held->value) == dtype ? held->value : STAGER_NONE;
}

void stager_keep_held(turns_stager *s, const stager_held *before, int64_t n) {
    int64_t kept = 0;
    for (int64_t k = 0; k < n; k++) {
        const stager_held *now = find_held(s, &before[k].place);
        if (now && now->value == before[k].value)
            s->held.at[kept++] = *now;
    }
    s->held.n = kept;
}

/* ---- Stages ------------------------------------------------------------------------------------------------------ */
stager_mark stager_begin(const turns_stager *s) {
    return (stager_mark){s->parts.inputs.n, s->parts.ins.n, s->outputs.n, s->folds.n};
}

bool stager_end(turns_stager *s, const stager_mark *before, int64_t rows, int64_t length, bool done) {
    native_stage stage = {.what = NATIVE_MAPS,
                          .rows = (int32_t)rows,
                          .length = (int32_t)length,
                          .inputs = (int32_t)(s->parts.inputs.n - before->inputs),
                          .ins = (int32_t)(s->parts.ins.n - before->ins),
                          .outputs = (int32_t)(s->outputs.n - before->outputs),
                          .folds = (int32_t)(s->folds.n - before->folds)};
    done = done && turns_pushed(&s->parts, lazy_push(&s->list, stage));
    for (int64_t k = before->outputs; k < s->outputs.n && done; k++)
        done = note_write(s, k, rows, length);
    if (!done) {
        s->parts.inputs.n = s->reads.n = before->inputs, s->parts.ins.n = before->ins, s->folds.n = before->folds;
        s->outputs.n = s->writes.n = before->outputs;
    }
    return done;
}

int32_t stager_read(turns_stager *s, int dtype, native_operand operand) {
    bool single = operand.place >= 0 && !operand.along && !operand.across && !operand.extent;
    int32_t held = single ? stager_held_at(s, s->parts.places.at[operand.place], dtype) : STAGER_NONE;
    if (held != STAGER_NONE)
        return held;
    if (dtype >= NEAP_DTYPE_C64)
        return turns_refuse(&s->parts, "its turns have complex numbers"), STAGER_NONE;
    bool done = turns_pushed(&s->parts, lazy_push(&s->parts.inputs, ((native_input){(uint8_t)dtype, operand.along}))) &&
                turns_pushed(&s->parts, lazy_push(&s->reads, operand));
    return done ? ~(int32_t)(s->parts.inputs.n - 1) : STAGER_NONE;
}

int32_t stager_map(turns_stager *s, lazy_ins ins) {
    bool take = lazy_ops[ins.op]->kind == LAZY_GATHER;
    if (!take && !native_has(ins.op, ins.dtype, ins.result))
        return turns_refuse(&s->parts, "its turns do more than maps that there is code for"), STAGER_NONE;
    return turns_pushed(&s->parts, lazy_push(&s->parts.ins, ins)) ? (int32_t)s->parts.ins.n - 1 : STAGER_NONE;
}

bool stager_write(turns_stager *s, int32_t value, native_operand operand) {
    return turns_pushed(&s->parts, lazy_push(&s->outputs, value)) &&
           turns_pushed(&s->parts, lazy_push(&s->writes, operand));
}
