/* device.c: the table of open devices, and what can be asked of one.
 *
 *      number    0 … cpus-1          cpus … devices-1
 *                all: engine_cpu     opened[number - cpus] ──▶ engine_device: kind, handle, two streams, memory
 *
 * A device gets its number when it is opened and keeps it until the engine stops. `devices` is raised after the table
 * was filled, so whoever sees a number below it may look without a lock; only those who want a reference, which can
 * race with the stop, take it.
 *
 * Each device with streams has two: one for work, one for copies between devices, so that data moves while kernels run.
 * Ops that depend on each other are ordered by the engine: by one stream's order or by events (stream_order.c), else it
 * waits for the first one's stream before it starts the second.
 */
#include "engine/device_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPU_NAME_BYTES = 16 };

static char cpu_names[ENGINE_DEVICES_MOST][CPU_NAME_BYTES];

static struct {
    engine_lock lock; /* for references */
    _Atomic(engine_device *) opened[ENGINE_OPENED_MOST];
} table;

/* ---- Which are open ---------------------------------------------------------------------------------------------- */

/* Gives back whatever of the device was made. */
static void destroy_device(engine_device *device) {
    engine_memory_evict(device, UINT64_MAX);
    if (device->copies)
        device->kind->stream_free(device->handle, device->copies);
    if (device->work)
        device->kind->stream_free(device->handle, device->work);
    if (device->handle)
        device->kind->close(device->handle);
    free(device);
}

void engine_device_release(engine_device *device) {
    if (device != &engine_cpu && atomic_fetch_sub_explicit(&device->refs, 1, memory_order_acq_rel) == 1)
        destroy_device(device);
}

void engine_devices_open(int cpus) {
    for (int i = 0; i < cpus; i++)
        snprintf(cpu_names[i], CPU_NAME_BYTES, "cpu:%d", i);
    engine.cpus = engine.devices = cpus;
}

int engine_devices_add(engine_device *device) {
    int number = engine.devices;
    table.opened[number - engine.cpus] = device;
    atomic_store_explicit(&engine.devices, number + 1, memory_order_release);
    return number;
}

void engine_devices_release(void) {
    engine_device *closing[ENGINE_OPENED_MOST];
    int count = engine.devices - engine.cpus;
    engine_lock_take(&table.lock);
    for (int i = 0; i < count; i++)
        closing[i] = atomic_exchange(&table.opened[i], NULL);
    engine.devices = engine.cpus;
    engine_lock_drop(&table.lock);
    for (int i = count - 1; i >= 0; i--)
        engine_device_release(closing[i]);
}

void engine_devices_each(void (*fn)(engine_device *device, void *arg), void *arg) {
    if (engine_phase() == ENGINE_DEAD)
        return; /* the table may have been locked when the process forked */
    fn(&engine_cpu, arg);
    for (int number = engine.cpus; number < engine.devices; number++) {
        engine_device *device = engine_device_retain_at(number);
        if (!device)
            return;
        fn(device, arg);
        engine_device_release(device);
    }
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

engine_device *engine_device_at(int number) {
    int cpus = engine.cpus;
    if (number < 0 || number >= atomic_load_explicit(&engine.devices, memory_order_acquire))
        return NULL;
    return number < cpus ? &engine_cpu : table.opened[number - cpus];
}

engine_device *engine_device_retain_at(int number) {
    if (engine_phase() == ENGINE_OFF)
        return number == 0 ? &engine_cpu : NULL;
    if ((unsigned)number < (unsigned)engine.cpus)
        return &engine_cpu;
    engine_lock_take(&table.lock);
    engine_device *device = engine_device_at(number);
    if (device)
        atomic_fetch_add_explicit(&device->refs, 1, memory_order_relaxed);
    engine_lock_drop(&table.lock);
    return device;
}

/* The device, or NULL with the error set. */
static engine_device *running_device(int number) {
    if (engine_check_running())
        return NULL;
    engine_device *device = engine_device_at(number);
    if (!device)
        neap_error(NEAP_E_ARGUMENT, "device %d of %d", number, neap_device_count());
    return device;
}

int neap_device_count(void) {
    return engine_phase() == ENGINE_RUNNING ? engine.devices : 0;
}

const char *engine_device_name(int number) {
    const engine_device *device = engine_device_at(number);
    return device == &engine_cpu ? cpu_names[number] : device->name;
}

const char *neap_device_name(int number) {
    return running_device(number) ? engine_device_name(number) : NULL;
}

int neap_device_find(const char *name, int *number) {
    int status = engine_check_running();
    for (int i = 0; !status && i < engine.devices; i++) {
        const char *has = neap_device_name(i);
        if (has && name && strcmp(has, name) == 0) {
            *number = i;
            return NEAP_OK;
        }
    }
    return status ? status : neap_error(NEAP_E_ARGUMENT, "there is no open device '%s'", name ? name : "");
}

int neap_device_memory_space(int number) {
    return number < engine.cpus ? 0 : number;
}

int neap_device_get(int number, neap_device_facts *out) {
    engine_device *device = running_device(number);
    return device ? device->kind->facts(device->handle, out) : neap_error_code();
}

const neap_device_kind *neap_device_kind_of(int number) {
    engine_device *device = running_device(number);
    return device ? device->kind : NULL;
}

neap_device *neap_device_handle(int number) {
    engine_device *device = running_device(number);
    return device ? device->handle : NULL;
}

neap_stream *neap_device_stream(int number, uint32_t flags) {
    engine_device *device = engine_device_at(number);
    if (!device)
        return NULL;
    return flags & NEAP_PUSH_COPY ? device->copies : device->work;
}

int neap_code_new(int number, const char *name, const void *image, size_t bytes, neap_code **out) {
    engine_device *device = running_device(number);
    if (!device)
        return neap_error_code();
    if (!device->kind->code_new)
        return neap_error(NEAP_E_LIBRARY, "devices of the kind '%s' take no code", device->kind->name);
    return device->kind->code_new(device->handle, name, image, bytes, out);
}

const char *neap_routine_lacks(int number, const neap_routine *routine) {
    engine_device *device = running_device(number);
    if (!device || !device->kind->routine_lacks)
        return "no library computes on devices of its kind";
    return device->kind->routine_lacks(device->handle, routine);
}

void neap_device_libraries(int number, char *text, size_t bytes) {
    engine_device *device = running_device(number);
    *text = '\0';
    if (device && device->kind->libraries)
        device->kind->libraries(device->handle, text, bytes);
}

void neap_code_free(int number, neap_code *code) {
    engine_device *device = code ? running_device(number) : NULL;
    if (device && device->kind->code_free)
        device->kind->code_free(device->handle, code);
}

/* ---- Blocks of buffers ------------------------------------------------------------------------------------------- */

void engine_device_recycle(neap_buffer *buffer) {
    engine_device *home = buffer->home;
    if (buffer->class == ENGINE_BORROWED) {
        engine_borrowed *made = (engine_borrowed *)buffer;
        if (made->release)
            made->release(made->arg);
        free(made);
    } else {
        engine_memory_keep(buffer);
    }
    engine_device_release(home);
}
