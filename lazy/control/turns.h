/* turns.h: loops whose turns are machine code: what turns.c finds out about a runner, and body_run.c runs.
 *
 * Code is made of a sequence of loops (lazy/loop/sequence.h). If the bodies are maps from one end to the other, kernels
 * of one size, or of single elements, and copies, the steps of a turn, whatever kernels they were, are one loop in
 * registers, and scratch is not memory any more: who reads it takes the value that was written there (turns_maker.c).
 * Other turns go through memory, as interpreted ones do (turns_stages.c): maps and reductions of rows, branches, and
 * calls of C for the rest.
 *
 *      COLD ──has run for as long as kernels have to──▶ ASKED ──▶ READY, or FAILED
 *        └──────────── it is none of these loops ────▶ NEVER
 */
#ifndef LAZY_TURNS_H
#define LAZY_TURNS_H

#include <stdatomic.h>

#include "lazy/control/body.h"
#include "lazy/native/native.h"

typedef enum turns_from { TURNS_ADDRESS, TURNS_NUMBER, TURNS_CONSTANT, TURNS_BUFFER } turns_from;

typedef struct turns_place { /* a place of the sequence, in the first turn that it runs */
    uint8_t from;
    int32_t which;        /* ADDRESS, NUMBER: of which body */
    body_address address; /* NUMBER: its index; CONSTANT, BUFFER: its offset in bytes */
    int64_t move;         /* bytes in a turn */
    neap_buffer *buffer;  /* BUFFER: of a body inside another one. BORROWED from that */
} turns_place;

typedef struct turns_call { /* what is called */
    const body_item *item;
    int which;       /* the body of the loop, whose numbers a kernel of it takes */
    int64_t scratch; /* where an inner node's memory begins in the scratch */
} turns_call;

typedef struct turns_code {
    native_unit *unit;
    bool in_registers;
    int nplaces;
    turns_place *places; /* through memory those of one set */
    turns_call *calls;
    lazy_scalar *constants; /* the memory that holds them */
    int64_t n;              /* elements */
    int64_t slice;          /* turns between two looks for an interrupt */
    int64_t written;        /* bytes in a turn */
} turns_code;

enum { TURNS_PLACES = 256 }; /* at most */

typedef enum turns_state { TURNS_COLD, TURNS_ASKED, TURNS_READY, TURNS_FAILED, TURNS_NEVER } turns_state;
struct body_turns {
    _Atomic int state;
    _Atomic(turns_code *) code; /* from ASKED on, soon after. OWNED */
    const char *never;          /* why it is NEVER */
};

/* The code of a loop that is about to run `turns` turns, if it is there. NULL: they are interpreted. */
const turns_code *turns_now(const lazy_runner *runner, int64_t turns);
/* With the tier NATIVE: waits for the code. */
void turns_begin(const lazy_runner *runner);
void turns_free(body_turns *turns);

#endif
