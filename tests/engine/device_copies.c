/* device_copies.c: copies between devices, failures on streams, random programs over several devices against serial
 * execution, failing allocations; under every scheduler. */
#include "tests/engine/devices.h"

#include <pthread.h>

/* A kind of devices that is the null device over again, but cannot copy from its peers. */
static void register_lonely(void) {
    static neap_device_kind kind;
    kind = null_device_kind;
    kind.name = "lonely";
    kind.copy_peer = NULL;
    CHECK_EQ(neap_device_register(&kind), NEAP_OK);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static void copying(int scheduler) {
    int devices[5] = {0, 1}, failed = 0;
    start(scheduler);
    devices[2] = null_number;
    CHECK_EQ(neap_device_open("null", 1, &devices[3]), NEAP_OK);
    CHECK_EQ(neap_device_open("lonely", 0, &devices[4]), NEAP_OK);
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 5; j++) {
            neap_buffer *from = new_buffer(devices[i]), *to = new_buffer(devices[j]);
            neap_push push = {.name = "move", .site = "there:3"};
            fill(from, 10 * i + j);
            fill(to, -1);
            uint64_t version = neap_var_version(neap_buffer_var(to));
            CHECK_EQ(neap_buffer_copy(to, from, i == j ? NULL : &push), NEAP_OK);
            CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(to)), NEAP_OK);
            CHECK_EQ(neap_var_version(neap_buffer_var(to)), version + 1);
            check_filled(to, 10 * i + j);
            CHECK_EQ(neap_var_wait_to_write(neap_buffer_var(from)), NEAP_OK);
            CHECK_EQ(neap_var_version(neap_buffer_var(from)), 0);
            neap_buffer_release(from);
            neap_buffer_release(to);
        }
    }
    null_device_record record;
    int directions[4] = {0}; /* peer, to, from, within */
    for (uint64_t number = 1; null_device_read(null_device, number, &record); number++) {
        failed += record.status < 0;
        if (record.what != NULL_DEVICE_COPY)
            continue;
        directions[record.direction + 1]++;
        CHECK(record.stream == copies);
        CHECK_EQ(record.bytes, BYTES);
    }
    CHECK_EQ(failed, 0);
    CHECK_EQ(directions[0], 1);                       /* from null:1 */
    CHECK_EQ(directions[1 + NEAP_COPY_TO_DEVICE], 3); /* from the CPUs, and from lonely:0 over the host */
    CHECK_EQ(directions[1 + NEAP_COPY_FROM_DEVICE], 3);
    CHECK_EQ(directions[1 + NEAP_COPY_WITHIN], 1);
    neap_engine_stop();
}

static void copy_refusals(int scheduler) {
    start(scheduler);
    neap_buffer *a = new_buffer(null_number), *b = new_buffer(0), *small = NULL, *empty = NULL;
    CHECK_EQ(neap_buffer_new(0, 10, &small), NEAP_OK);
    CHECK_EQ(neap_buffer_new(null_number, 0, &empty), NEAP_OK);
    CHECK_EQ(neap_buffer_copy(a, a, NULL), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_buffer_copy(NULL, a, NULL), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_buffer_copy(small, a, NULL), NEAP_E_SHAPE);
    CHECK_EQ(neap_buffer_copy(small, empty, NULL), NEAP_OK);
    fill(b, 5);
    CHECK_EQ(neap_buffer_copy(a, b, NULL), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_engine_stop();
    check_filled(a, 5); /* memory outlives the engine, as that of the CPU does */
    CHECK_EQ(neap_buffer_copy(a, b, NULL), NEAP_E_STATE);
    start(scheduler);
    CHECK_EQ(neap_buffer_copy(a, b, NULL), NEAP_E_STATE);
    CHECK_TEXT(neap_error_text(), "closed");
    neap_buffer_release(a);
    neap_buffer_release(b);
    neap_buffer_release(small);
    neap_buffer_release(empty);
    neap_engine_stop();
}

/* Copies go on while work is held up. */
static void copies_beside_work(int scheduler) {
    start(scheduler);
    neap_buffer *host = new_buffer(0), *a = new_buffer(null_number), *b = new_buffer(null_number);
    fill(host, 3);
    fill(a, 0);
    add_op op = {a, 1, 1, 0};
    null_device_hold(null_device, work, true);
    CHECK_EQ(push_add(&op, null_number, 0), NEAP_OK);
    CHECK_EQ(neap_buffer_copy(b, host, NULL), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(b)), NEAP_OK);
    check_filled(b, 3);
    check_filled(a, 0);
    CHECK_EQ(neap_buffer_copy(host, a, NULL), NEAP_OK); /* this one depends on it */
    CHECK_EQ(neap_var_poll(neap_buffer_var(host), NULL), NEAP_PENDING);
    CHECK(neap_buffer_owned(host) && neap_buffer_owned(a) && !neap_buffer_sole(a)); /* what it uses is lent to it */
    null_device_hold(null_device, work, false);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK(neap_buffer_sole(host) && neap_buffer_sole(a));
    check_filled(host, 1);
    neap_buffer_release(host);
    neap_buffer_release(a);
    neap_buffer_release(b);
    neap_engine_stop();
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

static void failing_work(int scheduler) {
    start(scheduler);
    neap_buffer *a = new_buffer(null_number), *host = new_buffer(0);
    neap_var *var = neap_buffer_var(a);
    fill(a, 0);
    fill(host, 8);
    add_op op = {a, 1, 2, 0};
    null_device_fail(null_device, work, NEAP_E_INTERNAL, "an illegal address");
    CHECK_EQ(push_add(&op, null_number, 0), NEAP_OK);
    CHECK_EQ(neap_buffer_copy(host, a, NULL), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(host)), NEAP_E_INTERNAL);
    CHECK_TEXT(neap_error_text(), "here:1: add: an illegal address");
    check_filled(a, 0); /* the second launch was not done either */
    check_filled(host, 8);
    CHECK_EQ(neap_var_poll(var, NULL), NEAP_E_INTERNAL);
    CHECK_EQ(neap_wait_all(), NEAP_OK); /* reported once */
    CHECK_EQ(counts().done[NULL_DEVICE_COPY], 0);
    neap_buffer_release(a);

    a = new_buffer(null_number); /* the stream stays broken until it is mended */
    fill(a, 0);
    op.buffer = a;
    CHECK_EQ(push_add(&op, null_number, 0), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(a)), NEAP_E_INTERNAL);
    neap_buffer_release(a);
    null_device_mend(null_device, work);
    a = new_buffer(null_number);
    fill(a, 0);
    op.buffer = a;
    CHECK_EQ(push_add(&op, null_number, 0), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    check_filled(a, 2);
    neap_buffer_release(host);
    host = new_buffer(0); /* that without a failure */
    null_device_fail(null_device, copies, NEAP_E_IO, "the wire is cut");
    CHECK_EQ(neap_buffer_copy(host, a, &(neap_push){.name = "fetch"}), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_E_IO);
    CHECK_TEXT(neap_error_text(), "fetch: the wire is cut");
    neap_buffer_release(a);
    neap_buffer_release(host);
    neap_engine_stop();
}

/* A function that fails after it has enqueued work: the op ends with that failure, and not before the work. */
static void failing_function(int scheduler) {
    start(scheduler);
    neap_buffer *a = new_buffer(null_number);
    fill(a, 0);
    add_op op = {a, 1, 1, NEAP_E_DTYPE};
    bool naive = scheduler == NEAP_SCHEDULER_NAIVE;
    uint64_t before = counts().calls;
    null_device_hold(null_device, work, !naive);
    CHECK_EQ(push_add(&op, null_number, 0), NEAP_OK);
    if (!naive) {
        wait_for_calls(before + 2);
        CHECK_EQ(neap_var_poll(neap_buffer_var(a), NULL), NEAP_PENDING);
        null_device_hold(null_device, work, false);
    }
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(a)), NEAP_E_DTYPE);
    CHECK_TEXT(neap_error_text(), "here:1: add: after the launches");
    check_filled(a, 1);
    neap_buffer_release(a);
    neap_engine_stop();
}

static int fail_on_host(const neap_launch *launch) {
    (void)launch;
    return neap_error(NEAP_E_DTYPE, "in the host function");
}

/* Fails when it is launched, and ends when the device has had so many calls. */
static int fail_beside(void *arg, const neap_run *run) {
    neap_launch launch = {.name = "fail", .groups = {1, 1, 1}, .threads = {1, 1, 1}, .host = fail_on_host};
    int status = neap_run_launch(run, &launch);
    wait_for_calls(*(const uint64_t *)arg);
    return status;
}

/* Two ops enqueue at a time: launch A, launch B, callback B, callback A. The failure of A's launch is A's alone. */
static void failing_beside(void) {
    start(NEAP_SCHEDULER_POOL);
    neap_buffer *a = new_buffer(null_number), *b = new_buffer(null_number);
    fill(b, 0);
    neap_var *var = neap_buffer_var(a);
    neap_push push = {.name = "fail", .site = "here:2", .device = null_number, .nwrites = 1, .writes = &var};
    uint64_t before = counts().calls, after = before + 3;
    CHECK_EQ(neap_push_sync(fail_beside, &after, &push), NEAP_OK);
    wait_for_calls(before + 1);
    CHECK_EQ(push_add(&(add_op){b, 1, 1, 0}, null_number, 0), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(b)), NEAP_OK);
    check_filled(b, 1);
    CHECK_EQ(neap_var_wait_to_read(var), NEAP_E_DTYPE);
    CHECK_TEXT(neap_error_text(), "here:2: fail: in the host function");
    CHECK_EQ(push_add(&(add_op){b, 1, 1, 0}, null_number, 0), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(b)), NEAP_OK);
    check_filled(b, 2);
    neap_buffer_release(a);
    neap_buffer_release(b);
    neap_engine_stop();
}

static int wait_for_cancel(void *arg, const neap_run *run) {
    *(_Atomic bool *)arg = true;
    while (!neap_run_cancelled(run))
        nap();
    return NEAP_OK;
}

static void *cancel(void *arg) {
    while (!*(_Atomic bool *)arg)
        nap();
    neap_engine_cancel();
    return NULL;
}

static void cancelling(int scheduler) {
    start(scheduler);
    neap_buffer *a = new_buffer(null_number);
    neap_var *var = neap_buffer_var(a);
    neap_push push = {.name = "patience", .device = null_number, .nwrites = 1, .writes = &var};
    pthread_t thread;
    _Atomic bool begun = false;
    pthread_create(&thread, NULL, cancel, &begun);
    CHECK_EQ(neap_push_sync(wait_for_cancel, &begun, &push), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(var), NEAP_E_INTERRUPT);
    CHECK_TEXT(neap_error_text(), "patience");
    pthread_join(thread, NULL);
    neap_buffer_release(a);
    neap_engine_stop();
}

/* ---- Random programs --------------------------------------------------------------------------------------------- */

enum { BUFFERS = 9, STEPS = 1500 };

static _Atomic bool quit;

/* Holds streams, lets them go step by step and breaks the rhythm, until told to stop. */
static void *disturb(void *arg) {
    uint64_t state = *(uint64_t *)arg;
    while (!quit) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        neap_stream *stream = (state >> 60) & 1 ? work : copies;
        null_device_hold(null_device, stream, true);
        for (uint64_t i = (state >> 40) % 6; i > 0; i--)
            null_device_step(null_device, stream, (int)i);
        nap();
        null_device_hold(null_device, stream, false);
    }
    return NULL;
}

/* Adds and copies over three devices, against the same done one after the other. */
static void random_program(int scheduler, uint64_t seed) {
    int devices[3] = {1};
    start(scheduler);
    devices[1] = null_number;
    CHECK_EQ(neap_device_open("lonely", 0, &devices[2]), NEAP_OK);
    pthread_t thread;
    uint64_t state = seed;
    quit = false;
    pthread_create(&thread, NULL, disturb, &seed);
    neap_buffer *buffers[BUFFERS];
    int64_t expected[BUFFERS];
    static add_op ops[STEPS];
    for (int i = 0; i < BUFFERS; i++) {
        buffers[i] = new_buffer(devices[i % 3]);
        fill(buffers[i], expected[i] = i);
    }
    for (int i = 0; i < STEPS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int to = (int)(state >> 33) % BUFFERS, from = (int)(state >> 45 & 0xffff) % BUFFERS;
        if (to == from) {
            ops[i] = (add_op){buffers[to], state >> 50, 1, 0};
            CHECK_EQ(push_add(&ops[i], devices[to % 3], state & 1 << 20 ? NEAP_PUSH_SMALL : 0), NEAP_OK);
            expected[to] += (int64_t)(state >> 50);
        } else if (state & 1 << 22) {
            CHECK_EQ(neap_buffer_copy(buffers[to], buffers[from], NULL), NEAP_OK);
            expected[to] = expected[from];
        } else { /* a new buffer in its place, while the old one may be in use */
            neap_buffer_release(buffers[to]);
            buffers[to] = new_buffer(devices[to % 3]);
            CHECK_EQ(neap_buffer_copy(buffers[to], buffers[from], NULL), NEAP_OK);
            expected[to] = expected[from];
        }
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    quit = true;
    pthread_join(thread, NULL);
    for (int i = 0; i < BUFFERS; i++) {
        check_filled(buffers[i], expected[i]);
        neap_buffer_release(buffers[i]);
    }
    CHECK_EQ(neap_device_memory(null_number, &(neap_memory_stats){0}), NEAP_OK);
    neap_engine_stop();
}

/* ---- Failing allocations ----------------------------------------------------------------------------------------- */

/* Opens devices, computes, copies and uses streams while the n-th allocation fails. Returns what failed. */
static int fragile(void) {
    int number, other, failed = 0;
    neap_buffer *a = NULL, *b = NULL, *c = NULL;
    neap_event *event = NULL;
    neap_code *made = NULL;
    if (neap_device_open("null", 0, &number) || neap_device_open("lonely", 1, &other))
        return 1;
    const neap_device_kind *kind = neap_device_kind_of(number);
    neap_device *device = neap_device_handle(number);
    neap_stream *stream = neap_device_stream(number, 0);
    add_op op = {NULL, 1, 2, 0}, bad = {NULL, 1, 1, NEAP_E_DTYPE};
    if (neap_buffer_new(number, BYTES, &a) || neap_buffer_new(0, BYTES, &b) || neap_buffer_new(other, BYTES, &c)) {
        failed++;
    } else {
        op.buffer = a;
        bad.buffer = c;
        fill(a, 0);
        failed += push_add(&op, number, 0) != NEAP_OK;
        failed += neap_buffer_copy(c, a, NULL) != NEAP_OK;
        failed += neap_buffer_copy(b, c, NULL) != NEAP_OK;
        if (push_add(&bad, other, 0) == NEAP_OK) {
            int status = neap_var_wait_to_read(neap_buffer_var(c));
            CHECK(status == NEAP_E_DTYPE || status == NEAP_E_MEMORY || (failed && status == NEAP_OK));
            failed += status != NEAP_E_DTYPE;
        } else {
            failed++;
        }
    }
    failed += neap_code_new(number, "relu", "", 0, &made) != NEAP_OK;
    neap_code_free(number, made);
    if (kind->event_new(device, stream, &event) == NEAP_OK) {
        failed += kind->stream_wait(device, neap_device_stream(number, NEAP_PUSH_COPY), event) != NEAP_OK;
        kind->event_free(device, event);
    } else {
        failed++;
    }
    neap_buffer_release(a);
    failed += neap_wait_all() != NEAP_OK;
    neap_buffer_release(b);
    neap_buffer_release(c);
    return failed;
}

/* A round may recover from its failing allocation, so all are tried, up to where none is reached any more. */
static void failing_allocations(int scheduler) {
    int rounds = 0, failed = 1;
    for (int nth = 1; nth <= 120; nth++) {
        neap_engine_config config = {.workers = 2, .devices = 2, .scheduler = scheduler};
        engine_alloc_fail(0);
        CHECK_EQ(neap_engine_start(&config), NEAP_OK);
        engine_alloc_fail(nth);
        failed = fragile();
        engine_alloc_fail(0);
        neap_engine_stop();
        rounds += failed > 0;
    }
    CHECK(rounds > 20);
    CHECK_EQ(failed, 0);
}

int main(void) {
    static const int schedulers[] = {NEAP_SCHEDULER_POOL, NEAP_SCHEDULER_DEVICE, NEAP_SCHEDULER_NAIVE};
    register_lonely();
    failing_beside();
    for (int i = 0; i < 3; i++) {
        int scheduler = schedulers[i];
        copying(scheduler);
        copy_refusals(scheduler);
        if (scheduler != NEAP_SCHEDULER_NAIVE) /* its pushes wait for the stream that this holds */
            copies_beside_work(scheduler);
        failing_work(scheduler);
        failing_function(scheduler);
        cancelling(scheduler);
        for (uint64_t seed = 1; seed <= 3; seed++)
            random_program(scheduler, seed);
        failing_allocations(scheduler);
    }
    return check_end();
}
