/* control/place.c: where the programs of a node run, and what is made ready for that.
 *
 * A node is computed on the device that its results belong to, if everything that its programs do can be enqueued
 * there: its op is then one row of launches (body_run.c), and nothing crosses to the host. Else it runs on the host, on
 * copies of what it reads, as does any step that its device cannot do; np.explain says why.
 *
 *      on the host          anything
 *      on another device    no effects, callbacks, exchanges; each step prepared for that device, and none that may
 *                           fail by itself. Numbers that are inputs are read where they lie, as arrays of one f64.
 *
 * A while_loop costs a round trip over the host for each turn there, and a cond one, but where its branches take less:
 * then all of them are computed, and a select takes the results of one.
 *
 * For either a node has a *runner*, made of plans of its programs for that device. A program keeps the plan for the
 * host; those for others belong to the bodies alone.
 */
#include <stdio.h>
#include <string.h>

#include "lazy/control/body.h"
#include "lazy/derive/build.h"

/* ---- Which there are --------------------------------------------------------------------------------------------- */
lazy_runner *control_runner_at(const lazy_control *control, int device) {
    for (int64_t k = 0; k < control->runners.n; k++)
        if (control->runners.at[k]->device == device ||
            (neap_device_memory_space(device) == 0 && control->runners.at[k]->backend == &vm_backend_cpu))
            return control->runners.at[k];
    return NULL;
}

lazy_runner *control_runner_of(const neap_node *node) {
    const lazy_control *control = control_of(node);
    int device = graph_node_runs_on(node);
    lazy_runner *there = control_runner_at(control, device);
    return there ? there : control_runner_at(control, graph_host_device(device));
}

/* A loop of many turns whose launches have next to nothing to do: the host is sooner done with it, copies and all. In a
 * body that runs on a device it is all the same run there. A round trip takes as long as some launches. */
static bool is_too_small(const neap_ctx *ctx, const lazy_runner *runner) {
    enum { LAUNCHES = 64 /* that take as long as to copy little to the host and back */, WAIT = 8 };
    int64_t launches = runner->launches + WAIT * runner->waits;
    bool many = runner->kind->condition || (launches > 0 && runner->length > LAUNCHES / launches);
    return ctx->plans.placing == 0 && runner->kind->loop && launches > 0 && many &&
           runner->touched / launches < runner->backend->launch_bytes;
}

const char *control_lacks(const neap_ctx *ctx, const neap_node *node, int device) {
    const lazy_control *control = control_of(node);
    const lazy_runner *runner = control_runner_at(control, device);
    if (runner)
        return is_too_small(ctx, runner) ? "its turns do so little that the host is sooner done with them" : NULL;
    return control->lacks && control->lacks_on == device ? control->lacks : "it was made ready for the host";
}

/* TAKES the runner. */
static int add_runner(lazy_control *control, lazy_runner *runner) {
    int status = lazy_push(&control->runners, runner);
    if (status)
        control_runner_release(runner);
    return status;
}

int control_runner_share(lazy_control *control, lazy_runner *runner) {
    return add_runner(control, control_runner_retain(runner));
}

/* ---- Plans for a device ------------------------------------------------------------------------------------------ */
/* While a program is planned for a device, numbers that are inputs count as the arrays that they are in a body. */
static void hide_numbers(neap_program *program, bool *weak) {
    for (int64_t k = 0; k < program->inputs.n; k++) {
        weak[k] = program->inputs.at[k]->flags & LAZY_WEAK;
        program->inputs.at[k]->flags &= (uint8_t)~LAZY_WEAK;
    }
}

static void show_numbers(neap_program *program, const bool *weak) {
    for (int64_t k = 0; k < program->inputs.n; k++)
        program->inputs.at[k]->flags |= weak[k] ? LAZY_WEAK : 0;
}

/* Why the steps of a program cannot all be enqueued on the device; NULL: they can. */
static const char *find_lacking(const neap_program *program, int device) {
    const lazy_plan *plan = program->plan;
    char text[256];
    for (int32_t k = 0; k < plan->nsteps; k++) {
        const lazy_step *step = plan->steps[k];
        const char *lacks = step->lacks                                     ? step->lacks
                            : step->moves                                   ? "it moves an array"
                            : step->device != device                        ? "it runs on another device"
                            : plan_may_fail(program->region.at[step->node]) ? "it may fail, which the host has to see"
                                                                            : NULL;
        if (!lacks)
            continue;
        snprintf(text, sizeof text, "in its body, %s: %s", step->label, lacks);
        return vm_backend_reason(text);
    }
    return NULL;
}

/* The programs that are run on a device, and their plans there while bodies are made of them. */
typedef struct placing {
    neap_ctx *ctx;
    lazy_control *control; /* what is run there: the node's, or one that selects */
    int device;
    const char *lacks;
    neap_program **runs;     /* by program: what is run for it. BORROWED */
    program_planned *before; /* by program: its plan for the host */
    bool **weak;             /* by program and input */
} placing;

static int plan_there(placing *p, int k) {
    neap_program *program = p->runs[k];
    int before = graph_default_device;
    program_exchange_plan(program, &p->before[k]);
    hide_numbers(program, p->weak[k]);
    graph_default_device = p->device - graph_devices.first;
    p->ctx->plans.placing++;
    int status = program_plan(program);
    p->ctx->plans.placing--;
    graph_default_device = before;
    show_numbers(program, p->weak[k]);
    if (status == 0 && !p->lacks)
        p->lacks = find_lacking(program, p->device);
    return status;
}

/* Makes the runner, if the programs allow it; else says what is lacking. */
static int make_runner_there(placing *p, lazy_runner **out) {
    int n = control_bodies(p->control), status = 0, planned = 0;
    size_t inputs = 0;
    bool *weak;
    for (int k = 0; k < n; k++)
        inputs += (size_t)p->control->programs[k]->inputs.n;
    if (!LAZY_ARENA(LAZY_PART(p->before, n + 1), LAZY_PART(p->runs, n + 1), LAZY_PART(p->weak, n + 1),
                    LAZY_PART(weak, inputs + 1)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a body");
    for (int k = 0; k < n && status == 0; k++)
        status = (p->runs[k] = program_runs(p->control->programs[k])) ? 0 : neap_error_code();
    for (; planned < n && status == 0 && !p->lacks; planned++) {
        p->weak[planned] = weak;
        weak += p->control->programs[planned]->inputs.n;
        status = plan_there(p, planned);
    }
    if (status == 0 && !p->lacks)
        status = control_runner_new(p->ctx, p->control, p->device, out);
    while (planned-- > 0) {
        program_exchange_plan(p->runs[planned], &p->before[planned]);
        program_planned_free(p->ctx, &p->before[planned]);
    }
    free(p->before);
    return status;
}

/* ---- Conds ------------------------------------------------------------------------------------------------------- */
typedef struct selecting { /* a program that computes all branches of a cond and selects */
    neap_ctx *ctx;
    const lazy_control *control;
    int level;
    neap_node **in;     /* by input of the node: placeholders. BORROWED */
    neap_node **chosen; /* by result. OWNED */
} selecting;

static int add_inputs(selecting *s) {
    const lazy_control_shape *shape = &s->control->shape;
    int status = (s->in[0] = graph_placeholder(s->ctx, s->level, &shape->in[0], false, -1, NULL)) ? 0 : NEAP_E_MEMORY;
    for (int p = 0; p < s->control->nprograms; p++)
        for (int k = 0; k < s->control->programs[p]->inputs.n && status == 0; k++) {
            const neap_node *like = s->control->programs[p]->inputs.at[k];
            neap_node **in = &s->in[control_input_of(shape, p, k)];
            if (!*in && !(*in = graph_placeholder_like(s->ctx, s->level, like)))
                status = NEAP_E_MEMORY;
            else if (((*in)->flags ^ like->flags) & LAZY_WEAK) /* a number for one branch, an array for another one */
                status = neap_error(NEAP_E_STATE, "the branches take input %d as different things", k);
        }
    return status;
}

/* The results of branch p where the index is no less, else those of the branches before. */
static int choose(selecting *s, int p, neap_node **out) {
    neap_node *number = graph_constant(s->ctx, NEAP_DTYPE_F64, true, p), *here = NULL;
    if (p > 0 && number)
        here = graph_record(s->ctx, LAZY_OP_greater_equal, 2, (neap_node *[]){s->in[0], number}, 0, NULL);
    int status = p == 0 || here ? 0 : neap_error_code();
    for (int k = 0; k < s->control->nresults && status == 0; k++) {
        neap_node *before = s->chosen[k];
        s->chosen[k] = p == 0 ? graph_retain(out[k])
                              : graph_record(s->ctx, LAZY_OP_where, 3, (neap_node *[]){here, out[k], before}, 0, NULL);
        status = s->chosen[k] ? 0 : neap_error_code();
        graph_release(s->ctx, before);
    }
    graph_release(s->ctx, here);
    graph_release(s->ctx, number);
    return status;
}

static int add_branch(selecting *s, int p) {
    neap_program *program = s->control->programs[p];
    neap_node **in = calloc((size_t)(program->inputs.n + program->outputs.n) + 1, sizeof *in);
    neap_node **out = in + program->inputs.n;
    if (!in)
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    for (int k = 0; k < program->inputs.n; k++)
        in[k] = s->in[control_input_of(&s->control->shape, p, k)];
    int rules = s->ctx->levels.rules;
    s->ctx->levels.rules = LAZY_RULES_AS_THEY_ARE;
    int status = program_apply(s->ctx, program, in, out);
    s->ctx->levels.rules = rules;
    if (status == 0)
        status = choose(s, p, out);
    for (int k = 0; k < program->outputs.n; k++)
        graph_release(s->ctx, out[k]);
    free(in);
    return status;
}

/* Of the inputs of a cond: its results. OWNED. */
static int make_select(neap_ctx *ctx, const lazy_control *control, neap_program **out) {
    selecting s = {.ctx = ctx, .control = control};
    s.in = calloc((size_t)control->shape.nin + (size_t)control->nresults + 1, sizeof *s.in);
    if (!s.in)
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    s.chosen = s.in + control->shape.nin;
    int status = graph_trace_derived(ctx, &s.level);
    if (status == 0) {
        status = add_inputs(&s);
        for (int p = 0; p < control->nprograms && status == 0; p++)
            status = add_branch(&s, p);
        if (status == 0)
            status = program_trace_end(ctx, s.level, control->nresults, s.chosen, out);
        if (status)
            graph_level_end(ctx, s.level);
    }
    for (int k = 0; k < control->nresults; k++)
        graph_release(ctx, s.chosen[k]);
    free(s.in);
    return status;
}

static int make_selecting_runner(placing *p, lazy_runner **out) {
    const lazy_control *cond = p->control;
    neap_program *program = NULL;
    int status = make_select(p->ctx, cond, &program);
    if (status)
        return status;
    int32_t none = 0;
    lazy_control call = {.nprograms = 1,
                         .nresults = cond->nresults,
                         .programs = &program,
                         .shape = {.op = cond->shape.op,
                                   .nin = cond->shape.nin,
                                   .kind = &control_call,
                                   .operands = cond->shape.nin,
                                   .consts = &none,
                                   .const_at = &none,
                                   .in = cond->shape.in},
                         .results = cond->results,
                         .places = cond->places};
    p->control = &call;
    status = make_runner_there(p, out);
    neap_program_free(program);
    if (status || !*out)
        return status;
    (*out)->selects = true;
    return 0;
}

/* ---- Making ready ------------------------------------------------------------------------------------------------ */
/* What keeps the node from the device, as far as nobody has to plan for knowing it. */
static const char *find_obstacle(const lazy_control *control, int device) {
    if (!vm_backend_of(device))
        return "nothing computes on devices of its kind";
    if (control->effects)
        return "its functions have effects";
    return NULL;
}

/* Do the branches but one take less than to ask which it is? */
static bool is_sooner_selected(const lazy_runner *runner) {
    enum { WAIT = 30000 /* ns: a guess */ };
    int64_t cost = 0, least = INT64_MAX;
    for (int b = 0; b < runner->nbodies; b++) {
        cost += runner->bodies[b]->cost;
        least = runner->bodies[b]->cost < least ? runner->bodies[b]->cost : least;
    }
    return cost - least <= WAIT;
}

/* The runner of a cond, which asks for the index, or selects. */
static int make_branches(placing *p, lazy_runner **out) {
    int status = make_runner_there(p, out);
    if (status || !*out || !is_sooner_selected(*out))
        return status;
    lazy_runner *asks = *out;
    *out = NULL;
    if (make_selecting_runner(p, out) || !*out)
        *out = asks;
    else
        control_runner_release(asks);
    p->lacks = NULL;
    return 0;
}

/* Makes the runner of a device whose memory is not the host's, or remembers why there is none. */
static int prepare_there(neap_ctx *ctx, lazy_control *control, int device) {
    placing p = {.ctx = ctx, .control = control, .device = device, .lacks = find_obstacle(control, device)};
    lazy_runner *made = NULL;
    int status = 0;
    if (!p.lacks)
        status = control->shape.kind->branches ? make_branches(&p, &made) : make_runner_there(&p, &made);
    if (status && status != NEAP_E_MEMORY) {
        p.lacks = vm_backend_reason(neap_error_text());
        status = 0;
    }
    if (status == 0 && made)
        return add_runner(control, made);
    control->lacks = p.lacks;
    control->lacks_on = device;
    return status;
}

/* What runs on the host is planned as the host's: its kernels would be compiled for another device in vain. */
static int prepare_here(neap_ctx *ctx, lazy_control *control) {
    int status = 0, before = graph_default_device, host = graph_host_device(graph_home_device());
    lazy_runner *made;
    graph_default_device = host - graph_devices.first;
    for (int p = 0; p < control_bodies(control) && status == 0; p++)
        status = program_plan(control->programs[p]);
    graph_default_device = before;
    if (status == 0)
        status = control_runner_new(ctx, control, host, &made);
    return status ? status : add_runner(control, made);
}

int control_prepare(neap_ctx *ctx, const neap_node *node) {
    lazy_control *control = control_of(node);
    int device = graph_node_runs_on(node), status = 0;
    bool away = neap_device_memory_space(device) != 0;
    if (away && !control_runner_at(control, device) && !(control->lacks && control->lacks_on == device))
        status = prepare_there(ctx, control, device);
    const lazy_runner *there = control_runner_at(control, device);
    if (status || (there && !(away && is_too_small(ctx, there))) ||
        control_runner_at(control, graph_host_device(device)))
        return status;
    return prepare_here(ctx, control);
}

int control_runner_on(neap_ctx *ctx, const neap_node *node, int device, lazy_runner **out) {
    lazy_control *control = control_of(node);
    lazy_runner *found = control_runner_at(control, device);
    int status = 0;
    if (!found && neap_device_memory_space(device) == 0) {
        status = prepare_here(ctx, control);
        found = status == 0 ? control_runner_at(control, device) : NULL;
    }
    if (status == 0 && !found)
        status = neap_error(NEAP_E_STATE, "%s was not made ready for its device", graph_node_op(node)->name);
    if (status == 0)
        *out = control_runner_retain(found);
    return status;
}
