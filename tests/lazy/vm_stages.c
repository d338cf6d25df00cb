/* vm_stages.c: kernels of several sinks, with results of their reductions used inside and with tables, against the same
 * work done by kernels of one sink, one after another, over buffers. Results are bit-equal for every instruction set,
 * chunk size and number of workers, and nothing else is written. */
#include <sys/mman.h>

#include "tests/lazy/vm_native.h"
#include "tests/lazy/vm_stages.h"

/* ---- One sink after another -------------------------------------------------------------------------------------- */
typedef struct unfused { /* values that were given a buffer: results and what was taken, packed over their axes */
    const sample *s;
    void *made[MAX_VALUES];
} unfused;

static void make(unfused *u, int value);

static lazy_wide_map packed(const sample *s, bool varies) {
    lazy_wide_map map = {0};
    int64_t stride = 1;
    for (int k = (varies ? s->kernel.ndim : s->kernel.nkept) - 1; k >= 0; k--) {
        map.stride[k] = stride;
        stride *= s->kernel.shape[k];
    }
    return map;
}

static bool is_take(const sample *s, int v) {
    return v >= s->kernel.nloads && s->ins[v - s->kernel.nloads].op == LAZY_OP_take;
}

/* Runs the kernel of one sink alone, into dst: over the kept axes if it stores one element for each row. */
static void run_alone(unfused *u, lazy_sink sink, void *dst) {
    const sample *s = u->s;
    const int nloads = s->kernel.nloads, nvalues = nloads + s->kernel.nins;
    lazy_load loads[MAX_VALUES];
    lazy_ins ins[MAX_INS];
    void *bufs[MAX_VALUES + 1];
    int number[MAX_VALUES];
    bool needed[MAX_VALUES] = {0};
    lazy_kernel k = s->kernel;
    k.loads = loads, k.ins = ins, k.sinks = &sink, k.nloads = k.nins = 0, k.nsinks = 1, k.prepared = NULL;
    if (sink.kind != LAZY_SINK_REDUCE)
        k.nkept = k.ndim = sink.kind == LAZY_SINK_STORE ? k.ndim : k.nkept;
    needed[sink.value] = true;
    for (int v = nvalues - 1; v >= nloads; v--) /* what is taken is in a buffer */
        for (int a = 0; needed[v] && !is_take(s, v) && a < s->ins[v - nloads].narg; a++)
            needed[s->ins[v - nloads].arg[a]] = true;
    for (int v = 0; v < nvalues; v++) {
        if (!needed[v] || (v >= nloads && !is_take(s, v)))
            continue;
        bool result = v < nloads && s->loads[v].kind == LAZY_LOAD_RESULT, made = result || is_take(s, v);
        if (made)
            make(u, v);
        number[v] = k.nloads;
        loads[k.nloads] =
            made
                ? (lazy_load){.kind = LAZY_LOAD_BUFFER, .dtype = (uint8_t)s->dtypes[v], .read = packed(s, s->varies[v])}
                : s->loads[v];
        bufs[k.nloads] = made ? u->made[v] : s->bufs[s->loads[v].slot];
        if (loads[k.nloads].kind == LAZY_LOAD_BUFFER)
            loads[k.nloads].slot = (int16_t)k.nloads;
        k.nloads++;
    }
    for (int v = nloads; v < nvalues; v++) {
        if (!needed[v] || is_take(s, v))
            continue;
        number[v] = k.nloads + k.nins;
        ins[k.nins] = s->ins[v - nloads];
        for (int a = 0; a < ins[k.nins].narg; a++)
            ins[k.nins].arg[a] = number[ins[k.nins].arg[a]];
        k.nins++;
    }
    sink.value = number[sink.value];
    sink.kind = sink.kind == LAZY_SINK_REDUCE ? LAZY_SINK_REDUCE : LAZY_SINK_STORE;
    sink.slot = MAX_VALUES;
    bufs[MAX_VALUES] = dst;
    if (CHECK_EQ(vm_kernel_prepare(&k), NEAP_OK))
        CHECK_EQ(vm_kernel_run(&k, bufs, s->scalars, NULL), NEAP_OK);
    vm_kernel_unprepare(&k);
}

static int64_t index_of(int dtype, const void *at, int64_t i, int64_t extent) {
    int64_t k = 0;
    switch (dtype) {
#define INDEX(NAME, name, kind, ctype, ...)                                                                            \
    case NEAP_DTYPE_##NAME:                                                                                            \
        k = dtype_index(kind, (uint64_t)((const ctype *)at)[i]);                                                       \
        break;
        NEAP_DTYPE_INTEGER_ROWS(INDEX)
#undef INDEX
    }
    k += k < 0 ? extent : 0;
    return k < 0 ? 0 : k >= extent ? extent - 1 : k;
}

/* One element after another, over the kept axes or all. */
static void make_take(unfused *u, int v) {
    const sample *s = u->s;
    const lazy_ins *ins = &s->ins[v - s->kernel.nloads];
    const lazy_load *table = &s->loads[ins->arg[0]];
    int naxes = s->varies[v] ? s->kernel.ndim : s->kernel.nkept, width = neap_dtype_bytes(table->dtype);
    int64_t n = product(s->kernel.shape, 0, naxes), index[LAZY_MAX_DOMAIN] = {0};
    int64_t *places = malloc((size_t)(n + 1) * sizeof *places);
    run_alone(u,
              (lazy_sink){.kind = s->varies[v] ? LAZY_SINK_STORE : LAZY_SINK_STORE_ROW,
                          .value = ins->arg[1],
                          .dtype = (uint8_t)s->dtypes[ins->arg[1]],
                          .write = packed(s, s->varies[v])},
              places);
    u->made[v] = malloc((size_t)((n + 1) * width));
    for (int64_t i = 0; i < n; i++) {
        int64_t at = table->read.offset, left = i;
        for (int k = naxes - 1; k >= 0; k--) {
            index[k] = left % s->kernel.shape[k];
            left /= s->kernel.shape[k];
            at += index[k] * table->read.stride[k];
        }
        at += index_of(s->dtypes[ins->arg[1]], places, i, table->extent) * table->step;
        memcpy((char *)u->made[v] + i * width, (char *)s->bufs[table->slot] + at * width, (size_t)width);
    }
    free(places);
}

static void make(unfused *u, int v) {
    const sample *s = u->s;
    if (u->made[v])
        return;
    if (is_take(s, v)) {
        make_take(u, v);
        return;
    }
    lazy_sink sink = s->sinks[s->loads[v].slot];
    sink.write = packed(s, false);
    u->made[v] = malloc((size_t)((product(s->kernel.shape, 0, s->kernel.nkept) + 1) * neap_dtype_bytes(sink.dtype)));
    run_alone(u, sink, u->made[v]);
}

static void run_unfused(const sample *s, void **expected) {
    unfused u = {.s = s};
    for (int k = 0; k < s->kernel.nsinks; k++)
        if (s->sinks[k].slot >= 0)
            run_alone(&u, s->sinks[k], expected[s->sinks[k].slot]);
    for (int v = 0; v < MAX_VALUES; v++)
        free(u.made[v]);
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */
/* Kernels and instructions that were met with the set that every CPU has. */
static int native_runs;
static int forms[VM_NEST_COLUMNS + 1], carried[VM_NEST_COLUMNS + 1], takes[3], takes_in_place, lates;

static void count(const sample *s) {
    const vm_program *p = s->kernel.prepared;
    if (p->size == 0 || p->simd != &lazy_simd_baseline)
        return;
    forms[p->form] += p->staged;
    carried[p->form] += p->carried;
    lates += p->nins - p->late;
    for (int k = 0; k < p->nins; k++)
        if (p->ins[k].what == VM_TAKE) {
            takes[p->loads[p->ins[k].arg[0]].table.index]++;
            takes_in_place += p->loads[p->ins[k].arg[0]].table.in_place;
        }
}

static int dtype_of_slot(const sample *s, int slot) {
    for (int k = 0; k < s->kernel.nsinks; k++)
        if (s->sinks[k].slot == slot)
            return s->sinks[k].dtype;
    return NEAP_DTYPE_U8; /* a load's: bytes */
}

static void describe(const sample *s, const char *what, const char *isa, int variant) {
    static const char *const kinds[] = {"buffer", "scalar", "iota", "result", "table"};
    fprintf(stderr, "%s, %s, chunk %d, %s: domain", what, isa, (int)vm_limit.chunk,
            variant & 2 ? "workers" : "1 thread");
    for (int k = 0; k < s->kernel.ndim; k++)
        fprintf(stderr, "%s%d", k == s->kernel.nkept ? " | " : " ", (int)s->kernel.shape[k]);
    for (int k = 0; k < s->kernel.nloads; k++) {
        fprintf(stderr, "\n  %d: %s %d %s at %d +", k, kinds[s->loads[k].kind], s->loads[k].slot,
                neap_dtype_name(s->loads[k].dtype), (int)s->loads[k].read.offset);
        for (int axis = 0; axis < s->kernel.ndim; axis++)
            fprintf(stderr, " %d", (int)s->loads[k].read.stride[axis]);
    }
    for (int k = 0; k < s->kernel.nins; k++)
        fprintf(stderr, "\n  %d: %s(%d %d %d) %s", s->kernel.nloads + k, lazy_ops[s->ins[k].op]->name, s->ins[k].arg[0],
                s->ins[k].arg[1], s->ins[k].arg[2], neap_dtype_name(s->ins[k].dtype));
    for (int k = 0; k < s->kernel.nsinks; k++)
        fprintf(stderr, "\n  sink %d: %s of %d into %d", k,
                s->sinks[k].kind == LAZY_SINK_REDUCE  ? lazy_ops[s->sinks[k].op]->name
                : s->sinks[k].kind == LAZY_SINK_STORE ? "store"
                                                      : "store row",
                s->sinks[k].value, s->sinks[k].slot);
    fprintf(stderr, "\n");
}

static void *copied(const void *data, int64_t bytes) {
    void *copy = malloc((size_t)bytes + 1);
    memcpy(copy, data, (size_t)bytes);
    return copy;
}

/* Bit 0 of the variant: small chunks; 1: workers; 2: results go past the caches. */
static bool try_variant(sample *s, int variant, void *const *expected) {
    void *bufs[MAX_BUFS];
    neap_run run = {.device = 0, .worker = -1};
    vm_limit.chunk = variant & 1 ? 256 : 1024;
    vm_limit.stream_min = variant & 4 ? 1 : 0;
    for (int k = 0; k < s->nbufs; k++)
        bufs[k] = copied(s->bufs[k], s->bytes[k]);
    bool ok = CHECK_EQ(vm_kernel_prepare(&s->kernel), NEAP_OK) &&
              CHECK_EQ(vm_kernel_run(&s->kernel, bufs, s->scalars, variant & 2 ? &run : NULL), NEAP_OK) &&
              CHECK(vm_kernel_cost(&s->kernel) > 0);
    if (ok && !native_is_there)
        count(s);
    native_runs += ok && native_is_used(&s->kernel);
    for (int k = 0; k < s->nbufs; k++) {
        ok = ok && CHECK(same(dtype_of_slot(s, k), bufs[k], expected[k], s->bytes[k]));
        free(bufs[k]);
    }
    vm_kernel_unprepare(&s->kernel);
    return ok;
}

static void try_sample(sample *s, const char *what) {
    static const char *const sets[] = {"baseline", "avx2", "avx512"};
    static const int variants[] = {0, 3, 5, 6};
    void *expected[MAX_BUFS];
    for (int k = 0; k < s->nbufs; k++)
        expected[k] = copied(s->bufs[k], s->bytes[k]);
    vm_limit.chunk = 1024;
    vm_limit.stream_min = 0;
    CHECK_EQ(vm_isa_set("baseline"), NEAP_OK);
    run_unfused(s, expected);
    for (int k = 0; k < 12; k++)
        if (vm_isa_set(sets[k / 4]) == NEAP_OK && !try_variant(s, variants[k % 4], expected)) {
            describe(s, what, sets[k / 4], variants[k % 4]);
            break;
        }
    for (int k = 0; k < s->nbufs; k++)
        free(expected[k]);
}

/* ---- Chosen kernels ---------------------------------------------------------------------------------------------- */
/* exp(x - max) / sum of that over rows of n; the rows of x, and what is stored, run along memory or across it. */
static void softmax_new(sample *s, int64_t rows, int64_t n, bool across, bool over) {
    *s = (sample){.kernel = {.ndim = 2, .nkept = 1, .shape = {rows, n}, .nins = 3, .nsinks = 3}};
    s->kernel.loads = s->loads, s->kernel.ins = s->ins, s->kernel.sinks = s->sinks;
    lazy_wide_map map = {.stride = {across ? 1 : n, across ? rows : 1}};
    *new_load(s, LAZY_LOAD_BUFFER, NEAP_DTYPE_F32) =
        (lazy_load){.kind = LAZY_LOAD_BUFFER, .dtype = NEAP_DTYPE_F32, .read = map};
    new_buffer(s, NEAP_DTYPE_F32, rows * n);
    for (int k = 0; k < 2; k++)
        new_load(s, LAZY_LOAD_RESULT, NEAP_DTYPE_F32)->slot = (int16_t)k;
    for (int k = 0; k < 3; k++)
        load_done(s, k);
    s->ins[0] = (lazy_ins){.op = LAZY_OP_subtract, .narg = 2, .arg = {0, 1}};
    s->ins[1] = (lazy_ins){.op = LAZY_OP_exp, .narg = 1, .arg = {3}};
    s->ins[2] = (lazy_ins){.op = LAZY_OP_divide, .narg = 2, .arg = {4, 2}};
    for (int k = 0; k < 3; k++) {
        s->ins[k].dtype = s->ins[k].result = NEAP_DTYPE_F32;
        s->dtypes[3 + k] = NEAP_DTYPE_F32;
        s->varies[3 + k] = s->late[3 + k] = true;
    }
    s->sinks[0] = (lazy_sink){.kind = LAZY_SINK_REDUCE, .op = LAZY_OP_max, .slot = -1, .value = 0};
    s->sinks[1] = (lazy_sink){.kind = LAZY_SINK_REDUCE, .op = LAZY_OP_sum, .slot = -1, .value = 4};
    s->sinks[2] = (lazy_sink){.kind = LAZY_SINK_STORE, .value = 5, .write = map};
    for (int k = 0; k < 3; k++)
        s->sinks[k].dtype = NEAP_DTYPE_F32;
    s->sinks[2].slot = over ? 0 : (int16_t)new_buffer(s, NEAP_DTYPE_F32, rows * n);
}

static void test_limits(void) {
    static const int64_t rows[] = {1, 15, 16, 17, 127, 128, 255, 256, 257, 512, 1023, 1024, 1025, 8191, 8192};
    for (int k = 0; k < 15 * 4; k++) {
        sample s;
        softmax_new(&s, rows[k / 4] > 1000 ? 5 : 40, rows[k / 4], k & 1, k & 2);
        try_sample(&s, "softmax");
        sample_free(&s);
    }
}

/* Of rows without elements: what reductions give is known, and what is made of it is stored; nothing is read. */
static void test_empty(void) {
    float sums[3] = {7, 7, 7}, means[3] = {7, 7, 7};
    lazy_load loads[] = {{.kind = LAZY_LOAD_BUFFER, .dtype = NEAP_DTYPE_F32, .slot = 0, .read = {.stride = {0, 1}}},
                         {.kind = LAZY_LOAD_RESULT, .dtype = NEAP_DTYPE_F32, .slot = 0},
                         {.kind = LAZY_LOAD_SCALAR, .dtype = NEAP_DTYPE_F32, .slot = 0}};
    lazy_ins ins[] = {
        {.op = LAZY_OP_exp, .dtype = NEAP_DTYPE_F32, .result = NEAP_DTYPE_F32, .narg = 1, .arg = {0}},
        {.op = LAZY_OP_divide, .dtype = NEAP_DTYPE_F32, .result = NEAP_DTYPE_F32, .narg = 2, .arg = {1, 2}}};
    lazy_sink sinks[] = {
        {.kind = LAZY_SINK_REDUCE,
         .dtype = NEAP_DTYPE_F32,
         .op = LAZY_OP_sum,
         .slot = 1,
         .value = 3,
         .write = {.stride = {1}}},
        {.kind = LAZY_SINK_STORE_ROW, .dtype = NEAP_DTYPE_F32, .slot = 2, .value = 4, .write = {.stride = {1}}}};
    lazy_kernel kernel = {.ndim = 2,
                          .nkept = 1,
                          .shape = {3, 0},
                          .nloads = 3,
                          .nins = 2,
                          .nsinks = 2,
                          .loads = loads,
                          .ins = ins,
                          .sinks = sinks};
    if (!CHECK_EQ(vm_kernel_prepare(&kernel), NEAP_OK))
        return;
    CHECK_EQ(vm_kernel_run(&kernel, (void *[]){NULL, sums, means}, &(lazy_scalar){.f32 = 0}, NULL), NEAP_OK);
    for (int k = 0; k < 3; k++) {
        CHECK(sums[k] == 0 && !__builtin_signbit(sums[k]));
        CHECK(means[k] != means[k]);
    }
    vm_kernel_unprepare(&kernel);
}

/* A table of bytes whose rows lie 2^31 and more elements apart; only pages that are touched exist. */
static void test_huge_table(void) {
    const int64_t step = ((int64_t)1 << 31) + 12345, n = 100;
    size_t bytes = (size_t)(2 * step + n);
    uint8_t *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!CHECK(table != MAP_FAILED))
        return;
    for (int64_t i = 0; i < 3 * n; i++)
        table[i / n * step + i % n] = (uint8_t)(i * 7);
    int32_t rows[4] = {2, -3, -1, 1}, each[4 * 100];
    uint8_t whole[4 * 100] = {0}, single[4 * 100] = {0};
    for (int i = 0; i < 400; i++)
        each[i] = i % 3;
    lazy_load loads[] = {{.kind = LAZY_LOAD_TABLE,
                          .dtype = NEAP_DTYPE_U8,
                          .slot = 0,
                          .read = {.stride = {0, 1}},
                          .extent = 3,
                          .step = step},
                         {.kind = LAZY_LOAD_BUFFER, .dtype = NEAP_DTYPE_I32, .slot = 1, .read = {.stride = {1, 0}}},
                         {.kind = LAZY_LOAD_TABLE,
                          .dtype = NEAP_DTYPE_U8,
                          .slot = 0,
                          .read = {.stride = {0, 1}},
                          .extent = 3,
                          .step = step},
                         {.kind = LAZY_LOAD_BUFFER, .dtype = NEAP_DTYPE_I32, .slot = 2, .read = {.stride = {100, 1}}}};
    lazy_ins ins[] = {{.op = LAZY_OP_take, .dtype = NEAP_DTYPE_U8, .result = NEAP_DTYPE_U8, .narg = 2, .arg = {0, 1}},
                      {.op = LAZY_OP_take, .dtype = NEAP_DTYPE_U8, .result = NEAP_DTYPE_U8, .narg = 2, .arg = {2, 3}}};
    lazy_sink sinks[] = {
        {.kind = LAZY_SINK_STORE, .dtype = NEAP_DTYPE_U8, .slot = 3, .value = 4, .write = {.stride = {100, 1}}},
        {.kind = LAZY_SINK_STORE, .dtype = NEAP_DTYPE_U8, .slot = 4, .value = 5, .write = {.stride = {100, 1}}}};
    lazy_kernel kernel = {.ndim = 2,
                          .nkept = 2,
                          .shape = {4, 100},
                          .nloads = 4,
                          .nins = 2,
                          .nsinks = 2,
                          .loads = loads,
                          .ins = ins,
                          .sinks = sinks};
    if (CHECK_EQ(vm_kernel_prepare(&kernel), NEAP_OK))
        CHECK_EQ(vm_kernel_run(&kernel, (void *[]){table, rows, each, whole, single}, NULL, NULL), NEAP_OK);
    static const int64_t expected[] = {2, 0, 2, 1};
    for (int i = 0; i < 400; i++) {
        CHECK_EQ(whole[i], table[expected[i / 100] * step + i % 100]);
        CHECK_EQ(single[i], table[i % 3 * step + i % 100]);
    }
    vm_kernel_unprepare(&kernel);
    munmap(table, bytes);
}

static void try_samples(int samples) {
    for (int k = 0; k < samples; k++) {
        char what[32];
        sample s;
        snprintf(what, sizeof what, "sample %d", k);
        sample_new(&s);
        try_sample(&s, what);
        sample_free(&s);
    }
}

/* vm_stages [SAMPLES [NATIVE_SAMPLES]] */
int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : check_times(140, 12);
    int native_samples = argc > 2 ? atoi(argv[2]) : check_times(30, 6);
    vm_limit.parallel_min = vm_limit.task_min = 1;
    test_empty();
    test_huge_table();
    for (int workers = 2; workers <= 7; workers += 5) {
        CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = workers}), NEAP_OK);
        if (workers == 7)
            test_limits();
        try_samples(samples);
        neap_engine_stop();
    }
    native_begin();
    CHECK_EQ(neap_engine_start(&(neap_engine_config){.workers = 7}), NEAP_OK);
    if (native_is_there) {
        try_samples(native_samples);
        test_limits();
    }
    CHECK(!native_is_there || native_runs > native_samples);
    neap_engine_stop();
    if (samples >= 120) {
        CHECK(forms[VM_NEST_ROWS] > 6 && forms[VM_NEST_PACKED] > 6 && forms[VM_NEST_COLUMNS] > 6);
        CHECK(carried[VM_NEST_ROWS] > 6 && carried[VM_NEST_COLUMNS] > 1 && lates > 6);
        CHECK(takes[VM_INDEX_ONE] > 6 && takes[VM_INDEX_RUN] > 3 && takes[VM_INDEX_EACH] > 6 && takes_in_place > 6);
    }
    return check_end();
}
