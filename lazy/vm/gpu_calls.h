/* vm/gpu_calls.h: a whole-array op as launches on a GPU (native/gpu_call.h), as vm/gpu.h has it for kernels. The op's
 * row says which (lazy/op.h: .gpu).
 *
 *      prepare:  vm_gpu_call_lacks? ─▶ vm_gpu_call_new ─▶ gpu_text(&plan->code, "sm_90", …) ─▶ code of each entry
 *      run:      launches are enqueued in order, each with the buffers, and the words that vm_gpu_call_words writes
 *
 * Buffers of every launch: where the operands begin, the result behind them, then `scratch_bytes` (any address where
 * that is 0). Operands lie as those of the call. An op that updates its first input finds it in the memory of its
 * result.
 */
#ifndef LAZY_VM_GPU_CALLS_H
#define LAZY_VM_GPU_CALLS_H

#include "lazy/native/gpu.h"
#include "lazy/op.h"

typedef struct vm_gpu_call_launch {
    const char *entry;
    uint64_t groups; /* of GPU_THREADS threads; more than 0 */
    uint64_t turns, step;
} vm_gpu_call_launch;

enum { VM_GPU_CALL_LAUNCHES = 32 };

typedef struct vm_gpu_call {
    gpu_kernel code;
    gpu_entries call;
    int nlaunches; /* 0: there is nothing to do */
    vm_gpu_call_launch launches[VM_GPU_CALL_LAUNCHES];
    int64_t scratch_bytes;
    uint64_t words[GPU_CALL_WORDS]; /* GPU_CALL_OWN and those behind it */
} vm_gpu_call;

/* Why a call has no launches on a GPU, a clause; NULL: it has. BORROWED for ever. */
const char *vm_gpu_call_lacks(const lazy_call *call);
/* Of a call that lacks nothing. OWNED (vm_gpu_call_free). NEAP_E_MEMORY. */
int vm_gpu_call_new(const lazy_call *call, vm_gpu_call **out);
void vm_gpu_call_free(vm_gpu_call *plan);
/* The words of a launch: GPU_CALL_WORDS of them. */
void vm_gpu_call_words(const vm_gpu_call *plan, int launch, uint64_t *words);

/* ---- For rows ---------------------------------------------------------------------------------------------------- */
/* Says whose phases they are, and how much memory a group has. */
void vm_gpu_call_begin(vm_gpu_call *plan, int dtype, int shared_bytes);
/* Adds a launch of an entry, whose name lives for ever; without groups it is none. There are at most GPU_CALL_ENTRIES
 * entries and VM_GPU_CALL_LAUNCHES launches. */
void vm_gpu_call_add(vm_gpu_call *plan, const char *entry, uint64_t groups, uint64_t turns, uint64_t step);
/* Groups of threads for so many threads. */
static inline uint64_t vm_gpu_call_groups(int64_t threads) {
    return ((uint64_t)threads + GPU_CALL_THREADS - 1) / GPU_CALL_THREADS;
}

#endif
