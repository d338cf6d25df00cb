/* long_ops.c: ops that do not enqueue all their work at once: they return NEAP_PENDING, and are called again when their
 * stream has come so far. */
#include "tests/engine/devices.h"

#include <stdatomic.h>

typedef struct long_op {
    add_op add; /* of each block */
    int blocks; /* that are left */
    int fails;  /* in front of so many that are left; -1: never */
    _Atomic int calls, releases;
} long_op;

static int add_block(void *arg, const neap_run *run) {
    long_op *op = arg;
    op->calls++;
    if (op->blocks == op->fails)
        return neap_error(NEAP_E_ARGUMENT, "no more of it");
    int status = add(&op->add, run);
    return status ? status : --op->blocks > 0 ? NEAP_PENDING : NEAP_OK;
}

static void count_release(void *arg) {
    ((long_op *)arg)->releases++;
}

static int push_long(long_op *op) {
    neap_var *var = neap_buffer_var(op->add.buffer);
    neap_push push = {.name = "long",
                      .site = "here:2",
                      .device = null_number,
                      .release = count_release,
                      .nwrites = 1,
                      .writes = &var,
                      .bytes = BYTES,
                      .cost = 1000000};
    return neap_push_sync(add_block, op, &push);
}

/* Ops behind it find all of its blocks done. */
static void in_order(int scheduler) {
    start(scheduler);
    neap_buffer *buffer = new_buffer(null_number);
    fill(buffer, 0);
    long_op op = {.add = {buffer, 3, 2, 0}, .blocks = 7, .fails = -1};
    add_op before = {buffer, 100, 1, 0}, behind = {buffer, 1000, 1, 0};
    CHECK_EQ(push_add(&before, null_number, 0), NEAP_OK);
    CHECK_EQ(push_long(&op), NEAP_OK);
    CHECK_EQ(push_add(&behind, null_number, 0), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(buffer)), NEAP_OK);
    check_filled(buffer, 1100 + 7 * 6);
    CHECK_EQ(op.calls, 7);
    CHECK_EQ(op.releases, 1);
    neap_buffer_release(buffer);
    neap_engine_stop();
}

/* Very many blocks need no more stack, or calls that are under way, than few. */
static void many(int scheduler) {
    start(scheduler);
    neap_buffer *buffer = new_buffer(null_number);
    fill(buffer, 0);
    long_op op = {.add = {buffer, 1, 1, 0}, .blocks = 20000, .fails = -1};
    CHECK_EQ(push_long(&op), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(buffer)), NEAP_OK);
    check_filled(buffer, 20000);
    CHECK_EQ(op.releases, 1);
    neap_buffer_release(buffer);
    neap_engine_stop();
}

/* What fails between two blocks is the op's failure, when the stream has done those before. */
static void failing(int scheduler) {
    start(scheduler);
    neap_buffer *buffer = new_buffer(null_number);
    fill(buffer, 0);
    long_op op = {.add = {buffer, 3, 2, 0}, .blocks = 7, .fails = 4};
    CHECK_EQ(push_long(&op), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(buffer)), NEAP_E_ARGUMENT);
    CHECK_TEXT(neap_error_text(), "here:2: long: no more of it");
    check_filled(buffer, 3 * 6);
    CHECK_EQ(op.calls, 4);
    CHECK_EQ(op.releases, 1);
    neap_buffer_release(buffer);
    neap_engine_stop();
}

/* One block stands in the stream at a time. */
static void one_by_one(void) {
    start(NEAP_SCHEDULER_POOL);
    neap_buffer *buffer = new_buffer(null_number);
    fill(buffer, 0);
    long_op op = {.add = {buffer, 3, 2, 0}, .blocks = 3, .fails = -1};
    null_device_hold(null_device, work, true);
    uint64_t before = counts().calls;
    CHECK_EQ(push_long(&op), NEAP_OK);
    for (int block = 1; block <= 3; block++) {
        wait_for_calls(before + 3 * (uint64_t)block); /* two launches and a callback */
        CHECK_EQ(op.calls, block);
        CHECK_EQ(op.releases, 0);
        CHECK_EQ(null_device_step(null_device, work, 2), 2);
        CHECK_EQ(op.calls, block);
        CHECK_EQ(null_device_step(null_device, work, 1), 1);
    }
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(buffer)), NEAP_OK);
    check_filled(buffer, 18);
    null_device_hold(null_device, work, false);
    neap_buffer_release(buffer);
    neap_engine_stop();
}

/* What was given up, or whose stream broke, is not called again. */
static void ending(bool broken) {
    start(NEAP_SCHEDULER_POOL);
    neap_buffer *buffer = new_buffer(null_number);
    fill(buffer, 0);
    long_op op = {.add = {buffer, 3, 2, 0}, .blocks = 5, .fails = -1};
    null_device_hold(null_device, work, true);
    uint64_t before = counts().calls;
    CHECK_EQ(push_long(&op), NEAP_OK);
    wait_for_calls(before + 3);
    if (broken)
        null_device_fail(null_device, work, NEAP_E_IO, "the wire is cut");
    else
        neap_engine_cancel();
    null_device_hold(null_device, work, false);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(buffer)), broken ? NEAP_E_IO : NEAP_E_INTERRUPT);
    CHECK_EQ(op.calls, 1);
    CHECK_EQ(op.releases, 1);
    if (broken)
        null_device_mend(null_device, work);
    neap_buffer_release(buffer);
    neap_engine_stop();
}

int main(void) {
    static const int schedulers[] = {NEAP_SCHEDULER_POOL, NEAP_SCHEDULER_DEVICE, NEAP_SCHEDULER_NAIVE};
    for (int i = 0; i < 3; i++) {
        in_order(schedulers[i]);
        many(schedulers[i]);
        failing(schedulers[i]);
    }
    one_by_one();
    ending(true);
    ending(false);
    return check_end();
}
