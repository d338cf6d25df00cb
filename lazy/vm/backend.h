/* backend.h: what runs kernels and calls on one kind of device: the seam between the planner and whatever computes.
 *
 * A *backend* is a table of functions. The planner asks the one of a step's device whether it can do the step, what it
 * costs, and lets it prepare the kernel once; the step is then run any number of times through the same table. What a
 * backend prepares is its own: kernel->prepared is opaque to all others.
 *
 *      plan:   lacks_kernel? ── no ──▶ ask ─▶ prepare ─▶ cost     run:   run(kernel, operands) ─▶ done, or enqueued
 *                   └── a reason                 └── an error ──▶ the step runs on the host, over copies
 *
 * On a device with streams `run` and `call` only enqueue their work (neap_run_launch); the kernel, or the call with
 * what it points to, stays alive until that is done. The numbers and the array of addresses are BORROWED for the call
 * alone. docs/devices.md leads through it.
 */
#ifndef LAZY_BACKEND_H
#define LAZY_BACKEND_H

#include "engine/device.h"
#include "lazy/vm/kernel.h"

typedef struct lazy_operands {
    const char *name; /* of the step, for failures and records */
    int nbufs, nnumbers;
    void *const *bufs; /* addresses in the memory of the device that runs the step */
    const lazy_scalar *numbers;
    void *kept; /* see lazy_call */
} lazy_operands;

typedef struct lazy_backend {
    const char *kind; /* of devices: "cpu"; NULL: of several */
    /* Why it cannot do this on a device of the kind: a clause such as "it has no sort", which np.explain shows. NULL:
     * it can, as far as this is known before the kernel is prepared. BORROWED for ever. A hook that is NULL: it always
     * can. */
    const char *(*lacks_kernel)(const lazy_kernel *kernel, int device);
    const char *(*lacks_call)(const lazy_call *call, int device);
    /* Compiles a kernel for a device of the kind. The kernel's arrays stay the caller's, and outlive what it makes.
     * Where it fails for another reason than want of memory, the step runs on the host; np.explain shows the error. */
    int (*prepare)(lazy_kernel *kernel, int device);
    void (*unprepare)(lazy_kernel *kernel);
    /* Lets other threads begin with what takes `prepare` long, which waits for it then; the kernel may have something
     * to unprepare from now on, or not. Planners ask for all kernels first. NULL: nothing takes long. */
    void (*ask)(lazy_kernel *kernel, int device);
    int64_t (*cost)(const lazy_kernel *kernel); /* estimated ns */
    /* A few words on how a prepared kernel is run, into `text`, which is returned. */
    const char *(*tier)(const lazy_kernel *kernel, char *text, size_t capacity);
    /* Why it is run so and not faster: a clause such as "its native code is being made", which np.explain shows; empty:
     * there is nothing to say. NULL: there never is. */
    const char *(*why)(const lazy_kernel *kernel, char *text, size_t capacity);
    /* Asks for the code with which a kernel that has run for long is run. Is some of it still being made? NULL: it was
     * made when the kernel was prepared. */
    bool (*compile)(const lazy_kernel *kernel);
    int (*run)(const lazy_kernel *kernel, const lazy_operands *with, const neap_run *run);
    /* Makes what a call needs beforehand, into call->prepared; failures as of `prepare`. NULL: nothing. */
    int (*prepare_call)(lazy_call *call, int device);
    void (*ask_call)(lazy_call *call, int device); /* as `ask` */
    void (*unprepare_call)(lazy_call *call);       /* of one whose `prepared` is set */
    /* A whole-array op: operand k lies at bufs[k], of the inputs offsets[k] elements behind it; the data of the tensors
     * is not set. */
    int (*call)(const lazy_call *call, const int64_t *offsets, const lazy_operands *with, const neap_run *run);
    int (*call_launches)(const lazy_call *call); /* of a prepared call; NULL: nobody can tell */
    /* Can a call be part of a launch graph (engine/device.h), as kernels can? NULL: nothing can. */
    bool (*records_call)(const lazy_call *call);
    /* Copies within the memory of the device. */
    int (*copy)(void *to, const void *from, size_t bytes, const neap_run *run);
    /* The host is sooner done with work that touches no more bytes than these than it has launched that here. */
    int64_t launch_bytes;
} lazy_backend;

/* ---- Launch graphs of something that runs again and again (launch_graphs.c) -------------------------------------- */
/* Of a plan's group, from run number LAZY_LAUNCH_GRAPH_FROM on, if it has so many launches at least; of a loop's turns,
 * from the first run on, as many as are no more launches than LAZY_LAUNCH_GRAPH_MOST. What can be one says
 * lazy_backend.records_call. */
enum { LAZY_LAUNCH_GRAPH_LEAST = 4, LAZY_LAUNCH_GRAPH_MOST = 64, LAZY_LAUNCH_GRAPH_FROM = 3 };
typedef struct lazy_launch_graphs lazy_launch_graphs;
/* Of what runs on a device, beginning with run number `from`. NULL: no memory. */
lazy_launch_graphs *vm_launch_graphs_new(int device, int from);
/* What was enqueued of them has been done. */
void vm_launch_graphs_free(lazy_launch_graphs *graphs);
/* A launch graph for a run whose arrays lie at addresses that `key` stands for, to be given back when it is enqueued.
 * NULL: the work is better enqueued step by step. */
neap_launch_graph *vm_launch_graphs_take(lazy_launch_graphs *graphs, uint64_t key);
void vm_launch_graphs_return(lazy_launch_graphs *graphs, neap_launch_graph *graph);
/* A key of what was before and one more address. */
static inline uint64_t vm_launch_graphs_key(uint64_t key, const void *address) {
    return (key ^ (uintptr_t)address) * UINT64_C(0x9e3779b97f4a7c15);
}

/* ---- Which there are --------------------------------------------------------------------------------------------- */
extern const lazy_backend vm_backend_cpu, vm_backend_cuda;
extern const lazy_backend vm_backend_host; /* of every kind that runs host functions and has none of its own */

/* The backend of a device; NULL: nothing computes on devices of its kind, they only hold data. */
const lazy_backend *vm_backend_of(int device);

/* A reason why a step is not run on its device, as lacks_kernel gives one: the same text, which stays for ever. */
const char *vm_backend_reason(const char *text);

/* The `prepare` of kinds whose kernels the virtual machine runs. */
int vm_backend_prepare(lazy_kernel *kernel, int device);
/* The `copy` of devices with streams. */
int vm_backend_copy(void *to, const void *from, size_t bytes, const neap_run *run);

/* A call with the addresses of its operands: `tensors` (NEAP_MAX_INPUTS + 1) are those of what is returned. */
lazy_call vm_call_bind(const lazy_call *call, const int64_t *offsets, void *const *bufs, lazy_tensor *tensors);
/* A call on memory of the host. kept: see lazy_call. */
int vm_call_run(const lazy_call *call, const int64_t *offsets, void *const *bufs, void *kept, const neap_run *run);

#endif
