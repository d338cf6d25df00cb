/* comm/push.c: collectives as ops of the engine. Each writes the communicator's variable, so they run in push order;
 * when its turn has come, the op only enters a queue, whose thread completes it.
 *
 * A collective runs even if an input has failed: the other processes, which cannot know, are told in its place. Its
 * failure is that of its result and not of the communicator's variable: the next one begins anew.
 */
#include "engine/comm/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Collectives ------------------------------------------------------------------------------------------------- */
typedef struct collective_job {
    comm_job job; /* the first member */
    engine_comm *comm;
    engine_collective what;
    neap_buffer *out;
    char name[64], site[128]; /* the texts of `what` */
    char *failed;             /* why there is no input; NULL: there is */
    bool stuck;
    int n;
    const void **at;   /* the addresses of the n blocks */
    neap_buffer *in[]; /* the buffers in which the blocks lie */
} collective_job;

static int run_collective(engine_comm *comm, comm_job *job) {
    collective_job *j = (collective_job *)job;
    int status = comm_collective(comm, &j->what, j->at, j->out ? neap_buffer_data(j->out) : NULL, j->failed);
    j->stuck = comm->stuck;
    return status;
}

/* Memory that a broken transport may still use is never given back. */
static void release_collective(void *arg) {
    collective_job *j = arg;
    for (int k = 0; k < j->n && !j->stuck; k++)
        neap_buffer_return(j->in[k]);
    if (j->out && !j->stuck)
        neap_buffer_return(j->out);
    free(j->failed);
    free(j->at);
    free(j);
}

static void start_collective(void *arg, const neap_run *run, neap_completion *done) {
    collective_job *j = arg;
    (void)run;
    j->job.done = done;
    for (int k = 0; k < j->n && !j->failed; k++)
        if (neap_var_failure(neap_buffer_var(j->in[k])) < 0)
            j->failed = strdup(neap_error_text());
    comm_enqueue(j->comm, &j->job);
}

static int collective_new(engine_comm *comm, const engine_collective *what, const engine_comm_block *in,
                          neap_buffer *out, collective_job **made) {
    int n = engine_comm_nin(what, comm->rank);
    collective_job *j = *made = calloc(1, sizeof *j + (size_t)n * sizeof *j->in);
    if (j)
        j->at = malloc(((size_t)n + 1) * sizeof *j->at);
    if (!j || !j->at) {
        free(j);
        return neap_error(NEAP_E_MEMORY, "no memory for a collective");
    }
    j->job.run = run_collective;
    j->comm = comm;
    j->what = *what;
    snprintf(j->name, sizeof j->name, "%s", what->what);
    snprintf(j->site, sizeof j->site, "%s", what->site ? what->site : "");
    j->what.what = j->name;
    j->what.site = j->site;
    j->out = out ? neap_buffer_lend(out) : NULL;
    for (; j->n < n; j->n++) {
        j->in[j->n] = neap_buffer_lend(in[j->n].buffer);
        j->at[j->n] = (const char *)neap_buffer_data(in[j->n].buffer) + in[j->n].offset;
    }
    return NEAP_OK;
}

/* The variables of the inputs, each once. */
static int find_collective_reads(const collective_job *j, neap_var **reads) {
    int n = 0;
    for (int k = 0; k < j->n; k++) {
        neap_var *var = neap_buffer_var(j->in[k]);
        int at = 0;
        while (at < n && reads[at] != var)
            at++;
        if (at == n)
            reads[n++] = var;
    }
    return n;
}

int engine_comm_push(engine_comm *comm, const engine_collective *what, const engine_comm_block *in, neap_buffer *out,
                     const neap_push *push) {
    enum { FEW = 16 };
    collective_job *j;
    int status = collective_new(comm, what, in, out, &j);
    if (status < 0)
        return status;
    neap_var *few[FEW], **reads = j->n <= FEW ? few : malloc((size_t)j->n * sizeof *reads);
    neap_var *writes[] = {comm->var, out ? neap_buffer_var(out) : NULL};
    if (!reads) {
        release_collective(j);
        return neap_error(NEAP_E_MEMORY, "no memory for a collective");
    }
    neap_push own = {.name = push && push->name ? push->name : j->name,
                     .site = push && push->site ? push->site
                             : *j->site         ? j->site
                                                : NULL,
                     .device = push ? push->device : 0,
                     .priority = push ? push->priority : 0,
                     .release = release_collective,
                     .flags = NEAP_PUSH_SMALL | NEAP_PUSH_ALWAYS,
                     .nreads = find_collective_reads(j, reads),
                     .nwrites = out ? 2 : 1,
                     .nfresh = out ? 2 : 1,
                     .reads = reads,
                     .writes = writes,
                     .bytes = out ? (int64_t)neap_buffer_bytes(out) : 0};
    status = neap_push_async(start_collective, j, &own);
    if (reads != few)
        free(reads);
    if (status < 0)
        release_collective(j);
    return status;
}

/* ---- Work on the communication thread ---------------------------------------------------------------------------- */
typedef struct work_job {
    comm_job job;
    engine_comm *comm;
    neap_sync_fn fn;
    void *arg;
    void (*release)(void *arg);
    neap_run run;
} work_job;

static int run_work(engine_comm *comm, comm_job *job) {
    work_job *j = (work_job *)job;
    int status = comm_check(comm);
    return status < 0 ? status : j->fn(j->arg, &j->run);
}

static void release_work_job(void *arg) {
    work_job *j = arg;
    if (j->release && !j->comm->stuck)
        j->release(j->arg);
    free(j);
}

static void start_work(void *arg, const neap_run *run, neap_completion *done) {
    work_job *j = arg;
    j->job.done = done;
    j->run = (neap_run){.device = run->device, .worker = -1, .epoch = run->epoch};
    comm_enqueue(j->comm, &j->job);
}

int engine_comm_push_async(engine_comm *comm, neap_async_fn start, void *arg, const neap_push *push) {
    neap_var **writes = malloc(((size_t)push->nwrites + 1) * sizeof *writes);
    if (!writes)
        return neap_error(NEAP_E_MEMORY, "no memory for work with collectives");
    neap_push own = *push;
    writes[0] = comm->var;
    memcpy(writes + 1, push->writes, (size_t)push->nwrites * sizeof *writes);
    own.flags |= NEAP_PUSH_SMALL;
    own.nwrites++;
    own.nfresh++;
    own.writes = writes;
    int status = neap_push_async(start, arg, &own);
    free(writes);
    return status;
}

int engine_comm_push_work(engine_comm *comm, neap_sync_fn fn, void *arg, const neap_push *push) {
    work_job *j = malloc(sizeof *j);
    if (!j)
        return neap_error(NEAP_E_MEMORY, "no memory for work with collectives");
    *j = (work_job){.job.run = run_work, .comm = comm, .fn = fn, .arg = arg, .release = push->release};
    neap_push own = *push;
    own.release = release_work_job;
    int status = engine_comm_push_async(comm, start_work, j, &own);
    if (status < 0)
        free(j);
    return status;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */
typedef struct call_job {
    comm_job job;
    void (*fn)(void *arg);
    void *arg;
} call_job;

static int run_call_job(engine_comm *comm, comm_job *job) {
    call_job j = *(call_job *)job;
    (void)comm;
    free(job);
    j.fn(j.arg);
    return NEAP_OK;
}

int engine_comm_call(engine_comm *comm, void (*fn)(void *arg), void *arg) {
    call_job *j = malloc(sizeof *j);
    if (!j)
        return neap_error(NEAP_E_MEMORY, "no memory for work with collectives");
    *j = (call_job){.job.run = run_call_job, .fn = fn, .arg = arg};
    comm_enqueue(comm, &j->job);
    return NEAP_OK;
}
