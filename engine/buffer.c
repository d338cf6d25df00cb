/* buffer.c: memory with a variable, pooled by size class; each device memory has pools of its own.
 *
 *      class   0   1    2    3    4    5    6    7    8    9 …     four classes per doubling above 256 bytes,
 *      bytes  64 128  192  256  320  384  448  512  640  768 …     so at most a fifth of a block is unused
 *
 * A buffer is a header (its variable first) and a block of its class's size; the pair stays together when it returns
 * to the pool, so taking one from the pool is one pop. A buffer returns when its last reference is gone and its
 * variable idle: an op that is still queued keeps the memory alive through the variable, even if nobody else does.
 *
 * Blocks come from the kind of the device, for any stream: a buffer is free only when the work of its last use is done.
 * Getting one is dear (new pages of the system, a call into a driver), so the pool keeps what it gets. It gives blocks
 * back when live and pooled bytes together would pass the highest live bytes by a quarter, when the limit asks for it,
 * and when the device refuses a new block.
 */
#include "engine/device_internal.h"

#include <stdio.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define HIDE(pointer, bytes) __asan_poison_memory_region(pointer, bytes)
#define SHOW(pointer, bytes) __asan_unpoison_memory_region(pointer, bytes)
#else
#define HIDE(pointer, bytes) ((void)(pointer), (void)(bytes))
#define SHOW(pointer, bytes) ((void)(pointer), (void)(bytes))
#endif

enum { ALIGN = 64, LINEAR = 4 /* classes below this are multiples of ALIGN */, CLASSES = ENGINE_MEMORY_CLASSES };

static const uint64_t ROOM_FROM = UINT64_C(1) << 16; /* smaller blocks are made without looking at the whole pool */
static const uint64_t SLACK = UINT64_C(64) << 20;    /* pooled bytes that are never too many */

struct neap_buffer {
    neap_var var;
    _Atomic uint32_t refs;
    int device; /* its number then */
    int class;
    engine_device *home; /* whose memory it is; a living buffer holds a reference */
    size_t bytes;        /* asked for */
    void *data;
    neap_buffer *next; /* in the pool */
};

static engine_slab header_slab = {.bytes = sizeof(neap_buffer)};

/* The class whose blocks hold `bytes`, or CLASSES if none does. */
static int class_of(size_t bytes) {
    if (bytes <= (size_t)LINEAR * ALIGN)
        return bytes == 0 ? 0 : (int)((bytes - 1) / ALIGN);
    int exponent = 63 - __builtin_clzll((unsigned long long)bytes - 1);
    int class = LINEAR + (exponent - 8) * 4 + (int)(((bytes - 1) >> (exponent - 2)) & 3);
    return class < CLASSES ? class : CLASSES;
}

static size_t class_bytes(int class) {
    if (class < LINEAR)
        return (size_t)(class + 1) * ALIGN;
    int exponent = 8 + (class - LINEAR) / 4;
    return (size_t)(5 + (class - LINEAR) % 4) << (exponent - 2);
}

static void hide(const neap_buffer *buffer) {
    if (buffer->home->memory.host)
        HIDE(buffer->data, class_bytes(buffer->class));
}

static void show(const neap_buffer *buffer, size_t bytes) {
    if (buffer->home->memory.host)
        SHOW(buffer->data, bytes);
}

static void free_buffer(neap_buffer *buffer) {
    size_t bytes = class_bytes(buffer->class);
    show(buffer, bytes);
    buffer->home->kind->free(buffer->home->handle, NULL, buffer->data, bytes);
    engine_slab_put(&header_slab, buffer);
}

/* ---- The pool ---------------------------------------------------------------------------------------------------- */

static neap_buffer *pop(struct engine_memory_class *from) {
    neap_buffer *buffer = from->first;
    if (buffer) {
        from->first = buffer->next;
        from->kept--;
    }
    return buffer;
}

static void keep(neap_buffer *buffer) {
    struct engine_memory_class *to = &buffer->home->memory.classes[buffer->class];
    engine_lock_take(&to->lock);
    buffer->next = to->first;
    to->first = buffer;
    to->kept++;
    engine_lock_drop(&to->lock);
}

/* Adds up the classes: bytes in the pool, buffers ever made. */
static void add_up(engine_memory *memory, uint64_t *pooled, uint64_t *taken) {
    *pooled = *taken = 0;
    for (int class = 0; class < CLASSES; class ++) {
        struct engine_memory_class *one = &memory->classes[class];
        engine_lock_take(&one->lock);
        *pooled += one->kept * class_bytes(class);
        *taken += one->taken;
        engine_lock_drop(&one->lock);
    }
}

/* The largest blocks first. */
void engine_memory_evict(engine_device *device, uint64_t bytes) {
    uint64_t freed = 0;
    for (int class = CLASSES - 1; class >= 0 && freed < bytes; class --) {
        struct engine_memory_class *from = &device->memory.classes[class];
        while (freed < bytes) {
            engine_lock_take(&from->lock);
            neap_buffer *buffer = pop(from);
            engine_lock_drop(&from->lock);
            if (!buffer)
                break;
            freed += class_bytes(class);
            free_buffer(buffer);
        }
    }
}

/* Makes room for one more block in what the pool may keep. `live` counts the block already. */
static void make_room(engine_device *home, uint64_t live) {
    uint64_t limit = atomic_load_explicit(&home->memory.limit, memory_order_relaxed);
    uint64_t peak = atomic_load_explicit(&home->memory.peak, memory_order_relaxed);
    uint64_t most = (live > peak ? live : peak) / 4 * 5 + SLACK;
    if (limit && limit < most)
        most = limit;
    uint64_t pooled, taken;
    add_up(&home->memory, &pooled, &taken);
    if (live + pooled > most)
        engine_memory_evict(home, live + pooled - most);
}

static int make(engine_device *home, int class, uint64_t live, neap_buffer **out) {
    if (class_bytes(class) >= ROOM_FROM)
        make_room(home, live);
    neap_buffer *buffer = engine_slab_get(&header_slab);
    if (!buffer)
        return NEAP_E_MEMORY;
    int status = home->kind->alloc(home->handle, NULL, class_bytes(class), &buffer->data);
    if (status == NEAP_E_MEMORY) {
        engine_memory_evict(home, UINT64_MAX);
        status = home->kind->alloc(home->handle, NULL, class_bytes(class), &buffer->data);
    }
    if (status) {
        engine_slab_put(&header_slab, buffer);
        return status;
    }
    buffer->class = class;
    buffer->home = home;
    struct engine_memory_class *to = &home->memory.classes[class];
    engine_lock_take(&to->lock);
    to->taken++;
    engine_lock_drop(&to->lock);
    *out = buffer;
    return NEAP_OK;
}

/* A buffer from the pool, or a new one. */
static int take(engine_device *home, int class, uint64_t live, neap_buffer **out) {
    struct engine_memory_class *from = &home->memory.classes[class];
    engine_lock_take(&from->lock);
    neap_buffer *buffer = pop(from);
    if (buffer)
        from->taken++;
    engine_lock_drop(&from->lock);
    *out = buffer;
    return buffer ? NEAP_OK : make(home, class, live, out);
}

static void raise_peak(engine_memory *memory, uint64_t live) {
    uint64_t peak = atomic_load_explicit(&memory->peak, memory_order_relaxed);
    while (live > peak && !atomic_compare_exchange_weak(&memory->peak, &peak, live))
        continue;
}

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

static int refuse(engine_device *home, size_t bytes, uint64_t live, uint64_t limit) {
    char where[sizeof home->name + 4] = "", rest[48] = "";
    if (home != &engine_cpu)
        snprintf(where, sizeof where, " on %s", home->name);
    if (limit && live > limit)
        snprintf(rest, sizeof rest, ", limit %llu", (unsigned long long)limit);
    return neap_error(NEAP_E_MEMORY, "out of memory%s: %zu bytes wanted, %llu live%s", where, bytes,
                      (unsigned long long)atomic_load(&home->memory.live), rest);
}

/* Counts the block as live before it is there, so that the limit holds for several threads at once. */
static int new_at(engine_device *home, size_t bytes, neap_buffer **out) {
    int class = class_of(bytes);
    if (class == CLASSES || engine_alloc_refuse())
        return refuse(home, bytes, 0, 0);
    engine_memory *memory = &home->memory;
    uint64_t size = class_bytes(class);
    uint64_t live = atomic_fetch_add_explicit(&memory->live, size, memory_order_relaxed) + size;
    uint64_t limit = atomic_load_explicit(&memory->limit, memory_order_relaxed);
    int status = !limit || live <= limit ? take(home, class, live, out) : NEAP_E_MEMORY;
    if (status) {
        atomic_fetch_sub_explicit(&memory->live, size, memory_order_relaxed);
        return status == NEAP_E_MEMORY ? refuse(home, bytes, live, limit) : status;
    }
    raise_peak(memory, live);
    return NEAP_OK;
}

int neap_buffer_new(int device, size_t bytes, neap_buffer **out) {
    int status = engine_check_alive();
    if (status)
        return status;
    engine_device *home = engine_device_retain_at(device);
    if (!home)
        return neap_error(NEAP_E_ARGUMENT, "buffer on device %d of %d", device, neap_device_count());
    neap_buffer *buffer = NULL;
    status = new_at(home, bytes, &buffer);
    if (status) {
        engine_device_release(home);
        return status;
    }
    engine_var_init(&buffer->var, true);
    atomic_store_explicit(&buffer->refs, 1, memory_order_relaxed);
    buffer->device = device;
    buffer->bytes = bytes;
    show(buffer, bytes);
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
    if (atomic_load_explicit(&buffer->refs, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&buffer->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    neap_var_delete(&buffer->var);
}

void engine_buffer_recycle(neap_var *var) {
    neap_buffer *buffer = (neap_buffer *)var;
    engine_device *home = buffer->home;
    uint64_t size = class_bytes(buffer->class);
    hide(buffer);
    keep(buffer);
    atomic_fetch_sub_explicit(&home->memory.live, size, memory_order_relaxed);
    engine_device_release(home);
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

/* ---- Counters and limits ----------------------------------------------------------------------------------------- */

static void get_stats(engine_memory *memory, neap_memory_stats *out) {
    *out = (neap_memory_stats){
        .live_bytes = atomic_load_explicit(&memory->live, memory_order_relaxed),
        .peak_bytes = atomic_load_explicit(&memory->peak, memory_order_relaxed),
        .limit_bytes = atomic_load_explicit(&memory->limit, memory_order_relaxed),
    };
    if (engine_phase() != ENGINE_DEAD)
        add_up(memory, &out->pooled_bytes, &out->allocations);
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

void neap_memory_limit(uint64_t bytes) {
    atomic_store(&engine_cpu.memory.limit, bytes);
    neap_memory_stats now;
    neap_memory_get(&now);
    uint64_t resident = now.live_bytes + now.pooled_bytes;
    if (bytes && resident > bytes && engine_phase() != ENGINE_DEAD)
        engine_memory_evict(&engine_cpu, resident - bytes);
}

void neap_memory_trim(void) {
    if (engine_phase() != ENGINE_DEAD)
        engine_devices_trim();
}
