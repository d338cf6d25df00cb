/* channels.h: the five channels of a Jupyter kernel, and the thread that owns their sockets.
 *
 *      shell, control, stdin ──▶ checked ──▶ queues ──wake──▶ user thread: take … answer, publish
 *      heartbeat ──▶ echoed at once
 *      text of effects (diverted), of children and C libraries (pipes) ──▶ "stream" messages ──┐
 *      user thread's messages ──▶ one queue of messages to send, in order ◀────────────────────┘ ──▶ sockets
 *
 * The thread does all of that also while the user thread computes. An interrupt_request, and a shutdown_request, on the
 * control channel become SIGINT at once; the user thread answers them when it is free. So does the end of the process
 * that has started a watched kernel, behind which nobody could stop a loop.
 *
 * Text is sent with the header of the request that has caused it: kernel_source_new gives a request a number, which
 * text carries (neap_out_set_source). What the user thread publishes goes behind all text that is there at that time.
 *
 * Nobody can make the thread wait. What is published is kept while a client does not read; when too much is kept, text
 * stays in its stream, where a program that prints waits for room, and kernel_room tells the user thread to wait; after
 * PATIENCE_MS without progress what that client has no room for is lost to it, until it reads again, which is told on
 * stderr. The others lose nothing.
 */
#ifndef INTERP_KERNEL_CHANNELS_H
#define INTERP_KERNEL_CHANNELS_H

#include "engine/engine.h"
#include "interp/kernel/message.h"

enum { KERNEL_SHELL, KERNEL_CONTROL, KERNEL_STDIN, KERNEL_IOPUB, KERNEL_HEARTBEAT, KERNEL_CHANNELS };

typedef struct kernel_setup {
    const char *endpoints[KERNEL_CHANNELS]; /* "tcp://127.0.0.1:5555". BORROWED until kernel_open returns */
    const char *key;
    size_t key_bytes;
    const char *session; /* a word for this process in its messages */
    neap_waker *waker;   /* woken when a message can be taken. BORROWED for ever */
    bool watched;        /* the kernel ends when the process that has started this one is gone */
} kernel_setup;

/* Binds all sockets and starts the thread. NULL, or what is wrong. Once in a process. */
const char *kernel_open(const kernel_setup *setup);
/* Sends what is queued, for a second at most, closes the sockets and ends the thread; text goes to the descriptors
 * again. */
void kernel_close(void);

/* The next message for the user thread: of the control channel before those of the shell, or of stdin. OWNED; NULL:
 * none. */
kernel_message *kernel_take(bool of_stdin);
/* The number under which text tells this request's header as its parent. */
uint32_t kernel_source_new(const kernel_message *request);
/* Sends a message to who sent `request`, on that channel. `type`, `content`: a word, and JSON. False: no memory. */
bool kernel_answer(const kernel_message *request, int channel, const char *type, kernel_part content);
/* Publishes a message, behind all text so far; its parent is `request`, or if that is NULL what the source of this
 * thread says. */
bool kernel_publish(const kernel_message *request, const char *type, kernel_part metadata, kernel_part content);
/* What children and C code write to stdout and stderr from here on is of this source. */
void kernel_streams_current(uint32_t source);
/* Sends off all text so far. */
void kernel_flush(void);
/* The number of messages that this process has made. */
uint64_t kernel_made(void);
/* Whether there is room to publish more; else the setup's waker is woken when there is. */
bool kernel_room(void);
/* Whether the kernel is watched, and the process that has started this one is gone. */
bool kernel_orphaned(void);
/* Writes a line to the stderr that the process was started with. After MOST_COMPLAINTS only some. */
void kernel_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
