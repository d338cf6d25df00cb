/* vm_kernels.c: random kernels through the VM against an interpreter that computes one element after another, with the
 * loops of the baseline set at n = 1, and reductions by the definition of the tree (lazy/loop/tree.h). Results are
 * bit-equal for every instruction set, chunk size and number of threads. */
#include "tests/lazy/vm_kernels.h"
#include "tests/lazy/vm_native.h"

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
    return naive_tree(&lazy_simd_baseline.folds->fold[sink->op][dtype], x, n, 0, (n + 255) / 256);
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

/* Kernels prepared as each form, chains by their links, sums taken as computed, loads reduced where they are, cells
 * that are hopped through; with the set that every CPU has. */
static int native_runs;
static int forms[VM_NEST_COLUMNS + 1], chains[LAZY_LINKS_MAX + 1], sums, loads, hops;
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
    hops += p->hops && p->cells > 1;
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
    int samples = argc > 1 ? atoi(argv[1]) : check_times(700, 40);
    int native_samples = argc > 2 ? atoi(argv[2]) : check_times(30, 6), others = check_times(100, 20);
    neap_engine_start(&(neap_engine_config){.workers = 7});
    vm_limit.parallel_min = vm_limit.task_min = 1;
    try_samples(samples, others);
    native_begin();
    if (native_is_there)
        try_samples(native_samples, 8);
    CHECK(!native_is_there || native_runs > native_samples);
    neap_engine_stop();
    for (int form = 0; form <= VM_NEST_COLUMNS && samples >= 400; form++)
        CHECK(forms[form] > 6);
    CHECK(forms[VM_NEST_STRIPS] >= others * 3 / 2);
    CHECK(samples < 400 || (sums > 10 && loads >= 27 && hops > 6));
    CHECK(samples < 400 || (begin_casts > 20 && end_bools > 20 && wheres > 20));
    for (int links = 4; links < 14; links++)
        CHECK(samples < 400 || chains[links] > 0);
    return check_end();
}
