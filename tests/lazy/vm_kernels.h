/* vm_kernels.h: random kernels of maps and reductions, for tests of what runs kernels. */
#ifndef NEAP_TESTS_LAZY_VM_KERNELS_H
#define NEAP_TESTS_LAZY_VM_KERNELS_H

#include "tests/lazy/vm_random.h"

enum { MAX_LOADS = 5, MAX_INS = 32, MAX_SINKS = 3, MAX_AXES = 4 };

/* ---- A random kernel --------------------------------------------------------------------------------------------- */
typedef struct sample {
    lazy_kernel kernel;
    lazy_load loads[MAX_LOADS];
    lazy_ins ins[MAX_INS];
    lazy_sink sinks[MAX_SINKS];
    int dtypes[MAX_LOADS + MAX_INS]; /* of the values */
    void *bufs[MAX_LOADS + MAX_SINKS];
    int64_t bytes[MAX_LOADS + MAX_SINKS]; /* of the buffers */
    lazy_scalar scalars[MAX_LOADS];
    int nbufs;
} sample;

static void random_load(sample *s, int k) {
    lazy_load *load = &s->loads[k];
    int kind = (int)below(8);
    *load = (lazy_load){.kind = LAZY_LOAD_BUFFER, .dtype = (uint8_t)random_dtype()};
    if (kind == 0) {
        load->kind = LAZY_LOAD_SCALAR;
        load->slot = (int16_t)k;
        random_element(load->dtype, &s->scalars[k]);
    } else if (kind == 1) {
        load->kind = LAZY_LOAD_IOTA;
        load->dtype = (uint8_t)(1 + below(NEAP_DTYPE_C64 - 1)); /* any but bool and complex ones */
        random_map(s->kernel.ndim, s->kernel.shape, false, &load->read);
    } else {
        int64_t n = random_map(s->kernel.ndim, s->kernel.shape, false, &load->read);
        load->slot = (int16_t)s->nbufs;
        s->bytes[s->nbufs] = n * neap_dtype_bytes(load->dtype);
        s->bufs[s->nbufs++] = random_buffer(load->dtype, n);
    }
    s->dtypes[k] = load->dtype;
}

static int add_cast(sample *s, int from, int dtype) {
    if (is_complex(s->dtypes[from]) && !is_complex(dtype) && dtype != NEAP_DTYPE_BOOL) {
        int out = s->kernel.nloads + s->kernel.nins;
        s->dtypes[out] = dtype_of_part(s->dtypes[from]);
        s->ins[s->kernel.nins++] = (lazy_ins){.op = LAZY_OP_real,
                                              .dtype = (uint8_t)s->dtypes[from],
                                              .result = (uint8_t)s->dtypes[out],
                                              .narg = 1,
                                              .arg = {from}};
        from = out;
    }
    int out = s->kernel.nloads + s->kernel.nins;
    s->ins[s->kernel.nins++] = (lazy_ins){
        .op = LAZY_OP_astype, .dtype = (uint8_t)s->dtypes[from], .result = (uint8_t)dtype, .narg = 1, .arg = {from}};
    s->dtypes[out] = dtype;
    return out;
}

/* A value of the dtype, or a cast of one. Returns its number; may add an instruction. */
static int value_of_dtype(sample *s, int dtype) {
    int n = s->kernel.nloads + s->kernel.nins, from = (int)below(n);
    for (int k = 0; k < n; k++)
        if (s->dtypes[(from + k) % n] == dtype)
            return (from + k) % n;
    return add_cast(s, from, dtype);
}

/* An instruction on values of the dtype; operand `side` is `value` if that is not negative. Returns its result, or -1
 * where there is no such instruction. */
static int add_ins(sample *s, int op, int dtype, int side, int value) {
    const lazy_op *row = lazy_ops[op];
    if (row->kind != LAZY_MAP || row->flags & LAZY_OP_CASTS || !lazy_simd_baseline.map[op] ||
        !lazy_simd_baseline.map[op][dtype].by_scalars[0] || s->kernel.nins + 7 >= MAX_INS)
        return -1;
    lazy_ins ins = {
        .op = (int16_t)op, .dtype = (uint8_t)dtype, .result = (uint8_t)result_of(row, dtype), .narg = row->arity};
    for (int k = 0; k < row->arity; k++)
        ins.arg[k] = value >= 0 && k == side % row->arity
                         ? value
                         : value_of_dtype(s, row->dtype == graph_dtype_where && k == 0 ? NEAP_DTYPE_BOOL : dtype);
    int out = s->kernel.nloads + s->kernel.nins;
    s->dtypes[out] = ins.result;
    s->ins[s->kernel.nins++] = ins;
    return out;
}

static void random_ins(sample *s) {
    static const int cheap[] = {LAZY_OP_add, LAZY_OP_multiply, LAZY_OP_subtract, LAZY_OP_square}; /* meet in sums */
    int op = random_map_op(), dtype = random_dtype();
    if (below(2))
        op = cheap[below(4)], dtype = below(3) ? NEAP_DTYPE_F32 : NEAP_DTYPE_F64;
    add_ins(s, op, dtype, 0, -1);
}

/* A cheap instruction of a dtype on a value: of that dtype, or bool, as comparing gives it. */
static int add_cheap(sample *s, int dtype, int value) {
    static const int cheap[] = {LAZY_OP_add,      LAZY_OP_subtract, LAZY_OP_multiply, LAZY_OP_divide,
                                LAZY_OP_maximum,  LAZY_OP_minimum,  LAZY_OP_negative, LAZY_OP_abs,
                                LAZY_OP_subtract, LAZY_OP_square,   LAZY_OP_sqrt,     LAZY_OP_reciprocal};
    static const int compare[] = {LAZY_OP_less,  LAZY_OP_less_equal, LAZY_OP_greater, LAZY_OP_greater_equal,
                                  LAZY_OP_equal, LAZY_OP_not_equal,  LAZY_OP_isnan,   LAZY_OP_isfinite};
    const bool chooses = value >= 0 && s->dtypes[value] == NEAP_DTYPE_BOOL;
    if (chooses && below(2) && s->kernel.nins + 7 < MAX_INS)
        return add_cast(s, value, dtype);
    if (chooses || below(6) == 0)
        return add_ins(s, LAZY_OP_where, dtype, chooses ? 0 : 1 + (int)below(2), value);
    return add_ins(s, below(5) ? cheap[below(12)] : compare[below(8)], dtype, (int)below(2), value);
}

/* Cheap instructions, each on the result of the one before; often as many as make the longest chains. */
static void random_chain(sample *s) {
    static const int dtypes[] = {NEAP_DTYPE_F32, NEAP_DTYPE_F32, NEAP_DTYPE_F64, NEAP_DTYPE_I32, NEAP_DTYPE_I64};
    static const int bytes[] = {NEAP_DTYPE_BOOL, NEAP_DTYPE_U8, NEAP_DTYPE_I8};
    int dtype = dtypes[below(5)], value = -1;
    if (below(3) == 0 && s->kernel.nins + 7 < MAX_INS)
        value = add_cast(s, value_of_dtype(s, bytes[below(3)]), dtype);
    for (int length = below(3) ? 2 + (int)below(LAZY_CHAIN_MAX + 4) : LAZY_CHAIN_MAX + 5; length > 0; length--) {
        int next_value = add_cheap(s, dtype, value);
        value = next_value < 0 ? value : next_value;
    }
}

static void random_sink(sample *s, int k, bool reduces) {
    lazy_kernel *kernel = &s->kernel;
    int nvalues = kernel->nloads + kernel->nins, value = below(3) ? nvalues - 1 : (int)below(nvalues);
    if (reduces && dtype_is_half(s->dtypes[value]))
        value = add_cast(s, value, NEAP_DTYPE_F32); /* as the recorder casts what is reduced */
    int dtype = s->dtypes[value];
    lazy_sink *sink = &s->sinks[k];
    *sink = (lazy_sink){.kind = reduces ? LAZY_SINK_REDUCE : LAZY_SINK_STORE, .value = value};
    if (reduces) {
        static const int ops[] = {LAZY_OP_sum,    LAZY_OP_prod,   LAZY_OP_max,    LAZY_OP_min,
                                  LAZY_OP_argmax, LAZY_OP_argmin, LAZY_OP_nanmax, LAZY_OP_nanmin};
        int op = below(3) ? ops[below(is_complex(dtype) ? 2 : dtype_is_inexact(dtype) ? 8 : 6)] : LAZY_OP_sum;
        if (dtype == NEAP_DTYPE_BOOL)
            op = below(2) ? LAZY_OP_any : LAZY_OP_argmax;
        sink->op = (int16_t)op;
        if (lazy_ops[op]->flags & LAZY_OP_ARG)
            dtype = NEAP_DTYPE_I32;
    }
    sink->dtype = (uint8_t)dtype;
    int64_t n = random_map(reduces ? kernel->nkept : kernel->ndim, kernel->shape, true, &sink->write);
    sink->slot = (int16_t)s->nbufs;
    s->bytes[s->nbufs] = n * neap_dtype_bytes(dtype);
    s->bufs[s->nbufs++] = calloc((size_t)n, (size_t)neap_dtype_bytes(dtype));
}

static void sample_new(sample *s, bool reduces) {
    static const int64_t extents[] = {1, 2, 3, 5, 7, 10, 17, 33, 64, 100, 130, 257, 300, 700, 1500};
    *s = (sample){0};
    lazy_kernel *kernel = &s->kernel;
    int64_t size = 1;
    kernel->loads = s->loads, kernel->ins = s->ins, kernel->sinks = s->sinks;
    kernel->ndim = (int)below(MAX_AXES + 1);
    for (int k = 0; k < kernel->ndim; k++) {
        kernel->shape[k] = extents[below(15)];
        if (size * kernel->shape[k] > 40000)
            kernel->shape[k] = extents[below(4)];
        size *= kernel->shape[k];
    }
    kernel->nkept = reduces ? (int)below(kernel->ndim + 1) : kernel->ndim;
    kernel->nloads = 1 + (int)below(MAX_LOADS);
    for (int k = 0; k < kernel->nloads; k++)
        random_load(s, k);
    for (int tries = (int)below(30); tries > 0; tries--)
        random_ins(s);
    if (below(3))
        random_chain(s);
    kernel->nsinks = below(3) ? 1 : 1 + (int)below(MAX_SINKS);
    for (int k = 0; k < kernel->nsinks; k++)
        random_sink(s, k, reduces);
}

/* A reduction of a load whose columns lie side by side: in more than one block, or few of them, with row behind row. */
static void columns_new(sample *s, int k) {
    static const int64_t rows[] = {2, 7, 15, 16, 17, 100, 256, 300, 1000};
    static const int ops[] = {LAZY_OP_sum, LAZY_OP_max, LAZY_OP_argmin};
    const bool few = k >= 27;
    const int64_t columns = few ? 2 + below(90) : 270 + below(40), step = few ? columns : columns + below(9);
    const int64_t count = rows[k / 3 % 9] + (few ? below(600) : 0), n = count * step;
    const int dtype = few ? random_plain_dtype() : NEAP_DTYPE_F32, op = few ? k % 2 : k % 3;
    *s = (sample){.kernel = {.ndim = 2, .nkept = 1, .shape = {columns, count}, .nloads = 1, .nsinks = 1}};
    s->kernel.loads = s->loads, s->kernel.ins = s->ins, s->kernel.sinks = s->sinks;
    s->loads[0] = (lazy_load){.kind = LAZY_LOAD_BUFFER, .dtype = (uint8_t)dtype, .read = {.stride = {1, step}}};
    s->sinks[0] = (lazy_sink){.kind = LAZY_SINK_REDUCE, .op = (int16_t)ops[op], .slot = 1, .write = {.stride = {1}}};
    if (dtype == NEAP_DTYPE_BOOL)
        s->sinks[0].op = op ? LAZY_OP_any : LAZY_OP_all;
    if (is_complex(dtype))
        s->sinks[0].op = op ? LAZY_OP_prod : LAZY_OP_sum;
    s->sinks[0].dtype = (uint8_t)(ops[op] == LAZY_OP_argmin ? NEAP_DTYPE_I32 : dtype);
    s->dtypes[0] = dtype;
    s->nbufs = 2;
    s->bytes[0] = n * neap_dtype_bytes(dtype), s->bytes[1] = columns * neap_dtype_bytes(s->sinks[0].dtype);
    s->bufs[0] = random_buffer(dtype, n);
    s->bufs[1] = calloc(1, (size_t)s->bytes[1]);
}

/* Maps of loads that run across the result, along it, or stay the same along one axis: blocks of rows and columns that
 * are whole or end at an edge. Some store a load that crosses besides. */
static void strips_new(sample *s, int k) {
    static const int64_t across[] = {8, 15, 16, 17, 32, 47}, along[] = {511, 512, 513, 640, 1023, 1025, 127, 128, 129};
    const int64_t rows = across[k % 6] * (along[k % 9] < 500 ? 6 : 1), columns = along[k % 9], outer = 1 + k / 9 % 3;
    const int dtype = k % 3 ? random_dtype() : NEAP_DTYPE_F32, nloads = 2 + (int)below(3);
    *s = (sample){.kernel = {.ndim = 3, .nkept = 3, .shape = {outer, rows, columns}, .nloads = nloads}};
    s->kernel.loads = s->loads, s->kernel.ins = s->ins, s->kernel.sinks = s->sinks;
    for (int j = 0; j < nloads; j++) {
        const int64_t n = outer * rows * columns, wide = rows * columns;
        const lazy_wide_map maps[] = {{.stride = {wide, 1, rows}},
                                      {.stride = {wide, columns, 1}},
                                      {.offset = n - 1, .stride = {-wide, -1, -rows}},
                                      {.stride = {wide, columns, 0}},
                                      {.stride = {0, 0, 1}},
                                      {.offset = columns - 1, .stride = {wide, columns, -1}}};
        s->loads[j] = (lazy_load){.kind = LAZY_LOAD_BUFFER, .dtype = (uint8_t)dtype, .slot = (int16_t)s->nbufs};
        s->loads[j].read = maps[j < 2 ? j : (int)below(6)];
        if (j > 1 && below(5) == 0)
            s->loads[j].kind = LAZY_LOAD_IOTA, s->loads[j].dtype = NEAP_DTYPE_I64;
        s->dtypes[j] = s->loads[j].dtype;
        s->bytes[s->nbufs] = n * neap_dtype_bytes(s->dtypes[j]);
        s->bufs[s->nbufs++] = random_buffer(s->dtypes[j], n);
    }
    while (s->kernel.nins == 0)
        random_ins(s);
    add_ins(s, dtype == NEAP_DTYPE_BOOL ? LAZY_OP_logical_and : LAZY_OP_multiply, dtype, 0, 0);
    add_ins(s, dtype == NEAP_DTYPE_BOOL ? LAZY_OP_logical_or : LAZY_OP_maximum, dtype, 1, 1);
    if (below(2))
        random_chain(s);
    s->kernel.nsinks = 1 + (int)below(MAX_SINKS);
    for (int j = 0; j < s->kernel.nsinks; j++) {
        const int nvalues = nloads + s->kernel.nins, value = j == 1 ? 0 : nvalues - 1 - (int)below(nvalues - nloads);
        s->sinks[j] = (lazy_sink){.kind = LAZY_SINK_STORE, .value = value, .dtype = (uint8_t)s->dtypes[value]};
        s->sinks[j].slot = (int16_t)s->nbufs;
        s->sinks[j].write = (lazy_wide_map){.stride = {rows * columns, columns, 1}};
        s->bytes[s->nbufs] = outer * rows * columns * neap_dtype_bytes(s->sinks[j].dtype);
        s->bufs[s->nbufs] = calloc(1, (size_t)s->bytes[s->nbufs]);
        s->nbufs++;
    }
}

static void sample_free(sample *s) {
    for (int k = 0; k < s->nbufs; k++)
        free(s->bufs[k]);
}

#endif
