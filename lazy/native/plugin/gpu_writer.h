/* gpu_writer.h: what the parts of the generator of grid kernels share: plugin/gpu.c, which leads, gpu_flow.c (threads,
 * loops, conditions), gpu_values.c (elements: where they are, and what is computed of them) and gpu_fold.c
 * (reductions).
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
    bool host, failed; /* failed: with the error set */
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

extern const neap_plugin_host *gpu_host;

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
/* Loop of this thread over its share of `n` items. */
void gpu_for_share(gpu_writer *w, gpu_loop *loop, LLVMValueRef n);
/* a / b and what is left, of numbers that are elements of the domain. */
LLVMValueRef gpu_divide(gpu_writer *w, LLVMValueRef a, LLVMValueRef b, LLVMValueRef *rest);
LLVMValueRef gpu_least(gpu_writer *w, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef gpu_less(gpu_writer *w, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef gpu_add(gpu_writer *w, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef gpu_subtract(gpu_writer *w, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef gpu_multiply(gpu_writer *w, LLVMValueRef a, LLVMValueRef b);

/* ---- gpu_values.c ------------------------------------------------------------------------------------------------ */
int gpu_bytes(int dtype);
LLVMTypeRef gpu_element(const gpu_writer *w, int dtype);
/* The rows' names: of an instruction that is none of a table, of a reduction, and of what makes elements of indices. */
const char *gpu_row_of(const native_ins *ins);
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
/* Loads of the values that are needed, then their instructions. */
void gpu_loads(gpu_writer *w, const bool *needed, gpu_spot *spot);
void gpu_instructions(gpu_writer *w, const bool *needed, gpu_spot *spot);
void gpu_store(gpu_writer *w, const gpu_sink *sink, LLVMValueRef value, gpu_spot *spot);

/* ---- gpu_fold.c -------------------------------------------------------------------------------------------------- */
/* The body of "kernel", or of "finish", of a kernel that reduces. */
void gpu_write_reduction(gpu_writer *w, bool finish);

#endif
