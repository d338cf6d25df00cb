/* neap.c: the engine as a contender, in four variants: plain pushes, which the workers run; pushes with
 * NEAP_PUSH_SMALL, which the pusher may run itself; reusable operators, made before the clock starts; small ops in
 * bulks.
 *
 * `threads` is the number of workers. Pushers are further threads, which run no ops unless these are small. The gate is
 * an async op that writes all variables and is completed by the pusher.
 */
#include "contender.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "engine/engine.h"

enum { BULK = 64 };

typedef enum how { PLAIN, SMALL, OPERATOR, BULKED } how;

typedef struct pusher { /* a job and what it needs */
    const bench_job *job;
    how how;
    neap_var **vars;           /* [nvars] */
    neap_var **reads;          /* of all ops, one after the other */
    neap_operator **operators; /* [nops], or NULL */
} pusher;

static void check(int status) {
    if (status < 0)
        bench_fail("neap: %s", neap_error_text());
}

static int increment(void *arg, const neap_run *run) {
    (void)run;
    ++*(int64_t *)arg;
    return NEAP_OK;
}

static void open(int threads) {
    check(neap_engine_start(&(neap_engine_config){.workers = threads}));
}

static neap_push describe(const pusher *p, const bench_op *op, neap_var **reads) {
    return (neap_push){.name = "increment",
                       .flags = p->how == SMALL || p->how == BULKED ? NEAP_PUSH_SMALL : 0,
                       .nreads = op->nreads,
                       .reads = reads,
                       .nwrites = 1,
                       .writes = &p->vars[op->write]};
}

static void prepare(pusher *p, const bench_job *job, how how) {
    const bench_plan *plan = job->plan;
    int64_t nreads = 0;
    for (int i = 0; i < plan->nops; i++)
        nreads += plan->ops[i].nreads;
    *p = (pusher){.job = job,
                  .how = how,
                  .vars = bench_alloc((size_t)plan->nvars * sizeof *p->vars),
                  .reads = bench_alloc((size_t)nreads * sizeof *p->reads)};
    for (int i = 0; i < plan->nvars; i++)
        check(neap_var_new(&p->vars[i]));
    if (how == OPERATOR)
        p->operators = bench_alloc((size_t)plan->nops * sizeof(neap_operator *));
    neap_var **next = p->reads;
    for (int i = 0; i < plan->nops; i++) {
        const bench_op *op = &plan->ops[i];
        for (int k = 0; k < op->nreads; k++)
            next[k] = p->vars[op->reads[k]];
        neap_push push = describe(p, op, next);
        if (how == OPERATOR)
            check(neap_operator_new(increment, &job->cells[op->write].count, &push, &p->operators[i]));
        next += op->nreads;
    }
}

static void dismiss(pusher *p) {
    for (int i = 0; p->operators && i < p->job->plan->nops; i++)
        neap_operator_delete(p->operators[i]);
    for (int i = 0; i < p->job->plan->nvars; i++)
        neap_var_delete(p->vars[i]);
    free(p->operators);
    free(p->vars);
    free(p->reads);
}

static void push_operators(const pusher *p) {
    int nops = p->job->plan->nops;
    for (int64_t left = p->job->pushes, i = 0; left > 0; left--) {
        check(neap_operator_push(p->operators[i], 0, 0));
        if (++i == nops)
            i = 0;
    }
}

static void push_each(const pusher *p) {
    const bench_plan *plan = p->job->plan;
    neap_var **reads = p->reads;
    for (int64_t left = p->job->pushes, i = 0; left > 0; left--) {
        const bench_op *op = &plan->ops[i];
        neap_push push = describe(p, op, reads);
        check(neap_push_sync(increment, &p->job->cells[op->write].count, &push));
        reads += op->nreads;
        if (++i == plan->nops)
            i = 0, reads = p->reads;
    }
}

static void push_all(void *arg) {
    const pusher *p = arg;
    if (p->how == OPERATOR) {
        push_operators(p);
        return;
    }
    if (p->how == BULKED)
        neap_bulk(BULK);
    push_each(p);
    neap_bulk(0);
}

static void hold(void *arg, const neap_run *run, neap_completion *done) {
    (void)run;
    atomic_store((neap_completion * _Atomic *)arg, done);
}

static uint64_t inlined(void) {
    neap_engine_counts counts;
    neap_engine_count(&counts);
    return counts.inlined;
}

static void run(const bench_job *jobs, int pushers, bool gated, how how, bench_times *out) {
    pusher crew[BENCH_PUSHERS_MOST];
    void *args[BENCH_PUSHERS_MOST];
    neap_completion *_Atomic gate = NULL;
    uint64_t inlined_before = inlined();
    for (int k = 0; k < pushers; k++) {
        prepare(&crew[k], &jobs[k], how);
        args[k] = &crew[k];
    }
    if (gated) {
        neap_push push = {.name = "gate", .nwrites = jobs->plan->nvars, .writes = crew->vars};
        check(neap_push_async(hold, &gate, &push));
        while (!atomic_load(&gate))
            bench_pause(1e5);
    }
    double used = bench_processor(), start = bench_now();
    bench_crew(pushers, push_all, args);
    out->pushed = bench_now() - start;
    if (gated)
        neap_complete(gate, NEAP_OK);
    check(neap_wait_all());
    out->done = bench_now() - start;
    out->processor = bench_processor() - used;
    if ((gated || how == PLAIN || how == OPERATOR) && inlined() != inlined_before)
        bench_fail("neap: ops ran at their push");
    for (int k = 0; k < pushers; k++)
        dismiss(&crew[k]);
}

static void latency(int samples, double pause_ns, uint32_t flags, double *out) {
    neap_var *var;
    int64_t count = 0;
    check(neap_var_new(&var));
    for (int i = 0; i < samples; i++) {
        bench_pause(pause_ns);
        neap_push push = {.name = "increment", .flags = flags, .nwrites = 1, .writes = &var};
        double start = bench_now();
        check(neap_push_sync(increment, &count, &push));
        check(neap_var_wait_to_read(var));
        out[i] = bench_now() - start;
    }
    if (count != samples)
        bench_fail("neap: %d ops, %lld increments", samples, (long long)count);
    neap_var_delete(var);
}

static void latency_plain(int samples, double pause_ns, double *out) {
    latency(samples, pause_ns, 0, out);
}

static void latency_small(int samples, double pause_ns, double *out) {
    latency(samples, pause_ns, NEAP_PUSH_SMALL, out);
}

static void run_plain(const bench_job *jobs, int pushers, bool gated, bench_times *out) {
    run(jobs, pushers, gated, PLAIN, out);
}

static void run_small(const bench_job *jobs, int pushers, bool gated, bench_times *out) {
    run(jobs, pushers, gated, SMALL, out);
}

static void run_operator(const bench_job *jobs, int pushers, bool gated, bench_times *out) {
    run(jobs, pushers, gated, OPERATOR, out);
}

static void run_bulk(const bench_job *jobs, int pushers, bool gated, bench_times *out) {
    run(jobs, pushers, gated, BULKED, out);
}

const bench_contender bench_neap_plain = {"plain", open, neap_engine_stop, run_plain, latency_plain};
const bench_contender bench_neap_small = {"small", open, neap_engine_stop, run_small, latency_small};
const bench_contender bench_neap_operator = {"operator", open, neap_engine_stop, run_operator, latency_plain};
const bench_contender bench_neap_bulk = {"bulk", open, neap_engine_stop, run_bulk, latency_small};
