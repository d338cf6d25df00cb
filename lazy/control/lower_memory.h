/* lower_memory.h: what makes a sequence through memory of the bodies of a loop. Private to lower_memory.c, which leads,
 * to lower_loops.c, which adds loads and sinks, to lower_calls.c and to lower.c.
 *
 * Items of bodies become items of the sequence in their order, on the memory that interpreted turns use. A kernel is a
 * loop if its operands are rows of elements in one piece, or single ones, and so are calls whose rows say how
 * (lazy_op.intrinsic); other calls and kernels are called. The branches of a node become items behind a test, and the
 * body of a called function stands in place of the call; loops inside are called, and may have code of their own.
 *
 * A single element that a loop has stored is *held*: later loops take the value, and need not wait for memory.
 */
#ifndef LAZY_LOWER_MEMORY_H
#define LAZY_LOWER_MEMORY_H

#include "lazy/control/lower_parts.h"

typedef struct memory_held {
    lower_place place;
    int32_t value;
} memory_held;

typedef struct lower_memory {
    lower_parts parts;
    int maps;                      /* loops */
    int folds;                     /* reductions */
    int64_t inner;                 /* ns that loops inside take */
    int32_t head, truth;           /* of the sequence */
    LAZY_VECTOR(memory_held) held; /* at the place where the items end */
} lower_memory;

enum { MEMORY_NO_PLACE = -1 };

/* The most elements of a loop, and of rows that are reduced, of which values are kept on the stack; the most values. */
enum { MEMORY_LONG = 8192, MEMORY_LONG_ROW = 2048, MEMORY_VALUES = INT16_MAX };

/* Goes through the bodies. false: the loop has no such code, or there is no memory, as s->parts.why says. */
bool memory_run(lower_memory *s);
void memory_free(lower_memory *s);

/* ---- lower_loops.c ---------------------------------------------------------------------------------------------- */
/* The number of a place, or MEMORY_NO_PLACE. */
int32_t memory_place(lower_memory *s, lower_place place);

/* Begins a loop: what there was before it. */
lower_loop memory_begin(const lower_memory *s);
/* Adds a loop of this shape of what has been added since, or, if it is not `done`, takes that away. */
bool memory_end(lower_memory *s, const lower_loop *before, int nkept, int64_t rows, int64_t length, bool done);
/* What an operand of a loop is: an instruction or ~load; LOWER_NO_VALUE: there is no such code. */
int32_t memory_read(lower_memory *s, lazy_load load);
/* The same of one element of a dtype at a place. */
int32_t memory_read_single(lower_memory *s, int dtype, lower_place place);
int32_t memory_map(lower_memory *s, lazy_ins ins);
bool memory_write(lower_memory *s, lazy_sink sink);
/* The value of a dtype that is held; LOWER_NO_VALUE: none. */
int32_t memory_held_at(const lower_memory *s, lower_place place, int dtype);
/* Of what was held before, that is held on which still is. */
void memory_keep_held(lower_memory *s, const memory_held *before, int64_t n);

/* ---- lower_calls.c ----------------------------------------------------------------------------------------------- */
/* Tries to make loops of a copy, or of a call. */
bool memory_copy(lower_memory *s, const lower_scope *in, const body_item *item);
bool memory_turn(lower_memory *s, const lower_scope *in, const body_item *item);

#endif
