/* solver.c: stands in for cuSOLVER in tests, as libcusolver.so.12: LU factors and what they solve, in the order of the
 * stream. It writes over its work space. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake/libraries/numbers.h"

#pragma GCC visibility push(default)

enum { WORK = 7 }; /* elements for a row */

struct cusolverDnContext {
    CUcontext context;
    CUstream stream;
};

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
    *(int *)buffers[3] = factor_matrix(buffers[0], words[0], (int64_t)words[1], buffers[2]);
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
