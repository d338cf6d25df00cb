/* embedded.h: the Lua library inside the executable, as bytecode. The table is generated (tools/gen/embed.lua). */
#ifndef INTERP_EMBEDDED_H
#define INTERP_EMBEDDED_H

#include <stddef.h>

typedef struct embedded_module {
    const char *name;  /* "neap.random" */
    const char *chunk; /* "@neap/random.lua": its debug information says so too */
    const char *bytecode;
    size_t bytes;
} embedded_module;

extern const embedded_module embedded_modules[]; /* sorted by name */
extern const size_t embedded_count;

#endif
