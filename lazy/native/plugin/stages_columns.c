/* stages_columns.c: stages whose rows are reduced down their columns, a block of columns at a time: what a row has
 * there goes to the lane whose turn it is, so lanes are whole vectors, and are combined as those of a leaf (folds.c).
 */
#include "lazy/native/plugin/stages.h"

/* ---- Columns ----------------------------------------------------------------------------------------------------- */
/* Does an input differ from row to row? */
static bool is_of_row(const stage_writer *w, int k) {
    return !stage_is_result(w, k) && (w->each[k] || stage_operand(w, k)->across);
}

/* Calls the rows of what comes before the fold, or behind it. */
static void call_columns(stage_writer *w, bool behind) {
    for (int j = w->at.ins; j < w->to.ins; j++)
        if ((w->phase[stage_value_of(w, j)] > 0) == behind)
            ir_call_row(w->g, j, false);
}

/* Folds a row's elements, of a block of columns, into a lane. */
static void fold_row(stage_writer *w, LLVMValueRef row, LLVMValueRef column, LLVMValueRef mask, int lane) {
    generator *g = w->g;
    LLVMValueRef *to = &w->lanes[w->at.fold][lane];
    w->row = row;
    for (int k = w->at.input; k < w->to.input; k++) {
        if (!is_of_row(w, k))
            continue;
        LLVMValueRef base = stage_row_of(w, k, g->dtype[k]), at = ir_beyond(g, base, g->dtype[k], column);
        if (w->each[k])
            LLVMBuildStore(g->builder, ir_load_vector(g, at, g->dtype[k], mask, at), g->value[k]);
        else
            stage_set_single(w, k, ir_load_single(g, base, g->dtype[k]));
    }
    call_columns(w, false);
    ir_fold_combine(g, w->at.fold, *to, *to, g->value[g->body->folds[w->at.fold].value]);
}

/* A block of columns, all its rows: lane l takes rows l, l + 16, … */
static void write_block(stage_writer *w, LLVMValueRef column, LLVMValueRef mask) {
    generator *g = w->g;
    const int fold = w->at.fold, rows = w->stage->rows, whole = rows / LAZY_LANES * LAZY_LANES;
    LLVMValueRef *lane = w->lanes[fold];
    for (int l = 0; l < LAZY_LANES; l++)
        ir_fold_none(g, fold, lane[l]);
    if (whole > 0) {
        ir_loop loop;
        LLVMValueRef i = stage_loop_begin(w, &loop, ir_number(g, 0), ir_number(g, whole), LAZY_LANES);
        for (int l = 0; l < LAZY_LANES; l++)
            fold_row(w, LLVMBuildAdd(g->builder, i, ir_number(g, l), ""), column, mask, l);
        stage_loop_end(w, &loop);
    }
    for (int l = 0; l < rows - whole; l++)
        fold_row(w, ir_number(g, whole + l), column, mask, l);
    LOOP_EACH_HALF(half) {
        for (int l = 0; l < half; l++)
            ir_fold_combine(g, fold, lane[l], lane[l], lane[l + half]);
    }
    for (int k = w->at.input; k < w->to.input; k++)
        if (stage_is_result(w, k))
            LLVMBuildStore(g->builder, LLVMBuildLoad2(g->builder, ir_vector(g, g->dtype[k]), lane[0], ""), g->value[k]);
    call_columns(w, true);
    stage_store_block(w, 1, column, mask);
}

void stage_write_columns(stage_writer *w) {
    generator *g = w->g;
    const int64_t length = w->stage->length, whole = length / g->lanes * g->lanes;
    w->row = NULL;
    stage_choose(w, 0);
    for (int k = w->at.input; k < w->to.input; k++)
        if (!stage_is_result(w, k) && !is_of_row(w, k)) {
            g->base[k] = stage_row_of(w, k, g->dtype[k]);
            stage_set_input(w, k);
        }
    for (int k = w->at.output; k < w->to.output; k++)
        g->base[g->body->ninputs + k] = stage_row_of(w, g->body->ninputs + k, g->dtype[g->body->outputs[k]]);
    if (whole > 0) {
        ir_loop loop;
        write_block(w, stage_loop_begin(w, &loop, ir_number(g, 0), ir_number(g, whole), g->lanes), NULL);
        stage_loop_end(w, &loop);
    }
    if (length > whole)
        write_block(w, ir_number(g, whole), stage_lanes_below(w, length - whole));
}
