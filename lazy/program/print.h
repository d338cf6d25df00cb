/* print.h: the printed form of nodes, which programs and np.explain share.
 *
 *      d: f32[2,3] = multiply c 2        name, type, op[attributes], operands
 *
 * A node has a name, a letter, while a traversal has marked it (node->mark == ctx->walk.epoch) and numbered it
 * (node->index); numbers stand for themselves, and inputs of a program may have names of their own. A lazy_print
 * collects text; once something failed, it ignores what follows.
 */
#ifndef LAZY_PRINT_H
#define LAZY_PRINT_H

#include "lazy/graph/graph.h"

typedef struct lazy_reserved { /* names that no value gets, as sizes have them. BORROWED */
    int64_t n;
    const char *const *at;
} lazy_reserved;

typedef struct lazy_print { /* all zero: empty */
    lazy_text text;
    lazy_reserved reserved;
    const neap_program *named; /* whose inputs go by their own names; NULL: all go by letters */
    bool sites;                /* with the script line behind each op */
    int32_t nshared;           /* programs inside others that have got a name, since they stand there more than once */
    int status;
} lazy_print;

#define lazy_say(print, ...)                                                                                           \
    ((void)((print)->status = (print)->status ? (print)->status : graph_text_addf(&(print)->text, __VA_ARGS__)))

/* A value of the graph's own that needs no name: 2 in `multiply c 2`. */
bool program_is_literal(const neap_node *node);
void program_say_operand(lazy_print *print, const neap_node *node);
/* "d: f32[2,3]" */
void program_say_typed(lazy_print *print, const neap_node *node);
/* "multiply c 2", "sum[axes=1 keepdims] c". Not of a node that was computed: its inputs may be gone. */
void program_say_call(lazy_print *print, const neap_node *node);
/* "#3", a token of the common order; "log#3", of that of a kind (listing.h). */
void program_say_token(lazy_print *print, int order, int64_t number);
/* As neap_program_text. */
int program_text(neap_program *program, const lazy_reserved *reserved, int lines, char *text, size_t capacity,
                 size_t *bytes);

/* The printed form line by line: inputs, then ops and effects without the programs that they run, then "return …". */
typedef struct program_line {
    size_t from, to;           /* where it stands in the text, without an end of line */
    neap_node *node;           /* an input or an op. BORROWED */
    const lazy_effect *effect; /* a print. BORROWED. Both are NULL: the outputs */
    int64_t first, n;          /* what it shows the values of, in `values` */
} program_line;
typedef struct program_lines {
    LAZY_VECTOR(program_line) lines;
    lazy_nodes values; /* BORROWED */
    lazy_text text;
} program_lines;
/* Appends to what is empty; also after a failure there is something to free. */
int program_list_lines(const neap_program *program, program_lines *out);
void program_lines_free(program_lines *lines);

/* A text as the inside of a quoted string of Graphviz (program/dot.c). */
void program_say_escaped(lazy_print *print, const char *text);
/* Gives out the text as public functions do (neap_array_text), and frees it. Returns its status. */
int program_print_finish(lazy_print *print, char *text, size_t capacity, size_t *bytes);

#endif
