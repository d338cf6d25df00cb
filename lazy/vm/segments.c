/* vm/segments.c: maps that are machine code. All steps over whole chunks that are known at the same time are one
 * *segment*, whose code takes their operands through registers to the results that somebody else reads: a reduction, a
 * store, a later segment. Times are *levels*: a value's is how many reductions and takes stand between it and the
 * operands of the kernel; a segment that would take long to make is continued on the next level.
 */
#include <stdlib.h>
#include <string.h>

#include "lazy/arena.h"
#include "lazy/loop/verify.h"
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
 * found so quickly in a chunk that registers are better left to others; bools are not numbers. */
bool vm_folds(const vm_builder *b, const vm_sink *sink) {
    const vm_program *p = b->p;
    return p->native && p->form == VM_NEST_ROWS && sink->kind == LAZY_SINK_REDUCE && b->rate[sink->value] == VM_EACH &&
           (sink->dtype == NEAP_DTYPE_BOOL || !vm_chooses(sink->op, sink->dtype)) &&
           native_has_fold(sink->op, b->dtype[sink->value]);
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

/* A single cheap map is as fast as its loop. */
static bool is_worth_it(const vm_builder *b) {
    int joined = 0;
    bool computes = false;
    for (int i = 0; i < b->nsteps; i++) {
        joined += is_wide(b, i);
        computes |= is_wide(b, i) && is_function(&b->steps[i].ins);
    }
    return computes || joined > (vm_tier_is_code() ? 0 : 1);
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

/* The place of an operand among the inputs of a segment; a new one at their end. */
static int input_of(vm_builder *b, vm_segment *s, int value) {
    vm_program *p = b->p;
    for (int k = 0; k < s->nin; k++)
        if (p->operands[s->first + k] == value)
            return k;
    p->operands[s->first + s->nin] = value;
    return s->nin++;
}

/* The sinks that fold what the segment of a level makes. */
static int folds_of(vm_builder *b, int level, int32_t *sinks) {
    vm_program *p = b->p;
    int n = 0;
    for (int k = 0; k < p->nsinks && n < NATIVE_FOLDS_MAX; k++) {
        vm_sink *sink = &p->sinks[k];
        int i = sink->value - p->nloads;
        if (i < 0 || !b->joined[i] || b->level[sink->value] != level || !vm_folds(b, sink))
            continue;
        sink->native = true;
        sinks[n++] = k;
    }
    return n;
}

static bool is_part(const vm_builder *b, int i, int level) {
    return b->joined[i] && b->level[b->p->nloads + i] == level;
}

/* Numbers the instructions of a segment, which read what follows the inputs: so these come first. Returns how many. */
static int inputs_of(vm_builder *b, vm_segment *s, int level, int (*ready)(vm_builder *b, int value), int32_t *where) {
    int nins = 0;
    for (int i = 0; i < b->nsteps; i++) {
        lazy_ins *in = &b->steps[i].ins;
        if (!is_part(b, i, level))
            continue;
        where[i] = nins++;
        for (int k = 0; k < in->narg; k++) {
            int j = in->arg[k] - b->p->nloads;
            if (j < 0 || !is_part(b, j, level))
                in->arg[k] = ready(b, in->arg[k]), input_of(b, s, in->arg[k]);
        }
    }
    return nins;
}

bool vm_add_segment(vm_builder *b, int level, int (*ready)(vm_builder *b, int value)) {
    vm_program *p = b->p;
    vm_segment s = {.first = p->noperands};
    int32_t where[LAZY_KERNEL_MAX_INS]; /* by step: its instruction */
    const int nins = inputs_of(b, &s, level, ready, where);
    if (nins == 0)
        return false;
    for (int i = 0; i < b->nsteps; i++) {
        const lazy_ins *in = &b->steps[i].ins;
        if (!is_part(b, i, level))
            continue;
        lazy_ins *made = &b->code[b->ncode++];
        *made = *in;
        for (int k = 0; k < in->narg; k++) {
            int j = in->arg[k] - p->nloads;
            bool inner = j >= 0 && j < b->nsteps && is_part(b, j, level);
            made->arg[k] = inner ? s.nin + where[j] : input_of(b, &s, in->arg[k]);
        }
    }
    int32_t *sinks = p->operands + s.first + s.nin; /* where outputs go first */
    int32_t folded[NATIVE_FOLDS_MAX];
    s.nfold = folds_of(b, level, folded);
    for (int i = 0; i < b->nsteps; i++)
        if (is_part(b, i, level) && read_outside(b, i)) {
            b->stored[b->nstored++] = s.nin + where[i];
            sinks[s.nout++] = p->nloads + i;
        }
    for (int k = 0; k < s.nfold; k++) {
        b->stored[b->nstored++] = s.nin + where[p->sinks[folded[k]].value - p->nloads];
        sinks[s.nout + k] = folded[k];
    }
    p->noperands += s.nin + s.nout + s.nfold;
    b->length[p->nsegments] = nins;
    p->segments[p->nsegments++] = s;
    return true;
}

static bool goes_past(const vm_program *p, int value) {
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].direct && p->sinks[k].value == value)
            return p->stream;
    return false;
}

/* What of a segment is far: operands where they lie, of which nobody has asked memory yet, and results that are made
 * where they are stored. */
static bool find_far(vm_program *p, const vm_segment *s, bool *far) {
    const int32_t *value = p->operands + s->first;
    bool any = false;
    for (int k = 0; k < s->nin; k++) {
        vm_load *load = p->far && value[k] < p->nloads ? &p->loads[value[k]] : NULL;
        far[k] = load && load->in_place && !load->asked;
        if (far[k])
            load->asked = true;
        any |= far[k];
    }
    for (int k = s->nin; k < s->nin + s->nout; k++)
        any |= far[k] = goes_past(p, value[k]);
    return any;
}

/* The loop of a segment (native.h), whose instructions and stored values are these. */
static native_unit *seek(vm_builder *b, const vm_segment *s, lazy_ins *code, int nins, const int32_t *stored) {
    vm_program *p = b->p;
    const int32_t *operands = p->operands + s->first;
    bool far[VM_SEGMENT_MAX] = {0};
    lazy_load *loads;
    lazy_sink *sinks;
    if (!LAZY_ARENA(LAZY_PART(loads, s->nin), LAZY_PART(sinks, s->nout + s->nfold)))
        return NULL;
    lazy_kernel loop = {.ndim = 1, .nkept = s->nfold == 0, .loads = loads, .ins = code, .sinks = sinks};
    loop.nloads = s->nin, loop.nins = nins, loop.nsinks = s->nout + s->nfold;
    for (int k = 0; k < s->nin; k++)
        loads[k] = (lazy_load){.kind = LAZY_LOAD_BUFFER,
                               .dtype = b->dtype[operands[k]],
                               .slot = (int16_t)k,
                               .read.stride[0] = !vm_single(b, operands[k])};
    for (int k = 0; k < loop.nsinks; k++) {
        sinks[k] = (lazy_sink){.kind = LAZY_SINK_STORE, .slot = (int16_t)(s->nin + k), .value = stored[k]};
        sinks[k].dtype = (uint8_t)loop_dtype_of(&loop, stored[k]);
        if (k < s->nout)
            sinks[k].write.stride[0] = 1;
        else
            sinks[k].kind = LAZY_SINK_REDUCE, sinks[k].op = p->sinks[operands[s->nin + k]].op;
    }
    native_body body = {.nloops = 1, .loops = &loop, .whole_rows = !p->carried};
    body.far = find_far(p, s, far) ? far : NULL;
    native_unit *unit = LOOP_VERIFY(&loop, "segments") == 0 ? native_seek(&body, p->simd->name) : NULL;
    free(loads);
    return unit;
}

int vm_want_segments(vm_builder *b) {
    vm_program *p = b->p;
    lazy_ins *code = b->code;
    const int32_t *stored = b->stored;
    for (int k = 0; k < p->nsegments; k++) {
        vm_segment *s = &p->segments[k];
        if (!(s->unit = seek(b, s, code, b->length[k], stored)))
            return NEAP_E_MEMORY;
        code += b->length[k], stored += s->nout + s->nfold;
    }
    return NEAP_OK;
}
