/* pipes.h: writing to pipes in the program's own threads. A reader that has gone gives EPIPE, and not the signal
 * SIGPIPE, whose disposition is the program's. */
#ifndef ENGINE_PIPES_H
#define ENGINE_PIPES_H

#include <errno.h>
#include <signal.h>

static inline sigset_t engine_pipes_signal(void) {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    return pipe;
}

/* Before the writes; keeps in *before what is blocked. */
static inline void engine_pipes_guard(sigset_t *before) {
    sigset_t pipe = engine_pipes_signal();
    pthread_sigmask(SIG_BLOCK, &pipe, before);
}

/* After them. A signal that came meanwhile belongs to this thread, and is taken. */
static inline void engine_pipes_release(const sigset_t *before) {
    sigset_t pipe = engine_pipes_signal();
    if (sigismember(before, SIGPIPE))
        return;
    while (sigtimedwait(&pipe, NULL, &(struct timespec){0}) < 0 && errno == EINTR)
        continue;
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

#endif
