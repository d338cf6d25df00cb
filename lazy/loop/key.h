/* key.h: a loop as bytes, without gaps: loops of equal bytes have equal code, in memory and in the files of the cache
 * (native/cache.c).
 */
#ifndef LAZY_LOOP_KEY_H
#define LAZY_LOOP_KEY_H

#include <string.h>

#include "lazy/loop/loop.h"

typedef struct loop_key {
    char *to; /* NULL: nothing is written, but counted */
    size_t bytes;
} loop_key;

static inline void loop_key_put(loop_key *key, const void *what, size_t bytes) {
    if (key->to && bytes > 0)
        memcpy(key->to + key->bytes, what, bytes);
    key->bytes += bytes;
}
static inline void loop_key_text(loop_key *key, const char *text) {
    loop_key_put(key, text, strlen(text) + 1);
}
/* The loads, instructions and sinks of a loop, without extents and maps. */
void loop_key_code(loop_key *key, const lazy_kernel *loop);
/* Its extents and maps. */
void loop_key_maps(loop_key *key, const lazy_kernel *loop);

#endif
