/* processes.h: a session that is one of several processes, which mpirun has started: how it tells of errors, and how it
 * ends together with the others. With one process all of this does nothing.
 */
#ifndef INTERP_PROCESSES_H
#define INTERP_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/engine.h"

/* "[process 2] ", for the beginning of what is told to the user; "" with one process. BORROWED for ever. */
const char *processes_mark(void);
/* Whether this is one of several processes, and not process 0, which writes what they print. */
bool processes_follow(void);
/* Whether this process tells of an error of the script: process 0 does, and others unless process 0 tells the same
 * within a moment, for which this waits. */
bool processes_tells(const char *text);
/* What this process waits for others with, and for whom: a text that follows others ("; psum … waits for process 3"),
 * or "". Returns `text`. */
const char *processes_report(char *text, size_t capacity);
/* Ends the communication. status 0: waits until all processes have come here, sleeping, or until `stop` says so;
 * another one: the others are told `why`. Returns `status`, or 1 instead of 0 if the processes could not end together;
 * then *problem says why, or is empty: another one has failed, which tells of that itself. */
int processes_end(int status, const char *why, neap_waker *waker, bool (*stop)(void), char *problem, size_t capacity);

#endif
