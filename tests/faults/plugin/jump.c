/* jump.c: is loaded in front of a program (LD_PRELOAD): the time of the day jumps by days, back and forth, each time it
 * is asked for. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { DAY = 86400 };

/* Seconds, from 4000 days behind to 4000 days ahead. */
static time_t jump(void) {
    static _Atomic uint32_t state = 1;
    uint32_t next = atomic_load(&state) * 1103515245u + 12345u;
    atomic_store(&state, next);
    return ((time_t)(next >> 16) % 8001 - 4000) * DAY;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *out) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, out);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        out->tv_sec += jump();
    return status;
}

EXPORT int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return -1;
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

EXPORT time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out)
        *out = now.tv_sec;
    return now.tv_sec;
}
