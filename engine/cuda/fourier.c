/* fourier.c: Fourier transforms by cuFFT.
 *
 * A plan is for all lines of a block: of (outer, count, inner), one of `outer` blocks, or all of it where inner is 1.
 * The last plans are kept with the device. Their work area is scratch memory, asked for at each run, so that plans that
 * nobody uses hold none.
 *
 *      complex, real → complex:   in ──▶ out
 *      complex → real:            in ──copy──▶ scratch, ends made real ──▶ out       cuFFT may overwrite its input
 *
 * cuFFT wants the real side at places where a complex number could lie: a block that is elsewhere goes over scratch.
 */
#include "engine/cuda/matrices.h"

#include <stdlib.h>

enum { PLANS = 32 };

typedef struct cuda_plan {
    struct cuda_plan *next;
    int64_t n, inner, lines; /* lines of a block */
    cufftType type;
    cufftHandle handle;
    CUstream stream;
    size_t work_bytes;
} cuda_plan;

/* A run of a routine. */
typedef struct transform {
    cuda_stream *stream;
    const neap_fourier *f;
    cuda_plan *plan;
    bool f64;
    int64_t part;                /* bytes of a real number */
    int64_t bytes_in, bytes_out; /* of a block */
    CUdeviceptr scratch;         /* the work area, then a block in, then a block out; 0: none is needed */
} transform;

static const char *status_name(cufftResult status) {
    switch (status) {
    case CUFFT_INVALID_PLAN:
        return "CUFFT_INVALID_PLAN";
    case CUFFT_ALLOC_FAILED:
        return "CUFFT_ALLOC_FAILED";
    case CUFFT_INVALID_VALUE:
        return "CUFFT_INVALID_VALUE";
    case CUFFT_INTERNAL_ERROR:
        return "CUFFT_INTERNAL_ERROR";
    case CUFFT_EXEC_FAILED:
        return "CUFFT_EXEC_FAILED";
    default:
        return "a status without a name";
    }
}

static int check(cuda_stream *stream, cufftResult status, const char *function) {
    if (status == CUFFT_SUCCESS)
        return NEAP_OK;
    return cuda_library_error(stream, function, status_name(status), status == CUFFT_ALLOC_FAILED);
}

/* ---- Plans ------------------------------------------------------------------------------------------------------- */

static void free_plan(cuda_plan *plan) {
    cufft.cufftDestroy(plan->handle);
    free(plan);
}

void cuda_plans_free(cuda_device *device) {
    while (device->libraries.plans) {
        cuda_plan *next = device->libraries.plans->next;
        free_plan(device->libraries.plans);
        device->libraries.plans = next;
    }
}

static int64_t count_in(const neap_fourier *f) {
    return f->kind == NEAP_FOURIER_TO_REAL ? f->n / 2 + 1 : f->n;
}

static int64_t count_out(const neap_fourier *f) {
    return f->kind == NEAP_FOURIER_OF_REAL ? f->n / 2 + 1 : f->n;
}

static int fill_plan(cuda_stream *stream, const neap_fourier *f, cuda_plan *plan) {
    long long n = f->n, in = count_in(f), out = count_out(f);
    const bool apart = f->inner > 1;
    int status = check(stream, cufft.cufftSetAutoAllocation(plan->handle, 0), "cufftSetAutoAllocation");
    if (!status)
        status = check(stream,
                       cufft.cufftMakePlanMany64(plan->handle, 1, &n, &in, f->inner, apart ? 1 : in, &out, f->inner,
                                                 apart ? 1 : out, plan->type, plan->lines, &plan->work_bytes),
                       "cufftMakePlanMany64");
    return status;
}

static int make_plan(cuda_stream *stream, const neap_fourier *f, const cuda_plan *like, cuda_plan **out) {
    cuda_plan *plan = malloc(sizeof *plan);
    if (!plan)
        return neap->error(NEAP_E_MEMORY, "no memory for a plan of a transform");
    *plan = *like;
    int status = check(stream, cufft.cufftCreate(&plan->handle), "cufftCreate");
    if (status) {
        free(plan);
        return status;
    }
    status = fill_plan(stream, f, plan);
    if (status) {
        free_plan(plan);
        return status;
    }
    *out = plan;
    return NEAP_OK;
}

/* The plan for these lines, put in front of the others; the last one goes if there are too many. */
static int take_plan(cuda_stream *stream, const neap_fourier *f, const cuda_plan *like, cuda_plan **out) {
    cuda_plan **first = &stream->device->libraries.plans, **link = first, *plan;
    int n = 0, status = NEAP_OK;
    while ((plan = *link) != NULL && (plan->n != like->n || plan->inner != like->inner || plan->lines != like->lines ||
                                      plan->type != like->type)) {
        if (++n == PLANS) { /* its work may be under way: cuFFT waits for it */
            *link = plan->next;
            free_plan(plan);
            continue;
        }
        link = &plan->next;
    }
    if (plan)
        *link = plan->next;
    else
        status = make_plan(stream, f, like, &plan);
    if (status)
        return status;
    plan->next = *first;
    *first = plan;
    if (plan->stream != stream->stream)
        status = check(stream, cufft.cufftSetStream(plan->handle, stream->stream), "cufftSetStream");
    plan->stream = status ? NULL : stream->stream;
    *out = plan;
    return status;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static int copy_within(cuda_stream *stream, CUdeviceptr to, CUdeviceptr from, int64_t bytes) {
    return cuda_check(stream->device, cuda.cuMemcpyDtoDAsync_v2(to, from, (size_t)bytes, stream->stream),
                      "cuMemcpyDtoDAsync");
}

/* Clears the imaginary parts of element k of all lines of a block of complex numbers at `at`. */
static int clear_imaginary(const transform *t, CUdeviceptr at, int64_t k) {
    const neap_fourier *f = t->f;
    const int64_t step = f->inner > 1 ? 2 * t->part : count_in(f) * 2 * t->part;
    at += (CUdeviceptr)(k * f->inner * 2 * t->part + t->part);
    return cuda_clear_each(t->stream, (cuda_row){at, step}, t->part, t->plan->lines);
}

static int prepare_half(const transform *t, CUdeviceptr at) {
    int status = clear_imaginary(t, at, 0);
    return status || t->f->n % 2 ? status : clear_imaginary(t, at, t->f->n / 2);
}

static int run_plan(const transform *t, CUdeviceptr in, CUdeviceptr out) {
    void *from = (void *)(uintptr_t)in, *to = (void *)(uintptr_t)out;
    const cufftHandle handle = t->plan->handle;
    switch (t->f->kind) {
    case NEAP_FOURIER_OF_REAL:
        return check(t->stream, cufft.of[t->f64].of_real(handle, from, to), t->f64 ? "cufftExecD2Z" : "cufftExecR2C");
    case NEAP_FOURIER_TO_REAL:
        return check(t->stream, cufft.of[t->f64].to_real(handle, from, to), t->f64 ? "cufftExecZ2D" : "cufftExecC2R");
    default:
        return check(t->stream,
                     cufft.of[t->f64].complex(handle, from, to, t->f->inverse ? CUFFT_INVERSE : CUFFT_FORWARD),
                     t->f64 ? "cufftExecZ2Z" : "cufftExecC2C");
    }
}

static size_t whole(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static int run_block(const transform *t, CUdeviceptr in, CUdeviceptr out) {
    const CUdeviceptr spare_in = t->scratch + whole(t->plan->work_bytes);
    const CUdeviceptr spare_out = spare_in + whole((size_t)t->bytes_in), align = 2 * (CUdeviceptr)t->part - 1;
    const CUdeviceptr to = out & align ? spare_out : out;
    int status = NEAP_OK;
    if (t->f->kind == NEAP_FOURIER_TO_REAL || in & align) {
        status = copy_within(t->stream, spare_in, in, t->bytes_in);
        in = spare_in;
    }
    if (!status && t->f->kind == NEAP_FOURIER_TO_REAL)
        status = prepare_half(t, in);
    if (!status)
        status = run_plan(t, in, to);
    return status || to == out ? status : copy_within(t->stream, out, to, t->bytes_out);
}

/* ---- Transforms -------------------------------------------------------------------------------------------------- */

static bool is_misplaced(const transform *t, const void *memory, int64_t step) {
    return (cuda_address(memory, 0) | (CUdeviceptr)step) & (2 * (CUdeviceptr)t->part - 1);
}

static int run_blocks(transform *t, int64_t blocks) {
    const bool copies_in = t->f->kind == NEAP_FOURIER_TO_REAL || is_misplaced(t, t->f->in, t->bytes_in);
    const bool copies_out = is_misplaced(t, t->f->out, t->bytes_out);
    const size_t bytes = whole(t->plan->work_bytes) + (copies_in || copies_out ? whole((size_t)t->bytes_in) : 0) +
                         (copies_out ? whole((size_t)t->bytes_out) : 0);
    int status = bytes ? cuda_scratch_alloc(t->stream, bytes, &t->scratch) : NEAP_OK;
    if (!status && t->plan->work_bytes)
        status = check(t->stream, cufft.cufftSetWorkArea(t->plan->handle, (void *)(uintptr_t)t->scratch),
                       "cufftSetWorkArea");
    for (int64_t k = 0; k < blocks && !status; k++)
        status = run_block(t, cuda_address(t->f->in, k * t->bytes_in), cuda_address(t->f->out, k * t->bytes_out));
    cuda_scratch_free(t->stream, t->scratch);
    return status;
}

int cuda_fourier_run(cuda_stream *stream, const neap_routine *routine) {
    static const cufftType types[3][2] = {[NEAP_FOURIER_COMPLEX] = {CUFFT_C2C, CUFFT_Z2Z},
                                          [NEAP_FOURIER_OF_REAL] = {CUFFT_R2C, CUFFT_D2Z},
                                          [NEAP_FOURIER_TO_REAL] = {CUFFT_C2R, CUFFT_Z2D}};
    const neap_fourier *f = &routine->fourier;
    const int64_t blocks = f->inner > 1 ? f->outer : 1;
    const cuda_plan like = {.n = f->n,
                            .inner = f->inner,
                            .lines = f->inner > 1 ? f->inner : f->outer,
                            .type = types[f->kind][routine->f64]};
    transform t = {.stream = stream, .f = f, .f64 = routine->f64, .part = routine->f64 ? 8 : 4};
    t.bytes_in = count_in(f) * like.lines * t.part * (f->kind == NEAP_FOURIER_OF_REAL ? 1 : 2);
    t.bytes_out = count_out(f) * like.lines * t.part * (f->kind == NEAP_FOURIER_TO_REAL ? 1 : 2);
    int status = take_plan(stream, f, &like, &t.plan);
    return status ? status : run_blocks(&t, blocks);
}
