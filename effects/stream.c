/* stream.c: the output streams and the thread that writes them.
 *
 *      out_write ──▶ [piece: stdout "a\nb\n"] ─ [piece: stderr "oops"] ─ [piece: stdout "c"] ──▶ writer ──▶ fd 1, fd 2
 *                     one queue for both streams: their mutual order is the order of the calls
 *
 * Text is appended under a lock, so one call's text is never torn; calls for the same stream share a piece while there
 * is room. The writer takes the front piece and writes it without the lock. It is the only thread that writes to the
 * descriptors: it copes with partial writes, waits where a descriptor does not block (EAGAIN), and is started by the
 * first text. It blocks all signals, so a reader that has gone gives EPIPE and not the signal SIGPIPE (a blocked
 * SIGPIPE belongs to the thread that caused it and stays pending there): the process keeps the disposition it had.
 * A stream that failed once drops all later text; neap_out_status then tells why, and the other stream goes on.
 *
 * While text is diverted (a prompt is shown) the writer rests and neap_out_take gets the text; neap_out_divert waits,
 * at most HANDOVER_MS, until the writer has returned from the write that it is in.
 *
 * The queue is counted in bytes: `queued` and `written` only grow, and everything up to `written` has been handed to
 * the system, taken, or dropped.
 */
#include "effects/effects.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine_internal.h"

enum { PIECE_BYTES = ENGINE_LIMIT(16 * 1024, 64), WRITE_MOST = ENGINE_LIMIT(64 * 1024, 48), HANDOVER_MS = 100 };

typedef struct piece {
    struct piece *next;
    int stream;
    size_t size, used, written;
    char text[];
} piece;

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t work, rest; /* there is something to write; something was written or diverted */
    piece *head, *tail, *spare;
    uint64_t queued, written; /* bytes, ever */
    engine_watch *watches;    /* on `written` */
    neap_waker *diverted;     /* NULL: the writer writes */
    bool started, idle, writing;
    _Atomic int failed[3]; /* errno by stream */
} out = {.mutex = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER, .rest = PTHREAD_COND_INITIALIZER};

/* ---- The writer -------------------------------------------------------------------------------------------------- */

/* Writes some of the text; waits while the descriptor does not take any. Returns bytes, or -1 with errno. */
static ssize_t write_some(int fd, const char *text, size_t bytes) {
    for (;;) {
        ssize_t count = write(fd, text, bytes < WRITE_MOST ? bytes : WRITE_MOST);
        if (count >= 0)
            return count;
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return -1;
        }
    }
}

/* Counts bytes of the front piece as done and removes it when it is used up. The caller holds the mutex. */
static void advance(size_t bytes) {
    piece *front = out.head;
    front->written += bytes;
    out.written += bytes;
    if (front->written < front->used)
        return;
    out.head = front->next;
    if (!out.head)
        out.tail = NULL;
    if (!out.spare && front->size == PIECE_BYTES) {
        out.spare = front;
    } else {
        free(front);
    }
}

/* Wakes those whose text is out. Called and left with the mutex held. */
static void announce(void) {
    engine_watch *due = engine_watch_take(&out.watches, out.written);
    if (!due)
        return;
    pthread_mutex_unlock(&out.mutex);
    engine_watch_fire(due);
    pthread_mutex_lock(&out.mutex);
}

/* Writes once from the front piece. Text may be appended to it meanwhile; nobody else removes it. */
static void write_front(void) {
    piece *front = out.head;
    size_t bytes = front->used - front->written;
    if (!out.failed[front->stream]) {
        const char *text = front->text + front->written;
        out.writing = true;
        pthread_mutex_unlock(&out.mutex);
        ssize_t count = write_some(front->stream, text, bytes);
        int error = count < 0 ? errno : 0;
        pthread_mutex_lock(&out.mutex);
        out.writing = false;
        if (error) {
            out.failed[front->stream] = error;
        } else {
            bytes = (size_t)count;
        }
    }
    advance(bytes);
    pthread_cond_broadcast(&out.rest);
    announce();
}

static void *writer_main(void *arg) {
    (void)arg;
    pthread_mutex_lock(&out.mutex);
    for (;;) {
        while (!out.head || out.diverted) {
            out.idle = true;
            pthread_cond_wait(&out.work, &out.mutex);
            out.idle = false;
        }
        write_front();
    }
    return NULL;
}

static void drain_at_exit(void) {
    neap_out_divert(NULL);
    neap_out_drain();
}

/* Starts the writer if it is not there yet. The caller holds the mutex. */
static int ensure_writer(void) {
    if (out.started)
        return NEAP_OK;
    pthread_t thread;
    if (!engine_thread_spawn(writer_main, NULL, "neap-writer", &thread)) {
        return neap_error(NEAP_E_STATE, "cannot start the writer thread");
    }
    pthread_detach(thread);
    atexit(drain_at_exit);
    out.started = true;
    return NEAP_OK;
}

/* ---- Appending --------------------------------------------------------------------------------------------------- */

/* A piece with room for the text at the end of the queue, or NULL. The caller holds the mutex. */
static piece *piece_for(int stream, size_t bytes) {
    piece *tail = out.tail;
    if (tail && tail->stream == stream && tail->size - tail->used >= bytes)
        return tail;
    piece *made = out.spare;
    size_t size = bytes > PIECE_BYTES ? bytes : PIECE_BYTES;
    if (made && size == PIECE_BYTES) {
        out.spare = NULL;
    } else {
        made = engine_alloc(sizeof *made + size);
        if (!made)
            return NULL;
    }
    *made = (piece){.stream = stream, .size = size};
    if (tail) {
        tail->next = made;
    } else {
        out.head = made;
    }
    out.tail = made;
    return made;
}

static int append(int stream, const char *text, size_t bytes) {
    if (!out.diverted) {
        int status = ensure_writer();
        if (status)
            return status;
    }
    piece *to = piece_for(stream, bytes);
    if (!to)
        return neap_error(NEAP_E_MEMORY, "no memory for %zu bytes of output", bytes);
    memcpy(to->text + to->used, text, bytes);
    to->used += bytes;
    out.queued += bytes;
    if (out.diverted) {
        neap_waker_wake(out.diverted);
    } else if (out.idle) {
        out.idle = false; /* one signal is enough */
        pthread_cond_signal(&out.work);
    }
    return NEAP_OK;
}

int neap_out_write(int stream, const char *text, size_t bytes) {
    int status = engine_check_alive();
    if (status)
        return status;
    if (stream != NEAP_STDOUT && stream != NEAP_STDERR)
        return neap_error(NEAP_E_ARGUMENT, "no stream %d", stream);
    if (bytes == 0)
        return NEAP_OK;
    pthread_mutex_lock(&out.mutex);
    if (!out.failed[stream])
        status = append(stream, text, bytes);
    pthread_mutex_unlock(&out.mutex);
    return status;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

int neap_out_status(void) {
    for (int stream = NEAP_STDOUT; stream <= NEAP_STDERR; stream++) {
        int error = out.failed[stream];
        if (!error)
            continue;
        char text[128];
        return neap_error(NEAP_E_IO, "%s: %s", stream == NEAP_STDOUT ? "stdout" : "stderr",
                          strerror_r(error, text, sizeof text));
    }
    return NEAP_OK;
}

int neap_out_poll(neap_waker *waker) {
    int status = engine_check_alive();
    if (status)
        return status;
    pthread_mutex_lock(&out.mutex);
    if (out.written < out.queued) {
        status = NEAP_PENDING;
        if (waker) {
            engine_watch *made = engine_alloc(sizeof *made);
            if (made) {
                free(engine_watch_add(&out.watches, made, waker, out.queued));
            } else {
                status = neap_error(NEAP_E_MEMORY, "no memory to wait for output");
            }
        }
    }
    pthread_mutex_unlock(&out.mutex);
    return status;
}

/* Diverted text is its taker's matter: waiting for it here could wait for the caller itself. */
void neap_out_drain(void) {
    if (engine_check_alive() != NEAP_OK)
        return;
    pthread_mutex_lock(&out.mutex);
    uint64_t target = out.queued;
    while (out.written < target && !out.diverted && out.started)
        pthread_cond_wait(&out.rest, &out.mutex);
    pthread_mutex_unlock(&out.mutex);
}

/* ---- Diverting --------------------------------------------------------------------------------------------------- */

void neap_out_divert(neap_waker *waker) {
    if (engine_check_alive() != NEAP_OK)
        return;
    if (waker)
        engine_waker_retain(waker);
    pthread_mutex_lock(&out.mutex);
    neap_waker *before = out.diverted;
    out.diverted = waker;
    if (waker) {
        struct timespec limit;
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_nsec += HANDOVER_MS * 1000000L;
        limit.tv_sec += limit.tv_nsec / 1000000000L;
        limit.tv_nsec %= 1000000000L;
        while (out.writing && pthread_cond_timedwait(&out.rest, &out.mutex, &limit) == 0)
            continue;
        if (out.head)
            neap_waker_wake(waker);
    } else if (out.head && ensure_writer() == NEAP_OK) {
        pthread_cond_signal(&out.work);
    }
    pthread_cond_broadcast(&out.rest);
    pthread_mutex_unlock(&out.mutex);
    neap_waker_free(before);
}

size_t neap_out_take(char *text, size_t capacity) {
    size_t taken = 0;
    if (engine_phase() == ENGINE_DEAD)
        return 0;
    pthread_mutex_lock(&out.mutex);
    while (taken < capacity && out.diverted && out.head && !out.writing) {
        piece *front = out.head;
        size_t bytes = front->used - front->written;
        if (bytes > capacity - taken)
            bytes = capacity - taken;
        memcpy(text + taken, front->text + front->written, bytes);
        taken += bytes;
        advance(bytes);
    }
    announce();
    pthread_mutex_unlock(&out.mutex);
    return taken;
}
