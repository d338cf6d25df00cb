/* comm.c: collectives between communicators of one process: random groups, kinds, sizes and dtypes, bit for bit against
 * plain loops; work on the communication thread. What goes wrong is in comm_failure.c.
 */
#include "comm_net.h"
#include "comm_trial.h"
#include "common.h"

/* ---- Work -------------------------------------------------------------------------------------------------------- */
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

/* A failed input fails this collective in all ranks, and no other; also one that fails late, with a write behind the
 * collective, by who was given the input's memory. */
static void test_failed_input(engine_comm **comms) {
    enum { FAILED, FAILS, SOUND, TURNS };
    uint64_t seed = 5;
    for (int turn = 0; turn < TURNS; turn++) {
        static trial t;
        choose(&t, 4, &seed, 3000);
        while (t.group.nranks < 3 || t.what.kind != ENGINE_COMM_REDUCE) {
            forget(&t);
            choose(&t, 4, &seed, 3000);
        }
        neap_var *var = neap_buffer_var(t.in[0]);
        _Atomic int written = 0;
        gate late;
        if (turn == FAILED) {
            neap_push_sync(break_down, NULL, &(neap_push){.name = "broken", .nwrites = 1, .writes = &var});
            neap_var_wait_to_write(var);
        }
        if (turn == FAILS)
            push_gate(&late, 1, &var);
        push(&t, comms);
        if (turn == FAILS) {
            CHECK_EQ(push_on(add_one, &written, NEAP_PUSH_ALWAYS, NULL, var), NEAP_OK);
            await_gate(&late);
            open_gate(&late, neap_error(NEAP_E_SHAPE, "a mistake"));
        }
        if (turn == SOUND) {
            verify(&t);
            continue;
        }
        for (int k = 0; k < t.group.nranks; k++) {
            CHECK(neap_var_wait_to_read(neap_buffer_var(t.out[k])) < 0);
            CHECK_TEXT(neap_error_text(), "a mistake");
            neap_buffer_release(t.out[k]);
        }
        neap_var_wait_to_write(var);
        CHECK_EQ(written, turn == FAILS);
        forget(&t);
    }
    neap_wait_all(); /* reports what failed, once */
}

static void test_register(void) {
    neap_transport t = net_transport;
    t.abi++;
    CHECK_EQ(neap_transport_register(&t), NEAP_E_ARGUMENT);
    t = net_transport;
    t.cancel = NULL;
    CHECK_EQ(neap_transport_register(&t), NEAP_E_ARGUMENT);
    t = net_transport;
    t.tags = 1;
    CHECK_EQ(neap_transport_register(&t), NEAP_E_ARGUMENT);
}

int main(void) {
    enum { RANKS = 6 };
    net n;
    engine_comm *comms[NET_RANKS];
    const neap_engine_config *configs[] = {&POOL, &SHUFFLED};
    test_register();
    for (int k = 0; k < COUNT(configs); k++) {
        CHECK_EQ(neap_engine_start(configs[k]), 0);
        net_start(&n, RANKS, comms, 60, 60, false);
        for (int rank = 0; rank < RANKS; rank++)
            CHECK_EQ(net_met(comms[rank]), 0);
        CHECK_EQ(engine_comm_devices(comms[1], 4), 5);
        run_trials(comms, RANKS, SIZE(60, 12), 11 + (uint64_t)k);
        run_large(comms, 4, 77);
        test_work(comms);
        test_failed_input(comms);
        net_stop(&n, comms, NULL, NULL);
        neap_engine_stop();
    }
    return check_end();
}
