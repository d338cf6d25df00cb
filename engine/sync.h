/* sync.h: the smallest tools for threads: a spin lock, a futex, a clock.
 *
 * engine_lock guards critical sections of a few dozen instructions (a variable's queue, a pool's lists). It is one
 * word, taken by one compare-and-swap and dropped by a plain store, half the price of a mutex. Nothing may block, call
 * user code or make a system call while holding one. A waiter whose holder was preempted yields, then naps.
 *
 * Order of locks: variables (several at once, by rising address) before everything else; the others are leaves, and
 * no thread holds two of them.
 */
#ifndef NEAP_ENGINE_SYNC_H
#define NEAP_ENGINE_SYNC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct engine_lock {
    _Atomic uint32_t held;
} engine_lock;

void engine_lock_contend(engine_lock *lock);

static inline bool engine_lock_try(engine_lock *lock) {
    uint32_t expected = 0;
    return atomic_compare_exchange_strong_explicit(&lock->held, &expected, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void engine_lock_take(engine_lock *lock) {
    if (!engine_lock_try(lock))
        engine_lock_contend(lock);
}

static inline void engine_lock_drop(engine_lock *lock) {
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

/* Sleeps while *word == expected, until a wake, a signal or timeout_ns (negative: for ever). May return early. */
void engine_futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);
void engine_futex_wake(_Atomic uint32_t *word, int count);

/* Nanoseconds of the monotonic clock. */
int64_t engine_now(void);

/* Hints the processor that this is a spin loop. */
static inline void engine_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
