/* slab.c: memory for the engine's own small structures.
 *
 * A slab recycles objects of one size through a list; it grows by chunks and keeps them, so its size is that of its
 * busiest moment. Under AddressSanitizer every object comes from malloc instead, so that a use after free is seen.
 */
#include "engine/engine_internal.h"

#include <stdlib.h>

enum { CHUNK_BYTES = ENGINE_LIMIT(64 * 1024, 1024), CACHE_LINE = 64 };

static _Atomic int64_t fail_countdown;

void engine_alloc_fail(int64_t nth) {
    atomic_store(&fail_countdown, nth);
}

bool engine_alloc_refuse(void) {
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) <= 0)
        return false;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

void *engine_alloc(size_t bytes) {
    return engine_alloc_refuse() ? NULL : malloc(bytes);
}

#if defined(__SANITIZE_ADDRESS__)

void *engine_slab_get(engine_slab *slab) {
    size_t bytes = (slab->bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    return engine_alloc_refuse() ? NULL : aligned_alloc(CACHE_LINE, bytes);
}

void engine_slab_put(engine_slab *slab, void *object) {
    (void)slab;
    free(object);
}

#else

/* Takes a new chunk into the list. Called without the lock. Objects keep the alignment of a cache line. */
static void *grow(engine_slab *slab) {
    size_t bytes = (slab->bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    char *chunk = aligned_alloc(CACHE_LINE, CHUNK_BYTES);
    if (!chunk)
        return NULL;
    size_t count = CHUNK_BYTES / bytes;
    for (size_t i = 1; i < count; i++)
        *(void **)(chunk + i * bytes) = i + 1 < count ? chunk + (i + 1) * bytes : NULL;
    engine_lock_take(&slab->lock);
    *(void **)(chunk + (count - 1) * bytes) = slab->free;
    slab->free = chunk + bytes;
    engine_lock_drop(&slab->lock);
    return chunk;
}

void *engine_slab_get(engine_slab *slab) {
    if (engine_alloc_refuse())
        return NULL;
    engine_lock_take(&slab->lock);
    void *object = slab->free;
    if (object)
        slab->free = *(void **)object;
    engine_lock_drop(&slab->lock);
    return object ? object : grow(slab);
}

void engine_slab_put(engine_slab *slab, void *object) {
    engine_lock_take(&slab->lock);
    *(void **)object = slab->free;
    slab->free = object;
    engine_lock_drop(&slab->lock);
}

#endif
