/* programs.h: public interface of the lazy room, second part: levels, programs, and what transforms them.
 *
 * A *level* is opened around the run of a user's function on stand-ins for its arguments: a tape, for derivatives, or a
 * trace, which becomes a *program*: a closed graph with inputs, outputs, effects and sub-programs. Programs are run,
 * which pushes their steps, or replayed, which records their ops again on other arrays; transformations see closed
 * programs and never call Lua.
 */
#ifndef NEAP_PROGRAMS_H
#define NEAP_PROGRAMS_H

#include "lazy/lazy.h"

/* ---- Levels: gradients and programs ----------------------------------------------------------------------------
 * A level gives its arguments fresh alias nodes; an op belongs to the level iff an input does. Levels close in reverse
 * order of opening (`neap_level_end`, also after an error: it drops what the level held). */
NEAP_API int neap_level_end(neap_ctx *ctx, int level);
NEAP_API int neap_tape_begin(neap_ctx *ctx, int *level);
NEAP_API int neap_tape_alias(neap_ctx *ctx, int level, int32_t id, int32_t *out);
/* Reverse mode: cotangents of wrt[n] (aliases of the level) for the cotangents `seeds` of results: 0 is zero; no seeds
 * (NULL) means one for each, and then the results must be 0-d floats. Arrays that they do not depend on get zeros. */
NEAP_API int neap_tape_gradient(neap_ctx *ctx, int level, int nresults, const int32_t *results, const int32_t *seeds,
                                int n, const int32_t *wrt, int32_t *out);
/* Nobody is given this value of the tape's function (np.grad drops it): what was recorded for it alone is computed only
 * if it is asked for after all. */
NEAP_API int neap_tape_unread(neap_ctx *ctx, int level, int32_t id);
/* Forward mode: tangents of results, for those of wrt[n] (aliases of the level); tangent 0 is zero. */
NEAP_API int neap_tape_tangent(neap_ctx *ctx, int level, int n, const int32_t *wrt, const int32_t *tangents,
                               int nresults, const int32_t *results, int32_t *out);

typedef struct neap_program neap_program;
/* A closed trace *captures* an array from outside that it reads, prints or returns (with a value or pending, or of a
 * level around; no number, nor what is made of constructors): the program gets a further input for it. What the
 * function computes from constants alone is computed by the program; but NEAP_TRACE_CLOSED captures that too, so the
 * body of a loop does not compute it at each turn. */
enum { NEAP_TRACE_OPEN, NEAP_TRACE_CLOSED, NEAP_TRACE_STAGES /* closed */ };
NEAP_API int neap_trace_begin(neap_ctx *ctx, int kind, int *level);
/* A placeholder. weak: 1 a number argument (ndim 0), 2 one that is no integer; 3 a weak array, 4 one of
 * fractions; 0 another array. `device`: the one that it is
 * committed to, -1: none. `sharding`: how it lies on a mesh (mesh/mesh.h), 0: it does not. */
NEAP_API int neap_trace_input(neap_ctx *ctx, int level, int dtype, int weak, int device, int sharding, int ndim,
                              const int64_t *shape, int32_t *out);
/* Closes the level (unless it fails: then it can be called again) and makes a program of its inputs, its effects and
 * `outputs` (which may also be arrays from outside or inputs). */
NEAP_API int neap_trace_end(neap_ctx *ctx, int level, int n, const int32_t *outputs,
                            neap_program **program); /* OWNED */
/* The arrays that a closed trace has captured, in the order of their inputs, which follow all others. ids NULL: only
 * their number. The program lets go of them, so their ids can be had once. */
NEAP_API int neap_program_captured(neap_program *program, int32_t capacity, int32_t *ids);
/* What is committed to no device in this program runs on this one, and not on the default device. Before it has run. */
NEAP_API void neap_program_on(neap_program *program, int device);
NEAP_API void neap_program_free(neap_program *program); /* lets go of it: others may still hold it */
typedef struct neap_program_info {
    int32_t inputs, outputs, nodes, captures, effects, steps;
} neap_program_info;
NEAP_API void neap_program_info_get(neap_program *program, neap_program_info *out);
/* Runs on live arrays: pushes its steps. Inputs must have the shapes, dtypes and placements of the placeholders; number
 * inputs are 0-d constants. */
NEAP_API int neap_program_run(neap_ctx *ctx, neap_program *program, int n, const int32_t *inputs, int32_t *outputs);
/* Records its ops again on other arrays, which may belong to open levels: how a jitted function is inlined or
 * differentiated. */
NEAP_API int neap_program_replay(neap_ctx *ctx, neap_program *program, int n, const int32_t *inputs, int32_t *outputs);
/* The same on inputs that may lie elsewhere than those that the program was traced with: its ops go where they are. */
NEAP_API int neap_program_follow(neap_ctx *ctx, neap_program *program, int n, const int32_t *inputs, int32_t *outputs);
/* The number (from 1) of the name of an axis, for the rows over named axes. 0: memory. */
NEAP_API int32_t neap_axis_name(neap_ctx *ctx, const char *name);
/* A batching rule, for one call (NEAP_RULE_VMAP) or several alike: what it records for these batched operands. */
typedef struct neap_batch_rule {
    neap_program *callee;   /* what the call runs */
    neap_program *program;  /* from the operands, then `lifted`, to the results */
    const uint8_t *batched; /* by operand of the call, then by result */
    int32_t nlifted;
    const int32_t *lifted;
} neap_batch_rule;
typedef struct neap_batch {
    int64_t size; /* examples */
    int32_t nrules;
    const neap_batch_rule *rules;
} neap_batch;
/* Records its ops for `size` examples at once. batched[k] != 0: input k holds the examples along a new axis 0, else all
 * share it; out_batched[k] says the same of the outputs. An unordered effect happens once for each example; an ordered
 * effect is an error. Calls whose program has a number (neap_program_rule) need their rules. */
NEAP_API int neap_program_batch(neap_ctx *ctx, neap_program *program, const neap_batch *how, int n,
                                const int32_t *inputs, const uint8_t *batched, int32_t *outputs, uint8_t *out_batched);
enum { NEAP_MOST_OPERANDS = 2047 };
typedef struct neap_batch_wanted { /* a rule that a batch needs */
    neap_program *callee;          /* OWNED by the caller; NULL: none */
    int32_t number;                /* of the callee */
    uint8_t batched[NEAP_MOST_OPERANDS];
} neap_batch_wanted;
/* Looks for a rule that such a batch needs and `how` lacks, and describes the rule in *out. Records nothing. */
NEAP_API int neap_program_batch_wants(neap_ctx *ctx, neap_program *program, const neap_batch *how,
                                      const uint8_t *batched, neap_batch_wanted *out);
/* The number, from 1 on, of a program whose calls are batched by a rule: no other living program has it. Negative: an
 * error. */
NEAP_API int neap_program_rule(neap_program *program);
/* Names its inputs or, if outputs != 0, its outputs: n texts, copied, each of them once and without control
 * characters. */
NEAP_API int neap_program_rename(neap_program *program, int outputs, int n, const char *const *names);
/* What is known of input or output k: its shape, dtype, device; an input that is weak is a number. *name gets its name,
 * or NULL (BORROWED until it is renamed). `weak` 2: it was no integer when the program was traced. */
NEAP_API int neap_program_port(neap_program *program, int outputs, int k, neap_info *out, const char **name);
/* The printed form, cut to that many lines (0: all of them; -1: all, and the script line behind each op). *bytes gets
 * the full length; at most `capacity` are written. */
NEAP_API int neap_program_text(neap_program *program, int lines, char *text, size_t capacity, size_t *bytes);
/* A program step by step (control/steps.c): a line for each input, op and effect in the order of the printed form, and
 * one for the outputs. Its fields stand between tabs: its printed form, without the programs that it runs; the script
 * line; how many values it has; how many arrays its programs read; its place for neap_program_cut, or -1; what it is:
 * "input", "op", "print", "return", or of control flow "call", "branch", "while" or "scan". Behind these: why its
 * programs may not run again (empty: they may), length, reverse, operands, xs, and for each program which of those
 * arrays are its inputs: "0,1;0,2". */
NEAP_API int neap_program_steps(neap_program *program, char *text, size_t capacity, size_t *bytes);
/* Records the program's ops again on arrays, as neap_program_follow, and gives the arrays of all steps: the values of a
 * step, then the arrays for the step's programs. count: the number of all by neap_program_steps. silent: no effect
 * happens. */
NEAP_API int neap_step_values(neap_ctx *ctx, neap_program *program, int silent, int n, const int32_t *inputs, int count,
                              int32_t *values);
/* Records the program's ops again on arrays, with given[k] in place of what the op at places[k] gives, unless given[k]
 * is 0. Gives these arrays, or what was recorded for them, then the outputs. Not with declared sizes. */
NEAP_API int neap_program_cut(neap_ctx *ctx, neap_program *program, int n, const int32_t *inputs, int ncuts,
                              const int32_t *places, const int32_t *given, int32_t *out);
/* Program k of a step of control flow, both counted from 0. */
NEAP_API int neap_step_program(neap_program *program, int step, int k, neap_program **out); /* OWNED */
/* A picture of its graph, in the language of Graphviz's dot, of bounded size. */
NEAP_API int neap_program_dot(neap_program *program, char *text, size_t capacity, size_t *bytes);
/* Saving: its graph with the arrays that it holds (docs/programs.md), OWNED: neap_bytes_free. NEAP_PENDING: an array
 * that it captured has no value yet. The same program gives the same bytes. */
NEAP_API int neap_program_write(neap_program *program, char **data, size_t *bytes);
NEAP_API void neap_bytes_free(char *data);
/* Bytes, OWNED, that tell what a program computes: two programs with the same ones give the same results of the same
 * inputs. *bytes 0: no bytes tell: it has effects, callbacks, batching rules, arrays or shardings of this session. */
NEAP_API int neap_program_key(neap_program *program, char **data, size_t *bytes);
/* The callees of the functions that it calls, each once, as they are numbered in its bytes: *n of them, at most
 * `capacity` are written. NEAP_PENDING as above. */
NEAP_API int neap_program_callees(neap_program *program, int32_t capacity, int32_t *callees, int32_t *n);
/* The same for the shardings in it, by number: those of the bytes, in their order. */
NEAP_API int neap_program_shardings(neap_program *program, int32_t capacity, int32_t *shardings, int32_t *n);
/* Loading: its functions get new callees, which it takes over unless it fails. Bytes may be anything: what is no
 * program, or one of ops that are not known here, is an error that says why. */
typedef struct neap_saved {
    int32_t version, ncallees, nshardings; /* version: of the format, 1 to 3 */
    const void *data;
    size_t bytes;
    const int32_t *callees, *shardings;
} neap_saved;
NEAP_API int neap_program_read(neap_ctx *ctx, const neap_saved *from, neap_program **out); /* OWNED */
/* What a run costs (counting rules: cost.c). */
typedef struct neap_cost {
    double flops;                           /* operations on elements */
    double read, written;                   /* bytes that its steps move */
    double inputs, outputs, captured, peak; /* bytes of memory: of arrays that it gets, gives, holds; in all */
    double temporaries;                     /* bytes of memory that it makes and does not give */
    int64_t kernels, calls;                 /* how many it runs */
    int64_t loops;                          /* while loops, of which one turn is counted */
    int32_t nops;                           /* entries of the table of ops */
} neap_cost;
typedef struct neap_op_cost {
    const char *op; /* BORROWED for ever */
    int64_t count;  /* how often the program does it */
    double flops;   /* in all */
} neap_op_cost;
/* Writes at most `capacity` entries of the table of ops, sorted by name. */
NEAP_API int neap_program_cost(neap_program *program, neap_cost *out, int32_t capacity, neap_op_cost *ops);
/* Plans it, and has the native code of its kernels and loops made, which else is made once they have run for a while.
 * NEAP_PENDING: some of it is still being made. Code that cannot be made is no failure. */
NEAP_API int neap_program_compile(neap_program *program);
/* Checks that the program is as passes expect it. NEAP_E_INTERNAL: the error says which node is wrong, and how. For
 * tests: debug builds check each program when it is made. */
NEAP_API int neap_program_verify(neap_program *program);
/* As neap_explain, of what a run of the program does or did. */
NEAP_API int neap_program_explain(neap_program *program, int form, char *text, size_t capacity, size_t *bytes);

/* ---- Deferred mode ------------------------------------------------------------------------------------------------
 * Between begin and end recording starts nothing: work is done when a value is read, printed or needed outside. What
 * was recorded keeps its structure after it was computed, but not its data. */
/* Returns the number of modes that were open already: that is for end. */
NEAP_API int neap_deferred_begin(neap_ctx *ctx);
/* For work inside of a mode that belongs outside of it: from now on it is as if only `depth` modes were open. Returns
 * the number before, with which a second call goes back. */
NEAP_API int neap_deferred_switch(neap_ctx *ctx, int depth);
/* Leaves the mode, and those begun inside it. The n results of the outermost get memory of their own once computed. */
NEAP_API int neap_deferred_end(neap_ctx *ctx, int depth, int n, const int32_t *results);
/* Makes an array of data that was just made in deferred mode part of what is recorded there. Else does nothing. */
NEAP_API int neap_array_literal(neap_ctx *ctx, int32_t id);
typedef struct neap_ports { /* inputs or outputs: arrays and their names */
    int32_t n;
    const int32_t *ids;
    const char *const *names;
} neap_ports;
/* Records the structure behind `outputs` again, in the innermost trace, with stand_ins[k] (placeholders) instead of
 * input k; out[k] gets the id of output k. NEAP_E_ARGUMENT: an output needs an array that is no input, an input reaches
 * no output, an input is listed twice, an output was not recorded in deferred mode. */
NEAP_API int neap_export(neap_ctx *ctx, int level, const neap_ports *inputs, const int32_t *stand_ins,
                         const neap_ports *outputs, int32_t *out);

/* ---- Control flow: programs as one step --------------------------------------------------------------------------
 * Rows of lazy/ops/control.c, which say what programs, attributes and inputs they have. */
enum {
    NEAP_RULE_NONE, /* of a call: derived from its program, which reverse mode runs again */
    NEAP_RULE_VJP,  /* two more programs: one that also gives residuals, one from these and cotangents to cotangents */
    NEAP_RULE_JVP,  /* one more: from operands and tangents to results and tangents */
    NEAP_RULE_USED, /* a derivative has used the rule: derived from the first program; others are left over */
    NEAP_RULE_VMAP  /* a rule for batches, which the caller of the batch has; for derivatives as one that is used */
};
typedef struct neap_control {
    int32_t op;                          /* LAZY_OP number of call, cond, while_loop or scan */
    int32_t nprograms, nattrs, nresults; /* nresults: as many ids are asked for */
    neap_program *const *programs;       /* retained */
    const int64_t *attrs;                /* those behind the first */
    const char *site;                    /* the script line; may be NULL */
} neap_control;
/* Records it on n arrays, and starts it; inside a trace it becomes part of the program. */
NEAP_API int neap_control_push(neap_ctx *ctx, const neap_control *how, int n, const int32_t *inputs, int32_t *results);

#endif
