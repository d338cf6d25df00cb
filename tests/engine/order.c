/* order.c: thousands of random ops over a hundred variables give what a serial execution gives.
 *
 * An op reads some cells and writes others by a mixing function in which order matters. With one pushing thread the
 * result must equal that of running the ops one after the other; with several, each thread has cells of its own and
 * shares the others read-only, so its own cells still have one right result. Versions must count the writes.
 */
#include "engine/engine.h"
#include "tests/check.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { CELLS = 100, OPS = 3000, READS_MOST = 5, WRITES_MOST = 3, PUSHERS = 4 };

typedef struct cell {
    neap_var *var;
    uint64_t value, expected, writes;
} cell;

typedef struct work {
    int nreads, nwrites, delay_us;
    uint64_t salt;
    cell *reads[READS_MOST], *writes[WRITES_MOST];
    neap_completion *done;
} work;

static uint64_t mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x9E3779B97F4A7C15u;
    return x ^ (x >> 29);
}

static uint64_t draw(uint64_t *state) {
    return mix(*state += 0x632BE59BD9B4E019u);
}

static void pause_us(int us) {
    if (us > 0)
        nanosleep(&(struct timespec){0, us * 1000L}, NULL);
}

static uint64_t fold(const work *w, int expected) {
    uint64_t sum = w->salt;
    for (int i = 0; i < w->nreads; i++)
        sum = mix(sum * 31 + (expected ? w->reads[i]->expected : w->reads[i]->value));
    return sum;
}

static int run_work(void *arg, const neap_run *run) {
    (void)run;
    work *w = arg;
    uint64_t sum = fold(w, 0);
    pause_us(w->delay_us);
    for (int i = 0; i < w->nwrites; i++)
        w->writes[i]->value = mix(w->writes[i]->value + sum);
    return 0;
}

static void *complete_later(void *arg) {
    work *w = arg;
    run_work(w, NULL);
    neap_complete(w->done, 0);
    return NULL;
}

/* Hands the work to a thread of its own. */
static void start_work(void *arg, const neap_run *run, neap_completion *done) {
    (void)run;
    work *w = arg;
    w->done = done;
    pthread_t thread;
    if (pthread_create(&thread, NULL, complete_later, w) != 0) {
        complete_later(w);
        return;
    }
    pthread_detach(thread);
}

/* Draws an op over cells[0 … count): writes among [0, own), reads anywhere; and does it on the expected values. */
static work *draw_work(uint64_t *state, cell *cells, int count, int own) {
    work *w = calloc(1, sizeof *w);
    int used[CELLS] = {0};
    w->salt = draw(state);
    w->nwrites = (int)(draw(state) % (WRITES_MOST + 1));
    for (int i = 0; i < w->nwrites; i++) {
        int at;
        do
            at = (int)(draw(state) % (uint64_t)own);
        while (used[at]);
        used[at] = 1;
        w->writes[i] = &cells[at];
    }
    int wanted = (int)(draw(state) % (READS_MOST + 1));
    for (int i = 0; i < wanted; i++) {
        int at = (int)(draw(state) % (uint64_t)count);
        if (used[at])
            continue;
        used[at] = 1;
        w->reads[w->nreads++] = &cells[at];
    }
    uint64_t delay = draw(state) % 64;
    w->delay_us = delay < 2 ? 200 : delay < 6 ? 10 : 0;
    uint64_t sum = fold(w, 1);
    for (int i = 0; i < w->nwrites; i++) {
        w->writes[i]->expected = mix(w->writes[i]->expected + sum);
        w->writes[i]->writes++;
    }
    return w;
}

static void push_work(work *w, uint64_t *state, int devices) {
    neap_var *reads[READS_MOST], *writes[WRITES_MOST];
    for (int i = 0; i < w->nreads; i++)
        reads[i] = w->reads[i]->var;
    for (int i = 0; i < w->nwrites; i++)
        writes[i] = w->writes[i]->var;
    uint64_t kind = draw(state);
    neap_push push = {
        .name = "work",
        .release = free,
        .device = (int)(kind % (uint64_t)devices),
        .priority = (kind >> 8) % 4 == 0 ? (int)((kind >> 10) % 7) - 3 : 0,
        .flags = w->delay_us == 0 && (kind >> 16) % 2 ? NEAP_PUSH_SMALL : 0,
        .nreads = w->nreads,
        .nwrites = w->nwrites,
        .reads = reads,
        .writes = writes,
    };
    int status = (kind >> 20) % 64 == 0 ? neap_push_async(start_work, w, &push) : neap_push_sync(run_work, w, &push);
    CHECK_EQ(status, NEAP_OK);
}

static void check_cells(cell *cells, int count) {
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        wrong += cells[i].value != cells[i].expected || neap_var_version(cells[i].var) != cells[i].writes;
    }
    CHECK_EQ(wrong, 0);
}

static void one_pusher(uint64_t seed, neap_engine_config config) {
    CHECK_EQ(neap_engine_start(&config), NEAP_OK);
    neap_engine_counts before, after;
    neap_engine_count(&before);
    cell cells[CELLS] = {0};
    uint64_t state = seed;
    for (int i = 0; i < CELLS; i++)
        CHECK_EQ(neap_var_new(&cells[i].var), NEAP_OK);
    for (int i = 0; i < OPS; i++) {
        work *w = draw_work(&state, cells, CELLS, CELLS);
        push_work(w, &state, config.devices ? config.devices : 1);
        if (i % 500 == 250) {
            cell *c = &cells[draw(&state) % CELLS];
            CHECK_EQ(neap_var_wait_to_read(c->var), NEAP_OK);
            CHECK(c->value == c->expected);
        }
        if (i % 500 == 400) {
            cell *c = &cells[draw(&state) % CELLS];
            CHECK_EQ(neap_var_wait_to_write(c->var), NEAP_OK);
            CHECK(c->value == c->expected);
        }
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    check_cells(cells, CELLS);
    neap_engine_count(&after);
    CHECK_EQ(after.pushed - before.pushed, OPS);
    CHECK_EQ(after.completed - before.completed, OPS);
    CHECK_EQ(after.skipped - before.skipped, 0);
    for (int i = 0; i < CELLS; i++)
        neap_var_delete(cells[i].var);
    neap_engine_stop();
}

typedef struct pusher {
    uint64_t seed;
    cell cells[CELLS]; /* the last `shared` are everybody's, and nobody writes them */
    int devices;
} pusher;

static void *push_many(void *arg) {
    pusher *p = arg;
    uint64_t state = p->seed;
    for (int i = 0; i < OPS / PUSHERS; i++) {
        work *w = draw_work(&state, p->cells, CELLS, CELLS - 40);
        push_work(w, &state, p->devices);
    }
    return NULL;
}

static void several_pushers(uint64_t seed, neap_engine_config config) {
    CHECK_EQ(neap_engine_start(&config), NEAP_OK);
    static pusher pushers[PUSHERS];
    neap_var *shared[40];
    pthread_t threads[PUSHERS];
    for (int i = 0; i < 40; i++)
        CHECK_EQ(neap_var_new(&shared[i]), NEAP_OK);
    for (int p = 0; p < PUSHERS; p++) {
        pushers[p] = (pusher){.seed = seed * 77 + (uint64_t)p, .devices = config.devices ? config.devices : 1};
        for (int i = 0; i < CELLS - 40; i++)
            CHECK_EQ(neap_var_new(&pushers[p].cells[i].var), NEAP_OK);
        for (int i = CELLS - 40; i < CELLS; i++)
            pushers[p].cells[i].var = shared[i - (CELLS - 40)];
    }
    for (int p = 0; p < PUSHERS; p++)
        pthread_create(&threads[p], NULL, push_many, &pushers[p]);
    for (int p = 0; p < PUSHERS; p++)
        pthread_join(threads[p], NULL);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    for (int p = 0; p < PUSHERS; p++) {
        check_cells(pushers[p].cells, CELLS - 40);
        for (int i = 0; i < CELLS - 40; i++)
            neap_var_delete(pushers[p].cells[i].var);
    }
    for (int i = 0; i < 40; i++)
        neap_var_delete(shared[i]);
    neap_engine_stop();
}

/* ---- Several pushers that write the same variables: no order is promised between them, but each op is atomic ----- */

typedef struct bank {
    neap_var *vars[8];
    long balances[8];
} bank;

typedef struct transfer {
    long *from, *to;
} transfer;

static int run_transfer(void *arg, const neap_run *run) {
    (void)run;
    transfer *t = arg;
    *t->from -= 1;
    *t->to += 1;
    return 0;
}

static void *transfer_many(void *arg) {
    bank *b = arg;
    uint64_t state = (uint64_t)(uintptr_t)&state;
    for (int i = 0; i < 3000; i++) {
        int from = (int)(draw(&state) % 8), to = (int)((uint64_t)(from + 1) + draw(&state) % 7) % 8;
        transfer *t = malloc(sizeof *t);
        *t = (transfer){&b->balances[from], &b->balances[to]};
        neap_var *writes[2] = {b->vars[from], b->vars[to]};
        neap_push push = {.release = free, .flags = i % 2, .nwrites = 2, .writes = writes};
        CHECK_EQ(neap_push_sync(run_transfer, t, &push), NEAP_OK);
    }
    return NULL;
}

static void entangled_pushers(neap_engine_config config) {
    CHECK_EQ(neap_engine_start(&config), NEAP_OK);
    static bank b;
    b = (bank){0};
    pthread_t threads[PUSHERS];
    for (int i = 0; i < 8; i++)
        CHECK_EQ(neap_var_new(&b.vars[i]), NEAP_OK);
    for (int p = 0; p < PUSHERS; p++)
        pthread_create(&threads[p], NULL, transfer_many, &b);
    for (int p = 0; p < PUSHERS; p++)
        pthread_join(threads[p], NULL);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    long sum = 0;
    uint64_t versions = 0;
    for (int i = 0; i < 8; i++) {
        sum += b.balances[i];
        versions += neap_var_version(b.vars[i]);
        neap_var_delete(b.vars[i]);
    }
    CHECK_EQ(sum, 0);
    CHECK_EQ(versions, PUSHERS * 3000 * 2);
    neap_engine_stop();
}

int main(void) {
    neap_engine_config configs[] = {{.scheduler = NEAP_SCHEDULER_NAIVE},
                                    {.workers = 1},
                                    {.workers = 2, .devices = 3},
                                    {.workers = 5, .devices = 8}};
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            one_pusher(seed, configs[i]);
            several_pushers(seed, configs[i]);
        }
        entangled_pushers(configs[i]);
    }
    return check_end();
}
