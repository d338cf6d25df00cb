/* fft.c: Fourier transforms by FFTW, found at run time on the first call that needs it: libfftw3 for f64, libfftw3f for
 * f32, either of which may be missing. NEAP_FFTW=0 in the environment leaves both alone.
 *
 * Only one thread may plan at a time; transforms need no lock. Plans are estimated, never measured, and the library
 * forgets what it has learned before each: so a plan follows from its arguments alone. A few are kept for further
 * calls, and those in use.
 *
 * FFTW ends the process where malloc has no memory for it. So a plan is made, or taken up again, only after as much has
 * been had for a moment as a transform takes at most. */
#include "engine/libs/fft.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/libs/fft_chirp.h"
#include "engine/libs/library.h"

enum {
    PLANS_KEPT = 16,
    MOST_SCRATCH = 4, /* rows for which FFTW takes memory at most: buffers of a convolution, what a plan holds */
    SHORT = 64,       /* elements of a row up to which */
    TOGETHER = 16,    /* so many are transformed at once */
    BLOCK = 64,       /* where the rows begin for which a plan is made */
    FORWARD = -1,     /* these are of fftw3.h */
    BACKWARD = 1,
    ESTIMATE = 1 << 6
};

typedef struct dimension { /* fftw_iodim64 */
    ptrdiff_t n, in_stride, out_stride;
} dimension;

typedef struct precision { /* one of the two libraries */
    bool there;
    const char *version;
    void *(*plan_guru64_dft)(int rank, const dimension *dims, int many_rank, const dimension *many, void *in, void *out,
                             int sign, unsigned flags);
    void *(*plan_guru64_dft_r2c)(int rank, const dimension *dims, int many_rank, const dimension *many, void *in,
                                 void *out, unsigned flags);
    void *(*plan_guru64_dft_c2r)(int rank, const dimension *dims, int many_rank, const dimension *many, void *in,
                                 void *out, unsigned flags);
    void (*execute_dft)(void *plan, void *in, void *out);
    void (*execute_dft_r2c)(void *plan, void *in, void *out);
    void (*execute_dft_c2r)(void *plan, void *in, void *out);
    void (*destroy_plan)(void *plan);
    void (*forget_wisdom)(void);
    int (*alignment_of)(void *row);
} precision;

static struct {
    pthread_once_t once;
    precision of[2]; /* f32, f64 */
    char name[160];
} lib = {.once = PTHREAD_ONCE_INIT};

static struct {
    pthread_mutex_t lock; /* held while FFTW plans, too */
    engine_fft *first;    /* the latest used first */
} plans = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Loading ----------------------------------------------------------------------------------------------------- */
#define FFTW_FUNCTIONS(X)                                                                                              \
    X(version)                                                                                                         \
    X(plan_guru64_dft)                                                                                                 \
    X(plan_guru64_dft_r2c)                                                                                             \
    X(plan_guru64_dft_c2r)                                                                                             \
    X(execute_dft)                                                                                                     \
    X(execute_dft_r2c)                                                                                                 \
    X(execute_dft_c2r)                                                                                                 \
    X(destroy_plan)                                                                                                    \
    X(forget_wisdom)                                                                                                   \
    X(alignment_of)

static void load_fftw(void) {
    static const char install[] = "transforms run by neap's own code, which is slower. Install";
    precision *f32 = &lib.of[0], *f64 = &lib.of[1];
#define NARROW(field) {"fftwf_" #field, &lib.of[0].field},
#define WIDE(field) {"fftw_" #field, &lib.of[1].field},
    static const engine_symbol narrow[] = {FFTW_FUNCTIONS(NARROW)}, wide[] = {FFTW_FUNCTIONS(WIDE)};
#undef NARROW
#undef WIDE
    const char *wanted = getenv("NEAP_FFTW");
    if (wanted && strcmp(wanted, "0") == 0) {
        snprintf(lib.name, sizeof lib.name, "neap's own: NEAP_FFTW=0 says so");
        return;
    }
    f32->there = engine_library_load("libfftw3f.so.3", sizeof narrow / sizeof *narrow, narrow);
    f64->there = engine_library_load("libfftw3.so.3", sizeof wide / sizeof *wide, wide);
    if (f32->there && f64->there)
        snprintf(lib.name, sizeof lib.name, "%s", f64->version);
    else if (f32->there || f64->there)
        snprintf(lib.name, sizeof lib.name, "%s; of %s %s %s", f64->there ? f64->version : f32->version,
                 f64->there ? "f32" : "f64", install, f64->there ? "libfftw3-single3" : "libfftw3-double3");
    else
        snprintf(lib.name, sizeof lib.name, "none: %s libfftw3-single3 and libfftw3-double3", install);
}

static const precision *precision_of(bool f64) {
    pthread_once(&lib.once, load_fftw);
    return &lib.of[f64];
}

const char *engine_fft_library(void) {
    pthread_once(&lib.once, load_fftw);
    return lib.name;
}

/* ---- Plans ------------------------------------------------------------------------------------------------------- */
/* A plan of n elements for rows from `scratch` on; NULL: FFTW cannot do it. The lock is held. */
static void *plan_rows(const precision *fftw, engine_fft_kind kind, bool inverse, int64_t n, int rows, char *scratch) {
    const ptrdiff_t half = n / 2 + 1;
    const dimension line = {n, 1, 1};
    const dimension many = {rows, kind == ENGINE_FFT_TO_REAL ? half : n, kind == ENGINE_FFT_OF_REAL ? half : n};
    const size_t most = ((size_t)n + 2) * 16 * (size_t)rows;
    char *in = scratch + (BLOCK - (uintptr_t)scratch % BLOCK), *out = in + (most + BLOCK - most % BLOCK);
    fftw->forget_wisdom();
    if (kind == ENGINE_FFT_OF_REAL)
        return fftw->plan_guru64_dft_r2c(1, &line, rows > 1, &many, in, out, ESTIMATE);
    if (kind == ENGINE_FFT_TO_REAL)
        return fftw->plan_guru64_dft_c2r(1, &line, rows > 1, &many, in, out, ESTIMATE);
    return fftw->plan_guru64_dft(1, &line, rows > 1, &many, in, out, inverse ? BACKWARD : FORWARD, ESTIMATE);
}

/* The lock is held. */
static void free_plan(engine_fft *plan) {
    const precision *fftw = &lib.of[plan->f64];
    if (plan->plan)
        fftw->destroy_plan(plan->plan);
    if (plan->back)
        fftw->destroy_plan(plan->back);
    engine_fft_chirp_free(plan->chirp);
    engine_fft_split_free(plan->split);
    free(plan);
}

/* The plan in the list, taken out of it; NULL: there is none. */
static engine_fft *find_plan(const engine_fft *wanted) {
    engine_fft **at = &plans.first;
    for (; *at; at = &(*at)->next) {
        const engine_fft *plan = *at;
        if (plan->n == wanted->n && plan->kind == wanted->kind && plan->f64 == wanted->f64 &&
            plan->inverse == wanted->inverse)
            break;
    }
    engine_fft *plan = *at;
    if (plan)
        *at = plan->next;
    return plan;
}

/* A long row is transformed in two passes. */
static bool is_split(const engine_fft *plan) {
    return plan->kind == ENGINE_FFT_COMPLEX && engine_fft_split_rows(plan->n) > 0;
}

/* A new one; *out stays NULL where FFTW cannot do it. NEAP_E_MEMORY: none for its tables. */
static int make_plan(const precision *fftw, const engine_fft *wanted, char *scratch, engine_fft **out) {
    engine_fft *plan = malloc(sizeof *plan);
    if (!plan)
        return NEAP_E_MEMORY;
    *plan = *wanted;
    const bool chirped = engine_fft_chirp_wanted(plan->n), split = is_split(plan);
    if (chirped) {
        const int64_t length = engine_fft_chirp_length(plan->n);
        plan->plan = plan_rows(fftw, ENGINE_FFT_COMPLEX, false, length, 1, scratch);
        plan->back = plan_rows(fftw, ENGINE_FFT_COMPLEX, true, length, 1, scratch);
    } else if (split) {
        const int64_t rows = engine_fft_split_rows(plan->n);
        plan->plan = plan_rows(fftw, ENGINE_FFT_COMPLEX, plan->inverse, rows, 1, scratch);
        plan->back = plan_rows(fftw, ENGINE_FFT_COMPLEX, plan->inverse, plan->n / rows, 1, scratch);
    } else
        plan->plan = plan_rows(fftw, plan->kind, plan->inverse, plan->n, plan->rows, scratch);
    const bool planned = plan->plan && (plan->back || !(chirped || split));
    if (planned && chirped)
        plan->chirp = engine_fft_chirp_new(plan, plan->plan, plan->back, fftw->execute_dft);
    if (planned && split)
        plan->split =
            engine_fft_split_new(plan->f64, plan->inverse, plan->n, plan->plan, plan->back, fftw->execute_dft);
    if (planned && (!chirped || plan->chirp) && (!split || plan->split)) {
        *out = plan;
        return NEAP_OK;
    }
    free_plan(plan);
    return planned ? NEAP_E_MEMORY : NEAP_OK;
}

int engine_fft_open(engine_fft_kind kind, bool f64, bool inverse, int64_t n, engine_fft **out) {
    const precision *fftw = precision_of(f64);
    *out = NULL;
    if (!fftw->there)
        return NEAP_OK;
    const int rows = n <= SHORT && !engine_fft_chirp_wanted(n) ? TOGETHER : 1;
    const engine_fft wanted = {.kind = kind, .f64 = f64, .inverse = inverse, .n = n, .rows = rows};
    char *scratch = malloc(MOST_SCRATCH * ((size_t)n + 2) * (f64 ? 16 : 8) + 4 * BLOCK);
    if (!scratch)
        return neap_error(NEAP_E_MEMORY, "fft: no memory for a transform of %lld elements", (long long)n);
    pthread_mutex_lock(&plans.lock);
    engine_fft *plan = find_plan(&wanted);
    const int status = plan ? NEAP_OK : make_plan(fftw, &wanted, scratch, &plan);
    if (plan) {
        plan->refs++;
        plan->next = plans.first;
        plans.first = plan;
    }
    pthread_mutex_unlock(&plans.lock);
    free(scratch);
    if (status)
        return neap_error(status, "fft: no memory for tables of %lld elements", (long long)n);
    *out = plan;
    return NEAP_OK;
}

void engine_fft_close(engine_fft *done) {
    if (!done)
        return;
    pthread_mutex_lock(&plans.lock);
    done->refs--;
    int kept = 0;
    for (engine_fft **at = &plans.first; *at;) {
        engine_fft *plan = *at;
        if (++kept <= PLANS_KEPT || plan->refs) {
            at = &plan->next;
            continue;
        }
        *at = plan->next;
        free_plan(plan);
    }
    pthread_mutex_unlock(&plans.lock);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
bool engine_fft_fits(const engine_fft *plan, const void *row) {
    return plan->chirp || plan->split || lib.of[plan->f64].alignment_of((void *)(uintptr_t)row) == 0;
}

int engine_fft_rows(const engine_fft *plan) {
    return plan->rows;
}

size_t engine_fft_scratch(const engine_fft *plan) {
    return plan->chirp   ? engine_fft_chirp_scratch(plan->chirp)
           : plan->split ? engine_fft_split_scratch(plan->split)
                         : 0;
}

void engine_fft_run(const engine_fft *plan, void *in, void *out, void *scratch) {
    const precision *fftw = &lib.of[plan->f64];
    if (plan->chirp) {
        engine_fft_chirp_run(plan->chirp, in, out, scratch);
        return;
    }
    if (plan->split) {
        engine_fft_split_run(plan->split, in, out, scratch);
        return;
    }
    (plan->kind == ENGINE_FFT_OF_REAL   ? fftw->execute_dft_r2c
     : plan->kind == ENGINE_FFT_TO_REAL ? fftw->execute_dft_c2r
                                        : fftw->execute_dft)(plan->plan, in, out);
}
