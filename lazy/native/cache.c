/* cache.c: object files and texts for GPUs that earlier processes have made, in $XDG_CACHE_HOME/neap/native
 * (~/.cache/neap/native).
 *
 * One file for each body: a head with the build that made it, the key, the code, and a sum over all of it. A
 * file is written under a name of its own and then renamed, so that readers find a whole one or none, whoever writes
 * beside; what is damaged, of another build or of another body with the same hash is not taken, nor what belongs to
 * somebody else or can be written by others, since it is run. A cache that cannot be written is none: nothing is told
 * of it. When the folder is over its budget, the files that were used longest ago go.
 */
#include "lazy/native/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lazy/native/object.h"
#include "native_build.h"

enum { PATH = 4096, MOST_BYTES = 1 << 26, BUDGET = 64 << 20, FILES_MOST = 4096, PRUNE_EVERY = 64 };

typedef struct cache_head {
    char magic[8];
    uint64_t build, machine; /* of the kernel texts and the generator; NATIVE_MACHINE */
    uint64_t key_bytes, bytes, sum;
} cache_head;

static const char MAGIC[8] = "neapobj";

static uint64_t sum_of(uint64_t sum, const void *data, size_t bytes) {
    const unsigned char *at = data;
    for (size_t k = 0; k < bytes; k++)
        sum = (sum ^ at[k]) * 0x100000001b3u;
    return sum;
}

static bool is_own(const struct stat *info) {
    return info->st_uid == geteuid() && (info->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The folder, with the room that a file's name needs. false: there is none to be had. */
static bool folder(char *out) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = cache && *cache == '/' ? snprintf(out, PATH, "%s/neap/native", cache)
            : home && *home == '/' ? snprintf(out, PATH, "%s/.cache/neap/native", home)
                                   : -1;
    return n > 0 && n < PATH - 64;
}

static bool file_name(char *out, uint64_t hash) {
    if (!folder(out))
        return false;
    sprintf(out + strlen(out), "/%016llx.o", (unsigned long long)hash);
    return true;
}

static bool read_all(int fd, void *to, size_t bytes) {
    for (char *at = to; bytes > 0;) {
        ssize_t n = read(fd, at, bytes);
        if (n <= 0)
            return false;
        at += n, bytes -= (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *from, size_t bytes) {
    for (const char *at = from; bytes > 0;) {
        ssize_t n = write(fd, at, bytes);
        if (n <= 0)
            return false;
        at += n, bytes -= (size_t)n;
    }
    return true;
}

bool native_cache_read(uint64_t hash, const char *key, size_t key_bytes, void **file, size_t *bytes) {
    char name[PATH];
    cache_head head;
    bool found = false;
    char *data = NULL;
    struct stat info;
    int fd = file_name(name, hash) ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return false;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && is_own(&info) && read_all(fd, &head, sizeof head) &&
        memcmp(head.magic, MAGIC, sizeof MAGIC) == 0 && head.build == NATIVE_BUILD && head.machine == NATIVE_MACHINE &&
        head.key_bytes == key_bytes && head.bytes <= MOST_BYTES &&
        (uint64_t)info.st_size == sizeof head + key_bytes + head.bytes && (data = malloc(key_bytes + head.bytes)) &&
        read_all(fd, data, key_bytes + head.bytes))
        found = memcmp(data, key, key_bytes) == 0 && sum_of(head.build, data, key_bytes + head.bytes) == head.sum;
    if (found) {
        *bytes = head.bytes;
        memmove(data, data + key_bytes, head.bytes);
        *file = data;
        futimens(fd, NULL); /* it was used now */
    } else {
        free(data);
    }
    close(fd);
    return found;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */
/* Makes the folder with those above it. */
static bool make_folder(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || access(path, W_OK) == 0;
}

typedef struct old_file {
    char name[64];
    int64_t used, bytes;
} old_file;

static int by_use(const void *a, const void *b) {
    int64_t x = ((const old_file *)a)->used, y = ((const old_file *)b)->used;
    return (x > y) - (x < y);
}

/* Removes the files that were used longest ago, until three quarters of the budget are left. */
static void prune(int directory) {
    int copy = dup(directory), n = 0;
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    old_file *files = calloc(FILES_MOST, sizeof *files);
    int64_t total = 0;
    struct dirent *entry;
    struct stat info;
    while (list && files && n < FILES_MOST && (entry = readdir(list)))
        if (strlen(entry->d_name) < sizeof files->name && fstatat(directory, entry->d_name, &info, 0) == 0 &&
            S_ISREG(info.st_mode)) {
            strcpy(files[n].name, entry->d_name);
            files[n].used = (int64_t)info.st_mtim.tv_sec, files[n].bytes = (int64_t)info.st_size;
            total += files[n++].bytes;
        }
    if (list)
        closedir(list);
    else if (copy >= 0)
        close(copy);
    if (files)
        qsort(files, (size_t)n, sizeof *files, by_use);
    bool over = total > BUDGET || n == FILES_MOST;
    for (int k = 0; k < n && over && (total > BUDGET / 4 * 3 || (n == FILES_MOST && k < n / 4)); k++) {
        unlinkat(directory, files[k].name, 0);
        total -= files[k].bytes;
    }
    free(files);
}

void native_cache_write(uint64_t hash, const char *key, size_t key_bytes, const void *file, size_t bytes) {
    static _Atomic unsigned written;
    char path[PATH], name[64], temporary[64];
    struct timespec now;
    cache_head head = {.build = NATIVE_BUILD, .machine = NATIVE_MACHINE, .key_bytes = key_bytes, .bytes = bytes};
    if (bytes > MOST_BYTES || !folder(path) || !make_folder(path))
        return;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return;
    memcpy(head.magic, MAGIC, sizeof MAGIC);
    head.sum = sum_of(sum_of(head.build, key, key_bytes), file, bytes);
    snprintf(name, sizeof name, "%016llx.o", (unsigned long long)hash);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(temporary, sizeof temporary, "%016llx.%ld.%ld", (unsigned long long)hash, (long)getpid(), now.tv_nsec);
    int fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0) {
        bool whole = write_all(fd, &head, sizeof head) && write_all(fd, key, key_bytes) && write_all(fd, file, bytes);
        whole &= close(fd) == 0;
        if (!whole || renameat(directory, temporary, directory, name) != 0)
            unlinkat(directory, temporary, 0);
    }
    if (written++ % PRUNE_EVERY == 0)
        prune(directory);
    close(directory);
}
