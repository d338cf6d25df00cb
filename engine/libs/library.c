/* library.c: loading a library, and finding its functions. */
#include "engine/libs/library.h"

#include <dlfcn.h>
#include <string.h>

bool engine_library_load(const char *file, int n, const engine_symbol *symbols) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    bool complete = library != NULL;
    for (int k = 0; k < n && complete; k++) {
        void *address = dlsym(library, symbols[k].name);
        memcpy(symbols[k].to, &address, sizeof address);
        complete = address != NULL;
    }
    return complete;
}
