/* vm/segments.c: maps that are machine code. All steps over whole chunks that are known at the same time are one
 * *segment*, whose code takes their operands through registers to the results that somebody else reads: a reduction, a
 * store, a later segment. Times are *levels*: a value's is how many reductions and takes stand between it and the
 * operands of the kernel; a segment that would take long to make is continued on the next level.
 */
#include <stdlib.h>
#include <string.h>

#include "lazy/vm/prepare.h"

static int level_of(const vm_builder *b, int value) {
    const vm_program *p = b->p;
    if (value >= p->nloads || p->loads[value].kind != LAZY_LOAD_RESULT || !b->late[value])
        return b->level[value];
    return level_of(b, p->sinks[p->loads[value].slot].value) + 1;
}

static bool is_function(const lazy_ins *ins) {
    return lazy_ops[ins->op]->ulp > 0;
}

/* Of rows that lie in one piece, which are the chunks or cut into some of these. The greatest and smallest numbers are
 * found so quickly in a chunk that registers are better left to others. */
bool vm_folds(const vm_builder *b, const vm_sink *sink) {
    const vm_program *p = b->p;
    return p->native && p->form == VM_NEST_ROWS && sink->kind == LAZY_SINK_REDUCE && b->rate[sink->value] == VM_EACH &&
           !vm_chooses(sink->op) && native_has_fold(sink->op, b->dtype[sink->value]);
}

/* Is step i a part of a segment that runs over elements? Others are one element for each row. */
static bool is_wide(const vm_builder *b, int i) {
    return b->joined[i] && b->rate[b->p->nloads + i] == VM_EACH;
}

/* Is the value made in each chunk: over its elements, or of a row that the chunk is, from what was reduced of it? */
static bool in_chunk(const vm_builder *b, int i) {
    const vm_program *p = b->p;
    int value = p->nloads + i;
    bool of_row = p->form == VM_NEST_ROWS && !p->carried && b->late[value];
    return !b->steps[i].gone && (b->rate[value] == VM_EACH || of_row);
}

/* A single cheap map is as fast as its loop. Where operands come from memory, chains ask for these early and write past
 * the caches, which cheap maps gain more from than from registers: 8 ops over 80 MB took 0.4 times as long as here. */
static bool is_worth_it(const vm_builder *b) {
    int joined = 0;
    bool computes = false;
    for (int i = 0; i < b->nsteps; i++) {
        joined += is_wide(b, i);
        computes |= is_wide(b, i) && is_function(&b->steps[i].ins);
    }
    return vm_tier_is_code() ? joined > 0 : computes || (joined > 1 && !b->p->far);
}

/* What making the code of a segment may take, in cheap maps: with functions it takes about as long as the square. */
enum { SEGMENT_WEIGHT = 256, FUNCTION_WEIGHT = 4 };

/* The first level from `level` on whose segment has room for step i. */
static int level_with_room(const vm_builder *b, int i, int level) {
    for (;; level++) {
        int weight = 0;
        for (int j = 0; j < i; j++)
            if (b->joined[j] && b->level[b->p->nloads + j] == level)
                weight += is_function(&b->steps[j].ins) ? FUNCTION_WEIGHT : 1;
        if (weight < SEGMENT_WEIGHT)
            return level;
    }
}

/* Takes single elements out of levels that have nothing else in their segments. */
static void leave_single(vm_builder *b) {
    const vm_program *p = b->p;
    for (int level = 0; level < b->levels; level++) {
        bool wide = false;
        for (int i = 0; i < b->nsteps; i++)
            wide |= is_wide(b, i) && b->level[p->nloads + i] == level;
        for (int i = 0; i < b->nsteps && !wide; i++)
            b->joined[i] &= b->level[p->nloads + i] != level;
    }
}

bool vm_find_segments(vm_builder *b) {
    vm_program *p = b->p;
    for (int i = 0; i < b->nsteps; i++) {
        const lazy_ins *ins = &b->steps[i].ins;
        bool take = lazy_ops[ins->op]->kind == LAZY_GATHER;
        int value = p->nloads + i, level = 0;
        for (int k = 0; k < ins->narg; k++)
            level = level_of(b, ins->arg[k]) > level ? level_of(b, ins->arg[k]) : level;
        b->joined[i] = in_chunk(b, i) && !take && native_has(ins->op, ins->dtype, ins->result);
        bool loop = in_chunk(b, i) && !b->joined[i]; /* it runs before its level's segment */
        b->level[value] = b->joined[i] ? level_with_room(b, i, level) : level + (take || loop);
        b->levels = b->level[value] + 1 > b->levels ? b->level[value] + 1 : b->levels;
        if (is_wide(b, i)) /* as measured: functions keep most of their time, cheap maps that of their loads, stores */
            p->cost -= vm_ins_cost(ins->op, ins->dtype) * (is_function(ins) ? 0.15 : 0.5);
    }
    leave_single(b);
    return is_worth_it(b);
}

static bool read_outside(const vm_builder *b, int i) {
    const vm_program *p = b->p;
    int value = p->nloads + i;
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].value == value && !p->sinks[k].native)
            return true;
    for (int j = i + 1; j < b->nsteps; j++) {
        const vm_step *s = &b->steps[j];
        bool apart = !b->joined[j] || b->level[p->nloads + j] != b->level[value];
        bool live = !s->gone;
        for (int k = 0; k < p->nsinks; k++) /* what is summed as it is computed */
            live |= p->sinks[k].summed && p->sinks[k].value == p->nloads + j;
        for (int k = 0; k < s->ins.narg && apart && live; k++)
            if (s->ins.arg[k] == value)
                return true;
    }
    return false;
}

/* The place of an operand among the inputs; a new one at their end. */
static int input_of(vm_builder *b, vm_segment *s, native_input *inputs, int value) {
    vm_program *p = b->p;
    for (int k = 0; k < s->nin; k++)
        if (p->operands[s->first + k] == value)
            return k;
    p->operands[s->first + s->nin] = value;
    inputs[s->nin] = (native_input){.dtype = b->dtype[value], .vector = !vm_single(b, value)};
    return s->nin++;
}

/* The folds of what the segment of a level makes, and their sinks; the result of step i is value nin + where[i]. */
static int folds_of(vm_builder *b, int level, int nin, const int32_t *where, native_fold *folds, int32_t *sinks) {
    vm_program *p = b->p;
    int n = 0;
    for (int k = 0; k < p->nsinks && n < NATIVE_FOLDS_MAX; k++) {
        vm_sink *sink = &p->sinks[k];
        int i = sink->value - p->nloads;
        if (i < 0 || !b->joined[i] || b->level[sink->value] != level || !vm_folds(b, sink))
            continue;
        sink->native = true;
        folds[n] = (native_fold){.op = sink->op, .dtype = b->dtype[sink->value], .value = nin + where[i]};
        sinks[n++] = k;
    }
    return n;
}

int vm_segment_of(vm_builder *b, int level, int (*ready)(vm_builder *b, int value), vm_segment *out) {
    vm_program *p = b->p;
    vm_segment s = {.first = p->noperands};
    native_input inputs[3 * LAZY_KERNEL_MAX_INS];
    native_ins ins[LAZY_KERNEL_MAX_INS];
    native_fold folds[NATIVE_FOLDS_MAX];
    int32_t sinks[NATIVE_FOLDS_MAX];
    int32_t where[LAZY_KERNEL_MAX_INS], outputs[LAZY_KERNEL_MAX_INS]; /* by step: its instruction */
    int nins = 0;
    for (int i = 0; i < b->nsteps; i++) { /* inputs first: they number the values */
        const lazy_ins *in = &b->steps[i].ins;
        if (!b->joined[i] || b->level[p->nloads + i] != level)
            continue;
        where[i] = nins++;
        for (int k = 0; k < in->narg; k++) {
            int a = in->arg[k], j = a - p->nloads;
            if (j < 0 || !b->joined[j] || b->level[a] != level)
                b->steps[i].ins.arg[k] = ready(b, a), input_of(b, &s, inputs, b->steps[i].ins.arg[k]);
        }
    }
    if (nins == 0) {
        *out = s;
        return NEAP_OK;
    }
    for (int i = 0; i < b->nsteps; i++) {
        const lazy_ins *in = &b->steps[i].ins;
        if (!b->joined[i] || b->level[p->nloads + i] != level)
            continue;
        native_ins *made = &ins[where[i]];
        *made = (native_ins){.op = in->op, .dtype = in->dtype, .result = in->result, .narg = in->narg};
        for (int k = 0; k < in->narg; k++) {
            int a = in->arg[k], j = a - p->nloads;
            bool inner = j >= 0 && j < b->nsteps && b->joined[j] && b->level[a] == level;
            made->arg[k] = inner ? s.nin + where[j] : input_of(b, &s, inputs, a);
        }
    }
    s.nfold = folds_of(b, level, s.nin, where, folds, sinks);
    for (int i = 0; i < b->nsteps; i++)
        if (b->joined[i] && b->level[p->nloads + i] == level && read_outside(b, i)) {
            outputs[s.nout] = s.nin + where[i];
            p->operands[s.first + s.nin + s.nout++] = p->nloads + i;
        }
    memcpy(p->operands + s.first + s.nin + s.nout, sinks, (size_t)s.nfold * sizeof *sinks);
    native_body body = {s.nin,         nins, s.nout, inputs, ins, outputs, .nfolds = s.nfold, .whole_rows = !p->carried,
                        .folds = folds};
    s.unit = native_want(&body, p->simd->name);
    if (!s.unit)
        return NEAP_E_MEMORY;
    p->noperands += s.nin + s.nout + s.nfold;
    *out = s;
    return NEAP_OK;
}
