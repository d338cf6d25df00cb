/* object.h: machine code from an object file in memory. */
#ifndef LAZY_NATIVE_OBJECT_H
#define LAZY_NATIVE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

/* What object files are for, by the numbers of elf.h; 0: none can be loaded on this machine. */
#if defined(__x86_64__)
enum { NATIVE_MACHINE = 62 };
#elif defined(__aarch64__)
enum { NATIVE_MACHINE = 183 };
#else
enum { NATIVE_MACHINE = 0 };
#endif

typedef struct native_object {
    void *base; /* of the mapping; NULL: none */
    size_t bytes;
    void *function;
} native_object;

/* Loads an object file, which may be damaged, and finds the function `name` in it. false: it cannot be, or there is no
 * memory. */
bool native_object_load(native_object *out, const void *file, size_t bytes, const char *name);
void native_object_unload(native_object *object);

#endif
