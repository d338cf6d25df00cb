/* program/run.c: running a program on live arrays: the steps of its plan are pushed on the buffers of its arguments,
 * its effects in their order among them.
 */
#include <stdio.h>
#include <string.h>

#include "lazy/effect/effect.h"
#include "lazy/plan/keep.h"
#include "lazy/program/donate.h"
#include "lazy/program/lower.h"

/* ---- Inputs ------------------------------------------------------------------------------------------------------ */
/* Can the value of a number argument be an element of all dtypes that it met in the trace? One that is an argument of a
 * trace around this one, or computed of such, meets them there. */
static bool number_fits(neap_node *node, uint32_t meets) {
    for (int d = 0; d < NEAP_DTYPE_COUNT; d++)
        if (meets >> d & 1 && !graph_number_meets(node, d))
            return false;
    return true;
}

static int check_number(neap_node *node, uint32_t meets, int k) {
    bool whole = meets & LAZY_NUMBER_DECIDED && !(meets & LAZY_NUMBER_FRACTION);
    if (number_fits(node, meets)) {
        if (!whole || !graph_number_is_fraction(node))
            return 0;
        if (graph_is_constant(node))
            return neap_error(NEAP_E_DTYPE,
                              "program: input %d: the number %.17g decides a dtype and has to be whole, as it was in "
                              "the trace",
                              k + 1, node->value);
        return neap_error(NEAP_E_DTYPE,
                          "program: input %d: a number that may be a fraction decides a dtype and has to be whole, as "
                          "it was in the trace",
                          k + 1);
    }
    if (!graph_is_constant(node))
        return neap_error(NEAP_E_DTYPE,
                          "program: input %d: a number computed from a number argument meets an array of integers; "
                          "cast one of them first",
                          k + 1);
    return neap_error(NEAP_E_DTYPE,
                      "program: input %d: the number %.17g meets an array of integers that cannot hold it, as indices "
                      "are; pass an integer, or cast the array first",
                      k + 1, node->value);
}

static const char *placement_text(const neap_node *node, char *text, size_t capacity) {
    char shape[128];
    if (graph_is_meshed(node)) {
        snprintf(text, capacity, "that lies on a mesh as %s",
                 shard_sharding_text(graph_sharding_of(node), node->ndim, shape, sizeof shape));
        return text;
    }
    if (node->device < 0)
        return "that is committed to no device";
    snprintf(text, capacity, "on %s", neap_device_name(node->device));
    return text;
}

int program_check_type(const neap_program *program, int k, neap_node *node, bool runs) {
    const neap_node *want = program->inputs.at[k];
    char left[256], right[256];
    if (want->flags & LAZY_WEAK) {
        if (runs ? !graph_is_number(node) : !(node->flags & LAZY_WEAK))
            return neap_error(NEAP_E_ARGUMENT, "program: input %d: expected a number, got an array", k + 1);
        return check_number(node, want->meets, k);
    }
    if (want->dtype != node->dtype)
        return neap_error(NEAP_E_DTYPE, "program: input %d: expected dtype %s, got %s", k + 1,
                          neap_dtype_name(want->dtype), neap_dtype_name(node->dtype));
    if (want->ndim != node->ndim || memcmp(want->shape, node->shape, node->ndim * sizeof *node->shape) != 0)
        return neap_error(NEAP_E_SHAPE, "program: input %d: expected shape %s, got %s", k + 1,
                          graph_shape_text(want->ndim, want->shape, left, sizeof left),
                          graph_shape_text(node->ndim, node->shape, right, sizeof right));
    return 0;
}

int program_check(const neap_program *program, int k, neap_node *node, bool runs) {
    const neap_node *want = program->inputs.at[k];
    char left[256], right[256];
    int status = program_check_type(program, k, node, runs);
    if (status || want->flags & LAZY_WEAK)
        return status;
    if (want->device != node->device || !shard_sharding_serves(graph_sharding_of(node), graph_sharding_of(want)))
        return neap_error(NEAP_E_ARGUMENT, "program: input %d: expected an array %s, got one %s", k + 1,
                          placement_text(want, left, sizeof left), placement_text(node, right, sizeof right));
    return 0;
}

int program_inputs(neap_ctx *ctx, neap_program *program, int n, const int32_t *ids, bool runs,
                   int (*check)(const neap_program *, int, neap_node *, bool), neap_node **nodes) {
    if (n != program->inputs.n)
        return neap_error(NEAP_E_ARGUMENT, "program: expected %lld inputs, got %d", (long long)program->inputs.n, n);
    for (int k = 0; k < n; k++) {
        if (!(nodes[k] = graph_lookup_any(ctx, ids[k])))
            return neap_error_code();
        int status = check(program, k, nodes[k], runs);
        if (status)
            return status;
    }
    return 0;
}

enum { FEW = 32 }; /* slots and results for which a run needs no memory of its own */

/* ---- Running ----------------------------------------------------------------------------------------------------- */
typedef struct program_call { /* a run that is being pushed */
    neap_ctx *ctx;
    neap_program *program;
    neap_node *const *inputs;
    const lazy_run *made;      /* of its plan */
    bool begun;                /* something was pushed */
    bool lent;                 /* there are inputs that are read where they lie: views without a buffer */
    int64_t next_effect, root; /* the first effect that was not pushed yet, and its first root */
} program_call;

static neap_node *run_source(void *arg, neap_node *node) {
    return graph_is_placeholder(node) ? graph_read_target(((program_call *)arg)->inputs[(int)node->value]) : node;
}

/* Of what is lent. */
static size_t run_start(void *arg, const neap_node *node) {
    const neap_node *input = graph_is_placeholder(node) ? ((program_call *)arg)->inputs[(int)node->value] : node;
    bool lent = graph_is_view(input) && !input->buffer;
    return lent ? (size_t)input->map->offset * (size_t)neap_dtype_bytes(input->dtype) : 0;
}

/* The node that a root is after a run: a new one over its buffer, or the leaf that it is. OWNED. */
static neap_node *root_result(program_call *run, int64_t root, neap_node *node) {
    int32_t slot = run->program->root_slots.at[root];
    if (slot < 0 && graph_is_number(node))
        return graph_retain(run_source(run, node));
    neap_buffer *buffer =
        slot < 0 ? run_source(run, plan_is_leaf(node) ? node : node->base)->buffer : run->made->made[slot];
    lazy_result aval = {.dtype = node->dtype, .ndim = node->ndim};
    memcpy(aval.shape, node->shape, node->ndim * sizeof *node->shape);
    neap_node *result = graph_node_of_buffer(run->ctx, &aval, neap_buffer_retain(buffer));
    if (!result)
        return NULL;
    result->device = node->device;
    result->ran = slot < 0 ? 0 : plan_ran_link(run->program->plan, slot);
    return result;
}

static int push_print(program_call *run, const lazy_effect *effect) {
    int64_t n = effect->nodes.n;
    neap_node **values = calloc((size_t)n + 1, sizeof *values);
    int status = values ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a print");
    for (int64_t k = 0; k < n && status == 0; k++)
        if (!(values[k] = root_result(run, run->root + k, effect->nodes.at[k])))
            status = NEAP_E_MEMORY;
        else
            status = plan_force(run->ctx, values[k]);
    if (status == 0)
        status = effect_print_push(run->ctx, &effect->how, effect->nfragments, effect->fragments, values);
    for (int64_t k = 0; k < n && values; k++)
        graph_release(run->ctx, values[k]);
    free(values);
    return status;
}

/* Pushes prints up to the next effect that is a step. */
static int run_prints(program_call *run) {
    int status = 0;
    while (run->next_effect < run->program->effects.n && status == 0) {
        const lazy_effect *effect = run->program->effects.at[run->next_effect];
        if (effect->node)
            break;
        if ((status = push_print(run, effect)) == 0) {
            run->next_effect++;
            run->root += effect->nodes.n;
        }
    }
    return status;
}

/* Pushes the next effect that is a step, which has been reached, after the prints in front of it. */
static int push_step_effect(void *arg, const lazy_launch *launch) {
    program_call *run = arg;
    int status = run_prints(run);
    if (status == 0)
        status = plan_launch_push(run->ctx, launch);
    if (status == 0) {
        run->next_effect++;
        run->root++;
    }
    return status;
}

int program_fail_for_good(int status, bool begun) {
    if (status != NEAP_E_MEMORY || !begun)
        return status;
    return neap_error(NEAP_E_FAILED, "out of memory in the middle of a function, after some of its effects");
}

static int run_with(program_call *run, lazy_donation *donation, neap_node **outputs) {
    neap_program *program = run->program;
    lazy_run made;
    const lazy_keeping *keeping = program->keeping;
    made.ctx = run->ctx, made.plan = program->plan, made.region = program->region.at;
    made.binding = (lazy_binding){.source = run_source,
                                  .start = run->lent ? run_start : NULL,
                                  .effect = push_step_effect,
                                  .arg = run,
                                  .kept = keeping ? keeping->stays : program->root_slots.at,
                                  .nkept = keeping ? keeping->nstays : program->root_slots.n,
                                  .given = donation ? donation->slots : NULL,
                                  .ngiven = donation ? donation->nslots : 0,
                                  .keeping = program->keeping};
    run->made = &made;
    int status = plan_run(&made);
    run->begun = made.begun;
    if (status) {
        plan_run_close(&made);
        return status;
    }
    program->runs++;
    status = run_prints(run);
    int64_t n = 0;
    for (; n < program->outputs.n && status == 0; n += status == 0)
        if (!(outputs[n] = root_result(run, program->effect_roots + n, program->outputs.at[n])))
            status = NEAP_E_MEMORY;
        else
            graph_weak_like(outputs[n], program->outputs.at[n]);
    while (status && n-- > 0)
        graph_release(run->ctx, outputs[n]);
    for (int32_t s = 0; s < made.plan->nslots; s++)
        neap_buffer_release(made.made[s]);
    plan_run_close(&made);
    return status;
}

/* Is the input a slice of neighbours in an array that is there, which the run can read where it lies? Not if that is
 * given to the run. */
static bool is_lent(const neap_program *program, neap_node *const *inputs, const lazy_donation *donation, int64_t k) {
    const neap_node *node = inputs[k];
    if (!program->lends || node->buffer || !graph_is_view(node) || !node->base->buffer ||
        !graph_strides_contiguous(node->ndim, node->shape, node->map->stride) ||
        neap_device_count() > neap_engine_devices())
        return false;
    for (int64_t d = 0; donation && d < donation->n; d++)
        if (donation->inputs[d] == k || inputs[donation->inputs[d]]->buffer == node->base->buffer)
            return false;
    return true;
}

/* Computes the arrays among the inputs, together, but for those that are lent. */
static int force_inputs(program_call *run, const lazy_donation *donation) {
    const neap_program *program = run->program;
    lazy_nodes arrays = {0};
    int status = 0;
    for (int64_t k = 0; k < program->inputs.n && status == 0; k++) {
        if (run->inputs[k]->buffer || program->inputs.at[k]->flags & LAZY_WEAK)
            continue;
        if (is_lent(program, run->inputs, donation, k))
            run->lent = true;
        else
            status = lazy_push(&arrays, run->inputs[k]);
    }
    if (status == 0 && arrays.n)
        status = plan_flush_roots(run->ctx, (int)arrays.n, arrays.at);
    lazy_vector_free(&arrays);
    return status;
}

int program_run_nodes(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, lazy_donation *donation,
                      neap_node **outputs) {
    int status = program_plan(program);
    if (status)
        return status;
    if (program->meshed)
        return program_lowered_run(ctx, program, inputs, donation, outputs);
    program = program_runs(program);
    const neap_node *exchange = ctx->callbacks.open.n ? program_exchange(program) : NULL;
    if (exchange && (status = effect_exchange_check(ctx, effect_exchange_name(exchange))) != 0)
        return status;
    program_call run = {.ctx = ctx, .program = program, .inputs = inputs};
    status = force_inputs(&run, donation);
    if (status == 0 && donation)
        status = program_donation_open(ctx, program, inputs, donation);
    bool opened = donation && status == 0;
    if (status == 0)
        status = run_with(&run, donation, outputs);
    if (opened)
        program_donation_close(ctx, inputs, donation, status == 0 || run.begun);
    bool given = opened && donation->nslots > 0 && run.begun; /* it may be overwritten: the call cannot be repeated */
    return program_fail_for_good(status, run.next_effect > 0 || given);
}

/* ---- Reading arguments in place ---------------------------------------------------------------------------------- */
/* A short program reads an argument of so many bytes where it lies, if it is no more than a way to go over the whole of
 * another array (broadcast, transposed, flipped), or made of constructors: its ops are recorded again on the views, and
 * flushed. The plan is found by the maps of the views, in the context's table. Slices of neighbours are lent to any
 * program (is_lent); others are copied. */
enum { READ_IN_PLACE_NODES = 64 };
static const size_t READ_IN_PLACE_BYTES = 1 << 20;

static bool is_read_in_place(const neap_node *node) {
    if (node->buffer || graph_is_meshed(node) || graph_is_number(node) || graph_node_bytes(node) < READ_IN_PLACE_BYTES)
        return false;
    if (!graph_is_view(node))
        return graph_is_formula(node) || graph_node_op(node)->kind == LAZY_SOURCE;
    int64_t size = 1;
    for (int a = 0; a < node->ndim; a++)
        size *= node->map->stride[a] ? node->shape[a] : 1;
    return size == node->base->size &&
           (graph_is_formula(node->base) || !graph_map_contiguous(node->ndim, node->shape, node->map));
}

/* Computes what the views are of, unless it is cheap, and says whether the program reads an argument in place. */
static int prepare_in_place(neap_ctx *ctx, const neap_program *program, neap_node *const *inputs, bool *in_place) {
    lazy_nodes bases = {0};
    int status = 0;
    *in_place = false;
    if (program->keeping || program->meshed || program->effects.n || program->nodes.n > READ_IN_PLACE_NODES ||
        ctx->levels.closed)
        return 0; /* in a closed trace what is recorded would belong to it */
    for (int64_t k = 0; k < program->inputs.n && status == 0; k++) {
        neap_node *target = graph_read_target(inputs[k]);
        bool reads = !(program->inputs.at[k]->flags & LAZY_WEAK) && is_read_in_place(inputs[k]);
        *in_place |= reads;
        if (!reads && !(program->inputs.at[k]->flags & LAZY_WEAK))
            target = inputs[k];
        if (!target->buffer && !graph_is_number(target) && !(reads && graph_is_formula(target)))
            status = lazy_push(&bases, target);
    }
    if (*in_place && status == 0 && bases.n)
        status = plan_flush_roots(ctx, (int)bases.n, bases.at);
    lazy_vector_free(&bases);
    return status;
}

static int run_in_place(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, neap_node **outputs) {
    int n = (int)program->outputs.n, status = program_apply(ctx, program, inputs, outputs);
    if (status)
        return status;
    status = plan_flush_roots(ctx, n, outputs);
    for (int k = 0; k < n && status == 0; k++) /* an argument that is a result has a name of its own */
        if (outputs[k]->id) {
            neap_node *alias = graph_alias(ctx, outputs[k]);
            status = alias ? 0 : NEAP_E_MEMORY;
            graph_release(ctx, alias ? outputs[k] : NULL);
            outputs[k] = alias ? alias : outputs[k];
        }
    for (int k = 0; k < n && status; k++)
        graph_release(ctx, outputs[k]);
    program->runs += status == 0;
    return status;
}

int program_run(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, lazy_donation *donation,
                int32_t *outputs) {
    size_t n = (size_t)program->outputs.n;
    bool in_place = false;
    neap_node *few[FEW], **nodes = n <= FEW ? few : malloc(n * sizeof *nodes);
    int status = nodes ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a run");
    if (status == 0 && !program->meshed && !(program = program_runs(program)))
        status = neap_error_code();
    if (status == 0 && !donation)
        status = prepare_in_place(ctx, program, inputs, &in_place);
    if (status == 0)
        status = in_place ? run_in_place(ctx, program, inputs, nodes)
                          : program_run_nodes(ctx, program, inputs, donation, nodes);
    if (status == 0)
        status = program_fail_for_good(graph_publish_all(ctx, (int)n, nodes, outputs), program->effects.n || donation);
    if (nodes != few)
        free(nodes);
    return status;
}

int neap_program_run(neap_ctx *ctx, neap_program *program, int n, const int32_t *ids, int32_t *outputs) {
    /* In a trace it is part of that, whatever its arguments are; in deferred mode nothing starts. */
    if (ctx->start.deferring || graph_open_trace(ctx))
        return neap_program_replay(ctx, program, n, ids, outputs);
    neap_node **inputs = malloc((size_t)n * sizeof *inputs + 1);
    int status = inputs ? 0 : neap_error(NEAP_E_MEMORY, "out of memory for a run");
    if (status == 0)
        status = program_inputs(ctx, program, n, ids, true, program_check, inputs);
    if (status == 0)
        status = program_run(ctx, program, inputs, NULL, outputs);
    free(inputs);
    return status ? status : graph_safepoint(ctx);
}
