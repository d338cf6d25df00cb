/* cache.h: code that earlier processes have made: object files of bodies, texts of grid kernels. Keys of these begin
 * differently. */
#ifndef LAZY_NATIVE_CACHE_H
#define LAZY_NATIVE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code of a key. *file is OWNED (free). false: there is none, or it is damaged. */
bool native_cache_read(uint64_t hash, const char *key, size_t key_bytes, void **file, size_t *bytes);
/* Keeps one, if that works. */
void native_cache_write(uint64_t hash, const char *key, size_t key_bytes, const void *file, size_t bytes);

#endif
