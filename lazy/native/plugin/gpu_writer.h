/* gpu_writer.h: what the parts of the generator of grid kernels share: plugin/gpu.c, which leads, gpu_flow.c (threads,
 * loops, conditions), gpu_values.c (elements: where they are, and what is computed of them), gpu_fold.c
 * (reductions), gpu_stores.c (what kernels with reductions store), gpu_maps.c and gpu_tiles.c (kernels without) and
 * gpu_calls.c (whole-array ops).
 *
 * A kernel is written once, for a group of threads, as phases with a barrier behind each:
 *
 *      gpu_threads(w);      GPU: each thread does what follows      host: a loop over the threads
 *          … of w->thread …
 *      gpu_barrier(w);      GPU: waits for the others               host: the loop ends
 *
 * What one phase leaves for the next is in shared memory, and what is computed outside of phases is the same for all
 * threads. That is all that differs between a GPU and the host, besides where parameters come from.
 */
#ifndef LAZY_NATIVE_PLUGIN_GPU_WRITER_H
#define LAZY_NATIVE_PLUGIN_GPU_WRITER_H

#include <llvm-c/Core.h>

#include "engine/device.h"
#include "lazy/native/gpu.h"
#include "lazy/native/plugin/bitcode.h"
#include "lazy/native/plugin/target.h"

enum { GPU_AXES = 32 };

typedef struct gpu_loop {
    LLVMBasicBlockRef head, after;
    LLVMValueRef i, step;
} gpu_loop;

typedef struct gpu_shared {      /* memory of a group */
    LLVMValueRef values, places; /* of an ARG: where in its row each value was */
} gpu_shared;

typedef struct gpu_writer {
    const gpu_kernel *kernel;
    const lazy_kernel *loop; /* the kernel's; NULL: it is whole-array ops */
    bool host, failed;       /* failed: with the error set */
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMTypeRef pointer, word, i32, i8;

    /* Of the entry that is being written. */
    LLVMValueRef function, group, thread; /* words */
    LLVMValueRef turned;                  /* host: what turns the order of threads around, if it is to be */
    LLVMBasicBlockRef entry;              /* places of values are made here */
    gpu_loop threads;
    LLVMValueRef *buffer, *words;
    LLVMValueRef *value; /* where each value of the element that is written is */
    int *dtype;          /* of each value */
    LLVMValueRef *tiles; /* of each load that is turned: memory of the group for a tile */

    /* Reductions: what is the same for the group. */
    LLVMValueRef first_row, rows, block, blocks; /* of the group: its first row, how many rows it takes at most */
    LLVMValueRef leaf, leaves;                   /* of the wave: its first leaf, how many there are */
    gpu_shared *slots, *waves;                   /* of each sink */
    LLVMValueRef *results;
} gpu_writer;

/* Where an element is: in the domain, `row * reduced + at`. */
typedef struct gpu_spot {
    LLVMValueRef row, at, element;
    LLVMValueRef slot;            /* of its row among those of the group */
    LLVMValueRef index[GPU_AXES]; /* as far as they have been asked for */
} gpu_spot;

/* ---- gpu.c ------------------------------------------------------------------------------------------------------- */
/* Begins an entry: its parameters are w->buffer and w->words. */
int gpu_begin_entry(gpu_writer *w, const char *name);

/* ---- gpu_flow.c -------------------------------------------------------------------------------------------------- */
LLVMValueRef gpu_number(const gpu_writer *w, int64_t value);
/* for (i = from; i < bound; i += step), unsigned */
void gpu_for(gpu_writer *w, gpu_loop *loop, LLVMValueRef from, LLVMValueRef bound, LLVMValueRef step);
/* The same with the step doubled at each turn, from 1. */
void gpu_for_doubled(gpu_writer *w, gpu_loop *loop, LLVMValueRef bound);
void gpu_end_for(gpu_writer *w, gpu_loop *loop);
/* Writes what follows under a condition; gives the block behind, for gpu_end_if. */
LLVMBasicBlockRef gpu_if(gpu_writer *w, LLVMValueRef condition);
void gpu_end_if(gpu_writer *w, LLVMBasicBlockRef after);
void gpu_threads(gpu_writer *w);
void gpu_barrier(gpu_writer *w);
/* The end of a phase behind which nothing of shared memory is read, but what threads keep: no barrier on a GPU. */
void gpu_rejoin(gpu_writer *w);
/* What each thread keeps from phase to phase, an element; and that of this thread. */
LLVMValueRef gpu_kept(gpu_writer *w, int dtype);
LLVMValueRef gpu_of_thread(gpu_writer *w, LLVMValueRef kept, int dtype);
/* To this thread's `to` what the one `by` threads behind it keeps; both are of the same LAZY_LANES, or it is any. All
 * threads of the group do this together: not under a condition. */
void gpu_shuffle(gpu_writer *w, LLVMValueRef to, LLVMValueRef kept, int dtype, int by);
/* Loop of this thread over its share of `n` items. */
void gpu_for_share(gpu_writer *w, gpu_loop *loop, LLVMValueRef n);
/* a / b and what is left, of numbers that are elements of the domain. */
LLVMValueRef gpu_divide(gpu_writer *w, LLVMValueRef a, LLVMValueRef b, LLVMValueRef *rest);
LLVMValueRef gpu_least(gpu_writer *w, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef gpu_less(gpu_writer *w, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef gpu_add(gpu_writer *w, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef gpu_subtract(gpu_writer *w, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef gpu_multiply(gpu_writer *w, LLVMValueRef a, LLVMValueRef b);

/* Does a reduction give the place of a value in its row? */
static inline bool gpu_chooses(const gpu_writer *w, const lazy_sink *sink) {
    return w->kernel->chooses[sink - w->loop->sinks];
}

/* ---- gpu_values.c ------------------------------------------------------------------------------------------------ */
int gpu_bytes(int dtype);
LLVMTypeRef gpu_element(const gpu_writer *w, int dtype);
/* The rows' names: of an instruction that is none of a table, of a reduction, and of what makes elements of indices. */
const char *gpu_row_of(const lazy_ins *ins);
const char *gpu_reduction_of(int op, int dtype);
const char *gpu_iota_of(int dtype);
/* A place on the stack of the thread. */
LLVMValueRef gpu_place(gpu_writer *w, LLVMTypeRef type);
/* The place of element i of an array of a dtype. */
LLVMValueRef gpu_at(gpu_writer *w, LLVMValueRef base, int dtype, LLVMValueRef i);
LLVMValueRef gpu_get(gpu_writer *w, LLVMValueRef at, int dtype);
void gpu_set(gpu_writer *w, LLVMValueRef at, int dtype, LLVMValueRef value);
void gpu_call(gpu_writer *w, const char *kind, const char *row, LLVMValueRef *args, unsigned count);
/* Marks in `needed`, an entry for each value, what `value` takes. */
void gpu_need(const gpu_writer *w, bool *needed, int value);
/* Load k; loads of the values that are needed, then their instructions. */
void gpu_load_one(gpu_writer *w, int k, gpu_spot *spot);
void gpu_loads(gpu_writer *w, const bool *needed, gpu_spot *spot);
void gpu_instructions(gpu_writer *w, const bool *needed, gpu_spot *spot);
/* The same of n elements, whose loads are under way together; the values of element j are set j of `sets`. */
void gpu_together(gpu_writer *w, const bool *needed, gpu_spot *spots, int n, LLVMValueRef *sets);
static inline void gpu_use_set(gpu_writer *w, LLVMValueRef *sets, int j) {
    w->value = sets + j * (w->loop->nloads + w->loop->nins);
}
void gpu_store(gpu_writer *w, const lazy_sink *sink, LLVMValueRef value, gpu_spot *spot);
/* The spot k elements behind the first one, in the same line of the last axis. */
void gpu_neighbour(gpu_writer *w, gpu_spot *first, int k, gpu_spot *out);
/* Loads and stores of a thread's neighbours, whose values are in as many sets of places. */
void gpu_load_neighbours(gpu_writer *w, const bool *needed, gpu_spot *spots, LLVMValueRef *sets);
void gpu_store_neighbours(gpu_writer *w, const lazy_sink *sink, LLVMValueRef *results, gpu_spot *spots);
/* A word: 0 if all buffers lie so that these can be done by vectors. */
LLVMValueRef gpu_misplaced(gpu_writer *w, const bool *needed);

/* ---- gpu_maps.c -------------------------------------------------------------------------------------------------- */
/* The body of "kernel" of a kernel without reductions; `sets` are places for the values of kernel->each elements. */
void gpu_write_maps(gpu_writer *w, bool *needed, LLVMValueRef *sets);

/* ---- gpu_tiles.c ------------------------------------------------------------------------------------------------- */
/* The same of a kernel that is `tiled`. */
void gpu_write_tiles(gpu_writer *w, const bool *needed, LLVMValueRef *sets);

/* ---- gpu_stores.c ------------------------------------------------------------------------------------------------ */
static inline bool gpu_is_reduce(const lazy_sink *sink) {
    return sink->kind == LAZY_SINK_REDUCE;
}
/* The element `at` of a row of the group. */
gpu_spot gpu_spot_of(gpu_writer *w, LLVMValueRef slot, LLVMValueRef at);
/* Writes what follows for a row of the group that is there. */
LLVMBasicBlockRef gpu_if_row(gpu_writer *w, LLVMValueRef row);
/* What is stored for each element of the group's rows, or of its block. */
void gpu_store_elements(gpu_writer *w, bool *needed);
/* What is stored for each of the group's rows. */
void gpu_store_rows(gpu_writer *w, bool *needed);

/* ---- gpu_fold.c -------------------------------------------------------------------------------------------------- */
/* The body of "kernel", or of "finish", of a kernel that reduces. */
void gpu_write_reduction(gpu_writer *w, bool finish);
/* Memory of the group. */
LLVMValueRef gpu_shared_memory(gpu_writer *w, int64_t bytes);

/* ---- gpu_calls.c ------------------------------------------------------------------------------------------------- */
/* All entries of a whole-array op, whose phases have been linked in. */
int gpu_write_call(gpu_writer *w);

#endif
