/* slab.c: memory for the engine's own small structures.
 *
 *      thread's magazine   open ─▶ o ─▶ o ─▶ o          full ─▶ o ─▶ … (CHAIN objects)
 *                                                          │ ▲
 *      slab                chains ─▶ o ─▶ … (CHAIN) ◀──────┘ │ under the slab's lock, one lock for CHAIN objects
 *                             └────▶ o ─▶ … (CHAIN) ─────────┘
 *
 * A slab recycles objects of one size. A thread takes from its own open chain and puts there; only whole chains go over
 * to other threads, since ops are made by one thread and freed by another. Chunks are kept, so a slab's size is that of
 * its busiest moment; they grow with the slab and are made of huge pages when large. Only a thread that ends leaves a
 * chain that is not full.
 *
 * Under AddressSanitizer every object comes from malloc instead, so that a use after free is seen.
 */
#include "engine/engine_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { CHAIN = ENGINE_LIMIT(64, 4), CACHE_LINE = 64, CHUNK_CHAINS_MOST = 256 };

static _Atomic int64_t fail_countdown;

int64_t engine_alloc_fail(int64_t nth) {
    return atomic_exchange(&fail_countdown, nth);
}

bool engine_alloc_refuse(void) {
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) <= 0)
        return false;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

void *engine_alloc(size_t bytes) {
    return engine_alloc_refuse() ? NULL : malloc(bytes);
}

static size_t object_bytes(const engine_slab *slab) {
    return (slab->bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

#if defined(__SANITIZE_ADDRESS__)

void *engine_slab_get(engine_slab *slab) {
    return engine_alloc_refuse() ? NULL : aligned_alloc(CACHE_LINE, object_bytes(slab));
}

void engine_slab_put(engine_slab *slab, void *object) {
    (void)slab;
    free(object);
}

#else

typedef struct link { /* a free object */
    struct link *next;
    struct link *chain; /* of the first object of a chain: the slab's next chain */
    uint32_t count;     /* of the first object of a chain: how many objects the chain has */
} link;

static struct {
    engine_lock lock;
    int count; /* places given, from 1 on */
    engine_slab *_Atomic at[ENGINE_SLABS];
} slabs;

static void give_chain(engine_slab *slab, link *chain, uint32_t count) {
    chain->count = count;
    engine_lock_take(&slab->lock);
    chain->chain = slab->chains;
    slab->chains = chain;
    engine_lock_drop(&slab->lock);
}

/* The thread ends: others get what its magazines hold. */
static void leave_slabs(engine_thread *self) {
    for (int place = 1; place < ENGINE_SLABS; place++) {
        engine_magazine *own = &self->magazines[place];
        if (own->full)
            give_chain(slabs.at[place], own->full, CHAIN);
        if (own->open)
            give_chain(slabs.at[place], own->open, own->count);
        *own = (engine_magazine){0};
    }
}

/* The calling thread's magazine for a slab. */
static engine_magazine *magazine(engine_slab *slab) {
    int place = atomic_load_explicit(&slab->place, memory_order_acquire);
    if (place == 0) {
        engine_lock_take(&slabs.lock);
        if (slab->place == 0) {
            assert(slabs.count + 1 < ENGINE_SLABS);
            slabs.at[++slabs.count] = slab;
            slab->place = slabs.count;
            engine_thread_on_end(ENGINE_LEAVES_SLABS, leave_slabs);
        }
        place = slab->place;
        engine_lock_drop(&slabs.lock);
    }
    return &engine_self()->magazines[place];
}

/* Makes chains out of a new chunk, gives all but one to the slab and returns that one. */
static link *grow_slab(engine_slab *slab) {
    enum { HUGE = 2 << 20 };
    engine_lock_take(&slab->lock);
    uint32_t chains = ++slab->grown < CHUNK_CHAINS_MOST ? slab->grown : CHUNK_CHAINS_MOST;
    engine_lock_drop(&slab->lock);
    size_t bytes = object_bytes(slab), whole = bytes * CHAIN * chains;
    if (whole > HUGE / 2)
        whole = (whole + HUGE - 1) / HUGE * HUGE;
    char *chunk = aligned_alloc(whole >= HUGE ? HUGE : CACHE_LINE, whole);
    if (!chunk)
        return NULL;
    if (whole >= HUGE)
        madvise(chunk, whole, MADV_HUGEPAGE);
    chains = (uint32_t)(whole / bytes / CHAIN);
    link *first = NULL;
    for (uint32_t c = 0; c < chains; c++) {
        char *base = chunk + (size_t)c * CHAIN * bytes;
        for (uint32_t i = 0; i < CHAIN; i++)
            ((link *)(base + i * bytes))->next = i + 1 < CHAIN ? (link *)(base + (i + 1) * bytes) : NULL;
        if (c == 0) {
            first = (link *)base;
            first->count = CHAIN;
        } else {
            give_chain(slab, (link *)base, CHAIN);
        }
    }
    return first;
}

/* A chain of the slab, or a new one. */
static link *get_chain(engine_slab *slab) {
    engine_lock_take(&slab->lock);
    link *chain = slab->chains;
    if (chain)
        slab->chains = chain->chain;
    engine_lock_drop(&slab->lock);
    return chain ? chain : grow_slab(slab);
}

void *engine_slab_get(engine_slab *slab) {
    if (engine_alloc_refuse())
        return NULL;
    engine_magazine *own = magazine(slab);
    if (!own->open) {
        link *chain = own->full ? own->full : get_chain(slab);
        if (!chain)
            return NULL;
        own->count = own->full ? CHAIN : chain->count;
        own->open = chain;
        own->full = NULL;
    }
    link *object = own->open;
    own->open = object->next;
    own->count--;
    /* The next one lies where another thread wrote last: it has time to come over until it is asked for. */
    for (size_t at = 0; own->open && at < slab->bytes && at < 3 * CACHE_LINE; at += CACHE_LINE)
        __builtin_prefetch((char *)own->open + at, 1);
    return object;
}

void engine_slab_put(engine_slab *slab, void *object) {
    engine_magazine *own = magazine(slab);
    if (own->count == CHAIN) {
        if (own->full)
            give_chain(slab, own->full, CHAIN);
        own->full = own->open;
        own->open = NULL;
        own->count = 0;
    }
    ((link *)object)->next = own->open;
    own->open = object;
    own->count++;
}

#endif
