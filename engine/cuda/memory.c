/* memory.c: blocks of device memory from the driver's pool, and copies.
 *
 *      host ──work: memcpy──▶ staging, pinned ──cuMemcpyHtoDAsync──▶ device       and back, a chunk at a time
 *
 * The driver would hold up whoever copies from or to memory that is not pinned, so our own pinned memory stands
 * between, and host functions in the stream fill and empty it: nobody waits. All chunks of a stream use the same
 * memory, since they follow each other. Few bytes of pageable memory the driver would take at once, when the copy is
 * enqueued: that is too early, as what stands in the stream before may be about to write them.
 */
#include "engine/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* The pool keeps what nobody uses, in pieces, so a large block may need them given back first. */
int cuda_pool_alloc(cuda_device *device, CUstream stream, size_t bytes, CUdeviceptr *out) {
    CUresult result = cuda.cuMemAllocAsync(out, bytes, stream);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && cuda.cuMemPoolTrimTo(device->pool, 0) == CUDA_SUCCESS)
        result = cuda.cuMemAllocAsync(out, bytes, stream);
    if (result == CUDA_ERROR_OUT_OF_MEMORY)
        return neap->error(NEAP_E_MEMORY, "out of memory on cuda:%d: %zu bytes wanted", device->ordinal, bytes);
    return cuda_check(device, result, "cuMemAllocAsync");
}

int cuda_alloc(neap_device *handle, neap_stream *stream, size_t bytes, void **out) {
    cuda_device *device = (cuda_device *)handle;
    CUstream in = stream ? ((cuda_stream *)stream)->stream : device->allocations;
    CUdeviceptr memory = 0;
    int status = cuda_enter(device);
    if (status)
        return status;
    status = cuda_pool_alloc(device, in, bytes, &memory);
    if (!status && !stream) {
        status = cuda_check(device, cuda.cuStreamSynchronize(in), "cuStreamSynchronize"); /* it has no work */
        if (status)
            cuda.cuMemFreeAsync(memory, in);
    }
    cuda_leave();
    *out = (void *)(uintptr_t)memory;
    return status;
}

void cuda_free(neap_device *handle, neap_stream *stream, void *memory, size_t bytes) {
    (void)bytes;
    cuda_device *device = (cuda_device *)handle;
    CUstream in = stream ? ((cuda_stream *)stream)->stream : device->allocations;
    if (cuda_enter(device) != NEAP_OK)
        return; /* its memory has gone with the context */
    cuda_check(device, cuda.cuMemFreeAsync((CUdeviceptr)(uintptr_t)memory, in), "cuMemFreeAsync");
    cuda_leave();
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

typedef struct chunk { /* a work */
    cuda_work work;
    void *to;
    const void *from;
    size_t bytes;
} chunk;

static void copy_chunk(cuda_work *work) {
    const chunk *c = (const chunk *)work;
    memcpy(c->to, c->from, c->bytes);
}

static int enqueue_chunk(cuda_stream *stream, void *to, const void *from, size_t bytes) {
    chunk *c = malloc(sizeof *c);
    if (!c)
        return neap->error(NEAP_E_MEMORY, "no memory for a copy");
    *c = (chunk){.to = to, .from = from, .bytes = bytes};
    return cuda_work_enqueue(stream, &c->work, copy_chunk);
}

int cuda_staging_make(cuda_stream *stream) {
    if (stream->staging)
        return NEAP_OK;
    return cuda_check(stream->device,
                      cuda.cuMemHostAlloc(&stream->staging, CUDA_STAGING_BYTES, CU_MEMHOSTALLOC_PORTABLE),
                      "cuMemHostAlloc");
}

static int copy_to_device(cuda_stream *stream, char *to, const char *from, size_t bytes) {
    int status = cuda_staging_make(stream);
    for (size_t at = 0; at < bytes && !status; at += CUDA_STAGING_BYTES) {
        size_t n = bytes - at < CUDA_STAGING_BYTES ? bytes - at : CUDA_STAGING_BYTES;
        status = enqueue_chunk(stream, stream->staging, from + at, n);
        if (!status)
            status = cuda_check(
                stream->device,
                cuda.cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)(to + at), stream->staging, n, stream->stream),
                "cuMemcpyHtoDAsync");
    }
    return status;
}

static int copy_from_device(cuda_stream *stream, char *to, const char *from, size_t bytes) {
    int status = cuda_staging_make(stream);
    for (size_t at = 0; at < bytes && !status; at += CUDA_STAGING_BYTES) {
        size_t n = bytes - at < CUDA_STAGING_BYTES ? bytes - at : CUDA_STAGING_BYTES;
        status = cuda_check(
            stream->device,
            cuda.cuMemcpyDtoHAsync_v2(stream->staging, (CUdeviceptr)(uintptr_t)(from + at), n, stream->stream),
            "cuMemcpyDtoHAsync");
        if (!status)
            status = enqueue_chunk(stream, to + at, stream->staging, n);
    }
    return status;
}

static int copy_within(cuda_stream *stream, void *to, const void *from, size_t bytes) {
    return cuda_check(
        stream->device,
        cuda.cuMemcpyDtoDAsync_v2((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, bytes, stream->stream),
        "cuMemcpyDtoDAsync");
}

int cuda_copy(neap_device *handle, neap_stream *handle_of_stream, int direction, void *to, const void *from,
              size_t bytes) {
    cuda_stream *stream = (cuda_stream *)handle_of_stream;
    int status = cuda_enter((cuda_device *)handle);
    if (status)
        return status;
    pthread_mutex_lock(&stream->mutex);
    status = direction == NEAP_COPY_TO_DEVICE     ? copy_to_device(stream, to, from, bytes)
             : direction == NEAP_COPY_FROM_DEVICE ? copy_from_device(stream, to, from, bytes)
                                                  : copy_within(stream, to, from, bytes);
    pthread_mutex_unlock(&stream->mutex);
    cuda_leave();
    return status;
}

int cuda_copy_peer(neap_device *handle, neap_stream *handle_of_stream, void *to, neap_device *handle_of_source,
                   const void *from, size_t bytes) {
    cuda_device *device = (cuda_device *)handle, *source = (cuda_device *)handle_of_source;
    cuda_stream *stream = (cuda_stream *)handle_of_stream;
    int status = cuda_enter(device);
    if (status)
        return status;
    pthread_mutex_lock(&stream->mutex);
    stream->passage.waited |= UINT64_C(1) << source->ordinal;
    status = cuda_check(device,
                        cuda.cuMemcpyPeerAsync((CUdeviceptr)(uintptr_t)to, device->context,
                                               (CUdeviceptr)(uintptr_t)from, source->context, bytes, stream->stream),
                        "cuMemcpyPeerAsync");
    pthread_mutex_unlock(&stream->mutex);
    cuda_leave();
    return status;
}
