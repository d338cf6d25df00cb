/* sizes.h: what the files of lazy/sizes offer each other.
 *
 *   expr.c         size expressions: their normal form, their values, their text
 *   decide.c       what follows from sizes being at least 1
 *   transcript.c   notes of what was asked, one after the other
 *   extents.c      which expressions the axes of arrays are
 *   play.c         asking for it again
 *   save.c         a transcript for a program's file
 *   load.c         the same from a file
 */
#ifndef LAZY_SIZES_SIZES_H
#define LAZY_SIZES_SIZES_H

#include "lazy/graph/graph.h"
#include "lazy/program/program.h"
#include "lazy/sizes.h"

/* ---- Expressions --------------------------------------------------------------------------------------------------
 * An integer expression is a polynomial over *atoms* with integer coefficients: terms in a fixed order, none of them 0.
 * Atoms are declared sizes, axes of arrays, and what is no polynomial: floor divisions, remainders, least and greatest.
 * Equal polynomials are one expression. Reals are trees. Operands have smaller numbers than what is made of them. */
enum { SIZES_MOST_FACTORS = 8 };
enum { SIZES_PROBES = 4 }; /* values of each expression: that of now, and those for three other choices of sizes */

typedef enum sizes_kind {
    SIZES_SUM,     /* a polynomial that is no atom; also integer constants */
    SIZES_SYMBOL,  /* a: which one */
    SIZES_EXTENT,  /* a: the value, b: the axis */
    SIZES_ATOM,    /* op of a and b: NEAP_SIZE_FLOOR_DIV, _MOD, _MIN, _MAX */
    SIZES_REAL,    /* op of a and b */
    SIZES_CONSTANT /* a real one */
} sizes_kind;

typedef struct sizes_term {
    int64_t coefficient;
    int nfactors;
    int32_t factor[SIZES_MOST_FACTORS]; /* atoms, in order, an atom as often as its power says */
} sizes_term;

typedef struct sizes_expr {
    uint8_t kind, op;
    int32_t a, b;
    double constant; /* SIZES_CONSTANT */
    int nterms;      /* of integers */
    sizes_term *terms;
    double at[SIZES_PROBES];
} sizes_expr;

static inline bool sizes_is_real(const sizes_expr *e) {
    return e->kind == SIZES_REAL || e->kind == SIZES_CONSTANT;
}
/* Is it an integer that does not depend on sizes? */
static inline bool sizes_is_constant(const sizes_expr *e) {
    return e->kind == SIZES_CONSTANT ||
           (!sizes_is_real(e) && (e->nterms == 0 || (e->nterms == 1 && !e->terms[0].nfactors)));
}

/* ---- Transcripts ------------------------------------------------------------------------------------------------- */
typedef struct sizes_sized { /* a number of an entry that is a size */
    int32_t at, expr;        /* at: as in neap_size_next */
} sizes_sized;

typedef struct sizes_entry {
    graph_note note; /* its arrays and text belong to the entry; in and out are numbers of values, 0: none */
    int nsized;
    sizes_sized *sized;
    int32_t opened;    /* of a level: the number of the entry that opened it; -1 */
    int32_t made;      /* number of the program that it has made; -1 */
    int32_t *programs; /* numbers of the programs that it was given */
    bool fails;        /* it did when it was recorded, and the caller went on: so it must */
    /* A decision: */
    bool decides, truth;
    int compare; /* NEAP_SIZE_EQUAL, … */
    int32_t left, right;
    const char *site; /* interned in the context */
    void *block;
} sizes_entry;

typedef struct sizes_value {
    neap_node *node;  /* one reference; of a kept transcript NULL unless the value is given */
    int32_t *extents; /* expressions of its axes, 0: as it is; NULL: all of them are */
    bool depends;     /* it may be another array for other sizes */
    bool asked;       /* the caller has seen its extents */
    bool given;       /* the array was there before */
    int16_t op;
    uint8_t dtype, ndim; /* as the caller may have seen them */
    int32_t site;
} sizes_value;

typedef struct sizes_program {
    neap_program *program; /* one reference; of a kept transcript NULL unless it is given */
    bool given;            /* it was there before */
    int noutputs;
    int32_t *outputs; /* the values that are its outputs */
} sizes_program;

struct neap_transcript {
    neap_ctx *ctx;
    int32_t number;                /* by which sizes know it */
    LAZY_VECTOR(sizes_expr) exprs; /* [0] is unused */
    LAZY_VECTOR(char *) names;     /* of declared sizes */
    LAZY_VECTOR(int32_t) symbols;  /* their expressions */
    LAZY_VECTOR(sizes_entry) entries;
    LAZY_VECTOR(sizes_value) values; /* [0] is unused */
    LAZY_VECTOR(sizes_program) programs;
    LAZY_VECTOR(sizes_sized) next; /* for the next note */
    graph_table by_node, by_form;  /* of values; of expressions. Empty once it has ended */
    const char *broken;            /* why it cannot be kept: a call is missing; NULL: none is */
    int64_t nfront;                /* the entries that make what was there before, in front of all others */
    int64_t callbacks;             /* how many were open when it began */
};

/* expr.c. A number below 0 is a status, 0 stands for none. */
int32_t sizes_of(neap_transcript *t, const neap_size *size); /* the expression of a size or number */
int32_t sizes_constant(neap_transcript *t, double value);
int32_t sizes_symbol(neap_transcript *t, int32_t which, double now);
int32_t sizes_extent(neap_transcript *t, int32_t value, int axis, const double *at);
int32_t sizes_compute(neap_transcript *t, int op, int32_t a, int32_t b);
/* The same expression of another transcript, in which those before it are `of`; it is no symbol, and no axis. */
int32_t sizes_translate(neap_transcript *to, const sizes_expr *e, const int32_t *of);
void sizes_text(const neap_transcript *t, int32_t expr, lazy_text *to);
/* The value of an expression, from those of the expressions before it. */
int sizes_value_of(const neap_transcript *t, int32_t expr, const double *values, double *out);
void sizes_give(const neap_transcript *t, int32_t expr, neap_size *out);
void sizes_free_exprs(neap_transcript *t);
/* decide.c: 1, 0, or -1: it depends. */
int sizes_decide(neap_transcript *t, int compare, int32_t a, int32_t b);
enum { SIZES_MOST_TEXT = 4000 }; /* bytes of a text of an expression; longer ones are cut */
/* extents.c */
int sizes_find_extents(neap_transcript *t, const sizes_entry *entry, int64_t from); /* of values from this number on */
/* transcript.c. note NULL: there was no memory for it. */
int sizes_noted(neap_ctx *ctx, int status, graph_note *note);
/* As neap_size_compare, of expressions; `site` is interned. */
int sizes_ask(neap_transcript *t, int compare, int32_t left, int32_t right, const char *site, int *truth);
bool sizes_compare_values(int compare, double a, double b);
/* As neap_size_next, for a note of this kind; `at` counts as in an entry. */
int sizes_announce(neap_transcript *t, const graph_note_kind *kind, int32_t at, int32_t expr);
int sizes_read(neap_ctx *ctx, const neap_node *node);
/* As neap_size_extents, of any node: also of a block of a body that has ended. */
int sizes_see_extents(neap_transcript *t, const neap_node *node, neap_size *out);
int32_t sizes_find_value(const neap_transcript *t, const neap_node *node);
void sizes_decision_text(const neap_transcript *t, const sizes_entry *entry, lazy_text *to);
void sizes_free_entry(sizes_entry *entry);
int sizes_copy_note(sizes_entry *entry, const graph_note *note);
/* save.c: the letter of an integer of a note (graph/note.h); of a row's attributes x, t, s, or A: an axis by name. */
const graph_note_kind *sizes_find_kind(const neap_ctx *ctx, const char *name); /* of those that files have; or NULL */
char sizes_letter(const graph_note_kind *kind, int op, int k);
/* load.c: the transcript that somebody has packed. */
int sizes_unpack(neap_ctx *ctx, const program_sized *from, neap_transcript **out); /* OWNED */

#endif
