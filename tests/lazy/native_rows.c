/* native_rows.c: native code of every map and cast gives the bits of the VM's loops: each dtype and instruction set,
 * with operands that are one element for all, at all distances from a whole number of vectors, from and to memory that
 * is near or far. Skipped without a generator. (release build only: generated code has no sanitizer in it, and making
 * it takes a minute under one) */
#include "tests/lazy/vm_native.h"
#include "tests/lazy/vm_random.h"

enum { MOST = 1100, MOST_INS = 300, PART = 24, INPUTS = 5, PAD = 3, LINE = 64 };

typedef struct rows {       /* all rows of one dtype: instruction k gives output k */
    uint8_t inputs[INPUTS]; /* dtypes; the last one is one element for all */
    lazy_ins ins[MOST_INS];
    int n, dtype;
} rows;

static void add(rows *r, int op, int result, int32_t a, int32_t b, int32_t c) {
    if (!native_has(op, r->dtype, result) || !CHECK(r->n < MOST_INS))
        return;
    r->ins[r->n++] = (lazy_ins){(int16_t)op, (uint8_t)r->dtype, (uint8_t)result, lazy_ops[op]->arity, {a, b, c}};
}

/* Inputs: a condition, two operands and a third one of the dtype, and one element for all. */
static void rows_new(rows *r, int dtype) {
    *r = (rows){.dtype = dtype};
    for (int k = 0; k < INPUTS; k++)
        r->inputs[k] = k == 0 ? NEAP_DTYPE_BOOL : (uint8_t)dtype;
    for (int op = 0; op < LAZY_OP_COUNT; op++) {
        const lazy_op *row = lazy_ops[op];
        if (row->kind != LAZY_MAP)
            continue;
        bool where = row->dtype == graph_dtype_where;
        for (int to = 0; row->flags & LAZY_OP_CASTS && to < NEAP_DTYPE_COUNT; to++)
            add(r, op, to, 1, 1, 1);
        if (row->flags & LAZY_OP_CASTS)
            continue;
        int result = result_of(row, dtype);
        add(r, op, result, where ? 0 : 1, 2, 3);
        if (row->arity > 1)
            add(r, op, result, where ? 0 : 1, 4, 3);
        if (row->arity == 2)
            add(r, op, result, 4, 2, 2);
    }
}

/* What the VM gives for instruction `ins`. */
static void expected(const lazy_simd *simd, const lazy_ins *ins, char *const *in, char *out, int64_t n) {
    int scalars = 0;
    for (int k = 0; k < ins->narg; k++)
        scalars |= (ins->arg[k] == INPUTS - 1) << k;
    const char *a[3] = {in[ins->arg[0]], in[ins->arg[1]], in[ins->arg[2]]};
    lazy_loop loop = lazy_ops[ins->op]->flags & LAZY_OP_CASTS ? simd->cast[ins->dtype][ins->result]
                                                              : simd->map[ins->op][ins->dtype].by_scalars[scalars];
    loop(out, a[0], a[1], a[2], n);
}

/* Results lie `shift` elements behind a place where any vector may begin. */
static void try_rows(const rows *r, const lazy_simd *simd, native_code code, int64_t n, int shift) {
    char *at[INPUTS + MOST_INS], *buffers[INPUTS + MOST_INS], other[sizeof(lazy_scalar) * (MOST + PAD)];
    for (int k = 0; k < INPUTS; k++) {
        buffers[k] = random_buffer(r->inputs[k], n + PAD);
        at[k] = buffers[k] + PAD * neap_dtype_bytes(r->inputs[k]); /* not where vectors begin */
    }
    for (int k = 0; k < r->n; k++) {
        int width = neap_dtype_bytes(r->ins[k].result);
        size_t bytes = (size_t)((n + LINE + shift + PAD) * width + LINE) / LINE * LINE;
        buffers[INPUTS + k] = memset(aligned_alloc(LINE, bytes), 0x5a, bytes);
        at[INPUTS + k] = buffers[INPUTS + k] + (LINE + shift) * width;
    }
    code(at, n);
    for (int k = 0; k < r->n; k++) {
        const lazy_ins *ins = &r->ins[k];
        int width = neap_dtype_bytes(ins->result);
        expected(simd, ins, at, other, n);
        bool ok = CHECK(same(ins->result, at[INPUTS + k], other, n * width));
        memset(other, 0x5a, (size_t)(PAD * width));
        ok &= CHECK(memcmp(at[INPUTS + k] - PAD * width, other, (size_t)(PAD * width)) == 0);
        ok &= CHECK(memcmp(at[INPUTS + k] + n * width, other, (size_t)(PAD * width)) == 0);
        if (!ok)
            fprintf(stderr, "%s of %s to %s, %s, %d elements, operands %d %d %d\n", lazy_ops[ins->op]->name,
                    neap_dtype_name(ins->dtype), neap_dtype_name(ins->result), simd->name, (int)n, ins->arg[0],
                    ins->arg[1], ins->arg[2]);
    }
    for (int k = 0; k < INPUTS + r->n; k++)
        free(buffers[k]);
}

/* Results over operands of their width. */
static void try_in_place(int dtype, bool far) {
    static const bool all[4] = {true, true, true, true};
    native_segment s = {0};
    native_load(&s, dtype, true), native_load(&s, dtype, true);
    native_ins(&s, (lazy_ins){LAZY_OP_maximum, (uint8_t)dtype, (uint8_t)dtype, 2, {0, 1, 0}});
    native_ins(&s, (lazy_ins){LAZY_OP_minimum, (uint8_t)dtype, (uint8_t)dtype, 2, {0, 1, 0}});
    native_sink(&s, LAZY_SINK_STORE, 0, 2), native_sink(&s, LAZY_SINK_STORE, 0, 3);
    native_unit *unit = native_of(&s, false, far ? all : NULL);
    if (!CHECK_EQ(native_state_of(unit), NATIVE_READY))
        return;
    int64_t n = 77;
    char *a = random_buffer(dtype, n), *b = random_buffer(dtype, n), high[sizeof(lazy_scalar) * 77],
         low[sizeof(lazy_scalar) * 77];
    vm_simd()->map[LAZY_OP_maximum][dtype].by_scalars[0](high, a, b, b, n);
    vm_simd()->map[LAZY_OP_minimum][dtype].by_scalars[0](low, a, b, b, n);
    native_code_of(unit)((char *[]){a, b, b, a}, n);
    CHECK(same(dtype, b, high, n * neap_dtype_bytes(dtype)) && same(dtype, a, low, n * neap_dtype_bytes(dtype)));
    free(a), free(b);
    native_drop(unit);
}

enum { LEAD_INPUTS = 4, LEAD_INS = 3, LEAD_LENGTH = 600 };

/* maximum(a, b), minimum of that and c, maximum of that and d, where most of a, b, c, d and the result lie `shift`
 * elements behind the begin of a vector, and operand `odd` does not. */
static void try_lead(native_code code, int dtype, int64_t n, int shift, int odd) {
    enum { ROOM = LINE + LEAD_LENGTH + LINE, RESULT = LEAD_INPUTS };
    int width = neap_dtype_bytes(dtype);
    char *at[RESULT + 1], *buffers[RESULT + 1], want[ROOM * sizeof(lazy_scalar)];
    for (int k = 0; k <= RESULT; k++) {
        size_t bytes = (size_t)(ROOM * width);
        buffers[k] = aligned_alloc(LINE, bytes);
        char *random = random_buffer(dtype, ROOM);
        memcpy(buffers[k], random, bytes);
        free(random);
        at[k] = buffers[k] + (LINE + (k == odd ? (shift + 5) % 16 : shift)) * width;
    }
    memcpy(want, buffers[RESULT], (size_t)(ROOM * width));
    char *out = want + (at[RESULT] - buffers[RESULT]);
    vm_simd()->map[LAZY_OP_maximum][dtype].by_scalars[0](out, at[0], at[1], at[1], n);
    vm_simd()->map[LAZY_OP_minimum][dtype].by_scalars[0](out, out, at[2], at[2], n);
    vm_simd()->map[LAZY_OP_maximum][dtype].by_scalars[0](out, out, at[3], at[3], n);
    code(at, n);
    if (!CHECK(same(dtype, buffers[RESULT], want, ROOM * width)))
        fprintf(stderr, "%s, %s: %d elements, %d behind a vector's begin, but for operand %d\n", neap_dtype_name(dtype),
                vm_isa_name(), (int)n, shift, odd);
    for (int k = 0; k <= RESULT; k++)
        free(buffers[k]);
}

/* Operands that lie anywhere. */
static void try_leads(int dtype) {
    static const int64_t sizes[] = {0, 1, 17, 255, 256, 257, 271, 272, LEAD_LENGTH - 1, LEAD_LENGTH};
    native_segment s = {0};
    for (int k = 0; k < LEAD_INPUTS; k++)
        native_load(&s, dtype, true);
    for (int k = 0; k < LEAD_INS; k++)
        native_ins(&s, (lazy_ins){k == 1 ? LAZY_OP_minimum : LAZY_OP_maximum,
                                  (uint8_t)dtype,
                                  (uint8_t)dtype,
                                  2,
                                  {k == 0 ? 0 : LEAD_INPUTS + k - 1, k + 1, 0}});
    native_sink(&s, LAZY_SINK_STORE, 0, LEAD_INPUTS + LEAD_INS - 1);
    native_unit *unit = native_of(&s, false, NULL);
    bool ready = CHECK_EQ(native_state_of(unit), NATIVE_READY);
    for (size_t k = 0; ready && k < sizeof sizes / sizeof *sizes; k++)
        for (int shift = 0; shift < 16; shift++)
            for (int odd = -1; odd <= LEAD_INPUTS; odd++)
                try_lead(native_code_of(unit), dtype, sizes[k], shift, odd);
    native_drop(unit);
}

/* Rows from … of all, in a body of their own: making one of hundreds takes much longer than making several. */
static rows part_of(const rows *all, int from) {
    rows part = *all;
    part.n = all->n - from < PART ? all->n - from : PART;
    memcpy(part.ins, all->ins + from, (size_t)part.n * sizeof *part.ins);
    return part;
}

static void try_dtype(int dtype) {
    const int lanes = strcmp(vm_isa_name(), "avx512") == 0 ? 16 : strcmp(vm_isa_name(), "avx2") == 0 ? 8 : 4;
    const int64_t sizes[] = {0, 1, lanes - 1, lanes, lanes + 1, 2 * lanes, 4 * lanes + 3, 1023, 1024};
    rows all;
    bool far[INPUTS + PART];
    memset(far, true, sizeof far);
    rows_new(&all, dtype);
    for (int from = 0; from < all.n; from += PART) {
        rows r = part_of(&all, from);
        bool is_far = from / PART % 2 == 0;
        native_segment s = {0};
        for (int k = 0; k < INPUTS; k++)
            native_load(&s, r.inputs[k], k < INPUTS - 1);
        for (int k = 0; k < r.n; k++)
            native_ins(&s, r.ins[k]);
        for (int k = 0; k < r.n; k++)
            native_sink(&s, LAZY_SINK_STORE, 0, INPUTS + k);
        native_unit *unit = native_of(&s, false, is_far ? far : NULL);
        if (!CHECK_EQ(native_state_of(unit), NATIVE_READY))
            fprintf(stderr, "%s, %s: %s\n", neap_dtype_name(dtype), vm_isa_name(), native_failure(unit));
        else
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
                try_rows(&r, vm_simd(), native_code_of(unit), sizes[k], k % 2 ? 0 : PAD);
        native_drop(unit);
    }
}

int main(void) {
    static const char *const sets[] = {"baseline", "avx2", "avx512"};
    native_begin();
    for (int k = 0; k < 3 && native_is_there; k++)
        for (int dtype = 0; dtype < NEAP_DTYPE_COUNT && vm_isa_set(sets[k]) == NEAP_OK; dtype++) {
            try_dtype(dtype);
            if (!native_has(LAZY_OP_maximum, dtype, dtype))
                continue;
            try_in_place(dtype, k % 2 == 0);
            try_leads(dtype);
        }
    return native_is_there ? check_end() : 0;
}
