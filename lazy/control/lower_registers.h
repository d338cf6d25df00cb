/* lower_registers.h: what makes one loop in registers of the bodies of a loop. Private to lower_registers.c, which
 * leads, to lower_scalars.c, lower_select.c and lower.c.
 *
 * Steps are gone through in order. What a place in memory *holds* is known by its address: the value that was stored
 * there, and of how many elements. Other places do not change while the loop runs, or move with the turns: loads read
 * them.
 *
 * The branches of a node are all gone through, if they are few maps, and what they give is selected by the index.
 *
 * First all kernels are taken to have one size, or single elements. If that does not do, elements are taken *apart*:
 * each element of an array is a value of its own, and each map is done for each of them. Then turns may read arrays as
 * they like, reduce them, and put them together from pieces, if all of it are few maps.
 */
#ifndef LAZY_LOWER_REGISTERS_H
#define LAZY_LOWER_REGISTERS_H

#include "lazy/control/lower_parts.h"

typedef struct held { /* what lies at a place */
    lower_place place;
    int32_t value;
    int64_t size; /* elements */
} held;

typedef struct left { /* what a turn leaves in memory */
    lower_place place;
    int32_t value;
    bool wide;
} left;

typedef struct carried { /* a load that is another value in the next turn: a carry, or an element of one */
    int32_t carry;
    int64_t offset, size; /* bytes; elements */
} carried;

typedef struct lower_registers {
    lower_parts parts; /* without sinks */
    bool apart;
    const lower_scope *in;        /* the body that is gone through */
    int64_t n;                    /* elements of what has more than one */
    int64_t time;                 /* what a turn takes of which elements are taken apart */
    bool computes;                /* there are functions */
    int32_t condition, head;      /* what says whether there is another turn, and the first instructions, which do */
    LAZY_VECTOR(carried) carries; /* the first loads */
    LAZY_VECTOR(held) held;
    LAZY_VECTOR(left) left;
} lower_registers;

/* Goes through the bodies. false: the loop has no such code, or there is no memory, as m->parts.why says. */
bool registers_run(lower_registers *m);
void registers_free(lower_registers *m);

/* ---- For lower_scalars.c ----------------------------------------------------------------------------------------- */
/* Where pointer `slot` of an item leads to, some bytes on. */
static inline lower_place registers_place(const lower_registers *m, const body_item *item, int slot, int64_t offset) {
    return lower_scope_pointer(m->parts.runner, m->in, item, slot, offset);
}
/* What is read there: one element, or `size`. */
int32_t registers_read(lower_registers *m, lower_place place, int dtype, int64_t size);
/* `offset`: of what is written in all. */
bool registers_write(lower_registers *m, lower_place place, int64_t offset, int32_t value, int64_t size);
/* A SCALAR load. */
int32_t registers_number(lower_registers *m, const body_item *item, const lazy_load *load);
/* The numbers of an IOTA, as vm_iota writes them. */
int32_t registers_iota(lower_registers *m, int dtype, int64_t first, int naxes, const int64_t *shape,
                       const int64_t *stride, int64_t n);
/* A map of these operands. */
int32_t registers_map(lower_registers *m, int op, int dtype, int result, int narg, const int32_t *arg);
static inline int64_t registers_size(const lazy_kernel *kernel) {
    return loop_elements(kernel->shape, 0, kernel->ndim);
}

/* Goes through a body. */
bool registers_add_body(lower_registers *m, const lower_scope *in);

/* lower_select.c: a node with branches. */
bool registers_add_branches(lower_registers *m, const body_item *item);
/* lower_scalars.c: a kernel, element by element. */
bool registers_add_apart(lower_registers *m, const body_item *item);

#endif
