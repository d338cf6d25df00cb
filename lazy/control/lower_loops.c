/* lower_loops.c: what loops are put together from: places, loads, sinks, and what is held (lower_memory.h). */
#include "lazy/control/lower_memory.h"

#include "ops_gen.h"

/* ---- Places ------------------------------------------------------------------------------------------------------ */
int32_t memory_place(lower_memory *s, lower_place place) {
    for (int64_t k = 0; k < s->parts.places.n; k++)
        if (lower_place_same(&s->parts.places.at[k], &place))
            return (int32_t)k;
    if (s->parts.places.n >= LOWER_PLACES)
        return lower_refuse(&s->parts, "its turns read and write too much"), MEMORY_NO_PLACE;
    return lower_pushed(&s->parts, lazy_push(&s->parts.places, place)) ? (int32_t)s->parts.places.n - 1
                                                                       : MEMORY_NO_PLACE;
}

/* ---- What is held ------------------------------------------------------------------------------------------------ */
static const memory_held *find_held(const lower_memory *s, const lower_place *place) {
    for (int64_t k = 0; k < s->held.n; k++)
        if (lower_place_same(&s->held.at[k].place, place))
            return &s->held.at[k];
    return NULL;
}

/* Bytes [from, to) behind what a place's offset counts from are written over. */
static void release(lower_memory *s, const lower_place *place, int64_t from, int64_t to) {
    int64_t n = 0;
    for (int64_t k = 0; k < s->held.n; k++) {
        const lower_place *p = &s->held.at[k].place;
        int64_t first = p->address.offset, bytes = neap_dtype_bytes(lower_dtype_of(&s->parts, s->held.at[k].value));
        bool other = p->address.from != place->address.from || p->address.index != place->address.index;
        if (other || first + bytes <= from || first >= to)
            s->held.at[n++] = s->held.at[k];
    }
    s->held.n = n;
}

/* A sink of a loop has been written. A PUT is so anywhere. */
static bool note_write(lower_memory *s, const lazy_kernel *loop, const lazy_sink *sink) {
    const int64_t width = neap_dtype_bytes(sink->dtype);
    int64_t low = 0, high = 0;
    if (sink->slot < 0)
        return true;
    for (int k = 0; k < loop->ndim; k++) {
        const int64_t reach = (loop->shape[k] - 1) * sink->write.stride[k];
        *(reach < 0 ? &low : &high) += reach;
    }
    if (sink->kind == LAZY_SINK_PUT)
        high += (sink->extent - 1) * sink->step;
    const lower_place place = s->parts.places.at[sink->slot];
    release(s, &place, place.address.offset + low * width, place.address.offset + (high + 1) * width);
    const bool made = sink->kind == LAZY_SINK_STORE || sink->kind == LAZY_SINK_STORE_ROW;
    if (!made || low != high || loop_runs_across(loop) || place.from != LOWER_ADDRESS)
        return true;
    return lower_pushed(&s->parts, lazy_push(&s->held, ((memory_held){place, sink->value})));
}

int32_t memory_held_at(const lower_memory *s, lower_place place, int dtype) {
    const memory_held *held = find_held(s, &place);
    return held && lower_dtype_of(&s->parts, held->value) == dtype ? held->value : LOWER_NO_VALUE;
}

void memory_keep_held(lower_memory *s, const memory_held *before, int64_t n) {
    int64_t kept = 0;
    for (int64_t k = 0; k < n; k++) {
        const memory_held *now = find_held(s, &before[k].place);
        if (now && now->value == before[k].value)
            s->held.at[kept++] = *now;
    }
    s->held.n = kept;
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */
lower_loop memory_begin(const lower_memory *s) {
    return (lower_loop){.loads = s->parts.loads.n, .ins = s->parts.ins.n, .sinks = s->parts.sinks.n};
}

/* What has been written for nothing is held no more, nor is what it wrote over. */
static bool take_back(lower_memory *s, const lower_loop *before, int64_t items, int64_t loops, int folds) {
    lower_parts *p = &s->parts;
    p->loads.n = before->loads, p->ins.n = before->ins, p->sinks.n = before->sinks;
    if (p->items.n > items)
        s->held.n = 0;
    p->items.n = items, p->loops.n = loops, s->folds = folds;
    return false;
}

bool memory_end(lower_memory *s, const lower_loop *before, int nkept, int64_t rows, int64_t length, bool done) {
    lower_parts *p = &s->parts;
    const int64_t items = p->items.n, loops = p->loops.n;
    const int folds = s->folds;
    lower_loop made = memory_begin(s);
    made.ndim = 2, made.nkept = nkept, made.shape[0] = rows, made.shape[1] = length;
    const lazy_kernel loop = {.ndim = 2,
                              .nkept = nkept,
                              .shape = {rows, length},
                              .nloads = (int)(made.loads - before->loads),
                              .loads = p->loads.at + before->loads};
    if (done && p->loads.n + p->ins.n > MEMORY_VALUES)
        done = lower_refuse(p, "its turns do too much");
    done = done && lower_pushed(p, lazy_push(&p->items, ((loop_item){LOOP_FUSED, (int32_t)loops, 0, 0, 0}))) &&
           lower_pushed(p, lazy_push(&p->loops, made));
    for (int64_t k = before->sinks; k < made.sinks && done; k++) {
        done = note_write(s, &loop, &p->sinks.at[k]);
        s->folds += p->sinks.at[k].kind == LAZY_SINK_REDUCE;
    }
    return done || take_back(s, before, items, loops, folds);
}

int32_t memory_read(lower_memory *s, lazy_load load) {
    const bool single = load.kind == LAZY_LOAD_BUFFER && !load.read.stride[0] && !load.read.stride[1];
    const int32_t held = single ? memory_held_at(s, s->parts.places.at[load.slot], load.dtype) : LOWER_NO_VALUE;
    if (held != LOWER_NO_VALUE)
        load.kind = LAZY_LOAD_VALUE, load.slot = (int16_t)held;
    if (load.dtype >= NEAP_DTYPE_C64)
        return lower_refuse(&s->parts, "its turns have complex numbers"), LOWER_NO_VALUE;
    return lower_pushed(&s->parts, lazy_push(&s->parts.loads, load)) ? ~(int32_t)(s->parts.loads.n - 1)
                                                                     : LOWER_NO_VALUE;
}

int32_t memory_read_single(lower_memory *s, int dtype, lower_place place) {
    const int32_t slot = memory_place(s, place);
    const lazy_load load = {.kind = LAZY_LOAD_BUFFER, .dtype = (uint8_t)dtype, .slot = (int16_t)slot};
    return slot < 0 ? LOWER_NO_VALUE : memory_read(s, load);
}

int32_t memory_map(lower_memory *s, lazy_ins ins) {
    bool take = lazy_ops[ins.op]->kind == LAZY_GATHER;
    if (!take && !native_has(ins.op, ins.dtype, ins.result))
        return lower_refuse(&s->parts, "its turns do more than maps that there is code for"), LOWER_NO_VALUE;
    return lower_pushed(&s->parts, lazy_push(&s->parts.ins, ins)) ? (int32_t)s->parts.ins.n - 1 : LOWER_NO_VALUE;
}

bool memory_write(lower_memory *s, lazy_sink sink) {
    return lower_pushed(&s->parts, lazy_push(&s->parts.sinks, sink));
}
