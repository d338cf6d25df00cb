/* device.c: a device without hardware, which records what it is told and can compute through the CPU.
 *
 *      stream:  head ──▶ launch ──▶ copy ──▶ event ──▶ then ◀── tail        an item is done when its turn comes: the
 *                                                                          stream is not held, or was given a step,
 *      event:   passed? ◀── named by waits in other streams                and a wait's event has passed
 *
 * It is the worked example of docs/devices.md and the means by which tests prove what the engine does with streams:
 * device_null.h tells how they steer it. A freed block is given away again only after its stream has passed the free,
 * the latest blocks first, so that a use after that would be seen.
 *
 * Its memory is a space of its own: the addresses that it gives out have a bit set that no address of a program has
 * (FOREIGN), and only the device takes it off, when it copies or launches. So whoever reads or writes memory of this
 * device on the host crashes at that place, as with a device that has real memory of its own.
 *
 * A host function's failure is that of one op. Ops of several threads enqueue to a stream at a time, so an item knows
 * its *owner*, the op that runs on the thread that enqueued it: what else that op has enqueued is not done, its
 * callback gets the failure, and other ops go on.
 *
 * One mutex guards all null devices, as events tie their streams together. Whoever lets an item pass, by enqueuing,
 * stepping or releasing, does the work of it on the spot, without the mutex; a stream has one such thread at a time
 * (`busy`), which goes on as long as there is something to do.
 */
#include "tests/lib/null/device.h"
#include "engine/engine_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 8, BLOCK_HEAD = 192 /* a multiple of 64 */, TEXT_BYTES = 256 };

static const uint64_t MEMORY_BYTES = UINT64_C(1) << 30;
static const uintptr_t FOREIGN = (uintptr_t)1 << 55; /* not 56 and above, which 64-bit ARM ignores */

typedef struct null_stream null_stream;
typedef struct null_device null_device;

typedef struct null_event {
    int holders; /* its owner, its item, the waits */
    bool passed;
    int status; /* of the stream where it passed */
    char text[TEXT_BYTES];
} null_event;

static _Thread_local int callbacks; /* that run on this thread, one inside the other: each may run an op */

typedef struct null_owner { /* an op that runs on a thread */
    const int *thread;      /* its `callbacks` */
    int depth;
} null_owner;

typedef struct null_failure { /* of a host function, until the callback of its owner */
    struct null_failure *next;
    null_owner owner;
    int status;
    char text[TEXT_BYTES];
} null_failure;

typedef struct item {
    struct item *next;
    null_device_what what;
    null_owner owner;
    uint64_t number; /* of its record */
    union {
        neap_launch launch;
        struct {
            void *to;
            const void *from;
            size_t bytes;
        } copy;
        struct {
            int nsources, ntargets; /* what they are stands in words: bytes, then addresses of sources, of targets */
        } collective;
        null_event *event;
        struct {
            neap_stream_fn fn;
            void *arg;
        } then;
    } work;
    uint64_t words[]; /* a launch's scalars, addresses of buffers and name; what a collective is of */
} item;

/* In front of the memory that is given out. Its own item, so that a free needs no memory. */
typedef struct null_block {
    item freed;
    size_t bytes;
    struct null_block *next; /* among the free ones */
} null_block;

_Static_assert(sizeof(null_block) <= BLOCK_HEAD, "the head of a block is too small");

struct null_stream {
    null_device *device;
    null_stream *next; /* of all streams of all devices */
    item *head, *tail;
    uint64_t enqueued, done; /* items, ever */
    bool held, busy;
    int steps;             /* items that may pass although it is held */
    int planned;           /* status of the failure that the next launch or copy meets; 0: none */
    int status;            /* negative: broken */
    char text[TEXT_BYTES]; /* of that failure */
    null_failure *failures;
};

struct null_device {
    bool compute;
    uint64_t memory_bytes;
    null_block *free_blocks;
    null_device_counts counts;
    null_device_record records[NULL_DEVICE_RECORDS];
};

struct neap_code {
    char name[32];
};

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t progress; /* an item was done */
    null_stream *streams;
    uint64_t turns;
    bool no_collectives;
} null = {.mutex = PTHREAD_MUTEX_INITIALIZER, .progress = PTHREAD_COND_INITIALIZER};

void *null_device_address(const void *address) {
    return (void *)((uintptr_t)address & ~FOREIGN);
}

static void *foreign_address(void *address) {
    return (void *)((uintptr_t)address | FOREIGN);
}

static void lock(void) {
    pthread_mutex_lock(&null.mutex);
}

static void unlock(void) {
    pthread_mutex_unlock(&null.mutex);
}

/* ---- Records: the caller holds the mutex ------------------------------------------------------------------------- */

static null_device_record *record_device_call(null_device *device, null_device_what what, const null_stream *stream) {
    uint64_t number = ++device->counts.calls;
    null_device_record *made = &device->records[number % NULL_DEVICE_RECORDS];
    *made = (null_device_record){.what = what, .number = number, .stream = (const neap_stream *)stream};
    return made;
}

static void record_done(null_device *device, null_device_what what, uint64_t number, int status) {
    null_device_record *made = &device->records[number % NULL_DEVICE_RECORDS];
    device->counts.done[what]++;
    null.turns++;
    if (made->number == number) {
        made->turn = null.turns;
        made->status = status;
    }
}

/* ---- Items: the caller holds the mutex --------------------------------------------------------------------------- */

static void break_stream(null_stream *stream, int status, const char *text) {
    if (stream->status < 0)
        return;
    stream->status = status;
    snprintf(stream->text, sizeof stream->text, "%s", text);
}

static null_owner running_op(void) {
    return (null_owner){&callbacks, callbacks};
}

/* Where the failure of an op is linked; a link to NULL: it has not failed. */
static null_failure **find_failure(null_stream *stream, null_owner owner) {
    null_failure **link = &stream->failures;
    while (*link && ((*link)->owner.thread != owner.thread || (*link)->owner.depth != owner.depth))
        link = &(*link)->next;
    return link;
}

/* How the stream is for an op. */
static int status_for(null_stream *stream, null_owner owner, const char **text) {
    const null_failure *failure = *find_failure(stream, owner);
    bool own = failure && stream->status == NEAP_OK;
    *text = own ? failure->text : stream->text;
    return own ? failure->status : stream->status;
}

/* The same, and the failure of the op is told by that. text: room for TEXT_BYTES. */
static int settle_op(null_stream *stream, null_owner owner, char *text) {
    const char *from;
    int status = status_for(stream, owner, &from);
    memcpy(text, from, TEXT_BYTES);
    null_failure **link = find_failure(stream, owner), *told = *link;
    if (told)
        *link = told->next;
    free(told);
    return status;
}

/* A host function has failed. Without memory to say whose, the stream is broken. */
static void fail_op(null_stream *stream, null_owner owner, int status, const char *text) {
    null_failure *failure = engine_alloc(sizeof *failure);
    if (!failure) {
        break_stream(stream, status, text);
        return;
    }
    *failure = (null_failure){.next = stream->failures, .owner = owner, .status = status};
    snprintf(failure->text, sizeof failure->text, "%s", text);
    stream->failures = failure;
}

static void drop_event(null_event *event) {
    if (--event->holders == 0)
        free(event);
}

static bool may_pass(const null_stream *stream) {
    const item *front = stream->head;
    if (!front || (stream->held && stream->steps == 0))
        return false;
    return front->what != NULL_DEVICE_WAIT || front->work.event->passed;
}

static void join_sources(item *front) {
    const size_t n = (size_t)front->work.collective.nsources;
    const uint64_t *sources = front->words + n, *targets = sources + n;
    for (int t = 0; t < front->work.collective.ntargets; t++) {
        char *to = null_device_address((void *)(uintptr_t)targets[t]);
        for (size_t k = 0; k < n; to += front->words[k++])
            memcpy(to, null_device_address((void *)(uintptr_t)sources[k]), front->words[k]);
    }
}

/* Does an item's work, without the mutex. 0, or the failure with its text set. */
static int work_on_item(item *front, bool compute) {
    if (!compute)
        return NEAP_OK;
    if (front->what == NULL_DEVICE_COPY) {
        memmove(null_device_address(front->work.copy.to), null_device_address(front->work.copy.from),
                front->work.copy.bytes);
        return NEAP_OK;
    }
    if (front->what == NULL_DEVICE_COLLECTIVE) {
        join_sources(front);
        return NEAP_OK;
    }
    void **buffers = (void **)front->work.launch.buffers; /* the item's own copy */
    for (int k = 0; k < front->work.launch.nbuffers; k++)
        buffers[k] = null_device_address(buffers[k]);
    return front->work.launch.host ? front->work.launch.host(&front->work.launch) : NEAP_OK;
}

static void do_front_item(null_stream *stream, item *front) {
    int planned = stream->planned;
    stream->planned = 0;
    if (planned < 0) {
        stream->status = planned; /* the text stands there already */
        return;
    }
    bool compute = stream->device->compute;
    unlock();
    int status = work_on_item(front, compute);
    lock();
    if (status < 0)
        fail_op(stream, front->owner, status,
                neap_error_code() == status ? neap_error_text() : neap_status_text(status));
}

static void pass_event(null_stream *stream, const item *front) {
    null_event *event = front->work.event;
    const char *text;
    event->passed = true;
    event->status = status_for(stream, front->owner, &text);
    memcpy(event->text, text, sizeof event->text);
    drop_event(event);
}

static void call_back(null_stream *stream, item *front) {
    char text[TEXT_BYTES];
    int status = settle_op(stream, front->owner, text);
    unlock();
    callbacks++;
    front->work.then.fn(front->work.then.arg, status < 0 ? neap_error(status, "%s", text) : NEAP_OK);
    callbacks--;
    lock();
}

static void put_free(null_device *device, null_block *freed) {
    freed->next = device->free_blocks;
    device->free_blocks = freed;
    device->counts.blocks--;
    device->counts.block_bytes -= freed->bytes;
}

static void pass(null_stream *stream) {
    item *front = stream->head;
    null_device *device = stream->device;
    const char *text;
    bool works = front->what != NULL_DEVICE_THEN && front->what != NULL_DEVICE_FREE;
    stream->head = front->next;
    if (stream->held)
        stream->steps--;
    if (front->what == NULL_DEVICE_WAIT) {
        if (front->work.event->status < 0)
            break_stream(stream, front->work.event->status, front->work.event->text);
        drop_event(front->work.event);
    } else if (front->what == NULL_DEVICE_EVENT) {
        pass_event(stream, front);
    } else if (works && status_for(stream, front->owner, &text) == NEAP_OK) {
        do_front_item(stream, front);
    }
    record_done(device, front->what, front->number, status_for(stream, front->owner, &text));
    if (front->what == NULL_DEVICE_THEN)
        call_back(stream, front);
    if (front->what == NULL_DEVICE_FREE) {
        put_free(device, (null_block *)front);
    } else {
        free(front);
    }
    stream->done++;
    pthread_cond_broadcast(&null.progress);
}

/* Lets every stream go as far as it can: one item may be what another stream waits for. */
static void run_streams(void) {
    null_stream *stream = null.streams;
    while (stream) {
        if (stream->busy || !may_pass(stream)) {
            stream = stream->next;
            continue;
        }
        stream->busy = true;
        while (may_pass(stream))
            pass(stream);
        stream->busy = false;
        pthread_cond_broadcast(&null.progress);
        stream = null.streams;
    }
}

/* Appends an item (TAKES) whose record is `made`, and goes on. The caller holds the mutex. */
static void enqueue_item(null_stream *stream, item *added, null_device_what what, uint64_t number) {
    added->next = NULL;
    added->what = what;
    added->owner = running_op();
    added->number = number;
    if (stream->head) {
        stream->tail->next = added;
    } else {
        stream->head = added;
    }
    stream->tail = added;
    stream->enqueued++;
    run_streams();
}

static item *new_item(size_t words) {
    item *made = engine_alloc(sizeof *made + words * sizeof(uint64_t));
    if (!made)
        neap_error(NEAP_E_MEMORY, "a null device has no memory for its queue");
    return made;
}

/* ---- Devices and streams ----------------------------------------------------------------------------------------- */

static int null_count(void) {
    return DEVICES;
}

static int null_open(int index, neap_device **out) {
    (void)index;
    null_device *device = engine_alloc(sizeof *device);
    if (!device)
        return neap_error(NEAP_E_MEMORY, "no memory for a null device");
    memset(device, 0, sizeof *device);
    device->compute = true;
    device->memory_bytes = MEMORY_BYTES;
    *out = (neap_device *)device;
    return NEAP_OK;
}

static void close_device(neap_device *handle) {
    null_device *device = (null_device *)handle;
    while (device->free_blocks) {
        null_block *next = device->free_blocks->next;
        free(device->free_blocks);
        device->free_blocks = next;
    }
    free(device);
}

static int null_facts(neap_device *handle, neap_device_facts *out) {
    lock();
    *out = (neap_device_facts){.name = "null", .memory_bytes = ((null_device *)handle)->memory_bytes};
    unlock();
    return NEAP_OK;
}

static int stream_new(neap_device *handle, uint32_t flags, neap_stream **out) {
    (void)flags;
    null_stream *stream = engine_alloc(sizeof *stream);
    if (!stream)
        return neap_error(NEAP_E_MEMORY, "no memory for a stream");
    memset(stream, 0, sizeof *stream);
    stream->device = (null_device *)handle;
    lock();
    stream->next = null.streams;
    null.streams = stream;
    stream->device->counts.streams++;
    unlock();
    *out = (neap_stream *)stream;
    return NEAP_OK;
}

static void stream_free(neap_device *handle, neap_stream *stream) {
    (void)handle;
    null_stream *gone = (null_stream *)stream, **link = &null.streams;
    lock();
    while (gone->busy) /* in a callback that has let the engine go on to here */
        pthread_cond_wait(&null.progress, &null.mutex);
    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    gone->device->counts.streams--;
    while (gone->failures) {
        null_failure *next = gone->failures->next;
        free(gone->failures);
        gone->failures = next;
    }
    unlock();
    free(gone);
}

static int stream_then(neap_device *handle, neap_stream *stream, neap_stream_fn fn, void *arg) {
    item *added = new_item(0);
    if (!added)
        return NEAP_E_MEMORY;
    added->work.then.fn = fn;
    added->work.then.arg = arg;
    lock();
    uint64_t number = record_device_call((null_device *)handle, NULL_DEVICE_THEN, (null_stream *)stream)->number;
    enqueue_item((null_stream *)stream, added, NULL_DEVICE_THEN, number);
    unlock();
    return NEAP_OK;
}

static int stream_sync(neap_device *handle, neap_stream *handle_of_stream) {
    (void)handle;
    null_stream *stream = (null_stream *)handle_of_stream;
    char text[TEXT_BYTES];
    lock();
    uint64_t last = stream->enqueued;
    while (stream->done < last)
        pthread_cond_wait(&null.progress, &null.mutex);
    int status = settle_op(stream, running_op(), text);
    unlock();
    return status < 0 ? neap_error(status, "%s", text) : NEAP_OK;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static int event_new(neap_device *handle, neap_stream *stream, neap_event **out) {
    null_device *device = (null_device *)handle;
    null_event *event = engine_alloc(sizeof *event);
    item *added = event ? new_item(0) : NULL;
    if (!added) {
        free(event);
        return neap_error(NEAP_E_MEMORY, "no memory for an event");
    }
    *event = (null_event){.holders = 2};
    added->work.event = event;
    lock();
    device->counts.events++;
    null_device_record *made = record_device_call(device, NULL_DEVICE_EVENT, (null_stream *)stream);
    made->event = (neap_event *)event;
    enqueue_item((null_stream *)stream, added, NULL_DEVICE_EVENT, made->number);
    unlock();
    *out = (neap_event *)event;
    return NEAP_OK;
}

static void event_free(neap_device *handle, neap_event *event) {
    lock();
    ((null_device *)handle)->counts.events--;
    drop_event((null_event *)event);
    unlock();
}

static int stream_wait(neap_device *handle, neap_stream *stream, neap_event *handle_of_event) {
    null_event *event = (null_event *)handle_of_event;
    item *added = new_item(0);
    if (!added)
        return NEAP_E_MEMORY;
    added->work.event = event;
    lock();
    event->holders++;
    null_device_record *made = record_device_call((null_device *)handle, NULL_DEVICE_WAIT, (null_stream *)stream);
    made->event = handle_of_event;
    enqueue_item((null_stream *)stream, added, NULL_DEVICE_WAIT, made->number);
    unlock();
    return NEAP_OK;
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* A free block of just that size. The caller holds the mutex. */
static null_block *take_free(null_device *device, size_t bytes) {
    for (null_block **link = &device->free_blocks; *link; link = &(*link)->next) {
        null_block *found = *link;
        if (found->bytes == bytes) {
            *link = found->next;
            return found;
        }
    }
    return NULL;
}

static int null_alloc(neap_device *handle, neap_stream *stream, size_t bytes, void **out) {
    null_device *device = (null_device *)handle;
    null_block *found = NULL;
    lock();
    bool fits = bytes <= device->memory_bytes && device->counts.block_bytes <= device->memory_bytes - bytes;
    if (fits && !engine_alloc_refuse()) {
        found = take_free(device, bytes);
        if (!found)
            found = aligned_alloc(64, BLOCK_HEAD + (bytes + 63) / 64 * 64);
    }
    if (found) {
        found->bytes = bytes;
        device->counts.blocks++;
        device->counts.block_bytes += bytes;
        null_device_record *made = record_device_call(device, NULL_DEVICE_ALLOC, (null_stream *)stream);
        made->to = foreign_address((char *)found + BLOCK_HEAD);
        made->bytes = bytes;
        record_done(device, NULL_DEVICE_ALLOC, made->number, NEAP_OK);
    }
    unlock();
    if (!found)
        return neap_error(NEAP_E_MEMORY, "out of memory on a null device: %zu bytes wanted", bytes);
    *out = foreign_address((char *)found + BLOCK_HEAD);
    return NEAP_OK;
}

static void null_free_block(neap_device *handle, neap_stream *stream, void *memory, size_t bytes) {
    null_device *device = (null_device *)handle;
    null_block *freed = (null_block *)((char *)null_device_address(memory) - BLOCK_HEAD);
    lock();
    null_device_record *made = record_device_call(device, NULL_DEVICE_FREE, (null_stream *)stream);
    made->to = memory;
    made->bytes = bytes;
    if (stream) {
        enqueue_item((null_stream *)stream, &freed->freed, NULL_DEVICE_FREE, made->number);
    } else {
        record_done(device, NULL_DEVICE_FREE, made->number, NEAP_OK);
        put_free(device, freed);
    }
    unlock();
}

/* ---- Copies and launches ----------------------------------------------------------------------------------------- */

enum { FROM_PEER = -1 };

static int null_copy(neap_device *handle, neap_stream *stream, int direction, void *to, const void *from,
                     size_t bytes) {
    item *added = new_item(0);
    if (!added)
        return NEAP_E_MEMORY;
    added->work.copy.to = to;
    added->work.copy.from = from;
    added->work.copy.bytes = bytes;
    lock();
    null_device_record *made = record_device_call((null_device *)handle, NULL_DEVICE_COPY, (null_stream *)stream);
    made->direction = direction;
    made->to = to;
    made->from = from;
    made->bytes = bytes;
    enqueue_item((null_stream *)stream, added, NULL_DEVICE_COPY, made->number);
    unlock();
    return NEAP_OK;
}

static int copy_peer(neap_device *handle, neap_stream *stream, void *to, neap_device *source, const void *from,
                     size_t bytes) {
    (void)source;
    return null_copy(handle, stream, FROM_PEER, to, from, bytes);
}

/* ---- Collectives ------------------------------------------------------------------------------------------------- */

static const char *collective_lacks(const neap_collective *collective) {
    (void)collective;
    lock();
    bool lacks = null.no_collectives;
    unlock();
    return lacks ? "null devices have no collectives now" : NULL;
}

static int collective_run(neap_device *handle, neap_stream *stream, const neap_collective *given) {
    size_t nsources = (size_t)given->nsources, ntargets = (size_t)given->ntargets, bytes = 0;
    item *added = new_item(2 * nsources + ntargets);
    if (!added)
        return NEAP_E_MEMORY;
    added->work.collective.nsources = given->nsources;
    added->work.collective.ntargets = given->ntargets;
    for (size_t k = 0; k < nsources; k++) {
        added->words[k] = given->bytes[k];
        added->words[nsources + k] = (uintptr_t)given->sources[k];
        bytes += given->bytes[k];
    }
    for (size_t k = 0; k < ntargets; k++)
        added->words[2 * nsources + k] = (uintptr_t)given->targets[k];
    lock();
    null_device_record *made = record_device_call((null_device *)handle, NULL_DEVICE_COLLECTIVE, (null_stream *)stream);
    made->bytes = bytes;
    made->nscalars = given->nsources;
    made->nbuffers = given->ntargets;
    for (size_t k = 0; k < ntargets && k < NULL_DEVICE_ARGUMENTS; k++)
        made->buffers[k] = given->targets[k];
    enqueue_item((null_stream *)stream, added, NULL_DEVICE_COLLECTIVE, made->number);
    unlock();
    return NEAP_OK;
}

static int code_new(neap_device *handle, const char *name, const void *image, size_t bytes, neap_code **out) {
    (void)image, (void)bytes;
    neap_code *code = engine_alloc(sizeof *code);
    if (!code)
        return neap_error(NEAP_E_MEMORY, "no memory for code");
    snprintf(code->name, sizeof code->name, "%s", name);
    lock();
    ((null_device *)handle)->counts.codes++;
    unlock();
    *out = code;
    return NEAP_OK;
}

static void code_free(neap_device *handle, neap_code *code) {
    lock();
    ((null_device *)handle)->counts.codes--;
    unlock();
    free(code);
}

static int runs_host(neap_device *device) {
    (void)device;
    return 1;
}

static int null_launch(neap_device *handle, neap_stream *stream, const neap_launch *given) {
    size_t nbuffers = (size_t)given->nbuffers, nscalars = (size_t)given->nscalars;
    const char *name = given->name ? given->name : "";
    item *added = new_item(nbuffers + nscalars + strlen(name) / sizeof(uint64_t) + 1);
    if (!added)
        return NEAP_E_MEMORY;
    void **buffers = (void **)(added->words + nscalars);
    char *text = (char *)(buffers + nbuffers);
    added->work.launch = *given;
    added->work.launch.scalars =
        nscalars ? memcpy(added->words, given->scalars, nscalars * sizeof *added->words) : NULL;
    added->work.launch.buffers = nbuffers ? memcpy(buffers, given->buffers, nbuffers * sizeof *buffers) : NULL;
    added->work.launch.name = strcpy(text, name);
    lock();
    null_device_record *made = record_device_call((null_device *)handle, NULL_DEVICE_LAUNCH, (null_stream *)stream);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->code = given->code;
    made->nbuffers = given->nbuffers;
    made->nscalars = given->nscalars;
    for (size_t i = 0; i < nbuffers && i < NULL_DEVICE_ARGUMENTS; i++)
        made->buffers[i] = given->buffers[i];
    for (size_t i = 0; i < nscalars && i < NULL_DEVICE_ARGUMENTS; i++)
        made->scalars[i] = given->scalars[i];
    memcpy(made->groups, given->groups, sizeof made->groups);
    memcpy(made->threads, given->threads, sizeof made->threads);
    made->shared_bytes = given->shared_bytes;
    enqueue_item((null_stream *)stream, added, NULL_DEVICE_LAUNCH, made->number);
    unlock();
    return NEAP_OK;
}

/* ---- For tests --------------------------------------------------------------------------------------------------- */

void null_device_count(neap_device *device, null_device_counts *out) {
    lock();
    *out = ((null_device *)device)->counts;
    unlock();
}

bool null_device_read(neap_device *device, uint64_t number, null_device_record *out) {
    lock();
    *out = ((null_device *)device)->records[number % NULL_DEVICE_RECORDS];
    unlock();
    return number > 0 && out->number == number;
}

void null_device_compute(neap_device *device, bool compute) {
    lock();
    ((null_device *)device)->compute = compute;
    unlock();
}

void null_device_memory(neap_device *device, uint64_t bytes) {
    lock();
    ((null_device *)device)->memory_bytes = bytes;
    unlock();
}

void null_device_collectives(bool have) {
    lock();
    null.no_collectives = !have;
    unlock();
}

void null_device_hold(neap_device *device, neap_stream *stream, bool hold) {
    (void)device;
    lock();
    ((null_stream *)stream)->held = hold;
    ((null_stream *)stream)->steps = 0;
    run_streams();
    unlock();
}

int null_device_step(neap_device *device, neap_stream *handle, int most) {
    (void)device;
    null_stream *stream = (null_stream *)handle;
    lock();
    uint64_t before = stream->done;
    stream->steps = stream->held ? most : 0;
    run_streams();
    int passed = (int)(stream->done - before);
    stream->steps = 0;
    unlock();
    return passed;
}

void null_device_fail(neap_device *device, neap_stream *handle, int status, const char *text) {
    (void)device;
    null_stream *stream = (null_stream *)handle;
    lock();
    stream->planned = status;
    snprintf(stream->text, sizeof stream->text, "%s", text);
    unlock();
}

void null_device_mend(neap_device *device, neap_stream *stream) {
    (void)device;
    lock();
    ((null_stream *)stream)->status = NEAP_OK;
    unlock();
}

const neap_device_kind null_device_kind = {
    .abi = NEAP_DEVICE_ABI,
    .name = "null",
    .count = null_count,
    .open = null_open,
    .close = close_device,
    .facts = null_facts,
    .stream_new = stream_new,
    .stream_free = stream_free,
    .stream_then = stream_then,
    .stream_sync = stream_sync,
    .event_new = event_new,
    .event_free = event_free,
    .stream_wait = stream_wait,
    .alloc = null_alloc,
    .free = null_free_block,
    .copy = null_copy,
    .copy_peer = copy_peer,
    .code_new = code_new,
    .code_free = code_free,
    .launch = null_launch,
    .runs_host = runs_host,
    .collective_lacks = collective_lacks,
    .collective_run = collective_run,
};
