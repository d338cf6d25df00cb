/* gpu_kernels.c: random kernels of maps and reductions as code for GPUs, run on the CPU as an emulated grid, give the
 * VM's bits. Skipped without a generator. (release build only: generated code has no sanitizer in it) */
#include "tests/lazy/vm_gpu.h"
#include "tests/lazy/vm_kernels.h"

static void try_sample(sample *s, int number) {
    if (!gpu_agrees(&s->kernel, s->bufs, s->bytes, s->nbufs, s->scalars))
        fprintf(stderr, "sample %d\n", number);
    sample_free(s);
}

/* gpu_kernels [SAMPLES] */
int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 40;
    if (!gpu_begin())
        return 0;
    for (int k = 0; k < samples; k++) {
        sample s;
        sample_new(&s, k % 2);
        try_sample(&s, k);
    }
    for (int k = 0; k < samples; k += 4) {
        sample s;
        columns_new(&s, k);
        try_sample(&s, 1000 + k);
        strips_new(&s, k);
        try_sample(&s, 2000 + k);
    }
    CHECK(samples < 40 || (gpu_seen.across > 5 && gpu_seen.several > 5));
    return check_end();
}
