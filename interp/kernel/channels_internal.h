/* channels_internal.h: what the thread of the channels (channels.c), their queues (queue.c) and text (streams.c) share.
 */
#ifndef INTERP_KERNEL_CHANNELS_INTERNAL_H
#define INTERP_KERNEL_CHANNELS_INTERNAL_H

#include "interp/kernel/channels.h"

enum { KERNEL_KEPT_MOST = 16 << 20 }; /* bytes to send, from which on text waits in its stream */

/* ---- Queues: all of these are thread-safe ------------------------------------------------------------------------ */

/* TAKES the message. */
void kernel_queue_received(kernel_message *message);
/* How many of the shell's wait. */
int kernel_queue_waiting(void);
/* TAKES the message, and wakes the thread. */
void kernel_queue_to_send(kernel_message *message);
/* The first one to send, which stays in the queue. BORROWED until it is removed, by the same thread. */
kernel_message *kernel_queue_first(void);
void kernel_queue_remove_first(void);
size_t kernel_queue_kept(void); /* bytes to send */

/* ---- Texts of messages ------------------------------------------------------------------------------------------- */

void kernel_session_set(const char *session, neap_waker *to_user, neap_waker *to_thread);
/* A message on iopub with this parent, made and queued. */
bool kernel_queue_published(const char *type, kernel_part parent, kernel_part metadata, kernel_part content);
/* What a client gets that has just subscribed to a topic: it knows then that it will miss nothing. OWNED; NULL: there
 * is no memory. */
kernel_message *kernel_welcome(const char *topic, size_t bytes);
/* The same as kernel_queue_published with the parent of a source. */
bool kernel_queue_from_source(const char *type, uint32_t source, kernel_part metadata, kernel_part content);

/* ---- Text of effects, and of what else writes to stdout and stderr ----------------------------------------------- */

/* Puts pipes in the place of stdout and stderr, and diverts the text of effects. NULL, or what is wrong. */
const char *kernel_streams_open(neap_waker *waker);
void kernel_streams_close(void);
/* The ends of the pipes to read, two. */
const int *kernel_streams_pipes(void);
/* Makes messages of all text that is there; but for `all`, only while there is room. */
void kernel_streams_collect(bool all);
int kernel_streams_stderr(void); /* the process's own */

#endif
