/* keep.h: what a program computes of some of its inputs alone, such as weights: computed once, and kept.
 *
 *      y = x @ wᵀ, w is kept:   slot         0: w      1: x      2: wᵀ, copied      3: y
 *                               step 0       reads                writes                       fixed
 *                               step 1                 reads      reads             writes
 *
 *      a run with a w that the last run did not have    both steps; slot 2's buffer is retained
 *      a run with the same w                            step 1, on that buffer
 *
 * A step is *fixed* if nothing that it reads changes while the kept inputs hold what they hold: those inputs, arrays
 * and numbers that belong to the program, and what fixed steps have made. Effects, and steps that push ops of their
 * own, are not fixed. A group may have fixed steps beside others, whose op leaves them out then; but the steps of a
 * launch graph are fixed together or not at all. What fixed steps make has memory of its own (plan/memory.c counts it
 * to what stays).
 *
 * Calls that are not fixed, and read what is, keep what they make of it (lazy_op.keeps), such as the kernel of a
 * convolution in the layout of a library. The first run makes room for that, the op fills it in.
 *
 * Inputs are compared by the marks of their buffers (engine.h), which refer to nothing: an array that was kept for can
 * be freed, donated, or written over.
 */
#ifndef LAZY_KEEP_H
#define LAZY_KEEP_H

#include "lazy/plan/plan.h"

typedef struct plan_kept_leaf { /* a kept input */
    int32_t slot;
    uint64_t mark; /* of what it held in the last run; 0: there was none */
    size_t start;  /* and where in the buffer */
} plan_kept_leaf;

typedef enum plan_keeps { PLAN_KEEPS_NOT, PLAN_KEEPS_INSIDE, PLAN_KEEPS_READ } plan_keeps;

struct lazy_keeping {
    const lazy_plan *plan;
    bool there; /* what is kept is what the leaves lead to */
    int32_t nleaves;
    plan_kept_leaf *leaves;
    bool *fixed;           /* by step */
    uint8_t *keeps;        /* by slot: made by a fixed step, and read by another step or a result; PLAN_KEEPS_… */
    neap_buffer **held;    /* by slot that is read, while `there`: one reference */
    int64_t nstays;        /* the program's results, and what fixed steps make: the slots whose memory nobody takes */
    int32_t *stays;        /* -1: a result that is no slot */
    int32_t nfixed;        /* fixed steps */
    int64_t bytes;         /* of what is read */
    int32_t ncalls;        /* other steps that keep what they make of what is fixed */
    bool *calls;           /* by step: is it one of these? */
    plan_kept_calls *made; /* what they keep, while `there`: one reference; NULL: nothing */
};

/* Counted references: a queued op has one, which may outlive the program. */
struct plan_kept_calls {
    _Atomic int32_t refs;
    int32_t n;     /* steps of the plan */
    int64_t bytes; /* of all */
    struct {
        const lazy_kept *rule;
        void *kept; /* NULL: nothing */
    } at[];
};

/* For runs of a program with these results (slots; -1: none), whose kept inputs are the nodes `inputs` of the region.
 * *out is NULL where no step is fixed. OWNED. */
int plan_keep_new(const lazy_plan *plan, neap_node *const *region, int64_t ninputs, neap_node *const *inputs,
                  int64_t nresults, const int32_t *results, lazy_keeping **out);
void plan_keep_free(lazy_keeping *keeping); /* NULL is harmless */
/* Frees what is kept; the next run computes it again. NULL is harmless. */
void plan_keep_forget(lazy_keeping *keeping);
/* A run has its leaves: sets whether what is kept serves it. */
void plan_keep_look(const lazy_run *run);
/* The run was pushed, and computed all: keeps what fixed steps have made. */
void plan_keep_take(const lazy_run *run);
/* What the calls of a run keep, to be filled in by them, or as earlier runs have filled it in. NULL: nothing, or there
 * is no memory, which does no harm. One reference. */
plan_kept_calls *plan_keep_calls(const lazy_run *run);
void plan_keep_retain_calls(plan_kept_calls *calls); /* NULL is harmless, here and below */
void plan_keep_release_calls(plan_kept_calls *calls);
static inline void *plan_keep_of_call(const plan_kept_calls *calls, int32_t step) {
    return calls ? calls->at[step].kept : NULL;
}
/* The steps of a group that a run leaves out, since what they make is kept: a bit for each. */
uint64_t plan_keep_left_out(const lazy_run *run, const lazy_group *group);
/* Is the slot one that the run does not make, as it is kept, or only what is kept was made of it? */
static inline bool plan_keep_has(const lazy_run *run, int32_t slot) {
    const lazy_keeping *keeping = run->binding.keeping;
    return keeping && keeping->there && keeping->keeps[slot];
}

#endif
