/* alternate.c: work with callbacks and collectives, which goes from the communication thread to the user thread and
 * back. Two ranks of one process, each with a communicator and a token store; the test's own loop is the user thread of
 * both.
 */
#include "effects/effects_internal.h"
#include "tests/engine/comm_net.h"
#include "tests/engine/common.h"

enum { RANKS = 2, TURNS = 5 };

static const int32_t everybody[RANKS] = {0, 1};
static const uint8_t wants[RANKS * RANKS] = {1, 1, 1, 1};
static const engine_comm_group group = {RANKS, RANKS, everybody, everybody, wants};

static void add_f32(void *out, const void *a, const void *b, const void *c, int64_t n) {
    (void)c;
    for (int64_t k = 0; k < n; k++)
        ((float *)out)[k] = ((const float *)a)[k] + ((const float *)b)[k];
}

typedef struct rank_side { /* of a rank: its work is a sum over the ranks in each turn, then a callback that adds 1 */
    engine_comm *comm;
    neap_effects *effects;
    neap_var *result;
    int turn, calls;
    bool at_callback, released;
    float state;
    char text[200]; /* what happened */
} rank_side;

typedef struct stage {
    net n;
    engine_comm *comms[RANKS];
    rank_side sides[RANKS];
    neap_waker *waker;
} stage;

static engine_lock text_lock;

static void write_down(rank_side *s, const char *word) {
    engine_lock_take(&text_lock);
    strcat(strcat(s->text, word), " ");
    engine_lock_drop(&text_lock);
}

static int advance_side(void *arg, const neap_run *run) {
    static const engine_collective what = {.kind = ENGINE_COMM_REDUCE,
                                           .group = &group,
                                           .combine = add_f32,
                                           .item = 4,
                                           .elements = 1,
                                           .what = "psum of f32"};
    rank_side *s = arg;
    (void)run;
    if (s->at_callback && ++s->turn == TURNS)
        return NEAP_OK;
    float sum;
    int status = engine_comm_run(s->comm, &what, (const void *[]){&s->state}, &sum);
    if (status < 0)
        return status;
    s->state = sum;
    write_down(s, "sum");
    s->at_callback = true;
    return NEAP_PENDING;
}

static void release_side(void *arg) {
    ((rank_side *)arg)->released = true;
}

static int note_inside(void *arg, const neap_run *run) {
    (void)run;
    sleep_us(100); /* the work must not go on before this has happened */
    write_down(arg, "inside");
    return NEAP_OK;
}

static int note_after(void *arg, const neap_run *run) {
    (void)run;
    write_down(arg, "after");
    return NEAP_OK;
}

/* Starts the engine, the ranks, and the work of both, with an effect behind it. `kinds`: those of the work. */
static void begin(stage *s, const neap_engine_config *config, int kinds) {
    CHECK_EQ(neap_engine_start(config), 0);
    CHECK_EQ(neap_waker_new(&s->waker), 0);
    net_start(&s->n, RANKS, s->comms, 60, 60, false);
    for (int k = 0; k < RANKS; k++) {
        rank_side *side = &s->sides[k];
        CHECK_EQ(net_met(s->comms[k]), 0);
        *side = (rank_side){.comm = s->comms[k], .state = (float)(1 + k)};
        CHECK_EQ(neap_effects_new(s->waker, &side->effects), 0);
        CHECK_EQ(neap_var_new(&side->result), 0);
        neap_push push = {
            .name = "loop", .release = release_side, .flags = NEAP_PUSH_ALWAYS, .nwrites = 1, .writes = &side->result};
        CHECK_EQ(effects_alternate(side->effects, side->comm, kinds, advance_side, side, &push), 0);
        CHECK_EQ(
            neap_effects_push(side->effects, NEAP_EFFECT_CALLBACK, 1, note_after, side, &(neap_push){.name = "after"}),
            0);
    }
}

/* Calls the callbacks of a rank until its effects have happened, or rank `fails` is in its third one: that fails. */
static void run_callbacks(stage *s, int fails) {
    bool pending = true;
    while (pending) {
        pending = false;
        for (int k = 0; k < RANKS; k++) {
            rank_side *side = &s->sides[k];
            neap_request *request = neap_request_take(side->effects);
            if (request) {
                CHECK(neap_request_arg(request) == side);
                side->state += 1;
                bool ends = k == fails && ++side->calls == 3;
                CHECK_EQ(neap_effects_push(side->effects, NEAP_EFFECT_CALLBACK, 1, note_inside, side,
                                           &(neap_push){.name = "inside"}),
                         0);
                int status = ends ? neap_error(NEAP_E_FAILED, "no such file") : NEAP_OK;
                CHECK_EQ(neap_request_end(side->effects, request, status), 0);
            }
            pending |= neap_effects_poll(side->effects, s->waker) == NEAP_PENDING;
        }
        if (pending)
            neap_waker_sleep(s->waker, 1);
        neap_waker_clear(s->waker);
    }
}

static void end(stage *s, const int *codes) {
    net_stop(&s->n, s->comms, codes, NULL);
    for (int k = 0; k < RANKS; k++) {
        CHECK(s->sides[k].released);
        neap_effects_free(s->sides[k].effects);
        neap_var_delete(s->sides[k].result);
    }
    neap_waker_free(s->waker);
    neap_engine_stop();
}

/* Sums and callbacks by turns, in one order, with what callbacks push; then what stands behind the work. */
static void test_turns(const neap_engine_config *config, int kinds) {
    stage s;
    begin(&s, config, kinds);
    run_callbacks(&s, -1);
    for (int k = 0; k < RANKS; k++) {
        CHECK_EQ(neap_var_wait_to_read(s.sides[k].result), 0);
        CHECK_EQ((int)s.sides[k].state, 79); /* 3 + 1, 8 + 1, 18 + 1, 38 + 1, 78 + 1 */
        if (kinds)
            CHECK_EQ(strcmp(s.sides[k].text, "sum inside sum inside sum inside sum inside sum inside after "), 0);
    }
    end(&s, NULL);
}

/* A callback of rank 1 fails: so does its work, and that of rank 0, which is told why; and each later collective. */
static void test_failure(const neap_engine_config *config) {
    stage s;
    begin(&s, config, 1 << NEAP_EFFECT_CALLBACK);
    run_callbacks(&s, 1);
    CHECK_EQ(neap_var_wait_to_read(s.sides[1].result), NEAP_E_FAILED);
    CHECK_TEXT(neap_error_text(), "no such file");
    CHECK_EQ(strcmp(s.sides[1].text, "sum inside sum inside sum inside after "), 0);
    CHECK_EQ(neap_var_wait_to_read(s.sides[0].result), NEAP_E_FAILED);
    CHECK_TEXT(neap_error_text(), "process 1: no such file");
    CHECK_EQ(strcmp(s.sides[0].text, "sum inside sum inside sum inside after "), 0);
    for (int k = 0; k < RANKS; k++) {
        while (engine_comm_poll(s.comms[k], NULL) == NEAP_OK)
            sched_yield();
        CHECK_TEXT(neap_error_text(), "process 1: no such file");
    }
    end(&s, (const int[]){1, 1});
}

/* Both ranks end in a callback: neither waits for its work, which is not over. */
static void test_end(const neap_engine_config *config) {
    stage s;
    neap_request *open[RANKS];
    begin(&s, config, 1 << NEAP_EFFECT_CALLBACK);
    for (int k = 0; k < RANKS; k++)
        while (!(open[k] = neap_request_take(s.sides[k].effects)))
            sched_yield();
    for (int k = 0; k < RANKS; k++)
        CHECK(engine_comm_end(s.comms[k], 0, NULL, NULL) >= 0);
    for (int k = 0; k < RANKS; k++)
        while (engine_comm_end(s.comms[k], 0, NULL, NULL) == NEAP_PENDING)
            sched_yield();
    for (int k = 0; k < RANKS; k++) {
        CHECK_EQ(engine_comm_poll(s.comms[k], NULL), 0);
        CHECK_EQ(neap_request_end(s.sides[k].effects, open[k], NEAP_OK), 0);
        CHECK_EQ(neap_var_wait_to_read(s.sides[k].result), NEAP_E_STATE);
        CHECK_TEXT(neap_error_text(), "the processes have ended their communication");
    }
    run_callbacks(&s, -1);
    end(&s, NULL);
}

int main(void) {
    for (int k = 0; k < COUNT(EVERY); k++) {
        test_turns(EVERY[k], 1 << NEAP_EFFECT_CALLBACK);
        test_turns(EVERY[k], 0);
        test_failure(EVERY[k]);
        test_end(EVERY[k]);
    }
    return check_end();
}
