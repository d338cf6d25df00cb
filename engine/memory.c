/* memory.c: where buffers get their memory: pools of free blocks by size class, one for each device memory.
 *
 *      class   0   1    2    3    4    5    6    7    8    9 …     four classes per doubling above 256 bytes,
 *      bytes  64 128  192  256  320  384  448  512  640  768 …     so at most a fifth of a block is unused
 *
 * A block and the header of its buffer stay together in the pool, so taking a block is a pop. In the CPU's smallest
 * classes block and header are one object of the engine's own slabs. Other blocks come from the kind of the device, for
 * any stream: a block returns to the pool only when the work of its last use is done.
 *
 * Getting a block is dear (new pages of the system, a call into a driver), so the pool keeps blocks: a loop that
 * allocates and frees again and again gets each block once. The pool gives blocks back
 *
 *   1. when nobody needed them for a whole *window* of some seconds: a class remembers its fewest free blocks since the
 *      window began, and so many go. Windows end when large blocks come and go, and while workers sleep (pool.c). Some
 *      bytes stay for good (slack_of): touching a block after its return may take far longer than touching a kept
 *      block, most of all in a virtual machine, whose host gives memory page by page;
 *   2. before a new block would take the reserved bytes past the need of the recent windows: twice their highest live
 *      bytes where the machine has plenty, else a quarter more;
 *   3. when the limit asks for it, when the device refuses a new block, and on neap_memory_trim.
 */
#include "engine/device_internal.h"

#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define HIDE(pointer, bytes) __asan_poison_memory_region(pointer, bytes)
#define SHOW(pointer, bytes) __asan_unpoison_memory_region(pointer, bytes)
#else
#define HIDE(pointer, bytes) ((void)(pointer), (void)(bytes))
#define SHOW(pointer, bytes) ((void)(pointer), (void)(bytes))
#endif

enum { ALIGN = 64, LINEAR = 4 /* classes below this are multiples of ALIGN */, CLASSES = ENGINE_MEMORY_CLASSES };

static const uint64_t SLACK = UINT64_C(64) << 20; /* free bytes that are never too many; of a large device, a part */
enum { SLACK_PART = 64 };
static _Atomic uint64_t slack_bytes; /* instead; 0: none */
static _Atomic int64_t window_ns = INT64_C(30000000000);

_Atomic bool engine_memory_was_taken;

enum { HEADER = (sizeof(neap_buffer) + ALIGN - 1) / ALIGN * ALIGN };
static engine_slab header_slab = {.bytes = sizeof(neap_buffer)};
static engine_slab small_slabs[LINEAR] = {{.bytes = HEADER + ALIGN},
                                          {.bytes = HEADER + 2 * ALIGN},
                                          {.bytes = HEADER + 3 * ALIGN},
                                          {.bytes = HEADER + 4 * ALIGN}};

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

static void raise_to(_Atomic uint64_t *highest, uint64_t value) {
    uint64_t seen = engine_memory_count(highest);
    while (value > seen && !atomic_compare_exchange_weak(highest, &seen, value))
        continue;
}

/* Bytes of the device in all; 0: not known. */
static uint64_t total_bytes(engine_device *home) {
    neap_device_facts facts = {.memory_bytes = 0};
    uint64_t known = engine_memory_count(&home->memory.total);
    if (known == 0 && home->kind->facts(home->handle, &facts) == NEAP_OK)
        atomic_store_explicit(&home->memory.total, known = facts.memory_bytes, memory_order_relaxed);
    return known;
}

int64_t engine_memory_left(engine_device *device) {
    neap_device_facts facts = {.memory_free = 0};
    if (device->memory.host || device->kind->facts(device->handle, &facts) != NEAP_OK || facts.memory_free == 0)
        return INT64_MAX / 2;
    return (int64_t)(facts.memory_free + engine_memory_pooled(&device->memory));
}

static uint64_t slack_of(engine_device *home) {
    uint64_t said = engine_memory_count(&slack_bytes), part = total_bytes(home) / SLACK_PART;
    return said ? said : part > SLACK ? part : SLACK;
}

/* Where a header comes from: with its block, if that is small. */
static engine_slab *slab_of(const engine_device *home, int class) {
    return home == &engine_cpu && class < LINEAR ? &small_slabs[class] : &header_slab;
}

/* ---- Giving back ------------------------------------------------------------------------------------------------- */

static neap_buffer *pop(struct engine_memory_class *from) {
    neap_buffer *buffer = from->first;
    if (buffer) {
        from->first = buffer->next;
        from->kept--;
        if (from->least > from->kept)
            from->least = from->kept;
        /* The next one was used long ago: its lines have time to come until it is asked for. */
        for (int at = 0; from->first && at <= HEADER; at += ALIGN)
            __builtin_prefetch((char *)from->first + at, 1);
    }
    return buffer;
}

static neap_buffer *pop_locked(struct engine_memory_class *from) {
    engine_lock_take(&from->lock);
    neap_buffer *buffer = pop(from);
    engine_lock_drop(&from->lock);
    return buffer;
}

static void give_block_back(neap_buffer *buffer) {
    engine_device *home = buffer->home;
    size_t bytes = class_bytes(buffer->class);
    if (home->memory.host)
        SHOW(buffer->data, bytes);
    engine_slab *slab = slab_of(home, buffer->class);
    if (slab == &header_slab)
        home->kind->free(home->handle, NULL, buffer->data, bytes);
    engine_slab_put(slab, buffer);
    atomic_fetch_sub_explicit(&home->memory.reserved, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&home->memory.returned, 1, memory_order_relaxed);
}

/* The largest blocks first. */
void engine_memory_evict(engine_device *device, uint64_t bytes) {
    uint64_t freed = 0;
    for (int class = CLASSES - 1; class >= 0 && freed < bytes; class --) {
        neap_buffer *buffer;
        while (freed < bytes && (buffer = pop_locked(&device->memory.classes[class])) != NULL) {
            freed += class_bytes(class);
            give_block_back(buffer);
        }
    }
}

/* Gives back what the class has not needed in the window that ends, and begins the next one. */
static void end_window(engine_memory *memory, int class, uint64_t slack) {
    struct engine_memory_class *from = &memory->classes[class];
    engine_lock_take(&from->lock);
    uint64_t unused = from->least;
    from->least = from->kept;
    engine_lock_drop(&from->lock);
    neap_buffer *buffer;
    for (; unused > 0 && engine_memory_pooled(memory) > slack && (buffer = pop_locked(from)) != NULL; unused--)
        give_block_back(buffer);
}

void engine_memory_tidy(engine_device *device, int64_t now) {
    engine_memory *memory = &device->memory;
    int64_t began = atomic_load_explicit(&memory->window, memory_order_relaxed);
    if (now - began < window_ns || !atomic_compare_exchange_strong(&memory->window, &began, now))
        return;
    uint64_t highest =
        atomic_exchange_explicit(&memory->recent, engine_memory_count(&memory->live), memory_order_relaxed);
    atomic_store_explicit(&memory->before, highest, memory_order_relaxed);
    for (int class = CLASSES - 1; class >= 0; class --)
        end_window(memory, class, slack_of(device));
}

int64_t engine_memory_due(engine_device *device) {
    const uint64_t pooled = engine_memory_pooled(&device->memory);
    return pooled > SLACK && pooled > slack_of(device) ? window_ns : -1;
}

void engine_memory_window(int64_t ns) {
    window_ns = ns;
}

void engine_memory_slack(uint64_t bytes) {
    slack_bytes = bytes;
}

/* ---- Taking and keeping ------------------------------------------------------------------------------------------ */

/* Makes room for one more block in what may be reserved. `live` counts the block already. */
static void evict_for_block(engine_device *home, uint64_t live, uint64_t bytes) {
    engine_memory *memory = &home->memory;
    uint64_t highest = engine_memory_count(&memory->recent), before = engine_memory_count(&memory->before),
             limit = engine_memory_count(&memory->limit);
    highest = highest > before ? highest : before;
    highest = highest > live ? highest : live;
    uint64_t most = 2 * highest;
    if (most > total_bytes(home) / 2)
        most = highest / 4 * 5;
    most += slack_of(home);
    if (limit && limit < most)
        most = limit;
    uint64_t wanted = engine_memory_count(&memory->reserved) + bytes;
    if (wanted > most)
        engine_memory_evict(home, wanted - most);
}

int engine_memory_alloc(engine_device *device, neap_stream *stream, size_t bytes, void **out) {
    int status = device->kind->alloc(device->handle, stream, bytes, out);
    if (status == NEAP_E_MEMORY) {
        engine_memory_evict(device, UINT64_MAX);
        status = device->kind->alloc(device->handle, stream, bytes, out);
    }
    return status;
}

static int make_block(engine_device *home, int class, uint64_t live, neap_buffer **out) {
    engine_memory *memory = &home->memory;
    size_t bytes = class_bytes(class);
    if (bytes >= ENGINE_MEMORY_LARGE)
        evict_for_block(home, live, bytes);
    if (bytes >= ENGINE_MEMORY_LARGE && !memory->host)
        atomic_store_explicit(&engine_memory_was_taken, true, memory_order_relaxed);
    engine_slab *slab = slab_of(home, class);
    neap_buffer *buffer = engine_slab_get(slab);
    if (!buffer)
        return NEAP_E_MEMORY;
    buffer->data = (char *)buffer + HEADER;
    int status = slab == &header_slab ? engine_memory_alloc(home, NULL, bytes, &buffer->data) : NEAP_OK;
    if (status) {
        engine_slab_put(slab, buffer);
        return status;
    }
    buffer->class = class;
    buffer->home = home;
    buffer->dying = false;
    atomic_fetch_add_explicit(&memory->reserved, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&memory->made, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&memory->made_bytes, bytes, memory_order_relaxed);
    engine_lock_take(&memory->classes[class].lock);
    memory->classes[class].taken++;
    engine_lock_drop(&memory->classes[class].lock);
    *out = buffer;
    return NEAP_OK;
}

/* A block from the pool, or a new one. */
static int take_pool_block(engine_device *home, int class, uint64_t live, neap_buffer **out) {
    struct engine_memory_class *from = &home->memory.classes[class];
    engine_lock_take(&from->lock);
    neap_buffer *buffer = pop(from);
    if (buffer)
        from->taken++;
    engine_lock_drop(&from->lock);
    *out = buffer;
    return buffer ? NEAP_OK : make_block(home, class, live, out);
}

static int refuse_block(engine_device *home, size_t bytes, uint64_t live, uint64_t limit) {
    char where[sizeof home->name + 4] = "", rest[48] = "";
    if (home != &engine_cpu)
        snprintf(where, sizeof where, " on %s", home->name);
    if (limit && live > limit)
        snprintf(rest, sizeof rest, ", limit %llu", (unsigned long long)limit);
    return neap_error(NEAP_E_MEMORY, "out of memory%s: %zu bytes wanted, %llu live%s", where, bytes,
                      (unsigned long long)atomic_load(&home->memory.live), rest);
}

/* Counts the block as live before it is there, so that the limit holds for several threads at once. */
int engine_memory_take(engine_device *home, size_t bytes, neap_buffer **out) {
    int class = class_of(bytes);
    if (class == CLASSES || engine_alloc_refuse())
        return refuse_block(home, bytes, 0, 0);
    engine_memory *memory = &home->memory;
    uint64_t size = class_bytes(class);
    uint64_t live = atomic_fetch_add_explicit(&memory->live, size, memory_order_relaxed) + size;
    uint64_t limit = engine_memory_count(&memory->limit);
    int status = !limit || live <= limit ? take_pool_block(home, class, live, out) : NEAP_E_MEMORY;
    if (status) {
        atomic_fetch_sub_explicit(&memory->live, size, memory_order_relaxed);
        return status == NEAP_E_MEMORY ? refuse_block(home, bytes, live, limit) : status;
    }
    raise_to(&memory->peak, live);
    raise_to(&memory->recent, live);
    if (memory->host)
        SHOW((*out)->data, bytes);
    return NEAP_OK;
}

/* ---- Of work in flight ------------------------------------------------------------------------------------------- */

void engine_memory_begin_dying(neap_buffer *buffer) {
    struct engine_memory_class *of = &buffer->home->memory.classes[buffer->class];
    if (buffer->dying)
        return;
    buffer->dying = true;
    buffer->next = NULL;
    buffer->before = of->last_dying;
    *(of->last_dying ? &of->last_dying->next : &of->dying) = buffer;
    of->last_dying = buffer;
}

void engine_memory_end_dying(neap_buffer *buffer) {
    struct engine_memory_class *of = &buffer->home->memory.classes[buffer->class];
    *(buffer->before ? &buffer->before->next : &of->dying) = buffer->next;
    *(buffer->next ? &buffer->next->before : &of->last_dying) = buffer->before;
    buffer->dying = false;
    atomic_store_explicit(&buffer->mark, 0, memory_order_relaxed);
}

struct engine_memory_class *engine_memory_class_of(engine_device *home, size_t bytes) {
    int class = class_of(bytes);
    return class < CLASSES ? &home->memory.classes[class] : NULL;
}

void engine_memory_keep(neap_buffer *buffer) {
    engine_device *home = buffer->home;
    struct engine_memory_class *to = &home->memory.classes[buffer->class];
    uint64_t size = class_bytes(buffer->class);
    if (home->memory.host)
        HIDE(buffer->data, size);
    engine_lock_take(&to->lock);
    if (buffer->dying)
        engine_memory_end_dying(buffer);
    buffer->next = to->first;
    to->first = buffer;
    to->kept++;
    engine_lock_drop(&to->lock);
    atomic_fetch_sub_explicit(&home->memory.live, size, memory_order_relaxed);
    if (size >= ENGINE_MEMORY_LARGE)
        engine_memory_tidy(home, engine_now());
}
