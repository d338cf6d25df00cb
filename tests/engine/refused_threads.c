/* refused_threads.c: the system gives no thread while work comes in: the workers that there are do it, or whoever
 * pushes it, if there are none.
 *
 * A release build only test: this program stands in for pthread_create, which the sanitizers do as well. */
#include "tests/engine/common.h"

#include <dlfcn.h>
#include <errno.h>

enum { SLOWLY = 1, AT_ONCE };
static _Atomic int refusing, asked, answered;

static int make_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *arg) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(thread, attr, main, arg);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *), void *arg) {
    if (!refusing)
        return make_thread(thread, attr, main, arg);
    if (refusing == AT_ONCE)
        return EAGAIN;
    atomic_store(&asked, 1);
    await(&answered, 1);
    return EAGAIN;
}

static _Atomic int started, let_go, done;

static int wait_to_go(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    atomic_store(&started, 1);
    await(&let_go, 1);
    return NEAP_OK;
}

static int count(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    atomic_fetch_add(&done, 1);
    return NEAP_OK;
}

static void *push_count(void *arg) {
    (void)arg;
    CHECK_EQ(neap_push_sync(count, NULL, &(neap_push){.name = "count"}), 0);
    return NULL;
}

/* The only worker is busy, so a push asks for a second one. While the system thinks about that, the worker becomes free
 * and falls asleep, and another push leaves it asleep, since somebody is coming. */
static void refuse_second(void) {
    pthread_t pusher;
    CHECK_EQ(neap_engine_start(&POOL), 0);
    CHECK_EQ(neap_push_sync(wait_to_go, NULL, &(neap_push){.name = "wait"}), 0);
    await(&started, 1); /* else this worker would ask for the second one */
    atomic_store(&refusing, SLOWLY);
    CHECK_EQ(make_thread(&pusher, NULL, push_count, NULL), 0);
    await(&asked, 1);
    atomic_store(&let_go, 1);
    await(&done, 1);
    sleep_ms(50); /* longer than a worker spins */
    push_count(NULL);
    atomic_store(&answered, 1);
    await(&done, 2);
    pthread_join(pusher, NULL);
    CHECK_EQ(neap_wait_all(), 0);
    neap_engine_stop();
}

/* A chain of ops on two devices, of which one has a worker, that is busy; a loop in one of them. */
static void count_index(void *arg, int64_t i, const neap_run *run) {
    (void)i, (void)run;
    atomic_fetch_add((_Atomic int *)arg, 1);
}

static int loop(void *arg, const neap_run *run) {
    neap_parallel_for(run, 100, count_index, arg);
    return NEAP_OK;
}

static void refuse_first(int scheduler) {
    neap_var *var;
    _Atomic int sum = 0;
    atomic_store(&refusing, 0);
    atomic_store(&started, 0);
    atomic_store(&let_go, 0);
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2, .devices = 2, .scheduler = scheduler}), 0);
    CHECK_EQ(neap_var_new(&var), 0);
    neap_push push = {.name = "chain", .nwrites = 1, .writes = &var};
    bool by_device = scheduler == NEAP_SCHEDULER_DEVICE;
    if (by_device) {
        CHECK_EQ(neap_push_sync(wait_to_go, NULL, &push), 0);
        await(&started, 1);
    }
    atomic_store(&refusing, AT_ONCE);
    push.device = 1;
    CHECK_EQ(neap_push_sync(loop, (void *)&sum, &(neap_push){.device = 1}), 0);
    CHECK_EQ(sum, 100);
    for (int k = 1; k <= 20; k++) {
        push.device = k % 2;
        CHECK_EQ(neap_push_sync(loop, (void *)&sum, &push), 0);
        CHECK_EQ(by_device || sum == 100 + 100 * k, 1);
    }
    atomic_store(&let_go, 1);
    CHECK_EQ(neap_var_wait_to_read(var), 0);
    CHECK_EQ(sum, 2100);
    CHECK_EQ(neap_wait_all(), 0);
    neap_var_delete(var);
    neap_engine_stop();
}

int main(void) {
    refuse_second();
    refuse_first(NEAP_SCHEDULER_POOL);
    refuse_first(NEAP_SCHEDULER_DEVICE);
    return check_end();
}
