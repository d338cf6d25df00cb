/* common.h: what the engine's test programs share: configurations, random numbers, gates, short ways to push. */
#ifndef NEAP_TESTS_ENGINE_COMMON_H
#define NEAP_TESTS_ENGINE_COMMON_H

#include "engine/engine.h"
#include "tests/check.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* How much a loop does: less where instrumented code is slow. */
#ifdef NEAP_SANITIZED
#define SIZE(plain, sanitized) (sanitized)
#else
#define SIZE(plain, sanitized) (plain)
#endif

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const neap_engine_config POOL = {.workers = 2}, ONE = {.workers = 1},
                                NAIVE = {.scheduler = NEAP_SCHEDULER_NAIVE},
                                DEVICE = {.scheduler = NEAP_SCHEDULER_DEVICE, .devices = 2},
                                SHUFFLED = {.workers = 2, .shuffle = 7};

/* What must hold under every scheduler is tested with each of these. */
static const neap_engine_config *const EVERY[] = {&POOL, &NAIVE, &DEVICE, &SHUFFLED};

static inline void sleep_us(int us) {
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000L}, NULL);
}

static inline void sleep_ms(int ms) {
    sleep_us(ms * 1000);
}

/* Sleeps until the count has reached `least`. Where it never does, the test's time limit tells. */
static inline void await(_Atomic int *count, int least) {
    while (atomic_load(count) < least)
        sleep_us(200);
}

/* ---- Random numbers ---------------------------------------------------------------------------------------------- */

static inline uint64_t mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x9E3779B97F4A7C15u;
    return x ^ (x >> 29);
}

static inline uint64_t draw(uint64_t *state) {
    return mix(*state += 0x632BE59BD9B4E019u);
}

/* A number in [0, below). */
static inline int pick(uint64_t *state, int below) {
    return (int)((draw(state) >> 16) % (uint64_t)below);
}

/* ---- Variables and ops ------------------------------------------------------------------------------------------- */

static inline neap_var *new_var(void) {
    neap_var *var = NULL;
    CHECK_EQ(neap_var_new(&var), NEAP_OK);
    return var;
}

static inline void new_vars(int count, neap_var **vars) {
    for (int i = 0; i < count; i++)
        vars[i] = new_var();
}

static inline void delete_vars(int count, neap_var **vars) {
    for (int i = 0; i < count; i++)
        neap_var_delete(vars[i]);
}

static inline int add_one(void *arg, const neap_run *run) {
    (void)run;
    atomic_fetch_add((_Atomic int *)arg, 1);
    return 0;
}

/* For the same counter as add_one: runs count ones, releases hundreds. */
enum { RELEASED = 100 };

static inline void release_one(void *arg) {
    atomic_fetch_add((_Atomic int *)arg, RELEASED);
}

static inline int fail(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return neap_error(NEAP_E_SHAPE, "three is not four");
}

/* Pushes an op with at most one variable of each kind. */
static inline int push_on(neap_sync_fn fn, void *arg, uint32_t flags, neap_var *read, neap_var *write) {
    neap_push push = {.name = "op",
                      .site = "script.lua:7",
                      .flags = flags,
                      .nreads = read != NULL,
                      .reads = &read,
                      .nwrites = write != NULL,
                      .writes = &write};
    return neap_push_sync(fn, arg, &push);
}

/* ---- Gates: async ops that complete when the test says so -------------------------------------------------------- */

typedef struct gate {
    neap_completion *_Atomic done;
} gate;

static inline void hold(void *arg, const neap_run *run, neap_completion *done) {
    (void)run;
    atomic_store(&((gate *)arg)->done, done);
}

static inline void push_gate(gate *g, int nwrites, neap_var **writes) {
    neap_push push = {.name = "gate", .nwrites = nwrites, .writes = writes};
    atomic_store(&g->done, NULL);
    CHECK_EQ(neap_push_async(hold, g, &push), NEAP_OK);
}

static inline void push_gate_reading(gate *g, neap_var *read) {
    neap_push push = {.name = "gate", .nreads = 1, .reads = &read};
    atomic_store(&g->done, NULL);
    CHECK_EQ(neap_push_async(hold, g, &push), NEAP_OK);
}

static inline void await_gate(gate *g) {
    while (!atomic_load(&g->done))
        sleep_us(200);
}

static inline void open_gate(gate *g, int status) {
    await_gate(g);
    neap_complete(atomic_exchange(&g->done, NULL), status);
}

#endif
