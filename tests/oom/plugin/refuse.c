/* refuse.c: is loaded in front of neap (LD_PRELOAD) and refuses threads and memory, as a system does that is short of
 * them. refusals_test.lua says which, in the environment:
 *
 *      REFUSE_THREADS=n     no more than n threads are there at once
 *      REFUSE_AT=n          the n-th request for memory finds none
 *      REFUSE_MANY=m        … and the m - 1 that follow it
 *      REFUSE_COUNT=path    a file of 16 bytes, in which the requests and the threads are counted
 *      REFUSE_IN=name       requests are those of this library, and not those of the executable, with the Lua in it
 *
 * What other libraries ask for is their matter: some end the process, or crash, where they find none. Programs that
 * neap starts get all they want. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

typedef struct counts {
    _Atomic int64_t memory, threads;
} counts;

static bool active;
static counts own, *_Atomic count = &own;
static int64_t threads_most = INT64_MAX, first = INT64_MAX, many = 1;
static const char *library;                    /* NULL: the executable */
static _Atomic uintptr_t code_begin, code_end; /* 0: not loaded yet */

static int64_t number_of(const char *name, int64_t otherwise) {
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

static int note_code(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    if (library && !strstr(info->dlpi_name, library))
        return 0;
    for (int k = 0; k < info->dlpi_phnum; k++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[k];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            code_begin = info->dlpi_addr + part->p_vaddr;
            code_end = info->dlpi_addr + part->p_vaddr + part->p_memsz;
        }
    }
    return 1; /* the first of all is the executable */
}

__attribute__((constructor)) static void begin(void) {
    char program[4096] = "";
    ssize_t bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    const char *wanted = getenv("NEAP"), *path = getenv("REFUSE_COUNT");
    const char *name = strrchr(program, '/');
    if (bytes < 0 || !name || strcmp(name, "/neap") != 0 || !wanted)
        return;
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *shared = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (shared != MAP_FAILED)
        count = shared;
    threads_most = number_of("REFUSE_THREADS", INT64_MAX);
    many = number_of("REFUSE_MANY", 1);
    first = number_of("REFUSE_AT", INT64_MAX);
    library = getenv("REFUSE_IN");
    active = true;
}

static bool refused(const void *caller) {
    uintptr_t at = (uintptr_t)caller;
    if (active && code_end == 0)
        dl_iterate_phdr(note_code, NULL);
    if (at < code_begin || at >= code_end)
        return false;
    int64_t number = atomic_fetch_add(&count->memory, 1) + 1;
    if (number < first || number - first >= many)
        return false;
    errno = ENOMEM;
    return true;
}

#define REFUSED refused(__builtin_return_address(0))

EXPORT void *malloc(size_t bytes) {
    return REFUSED ? NULL : __libc_malloc(bytes);
}

EXPORT void *calloc(size_t n, size_t bytes) {
    return REFUSED ? NULL : __libc_calloc(n, bytes);
}

EXPORT void *realloc(void *old, size_t bytes) {
    return REFUSED ? NULL : __libc_realloc(old, bytes);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes) {
    return REFUSED ? NULL : __libc_memalign(alignment, bytes);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes) {
    if (REFUSED || !(*out = __libc_memalign(alignment, bytes)))
        return ENOMEM;
    return 0;
}

EXPORT char *strdup(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = REFUSED ? NULL : __libc_malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

static void *map(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return REFUSED ? MAP_FAILED : map(at, bytes, protection, flags, fd, offset);
}

EXPORT void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return REFUSED ? MAP_FAILED : map(at, bytes, protection, flags, fd, offset);
}

typedef struct start {
    void *(*main)(void *);
    void *arg;
} start;

static _Atomic int64_t living;

static void end_thread(void *unused) {
    (void)unused;
    atomic_fetch_sub(&living, 1);
}

static void *run_thread(void *given) {
    start own = *(start *)given;
    void *result;
    free(given);
    pthread_cleanup_push(end_thread, NULL);
    result = own.main(own.arg);
    pthread_cleanup_pop(1);
    return result;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *arg) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    start *made = __libc_malloc(sizeof *made);
    atomic_fetch_add(&count->threads, 1);
    bool given = made && atomic_fetch_add(&living, 1) < threads_most;
    if (given) {
        *made = (start){main, arg};
        if (real(thread, attr, run_thread, made) == 0)
            return 0;
    }
    atomic_fetch_sub(&living, made != NULL);
    free(made);
    return EAGAIN;
}
