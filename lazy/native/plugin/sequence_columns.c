/* sequence_columns.c: loops whose rows lie side by side, at most a leaf of elements each, which one reduction takes:
 * down the columns, a block of them at a time. Each lane takes every sixteenth element of its columns, so lanes are
 * whole vectors, and are combined as the lanes of a leaf (folds.c).
 */
#include "lazy/native/plugin/sequence.h"

/* ---- Columns ----------------------------------------------------------------------------------------------------- */
/* Does a load differ along the rows? */
static bool is_of_row(const sequence_writer *w, int k) {
    const lazy_load *load = &w->g->loop->loads[k];
    return load->kind == LAZY_LOAD_BUFFER && (!w->g->own.single[k] || load->read.stride[1 - w->g->axis]);
}

/* Calls the rows of what comes before the fold, or behind it. */
static void call_columns(sequence_writer *w, bool behind) {
    for (int j = 0; j < w->g->loop->nins; j++)
        if ((w->own.phase[w->g->loop->nloads + j] > 0) == behind)
            ir_call_row(w->g, j, false);
}

static int reduction_of(const sequence_writer *w) {
    int sink = 0;
    while (!ir_is_reduction(w->g, sink))
        sink++;
    return sink;
}

/* Folds an element of each row, of a block of columns, into a lane. */
static void fold_row(sequence_writer *w, LLVMValueRef row, LLVMValueRef column, LLVMValueRef mask, int lane) {
    generator *g = w->g;
    const int sink = reduction_of(w);
    LLVMValueRef to = g->own.lane[sink][lane];
    w->row = row;
    for (int k = 0; k < g->loop->nloads; k++) {
        if (!is_of_row(w, k))
            continue;
        const lazy_load *load = &g->loop->loads[k];
        LLVMValueRef base = sequence_row_of(w, load->slot, &load->read, load->dtype),
                     at = ir_beyond(g, base, load->dtype, column);
        if (g->own.single[k])
            sequence_set_single(w, k, ir_load_single(g, base, load->dtype));
        else
            LLVMBuildStore(g->builder, ir_load_vector(g, at, load->dtype, mask, at), g->value[k]);
    }
    call_columns(w, false);
    ir_fold_combine(g, sink, to, to, g->value[g->loop->sinks[sink].value]);
}

/* A block of columns, all their elements: lane l takes elements l, l + 16, … */
static void write_block(sequence_writer *w, LLVMValueRef column, LLVMValueRef mask) {
    generator *g = w->g;
    const int sink = reduction_of(w);
    const int64_t rows = sequence_rows(w), whole = rows / LAZY_LANES * LAZY_LANES;
    LLVMValueRef *lane = g->own.lane[sink];
    for (int l = 0; l < LAZY_LANES; l++)
        ir_fold_none(g, sink, lane[l]);
    if (whole > 0) {
        ir_loop loop;
        LLVMValueRef i = sequence_loop_begin(w, &loop, ir_number(g, 0), ir_number(g, whole), LAZY_LANES);
        for (int l = 0; l < LAZY_LANES; l++)
            fold_row(w, LLVMBuildAdd(g->builder, i, ir_number(g, l), ""), column, mask, l);
        sequence_loop_end(w, &loop);
    }
    for (int l = 0; l < rows - whole; l++)
        fold_row(w, ir_number(g, whole + l), column, mask, l);
    LOOP_EACH_HALF(half) {
        for (int l = 0; l < half; l++)
            ir_fold_combine(g, sink, lane[l], lane[l], lane[l + half]);
    }
    for (int k = 0; k < g->loop->nloads; k++)
        if (sequence_is_result(w, k))
            LLVMBuildStore(g->builder, LLVMBuildLoad2(g->builder, ir_vector(g, g->own.dtype[k]), lane[0], ""),
                           g->value[k]);
    call_columns(w, true);
    sequence_store_block(w, 1, column, mask);
}

void sequence_write_columns(sequence_writer *w) {
    generator *g = w->g;
    const int64_t length = sequence_length(w), whole = length / g->lanes * g->lanes;
    w->row = NULL;
    ir_choose(g, 0);
    for (int k = 0; k < g->loop->nloads; k++)
        if (!sequence_is_result(w, k) && !is_of_row(w, k)) {
            if (g->loop->loads[k].kind == LAZY_LOAD_BUFFER)
                g->own.base[k] = sequence_place_now(w, g->loop->loads[k].slot);
            sequence_set_load(w, k);
        }
    for (int k = 0; k < g->loop->nsinks; k++)
        if (g->loop->sinks[k].slot >= 0)
            g->own.base[g->loop->nloads + k] = sequence_place_now(w, g->loop->sinks[k].slot);
    if (whole > 0) {
        ir_loop loop;
        write_block(w, sequence_loop_begin(w, &loop, ir_number(g, 0), ir_number(g, whole), g->lanes), NULL);
        sequence_loop_end(w, &loop);
    }
    if (length > whole)
        write_block(w, ir_number(g, whole), sequence_lanes_below(w, length - whole));
}
