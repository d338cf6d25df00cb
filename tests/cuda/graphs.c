/* graphs.c: launch graphs (engine/device.h), which the CUDA backend enqueues by one call: what the driver is told of,
 * memory of steps, graphs whose steps change, each call failing in turn, lost devices; with the fake driver.
 */
#include "tests/cuda/cuda.h"

enum { COUNT = 1000, LARGE = 1 << 18 /* words: more than a launch graph keeps */ };

typedef struct graph_op {
    neap_launch_graph *graph;
    neap_buffer *from, *to;
    neap_code *code; /* NULL: a host function */
    uint64_t term;
    size_t room; /* words that its steps use between; 0: none */
    bool more;   /* it has one more step, which adds 1 */
    bool bad;    /* it copies to the host */
} graph_op;

/* Copies what is there to memory of its own, adds there, and copies it to where it was. */
static int use_scratch(const graph_op *op, const neap_run *run) {
    void *room = NULL, *to = neap_buffer_data(op->to);
    int status = neap_run_alloc(run, op->room * sizeof(int64_t), &room);
    if (status)
        return status;
    status = neap_run_copy(run, NEAP_COPY_WITHIN, room, to, COUNT * sizeof(int64_t));
    status = status ? status : launch_add(room, COUNT, 10, op->code, run);
    status = status ? status : neap_run_copy(run, NEAP_COPY_WITHIN, to, room, COUNT * sizeof(int64_t));
    neap_run_free(run, room, op->room * sizeof(int64_t));
    return status;
}

static int record(const graph_op *op, const neap_run *run) {
    static int64_t word;
    void *to = neap_buffer_data(op->to);
    int status = neap_run_copy(run, NEAP_COPY_WITHIN, to, neap_buffer_data(op->from), COUNT * sizeof(int64_t));
    status = status ? status : launch_add(to, COUNT, op->term, op->code, run);
    for (int k = 0; k < 2 && op->room && !status; k++)
        status = use_scratch(op, run);
    if (!status && op->more)
        status = launch_add(to, COUNT, 1, op->code, run);
    if (!status && op->bad)
        status = neap_run_copy(run, NEAP_COPY_FROM_DEVICE, &word, to, sizeof word);
    return status;
}

static int run_graph(void *arg, const neap_run *run) {
    const graph_op *op = arg;
    neap_run recording;
    neap_launch_graph_record(op->graph, run, &recording);
    int status = record(op, &recording);
    return status ? status : neap_launch_graph_run(op->graph, run);
}

static int push_graph(const graph_op *op) {
    neap_var *reads[] = {neap_buffer_var(op->from)}, *writes[] = {neap_buffer_var(op->to)};
    neap_push push = {.name = "graph",
                      .device = neap_buffer_device(op->to),
                      .nreads = 1,
                      .nwrites = 1,
                      .reads = reads,
                      .writes = writes};
    return neap_push_sync(run_graph, (void *)op, &push);
}

static int64_t sum_of(const graph_op *op) {
    return (int64_t)op->term + (op->room ? 20 : 0) + op->more;
}

/* Runs it, and looks at its result; how often graphs were enqueued, and told of changes, since `before`. */
static void check_graph(const graph_op *op, uint64_t enqueued, uint64_t changes) {
    fake_counts before = counts();
    CHECK_EQ(push_graph(op), NEAP_OK);
    check_filled(op->to, 5 + sum_of(op));
    CHECK_EQ(counts().graphs_run - before.graphs_run, enqueued);
    CHECK_EQ(counts().changes - before.changes, changes);
}

static graph_op make(int device, bool with_code) {
    graph_op op = {.from = new_buffer(device, COUNT), .to = new_buffer(device, COUNT), .term = 7};
    neap_buffer *host = new_buffer(0, COUNT);
    fill(host, 5);
    CHECK_EQ(neap_buffer_copy(op.from, host, NULL), NEAP_OK);
    CHECK_EQ(neap_launch_graph_new(device, &op.graph), NEAP_OK);
    if (with_code)
        CHECK_EQ(neap_code_new(device, "add_words", add_text, sizeof add_text - 1, &op.code), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_buffer_release(host);
    return op;
}

static void drop(graph_op *op) {
    int device = neap_buffer_device(op->to);
    neap_wait_all();
    neap_launch_graph_free(op->graph);
    neap_code_free(device, op->code);
    neap_buffer_release(op->from);
    neap_buffer_release(op->to);
}

/* The driver is told of the steps that have changed, and of no others. */
static void changing(int scheduler) {
    start(scheduler);
    graph_op op = make(gpus[1], true);
    neap_buffer *first = op.to, *second = new_buffer(gpus[1], COUNT);
    check_graph(&op, 1, 0);
    check_graph(&op, 1, 0);
    op.term = 9;
    check_graph(&op, 1, 1);
    CHECK_EQ(neap_launch_graph_is_idle(op.graph), 0);
    op.to = second;
    check_graph(&op, 1, 2);
    CHECK_EQ(neap_launch_graph_is_idle(op.graph), 1); /* for this time */
    check_graph(&op, 1, 0);
    CHECK_EQ(neap_launch_graph_is_idle(op.graph), 0);
    for (int k = 0; k < 20; k++) { /* ahead of the device: what was enqueued stays as it was */
        op.to = k % 2 ? first : second;
        op.term = 100;
        CHECK_EQ(push_graph(&op), NEAP_OK);
        CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(op.to)), NEAP_OK);
    }
    check_filled(first, 105);
    check_filled(second, 105);
    neap_buffer_release(op.to == first ? second : first);
    drop(&op);
    stop();
}

/* What steps allocate is the graph's, and the same the next time, but for what is large: that goes back each time. */
static void rooms(int scheduler) {
    start(scheduler);
    graph_op op = make(gpus[0], true);
    op.room = COUNT;
    check_graph(&op, 1, 0);
    uint64_t blocks = counts().blocks;
    check_graph(&op, 1, 0);
    CHECK_EQ(counts().blocks, blocks);
    drop(&op);
    op = make(gpus[0], true);
    op.room = LARGE;
    check_graph(&op, 1, 0);
    blocks = counts().blocks;
    for (int k = 0; k < 3; k++) {
        CHECK_EQ(push_graph(&op), NEAP_OK);
        check_filled(op.to, 32);
    }
    CHECK_EQ(counts().blocks, blocks);
    drop(&op);
    stop();
}

/* Steps that come or go: it is enqueued step by step from then on, also as it was. */
static void other_steps(int scheduler) {
    start(scheduler);
    graph_op op = make(gpus[0], true);
    check_graph(&op, 1, 0);
    op.more = true;
    check_graph(&op, 0, 0);
    CHECK_EQ(neap_launch_graph_is_idle(op.graph), 1);
    op.more = false;
    check_graph(&op, 0, 0);
    drop(&op);
    op = make(gpus[0], true);
    op.more = true;
    check_graph(&op, 1, 0);
    op.more = false;
    check_graph(&op, 0, 0);
    drop(&op);
    stop();
}

/* Launches without code, and kinds without graphs: step by step. */
static void step_by_step(int scheduler) {
    start(scheduler);
    int null = 0;
    CHECK_EQ(neap_device_open("null", 0, &null), NEAP_OK);
    const int devices[] = {gpus[0], null, 0};
    for (int k = 0; k < 3; k++) {
        graph_op op = make(devices[k], false);
        check_graph(&op, 0, 0);
        op.term = 8;
        op.room = COUNT;
        check_graph(&op, 0, 0);
        CHECK_EQ(neap_launch_graph_is_idle(op.graph), 1);
        drop(&op);
    }
    stop();
}

/* What cannot be recorded fails, and the graph works again. */
static void what_cannot(int scheduler) {
    start(scheduler);
    graph_op op = make(gpus[0], true);
    check_graph(&op, 1, 0);
    op.bad = true;
    CHECK_EQ(push_graph(&op), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(op.to)), NEAP_E_STATE);
    CHECK_TEXT(neap_error_text(), "a copy between the host and a device cannot be part of a launch graph");
    op.bad = false;
    check_graph(&op, 1, 0);
    drop(&op);
    stop();
}

static bool succeeds(const graph_op *op) {
    int status = push_graph(op);
    status = status ? status : neap_var_wait_to_read(neap_buffer_var(op->to));
    neap_wait_all();
    return status == NEAP_OK;
}

/* Where a call of graphs fails, the steps are enqueued one by one; where those fail, so does the op. */
static void each_call(int scheduler, CUresult code) {
    int failures = 0, works = 0;
    for (int64_t n = 1, left = 0; left <= 0; n++) {
        start(scheduler);
        graph_op op = make(gpus[0], true);
        op.room = n % 2 ? COUNT : LARGE;
        check_graph(&op, 1, 0);
        CHECK_EQ(neap_wait_all(), NEAP_OK);
        op.term = 1;
        fake->fail(n, code);
        bool good = succeeds(&op);
        left = fake->fail(0, 0);
        failures += !good;
        works += good;
        if (good && code != CUDA_ERROR_ILLEGAL_ADDRESS)
            check_filled(op.to, 5 + sum_of(&op));
        if (succeeds(&op)) /* the device is there still */
            check_filled(op.to, 5 + sum_of(&op));
        drop(&op);
        stop();
    }
    CHECK(works > 0 && (failures > 0 || code != CUDA_ERROR_ILLEGAL_ADDRESS));
}

static void lost(int scheduler) {
    for (int64_t item = 1; item < 12; item++) {
        start(scheduler);
        graph_op op = make(gpus[0], true);
        op.room = COUNT;
        fake->break_item(0, item, CUDA_ERROR_ILLEGAL_ADDRESS);
        bool good = true;
        for (int k = 0; k < 3 && good; k++)
            good = succeeds(&op);
        CHECK(!good);
        drop(&op);
        stop();
    }
}

int main(void) {
    load_cuda();
    static const int schedulers[] = {NEAP_SCHEDULER_POOL, NEAP_SCHEDULER_DEVICE, NEAP_SCHEDULER_NAIVE};
    for (int k = 0; k < 3; k++) {
        changing(schedulers[k]);
        rooms(schedulers[k]);
        other_steps(schedulers[k]);
        step_by_step(schedulers[k]);
        what_cannot(schedulers[k]);
        each_call(schedulers[k], CUDA_ERROR_INVALID_VALUE);
        each_call(schedulers[k], CUDA_ERROR_OUT_OF_MEMORY);
        each_call(schedulers[k], CUDA_ERROR_ILLEGAL_ADDRESS);
        lost(schedulers[k]);
    }
    return check_end();
}
