/* memory.c: allocations of the plugin, those of LLVM and of the C++ library in it. All its calls of these functions are
 * linked to the ones here (cmake/native.cmake).
 *
 * LLVM ends the process when an allocation fails. So it is left with a jump, and never called again: what it holds is
 * lost. Nor does the plugin have anything to do when the process ends, while a thread may still be in LLVM.
 */
#include "lazy/native/plugin/memory.h"

#include <stddef.h>
#include <stdio.h>

static jmp_buf *way_back;
static char failure[256];

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

static void *got(void *memory) {
    if (!memory)
        memory_give_up("out of memory");
    return memory;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
int __wrap___cxa_atexit(void (*function)(void *), void *argument, void *owner);

void *__wrap_malloc(size_t bytes) {
    return got(__real_malloc(bytes ? bytes : 1));
}

void *__wrap_calloc(size_t n, size_t bytes) {
    return got(__real_calloc(n ? n : 1, bytes ? bytes : 1));
}

void *__wrap_realloc(void *old, size_t bytes) {
    return got(__real_realloc(old, bytes ? bytes : 1));
}

void *__wrap_aligned_alloc(size_t align, size_t bytes) {
    return got(__real_aligned_alloc(align, bytes));
}

int __wrap___cxa_atexit(void (*function)(void *), void *argument, void *owner) {
    (void)function, (void)argument, (void)owner;
    return 0;
}
