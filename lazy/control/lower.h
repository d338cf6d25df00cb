/* lower.h: loops whose turns are machine code: what lower.c finds out about a runner, and body_run.c runs.
 *
 * Code is made of a sequence of loops (lazy/loop/sequence.h). If the bodies are maps from one end to the other, kernels
 * of one size, or of single elements, and copies, the steps of a turn, whatever kernels they were, are one loop in
 * registers, and scratch is not memory any more: its readers take the values that were written (lower_registers.c).
 * Other turns go through memory, as interpreted ones do (lower_memory.c): maps and reductions of rows, branches, and
 * calls of C for the rest.
 *
 *      COLD ──has run for as long as kernels have to──▶ ASKED ──▶ READY, or FAILED
 *        └──────────── it is none of these loops ────▶ NEVER
 */
#ifndef LAZY_CONTROL_LOWER_H
#define LAZY_CONTROL_LOWER_H

#include <stdatomic.h>

#include "lazy/control/body.h"
#include "lazy/native/native.h"

typedef enum lower_from { LOWER_ADDRESS, LOWER_NUMBER, LOWER_CONSTANT, LOWER_BUFFER } lower_from;

typedef struct lower_place { /* a place of the sequence, in the first turn that it runs */
    uint8_t from;
    int32_t which;        /* ADDRESS, NUMBER: of which body */
    body_address address; /* NUMBER: its index; CONSTANT, BUFFER: its offset in bytes */
    int64_t move;         /* bytes in a turn */
    neap_buffer *buffer;  /* BUFFER: of a body inside another one. BORROWED from that */
} lower_place;

typedef struct lower_call { /* what is called */
    const body_item *item;
    int which;       /* the body of the loop, whose numbers a kernel of it takes */
    int64_t scratch; /* where an inner node's memory begins in the scratch */
} lower_call;

typedef struct lower_code {
    native_unit *unit;
    bool in_registers;
    int nplaces;
    lower_place *places; /* through memory those of one set */
    lower_call *calls;
    lazy_scalar *constants; /* the memory that holds them */
    int64_t n;              /* elements */
    int64_t slice;          /* turns between two looks for an interrupt */
    int64_t written;        /* bytes in a turn */
} lower_code;

enum { LOWER_PLACES = 256 }; /* at most */

typedef enum lower_state { LOWER_COLD, LOWER_ASKED, LOWER_READY, LOWER_FAILED, LOWER_NEVER } lower_state;
struct body_code {
    _Atomic int state;
    _Atomic(lower_code *) code; /* from ASKED on, soon after. OWNED */
    const char *never;          /* why it is NEVER */
};

/* The code of a loop that is about to run `turns` turns, if it is there. NULL: they are interpreted. */
const lower_code *lower_now(const lazy_runner *runner, int64_t turns);
/* With the tier NATIVE: waits for the code. */
void lower_begin(const lazy_runner *runner);
void lower_free(body_code *turns);

#endif
