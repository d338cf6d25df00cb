/* job.h: what the op of a group of steps does (job.c). */
#ifndef LAZY_PLAN_JOB_H
#define LAZY_PLAN_JOB_H

#include "lazy/plan/plan.h"

typedef struct lazy_group_run {
    lazy_plan *plan;
    const lazy_group *group;
    int32_t first, nsteps;      /* all steps of the group, or one of them */
    neap_buffer **bufs;         /* the group's; NULL where these steps do not use them */
    uint64_t passing;           /* a bit for each of them that passes between these steps alone: LAZY_PASSES */
    const size_t *starts;       /* see lazy_binding; NULL: none */
    const int32_t *start_of;    /* of each of the group's buffers its place in starts; NULL: they stand in order */
    const lazy_scalar *numbers; /* the group's */
    _Atomic int64_t *donations; /* its plan is run with what was given to it: the context's count. NULL: it is not */
    bool kept;                  /* it is a copy that its op keeps */
} lazy_group_run;

/* Runs it here and now if nothing is in the way; else pushes a copy of it, which keeps its plan and buffers. */
int plan_group_run_push(const lazy_group_run *j, neap_push *push);

#endif
