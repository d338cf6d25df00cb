/* control.h: nodes that run programs: calls, branches and loops, each as one step.
 *
 *      closed programs ──▶ lazy_control ──▶ node (row call, cond, while or scan) ──flush──▶ one engine op
 *                              └─ runner ─ bodies ─ items: steps, prints, copies, inner runners
 *
 * The first attribute of such a node points to its lazy_control, which owns the programs; the other attributes say how
 * many of the inputs are what (see the rows). Programs are closed: all that they read is an input of theirs, and so of
 * the node. Its value is a block of bytes, of which `part` nodes are the results.
 *
 * Nodes, programs and a lazy_control belong to the context's thread. A *runner* is what other threads need: it keeps
 * plans and buffers alive, changes never, and is counted atomically. body.c makes it, body_run.c interprets it.
 */
#ifndef LAZY_CONTROL_H
#define LAZY_CONTROL_H

#include "lazy/derive/derive.h"
#include "lazy/effect/effect.h"
#include "lazy/graph/graph.h"
#include "lazy/program/program.h"

enum { LAZY_BLOCK_ALIGN = 64 }; /* of results in a block, and of what bodies make */
enum { LAZY_MAX_NESTING = 64 }; /* nodes inside each other's bodies */

typedef struct lazy_runner lazy_runner;

/* The attributes of a node, taken apart, and its inputs as programs see them. */
typedef struct lazy_control_shape {
    int op, nin;
    const lazy_control_kind *kind;
    int64_t length;    /* scan: of the xs */
    bool reverse;      /* scan */
    int unroll;        /* scan */
    int rule;          /* call: NEAP_RULE_… */
    int first;         /* inputs before the operands: the index of a cond */
    int results;       /* call: those of the function; residuals of its rule may follow */
    int operands;      /* call, cond: operands; while, scan: carries */
    int xs;            /* scan */
    int32_t *consts;   /* by program: how many inputs are its own */
    int32_t *const_at; /* by program: which input of the node is the first of its own */
    lazy_result *in;   /* by input */
} lazy_control_shape;

typedef struct lazy_control {
    int32_t refs;
    int nprograms, nresults;
    neap_program **programs;
    lazy_control_shape shape;
    lazy_result *results;
    int64_t *places;                    /* of results in the block */
    int64_t bytes;                      /* of the block */
    int effects;                        /* kinds, LAZY_EFFECTS_… */
    int depth;                          /* of nodes inside each other's bodies */
    uint64_t serial;                    /* its place among the context's effects, in the order of recording */
    LAZY_VECTOR(lazy_runner *) runners; /* for the devices on which it is to be run. One reference each */
    const char *lacks;                  /* why it does not run on `lacks_on`; NULL: nobody asked. BORROWED for ever */
    int lacks_on;
    struct lazy_derived *derived; /* what rules have made of the programs (control/derive.h) */
    bool ruled;          /* it has a rule for derivatives, or a node with one is in the programs that it runs */
    bool asks;           /* a callback with results is in these programs */
    bool asks_in_rules;  /* or in those of a rule */
    bool tells_in_rules; /* a program of a rule has effects */
    bool maps;           /* it has a rule for batches, or a node with one is in its programs */
    bool kept;   /* for a derivative: such rules give the results (rules.c), of its own, in its first program; and */
    int answers; /* so many of its last results are answers (answers.c) */
    bool joined; /* its inputs and results are the blocks of a node on a mesh, side by side */
    /* Of a node on a mesh (control/mesh.c): the sharding whose blocks get a node each. NULL: an ordinary node */
    const lazy_sharding *apart;
    const lazy_sharding **shardings; /* by input, by result, and by result as the program gives it; NULL: ordinary */
} lazy_control;

/* kinds.c ---------------------------------------------------------------------------------------------------------- */
/* What tells the kinds of control flow apart. Each row (ops/control.c) names its kind. */
enum { LAZY_CONTROL_ATTRS = 5 }; /* the most attributes of a kind, without the counts of own inputs */
struct lazy_control_kind {
    int takes;      /* the attribute that counts the inputs among which answers can be given; -1: they cannot */
    bool rules;     /* only its first program runs: the others are those of a rule for derivatives */
    bool branches;  /* one of its programs runs: the one whose number is input 0 */
    bool loop;      /* its operands are carries: each turn takes them, and gives the next ones */
    bool condition; /* a loop: program 0 says whether there is a further turn, and program 1 is the body */
    bool stacks; /* a loop of as many turns as the xs have parts; what its body gives behind the carries is stacked */
    bool rest;   /* the own inputs of its last program are what is left: no attribute counts them */
    /* Takes the attributes apart (without the pointer to the programs): fills in the shape, or refuses. */
    int (*parse)(struct lazy_control *control, int nattrs, const int64_t *attrs);
    /* Writes the attributes that stand in front of the counts of own inputs, for a node like this one whose rule is
     * used, if it has one, of these numbers of operands, xs and results. Returns how many. */
    int (*write)(const lazy_control_shape *shape, int64_t operands, int64_t xs, int64_t results, int64_t *attrs);
    /* Does attribute k of a node have its default value? NULL: no attribute has a default. */
    bool (*is_default)(const int64_t *attrs, int k);
};
extern const lazy_control_kind control_call, control_cond, control_while, control_scan;

/* Has a call a rule that no derivative has used yet? */
static inline bool control_has_rule(const lazy_control_shape *shape) {
    return shape->rule == NEAP_RULE_VJP || shape->rule == NEAP_RULE_JVP;
}
/* How often the programs run; -1: nobody knows. */
static inline int64_t control_turns(const lazy_control_kind *kind, int64_t length) {
    return !kind->loop ? 1 : kind->stacks ? length : -1;
}
/* The programs that are run, the first ones: not those of a rule. */
static inline int control_bodies(const lazy_control *control) {
    return control->shape.kind->rules ? 1 : control->nprograms;
}
/* The program whose outputs are the results; of branches, the first of those. */
static inline int control_giver(const lazy_control_kind *kind) {
    return kind->condition ? 1 : 0;
}
/* Is operand k, counted from the first, an xs, of which a turn sees a slice? */
static inline bool control_is_xs(const lazy_control_shape *shape, int k) {
    return k >= shape->operands && k < shape->operands + shape->xs;
}
/* Is result k stacked from those of the turns? */
static inline bool control_is_stacked(const lazy_control_shape *shape, int k) {
    return shape->kind->stacks && k >= shape->operands;
}
/* The node's input that input k of program p is. */
static inline int control_input_of(const lazy_control_shape *shape, int p, int k) {
    int own = shape->operands + shape->xs;
    return k < own ? shape->first + k : shape->const_at[p] + k - own;
}

/* control.c -------------------------------------------------------------------------------------------------------- */
extern const lazy_payload control_payload; /* of all rows of control flow */
static inline bool control_is_control(const neap_node *node) {
    return graph_node_op(node)->control != NULL;
}
static inline lazy_control *control_of(const neap_node *node) {
    return (lazy_control *)(intptr_t)node->attrs[0];
}
void control_release(lazy_control *control);
/* Checks and records a node of a row for control flow; attrs are those behind the pointer. The programs are retained.
 * In a trace, a node with effects becomes an effect of that; else it is started, unless recording is held. OWNED. */
neap_node *control_record(neap_ctx *ctx, int nprograms, neap_program *const *programs, const graph_call *call);
/* The same as another node that is made anew, but for its programs, inputs and attributes. OWNED. */
typedef struct lazy_control_as {
    int32_t site; /* 0: Lua is asked for it */
    bool kept;    /* this and answers as in lazy_control */
    int answers;
} lazy_control_as;
neap_node *control_record_as(neap_ctx *ctx, const lazy_control_as *as, int nprograms, neap_program *const *programs,
                             const graph_call *call);
/* Result k; OWNED. */
neap_node *control_result(neap_ctx *ctx, neap_node *node, int k);
/* Checks programs, attributes and inputs. OWNED. */
int control_new(int nprograms, neap_program *const *programs, const graph_call *call, lazy_control **out);

/* control/mesh.c --------------------------------------------------------------------------------------------------- */
/* Does anything that the control's node would be made of lie on a mesh? */
bool control_mesh_needed(const lazy_control *control, int nin, neap_node *const *in);
/* Makes the control of a node on a mesh, whose programs and inputs `to` (BORROWED from the arena) fit each other. *out
 * is OWNED. */
int control_fix_shardings(neap_ctx *ctx, const lazy_control *control, const graph_call *call, neap_node **to,
                          lazy_control **out);
/* May a new node on a mesh be recorded on its blocks now? Records that. */
bool control_expands(neap_ctx *ctx, const neap_node *node);
int control_expand(neap_ctx *ctx, neap_node *node);
int control_part_expand(lazy_expansion *g); /* of the row of results */

/* control/guard.c: lazy_batch_guard.record, as a loop over the examples, with a branch. */
int control_guarded(const lazy_batch_guard *guard, neap_ctx *ctx, const lazy_effect *effect, int n,
                    neap_node *const *in, const bool *batched, neap_node **out);

/* control/stand_in.c: does an export that is being recorded replace constants in the programs that the node runs? */
bool control_has_stand_ins(neap_ctx *ctx, const neap_node *node);
/* The node again, with stand-ins for these as further inputs. OWNED. */
neap_node *control_record_replaced(neap_ctx *ctx, const neap_node *node, neap_node *const *in);

/* control/batch.c: the rules of the rows (batch.h). */
int control_call_batch(lazy_batching *g);
int control_cond_batch(lazy_batching *g);
int control_while_batch(lazy_batching *g);
int control_scan_batch(lazy_batching *g);

/* control/batch_rule.c: is the call batched by a rule of its function? */
bool control_has_batch_rule(const lazy_batching *g);
int control_batch_by_rule(lazy_batching *g);

/* control/check.c -------------------------------------------------------------------------------------------------- */
/* "scan: WHAT", as an error. */
int control_refuse(const lazy_control *control, const char *what);
/* Takes the attributes apart and checks that programs and inputs fit each other; fills in shape and results. */
int control_check(lazy_control *control, const graph_call *call);

/* custom.c: derivatives of calls ----------------------------------------------------------------------------------- */
int control_call_grad(lazy_grad *g);
int control_call_jvp(lazy_tangent *g);
/* Refuses what may not be differentiated: ordered effects in the body of a call on a tape, whose derivatives run it
 * again. */
int control_call_check(neap_ctx *ctx, const lazy_control *control, int nin, neap_node *const *in);

/* control/rules.c -------------------------------------------------------------------------------------------------- */
/* Does a derivative that is open depend on one of the inputs? */
bool control_on_tape(const neap_ctx *ctx, int nin, neap_node *const *in);
/* Records a node that is `ruled` with its rules kept or used, LAZY_RULES_…, where these depend on active inputs (NULL:
 * all). OWNED. */
neap_node *control_record_ruled(neap_ctx *ctx, lazy_control *control, int rules, const bool *active, int32_t site,
                                const graph_call *call);
/* The programs of a node without a rule of its own, in which the rules are used that depend on active inputs (NULL:
 * all). BORROWED. */
neap_program **control_programs_used(neap_ctx *ctx, lazy_control *control, const bool *active);
/* Of all rows: the node leaves the innermost derivative that it belongs to, and others are open. */
int control_leave_tape(neap_ctx *ctx, neap_node *node);

/* control/answers.c ------------------------------------------------------------------------------------------------ */
/* Records the node without its effects, on other inputs and with the answers that are given for it. OWNED. */
neap_node *control_record_answered(neap_ctx *ctx, const neap_node *node, neap_node *const *in,
                                   const lazy_answers *given);
/* Appends the answers that a node has made (in the arena). */
int control_take_answers(neap_ctx *ctx, neap_node *node, lazy_nodes *to);
/* A rule for derivatives applied to a node that asks: to the same node without its effects, with its answers. */
int control_grad_answered(lazy_grad *g, int (*rule)(lazy_grad *g));
int control_jvp_answered(lazy_tangent *t, int (*rule)(lazy_tangent *t));

/* control/grad.c --------------------------------------------------------------------------------------------------- */
int control_cond_grad(lazy_grad *g);
int control_cond_jvp(lazy_tangent *t);
int control_scan_grad(lazy_grad *g);
int control_while_grad(lazy_grad *g); /* an error */
int control_loop_jvp(lazy_tangent *t);

/* control/push.c --------------------------------------------------------------------------------------------------- */
/* Pushes the node's op. */
int control_push(neap_ctx *ctx, const lazy_launch *launch);

/* control/place.c -------------------------------------------------------------------------------------------------- */
/* Makes plans and bodies of the programs for the device that the node runs on, or for the host, if they are not there:
 * before a region with the node is planned. */
int control_prepare(neap_ctx *ctx, const neap_node *node);
/* The runner for a device, all of the host's being one; NULL: there is none. BORROWED from the control. */
lazy_runner *control_runner_at(const lazy_control *control, int device);
/* That of the device that the node runs on, else of the host. BORROWED */
lazy_runner *control_runner_of(const neap_node *node);
/* The same for a node in the body of another one, which is made by need for the host. OWNED */
int control_runner_on(neap_ctx *ctx, const neap_node *node, int device, lazy_runner **out);
/* Gives it to another control, whose programs are the same. */
int control_runner_share(lazy_control *control, lazy_runner *runner);
/* Why a node that is prepared does not run on a device, as a payload says it. */
const char *control_lacks(const neap_ctx *ctx, const neap_node *node, int device);

/* body.c ----------------------------------------------------------------------------------------------------------- */
/* Of programs that are planned for the device. OWNED */
int control_runner_new(neap_ctx *ctx, const lazy_control *control, int device, lazy_runner **out);
lazy_runner *control_runner_retain(lazy_runner *runner);
void control_runner_release(lazy_runner *runner);       /* by any thread; NULL is harmless */
int64_t control_runner_cost(const lazy_runner *runner); /* ns, estimated */
/* lower.c: of a loop, has it machine code that runs its turns? How it is run, and why, as far as anybody may wonder;
 * else empty. */
bool control_runner_is_native(const lazy_runner *runner);
const char *control_runner_why(const lazy_runner *runner, char *text, size_t capacity);
/* lower.c: asks for its machine code, or else for that of what its bodies run. Is some of it still being made? */
bool control_runner_compile(const lazy_runner *runner);
size_t control_runner_bytes(const lazy_runner *runner); /* of the memory on its device that a run needs */

#endif
