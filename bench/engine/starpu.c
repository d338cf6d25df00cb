/* starpu.c: StarPU as a contender, on handles without data, tasks made by starpu_task_create and given to
 * starpu_task_submit (starpu_task_insert, which parses its arguments at run time, is slower).
 *
 * CPU workers only, `threads` of them; pushers are further threads. The scheduler is "eager", one queue for all
 * workers, unless the environment variable STARPU_SCHED names another: prio, ws and lws differ from it by less than
 * rounds differ from each other. Nothing is calibrated or traced. The gate: the pusher acquires all handles for
 * writing, as programs do that work on data outside tasks, and releases them.
 */
#include "contender.h"

#include <starpu.h>
#include <stdlib.h>

enum { CODELETS = 5, WIDE_MOST = 128 };

static const char SCHEDULER[] = "eager";

typedef struct pusher {
    const bench_job *job;
    starpu_data_handle_t *vars;
} pusher;

static void increment(void *buffers[], void *arg) {
    (void)buffers;
    ++*(int64_t *)arg;
}

static struct starpu_codelet few[CODELETS]; /* by the number of reads; the written handle comes first */
static struct starpu_codelet wide;
static enum starpu_data_access_mode wide_modes[WIDE_MOST];

static void check(int status, const char *what) {
    if (status < 0)
        bench_fail("starpu: %s gives %d", what, status);
}

static void open(int threads) {
    struct starpu_conf conf;
    setenv("STARPU_SILENT", "1", 1);
    setenv("STARPU_HOME", "bench/results", 0);
    check(starpu_conf_init(&conf), "starpu_conf_init");
    conf.ncpus = threads;
    conf.ncuda = conf.nopencl = 0;
    conf.bus_calibrate = conf.calibrate = 0;
    conf.sched_policy_name = SCHEDULER;
    check(starpu_init(&conf), "starpu_init");
    if (starpu_cpu_worker_get_count() != (unsigned)threads)
        bench_fail("starpu: %u workers, not %d", starpu_cpu_worker_get_count(), threads);
    for (int i = 0; i < CODELETS; i++) {
        few[i] = (struct starpu_codelet){.cpu_funcs = {increment}, .nbuffers = i + 1};
        for (int k = 0; k <= i; k++)
            few[i].modes[k] = k == 0 ? STARPU_RW : STARPU_R;
    }
    wide = (struct starpu_codelet){.cpu_funcs = {increment}, .nbuffers = STARPU_VARIABLE_NBUFFERS};
    for (int k = 0; k < WIDE_MOST; k++)
        wide_modes[k] = k == 0 ? STARPU_RW : STARPU_R;
}

static void prepare(pusher *p, const bench_job *job) {
    const bench_plan *plan = job->plan;
    *p = (pusher){job, bench_alloc((size_t)plan->nvars * sizeof *p->vars)};
    for (int i = 0; i < plan->nvars; i++)
        starpu_void_data_register(&p->vars[i]);
}

static void dismiss(pusher *p) {
    for (int i = 0; i < p->job->plan->nvars; i++)
        starpu_data_unregister(p->vars[i]);
    free(p->vars);
}

static void push_one(const pusher *p, const bench_op *op) {
    struct starpu_task *task = starpu_task_create();
    starpu_data_handle_t *handles = task->handles;
    if (op->nreads < CODELETS) {
        task->cl = &few[op->nreads];
    } else { /* starpu_task_destroy frees these */
        task->cl = &wide;
        task->nbuffers = op->nreads + 1;
        handles = task->dyn_handles = bench_alloc((size_t)task->nbuffers * sizeof *handles);
        task->dyn_modes = bench_alloc((size_t)task->nbuffers * sizeof *wide_modes);
        memcpy(task->dyn_modes, wide_modes, (size_t)task->nbuffers * sizeof *wide_modes);
    }
    handles[0] = p->vars[op->write];
    for (int k = 0; k < op->nreads; k++)
        handles[k + 1] = p->vars[op->reads[k]];
    task->cl_arg = &p->job->cells[op->write].count;
    check(starpu_task_submit(task), "starpu_task_submit");
}

static void push_all(void *arg) {
    const pusher *p = arg;
    const bench_plan *plan = p->job->plan;
    for (int64_t left = p->job->pushes, i = 0; left > 0; left--) {
        push_one(p, &plan->ops[i]);
        if (++i == plan->nops)
            i = 0;
    }
}

static void run(const bench_job *jobs, int pushers, bool gated, bench_times *out) {
    pusher crew[BENCH_PUSHERS_MOST];
    void *args[BENCH_PUSHERS_MOST];
    int nvars = jobs->plan->nvars;
    for (int k = 0; k < pushers; k++) {
        prepare(&crew[k], &jobs[k]);
        args[k] = &crew[k];
    }
    for (int i = 0; gated && i < nvars; i++)
        check(starpu_data_acquire(crew->vars[i], STARPU_RW), "starpu_data_acquire");
    double used = bench_processor(), start = bench_now();
    bench_crew(pushers, push_all, args);
    out->pushed = bench_now() - start;
    for (int i = 0; gated && i < nvars; i++)
        starpu_data_release(crew->vars[i]);
    check(starpu_task_wait_for_all(), "starpu_task_wait_for_all");
    out->done = bench_now() - start;
    out->processor = bench_processor() - used;
    for (int k = 0; k < pushers; k++)
        dismiss(&crew[k]);
}

static void latency(int samples, double pause_ns, double *out) {
    starpu_data_handle_t var;
    int64_t count = 0;
    starpu_void_data_register(&var);
    for (int i = 0; i < samples; i++) {
        bench_pause(pause_ns);
        double start = bench_now();
        struct starpu_task *task = starpu_task_create();
        task->cl = &few[0];
        task->handles[0] = var;
        task->cl_arg = &count;
        task->detach = 0;
        check(starpu_task_submit(task), "starpu_task_submit");
        check(starpu_task_wait(task), "starpu_task_wait");
        out[i] = bench_now() - start;
    }
    if (count != samples)
        bench_fail("starpu: %d tasks, %lld increments", samples, (long long)count);
    starpu_data_unregister(var);
}

const bench_contender bench_starpu = {"starpu", open, starpu_shutdown, run, latency};
