/* vm_stages.h: random kernels of several sinks, with results of their reductions used inside and with tables, for tests
 * of what runs kernels. */
#ifndef NEAP_TESTS_LAZY_VM_STAGES_H
#define NEAP_TESTS_LAZY_VM_STAGES_H

#include "tests/lazy/vm_random.h"

enum { MAX_LOADS = 12, MAX_INS = 48, MAX_SINKS = 10, MAX_VALUES = MAX_LOADS + MAX_INS, MAX_BUFS = 24 };

/* ---- A random kernel --------------------------------------------------------------------------------------------- */
typedef struct sample {
    lazy_kernel kernel;
    lazy_load loads[MAX_LOADS];
    lazy_ins ins[MAX_INS];
    lazy_sink sinks[MAX_SINKS];
    int dtypes[MAX_VALUES];
    /* A value may be read; differs inside a row; depends on a reduction. */
    bool usable[MAX_VALUES], varies[MAX_VALUES], late[MAX_VALUES];
    bool wide; /* rows are too long for late instructions over them */
    void *bufs[MAX_BUFS];
    int64_t bytes[MAX_BUFS];
    lazy_scalar scalars[MAX_LOADS];
    int nbufs;
} sample;

static int64_t product(const int64_t *shape, int from, int to) {
    int64_t n = 1;
    for (int k = from; k < to; k++)
        n *= shape[k];
    return n;
}

static void random_shape(sample *s) {
    static const int64_t rows[] = {1, 2, 7, 10, 15, 16, 17, 100, 255, 256, 257, 300, 512, 1023, 1024, 1025, 3000, 8192};
    static const int64_t wide[] = {8193, 20000, 40000}, kept[] = {1, 2, 3, 5, 17, 40, 130, 300};
    lazy_kernel *k = &s->kernel;
    s->wide = below(6) == 0;
    k->nkept = (int)below(3);
    k->ndim = k->nkept + 1;
    k->shape[k->nkept] = s->wide ? wide[below(3)] : rows[below(18)];
    if (k->shape[k->nkept] <= 100 && below(3) == 0)
        k->shape[k->ndim++] = 1 + below(70);
    int64_t size = product(k->shape, k->nkept, k->ndim);
    for (int axis = 0; axis < k->nkept; axis++) {
        k->shape[axis] = kept[below(8)];
        if (size * k->shape[axis] > (s->wide ? 45000 : 12000))
            k->shape[axis] = 1 + below(3);
        size *= k->shape[axis];
    }
    if (below(30) == 0)
        k->shape[below(k->ndim)] = 0;
}

static int new_buffer(sample *s, int dtype, int64_t n) {
    s->bytes[s->nbufs] = n * neap_dtype_bytes(dtype);
    s->bufs[s->nbufs] = random_buffer(dtype, n);
    return s->nbufs++;
}

static void load_done(sample *s, int k) {
    const lazy_kernel *kernel = &s->kernel;
    s->dtypes[k] = s->loads[k].dtype;
    s->usable[k] = s->loads[k].kind != LAZY_LOAD_RESULT && s->loads[k].kind != LAZY_LOAD_TABLE;
    s->late[k] = s->loads[k].kind == LAZY_LOAD_RESULT;
    for (int axis = kernel->nkept; axis < kernel->ndim; axis++)
        s->varies[k] |= s->loads[k].read.stride[axis] != 0;
}

static lazy_load *new_load(sample *s, int kind, int dtype) {
    lazy_load *load = &s->loads[s->kernel.nloads++];
    *load = (lazy_load){.kind = (uint8_t)kind, .dtype = (uint8_t)dtype};
    return load;
}

static void random_source(sample *s, bool whole) {
    static const int kinds[] = {LAZY_LOAD_BUFFER, LAZY_LOAD_BUFFER, LAZY_LOAD_BUFFER, LAZY_LOAD_SCALAR, LAZY_LOAD_IOTA};
    int k = s->kernel.nloads, dtype = below(2) ? random_plain_dtype() : NEAP_DTYPE_F32;
    lazy_load *load = new_load(s, whole ? LAZY_LOAD_BUFFER : kinds[below(5)], dtype);
    if (load->kind == LAZY_LOAD_IOTA && (dtype == NEAP_DTYPE_BOOL || is_complex(dtype)))
        load->dtype = NEAP_DTYPE_I32;
    if (load->kind == LAZY_LOAD_SCALAR) {
        load->slot = (int16_t)k;
        random_element(dtype, &s->scalars[k]);
    } else {
        int64_t n = random_map(s->kernel.ndim, s->kernel.shape, whole, &load->read);
        for (int axis = 0; axis < s->kernel.ndim && !whole && below(3) == 0; axis++) /* one element for each row */
            load->read.stride[axis] *= axis < s->kernel.nkept;
        if (load->kind == LAZY_LOAD_BUFFER)
            load->slot = (int16_t)new_buffer(s, dtype, n);
    }
    load_done(s, k);
}

static void random_table(sample *s) {
    lazy_load *load = new_load(s, LAZY_LOAD_TABLE, random_plain_dtype());
    int64_t n = random_map(s->kernel.ndim, s->kernel.shape, false, &load->read);
    for (int axis = 0; axis < s->kernel.ndim && below(2); axis++)
        load->read.stride[axis] *= axis < s->kernel.nkept;
    load->extent = 1 + below(9);
    load->step = 1 + below(n + 5);
    n += load->extent * load->step;
    if (below(4) == 0) {
        load->read.offset += (load->extent - 1) * load->step;
        load->step = -load->step;
    }
    load->slot = (int16_t)new_buffer(s, load->dtype, n);
    load_done(s, s->kernel.nloads - 1);
}

/* Adds an instruction if it may be; returns its value or -1. */
static int add_ins(sample *s, lazy_ins ins) {
    int v = s->kernel.nloads + s->kernel.nins;
    bool varies = false, late = false;
    for (int k = 0; k < ins.narg; k++) {
        varies |= s->varies[ins.arg[k]];
        late |= s->late[ins.arg[k]];
    }
    if (s->kernel.nins == MAX_INS || (s->wide && varies && late))
        return -1;
    s->ins[s->kernel.nins++] = ins;
    s->dtypes[v] = ins.result;
    s->usable[v] = true, s->varies[v] = varies, s->late[v] = late;
    return v;
}

static int cast(sample *s, int value, int dtype) {
    if (s->dtypes[value] == dtype)
        return value;
    if (is_complex(s->dtypes[value]) && !is_complex(dtype) && dtype != NEAP_DTYPE_BOOL) {
        int part = dtype_of_part(s->dtypes[value]);
        value = add_ins(s, (lazy_ins){.op = LAZY_OP_real,
                                      .dtype = (uint8_t)s->dtypes[value],
                                      .result = (uint8_t)part,
                                      .narg = 1,
                                      .arg = {value}});
        if (value < 0 || part == dtype)
            return value;
    }
    return add_ins(s, (lazy_ins){.op = LAZY_OP_astype,
                                 .dtype = (uint8_t)s->dtypes[value],
                                 .result = (uint8_t)dtype,
                                 .narg = 1,
                                 .arg = {value}});
}

/* Usable values are drawn, the latest with preference. */
static int any_value(sample *s) {
    int n = s->kernel.nloads + s->kernel.nins, v;
    do
        v = below(2) ? n - 1 - (int)below(n < 4 ? n : 4) : (int)below(n);
    while (!s->usable[v]);
    return v;
}

static bool is_index(int dtype) {
    return neap_dtype_kind(dtype) == 'u' || neap_dtype_kind(dtype) == 'i';
}

static void random_take(sample *s, int table) {
#define INDEX(NAME, ...) NEAP_DTYPE_##NAME,
    static const int dtypes[] = {NEAP_DTYPE_INTEGER_ROWS(INDEX)};
#undef INDEX
    int index = any_value(s);
    for (int tries = (int)below(12); tries > 0 && s->varies[index]; tries--)
        index = any_value(s);
    if (!is_index(s->dtypes[index]))
        index = cast(s, index, dtypes[below(sizeof dtypes / sizeof *dtypes)]);
    uint8_t dtype = (uint8_t)s->dtypes[table];
    for (int k = 0; k < s->kernel.nins; k++)
        if (s->ins[k].op == LAZY_OP_take && s->ins[k].arg[0] == table)
            return;
    if (index >= 0)
        add_ins(s, (lazy_ins){.op = LAZY_OP_take, .dtype = dtype, .result = dtype, .narg = 2, .arg = {table, index}});
}

static void random_ins(sample *s) {
    static const int cheap[] = {LAZY_OP_add, LAZY_OP_multiply, LAZY_OP_subtract, LAZY_OP_square};
    int op = random_map_op(), dtype = random_plain_dtype(), table = (int)below(s->kernel.nloads);
    if (below(2))
        op = cheap[below(4)], dtype = below(3) ? NEAP_DTYPE_F32 : NEAP_DTYPE_F64;
    if (s->loads[table].kind == LAZY_LOAD_TABLE) {
        random_take(s, table);
        return;
    }
    const lazy_op *row = lazy_ops[op];
    if (row->flags & LAZY_OP_CASTS || !lazy_simd_baseline.map[op] || !lazy_simd_baseline.map[op][dtype].by_scalars[0])
        return;
    lazy_ins ins = {
        .op = (int16_t)op, .dtype = (uint8_t)dtype, .result = (uint8_t)result_of(row, dtype), .narg = row->arity};
    for (int k = 0; k < row->arity; k++) {
        ins.arg[k] = cast(s, any_value(s), row->dtype == graph_dtype_where && k == 0 ? NEAP_DTYPE_BOOL : dtype);
        if (ins.arg[k] < 0)
            return;
    }
    add_ins(s, ins);
}

/* The map and the buffer of a sink. A STORE may go over a load. */
static void place_sink(sample *s, lazy_sink *sink) {
    const lazy_kernel *k = &s->kernel;
    for (int load = 0; load < k->nloads && sink->kind == LAZY_SINK_STORE; load++) {
        bool taken = s->loads[load].kind != LAZY_LOAD_BUFFER || s->loads[load].dtype != sink->dtype || below(2);
        for (int other = 0; other < k->nsinks; other++)
            taken |= s->sinks[other].slot == s->loads[load].slot;
        for (int axis = 0; axis < k->ndim; axis++)
            taken |= s->loads[load].read.stride[axis] == 0;
        if (taken)
            continue;
        sink->slot = s->loads[load].slot;
        sink->write = s->loads[load].read;
        return;
    }
    int64_t n = random_map(sink->kind == LAZY_SINK_STORE ? k->ndim : k->nkept, k->shape, true, &sink->write);
    sink->slot = (int16_t)new_buffer(s, sink->dtype, n);
}

static void random_store(sample *s) {
    int v = any_value(s);
    for (int tries = 0; s->wide && s->late[v] && s->varies[v] && tries < 20; tries++)
        v = any_value(s);
    bool row = !s->varies[v] && (s->late[v] ? s->wide || below(2) : below(3) == 0);
    lazy_sink sink = {.kind = row ? LAZY_SINK_STORE_ROW : LAZY_SINK_STORE, .dtype = (uint8_t)s->dtypes[v], .value = v};
    place_sink(s, &sink);
    s->sinks[s->kernel.nsinks++] = sink;
}

static int reduction_for(int dtype) {
    static const int ops[] = {LAZY_OP_sum, LAZY_OP_sum,    LAZY_OP_prod,  LAZY_OP_max,
                              LAZY_OP_min, LAZY_OP_argmax, LAZY_OP_argmin};
    return dtype == NEAP_DTYPE_BOOL ? (below(2) ? LAZY_OP_any : LAZY_OP_argmax) : ops[below(is_complex(dtype) ? 3 : 7)];
}

/* A reduction; with a load of its result, if one is given. */
static void random_reduce(sample *s, int load) {
    int v = any_value(s);
    if (s->wide && s->late[v])
        v = 0;
    int op = reduction_for(s->dtypes[v]);
    lazy_sink sink = {
        .kind = LAZY_SINK_REDUCE, .dtype = (uint8_t)s->dtypes[v], .op = (int16_t)op, .slot = -1, .value = v};
    if (lazy_ops[op]->flags & LAZY_OP_ARG)
        sink.dtype = NEAP_DTYPE_I32;
    if (load < 0 || below(2))
        place_sink(s, &sink);
    if (load >= 0) {
        s->loads[load] = (lazy_load){.kind = LAZY_LOAD_RESULT, .dtype = sink.dtype, .slot = (int16_t)s->kernel.nsinks};
        s->dtypes[load] = sink.dtype;
        s->usable[load] = s->late[load] = true;
    }
    s->sinks[s->kernel.nsinks++] = sink;
}

static void sample_new(sample *s) {
    *s = (sample){0};
    lazy_kernel *kernel = &s->kernel;
    kernel->loads = s->loads, kernel->ins = s->ins, kernel->sinks = s->sinks;
    random_shape(s);
    random_source(s, true);
    for (int k = (int)below(4); k > 0; k--)
        random_source(s, false);
    for (int k = (int)below(3); k > 0; k--)
        random_table(s);
    int stages = (int)below(4), first = kernel->nloads;
    for (int k = 0; k < stages; k++)
        new_load(s, LAZY_LOAD_RESULT, NEAP_DTYPE_F32);
    for (int k = 0; k <= stages; k++) {
        for (int tries = 1 + (int)below(5); tries > 0; tries--)
            random_ins(s);
        if (k < stages)
            random_reduce(s, first + k);
        if (k < stages && !s->wide) { /* its use over whole rows */
            int dtype = below(3) ? NEAP_DTYPE_F32 : NEAP_DTYPE_F64, a = cast(s, 0, dtype),
                b = cast(s, first + k, dtype);
            add_ins(s, (lazy_ins){.op = LAZY_OP_subtract,
                                  .dtype = (uint8_t)dtype,
                                  .result = (uint8_t)dtype,
                                  .narg = 2,
                                  .arg = {a, b}});
        }
        if (below(3) == 0)
            random_store(s);
    }
    if (below(3) == 0 || kernel->nsinks == 0)
        random_reduce(s, -1);
    if (below(2) || s->sinks[kernel->nsinks - 1].slot < 0)
        random_store(s);
}

static void sample_free(sample *s) {
    for (int k = 0; k < s->nbufs; k++)
        free(s->bufs[k]);
}

#endif
