/* gpu_maps.c: grid kernels without reductions (gpu_writer.h): each thread computes kernel->each elements, whose loads
 * are under way together. They are GPU_THREADS apart, so that neighbours in memory are of neighbouring threads; or, if
 * the kernel is `near`, neighbours, which are loaded and stored as one vector of up to 16 bytes.
 */
#include "lazy/native/plugin/gpu_writer.h"

static void store_element(gpu_writer *w, gpu_spot *spot) {
    for (int k = 0; k < w->loop->nsinks; k++) {
        const lazy_sink *sink = &w->loop->sinks[k];
        gpu_store(w, sink, gpu_get(w, w->value[sink->value], sink->dtype), spot);
    }
}

static gpu_spot spot_of(gpu_writer *w, LLVMValueRef i) {
    return (gpu_spot){.row = i, .element = i, .at = gpu_number(w, 0)};
}

/* All elements of a thread: their loads, what is computed, and the stores. */
static void write_side_by_side(gpu_writer *w, const bool *needed, LLVMValueRef first, LLVMValueRef *sets) {
    LLVMValueRef *own = w->value;
    gpu_spot spots[GPU_EACH];
    for (int k = 0; k < GPU_EACH; k++)
        spots[k] = spot_of(w, gpu_add(w, first, gpu_number(w, k * GPU_THREADS)));
    gpu_together(w, needed, spots, GPU_EACH, sets);
    for (int k = 0; k < GPU_EACH; k++)
        gpu_use_set(w, sets, k), store_element(w, &spots[k]);
    w->value = own;
}

/* The same of neighbours, from `first` on. */
static void write_neighbours(gpu_writer *w, const bool *needed, LLVMValueRef first, LLVMValueRef *sets) {
    const lazy_kernel *k = w->loop;
    const int values = k->nloads + k->nins;
    LLVMValueRef *own = w->value;
    const int each = w->kernel->each;
    gpu_spot spots[GPU_NEAR] = {spot_of(w, first)};
    for (int j = 1; j < each; j++)
        gpu_neighbour(w, &spots[0], j, &spots[j]);
    gpu_load_neighbours(w, needed, spots, sets);
    for (int j = 0; j < each; j++)
        w->value = sets + j * values, gpu_instructions(w, needed, &spots[j]);
    for (int s = 0; s < k->nsinks; s++) {
        LLVMValueRef results[GPU_NEAR];
        for (int j = 0; j < each; j++)
            results[j] = gpu_get(w, sets[j * values + k->sinks[s].value], k->sinks[s].dtype);
        gpu_store_neighbours(w, &k->sinks[s], results, spots);
    }
    w->value = own;
}

static void write_one_by_one(gpu_writer *w, const bool *needed, LLVMValueRef first) {
    gpu_loop elements;
    LLVMValueRef threads = gpu_number(w, GPU_THREADS), size = w->words[GPU_ROWS];
    LLVMValueRef end = gpu_least(w, gpu_add(w, first, gpu_number(w, w->kernel->each * GPU_THREADS)), size);
    gpu_for(w, &elements, first, end, threads);
    gpu_spot spot = spot_of(w, elements.i);
    gpu_loads(w, needed, &spot);
    gpu_instructions(w, needed, &spot);
    store_element(w, &spot);
    gpu_end_for(w, &elements);
}

/* Several elements of each thread at once where the group's are all there, and lie as they should. */
static void write_together(gpu_writer *w, const bool *needed, LLVMValueRef start, LLVMValueRef first,
                           LLVMValueRef *sets) {
    LLVMValueRef each = gpu_number(w, w->kernel->each), tile = gpu_multiply(w, each, gpu_number(w, GPU_THREADS));
    LLVMValueRef is_part = gpu_less(w, w->words[GPU_ROWS], gpu_add(w, start, tile));
    LLVMBasicBlockRef whole = LLVMAppendBasicBlockInContext(w->context, w->function, "whole");
    LLVMBasicBlockRef part = LLVMAppendBasicBlockInContext(w->context, w->function, "part");
    LLVMBasicBlockRef behind = LLVMAppendBasicBlockInContext(w->context, w->function, "done");
    if (w->kernel->near)
        is_part = LLVMBuildOr(w->builder, is_part, gpu_less(w, gpu_number(w, 0), gpu_misplaced(w, needed)), "");
    LLVMBuildCondBr(w->builder, is_part, part, whole);
    LLVMPositionBuilderAtEnd(w->builder, whole);
    if (w->kernel->near)
        write_neighbours(w, needed, gpu_add(w, start, gpu_multiply(w, w->thread, each)), sets);
    else
        write_side_by_side(w, needed, first, sets);
    LLVMBuildBr(w->builder, behind);
    LLVMPositionBuilderAtEnd(w->builder, part);
    write_one_by_one(w, needed, first);
    LLVMBuildBr(w->builder, behind);
    LLVMPositionBuilderAtEnd(w->builder, behind);
}

static void write_lines(gpu_writer *w, const bool *needed, LLVMValueRef *sets) {
    LLVMValueRef start = gpu_multiply(w, w->group, gpu_number(w, w->kernel->each * GPU_THREADS));
    gpu_threads(w);
    LLVMValueRef first = gpu_add(w, start, w->thread);
    if (w->kernel->each > 1)
        write_together(w, needed, start, first, sets);
    else
        write_one_by_one(w, needed, first);
    if (w->host)
        gpu_barrier(w); /* the loop over threads ends; on a GPU nothing is left to wait for */
}

void gpu_write_maps(gpu_writer *w, bool *needed, LLVMValueRef *sets) {
    for (int j = 0; j < w->loop->nsinks; j++)
        gpu_need(w, needed, w->loop->sinks[j].value);
    (w->kernel->tiled ? gpu_write_tiles : write_lines)(w, needed, sets);
    LLVMBuildRetVoid(w->builder);
}
