/* libraries.h: what the backend uses of cuBLAS, cuSOLVER and cuFFT, as tables of functions that are filled at run time.
 *
 * As with the driver (driver.h), nothing of CUDA is needed to build; with NEAP_CUDA_HEADER types and numbers come from
 * the toolkit's headers, by which a test holds these declarations against the real ones. Functions for each of four
 * dtypes stand once, as macros of their letter (S, D, C, Z) and the C type of their numbers.
 */
#ifndef NEAP_CUDA_LIBRARIES_H
#define NEAP_CUDA_LIBRARIES_H

#include <stdint.h>

#include "engine/cuda/driver.h"

#if NEAP_CUDA_HEADER
#include <cublas_v2.h>
#include <cufft.h>
#include <cusolverDn.h>
#else

typedef int cublasStatus_t, cublasOperation_t, cublasFillMode_t, cublasDiagType_t, cublasSideMode_t;
typedef int cublasComputeType_t, cublasGemmAlgo_t, cudaDataType, libraryPropertyType;
typedef int cufftResult, cufftHandle, cufftType;
typedef int cusolverStatus_t;
typedef struct cublasContext *cublasHandle_t;
typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef CUstream cudaStream_t;

enum {
    MAJOR_VERSION = 0,
    MINOR_VERSION = 1,
    PATCH_LEVEL = 2,
    CUDA_R_32F = 0,
    CUDA_R_64F = 1,
    CUDA_C_32F = 4,
    CUDA_C_64F = 5,
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUBLAS_FILL_MODE_LOWER = 0,
    CUBLAS_FILL_MODE_UPPER = 1,
    CUBLAS_DIAG_NON_UNIT = 0,
    CUBLAS_DIAG_UNIT = 1,
    CUBLAS_SIDE_LEFT = 0,
    CUBLAS_SIDE_RIGHT = 1,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    CUBLAS_GEMM_DEFAULT = -1,
    CUSOLVER_STATUS_SUCCESS = 0,
    CUSOLVER_STATUS_NOT_INITIALIZED = 1,
    CUSOLVER_STATUS_ALLOC_FAILED = 2,
    CUSOLVER_STATUS_INVALID_VALUE = 3,
    CUSOLVER_STATUS_EXECUTION_FAILED = 6,
    CUSOLVER_STATUS_INTERNAL_ERROR = 7,
    CUFFT_SUCCESS = 0,
    CUFFT_INVALID_PLAN = 1,
    CUFFT_ALLOC_FAILED = 2,
    CUFFT_INVALID_VALUE = 4,
    CUFFT_INTERNAL_ERROR = 5,
    CUFFT_EXEC_FAILED = 6,
    CUFFT_FORWARD = -1,
    CUFFT_INVERSE = 1,
    CUFFT_C2C = 0x29,
    CUFFT_R2C = 0x2a,
    CUFFT_C2R = 0x2c,
    CUFFT_Z2Z = 0x69,
    CUFFT_D2Z = 0x6a,
    CUFFT_Z2D = 0x6c
};
#endif

/* ---- cuBLAS, from version 12 on, whose functions count in 64 bits ------------------------------------------------ */
#define CUBLAS_FUNCTIONS(X)                                                                                            \
    X(cublasGetProperty, (libraryPropertyType type, int *value))                                                       \
    X(cublasCreate_v2, (cublasHandle_t * handle))                                                                      \
    X(cublasDestroy_v2, (cublasHandle_t handle))                                                                       \
    X(cublasSetStream_v2, (cublasHandle_t handle, cudaStream_t stream))                                                \
    X(cublasGemmStridedBatchedEx_64,                                                                                   \
      (cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int64_t m, int64_t n,      \
       int64_t k, const void *alpha, const void *a, cudaDataType a_type, int64_t lda, long long stride_a,              \
       const void *b, cudaDataType b_type, int64_t ldb, long long stride_b, const void *beta, void *c,                 \
       cudaDataType c_type, int64_t ldc, long long stride_c, int64_t batch, cublasComputeType_t compute,               \
       cublasGemmAlgo_t algorithm))

#define CUBLAS_TYPED_FUNCTIONS(X, S, T)                                                                                \
    X(cublas##S##trsm_v2_64, trsm,                                                                                     \
      (cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle, cublasOperation_t transpose,           \
       cublasDiagType_t diagonal, int64_t m, int64_t n, const T *alpha, const T *a, int64_t lda, T *b, int64_t ldb))   \
    X(cublas##S##trsmBatched_64, trsm_batched,                                                                         \
      (cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t triangle, cublasOperation_t transpose,           \
       cublasDiagType_t diagonal, int64_t m, int64_t n, const T *alpha, const T *const a[], int64_t lda, T *const b[], \
       int64_t ldb, int64_t batch))                                                                                    \
    X(cublas##S##geam_64, geam,                                                                                        \
      (cublasHandle_t handle, cublasOperation_t transpose_a, cublasOperation_t transpose_b, int64_t m, int64_t n,      \
       const T *alpha, const T *a, int64_t lda, const T *beta, const T *b, int64_t ldb, T *c, int64_t ldc))            \
    X(cublas##S##getrfBatched, getrf_batched,                                                                          \
      (cublasHandle_t handle, int n, T *const a[], int lda, int *pivots, int *info, int batch))                        \
    X(cublas##S##getrsBatched, getrs_batched,                                                                          \
      (cublasHandle_t handle, cublasOperation_t transpose, int n, int k, const T *const a[], int lda,                  \
       const int *pivots, T *const b[], int ldb, int *info, int batch))

/* ---- cuSOLVER ---------------------------------------------------------------------------------------------------- */
#define CUSOLVER_FUNCTIONS(X)                                                                                          \
    X(cusolverGetProperty, (libraryPropertyType type, int *value))                                                     \
    X(cusolverDnCreate, (cusolverDnHandle_t * handle))                                                                 \
    X(cusolverDnDestroy, (cusolverDnHandle_t handle))                                                                  \
    X(cusolverDnSetStream, (cusolverDnHandle_t handle, cudaStream_t stream))

#define CUSOLVER_TYPED_FUNCTIONS(X, S, T)                                                                              \
    X(cusolverDn##S##getrf_bufferSize, getrf_elements,                                                                 \
      (cusolverDnHandle_t handle, int m, int n, T *a, int lda, int *elements))                                         \
    X(cusolverDn##S##getrf, getrf,                                                                                     \
      (cusolverDnHandle_t handle, int m, int n, T *a, int lda, T *work, int *pivots, int *info))                       \
    X(cusolverDn##S##getrs, getrs,                                                                                     \
      (cusolverDnHandle_t handle, cublasOperation_t transpose, int n, int k, const T *a, int lda, const int *pivots,   \
       T *b, int ldb, int *info))

/* ---- cuFFT ------------------------------------------------------------------------------------------------------- */
#define CUFFT_FUNCTIONS(X)                                                                                             \
    X(cufftGetProperty, (libraryPropertyType type, int *value))                                                        \
    X(cufftCreate, (cufftHandle * plan))                                                                               \
    X(cufftDestroy, (cufftHandle plan))                                                                                \
    X(cufftSetAutoAllocation, (cufftHandle plan, int allocate))                                                        \
    X(cufftMakePlanMany64, (cufftHandle plan, int rank, long long *n, long long *in_extents, long long in_stride,      \
                            long long in_distance, long long *out_extents, long long out_stride,                       \
                            long long out_distance, cufftType type, long long batch, size_t *work_bytes))              \
    X(cufftSetWorkArea, (cufftHandle plan, void *work))                                                                \
    X(cufftSetStream, (cufftHandle plan, cudaStream_t stream))

/* name, its place in the table, parameters but for the plan, of numbers R and C */
#define CUFFT_TYPED_FUNCTIONS(X, F, Z, R, C)                                                                           \
    X(cufftExec##Z##2##Z, complex, (cufftHandle plan, C * in, C * out, int direction))                                 \
    X(cufftExec##F##2##Z, of_real, (cufftHandle plan, R * in, C * out))                                                \
    X(cufftExec##Z##2##F, to_real, (cufftHandle plan, C * in, R * out))

#if !NEAP_CUDA_HEADER
enum { CUBLAS_S, CUBLAS_D, CUBLAS_C, CUBLAS_Z, CUBLAS_TYPES };

typedef struct cublas_functions {
#define CUBLAS_MEMBER(name, parameters) cublasStatus_t(*name) parameters;
#define CUBLAS_TYPED_MEMBER(name, member, parameters) cublasStatus_t(*member) parameters;
    CUBLAS_FUNCTIONS(CUBLAS_MEMBER)
    struct {
        CUBLAS_TYPED_FUNCTIONS(CUBLAS_TYPED_MEMBER, S, void)
    } of[CUBLAS_TYPES];
#undef CUBLAS_MEMBER
#undef CUBLAS_TYPED_MEMBER
} cublas_functions;

typedef struct cusolver_functions {
#define CUSOLVER_MEMBER(name, parameters) cusolverStatus_t(*name) parameters;
#define CUSOLVER_TYPED_MEMBER(name, member, parameters) cusolverStatus_t(*member) parameters;
    CUSOLVER_FUNCTIONS(CUSOLVER_MEMBER)
    struct {
        CUSOLVER_TYPED_FUNCTIONS(CUSOLVER_TYPED_MEMBER, S, void)
    } of[CUBLAS_TYPES];
#undef CUSOLVER_MEMBER
#undef CUSOLVER_TYPED_MEMBER
} cusolver_functions;

typedef struct cufft_functions {
#define CUFFT_MEMBER(name, parameters) cufftResult(*name) parameters;
#define CUFFT_TYPED_MEMBER(name, member, parameters) cufftResult(*member) parameters;
    CUFFT_FUNCTIONS(CUFFT_MEMBER)
    struct {
        CUFFT_TYPED_FUNCTIONS(CUFFT_TYPED_MEMBER, R, C, void, void)
    } of[2]; /* f32, f64 */
#undef CUFFT_MEMBER
#undef CUFFT_TYPED_MEMBER
} cufft_functions;

extern cublas_functions cublas; /* once cuda_routine_lacks has returned NULL for what needs them */
extern cusolver_functions cusolver;
extern cufft_functions cufft;
#endif

#endif
