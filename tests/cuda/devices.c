/* devices.c: GPUs by the CUDA backend, with the fake driver as the witness: opening, copies of all sizes and
 * directions, code and its parameters, scratch memory, events between devices, host functions that fail, random
 * programs; under every scheduler. Failures of the driver: failures.c. */
#include "tests/cuda/cuda.h"

#include <pthread.h>

static void opening(int scheduler) {
    neap_device_facts facts;
    int number = -1;
    start(scheduler);
    CHECK_EQ(neap_device_open("cuda", 1, &number), NEAP_OK);
    CHECK_EQ(number, gpus[1]);
    CHECK_TEXT(neap_device_name(gpus[1]), "cuda:1");
    CHECK_EQ(neap_device_open("cuda", FAKE_DEVICES, &number), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_device_get(gpus[1], &facts), NEAP_OK);
    CHECK_TEXT(facts.name, "Fake GPU 1, CUDA 13.0");
    CHECK(facts.memory_bytes == 1 << 30 && facts.units == 7 && !facts.host_memory);
    CHECK(neap_device_memory_space(gpus[0]) != neap_device_memory_space(gpus[1]));
    CHECK_EQ(counts().contexts, 2);
    stop();
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Of buffers of so many numbers between the CPU and two devices. What is larger than the pinned memory goes in
 * pieces. */
static void copying(int scheduler, size_t count) {
    start(scheduler);
    int devices[3] = {0, gpus[0], gpus[1]};
    neap_buffer *source = new_buffer(0, count);
    fill(source, 7);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            neap_buffer *from = new_buffer(devices[i], count), *to = new_buffer(devices[j], count);
            CHECK_EQ(neap_buffer_copy(from, source, NULL), NEAP_OK);
            CHECK_EQ(neap_buffer_copy(to, from, NULL), NEAP_OK);
            check_filled(to, 7);
            neap_buffer_release(from);
            neap_buffer_release(to);
        }
    }
    neap_buffer_release(source);
    stop();
}

/* Nobody waits for a large copy but its reader. */
static void not_waiting(void) {
    enum { LARGE = 1 << 20 };
    start(NEAP_SCHEDULER_POOL);
    neap_buffer *host = new_buffer(0, LARGE), *gpu = new_buffer(gpus[0], LARGE), *back = new_buffer(0, LARGE);
    fill(host, 3);
    fake->hold(0, true);
    CHECK_EQ(neap_buffer_copy(gpu, host, NULL), NEAP_OK);
    CHECK_EQ(neap_var_poll(neap_buffer_var(gpu), NULL), NEAP_PENDING);
    CHECK_EQ(neap_buffer_copy(back, gpu, NULL), NEAP_OK);
    CHECK_EQ(neap_var_poll(neap_buffer_var(back), NULL), NEAP_PENDING);
    fake->hold(0, false);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(back)), NEAP_OK);
    CHECK_EQ(count_wrong(back, 3), 0);
    neap_buffer_release(host);
    neap_buffer_release(gpu);
    neap_buffer_release(back);
    stop();
}

/* ---- Code -------------------------------------------------------------------------------------------------------- */

static void code(int scheduler) {
    start(scheduler);
    neap_code *made = NULL, *none = NULL;
    neap_buffer *host = new_buffer(0, 100), *buffer = new_buffer(gpus[0], 100);
    fill(host, 0);
    CHECK_EQ(neap_buffer_copy(buffer, host, NULL), NEAP_OK);
    CHECK_EQ(neap_code_new(gpus[0], "add_words", "nonsense", 8, &none), NEAP_E_LIBRARY);
    CHECK_TEXT(neap_error_text(), "'add_words' cannot be loaded: CUDA_ERROR_INVALID_PTX: ptxas: line 1: no version");
    CHECK(strstr(neap_error_text(), "more") == NULL);
    CHECK_EQ(neap_code_new(gpus[0], "other", add_text, sizeof add_text - 1, &none), NEAP_E_LIBRARY);
    CHECK_TEXT(neap_error_text(), "'other' has no such entry");
    CHECK_EQ(neap_code_new(gpus[0], "add_words", add_text, sizeof add_text - 1, &made), NEAP_OK);
    uint64_t before = counts().kernels;
    add_op ops[20];
    for (int k = 0; k < 20; k++) {
        ops[k] = (add_op){buffer, (uint64_t)k, k % 2 ? made : NULL}; /* code, and host functions between */
        CHECK_EQ(push_add(&ops[k]), NEAP_OK);
    }
    check_filled(buffer, 190);
    fake_counts now = counts();
    CHECK_EQ(now.kernels - before, 10);
    CHECK_EQ(now.last[0], (uintptr_t)neap_buffer_data(buffer));
    CHECK(now.last[1] == 19 && now.last[2] == 100);
    neap_code_free(gpus[0], made);
    neap_buffer_release(host);
    neap_buffer_release(buffer);
    stop();
}

typedef struct shape {
    neap_code *code;
    uint32_t threads, shared_bytes;
} shape;

static int launch_shape(void *arg, const neap_run *run) {
    const shape *s = arg;
    void *memory;
    uint64_t scalars[2] = {1, 1};
    int status = neap_run_alloc(run, 64, &memory); /* scratch memory, freed in the stream's order */
    neap_launch launch = {.name = "shape",
                          .code = s->code,
                          .nbuffers = 1,
                          .nscalars = 2,
                          .buffers = &memory,
                          .scalars = scalars,
                          .groups = {1, 1, 1},
                          .threads = {s->threads, 1, 1},
                          .shared_bytes = s->shared_bytes};
    if (status)
        return status;
    status = neap_run_launch(run, &launch);
    neap_run_free(run, memory, 64);
    return status;
}

/* Shared memory beyond what every kernel gets is asked for; a launch that the driver refuses is the failure of its op
 * alone. */
static void shapes(int scheduler) {
    start(scheduler);
    neap_code *made = NULL;
    CHECK_EQ(neap_code_new(gpus[0], "add_words", add_text, sizeof add_text - 1, &made), NEAP_OK);
    shape cases[] = {{made, 32, 1024},    {made, 1024, 100 << 10}, {made, 32, 64 << 10}, {made, 2048, 0},
                     {made, 32, 1 << 20}, {NULL, 32, 0},           {made, 32, 0}};
    const char *expected[] = {NULL, NULL, NULL, "cuLaunchKernel", "cuFuncSetAttribute", "no code for 'shape'", NULL};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        neap_var *var = NULL;
        CHECK_EQ(neap_var_new(&var), NEAP_OK);
        neap_push push = {.name = "launch", .device = gpus[0], .nwrites = 1, .writes = &var};
        CHECK_EQ(neap_push_sync(launch_shape, &cases[k], &push), NEAP_OK);
        CHECK_EQ(neap_var_wait_to_read(var), expected[k] ? NEAP_E_LIBRARY : NEAP_OK);
        if (expected[k])
            CHECK_TEXT(neap_error_text(), expected[k]);
        neap_var_delete(var);
    }
    neap_code_free(gpus[0], made);
    stop();
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static neap_buffer *from, *to;

/* Runs on cuda:1: copies there what cuda:0 makes meanwhile, which only an event orders. */
static int copy_behind_event(void *arg, const neap_run *run) {
    neap_stream *other = neap_device_stream(gpus[0], 0);
    const neap_device_kind *kind = neap_device_kind_of(gpus[0]);
    neap_device *source = neap_device_handle(gpus[0]), *target = neap_device_handle(gpus[1]);
    neap_event *event;
    neap_run there = {.device = gpus[0], .stream = other};
    int status = add(arg, &there);
    if (!status)
        status = kind->event_new(source, other, &event);
    if (status)
        return status;
    status = kind->stream_wait(target, run->stream, event);
    kind->event_free(source, event);
    return status ? status
                  : kind->copy_peer(target, run->stream, neap_buffer_data(to), source, neap_buffer_data(from),
                                    neap_buffer_bytes(to));
}

static int push_behind_event(const add_op *op) {
    neap_var *vars[2] = {neap_buffer_var(from), neap_buffer_var(to)};
    neap_push push = {.name = "behind", .site = "here:2", .device = gpus[1], .nwrites = 2, .writes = vars};
    return neap_push_sync(copy_behind_event, (void *)op, &push);
}

static void events(int scheduler) {
    start(scheduler);
    neap_buffer *host = new_buffer(0, 100);
    from = new_buffer(gpus[0], 100);
    to = new_buffer(gpus[1], 100);
    add_op op = {from, 5, NULL};
    fill(host, 0);
    CHECK_EQ(neap_buffer_copy(from, host, NULL), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    if (scheduler != NEAP_SCHEDULER_NAIVE) {
        uint64_t copies = counts().copies;
        fake->hold(0, true);
        CHECK_EQ(push_behind_event(&op), NEAP_OK);
        for (int k = 0; k < 20; k++)
            nap();
        CHECK_EQ(counts().copies, copies); /* cuda:1 waits for cuda:0 */
        fake->hold(0, false);
    } else {
        CHECK_EQ(push_behind_event(&op), NEAP_OK);
    }
    check_filled(to, 5);
    neap_buffer_release(host);
    neap_buffer_release(from);
    neap_buffer_release(to);
    stop();
}

/* ---- Host functions that fail ------------------------------------------------------------------------------------ */

static int fail_on_host(const neap_launch *launch) {
    (void)launch;
    return neap_error(NEAP_E_DTYPE, "in the host function");
}

static int fail(void *arg, const neap_run *run) {
    neap_launch launch = {.name = "fail", .groups = {1, 1, 1}, .threads = {1, 1, 1}, .host = fail_on_host};
    int status = neap_run_launch(run, &launch);
    return status ? status : add(arg, run); /* is not done */
}

static void failing(int scheduler) {
    start(scheduler);
    neap_buffer *a = new_buffer(gpus[0], 10), *host = new_buffer(0, 10);
    fill(host, 0);
    add_op op = {a, 4, NULL};
    CHECK_EQ(neap_buffer_copy(a, host, NULL), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_var *var = NULL, *read = neap_buffer_var(a);
    CHECK_EQ(neap_var_new(&var), NEAP_OK);
    neap_push push = {
        .name = "fail", .site = "here:3", .device = gpus[0], .nreads = 1, .reads = &read, .nwrites = 1, .writes = &var};
    CHECK_EQ(neap_push_sync(fail, &op, &push), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(var), NEAP_E_DTYPE);
    CHECK_TEXT(neap_error_text(), "here:3: fail: in the host function");
    CHECK_EQ(push_add(&op), NEAP_OK);
    check_filled(a, 4);
    neap_var_delete(var);
    neap_buffer_release(a);
    neap_buffer_release(host);
    stop();
}

/* ---- Random programs --------------------------------------------------------------------------------------------- */

enum { BUFFERS = 9, STEPS = 400, COUNT = 300 };

static _Atomic bool quit;

static void *disturb(void *arg) {
    for (int k = 0; !quit; k++) {
        fake->hold(k % 2, true);
        nap();
        fake->hold(k % 2, false);
    }
    return arg;
}

/* Adds and copies over the CPU and two devices, against the same done one after the other. */
static void random_program(int scheduler, uint64_t state) {
    start(scheduler);
    int devices[3] = {0, gpus[0], gpus[1]};
    neap_buffer *buffers[BUFFERS];
    int64_t expected[BUFFERS];
    static add_op ops[STEPS];
    pthread_t thread;
    quit = false;
    pthread_create(&thread, NULL, disturb, NULL);
    for (int k = 0; k < BUFFERS; k++) {
        neap_buffer *first = new_buffer(0, COUNT);
        fill(first, expected[k] = k);
        buffers[k] = new_buffer(devices[k % 3], COUNT);
        CHECK_EQ(neap_buffer_copy(buffers[k], first, NULL), NEAP_OK);
        neap_buffer_release(first);
    }
    for (int k = 0; k < STEPS; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int target = (int)(state >> 33) % BUFFERS, source = (int)(state >> 45 & 0xffff) % BUFFERS;
        if (target == source || state & 1 << 21) {
            ops[k] = (add_op){buffers[target], state >> 50, NULL};
            CHECK_EQ(push_add(&ops[k]), NEAP_OK);
            expected[target] += (int64_t)(state >> 50);
            continue;
        }
        if (state & 1 << 22) { /* a new buffer in its place, while the old one may be in use */
            neap_buffer_release(buffers[target]);
            buffers[target] = new_buffer(devices[target % 3], COUNT);
        }
        CHECK_EQ(neap_buffer_copy(buffers[target], buffers[source], NULL), NEAP_OK);
        expected[target] = expected[source];
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    quit = true;
    pthread_join(thread, NULL);
    for (int k = 0; k < BUFFERS; k++) {
        check_filled(buffers[k], expected[k]);
        neap_buffer_release(buffers[k]);
    }
    stop();
}

int main(void) {
    static const int schedulers[] = {NEAP_SCHEDULER_POOL, NEAP_SCHEDULER_DEVICE, NEAP_SCHEDULER_NAIVE};
    load_cuda();
    for (int k = 0; k < 3; k++) {
        opening(schedulers[k]);
        copying(schedulers[k], 3);
        copying(schedulers[k], 1 << 14);
        code(schedulers[k]);
        shapes(schedulers[k]);
        events(schedulers[k]);
        failing(schedulers[k]);
        for (uint64_t seed = 1; seed <= (uint64_t)check_times(5, 1); seed++)
            random_program(schedulers[k], seed);
    }
    copying(NEAP_SCHEDULER_POOL, (1 << 20) + 5);
    not_waiting();
    return check_end();
}
