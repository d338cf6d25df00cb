/* run.c: running plans: allocation and engine ops.
 *
 * Buffers are allocated at push, on the pushing thread, all of them before the first push: so out of memory leaves
 * everything as it was, pending. Each group of steps is one engine op, ordered by the variables of its buffers. A run
 * holds references to its plan and buffers, so memory goes back to the pool after its last use, whoever lets go first.
 */
#include <string.h>

#include "lazy/graph/graph.h"
#include "lazy/plan/job.h"
#include "lazy/plan/verify.h"

/* What a run of a plan is made of, while it is pushed. */
typedef struct plan_state {
    neap_ctx *ctx;
    lazy_plan *plan;
    neap_node *const *region;
    lazy_binding *binding;
    neap_buffer **bufs; /* by slot */
    size_t *starts;     /* by slot, see lazy_binding; NULL: none */
    lazy_scalar *numbers;
    lazy_transferred *transferred; /* by transfer */
    neap_buffer *const *scratches; /* of the next steps that need some */
} plan_state;

/* The line of the node that the step computes now; where nobody told one, the last one told of a region of its kind. */
static const char *step_site(neap_ctx *ctx, lazy_step *step, neap_node *const *region) {
    int32_t site = region[step->node]->site;
    if (site && site != ctx->sites.chunk)
        step->site = graph_site_text(ctx, site);
    return step->site;
}

static int compare_var_addresses(const void *a, const void *b) {
    uintptr_t left = (uintptr_t) * (neap_var *const *)a, right = (uintptr_t) * (neap_var *const *)b;
    return left < right ? -1 : left > right;
}

/* Removes what stands twice: nodes may share a buffer. A short list is searched, which sorting would cost ten times. */
static int unique_vars(neap_var **vars, int n) {
    enum { SHORT = 24 };
    if (n <= SHORT) {
        int kept = 0;
        for (int k = 0; k < n; k++) {
            int at = 0;
            while (at < kept && vars[at] != vars[k])
                at++;
            if (at == kept)
                vars[kept++] = vars[k];
        }
        return kept;
    }
    qsort(vars, (size_t)n, sizeof *vars, compare_var_addresses);
    int kept = 1;
    for (int k = 1; k < n; k++)
        if (vars[k] != vars[kept - 1])
            vars[kept++] = vars[k];
    return kept;
}

/* What the steps of the group use as its buffer k. */
static neap_buffer *buffer_at(const plan_state *s, const lazy_group *group, int32_t k) {
    int32_t transfer = group->transfers ? group->transfers[k] : -1;
    return transfer < 0 ? s->bufs[group->slots[k]] : s->transferred[transfer].buffer;
}

/* The buffers of the group that one of its steps uses, and which of them it writes. */
static void choose_buffers(const plan_state *s, const lazy_group *group, const lazy_step *step, neap_buffer **bufs,
                           bool *writes) {
    memset(bufs, 0, (size_t)group->nbufs * sizeof *bufs);
    memset(writes, 0, (size_t)group->nbufs * sizeof *writes);
    for (int32_t k = 0; k < step->nbufs; k++) {
        bufs[step->slots[k]] = buffer_at(s, group, step->slots[k]);
        writes[step->slots[k]] |= k >= step->nbufs - step->nouts;
    }
}

/* Scratch of a push: for the buffers of a group, their variables, and what is written. */
enum { FEW_BUFFERS = 64 };
typedef struct push_arrays {
    neap_buffer **bufs;
    neap_var **reads, **writes;
    bool *own;
    neap_buffer *few_bufs[FEW_BUFFERS];
    neap_var *few_vars[2 * FEW_BUFFERS];
    bool few_own[FEW_BUFFERS];
} push_arrays;

static bool push_arrays_open(push_arrays *r, size_t n) {
    if (n <= FEW_BUFFERS) {
        r->bufs = r->few_bufs, r->reads = r->few_vars, r->writes = r->few_vars + FEW_BUFFERS, r->own = r->few_own;
        return true;
    }
    if (!(r->bufs = malloc(n * (sizeof *r->bufs + 2 * sizeof *r->reads + sizeof *r->own))))
        return false;
    r->reads = (neap_var **)(r->bufs + n);
    r->writes = r->reads + n;
    r->own = (bool *)(r->writes + n);
    return true;
}

static void push_arrays_close(push_arrays *r) {
    if (r->bufs != r->few_bufs)
        free(r->bufs);
}

/* ns that the steps take: estimated, or what a kernel took at best if that was less. A call's time says nothing of the
 * next one. */
static int64_t cost_of_steps(const lazy_plan *plan, int32_t first, int32_t nsteps) {
    int64_t cost = 0;
    for (int32_t k = first; k < first + nsteps; k++) {
        const lazy_step *step = plan->steps[k];
        int64_t least =
            step->kind == LAZY_STEP_KERNEL ? atomic_load_explicit(&step->ran.least, memory_order_relaxed) : 0;
        cost += least > 0 && least < step->cost ? least : step->cost;
    }
    return cost;
}

/* Does an op of this cost run where it is pushed? To hand it to a worker, and to wait for that, takes as long as many
 * an op, and the worker has what it reads in another cache. */
static bool runs_at_push(const plan_state *s, int64_t cost) {
    bool alone = s->ctx->plans.awaited && s->plan->nsteps == 1;
    return cost < (alone ? LAZY_AWAITED_COST : LAZY_SMALL_COST);
}

/* The passing buffers of a group. */
static uint64_t find_passing(const lazy_plan *plan, const lazy_group *group) {
    uint64_t passing = 0;
    for (int32_t k = 0; k < group->nbufs && group->graphs && plan->reuse; k++)
        if (plan_memory_passes(plan->reuse, group->slots[k]))
            passing |= UINT64_C(1) << k;
    return passing;
}

/* Pushes nsteps steps of the group from `first` on (all of them, or one). */
static int steps_push(const plan_state *s, const lazy_group *group, int32_t first, int32_t nsteps) {
    push_arrays r;
    if (!push_arrays_open(&r, (size_t)group->nbufs))
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    lazy_plan *plan = s->plan;
    lazy_step *step = plan->steps[first];
    const bool *written = nsteps == group->nsteps ? group->writes : r.own;
    if (nsteps == group->nsteps)
        for (int32_t k = 0; k < group->nbufs; k++)
            r.bufs[k] = buffer_at(s, group, k);
    else
        choose_buffers(s, group, step, r.bufs, r.own);
    int nreads = 0, nwrites = 0;
    int64_t bytes = 0, cost = cost_of_steps(plan, first, nsteps);
    uint64_t passing = nsteps == group->nsteps ? find_passing(plan, group) : 0;
    for (int32_t k = 0; k < group->nbufs; k++) {
        if (r.bufs[k] && written[k]) /* also what passes, which the op may keep to its end */
            bytes += (int64_t)plan->slots[group->slots[k]].bytes;
        if (!r.bufs[k] || plan_passes(passing, k))
            continue;
        if (written[k])
            r.writes[nwrites++] = neap_buffer_var(r.bufs[k]);
        else
            r.reads[nreads++] = neap_buffer_var(r.bufs[k]);
    }
    lazy_group_run j = {.plan = plan,
                        .group = group,
                        .first = first,
                        .nsteps = nsteps,
                        .bufs = r.bufs,
                        .passing = passing,
                        .starts = s->starts,
                        .start_of = group->slots,
                        .numbers = s->numbers + group->first_number,
                        .donations = s->binding->ngiven ? &s->ctx->programs.donations : NULL};
    neap_push push = {.name = nsteps == 1 ? step->label : group->label,
                      .site = step_site(s->ctx, step, s->region),
                      .device = step->device,
                      .flags = runs_at_push(s, cost) ? NEAP_PUSH_SMALL : 0,
                      .nreads = unique_vars(r.reads, nreads),
                      .nwrites = nwrites,
                      .reads = r.reads,
                      .writes = r.writes,
                      .bytes = bytes,
                      .cost = cost};
    if (plan->reuse)
        plan_memory_vars(plan->reuse, group, first, nsteps, r.bufs, passing, r.reads, r.writes, &push);
    for (int32_t t = first; t < first + nsteps; t++)
        s->ctx->counters.written += plan_is_idle(plan->steps[t], r.bufs) ? 0 : (uint64_t)plan->steps[t]->written;
    int status = nsteps == 1 && plan_is_idle(step, r.bufs) ? 0 : plan_group_run_push(&j, &push);
    push_arrays_close(&r);
    return status;
}

/* A step that is alone in its group and pushes its op itself. */
static int launch_alone(plan_state *s, const lazy_group *group) {
    lazy_step *step = s->plan->steps[group->first];
    neap_buffer *few[FEW_BUFFERS];
    neap_buffer **own = step->nbufs <= FEW_BUFFERS ? few : malloc((size_t)step->nbufs * sizeof *own);
    if (!own)
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    for (int32_t k = 0; k < step->nbufs; k++)
        own[k] = buffer_at(s, group, step->slots[k]);
    lazy_launch what = {.node = s->region[step->node],
                        .step = step,
                        .bufs = own,
                        .scratch = plan_needs_scratch(step) ? *s->scratches++ : NULL};
    step_site(s->ctx, step, s->region);
    s->ctx->counters.written += graph_has_programs(what.node) ? 0 : (uint64_t)step->written; /* they count their own */
    int status = step->effect ? s->binding->effect(s->binding->arg, &what) : plan_launch_push(s->ctx, &what);
    if (own != few)
        free(own);
    return status;
}

/* Copies from other memories, one behind the other, by what the devices have for that: with those that the plan wants
 * elsewhere. */
static int move(const plan_state *s, const lazy_group *group) {
    enum { FEW = 8 };
    lazy_step *step = s->plan->steps[group->first];
    int32_t n = step->nbufs - 1, slot = group->slots[step->slots[n]];
    size_t item = (size_t)neap_dtype_bytes(step->call.out->dtype);
    neap_part few[FEW], *parts = n <= FEW ? few : malloc((size_t)n * sizeof *parts);
    if (!parts)
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    for (int32_t k = 0; k < n; k++) {
        size_t bytes = (size_t)step->call.in[k].size * item;
        parts[k] =
            (neap_part){.from = s->bufs[group->slots[step->slots[k]]],
                        .offset = bytes ? (size_t)step->offsets[k] * item : 0, /* a view of none begins anywhere */
                        .bytes = bytes};
    }
    neap_push push = {.name = step->label, .site = step_site(s->ctx, step, s->region)};
    int status = plan_transfer_join(s->plan, slot, n, parts, s->bufs[slot], s->transferred, &push);
    if (parts != few)
        free(parts);
    return status;
}

/* Steps may share an op only if none of them waits for, or fails with, what the others do not read: if all inputs of
 * the group are there, or, for launch graphs, are sure. Else each goes by itself. */
static int push_alone_or_together(const plan_state *s, const lazy_group *group) {
    bool together = true;
    int device = s->plan->steps[group->first]->device;
    for (int32_t k = 0; k < group->nbufs && together && group->nsteps > 1; k++) {
        neap_var *var = group->writes[k] ? NULL : neap_buffer_var(buffer_at(s, group, k));
        if (var)
            together = group->graphs ? neap_var_is_sure(var, device) : neap_var_poll(var, NULL) == NEAP_OK;
    }
    if (together)
        return steps_push(s, group, group->first, group->nsteps);
    int status = 0;
    for (int32_t k = 0; k < group->nsteps && status == 0; k++)
        status = steps_push(s, group, group->first + k, 1);
    return status;
}

static int group_push(plan_state *s, const lazy_group *group) {
    const lazy_step *step = s->plan->steps[group->first];
    bool transfers = s->plan->ntransfers > 0;
    int status = transfers ? plan_transfer_in(s->plan, group, s->bufs, s->transferred) : 0;
    if (status)
        return status;
    if (step->payload)
        status = launch_alone(s, group);
    else
        status = step->moves ? move(s, group) : push_alone_or_together(s, group);
    return status || !transfers || step->moves ? status : plan_transfer_out(s->plan, group, s->bufs, s->transferred);
}

static int allocate(plan_state *s, neap_buffer **made) {
    const lazy_plan *plan = s->plan;
    const lazy_memory_plan *reuse = plan->reuse;
    for (int32_t k = 0; k < plan->nslots; k++) {
        int status = 0;
        size_t bytes = reuse ? plan_memory_bytes(reuse, k) : plan->slots[k].bytes;
        made[k] = NULL;
        if (!plan->slots[k].made) {
            s->bufs[k] = s->binding->source(s->binding->arg, s->region[plan->slots[k].node])->buffer;
        } else if (!reuse || plan_memory_home(reuse, k) == k) {
            status = neap_buffer_new(plan->slots[k].device, bytes, &made[k]);
            s->bufs[k] = made[k];
            graph_count_bytes(s->ctx, (int64_t)bytes);
        }
        if (status) {
            while (k-- > 0)
                if (made[k])
                    neap_buffer_release(made[k]);
            return status;
        }
    }
    for (int32_t k = 0; k < plan->nslots && reuse; k++)
        if (plan->slots[k].made && !made[k])
            made[k] = s->bufs[k] = neap_buffer_retain(s->bufs[plan_memory_home(reuse, k)]);
    return 0;
}

/* Where the leaves begin in this run. */
static void find_starts(const plan_state *s) {
    for (int32_t k = 0; k < s->plan->nslots; k++) {
        const lazy_slot *slot = &s->plan->slots[k];
        s->starts[k] = slot->made ? 0 : s->binding->start(s->binding->arg, s->region[slot->node]);
    }
}

/* New data comes from the host: what belongs to another memory is moved there, for good. */
static int bring_leaves_home(const plan_state *s) {
    int status = 0;
    for (int32_t k = 0; k < s->plan->nslots && status == 0; k++)
        if (!s->plan->slots[k].made)
            status = plan_transfer_home(s->ctx, s->binding->source(s->binding->arg, s->region[s->plan->slots[k].node]),
                                        s->plan->slots[k].device);
    return status;
}

typedef struct shared_scratch {
    size_t bytes; /* what the largest step on a device needs */
    neap_buffer *scratch;
} shared_scratch;

static size_t control_scratch_bytes(const lazy_plan *plan, neap_node *const *region, int32_t k) {
    const lazy_step *step = plan->steps[k];
    return plan_needs_scratch(step) ? step->payload->scratch(region[step->node], step->device) : 0;
}

static int allocate_scratch(neap_ctx *ctx, int device, size_t bytes, shared_scratch *shared, neap_buffer **scratch) {
    bool own = bytes < LAZY_SHARED_SCRATCH;
    if (!own && shared->scratch) {
        *scratch = neap_buffer_retain(shared->scratch);
        return 0;
    }
    bytes = own ? bytes : shared->bytes;
    int status = neap_buffer_new(device, bytes, scratch);
    if (status == 0)
        graph_count_bytes(ctx, (int64_t)bytes);
    if (status == 0 && !own)
        shared->scratch = *scratch;
    return status;
}

/* The memory that steps need for their runs, for each step that needs some, in their order. What is large is one for
 * all steps that run on a device. */
static int allocate_scratches(neap_ctx *ctx, const lazy_plan *plan, neap_node *const *region, neap_buffer ***out) {
    int32_t n = 0;
    neap_buffer **scratches = *out = calloc((size_t)plan->nscratches, sizeof *scratches);
    shared_scratch *shared = calloc((size_t)neap_device_count(), sizeof *shared);
    int status = scratches && shared ? 0 : neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    for (int32_t k = 0; k < plan->nsteps && status == 0; k++) {
        size_t bytes = control_scratch_bytes(plan, region, k), *largest = &shared[plan->steps[k]->device].bytes;
        *largest = bytes > *largest ? bytes : *largest;
    }
    for (int32_t k = 0; k < plan->nsteps && status == 0; k++) {
        int device = plan->steps[k]->device;
        if (plan_needs_scratch(plan->steps[k]))
            status =
                allocate_scratch(ctx, device, control_scratch_bytes(plan, region, k), &shared[device], &scratches[n++]);
    }
    free(shared);
    return status;
}

static void release_scratches(const lazy_plan *plan, neap_buffer **scratches) {
    for (int32_t k = 0; k < plan->nscratches && scratches; k++)
        neap_buffer_release(scratches[k]);
    free(scratches);
}

static void fill_numbers(const plan_state *s) {
    for (int32_t k = 0; k < s->plan->nnumbers; k++) {
        const lazy_number *number = &s->plan->numbers[k];
        const neap_node *source = s->binding->source(s->binding->arg, s->region[number->node]);
        s->numbers[k] = dtype_scalar(number->dtype, source->value);
    }
}

static void release_made(const lazy_plan *plan, neap_buffer **made) {
    for (int32_t k = 0; k < plan->nslots; k++)
        if (made[k])
            neap_buffer_release(made[k]);
}

/* Pushes all groups, whose memory is there. made: as in plan_run. */
static int push_all(plan_state *s, neap_buffer **made) {
    lazy_plan *plan = s->plan;
    int status = 0;
    fill_numbers(s);
    for (int32_t b = 0; b < plan->ngroups && status == 0; b++) {
        status = group_push(s, &plan->groups[b]);
        s->binding->begun |= status == 0 || plan->groups[b].nsteps > 1;
    }
    s->ctx->counters.launches += (uint64_t)plan->nsteps;
    plan->runs++;
    if (neap_ahead_poll(NULL) == NEAP_PENDING)
        s->ctx->collector.requests |= NEAP_SAFEPOINT_THROTTLE;
    if (status)
        release_made(plan, made);
    return status;
}

/* Allocates all memory of a run, then pushes it. */
static int allocate_and_push(plan_state *s, neap_buffer **made) {
    lazy_plan *plan = s->plan;
    lazy_transferred few[16],
        *transferred = plan->ntransfers <= 16 ? few : malloc((size_t)plan->ntransfers * sizeof *transferred);
    if (!transferred)
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    s->transferred = transferred;
    bool unsettled = false;
    int status = plan_transfer_allocate(s->ctx, plan, transferred);
    if (status == 0)
        status = allocate(s, made);
    if (status == 0 && (status = plan_unsettled_reserve(s->ctx, plan, s->bufs, &unsettled)) != 0)
        release_made(plan, made);
    if (status == 0)
        status = push_all(s, made);
    if (status == 0 && unsettled)
        plan_unsettled_add(s->ctx, plan, made);
    plan_transfer_release(plan, transferred);
    if (transferred != few)
        free(transferred);
    return status;
}

int plan_run(neap_ctx *ctx, lazy_plan *plan, neap_node *const *region, lazy_binding *binding, neap_buffer **made) {
    enum { FEW = 32 };
    neap_buffer *few[FEW], **scratches = NULL;
    lazy_scalar some[FEW];
    size_t few_starts[FEW];
    plan_state s = {.ctx = ctx, .plan = plan, .region = region, .binding = binding};
    s.bufs = plan->nslots <= FEW ? few : malloc((size_t)plan->nslots * sizeof *s.bufs);
    s.numbers = plan->nnumbers <= FEW ? some : malloc((size_t)plan->nnumbers * sizeof *s.numbers);
    int status = s.bufs && s.numbers ? 0 : neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    if (binding->start &&
        !(s.starts = plan->nslots <= FEW ? few_starts : malloc((size_t)plan->nslots * sizeof *s.starts)))
        status = neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    if (binding->start && status == 0)
        find_starts(&s);
    if (plan->nscratches && status == 0)
        status = allocate_scratches(ctx, plan, region, &scratches);
    s.scratches = scratches;
    if (status == 0 && neap_device_count() > neap_engine_devices())
        status = bring_leaves_home(&s);
    if (plan->reuse && binding->kept)
        plan_memory_of_program(plan->reuse, binding->nkept, binding->kept, binding->ngiven, binding->given);
    else if (plan->reuse)
        plan_memory_of_flush(ctx, plan->reuse);
    if (plan->reuse && status == 0)
        status = LAZY_VERIFY_MEMORY(plan->reuse);
    if (status == 0)
        status = allocate_and_push(&s, made);
    release_scratches(plan, scratches);
    if (plan->nslots > FEW)
        free(s.starts);
    if (s.bufs != few)
        free(s.bufs);
    if (s.numbers != some)
        free(s.numbers);
    return status;
}
