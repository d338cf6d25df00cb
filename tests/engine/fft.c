/* fft.c: rows by FFTW against sums written out, of all kinds and many lengths; by several threads at once, which plan
 * the lengths in orders of their own, more than plans are kept: the same bits all the same. Without FFTW there is
 * nothing to look at. */
#include "engine/libs/fft.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"

enum { THREADS = 4, LENGTHS = 35, KINDS = 3 };

static const int lengths[LENGTHS] = {1,  2,   3,   4,   5,   7,   8,   12,  16,   17,   19,   23,
                                     31, 32,  36,  37,  41,  49,  60,  63,  64,   65,   74,   97,
                                     99, 101, 121, 127, 128, 202, 211, 360, 1009, 1021, 16384};

typedef struct trial {
    engine_fft_kind kind;
    bool f64, inverse;
    int n, rows;
    size_t in, out; /* numbers of a row */
    double *x;      /* what is transformed */
    char *from, *to, *scratch;
} trial;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *first[KINDS][2][LENGTHS]; /* what the first thread got */

static double number_at(const trial *t, const char *row, size_t k) {
    return t->f64 ? ((const double *)row)[k] : (double)((const float *)row)[k];
}

static void set_number(const trial *t, char *row, size_t k, double x) {
    if (t->f64)
        ((double *)row)[k] = x;
    else
        ((float *)row)[k] = (float)x;
}

static char *make_rows(size_t bytes) {
    char *rows = aligned_alloc(64, (bytes / 64 + 1) * 64);
    memset(rows, 0, (bytes / 64 + 1) * 64);
    return rows;
}

/* Multiples of 1/64; what is its own conjugate in half a transform is real. */
static void draw(trial *t) {
    for (size_t k = 0; k < t->in * (size_t)t->rows; k++) {
        const size_t at = k % t->in;
        const bool real = t->kind == ENGINE_FFT_TO_REAL && (at == 1 || (t->n % 2 == 0 && at == t->in - 1));
        t->x[k] = real ? 0 : (double)(k * 7919 % 101) / 64 - 1;
        set_number(t, t->from, k, t->x[k]);
    }
}

/* Element k of the transform of a row. */
static void sum_up(const trial *t, const double *row, int k, double *re, double *im) {
    *re = *im = 0;
    for (int j = 0; j < t->n; j++) {
        const double angle = (t->inverse ? 2 : -2) * 3.14159265358979323846 * (double)((long)j * k % t->n) / t->n;
        const int at = t->kind == ENGINE_FFT_TO_REAL && j > t->n / 2 ? t->n - j : j;
        const double x = t->kind == ENGINE_FFT_OF_REAL ? row[j] : row[2 * at];
        const double y = t->kind == ENGINE_FFT_OF_REAL ? 0 : at == j ? row[2 * at + 1] : -row[2 * at + 1];
        *re += x * cos(angle) - y * sin(angle);
        *im += x * sin(angle) + y * cos(angle);
    }
}

static void compare(const trial *t) {
    const int count = t->kind == ENGINE_FFT_OF_REAL ? t->n / 2 + 1 : t->n, step = t->n > 100 ? t->n / 5 : 1;
    const bool real = t->kind == ENGINE_FFT_TO_REAL;
    int wrong = 0;
    for (int row = 0; row<t->rows; row += t->rows> 1 ? t->rows - 1 : 1)
        for (int k = 0; k < count; k += step) {
            const size_t at = (size_t)row * t->out + (size_t)(real ? k : 2 * k);
            double re, im;
            sum_up(t, t->x + (size_t)row * t->in, k, &re, &im);
            const double off_im = real ? 0 : number_at(t, t->to, at + 1) - im;
            wrong += !(hypot(number_at(t, t->to, at) - re, off_im) <= (t->f64 ? 1e-13 : 1e-6) * (2 + t->n));
        }
    if (!CHECK_EQ(wrong, 0))
        fprintf(stderr, "kind %d, %s, %d elements\n", (int)t->kind, t->f64 ? "f64" : "f32", t->n);
}

/* Keeps the result of the first thread, which the others must have, too. */
static void keep(const trial *t, int length) {
    const size_t bytes = t->out * (size_t)t->rows * (t->f64 ? 8 : 4);
    pthread_mutex_lock(&lock);
    char **kept = &first[t->kind][t->f64][length];
    if (!*kept) {
        *kept = make_rows(bytes);
        memcpy(*kept, t->to, bytes);
    }
    CHECK(memcmp(*kept, t->to, bytes) == 0);
    pthread_mutex_unlock(&lock);
}

static void try(engine_fft_kind kind, bool f64, int length) {
    trial t = {.kind = kind, .f64 = f64, .inverse = kind == ENGINE_FFT_TO_REAL, .n = lengths[length]};
    engine_fft *plan;
    if (!CHECK_EQ(engine_fft_open(kind, f64, t.inverse, t.n, &plan), NEAP_OK) || !plan)
        return;
    const size_t n = (size_t)t.n, half = n / 2 + 1, part = f64 ? 8 : 4;
    t.rows = engine_fft_rows(plan);
    t.in = kind == ENGINE_FFT_OF_REAL ? n : kind == ENGINE_FFT_TO_REAL ? 2 * half : 2 * n;
    t.out = kind == ENGINE_FFT_TO_REAL ? n : kind == ENGINE_FFT_OF_REAL ? 2 * half : 2 * n;
    t.x = malloc(t.in * (size_t)t.rows * sizeof *t.x);
    t.from = make_rows(t.in * (size_t)t.rows * part);
    t.to = make_rows(t.out * (size_t)t.rows * part);
    t.scratch = make_rows(engine_fft_scratch(plan));
    draw(&t);
    CHECK(engine_fft_fits(plan, t.from) && engine_fft_fits(plan, t.to));
    engine_fft_run(plan, t.from, t.to, t.scratch);
    compare(&t);
    keep(&t, length);
    engine_fft_close(plan);
    free(t.x), free(t.from), free(t.to), free(t.scratch);
}

static void *run_thread(void *number) {
    static const int steps[THREADS] = {1, 33, 6, 27}; /* none has a factor of LENGTHS */
    for (int k = 0; k < LENGTHS; k++) {
        const int length = k * steps[(intptr_t)number] % LENGTHS;
        for (int kind = 0; kind < KINDS; kind++)
            try((engine_fft_kind)kind, (k + (intptr_t)number) % 2, length);
    }
    return NULL;
}

int main(void) {
    CHECK(strlen(engine_fft_library()) > 0);
    pthread_t threads[THREADS];
    for (intptr_t k = 0; k < THREADS; k++)
        CHECK_EQ(pthread_create(&threads[k], NULL, run_thread, (void *)k), 0);
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
    for (int k = 0; k < KINDS * 2 * LENGTHS; k++)
        free(((char **)first)[k]);
    return check_end();
}
