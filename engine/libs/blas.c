/* blas.c: matrix products through OpenBLAS, one thread per tile.
 *
 *      c  ┌───────┬───────┬────┐   a grid of tiles, chosen from m, n, k alone; k is never split. Each tile is one call
 *         │ tile  │       │    │   of the library on one thread, so the bits do not depend on the number of threads
 *         ├───────┼───────┼────┤   nor on who computes which tile. The library's own threads are never used: their
 *         │       │       │    │   partition changes the bits, and they spin when idle.
 *         └───────┴───────┴────┘
 *
 * The bits must not depend on how the operands are stored, either. OpenBLAS's blocked algorithm copies both operands
 * into one packed form first, so there it does not matter; but for small products it has kernels of their own for each
 * combination of transpositions. So for a small tile a transposed operand is first copied into plain form. Calls are
 * in column-major order with the operands exchanged, since row-major calls have yet another kernel on some processors.
 *
 * Such copies are the one memory that a worker allocates for itself here: from the pool, counted as live, two at once
 * for each thread, of at most SMALL_WORK elements (those of a matrix by a vector; else far fewer). If there is none,
 * the product fails.
 *
 * The library is found at run time, on the first product.
 */
#include "engine/libs/blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_internal.h"

enum { COLUMN_MAJOR = 102, PLAIN = 111, TRANSPOSED = 112 }; /* of cblas.h */

enum {
    SMALL_WORK = 1 << 21,    /* multiplications of a tile up to which its operands are stored plainly */
    SPLIT_WORK = 1 << 22,    /* multiplications from which a product is cut into tiles */
    PARALLEL_WORK = 1 << 18, /* multiplications from which other workers are asked */
    SPLIT_PARTS = 8,         /* about how many, */
    AREA_LEAST = 1 << 16,    /* but a tile has no fewer elements */
    AREA_MOST = 1 << 20,     /* and no more */
    TILE_STEP = 64,          /* edges of tiles are multiples of this, but for the last ones */
    COPY_BLOCK = 16
};

typedef void (*sgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                         int lda, const float *b, int ldb, float beta, float *c, int ldc);
typedef void (*dgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha,
                         const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);

static struct {
    pthread_once_t once;
    sgemm_fn sgemm;
    dgemm_fn dgemm;
    const char *name;
    void *library;
    char problem[256];
} blas = {.once = PTHREAD_ONCE_INIT};

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

/* The library starts its threads while it is loaded, unless the environment forbids it. */
static void *open_quietly(const char *file) {
    static const char *const variable = "OPENBLAS_NUM_THREADS";
    const char *before = getenv(variable);
    char *saved = before ? strdup(before) : NULL;
    setenv(variable, "1", 1);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (saved) {
        setenv(variable, saved, 1);
    } else {
        unsetenv(variable);
    }
    free(saved);
    return library;
}

static void load_blas(void) {
    void *library = open_quietly("libopenblas.so.0");
    if (!library) {
        const char *reason = dlerror();
        snprintf(blas.problem, sizeof blas.problem,
                 "products and linear algebra need OpenBLAS (Debian package libopenblas0): %s",
                 reason ? reason : "not found");
        return;
    }
    void (*set_threads)(int) = (void (*)(int))dlsym(library, "openblas_set_num_threads");
    char *(*describe)(void) = (char *(*)(void))dlsym(library, "openblas_get_config");
    blas.sgemm = (sgemm_fn)dlsym(library, "cblas_sgemm");
    blas.dgemm = (dgemm_fn)dlsym(library, "cblas_dgemm");
    if (!set_threads || !blas.sgemm || !blas.dgemm) {
        snprintf(blas.problem, sizeof blas.problem, "libopenblas.so.0 lacks a function that products need");
        blas.sgemm = NULL;
        return;
    }
    set_threads(1);
    blas.library = library;
    blas.name = describe ? describe() : "OpenBLAS";
}

int engine_blas_load(void) {
    int status = engine_check_alive();
    if (status)
        return status;
    pthread_once(&blas.once, load_blas);
    return blas.sgemm ? NEAP_OK : neap_error(NEAP_E_LIBRARY, "%s", blas.problem);
}

void *engine_blas_symbol(const char *name) {
    return engine_blas_load() == NEAP_OK ? dlsym(blas.library, name) : NULL;
}

const char *engine_blas_name(void) {
    return engine_blas_load() == NEAP_OK ? blas.name : NULL;
}

/* ---- One tile ---------------------------------------------------------------------------------------------------- */

typedef struct operand { /* a part of a matrix, as the library takes it */
    const char *data;
    int64_t stride; /* leading dimension */
    bool transposed;
    neap_buffer *copy; /* NULL: the data is the caller's */
} operand;

#define DEFINE_COPY(name, type)                                                                                        \
    /* to[i][j] = from[j][i] for i < rows, j < columns; `to` is contiguous. In blocks, for the caches' sake. */        \
    static void name(type *to, const type *from, int64_t rows, int64_t columns, int64_t stride) {                      \
        for (int64_t i0 = 0; i0 < rows; i0 += COPY_BLOCK) {                                                            \
            int64_t i1 = i0 + COPY_BLOCK < rows ? i0 + COPY_BLOCK : rows;                                              \
            for (int64_t j0 = 0; j0 < columns; j0 += COPY_BLOCK) {                                                     \
                int64_t j1 = j0 + COPY_BLOCK < columns ? j0 + COPY_BLOCK : columns;                                    \
                for (int64_t i = i0; i < i1; i++) {                                                                    \
                    for (int64_t j = j0; j < j1; j++)                                                                  \
                        to[i * columns + j] = from[j * stride + i];                                                    \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
DEFINE_COPY(copy_f32, float)
DEFINE_COPY(copy_f64, double)

/* Replaces a transposed operand by a plain copy of rows × columns. */
static int store_plainly(operand *x, int64_t rows, int64_t columns, bool f64, int device) {
    if (!x->transposed)
        return NEAP_OK;
    int status = neap_buffer_new(device, (size_t)(rows * columns) * (f64 ? 8 : 4), &x->copy);
    if (status)
        return status;
    void *to = neap_buffer_data(x->copy);
    if (f64) {
        copy_f64(to, (const double *)x->data, rows, columns, x->stride);
    } else {
        copy_f32(to, (const float *)x->data, rows, columns, x->stride);
    }
    x->data = to;
    x->stride = columns;
    x->transposed = false;
    return NEAP_OK;
}

/* c = a · b by one call; row-major matrices are the column-major transposed ones, and cᵀ = bᵀ · aᵀ. */
static void call_library(bool f64, const operand *a, const operand *b, char *c, int64_t m, int64_t n, int64_t k,
                         int64_t ldc) {
    int trans_a = a->transposed ? TRANSPOSED : PLAIN, trans_b = b->transposed ? TRANSPOSED : PLAIN;
    int rows = (int)n, columns = (int)m, inner = (int)k, lda = (int)a->stride, ldb = (int)b->stride;
    if (f64) {
        blas.dgemm(COLUMN_MAJOR, trans_b, trans_a, rows, columns, inner, 1.0, (const double *)b->data, ldb,
                   (const double *)a->data, lda, 0.0, (double *)c, (int)ldc);
    } else {
        blas.sgemm(COLUMN_MAJOR, trans_b, trans_a, rows, columns, inner, 1.0f, (const float *)b->data, ldb,
                   (const float *)a->data, lda, 0.0f, (float *)c, (int)ldc);
    }
}

/* ---- The grid ---------------------------------------------------------------------------------------------------- */

typedef struct product {
    const engine_gemm_args *args;
    int64_t tile_m, tile_n, rows, columns; /* edges of tiles; tiles down and across */
    _Atomic int status;
} product;

static int64_t ceil_div(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

/* The larger edge is halved until a tile has about an eighth of the result's elements, within bounds: small tiles make
 * the library copy its operands into packed form more often, large ones leave workers without work. */
static void choose_grid(product *p) {
    const engine_gemm_args *x = p->args;
    p->tile_m = x->m;
    p->tile_n = x->n;
    if ((double)x->m * (double)x->n * (double)x->k >= SPLIT_WORK) {
        double area = (double)x->m * (double)x->n / SPLIT_PARTS;
        area = area < AREA_LEAST ? AREA_LEAST : area > AREA_MOST ? AREA_MOST : area;
        while ((double)p->tile_m * (double)p->tile_n > area * 1.25) {
            int64_t *larger = p->tile_m > p->tile_n ? &p->tile_m : &p->tile_n;
            *larger = ceil_div(*larger, 2 * TILE_STEP) * TILE_STEP;
        }
    }
    p->rows = ceil_div(x->m, p->tile_m);
    p->columns = ceil_div(x->n, p->tile_n);
}

static void compute_tile(void *arg, int64_t index, const neap_run *run) {
    product *p = arg;
    const engine_gemm_args *x = p->args;
    int64_t size = x->f64 ? 8 : 4, matrix = index / (p->rows * p->columns), tile = index % (p->rows * p->columns);
    int64_t i = tile / p->columns * p->tile_m, j = tile % p->columns * p->tile_n;
    int64_t m = x->m - i < p->tile_m ? x->m - i : p->tile_m, n = x->n - j < p->tile_n ? x->n - j : p->tile_n;
    int64_t at_a = matrix * x->stride_a + (x->transpose_a ? i : i * x->lda);
    int64_t at_b = matrix * x->stride_b + (x->transpose_b ? j * x->ldb : j);
    int64_t at_c = matrix * x->stride_c + i * x->ldc + j;
    operand a = {(const char *)x->a + at_a * size, x->lda, x->transpose_a, NULL};
    operand b = {(const char *)x->b + at_b * size, x->ldb, x->transpose_b, NULL};
    int status = NEAP_OK;
    if ((double)m * (double)n * (double)x->k <= SMALL_WORK) {
        status = store_plainly(&a, m, x->k, x->f64, run->device);
        if (!status)
            status = store_plainly(&b, x->k, n, x->f64, run->device);
    }
    if (status) {
        atomic_store(&p->status, status);
    } else {
        call_library(x->f64, &a, &b, (char *)x->c + at_c * size, m, n, x->k, x->ldc);
    }
    neap_buffer_release(a.copy);
    neap_buffer_release(b.copy);
}

static void fill_zeros(const engine_gemm_args *x) {
    size_t size = x->f64 ? 8 : 4;
    for (int64_t matrix = 0; matrix < x->batch; matrix++) {
        for (int64_t i = 0; i < x->m; i++) {
            memset((char *)x->c + (size_t)(matrix * x->stride_c + i * x->ldc) * size, 0, (size_t)x->n * size);
        }
    }
}

static int check_args(const engine_gemm_args *x) {
    if (x->m < 0 || x->n < 0 || x->k < 0 || x->batch < 0)
        return neap_error(NEAP_E_SHAPE, "product of negative extents");
    if (x->m > INT_MAX || x->n > INT_MAX || x->k > INT_MAX || x->lda > INT_MAX || x->ldb > INT_MAX ||
        x->ldc > INT_MAX) {
        return neap_error(NEAP_E_SHAPE, "product of matrices with more than %d rows or columns", INT_MAX);
    }
    return NEAP_OK;
}

int engine_gemm(const neap_run *run, const engine_gemm_args *args) {
    int status = check_args(args);
    if (status)
        return status;
    if (args->m == 0 || args->n == 0 || args->batch == 0)
        return NEAP_OK;
    if (args->k == 0) {
        fill_zeros(args);
        return NEAP_OK;
    }
    status = engine_blas_load();
    if (status)
        return status;
    product p = {.args = args};
    choose_grid(&p);
    int64_t tiles = p.rows * p.columns * args->batch;
    double work = (double)args->m * (double)args->n * (double)args->k * (double)args->batch;
    if (work < PARALLEL_WORK) {
        for (int64_t tile = 0; tile < tiles; tile++)
            compute_tile(&p, tile, run);
    } else {
        neap_parallel_for(run, tiles, compute_tile, &p);
    }
    status = atomic_load(&p.status);
    return status ? neap_error(status, "no memory to copy an operand of a product") : NEAP_OK;
}
