/* backend_cuda.c: devices of the kind "cuda" as a backend. No code is made for kernels yet, so a step on a GPU runs on
 * the host, over copies, and np.explain says so.
 *
 * A driver that stands in for CUDA's in tests computes on the host: its devices run each step as the null device does,
 * by a launch whose host function is the chunked VM.
 */
#include "engine/device.h"
#include "lazy/vm/backend.h"

static const char no_code[] = "no code is made for GPUs yet";

static const char *lacks(int device) {
    const neap_device_kind *kind = neap_device_kind_of(device);
    return kind && kind->runs_host(neap_device_handle(device)) ? NULL : no_code;
}

static const char *lacks_kernel(const lazy_kernel *kernel, int device) {
    (void)kernel;
    return lacks(device);
}

static const char *lacks_call(const lazy_call *call, int device) {
    (void)call;
    return lacks(device);
}

static int prepare(lazy_kernel *kernel, int device) {
    return vm_backend_null.prepare(kernel, device);
}

static int run_kernel(const lazy_kernel *kernel, const lazy_operands *with, const neap_run *run) {
    return vm_backend_null.run(kernel, with, run);
}

static int run_call(const lazy_call *call, const int64_t *offsets, const lazy_operands *with, const neap_run *run) {
    return vm_backend_null.call(call, offsets, with, run);
}

const lazy_backend vm_backend_cuda = {
    .kind = "cuda",
    .lacks_kernel = lacks_kernel,
    .lacks_call = lacks_call,
    .prepare = prepare,
    .unprepare = vm_kernel_unprepare,
    .cost = vm_kernel_cost,
    .tier = vm_kernel_tier,
    .why = vm_kernel_why,
    .run = run_kernel,
    .call = run_call,
};
