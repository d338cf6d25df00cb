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
    for (int i = 0; i < simd->folds->nsummed; i++) {
        const lazy_summed *s = &simd->folds->summed[i];
        if (s->reduction == reduction && s->first == first && s->second == second && s->leaves[dtype])
            return s;
    }
    return NULL;
}

static bool are_loads(const vm_program *p, const lazy_ins *ins) {
    bool loads = true;
    for (int k = 0; k < ins->narg; k++)
        loads &= ins->arg[k] < p->nloads;
    return loads;
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
    if (vm_folds(b, sink) && !(b->p->carried && are_loads(b->p, reads))) /* by the segment that makes the operands */
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
static bool is_cast(const lazy_ins *ins) {
    return lazy_ops[ins->op]->flags & LAZY_OP_CASTS;
}

/* The dtype of the chain that a step can be part of. */
static int chain_dtype(const lazy_ins *ins) {
    return is_cast(ins) ? ins->result : ins->dtype;
}

/* The code of a map whose operand `side` the chain gives; NULL: there is none. */
static lazy_code code_of(const vm_builder *b, const lazy_ins *ins, int side) {
    const lazy_codes *codes = b->p->simd->chains->codes[ins->op];
    bool single[2] = {false, false};
    for (int k = 0, n = 0; k < ins->narg; k++)
        if (k != side)
            single[n++] = vm_single(b, ins->arg[k]);
    return codes ? codes[ins->dtype].by[side][single[0]][single[1]] : NULL;
}

/* How a chain of a dtype begins with this value; NULL: it cannot. */
static lazy_code begin_of(const vm_builder *b, int value, int dtype) {
    const lazy_chains *chains = b->p->simd->chains;
    return vm_single(b, value)        ? NULL
           : b->dtype[value] == dtype ? chains->begin
                                      : chains->begin_as[b->dtype[value]][dtype];
}

/* The operand with which a chain begins whose first step this is: one of the chain's dtype, if it can be. -1: none. */
static int first_side(const vm_builder *b, const lazy_ins *ins) {
    int side = -1, dtype = chain_dtype(ins);
    for (int k = ins->narg - 1; k >= 0; k--)
        if (begin_of(b, ins->arg[k], dtype) && (is_cast(ins) || code_of(b, ins, k)) &&
            (side < 0 || b->dtype[ins->arg[side]] != dtype || b->dtype[ins->arg[k]] == dtype))
            side = k;
    return side;
}

static bool stored(const vm_program *p, int value) {
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].kind == LAZY_SINK_STORE && p->sinks[k].value == value)
            return true;
    return false;
}

/* Elements from which chains pay: the last block of a chain that is not whole goes through memory. */
enum { CHAIN_MIN = 256 };

/* Puts a step behind the chain that makes one of its operands, the newest of them: a chain runs where it ends, and
 * until then registers hold all that it takes on the way. Alone a step is worth a chain if its result goes past the
 * caches, which the end of a chain does by itself. */
static void extend_chain(vm_builder *b, int i) {
    const vm_program *p = b->p;
    vm_step *s = &b->steps[i], *before = NULL;
    if (p->size < CHAIN_MIN || s->gone || b->rate[p->nloads + i] < VM_EACH)
        return;
    for (int k = 0; k < s->ins.narg; k++) {
        vm_step *maker = lone_step(b, s->ins.arg[k]);
        if (maker && maker->length > 0 && maker->length < LAZY_CHAIN_MAX &&
            chain_dtype(&maker->ins) == chain_dtype(&s->ins) && (is_cast(&s->ins) || code_of(b, &s->ins, k)) &&
            (!before || maker > before))
            before = maker, s->side = (uint8_t)k;
    }
    int first = before ? s->side : first_side(b, &s->ins);
    if (first < 0)
        return;
    s->side = (uint8_t)first;
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
    for (int i = 0; i < b->nsteps && !p->native; i++)
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

/* How much narrower an element in memory is than one of the chain. */
static int narrower(const vm_builder *b, int value, int dtype) {
    return __builtin_ctz((unsigned)neap_dtype_bytes(dtype)) - __builtin_ctz(b->width[value]);
}

static void add_link(vm_program *p, lazy_code code, int32_t value, bool vector, int narrower) {
    p->links[p->nlinks++] = (vm_link){.code = code, .value = value, .vector = vector, .narrower = (uint8_t)narrower};
}

/* Memory is asked for what a link reads in place, if nothing has asked for it. Bytes come by the line. */
static void ask(vm_program *p, int32_t value, bool vector, int narrower) {
    vm_load *load = vector && narrower == 0 && value < p->nloads ? &p->loads[value] : NULL;
    if (!load || !p->far || !load->in_place || load->asked)
        return;
    load->asked = true;
    add_link(p, p->simd->chains->ask, value, false, 0);
}

/* The links of a map: one for each operand that the chain does not give. */
static void link_map(const vm_builder *b, const lazy_ins *ins, int side) {
    vm_program *p = b->p;
    lazy_code code = code_of(b, ins, side);
    if (ins->narg == 1)
        add_link(p, code, -1, false, 0);
    for (int k = 0; k < ins->narg; k++)
        if (k != side) {
            add_link(p, code, ins->arg[k], !vm_single(b, ins->arg[k]), narrower(b, ins->arg[k], ins->dtype));
            code = NULL;
        }
    for (int k = 0; k < ins->narg; k++)
        if (k != side)
            ask(p, ins->arg[k], !vm_single(b, ins->arg[k]), narrower(b, ins->arg[k], ins->dtype));
}

void vm_chain_links(vm_builder *b, int i, vm_ins *ins) {
    vm_program *p = b->p;
    int32_t steps[LAZY_CHAIN_MAX];
    int n = vm_chain_steps(b, i, steps), dtype = chain_dtype(&b->steps[i].ins);
    const lazy_chains *chains = p->simd->chains;
    ins->width = (uint8_t)neap_dtype_bytes(dtype);
    ins->arg[0] = p->nlinks;
    for (int k = 0; k < n; k++) {
        const vm_step *s = &b->steps[steps[k]];
        int32_t value = s->ins.arg[s->side];
        if (k == 0) {
            add_link(p, begin_of(b, value, dtype), value, true, narrower(b, value, dtype));
            ask(p, value, true, narrower(b, value, dtype));
        }
        if (!is_cast(&s->ins))
            link_map(b, &s->ins, s->side);
    }
    int less = narrower(b, ins->out, dtype);
    add_link(p, b->dtype[ins->out] == dtype ? chains->end : chains->end_bool[ins->width], ins->out, false, less);
    ins->arg[1] = p->nlinks - ins->arg[0];
}
