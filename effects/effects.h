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

/* Kinds of effects. By default all share one order, that of the program; a kind may have an order of its own. These are
 * neap's own; programs declare further ones, up to NEAP_EFFECT_MOST in all (kinds.c). */
#define NEAP_EFFECT_ROWS(X) X(PRINT, "print") X(WRITE, "write") X(CALLBACK, "callback") X(LOG, "log")
enum {
#define NEAP_EFFECT_ENUM(NAME, name) NEAP_EFFECT_##NAME,
    NEAP_EFFECT_ROWS(NEAP_EFFECT_ENUM)
#undef NEAP_EFFECT_ENUM
        NEAP_EFFECT_KINDS,
    NEAP_EFFECT_MOST = 24
};
NEAP_API int neap_effect_parse(const char *name); /* the kind, or NEAP_E_ARGUMENT with the list of names */
/* The kind of this name, made if there is none: for the whole process, and for good. NEAP_E_ARGUMENT: the name is none,
 * or there are NEAP_EFFECT_MOST kinds. Thread-safe. */
NEAP_API int neap_effect_declare(const char *name);
NEAP_API const char *neap_effect_name(int kind); /* "print"; NULL: there is no such kind */

/* OWNED. `waker` (BORROWED, may be NULL) is woken when a callback waits for the user thread. */
NEAP_API int neap_effects_new(neap_waker *waker, neap_effects **out);
/* Waits until its effects have happened, then frees. Callbacks that nobody ended by then fail: "the session ended". */
NEAP_API void neap_effects_free(neap_effects *effects);
/* own != 0: from here on effects of the kind are ordered among themselves only; 0: in the common order again. Effects
 * of one kind stay in program order across the change. Inside a callback: for that callback's effects. */
NEAP_API int neap_effects_order(neap_effects *effects, int kind, int own);
/* Whether effects of the kind that are pushed now are ordered among themselves only. */
NEAP_API int neap_effects_own(const neap_effects *effects, int kind);

/* Pushes an effect: `push` as for neap_push_sync (writes must be empty, flags get NEAP_PUSH_ALWAYS). Ordered: it
 * writes the kind's token. Unordered: it waits for nothing but what it reads, and counts in the output token of
 * push->device until it has happened. Work that has nothing to wait for runs at once. `fn` sees failed inputs itself
 * (neap_var_poll) and prints them in place; if it fails, that is told on stderr in its place. */
NEAP_API int neap_effects_push(neap_effects *effects, int kind, int ordered, neap_sync_fn fn, void *arg,
                               const neap_push *push);
/* Pushes work that has effects and results: `fn` runs once, when its inputs are there, and while it runs no other
 * effect of `kinds` (a bit for each; none: it is unordered) happens. It looks at inputs that failed itself, writes its
 * text with neap_out_write, and its failure is that of push->writes alone. push->release must be set. In the order of
 * collectives between processes, and by the thread that does them, if `collective` is not 0. */
NEAP_API int neap_effects_work(neap_effects *effects, int kinds, int collective, neap_sync_fn fn, void *arg,
                               const neap_push *push);
/* NEAP_OK when every effect pushed so far, ordered or not, has happened and its text was handed to the operating
 * system; else NEAP_PENDING and `waker` will be woken. Inside a callback: the effects that the callback pushed. */
NEAP_API int neap_effects_poll(neap_effects *effects, neap_waker *waker);
/* Makes text that C code has left in stdout's buffer (puts, printf) an effect, which stands behind those so far. Every
 * push of an effect does it, whoever waits for them, and a callback where it begins and ends. */
NEAP_API void neap_effects_adopt(neap_effects *effects);
/* Blocking form, for C programs and for the end of the process. Returns early when a callback waits for this thread. */
NEAP_API void neap_effects_drain(neap_effects *effects);

typedef struct neap_effects_counts { /* what tests assert on */
    uint64_t ordered, unordered;     /* effects pushed, callbacks included */
    uint64_t callbacks;
    uint64_t carried;     /* times that a token's next effect was on another device than its last one */
    uint64_t outstanding; /* unordered effects that have not happened yet */
} neap_effects_counts;
NEAP_API void neap_effects_count(neap_effects *effects, neap_effects_counts *out);
/* The output token of a device: its unordered effects that have not happened yet; of all devices if device < 0. */
NEAP_API uint64_t neap_effects_outstanding(neap_effects *effects, int device);

/* How many failures of effects this process has told so far: on stderr, or in place of a value. Whoever tells of one
 * counts it; a process in which there were some has not done all that it should. Thread-safe. */
NEAP_API uint64_t neap_effects_failures(void);
NEAP_API void neap_effects_failed(void);
/* Tells of one on stderr and counts it: "site: name: text", in one of several processes behind "[process 1] ". `site`
 * and `name` may be NULL. */
NEAP_API void neap_effects_report(const char *site, const char *name, const char *text);

/* ---- Callbacks ---------------------------------------------------------------------------------------------------
 * An effect whose work is done by the user thread itself. When its turn has come the request waits in a queue, which
 * the user thread empties whenever it waits and at safe points:
 *
 *      request ──▶ engine op (reads, writes results and token) ──▶ queue ──▶ user thread: take … end ──▶ op completes
 *
 * Between take and end the callback is *open*. Effects pushed meanwhile belong to it: they happen in their order, in
 * the callback's place, and the op completes after the last of them. So a callback may print, compute, wait and request
 * further callbacks (which nest) without waiting for itself. */
typedef struct neap_request neap_request;
/* push->writes are its results; flags, release as for neap_push_async. With NEAP_PUSH_ALWAYS it is called even if an
 * input failed. `kinds`: a bit for each kind in whose order it stands; none: it is unordered. NEAP_E_STATE: it would be
 * more than NEAP_CALLBACKS_DEEPEST callbacks deep: they request each other without end. */
enum { NEAP_CALLBACKS_DEEPEST = 200 };
NEAP_API int neap_effects_request(neap_effects *effects, int kinds, void *arg, const neap_push *push);
/* The same for work with callbacks and collectives between processes: when its turn has come, in the order of
 * collectives too, the communication thread calls `advance` on arg. NEAP_PENDING: the work has come to a callback, for
 * which the request waits now; once that is over, and all its effects have happened, `advance` is called again. Any
 * other status is that of the results. If a callback ends with a failure, so does the work, and with it all that this
 * process does with others: they are told the reason. */
NEAP_API int neap_effects_alternate(neap_effects *effects, int kinds, neap_sync_fn advance, void *arg,
                                    const neap_push *push);
/* Not 0: a request may be taken. NEAP_REQUESTED_INSIDE: the next one was made inside the innermost open callback (or
 * none is open), and what that waits for may wait for it; NEAP_REQUESTED: the next one is an earlier one, which may be
 * taken later too. One atomic load. */
enum { NEAP_REQUESTED = 1, NEAP_REQUESTED_INSIDE };
NEAP_API int neap_effects_requested(neap_effects *effects);
/* Opens the first request, in program order, that waits; NULL: none. While a callback is open, requests that the
 * program made after it stay in the queue, but for its own. BORROWED until neap_request_end. Requests that
 * neap_engine_cancel has given up, but for those with NEAP_PUSH_ALWAYS, are not opened: they fail with
 * NEAP_E_INTERRUPT. */
NEAP_API neap_request *neap_request_take(neap_effects *effects);
NEAP_API void *neap_request_arg(neap_request *request);
/* Where its op runs: for work that the user thread does for it. BORROWED with the request. */
NEAP_API const neap_run *neap_request_run(neap_request *request);
/* Closes the request, which must be the innermost open one. A negative status (after neap_error) is the failure of its
 * results; without results it is told on stderr, in its place, unless it is NEAP_E_INTERRUPT. */
NEAP_API int neap_request_end(neap_effects *effects, neap_request *request, int status);

/* ---- The output streams ---------------------------------------------------------------------------------------- */
enum { NEAP_STDOUT = 1, NEAP_STDERR = 2 };
/* Opens a file as a further stream (append != 0: at its end; else it is emptied). NEAP_E_IO. */
NEAP_API int neap_out_open(const char *path, int append, int *stream);
/* Closes it once the text that it has got so far is written; effects that happen later find no such stream. */
NEAP_API int neap_out_close(int stream);
/* Appends text (copied) to the queue of a stream. Blocks only where there is no memory for it, or no thread that writes
 * it: then it writes the text itself, behind what is queued. Thread-safe; one call is never torn apart by another. All
 * streams share one writer, so their mutual order is kept. A stream that cannot be written (its reader has gone: EPIPE;
 * ENOSPC; EBADF) drops its text from then on, and no other's. */
NEAP_API int neap_out_write(int stream, const char *text, size_t bytes);
/* NEAP_E_IO with "name: reason" for a stream that failed, once for each stream; NEAP_OK: none (any more). */
NEAP_API int neap_out_status(void);
/* The same for one stream, however often it was told; neap_out_status does not tell of it again. */
NEAP_API int neap_out_failure(int stream);
NEAP_API int neap_out_errno(int stream); /* of the write that failed; 0: none did */
/* NEAP_OK while the queue has room; else NEAP_PENDING, and `waker` (may be NULL) is woken when half of it is free. For
 * the user thread to ask before it records more output: writing is never refused. */
NEAP_API int neap_out_capacity(neap_waker *waker);
/* From here on there is room for so many bytes of text more; negative: for as many as are written. After Ctrl-C, so
 * that loops which print do not go on. */
NEAP_API void neap_out_allow(int64_t bytes);
/* NEAP_OK as soon as the queue has room, NEAP_PENDING after `ms` (at most 1000) without: for work that prints while it
 * runs, on any thread. */
NEAP_API int neap_out_await_capacity(int ms);
/* NEAP_OK when all text queued so far was written, else NEAP_PENDING with waker registered. */
NEAP_API int neap_out_poll(neap_waker *waker);
NEAP_API void neap_out_drain(void);       /* blocking */
NEAP_API uint64_t neap_out_waiting(void); /* bytes that are queued and not written yet */
NEAP_API int neap_out_midline(void);      /* 1: the last text of stdout and stderr that is out did not end its line */
/* While a prompt is shown the interpreter takes text over: with a waker set, text of stdout and stderr is kept for
 * neap_out_take and the waker woken, instead of being written by the writer thread. NULL gives it back to the
 * writer. The thread that calls this takes the text, and is never told that there is no room; apart != 0: another one
 * does. */
NEAP_API void neap_out_divert(neap_waker *waker, int apart);
/* Moves up to `capacity` bytes of diverted text, all of one stream and one source, into `text`; returns the count, 0:
 * none is left. Thread-safe. `source` may be NULL. */
NEAP_API size_t neap_out_take(char *text, size_t capacity, int *stream, uint32_t *source);
/* Text has a *source*, a number that tells its taker who caused it, such as the cell of a notebook: that of the thread
 * that writes it. A thread's source is 0 until it is set; while an effect or callback happens, on whatever thread, it
 * is the one that its thread had when it was pushed. Sets this thread's, and returns what it was. */
NEAP_API uint32_t neap_out_set_source(uint32_t source);
NEAP_API uint32_t neap_out_source(void);

#endif
