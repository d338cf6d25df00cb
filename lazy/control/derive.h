/* control/derive.h: programs that rules make of a control node's programs, and keep with it.
 *
 * A rule opens a closed trace, records what the new program does on placeholders, on a tape of its own where it needs
 * derivatives of one of the node's programs, and closes it. What it made is found again by the rule's letter and by a
 * key: for which inputs and results it was made.
 */
#ifndef LAZY_CONTROL_DERIVE_H
#define LAZY_CONTROL_DERIVE_H

#include "lazy/control/control.h"

typedef struct lazy_derived {
    struct lazy_derived *next;
    char rule;
    int nkey, nprograms;
    neap_program **programs;
    bool key[];
} lazy_derived;

typedef struct lazy_maker { /* a program that is being made of another one */
    neap_ctx *ctx;
    neap_program *program; /* the program that is applied */
    int trace, tape;       /* the level of the trace; that of the tape, -1: there is none */
    neap_node **in, **out; /* its inputs and outputs: in BORROWED, out OWNED */
    lazy_nodes results;    /* outputs of the new one. BORROWED */
    lazy_nodes answers;    /* those that were taken as it was applied */
    const bool *depends;   /* by node of the program: where rules are kept or used; NULL: everywhere. BORROWED */
} lazy_maker;

/* The programs that were made, or NULL. BORROWED from the control. */
neap_program **control_derived_find(const lazy_control *control, char rule, int nkey, const bool *key);
/* By node of a control node's program p: does the node depend, as derivatives do, on active inputs? active: by input of
 * the control node. OWNED; NULL: memory. */
bool *control_depends(const lazy_control *control, int p, const bool *active);
/* Those that were made, or else for each of the first `counted` programs of the node what `make` makes of it, by `how`;
 * the others stay as they are. BORROWED; NULL: error. */
typedef int (*control_make_fn)(neap_ctx *ctx, const lazy_control *control, int p, const void *how, neap_program **made);
neap_program **control_derived_make(neap_ctx *ctx, lazy_control *control, char rule, int nkey, const bool *key,
                                    int counted, control_make_fn make, const void *how);
/* Those that were made, or else the node's programs, each of those that run applied again in this way, with the answers
 * that it takes behind the outputs; the programs of a rule stay as they are. active: by input of the node, for the
 * maker's `depends`. BORROWED; NULL: error. */
neap_program **control_derived_again(neap_ctx *ctx, lazy_control *control, char rule, const bool *active,
                                     int (*apply)(lazy_maker *));
/* Keeps programs (TAKES, also on failure). NULL: memory. */
neap_program **control_derived_keep(lazy_control *control, char rule, int nkey, const bool *key, int n,
                                    neap_program *const *programs);
void control_derived_free(lazy_derived *derived);

/* Opens the trace, and a tape in it if asked for. */
int control_maker_begin(lazy_maker *m, neap_ctx *ctx, neap_program *program, bool tape);
/* A placeholder like a node; BORROWED. */
neap_node *control_maker_input(lazy_maker *m, const neap_node *like);
/* Input k of the applied program, as a placeholder; on the tape, if so asked. */
int control_maker_given(lazy_maker *m, int k, neap_node *placeholder, bool taped);
/* Applies the program without its effects, with answers that are given (NULL: none). */
int control_maker_apply(lazy_maker *m, const lazy_answers *given);
/* Applies it with its effects, and rules as LAZY_RULES_… says. `takes`: takes its answers. */
int control_maker_apply_as(lazy_maker *m, int rules, bool takes);
/* The program with its answers as outputs behind the others; rules as they are, but kept if they ask. */
int control_program_asking(neap_ctx *ctx, neap_program *program, neap_program **made);
/* Ends the trace, whatever became of it, with a status; *made gets the program of `results`. */
int control_maker_end(lazy_maker *m, int status, neap_program **made);

/* Does a program have effects that are more than calls of pure functions? */
bool control_has_visible_effects(const neap_program *program);

#endif
