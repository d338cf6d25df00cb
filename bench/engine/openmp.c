/* openmp.c: OpenMP tasks with dependences as a contender. Compiled with -fopenmp.
 *
 * The team has `threads` threads and pushers are among them: a pusher runs tasks only while it waits for its own, the
 * others from the start. Dependences hold between tasks of one parent, so each pusher has variables of its own. The
 * gate is a detached task that writes all variables and is completed by the pusher.
 *
 * What had to be known of gcc's libgomp (12). It runs a task inside its push once more than 64 *ready* tasks for each
 * thread are in its queues; tasks that wait for others do not count. So a chain and what stands behind a gate are
 * always deferred, but most of many independent tasks would not be. And a push looks at all unfinished readers of its
 * variables, so that its price grows with the tasks in flight: 33 us for a task of 50000 streamed in fans. Therefore a
 * pusher of streamed tasks, other than a chain's, waits for them each time when it has pushed DEFERRED of them for each
 * thread: all are deferred, the lists stay short, and the whole is many times faster than without.
 * bench_openmp_undeferred counts tasks that were not deferred all the same.
 */
#include "contender.h"

#include <omp.h>

enum { DEFERRED = 64 };

static int team;
static _Thread_local bool pushing;       /* this thread is between the start and the end of a push */
static _Thread_local int64_t undeferred; /* tasks that it ran meanwhile */

static void open(int threads) {
    team = threads;
#pragma omp parallel num_threads(team)
    { undeferred = 0; }
}

static void close(void) {
    omp_pause_resource_all(omp_pause_hard); /* or idle threads would spin beside the next contender */
}

static inline void increment(int64_t *count, bool probe) {
    ++*count;
    if (probe && pushing)
        undeferred++;
}

static inline void push_wide(bench_cell *cells, const bench_op *op, bool probe) {
    const int *reads = op->reads;
    int64_t *w = &cells[op->write].count;
#pragma omp task firstprivate(w) depend(iterator(int k = 0 : op->nreads), in : cells[reads[k]]) depend(inout : *w)
    increment(w, probe);
}

static inline void push_one(bench_cell *cells, const bench_op *op, bool probe) {
    const int *r = op->reads;
    int64_t *w = &cells[op->write].count;
    switch (op->nreads) {
    case 0:
#pragma omp task firstprivate(w) depend(inout : *w)
        increment(w, probe);
        break;
    case 1:
#pragma omp task firstprivate(w) depend(in : cells[r[0]]) depend(inout : *w)
        increment(w, probe);
        break;
    case 2:
#pragma omp task firstprivate(w) depend(in : cells[r[0]], cells[r[1]]) depend(inout : *w)
        increment(w, probe);
        break;
    case 3:
#pragma omp task firstprivate(w) depend(in : cells[r[0]], cells[r[1]], cells[r[2]]) depend(inout : *w)
        increment(w, probe);
        break;
    case 4:
#pragma omp task firstprivate(w) depend(in : cells[r[0]], cells[r[1]], cells[r[2]], cells[r[3]]) depend(inout : *w)
        increment(w, probe);
        break;
    default:
        push_wide(cells, op, probe);
    }
}

static inline void push_all(const bench_job *job, int64_t stop_every, bool probe) {
    const bench_plan *plan = job->plan;
    int64_t until_stop = stop_every;
    for (int64_t left = job->pushes, i = 0; left > 0; left--) {
        if (probe)
            pushing = true;
        push_one(job->cells, &plan->ops[i], probe);
        if (probe)
            pushing = false;
        if (++i == plan->nops)
            i = 0;
        if (--until_stop == 0) {
            until_stop = stop_every;
#pragma omp taskwait
        }
    }
}

/* How many pushes a pusher makes before it waits; 0: all. */
static int64_t stops(const bench_job *jobs, int pushers, bool gated) {
    return gated || jobs->plan->width == 1 ? 0 : DEFERRED * team / pushers;
}

static void run(const bench_job *jobs, int pushers, bool gated, bench_times *out) {
    double start[BENCH_PUSHERS_MOST], pushed[BENCH_PUSHERS_MOST], done[BENCH_PUSHERS_MOST];
    int64_t stop_every = stops(jobs, pushers, gated);
    double used = bench_processor();
#pragma omp parallel num_threads(team)
    {
        int me = omp_get_thread_num();
        omp_event_handle_t gate = 0;
#pragma omp barrier
        if (me < pushers) {
            if (gated) {
#pragma omp task detach(gate) depend(iterator(int k = 0 : jobs->plan->nvars), inout : jobs->cells[k])
                (void)jobs;
            }
            start[me] = bench_now();
            push_all(&jobs[me], stop_every, false);
            pushed[me] = bench_now();
            if (gated)
                omp_fulfill_event(gate);
#pragma omp taskwait
            done[me] = bench_now();
        }
    }
    double first = start[0];
    *out = (bench_times){.processor = bench_processor() - used};
    for (int k = 0; k < pushers; k++) {
        first = start[k] < first ? start[k] : first;
        out->pushed = pushed[k] > out->pushed ? pushed[k] : out->pushed;
        out->done = done[k] > out->done ? done[k] : out->done;
    }
    out->pushed -= first;
    out->done -= first;
}

int64_t bench_openmp_undeferred(const bench_job *jobs, int pushers) {
    int64_t sum = 0;
    int64_t stop_every = stops(jobs, pushers, false);
#pragma omp parallel num_threads(team) reduction(+ : sum)
    {
        undeferred = 0;
#pragma omp barrier
        if (omp_get_thread_num() < pushers) {
            push_all(&jobs[omp_get_thread_num()], stop_every, true);
#pragma omp taskwait
        }
        sum += undeferred;
    }
    return sum;
}

static void latency(int samples, double pause_ns, double *out) {
    int64_t count = 0, *w = &count;
#pragma omp parallel num_threads(team)
#pragma omp master
    for (int i = 0; i < samples; i++) {
        bench_pause(pause_ns);
        double start = bench_now();
#pragma omp task firstprivate(w) depend(inout : *w)
        increment(w, false);
#pragma omp taskwait
        out[i] = bench_now() - start;
    }
    if (count != samples)
        bench_fail("openmp: %d tasks, %lld increments", samples, (long long)count);
}

const bench_contender bench_openmp = {"openmp", open, close, run, latency};
