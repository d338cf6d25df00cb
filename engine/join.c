/* join.c: parts of buffers of several devices, one behind the other in a buffer, or in one on each of several devices.
 *
 *      cuda:0  a ──┐                       ┌──▶ a b c  cuda:0    a collective of the kind: one op, on the stream
 *      cuda:1  b ──┼── one op, all devices ┼──▶ a b c  cuda:1    for copies of the first target's device
 *      cuda:2  c ──┘                       └──▶ a b c  cuda:2
 *
 * Where the devices are of several kinds, or theirs has no such collective, each part is copied to each target.
 *
 * A part that is alone is lent to the op. One of several is not: a write over the part would wait for all.
 */
#include "engine/device_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct join_op {
    int nparts, ntargets;
    neap_part *parts;
    neap_buffer **targets;
} join_op;

typedef struct join_devices { /* who takes part in a collective, as its kind is told */
    neap_device *sources[ENGINE_OPENED_MOST], *targets[ENGINE_OPENED_MOST];
    size_t bytes[ENGINE_OPENED_MOST];
    const void *from[ENGINE_OPENED_MOST];
    void *to[ENGINE_OPENED_MOST];
} join_devices;

/* ---- Whether there is a collective ------------------------------------------------------------------------------- */

/* Adds a device to those of one side. NULL, or why it cannot be there. */
static const char *add_device(int number, const neap_device_kind *kind, neap_device **side, int n) {
    const engine_device *device = engine_device_at(number);
    if (!device || device->kind != kind)
        return "the devices are of different kinds";
    for (int k = 0; k < n; k++)
        if (side[k] == device->handle)
            return "a device takes part in it twice";
    if (n == ENGINE_OPENED_MOST)
        return "too many devices take part";
    side[n] = device->handle;
    return NULL;
}

/* Asks the kind about the collective of these devices, whose bytes stand in *with. */
static const char *ask_kind(int nsources, int ntargets, const join_devices *with, const neap_device_kind *kind) {
    neap_collective what = {.nsources = nsources,
                            .ntargets = ntargets,
                            .source_devices = with->sources,
                            .target_devices = with->targets,
                            .bytes = with->bytes};
    return kind->collective_lacks ? kind->collective_lacks(&what) : "devices of this kind have no collectives";
}

const char *neap_collective_lacks(int nsources, const int *sources, size_t bytes, int ntargets, const int *targets) {
    const engine_device *first = ntargets > 0 ? engine_device_at(targets[0]) : NULL;
    const char *lacks = first ? NULL : "there is no such device";
    join_devices with;
    for (int k = 0; k < nsources && !lacks; k++) {
        lacks = add_device(sources[k], first->kind, with.sources, k);
        if (!lacks)
            with.bytes[k] = bytes;
    }
    for (int k = 0; k < ntargets && !lacks; k++)
        lacks = add_device(targets[k], first->kind, with.targets, k);
    return lacks ? lacks : ask_kind(nsources, ntargets, &with, first->kind);
}

static bool has_collective(int ntargets, neap_buffer *const *targets, int nparts, const neap_part *parts) {
    const neap_device_kind *kind = engine_buffer_home(targets[0])->kind;
    const char *lacks = NULL;
    join_devices with;
    for (int k = 0; k < nparts && !lacks; k++) {
        lacks = add_device(neap_buffer_device(parts[k].from), kind, with.sources, k);
        if (!lacks)
            with.bytes[k] = parts[k].bytes;
    }
    for (int k = 0; k < ntargets && !lacks; k++)
        lacks = add_device(neap_buffer_device(targets[k]), kind, with.targets, k);
    return !lacks && !ask_kind(nparts, ntargets, &with, kind);
}

/* ---- As one op --------------------------------------------------------------------------------------------------- */

static int run_join(void *arg, const neap_run *run) {
    const join_op *op = arg;
    const engine_device *device = engine_device_at(run->device);
    join_devices with;
    for (int k = 0; k < op->nparts; k++) {
        with.sources[k] = engine_buffer_home(op->parts[k].from)->handle;
        with.from[k] = (const char *)neap_buffer_data(op->parts[k].from) + op->parts[k].offset;
        with.bytes[k] = op->parts[k].bytes;
    }
    for (int k = 0; k < op->ntargets; k++) {
        with.targets[k] = engine_buffer_home(op->targets[k])->handle;
        with.to[k] = neap_buffer_data(op->targets[k]);
    }
    neap_collective what = {.nsources = op->nparts,
                            .ntargets = op->ntargets,
                            .source_devices = with.sources,
                            .target_devices = with.targets,
                            .bytes = with.bytes,
                            .sources = with.from,
                            .targets = with.to};
    return device->kind->collective_run(device->handle, run->stream, &what);
}

static void release(void *arg) {
    join_op *op = arg;
    for (int k = 0; k < op->nparts; k++)
        (op->nparts == 1 ? neap_buffer_return : neap_buffer_release)(op->parts[k].from);
    for (int k = 0; k < op->ntargets; k++)
        neap_buffer_return(op->targets[k]);
    free(op);
}

static join_op *new_op(int ntargets, neap_buffer *const *targets, int nparts, const neap_part *parts) {
    size_t of_parts = (size_t)nparts * sizeof *parts, of_targets = (size_t)ntargets * sizeof *targets;
    join_op *op = engine_alloc(sizeof *op + of_parts + of_targets);
    if (!op)
        return NULL;
    *op = (join_op){.nparts = nparts, .ntargets = ntargets, .parts = (neap_part *)(op + 1)};
    op->targets = (neap_buffer **)(op->parts + nparts);
    memcpy(op->parts, parts, of_parts);
    memcpy(op->targets, targets, of_targets);
    for (int k = 0; k < nparts; k++)
        (nparts == 1 ? neap_buffer_lend : neap_buffer_retain)(parts[k].from);
    for (int k = 0; k < ntargets; k++)
        neap_buffer_lend(targets[k]);
    return op;
}

static int push_collective(int ntargets, neap_buffer *const *targets, int nparts, const neap_part *parts,
                           const neap_push *model) {
    neap_var *reads[ENGINE_OPENED_MOST], *writes[ENGINE_OPENED_MOST];
    join_op *op = new_op(ntargets, targets, nparts, parts);
    int64_t bytes = 0;
    if (!op)
        return neap_error(NEAP_E_MEMORY, "no memory for a collective");
    for (int k = 0; k < nparts; k++) {
        reads[k] = neap_buffer_var(parts[k].from);
        bytes += (int64_t)parts[k].bytes * ntargets;
    }
    for (int k = 0; k < ntargets; k++)
        writes[k] = neap_buffer_var(targets[k]);
    neap_push push = {.name = model->name ? model->name : "join",
                      .site = model->site,
                      .release = release,
                      .device = neap_buffer_device(targets[0]),
                      .priority = model->priority,
                      .flags = NEAP_PUSH_COPY,
                      .nreads = nparts,
                      .nwrites = ntargets,
                      .nfresh = ntargets,
                      .reads = reads,
                      .writes = writes,
                      .bytes = bytes};
    int status = neap_push_sync(run_join, op, &push);
    if (status)
        release(op);
    return status;
}

/* ---- As copies --------------------------------------------------------------------------------------------------- */

static int push_copies(neap_buffer *target, int nparts, const neap_part *parts, const neap_push *push) {
    size_t at = 0;
    int status = NEAP_OK;
    for (int k = 0; k < nparts && !status; k++) {
        status = engine_copy_part(target, at, &parts[k], k == 0, nparts == 1, push);
        at += parts[k].bytes;
    }
    return status;
}

static int check_join(int ntargets, neap_buffer *const *targets, int nparts, const neap_part *parts) {
    size_t bytes = 0;
    int status = engine_check_running();
    if (!status && (ntargets < 1 || nparts < 1))
        status = neap_error(NEAP_E_ARGUMENT, "a join of no parts, or to nobody");
    for (int k = 0; k < nparts && !status; k++) {
        size_t has = parts[k].from ? neap_buffer_bytes(parts[k].from) : 0;
        if (!parts[k].from || !engine_buffer_is_open(parts[k].from))
            status = neap_error(NEAP_E_STATE, "a join of a buffer whose device has been closed, or of none");
        else if (parts[k].offset > has || parts[k].bytes > has - parts[k].offset)
            status = neap_error(NEAP_E_SHAPE, "a join of %zu bytes from byte %zu of a buffer of %zu", parts[k].bytes,
                                parts[k].offset, has);
        else if (__builtin_add_overflow(bytes, parts[k].bytes, &bytes))
            status = neap_error(NEAP_E_SHAPE, "a join of more than 2^64 bytes");
    }
    for (int k = 0; k < ntargets && !status; k++) {
        if (!targets[k] || !engine_buffer_is_open(targets[k]))
            status = neap_error(NEAP_E_STATE, "a join to a buffer whose device has been closed, or to none");
        else if (neap_buffer_bytes(targets[k]) < bytes)
            status = neap_error(NEAP_E_SHAPE, "a join of %zu bytes to a buffer of %zu", bytes,
                                neap_buffer_bytes(targets[k]));
    }
    return status;
}

int neap_buffer_join(int ntargets, neap_buffer *const *targets, int nparts, const neap_part *parts,
                     const neap_push *push) {
    static const neap_push plain;
    int status = check_join(ntargets, targets, nparts, parts);
    if (status)
        return status;
    if (has_collective(ntargets, targets, nparts, parts))
        return push_collective(ntargets, targets, nparts, parts, push ? push : &plain);
    for (int k = 0; k < ntargets && !status; k++)
        status = push_copies(targets[k], nparts, parts, push);
    return status;
}
