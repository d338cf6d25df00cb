/* memory.c: blocks of device memory from the driver's pool, and copies.
 *
 *      host ──work: memcpy──▶ staging, pinned ──cuMemcpyHtoDAsync──▶ device       and back, a chunk at a time
 *
 * The driver would hold up whoever copies from or to memory that is not pinned, so our own pinned memory stands
 * between, and host functions fill and empty it: nobody waits. It is four blocks in turn, so that the host copies one
 * chunk while the device copies another: of several chunks the host functions stand in a stream of their own, `filler`,
 * and events keep the two in step.
 *
 *      filler:  memcpy 1 ─▶ memcpy 2 ─▶ …  memcpy 5, behind copy 1
 *      stream:             ╰▶ copy 1 ─▶ copy 2 ─▶ …
 *
 * Few bytes of pageable memory the driver would take at once, when the copy is enqueued: that is too early, as what
 * stands in the stream before may be about to write them.
 */
#include "engine/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* The pool keeps free memory in pieces, so a large block may need a trim first. A trim gives back memory that is free
 * by then, not memory that a stream has yet to free: hence the waits. */
int cuda_pool_alloc(cuda_device *device, CUstream stream, size_t bytes, CUdeviceptr *out) {
    CUresult result = cuda.cuMemAllocAsync(out, bytes, stream);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && cuda.cuStreamSynchronize(device->allocations) == CUDA_SUCCESS &&
        cuda.cuStreamSynchronize(stream) == CUDA_SUCCESS && cuda.cuMemPoolTrimTo(device->pool, 0) == CUDA_SUCCESS)
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

static int enqueue_chunk(cuda_stream *stream, CUstream in, void *to, const void *from, size_t bytes) {
    chunk *c = malloc(sizeof *c);
    if (!c)
        return neap->error(NEAP_E_MEMORY, "no memory for a copy");
    *c = (chunk){.to = to, .from = from, .bytes = bytes};
    return cuda_work_enqueue(stream, in, &c->work, copy_chunk);
}

int cuda_staging_make(cuda_stream *stream) {
    if (stream->staging)
        return NEAP_OK;
    return cuda_check(stream->device,
                      cuda.cuMemHostAlloc(&stream->staging, CUDA_STAGING_BYTES, CU_MEMHOSTALLOC_PORTABLE),
                      "cuMemHostAlloc");
}

/* What copies of several chunks need besides. */
static int make_filler(cuda_stream *stream) {
    int status = NEAP_OK;
    for (int k = 0; k < CUDA_STAGING_EVENTS && !status; k++)
        if (!stream->steps[k])
            status = cuda_check(stream->device, cuda.cuEventCreate(&stream->steps[k], CU_EVENT_DISABLE_TIMING),
                                "cuEventCreate");
    if (!status && !stream->filler)
        status =
            cuda_check(stream->device, cuda.cuStreamCreate(&stream->filler, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return status;
}

void cuda_staging_free(cuda_stream *stream) {
    if (stream->filler) {
        cuda.cuStreamSynchronize(stream->filler);
        cuda.cuStreamDestroy_v2(stream->filler);
    }
    for (int k = 0; k < CUDA_STAGING_EVENTS; k++)
        if (stream->steps[k])
            cuda.cuEventDestroy_v2(stream->steps[k]);
    if (stream->staging)
        cuda.cuMemFreeHost(stream->staging);
}

/* What stands in `behind` from now on waits for what stands in `first` by now. */
static int keep_in_step(cuda_stream *stream, CUstream behind, CUstream first, CUevent step) {
    int status = cuda_check(stream->device, cuda.cuEventRecord(step, first), "cuEventRecord");
    return status ? status
                  : cuda_check(stream->device, cuda.cuStreamWaitEvent(behind, step, CU_EVENT_WAIT_DEFAULT),
                               "cuStreamWaitEvent");
}

static int transfer_chunk(cuda_stream *stream, bool to_device, char *block, CUdeviceptr memory, size_t bytes) {
    return to_device ? cuda_check(stream->device, cuda.cuMemcpyHtoDAsync_v2(memory, block, bytes, stream->stream),
                                  "cuMemcpyHtoDAsync")
                     : cuda_check(stream->device, cuda.cuMemcpyDtoHAsync_v2(block, memory, bytes, stream->stream),
                                  "cuMemcpyDtoHAsync");
}

/* A chunk through a block: the first half of its way in one stream, the second in the other, behind it. */
static int pass_chunk(cuda_stream *stream, CUstream filler, bool to_device, char *host, char *block, CUdeviceptr memory,
                      size_t bytes, CUevent step) {
    int status = to_device ? enqueue_chunk(stream, filler, block, host, bytes)
                           : transfer_chunk(stream, false, block, memory, bytes);
    if (!status && filler != stream->stream)
        status = to_device ? keep_in_step(stream, stream->stream, filler, step)
                           : keep_in_step(stream, filler, stream->stream, step);
    if (status)
        return status;
    return to_device ? transfer_chunk(stream, true, block, memory, bytes)
                     : enqueue_chunk(stream, filler, host, block, bytes);
}

/* Of several chunks. A block is taken again when its chunk has left it: its event, of the stream that it left last. */
static int copy_chunks(cuda_stream *stream, bool to_device, char *host, CUdeviceptr memory, size_t bytes) {
    CUevent *left = stream->steps, *step = stream->steps + CUDA_STAGING_BLOCKS;
    int status = make_filler(stream);
    CUstream first = to_device ? stream->filler : stream->stream, last = to_device ? stream->stream : stream->filler;
    if (!status) /* the blocks may be in use by what stands in the stream, and so may the memory of the host */
        status = keep_in_step(stream, stream->filler, stream->stream, step[0]);
    int64_t k = 0;
    for (size_t at = 0; at < bytes && !status; at += CUDA_STAGING_BLOCK, k++) {
        const int b = (int)(k % CUDA_STAGING_BLOCKS);
        const size_t n = bytes - at < CUDA_STAGING_BLOCK ? bytes - at : CUDA_STAGING_BLOCK;
        if (k >= CUDA_STAGING_BLOCKS)
            status = cuda_check(stream->device, cuda.cuStreamWaitEvent(first, left[b], CU_EVENT_WAIT_DEFAULT),
                                "cuStreamWaitEvent");
        if (!status)
            status = pass_chunk(stream, stream->filler, to_device, host + at,
                                (char *)stream->staging + (size_t)b * CUDA_STAGING_BLOCK, memory + at, n, step[b]);
        if (!status)
            status = cuda_check(stream->device, cuda.cuEventRecord(left[b], last), "cuEventRecord");
    }
    return status || to_device ? status : keep_in_step(stream, stream->stream, stream->filler, step[0]);
}

static int copy_staged(cuda_stream *stream, bool to_device, char *host, CUdeviceptr memory, size_t bytes) {
    int status = cuda_staging_make(stream);
    if (status || bytes == 0)
        return status;
    return bytes > CUDA_STAGING_BLOCK
               ? copy_chunks(stream, to_device, host, memory, bytes)
               : pass_chunk(stream, stream->stream, to_device, host, stream->staging, memory, bytes, NULL);
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
    status = direction == NEAP_COPY_TO_DEVICE     ? copy_staged(stream, true, (char *)from, cuda_address(to, 0), bytes)
             : direction == NEAP_COPY_FROM_DEVICE ? copy_staged(stream, false, to, cuda_address(from, 0), bytes)
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
