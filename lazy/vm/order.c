/* vm/order.c: the sequence of a program (vm.h has its parts). Instructions keep the order of the kernel inside a part;
 * what an instruction needs besides stands right before it: loads are gathered, values of a lower rate spread. A FOLD
 * stands right behind what makes its operand, so its result is there for whatever follows.
 */
#include "lazy/vm/prepare.h"

/* How a value is wanted: as it is, over the chunk unless it is a single element, over the chunk. */
enum { ANY, WIDE_OR_SINGLE, WIDE };

static vm_ins *emit(vm_builder *b, int what, int out, bool by_row) {
    vm_program *p = b->p;
    if (what < VM_FOLD)
        b->maker[out] = p->nins;
    vm_ins *ins = &p->ins[p->nins++];
    *ins = (vm_ins){.what = (uint8_t)what, .out = out, .by_row = by_row};
    return ins;
}

static bool is_gathered(const vm_program *p, int value) {
    return value < p->nloads && (p->loads[value].kind == LAZY_LOAD_BUFFER || p->loads[value].kind == LAZY_LOAD_IOTA) &&
           !p->loads[value].in_place;
}

/* A new value: `value`, of a lower rate, at this one. */
static int widened(vm_builder *b, int value, int rate) {
    int v = b->p->nvalues++;
    b->rate[v] = (uint8_t)rate, b->width[v] = b->width[value], b->dtype[v] = b->dtype[value];
    vm_ins *ins = emit(b, vm_single(b, value) ? VM_FILL : VM_BROADCAST, v, rate == VM_ROW);
    ins->arg[0] = value;
    ins->width = b->width[value];
    return v;
}

/* The value to read for `value`, in the sequence from here on. */
static int ready_operand(vm_builder *b, int value, int wanted) {
    bool single = vm_single(b, value);
    if (!b->made[value] && is_gathered(b->p, value) && !single)
        emit(b, VM_GATHER, value, b->rate[value] == VM_ROW);
    b->made[value] = true;
    if (b->rate[value] == VM_EACH || wanted == ANY || (wanted == WIDE_OR_SINGLE && single))
        return value;
    if (b->spread[value] == 0)
        b->spread[value] = widened(b, value, VM_EACH);
    return b->spread[value];
}

/* ---- Reductions -------------------------------------------------------------------------------------------------- */
/* Is the value a load that only this reduction reads, and whose columns lie side by side? */
static bool in_rows(const vm_builder *b, const vm_sink *sink) {
    const vm_program *p = b->p;
    const vm_load *load = sink->value < p->nloads ? &p->loads[sink->value] : NULL;
    return p->form == VM_NEST_COLUMNS && load && load->kind == LAZY_LOAD_BUFFER && load->rate == VM_EACH &&
           !load->in_place && b->uses[sink->value] == 1 && p->nwalk == 2 && load->map.walk[1] == 1;
}

static void fold(vm_builder *b, int k) {
    vm_sink *sink = &b->p->sinks[k];
    if (sink->native) {
        if (b->p->carried)
            emit(b, VM_FOLD_LEAVES, k, false);
        b->folded[k] = true;
        return;
    }
    if (in_rows(b, sink)) {
        emit(b, VM_FOLD_LOAD, k, false)->arg[0] = sink->value;
        b->folded[k] = true;
        return;
    }
    const lazy_ins *step = sink->summed ? &b->steps[sink->value - b->p->nloads].ins : NULL;
    int first = ready_operand(b, step ? step->arg[0] : sink->value, WIDE);
    int second = step ? ready_operand(b, step->arg[step->narg - 1], WIDE) : first;
    vm_ins *ins = emit(b, VM_FOLD, k, false);
    ins->arg[0] = first, ins->arg[1] = second;
    b->folded[k] = true;
}

/* Folds what reduces this value; then what reduces a result of that, and so on. */
static void fold_users(vm_builder *b, int value) {
    vm_program *p = b->p;
    int pending = 0;
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].kind == LAZY_SINK_REDUCE && p->sinks[k].value == value && !b->folded[k]) {
            fold(b, k);
            pending++;
        }
    for (int v = 0; pending > 0 && v < p->nloads; v++)
        if (p->loads[v].kind == LAZY_LOAD_RESULT && p->sinks[p->loads[v].slot].value == value && !b->made[v]) {
            b->made[v] = true;
            fold_users(b, v);
        }
}

/* ---- Instructions ------------------------------------------------------------------------------------------------ */
/* An index that is one for each row is read by row where rows are one after another. */
static void emit_take(vm_builder *b, const vm_step *s, int value) {
    const vm_program *p = b->p;
    vm_table *table = &p->loads[s->ins.arg[0]].table;
    bool by_row = b->rate[value] == VM_ROW, rows = p->form == VM_NEST_PACKED && b->rate[s->ins.arg[1]] == VM_ROW;
    int from = s->ins.arg[1], index = ready_operand(b, from, by_row || rows ? ANY : WIDE_OR_SINGLE);
    table->dtype = b->dtype[index];
    table->index = vm_single(b, index) ? VM_INDEX_ONE : !by_row && b->flat[from] ? VM_INDEX_RUN : VM_INDEX_EACH;
    table->run = rows ? p->reduced : 1;
    table->in_place =
        table->index == VM_INDEX_ONE && b->rate[value] == VM_EACH && vm_contiguous(p, &p->loads[s->ins.arg[0]].map);
    vm_ins *ins = emit(b, VM_TAKE, value, by_row);
    ins->arg[0] = s->ins.arg[0], ins->arg[1] = index;
}

static void emit_chain(vm_builder *b, int i) {
    int32_t steps[LAZY_CHAIN_MAX];
    int n = vm_chain_steps(b, i, steps);
    for (int j = 0; j < n; j++) {
        vm_step *s = &b->steps[steps[j]];
        for (int k = 0; k < s->ins.narg; k++)
            if (j == 0 || k != s->side)
                s->ins.arg[k] = ready_operand(b, s->ins.arg[k], WIDE_OR_SINGLE);
    }
    vm_chain_links(b, i, emit(b, VM_CHAIN, b->p->nloads + i, false));
}

static int instruction(vm_builder *b, int i) {
    const vm_step *s = &b->steps[i];
    int value = b->p->nloads + i, arg[3];
    b->made[value] = true;
    if (s->length > 0) {
        emit_chain(b, i);
        return NEAP_OK;
    }
    if (lazy_ops[s->ins.op]->kind == LAZY_GATHER) {
        emit_take(b, s, value);
        return NEAP_OK;
    }
    for (int k = 0; k < s->ins.narg; k++)
        arg[k] = ready_operand(b, s->ins.arg[k], b->rate[value] == VM_EACH ? WIDE_OR_SINGLE : ANY);
    lazy_loop loop = vm_loop_of(b, s);
    if (!loop)
        return neap_error(NEAP_E_INTERNAL, "no kernel loop for %s of %s", lazy_ops[s->ins.op]->name,
                          neap_dtype_name(s->ins.dtype));
    vm_ins *ins = emit(b, VM_LOOP, value, b->rate[value] == VM_ROW);
    ins->loop = loop;
    for (int k = 0; k < 3; k++)
        ins->arg[k] = arg[k < s->ins.narg ? k : 0];
    return NEAP_OK;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */
enum { LATE = VM_EACH + 1 };

/* Of columns, what is one element for each is known with the cell. */
static int part_of_value(const vm_builder *b, int value) {
    const vm_program *p = b->p;
    int rate = b->rate[value];
    if (b->late[value])
        return p->carried ? LATE : VM_EACH;
    return rate == VM_ROW ? p->form == VM_NEST_COLUMNS ? VM_CELL : VM_EACH : rate;
}

static int ready_for_segment(vm_builder *b, int value) {
    return ready_operand(b, value, WIDE_OR_SINGLE);
}

static void segment(vm_builder *b, int level) {
    vm_program *p = b->p;
    if (!vm_add_segment(b, level, ready_for_segment))
        return;
    const vm_segment *s = &p->segments[p->nsegments - 1];
    emit(b, VM_NATIVE, 0, false)->arg[0] = p->nsegments - 1;
    for (int k = 0; k < s->nout; k++)
        b->maker[p->operands[s->first + s->nin + k]] = p->nins - 1;
}

/* What runs over whole chunks, by levels: what is no part of a segment, then the segment, then what reduces it. */
static int order_levels(vm_builder *b) {
    int status = NEAP_OK;
    for (int level = 0; level < b->levels && !status; level++)
        for (int pass = 0; pass < 2 && !status; pass++) {
            if (pass == 1)
                segment(b, level);
            for (int i = 0; i < b->nsteps && !status; i++) {
                int value = b->p->nloads + i;
                if (part_of_value(b, value) != VM_EACH || b->level[value] != level)
                    continue;
                if (pass == 0 && !b->steps[i].gone && !b->joined[i])
                    status = instruction(b, i);
                if (pass == 1 || !(b->joined[i] || b->steps[i].gone))
                    fold_users(b, value);
                if (pass == 1)
                    b->made[value] = true;
            }
        }
    return status;
}

static int order_part(vm_builder *b, int part) {
    if (part == VM_EACH && b->p->native)
        return order_levels(b);
    int status = NEAP_OK;
    for (int i = 0; i < b->nsteps && !status; i++) {
        int value = b->p->nloads + i;
        if (part_of_value(b, value) != part)
            continue;
        if (!b->steps[i].gone)
            status = instruction(b, i);
        if (part == VM_EACH)
            fold_users(b, value);
    }
    return status;
}

/* Is the value a load that nobody else reads, and is neither of both one piece of memory? */
static bool is_moved(const vm_builder *b, const vm_sink *sink) {
    const vm_program *p = b->p;
    return p->copies && b->rate[sink->value] == VM_EACH && p->loads[sink->value].kind == LAZY_LOAD_BUFFER &&
           !p->loads[sink->value].in_place && !vm_contiguous(p, &sink->map);
}

/* What STORE_ROW sinks store. */
static void row_sinks(vm_builder *b) {
    vm_program *p = b->p;
    bool vectors = p->form == VM_NEST_PACKED || p->form == VM_NEST_COLUMNS;
    for (int k = 0; k < p->nsinks; k++) {
        vm_sink *sink = &p->sinks[k];
        if (sink->kind != LAZY_SINK_STORE_ROW)
            continue;
        sink->value = ready_operand(b, sink->value, ANY);
        if (vectors && vm_single(b, sink->value))
            sink->value = widened(b, sink->value, VM_ROW);
    }
}

int vm_order(vm_builder *b) {
    vm_program *p = b->p;
    int status = order_part(b, VM_ONCE);
    p->once = p->nins;
    for (int k = 0; k < p->nloads; k++) {
        vm_load *load = &p->loads[k];
        load->panel = p->form == VM_NEST_STRIPS && b->uses[k] > 0 && b->rate[k] == VM_EACH && is_gathered(p, k);
        if (load->panel || (p->form == VM_NEST_COLUMNS && b->uses[k] > 0 && b->rate[k] == VM_ROW && !b->late[k]))
            ready_operand(b, k, ANY);
    }
    status = status ? status : order_part(b, VM_CELL);
    p->cell = p->nins;
    for (int v = 0; v < p->nloads + b->nsteps; v++)
        if (part_of_value(b, v) < VM_EACH || (v < p->nloads && !b->late[v]))
            fold_users(b, v);
    status = status ? status : order_part(b, VM_EACH);
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].kind == LAZY_SINK_STORE && !(p->sinks[k].moved = is_moved(b, &p->sinks[k])))
            p->sinks[k].value = ready_operand(b, p->sinks[k].value, WIDE);
    if (!p->carried)
        row_sinks(b);
    p->late = p->nins;
    status = status ? status : order_part(b, LATE);
    if (p->carried)
        row_sinks(b);
    return status;
}
