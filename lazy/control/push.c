/* control/push.c: running control nodes: as an op of the engine, as an effect, or, where bodies have callbacks, as a
 * request that the user thread works on; where other processes take part in a body, as work of the communication
 * thread.
 */
#include <stdio.h>
#include <string.h>

#include "engine/comm/comm.h"
#include "lazy/control/body.h"

typedef struct lazy_control_run {
    neap_ctx *ctx;
    lazy_runner *runner;
    neap_buffer *block, *scratch; /* scratch: of data; on the host, of frames and data */
    void *frames;                 /* of a device whose memory the host does not see */
    body_run run;
    bool begun, effects;
    int n;
    void **in;           /* the memory of the inputs */
    neap_buffer *bufs[]; /* the buffers that hold that memory */
} lazy_control_run;

static void free_control_job(void *arg) {
    lazy_control_run *job = arg;
    for (int k = 0; k < job->n; k++)
        neap_buffer_return(job->bufs[k]);
    neap_buffer_release(job->block);
    neap_buffer_release(job->scratch);
    free(job->frames);
    control_runner_release(job->runner);
    free(job->in);
    free(job);
}

static int new_control_job(neap_ctx *ctx, const lazy_launch *launch, lazy_control_run **out) {
    const neap_node *node = launch->node;
    lazy_control_run *job = *out = calloc(1, sizeof *job + node->nin * sizeof *job->bufs);
    if (job)
        job->in = malloc(((size_t)node->nin + 1) * sizeof *job->in);
    if (!job || !job->in) {
        free(job);
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    }
    lazy_runner *runner = control_runner_at(control_of(node), launch->step->device);
    if (!runner || (!body_is_on_host(runner) && !(job->frames = aligned_alloc(LAZY_BLOCK_ALIGN, runner->frames)))) {
        free(job->in);
        free(job);
        return runner ? neap_error(NEAP_E_MEMORY, "out of memory while pushing")
                      : neap_error(NEAP_E_STATE, "%s was not made ready for its device", graph_node_op(node)->name);
    }
    job->ctx = ctx;
    job->runner = control_runner_retain(runner);
    job->block = neap_buffer_retain(launch->bufs[node->nin]);
    job->scratch = neap_buffer_retain(launch->scratch);
    for (; job->n < node->nin; job->n++) {
        int64_t offset = launch->step->offsets[job->n] * neap_dtype_bytes(node->in[job->n]->dtype);
        job->bufs[job->n] = neap_buffer_lend(launch->bufs[job->n]);
        job->in[job->n] = (char *)neap_buffer_data(job->bufs[job->n]) + offset;
    }
    return 0;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */
/* The failure of an input, which an op with effects has to look for itself. */
static int find_failure(const lazy_control_run *job) {
    int status = 0;
    for (int k = 0; k < job->n && status >= 0; k++)
        status = neap_var_poll(neap_buffer_var(job->bufs[k]), NULL);
    return status < 0 ? status : 0;
}

static int begin_run(lazy_control_run *job, const neap_run *run) {
    char *data = neap_buffer_data(job->scratch), *frames = job->frames;
    if (!frames) {
        frames = data + (LAZY_BLOCK_ALIGN - (uintptr_t)data % LAZY_BLOCK_ALIGN) % LAZY_BLOCK_ALIGN;
        data = frames + job->runner->frames;
    }
    return control_body_begin(&job->run, job->runner, job->in, neap_buffer_data(job->block), frames, data, run);
}

/* A failure is told where the next print of the body would have been. What a branch would print nobody knows. */
static int tell(lazy_control_run *job, int status, bool begun, const neap_run *run) {
    char text[1024];
    if (!job->effects || status == NEAP_E_INTERRUPT || (!begun && job->runner->kind->branches))
        return status;
    snprintf(text, sizeof text, "%s", neap_error_text());
    if (!begun)
        begin_run(job, run);
    control_body_report(&job->run, text);
    return neap_error(status, "%s", text);
}

static int advance_runner(lazy_control_run *job, const neap_run *run) {
    int status = job->effects && !job->begun ? find_failure(job) : 0;
    if (status == 0 && !job->begun)
        status = begin_run(job, run);
    bool begun = job->begun = status == 0;
    if (status == 0)
        status = control_body_advance(&job->run, run);
    return status < 0 ? tell(job, status, begun, run) : status;
}

static int run_control_job(void *arg, const neap_run *run) {
    return advance_runner(arg, run);
}

static int fail_at_callback(void *arg, int status) {
    lazy_control_run *job = arg;
    return tell(job, control_body_failure(job->run.waiting, status), true, NULL);
}

static int advance_to_callback(void *arg, const neap_run *where, const lazy_job_call **call, void *const **operands) {
    lazy_control_run *job = arg;
    neap_run here = {.worker = -1, .device = where->device, .epoch = where->epoch};
    job->run.effects = job->ctx->effects;
    int status = advance_runner(job, &here);
    *call = job->run.waiting ? &job->run.waiting->call : NULL;
    *operands = job->run.operands;
    return status;
}

/* What the user thread runs, since there are callbacks in its bodies. */
static const lazy_job_kind with_callbacks = {advance_to_callback, fail_at_callback, free_control_job};

/* ---- Pushing ----------------------------------------------------------------------------------------------------- */
static int compare_held_vars(const void *a, const void *b) {
    uintptr_t left = (uintptr_t) * (neap_var *const *)a, right = (uintptr_t) * (neap_var *const *)b;
    return left < right ? -1 : left > right;
}

/* The variables of the inputs and of constants, each once. */
static int find_control_reads(const lazy_control_run *job, neap_var **reads) {
    int n = 0, inputs = job->n, all = inputs + (int)job->runner->held.n;
    for (int k = 0; k < all; k++)
        reads[k] = neap_buffer_var(k < inputs ? job->bufs[k] : job->runner->held.at[k - inputs]);
    qsort(reads, (size_t)all, sizeof *reads, compare_held_vars);
    for (int k = 0; k < all; k++)
        if (n == 0 || reads[n - 1] != reads[k])
            reads[n++] = reads[k];
    return n;
}

static int push_job(lazy_control_run *job, int effects, neap_push *push) {
    bool exchanges = effects & LAZY_EFFECTS_EXCHANGE;
    effects &= ~LAZY_EFFECTS_EXCHANGE;
    push->release = free_control_job;
    if (effects & LAZY_EFFECTS_CALLBACK)
        return effect_callback_loop(job->ctx, &with_callbacks, job, effects, push);
    if (effects)
        return neap_effects_work(job->ctx->effects, effects & LAZY_EFFECTS_ORDERED, exchanges, run_control_job, job,
                                 push);
    if (exchanges)
        return engine_comm_push_work(engine_comm_here(), run_control_job, job, push);
    return neap_push_sync(run_control_job, job, push);
}

int control_push(neap_ctx *ctx, const lazy_launch *launch) {
    const lazy_step *step = launch->step;
    lazy_control_run *job;
    int status = new_control_job(ctx, launch, &job);
    if (status)
        return status;
    size_t most = (size_t)job->n + (size_t)job->runner->held.n;
    neap_var *few[64], **reads = most <= 64 ? few : malloc(most * sizeof *reads);
    if (!reads) {
        free_control_job(job);
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    }
    job->effects = (job->runner->effects & ~LAZY_EFFECTS_EXCHANGE) != 0;
    neap_var *writes[] = {neap_buffer_var(job->block), neap_buffer_var(job->scratch)};
    bool shared = neap_buffer_bytes(job->scratch) >= LAZY_SHARED_SCRATCH; /* with other steps of its plan */
    neap_push push = {.name = step->call.op->name,
                      .site = step->site,
                      .device = step->device,
                      .flags = step->cost < LAZY_SMALL_COST ? NEAP_PUSH_SMALL : 0,
                      .nreads = find_control_reads(job, reads),
                      .nwrites = shared ? 2 : 1,
                      .reads = reads,
                      .writes = writes,
                      .bytes = (int64_t)neap_buffer_bytes(job->block),
                      .cost = step->cost};
    status = push_job(job, job->runner->effects, &push);
    if (status)
        free_control_job(job);
    if (reads != few)
        free(reads);
    return status;
}
