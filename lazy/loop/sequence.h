/* sequence.h: loops, calls and branches that run in order, again and again: the form in which lazy/control writes the
 * loop of a program, and of which lazy/native makes code.
 *
 * Around the axes of the loops lies one more axis, the *iterated* one: an iteration begins when the one before has
 * ended, and values that pass from one to the next are *carried*. Memory is known by *places*: pointers that the code
 * is given, the slots of loads and sinks; a place may *move* by some bytes from iteration to iteration. The values of
 * all loops are numbered one after the other: loads, then instructions, loop by loop. Iterations go
 *
 *   - through memory: items run one after the other on loops of two axes, rows and their elements. Iterations take two
 *     sets of places in turns: an iteration writes where the iteration before did not. Of h = tanh(x @ w + h), h 32
 *     floats, x 64, stacked:
 *
 *         places    0 x, which moves; 1 w; 2 x @ w; 3 h of the last iteration; 4 h of this one
 *         items     FUSED loop 0: {32, 64}, nkept 1: place 2 = sum of multiply(x {0, 1}, w {64, 1})
 *                   FUSED loop 1: {1, 32}: place 4 = tanh(add(place 2, place 3))
 *
 *     A loop may also read what is one element of an earlier loop of one row (VALUE), where that runs whenever it does.
 *
 *   - in registers: there is one loop of one axis, element e of which depends on element e of the iteration before it
 *     alone, and on single elements. Loads and sinks have a place each, in their order. Of n = n * a + 1:
 *
 *         loads     0 n, carried; 1 a; 2 the number 1
 *         values    3 multiply 0, 1; 4 add 3, 2
 *         carries   load 0: the next iteration's is value 4
 */
#ifndef LAZY_LOOP_SEQUENCE_H
#define LAZY_LOOP_SEQUENCE_H

#include "lazy/loop/loop.h"

/* A loop; a call of a function of C, with some places; or a test for the next items, which run if an index, an i32 that
 * is clamped, is the item's own. Numbers are 32 bits wide, so that equal items are equal bytes. */
enum { LOOP_FUSED, LOOP_CALL, LOOP_CASE };
typedef struct loop_item {
    int32_t what;
    int32_t which;    /* FUSED: the loop; CALL: its number; CASE: the index */
    int32_t first, n; /* CALL: of the pointers; CASE: the place of the index, and how many there are */
    int32_t items;    /* CASE: how many it guards */
} loop_item;

typedef struct loop_carry { /* values */
    int32_t load, next; /* a load of one element, or in registers any; its value in the next iteration, maybe its own */
} loop_carry;

typedef struct loop_sequence {
    bool in_registers;
    int32_t nitems, nplaces, npointers, ncarries;
    int32_t head;  /* the first items, or instructions: the condition of another iteration */
    int32_t truth; /* the condition's result, a bool: a place, or a value; -1: as many iterations as are asked for */
    const loop_item *items;
    const int32_t *pointers; /* places that calls get */
    const int32_t *moves;    /* by place: 1: it moves */
    const loop_carry *carries;
} loop_sequence;

#endif
