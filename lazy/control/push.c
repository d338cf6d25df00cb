/* control/push.c: running control nodes: as an op of the engine, as an effect, or, where bodies have callbacks, as a
 * request that the user thread works on; where other processes take part in a body, as work of the communication
 * thread. With both it is a request that goes from this thread to that and back, at each callback.
 *
 * A loop of unknown length may be over in 5 µs, as the search for a root is, or have no end. To hand a loop to a worker
 * that sleeps takes BEGIN_NS, and no more is lost here on a long one:
 *
 *      push ──▶ its inputs are there, turns are short: the pushing thread runs turns ──▶ over: that was all
 *        │                                                 └─ BEGIN_NS are over: an op of the other turns ─┐
 *        └────▶ else an op of all turns ───────────────────────────────────────────────────────────────────┴─▶ a worker
 *
 * Both ops read and write the same variables, and nothing comes between the two.
 */
#include <stdio.h>
#include <string.h>

#include "engine/comm/comm.h"
#include "engine/sync.h"
#include "lazy/control/body.h"

enum { BEGIN_NS = 50000 }; /* until a sleeping worker has come */

typedef struct lazy_control_run {
    neap_ctx *ctx;
    lazy_runner *runner;
    neap_buffer *block, *scratch; /* scratch: of data; on the host, of frames and data */
    void *frames;                 /* of a device whose memory the host does not see */
    body_run run;
    bool begun, effects, exchanges, unsettled;
    bool left; /* turns are left of those that began where the loop was pushed */
    int n;
    void **in;           /* the memory of the inputs */
    neap_buffer *bufs[]; /* the buffers that hold that memory */
} lazy_control_run;

static void free_control_run(void *arg) {
    lazy_control_run *state = arg;
    for (int k = 0; k < state->n; k++)
        plan_unsettled_let_go(state->bufs[k], state->unsettled);
    plan_unsettled_let_go(state->block, state->unsettled);
    plan_unsettled_let_go(state->scratch, state->unsettled);
    free(state->frames);
    control_runner_release(state->runner);
    free(state->in);
    free(state);
}

static int new_control_run(neap_ctx *ctx, const lazy_launch *launch, lazy_control_run **out) {
    const neap_node *node = launch->node;
    lazy_control_run *state = *out = calloc(1, sizeof *state + node->nin * sizeof *state->bufs);
    if (state)
        state->in = malloc(((size_t)node->nin + 1) * sizeof *state->in);
    if (!state || !state->in) {
        free(state);
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    }
    lazy_runner *runner = control_runner_at(control_of(node), launch->step->device);
    if (!runner || (!body_is_on_host(runner) && !(state->frames = aligned_alloc(LAZY_BLOCK_ALIGN, runner->frames)))) {
        free(state->in);
        free(state);
        return runner ? neap_error(NEAP_E_MEMORY, "out of memory while pushing")
                      : neap_error(NEAP_E_STATE, "%s was not made ready for its device", graph_node_op(node)->name);
    }
    state->ctx = ctx;
    state->unsettled = launch->unsettled;
    state->runner = control_runner_retain(runner);
    plan_unsettled_hold(state->block = launch->bufs[node->nin], state->unsettled);
    plan_unsettled_hold(state->scratch = launch->scratch, state->unsettled);
    for (; state->n < node->nin; state->n++) {
        int64_t offset = launch->step->offsets[state->n] * neap_dtype_bytes(node->in[state->n]->dtype);
        plan_unsettled_hold(state->bufs[state->n] = launch->bufs[state->n], state->unsettled);
        state->in[state->n] = (char *)neap_buffer_data(state->bufs[state->n]) + offset;
    }
    return 0;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */
/* The failure of an input, which an op with effects has to look for itself. */
static int find_failure(const lazy_control_run *state) {
    int status = 0;
    for (int k = 0; k < state->n && status >= 0; k++)
        status = neap_var_poll(neap_buffer_var(state->bufs[k]), NULL);
    return status < 0 ? status : 0;
}

static int begin_run(lazy_control_run *state, const neap_run *run) {
    char *data = neap_buffer_data(state->scratch), *frames = state->frames;
    if (!frames) {
        frames = data + (LAZY_BLOCK_ALIGN - (uintptr_t)data % LAZY_BLOCK_ALIGN) % LAZY_BLOCK_ALIGN;
        data = frames + state->runner->frames;
    }
    return control_body_begin(&state->run, state->runner, state->in, neap_buffer_data(state->block), frames, data, run);
}

/* A failure is told where the next print of the body would have been. What a branch would print nobody knows. */
static int tell(lazy_control_run *state, int status, bool begun, const neap_run *run) {
    char text[1024];
    if (!state->effects || status == NEAP_E_INTERRUPT || (!begun && state->runner->kind->branches))
        return status;
    snprintf(text, sizeof text, "%s", neap_error_text());
    if (!begun)
        begin_run(state, run);
    control_body_report(&state->run, text);
    return neap_error(status, "%s", text);
}

static int advance_runner(lazy_control_run *state, const neap_run *run) {
    int status = state->effects && !state->begun ? find_failure(state) : 0;
    if (status == 0 && !state->begun)
        status = begin_run(state, run);
    bool begun = state->begun = status == 0;
    if (status == 0)
        status = control_body_advance(&state->run, run);
    return status < 0 ? tell(state, status, begun, run) : status;
}

static int run_control_run(void *arg, const neap_run *run) {
    return advance_runner(arg, run);
}

static int fail_at_callback(void *arg, int status) {
    lazy_control_run *state = arg;
    state->run.effects = state->ctx->effects;
    return tell(state, control_body_failure(state->run.waiting, status), true, NULL);
}

static int advance_to_callback(void *arg, const neap_run *where, const lazy_work_call **call, void *const **operands) {
    lazy_control_run *state = arg;
    neap_run here = {.worker = -1, .device = where->device, .epoch = where->epoch};
    state->run.effects = state->exchanges ? NULL : state->ctx->effects; /* else the communication thread is here */
    int status = advance_runner(state, &here);
    *call = state->run.waiting ? &state->run.waiting->call : NULL;
    *operands = state->run.operands;
    return status;
}

/* What the user thread runs, or has a part in, since there are callbacks in its bodies. */
static const lazy_work_kind with_callbacks = {advance_to_callback, fail_at_callback, free_control_run};

/* Its first turns. */
static int run_first_turns(void *arg, const neap_run *run) {
    lazy_control_run *state = arg;
    state->run.until = engine_now() + BEGIN_NS;
    int status = advance_runner(state, run);
    state->left = status == NEAP_PENDING;
    return status < 0 ? status : 0;
}

static int run_other_turns(void *arg, const neap_run *run) {
    lazy_control_run *state = arg;
    state->run.until = 0;
    return advance_runner(state, run);
}

/* ---- Pushing ----------------------------------------------------------------------------------------------------- */
static int compare_held_vars(const void *a, const void *b) {
    uintptr_t left = (uintptr_t) * (neap_var *const *)a, right = (uintptr_t) * (neap_var *const *)b;
    return left < right ? -1 : left > right;
}

/* The variables of the inputs and of constants, each once. */
static int find_control_reads(const lazy_control_run *state, neap_var **reads) {
    int n = 0, inputs = state->n, all = inputs + (int)state->runner->held.n;
    for (int k = 0; k < all; k++)
        reads[k] = neap_buffer_var(k < inputs ? state->bufs[k] : state->runner->held.at[k - inputs]);
    qsort(reads, (size_t)all, sizeof *reads, compare_held_vars);
    for (int k = 0; k < all; k++)
        if (n == 0 || reads[n - 1] != reads[k])
            reads[n++] = reads[k];
    return n;
}

/* A loop that begins here. */
static int push_in_two(lazy_control_run *state, const neap_push *push) {
    neap_push first = *push;
    first.release = NULL;
    first.flags |= NEAP_PUSH_SMALL;
    if (neap_push_now(run_first_turns, state, &first) == NEAP_PENDING)
        return neap_push_sync(run_control_run, state, push);
    if (state->left)
        return neap_push_sync(run_other_turns, state, push);
    free_control_run(state);
    return 0;
}

static int push_run(lazy_control_run *state, int effects, neap_push *push) {
    push->release = free_control_run;
    if (effects & LAZY_EFFECTS_CALLBACK)
        return effect_callback_loop(state->ctx, &with_callbacks, state, effects, push);
    if (state->effects)
        return neap_effects_work(state->ctx->effects, effects & LAZY_EFFECTS_ORDERED, state->exchanges, run_control_run,
                                 state, push);
    if (state->exchanges)
        return engine_comm_push_work(engine_comm_here(), run_control_run, state, push);
    return state->runner->begins ? push_in_two(state, push) : neap_push_sync(run_control_run, state, push);
}

int control_push(neap_ctx *ctx, const lazy_launch *launch) {
    const lazy_step *step = launch->step;
    lazy_control_run *state;
    int status = new_control_run(ctx, launch, &state);
    if (status)
        return status;
    size_t most = (size_t)state->n + (size_t)state->runner->held.n;
    neap_var *few[64], **reads = most <= 64 ? few : malloc(most * sizeof *reads);
    if (!reads) {
        free_control_run(state);
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    }
    state->effects = (state->runner->effects & ~LAZY_EFFECTS_EXCHANGE) != 0;
    state->exchanges = (state->runner->effects & LAZY_EFFECTS_EXCHANGE) != 0;
    neap_var *writes[] = {neap_buffer_var(state->block), neap_buffer_var(state->scratch)};
    bool shared = neap_buffer_bytes(state->scratch) >= LAZY_SHARED_SCRATCH; /* with other steps of its plan */
    neap_push push = {.name = step->call.op->name,
                      .site = step->site,
                      .device = step->device,
                      .flags = step->cost < LAZY_SMALL_COST ? NEAP_PUSH_SMALL : 0,
                      .nreads = find_control_reads(state, reads),
                      .nwrites = shared ? 2 : 1,
                      .reads = reads,
                      .writes = writes,
                      .bytes = (int64_t)neap_buffer_bytes(state->block),
                      .cost = step->cost};
    status = push_run(state, state->runner->effects, &push);
    if (status)
        free_control_run(state);
    if (reads != few)
        free(reads);
    return status;
}
