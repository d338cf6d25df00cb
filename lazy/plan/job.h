/* job.h: what the op of a group of steps does (job.c). */
#ifndef LAZY_PLAN_JOB_H
#define LAZY_PLAN_JOB_H

#include "lazy/plan/plan.h"

typedef struct lazy_group_run {
    lazy_plan *plan;
    const lazy_group *group;
    int32_t first, nsteps;      /* all steps of the group, or one of them, */
    uint64_t left_out;          /* but for these, a bit for each: what they make is kept (keep.h) */
    neap_buffer **bufs;         /* the group's; NULL where these steps do not use them */
    uint64_t passing;           /* a bit for each of them that passes between these steps alone: LAZY_PASSES */
    const size_t *starts;       /* of each of them, see lazy_binding; NULL: none */
    const lazy_scalar *numbers; /* the group's */
    _Atomic int64_t *donations; /* its plan is run with what was given to it: the context's count. NULL: it is not */
    plan_kept_calls *calls;     /* what its calls keep (keep.h); NULL: nothing */
    bool unsettled;             /* its run is (unsettled.c) */
    bool kept;                  /* it is a copy that its op keeps */
} lazy_group_run;

/* Is step t of the plan, one of the group, left out? */
static inline bool plan_leaves_out(const lazy_group *group, uint64_t left_out, int32_t t) {
    return left_out >> (t - group->first) & 1;
}

/* Sets the variables that the job reads and writes, each once, but for passing ones. `written` says which of its
 * buffers it writes; reads and writes of the push have room for all of them. */
void plan_job_vars(const lazy_group_run *j, const bool *written, neap_push *push);
/* Runs it here and now if nothing is in the way; else pushes a copy of it, which keeps its plan and buffers. */
int plan_group_run_push(const lazy_group_run *j, neap_push *push);

#endif
