/* memory_stats.c: the contents of memories, and their limits, for users. */
#include "engine/device_internal.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

static void get_stats(engine_memory *memory, neap_memory_stats *out) {
    *out = (neap_memory_stats){
        .live_bytes = engine_memory_count(&memory->live),
        .peak_bytes = engine_memory_count(&memory->peak),
        .pooled_bytes = engine_memory_pooled(memory),
        .reserved_bytes = engine_memory_count(&memory->reserved),
        .limit_bytes = engine_memory_count(&memory->limit),
        .made = engine_memory_count(&memory->made),
        .returned = engine_memory_count(&memory->returned),
    };
    for (int class = 0; class < ENGINE_MEMORY_CLASSES && engine_phase() != ENGINE_DEAD; class ++) {
        engine_lock_take(&memory->classes[class].lock);
        out->allocations += memory->classes[class].taken;
        engine_lock_drop(&memory->classes[class].lock);
    }
}

void neap_memory_get(neap_memory_stats *out) {
    get_stats(&engine_cpu.memory, out);
}

int neap_device_memory(int device, neap_memory_stats *out) {
    int status = engine_check_alive();
    engine_device *home = status ? NULL : engine_device_retain_at(device);
    if (!home)
        return status ? status : neap_error(NEAP_E_ARGUMENT, "device %d of %d", device, neap_device_count());
    get_stats(&home->memory, out);
    engine_device_release(home);
    return NEAP_OK;
}

static void add_live(engine_device *device, void *sum) {
    *(uint64_t *)sum += engine_memory_count(&device->memory.live);
}

uint64_t neap_memory_live(void) {
    uint64_t sum = 0;
    engine_devices_each(add_live, &sum);
    return sum;
}

static void add_made(engine_device *device, void *sum) {
    *(uint64_t *)sum += engine_memory_count(&device->memory.made_bytes);
}

uint64_t neap_memory_made(void) {
    uint64_t sum = 0;
    engine_devices_each(add_made, &sum);
    return sum;
}

static void reset_peak(engine_device *device, void *unused) {
    (void)unused;
    atomic_store_explicit(&device->memory.peak, engine_memory_count(&device->memory.live), memory_order_relaxed);
}

void neap_memory_reset_peak(void) {
    engine_devices_each(reset_peak, NULL);
}

void neap_memory_limit(uint64_t bytes) {
    engine_memory *memory = &engine_cpu.memory;
    atomic_store(&memory->limit, bytes);
    uint64_t reserved = engine_memory_count(&memory->reserved);
    if (bytes && reserved > bytes && engine_phase() != ENGINE_DEAD)
        engine_memory_evict(&engine_cpu, reserved - bytes);
}

static void evict_all(engine_device *device, void *unused) {
    (void)unused;
    engine_memory_evict(device, UINT64_MAX);
}

void neap_memory_trim(void) {
    engine_devices_each(evict_all, NULL);
#ifdef __GLIBC__
    malloc_trim(0); /* smaller blocks came from there */
#endif
}
