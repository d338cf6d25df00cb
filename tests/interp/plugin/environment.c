/* environment.c: a thread that sets variables, as a library's would: new names and, in between, one that is known. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int environment_start(void);
EXPORT int environment_set(void);

enum { NAMES = 4000 };

static _Atomic int set;

static void *set_names(void *arg) {
    for (int k = 0; k < NAMES; k++) {
        char name[32], entry[64];
        snprintf(name, sizeof name, "NEAP_PROBE_%d", k);
        snprintf(entry, sizeof entry, "NEAP_PROBE_KNOWN=%d", k);
        if (setenv(name, "a value", 1) != 0 || putenv(strdup(entry)) != 0)
            return arg;
        memset(malloc(64), 255, 64); /* what was freed is used again */
        usleep(100);
        set++;
    }
    return arg;
}

int environment_start(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, set_names, NULL) == 0 && pthread_detach(thread) == 0;
}

/* How many of NAMES are set. */
int environment_set(void) {
    return set;
}
