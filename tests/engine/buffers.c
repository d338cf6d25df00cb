/* buffers.c: alignment, reuse, counters, limits, lifetime beyond the last reference, threads. */
#include "engine/device_internal.h"
#include "engine/engine.h"
#include "tests/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static const uint64_t SLACK = UINT64_C(64) << 20;

static neap_memory_stats stats(void) {
    neap_memory_stats now;
    neap_memory_get(&now);
    return now;
}

static neap_buffer *new_buffer(size_t bytes) {
    neap_buffer *buffer = NULL;
    CHECK_EQ(neap_buffer_new(0, bytes, &buffer), NEAP_OK);
    return buffer;
}

static void sizes(void) {
    neap_memory_trim();
    neap_memory_stats before = stats();
    CHECK_EQ(before.live_bytes, 0);
    CHECK_EQ(before.pooled_bytes, 0);
    int count = 0;
    for (size_t bytes = 0; bytes < ((size_t)64 << 20); bytes = bytes * 5 / 4 + 1, count++) {
        neap_buffer *buffer = new_buffer(bytes);
        char *data = neap_buffer_data(buffer);
        uint64_t live = stats().live_bytes;
        CHECK((uintptr_t)data % 64 == 0);
        CHECK(bytes < ((size_t)2 << 20) || (uintptr_t)data % ((size_t)2 << 20) == 0);
        CHECK(live >= bytes && live <= (bytes < 256 ? bytes + 64 : bytes + bytes / 4));
        CHECK_EQ(neap_buffer_bytes(buffer), bytes);
        CHECK_EQ(neap_buffer_device(buffer), 0);
        CHECK(neap_buffer_var(buffer) != NULL);
        if (bytes > 0)
            data[0] = data[bytes - 1] = 1;
        neap_buffer_release(buffer);
        buffer = new_buffer(bytes); /* the pool gives the same block again */
        CHECK(neap_buffer_data(buffer) == data);
        CHECK_EQ(neap_var_version(neap_buffer_var(buffer)), 0);
        neap_buffer_release(buffer);
    }
    neap_memory_stats after = stats();
    CHECK_EQ(after.allocations - before.allocations, 2 * count);
    CHECK_EQ(after.live_bytes, 0);
    CHECK(after.pooled_bytes > 0);
    CHECK(after.peak_bytes > ((size_t)40 << 20));
    neap_memory_trim();
    CHECK_EQ(stats().pooled_bytes, 0);
    neap_buffer_release(NULL);
}

static void references(void) {
    neap_buffer *buffer = new_buffer(100);
    CHECK(neap_buffer_retain(buffer) == buffer);
    neap_buffer_release(buffer);
    CHECK(stats().live_bytes > 0);
    memset(neap_buffer_data(buffer), 1, 100);
    neap_buffer_release(buffer);
    CHECK_EQ(stats().live_bytes, 0);
}

static void refusals(void) {
    neap_buffer *a = new_buffer(1 << 20), *b = NULL;
    CHECK_EQ(neap_buffer_new(-1, 10, &b), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_buffer_new(2, 10, &b), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_buffer_new(0, (size_t)1 << 60, &b), NEAP_E_MEMORY);
    CHECK_EQ(neap_buffer_new(0, SIZE_MAX, &b), NEAP_E_MEMORY);
    CHECK_EQ(neap_buffer_new(0, (size_t)1 << 46, &b), NEAP_E_MEMORY); /* the system says no, or the class */
    uint64_t live = stats().live_bytes;
    neap_memory_limit(live + 4096);
    CHECK_EQ(stats().limit_bytes, live + 4096);
    CHECK_EQ(neap_buffer_new(0, 8192, &b), NEAP_E_MEMORY);
    CHECK_TEXT(neap_error_text(), "limit");
    CHECK_EQ(stats().live_bytes, live);
    b = new_buffer(4096);
    neap_buffer_release(b);
    neap_buffer_release(a);
    neap_memory_limit(1 << 20); /* the pool shrinks below it at once, and on need */
    CHECK(stats().pooled_bytes <= 1 << 20);
    a = new_buffer(3 << 18);
    CHECK(stats().pooled_bytes + stats().live_bytes <= 1 << 20);
    neap_buffer_release(a);
    neap_memory_limit(0);
    engine_alloc_fail(1);
    CHECK_EQ(neap_buffer_new(0, 64, &b), NEAP_E_MEMORY);
    b = new_buffer(64);
    neap_buffer_release(b);
    engine_alloc_fail(0);
}

/* Pooled blocks of sizes that nobody asks for any more are given back. */
static void changing_sizes(void) {
    engine_memory_slack(SLACK);
    for (size_t bytes = (size_t)24 << 20; bytes < (size_t)36 << 20; bytes += (size_t)1 << 20) {
        neap_buffer *held[4];
        for (int i = 0; i < 4; i++)
            held[i] = new_buffer(bytes);
        for (int i = 0; i < 4; i++)
            neap_buffer_release(held[i]);
        neap_memory_stats now = stats();
        CHECK_EQ(now.reserved_bytes, now.pooled_bytes);
        CHECK(now.reserved_bytes <= 2 * now.peak_bytes + SLACK);
    }
    neap_memory_trim();
    engine_memory_slack(0);
}

static _Atomic int may_fill;

static int fill(void *arg, const neap_run *run) {
    (void)run;
    while (!atomic_load(&may_fill))
        nanosleep(&(struct timespec){0, 100000}, NULL);
    memset(arg, 7, 5000);
    return 0;
}

static void release_buffer(void *arg) {
    neap_buffer_release(arg);
}

static int fill_buffer(void *arg, const neap_run *run) {
    return fill(neap_buffer_data(arg), run);
}

/* A queued op keeps the memory: through its reference, or through the variable alone. */
static void outlives_references(void) {
    neap_buffer *a = new_buffer(5000), *b = new_buffer(5000), *c;
    void *data_a = neap_buffer_data(a);
    neap_var *var = neap_buffer_var(a);
    neap_push push = {.nwrites = 1, .writes = &var};
    CHECK_EQ(neap_push_sync(fill, data_a, &push), NEAP_OK);
    neap_buffer_release(a);
    var = neap_buffer_var(b);
    push.release = release_buffer;
    CHECK_EQ(neap_push_sync(fill_buffer, b, &push), NEAP_OK); /* gives our reference to the op */
    c = new_buffer(5000);
    CHECK(neap_buffer_data(c) != data_a);
    CHECK(stats().live_bytes >= 15000);
    may_fill = 1;
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_buffer_release(c);
    CHECK_EQ(stats().live_bytes, 0);
}

static int fail(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return neap_error(NEAP_E_FAILED, "lost");
}

/* A mark stays until it is taken away, or the block belongs to another buffer, and is nobody else's. */
static void marks_tell_contents_apart(void) {
    neap_buffer *a = new_buffer(777), *b = new_buffer(777);
    const void *data = neap_buffer_data(a);
    uint64_t mark = neap_buffer_mark(a), other = neap_buffer_mark(b);
    CHECK(mark != 0 && other != 0 && mark != other);
    CHECK_EQ(neap_buffer_mark(a), mark);
    neap_buffer_unmark(a);
    CHECK(neap_buffer_mark(a) > other);
    neap_buffer_release(a);
    a = new_buffer(777);
    CHECK(neap_buffer_data(a) == data);
    CHECK(neap_buffer_mark(a) > other + 1);
    neap_buffer_release(a);
    neap_buffer_release(b);
}

/* A block that comes back from the pool has no history. */
static void failure_stays_behind(void) {
    neap_buffer *a = new_buffer(777);
    void *data = neap_buffer_data(a);
    neap_var *var = neap_buffer_var(a);
    neap_push push = {.nwrites = 1, .writes = &var};
    CHECK_EQ(neap_push_sync(fail, NULL, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_E_FAILED);
    CHECK_EQ(neap_var_poll(var, NULL), NEAP_E_FAILED);
    neap_buffer_release(a);
    a = new_buffer(777);
    CHECK(neap_buffer_data(a) == data);
    CHECK_EQ(neap_var_poll(neap_buffer_var(a), NULL), NEAP_OK);
    neap_buffer_release(a);
}

static _Atomic(neap_buffer *) mailbox[64];

static void *trade(void *arg) {
    uint64_t state = (uint64_t)(uintptr_t)arg;
    for (int i = 0; i < 20000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t bytes = (state >> 40) % 3000;
        neap_buffer *mine = NULL;
        if (neap_buffer_new(0, bytes, &mine) != NEAP_OK)
            continue;
        memset(neap_buffer_data(mine), (int)bytes, bytes);
        neap_buffer *theirs = atomic_exchange(&mailbox[(state >> 33) % 64], neap_buffer_retain(mine));
        neap_buffer_release(mine);
        neap_buffer_release(theirs); /* made by any thread */
    }
    return NULL;
}

static void several_threads(void) {
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, trade, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 64; i++)
        neap_buffer_release(atomic_exchange(&mailbox[i], NULL));
    CHECK_EQ(stats().live_bytes, 0);
}

int main(void) {
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2, .devices = 2}), NEAP_OK);
    sizes();
    references();
    refusals();
    changing_sizes();
    outlives_references();
    marks_tell_contents_apart();
    failure_stays_behind();
    several_threads();
    neap_engine_stop();
    CHECK_EQ(stats().pooled_bytes, 0);
    return check_end();
}
