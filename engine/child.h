/* child.h: programs that run beside this process, fed from memory and read into memory.
 *
 * A thread of each child moves bytes and waits for its end, so that no caller does, unless the system gives no thread:
 * neap_child_poll tells whether it has ended, and wakes a waker when it does. A child is in a process group of its own:
 * Ctrl-C at the terminal is for neap, which ends a child that it does not want any more by freeing it. */
#ifndef ENGINE_CHILD_H
#define ENGINE_CHILD_H

#include "engine/engine.h"

typedef struct neap_child neap_child;

/* Starts the program words[0], found as the shell finds it, with these words, which end with NULL. `input` is copied;
 * it becomes the child's standard input. NEAP_E_LIBRARY: there is no such program; NEAP_E_IO: it cannot be run. */
NEAP_API int neap_child_start(const char *const *words, const void *input, size_t bytes, neap_child **out); /* OWNED */
/* Does not wait. NEAP_OK: the child has ended and closed its output. NEAP_PENDING: it has not, and `waker` (may be
 * NULL), which has to live as long as the child does, is woken when it has. */
NEAP_API int neap_child_poll(neap_child *child, neap_waker *waker);
/* Of a child that has ended: how it ended, as waitpid says it. */
NEAP_API int neap_child_status(const neap_child *child);
/* Of a child that has ended: what it wrote to its standard output (1) or error (2). BORROWED from the child. */
NEAP_API const char *neap_child_output(const neap_child *child, int stream, size_t *bytes);
/* Kills the child if it runs, and forgets it. */
NEAP_API void neap_child_free(neap_child *child);

#endif
