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
    int direction;        /* NEAP_COPY_… or PEER */
    size_t offset, bytes; /* of `from` */
    size_t at;            /* where they go in `to` */
    bool fresh;           /* what `to` held is forgotten, also a failure */
    bool alone;           /* the only one to `to`: no wait for another source, so `from` is lent */
} copy_op;

static int run_copy(void *arg, const neap_run *run) {
    copy_op *op = arg;
    size_t bytes = op->bytes;
    char *to = (char *)neap_buffer_data(op->to) + op->at, *from = (char *)neap_buffer_data(op->from) + op->offset;
    if (op->direction != PEER)
        return neap_run_copy(run, op->direction, to, from, bytes);
    engine_device *target = engine_buffer_home(op->to), *source = engine_buffer_home(op->from);
    if (bytes == 0)
        return NEAP_OK;
    return target->kind->copy_peer(target->handle, run->stream, to, source->handle, from, bytes);
}

static void release(void *arg) {
    copy_op *op = arg;
    neap_buffer_return(op->to);
    (op->alone ? neap_buffer_return : neap_buffer_release)(op->from);
    free(op);
}

/* Pushes the op that `like` describes, to a device. */
static int push_device_copy(const copy_op *like, int device, const neap_push *model) {
    copy_op *op = engine_alloc(sizeof *op);
    if (!op)
        return neap_error(NEAP_E_MEMORY, "no memory for a copy");
    *op = *like;
    neap_buffer_lend(op->to);
    (op->alone ? neap_buffer_lend : neap_buffer_retain)(op->from);
    neap_var *read = neap_buffer_var(op->from), *write = neap_buffer_var(op->to);
    neap_push push = {.name = model->name ? model->name : "copy",
                      .site = model->site,
                      .release = release,
                      .device = device,
                      .priority = model->priority,
                      .flags = NEAP_PUSH_COPY,
                      .nreads = 1,
                      .nwrites = 1,
                      .nfresh = op->fresh,
                      .reads = &read,
                      .writes = &write,
                      .bytes = (int64_t)op->bytes};
    int status = neap_push_sync(run_copy, op, &push);
    if (status)
        release(op);
    return status;
}

/* Without memory for the second op the first one has only written what nobody sees. */
static int push_over_host(const copy_op *whole, const neap_push *model) {
    neap_buffer *middle;
    int status = neap_buffer_new(0, whole->bytes, &middle);
    if (status)
        return status;
    copy_op down = *whole, up = *whole;
    down.to = up.from = middle;
    down.at = 0;
    down.direction = NEAP_COPY_FROM_DEVICE;
    up.direction = NEAP_COPY_TO_DEVICE;
    up.offset = 0;
    status = push_device_copy(&down, neap_buffer_device(whole->from), model);
    if (!status)
        status = push_device_copy(&up, neap_buffer_device(whole->to), model);
    neap_buffer_release(middle);
    return status;
}

static int copy_between(copy_op *op, const neap_push *model) {
    engine_device *target = engine_buffer_home(op->to), *source = engine_buffer_home(op->from);
    int target_number = neap_buffer_device(op->to), source_number = neap_buffer_device(op->from);
    bool down = target == &engine_cpu && source != &engine_cpu;
    bool peers = target->kind == source->kind && target->kind->copy_peer;
    if (target != source && source != &engine_cpu && !down && !peers)
        return push_over_host(op, model);
    op->direction = target == source        ? NEAP_COPY_WITHIN
                    : source == &engine_cpu ? NEAP_COPY_TO_DEVICE
                    : down                  ? NEAP_COPY_FROM_DEVICE
                                            : PEER;
    return push_device_copy(op, down ? source_number : target_number, model);
}

static int check_buffers(const neap_buffer *to, const neap_buffer *from) {
    int status = engine_check_running();
    if (status)
        return status;
    if (!to || !from || to == from)
        return neap_error(NEAP_E_ARGUMENT, "copy of a buffer to itself or to none");
    return NEAP_OK;
}

static int check_copy(const copy_op *op) {
    size_t has = neap_buffer_bytes(op->from);
    size_t room = neap_buffer_bytes(op->to);
    if (op->at > room || op->bytes > room - op->at)
        return neap_error(NEAP_E_SHAPE, "copy of %zu bytes to byte %zu of a buffer of %zu", op->bytes, op->at, room);
    if (op->offset > has || op->bytes > has - op->offset)
        return neap_error(NEAP_E_SHAPE, "copy of %zu bytes from byte %zu of a buffer of %zu", op->bytes, op->offset,
                          has);
    if (!engine_buffer_is_open(op->to) || !engine_buffer_is_open(op->from))
        return neap_error(NEAP_E_STATE, "copy of a buffer whose device has been closed");
    return NEAP_OK;
}

static const neap_push plain;

int neap_buffer_copy(neap_buffer *to, neap_buffer *from, const neap_push *push) {
    int status = check_buffers(to, from);
    if (status)
        return status;
    copy_op op = {.to = to, .from = from, .bytes = neap_buffer_bytes(from), .alone = true};
    status = check_copy(&op);
    return status ? status : copy_between(&op, push ? push : &plain);
}

int engine_copy_part(neap_buffer *to, size_t at, const neap_part *part, bool fresh, bool alone, const neap_push *push) {
    int status = check_buffers(to, part->from);
    if (status)
        return status;
    copy_op op = {.to = to,
                  .from = part->from,
                  .offset = part->offset,
                  .bytes = part->bytes,
                  .at = at,
                  .fresh = fresh,
                  .alone = alone};
    status = check_copy(&op);
    return status ? status : copy_between(&op, push ? push : &plain);
}

int neap_buffer_copy_part(neap_buffer *to, neap_buffer *from, size_t offset, size_t bytes, const neap_push *push) {
    return engine_copy_part(to, 0, &(neap_part){from, offset, bytes}, true, true, push);
}
