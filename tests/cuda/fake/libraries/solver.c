/* solver.c: stands in for cuSOLVER in tests, as libcusolver.so.12: LU factors and what they solve, Cholesky's and
 * orthogonal factors, eigenvalues and singular values, in the order of the stream. It writes over its work space. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake/libraries/factors.h"

#pragma GCC visibility push(default)

enum { WORK = 7 }; /* elements for a row */

struct cusolverDnContext {
    CUcontext context;
    CUstream stream;
};

/* For tests: calls for eigenvalues hold their caller up from now on, as those that wait for the stream; or no more. */
static _Atomic bool paused;
static _Atomic int held_up; /* callers, now */

int fake_cusolver_pause(bool pause) {
    atomic_store(&paused, pause);
    return atomic_load(&held_up);
}

static void wait_while_paused(void) {
    atomic_fetch_add(&held_up, 1);
    while (atomic_load(&paused))
        sched_yield();
    atomic_fetch_sub(&held_up, 1);
}

static cusolverStatus_t status_of(CUresult result) {
    return result == CUDA_SUCCESS               ? CUSOLVER_STATUS_SUCCESS
           : result == CUDA_ERROR_OUT_OF_MEMORY ? CUSOLVER_STATUS_ALLOC_FAILED
                                                : CUSOLVER_STATUS_EXECUTION_FAILED;
}

cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int *value) {
    *value = type == MAJOR_VERSION ? 12 : type == MINOR_VERSION ? 0 : 4;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *handle) {
    CUresult result = fake_library_call(__func__);
    if (result)
        return status_of(result);
    *handle = calloc(1, sizeof **handle);
    (*handle)->context = fake_library_context();
    fake_library_holds(1);
    return CUSOLVER_STATUS_SUCCESS;
}

static void check_handle(const char *name, cusolverDnHandle_t handle) {
    if (!handle || handle->context != fake_library_context())
        fake_complain("%s: no handle of the current device", name);
}

cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
    check_handle(__func__, handle);
    fake_library_holds(-1);
    free(handle);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
    CUresult result = fake_library_call(__func__);
    check_handle(__func__, handle);
    if (!result)
        handle->stream = stream;
    return status_of(result);
}

static cusolverStatus_t begin(const char *name, cusolverDnHandle_t handle, bool fits) {
    CUresult result = fake_library_call(name);
    check_handle(name, handle);
    if (!handle->stream || !fits)
        fake_complain("%s: no stream, or what the backend never asks for", name);
    return status_of(result);
}

static void factor(void *const *buffers, const uint64_t *words, uint64_t group) {
    (void)group;
    *(int *)buffers[3] = factor_matrix(buffers[0], words[0], (int64_t)words[1], buffers[2], false);
    memset(buffers[1], 0xdd, (size_t)(item_bytes[words[0]] * (int64_t)words[1] * WORK));
}

static void substitute(void *const *buffers, const uint64_t *words, uint64_t group) {
    (void)group;
    substitute_matrix(buffers[0], words[0], (int64_t)words[1], (int64_t)words[2], buffers[1], buffers[2], words[3]);
    *(int *)buffers[3] = 0;
}

static cusolverStatus_t ask_to_factor(const char *name, cusolverDnHandle_t handle, uint64_t type, int m, int n,
                                      const void *a, int lda, const void *work, const int *pivots, const int *info) {
    static struct CUfunc_st function = {.name = "factor", .nbuffers = 4, .entry = factor};
    cusolverStatus_t status = begin(name, handle, m == n && n > 0 && lda == n);
    if (status)
        return status;
    const size_t item = (size_t)item_bytes[type], rows = (size_t)n;
    const fake_use uses[4] = {
        {a, rows * rows * item}, {work, rows * item * WORK}, {pivots, rows * sizeof(int)}, {info, sizeof(int)}};
    const uint64_t words[] = {type, rows};
    fake_library_launch(name, handle->stream, &function, uses, 2, words);
    return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t ask_to_substitute(const char *name, cusolverDnHandle_t handle, uint64_t type, bool transposed,
                                          int n, int k, const void *a, int lda, const int *pivots, const void *b,
                                          int ldb, const int *info) {
    static struct CUfunc_st function = {.name = "substitute", .nbuffers = 4, .entry = substitute};
    cusolverStatus_t status = begin(name, handle, n > 0 && k > 0 && lda == n && ldb == n);
    if (status)
        return status;
    const size_t item = (size_t)item_bytes[type], rows = (size_t)n, columns = (size_t)k;
    const fake_use uses[4] = {
        {a, rows * rows * item}, {pivots, rows * sizeof(int)}, {b, rows * columns * item}, {info, sizeof(int)}};
    const uint64_t words[] = {type, rows, columns, transposed};
    fake_library_launch(name, handle->stream, &function, uses, 4, words);
    return CUSOLVER_STATUS_SUCCESS;
}

#define DEFINE_SOLVER(S, type)                                                                                         \
    cusolverStatus_t cusolverDn##S##getrf_bufferSize(cusolverDnHandle_t handle, int m, int n, void *a, int lda,        \
                                                     int *elements) {                                                  \
        (void)a;                                                                                                       \
        *elements = n * WORK;                                                                                          \
        return begin(__func__, handle, m == n && lda == n);                                                            \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##getrf(cusolverDnHandle_t handle, int m, int n, void *a, int lda, void *work,       \
                                          int *pivots, int *info) {                                                    \
        return ask_to_factor(__func__, handle, type, m, n, a, lda, work, pivots, info);                                \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##getrs(cusolverDnHandle_t handle, cublasOperation_t transpose, int n, int k,        \
                                          const void *a, int lda, const int *pivots, void *b, int ldb, int *info) {    \
        return ask_to_substitute(__func__, handle, type, transpose == CUBLAS_OP_T, n, k, a, lda, pivots, b, ldb,       \
                                 info);                                                                                \
    }
DEFINE_SOLVER(S, CUDA_R_32F)
DEFINE_SOLVER(D, CUDA_R_64F)
DEFINE_SOLVER(C, CUDA_C_32F)
DEFINE_SOLVER(Z, CUDA_C_64F)

/* ---- Factors ----------------------------------------------------------------------------------------------------- */

cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t *info) {
    CUresult result = fake_library_call(__func__);
    if (result)
        return status_of(result);
    *info = calloc(1, 8);
    fake_library_holds(1);
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnDestroySyevjInfo(syevjInfo_t info) {
    fake_library_holds(-1);
    free(info);
    return CUSOLVER_STATUS_SUCCESS;
}

static void spoil(void *work, const uint64_t *words) {
    memset(work, 0xdd, (size_t)item_bytes[words[0]] * words[1]);
}

/* Work of type words[0] on matrices with a work space of words[1] elements. */
static cusolverStatus_t ask(const char *name, cusolverDnHandle_t handle, bool fits, CUfunction function,
                            const fake_use *uses, int nwords, const uint64_t *words) {
    cusolverStatus_t status = begin(name, handle, fits);
    if (!status)
        fake_library_launch(name, handle->stream, function, uses, nwords, words);
    return status;
}

static void factor_positive_one(void *const *buffers, const uint64_t *words, uint64_t group) {
    (void)group;
    *(int *)buffers[2] = factor_positive(buffers[0], words[0], (int64_t)words[2]);
    spoil(buffers[1], words);
}

static void factor_positive_each(void *const *buffers, const uint64_t *words, uint64_t group) {
    (void)group;
    for (uint64_t k = 0; k < words[3]; k++)
        ((int *)buffers[1])[k] =
            factor_positive(fake_library_address(((void *const *)buffers[0])[k]), words[0], (int64_t)words[2]);
}

static void factor_orthogonal_one(void *const *buffers, const uint64_t *words, uint64_t group) {
    (void)group;
    factor_orthogonal(buffers[0], words[0], (int64_t)words[2], (int64_t)words[3], buffers[2]);
    *(int *)buffers[3] = 0;
    spoil(buffers[1], words);
}

static void make_orthogonal_one(void *const *buffers, const uint64_t *words, uint64_t group) {
    (void)group;
    make_orthogonal(buffers[0], words[0], (int64_t)words[2], (int64_t)words[3], (int64_t)words[4], buffers[2]);
    *(int *)buffers[3] = 0;
    spoil(buffers[1], words);
}

static void find_eigenvalues_each(void *const *buffers, const uint64_t *words, uint64_t group) {
    const int64_t n = (int64_t)words[2], item = item_bytes[words[0]], part = words[0] & 4 ? item / 2 : item;
    (void)group;
    for (int64_t k = 0; k < (int64_t)words[4]; k++)
        ((int *)buffers[3])[k] = find_eigenvalues((char *)buffers[0] + k * n * n * item, words[0], n,
                                                  (char *)buffers[2] + k * n * part, words[3]);
    spoil(buffers[1], words);
}

/* words: type, elements, m, n, job, ldvt. Singular values, and vectors u and vᴴ. */
static void find_singular_one(void *const *buffers, const uint64_t *words, uint64_t group) {
    const uint64_t type = words[0];
    const int64_t m = (int64_t)words[2], n = (int64_t)words[3], wide = words[4] == 'A' ? m : n;
    const singular r = find_singular(buffers[0], type, m, n);
    (void)group;
    for (int64_t k = 0; k < n; k++)
        put_real(buffers[2], type, k, r.s[k]);
    for (int64_t k = 0; k < m * wide && words[4] != 'N'; k++)
        put(buffers[3], type, k, r.u[k]);
    for (int64_t i = 0; i < n && words[4] != 'N'; i++)
        for (int64_t j = 0; j < n; j++)
            put(buffers[4], type, i + j * (int64_t)words[5], conj(r.v[j + i * n]));
    *(int *)buffers[5] = 0;
    memset(buffers[0], 0xdd, (size_t)(m * n * item_bytes[type]));
    spoil(buffers[1], words);
    free(r.u);
    free(r.v);
    free(r.s);
}

static cusolverStatus_t ask_for_eigenvalues(const char *name, cusolverDnHandle_t handle, uint64_t type,
                                            cublasFillMode_t triangle, bool vectors, int n, int lda, const void *a,
                                            const void *w, const void *work, int elements, const void *info,
                                            int batch) {
    static struct CUfunc_st function = {.name = "eigenvalues", .nbuffers = 4, .entry = find_eigenvalues_each};
    const size_t rows = (size_t)n, count = (size_t)batch, item = (size_t)item_bytes[type];
    const fake_use uses[4] = {{a, rows * rows * item * count},
                              {work, (size_t)elements * item},
                              {w, rows * count * (type & 4 ? item / 2 : item)},
                              {info, sizeof(int) * count}};
    const bool fits = n > 0 && lda == n && triangle == CUBLAS_FILL_MODE_UPPER && elements >= n * WORK && batch > 0;
    wait_while_paused();
    return ask(name, handle, fits, &function, uses, 5,
               (uint64_t[]){type, (uint64_t)elements, rows, vectors, (uint64_t)batch});
}

static cusolverStatus_t ask_for_singular(const char *name, cusolverDnHandle_t handle, uint64_t type, int job, bool fits,
                                         int m, int n, const void *a, const void *s, const void *u, const void *vt,
                                         int ldvt, const void *work, int elements, const void *rwork,
                                         const void *info) {
    static struct CUfunc_st function = {.name = "singular", .nbuffers = 7, .entry = find_singular_one};
    const size_t rows = (size_t)m, columns = (size_t)n, item = (size_t)item_bytes[type];
    const size_t part = type & 4 ? item / 2 : item;
    const fake_use uses[7] = {{a, rows * columns * item},
                              {work, (size_t)elements * item},
                              {s, columns * part},
                              {job == 'N' ? NULL : u, rows * (job == 'A' ? rows : columns) * item},
                              {job == 'N' ? NULL : vt, columns * columns * item},
                              {info, sizeof(int)},
                              {rwork, columns * part}};
    fits = fits && m >= n && n > 0 && elements >= n * WORK && ldvt >= n && strchr("NSA", job);
    return ask(name, handle, fits, &function, uses, 6,
               (uint64_t[]){type, (uint64_t)elements, (uint64_t)m, (uint64_t)n, (uint64_t)job, (uint64_t)ldvt});
}

static cusolverStatus_t tell_elements(const char *name, cusolverDnHandle_t handle, bool fits, int n, int *elements) {
    *elements = n * WORK;
    return begin(name, handle, fits);
}

#define DEFINE_FACTORS(S, type, O, H)                                                                                  \
    cusolverStatus_t cusolverDn##S##potrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n,      \
                                                     void *a, int lda, int *elements) {                                \
        (void)a;                                                                                                       \
        return tell_elements(__func__, handle, triangle == CUBLAS_FILL_MODE_UPPER && lda == n, n, elements);           \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##potrf(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n, void *a,        \
                                          int lda, void *work, int elements, int *info) {                              \
        static struct CUfunc_st function = {.name = "potrf", .nbuffers = 3, .entry = factor_positive_one};             \
        const size_t item = (size_t)item_bytes[type], rows = (size_t)n;                                                \
        const fake_use uses[3] = {{a, rows * rows * item}, {work, (size_t)elements * item}, {info, sizeof(int)}};      \
        const bool fits = triangle == CUBLAS_FILL_MODE_UPPER && lda == n && elements >= n * WORK;                      \
        return ask(__func__, handle, fits, &function, uses, 3, (uint64_t[]){type, (uint64_t)elements, rows});          \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##potrfBatched(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n,          \
                                                 void *a[], int lda, int *info, int batch) {                           \
        static struct CUfunc_st function = {.name = "potrf", .nbuffers = 2, .entry = factor_positive_each};            \
        const fake_use uses[2] = {{a, (size_t)batch * sizeof(void *)}, {info, (size_t)batch * sizeof(int)}};           \
        const bool fits = triangle == CUBLAS_FILL_MODE_UPPER && lda == n && batch > 0;                                 \
        return ask(__func__, handle, fits, &function, uses, 4, (uint64_t[]){type, 0, (uint64_t)n, (uint64_t)batch});   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##geqrf_bufferSize(cusolverDnHandle_t handle, int m, int n, void *a, int lda,        \
                                                     int *elements) {                                                  \
        (void)a;                                                                                                       \
        return tell_elements(__func__, handle, lda == m, n, elements);                                                 \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##geqrf(cusolverDnHandle_t handle, int m, int n, void *a, int lda, void *tau,        \
                                          void *work, int elements, int *info) {                                       \
        static struct CUfunc_st function = {.name = "geqrf", .nbuffers = 4, .entry = factor_orthogonal_one};           \
        const size_t item = (size_t)item_bytes[type];                                                                  \
        const fake_use uses[4] = {{a, (size_t)m * (size_t)n * item},                                                   \
                                  {work, (size_t)elements * item},                                                     \
                                  {tau, (size_t)(m < n ? m : n) * item},                                               \
                                  {info, sizeof(int)}};                                                                \
        return ask(__func__, handle, m > 0 && n > 0 && lda == m && elements >= n * WORK, &function, uses, 4,           \
                   (uint64_t[]){type, (uint64_t)elements, (uint64_t)m, (uint64_t)n});                                  \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##O##gqr_bufferSize(cusolverDnHandle_t handle, int m, int n, int k, const void *a,   \
                                                      int lda, const void *tau, int *elements) {                       \
        (void)a, (void)tau;                                                                                            \
        return tell_elements(__func__, handle, m >= n && n >= k && k > 0 && lda == m, n, elements);                    \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##O##gqr(cusolverDnHandle_t handle, int m, int n, int k, void *a, int lda,           \
                                           const void *tau, void *work, int elements, int *info) {                     \
        static struct CUfunc_st function = {.name = "orgqr", .nbuffers = 4, .entry = make_orthogonal_one};             \
        const size_t item = (size_t)item_bytes[type];                                                                  \
        const fake_use uses[4] = {{a, (size_t)m * (size_t)n * item},                                                   \
                                  {work, (size_t)elements * item},                                                     \
                                  {tau, (size_t)k * item},                                                             \
                                  {info, sizeof(int)}};                                                                \
        return ask(__func__, handle, m >= n && n >= k && k > 0 && lda == m && elements >= n * WORK, &function, uses,   \
                   5, (uint64_t[]){type, (uint64_t)elements, (uint64_t)m, (uint64_t)n, (uint64_t)k});                  \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##H##evd_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t mode,               \
                                                      cublasFillMode_t triangle, int n, const void *a, int lda,        \
                                                      const void *w, int *elements) {                                  \
        (void)mode, (void)a, (void)w;                                                                                  \
        return tell_elements(__func__, handle, triangle == CUBLAS_FILL_MODE_UPPER && lda == n, n, elements);           \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##H##evd(cusolverDnHandle_t handle, cusolverEigMode_t mode,                          \
                                           cublasFillMode_t triangle, int n, void *a, int lda, void *w, void *work,    \
                                           int elements, int *info) {                                                  \
        return ask_for_eigenvalues(__func__, handle, type, triangle, mode == CUSOLVER_EIG_MODE_VECTOR, n, lda, a, w,   \
                                   work, elements, info, 1);                                                           \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##H##evjBatched_bufferSize(                                                          \
        cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t triangle, int n, const void *a, int lda,   \
        const void *w, int *elements, syevjInfo_t parameters, int batch) {                                             \
        (void)mode, (void)a, (void)w, (void)batch;                                                                     \
        return tell_elements(__func__, handle, triangle == CUBLAS_FILL_MODE_UPPER && lda == n && parameters, n,        \
                             elements);                                                                                \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##H##evjBatched(                                                                     \
        cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t triangle, int n, void *a, int lda,         \
        void *w, void *work, int elements, int *info, syevjInfo_t parameters, int batch) {                             \
        return ask_for_eigenvalues(__func__, handle, type, triangle, mode == CUSOLVER_EIG_MODE_VECTOR, n,              \
                                   parameters ? lda : 0, a, w, work, elements, info, batch);                           \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##gesvd_bufferSize(cusolverDnHandle_t handle, int m, int n, int *elements) {         \
        return tell_elements(__func__, handle, m >= n, n, elements);                                                   \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##S##gesvd(cusolverDnHandle_t handle, signed char job_u, signed char job_vt, int m,     \
                                          int n, void *a, int lda, void *s, void *u, int ldu, void *vt, int ldvt,      \
                                          void *work, int elements, void *rwork, int *info) {                          \
        return ask_for_singular(__func__, handle, type, job_u, job_u == job_vt && lda == m && ldu == m, m, n, a, s, u, \
                                vt, ldvt, work, elements, rwork, info);                                                \
    }
DEFINE_FACTORS(S, CUDA_R_32F, or, sy)
DEFINE_FACTORS(D, CUDA_R_64F, or, sy)
DEFINE_FACTORS(C, CUDA_C_32F, un, he)
DEFINE_FACTORS(Z, CUDA_C_64F, un, he)
