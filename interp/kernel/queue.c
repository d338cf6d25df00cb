/* queue.c: the messages that wait, for the user thread and to be sent; and the messages that are made here. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "effects/effects.h"
#include "interp/kernel/channels_internal.h"

enum { SOURCES = 4096 }; /* whose headers are known; text of older requests has none */

typedef struct queue {
    kernel_message *first, *last;
    int count;
} queue;

static struct {
    pthread_mutex_t mutex;
    queue received[KERNEL_CHANNELS], to_send;
    size_t kept; /* bytes in to_send */
    bool full;   /* kernel_room said so */
    uint64_t number;
    uint32_t last_source;
    kernel_part sources[SOURCES]; /* headers, by the number of the source */
    char session[64];
    neap_waker *to_user, *to_thread;
} all = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* The caller of these two holds the mutex. */

static void append_to_queue(queue *to, kernel_message *message) {
    message->next = NULL;
    *(to->last ? &to->last->next : &to->first) = message;
    to->last = message;
    to->count++;
}

static kernel_message *take_from_queue(queue *from) {
    kernel_message *first = from->first;
    if (!first)
        return NULL;
    from->first = first->next;
    if (!from->first)
        from->last = NULL;
    from->count--;
    return first;
}

void kernel_queue_received(kernel_message *message) {
    pthread_mutex_lock(&all.mutex);
    append_to_queue(&all.received[message->channel], message);
    pthread_mutex_unlock(&all.mutex);
    neap_waker_wake(all.to_user);
}

int kernel_queue_waiting(void) {
    pthread_mutex_lock(&all.mutex);
    int count = all.received[KERNEL_SHELL].count;
    pthread_mutex_unlock(&all.mutex);
    return count;
}

kernel_message *kernel_take(bool of_stdin) {
    pthread_mutex_lock(&all.mutex);
    kernel_message *taken = take_from_queue(&all.received[of_stdin ? KERNEL_STDIN : KERNEL_CONTROL]);
    if (!taken && !of_stdin)
        taken = take_from_queue(&all.received[KERNEL_SHELL]);
    pthread_mutex_unlock(&all.mutex);
    if (taken && taken->channel == KERNEL_SHELL)
        neap_waker_wake(all.to_thread); /* it may have stopped reading the shell */
    return taken;
}

void kernel_queue_to_send(kernel_message *message) {
    pthread_mutex_lock(&all.mutex);
    append_to_queue(&all.to_send, message);
    all.kept += message->bytes;
    pthread_mutex_unlock(&all.mutex);
    neap_waker_wake(all.to_thread);
}

kernel_message *kernel_queue_first(void) {
    pthread_mutex_lock(&all.mutex);
    kernel_message *first = all.to_send.first;
    pthread_mutex_unlock(&all.mutex);
    return first;
}

void kernel_queue_remove_first(void) {
    pthread_mutex_lock(&all.mutex);
    kernel_message *gone = take_from_queue(&all.to_send);
    all.kept -= gone->bytes;
    bool room = all.full && all.kept <= KERNEL_KEPT_MOST / 2;
    all.full = all.full && !room;
    pthread_mutex_unlock(&all.mutex);
    kernel_message_free(gone);
    if (room)
        neap_waker_wake(all.to_user);
}

size_t kernel_queue_kept(void) {
    pthread_mutex_lock(&all.mutex);
    size_t kept = all.kept;
    pthread_mutex_unlock(&all.mutex);
    return kept;
}

bool kernel_room(void) {
    pthread_mutex_lock(&all.mutex);
    bool room = all.kept <= KERNEL_KEPT_MOST;
    all.full = !room;
    pthread_mutex_unlock(&all.mutex);
    return room;
}

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

uint32_t kernel_source_new(const kernel_message *request) {
    const kernel_part *header = kernel_message_part(request, KERNEL_HEADER);
    char *copy = malloc(header->bytes + 1);
    if (copy)
        memcpy(copy, header->at, header->bytes + 1);
    pthread_mutex_lock(&all.mutex);
    uint32_t number = ++all.last_source;
    kernel_part *place = &all.sources[number % SOURCES];
    free(place->at);
    *place = (kernel_part){copy, copy ? header->bytes : 0};
    pthread_mutex_unlock(&all.mutex);
    return number;
}

/* Appends the header of a source, or {}. */
static void add_parent_of(kernel_text *text, uint32_t source) {
    pthread_mutex_lock(&all.mutex);
    const kernel_part *place = &all.sources[source % SOURCES];
    bool known = source > 0 && all.last_source - source < SOURCES && place->at;
    kernel_text_add(text, known ? place->at : "{}", known ? place->bytes : 2);
    pthread_mutex_unlock(&all.mutex);
}

/* ---- Making messages --------------------------------------------------------------------------------------------- */

void kernel_session_set(const char *session, neap_waker *to_user, neap_waker *to_thread) {
    snprintf(all.session, sizeof all.session, "%s", session);
    all.to_user = to_user;
    all.to_thread = to_thread;
}

static void add_header(kernel_text *text, const char *type) {
    char line[320], date[32];
    struct timeval now;
    struct tm parts;
    gettimeofday(&now, NULL);
    gmtime_r(&now.tv_sec, &parts);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    pthread_mutex_lock(&all.mutex);
    uint64_t number = ++all.number;
    pthread_mutex_unlock(&all.mutex);
    snprintf(line, sizeof line,
             "{\"msg_id\":\"%s_%llu\",\"msg_type\":\"%.60s\",\"username\":\"neap\",\"session\":\"%s\","
             "\"date\":\"%s.%06ldZ\",\"version\":\"5.4\"}",
             all.session, (unsigned long long)number, type, all.session, date, (long)now.tv_usec);
    kernel_text_put(text, line);
}

uint64_t kernel_made(void) {
    pthread_mutex_lock(&all.mutex);
    uint64_t number = all.number;
    pthread_mutex_unlock(&all.mutex);
    return number;
}

/* Completes a message to which its identities were added. False: there is no memory. */
static bool complete(kernel_message *message, const char *type, kernel_part parent, kernel_part metadata,
                     kernel_part content) {
    kernel_text header = {0};
    add_header(&header, type);
    kernel_part parts[KERNEL_SIGNED] = {[KERNEL_HEADER] = {header.at, header.used},
                                        [KERNEL_PARENT] = parent,
                                        [KERNEL_METADATA] = metadata,
                                        [KERNEL_CONTENT] = content};
    bool good = !header.lost && kernel_message_build(message, parts);
    free(header.at);
    return good;
}

/* The same, and queues it. TAKES it. */
static bool queue_made(kernel_message *message, const char *type, kernel_part parent, kernel_part metadata,
                       kernel_part content) {
    bool good = complete(message, type, parent, metadata, content);
    if (good)
        kernel_queue_to_send(message);
    else
        kernel_message_free(message);
    return good;
}

bool kernel_answer(const kernel_message *request, int channel, const char *type, kernel_part content) {
    kernel_message *made = kernel_message_new(channel);
    bool good = made != NULL;
    for (int k = 0; good && k < request->identities; k++)
        good = kernel_message_add(made, request->parts[k].at, request->parts[k].bytes);
    if (!good) {
        kernel_message_free(made);
        return false;
    }
    return queue_made(made, type, *kernel_message_part(request, KERNEL_HEADER), (kernel_part){"{}", 2}, content);
}

bool kernel_queue_published(const char *type, kernel_part parent, kernel_part metadata, kernel_part content) {
    kernel_message *made = kernel_message_new(KERNEL_IOPUB);
    if (!made || !kernel_message_add(made, type, strlen(type))) {
        kernel_message_free(made);
        return false;
    }
    return queue_made(made, type, parent, metadata, content);
}

kernel_message *kernel_welcome(const char *topic, size_t bytes) {
    kernel_text content = {0};
    kernel_message *made = kernel_message_new(KERNEL_IOPUB);
    kernel_text_put(&content, "{\"subscription\":\"");
    kernel_text_quote(&content, topic, bytes);
    kernel_text_put(&content, "\"}");
    kernel_part none = {"{}", 2}, text = {content.at, content.used};
    bool good = made && !content.lost && kernel_message_add(made, topic, bytes) &&
                complete(made, "iopub_welcome", none, none, text);
    if (!good)
        kernel_message_free(made);
    free(content.at);
    return good ? made : NULL;
}

bool kernel_publish(const kernel_message *request, const char *type, kernel_part metadata, kernel_part content) {
    kernel_streams_collect(true);
    if (request)
        return kernel_queue_published(type, *kernel_message_part(request, KERNEL_HEADER), metadata, content);
    return kernel_queue_from_source(type, neap_out_source(), metadata, content);
}

bool kernel_queue_from_source(const char *type, uint32_t source, kernel_part metadata, kernel_part content) {
    kernel_text parent = {0};
    add_parent_of(&parent, source);
    bool good = !parent.lost && kernel_queue_published(type, (kernel_part){parent.at, parent.used}, metadata, content);
    free(parent.at);
    return good;
}
