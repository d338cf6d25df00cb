/* vm_prepare.h: what the parts of lazy_kernel_prepare share: vm_prepare.c, which leads, and vm_join.c. */
#ifndef LAZY_VM_PREPARE_H
#define LAZY_VM_PREPARE_H

#include "lazy/vm.h"

enum { VM_WIDTHS = 3 }; /* classes of registers: 1, 4 and 8 bytes an element */

typedef struct vm_step { /* an instruction, or a pair of instructions that became one */
    lazy_ins ins;
    const lazy_pair *pair;
    bool gone; /* a part of another step, or of a sink */
} vm_step;

typedef struct vm_builder { /* arrays by value, but steps by instruction, order by position */
    vm_program *p;
    const lazy_kernel *kernel;
    vm_step *steps;
    uint8_t *rate, *width;
    int32_t *uses;
    int32_t *last;  /* position of the last instruction that reads it; INT32_MAX: a sink does; -1: nobody */
    int32_t *first; /* position of the first one that reads it */
    int32_t *made;  /* position of the instruction that makes it; -1: a load */
    int32_t *order; /* instruction at a position */
    int32_t *pool[VM_WIDTHS];
    int npool[VM_WIDTHS];
} vm_builder;

/* ---- vm_join.c --------------------------------------------------------------------------------------------------- */
/* Makes one step of several that follow each other, where the instruction set has a loop for it. Wants the steps as the
 * kernel has them, rates, uses, and the form. */
void vm_join(vm_builder *b);
/* The loop of a step; NULL if the instruction set has none. */
lazy_loop vm_loop_of(const vm_builder *b, const vm_step *s);

#endif
