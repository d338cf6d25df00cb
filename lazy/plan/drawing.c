/* drawing.c: instructions and loads of elements of draws (drawing.h). */
#include "lazy/plan/drawing.h"

#include <string.h>

#include "ops_gen.h"

enum { U32 = NEAP_DTYPE_U32, I64 = NEAP_DTYPE_I64, U64 = NEAP_DTYPE_U64 };

int32_t plan_drawing_map(lazy_drawing *d, int op, int dtype, int result, int narg, const int32_t *arg) {
    lazy_ins ins = {.op = (int16_t)op, .dtype = (uint8_t)dtype, .result = (uint8_t)result, .narg = (uint8_t)narg};
    memcpy(ins.arg, arg, (size_t)narg * sizeof *arg);
    if (lazy_push(&d->to->ins, ins)) {
        d->status = NEAP_E_MEMORY;
        return 0;
    }
    return (int32_t)d->to->ins.n - 1;
}

int32_t plan_drawing_map1(lazy_drawing *d, int op, int dtype, int result, int32_t a) {
    return plan_drawing_map(d, op, dtype, result, 1, &a);
}

int32_t plan_drawing_map2(lazy_drawing *d, int op, int dtype, int result, int32_t a, int32_t b) {
    return plan_drawing_map(d, op, dtype, result, 2, (int32_t[]){a, b});
}

int32_t plan_drawing_count(lazy_drawing *d, const lazy_wide_map *map) {
    lazy_draft_load load = {.load = {.kind = LAZY_LOAD_IOTA, .dtype = NEAP_DTYPE_U64, .read = *map}, .node = -1};
    if (lazy_push(&d->to->loads, load)) {
        d->status = NEAP_E_MEMORY;
        return 0;
    }
    return -(int32_t)d->to->loads.n;
}

int32_t plan_drawing_number(lazy_drawing *d, int64_t value) {
    const lazy_wide_map map = {.offset = value};
    return plan_drawing_count(d, &map);
}

int32_t plan_drawing_key(lazy_drawing *d, int32_t high, int32_t low) {
    high = plan_drawing_map1(d, LAZY_OP_astype, U32, U64, high);
    low = plan_drawing_map1(d, LAZY_OP_astype, U32, U64, low);
    return plan_drawing_map2(d, LAZY_OP_random_key, U64, U64, high, low);
}

/* What is unsigned has no places counted from the end. */
int32_t plan_drawing_place(lazy_drawing *d, int32_t index, int dtype, int64_t extent) {
    const bool is_signed = neap_dtype_kind(dtype) == 'i';
    const int wide = is_signed ? I64 : U64;
    if (dtype != wide)
        index = plan_drawing_map1(d, LAZY_OP_astype, dtype, wide, index);
    if (!is_signed)
        return plan_drawing_map2(d, LAZY_OP_minimum, U64, U64, index, plan_drawing_number(d, extent - 1));
    index = plan_drawing_map1(d, LAZY_OP_astype, I64, U64, index);
    return plan_drawing_map2(d, LAZY_OP_random_place, U64, U64, index, plan_drawing_number(d, extent));
}

/* Modulo 2^64, in which a step backwards is one too. */
int32_t plan_drawing_step(lazy_drawing *d, int32_t counter, int32_t place, int64_t step) {
    place = plan_drawing_map2(d, LAZY_OP_multiply, U64, U64, place, plan_drawing_number(d, step));
    return plan_drawing_map2(d, LAZY_OP_add, U64, U64, counter, place);
}
