/* verify.h: checks that drafts, steps, plans and memory plans are what the VM and later passes rely on (verify.c). */
#ifndef LAZY_PLAN_VERIFY_H
#define LAZY_PLAN_VERIFY_H

#include "lazy/loop/verify.h"
#include "lazy/plan/draft.h"

/* All return NEAP_OK, NEAP_E_MEMORY, or NEAP_E_INTERNAL with an error that names the pass, the step and its op, and the
 * rule that is broken. The region is in ctx->walk.order, and `made` is the planner's. */

/* One draft by itself: rules 1 to 10. */
int plan_verify_draft(const neap_ctx *ctx, const uint8_t *made, const lazy_draft *draft, const char *pass);
/* All drafts, in the order in which they will run: rules 1 to 12. */
int plan_verify_drafts(const neap_ctx *ctx, const uint8_t *made, const lazy_drafts *drafts, const char *pass);
/* The steps of a plan, before or after they are put into groups: rules 1 to 15. */
int plan_verify_steps(const neap_ctx *ctx, const uint8_t *made, const lazy_plan *plan, const char *pass);

/* Of a slot after the run: its value stays; it has passed between the steps of a row alone, in whose memory it may lie;
 * nobody asks for it; or it is a leaf that the program was given, which any step may overwrite. */
enum { LAZY_STAYS, LAZY_PASSES, LAZY_DIES, LAZY_DIES_GIVEN };
/* What memory.c decides for one run, by slot. */
typedef struct lazy_homes {
    const int32_t *home;
    const size_t *bytes;
    const uint8_t *dies;
    bool serial; /* of a body: what effects use may die, too */
} lazy_homes;
/* Rules 16 to 18. */
int plan_verify_homes(const lazy_plan *plan, const lazy_homes *homes);

/* For verify.c and verify_kernel.c alone --------------------------------------------------------------------------- */
typedef struct lazy_verifier {
    const neap_ctx *ctx; /* NULL: the region is not known */
    const uint8_t *made;
    const char *pass, *what; /* "draft" or "step" */
    int64_t at;              /* which of them is looked at, -1: none */
    const char *op;
} lazy_verifier;

/* What is checked: a kernel or a call, and the nodes behind its loads and sinks, or its operands and result. */
typedef struct lazy_unit {
    const lazy_step *call; /* NULL: a kernel */
    lazy_kernel kernel;
    int32_t *reads, *writes; /* region numbers, -1: none */
    int32_t nreads, nwrites, node, device;
} lazy_unit;

typedef struct lazy_bounds {
    int64_t low, high;
} lazy_bounds;

/* Sets the error, and returns NEAP_E_INTERNAL. */
__attribute__((format(printf, 3, 4))) int plan_broken_rule(const lazy_verifier *v, int rule, const char *format, ...);
int plan_verify_no_memory(void);
/* The node of a region number, NULL if there is none; the name of its op. */
const neap_node *plan_verify_node(const lazy_verifier *v, int32_t node);
const char *plan_verify_op_name(const lazy_verifier *v, int32_t node);
/* Does the node exist, or is it made? */
bool plan_verify_has_value(const lazy_verifier *v, int32_t node);
/* Which of its elements loads and operands are counted from. */
int64_t plan_verify_origin(const lazy_verifier *v, const neap_node *from);
/* The least and the greatest element that a map leads to from a box that is not empty. False: beyond 64 bits. */
bool plan_map_bounds(int n, const int64_t *shape, int64_t offset, const int64_t *stride, lazy_bounds *out);
/* The node whose buffer load or operand k reads, -1: none. */
int32_t plan_buffer_read(const lazy_unit *u, int32_t k);
/* Rules 1 to 9; the last of them. */
int plan_check_kernel(const lazy_verifier *v, const lazy_unit *u);
int plan_check_own_reads(const lazy_verifier *v, const lazy_unit *u);

/* For the ends of passes: in debug builds only. */
#ifdef NDEBUG
#define LAZY_VERIFY_DRAFT(ctx, made, draft, pass) 0
#define LAZY_VERIFY_DRAFTS(ctx, made, drafts, pass) 0
#define LAZY_VERIFY_STEPS(ctx, made, plan, pass) 0
#define LAZY_VERIFY_MEMORY(plan) 0
#define LAZY_VERIFY_HOMES(plan, homes) 0
#else
#define LAZY_VERIFY_DRAFT(ctx, made, draft, pass) plan_verify_draft(ctx, made, draft, pass)
#define LAZY_VERIFY_DRAFTS(ctx, made, drafts, pass) plan_verify_drafts(ctx, made, drafts, pass)
#define LAZY_VERIFY_STEPS(ctx, made, plan, pass) plan_verify_steps(ctx, made, plan, pass)
#define LAZY_VERIFY_MEMORY(plan) plan_memory_verify(plan)
#define LAZY_VERIFY_HOMES(plan, homes) plan_verify_homes(plan, homes)
#endif

#endif
