/* failures.c: what the CUDA backend does when the driver fails: no memory, each call failing in turn, lost devices and
 * those that wait for them, fork; with the fake driver, which also sees that nothing is left over. */
#include "tests/cuda/cuda.h"

#include <sys/wait.h>

enum { COUNT = 20000 /* more than is copied without pinned memory */ };

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* A block that does not fit is one failure; once there is room, by others that went, it is had. */
static void out_of_memory(int scheduler) {
    enum { BLOCK = 1 << 20 };
    start(scheduler);
    neap_buffer *blocks[4], *more = NULL;
    fake->memory(4 * BLOCK);
    for (int k = 0; k < 4; k++)
        CHECK_EQ(neap_buffer_new(gpus[0], BLOCK, &blocks[k]), NEAP_OK);
    CHECK_EQ(neap_buffer_new(gpus[0], BLOCK, &more), NEAP_E_MEMORY);
    CHECK_TEXT(neap_error_text(), "out of memory on cuda:0");
    for (int k = 0; k < 3; k++)
        neap_buffer_release(blocks[k]);
    CHECK_EQ(neap_buffer_new(gpus[0], 2 * BLOCK, &more), NEAP_OK); /* of another size: the pool gave its blocks back */
    CHECK_EQ(neap_buffer_new(gpus[1], 4 * BLOCK, &blocks[0]), NEAP_OK);
    neap_buffer_release(blocks[0]);
    neap_buffer_release(blocks[3]);
    neap_buffer_release(more);
    fake->memory((size_t)1 << 30);
    stop();
}

/* ---- Each call in turn ------------------------------------------------------------------------------------------- */

static int seen(int status) {
    if (status)
        CHECK(neap_error_text()[0] != 0);
    return status != NEAP_OK;
}

/* Copies forth and back, and adds, on open devices. Returns how many calls failed; without any the numbers are
 * right. */
static int compute(int device, int other) {
    neap_buffer *buffers[4] = {NULL};
    neap_code *code = NULL;
    int places[4] = {0, device, other, 0}, failed = 0, status;
    for (int k = 0; k < 4; k++)
        failed += seen(neap_buffer_new(places[k], COUNT * sizeof(int64_t), &buffers[k]));
    failed += seen(neap_code_new(device, "add_words", add_text, sizeof add_text - 1, &code));
    add_op with_code = {buffers[1], 2, code}, on_host = {buffers[2], 3, NULL};
    if (!failed) {
        fill(buffers[0], 1);
        failed += seen(neap_buffer_copy(buffers[1], buffers[0], NULL));
        failed += seen(push_add(&with_code));
        failed += seen(neap_buffer_copy(buffers[2], buffers[1], NULL));
        failed += seen(push_add(&on_host));
        failed += seen(neap_buffer_copy(buffers[3], buffers[2], NULL));
        failed += seen(status = neap_var_wait_to_read(neap_buffer_var(buffers[3])));
        if (!failed)
            CHECK_EQ(count_wrong(buffers[3], 6), 0);
        neap_wait_all();
    }
    neap_code_free(device, code);
    for (int k = 0; k < 4; k++)
        if (buffers[k])
            neap_buffer_release(buffers[k]);
    return failed;
}

/* The whole of a session. */
static int session(int scheduler) {
    int device, other, failed = 0;
    CHECK_EQ(start_engine(scheduler), NEAP_OK);
    failed = seen(neap_device_open("cuda", 0, &device)) || seen(neap_device_open("cuda", 1, &other)) ||
             compute(device, other);
    stop();
    return failed;
}

/* What fails is told, and nothing is left over; without the failure the session works again. */
static void sweep(int scheduler, CUresult code) {
    int step = check_times(1, 5), n = 0, told = 0;
    int64_t left = 0;
    do {
        n += step;
        fake->fail(n, code);
        int failed = session(scheduler);
        left = fake->fail(0, 0);
        told += failed;
        if (left > 0)
            CHECK_EQ(failed, 0);
    } while (left <= 0);
    CHECK(n > 50 && told > n / step / 4); /* some failures are made good: what is only asked, or given back */
    CHECK_EQ(session(scheduler), 0);
}

/* Each call of copies in several chunks, to a device and back, fails in turn: what is told to be done is done, and
 * nothing of a copy that has failed is under way any more. */
static void failing_in_chunks(CUresult code, int64_t loses) {
    enum { LARGE = 6 << 17 }; /* six chunks */
    int failures = 0;
    for (int64_t n = 1, left = 0; left <= 0; n += check_times(1, 5)) {
        start(NEAP_SCHEDULER_POOL);
        neap_buffer *host = new_buffer(0, LARGE), *back = new_buffer(0, LARGE), *a = new_buffer(gpus[0], LARGE);
        fill(host, 5);
        if (loses)
            fake->break_item(0, n, code);
        else
            fake->fail(n, code);
        int failed = seen(neap_buffer_copy(a, host, NULL)) || seen(neap_buffer_copy(back, a, NULL));
        failed = seen(neap_var_wait_to_read(neap_buffer_var(back))) || failed;
        left = loses ? (n > loses ? 1 : 0) : fake->fail(0, code);
        if (!failed)
            CHECK_EQ(count_wrong(back, 5), 0);
        failures += failed;
        neap_wait_all();
        neap_buffer_release(host);
        neap_buffer_release(back);
        neap_buffer_release(a);
        stop();
    }
    CHECK(failures > 5);
}

/* ---- Lost devices ------------------------------------------------------------------------------------------------ */

static const char lost[] = "cuda:0 is lost: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS";

/* Each code that means that the context is lost. */
static void losing_codes(void) {
    static const CUresult codes[] = {
        CUDA_ERROR_ILLEGAL_ADDRESS,    CUDA_ERROR_CONTAINED,         CUDA_ERROR_LAUNCH_FAILED,
        CUDA_ERROR_TENSOR_MEMORY_LEAK, CUDA_ERROR_EXTERNAL_DEVICE,   CUDA_ERROR_MPS_CLIENT_TERMINATED,
        CUDA_ERROR_LAUNCH_TIMEOUT,     CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_MISALIGNED_ADDRESS};
    for (size_t k = 0; k < sizeof codes / sizeof *codes; k++) {
        start(NEAP_SCHEDULER_NAIVE);
        neap_buffer *host = new_buffer(0, COUNT), *a = new_buffer(gpus[0], COUNT), *none = NULL;
        fill(host, 0);
        fake->fail(1, codes[k]);
        if (neap_buffer_copy(a, host, NULL) == NEAP_OK)
            CHECK(neap_var_wait_to_read(neap_buffer_var(a)) != NEAP_OK);
        CHECK_TEXT(neap_error_text(), "cuda:0 is lost: ");
        CHECK_EQ(fake->fail(0, 0), 0);
        CHECK_EQ(neap_buffer_new(gpus[0], 1 << 22, &none), NEAP_E_LIBRARY);
        CHECK_TEXT(neap_error_text(), "cuda:0 is lost: ");
        neap_wait_all();
        neap_buffer_release(host);
        neap_buffer_release(a);
        stop();
    }
}

/* Whichever of the first items loses the device: what was not done is never taken for done, each later call fails, and
 * the other device works on. */
static void losing(int scheduler, int item) {
    start(scheduler);
    neap_buffer *host = new_buffer(0, COUNT), *back = new_buffer(0, COUNT), *a = new_buffer(gpus[0], COUNT);
    neap_buffer *none = NULL, *b = new_buffer(gpus[1], COUNT);
    add_op op = {a, 1, NULL}, other = {b, 1, NULL};
    fill(host, 0);
    fake->break_item(0, item, CUDA_ERROR_ILLEGAL_ADDRESS);
    int failed = neap_buffer_copy(a, host, NULL);
    for (int k = 0; k < 5 && !failed; k++)
        failed = push_add(&op);
    failed = failed ? failed : neap_buffer_copy(back, a, NULL);
    failed = failed ? failed : neap_var_wait_to_read(neap_buffer_var(back));
    if (failed) {
        CHECK_TEXT(neap_error_text(), lost);
        CHECK_EQ(neap_buffer_new(gpus[0], 1 << 22, &none), NEAP_E_LIBRARY);
        CHECK_TEXT(neap_error_text(), lost);
    } else {
        CHECK_EQ(count_wrong(back, 5), 0);
    }
    CHECK(item <= 9 ? failed != 0 : item <= 20 || !failed); /* at least 9 there are, with callbacks and events 20 */
    neap_wait_all();
    CHECK_EQ(neap_buffer_copy(b, host, NULL), NEAP_OK);
    CHECK_EQ(push_add(&other), NEAP_OK);
    check_filled(b, 1);
    neap_buffer_release(host);
    neap_buffer_release(back);
    neap_buffer_release(a);
    neap_buffer_release(b);
    stop();
}

static neap_buffer *from, *to;

/* Runs on cuda:1: copies what lies on cuda:0. */
static int copy_from_peer(void *arg, const neap_run *run) {
    const neap_device_kind *kind = neap_device_kind_of(gpus[0]);
    neap_device *source = neap_device_handle(gpus[0]), *target = neap_device_handle(gpus[1]);
    neap_stream *other = neap_device_stream(gpus[0], 0);
    neap_run there = {.device = gpus[0], .stream = other};
    neap_event *event;
    int status = add(arg, &there);
    status = status ? status : kind->event_new(source, other, &event);
    if (status)
        return status;
    status = kind->stream_wait(target, run->stream, event);
    kind->event_free(source, event);
    return status ? status : add(&(add_op){to, 1, NULL}, run);
}

/* A stream that waits for an event of a lost device breaks with it. */
static void losing_an_event(void) {
    start(NEAP_SCHEDULER_POOL);
    from = new_buffer(gpus[0], 100);
    to = new_buffer(gpus[1], 100);
    neap_buffer *host = new_buffer(0, 100);
    fill(host, 0);
    CHECK_EQ(neap_buffer_copy(from, host, NULL), NEAP_OK);
    CHECK_EQ(neap_buffer_copy(to, host, NULL), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    fake->hold(0, true);
    fake->break_item(0, 1, CUDA_ERROR_ILLEGAL_ADDRESS);
    add_op op = {from, 1, NULL};
    neap_var *var = neap_buffer_var(to);
    neap_push push = {.name = "peer", .site = "here:4", .device = gpus[1], .nwrites = 1, .writes = &var};
    CHECK_EQ(neap_push_sync(copy_from_peer, &op, &push), NEAP_OK);
    for (int k = 0; k < 20; k++)
        nap();
    CHECK_EQ(neap_var_poll(var, NULL), NEAP_PENDING);
    fake->hold(0, false);
    CHECK_EQ(neap_var_wait_to_read(var), NEAP_E_LIBRARY);
    CHECK_TEXT(neap_error_text(), lost);
    CHECK_TEXT(neap_error_text(), "here:4: peer");
    neap_buffer_release(host);
    neap_buffer_release(from);
    neap_buffer_release(to);
    stop();
}

/* ---- Fork -------------------------------------------------------------------------------------------------------- */

/* In a fork's child everything about devices is refused, and the driver is not called; the parent works on. */
static void forked(void) {
    start(NEAP_SCHEDULER_POOL);
    neap_buffer *a = new_buffer(gpus[0], COUNT), *b = new_buffer(0, COUNT);
    fill(b, 0);
    fake->hold(0, true);
    CHECK_EQ(neap_buffer_copy(a, b, NULL), NEAP_OK);
    pid_t child = fork();
    if (child == 0) {
        long before = check_failed;
        int number;
        CHECK_EQ(neap_device_open("cuda", 2, &number), NEAP_E_STATE);
        CHECK_EQ(neap_buffer_copy(b, a, NULL), NEAP_E_STATE);
        CHECK_EQ(neap_buffer_new(gpus[0], 1, &b), NEAP_E_STATE);
        neap_buffer_release(a);
        neap_engine_stop();
        _exit(check_failed != before);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    fake->hold(0, false);
    check_filled(a, 0);
    neap_buffer_release(a);
    neap_buffer_release(b);
    stop();
}

/* A buffer that outlives the engine keeps its device until it goes. */
static void outliving(void) {
    start(NEAP_SCHEDULER_POOL);
    neap_buffer *a = new_buffer(gpus[0], COUNT);
    neap_engine_stop();
    CHECK_EQ(counts().contexts, 1);
    CHECK_EQ(counts().blocks, 1);
    neap_buffer_release(a);
    CHECK_EQ(counts().contexts, 0);
}

int main(void) {
    static const int schedulers[] = {NEAP_SCHEDULER_POOL, NEAP_SCHEDULER_NAIVE};
    load_cuda();
    for (int k = 0; k < 2; k++) {
        out_of_memory(schedulers[k]);
        sweep(schedulers[k], CUDA_ERROR_OUT_OF_MEMORY);
        sweep(schedulers[k], CUDA_ERROR_ILLEGAL_ADDRESS);
        for (int item = 1; item <= 22; item += check_times(1, 5))
            losing(schedulers[k], item);
    }
    failing_in_chunks(CUDA_ERROR_INVALID_VALUE, 0);
    failing_in_chunks(CUDA_ERROR_ILLEGAL_ADDRESS, 0);
    failing_in_chunks(CUDA_ERROR_ILLEGAL_ADDRESS, 60);
    losing_codes();
    losing_an_event();
    forked();
    outliving();
    return check_end();
}
