/* backend_cuda_calls.c: calls on devices of the kind "cuda": some are launches of code of ours (vm/gpu_calls.h), those
 * that a library does are its routines; the others run on the host, over copies, and np.explain says why.
 *
 * A result of control flow is bytes of its block, which are copied.
 *
 * A driver that stands in for CUDA's in tests computes on the host: what no library does there, the call's own function
 * does in the order of the stream.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/device.h"
#include "lazy/vm/backend_cuda.h"
#include "lazy/vm/gpu_calls.h"
#include "lazy/vm/gpu_units.h"

typedef struct cuda_call { /* what `prepared` of a call with code of its own is */
    vm_gpu_call *plan;
    vm_gpu_unit *unit; /* NULL: there is nothing to do */
    int entry[VM_GPU_CALL_LAUNCHES];
} cuda_call;

/* ---- Code of ours ------------------------------------------------------------------------------------------------ */
void vm_cuda_call_unprepare(lazy_call *call) {
    cuda_call *own = call->prepared;
    if (own->unit)
        vm_gpu_unit_drop(own->unit);
    vm_gpu_call_free(own->plan);
    free(own);
    call->prepared = NULL;
}

/* Which entry each launch is. */
static void find_entries(cuda_call *own) {
    const vm_gpu_call *plan = own->plan;
    for (int k = 0; k < plan->nlaunches; k++)
        while (strcmp(plan->call.names[own->entry[k]], plan->launches[k].entry) != 0)
            own->entry[k]++;
}

/* A call with code of its own. */
static int ask(lazy_call *call, int device) {
    const neap_device_kind *kind = neap_device_kind_of(device);
    cuda_call *own = calloc(1, sizeof *own);
    call->prepared = own;
    if (!own)
        return neap_error(NEAP_E_MEMORY, "out of memory for a call on a GPU");
    int status = kind ? vm_gpu_call_new(call, &own->plan) : neap_error_code();
    if (!status && own->plan->nlaunches > 0) {
        find_entries(own);
        status = vm_gpu_unit_ask(&own->plan->code, own->plan->call.n, own->plan->call.names, device,
                                 kind->code_target(neap_device_handle(device)), &own->unit);
    }
    if (status)
        vm_cuda_call_unprepare(call);
    return status;
}

void vm_cuda_call_ask(lazy_call *call, int device) {
    if (!vm_gpu_call_lacks(call))
        ask(call, device); /* what fails here is told by `prepare`, which tries again */
}

int vm_cuda_call_prepare(lazy_call *call, int device) {
    if (vm_gpu_call_lacks(call))
        return NEAP_OK;
    int status = call->prepared ? NEAP_OK : ask(call, device);
    if (status)
        return status;
    const cuda_call *own = call->prepared;
    status = own->unit ? vm_gpu_unit_wait(own->unit) : NEAP_OK;
    if (status)
        vm_cuda_call_unprepare(call);
    return status;
}

int vm_cuda_call_launches(const lazy_call *call) {
    return ((const cuda_call *)call->prepared)->plan->nlaunches;
}

/* The launches, with scratch of which nobody else gets a block before the stream is past them. */
static int launch(const lazy_call *bound, const char *name, const neap_run *run) {
    const cuda_call *own = bound->prepared;
    const vm_gpu_call *plan = own->plan;
    void *buffers[NEAP_MAX_INPUTS + 2] = {NULL};
    int n = bound->nin, status = NEAP_OK;
    for (int k = 0; k < n; k++)
        buffers[k] = bound->in[k].data;
    buffers[n] = bound->out->data;
    if (plan->scratch_bytes > 0)
        status = neap_run_alloc(run, (size_t)plan->scratch_bytes, &buffers[n + 1]);
    if (status)
        return status;
    for (int k = 0; k < plan->nlaunches && !status; k++) {
        uint64_t words[GPU_CALL_WORDS];
        vm_gpu_call_words(plan, k, words);
        neap_launch one = {.name = name,
                           .code = vm_gpu_unit_code(own->unit, own->entry[k]),
                           .nbuffers = n + 2,
                           .nscalars = GPU_CALL_WORDS,
                           .buffers = buffers,
                           .scalars = words,
                           .groups = {(uint32_t)plan->launches[k].groups, 1, 1},
                           .threads = {GPU_THREADS, 1, 1}};
        status = neap_run_launch(run, &one);
    }
    if (plan->scratch_bytes > 0)
        neap_run_free(run, buffers[n + 1], (size_t)plan->scratch_bytes);
    return status;
}

/* ---- Routines of libraries --------------------------------------------------------------------------------------- */

/* Says the routine of a call, whose data may be set; or why there is none. */
static const char *find_routine(const lazy_call *call, int device, neap_routine *routine) {
    if (!call->op->routine)
        return "it is not written for GPUs";
    const char *lacks = call->op->routine(call, routine);
    return lacks || call->out->size == 0 ? lacks : neap_routine_lacks(device, routine);
}

/* The bytes of input 0 in front of those that the result is a copy of, in order; -1: the call is no copy. */
static int64_t find_copied(const lazy_call *call) {
    lazy_intrinsic known;
    bool copies = call->op->intrinsic && call->op->intrinsic(call, &known) && known.what == LAZY_INTRINSIC_COPY;
    return copies ? known.first : -1;
}

static bool runs_host(int device) {
    const neap_device_kind *kind = neap_device_kind_of(device);
    return kind && kind->runs_host(neap_device_handle(device));
}

const char *vm_cuda_call_lacks(const lazy_call *call, int device) {
    neap_routine routine;
    if (!vm_gpu_call_lacks(call) || find_copied(call) >= 0)
        return NULL;
    const char *lacks = find_routine(call, device, &routine);
    return lacks && runs_host(device) ? NULL : lacks;
}

bool vm_cuda_call_records(const lazy_call *call) {
    return call->prepared || find_copied(call) >= 0;
}

int vm_cuda_call(const lazy_call *call, const int64_t *offsets, const lazy_operands *with, const neap_run *run) {
    lazy_tensor tensors[NEAP_MAX_INPUTS + 1];
    lazy_call bound = vm_call_bind(call, offsets, with->bufs, tensors);
    if (call->prepared)
        return launch(&bound, with->name, run);
    int64_t copied = find_copied(&bound);
    if (copied >= 0)
        return vm_backend_copy(bound.out->data, (const char *)bound.in[0].data + copied,
                               (size_t)(bound.out->size * neap_dtype_bytes(bound.out->dtype)), run);
    neap_routine routine = {0};
    const char *lacks = find_routine(&bound, run->device, &routine);
    if (lacks && runs_host(run->device) && !routine.half)
        return vm_backend_host.call(call, offsets, with, run);
    if (lacks)
        return neap_error(NEAP_E_LIBRARY, "%s: %s", with->name, lacks);
    return bound.out->size == 0 ? NEAP_OK : neap_run_routine(run, &routine);
}
