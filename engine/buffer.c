/* buffer.c: memory with a variable, pooled by size class.
 *
 *      class   0   1    2    3    4    5    6    7    8    9 …     four classes per doubling above 256 bytes,
 *      bytes  64 128  192  256  320  384  448  512  640  768 …     so at most a fifth of a block is unused
 *
 * A buffer is a header (its variable first) and a block of its class's size; the pair stays together when it returns
 * to the pool, so taking one from the pool is one pop. A buffer returns when its last reference is gone and its
 * variable idle: an op that is still queued keeps the memory alive through the variable, even if nobody else does.
 *
 * Memory that a process has touched once is cheap, new pages are dear: blocks of 2 MiB and more are aligned to huge
 * pages and ask for them, and the pool keeps what it gets. It gives blocks back when live and pooled bytes together
 * would pass the highest live bytes by a quarter, when the limit asks for it, and when the system refuses a new block.
 */
#include "engine/engine_internal.h"

#include <stdlib.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define HIDE(pointer, bytes) __asan_poison_memory_region(pointer, bytes)
#define SHOW(pointer, bytes) __asan_unpoison_memory_region(pointer, bytes)
#else
#define HIDE(pointer, bytes) ((void)0)
#define SHOW(pointer, bytes) ((void)0)
#endif

enum { ALIGN = 64, LINEAR = 4 /* classes below this are multiples of ALIGN */, CLASSES = 160 };

static const size_t HUGE = (size_t)2 << 20;
static const uint64_t ROOM_FROM = UINT64_C(1) << 16; /* smaller blocks are made without looking at the whole pool */
static const uint64_t SLACK = UINT64_C(64) << 20;    /* pooled bytes that are never too many */

struct neap_buffer {
    neap_var var;
    _Atomic uint32_t refs;
    int device;
    int class;
    size_t bytes; /* asked for */
    void *data;
    neap_buffer *next; /* in the pool */
};

static engine_slab header_slab = {.bytes = sizeof(neap_buffer), .place = ENGINE_SLAB_BUFFER};

static struct {
    struct pool_class {
        engine_lock lock;
        neap_buffer *first;
        uint64_t kept;  /* in the pool */
        uint64_t taken; /* from the pool or made, ever */
    } classes[CLASSES];
    _Atomic uint64_t live, peak, limit;
} memory;

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

/* ---- Blocks from the system -------------------------------------------------------------------------------------- */

static void *map_huge(size_t bytes) {
    size_t whole = bytes + HUGE;
    char *base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return NULL;
    char *block = base + (HUGE - (uintptr_t)base % HUGE) % HUGE;
    if (block > base)
        munmap(base, (size_t)(block - base));
    if (block + bytes < base + whole)
        munmap(block + bytes, (size_t)(base + whole - (block + bytes)));
    madvise(block, bytes, MADV_HUGEPAGE);
    return block;
}

static void *new_block(size_t bytes) {
    return bytes >= HUGE ? map_huge(bytes) : aligned_alloc(ALIGN, bytes);
}

static void free_buffer(neap_buffer *buffer) {
    size_t bytes = class_bytes(buffer->class);
    SHOW(buffer->data, bytes);
    if (bytes >= HUGE) {
        munmap(buffer->data, bytes);
    } else {
        free(buffer->data);
    }
    engine_slab_put(&header_slab, buffer);
}

/* ---- The pool ---------------------------------------------------------------------------------------------------- */

static neap_buffer *pop(struct pool_class *from) {
    neap_buffer *buffer = from->first;
    if (buffer) {
        from->first = buffer->next;
        from->kept--;
    }
    return buffer;
}

static void keep(neap_buffer *buffer) {
    struct pool_class *to = &memory.classes[buffer->class];
    engine_lock_take(&to->lock);
    buffer->next = to->first;
    to->first = buffer;
    to->kept++;
    engine_lock_drop(&to->lock);
}

/* Adds up the classes: bytes in the pool, buffers ever made. */
static void add_up(uint64_t *pooled, uint64_t *taken) {
    *pooled = *taken = 0;
    for (int class = 0; class < CLASSES; class ++) {
        struct pool_class *one = &memory.classes[class];
        engine_lock_take(&one->lock);
        *pooled += one->kept * class_bytes(class);
        *taken += one->taken;
        engine_lock_drop(&one->lock);
    }
}

/* Gives at least `bytes` of pooled blocks back to the system if there are as many, the largest blocks first. */
static void evict(uint64_t bytes) {
    uint64_t freed = 0;
    for (int class = CLASSES - 1; class >= 0 && freed < bytes; class --) {
        while (freed < bytes) {
            engine_lock_take(&memory.classes[class].lock);
            neap_buffer *buffer = pop(&memory.classes[class]);
            engine_lock_drop(&memory.classes[class].lock);
            if (!buffer)
                break;
            freed += class_bytes(class);
            free_buffer(buffer);
        }
    }
}

/* Makes room for one more block in what the process may keep. `live` counts the block already. */
static void make_room(uint64_t live) {
    uint64_t limit = atomic_load_explicit(&memory.limit, memory_order_relaxed);
    uint64_t peak = atomic_load_explicit(&memory.peak, memory_order_relaxed);
    uint64_t most = (live > peak ? live : peak) / 4 * 5 + SLACK;
    if (limit && limit < most)
        most = limit;
    uint64_t pooled, taken;
    add_up(&pooled, &taken);
    if (live + pooled > most)
        evict(live + pooled - most);
}

static neap_buffer *make(int class, uint64_t live) {
    if (class_bytes(class) >= ROOM_FROM)
        make_room(live);
    neap_buffer *buffer = engine_slab_get(&header_slab);
    if (!buffer)
        return NULL;
    size_t bytes = class_bytes(class);
    void *data = new_block(bytes);
    if (!data) {
        evict(UINT64_MAX);
        data = new_block(bytes);
    }
    if (!data) {
        engine_slab_put(&header_slab, buffer);
        return NULL;
    }
    buffer->class = class;
    buffer->data = data;
    engine_lock_take(&memory.classes[class].lock);
    memory.classes[class].taken++;
    engine_lock_drop(&memory.classes[class].lock);
    return buffer;
}

/* A buffer from the pool, or a new one. */
static neap_buffer *take(int class, uint64_t live) {
    struct pool_class *from = &memory.classes[class];
    engine_lock_take(&from->lock);
    neap_buffer *buffer = pop(from);
    if (buffer)
        from->taken++;
    engine_lock_drop(&from->lock);
    return buffer ? buffer : make(class, live);
}

static void raise_peak(uint64_t live) {
    uint64_t peak = atomic_load_explicit(&memory.peak, memory_order_relaxed);
    while (live > peak && !atomic_compare_exchange_weak(&memory.peak, &peak, live))
        continue;
}

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

static int refuse(size_t bytes, uint64_t live, uint64_t limit) {
    if (limit && live > limit) {
        return neap_error(NEAP_E_MEMORY, "out of memory: %zu bytes wanted, %llu live, limit %llu", bytes,
                          (unsigned long long)atomic_load(&memory.live), (unsigned long long)limit);
    }
    return neap_error(NEAP_E_MEMORY, "out of memory: %zu bytes wanted, %llu live", bytes,
                      (unsigned long long)atomic_load(&memory.live));
}

int neap_buffer_new(int device, size_t bytes, neap_buffer **out) {
    int status = engine_check_alive();
    if (status)
        return status;
    int devices = engine_phase() == ENGINE_OFF ? 1 : engine.devices;
    if (device < 0 || device >= devices) {
        return neap_error(NEAP_E_ARGUMENT, "buffer on device %d of %d", device, devices);
    }
    int class = class_of(bytes);
    if (class == CLASSES || engine_alloc_refuse())
        return refuse(bytes, 0, 0);
    uint64_t size = class_bytes(class);
    uint64_t live = atomic_fetch_add_explicit(&memory.live, size, memory_order_relaxed) + size;
    uint64_t limit = atomic_load_explicit(&memory.limit, memory_order_relaxed);
    neap_buffer *buffer = !limit || live <= limit ? take(class, live) : NULL;
    if (!buffer) {
        atomic_fetch_sub_explicit(&memory.live, size, memory_order_relaxed);
        return refuse(bytes, live, limit);
    }
    raise_peak(live);
    engine_var_init(&buffer->var, true);
    atomic_store_explicit(&buffer->refs, 1, memory_order_relaxed);
    buffer->device = device;
    buffer->bytes = bytes;
    SHOW(buffer->data, bytes);
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
    uint64_t size = class_bytes(buffer->class);
    HIDE(buffer->data, size);
    keep(buffer);
    atomic_fetch_sub_explicit(&memory.live, size, memory_order_relaxed);
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

void neap_memory_get(neap_memory_stats *out) {
    *out = (neap_memory_stats){
        .live_bytes = atomic_load_explicit(&memory.live, memory_order_relaxed),
        .peak_bytes = atomic_load_explicit(&memory.peak, memory_order_relaxed),
        .limit_bytes = atomic_load_explicit(&memory.limit, memory_order_relaxed),
    };
    if (engine_phase() != ENGINE_DEAD)
        add_up(&out->pooled_bytes, &out->allocations);
}

void neap_memory_limit(uint64_t bytes) {
    atomic_store(&memory.limit, bytes);
    neap_memory_stats now;
    neap_memory_get(&now);
    uint64_t resident = now.live_bytes + now.pooled_bytes;
    if (bytes && resident > bytes && engine_phase() != ENGINE_DEAD)
        evict(resident - bytes);
}

void neap_memory_trim(void) {
    if (engine_phase() != ENGINE_DEAD)
        evict(UINT64_MAX);
}
