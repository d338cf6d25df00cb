/* turns_stages.h: what makes stages of lazy/native of the bodies of a loop. Private to turns_stages.c, which leads, to
 * turns_stager.c, which adds inputs and outputs, to turns_calls.c and to turns.c.
 *
 * Items become stages in their order, on the memory that interpreted turns use. A kernel whose operands are rows of
 * elements that lie in one piece, or single ones, is a stage of maps, and so are calls whose rows say how
 * (lazy_op.turn); other calls and kernels are called. The branches of a node become stages behind a test, and the body
 * of a function that is called stands where it is called; loops inside are called, and may have code of their own.
 *
 * A single element that a stage has stored is *held*: later stages take the value, and need not wait for memory.
 */
#ifndef LAZY_TURNS_STAGES_H
#define LAZY_TURNS_STAGES_H

#include "lazy/control/turns_parts.h"

typedef struct stager_held {
    turns_place place;
    int32_t value;
} stager_held;

typedef struct turns_stager {
    turns_parts parts;
    const lazy_runner *runner;
    int maps;             /* stages of maps */
    int64_t inner;        /* ns that loops inside take */
    native_stages stages; /* without its arrays */
    LAZY_VECTOR(native_stage) list;
    LAZY_VECTOR(native_operand) reads, writes; /* by input, by output */
    LAZY_VECTOR(int32_t) outputs;              /* an instruction, ~input, or STAGER_RESULT + fold */
    LAZY_VECTOR(native_fold) folds;
    LAZY_VECTOR(int32_t) pointers;
    LAZY_VECTOR(turns_call) calls;
    LAZY_VECTOR(stager_held) held; /* at the place where the list ends */
} turns_stager;

enum { STAGER_RESULT = 1 << 30, STAGER_NONE = INT32_MIN, STAGER_NO_PLACE = -1 };

/* The most elements of a stage, and of rows that are reduced, of which values are kept on the stack. */
enum { STAGER_LONG = 8192, STAGER_LONG_ROW = 2048 };

/* Goes through the bodies. false: the loop has no such code, or there is no memory, as s->parts.why says. */
bool stager_run(turns_stager *s);
void stager_free(turns_stager *s);

/* ---- turns_stager.c ---------------------------------------------------------------------------------------------- */
/* The number of a place, or STAGER_NO_PLACE. */
int32_t stager_place(turns_stager *s, turns_place place);
/* The same of memory of so many bytes, which stays and begins as zeros; *to is its place. */
int32_t stager_constants(turns_stager *s, int64_t bytes, lazy_scalar **to);

typedef struct stager_mark { /* what there was before a stage */
    int64_t inputs, ins, outputs, folds;
} stager_mark;
stager_mark stager_begin(const turns_stager *s);
/* Adds a stage of what has been added since, or, if it is not `done`, takes that away. */
bool stager_end(turns_stager *s, const stager_mark *before, int64_t rows, int64_t length, bool done);
/* What an operand of a stage is: an instruction or ~input; STAGER_NONE: there is no such code. */
int32_t stager_read(turns_stager *s, int dtype, native_operand operand);
int32_t stager_map(turns_stager *s, lazy_ins ins);
bool stager_write(turns_stager *s, int32_t value, native_operand operand);
/* The value of a dtype that is held; STAGER_NONE: none. */
int32_t stager_held_at(const turns_stager *s, turns_place place, int dtype);
/* Of what was held before, that is held on which still is. */
void stager_keep_held(turns_stager *s, const stager_held *before, int64_t n);

/* ---- turns_calls.c ----------------------------------------------------------------------------------------------- */
/* Tries to make stages of a copy, or of a call. */
bool stager_copy(turns_stager *s, const turns_scope *in, const body_item *item);
bool stager_turn(turns_stager *s, const turns_scope *in, const body_item *item);

#endif
