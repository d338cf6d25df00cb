/* backend.c: which backends there are, and that of the CPU, which is the chunked VM. */
#include "lazy/vm/backend.h"

#include <pthread.h>
#include <string.h>

#include "engine/device.h"

/* ---- Which there are --------------------------------------------------------------------------------------------- */
const lazy_backend *vm_backend_of(int device) {
    if (neap_device_memory_space(device) == 0)
        return &vm_backend_cpu;
    const neap_device_kind *kind = neap_device_kind_of(device);
    if (kind && strcmp(kind->name, vm_backend_cuda.kind) == 0)
        return &vm_backend_cuda;
    return kind && kind->runs_host && kind->runs_host(neap_device_handle(device)) ? &vm_backend_host : NULL;
}

/* ---- Reasons ----------------------------------------------------------------------------------------------------- */
enum { REASONS = 64 };

const char *vm_backend_reason(const char *text) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static char *kept[REASONS];
    const char *found = "its code cannot be made"; /* there is no memory, or there are many reasons */
    pthread_mutex_lock(&mutex);
    for (int k = 0; k < REASONS; k++) {
        if (!kept[k])
            kept[k] = strdup(text);
        if (kept[k] && strcmp(kept[k], text) == 0) {
            found = kept[k];
            break;
        }
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

int vm_backend_copy(void *to, const void *from, size_t bytes, const neap_run *run) {
    return neap_run_copy(run, NEAP_COPY_WITHIN, to, from, bytes);
}

/* ---- The CPU ----------------------------------------------------------------------------------------------------- */
lazy_call vm_call_bind(const lazy_call *call, const int64_t *offsets, void *const *bufs, lazy_tensor *tensors) {
    int n = call->nin + 1;
    memcpy(tensors, call->in, (size_t)n * sizeof *tensors);
    for (int k = 0; k < n; k++)
        tensors[k].data =
            (char *)bufs[k] + (k < call->nin && offsets[k] ? offsets[k] * neap_dtype_bytes(tensors[k].dtype) : 0);
    lazy_call bound = *call;
    bound.in = tensors;
    bound.out = tensors + call->nin;
    return bound;
}

int vm_call_run(const lazy_call *call, const int64_t *offsets, void *const *bufs, void *kept, const neap_run *run) {
    lazy_tensor tensors[NEAP_MAX_INPUTS + 1];
    lazy_call bound = vm_call_bind(call, offsets, bufs, tensors);
    bound.kept = kept;
    return call->op->call(&bound, run);
}

int vm_backend_prepare(lazy_kernel *kernel, int device) {
    (void)device;
    return vm_kernel_prepare(kernel);
}

static int cpu_run(const lazy_kernel *kernel, const lazy_operands *with, const neap_run *run) {
    return vm_kernel_run(kernel, with->bufs, with->numbers, run);
}

static int cpu_call(const lazy_call *call, const int64_t *offsets, const lazy_operands *with, const neap_run *run) {
    return vm_call_run(call, offsets, with->bufs, with->kept, run);
}

static int cpu_copy(void *to, const void *from, size_t bytes, const neap_run *run) {
    vm_copy(to, from, (int64_t)bytes, run);
    return NEAP_OK;
}

const lazy_backend vm_backend_cpu = {
    .kind = "cpu",
    .prepare = vm_backend_prepare,
    .unprepare = vm_kernel_unprepare,
    .cost = vm_kernel_cost,
    .tier = vm_kernel_tier,
    .why = vm_kernel_why,
    .compile = vm_kernel_compile,
    .run = cpu_run,
    .call = cpu_call,
    .copy = cpu_copy,
};
