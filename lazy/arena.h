/* arena.h: several arrays in one allocation.
 *
 *      lazy_step *step;
 *      int32_t *slots;
 *      if (!LAZY_ARENA(LAZY_PART(step, 1), LAZY_PART(slots, n)))
 *          return NULL;
 *      …
 *      free(step);
 *
 * Each part is aligned for any type, and zero. The first part is where the allocation begins: freeing it frees all.
 */
#ifndef LAZY_ARENA_H
#define LAZY_ARENA_H

#include <stdlib.h>
#include <string.h>

enum { LAZY_ARENA_ALIGN = 16 };

typedef struct lazy_part {
    void *pointer; /* the address of the pointer to the part */
    size_t bytes;
} lazy_part;

/* Sets `pointer` to `count` items of the type that it points to. */
#define LAZY_PART(pointer, count) ((lazy_part){&(pointer), (size_t)(count) * sizeof *(pointer)})
/* The block with these parts, or NULL: there is no memory. OWNED. */
#define LAZY_ARENA(...)                                                                                                \
    lazy_arena_new((int)(sizeof((lazy_part[]){__VA_ARGS__}) / sizeof(lazy_part)), (const lazy_part[]){__VA_ARGS__})

static inline size_t lazy_round_up(size_t bytes, size_t align) {
    return (bytes + align - 1) / align * align;
}

/* Takes the next block from memory that is large enough, and goes on behind it. */
static inline void *lazy_next_block(char **at, size_t bytes, size_t align) {
    void *block = *at;
    *at += lazy_round_up(bytes, align);
    return block;
}

static inline void *lazy_arena_new(int n, const lazy_part *parts) {
    size_t bytes = 1;
    for (int k = 0; k < n; k++)
        bytes += lazy_round_up(parts[k].bytes, LAZY_ARENA_ALIGN);
    char *block = calloc(1, bytes), *at = block;
    for (int k = 0; k < n && block; k++) {
        void *part = lazy_next_block(&at, parts[k].bytes, LAZY_ARENA_ALIGN);
        memcpy(parts[k].pointer, &part, sizeof part);
    }
    return block;
}

#endif
