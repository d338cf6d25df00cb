/* program.h: what a program is made of, for the files that make, run and print it. */
#ifndef LAZY_PROGRAM_H
#define LAZY_PROGRAM_H

#include "lazy/plan/plan.h"

struct lazy_sharding; /* sharding.h */

typedef struct lazy_port_names { /* of inputs or outputs; one block of memory */
    const char **at;             /* NULL: they have no names */
} lazy_port_names;

typedef struct program_sized_text {
    size_t at, bytes;
} program_sized_text;

/* What a program has of a plan: for another device it has others. */
typedef struct program_planned {
    lazy_plan *plan;   /* one reference */
    lazy_nodes region; /* one reference each */
    LAZY_VECTOR(int32_t) root_slots;
    bool lends;
} program_planned;

struct neap_program {
    neap_ctx *ctx; /* NULL once that has ended: then the program is empty */
    int32_t refs;
    neap_program *next, **link; /* in the context's list: link points to what points to it */
    lazy_nodes inputs, outputs; /* one reference each */
    lazy_port_names input_names, output_names;
    lazy_nodes captured; /* arrays for the last of the inputs, until somebody takes them. One reference each */
    lazy_nodes nodes;    /* what a replay records, inputs before users; one reference each */
    lazy_nodes region;   /* the region of the plan; one reference each */
    LAZY_VECTOR(lazy_effect *) effects;
    LAZY_VECTOR(int32_t) links; /* for a replay: the inputs of abstract nodes, node by node, as positions in `nodes` */
    LAZY_VECTOR(int32_t) root_nodes; /* for a replay: the roots, as positions in `nodes` */
    LAZY_VECTOR(int32_t) root_slots; /* of roots that are made by the plan; -1 for leaves */
    int64_t effect_roots;            /* the roots: those of the effects in their order, then the outputs */
    lazy_plan *plan;                 /* NULL until somebody needs it: program_plan */
    int32_t captures;
    int32_t home;          /* the device that its uncommitted work runs on; -1: the default device when it is planned */
    bool lends;            /* its plan reads slices that are arguments where they lie; known with the plan */
    bool meshed;           /* some of its values lie on a mesh: the plan is that of `lowered` */
    bool calls;            /* some of its calls are replaced by their ops: so is the plan */
    lazy_keeping *keeping; /* what it has computed of kept inputs; NULL: none are kept, or nothing can be */
    struct lazy_lowered *lowered; /* what is run for it, if it has no plan (lower.h); NULL until somebody needs it */
    int32_t rule;                 /* the number of its batching rule; 0: it has none */
    neap_program *ruled;          /* that one has the rule, from which this one was made; NULL: itself. One reference */
    uint64_t runs;                /* of its plan, which others may share */
    uint32_t walk;                /* the last walk over programs inside each other that met it (ctx->walk.programs) */
    int32_t place;                /* what that walk remembers of it, so that it looks into each program only once */
};

/* program.c */
static inline neap_program *program_retain(neap_program *program) {
    program->refs++;
    return program;
}

/* The program whose batching rule is that of this one. BORROWED */
static inline neap_program *program_ruled(neap_program *program) {
    return program->ruled ? program->ruled : program;
}
/* `made` was made of another program, which it stands for: it has the same batching rule. */
static inline void program_take_rule(neap_program *made, neap_program *from) {
    if (made != from && !made->ruled && program_ruled(from)->rule)
        made->ruled = program_retain(program_ruled(from));
}

/* The first node of a program in which other processes take part; NULL: none. Meshed programs have them when lowered.
 * BORROWED. */
const neap_node *program_exchange(const neap_program *program);
/* Makes the plan, the region and root_slots, if they are not there: those of what is run for it (lower.h). */
int program_plan(neap_program *program);
/* Of a program that has its plan: these n inputs (positions) are kept, as long as the arrays are the same what is
 * computed of them alone is computed once (plan/keep.h). */
int program_keep(neap_program *program, int64_t n, const int32_t *inputs);
/* Gives a program this in place of what it has, which is there then. */
void program_exchange_plan(neap_program *program, program_planned *with);
void program_planned_free(neap_ctx *ctx, program_planned *planned);

/* program.c: neap_trace_end, of nodes. */
int program_trace_end(neap_ctx *ctx, int level, int n, neap_node *const *outputs, neap_program **out);

/* stage.c: makes what the outputs and effects of the innermost trace need of its own constants part of the trace. */
int program_stage(neap_ctx *ctx, int level, neap_program *program);
/* level.c: opens a closed trace in which a program is derived of closed ones: it holds the constants that rules
 * make. */
int graph_trace_derived(neap_ctx *ctx, int *level);
/* deferred.c: an alias of a node from outside that belongs to the trace: what is computed from it belongs to the trace
 * too, and is not captured. OWNED. */
neap_node *program_take_in(neap_ctx *ctx, int level, neap_node *node);
/* deferred.c: appends (BORROWED) the constants of the programs that a node runs, and of those that these run. */
int program_constants(neap_ctx *ctx, const neap_node *node, lazy_nodes *to);
/* deferred.c: what an export that is being recorded puts in place of a constant; elsewhere the constant. BORROWED. */
neap_node *program_stand_in(const neap_ctx *ctx, neap_node *node);

/* ---- Replaying and running -------------------------------------------------------------------------------------- */
/* replay.c: records the program's ops again on these inputs; its effects are those of the innermost open trace, or
 * happen. outputs are OWNED; on failure there are none. Inputs may be NULL: what depends on these is not recorded, such
 * effects do not happen, and such outputs are NULL. */
int program_apply(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, neap_node **outputs);
/* The same with calls that are inlined: in the place of each stand the ops of its function. For an open trace. */
int program_apply_inlined(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, neap_node **outputs);
/* The same as program_apply for a call that the script makes: the nodes are in the open scope. */
int program_inline(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, neap_node **outputs);

/* Is the node a call in whose place the ops of its function are run? One on a mesh is a call for the blocks. */
static inline bool program_inlines(const neap_node *node) {
    return node->flags & LAZY_ABSTRACT && !graph_is_meshed(node) && graph_node_programs(node).inlined;
}

typedef struct program_watch { /* further results of a replay: what was recorded for these of the program's nodes */
    int64_t n;
    const int64_t *positions;
    neap_node **made;        /* OWNED; NULL for what was not recorded */
    neap_node *const *given; /* by node of the program: what stands for it, so that it is not recorded; NULL: nothing */
} program_watch;
/* The same on inputs that may lie elsewhere. watch: NULL, or what else is wanted. */
int program_watched(neap_ctx *ctx, neap_program *program, neap_node *const *inputs, const program_watch *watch,
                    neap_node **outputs);

/* Where a program takes a number and the node is what a control node made of one, an f64: that again. BORROWED. */
neap_node *program_number_again(neap_ctx *ctx, neap_node *node);

/* The op of a node recorded again on other inputs; OWNED. A callback is an effect of the innermost open trace, or
 * happens. */
neap_node *program_node_again(neap_ctx *ctx, const neap_node *node, neap_node *const *in);

/* program/run.c: does a node fit input k? What the program is applied to (`runs`: run with) may also be a number that
 * is computed from others. If the number is an argument of an outer trace, what it meets here is noted there too. */
int program_check(const neap_program *program, int k, neap_node *node, bool runs);
/* The same, wherever the node lies. */
int program_check_type(const neap_program *program, int k, neap_node *node, bool runs);
/* The nodes of n arguments, which must fit the program's inputs by one of these checks. */
int program_inputs(neap_ctx *ctx, neap_program *program, int n, const int32_t *ids, bool runs,
                   int (*check)(const neap_program *, int, neap_node *, bool), neap_node **nodes);
/* The status of a failed run. One without memory is tried again, but effects that have begun must not happen twice. */
int program_fail_for_good(int status, bool begun);

/* print.c: marks inputs and nodes and numbers them for the printed form (print.h). */
int program_number(const neap_program *program);

/* ---- jit.c ------------------------------------------------------------------------------------------------------- */
/* The context ends: its jits, which Lua may still hold, become empty. */
void program_jit_free_all(neap_ctx *ctx);

/* ---- program.c --------------------------------------------------------------------------------------------------- */
/* Appends (BORROWED) the nodes of all programs. */
int program_list_all(neap_ctx *ctx, lazy_nodes *to);
/* The context ends: its programs, which others may still hold, become empty. */
void program_free_all(neap_ctx *ctx);

/* ---- write.c, read.c --------------------------------------------------------------------------------------------- */
/* What a program's file has besides for sizes as symbols (lazy/sizes/save.c): words and texts, which only that knows,
 * the ops that they speak of, and the arrays and programs that they were given. */
typedef struct program_sized {
    LAZY_VECTOR(int64_t) words;
    LAZY_VECTOR(int32_t) ops;              /* rows */
    LAZY_VECTOR(program_sized_text) texts; /* where they stand in `bytes`, a zero behind each */
    lazy_text bytes;
    lazy_nodes arrays;                      /* one reference each */
    LAZY_VECTOR(neap_program *) programs;   /* one reference each */
    LAZY_VECTOR(int32_t) shardings;         /* their numbers in this session */
    LAZY_VECTOR(lazy_callback *) callbacks; /* one reference each */
} program_sized;
void program_sized_free(neap_ctx *ctx, program_sized *sized);
/* As neap_program_write, with what there is for its sizes; NULL: nothing. */
int program_write(neap_program *program, const program_sized *sized, char **data, size_t *bytes);
/* As neap_program_callees and neap_program_shardings, of such a file. */
int program_callees(neap_program *program, const program_sized *sized, int32_t capacity, int32_t *callees, int32_t *n);
int program_shardings(neap_program *program, const program_sized *sized, int32_t capacity, int32_t *shardings,
                      int32_t *n);
/* As neap_program_read. *has: does the file have something for sizes? It is the caller's then. */
int program_read(neap_ctx *ctx, const neap_saved *from, neap_program **out, program_sized *sized, bool *has);

/* Further parts of what programs offer, which are made of the above. */
#include "lazy/program/lower.h"
#include "lazy/program/print.h"

/* Does the list say of a node how it is made? Else it is an input, data, or a number. */
bool program_is_constructed(const neap_node *node);

#endif
