/* turns_parts.h: what both makers of a loop's code gather, whether its turns go through registers (turns_maker.h) or
 * through memory (turns_stages.h): a sequence of loops (lazy/loop/sequence.h). Private to turns_*.c.
 *
 * Until all is there, a value is the number of an instruction, or ~k for load k, of all loops.
 */
#ifndef LAZY_TURNS_PARTS_H
#define LAZY_TURNS_PARTS_H

#include "lazy/control/turns_scope.h"

/* What making the code may take, in cheap maps; functions take longer than those. Bytes of numbers that count. */
enum { TURNS_WEIGHT = 256, TURNS_FUNCTION_WEIGHT = 4, TURNS_CONSTANT_BYTES = 1 << 14 };

enum { TURNS_NO_VALUE = INT32_MIN };

typedef struct turns_loop {
    int ndim, nkept;
    int64_t shape[2];
    int64_t loads, ins, sinks; /* how many there are up to its last one */
} turns_loop;

typedef struct turns_parts {
    const lazy_runner *runner;
    const char *why; /* the loop has no such code; the first reason */
    int weight;      /* what making it takes */
    LAZY_VECTOR(lazy_load) loads;
    LAZY_VECTOR(lazy_ins) ins;
    LAZY_VECTOR(lazy_sink) sinks;
    LAZY_VECTOR(turns_loop) loops;
    LAZY_VECTOR(loop_item) items;
    LAZY_VECTOR(int32_t) pointers;
    LAZY_VECTOR(loop_carry) carries;
    LAZY_VECTOR(turns_place) places;
    LAZY_VECTOR(turns_call) calls;
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
/* Adds the numbers of an IOTA, as vm_iota writes them. */
bool turns_add_iota(turns_parts *parts, int dtype, int64_t first, int naxes, const int64_t *shape,
                    const int64_t *stride, int64_t n, turns_place *place);
/* Where the number of a SCALAR load of an item is, and the dtype there: f64 for an operand of a body inside. */
bool turns_find_number(turns_parts *parts, const turns_scope *in, const body_item *item, const lazy_load *load,
                       turns_place *place, int *dtype);
/* Asks for the code of all loops as this sequence, of which what is gathered here is filled in; its `truth` is a place,
 * or -1; in registers a value, or TURNS_NO_VALUE. NULL: there is no memory. */
native_unit *turns_want(turns_parts *parts, loop_sequence sequence);
void turns_parts_free(turns_parts *parts);

#endif
