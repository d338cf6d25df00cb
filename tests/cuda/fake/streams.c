/* streams.c: the streams of the fake driver: queues of items, each with a thread that does them. */
#include "tests/cuda/fake/fake.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uintptr_t FOREIGN = (uintptr_t)1 << 55; /* as the null device's */

struct CUstream_st {
    struct CUstream_st *next; /* of all */
    pthread_cond_t changed;   /* it may go on */
    CUcontext context;
    fake_item *head, **tail;
    bool ended, busy;
    pthread_t thread;
    uint32_t seed;
};

_Thread_local bool fake_in_host;
static CUstream streams;

void *fake_host_memory(const void *address) {
    return (void *)((uintptr_t)address & ~FOREIGN);
}

void *fake_foreign(void *memory) {
    return (void *)((uintptr_t)memory | FOREIGN);
}

fake_block *fake_block_at(fake_block *first, const void *address, size_t bytes) {
    const char *at = fake_host_memory(address);
    while (first && (at < first->data || at + bytes > first->data + first->bytes))
        first = first->next;
    return first;
}

void fake_record_drop(fake_record *record) {
    if (record && --record->refs == 0)
        free(record);
}

void fake_wake_streams(void) {
    for (CUstream stream = streams; stream; stream = stream->next)
        pthread_cond_signal(&stream->changed);
}

/* A device stops its copies before anybody learns that the context is lost: what they read may be written then. */
void fake_lose(CUcontext context, CUresult code) {
    while (context->copying && !context->lost)
        fake_wait(NULL);
    if (!context->lost)
        context->lost = code;
    fake_wake_streams();
    fake_happened();
}

/* ---- Doing items ------------------------------------------------------------------------------------------------- */

/* The groups of a launch, of which every second one has its groups and threads turned around. */
static void run_groups(const fake_launch *launch, bool turned) {
    const CUfunction function = launch->function;
    void *buffers[FAKE_MAX_BLOCKS];
    for (int k = 0; k < function->nbuffers; k++)
        buffers[k] = fake_host_memory((const void *)(uintptr_t)launch->parameters[k]);
    for (uint64_t g = 0; g < launch->groups; g++)
        function->entry(buffers, launch->parameters + function->nbuffers,
                        turned ? (launch->groups - 1 - g) | GPU_BACKWARDS : g);
}

static void add_words(const uint64_t *parameters) {
    int64_t *words = fake_host_memory((const void *)(uintptr_t)parameters[0]);
    for (uint64_t k = 0; k < parameters[2]; k++)
        words[k] += (int64_t)parameters[1];
}

static void check_ready(const fake_item *item) {
    bool ready = true;
    for (int k = 0; k < 2; k++)
        ready = ready && (!item->blocks[k] || item->blocks[k]->ready);
    for (int k = 0; item->launch && k < item->launch->nblocks; k++)
        ready = ready && item->launch->blocks[k]->ready;
    if (!ready)
        fake_complain("work uses a block before the stream of its allocation has made it");
}

/* The item begins or ends to use blocks and its function. */
static void count_users(const fake_item *item, int change) {
    for (int k = 0; k < 2 && item->what <= FAKE_KERNEL; k++) {
        if (item->blocks[k])
            item->blocks[k]->users += change;
    }
    if (!item->launch)
        return;
    item->launch->function->users += change;
    for (int k = 0; k < item->launch->nblocks; k++)
        item->launch->blocks[k]->users += change;
}

static void delay(CUstream stream) {
    stream->seed = stream->seed * 1664525 + 1013904223;
    if (fake_delay > 0)
        nanosleep(&(struct timespec){0, (long)(stream->seed >> 8) % fake_delay * 1000}, NULL);
}

/* Does it without the lock. */
static void work_on(CUstream stream, fake_item *item) {
    stream->context->copying += item->what == FAKE_COPY;
    fake_unlock();
    delay(stream);
    if (item->what == FAKE_COPY) {
        memmove(fake_host_memory(item->to), fake_host_memory(item->from), item->bytes);
    } else if (item->what == FAKE_HOST) {
        fake_in_host = true;
        item->fn(item->arg);
        fake_in_host = false;
    } else if (item->launch->function->entry) {
        run_groups(item->launch, stream->seed >> 16 & 1);
    } else if (strcmp(item->launch->function->name, "add_words") == 0) {
        add_words(item->launch->parameters);
    }
    fake_lock();
    if (item->what == FAKE_COPY && --stream->context->copying == 0)
        fake_happened();
}

/* Memory of a lost device is not copied: its streams no longer wait for each other. */
static bool is_lost(const fake_item *item) {
    bool lost = false;
    for (int k = 0; k < 2 && item->what == FAKE_COPY; k++)
        lost = lost || (item->blocks[k] && item->blocks[k]->context && item->blocks[k]->context->lost);
    return lost;
}

static void free_block(CUcontext context, fake_block *block) {
    if (block->users)
        fake_complain("a block of %zu bytes is freed while %d pieces of work that use it are not done", block->bytes,
                      block->users);
    fake_block **link = &context->blocks;
    while (*link != block)
        link = &(*link)->next;
    *link = block->next;
    context->bytes -= block->bytes;
    fake_now.bytes -= block->bytes;
    fake_now.blocks--;
    memset(block->data, 0xdd, block->bytes);
    free(block->data);
    free(block);
}

static void do_item(CUstream stream, fake_item *item) {
    CUcontext context = stream->context;
    uint64_t *const done[] = {[FAKE_COPY] = &fake_now.copies,
                              [FAKE_HOST] = &fake_now.hosts,
                              [FAKE_KERNEL] = &fake_now.kernels,
                              [FAKE_RECORD] = &fake_now.records,
                              [FAKE_WAIT] = &fake_now.waits};
    if (context->break_in > 0 && --context->break_in == 0)
        fake_lose(context, context->break_code);
    bool works = !context->lost && !is_lost(item);
    if (item->what <= FAKE_KERNEL && works) {
        check_ready(item);
        work_on(stream, item);
    }
    if (item->what <= FAKE_WAIT && works)
        ++*done[item->what];
    if (item->what == FAKE_RECORD) {
        item->record->passed = true;
        if (item->record->refs > 1)
            fake_wake_streams();
    }
    if (item->what == FAKE_ALLOC)
        item->blocks[0]->ready = true;
    count_users(item, -1);
    if (item->what == FAKE_FREE)
        free_block(context, item->blocks[0]);
    if (item->last_of)
        fake_graph_done(item->last_of);
    fake_record_drop(item->record);
    free(item->launch);
    free(item->taken);
    free(item);
}

/* Behind a lost device everything passes. */
static bool may_pass(CUstream stream) {
    const fake_item *front = stream->head;
    if (!front)
        return false;
    if (stream->context->lost)
        return true;
    return front->what == FAKE_WAIT ? front->record->passed : !stream->context->held || front->what > FAKE_KERNEL;
}

static void *run_stream(void *arg) {
    CUstream stream = arg;
    fake_lock();
    for (;;) {
        if (may_pass(stream)) {
            fake_item *front = stream->head;
            bool recorded = front->what == FAKE_RECORD;
            stream->busy = true;
            stream->head = front->next;
            if (!stream->head)
                stream->tail = &stream->head;
            do_item(stream, front);
            stream->busy = false;
            if (!stream->head || recorded)
                fake_happened();
        } else if (stream->ended && !stream->head) {
            break;
        } else {
            fake_wait(&stream->changed);
        }
    }
    fake_unlock();
    return NULL;
}

/* ---- For the driver's functions ---------------------------------------------------------------------------------- */

void fake_enqueue(CUstream stream, fake_item *item) {
    item->next = NULL;
    count_users(item, 1);
    fake_now.enqueued += item->what == FAKE_HOST || item->what == FAKE_KERNEL;
    *stream->tail = item;
    stream->tail = &item->next;
    pthread_cond_signal(&stream->changed);
}

bool fake_idle(CUstream stream) {
    return !stream->head && !stream->busy;
}

CUcontext fake_stream_context(CUstream stream) {
    return stream->context;
}

CUstream fake_stream_make(CUcontext context) {
    sigset_t all, before;
    CUstream stream = calloc(1, sizeof *stream);
    static uint32_t seeds;
    stream->context = context;
    stream->tail = &stream->head;
    pthread_cond_init(&stream->changed, NULL);
    stream->next = streams;
    streams = stream;
    stream->seed = ++seeds * 7919;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&stream->thread, NULL, run_stream, stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        fake_complain("the system gives no thread");
    context->streams++;
    fake_now.streams++;
    return stream;
}

void fake_stream_end(CUstream stream) {
    stream->ended = true;
    stream->context->streams--;
    fake_now.streams--;
    pthread_cond_signal(&stream->changed);
    fake_unlock();
    pthread_join(stream->thread, NULL);
    fake_lock();
    CUstream *link = &streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    pthread_cond_destroy(&stream->changed);
    free(stream);
}
