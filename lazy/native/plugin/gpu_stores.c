/* gpu_stores.c: what grid kernels that reduce store (gpu_writer.h): elements of the group's rows, which may read
 * results of the reductions, and results of each row.
 */
#include <string.h>

#include "lazy/native/plugin/gpu_writer.h"

/* ---- Rows of the group ------------------------------------------------------------------------------------------- */
gpu_spot gpu_spot_of(gpu_writer *w, LLVMValueRef slot, LLVMValueRef at) {
    gpu_spot spot = {.slot = slot, .at = at, .row = gpu_add(w, w->first_row, slot)};
    spot.element = gpu_add(w, gpu_multiply(w, spot.row, w->words[GPU_REDUCED]), at);
    return spot;
}

LLVMBasicBlockRef gpu_if_row(gpu_writer *w, LLVMValueRef row) {
    return gpu_if(w, gpu_less(w, gpu_add(w, w->first_row, row), w->words[GPU_ROWS]));
}

/* ---- What is needed ---------------------------------------------------------------------------------------------- */
static bool needs_of(gpu_writer *w, bool *needed, int kind) {
    bool any = false;
    memset(needed, 0, (size_t)(w->loop->nloads + w->loop->nins) * sizeof *needed);
    for (int k = 0; k < w->loop->nsinks; k++)
        if (w->loop->sinks[k].kind == kind)
            gpu_need(w, needed, w->loop->sinks[k].value), any = true;
    return any;
}

static void store_kind(gpu_writer *w, int kind, gpu_spot *spot) {
    for (int k = 0; k < w->loop->nsinks; k++) {
        const lazy_sink *sink = &w->loop->sinks[k];
        if (sink->kind == kind)
            gpu_store(w, sink, gpu_get(w, w->value[sink->value], sink->dtype), spot);
    }
}

/* ---- Elements ---------------------------------------------------------------------------------------------------- */
/* Items are the elements of the group's rows, of each `count` from its element `first` on; the row of one, and where it
 * is in that. Neighbours are neighbours in memory. */
static LLVMValueRef place_of_item(gpu_writer *w, LLVMValueRef item, LLVMValueRef first, LLVMValueRef count,
                                  LLVMValueRef *row) {
    LLVMValueRef at;
    if (w->kernel->across)
        at = gpu_divide(w, item, w->rows, row);
    else
        *row = gpu_divide(w, item, count, &at);
    return gpu_add(w, first, at);
}

/* Several items, GPU_THREADS apart. */
static void store_together(gpu_writer *w, const bool *needed, LLVMValueRef item, LLVMValueRef first,
                           LLVMValueRef count) {
    LLVMValueRef *own = w->value, row;
    gpu_spot spots[GPU_FOLDED];
    for (int j = 0; j < w->kernel->each; j++) {
        LLVMValueRef number = gpu_add(w, item, gpu_number(w, (int64_t)j * GPU_THREADS));
        LLVMValueRef at = place_of_item(w, number, first, count, &row);
        spots[j] = gpu_spot_of(w, row, at);
    }
    gpu_together(w, needed, spots, w->kernel->each, own);
    for (int j = 0; j < w->kernel->each; j++)
        gpu_use_set(w, own, j), store_kind(w, LAZY_SINK_STORE, &spots[j]);
    w->value = own;
}

static void store_one_by_one(gpu_writer *w, const bool *needed, LLVMValueRef from, LLVMValueRef end, LLVMValueRef first,
                             LLVMValueRef count) {
    gpu_loop items;
    LLVMValueRef row;
    gpu_for(w, &items, from, end, gpu_number(w, GPU_THREADS));
    LLVMValueRef at = place_of_item(w, items.i, first, count, &row);
    LLVMBasicBlockRef no_row = gpu_if_row(w, row);
    gpu_spot spot = gpu_spot_of(w, row, at);
    gpu_loads(w, needed, &spot);
    gpu_instructions(w, needed, &spot);
    store_kind(w, LAZY_SINK_STORE, &spot);
    gpu_end_if(w, no_row);
    gpu_end_for(w, &items);
}

void gpu_store_elements(gpu_writer *w, bool *needed) {
    gpu_loop turns;
    if (!needs_of(w, needed, LAZY_SINK_STORE))
        return;
    LLVMValueRef leaves = gpu_multiply(w, w->words[GPU_WAVES], w->words[GPU_LEAVES]);
    LLVMValueRef block = gpu_multiply(w, leaves, gpu_number(w, LAZY_LEAF)), first = gpu_multiply(w, w->block, block);
    LLVMValueRef count = gpu_least(w, gpu_subtract(w, w->words[GPU_REDUCED], first), block);
    LLVMValueRef all = gpu_multiply(w, w->rows, count), tile = gpu_number(w, (int64_t)w->kernel->each * GPU_THREADS);
    gpu_threads(w);
    if (w->kernel->each == 1) {
        store_one_by_one(w, needed, w->thread, all, first, count);
        gpu_barrier(w);
        return;
    }
    LLVMValueRef no_row = gpu_less(w, w->words[GPU_ROWS], gpu_add(w, w->first_row, w->rows));
    gpu_for(w, &turns, w->thread, all, tile);
    LLVMValueRef next = gpu_add(w, turns.i, tile), last = gpu_subtract(w, next, gpu_number(w, GPU_THREADS));
    LLVMValueRef is_whole = LLVMBuildAnd(w->builder, gpu_less(w, last, all), LLVMBuildNot(w->builder, no_row, ""), "");
    LLVMBasicBlockRef behind = gpu_if(w, is_whole);
    store_together(w, needed, turns.i, first, count);
    gpu_end_if(w, behind);
    behind = gpu_if(w, LLVMBuildNot(w->builder, is_whole, ""));
    store_one_by_one(w, needed, turns.i, gpu_least(w, next, all), first, count);
    gpu_end_if(w, behind);
    gpu_end_for(w, &turns);
    gpu_barrier(w);
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */
void gpu_store_rows(gpu_writer *w, bool *needed) {
    gpu_loop share;
    needs_of(w, needed, LAZY_SINK_STORE_ROW);
    gpu_threads(w);
    gpu_for_share(w, &share, w->rows);
    LLVMBasicBlockRef no_row = gpu_if_row(w, share.i);
    gpu_spot spot = gpu_spot_of(w, share.i, gpu_number(w, 0));
    gpu_loads(w, needed, &spot);
    gpu_instructions(w, needed, &spot);
    store_kind(w, LAZY_SINK_STORE_ROW, &spot);
    for (int k = 0; k < w->loop->nsinks; k++) {
        const lazy_sink *sink = &w->loop->sinks[k];
        if (gpu_is_reduce(sink) && sink->slot >= 0)
            gpu_store(w, sink, gpu_get(w, gpu_at(w, w->results[k], sink->dtype, share.i), sink->dtype), &spot);
    }
    gpu_end_if(w, no_row);
    gpu_end_for(w, &share);
    gpu_barrier(w);
}
