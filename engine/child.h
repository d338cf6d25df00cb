/* child.h: programs that run beside this process, fed from memory and read into memory.
 *
 * Each child has a thread that moves bytes and waits for the end, so that no caller does, unless the system gives no
 * thread: neap_child_poll tells whether the child has ended, and wakes a waker at the end. A child is in a process
 * group of its own: Ctrl-C at the terminal is for neap. Freeing an unwanted child ends the program. */
#ifndef ENGINE_CHILD_H
#define ENGINE_CHILD_H

#include "engine/engine.h"

typedef struct neap_child neap_child;

/* Starts the program words[0], found as by the shell, with these words, NULL at the end. A copy of `input` becomes the
 * child's standard input. NEAP_E_LIBRARY: there is no such program; NEAP_E_IO: the program cannot be run. */
NEAP_API int neap_child_start(const char *const *words, const void *input, size_t bytes, neap_child **out); /* OWNED */
/* Does not wait. NEAP_OK: the child has ended and closed its output. NEAP_PENDING: not yet; `waker` (may be NULL) is
 * woken then, and has to live as long as the child. NEAP_E_IO: the child has ended, and the system refused to move all
 * bytes. */
NEAP_API int neap_child_poll(neap_child *child, neap_waker *waker);
/* Of an ended child: the status of waitpid. */
NEAP_API int neap_child_status(const neap_child *child);
/* Of an ended child: the bytes of its standard output (1) or error (2). BORROWED from the child. */
NEAP_API const char *neap_child_output(const neap_child *child, int stream, size_t *bytes);
/* Kills a running child, and forgets the child. */
NEAP_API void neap_child_free(neap_child *child);

#endif
