/* line.c: waiting for input, for both editors. */
#include "interp/line.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

int line_wait(const neap_waker *waker) {
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
