/* explain.h: what np.explain has found out, between the file that finds it (explain.c) and the one that draws it
 * (explain/dot.c). */
#ifndef LAZY_EXPLAIN_H
#define LAZY_EXPLAIN_H

#include "lazy/plan/plan.h"
#include "lazy/program/program.h"

typedef struct lazy_chapter { /* a plan, and what it is for */
    lazy_plan *plan;          /* one reference */
    bool future;              /* it would be run now; else it has made some of the roots */
    lazy_nodes region;        /* BORROWED, by region number; empty when they are not known any more */
} lazy_chapter;

typedef struct lazy_story {
    neap_ctx *ctx;
    neap_program *program;  /* that is told of; NULL: of arrays */
    neap_program *recorded; /* for which it is run: the same, but for a program with values on a mesh (lower.h) */
    lazy_nodes roots;       /* the arrays that are told of, or the results of the program. BORROWED */
    lazy_nodes meshed;      /* those that lie on a mesh; their blocks are among the roots. BORROWED */
    lazy_nodes nodes;       /* their expression, inputs before users, named (print.h). BORROWED */
    LAZY_VECTOR(lazy_chapter) chapters;
} lazy_story;

/* What is told of a plan is told of its first and its last steps, and of some that make roots. */
enum { LAZY_STORY_STEPS = 24 };
/* Which steps: shown[k], of plan->nsteps. */
void explain_story_choose(const lazy_story *story, const lazy_chapter *chapter, bool *shown);
/* The node of a slot, if it is known and has a name; else NULL. */
neap_node *explain_story_node(const lazy_story *story, const lazy_chapter *chapter, int32_t slot);
/* The slot of buffer k of a step. */
int32_t explain_story_slot(const lazy_plan *plan, int32_t step, int32_t k);
/* "demo.lua:3" of "folder/demo.lua:3", "demo.lua:3 (scope)" of the same in a scope. Where the line is not known, and a
 * site is the name of a script: "(scope)", or NULL. BORROWED */
const char *explain_story_line(const char *site);

/* ---- layout.c ---------------------------------------------------------------------------------------------------- */
/* "2.05 MB", "118 µs" */
void explain_say_bytes(lazy_print *print, int64_t bytes);
void explain_say_ns(lazy_print *print, int64_t ns);
/* "1 kernel", "4,980 steps" */
void explain_say_count(lazy_print *print, int64_t n, const char *noun);
/* A cell for a script line, if it is known, without what could break the text's own lines. */
void explain_say_site(lazy_print *print, const char *site);
/* At most `most` columns of it, with "…" for the rest. */
void explain_say_clipped(lazy_print *print, const char *text, int most);
/* Replaces tabs behind text[from] so that cells of the same number, in all lines, begin in one column. */
void explain_align_cells(lazy_print *print, size_t from);

/* explain/dot.c: the story as a picture, in the language of Graphviz. */
void explain_story_draw(lazy_print *print, const lazy_story *story);

#endif
