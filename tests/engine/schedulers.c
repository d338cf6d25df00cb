/* schedulers.c: who runs ready ops, and in which order: the three schedulers, priorities, shuffled schedules;
 * cancelling what has not run; the budget for running ahead. */
#include "tests/engine/common.h"

#include <signal.h>

/* ---- Keeping workers busy ---------------------------------------------------------------------------------------- */

typedef struct busy {
    _Atomic int begun, go;
} busy;

static int stay_busy(void *arg, const neap_run *run) {
    (void)run;
    busy *b = arg;
    b->begun++;
    await(&b->go, 1);
    return 0;
}

/* Keeps `count` workers of the device busy until b->go. */
static void occupy(busy *b, int device, int count) {
    *b = (busy){0};
    neap_push push = {.device = device};
    for (int i = 0; i < count; i++)
        CHECK_EQ(neap_push_sync(stay_busy, b, &push), NEAP_OK);
    await(&b->begun, count);
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

enum { NOTES = 40 };

static int notes[NOTES];
static _Atomic int note_count;

static int note(void *arg, const neap_run *run) {
    (void)run;
    int at = note_count++;
    if (at < NOTES)
        notes[at] = (int)(intptr_t)arg;
    return 0;
}

/* One worker runs what is ready by priority, and in the order of pushes among equals. */
static void priorities(int scheduler) {
    static const int given[8] = {0, -5, 3, 0, 7, 3, -5, 0}, expected[8] = {4, 2, 5, 0, 3, 7, 1, 6};
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.scheduler = scheduler, .workers = 1}), NEAP_OK);
    for (uint32_t flags = 0; flags <= NEAP_PUSH_SMALL; flags++) {
        neap_var *var = new_var();
        busy b;
        gate g;
        note_count = 0;
        occupy(&b, 0, 1);
        push_gate(&g, 1, &var); /* small ops do not run at their push */
        for (int i = 0; i < 8; i++) {
            neap_push push = {.flags = flags, .priority = given[i], .nreads = 1, .reads = &var};
            CHECK_EQ(neap_push_sync(note, (void *)(intptr_t)i, &push), NEAP_OK);
        }
        b.go = 1;
        open_gate(&g, 0); /* they become ready together */
        while (neap_poll_all(NULL) == NEAP_PENDING)
            sleep_us(200); /* without helping */
        CHECK_EQ(note_count, 8);
        for (int i = 0; i < 8; i++)
            CHECK_EQ(notes[i], expected[i]);
        neap_var_delete(var);
    }
    neap_engine_stop();
}

/* The order in which one worker runs 40 ops that are ready. */
static void shuffled_order(int scheduler, uint64_t shuffle, int order[NOTES]) {
    neap_engine_config config = {.scheduler = scheduler, .workers = 1, .shuffle = shuffle};
    CHECK_EQ(neap_engine_start(&config), NEAP_OK);
    busy b;
    note_count = 0;
    occupy(&b, 0, 1);
    for (int i = 0; i < NOTES; i++)
        CHECK_EQ(push_on(note, (void *)(intptr_t)i, 0, NULL, NULL), NEAP_OK);
    b.go = 1;
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(note_count, NOTES);
    memcpy(order, notes, sizeof notes);
    neap_engine_stop();
    int seen[NOTES] = {0}, once = 0;
    for (int i = 0; i < NOTES; i++)
        seen[order[i]]++;
    for (int i = 0; i < NOTES; i++)
        once += seen[i] == 1;
    CHECK_EQ(once, NOTES);
}

static void shuffles(int scheduler) {
    int plain[NOTES], first[NOTES], again[NOTES], other[NOTES];
    shuffled_order(scheduler, 0, plain);
    shuffled_order(scheduler, 1234, first);
    shuffled_order(scheduler, 1234, again);
    shuffled_order(scheduler, 4321, other);
    int in_order = 0;
    for (int i = 0; i < NOTES; i++)
        in_order += plain[i] == i;
    CHECK_EQ(in_order, NOTES);
    CHECK(memcmp(plain, first, sizeof plain) != 0);
    CHECK(memcmp(first, again, sizeof first) == 0);
    CHECK(memcmp(first, other, sizeof first) != 0);
}

/* ---- Where ops run ----------------------------------------------------------------------------------------------- */

enum { DEVICES = 3 };

static _Atomic int strays; /* ops on a thread where they should not be */
static _Atomic int threads_of[DEVICES];

/* Each worker meets one device only, and nobody else meets any. */
static int note_home(void *arg, const neap_run *run) {
    static _Thread_local int home;
    (void)arg;
    if (run->worker < 0 || run->worker >= neap_engine_workers() || (home && home != run->device + 1))
        strays++;
    if (!home)
        threads_of[run->device]++;
    home = run->device + 1;
    return 0;
}

static void note_home_in_loop(void *arg, int64_t i, const neap_run *run) {
    (void)i;
    note_home(arg, run);
}

static int loop_at_home(void *arg, const neap_run *run) {
    neap_parallel_for(run, 50, note_home_in_loop, arg);
    return 0;
}

static void threads_by_device(int workers) {
    neap_engine_config config = {.scheduler = NEAP_SCHEDULER_DEVICE, .workers = workers, .devices = DEVICES};
    CHECK_EQ(neap_engine_start(&config), NEAP_OK);
    CHECK_EQ(neap_engine_devices(), DEVICES);
    CHECK_EQ(neap_engine_workers(), DEVICES * workers);
    strays = 0;
    for (int i = 0; i < DEVICES; i++)
        threads_of[i] = 0;
    uint64_t state = 3;
    neap_var *vars[8];
    new_vars(8, vars);
    for (int i = 0; i < SIZE(5000, 500); i++) {
        neap_push push = {.device = pick(&state, DEVICES),
                          .flags = (uint32_t)pick(&state, 2),
                          .nreads = 1,
                          .reads = &vars[pick(&state, 4)],
                          .nwrites = 1,
                          .writes = &vars[4 + pick(&state, 4)]};
        CHECK_EQ(neap_push_sync(i % 50 ? note_home : loop_at_home, NULL, &push), NEAP_OK);
        if (i % 100 == 0)
            CHECK_EQ(neap_var_wait_to_write(vars[4]), NEAP_OK); /* this thread helps with nothing */
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(strays, 0);
    for (int i = 0; i < DEVICES; i++)
        CHECK(threads_of[i] >= 1 && threads_of[i] <= workers);
    delete_vars(8, vars);
    neap_engine_stop();
}

/* A device that is busy holds up its own ops and no others. */
static void devices_apart(void) {
    neap_engine_config config = {.scheduler = NEAP_SCHEDULER_DEVICE, .devices = 2};
    CHECK_EQ(neap_engine_start(&config), NEAP_OK);
    neap_var *a = new_var(), *b = new_var();
    _Atomic int ran = 0;
    busy first;
    occupy(&first, 0, 1);
    neap_push push = {.nwrites = 1, .writes = &a};
    CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
    push = (neap_push){.device = 1, .nwrites = 1, .writes = &b};
    for (int i = 0; i < 100; i++)
        CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(b), NEAP_OK);
    CHECK_EQ(ran, 100);
    CHECK_EQ(neap_var_poll(a, NULL), NEAP_PENDING);
    first.go = 1;
    CHECK_EQ(neap_var_wait_to_read(a), NEAP_OK);
    CHECK_EQ(ran, 101);
    neap_var_delete(a);
    neap_var_delete(b);
    neap_engine_stop();
}

static int note_thread(void *arg, const neap_run *run) {
    CHECK_EQ(run->worker, -1);
    *(pthread_t *)arg = pthread_self();
    return 0;
}

/* The naive scheduler: at the push, or where what was waited for is completed. */
static void naively(void) {
    CHECK_EQ(neap_engine_start(&NAIVE), NEAP_OK);
    neap_var *a = new_var();
    pthread_t where = {0};
    gate g;
    CHECK_EQ(push_on(note_thread, &where, 0, NULL, a), NEAP_OK);
    CHECK(pthread_equal(where, pthread_self()));
    CHECK_EQ(neap_var_version(a), 1);
    memset(&where, 0, sizeof where);
    push_gate(&g, 1, &a);
    CHECK_EQ(push_on(note_thread, &where, 0, NULL, a), NEAP_OK);
    CHECK(!pthread_equal(where, pthread_self()));
    open_gate(&g, 0);
    CHECK(pthread_equal(where, pthread_self()));
    CHECK_EQ(neap_var_version(a), 3);
    neap_var_delete(a);
    neap_engine_stop();
}

/* ---- Cancelling -------------------------------------------------------------------------------------------------- */

static int run_until_cancelled(void *arg, const neap_run *run) {
    ((busy *)arg)->begun++;
    while (!neap_run_cancelled(run))
        sleep_us(200);
    return 0;
}

static int is_not_cancelled(void *arg, const neap_run *run) {
    if (!neap_run_cancelled(run))
        add_one(arg, run);
    return 0;
}

/* Running ops are asked, queued ones dropped, those that always run do, later ones do not notice. */
static void cancel(const neap_engine_config *config, int bulk) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *a = new_var(), *b = new_var(), *c = new_var(), *d = new_var();
    _Atomic int ran = 0;
    busy running = {0};
    neap_bulk(bulk);
    CHECK_EQ(push_on(run_until_cancelled, &running, 0, NULL, a), NEAP_OK);
    await(&running.begun, 1);
    neap_push push = {.name = "later", .release = release_one, .nreads = 1, .reads = &a, .nwrites = 1, .writes = &b};
    for (int i = 0; i < 5; i++) {
        push.flags = (uint32_t)i % 2;
        CHECK_EQ(neap_push_sync(add_one, &ran, &push), NEAP_OK);
    }
    CHECK_EQ(push_on(is_not_cancelled, &ran, NEAP_PUSH_ALWAYS, b, c), NEAP_OK);
    CHECK_EQ(push_on(is_not_cancelled, &ran, NEAP_PUSH_ALWAYS | NEAP_PUSH_SMALL, b, c), NEAP_OK);
    neap_engine_cancel();
    CHECK_EQ(push_on(is_not_cancelled, &ran, 0, NULL, d), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(d), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_E_INTERRUPT);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(ran % RELEASED, 1); /* those that always run were asked to stop, too */
    CHECK_EQ(ran / RELEASED, 5);
    CHECK_EQ(neap_var_poll(a, NULL), NEAP_E_INTERRUPT);
    CHECK_EQ(neap_var_poll(b, NULL), NEAP_E_INTERRUPT);
    CHECK_EQ(neap_var_poll(c, NULL), NEAP_OK);
    CHECK_EQ(neap_var_version(b), 5);
    CHECK_EQ(neap_var_version(c), 2);
    neap_bulk(0);
    neap_var *vars[4] = {a, b, c, d};
    delete_vars(4, vars);
    neap_engine_stop();
}

static void cancel_at_start(void *arg, int64_t i, const neap_run *run) {
    (void)i, (void)run;
    if (atomic_fetch_add((_Atomic int *)arg, 1) == 0)
        neap_engine_cancel();
}

static int loop_for_ever(void *arg, const neap_run *run) {
    neap_parallel_for(run, INT64_C(1) << 60, cancel_at_start, arg);
    return 0;
}

/* A loop of far too many indices ends between two of them. */
static void cancelled_loop(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *a = new_var();
    _Atomic int rounds = 0;
    CHECK_EQ(push_on(loop_for_ever, &rounds, 0, NULL, a), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_read(a), NEAP_E_INTERRUPT);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK(rounds > 0);
    neap_var_delete(a);
    neap_engine_stop();
}

static void on_signal(int number) {
    (void)number;
    neap_engine_cancel();
}

/* Cancelled again and again from a signal handler, while ops are pushed: each runs or fails, none is lost. */
static void cancel_by_signal(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigaction(SIGUSR1, &action, &before);
    _Atomic int count = 0;
    neap_engine_counts first, last;
    neap_engine_count(&first);
    for (int round = 0; round < 200; round++) {
        neap_var *var = new_var();
        neap_push push = {.nwrites = 1, .writes = &var, .release = release_one};
        for (int i = 0; i < 5; i++) {
            push.flags = (uint32_t)(i + round) % 2;
            CHECK_EQ(neap_push_sync(add_one, &count, &push), NEAP_OK);
            if (i == round % 5)
                raise(SIGUSR1);
        }
        int status = neap_var_wait_to_write(var);
        CHECK(status == NEAP_OK || status == NEAP_E_INTERRUPT);
        CHECK_EQ(neap_var_version(var), 5);
        neap_var_delete(var);
    }
    neap_wait_all();
    neap_engine_count(&last);
    CHECK_EQ(last.completed - first.completed, 1000);
    CHECK_EQ(count - 1000 * RELEASED, 1000 - (int)(last.skipped - first.skipped));
    sigaction(SIGUSR1, &before, NULL);
    neap_engine_stop();
}

/* ---- Running ahead ----------------------------------------------------------------------------------------------- */

static void push_sized(gate *g, int64_t bytes, int64_t cost) {
    neap_push push = {.bytes = bytes, .cost = cost};
    atomic_store(&g->done, NULL);
    CHECK_EQ(neap_push_async(hold, g, &push), NEAP_OK);
}

/* Pending above the budget, woken when half of it is free; whatever the size, everything is admitted. */
static void budget(const neap_engine_config *config, bool by_cost) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    int64_t bytes = by_cost ? 0 : 400, cost = by_cost ? 400 : 0;
    neap_ahead_limit(by_cost ? 0 : 1000, by_cost ? 1000 : 0);
    neap_waker *waker, *other;
    gate gates[3], large;
    CHECK_EQ(neap_waker_new(&waker), NEAP_OK);
    CHECK_EQ(neap_waker_new(&other), NEAP_OK);
    CHECK_EQ(neap_ahead_poll(waker), NEAP_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(neap_ahead_poll(waker), NEAP_OK);
        push_sized(&gates[i], bytes, cost);
    }
    for (int i = 0; i < 3; i++)
        CHECK_EQ(neap_ahead_poll(waker), NEAP_PENDING);
    CHECK_EQ(neap_ahead_poll(other), NEAP_PENDING);
    CHECK_EQ(neap_ahead_poll(NULL), NEAP_PENDING);
    open_gate(&gates[0], 0);
    CHECK_EQ(neap_waker_sleep(waker, 0), 0); /* 800 of 1000 */
    CHECK_EQ(neap_ahead_poll(NULL), NEAP_OK);
    open_gate(&gates[1], NEAP_E_IO); /* a failure counts as an end */
    CHECK_EQ(neap_waker_sleep(waker, 60000), 1);
    CHECK_EQ(neap_waker_sleep(other, 60000), 1);
    neap_waker_clear(waker);
    open_gate(&gates[2], 0);
    push_sized(&large, bytes * 100, cost * 100);
    CHECK_EQ(neap_ahead_poll(waker), NEAP_PENDING);
    neap_ahead_limit(by_cost ? 0 : 100000, by_cost ? 100000 : 0);
    CHECK_EQ(neap_waker_sleep(waker, 60000), 1); /* a new limit: whoever waits looks again */
    CHECK_EQ(neap_ahead_poll(waker), NEAP_OK);
    open_gate(&large, 0);
    CHECK_EQ(neap_wait_all(), NEAP_E_IO);
    neap_ahead_limit(1, 1);
    CHECK_EQ(neap_ahead_poll(NULL), NEAP_OK);
    neap_ahead_limit(0, 0);
    neap_waker_free(waker);
    neap_waker_free(other);
    neap_engine_stop();
}

typedef struct runner {
    neap_var *var;
    int64_t most; /* bytes under way at once, of this thread's ops */
    _Atomic int64_t now;
    int64_t size;
} runner;

static int end_bytes(void *arg, const neap_run *run) {
    (void)run;
    runner *r = arg;
    r->now -= r->size;
    return 0;
}

static void *run_ahead(void *arg) {
    runner *r = arg;
    neap_waker *waker;
    CHECK_EQ(neap_waker_new(&waker), NEAP_OK);
    for (int i = 0; i < 300; i++) {
        while (neap_ahead_poll(waker) == NEAP_PENDING) {
            CHECK_EQ(neap_waker_sleep(waker, 60000), 1);
            neap_waker_clear(waker);
        }
        int64_t now = r->now += r->size;
        r->most = now > r->most ? now : r->most;
        neap_push push = {.nwrites = 1, .writes = &r->var, .bytes = r->size};
        CHECK_EQ(neap_push_sync(end_bytes, r, &push), NEAP_OK);
    }
    neap_waker_free(waker);
    return NULL;
}

/* Threads that pause when told stay within the budget, by at most the op that goes beyond it, and none sleeps on. */
static void throttled(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_ahead_limit(10000, 0);
    runner runners[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        runners[i] = (runner){.var = new_var(), .size = 100 << 3 * i};
        pthread_create(&threads[i], NULL, run_ahead, &runners[i]);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        CHECK(runners[i].most <= 10000 + runners[i].size);
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    for (int i = 0; i < 3; i++)
        neap_var_delete(runners[i].var);
    neap_ahead_limit(0, 0);
    neap_engine_stop();
}

int main(void) {
    naively();
    priorities(NEAP_SCHEDULER_POOL);
    priorities(NEAP_SCHEDULER_DEVICE);
    shuffles(NEAP_SCHEDULER_POOL);
    shuffles(NEAP_SCHEDULER_DEVICE);
    threads_by_device(1);
    threads_by_device(2);
    devices_apart();
    for (int i = 0; i < COUNT(EVERY); i++) {
        if (EVERY[i] != &NAIVE) {
            cancel(EVERY[i], 0);
            cancel(EVERY[i], 8);
        }
        cancelled_loop(EVERY[i]);
        cancel_by_signal(EVERY[i]);
        budget(EVERY[i], false);
        budget(EVERY[i], true);
        throttled(EVERY[i]);
    }
    return check_end();
}
