/* comm.c: collectives between communicators of one process: random groups, kinds, sizes and dtypes, bit for bit against
 * plain loops; texts; work on the communication thread. What goes wrong is in comm_failure.c.
 */
#include "comm_net.h"
#include "comm_trial.h"
#include "common.h"

/* ---- Texts, work ---------------------------------------------------------------------------------------------------- */
typedef struct heard {
    _Atomic int count;
    int rank[3 * NET_RANKS];
    size_t bytes[3 * NET_RANKS];
    char first[3 * NET_RANKS], end[3 * NET_RANKS];
} heard;

static void hear(void *arg, int rank, const char *text, size_t bytes) {
    heard *h = arg;
    h->rank[h->count] = rank;
    h->bytes[h->count] = bytes;
    h->first[h->count] = bytes ? text[0] : 0;
    h->end[h->count] = bytes ? text[bytes - 1] : 0;
    h->count++;
}

static void test_texts(engine_comm **comms, int size) {
    static const size_t lengths[] = {10, 0, 20000};
    heard h = {0};
    neap_var *token;
    CHECK_EQ(neap_var_new(&token), 0);
    for (int turn = 0; turn < 3; turn++) {
        for (int rank = 0; rank < size; rank++) {
            size_t bytes = lengths[(turn + rank) % 3];
            char *text = malloc(bytes + 1);
            memset(text, 'a' + rank, bytes + 1);
            CHECK_EQ(engine_comm_push_text(comms[rank], text, bytes, hear, &h, rank == 0 ? token : NULL, NULL), 0);
            free(text);
        }
    }
    CHECK_EQ(neap_var_wait_to_read(token), 0);
    CHECK_EQ(h.count, 3 * size);
    for (int k = 0; k < h.count; k++) {
        size_t bytes = lengths[(k / size + k % size) % 3];
        CHECK_EQ(h.rank[k], k % size);
        CHECK_EQ(h.bytes[k], bytes);
        CHECK_EQ(h.first[k], bytes ? 'a' + k % size : 0);
        CHECK_EQ(h.end[k], h.first[k]);
    }
    neap_var_delete(token);
}

typedef struct loop { /* ten reductions in a row, each of what the one before gave */
    engine_comm *comm;
    const engine_collective *what;
    float *state;
} loop;

static int run_loop(void *arg, const neap_run *run) {
    loop *l = arg;
    int status = 0;
    (void)run;
    for (int turn = 0; turn < 10 && status == 0; turn++) {
        float sum;
        status = engine_comm_run(l->comm, l->what, (const void *[]){l->state}, &sum);
        *l->state = sum;
    }
    return status;
}

static void test_work(engine_comm **comms) {
    engine_comm_group group = {.nmembers = 2,
                               .nranks = 2,
                               .ranks = (const int32_t[]){0, 1},
                               .owner = (const int32_t[]){0, 1},
                               .wanted = (const uint8_t[]){1, 1, 1, 1}};
    engine_collective what = {.kind = ENGINE_COMM_REDUCE,
                              .group = &group,
                              .combine = add_f32,
                              .item = 4,
                              .elements = 1,
                              .what = "add of f32"};
    float state[2] = {1, 2};
    neap_var *vars[2];
    loop loops[2];
    for (int k = 0; k < 2; k++) {
        CHECK_EQ(neap_var_new(&vars[k]), 0);
        loops[k] = (loop){comms[k], &what, &state[k]};
        neap_push push = {.name = "loop", .nwrites = 1, .writes = &vars[k]};
        CHECK_EQ(engine_comm_push_work(comms[k], run_loop, &loops[k], &push), 0);
    }
    for (int k = 0; k < 2; k++) {
        CHECK_EQ(neap_var_wait_to_read(vars[k]), 0);
        CHECK_EQ((int)state[k], 3 << 9);
        neap_var_delete(vars[k]);
    }
}

static int break_down(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return neap_error(NEAP_E_SHAPE, "a mistake");
}

/* A failed input fails this collective in all ranks, and no other. */
static void test_failed_input(engine_comm **comms) {
    uint64_t seed = 5;
    for (int turn = 0; turn < 2; turn++) {
        static trial t;
        choose(&t, 4, &seed, 3000);
        while (t.group.nranks < 3 || t.what.kind != ENGINE_COMM_REDUCE) {
            forget(&t);
            choose(&t, 4, &seed, 3000);
        }
        if (turn == 0) {
            neap_var *var = neap_buffer_var(t.in[0]);
            neap_push_sync(break_down, NULL, &(neap_push){.name = "broken", .nwrites = 1, .writes = &var});
            neap_var_wait_to_write(var);
        }
        push(&t, comms);
        if (turn == 1) {
            verify(&t);
            continue;
        }
        for (int k = 0; k < t.group.nranks; k++) {
            CHECK(neap_var_wait_to_read(neap_buffer_var(t.out[k])) < 0);
            CHECK_TEXT(neap_error_text(), "a mistake");
            neap_buffer_release(t.out[k]);
        }
        forget(&t);
    }
    neap_wait_all(); /* reports what failed, once */
}

int main(void) {
    enum { RANKS = 6 };
    net n;
    engine_comm *comms[NET_RANKS];
    const neap_engine_config *configs[] = {&POOL, &SHUFFLED};
    for (int k = 0; k < COUNT(configs); k++) {
        CHECK_EQ(neap_engine_start(configs[k]), 0);
        net_start(&n, RANKS, comms, 60, 60);
        for (int rank = 0; rank < RANKS; rank++)
            CHECK_EQ(net_met(comms[rank]), 0);
        CHECK_EQ(engine_comm_devices(comms[1], 4), 5);
        run_trials(comms, RANKS, SIZE(60, 12), 11 + (uint64_t)k);
        run_large(comms, 4, 77);
        test_texts(comms, RANKS);
        test_work(comms);
        test_failed_input(comms);
        net_stop(&n, comms, NULL, NULL);
        neap_engine_stop();
    }
    return check_end();
}
