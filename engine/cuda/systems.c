/* systems.c: LU factors, systems of equations and inverses, by cuSOLVER; many small ones at once by cuBLAS.
 *
 * What lies by rows is the transposed matrix by columns, as for LAPACK (lazy/ops/solve.c): factors are those of aᵀ,
 * and right sides are transposed on their way, unless they are single columns.
 */
#include "engine/cuda/matrices.h"

enum {
    TOGETHER = CUDA_TOLD, /* matrices that are done at once */
    SMALL = 256           /* rows up to which cuBLAS takes several matrices at once */
};

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

/* ---- Factors ----------------------------------------------------------------------------------------------------- */

static int factor_together(const work *w, cuda_row a, cuda_row pivots, int64_t count) {
    int status = cuda_tell(w->stream, w->told, a, a, count);
    if (!status)
        status = cuda_blas_check(w->stream,
                                 cublas.of[w->type].getrf_batched(w->blas, w->n, (void *const *)cuda_pointer(w->told),
                                                                  w->n, cuda_pointer(w->pivots), cuda_pointer(w->info),
                                                                  (int)count),
                                 "cublasGetrfBatched");
    return status ? status : cuda_copy_each(w->stream, pivots, (cuda_row){w->pivots, 4 * w->n}, 4 * w->n, count);
}

/* Factors matrices where they lie. */
static int factor(const work *w, cuda_row a, cuda_row pivots, int64_t count) {
    int status = NEAP_OK;
    for (int64_t k = 0; k < count && !status && w->together; k += TOGETHER)
        status =
            factor_together(w, (cuda_row){cuda_matrix(a, k), a.step}, (cuda_row){cuda_matrix(pivots, k), pivots.step},
                            count - k < TOGETHER ? count - k : TOGETHER);
    for (int64_t k = 0; k < count && !status && !w->together; k++)
        status =
            cuda_solver_check(w->stream,
                              cusolver.of[w->type].getrf(w->solver, w->n, w->n, cuda_pointer(cuda_matrix(a, k)), w->n,
                                                         cuda_pointer(w->room), cuda_pointer(cuda_matrix(pivots, k)),
                                                         cuda_pointer(w->info)),
                              "cusolverDnGetrf");
    return status;
}

/* ---- Right sides ------------------------------------------------------------------------------------------------- */

static int substitute_together(const work *w, cublasOperation_t transpose, cuda_row factors, cuda_row pivots,
                               cuda_row columns, int k, int64_t count) {
    int info = 0, status = cuda_tell(w->stream, w->told, factors, columns, count);
    if (!status && pivots.at != w->pivots)
        status = cuda_copy_each(w->stream, (cuda_row){w->pivots, 4 * w->n}, pivots, 4 * w->n, count);
    if (!status)
        status = cuda_blas_check(
            w->stream,
            cublas.of[w->type].getrs_batched(w->blas, transpose, w->n, k, (const void *const *)cuda_pointer(w->told),
                                             w->n, cuda_pointer(w->pivots),
                                             (void *const *)cuda_pointer(w->told) + count, w->n, &info, (int)count),
            "cublasGetrsBatched");
    return status;
}

/* Replaces k columns for each matrix by the solutions. */
static int substitute(const work *w, cublasOperation_t transpose, cuda_row factors, cuda_row pivots, cuda_row columns,
                      int k, int64_t count) {
    int status = NEAP_OK;
    for (int64_t i = 0; i < count && !status && w->together; i += TOGETHER)
        status = substitute_together(w, transpose, (cuda_row){cuda_matrix(factors, i), factors.step},
                                     (cuda_row){cuda_matrix(pivots, i), pivots.step},
                                     (cuda_row){cuda_matrix(columns, i), columns.step}, k,
                                     count - i < TOGETHER ? count - i : TOGETHER);
    for (int64_t i = 0; i < count && !status && !w->together; i++)
        status = cuda_solver_check(
            w->stream,
            cusolver.of[w->type].getrs(w->solver, transpose, w->n, k, cuda_pointer(cuda_matrix(factors, i)), w->n,
                                       cuda_pointer(cuda_matrix(pivots, i)), cuda_pointer(cuda_matrix(columns, i)),
                                       w->n, cuda_pointer(w->info)),
            "cusolverDnGetrs");
    return status;
}

/* to, of rows × columns by rows, becomes the transposed of from. */
static int transpose(const work *w, cuda_row to, cuda_row from, int64_t rows, int64_t columns) {
    const cuda_transposition t = {to, from, rows, columns, rows, false};
    return cuda_transpose_each(w->stream, w->routine, &t, w->s->batch);
}

/* ---- Routines ---------------------------------------------------------------------------------------------------- */

static int run_factor(const work *w) {
    const neap_system *s = w->s;
    const int64_t square = s->n * s->n * w->item, all = square + s->n * w->item;
    const cuda_row a = {cuda_address(s->a, 0), square}, out = {cuda_address(s->out, 0), all};
    const cuda_row pivots = {cuda_address(s->out, square), all};
    int status = cuda_copy_each(w->stream, out, a, square, s->batch);
    if (!status)
        status = cuda_clear_each(w->stream, pivots, s->n * w->item, s->batch);
    return status ? status : factor(w, out, pivots, s->batch);
}

static int run_solve(const work *w) {
    const neap_system *s = w->s;
    const int64_t square = s->n * s->n * w->item, all = square + s->n * w->item, side = s->n * s->k * w->item;
    const cuda_row factors = {cuda_address(s->a, 0), all}, pivots = {cuda_address(s->a, square), all};
    const cuda_row b = {cuda_address(s->b, 0), side}, out = {cuda_address(s->out, 0), side};
    const cuda_row columns = s->k == 1 ? out : (cuda_row){w->columns, side};
    int status = s->k == 1 ? cuda_copy_each(w->stream, out, b, side, s->batch) : transpose(w, columns, b, s->k, s->n);
    if (!status)
        status =
            substitute(w, s->transposed ? CUBLAS_OP_N : CUBLAS_OP_T, factors, pivots, columns, (int)s->k, s->batch);
    return status || s->k == 1 ? status : transpose(w, out, columns, s->n, s->k);
}

/* The inverse of what is stored, by columns, is the inverse by rows. */
static int run_invert(const work *w) {
    const neap_system *s = w->s;
    const int64_t square = s->n * s->n * w->item;
    const cuda_row a = {cuda_address(s->a, 0), square}, out = {cuda_address(s->out, 0), square};
    const cuda_row factors = {w->factors, square}, pivots = {w->columns, 4 * s->n};
    const uint32_t one = w->routine->f64 ? 0x3ff00000 : 0x3f800000; /* the high word of 1 */
    int status = cuda_copy_each(w->stream, factors, a, square, s->batch);
    if (!status)
        status = factor(w, factors, pivots, s->batch);
    if (!status)
        status = cuda_clear_each(w->stream, out, square, s->batch);
    for (int64_t i = 0; i < s->batch && !status; i++)
        status = cuda_set_words(w->stream, cuda_matrix(out, i) + (w->routine->f64 ? 4 : 0), (s->n + 1) * w->item, one,
                                1, s->n);
    return status ? status : substitute(w, CUBLAS_OP_N, factors, pivots, out, (int)s->n, s->batch);
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
        all += cuda_whole(bytes[k]);
    int status = cuda_scratch_alloc(w->stream, all, &w->scratch);
    CUdeviceptr at = w->scratch;
    for (int k = 0; k < 6; k++) {
        *parts[k] = at;
        at += cuda_whole(bytes[k]);
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
    int status = cuda_blas_take(stream, &stream->device->libraries.solver_blas, &w.blas);
    if (!status)
        status = cuda_solver_take(stream, &w.solver);
    if (!status && !w.together && s->kind != NEAP_SYSTEM_SOLVE)
        status = cuda_solver_check(stream,
                                   cusolver.of[w.type].getrf_elements(
                                       w.solver, w.n, w.n, cuda_pointer(cuda_address(s->out, 0)), w.n, &w.elements),
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
