/* library.h: libraries that are looked for when they are first needed, and that neap does without. */
#ifndef ENGINE_LIBS_LIBRARY_H
#define ENGINE_LIBS_LIBRARY_H

#include <stdbool.h>

typedef struct engine_symbol {
    const char *name;
    void *to; /* the pointer that gets the address, whatever its type */
} engine_symbol;

/* Loads a library for as long as the process lives, and finds n functions of it. False: it is not there, or lacks
 * one. */
bool engine_library_load(const char *file, int n, const engine_symbol *symbols);

#endif
