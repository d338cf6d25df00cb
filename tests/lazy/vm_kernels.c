/* vm_kernels.c: random kernels through the VM against an interpreter that computes one element after another, with the
 * loops of the baseline set at n = 1, and reductions by the definition of the tree (lazy/vm/kernel.h). Results are
 * bit-equal for every instruction set, chunk size and number of threads. */
#include "tests/lazy/vm_native.h"
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
    static const int compare[] = {LAZY_OP_less,          LAZY_OP_less_equal, LAZY_OP_greater,
                                  LAZY_OP_greater_equal, LAZY_OP_equal,      LAZY_OP_not_equal};
    const bool chooses = value >= 0 && s->dtypes[value] == NEAP_DTYPE_BOOL;
    if (chooses && below(2) && s->kernel.nins + 7 < MAX_INS)
        return add_cast(s, value, dtype);
    if (chooses || below(6) == 0)
        return add_ins(s, LAZY_OP_where, dtype, chooses ? 0 : 1 + (int)below(2), value);
    return add_ins(s, below(5) ? cheap[below(12)] : compare[below(6)], dtype, (int)below(2), value);
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
        static const int ops[] = {LAZY_OP_sum, LAZY_OP_prod, LAZY_OP_max, LAZY_OP_min, LAZY_OP_argmax, LAZY_OP_argmin};
        int op = below(3) ? ops[below(is_complex(dtype) ? 2 : 6)] : LAZY_OP_sum;
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

/* ---- The interpreter --------------------------------------------------------------------------------------------- */
static int64_t place_of(const lazy_wide_map *map, int naxes, const int64_t *index) {
    int64_t at = map->offset;
    for (int k = 0; k < naxes; k++)
        at += index[k] * map->stride[k];
    return at;
}

static void unravel(int naxes, const int64_t *shape, int64_t at, int64_t *index) {
    for (int k = naxes - 1; k >= 0; k--) {
        index[k] = at % shape[k];
        at /= shape[k];
    }
}

static void eval(const sample *s, const int64_t *index, lazy_scalar *values) {
    const lazy_kernel *kernel = &s->kernel;
    for (int k = 0; k < kernel->nloads; k++) {
        const lazy_load *load = &s->loads[k];
        int width = neap_dtype_bytes(load->dtype);
        int64_t at = place_of(&load->read, kernel->ndim, index);
        if (load->kind == LAZY_LOAD_SCALAR)
            values[k] = s->scalars[load->slot];
        else if (load->kind == LAZY_LOAD_IOTA)
            lazy_simd_baseline.cast[NEAP_DTYPE_I64][load->dtype](&values[k], &at, &at, &at, 1);
        else
            memcpy(&values[k], (char *)s->bufs[load->slot] + at * width, (size_t)width);
    }
    for (int k = 0; k < kernel->nins; k++) {
        const lazy_ins *ins = &s->ins[k];
        const lazy_scalar *a[3] = {&values[ins->arg[0]], &values[ins->arg[1]], &values[ins->arg[2]]};
        lazy_loop loop = ins->op == LAZY_OP_astype ? lazy_simd_baseline.cast[ins->dtype][ins->result]
                                                   : lazy_simd_baseline.map[ins->op][ins->dtype].by_scalars[0];
        loop(&values[kernel->nloads + k], a[0], a[1], a[2], 1);
    }
}

static void combine(const lazy_fold *fold, lazy_scalar *a, const lazy_scalar *b) {
    fold->pairs(a, a, b, b, 1);
}

static lazy_scalar naive_leaf(const lazy_fold *fold, const lazy_scalar *x, int64_t n) {
    lazy_scalar lane[16];
    for (int l = 0; l < 16; l++)
        lane[l] = fold->identity;
    for (int64_t i = 0; i < n; i++)
        combine(fold, &lane[i % 16], &x[i]);
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            combine(fold, &lane[l], &lane[l + half]);
    return lane[0];
}

static lazy_scalar naive_tree(const lazy_fold *fold, const lazy_scalar *x, int64_t n, int64_t lo, int64_t hi) {
    if (hi - lo == 1)
        return naive_leaf(fold, x + lo * 256, n - lo * 256 < 256 ? n - lo * 256 : 256);
    int64_t split = 1;
    while (split * 2 < hi - lo)
        split *= 2;
    lazy_scalar left = naive_tree(fold, x, n, lo, lo + split), right = naive_tree(fold, x, n, lo + split, hi);
    combine(fold, &left, &right);
    return left;
}

static bool wins(int op, int dtype, const lazy_scalar *a, const lazy_scalar *b) {
    double x, y;
    lazy_simd_baseline.cast[dtype][NEAP_DTYPE_F64](&x, a, a, a, 1);
    lazy_simd_baseline.cast[dtype][NEAP_DTYPE_F64](&y, b, b, b, 1);
    if (dtype == NEAP_DTYPE_I64)
        return op == LAZY_OP_argmax ? a->i64 > b->i64 : a->i64 < b->i64;
    if (x != x || y != y)
        return x != x && y == y;
    return op == LAZY_OP_argmax ? x > y : x < y;
}

static lazy_scalar naive_reduce(const lazy_sink *sink, int dtype, const lazy_scalar *x, int64_t n) {
    if (lazy_ops[sink->op]->flags & LAZY_OP_ARG) {
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++)
            if (wins(sink->op, dtype, &x[i], &x[best]))
                best = i;
        return (lazy_scalar){.i32 = (int32_t)best};
    }
    return naive_tree(&lazy_simd_baseline.fold[sink->op][dtype], x, n, 0, (n + 255) / 256);
}

static void interpret(const sample *s, void *const *out) {
    const lazy_kernel *kernel = &s->kernel;
    bool reduces = s->sinks[0].kind == LAZY_SINK_REDUCE;
    int64_t size = 1, inner = 1, index[LAZY_MAX_DOMAIN] = {0};
    for (int k = 0; k < kernel->ndim; k++) {
        size *= kernel->shape[k];
        inner *= k >= kernel->nkept ? kernel->shape[k] : 1;
    }
    lazy_scalar values[MAX_LOADS + MAX_INS], *rows = malloc((size_t)inner * MAX_SINKS * sizeof *rows);
    for (int64_t at = 0; at < size; at++) {
        unravel(kernel->ndim, kernel->shape, at, index);
        memset(values, 0, sizeof values);
        eval(s, index, values);
        for (int k = 0; k < kernel->nsinks; k++) {
            const lazy_sink *sink = &s->sinks[k];
            int width = neap_dtype_bytes(sink->dtype);
            lazy_scalar result = values[sink->value];
            if (reduces) {
                rows[k * inner + at % inner] = result;
                if (at % inner != inner - 1)
                    continue;
                result = naive_reduce(sink, s->dtypes[sink->value], rows + k * inner, inner);
            }
            memcpy((char *)out[k] + place_of(&sink->write, reduces ? kernel->nkept : kernel->ndim, index) * width,
                   &result, (size_t)width);
        }
    }
    free(rows);
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */
static void describe(const sample *s, int number, const char *isa, int64_t chunk, bool threads) {
    fprintf(stderr, "sample %d, %s, chunk %d, %s: domain", number, isa, (int)chunk, threads ? "7 workers" : "1 thread");
    for (int k = 0; k < s->kernel.ndim; k++)
        fprintf(stderr, "%s%d", k == s->kernel.nkept ? " | " : " ", (int)s->kernel.shape[k]);
    for (int k = 0; k < s->kernel.nins; k++)
        fprintf(stderr, ", %s(%d %d %d):%s", lazy_ops[s->ins[k].op]->name, s->ins[k].arg[0], s->ins[k].arg[1],
                s->ins[k].arg[2], neap_dtype_name(s->ins[k].dtype));
    for (int k = 0; k < s->kernel.nsinks; k++)
        fprintf(stderr, "; sink of %d %s", s->sinks[k].value,
                s->sinks[k].kind == LAZY_SINK_REDUCE ? lazy_ops[s->sinks[k].op]->name : "store");
    fprintf(stderr, "\n");
}

/* Kernels prepared as each form, chains by their links, sums taken as computed, loads reduced where they are; with the
 * set that every CPU has. */
static int native_runs;
static int forms[VM_NEST_COLUMNS + 1], chains[LAZY_LINKS_MAX + 1], sums, loads;
static int begin_casts, end_bools, wheres; /* in chains */

static void count_links(const vm_program *p, const vm_ins *ins) {
    const vm_link *first = &p->links[ins->arg[0]], *last = first + ins->arg[1] - 1;
    chains[ins->arg[1]]++;
    begin_casts += first->code != p->simd->chains->begin;
    end_bools += last->code == p->simd->chains->end_bool[ins->width];
    for (const vm_link *link = first; link < last; link++)
        wheres += link->code == NULL;
}

static void count_form(const sample *s) {
    const vm_program *p = s->kernel.prepared;
    if (p->size == 0 || p->simd != &lazy_simd_baseline)
        return;
    forms[p->form]++;
    for (int k = 0; k < p->nins; k++)
        if (p->ins[k].what == VM_CHAIN)
            count_links(p, &p->ins[k]);
        else
            loads += p->ins[k].what == VM_FOLD_LOAD;
    for (int k = 0; k < p->nsinks; k++)
        sums += p->sinks[k].summed != NULL;
}

static void try_sample(sample *s, int number) {
    static const char *const sets[] = {"baseline", "avx2", "avx512"};
    void *expected[MAX_SINKS];
    for (int k = 0; k < s->kernel.nsinks; k++)
        expected[k] = calloc(1, (size_t)s->bytes[s->sinks[k].slot]);
    interpret(s, expected);
    for (int variant = 0; variant < 12; variant++) {
        neap_run run = {.device = 0, .worker = -1};
        vm_limit.chunk = variant & 1 ? 256 : 1024;
        vm_limit.stream_min = variant & 2 ? 1 : 0;
        if (vm_isa_set(sets[variant / 4]) != NEAP_OK)
            continue;
        for (int k = 0; k < s->kernel.nsinks; k++)
            memset(s->bufs[s->sinks[k].slot], 0, (size_t)s->bytes[s->sinks[k].slot]);
        bool ok = CHECK_EQ(vm_kernel_prepare(&s->kernel), NEAP_OK) &&
                  CHECK_EQ(vm_kernel_run(&s->kernel, s->bufs, s->scalars, variant & 2 ? &run : NULL), NEAP_OK);
        if (ok && !native_is_there)
            count_form(s);
        native_runs += ok && native_is_used(&s->kernel);
        for (int k = 0; ok && k < s->kernel.nsinks; k++) {
            int slot = s->sinks[k].slot;
            ok = CHECK(same(s->sinks[k].dtype, s->bufs[slot], expected[k], s->bytes[slot]));
        }
        if (!ok)
            describe(s, number, sets[variant / 4], vm_limit.chunk, variant & 2);
        vm_kernel_unprepare(&s->kernel);
    }
    for (int k = 0; k < s->kernel.nsinks; k++)
        free(expected[k]);
}

static void try_samples(int samples, int others) {
    for (int k = 0; k < samples; k++) {
        sample s;
        sample_new(&s, k % 2);
        try_sample(&s, k);
        sample_free(&s);
    }
    for (int k = 0; k < others; k++) {
        sample s;
        columns_new(&s, k);
        try_sample(&s, k);
        sample_free(&s);
        strips_new(&s, k);
        try_sample(&s, 1000 + k);
        sample_free(&s);
    }
}

/* vm_kernels [SAMPLES [NATIVE_SAMPLES]] */
int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : check_times(900, 130);
    int native_samples = argc > 2 ? atoi(argv[2]) : check_times(30, 10);
    neap_engine_start(&(neap_engine_config){.workers = 7});
    vm_limit.parallel_min = 1, vm_limit.task_min = 1;
    try_samples(samples, 120);
    native_begin();
    if (native_is_there)
        try_samples(native_samples, 8);
    CHECK(!native_is_there || native_runs > native_samples);
    neap_engine_stop();
    for (int form = 0; form <= VM_NEST_COLUMNS && samples >= 400; form++)
        CHECK(forms[form] > 6);
    CHECK(forms[VM_NEST_STRIPS] >= 2 * 90);
    CHECK(samples < 400 || (sums > 10 && loads >= 27));
    CHECK(samples < 400 || (begin_casts > 20 && end_bools > 20 && wheres > 20));
    for (int links = 4; links < 14; links++)
        CHECK(samples < 400 || chains[links] > 0);
    return check_end();
}
