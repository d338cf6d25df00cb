/* buffer.c: memory with a variable. A buffer returns to its pool (memory.c) when its last reference is gone and its
 * variable idle: an op that is still queued keeps the memory alive through the variable, even if nobody else does.
 */
#include "engine/device_internal.h"

int neap_buffer_new(int device, size_t bytes, neap_buffer **out) {
    int status = engine_check_alive();
    if (status)
        return status;
    engine_device *home = engine_device_retain_at(device);
    if (!home)
        return neap_error(NEAP_E_ARGUMENT, "buffer on device %d of %d", device, neap_device_count());
    neap_buffer *buffer = NULL;
    status = engine_memory_take(home, bytes, &buffer);
    if (status) {
        engine_device_release(home);
        return status;
    }
    engine_var_init(&buffer->var, true);
    atomic_store_explicit(&buffer->refs, 1, memory_order_relaxed);
    atomic_store_explicit(&buffer->lent, 0, memory_order_relaxed);
    buffer->device = device;
    buffer->bytes = bytes;
    *out = buffer;
    return NEAP_OK;
}

neap_buffer *neap_buffer_retain(neap_buffer *buffer) {
    atomic_fetch_add_explicit(&buffer->refs, 1, memory_order_relaxed);
    return buffer;
}

void neap_buffer_release(neap_buffer *buffer) {
    if (!buffer)
        return;
    if (buffer->bytes >= ENGINE_MEMORY_WAITED && neap_buffer_owned(buffer))
        engine_memory_dying(buffer); /* before the reference goes, since it may be the last */
    if (atomic_load_explicit(&buffer->refs, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    neap_var_delete(&buffer->var);
}

neap_buffer *neap_buffer_lend(neap_buffer *buffer) {
    atomic_fetch_add_explicit(&buffer->lent, 1, memory_order_relaxed);
    return neap_buffer_retain(buffer);
}

void neap_buffer_return(neap_buffer *buffer) {
    atomic_fetch_sub_explicit(&buffer->lent, 1, memory_order_release);
    neap_buffer_release(buffer);
}

/* Between its two counts, a reference that is returned counts as an owner's: never are there fewer than there are. */
int neap_buffer_owned(const neap_buffer *buffer) {
    uint32_t lent = atomic_load_explicit(&buffer->lent, memory_order_acquire);
    return atomic_load_explicit(&buffer->refs, memory_order_acquire) - lent <= 1;
}

void engine_buffer_recycle(neap_var *var) {
    neap_buffer *buffer = (neap_buffer *)var;
    engine_device *home = buffer->home;
    engine_memory_keep(buffer);
    engine_device_release(home);
}

int neap_buffer_sole(const neap_buffer *buffer) {
    return atomic_load_explicit(&buffer->refs, memory_order_acquire) == 1;
}

engine_device *engine_buffer_home(const neap_buffer *buffer) {
    return buffer->home;
}

void *neap_buffer_data(const neap_buffer *buffer) {
    return buffer->data;
}

size_t neap_buffer_bytes(const neap_buffer *buffer) {
    return buffer->bytes;
}

int neap_buffer_device(const neap_buffer *buffer) {
    return buffer->device;
}

neap_var *neap_buffer_var(const neap_buffer *buffer) {
    return (neap_var *)&buffer->var;
}
