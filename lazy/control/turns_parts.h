/* turns_parts.h: what both makers of a loop's code gather, whether its turns go through registers (turns_maker.h) or
 * through memory (turns_stages.h). Private to turns_*.c.
 */
#ifndef LAZY_TURNS_PARTS_H
#define LAZY_TURNS_PARTS_H

#include "lazy/control/turns_scope.h"

/* What making the code may take, in cheap maps; functions take longer than those. Bytes of numbers that count. */
enum { TURNS_WEIGHT = 256, TURNS_FUNCTION_WEIGHT = 4, TURNS_CONSTANT_BYTES = 1 << 14 };

typedef struct turns_parts {
    const char *why; /* the loop has no such code; the first reason */
    int weight;      /* what making it takes */
    LAZY_VECTOR(native_input) inputs;
    LAZY_VECTOR(lazy_ins) ins; /* their operands: instructions, or ~input */
    LAZY_VECTOR(turns_place) places;
    LAZY_VECTOR(lazy_scalar) constants; /* the memory of places TURNS_CONSTANT */
} turns_parts;

bool turns_refuse(turns_parts *parts, const char *why); /* false */
/* The same if the status says that there is no memory. */
bool turns_pushed(turns_parts *parts, int status);
int turns_dtype_of(const turns_parts *parts, int32_t value);
static inline int turns_weight_of(const lazy_ins *ins) {
    return lazy_ops[ins->op]->ulp > 0 ? TURNS_FUNCTION_WEIGHT : 1;
}
/* Adds memory of so many bytes, which stays from turn to turn and begins as zeros. false: refused. */
bool turns_add_constant(turns_parts *parts, int64_t bytes, turns_place *place);
static inline lazy_scalar *turns_constant_at(const turns_parts *parts, const turns_place *place) {
    return parts->constants.at + place->address.offset / (int64_t)sizeof(lazy_scalar);
}
void turns_parts_free(turns_parts *parts);

#endif
