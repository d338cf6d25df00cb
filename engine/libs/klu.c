/* klu.c: the functions of KLU, found at run time on the first call that needs one, and the factors that are kept.
 *
 * The library is that of SuiteSparse 5 or 7, libklu.so.1 or libklu.so.2, whose structures are laid out alike. Built
 * without headers: declarations are checked against the library's own defaults when the library is loaded. A pivot
 * on the diagonal is taken if it is at least TOLERANCE times the largest element of the column. Rows are scaled by
 * their largest elements first (KLU's default), but for whole factors, which are of one block, too. T. Davis and E.
 * Palamadai Natarajan, "Algorithm 907: KLU, a direct sparse solver for circuit simulation problems", 2010.
 *
 * Factors are kept in a list, the latest used first: KEPT of them at most, and no more than KEPT_BYTES but for the
 * first. Matrices are compared bit by bit. New factors of an equal matrix would have the bits of the kept ones, so no
 * result depends on what is kept. */
#include "engine/libs/klu.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine/libs/library.h"

enum {
    KEPT = 8,
    KEPT_BYTES = 1 << 28,
    TOGETHER = 4, /* columns that the library solves at once */
    SINGULAR = 1, /* of klu.h */
    OUT_OF_MEMORY = -2
};

static const double TOLERANCE = 0.1;

typedef struct control { /* klu_common */
    double tol, memgrow, initmem_amd, initmem, maxwork;
    int btf, ordering, scale;
    void *user_order, *user_data;
    int halt_if_singular, status, nrealloc, structural_rank, numerical_rank, singular_col, noffdiag;
    double flops, rcond, condest, rgrowth, work;
    size_t memusage, mempeak;
} control;

typedef struct numeric { /* klu_numeric */
    int n, nblocks, lnz, unz, max_lnz_block, max_unz_block;
    int *pnum, *pinv, *lip, *uip, *llen, *ulen;
    void **blocks;
    size_t *sizes;
    void *diagonal;
    double *scales;
    size_t worksize;
    void *work, *xwork;
    int *iwork, *offp, *offi;
    void *offx;
    int nzoff;
} numeric;

struct engine_klu {
    engine_klu_matrix a; /* in memory of its own */
    bool whole;
    control control;
    void *symbolic;
    numeric *numeric;
    size_t bytes;
    int references;   /* the list has one. The lock is held */
    engine_klu *next; /* in the list */
};

static struct {
    pthread_once_t once;
    const char *file; /* NULL: it is not there */
    int (*defaults)(control *);
    void *(*analyze)(int n, const int32_t *starts, const int32_t *rows, control *);
    numeric *(*factor)(const int32_t *starts, const int32_t *rows, const double *elements, void *symbolic, control *);
    numeric *(*z_factor)(const int32_t *starts, const int32_t *rows, const double *elements, void *symbolic, control *);
    int (*solve)(void *symbolic, const numeric *, int stride, int columns, double *b, control *);
    int (*z_solve)(void *symbolic, const numeric *, int stride, int columns, double *b, control *);
    int (*tsolve)(void *symbolic, const numeric *, int stride, int columns, double *b, control *);
    int (*z_tsolve)(void *symbolic, const numeric *, int stride, int columns, double *b, int conjugate, control *);
    int (*sort)(const void *symbolic, numeric *, control *);
    int (*z_sort)(const void *symbolic, numeric *, control *);
    /* Two triangles, what stands beside the blocks, orders of rows and columns, scales, starts of blocks. */
    int (*extract)(const numeric *, const void *symbolic, int32_t *, int32_t *, double *, int32_t *, int32_t *,
                   double *, int32_t *, int32_t *, double *, int32_t *, int32_t *, double *, int32_t *, control *);
    int (*z_extract)(const numeric *, const void *symbolic, int32_t *, int32_t *, double *, double *, int32_t *,
                     int32_t *, double *, double *, int32_t *, int32_t *, double *, double *, int32_t *, int32_t *,
                     double *, int32_t *, control *);
    int (*free_symbolic)(void **, control *);
    int (*free_numeric)(numeric **, control *);
    int (*z_free_numeric)(numeric **, control *);
} lib = {.once = PTHREAD_ONCE_INIT};

static struct {
    pthread_mutex_t lock;
    engine_klu *first;
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Loading ----------------------------------------------------------------------------------------------------- */
#define KLU_FUNCTIONS(X)                                                                                               \
    X(defaults)                                                                                                        \
    X(analyze)                                                                                                         \
    X(factor)                                                                                                          \
    X(z_factor)                                                                                                        \
    X(solve)                                                                                                           \
    X(z_solve)                                                                                                         \
    X(tsolve)                                                                                                          \
    X(z_tsolve)                                                                                                        \
    X(sort)                                                                                                            \
    X(z_sort)                                                                                                          \
    X(extract)                                                                                                         \
    X(z_extract)                                                                                                       \
    X(free_symbolic)                                                                                                   \
    X(free_numeric)                                                                                                    \
    X(z_free_numeric)

/* Are the library's settings where this file declares them? The defaults are those of klu.h. */
static bool is_laid_out_so(void) {
    union {
        control c;
        char room[2 * sizeof(control)];
    } u;
    memset(&u, 0, sizeof u);
    return lib.defaults(&u.c) && u.c.tol == 0.001 && u.c.memgrow == 1.2 && u.c.btf == 1 && u.c.ordering == 0 &&
           u.c.scale == 2 && !u.c.user_order && u.c.halt_if_singular == 1 && u.c.structural_rank == -1;
}

static void load_klu(void) {
    static const char *const files[] = {"libklu.so.2", "libklu.so.1"};
#define KLU_SYMBOL(field) {"klu_" #field, &lib.field},
    static const engine_symbol symbols[] = {KLU_FUNCTIONS(KLU_SYMBOL)};
#undef KLU_SYMBOL
    for (size_t k = 0; k < sizeof files / sizeof *files && !lib.file; k++)
        if (engine_library_load(files[k], sizeof symbols / sizeof *symbols, symbols) && is_laid_out_so())
            lib.file = files[k];
}

int engine_klu_load(void) {
    pthread_once(&lib.once, load_klu);
    return lib.file ? NEAP_OK
                    : neap_error(NEAP_E_LIBRARY, "direct solutions of sparse systems need SuiteSparse's KLU, which is "
                                                 "not installed (package libklu1)");
}

const char *engine_klu_library(void) {
    pthread_once(&lib.once, load_klu);
    return lib.file ? lib.file : "none: install libklu1";
}

/* ---- Factors that are kept --------------------------------------------------------------------------------------- */
static int stored_of(const engine_klu_matrix *a) {
    return a->starts[a->n];
}

static size_t element_bytes(const engine_klu_matrix *a) {
    return a->complex ? 2 * sizeof(double) : sizeof(double);
}

static bool is_same(const engine_klu_matrix *a, const engine_klu_matrix *b) {
    if (a->n != b->n || a->complex != b->complex || stored_of(a) != stored_of(b))
        return false;
    const size_t stored = (size_t)stored_of(a);
    return memcmp(a->starts, b->starts, (size_t)a->n * sizeof *a->starts) == 0 &&
           memcmp(a->rows, b->rows, stored * sizeof *a->rows) == 0 &&
           memcmp(a->elements, b->elements, stored * element_bytes(a)) == 0;
}

static void free_factors(engine_klu *f) {
    if (f->numeric && f->a.complex)
        lib.z_free_numeric(&f->numeric, &f->control);
    else if (f->numeric)
        lib.free_numeric(&f->numeric, &f->control);
    if (f->symbolic)
        lib.free_symbolic(&f->symbolic, &f->control);
    free(f);
}

/* The lock is held. */
static void release_locked(engine_klu *f) {
    if (--f->references == 0)
        free_factors(f);
}

void engine_klu_release(engine_klu *f) {
    pthread_mutex_lock(&kept.lock);
    release_locked(f);
    pthread_mutex_unlock(&kept.lock);
}

/* The factors of a matrix, moved to the front of the list; NULL: there are none. */
static engine_klu *find_kept(const engine_klu_matrix *a, bool whole) {
    pthread_mutex_lock(&kept.lock);
    engine_klu **at = &kept.first;
    while (*at && ((*at)->whole != whole || !is_same(&(*at)->a, a)))
        at = &(*at)->next;
    engine_klu *f = *at;
    if (f) {
        *at = f->next;
        f->next = kept.first;
        kept.first = f;
        f->references++;
    }
    pthread_mutex_unlock(&kept.lock);
    return f;
}

/* Puts new factors in front, and drops what is too much behind them. */
static void keep(engine_klu *f) {
    pthread_mutex_lock(&kept.lock);
    f->references++;
    f->next = kept.first;
    kept.first = f;
    size_t bytes = f->bytes;
    int count = 1;
    for (engine_klu **at = &f->next; *at;) {
        engine_klu *other = *at;
        if (count < KEPT && bytes + other->bytes <= KEPT_BYTES) {
            count++;
            bytes += other->bytes;
            at = &other->next;
        } else {
            *at = other->next;
            release_locked(other);
        }
    }
    pthread_mutex_unlock(&kept.lock);
}

/* ---- Factorizations ---------------------------------------------------------------------------------------------- */
/* Room for factors, with a copy of the matrix behind them. NULL: there is no memory. */
static engine_klu *copy_matrix(const engine_klu_matrix *a) {
    const size_t n = (size_t)a->n + 1, stored = (size_t)stored_of(a), elements = stored * element_bytes(a);
    engine_klu *f = malloc(sizeof *f + elements + (n + stored) * sizeof(int32_t));
    if (!f)
        return NULL;
    memset(f, 0, sizeof *f);
    double *own = (double *)(f + 1);
    int32_t *starts = (int32_t *)((char *)own + elements), *rows = starts + n;
    memcpy(own, a->elements, elements);
    memcpy(starts, a->starts, n * sizeof *starts);
    memcpy(rows, a->rows, stored * sizeof *rows);
    f->a = (engine_klu_matrix){.n = a->n, .complex = a->complex, .starts = starts, .rows = rows, .elements = own};
    f->references = 1;
    return f;
}

/* The status of the engine for what the library has said. */
static int status_of(const engine_klu *f, engine_klu_pivot *pivot) {
    const control *c = &f->control;
    if (c->status == SINGULAR) {
        const int rank = f->whole ? f->a.n : c->structural_rank; /* nobody looks for it in one block */
        *pivot = (engine_klu_pivot){.column = c->singular_col, .rank = rank};
        return neap_error(NEAP_E_FAILED, "the matrix is singular");
    }
    if (c->status == OUT_OF_MEMORY)
        return neap_error(NEAP_E_MEMORY, "no memory for the factors of a sparse matrix");
    if (c->status || !f->numeric || f->numeric->n != f->a.n || f->numeric->work != f->numeric->xwork)
        return neap_error(NEAP_E_LIBRARY, "KLU cannot factor the matrix (its status is %d)", c->status);
    return NEAP_OK;
}

static void factor_matrix(engine_klu *f) {
    const engine_klu_matrix *a = &f->a;
    control *c = &f->control;
    lib.defaults(c);
    c->tol = TOLERANCE;
    if (f->whole)
        c->btf = c->scale = 0;
    f->symbolic = lib.analyze(a->n, a->starts, a->rows, c);
    if (f->symbolic)
        f->numeric = (a->complex ? lib.z_factor : lib.factor)(a->starts, a->rows, a->elements, f->symbolic, c);
    if (f->numeric && f->whole)
        (a->complex ? lib.z_sort : lib.sort)(f->symbolic, f->numeric, c);
}

int engine_klu_factor(const engine_klu_matrix *a, bool whole, engine_klu **out, engine_klu_pivot *pivot) {
    int status = engine_klu_load();
    if (status)
        return status;
    *out = find_kept(a, whole);
    if (*out)
        return NEAP_OK;
    engine_klu *f = copy_matrix(a);
    if (!f)
        return neap_error(NEAP_E_MEMORY, "no memory for the factors of a sparse matrix");
    f->whole = whole;
    factor_matrix(f);
    status = status_of(f, pivot);
    if (status) {
        free_factors(f);
        return status;
    }
    f->bytes = f->control.memusage + sizeof *f + (size_t)stored_of(a) * (element_bytes(a) + sizeof(int32_t));
    keep(f);
    *out = f;
    return NEAP_OK;
}

/* ---- Solutions --------------------------------------------------------------------------------------------------- */
size_t engine_klu_scratch(const engine_klu *f) {
    return TOGETHER * (size_t)f->a.n * element_bytes(&f->a);
}

void engine_klu_solve(const engine_klu *f, bool transposed, int columns, double *b, void *scratch) {
    control c = f->control;
    numeric own = *f->numeric; /* with work space of its own */
    own.xwork = scratch;
    if (f->a.complex && transposed)
        lib.z_tsolve(f->symbolic, &own, f->a.n, columns, b, 0, &c);
    else if (f->a.complex)
        lib.z_solve(f->symbolic, &own, f->a.n, columns, b, &c);
    else if (transposed)
        lib.tsolve(f->symbolic, &own, f->a.n, columns, b, &c);
    else
        lib.solve(f->symbolic, &own, f->a.n, columns, b, &c);
}

/* ---- Whole factors ----------------------------------------------------------------------------------------------- */
void engine_klu_counts(const engine_klu *f, engine_klu_triangles *out) {
    out->lower.count = f->numeric->lnz;
    out->upper.count = f->numeric->unz;
}

int engine_klu_extract(const engine_klu *f, const engine_klu_triangles *out) {
    control c = f->control;
    const engine_klu_triangle *l = &out->lower, *u = &out->upper;
    const int done = f->a.complex
                         ? lib.z_extract(f->numeric, f->symbolic, l->starts, l->rows, l->elements[0], l->elements[1],
                                         u->starts, u->rows, u->elements[0], u->elements[1], NULL, NULL, NULL, NULL,
                                         out->rows, out->columns, NULL, NULL, &c)
                         : lib.extract(f->numeric, f->symbolic, l->starts, l->rows, l->elements[0], u->starts, u->rows,
                                       u->elements[0], NULL, NULL, NULL, out->rows, out->columns, NULL, NULL, &c);
    return done ? NEAP_OK : neap_error(NEAP_E_LIBRARY, "KLU cannot give the factors (its status is %d)", c.status);
}
