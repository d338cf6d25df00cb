/* work.c: effects with results: work that prints while it runs, such as a loop.
 *
 *                 ┌─ token op    writes the tokens ─────────────┐ both
 *      work ──────┤                                             ├─started──▶ runs, on the thread of the later one
 *                 └─ results op  reads inputs, writes results ──┘
 *
 * As in callback.c the two ops keep failure apart: a token never carries one. Here the results op runs even if an input
 * has failed: the work looks at its inputs itself, so that it can tell of that in its place.
 */
#include "effects/effects_internal.h"
#include "engine/comm/comm.h"

#include <stdlib.h>

typedef struct work {
    neap_sync_fn fn;
    void *arg;
    void (*release)(void *arg);
    effects_scope *frame;
    int output;          /* the device of its output token, or EFFECTS_ORDERED */
    bool refused;        /* its results op could not be pushed: it only lets the tokens pass */
    _Atomic int missing; /* ops that have not started yet */
    neap_completion *token, *results;
    engine_comm *comm; /* whose thread runs it; NULL: any */
    neap_run run;      /* of the results op */
    uint32_t source;   /* of its text */
} work;

static void do_joined_work(work *w, int worker) {
    neap_completion *token = w->token;
    effects_scope *frame = w->frame;
    int output = w->output;
    if (w->refused) {
        free(w);
    } else {
        neap_run here = w->run;
        here.worker = worker;
        uint32_t before = neap_out_set_source(w->source);
        neap_complete(w->results, w->fn(w->arg, &here)); /* releases w */
        neap_out_set_source(before);
    }
    if (token)
        neap_complete(token, NEAP_OK);
    effects_happened(frame, output);
}

static void do_on_communication_thread(void *arg) {
    do_joined_work(arg, -1);
}

static int fail_refused_work(void *arg, const neap_run *run) {
    (void)arg, (void)run;
    return neap_error(NEAP_E_MEMORY, "no memory for work with collectives");
}

static int do_on_worker(void *arg, const neap_run *run) {
    do_joined_work(arg, run->worker);
    return NEAP_OK;
}

/* Has a worker run it, whenever there is one. False: no memory. */
static bool hand_to_worker(work *w) {
    neap_push push = {.name = "work", .device = w->run.device, .flags = NEAP_PUSH_ALWAYS};
    return neap_push_sync(do_on_worker, w, &push) == NEAP_OK;
}

/* The last op to start runs the work here, or has it run: a thread of the script's could see to nothing else meanwhile,
 * Ctrl-C included. Such a thread may start the token, which is a small op. */
static void note_work_start(work *w, const neap_run *run) {
    if (atomic_fetch_sub_explicit(&w->missing, 1, memory_order_acq_rel) > 1)
        return;
    if (w->comm && !w->refused) {
        if (engine_comm_call(w->comm, do_on_communication_thread, w) == NEAP_OK)
            return;
        w->fn = fail_refused_work;
    }
    int worker = run ? run->worker : -1;
    if (worker < 0 && !w->refused && hand_to_worker(w))
        return;
    do_joined_work(w, worker);
}

static void start_work_token(void *arg, const neap_run *run, neap_completion *done) {
    work *w = arg;
    w->token = done;
    note_work_start(w, run);
}

static void start_work_results(void *arg, const neap_run *run, neap_completion *done) {
    work *w = arg;
    w->results = done;
    w->run = *run;
    note_work_start(w, run);
}

static void release_joined_work(void *arg) {
    work *w = arg;
    w->release(w->arg);
    free(w);
}

/* Inside a callback effects are not joined with other ops (effects.c). */
static int push_work_ops(work *w, int ntokens, effects_token *const *tokens, const neap_push *push) {
    int status = effects_tokens_push(start_work_token, w, ntokens, tokens, push);
    if (status) {
        free(w);
        return status;
    }
    neap_push timed = *push;
    timed.release = release_joined_work;
    timed.flags |= NEAP_PUSH_ALWAYS;
    status = w->comm ? engine_comm_push_async(w->comm, start_work_results, w, &timed)
                     : neap_push_async(start_work_results, w, &timed);
    if (status && !ntokens) {
        free(w);
    } else if (status) {
        effects_announce(w->frame->store, w->output); /* in place of the one that is taken back */
        w->refused = true;
        note_work_start(w, NULL);
    }
    return status;
}

int neap_effects_work(neap_effects *effects, int kinds, int collective, neap_sync_fn fn, void *arg,
                      const neap_push *push) {
    effects_token *tokens[NEAP_EFFECT_MOST];
    int status = effects_check(effects, push);
    int ntokens = status ? status : effects_tokens_get(effects, kinds, tokens);
    if (ntokens < 0)
        return ntokens;
    work *w = engine_alloc(sizeof *w);
    if (!w)
        return neap_error(NEAP_E_MEMORY, "no memory for an effect");
    int output = ntokens ? EFFECTS_ORDERED : push->device;
    *w = (work){.fn = fn,
                .arg = arg,
                .release = push->release,
                .frame = effects->top,
                .output = output,
                .comm = collective ? engine_comm_here() : NULL,
                .missing = 1 + (ntokens > 0),
                .source = neap_out_source()};
    effects_announce(effects, output);
    if ((status = push_work_ops(w, ntokens, tokens, push)) != NEAP_OK) {
        effects_withdraw(effects, output);
        return status;
    }
    effects_count_push(effects, ntokens, tokens, push->device);
    return NEAP_OK;
}
