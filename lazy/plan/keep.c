/* keep.c: what a program computes of kept inputs alone (keep.h): finding it, and holding it from run to run. */
#include "lazy/plan/keep.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lazy/arena.h"

/* ---- Which steps are fixed --------------------------------------------------------------------------------------- */
typedef struct finder {
    const lazy_plan *plan;
    neap_node *const *region;
    bool *changes; /* by slot: it may be another from run to run */
    lazy_keeping *keeping;
} finder;

static bool is_among(const neap_node *node, int64_t n, neap_node *const *nodes) {
    bool found = false;
    for (int64_t k = 0; k < n && !found; k++)
        found = nodes[k] == node;
    return found;
}

/* Inputs that are not kept change; those that are become leaves; arrays of the program itself are neither. */
static void find_leaves(finder *f, int64_t ninputs, neap_node *const *inputs) {
    for (int32_t s = 0; s < f->plan->nslots; s++) {
        const neap_node *node = f->region[f->plan->slots[s].node];
        if (f->plan->slots[s].made || !graph_is_placeholder(node))
            continue;
        if (is_among(node, ninputs, inputs))
            f->keeping->leaves[f->keeping->nleaves++] = (plan_kept_leaf){.slot = s};
        else
            f->changes[s] = true;
    }
}

static bool step_is_plain(const finder *f, const lazy_step *step) {
    return !step->effect && !step->payload && !step->moves && !plan_may_fail(f->region[step->node]);
}

static bool step_is_fixed(const finder *f, const lazy_group *group, const lazy_step *step) {
    bool fixed = step_is_plain(f, step);
    for (int32_t k = 0; k < step->nnumbers && fixed; k++)
        fixed = !graph_is_placeholder(f->region[f->plan->numbers[step->first_number + k].node]);
    for (int32_t k = 0; k < step->nbufs && fixed; k++)
        fixed = !f->changes[group->slots[step->slots[k]]];
    return fixed;
}

/* The step is not fixed. What it writes changes, and with that other steps that write or read it: a slot may be made in
 * parts. */
static void unfix_step(finder *f, const lazy_group *group, int32_t t) {
    const lazy_step *step = f->plan->steps[t];
    f->keeping->fixed[t] = false;
    for (int32_t k = step->nbufs - step->nouts; k < step->nbufs; k++)
        f->changes[group->slots[step->slots[k]]] = true;
}

/* Unfixes the steps of a group that are not fixed, all of a launch graph if one of them is not. Were there any? */
static bool unfix_group(finder *f, const lazy_group *group) {
    bool any = false, all = false;
    for (int32_t t = group->first; t < group->first + group->nsteps; t++)
        all |= group->graphs && !(f->keeping->fixed[t] && step_is_fixed(f, group, f->plan->steps[t]));
    for (int32_t t = group->first; t < group->first + group->nsteps; t++) {
        if (!f->keeping->fixed[t] || (!all && step_is_fixed(f, group, f->plan->steps[t])))
            continue;
        unfix_step(f, group, t);
        any = true;
    }
    return any;
}

static void find_fixed(finder *f) {
    bool again = true;
    for (int32_t t = 0; t < f->plan->nsteps; t++)
        f->keeping->fixed[t] = true;
    while (again) {
        again = false;
        for (int32_t g = 0; g < f->plan->ngroups; g++)
            again |= unfix_group(f, &f->plan->groups[g]);
    }
}

/* The calls that are not fixed, and whose operand is. */
static void find_calls(finder *f) {
    for (lazy_step_walk w = plan_walk(f->plan); plan_walk_next(&w);) {
        const lazy_kept *rule = w.step->kind == LAZY_STEP_KERNEL ? NULL : w.step->call.op->keeps;
        if (f->keeping->fixed[w.t] || !rule || w.step->moves || w.step->backend != &vm_backend_cpu ||
            f->changes[plan_walk_slot(&w, rule->operand)])
            continue;
        f->keeping->calls[w.t] = true;
        f->keeping->ncalls++;
    }
}

static void find_slots(finder *f, int64_t nresults, const int32_t *results) {
    lazy_keeping *keeping = f->keeping;
    const lazy_plan *plan = f->plan;
    for (lazy_step_walk w = plan_walk(plan); plan_walk_next(&w);)
        for (int32_t k = w.step->nbufs - w.step->nouts; k < w.step->nbufs && keeping->fixed[w.t]; k++)
            keeping->keeps[plan_walk_slot(&w, k)] = PLAN_KEEPS_INSIDE;
    for (lazy_step_walk w = plan_walk(plan); plan_walk_next(&w);)
        for (int32_t k = 0; k < w.step->nbufs && !keeping->fixed[w.t]; k++)
            if (keeping->keeps[plan_walk_slot(&w, k)])
                keeping->keeps[plan_walk_slot(&w, k)] = PLAN_KEEPS_READ;
    for (int64_t r = 0; r < nresults; r++) {
        keeping->stays[keeping->nstays++] = results[r];
        if (results[r] >= 0 && keeping->keeps[results[r]])
            keeping->keeps[results[r]] = PLAN_KEEPS_READ;
    }
    for (int32_t s = 0; s < plan->nslots; s++) {
        if (keeping->keeps[s])
            keeping->stays[keeping->nstays++] = s;
        keeping->bytes += keeping->keeps[s] == PLAN_KEEPS_READ ? (int64_t)plan->slots[s].bytes : 0;
    }
    for (int32_t t = 0; t < plan->nsteps; t++)
        keeping->nfixed += keeping->fixed[t];
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */
int plan_keep_new(const lazy_plan *plan, neap_node *const *region, int64_t ninputs, neap_node *const *inputs,
                  int64_t nresults, const int32_t *results, lazy_keeping **out) {
    size_t slots = (size_t)plan->nslots;
    lazy_keeping *keeping, own = {.plan = plan};
    *out = NULL;
    if (plan->ntransfers)
        return 0; /* what is read elsewhere is copied there in each run */
    finder f = {.plan = plan, .region = region};
    if (!LAZY_ARENA(LAZY_PART(keeping, 1), LAZY_PART(own.leaves, ninputs), LAZY_PART(own.held, slots),
                    LAZY_PART(own.stays, slots + (size_t)nresults), LAZY_PART(own.fixed, plan->nsteps),
                    LAZY_PART(own.keeps, slots), LAZY_PART(own.calls, plan->nsteps), LAZY_PART(f.changes, slots)))
        return neap_error(NEAP_E_MEMORY, "out of memory for a program");
    *keeping = own;
    f.keeping = keeping;
    find_leaves(&f, ninputs, inputs);
    find_fixed(&f);
    find_calls(&f);
    find_slots(&f, nresults, results);
    if (keeping->nfixed || keeping->ncalls)
        *out = keeping;
    else
        plan_keep_free(keeping);
    return 0;
}

void plan_keep_forget(lazy_keeping *keeping) {
    if (!keeping || !keeping->there)
        return;
    for (int32_t s = 0; s < keeping->plan->nslots; s++) {
        neap_buffer_release(keeping->held[s]);
        keeping->held[s] = NULL;
    }
    plan_keep_release_calls(keeping->made);
    keeping->made = NULL;
    keeping->there = false;
}

void plan_keep_free(lazy_keeping *keeping) {
    plan_keep_forget(keeping);
    free(keeping);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */
static bool has_failed(const lazy_keeping *keeping) {
    bool failed = false;
    for (int32_t s = 0; s < keeping->plan->nslots && !failed; s++)
        failed = keeping->held[s] && neap_var_poll(neap_buffer_var(keeping->held[s]), NULL) < 0;
    return failed;
}

void plan_keep_look(const lazy_run *run) {
    lazy_keeping *keeping = run->binding.keeping;
    bool same = keeping->there && !has_failed(keeping);
    for (int32_t k = 0; k < keeping->nleaves; k++) {
        plan_kept_leaf *leaf = &keeping->leaves[k];
        uint64_t mark = neap_buffer_mark(run->bufs[leaf->slot]);
        size_t start = run->binding.start ? run->starts[leaf->slot] : 0;
        same = same && leaf->mark == mark && leaf->start == start;
        leaf->mark = mark;
        leaf->start = start;
    }
    if (!same)
        plan_keep_forget(keeping);
}

uint64_t plan_keep_left_out(const lazy_run *run, const lazy_group *group) {
    const lazy_keeping *keeping = run->binding.keeping;
    uint64_t out = 0;
    for (int32_t k = 0; keeping && keeping->there && k < group->nsteps; k++)
        out |= (uint64_t)keeping->fixed[group->first + k] << k;
    return out;
}

void plan_keep_take(const lazy_run *run) {
    lazy_keeping *keeping = run->binding.keeping;
    for (int32_t s = 0; s < keeping->plan->nslots; s++)
        if (keeping->keeps[s] == PLAN_KEEPS_READ)
            keeping->held[s] = neap_buffer_retain(run->made[s]);
    keeping->made = run->kept_calls;
    plan_keep_retain_calls(keeping->made);
    keeping->there = true;
}

/* ---- What calls keep --------------------------------------------------------------------------------------------- */
static plan_kept_calls *open_calls(const lazy_keeping *keeping) {
    const lazy_plan *plan = keeping->plan;
    plan_kept_calls *calls = calloc(1, sizeof *calls + (size_t)plan->nsteps * sizeof *calls->at);
    if (!calls)
        return NULL;
    calls->refs = 1;
    calls->n = plan->nsteps;
    for (int32_t t = 0; t < plan->nsteps; t++) {
        const lazy_call *call = &plan->steps[t]->call;
        size_t bytes = 0;
        if (!keeping->calls[t])
            continue;
        calls->at[t].rule = call->op->keeps;
        calls->at[t].kept = call->op->keeps->open(call, &bytes);
        calls->bytes += (int64_t)bytes;
    }
    return calls;
}

plan_kept_calls *plan_keep_calls(const lazy_run *run) {
    const lazy_keeping *keeping = run->binding.keeping;
    plan_keep_retain_calls(keeping->made);
    return keeping->there || !keeping->ncalls ? keeping->made : open_calls(keeping);
}

void plan_keep_retain_calls(plan_kept_calls *calls) {
    if (calls)
        atomic_fetch_add_explicit(&calls->refs, 1, memory_order_relaxed);
}

void plan_keep_release_calls(plan_kept_calls *calls) {
    if (!calls || atomic_fetch_sub_explicit(&calls->refs, 1, memory_order_acq_rel) > 1)
        return;
    for (int32_t t = 0; t < calls->n; t++)
        if (calls->at[t].kept)
            calls->at[t].rule->close(calls->at[t].kept);
    free(calls);
}
