/* vm/prepare.c: from a kernel's description to a vm_program. The form is chosen (vm/nest.c), each value gets its rate,
 * and steps are joined (vm/join.c); then follow the sequence (vm/order.c) and registers (vm/assign.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lazy/arena.h"
#include "lazy/loop/verify.h"
#include "lazy/vm/prepare.h"

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */
/* Are there rows, but no elements in them? Then the program is one over the kept axes, in which what the reductions
 * give is constant: loads behind those of the kernel, one for each sink. */
static bool rows_empty(const lazy_kernel *kernel) {
    return loop_elements(kernel->shape, kernel->nkept, kernel->ndim) == 0;
}

static vm_program *program_new(const lazy_kernel *kernel) {
    size_t sinks = (size_t)kernel->nsinks, loads = (size_t)kernel->nloads + (rows_empty(kernel) ? sinks : 0);
    size_t values = loads + (size_t)kernel->nins, sequence = 2 * values + 2 * sinks; /* gathers, spreads, folds */
    size_t links = (size_t)kernel->nins * (LAZY_LINKS_OF_MAP + 3);                   /* of as many chains */
    vm_program *p, own = {.nloads = (int)loads, .nvalues = (int)values, .simd = vm_simd()};
    if (!LAZY_ARENA(LAZY_PART(p, 1), LAZY_PART(own.loads, loads), LAZY_PART(own.ins, sequence),
                    LAZY_PART(own.links, links), LAZY_PART(own.sinks, sinks), LAZY_PART(own.place, 2 * values + sinks),
                    LAZY_PART(own.first, loads + sinks), LAZY_PART(own.points, 3 * values + 2 * sinks),
                    LAZY_PART(own.hop, loads + sinks), LAZY_PART(own.next, loads + sinks),
                    LAZY_PART(own.segments, sequence), LAZY_PART(own.operands, 4 * values + sinks)))
        return NULL;
    *p = own;
    return p;
}

static int build_init(vm_builder *b, vm_program *p, const lazy_kernel *kernel) {
    size_t n = 2 * (size_t)p->nvalues + (size_t)kernel->nsinks + 1, steps = (size_t)kernel->nins + 1;
    size_t code = p->native ? steps : 0;
    int32_t *pools;
    *b = (vm_builder){.p = p, .nsteps = kernel->nins};
    if (!LAZY_ARENA(LAZY_PART(b->steps, steps), LAZY_PART(b->rate, n), LAZY_PART(b->width, n), LAZY_PART(b->dtype, n),
                    LAZY_PART(b->late, n), LAZY_PART(b->flat, n), LAZY_PART(b->made, n), LAZY_PART(b->uses, n),
                    LAZY_PART(b->spread, n), LAZY_PART(b->last, n), LAZY_PART(b->maker, n),
                    LAZY_PART(b->folded, kernel->nsinks), LAZY_PART(pools, VM_WIDTHS * n), LAZY_PART(b->level, n),
                    LAZY_PART(b->joined, steps), LAZY_PART(b->code, code), LAZY_PART(b->length, code),
                    LAZY_PART(b->stored, code + (size_t)kernel->nsinks)))
        return NEAP_E_MEMORY;
    for (int k = 0; k < VM_WIDTHS; k++)
        b->pool[k] = pools + (size_t)k * n;
    for (size_t v = 0; v < n; v++)
        b->maker[v] = -1;
    return NEAP_OK;
}

/* ---- Copying the description ------------------------------------------------------------------------------------- */
static bool is_arg(int op) {
    return lazy_ops[op]->flags & LAZY_OP_ARG;
}

/* What a reduction of nothing gives: the identity, but 0.0 where that is -0.0; of an ARG 0. */
static lazy_scalar result_of_nothing(const vm_program *p, const lazy_sink *sink) {
    lazy_scalar value = {0};
    if (!is_arg(sink->op) && p->simd->folds->fold[sink->op])
        value = p->simd->folds->fold[sink->op][sink->dtype].identity;
#define PLAIN_ZERO(NAME, name, ...)                                                                                    \
    if (sink->dtype == NEAP_DTYPE_##NAME && value.name == 0)                                                           \
        value.name = 0;
    NEAP_DTYPE_REAL_ROWS(PLAIN_ZERO)
    NEAP_DTYPE_COMPLEX_ROWS(PLAIN_ZERO)
#undef PLAIN_ZERO
    return value;
}

static void copy_loads(vm_program *p, const lazy_kernel *kernel) {
    bool empty = rows_empty(kernel);
    for (int k = 0; k < p->nloads; k++) {
        const bool extra = k >= kernel->nloads;
        const lazy_load *in = extra ? NULL : &kernel->loads[k];
        const lazy_sink *sink = extra                          ? &kernel->sinks[k - kernel->nloads]
                                : in->kind == LAZY_LOAD_RESULT ? &kernel->sinks[in->slot]
                                                               : NULL;
        vm_load *load = &p->loads[k];
        load->kind = extra ? LAZY_LOAD_RESULT : in->kind;
        load->dtype = extra ? sink->dtype : in->dtype;
        load->slot = extra ? (int16_t)(k - kernel->nloads) : in->slot;
        load->width = (uint8_t)neap_dtype_bytes(load->dtype);
        if (empty && sink && sink->kind == LAZY_SINK_REDUCE)
            load->constant = result_of_nothing(p, sink);
        if (load->kind == LAZY_LOAD_SCALAR || load->kind == LAZY_LOAD_RESULT)
            continue;
        load->map.offset = in->read.offset;
        memcpy(load->map.axis, in->read.stride, (size_t)p->axes.n * sizeof(int64_t));
        load->table = (vm_table){.width = load->width, .extent = in->extent, .step = in->step};
    }
}

static void copy_sinks(vm_program *p, const lazy_kernel *kernel) {
    bool empty = rows_empty(kernel);
    for (int k = 0; k < kernel->nsinks; k++) {
        const lazy_sink *in = &kernel->sinks[k];
        bool each = in->kind == LAZY_SINK_STORE, reduce = in->kind == LAZY_SINK_REDUCE;
        if (empty && (each || in->slot < 0))
            continue;
        vm_sink *sink = &p->sinks[p->nsinks++];
        sink->kind = empty ? LAZY_SINK_STORE : in->kind;
        sink->dtype = in->dtype, sink->op = in->op, sink->slot = in->slot;
        sink->value = in->value < kernel->nloads ? in->value : in->value + p->nloads - kernel->nloads;
        if (empty && reduce)
            sink->value = kernel->nloads + k;
        sink->width = (uint8_t)neap_dtype_bytes(in->dtype);
        if (in->slot < 0)
            continue;
        sink->map.offset = in->write.offset;
        memcpy(sink->map.axis, in->write.stride, (size_t)(each ? p->axes.n : p->axes.kept) * sizeof(int64_t));
    }
}

static void copy_kernel(vm_builder *b, const lazy_kernel *kernel) {
    vm_program *p = b->p;
    bool empty = rows_empty(kernel);
    for (int k = 0; k < kernel->nsinks && !empty; k++)
        p->reduces |= kernel->sinks[k].kind != LAZY_SINK_STORE;
    p->axes.n = empty ? kernel->nkept : kernel->ndim;
    p->axes.kept = kernel->nkept;
    memcpy(p->axes.shape, kernel->shape, (size_t)p->axes.n * sizeof(int64_t));
    if (p->axes.n == (p->reduces ? p->axes.kept : 0))
        p->axes.shape[p->axes.n++] = 1; /* one to walk, along which all strides are 0 */
    p->size = loop_elements(p->axes.shape, 0, p->axes.n);
    copy_loads(p, kernel);
    copy_sinks(p, kernel);
    for (int v = 0; v < p->nvalues; v++) {
        const lazy_ins *ins = v < p->nloads ? NULL : &kernel->ins[v - p->nloads];
        b->dtype[v] = ins ? ins->result : p->loads[v].dtype;
        b->width[v] = (uint8_t)neap_dtype_bytes(b->dtype[v]);
    }
    for (int i = 0; i < b->nsteps; i++) {
        lazy_ins *ins = &b->steps[i].ins;
        *ins = kernel->ins[i];
        for (int k = 0; k < ins->narg; k++)
            ins->arg[k] += ins->arg[k] < kernel->nloads ? 0 : p->nloads - kernel->nloads;
    }
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */
/* Who reads the result of an identity reads its operand instead. */
static void read_through(vm_builder *b) {
    vm_program *p = b->p;
    int32_t *through = b->last; /* not in use yet */
    for (int v = 0; v < p->nvalues; v++)
        through[v] = v;
    for (int i = 0; i < b->nsteps; i++) {
        lazy_ins *ins = &b->steps[i].ins;
        for (int k = 0; k < ins->narg; k++)
            ins->arg[k] = through[ins->arg[k]];
        if (lazy_ops[ins->op]->flags & LAZY_OP_IDENTITY)
            through[p->nloads + i] = ins->arg[0];
    }
    for (int k = 0; k < p->nsinks; k++)
        p->sinks[k].value = through[p->sinks[k].value];
}

/* Counts readers; what nobody reads is gone. */
static void count_uses(vm_builder *b) {
    vm_program *p = b->p;
    for (int k = 0; k < p->nsinks; k++)
        b->uses[p->sinks[k].value]++;
    for (int i = b->nsteps - 1; i >= 0; i--) {
        vm_step *s = &b->steps[i];
        s->gone = b->uses[p->nloads + i] == 0;
        for (int k = 0; k < s->ins.narg && !s->gone; k++)
            b->uses[s->ins.arg[k]]++;
    }
    p->copies = p->nsinks == 1 && !p->reduces && p->sinks[0].value < p->nloads;
}

/* Which values depend on a reduction of this kernel, and does one of these differ inside a row? */
static void find_late_values(vm_builder *b, const lazy_kernel *kernel) {
    vm_program *p = b->p;
    bool *varies = b->made; /* not in use yet */
    for (int k = 0; k < p->nloads; k++) {
        b->late[k] = p->loads[k].kind == LAZY_LOAD_RESULT && !rows_empty(kernel);
        for (int axis = p->axes.kept; axis < p->axes.n; axis++)
            varies[k] |= p->loads[k].map.axis[axis] != 0 && p->axes.shape[axis] > 1;
    }
    for (int i = 0; i < b->nsteps; i++) {
        const vm_step *s = &b->steps[i];
        int v = p->nloads + i;
        for (int k = 0; k < s->ins.narg; k++) {
            b->late[v] |= b->late[s->ins.arg[k]];
            varies[v] |= varies[s->ins.arg[k]];
        }
        p->staged |= !s->gone && b->late[v] && varies[v];
    }
    for (int k = 0; k < p->nsinks; k++)
        p->staged |= p->reduces && b->late[p->sinks[k].value] && p->sinks[k].kind != LAZY_SINK_STORE_ROW;
    memset(varies, 0, (size_t)p->nvalues * sizeof *varies);
}

static uint8_t map_rate(const vm_program *p, const vm_map *map) {
    int first = p->row_axis, end = first + (p->form == VM_NEST_PACKED || p->form == VM_NEST_COLUMNS ? p->row_axes : 0);
    uint8_t rate = VM_ONCE;
    for (int k = 0; k < p->ngrid; k++)
        if (map->grid[k] != 0)
            rate = VM_CELL;
    for (int k = 0; k < p->nwalk; k++)
        if (map->walk[k] != 0)
            rate = k >= first && k < end && rate < VM_EACH ? VM_ROW : VM_EACH;
    return rate;
}

static void rate_values(vm_builder *b) {
    vm_program *p = b->p;
    for (int k = 0; k < p->nloads; k++) {
        vm_load *load = &p->loads[k];
        bool stored = false, shared = false;
        for (int j = 0; j < p->nsinks && p->nsinks > 1; j++) {
            stored |= p->sinks[j].value == k && p->sinks[j].kind != LAZY_SINK_REDUCE;
            shared |= p->sinks[j].kind == LAZY_SINK_STORE && vm_same_place(p, &load->map, &p->sinks[j].map);
        }
        load->rate = load->kind == LAZY_LOAD_SCALAR ? VM_ONCE : b->late[k] ? VM_ROW : map_rate(p, &load->map);
        /* With several sinks, a load that is itself stored is copied first: a sink may write over its buffer. So is a
         * single element at the very place of a store, which may be read again when that has been written. */
        load->in_place =
            load->kind == LAZY_LOAD_BUFFER && load->rate == VM_EACH && vm_contiguous(p, &load->map) && !stored;
        load->copied = load->kind == LAZY_LOAD_BUFFER && load->rate <= VM_CELL && (stored || shared);
        b->rate[k] = load->rate;
        b->flat[k] = b->late[k] ? p->form != VM_NEST_COLUMNS : load->map.walk[p->nwalk - 1] == 0;
    }
    for (int i = 0; i < b->nsteps; i++) {
        const lazy_ins *ins = &b->steps[i].ins;
        uint8_t rate = VM_ONCE;
        bool flat = true;
        for (int k = 0; k < ins->narg; k++) {
            rate = b->rate[ins->arg[k]] > rate ? b->rate[ins->arg[k]] : rate;
            flat &= b->flat[ins->arg[k]];
        }
        b->rate[p->nloads + i] = rate;
        b->flat[p->nloads + i] = flat;
    }
}

/* ---- Costs ------------------------------------------------------------------------------------------------------- */
/* Bytes of the last cache of the first core, or 0. The kernel is asked, since the C library adds up the caches of all
 * cores of some processors, also of those that a virtual machine has not got. */
static int64_t shared_cache(void) {
    long kib = 0;
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "re");
    if (!file)
        return 0;
    if (fscanf(file, "%ldK", &kib) != 1)
        kib = 0;
    fclose(file);
    return (int64_t)kib << 10;
}

/* Bytes beyond which nothing of a kernel's operands is found in a cache again. */
static int64_t last_level_cache(void) {
    static _Atomic int64_t bytes;
    if (bytes == 0) {
        int64_t told = sysconf(_SC_LEVEL3_CACHE_SIZE), shared = shared_cache();
        bytes = shared > 0 ? shared : told > 0 ? told : 32 << 20;
    }
    return bytes;
}

static void find_traffic(const vm_builder *b, const lazy_kernel *kernel) {
    vm_program *p = b->p;
    lazy_traffic traffic = vm_kernel_traffic(kernel);
    bool stores = false;
    for (int k = 0; k < p->nsinks; k++)
        stores |= p->sinks[k].kind == LAZY_SINK_STORE;
    p->traffic = traffic.read + traffic.written;
    int64_t given = vm_limit.stream_min, cached = given ? given : last_level_cache();
    /* One of many kernels that are large together, as where each device of a mesh has one: small ones are left
     * alone. */
    p->far = p->traffic > cached || (p->traffic > cached / 32 && p->traffic + kernel->around > cached);
    p->stream = p->far && stores;
    for (int k = 0; k < b->nsteps; k++)
        p->computes |= lazy_ops[b->steps[k].ins.op]->ulp > 0;
}

/* ns for an element: what its instructions take, and memory. What is one element for each row is counted once a row. */
static void estimate(vm_builder *b) {
    vm_program *p = b->p;
    for (int k = 0; k < b->nsteps; k++) {
        const lazy_ins *ins = &b->steps[k].ins;
        double ns = vm_ins_cost(ins->op, ins->dtype);
        int rate = b->rate[p->nloads + k];
        p->cost += rate == VM_EACH ? ns : rate == VM_ROW ? ns / (double)p->reduced : 0;
    }
    for (int k = 0; k < p->nsinks; k++) /* a reduction looks at every element, even if all are the same one */
        if (p->sinks[k].kind == LAZY_SINK_REDUCE)
            p->cost += 0.025 * neap_dtype_bytes(p->sinks[k].dtype);
    p->cost += LAZY_BYTE_COST * (double)p->traffic / (double)p->size;
}

void vm_program_free(vm_program *p) {
    for (int k = 0; p && k < p->nsegments; k++)
        native_drop(p->segments[k].unit);
    if (p && p->tiers.next)
        vm_program_free(p->tiers.next);
    free(p);
}

int vm_program_new(const lazy_kernel *whole, bool native, vm_program **out) {
    lazy_kernel *kernel = loop_collapse(whole);
    vm_program *p = kernel ? program_new(kernel) : NULL;
    vm_builder b = {0};
    int status = NEAP_E_MEMORY;
    *out = NULL;
    if (!p || LOOP_VERIFY(kernel, "collapsing"))
        goto fail;
    p->native = native;
    if (build_init(&b, p, kernel))
        goto fail;
    copy_kernel(&b, kernel);
    if (p->size > 0) {
        read_through(&b);
        count_uses(&b);
        find_late_values(&b, kernel);
        find_traffic(&b, whole);
        vm_choose_nest(p);
        rate_values(&b);
        vm_join(&b);
        estimate(&b);
        if (native && !vm_find_segments(&b)) {
            status = NEAP_OK;
            goto fail;
        }
        if ((status = vm_order(&b)) || (status = vm_place(&b)) || (status = vm_want_segments(&b)))
            goto fail;
    }
    free(b.steps);
    free(kernel);
    *out = p;
    return NEAP_OK;
fail:
    free(b.steps);
    free(kernel);
    vm_program_free(p);
    return status == NEAP_E_MEMORY ? neap_error(status, "out of memory while preparing a kernel") : status;
}

int vm_kernel_prepare(lazy_kernel *kernel) {
    vm_program *p;
    int status = vm_program_new(kernel, false, &p);
    kernel->prepared = p;
    if (!status)
        vm_tier_begin(kernel);
    return status;
}

void vm_kernel_unprepare(lazy_kernel *kernel) {
    vm_program_free(kernel->prepared);
    kernel->prepared = NULL;
}

int64_t vm_kernel_cost(const lazy_kernel *kernel) {
    const vm_program *p = vm_program_in_use(kernel);
    return 100 + (int64_t)(p->cost * (double)p->size);
}
