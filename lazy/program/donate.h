/* donate.h: arrays that a program may use up: what donation needs of a run, and what it tells. */
#ifndef LAZY_DONATE_H
#define LAZY_DONATE_H

#include "lazy/jit.h"
#include "lazy/plan/plan.h"

typedef struct lazy_donation { /* the inputs that a run is given */
    int64_t n;
    const int32_t *inputs; /* positions */
    /* The slots of the plan that stand for them; -1: no step reads the input, or it is a result itself. */
    const int32_t *leaf_of;
    int32_t *slots;           /* memory for n: the slots whose memory the run may take */
    int64_t nslots;           /* how many of these slots there are */
    neap_node *const *owners; /* the meshed arrays of which these are blocks (lower.c), given too; NULL: none */
    int32_t site;             /* of the call, for those who use the arrays later */
    neap_node **gone; /* memory for n: what the arrays' handles name afterwards. OWNED until program_donation_close */
    int64_t taken;    /* outcome: how many arrays gave their memory */
    bool begun;       /* outcome: the run was pushed */
    /* Outcome: of the last array that kept its memory, why (NEAP_KEPT_…) and its index */
    int32_t kept, which;
} lazy_donation;

/* Before the run, whose inputs have their buffers: starts what was recorded and still reads the arrays, and sees which
 * memory may be taken. After a failure nothing has changed. */
int program_donation_open(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, lazy_donation *donation);
/* Afterwards. begun: the run was pushed, so the arrays are deleted. */
void program_donation_close(neap_ctx *ctx, neap_node *const *inputs, lazy_donation *donation, bool begun);
/* Finds leaf_of. */
void program_donation_slots(const neap_program *program, int64_t n, const int32_t *inputs, int32_t *leaf_of);

/* program/run.c: runs it on inputs that fit. donation may be NULL; it need not be open. The same with results that are
 * nodes, OWNED. */
int program_run(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, lazy_donation *donation,
                int32_t *outputs);
int program_run_nodes(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, lazy_donation *donation,
                      neap_node **outputs);

#endif
