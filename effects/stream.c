/* stream.c: the output streams and the thread that writes them.
 *
 *      out_write ──▶ [piece: stdout "a\nb\n"] ─ [piece: stderr "oops"] ─ [piece: a log "c"] ──▶ writer ──▶ descriptors
 *                     one queue for all streams: their mutual order is the order of the calls
 *
 * Text is appended under a lock, so one call's text is never torn; calls for the same stream share a piece while there
 * is room. The writer takes the front piece and writes it without the lock: it copes with partial writes, waits where a
 * descriptor does not block (EAGAIN), and is started by the first text. It blocks all signals, so a reader that has
 * gone gives EPIPE and not the signal SIGPIPE (a blocked SIGPIPE belongs to the thread that caused it and stays pending
 * there): the process keeps the disposition it had.
 *
 * Text that finds no memory is written by the caller, once what stands before it is out; so is all text if the system
 * gives no thread for the writer. Then a caller waits for who reads the output, and nothing is lost without a word.
 *
 * A stream that failed once drops all later text; neap_out_status tells of it once, and the other streams go on.
 *
 * While text is diverted (a prompt is shown) the writer leaves stdout and stderr alone, and neap_out_take gets their
 * text; neap_out_divert waits, at most HANDOVER_MS, until the writer has returned from the write that it is in.
 *
 * Text of different sources stands in different pieces, so that its taker can tell whose it is.
 *
 * The queue is counted in bytes: `queued` and `written` only grow; text is written, taken, or dropped. `held` is the
 * memory of its pieces. Appending is never refused: whoever can pause asks neap_out_capacity, or waits for it. What is
 * queued when Ctrl-C is pressed is written all the same: so the queue is small.
 */
#include "effects/effects.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/engine_internal.h"
#include "engine/pipes.h"

enum {
    PIECE_BYTES = ENGINE_LIMIT(16 * 1024, 64),
    BRIEF_BYTES = ENGINE_LIMIT(256, 32), /* of a piece where streams alternate */
    WRITE_MOST = ENGINE_LIMIT(64 * 1024, 48),
    HELD_MOST = ENGINE_LIMIT(256 * 1024, 16 * 1024),
    HANDOVER_MS = 100
};

typedef struct stream {
    struct stream *next;
    const char *name;
    int number, fd;
    int error;        /* errno of the write that failed; 0: none did */
    bool told;        /* neap_out_status has told of it */
    bool closing;     /* takes no more text */
    bool closed;      /* its descriptor is closed */
    uint64_t pending; /* bytes in the queue */
} stream;

typedef struct stream_piece {
    struct stream_piece *next, *previous;
    stream *to;
    uint32_t source;
    size_t size, used, written;
    char text[];
} stream_piece;

static stream standard[] = {{.next = &standard[1], .name = "stdout", .number = NEAP_STDOUT, .fd = STDOUT_FILENO},
                            {.name = "stderr", .number = NEAP_STDERR, .fd = STDERR_FILENO}};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t work, rest; /* there is something to write; something was written or diverted */
    stream *streams;           /* by rising number */
    int last_number;
    stream_piece *head, *tail, *spare;
    uint64_t queued, written; /* bytes, ever */
    size_t held;
    engine_watch *watches; /* on `written` */
    engine_watch *room;    /* on `held` having become small */
    neap_waker *diverted;  /* NULL: the writer writes all streams */
    bool apart;            /* another thread takes diverted text than `taker`, which diverts it */
    pthread_t taker;
    uint64_t most; /* of `queued`, for those who ask for room; 0: there is no such limit */
    stream_piece *writing;
    bool started, idle;
    bool alone;   /* there is no writer, and will be none: the callers write */
    bool through; /* a caller writes, and nobody else does meanwhile */
    bool midline; /* the last text of stdout and stderr did not end its line */
} out = {.mutex = PTHREAD_MUTEX_INITIALIZER,
         .work = PTHREAD_COND_INITIALIZER,
         .rest = PTHREAD_COND_INITIALIZER,
         .streams = standard,
         .last_number = NEAP_STDERR};

static _Thread_local uint32_t own_source;

/* ---- The queue --------------------------------------------------------------------------------------------------- */
/* The caller of these holds the mutex. */

static bool is_diverted(const stream *to) {
    return out.diverted && to->number <= NEAP_STDERR;
}

/* The first piece for the writer, or for whom text is diverted to. */
static stream_piece *first_piece(bool diverted) {
    stream_piece *at = out.head;
    while (at && is_diverted(at->to) != diverted)
        at = at->next;
    return at;
}

static void remove_piece(stream_piece *gone) {
    *(gone->previous ? &gone->previous->next : &out.head) = gone->next;
    *(gone->next ? &gone->next->previous : &out.tail) = gone->previous;
    out.held -= sizeof *gone + gone->size;
    if (!out.spare && gone->size == PIECE_BYTES) {
        out.spare = gone;
    } else {
        free(gone);
    }
}

/* Counts bytes of the piece as done and removes it when it is used up. */
static void count_written(stream_piece *front, size_t bytes) {
    front->written += bytes;
    if (bytes > 0 && front->to->number <= NEAP_STDERR)
        out.midline = front->text[front->written - 1] != '\n';
    front->to->pending -= bytes;
    out.written += bytes;
    if (front->written == front->used)
        remove_piece(front);
}

/* Wakes those whose text is out, and those who wait for room. Called and left with the mutex held. */
static void announce(void) {
    engine_watch *due = engine_watch_take(&out.watches, out.written), *room = NULL;
    if (out.held <= HELD_MOST / 2)
        room = engine_watch_take(&out.room, 0);
    pthread_cond_broadcast(&out.rest);
    if (!due && !room)
        return;
    pthread_mutex_unlock(&out.mutex);
    engine_watch_fire(due);
    engine_watch_fire(room);
    pthread_mutex_lock(&out.mutex);
}

/* Forgets a stream. */
static void remove_stream(stream *gone) {
    stream **link = &out.streams;
    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    free(gone);
}

/* Closes the descriptor of a stream that is closing and whose text is out; the mutex is dropped meanwhile. A stream
 * that failed stays until neap_out_status has told of it. */
static void retire(stream *done) {
    pthread_mutex_unlock(&out.mutex);
    int error = close(done->fd) != 0 && errno != EINTR ? errno : 0;
    pthread_mutex_lock(&out.mutex);
    done->closed = true;
    if (!done->error)
        done->error = error;
    if (!done->error || done->told)
        remove_stream(done);
}

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

/* Writes once from the piece. Text may be appended to it meanwhile; nobody else removes it. */
static void write_piece(stream_piece *front) {
    stream *to = front->to;
    size_t bytes = front->used - front->written;
    if (!to->error) {
        const char *text = front->text + front->written;
        out.writing = front;
        pthread_mutex_unlock(&out.mutex);
        ssize_t count = write_some(to->fd, text, bytes);
        int error = count < 0 ? errno : 0;
        pthread_mutex_lock(&out.mutex);
        out.writing = NULL;
        if (error) {
            to->error = error;
        } else {
            bytes = (size_t)count;
        }
    }
    count_written(front, bytes);
    if (to->closing && to->pending == 0) {
        retire(to);
    } else if (is_diverted(to) && first_piece(true)) {
        neap_waker_wake(out.diverted); /* this write was too slow for the handover, and nothing could be taken */
    }
    announce();
}

static void *stream_writer_main(void *arg) {
    (void)arg;
    pthread_mutex_lock(&out.mutex);
    for (;;) {
        stream_piece *front = out.through ? NULL : first_piece(false);
        if (front) {
            write_piece(front);
        } else {
            out.idle = true;
            pthread_cond_wait(&out.work, &out.mutex);
            out.idle = false;
        }
    }
    return NULL;
}

static void drain_at_exit(void) {
    neap_out_divert(NULL, 0);
    neap_out_drain();
}

/* Starts the writer if it is not there yet. The caller holds the mutex. */
static void ensure_writer(void) {
    if (out.started || out.alone)
        return;
    pthread_t thread;
    atexit(drain_at_exit);
    out.started = engine_thread_spawn(stream_writer_main, NULL, "neap-writer", &thread) == NEAP_OK;
    out.alone = !out.started;
    if (out.started)
        pthread_detach(thread);
    else
        engine_thread_tell_missing();
}

/* ---- Writing without it ------------------------------------------------------------------------------------------ */
/* Called and left with the mutex held, which is dropped meanwhile. */

/* Waits until what the writer may write is out, and keeps it and other callers from writing. */
static void begin_through(sigset_t *before) {
    while (out.through || out.writing || (out.started && first_piece(false)))
        pthread_cond_wait(&out.rest, &out.mutex);
    out.through = true;
    engine_pipes_guard(before);
}

static void end_through(const sigset_t *before) {
    engine_pipes_release(before);
    out.through = false;
    pthread_cond_signal(&out.work);
    announce();
}

/* Writes what waits for the writer that there is not. */
static void write_queue(void) {
    sigset_t before;
    begin_through(&before);
    for (stream_piece *front; (front = first_piece(false));)
        write_piece(front);
    end_through(&before);
}

/* Writes text that is in no piece. */
static void write_through(stream *to, const char *text, size_t bytes) {
    sigset_t before;
    to->pending += bytes; /* keeps it open */
    begin_through(&before);
    for (size_t done = 0; done < bytes && !to->error;) {
        pthread_mutex_unlock(&out.mutex);
        ssize_t count = write_some(to->fd, text + done, bytes - done);
        int error = count < 0 ? errno : 0;
        pthread_mutex_lock(&out.mutex);
        to->error = error;
        done += error ? 0 : (size_t)count;
    }
    if (to->number <= NEAP_STDERR && !to->error)
        out.midline = text[bytes - 1] != '\n';
    to->pending -= bytes;
    if (to->closing && to->pending == 0)
        retire(to);
    end_through(&before);
}

/* ---- Appending --------------------------------------------------------------------------------------------------- */

/* A piece with room for the text at the end of the queue, or NULL. The caller holds the mutex. */
static stream_piece *piece_for(stream *to, size_t bytes) {
    stream_piece *tail = out.tail;
    if (tail && tail->to == to && tail->source == own_source && tail->size - tail->used >= bytes)
        return tail;
    size_t size = tail && (tail->to != to || tail->source != own_source) ? BRIEF_BYTES : PIECE_BYTES;
    if (bytes > size)
        size = bytes;
    stream_piece *made = size == PIECE_BYTES ? out.spare : NULL;
    if (made) {
        out.spare = NULL;
    } else {
        made = engine_alloc(sizeof *made + size);
        if (!made)
            return NULL;
    }
    *made = (stream_piece){.previous = tail, .to = to, .source = own_source, .size = size};
    *(tail ? &tail->next : &out.head) = made;
    out.tail = made;
    out.held += sizeof *made + size;
    return made;
}

static void append_to_stream(stream *to, const char *text, size_t bytes) {
    if (!is_diverted(to))
        ensure_writer();
    stream_piece *at = out.alone && !is_diverted(to) ? NULL : piece_for(to, bytes);
    if (!at) {
        write_through(to, text, bytes);
        return;
    }
    memcpy(at->text + at->used, text, bytes);
    at->used += bytes;
    to->pending += bytes;
    out.queued += bytes;
    if (is_diverted(to)) {
        neap_waker_wake(out.diverted);
    } else if (out.idle) {
        out.idle = false; /* one signal is enough */
        pthread_cond_signal(&out.work);
    }
}

/* The stream of this number, or NULL. The caller holds the mutex. */
static stream *find_stream(int number) {
    stream *at = out.streams;
    while (at && (at->number != number || at->closing))
        at = at->next;
    return at;
}

int neap_out_write(int number, const char *text, size_t bytes) {
    int status = engine_check_alive();
    if (status)
        return status;
    pthread_mutex_lock(&out.mutex);
    stream *to = find_stream(number);
    if (!to) {
        status = neap_error(NEAP_E_ARGUMENT, "no stream %d", number);
    } else if (bytes > 0 && !to->error) {
        append_to_stream(to, text, bytes);
    }
    pthread_mutex_unlock(&out.mutex);
    return status;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* Opens without waiting (for the reader of a named pipe), and never takes the place of a standard stream that is
 * closed. Negative: errno. */
static int open_file(const char *path, int append_to_it) {
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (append_to_it ? O_APPEND : O_TRUNC);
    int fd = open(path, flags, 0666);
    if (fd < 0 || fd > STDERR_FILENO)
        return fd < 0 ? -errno : fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int error = errno;
    close(fd);
    return moved < 0 ? -error : moved;
}

int neap_out_open(const char *path, int append_to_it, int *number) {
    int status = engine_check_alive();
    if (status)
        return status;
    size_t bytes = strlen(path) + 1;
    stream *made = engine_alloc(sizeof *made + bytes);
    if (!made)
        return neap_error(NEAP_E_MEMORY, "no memory for a stream");
    int fd = open_file(path, append_to_it);
    if (fd < 0) {
        char text[128];
        free(made);
        return neap_error(NEAP_E_IO, "cannot open '%s': %s", path, strerror_r(-fd, text, sizeof text));
    }
    *made = (stream){.name = memcpy(made + 1, path, bytes), .fd = fd};
    pthread_mutex_lock(&out.mutex);
    made->number = ++out.last_number; /* never used again: a late effect must not write to another file */
    stream **link = &out.streams;
    while (*link)
        link = &(*link)->next;
    *link = made;
    *number = made->number;
    pthread_mutex_unlock(&out.mutex);
    return NEAP_OK;
}

int neap_out_close(int number) {
    int status = engine_check_alive();
    if (status)
        return status;
    pthread_mutex_lock(&out.mutex);
    stream *done = number > NEAP_STDERR ? find_stream(number) : NULL;
    if (!done) {
        status = neap_error(NEAP_E_ARGUMENT, "no file is open as stream %d", number);
    } else {
        done->closing = true;
        if (done->pending == 0)
            retire(done);
    }
    pthread_mutex_unlock(&out.mutex);
    return status;
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

int neap_out_status(void) {
    int status = engine_check_alive();
    if (status)
        return status;
    pthread_mutex_lock(&out.mutex);
    stream *failed = out.streams;
    while (failed && (!failed->error || failed->told))
        failed = failed->next;
    if (failed) {
        char text[128];
        status = neap_error(NEAP_E_IO, "%s: %s", failed->name, strerror_r(failed->error, text, sizeof text));
        failed->told = true;
        if (failed->closed)
            remove_stream(failed);
    }
    pthread_mutex_unlock(&out.mutex);
    return status;
}

/* A stream of this number that has failed, or NULL. The caller holds the mutex. */
static stream *find_failed(int number) {
    stream *of = out.streams;
    while (of && (of->number != number || !of->error))
        of = of->next;
    return of;
}

int neap_out_errno(int number) {
    if (engine_check_alive() != NEAP_OK)
        return 0;
    pthread_mutex_lock(&out.mutex);
    const stream *of = find_failed(number);
    int error = of ? of->error : 0;
    pthread_mutex_unlock(&out.mutex);
    return error;
}

int neap_out_failure(int number) {
    int status = engine_check_alive();
    if (status)
        return status;
    pthread_mutex_lock(&out.mutex);
    stream *of = find_failed(number);
    char text[128];
    if (of) {
        status = neap_error(NEAP_E_IO, "%s: %s", of->name, strerror_r(of->error, text, sizeof text));
        of->told = true;
    }
    pthread_mutex_unlock(&out.mutex);
    return status;
}

/* Puts a watch on the list if `pending` (of which the caller tells under the mutex, which it holds). */
static int watch_output(bool pending, engine_watch **list, neap_waker *waker, uint64_t target) {
    if (!pending || !waker)
        return pending ? NEAP_PENDING : NEAP_OK;
    engine_watch *made = engine_watch_new(waker);
    if (made)
        free(engine_watch_add(list, made, waker, target));
    return NEAP_PENDING;
}

int neap_out_poll(neap_waker *waker) {
    int status = engine_check_alive();
    if (status)
        return status;
    pthread_mutex_lock(&out.mutex);
    status = watch_output(out.written < out.queued, &out.watches, waker, out.queued);
    pthread_mutex_unlock(&out.mutex);
    return status;
}

uint32_t neap_out_set_source(uint32_t source) {
    uint32_t before = own_source;
    own_source = source;
    return before;
}

uint32_t neap_out_source(void) {
    return own_source;
}

/* For the taker of diverted text there is always room: it may be the one who asks. The caller holds the mutex. */
static bool is_full(void) {
    if (out.most && out.queued >= out.most)
        return true;
    return out.held > HELD_MOST && (!out.diverted || out.apart || !pthread_equal(out.taker, pthread_self()));
}

int neap_out_capacity(neap_waker *waker) {
    int status = engine_check_alive();
    if (status)
        return status;
    pthread_mutex_lock(&out.mutex);
    status = watch_output(is_full(), &out.room, waker, 0);
    pthread_mutex_unlock(&out.mutex);
    return status;
}

/* The time of day in `ms`, at most a second. */
static struct timespec moment_in(int ms) {
    struct timespec moment;
    clock_gettime(CLOCK_REALTIME, &moment);
    moment.tv_nsec += ms * 1000000L;
    moment.tv_sec += moment.tv_nsec / 1000000000L;
    moment.tv_nsec %= 1000000000L;
    return moment;
}

int neap_out_await_capacity(int ms) {
    int status = engine_check_alive();
    if (status)
        return status;
    pthread_mutex_lock(&out.mutex);
    if (is_full()) {
        struct timespec limit = moment_in(ms);
        while (is_full() && pthread_cond_timedwait(&out.rest, &out.mutex, &limit) == 0)
            continue;
    }
    status = is_full() ? NEAP_PENDING : NEAP_OK;
    pthread_mutex_unlock(&out.mutex);
    return status;
}

void neap_out_allow(int64_t bytes) {
    if (engine_check_alive() != NEAP_OK)
        return;
    pthread_mutex_lock(&out.mutex);
    out.most = bytes < 0 ? 0 : out.queued + (uint64_t)bytes + 1;
    announce();
    pthread_mutex_unlock(&out.mutex);
}

int neap_out_midline(void) {
    if (engine_check_alive() != NEAP_OK)
        return 0;
    pthread_mutex_lock(&out.mutex);
    int midline = out.midline;
    pthread_mutex_unlock(&out.mutex);
    return midline;
}

uint64_t neap_out_waiting(void) {
    if (engine_check_alive() != NEAP_OK)
        return 0;
    pthread_mutex_lock(&out.mutex);
    uint64_t bytes = out.queued - out.written;
    pthread_mutex_unlock(&out.mutex);
    return bytes;
}

/* Diverted text is its taker's matter: waiting for it here could wait for the caller itself. */
void neap_out_drain(void) {
    if (engine_check_alive() != NEAP_OK)
        return;
    pthread_mutex_lock(&out.mutex);
    uint64_t target = out.queued;
    if (out.alone && first_piece(false))
        write_queue();
    while (out.written < target && out.started && first_piece(false))
        pthread_cond_wait(&out.rest, &out.mutex);
    pthread_mutex_unlock(&out.mutex);
}

/* ---- Diverting --------------------------------------------------------------------------------------------------- */

void neap_out_divert(neap_waker *waker, int apart) {
    if (engine_check_alive() != NEAP_OK)
        return;
    if (waker)
        engine_waker_retain(waker);
    pthread_mutex_lock(&out.mutex);
    neap_waker *before = out.diverted;
    out.diverted = waker;
    out.apart = apart;
    out.taker = pthread_self();
    if (waker) {
        struct timespec limit = moment_in(HANDOVER_MS);
        while (out.writing && is_diverted(out.writing->to) &&
               pthread_cond_timedwait(&out.rest, &out.mutex, &limit) == 0)
            continue;
        if (first_piece(true))
            neap_waker_wake(waker);
    } else if (out.head) {
        ensure_writer();
        pthread_cond_signal(&out.work);
        if (out.alone)
            write_queue();
    }
    announce();
    pthread_mutex_unlock(&out.mutex);
    neap_waker_free(before);
}

size_t neap_out_take(char *text, size_t capacity, int *stream, uint32_t *source) {
    size_t taken = 0;
    uint32_t of = 0;
    *stream = NEAP_STDOUT;
    if (engine_phase() == ENGINE_DEAD)
        return 0;
    pthread_mutex_lock(&out.mutex);
    stream_piece *front;
    while (taken < capacity && (front = first_piece(true)) && front != out.writing) {
        if (taken > 0 && (front->to->number != *stream || front->source != of))
            break;
        of = front->source;
        *stream = front->to->number;
        size_t bytes = front->used - front->written;
        if (bytes > capacity - taken)
            bytes = capacity - taken;
        memcpy(text + taken, front->text + front->written, bytes);
        taken += bytes;
        count_written(front, bytes);
    }
    announce();
    pthread_mutex_unlock(&out.mutex);
    if (source)
        *source = of;
    return taken;
}
