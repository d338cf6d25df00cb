/* plan.h: a region of the graph, its plan, and how they are run. Private to the files that it names, and program.c.
 *
 *      roots ─region.c─▶ region: nodes, inputs before users ─▶ key (its structure, without numbers and data)
 *      key ─▶ found in the context's table, or made by plan.c: slots and steps ─run.c─▶ engine ops
 *             nodes that get a buffer ─fuse.c─▶ drafts, one kernel each ─merge.c─▶ fewer drafts ─▶ steps
 *
 * A *slot* is a buffer of a run: that of a leaf (a value that exists) or one to be made for a node of the region. A
 * *step* is a kernel or a call over slots. A plan names nodes by their number in the region, so it fits every region of
 * the same structure: the next iteration of a loop, another trace of the same function.
 */
#ifndef LAZY_PLAN_H
#define LAZY_PLAN_H

#include "engine/device.h"
#include "lazy/graph/graph.h"
#include "lazy/plan/start.h"
#include "lazy/vm/backend.h"

/* clang-format off */
/* Why a node of a region gets a buffer, where its value could have stayed inside a kernel. */
#define LAZY_WHY_ROWS(ROW) \
    ROW(NOT, "it exists already") \
    ROW(ASKED, "it was asked for") \
    ROW(SHARED, "it has several consumers, and not all of them run now") \
    ROW(KERNELS, "its consumers run in different kernels") \
    ROW(CALL, "it is the result of a call") \
    ROW(VERSION, "it is an array whose next update is written over it") \
    ROW(OPERAND, "a call, a gather or another device reads it, or deferred mode returned it") \
    ROW(RESIDUAL, "a gradient will read it") \
    ROW(AGAIN, "it was computed inside a kernel before, and is asked for again") \
    ROW(REDUCTION, "it is a reduction, and its consumer does not run over the same rows") \
    ROW(FAR_ROWS, "it is a reduction, and its rows are too long or too far apart to be read again") \
    ROW(ASSEMBLED, "it is put together from pieces") \
    ROW(VIEW, "its consumer's view of it is not affine, so it cannot be read through") \
    ROW(CHAIN, "the chain of ops is longer than a kernel may be") \
    ROW(TIMES, "it would be computed several times") \
    ROW(LOOKED_AT, "np.debug.nans looks at it")
/* clang-format on */
#define LAZY_WHY_ENUM(NAME, text) LAZY_WHY_##NAME,
typedef enum lazy_why { LAZY_WHY_ROWS(LAZY_WHY_ENUM) LAZY_WHY_COUNT } lazy_why;
#undef LAZY_WHY_ENUM

typedef struct lazy_slot {
    int32_t node;  /* number in the region */
    bool made;     /* by this plan; else the node is a leaf */
    bool sliced;   /* a leaf whose elements are counted from an origin */
    uint8_t why;   /* made: LAZY_WHY_… */
    int32_t times; /* LAZY_WHY_TIMES: how often it would be computed */
    int16_t device;
    size_t bytes;
} lazy_slot;

typedef struct lazy_number { /* a scalar operand of a kernel: its value is read from the node at each run */
    int32_t node;
    uint8_t dtype;
} lazy_number;

enum { LAZY_STEP_KERNEL, LAZY_STEP_CALL };

/* What a step did in the runs that were timed: all of them from LAZY_TIMED_COST on, else one in LAZY_TIMED_TURNS, since
 * reading the clock twice costs as much as a small kernel. Written by the thread that runs it, for np.explain alone;
 * all accesses are relaxed, so two runs at once may lose one of theirs. */
enum { LAZY_TIMED_COST = 5000, LAZY_TIMED_TURNS = 64 };
typedef struct lazy_ran {
    _Atomic uint32_t turns;                    /* runs, timed or not */
    _Atomic int32_t worker;                    /* of the last timed run; -1: a thread outside of the pool */
    _Atomic int64_t times, total, last, ended; /* timed runs; ns of them all, of the last; engine_now at its end */
    _Atomic int64_t least;                     /* ns of the shortest of them; 0: there is none */
} lazy_ran;

typedef struct lazy_step {
    uint8_t kind;
    int16_t device; /* that runs it: if `lacks` is set one of the host, else one on which its results lie */
    const lazy_backend *backend; /* of that device */
    const char *lacks;           /* why the device of its results cannot do it; NULL: it can. BORROWED for ever */
    bool moves;                  /* a copy from one memory to another */
    bool effect;                 /* an effect */
    bool copies;                 /* nothing to do if operand and result are the same memory */
    const lazy_payload *payload; /* of the node: the step pushes an op of its own. NULL: an ordinary step */
    int32_t nbufs, nouts;        /* buffers; the last nouts are written */
    int32_t *slots;   /* their positions among the buffers of the group (while planning: nodes, slots of the plan) */
    int32_t node;     /* the computed node; of several the node of the last buffer */
    const char *site; /* the last known script line of the node. BORROWED from the context */
    int64_t cost;     /* ns, estimated */
    int64_t written;  /* bytes */
    lazy_ran ran;
    char label[64]; /* see label.c */
    lazy_kernel kernel;
    int32_t first_number, nnumbers;
    lazy_call call;   /* tensors' data is set at each run from base + offset */
    int64_t *offsets; /* of a call, in elements */
} lazy_step;

/* Is the step a copy of memory to itself? `bufs` are the buffers of the group. */
static inline bool plan_is_idle(const lazy_step *step, neap_buffer *const *bufs) {
    return step->copies && bufs[step->slots[0]] == bufs[step->slots[1]];
}

/* Does a run of the step need memory of its own? */
static inline bool plan_needs_scratch(const lazy_step *step) {
    return step->payload && step->payload->scratch;
}

enum { LAZY_WIDE_COST = 80000 }; /* ns: a step of so much work is split over the workers, if its kind can be */
/* Does the step keep all workers busy by itself? */
static inline bool plan_is_wide(const lazy_step *step) {
    return step->cost >= LAZY_WIDE_COST && (step->kind == LAZY_STEP_KERNEL || step->call.op->flags & LAZY_OP_SPLITS);
}

/* ns: up to LAZY_SMALL_COST an op may run where the plan is pushed. Where somebody waits for a plan of a single op, the
 * op runs there up to LAZY_AWAITED_COST: callbacks and interrupts may wait for so long, and handing over and waking up
 * would be 5% of the time. */
enum { LAZY_SMALL_COST = 20000, LAZY_AWAITED_COST = 1000000 };
/* From so many bytes on, the steps of a plan share the memory of a run, and run one by one. */
enum { LAZY_SHARED_SCRATCH = 1 << 16 };

enum { LAZY_LAUNCH_GRAPH_BUFFERS = 64 }; /* of a group with launch graphs, at most */
/* Consecutive steps that are pushed as one engine op: a step of much work by itself, small ones together. */
typedef struct lazy_group {
    int32_t first, nsteps;
    int32_t nbufs; /* slots of the plan that the steps use; which are written */
    int32_t *slots;
    bool *writes;
    /* By buffer: the transfer of the plan that the steps use instead of the slot, -1: none; NULL: none at all. */
    int32_t *transfers;
    int32_t first_number, nnumbers;
    int64_t cost;
    /* By which a device enqueues the steps together (lazy/vm/launch_graphs.c). NULL: step by step. */
    lazy_launch_graphs *graphs;
    /* Of a group with launch graphs, by buffer: the last step that uses it, if it may be *passing*: no other group uses
     * it, and the graph can keep memory for it; else -1. */
    int32_t *last;
    char label[96];
} lazy_group;

/* Is buffer k of a group among the passing ones? */
static inline bool plan_passes(uint64_t passing, int32_t k) {
    return k < LAZY_LAUNCH_GRAPH_BUFFERS && passing >> k & 1;
}

/* A copy of a slot in the memory of a device that runs steps which use the slot, for the time of a run (transfer.c). */
typedef struct lazy_transfer {
    int32_t slot;
    int16_t device;
    bool parts; /* several steps write the slot, each a part of it */
} lazy_transfer;

typedef struct lazy_plan {
    struct lazy_plan *next;
    int32_t refs; /* atomic: the table, and ops in flight */
    uint64_t hash, serial;
    uint64_t runs;         /* pushed so far */
    _Atomic int64_t spent; /* ns that loops with this body have run, by estimate (control/lower.c) */
    int64_t nkey;
    uint64_t *key;
    int32_t nslots, nsteps, ngroups, nnumbers;
    int32_t nscratches; /* steps that need memory of their own */
    int32_t most_bufs;  /* of a group, or of a step */
    int32_t most_parts; /* of a step that moves parts */
    int32_t nsliced;    /* slots that are sliced */
    bool may_fail;      /* a step may, whatever its operands are (unsettled.c) */
    bool has_graphs;    /* a group of it */
    lazy_slot *slots;
    lazy_step **steps;
    lazy_group *groups;
    lazy_number *numbers;
    int32_t ntransfers;
    lazy_transfer *transfers;       /* NULL: all steps run where their buffers lie */
    struct lazy_memory_plan *reuse; /* NULL: slots are too small or too few to share memory */
} lazy_plan;

/* The steps of a plan in their order, each with its group:
 *
 *      for (lazy_step_walk w = plan_walk(plan); plan_walk_next(&w);)
 *          … w.step reads and writes the slots plan_walk_slot(&w, 0), plan_walk_slot(&w, 1), … of the plan */
typedef struct lazy_step_walk {
    const lazy_plan *plan;
    const lazy_group *group;
    const lazy_step *step;
    int32_t t; /* its number */
} lazy_step_walk;

static inline lazy_step_walk plan_walk(const lazy_plan *plan) {
    return (lazy_step_walk){.plan = plan, .group = plan->groups, .t = -1};
}
static inline bool plan_walk_next(lazy_step_walk *w) {
    if (++w->t >= w->plan->nsteps)
        return false;
    while (w->t >= w->group->first + w->group->nsteps)
        w->group++;
    w->step = w->plan->steps[w->t];
    return true;
}
static inline int32_t plan_walk_slot(const lazy_step_walk *w, int32_t k) {
    return w->group->slots[w->step->slots[k]];
}
static inline bool plan_walk_writes(const lazy_step_walk *w, int32_t k) {
    return k >= w->step->nbufs - w->step->nouts;
}

/* Can the step be part of a launch graph, where `backend` runs it: is it a launch, or a copy within the device? */
static inline bool plan_is_recordable(const lazy_step *step, const lazy_backend *backend) {
    return backend && backend->records_call && !step->payload && !step->moves &&
           (step->kind == LAZY_STEP_KERNEL || backend->records_call(&step->call));
}

/* nans.c ----------------------------------------------------------------------------------------------------------- */
/* Are ops that make a NaN looked for? */
bool plan_looks_for_nans(void);
/* Changes `made` so that each map and reduction is stored. */
void plan_store_for_nans(const neap_ctx *ctx, uint8_t *made);
/* Runs a step on the host, and fails if it has made a NaN. */
int plan_step_looked_at(const lazy_step *step, const lazy_backend *backend, const lazy_kernel *kernel,
                        const lazy_operands *with, const neap_run *run);

/* Runs the step, or enqueues it: on these addresses and its own numbers. kernel: that of the step for `backend`. kept:
 * see lazy_call. */
static inline int plan_step_run(const lazy_step *step, const lazy_backend *backend, const lazy_kernel *kernel,
                                void *const *bufs, const lazy_scalar *numbers, void *kept, const neap_run *run) {
    lazy_operands with = {.name = step->label,
                          .nbufs = step->nbufs,
                          .nnumbers = step->nnumbers,
                          .bufs = bufs,
                          .numbers = numbers,
                          .kept = kept};
    if (plan_looks_for_nans() && !run->stream && !step->moves && !step->payload)
        return plan_step_looked_at(step, backend, kernel, &with, run);
    return step->kind == LAZY_STEP_KERNEL ? backend->run(kernel, &with, run)
                                          : backend->call(&step->call, step->offsets, &with, run);
}

typedef struct lazy_run lazy_run; /* see below */

/* What a node remembers of how its buffer was made: 8 bytes, which keep no plan alive. */
enum { LAZY_RAN_SLOT_BITS = 24 };
static inline uint64_t plan_ran_link(const lazy_plan *plan, int32_t slot) {
    return plan->serial << LAZY_RAN_SLOT_BITS | (uint32_t)slot;
}

/* region.c --------------------------------------------------------------------------------------------------------- */
/* Orders what the roots need into ctx->walk.order, inputs before users; node->mark == ctx->walk.epoch and node->index
 * say where. Stops at nodes that have a buffer. */
int plan_region_collect(neap_ctx *ctx, int64_t nroots, neap_node *const *roots);
/* How many bytes a plan takes, but for native code. */
int64_t plan_bytes(const lazy_plan *plan);
/* The nodes that a traversal visits after this one; returns how many there are. */
int plan_region_children(neap_node *node, neap_node *const **children);
/* The node whose buffer, once it has one, is also this node's: a view of all elements of its base, in order, needs no
 * copy. Else the node itself. */
neap_node *plan_region_root(neap_node *node);
/* Has a node of the region that is being planned several readers, and no buffer since these read little of it? */
bool plan_region_asks_little(const neap_ctx *ctx, const neap_node *node);
/* The plan for the region in ctx->walk.order: found by structure, or made. BORROWED from the context's table. sliced:
 * it may have sliced leaves, whose origins whoever runs it takes from the context. */
int plan_region_plan(neap_ctx *ctx, int64_t nroots, neap_node *const *roots, bool sliced, lazy_plan **out);
/* A leaf is *sliced* if it is read through views alone, of which the first leaves out elements: the plan counts its
 * elements from where that view begins, the origin, which is told at each run. So slices that begin elsewhere share a
 * plan. -1: the leaf is not sliced. */
static inline int64_t plan_origin(const neap_ctx *ctx, const neap_node *leaf) {
    return ctx->plans.sliced ? ctx->plans.origins.at[leaf->index] : -1;
}
/* The offset of a view, as the plan counts the elements of its base. */
static inline int64_t plan_view_offset(const neap_ctx *ctx, const neap_node *view) {
    int64_t origin = plan_origin(ctx, view->base);
    return view->map->offset - (origin > 0 ? origin : 0);
}
/* Adds to each node of the region how often the others read it, counted as when they were recorded. */
void plan_count_consumers(const neap_ctx *ctx, int32_t *consumers);
/* Has it a value before the region runs? */
static inline bool plan_is_leaf(const neap_node *node) {
    return node->buffer || ((node->flags & (LAZY_ABSTRACT | LAZY_WEAK)) == LAZY_ABSTRACT && graph_is_placeholder(node));
}

/* common.c --------------------------------------------------------------------------------------------------------- */
/* Finds nodes of the region with equal values, and changes `made` so that one of them is computed. */
int plan_find_common(neap_ctx *ctx, uint8_t *made);
/* The node of the region that is read in place of this one: itself, or an equal one before it. */
static inline neap_node *plan_same(const neap_ctx *ctx, const neap_node *node) {
    return ctx->walk.order.at[ctx->plans.same.at[node->index]];
}

/* unsettled.c ------------------------------------------------------------------------------------------------------ */
/* May the node fail, whatever it reads? */
bool plan_may_fail(const neap_node *node);
/* Forgets the unsettled buffers that have their values, or have failed. */
void plan_unsettled_forget(neap_ctx *ctx);
bool plan_is_unsettled(const neap_ctx *ctx, const neap_buffer *buffer);
/* A run has its leaves: sets whether what it makes may fail with a call that has not finished, is `unsettled`. If so,
 * plan_unsettled_add, which cannot fail, adds to the list what the run has made. */
int plan_unsettled_reserve(lazy_run *run);
void plan_unsettled_add(const lazy_run *run);
/* A reference for an op of a run, lent unless the op may have to wait for the script; and back. */
void plan_unsettled_hold(neap_buffer *buffer, bool unsettled);
void plan_unsettled_let_go(neap_buffer *buffer, bool unsettled);
void plan_unsettled_free(neap_ctx *ctx);

/* materialize.c ---------------------------------------------------------------------------------------------------- */
/* Changes `made` so that what is computed again and again gets a buffer where that costs less; says in `times`, by node
 * of the region, how often it would have been. */
int plan_materialize(neap_ctx *ctx, uint8_t *made, int32_t *times);

/* The calls that lead to a node, itself among them: a bit for each, by their number modulo LAZY_CALLS_TOLD_APART; and
 * how many of them stand one behind the other. Kernels that wait for other calls are run at other times. */
enum { LAZY_CALLS_TOLD_APART = 64 };
typedef struct lazy_waits {
    uint64_t calls;
    int32_t depth;
} lazy_waits;
static inline bool plan_waits_equal(const lazy_waits *a, const lazy_waits *b) {
    return a->calls == b->calls && a->depth == b->depth;
}

/* rematerialize.c -------------------------------------------------------------------------------------------------- */
/* Changes `made` so that cheap maps are computed again behind calls, not stored. waits: by node of the region. */
int plan_rematerialize(neap_ctx *ctx, uint8_t *made, const lazy_waits *waits);

/* partition.c ------------------------------------------------------------------------------------------------------ */
/* Cuts chains of maps that are longer than a kernel may be: changes `made`, and sets segments[k] for each node of the
 * region. Kernels for nodes of two segments stay apart; -1: of none. */
int plan_partition_chains(neap_ctx *ctx, uint8_t *made, const lazy_waits *waits, int32_t *segments);

/* plan.c ----------------------------------------------------------------------------------------------------------- */
/* made[i]: why region node i needs a buffer, LAZY_WHY_NOT if it does not. The planner may change it. apart: each kernel
 * has one result, and memory of its own. OWNED. */
int plan_new(neap_ctx *ctx, uint8_t *made, bool apart, lazy_plan **out);
void plan_release(lazy_plan *plan);
const char *plan_why_text(lazy_why why); /* "it was asked for" */

/* group.c ---------------------------------------------------------------------------------------------------------- */
/* Sets the groups of a plan whose steps are there. */
int plan_group_steps(lazy_plan *plan);

/* label.c ---------------------------------------------------------------------------------------------------------- */
/* Write the name of a planned step; of a closed group of such steps. */
void plan_step_label(lazy_step *step);
void plan_group_label(lazy_step *const *steps, lazy_group *group);

/* traffic.c -------------------------------------------------------------------------------------------------------- */
/* What a run of the step touches of its buffers. */
static inline lazy_traffic plan_step_traffic(const lazy_step *step) {
    return step->kind == LAZY_STEP_KERNEL ? vm_kernel_traffic(&step->kernel)
                                          : vm_call_traffic(&step->call, step->slots, step->offsets);
}

/* run.c ------------------------------------------------------------------------------------------------------------ */
/* A step that pushes its op itself, as the payload of its node says. */
typedef struct lazy_launch {
    const neap_node *node;
    const lazy_step *step;
    neap_buffer *const *bufs; /* of its operands, then its own */
    neap_buffer *scratch;     /* the memory of its own that the run needs; NULL: none */
    bool unsettled;           /* its run is (unsettled.c) */
} lazy_launch;
static inline int plan_launch_push(neap_ctx *ctx, const lazy_launch *launch) {
    return launch->step->payload->push(ctx, launch);
}
typedef struct lazy_keeping lazy_keeping; /* keep.h */
typedef struct plan_kept_calls plan_kept_calls;
/* Where leaves and numbers of a run come from. */
typedef struct lazy_binding {
    /* The node whose buffer or number is used for a node of the region. BORROWED */
    neap_node *(*source)(void *arg, neap_node *node);
    /* The bytes of that buffer in front of the element that the plan counts a leaf's from. NULL: none. A plan with
     * steps that push themselves or move takes none. */
    size_t (*start)(void *arg, const neap_node *node);
    int (*effect)(void *arg, const lazy_launch *launch); /* pushes an effect: as plan_launch_push */
    void *arg;
    /* Of a program: the nkept slots that are its outputs, -1: none. NULL: a flush, where references tell what stays */
    const int32_t *kept;
    int64_t nkept;
    const int32_t *given; /* of a program: the ngiven leaves whose memory it may take */
    int64_t ngiven;
    lazy_keeping *keeping; /* of a program: what it has computed of kept inputs; NULL: no inputs are kept */
} lazy_binding;

typedef struct lazy_transferred { /* a transfer in a run */
    neap_buffer *buffer;          /* the copy */
    bool same;                    /* it holds what the slot holds */
} lazy_transferred;

typedef struct lazy_shared_scratch { /* of the steps on a device */
    size_t bytes;                    /* what the largest of them needs */
    neap_buffer *scratch;
} lazy_shared_scratch;

/* A run of a plan, on the thread that pushes it. Who runs it sets the first four members. The arrays are one block:
 * `few`, if that is large enough.
 *
 *      y = np.sort(a) + 1:     slot        0: a       1: sort(a)       2: y
 *                              bufs        a's        new              that of slot 1, which dies and is written over
 *                              made        NULL       the same         the same, once more: two references
 */
struct lazy_run {
    neap_ctx *ctx;
    lazy_plan *plan;
    neap_node *const *region;
    lazy_binding binding;
    bool begun;                    /* something was pushed */
    bool unsettled;                /* unsettled.c */
    neap_buffer **bufs;            /* by slot: where it lies. BORROWED from the leaves and from `made` */
    neap_buffer **made;            /* by slot: a reference for each made one, NULL for leaves. OWNED */
    size_t *starts;                /* by slot: see lazy_binding.start; of no use without that */
    lazy_scalar *numbers;          /* of the plan */
    lazy_transferred *transferred; /* by transfer */
    neap_buffer **scratches;       /* of the steps that need some, in their order */
    lazy_shared_scratch *shared;   /* by device */
    plan_kept_calls *kept_calls;   /* keep.h; NULL: none. One reference */
    neap_buffer **own;             /* of what is pushed now: its buffers (NULL: not used), */
    size_t *own_starts;            /* where they start, */
    bool *written;                 /* which of them are written, */
    neap_var **reads, **writes;    /* and their variables; */
    neap_part *parts;              /* of a step that moves, its parts */
    void *block;
    _Alignas(16) char few[3072];
};
/* Allocates, pushes all steps. Slots that have died may share a buffer with others. On failure there are no results. In
 * either case plan_run_close, which leaves what was made alone, frees the arrays. */
int plan_run(lazy_run *run);
void plan_run_close(lazy_run *run);

/* transfer.c ------------------------------------------------------------------------------------------------------- */
/* Finds the transfers of a plan whose steps are there. */
int plan_transfer_find(lazy_plan *plan);
/* Finds the transfers of a group, whose `slots` are still slots of the plan. */
int plan_transfer_group(const lazy_plan *plan, lazy_group *group);
/* Before a run begins: what its guard says of the plan's transfers. */
int plan_transfer_guard(const lazy_run *run);
/* Push the copies that a group needs before it runs, and those of what it has written. */
int plan_transfer_in(lazy_run *run, const lazy_group *group);
int plan_transfer_out(lazy_run *run, const lazy_group *group);
/* Joins the run's first nparts parts in the buffer of a slot, and where a collective can, in its transfers at once. */
int plan_transfer_join(lazy_run *run, int32_t slot, int nparts, const neap_push *push);
/* Why what several devices read of a slot is copied to each by itself; NULL: a collective sends it to all of them, of
 * which there are *ntargets. nsources: of a step that moves parts of `bytes` bytes there from these devices, whose own
 * result counts as well; 0: of any other step. */
const char *plan_transfer_lacks(const lazy_plan *plan, int32_t slot, int nsources, const int *sources, size_t bytes,
                                int *ntargets);
/* Whether two devices compute on one memory: those of the CPU do. */
static inline bool plan_share_memory(int a, int b) {
    return a == b || neap_device_memory_space(a) == neap_device_memory_space(b);
}
/* Moves the data of a node to a device where it belongs but does not lie yet. */
int plan_transfer_home(neap_ctx *ctx, neap_node *node, int device);

/* plan/memory.c ---------------------------------------------------------------------------------------------------- */
typedef struct lazy_memory_plan lazy_memory_plan;         /* which slots of a plan share memory, for its next run */
lazy_memory_plan *plan_memory_new(const lazy_plan *plan); /* OWNED. NULL: none can, or there is no memory to tell */
void plan_memory_free(lazy_memory_plan *reuse);
/* Decide which slots share memory in the next run: in a run of a program, which keeps the slots `kept` and may write
 * over the leaves `given`; in a flush of the region in ctx->walk.order, before any of it is pushed. */
void plan_memory_of_program(const lazy_plan *plan, int64_t nkept, const int32_t *kept, int64_t ngiven,
                            const int32_t *given);
void plan_memory_of_flush(neap_ctx *ctx, const lazy_plan *plan);
/* The same for a body, whose steps run one after the other: sets the home of each slot, and the bytes of each home.
 * Slots that are `inside` it share memory; what slot s holds is read until step until[s] begins, if not by steps. */
int plan_memory_of_body(const lazy_plan *plan, const bool *inside, const int32_t *until, int32_t *home, size_t *bytes);
/* The slot whose buffer this slot gets, itself for one of its own, and the bytes that such a buffer needs. */
int32_t plan_memory_home(const lazy_plan *plan, int32_t slot);
size_t plan_memory_bytes(const lazy_plan *plan, int32_t slot);
/* Has the slot another's memory, or another the slot's? */
bool plan_memory_is_shared(const lazy_plan *plan, int32_t slot);
/* Does the step write the slot as the first one, over memory that it does not read? */
bool plan_memory_is_fresh(const lazy_plan *plan, int32_t slot, int32_t step);
/* Is the slot of no use but to the steps of one launch graph? It has memory of its own then. */
bool plan_memory_passes(const lazy_plan *plan, int32_t slot);
int32_t plan_memory_group(const lazy_plan *plan, int32_t slot); /* by which the slot is written first */
/* A flush has failed, with this status, after some of its steps were pushed. What was taken from leaves is lost, and
 * with it what was to be made of them: they fail for good. Returns the status, then no more that of a call that can be
 * repeated. */
int plan_memory_give_up(neap_ctx *ctx, const lazy_plan *plan, int status);
/* Do the shared buffers hold what their slots need (verify.c, rules 16 to 18)? */
int plan_memory_verify(const lazy_plan *plan);

/* ---- flush.c: from nodes to engine ops --------------------------------------------------------------------------- */
/* Computes the roots (none of them abstract) and whatever of their ancestors rules require. */
int plan_flush_roots(neap_ctx *ctx, int nroots, neap_node *const *roots);
/* Computes what is pending past the limits: past that of nodes everything; past that of bytes all but what the newest
 * node (NULL: none) stands for, since what will be read of it is not recorded yet. */
int plan_flush_past_limits(neap_ctx *ctx, neap_node *newest);
/* Makes sure that the node has a buffer of its own, row-major. */
int plan_force(neap_ctx *ctx, neap_node *node);
/* Computes an array, and gives the buffer where the host reads its elements, row-major; NEAP_PENDING. BORROWED. */
int plan_host_read(neap_ctx *ctx, int32_t id, neap_buffer **out);
/* read.c: the node that readers on the host read: itself, or the whole of a meshed one. BORROWED. */
int plan_host_node(neap_ctx *ctx, neap_node *node, neap_node **out);
void plan_free_all(neap_ctx *ctx);
/* Lets go of nodes that are pending no more. */
void plan_tidy(neap_ctx *ctx);
/* The node is not to be computed by itself any more; `state` says what has become of it. */
void plan_leave_pending(neap_ctx *ctx, neap_node *node, uint8_t state);

#endif
