/* line.c: waiting for input, for both editors and for Lua's reading functions; late text, for both editors.
 *
 * While a line is edited text of effects is diverted to a queue, so nobody else writes to the terminal. A wake tells of
 * such text, or that a callback waits. Callbacks run as a command does, with the streams given back, because they may
 * print and wait for that.
 */
#include "interp/line.h"

#include "effects/effects.h"

#include <errno.h>
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
    if (has_read_ahead())
        return neap_interrupt_pending() ? LINE_SIGNAL : LINE_INPUT;
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &before);
    struct pollfd watched[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                {.fd = waker ? neap_waker_fd(waker) : -1, .events = POLLIN}};
    int what = 0;
    if (!neap_interrupt_pending() && ppoll(watched, 2, NULL, &before) > 0)
        what = (watched[0].revents != 0 ? LINE_INPUT : 0) | (watched[1].revents != 0 ? LINE_WOKEN : 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return neap_interrupt_pending() ? LINE_SIGNAL : what;
}

/* ---- Late text --------------------------------------------------------------------------------------------------- */

void line_write(int fd, const char *text, size_t bytes) {
    while (bytes > 0) {
        ssize_t count = write(fd, text, bytes);
        if (count > 0) {
            text += count;
            bytes -= (size_t)count;
        } else if (errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
        if (neap_interrupt_pending())
            return;
    }
}

void line_begin(neap_waker *waker) {
    neap_out_drain();
    neap_out_divert(waker);
    if (neap_out_midline())
        line_write(STDOUT_FILENO, "\n", 1);
}

void line_attend(const line_setup *setup, void (*hide)(void), void (*show)(void)) {
    char text[4096];
    size_t bytes;
    int stream;
    bool hidden = false;
    neap_waker_clear(setup->waker);
    while ((bytes = neap_out_take(text, sizeof text, &stream)) > 0) {
        if (!hidden) {
            hide();
            hidden = true;
        }
        line_write(stream == NEAP_STDERR ? STDERR_FILENO : STDOUT_FILENO, text, bytes);
    }
    if (setup->callbacks_wait()) {
        if (!hidden) {
            hide();
            hidden = true;
        }
        neap_out_divert(NULL);
        setup->run_callbacks();
        line_begin(setup->waker);
        if (setup->callbacks_wait())
            neap_waker_wake(setup->waker); /* the others run after what was typed meanwhile */
    } else if (hidden && neap_out_midline()) {
        line_write(STDOUT_FILENO, "\n", 1);
    }
    if (hidden)
        show();
}
