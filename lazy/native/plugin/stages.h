/* stages.h: what the files share that write the function of a sequence through memory (stages.c has the picture).
 *
 *      stages_values.c   phases, loops of IR, places, and what stands in them
 *      stages_maps.c     rows of maps and reductions
 *      stages_columns.c  the same rows, reduced down their columns
 */
#ifndef LAZY_NATIVE_PLUGIN_STAGES_H
#define LAZY_NATIVE_PLUGIN_STAGES_H

#include "lazy/native/plugin/generator.h"

enum { STAGE_NO_PHASE = 1 << 20 };

typedef struct stage_parts { /* of a loop */
    LLVMValueRef *kept;      /* by value: its elements on the stack, NULL */
    LLVMValueRef *table;     /* the same: where a take reads */
    LLVMValueRef *carry;     /* the same: what a load is in this turn, on the stack, NULL */
    int *phase;              /* the same; of elements that are loaded the first one that needs them */
    int *stored;             /* by sink: the phase of what is stored or reduced */
} stage_parts;

typedef struct stage_writer {
    generator *g;
    const loop_sequence *sequence;
    stage_parts all, own; /* of all loops; of the one that is written */
    LLVMValueRef given;   /* room for the pointers that a call gets */
    LLVMValueRef turn, places, row;
} stage_writer;

/* Begins to write loop k. */
void stage_enter(stage_writer *w, int k);

static inline int64_t stage_length(const stage_writer *w) { /* elements of a row */
    return w->g->loop->shape[w->g->axis];
}
static inline int64_t stage_rows(const stage_writer *w) {
    return w->g->loop->shape[1 - w->g->axis];
}
static inline bool stage_runs_down(const stage_writer *w) { /* its rows lie side by side */
    return w->g->axis == 0;
}
static inline int stage_values(const stage_writer *w) {
    return w->g->loop->nloads + w->g->loop->nins;
}
/* Value v as an instruction of the loop; NULL: it is a load. */
static inline const lazy_ins *stage_ins(const stage_writer *w, int v) {
    return v < w->g->loop->nloads ? NULL : &w->g->loop->ins[v - w->g->loop->nloads];
}
static inline bool stage_is_take(const stage_writer *w, int v) {
    return stage_ins(w, v) && loop_is_take(w->g->loop, stage_ins(w, v));
}
static inline bool stage_is_result(const stage_writer *w, int k) {
    return w->g->loop->loads[k].kind == LAZY_LOAD_RESULT;
}
/* Does a sink store elements of rows? */
static inline bool stage_stores_elements(const stage_writer *w, int k) {
    const lazy_sink *sink = &w->g->loop->sinks[k];
    return sink->kind != LAZY_SINK_REDUCE && ir_is_wide(w->g, &sink->write);
}

/* A loop that is under way: `from`, `from` + step, … below `end`, at least once. */
typedef struct ir_loop {
    LLVMBasicBlockRef body;
    LLVMValueRef i, end;
    int64_t step;
} ir_loop;

/* ---- stages_values.c --------------------------------------------------------------------------------------------- */
/* Finds the phases of the loop's values and sinks. */
void stage_find_phases(stage_writer *w);
/* The first phase from `from` on in which elements of a value are read; STAGE_NO_PHASE: none. */
int stage_next_use(const stage_writer *w, int v, int from);
bool stage_is_used_later(const stage_writer *w, int v, int phase);
LLVMValueRef stage_loop_begin(stage_writer *w, ir_loop *loop, LLVMValueRef from, LLVMValueRef end, int64_t step);
void stage_loop_end(stage_writer *w, ir_loop *loop);
LLVMValueRef stage_item(stage_writer *w, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef index);
/* Where a place is in this turn; where the current row of a map is, from a place on. */
LLVMValueRef stage_place_now(stage_writer *w, int place);
LLVMValueRef stage_row_of(stage_writer *w, int place, const lazy_wide_map *map, int dtype);
/* The mask of the first lanes; NULL: all. */
LLVMValueRef stage_lanes_below(stage_writer *w, int64_t count);
void stage_set_single(stage_writer *w, int v, LLVMValueRef single);
/* Makes a load that is one for the row the value of block 0. */
void stage_set_load(stage_writer *w, int k);

/* ---- stages_maps.c ----------------------------------------------------------------------------------------------- */
void stage_write_maps(stage_writer *w);
/* Stores what phase p has made of a block that begins at element i. */
void stage_store_block(stage_writer *w, int p, LLVMValueRef i, LLVMValueRef mask);

/* ---- stages_columns.c -------------------------------------------------------------------------------------------- */
void stage_write_columns(stage_writer *w);

#endif
