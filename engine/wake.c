/* wake.c: wakers, watches, and the interrupt count.
 *
 * A waker is a flag with an eventfd beside it, so that a wake that is not awaited costs no system call twice. Wakers
 * are counted: a watch that outlives neap_waker_free keeps its waker, so a late wake is harmless. A thread that blocks
 * inside the engine uses a waker without a descriptor and sleeps on the flag itself.
 */
#include "engine/engine_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { NAP_NS = 100000 };

static _Atomic int interrupts;

static neap_waker *new_waker(int fd) {
    neap_waker *waker = engine_alloc(sizeof *waker);
    if (waker)
        *waker = (neap_waker){.refs = 1, .fd = fd};
    return waker;
}

int neap_waker_new(neap_waker **out) {
    int status = engine_check_alive();
    if (status)
        return status;
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0)
        return neap_error(NEAP_E_IO, "cannot make an eventfd: errno %d", errno);
    *out = new_waker(fd);
    if (*out)
        return NEAP_OK;
    close(fd);
    return neap_error(NEAP_E_MEMORY, "no memory for a waker");
}

neap_waker *engine_waker_local(void) {
    return new_waker(-1);
}

neap_waker *engine_waker_retain(neap_waker *waker) {
    atomic_fetch_add_explicit(&waker->refs, 1, memory_order_relaxed);
    return waker;
}

void neap_waker_free(neap_waker *waker) {
    if (!waker || atomic_fetch_sub_explicit(&waker->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (waker->fd >= 0)
        close(waker->fd);
    free(waker);
}

int neap_waker_fd(const neap_waker *waker) {
    return waker->fd;
}

void neap_waker_wake(neap_waker *waker) {
    if (atomic_exchange(&waker->woken, 1))
        return;
    if (waker->fd < 0) {
        engine_futex_wake(&waker->woken, 1);
        return;
    }
    int saved = errno; /* this may run in a signal handler */
    uint64_t one = 1;
    while (write(waker->fd, &one, sizeof one) < 0 && errno == EINTR)
        continue;
    errno = saved;
}

/* The descriptor first, the flag second: a wake in between finds the flag set and writes nothing, but its cause was
 * there before the flag falls, so the caller's draining sees it. The other order could lose the descriptor's mark. */
void neap_waker_clear(neap_waker *waker) {
    uint64_t count;
    while (read(waker->fd, &count, sizeof count) < 0 && errno == EINTR)
        continue;
    atomic_exchange(&waker->woken, 0);
}

/* ---- Watches ----------------------------------------------------------------------------------------------------- */

engine_watch *engine_watch_new(neap_waker *waker) {
    engine_watch *made = engine_alloc(sizeof *made);
    if (!made) {
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
        neap_waker_wake(waker);
    }
    return made;
}

engine_watch *engine_watch_add(engine_watch **list, engine_watch *made, neap_waker *waker, uint64_t target) {
    for (engine_watch *watch = *list; watch; watch = watch->next) {
        if (watch->waker == waker && watch->target == target)
            return made;
    }
    *made = (engine_watch){.next = *list, .waker = engine_waker_retain(waker), .target = target};
    *list = made;
    return NULL;
}

/* Takes off the list what is due when the count has reached this value. */
engine_watch *engine_watch_take(engine_watch **list, uint64_t reached) {
    engine_watch *due = NULL, **link = list;
    while (*link) {
        engine_watch *watch = *link;
        if (watch->target > reached) {
            link = &watch->next;
            continue;
        }
        *link = watch->next;
        watch->next = due;
        due = watch;
    }
    return due;
}

void engine_watch_fire(engine_watch *due) {
    while (due) {
        engine_watch *next = due->next;
        neap_waker_wake(due->waker);
        neap_waker_free(due->waker);
        free(due);
        due = next;
    }
}

/* ---- Interrupts -------------------------------------------------------------------------------------------------- */

void neap_interrupt_raise(void) {
    atomic_fetch_add(&interrupts, 1);
}

int neap_interrupt_pending(void) {
    return atomic_load_explicit(&interrupts, memory_order_relaxed);
}

void neap_interrupt_clear(void) {
    atomic_store(&interrupts, 0);
}
