/* vm_join.c: steps that become one. A pair of cheap maps takes one loop that rounds after each, and a sum takes products
 * and squares as they are computed: what lies between is not stored. */
#include <string.h>

#include "lazy/vm_prepare.h"
#include "ops_gen.h"

/* The step that makes a value for one reader alone, and may become a part of that reader; NULL. */
static vm_step *lone_step(vm_builder *b, int value) {
    const vm_program *p = b->p;
    vm_step *s = value < p->nloads ? NULL : &b->steps[value - p->nloads];
    bool lone = s && !s->gone && b->uses[value] == 1 && b->rate[value] == VM_EACH;
    return lone ? s : NULL;
}

/* Makes a pair of the step and the one that computes its operand k, where the instruction set has a loop for it. */
static bool pair_with(vm_builder *b, vm_step *s, int k) {
    const lazy_simd *simd = b->p->simd;
    vm_step *first = lone_step(b, s->ins.arg[k]);
    if (!first || first->pair || first->ins.dtype != s->ins.dtype)
        return false;
    int other = s->ins.narg == 2 ? s->ins.arg[1 - k] : -1;
    for (int i = 0; i < simd->npairs; i++) {
        const lazy_pair *pair = &simd->pairs[i];
        bool commutes = s->ins.op == LAZY_OP_add || s->ins.op == LAZY_OP_multiply;
        if (pair->first != first->ins.op || pair->second != s->ins.op || (pair->position != k && !commutes) ||
            !pair->loops[s->ins.dtype].by_scalars[0])
            continue;
        memcpy(s->ins.arg, first->ins.arg, sizeof s->ins.arg);
        if (other >= 0)
            s->ins.arg[2] = other;
        s->ins.narg = other >= 0 ? 3 : 2;
        s->pair = pair;
        return first->gone = true;
    }
    return false;
}

/* Sums of products and squares are taken as these are computed: the FOLD then reads the operands of the step. */
static void sum_as_computed(vm_builder *b, vm_sink *sink) {
    const vm_program *p = b->p;
    vm_step *s = lone_step(b, sink->value);
    if (!s || p->form == VM_FORM_COLUMNS || p->reduced < LAZY_LANES || vm_single(b, s->ins.arg[0]) ||
        (s->ins.narg == 2 && vm_single(b, s->ins.arg[1])))
        return;
    int first = s->pair ? s->pair->first : s->ins.op, second = s->pair ? s->pair->second : -1;
    for (int i = 0; i < p->simd->nsummed; i++) {
        const lazy_summed *summed = &p->simd->summed[i];
        if (summed->reduction != sink->op || summed->first != first || summed->second != second ||
            !summed->leaves[s->ins.dtype])
            continue;
        sink->summed = summed->leaves[s->ins.dtype];
        s->gone = true;
    }
}

/* A product of a value with itself is its square, which reads it once. */
static void square_products(vm_builder *b) {
    const lazy_loops *squares = b->p->simd->map[LAZY_OP_square];
    for (int i = 0; i < b->nsteps; i++) {
        lazy_ins *ins = &b->steps[i].ins;
        if (b->steps[i].gone || ins->op != LAZY_OP_multiply || ins->arg[0] != ins->arg[1] ||
            !squares[ins->dtype].by_scalars[0])
            continue;
        ins->op = LAZY_OP_square;
        ins->narg = 1;
        b->uses[ins->arg[0]]--;
    }
}

void vm_join(vm_builder *b) {
    vm_program *p = b->p;
    square_products(b);
    for (int i = 0; i < b->nsteps; i++) {
        vm_step *s = &b->steps[i];
        if (!s->gone && s->ins.narg <= 2 && !pair_with(b, s, 0) && s->ins.narg == 2)
            pair_with(b, s, 1);
    }
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].kind == LAZY_SINK_REDUCE)
            sum_as_computed(b, &p->sinks[k]);
}

lazy_loop vm_loop_of(const vm_builder *b, const vm_step *s) {
    const lazy_simd *simd = b->p->simd;
    int scalars = 0, all = (1 << s->ins.narg) - 1;
    for (int k = 0; k < s->ins.narg; k++)
        scalars |= vm_single(b, s->ins.arg[k]) << k;
    if (scalars == all)
        scalars = 0; /* all operands are single elements, and so is the result */
    if (s->pair)
        return s->pair->loops[s->ins.dtype].by_scalars[scalars];
    if (lazy_ops[s->ins.op]->flags & LAZY_OP_CASTS)
        return simd->cast[s->ins.dtype][s->ins.result];
    return simd->map[s->ins.op] ? simd->map[s->ins.op][s->ins.dtype].by_scalars[scalars] : NULL;
}
