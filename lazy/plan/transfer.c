/* transfer.c: steps that use what lies in another memory.
 *
 * A slot lies where its node runs. A step may run elsewhere: it reads an uncommitted array, which lies on the first
 * device; or the backend of its device cannot do it, so it runs on the host. For each memory from which a slot is used
 * the plan has a *transfer*, a buffer there that a run fills with a copy of the slot before the first step that reads
 * it:
 *
 *      slot ──copy──▶ transfer ──▶ step            step ──▶ transfer ──copy──▶ slot
 *
 * Copies are ops of the engine, which the variables of the buffers put in order; so nobody waits for them here. A group
 * runs on one device, so in it a slot has one transfer at most.
 *
 * What several devices read is sent to all of them at once, where these have a collective for that: with the first
 * transfer of a slot all others are filled; and an op that moves data to a slot (`join`, `transfer`) fills them too. So
 * a result that is the same on all devices is one node, and one op of the engine.
 */
#include <string.h>

#include "lazy/plan/plan.h"

/* ---- In the plan ------------------------------------------------------------------------------------------------- */
static int32_t find_transfer(const lazy_plan *plan, int32_t slot, int device) {
    int space = neap_device_memory_space(device);
    for (int32_t c = 0; c < plan->ntransfers; c++)
        if (plan->transfers[c].slot == slot && neap_device_memory_space(plan->transfers[c].device) == space)
            return c;
    return -1;
}

static bool needs_transfer(const lazy_plan *plan, const lazy_step *step, int32_t slot) {
    return !step->moves && neap_device_memory_space(step->device) != neap_device_memory_space(plan->slots[slot].device);
}

/* Do several steps write the slot? */
static bool has_parts(const lazy_plan *plan, int32_t slot) {
    int writers = 0;
    for (int32_t s = 0; s < plan->nsteps; s++) {
        const lazy_step *step = plan->steps[s];
        for (int32_t k = step->nbufs - step->nouts; k < step->nbufs; k++)
            writers += step->slots[k] == slot;
    }
    return writers > 1;
}

static int add_transfer(lazy_plan *plan, int32_t slot, int16_t device) {
    lazy_transfer *wider = realloc(plan->transfers, ((size_t)plan->ntransfers + 1) * sizeof *wider);
    if (!wider)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    plan->transfers = wider;
    plan->transfers[plan->ntransfers++] =
        (lazy_transfer){.slot = slot, .device = device, .parts = has_parts(plan, slot)};
    return 0;
}

int plan_transfer_find(lazy_plan *plan) {
    int status = 0;
    for (int32_t s = 0; s < plan->nsteps && status == 0; s++) {
        const lazy_step *step = plan->steps[s];
        for (int32_t k = 0; k < step->nbufs && status == 0; k++)
            if (needs_transfer(plan, step, step->slots[k]) && find_transfer(plan, step->slots[k], step->device) < 0)
                status = add_transfer(plan, step->slots[k], step->device);
    }
    return status;
}

int plan_transfer_group(const lazy_plan *plan, lazy_group *group) {
    const lazy_step *step = plan->steps[group->first];
    bool any = false;
    for (int32_t k = 0; k < group->nbufs && plan->ntransfers > 0; k++)
        any |= needs_transfer(plan, step, group->slots[k]);
    if (!any)
        return 0;
    if (!(group->transfers = malloc((size_t)group->nbufs * sizeof *group->transfers)))
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    for (int32_t k = 0; k < group->nbufs; k++)
        group->transfers[k] =
            needs_transfer(plan, step, group->slots[k]) ? find_transfer(plan, group->slots[k], step->device) : -1;
    return 0;
}

/* ---- In a run ---------------------------------------------------------------------------------------------------- */
/* The line of what a step computes in this run, or the last one that was told of it. */
static const char *line_of(const lazy_run *run, const lazy_step *step) {
    int32_t site = run->region[step->node]->site;
    return site && (site != run->ctx->sites.chunk || !step->site) ? graph_site_text(run->ctx, site) : step->site;
}

/* Notes where the data of a slot is when a step has used its transfer c, or the slot itself (c < 0). */
static void note_use(const lazy_run *run, int32_t slot, int32_t c, bool writes) {
    for (int32_t other = 0; other < run->plan->ntransfers; other++)
        if (run->plan->transfers[other].slot == slot)
            run->transferred[other].same = other == c || (!writes && run->transferred[other].same);
}

int plan_transfer_guard(const lazy_run *run) {
    const lazy_plan *plan = run->plan;
    int status = 0;
    for (lazy_step_walk w = plan_walk(plan); plan->ntransfers > 0 && status == 0 && plan_walk_next(&w);)
        for (int32_t k = 0; k < w.step->nbufs && status == 0; k++) {
            int32_t slot = plan_walk_slot(&w, k), there = plan->slots[slot].device;
            const neap_node *node = run->region[plan->slots[slot].node];
            bool writes = plan_walk_writes(&w, k);
            int32_t c = needs_transfer(plan, w.step, slot) ? find_transfer(plan, slot, w.step->device) : -1;
            if (c >= 0 && (writes || !run->transferred[c].same) && !graph_is_number(node))
                status = graph_guard(run->ctx, &(graph_transfer){.node = node,
                                                                 .from = writes ? w.step->device : there,
                                                                 .to = writes ? there : w.step->device,
                                                                 .by = w.step->label,
                                                                 .site = line_of(run, w.step),
                                                                 .lacks = w.step->lacks});
            note_use(run, slot, c, writes);
        }
    for (int32_t c = 0; c < plan->ntransfers; c++)
        run->transferred[c].same = false;
    return status;
}

enum { TARGETS_MOST = 64 };
typedef struct transfer_targets { /* who gets a slot at once */
    int n;
    neap_buffer *buffers[TARGETS_MOST];
    int32_t transfers[TARGETS_MOST]; /* -1: it is the slot itself */
} transfer_targets;

static void add_target(transfer_targets *to, neap_buffer *buffer, int32_t transfer) {
    to->buffers[to->n] = buffer;
    to->transfers[to->n++] = transfer;
}

/* Adds the transfers of a slot that do not hold it yet, on devices of the kind of `like`. */
static void add_transfers(const lazy_run *run, int32_t slot, int like, transfer_targets *to) {
    const lazy_plan *plan = run->plan;
    const neap_device_kind *kind = neap_device_kind_of(like);
    for (int32_t c = 0; c < plan->ntransfers && to->n < TARGETS_MOST; c++) {
        const lazy_transfer *transfer = &plan->transfers[c];
        if (transfer->slot == slot && !transfer->parts && !run->transferred[c].same &&
            neap_device_kind_of(transfer->device) == kind)
            add_target(to, run->transferred[c].buffer, c);
    }
}

static const char *join_lacks(const transfer_targets *to, int nparts, const neap_part *parts) {
    int sources[TARGETS_MOST], targets[TARGETS_MOST];
    if (nparts > TARGETS_MOST)
        return "too many devices take part";
    for (int k = 0; k < nparts; k++)
        sources[k] = neap_buffer_device(parts[k].from);
    for (int k = 0; k < to->n; k++)
        targets[k] = neap_buffer_device(to->buffers[k]);
    return neap_collective_lacks(nparts, sources, parts[0].bytes, to->n, targets);
}

/* Sends it to all targets, if one collective does so, else to the first one. */
static int join_targets(lazy_run *run, transfer_targets *to, int nparts, const neap_part *parts,
                        const neap_push *push) {
    if (to->n > 1 && join_lacks(to, nparts, parts))
        to->n = 1;
    int status = neap_buffer_join(to->n, to->buffers, nparts, parts, push);
    for (int k = 0; k < to->n && status == 0; k++)
        if (to->transfers[k] >= 0)
            run->transferred[to->transfers[k]].same = true;
    return status;
}

int plan_transfer_join(lazy_run *run, int32_t slot, int nparts, const neap_push *push) {
    transfer_targets all = {.n = 0};
    for (int32_t c = 0; c < run->plan->ntransfers; c++)
        if (run->plan->transfers[c].slot == slot)
            run->transferred[c].same = false;
    add_target(&all, run->bufs[slot], -1);
    add_transfers(run, slot, run->plan->slots[slot].device, &all);
    return join_targets(run, &all, nparts, run->parts, push);
}

/* Fills transfer c of a slot, and with it the others that can be filled at once. */
static int fill_transfers(lazy_run *run, int32_t slot, const lazy_group *group, int32_t c) {
    const lazy_plan *plan = run->plan;
    transfer_targets all = {.n = 0};
    neap_part whole = {.from = run->bufs[slot], .bytes = plan->slots[slot].bytes};
    neap_push push = {.name = "copy", .site = plan->steps[group->first]->site};
    add_target(&all, run->transferred[c].buffer, c);
    run->transferred[c].same = true;
    if (!plan->transfers[c].parts)
        add_transfers(run, slot, plan->transfers[c].device, &all);
    return join_targets(run, &all, 1, &whole, &push);
}

int plan_transfer_in(lazy_run *run, const lazy_group *group) {
    int status = 0;
    for (int32_t k = 0; k < group->nbufs && group->transfers && status == 0; k++) {
        int32_t c = group->transfers[k];
        if (c < 0 || run->transferred[c].same || (group->writes[k] && !run->plan->transfers[c].parts))
            continue;
        status = fill_transfers(run, group->slots[k], group, c);
    }
    return status;
}

int plan_transfer_out(lazy_run *run, const lazy_group *group) {
    const lazy_plan *plan = run->plan;
    int status = 0;
    for (int32_t k = 0; k < group->nbufs && status == 0; k++) {
        int32_t slot = group->slots[k], c = group->transfers ? group->transfers[k] : -1;
        if (!group->writes[k])
            continue;
        note_use(run, slot, c, true);
        neap_push push = {.name = "copy", .site = plan->steps[group->first]->site};
        if (c >= 0)
            status =
                neap_buffer_copy_part(run->bufs[slot], run->transferred[c].buffer, 0, plan->slots[slot].bytes, &push);
    }
    return status;
}

const char *plan_transfer_lacks(const lazy_plan *plan, int32_t slot, int nsources, const int *sources, size_t bytes,
                                int *ntargets) {
    int targets[TARGETS_MOST], n = 0, device = plan->slots[slot].device;
    const neap_device_kind *kind = neap_device_kind_of(device);
    if (nsources)
        targets[n++] = device;
    for (int32_t c = 0; c < plan->ntransfers && n < TARGETS_MOST; c++)
        if (plan->transfers[c].slot == slot && !plan->transfers[c].parts &&
            neap_device_kind_of(plan->transfers[c].device) == kind)
            targets[n++] = plan->transfers[c].device;
    *ntargets = n;
    return nsources ? neap_collective_lacks(nsources, sources, bytes, n, targets)
                    : neap_collective_lacks(1, &device, plan->slots[slot].bytes, n, targets);
}

int plan_transfer_home(neap_ctx *ctx, neap_node *node, int device) {
    neap_buffer *home, *old = node->buffer;
    if (neap_device_memory_space(neap_buffer_device(old)) == neap_device_memory_space(device))
        return 0;
    graph_transfer transfer = {.node = node, .from = neap_buffer_device(old), .to = device, .asked = true};
    int status = ctx->guard.any ? graph_guard(ctx, &transfer) : 0;
    if (status == 0)
        status = neap_buffer_new(device, neap_buffer_bytes(old), &home);
    if (status)
        return status;
    graph_count_bytes(ctx, (int64_t)neap_buffer_bytes(old));
    if ((status = neap_buffer_copy(home, old, &(neap_push){.name = "to device"})) != 0) {
        neap_buffer_release(home);
        return status;
    }
    node->buffer = home;
    neap_buffer_release(old);
    if (node->mirror)
        neap_buffer_release(node->mirror);
    node->mirror = NULL;
    return 0;
}
