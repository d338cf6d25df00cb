/* device_null.h: what tests see and steer of null devices.
 *
 * A null device keeps its streams as queues of *items*: launches, copies, collectives, frees, events, waits,
 * callbacks. An item is
 * done when its turn comes. Streams run freely at first, so an item is done where it is enqueued; a test may hold a
 * stream and let items pass one by one, in the order and at the moment that it likes, from any thread.
 *
 * Its memory is a space of its own: touching it on the host is a crash. Launches that it computes get addresses that
 * the CPU can use.
 */
#ifndef NEAP_ENGINE_DEVICE_NULL_H
#define NEAP_ENGINE_DEVICE_NULL_H

#include <stdbool.h>

#include "engine/device.h"

typedef enum engine_null_what {
    ENGINE_NULL_LAUNCH,
    ENGINE_NULL_COPY,
    ENGINE_NULL_COLLECTIVE,
    ENGINE_NULL_ALLOC, /* done when it is called */
    ENGINE_NULL_FREE,
    ENGINE_NULL_EVENT, /* made */
    ENGINE_NULL_WAIT,  /* for an event */
    ENGINE_NULL_THEN,  /* a callback */
    ENGINE_NULL_WHATS
} engine_null_what;

enum { ENGINE_NULL_ARGUMENTS = 4, ENGINE_NULL_RECORDS = 1024 };

/* One call. Numbers count the calls of a device from 1; turns count what was done on all null devices from 1. */
typedef struct engine_null_record {
    engine_null_what what;
    uint64_t number, turn; /* turn 0: not done yet */
    int status;            /* of what is done: negative if the stream was broken */
    const neap_stream *stream;
    char name[32];         /* of a launch */
    int direction;         /* of a copy: NEAP_COPY_…; -1 from a peer */
    const void *to, *from; /* of a copy; an allocated or freed block is `to` */
    size_t bytes;          /* of a collective: that each target gets */
    const neap_event *event;
    const neap_code *code;
    int nbuffers, nscalars;               /* of a collective: targets, sources */
    void *buffers[ENGINE_NULL_ARGUMENTS]; /* the first of a launch; the first targets */
    uint64_t scalars[ENGINE_NULL_ARGUMENTS];
    uint32_t groups[3], threads[3], shared_bytes;
} engine_null_record;

typedef struct engine_null_counts {
    uint64_t calls, done[ENGINE_NULL_WHATS];
    uint64_t blocks, block_bytes;    /* allocated now: their free has not been done */
    uint64_t streams, events, codes; /* that exist now */
} engine_null_counts;

/* `device` is one of the kind "null", of neap_device_handle; `stream` one of its streams. */
void engine_null_count(neap_device *device, engine_null_counts *out);
/* A copy of record `number`. False: there is none yet, or it is older than the last ENGINE_NULL_RECORDS. */
bool engine_null_read(neap_device *device, uint64_t number, engine_null_record *out);
/* Whether launches are computed by their host function and copies move bytes (so at first), or are only recorded. */
void engine_null_compute(neap_device *device, bool compute);
/* The memory of the device; at first 1 GiB. */
void engine_null_memory(neap_device *device, uint64_t bytes);
/* Holds the stream up, or lets it run freely again. */
void engine_null_hold(neap_device *device, neap_stream *stream, bool hold);
/* Lets up to `most` items of a held stream pass; returns how many did: a wait may stand in front. */
int engine_null_step(neap_device *device, neap_stream *stream, int most);
/* Where the CPU finds what has this address on a null device; other addresses stay as they are. For tests that look at
 * the memory while nobody works on it. */
void *engine_null_address(const void *address);
/* Whether null devices have collectives (so at first), or joins between them are made of copies. */
void engine_null_collectives(bool have);
/* Makes the stream's next launch, copy or collective fail so when its turn comes: the stream is broken. */
void engine_null_fail(neap_device *device, neap_stream *stream, int status, const char *text);
/* A broken stream works again. */
void engine_null_mend(neap_device *device, neap_stream *stream);

#endif
