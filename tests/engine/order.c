/* order.c: random workloads give, bit for bit, what a serial execution of the same pushes gives.
 *
 * Pushers draw ops over variables of their own and over shared ones: plain pushes and operators, sync and async
 * (completed by another thread, late), with random flags, priorities, devices, delays and failures. An op folds the
 * values that it finds into a number and writes on with it, so whatever ran in a wrong order, or beside what it must
 * not run beside, changes every later value. Each run of an op records the fold and the versions that it saw. In the
 * end the pushes are replayed one after the other and compared: folds, versions, failures, values, counts.
 *
 *      pusher 0   own  SHARED  own  own     SHARED              a pusher's pushes are replayed in its order, those that
 *                         │                    │                touch shared variables in the order of the log, in
 *      log      ──────────┴────────┬───────────┴────            which they were pushed under the test's own lock
 *                                  │
 *      pusher 1   own    own    SHARED   own
 *
 * A failure lasts, so every fifth variable is *fragile*: only ops of that kind fail, and they write fragile variables
 * only, which are soon deleted and replaced; other ops read them only if they run always. A wait that reports a failure
 * lets later writes of its variables begin anew. What is later than a report is plain with one pusher alone, so only
 * there fragile variables are waited for; those waits are logged and replayed too.
 *
 *      order              the usual rounds                 NEAP_TEST_LONG=2 order    fresh seeds, for two hours
 *      order 12345        the rounds of one seed, which a failure names
 */
#include "tests/engine/common.h"

enum {
    OPS = SIZE(10000, 1500),
    SLOTS = 100, /* variables of one pusher alone, */
    OWN = 40,    /* or of each of several … */
    SHARED = 20, /* … and of all of them */
    PUSHERS_MOST = 4,
    READS_LEAST = 2,
    READS_MOST = 19,
    WRITES_MOST = 4,
    CELLS_MOST = READS_MOST + WRITES_MOST,
    OPERATORS = 8,  /* of each pusher at a time */
    RUNS_MOST = 32, /* of an operator */
    COMPLETERS = 2
};

typedef struct work work;
typedef struct load load;

typedef struct cell {
    neap_var *var;
    bool deleted;
    uint64_t value; /* touched by ops, with no other protection than the engine's */
    uint64_t replayed_value;
    uint32_t writes;   /* replayed */
    const work *cause; /* of the failure that it carries in the replay, */
    uint32_t cause_run;
    struct cell *next;
} cell;

typedef struct record { /* what one run of an op saw */
    uint64_t fold;
    uint32_t versions[CELLS_MOST];
    bool reported; /* it failed, and in the replay a wait has told of that */
} record;

typedef struct wait { /* for a variable, by the only pusher */
    cell *cell;
    int pushes, status; /* before it, and what it returned */
} wait;

struct work { /* a push, or an operator */
    load *load;
    uint64_t salt;
    cell *cells[CELLS_MOST]; /* reads, then writes */
    int nreads, nwrites, device, delay;
    bool async, at_once, fragile;
    uint32_t flags;
    neap_operator *operator;
    uint32_t capacity, pushes;
    record *seen;
    _Atomic uint32_t runs;
    uint32_t replayed;
    _Atomic int released;
    neap_completion *done;
    work *pending; /* the next one that waits to be completed */
    work *next;
};

typedef struct pusher {
    load *load;
    int index, slots, count;
    uint64_t state;
    cell *own[SLOTS];
    work *operators[OPERATORS];
    work *pushed[OPS]; /* in order */
    work *works;       /* all ever made */
    cell *cells;
    neap_waker *waker;
} pusher;

struct load {
    neap_engine_config config;
    uint64_t seed;
    int pushers, bulk, ops;
    bool throttled;
    pusher *pusher[PUSHERS_MOST];
    pthread_mutex_t lock; /* around whatever touches shared variables */
    cell *shared[SHARED];
    struct {
        int pusher, index;
    } log[OPS];
    int logged;
    wait waits[OPS];
    int nwaits;
    pthread_mutex_t stack_lock;
    pthread_cond_t stack_filled;
    work *stack;
    bool quit;
    _Atomic int reports;                       /* failures that waits returned */
    _Atomic long refused;                      /* calls that failed */
    _Atomic long misplaced, overruns;          /* found by ops */
    long wrong_folds, wrong_versions, missing; /* found by the replay */
    long skipped, failures, wrong_reports;
};

/* ---- What an op does --------------------------------------------------------------------------------------------- */

static bool breaks(const work *w, uint32_t run) {
    return w->fragile && mix(w->salt + run) % 12 == 0;
}

static uint64_t fold(const work *w, uint32_t run, bool replayed) {
    uint64_t sum = w->salt + run;
    for (int i = 0; i < w->nreads + w->nwrites; i++)
        sum = mix(sum * 31 + (replayed ? w->cells[i]->replayed_value : w->cells[i]->value));
    return sum;
}

/* How many of its writes it does: one that fails leaves its work half done. */
static int writes_done(const work *w, uint32_t run) {
    return breaks(w, run) ? w->nwrites / 2 : w->nwrites;
}

static void dally(const work *w) {
    if (w->delay < 0) {
        sleep_us(-w->delay);
        return;
    }
    volatile uint64_t spin = 0;
    for (int i = 0; i < w->delay; i++)
        spin = mix(spin + 1);
}

/* The values first: reading versions synchronizes, and might hide from the thread sanitizer that nothing else did. */
static int perform(work *w) {
    uint32_t run = atomic_fetch_add(&w->runs, 1);
    if (run >= w->capacity) {
        w->load->overruns++;
        return 0;
    }
    record *r = &w->seen[run];
    r->fold = fold(w, run, false);
    for (int i = 0; i < w->nreads + w->nwrites; i++)
        r->versions[i] = (uint32_t)neap_var_version(w->cells[i]->var);
    dally(w);
    for (int i = 0; i < writes_done(w, run); i++)
        w->cells[w->nreads + i]->value = mix(r->fold + (uint64_t)i);
    return breaks(w, run) ? neap_error(NEAP_E_SHAPE, "%llx/%u", (unsigned long long)w->salt, run) : 0;
}

/* Whether this is a thread where the op may run. */
static bool is_well_placed(const work *w, const neap_run *run) {
    static _Thread_local int home; /* by device: the only device of this worker */
    const neap_engine_config *config = &w->load->config;
    if (run->device != w->device && !w->operator)
        return false;
    if (config->scheduler == NEAP_SCHEDULER_NAIVE)
        return run->worker == -1;
    if (config->scheduler == NEAP_SCHEDULER_POOL)
        return run->worker >= -1 && run->worker < config->workers;
    if (home == 0)
        home = run->device + 1;
    return run->worker >= 0 && home == run->device + 1;
}

static int run_work(void *arg, const neap_run *run) {
    work *w = arg;
    if (!is_well_placed(w, run))
        w->load->misplaced++;
    return perform(w);
}

static void start_work(void *arg, const neap_run *run, neap_completion *done) {
    work *w = arg;
    load *l = w->load;
    if (!is_well_placed(w, run))
        l->misplaced++;
    if (w->at_once) {
        neap_complete(done, perform(w));
        return;
    }
    pthread_mutex_lock(&l->stack_lock);
    w->done = done;
    w->pending = l->stack;
    l->stack = w;
    pthread_cond_signal(&l->stack_filled);
    pthread_mutex_unlock(&l->stack_lock);
}

/* Performs async ops, the last one first. */
static void *complete_many(void *arg) {
    load *l = arg;
    pthread_mutex_lock(&l->stack_lock);
    for (;;) {
        while (!l->stack && !l->quit)
            pthread_cond_wait(&l->stack_filled, &l->stack_lock);
        work *w = l->stack;
        if (!w)
            break;
        l->stack = w->pending;
        pthread_mutex_unlock(&l->stack_lock);
        if (w->salt % 4 == 0)
            sleep_us((int)(w->salt >> 8) % 100);
        neap_complete(w->done, perform(w));
        pthread_mutex_lock(&l->stack_lock);
    }
    pthread_mutex_unlock(&l->stack_lock);
    return NULL;
}

static void note_release(void *arg) {
    ((work *)arg)->released++;
}

/* ---- Drawing ----------------------------------------------------------------------------------------------------- */

static cell *new_cell(pusher *p) {
    cell *c = calloc(1, sizeof *c);
    p->load->refused += neap_var_new(&c->var) != NEAP_OK;
    c->value = c->replayed_value = draw(&p->state);
    c->next = p->cells;
    p->cells = c;
    return c;
}

static cell **slot_of(pusher *p, int at) {
    return at < p->slots ? &p->own[at] : &p->load->shared[at - p->slots];
}

static bool is_fragile(int at) {
    return at % 5 == 0;
}

/* A variable among the first `count` slots that the op does not have yet; fragile or not, or `any`. */
static cell *draw_cell(pusher *p, const work *w, int count, bool fragile, bool any) {
    for (;;) {
        int at = fragile ? pick(&p->state, count / 5) * 5 : pick(&p->state, count);
        cell *c = *slot_of(p, at);
        bool good = any || is_fragile(at) == fragile;
        for (int i = 0; i < w->nreads + w->nwrites && good; i++)
            good = w->cells[i] != c;
        if (good)
            return c;
    }
}

static int draw_delay(pusher *p, work *w) {
    int kind = pick(&p->state, 128);
    if (kind == 0 && !(w->flags & NEAP_PUSH_SMALL))
        return -20 - pick(&p->state, 100);
    return kind < 32 ? pick(&p->state, 1000) : 0;
}

static work *draw_work(pusher *p, int slots, bool is_operator) {
    work *w = calloc(1, sizeof *w);
    w->load = p->load;
    w->salt = draw(&p->state);
    w->capacity = is_operator ? RUNS_MOST : 1;
    w->seen = calloc(w->capacity, sizeof *w->seen);
    w->fragile = pick(&p->state, 5) == 0;
    w->async = pick(&p->state, 12) == 0;
    w->at_once = pick(&p->state, 2);
    w->flags = (pick(&p->state, 2) ? NEAP_PUSH_SMALL : 0) | (pick(&p->state, 8) == 0 ? NEAP_PUSH_ALWAYS : 0);
    w->delay = draw_delay(p, w);
    bool narrow = pick(&p->state, 2), always = w->flags & NEAP_PUSH_ALWAYS;
    int reads = READS_LEAST + pick(&p->state, narrow ? 3 : READS_MOST - READS_LEAST + 1);
    int writes = w->fragile ? 1 + pick(&p->state, 2) : is_operator ? 1 + pick(&p->state, 2) : pick(&p->state, 5);
    bool reads_fragile = w->fragile && pick(&p->state, 2);
    for (; w->nreads < reads; w->nreads++)
        w->cells[w->nreads] = draw_cell(p, w, slots, reads_fragile && w->nreads == 1, always && w->nreads % 4 == 0);
    for (; w->nwrites < writes; w->nwrites++)
        w->cells[w->nreads + w->nwrites] = draw_cell(p, w, slots, w->fragile, false);
    w->next = p->works;
    p->works = w;
    return w;
}

/* ---- Pushing ----------------------------------------------------------------------------------------------------- */

static const char *site_of(const work *w) {
    static const char *const sites[4] = {"a.lua:1", "b.lua:22", NULL, "deep/c.lua:333"};
    return sites[w->salt >> 40 & 3];
}

static int draw_priority(pusher *p) {
    return pick(&p->state, 4) ? 0 : pick(&p->state, 7) - 3;
}

/* Pushes w as a plain op, or makes it an operator. */
static void push_work(pusher *p, work *w, bool is_operator) {
    neap_var *vars[CELLS_MOST];
    for (int i = 0; i < w->nreads + w->nwrites; i++)
        vars[i] = w->cells[i]->var;
    w->device = pick(&p->state, p->load->config.devices);
    neap_push push = {.name = "work",
                      .site = site_of(w),
                      .release = note_release,
                      .device = w->device,
                      .priority = draw_priority(p),
                      .flags = w->flags,
                      .nreads = w->nreads,
                      .nwrites = w->nwrites,
                      .reads = vars,
                      .writes = vars + w->nreads,
                      .bytes = pick(&p->state, 1000),
                      .cost = pick(&p->state, 3) * 100};
    int status;
    if (is_operator) {
        status = w->async ? neap_operator_new_async(start_work, w, &push, &w->operator)
                          : neap_operator_new(run_work, w, &push, &w->operator);
    } else {
        status = w->async ? neap_push_async(start_work, w, &push) : neap_push_sync(run_work, w, &push);
        w->pushes = 1;
    }
    p->load->refused += status != NEAP_OK;
}

static void drop_operator(work **slot) {
    neap_operator_delete((*slot)->operator);
    *slot = NULL;
}

static work *push_operator(pusher *p) {
    work **slot = &p->operators[pick(&p->state, OPERATORS)], *w = *slot;
    if (!w) {
        w = *slot = draw_work(p, p->slots, true);
        push_work(p, w, true);
    }
    int device = pick(&p->state, p->load->config.devices);
    p->load->refused += neap_operator_push(w->operator, device, draw_priority(p)) != NEAP_OK;
    if (++w->pushes == w->capacity)
        drop_operator(slot);
    return w;
}

/* Deletes a fragile variable, however many ops still wait for it, and puts a new one in its place. */
static void renew(pusher *p, int slots) {
    cell **slot = slot_of(p, pick(&p->state, slots / 5) * 5);
    for (int i = 0; i < OPERATORS; i++) {
        for (int k = 0; p->operators[i] && k < p->operators[i]->nreads + p->operators[i]->nwrites; k++) {
            if (p->operators[i]->cells[k] == *slot) {
                drop_operator(&p->operators[i]);
            }
        }
    }
    neap_var_delete((*slot)->var);
    (*slot)->deleted = true;
    *slot = new_cell(p);
}

static void wait_for(pusher *p, cell *c, int (*wait_to)(neap_var *var)) {
    load *l = p->load;
    int status = wait_to(c->var);
    l->refused += status < 0 && status != NEAP_E_SHAPE;
    l->reports += status < 0;
    if (l->pushers == 1 && l->nwaits < OPS)
        l->waits[l->nwaits++] = (wait){c, p->count, status};
}

/* What a pusher does now and then besides pushing. */
static void look_around(pusher *p) {
    load *l = p->load;
    int at = pick(&p->state, p->slots);
    cell *c = p->own[l->pushers > 1 && is_fragile(at) ? at + 1 : at];
    switch (pick(&p->state, 256)) {
    case 0:
        wait_for(p, c, neap_var_wait_to_read);
        break;
    case 1:
        wait_for(p, c, neap_var_wait_to_write);
        break;
    case 2:
        neap_var_poll(c->var, p->waker);
        break;
    case 3:
        neap_engine_help(20000);
        break;
    case 4:
        if (l->bulk)
            neap_bulk(pick(&p->state, 2 * l->bulk));
        break;
    default:
        break;
    }
    while (l->throttled && neap_ahead_poll(p->waker) == NEAP_PENDING) {
        neap_waker_sleep(p->waker, 1000);
        neap_waker_clear(p->waker);
    }
}

static void push_one(pusher *p, bool shared) {
    int slots = shared ? p->slots + SHARED : p->slots;
    work *w;
    if (!shared && pick(&p->state, 4) == 0) {
        w = push_operator(p);
    } else {
        w = draw_work(p, slots, false);
        push_work(p, w, false);
    }
    p->pushed[p->count++] = w;
    if (w->fragile)
        renew(p, slots);
}

static void *push_many(void *arg) {
    pusher *p = arg;
    load *l = p->load;
    neap_bulk(l->bulk);
    while (p->count < l->ops / l->pushers) {
        look_around(p);
        bool shared = l->pushers > 1 && pick(&p->state, 4) == 0;
        if (!shared) {
            push_one(p, false);
            continue;
        }
        pthread_mutex_lock(&l->lock);
        l->log[l->logged].pusher = p->index;
        l->log[l->logged++].index = p->count;
        push_one(p, true);
        neap_bulk(l->bulk); /* what was joined goes before what the next holder of the lock pushes */
        pthread_mutex_unlock(&l->lock);
    }
    for (int i = 0; i < OPERATORS; i++) {
        if (p->operators[i])
            drop_operator(&p->operators[i]);
    }
    neap_bulk(0);
    return NULL;
}

/* ---- Replaying --------------------------------------------------------------------------------------------------- */

static bool is_reported(const cell *c) {
    return c->cause && c->cause->seen[c->cause_run].reported;
}

static void replay_wait(load *l, const wait *w) {
    const cell *c = w->cell;
    bool reports = c->cause && !is_reported(c);
    l->wrong_reports += w->status != (reports ? NEAP_E_SHAPE : NEAP_OK);
    if (c->cause)
        c->cause->seen[c->cause_run].reported = true;
}

/* What the op writes begins anew where the failure has been reported. */
static void forget_reported(work *w) {
    for (int i = w->nreads; i < w->nreads + w->nwrites && !(w->flags & NEAP_PUSH_ALWAYS); i++) {
        if (is_reported(w->cells[i]))
            w->cells[i]->cause = NULL;
    }
}

/* The first failed variable of the op, in the order of its lists; what it carries the op inherits. */
static const cell *failed_input(const work *w) {
    for (int i = 0; i < w->nreads + w->nwrites && !(w->flags & NEAP_PUSH_ALWAYS); i++) {
        if (w->cells[i]->cause)
            return w->cells[i];
    }
    return NULL;
}

static void replay_failure(work *w, const work *cause, uint32_t cause_run) {
    for (int i = w->nreads; i < w->nreads + w->nwrites; i++) {
        if (!w->cells[i]->cause) {
            w->cells[i]->cause = cause;
            w->cells[i]->cause_run = cause_run;
        }
    }
}

static void replay_run(load *l, work *w) {
    uint32_t run = w->replayed++;
    const record *seen = &w->seen[run];
    uint64_t sum = fold(w, run, true);
    if (run >= w->runs) {
        l->missing++;
        return;
    }
    l->wrong_folds += seen->fold != sum;
    for (int i = 0; i < w->nreads + w->nwrites; i++)
        l->wrong_versions += seen->versions[i] != w->cells[i]->writes;
    for (int i = 0; i < writes_done(w, run); i++)
        w->cells[w->nreads + i]->replayed_value = mix(sum + (uint64_t)i);
    if (breaks(w, run)) {
        l->failures++;
        replay_failure(w, w, run);
    }
}

static void replay(load *l, work *w) {
    forget_reported(w);
    const cell *failed = failed_input(w);
    if (failed) {
        l->skipped++;
        replay_failure(w, failed->cause, failed->cause_run);
    } else {
        replay_run(l, w);
    }
    for (int i = w->nreads; i < w->nreads + w->nwrites; i++)
        w->cells[i]->writes++;
}

static void replay_all(load *l) {
    int done[PUSHERS_MOST] = {0}, waited = 0;
    for (int i = 0; i < l->logged; i++) {
        pusher *p = l->pusher[l->log[i].pusher];
        while (done[p->index] <= l->log[i].index)
            replay(l, p->pushed[done[p->index]++]);
    }
    for (int k = 0; k < l->pushers; k++) {
        pusher *p = l->pusher[k];
        while (done[k] < p->count) {
            for (; waited < l->nwaits && l->waits[waited].pushes == done[k]; waited++)
                replay_wait(l, &l->waits[waited]);
            replay(l, p->pushed[done[k]++]);
        }
    }
}

static bool carries_its_cause(const cell *c) {
    int status = neap_var_poll(c->var, NULL);
    if (!c->cause)
        return status == NEAP_OK;
    char text[100];
    const char *site = site_of(c->cause);
    snprintf(text, sizeof text, "%s%swork: %llx/%u", site ? site : "", site ? ": " : "",
             (unsigned long long)c->cause->salt, c->cause_run);
    return status == NEAP_E_SHAPE && strcmp(neap_error_text(), text) == 0;
}

static void check_load(load *l, const neap_engine_counts *before, const neap_engine_counts *after) {
    long wrong_values = 0, wrong_counts = 0, wrong_failures = 0, wrong_releases = 0, wrong_runs = 0, pushes = 0;
    for (int k = 0; k < l->pushers; k++) {
        pushes += l->pusher[k]->count;
        for (cell *c = l->pusher[k]->cells; c; c = c->next) {
            wrong_values += c->value != c->replayed_value;
            wrong_counts += !c->deleted && neap_var_version(c->var) != c->writes;
            wrong_failures += !c->deleted && !carries_its_cause(c);
        }
        for (work *w = l->pusher[k]->works; w; w = w->next) {
            wrong_releases += w->released != 1;
            wrong_runs += w->runs != w->replayed;
        }
    }
    CHECK_EQ(l->refused, 0);
    CHECK_EQ(l->misplaced, 0);
    CHECK_EQ(l->overruns, 0);
    CHECK_EQ(l->missing, 0);
    CHECK_EQ(l->wrong_folds, 0);
    CHECK_EQ(l->wrong_versions, 0);
    CHECK_EQ(wrong_values, 0);
    CHECK_EQ(wrong_counts, 0);
    CHECK_EQ(wrong_failures, 0);
    CHECK_EQ(l->wrong_reports, 0);
    CHECK_EQ(wrong_releases, 0);
    CHECK_EQ(wrong_runs, 0);
    CHECK_EQ(after->pushed - before->pushed, pushes);
    CHECK_EQ(after->completed - before->completed, pushes);
    CHECK_EQ(after->skipped - before->skipped, l->skipped);
}

/* ---- A round ----------------------------------------------------------------------------------------------------- */

static void open_load(load *l) {
    CHECK_EQ(neap_engine_start(&l->config), NEAP_OK);
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_init(&l->stack_lock, NULL);
    pthread_cond_init(&l->stack_filled, NULL);
    for (int k = 0; k < l->pushers; k++) {
        pusher *p = l->pusher[k] = calloc(1, sizeof *p);
        p->load = l;
        p->index = k;
        p->slots = l->pushers == 1 ? SLOTS : OWN;
        p->state = l->seed * 1000 + (uint64_t)k;
        l->refused += neap_waker_new(&p->waker) != NEAP_OK;
        for (int i = 0; i < p->slots; i++)
            p->own[i] = new_cell(p);
    }
    for (int i = 0; i < SHARED; i++)
        l->shared[i] = new_cell(l->pusher[0]);
}

static void close_load(load *l) {
    for (int k = 0; k < l->pushers; k++) {
        pusher *p = l->pusher[k];
        for (cell *c = p->cells, *next; c; c = next) {
            next = c->next;
            if (!c->deleted)
                neap_var_delete(c->var);
            free(c);
        }
        for (work *w = p->works, *next; w; w = next) {
            next = w->next;
            free(w->seen);
            free(w);
        }
        neap_waker_free(p->waker);
        free(p);
    }
    neap_engine_stop();
}

static void run_load(load *l) {
    pthread_t pushers[PUSHERS_MOST], completers[COMPLETERS];
    neap_engine_counts before, after;
    open_load(l);
    neap_engine_count(&before);
    for (int i = 0; i < COMPLETERS; i++)
        CHECK_EQ(pthread_create(&completers[i], NULL, complete_many, l), 0);
    for (int i = 1; i < l->pushers; i++)
        CHECK_EQ(pthread_create(&pushers[i], NULL, push_many, l->pusher[i]), 0);
    push_many(l->pusher[0]);
    for (int i = 1; i < l->pushers; i++)
        pthread_join(pushers[i], NULL);
    int status = neap_wait_all();
    CHECK_EQ(neap_wait_all(), NEAP_OK);
    neap_engine_count(&after);
    pthread_mutex_lock(&l->stack_lock);
    l->quit = true;
    pthread_cond_broadcast(&l->stack_filled);
    pthread_mutex_unlock(&l->stack_lock);
    for (int i = 0; i < COMPLETERS; i++)
        pthread_join(completers[i], NULL);
    replay_all(l);
    check_load(l, &before, &after);
    CHECK(l->reports <= l->failures);
    CHECK_EQ(status, l->reports < l->failures ? NEAP_E_SHAPE : NEAP_OK);
    neap_ahead_limit(1, 1);
    CHECK_EQ(neap_ahead_poll(NULL), NEAP_OK); /* everything that was counted as under way has been taken off */
    neap_ahead_limit(0, 0);
    close_load(l);
}

/* Round `kind` of a seed: all schedulers, one and several pushers, with bulks and without, shuffled and not. */
enum { KINDS = 3 * 2 * 2 * 2 };

static void random_round(uint64_t seed, int kind) {
    uint64_t state = seed * KINDS + (uint64_t)kind;
    load *l = calloc(1, sizeof *l);
    l->seed = draw(&state);
    l->config = (neap_engine_config){.scheduler = kind % 3,
                                     .workers = 2 + pick(&state, 4),
                                     .devices = 1 + pick(&state, 4),
                                     .shuffle = kind / 12 ? draw(&state) | 1 : 0};
    if (l->config.scheduler == NEAP_SCHEDULER_DEVICE)
        l->config.workers = 1 + pick(&state, 3);
    l->pushers = kind / 3 % 2 ? 2 + pick(&state, PUSHERS_MOST - 1) : 1;
    l->bulk = kind / 6 % 2 ? 2 << pick(&state, 7) : 0;
    l->throttled = pick(&state, 3) == 0;
    l->ops = OPS;
    neap_ahead_limit(l->throttled ? 100000 : 0, 0);
    long failed = check_failed;
    run_load(l);
    if (check_failed != failed) {
        fprintf(stderr,
                "seed %llu, kind %d: scheduler %d, %d workers, %d devices, shuffle %llu, %d pushers, bulks of %d\n",
                (unsigned long long)seed, kind, l->config.scheduler, l->config.workers, l->config.devices,
                (unsigned long long)l->config.shuffle, l->pushers, l->bulk);
    }
    free(l);
}

static void all_kinds(uint64_t seed) {
    for (int kind = 0; kind < KINDS; kind++)
        random_round(seed, kind);
}

int main(int argc, char **argv) {
    const char *hours = getenv("NEAP_TEST_LONG");
    if (argc > 1) {
        all_kinds(strtoull(argv[1], NULL, 10));
    } else if (hours) {
        time_t start = time(NULL), length = (time_t)(atof(hours) * 3600);
        for (uint64_t seed = (uint64_t)start; time(NULL) - start < length && check_failed == 0; seed++)
            all_kinds(seed);
    } else {
        for (uint64_t seed = 1; seed <= SIZE(3, 1); seed++)
            all_kinds(seed);
    }
    return check_end();
}
