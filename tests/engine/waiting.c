/* waiting.c: what waits wait for, what they report, that they are refused inside ops, and that none is forgotten when
 * many threads wait for the same variables. */
#include "tests/engine/common.h"

/* ---- Reading and writing ----------------------------------------------------------------------------------------- */

typedef struct wait {
    neap_var *var;
    int (*how)(neap_var *var);
    int status;
    _Atomic int entered, returned;
} wait;

static void *wait_for_it(void *arg) {
    wait *w = arg;
    w->entered = 1;
    w->status = w->how(w->var);
    w->returned = 1;
    return NULL;
}

/* While a reader runs, wait_to_read returns and wait_to_write does not. */
static void read_against_write(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *a = new_var();
    wait w = {.var = a, .how = neap_var_wait_to_write};
    pthread_t thread;
    gate g;
    push_gate_reading(&g, a);
    CHECK_EQ(neap_var_wait_to_read(a), NEAP_OK);
    CHECK_EQ(neap_var_poll(a, NULL), NEAP_OK);
    await_gate(&g);
    CHECK_EQ(neap_var_wait_to_read(a), NEAP_OK);
    pthread_create(&thread, NULL, wait_for_it, &w);
    await(&w.entered, 1);
    sleep_ms(20);
    CHECK_EQ(w.returned, 0);
    CHECK_EQ(neap_var_wait_to_read(a), NEAP_OK); /* nor does that wait count as a write */
    open_gate(&g, 0);
    pthread_join(thread, NULL);
    CHECK_EQ(w.status, NEAP_OK);
    CHECK_EQ(neap_var_version(a), 0);
    neap_var_delete(a);
    neap_engine_stop();
}

/* A wait is for what was pushed before it, and does not care for what comes later. */
static void later_pushes(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *a = new_var();
    wait w = {.var = a, .how = neap_var_wait_to_read};
    pthread_t thread;
    gate first, second;
    push_gate(&first, 1, &a);
    pthread_create(&thread, NULL, wait_for_it, &w);
    await(&w.entered, 1);
    sleep_ms(20);
    CHECK_EQ(w.returned, 0);
    push_gate(&second, 1, &a);
    open_gate(&first, 0);
    pthread_join(thread, NULL); /* although the second write has not ended */
    CHECK_EQ(w.status, NEAP_OK);
    CHECK_EQ(neap_var_version(a), 1);
    CHECK_EQ(neap_var_poll(a, NULL), NEAP_PENDING);
    open_gate(&second, 0);
    CHECK_EQ(neap_var_wait_to_write(a), NEAP_OK);
    CHECK_EQ(neap_var_version(a), 2);
    neap_var_delete(a);
    neap_engine_stop();
}

/* Frees and waits still run after a failure, and are not told of it twice. */
static void after_a_failure(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *vars[4];
    _Atomic int ran = 0;
    new_vars(4, vars);
    neap_push push = {.name = "split", .nwrites = 4, .writes = vars};
    CHECK_EQ(neap_push_sync(fail, NULL, &push), NEAP_OK);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(push_on(add_one, &ran, NEAP_PUSH_ALWAYS, vars[i], NULL), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_write(vars[2]), NEAP_E_SHAPE);
    CHECK(strcmp(neap_error_text(), "split: three is not four") == 0);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(neap_var_wait_to_write(vars[i]), NEAP_OK);
        CHECK_EQ(neap_var_wait_to_read(vars[i]), NEAP_OK);
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(ran, 4);
    CHECK_EQ(push_on(fail, NULL, 0, NULL, NULL), NEAP_OK); /* attaches to nothing: only wait_all can tell */
    CHECK_EQ(neap_wait_all(), NEAP_E_SHAPE);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    delete_vars(4, vars);
    neap_engine_stop();
}

/* The first of several is reported, in order, and with it all are forgotten. */
static void the_first_failure(void) {
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    neap_var *vars[3];
    gate gates[3];
    new_vars(3, vars);
    for (int i = 0; i < 3; i++)
        push_gate(&gates[i], 1, &vars[i]);
    open_gate(&gates[1], NEAP_E_INDEX);
    open_gate(&gates[0], NEAP_E_DTYPE);
    open_gate(&gates[2], NEAP_E_IO);
    CHECK_EQ(neap_wait_all(), NEAP_E_INDEX);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(neap_var_wait_to_read(vars[i]), NEAP_OK);
    delete_vars(3, vars);
    neap_engine_stop();
}

/* ---- Inside ops -------------------------------------------------------------------------------------------------- */

typedef struct inside {
    neap_var *own, *other;
    _Atomic int refused;
} inside;

static int wait_inside(void *arg, const neap_run *run) {
    (void)run;
    inside *in = arg;
    in->refused += neap_var_wait_to_read(in->own) == NEAP_E_STATE;
    in->refused += neap_var_wait_to_write(in->own) == NEAP_E_STATE;
    in->refused += neap_var_wait_to_read(in->other) == NEAP_E_STATE;
    in->refused += neap_var_wait_to_write(in->other) == NEAP_E_STATE;
    in->refused += neap_wait_all() == NEAP_E_STATE;
    in->refused += neap_poll_all(NULL) == NEAP_PENDING;
    in->refused += neap_engine_help(1000000) == 0;
    neap_engine_stop(); /* not from here */
    in->refused += neap_engine_workers() > 0;
    return 0;
}

static void wait_inside_loop(void *arg, int64_t i, const neap_run *run) {
    (void)i;
    wait_inside(arg, run);
}

static int loop_inside(void *arg, const neap_run *run) {
    neap_parallel_for(run, 8, wait_inside_loop, arg);
    return 0;
}

static void refused_inside_ops(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    inside in = {.own = new_var(), .other = new_var()};
    gate g;
    push_gate(&g, 1, &in.other);
    await_gate(&g);
    CHECK_EQ(push_on(wait_inside, &in, 0, NULL, in.own), NEAP_OK);
    CHECK_EQ(push_on(wait_inside, &in, NEAP_PUSH_SMALL, NULL, in.own), NEAP_OK);
    CHECK_EQ(push_on(loop_inside, &in, 0, NULL, in.own), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_write(in.own), NEAP_OK);
    CHECK_EQ(in.refused, 10 * 8);
    open_gate(&g, 0);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_var_delete(in.own);
    neap_var_delete(in.other);
    neap_engine_stop();
}

/* ---- Many threads, the same variables ---------------------------------------------------------------------------- */

enum { VARS = 4, WAITERS = 6, ROUNDS = SIZE(1000, 200) };

typedef struct crowd {
    neap_var *vars[VARS];
    _Atomic uint64_t pushed[VARS]; /* writes, at least */
    _Atomic int quit;
    _Atomic int early; /* waits that returned before what they waited for */
} crowd;

typedef struct waiter {
    crowd *c;
    int kind;
    _Atomic int waits;
} waiter;

/* Each waits in its own way. A wake-up that is lost makes it sleep for ever. */
static void *wait_in_crowd(void *arg) {
    waiter *me = arg;
    crowd *c = me->c;
    neap_waker *waker;
    uint64_t state = (uint64_t)me->kind;
    CHECK_EQ(neap_waker_new(&waker), NEAP_OK);
    while (!atomic_load(&c->quit)) {
        int at = pick(&state, VARS);
        uint64_t least = atomic_load(&c->pushed[at]);
        if (me->kind % 3 == 0) {
            neap_var_wait_to_read(c->vars[at]);
        } else if (me->kind % 3 == 1) {
            neap_var_wait_to_write(c->vars[at]);
        } else {
            neap_waker_clear(waker);
            while (neap_var_poll(c->vars[at], waker) == NEAP_PENDING && neap_var_version(c->vars[at]) < least) {
                CHECK_EQ(neap_waker_sleep(waker, 60000), 1);
                neap_waker_clear(waker);
            }
        }
        c->early += neap_var_version(c->vars[at]) < least;
        me->waits++;
    }
    neap_waker_free(waker);
    return NULL;
}

static void *wait_for_all(void *arg) {
    waiter *me = arg;
    crowd *c = me->c;
    while (!atomic_load(&c->quit)) {
        uint64_t least[VARS];
        for (int i = 0; i < VARS; i++)
            least[i] = atomic_load(&c->pushed[i]);
        neap_wait_all();
        for (int i = 0; i < VARS; i++)
            c->early += neap_var_version(c->vars[i]) < least[i];
        me->waits++;
        sleep_us(500);
    }
    return NULL;
}

static int pause_briefly(void *arg, const neap_run *run) {
    (void)run;
    sleep_us((int)(intptr_t)arg);
    return 0;
}

static void contention(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    crowd c = {0};
    waiter waiters[WAITERS + 1];
    pthread_t threads[WAITERS + 1];
    uint64_t state = 11;
    new_vars(VARS, c.vars);
    for (int i = 0; i <= WAITERS; i++) {
        waiters[i] = (waiter){.c = &c, .kind = i};
        pthread_create(&threads[i], NULL, i < WAITERS ? wait_in_crowd : wait_for_all, &waiters[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        int at = pick(&state, VARS), us = pick(&state, 8) ? 0 : pick(&state, 60);
        uint32_t flags = us == 0 ? (uint32_t)pick(&state, 2) : 0;
        CHECK_EQ(push_on(pause_briefly, (void *)(intptr_t)us, flags, c.vars[(at + 1) % VARS], c.vars[at]), NEAP_OK);
        c.pushed[at]++;
        if (round % 16 == 0)
            neap_var_wait_to_read(c.vars[at]);
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    for (int i = 0; i <= WAITERS; i++)
        await(&waiters[i].waits, 1);
    c.quit = 1;
    for (int i = 0; i <= WAITERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(c.early, 0);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    delete_vars(VARS, c.vars);
    neap_engine_stop();
}

int main(void) {
    the_first_failure();
    for (int i = 0; i < COUNT(EVERY); i++) {
        read_against_write(EVERY[i]);
        later_pushes(EVERY[i]);
        after_a_failure(EVERY[i]);
        if (EVERY[i] != &NAIVE)
            refused_inside_ops(EVERY[i]);
        contention(EVERY[i]);
    }
    return check_end();
}
