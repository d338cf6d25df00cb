/* vm/assign.c: where values are. A value of rate EACH has a register of a chunk, unless it is read in place or computed
 * in its destination; registers are reused by liveness: an operand that dies at an instruction may give its register to
 * the result of the same width, which is the exact overlap that loops allow. Single elements and those of rate ROW have
 * places of their own.
 */
#include <string.h>

#include "lazy/vm/prepare.h"

/* Registers start at multiples of PAGE: a load that follows a store at the same place modulo 4096 is taken for
 * dependent on it, and loops load each element before they store it. */
enum { PAGE = 4096, LINE = 64, SLOT = 16 };

static int width_class(int width) {
    return __builtin_ctz((unsigned)width);
}

bool vm_contiguous(const vm_program *p, const vm_map *map) {
    if (p->form == VM_NEST_STRIPS)
        return map->walk[p->nwalk - 1] == 1;
    int64_t expected = 1;
    for (int k = p->nwalk - 1; k >= 0; k--) {
        if (map->walk[k] != expected && p->walk[k] != 1)
            return false;
        expected *= p->walk[k];
    }
    for (int k = 0; k < p->nedges; k++) /* a block that is cut short at its end would leave gaps */
        if (p->edge[k].walk > 0 && p->edge[k].extent > p->edge[k].tile)
            return false;
    return true;
}

/* ---- Liveness ---------------------------------------------------------------------------------------------------- */
static int operands(const vm_ins *ins) {
    switch (ins->what) {
    case VM_LOOP:
        return 3;
    case VM_CHAIN:
        return ins->arg[1] - 1; /* but the end */
    case VM_GATHER:
    case VM_FOLD_LOAD:
    case VM_FOLD_LEAVES:
        return 0;
    case VM_FILL:
    case VM_BROADCAST:
        return 1;
    default:
        return 2;
    }
}

static int operand_count(const vm_program *p, const vm_ins *ins) {
    return ins->what == VM_NATIVE ? p->segments[ins->arg[0]].nin : operands(ins);
}

/* The value of operand k, or -1. */
static int32_t operand_value(const vm_program *p, const vm_ins *ins, int k) {
    if (ins->what == VM_NATIVE)
        return p->operands[p->segments[ins->arg[0]].first + k];
    return ins->what == VM_CHAIN ? p->links[ins->arg[0] + k].value : ins->arg[k];
}

/* The values that an instruction makes. */
static int result_count(const vm_program *p, const vm_ins *ins) {
    return ins->what == VM_NATIVE ? p->segments[ins->arg[0]].nout : ins->what < VM_FOLD;
}
static int32_t result_value(const vm_program *p, const vm_ins *ins, int k) {
    const vm_segment *s = &p->segments[ins->arg[0]];
    return ins->what == VM_NATIVE ? p->operands[s->first + s->nin + k] : ins->out;
}

static void find_last(vm_builder *b) {
    vm_program *p = b->p;
    for (int v = 0; v < p->nvalues; v++)
        b->last[v] = -1;
    for (int at = 0; at < p->nins; at++)
        for (int k = 0; k < operand_count(p, &p->ins[at]); k++)
            if (operand_value(p, &p->ins[at], k) >= 0)
                b->last[operand_value(p, &p->ins[at], k)] = at;
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].kind != LAZY_SINK_REDUCE)
            b->last[p->sinks[k].value] = INT32_MAX;
}

/* ---- Sinks ------------------------------------------------------------------------------------------------------- */
bool vm_same_place(const vm_program *p, const vm_map *a, const vm_map *b) {
    return a->offset == b->offset && memcmp(a->grid, b->grid, (size_t)p->ngrid * sizeof *a->grid) == 0 &&
           memcmp(a->walk, b->walk, (size_t)p->nwalk * sizeof *a->walk) == 0;
}

/* A sink's buffer may be that of a load with the same map: then nobody may read the load once the value is written. */
static bool may_write_early(const vm_builder *b, const vm_sink *sink) {
    const vm_program *p = b->p;
    for (int k = 0; k < p->nloads; k++) {
        int32_t read = p->loads[k].in_place ? b->last[k] : b->maker[k];
        if (p->loads[k].kind == LAZY_LOAD_BUFFER && read > b->maker[sink->value] &&
            vm_same_place(p, &p->loads[k].map, &sink->map))
            return false;
    }
    return true;
}

/* Is the value where it is read, or in a panel? */
static bool in_place(const vm_builder *b, int value) {
    const vm_program *p = b->p;
    const vm_ins *maker = b->maker[value] < 0 ? NULL : &p->ins[b->maker[value]];
    if (value < p->nloads && p->loads[value].panel)
        return true;
    return maker ? maker->what == VM_TAKE && p->loads[maker->arg[0]].table.in_place : true;
}

/* Is the value made by what can write past the caches, and does nobody read it again? */
static bool may_stream(const vm_builder *b, int value) {
    const vm_program *p = b->p;
    const int maker = b->maker[value], what = maker < 0 ? VM_LOOP : p->ins[maker].what;
    for (int at = maker + 1; at < p->nins; at++)
        for (int k = 0; k < operand_count(p, &p->ins[at]); k++)
            if (operand_value(p, &p->ins[at], k) == value)
                return false;
    return what == VM_NATIVE || what == VM_CHAIN;
}

static void place_store(vm_builder *b, int k) {
    vm_program *p = b->p;
    vm_sink *sink = &p->sinks[k];
    sink->in_place = vm_contiguous(p, &sink->map);
    bool taken = (p->stream && !may_stream(b, sink->value)) || in_place(b, sink->value);
    for (int j = 0; j < k; j++)
        taken |= p->sinks[j].direct && p->sinks[j].value == sink->value;
    sink->direct = sink->in_place && !taken && may_write_early(b, sink);
    const vm_ins *ins = sink->direct ? &p->ins[b->maker[sink->value]] : NULL;
    if (ins && p->stream && ins->what == VM_CHAIN) {
        vm_link *end = &p->links[ins->arg[0] + ins->arg[1] - 1];
        end->code = end->code == p->simd->chains->end ? p->simd->chains->end_far : end->code;
    }
}

static int place_reduce(vm_builder *b, vm_sink *sink, int value) {
    vm_program *p = b->p;
    int dtype = b->dtype[value];
    sink->value_width = b->width[value];
    sink->fold = p->simd->folds->fold[sink->op] ? &p->simd->folds->fold[sink->op][dtype] : NULL;
    sink->choice = p->simd->folds->choice[sink->op] ? &p->simd->folds->choice[sink->op][dtype] : NULL;
    sink->any_length = vm_chooses(sink->op, dtype);
    if (!(sink->fold && sink->fold->leaves) && !(sink->choice && sink->choice->first))
        return neap_error(NEAP_E_INTERNAL, "no reduction loop for %s of %s", lazy_ops[sink->op]->name,
                          neap_dtype_name(dtype));
    sink->scratch = (int32_t)p->scratch;
    p->scratch += (vm_reduce_scratch(p, sink) + LINE - 1) / LINE * LINE;
    sink->result += sink->scratch;
    sink->leaves += sink->scratch;
    return NEAP_OK;
}

static int place_sinks(vm_builder *b) {
    vm_program *p = b->p;
    int status = NEAP_OK;
    for (int k = 0; k < p->nsinks && !status; k++)
        if (p->sinks[k].kind == LAZY_SINK_STORE)
            place_store(b, k);
        else if (p->sinks[k].kind == LAZY_SINK_REDUCE)
            status = place_reduce(b, &p->sinks[k], p->sinks[k].value);
    return status;
}

/* ---- Registers --------------------------------------------------------------------------------------------------- */
static int32_t take_register(vm_builder *b, int width) {
    int c = width_class(width);
    if (b->npool[c] > 0)
        return b->pool[c][--b->npool[c]];
    int32_t at = (int32_t)b->p->scratch;
    b->p->scratch += (size_t)(b->p->chunk * width + PAGE - 1) / PAGE * PAGE;
    return at;
}

static void free_register(vm_builder *b, int value) {
    int c = width_class(b->width[value]);
    if (b->p->place[value] >= 0)
        b->pool[c][b->npool[c]++] = b->p->place[value];
}

static bool is_direct(const vm_program *p, int value) {
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].direct && p->sinks[k].value == value)
            return true;
    return false;
}

/* What is one element for a chunk or for each of its rows; panels. */
static void place_lower(vm_builder *b) {
    vm_program *p = b->p;
    int64_t rows = p->form == VM_NEST_COLUMNS ? p->columns : p->packed_rows;
    for (int v = 0; v < p->nvalues; v++) {
        const vm_load *load = v < p->nloads ? &p->loads[v] : NULL;
        p->place[v] = -1;
        if (load && load->panel) {
            p->scratch = (p->scratch + LINE - 1) / LINE * LINE;
            p->place[v] = (int32_t)p->scratch;
            p->scratch += (size_t)(p->walk_size * load->width);
        } else if (load && b->late[v]) {
            p->place[v] = p->sinks[load->slot].result;
        } else if (vm_single(b, v) ? !load || load->kind == LAZY_LOAD_IOTA || load->copied
                                   : b->rate[v] == VM_ROW && b->maker[v] >= 0) {
            p->place[v] = (int32_t)p->scratch;
            p->scratch += vm_single(b, v) ? SLOT : (size_t)(rows * b->width[v] + LINE - 1) / LINE * LINE;
        }
    }
    p->scratch = (p->scratch + PAGE - 1) / PAGE * PAGE;
}

static void place_values(vm_builder *b) {
    vm_program *p = b->p;
    place_lower(b);
    for (int at = p->cell; at < p->nins; at++) {
        const vm_ins *ins = &p->ins[at];
        for (int k = 0; k < operand_count(p, ins); k++) {
            int v = operand_value(p, ins, k);
            if (v < 0 || b->rate[v] < VM_EACH || b->last[v] != at || (v < p->nloads && p->loads[v].panel))
                continue;
            free_register(b, v);
            b->last[v] = -1; /* it may be an operand again */
        }
        for (int k = 0; k < result_count(p, ins); k++) {
            int v = result_value(p, ins, k);
            if (b->rate[v] == VM_EACH && !in_place(b, v) && !is_direct(p, v))
                p->place[v] = take_register(b, b->width[v]);
        }
    }
}

/* Does a chunk need registers? */
static bool registers(const vm_builder *b) {
    const vm_program *p = b->p;
    for (int at = p->cell; at < p->late; at++)
        for (int k = 0; k < result_count(p, &p->ins[at]); k++)
            if (!is_direct(p, result_value(p, &p->ins[at], k)))
                return true;
    return false;
}

/* Rows that are only folded, where they lie, and leaf by leaf, ask for memory as they go. */
static void let_folds_ask(vm_program *p) {
    p->folds_ask = p->far && p->carried && p->form == VM_NEST_ROWS;
    for (int at = 0; at < p->nins && p->folds_ask; at++) {
        const vm_ins *ins = &p->ins[at];
        p->folds_ask = at >= p->late || (ins->what == VM_FOLD && !p->sinks[ins->out].choice);
    }
    for (int k = 0; k < p->nloads && p->folds_ask; k++)
        p->loads[k].asked |= p->loads[k].in_place;
}

/* ---- Points ------------------------------------------------------------------------------------------------------ */
static void add_point(vm_program *p, vm_from from, int value, int slot, int64_t offset) {
    p->points[p->point_ends[from]++] = (vm_point){.value = value, .slot = slot, .offset = offset};
}

static bool is_from(const vm_program *p, vm_from from, int v) {
    const vm_load *load = &p->loads[v];
    if (p->place[v] >= 0 || v >= p->nloads)
        return p->place[v] >= 0 && from == VM_FROM_SCRATCH;
    if (load->kind == LAZY_LOAD_SCALAR)
        return from == VM_FROM_SCALARS;
    if (load->kind == LAZY_LOAD_RESULT)
        return from == VM_FROM_LOADS;
    return from == VM_FROM_BUFFER && (load->in_place || load->rate == VM_ONCE);
}

static void add_points(vm_program *p, vm_from from) {
    p->point_ends[from] = from > 0 ? p->point_ends[from - 1] : 0;
    for (int v = 0; v < p->nvalues; v++) {
        if (!is_from(p, from, v))
            continue;
        const vm_load *load = &p->loads[v];
        int64_t offsets[VM_FROMS] = {[VM_FROM_SCRATCH] = p->place[v]};
        if (v < p->nloads) {
            offsets[VM_FROM_SCALARS] = load->slot * (int64_t)sizeof(lazy_scalar);
            offsets[VM_FROM_LOADS] = (const char *)&load->constant - (const char *)p->loads;
            offsets[VM_FROM_BUFFER] = load->map.offset * load->width;
        }
        add_point(p, from, v, from == VM_FROM_BUFFER ? load->slot : 0, offsets[from]);
    }
    for (int k = 0; k < p->nsinks && from == VM_FROM_BUFFER; k++) {
        const vm_sink *sink = &p->sinks[k];
        if (sink->direct)
            add_point(p, from, sink->value, sink->slot, sink->map.offset * sink->width);
    }
}

/* Tells whether the program is whole, and where its values are then. */
static void find_points(vm_program *p) {
    for (int m = 0; m < p->nloads + p->nsinks; m++)
        p->first[m] = vm_map_at(p, m)->offset;
    p->tables = (size_t)p->nvalues * sizeof(char *) + (size_t)(p->nloads + p->nsinks) * sizeof(int64_t);
    p->tables = (p->tables + sizeof p->walk + PAGE - 1) / PAGE * PAGE;
    p->whole = p->ngrid == 0 && p->form != VM_NEST_COLUMNS && p->form != VM_NEST_STRIPS && !p->carried && !p->far &&
               p->walk_size <= p->chunk;
    for (int from = 0; from < VM_FROMS && p->whole; from++)
        add_points(p, (vm_from)from);
    for (int k = 0; k < p->nloads; k++)
        p->fetches |= vm_is_fetched(&p->loads[k]);
}

static void add_hop(vm_program *p, int value, const vm_map *map, int width) {
    int64_t bytes = map->grid[p->ngrid - 1] * width;
    if (bytes != 0)
        p->hop[p->nhops++] = (vm_hop){.value = value, .bytes = bytes};
}

/* Tells whether the program hops from cell to cell, and what moves then. */
static void find_hops(vm_program *p) {
    p->hops = p->form == VM_NEST_ROWS && p->ngrid > 0 && !p->carried && p->walk_size <= p->chunk;
    for (int k = 0; k < p->nloads && p->hops; k++)
        p->hops = p->loads[k].rate != VM_CELL || !vm_is_fetched(&p->loads[k]);
    for (int m = 0; m < p->nloads + p->nsinks && p->hops; m++)
        p->next[m] = vm_map_at(p, m)->grid[p->ngrid - 1];
    for (int k = 0; k < p->nloads && p->hops; k++) {
        const vm_load *load = &p->loads[k];
        if (load->in_place || (load->kind == LAZY_LOAD_BUFFER && load->rate == VM_CELL))
            add_hop(p, k, &load->map, load->width);
    }
    for (int k = 0; k < p->nsinks && p->hops; k++)
        if (p->sinks[k].direct)
            add_hop(p, p->sinks[k].value, &p->sinks[k].map, p->sinks[k].width);
}

/* Tells whether chunks of a cell, or cells that are hopped to, can be run without going through the sequence. */
static void find_flow(const vm_builder *b) {
    vm_program *p = b->p;
    bool one = p->late == p->cell + 1 && !registers(b) && !p->reduces && !p->far;
    bool code = p->hops && p->once == p->cell && one && p->ins[p->cell].what == VM_NATIVE;
    p->flows = one && p->form == VM_NEST_ROWS && (p->ngrid == 0 || code);
    for (int k = 0; k < p->nsinks; k++)
        p->flows &= p->sinks[k].direct;
}

int vm_place(vm_builder *b) {
    vm_program *p = b->p;
    find_last(b);
    int status = place_sinks(b);
    int64_t by_need = VM_LONG * vm_limit.chunk; /* what goes by need not stay in a cache */
    if (p->form == VM_NEST_ROWS && !registers(b) && p->chunk < by_need)
        p->chunk = by_need;
    if (p->form == VM_NEST_COLUMNS && p->carried && !registers(b))
        p->chunk = p->columns * LAZY_LEAF * (VM_CHUNK / (p->columns * LAZY_LEAF) + 1); /* whole leaves */
    let_folds_ask(p);
    if (!status)
        place_values(b);
    if (!status)
        find_points(p), find_hops(p), find_flow(b);
    if (!status && p->scratch > INT32_MAX)
        return neap_error(NEAP_E_INTERNAL, "the rows of a kernel are too long for its scratch");
    return status;
}
