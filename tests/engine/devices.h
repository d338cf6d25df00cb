/* devices.h: what the tests of devices share: an engine with null:0 open, buffers of numbers, an op that adds. */
#ifndef NEAP_TESTS_ENGINE_DEVICES_H
#define NEAP_TESTS_ENGINE_DEVICES_H

#include "engine/device_internal.h"
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/lib/null/device.h"

#include <time.h>

enum { COUNT = 100, BYTES = COUNT * sizeof(int64_t) };

static inline void nap(void) {
    nanosleep(&(struct timespec){0, 50000}, NULL);
}

static int null_number; /* of null:0 */
static neap_device *null_device;
static neap_stream *work, *copies;

static inline void start(int scheduler) {
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2, .devices = 2, .scheduler = scheduler}), NEAP_OK);
    CHECK_EQ(neap_device_open("null", 0, &null_number), NEAP_OK);
    null_device = neap_device_handle(null_number);
    work = neap_device_stream(null_number, 0);
    copies = neap_device_stream(null_number, NEAP_PUSH_COPY);
}

static inline neap_buffer *new_buffer(int device) {
    neap_buffer *buffer = NULL;
    CHECK_EQ(neap_buffer_new(device, BYTES, &buffer), NEAP_OK);
    return buffer;
}

/* The numbers of an idle buffer, wherever it lies. */
static inline int64_t *numbers_of(const neap_buffer *buffer) {
    return null_device_address(neap_buffer_data(buffer));
}

static inline void fill(neap_buffer *buffer, int64_t value) {
    for (int i = 0; i < COUNT; i++)
        numbers_of(buffer)[i] = value + i;
}

static inline void check_filled(neap_buffer *buffer, int64_t value) {
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += numbers_of(buffer)[i] != value + i;
    CHECK_EQ(wrong, 0);
}

static inline null_device_counts counts(void) {
    null_device_counts now;
    null_device_count(null_device, &now);
    return now;
}

/* Waits until workers have made so many calls. */
static inline void wait_for_calls(uint64_t calls) {
    while (counts().calls < calls)
        nap();
}

/* ---- Ops --------------------------------------------------------------------------------------------------------- */

static inline int add_on_host(const neap_launch *launch) {
    int64_t *data = null_device_address(launch->buffers[0]); /* a CPU device leaves the address as it is */
    for (int i = 0; i < COUNT; i++)
        data[i] += (int64_t)launch->scalars[0];
    return NEAP_OK;
}

typedef struct add_op {
    neap_buffer *buffer;
    uint64_t term;
    int launches;
    int status; /* returned in the end */
} add_op;

static inline int add(void *arg, const neap_run *run) {
    const add_op *op = arg;
    void *data = neap_buffer_data(op->buffer);
    neap_launch launch = {.name = "add",
                          .nbuffers = 1,
                          .nscalars = 1,
                          .buffers = &data,
                          .scalars = &op->term,
                          .groups = {4, 1, 1},
                          .threads = {32, 1, 1},
                          .shared_bytes = 16,
                          .host = add_on_host};
    for (int i = 0; i < op->launches; i++) {
        int status = neap_run_launch(run, &launch);
        if (status)
            return status;
    }
    return op->status ? neap_error(op->status, "after the launches") : NEAP_OK;
}

static inline int push_add(const add_op *op, int device, uint32_t flags) {
    neap_var *var = neap_buffer_var(op->buffer);
    neap_push push = {.name = "add", .site = "here:1", .device = device, .flags = flags, .nwrites = 1, .writes = &var};
    return neap_push_sync(add, (void *)op, &push);
}

#endif
