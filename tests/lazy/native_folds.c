/* native_folds.c: what native code reduces while it is in registers has the bits of the VM's leaves: each reduction,
 * dtype and instruction set, leaves that are whole or short, with rare arguments in the midst of others; and greatest
 * and smallest numbers have those of their text, which is told of NaNs and zeros. What depends on single elements is
 * one. Native code is skipped without a generator. (release build only: generated code has no sanitizer in it, and
 * making it takes a minute under one) */
#include <math.h>

#include "tests/lazy/vm_native.h"
#include "tests/lazy/vm_random.h"

enum { MOST = 2100, LEAF = 256, PAD = 3 };

static const int64_t sizes[] = {0, 1, 3, 15, 16, 17, 31, 255, 256, 257, 512, 700, 1024, 2049};

/* Numbers whose sums and products are numbers, some of whose exponentials are rare; or, if `wild`, NaNs and others. */
static char *some_numbers(int dtype, int64_t n, bool wild) {
    if (wild)
        return random_buffer(dtype, n);
    char *data = malloc((size_t)(n + 1) * sizeof(lazy_scalar));
    for (int64_t i = 0; i < n; i++) {
        double x = (double)(below(2001) - 1000) / 999;
        x = below(400) == 0 ? (below(2) ? 100 : -120) : x;
        lazy_simd_baseline.cast[NEAP_DTYPE_F64][dtype](data + i * neap_dtype_bytes(dtype), &x, &x, &x, 1);
    }
    return data;
}

/* Leaves of n elements, by the VM's loops. */
static void expected(const lazy_sink *fold, char *out, const char *values, int64_t n) {
    const lazy_fold *loops = &vm_simd()->folds->fold[fold->op][fold->dtype];
    int width = neap_dtype_bytes(fold->dtype);
    for (int64_t k = 0; k * LEAF < n; k++) {
        const char *leaf = values + k * LEAF * width;
        loops->leaves(out + k * width, leaf, leaf, 1, n - k * LEAF < LEAF ? n - k * LEAF : LEAF);
    }
}

/* Combines leaves as they stand in the tree; the result is the first one. */
static void join(const lazy_sink *fold, char *leaf, int64_t leaves) {
    const lazy_fold *loops = &vm_simd()->folds->fold[fold->op][fold->dtype];
    int width = neap_dtype_bytes(fold->dtype);
    int64_t half = 1;
    while (half * 2 < leaves)
        half *= 2;
    if (leaves < 2)
        return;
    join(fold, leaf, half);
    join(fold, leaf + half * width, leaves - half);
    loops->pairs(leaf, leaf, leaf + half * width, NULL, 1);
}

/* One instruction of a dtype, of which the folds take the value; `stored`: it is an output, too. */
static void try_folds(const lazy_ins *ins, const lazy_sink *folds, int nfolds, bool stored, bool whole) {
    native_segment segment = {0};
    native_load(&segment, ins->dtype, true), native_load(&segment, ins->dtype, true);
    native_ins(&segment, *ins);
    if (stored)
        native_sink(&segment, LAZY_SINK_STORE, 0, 2);
    for (int k = 0; k < nfolds; k++)
        native_sink(&segment, LAZY_SINK_REDUCE, folds[k].op, 2);
    native_unit *unit = native_of(&segment, whole, NULL);
    int width = neap_dtype_bytes(ins->result);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes && CHECK_EQ(native_state_of(unit), NATIVE_READY); s++) {
        int64_t n = sizes[s], leaves = (n + LEAF - 1) / LEAF;
        char *a = some_numbers(ins->dtype, n, s % 3 == 0), *b = some_numbers(ins->dtype, n, s % 3 == 0),
             *at[3 + NATIVE_FOLDS_MAX];
        char values[MOST * sizeof(lazy_scalar)], made[MOST * sizeof(lazy_scalar)];
        char results[NATIVE_FOLDS_MAX][(MOST / LEAF + 2 + PAD) * sizeof(lazy_scalar)], other[sizeof results[0]];
        int places = 0;
        at[places++] = a, at[places++] = b;
        if (stored)
            at[places++] = made;
        for (int k = 0; k < nfolds; k++)
            at[places++] = memset(results[k], 0x5a, sizeof results[k]);
        native_code_of(unit)(at, n);
        vm_simd()->map[ins->op][ins->dtype].by_scalars[0](values, a, b, b, n);
        CHECK(!stored || same(ins->result, made, values, n * width));
        for (int k = 0; k < nfolds; k++) {
            memset(other, 0x5a, sizeof other);
            expected(&folds[k], other, values, n);
            if (whole)
                join(&folds[k], other, leaves);
            bool ok = CHECK(same(ins->result, results[k], other, (whole && n > 0 ? 1 : leaves) * width)) &
                      CHECK(memcmp(results[k] + leaves * width, other + leaves * width, (size_t)(PAD * width)) == 0);
            if (!ok)
                fprintf(stderr, "%s of %s of %s, %s, %d elements\n", lazy_ops[folds[k].op]->name,
                        lazy_ops[ins->op]->name, neap_dtype_name(ins->dtype), vm_isa_name(), (int)n);
        }
        free(a), free(b);
    }
    native_drop(unit);
}

/* What depends on single elements alone is one, for others and as an output. */
static void try_single(int dtype) {
    enum { N = 300 };
    const uint8_t d = (uint8_t)dtype;
    const lazy_ins ins[3] = {{LAZY_OP_maximum, d, d, 2, {0, 2, 0}},
                             {LAZY_OP_minimum, d, d, 2, {3, 1, 0}},
                             {LAZY_OP_minimum, d, d, 2, {3, 2, 0}}};
    native_segment segment = {0};
    for (int k = 0; k < 3; k++)
        native_load(&segment, dtype, k == 1);
    for (int k = 0; k < 3; k++)
        native_ins(&segment, ins[k]);
    native_sink(&segment, LAZY_SINK_STORE, 0, 4), native_sink(&segment, LAZY_SINK_STORE, 0, 5);
    native_unit *unit = native_of(&segment, false, NULL);
    if (CHECK_EQ(native_state_of(unit), NATIVE_READY)) {
        int width = neap_dtype_bytes(dtype);
        char *s = random_buffer(dtype, 2), *x = random_buffer(dtype, N), made[N * sizeof(lazy_scalar)];
        char single[2 * sizeof(lazy_scalar)], other[N * sizeof(lazy_scalar)], high[sizeof(lazy_scalar)];
        const lazy_loops *most = &vm_simd()->map[LAZY_OP_maximum][dtype],
                         *least = &vm_simd()->map[LAZY_OP_minimum][dtype];
        memset(single, 0x5a, sizeof single);
        native_code_of(unit)((char *[]){s, x, s + width, made, single}, N);
        most->by_scalars[0](high, s, s + width, s, 1);
        least->by_scalars[1](other, high, x, x, N);
        CHECK(same(dtype, made, other, N * width));
        least->by_scalars[0](other, high, s + width, s, 1);
        memset(other + width, 0x5a, (size_t)width);
        CHECK(same(dtype, single, other, width) && memcmp(single + width, other + width, (size_t)width) == 0);
        free(s), free(x);
    }
    native_drop(unit);
}

static void try_dtype(int dtype) {
    static const int16_t ops[] = {LAZY_OP_maximum, LAZY_OP_exp};
    lazy_sink folds[NATIVE_FOLDS_MAX];
    int n = 0;
    for (int op = 0; op < LAZY_OP_COUNT; op++)
        if (lazy_ops[op]->kind == LAZY_REDUCE && native_has_fold(op, dtype) && CHECK(n < NATIVE_FOLDS_MAX))
            folds[n++] = (lazy_sink){.op = (int16_t)op, .dtype = (uint8_t)dtype};
    for (size_t k = 0; k < sizeof ops / sizeof *ops && n > 0; k++) {
        lazy_ins ins = {ops[k], (uint8_t)dtype, (uint8_t)dtype, lazy_ops[ops[k]]->arity, {0, 1, 0}};
        if (!native_has(ops[k], dtype, dtype))
            continue;
        try_folds(&ins, folds, n, k > 0, false);
        try_folds(&ins, folds, n, k == 0, true);
        try_folds(&ins, folds + n - 1, 1, false, false);
    }
    if (native_has(LAZY_OP_maximum, dtype, dtype))
        try_single(dtype);
}

/* ---- Greatest and smallest numbers ------------------------------------------------------------------------------- */
/* A number of one of some kinds of lines: zeros of both signs alone, below or above others, infinities, NaNs. */
static double number(int kind, int64_t at, int64_t n) {
    double x = (double)(below(2000) - 1000) / 64, zero = below(2) ? 0.0 : -0.0;
    switch (kind) {
    case 0:
        return zero;
    case 1:
        return x < 0 || below(8) ? -fabs(x) - 1 : zero;
    case 2:
        return x > 0 || below(8) ? fabs(x) + 1 : zero;
    case 3:
        return at == n / 2 ? (double)NAN : x;
    case 4:
        return below(9) ? x : below(2) ? INFINITY : -INFINITY;
    default:
        return kind == 5 ? -INFINITY : kind == 6 ? INFINITY : x;
    }
}

static void try_extreme(int op, int dtype) {
    static const int64_t lengths[] = {1, 15, 16, 63, 64, 65, 127, 128, 129, 255, 256, 700, 1024};
    const lazy_fold *fold = &vm_simd()->folds->fold[op][dtype];
    int width = neap_dtype_bytes(dtype);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (int kind = 0; kind < 8; kind++) {
            enum { COUNT = 2 };
            double numbers[COUNT * 1024];
            char line[sizeof numbers], results[COUNT * sizeof(double)];
            int64_t n = lengths[k];
            for (int64_t i = 0; i < COUNT * n; i++)
                numbers[i] = number(kind, i % n, n);
            vm_simd()->cast[NEAP_DTYPE_F64][dtype](line, numbers, numbers, numbers, COUNT * n);
            fold->leaves(results, line, line, COUNT, n);
            for (int c = 0; c < COUNT; c++) {
                lazy_scalar best = fold->identity;
                for (int64_t i = 0; i < n; i++)
                    fold->pairs(&best, &best, line + (c * n + i) * width, line, 1);
                if (!CHECK(same(dtype, results + c * width, (char *)&best, width)))
                    fprintf(stderr, "%s of %s, %s, %d elements of kind %d\n", lazy_ops[op]->name,
                            neap_dtype_name(dtype), vm_isa_name(), (int)n, kind);
            }
        }
}

int main(void) {
    static const char *const sets[] = {"baseline", "avx2", "avx512"};
    native_begin();
    for (int k = 0; k < 3; k++) {
        if (vm_isa_set(sets[k]) != NEAP_OK)
            continue;
        for (int dtype = 0; dtype < NEAP_DTYPE_COUNT && native_is_there; dtype++)
            try_dtype(dtype);
        for (int dtype = NEAP_DTYPE_F32; dtype <= NEAP_DTYPE_F64; dtype++)
            try_extreme(LAZY_OP_max, dtype), try_extreme(LAZY_OP_min, dtype);
    }
    return check_end();
}
