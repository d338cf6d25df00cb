/* timeline.h: what the engine and the rooms above tell the timeline, and the records that timeline.c hands to
 * timeline_file.c.
 *
 *      op has run ──▶ engine_timeline_… ──▶ record in a chunk of this thread ──▶ writer thread ──▶ event in the file
 *
 * Whoever reports first asks engine_timeline_now() when the work begins: 0 means that nothing is recorded, and costs
 * one relaxed load. Reporting takes no lock, allocates nothing and writes to no file, but where a thread needs a new
 * chunk. Names and sites are copied, because they are borrowed only until the op has finished: report before `release`.
 */
#ifndef NEAP_ENGINE_TIMELINE_H
#define NEAP_ENGINE_TIMELINE_H

#include "engine/op_internal.h"

extern _Atomic bool engine_timeline_recording;

static inline int64_t engine_timeline_now(void) {
    return atomic_load_explicit(&engine_timeline_recording, memory_order_relaxed) ? engine_now() : 0;
}

/* ---- Reporting: something on this thread that began at `began` (not 0) ends now ---------------------------------- */

/* An op has run here; `failure` may be NULL. Ops that no counter counts are left out. */
void engine_timeline_op(const engine_op *op, int64_t began, const engine_failure *failure, bool skipped);
/* The same for an op that ran at its push. */
void engine_timeline_push(const neap_push *push, int64_t began, const engine_failure *failure, bool skipped);

/* An async op is about to be started; afterwards it may be gone, so what engine_timeline_started needs is kept in
 * `name`. Returns 0 when nothing is recorded. */
enum { ENGINE_TIMELINE_NAME = 64 };
int64_t engine_timeline_start(engine_op *op, char name[ENGINE_TIMELINE_NAME]);
void engine_timeline_started(const char *name, int64_t began);
/* It has completed: the end of what engine_timeline_start began, if that was recorded. */
void engine_timeline_complete(const engine_op *op, const engine_failure *failure);

/* This thread's part of a parallel loop inside the op `name`: so many indices. */
void engine_timeline_share(const char *name, int64_t began, int64_t indices);
/* One of several pieces of work that run as one op; `site`, its script line, may be NULL. */
void engine_timeline_step(const char *name, const char *site, int64_t began, uint64_t read, uint64_t written);
/* This thread has waited. */
void engine_timeline_wait(int64_t began);

/* ---- Records: from timeline.c to timeline_file.c ----------------------------------------------------------------- */
enum { /* kinds of records */
       ENGINE_RECORD_OP,
       ENGINE_RECORD_START,   /* an async op has started */
       ENGINE_RECORD_STARTED, /* the function of an async op has returned */
       ENGINE_RECORD_END,     /* an async op has completed */
       ENGINE_RECORD_STEP,
       ENGINE_RECORD_SHARE,
       ENGINE_RECORD_WAIT
};
enum { ENGINE_RECORD_DONE, ENGINE_RECORD_FAILED, ENGINE_RECORD_SKIPPED }; /* states of ops */

typedef struct engine_record {
    uint32_t bytes; /* with the texts, a multiple of 8 */
    uint8_t kind, state;
    bool at_push;                                              /* it ran inside its push */
    uint8_t name_bytes, site_bytes, device_bytes, error_bytes; /* of the texts behind it, in this order, no zeros */
    int64_t began, ended;                                      /* of engine_now */
    int64_t queued;                                            /* when it was pushed; 0: not known */
    uint64_t id;                                               /* of an async op */
    uint64_t read, written; /* bytes in the buffers among its variables; a share: `read` indices */
} engine_record;

/* The file; called by one thread at a time. open: NEAP_E_IO, NEAP_E_MEMORY. After a failure to write, everything that
 * follows is left out, and close tells. */
int engine_timeline_file_open(const char *path, int64_t start);
void engine_timeline_file_thread(int tid, const char *name, int order);
void engine_timeline_file_record(int tid, const engine_record *record);
/* Samples the engine's counters. */
void engine_timeline_file_sample(void);
/* Writes what is formatted. The file is a complete JSON document after every call. */
void engine_timeline_file_flush(uint64_t dropped);
int engine_timeline_file_close(uint64_t dropped);

#endif
