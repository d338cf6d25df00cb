/* donate.h: arrays that a program may use up: what donation needs of a run, and what it tells. */
#ifndef LAZY_DONATE_H
#define LAZY_DONATE_H

#include "lazy/jit.h"
#include "lazy/program/program.h"

typedef struct lazy_donation { /* the inputs that a run is given */
    int64_t n;
    const int32_t *inputs; /* positions */
    const int32_t
        *leaf_of;   /* the slots of the plan that stand for them; -1: no step reads it, or it is a result itself */
    int32_t *slots; /* room for n: the slots whose memory the run may take … */
    int64_t nslots; /* … and how many there are */
    neap_node *const *owners; /* whose blocks the arrays are (lower.c): they are given too; NULL: of nobody */
    int32_t site;             /* of the call, for those who use the arrays later */
    neap_node **gone;    /* room for n: what the arrays' handles name afterwards. OWNED until program_donation_close */
    int64_t taken;       /* outcome: how many gave their memory, … */
    bool begun;          /* the run was pushed */
    int32_t kept, which; /* … and why the last one that did not kept it, NEAP_KEPT_…, and its place among the n */
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
