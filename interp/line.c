/* line.c: waiting for input, for both editors and for Lua's reading functions. */
#include "interp/line.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* What the stream has read ahead is not for poll to see. */
static bool has_read_ahead(void) {
#ifdef __GLIBC__
    return stdin->_IO_read_ptr < stdin->_IO_read_end;
#else
    static bool unbuffered;
    unbuffered = unbuffered || setvbuf(stdin, NULL, _IONBF, 0) == 0; /* it must not read ahead then */
    return false;
#endif
}

bool line_ready(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return has_read_ahead() || feof(stdin) || poll(&input, 1, 0) != 0;
}

int line_wait(const neap_waker *waker) {
    if (has_read_ahead()) {
        return neap_interrupt_pending() ? LINE_SIGNAL : LINE_INPUT;
    }
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &before);
    struct pollfd watched[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                {.fd = waker != NULL ? neap_waker_fd(waker) : -1, .events = POLLIN}};
    int what = 0;
    if (!neap_interrupt_pending() && ppoll(watched, 2, NULL, &before) > 0) {
        what = (watched[0].revents != 0 ? LINE_INPUT : 0) | (watched[1].revents != 0 ? LINE_WOKEN : 0);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return neap_interrupt_pending() ? LINE_SIGNAL : what;
}
