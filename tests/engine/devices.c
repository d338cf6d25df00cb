/* devices.c: devices that are not CPUs, with the null device as the witness: opening, streams, completion, events,
 * order of memory, code; under every scheduler. Copies and failures: device_copies.c. */
#include "tests/engine/devices.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static void opening(int scheduler) {
    int number = -1;
    neap_device_facts facts;
    CHECK_EQ(neap_device_open("null", 0, &number), NEAP_E_STATE);
    CHECK_EQ(neap_device_count(), 0);
    CHECK(neap_device_name(0) == NULL);
    start(scheduler);
    CHECK_EQ(neap_engine_devices(), 2);
    CHECK_EQ(neap_device_count(), 3);
    CHECK_EQ(null_number, 2);
    CHECK_EQ(neap_device_open("null", 0, &number), NEAP_OK);
    CHECK_EQ(number, 2);
    CHECK_EQ(neap_device_open("null", 3, &number), NEAP_OK);
    CHECK_EQ(number, 3);
    CHECK_EQ(neap_device_open("cpu", 1, &number), NEAP_OK);
    CHECK_EQ(number, 1);
    CHECK_EQ(neap_device_open("cpu", 2, &number), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_device_open("null", -1, &number), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_device_open("null", 1000, &number), NEAP_E_ARGUMENT);
    CHECK_TEXT(neap_error_text(), "null:1000");
    CHECK_EQ(neap_device_open("warp", 0, &number), NEAP_E_ARGUMENT);
    CHECK_TEXT(neap_error_text(), "warp");
    CHECK_TEXT(neap_device_name(1), "cpu:1");
    CHECK_TEXT(neap_device_name(3), "null:3");
    CHECK(neap_device_name(4) == NULL && neap_device_name(-1) == NULL);
    CHECK_EQ(neap_device_find("null:3", &number), NEAP_OK);
    CHECK_EQ(number, 3);
    CHECK_EQ(neap_device_find("cpu:0", &number), NEAP_OK);
    CHECK_EQ(number, 0);
    CHECK_EQ(neap_device_find("null:1", &number), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_device_get(0, &facts), NEAP_OK);
    CHECK(facts.host_memory && facts.memory_bytes > 0 && facts.units > 0);
    CHECK_EQ(neap_device_get(2, &facts), NEAP_OK);
    CHECK_TEXT(facts.name, "null");
    CHECK_EQ(neap_device_get(4, &facts), NEAP_E_ARGUMENT);
    CHECK(neap_device_stream(0, 0) == NULL);
    CHECK(work && copies && work != copies);
    CHECK(neap_device_kind_of(0) == &engine_cpu_kind && neap_device_kind_of(2) == &null_device_kind);
    neap_push push = {.device = 4};
    CHECK_EQ(neap_push_sync(add, NULL, &push), NEAP_E_ARGUMENT);
    neap_engine_stop();
    CHECK_EQ(neap_device_find("null:0", &number), NEAP_E_STATE);
    start(scheduler); /* numbers begin anew */
    CHECK_EQ(null_number, 2);
    CHECK_EQ(counts().calls, 0);
    neap_engine_stop();
}

static void registering(void) {
    static neap_device_kind kind, other;
    CHECK_EQ(neap_device_register(NULL), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_device_register(&kind), NEAP_E_ARGUMENT); /* no abi */
    CHECK_TEXT(neap_error_text(), "interface 0");
    kind = null_device_kind;
    CHECK_EQ(neap_device_register(&kind), NEAP_E_STATE); /* the name is taken */
    kind.name = "No Name";
    CHECK_EQ(neap_device_register(&kind), NEAP_E_ARGUMENT);
    kind.name = "other";
    kind.stream_sync = NULL;
    CHECK_EQ(neap_device_register(&kind), NEAP_E_ARGUMENT);
    CHECK_TEXT(neap_error_text(), "'other' misses a function");
    kind.stream_sync = null_device_kind.stream_sync;
    CHECK_EQ(neap_device_register(&kind), NEAP_OK);
    CHECK_EQ(neap_device_register(&kind), NEAP_OK);
    other = kind;
    CHECK_EQ(neap_device_register(&other), NEAP_E_STATE);
}

/* In a fork's child everything about devices is refused, and nothing is touched. */
static void forked(void) {
    start(NEAP_SCHEDULER_POOL);
    neap_buffer *a = new_buffer(null_number), *b = new_buffer(0);
    pid_t child = fork();
    if (child == 0) {
        int number;
        long before = check_failed;
        CHECK_EQ(neap_device_open("null", 1, &number), NEAP_E_STATE);
        CHECK_EQ(neap_buffer_copy(b, a, NULL), NEAP_E_STATE);
        CHECK_TEXT(neap_error_text(), "fork");
        CHECK_EQ(neap_buffer_new(null_number, 1, &b), NEAP_E_STATE);
        CHECK_EQ(neap_plugin_load("any"), NEAP_E_STATE);
        CHECK_EQ(neap_device_count(), 0);
        neap_buffer_release(a);
        neap_engine_stop();
        _exit(check_failed != before);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    neap_buffer_release(a);
    neap_buffer_release(b);
    neap_engine_stop();
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

/* Ops compute through the CPU; every call is recorded with its arguments. */
static void computing(int scheduler) {
    start(scheduler);
    neap_buffer *buffer = new_buffer(null_number);
    CHECK_EQ(neap_buffer_device(buffer), null_number);
    fill(buffer, 0);
    add_op ops[50];
    uint64_t before = counts().calls;
    for (int i = 0; i < 50; i++) {
        ops[i] = (add_op){buffer, (uint64_t)i, 1, 0};
        CHECK_EQ(push_add(&ops[i], null_number, 0), NEAP_OK);
    }
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(buffer)), NEAP_OK);
    check_filled(buffer, 49 * 50 / 2);
    null_device_record record;
    uint64_t turn = 0, launches = 0;
    for (uint64_t number = before + 1; null_device_read(null_device, number, &record); number++) {
        CHECK(record.turn > turn);
        turn = record.turn;
        CHECK(record.stream == work);
        if (record.what != NULL_DEVICE_LAUNCH)
            continue;
        CHECK_TEXT(record.name, "add");
        CHECK_EQ(record.nbuffers, 1);
        CHECK(record.buffers[0] == neap_buffer_data(buffer));
        CHECK_EQ(record.scalars[0], launches);
        CHECK(record.groups[0] == 4 && record.threads[0] == 32 && record.shared_bytes == 16);
        launches++;
    }
    CHECK_EQ(launches, 50);
    null_device_compute(null_device, false);
    CHECK_EQ(push_add(&ops[7], null_number, 0), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    check_filled(buffer, 49 * 50 / 2);
    CHECK_EQ(counts().done[NULL_DEVICE_LAUNCH], 51);
    CHECK_EQ(push_add(&ops[7], 1, 0), NEAP_OK); /* a CPU device calls the host function */
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    check_filled(buffer, 49 * 50 / 2 + 7);
    neap_buffer_release(buffer);
    neap_engine_stop();
}

/* An op has finished when its stream has come to its end, not when its function returns; what needs it is enqueued
 * behind it at once. */
static void completion(int scheduler) {
    start(scheduler);
    neap_buffer *buffer = new_buffer(null_number);
    neap_var *var = neap_buffer_var(buffer);
    fill(buffer, 0);
    add_op op = {buffer, 1, 3, 0}, second = {buffer, 10, 1, 0};
    uint64_t before = counts().calls;
    null_device_hold(null_device, work, true);
    CHECK_EQ(push_add(&op, null_number, 0), NEAP_OK);
    CHECK_EQ(push_add(&second, null_number, 0), NEAP_OK);
    wait_for_calls(before + 6); /* three launches and the callback, and a launch and the callback of the second */
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(neap_var_poll(var, NULL), NEAP_PENDING);
        CHECK_EQ(neap_var_version(var), 0);
        check_filled(buffer, i);
        CHECK_EQ(null_device_step(null_device, work, 1), 1);
    }
    CHECK_EQ(neap_var_version(var), 1);
    CHECK_EQ(neap_var_poll(var, NULL), NEAP_PENDING);
    check_filled(buffer, 3);
    null_device_hold(null_device, work, false);
    CHECK_EQ(neap_var_wait_to_read(var), NEAP_OK);
    CHECK_EQ(counts().calls, before + 6);
    check_filled(buffer, 13);
    neap_buffer_release(buffer);
    neap_engine_stop();
}

static void *let_go(void *arg) {
    nap();
    (void)arg;
    null_device_hold(null_device, work, false);
    null_device_hold(null_device, copies, false);
    return NULL;
}

/* Whoever waits, a naive push or the stop, waits for the stream. */
static void waiting(int scheduler) {
    for (int round = 0; round < 20; round++) {
        start(scheduler);
        neap_buffer *buffer = new_buffer(null_number);
        fill(buffer, 0);
        add_op op = {buffer, 1, 2, 0};
        pthread_t thread;
        null_device_hold(null_device, work, true);
        pthread_create(&thread, NULL, let_go, NULL);
        CHECK_EQ(push_add(&op, null_number, NEAP_PUSH_SMALL), NEAP_OK);
        if (scheduler == NEAP_SCHEDULER_NAIVE)
            CHECK_EQ(neap_var_poll(neap_buffer_var(buffer), NULL), NEAP_OK);
        if (round % 2)
            CHECK_EQ(neap_wait_all(), NEAP_OK);
        pthread_join(thread, NULL); /* it uses the device */
        neap_engine_stop();
        check_filled(buffer, 2);
        neap_buffer_release(buffer); /* the device closes here */
    }
}

/* Small ops do not run at their push on a device, nor in a bulk, nor by who waits; operators work as pushes do. */
static void small_ops(int scheduler) {
    start(scheduler);
    neap_buffer *buffer = new_buffer(null_number);
    neap_var *var = neap_buffer_var(buffer);
    fill(buffer, 0);
    add_op op = {buffer, 1, 1, 0};
    neap_engine_counts before, after;
    neap_engine_count(&before);
    for (int most = 0; most <= 8; most += 8) {
        neap_bulk(most);
        for (int i = 0; i < 10; i++)
            CHECK_EQ(push_add(&op, null_number, NEAP_PUSH_SMALL), NEAP_OK);
        neap_push push = {
            .name = "again", .flags = NEAP_PUSH_SMALL, .device = null_number, .nwrites = 1, .writes = &var};
        neap_operator *again;
        CHECK_EQ(neap_operator_new(add, &op, &push, &again), NEAP_OK);
        for (int i = 0; i < 5; i++)
            CHECK_EQ(neap_operator_push(again, null_number, 0), NEAP_OK);
        neap_operator_delete(again);
        CHECK_EQ(neap_wait_all(), NEAP_OK);
    }
    neap_bulk(0);
    check_filled(buffer, 30);
    CHECK_EQ(counts().done[NULL_DEVICE_THEN], scheduler == NEAP_SCHEDULER_NAIVE ? 0 : 30);
    neap_engine_count(&after);
    CHECK_EQ(after.completed - before.completed, 30);
    if (scheduler != NEAP_SCHEDULER_NAIVE)
        CHECK_EQ(after.inlined, before.inlined);
    neap_buffer_release(buffer);
    neap_engine_stop();
}

typedef struct call {
    _Atomic int status, count;
    char text[100];
} call;

static void note(void *arg, int status) {
    call *noted = arg;
    snprintf(noted->text, sizeof noted->text, "%s", status < 0 ? neap_error_text() : "");
    noted->status = status;
    noted->count++;
}

/* A stream waits for another's event, and breaks with it. */
static void events(int scheduler) {
    start(scheduler);
    const neap_device_kind *kind = neap_device_kind_of(null_number);
    int64_t from = 42, middle = 0, to = 0;
    neap_event *event;
    call noted = {0};
    null_device_hold(null_device, work, true);
    CHECK_EQ(kind->copy(null_device, work, NEAP_COPY_WITHIN, &middle, &from, sizeof from), NEAP_OK);
    CHECK_EQ(kind->event_new(null_device, work, &event), NEAP_OK);
    CHECK_EQ(kind->stream_wait(null_device, copies, event), NEAP_OK);
    kind->event_free(null_device, event);
    CHECK_EQ(kind->copy(null_device, copies, NEAP_COPY_WITHIN, &to, &middle, sizeof to), NEAP_OK);
    CHECK_EQ(kind->stream_then(null_device, copies, note, &noted), NEAP_OK);
    CHECK_EQ(null_device_step(null_device, work, 1), 1); /* the copy, not the event */
    CHECK_EQ(middle, 42);
    CHECK_EQ(to, 0);
    CHECK_EQ(noted.count, 0);
    CHECK_EQ(null_device_step(null_device, work, 5), 1);
    CHECK_EQ(to, 42);
    CHECK_EQ(noted.count, 1);
    CHECK_EQ(noted.status, NEAP_OK);
    CHECK_EQ(counts().events, 0);

    null_device_fail(null_device, work, NEAP_E_IO, "the wire is cut");
    from = 43;
    CHECK_EQ(kind->copy(null_device, work, NEAP_COPY_WITHIN, &middle, &from, sizeof from), NEAP_OK);
    CHECK_EQ(kind->event_new(null_device, work, &event), NEAP_OK);
    CHECK_EQ(kind->stream_wait(null_device, copies, event), NEAP_OK);
    CHECK_EQ(kind->copy(null_device, copies, NEAP_COPY_WITHIN, &to, &middle, sizeof to), NEAP_OK);
    CHECK_EQ(kind->stream_then(null_device, copies, note, &noted), NEAP_OK);
    null_device_hold(null_device, work, false);
    CHECK_EQ(noted.count, 2);
    CHECK_EQ(noted.status, NEAP_E_IO);
    CHECK_TEXT(noted.text, "the wire is cut");
    CHECK(middle == 42 && to == 42);
    CHECK_EQ(kind->stream_sync(null_device, copies), NEAP_E_IO);
    kind->event_free(null_device, event);
    neap_engine_stop();
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

typedef struct scratch_op {
    void *scratch, *again;
} scratch_op;

static int use_scratch(void *arg, const neap_run *run) {
    scratch_op *op = arg;
    CHECK_EQ(neap_run_alloc(run, 300, &op->scratch), NEAP_OK);
    CHECK_EQ(neap_run_copy(run, NEAP_COPY_TO_DEVICE, op->scratch, "abc", 4), NEAP_OK);
    neap_run_free(run, op->scratch, 300);
    return NEAP_OK;
}

/* A block that was freed in a stream goes to nobody before the stream has passed the free. */
static void scratch(int scheduler) {
    start(scheduler);
    const neap_device_kind *kind = neap_device_kind_of(null_number);
    scratch_op op = {0};
    void *other = NULL, *last = NULL;
    uint64_t before = counts().calls;
    null_device_hold(null_device, work, true);
    neap_push push = {.device = null_number};
    CHECK_EQ(neap_push_sync(use_scratch, &op, &push), NEAP_OK);
    wait_for_calls(before + 4); /* alloc, copy, free, then */
    CHECK_EQ(counts().blocks, 1);
    CHECK_EQ(kind->alloc(null_device, copies, 300, &other), NEAP_OK);
    CHECK(other != op.scratch);
    CHECK_EQ(null_device_step(null_device, work, 1), 1);
    CHECK_EQ(kind->alloc(null_device, NULL, 300, &last), NEAP_OK);
    CHECK(last != op.scratch);
    kind->free(null_device, NULL, last, 300);
    CHECK_EQ(null_device_step(null_device, work, 1), 1); /* the free */
    CHECK_EQ(counts().blocks, 1);
    CHECK_EQ(kind->alloc(null_device, NULL, 300, &last), NEAP_OK);
    CHECK(last == op.scratch);
    kind->free(null_device, NULL, last, 300);
    kind->free(null_device, copies, other, 300);
    null_device_hold(null_device, work, false);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(counts().blocks, 0);
    push.device = 0; /* the same op on a CPU */
    CHECK_EQ(neap_push_sync(use_scratch, &op, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_engine_stop();
}

/* A buffer whose last reference has gone keeps its memory until the stream has done the last work on it. */
static void buffers_in_use(int scheduler) {
    start(scheduler);
    neap_buffer *buffer = new_buffer(null_number), *next;
    void *data = neap_buffer_data(buffer);
    fill(buffer, 0);
    add_op op = {buffer, 1, 1, 0};
    uint64_t before = counts().calls;
    null_device_hold(null_device, work, true);
    CHECK_EQ(push_add(&op, null_number, 0), NEAP_OK);
    wait_for_calls(before + 2);
    neap_buffer_release(buffer);
    next = new_buffer(null_number);
    CHECK(neap_buffer_data(next) != data);
    neap_buffer_release(next);
    null_device_hold(null_device, work, false);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    next = new_buffer(null_number); /* the pool gives the latest first */
    CHECK(neap_buffer_data(next) == data);
    neap_buffer_release(next);
    neap_engine_stop();
}

static void memory_of_devices(int scheduler) {
    neap_memory_stats cpu, device;
    neap_buffer *buffers[4], *more = NULL;
    start(scheduler);
    CHECK_EQ(neap_device_memory(null_number, &device), NEAP_OK);
    CHECK(device.live_bytes == 0 && device.pooled_bytes == 0 && device.allocations == 0);
    neap_memory_get(&cpu);
    uint64_t cpu_live = cpu.live_bytes;
    for (int i = 0; i < 4; i++)
        CHECK_EQ(neap_buffer_new(null_number, 1 << 20, &buffers[i]), NEAP_OK);
    CHECK_EQ(neap_device_memory(null_number, &device), NEAP_OK);
    CHECK(device.live_bytes == 4 << 20 && device.allocations == 4);
    CHECK_EQ(counts().block_bytes, 4 << 20);
    neap_memory_get(&cpu);
    CHECK_EQ(cpu.live_bytes, cpu_live);
    null_device_memory(null_device, (4 << 20) + 5000);
    CHECK_EQ(neap_buffer_new(null_number, 1 << 20, &more), NEAP_E_MEMORY);
    CHECK_TEXT(neap_error_text(), "null:0");
    neap_buffer_release(buffers[0]);
    CHECK_EQ(neap_device_memory(null_number, &device), NEAP_OK);
    CHECK(device.live_bytes == 3 << 20 && device.pooled_bytes == 1 << 20);
    CHECK_EQ(neap_buffer_new(null_number, 3 << 18, &more), NEAP_OK); /* the pool makes room */
    CHECK_EQ(neap_device_memory(null_number, &device), NEAP_OK);
    CHECK_EQ(device.pooled_bytes, 0);
    CHECK_EQ(device.peak_bytes, 4 << 20);
    neap_buffer_release(more);
    for (int i = 1; i < 4; i++)
        neap_buffer_release(buffers[i]);
    neap_memory_trim();
    CHECK_EQ(counts().blocks, 0);
    CHECK_EQ(neap_device_memory(9, &device), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_buffer_new(9, 1, &more), NEAP_E_ARGUMENT);
    neap_engine_stop();
}

/* ---- Code -------------------------------------------------------------------------------------------------------- */

static void code(int scheduler) {
    neap_code *made = NULL;
    start(scheduler);
    CHECK_EQ(neap_code_new(0, "relu", "text", 4, &made), NEAP_E_LIBRARY);
    CHECK_EQ(neap_code_new(7, "relu", "text", 4, &made), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_code_new(null_number, "relu", "text", 4, &made), NEAP_OK);
    neap_run run = {.device = null_number, .stream = work};
    CHECK_EQ(neap_run_launch(&run, &(neap_launch){.name = "relu", .code = made}), NEAP_OK);
    null_device_record record;
    CHECK(null_device_read(null_device, 1, &record));
    CHECK(record.what == NULL_DEVICE_LAUNCH && record.code == made && record.nbuffers == 0);
    run = (neap_run){.device = 0};
    CHECK_EQ(neap_run_launch(&run, &(neap_launch){.name = "relu"}), NEAP_E_LIBRARY); /* nothing for the CPU */
    CHECK_EQ(counts().codes, 1);
    neap_code_free(null_number, made);
    neap_code_free(null_number, NULL);
    CHECK_EQ(counts().codes, 0);
    neap_engine_stop();
}

int main(void) {
    static const int schedulers[] = {NEAP_SCHEDULER_POOL, NEAP_SCHEDULER_DEVICE, NEAP_SCHEDULER_NAIVE};
    registering();
    forked();
    for (int i = 0; i < 3; i++) {
        int scheduler = schedulers[i];
        opening(scheduler);
        computing(scheduler);
        waiting(scheduler);
        small_ops(scheduler);
        events(scheduler);
        memory_of_devices(scheduler);
        code(scheduler);
        if (scheduler == NEAP_SCHEDULER_NAIVE)
            continue; /* its pushes wait for the stream that these hold */
        completion(scheduler);
        scratch(scheduler);
        buffers_in_use(scheduler);
    }
    return check_end();
}
