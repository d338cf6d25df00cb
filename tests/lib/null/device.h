/* device.h: a kind of devices without hardware, "null", as tests see and steer it. C tests have it linked in, and
 * know it from their start on; neap loads it as a plugin, tests/lib/null/plugin.c.
 *
 * A null device keeps its streams as queues of *items*: launches, copies, collectives, frees, events, waits,
 * callbacks. An item is
 * done when its turn comes. Streams run freely at first, so an item is done where it is enqueued; a test may hold a
 * stream and let items pass one by one, in the order and at the moment that it likes, from any thread.
 *
 * Its memory is a space of its own: touching it on the host is a crash. Launches that it computes get addresses that
 * the CPU can use.
 */
#ifndef NEAP_TESTS_NULL_DEVICE_H
#define NEAP_TESTS_NULL_DEVICE_H

#include <stdbool.h>

#include "engine/device.h"

typedef enum null_device_what {
    NULL_DEVICE_LAUNCH,
    NULL_DEVICE_COPY,
    NULL_DEVICE_COLLECTIVE,
    NULL_DEVICE_ALLOC, /* done when it is called */
    NULL_DEVICE_FREE,
    NULL_DEVICE_EVENT, /* made */
    NULL_DEVICE_WAIT,  /* for an event */
    NULL_DEVICE_THEN,  /* a callback */
    NULL_DEVICE_WHATS
} null_device_what;

enum { NULL_DEVICE_ARGUMENTS = 4, NULL_DEVICE_RECORDS = 1024 };

/* One call. Numbers count the calls of a device from 1; turns count what was done on all null devices from 1. */
typedef struct null_device_record {
    null_device_what what;
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
    void *buffers[NULL_DEVICE_ARGUMENTS]; /* the first of a launch; the first targets */
    uint64_t scalars[NULL_DEVICE_ARGUMENTS];
    uint32_t groups[3], threads[3], shared_bytes;
} null_device_record;

typedef struct null_device_counts {
    uint64_t calls, done[NULL_DEVICE_WHATS];
    uint64_t blocks, block_bytes;    /* allocated now: their free has not been done */
    uint64_t streams, events, codes; /* that exist now */
} null_device_counts;

/* `device` is one of the kind "null", of neap_device_handle; `stream` one of its streams. */
void null_device_count(neap_device *device, null_device_counts *out);
/* A copy of record `number`. False: there is none yet, or it is older than the last NULL_DEVICE_RECORDS. */
bool null_device_read(neap_device *device, uint64_t number, null_device_record *out);
/* Whether launches are computed by their host function and copies move bytes (so at first), or are only recorded. */
void null_device_compute(neap_device *device, bool compute);
/* The memory of the device; at first 1 GiB. */
void null_device_memory(neap_device *device, uint64_t bytes);
/* Holds the stream up, or lets it run freely again. */
void null_device_hold(neap_device *device, neap_stream *stream, bool hold);
/* Lets up to `most` items of a held stream pass; returns how many did: a wait may stand in front. */
int null_device_step(neap_device *device, neap_stream *stream, int most);
/* Where the CPU finds what has this address on a null device; other addresses stay as they are. For tests that look at
 * the memory while nobody works on it. */
void *null_device_address(const void *address);
/* Whether null devices have collectives (so at first), or joins between them are made of copies. */
void null_device_collectives(bool have);
/* Makes the stream's next launch, copy or collective fail so when its turn comes: the stream is broken. */
void null_device_fail(neap_device *device, neap_stream *stream, int status, const char *text);
/* A broken stream works again. */
void null_device_mend(neap_device *device, neap_stream *stream);

extern const neap_device_kind null_device_kind;

#endif
