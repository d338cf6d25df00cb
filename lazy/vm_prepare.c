/* vm_prepare.c: from a kernel's description to a vm_program: after the form is chosen (vm_form.c), each value gets its
 * rate, each instruction its loop, and each value that has no other home a place in the scratch.
 *
 * Registers are reused by liveness: an operand that dies at an instruction may give its register to the result of the
 * same width, which is the exact overlap that loops allow.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lazy/vm_prepare.h"
#include "ops_gen.h"

/* Registers start at multiples of PAGE: a load that follows a store at the same place modulo 4096 is taken for dependent
 * on it, and loops load each element before they store it. */
enum { PAGE = 4096, SLOT = 16 };

static int width_class(int width) {
    return width == 1 ? 0 : width == 4 ? 1 : 2;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */
static void *carve(char **at, size_t count, size_t item) {
    void *block = *at;
    *at += (count * item + 15) / 16 * 16;
    return block;
}

static vm_program *program_new(const lazy_kernel *kernel) {
    size_t loads = (size_t)kernel->nloads, ins = (size_t)kernel->nins, sinks = (size_t)kernel->nsinks;
    size_t bytes = sizeof(vm_program) + loads * (sizeof(vm_load) + 2 * sizeof(int32_t)) +
                   ins * (sizeof(vm_ins) + sizeof(int32_t)) + sinks * sizeof(vm_sink) + 6 * 16;
    vm_program *p = calloc(1, bytes);
    if (!p)
        return NULL;
    char *at = (char *)p;
    carve(&at, 1, sizeof *p);
    p->loads = carve(&at, loads, sizeof *p->loads);
    p->ins = carve(&at, ins, sizeof *p->ins);
    p->sinks = carve(&at, sinks, sizeof *p->sinks);
    p->place = carve(&at, loads + ins, sizeof *p->place);
    p->order = carve(&at, loads, sizeof *p->order);
    p->nloads = kernel->nloads, p->nins = kernel->nins, p->nsinks = kernel->nsinks;
    p->nvalues = p->nloads + p->nins;
    return p;
}

static int builder_init(vm_builder *b, vm_program *p, const lazy_kernel *kernel) {
    size_t n = (size_t)p->nvalues + 1;
    *b = (vm_builder){.p = p, .kernel = kernel};
    char *at = calloc(1, n * (sizeof(vm_step) + 2 + (5 + VM_WIDTHS) * sizeof(int32_t)) + 16 * (8 + VM_WIDTHS));
    if (!at)
        return NEAP_E_MEMORY;
    b->steps = carve(&at, n, sizeof(vm_step));
    b->rate = carve(&at, n, 1);
    b->width = carve(&at, n, 1);
    b->uses = carve(&at, n, sizeof(int32_t));
    b->last = carve(&at, n, sizeof(int32_t));
    b->first = carve(&at, n, sizeof(int32_t));
    b->made = carve(&at, n, sizeof(int32_t));
    b->order = carve(&at, n, sizeof(int32_t));
    for (int k = 0; k < VM_WIDTHS; k++)
        b->pool[k] = carve(&at, n, sizeof(int32_t));
    return NEAP_OK;
}

/* ---- Description ------------------------------------------------------------------------------------------------- */
static void copy_maps(vm_program *p, const lazy_kernel *kernel) {
    p->reduces = kernel->nsinks > 0 && kernel->sinks[0].kind == LAZY_SINK_REDUCE;
    p->axes.n = kernel->ndim;
    p->axes.kept = p->reduces ? kernel->nkept : kernel->ndim;
    p->size = 1;
    for (int k = 0; k < kernel->ndim; k++)
        p->size *= p->axes.shape[k] = kernel->shape[k];
    for (int k = 0; k < kernel->nloads; k++) {
        const lazy_load *in = &kernel->loads[k];
        vm_load *load = &p->loads[k];
        load->kind = in->kind, load->dtype = in->dtype, load->slot = in->slot;
        load->width = (uint8_t)neap_dtype_bytes(in->dtype);
        if (in->kind == LAZY_LOAD_SCALAR)
            continue;
        load->map.offset = in->read.offset;
        memcpy(load->map.axis, in->read.stride, (size_t)kernel->ndim * sizeof(int64_t));
    }
    for (int k = 0; k < kernel->nsinks; k++) {
        const lazy_sink *in = &kernel->sinks[k];
        vm_sink *sink = &p->sinks[k];
        sink->dtype = in->dtype, sink->slot = in->slot, sink->value = in->value;
        sink->width = (uint8_t)neap_dtype_bytes(in->dtype);
        sink->map.offset = in->write.offset;
        memcpy(sink->map.axis, in->write.stride, (size_t)p->axes.kept * sizeof(int64_t));
    }
}

/* Does the walk run through memory element by element? */
static bool contiguous(const vm_program *p, const vm_map *map) {
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

static uint8_t map_rate(const vm_program *p, const vm_map *map) {
    for (int k = 0; k < p->nwalk; k++)
        if (map->walk[k] != 0)
            return VM_EACH;
    for (int k = 0; k < p->ngrid; k++)
        if (map->grid[k] != 0)
            return VM_CELL;
    return VM_ONCE;
}

static bool stored(const vm_program *p, int value) {
    for (int k = 0; k < p->nsinks; k++)
        if (p->sinks[k].value == value)
            return true;
    return false;
}

static void rate_values(vm_builder *b) {
    vm_program *p = b->p;
    for (int k = 0; k < p->nloads; k++) {
        vm_load *load = &p->loads[k];
        load->rate = load->kind == LAZY_LOAD_SCALAR ? VM_ONCE : map_rate(p, &load->map);
        /* With several sinks, a load that is itself stored is copied first: a sink may write over its buffer. */
        load->in_place = load->kind == LAZY_LOAD_BUFFER && load->rate == VM_EACH && contiguous(p, &load->map) &&
                         (p->nsinks == 1 || !stored(p, k));
        b->rate[k] = load->rate;
        b->width[k] = load->width;
    }
    for (int k = 0; k < p->nsinks; k++)
        b->uses[p->sinks[k].value]++;
    for (int i = 0; i < p->nins; i++) {
        const lazy_ins *ins = &b->kernel->ins[i];
        b->steps[i].ins = *ins;
        uint8_t rate = VM_ONCE;
        for (int k = 0; k < ins->narg; k++)
            rate = b->rate[ins->arg[k]] > rate ? b->rate[ins->arg[k]] : rate, b->uses[ins->arg[k]]++;
        b->rate[p->nloads + i] = rate;
        b->width[p->nloads + i] = (uint8_t)neap_dtype_bytes(ins->result);
    }
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */
static void count_uses(vm_builder *b) {
    vm_program *p = b->p;
    for (int v = 0; v < p->nvalues; v++)
        b->last[v] = b->made[v] = -1, b->first[v] = p->nins;
    for (int at = 0; at < p->nins; at++) {
        const vm_step *s = &b->steps[b->order[at]];
        b->made[p->nloads + b->order[at]] = at;
        for (int k = 0; k < s->ins.narg; k++) {
            int v = s->ins.arg[k];
            b->last[v] = at;
            b->first[v] = b->first[v] < at ? b->first[v] : at;
        }
    }
    for (int k = 0; k < p->nsinks; k++) {
        const vm_sink *sink = &p->sinks[k];
        b->last[sink->value] = INT32_MAX;
        if (sink->summed)
            b->last[sink->operand[0]] = b->last[sink->operand[1]] = INT32_MAX;
    }
}

/* Steps in the order of their rates, with their loops. */
static int order_steps(vm_builder *b) {
    vm_program *p = b->p;
    int n = 0;
    for (int rate = VM_ONCE; rate <= VM_EACH; rate++) {
        for (int i = 0; i < b->kernel->nins; i++)
            if (!b->steps[i].gone && b->rate[p->nloads + i] == rate)
                b->order[n++] = i;
        if (rate == VM_ONCE)
            p->once = n;
        if (rate == VM_CELL)
            p->cell = n;
    }
    p->nins = n;
    count_uses(b);
    for (int at = 0; at < n; at++) {
        const vm_step *s = &b->steps[b->order[at]];
        vm_ins *ins = &p->ins[at];
        ins->out = p->nloads + b->order[at];
        for (int k = 0; k < 3; k++)
            ins->arg[k] = s->ins.arg[k < s->ins.narg ? k : 0];
        ins->loop = vm_loop_of(b, s);
        if (!ins->loop)
            return neap_error(NEAP_E_INTERNAL, "no kernel loop for %s of %s", lazy_ops[s->ins.op]->name,
                              neap_dtype_name(s->ins.dtype));
    }
    return NEAP_OK;
}

/* ---- Sinks ------------------------------------------------------------------------------------------------------- */
static bool same_place(const vm_program *p, const vm_map *a, const vm_map *b) {
    return a->offset == b->offset && memcmp(a->grid, b->grid, (size_t)p->ngrid * sizeof *a->grid) == 0 &&
           memcmp(a->walk, b->walk, (size_t)p->nwalk * sizeof *a->walk) == 0;
}

/* A sink's buffer may be that of a load with the same map: then nobody may read the load once the value is written. */
static bool may_write_early(const vm_builder *b, const vm_sink *sink) {
    const vm_program *p = b->p;
    for (int k = 0; k < p->nloads; k++)
        if (p->loads[k].in_place && same_place(p, &p->loads[k].map, &sink->map) && b->last[k] > b->made[sink->value])
            return false;
    return true;
}

static int place_sinks(vm_builder *b) {
    vm_program *p = b->p;
    for (int k = 0; k < p->nsinks; k++) {
        vm_sink *sink = &p->sinks[k];
        int op = b->kernel->sinks[k].op;
        sink->of_load = sink->value < p->nloads;
        sink->splat = b->rate[sink->value] < VM_EACH;
        sink->value_width = b->width[sink->value];
        if (p->reduces) {
            int dtype = op < LAZY_OP_COUNT && lazy_ops[op]->flags & LAZY_OP_ARG
                            ? (sink->value < p->nloads ? p->loads[sink->value].dtype
                                                       : b->kernel->ins[sink->value - p->nloads].result)
                            : sink->dtype;
            sink->fold = p->simd->fold[op] ? &p->simd->fold[op][dtype] : NULL;
            sink->choice = p->simd->choice[op] ? &p->simd->choice[op][dtype] : NULL;
            if (!(sink->fold && sink->fold->leaves) && !(sink->choice && sink->choice->first))
                return neap_error(NEAP_E_INTERNAL, "no reduction loop for %s of %s", lazy_ops[op]->name,
                                  neap_dtype_name(dtype));
            continue;
        }
        sink->in_place = contiguous(p, &sink->map);
        bool taken = sink->splat || p->stream || (sink->of_load && p->loads[sink->value].in_place);
        for (int j = 0; j < k; j++)
            taken |= p->sinks[j].direct && p->sinks[j].value == sink->value;
        sink->direct = sink->in_place && !taken && may_write_early(b, sink);
    }
    return NEAP_OK;
}

/* ---- Registers --------------------------------------------------------------------------------------------------- */
static int32_t take(vm_builder *b, int width) {
    int c = width_class(width);
    if (b->npool[c] > 0)
        return b->pool[c][--b->npool[c]];
    int32_t at = (int32_t)b->p->scratch;
    b->p->scratch += (size_t)(b->p->chunk * width + PAGE - 1) / PAGE * PAGE;
    return at;
}

static void give(vm_builder *b, int value) {
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

/* Loads that are gathered just before position `at`. */
static void place_gathers(vm_builder *b, int at) {
    vm_program *p = b->p;
    for (int k = 0; k < p->nloads; k++) {
        vm_load *load = &p->loads[k];
        if (load->rate != VM_EACH || load->in_place || b->first[k] != at)
            continue;
        load->before = at;
        p->order[p->gathers++] = k;
        if (!is_direct(p, k))
            p->place[k] = take(b, load->width);
    }
}

static void place_values(vm_builder *b) {
    vm_program *p = b->p;
    for (int v = 0; v < p->nvalues; v++) {
        bool single = b->rate[v] < VM_EACH && (v >= p->nloads || p->loads[v].kind == LAZY_LOAD_IOTA);
        p->place[v] = single ? (int32_t)p->scratch : -1;
        p->scratch += single ? SLOT : 0;
    }
    p->scratch = (p->scratch + PAGE - 1) / PAGE * PAGE;
    for (int at = p->cell; at < p->nins; at++) {
        const vm_ins *ins = &p->ins[at];
        place_gathers(b, at);
        for (int k = 0; k < 3; k++) {
            int v = ins->arg[k];
            bool again = (k > 0 && v == ins->arg[0]) || (k > 1 && v == ins->arg[1]);
            if (!again && b->rate[v] == VM_EACH && b->last[v] == at)
                give(b, v);
        }
        if (!is_direct(p, ins->out))
            p->place[ins->out] = take(b, b->width[ins->out]);
    }
    place_gathers(b, p->nins);
    for (int k = 0; k < p->nsinks; k++) {
        vm_sink *sink = &p->sinks[k];
        if (sink->splat && !sink->in_place)
            sink->splat_at = take(b, b->width[sink->value]);
        sink->room = (int32_t)p->scratch;
        if (p->reduces)
            p->scratch += (vm_reduce_room(p, sink) + 63) / 64 * 64;
    }
}

/* ---- Costs ------------------------------------------------------------------------------------------------------- */
/* Bytes beyond which nothing of a kernel's operands is found in a cache again. */
static int64_t last_level_cache(void) {
    static _Atomic int64_t bytes;
    if (bytes == 0) {
        long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
        bytes = size > 0 ? size : 32 << 20;
    }
    return bytes;
}

static int64_t elements(const vm_program *p, const vm_map *map) {
    int64_t n = 1;
    for (int k = 0; k < p->axes.n; k++)
        n *= map->axis[k] != 0 ? p->axes.shape[k] : 1;
    return n;
}

/* ns for an element: loops over scratch take some 0.05 ns for each operand byte of 4, functions more; memory 0.1 ns a
 * byte. */
static void estimate(vm_program *p, const lazy_kernel *kernel) {
    for (int k = 0; k < p->nloads; k++)
        if (p->loads[k].kind == LAZY_LOAD_BUFFER)
            p->traffic += elements(p, &p->loads[k].map) * p->loads[k].width;
    for (int k = 0; k < p->nsinks; k++)
        p->traffic += elements(p, &p->sinks[k].map) * p->sinks[k].width;
    p->far = p->traffic > (vm_limit.stream_min ? vm_limit.stream_min : last_level_cache());
    p->stream = p->far && !p->reduces;
    for (int k = 0; k < p->nins; k++)
        p->cost += (lazy_ops[kernel->ins[k].op]->ulp > 0 ? 0.2 : 0.015) * neap_dtype_bytes(kernel->ins[k].dtype);
    p->cost += 0.1 * (double)p->traffic / (double)(p->size > 0 ? p->size : 1);
}

int lazy_kernel_prepare(lazy_kernel *kernel) {
    vm_program *p = program_new(kernel);
    vm_builder b = {0};
    int status = NEAP_E_MEMORY;
    if (!p || builder_init(&b, p, kernel))
        goto fail;
    p->simd = vm_simd();
    copy_maps(p, kernel);
    estimate(p, kernel);
    if (p->size > 0)
        vm_choose_form(p);
    rate_values(&b);
    vm_join(&b);
    if ((status = order_steps(&b)) || (status = place_sinks(&b)))
        goto fail;
    place_values(&b);
    free(b.steps);
    kernel->prepared = p;
    return NEAP_OK;
fail:
    free(b.steps);
    free(p);
    return status == NEAP_E_MEMORY ? neap_error(status, "out of memory while preparing a kernel") : status;
}

void lazy_kernel_unprepare(lazy_kernel *kernel) {
    free(kernel->prepared);
    kernel->prepared = NULL;
}

int64_t lazy_kernel_cost(const lazy_kernel *kernel) {
    const vm_program *p = kernel->prepared;
    return 100 + (int64_t)(p->cost * (double)p->size);
}
