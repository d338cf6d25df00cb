/* device_open.c: opening a device, with the plugin of its kind, and closing all. */
#include "engine/device_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t open_mutex = PTHREAD_MUTEX_INITIALIZER; /* one device is opened at a time */

static int make_device(const neap_device_kind *kind, int index, engine_device **out) {
    engine_device *device = engine_alloc(sizeof *device);
    if (!device)
        return neap_error(NEAP_E_MEMORY, "no memory for a device");
    memset(device, 0, sizeof *device);
    device->kind = kind;
    device->index = index;
    device->refs = 1;
    snprintf(device->name, sizeof device->name, "%s:%d", kind->name, index);
    neap_device_facts facts;
    int status = kind->open(index, &device->handle);
    if (status) {
        device->handle = NULL;
    } else {
        status = kind->facts(device->handle, &facts);
    }
    if (!status && kind->stream_new)
        status = kind->stream_new(device->handle, 0, &device->work);
    if (!status && kind->stream_new)
        status = kind->stream_new(device->handle, NEAP_PUSH_COPY, &device->copies);
    if (status) {
        engine_device_release(device);
        return status;
    }
    device->memory.host = facts.host_memory != 0;
    *out = device;
    return NEAP_OK;
}

/* The caller holds open_mutex, so the engine does not stop meanwhile. */
static int open_of_kind(const neap_device_kind *kind, int index, int *number) {
    int cpus = engine.cpus, opened = engine.devices - cpus;
    if (kind == &engine_cpu_kind && index >= 0 && index < cpus) {
        *number = index;
        return NEAP_OK;
    }
    for (int i = 0; i < opened; i++) {
        engine_device *device = engine_device_at(cpus + i);
        if (device->kind == kind && device->index == index) {
            *number = cpus + i;
            return NEAP_OK;
        }
    }
    int count = kind->count();
    if (count < 0)
        return count;
    if (index < 0 || index >= count)
        return neap_error(NEAP_E_ARGUMENT, "there is no device %s:%d: there are %d", kind->name, index, count);
    if (opened == ENGINE_OPENED_MOST || cpus + opened == ENGINE_DEVICES_MOST)
        return neap_error(NEAP_E_STATE, "too many open devices: %d", cpus + opened);
    engine_device *device = NULL;
    int status = make_device(kind, index, &device);
    if (status)
        return status;
    status = engine_pool_add_device(cpus + opened);
    if (status) {
        engine_device_release(device);
        return status;
    }
    *number = engine_devices_add(device);
    return NEAP_OK;
}

/* The kind of a name, brought by the plugin of the same name if there is none yet; NULL with the error set. */
static const neap_device_kind *need_kind(const char *name) {
    const neap_device_kind *kind = name ? engine_device_kind_find(name) : NULL;
    if (kind)
        return kind;
    if (!engine_device_kind_is_name(name)) {
        neap_error(NEAP_E_ARGUMENT, "there is no kind of device '%s'", name ? name : "");
        return NULL;
    }
    if (neap_plugin_load(name) == NEAP_OK && (kind = engine_device_kind_find(name)) != NULL)
        return kind;
    char text[512];
    snprintf(text, sizeof text, "%s", neap_error_code() ? neap_error_text() : "its plugin brings none");
    neap_error(NEAP_E_ARGUMENT, "%s", text);
    return NULL;
}

int neap_device_open(const char *kind_name, int index, int *number) {
    int status = engine_check_running();
    if (status)
        return status;
    const neap_device_kind *kind = need_kind(kind_name);
    if (!kind)
        return neap_error_code();
    pthread_mutex_lock(&open_mutex);
    status = engine_check_running();
    if (!status)
        status = open_of_kind(kind, index, number);
    pthread_mutex_unlock(&open_mutex);
    return status;
}

/* ---- Start and stop ---------------------------------------------------------------------------------------------- */

void engine_devices_settle(void) {
    pthread_mutex_lock(&open_mutex); /* an earlier opener has finished, a later one sees the phase */
    pthread_mutex_unlock(&open_mutex);
}

void engine_devices_close(void) {
    pthread_mutex_lock(&open_mutex);
    engine_devices_release();
    pthread_mutex_unlock(&open_mutex);
}
