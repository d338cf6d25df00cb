/* libraries.h: what the backend uses of cuBLAS, cuSOLVER, cuFFT and cuDNN, as tables of functions that are filled at
 * run time.
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
#include <cudnn.h>
#include <cufft.h>
#include <cusolverDn.h>
#else

typedef int cublasStatus_t, cublasOperation_t, cublasFillMode_t, cublasDiagType_t, cublasSideMode_t;
typedef int cublasMath_t, cusolverEigMode_t, cublasComputeType_t, cublasGemmAlgo_t, cudaDataType, libraryPropertyType;
typedef int cufftResult, cufftHandle, cufftType;
typedef int cusolverStatus_t;
typedef struct cublasContext *cublasHandle_t;
typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct syevjInfo *syevjInfo_t;
typedef CUstream cudaStream_t;
typedef int cudnnStatus_t, cudnnDataType_t, cudnnTensorFormat_t, cudnnConvolutionMode_t, cudnnMathType_t;
typedef int cudnnConvolutionFwdAlgo_t, cudnnConvolutionBwdDataAlgo_t, cudnnConvolutionBwdFilterAlgo_t;
typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;
typedef struct cudnnConvolutionFwdAlgoPerfStruct {
    int algo;
    cudnnStatus_t status;
    float time;
    size_t memory;
    int determinism;
    cudnnMathType_t mathType;
    int reserved[3];
} cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionBwdDataAlgoPerf_t, cudnnConvolutionBwdFilterAlgoPerf_t;

enum {
    MAJOR_VERSION = 0,
    MINOR_VERSION = 1,
    PATCH_LEVEL = 2,
    CUDA_R_32F = 0,
    CUDA_R_16F = 2,
    CUDA_R_16BF = 14,
    CUDA_R_64F = 1,
    CUDA_C_32F = 4,
    CUDA_C_64F = 5,
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
    CUBLAS_OP_N = 0,
    CUBLAS_OP_T = 1,
    CUBLAS_OP_C = 2,
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
    CUSOLVER_EIG_MODE_NOVECTOR = 0,
    CUSOLVER_EIG_MODE_VECTOR = 1,
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
    CUFFT_Z2D = 0x6c,
    CUDNN_STATUS_SUCCESS = 0,
    CUDNN_DATA_FLOAT = 0,
    CUDNN_DATA_DOUBLE = 1,
    CUDNN_DATA_HALF = 2,
    CUDNN_DATA_BFLOAT16 = 9,
    CUDNN_TENSOR_NCHW = 0,
    CUDNN_CROSS_CORRELATION = 1,
    CUDNN_DETERMINISTIC = 1,
    CUDNN_DEFAULT_MATH = 0,
    CUDNN_TENSOR_OP_MATH = 1,
    CUDNN_FMA_MATH = 3
};
#endif

/* ---- cuBLAS, from version 12 on, whose functions count in 64 bits ------------------------------------------------ */
#define CUBLAS_FUNCTIONS(X)                                                                                            \
    X(cublasGetProperty, (libraryPropertyType type, int *value))                                                       \
    X(cublasCreate_v2, (cublasHandle_t * handle))                                                                      \
    X(cublasDestroy_v2, (cublasHandle_t handle))                                                                       \
    X(cublasSetStream_v2, (cublasHandle_t handle, cudaStream_t stream))                                                \
    X(cublasSetMathMode, (cublasHandle_t handle, cublasMath_t mode))                                                   \
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
       const int *pivots, T *const b[], int ldb, int *info, int batch))                                                \
    X(cublas##S##dgmm_64, dgmm,                                                                                        \
      (cublasHandle_t handle, cublasSideMode_t side, int64_t m, int64_t n, const T *a, int64_t lda, const T *x,        \
       int64_t step, T *c, int64_t ldc))                                                                               \
    X(cublas##S##trttp, trttp,                                                                                         \
      (cublasHandle_t handle, cublasFillMode_t triangle, int n, const T *a, int lda, T *packed))                       \
    X(cublas##S##tpttr, tpttr,                                                                                         \
      (cublasHandle_t handle, cublasFillMode_t triangle, int n, const T *packed, T *a, int lda))

/* ---- cuSOLVER ---------------------------------------------------------------------------------------------------- */
#define CUSOLVER_FUNCTIONS(X)                                                                                          \
    X(cusolverGetProperty, (libraryPropertyType type, int *value))                                                     \
    X(cusolverDnCreate, (cusolverDnHandle_t * handle))                                                                 \
    X(cusolverDnDestroy, (cusolverDnHandle_t handle))                                                                  \
    X(cusolverDnSetStream, (cusolverDnHandle_t handle, cudaStream_t stream))                                           \
    X(cusolverDnCreateSyevjInfo, (syevjInfo_t * info))                                                                 \
    X(cusolverDnDestroySyevjInfo, (syevjInfo_t info))

/* R: the real numbers of T. O, H: how orthogonal and symmetric matrices are named, "or" and "sy", or "un" and "he". */
#define CUSOLVER_TYPED_FUNCTIONS(X, S, T, R, O, H)                                                                     \
    X(cusolverDn##S##getrf_bufferSize, getrf_elements,                                                                 \
      (cusolverDnHandle_t handle, int m, int n, T *a, int lda, int *elements))                                         \
    X(cusolverDn##S##getrf, getrf,                                                                                     \
      (cusolverDnHandle_t handle, int m, int n, T *a, int lda, T *work, int *pivots, int *info))                       \
    X(cusolverDn##S##getrs, getrs,                                                                                     \
      (cusolverDnHandle_t handle, cublasOperation_t transpose, int n, int k, const T *a, int lda, const int *pivots,   \
       T *b, int ldb, int *info))                                                                                      \
    X(cusolverDn##S##potrf_bufferSize, potrf_elements,                                                                 \
      (cusolverDnHandle_t handle, cublasFillMode_t triangle, int n, T *a, int lda, int *elements))                     \
    X(cusolverDn##S##potrf, potrf,                                                                                     \
      (cusolverDnHandle_t handle, cublasFillMode_t triangle, int n, T *a, int lda, T *work, int elements, int *info))  \
    X(cusolverDn##S##potrfBatched, potrf_batched,                                                                      \
      (cusolverDnHandle_t handle, cublasFillMode_t triangle, int n, T *a[], int lda, int *info, int batch))            \
    X(cusolverDn##S##geqrf_bufferSize, geqrf_elements,                                                                 \
      (cusolverDnHandle_t handle, int m, int n, T *a, int lda, int *elements))                                         \
    X(cusolverDn##S##geqrf, geqrf,                                                                                     \
      (cusolverDnHandle_t handle, int m, int n, T *a, int lda, T *tau, T *work, int elements, int *info))              \
    X(cusolverDn##S##O##gqr_bufferSize, orgqr_elements,                                                                \
      (cusolverDnHandle_t handle, int m, int n, int k, const T *a, int lda, const T *tau, int *elements))              \
    X(cusolverDn##S##O##gqr, orgqr,                                                                                    \
      (cusolverDnHandle_t handle, int m, int n, int k, T *a, int lda, const T *tau, T *work, int elements, int *info)) \
    X(cusolverDn##S##H##evd_bufferSize, syevd_elements,                                                                \
      (cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t triangle, int n, const T *a, int lda,       \
       const R *w, int *elements))                                                                                     \
    X(cusolverDn##S##H##evd, syevd,                                                                                    \
      (cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t triangle, int n, T *a, int lda, R *w,       \
       T *work, int elements, int *info))                                                                              \
    X(cusolverDn##S##H##evjBatched_bufferSize, syevj_batched_elements,                                                 \
      (cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t triangle, int n, const T *a, int lda,       \
       const R *w, int *elements, syevjInfo_t parameters, int batch))                                                  \
    X(cusolverDn##S##H##evjBatched, syevj_batched,                                                                     \
      (cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t triangle, int n, T *a, int lda, R *w,       \
       T *work, int elements, int *info, syevjInfo_t parameters, int batch))                                           \
    X(cusolverDn##S##gesvd_bufferSize, gesvd_elements, (cusolverDnHandle_t handle, int m, int n, int *elements))       \
    X(cusolverDn##S##gesvd, gesvd,                                                                                     \
      (cusolverDnHandle_t handle, signed char job_u, signed char job_vt, int m, int n, T *a, int lda, R *s, T *u,      \
       int ldu, T *vt, int ldvt, T *work, int elements, R *rwork, int *info))

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

/* ---- cuDNN, version 8 or 9; and cudnnGetErrorString, which gives a text ------------------------------------------ */
#define CUDNN_FUNCTIONS(X)                                                                                             \
    X(cudnnGetProperty, (libraryPropertyType type, int *value))                                                        \
    X(cudnnCreate, (cudnnHandle_t * handle))                                                                           \
    X(cudnnDestroy, (cudnnHandle_t handle))                                                                            \
    X(cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream))                                                     \
    X(cudnnCreateTensorDescriptor, (cudnnTensorDescriptor_t * tensor))                                                 \
    X(cudnnDestroyTensorDescriptor, (cudnnTensorDescriptor_t tensor))                                                  \
    X(cudnnSetTensorNdDescriptor,                                                                                      \
      (cudnnTensorDescriptor_t tensor, cudnnDataType_t type, int ndim, const int extents[], const int strides[]))      \
    X(cudnnTransformTensor, (cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t from,              \
                             const void *x, const void *beta, const cudnnTensorDescriptor_t to, void *y))              \
    X(cudnnCreateFilterDescriptor, (cudnnFilterDescriptor_t * filter))                                                 \
    X(cudnnDestroyFilterDescriptor, (cudnnFilterDescriptor_t filter))                                                  \
    X(cudnnSetFilterNdDescriptor, (cudnnFilterDescriptor_t filter, cudnnDataType_t type, cudnnTensorFormat_t format,   \
                                   int ndim, const int extents[]))                                                     \
    X(cudnnCreateConvolutionDescriptor, (cudnnConvolutionDescriptor_t * convolution))                                  \
    X(cudnnDestroyConvolutionDescriptor, (cudnnConvolutionDescriptor_t convolution))                                   \
    X(cudnnSetConvolutionNdDescriptor,                                                                                 \
      (cudnnConvolutionDescriptor_t convolution, int ndim, const int pads[], const int strides[],                      \
       const int dilations[], cudnnConvolutionMode_t mode, cudnnDataType_t type))                                      \
    X(cudnnSetConvolutionGroupCount, (cudnnConvolutionDescriptor_t convolution, int groups))                           \
    X(cudnnSetConvolutionMathType, (cudnnConvolutionDescriptor_t convolution, cudnnMathType_t type))                   \
    X(cudnnGetConvolutionForwardAlgorithm_v7,                                                                          \
      (cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnFilterDescriptor_t w,                         \
       const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t y, const int most, int *count,    \
       cudnnConvolutionFwdAlgoPerf_t *found))                                                                          \
    X(cudnnGetConvolutionBackwardDataAlgorithm_v7,                                                                     \
      (cudnnHandle_t handle, const cudnnFilterDescriptor_t w, const cudnnTensorDescriptor_t y,                         \
       const cudnnConvolutionDescriptor_t convolution, const cudnnTensorDescriptor_t x, const int most, int *count,    \
       cudnnConvolutionBwdDataAlgoPerf_t *found))                                                                      \
    X(cudnnGetConvolutionBackwardFilterAlgorithm_v7,                                                                   \
      (cudnnHandle_t handle, const cudnnTensorDescriptor_t x, const cudnnTensorDescriptor_t y,                         \
       const cudnnConvolutionDescriptor_t convolution, const cudnnFilterDescriptor_t w, const int most, int *count,    \
       cudnnConvolutionBwdFilterAlgoPerf_t *found))                                                                    \
    X(cudnnConvolutionForward,                                                                                         \
      (cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_tensor, const void *x,                 \
       const cudnnFilterDescriptor_t w_filter, const void *w, const cudnnConvolutionDescriptor_t convolution,          \
       cudnnConvolutionFwdAlgo_t algorithm, void *work, size_t work_bytes, const void *beta,                           \
       const cudnnTensorDescriptor_t y_tensor, void *y))                                                               \
    X(cudnnConvolutionBackwardData,                                                                                    \
      (cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t w_filter, const void *w,                 \
       const cudnnTensorDescriptor_t y_tensor, const void *y, const cudnnConvolutionDescriptor_t convolution,          \
       cudnnConvolutionBwdDataAlgo_t algorithm, void *work, size_t work_bytes, const void *beta,                       \
       const cudnnTensorDescriptor_t x_tensor, void *x))                                                               \
    X(cudnnConvolutionBackwardFilter,                                                                                  \
      (cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_tensor, const void *x,                 \
       const cudnnTensorDescriptor_t y_tensor, const void *y, const cudnnConvolutionDescriptor_t convolution,          \
       cudnnConvolutionBwdFilterAlgo_t algorithm, void *work, size_t work_bytes, const void *beta,                     \
       const cudnnFilterDescriptor_t w_filter, void *w))

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
        CUSOLVER_TYPED_FUNCTIONS(CUSOLVER_TYPED_MEMBER, S, void, void, or, sy)
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

typedef struct cudnn_functions {
    const char *(*cudnnGetErrorString)(cudnnStatus_t status);
#define CUDNN_MEMBER(name, parameters) cudnnStatus_t(*name) parameters;
    CUDNN_FUNCTIONS(CUDNN_MEMBER)
#undef CUDNN_MEMBER
} cudnn_functions;

extern cublas_functions cublas; /* once cuda_routine_lacks has returned NULL for what needs them */
extern cusolver_functions cusolver;
extern cufft_functions cufft;
extern cudnn_functions cudnn;
#endif

#endif
