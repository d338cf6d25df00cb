/* line.c: waiting for input, for both editors and for Lua's reading functions; late text, for both editors; the modes
 * of the terminal while an editor has taken it over.
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
#include <stdlib.h>
#include <string.h>
#include <termios.h>
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

/* ---- The terminal's modes ---------------------------------------------------------------------------------------- */

static struct termios modes;                 /* of the terminal, when nobody edits a line */
static volatile sig_atomic_t taken;          /* an editor has other modes set */
static const char *volatile leave_text;      /* what ends those that are set by text */
static volatile sig_atomic_t window_changed; /* since the last wait */
static volatile sig_atomic_t resumed;        /* the process was stopped while a line was edited, and goes on */
static struct sigaction stop_before, resume_before, window_before;

void line_restore_terminal(void) {
    if (!taken)
        return;
    taken = 0;
    if (write(STDOUT_FILENO, leave_text, strlen(leave_text)) < 0)
        taken = 0; /* the terminal is gone */
    tcsetattr(STDIN_FILENO, TCSANOW, &modes);
}

/* SIGTSTP's handler while a line is edited: the process stops with the terminal in order. */
static void on_stop(int signal_number) {
    int error = errno;
    struct sigaction mine, usual = {.sa_handler = SIG_DFL};
    sigset_t stop, before;
    line_restore_terminal();
    sigaction(signal_number, &usual, &mine);
    sigemptyset(&stop);
    sigaddset(&stop, signal_number);
    raise(signal_number);
    pthread_sigmask(SIG_UNBLOCK, &stop, &before); /* here it stops, until SIGCONT */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(signal_number, &mine, NULL);
    errno = error;
}

static void on_resume(int signal_number) {
    (void)signal_number;
    resumed = 1;
}

/* It ends the wait, after which the editor looks how large the window is. */
static void on_window(int signal_number) {
    (void)signal_number;
    window_changed = 1;
}

void line_take_terminal(const char *leave) {
    struct sigaction action = {.sa_handler = on_stop};
    sigemptyset(&action.sa_mask);
    leave_text = leave;
    resumed = 0;
    taken = tcgetattr(STDIN_FILENO, &modes) == 0;
    sigaction(SIGTSTP, NULL, &stop_before);
    if (stop_before.sa_handler == SIG_DFL)
        sigaction(SIGTSTP, &action, NULL);
    action.sa_handler = on_resume;
    sigaction(SIGCONT, &action, &resume_before);
    action.sa_handler = on_window;
    sigaction(SIGWINCH, &action, &window_before);
}

void line_give_terminal(void) {
    taken = 0;
    sigaction(SIGTSTP, &stop_before, NULL);
    sigaction(SIGCONT, &resume_before, NULL);
    sigaction(SIGWINCH, &window_before, NULL);
}

bool line_resumed(void) {
    bool was = resumed != 0;
    resumed = 0;
    taken = taken || was;
    return was;
}

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static void set_key_modes(void) {
    struct termios keys = modes;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &keys);
}

bool line_keys_begin(const char *leave) {
    if (taken || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetpgrp(STDIN_FILENO) != getpgrp())
        return false;
    line_take_terminal(leave);
    set_key_modes();
    return true;
}

void line_keys_end(void) {
    line_restore_terminal();
    line_give_terminal();
}

int line_read_keys(char *out, size_t room, bool *again) {
    size_t count = 0;
    *again = line_resumed();
    if (*again)
        set_key_modes();
    while (count < room && has_read_ahead())
        out[count++] = (char)getc(stdin);
    if (count > 0)
        return (int)count;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&input, 1, 0) <= 0)
        return 0;
    ssize_t got = read(STDIN_FILENO, out, room);
    return got > 0 ? (int)got : got < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : -1;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

int line_wait(const neap_waker *waker) {
    if (has_read_ahead())
        return neap_interrupt_pending() ? LINE_SIGNAL : LINE_INPUT;
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigaddset(&interrupt, SIGCONT);
    sigaddset(&interrupt, SIGWINCH);
    pthread_sigmask(SIG_BLOCK, &interrupt, &before);
    struct pollfd watched[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                {.fd = waker ? neap_waker_fd(waker) : -1, .events = POLLIN}};
    int what = 0;
    if (!neap_interrupt_pending() && !resumed && !window_changed && ppoll(watched, 2, NULL, &before) > 0)
        what = (watched[0].revents != 0 ? LINE_INPUT : 0) | (watched[1].revents != 0 ? LINE_WOKEN : 0);
    window_changed = 0; /* who waited looks at its size now */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return neap_interrupt_pending() ? LINE_SIGNAL : what;
}

/* ---- Late text --------------------------------------------------------------------------------------------------- */

/* Writes text; `stops`: up to Ctrl-C. */
static void write_text(int fd, const char *text, size_t bytes, bool stops) {
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
        if (stops && neap_interrupt_pending())
            return;
    }
}

void line_write(int fd, const char *text, size_t bytes) {
    write_text(fd, text, bytes, true);
}

void line_send(int fd, const char *text, size_t bytes) {
    write_text(fd, text, bytes, false);
}

line_status line_lost(void) {
    static const char text[] = "there is no memory for the line, which is dropped\n";
    line_write(STDERR_FILENO, text, sizeof text - 1);
    return LINE_INTERRUPTED;
}

line_status line_read_block(const line_setup *setup, line_status (*read)(const char *prompt, char **text),
                            const char *prompt, char **block) {
    line_status status = read(prompt, block);
    while (status == LINE_OK && setup->incomplete(*block)) {
        char *line, *joined = NULL;
        status = read(LINE_MORE, &line);
        if (status == LINE_END)
            return LINE_OK; /* the error of what there is tells what is missing */
        if (status == LINE_OK) {
            if (asprintf(&joined, "%s\n%s", *block, line) < 0)
                joined = NULL;
            free(line);
        }
        free(*block);
        *block = joined;
        if (status == LINE_OK && !joined)
            return line_lost();
    }
    return status;
}

void line_begin(neap_waker *waker) {
    neap_out_drain();
    neap_out_divert(waker, 0);
    if (neap_out_midline())
        line_write(STDOUT_FILENO, "\n", 1);
}

void line_attend(const line_setup *setup, void (*hide)(void), void (*show)(void)) {
    enum { AT_ONCE = 1 << 16 }; /* bytes: then it is the turn of keys */
    char text[4096];
    size_t bytes, taken = 0;
    int stream;
    bool hidden = false;
    neap_waker_clear(setup->waker);
    while (taken < AT_ONCE && !neap_interrupt_pending() &&
           (bytes = neap_out_take(text, sizeof text, &stream, NULL)) > 0) {
        if (!hidden) {
            hide();
            hidden = true;
        }
        line_write(stream == NEAP_STDERR ? STDERR_FILENO : STDOUT_FILENO, text, bytes);
        taken += bytes;
    }
    if (taken >= AT_ONCE)
        neap_waker_wake(setup->waker);
    if (setup->callbacks_wait()) {
        if (!hidden) {
            hide();
            hidden = true;
        }
        neap_out_divert(NULL, 0);
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
