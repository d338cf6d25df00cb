/* gpu_tiles.c: grid kernels without reductions whose loads run along another axis than their stores (gpu_writer.h), as
 * a copy of a transposed matrix does. A group takes a tile of GPU_TILE by GPU_TILE elements over the two axes:
 *
 *      fetch     neighbouring threads take neighbours of the loads' axis; what they load goes to the group's memory
 *      store     neighbouring threads take neighbours of the last axis; what was fetched comes from that memory
 *
 * So both read and write lines of memory. A row of a tile there is one element longer than the tile, and a column is in
 * 32 different banks. Each thread has GPU_EACH elements of a tile, GPU_THREADS / GPU_TILE rows apart, whose loads are
 * under way together. Where a tile hangs over an edge, threads beyond take the last elements once more, and store none.
 *
 *      axes (outer, T, last):   group = (outer, tile of T, tile of last)
 */
#include "lazy/native/plugin/gpu_writer.h"

enum { STEP = GPU_THREADS / GPU_TILE, PITCH = GPU_TILE + 1 };
_Static_assert(GPU_EACH *STEP == GPU_TILE, "a thread's share of a tile");

typedef struct tile_at {
    LLVMValueRef first[GPU_AXES]; /* of the group: its indices; of both axes of tiles those of the first element */
} tile_at;

static bool is_of_tiles(const gpu_writer *w, int axis) {
    return axis == w->loop->ndim - 1 || axis == w->kernel->tile_axis;
}

/* Where the group is: tiles of the last axis are counted first, then those of the other one, then other axes. */
static void find_tile(gpu_writer *w, tile_at *tile) {
    LLVMValueRef rest = w->group, size = gpu_number(w, GPU_TILE), nothing;
    for (int pass = 0; pass < 2; pass++)
        for (int axis = w->loop->ndim - 1; axis >= 0; axis--) {
            LLVMValueRef extent = w->words[GPU_EXTENTS + axis];
            if (is_of_tiles(w, axis) != (pass == 0))
                continue;
            if (pass == 0)
                extent = gpu_divide(w, gpu_add(w, extent, gpu_number(w, GPU_TILE - 1)), size, &nothing);
            rest = gpu_divide(w, rest, extent, &tile->first[axis]);
            if (pass == 0)
                tile->first[axis] = gpu_multiply(w, tile->first[axis], size);
        }
}

/* The element of the domain that is `along` behind the tile's first one on one of its axes, and `beside` on the other;
 * the last one there is, if it is beyond. */
static gpu_spot spot_in(gpu_writer *w, const tile_at *tile, int axis, LLVMValueRef along, LLVMValueRef beside) {
    gpu_spot spot = {.at = gpu_number(w, 0), .row = gpu_number(w, 0)};
    for (int k = 0; k < w->loop->ndim; k++) {
        LLVMValueRef extent = w->words[GPU_EXTENTS + k], index = tile->first[k];
        if (is_of_tiles(w, k)) {
            index = gpu_add(w, index, k == axis ? along : beside);
            index = gpu_least(w, index, gpu_subtract(w, extent, gpu_number(w, 1)));
        }
        spot.index[k] = index;
        spot.row = gpu_add(w, gpu_multiply(w, spot.row, extent), index);
    }
    spot.element = spot.row;
    return spot;
}

/* The thread's place along the axis that neighbours run along, and its first one on the other. */
static void split_thread(gpu_writer *w, LLVMValueRef *along, LLVMValueRef *beside) {
    *along = LLVMBuildAnd(w->builder, w->thread, gpu_number(w, GPU_TILE - 1), "");
    *beside = LLVMBuildLShr(w->builder, w->thread, gpu_number(w, __builtin_ctz(GPU_TILE)), "");
}

static LLVMValueRef slot_in(gpu_writer *w, LLVMValueRef row, LLVMValueRef column) {
    return gpu_add(w, gpu_multiply(w, row, gpu_number(w, PITCH)), column);
}

/* Rows of the memory are those of the last axis. */
static void fetch(gpu_writer *w, const tile_at *tile, const bool *needed, LLVMValueRef *sets) {
    const lazy_kernel *k = w->loop;
    LLVMValueRef *own = w->value, along, beside[GPU_EACH];
    gpu_threads(w);
    split_thread(w, &along, &beside[0]);
    for (int j = 0; j < GPU_EACH; j++) {
        beside[j] = gpu_add(w, beside[0], gpu_number(w, (int64_t)j * STEP));
        gpu_spot spot = spot_in(w, tile, w->kernel->tile_axis, along, beside[j]);
        gpu_use_set(w, sets, j);
        for (int load = 0; load < k->nloads; load++)
            if (needed[load] && w->kernel->maps[load].turned)
                gpu_load_one(w, load, &spot);
    }
    for (int j = 0; j < GPU_EACH; j++)
        for (int load = 0; load < k->nloads; load++)
            if (needed[load] && w->kernel->maps[load].turned) {
                const int dtype = k->loads[load].dtype;
                gpu_use_set(w, sets, j);
                gpu_set(w, gpu_at(w, w->tiles[load], dtype, slot_in(w, beside[j], along)), dtype,
                        gpu_get(w, w->value[load], dtype));
            }
    w->value = own;
    gpu_barrier(w);
}

static void take_fetched(gpu_writer *w, const bool *needed, LLVMValueRef slot) {
    for (int load = 0; load < w->loop->nloads; load++)
        if (needed[load] && w->kernel->maps[load].turned) {
            const int dtype = w->loop->loads[load].dtype;
            gpu_set(w, w->value[load], dtype, gpu_get(w, gpu_at(w, w->tiles[load], dtype, slot), dtype));
        }
}

/* The spots are within the domain, so all may be computed; those of a tile that are beyond its edge are not stored. */
static void store(gpu_writer *w, const tile_at *tile, const bool *needed, LLVMValueRef *sets) {
    const int last = w->loop->ndim - 1, other = w->kernel->tile_axis;
    LLVMValueRef *own = w->value, along, beside;
    gpu_spot spots[GPU_EACH];
    LLVMValueRef is_there[GPU_EACH];
    gpu_threads(w);
    split_thread(w, &along, &beside);
    LLVMValueRef here = gpu_less(w, gpu_add(w, tile->first[last], along), w->words[GPU_EXTENTS + last]);
    for (int j = 0; j < GPU_EACH; j++) {
        LLVMValueRef row = gpu_add(w, beside, gpu_number(w, (int64_t)j * STEP));
        LLVMValueRef there = gpu_less(w, gpu_add(w, tile->first[other], row), w->words[GPU_EXTENTS + other]);
        spots[j] = spot_in(w, tile, last, along, row);
        is_there[j] = LLVMBuildAnd(w->builder, here, there, "");
        gpu_use_set(w, sets, j);
        for (int load = 0; load < w->loop->nloads; load++)
            if (needed[load] && !w->kernel->maps[load].turned)
                gpu_load_one(w, load, &spots[j]);
        take_fetched(w, needed, slot_in(w, along, row));
    }
    for (int j = 0; j < GPU_EACH; j++) {
        gpu_use_set(w, sets, j);
        gpu_instructions(w, needed, &spots[j]);
        LLVMBasicBlockRef beyond = gpu_if(w, is_there[j]);
        for (int k = 0; k < w->loop->nsinks; k++) {
            const lazy_sink *sink = &w->loop->sinks[k];
            gpu_store(w, sink, gpu_get(w, w->value[sink->value], sink->dtype), &spots[j]);
        }
        gpu_end_if(w, beyond);
    }
    w->value = own;
    if (w->host)
        gpu_barrier(w); /* the loop over threads ends; on a GPU nothing is left to wait for */
}

void gpu_write_tiles(gpu_writer *w, const bool *needed, LLVMValueRef *sets) {
    tile_at tile;
    for (int load = 0; load < w->loop->nloads; load++)
        if (w->kernel->maps[load].turned)
            w->tiles[load] = gpu_shared_memory(w, (int64_t)GPU_TILE * PITCH * gpu_bytes(w->loop->loads[load].dtype));
    find_tile(w, &tile);
    fetch(w, &tile, needed, sets);
    store(w, &tile, needed, sets);
}
