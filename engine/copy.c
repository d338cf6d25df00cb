/* copy.c: copies of buffers, within a device and between devices.
 *
 *      CPU ──▶ CPU, or within a device    one op there
 *      CPU ──▶ device                     one op on the device's stream for copies
 *      device ──▶ CPU                     the same
 *      device ──▶ device, one kind        one op on the receiver, if the kind can (copy_peer)
 *      device ──▶ device                  two ops, over a buffer of the CPU that lives as long as they do
 */
#include "engine/device_internal.h"

#include <stdlib.h>

enum { PEER = -1 };

typedef struct copy_op {
    neap_buffer *to, *from;
    int direction; /* NEAP_COPY_… or PEER */
} copy_op;

static int run_copy(void *arg, const neap_run *run) {
    copy_op *op = arg;
    size_t bytes = neap_buffer_bytes(op->from);
    void *to = neap_buffer_data(op->to), *from = neap_buffer_data(op->from);
    if (op->direction != PEER)
        return neap_run_copy(run, op->direction, to, from, bytes);
    engine_device *target = engine_buffer_home(op->to), *source = engine_buffer_home(op->from);
    if (bytes == 0)
        return NEAP_OK;
    return target->kind->copy_peer(target->handle, run->stream, to, source->handle, from, bytes);
}

static void release(void *arg) {
    copy_op *op = arg;
    neap_buffer_release(op->to);
    neap_buffer_release(op->from);
    free(op);
}

static int push_copy(neap_buffer *to, neap_buffer *from, int device, int direction, const neap_push *model) {
    copy_op *op = engine_alloc(sizeof *op);
    if (!op)
        return neap_error(NEAP_E_MEMORY, "no memory for a copy");
    *op = (copy_op){neap_buffer_retain(to), neap_buffer_retain(from), direction};
    neap_var *read = neap_buffer_var(from), *write = neap_buffer_var(to);
    neap_push push = {.name = model->name ? model->name : "copy",
                      .site = model->site,
                      .release = release,
                      .device = device,
                      .priority = model->priority,
                      .flags = NEAP_PUSH_COPY,
                      .nreads = 1,
                      .nwrites = 1,
                      .reads = &read,
                      .writes = &write,
                      .bytes = (int64_t)neap_buffer_bytes(from)};
    int status = neap_push_sync(run_copy, op, &push);
    if (status)
        release(op);
    return status;
}

/* Without memory for the second op the first one has only written what nobody sees. */
static int push_over_host(neap_buffer *to, neap_buffer *from, const neap_push *model) {
    neap_buffer *middle;
    int status = neap_buffer_new(0, neap_buffer_bytes(from), &middle);
    if (status)
        return status;
    status = push_copy(middle, from, neap_buffer_device(from), NEAP_COPY_FROM_DEVICE, model);
    if (!status)
        status = push_copy(to, middle, neap_buffer_device(to), NEAP_COPY_TO_DEVICE, model);
    neap_buffer_release(middle);
    return status;
}

static bool is_open(const neap_buffer *buffer) {
    return engine_device_at(neap_buffer_device(buffer)) == engine_buffer_home(buffer);
}

int neap_buffer_copy(neap_buffer *to, neap_buffer *from, const neap_push *push) {
    static const neap_push plain;
    const neap_push *model = push ? push : &plain;
    int status = engine_check_running();
    if (status)
        return status;
    if (!to || !from || to == from)
        return neap_error(NEAP_E_ARGUMENT, "copy of a buffer to itself or to none");
    if (neap_buffer_bytes(to) < neap_buffer_bytes(from)) {
        return neap_error(NEAP_E_SHAPE, "copy of %zu bytes to a buffer of %zu", neap_buffer_bytes(from),
                          neap_buffer_bytes(to));
    }
    if (!is_open(to) || !is_open(from))
        return neap_error(NEAP_E_STATE, "copy of a buffer whose device has been closed");
    engine_device *target = engine_buffer_home(to), *source = engine_buffer_home(from);
    int target_number = neap_buffer_device(to), source_number = neap_buffer_device(from);
    if (target == source)
        return push_copy(to, from, target_number, NEAP_COPY_WITHIN, model);
    if (source == &engine_cpu)
        return push_copy(to, from, target_number, NEAP_COPY_TO_DEVICE, model);
    if (target == &engine_cpu)
        return push_copy(to, from, source_number, NEAP_COPY_FROM_DEVICE, model);
    if (target->kind == source->kind && target->kind->copy_peer)
        return push_copy(to, from, target_number, PEER, model);
    return push_over_host(to, from, model);
}
