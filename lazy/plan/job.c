/* job.c: what the op of a group does: it runs the steps, one after the other.
 *
 *      pushed ──▶ run now: as it is                  later: a copy, with references to its plan and buffers
 *                   ├──▶ a CPU, or no graph: the steps are run, or enqueued, by themselves
 *                   └──▶ a launch graph: the steps are recorded, and enqueued as one (lazy/vm/launch_graphs.c)
 *
 * What passes between the steps of a launch graph lies in memory of the graph, so that it is in the same place each
 * time; the buffers that were allocated for it go back at once. Nobody else waits for such a buffer, with a graph or
 * without: its variable is in no push.
 */
#include <string.h>

#include "engine/timeline.h"
#include "lazy/plan/job.h"
#include "lazy/plan/keep.h"

/* Where passing buffers of a group lie, from the first step that uses them to the last: in memory of the graph. */
typedef struct graph_places {
    void *at[LAZY_LAUNCH_GRAPH_BUFFERS];
} graph_places;

static int take_places(graph_places *places, const lazy_step *step, const lazy_group_run *j, const neap_run *run) {
    int status = 0;
    for (int32_t k = 0; k < step->nbufs && status == 0; k++) {
        int32_t at = step->slots[k];
        if (plan_passes(j->passing, at) && !places->at[at])
            status = neap_run_alloc(run, neap_buffer_bytes(j->bufs[at]), &places->at[at]);
    }
    return status;
}

static void free_places(graph_places *places, int32_t t, const lazy_group_run *j, const neap_run *run) {
    const lazy_step *step = j->plan->steps[t];
    for (int32_t k = 0; k < step->nbufs; k++) {
        int32_t at = step->slots[k];
        if (!plan_passes(j->passing, at) || j->group->last[at] != t || !places->at[at])
            continue;
        neap_run_free(run, places->at[at], neap_buffer_bytes(j->bufs[at]));
        places->at[at] = NULL;
    }
}

/* Runs step t of the plan. places: NULL outside of a launch graph. */
static int run_step(int32_t t, const lazy_group_run *j, const graph_places *places, const neap_run *run) {
    const lazy_step *step = j->plan->steps[t];
    int32_t n = step->nbufs;
    void *small[16], **data = n <= 16 ? small : malloc((size_t)n * sizeof *data);
    if (!data)
        return neap_error(NEAP_E_MEMORY, "out of memory for %d operands", n);
    for (int32_t k = 0; k < n; k++) {
        int32_t at = step->slots[k];
        data[k] = places && plan_passes(j->passing, at) ? places->at[at] : neap_buffer_data(j->bufs[at]);
    }
    for (int32_t k = 0; j->starts && k < n; k++)
        data[k] = (char *)data[k] + j->starts[step->slots[k]];
    const lazy_scalar *numbers = j->numbers + (step->first_number - j->group->first_number);
    int status = plan_step_run(step, step->backend, &step->kernel, data, numbers, plan_keep_of_call(j->calls, t), run);
    if (data != small)
        free(data);
    return status;
}

/* Shows a step of several in the timeline. */
static void report_step(const lazy_step *step, int64_t began) {
    lazy_traffic bytes = plan_step_traffic(step);
    engine_timeline_step(step->label, step->site, began, (uint64_t)bytes.read, (uint64_t)bytes.written);
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

/* A launch graph for the steps, if they are all of their group; NULL: there is none. */
static neap_launch_graph *take_graph(const lazy_group_run *j, const neap_run *run) {
    if (!j->group->graphs || j->nsteps < j->group->nsteps || !run->stream)
        return NULL;
    uint64_t key = 0;
    for (int32_t k = 0; k < j->group->nbufs; k++)
        if (!plan_passes(j->passing, k))
            key = vm_launch_graphs_key(key, neap_buffer_data(j->bufs[k]));
    return vm_launch_graphs_take(j->group->graphs, key);
}

static int run_steps(const lazy_group_run *j, graph_places *places, const neap_run *run) {
    int status = 0;
    for (int32_t k = 0; k < j->nsteps && status == 0; k++) {
        lazy_step *step = j->plan->steps[j->first + k];
        if (plan_leaves_out(j->group, j->left_out, j->first + k))
            continue;
        int64_t began = j->nsteps > 1 ? engine_timeline_now() : 0, timed = time_step(step);
        status = places ? take_places(places, step, j, run) : 0;
        if (status == 0 && !plan_is_idle(step, j->bufs))
            status = run_step(j->first + k, j, places, run);
        if (places)
            free_places(places, j->first + k, j, run);
        if (timed)
            record_step_time(&step->ran, timed, run);
        if (began)
            report_step(step, began);
    }
    return status;
}

/* What passes was in memory of the graph: the buffers are not needed. */
static void return_passing(lazy_group_run *j) {
    for (int32_t k = 0; k < j->group->nbufs && j->kept; k++)
        if (plan_passes(j->passing, k)) {
            plan_unsettled_let_go(j->bufs[k], j->unsettled);
            j->bufs[k] = NULL;
        }
}

static int run_group(void *arg, const neap_run *run) {
    lazy_group_run *j = arg;
    neap_launch_graph *graph = take_graph(j, run);
    if (!graph)
        return run_steps(j, NULL, run);
    neap_run recording;
    graph_places places = {{NULL}};
    neap_launch_graph_record(graph, run, &recording);
    int status = run_steps(j, &places, &recording);
    status = status ? status : neap_launch_graph_run(graph, run);
    vm_launch_graphs_return(j->group->graphs, graph);
    return_passing(j);
    return status;
}

static void group_run_release(void *arg) {
    lazy_group_run *j = arg;
    for (int32_t k = 0; k < j->group->nbufs; k++)
        if (j->bufs[k])
            plan_unsettled_let_go(j->bufs[k], j->unsettled);
    plan_release(j->plan);
    plan_keep_release_calls(j->calls);
    if (j->donations)
        atomic_fetch_sub(j->donations, 1);
    free(j);
}

/* A copy of a run that lives as long as its op, and keeps its plan and buffers. */
static lazy_group_run *group_run_keep(const lazy_group_run *from) {
    const lazy_group *group = from->group;
    size_t pointers = (size_t)group->nbufs * sizeof(neap_buffer *);
    size_t numbers = (size_t)group->nnumbers * sizeof *from->numbers;
    size_t starts = from->starts ? (size_t)group->nbufs * sizeof *from->starts : 0;
    lazy_group_run *j = malloc(sizeof *j + pointers + numbers + starts);
    if (!j)
        return NULL;
    if (from->donations)
        atomic_fetch_add(from->donations, 1);
    __atomic_add_fetch(&from->plan->refs, 1, __ATOMIC_RELAXED);
    *j = *from;
    j->kept = true;
    plan_keep_retain_calls(j->calls);
    j->bufs = memcpy(j + 1, from->bufs, pointers);
    j->numbers = numbers ? memcpy(j->bufs + group->nbufs, from->numbers, numbers) : NULL;
    j->starts = starts ? memcpy((char *)(j + 1) + pointers + numbers, from->starts, starts) : NULL;
    for (int32_t k = 0; k < group->nbufs; k++)
        if (j->bufs[k])
            plan_unsettled_hold(j->bufs[k], j->unsettled);
    return j;
}

/* What the steps of the job do to a buffer that slots may share: the first of them that touches it decides whether it
 * is written afresh. */
static void find_access(const lazy_group_run *j, const neap_buffer *buffer, bool *writes, bool *fresh) {
    bool touched = false;
    *writes = *fresh = false;
    for (int32_t t = j->first; t < j->first + j->nsteps; t++) {
        const lazy_step *step = j->plan->steps[t];
        for (int32_t k = 0; k < step->nbufs && !plan_leaves_out(j->group, j->left_out, t); k++) {
            if (j->bufs[step->slots[k]] != buffer)
                continue;
            bool out = k >= step->nbufs - step->nouts;
            *fresh |= !touched && out && plan_memory_is_fresh(j->plan, j->group->slots[step->slots[k]], t);
            *writes |= out;
            touched = true;
        }
    }
}

void plan_job_vars(const lazy_group_run *j, const bool *written, neap_push *push) {
    const lazy_plan *plan = j->plan;
    const lazy_group *group = j->group;
    neap_buffer *const *bufs = j->bufs;
    neap_var **reads = (neap_var **)push->reads, **writes = (neap_var **)push->writes;
    int nreads = 0, nwrites = 0, nfresh = 0;
    for (int32_t k = 0; k < group->nbufs; k++) {
        bool seen = !bufs[k] || plan_passes(j->passing, k), writes_it = written[k], fresh = false;
        for (int32_t i = 0; i < k && !seen; i++)
            seen = bufs[i] == bufs[k];
        if (seen)
            continue;
        int32_t s = group->slots[k];
        if (plan->reuse && (!plan->slots[s].made || plan_memory_is_shared(plan, s)))
            find_access(j, bufs[k], &writes_it, &fresh);
        neap_var *var = neap_buffer_var(bufs[k]);
        if (!writes_it) {
            reads[nreads++] = var;
        } else if (!fresh) {
            writes[nwrites++] = var;
        } else {
            writes[nwrites++] = writes[nfresh];
            writes[nfresh++] = var;
        }
    }
    push->nreads = nreads, push->nwrites = nwrites, push->nfresh = nfresh;
}

int plan_group_run_push(const lazy_group_run *j, neap_push *push) {
    int status = neap_push_now(run_group, (void *)j, push);
    if (status != NEAP_PENDING)
        return status;
    lazy_group_run *kept = group_run_keep(j);
    if (!kept)
        return neap_error(NEAP_E_MEMORY, "out of memory while pushing");
    push->release = group_run_release;
    status = neap_push_sync(run_group, kept, push);
    if (status)
        group_run_release(kept);
    return status;
}
