/* turns_stages.h: what makes a sequence through memory of the bodies of a loop. Private to turns_stages.c, which leads,
 * to turns_stager.c, which adds loads and sinks, to turns_calls.c and to turns.c.
 *
 * Items of bodies become items of the sequence in their order, on the memory that interpreted turns use. A kernel whose
 * operands are rows of elements that lie in one piece, or single ones, is a loop, and so are calls whose rows say how
 * (lazy_op.turn); other calls and kernels are called. The branches of a node become items behind a test, and the body
 * of a function that is called stands where it is called; loops inside are called, and may have code of their own.
 *
 * A single element that a loop has stored is *held*: later loops take the value, and need not wait for memory.
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
    int maps;                      /* loops */
    int folds;                     /* reductions */
    int64_t inner;                 /* ns that loops inside take */
    int32_t head, truth;           /* of the sequence */
    LAZY_VECTOR(stager_held) held; /* at the place where the items end */
} turns_stager;

enum { STAGER_NO_PLACE = -1 };

/* The most elements of a loop, and of rows that are reduced, of which values are kept on the stack; the most values. */
enum { STAGER_LONG = 8192, STAGER_LONG_ROW = 2048, STAGER_VALUES = INT16_MAX };

/* Goes through the bodies. false: the loop has no such code, or there is no memory, as s->parts.why says. */
bool stager_run(turns_stager *s);
void stager_free(turns_stager *s);

/* ---- turns_stager.c ---------------------------------------------------------------------------------------------- */
/* The number of a place, or STAGER_NO_PLACE. */
int32_t stager_place(turns_stager *s, turns_place place);

/* Begins a loop: what there was before it. */
turns_loop stager_begin(const turns_stager *s);
/* Adds a loop of this shape of what has been added since, or, if it is not `done`, takes that away. */
bool stager_end(turns_stager *s, const turns_loop *before, int nkept, int64_t rows, int64_t length, bool done);
/* What an operand of a loop is: an instruction or ~load; TURNS_NO_VALUE: there is no such code. */
int32_t stager_read(turns_stager *s, lazy_load load);
/* The same of one element of a dtype at a place. */
int32_t stager_read_single(turns_stager *s, int dtype, turns_place place);
int32_t stager_map(turns_stager *s, lazy_ins ins);
bool stager_write(turns_stager *s, lazy_sink sink);
/* The value of a dtype that is held; TURNS_NO_VALUE: none. */
int32_t stager_held_at(const turns_stager *s, turns_place place, int dtype);
/* Of what was held before, that is held on which still is. */
void stager_keep_held(turns_stager *s, const stager_held *before, int64_t n);

/* ---- turns_calls.c ----------------------------------------------------------------------------------------------- */
/* Tries to make loops of a copy, or of a call. */
bool stager_copy(turns_stager *s, const turns_scope *in, const body_item *item);
bool stager_turn(turns_stager *s, const turns_scope *in, const body_item *item);

#endif
