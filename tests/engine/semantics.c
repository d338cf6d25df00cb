/* semantics.c: what the engine promises about one op: order, versions, failures, priorities, wakers. */
#include "tests/engine/common.h"

static int fail_mutely(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return NEAP_E_DTYPE;
}

/* ---- Bad calls --------------------------------------------------------------------------------------------------- */

static void bad_calls(void) {
    _Atomic int ran = 0;
    neap_var *a = new_var(), *b = new_var(), *none = NULL;
    neap_var *twice[3] = {a, b, a};
    CHECK_EQ(push_on(add_one, &ran, 0, NULL, a), NEAP_E_STATE);
    CHECK_TEXT(neap_error_text(), "not started");
    CHECK_EQ(neap_wait_all(), NEAP_E_STATE);
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = -1}), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.scheduler = 9}), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    CHECK_EQ(neap_engine_start(&POOL), NEAP_E_STATE);
    CHECK_EQ(neap_engine_workers(), 2);
    CHECK_EQ(neap_engine_devices(), 1);
    for (uint32_t flags = 0; flags <= NEAP_PUSH_SMALL; flags++) {
        neap_push push = {.flags = flags, .release = release_one, .nreads = 3, .reads = twice};
        CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_E_ARGUMENT);
        CHECK_TEXT(neap_error_text(), "twice");
        push = (neap_push){.flags = flags, .release = release_one, .nwrites = 3, .writes = twice};
        CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_E_ARGUMENT);
        CHECK_EQ(push_on(add_one, &ran, flags, a, a), NEAP_E_ARGUMENT);
        push = (neap_push){.flags = flags, .release = release_one, .nwrites = 1, .writes = &none};
        CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_E_ARGUMENT);
        push = (neap_push){.flags = flags, .device = 1, .release = release_one};
        CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_E_ARGUMENT);
        push = (neap_push){.flags = flags, .nreads = -1, .release = release_one};
        CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_E_ARGUMENT);
        push = (neap_push){.flags = flags, .release = release_one};
        CHECK_EQ(neap_push_sync(NULL, &ran, &push), NEAP_E_ARGUMENT);
    }
    CHECK_EQ(ran, 0);
    CHECK_EQ(push_on(add_one, &ran, 0, a, b), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_write(b), NEAP_OK);
    CHECK_EQ(ran, 1);
    CHECK_EQ(neap_var_version(b), 1);
    CHECK_EQ(neap_var_version(a), 0);
    neap_var_delete(a);
    neap_var_delete(b);
    neap_engine_stop();
    neap_engine_stop();
    CHECK_EQ(neap_engine_workers(), 0);
}

static void status_texts(void) {
    CHECK(strcmp(neap_status_text(NEAP_E_SHAPE), "shapes do not fit") == 0);
    CHECK(strcmp(neap_status_text(0), "ok") == 0);
    CHECK(strcmp(neap_status_text(77), "unknown status") == 0);
    CHECK_EQ(neap_error(NEAP_E_INDEX, "%d of %d", 3, 2), NEAP_E_INDEX);
    CHECK(strcmp(neap_error_text(), "3 of 2") == 0);
    neap_error(NEAP_E_INDEX, "outer: %s", neap_error_text());
    CHECK(strcmp(neap_error_text(), "outer: 3 of 2") == 0);
    for (int i = 0; i < 12; i++)
        neap_error(NEAP_E_INDEX, "%s %s", neap_error_text(), neap_error_text());
    CHECK_EQ(strlen(neap_error_text()), 1023);
}

/* ---- Inline runs and release ------------------------------------------------------------------------------------- */

static int note_worker(void *arg, const neap_run *run) {
    *(int *)arg = run->worker;
    return 0;
}

typedef struct occupied { /* workers, until they are let go */
    _Atomic int workers, go;
} occupied;

static int occupy(void *arg, const neap_run *run) {
    occupied *o = arg;
    (void)run;
    o->workers++;
    while (!atomic_load(&o->go))
        sleep_ms(1);
    return NEAP_OK;
}

/* A thread that does nothing but wait for a variable runs the op that it waits for: here nobody else could. */
static void run_by_whoever_waits(void) {
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    neap_var *a = new_var();
    occupied o = {0};
    int where = 5;
    for (int k = 0; k < POOL.workers; k++)
        CHECK_EQ(push_on(occupy, &o, 0, NULL, NULL), NEAP_OK);
    await(&o.workers, POOL.workers);
    CHECK_EQ(push_on(note_worker, &where, 0, NULL, a), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(a), NEAP_OK);
    CHECK_EQ(where, -1);
    o.go = 1;
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_var_delete(a);
    neap_engine_stop();
}

static void inline_runs(void) {
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    neap_var *a = new_var();
    gate g;
    int where = 5;
    _Atomic int ran = 0;
    CHECK_EQ(push_on(note_worker, &where, NEAP_PUSH_SMALL, NULL, a), NEAP_OK);
    CHECK_EQ(where, -1); /* it ran, here */
    CHECK_EQ(push_on(note_worker, &where, 0, NULL, a), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK(where >= 0);
    push_gate(&g, 1, &a);
    neap_push push = {.flags = NEAP_PUSH_SMALL, .nwrites = 1, .writes = &a, .release = release_one};
    CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
    CHECK_EQ(ran, 0); /* it has to wait */
    open_gate(&g, 0);
    CHECK_EQ(neap_var_wait_to_read(a), NEAP_OK);
    CHECK_EQ(ran, 101); /* released before the wait returned */
    CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
    CHECK_EQ(ran, 202);
    push = (neap_push){0}; /* no variables at all */
    CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(ran, 203);
    CHECK_EQ(neap_var_version(a), 5);
    neap_var_delete(a);
    neap_engine_stop();
}

static int fail_now(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return neap_error(NEAP_E_INDEX, "out of reach");
}

/* What can run at its push runs; what cannot leaves no trace. */
static void runs_now(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *a = new_var(), *b = new_var(), *twice[2] = {a, a};
    gate g;
    _Atomic int ran = 0;
    bool naive = config == &NAIVE;
    neap_push small = {.name = "now", .flags = NEAP_PUSH_SMALL, .nreads = 1, .reads = &a, .nwrites = 1, .writes = &b};
    neap_push large = small;
    large.flags = 0;
    CHECK_EQ(neap_push_now(add_one, &ran, &small), config == &DEVICE ? NEAP_PENDING : NEAP_OK);
    CHECK_EQ(neap_push_now(add_one, &ran, &large), naive ? NEAP_OK : NEAP_PENDING);
    int before = ran;
    CHECK_EQ(neap_var_version(b), before);
    push_gate(&g, 1, &a);
    small.release = release_one;
    CHECK_EQ(neap_push_now(add_one, &ran, &small), NEAP_PENDING); /* it would have to wait */
    CHECK_EQ(neap_push_now(add_one, &ran, &(neap_push){.flags = NEAP_PUSH_SMALL, .nwrites = 2, .writes = twice}),
             NEAP_PENDING);
    open_gate(&g, 0);
    CHECK_EQ(neap_var_wait_to_write(a), NEAP_OK);
    CHECK_EQ(ran, before);
    CHECK_EQ(neap_var_version(b), before);
    small.release = NULL;
    int status = neap_push_now(fail_now, NULL, &small);
    if (status == NEAP_PENDING)
        CHECK_EQ(neap_push_sync(fail_now, NULL, &small), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(b), NEAP_E_INDEX);
    CHECK_TEXT(neap_error_text(), "now: out of reach");
    delete_vars(2, (neap_var *[]){a, b});
    neap_engine_stop();
    CHECK_EQ(neap_push_now(add_one, &ran, &small), NEAP_PENDING); /* the push tells why */
}

typedef struct nest {
    neap_var *var;
    _Atomic int left, ran, deepest, depth;
} nest;

static int push_next(void *arg, const neap_run *run) {
    nest *n = arg;
    (void)run;
    n->ran++;
    if (++n->depth > n->deepest)
        n->deepest = (int)n->depth;
    if (n->left-- > 0) {
        neap_push push = {.flags = NEAP_PUSH_SMALL};
        CHECK_EQ(neap_push_sync(push_next, n, &push), NEAP_OK);
    }
    n->depth--;
    return 0;
}

/* An op whose work pushes the next, 10,000 times: the stack does not grow with it. */
static void nested_pushes(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    nest n = {.left = 10000};
    neap_push push = {.flags = NEAP_PUSH_SMALL};
    CHECK_EQ(neap_push_sync(push_next, &n, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(n.ran, 10001);
    CHECK(n.deepest <= 64);
    neap_engine_stop();
}

static int wait_inside(void *arg, const neap_run *run) {
    (void)run;
    neap_var **vars = arg;
    CHECK_EQ(neap_var_wait_to_read(vars[1]), NEAP_OK); /* nothing to wait for */
    CHECK_EQ(neap_var_wait_to_read(vars[0]), NEAP_E_STATE);
    CHECK_EQ(neap_wait_all(), NEAP_E_STATE);
    return 0;
}

static void waits_inside_ops(void) {
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    neap_var *vars[2] = {new_var(), new_var()};
    CHECK_EQ(push_on(wait_inside, vars, 0, NULL, vars[0]), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_var_delete(vars[0]);
    neap_var_delete(vars[1]);
    neap_engine_stop();
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

typedef struct meeting {
    _Atomic int inside, most;
} meeting;

static int meet(void *arg, const neap_run *run) {
    (void)run;
    meeting *m = arg;
    m->inside++;
    for (int i = 0; i < 2000 && m->inside < 2 && m->most < 2; i++)
        sleep_ms(1);
    if (m->inside > m->most)
        m->most = (int)m->inside;
    m->inside--;
    return 0;
}

/* Two readers run at the same time; a writer after them runs alone. */
static void readers_together(void) {
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    neap_var *a = new_var();
    meeting m = {0};
    CHECK_EQ(push_on(meet, &m, 0, a, NULL), NEAP_OK);
    CHECK_EQ(push_on(meet, &m, 0, a, NULL), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(a), NEAP_OK); /* waits for writers only, so not for these */
    CHECK_EQ(neap_var_wait_to_write(a), NEAP_OK);
    CHECK_EQ(m.most, 2);
    CHECK_EQ(m.inside, 0);
    neap_var_delete(a);
    neap_engine_stop();
}

static int order_log[16];
static _Atomic int order_count;

static int note_order(void *arg, const neap_run *run) {
    (void)run;
    order_log[order_count++] = (int)(intptr_t)arg;
    return 0;
}

static _Atomic int flag_awaited;

static int wait_for_flag(void *arg, const neap_run *run) {
    (void)run;
    flag_awaited = 1;
    while (!atomic_load((_Atomic int *)arg))
        sleep_ms(1);
    return 0;
}

/* Keeps the only worker busy until *go is set. */
static void occupy_worker(_Atomic int *go) {
    neap_push push = {0};
    flag_awaited = 0;
    CHECK_EQ(neap_push_sync(wait_for_flag, go, &push), NEAP_OK);
    while (!flag_awaited) {
        sleep_ms(1);
    }
}

static void priorities(void) {
    CHECK_EQ(neap_engine_start(&ONE), NEAP_OK);
    _Atomic int go = 0;
    static const int given[8] = {0, -5, 3, 0, 7, 3, -5, 0}, expected[8] = {4, 2, 5, 0, 3, 7, 1, 6};
    order_count = 0;
    neap_push push = {0};
    occupy_worker(&go);
    for (int i = 0; i < 8; i++) {
        push.priority = given[i];
        CHECK_EQ(neap_push_sync(note_order, (void *)(intptr_t)i, &push), NEAP_OK);
    }
    go = 1;
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    for (int i = 0; i < 8; i++)
        CHECK_EQ(order_log[i], expected[i]);
    neap_engine_stop();
}

/* ---- Failures ---------------------------------------------------------------------------------------------------- */

static void failures(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *a = new_var(), *b = new_var(), *c = new_var(), *d = new_var();
    neap_var *both[2] = {a, b};
    _Atomic int ran = 0;
    neap_engine_counts before, after;
    neap_engine_count(&before);
    neap_push push = {.name = "matmul", .site = "script.lua:3", .nwrites = 2, .writes = both};
    CHECK_EQ(neap_push_sync(fail, NULL, &push), NEAP_OK);
    neap_push next = {.nreads = 1, .reads = &b, .nwrites = 1, .writes = &c, .release = release_one};
    CHECK_EQ(neap_push_sync(add_one, &ran, &next), NEAP_OK); /* skipped, but released */
    CHECK_EQ(push_on(add_one, &ran, NEAP_PUSH_ALWAYS, c, d), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(c), NEAP_E_SHAPE); /* the one report */
    CHECK(strcmp(neap_error_text(), "script.lua:3: matmul: three is not four") == 0);
    CHECK_EQ(neap_var_wait_to_read(c), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(a), NEAP_OK); /* siblings do not report again */
    CHECK_EQ(neap_var_wait_to_read(d), NEAP_OK); /* ALWAYS ran and did not pass it on */
    CHECK_EQ(ran, 101);
    CHECK_EQ(neap_var_poll(d, NULL), NEAP_OK);
    for (int i = 0; i < 2; i++) { /* permanent */
        CHECK_EQ(neap_var_poll(a, NULL), NEAP_E_SHAPE);
        CHECK_EQ(neap_var_poll(c, NULL), NEAP_E_SHAPE);
        CHECK_TEXT(neap_error_text(), "script.lua:3: matmul: three");
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK); /* reported already */
    neap_var *told = new_var(), *late = new_var();
    CHECK_EQ(push_on(fail, NULL, 0, NULL, told), NEAP_OK);
    CHECK_EQ(push_on(add_one, &ran, 0, told, late), NEAP_OK);
    while (neap_var_poll(told, NULL) == NEAP_PENDING)
        neap_engine_help(1000000);
    neap_var_told(told);
    neap_var_told(d); /* has none */
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(neap_var_poll(late, NULL), NEAP_E_SHAPE);
    neap_var_delete(told);
    neap_var_delete(late);
    CHECK_EQ(push_on(add_one, &ran, NEAP_PUSH_SMALL, a, d), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_write(d), NEAP_OK);
    CHECK_EQ(neap_var_poll(d, NULL), NEAP_E_SHAPE);
    CHECK_EQ(ran, 101);
    neap_engine_count(&after);
    CHECK_EQ(after.skipped - before.skipped, 3);
    CHECK_EQ(after.pushed - before.pushed, 6);
    CHECK_EQ(after.completed - before.completed, 6);
    neap_var *all[4] = {a, b, c, d};
    for (int i = 0; i < 4; i++)
        neap_var_delete(all[i]);
    neap_engine_stop();
}

/* A fresh write neither inherits nor keeps a failure of before; what it reads may still fail it. */
static void fresh_writes(const neap_engine_config *config) {
    static const uint32_t flags[] = {0, NEAP_PUSH_SMALL};
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    for (int i = 0; i < 2 * COUNT(flags); i++) {
        neap_bulk(i < COUNT(flags) ? 0 : 8);
        neap_var *a = new_var(), *b = new_var(), *both[2] = {a, b};
        _Atomic int ran = 0;
        neap_push push = {.flags = flags[i % COUNT(flags)], .nwrites = 2, .writes = both, .nfresh = 1};
        CHECK_EQ(push_on(fail, NULL, push.flags, NULL, a), NEAP_OK);
        CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
        CHECK_EQ(neap_var_wait_to_read(b), NEAP_OK);
        CHECK_EQ(ran, 1);
        CHECK_EQ(neap_var_poll(a, NULL), NEAP_OK);
        CHECK_EQ(neap_var_version(a), 2);
        CHECK_EQ(push_on(fail, NULL, push.flags, NULL, b), NEAP_OK);
        CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK); /* b is not the fresh one */
        CHECK_EQ(neap_var_wait_to_write(a), NEAP_E_SHAPE);
        CHECK_EQ(ran, 1);
        push.nfresh = 2;
        CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
        CHECK_EQ(neap_var_wait_to_write(a), NEAP_OK);
        CHECK_EQ(neap_var_poll(b, NULL), NEAP_OK);
        CHECK_EQ(neap_push_sync(fail, NULL, &push), NEAP_OK); /* its own failure stays */
        CHECK_EQ(neap_var_wait_to_read(a), NEAP_E_SHAPE);
        CHECK_EQ(neap_var_wait_to_write(b), NEAP_OK); /* reported already */
        CHECK_EQ(neap_var_poll(b, NULL), NEAP_E_SHAPE);
        CHECK_EQ(ran, 2);
        push.nfresh = 3;
        CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_E_ARGUMENT);
        delete_vars(2, both);
        neap_wait_all();
    }
    neap_bulk(0);
    neap_engine_stop();
}

/* A write that is pushed after a failure was reported is done, and forgets it. What was pushed before the report is
 * skipped, however late it comes to run; so is what reads a failed variable. */
static void writes_after_reports(const neap_engine_config *config) {
    static const uint32_t flags[] = {0, NEAP_PUSH_SMALL};
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    for (int i = 0; i < 2 * COUNT(flags); i++) {
        uint32_t flag = flags[i % COUNT(flags)];
        neap_bulk(i < COUNT(flags) ? 0 : 8);
        neap_var *a = new_var(), *b = new_var(), *c = new_var(), *all[3] = {a, b, c};
        _Atomic int ran = 0;
        neap_push both = {.flags = flag, .nwrites = 2, .writes = all};
        CHECK_EQ(neap_push_sync(fail, NULL, &both), NEAP_OK);
        CHECK_EQ(push_on(add_one, &ran, flag, NULL, a), NEAP_OK); /* before the report */
        CHECK_EQ(neap_var_wait_to_read(b), NEAP_E_SHAPE);
        CHECK_EQ(push_on(add_one, &ran, flag, a, c), NEAP_OK); /* reads what failed */
        CHECK_EQ(neap_var_wait_to_write(c), NEAP_OK);
        CHECK_EQ(ran, 0);
        CHECK_EQ(neap_var_poll(c, NULL), NEAP_E_SHAPE);
        CHECK_EQ(push_on(add_one, &ran, flag, NULL, a), NEAP_OK); /* after the report, of the sibling */
        CHECK_EQ(push_on(add_one, &ran, flag, a, c), NEAP_OK);
        CHECK_EQ(neap_var_wait_to_read(a), NEAP_OK);
        CHECK_EQ(neap_var_wait_to_read(c), NEAP_OK);
        CHECK_EQ(ran, 2);
        CHECK_EQ(neap_var_poll(a, NULL), NEAP_OK);
        CHECK_EQ(neap_var_poll(c, NULL), NEAP_OK);
        CHECK_EQ(neap_var_poll(b, NULL), NEAP_E_SHAPE); /* nobody has written it */
        CHECK_EQ(push_on(fail, NULL, flag, NULL, b), NEAP_OK);
        CHECK_EQ(neap_var_wait_to_read(b), NEAP_E_SHAPE); /* a new failure, a new report */
        CHECK_EQ(push_on(fail, NULL, flag, NULL, a), NEAP_OK);
        CHECK_EQ(neap_wait_all(), NEAP_E_SHAPE);
        CHECK_EQ(push_on(add_one, &ran, flag, b, a), NEAP_OK); /* reads what failed: a has that failure now */
        CHECK_EQ(push_on(add_one, &ran, flag, NULL, b), NEAP_OK);
        CHECK_EQ(neap_wait_all(), NEAP_OK);
        CHECK_EQ(ran, 3);
        CHECK_EQ(neap_var_poll(a, NULL), NEAP_E_SHAPE);
        CHECK_EQ(neap_var_poll(b, NULL), NEAP_OK);
        delete_vars(3, all);
        CHECK_EQ(neap_wait_all(), NEAP_OK);
    }
    neap_bulk(0);
    neap_engine_stop();
}

static void wait_all_reports(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *a = new_var(), *b = new_var();
    gate g;
    CHECK_EQ(push_on(fail_mutely, NULL, 0, NULL, a), NEAP_OK);
    neap_var_wait_to_write(b);
    push_gate(&g, 1, &b);
    neap_error(NEAP_E_IO, "disk on fire");
    open_gate(&g, NEAP_E_IO);
    int first = neap_wait_all();
    CHECK(first == NEAP_E_DTYPE || first == NEAP_E_IO); /* whichever came first */
    CHECK_TEXT(neap_error_text(), first == NEAP_E_IO ? "gate: disk on fire" : "script.lua:7: op: dtype does not fit");
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(neap_poll_all(NULL), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(a), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(b), NEAP_OK);
    CHECK_EQ(neap_var_poll(a, NULL), NEAP_E_DTYPE);
    CHECK_EQ(neap_var_poll(b, NULL), NEAP_E_IO);
    for (int i = 0; i < 1000; i++) { /* nobody asks: the memory of failures stays bounded */
        neap_var *v = new_var();
        CHECK_EQ(push_on(fail_mutely, NULL, NEAP_PUSH_SMALL, NULL, v), NEAP_OK);
        neap_var_delete(v);
    }
    CHECK_EQ(neap_wait_all(), NEAP_E_DTYPE); /* although the variables are gone */
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_var_delete(a);
    neap_var_delete(b);
    neap_engine_stop();
}

/* ---- Wakers ------------------------------------------------------------------------------------------------------ */

static void wakers(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *a = new_var();
    neap_waker *w, *lost;
    gate g;
    CHECK_EQ(neap_waker_new(&w), NEAP_OK);
    CHECK_EQ(neap_waker_new(&lost), NEAP_OK);
    CHECK(neap_waker_fd(w) >= 0);
    CHECK_EQ(neap_waker_sleep(w, 0), 0);
    neap_waker_wake(w);
    neap_waker_wake(w);
    CHECK_EQ(neap_waker_sleep(w, -1), 1);
    neap_waker_clear(w);
    CHECK_EQ(neap_waker_sleep(w, 1), 0);
    CHECK_EQ(neap_var_poll(a, w), NEAP_OK);
    push_gate(&g, 1, &a);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(neap_var_poll(a, w), NEAP_PENDING);
    CHECK_EQ(neap_var_poll(a, NULL), NEAP_PENDING);
    CHECK_EQ(neap_var_poll(a, lost), NEAP_PENDING);
    neap_waker_free(lost); /* while it is registered */
    CHECK_EQ(neap_poll_all(w), NEAP_PENDING);
    CHECK_EQ(neap_waker_sleep(w, 1), 0);
    open_gate(&g, 0);
    CHECK_EQ(neap_waker_sleep(w, 10000), 1);
    neap_waker_clear(w);
    CHECK_EQ(neap_var_poll(a, w), NEAP_OK);
    while (neap_poll_all(w) == NEAP_PENDING)
        neap_waker_sleep(w, 10000);
    CHECK_EQ(neap_poll_all(w), NEAP_OK);
    neap_waker_clear(w);
    neap_var_delete(a);
    neap_waker_free(w);
    neap_engine_stop();
}

static void *raise_soon(void *arg) {
    sleep_ms(20);
    neap_interrupt_raise();
    neap_interrupt_raise();
    neap_waker_wake(arg);
    return NULL;
}

static void interrupts(void) {
    neap_waker *w;
    pthread_t thread;
    CHECK_EQ(neap_waker_new(&w), NEAP_OK);
    CHECK_EQ(neap_interrupt_pending(), 0);
    pthread_create(&thread, NULL, raise_soon, w);
    CHECK_EQ(neap_waker_sleep(w, 10000), 1);
    CHECK_EQ(neap_interrupt_pending(), 2);
    neap_interrupt_clear();
    CHECK_EQ(neap_interrupt_pending(), 0);
    pthread_join(thread, NULL);
    neap_waker_free(w);
}

/* ---- Helping ----------------------------------------------------------------------------------------------------- */

/* The only worker is busy; ready work that is small or known to be short is run by those who wait, other work is
 * not. */
static void helping(void) {
    CHECK_EQ(neap_engine_start(&ONE), NEAP_OK);
    neap_var *a = new_var(), *b = new_var();
    gate g;
    _Atomic int go = 0, ran = 0;
    occupy_worker(&go);
    CHECK_EQ(neap_push_async(hold, &g, &(neap_push){.flags = NEAP_PUSH_SMALL, .nwrites = 1, .writes = &a}), NEAP_OK);
    for (int i = 0; i < 10; i++)
        CHECK_EQ(push_on(add_one, &ran, NEAP_PUSH_SMALL, a, NULL), NEAP_OK);
    CHECK_EQ(push_on(add_one, &ran, 0, a, NULL), NEAP_OK);
    CHECK_EQ(push_on(add_one, &ran, NEAP_PUSH_SMALL, a, b), NEAP_OK);
    open_gate(&g, 0);
    CHECK_EQ(neap_var_wait_to_read(b), NEAP_OK);
    CHECK_EQ(ran, 11);
    CHECK_EQ(neap_engine_help(1000000), 0);
    neap_push push = {.nwrites = 1, .writes = &b, .cost = 50000};
    CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
    push.cost = 50000000;
    CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
    CHECK_EQ(neap_engine_help(1000000), 0); /* what was pushed first is not known to be short */
    go = 1;
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(ran, 14);
    go = 0;
    occupy_worker(&go);
    push.cost = 50000;
    CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(b), NEAP_OK);
    CHECK_EQ(ran, 15);
    push.cost = 50000000;
    CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
    CHECK_EQ(neap_engine_help(1000000), 0);
    go = 1;
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(ran, 16);
    neap_var_delete(a);
    neap_var_delete(b);
    neap_engine_stop();
}

int main(void) {
    status_texts();
    bad_calls();
    inline_runs();
    run_by_whoever_waits();
    waits_inside_ops();
    readers_together();
    priorities();
    interrupts();
    helping();
    runs_now(&POOL);
    runs_now(&NAIVE);
    runs_now(&DEVICE);
    for (int i = 0; i < COUNT(EVERY); i++) {
        nested_pushes(EVERY[i]);
        failures(EVERY[i]);
        fresh_writes(EVERY[i]);
        writes_after_reports(EVERY[i]);
        wait_all_reports(EVERY[i]);
        wakers(EVERY[i]);
    }
    return check_end();
}
