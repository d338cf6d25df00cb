/* alloc.c: every allocation of the engine fails in turn: the first, the second, … until a scenario runs without
 * reaching the one that is to fail. A call that finds no memory says so and leaves everything as if it had not been
 * made; nothing crashes, hangs, or leaks (the address sanitizer looks).
 *
 * A scenario is a row of calls that goes on after a refused one. It keeps its own account of what was accepted, and in
 * the end compares.
 */
#include "engine/engine_internal.h"
#include "tests/engine/common.h"

#include <unistd.h>

static int refused; /* calls, in this run of a scenario */

/* Whether the call was accepted; if not, it must be for want of memory, and tell so. */
static bool accepted(int status) {
    if (status >= 0)
        return true;
    refused++;
    const char *text = neap_error_text();
    if (!CHECK(status == NEAP_E_MEMORY && strstr(text, "memory")))
        fprintf(stderr, "status %d: %s\n", status, text);
    return false;
}

/* ---- Ops: a small random workload against a serial account ------------------------------------------------------- */

enum { CELLS = 8, WIDE = 40, OPS = 40 };

typedef struct account {
    neap_var *vars[CELLS + WIDE];
    uint64_t values[CELLS], expected[CELLS], writes[CELLS];
    int made, pushed;
    _Atomic int released;
} account;

typedef struct step {
    account *a;
    int from, to;
    uint64_t salt;
} step;

static uint64_t step_on(const step *s, const uint64_t *values) {
    return mix(values[s->from] * 3 + values[s->to] + s->salt);
}

static int run_step(void *arg, const neap_run *run) {
    (void)run;
    step *s = arg;
    s->a->values[s->to] = step_on(s, s->a->values);
    return 0;
}

static void start_step(void *arg, const neap_run *run, neap_completion *done) {
    neap_complete(done, run_step(arg, run));
}

static void release_step(void *arg) {
    step *s = arg;
    s->a->released++;
    free(s);
}

static void count_step(account *a, const step *s) {
    a->expected[s->to] = step_on(s, a->expected);
    a->writes[s->to]++;
    a->pushed++;
}

static void push_steps(account *a) {
    uint64_t state = 17;
    for (int i = 0; i < OPS && a->made >= CELLS; i++) {
        step *s = malloc(sizeof *s);
        *s = (step){.a = a, .from = pick(&state, CELLS), .salt = draw(&state)};
        s->to = (s->from + 1 + pick(&state, CELLS - 1)) % CELLS;
        neap_var *vars[WIDE + 2] = {a->vars[s->from]};
        int extra = i % 8 == 7 ? a->made - CELLS : i % 8 == 6 && a->made > CELLS + 7 ? 7 : 0;
        memcpy(vars + 1, a->vars + CELLS, (size_t)extra * sizeof *vars);
        neap_push push = {.name = "step",
                          .release = release_step,
                          .flags = (uint32_t)pick(&state, 2),
                          .priority = pick(&state, 3) - 1,
                          .nreads = 1 + extra,
                          .reads = vars,
                          .nwrites = 1,
                          .writes = &a->vars[s->to]};
        step copy = *s;
        int status = i % 5 == 4 ? neap_push_async(start_step, s, &push) : neap_push_sync(run_step, s, &push);
        if (accepted(status)) {
            count_step(a, &copy);
        } else {
            free(s);
        }
    }
}

static void check_account(account *a) {
    accepted(neap_wait_all());
    CHECK_EQ(a->released, a->pushed);
    for (int i = 0; i < CELLS && a->made >= CELLS; i++) {
        CHECK(a->values[i] == a->expected[i]);
        CHECK_EQ(neap_var_version(a->vars[i]), a->writes[i]);
        CHECK_EQ(neap_var_poll(a->vars[i], NULL), NEAP_OK);
    }
}

static void make_vars(account *a) {
    while (a->made < CELLS + WIDE && accepted(neap_var_new(&a->vars[a->made])))
        a->made++;
}

static void ops(void) {
    account a = {0};
    make_vars(&a);
    push_steps(&a);
    check_account(&a);
    delete_vars(a.made, a.vars);
}

/* Behind a gate, so that ops join or queue up. */
static void queued_ops(int bulk) {
    account a = {0};
    gate g;
    make_vars(&a);
    neap_bulk(bulk);
    neap_push push = {.nwrites = a.made, .writes = a.vars};
    atomic_store(&g.done, NULL);
    bool held = accepted(neap_push_async(hold, &g, &push));
    for (int i = 0; i < CELLS; i++)
        a.writes[i] += held;
    push_steps(&a);
    if (held)
        open_gate(&g, 0);
    check_account(&a);
    neap_bulk(0);
    delete_vars(a.made, a.vars);
}

static void joined_ops(void) {
    queued_ops(6);
}

static void plain_ops(void) {
    queued_ops(0);
}

/* ---- Operators --------------------------------------------------------------------------------------------------- */

static void operators(void) {
    _Atomic int count = 0;
    int made = 0, pushed = 0;
    for (int wide = 0; wide < 2; wide++) {
        neap_var *vars[WIDE];
        int n = 0;
        while (n < (wide ? WIDE : 1) && accepted(neap_var_new(&vars[n])))
            n++;
        for (uint32_t flags = 0; flags <= NEAP_PUSH_SMALL; flags++) {
            neap_operator *op;
            neap_push push = {.flags = flags, .nwrites = n, .writes = vars, .release = release_one};
            neap_bulk(flags ? 4 : 0);
            if (accepted(neap_operator_new(add_one, &count, &push, &op))) {
                for (int i = 0; i < 5; i++)
                    pushed += accepted(neap_operator_push(op, 0, i % 2));
                neap_operator_delete(op);
                made++;
            }
        }
        delete_vars(n, vars);
    }
    neap_bulk(0);
    accepted(neap_wait_all());
    CHECK_EQ(count, made * RELEASED + pushed);
}

/* ---- Failures and waits ------------------------------------------------------------------------------------------ */

/* A failure that cannot be described is one of memory; it is reported all the same, and once. */
static void failures(void) {
    neap_var *var;
    if (!accepted(neap_var_new(&var)))
        return;
    if (accepted(push_on(fail, NULL, 0, NULL, var))) {
        int status = neap_wait_all();
        CHECK(status == NEAP_E_SHAPE || status == NEAP_E_MEMORY);
        refused += status == NEAP_E_MEMORY;
        CHECK_EQ(neap_var_poll(var, NULL), status);
        CHECK_EQ(neap_wait_all(), NEAP_OK);
    }
    neap_var_delete(var);
}

static void waits(void) {
    neap_var *var;
    neap_waker *waker = NULL;
    gate g;
    if (!accepted(neap_var_new(&var)))
        return;
    bool awake = accepted(neap_waker_new(&waker));
    neap_push push = {.nwrites = 1, .writes = &var, .bytes = 10};
    atomic_store(&g.done, NULL);
    bool held = accepted(neap_push_async(hold, &g, &push));
    if (held && awake) {
        int polled = neap_var_poll(var, waker), all = neap_poll_all(waker), ahead = neap_ahead_poll(waker);
        CHECK(!accepted(polled) || polled == NEAP_PENDING);
        CHECK(!accepted(all) || all == NEAP_PENDING);
        CHECK(!accepted(ahead) || ahead == NEAP_PENDING);
    }
    if (held)
        open_gate(&g, 0);
    _Atomic int count = 0;
    int pushed = 0;
    for (int i = 0; i < 4; i++) {
        pushed += accepted(push_on(add_one, &count, 0, NULL, var));
        accepted(i % 2 ? neap_var_wait_to_read(var) : neap_var_wait_to_write(var));
    }
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(count, pushed);
    CHECK_EQ(neap_var_version(var), pushed + held);
    neap_var_delete(var);
    neap_waker_free(waker);
}

/* ---- Buffers ----------------------------------------------------------------------------------------------------- */

static int fill(void *arg, const neap_run *run) {
    (void)run;
    memset(neap_buffer_data(arg), 7, neap_buffer_bytes(arg));
    return 0;
}

static void buffers(void) {
    static const size_t sizes[] = {0, 100, 5000, 3 << 20};
    neap_memory_stats before, after;
    neap_memory_get(&before);
    for (int i = 0; i < COUNT(sizes); i++) {
        neap_buffer *from = NULL, *to = NULL;
        bool both = accepted(neap_buffer_new(0, sizes[i], &from)) && accepted(neap_buffer_new(0, sizes[i], &to));
        if (both) {
            neap_var *var = neap_buffer_var(from);
            neap_push push = {.nwrites = 1, .writes = &var};
            bool filled = accepted(neap_push_sync(fill, from, &push));
            bool copied = accepted(neap_buffer_copy(to, from, &(neap_push){0}));
            accepted(neap_wait_all());
            if (filled && copied && sizes[i] > 0)
                CHECK_EQ(((char *)neap_buffer_data(to))[sizes[i] - 1], 7);
        }
        neap_buffer_release(from);
        neap_buffer_release(to);
    }
    accepted(neap_wait_all());
    neap_memory_get(&after);
    CHECK_EQ(after.live_bytes, before.live_bytes);
}

/* ---- Loops, threads, timelines ----------------------------------------------------------------------------------- */

static void hit(void *arg, int64_t i, const neap_run *run) {
    (void)run;
    atomic_fetch_add((_Atomic int64_t *)arg, i + 1);
}

static int loop(void *arg, const neap_run *run) {
    neap_parallel_for(run, 100, hit, arg);
    return 0;
}

static int pause_briefly(void *arg, const neap_run *run) {
    sleep_us(50);
    return add_one(arg, run);
}

/* With fewer threads than wanted the work is done all the same. */
static void loops(void) {
    _Atomic int64_t sum = 0;
    _Atomic int count = 0;
    int loops = 0, pauses = 0;
    for (int i = 0; i < 4; i++) {
        loops += accepted(push_on(loop, &sum, (uint32_t)i % 2, NULL, NULL));
        for (int k = 0; k < 4; k++)
            pauses += accepted(push_on(pause_briefly, &count, 0, NULL, NULL));
    }
    accepted(neap_wait_all());
    CHECK_EQ(sum, loops * 5050);
    CHECK_EQ(count, pauses);
}

/* A recording may lack what there was no memory for; the work does not. */
static void timelines(void) {
    char path[] = "/tmp/neap-alloc-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    bool started = accepted(neap_timeline_start(path));
    ops();
    if (started)
        CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    CHECK_EQ(neap_timeline_stop(), NEAP_OK);
    close(fd);
    unlink(path);
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* Lets the n-th allocation fail for n = 1, 2, …, also those of the start. */
static void every_allocation(const neap_engine_config *config, void (*scenario)(void)) {
    int64_t left = 0, nth = 0;
    while (left <= 0 && nth < 2000) {
        refused = 0;
        engine_alloc_fail(++nth);
        bool started = accepted(neap_engine_start(config));
        if (!started)
            CHECK_EQ(neap_engine_start(config), NEAP_OK);
        scenario();
        left = engine_alloc_fail(0);
        neap_engine_stop();
    }
    CHECK_EQ(refused, 0); /* the last run reached no failing allocation */
    CHECK(nth > 3);
}

int main(void) {
    static const neap_engine_config pool = {.workers = 3}, device = {.scheduler = NEAP_SCHEDULER_DEVICE, .workers = 2},
                                    naive = {.scheduler = NEAP_SCHEDULER_NAIVE};
    static const neap_engine_config *const configs[] = {&pool, &device, &naive};
    static void (*const scenarios[])(void) = {ops,   plain_ops, joined_ops, operators, failures,
                                              waits, buffers,   loops,      timelines};
    neap_ahead_limit(1, 0);
    for (int i = 0; i < COUNT(configs); i++) {
        for (int k = 0; k < COUNT(scenarios); k++)
            every_allocation(configs[i], scenarios[k]);
    }
    neap_ahead_limit(0, 0);
    return check_end();
}
