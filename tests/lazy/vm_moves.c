/* vm_moves.c: elements moved between boxes, and taken from tables, against a loop over one element after another: every
 * width, every instruction set, boxes that are turned, flipped, spread, cut anywhere; and what kernels of copies alone
 * do with them. */
#include "tests/lazy/vm_random.h"

enum { AXES = 4 };

static const char *const sets[] = {"baseline", "avx2", "avx512"};
enum { SETS = sizeof sets / sizeof *sets };

static bool has(const char *set) {
    return vm_isa_set(set) == NEAP_OK;
}

static int64_t random_shape(int naxes, int64_t *shape) {
    static const int64_t extents[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100};
    int64_t size = 1;
    for (int k = 0; k < naxes; k++) {
        shape[k] = extents[below(16)];
        if (size * shape[k] > 20000)
            shape[k] = extents[below(4)];
        size *= shape[k];
    }
    return size;
}

static int64_t place_of(const lazy_wide_map *map, int naxes, const int64_t *shape, int64_t at) {
    int64_t place = map->offset;
    for (int k = naxes - 1; k >= 0; k--) {
        place += at % shape[k] * map->stride[k];
        at /= shape[k];
    }
    return place;
}

static bool all_equal(const char *a, const char *b, int64_t bytes, const char *what, const char *set, int width) {
    if (CHECK(memcmp(a, b, (size_t)bytes) == 0))
        return true;
    fprintf(stderr, "%s, %s, width %d\n", what, set, width);
    return false;
}

/* Moves, gathers and scatters elements start … of a box. Nothing else may be written. */
static void try_move(int width) {
    int64_t shape[LAZY_MAX_DOMAIN] = {1}, size = 1;
    int naxes = 1 + (int)below(AXES);
    lazy_wide_map from, to;
    size = random_shape(naxes, shape);
    int64_t nfrom = random_map(naxes, shape, false, &from) + 8, nto = random_map(naxes, shape, true, &to) + 8;
    int64_t start = below(3) ? 0 : below(size), n = start == 0 && below(2) ? size : below(size - start + 1);
    int64_t most = (nto > size ? nto : size) * width;
    char *x = malloc((size_t)(nfrom * width)), *expected = malloc((size_t)most), *out = malloc((size_t)most);
    char *packed = malloc((size_t)(size * width));
    for (int64_t i = 0; i < nfrom * width; i++)
        x[i] = (char)next();
    for (int64_t i = 0; i < n; i++)
        memcpy(packed + i * width, x + place_of(&from, naxes, shape, start + i) * width, (size_t)width);
    for (int k = 0; k < SETS; k++) {
        if (!has(sets[k]))
            continue;
        const lazy_moves *moves = vm_simd()->moves;
        memset(expected, 7, (size_t)most), memset(out, 7, (size_t)most);
        for (int64_t i = 0; i < n; i++)
            memcpy(expected + place_of(&to, naxes, shape, start + i) * width, packed + i * width, (size_t)width);
        vm_move(moves, width, out + to.offset * width, to.stride, x + from.offset * width, from.stride, naxes, shape,
                start, n);
        all_equal(out, expected, most, "move", sets[k], width);
        memset(out, 7, (size_t)most);
        vm_scatter(moves, width, out + to.offset * width, packed, naxes, shape, to.stride, start, n);
        all_equal(out, expected, most, "scatter", sets[k], width);
        memset(expected, 7, (size_t)most), memset(out, 7, (size_t)most);
        memcpy(expected, packed, (size_t)(n * width));
        vm_gather(moves, width, out, x + from.offset * width, naxes, shape, from.stride, start, n);
        all_equal(out, expected, most, "gather", sets[k], width);
    }
    free(x), free(expected), free(out), free(packed);
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
static void random_index(int dtype, int64_t extent, void *out) {
    static const int64_t far[] = {INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, UINT32_MAX, -1};
    int64_t at = below(8) ? below(3 * extent) - extent : far[below(6)];
    switch (dtype) {
#define STORE_INDEX(NAME, name, kind, I, ...)                                                                          \
    case NEAP_DTYPE_##NAME:                                                                                            \
        *(I *)out = (I)at;                                                                                             \
        break;
        NEAP_DTYPE_INTEGER_ROWS(STORE_INDEX)
    }
}

static int64_t clamped_index(int dtype, const char *index, int64_t k, int64_t extent) {
    int64_t at = 0;
    switch (dtype) {
#define READ_INDEX(NAME, name, kind, I, ...)                                                                           \
    case NEAP_DTYPE_##NAME:                                                                                            \
        at = dtype_index(kind, (uint64_t)((const I *)index)[k]);                                                       \
        break;
        NEAP_DTYPE_INTEGER_ROWS(READ_INDEX)
    }
    at = at < 0 ? at + extent : at;
    return at < 0 ? 0 : at >= extent ? extent - 1 : at;
}

/* Rows or elements of a table of `extent` rows, one index for every `run` elements. */
static void try_take(int width, int dtype) {
    int64_t shape[LAZY_MAX_DOMAIN] = {1};
    int naxes = 1 + (int)below(3);
    int64_t size = random_shape(naxes, shape), extent = 1 + below(60), step = 1 + below(40);
    lazy_wide_map map;
    int64_t n = random_map(naxes, shape, false, &map) + (extent - 1) * step;
    vm_table table = {.dtype = (uint8_t)dtype, .width = (uint8_t)width, .extent = extent, .step = step};
    table.index = (uint8_t)below(3);
    table.run = table.index == VM_INDEX_RUN && below(3) ? shape[naxes - 1] : 1;
    if (naxes > 1 && table.index == VM_INDEX_RUN && below(4) == 0)
        table.run = shape[naxes - 1] * shape[naxes - 2];
    char *x = malloc((size_t)(n * width)), *expected = malloc((size_t)(size * width));
    char *out = malloc((size_t)(size * width)), *index = malloc((size_t)(size * neap_dtype_bytes(dtype)));
    for (int64_t i = 0; i < n * width; i++)
        x[i] = (char)next();
    for (int64_t i = 0; i < size; i++)
        random_index(dtype, extent, index + i * neap_dtype_bytes(dtype));
    for (int64_t i = 0; i < size; i++) {
        int64_t of = table.index == VM_INDEX_ONE ? 0 : table.index == VM_INDEX_EACH ? i : i / table.run;
        if (table.index == VM_INDEX_RUN && table.run == 1) /* the same for all of a row: the first one is read */
            of = i - i % shape[naxes - 1];
        memcpy(expected + i * width,
               x + (place_of(&map, naxes, shape, i) + clamped_index(dtype, index, of, extent) * step) * width,
               (size_t)width);
    }
    for (int k = 0; k < SETS; k++)
        if (has(sets[k])) {
            memset(out, 7, (size_t)(size * width));
            vm_take(vm_simd()->moves, &table, out, x + map.offset * width, index, naxes, shape, map.stride, 0, size);
            all_equal(out, expected, size * width, "take", sets[k], width);
        }
    free(x), free(expected), free(out), free(index);
}

/* As many elements as are found at once, and some more or less; each over its index, where it is as wide. */
static void try_take_over_indices(int width, int dtype, int64_t size) {
    int64_t extent = 1 + below(1000), step = 1 + below(3), stride = below(2);
    bool over = neap_dtype_bytes(dtype) == width;
    vm_table table = {.dtype = (uint8_t)dtype, .width = (uint8_t)width, .extent = extent, .step = step, .run = 1};
    table.index = VM_INDEX_EACH;
    char *x = malloc((size_t)((extent * step + size) * width)), *expected = malloc((size_t)(size * width));
    char *out = malloc((size_t)(size * width)), *index = malloc((size_t)(size * neap_dtype_bytes(dtype)));
    for (int64_t i = 0; i < (extent * step + size) * width; i++)
        x[i] = (char)next();
    for (int64_t i = 0; i < size; i++)
        random_index(dtype, extent, index + i * neap_dtype_bytes(dtype));
    for (int64_t i = 0; i < size; i++)
        memcpy(expected + i * width, x + (clamped_index(dtype, index, i, extent) * step + i * stride) * width,
               (size_t)width);
    for (int k = 0; k < SETS; k++)
        if (has(sets[k])) {
            memset(out, 7, (size_t)(size * width));
            if (over)
                memcpy(out, index, (size_t)(size * width));
            vm_take(vm_simd()->moves, &table, out, x, over ? out : index, 1, &size, &stride, 0, size);
            all_equal(out, expected, size * width, "take over indices", sets[k], width);
        }
    free(x), free(expected), free(out), free(index);
}

/* ---- Kernels of copies alone ------------------------------------------------------------------------------------- */
static int moved;

static void try_copy(int dtype, bool through) {
    static const lazy_ins copy = {.op = LAZY_OP_copy, .narg = 1};
    int width = neap_dtype_bytes(dtype), naxes = 1 + (int)below(AXES);
    lazy_load load = {.kind = LAZY_LOAD_BUFFER, .dtype = (uint8_t)dtype};
    lazy_sink sink = {.kind = LAZY_SINK_STORE, .dtype = (uint8_t)dtype, .slot = 1, .value = through};
    lazy_ins ins = copy;
    ins.dtype = ins.result = (uint8_t)dtype;
    lazy_kernel kernel = {.ndim = naxes, .nkept = naxes, .nloads = 1, .nins = through, .nsinks = 1};
    kernel.loads = &load, kernel.ins = &ins, kernel.sinks = &sink;
    int64_t size = random_shape(naxes, kernel.shape);
    int64_t nfrom = random_map(naxes, kernel.shape, false, &load.read);
    int64_t nto = random_map(naxes, kernel.shape, true, &sink.write);
    char *x = random_buffer(dtype, nfrom), *out = malloc((size_t)(nto * width)),
         *expected = malloc((size_t)(nto * width));
    memset(expected, 0, (size_t)(nto * width));
    for (int64_t i = 0; i < size; i++)
        memcpy(expected + place_of(&sink.write, naxes, kernel.shape, i) * width,
               x + place_of(&load.read, naxes, kernel.shape, i) * width, (size_t)width);
    for (int variant = 0; variant < 4 * SETS; variant++) {
        neap_run run = {.device = 0, .worker = -1};
        if (!has(sets[variant / 4]))
            continue;
        vm_limit.chunk = variant & 1 ? 256 : 1024;
        vm_limit.stream_min = variant & 2 ? 1 : 0;
        memset(out, 0, (size_t)(nto * width));
        if (CHECK_EQ(vm_kernel_prepare(&kernel), NEAP_OK) &&
            CHECK_EQ(vm_kernel_run(&kernel, (void *[]){x, out}, NULL, variant & 2 ? &run : NULL), NEAP_OK))
            all_equal(out, expected, nto * width, "copy", sets[variant / 4], width);
        const vm_program *p = kernel.prepared;
        CHECK_EQ(p->copies, true);
        moved += p->sinks[0].moved;
        vm_kernel_unprepare(&kernel);
    }
    free(x), free(out), free(expected);
}

int main(void) {
    neap_engine_start(&(neap_engine_config){.workers = 4});
    vm_limit.parallel_min = vm_limit.task_min = 1;
    for (int k = 0; k < check_times(1000, 100); k++)
        try_move(1 << below(LAZY_WIDTHS));
    for (int k = 0; k < check_times(600, 60); k++) {
        int dtype = 1 + (int)below(NEAP_DTYPE_COUNT - 1);
        if (!dtype_is_inexact(dtype))
            try_take(1 << below(LAZY_WIDTHS), dtype);
    }
    for (int dtype = 1; dtype < NEAP_DTYPE_COUNT; dtype++)
        for (int k = 0; !dtype_is_inexact(dtype) && k < 8 * LAZY_WIDTHS; k++)
            try_take_over_indices(1 << k % LAZY_WIDTHS, dtype,
                                  (int64_t[]){1, 15, 255, 256, 257, 512, 600, 1025}[k / LAZY_WIDTHS]);
    for (int k = 0; k < check_times(400, 60); k++)
        try_copy((int)below(NEAP_DTYPE_COUNT), below(2));
    CHECK(moved > 10);
    neap_engine_stop();
    return check_end();
}
