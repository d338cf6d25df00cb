/* main.c: what an op costs in the engine and in its peers, OpenMP tasks with dependences (the compiler's runtime) and
 * StarPU: one process, the same plans, the same work, the same number of threads that run it. Prints rows for run.lua,
 * which starts it with the number of rounds and of threads.
 *
 *      independent   each op writes another one of 1000 variables, in turn
 *      chain         each op writes the same variable
 *      fan           one op reads 64 variables and writes a hub, then 64 read the hub and write one of them each
 *      DAG           each op reads 2 to 4 of 100 variables and writes another one, drawn at random, 1000 ops in turn
 *
 * Streamed: the pushers push while threads run what is ready; the clock stops when all is done, and a pusher has
 * variables of its own. In flight: a gate (contender.h) holds everything back until all is pushed, so that nothing can
 * be done at its push; the clock covers the pushes and, after the gate has opened, everything else. Latency: one op on
 * an idle library, back to back and after a pause, when threads sleep.
 *
 * Plain pushes and those of operators are run by the workers. Small ops and bulks may run at their push when streamed,
 * which is what they are for, so goals against the peers' deferred tasks stand there only for the former.
 *
 * Contenders take turns within a round, each with a few tries, of which the best counts; only one of them has threads
 * at a time. A value is the median over the rounds, the reference is the faster peer's, a ratio (the peer's time by the
 * engine's) is the median of the rounds'. Where the machine is busy with other things, short runs (of 1e3 ops) suffer
 * less than long ones (of 1e6): how the cost grows between them is therefore told in processor time, too.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "contender.h"

enum {
    ROUNDS_MOST = 1000,
    ROUNDS_LONG = 5, /* where one may take seconds */
    FAN = 64,
    DAG_VARS = 100,
    PLAN_OPS = 1000,
    STREAMED = 10000, /* pushes of a pusher */
    TRIES = 4,        /* in a round */
    WARM = 2000,
    SAMPLES = 100 /* of latency in a round */
};
static const double PAUSE_NS = 1e6;
static const double MOST_NS = 220, PEERS_RATIO = 2, GROWTH = 2; /* goals */

static const bench_contender *const CONTENDERS[] = {
    &bench_neap_plain, &bench_neap_small, &bench_neap_operator, &bench_neap_bulk, &bench_openmp,
#if BENCH_STARPU
    &bench_starpu,
#endif
};
enum {
    PLAIN,
    SMALL,
    OPERATOR,
    BULK,
    OPENMP,
    VARIANTS = OPENMP,
    CONTENDERS_ALL = sizeof CONTENDERS / sizeof *CONTENDERS
};

static double clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double bench_now(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

double bench_processor(void) {
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_pause(double ns) {
    if (ns > 0)
        nanosleep(&(struct timespec){0, (long)ns}, NULL);
}

void bench_fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    exit(1);
}

void *bench_alloc(size_t bytes) {
    void *memory = calloc(1, bytes + !bytes);
    if (!memory)
        bench_fail("out of memory");
    return memory;
}

typedef struct member {
    void (*push)(void *arg);
    void *arg;
} member;

static void *member_main(void *arg) {
    member *m = arg;
    m->push(m->arg);
    return NULL;
}

void bench_crew(int n, void (*push)(void *arg), void **args) {
    pthread_t threads[BENCH_PUSHERS_MOST];
    member members[BENCH_PUSHERS_MOST];
    for (int k = 1; k < n; k++) {
        members[k] = (member){push, args[k]};
        if (pthread_create(&threads[k], NULL, member_main, &members[k]))
            bench_fail("no thread for a pusher");
    }
    push(args[0]);
    for (int k = 1; k < n; k++)
        pthread_join(threads[k], NULL);
}

/* ---- Plans ------------------------------------------------------------------------------------------------------- */

enum { INDEPENDENT, CHAIN, FANS, DAG, SHAPES };
static const char *const SHAPE_NAMES[] = {"independent", "chain", "fan", "DAG"};
static bench_plan plans[SHAPES];

static int draw(int n) {
    static uint64_t state = 20;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static bench_plan plan_new(int nvars, int nops, int width) {
    return (bench_plan){nvars, nops, width, bench_alloc((size_t)nops * sizeof(bench_op))};
}

static bench_plan plan_independent(void) {
    bench_plan plan = plan_new(PLAN_OPS, PLAN_OPS, PLAN_OPS);
    for (int i = 0; i < plan.nops; i++)
        plan.ops[i].write = i;
    return plan;
}

static bench_plan plan_fan(void) {
    bench_plan plan = plan_new(FAN + 1, FAN + 1, FAN);
    int *all = bench_alloc(FAN * sizeof *all), *hub = bench_alloc(sizeof *hub);
    *hub = FAN;
    plan.ops[0] = (bench_op){FAN, FAN, all};
    for (int i = 0; i < FAN; i++) {
        all[i] = i;
        plan.ops[1 + i] = (bench_op){1, i, hub};
    }
    return plan;
}

/* A variable that is not among the first n. */
static int draw_other(const int *vars, int n) {
    for (;;) {
        int var = draw(DAG_VARS), k = 0;
        while (k < n && vars[k] != var)
            k++;
        if (k == n)
            return var;
    }
}

static bench_plan plan_dag(void) {
    bench_plan plan = plan_new(DAG_VARS, PLAN_OPS, DAG_VARS);
    for (int i = 0; i < plan.nops; i++) {
        int n = 2 + draw(3), *vars = bench_alloc((size_t)(n + 1) * sizeof *vars);
        for (int k = 0; k <= n; k++)
            vars[k] = draw_other(vars, k);
        plan.ops[i] = (bench_op){n, vars[n], vars};
    }
    return plan;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

typedef struct bench_case {
    int shape, pushers;
    int64_t in_flight;  /* 0: streamed */
    int64_t peers_most; /* in flight: beyond, a peer takes many seconds, or minutes */
} bench_case;

static const bench_case CASES[] = {
    {INDEPENDENT, 1, 0, 0},   {INDEPENDENT, 2, 0, 0}, {CHAIN, 1, 0, 0},
    {CHAIN, 2, 0, 0},         {FANS, 1, 0, 0},        {FANS, 2, 0, 0},
    {DAG, 1, 0, 0},           {DAG, 2, 0, 0},         {INDEPENDENT, 1, 1000, 1e5},
    {CHAIN, 1, 1000, 1e5},    {CHAIN, 1, 10000, 1e5}, {CHAIN, 1, 100000, 1e5},
    {CHAIN, 1, 1000000, 1e5}, {DAG, 1, 1000, 1e4},    {DAG, 1, 10000, 1e4},
    {DAG, 1, 100000, 1e4},    {DAG, 1, 1000000, 1e4},
};
enum { CASES_ALL = sizeof CASES / sizeof *CASES };

typedef enum figure {
    PUSHES,     /* the push alone */
    COMPLETION, /* from push to completion, amortised */
    PROCESSOR,  /* the same in processor time, which other programs on the machine do not lengthen by their turns */
    FIGURES
} figure;

typedef struct result { /* of a contender in a case: ns an op, by round */
    double of[FIGURES][ROUNDS_MOST];
    int rounds;
} result;

static result results[CASES_ALL][CONTENDERS_ALL];

typedef struct latencies { /* of a contender: ns, of all rounds */
    double *samples;
    int count;
} latencies;

enum { BACK_TO_BACK, AFTER_PAUSE, PACES };
static latencies latency_of[PACES][CONTENDERS_ALL];
static double undeferred; /* percent of the tasks that OpenMP streams */

static int rounds_of(const bench_case *c, int rounds) {
    return c->in_flight >= 10000 && rounds > ROUNDS_LONG ? ROUNDS_LONG : rounds;
}

static int64_t pushes_of(const bench_case *c) {
    return c->in_flight ? c->in_flight : STREAMED;
}

static void jobs_new(const bench_case *c, int64_t pushes, bench_job *jobs) {
    for (int k = 0; k < c->pushers; k++) {
        size_t bytes = (size_t)plans[c->shape].nvars * sizeof(bench_cell);
        bench_cell *cells = aligned_alloc(sizeof *cells, bytes);
        if (!cells)
            bench_fail("out of memory");
        memset(cells, 0, bytes);
        jobs[k] = (bench_job){&plans[c->shape], cells, pushes};
    }
}

/* Every op ran, and no two writers of a variable at once. */
static void check_cells(const bench_job *job, const char *name) {
    int64_t *expected = bench_alloc((size_t)job->plan->nvars * sizeof *expected);
    for (int64_t i = 0; i < job->pushes; i++)
        expected[job->plan->ops[i % job->plan->nops].write]++;
    for (int i = 0; i < job->plan->nvars; i++) {
        if (job->cells[i].count != expected[i])
            bench_fail("%s: variable %d was written %lld times, not %lld", name, i, (long long)job->cells[i].count,
                       (long long)expected[i]);
    }
    free(expected);
}

static void jobs_check(bench_job *jobs, int count, const char *name) {
    for (int k = 0; k < count; k++) {
        check_cells(&jobs[k], name);
        free(jobs[k].cells);
    }
}

/* ns of an op. */
static bench_times measure(const bench_contender *who, const bench_case *c, int64_t pushes) {
    bench_job jobs[BENCH_PUSHERS_MOST];
    bench_times times;
    jobs_new(c, pushes, jobs);
    who->run(jobs, c->pushers, c->in_flight > 0, &times);
    jobs_check(jobs, c->pushers, who->name);
    double ops = (double)(c->pushers * pushes);
    return (bench_times){times.pushed / ops, times.done / ops, times.processor / ops};
}

static void measure_undeferred(void) {
    int64_t sum = 0, all = 0;
    for (int i = 0; i < CASES_ALL && CASES[i].in_flight == 0; i++) {
        bench_job jobs[BENCH_PUSHERS_MOST];
        jobs_new(&CASES[i], STREAMED, jobs);
        sum += bench_openmp_undeferred(jobs, CASES[i].pushers);
        all += CASES[i].pushers * STREAMED;
        jobs_check(jobs, CASES[i].pushers, "openmp");
    }
    undeferred = 100.0 * (double)sum / (double)all;
}

static void measure_latency(int k, int rounds) {
    for (int pace = 0; pace < PACES; pace++) {
        latencies *l = &latency_of[pace][k];
        if (!l->samples)
            l->samples = bench_alloc((size_t)(rounds * SAMPLES) * sizeof *l->samples);
        CONTENDERS[k]->latency(SAMPLES, pace == AFTER_PAUSE ? PAUSE_NS : 0, l->samples + l->count);
        l->count += SAMPLES;
    }
}

/* The best of some tries: others on the machine lengthen a run, nothing shortens it. */
static void measure_case(int i, int k, int round) {
    result *r = &results[i][k];
    int tries = CASES[i].in_flight >= 100000 ? 1 : TRIES;
    for (int try = 0; try < tries; try++) {
        bench_times times = measure(CONTENDERS[k], &CASES[i], pushes_of(&CASES[i]));
        double ns[FIGURES] = {times.pushed, times.done, times.processor};
        for (int what = 0; what < FIGURES; what++) {
            if (try == 0 || ns[what] < r->of[what][round])
                r->of[what][round] = ns[what];
        }
    }
    r->rounds = round + 1;
}

static void measure_round(int k, int round, int rounds, int threads) {
    const bench_contender *who = CONTENDERS[k];
    who->open(threads);
    for (int i = 0; i < CASES_ALL; i++) {
        const bench_case *c = &CASES[i];
        if (round >= rounds_of(c, rounds) || (k >= VARIANTS && c->in_flight > c->peers_most))
            continue;
        if (c->in_flight == 0)
            measure(who, c, WARM);
        measure_case(i, k, round);
    }
    measure_latency(k, rounds);
    if (k == OPENMP && round == 0)
        measure_undeferred();
    who->close();
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which `share` of the list lies. */
static double quantile(const double *list, int n, double share) {
    double *sorted = bench_alloc((size_t)n * sizeof *sorted);
    memcpy(sorted, list, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    int at = (int)(share * n);
    double value = n % 2 == 0 && share == 0.5 ? (sorted[at - 1] + sorted[at]) / 2 : sorted[at < n ? at : n - 1];
    free(sorted);
    return value;
}

static double least(const double *list, int n) {
    double value = list[0];
    for (int i = 1; i < n; i++)
        value = list[i] < value ? list[i] : value;
    return value;
}

/* ns an op, by round. */
static const double *series(figure what, int i, int k) {
    return results[i][k].of[what];
}

/* As a row shows it: pushes are told by the second. */
static double shown(figure what, double ns) {
    return what == PUSHES ? 1e3 / ns : ns;
}

/* The fields reference, ratio and peers: the faster peer in each round against variant k. */
static void print_peers(figure what, int i, int k) {
    double faster[ROUNDS_MOST], ratios[ROUNDS_MOST];
    int rounds = results[i][OPENMP].rounds;
    if (rounds == 0)
        return;
    for (int r = 0; r < rounds; r++) {
        faster[r] = series(what, i, OPENMP)[r];
        for (int p = OPENMP; p < CONTENDERS_ALL; p++)
            faster[r] = series(what, i, p)[r] < faster[r] ? series(what, i, p)[r] : faster[r];
        ratios[r] = faster[r] / series(what, i, k)[r];
    }
    printf(",reference=%.6g,ratio=%.6g,peers={", shown(what, quantile(faster, rounds, 0.5)),
           quantile(ratios, rounds, 0.5));
    for (int p = OPENMP; p < CONTENDERS_ALL; p++)
        printf("%s=%.6g,", CONTENDERS[p]->name, shown(what, quantile(series(what, i, p), rounds, 0.5)));
    printf("}");
}

static int exponent(int64_t n) {
    return n < 10 ? 0 : 1 + exponent(n / 10);
}

static void print_case(figure what, int i, int k, bool goals) {
    const bench_case *c = &CASES[i];
    int rounds = results[i][k].rounds;
    printf("{name=\"%s, ", SHAPE_NAMES[c->shape]);
    if (c->in_flight) {
        printf("1e%d in flight", exponent(c->in_flight));
    } else {
        printf("%d pusher%s", c->pushers, c->pushers > 1 ? "s" : "");
    }
    printf(", %s%s\",unit=\"%s\",value=%.6g,best=%.6g", CONTENDERS[k]->name, what == PUSHES ? ", pushes" : "",
           what == PUSHES ? "1e6/s" : "ns/op", shown(what, quantile(series(what, i, k), rounds, 0.5)),
           shown(what, least(series(what, i, k), rounds)));
    print_peers(what, i, k);
    if (goals && results[i][OPENMP].rounds > 0) {
        printf(",goal=%g,better=\"more\",most=%g", PEERS_RATIO, MOST_NS);
    } else if (goals) {
        printf(",goal=%g", MOST_NS);
    }
    printf("}\n");
}

/* How the cost of an op grows with the ops in flight: from the case `few` to the case `many`. */
static void print_growth(figure what, int few, int many, int k) {
    double ratios[ROUNDS_MOST];
    int rounds = results[many][k].rounds;
    const double *before = series(what, few, k), *after = series(what, many, k);
    for (int r = 0; r < rounds; r++)
        ratios[r] = after[r] / before[r];
    printf("{name=\"%s, 1e%d in flight against 1e%d, %s%s\",unit=\"ns/op\",value=%.6g,best=%.6g,",
           SHAPE_NAMES[CASES[many].shape], exponent(CASES[many].in_flight), exponent(CASES[few].in_flight),
           CONTENDERS[k]->name, what == PROCESSOR ? ", processor time" : "", quantile(after, rounds, 0.5),
           least(after, rounds));
    printf("reference=%.6g,ratio=%.6g,goal=%g}\n", quantile(before, rounds, 0.5), quantile(ratios, rounds, 0.5),
           GROWTH);
}

/* Against the case of the same shape with 1e3 in flight. */
static void print_growths(int many) {
    int few = many;
    while (few > 0 && (CASES[few].in_flight != 1000 || CASES[few].shape != CASES[many].shape))
        few--;
    for (int k = 0; k < VARIANTS; k++) {
        print_growth(COMPLETION, few, many, k);
        print_growth(PROCESSOR, few, many, k);
    }
}

static void print_latency(int k, int pace, const char *what, double share) {
    static const char *const WHEN[] = {"back to back", "after 1 ms of rest"};
    const latencies *mine = &latency_of[pace][k];
    double reference = 1e300, value = quantile(mine->samples, mine->count, share);
    char peers[256] = "";
    size_t length = 0;
    for (int p = OPENMP; p < CONTENDERS_ALL; p++) {
        const latencies *theirs = &latency_of[pace][p];
        double time = quantile(theirs->samples, theirs->count, share);
        reference = time < reference ? time : reference;
        length += (size_t)snprintf(peers + length, sizeof peers - length, "%s=%.6g,", CONTENDERS[p]->name, time / 1e3);
    }
    printf("{name=\"one op, %s, %s, %s\",unit=\"us\",value=%.6g,best=%.6g,reference=%.6g,ratio=%.6g,peers={%s}}\n",
           WHEN[pace], CONTENDERS[k]->name, what, value / 1e3, least(mine->samples, mine->count) / 1e3, reference / 1e3,
           reference / value, peers);
}

static void print_rows(void) {
    for (int i = 0; i < CASES_ALL; i++) {
        print_case(PUSHES, i, PLAIN, false);
        for (int k = 0; k < VARIANTS; k++)
            print_case(COMPLETION, i, k, CASES[i].in_flight || k == PLAIN || k == OPERATOR);
        if (CASES[i].in_flight == 1000000)
            print_growths(i);
    }
    for (int pace = 0; pace < PACES; pace++) {
        for (int k = PLAIN; k <= SMALL; k++) {
            print_latency(k, pace, "median", 0.5);
            print_latency(k, pace, "p99", 0.99);
        }
    }
    printf("{name=\"OpenMP tasks that were not deferred\",unit=\"%%\",value=%.6g,best=%.6g,goal=1}\n", undeferred,
           undeferred);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 15, threads = argc > 2 ? atoi(argv[2]) : 2;
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MOST ? ROUNDS_MOST : rounds;
    if (threads < 2)
        bench_fail("engine: tasks are compared with at least 2 threads, not %d", threads);
    plans[INDEPENDENT] = plan_independent();
    plans[CHAIN] = plan_new(1, 1, 1);
    plans[FANS] = plan_fan();
    plans[DAG] = plan_dag();
    for (int round = 0; round < rounds; round++) {
        for (int k = 0; k < CONTENDERS_ALL; k++)
            measure_round(k, round, rounds, threads);
    }
    print_rows();
    return 0;
}
