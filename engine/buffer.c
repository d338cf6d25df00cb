/* buffer.c: memory with a variable. A buffer returns to its pool (memory.c) when its last reference is gone and its
 * variable idle: an op that is still queued keeps the memory alive through the variable, even if nobody else does.
 *
 * A large buffer that only work in flight still uses is *dying*, and may be taken over before the work is done: so a
 * loop that runs ahead of the workers takes no more memory than a loop that waits.
 *
 *      op 1 reads b  ·  b is released: dying  ·  ops 2 … 5  ·  op 6 wants as many bytes: b, and waits for op 1
 *
 * The order of the variable keeps what op 1 reads. Op 6 hardly waits if op 1 is so far behind that each worker has
 * taken an op since, or so wide that nothing else runs beside op 1.
 */
#include "engine/device_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A reference counts 1; a lent one, of work in flight on the buffer in the order of the variable, counts in the
 * upper half too. Both halves are one number: no reader sees a reference given back in one half alone. */
static const uint64_t OWN = 1, LENT = UINT64_C(1) << 32 | 1;

static _Atomic size_t ordered_from = ENGINE_MEMORY_LARGE; /* bytes of a buffer that may be taken over */

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
    atomic_store_explicit(&buffer->refs, OWN, memory_order_relaxed);
    atomic_store_explicit(&buffer->mark, 0, memory_order_relaxed);
    atomic_store_explicit(&buffer->slow, false, memory_order_relaxed);
    buffer->device = device;
    buffer->bytes = bytes;
    *out = buffer;
    return NEAP_OK;
}

/* ---- Memory of others -------------------------------------------------------------------------------------------- */

int neap_buffer_borrow(const void *data, size_t bytes, void (*release)(void *), void *arg, neap_buffer **out) {
    int status = engine_check_alive();
    if (status)
        return status;
    engine_borrowed *made = engine_alloc(sizeof *made);
    if (!made)
        return neap_error(NEAP_E_MEMORY, "no memory for a buffer");
    *made = (engine_borrowed){.release = release, .arg = arg};
    neap_buffer *buffer = &made->buffer;
    engine_var_init(&buffer->var, true);
    atomic_store_explicit(&buffer->refs, OWN, memory_order_relaxed);
    buffer->home = engine_device_retain_at(0);
    buffer->class = ENGINE_BORROWED;
    buffer->bytes = bytes;
    buffer->data = (void *)(uintptr_t)data;
    *out = buffer;
    return NEAP_OK;
}

typedef struct mapping {
    void *data;
    size_t bytes;
} mapping;

static void unmap(void *arg) {
    mapping *map = arg;
    if (map->bytes > 0)
        munmap(map->data, map->bytes);
    free(map);
}

/* Maps an open file, of which there may be no bytes. */
static int map_file(const char *path, int fd, mapping *map) {
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) != 0)
        return neap_error(NEAP_E_IO, "cannot open '%s': %s", path, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return neap_error(NEAP_E_IO, "cannot map '%s': it is no regular file", path);
    *map = (mapping){.bytes = (size_t)facts.st_size};
    if (map->bytes == 0)
        return NEAP_OK;
    map->data = mmap(NULL, map->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map->data == MAP_FAILED)
        return neap_error(NEAP_E_IO, "cannot map '%s': %s", path, strerror(errno));
    return NEAP_OK;
}

int neap_buffer_map(const char *path, neap_buffer **out) {
    mapping *map = engine_alloc(sizeof *map);
    if (!map)
        return neap_error(NEAP_E_MEMORY, "no memory for a buffer");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int status = map_file(path, fd, map);
    if (fd >= 0)
        close(fd);
    if (status) {
        free(map);
        return status;
    }
    status = neap_buffer_borrow(map->data, map->bytes, unmap, map, out);
    if (status)
        unmap(map);
    return status;
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static uint32_t count_owners(const neap_buffer *buffer) {
    uint64_t refs = atomic_load_explicit(&buffer->refs, memory_order_acquire);
    return (uint32_t)refs - (uint32_t)(refs >> 32);
}

static size_t least_ordered(void) {
    return atomic_load_explicit(&ordered_from, memory_order_relaxed);
}

/* Before a reference of that kind goes, perhaps the last: if no owner stays, the buffer is dying. Under the lock, as
 * somebody may just have taken the buffer over. */
static void note_dying(neap_buffer *buffer, uint64_t kind) {
    struct engine_memory_class *of = &buffer->home->memory.classes[buffer->class];
    engine_lock_take(&of->lock);
    if (count_owners(buffer) <= (kind == OWN))
        engine_memory_begin_dying(buffer);
    engine_lock_drop(&of->lock);
}

/* Gives back a reference of that kind. */
static void let_go(neap_buffer *buffer, uint64_t kind) {
    uint64_t refs = atomic_load_explicit(&buffer->refs, memory_order_acquire);
    bool large = buffer->bytes >= least_ordered() && buffer->class != ENGINE_BORROWED;
    if (large && refs != OWN && count_owners(buffer) <= (kind == OWN))
        note_dying(buffer, kind);
    bool alone = refs == kind && (kind == OWN || !large); /* else somebody may take the buffer over meanwhile */
    if (alone || atomic_fetch_sub_explicit(&buffer->refs, kind, memory_order_acq_rel) == kind)
        neap_var_delete(&buffer->var);
}

neap_buffer *neap_buffer_retain(neap_buffer *buffer) {
    atomic_fetch_add_explicit(&buffer->refs, OWN, memory_order_relaxed);
    return buffer;
}

void neap_buffer_release(neap_buffer *buffer) {
    if (buffer)
        let_go(buffer, OWN);
}

neap_buffer *neap_buffer_lend(neap_buffer *buffer) {
    atomic_fetch_add_explicit(&buffer->refs, LENT, memory_order_relaxed);
    return buffer;
}

void neap_buffer_return(neap_buffer *buffer) {
    let_go(buffer, LENT);
}

int neap_buffer_owned(const neap_buffer *buffer) {
    return buffer->class != ENGINE_BORROWED && count_owners(buffer) <= 1;
}

int neap_buffer_sole(const neap_buffer *buffer) {
    return buffer->class != ENGINE_BORROWED && atomic_load_explicit(&buffer->refs, memory_order_acquire) == OWN;
}

uint64_t neap_buffer_mark(neap_buffer *buffer) {
    static _Atomic uint64_t marks;
    uint64_t mark = atomic_load_explicit(&buffer->mark, memory_order_relaxed);
    if (mark)
        return mark;
    uint64_t own = atomic_fetch_add_explicit(&marks, 1, memory_order_relaxed) + 1;
    bool first =
        atomic_compare_exchange_strong_explicit(&buffer->mark, &mark, own, memory_order_relaxed, memory_order_relaxed);
    return first ? own : mark;
}

void neap_buffer_unmark(neap_buffer *buffer) {
    atomic_store_explicit(&buffer->mark, 0, memory_order_relaxed);
}

/* ---- Taking over ------------------------------------------------------------------------------------------------- */

/* Makes the caller the owner of a buffer with lent references alone. False: the last reference has been given back. */
static bool adopt(neap_buffer *buffer) {
    uint64_t refs = atomic_load_explicit(&buffer->refs, memory_order_acquire);
    while (refs != 0 && (uint32_t)refs == (uint32_t)(refs >> 32))
        if (atomic_compare_exchange_weak_explicit(&buffer->refs, &refs, refs + OWN, memory_order_acq_rel,
                                                  memory_order_acquire))
            return true;
    return false;
}

/* Whether the op of this number may write the buffer. Ops in flight may ask for the size of a buffer. */
static bool may_take_over(neap_buffer *buffer, int device, size_t bytes, uint32_t number) {
    uint32_t behind = number - atomic_load_explicit(&buffer->used, memory_order_relaxed);
    return buffer->device == device && buffer->bytes == bytes && behind >= engine_far_behind() &&
           !atomic_load_explicit(&buffer->slow, memory_order_relaxed) && adopt(buffer);
}

/* Of the dying ones, the longest first. NULL: there is none. */
static neap_buffer *take_over(struct engine_memory_class *of, int device, size_t bytes, uint32_t number) {
    enum { LOOKS = 32 };
    engine_lock_take(&of->lock);
    neap_buffer *buffer = of->dying;
    for (int look = 1; buffer && !may_take_over(buffer, device, bytes, number); look++)
        buffer = look < LOOKS ? buffer->next : NULL;
    if (buffer) {
        engine_memory_end_dying(buffer);
        of->taken++;
    }
    engine_lock_drop(&of->lock);
    return buffer;
}

void neap_buffer_ordered_from(int64_t bytes) {
    atomic_store(&ordered_from, bytes > 0 ? (size_t)bytes : (size_t)ENGINE_MEMORY_LARGE);
}

int neap_buffer_new_ordered(int device, size_t bytes, int ahead, neap_buffer **out) {
    int status = engine_check_alive();
    engine_device *home = status || bytes < least_ordered() ? NULL : engine_device_at(device);
    struct engine_memory_class *of = home ? engine_memory_class_of(home, bytes) : NULL;
    if (of)
        engine_bulk_flush(engine_self()); /* joined ops are in no queue yet */
    neap_buffer *buffer = of ? take_over(of, device, bytes, engine_var_entered() + (uint32_t)ahead) : NULL;
    if (!buffer)
        return neap_buffer_new(device, bytes, out);
    engine_var_begin_anew(&buffer->var);
    *out = buffer;
    return NEAP_OK;
}

/* ---- What others ask --------------------------------------------------------------------------------------------- */

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
