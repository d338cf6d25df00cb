/* sample.c: a plugin as a backend's author would begin one: a kind "sample" of devices, without streams, whose memory
 * is malloc's. It keeps a thread of its own, which runs to the end of the process. */
#include "engine/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const neap_plugin_host *neap;
static _Atomic int beats, opened, closed;

static void *beat(void *arg) {
    for (;;) {
        beats++;
        nanosleep(&(struct timespec){0, 100000}, NULL);
    }
    return arg;
}

static int count(void) {
    return 2;
}

static int open_device(int index, neap_device **out) {
    if (index == 1)
        return neap->error(NEAP_E_LIBRARY, "sample:1 is out of order");
    static char handle;
    *out = (neap_device *)&handle;
    opened++;
    return NEAP_OK;
}

static void close_device(neap_device *device) {
    (void)device;
    closed++;
}

/* The facts tell tests what they cannot see otherwise. */
static int facts(neap_device *device, neap_device_facts *out) {
    (void)device;
    *out = (neap_device_facts){.name = "a sample", .host_memory = 1, .units = beats};
    return NEAP_OK;
}

static int alloc(neap_device *device, neap_stream *stream, size_t bytes, void **out) {
    (void)device, (void)stream;
    *out = aligned_alloc(64, (bytes + 63) / 64 * 64);
    return *out ? NEAP_OK : neap->error(NEAP_E_MEMORY, "no memory on a sample");
}

static void free_block(neap_device *device, neap_stream *stream, void *memory, size_t bytes) {
    (void)device, (void)stream, (void)bytes;
    free(memory);
}

static int copy(neap_device *device, neap_stream *stream, int direction, void *to, const void *from, size_t bytes) {
    (void)device, (void)stream, (void)direction;
    memcpy(to, from, bytes);
    return NEAP_OK;
}

static int launch(neap_device *device, neap_stream *stream, const neap_launch *work) {
    (void)device, (void)stream;
    return work->host ? work->host(work) : neap->error(NEAP_E_LIBRARY, "a sample cannot compute '%s'", work->name);
}

static const neap_device_kind kind = {
    .abi = NEAP_DEVICE_ABI,
    .name = "sample",
    .count = count,
    .open = open_device,
    .close = close_device,
    .facts = facts,
    .alloc = alloc,
    .free = free_block,
    .copy = copy,
    .launch = launch,
};

/* Runs when the process ends: the thread still beats. */
__attribute__((destructor)) static void check_at_exit(void) {
    if (opened != closed)
        _Exit(99);
}

int neap_plugin_open(const neap_plugin_host *host) {
    if (host->abi != NEAP_DEVICE_ABI)
        return host->error(NEAP_E_LIBRARY, "made for interface %d of neap, not %u", NEAP_DEVICE_ABI, host->abi);
    neap = host;
    pthread_t thread;
    if (pthread_create(&thread, NULL, beat, NULL) != 0)
        return host->error(NEAP_E_STATE, "no thread for the sample");
    pthread_detach(thread);
    return host->device_register(&kind);
}
