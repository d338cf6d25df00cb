/* run.c: running plans: allocation and engine ops. plan_run, at the end, is the order of it.
 *
 * Buffers are allocated at push, or taken over from work in flight that alone still uses them (engine/buffer.c), on the
 * pushing thread, all of them before the first push: so out of memory leaves everything as it was, pending. Each group
 * of steps is one engine op, ordered by the variables of its buffers. A run holds references to its plan and buffers,
 * so memory goes back to the pool after its last use, whoever lets go first.
 */
#include <string.h>

#include "lazy/plan/job.h"
#include "lazy/plan/keep.h"
#include "lazy/plan/verify.h"

/* ---- Memory ------------------------------------------------------------------------------------------------------ */
static void *take(uintptr_t *at, size_t n, size_t size) {
    uintptr_t block = *at;
    *at += n * size;
    return (void *)block;
}

/* Lays the arrays of a run into memory that begins here. Returns its end. */
static uintptr_t lay(lazy_run *r, uintptr_t at) {
    const lazy_plan *plan = r->plan;
    size_t slots = (size_t)plan->nslots, most = (size_t)plan->most_bufs, scratches = (size_t)plan->nscratches;
    size_t starts = r->binding.start != NULL;
    r->numbers = take(&at, (size_t)plan->nnumbers, sizeof *r->numbers);
    r->bufs = take(&at, slots, sizeof *r->bufs);
    r->made = take(&at, slots, sizeof *r->made);
    r->starts = take(&at, starts * slots, sizeof *r->starts);
    r->own = take(&at, most, sizeof *r->own);
    r->own_starts = take(&at, starts * most, sizeof *r->own_starts);
    r->reads = take(&at, most, sizeof *r->reads);
    r->writes = take(&at, most, sizeof *r->writes);
    r->transferred = take(&at, (size_t)plan->ntransfers, sizeof *r->transferred);
    r->scratches = take(&at, scratches, sizeof *r->scratches);
    r->shared = take(&at, scratches ? (size_t)neap_device_count() : 0, sizeof *r->shared);
    r->parts = take(&at, (size_t)plan->most_parts, sizeof *r->parts);
    r->written = take(&at, most, sizeof *r->written);
    return at;
}

static int open_run(lazy_run *r) {
    uintptr_t few = (uintptr_t)r->few;
    size_t bytes = lay(r, few) - few;
    r->begun = r->unsettled = false;
    r->kept_calls = NULL;
    r->block = r->few;
    if (bytes > sizeof r->few) {
        if (!(r->block = malloc(bytes)))
            return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
        lay(r, (uintptr_t)r->block);
    }
    memset(r->made, 0, (size_t)r->plan->nslots * sizeof *r->made);
    if (r->plan->ntransfers || r->plan->nscratches) /* those of both, and of devices, follow each other */
        memset(r->transferred, 0, (size_t)((char *)r->parts - (char *)r->transferred));
    return 0;
}

void plan_run_close(lazy_run *r) {
    if (r->block != r->few)
        free(r->block);
}

/* The leaves and numbers of this run. New data comes from the host: what belongs to another memory is moved there, for
 * good. */
static int bind_leaves(lazy_run *r) {
    const lazy_plan *plan = r->plan;
    const lazy_binding *from = &r->binding;
    bool many = neap_device_count() > neap_engine_devices();
    int status = 0;
    for (int32_t k = 0; k < plan->nslots && status == 0; k++) {
        if (!plan->slots[k].made) {
            neap_node *node = r->region[plan->slots[k].node], *source = from->source(from->arg, node);
            status = many ? plan_transfer_home(r->ctx, source, plan->slots[k].device) : 0;
            r->bufs[k] = source->buffer;
        }
        if (from->start)
            r->starts[k] = plan->slots[k].made ? 0 : from->start(from->arg, r->region[plan->slots[k].node]);
    }
    for (int32_t k = 0; k < plan->nnumbers; k++) {
        const lazy_number *number = &plan->numbers[k];
        r->numbers[k] = dtype_scalar(number->dtype, from->source(from->arg, r->region[number->node])->value);
    }
    return status;
}

static int share_memory(const lazy_run *r) {
    const lazy_binding *from = &r->binding;
    if (from->kept)
        plan_memory_of_program(r->plan, from->nkept, from->kept, from->ngiven, from->given);
    else
        plan_memory_of_flush(r->ctx, r->plan);
    return LAZY_VERIFY_MEMORY(r->plan);
}

static int new_buffer(const lazy_run *r, int device, size_t bytes, neap_buffer **out) {
    int status = neap_buffer_new(device, bytes, out);
    if (status)
        *out = NULL;
    graph_count_bytes(r->ctx, (int64_t)bytes);
    return status;
}

/* The same, in the order of ops, of which this group's is the first that touches the buffer. */
static int new_ordered(const lazy_run *r, int32_t group, int device, size_t bytes, neap_buffer **out) {
    int status = neap_buffer_new_ordered(device, bytes, group, out);
    if (status)
        *out = NULL;
    graph_count_bytes(r->ctx, (int64_t)bytes);
    return status;
}

/* A slot's own. */
static int make_slot(lazy_run *r, int32_t k) {
    const lazy_plan *plan = r->plan;
    size_t bytes = plan_memory_bytes(plan, k);
    int device = plan->slots[k].device, status;
    if (plan_memory_passes(plan, k)) /* its variable is in no push */
        status = new_buffer(r, device, bytes, &r->made[k]);
    else
        status = new_ordered(r, plan_memory_group(plan, k), device, bytes, &r->made[k]);
    r->bufs[k] = r->made[k];
    return status;
}

static size_t scratch_bytes(const lazy_run *r, const lazy_step *step) {
    return plan_needs_scratch(step) ? step->payload->scratch(r->region[step->node], step->device) : 0;
}

/* The memory that steps need for their runs, for each step that needs some, in their order. What is large is one for
 * all steps that run on a device; but not in a flush where one may wait for the script, which may wait for another. */
static int allocate_scratches(lazy_run *r) {
    const lazy_plan *plan = r->plan;
    bool shares = !r->unsettled || r->binding.kept;
    int32_t n = 0;
    for (int32_t k = 0; k < plan->nsteps; k++) {
        size_t bytes = scratch_bytes(r, plan->steps[k]), *largest = &r->shared[plan->steps[k]->device].bytes;
        *largest = bytes > *largest ? bytes : *largest;
    }
    int status = 0;
    for (int32_t k = 0; k < plan->nsteps && status == 0; k++) {
        if (!plan_needs_scratch(plan->steps[k]))
            continue;
        int device = plan->steps[k]->device;
        size_t bytes = scratch_bytes(r, plan->steps[k]);
        lazy_shared_scratch *shared = &r->shared[device];
        if (bytes < LAZY_SHARED_SCRATCH || !shares)
            status = new_buffer(r, device, bytes, &r->scratches[n++]);
        else if (shared->scratch)
            r->scratches[n++] = neap_buffer_retain(shared->scratch);
        else if ((status = new_ordered(r, 0, device, shared->bytes, &shared->scratch)) == 0)
            r->scratches[n++] = shared->scratch;
    }
    return status;
}

/* The buffer of a slot that shares memory with another. A leaf whose memory the run takes will hold something else. */
static neap_buffer *share_home(const lazy_run *r, int32_t slot) {
    int32_t home = plan_memory_home(r->plan, slot);
    if (!r->plan->slots[home].made)
        neap_buffer_unmark(r->bufs[home]);
    return neap_buffer_retain(r->bufs[home]);
}

/* The slots that fixed steps make, where what they made is kept (keep.h). */
static void bind_kept(lazy_run *r) {
    const lazy_keeping *keeping = r->binding.keeping;
    for (int32_t k = 0; k < r->plan->nslots; k++)
        if (plan_keep_has(r, k))
            r->made[k] = r->bufs[k] = keeping->held[k] ? neap_buffer_retain(keeping->held[k]) : NULL;
}

/* All that the run makes, or nothing of it (release). */
static int allocate(lazy_run *r) {
    const lazy_plan *plan = r->plan;
    int status = plan->nscratches ? allocate_scratches(r) : 0;
    for (int32_t c = 0; c < plan->ntransfers && status == 0; c++)
        status = new_buffer(r, plan->transfers[c].device, plan->slots[plan->transfers[c].slot].bytes,
                            &r->transferred[c].buffer); /* a copy must not wait for work that it can run beside */
    if (r->binding.keeping)
        bind_kept(r);
    for (int32_t k = 0; k < plan->nslots && status == 0; k++)
        if (plan->slots[k].made && plan_memory_home(plan, k) == k && !plan_keep_has(r, k))
            status = make_slot(r, k);
    for (int32_t k = 0; k < plan->nslots && plan->reuse && status == 0; k++)
        if (plan->slots[k].made && !r->made[k] && !plan_keep_has(r, k))
            r->made[k] = r->bufs[k] = share_home(r, k);
    return status;
}

/* What the run needs no more, now that it is pushed, or has failed: then it has made nothing. */
static void release(lazy_run *r, int status) {
    const lazy_plan *plan = r->plan;
    for (int32_t k = 0; k < plan->nscratches; k++)
        neap_buffer_release(r->scratches[k]);
    for (int32_t c = 0; c < plan->ntransfers; c++)
        neap_buffer_release(r->transferred[c].buffer);
    plan_keep_release_calls(r->kept_calls);
    for (int32_t k = 0; k < plan->nslots && status; k++) {
        neap_buffer_release(r->made[k]);
        r->made[k] = NULL;
    }
}

/* ---- Steps ------------------------------------------------------------------------------------------------------- */
/* The line of the node that the step computes now; where nobody told one, the last one told of a region of its kind. */
static const char *step_site(const lazy_run *r, lazy_step *step) {
    int32_t site = r->region[step->node]->site;
    if (site && site != r->ctx->sites.chunk)
        step->site = graph_site_text(r->ctx, site);
    return step->site;
}

/* What the steps of the group use as its buffer k. */
static neap_buffer *buffer_at(const lazy_run *r, const lazy_group *group, int32_t k) {
    int32_t transfer = group->transfers ? group->transfers[k] : -1;
    return transfer < 0 ? r->bufs[group->slots[k]] : r->transferred[transfer].buffer;
}

/* Sets what the steps use of the group's buffers, and returns which of those they write: all that the group does, or
 * what some of its steps do. */
static const bool *choose_buffers(lazy_run *r, const lazy_group *group, int32_t first, int32_t nsteps,
                                  uint64_t left_out) {
    bool all = nsteps == group->nsteps && !left_out;
    for (int32_t k = 0; k < group->nbufs && r->binding.start; k++)
        r->own_starts[k] = r->starts[group->slots[k]];
    for (int32_t k = 0; k < group->nbufs && all; k++)
        r->own[k] = buffer_at(r, group, k);
    if (all)
        return group->writes;
    memset(r->own, 0, (size_t)group->nbufs * sizeof *r->own);
    memset(r->written, 0, (size_t)group->nbufs * sizeof *r->written);
    for (int32_t t = first; t < first + nsteps; t++) {
        const lazy_step *step = r->plan->steps[t];
        for (int32_t k = 0; k < step->nbufs && !plan_leaves_out(group, left_out, t); k++) {
            r->own[step->slots[k]] = buffer_at(r, group, step->slots[k]);
            r->written[step->slots[k]] |= k >= step->nbufs - step->nouts;
        }
    }
    return r->written;
}

/* ns that a step takes: estimated, or what a kernel took at best if that was less. A call's time says nothing of the
 * next one. */
static int64_t cost_of_step(const lazy_step *step) {
    int64_t least = step->kind == LAZY_STEP_KERNEL ? atomic_load_explicit(&step->ran.least, memory_order_relaxed) : 0;
    return least > 0 && least < step->cost ? least : step->cost;
}

/* Does an op of this cost run where it is pushed? To hand it to a worker, and to wait for that, takes as long as many
 * an op, and the worker has what it reads in another cache. */
static bool runs_at_push(const lazy_run *r, int64_t cost) {
    bool alone = r->ctx->plans.awaited && r->plan->nsteps == 1;
    return cost < (alone ? LAZY_AWAITED_COST : LAZY_SMALL_COST);
}

/* The passing buffers of a group. */
static uint64_t find_passing(const lazy_plan *plan, const lazy_group *group) {
    uint64_t passing = 0;
    for (int32_t k = 0; k < group->nbufs && group->graphs; k++)
        if (plan_memory_passes(plan, group->slots[k]))
            passing |= UINT64_C(1) << k;
    return passing;
}

/* Pushes nsteps steps of the group from `first` on (all of them, or one), without those that are left out. */
static int push_steps(lazy_run *r, const lazy_group *group, int32_t first, int32_t nsteps, uint64_t left_out) {
    lazy_plan *plan = r->plan;
    lazy_step *step = plan->steps[first];
    const bool *written = choose_buffers(r, group, first, nsteps, left_out);
    int64_t bytes = 0, cost = 0;
    uint32_t wide = nsteps == 1 && plan_is_wide(step) ? NEAP_PUSH_WIDE : 0;
    for (int32_t k = 0; k < group->nbufs; k++)
        if (written[k]) /* also what passes, which the op may keep to its end */
            bytes += (int64_t)plan->slots[group->slots[k]].bytes;
    for (int32_t t = first; t < first + nsteps; t++) {
        if (plan_leaves_out(group, left_out, t))
            continue;
        cost += cost_of_step(plan->steps[t]);
        r->ctx->counters.written += plan_is_idle(plan->steps[t], r->own) ? 0 : (uint64_t)plan->steps[t]->written;
    }
    lazy_group_run job = {.plan = plan,
                          .group = group,
                          .first = first,
                          .nsteps = nsteps,
                          .left_out = left_out,
                          .bufs = r->own,
                          .passing = nsteps == group->nsteps ? find_passing(plan, group) : 0,
                          .starts = r->binding.start ? r->own_starts : NULL,
                          .numbers = r->numbers + group->first_number,
                          .donations = r->binding.ngiven ? &r->ctx->programs.donations : NULL,
                          .calls = r->kept_calls,
                          .unsettled = r->unsettled};
    neap_push push = {.name = nsteps == 1 ? step->label : group->label,
                      .site = step_site(r, step),
                      .device = step->device,
                      .flags = runs_at_push(r, cost) ? NEAP_PUSH_SMALL : wide,
                      .reads = r->reads,
                      .writes = r->writes,
                      .bytes = bytes,
                      .cost = cost};
    plan_job_vars(&job, written, &push);
    return nsteps == 1 && plan_is_idle(step, r->own) ? 0 : plan_group_run_push(&job, &push);
}

/* Steps may share an op only if none of them waits for, or fails with, what the others do not use: if all inputs of the
 * group are there, or, for launch graphs, are sure, and so is what an earlier step wrote of which they write a part.
 * Else each goes by itself. */
static int push_together_or_alone(lazy_run *r, const lazy_group *group, uint64_t left_out) {
    bool together = true;
    int device = r->plan->steps[group->first]->device;
    for (int32_t k = 0; k < group->nbufs && together && group->nsteps > 1; k++) {
        const neap_buffer *buffer = buffer_at(r, group, k);
        if (!buffer) /* of steps that are left out */
            continue;
        neap_var *var = neap_buffer_var(buffer);
        together = group->graphs ? neap_var_is_sure(var, device) : neap_var_poll(var, NULL) == NEAP_OK;
    }
    if (together)
        return push_steps(r, group, group->first, group->nsteps, left_out);
    int status = 0;
    for (int32_t t = group->first; t < group->first + group->nsteps && status == 0; t++)
        if (!plan_leaves_out(group, left_out, t))
            status = push_steps(r, group, t, 1, 0);
    return status;
}

/* A step that is alone in its group and pushes its op itself. */
static int launch_alone(lazy_run *r, const lazy_group *group, neap_buffer **scratch) {
    lazy_step *step = r->plan->steps[group->first];
    for (int32_t k = 0; k < step->nbufs; k++)
        r->own[k] = buffer_at(r, group, step->slots[k]);
    lazy_launch what = {
        .node = r->region[step->node], .step = step, .bufs = r->own, .scratch = *scratch, .unsettled = r->unsettled};
    step_site(r, step);
    r->ctx->counters.written += graph_has_programs(what.node) ? 0 : (uint64_t)step->written; /* they count their own */
    return step->effect ? r->binding.effect(r->binding.arg, &what) : plan_launch_push(r->ctx, &what);
}

/* Copies from other memories, one behind the other, by what the devices have for that: with those that the plan wants
 * elsewhere. */
static int push_move(lazy_run *r, const lazy_group *group) {
    lazy_step *step = r->plan->steps[group->first];
    int32_t n = step->nbufs - 1;
    size_t item = (size_t)neap_dtype_bytes(step->call.out->dtype);
    for (int32_t k = 0; k < n; k++) {
        size_t bytes = (size_t)step->call.in[k].size * item;
        r->parts[k] =
            (neap_part){.from = r->bufs[group->slots[step->slots[k]]],
                        .offset = bytes ? (size_t)step->offsets[k] * item : 0, /* a view of none begins anywhere */
                        .bytes = bytes};
    }
    neap_push push = {.name = step->label, .site = step_site(r, step)};
    return plan_transfer_join(r, group->slots[step->slots[n]], n, &push);
}

/* scratch: of its step, if that needs some. left_out: not all of its steps. */
static int push_group(lazy_run *r, const lazy_group *group, uint64_t left_out, neap_buffer **scratch) {
    const lazy_step *step = r->plan->steps[group->first];
    bool transfers = r->plan->ntransfers > 0;
    int status = transfers ? plan_transfer_in(r, group) : 0;
    if (status)
        return status;
    if (step->moves)
        return push_move(r, group);
    status = step->payload ? launch_alone(r, group, scratch) : push_together_or_alone(r, group, left_out);
    return status || !transfers ? status : plan_transfer_out(r, group);
}

static int push_groups(lazy_run *r) {
    lazy_plan *plan = r->plan;
    neap_buffer *none = NULL, **scratch = r->scratches;
    const lazy_keeping *keeping = r->binding.keeping;
    bool kept = keeping && keeping->there;
    int status = 0;
    for (const lazy_group *group = plan->groups; group < plan->groups + plan->ngroups && status == 0; group++) {
        uint64_t left_out = kept ? plan_keep_left_out(r, group) : 0;
        if (left_out == UINT64_MAX >> (64 - group->nsteps)) /* all */
            continue;
        bool needs = plan_needs_scratch(plan->steps[group->first]);
        status = push_group(r, group, left_out, needs ? scratch++ : &none);
        r->begun |= status == 0 || group->nsteps > 1;
    }
    r->ctx->counters.launches += (uint64_t)(plan->nsteps - (kept ? keeping->nfixed : 0));
    plan->runs++;
    if (neap_ahead_poll(NULL) == NEAP_PENDING)
        r->ctx->collector.requests |= NEAP_SAFEPOINT_THROTTLE;
    return status;
}

/* ---- A run ------------------------------------------------------------------------------------------------------- */
int plan_run(lazy_run *r) {
    int status = open_run(r);
    if (status)
        return status;
    if (r->ctx->guard.any)
        status = plan_transfer_guard(r);
    if (status == 0)
        status = bind_leaves(r);
    if (status == 0 && r->binding.keeping)
        plan_keep_look(r);
    if (status == 0)
        status = share_memory(r);
    if (status == 0)
        status = plan_unsettled_reserve(r);
    if (status == 0)
        status = allocate(r);
    if (status == 0 && r->binding.keeping)
        r->kept_calls = plan_keep_calls(r);
    if (status == 0)
        status = push_groups(r);
    if (status == 0 && r->unsettled)
        plan_unsettled_add(r);
    if (status == 0 && r->binding.keeping && !r->binding.keeping->there)
        plan_keep_take(r);
    release(r, status);
    return status;
}
