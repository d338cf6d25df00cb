/* gpu_stages.c: random kernels of several stages, with tables and stores in place, as code for GPUs, run on the CPU as
 * an emulated grid, give the VM's bits; ptxas assembles the PTX of some. Skipped without a generator. (release build
 * only: generated code has no sanitizer in it) */
#include "tests/lazy/vm_gpu.h"
#include "tests/lazy/vm_ptx.h"
#include "tests/lazy/vm_stages.h"

enum { PTX_SAMPLES = 12 };

static void try_ptx(const lazy_kernel *kernel, int number) {
    vm_gpu *plan = NULL;
    if (CHECK_EQ(vm_gpu_new(kernel, &plan), NEAP_OK))
        ptx_try(&plan->code, number);
    vm_gpu_free(plan);
}

/* gpu_stages [SAMPLES] */
int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 40;
    if (!gpu_begin())
        return 0;
    ptx_begin();
    for (int k = 0; k < samples; k++) {
        sample s;
        sample_new(&s);
        if (!gpu_agrees(&s.kernel, s.bufs, s.bytes, s.nbufs, s.scalars))
            fprintf(stderr, "sample %d\n", k);
        if (k < PTX_SAMPLES && gpu_device < 0)
            try_ptx(&s.kernel, k);
        sample_free(&s);
    }
    CHECK(samples < 40 || (gpu_seen.staged > 5 && gpu_seen.blocks > 0 && gpu_seen.waves > 0 && gpu_seen.several > 0));
    return check_end();
}
