/* effects.h: public interface of the effects room.
 *
 * An ordered effect is an engine op that writes a *token*, an engine variable that belongs to a user thread: so
 * effects happen in the order in which they were recorded, while everything else stays asynchronous. Text goes to a
 * *stream*, whose writer thread owns the file descriptor: an effect only appends to the stream's queue, so no worker
 * ever blocks on a full pipe.
 *
 *      print(x) ──▶ push(read x, write token) ──▶ worker: format ──▶ stream queue ──▶ writer thread ──▶ stdout
 */
#ifndef NEAP_EFFECTS_H
#define NEAP_EFFECTS_H

#include "engine/engine.h"

typedef struct neap_effects neap_effects; /* the token store of one user thread */

NEAP_API int neap_effects_new(neap_effects **out); /* OWNED */
/* Waits for its tokens, then frees. */
NEAP_API void neap_effects_free(neap_effects *effects);
/* Pushes an ordered effect: `push` as for neap_push_sync (writes must be empty, flags get NEAP_PUSH_ALWAYS). Work
 * that has nothing to wait for runs at once. `fn` sees failed inputs itself (neap_var_poll), prints them in place. */
NEAP_API int neap_effects_push(neap_effects *effects, neap_sync_fn fn, void *arg, const neap_push *push);
/* NEAP_OK when every effect pushed so far has happened and its text was handed to the operating system; else
 * NEAP_PENDING and `waker` will be woken. */
NEAP_API int neap_effects_poll(neap_effects *effects, neap_waker *waker);
/* Blocking form, for C programs and for the end of the process. */
NEAP_API void neap_effects_drain(neap_effects *effects);

/* ---- The output streams ---------------------------------------------------------------------------------------- */
enum { NEAP_STDOUT = 1, NEAP_STDERR = 2 };
/* Appends text (copied) to the queue of stdout or stderr. Never blocks; thread-safe; one call is never torn apart by
 * another. Both streams share one writer, so their mutual order is kept. Writing after the reader has gone
 * (EPIPE) drops text and makes neap_out_status negative. */
NEAP_API int neap_out_write(int stream, const char *text, size_t bytes);
NEAP_API int neap_out_status(void);
/* NEAP_OK when all text queued so far was written, else NEAP_PENDING with waker registered. */
NEAP_API int neap_out_poll(neap_waker *waker);
NEAP_API void neap_out_drain(void); /* blocking */
/* While a prompt is shown the interpreter takes text over: with a waker set, queued text is kept for neap_out_take
 * and the waker woken, instead of being written by the writer thread. NULL gives it back to the writer. */
NEAP_API void neap_out_divert(neap_waker *waker);
/* Moves up to `capacity` bytes of diverted text into `text`; returns the count, 0 when none is left. */
NEAP_API size_t neap_out_take(char *text, size_t capacity);

#endif
