/* operators.c: other ways to push: operators, which are pushed again and again, and bulks of joined ops; and that a
 * variable which is listed twice is refused in each of these ways. */
#include "tests/engine/common.h"

enum { WIDE = 40 }; /* variables: more than any short list of the engine */

/* ---- Operators --------------------------------------------------------------------------------------------------- */

typedef struct sum {
    _Atomic int releases;
    uint64_t value; /* protected by its variable */
    const uint64_t *from;
} sum;

static int add_read(void *arg, const neap_run *run) {
    (void)run;
    sum *s = arg;
    s->value = s->value * 3 + *s->from;
    return 0;
}

static void note_release(void *arg) {
    ((sum *)arg)->releases++;
}

/* Pushes of an operator stand in the queues between plain ones, in order; several may be under way. */
static void operators_in_order(const neap_engine_config *config, uint32_t flags) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *in = new_var(), *out = new_var();
    uint64_t one = 1, in_value = 0, expected = 0;
    sum t = {.from = &one}, s = {.from = &t.value};
    neap_operator *add, *raise;
    neap_push push = {.name = "add", .flags = flags, .nreads = 1, .reads = &in, .nwrites = 1, .writes = &out};
    push.release = note_release;
    CHECK_EQ(neap_operator_new(add_read, &s, &push, &add), NEAP_OK);
    push = (neap_push){.flags = flags, .nwrites = 1, .writes = &in, .release = note_release};
    CHECK_EQ(neap_operator_new(add_read, &t, &push, &raise), NEAP_OK);
    int last = neap_engine_devices() - 1;
    for (int i = 0; i < 500; i++) {
        CHECK_EQ(neap_operator_push(raise, i % 2 ? last : 0, i % 3 - 1), NEAP_OK);
        in_value = in_value * 3 + 1;
        CHECK_EQ(neap_operator_push(add, 0, 0), NEAP_OK);
        expected = expected * 3 + in_value;
        if (i % 50 == 49) {
            CHECK_EQ(neap_var_wait_to_read(out), NEAP_OK);
            CHECK_EQ(neap_var_version(out), i + 1);
            CHECK(s.value == expected);
            CHECK_EQ(neap_var_wait_to_write(in), NEAP_OK);
            s.value = expected = 0;
            t.value = in_value = 0;
        }
    }
    CHECK_EQ(s.releases + t.releases, 0);
    neap_operator_delete(add);
    neap_operator_delete(raise);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(s.releases, 1);
    CHECK_EQ(t.releases, 1);
    neap_var_delete(in);
    neap_var_delete(out);
    neap_engine_stop();
}

/* What was pushed before the deletion still runs, and only then is the argument released. */
static void operator_deletion(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    for (uint32_t flags = 0; flags <= NEAP_PUSH_SMALL; flags++) {
        neap_var *var = new_var();
        _Atomic int count = 0;
        gate g;
        neap_operator *op, *unused;
        neap_push push = {.flags = flags, .nwrites = 1, .writes = &var, .release = release_one};
        CHECK_EQ(neap_operator_new(add_one, &count, &push, &unused), NEAP_OK);
        neap_operator_delete(unused);
        CHECK_EQ(count, RELEASED);
        CHECK_EQ(neap_operator_new(add_one, &count, &push, &op), NEAP_OK);
        push_gate(&g, 1, &var);
        for (int i = 0; i < 5; i++)
            CHECK_EQ(neap_operator_push(op, 0, 0), NEAP_OK);
        neap_operator_delete(op);
        neap_var_delete(var);
        CHECK_EQ(count, RELEASED);
        open_gate(&g, 0);
        CHECK_EQ(neap_wait_all(), NEAP_OK);
        CHECK_EQ(count, 2 * RELEASED + 5);
    }
    neap_operator_delete(NULL);
    neap_engine_stop();
}

static void complete_now(void *arg, const neap_run *run, neap_completion *done) {
    add_one(arg, run);
    neap_complete(done, 0);
}

static void bad_operators(void) {
    neap_var *vars[2] = {new_var(), NULL};
    _Atomic int count = 0;
    neap_operator *op = NULL;
    neap_push push = {.nwrites = 1, .writes = vars, .release = release_one};
    CHECK_EQ(neap_operator_new(add_one, &count, &push, &op), NEAP_E_STATE);
    CHECK_EQ(neap_engine_start(&POOL), NEAP_OK);
    CHECK_EQ(neap_operator_new(NULL, &count, &push, &op), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_operator_new_async(NULL, &count, &push, &op), NEAP_E_ARGUMENT);
    push.nwrites = 2;
    CHECK_EQ(neap_operator_new(add_one, &count, &push, &op), NEAP_E_ARGUMENT);
    push.nwrites = -1;
    CHECK_EQ(neap_operator_new(add_one, &count, &push, &op), NEAP_E_ARGUMENT);
    push.nwrites = 1;
    push.device = 1;
    CHECK_EQ(neap_operator_new(add_one, &count, &push, &op), NEAP_E_ARGUMENT);
    CHECK(op == NULL);
    push.device = 0;
    CHECK_EQ(neap_operator_new_async(complete_now, &count, &push, &op), NEAP_OK);
    CHECK_EQ(neap_operator_push(op, 1, 0), NEAP_E_ARGUMENT);
    CHECK_EQ(neap_operator_push(op, -1, 0), NEAP_E_ARGUMENT);
    CHECK_EQ(count, 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(neap_operator_push(op, 0, 0), NEAP_OK);
    CHECK_EQ(neap_var_wait_to_write(vars[0]), NEAP_OK);
    CHECK_EQ(count, 3);
    CHECK_EQ(neap_var_version(vars[0]), 3);
    neap_engine_stop();
    CHECK_EQ(neap_operator_push(op, 0, 0), NEAP_E_STATE); /* it is still there, and may be deleted */
    neap_operator_delete(op);
    CHECK_EQ(count, 3 + RELEASED);
    neap_var_delete(vars[0]);
}

static void operator_failures(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *a = new_var();
    neap_operator *op;
    neap_push push = {.name = "halve", .site = "script.lua:9", .nwrites = 1, .writes = &a};
    CHECK_EQ(neap_operator_new(fail, NULL, &push, &op), NEAP_OK);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(neap_operator_push(op, 0, 0), NEAP_OK);
    neap_operator_delete(op);
    CHECK_EQ(neap_wait_all(), NEAP_E_SHAPE);
    CHECK(strcmp(neap_error_text(), "script.lua:9: halve: three is not four") == 0);
    CHECK_EQ(neap_wait_all(), NEAP_OK); /* the others were skipped, and report nothing */
    CHECK_EQ(neap_var_version(a), 3);
    neap_var_delete(a);
    neap_engine_stop();
}

typedef struct shared_operator {
    neap_operator *op;
    long count; /* protected by the operator's variable */
} shared_operator;

static int count_plainly(void *arg, const neap_run *run) {
    (void)run;
    ((shared_operator *)arg)->count++;
    return 0;
}

static void *push_shared(void *arg) {
    shared_operator *s = arg;
    for (int i = 0; i < 2000; i++)
        CHECK_EQ(neap_operator_push(s->op, i % neap_engine_devices(), 0), NEAP_OK);
    return NULL;
}

/* One operator, pushed by several threads. */
static void operator_from_threads(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    for (uint32_t flags = 0; flags <= NEAP_PUSH_SMALL; flags++) {
        neap_var *var = new_var();
        shared_operator s = {0};
        pthread_t threads[4];
        neap_push push = {.flags = flags, .nwrites = 1, .writes = &var};
        CHECK_EQ(neap_operator_new(count_plainly, &s, &push, &s.op), NEAP_OK);
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, push_shared, &s);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        neap_operator_delete(s.op);
        CHECK_EQ(neap_var_wait_to_write(var), NEAP_OK);
        CHECK_EQ(s.count, 8000);
        CHECK_EQ(neap_var_version(var), 8000);
        neap_var_delete(var);
    }
    neap_engine_stop();
}

/* ---- A variable twice -------------------------------------------------------------------------------------------- */

/* Tries the push in every way there is; all must refuse it and leave no trace. */
static void refuse_everywhere(neap_push push) {
    _Atomic int count = 0;
    neap_operator *op = NULL;
    push.release = release_one;
    for (uint32_t flags = 0; flags < 8; flags++) {
        push.flags = flags & (NEAP_PUSH_SMALL | NEAP_PUSH_ALWAYS);
        int before = neap_bulk(flags & 4 ? 16 : 0);
        CHECK_EQ(neap_push_sync(add_one, &count, &push), NEAP_E_ARGUMENT);
        CHECK_TEXT(neap_error_text(), "twice");
        CHECK_EQ(neap_push_async(complete_now, &count, &push), NEAP_E_ARGUMENT);
        CHECK_TEXT(neap_error_text(), "twice");
        CHECK_EQ(neap_operator_new(add_one, &count, &push, &op), NEAP_E_ARGUMENT);
        CHECK_TEXT(neap_error_text(), "twice");
        CHECK_EQ(neap_operator_new_async(complete_now, &count, &push, &op), NEAP_E_ARGUMENT);
        neap_bulk(before);
    }
    CHECK(op == NULL);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(count, 0);
}

/* Twice among the reads, among the writes, in both; next to each other and far apart; idle and in use. */
static void duplicates(const neap_engine_config *config) {
    static const struct {
        int reads, writes, first, second; /* places in the row of all reads and writes */
    } cases[] = {{2, 0, 0, 1}, {0, 2, 0, 1},     {1, 1, 0, 1},    {3, 2, 0, 2},     {3, 2, 1, 4},
                 {2, 4, 2, 5}, {WIDE, 0, 0, 39}, {0, WIDE, 7, 8}, {20, 20, 19, 20}, {20, 20, 3, 38}};
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    neap_var *vars[WIDE], *row[WIDE];
    new_vars(WIDE, vars);
    for (int busy = 0; busy < 2; busy++) {
        gate g;
        if (busy)
            push_gate(&g, WIDE, vars);
        for (int c = 0; c < COUNT(cases) && !busy; c++) {
            memcpy(row, vars, sizeof row);
            row[cases[c].second] = row[cases[c].first];
            refuse_everywhere((neap_push){
                .nreads = cases[c].reads, .reads = row, .nwrites = cases[c].writes, .writes = row + cases[c].reads});
        }
        for (int c = 0; c < COUNT(cases) && busy; c++) { /* nothing may be waited for meanwhile */
            memcpy(row, vars, sizeof row);
            row[cases[c].second] = row[cases[c].first];
            neap_push push = {.nreads = cases[c].reads,
                              .reads = row,
                              .nwrites = cases[c].writes,
                              .writes = row + cases[c].reads,
                              .flags = (uint32_t)c % 2};
            CHECK_EQ(neap_push_sync(add_one, NULL, &push), NEAP_E_ARGUMENT);
        }
        if (busy)
            open_gate(&g, 0);
        CHECK_EQ(neap_wait_all(), NEAP_OK);
    }
    for (int i = 0; i < WIDE; i++)
        CHECK_EQ(neap_var_version(vars[i]), 1); /* the gate's write */
    _Atomic int count = 0;                      /* the variables are as good as new, also all in one push */
    neap_push push = {.nwrites = WIDE, .writes = vars};
    CHECK_EQ(neap_push_sync(add_one, &count, &push), NEAP_OK);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(count, 1);
    delete_vars(WIDE, vars);
    neap_engine_stop();
}

/* ---- Bulks ------------------------------------------------------------------------------------------------------- */

typedef struct chain {
    neap_var *vars[3];
    long values[3];
    uint64_t versions
        [3]; /* that the last step saw: steps that are not joined may run side by side, so it alone writes them */
} chain;

typedef struct step {
    chain *c;
    int read, write, factor;
    bool last;
} step;

static int do_step(void *arg, const neap_run *run) {
    (void)run;
    step *s = arg;
    for (int i = 0; i < 3 && s->last; i++)
        s->c->versions[i] = neap_var_version(s->c->vars[i]);
    s->c->values[s->write] = s->c->values[s->write] * s->factor + s->c->values[s->read];
    return s->factor < 0 ? neap_error(NEAP_E_DTYPE, "step down") : 0;
}

static void push_step(chain *c, uint32_t flags, int read, int write, int factor) {
    step *s = malloc(sizeof *s);
    *s = (step){c, read, write, factor, flags & NEAP_PUSH_ALWAYS};
    neap_push push = {.name = "step", .flags = flags, .release = free};
    push.nreads = push.nwrites = 1;
    push.reads = &c->vars[read];
    push.writes = &c->vars[write];
    CHECK_EQ(neap_push_sync(do_step, s, &push), NEAP_OK);
}

/* Joined ops see each other's writes, versions and failures as if each had been pushed alone. */
static void joined_ops(const neap_engine_config *config, int most) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    chain c = {.values = {1, 0, 0}};
    neap_engine_counts before, after;
    gate g;
    new_vars(3, c.vars);
    neap_engine_count(&before);
    CHECK_EQ(neap_bulk(most), 0);
    push_gate(&g, 3, c.vars);
    push_step(&c, NEAP_PUSH_SMALL, 0, 1, 2);                    /* values 1 1 0 */
    push_step(&c, NEAP_PUSH_SMALL, 1, 2, 2);                    /* 1 1 1 */
    push_step(&c, NEAP_PUSH_SMALL, 2, 1, 3);                    /* 1 4 1 */
    push_step(&c, NEAP_PUSH_SMALL, 1, 0, 5);                    /* 9 4 1 */
    push_step(&c, NEAP_PUSH_SMALL, 1, 2, -1);                   /* 9 4 3, and 2 fails */
    push_step(&c, NEAP_PUSH_SMALL, 2, 1, 7);                    /* skipped, and 1 fails */
    push_step(&c, NEAP_PUSH_SMALL | NEAP_PUSH_ALWAYS, 1, 0, 2); /* 22 4 3 */
    open_gate(&g, 0);
    CHECK_EQ(neap_var_wait_to_read(c.vars[0]), NEAP_OK); /* closes the bulk */
    CHECK_EQ(c.values[0], 22);
    CHECK_EQ(c.values[1], 4);
    CHECK_EQ(c.values[2], 3);
    CHECK_EQ(c.versions[0], 2); /* before the last step */
    CHECK_EQ(c.versions[1], 4);
    CHECK_EQ(c.versions[2], 3);
    CHECK_EQ(neap_var_version(c.vars[0]), 3);
    CHECK_EQ(neap_var_poll(c.vars[0], NULL), NEAP_OK);
    CHECK_EQ(neap_var_poll(c.vars[1], NULL), NEAP_E_DTYPE);
    CHECK_EQ(neap_var_poll(c.vars[2], NULL), NEAP_E_DTYPE);
    CHECK(strcmp(neap_error_text(), "step: step down") == 0);
    CHECK_EQ(neap_wait_all(), NEAP_E_DTYPE);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_engine_count(&after);
    CHECK_EQ(after.pushed - before.pushed, 8);
    CHECK_EQ(after.completed - before.completed, 8);
    CHECK_EQ(after.skipped - before.skipped, 1);
    CHECK_EQ(neap_bulk(0), most < 2 ? 0 : most);
    delete_vars(3, c.vars);
    neap_engine_stop();
}

static void *await_count(void *arg) {
    await(arg, 3);
    return NULL;
}

typedef void (*closer)(neap_var *var);

static void close_by_full(neap_var *var) {
    static _Atomic int ignored;
    for (int i = 0; i < 8; i++) {
        push_on(add_one, &ignored, NEAP_PUSH_SMALL, NULL, var);
    }
}

static void close_by_plain(neap_var *var) {
    static _Atomic int ignored;
    push_on(add_one, &ignored, 0, NULL, var);
}

static void close_by_device(neap_var *var) {
    static _Atomic int ignored;
    neap_push push = {.flags = NEAP_PUSH_SMALL, .device = 1, .nwrites = 1, .writes = &var};
    CHECK_EQ(neap_push_sync(add_one, &ignored, &push), NEAP_OK);
}

static void close_by_delete(neap_var *var) {
    (void)var;
    neap_var_delete(new_var());
}

static void close_by_poll(neap_var *var) {
    neap_var_poll(var, NULL);
}

static void close_by_poll_all(neap_var *var) {
    (void)var;
    neap_poll_all(NULL);
}

static void close_by_bulk(neap_var *var) {
    (void)var;
    neap_bulk(8);
}

static void close_by_async(neap_var *var) {
    static _Atomic int ignored;
    neap_push push = {.nwrites = 1, .writes = &var};
    CHECK_EQ(neap_push_async(complete_now, &ignored, &push), NEAP_OK);
}

/* Each of these lets joined ops go, so that another thread which waits for them gets on. */
static void closing(const neap_engine_config *base) {
    static const closer closers[] = {close_by_full, close_by_plain,    close_by_device, close_by_delete,
                                     close_by_poll, close_by_poll_all, close_by_bulk,   close_by_async};
    neap_engine_config config = *base;
    config.devices = 2;
    CHECK_EQ(neap_engine_start(&config), NEAP_OK);
    for (int i = 0; i < COUNT(closers); i++) {
        neap_var *var = new_var();
        _Atomic int count = 0;
        pthread_t watcher;
        gate g;
        neap_bulk(8);
        push_gate(&g, 1, &var);
        for (int k = 0; k < 3; k++)
            CHECK_EQ(push_on(add_one, &count, NEAP_PUSH_SMALL, NULL, var), NEAP_OK);
        open_gate(&g, 0);
        closers[i](var);
        pthread_create(&watcher, NULL, await_count, &count);
        pthread_join(watcher, NULL); /* this thread does nothing more for them */
        CHECK_EQ(neap_wait_all(), NEAP_OK);
        neap_bulk(0);
        neap_var_delete(var);
    }
    neap_engine_stop();
}

typedef struct leaver {
    neap_var *var;
    _Atomic int count;
} leaver;

static void *push_and_leave(void *arg) {
    leaver *l = arg;
    neap_bulk(100);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(push_on(add_one, &l->count, NEAP_PUSH_SMALL, NULL, l->var), NEAP_OK);
    return NULL;
}

/* A thread that ends leaves no joined op behind. */
static void leaving(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    leaver l = {.var = new_var()};
    pthread_t thread;
    gate g;
    push_gate(&g, 1, &l.var);
    pthread_create(&thread, NULL, push_and_leave, &l);
    pthread_join(thread, NULL);
    open_gate(&g, 0);
    CHECK_EQ(neap_var_wait_to_write(l.var), NEAP_OK);
    CHECK_EQ(l.count, 3);
    CHECK_EQ(neap_var_version(l.var), 4);
    neap_var_delete(l.var);
    neap_engine_stop();
}

/* Long bulks of ops that share nothing, with as many variables as a bulk can get, and ops that are too wide to join. */
static void wide_bulks(const neap_engine_config *config) {
    CHECK_EQ(neap_engine_start(config), NEAP_OK);
    enum { MANY = 3000 };
    static neap_var *vars[MANY];
    _Atomic int count = 0;
    gate g;
    new_vars(MANY, vars);
    CHECK_EQ(neap_bulk(1 << 20), 0); /* more than there may be: as many as there may be */
    push_gate(&g, MANY, vars);
    for (int i = 0; i < MANY; i++) {
        bool wide = i % 100 == 99;
        neap_push push = {.flags = NEAP_PUSH_SMALL, .nwrites = wide ? 20 : 1, .writes = &vars[wide ? i - 50 : i]};
        CHECK_EQ(neap_push_sync(add_one, &count, &push), NEAP_OK);
    }
    open_gate(&g, 0);
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    CHECK_EQ(count, MANY);
    uint64_t versions = 0;
    for (int i = 0; i < MANY; i++)
        versions += neap_var_version(vars[i]);
    CHECK_EQ(versions, MANY + MANY / 100 * 99 + MANY / 100 * 20);
    CHECK(neap_bulk(0) >= 1000);
    delete_vars(MANY, vars);
    neap_engine_stop();
}

int main(void) {
    bad_operators();
    for (int i = 0; i < COUNT(EVERY); i++) {
        operators_in_order(EVERY[i], 0);
        operators_in_order(EVERY[i], NEAP_PUSH_SMALL);
        operator_deletion(EVERY[i]);
        operator_failures(EVERY[i]);
        operator_from_threads(EVERY[i]);
        duplicates(EVERY[i]);
        for (int most = 1; most <= 16; most *= 2)
            joined_ops(EVERY[i], most);
        if (EVERY[i] != &NAIVE)
            closing(EVERY[i]);
        leaving(EVERY[i]);
        wide_bulks(EVERY[i]);
    }
    return check_end();
}
