/* lifetime.c: start and stop with work in flight, the end of the process with work in flight, forks, signals.
 *
 * An engine does not survive a fork, so a process that ends in a certain way is this program itself, executed again
 * with the name of that way as its argument.
 */
#include "tests/engine/common.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int count_slowly(void *arg, const neap_run *run) {
    (void)run;
    sleep_us(200);
    atomic_fetch_add((_Atomic int *)arg, 1);
    return 0;
}

static int push_two(void *arg, const neap_run *run) {
    (void)run;
    sleep_us(500);
    neap_push push = {0};
    for (int i = 0; i < 2; i++)
        CHECK_EQ(neap_push_sync(count_slowly, arg, &push), NEAP_OK);
    return 0;
}

/* Stop waits for what was pushed, and for what that pushes. */
static void stop_in_flight(void) {
    for (int round = 0; round < 20; round++) {
        _Atomic int done = 0;
        CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 1 + round % 3}), NEAP_OK);
        neap_var *a;
        CHECK_EQ(neap_var_new(&a), NEAP_OK);
        neap_push push = {.nwrites = 1, .writes = &a};
        for (int i = 0; i < 20; i++)
            CHECK_EQ(neap_push_sync(i % 10 ? count_slowly : push_two, &done, &push), NEAP_OK);
        neap_var_delete(a);
        neap_engine_stop();
        CHECK_EQ(done, 18 + 4);
    }
    for (int round = 0; round < 50; round++) { /* workers that have only just begun */
        CHECK_EQ(neap_engine_start(NULL), NEAP_OK);
        _Atomic int done = 0;
        neap_push push = {0};
        if (round % 2)
            CHECK_EQ(neap_push_sync(add_one, &done, &push), NEAP_OK);
        neap_engine_stop();
        CHECK_EQ(done, round % 2);
    }
}

typedef struct pusher {
    _Atomic int pushed, ran, quit;
} pusher;

static void *push_until_refused(void *arg) {
    pusher *p = arg;
    neap_push push = {0};
    int status;
    while ((status = neap_push_sync(add_one, &p->ran, &push)) == NEAP_OK)
        p->pushed++;
    CHECK_EQ(status, NEAP_E_STATE);
    return NULL;
}

/* A thread pushes while another stops the engine: every push either runs or is refused. */
static void stop_while_pushing(void) {
    for (int round = 0; round < 20; round++) {
        pusher p = {0};
        pthread_t thread;
        CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2}), NEAP_OK);
        pthread_create(&thread, NULL, push_until_refused, &p);
        sleep_us(300);
        neap_engine_stop();
        pthread_join(thread, NULL);
        CHECK_EQ(p.pushed, p.ran);
    }
}

/* ---- Starting and stopping from several threads ------------------------------------------------------------------ */

typedef struct cycler {
    _Atomic int starts, ran, pushed;
} cycler;

static void *start_and_stop(void *arg) {
    cycler *c = arg;
    for (int round = 0; round < SIZE(100, 30); round++) {
        neap_engine_config config = {.workers = 2, .devices = 2, .scheduler = round % 3};
        int status = neap_engine_start(&config);
        CHECK(status == NEAP_OK || status == NEAP_E_STATE);
        c->starts += status == NEAP_OK;
        neap_var *var = new_var();
        neap_push push = {.nwrites = 1, .writes = &var};
        for (int i = 0; i < 10; i++) {
            push.flags = (uint32_t)i % 2;
            status = neap_push_sync(add_one, &c->ran, &push);
            CHECK(status == NEAP_OK || status == NEAP_E_STATE);
            c->pushed += status == NEAP_OK;
        }
        status = neap_wait_all();
        CHECK(status == NEAP_OK || status == NEAP_E_STATE);
        neap_var_delete(var);
        neap_engine_stop();
    }
    return NULL;
}

/* Every push either runs or is refused, whoever starts and stops the engine meanwhile. */
static void cycles(void) {
    cycler c = {0};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, start_and_stop, &c);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    neap_engine_stop();
    CHECK_EQ(c.ran, c.pushed);
    CHECK(c.starts > 0);
    CHECK_EQ(neap_engine_workers(), 0);
}

/* ---- The end of the process -------------------------------------------------------------------------------------- */

static int push_for_ever(void *arg, const neap_run *run) {
    (void)run;
    sleep_us(100);
    neap_push push = {.nwrites = 1, .writes = arg};
    neap_push_sync(push_for_ever, arg, &push);
    return 0;
}

static neap_var *end_vars[4];
static _Atomic int pushed_late;

static void *keep_pushing(void *arg) {
    neap_push push = {.nwrites = 1, .writes = arg};
    while (neap_push_sync(count_slowly, &pushed_late, &push) == NEAP_OK)
        sleep_us(20);
    return NULL;
}

/* Ends while ops run, wait, push others, and are pushed by another thread. */
static int end_in_flight(const char *way, int scheduler) {
    static _Atomic int done;
    static gate g;
    pthread_t thread;
    neap_engine_config config = {.workers = 3, .scheduler = scheduler};
    if (neap_engine_start(&config) != NEAP_OK)
        return 9;
    new_vars(4, end_vars);
    push_gate(&g, 1, &end_vars[0]);
    push_on(add_one, &done, 0, end_vars[0], end_vars[1]);
    if (scheduler != NEAP_SCHEDULER_NAIVE) {
        for (int i = 0; i < 20; i++)
            push_on(count_slowly, &done, 0, NULL, end_vars[2]);
        neap_push push = {.nwrites = 1, .writes = &end_vars[3]};
        neap_push_sync(push_for_ever, &end_vars[3], &push);
        neap_bulk(16);
        for (int i = 0; i < 5; i++)
            push_on(add_one, &done, NEAP_PUSH_SMALL, end_vars[0], NULL);
    }
    pthread_create(&thread, NULL, keep_pushing, &end_vars[1]);
    pthread_detach(thread);
    sleep_us(500);
    if (strcmp(way, "exit") == 0)
        exit(7);
    if (strcmp(way, "_exit") == 0)
        _exit(7);
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(7);
    return 7;
}

static int run_again(const char *way, int scheduler) {
    char number[2] = {(char)('0' + scheduler), 0};
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", "lifetime", way, number, (char *)NULL);
        _exit(8);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static void ends(void) {
    static const char *const ways[] = {"return", "exit", "_exit", "quick_exit"};
    for (int round = 0; round < SIZE(5, 2); round++) {
        for (int way = 0; way < COUNT(ways); way++) {
            for (int scheduler = 0; scheduler < 3; scheduler++) {
                int status = run_again(ways[way], scheduler);
                if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7))
                    fprintf(stderr, "ended by %s, scheduler %d: status %x\n", ways[way], scheduler, status);
            }
        }
    }
}

/* ---- Forks ------------------------------------------------------------------------------------------------------- */

typedef struct world { /* what a child finds */
    neap_var *var;
    neap_buffer *buffer;
    neap_waker *waker;
    neap_operator *operator;
    gate g;
} world;

static void complete_now(void *arg, const neap_run *run, neap_completion *done) {
    (void)arg, (void)run;
    neap_complete(done, 0);
}

/* Every call that can fails and says why; the others are harmless. */
static int run_child(world *w) {
    _Atomic int done = 0;
    neap_var *var;
    neap_buffer *other;
    neap_waker *another;
    neap_operator *operator;
    neap_engine_counts counts;
    neap_memory_stats memory;
    neap_push push = {.flags = NEAP_PUSH_SMALL, .nwrites = 1, .writes = &w->var};
    CHECK_EQ(neap_push_sync(add_one, &done, &push), NEAP_E_STATE);
    CHECK_TEXT(neap_error_text(), "fork");
    push.flags = 0;
    CHECK_EQ(neap_push_sync(add_one, &done, &push), NEAP_E_STATE);
    CHECK_EQ(neap_push_async(complete_now, NULL, &push), NEAP_E_STATE);
    CHECK_EQ(neap_operator_new(add_one, &done, &push, &operator), NEAP_E_STATE);
    CHECK_EQ(neap_operator_new_async(complete_now, &done, &push, &operator), NEAP_E_STATE);
    CHECK_EQ(neap_operator_push(w->operator, 0, 0), NEAP_E_STATE);
    CHECK_EQ(done, 0);
    CHECK_EQ(neap_engine_start(NULL), NEAP_E_STATE);
    CHECK_EQ(neap_var_new(&var), NEAP_E_STATE);
    CHECK_EQ(neap_var_poll(w->var, w->waker), NEAP_E_STATE);
    CHECK_EQ(neap_var_wait_to_read(w->var), NEAP_E_STATE);
    CHECK_EQ(neap_var_wait_to_write(w->var), NEAP_E_STATE);
    CHECK_EQ(neap_wait_all(), NEAP_E_STATE);
    CHECK_EQ(neap_poll_all(w->waker), NEAP_E_STATE);
    CHECK_EQ(neap_ahead_poll(w->waker), NEAP_E_STATE);
    CHECK_EQ(neap_buffer_new(0, 10, &other), NEAP_E_STATE);
    CHECK_EQ(neap_waker_new(&another), NEAP_E_STATE);
    CHECK_TEXT(neap_error_text(), "fork");
    CHECK_EQ(neap_engine_help(1000), 0);
    CHECK_EQ(neap_engine_workers(), 0);
    CHECK_EQ(neap_engine_devices(), 0);
    neap_bulk(4);
    neap_bulk(0);
    neap_engine_count(&counts);
    neap_memory_get(&memory);
    neap_engine_cancel();
    neap_ahead_limit(10, 10);
    if (w->g.done)
        neap_complete(w->g.done, 0);
    neap_operator_delete(w->operator);
    neap_var_delete(w->var);
    neap_buffer_release(w->buffer);
    CHECK_EQ(neap_memory_live(), 0);
    CHECK_EQ(neap_device_memory(0, &memory), NEAP_E_STATE);
    neap_memory_reset_peak();
    neap_memory_limit(1 << 20);
    neap_memory_trim();
    neap_engine_stop();
    return check_failed != 0;
}

static void fork_once(world *w) {
    pid_t child = fork();
    if (child == 0)
        _exit(run_child(w));
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void *fork_some(void *arg) {
    for (int i = 0; i < SIZE(10, 3); i++)
        fork_once(arg);
    return NULL;
}

/* From the thread that pushes, with joined ops and without, and from several others while ops run. */
static void forks(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    _Atomic int done = 0;
    world w = {.var = new_var()};
    pthread_t threads[3];
    CHECK_EQ(neap_buffer_new(0, 100, &w.buffer), NEAP_OK);
    CHECK_EQ(neap_waker_new(&w.waker), NEAP_OK);
    neap_push push = {.nwrites = 1, .writes = &w.var};
    CHECK_EQ(neap_operator_new(add_one, &done, &push, &w.operator), NEAP_OK);
    push_gate(&w.g, 1, &w.var);
    for (int i = 0; i < 50; i++)
        CHECK_EQ(neap_push_sync(count_slowly, &done, &push), NEAP_OK);
    neap_bulk(8);
    push.flags = NEAP_PUSH_SMALL;
    for (int i = 0; i < 3; i++)
        CHECK_EQ(neap_push_sync(add_one, &done, &push), NEAP_OK);
    fork_once(&w);
    neap_bulk(0);
    fork_once(&w);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, fork_some, &w);
    open_gate(&w.g, 0);
    push.flags = 0;
    for (int i = 0; i < 50; i++)
        CHECK_EQ(neap_push_sync(count_slowly, &done, &push), NEAP_OK);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(neap_operator_push(w.operator, 0, 0), NEAP_OK);
    neap_operator_delete(w.operator);
    CHECK_EQ(neap_wait_all(), NEAP_OK); /* the parent goes on */
    CHECK_EQ(done, 104);
    neap_var_delete(w.var);
    neap_buffer_release(w.buffer);
    neap_waker_free(w.waker);
    neap_engine_stop();
}

/* ---- Signals ----------------------------------------------------------------------------------------------------- */

static _Atomic int signals_seen;
static pthread_t main_thread;

static void on_signal(int number) {
    (void)number;
    if (pthread_equal(pthread_self(), main_thread))
        signals_seen++;
}

/* SIGINT reaches the main thread, never a worker. */
static void signals(void) {
    main_thread = pthread_self();
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigaction(SIGINT, &action, &before);
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2}), NEAP_OK);
    _Atomic int done = 0;
    neap_push push = {0};
    for (int i = 0; i < 20; i++)
        CHECK_EQ(neap_push_sync(count_slowly, &done, &push), NEAP_OK);
    for (int i = 0; i < 10; i++) {
        kill(getpid(), SIGINT);
        sleep_us(100);
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK(signals_seen > 0);
    CHECK_EQ(done, 20);
    sigaction(SIGINT, &before, NULL);
    neap_engine_stop();
}

int main(int argc, char **argv) {
    if (argc == 3)
        return end_in_flight(argv[1], argv[2][0] - '0');
    stop_in_flight();
    stop_while_pushing();
    cycles();
    ends();
    for (int i = 0; i < COUNT(EVERY); i++)
        forks(EVERY[i]);
    signals();
    return check_end();
}
