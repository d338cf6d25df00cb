/* native.h: kernels as machine code.
 *
 * A *body* is a straight-line program of maps over elements. Its code takes n elements of each input through registers
 * to the outputs; of a body that is a turn of a loop, turn by turn (plugin/turns.c). It is made from the kernel texts
 * of the op rows, as the VM's loops are, so it gives their bits.
 *
 *      values:  0 … ninputs-1 are inputs, ninputs … are the results of instructions, in order
 *
 * An example: y = 2 x + 1 with the sum of y, for x = 0, 1, … 999, in f32.
 *
 *      inputs   0: x, a vector   1: 2, single   2: 1, single        instructions   3: multiply 0 1   4: add 3 2
 *      outputs  4                                                   folds          sum of 4
 *      code     at = {x, the 2, the 1, y, leaves}, n = 1000
 *      writes   y = 1, 3, 5, … 1999; leaves = 65536, 196608, 327680, 410176, of 256, 256, 256 and 232 elements
 *
 * The same instructions as a turn of a loop, which begins with x = 0, 0, … and hands y on as the next x: next = {4,
 * NATIVE_STAYS, NATIVE_STAYS}, outputs 4, moves[3] = 4000 bytes. Three turns write rows of 1, of 3 and of 7, one behind
 * the other from at[3] on, and leave the 7s where x was.
 *
 * The generator is a plugin, neap_native.so, around LLVM. A thread of its own makes code, in the order in which it was
 * asked for, and nobody waits for it: who asks looks again at its next run. Code is kept by body and instruction set:
 * equal bodies share it. It is found again by later processes in a folder of files (native/cache.c).
 */
#ifndef LAZY_NATIVE_NATIVE_H
#define LAZY_NATIVE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lazy/loop/loop.h"

typedef struct native_input {
    uint8_t dtype;
    bool vector; /* n elements; else one for all */
} native_input;

/* A reduction of the value of an instruction over the tree of lazy/loop/tree.h: one result for each leaf, the last of
 * which may be short; if the body is of whole rows, these are combined and the first one is the result. */
typedef struct native_fold {
    int16_t op;    /* LAZY_OP_sum, … */
    uint8_t dtype; /* of the value and of the results */
    int32_t value;
} native_fold;
enum { NATIVE_FOLDS_MAX = 8 };

/* Of a body that is a turn of a loop. Its carries are inputs that are other values in the next turn; its outputs, any
 * values, go where the turn before left them, and some bytes on. A value that is one element, of whatever elements, is
 * read by elements; but not the other way round. */
enum { NATIVE_STAYS = -1, NATIVE_MOVES = -2, NATIVE_FEW = 64 };
typedef struct native_turns {
    const int32_t *next; /* by input: the value that it is in the next turn; STAYS: itself; MOVES: it is read anew */
    const bool *wide;    /* by output: n elements; else the first one */
    int32_t condition; /* the value, one bool, that says whether there is another turn; -1: as many as are asked for */
    int32_t head;      /* the first instructions, which make that */
    int32_t extent;    /* n, if it is at most NATIVE_FEW; 0: as the code is told */
    const struct native_stages *stages; /* NULL: a turn goes through registers. Else nothing above is used */
} native_turns;

/* A turn may also go through memory, in stages that run one after the other (plugin/stages.c):
 *
 *      MAPS   rows of elements: maps, reductions of each row, maps of what these give
 *      COLUMNS  the same rows, at most a leaf of them, of which one reduction goes down the columns: what depends on it
 *             has one row
 *      CALL   a function of C gets so many places
 *      CASE   so many of the next stages are run if an index, an i32 that is clamped, is this one
 *
 * Memory is known by *places*: pointers that the code is given. Turns take two sets of places in turn, since what a
 * turn carries lies where the turn before it did not write. The inputs, instructions, outputs and folds of the body are
 * those of the stages in order; a RESULT is an input that a fold of its stage gives. A stage may also read what is one
 * element of an earlier stage of one row, if that runs wherever this one does. An instruction `take` reads a table,
 * arg[0], at an index that is one for a row, arg[1]; an output that is a table is not written where its index is out of
 * range. Numbers are 32 bits wide, so that equal stages are equal
 * bytes. */
enum { NATIVE_MAPS, NATIVE_COLUMNS, NATIVE_CALL, NATIVE_CASE };
typedef struct native_stage {
    int32_t what;
    int32_t rows, length;                /* MAPS, COLUMNS: of how many elements */
    int32_t inputs, ins, outputs, folds; /* the same: how many of them are its own */
    int32_t which;                       /* CALL: its number; CASE: the index */
    int32_t first, n;                    /* CALL: of its pointers; CASE: place of the index; how many there are */
    int32_t stages;                      /* CASE: how many it guards */
} native_stage;

typedef struct native_operand {
    int32_t place;        /* of a RESULT ~fold */
    int32_t across;       /* elements from a row to the next */
    int32_t along;        /* the same from an element to the next: 0 or 1 */
    int32_t extent, step; /* of a table: of its index, and elements from one to the next */
    int32_t carried;      /* 1: it is one element, which is read before the first turn */
    int32_t index; /* a value. Of what is carried: what it is in the next turn, maybe itself. Of an output that is
                           * a table: which row of it the stage, of one row, writes */
} native_operand;

typedef struct native_stages {
    int32_t n, head; /* how many; the first ones tell whether there is another turn */
    int32_t truth;   /* the place of what they say, a bool; -1: as many turns as are asked for */
    int32_t places;  /* how many there are in a set */
    int32_t npointers;
    const native_stage *stages;
    const native_operand *operands; /* of inputs, then of outputs */
    const int32_t *pointers;        /* places that calls get */
    const int32_t *moves;           /* by place: 1: it moves from turn to turn */
} native_stages;

typedef struct native_body {
    int ninputs, nins, noutputs;
    const native_input *inputs;
    const lazy_ins *ins;    /* of stages also `take`, at an index that is one for a row */
    const int32_t *outputs; /* values, each of an instruction; of stages any value, or ~fold */
    int nfolds;             /* at most NATIVE_FOLDS_MAX */
    bool whole_rows;        /* the n elements are a row: the leaves of folds are combined */
    const native_fold *folds;
    const native_turns *turns; /* NULL: it is no turn of a loop; such a body has no folds */
    const bool *far; /* by input, then by output: it comes from memory, and is asked for early; it goes past the caches,
                      * if it lies where a vector may begin. NULL: none, as in a turn */
} native_body;

/* An output that depends on inputs that are one for all alone is one element, too.
 *
 * at[k]: where input k is, then where the outputs go, then the results of the folds. An output may lie exactly over an
 * input of the same width. */
typedef void (*native_code)(char *const *at, int64_t n);

/* Of a turn: runs at most `turns` turns, and returns how many; fewer than asked for if the condition ended them. What a
 * carry is after them is written over it. moves[k]: the bytes that at[k] moves by in a turn, of inputs that move and of
 * outputs. */
typedef int64_t (*native_loop)(char *const *at, const int64_t *moves, int64_t n, int64_t turns);

/* Of stages at[] holds both sets of places, of the first turn and of the one after it, both as in the first turn; then
 * the function that is called, and what it gets first. moves[k] is that of place k; n is not used. Such a function
 * returns 0 or a failure, after which the code returns ~turns, the turns that are over. */
typedef int32_t (*native_call)(void *context, int64_t which, void **data);

/* Is there a function for the instruction, whatever it reads? */
bool native_has(int op, int dtype, int result);
/* The same of a reduction. */
bool native_has_fold(int op, int dtype);

/* ---- Code -------------------------------------------------------------------------------------------------------- */
typedef enum native_state { NATIVE_WAITS, NATIVE_READY, NATIVE_FAILED } native_state;
typedef struct native_unit native_unit;

/* The code of a body for an instruction set (vm_isa_name), which will be made if nobody has asked for it yet. OWNED
 * (native_drop); NULL: there is no memory. Any thread. */
native_unit *native_want(const native_body *body, const char *isa);
/* The same, but for now it is only looked for in the files of earlier processes, which takes a fraction of a
 * millisecond; without one it stays NATIVE_WAITS until somebody insists, or wants it. */
native_unit *native_seek(const native_body *body, const char *isa);
void native_insist(native_unit *unit);
native_state native_state_of(const native_unit *unit);
/* Of a unit that is ready. It stays until the unit is dropped. */
native_code native_code_of(const native_unit *unit);
native_loop native_loop_of(const native_unit *unit); /* of a turn */
void native_drop(native_unit *unit);
/* Why a unit has failed. It stays until the unit is dropped. */
const char *native_failure(const native_unit *unit);
/* Whether what is made from now on is waited for. The thread keeps its priority as long as it is; lowered, that stays
 * low. */
void native_hurry(bool hurry);
/* Waits until it is no longer NATIVE_WAITS; in a child of a fork it stays that for ever, and nobody waits. */
void native_await(const native_unit *unit);

/* Whether there is a generator, and what it says of itself ("LLVM 19.1.7"), or why there is none. It is loaded for
 * that: not for users of a running session. */
bool native_available(char *text, size_t bytes);

#endif
