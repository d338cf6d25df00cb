/* compiled.c: where the driver keeps machine code: $XDG_CACHE_HOME/neap/cuda (~/.cache/neap/cuda), beside the texts of
 * kernels (lazy/native/cache.c), so a container with one folder that lasts keeps both.
 *
 * The driver files machine code by text, device and version of the driver, and looks there before compiling a text. The
 * driver's own folder is ~/.nv/ComputeCache; CUDA_CACHE_PATH names another, read when the driver starts. What the user
 * has set stays.
 *
 * The driver's linker would hand machine code out (cuLinkComplete), for files of neap's. But the linker compiles texts
 * as parts still to be linked, and docs/gpu.md has the costs: a sum with 84 registers in place of 40.
 */
#include "engine/cuda/cuda.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool find_folder(char *out, size_t bytes) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = cache && *cache == '/' ? snprintf(out, bytes, "%s/neap/cuda", cache)
            : home && *home == '/' ? snprintf(out, bytes, "%s/.cache/neap/cuda", home)
                                   : -1;
    return n > 0 && (size_t)n < bytes;
}

/* Makes the folder with those above it. */
static void make_folder(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
}

/* Files of the folder are run: nobody else may write there. */
static bool is_own_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
           (info.st_mode & (S_IWGRP | S_IWOTH)) == 0 && access(path, R_OK | W_OK | X_OK) == 0;
}

void cuda_choose_cache(void) {
    char path[PATH_MAX];
    if (getenv("CUDA_CACHE_PATH") || !find_folder(path, sizeof path))
        return;
    make_folder(path);
    if (is_own_folder(path))
        setenv("CUDA_CACHE_PATH", path, 0);
}
