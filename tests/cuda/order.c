/* order.c: ops that need each other's results are enqueued at once, on one stream and across streams and devices, which
 * the fake driver's counts show; and failures, cancelling and ops of the CPU between are what they are without. */
#include "tests/cuda/cuda.h"

#include <pthread.h>

enum { COUNT = 64, CHAIN = 40 };

/* ---- An op that makes a buffer of another one -------------------------------------------------------------------- */

typedef struct next_op {
    neap_buffer *from, *to;
    uint64_t term;
    bool fails;
} next_op;

static int next_on_host(const neap_launch *launch) {
    const int64_t *from = launch->buffers[0];
    int64_t *to = launch->buffers[1];
    if (launch->scalars[1])
        return neap_error(NEAP_E_DTYPE, "a link is broken");
    for (int k = 0; k < COUNT; k++)
        to[k] = from[k] + (int64_t)launch->scalars[0];
    return NEAP_OK;
}

static int next(void *arg, const neap_run *run) {
    const next_op *op = arg;
    void *buffers[2] = {neap_buffer_data(op->from), neap_buffer_data(op->to)};
    uint64_t scalars[2] = {op->term, op->fails};
    neap_launch launch = {.name = "next",
                          .nbuffers = 2,
                          .nscalars = 2,
                          .buffers = buffers,
                          .scalars = scalars,
                          .groups = {1, 1, 1},
                          .threads = {1, 1, 1},
                          .host = next_on_host};
    return neap_run_launch(run, &launch);
}

static int push_next(const next_op *op) {
    neap_var *read = neap_buffer_var(op->from), *write = neap_buffer_var(op->to);
    neap_push push = {.name = "next",
                      .site = "here:5",
                      .device = neap_buffer_device(op->to),
                      .nreads = 1,
                      .nwrites = 1,
                      .reads = &read,
                      .writes = &write};
    return neap_push_sync(next, (void *)op, &push);
}

/* Waits until so many launches have been enqueued since `before`; false: they are not within a second. */
static bool enqueued(uint64_t before, uint64_t launches) {
    for (int k = 0; k < 20000 && counts().enqueued < before + launches; k++)
        nap();
    return counts().enqueued == before + launches;
}

static neap_buffer *links[CHAIN + 1];
static next_op ops[CHAIN];

/* Buffers of a chain, the first filled with 0…; `place` says on which device each link lies. */
static void make_chain(const int *place) {
    neap_buffer *host = new_buffer(0, COUNT);
    fill(host, 0);
    for (int k = 0; k <= CHAIN; k++)
        links[k] = new_buffer(place[k % 4], COUNT);
    CHECK_EQ(neap_buffer_copy(links[0], host, NULL), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_buffer_release(host);
    for (int k = 0; k < CHAIN; k++)
        ops[k] = (next_op){links[k], links[k + 1], (uint64_t)k, false};
}

static void drop_chain(void) {
    for (int k = 0; k <= CHAIN; k++)
        neap_buffer_release(links[k]);
}

static const int sum = CHAIN * (CHAIN - 1) / 2;

/* ---- What is enqueued -------------------------------------------------------------------------------------------- */

/* A whole chain stands in the stream before its first op has been done. */
static void one_stream(int scheduler) {
    start(scheduler);
    make_chain((int[4]){gpus[0], gpus[0], gpus[0], gpus[0]});
    fake_counts before = counts();
    fake->hold(0, true);
    for (int k = 0; k < CHAIN; k++)
        CHECK_EQ(push_next(&ops[k]), NEAP_OK);
    CHECK(enqueued(before.enqueued, CHAIN));
    CHECK_EQ(counts().hosts, before.hosts);
    for (int k = 1; k <= CHAIN; k++)
        CHECK_EQ(neap_var_poll(neap_buffer_var(links[k]), NULL), NEAP_PENDING);
    fake->hold(0, false);
    check_filled(links[CHAIN], sum);
    for (int k = 1; k <= CHAIN; k++)
        CHECK_EQ(neap_var_version(neap_buffer_var(links[k])), 1);
    drop_chain();
    stop();
}

static int look(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return NEAP_OK;
}

/* An op of the CPU that reads, or writes, the buffer. */
static void push_look(const neap_buffer *buffer, bool writes) {
    neap_var *var = neap_buffer_var(buffer);
    neap_push push = {.nreads = !writes, .nwrites = writes, .reads = &var, .writes = &var};
    CHECK_EQ(neap_push_sync(look, NULL, &push), NEAP_OK);
}

/* Which links an op of a device would not wait for on the host. */
static void sure(int scheduler) {
    start(scheduler);
    make_chain((int[4]){gpus[0], gpus[0], gpus[0], gpus[0]});
    neap_var *first = neap_buffer_var(links[0]), *second = neap_buffer_var(links[1]);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(neap_var_is_sure(first, gpus[0]), 1);
    CHECK_EQ(neap_var_is_sure(first, 0), 1); /* it is there */
    fake->hold(0, true);
    CHECK_EQ(push_next(&ops[0]), NEAP_OK);
    CHECK_EQ(neap_var_is_sure(second, gpus[0]), 1); /* whether a worker has enqueued it or not */
    CHECK_EQ(neap_var_is_sure(second, gpus[1]), 1); /* by an event */
    CHECK_EQ(neap_var_is_sure(second, 0), 0);
    CHECK_EQ(push_next(&ops[1]), NEAP_OK);
    add_op again = {links[1], 10, NULL};
    CHECK_EQ(push_add(&again), NEAP_OK);
    CHECK_EQ(neap_var_is_sure(second, gpus[0]), 1); /* written again */
    push_look(links[1], false);
    CHECK_EQ(neap_var_is_sure(second, gpus[0]), 0); /* for a write: it would wait for the CPU */
    fake->hold(0, false);
    neap_wait_all();
    CHECK_EQ(neap_var_is_sure(second, gpus[0]), 1);
    fake->hold(0, true);
    push_look(links[1], true); /* at once */
    CHECK_EQ(push_next(&ops[0]), NEAP_OK);
    push_look(links[1], true);
    CHECK_EQ(push_next(&ops[1]), NEAP_OK);
    CHECK_EQ(neap_var_is_sure(second, gpus[0]), 0);
    CHECK_EQ(neap_var_is_sure(neap_buffer_var(links[2]), gpus[0]), 0); /* nor is what is made of it */
    fake->hold(0, false);
    neap_wait_all();
    fake->hold(0, true);
    CHECK_EQ(push_add(&again), NEAP_OK);
    CHECK_EQ(neap_var_is_sure(second, gpus[0]), 1);
    neap_engine_cancel();
    CHECK_EQ(neap_var_is_sure(second, gpus[0]), 0); /* it will fail by itself */
    fake->hold(0, false);
    neap_wait_all();
    CHECK_EQ(neap_var_is_sure(second, gpus[0]), 0);
    CHECK_EQ(push_next(&ops[1]), NEAP_OK);
    CHECK_EQ(neap_var_is_sure(neap_buffer_var(links[2]), gpus[0]), 0); /* it has failed, or will */
    neap_wait_all();
    drop_chain();
    stop();
}

/* One buffer that is written over and over, and read between: all of it stands in the stream at once. */
static void in_place(int scheduler) {
    enum { ROUNDS = 10 };
    start(scheduler);
    make_chain((int[4]){gpus[0], gpus[0], gpus[0], gpus[0]});
    fake_counts before = counts();
    add_op add = {links[0], 10, NULL};
    fake->hold(0, true);
    for (int k = 0; k < ROUNDS; k++) {
        CHECK_EQ(push_add(&add), NEAP_OK);
        CHECK_EQ(push_add(&add), NEAP_OK);
        ops[k].from = links[0];
        CHECK_EQ(push_next(&ops[k]), NEAP_OK);
        ops[CHAIN - 1 - k] = (next_op){links[0], links[CHAIN - k], 1000, false};
        CHECK_EQ(push_next(&ops[CHAIN - 1 - k]), NEAP_OK);
    }
    CHECK(enqueued(before.enqueued, 4 * ROUNDS));
    CHECK_EQ(counts().hosts, before.hosts);
    fake->hold(0, false);
    for (int k = 0; k < ROUNDS; k++) {
        check_filled(links[k + 1], 20 * (k + 1) + k);
        check_filled(links[CHAIN - k], 20 * (k + 1) + 1000);
    }
    drop_chain();
    stop();
}

/* The same, read and written by two devices in turn: each write stands behind the reads of the other device. */
static void in_place_across(int scheduler) {
    enum { ROUNDS = 10 };
    start(scheduler);
    make_chain((int[4]){gpus[0], gpus[1], gpus[1], gpus[1]});
    fake_counts before = counts();
    add_op add = {links[0], 10, NULL};
    fake->hold(0, true);
    fake->hold(1, true);
    for (int k = 0; k < ROUNDS; k++) {
        CHECK_EQ(push_add(&add), NEAP_OK);
        CHECK_EQ(neap_buffer_copy(links[4 * k + 1], links[0], NULL), NEAP_OK);
    }
    for (int k = 0; k < 20000 && counts().peers < before.peers + ROUNDS; k++)
        nap();
    CHECK_EQ(counts().peers, before.peers + ROUNDS);
    CHECK_EQ(counts().hosts, before.hosts);
    fake->hold(0, false);
    fake->hold(1, false);
    for (int k = 0; k < ROUNDS; k++)
        check_filled(links[4 * k + 1], 10 * (k + 1));
    CHECK(counts().waits - before.waits >= 2 * ROUNDS - 1); /* each copy for its write, each write for that copy */
    drop_chain();
    stop();
}

/* A reader on the CPU is waited for, and a write behind it does not overtake it. */
static void in_place_behind_the_cpu(int scheduler) {
    start(scheduler);
    make_chain((int[4]){gpus[0], gpus[0], gpus[0], gpus[0]});
    fake_counts before = counts();
    add_op add = {links[0], 10, NULL};
    fake->hold(0, true);
    CHECK_EQ(push_add(&add), NEAP_OK);
    CHECK_EQ(push_next(&ops[0]), NEAP_OK);
    push_look(links[0], false);
    CHECK_EQ(push_add(&add), NEAP_OK);
    for (int k = 0; k < 20; k++)
        nap();
    CHECK(enqueued(before.enqueued, 2));
    fake->hold(0, false);
    check_filled(links[1], 10);
    check_filled(links[0], 20);
    drop_chain();
    stop();
}

/* Links on two devices in turn, with copies between, and one back to the host: streams wait for each other. */
static void across(int scheduler) {
    start(scheduler);
    make_chain((int[4]){gpus[0], gpus[1], gpus[0], gpus[1]});
    neap_buffer *mirrors[CHAIN];
    fake_counts before = counts();
    fake->hold(0, true);
    fake->hold(1, true);
    for (int k = 0; k < CHAIN; k++) {
        mirrors[k] = new_buffer(gpus[(k + 1) % 2], COUNT);
        CHECK_EQ(neap_buffer_copy(mirrors[k], links[k], NULL), NEAP_OK);
        ops[k].from = mirrors[k];
        CHECK_EQ(push_next(&ops[k]), NEAP_OK);
    }
    CHECK(enqueued(before.enqueued, CHAIN));
    CHECK_EQ(counts().hosts + counts().copies, before.hosts + before.copies);
    fake->hold(0, false);
    fake->hold(1, false);
    check_filled(links[CHAIN], sum);
    CHECK(counts().waits - before.waits >= CHAIN); /* one for a copy and one for an op, unless it was done by then */
    for (int k = 0; k < CHAIN; k++)
        neap_buffer_release(mirrors[k]);
    drop_chain();
    stop();
}

/* An op of the CPU needs the result itself, and what follows it waits with it. */
static void over_the_cpu(int scheduler) {
    start(scheduler);
    make_chain((int[4]){gpus[0], gpus[0], gpus[0], gpus[0]});
    neap_buffer *host = new_buffer(0, COUNT);
    fake_counts before = counts();
    add_op on_cpu = {host, 100, NULL};
    fake->hold(0, true);
    CHECK_EQ(push_next(&ops[0]), NEAP_OK);
    CHECK_EQ(neap_buffer_copy(host, links[1], NULL), NEAP_OK);
    CHECK_EQ(push_add(&on_cpu), NEAP_OK);
    CHECK_EQ(neap_buffer_copy(links[1], host, NULL), NEAP_OK);
    CHECK_EQ(push_next(&ops[1]), NEAP_OK);
    CHECK(enqueued(before.enqueued, 2)); /* the launch, and the copy out of pinned memory */
    for (int k = 0; k < 20; k++)
        nap();
    CHECK(enqueued(before.enqueued, 2));
    fake->hold(0, false);
    check_filled(links[2], 101);
    neap_buffer_release(host);
    drop_chain();
    stop();
}

/* ---- Failures and cancelling ------------------------------------------------------------------------------------- */

/* A link that fails is the failure of all behind it, though they stood in the stream already; those before it and what
 * does not need it are whole. */
static void failing(int scheduler) {
    start(scheduler);
    make_chain((int[4]){gpus[0], gpus[0], gpus[0], gpus[0]});
    fake_counts before = counts();
    next_op aside = {links[3], new_buffer(gpus[0], COUNT), 5, false};
    ops[7].fails = true;
    fake->hold(0, true);
    for (int k = 0; k < CHAIN; k++)
        CHECK_EQ(push_next(&ops[k]), NEAP_OK);
    CHECK_EQ(push_next(&aside), NEAP_OK);
    CHECK(enqueued(before.enqueued, CHAIN + 1));
    fake->hold(0, false);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(links[CHAIN])), NEAP_E_DTYPE);
    CHECK_TEXT(neap_error_text(), "here:5: next: a link is broken");
    for (int k = 1; k <= CHAIN; k++)
        CHECK_EQ(neap_var_poll(neap_buffer_var(links[k]), NULL), k <= 7 ? NEAP_OK : NEAP_E_DTYPE);
    check_filled(links[7], 21);
    check_filled(aside.to, 3 + 5);
    neap_buffer_release(aside.to);
    drop_chain();
    stop();
}

static void cancelling(int scheduler) {
    start(scheduler);
    make_chain((int[4]){gpus[0], gpus[0], gpus[0], gpus[0]});
    fake_counts before = counts();
    fake->hold(0, true);
    for (int k = 0; k < CHAIN; k++)
        CHECK_EQ(push_next(&ops[k]), NEAP_OK);
    CHECK(enqueued(before.enqueued, CHAIN));
    neap_engine_cancel();
    fake->hold(0, false);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(links[CHAIN])), NEAP_E_INTERRUPT);
    for (int k = 1; k <= CHAIN; k++)
        CHECK_EQ(neap_var_poll(neap_buffer_var(links[k]), NULL), NEAP_E_INTERRUPT);
    for (int k = 0; k < CHAIN; k++) /* pushed anew */
        CHECK_EQ(push_next(&ops[k]), NEAP_OK);
    check_filled(links[CHAIN], sum);
    drop_chain();
    stop();
}

/* The engine stops, and buffers go, while a chain stands in the stream. */
static void *let_go(void *arg) {
    for (int k = 0; k < 20; k++)
        nap();
    fake->hold(0, false);
    return arg;
}

static void stopping(int scheduler) {
    pthread_t thread;
    start(scheduler);
    make_chain((int[4]){gpus[0], gpus[0], gpus[0], gpus[0]});
    fake->hold(0, true);
    for (int k = 0; k < CHAIN; k++)
        CHECK_EQ(push_next(&ops[k]), NEAP_OK);
    pthread_create(&thread, NULL, let_go, NULL);
    neap_engine_stop();
    pthread_join(thread, NULL);
    for (int k = 1; k <= CHAIN; k++)
        CHECK_EQ(neap_var_version(neap_buffer_var(links[k])), 1);
    drop_chain();
    stop();
}

int main(void) {
    static const int schedulers[] = {NEAP_SCHEDULER_POOL, NEAP_SCHEDULER_DEVICE};
    load_cuda();
    for (int k = 0; k < 2; k++) {
        one_stream(schedulers[k]);
        sure(schedulers[k]);
        in_place(schedulers[k]);
        in_place_across(schedulers[k]);
        in_place_behind_the_cpu(schedulers[k]);
        across(schedulers[k]);
        over_the_cpu(schedulers[k]);
        failing(schedulers[k]);
        cancelling(schedulers[k]);
        stopping(schedulers[k]);
    }
    return check_end();
}
