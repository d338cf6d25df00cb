/* facts.c: what rows say of an op is so, and no row leaves it out: LAZY_OP_IDENTITY, LAZY_OP_CHOOSES, LAZY_OP_COMMUTES
 * of maps, .combines and the identity of reductions. Each is tried on special and on random bits of each dtype.
 *
 *     facts [SEED]
 */
#include "tests/lazy/vm_random.h"

enum { COUNT = 4096, LONG = 48 /* elements of a row that is reduced */ };

/* Operands by dtype; every second element is random bits. */
static char *operands[3][NEAP_DTYPE_COUNT], *condition;

static void draw_element(int dtype, char *out) {
    static const double special[] = {
        0.0,    -0.0,  1,      -1,  2,  0.5, __builtin_nan(""), __builtin_inf(), -__builtin_inf(),
        1e-320, 1e-45, -1e308, 127, 128};
    const int bytes = neap_dtype_bytes(dtype), part = is_complex(dtype) ? bytes / 2 : bytes;
    if (dtype == NEAP_DTYPE_BOOL) {
        *out = (char)below(2);
        return;
    }
    if (below(16) == 0) { /* of complex numbers, too, where parts that are drawn seldom make 1 */
        lazy_simd_baseline.cast[NEAP_DTYPE_F64][dtype](out, &special[2], NULL, NULL, 1);
        return;
    }
    for (int at = 0; at < bytes; at += part)
        if (below(2))
            lazy_simd_baseline.cast[NEAP_DTYPE_F64][is_complex(dtype) ? dtype_of_part(dtype) : dtype](
                out + at, &special[below(14)], NULL, NULL, 1);
        else
            for (int k = 0; k < part; k++)
                out[at + k] = (char)next();
}

static char *draw(int dtype) {
    const int bytes = neap_dtype_bytes(dtype);
    char *data = malloc((size_t)(COUNT * bytes));
    for (int k = 0; k < COUNT; k++)
        draw_element(dtype, data + k * bytes);
    return data;
}

/* ---- Maps -------------------------------------------------------------------------------------------------------- */
typedef struct map { /* of a dtype, and its results */
    const lazy_op *row;
    lazy_loop loop;
    int dtype, result;
    char *out;
} map;

/* The operand k; of `where` the first is a bool. */
static const char *operand(const map *m, int k) {
    return k == 0 && m->row->dtype == graph_dtype_where ? condition : operands[k][m->dtype];
}

static void apply(const map *m, char *out, const char *a, const char *b, const char *c) {
    m->loop(out, a, b, c, COUNT);
}

/* Is each element of the results that of an operand? */
static bool chooses(const map *m) {
    const int bytes = neap_dtype_bytes(m->dtype);
    bool all = m->result == m->dtype;
    for (int i = 0; i < COUNT && all; i++) {
        bool one = false;
        for (int k = 0; k < m->row->arity; k++)
            one |= operand(m, k) != condition && same(m->dtype, m->out + i * bytes, operand(m, k) + i * bytes, bytes);
        all = one;
    }
    return all;
}

static bool commutes(const map *m) {
    const int64_t bytes = COUNT * neap_dtype_bytes(m->result);
    char *turned = malloc((size_t)bytes);
    apply(m, turned, operand(m, 1), operand(m, 0), NULL);
    bool is = same(m->result, m->out, turned, bytes);
    free(turned);
    return is;
}

/* The flags that hold in all dtypes that a map accepts. */
static uint32_t find_facts(const lazy_op *row, int op) {
    uint32_t facts = row->arity == 1 ? LAZY_OP_IDENTITY : LAZY_OP_CHOOSES;
    facts |= row->arity == 2 ? LAZY_OP_COMMUTES : 0;
    for (int dtype = 0; dtype < NEAP_DTYPE_COUNT && facts; dtype++) {
        map m = {.row = row, .loop = vm_simd()->map[op][dtype].by_scalars[0], .dtype = dtype};
        if (!m.loop)
            continue;
        m.result = result_of(row, dtype);
        m.out = malloc((size_t)(COUNT * neap_dtype_bytes(m.result)));
        apply(&m, m.out, operand(&m, 0), operand(&m, 1), operand(&m, 2));
        if (!chooses(&m))
            facts &= ~(uint32_t)(LAZY_OP_CHOOSES | LAZY_OP_IDENTITY);
        if (facts & LAZY_OP_COMMUTES && !commutes(&m))
            facts &= ~(uint32_t)LAZY_OP_COMMUTES;
        free(m.out);
    }
    return facts;
}

static void check_map(int op) {
    static const struct {
        uint32_t flag;
        const char *name;
    } flags[] = {{LAZY_OP_IDENTITY, "IDENTITY"}, {LAZY_OP_CHOOSES, "CHOOSES"}, {LAZY_OP_COMMUTES, "COMMUTES"}};
    const lazy_op *row = lazy_ops[op];
    const uint32_t facts = row->flags & LAZY_OP_CASTS ? 0 : find_facts(row, op);
    for (int k = 0; k < 3; k++) {
        bool is = facts & flags[k].flag, says = row->flags & flags[k].flag;
        if (!CHECK(is == says))
            fprintf(stderr, "%s %s LAZY_OP_%s\n", row->name, is ? "lacks" : "is not", flags[k].name);
    }
}

/* ---- Reductions -------------------------------------------------------------------------------------------------- */
/* Does the reduction combine pairs as a map does? */
static bool combines_as(const lazy_fold *fold, int op, int dtype) {
    const int64_t bytes = COUNT * neap_dtype_bytes(dtype);
    const char *a = operands[0][dtype], *b = operands[1][dtype];
    char *by_map = malloc((size_t)bytes), *by_fold = malloc((size_t)bytes);
    const lazy_loop loop = vm_simd()->map[op][dtype].by_scalars[0];
    fold->pairs(by_fold, a, b, NULL, COUNT);
    if (loop)
        loop(by_map, a, b, NULL, COUNT);
    bool is = loop && same(dtype, by_map, by_fold, bytes);
    free(by_map), free(by_fold);
    return is;
}

/* Of rows x and y one after another the same as of what the map gives for x and y, since their elements meet in lanes;
 * where the map chooses, also the same as the map of both results. */
static void check_rows(int reduction, const lazy_fold *fold, int op, int dtype) {
    const lazy_loop pair = vm_simd()->map[op][dtype].by_scalars[0];
    const int bytes = neap_dtype_bytes(dtype);
    char *combined = malloc((size_t)(LAZY_LANES * bytes));
    lazy_scalar both, one[2], met;
    for (int i = 0; i + 2 * LONG <= COUNT; i += LAZY_LANES) {
        const char *x = operands[0][dtype] + i * bytes, *y = x + LAZY_LANES * bytes;
        pair(combined, x, y, NULL, LAZY_LANES);
        fold->leaves(&both, x, x, 1, 2 * LAZY_LANES);
        fold->leaves(&met, combined, combined, 1, LAZY_LANES);
        if (!CHECK(same(dtype, (char *)&both, (char *)&met, bytes)))
            fprintf(stderr, "%s of %s: lanes\n", lazy_ops[reduction]->name, neap_dtype_name(dtype));
        if (!(lazy_ops[op]->flags & LAZY_OP_CHOOSES))
            continue;
        const int first = 1 + (int)below(LONG);
        fold->leaves(&both, x, x, 1, 2 * LONG);
        fold->leaves(&one[0], x, x, 1, first);
        fold->leaves(&one[1], x + first * bytes, x + first * bytes, 1, 2 * LONG - first);
        pair(&met, &one[0], &one[1], NULL, 1);
        if (!CHECK(same(dtype, (char *)&both, (char *)&met, bytes)))
            fprintf(stderr, "%s of %s: rows one after another\n", lazy_ops[reduction]->name, neap_dtype_name(dtype));
    }
    free(combined);
}

/* What it starts with changes no element. */
static bool is_neutral(const lazy_fold *fold, int dtype) {
    const int bytes = neap_dtype_bytes(dtype);
    const char *x = operands[0][dtype];
    bool is = true;
    for (int i = 0; i < COUNT && is; i++) {
        lazy_scalar left, right;
        fold->pairs(&left, &fold->identity, x + i * bytes, NULL, 1);
        fold->pairs(&right, x + i * bytes, &fold->identity, NULL, 1);
        is = same(dtype, (char *)&left, x + i * bytes, bytes) && same(dtype, (char *)&right, x + i * bytes, bytes);
    }
    return is;
}

static void check_reduction(int reduction) {
    const lazy_op *row = lazy_ops[reduction];
    for (int dtype = 0; dtype < NEAP_DTYPE_COUNT; dtype++) {
        const lazy_fold *fold = vm_simd()->folds->fold[reduction] ? &vm_simd()->folds->fold[reduction][dtype] : NULL;
        const int op = lazy_combines(reduction, dtype);
        CHECK(fold || op < 0);
        if (!fold || !fold->pairs)
            continue;
        if (!CHECK_EQ(combines_as(fold, row->combines, dtype), op >= 0))
            fprintf(stderr, "%s of %s: .combines\n", row->name, neap_dtype_name(dtype));
        if (!CHECK(is_neutral(fold, dtype)))
            fprintf(stderr, "%s of %s: its identity\n", row->name, neap_dtype_name(dtype));
        if (op >= 0)
            check_rows(reduction, fold, op, dtype);
    }
}

int main(int argc, char **argv) {
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) * 2 + 1 : seed;
    condition = draw(NEAP_DTYPE_BOOL);
    for (int k = 0; k < 3; k++)
        for (int dtype = 0; dtype < NEAP_DTYPE_COUNT; dtype++)
            operands[k][dtype] = draw(dtype);
    for (int op = 0; op < LAZY_OP_COUNT; op++) {
        const bool chains = lazy_ops[op]->flags & LAZY_OP_CHAINS;
        CHECK_EQ(chains, vm_simd()->chains->codes[op] != NULL);
        if (lazy_ops[op]->kind == LAZY_MAP)
            check_map(op);
        else
            CHECK(!(lazy_ops[op]->flags & (LAZY_OP_IDENTITY | LAZY_OP_CHOOSES | LAZY_OP_COMMUTES)));
        if (lazy_ops[op]->kind == LAZY_REDUCE)
            check_reduction(op);
    }
    for (int k = 0; k < 3; k++)
        for (int dtype = 0; dtype < NEAP_DTYPE_COUNT; dtype++)
            free(operands[k][dtype]);
    free(condition);
    return check_end();
}
