/* product.c: products of matrices: which loops compute one, and how it is shared out.
 *
 *      c  ┌───────┬───────┬────┐   a grid of tiles of nearly equal sizes, chosen from m, n, k alone; k is never split.
 *         │ tile  │       │    │   Each is computed by one thread. Elements of c do not depend on the tiles, since each
 *         ├───────┼───────┼────┤   is a sum in an order of its own (simd/product.h).
 *         │       │       │    │
 *         └───────┴───────┴────┘
 *
 *      one column or row     simd/product.h: a matrix by a vector; the tiles are parts of the vector that results, long
 *                            ones where one thread computes all. If they are few and k is long, k is cut at leaves of
 *                            the sum, and the parts' sums are joined as the tree of leaves joins them, so the bits stay
 *                            the same
 *      else                  simd/product.h, if the processor multiplies and adds at once. If that must be computed in
 *                            many steps, only for small products; larger ones are the BLAS's (blas.c), tile by tile
 *
 * A product that is subtracted from what is there (factor.c) is always one by matrices' loops.
 *
 * Small matrices of a batch are computed several at a time; those at equal distances by one call of the loops, since a
 * call costs more than a product of 4 × 4. Of a matrix by its own transpose the tiles below the diagonal are copied
 * from above it: an element and its mirror image are the same sum.
 */
#include "engine/libs/product.h"

#include <stdatomic.h>
#include <string.h>

#include "engine/device.h"
#include "engine/engine_internal.h"
#include "engine/libs/blas.h"
#include "isa_gen.h"

enum {
    TILE_WORK = 1 << 20,     /* multiplications of a tile, at least, */
    TILES = 16,              /* if a product has no more of them than this; */
    TILE_COLUMNS = 512,      /* but its edges are no longer than this, and engine_products.tile_rows */
    ROW_STEP = 4,            /* edges of tiles are multiples of these, but for the last ones */
    COLUMN_STEP = 32,        /* (a block of registers, on every processor) */
    PARALLEL_WORK = 1 << 18, /* multiplications from which other workers are asked, */
    SUBTRACT_WORK = 1 << 20, /* and for parts of a factorization, which are many and short */
    TASK_WORK = 1 << 16,     /* of the matrices of a batch that are computed together, and of parts of a vector; */
    ALONE_WORK = 1 << 22,    /* of such parts where a single thread computes all: between two it may be cancelled */
    VECTOR_STEP = 32,        /* of a vector's parts, and where it is contiguous that they are long: */
    FAR_STEP = 128,          /* lines of the cache that are read one behind the other, not page by page */
    CHUNK = 1 << 17,         /* of k, of a vector: a power of two of leaves */
    EMULATED_WORK = /* multiplications of the largest product whose fused multiply-adds are computed in steps */
    ENGINE_PRODUCT_EMULATED * ENGINE_PRODUCT_EMULATED * ENGINE_PRODUCT_EMULATED,
    COPIED_COLUMNS = 128, /* of a tile whose left side is copied, at least, if its rows lie so far apart that they */
    COPIED_BYTES = 2048   /* meet in few places of the caches */
};

typedef struct product {
    const engine_gemm_args *args;
    const engine_products *loops;
    int64_t batch, together;               /* matrices; of a task */
    engine_product matrix;                 /* the first, as loops take it */
    bool vector, exchanged;                /* a matrix by a vector; the matrix is b, transposed */
    bool few;                              /* those of a task are given to loops together */
    int64_t tile_m, tile_n, rows, columns; /* edges of tiles; tiles down and across */
    int64_t chunks;                        /* of k */
    char *parts;                           /* the chunks' sums: [batch][m][chunks] */
    bool blas;
    bool symmetric, mirrors; /* c is, or its tiles below the diagonal do not matter; they are being copied */
    _Atomic int status;
} product;

/* ---- The loops --------------------------------------------------------------------------------------------------- */
static _Atomic(const engine_products *) chosen;

int engine_gemm_isa(const char *name) {
    static const struct {
        const engine_products *loops;
        bool (*can_run)(void);
    } compiled[] = {
#define COMPILED(isa) {&engine_products_##isa, engine_isa_##isa},
        ENGINE_ISAS(COMPILED)
#undef COMPILED
    };
    for (size_t k = 0; k < sizeof compiled / sizeof *compiled; k++) {
        const engine_products *loops = compiled[k].loops;
        if (compiled[k].can_run() && (!name || strcmp(name, loops->isa) == 0)) {
            atomic_store_explicit(&chosen, loops, memory_order_release);
            return NEAP_OK;
        }
    }
    return neap_error(NEAP_E_ARGUMENT, "expected an instruction set that this CPU has, got '%s'", name);
}

const engine_products *engine_gemm_loops(void) {
    const engine_products *loops = atomic_load_explicit(&chosen, memory_order_acquire);
    if (loops)
        return loops;
    engine_gemm_isa(NULL);
    return atomic_load_explicit(&chosen, memory_order_acquire);
}

/* ---- The grid ---------------------------------------------------------------------------------------------------- */
static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* An edge of `length` elements in `parts` equal parts of a multiple of `step`. */
static int64_t edge_of(int64_t length, int64_t parts, int64_t step) {
    int64_t edge = ceil_div(ceil_div(length, parts), step) * step;
    return edge < length ? edge : length;
}

static double work_of(const engine_product *x) {
    return (double)x->m * (double)x->n * (double)x->k;
}

/* The grid of about so many tiles with the shortest edges: what a tile reads is proportional to their sum. */
static void choose_grid(product *p) {
    const engine_product *x = &p->matrix;
    double wanted = work_of(x) / TILE_WORK;
    int64_t parts = wanted < 1 ? 1 : wanted > TILES ? TILES : (int64_t)wanted, best = INT64_MAX;
    for (int64_t down = 1; down <= parts; down++) {
        int64_t least = ceil_div(x->m, p->loops->tile_rows), across = ceil_div(parts, down);
        int64_t tile_m = edge_of(x->m, down > least ? down : least, ROW_STEP);
        least = ceil_div(x->n, TILE_COLUMNS);
        int64_t tile_n = edge_of(x->n, across > least ? across : least, COLUMN_STEP);
        if (ceil_div(x->m, tile_m) * ceil_div(x->n, tile_n) < parts && down < parts && best < INT64_MAX)
            continue;
        if (tile_m + tile_n < best) {
            best = tile_m + tile_n;
            p->tile_m = tile_m;
            p->tile_n = tile_n;
        }
        if (across <= least) /* enough tiles, as wide as may be: with more rows of them b would only be read again */
            break;
    }
    p->rows = ceil_div(x->m, p->tile_m);
    p->columns = ceil_div(x->n, p->tile_n);
}

/* Whether no loop of this process is shared. */
static bool is_alone(void) {
    return engine_is_naive() || atomic_load_explicit(&engine.workers, memory_order_relaxed) <= 1;
}

/* Parts of the rows; if those are few, also of k. A thread alone takes long parts: of a matrix whose columns are summed
 * the rows are read in longer runs then. */
static void choose_parts(product *p) {
    const engine_product *x = &p->matrix;
    const double work = (double)x->m * (double)x->k, least = is_alone() ? ALONE_WORK : TASK_WORK;
    int64_t parts = work < least ? 1 : work > least * TILES ? TILES : (int64_t)(work / least);
    p->tile_m = edge_of(x->m, parts, x->a_column == 1 ? VECTOR_STEP : FAR_STEP);
    p->tile_n = 1;
    p->rows = ceil_div(x->m, p->tile_m);
    p->columns = 1;
    p->chunks = p->rows * p->batch < TILES / 2 ? ceil_div(x->k, CHUNK) : 1;
}

/* ---- Tiles ------------------------------------------------------------------------------------------------------- */
typedef struct offsets { /* in elements */
    int64_t a, b, c;
} offsets;

/* Whether matrices of a batch lie at equal distances, which *next gets. */
static bool are_even(const engine_gemm_args *x, offsets *next) {
    *next = (offsets){.c = x->stride_c};
    int64_t inner = 1;
    bool even = true;
    for (int axis = x->batch_axes - 1; axis >= 0; axis--) {
        if (x->batch[axis] == 1)
            continue;
        if (inner == 1) {
            next->a = x->strides_a[axis];
            next->b = x->strides_b[axis];
        }
        even &= x->strides_a[axis] == next->a * inner && x->strides_b[axis] == next->b * inner;
        inner *= x->batch[axis];
    }
    return even;
}

static offsets offsets_of(const engine_gemm_args *x, int64_t matrix) {
    offsets at = {.c = matrix * x->stride_c};
    for (int axis = x->batch_axes - 1; axis >= 0; axis--) {
        int64_t i = axis ? matrix % x->batch[axis] : matrix;
        matrix = axis ? matrix / x->batch[axis] : 0;
        at.a += i * x->strides_a[axis];
        at.b += i * x->strides_b[axis];
    }
    return at;
}

/* Whether a copy of the left side of a tile is worth its time: few rows stay in the caches wherever they lie. */
static bool reads_far(const product *p, const engine_product *x) {
    int64_t apart = (x->a_column == 1 ? x->a_row : x->a_column) * (p->args->f64 ? 8 : 4);
    return x->n >= COPIED_COLUMNS && apart >= COPIED_BYTES && x->m > p->loops->rows && x->m <= p->loops->tile_rows;
}

static int multiply_tile(const product *p, engine_product *x, const neap_run *run) {
    int wide = p->args->f64;
    size_t bytes = (size_t)(engine_product_scratch(x) * (wide ? 8 : 4));
    if (p->blas)
        return engine_blas_multiply(run, wide, x);
    if (reads_far(p, x) && neap_run_alloc(run, bytes, &x->scratch) != NEAP_OK)
        x->scratch = NULL; /* slower, but as good */
    p->loops->matrices[wide](x);
    if (x->scratch)
        neap_run_free(run, x->scratch, bytes);
    return NEAP_OK;
}

/* One tile of one matrix. */
static void compute_tile(product *p, int64_t matrix, int64_t row, int64_t column, const neap_run *run) {
    const engine_gemm_args *args = p->args;
    int64_t size = args->f64 ? 8 : 4, i = row * p->tile_m, j = column * p->tile_n;
    offsets at = offsets_of(args, matrix);
    engine_product x = p->matrix;
    x.m = x.m - i < p->tile_m ? x.m - i : p->tile_m;
    x.n = x.n - j < p->tile_n ? x.n - j : p->tile_n;
    x.a = (const char *)x.a + (at.a + i * x.a_row) * size;
    x.b = (const char *)x.b + (at.b + j * x.b_column) * size;
    x.c = (char *)x.c + (at.c + i * x.c_row + j) * size;
    x.packed_first = j;
    int status = multiply_tile(p, &x, run);
    if (status)
        atomic_store(&p->status, status);
}

/* Is all of a tile below the diagonal of a symmetric product? */
static bool is_below(const product *p, int64_t row, int64_t column) {
    return p->symmetric && (column + 1) * p->tile_n <= row * p->tile_m;
}

#define DEFINE_MIRROR(name, type)                                                                                      \
    static void name(type *c, int64_t step, int64_t i, int64_t rows, int64_t j, int64_t columns) {                     \
        for (int64_t row = i; row < i + rows; row++)                                                                   \
            for (int64_t column = j; column < j + columns; column++)                                                   \
                c[row * step + column] = c[column * step + row];                                                       \
    }
DEFINE_MIRROR(mirror_f32, float)
DEFINE_MIRROR(mirror_f64, double)

static void mirror_tile(const product *p, int64_t matrix, int64_t row, int64_t column) {
    const engine_product *x = &p->matrix;
    int64_t i = row * p->tile_m, j = column * p->tile_n, at = matrix * p->args->stride_c;
    int64_t rows = x->m - i < p->tile_m ? x->m - i : p->tile_m;
    if (p->args->f64)
        mirror_f64((double *)x->c + at, x->c_row, i, rows, j, p->tile_n);
    else
        mirror_f32((float *)x->c + at, x->c_row, i, rows, j, p->tile_n);
}

/* The elements of a vector one behind the other: where they are, or, if they stand apart, in *scratch. */
static int gather_vector(const neap_run *run, const void **x, int64_t k, int64_t step, size_t size, void **scratch) {
    int status = step == 1 ? NEAP_OK : neap_run_alloc(run, (size_t)k * size, scratch);
    if (step == 1 || status)
        return status;
    for (int64_t i = 0; i < k; i++)
        memcpy((char *)*scratch + (size_t)i * size, (const char *)*x + (size_t)(i * step) * size, size);
    *x = *scratch;
    return NEAP_OK;
}

/* One part of the rows of one matrix, by a chunk of its vector. */
static void compute_part(product *p, int64_t matrix, int64_t row, int64_t chunk, const neap_run *run) {
    const engine_gemm_args *args = p->args;
    const engine_product *x = &p->matrix;
    int64_t size = args->f64 ? 8 : 4, i = row * p->tile_m, k = chunk * CHUNK;
    offsets at = offsets_of(args, matrix);
    engine_matrix_vector part = {.m = x->m - i < p->tile_m ? x->m - i : p->tile_m,
                                 .k = p->chunks == 1     ? x->k
                                      : x->k - k < CHUNK ? x->k - k
                                                         : CHUNK,
                                 .a_row = x->a_row,
                                 .a_column = x->a_column,
                                 .c_step = p->parts ? p->chunks : x->c_row};
    part.a = (const char *)x->a + ((p->exchanged ? at.b : at.a) + i * x->a_row + k * x->a_column) * size;
    part.x = (const char *)x->b + ((p->exchanged ? at.a : at.b) + k * x->b_row) * size;
    part.c = p->parts ? p->parts + ((matrix * x->m + i) * p->chunks + chunk) * size
                      : (char *)x->c + (at.c + i * x->c_row) * size;
    void *scratch = NULL;
    int status = gather_vector(run, &part.x, part.k, x->b_row, (size_t)size, &scratch);
    if (status == NEAP_OK)
        p->loops->vectors[args->f64](&part);
    else
        atomic_store(&p->status, neap_error(status, "no memory for the vector of a product"));
    if (scratch)
        neap_run_free(run, scratch, (size_t)(part.k * size));
}

/* Matrices of a batch, each a single tile. */
static void compute_few(const product *p, int64_t first, int64_t count) {
    const int64_t size = p->args->f64 ? 8 : 4;
    const offsets at = offsets_of(p->args, first);
    engine_product x = p->matrix;
    x.a = (const char *)x.a + at.a * size;
    x.b = (const char *)x.b + at.b * size;
    x.c = (char *)x.c + at.c * size;
    x.count = count;
    p->loops->matrices[p->args->f64](&x);
}

static void compute_task(void *arg, int64_t index, const neap_run *run) {
    product *p = arg;
    int64_t tiles = p->rows * p->columns * p->chunks, first = index / tiles * p->together, tile = index % tiles;
    int64_t end = first + p->together < p->batch ? first + p->together : p->batch;
    int64_t across = p->columns * p->chunks;
    if (p->few) {
        compute_few(p, first, end - first);
        return;
    }
    for (int64_t matrix = first; matrix < end; matrix++) {
        const int64_t row = tile / across, column = tile % across;
        if (p->vector)
            compute_part(p, matrix, row, column, run);
        else if (!p->mirrors && !is_below(p, row, column))
            compute_tile(p, matrix, row, column, run);
        else if (p->mirrors && is_below(p, row, column))
            mirror_tile(p, matrix, row, column);
    }
}

static void share_tiles(product *p, int64_t tasks, double work, const neap_run *run) {
    if (work < (p->args->subtract ? SUBTRACT_WORK : PARALLEL_WORK)) {
        for (int64_t k = 0; k < tasks; k++)
            compute_task(p, k, run);
    } else {
        neap_parallel_for(run, tasks, compute_task, p);
    }
}

static int share_out(product *p, const neap_run *run) {
    double work = work_of(&p->matrix);
    int64_t tiles = p->rows * p->columns * p->chunks;
    p->together = tiles == 1 && work < TASK_WORK ? (int64_t)(TASK_WORK / (work < 1 ? 1 : work)) + 1 : 1;
    offsets next;
    p->few = p->together > 1 && p->batch > 1 && !p->vector && !p->blas && are_even(p->args, &next);
    if (p->few) {
        p->matrix.a_next = next.a;
        p->matrix.b_next = next.b;
        p->matrix.c_next = next.c;
    }
    tiles *= ceil_div(p->batch, p->together);
    share_tiles(p, tiles, work * (double)p->batch, run);
    p->mirrors = p->symmetric && !p->args->upper && p->rows > 1;
    if (p->mirrors)
        share_tiles(p, tiles, (double)(p->batch * p->matrix.m * p->matrix.n), run);
    return atomic_load(&p->status);
}

/* ---- Sums of chunks ---------------------------------------------------------------------------------------------- */
/* docs: numbers: tree(lo, hi) = tree(lo, mid) + tree(mid, hi), mid = lo + the largest power of two below hi - lo. Each
 * call halves what is left, about. */
#define DEFINE_TREE(name, type)                                                                                        \
    static type name(const type *sums, int64_t n) {                                                                    \
        if (n == 1)                                                                                                    \
            return *sums;                                                                                              \
        int64_t half = 1;                                                                                              \
        while (2 * half < n)                                                                                           \
            half *= 2;                                                                                                 \
        return name(sums, half) + name(sums + half, n - half);                                                         \
    }
DEFINE_TREE(tree_f32, float)
DEFINE_TREE(tree_f64, double)

static int multiply_in_chunks(product *p, const neap_run *run) {
    const engine_product *x = &p->matrix;
    int64_t size = p->args->f64 ? 8 : 4, each = p->chunks * size;
    void *scratch;
    int status = neap_run_alloc(run, (size_t)(p->batch * x->m * each), &scratch);
    if (status)
        return neap_error(status, "no memory for the parts of a product");
    p->parts = scratch;
    status = share_out(p, run);
    for (int64_t k = 0; k < p->batch * x->m; k++) {
        char *to = (char *)x->c + (k / x->m * p->args->stride_c + k % x->m * x->c_row) * size;
        const void *from = p->parts + k * each;
        if (p->args->f64)
            *(double *)to = tree_f64(from, p->chunks);
        else
            *(float *)to = tree_f32(from, p->chunks);
    }
    neap_run_free(run, scratch, (size_t)(p->batch * x->m * each));
    return status;
}

/* ---- A product --------------------------------------------------------------------------------------------------- */
static void fill_zeros(const engine_gemm_args *x, int64_t batch) {
    size_t size = x->f64 ? 8 : 4;
    for (int64_t matrix = 0; matrix < batch; matrix++) {
        for (int64_t i = 0; i < x->m; i++)
            memset((char *)x->c + (size_t)(matrix * x->stride_c + i * x->ldc) * size, 0, (size_t)x->n * size);
    }
}

/* Strides of both axes; that of an axis of one element is what loops like. */
static void take_operands(product *p) {
    const engine_gemm_args *x = p->args;
    engine_product *to = &p->matrix;
    *to = (engine_product){
        .m = x->m, .n = x->n, .k = x->k, .a = x->a, .b = x->b, .c = x->c, .c_row = x->ldc, .subtract = x->subtract};
    to->a_row = x->transpose_a ? 1 : x->lda;
    to->a_column = x->transpose_a && x->k > 1 ? x->lda : 1;
    to->b_row = x->transpose_b ? 1 : x->ldb;
    to->b_column = x->transpose_b && x->n > 1 ? x->ldb : 1;
    p->vector = (x->m == 1 || x->n == 1) && !x->subtract;
    p->exchanged = p->vector && x->n > 1;
    if (!p->exchanged)
        return;
    /* One row by a matrix: the matrix, transposed, by the row. */
    *to = (engine_product){.m = x->n, .n = 1, .k = x->k, .a = x->b, .b = x->a, .c = x->c, .c_row = 1};
    to->a_row = x->transpose_b ? x->ldb : 1;
    to->a_column = x->transpose_b || x->k == 1 ? 1 : x->ldb;
    to->b_row = x->transpose_a ? x->lda : 1;
}

/* Is it a matrix, by itself transposed, that loops compute whose sums do not depend on the tiles? */
static bool is_symmetric(const product *p) {
    const engine_gemm_args *x = p->args;
    bool same =
        x->a == x->b && x->m == x->n && p->matrix.a_row == p->matrix.b_column && p->matrix.a_column == p->matrix.b_row;
    for (int axis = 0; axis < x->batch_axes; axis++)
        same &= x->strides_a[axis] == x->strides_b[axis];
    return same && !p->vector && !p->blas;
}

/* Is a product left to the BLAS? */
static bool is_for_blas(const product *p) {
    return !p->vector && !p->loops->fused && !p->args->subtract && work_of(&p->matrix) > EMULATED_WORK;
}

engine_gemm_packed engine_gemm_plan_packed(const engine_gemm_args *args) {
    product p = {.args = args, .loops = engine_gemm_loops()};
    take_operands(&p);
    engine_gemm_packed packed = {.loops = p.loops};
    if (!p.vector && !is_for_blas(&p) && !args->batch_axes && args->m > 0 && args->n > 0)
        packed.bytes = (size_t)(args->k * engine_product_packed_columns(p.loops, args->f64, args->n)) *
                       (args->f64 ? sizeof(double) : sizeof(float));
    return packed;
}

void engine_gemm_pack(const engine_gemm_args *args, const engine_gemm_packed *packed) {
    product p = {.args = args, .loops = packed->loops};
    take_operands(&p);
    p.matrix.packed_columns = engine_product_packed_columns(p.loops, args->f64, args->n);
    p.loops->pack[args->f64](&p.matrix, packed->panels);
}

static void take_packed(product *p) {
    const engine_gemm_packed *packed = p->args->packed;
    if (!packed || p->vector || p->blas || packed->loops != p->loops)
        return;
    p->matrix.packed = packed->panels;
    p->matrix.packed_columns = engine_product_packed_columns(p->loops, p->args->f64, p->args->n);
}

int engine_gemm(const neap_run *run, const engine_gemm_args *args) {
    if (args->m < 0 || args->n < 0 || args->k < 0)
        return neap_error(NEAP_E_SHAPE, "product of negative extents");
    product p = {.args = args, .loops = engine_gemm_loops(), .batch = 1, .chunks = 1};
    for (int axis = 0; axis < args->batch_axes; axis++)
        p.batch *= args->batch[axis];
    if (args->m == 0 || args->n == 0 || p.batch == 0)
        return NEAP_OK;
    if (args->k == 0) {
        if (!args->subtract)
            fill_zeros(args, p.batch);
        return NEAP_OK;
    }
    take_operands(&p);
    p.blas = is_for_blas(&p);
    take_packed(&p);
    p.symmetric = args->upper || is_symmetric(&p);
    if (p.vector)
        choose_parts(&p);
    else
        choose_grid(&p);
    return p.chunks > 1 ? multiply_in_chunks(&p, run) : share_out(&p, run);
}
