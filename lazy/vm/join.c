/* vm/join.c: steps that become one, so that what lies between is not stored. Cheap maps make chains: each takes the
 * result of the one before, which nobody else reads, and a block of elements stays in registers from the first to the
 * last. A sum takes products and squares as they are computed.
 */
#include <string.h>

#include "lazy/vm/prepare.h"
#include "ops_gen.h"

/* The step that makes a value for one reader alone, and may become a part of that reader; NULL. */
static vm_step *lone_step(vm_builder *b, int value) {
    const vm_program *p = b->p;
    vm_step *s = value < p->nloads ? NULL : &b->steps[value - p->nloads];
    bool lone = s && !s->gone && b->uses[value] == 1 && b->rate[value] == VM_EACH;
    return lone ? s : NULL;
}

/* A product of a value with itself is its square, which reads it once. The loops of two rows mean the same here, so
 * this is one of the few tests for an op (tools/check_layers). */
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

/* ---- Sums -------------------------------------------------------------------------------------------------------- */
static const lazy_summed *summed_by(const lazy_simd *simd, int reduction, int first, int second, int dtype) {
    for (int i = 0; i < simd->nsummed; i++) {
        const lazy_summed *s = &simd->summed[i];
        if (s->reduction == reduction && s->first == first && s->second == second && s->leaves[dtype])
            return s;
    }
    return NULL;
}

/* Sums of products and squares are taken as these are computed: the FOLD then reads the operands of the step. */
static void sum_as_computed(vm_builder *b, vm_sink *sink) {
    vm_step *s = lone_step(b, sink->value);
    if (!s || b->p->form == VM_NEST_COLUMNS || b->p->reduced < LAZY_LANES)
        return;
    vm_step *first = s->ins.narg == 1 ? lone_step(b, s->ins.arg[0]) : NULL;
    const lazy_summed *summed = NULL;
    if (first && first->ins.dtype == s->ins.dtype && !vm_single(b, first->ins.arg[0]) &&
        !vm_single(b, first->ins.arg[first->ins.narg - 1]))
        summed = summed_by(b->p->simd, sink->op, first->ins.op, s->ins.op, s->ins.dtype);
    if (!summed) {
        first = NULL;
        summed = summed_by(b->p->simd, sink->op, s->ins.op, -1, s->ins.dtype);
    }
    const lazy_ins *reads = first ? &first->ins : &s->ins;
    if (!summed || vm_single(b, reads->arg[0]) || vm_single(b, reads->arg[reads->narg - 1]))
        return;
    sink->summed = summed->leaves[s->ins.dtype];
    s->gone = true;
    if (first) {
        memcpy(s->ins.arg, reads->arg, sizeof s->ins.arg);
        s->ins.narg = reads->narg;
        first->gone = true;
    }
}

/* ---- Chains ------------------------------------------------------------------------------------------------------ */
static const lazy_codes *codes_of(const vm_builder *b, const lazy_ins *ins) {
    const lazy_codes *codes = b->p->simd->chains->codes[ins->op];
    return codes && codes[ins->dtype].left[0] ? &codes[ins->dtype] : NULL;
}

static bool stored(const vm_program *p, int value) {
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].kind == LAZY_SINK_STORE && p->sinks[k].value == value)
            return true;
    return false;
}

/* Elements from which chains pay: the last block of a chain that is not whole goes through memory. */
enum { CHAIN_MIN = 256 };

/* Puts a step behind the longest chain that makes one of its operands. Alone it is worth a chain if its result goes
 * past the caches, which the end of a chain does by itself. */
static void extend_chain(vm_builder *b, int i) {
    const vm_program *p = b->p;
    vm_step *s = &b->steps[i], *before = NULL;
    if (p->size < CHAIN_MIN || s->gone || b->rate[p->nloads + i] < VM_EACH || !codes_of(b, &s->ins))
        return;
    for (int k = 0; k < s->ins.narg; k++) {
        vm_step *maker = lone_step(b, s->ins.arg[k]);
        if (maker && maker->length > 0 && maker->length < LAZY_CHAIN_MAX && maker->ins.dtype == s->ins.dtype &&
            (!before || maker->length > before->length))
            before = maker, s->side = (uint8_t)k;
    }
    s->length = 1;
    if (before) {
        before->gone = true;
        s->before = (int32_t)(before - b->steps);
        s->length = before->length + 1;
    }
}

void vm_join(vm_builder *b) {
    vm_program *p = b->p;
    square_products(b);
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].kind == LAZY_SINK_REDUCE)
            sum_as_computed(b, &p->sinks[k]);
    for (int i = 0; i < b->nsteps; i++)
        extend_chain(b, i);
    for (int i = 0; i < b->nsteps; i++)
        if (b->steps[i].length == 1 && !b->steps[i].gone && !(p->stream && stored(p, p->nloads + i)))
            b->steps[i].length = 0;
}

int vm_chain_steps(const vm_builder *b, int i, int32_t *steps) {
    int n = b->steps[i].length;
    for (int k = n - 1; k >= 0; k--, i = b->steps[i].before)
        steps[k] = i;
    return n;
}

/* ---- Loops and links --------------------------------------------------------------------------------------------- */
lazy_loop vm_loop_of(const vm_builder *b, const vm_step *s) {
    const lazy_simd *simd = b->p->simd;
    int scalars = 0, all = (1 << s->ins.narg) - 1;
    for (int k = 0; k < s->ins.narg; k++)
        scalars |= vm_single(b, s->ins.arg[k]) << k;
    if (scalars == all)
        scalars = 0; /* all operands are single elements, and so is the result */
    if (lazy_ops[s->ins.op]->flags & LAZY_OP_CASTS)
        return simd->cast[s->ins.dtype][s->ins.result];
    return simd->map[s->ins.op] ? simd->map[s->ins.op][s->ins.dtype].by_scalars[scalars] : NULL;
}

static void link(vm_program *p, lazy_code code, int32_t value, bool vector) {
    p->links[p->nlinks++] = (vm_link){.code = code, .value = value, .vector = vector};
    vm_load *load = vector && value < p->nloads ? &p->loads[value] : NULL;
    if (!load || !p->far || !load->in_place || load->asked)
        return;
    load->asked = true;
    p->links[p->nlinks++] = (vm_link){.code = p->simd->chains->ask, .value = value};
}

void vm_chain_links(vm_builder *b, int i, vm_ins *ins) {
    vm_program *p = b->p;
    int32_t steps[LAZY_CHAIN_MAX];
    int n = vm_chain_steps(b, i, steps);
    ins->width = b->width[p->nloads + i];
    ins->arg[0] = p->nlinks;
    for (int k = 0; k < n; k++) {
        const vm_step *s = &b->steps[steps[k]];
        const lazy_codes *codes = codes_of(b, &s->ins);
        int side = k > 0 ? s->side : s->ins.narg == 2 && vm_single(b, s->ins.arg[0]);
        if (k == 0)
            link(p, p->simd->chains->begin, s->ins.arg[side], true);
        if (s->ins.narg == 1) {
            link(p, codes->left[0], -1, false);
            continue;
        }
        int32_t other = s->ins.arg[1 - side];
        bool single = vm_single(b, other);
        link(p, side == 0 ? codes->left[single] : codes->right[single], other, !single);
    }
    link(p, p->simd->chains->end, ins->out, false);
    ins->arg[1] = p->nlinks - ins->arg[0];
}
