/* check.h: checks for test programs in C. A failed check prints its place and goes on; main ends with
 * `return check_end();`, which prints the counts and returns non-zero if a check failed. Thread-safe. */
#ifndef NEAP_TESTS_CHECK_H
#define NEAP_TESTS_CHECK_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic long check_passed, check_failed;

static inline int check_at(int ok, const char *file, int line, const char *text) {
    if (ok) {
        check_passed++;
    } else {
        check_failed++;
        fprintf(stderr, "%s:%d: check failed: %s\n", file, line, text);
    }
    return ok;
}

static inline int check_same_at(long long a, long long b, const char *file, int line, const char *text) {
    if (a != b)
        fprintf(stderr, "%s:%d: %lld is not %lld\n", file, line, a, b);
    return check_at(a == b, file, line, text);
}

/* Each returns whether it held. */
#define CHECK(condition) check_at(!!(condition), __FILE__, __LINE__, #condition)
#define CHECK_EQ(a, b) check_same_at((long long)(a), (long long)(b), __FILE__, __LINE__, #a " == " #b)
#define CHECK_TEXT(text, part) check_at(strstr(text, part) != NULL, __FILE__, __LINE__, #text " contains " #part)

/* How often to do what is slow with sanitizers: `times` in a release build, else `fewer`. */
static inline int check_times(int times, int fewer) {
    const char *build = getenv("NEAP_TEST_BUILD");
    return build && strcmp(build, "release") != 0 ? fewer : times;
}

static inline int check_end(void) {
    fprintf(stderr, "%ld passed, %ld failed\n", (long)check_passed, (long)check_failed);
    return check_failed != 0;
}

#endif
