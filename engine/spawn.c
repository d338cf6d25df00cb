/* spawn.c: how the engine makes threads, and the mode in which their arithmetic rounds. */
#include "engine/engine_internal.h"

#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* engine_alloc_fail stands for the memory of a stack. */
static int create_thread(pthread_t *thread, void *(*main)(void *), void *arg) {
    return engine_alloc_refuse() ? ENOMEM : pthread_create(thread, NULL, main, arg);
}

int engine_thread_spawn(void *(*main)(void *), void *arg, const char *name, void *pthread_out) {
    sigset_t blocked, before;
    sigfillset(&blocked);
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF}; /* belong to a thread */
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&blocked, own[i]);
    pthread_t thread;
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int error = create_thread(&thread, main, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        char text[128];
        return neap_error(NEAP_E_STATE, "cannot start a thread: %s", strerror_r(error, text, sizeof text));
    }
    pthread_setname_np(thread, name);
    *(pthread_t *)pthread_out = thread;
    return NEAP_OK;
}

void engine_thread_tell_missing(void) {
    static _Atomic bool told;
    char line[256];
    if (atomic_exchange(&told, true))
        return;
    snprintf(line, sizeof line, "neap: %s; work runs in the calling thread\n", neap_error_text());
    if (write(STDERR_FILENO, line, strlen(line)) < 0)
        return; /* there is nowhere to say so */
}

/* ---- Rounding ---------------------------------------------------------------------------------------------------- */

void engine_float_mode_set(void) {
    fesetenv(FE_DFL_ENV);
}

bool engine_float_mode_good(void) {
#if defined(__x86_64__)
    enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x0040 };
    if (__builtin_ia32_stmxcsr() & (FLUSH_TO_ZERO | DENORMALS_ARE_ZERO))
        return false;
#elif defined(__aarch64__)
    enum { FLUSH_TO_ZERO = 1 << 24 };
    if (__builtin_aarch64_get_fpcr() & FLUSH_TO_ZERO)
        return false;
#endif
    return fegetround() == FE_TONEAREST;
}
