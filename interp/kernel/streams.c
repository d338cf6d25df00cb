/* streams.c: text on its way from effects, children and C libraries to "stream" messages.
 *
 * The text of effects is diverted, and tells its source. What children and C code write comes through pipes in the
 * place of stdout and stderr; it is written to neap's streams like any text, for the request that runs then.
 *
 * The user thread and that of the channels both collect text, one at a time, so that messages stand in the order of
 * the text.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "effects/effects.h"
#include "interp/kernel/channels_internal.h"

enum { TEXT_MOST = 64 << 10 }; /* of one message */

static struct {
    pthread_mutex_t mutex;
    int pipes[2], before[2]; /* to read; stdout and stderr of the process */
    char text[TEXT_MOST + 4];
    size_t kept; /* the beginning of a character, whose rest is in the stream yet */
    int kept_stream;
    uint32_t kept_source;
    _Atomic uint32_t current; /* the source of what comes through the pipes */
} streams = {.mutex = PTHREAD_MUTEX_INITIALIZER, .before = {STDOUT_FILENO, STDERR_FILENO}};

const int *kernel_streams_pipes(void) {
    return streams.pipes;
}

int kernel_streams_stderr(void) {
    return streams.before[1];
}

const char *kernel_streams_open(neap_waker *waker) {
    for (int k = 0; k < 2; k++) {
        int ends[2], standard = k == 0 ? STDOUT_FILENO : STDERR_FILENO;
        int kept = fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (kept < 0 || pipe2(ends, O_CLOEXEC) != 0 || dup2(ends[1], standard) < 0)
            return "stdout and stderr cannot be replaced";
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        close(ends[1]);
        streams.before[k] = kept;
        streams.pipes[k] = ends[0];
    }
    neap_out_divert(waker, 1);
    return NULL;
}

void kernel_streams_close(void) {
    dup2(streams.before[0], STDOUT_FILENO);
    dup2(streams.before[1], STDERR_FILENO);
    neap_out_divert(NULL, 0);
}

void kernel_streams_current(uint32_t source) {
    streams.current = source;
}

/* Moves what waits in the pipes to neap's streams. */
static void read_pipes(void) {
    char text[4096];
    uint32_t before = neap_out_set_source(streams.current);
    for (int k = 0; k < 2; k++) {
        ssize_t count;
        for (int times = 0; times < 16 && (count = read(streams.pipes[k], text, sizeof text)) > 0; times++)
            neap_out_write(k == 0 ? NEAP_STDOUT : NEAP_STDERR, text, (size_t)count);
    }
    neap_out_set_source(before);
}

/* How many bytes at the end of a text are the beginning of a UTF-8 character. */
static size_t unfinished(const char *text, size_t bytes) {
    for (size_t back = 1; back <= 3 && back <= bytes; back++) {
        unsigned char c = (unsigned char)text[bytes - back];
        if (c >= 0xC0)
            return back < (c >= 0xF0 ? 4u : c >= 0xE0 ? 3u : 2u) ? back : 0;
        if (c < 0x80)
            return 0;
    }
    return 0;
}

static void publish_text(const char *text, size_t bytes, int stream, uint32_t source) {
    kernel_text content = {0};
    if (bytes == 0)
        return;
    kernel_text_put(&content,
                    stream == NEAP_STDERR ? "{\"name\":\"stderr\",\"text\":\"" : "{\"name\":\"stdout\",\"text\":\"");
    kernel_text_quote(&content, text, bytes);
    kernel_text_put(&content, "\"}");
    if (content.lost ||
        !kernel_queue_from_source("stream", source, (kernel_part){"{}", 2}, (kernel_part){content.at, content.used}))
        kernel_complain("no memory for text of %zu bytes, which is lost", bytes);
    free(content.at);
}

/* The caller holds the mutex. */
static bool collect_once(void) {
    int stream;
    uint32_t source;
    char taken[TEXT_MOST];
    size_t bytes = neap_out_take(taken, sizeof taken, &stream, &source);
    if (bytes == 0)
        return false;
    if (streams.kept > 0 && (stream != streams.kept_stream || source != streams.kept_source)) {
        publish_text(streams.text, streams.kept, streams.kept_stream, streams.kept_source);
        streams.kept = 0;
    }
    memcpy(streams.text + streams.kept, taken, bytes);
    bytes += streams.kept;
    streams.kept = unfinished(streams.text, bytes);
    publish_text(streams.text, bytes - streams.kept, stream, source);
    memmove(streams.text, streams.text + bytes - streams.kept, streams.kept);
    streams.kept_stream = stream;
    streams.kept_source = source;
    return true;
}

void kernel_streams_collect(bool all) {
    pthread_mutex_lock(&streams.mutex);
    read_pipes();
    while ((all || kernel_queue_kept() <= KERNEL_KEPT_MOST) && collect_once())
        continue;
    pthread_mutex_unlock(&streams.mutex);
}

void kernel_flush(void) {
    kernel_streams_collect(true);
}
