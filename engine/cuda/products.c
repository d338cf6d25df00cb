/* products.c: products of matrices and triangular systems by cuBLAS.
 *
 * cuBLAS knows columns: what lies by rows is the transposed matrix there. So c = a b is asked for as cᵀ = bᵀ aᵀ, and
 * a x = b as xᵀ aᵀ = bᵀ, of the other triangle; nothing is copied.
 *
 * f32 is computed in f32. TF32, whose products have 10 bits, is used only where the environment has NEAP_TF32=1.
 * Halves (f16, bf16) are multiplied as they are, on tensor cores, and added up in f32: their products are exact there.
 * By default cuBLAS may add up parts of a sum in the dtype of the result; that is off.
 */
#include "engine/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

enum { POINTERS = 2048 }; /* of matrices, that are told at once: so few that the driver takes a copy of them */

static const char *status_name(cublasStatus_t status) {
    switch (status) {
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    default:
        return "a status without a name";
    }
}

int cuda_blas_check(cuda_stream *stream, cublasStatus_t status, const char *function) {
    if (status == CUBLAS_STATUS_SUCCESS)
        return NEAP_OK;
    return cuda_library_error(stream, function, status_name(status), status == CUBLAS_STATUS_ALLOC_FAILED);
}

cublasStatus_t cuda_blas_open(cuda_blas *blas) {
    cublasHandle_t made = NULL;
    if (blas->handle)
        return CUBLAS_STATUS_SUCCESS;
    cublasStatus_t status = cublas.cublasCreate_v2(&made);
    if (status != CUBLAS_STATUS_SUCCESS)
        return status;
    status = cublas.cublasSetMathMode(made, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    if (status == CUBLAS_STATUS_SUCCESS)
        blas->handle = made;
    else
        cublas.cublasDestroy_v2(made);
    return status;
}

const char *cuda_blas_start(cuda_device *device) {
    cublasStatus_t status = cuda_blas_open(&device->libraries.blas);
    return status == CUBLAS_STATUS_SUCCESS ? NULL : status_name(status);
}

int cuda_blas_take(cuda_stream *stream, cuda_blas *blas, cublasHandle_t *out) {
    int status = cuda_blas_check(stream, cuda_blas_open(blas), "cublasCreate");
    *out = blas->handle;
    if (status || blas->stream == stream->stream)
        return status;
    status = cuda_blas_check(stream, cublas.cublasSetStream_v2(*out, stream->stream), "cublasSetStream");
    if (!status)
        blas->stream = stream->stream;
    return status;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

int cuda_blas_type(const neap_routine *routine) {
    return routine->complex ? (routine->f64 ? CUBLAS_Z : CUBLAS_C) : routine->f64 ? CUBLAS_D : CUBLAS_S;
}

int64_t cuda_blas_bytes(const neap_routine *routine) {
    return (routine->f64 ? 8 : 4) * (routine->complex ? 2 : 1);
}

const void *cuda_blas_number(const neap_routine *routine, int value) {
    static const float f32[2][2] = {{0}, {1}};
    static const double f64[2][2] = {{0}, {1}};
    return routine->f64 ? (const void *)f64[value] : f32[value];
}

static cublasComputeType_t precision(const neap_routine *routine) {
    const char *tf32 = getenv("NEAP_TF32");
    return routine->f64                                       ? CUBLAS_COMPUTE_64F
           : tf32 && strcmp(tf32, "1") == 0 && !routine->half ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                              : CUBLAS_COMPUTE_32F;
}

/* Numbers of an operand, or of the result. */
typedef struct numbers {
    cudaDataType type;
    int64_t bytes;
} numbers;

static numbers numbers_of(const neap_routine *routine, bool halves) {
    static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
    if (halves && routine->half)
        return (numbers){routine->half == NEAP_HALF_F16 ? CUDA_R_16F : CUDA_R_16BF, 2};
    return (numbers){types[cuda_blas_type(routine)], cuda_blas_bytes(routine)};
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */

/* The innermost axes of a batch that are one: matrices at equal distances. Those before them are gone through. */
typedef struct run_of_batch {
    int axes; /* that are before them */
    int64_t before, count, step_a, step_b;
} run_of_batch;

static run_of_batch fold_batch(const neap_product *p) {
    run_of_batch r = {.axes = p->batch_axes, .before = 1, .count = 1};
    for (; r.axes > 0; r.axes--) {
        const int k = r.axes - 1;
        if (p->batch[k] == 1)
            continue;
        if (r.count == 1) {
            r.step_a = p->strides_a[k], r.step_b = p->strides_b[k];
        } else if (p->strides_a[k] != r.step_a * r.count || p->strides_b[k] != r.step_b * r.count) {
            break;
        }
        r.count *= p->batch[k];
    }
    for (int k = 0; k < r.axes; k++)
        r.before *= p->batch[k];
    return r;
}

int cuda_product_run(cuda_stream *stream, const neap_routine *routine) {
    const neap_product *p = &routine->product;
    const run_of_batch r = fold_batch(p);
    const numbers in = numbers_of(routine, true), out = numbers_of(routine, routine->rounds);
    if (p->k == 0)
        return cuda_check(stream->device,
                          cuda.cuMemsetD8Async(cuda_address(p->c, 0), 0,
                                               (size_t)(r.before * r.count * p->m * p->n * out.bytes), stream->stream),
                          "cuMemsetD8Async");
    cublasHandle_t handle = NULL;
    int status = cuda_blas_take(stream, &stream->device->libraries.blas, &handle);
    for (int64_t i = 0; i < r.before && !status; i++) {
        int64_t at_a = 0, at_b = 0, rest = i;
        for (int k = r.axes - 1; k >= 0; rest /= p->batch[k--]) {
            at_a += rest % p->batch[k] * p->strides_a[k];
            at_b += rest % p->batch[k] * p->strides_b[k];
        }
        status = cuda_blas_check(stream,
                                 cublas.cublasGemmStridedBatchedEx_64(
                                     handle, p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
                                     p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, p->n, p->m, p->k,
                                     cuda_blas_number(routine, 1), (const char *)p->b + at_b * in.bytes, in.type,
                                     p->ldb, r.step_b, (const char *)p->a + at_a * in.bytes, in.type, p->lda, r.step_a,
                                     cuda_blas_number(routine, 0), (char *)p->c + i * r.count * p->stride_c * out.bytes,
                                     out.type, p->ldc, p->stride_c, r.count, precision(routine), CUBLAS_GEMM_DEFAULT),
                                 "cublasGemmStridedBatchedEx");
    }
    return status;
}

/* ---- Triangular systems ------------------------------------------------------------------------------------------ */

/* Matrices first … first + count - 1 of several, whose addresses are told in device memory at `told`. */
static int solve_some(cuda_stream *stream, const neap_routine *routine, cublasHandle_t handle, CUdeviceptr told,
                      int64_t first, int64_t count) {
    const neap_triangular *t = &routine->triangular;
    const int64_t item = cuda_blas_bytes(routine);
    CUdeviceptr addresses[2 * POINTERS];
    for (int64_t k = 0; k < count; k++) {
        addresses[k] = cuda_address(t->a, (first + k) * t->n * t->n * item);
        addresses[count + k] = cuda_address(t->out, (first + k) * t->n * t->k * item);
    }
    const size_t bytes = 2 * (size_t)count * sizeof *addresses;
    int status = cuda_check(stream->device, cuda.cuMemcpyHtoDAsync_v2(told, addresses, bytes, stream->stream),
                            "cuMemcpyHtoDAsync");
    if (status)
        return status;
    const void *const *a = (const void *const *)(uintptr_t)told;
    void *const *out = (void *const *)(uintptr_t)(told + (CUdeviceptr)count * sizeof *addresses);
    return cuda_blas_check(stream,
                           cublas.of[cuda_blas_type(routine)].trsm_batched(
                               handle, CUBLAS_SIDE_RIGHT, t->lower ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER,
                               t->transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                               t->unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, t->k, t->n,
                               cuda_blas_number(routine, 1), a, t->n, out, t->k, count),
                           "cublasTrsmBatched");
}

static int solve_many(cuda_stream *stream, const neap_routine *routine, cublasHandle_t handle) {
    const int64_t batch = routine->triangular.batch, most = batch < POINTERS ? batch : POINTERS;
    CUdeviceptr told = 0;
    int status = cuda_scratch_alloc(stream, 2 * (size_t)most * sizeof told, &told);
    for (int64_t first = 0; first < batch && !status; first += most)
        status = solve_some(stream, routine, handle, told, first, batch - first < most ? batch - first : most);
    cuda_scratch_free(stream, told);
    return status;
}

int cuda_triangular_run(cuda_stream *stream, const neap_routine *routine) {
    const neap_triangular *t = &routine->triangular;
    cublasHandle_t handle = NULL;
    int status = cuda_blas_take(stream, &stream->device->libraries.blas, &handle);
    if (!status)
        status = cuda_check(stream->device,
                            cuda.cuMemcpyDtoDAsync_v2(cuda_address(t->out, 0), cuda_address(t->b, 0),
                                                      (size_t)(t->batch * t->n * t->k * cuda_blas_bytes(routine)),
                                                      stream->stream),
                            "cuMemcpyDtoDAsync");
    if (status || t->batch > 1)
        return status ? status : solve_many(stream, routine, handle);
    return cuda_blas_check(stream,
                           cublas.of[cuda_blas_type(routine)].trsm(
                               handle, CUBLAS_SIDE_RIGHT, t->lower ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER,
                               t->transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                               t->unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT, t->k, t->n,
                               cuda_blas_number(routine, 1), t->a, t->n, t->out, t->k),
                           "cublasTrsm");
}
