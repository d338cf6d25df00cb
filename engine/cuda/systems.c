/* systems.c: LU factors, systems of equations and inverses, by cuSOLVER; many small ones at once by cuBLAS.
 *
 * What lies by rows is the transposed matrix by columns, as for LAPACK (lazy/ops/solve.c): factors are those of aᵀ,
 * and right sides are transposed on their way, unless they are single columns.
 */
#include "engine/cuda/cuda.h"

#include <stdlib.h>

enum {
    TOGETHER = 2048, /* matrices of which the addresses are told at once: the driver takes a copy of so few */
    SMALL = 256,     /* rows up to which cuBLAS takes several matrices at once */
    PITCH_MOST = INT32_MAX
};

/* Matrices, at equal distances in bytes. */
typedef struct row_of {
    CUdeviceptr at;
    int64_t step;
} row_of;

typedef struct work { /* a run of a routine */
    cuda_stream *stream;
    const neap_routine *routine;
    const neap_system *s;
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    int type, n, elements; /* elements: what cuSOLVER needs to factor one matrix */
    int64_t item;
    bool together;
    /* Parts of the scratch memory. */
    CUdeviceptr scratch, told, pivots, info, room, factors, columns;
} work;

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

static const char *status_name(cusolverStatus_t status) {
    switch (status) {
    case CUSOLVER_STATUS_NOT_INITIALIZED:
        return "CUSOLVER_STATUS_NOT_INITIALIZED";
    case CUSOLVER_STATUS_ALLOC_FAILED:
        return "CUSOLVER_STATUS_ALLOC_FAILED";
    case CUSOLVER_STATUS_INVALID_VALUE:
        return "CUSOLVER_STATUS_INVALID_VALUE";
    case CUSOLVER_STATUS_EXECUTION_FAILED:
        return "CUSOLVER_STATUS_EXECUTION_FAILED";
    case CUSOLVER_STATUS_INTERNAL_ERROR:
        return "CUSOLVER_STATUS_INTERNAL_ERROR";
    default:
        return "a status without a name";
    }
}

static int check(cuda_stream *stream, cusolverStatus_t status, const char *function) {
    if (status == CUSOLVER_STATUS_SUCCESS)
        return NEAP_OK;
    return cuda_library_error(stream, function, status_name(status), status == CUSOLVER_STATUS_ALLOC_FAILED);
}

static cusolverStatus_t start(cuda_device *device) {
    cusolverDnHandle_t made = NULL;
    if (device->libraries.solver)
        return CUSOLVER_STATUS_SUCCESS;
    cusolverStatus_t status = cusolver.cusolverDnCreate(&made);
    if (status == CUSOLVER_STATUS_SUCCESS)
        device->libraries.solver = made;
    return status;
}

const char *cuda_solver_start(cuda_device *device) {
    cusolverStatus_t status = start(device);
    return status == CUSOLVER_STATUS_SUCCESS ? NULL : status_name(status);
}

static int take_solver(cuda_stream *stream, cusolverDnHandle_t *out) {
    cuda_libraries *has = &stream->device->libraries;
    int status = check(stream, start(stream->device), "cusolverDnCreate");
    *out = has->solver;
    if (status || has->solver_stream == stream->stream)
        return status;
    status = check(stream, cusolver.cusolverDnSetStream(has->solver, stream->stream), "cusolverDnSetStream");
    if (!status)
        has->solver_stream = stream->stream;
    return status;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static inline void *pointer(CUdeviceptr memory) {
    return (void *)(uintptr_t)memory;
}

static inline CUdeviceptr matrix(row_of m, int64_t k) {
    return m.at + (CUdeviceptr)(k * m.step);
}

/* Copies `bytes` of each of `count` things. */
static int copy_each(const work *w, row_of to, row_of from, int64_t bytes, int64_t count) {
    const bool close = count == 1 || (to.step == bytes && from.step == bytes);
    const bool pitched = !close && to.step <= PITCH_MOST && from.step <= PITCH_MOST;
    const int64_t calls = close || pitched ? 1 : count, each = close ? bytes * count : bytes;
    const CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = from.at,
                                .srcPitch = (size_t)from.step,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = to.at,
                                .dstPitch = (size_t)to.step,
                                .WidthInBytes = (size_t)bytes,
                                .Height = (size_t)count};
    if (pitched)
        return cuda_check(w->stream->device, cuda.cuMemcpy2DAsync_v2(&rows, w->stream->stream), "cuMemcpy2DAsync");
    int status = NEAP_OK;
    for (int64_t k = 0; k < calls && !status; k++)
        status = cuda_check(w->stream->device,
                            cuda.cuMemcpyDtoDAsync_v2(matrix(to, k), matrix(from, k), (size_t)each, w->stream->stream),
                            "cuMemcpyDtoDAsync");
    return status;
}

static int set_words(const work *w, CUdeviceptr at, int64_t step, uint32_t value, int64_t words, int64_t count) {
    return cuda_check(w->stream->device,
                      cuda.cuMemsetD2D32Async(at, (size_t)step, value, (size_t)words, (size_t)count, w->stream->stream),
                      "cuMemsetD2D32Async");
}

/* Clears `bytes` of each of `count` things. */
static int clear_each(const work *w, row_of to, int64_t bytes, int64_t count) {
    int status = NEAP_OK;
    if (count > 1 && to.step <= PITCH_MOST)
        return set_words(w, to.at, to.step, 0, bytes / 4, count);
    for (int64_t k = 0; k < count && !status; k++)
        status = set_words(w, matrix(to, k), bytes, 0, bytes / 4, 1);
    return status;
}

/* Tells the addresses of `count` matrices of two sorts. */
static int tell(const work *w, row_of a, row_of b, int64_t count) {
    CUdeviceptr addresses[2 * TOGETHER];
    for (int64_t k = 0; k < count; k++) {
        addresses[k] = matrix(a, k);
        addresses[count + k] = matrix(b, k);
    }
    return cuda_check(
        w->stream->device,
        cuda.cuMemcpyHtoDAsync_v2(w->told, addresses, 2 * (size_t)count * sizeof *addresses, w->stream->stream),
        "cuMemcpyHtoDAsync");
}

/* ---- Factors ----------------------------------------------------------------------------------------------------- */

static int factor_together(const work *w, row_of a, row_of pivots, int64_t count) {
    int status = tell(w, a, a, count);
    if (!status)
        status = cuda_blas_check(w->stream,
                                 cublas.of[w->type].getrf_batched(w->blas, w->n, (void *const *)pointer(w->told), w->n,
                                                                  pointer(w->pivots), pointer(w->info), (int)count),
                                 "cublasGetrfBatched");
    return status ? status : copy_each(w, pivots, (row_of){w->pivots, 4 * w->n}, 4 * w->n, count);
}

/* Factors matrices where they lie. */
static int factor(const work *w, row_of a, row_of pivots, int64_t count) {
    int status = NEAP_OK;
    for (int64_t k = 0; k < count && !status && w->together; k += TOGETHER)
        status = factor_together(w, (row_of){matrix(a, k), a.step}, (row_of){matrix(pivots, k), pivots.step},
                                 count - k < TOGETHER ? count - k : TOGETHER);
    for (int64_t k = 0; k < count && !status && !w->together; k++)
        status = check(w->stream,
                       cusolver.of[w->type].getrf(w->solver, w->n, w->n, pointer(matrix(a, k)), w->n, pointer(w->room),
                                                  pointer(matrix(pivots, k)), pointer(w->info)),
                       "cusolverDnGetrf");
    return status;
}

/* ---- Right sides ------------------------------------------------------------------------------------------------- */

static int substitute_together(const work *w, cublasOperation_t transpose, row_of factors, row_of pivots,
                               row_of columns, int k, int64_t count) {
    int info = 0, status = tell(w, factors, columns, count);
    if (!status && pivots.at != w->pivots)
        status = copy_each(w, (row_of){w->pivots, 4 * w->n}, pivots, 4 * w->n, count);
    if (!status)
        status =
            cuda_blas_check(w->stream,
                            cublas.of[w->type].getrs_batched(
                                w->blas, transpose, w->n, k, (const void *const *)pointer(w->told), w->n,
                                pointer(w->pivots), (void *const *)pointer(w->told) + count, w->n, &info, (int)count),
                            "cublasGetrsBatched");
    return status;
}

/* Replaces k columns for each matrix by the solutions. */
static int substitute(const work *w, cublasOperation_t transpose, row_of factors, row_of pivots, row_of columns, int k,
                      int64_t count) {
    int status = NEAP_OK;
    for (int64_t i = 0; i < count && !status && w->together; i += TOGETHER)
        status = substitute_together(
            w, transpose, (row_of){matrix(factors, i), factors.step}, (row_of){matrix(pivots, i), pivots.step},
            (row_of){matrix(columns, i), columns.step}, k, count - i < TOGETHER ? count - i : TOGETHER);
    for (int64_t i = 0; i < count && !status && !w->together; i++)
        status = check(w->stream,
                       cusolver.of[w->type].getrs(w->solver, transpose, w->n, k, pointer(matrix(factors, i)), w->n,
                                                  pointer(matrix(pivots, i)), pointer(matrix(columns, i)), w->n,
                                                  pointer(w->info)),
                       "cusolverDnGetrs");
    return status;
}

/* to, of rows × columns by rows, becomes the transposed of from. */
static int transpose_each(const work *w, row_of to, row_of from, int64_t rows, int64_t columns) {
    int status = NEAP_OK;
    for (int64_t i = 0; i < w->s->batch && !status; i++)
        status = cuda_blas_check(w->stream,
                                 cublas.of[w->type].geam(w->blas, CUBLAS_OP_T, CUBLAS_OP_N, columns, rows,
                                                         cuda_blas_number(w->routine, 1), pointer(matrix(from, i)),
                                                         rows, cuda_blas_number(w->routine, 0), pointer(matrix(to, i)),
                                                         columns, pointer(matrix(to, i)), columns),
                                 "cublasGeam");
    return status;
}

/* ---- Routines ---------------------------------------------------------------------------------------------------- */

static int run_factor(const work *w) {
    const neap_system *s = w->s;
    const int64_t square = s->n * s->n * w->item, all = square + s->n * w->item;
    const row_of a = {cuda_address(s->a, 0), square}, out = {cuda_address(s->out, 0), all};
    const row_of pivots = {cuda_address(s->out, square), all};
    int status = copy_each(w, out, a, square, s->batch);
    if (!status)
        status = clear_each(w, pivots, s->n * w->item, s->batch);
    return status ? status : factor(w, out, pivots, s->batch);
}

static int run_solve(const work *w) {
    const neap_system *s = w->s;
    const int64_t square = s->n * s->n * w->item, all = square + s->n * w->item, side = s->n * s->k * w->item;
    const row_of factors = {cuda_address(s->a, 0), all}, pivots = {cuda_address(s->a, square), all};
    const row_of b = {cuda_address(s->b, 0), side}, out = {cuda_address(s->out, 0), side};
    const row_of columns = s->k == 1 ? out : (row_of){w->columns, side};
    int status = s->k == 1 ? copy_each(w, out, b, side, s->batch) : transpose_each(w, columns, b, s->k, s->n);
    if (!status)
        status =
            substitute(w, s->transposed ? CUBLAS_OP_N : CUBLAS_OP_T, factors, pivots, columns, (int)s->k, s->batch);
    return status || s->k == 1 ? status : transpose_each(w, out, columns, s->n, s->k);
}

/* The inverse of what is stored, by columns, is the inverse by rows. */
static int run_invert(const work *w) {
    const neap_system *s = w->s;
    const int64_t square = s->n * s->n * w->item;
    const row_of a = {cuda_address(s->a, 0), square}, out = {cuda_address(s->out, 0), square};
    const row_of factors = {w->factors, square}, pivots = {w->columns, 4 * s->n};
    const uint32_t one = w->routine->f64 ? 0x3ff00000 : 0x3f800000; /* the high word of 1 */
    int status = copy_each(w, factors, a, square, s->batch);
    if (!status)
        status = factor(w, factors, pivots, s->batch);
    if (!status)
        status = clear_each(w, out, square, s->batch);
    for (int64_t i = 0; i < s->batch && !status; i++)
        status = set_words(w, matrix(out, i) + (w->routine->f64 ? 4 : 0), (s->n + 1) * w->item, one, 1, s->n);
    return status ? status : substitute(w, CUBLAS_OP_N, factors, pivots, out, (int)s->n, s->batch);
}

static size_t whole(int64_t bytes) {
    return ((size_t)bytes + 255) / 256 * 256;
}

/* Asks for the scratch memory, and cuts it. */
static int take_scratch(work *w) {
    const neap_system *s = w->s;
    const int64_t chunk = !w->together ? 0 : s->batch < TOGETHER ? s->batch : TOGETHER;
    const int64_t columns = s->kind == NEAP_SYSTEM_INVERT              ? 4 * s->n * s->batch
                            : s->kind == NEAP_SYSTEM_SOLVE && s->k > 1 ? s->n * s->k * s->batch * w->item
                                                                       : 0;
    const int64_t bytes[] = {2 * chunk * 8,
                             4 * s->n * chunk,
                             4 * (chunk ? chunk : 1),
                             w->elements * w->item,
                             s->kind == NEAP_SYSTEM_INVERT ? s->n * s->n * s->batch * w->item : 0,
                             columns};
    CUdeviceptr *const parts[] = {&w->told, &w->pivots, &w->info, &w->room, &w->factors, &w->columns};
    size_t all = 0;
    for (int k = 0; k < 6; k++)
        all += whole(bytes[k]);
    int status = cuda_scratch_alloc(w->stream, all, &w->scratch);
    CUdeviceptr at = w->scratch;
    for (int k = 0; k < 6; k++) {
        *parts[k] = at;
        at += whole(bytes[k]);
    }
    return status;
}

int cuda_system_run(cuda_stream *stream, const neap_routine *routine) {
    const neap_system *s = &routine->system;
    work w = {.stream = stream,
              .routine = routine,
              .s = s,
              .type = cuda_blas_type(routine),
              .n = (int)s->n,
              .item = cuda_blas_bytes(routine),
              .together = s->batch > 1 && s->n <= SMALL};
    int status = cuda_blas_take(stream, &w.blas);
    if (!status)
        status = take_solver(stream, &w.solver);
    if (!status && !w.together && s->kind != NEAP_SYSTEM_SOLVE)
        status = check(
            stream,
            cusolver.of[w.type].getrf_elements(w.solver, w.n, w.n, pointer(cuda_address(s->out, 0)), w.n, &w.elements),
            "cusolverDnGetrf_bufferSize");
    if (!status)
        status = take_scratch(&w);
    if (status)
        return status;
    status = s->kind == NEAP_SYSTEM_FACTOR  ? run_factor(&w)
             : s->kind == NEAP_SYSTEM_SOLVE ? run_solve(&w)
                                            : run_invert(&w);
    cuda_scratch_free(stream, w.scratch);
    return status;
}
