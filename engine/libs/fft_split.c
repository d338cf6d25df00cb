/* fft_split.c: long rows as two passes of short ones (the four steps of Bailey). FFTW estimates plans of long rows
 * badly, and short ones well: at 2^20 elements its estimate takes twice as long as what it finds by measuring, which we
 * leave alone, since a plan should follow from its arguments. What stands here is faster than both.
 *
 *      n = a b;  x is a matrix of a rows, b columns;  w = exp(-2πi / n), of the inverse its conjugate
 *
 *      x[i b + j] ──▶ transforms over i ──▶ · w^(k j) ──▶ out[j a + k] ──▶ transforms over j ──▶ out[l a + k]
 *                     of columns j                         row j            of columns k, in place
 *
 * Columns are copied to rows in blocks of neighbours, so that memory is read and written twice altogether. The factors
 * of row j are products of two: with k = STEP h + l, w^(STEP h j) and w^(l j), of which a row has a / STEP and STEP. */
#include "engine/libs/fft_split.h"

#include <math.h>
#include <stdlib.h>

#include "engine/libs/fft_move.h"

enum {
    LEAST = 1 << 14,       /* elements from which this is faster, if their number is a power of two, or 3 times one; */
    LEAST_OTHER = 1000000, /* of others, which FFTW estimates better */
    UNEVEN = 8,            /* one of the two lengths is at most so many times the other */
    PRIME_MOST = 7,        /* lengths with larger factors stay FFTW's */
    STEP = 32,
    BLOCK_BYTES = 512, /* of neighbouring columns */
    APART = 64         /* bytes between rows of a block, so that their elements do not meet in the cache */
};

typedef struct number {
    long double re, im;
} number;

struct engine_fft_split {
    bool f64;
    int64_t a, b;
    void *columns, *lines; /* plans of a and b elements, the caller's */
    void (*execute)(void *plan, void *in, void *out);
    int64_t coarse; /* a / STEP, rounded up */
    char *factors;  /* of each row j: w^(l j), l < STEP, then w^(STEP h j), h < coarse */
};

int64_t engine_fft_split_rows(int64_t n) {
    int64_t rest = n;
    while (rest > 0 && rest % 2 == 0)
        rest /= 2;
    if (n < (rest == 1 || rest == 3 ? LEAST : LEAST_OTHER))
        return 0;
    for (int64_t f = 3; f <= PRIME_MOST; f += 2)
        while (rest % f == 0)
            rest /= f;
    if (rest > 1)
        return 0;
    int64_t a = (int64_t)sqrt((double)n);
    while (n % a)
        a--;
    return n / a <= UNEVEN * a ? a : 0;
}

/* ---- Factors ----------------------------------------------------------------------------------------------------- */
/* exp(-2πi k / n) for k = 0, step, … */
static void fill_roots(number *to, int64_t count, int64_t step, int64_t n) {
    for (int64_t k = 0; k < count; k++) {
        const long double angle = 2 * 3.14159265358979323846264L * (long double)(k * step) / (long double)n;
        to[k] = (number){cosl(angle), -sinl(angle)};
    }
}

static void set_factor(const engine_fft_split *split, int64_t at, number x, bool inverse) {
    if (inverse)
        x.im = -x.im;
    if (split->f64)
        ((double *)split->factors)[2 * at] = (double)x.re, ((double *)split->factors)[2 * at + 1] = (double)x.im;
    else
        ((float *)split->factors)[2 * at] = (float)x.re, ((float *)split->factors)[2 * at + 1] = (float)x.im;
}

/* All come of 2 √n roots: of each number the product of a near and a far one. */
static bool fill_factors(engine_fft_split *split, bool inverse) {
    const int64_t a = split->a, b = split->b, n = a * b, each = STEP + split->coarse;
    number *near = malloc((size_t)(a + b) * sizeof *near), *far = near + b;
    if (!near)
        return false;
    fill_roots(near, b, 1, n);
    fill_roots(far, a, b, n);
    for (int64_t j = 0; j < b; j++)
        for (int64_t k = 0; k < each; k++) {
            const int64_t power = (k < STEP ? k : (k - STEP) * STEP) * j % n;
            const number x = near[power % b], y = far[power / b];
            set_factor(split, j * each + k, (number){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re}, inverse);
        }
    free(near);
    return true;
}

engine_fft_split *engine_fft_split_new(bool f64, bool inverse, int64_t n, void *columns, void *lines,
                                       void (*execute)(void *plan, void *in, void *out)) {
    engine_fft_split *split = malloc(sizeof *split);
    if (!split)
        return NULL;
    const int64_t a = engine_fft_split_rows(n), coarse = (a + STEP - 1) / STEP;
    *split = (engine_fft_split){f64, a, n / a, columns, lines, execute, coarse, NULL};
    split->factors = malloc((size_t)split->b * (size_t)(STEP + coarse) * (f64 ? 16 : 8));
    if (split->factors && fill_factors(split, inverse))
        return split;
    engine_fft_split_free(split);
    return NULL;
}

void engine_fft_split_free(engine_fft_split *split) {
    if (!split)
        return;
    free(split->factors);
    free(split);
}

/* to[k] = from[k] times the factors of row j. */
#define DEFINE_TURN(name, type, vector, COUNT, SWAPPED)                                                                \
    typedef type vector __attribute__((vector_size(16), aligned(sizeof(type)), may_alias));                            \
    static void name(const engine_fft_split *split, int64_t j, type *to, const type *from) {                           \
        enum { WIDE = 8 / sizeof(type) }; /* numbers of a vector */                                                    \
        vector re[STEP / WIDE], im[STEP / WIDE];                                                                       \
        const type *fine = (const type *)split->factors + 2 * j * (STEP + split->coarse), *coarse = fine + 2 * STEP;   \
        for (int k = 0; k < STEP; k++)                                                                                 \
            for (int part = 0; part < 2; part++) {                                                                     \
                const int at = 2 * (k % WIDE) + part;                                                                  \
                re[k / WIDE][at] = fine[2 * k];                                                                        \
                im[k / WIDE][at] = part ? fine[2 * k + 1] : -fine[2 * k + 1];                                          \
            }                                                                                                          \
        for (int64_t h = 0; h < split->coarse; h++) {                                                                  \
            const int64_t first = h * STEP, left = split->a - first < STEP ? split->a - first : STEP;                  \
            const type c = coarse[2 * h], s = coarse[2 * h + 1];                                                       \
            vector cs, ss;                                                                                             \
            for (int at = 0; at < COUNT; at++)                                                                         \
                cs[at] = c, ss[at] = at % 2 ? s : -s;                                                                  \
            int k = 0;                                                                                                 \
            for (; k < left / WIDE; k++) {                                                                             \
                const vector x = *(const vector *)(from + 2 * first + COUNT * k);                                      \
                const vector y = x * re[k] + SWAPPED(x) * im[k];                                                       \
                *(vector *)(to + 2 * first + COUNT * k) = y * cs + SWAPPED(y) * ss;                                    \
            }                                                                                                          \
            for (k *= WIDE; k < left; k++) {                                                                           \
                const type x = from[2 * (first + k)], y = from[2 * (first + k) + 1];                                   \
                const type u = x * fine[2 * k] + y * -fine[2 * k + 1], v = y * fine[2 * k] + x * fine[2 * k + 1];      \
                to[2 * (first + k)] = u * c + v * -s, to[2 * (first + k) + 1] = v * c + u * s;                         \
            }                                                                                                          \
        }                                                                                                              \
    }
#define SWAPPED_NARROW(x) __builtin_shufflevector(x, x, 1, 0, 3, 2)
#define SWAPPED_WIDE(x) __builtin_shufflevector(x, x, 1, 0)
DEFINE_TURN(turn_narrow, float, narrow, 4, SWAPPED_NARROW)
DEFINE_TURN(turn_wide, double, wide, 2, SWAPPED_WIDE)

/* ---- Rows -------------------------------------------------------------------------------------------------------- */
static size_t row_step(const engine_fft_split *split) {
    const size_t longest = (size_t)(split->a > split->b ? split->a : split->b) * (split->f64 ? 16 : 8);
    return (longest + APART - 1) / APART * APART + APART;
}

/* A block of rows, and one more. */
size_t engine_fft_split_scratch(const engine_fft_split *split) {
    return (BLOCK_BYTES / (split->f64 ? 16 : 8) + 1) * row_step(split);
}

/* The columns of a block become rows 1, 2, …: so row 0 is free for the first result, or for each. */
static void first_pass(const engine_fft_split *split, const char *in, char *out, char *scratch, int64_t first,
                       int64_t count) {
    const int64_t a = split->a, b = split->b;
    const size_t item = split->f64 ? 16 : 8, step = row_step(split);
    engine_fft_take(item, in + (size_t)first * item, (size_t)b * item, scratch + step, step, a, count);
    for (int64_t j = first; j < first + count; j++) {
        char *to = out + (size_t)(j * a) * item;
        split->execute(split->columns, scratch + (size_t)(j - first + 1) * step, scratch);
        if (split->f64)
            turn_wide(split, j, (double *)to, (const double *)scratch);
        else
            turn_narrow(split, j, (float *)to, (const float *)scratch);
    }
}

static void second_pass(const engine_fft_split *split, char *out, char *scratch, int64_t first, int64_t count) {
    const int64_t a = split->a, b = split->b;
    const size_t item = split->f64 ? 16 : 8, step = row_step(split);
    char *at = out + (size_t)first * item;
    engine_fft_take(item, at, (size_t)a * item, scratch + step, step, b, count);
    for (int64_t c = 0; c < count; c++)
        split->execute(split->lines, scratch + (size_t)(c + 1) * step, scratch + (size_t)c * step);
    engine_fft_give(item, at, (size_t)a * item, scratch, step, b, count);
}

void engine_fft_split_run(const engine_fft_split *split, const char *in, char *out, char *scratch) {
    const int64_t a = split->a, b = split->b, block = BLOCK_BYTES / (split->f64 ? 16 : 8);
    for (int64_t first = 0; first < b; first += block)
        first_pass(split, in, out, scratch, first, b - first < block ? b - first : block);
    for (int64_t first = 0; first < a; first += block)
        second_pass(split, out, scratch, first, a - first < block ? a - first : block);
}
