/* timeline.c: recording what every thread does. The contract is in engine.h and timeline.h, the format in
 * timeline_file.c.
 *
 *      thread ─▶ track ─▶ chunk ─▶ chunk ─▶ chunk          one track for each thread that has anything to report
 *                          ▲ the writer reads   ▲ the thread writes
 *                          └──── used up ────▶ spare ──▶ any thread's next chunk
 *
 * A track is a list of chunks between one thread that appends records and the writer thread, which turns them into
 * text: every TICK_NS, and whenever a thread begins a new chunk. `used` of a chunk, and the link to the next one, are
 * all that the two share, so appending is a copy and a store. A chunk that has a next one does not grow any more.
 *
 * Memory is bounded: beyond CHUNKS_MOST chunks a thread waits until the writer has emptied one. It gives up, and drops
 * what it has to report, when the writer gets nowhere for PATIENCE_NS (a pipe that nobody reads), or without memory.
 *
 * Ending a recording: `recording` falls; a thread raises its track's `busy` before it looks at `recording`, and we look
 * at `busy` after its fall, so either it reports nothing or we wait for it. Then no chunk changes any more.
 */
#include "engine/timeline.h"
#include "engine/device_internal.h"
#include "engine/pipes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    CHUNK_BYTES = ENGINE_LIMIT(64 * 1024, 2048),
    CHUNKS_MOST = ENGINE_LIMIT(1024, 16), /* but each track may have one */
    TEXT_MOST = 255,
    TICK_NS = 10000000,
    NAP_NS = 200000,
    PATIENCE_NS = 1000000000
};

typedef struct chunk {
    struct chunk *_Atomic next; /* for spare ones: guarded by the lock */
    _Atomic uint32_t used;      /* bytes of records */
    _Alignas(8) char records[];
} chunk;

enum { ROOM = CHUNK_BYTES - sizeof(chunk) };

struct engine_track {
    engine_track *next; /* guarded by the lock */
    chunk *_Atomic first;
    chunk *last;             /* the thread's */
    chunk *reading;          /* the writer's, NULL before the first record */
    uint32_t taken;          /* bytes of `reading` */
    bool announced;          /* the file knows the thread */
    _Atomic bool busy, left; /* the thread is reporting; it has ended */
    int tid, order;
    char name[32];
};

_Atomic bool engine_timeline_recording;

static struct {
    pthread_mutex_t mutex; /* one start or stop at a time */
    engine_lock lock;      /* guards the list, the spare chunks and their count, and `open` */
    engine_track *tracks;
    chunk *spare;
    int chunks, tids;
    bool open; /* there is a writer: it alone removes tracks */
    int64_t start;
    pthread_t writer;
    bool alone;              /* there is no writer: whoever would call it does its work */
    pthread_mutex_t serving; /* one of them at a time */
    _Atomic uint32_t calls;  /* for the writer's attention */
    _Atomic bool closing;
    _Atomic uint64_t progress; /* chunks emptied, ever */
    _Atomic uint64_t stalled;  /* its value plus 1 when somebody's patience ended */
    _Atomic uint64_t dropped, async_ops;
} timeline = {.mutex = PTHREAD_MUTEX_INITIALIZER, .serving = PTHREAD_MUTEX_INITIALIZER};

static void serve(void);

static void call_writer(void) {
    if (timeline.alone) {
        serve();
        return;
    }
    atomic_fetch_add(&timeline.calls, 1);
    engine_futex_wake(&timeline.calls, 1);
}

/* ---- Tracks and chunks ------------------------------------------------------------------------------------------- */

static void remove_track(engine_track *track) {
    engine_track **link = &timeline.tracks;
    while (*link != track)
        link = &(*link)->next;
    *link = track->next;
}

/* The thread ends. */
static void leave_track(engine_thread *self) {
    engine_track *track = self->track;
    if (!track)
        return;
    engine_lock_take(&timeline.lock);
    bool open = timeline.open;
    if (open) {
        atomic_store(&track->left, true); /* the writer removes it, once it has read it */
    } else {
        remove_track(track);
    }
    engine_lock_drop(&timeline.lock);
    if (!open)
        free(track);
}

/* Makes the calling thread's track. NULL: no memory. */
static engine_track *enlist(engine_thread *self) {
    engine_track *track = engine_alloc(sizeof *track);
    if (!track)
        return NULL;
    memset(track, 0, sizeof *track);
    if (self->worker >= 0) {
        snprintf(track->name, sizeof track->name, "worker %d", self->worker);
        track->order = 1 + self->worker;
    } else if (gettid() == getpid()) {
        snprintf(track->name, sizeof track->name, "main");
    } else if (pthread_getname_np(pthread_self(), track->name, sizeof track->name) != 0) {
        snprintf(track->name, sizeof track->name, "thread %d", (int)gettid());
    }
    engine_lock_take(&timeline.lock);
    track->tid = ++timeline.tids;
    if (self->worker < 0 && strcmp(track->name, "main") != 0)
        track->order = 1 << 16 | track->tid; /* below the workers */
    track->next = timeline.tracks;
    timeline.tracks = track;
    engine_lock_drop(&timeline.lock);
    self->track = track;
    engine_thread_on_end(ENGINE_LEAVES_TIMELINE, leave_track);
    return track;
}

/* A spare chunk, or leave to make one (*make), or neither. */
static chunk *take_spare(bool first, bool *make) {
    engine_lock_take(&timeline.lock);
    chunk *spare = timeline.spare;
    if (spare)
        timeline.spare = atomic_load_explicit(&spare->next, memory_order_relaxed);
    *make = !spare && (first || timeline.chunks < CHUNKS_MOST);
    timeline.chunks += *make;
    engine_lock_drop(&timeline.lock);
    return spare;
}

/* Waits a little for the writer to empty a chunk. False: it is not worth waiting any longer. */
static bool nap(uint64_t *progress, int64_t *since) {
    uint64_t reached = atomic_load(&timeline.progress);
    if (!atomic_load(&engine_timeline_recording) || atomic_load(&timeline.stalled) == reached + 1)
        return false;
    int64_t now = engine_now();
    if (!*since || reached != *progress) {
        *progress = reached;
        *since = now;
    } else if (now - *since > PATIENCE_NS) {
        atomic_store(&timeline.stalled, reached + 1);
        return false;
    }
    call_writer();
    nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    return true;
}

/* A chunk for a track; NULL: none is to be had. */
static chunk *get_chunk(bool first) {
    uint64_t progress = 0;
    int64_t since = 0;
    bool make;
    chunk *got;
    while (!(got = take_spare(first, &make)) && !make) {
        if (!nap(&progress, &since))
            return NULL;
    }
    if (make && !(got = engine_alloc(CHUNK_BYTES))) {
        engine_lock_take(&timeline.lock);
        timeline.chunks--;
        engine_lock_drop(&timeline.lock);
        return NULL;
    }
    atomic_init(&got->next, NULL);
    atomic_init(&got->used, 0);
    return got;
}

/* ---- Appending --------------------------------------------------------------------------------------------------- */

/* Space for a record at the end of the track; NULL: it has to be dropped. */
static char *reserve_record(engine_track *track, uint32_t bytes) {
    chunk *last = track->last;
    uint32_t used = last ? atomic_load_explicit(&last->used, memory_order_relaxed) : ROOM;
    if (ROOM - used >= bytes)
        return last->records + used;
    chunk *next = get_chunk(!last);
    if (!next)
        return NULL;
    atomic_store_explicit(last ? &last->next : &track->first, next, memory_order_release);
    track->last = next;
    if (last)
        call_writer();
    return next->records;
}

typedef struct texts { /* any of them may be NULL */
    const char *name, *site, *device, *error;
} texts;

static uint8_t measure(const char *text) {
    return (uint8_t)(text ? strnlen(text, TEXT_MOST) : 0);
}

static char *copy_packed_text(char *to, const char *text, uint8_t bytes) {
    if (bytes)
        memcpy(to, text, bytes);
    return to + bytes;
}

static bool append_record(engine_track *track, engine_record *record, const texts *t) {
    record->name_bytes = measure(t->name);
    record->site_bytes = measure(t->site);
    record->device_bytes = measure(t->device);
    record->error_bytes = measure(t->error);
    size_t bytes = (size_t)record->name_bytes + record->site_bytes + record->device_bytes + record->error_bytes;
    record->bytes = (uint32_t)((sizeof *record + bytes + 7) / 8 * 8);
    char *to = reserve_record(track, record->bytes);
    if (!to)
        return false;
    memcpy(to, record, sizeof *record);
    to = copy_packed_text(to + sizeof *record, t->name, record->name_bytes);
    to = copy_packed_text(to, t->site, record->site_bytes);
    to = copy_packed_text(to, t->device, record->device_bytes);
    copy_packed_text(to, t->error, record->error_bytes);
    chunk *last = track->last;
    uint32_t used = atomic_load_explicit(&last->used, memory_order_relaxed) + record->bytes;
    atomic_store_explicit(&last->used, used, memory_order_release);
    return true;
}

static void report(engine_record record, texts t) {
    engine_thread *self = engine_self();
    if (!record.ended)
        record.ended = engine_now();
    engine_track *track = self->track ? self->track : enlist(self);
    if (!track) {
        atomic_fetch_add(&timeline.dropped, 1);
        return;
    }
    atomic_store(&track->busy, true);
    if (atomic_load(&engine_timeline_recording) && record.began >= timeline.start && !append_record(track, &record, &t))
        atomic_fetch_add(&timeline.dropped, 1);
    atomic_store_explicit(&track->busy, false, memory_order_release);
}

/* ---- What is reported -------------------------------------------------------------------------------------------- */

static uint64_t var_bytes(const neap_var *var) {
    return var->in_buffer ? ((const neap_buffer *)var)->bytes : 0;
}

static void add_bytes(const engine_op *op, engine_record *record) {
    for (uint32_t i = 0; i < op->entry_count; i++) {
        uint64_t bytes = var_bytes(op->entries[i].var);
        *(op->entries[i].access == ENGINE_READ ? &record->read : &record->written) += bytes;
    }
}

static int64_t queued(const engine_op *op) {
    return op->priority == 0 && !engine.shuffle ? op->queued : 0;
}

static uint8_t state_of(const engine_failure *failure, bool skipped) {
    return skipped ? ENGINE_RECORD_SKIPPED : failure ? ENGINE_RECORD_FAILED : ENGINE_RECORD_DONE;
}

void engine_timeline_op(const engine_op *op, int64_t began, const engine_failure *failure, bool skipped) {
    if (op->flags & ENGINE_OP_HIDDEN)
        return;
    engine_record record = {.kind = ENGINE_RECORD_OP,
                            .state = state_of(failure, skipped),
                            .at_push = op->flags & ENGINE_OP_AT_PUSH,
                            .began = began,
                            .queued = queued(op)};
    add_bytes(op, &record);
    report(record, (texts){op->name, op->site, engine_device_name(op->device), failure ? failure->text : NULL});
}

void engine_timeline_push(const neap_push *push, int64_t began, const engine_failure *failure, bool skipped) {
    engine_record record = {
        .kind = ENGINE_RECORD_OP, .state = state_of(failure, skipped), .at_push = true, .began = began};
    for (int i = 0; i < push->nreads; i++)
        record.read += var_bytes(push->reads[i]);
    for (int i = 0; i < push->nwrites; i++)
        record.written += var_bytes(push->writes[i]);
    report(record, (texts){push->name, push->site, engine_device_name(push->device), failure ? failure->text : NULL});
}

int64_t engine_timeline_start(engine_op *op, char name[ENGINE_TIMELINE_NAME]) {
    int64_t began = engine_timeline_now();
    op->slice = 0;
    if (!began)
        return 0;
    snprintf(name, ENGINE_TIMELINE_NAME, "%s", op->name ? op->name : "");
    op->slice = atomic_fetch_add_explicit(&timeline.async_ops, 1, memory_order_relaxed) + 1;
    engine_record record = {.kind = ENGINE_RECORD_START,
                            .at_push = op->flags & ENGINE_OP_AT_PUSH,
                            .began = began,
                            .ended = began,
                            .queued = queued(op),
                            .id = op->slice};
    add_bytes(op, &record);
    report(record, (texts){op->name, op->site, engine_device_name(op->device), NULL});
    return began;
}

void engine_timeline_started(const char *name, int64_t began) {
    report((engine_record){.kind = ENGINE_RECORD_STARTED, .began = began}, (texts){.name = name});
}

void engine_timeline_complete(const engine_op *op, const engine_failure *failure) {
    int64_t now = engine_timeline_now();
    if (!now || !op->slice)
        return;
    engine_record record = {
        .kind = ENGINE_RECORD_END, .state = state_of(failure, false), .began = now, .ended = now, .id = op->slice};
    report(record, (texts){.name = op->name, .error = failure ? failure->text : NULL});
}

void engine_timeline_share(const char *name, int64_t began, int64_t indices) {
    report((engine_record){.kind = ENGINE_RECORD_SHARE, .began = began, .read = (uint64_t)indices},
           (texts){.name = name});
}

void engine_timeline_step(const char *name, const char *site, int64_t began, uint64_t read, uint64_t written) {
    report((engine_record){.kind = ENGINE_RECORD_STEP, .began = began, .read = read, .written = written},
           (texts){.name = name, .site = site});
}

void engine_timeline_wait(int64_t began) {
    report((engine_record){.kind = ENGINE_RECORD_WAIT, .began = began}, (texts){.name = "wait"});
}

/* ---- The writer -------------------------------------------------------------------------------------------------- */

static void recycle(chunk *empty) {
    engine_lock_take(&timeline.lock);
    atomic_store_explicit(&empty->next, timeline.spare, memory_order_relaxed);
    timeline.spare = empty;
    engine_lock_drop(&timeline.lock);
    atomic_fetch_add(&timeline.progress, 1);
}

/* Formats what `reading` has got since the last time. */
static void read_chunk(engine_track *track) {
    uint32_t used = atomic_load_explicit(&track->reading->used, memory_order_acquire);
    if (used > track->taken && !track->announced) {
        engine_timeline_file_thread(track->tid, track->name, track->order);
        track->announced = true;
    }
    while (track->taken < used) {
        const engine_record *record = (const engine_record *)(track->reading->records + track->taken);
        engine_timeline_file_record(track->tid, record);
        track->taken += record->bytes;
    }
}

static void read_track(engine_track *track) {
    if (!track->reading && !(track->reading = atomic_load_explicit(&track->first, memory_order_acquire)))
        return;
    chunk *next;
    while ((next = atomic_load_explicit(&track->reading->next, memory_order_acquire))) {
        read_chunk(track);
        recycle(track->reading);
        track->reading = next;
        track->taken = 0;
    }
    read_chunk(track);
}

static void drop_chunks(engine_track *track) {
    chunk *at = track->reading ? track->reading : atomic_load(&track->first);
    while (at) {
        chunk *next = atomic_load(&at->next);
        recycle(at);
        at = next;
    }
    atomic_store(&track->first, NULL);
    track->last = track->reading = NULL;
    track->taken = 0;
    track->announced = false;
}

static void read_all(void) {
    engine_lock_take(&timeline.lock);
    engine_track *track = timeline.tracks; /* only we remove tracks, and new ones come in front */
    engine_lock_drop(&timeline.lock);
    for (engine_track *next; track; track = next) {
        bool left = atomic_load(&track->left);
        read_track(track);
        next = track->next;
        if (!left)
            continue;
        drop_chunks(track);
        engine_lock_take(&timeline.lock);
        remove_track(track);
        engine_lock_drop(&timeline.lock);
        free(track);
    }
}

/* One turn of the writer that there is not, unless somebody is at it. */
static void serve(void) {
    sigset_t before;
    if (pthread_mutex_trylock(&timeline.serving) != 0)
        return;
    engine_pipes_guard(&before);
    read_all();
    engine_timeline_file_sample();
    engine_timeline_file_flush(atomic_load(&timeline.dropped));
    engine_pipes_release(&before);
    pthread_mutex_unlock(&timeline.serving);
}

static void *timeline_writer_main(void *arg) {
    (void)arg;
    for (;;) {
        uint32_t seen = atomic_load(&timeline.calls);
        bool closing = atomic_load(&timeline.closing);
        read_all();
        engine_timeline_file_sample();
        if (closing)
            return NULL;
        engine_timeline_file_flush(atomic_load(&timeline.dropped));
        engine_futex_wait(&timeline.calls, seen, TICK_NS);
    }
}

/* ---- Starting and stopping --------------------------------------------------------------------------------------- */

static void stop_at_exit(void) {
    if (engine_phase() != ENGINE_DEAD)
        neap_timeline_stop();
}

static void register_exit(void) {
    atexit(stop_at_exit);
}

/* Waits until no thread is reporting. `recording` has fallen, so none begins to. */
static void wait_for_reports(void) {
    for (;;) {
        bool busy = false;
        engine_lock_take(&timeline.lock);
        for (engine_track *track = timeline.tracks; track && !busy; track = track->next)
            busy = atomic_load(&track->busy);
        engine_lock_drop(&timeline.lock);
        if (!busy)
            return;
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    }
}

/* Frees all chunks, and the tracks whose threads have ended. There is no writer any more. */
static void clean_up(void) {
    engine_track *gone = NULL;
    chunk *spare;
    engine_lock_take(&timeline.lock);
    engine_track *track = timeline.tracks;
    engine_lock_drop(&timeline.lock);
    for (; track; track = track->next)
        drop_chunks(track);
    engine_lock_take(&timeline.lock);
    timeline.open = false;
    for (engine_track **link = &timeline.tracks; *link;) {
        engine_track *at = *link;
        if (!atomic_load(&at->left)) {
            link = &at->next;
            continue;
        }
        *link = at->next;
        at->next = gone;
        gone = at;
    }
    spare = timeline.spare;
    timeline.spare = NULL;
    timeline.chunks = 0;
    engine_lock_drop(&timeline.lock);
    while (gone) {
        engine_track *next = gone->next;
        free(gone);
        gone = next;
    }
    while (spare) {
        chunk *next = atomic_load(&spare->next);
        free(spare);
        spare = next;
    }
}

static int open_timeline(const char *path) {
    if (timeline.open)
        return neap_error(NEAP_E_STATE, "a timeline is being recorded already");
    int64_t now = engine_now();
    int status = engine_timeline_file_open(path, now);
    if (status)
        return status;
    timeline.start = now;
    atomic_store(&timeline.closing, false);
    atomic_store(&timeline.dropped, 0);
    atomic_store(&timeline.stalled, 0);
    engine_lock_take(&timeline.lock);
    timeline.open = true;
    engine_lock_drop(&timeline.lock);
    timeline.alone = engine_thread_spawn(timeline_writer_main, NULL, "neap-timeline", &timeline.writer) != NEAP_OK;
    if (timeline.alone)
        engine_thread_tell_missing();
    atomic_store(&engine_timeline_recording, true);
    return NEAP_OK;
}

int neap_timeline_start(const char *path) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int status = engine_check_alive();
    if (status)
        return status;
    if (!path || !*path)
        return neap_error(NEAP_E_ARGUMENT, "a timeline without a path");
    pthread_once(&once, register_exit);
    pthread_mutex_lock(&timeline.mutex);
    status = open_timeline(path);
    pthread_mutex_unlock(&timeline.mutex);
    return status;
}

int neap_timeline_stop(void) {
    int status = engine_check_alive();
    if (status)
        return status;
    pthread_mutex_lock(&timeline.mutex);
    if (timeline.open) {
        atomic_store(&engine_timeline_recording, false);
        wait_for_reports();
        atomic_store(&timeline.closing, true);
        call_writer();
        if (!timeline.alone)
            pthread_join(timeline.writer, NULL);
        clean_up();
        status = engine_timeline_file_close(atomic_load(&timeline.dropped));
    }
    pthread_mutex_unlock(&timeline.mutex);
    return status;
}
