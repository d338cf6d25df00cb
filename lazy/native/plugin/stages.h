/* stages.h: what the files share that write the function of a turn in stages (stages.c has the picture).
 *
 *      stages_values.c   phases, loops of IR, places, and what stands in them
 *      stages_maps.c     rows of maps and reductions
 *      stages_columns.c  the same rows, reduced down their columns
 */
#ifndef LAZY_NATIVE_PLUGIN_STAGES_H
#define LAZY_NATIVE_PLUGIN_STAGES_H

#include "lazy/native/plugin/generator.h"

enum { STAGE_NO_PHASE = 1 << 20 };

typedef struct ends { /* how many inputs, instructions, outputs and folds there are before a stage, or behind it */
    int input, ins, output, fold;
} ends;

typedef struct stage_writer {
    generator *g;
    const native_stages *stages;
    LLVMValueRef *values;         /* by block and value: allocas; of what is one for a row those of the first block */
    LLVMValueRef *kept;           /* by value: its elements on the stack, NULL */
    LLVMValueRef *table;          /* by instruction: where a take reads */
    LLVMValueRef *carry;          /* by input: what it is in this turn, on the stack, NULL */
    LLVMValueRef scratch;         /* of the pointers that a call gets */
    int *phase;                   /* by value; of elements that are loaded the first one that needs them */
    bool *each;                   /* by value: it differs along a row */
    int *stored;                  /* by output: the phase */
    int folded[NATIVE_FOLDS_MAX]; /* by fold: the phase */
    LLVMValueRef lanes[NATIVE_FOLDS_MAX][LAZY_LANES]; /* by fold down columns */
    LLVMValueRef turn, places;                        /* the turn's */
    const native_stage *stage;                        /* that is written, what is before it, and what it has */
    ends at, to;
    LLVMValueRef row;
    int blocks;
} stage_writer;

static inline int stage_value_of(const stage_writer *w, int j) {
    return w->g->body->ninputs + j;
}

/* The values of the stage: its inputs, then those of its instructions. */
static inline int stage_first_value(const stage_writer *w) {
    return w->at.input < w->to.input ? w->at.input : stage_value_of(w, w->at.ins);
}
static inline int stage_value_behind(const stage_writer *w, int v) {
    return v + 1 == w->to.input ? stage_value_of(w, w->at.ins) : v + 1;
}
#define EACH_VALUE(v) for (int v = stage_first_value(w); v < stage_value_of(w, w->to.ins); v = stage_value_behind(w, v))

static inline const native_operand *stage_operand(const stage_writer *w, int k) { /* of inputs, then of outputs */
    return &w->stages->operands[k];
}

static inline bool stage_is_result(const stage_writer *w, int k) {
    return stage_operand(w, k)->place < 0;
}

static inline bool stage_is_table(const stage_writer *w, int k) {
    return stage_operand(w, k)->extent > 0;
}

/* A loop that is under way: `from`, `from` + step, … below `end`, at least once. */
typedef struct ir_loop {
    LLVMBasicBlockRef body;
    LLVMValueRef i, end;
    int64_t step;
} ir_loop;

/* ---- stages_values.c --------------------------------------------------------------------------------------------- */
/* Finds the phases of the stage's values, results and folds. */
void stage_find_phases(stage_writer *w);
/* The first phase from `from` on in which elements of a value are read; STAGE_NO_PHASE: none. */
int stage_next_use(const stage_writer *w, int v, int from);
bool stage_is_used_later(const stage_writer *w, int v, int phase);
LLVMValueRef stage_loop_begin(stage_writer *w, ir_loop *loop, LLVMValueRef from, LLVMValueRef end, int64_t step);
void stage_loop_end(stage_writer *w, ir_loop *loop);
LLVMValueRef stage_item(stage_writer *w, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef index);
/* Where a place is in this turn; where the current row of an input, or then of an output, is. */
LLVMValueRef stage_place_now(stage_writer *w, int place);
LLVMValueRef stage_row_of(stage_writer *w, int k, int dtype);
/* The mask of the first lanes; NULL: all. */
LLVMValueRef stage_lanes_below(stage_writer *w, int64_t count);
/* Makes the values that are to be used now those of a block. */
void stage_choose(stage_writer *w, int block);
void stage_set_single(stage_writer *w, int v, LLVMValueRef single);
/* Makes an input that is one for the row the value of block 0. */
void stage_set_input(stage_writer *w, int k);

/* ---- stages_maps.c ----------------------------------------------------------------------------------------------- */
void stage_write_maps(stage_writer *w);
/* Stores what phase p has made of a block that begins at element i. */
void stage_store_block(stage_writer *w, int p, LLVMValueRef i, LLVMValueRef mask);

/* ---- stages_columns.c -------------------------------------------------------------------------------------------- */
void stage_write_columns(stage_writer *w);

#endif
