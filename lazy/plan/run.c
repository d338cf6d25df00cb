/* run.c: running plans: allocation and engine ops.
 *
 * Buffers are allocated at push, on the pushing thread, all of them before the first push: so out of memory leaves
 * everything as it was, pending. Each group of steps is one engine op, ordered by the variables of its buffers. A job
 * holds references to its plan and buffers, so memory goes back to the pool after its last use, whoever lets go first.
 */
#include <stdio.h>
#include <string.h>

#include "engine/timeline.h"
#include "lazy/graph/graph.h"
#include "lazy/plan/verify.h"

typedef struct group_run { /* one group of a plan */
    lazy_plan *plan;
    const lazy_group *group;
    int32_t first, nsteps;      /* all steps of the group, or one of them */
    neap_buffer **bufs;         /* the group's; NULL where these steps do not use them */
    const size_t *starts;       /* see lazy_binding; NULL: none */
    const int32_t *start_of;    /* of each of the group's buffers its place in starts; NULL: they stand in order */
    const lazy_scalar *numbers; /* the group's */
    _Atomic int64_t *donations; /* its plan is run with what was given to it: the context's count. NULL: it is not */
} group_run;

/* What a run of a plan is made of, while it is pushed. */
typedef struct plan_state {
    neap_ctx *ctx;
    lazy_plan *plan;
    neap_node *const *region;
    lazy_binding *binding;
    neap_buffer **bufs; /* by slot */
    size_t *starts;     /* by slot, see lazy_binding; NULL: none */
    lazy_scalar *numbers;
    lazy_crossed *crossed;         /* by crossing */
    neap_buffer *const *scratches; /* of the next steps that need some */
} plan_state;

static int run_step(const lazy_step *step, const group_run *j, const neap_run *run) {
    int32_t n = step->nbufs;
    void *small[16], **data = n <= 16 ? small : malloc((size_t)n * sizeof *data);
    if (!data)
        return neap_error(NEAP_E_MEMORY, "out of memory for %d operands", n);
    for (int32_t k = 0; k < n; k++)
        data[k] = neap_buffer_data(j->bufs[step->slots[k]]);
    for (int32_t k = 0; j->starts && k < n; k++)
        data[k] = (char *)data[k] + j->starts[j->start_of ? j->start_of[step->slots[k]] : step->slots[k]];
    lazy_operands with = {.name = step->label,
                          .nbufs = n,
                          .nnumbers = step->nnumbers,
                          .bufs = data,
                          .numbers = j->numbers + (step->first_number - j->group->first_number)};
    int status = step->kind == LAZY_STEP_KERNEL ? step->backend->run(&step->kernel, &with, run)
                                                : step->backend->call(&step->call, step->offsets, &with, run);
    if (data != small)
        free(data);
    return status;
}

/* Shows a step of several in the timeline. */
static void report_step(const lazy_step *step, int64_t began) {
    lazy_traffic bytes = plan_step_traffic(step);
    engine_timeline_step(step->label, began, (uint64_t)bytes.read, (uint64_t)bytes.written);
}

/* The time, if this run of the step is to be timed; else 0. */
static int64_t time_step(lazy_step *step) {
    uint32_t turn = atomic_load_explicit(&step->ran.turns, memory_order_relaxed);
    atomic_store_explicit(&step->ran.turns, turn + 1, memory_order_relaxed);
    return step->cost >= LAZY_TIMED_COST || turn % LAZY_TIMED_TURNS == 0 ? engine_now() : 0;
}

static void record_step_time(lazy_ran *ran, int64_t began, const neap_run *run) {
    int64_t now = engine_now(), ns = now - began;
    int64_t times = atomic_load_explicit(&ran->times, memory_order_relaxed);
    int64_t total = atomic_load_explicit(&ran->total, memory_order_relaxed);
    atomic_store_explicit(&ran->times, times + 1, memory_order_relaxed);
    atomic_store_explicit(&ran->total, total + ns, memory_order_relaxed);
    atomic_store_explicit(&ran->last, ns, memory_order_relaxed);
    int64_t least = atomic_load_explicit(&ran->least, memory_order_relaxed);
    if (ns > 0 && (least == 0 || ns < least))
        atomic_store_explicit(&ran->least, ns, memory_order_relaxed);
    atomic_store_explicit(&ran->ended, now, memory_order_relaxed);
    atomic_store_explicit(&ran->worker, run->worker, memory_order_relaxed);
}

/* A row for the steps, if they are all of their group; NULL: there is none. */
static neap_row *take_row(const group_run *j, const neap_run *run) {
    if (!j->group->rows || j->nsteps < j->group->nsteps || !run->stream)
        return NULL;
    uint64_t key = 0;
    for (int32_t k = 0; k < j->group->nbufs; k++)
        key = vm_rows_key(key, neap_buffer_data(j->bufs[k]));
    return vm_rows_take(j->group->rows, key);
}

static int run_steps(const group_run *j, const neap_run *run) {
    int status = 0;
    for (int32_t k = 0; k < j->nsteps && status == 0; k++) {
        lazy_step *step = j->plan->steps[j->first + k];
        int64_t began = j->nsteps > 1 ? engine_timeline_now() : 0, timed = time_step(step);
        status = plan_is_idle(step, j->bufs) ? 0 : run_step(step, j, run);
        if (timed)
            record_step_time(&step->ran, timed, run);
        if (began)
            report_step(step, began);
    }
    return status;
}

static int run_batch_job(void *arg, const neap_run *run) {
    const group_run *j = arg;
    neap_row *row = take_row(j, run);
    if (!row)
        return run_steps(j, run);
    neap_run recording;
    neap_row_record(row, run, &recording);
    int status = run_steps(j, &recording);
    status = status ? status : neap_row_run(row, run);
    vm_rows_return(j->group->rows, row);
    return status;
}

static void group_run_release(void *arg) {
    group_run *j = arg;
    for (int32_t k = 0; k < j->group->nbufs; k++)
        if (j->bufs[k])
            neap_buffer_return(j->bufs[k]);
    plan_release(j->plan);
    if (j->donations)
        atomic_fetch_sub(j->donations, 1);
    free(j);
}

/* The line of the node that the step computes now; where nobody told one, the last one told of a region of its kind. */
static const char *step_site(neap_ctx *ctx, lazy_step *step, neap_node *const *region) {
    int32_t site = region[step->node]->site;
    if (site && site != ctx->sites.chunk)
        step->site = graph_site_text(ctx, site);
    return step->site;
}

/* A copy of a job that lives as long as its op, and keeps its plan and buffers. */
static group_run *group_run_keep(const group_run *from) {
    const lazy_group *group = from->group;
    size_t pointers = (size_t)group->nbufs * sizeof(neap_buffer *);
    size_t numbers = (size_t)group->nnumbers * sizeof *from->numbers;
    size_t starts = from->starts ? (size_t)group->nbufs * sizeof *from->starts : 0;
    group_run *j = malloc(sizeof *j + pointers + numbers + starts);
    if (!j)
        return NULL;
    if (from->donations)
        atomic_fetch_add(from->donations, 1);
    __atomic_add_fetch(&from->plan->refs, 1, __ATOMIC_RELAXED);
    *j = *from;
    j->bufs = memcpy(j + 1, from->bufs, pointers);
    j->numbers = numbers ? memcpy(j->bufs + group->nbufs, from->numbers, numbers) : NULL;
    size_t *own = starts ? (size_t *)((char *)(j + 1) + pointers + numbers) : NULL;
    for (int32_t k = 0; own && k < group->nbufs; k++)
        own[k] = from->starts[group->slots[k]];
    j->starts = own;
    j->start_of = NULL;
    for (int32_t k = 0; k < group->nbufs; k++)
        if (j->bufs[k])
            neap_buffer_lend(j->bufs[k]);
    return j;
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
    int32_t crossing = group->crossings ? group->crossings[k] : -1;
    return crossing < 0 ? s->bufs[group->slots[k]] : s->crossed[crossing].buffer;
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

/* Runs the job here and now if nothing is in the way; else pushes a copy of it. */
static int group_run_push(const group_run *j, neap_push *push) {
    int status = neap_push_now(run_batch_job, (void *)j, push);
    if (status != NEAP_PENDING)
        return status;
    group_run *kept = group_run_keep(j);
    if (!kept)
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    push->release = group_run_release;
    status = neap_push_sync(run_batch_job, kept, push);
    if (status)
        group_run_release(kept);
    return status;
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
    for (int32_t k = 0; k < group->nbufs; k++) {
        if (r.bufs[k] && written[k]) {
            r.writes[nwrites++] = neap_buffer_var(r.bufs[k]);
            bytes += (int64_t)plan->slots[group->slots[k]].bytes;
        } else if (r.bufs[k]) {
            r.reads[nreads++] = neap_buffer_var(r.bufs[k]);
        }
    }
    group_run j = {.plan = plan,
                   .group = group,
                   .first = first,
                   .nsteps = nsteps,
                   .bufs = r.bufs,
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
        plan_memory_vars(plan->reuse, group, first, nsteps, r.bufs, r.reads, r.writes, &push);
    for (int32_t t = first; t < first + nsteps; t++)
        s->ctx->counters.written += plan_is_idle(plan->steps[t], r.bufs) ? 0 : (uint64_t)plan->steps[t]->written;
    int status = nsteps == 1 && plan_is_idle(step, r.bufs) ? 0 : group_run_push(&j, &push);
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
                        .scratch = plan_needs_room(step) ? *s->scratches++ : NULL};
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
    int status = plan_cross_join(s->plan, slot, n, parts, s->bufs[slot], s->crossed, &push);
    if (parts != few)
        free(parts);
    return status;
}

/* Steps may share an op only if none of them waits for, or fails with, what the others do not read: if all inputs of
 * the group are there, or, for rows of launches, are sure. Else each goes by itself. */
static int push_alone_or_together(const plan_state *s, const lazy_group *group) {
    bool together = true;
    int device = s->plan->steps[group->first]->device;
    for (int32_t k = 0; k < group->nbufs && together && group->nsteps > 1; k++) {
        neap_var *var = group->writes[k] ? NULL : neap_buffer_var(buffer_at(s, group, k));
        if (var)
            together = group->rows ? neap_var_is_sure(var, device) : neap_var_poll(var, NULL) == NEAP_OK;
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
    bool crosses = s->plan->ncrossings > 0;
    int status = crosses ? plan_cross_in(s->plan, group, s->bufs, s->crossed) : 0;
    if (status)
        return status;
    if (step->payload)
        status = launch_alone(s, group);
    else
        status = step->moves ? move(s, group) : push_alone_or_together(s, group);
    return status || !crosses || step->moves ? status : plan_cross_out(s->plan, group, s->bufs, s->crossed);
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
            status = plan_cross_home(s->ctx, s->binding->source(s->binding->arg, s->region[s->plan->slots[k].node]),
                                     s->plan->slots[k].device);
    return status;
}

typedef struct shared_scratch {
    size_t bytes; /* what the largest step on a device needs */
    neap_buffer *scratch;
} shared_scratch;

static size_t control_scratch_bytes(const lazy_plan *plan, neap_node *const *region, int32_t k) {
    const lazy_step *step = plan->steps[k];
    return plan_needs_room(step) ? step->payload->scratch(region[step->node], step->device) : 0;
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
    neap_buffer **scratches = *out = calloc((size_t)plan->nrooms, sizeof *scratches);
    shared_scratch *shared = calloc((size_t)neap_device_count(), sizeof *shared);
    int status = scratches && shared ? 0 : neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    for (int32_t k = 0; k < plan->nsteps && status == 0; k++) {
        size_t bytes = control_scratch_bytes(plan, region, k), *largest = &shared[plan->steps[k]->device].bytes;
        *largest = bytes > *largest ? bytes : *largest;
    }
    for (int32_t k = 0; k < plan->nsteps && status == 0; k++) {
        int device = plan->steps[k]->device;
        if (plan_needs_room(plan->steps[k]))
            status =
                allocate_scratch(ctx, device, control_scratch_bytes(plan, region, k), &shared[device], &scratches[n++]);
    }
    free(shared);
    return status;
}

static void release_scratches(const lazy_plan *plan, neap_buffer **scratches) {
    for (int32_t k = 0; k < plan->nrooms && scratches; k++)
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
        s->ctx->collector.attention |= NEAP_ATTEND_THROTTLE;
    if (status)
        release_made(plan, made);
    return status;
}

/* Allocates all memory of a run, then pushes it. */
static int allocate_and_push(plan_state *s, neap_buffer **made) {
    lazy_plan *plan = s->plan;
    lazy_crossed few[16], *crossed = plan->ncrossings <= 16 ? few : malloc((size_t)plan->ncrossings * sizeof *crossed);
    if (!crossed)
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    s->crossed = crossed;
    bool doubtful = false;
    int status = plan_cross_allocate(s->ctx, plan, crossed);
    if (status == 0)
        status = allocate(s, made);
    if (status == 0 && (status = plan_doubt_reserve(s->ctx, plan, s->bufs, &doubtful)) != 0)
        release_made(plan, made);
    if (status == 0)
        status = push_all(s, made);
    if (status == 0 && doubtful)
        plan_doubt(s->ctx, plan, made);
    plan_cross_release(plan, crossed);
    if (crossed != few)
        free(crossed);
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
    if (plan->nrooms && status == 0)
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
