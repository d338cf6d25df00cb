/* group.c: which steps of a plan are pushed as one op: neighbours on one device of little work, while they use few
 * buffers. Slots of their steps become positions among the buffers of the group.
 *
 * On a device that takes launch graphs (lazy/vm/launch_graphs.c) more of them go together, and from their third run on
 * they are one call of the driver.
 */
#include <string.h>

#include "lazy/plan/plan.h"

enum { GROUP_BUFFERS = 48, GROUP_STEPS = 64 };
/* ns, estimated: of steps that are launches alone. Who waits for the first of them waits for all. */
enum { GROUP_GRAPH_COST = 300000 };
/* A copy of so many bytes is alone, so that it is not pushed at all where there is nothing to do. */
static const size_t LONE_COPY = 1 << 16;

typedef struct grouper {
    int32_t *place; /* slot of the plan → position in the open group, valid while stamp says so */
    int32_t *stamp;
    int32_t slots[NEAP_MAX_INPUTS + LAZY_KERNEL_MAX_INS * 3 + GROUP_BUFFERS];
    bool writes[NEAP_MAX_INPUTS + LAZY_KERNEL_MAX_INS * 3 + GROUP_BUFFERS];
} grouper;

/* How many buffers a step would add to group number b. */
static int32_t new_buffers(const grouper *t, const lazy_step *step, int32_t b) {
    int32_t n = 0;
    for (int32_t k = 0; k < step->nbufs; k++)
        n += t->stamp[step->slots[k]] != b;
    return n;
}

static void group_add(grouper *t, lazy_group *group, lazy_step *step, int32_t b) {
    for (int32_t k = 0; k < step->nbufs; k++) {
        int32_t slot = step->slots[k];
        if (t->stamp[slot] != b) {
            t->stamp[slot] = b;
            t->place[slot] = group->nbufs;
            t->slots[group->nbufs] = slot;
            t->writes[group->nbufs++] = false;
        }
        step->slots[k] = t->place[slot];
    }
    for (int32_t k = step->nbufs - step->nouts; k < step->nbufs; k++)
        t->writes[step->slots[k]] = true;
    if (step->nnumbers) {
        if (!group->nnumbers)
            group->first_number = step->first_number;
        group->nnumbers += step->nnumbers;
    }
    group->nsteps++;
    group->cost += step->cost;
}

static bool is_recordable(const lazy_step *step) {
    return plan_is_recordable(step, step->backend);
}

static int give_graphs(const lazy_plan *plan, lazy_group *group) {
    bool recordable = group->nsteps >= LAZY_LAUNCH_GRAPH_LEAST && group->nbufs <= LAZY_LAUNCH_GRAPH_BUFFERS;
    for (int32_t k = 0; k < group->nsteps && recordable; k++)
        recordable = is_recordable(plan->steps[group->first + k]);
    const int device = plan->steps[group->first]->device;
    if (recordable && !(group->graphs = vm_launch_graphs_new(device, LAZY_LAUNCH_GRAPH_FROM)))
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    return 0;
}

/* Finds what only steps of one group use, in groups with launch graphs. groups_of: scratch, by slot. */
static int find_last(lazy_plan *plan, int32_t *groups_of) {
    memset(groups_of, 0, (size_t)plan->nslots * sizeof *groups_of);
    for (int32_t b = 0; b < plan->ngroups; b++)
        for (int32_t k = 0; k < plan->groups[b].nbufs; k++)
            groups_of[plan->groups[b].slots[k]]++;
    for (lazy_group *group = plan->groups; group < plan->groups + plan->ngroups; group++) {
        if (!group->graphs)
            continue;
        plan->has_graphs = true;
        if (!(group->last = malloc((size_t)group->nbufs * sizeof *group->last)))
            return neap_error(NEAP_E_MEMORY, "out of memory while planning");
        for (int32_t k = 0; k < group->nbufs; k++)
            group->last[k] = -1;
        for (int32_t t = group->first; t < group->first + group->nsteps; t++)
            for (int32_t k = 0; k < plan->steps[t]->nbufs; k++) {
                int32_t at = plan->steps[t]->slots[k], slot = group->slots[at];
                bool transfers = group->transfers && group->transfers[at] >= 0;
                bool fits = plan->slots[slot].bytes <= NEAP_LAUNCH_GRAPH_KEPT;
                if (plan->slots[slot].made && fits && groups_of[slot] == 1 && !transfers)
                    group->last[at] = t;
            }
    }
    return 0;
}

static int group_close(grouper *t, lazy_plan *plan, lazy_group *group) {
    size_t n = (size_t)group->nbufs;
    plan->most_bufs = group->nbufs > plan->most_bufs ? group->nbufs : plan->most_bufs;
    group->slots = malloc(n * (sizeof *group->slots + sizeof *group->writes) + 1);
    if (!group->slots)
        return neap_error(NEAP_E_MEMORY, "out of memory while planning");
    group->writes = (bool *)(group->slots + n);
    memcpy(group->slots, t->slots, n * sizeof *group->slots);
    memcpy(group->writes, t->writes, n * sizeof *group->writes);
    plan_group_label(plan->steps, group);
    int status = plan_transfer_group(plan, group);
    return status ? status : give_graphs(plan, group);
}

/* May it share an op with its neighbours? */
static bool may_join(const lazy_plan *plan, const lazy_step *step) {
    if (plan_looks_for_nans())
        return false; /* it may fail, alone */
    if (step->kind == LAZY_STEP_CALL)
        return step->call.op->updates || is_recordable(step);
    int32_t slot = step->slots[step->nbufs - 1];
    return !step->copies || plan->slots[slot].bytes < LONE_COPY;
}

int plan_group_steps(lazy_plan *plan) {
    size_t n = (size_t)plan->nslots;
    grouper *t = malloc(sizeof *t);
    int32_t *memory = malloc(2 * n * sizeof *memory + 1);
    plan->groups = calloc((size_t)plan->nsteps + 1, sizeof *plan->groups);
    int status = t && memory && plan->groups ? 0 : neap_error(NEAP_E_MEMORY, "out of memory while planning");
    if (status == 0) {
        t->place = memory;
        t->stamp = memory + n;
        memset(t->stamp, 0xff, n * sizeof *t->stamp);
    }
    lazy_group *group = NULL;
    bool open = false;
    for (int32_t k = 0; k < plan->nsteps && status == 0; k++) {
        lazy_step *step = plan->steps[k];
        bool may = may_join(plan, step);
        bool joins = open && may && step->device == plan->steps[k - 1]->device && group->nsteps < GROUP_STEPS &&
                     group->cost + step->cost < (is_recordable(step) ? GROUP_GRAPH_COST : LAZY_SMALL_COST) &&
                     group->nbufs + new_buffers(t, step, plan->ngroups - 1) <= GROUP_BUFFERS;
        if (!joins) {
            if (group && (status = group_close(t, plan, group)) != 0)
                break;
            group = &plan->groups[plan->ngroups++];
            group->first = k;
        }
        open = may;
        plan_step_label(step);
        plan->most_bufs = step->nbufs > plan->most_bufs ? step->nbufs : plan->most_bufs;
        plan->most_parts = step->moves && step->nbufs > plan->most_parts ? step->nbufs : plan->most_parts;
        group_add(t, group, step, plan->ngroups - 1);
    }
    if (group && status == 0)
        status = group_close(t, plan, group);
    if (status == 0)
        status = find_last(plan, t->stamp);
    free(t);
    free(memory);
    return status;
}
