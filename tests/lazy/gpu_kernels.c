/* gpu_kernels.c: random kernels of maps and reductions as code for GPUs, run on the CPU as an emulated grid, give the
 * VM's bits. Skipped without a generator. (release build only: generated code has no sanitizer in it) */
#include "tests/lazy/vm_gpu.h"
#include "tests/lazy/vm_kernels.h"

static void try_sample(sample *s, int number) {
    if (!gpu_agrees(&s->kernel, s->bufs, s->bytes, s->nbufs, s->scalars))
        fprintf(stderr, "sample %d\n", number);
    sample_free(s);
}

/* Maps of which each thread can take neighbours: rows of a multiple of 4 or 16 elements, with loads that are of one
 * element for a row, of one row for all, or of rows that are apart; casts of them are stored. Elements of half of the
 * samples have one or two bytes. */
static void neighbours_new(sample *s) {
    static const int narrow[] = {NEAP_DTYPE_BOOL, NEAP_DTYPE_U8,  NEAP_DTYPE_I8,  NEAP_DTYPE_U16,
                                 NEAP_DTYPE_I16,  NEAP_DTYPE_F16, NEAP_DTYPE_BF16};
    const bool is_narrow = below(2);
    const int64_t unit = below(2) ? 4 : 16, rows = 1 + below(9), columns = unit * (1 + below(1200 / unit));
    const int64_t step = columns + unit * below(3), behind = 8 << below(2);
    const lazy_wide_map maps[] = {
        {.stride = {columns, 1}}, {.stride = {step, 1}, .offset = behind}, {.stride = {1, 0}}, {.stride = {0, 1}}};
    *s = (sample){.kernel = {.ndim = 2, .nkept = 2, .shape = {rows, columns}, .nloads = 1 + (int)below(3)}};
    s->kernel.loads = s->loads, s->kernel.ins = s->ins, s->kernel.sinks = s->sinks;
    for (int k = 0; k < s->kernel.nloads; k++) {
        const int dtype = is_narrow ? narrow[below(7)] : random_plain_dtype();
        s->dtypes[k] = dtype == NEAP_DTYPE_C128 ? NEAP_DTYPE_C64 : dtype;
        s->loads[k] =
            (lazy_load){.kind = is_narrow || below(5) ? LAZY_LOAD_BUFFER : LAZY_LOAD_IOTA, .slot = (int16_t)s->nbufs};
        s->loads[k].read = maps[below(4)];
        if (s->loads[k].kind == LAZY_LOAD_IOTA)
            s->dtypes[k] = NEAP_DTYPE_I64;
        s->loads[k].dtype = (uint8_t)s->dtypes[k];
        s->bytes[s->nbufs] = (rows * step + 16) * neap_dtype_bytes(s->dtypes[k]);
        s->bufs[s->nbufs++] = random_buffer(s->dtypes[k], rows * step + 16);
    }
    for (int k = 0; k < s->kernel.nloads; k++) {
        const int to = below(2) ? s->dtypes[k] : NEAP_DTYPE_BOOL, value = add_cast(s, k, to);
        const int64_t bytes = (rows * step + 16) * neap_dtype_bytes(to);
        s->sinks[s->kernel.nsinks++] = (lazy_sink){.kind = LAZY_SINK_STORE,
                                                   .dtype = (uint8_t)to,
                                                   .value = value,
                                                   .slot = (int16_t)s->nbufs,
                                                   .write = maps[below(2)]};
        s->bytes[s->nbufs] = bytes;
        s->bufs[s->nbufs++] = calloc(1, (size_t)bytes);
    }
}

/* Maps of matrices, or of several, some of which are read transposed, from several of their rows and columns on; the
 * numbers of elements too. Axes are shorter than a tile, or no multiples of one. */
static void turned_new(sample *s) {
    const int64_t outer = below(2) ? 1 : 1 + below(4), rows = 16 + below(70), columns = 16 + below(70);
    const int64_t apart = below(3), matrix = (rows + apart) * (columns + apart);
    const lazy_wide_map turned = {.stride = {matrix, 1, rows + apart}, .offset = apart};
    const lazy_wide_map maps[] = {
        turned, turned, {.stride = {matrix, columns + apart, 1}}, {.stride = {0, 1, 0}}, {.stride = {1, 0, 0}}};
    *s = (sample){.kernel = {.ndim = 3, .nkept = 3, .shape = {outer, rows, columns}, .nloads = 1 + (int)below(3)}};
    s->kernel.loads = s->loads, s->kernel.ins = s->ins, s->kernel.sinks = s->sinks;
    const int64_t size = outer * matrix + apart;
    for (int k = 0; k < s->kernel.nloads; k++) {
        const bool counts = k > 0 && below(5) == 0;
        s->dtypes[k] = counts ? NEAP_DTYPE_I64 : random_plain_dtype();
        s->loads[k] = (lazy_load){.kind = counts ? LAZY_LOAD_IOTA : LAZY_LOAD_BUFFER, .slot = (int16_t)s->nbufs};
        s->loads[k].dtype = (uint8_t)s->dtypes[k];
        s->loads[k].read = maps[k > 0 ? below(5) : 0];
        s->bytes[s->nbufs] = size * neap_dtype_bytes(s->dtypes[k]);
        s->bufs[s->nbufs++] = random_buffer(s->dtypes[k], size);
    }
    for (int k = 0; k < s->kernel.nloads; k++) {
        const int to = below(2) ? s->dtypes[k] : NEAP_DTYPE_BOOL, value = add_cast(s, k, to);
        s->sinks[s->kernel.nsinks++] = (lazy_sink){
            .kind = LAZY_SINK_STORE, .dtype = (uint8_t)to, .value = value, .slot = (int16_t)s->nbufs, .write = maps[2]};
        s->bytes[s->nbufs] = size * neap_dtype_bytes(to);
        s->bufs[s->nbufs++] = calloc(1, (size_t)size * (size_t)neap_dtype_bytes(to));
    }
}

/* Sums of rows of numbers between 0.5 and 1.5, none of which hides the order of the others; of columns, if they lie
 * across. */
static void sums_new(sample *s, int k, bool across) {
    const int64_t rows = 1 + below(70), columns = 17 + below(k % 16 ? 3000 : 30000), n = rows * columns;
    const int dtype = k % 8 ? NEAP_DTYPE_F32 : NEAP_DTYPE_F64;
    *s = (sample){.kernel = {.ndim = 2, .nkept = 1, .shape = {rows, columns}, .nloads = 1, .nsinks = 1}, .nbufs = 2};
    s->kernel.loads = s->loads, s->kernel.ins = s->ins, s->kernel.sinks = s->sinks;
    s->loads[0] = (lazy_load){.kind = LAZY_LOAD_BUFFER, .dtype = (uint8_t)dtype, .read = {.stride = {columns, 1}}};
    if (across)
        s->loads[0].read = (lazy_wide_map){.stride = {1, rows}};
    s->sinks[0] = (lazy_sink){
        .kind = LAZY_SINK_REDUCE, .dtype = (uint8_t)dtype, .op = LAZY_OP_sum, .slot = 1, .write = {.stride = {1}}};
    s->dtypes[0] = dtype;
    s->bytes[0] = n * neap_dtype_bytes(dtype), s->bytes[1] = rows * neap_dtype_bytes(dtype);
    s->bufs[0] = malloc((size_t)s->bytes[0]), s->bufs[1] = calloc(1, (size_t)s->bytes[1]);
    for (int64_t i = 0; i < n; i++) {
        const double x = 0.5 + (double)below(1000003) / 1000003;
        const lazy_scalar element = dtype_scalar(dtype, x);
        memcpy((char *)s->bufs[0] + i * neap_dtype_bytes(dtype), &element, (size_t)neap_dtype_bytes(dtype));
    }
}

/* How sums of `reduced` elements for each of `rows` results are dealt out at the limits of a real GPU. */
static void dealing(int64_t rows, int64_t reduced, bool across, uint64_t group, uint64_t groups) {
    vm_gpu *plan = NULL;
    lazy_load load = {.kind = LAZY_LOAD_BUFFER, .dtype = NEAP_DTYPE_F32};
    lazy_sink sink = {.kind = LAZY_SINK_REDUCE, .dtype = NEAP_DTYPE_F32, .op = LAZY_OP_sum, .slot = 1};
    lazy_kernel kernel = {.ndim = 2, .nkept = 1, .shape = {rows, reduced}, .nloads = 1, .nsinks = 1};
    load.read = across ? (lazy_wide_map){.stride = {1, rows}} : (lazy_wide_map){.stride = {reduced, 1}};
    sink.write = (lazy_wide_map){.stride = {1}};
    kernel.loads = &load, kernel.sinks = &sink;
    vm_gpu_limit = (vm_gpu_limits){.slots = 2048, .groups = 1024};
    if (CHECK_EQ(vm_gpu_new(&kernel, &plan), NEAP_OK)) {
        CHECK_EQ(plan->words[GPU_GROUP_ROWS], group);
        CHECK_EQ(plan->launches[0].groups, groups);
        CHECK_EQ(plan->nlaunches, plan->words[GPU_BLOCKS] > 1 ? 2 : 1);
    }
    vm_gpu_free(plan);
}

/* A GPU has work, and a warp reads lines of memory. */
static void deals(void) {
    dealing(1, 100000, false, 1, 25);
    dealing(1, 1000000, false, 1, 245);
    dealing(8, 50257, false, 1, 104);
    dealing(4096, 4096, false, 4, 1024);
    dealing(4096, 4096, true, 32, 1024);
    dealing(1024, 16384, true, 32, 1024);
    dealing(64, 100000, true, 32, 782);
    dealing(4, 10000000, true, 4, 306);
}

/* gpu_kernels [SAMPLES] */
int main(int argc, char **argv) {
    int samples = argc > 1 ? atoi(argv[1]) : 40;
    if (!gpu_begin())
        return 0;
    deals();
    for (int k = 0; k < samples; k++) {
        sample s;
        sample_new(&s, k % 2);
        try_sample(&s, k);
    }
    for (int k = 0; k < samples; k += 4) {
        sample s;
        columns_new(&s, k);
        try_sample(&s, 1000 + k);
        strips_new(&s, k);
        try_sample(&s, 2000 + k);
    }
    for (int k = 0; k < samples; k += 4) {
        sample s;
        neighbours_new(&s);
        try_sample(&s, 3000 + k);
        turned_new(&s);
        try_sample(&s, 6000 + k);
        sums_new(&s, k, false);
        try_sample(&s, 4000 + k);
        sums_new(&s, k, true);
        try_sample(&s, 5000 + k);
    }
    CHECK(samples < 40 || (gpu_seen.across > 5 && gpu_seen.several > 5 && gpu_seen.near > 5));
    CHECK(samples < 40 || (gpu_seen.tiled > 5 && gpu_seen.full > 2));
    CHECK(samples < 40 || (gpu_seen.rows_in_waves > 0 && gpu_seen.rows_in_blocks > 0));
    return check_end();
}
