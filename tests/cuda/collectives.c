/* collectives.c: joins between devices by NCCL, with the fake driver and a library that stands in for it: what is
 * moved, order, calls that fail, devices that are lost in the middle, failures that NCCL meets later. */
#include "tests/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICES = 3, COUNT = 1 << 14, BYTES = COUNT * sizeof(int64_t), JOINED = DEVICES * COUNT };

static int numbers[DEVICES];
static void (*hang)(void); /* of the library */

static void start_all(int scheduler) {
    start(scheduler);
    numbers[0] = gpus[0];
    numbers[1] = gpus[1];
    CHECK_EQ(neap_device_open("cuda", 2, &numbers[2]), NEAP_OK);
}

typedef struct all {
    neap_buffer *from[DEVICES], *to[DEVICES];
    neap_part parts[DEVICES];
} all;

static int seen(int status) {
    if (status)
        CHECK(neap_error_text()[0] != 0);
    return status != NEAP_OK;
}

/* A buffer on each device, which begins with 1, 2 and 3 million; empty ones to join them. Returns how much failed. */
static int prepare(all *a) {
    int failed = 0;
    memset(a, 0, sizeof *a);
    for (int k = 0; k < DEVICES; k++) {
        neap_buffer *host = new_buffer(0, COUNT);
        fill(host, (k + 1) * 1000000);
        failed += seen(neap_buffer_new(numbers[k], BYTES, &a->from[k]));
        failed += seen(neap_buffer_new(numbers[k], DEVICES * BYTES, &a->to[k]));
        if (a->from[k])
            failed += seen(neap_buffer_copy(a->from[k], host, NULL));
        a->parts[k] = (neap_part){a->from[k], 0, BYTES};
        neap_buffer_release(host);
    }
    return failed;
}

static void release(all *a) {
    for (int k = 0; k < DEVICES; k++) {
        if (a->from[k])
            neap_buffer_release(a->from[k]);
        if (a->to[k])
            neap_buffer_release(a->to[k]);
    }
}

/* Whether a target holds n parts that begin so; 1 more for each that does not, or that cannot be read. */
static int count_failed(neap_buffer *buffer, int n, const int64_t *values) {
    neap_buffer *host = new_buffer(0, neap_buffer_bytes(buffer) / sizeof(int64_t));
    int failed = seen(neap_buffer_copy(host, buffer, NULL));
    if (!failed)
        failed = seen(neap_var_wait_to_read(neap_buffer_var(host)));
    const int64_t *got = neap_buffer_data(host);
    for (int i = 0; i < n * COUNT && !failed; i++)
        CHECK_EQ(got[i], values[i / COUNT] + i % COUNT);
    neap_buffer_release(host);
    return failed;
}

static const int64_t joined[DEVICES] = {1000000, 2000000, 3000000};

/* ---- What is moved ----------------------------------------------------------------------------------------------- */

static void gathering(int scheduler) {
    all a;
    start_all(scheduler);
    CHECK_EQ(prepare(&a), 0);
    CHECK_TEXT(neap_collective_lacks(DEVICES, numbers, 100, DEVICES, numbers), "little");
    CHECK_TEXT(neap_collective_lacks(DEVICES, numbers, BYTES, 1, numbers), "one device");
    CHECK(neap_collective_lacks(DEVICES, numbers, BYTES, DEVICES, numbers) == NULL);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    fake_counts before = counts();
    CHECK_EQ(neap_buffer_join(DEVICES, a.to, DEVICES, a.parts, NULL), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(counts().libraries - before.libraries, DEVICES); /* a kernel of each rank */
    CHECK_EQ(counts().peers + counts().copies - before.peers - before.copies, 0);
    for (int k = 0; k < DEVICES; k++)
        CHECK_EQ(count_failed(a.to[k], DEVICES, joined), 0);
    release(&a);
    stop();
}

/* To all others, and to the device of the source as well. */
static void broadcasting(int scheduler) {
    all a;
    start_all(scheduler);
    CHECK_EQ(prepare(&a), 0);
    for (int first = 0; first < 2; first++) {
        uint64_t before = counts().libraries;
        CHECK_EQ(neap_buffer_join(DEVICES - first, a.to + first, 1, a.parts + first, NULL), NEAP_OK);
        for (int k = first; k < DEVICES; k++)
            CHECK_EQ(count_failed(a.to[k], 1, joined + first), 0);
        CHECK_EQ(counts().libraries - before, DEVICES - first);
    }
    CHECK_EQ(neap_buffer_join(2, a.to + 1, 1, a.parts, NULL), NEAP_OK);
    CHECK_EQ(count_failed(a.to[2], 1, joined), 0);
    CHECK_EQ(count_failed(a.from[0], 1, joined), 0);
    release(&a);
    stop();
}

/* Parts of different sizes, in another order than that of the devices, one of them empty; to some of them. */
static void sending(int scheduler) {
    static const int64_t turned[] = {3000000, 1000000};
    all a;
    start_all(scheduler);
    CHECK_EQ(prepare(&a), 0);
    neap_part parts[] = {a.parts[2], {a.from[1], 8, 0}, a.parts[0]};
    uint64_t before = counts().libraries;
    CHECK_EQ(neap_buffer_join(2, a.to + 1, 3, parts, NULL), NEAP_OK);
    CHECK_EQ(count_failed(a.to[1], 2, turned), 0);
    CHECK_EQ(count_failed(a.to[2], 2, turned), 0);
    CHECK_EQ(counts().libraries - before, DEVICES);
    parts[0].bytes = BYTES / 2, parts[0].offset = BYTES / 2;
    parts[1] = (neap_part){a.from[1], 0, BYTES / 2};
    CHECK_EQ(neap_buffer_join(3, a.to, 3, parts, NULL), NEAP_OK);
    for (int k = 0; k < DEVICES; k++) {
        neap_buffer *half = new_buffer(numbers[k], COUNT / 2);
        for (int part = 0; part < 2; part++) {
            CHECK_EQ(neap_buffer_copy_part(half, a.to[k], (size_t)part * BYTES / 2, BYTES / 2, NULL), NEAP_OK);
            check_filled(half, part ? 2000000 : 3000000 + COUNT / 2);
        }
        neap_buffer_release(half);
    }
    release(&a);
    stop();
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

/* Rounds of sums on each device, joins of all and of two of them, and sums to what was joined, without a wait. */
static int rounds(int n) {
    all a;
    int failed = prepare(&a);
    add_op ops[2 * DEVICES];
    for (int k = 0; k < DEVICES; k++) {
        ops[k] = (add_op){a.from[k], 1, NULL};
        ops[DEVICES + k] = (add_op){a.to[k], 1000, NULL};
    }
    for (int round = 0; round < n && !failed; round++) {
        for (int k = 0; k < DEVICES; k++)
            failed += seen(push_add(&ops[k]));
        failed += seen(neap_buffer_join(2, a.to + round % 2, 2, a.parts + round % 2, NULL));
        failed += seen(neap_buffer_join(DEVICES, a.to, DEVICES, a.parts, NULL));
        for (int k = 0; k < DEVICES; k++)
            failed += seen(push_add(&ops[DEVICES + k]));
    }
    for (int k = 0; k < DEVICES && !failed; k++) {
        int64_t values[DEVICES];
        for (int part = 0; part < DEVICES; part++)
            values[part] = joined[part] + n + 1000;
        failed += count_failed(a.to[k], DEVICES, values);
    }
    neap_wait_all();
    release(&a);
    return failed;
}

static int add_slowly_on_host(const neap_launch *launch) {
    nanosleep(&(struct timespec){0, 5000000}, NULL);
    return add_on_host(launch);
}

static int add_slowly(void *arg, const neap_run *run) {
    void *data = neap_buffer_data(arg);
    neap_launch launch = {.name = "add",
                          .nbuffers = 1,
                          .nscalars = 2,
                          .buffers = &data,
                          .scalars = (uint64_t[]){1, COUNT},
                          .groups = {1, 1, 1},
                          .threads = {1, 1, 1},
                          .host = add_slowly_on_host};
    return neap_run_launch(run, &launch);
}

/* It waits in the streams for what its devices still have to do. */
static void waiting(int scheduler) {
    all a;
    start_all(scheduler);
    CHECK_EQ(prepare(&a), 0);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    for (int device = 0; device < DEVICES; device++) {
        neap_var *var = neap_buffer_var(a.from[device]);
        neap_push push = {.name = "slow", .device = numbers[device], .nwrites = 1, .writes = &var};
        int64_t values[DEVICES];
        CHECK_EQ(neap_push_sync(add_slowly, a.from[device], &push), NEAP_OK);
        CHECK_EQ(neap_buffer_join(DEVICES, a.to, DEVICES, a.parts, NULL), NEAP_OK);
        for (int k = 0; k < DEVICES; k++)
            values[k] = joined[k] + (k <= device);
        for (int k = 0; k < DEVICES; k++)
            CHECK_EQ(count_failed(a.to[k], DEVICES, values), 0);
    }
    release(&a);
    stop();
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

static void each_call(CUresult code, int step) {
    int failures = 0, n = 1;
    for (int64_t left = 0; left <= 0; n += step) {
        start_all(NEAP_SCHEDULER_POOL);
        fake->fail(n, code);
        failures += rounds(1) > 0;
        left = fake->fail(0, code);
        stop();
    }
    CHECK(failures > 0 && n > 40);
}

/* Nobody waits for ever for a device that is lost in the middle, and what is left can be given back. */
static void lost(int device) {
    int failures = 0;
    for (int64_t item = 1; item < 24; item += 1) {
        start_all(NEAP_SCHEDULER_POOL);
        fake->break_item(device, item, CUDA_ERROR_ILLEGAL_ADDRESS);
        failures += rounds(2) > 0;
        stop();
    }
    CHECK(failures > 10);
}

/* Two of them, at about the same time. */
static void lost_both(int first, int second) {
    int failures = 0;
    for (int64_t item = 1; item < 24; item += check_times(1, 6)) {
        start_all(NEAP_SCHEDULER_POOL);
        fake->break_item(first, item, CUDA_ERROR_ILLEGAL_ADDRESS);
        fake->break_item(second, item + 2, CUDA_ERROR_ILLEGAL_ADDRESS);
        failures += rounds(2) > 0;
        stop();
    }
    CHECK(failures > 2);
}

static void await_libraries(uint64_t launches) {
    while (counts().libraries < launches)
        nap();
}

/* While the set {0, 1} is ended, since device 0 was lost, its device 1 stands in a collective of {1, 2} that waits for
 * device 2, and that is lost as well. */
static void lost_meanwhile(void) {
    all a;
    start_all(NEAP_SCHEDULER_POOL);
    neap_buffer *other = new_buffer(numbers[1], (size_t)DEVICES * COUNT), *idle = new_buffer(numbers[0], COUNT);
    CHECK_EQ(prepare(&a), 0);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    uint64_t before = counts().libraries;
    fake->hold(2, true);
    CHECK_EQ(neap_buffer_join(2, a.to + 1, 2, a.parts + 1, NULL), NEAP_OK);
    await_libraries(before + 2); /* it is the first in the streams */
    CHECK_EQ(neap_buffer_join(2, (neap_buffer *[]){a.to[0], other}, 2, a.parts, NULL), NEAP_OK);
    await_libraries(before + 4);
    fake->break_item(0, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    add_op op = {idle, 1, NULL};
    seen(push_add(&op));
    for (int k = 0; k < 400; k++)
        nap();
    CHECK_EQ(neap_var_poll(neap_buffer_var(a.to[1]), NULL), NEAP_PENDING);
    fake->break_item(2, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    fake->hold(2, false);
    neap_wait_all();
    neap_buffer *failed[] = {a.to[0], other, a.to[1], a.to[2]};
    for (int k = 0; k < 4; k++)
        CHECK_EQ(neap_var_poll(neap_buffer_var(failed[k]), NULL), NEAP_E_LIBRARY);
    neap_buffer_release(other);
    neap_buffer_release(idle);
    release(&a);
    stop();
}

/* NCCL meets a failure: the op has it, and what comes later is made of copies. */
static void failing_later(int scheduler) {
    all a;
    start_all(scheduler);
    CHECK_EQ(prepare(&a), 0);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    hang();
    CHECK_EQ(neap_buffer_join(DEVICES, a.to, DEVICES, a.parts, &(neap_push){.name = "all"}), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(a.to[1])), NEAP_E_LIBRARY);
    CHECK_TEXT(neap_error_text(), "all: NCCL does not work: a collective: remote process");
    CHECK_TEXT(neap_collective_lacks(DEVICES, numbers, BYTES, DEVICES, numbers), "NCCL does not work");
    CHECK_EQ(neap_wait_all(), NEAP_OK); /* it was reported once */
    for (int k = 0; k < DEVICES; k++)
        CHECK_EQ(neap_var_poll(neap_buffer_var(a.to[k]), NULL), NEAP_E_LIBRARY);
    uint64_t before = counts().libraries;
    CHECK_EQ(neap_buffer_join(DEVICES, a.to, DEVICES, a.parts, NULL), NEAP_OK);
    for (int k = 0; k < DEVICES; k++)
        CHECK_EQ(count_failed(a.to[k], DEVICES, joined), 0);
    CHECK_EQ(counts().libraries, before);
    CHECK(neap_collective_lacks(1, numbers, BYTES, 2, numbers) == NULL); /* other sets work */
    release(&a);
    stop();
}

int main(void) {
    char path[PATH_MAX + 64];
    use_libraries();
    load_cuda();
    snprintf(path, sizeof path, "%s/libnccl.so.2", getenv("NEAP_CUDA_LIBRARIES"));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *found = library ? dlsym(library, "fake_nccl_hang") : NULL;
    CHECK(found != NULL);
    memcpy(&hang, &found, sizeof hang);
    static const int schedulers[] = {NEAP_SCHEDULER_POOL, NEAP_SCHEDULER_DEVICE, NEAP_SCHEDULER_NAIVE};
    for (int k = 0; k < 3 && found; k++) {
        gathering(schedulers[k]);
        broadcasting(schedulers[k]);
        sending(schedulers[k]);
        start_all(schedulers[k]);
        CHECK_EQ(rounds(40), 0);
        stop();
        waiting(schedulers[k]);
        failing_later(schedulers[k]);
    }
    each_call(CUDA_ERROR_INVALID_VALUE, check_times(1, 13));
    for (int device = 0; device < DEVICES; device++)
        lost(device);
    for (int device = 0; device < DEVICES; device++)
        lost_both(device, (device + 1) % DEVICES);
    lost_meanwhile();
    return check_end();
}
