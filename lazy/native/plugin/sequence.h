/* sequence.h: what the files share that write the function of a sequence through memory (sequence.c has the picture).
 *
 *      sequence_values.c   phases, loops of IR, places, and what stands in them
 *      sequence_maps.c     rows of maps and reductions
 *      sequence_columns.c  the same rows, reduced down their columns
 */
#ifndef LAZY_NATIVE_PLUGIN_SEQUENCE_H
#define LAZY_NATIVE_PLUGIN_SEQUENCE_H

#include "lazy/native/plugin/generator.h"

enum { SEQUENCE_NO_PHASE = 1 << 20 };

typedef struct sequence_parts { /* of a loop */
    LLVMValueRef *kept;         /* by value: its elements on the stack, NULL */
    LLVMValueRef *table;        /* the same: where a take reads */
    LLVMValueRef *carry;        /* the same: what a load is in this turn, on the stack, NULL */
    int *phase;                 /* the same; of elements that are loaded the first one that needs them */
    int *stored;                /* by sink: the phase of what is stored or reduced */
} sequence_parts;

typedef struct sequence_writer {
    generator *g;
    const loop_sequence *sequence;
    sequence_parts all, own; /* of all loops; of the one that is written */
    LLVMValueRef given;      /* room for the pointers that a call gets */
    LLVMValueRef turn, places, row;
} sequence_writer;

/* Begins to write loop k. */
void sequence_enter(sequence_writer *w, int k);

static inline int64_t sequence_length(const sequence_writer *w) { /* elements of a row */
    return w->g->loop->shape[w->g->axis];
}
static inline int64_t sequence_rows(const sequence_writer *w) {
    return w->g->loop->shape[1 - w->g->axis];
}
static inline bool sequence_runs_down(const sequence_writer *w) { /* its rows lie side by side */
    return w->g->axis == 0;
}
static inline int sequence_values(const sequence_writer *w) {
    return w->g->loop->nloads + w->g->loop->nins;
}
/* Value v as an instruction of the loop; NULL: it is a load. */
static inline const lazy_ins *sequence_ins(const sequence_writer *w, int v) {
    return v < w->g->loop->nloads ? NULL : &w->g->loop->ins[v - w->g->loop->nloads];
}
static inline bool sequence_is_take(const sequence_writer *w, int v) {
    return sequence_ins(w, v) && loop_is_take(w->g->loop, sequence_ins(w, v));
}
static inline bool sequence_is_result(const sequence_writer *w, int k) {
    return w->g->loop->loads[k].kind == LAZY_LOAD_RESULT;
}
/* Does a sink store elements of rows? */
static inline bool sequence_stores_elements(const sequence_writer *w, int k) {
    const lazy_sink *sink = &w->g->loop->sinks[k];
    return sink->kind != LAZY_SINK_REDUCE && ir_is_wide(w->g, &sink->write);
}

/* A loop that is under way: `from`, `from` + step, … below `end`, at least once. */
typedef struct ir_loop {
    LLVMBasicBlockRef body;
    LLVMValueRef i, end;
    int64_t step;
} ir_loop;

/* ---- sequence_values.c ------------------------------------------------------------------------------------------- */
/* Finds the phases of the loop's values and sinks. */
void sequence_find_phases(sequence_writer *w);
/* The first phase from `from` on in which elements of a value are read; SEQUENCE_NO_PHASE: none. */
int sequence_next_use(const sequence_writer *w, int v, int from);
bool sequence_is_used_later(const sequence_writer *w, int v, int phase);
LLVMValueRef sequence_loop_begin(sequence_writer *w, ir_loop *loop, LLVMValueRef from, LLVMValueRef end, int64_t step);
void sequence_loop_end(sequence_writer *w, ir_loop *loop);
LLVMValueRef sequence_item(sequence_writer *w, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef index);
/* Where a place is in this turn; where the current row of a map is, from a place on. */
LLVMValueRef sequence_place_now(sequence_writer *w, int place);
LLVMValueRef sequence_row_of(sequence_writer *w, int place, const lazy_wide_map *map, int dtype);
/* The mask of the first lanes; NULL: all. */
LLVMValueRef sequence_lanes_below(sequence_writer *w, int64_t count);
void sequence_set_single(sequence_writer *w, int v, LLVMValueRef single);
/* Makes a load that is one for the row the value of block 0. */
void sequence_set_load(sequence_writer *w, int k);

/* ---- sequence_maps.c --------------------------------------------------------------------------------------------- */
void sequence_write_maps(sequence_writer *w);
/* Stores what phase p has made of a block that begins at element i. */
void sequence_store_block(sequence_writer *w, int p, LLVMValueRef i, LLVMValueRef mask);

/* ---- sequence_columns.c ------------------------------------------------------------------------------------------ */
void sequence_write_columns(sequence_writer *w);

#endif
