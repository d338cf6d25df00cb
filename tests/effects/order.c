/* order.c: ordered effects happen in the order of their pushes, whatever their inputs do; kinds with an order of their
 * own; unordered effects and output tokens. */
#include "effects/effects.h"
#include "engine/engine_internal.h"
#include "tests/check.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void sleep_us(int us) {
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000L}, NULL);
}

static int sleep_for(void *arg, const neap_run *run) {
    (void)run;
    sleep_us((int)(intptr_t)arg);
    return 0;
}

static _Atomic int may_go;

static int wait_for_leave(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    while (!may_go) {
        sleep_us(100);
    }
    return 0;
}

static int fail(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return neap_error(NEAP_E_SHAPE, "no such shape");
}

static int seen[4096];
static _Atomic int seen_count;
static _Atomic int inside;

static int note(void *arg, const neap_run *run) {
    (void)run;
    CHECK_EQ(inside++, 0); /* one ordered effect at a time */
    seen[seen_count++] = (int)(intptr_t)arg;
    inside--;
    return 0;
}

static int count_only(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    seen_count++;
    return 0;
}

static neap_var *new_var(void) {
    neap_var *var = NULL;
    CHECK_EQ(neap_var_new(&var), NEAP_OK);
    return var;
}

static void effect(neap_effects *effects, neap_sync_fn fn, void *arg, neap_var *read) {
    neap_push push = {.name = "print", .site = "script.lua:4", .nreads = read != NULL, .reads = &read};
    CHECK_EQ(neap_effects_push(effects, NEAP_EFFECT_PRINT, 1, fn, arg, &push), NEAP_OK);
}

/* A slow producer, then a fast one, on two devices. */
static void slow_then_fast(neap_effects *effects) {
    neap_var *slow = new_var(), *fast = new_var();
    neap_push push = {.nwrites = 1, .writes = &slow};
    seen_count = 0;
    may_go = 0;
    CHECK_EQ(neap_push_sync(wait_for_leave, NULL, &push), NEAP_OK);
    effect(effects, note, (void *)1, slow);
    push = (neap_push){.device = 1, .nwrites = 1, .writes = &fast};
    CHECK_EQ(neap_push_sync(sleep_for, (void *)(intptr_t)10, &push), NEAP_OK);
    effect(effects, note, (void *)2, fast);
    effect(effects, note, (void *)3, NULL);
    CHECK_EQ(neap_effects_poll(effects, NULL), NEAP_PENDING);
    CHECK_EQ(neap_var_wait_to_read(fast), NEAP_OK);
    CHECK_EQ(seen_count, 0);
    may_go = 1;
    neap_effects_drain(effects);
    CHECK_EQ(seen_count, 3);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(seen[i], i + 1);
    neap_var_delete(slow);
    neap_var_delete(fast);
}

static void at_once(neap_effects *effects) {
    seen_count = 0;
    effect(effects, note, (void *)1, NULL);
    CHECK_EQ(seen_count, 1);
    neap_var *var = new_var();
    neap_push push = {.nwrites = 1, .writes = &var};
    CHECK_EQ(neap_effects_push(effects, NEAP_EFFECT_PRINT, 1, note, NULL, &push), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_effects_push(effects, NEAP_EFFECT_PRINT, 1, NULL, NULL, &(neap_push){0}), NEAP_E_ARGUMENT);
    CHECK_EQ(seen_count, 1);
    neap_var_delete(var);
}

static void many(neap_effects *effects) {
    enum { MANY = 2000, VARS = 10 };
    neap_var *vars[VARS];
    for (int i = 0; i < VARS; i++)
        vars[i] = new_var();
    seen_count = 0;
    for (int i = 0; i < MANY; i++) {
        neap_var *var = vars[i * 7 % VARS];
        neap_push push = {.device = i % 2, .flags = (uint32_t)(i / 3 % 2), .nwrites = 1, .writes = &var};
        CHECK_EQ(neap_push_sync(sleep_for, (void *)(intptr_t)(i % 50 == 0 ? 300 : 0), &push), NEAP_OK);
        effect(effects, note, (void *)(intptr_t)i, i % 5 ? var : NULL);
    }
    neap_effects_drain(effects);
    CHECK_EQ(seen_count, MANY);
    int wrong = 0;
    for (int i = 0; i < MANY; i++)
        wrong += seen[i] != i;
    CHECK_EQ(wrong, 0);
    for (int i = 0; i < VARS; i++)
        neap_var_delete(vars[i]);
}

static void effect_of(neap_effects *effects, int kind, int ordered, int device, int number, neap_var *read) {
    neap_push push = {.device = device, .nreads = read != NULL, .reads = &read};
    neap_sync_fn fn = ordered ? note : count_only;
    CHECK_EQ(neap_effects_push(effects, kind, ordered, fn, (void *)(intptr_t)number, &push), NEAP_OK);
}

static neap_var *new_slow_var(void) {
    neap_var *var = new_var();
    may_go = 0;
    CHECK_EQ(neap_push_sync(wait_for_leave, NULL, &(neap_push){.nwrites = 1, .writes = &var}), NEAP_OK);
    return var;
}

/* What has nothing to wait for happens without anybody's help, soon. */
static void wait_for_count(int count) {
    for (int i = 0; i < 200000 && seen_count < count; i++)
        sleep_us(100);
    CHECK_EQ(seen_count, count);
}

/* A kind with an order of its own waits for nobody else's; what it did before its order changed stays before. */
static void own_order(neap_effects *effects) {
    enum { PRINT = NEAP_EFFECT_PRINT, LOG = NEAP_EFFECT_LOG };
    neap_var *slow = new_slow_var();
    seen_count = 0;
    CHECK_EQ(neap_effects_order(effects, LOG, 1), NEAP_OK);
    CHECK_EQ(neap_effects_order(effects, NEAP_EFFECT_MOST, 1), NEAP_E_ARGUMENT);
    effect_of(effects, PRINT, 1, 0, 2, slow);
    effect_of(effects, LOG, 1, 0, 1, NULL);
    wait_for_count(1);
    CHECK_EQ(neap_effects_order(effects, LOG, 0), NEAP_OK);
    effect_of(effects, LOG, 1, 0, 3, NULL); /* after the print, again */
    CHECK_EQ(neap_effects_order(effects, LOG, 1), NEAP_OK);
    effect_of(effects, LOG, 1, 0, 4, NULL); /* after what it did in the common order */
    CHECK_EQ(seen_count, 1);
    may_go = 1;
    neap_effects_drain(effects);
    CHECK_EQ(seen_count, 4);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(seen[i], i + 1);
    CHECK_EQ(neap_effects_order(effects, LOG, 0), NEAP_OK);
    neap_var_delete(slow);
}

/* Unordered effects wait for their inputs only, and count in the output token of their device until they happen. */
static void unordered(neap_effects *effects) {
    neap_var *slow = new_slow_var();
    neap_effects_counts before, after;
    seen_count = 0;
    neap_effects_count(effects, &before);
    effect_of(effects, NEAP_EFFECT_PRINT, 1, 0, 1, slow);
    effect_of(effects, NEAP_EFFECT_PRINT, 0, 0, 2, slow);
    effect_of(effects, NEAP_EFFECT_PRINT, 0, 1, 3, slow);
    effect_of(effects, NEAP_EFFECT_PRINT, 0, 1, 4, NULL);
    wait_for_count(1);
    CHECK_EQ(neap_effects_outstanding(effects, 0), 1);
    CHECK_EQ(neap_effects_outstanding(effects, 1), 1);
    CHECK_EQ(neap_effects_outstanding(effects, -1), 2);
    CHECK_EQ(neap_effects_push(effects, NEAP_EFFECT_PRINT, 0, note, NULL, &(neap_push){.device = 2}), NEAP_E_ARGUMENT);
    effect_of(effects, NEAP_EFFECT_PRINT, 1, 1, 5, NULL); /* the token is carried over */
    effect_of(effects, NEAP_EFFECT_PRINT, 1, 1, 6, NULL);
    CHECK_EQ(neap_effects_poll(effects, NULL), NEAP_PENDING);
    may_go = 1;
    neap_effects_drain(effects);
    CHECK_EQ(seen_count, 6);
    neap_effects_count(effects, &after);
    CHECK_EQ(after.outstanding, 0);
    CHECK_EQ(after.unordered - before.unordered, 3);
    CHECK_EQ(after.ordered - before.ordered, 3);
    CHECK_EQ(after.carried - before.carried, 1);
    neap_var_delete(slow);
}

static void kinds(void) {
    CHECK_EQ(neap_effect_parse("print"), NEAP_EFFECT_PRINT);
    CHECK_EQ(neap_effect_parse("log"), NEAP_EFFECT_LOG);
    CHECK_EQ(neap_effect_parse("lo"), NEAP_E_ARGUMENT);
    CHECK_TEXT(neap_error_text(), "'lo': there are print, write, callback, log");
    CHECK_EQ(neap_effect_parse("lo-g"), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_effect_declare("log"), NEAP_EFFECT_LOG);
    CHECK_EQ(neap_effect_declare("lo g"), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_effect_declare("lo-g"), NEAP_EFFECT_KINDS);
    CHECK_EQ(neap_effect_parse("lo-g"), NEAP_EFFECT_KINDS);
    CHECK(strcmp(neap_effect_name(NEAP_EFFECT_KINDS), "lo-g") == 0);
    CHECK(neap_effect_name(NEAP_EFFECT_KINDS + 1) == NULL && neap_effect_name(-1) == NULL);
}

static neap_var *failed_input;

static int look_at_input(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    CHECK_EQ(neap_var_poll(failed_input, NULL), NEAP_E_SHAPE);
    CHECK_TEXT(neap_error_text(), "no such shape");
    return note((void *)7, run);
}

/* An effect sees that its input failed, and what fails itself is told on stderr; later effects run. */
static void failures(neap_effects *effects) {
    failed_input = new_var();
    neap_push push = {.nwrites = 1, .writes = &failed_input};
    seen_count = 0;
    CHECK_EQ(neap_push_sync(fail, NULL, &push), NEAP_OK);
    effect(effects, look_at_input, NULL, failed_input);
    CHECK_EQ(neap_wait_all(), NEAP_E_SHAPE);
    int pipes[2], saved = dup(2);
    char text[256] = "";
    CHECK_EQ(pipe(pipes), 0);
    neap_out_drain();
    dup2(pipes[1], 2);
    effect(effects, fail, NULL, NULL);
    effect(effects, note, (void *)8, NULL);
    neap_effects_drain(effects);
    dup2(saved, 2);
    CHECK(read(pipes[0], text, sizeof text - 1) > 0);
    CHECK(strcmp(text, "script.lua:4: print: no such shape\n") == 0);
    CHECK_EQ(seen_count, 2);
    CHECK_EQ(neap_effects_poll(effects, NULL), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK); /* the token carries nothing */
    close(pipes[0]), close(pipes[1]), close(saved);
    neap_var_delete(failed_input);
}

static void polls(neap_effects *effects) {
    neap_waker *waker;
    neap_var *slow = new_var();
    neap_push push = {.nwrites = 1, .writes = &slow};
    seen_count = 0;
    CHECK_EQ(neap_waker_new(&waker), NEAP_OK);
    may_go = 0;
    CHECK_EQ(neap_push_sync(wait_for_leave, NULL, &push), NEAP_OK);
    effect(effects, note, (void *)1, slow);
    CHECK_EQ(neap_effects_poll(effects, waker), NEAP_PENDING);
    CHECK_EQ(neap_waker_sleep(waker, 0), 0);
    may_go = 1;
    int rounds = 0;
    while (neap_effects_poll(effects, waker) == NEAP_PENDING && rounds < 100) {
        CHECK_EQ(neap_waker_sleep(waker, 10000), 1);
        neap_waker_clear(waker);
        rounds++;
    }
    CHECK(rounds < 5);
    CHECK_EQ(seen_count, 1);
    neap_var_delete(slow);
    neap_waker_free(waker);
}

static _Atomic int released;

static void release_one(void *arg) {
    (void)arg;
    released++;
}

static int write_line(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    int status = neap_out_write(NEAP_STDOUT, "", 0);
    seen_count++;
    return status;
}

/* Every allocation fails once: a push is refused as a whole, or its effect happens. */
static void failing_allocations(void) {
    int nth = 1, failed = 1;
    for (; failed && nth < 100; nth++) {
        neap_effects *effects = NULL;
        neap_var *slow = new_var();
        neap_push gate = {.nwrites = 1, .writes = &slow};
        may_go = 0;
        CHECK_EQ(neap_push_sync(wait_for_leave, NULL, &gate), NEAP_OK);
        engine_alloc_fail(nth);
        int status = neap_effects_new(NULL, &effects), pushed = 0;
        failed = status != NEAP_OK;
        seen_count = released = 0;
        for (int i = 0; i < 3 && effects; i++) {
            neap_push push = {.release = release_one, .nreads = i > 0, .reads = &slow};
            status = neap_effects_push(effects, NEAP_EFFECT_PRINT, 1, write_line, NULL, &push);
            CHECK(status == NEAP_OK || status == NEAP_E_MEMORY || status == NEAP_E_STATE);
            pushed += status == NEAP_OK;
            failed += status != NEAP_OK;
        }
        engine_alloc_fail(0);
        may_go = 1;
        if (effects)
            neap_effects_drain(effects);
        CHECK_EQ(seen_count, pushed);
        CHECK_EQ(neap_wait_all(), NEAP_OK);
        CHECK_EQ(released, pushed);
        neap_effects_free(effects);
        neap_var_delete(slow);
    }
    CHECK(nth > 3 && nth < 100);
}

int main(void) {
    kinds();
    for (int naive = 0; naive < 2; naive++) {
        neap_effects *effects;
        CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 2, .devices = 2, .scheduler = naive}), NEAP_OK);
        CHECK_EQ(neap_effects_new(NULL, &effects), NEAP_OK);
        at_once(effects);
        many(effects);
        failures(effects);
        if (!naive) { /* without threads nothing is slow */
            slow_then_fast(effects);
            own_order(effects);
            unordered(effects);
            polls(effects);
            failing_allocations();
        }
        neap_effects_free(effects);
        neap_engine_stop();
    }
    return check_end();
}
