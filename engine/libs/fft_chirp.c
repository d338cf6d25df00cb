/* fft_chirp.c: rows whose length has a large prime factor, as convolutions with a chirp (Bluestein) by two transforms
 * of a power of two. FFTW does so, too, but estimates the length of the convolution badly: for rows of 1009 c64 its
 * plan takes 3.5 times as long.
 *
 *      y[k] = c[k] · Σ_j (x[j] c[j]) c'[k - j]      c[k] = exp(-πi k² / n), of the inverse its conjugate; c' conjugate
 *
 * Tables of factors hold for each number its real part twice, and then, further on, its imaginary part with both signs:
 * so a product is that of whole vectors, one with the parts of x exchanged. */
#include "engine/libs/fft_chirp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 32, MOST = 4096 /* elements, where this is faster */, PRIME_MOST = 31, ALIGNED = 64 };

struct engine_fft_chirp {
    engine_fft_kind kind;
    bool f64;
    int64_t n, length;
    void *forward, *back; /* plans of `length`, the caller's */
    void (*execute)(void *plan, void *in, void *out);
    char *factors; /* c, n numbers */
    char *kernel;  /* the transform of c' around 0, divided by `length`; `length` numbers */
};

bool engine_fft_chirp_wanted(int64_t n) {
    if (n < LEAST || n > MOST)
        return false;
    for (int64_t f = 2; f <= PRIME_MOST; f++)
        while (n % f == 0)
            n /= f;
    return n > 1;
}

int64_t engine_fft_chirp_length(int64_t n) {
    int64_t length = 1;
    while (length < 2 * n - 1)
        length *= 2;
    return length;
}

/* ---- Products ---------------------------------------------------------------------------------------------------- */
typedef float narrow __attribute__((vector_size(16), aligned(4), may_alias)); /* two numbers */
typedef double wide __attribute__((vector_size(16), aligned(8), may_alias));  /* one */

/* Numbers of a table: an even number, so that whole vectors follow. */
static int64_t padded(int64_t n) {
    return (n + 1) / 2 * 2;
}

static narrow times_narrow(narrow x, narrow re, narrow im) {
    return x * re + __builtin_shufflevector(x, x, 1, 0, 3, 2) * im;
}

static wide times_wide(wide x, wide re, wide im) {
    return x * re + __builtin_shufflevector(x, x, 1, 0) * im;
}

/* to[k] = from[k] times number k of a table of `all`, k < n. */
static void multiply(bool f64, char *to, const char *from, const char *table, int64_t all, int64_t n) {
    const char *other = table + padded(all) * (f64 ? 16 : 8);
    if (f64) {
        for (int64_t k = 0; k < n; k++)
            ((wide *)to)[k] = times_wide(((const wide *)from)[k], ((const wide *)table)[k], ((const wide *)other)[k]);
        return;
    }
    for (int64_t k = 0; k < n / 2; k++)
        ((narrow *)to)[k] =
            times_narrow(((const narrow *)from)[k], ((const narrow *)table)[k], ((const narrow *)other)[k]);
    if (n % 2) {
        narrow last = {0};
        memcpy(&last, from + 8 * (n - 1), 8);
        last = times_narrow(last, ((const narrow *)table)[n / 2], ((const narrow *)other)[n / 2]);
        memcpy(to + 8 * (n - 1), &last, 8);
    }
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */
static void set_number(bool f64, char *at, int64_t k, long double re, long double im) {
    if (f64)
        ((double *)at)[2 * k] = (double)re, ((double *)at)[2 * k + 1] = (double)im;
    else
        ((float *)at)[2 * k] = (float)re, ((float *)at)[2 * k + 1] = (float)im;
}

static long double part(bool f64, const char *at, int64_t k) {
    return f64 ? ((const double *)at)[k] : (long double)((const float *)at)[k];
}

static void make_table(bool f64, char *table, const char *numbers, int64_t n) {
    char *other = table + padded(n) * (f64 ? 16 : 8);
    for (int64_t k = 0; k < n; k++) {
        const long double re = part(f64, numbers, 2 * k), im = part(f64, numbers, 2 * k + 1);
        set_number(f64, table, k, re, re);
        set_number(f64, other, k, -im, im);
    }
}

static void fill_tables(engine_fft_chirp *chirp, bool inverse, char *numbers, char *around, char *spectrum) {
    const int64_t n = chirp->n, length = chirp->length;
    int64_t square = 0;
    for (int64_t k = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
        const long double angle = 3.14159265358979323846264L * (long double)square / (long double)n;
        const long double re = cosl(angle), im = inverse ? sinl(angle) : -sinl(angle), by = 1 / (long double)length;
        set_number(chirp->f64, numbers, k, re, im);
        set_number(chirp->f64, around, k, re * by, -im * by);
        if (k > 0)
            set_number(chirp->f64, around, length - k, re * by, -im * by);
    }
    make_table(chirp->f64, chirp->factors, numbers, n);
    chirp->execute(chirp->forward, around, spectrum);
    make_table(chirp->f64, chirp->kernel, spectrum, length);
}

engine_fft_chirp *engine_fft_chirp_new(const engine_fft *of, void *forward, void *back,
                                       void (*execute)(void *plan, void *in, void *out)) {
    const bool f64 = of->f64;
    const int64_t n = of->n, length = engine_fft_chirp_length(n);
    const size_t item = f64 ? 16 : 8, row = (size_t)length * item;
    engine_fft_chirp *chirp = calloc(1, sizeof *chirp);
    char *rows = aligned_alloc(ALIGNED, 3 * row);
    if (chirp) {
        *chirp = (engine_fft_chirp){of->kind, f64, n, length, forward, back, execute, NULL, NULL};
        chirp->factors = calloc(2 * (size_t)padded(n), item);
        chirp->kernel = calloc(2 * (size_t)length, item);
    }
    const bool complete = rows && chirp && chirp->factors && chirp->kernel;
    if (complete) {
        memset(rows, 0, 3 * row);
        fill_tables(chirp, of->inverse, rows, rows + row, rows + 2 * row);
    }
    free(rows);
    if (complete)
        return chirp;
    engine_fft_chirp_free(chirp);
    return NULL;
}

void engine_fft_chirp_free(engine_fft_chirp *chirp) {
    if (!chirp)
        return;
    free(chirp->factors);
    free(chirp->kernel);
    free(chirp);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
size_t engine_fft_chirp_scratch(const engine_fft_chirp *chirp) {
    return 2 * (size_t)chirp->length * (chirp->f64 ? 16 : 8);
}

/* The complex numbers of a row: of a real one, or of half a transform and what is conjugate to it. */
#define DEFINE_WIDEN(name, type)                                                                                       \
    static void name(engine_fft_kind kind, type *to, const type *from, int64_t n) {                                    \
        for (int64_t k = 0; kind == ENGINE_FFT_OF_REAL && k < n; k++)                                                  \
            to[2 * k] = from[k], to[2 * k + 1] = 0;                                                                    \
        for (int64_t k = 0; kind == ENGINE_FFT_TO_REAL && k <= n / 2; k++) {                                           \
            const int64_t other = k ? n - k : 0;                                                                       \
            to[2 * other] = from[2 * k], to[2 * other + 1] = -from[2 * k + 1];                                         \
            to[2 * k] = from[2 * k], to[2 * k + 1] = from[2 * k + 1];                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_back(type *to, const type *from, int64_t n) {                                                   \
        for (int64_t k = 0; k < n; k++)                                                                                \
            to[k] = from[2 * k];                                                                                       \
    }
DEFINE_WIDEN(widen_narrow, float)
DEFINE_WIDEN(widen_wide, double)

static void widen(const engine_fft_chirp *chirp, char *to, const char *from) {
    if (chirp->f64)
        widen_wide(chirp->kind, (double *)to, (const double *)from, chirp->n);
    else
        widen_narrow(chirp->kind, (float *)to, (const float *)from, chirp->n);
}

static void take_real(const engine_fft_chirp *chirp, char *to, const char *from) {
    if (chirp->f64)
        widen_wide_back((double *)to, (const double *)from, chirp->n);
    else
        widen_narrow_back((float *)to, (const float *)from, chirp->n);
}

void engine_fft_chirp_run(const engine_fft_chirp *chirp, const char *in, char *out, char *scratch) {
    const bool f64 = chirp->f64, to_real = chirp->kind == ENGINE_FFT_TO_REAL;
    const size_t item = f64 ? 16 : 8, row = (size_t)chirp->length * item, used = (size_t)chirp->n * item;
    char *other = scratch + row;
    if (chirp->kind != ENGINE_FFT_COMPLEX)
        widen(chirp, other, in);
    multiply(f64, scratch, chirp->kind != ENGINE_FFT_COMPLEX ? other : in, chirp->factors, chirp->n, chirp->n);
    memset(scratch + used, 0, row - used);
    chirp->execute(chirp->forward, scratch, other);
    multiply(f64, other, other, chirp->kernel, chirp->length, chirp->length);
    chirp->execute(chirp->back, other, scratch);
    const int64_t count = chirp->kind == ENGINE_FFT_OF_REAL ? chirp->n / 2 + 1 : chirp->n;
    multiply(f64, to_real ? other : out, scratch, chirp->factors, chirp->n, count);
    if (to_real)
        take_real(chirp, out, other);
}
