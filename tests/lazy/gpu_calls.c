/* gpu_calls.c: whole-array ops as launches on GPUs (lazy/vm/gpu_calls.h): scans, sorts, rows written and added at
 * places, random draws, boxes, searches. Run on the CPU as an emulated grid, or on a GPU (vm_gpu.h), they give the bits
 * of the ops themselves, for every dtype; their PTX says how each operation rounds, and ptxas assembles it. Skipped
 * without a generator; what takes ptxas, without that. (release build only: generated code has no sanitizer in it) */
#include "lazy/vm/gpu_calls.h"
#include "tests/lazy/vm_gpu.h"
#include "tests/lazy/vm_ptx.h"

enum { OPERANDS = 4, AXES = 3, GUARD = 64 };

typedef struct sample { /* a call with its operands, the result last */
    lazy_call call;
    lazy_tensor tensors[OPERANDS];
    int64_t shapes[OPERANDS][AXES], strides[OPERANDS][AXES], attrs[4];
    bool updates; /* the result begins as what `first` is */
} sample;

static sample sample_of(int op, int nattrs, int64_t first, int64_t second) {
    return (sample){.call = {.op = lazy_ops[op], .nattrs = nattrs}, .attrs = {first, second}};
}

/* Adds an operand, of random elements if `data` is NULL; that it is given it owns. */
static lazy_tensor *add(sample *s, int dtype, int ndim, const int64_t *shape, void *data) {
    const int k = s->call.nin++;
    lazy_tensor *t = &s->tensors[k];
    *t = (lazy_tensor){.dtype = (uint8_t)dtype, .ndim = (uint8_t)ndim, .size = 1};
    for (int axis = ndim - 1; axis >= 0; axis--) {
        s->shapes[k][axis] = shape[axis];
        s->strides[k][axis] = t->size;
        t->size *= shape[axis];
    }
    t->data = data ? data : random_buffer(dtype, t->size);
    return t;
}

static int64_t bytes_of(const lazy_tensor *t) {
    return t->size * neap_dtype_bytes(t->dtype);
}

/* The result, whose bytes are any, or those of operand 0; with some behind that nobody may write. */
static void *result_new(const sample *s, const lazy_tensor *out) {
    char *data = malloc((size_t)bytes_of(out) + GUARD);
    memset(data, 0x5a, (size_t)bytes_of(out) + GUARD);
    if (s->updates)
        memcpy(data, s->tensors[0].data, (size_t)bytes_of(out));
    return data;
}

/* ---- Both ways --------------------------------------------------------------------------------------------------- */
/* The entries of all calls of a dtype, which are collected first; then their code is made at once, and the calls are
 * run by it. */
static struct {
    bool collects;
    gpu_kernel kernel;
    gpu_entries entries;
    gpu_made code;
} all;

static void collect(const vm_gpu_call *plan) {
    for (int k = 0; k < plan->call.n; k++) {
        int known = 0;
        while (known < all.entries.n && strcmp(all.entries.names[known], plan->call.names[k]) != 0)
            known++;
        if (known == all.entries.n && CHECK(all.entries.n < GPU_CALL_ENTRIES))
            all.entries.names[all.entries.n++] = plan->call.names[k];
    }
    if (plan->call.shared_bytes > all.entries.shared_bytes)
        all.entries.shared_bytes = plan->call.shared_bytes;
    if (plan->code.nbuffers > all.kernel.nbuffers)
        all.kernel.nbuffers = plan->code.nbuffers;
}

static bool make_code(int dtype) {
    all.kernel.call = &all.entries;
    all.kernel.nwords = GPU_CALL_WORDS;
    all.entries.dtype = (uint8_t)dtype;
    if (gpu_device < 0)
        ptx_try(&all.kernel, dtype);
    return gpu_make(&all.kernel, all.entries.names[0], &all.code);
}

static void run_launches(const vm_gpu_call *plan, void *const *operands, const int64_t *bytes) {
    static uint64_t words[VM_GPU_CALL_LAUNCHES][GPU_CALL_WORDS];
    gpu_launch launches[VM_GPU_CALL_LAUNCHES];
    for (int k = 0; k < plan->nlaunches; k++) {
        vm_gpu_call_words(plan, k, words[k]);
        launches[k] = (gpu_launch){plan->launches[k].entry, plan->launches[k].groups, words[k]};
    }
    gpu_launches steps = {.made = &all.code,
                          .n = plan->nlaunches,
                          .nbuffers = plan->code.nbuffers - 1,
                          .nwords = GPU_CALL_WORDS,
                          .of = launches,
                          .buffers = operands,
                          .bytes = bytes,
                          .scratch_bytes = plan->scratch_bytes,
                          .taken = all.kernel.nbuffers};
    gpu_do(&steps, below(2));
}

/* Runs a call by its row's function and by its launches. */
static void run_both(sample *s, const vm_gpu_call *plan) {
    lazy_tensor *out = &s->tensors[s->call.nin];
    void *operands[OPERANDS + 1], *mine = result_new(s, out), *theirs = out->data = result_new(s, out);
    int64_t bytes[OPERANDS + 1];
    const neap_run run = {.worker = -1};
    CHECK_EQ(s->call.op->call(&s->call, &run), NEAP_OK);
    for (int k = 0; k < s->call.nin; k++)
        operands[k] = s->tensors[k].data, bytes[k] = bytes_of(&s->tensors[k]);
    operands[s->call.nin] = mine, bytes[s->call.nin] = bytes_of(out) + GUARD;
    run_launches(plan, operands, bytes);
    if (!CHECK(same(out->dtype, mine, theirs, bytes_of(out) + GUARD / 2)))
        fprintf(stderr, "%s of %s: %d axes, %d %d, attributes %d %d\n", s->call.op->name, neap_dtype_name(out->dtype),
                out->ndim, (int)out->shape[0], out->ndim > 1 ? (int)out->shape[1] : 1, (int)s->attrs[0],
                (int)s->attrs[1]);
    free(mine), free(theirs);
}

/* Collects the entries of a call, or runs it both ways; frees its operands. */
static void try_call(sample *s, int dtype, int ndim, const int64_t *shape) {
    lazy_tensor *out = add(s, dtype, ndim, shape, s);
    vm_gpu_call *plan = NULL;
    s->call.nin--;
    for (int k = 0; k <= s->call.nin; k++)
        s->tensors[k].shape = s->shapes[k], s->tensors[k].stride = s->strides[k];
    s->call.in = s->tensors, s->call.out = out, s->call.attrs = s->attrs;
    if (CHECK(!vm_gpu_call_lacks(&s->call)) && CHECK_EQ(vm_gpu_call_new(&s->call, &plan), NEAP_OK)) {
        if (all.collects)
            collect(plan);
        else
            run_both(s, plan);
    }
    vm_gpu_call_free(plan);
    for (int k = 0; k < s->call.nin; k++)
        free(s->tensors[k].data);
}

/* ---- Scans ------------------------------------------------------------------------------------------------------- */
static const struct shape {
    int ndim, axis;
    int64_t extents[AXES];
} lines[] = {
    {1, 0, {1}},       {2, 1, {3, 100}},   {2, -1, {300, 7}},   {1, 0, {5000}},
    {2, 0, {300, 5}},  {2, 0, {4200, 3}},  {3, 1, {2, 40, 37}}, {2, 1, {2, 4096}},
    {2, 1, {3, 2049}}, {2, 1, {2, 12289}}, {3, 0, {17, 33, 2}}, {2, 1, {4, 0}},
};
enum { LINES = sizeof lines / sizeof *lines };

/* Numbers between 0.5 and 1.5, without any that would hide the order of sums or products. */
static void *plain_values(int dtype, int64_t n) {
    const int width = neap_dtype_bytes(dtype);
    char *data = malloc((size_t)(n * width) + 16);
    for (int64_t i = 0; i < n; i++) {
        const double x = 0.5 + (double)below(1000003) / 1000003;
        lazy_simd_baseline.cast[NEAP_DTYPE_F64][dtype](data + i * width, &x, &x, &x, 1);
    }
    return data;
}

static void try_scans(int dtype, int kind) {
    static const int ops[LAZY_SCAN_KINDS] = {[LAZY_SCAN_SUM] = LAZY_OP_cumsum,
                                             [LAZY_SCAN_PROD] = LAZY_OP_cumprod,
                                             [LAZY_SCAN_MAX] = LAZY_OP_cummax,
                                             [LAZY_SCAN_MIN] = LAZY_OP_cummin};
    for (int k = 0; k < LINES && vm_simd()->scans->of[kind][dtype].row; k++) {
        int64_t size = 1;
        for (int axis = 0; axis < lines[k].ndim; axis++)
            size *= lines[k].extents[axis];
        sample s = sample_of(ops[kind], 2, lines[k].axis, below(2));
        add(&s, dtype, lines[k].ndim, lines[k].extents,
            kind < LAZY_SCAN_MAX && k % 4 ? plain_values(dtype, size) : NULL);
        try_call(&s, dtype, lines[k].ndim, lines[k].extents);
    }
}

static void try_recurrences(int dtype) {
    for (int k = 0; k < LINES && vm_simd()->scans->recurrence[dtype].rows; k++) {
        sample s = sample_of(LAZY_OP_recurrence, 2, lines[k].axis, k % 2);
        add(&s, dtype, lines[k].ndim, lines[k].extents, NULL);
        add(&s, dtype, lines[k].ndim, lines[k].extents, NULL);
        try_call(&s, dtype, lines[k].ndim, lines[k].extents);
    }
}

/* A line of so many blocks that they are put in order in several turns. */
static void try_long_scan(void) {
    const int64_t n = (GPU_SCAN_AT_ONCE + 3) * LAZY_SCAN_BLOCK + 5;
    sample s = sample_of(LAZY_OP_cumsum, 2, 0, 1);
    add(&s, NEAP_DTYPE_F32, 1, &n, plain_values(NEAP_DTYPE_F32, n));
    try_call(&s, NEAP_DTYPE_F32, 1, &n);
}

/* ---- Sorts ------------------------------------------------------------------------------------------------------- */
/* Few values, so that many are equal, with zeros of both signs. */
static void *few_values(int dtype, int64_t n) {
    const int width = neap_dtype_bytes(dtype);
    char *some = random_buffer(dtype, 20), *data = malloc((size_t)(n * width) + 16);
    for (int64_t i = 0; i < n; i++)
        memcpy(data + i * width, some + below(20) * width, (size_t)width);
    free(some);
    return data;
}

static void try_sorts(int dtype) {
    for (int k = 0; k < LINES && vm_simd()->keys[dtype].keys; k++)
        for (int way = 0; way < 3; way++) {
            const struct shape *l = &lines[k];
            const int axis = l->axis < 0 ? l->axis + l->ndim : l->axis;
            int64_t size = 1, shape[AXES], kept = 1 + below(30);
            for (int j = 0; j < l->ndim; j++)
                size *= shape[j] = l->extents[j];
            kept = kept < shape[axis] ? kept : shape[axis];
            sample s = sample_of(way == 0   ? LAZY_OP_sort
                                 : way == 1 ? LAZY_OP_argsort
                                            : LAZY_OP_argtop,
                                 2, l->axis, way < 2 ? below(2) : kept);
            add(&s, dtype, l->ndim, l->extents, k % 2 ? few_values(dtype, size) : NULL);
            shape[axis] = way < 2 ? shape[axis] : kept;
            try_call(&s, way ? NEAP_DTYPE_I32 : dtype, l->ndim, shape);
        }
}

/* Lines of so many tiles that merging them takes up to three launches, in which parts of the result begin and end
 * anywhere: at random, among equal elements, behind all of a run (in order), or before (in reverse order). */
static void try_long_sorts(int dtype) {
    static const struct shape longer[] = {{1, 0, {70001}}, {2, 1, {2, 16385}}, {2, 0, {33000, 2}}, {1, 0, {8192}}};
    for (int k = 0; k < 16 && vm_simd()->keys[dtype].keys; k++) {
        const struct shape *l = &longer[k % 4];
        const int64_t size = l->extents[0] * (l->ndim > 1 ? l->extents[1] : 1);
        const int width = neap_dtype_bytes(dtype), order = k / 4;
        char *data = order == 1 ? few_values(dtype, size) : order ? malloc((size_t)(size * width) + 16) : NULL;
        for (int64_t i = 0; i < size && order > 1; i++) {
            const double x = (double)(order == 2 ? i : size - i);
            lazy_simd_baseline.cast[NEAP_DTYPE_F64][dtype](data + i * width, &x, &x, &x, 1);
        }
        const bool places = (k + order) % 2;
        sample s = sample_of(places ? LAZY_OP_argsort : LAZY_OP_sort, 2, l->axis, below(2));
        add(&s, dtype, l->ndim, l->extents, data);
        try_call(&s, places ? NEAP_DTYPE_I32 : dtype, l->ndim, l->extents);
    }
}

/* ---- Rows at places ---------------------------------------------------------------------------------------------- */
/* Places in an axis of `size`, some of them before it or behind. */
static void *places_new(int dtype, int64_t n, int64_t size) {
    const int width = neap_dtype_bytes(dtype);
    char *data = malloc((size_t)(n * width) + 16);
    for (int64_t k = 0; k < n; k++) {
        const int64_t place = below(9) ? below(size) - (below(3) ? 0 : size) : below(4 * size) - 2 * size;
        memcpy(data + k * width, &place, (size_t)width);
    }
    return data;
}

static void try_puts(int dtype) {
    static const int64_t cases[][4] = {/* outer, size, inner, indices */
                                       {1, 10, 1, 50},    {2, 300, 3, 700}, {1, 1, 5, 2100},
                                       {1, 700, 1, 9000}, {3, 40, 2, 1},    {2, 5, 3, 0}};
    static const int index_dtypes[] = {NEAP_DTYPE_I32, NEAP_DTYPE_I64, NEAP_DTYPE_U8,  NEAP_DTYPE_I16,
                                       NEAP_DTYPE_U64, NEAP_DTYPE_I8,  NEAP_DTYPE_U32, NEAP_DTYPE_U16};
    for (int way = 0; way < 4; way++) /* sets and adds, each with negative places from the end, and left out */
        for (int k = 0; k < 6; k++) {
            const int64_t *c = cases[k], shape[AXES] = {c[0], c[1], c[2]}, rows[AXES] = {c[0], c[3], c[2]};
            const int index = index_dtypes[(k + dtype) % 8], adds = way & 1, forward = way >> 1;
            if (adds && (!vm_simd()->scatter->put[LAZY_PUT_ADD][dtype] || dtype_is_half(dtype)))
                continue;
            if (forward && neap_dtype_bytes(index) < 4)
                continue;
            sample s = sample_of(adds ? LAZY_OP_put_add : LAZY_OP_put_set, 1 + forward, 1, forward);
            s.updates = true;
            add(&s, dtype, 3, shape, NULL);
            add(&s, index, 1, &c[3], places_new(index, c[3], c[1]));
            add(&s, dtype, 3, rows, k % 2 ? NULL : plain_values(dtype, c[0] * c[2] * c[3]));
            try_call(&s, dtype, 3, shape);
        }
}

/* ---- Boxes, searches, bits --------------------------------------------------------------------------------------- */
static void try_boxes(int dtype) {
    static const int64_t cases[][6] = {/* the array, then the box */
                                       {7, 9, 11, 3, 9, 4},
                                       {300, 1, 5, 1, 1, 5},
                                       {4, 4, 4, 4, 4, 4},
                                       {3, 5, 2, 0, 2, 1}};
    for (int k = 0; k < 4; k++)
        for (int write = 0; write < 2; write++) {
            const int64_t *c = cases[k], axes = AXES;
            sample s = sample_of(write ? LAZY_OP_dynamic_update_slice : LAZY_OP_dynamic_slice, write ? 0 : AXES, 0, 0);
            memcpy(s.attrs, c + AXES, write ? 0 : AXES * sizeof *c);
            s.updates = write;
            int64_t *starts = malloc(AXES * sizeof *starts);
            for (int axis = 0; axis < AXES; axis++)
                starts[axis] = below(3 * c[axis]) - c[axis];
            add(&s, dtype, AXES, c, NULL);
            if (write)
                add(&s, dtype, AXES, c + AXES, NULL);
            add(&s, NEAP_DTYPE_I64, 1, &axes, starts);
            try_call(&s, dtype, AXES, write ? c : c + AXES);
        }
}

static int compare_as;
static int compare(const void *a, const void *b) {
    const double x = dtype_number(compare_as, a), y = dtype_number(compare_as, b);
    return x != x || y != y ? (x != x) - (y != y) : (x > y) - (x < y);
}

static void try_searches(int dtype) {
    static const int64_t cases[][3] = {{1, 300, 700}, {3, 17, 5}, {2, 1, 9}, {1, 40, 0}}; /* lines, elements, values */
    for (int k = 0; k < 4 && vm_simd()->lines->find[dtype]; k++) {
        const int64_t *c = cases[k], values[] = {c[0], c[2]};
        sample s = sample_of(LAZY_OP_searchsorted, 1, k % 2, 0);
        lazy_tensor *sorted = add(&s, dtype, 2, c, NULL);
        compare_as = dtype;
        for (int64_t line = 0; line < c[0]; line++)
            qsort((char *)sorted->data + line * c[1] * neap_dtype_bytes(dtype), (size_t)c[1],
                  (size_t)neap_dtype_bytes(dtype), compare);
        add(&s, dtype, 2, values, NULL);
        try_call(&s, NEAP_DTYPE_I32, 2, values);
    }
}

static void try_bitcasts(int dtype) {
    const int64_t shape[] = {40, 8}, narrow = 40;
    const bool splits = dtype == NEAP_DTYPE_I64;
    sample s = sample_of(LAZY_OP_bitcast, 1, splits ? NEAP_DTYPE_U8 : NEAP_DTYPE_F64, 0);
    add(&s, dtype, splits ? 1 : 2, splits ? &narrow : shape, NULL);
    try_call(&s, splits ? NEAP_DTYPE_U8 : NEAP_DTYPE_F64, splits ? 2 : 1, splits ? shape : &narrow);
}

/* ---- Draws ------------------------------------------------------------------------------------------------------- */
static const int64_t draws[][2] = {{1, 1}, {1, 700}, {3, 257}, {2, 0}}; /* keys, and elements of each */
enum { DRAWS = 4 };

static void add_keys(sample *s, int64_t n) {
    uint32_t *words = malloc((size_t)n * 8);
    for (int64_t k = 0; k < 2 * n; k++)
        words[k] = (uint32_t)next();
    add(s, NEAP_DTYPE_U32, 2, (int64_t[]){n, 2}, words);
}

static void try_bits(void) {
    for (int k = 0; k < DRAWS; k++)
        for (int wide = 0; wide < 2; wide++) {
            sample s = sample_of(LAZY_OP_random_bits, 2, wide ? 64 : 32, draws[k][1]);
            add_keys(&s, draws[k][0]);
            try_call(&s, NEAP_DTYPE_U32, 2 + wide, (int64_t[]){draws[k][0], draws[k][1], 2});
        }
    for (int k = 0; k < DRAWS; k++) {
        const int64_t counts[] = {draws[k][0], draws[k][1], 2};
        sample s = sample_of(LAZY_OP_threefry, 0, 0, 0);
        add_keys(&s, draws[k][0]);
        add(&s, NEAP_DTYPE_U32, 3, counts, NULL);
        try_call(&s, NEAP_DTYPE_U32, 3, counts);
    }
}

static void try_floats(int dtype) {
    for (int which = 0; which < VM_DRAW_COUNT; which++)
        for (int k = 0; k < DRAWS; k++) {
            sample s = sample_of(LAZY_OP_random_floats, 3, which, dtype);
            s.attrs[2] = draws[k][1];
            add_keys(&s, draws[k][0]);
            try_call(&s, dtype, 2, draws[k]);
        }
}

static void try_integers(int dtype) {
    for (int k = 0; k < DRAWS; k++)
        for (int bounds = 0; bounds < 3; bounds++) {
            const int64_t one = 1, *shape = bounds == 0 ? &one : draws[k];
            sample s = sample_of(LAZY_OP_random_integers, 2, k % 2, draws[k][1]);
            add(&s, dtype, bounds, shape, NULL);
            add(&s, dtype, 1, bounds == 1 ? draws[k] : &one, NULL);
            add_keys(&s, draws[k][0]);
            try_call(&s, dtype, 2, draws[k]);
        }
}

/* Parameters in a range, some of them of no distribution. */
static void *parameters(int dtype, int64_t n, double low, double high) {
    const int width = neap_dtype_bytes(dtype);
    char *data = malloc((size_t)(n * width) + 16);
    for (int64_t i = 0; i < n; i++) {
        const double x = below(30) ? low + (high - low) * (double)below(1000) / 1000 : below(2) ? -1 : 0;
        const lazy_scalar element = dtype_scalar(dtype, x);
        memcpy(data + i * width, &element, (size_t)width);
    }
    return data;
}

static void try_samplers(int dtype) {
    for (int k = 0; k < DRAWS; k++)
        for (int which = 0; which < 3; which++) {
            static const int ops[] = {LAZY_OP_random_gamma, LAZY_OP_random_poisson, LAZY_OP_random_binomial};
            const int64_t n = draws[k][0] * draws[k][1];
            sample s = sample_of(ops[which], which == 0, k % 2, 0);
            if (which == 1 && dtype != NEAP_DTYPE_F32)
                continue;
            add(&s, dtype, 2, draws[k], parameters(dtype, n, 0.1, which == 0 ? 4 : 60));
            if (which == 2)
                add(&s, dtype, 2, draws[k], parameters(dtype, n, 0, 1));
            add_keys(&s, draws[k][0]);
            try_call(&s, dtype, 2, draws[k]);
        }
}

/* All calls whose phases are those of a dtype. */
static void try_dtype(int dtype) {
    const bool is_wide = neap_dtype_bytes(dtype) >= 4;
    for (int kind = 0; kind < LAZY_SCAN_KINDS; kind++)
        try_scans(dtype, kind);
    try_recurrences(dtype);
    try_sorts(dtype);
    if (dtype == NEAP_DTYPE_F32 || dtype == NEAP_DTYPE_I64 || dtype == NEAP_DTYPE_U8)
        try_long_sorts(dtype);
    try_puts(dtype);
    try_boxes(dtype);
    try_searches(dtype);
    if (neap_dtype_kind(dtype) == 'f' && is_wide)
        try_floats(dtype), try_samplers(dtype);
    if (strchr("ui", neap_dtype_kind(dtype)) && is_wide)
        try_integers(dtype);
    if (dtype == NEAP_DTYPE_U32)
        try_bits();
    if (dtype == NEAP_DTYPE_F32)
        try_long_scan();
    if (dtype == NEAP_DTYPE_U8 || dtype == NEAP_DTYPE_I64)
        try_bitcasts(dtype);
}

/* gpu_calls [DTYPE] */
int main(int argc, char **argv) {
    if (!gpu_begin())
        return 0;
    ptx_begin();
    if (gpu_device < 0)
        neap_engine_start(&(neap_engine_config){.workers = 2});
    for (int dtype = 0; dtype < NEAP_DTYPE_COUNT; dtype++) {
        if (argc > 1 && strcmp(argv[1], neap_dtype_name(dtype)) != 0)
            continue;
        memset(&all, 0, sizeof all);
        all.collects = true;
        try_dtype(dtype);
        all.collects = false;
        if (CHECK(all.entries.n > 0) && make_code(dtype))
            try_dtype(dtype);
        gpu_unmake(&all.code);
    }
    return check_end();
}
