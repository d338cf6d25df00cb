/* failing.h: an allocation that fails. For tests in this folder: the linker sends malloc and its kin of all rooms here
 * (-Wl,--wrap). */
#ifndef NEAP_TESTS_FAILING_H
#define NEAP_TESTS_FAILING_H

#include <stdatomic.h>
#include <stdlib.h>

static _Atomic long failing_countdown; /* 1: the next allocation fails; 0: none does */

/* Lets the n-th allocation from now on fail. */
static inline void failing_start(long n) {
    atomic_store(&failing_countdown, n);
}

/* From now on none fails. Returns how many were left: 0, one has failed. */
static inline long failing_stop(void) {
    return atomic_exchange(&failing_countdown, 0);
}

static int failing_now(void) {
    return atomic_load(&failing_countdown) > 0 && atomic_fetch_sub(&failing_countdown, 1) == 1;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);

void *__wrap_malloc(size_t bytes) {
    return failing_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes) {
    return failing_now() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes) {
    return failing_now() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *text) {
    return failing_now() ? NULL : __real_strdup(text);
}

#endif
