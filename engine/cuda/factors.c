/* factors.c: factorizations by cuSOLVER: Cholesky, QR, eigenvalues of Hermitian matrices, singular values. Stacks of
 * small matrices at once, where it has that (Cholesky, eigenvalues).
 *
 * What lies by rows is the transposed matrix by columns: so cuSOLVER factors aᵀ where the factors of that are those of
 * a by rows (Cholesky, wide matrices' singular values), else a transposed copy.
 *
 * Where a factorization fails is known on the device alone. A host function in the stream looks at what cuSOLVER says
 * of each matrix, and at the sum of its elements times 0, and gives a factor for each: 1, or NaN, which the results are
 * multiplied by.
 *
 *      info, sums ──▶ pinned memory ──judge──▶ pinned memory ──▶ verdicts ──dgmm──▶ results
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cuda/matrices.h"

enum {
    SMALL = 256, /* rows up to which several matrices are factored at once, by Cholesky */
    TINY = 32    /* and by Jacobi's method, for eigenvalues */
};
static const int64_t BYTES_AT_ONCE = INT64_C(1) << 28; /* of matrices that are copied */

typedef struct work { /* a run of a routine */
    cuda_stream *stream;
    const neap_routine *routine;
    const neap_factor *f;
    cublasHandle_t blas;
    cusolverDnHandle_t solver;
    int type, m, n, k;  /* k: rows of vh, columns of q */
    int elements;       /* what cuSOLVER works with */
    int64_t item, part; /* bytes of a number, and of a real one */
    int64_t in, out;    /* numbers of a matrix, and of its results */
    int64_t chunk;      /* matrices of a turn */
    bool together;
    /* Parts of the scratch memory. */
    CUdeviceptr scratch, told, info, sums, verdicts, zeros, columns, values, tau, packed, triangle, space;
} work;

/* The matrices of a turn. */
typedef struct turn {
    cuda_row in, out;
    int64_t count;
} turn;

static inline int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int check(const work *w, cusolverStatus_t status, const char *function) {
    return cuda_solver_check(w->stream, status, function);
}

static int transpose(const work *w, cuda_transposition t) {
    return cuda_transpose_each(w->stream, w->routine, &t, 1);
}

/* ---- Which factorizations failed --------------------------------------------------------------------------------- */

typedef struct judgement { /* a work */
    cuda_work work;
    char *sums, *info, *verdicts; /* pinned; sums NULL: they are not looked at */
    int64_t count, item;
    bool f64;
} judgement;

static bool is_nan(const judgement *j, const char *number, int64_t part) {
    return j->f64 ? isnan(((const double *)number)[part]) : isnan(((const float *)number)[part]);
}

static void judge(cuda_work *work) {
    const judgement *j = (const judgement *)work;
    const int64_t parts = j->item / (j->f64 ? 8 : 4);
    memset(j->verdicts, 0, (size_t)(j->count * j->item));
    for (int64_t k = 0; k < j->count; k++) {
        bool failed = ((const int *)j->info)[k] != 0;
        for (int64_t part = 0; part < parts && j->sums; part++)
            failed = failed || is_nan(j, j->sums + k * j->item, part);
        if (j->f64)
            ((double *)j->verdicts)[k * parts] = failed ? NAN : 1;
        else
            ((float *)j->verdicts)[k * parts] = failed ? NAN : 1;
    }
}

static int enqueue_judgement(const work *w, int64_t count, bool sums) {
    cuda_stream *stream = w->stream;
    cuda_device *device = stream->device;
    const size_t bytes = (size_t)(count * w->item), infos = (size_t)count * sizeof(int);
    int status = cuda_staging_make(stream);
    char *pinned = stream->staging;
    judgement *j = status ? NULL : malloc(sizeof *j);
    if (!j)
        return status ? status : neap->error(NEAP_E_MEMORY, "no memory for factors");
    *j = (judgement){.sums = sums ? pinned : NULL,
                     .verdicts = pinned + bytes,
                     .info = pinned + 2 * bytes,
                     .count = count,
                     .item = w->item,
                     .f64 = w->routine->f64};
    status =
        cuda_check(device, cuda.cuMemcpyDtoHAsync_v2(j->info, w->info, infos, stream->stream), "cuMemcpyDtoHAsync");
    if (!status && sums)
        status =
            cuda_check(device, cuda.cuMemcpyDtoHAsync_v2(pinned, w->sums, bytes, stream->stream), "cuMemcpyDtoHAsync");
    char *verdicts = j->verdicts;
    if (status)
        free(j);
    else
        status = cuda_work_enqueue(stream, stream->stream, &j->work, judge);
    return status ? status
                  : cuda_check(device, cuda.cuMemcpyHtoDAsync_v2(w->verdicts, verdicts, bytes, stream->stream),
                               "cuMemcpyHtoDAsync");
}

/* The sum of the elements of each matrix times 0: NaN, if one is not finite. */
static int add_up(const work *w, const turn *t) {
    static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
    const cudaDataType type = types[w->type];
    return cuda_blas_check(w->stream,
                           cublas.cublasGemmStridedBatchedEx_64(
                               w->blas, CUBLAS_OP_N, CUBLAS_OP_N, 1, t->count, w->in, cuda_blas_number(w->routine, 1),
                               cuda_pointer(w->zeros), type, 1, 0, cuda_pointer(t->in.at), type, w->in, 0,
                               cuda_blas_number(w->routine, 0), cuda_pointer(w->sums), type, 1, 0, 1,
                               w->routine->f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                           "cublasGemmStridedBatchedEx");
}

/* Makes the results NaN where there are none. `finite`: numbers of the matrix have to be finite. */
static int apply_verdicts(const work *w, const turn *t, bool finite) {
    int status = finite ? add_up(w, t) : NEAP_OK;
    if (!status) {
        pthread_mutex_lock(&w->stream->mutex);
        status = enqueue_judgement(w, t->count, finite);
        pthread_mutex_unlock(&w->stream->mutex);
    }
    return status ? status
                  : cuda_blas_check(w->stream,
                                    cublas.of[w->type].dgmm(w->blas, CUBLAS_SIDE_RIGHT, w->out, t->count,
                                                            cuda_pointer(t->out.at), w->out, cuda_pointer(w->verdicts),
                                                            1, cuda_pointer(t->out.at), w->out),
                                    "cublasDgmm");
}

/* ---- Triangles --------------------------------------------------------------------------------------------------- */

/* Copies the upper triangle of n rows, by columns, into another matrix, which is cleared before. */
static int copy_triangle(const work *w, CUdeviceptr to, int ld_to, int64_t bytes, CUdeviceptr from, int ld, int n) {
    int status = cuda_blas_check(
        w->stream,
        cublas.of[w->type].trttp(w->blas, CUBLAS_FILL_MODE_UPPER, n, cuda_pointer(from), ld, cuda_pointer(w->packed)),
        "cublasTrttp");
    if (!status)
        status = cuda_check(w->stream->device, cuda.cuMemsetD8Async(to, 0, (size_t)bytes, w->stream->stream),
                            "cuMemsetD8Async");
    return status ? status
                  : cuda_blas_check(w->stream,
                                    cublas.of[w->type].tpttr(w->blas, CUBLAS_FILL_MODE_UPPER, n,
                                                             cuda_pointer(w->packed), cuda_pointer(to), ld_to),
                                    "cublasTpttr");
}

/* Clears what is above the diagonals, by rows: a part of a row in all matrices, or matrix by matrix. */
static int clear_above(const work *w, const turn *t) {
    int status = NEAP_OK;
    if (w->n - 1 <= 3 * t->count) {
        for (int64_t i = 0; i + 1 < w->n && !status; i++)
            status = cuda_clear_each(w->stream,
                                     (cuda_row){t->out.at + (CUdeviceptr)((i * w->n + i + 1) * w->item), t->out.step},
                                     (w->n - i - 1) * w->item, t->count);
        return status;
    }
    for (int64_t k = 0; k < t->count && !status; k++)
        status = copy_triangle(w, cuda_matrix(t->out, k), w->n, w->in * w->item, cuda_matrix(t->out, k), w->n, w->n);
    return status;
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

static int measure_cholesky(work *w) {
    return w->together ? NEAP_OK
                       : check(w,
                               cusolver.of[w->type].potrf_elements(w->solver, CUBLAS_FILL_MODE_UPPER, w->n,
                                                                   cuda_pointer(cuda_address(w->f->out, 0)), w->n,
                                                                   &w->elements),
                               "cusolverDnPotrf_bufferSize");
}

/* aᵀ = conj(u)ᵀ u by columns: u lies by rows as uᵀ, which is lower triangular. */
static int run_cholesky(const work *w, const turn *t) {
    int status = cuda_copy_each(w->stream, t->out, t->in, w->in * w->item, t->count);
    if (!status && w->together) {
        status = cuda_tell(w->stream, w->told, t->out, t->out, t->count);
        if (!status)
            status =
                check(w,
                      cusolver.of[w->type].potrf_batched(w->solver, CUBLAS_FILL_MODE_UPPER, w->n, cuda_pointer(w->told),
                                                         w->n, cuda_pointer(w->info), (int)t->count),
                      "cusolverDnPotrfBatched");
    }
    for (int64_t k = 0; k < t->count && !status && !w->together; k++)
        status = check(w,
                       cusolver.of[w->type].potrf(w->solver, CUBLAS_FILL_MODE_UPPER, w->n,
                                                  cuda_pointer(cuda_matrix(t->out, k)), w->n, cuda_pointer(w->space),
                                                  w->elements, cuda_pointer(w->info + (CUdeviceptr)(4 * k))),
                       "cusolverDnPotrf");
    if (!status)
        status = apply_verdicts(w, t, false);
    return status ? status : clear_above(w, t);
}

/* ---- QR ---------------------------------------------------------------------------------------------------------- */

static int measure_qr(work *w) {
    const int s = w->m < w->n ? w->m : w->n;
    void *a = cuda_pointer(cuda_address(w->f->out, 0));
    int first = 0, second = 0;
    int status = check(w, cusolver.of[w->type].geqrf_elements(w->solver, w->m, w->n, a, w->m, &first),
                       "cusolverDnGeqrf_bufferSize");
    if (!status)
        status = check(w, cusolver.of[w->type].orgqr_elements(w->solver, w->m, w->k, s, a, w->m, a, &second),
                       "cusolverDnOrgqr_bufferSize");
    w->elements = first > second ? first : second;
    return status;
}

/* r, by rows: the transposed of the triangle and what is right of it. */
static int take_r(const work *w, CUdeviceptr to, int64_t s) {
    int status = copy_triangle(w, w->triangle, w->k, w->k * w->n * w->item, w->columns, w->m, (int)s);
    if (!status && w->n > s)
        status = cuda_copy_each(w->stream, (cuda_row){w->triangle + (CUdeviceptr)(s * w->k * w->item), w->k * w->item},
                                (cuda_row){w->columns + (CUdeviceptr)(s * w->m * w->item), w->m * w->item}, s * w->item,
                                w->n - s);
    return status
               ? status
               : transpose(w, (cuda_transposition){
                                  .to = {to, 0}, .from = {w->triangle, 0}, .rows = w->k, .columns = w->n, .ld = w->k});
}

static int run_qr(const work *w, const turn *t) {
    const int s = w->m < w->n ? w->m : w->n;
    int status = NEAP_OK;
    for (int64_t i = 0; i < t->count && !status; i++) {
        const CUdeviceptr q = cuda_matrix(t->out, i), r = q + (CUdeviceptr)((int64_t)w->m * w->k * w->item);
        status = transpose(
            w,
            (cuda_transposition){
                .to = {w->columns, 0}, .from = {cuda_matrix(t->in, i), 0}, .rows = w->n, .columns = w->m, .ld = w->n});
        if (!status)
            status = check(w,
                           cusolver.of[w->type].geqrf(w->solver, w->m, w->n, cuda_pointer(w->columns), w->m,
                                                      cuda_pointer(w->tau), cuda_pointer(w->space), w->elements,
                                                      cuda_pointer(w->info)),
                           "cusolverDnGeqrf");
        if (!status)
            status = take_r(w, r, s);
        if (!status)
            status = check(w,
                           cusolver.of[w->type].orgqr(w->solver, w->m, w->k, s, cuda_pointer(w->columns), w->m,
                                                      cuda_pointer(w->tau), cuda_pointer(w->space), w->elements,
                                                      cuda_pointer(w->info)),
                           "cusolverDnOrgqr");
        if (!status)
            status = transpose(
                w,
                (cuda_transposition){.to = {q, 0}, .from = {w->columns, 0}, .rows = w->m, .columns = w->k, .ld = w->m});
    }
    return status;
}

/* ---- Eigenvalues ------------------------------------------------------------------------------------------------- */

static cusolverEigMode_t mode_of(const work *w) {
    return w->f->vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
}

static int measure_eigenvalues(work *w) {
    void *a = cuda_pointer(cuda_address(w->f->out, 0));
    if (w->together)
        return check(w,
                     cusolver.of[w->type].syevj_batched_elements(w->solver, mode_of(w), CUBLAS_FILL_MODE_UPPER, w->n, a,
                                                                 w->n, a, &w->elements,
                                                                 w->stream->device->libraries.jacobi, (int)w->chunk),
                     "cusolverDnSyevjBatched_bufferSize");
    return check(w,
                 cusolver.of[w->type].syevd_elements(w->solver, mode_of(w), CUBLAS_FILL_MODE_UPPER, w->n, a, w->n, a,
                                                     &w->elements),
                 "cusolverDnSyevd_bufferSize");
}

/* Real numbers as the first ones of each matrix's results, behind `before` numbers. */
static int put_values(const work *w, const turn *t, int64_t before, int64_t count) {
    const cuda_row to = {t->out.at + (CUdeviceptr)(before * w->item), t->out.step};
    int status = NEAP_OK;
    if (!w->routine->complex)
        return cuda_copy_each(w->stream, to, (cuda_row){w->values, count * w->part}, count * w->part, t->count);
    status = cuda_clear_each(w->stream, to, count * w->item, t->count);
    for (int64_t i = 0; i < t->count && !status; i++)
        status = cuda_copy_each(w->stream, (cuda_row){cuda_matrix(to, i), w->item},
                                (cuda_row){w->values + (CUdeviceptr)(i * count * w->part), w->part}, w->part, count);
    return status;
}

static int find_eigenvalues(const work *w, const turn *t) {
    int status = NEAP_OK;
    if (w->together)
        return check(w,
                     cusolver.of[w->type].syevj_batched(w->solver, mode_of(w), CUBLAS_FILL_MODE_UPPER, w->n,
                                                        cuda_pointer(w->columns), w->n, cuda_pointer(w->values),
                                                        cuda_pointer(w->space), w->elements, cuda_pointer(w->info),
                                                        w->stream->device->libraries.jacobi, (int)t->count),
                     "cusolverDnSyevjBatched");
    for (int64_t i = 0; i < t->count && !status; i++)
        status = check(w,
                       cusolver.of[w->type].syevd(w->solver, mode_of(w), CUBLAS_FILL_MODE_UPPER, w->n,
                                                  cuda_pointer(w->columns + (CUdeviceptr)(i * w->in * w->item)), w->n,
                                                  cuda_pointer(w->values + (CUdeviceptr)(i * w->n * w->part)),
                                                  cuda_pointer(w->space), w->elements,
                                                  cuda_pointer(w->info + (CUdeviceptr)(4 * i))),
                       "cusolverDnSyevd");
    return status;
}

/* By columns lies aᵀ, of complex ones conj(a), whose vectors are the conjugate ones. */
static int run_eigenvalues(const work *w, const turn *t) {
    const cuda_row columns = {w->columns, w->in * w->item};
    int status = cuda_copy_each(w->stream, columns, t->in, w->in * w->item, t->count);
    if (!status)
        status = find_eigenvalues(w, t);
    if (!status)
        status = put_values(w, t, 0, w->n);
    const cuda_transposition vectors = {.to = {t->out.at + (CUdeviceptr)(w->n * w->item), t->out.step},
                                        .from = columns,
                                        .rows = w->n,
                                        .columns = w->n,
                                        .ld = w->n,
                                        .conjugate = w->routine->complex};
    if (!status && w->f->vectors)
        status = cuda_transpose_each(w->stream, w->routine, &vectors, t->count);
    return status ? status : apply_verdicts(w, t, true);
}

/* ---- Singular values --------------------------------------------------------------------------------------------- */

static bool is_tall(const work *w) {
    return w->m > w->n;
}

/* cuSOLVER takes matrices by columns that are at least as tall as wide. */
static int measure_singular_values(work *w) {
    return check(w,
                 cusolver.of[w->type].gesvd_elements(w->solver, is_tall(w) ? w->m : w->n, is_tall(w) ? w->n : w->m,
                                                     &w->elements),
                 "cusolverDnGesvd_bufferSize");
}

static int decompose(const work *w, int64_t i, int m, int n, CUdeviceptr u, CUdeviceptr vt, int ldvt) {
    const signed char job = (signed char)(!w->f->vectors ? 'N' : w->f->full ? 'A' : 'S');
    const int64_t k = least(w->m, w->n);
    const CUdeviceptr values = w->values + (CUdeviceptr)(i * k * w->part);
    return check(w,
                 cusolver.of[w->type].gesvd(w->solver, job, job, m, n, cuda_pointer(w->columns), m,
                                            cuda_pointer(values), cuda_pointer(u), m, cuda_pointer(vt), ldvt,
                                            cuda_pointer(w->space), w->elements, cuda_pointer(w->tau),
                                            cuda_pointer(w->info + (CUdeviceptr)(4 * i))),
                 "cusolverDnGesvd");
}

/* Of aᵀ = v s uᵀ: its left vectors by columns are vh by rows, and what cuSOLVER gives as the right ones is u. */
static int decompose_wide(const work *w, const turn *t, int64_t i, int64_t behind_u) {
    const CUdeviceptr u = cuda_matrix(t->out, i), vh = u + (CUdeviceptr)(behind_u * w->item);
    int status = cuda_copy_each(w->stream, (cuda_row){w->columns, 0}, cuda_row_from(t->in, i), w->in * w->item, 1);
    return status ? status : decompose(w, i, w->n, w->m, w->f->vectors ? vh : 0, w->f->vectors ? u : 0, w->m);
}

/* Of a itself; its vectors go over other memory. */
static int decompose_tall(const work *w, const turn *t, int64_t i, int64_t behind_u) {
    const int64_t wide_u = w->f->full ? w->m : w->n;
    const CUdeviceptr vt = w->triangle + (CUdeviceptr)(w->m * wide_u * w->item), u = cuda_matrix(t->out, i);
    int status = transpose(
        w, (cuda_transposition){
               .to = {w->columns, 0}, .from = {cuda_matrix(t->in, i), 0}, .rows = w->n, .columns = w->m, .ld = w->n});
    if (!status)
        status = decompose(w, i, w->m, w->n, w->f->vectors ? w->triangle : 0, w->f->vectors ? vt : 0, w->n);
    if (!status && w->f->vectors)
        status = transpose(w, (cuda_transposition){
                                  .to = {u, 0}, .from = {w->triangle, 0}, .rows = w->m, .columns = wide_u, .ld = w->m});
    if (!status && w->f->vectors)
        status = transpose(w, (cuda_transposition){.to = {u + (CUdeviceptr)(behind_u * w->item), 0},
                                                   .from = {vt, 0},
                                                   .rows = w->n,
                                                   .columns = w->n,
                                                   .ld = w->n});
    return status;
}

static int run_singular_values(const work *w, const turn *t) {
    const int64_t k = least(w->m, w->n), of_u = w->f->vectors ? (int64_t)w->m * (w->f->full ? w->m : k) : 0;
    int status = NEAP_OK;
    for (int64_t i = 0; i < t->count && !status; i++)
        status = (is_tall(w) ? decompose_tall : decompose_wide)(w, t, i, of_u + k);
    if (!status)
        status = put_values(w, t, of_u, k);
    return status ? status : apply_verdicts(w, t, true);
}

/* ---- Routines ---------------------------------------------------------------------------------------------------- */

static const struct factorization {
    int (*measure)(work *w);
    int (*run)(const work *w, const turn *t);
} factorizations[] = {[NEAP_FACTOR_CHOLESKY] = {measure_cholesky, run_cholesky},
                      [NEAP_FACTOR_QR] = {measure_qr, run_qr},
                      [NEAP_FACTOR_EIGH] = {measure_eigenvalues, run_eigenvalues},
                      [NEAP_FACTOR_SVD] = {measure_singular_values, run_singular_values}};

/* Numbers of the results of a matrix. */
static int64_t count_out(const neap_factor *f) {
    const int64_t m = f->m, n = f->n, least_k = least(m, n), k = f->full ? m : least_k;
    switch (f->kind) {
    case NEAP_FACTOR_CHOLESKY:
        return n * n;
    case NEAP_FACTOR_QR:
        return k * (m + n);
    case NEAP_FACTOR_EIGH:
        return f->vectors ? n * (n + 1) : n;
    default:
        return f->vectors ? m * k + least_k + (f->full ? n : least_k) * n : least_k;
    }
}

/* Asks for the scratch memory, and cuts it. */
static int take_scratch(work *w) {
    const neap_factor_kind kind = w->f->kind;
    const int64_t m = w->m, n = w->n, s = least(m, n), widest = w->k > n ? w->k : n;
    const bool judged = kind != NEAP_FACTOR_QR, sums = judged && kind != NEAP_FACTOR_CHOLESKY;
    const int64_t copies = kind == NEAP_FACTOR_CHOLESKY ? 0
                           : kind == NEAP_FACTOR_QR     ? m * widest
                           : kind == NEAP_FACTOR_EIGH   ? w->in * w->chunk
                                                        : w->in;
    const int64_t triangle = kind == NEAP_FACTOR_QR                                   ? w->k * n
                             : kind == NEAP_FACTOR_SVD && w->f->vectors && is_tall(w) ? m * (w->f->full ? m : n) + n * n
                                                                                      : 0;
    const int64_t bytes[] = {w->together ? 2 * w->chunk * 8 : 0,
                             4 * w->chunk,
                             sums ? w->chunk * w->item : 0,
                             judged ? w->chunk * w->item : 0,
                             sums ? w->in * w->item : 0,
                             copies * w->item,
                             sums ? w->chunk * s * w->part : 0,
                             s * w->item,
                             sums ? 0 : s * (s + 1) / 2 * w->item,
                             triangle * w->item,
                             w->elements * w->item};
    CUdeviceptr *const parts[] = {&w->told,   &w->info, &w->sums,   &w->verdicts, &w->zeros, &w->columns,
                                  &w->values, &w->tau,  &w->packed, &w->triangle, &w->space};
    enum { PARTS = sizeof parts / sizeof *parts };
    size_t all = 0;
    for (int k = 0; k < PARTS; k++)
        all += cuda_whole(bytes[k]);
    int status = cuda_scratch_alloc(w->stream, all, &w->scratch);
    CUdeviceptr at = w->scratch;
    for (int k = 0; k < PARTS; k++) {
        *parts[k] = at;
        at += cuda_whole(bytes[k]);
    }
    if (!status && sums)
        status = cuda_check(w->stream->device,
                            cuda.cuMemsetD8Async(w->zeros, 0, (size_t)(w->in * w->item), w->stream->stream),
                            "cuMemsetD8Async");
    return status;
}

/* How many matrices are done at once, and how. */
static void choose_turns(work *w) {
    const neap_factor *f = w->f;
    const int most = f->kind == NEAP_FACTOR_CHOLESKY ? SMALL : f->kind == NEAP_FACTOR_EIGH ? TINY : 0;
    w->chunk = BYTES_AT_ONCE / (w->in * w->item);
    w->chunk = least(f->batch, w->chunk < 1 ? 1 : least(w->chunk, CUDA_TOLD));
    w->together = f->batch > 1 && f->n <= most;
}

int cuda_factor_run(cuda_stream *stream, const neap_routine *routine) {
    const neap_factor *f = &routine->factor;
    work w = {.stream = stream,
              .routine = routine,
              .f = f,
              .type = cuda_blas_type(routine),
              .m = (int)f->m,
              .n = (int)f->n,
              .k = (int)(f->full ? f->m : least(f->m, f->n)),
              .item = cuda_blas_bytes(routine),
              .part = routine->f64 ? 8 : 4,
              .in = f->m * f->n,
              .out = count_out(f)};
    choose_turns(&w);
    int status = cuda_blas_take(stream, &stream->device->libraries.solver_blas, &w.blas);
    if (!status)
        status = cuda_solver_take(stream, &w.solver);
    if (!status)
        status = factorizations[f->kind].measure(&w);
    if (!status)
        status = take_scratch(&w);
    for (int64_t from = 0; from < f->batch && !status; from += w.chunk) {
        const turn t = {{cuda_address(f->a, from * w.in * w.item), w.in * w.item},
                        {cuda_address(f->out, from * w.out * w.item), w.out * w.item},
                        least(w.chunk, f->batch - from)};
        status = factorizations[f->kind].run(&w, &t);
    }
    cuda_scratch_free(stream, w.scratch);
    return status;
}
