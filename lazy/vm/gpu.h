/* vm/gpu.h: a kernel as launches on a GPU: its code (native/gpu.h), and the parameters of each launch.
 *
 *      prepare:  vm_gpu_new ─▶ gpu_text(&plan->code, "sm_90", …) ─▶ code_new of each launch's entry
 *      run:      vm_gpu_words fills in the numbers; the launches are enqueued in order, with the same parameters
 */
#ifndef LAZY_VM_GPU_H
#define LAZY_VM_GPU_H

#include "lazy/native/gpu.h"
#include "lazy/vm/kernel.h"

typedef struct vm_gpu_launch {
    const char *entry;
    uint64_t groups; /* of GPU_THREADS threads; 0: there is nothing to do */
} vm_gpu_launch;

typedef struct vm_gpu {
    gpu_kernel code;
    lazy_kernel *loop;       /* the code's. OWNED */
    int nlaunches, nnumbers; /* numbers: of the kernel's scalars */
    vm_gpu_launch launches[2];
    int64_t partial_bytes; /* scratch between the launches; the buffer behind those of the kernel, if it reduces */
    uint64_t *words;       /* code.nwords of them, without the numbers */
} vm_gpu;

/* OWNED (vm_gpu_free). NEAP_E_MEMORY. */
int vm_gpu_new(const lazy_kernel *kernel, vm_gpu **out);
/* What plans are made by; tests change it. */
typedef struct vm_gpu_limits {
    int slots;      /* of shared memory for each reduction, at most: a power of two, 256 at least */
    int64_t groups; /* several for each multiprocessor of a large GPU: with more, each does more */
    bool wide;      /* domains are as if they had 2^31 elements */
} vm_gpu_limits;
extern vm_gpu_limits vm_gpu_limit;

/* Why a plan cannot be launched: a clause; NULL: it can. */
const char *vm_gpu_lacks(const vm_gpu *plan);
void vm_gpu_free(vm_gpu *plan);
/* The words of a launch, numbers included: plan->code.nwords of them. */
void vm_gpu_words(const vm_gpu *plan, const lazy_scalar *numbers, uint64_t *words);

#endif
