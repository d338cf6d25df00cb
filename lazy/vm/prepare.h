/* vm/prepare.h: what the parts of vm_kernel_prepare share while they make a vm_program: vm/prepare.c, which leads
 * (rates, costs), vm/join.c (steps that become one), vm/order.c (the sequence) and vm/assign.c (sinks and registers).
 */
#ifndef LAZY_VM_PREPARE_H
#define LAZY_VM_PREPARE_H

#include <string.h>

#include "lazy/vm/vm.h"

enum { VM_WIDTHS = LAZY_WIDTHS }; /* classes of registers */

typedef struct vm_step { /* an instruction */
    lazy_ins ins;
    int32_t length; /* of the chain that it ends; 0: in none */
    int32_t before; /* with length > 1: the step whose result it takes */
    uint8_t side;   /* with length > 0: its operand that the chain gives, or begins with */
    bool gone;      /* read by nobody, or a part of another step or of a sink */
} vm_step;

/* Arrays are by value, but `steps` by instruction and `folded` by sink. Spread values follow those of the kernel. */
typedef struct vm_builder {
    vm_program *p;
    vm_step *steps;
    int nsteps;
    uint8_t *rate, *width, *dtype;
    bool *late;      /* depends on a reduction of this kernel */
    bool *flat;      /* the same along the last axis of the walk */
    bool *made;      /* is in the sequence, or needs not be */
    int32_t *uses;   /* by steps and sinks */
    int32_t *spread; /* the value that repeats this one, 0: not yet there */
    int32_t *last;   /* position of the last instruction that reads it; INT32_MAX: a sink does; -1: nobody */
    int32_t *maker;  /* position of the instruction that makes it; -1: none */
    bool *folded;    /* by sink: its FOLD is in the sequence */
    int32_t *level;  /* reductions and takes on the way to it, at most (segments.c) */
    int levels;
    bool *joined;    /* by step: it is part of the segment of its level */
    lazy_ins *code;  /* of segments, one behind the other, each with its own numbers of values */
    int32_t *stored; /* the same: the values that go out, then those that are reduced */
    int32_t *length; /* by segment: its instructions */
    int ncode, nstored;
    int32_t *pool[VM_WIDTHS];
    int npool[VM_WIDTHS];
} vm_builder;

/* Is the value one element in each chunk? */
static inline bool vm_single(const vm_builder *b, int value) {
    const bool vectors = b->p->form == VM_NEST_PACKED || b->p->form == VM_NEST_COLUMNS;
    return b->rate[value] < (vectors ? VM_ROW : VM_EACH);
}

/* Is what a reduction combines always one of both operands? */
static inline bool vm_chooses(int op, int dtype) {
    int map = lazy_combines(op, dtype);
    return map >= 0 && lazy_ops[map]->flags & LAZY_OP_CHOOSES;
}

/* ---- vm/join.c --------------------------------------------------------------------------------------------------- */
/* Joins steps that follow each other into one: chains and sums. Needs the steps as the kernel has them, their rates and
 * uses, and the nest. */
void vm_join(vm_builder *b);
/* The loop of a step; NULL if the instruction set has none. */
lazy_loop vm_loop_of(const vm_builder *b, const vm_step *s);
/* The steps of the chain that step i ends, first to last. */
int vm_chain_steps(const vm_builder *b, int i, int32_t *steps);
/* Writes the links of the chain that step i ends, for a CHAIN. The steps' operands are what they read. */
void vm_chain_links(vm_builder *b, int i, vm_ins *ins);

/* ---- vm/segments.c ----------------------------------------------------------------------------------------------- */
/* Levels of the values, and which steps are parts of segments. false: code of its own would not help the program. */
bool vm_find_segments(vm_builder *b);
/* May a segment fold what the sink reduces, if that is one of its steps? */
bool vm_folds(const vm_builder *b, const vm_sink *sink);
/* The segment of a level becomes the program's next one; its operands are made ready by `ready`. false: the level has
 * none. */
bool vm_add_segment(vm_builder *b, int level, int (*ready)(vm_builder *b, int value));
/* Asks for the code of all segments, once it is known where values are. NEAP_E_MEMORY. */
int vm_want_segments(vm_builder *b);

/* ---- vm/order.c -------------------------------------------------------------------------------------------------- */
/* Writes the sequence p->ins; STORE sinks get the values that are stored for each element. */
int vm_order(vm_builder *build);

/* ---- vm/assign.c ------------------------------------------------------------------------------------------------- */
/* Does a chunk run through memory element by element, wherever in the walk it is? */
bool vm_contiguous(const vm_program *program, const vm_map *map);
/* Decides where sinks' values are computed, and gives each value a place in the scratch. */
int vm_place(vm_builder *build);
/* Do they lead to the same element all along the grid and the walk? */
bool vm_same_place(const vm_program *program, const vm_map *a, const vm_map *b);

#endif
