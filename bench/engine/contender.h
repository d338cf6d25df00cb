/* contender.h: what a library has to offer to take part in the comparison of bench/engine/main.c.
 *
 *      plan: a list of ops over numbered variables, the same for everybody
 *      job:  one pusher's work: the plan's ops in order, again from the first after the last, `pushes` in all
 *
 * An op reads some variables and writes one, and its work is to add one to the written variable's cell, without an
 * atomic operation: a library that lets two writers of a variable run at once, or skips an op, is found out by the sum.
 */
#ifndef BENCH_ENGINE_CONTENDER_H
#define BENCH_ENGINE_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bench_op {
    int nreads, write;
    const int *reads; /* `write` is not among them */
} bench_op;

typedef struct bench_plan {
    int nvars, nops;
    int width; /* no more ops than this can be ready at a time */
    bench_op *ops;
} bench_plan;

typedef struct bench_cell { /* a cache line, so that neighbours do not disturb each other */
    _Alignas(64) int64_t count;
} bench_cell;

typedef struct bench_job {
    const bench_plan *plan;
    bench_cell *cells; /* [plan->nvars], of this pusher alone */
    int64_t pushes;
} bench_job;

enum { BENCH_PUSHERS_MOST = 8 };

typedef struct bench_times { /* ns since the start of the run */
    double pushed;           /* the last push has returned */
    double done;             /* the last op has finished, and a pusher knows it */
    double processor;        /* time that all threads of the process have used until then */
} bench_times;

typedef struct bench_contender {
    const char *name;
    /* Starts the library with `threads` threads that run ops, all alive and warm. */
    void (*open)(int threads);
    void (*close)(void);
    /* Makes the variables, then runs the jobs, each on a thread of its own, and times that. `gated` (one job only):
     * first all variables are held back; they are released when the last push has returned. */
    void (*run)(const bench_job *jobs, int pushers, bool gated, bench_times *out);
    /* Pushes single ops, one after the other, each onto an idle library: ns from before the push until the pusher knows
     * that it has finished. Between two of them the pusher pauses for pause_ns. */
    void (*latency)(int samples, double pause_ns, double *out);
} bench_contender;

extern const bench_contender bench_neap_plain, bench_neap_small, bench_neap_operator, bench_neap_bulk, bench_openmp,
    bench_starpu;

/* Of `pushes` ops pushed as in the run, how many OpenMP ran inside their push instead of deferring them. */
int64_t bench_openmp_undeferred(const bench_job *jobs, int pushers);

double bench_now(void);       /* ns of the monotonic clock */
double bench_processor(void); /* ns of processor time, of all threads */
void bench_pause(double ns);
void *bench_alloc(size_t bytes);
_Noreturn void bench_fail(const char *format, ...);
/* Calls push(args[k]) for every k < n, each on a thread of its own (the first on the caller's); returns when all have
 * returned. */
void bench_crew(int n, void (*push)(void *arg), void **args);

#endif
