/* sync.c: the slow halves of sync.h: contended locks, futex calls, the clock. */
#include "engine/sync.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SPINS_BEFORE_YIELD = 128, YIELDS_BEFORE_NAP = 16 };

/* The lock is held by another thread: spins, then gives the core away so that a preempted holder can go on. */
void engine_lock_contend(engine_lock *lock) {
    for (int round = 0;; round++) {
        for (int spin = 0; spin < SPINS_BEFORE_YIELD; spin++) {
            engine_pause();
            if (atomic_load_explicit(&lock->held, memory_order_relaxed) == 0 && engine_lock_try(lock))
                return;
        }
        if (round < YIELDS_BEFORE_NAP) {
            sched_yield();
        } else {
            struct timespec nap = {0, 50000};
            nanosleep(&nap, NULL);
        }
    }
}

void engine_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns) {
    struct timespec limit = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    int saved = errno;
    syscall(SYS_futex, (void *)word, FUTEX_WAIT_PRIVATE, expected, timeout_ns < 0 ? NULL : &limit, NULL, 0);
    errno = saved;
}

void engine_futex_wake(_Atomic uint32_t *word, int count) {
    int saved = errno;
    syscall(SYS_futex, (void *)word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
    errno = saved;
}

int64_t engine_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
