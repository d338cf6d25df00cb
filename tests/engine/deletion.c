/* deletion.c: a variable that was given up lives until every op pushed before that has finished, and no longer: whoever
 * gives it up, whatever waits for it. That it does not live longer, and that nothing is touched after its end, is for
 * the address sanitizer to see. */
#include "tests/engine/common.h"

/* Five readers and a writer still wait for it. */
static void while_queued(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    for (int round = 0; round < 50; round++) {
        neap_var *a = new_var(), *b = new_var();
        gate g;
        _Atomic int ran = 0;
        push_gate(&g, 1, &a);
        for (int i = 0; i < 5; i++)
            CHECK_EQ(push_on(add_one, &ran, (uint32_t)i % 2, a, b), NEAP_OK);
        CHECK_EQ(push_on(add_one, &ran, 0, NULL, a), NEAP_OK);
        neap_var_delete(a);
        neap_var_delete(b);
        open_gate(&g, 0);
        CHECK_EQ(neap_wait_all(), NEAP_OK);
        CHECK_EQ(ran, 6);
    }
    neap_var_delete(NULL);
    neap_engine_stop();
}

typedef struct observer {
    neap_var *var;
    uint64_t version;
} observer;

static int observe(void *arg, const neap_run *run) {
    (void)run;
    observer *o = arg;
    o->version = neap_var_version(o->var);
    return 0;
}

/* Until then it keeps its version and its failure: ops that were pushed before see both. */
static void keeps_its_state(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *a = new_var(), *b = new_var();
    observer o = {.var = a};
    _Atomic int ran = 0;
    gate g;
    push_gate(&g, 1, &a);
    CHECK_EQ(push_on(fail, NULL, 0, NULL, a), NEAP_OK);
    CHECK_EQ(push_on(observe, &o, NEAP_PUSH_ALWAYS, a, NULL), NEAP_OK);
    CHECK_EQ(push_on(add_one, &ran, 0, a, b), NEAP_OK);
    neap_var_delete(a);
    open_gate(&g, 0);
    CHECK_EQ(neap_var_wait_to_read(b), NEAP_E_SHAPE);
    CHECK_TEXT(neap_error_text(), "script.lua:7: op: three is not four");
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(o.version, 2);
    CHECK_EQ(ran, 0);
    neap_var_delete(b);
    neap_engine_stop();
}

static int delete_it(void *arg, const neap_run *run) {
    (void)run;
    neap_var_delete(arg);
    return 0;
}

/* By the op that uses it, by an op that waits for that, and by one that has nothing to do with it. */
static void inside_ops(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    for (int round = 0; round < 50; round++) {
        neap_var *a = new_var(), *b = new_var(), *c = new_var();
        _Atomic int ran = 0;
        uint32_t flags = (uint32_t)round % 2;
        CHECK_EQ(push_on(add_one, &ran, 0, a, b), NEAP_OK);
        CHECK_EQ(push_on(delete_it, a, flags, b, a), NEAP_OK);
        CHECK_EQ(push_on(delete_it, b, flags, b, NULL), NEAP_OK);
        CHECK_EQ(push_on(delete_it, c, flags, NULL, NULL), NEAP_OK);
        CHECK_EQ(neap_wait_all(), NEAP_OK);
        CHECK_EQ(ran, 1);
    }
    neap_engine_stop();
}

/* ---- From other threads ------------------------------------------------------------------------------------------ */

enum { MAILS = 16, ROUNDS = SIZE(4000, 600), DELETERS = 3 };

typedef struct post {
    _Atomic(neap_var *) box[MAILS];
    _Atomic int ran, quit;
} post;

static void *delete_mail(void *arg) {
    post *p = arg;
    while (!atomic_load(&p->quit)) {
        for (int i = 0; i < MAILS; i++)
            neap_var_delete(atomic_exchange(&p->box[i], NULL));
        sleep_us(50);
    }
    return NULL;
}

/* The pusher hands variables with ops in all states to other threads, which delete them. */
static void from_other_threads(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    post p = {0};
    pthread_t threads[DELETERS];
    uint64_t state = 5;
    for (int i = 0; i < DELETERS; i++)
        pthread_create(&threads[i], NULL, delete_mail, &p);
    int pushed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        neap_var *vars[3];
        new_vars(3, vars);
        for (int i = pick(&state, 6); i > 0; i--, pushed++) {
            neap_push push = {.flags = (uint32_t)pick(&state, 2),
                              .device = pick(&state, neap_engine_devices()),
                              .nreads = 2,
                              .reads = vars,
                              .nwrites = 1,
                              .writes = vars + 2};
            CHECK_EQ(neap_push_sync(add_one, &p.ran, &push), NEAP_OK);
        }
        for (int i = 0; i < 3; i++)
            neap_var_delete(atomic_exchange(&p.box[pick(&state, MAILS)], vars[i]));
    }
    atomic_store(&p.quit, 1);
    for (int i = 0; i < DELETERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < MAILS; i++)
        neap_var_delete(atomic_exchange(&p.box[i], NULL));
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(p.ran, pushed);
    neap_engine_stop();
}

/* ---- What else holds variables ----------------------------------------------------------------------------------- */

/* A registered waker is woken by the last write of a variable that was given up meanwhile. */
static void while_watched(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *a = new_var();
    neap_waker *waker;
    gate g;
    CHECK_EQ(neap_waker_new(&waker), NEAP_OK);
    push_gate(&g, 1, &a);
    CHECK_EQ(neap_var_poll(a, waker), NEAP_PENDING);
    neap_var_delete(a);
    open_gate(&g, 0);
    CHECK_EQ(neap_waker_sleep(waker, 60000), 1);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_waker_free(waker);
    neap_engine_stop();
}

/* Without an engine, and when the engine was stopped meanwhile. */
static void without_engine(void) {
    neap_var *a = new_var(), *b = new_var();
    neap_var_delete(a);
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    CHECK_EQ(push_on(add_one, &(_Atomic int){0}, NEAP_PUSH_SMALL, NULL, b), NEAP_OK);
    neap_engine_stop();
    CHECK_EQ(neap_var_version(b), 1);
    neap_var_delete(b);
}

int main(void) {
    without_engine();
    for (int i = 0; i < COUNT(EVERY); i++) {
        while_queued(EVERY[i]);
        keeps_its_state(EVERY[i]);
        inside_ops(EVERY[i]);
        from_other_threads(EVERY[i]);
        while_watched(EVERY[i]);
    }
    return check_end();
}
