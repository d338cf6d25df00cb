/* blas.c: OpenBLAS, found at run time on the first call that needs it: LAPACK's functions (lapack.c), and products of
 * matrices where our own (product.c) would be slow, on processors without fused multiply-add.
 *
 * The library's own threads are never used: their partition changes the bits, and they spin when idle. Nor must the
 * bits depend on how the operands are stored. OpenBLAS's blocked algorithm copies both operands into one packed form
 * first, so there it does not matter; but for small products it has kernels of their own for each combination of
 * transpositions. So for a small tile a transposed operand is first copied into plain form. Calls are in column-major
 * order with the operands exchanged, since row-major calls have yet another kernel on some processors.
 *
 * Such copies are the one memory that a worker allocates for itself here: from the pool, counted as live, two at once
 * for each thread, of at most SMALL_WORK elements. If there is none, the product fails.
 */
#include "engine/libs/blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "engine/engine_internal.h"

enum { COLUMN_MAJOR = 102, PLAIN = 111, TRANSPOSED = 112 }; /* of cblas.h */

enum {
    SMALL_WORK = 1 << 21, /* multiplications of a tile up to which its operands are stored plainly */
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

static const char CORE[] = "OPENBLAS_CORETYPE";

/* Opens the library, which starts its threads while it is loaded unless the environment forbids it, and chooses its
 * loops then. core: of which processor, where the user has named none; NULL: of this one. */
static void *open_library(const char *core) {
    static const char threads[] = "OPENBLAS_NUM_THREADS";
    const char *before = getenv(threads);
    char *saved = before ? strdup(before) : NULL;
    setenv(threads, "1", 1);
    if (core)
        setenv(CORE, core, 1);
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (core)
        unsetenv(CORE);
    if (saved) {
        setenv(threads, saved, 1);
    } else {
        unsetenv(threads);
    }
    free(saved);
    return library;
}

/* Whether the library runs loops for an old processor on one with AVX2, because it does not know this one's number. */
static bool underrates(void *library) {
#if defined(__x86_64__)
    static const char *const modern[] = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"};
    char *(*core_name)(void) = (char *(*)(void))dlsym(library, "openblas_get_corename");
    if (!core_name || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return false;
    for (size_t k = 0; k < sizeof modern / sizeof *modern; k++) {
        if (strcmp(core_name(), modern[k]) == 0)
            return false;
    }
    return true;
#else
    (void)library;
    return false;
#endif
}

/* Where the library underrates the processor it is loaded again and told of one that it knows, unless the user has
 * chosen. The loops of Haswell are 1.5 to 2.2 times as fast as those that it would take; the ones for AVX-512 of the
 * versions that need this are slower than Haswell's in most functions. */
static void *open_well(void) {
    void *library = open_library(NULL);
    if (!library || getenv(CORE) || !underrates(library))
        return library;
    dlclose(library);
    return open_library("Haswell");
}

static void load_blas(void) {
    void *library = open_well();
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

/* ---- Memory of the library's own ---------------------------------------------------------------------------------
 *
 * OpenBLAS keeps a block of memory for each call that runs at the same time, and asks the system for one until there is
 * one, if need be for ever. So where a process has a limited address space, the first block is taken by a call that
 * needs a block, after a look whether there is room. Further calls run at the same time if there is room for their
 * blocks, otherwise one after the other. Without limits the system refuses nothing. */
enum { LIBRARY_BLOCK = 33 << 22 }; /* bytes; 32 << 22 in common_x86_64.h and common_arm64.h, and some pages */

static struct {
    pthread_once_t once;
    bool limited, has_block;
    _Atomic int running;
    pthread_mutex_t turn; /* of calls that run by themselves */
} memory = {.once = PTHREAD_ONCE_INIT, .turn = PTHREAD_MUTEX_INITIALIZER};

static bool is_limited(int resource) {
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

static void look_for_limits(void) {
    FILE *file = fopen("/proc/sys/vm/overcommit_memory", "re");
    bool strict = file && fgetc(file) == '2';
    if (file)
        fclose(file);
    memory.limited = strict || is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA);
}

static bool has_room(int blocks) {
    size_t bytes = (size_t)blocks * LIBRARY_BLOCK;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at != MAP_FAILED && munmap(at, bytes) == 0;
}

/* Lets the library take its first block. */
static bool take_block(void) {
    void (*factor)(const int *m, const int *n, float *a, const int *lda, int *pivots, int *info);
    int one = 1, pivot, info;
    float a = 1;
    *(void **)&factor = dlsym(blas.library, "sgetrf_");
    if (!has_room(1))
        return false;
    if (factor)
        factor(&one, &one, &a, &one, &pivot, &info);
    return true;
}

int engine_blas_enter(bool *alone) {
    *alone = false;
    pthread_once(&memory.once, look_for_limits);
    if (!memory.limited)
        return NEAP_OK;
    int others = atomic_fetch_add(&memory.running, 1);
    if (others > 0 && has_room(others))
        return NEAP_OK;
    *alone = true;
    pthread_mutex_lock(&memory.turn);
    memory.has_block = memory.has_block || take_block();
    if (memory.has_block)
        return NEAP_OK;
    engine_blas_leave(true);
    return neap_error(NEAP_E_MEMORY, "no memory for OpenBLAS, which needs %d MB", LIBRARY_BLOCK >> 20);
}

void engine_blas_leave(bool alone) {
    if (alone)
        pthread_mutex_unlock(&memory.turn);
    if (memory.limited)
        atomic_fetch_sub(&memory.running, 1);
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

/* The distance of rows as stored; of a single row, as the library likes it. */
static int64_t leading(bool transposed, int64_t row, int64_t column, int64_t rows, int64_t columns) {
    int64_t distance = transposed ? column : row, width = transposed ? rows : columns;
    return distance > width ? distance : width;
}

int engine_blas_multiply(const neap_run *run, bool f64, const engine_product *p) {
    bool transpose_a = p->a_column != 1, transpose_b = p->b_column != 1;
    int64_t lda = leading(transpose_a, p->a_row, p->a_column, p->m, p->k);
    int64_t ldb = leading(transpose_b, p->b_row, p->b_column, p->k, p->n);
    if (lda > INT_MAX || ldb > INT_MAX || p->c_row > INT_MAX || p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX)
        return neap_error(NEAP_E_SHAPE, "product of matrices with more than %d rows or columns", INT_MAX);
    int status = engine_blas_load();
    if (status)
        return status;
    operand a = {p->a, lda, transpose_a, NULL}, b = {p->b, ldb, transpose_b, NULL};
    if ((double)p->m * (double)p->n * (double)p->k <= SMALL_WORK) {
        status = store_plainly(&a, p->m, p->k, f64, run->device);
        if (!status)
            status = store_plainly(&b, p->k, p->n, f64, run->device);
    }
    bool alone;
    if (!status && (status = engine_blas_enter(&alone)) == NEAP_OK) {
        call_library(f64, &a, &b, p->c, p->m, p->n, p->k, p->c_row);
        engine_blas_leave(alone);
    }
    neap_buffer_release(a.copy);
    neap_buffer_release(b.copy);
    return status;
}
