/* memory.c: allocations of the plugin, those of LLVM and of the C++ library in it. All its calls of these functions are
 * linked to the ones here (cmake/native.cmake).
 *
 * LLVM ends the process when an allocation fails. So it is left with a jump, and never called again: what it holds is
 * lost. While the plugin is loaded there is nowhere to jump to: what its constructors ask for comes from a reserve
 * then, which is touched at no other time. Nor does the plugin have anything to do when the process ends, while a
 * thread may still be in LLVM.
 */
#include "lazy/native/plugin/memory.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 16 << 20, RESERVE = 1 << 20, ALIGN = 64 };

static jmp_buf *way_back;
static char failure[256];
static _Alignas(ALIGN) char reserve[RESERVE];
static _Atomic size_t reserved; /* bytes, for ever */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *memory);
int __wrap___cxa_atexit(void (*function)(void *), void *argument, void *owner);
uint32_t arc4random(void);

/* A thread's first use of a variable like this one makes room for all that the plugin has for the thread, or ends the
 * process: so that happens here, while there is room. */
bool memory_is_short(void) {
    static _Thread_local volatile bool used;
    void *room = __real_malloc(ROOM);
    __real_free(room);
    used = room || used;
    return !room;
}

void memory_begin(jmp_buf *back) {
    way_back = back;
}

void memory_end(void) {
    way_back = NULL;
}

void memory_give_up(const char *reason) {
    jmp_buf *back = way_back;
    if (!back)
        return;
    way_back = NULL;
    snprintf(failure, sizeof failure, "%s", reason);
    longjmp(*back, 1);
}

const char *memory_failure(void) {
    return failure;
}

static bool is_reserved(const void *memory) {
    return (uintptr_t)memory - (uintptr_t)reserve < RESERVE;
}

/* Zeros. NULL: it is used up. */
static void *take_reserve(size_t bytes) {
    size_t whole = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (bytes > RESERVE || whole > RESERVE - atomic_load(&reserved))
        return NULL;
    size_t at = atomic_fetch_add(&reserved, whole);
    return at <= RESERVE - whole ? reserve + at : NULL;
}

/* What an allocation gave, or what stands in for it. */
static void *got(void *memory, size_t bytes) {
    if (memory)
        return memory;
    memory_give_up("out of memory");
    return take_reserve(bytes);
}

void *__wrap_malloc(size_t bytes) {
    return got(__real_malloc(bytes ? bytes : 1), bytes);
}

void *__wrap_calloc(size_t n, size_t bytes) {
    return got(__real_calloc(n ? n : 1, bytes ? bytes : 1), bytes && n > RESERVE / bytes ? SIZE_MAX : n * bytes);
}

void *__wrap_realloc(void *old, size_t bytes) {
    void *again = is_reserved(old) ? NULL : __real_realloc(old, bytes ? bytes : 1);
    if (again || !(again = __wrap_malloc(bytes)) || !old)
        return again;
    size_t had = is_reserved(old) ? (size_t)(reserve + RESERVE - (char *)old) : malloc_usable_size(old);
    memmove(again, old, bytes < had ? bytes : had);
    __wrap_free(old);
    return again;
}

void *__wrap_aligned_alloc(size_t align, size_t bytes) {
    return got(__real_aligned_alloc(align, bytes), bytes);
}

/* LLVM's C interface returns copies of texts, and does not look whether there is one. */
char *__wrap_strdup(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = __wrap_malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

void __wrap_free(void *memory) {
    if (!is_reserved(memory))
        __real_free(memory);
}

int __wrap___cxa_atexit(void (*function)(void *), void *argument, void *owner) {
    (void)function, (void)argument, (void)owner;
    return 0;
}

/* The C++ library's own random numbers, of which LLVM takes none here. glibc has this function from 2.36 on: without it
 * the plugin is for older systems, too. */
uint32_t arc4random(void) {
    uint32_t bits = 0;
    (void)!getentropy(&bits, sizeof bits);
    return bits;
}
