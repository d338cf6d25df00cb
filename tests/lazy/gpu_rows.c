/* gpu_rows.c: every map, cast and reduction of each dtype as code for GPUs. Run on the CPU as an emulated grid, or on a
 * GPU (vm_gpu.h), it gives the VM's bits for several sizes with one code; its PTX says how each operation rounds, and
 * ptxas assembles it.
 * Skipped without a generator; what takes ptxas, without that. (release build only: generated code has no sanitizer in
 * it) */
#include "tests/lazy/vm_gpu.h"
#include "tests/lazy/vm_ptx.h"
#include "tests/lazy/vm_rows.h"

enum { INPUTS = ROWS_INPUTS, PART = 40, MOST = 1300 };

/* ---- The emulated grid ------------------------------------------------------------------------------------------- */
typedef struct job { /* a kernel of some rows, or of all reductions, with its buffers */
    lazy_kernel kernel;
    lazy_load loads[INPUTS];
    lazy_sink sinks[PART];
    void *bufs[INPUTS + PART];
    int64_t bytes[INPUTS + PART];
    lazy_scalar number;
    int nbufs;
} job;

static void job_begin(job *j, int dtype, int64_t outer, int64_t inner, int nkept) {
    *j = (job){.kernel = {.ndim = 2, .nkept = nkept, .shape = {outer, inner}, .nloads = INPUTS}, .nbufs = INPUTS};
    j->kernel.loads = j->loads, j->kernel.sinks = j->sinks;
    random_element(dtype, &j->number);
    for (int k = 0; k < INPUTS; k++) {
        int type = k == 0 ? NEAP_DTYPE_BOOL : dtype;
        j->loads[k] = (lazy_load){.kind = k < INPUTS - 1 ? LAZY_LOAD_BUFFER : LAZY_LOAD_SCALAR,
                                  .dtype = (uint8_t)type,
                                  .slot = (int16_t)(k < INPUTS - 1 ? k : 0),
                                  .read = {.stride = {inner, 1}}};
        j->bytes[k] = outer * inner * neap_dtype_bytes(type);
        j->bufs[k] = random_buffer(type, outer * inner);
    }
}

static void add_sink(job *j, lazy_sink sink, int64_t n) {
    sink.slot = (int16_t)j->nbufs;
    j->bytes[j->nbufs] = n * neap_dtype_bytes(sink.dtype);
    j->bufs[j->nbufs] = calloc(1, (size_t)j->bytes[j->nbufs] + 16);
    j->nbufs++;
    j->sinks[j->kernel.nsinks++] = sink;
}

static void maps_begin(job *j, const rows *r, int from, int64_t n) {
    job_begin(j, r->dtype, 1, n, 2);
    j->kernel.ins = (lazy_ins *)r->ins + from;
    j->kernel.nins = r->n - from < PART ? r->n - from : PART;
    for (int k = 0; k < j->kernel.nins; k++)
        add_sink(j,
                 (lazy_sink){.kind = LAZY_SINK_STORE,
                             .dtype = r->ins[from + k].result,
                             .value = INPUTS + k,
                             .write = {.stride = {n, 1}}},
                 n);
}

static void reductions_begin(job *j, int dtype, int64_t outer, int64_t inner) {
    job_begin(j, dtype, outer, inner, 1);
    for (int op = 0; op < LAZY_OP_COUNT; op++) {
        const bool chooses = lazy_ops[op]->flags & LAZY_OP_ARG;
        if (lazy_ops[op]->kind != LAZY_REDUCE || !(chooses ? (void *)vm_simd()->folds->choice[op][dtype].first
                                                           : (void *)vm_simd()->folds->fold[op][dtype].leaves))
            continue;
        add_sink(j,
                 (lazy_sink){.kind = LAZY_SINK_REDUCE,
                             .dtype = (uint8_t)(chooses ? NEAP_DTYPE_I32 : dtype),
                             .op = (int16_t)op,
                             .value = 1,
                             .write = {.stride = {1}}},
                 outer);
    }
}

typedef struct made { /* code of the last job, and its plan */
    vm_gpu *plan;
    gpu_made code;
} made;

/* Runs a job, by the last one's code if it is the same; else code is made, and its PTX tried. Returns whether it was
 * made. */
static bool try_job(job *j, made *last) {
    vm_gpu *plan = NULL;
    bool ok = CHECK_EQ(vm_gpu_new(&j->kernel, &plan), NEAP_OK) && CHECK(!vm_gpu_lacks(plan));
    bool fresh = ok && !(last->plan && gpu_same(&last->plan->code, &plan->code));
    if (fresh) {
        gpu_unmake(&last->code);
        if (gpu_device < 0)
            ptx_try(&plan->code, j->loads[1].dtype);
        ok = gpu_make(&plan->code, plan->launches[0].entry, &last->code);
    }
    if (ok && !gpu_agrees_by(&j->kernel, plan, &last->code, j->bufs, j->bytes, j->nbufs, &j->number))
        fprintf(stderr, "%s\n", neap_dtype_name(j->loads[1].dtype));
    for (int k = 0; k < j->nbufs; k++)
        free(j->bufs[k]);
    vm_gpu_free(last->plan);
    last->plan = plan;
    return fresh;
}

static void try_dtype(int dtype) {
    static const int64_t sizes[] = {MOST, 257, 1024}, shapes[][2] = {{3, 700}, {300, 5}, {2, 40000}, {2, 256}, {4, 0}};
    made last = {0};
    rows r;
    job j;
    rows_new(&r, dtype);
    for (int from = 0; from < r.n; from += PART)
        for (int k = 0; k < 3; k++) {
            maps_begin(&j, &r, from, sizes[k]);
            CHECK_EQ(try_job(&j, &last), k == 0);
        }
    for (int k = 0; k < 5 && !dtype_is_half(dtype); k++) {
        reductions_begin(&j, dtype, shapes[k][0], shapes[k][1]);
        CHECK_EQ(try_job(&j, &last), k == 0);
    }
    gpu_unmake(&last.code);
    vm_gpu_free(last.plan);
}

/* gpu_rows [DTYPE] */
int main(int argc, char **argv) {
    if (!gpu_begin())
        return 0;
    ptx_begin();
    for (int dtype = 0; dtype < NEAP_DTYPE_COUNT; dtype++)
        if (argc < 2 || strcmp(argv[1], neap_dtype_name(dtype)) == 0)
            try_dtype(dtype);
    return check_end();
}
