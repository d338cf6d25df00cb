/* matrices.c: stacks of matrices on a device (matrices.h), and the handle of cuSOLVER. */
#include "engine/cuda/matrices.h"

enum { PITCH_MOST = INT32_MAX };

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

int cuda_solver_check(cuda_stream *stream, cusolverStatus_t status, const char *function) {
    if (status == CUSOLVER_STATUS_SUCCESS)
        return NEAP_OK;
    return cuda_library_error(stream, function, status_name(status), status == CUSOLVER_STATUS_ALLOC_FAILED);
}

static cusolverStatus_t start(cuda_device *device) {
    cusolverDnHandle_t made = NULL;
    if (device->libraries.solver)
        return CUSOLVER_STATUS_SUCCESS;
    if (cuda_blas_open(&device->libraries.solver_blas) != CUBLAS_STATUS_SUCCESS)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    cusolverStatus_t status = cusolver.cusolverDnCreate(&made);
    if (status == CUSOLVER_STATUS_SUCCESS)
        status = cusolver.cusolverDnCreateSyevjInfo(&device->libraries.jacobi);
    if (status == CUSOLVER_STATUS_SUCCESS)
        device->libraries.solver = made;
    else if (made)
        cusolver.cusolverDnDestroy(made);
    return status;
}

const char *cuda_solver_start(cuda_device *device) {
    cusolverStatus_t status = start(device);
    return status == CUSOLVER_STATUS_SUCCESS ? NULL : status_name(status);
}

int cuda_solver_take(cuda_stream *stream, cusolverDnHandle_t *out) {
    cuda_libraries *has = &stream->device->libraries;
    int status = cuda_solver_check(stream, start(stream->device), "cusolverDnCreate");
    *out = has->solver;
    if (status || has->solver_stream == stream->stream)
        return status;
    status =
        cuda_solver_check(stream, cusolver.cusolverDnSetStream(has->solver, stream->stream), "cusolverDnSetStream");
    if (!status)
        has->solver_stream = stream->stream;
    return status;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* The driver may refuse pitches that it has not chosen itself; then rows go one by one. */
int cuda_copy_each(cuda_stream *stream, cuda_row to, cuda_row from, int64_t bytes, int64_t count) {
    const bool close = count == 1 || (to.step == bytes && from.step == bytes);
    const bool pitched = !close && to.step <= PITCH_MOST && from.step <= PITCH_MOST;
    const int64_t calls = close ? 1 : count, each = close ? bytes * count : bytes;
    const CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = from.at,
                                .srcPitch = (size_t)from.step,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = to.at,
                                .dstPitch = (size_t)to.step,
                                .WidthInBytes = (size_t)bytes,
                                .Height = (size_t)count};
    CUresult result = pitched ? cuda.cuMemcpy2DAsync_v2(&rows, stream->stream) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_ERROR_INVALID_VALUE)
        return cuda_check(stream->device, result, "cuMemcpy2DAsync");
    int status = NEAP_OK;
    for (int64_t k = 0; k < calls && !status; k++)
        status = cuda_check(
            stream->device,
            cuda.cuMemcpyDtoDAsync_v2(cuda_matrix(to, k), cuda_matrix(from, k), (size_t)each, stream->stream),
            "cuMemcpyDtoDAsync");
    return status;
}

int cuda_set_words(cuda_stream *stream, CUdeviceptr at, int64_t step, uint32_t value, int64_t words, int64_t count) {
    return cuda_check(stream->device,
                      cuda.cuMemsetD2D32Async(at, (size_t)step, value, (size_t)words, (size_t)count, stream->stream),
                      "cuMemsetD2D32Async");
}

int cuda_clear_each(cuda_stream *stream, cuda_row to, int64_t bytes, int64_t count) {
    int status = NEAP_OK;
    if (count > 1 && to.step <= PITCH_MOST)
        return cuda_set_words(stream, to.at, to.step, 0, bytes / 4, count);
    for (int64_t k = 0; k < count && !status; k++)
        status = cuda_check(stream->device, cuda.cuMemsetD8Async(cuda_matrix(to, k), 0, (size_t)bytes, stream->stream),
                            "cuMemsetD8Async");
    return status;
}

int cuda_tell(cuda_stream *stream, CUdeviceptr told, cuda_row a, cuda_row b, int64_t count) {
    CUdeviceptr addresses[2 * CUDA_TOLD];
    for (int64_t k = 0; k < count; k++) {
        addresses[k] = cuda_matrix(a, k);
        addresses[count + k] = cuda_matrix(b, k);
    }
    return cuda_check(stream->device,
                      cuda.cuMemcpyHtoDAsync_v2(told, addresses, 2 * (size_t)count * sizeof *addresses, stream->stream),
                      "cuMemcpyHtoDAsync");
}

int cuda_transpose_each(cuda_stream *stream, const neap_routine *routine, const cuda_transposition *t, int64_t count) {
    cublasHandle_t blas = NULL;
    int status = cuda_blas_take(stream, &stream->device->libraries.solver_blas, &blas);
    for (int64_t k = 0; k < count && !status; k++)
        status = cuda_blas_check(stream,
                                 cublas.of[cuda_blas_type(routine)].geam(
                                     blas, t->conjugate ? CUBLAS_OP_C : CUBLAS_OP_T, CUBLAS_OP_N, t->columns, t->rows,
                                     cuda_blas_number(routine, 1), cuda_pointer(cuda_matrix(t->from, k)), t->ld,
                                     cuda_blas_number(routine, 0), cuda_pointer(cuda_matrix(t->to, k)), t->columns,
                                     cuda_pointer(cuda_matrix(t->to, k)), t->columns),
                                 "cublasGeam");
    return status;
}
