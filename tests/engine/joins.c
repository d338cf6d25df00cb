/* joins.c: parts of buffers of several devices, joined on one of them or on several: by collectives of their kind,
 * which are one op, or by copies; order, failures, and random programs against serial execution; under every
 * scheduler. */
#include "tests/engine/devices.h"

enum { DEVICES = 3, JOINED = DEVICES * COUNT };

static int numbers[DEVICES]; /* of null:0 to null:2 */

static void start_all(int scheduler) {
    start(scheduler);
    numbers[0] = null_number;
    for (int k = 1; k < DEVICES; k++)
        CHECK_EQ(neap_device_open("null", k, &numbers[k]), NEAP_OK);
}

static neap_buffer *new_joined(int device) {
    neap_buffer *buffer = NULL;
    CHECK_EQ(neap_buffer_new(device, JOINED * sizeof(int64_t), &buffer), NEAP_OK);
    return buffer;
}

static void check_joined(neap_buffer *buffer, const int64_t *values) {
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(buffer)), NEAP_OK);
    int wrong = 0;
    for (int i = 0; i < JOINED; i++)
        wrong += numbers_of(buffer)[i] != values[i / COUNT] + i % COUNT;
    CHECK_EQ(wrong, 0);
}

static uint64_t done_on(int number, null_device_what what) {
    null_device_counts now;
    null_device_count(neap_device_handle(number), &now);
    return now.done[what];
}

/* A buffer on each device, which begins with 1000, 2000, …; empty ones to join them. */
static void prepare(neap_buffer **from, neap_buffer **to, neap_part *parts) {
    for (int k = 0; k < DEVICES; k++) {
        from[k] = new_buffer(numbers[k]);
        to[k] = new_joined(numbers[k]);
        fill(from[k], 1000 * (k + 1));
        parts[k] = (neap_part){from[k], 0, BYTES};
    }
}

static void release(neap_buffer **from, neap_buffer **to) {
    for (int k = 0; k < DEVICES; k++) {
        neap_buffer_release(from[k]);
        neap_buffer_release(to[k]);
    }
}

static void joining(int scheduler, bool collectives) {
    static const int64_t values[DEVICES] = {1000, 2000, 3000};
    neap_buffer *from[DEVICES], *to[DEVICES];
    neap_part parts[DEVICES];
    start_all(scheduler);
    null_device_collectives(collectives);
    prepare(from, to, parts);
    CHECK((neap_collective_lacks(DEVICES, numbers, BYTES, DEVICES, numbers) == NULL) == collectives);
    CHECK_EQ(neap_buffer_join(DEVICES, to, DEVICES, parts, NULL), NEAP_OK);
    for (int k = 0; k < DEVICES; k++) {
        check_joined(to[k], values);
        CHECK_EQ(done_on(numbers[k], NULL_DEVICE_COLLECTIVE), collectives && k == 0);
        CHECK_EQ(done_on(numbers[k], NULL_DEVICE_COPY), collectives ? 0 : DEVICES);
    }
    null_device_record record;
    for (uint64_t number = 1; null_device_read(null_device, number, &record); number++) {
        if (record.what != NULL_DEVICE_COLLECTIVE)
            continue;
        CHECK(record.stream == copies);
        CHECK_EQ(record.bytes, DEVICES * BYTES);
        CHECK_EQ(record.nscalars, DEVICES);
        CHECK_EQ(record.nbuffers, DEVICES);
    }
    null_device_collectives(true);
    release(from, to);
    neap_engine_stop();
}

/* Parts of buffers, one of them empty, to a device that has none of them. */
static void joining_parts(int scheduler) {
    start_all(scheduler);
    neap_buffer *a = new_buffer(numbers[0]), *b = new_buffer(numbers[1]), *to = new_buffer(numbers[2]);
    fill(a, 10);
    fill(b, 50);
    fill(to, -1);
    neap_part parts[] = {{b, 8, 16}, {a, 24, 8}};
    CHECK_EQ(neap_buffer_join(1, &to, 2, parts, NULL), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(to)), NEAP_OK);
    const int64_t *got = numbers_of(to);
    CHECK(got[0] == 51 && got[1] == 52 && got[2] == 13 && got[3] == 2);
    parts[0].bytes = 0;
    CHECK_EQ(neap_buffer_join(1, &to, 2, parts, NULL), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(to)), NEAP_OK);
    CHECK(got[0] == 13 && got[1] == 52);
    neap_buffer_release(a);
    neap_buffer_release(b);
    neap_buffer_release(to);
    neap_engine_stop();
}

/* Devices of several kinds, or one that takes part twice: copies. */
static void joining_others(int scheduler) {
    start_all(scheduler);
    neap_buffer *from[] = {new_buffer(0), new_buffer(numbers[1]), new_buffer(numbers[1])};
    neap_buffer *to[] = {new_joined(numbers[0]), new_joined(1)};
    static const int64_t values[] = {100, 200, 300};
    neap_part parts[3];
    for (int k = 0; k < 3; k++) {
        fill(from[k], values[k]);
        parts[k] = (neap_part){from[k], 0, BYTES};
    }
    CHECK_TEXT(neap_collective_lacks(1, numbers, 8, 1, &(int){0}), "different kinds");
    CHECK_TEXT(neap_collective_lacks(1, &(int){0}, 8, 1, &(int){1}), "no collectives");
    CHECK_TEXT(neap_collective_lacks(2, (int[]){numbers[1], numbers[1]}, 8, 1, numbers), "twice");
    CHECK_EQ(neap_buffer_join(2, to, 3, parts, NULL), NEAP_OK);
    for (int k = 0; k < 2; k++)
        check_joined(to[k], values);
    for (int k = 0; k < DEVICES; k++)
        CHECK_EQ(done_on(numbers[k], NULL_DEVICE_COLLECTIVE), 0);
    for (int k = 0; k < 3; k++)
        neap_buffer_release(from[k]);
    neap_buffer_release(to[0]);
    neap_buffer_release(to[1]);
    neap_engine_stop();
}

static void refusals(int scheduler) {
    neap_buffer *from[DEVICES], *to[DEVICES];
    neap_part parts[DEVICES];
    start_all(scheduler);
    prepare(from, to, parts);
    CHECK_EQ(neap_buffer_join(0, to, 1, parts, NULL), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_buffer_join(1, to, 0, parts, NULL), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_buffer_join(1, from, 1, parts, NULL), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_buffer_join(1, from + 1, 3, parts, NULL), NEAP_E_SHAPE);
    parts[1].offset = 8;
    CHECK_EQ(neap_buffer_join(1, to, 3, parts, NULL), NEAP_E_SHAPE);
    parts[1].from = NULL;
    CHECK_EQ(neap_buffer_join(1, to, 3, parts, NULL), NEAP_E_STATE);
    neap_engine_stop();
    CHECK_EQ(neap_buffer_join(1, to, 1, parts, NULL), NEAP_E_STATE);
    release(from, to);
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

/* It waits for work of any of its devices, and work of any of them for it. */
static void order(int scheduler) {
    static const int64_t values[DEVICES] = {1005, 2000, 3000};
    neap_buffer *from[DEVICES], *to[DEVICES];
    neap_part parts[DEVICES];
    start_all(scheduler);
    prepare(from, to, parts);
    add_op before = {from[0], 5, 1, 0}, after = {to[2], 7, 1, 0}, over = {from[1], 9, 1, 0};
    null_device_hold(null_device, work, true);
    CHECK_EQ(push_add(&before, numbers[0], 0), NEAP_OK);
    CHECK_EQ(neap_buffer_join(DEVICES, to, DEVICES, parts, NULL), NEAP_OK);
    CHECK_EQ(push_add(&after, numbers[2], 0), NEAP_OK);
    CHECK_EQ(push_add(&over, numbers[1], 0), NEAP_OK);
    nap();
    CHECK_EQ(neap_var_poll(neap_buffer_var(to[1]), NULL), NEAP_PENDING);
    check_filled(from[1], 2000);
    null_device_hold(null_device, work, false);
    check_joined(to[0], values);
    check_joined(to[1], values);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    check_filled(to[2], 1005 + 7);
    check_filled(from[1], 2009);
    release(from, to);
    neap_engine_stop();
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

/* What fails in the middle of it is the failure of all targets; so is that of any source. */
static void failing(int scheduler) {
    neap_buffer *from[DEVICES], *to[DEVICES];
    neap_part parts[DEVICES];
    start_all(scheduler);
    prepare(from, to, parts);
    null_device_fail(null_device, copies, NEAP_E_IO, "the wire is cut");
    CHECK_EQ(neap_buffer_join(DEVICES, to, DEVICES, parts, &(neap_push){.name = "all"}), NEAP_OK);
    for (int k = 0; k < DEVICES; k++)
        CHECK(neap_var_wait_to_read(neap_buffer_var(to[k])) == (k ? NEAP_OK : NEAP_E_IO)); /* reported once */
    for (int k = 0; k < DEVICES; k++) {
        CHECK_EQ(neap_var_poll(neap_buffer_var(to[k]), NULL), NEAP_E_IO);
        CHECK_TEXT(neap_error_text(), "all: the wire is cut");
    }
    null_device_mend(null_device, copies);
    CHECK_EQ(neap_buffer_join(DEVICES, to, DEVICES, parts, NULL), NEAP_OK); /* it begins anew */
    check_joined(to[1], (const int64_t[]){1000, 2000, 3000});
    add_op bad = {from[2], 1, 1, NEAP_E_DTYPE};
    CHECK_EQ(push_add(&bad, numbers[2], 0), NEAP_OK);
    CHECK_EQ(neap_buffer_join(DEVICES, to, DEVICES, parts, NULL), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(to[0])), NEAP_E_DTYPE);
    neap_wait_all();
    for (int k = 0; k < DEVICES; k++)
        CHECK_EQ(neap_var_poll(neap_buffer_var(to[k]), NULL), NEAP_E_DTYPE);
    release(from, to);
    neap_engine_stop();
}

static void failing_allocations(int scheduler) {
    static const int64_t values[DEVICES] = {1000, 2000, 3000};
    int failed = 0;
    for (int nth = 1; nth <= 30; nth++) {
        neap_buffer *from[DEVICES], *to[DEVICES];
        neap_part parts[DEVICES];
        start_all(scheduler);
        prepare(from, to, parts);
        CHECK_EQ(neap_buffer_join(DEVICES, to, DEVICES, parts, NULL), NEAP_OK); /* starts the workers */
        CHECK_EQ(neap_wait_all(), NEAP_OK);
        engine_alloc_fail(nth);
        int status = neap_buffer_join(DEVICES, to, DEVICES, parts, NULL);
        if (status == NEAP_OK)
            status = neap_var_wait_to_read(neap_buffer_var(to[1]));
        engine_alloc_fail(0);
        CHECK(status == NEAP_OK || status == NEAP_E_MEMORY);
        if (status == NEAP_OK)
            check_joined(to[1], values);
        failed += status != NEAP_OK;
        CHECK(neap_wait_all() == NEAP_OK || status);
        release(from, to);
        neap_engine_stop();
    }
    CHECK(failed >= 1 && failed < 30);
}

/* ---- Random programs --------------------------------------------------------------------------------------------- */

enum { STEPS = 600 };

/* Adds to the sources and joins of them, whose targets are new buffers or old ones. */
static void random_program(int scheduler, uint64_t seed) {
    neap_buffer *from[DEVICES], *to[DEVICES];
    neap_part parts[DEVICES];
    int64_t values[DEVICES] = {1000, 2000, 3000}, expected[DEVICES][DEVICES];
    static add_op ops[STEPS];
    uint64_t state = seed;
    start_all(scheduler);
    prepare(from, to, parts);
    CHECK_EQ(neap_buffer_join(DEVICES, to, DEVICES, parts, NULL), NEAP_OK);
    for (int k = 0; k < DEVICES; k++)
        memcpy(expected[k], values, sizeof values);
    for (int i = 0; i < STEPS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int at = (int)(state >> 33) % DEVICES, first = (int)(state >> 40 & 0xff) % DEVICES;
        if (state >> 60 & 1) {
            ops[i] = (add_op){from[at], state >> 50, 1, 0};
            CHECK_EQ(push_add(&ops[i], numbers[at], 0), NEAP_OK);
            values[at] += (int64_t)(state >> 50);
            continue;
        }
        if (state >> 61 & 1) {
            neap_buffer_release(to[first]);
            to[first] = new_joined(numbers[first]);
        }
        int last = state >> 62 & 1 ? DEVICES : first + 1;
        CHECK_EQ(neap_buffer_join(last - first, to + first, DEVICES, parts, NULL), NEAP_OK);
        for (int k = first; k < last; k++)
            memcpy(expected[k], values, sizeof values);
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    for (int k = 0; k < DEVICES; k++)
        check_joined(to[k], expected[k]);
    release(from, to);
    neap_engine_stop();
}

int main(void) {
    static const int schedulers[] = {NEAP_SCHEDULER_POOL, NEAP_SCHEDULER_DEVICE, NEAP_SCHEDULER_NAIVE};
    for (int i = 0; i < 3; i++) {
        int scheduler = schedulers[i];
        joining(scheduler, true);
        joining(scheduler, false);
        joining_parts(scheduler);
        joining_others(scheduler);
        refusals(scheduler);
        if (scheduler != NEAP_SCHEDULER_NAIVE) /* its pushes wait for the stream that this holds */
            order(scheduler);
        failing(scheduler);
        failing_allocations(scheduler);
        for (uint64_t seed = 1; seed <= 3; seed++)
            random_program(scheduler, seed);
    }
    return check_end();
}
