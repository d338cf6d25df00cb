/* comm_failure.c: what collectives say when they cannot be done: ranks that do not do the same, that come late, end,
 * fail, or die. Every rank ends with an error that names the reason, and nothing hangs.
 */
#include <time.h>

#include "comm_net.h"
#include "common.h"

enum { RANKS = 3 };

static void add_f32(void *out, const void *a, const void *b, const void *c, int64_t n) {
    (void)c;
    for (int64_t k = 0; k < n; k++)
        ((float *)out)[k] = ((const float *)a)[k] + ((const float *)b)[k];
}

static const int32_t everybody[RANKS] = {0, 1, 2};
static const uint8_t wants[RANKS * RANKS] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
static const engine_comm_group group = {RANKS, RANKS, everybody, everybody, wants};

typedef struct stage {
    net n;
    engine_comm *comms[RANKS];
    neap_buffer *in, *out[RANKS];
} stage;

static void begin(stage *s, double timeout, double silence) {
    net_start(&s->n, RANKS, s->comms, timeout, silence, false);
    CHECK_EQ(neap_buffer_new(0, 1 << 20, &s->in), 0);
    memset(neap_buffer_data(s->in), 0, 1 << 20);
    for (int k = 0; k < RANKS; k++) {
        CHECK_EQ(net_met(s->comms[k]), 0);
        CHECK_EQ(neap_buffer_new(0, 1 << 20, &s->out[k]), 0);
    }
}

static void end(stage *s, const int *codes, const char *why) {
    neap_wait_all();
    net_stop(&s->n, s->comms, codes, why);
    neap_buffer_release(s->in);
    for (int k = 0; k < RANKS; k++)
        neap_buffer_release(s->out[k]);
}

static bool located; /* whether the lines of sums are known for sure */

static void sum(stage *s, int rank, int64_t n, const char *what, const char *site) {
    engine_collective c = {.kind = ENGINE_COMM_REDUCE,
                           .group = &group,
                           .combine = add_f32,
                           .item = 4,
                           .elements = n,
                           .what = what,
                           .site = site,
                           .located = located};
    engine_comm_block block = {s->in, 0};
    CHECK_EQ(engine_comm_push(s->comms[rank], &c, &block, s->out[rank], NULL), 0);
}

/* The error of a rank's result. */
static const char *error_of(stage *s, int rank) {
    CHECK(neap_var_wait_to_read(neap_buffer_var(s->out[rank])) < 0);
    return neap_error_text();
}

static void test_mismatch(int64_t n, int64_t other, const char *what) {
    stage s;
    begin(&s, 60, 60);
    for (int k = 0; k < RANKS; k++) {
        sum(&s, k, 8, "psum of f32", "train.lua:3");
        sum(&s, k, k == 1 ? other : n, k == 1 ? what : "psum of f32", k == 1 ? "train.lua:9" : "train.lua:5");
    }
    for (int k = 0; k < RANKS; k++) {
        const char *text = error_of(&s, k);
        CHECK_TEXT(text, "collective 2 (psum of f32, ");
        CHECK_TEXT(text, what);
        CHECK_TEXT(text, "train.lua:5");
        CHECK_TEXT(text, "train.lua:9");
        CHECK_TEXT(text, "process 1");
    }
    /* It is broken now: what follows fails at once. */
    for (int k = 0; k < RANKS; k++)
        sum(&s, k, 8, "psum of f32", NULL);
    for (int k = 0; k < RANKS; k++)
        CHECK_TEXT(error_of(&s, k), "collective 2");
    end(&s, (const int[]){1, 1, 1}, NULL);
}

/* Rank 2 never comes; it is alive, and has done one collective. */
static void test_timeout(void) {
    stage s;
    char text[2000];
    begin(&s, 1.6, 60);
    for (int k = 0; k < RANKS; k++) {
        sum(&s, k, 8, "psum of f32", NULL);
        if (k != 2)
            sum(&s, k, 40000, "psum of f32", "train.lua:5");
    }
    for (int k = 0; k < 2; k++) {
        CHECK_TEXT(error_of(&s, k), "collective 2 (psum of f32, 40000 elements, at train.lua:5)");
        CHECK_TEXT(neap_error_text(), "process 2 on ");
    }
    CHECK_TEXT(engine_comm_report(s.comms[0], text, sizeof text), "process 2 on ");
    CHECK(engine_comm_poll(s.comms[0], NULL) < 0);
    CHECK_EQ(engine_comm_poll(s.comms[2], NULL), 0); /* it was not asked for anything */
    end(&s, (const int[]){1, 1, 1}, NULL);
}

static void test_late_is_told(void) {
    stage s;
    begin(&s, 1.9, 60);
    sum(&s, 0, 8, "psum of f32", NULL);
    CHECK_TEXT(error_of(&s, 0), "process 1 on ");
    CHECK_TEXT(neap_error_text(), "(has done 0 collectives)");
    CHECK_TEXT(neap_error_text(), "process 2 on ");
    end(&s, (const int[]){1, 1, 1}, NULL);
}

static void test_death(void) {
    stage s;
    begin(&s, 60, 0.5);
    s.n.ends[1].dead = true;
    sum(&s, 0, 8, "psum of f32", "train.lua:5");
    sum(&s, 2, 8, "psum of f32", "train.lua:5");
    for (int k = 0; k < RANKS; k += 2)
        CHECK_TEXT(error_of(&s, k), "process 1 on ");
    CHECK_TEXT(neap_error_text(), "train.lua:5");
    end(&s, (const int[]){1, 1, 1}, NULL);
}

/* Rank 1 has come to its end, which is no failure, but the others want it. */
static void test_ended(void) {
    stage s;
    begin(&s, 60, 60);
    CHECK_EQ(engine_comm_end(s.comms[1], 0, NULL, NULL), NEAP_PENDING);
    sum(&s, 0, 8, "psum of f32", NULL);
    sum(&s, 2, 8, "psum of f32", NULL);
    for (int k = 0; k < RANKS; k += 2)
        CHECK_TEXT(error_of(&s, k), "process 1 on ");
    CHECK_TEXT(neap_error_text(), "which has ended after collective 0");
    end(&s, (const int[]){1, 0, 1}, NULL);
}

/* Rank 1 fails while it is in a collective, which it leaves. */
static void test_failed(void) {
    stage s;
    char why[256];
    begin(&s, 60, 60);
    for (int k = 0; k < 2; k++)
        sum(&s, k, 8, "psum of f32", NULL);
    engine_comm_end(s.comms[1], 3, "train.lua:7: no such file", NULL);
    CHECK_TEXT(error_of(&s, 1), "no such file");
    CHECK_TEXT(error_of(&s, 0), "which has failed: train.lua:7: no such file");
    CHECK_TEXT(engine_comm_why(s.comms[0], 1, why, sizeof why), "no such file");
    CHECK_EQ(strlen(engine_comm_why(s.comms[0], 0, why, sizeof why)), 0);
    end(&s, (const int[]){1, 3, 1}, NULL);
}

/* Ranks 0 and 2 come to their end, and rank 1 does not: they do not wait for it. The first that gives up tells why; the
 * other then knows that somebody has failed. */
static void end_without_1(stage *s) {
    char why[1000];
    int told = 0;
    for (int k = 0; k < RANKS; k += 2)
        CHECK_EQ(engine_comm_end(s->comms[k], 0, NULL, NULL), NEAP_PENDING);
    for (int k = 0; k < RANKS; k += 2) {
        while (engine_comm_end(s->comms[k], 0, NULL, NULL) == NEAP_PENDING)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        bool broken = engine_comm_poll(s->comms[k], NULL) < 0;
        const char *text = broken ? neap_error_text() : engine_comm_why(s->comms[k], 2 - k, why, sizeof why);
        CHECK_TEXT(text, "the end of all processes ");
        CHECK_TEXT(text, "process 1 on ");
        told += broken;
    }
    CHECK(told > 0);
    end(s, (const int[]){1, 1, 1}, NULL);
}

static void test_endless(void) {
    stage s;
    begin(&s, 1.6, 60);
    for (int k = 0; k < RANKS; k++)
        sum(&s, k, 8, "psum of f32", NULL);
    neap_wait_all();
    end_without_1(&s);
}

static void test_death_before_end(void) {
    stage s;
    begin(&s, 60, 0.5);
    s.n.ends[1].dead = true;
    end_without_1(&s);
}

/* The transport waits for somebody who never comes, and nothing can end that. */
static void test_no_start(void) {
    net n;
    engine_comm *comms[RANKS];
    net_start(&n, RANKS, comms, 0.3, 60, true);
    for (int k = 0; k < RANKS; k++) {
        CHECK(net_met(comms[k]) < 0);
        CHECK_TEXT(neap_error_text(), "the processes have not met within 0.3 s: ");
        CHECK_EQ(engine_comm_end(comms[k], 0, NULL, NULL), 0);
    }
    n.shut = false;
    net_stop(&n, comms, (const int[]){1, 1, 1}, NULL);
}

static char warned[4000];

static void keep_warning(const char *text) {
    strncat(warned, text, sizeof warned - strlen(warned) - 1);
}

/* Two ranks do the same; the third is at these lines. What the first one warns of, twice over. */
static const char *warnings(bool sure, const char *line, const char *other) {
    stage s;
    located = sure;
    *warned = '\0';
    net_warn = keep_warning;
    begin(&s, 20, 20);
    for (int turn = 0; turn < 2; turn++)
        for (int rank = 0; rank < RANKS; rank++) {
            sum(&s, rank, 8, "psum of f32", rank == 2 ? line : "train.lua:7");
            sum(&s, rank, 8, "psum of f32", rank == 2 ? other : "train.lua:9");
        }
    for (int rank = 0; rank < RANKS; rank++)
        CHECK_EQ(neap_var_wait_to_read(neap_buffer_var(s.out[rank])), 0);
    end(&s, NULL, NULL);
    net_warn = NULL;
    located = false;
    return warned;
}

static void test_lines(void) {
    CHECK(strcmp(warnings(true, "train.lua:7", "train.lua:9"), "") == 0);
    CHECK(strcmp(warnings(false, "train.lua:9", "train.lua:7"), "") == 0);
    const char *text = warnings(true, "train.lua:9", "train.lua:7");
    CHECK(strstr(text,
                 "train.lua:7: warning: collective 1 (psum of f32, 8 elements, at train.lua:7) of process 0 is "
                 "collective 1 (psum of f32, 8 elements, at train.lua:9) in process 2: if these are two") == text);
    const char *second = strchr(text, '\n') + 1;
    CHECK(strstr(second, "train.lua:9: warning: collective 2 (psum of f32, 8 elements, at train.lua:9) of process 0") ==
          second);
    CHECK(strchr(second, '\n')[1] == '\0'); /* once for each pair */
}

int main(void) {
    CHECK_EQ(neap_engine_start(&POOL), 0);
    test_mismatch(8, 9, "psum of f32, 9 elements");
    test_mismatch(40000, 50000, "psum of f32, 50000 elements");
    test_mismatch(8, 8, "pmax of f32");
    test_timeout();
    test_late_is_told();
    test_death();
    test_ended();
    test_failed();
    test_endless();
    test_death_before_end();
    test_no_start();
    test_lines();
    neap_engine_stop();
    return check_end();
}
