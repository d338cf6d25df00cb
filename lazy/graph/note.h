/* note.h: what the library was asked to record, as its public functions tell an open transcript (lazy/sizes).
 *
 * A public function that records something notes it when it is done: its operands and results, and all numbers that it
 * was given. A kind of notes has the function that asks for the same again. What a function decides by itself is no
 * part of a note: it decides again.
 */
#ifndef LAZY_NOTE_H
#define LAZY_NOTE_H

#include "lazy/graph/context.h"
#include "lazy/programs.h"

typedef struct graph_note graph_note;

/* Which shapes the results have, as far as this is known without asking. */
enum {
    GRAPH_NOTE_INFERRED, /* what the rules of the row say */
    GRAPH_NOTE_INPUT,    /* the integers from GRAPH_NOTE_SHAPE on */
    GRAPH_NOTE_LAST,     /* those of the last operands */
    GRAPH_NOTE_INNER,    /* that of its operand without the first axis */
    GRAPH_NOTE_OUTPUTS,  /* those of the outputs of its first program, maybe with another axis in front */
    GRAPH_NOTE_FIXED,    /* the same for all sizes */
    GRAPH_NOTE_UNKNOWN
};
enum { GRAPH_NOTE_SHAPE = 4 };

/* What a note of some kind has in a file (lazy/sizes/save.c), which nobody believes. What its numbers have to be for
 * each other, its function checks when it asks again. */
enum { GRAPH_NOTE_ANY = -1, GRAPH_NOTE_TAPE = 1, GRAPH_NOTE_TRACE = 2 };

typedef struct graph_note_form {
    /* A letter for each integer, the last of many with a '*': x, which may be a size; n, which may not; a, of the row's
     * attributes; t a dtype, or -1; d a device, or -1; s a sharding; b the body that is open from here on
     * (graph_note_body); k a kind of effects; o a stream. NULL: no file has it. */
    const char *ints;
    int8_t nin, nout, nprograms; /* GRAPH_NOTE_ANY: any number */
    uint8_t level;               /* the kinds of levels that it may belong to; 0: it does to none */
    bool op;                     /* it has a row */
    bool misses;                 /* operands may be 0 */
    bool says;                   /* its text is kept */
    bool calls;                  /* it holds a callback */
} graph_note_form;

typedef struct graph_note_kind {
    const char *name;
    /* Asks again for what the note says, on its operands: fills in its results, and its level or program if it makes
     * one. NULL: nobody can, and the note is refused. */
    int (*play)(neap_ctx *ctx, graph_note *note);
    uint8_t shapes; /* GRAPH_NOTE_… */
    bool opens;     /* a level, which the note names */
    bool finds;     /* its results were there before */
    graph_note_form form;
    /* Takes, and gives up, a reference to what the note holds. NULL: it holds nothing. */
    void (*hold)(void *held);
    void (*release)(void *held);
} graph_note_kind;

/* BORROWED from the function that notes it. */
struct graph_note {
    const graph_note_kind *kind;
    int32_t op;    /* a row, of kinds that have one */
    int32_t level; /* the level that it opens or belongs to; of others -1 */
    double number;
    int32_t nin, nout, nints, nprograms;
    const int32_t *in; /* ids; 0: none */
    int32_t *out;
    const int64_t *ints;
    neap_program *const *programs;
    neap_program *made;
    const char *text;
    size_t bytes; /* of the text */
    void *held;   /* what the kind needs besides */
};

/* The body of a np.shard_map as one integer: its mesh and the axes that are manual in it; 0: none. */
static inline int64_t graph_note_body(int32_t mesh, uint32_t manual) {
    return manual ? (int64_t)mesh << 32 | manual : 0;
}

extern const graph_note_kind graph_note_op; /* record.c: an op on operands, with attributes */
/* Further kinds, for the table of those that files may have (context/context.c). */
extern const graph_note_kind graph_note_number, graph_note_level_end, graph_note_tape_begin, graph_note_tape_alias,
    graph_note_trace_begin;
extern const graph_note_kind program_note_input, program_note_end, program_note_captured, program_note_on,
    program_note_replay;
extern const graph_note_kind derive_note_gradient, derive_note_tangent, derive_note_batch;
extern const graph_note_kind effect_note_print, effect_note_callback, control_note, quick_note_number, quick_note_part;

/* The status of a public function, which has noted what it did. A macro: where no transcript is open, no note is filled
 * in, which would take a tenth of the time that recording an op takes. */
#define graph_noted(ctx, status, ...) ((ctx)->transcript ? (ctx)->hooks->noted((ctx), (status), __VA_ARGS__) : (status))
/* The same where there was no memory for the note. */
#define graph_unnoted(ctx, status) ((ctx)->transcript ? (ctx)->hooks->noted((ctx), (status), NULL) : (status))

/* May the host read the node's value? Not while sizes are declared that it depends on: it is for those of now. */
static inline int graph_may_read(neap_ctx *ctx, const neap_node *node) {
    return ctx->transcript ? ctx->hooks->read(ctx, node) : 0;
}

#endif
