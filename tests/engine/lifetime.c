/* lifetime.c: start and stop with work in flight, forks, signals, failing allocations. */
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "tests/check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_us(int us) {
    nanosleep(&(struct timespec){0, us * 1000L}, NULL);
}

static int count_slowly(void *arg, const neap_run *run) {
    (void)run;
    sleep_us(200);
    atomic_fetch_add((_Atomic int *)arg, 1);
    return 0;
}

static int count(void *arg, const neap_run *run) {
    (void)run;
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
            CHECK_EQ(neap_push_sync(count, &done, &push), NEAP_OK);
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
    while ((status = neap_push_sync(count, &p->ran, &push)) == NEAP_OK)
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

static int run_child(neap_var *a, neap_buffer *buffer, neap_waker *waker) {
    _Atomic int done = 0;
    neap_var *var;
    neap_buffer *other;
    neap_waker *another;
    neap_engine_counts counts;
    neap_push push = {.flags = NEAP_PUSH_SMALL, .nwrites = 1, .writes = &a};
    CHECK_EQ(neap_push_sync(count, &done, &push), NEAP_E_STATE);
    CHECK_TEXT(neap_error_text(), "fork");
    push.flags = 0;
    CHECK_EQ(neap_push_sync(count, &done, &push), NEAP_E_STATE);
    CHECK_EQ(done, 0);
    CHECK_EQ(neap_engine_start(NULL), NEAP_E_STATE);
    CHECK_EQ(neap_var_new(&var), NEAP_E_STATE);
    CHECK_EQ(neap_var_poll(a, waker), NEAP_E_STATE);
    CHECK_EQ(neap_var_wait_to_read(a), NEAP_E_STATE);
    CHECK_EQ(neap_var_wait_to_write(a), NEAP_E_STATE);
    CHECK_EQ(neap_wait_all(), NEAP_E_STATE);
    CHECK_EQ(neap_poll_all(waker), NEAP_E_STATE);
    CHECK_EQ(neap_buffer_new(0, 10, &other), NEAP_E_STATE);
    CHECK_EQ(neap_waker_new(&another), NEAP_E_STATE);
    CHECK_TEXT(neap_error_text(), "fork");
    CHECK_EQ(neap_engine_help(1000), 0);
    neap_engine_count(&counts);
    neap_var_delete(a);
    neap_buffer_release(buffer);
    neap_memory_trim();
    neap_engine_stop();
    return check_failed != 0;
}

static void forks(void) {
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2}), NEAP_OK);
    _Atomic int done = 0;
    neap_var *a;
    neap_buffer *buffer;
    neap_waker *waker;
    CHECK_EQ(neap_var_new(&a), NEAP_OK);
    CHECK_EQ(neap_buffer_new(0, 100, &buffer), NEAP_OK);
    CHECK_EQ(neap_waker_new(&waker), NEAP_OK);
    neap_push push = {.nwrites = 1, .writes = &a};
    for (int i = 0; i < 50; i++)
        CHECK_EQ(neap_push_sync(count_slowly, &done, &push), NEAP_OK);
    pid_t child = fork();
    if (child == 0)
        _exit(run_child(a, buffer, waker));
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ(neap_wait_all(), NEAP_OK); /* the parent goes on */
    CHECK_EQ(done, 50);
    neap_var_delete(a);
    neap_buffer_release(buffer);
    neap_waker_free(waker);
    neap_engine_stop();
}

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

static _Atomic int released;

static void release_one(void *arg) {
    (void)arg;
    released++;
}

static int fail(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return neap_error(NEAP_E_SHAPE, "no");
}

/* A scenario under a failing n-th allocation, for n = 1, 2, …, until it runs without failing. */
static int fragile(void) {
    int failed = 0, status;
    _Atomic int done = 0;
    released = 0;
    neap_var *vars[40] = {0};
    neap_buffer *buffer = NULL;
    neap_waker *waker = NULL;
    int made = 0;
    for (; made < 40; made++) {
        if ((status = neap_var_new(&vars[made])))
            break;
    }
    failed += made < 40;
    failed += neap_buffer_new(0, 1000, &buffer) != NEAP_OK;
    failed += neap_waker_new(&waker) != NEAP_OK;
    neap_push push = {.release = release_one, .nwrites = made, .writes = vars};
    int pushed = 0;
    for (int i = 0; i < 4; i++) {
        push.nwrites = i == 0 ? made : i < made ? i : made;
        status = neap_push_sync(count, &done, &push);
        pushed += status == NEAP_OK;
        failed += status != NEAP_OK;
        CHECK(status == NEAP_OK || status == NEAP_E_MEMORY || status == NEAP_E_STATE);
    }
    push.release = NULL;
    if (made > 0) {
        push.nwrites = 1;
        int pushed_failing = neap_push_sync(fail, NULL, &push) == NEAP_OK;
        status = neap_var_wait_to_read(vars[0]);
        CHECK(!pushed_failing || status == NEAP_E_SHAPE || status == NEAP_E_MEMORY);
        failed += !pushed_failing || status == NEAP_E_MEMORY;
        status = neap_var_poll(vars[0], waker);
        failed += status == NEAP_E_MEMORY;
    }
    neap_wait_all();
    CHECK_EQ(released, pushed);
    CHECK_EQ(done, pushed);
    for (int i = 0; i < made; i++)
        neap_var_delete(vars[i]);
    neap_buffer_release(buffer);
    neap_waker_free(waker);
    return failed;
}

static void failing_allocations(void) {
    int rounds = 0;
    for (int nth = 1; nth < 500; nth++) {
        CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2}), NEAP_OK);
        engine_alloc_fail(nth);
        int failed = fragile();
        engine_alloc_fail(0);
        neap_engine_stop();
        rounds++;
        if (!failed)
            break;
    }
    CHECK(rounds > 40 && rounds < 400);
}

int main(void) {
    stop_in_flight();
    stop_while_pushing();
    forks();
    signals();
    failing_allocations();
    return check_end();
}
