/* child.c: children with pipes, and the thread of each.
 *
 *      input ──▶ pipe ──▶ standard input │ child │ standard output, error ──▶ pipes ──▶ outputs[0], outputs[1]
 *
 * The thread sleeps in poll() on the pipes and on an eventfd that neap_child_free writes to. It owns everything of the
 * child but `ended` and `waker`, which the lock guards, until it has set `ended`; whoever sees that may read the rest.
 * Where the system gives no thread, neap_child_start does its work. What the child wrote beyond MOST_OUTPUT bytes is
 * dropped: a program that never stops writing does not take all memory. Bytes that were lost, so or by a refused call,
 * make an error of the call: neap_child_poll returns it.
 */
#include "engine/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine_internal.h"
#include "engine/pipes.h"

extern char **environ;

enum { PIECE = 1 << 16 };
static const size_t MOST_OUTPUT = (size_t)1 << 30;

typedef struct child_text {
    char *data;
    size_t bytes, capacity;
} child_text;

struct neap_child {
    pid_t pid;
    int input_fd, output_fds[2], stop_fd; /* -1: closed */
    char *input;
    size_t input_bytes, input_done;
    child_text outputs[2];
    char program[32]; /* for errors */
    int status;
    int failure; /* errno: bytes to or from the child are lost; 0: none */
    pthread_t thread;
    bool apart; /* the thread is there; else the child had ended when neap_child_start returned */
    engine_lock lock;
    bool ended;
    neap_waker *waker; /* to be woken when it has ended; NULL: nobody waits */
};

static void child_close(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void child_dispose(neap_child *child) {
    child_close(&child->input_fd);
    for (int k = 0; k < 2; k++) {
        child_close(&child->output_fds[k]);
        free(child->outputs[k].data);
    }
    child_close(&child->stop_fd);
    free(child->input);
    free(child);
}

static void child_append(neap_child *child, int stream, const char *data, size_t bytes) {
    child_text *text = &child->outputs[stream];
    if (text->bytes + bytes > text->capacity) {
        size_t capacity = text->capacity ? text->capacity * 2 : PIECE;
        char *grown = capacity > MOST_OUTPUT ? NULL : realloc(text->data, capacity);
        if (!grown) {
            child->failure = capacity > MOST_OUTPUT ? EFBIG : ENOMEM;
            return;
        }
        text->data = grown;
        text->capacity = capacity;
    }
    memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;
}

static void child_read(neap_child *child, int stream, char *piece) {
    ssize_t count = read(child->output_fds[stream], piece, PIECE);
    if (count > 0) {
        child_append(child, stream, piece, (size_t)count);
        return;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count < 0)
        child->failure = errno;
    child_close(&child->output_fds[stream]);
}

/* A child that does not read to the end ends its input; that is no failure. */
static void child_write(neap_child *child) {
    size_t left = child->input_bytes - child->input_done;
    ssize_t count = write(child->input_fd, child->input + child->input_done, left);
    if (count > 0)
        child->input_done += (size_t)count;
    bool failed = count < 0 && errno != EAGAIN && errno != EINTR;
    if (failed && errno != EPIPE)
        child->failure = errno;
    if (failed || child->input_done == child->input_bytes)
        child_close(&child->input_fd);
}

/* Whether somebody has said so; without a thread Ctrl-C does, whose signal ends a poll(). */
static bool is_unwanted(const neap_child *child, short told) {
    return told || (!child->apart && neap_interrupt_pending());
}

/* Moves bytes until both outputs are closed. False: the child is not wanted any more. */
static bool child_move(neap_child *child) {
    char piece[PIECE];
    while (child->output_fds[0] >= 0 || child->output_fds[1] >= 0) {
        struct pollfd fds[] = {{.fd = child->stop_fd, .events = POLLIN},
                               {.fd = child->input_fd, .events = POLLOUT},
                               {.fd = child->output_fds[0], .events = POLLIN},
                               {.fd = child->output_fds[1], .events = POLLIN}};
        int ready = poll(fds, 4, -1);
        if (is_unwanted(child, fds[0].revents))
            return false;
        if (ready < 0)
            continue;
        if (fds[1].revents)
            child_write(child);
        for (int k = 0; k < 2; k++) {
            if (fds[2 + k].revents)
                child_read(child, k, piece);
        }
    }
    return true;
}

/* Whether the child ends before it is not wanted any more: it may run on after it has closed its output. */
static bool child_wait(neap_child *child) {
    struct pollfd stop = {.fd = child->stop_fd, .events = POLLIN};
    for (int pause = 1;; pause = pause < 50 ? pause * 2 : 50) {
        pid_t found = waitpid(child->pid, &child->status, WNOHANG);
        if (found == child->pid || (found < 0 && errno != EINTR))
            return true;
        poll(&stop, 1, pause);
        if (is_unwanted(child, stop.revents))
            return false;
    }
}

static void *child_main(void *argument) {
    neap_child *child = argument;
    if (!child_move(child) || !child_wait(child)) {
        kill(-child->pid, SIGKILL);
        while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
            ;
    }
    engine_lock_take(&child->lock);
    child->ended = true;
    if (child->waker)
        neap_waker_wake(child->waker);
    engine_lock_drop(&child->lock);
    return NULL;
}

/* Does the work of the missing thread. */
static void serve_child(neap_child *child) {
    sigset_t before;
    engine_thread_tell_missing();
    engine_pipes_guard(&before);
    child_main(child);
    engine_pipes_release(&before);
}

/* Starts the program with the ends of the pipes that are its own. Returns 0 or errno. */
static int child_spawn(neap_child *child, const char *const *words, const int *ends) {
    posix_spawnattr_t how;
    posix_spawn_file_actions_t files;
    sigset_t mask, defaults;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sigdelset(&mask, SIGINT);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGPIPE);
    int error = posix_spawnattr_init(&how);
    if (error)
        return error;
    error = posix_spawn_file_actions_init(&files);
    if (!error) {
        for (int k = 0; k < 3 && !error; k++)
            error = posix_spawn_file_actions_adddup2(&files, ends[k], k);
        posix_spawnattr_setsigmask(&how, &mask);
        posix_spawnattr_setsigdefault(&how, &defaults);
        posix_spawnattr_setpgroup(&how, 0);
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
        if (!error)
            error = posix_spawnp(&child->pid, words[0], &files, &how, (char *const *)words, environ);
        posix_spawn_file_actions_destroy(&files);
    }
    posix_spawnattr_destroy(&how);
    return error;
}

/* A pipe of which the end `own` (0: reading, 1: writing) is this process's and does not block. Numbers below 3 are the
 * child's own, where a process has closed its standard streams. */
static int child_pipe(int own, int *mine, int *theirs) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    for (int k = 0; k < 2; k++) {
        if (ends[k] > 2)
            continue;
        int moved = fcntl(ends[k], F_DUPFD_CLOEXEC, 3);
        if (moved >= 0)
            close(ends[k]);
        ends[k] = moved >= 0 ? moved : ends[k];
    }
    *mine = ends[own];
    *theirs = ends[1 - own];
    fcntl(*mine, F_SETFL, O_NONBLOCK);
    return 0;
}

static int child_open(neap_child *child, const char *const *words) {
    int ends[3] = {-1, -1, -1};
    int error = child_pipe(1, &child->input_fd, &ends[0]);
    for (int k = 0; k < 2 && !error; k++)
        error = child_pipe(0, &child->output_fds[k], &ends[1 + k]);
    child->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (!error && child->stop_fd < 0)
        error = errno;
    if (!error)
        error = child_spawn(child, words, ends);
    for (int k = 0; k < 3; k++)
        child_close(&ends[k]);
    return error;
}

int neap_child_start(const char *const *words, const void *input, size_t bytes, neap_child **out) {
    neap_child *child = calloc(1, sizeof *child);
    if (!child)
        return neap_error(NEAP_E_MEMORY, "no memory to run '%s'", words[0]);
    child->input_fd = child->output_fds[0] = child->output_fds[1] = child->stop_fd = -1;
    child->input = malloc(bytes ? bytes : 1);
    if (!child->input) {
        child_dispose(child);
        return neap_error(NEAP_E_MEMORY, "no memory for the input of '%s', %zu bytes", words[0], bytes);
    }
    if (bytes)
        memcpy(child->input, input, bytes);
    child->input_bytes = bytes;
    snprintf(child->program, sizeof child->program, "%s", words[0]);
    int error = child_open(child, words);
    if (error) {
        child_dispose(child);
        return neap_error(error == ENOENT ? NEAP_E_LIBRARY : NEAP_E_IO, "cannot run '%s': %s", words[0],
                          strerror(error));
    }
    child->apart = true;
    if (engine_thread_spawn(child_main, child, "neap child", &child->thread) != NEAP_OK) {
        child->apart = false;
        serve_child(child);
    }
    *out = child;
    return NEAP_OK;
}

int neap_child_poll(neap_child *child, neap_waker *waker) {
    engine_lock_take(&child->lock);
    bool ended = child->ended;
    child->waker = ended ? NULL : waker;
    engine_lock_drop(&child->lock);
    if (!ended)
        return NEAP_PENDING;
    return child->failure ? neap_error(NEAP_E_IO, "what '%s' was given, or wrote, is lost in part: %s", child->program,
                                       strerror(child->failure))
                          : NEAP_OK;
}

int neap_child_status(const neap_child *child) {
    return child->status;
}

const char *neap_child_output(const neap_child *child, int stream, size_t *bytes) {
    const child_text *text = &child->outputs[stream == 2];
    *bytes = text->bytes;
    return text->data ? text->data : "";
}

void neap_child_free(neap_child *child) {
    if (!child)
        return;
    uint64_t one = 1;
    if (write(child->stop_fd, &one, sizeof one) < 0)
        kill(-child->pid, SIGKILL); /* it cannot be full; were it, this would end the child too */
    if (child->apart)
        pthread_join(child->thread, NULL);
    child_dispose(child);
}
