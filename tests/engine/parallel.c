/* parallel.c: loops that are split over the workers: every index once, nested, from every kind of thread. */
#include "tests/engine/common.h"

enum { MOST = 20000 };

typedef struct loop {
    int64_t n;
    int depth;
    _Atomic unsigned char *hits;
    _Atomic uint32_t workers_seen; /* bit 0: a thread outside the pool */
    _Atomic int bad_device;
    int device;
} loop;

static void hit(void *arg, int64_t i, const neap_run *run) {
    loop *l = arg;
    l->hits[i]++;
    if (run->device != l->device)
        l->bad_device++;
    atomic_fetch_or(&l->workers_seen, 1u << (run->worker + 1));
}

static int run_loop(void *arg, const neap_run *run) {
    loop *l = arg;
    neap_parallel_for(run, l->n, hit, l);
    return 0;
}

static loop new_loop(int64_t n) {
    return (loop){.n = n, .hits = calloc(MOST, 1)};
}

static void check_hits(loop *l) {
    int wrong = 0;
    for (int64_t i = 0; i < MOST; i++)
        wrong += l->hits[i] != (i < l->n);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(l->bad_device, 0);
    free((void *)l->hits);
}

static void sizes(void) {
    static const int64_t counts[] = {0, 1, 2, 3, 15, 16, 17, 1000, MOST};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        for (uint32_t flags = 0; flags <= NEAP_PUSH_SMALL; flags++) {
            loop l = new_loop(counts[c]);
            l.device = neap_engine_devices() - 1;
            neap_push push = {.flags = flags, .device = l.device};
            CHECK_EQ(neap_push_sync(run_loop, &l, &push), NEAP_OK);
            CHECK_EQ(neap_wait_all(), NEAP_OK);
            check_hits(&l);
        }
    }
}

static void nest(void *arg, int64_t i, const neap_run *run) {
    loop *l = arg;
    if (l->depth == 0) {
        l->hits[i]++;
        return;
    }
    loop inner = {.depth = l->depth - 1, .hits = l->hits + i * 1000 / (l->depth == 2 ? 1 : 100)};
    neap_parallel_for(run, 10, nest, &inner);
}

static int run_nested(void *arg, const neap_run *run) {
    neap_parallel_for(run, 10, nest, arg);
    return 0;
}

static void nested(void) {
    loop loops[20];
    for (int k = 0; k < 20; k++) {
        loops[k] = new_loop(0);
        loops[k].depth = 2;
        neap_push push = {.flags = k % 3 == 0 ? NEAP_PUSH_SMALL : 0};
        CHECK_EQ(neap_push_sync(run_nested, &loops[k], &push), NEAP_OK);
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    for (int k = 0; k < 20; k++) {
        int sum = 0;
        for (int i = 0; i < MOST; i++)
            sum += loops[k].hits[i];
        CHECK_EQ(sum, 1000);
        free((void *)loops[k].hits);
    }
}

static void *push_loops(void *arg) {
    (void)arg;
    for (int round = 0; round < 200; round++) {
        loop l = new_loop(round * 7 % 50);
        neap_var *var;
        CHECK_EQ(neap_var_new(&var), NEAP_OK);
        neap_push push = {.flags = (uint32_t)round % 2, .nwrites = 1, .writes = &var};
        CHECK_EQ(neap_push_sync(run_loop, &l, &push), NEAP_OK);
        CHECK_EQ(neap_var_wait_to_read(var), NEAP_OK);
        check_hits(&l);
        neap_var_delete(var);
    }
    return NULL;
}

static void from_several_threads(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, push_loops, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

/* Returns when every worker has come, or after a long while. */
static void meet(void *arg, int64_t i, const neap_run *run) {
    loop *l = arg;
    (void)i;
    atomic_fetch_or(&l->workers_seen, 1u << (run->worker + 1));
    uint32_t all = ((1u << neap_engine_workers()) - 1) << 1;
    for (int ms = 0; ms < 10000 && l->workers_seen != all; ms++) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

static int run_meeting(void *arg, const neap_run *run) {
    neap_parallel_for(run, 64, meet, arg);
    return 0;
}

/* The other workers really take part. */
static void is_shared(int workers) {
    loop l = {0};
    neap_push push = {0};
    CHECK_EQ(neap_push_sync(run_meeting, &l, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(l.workers_seen, ((1u << workers) - 1) << 1);
}

static _Atomic int entered, finished;

/* The first index that is taken outlasts the others. */
static void linger(void *arg, int64_t i, const neap_run *run) {
    (void)arg, (void)i, (void)run;
    sleep_ms(atomic_exchange(&entered, 1) ? 1 : 50);
}

static int run_lingering(void *arg, const neap_run *run) {
    (void)arg;
    neap_parallel_for(run, 16, linger, NULL);
    atomic_store(&finished, 1);
    return NEAP_OK;
}

static void *push_lingering(void *arg) {
    (void)arg;
    CHECK_EQ(neap_push_sync(run_lingering, NULL, &(neap_push){.name = "linger", .flags = NEAP_PUSH_SMALL}), 0);
    return NULL;
}

/* The engine stops while another thread is in a loop of an op that runs at its push. */
static void stop_beside_a_loop(void) {
    pthread_t thread;
    CHECK_EQ(neap_engine_start(&POOL), 0);
    CHECK_EQ(pthread_create(&thread, NULL, push_lingering, NULL), 0);
    await(&entered, 1);
    neap_engine_stop();
    pthread_join(thread, NULL);
    CHECK_EQ(finished, 1);
}

/* ---- Threads that wait take part --------------------------------------------------------------------------------- */

typedef struct party {
    neap_waker *waker;
    _Atomic int offered, left, held; /* the loop is; the thread that waits has gone; a worker is kept from it */
    _Atomic int guest;               /* indices that the thread that waits has done */
    _Atomic unsigned char hits[64];
} party;

static void wait_until(_Atomic int *flag) {
    for (int ms = 0; ms < 20000 && !atomic_load(flag); ms++)
        sleep_ms(1);
}

/* The caller's first index, whichever part it is of, lasts until the guest has come and gone, so that no chunk is
 * measured before the guest comes. The guest's first one tells it to go. */
static void share_with_guest(void *arg, int64_t i, const neap_run *run) {
    party *p = arg;
    p->hits[i]++;
    if (run->worker < 0) {
        p->guest++;
        neap_waker_wake(p->waker);
    } else if (!atomic_exchange(&p->offered, 1)) {
        wait_until(&p->left);
    }
}

static int run_party(void *arg, const neap_run *run) {
    neap_parallel_for(run, 64, share_with_guest, arg);
    return NEAP_OK;
}

static int hold_worker(void *arg, const neap_run *run) {
    party *p = arg;
    (void)run;
    atomic_store(&p->held, 1);
    wait_until(&p->left);
    return NEAP_OK;
}

/* A thread that sleeps on a waker joins a loop that is offered, and leaves it after a chunk when it is woken; what it
 * leaves behind is done by others. The op's cost tells that chunks are brief. */
static void joined_by_whoever_waits(void) {
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    party p = {0};
    int wrong = 0;
    CHECK_EQ(neap_waker_new(&p.waker), NEAP_OK);
    CHECK_EQ(neap_push_sync(hold_worker, &p, &(neap_push){.name = "held"}), NEAP_OK);
    await(&p.held, 1);
    CHECK_EQ(neap_push_sync(run_party, &p, &(neap_push){.name = "party", .cost = 1000000}), NEAP_OK);
    await(&p.offered, 1);
    CHECK_EQ(neap_waker_sleep(p.waker, 60000), 1);
    CHECK(p.guest > 0 && p.guest < 60);
    p.left = 1;
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    for (int i = 0; i < 64; i++)
        wrong += p.hits[i] != 1;
    CHECK_EQ(wrong, 0);
    neap_waker_free(p.waker);
    neap_engine_stop();
}

int main(void) {
    static const neap_engine_config configs[] = {{.workers = 1},
                                                 {.workers = 2, .devices = 2},
                                                 {.workers = 4},
                                                 {.workers = 3, .shuffle = 5},
                                                 {.workers = 20}, /* more than parts of a loop */
                                                 {.scheduler = NEAP_SCHEDULER_NAIVE}};
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        CHECK_EQ(neap_engine_start(&configs[i]), NEAP_OK);
        sizes();
        nested();
        from_several_threads();
        if (configs[i].workers > 1)
            is_shared(configs[i].workers);
        neap_engine_stop();
    }
    stop_beside_a_loop();
    joined_by_whoever_waits();
    return check_end();
}
