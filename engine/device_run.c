/* device_run.c: what an op's function asks of its device: launches, routines, copies, scratch. */
#include "engine/device_internal.h"

int neap_run_launch(const neap_run *run, const neap_launch *launch) {
    if (run->graph)
        return engine_launch_graph_launch(run->graph, launch);
    engine_device *device = engine_device_at(run->device);
    return device->kind->launch(device->handle, run->stream, launch);
}

int neap_run_routine(const neap_run *run, const neap_routine *routine) {
    if (run->graph)
        return neap_error(NEAP_E_STATE, "a routine cannot be part of a launch graph");
    engine_device *device = engine_device_at(run->device);
    int status = device->kind->routine_run(device->handle, run->stream, routine);
    if (status == NEAP_E_MEMORY) {
        engine_memory_evict(device, UINT64_MAX);
        status = device->kind->routine_run(device->handle, run->stream, routine);
    }
    return status;
}

int neap_run_copy(const neap_run *run, int direction, void *to, const void *from, size_t bytes) {
    engine_device *device = engine_device_at(run->device);
    if (bytes == 0)
        return NEAP_OK;
    if (run->graph && direction != NEAP_COPY_WITHIN)
        return neap_error(NEAP_E_STATE, "a copy between the host and a device cannot be part of a launch graph");
    if (run->graph)
        return engine_launch_graph_copy(run->graph, to, from, bytes);
    return device->kind->copy(device->handle, run->stream, direction, to, from, bytes);
}

/* Without a stream, scratch of the host's memory is a buffer, whose address stands in front of what the op gets. */
enum { SCRATCH_HEAD = 64 };

static int alloc_pooled(const neap_run *run, size_t bytes, void **out) {
    neap_buffer *buffer = NULL;
    int status = bytes > SIZE_MAX - SCRATCH_HEAD ? neap_error(NEAP_E_MEMORY, "out of memory: %zu bytes wanted", bytes)
                                                 : neap_buffer_new(run->device, bytes + SCRATCH_HEAD, &buffer);
    if (status)
        return status;
    *(neap_buffer **)buffer->data = buffer;
    *out = (char *)buffer->data + SCRATCH_HEAD;
    return NEAP_OK;
}

int neap_run_alloc(const neap_run *run, size_t bytes, void **out) {
    engine_device *device = engine_device_at(run->device);
    size_t some = bytes ? bytes : 1;
    if (run->graph)
        return engine_launch_graph_alloc(run->graph, some, out);
    if (!run->stream && device->memory.host)
        return alloc_pooled(run, bytes, out);
    return engine_memory_alloc(device, run->stream, some, out);
}

void neap_run_free(const neap_run *run, void *memory, size_t bytes) {
    engine_device *device = engine_device_at(run->device);
    if (run->graph)
        engine_launch_graph_free(run->graph, memory);
    else if (memory && !run->stream && device->memory.host)
        neap_buffer_release(*(neap_buffer **)((char *)memory - SCRATCH_HEAD));
    else if (memory)
        device->kind->free(device->handle, run->stream, memory, bytes ? bytes : 1);
}
