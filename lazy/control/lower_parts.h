/* lower_parts.h: the parts of a sequence of loops (lazy/loop/sequence.h) while they are gathered, for turns that go
 * through registers (lower_registers.h) or through memory (lower_memory.h). Private to lower_*.c.
 *
 * Until all is there, a value is the number of an instruction, or ~k for load k, of all loops.
 */
#ifndef LAZY_LOWER_PARTS_H
#define LAZY_LOWER_PARTS_H

#include "lazy/control/lower_scope.h"

/* What making the code may take, in cheap maps; functions take longer than those. Bytes of numbers that count. */
enum { LOWER_WEIGHT = 256, LOWER_FUNCTION_WEIGHT = 4, LOWER_CONSTANT_BYTES = 1 << 14 };

enum { LOWER_NO_VALUE = INT32_MIN };

typedef struct lower_loop {
    int ndim, nkept;
    int64_t shape[2];
    int64_t loads, ins, sinks; /* how many there are up to its last one */
} lower_loop;

typedef struct lower_parts {
    const lazy_runner *runner;
    const char *why; /* the loop has no such code; the first reason */
    int weight;      /* what making it takes */
    LAZY_VECTOR(lazy_load) loads;
    LAZY_VECTOR(lazy_ins) ins;
    LAZY_VECTOR(lazy_sink) sinks;
    LAZY_VECTOR(lower_loop) loops;
    LAZY_VECTOR(loop_item) items;
    LAZY_VECTOR(int32_t) pointers;
    LAZY_VECTOR(loop_carry) carries;
    LAZY_VECTOR(lower_place) places;
    LAZY_VECTOR(lower_call) calls;
    LAZY_VECTOR(lazy_scalar) constants; /* the memory of places LOWER_CONSTANT */
} lower_parts;

bool lower_refuse(lower_parts *parts, const char *why); /* false */
/* The same if the status says that there is no memory. */
bool lower_pushed(lower_parts *parts, int status);
int lower_dtype_of(const lower_parts *parts, int32_t value);
static inline int lower_weight_of(const lazy_ins *ins) {
    return lazy_ops[ins->op]->ulp > 0 ? LOWER_FUNCTION_WEIGHT : 1;
}
/* Adds memory of so many bytes, which stays from turn to turn and begins as zeros. false: refused. */
bool lower_add_constant(lower_parts *parts, int64_t bytes, lower_place *place);
static inline lazy_scalar *lower_constant_at(const lower_parts *parts, const lower_place *place) {
    return parts->constants.at + place->address.offset / (int64_t)sizeof(lazy_scalar);
}
/* Adds the numbers of an IOTA, as vm_iota writes them. */
bool lower_add_iota(lower_parts *parts, int dtype, int64_t first, int naxes, const int64_t *shape,
                    const int64_t *stride, int64_t n, lower_place *place);
/* Where the number of a SCALAR load of an item is, and the dtype there: f64 for an operand of a body inside. */
bool lower_find_number(lower_parts *parts, const lower_scope *in, const body_item *item, const lazy_load *load,
                       lower_place *place, int *dtype);
/* Asks for the code of all loops as this sequence, of which what is gathered here is filled in; its `truth` is a place,
 * or -1; in registers a value, or LOWER_NO_VALUE. NULL: there is no memory. */
native_unit *lower_want(lower_parts *parts, loop_sequence sequence);
void lower_parts_free(lower_parts *parts);

#endif
