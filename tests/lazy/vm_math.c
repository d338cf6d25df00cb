/* vm_math.c: the vector math against libm in higher precision (f32 against double, f64 against long double), over
 * random numbers of all sizes and over the range where each function is interesting; special values; and the same bits
 * from every instruction set. With an argument, prints the largest errors as the table of docs. */
#include <math.h>
#include <stdlib.h>

#include "lazy/vm.h"
#include "ops_gen.h"
#include "tests/check.h"

enum { BATCH = 1024, BATCHES = 400 };

typedef long double wide;

static wide sigmoid(wide x) {
    return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}
static wide rsqrt(wide x) {
    return 1 / sqrtl(x);
}
static wide logaddexp(wide x, wide y) {
    return fmaxl(x, y) + (x == y ? logl(2) : log1pl(expl(-fabsl(x - y))));
}
/* By bisection on erf, or on erfc near the ends. */
static wide erf_inv(wide x) {
    wide a = fabsl(x), low = 0, high = 8;
    if (a == 1)
        return x * HUGE_VALL;
    if (a < 1e-11L)
        return x * sqrtl(acosl(-1)) / 2;
    for (int k = 0; k < 140 && a <= 1; k++) {
        wide middle = (low + high) / 2;
        bool above = a < 0.5L ? erfl(middle) > a : erfcl(middle) < 1 - a;
        low = above ? low : middle;
        high = above ? middle : high;
    }
    return a <= 1 ? copysignl((low + high) / 2, x) : NAN;
}

typedef struct function {
    int op;
    wide (*one)(wide);
    wide (*two)(wide, wide);
    double low, high; /* the range to look at closely */
    double f32, f64;  /* bounds in ulp */
} function;

static const function functions[] = {
    {LAZY_OP_exp, expl, 0, -105, 90, 1, 1},
    {LAZY_OP_exp2, exp2l, 0, -151, 129, 1, 1},
    {LAZY_OP_expm1, expm1l, 0, -5, 5, 2, 2},
    {LAZY_OP_log, logl, 0, 0, 3, 1, 1},
    {LAZY_OP_log1p, log1pl, 0, -1, 2, 1.5, 1.5},
    {LAZY_OP_log2, log2l, 0, 0, 3, 1, 1},
    {LAZY_OP_log10, log10l, 0, 0, 3, 1, 1},
    {LAZY_OP_sin, sinl, 0, -100, 100, 1, 1},
    {LAZY_OP_cos, cosl, 0, -100, 100, 1.2, 1},
    {LAZY_OP_tan, tanl, 0, -10, 10, 1, 2.5},
    {LAZY_OP_asin, asinl, 0, -1, 1, 1, 1.5},
    {LAZY_OP_acos, acosl, 0, -1, 1, 1, 1.5},
    {LAZY_OP_atan, atanl, 0, -4, 4, 1, 2},
    {LAZY_OP_sinh, sinhl, 0, -5, 5, 1, 2.5},
    {LAZY_OP_cosh, coshl, 0, -5, 5, 1, 1.5},
    {LAZY_OP_tanh, tanhl, 0, -5, 5, 1.5, 2.5},
    {LAZY_OP_asinh, asinhl, 0, -5, 5, 1, 2.5},
    {LAZY_OP_acosh, acoshl, 0, 1, 5, 1, 2},
    {LAZY_OP_atanh, atanhl, 0, -1, 1, 1, 2},
    {LAZY_OP_erf, erfl, 0, -6, 6, 1.5, 1.5},
    {LAZY_OP_erf_inv, erf_inv, 0, -1, 1, 1, 4},
    {LAZY_OP_sigmoid, sigmoid, 0, -20, 20, 2.5, 2.5},
    {LAZY_OP_cbrt, cbrtl, 0, -10, 10, 1, 1},
    {LAZY_OP_rsqrt, rsqrt, 0, 0, 10, 1, 1},
    {LAZY_OP_sqrt, sqrtl, 0, 0, 10, 0.5, 0.5},
    {LAZY_OP_pow, 0, powl, 0, 10, 1, 1.5},
    {LAZY_OP_atan2, 0, atan2l, -4, 4, 1, 2},
    {LAZY_OP_hypot, 0, hypotl, -4, 4, 1, 1},
    {LAZY_OP_logaddexp, 0, logaddexp, -4, 4, 2.5, 2.5},
};

static uint64_t seed = 0x9e3779b97f4a7c15ull;
static uint64_t next(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1dull;
}

static double random_number(int dtype, int style, const function *f) {
    static const double special[] = {0.0, -0.0, 1, -1, 0.5, 2, INFINITY, -INFINITY, NAN, 1e-310, -1e-42, 3e38, 1e308};
    double unit = (double)(next() >> 11) * 0x1p-53;
    uint64_t bits = next();
    uint32_t half = (uint32_t)bits;
    double any;
    float any32;
    memcpy(&any, &bits, 8), memcpy(&any32, &half, 4);
    if (bits % 97 == 0)
        return special[next() % 13];
    if (style % 3 == 0)
        return dtype == NEAP_DTYPE_F32 ? (double)any32 : any;
    if (style % 3 == 1)
        return f->low + (f->high - f->low) * unit;
    return (f->low + (f->high - f->low) * unit) * exp2(-(double)(next() % 40)); /* near 0 */
}

/* The error of `got` in units of the last place of the exact result, or of `least` if that is larger; the overflow threshold rounds as IEEE says. */
static double ulp_error(int dtype, double got, wide exact, wide least) {
    bool single = dtype == NEAP_DTYPE_F32;
    if (exact != exact || got != got)
        return (exact != exact) == (got != got) ? 0 : INFINITY;
    wide most = single ? 0x1.ffffffp127L : 0x1.fffffffffffff8p1023L;
    if (fabsl(exact) >= most || isinf(got))
        return isinf(got) && (got > 0) == (exact > 0) && fabsl(exact) >= most * (1 - (single ? 0x1p-24L : 0x1p-53L)) ? 0
               : fabsl(exact) < most ? INFINITY
                                     : (double)(fabsl(got - exact) / ldexpl(1, single ? 104 : 971));
    if (exact == 0 && least == 0)
        return got == 0 && !signbit(got) == !signbit(exact) ? 0 : INFINITY;
    int exponent;
    frexpl(fabsl(exact) > least ? exact : least, &exponent);
    int lowest = single ? -149 : -1074, digits = single ? 24 : 53;
    int place = exponent - digits > lowest ? exponent - digits : lowest;
    return (double)(fabsl(got - exact) / ldexpl(1, place));
}

static lazy_loop loop_of(const lazy_simd *simd, int op, int dtype) {
    return simd->map[op][dtype].by_scalars[0];
}

static const lazy_simd *sets[3];
static int nsets;

typedef struct batch {
    double a[BATCH], b[BATCH]; /* arguments, rounded to the dtype */
    char in_a[BATCH * 8], in_b[BATCH * 8], out[3][BATCH * 8];
} batch;

static bool same_bits(int dtype, const char *x, const char *y) {
    int width = neap_dtype_bytes(dtype);
    for (int i = 0; i < BATCH; i++) {
        double nan_x = 0, nan_y = 0;
        if (memcmp(x + i * width, y + i * width, (size_t)width) == 0)
            continue;
        lazy_simd_baseline.cast[dtype][NEAP_DTYPE_F64](&nan_x, x + i * width, x, x, 1);
        lazy_simd_baseline.cast[dtype][NEAP_DTYPE_F64](&nan_y, y + i * width, y, y, 1);
        if (nan_x == nan_x || nan_y == nan_y)
            return false;
    }
    return true;
}

static void run_batch(const function *f, int dtype, int style, batch *t) {
    for (int i = 0; i < BATCH; i++)
        t->a[i] = random_number(dtype, style, f), t->b[i] = random_number(dtype, style / 3, f);
    lazy_loop to = lazy_simd_baseline.cast[NEAP_DTYPE_F64][dtype],
              from = lazy_simd_baseline.cast[dtype][NEAP_DTYPE_F64];
    to(t->in_a, t->a, t->a, t->a, BATCH), to(t->in_b, t->b, t->b, t->b, BATCH);
    from(t->a, t->in_a, t->in_a, t->in_a, BATCH), from(t->b, t->in_b, t->in_b, t->in_b, BATCH);
    for (int k = 0; k < nsets; k++) {
        loop_of(sets[k], f->op, dtype)(t->out[k], t->in_a, t->in_b, t->in_b, BATCH);
        if (!CHECK(same_bits(dtype, t->out[0], t->out[k])))
            fprintf(stderr, "  %s of %s differs from baseline to %s\n", lazy_ops[f->op]->name, neap_dtype_name(dtype),
                    sets[k]->name);
    }
}

static double worst_error(const function *f, int dtype, double *at, double *at_b) {
    static batch t;
    double worst = 0, results[BATCH];
    wide least = f->op == LAZY_OP_logaddexp ? 1 : 0; /* cancellation near 0 lies in its nature */
    for (int n = 0; n < BATCHES; n++) {
        run_batch(f, dtype, n, &t);
        lazy_simd_baseline.cast[dtype][NEAP_DTYPE_F64](results, t.out[0], t.out[0], t.out[0], BATCH);
        for (int i = 0; i < BATCH; i++) {
            wide exact = f->one ? f->one(t.a[i]) : f->two(t.a[i], t.b[i]);
            double error = ulp_error(dtype, results[i], exact, least);
            if (error > worst)
                worst = error, *at = t.a[i], *at_b = t.b[i];
        }
    }
    return worst;
}

int main(int argc, char **argv) {
    (void)argv;
    sets[nsets++] = &lazy_simd_baseline;
#if defined(__x86_64__)
    if (lazy_isa_set("avx2") == NEAP_OK)
        sets[nsets++] = &lazy_simd_avx2;
    if (lazy_isa_set("avx512") == NEAP_OK)
        sets[nsets++] = &lazy_simd_avx512;
#endif
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
        for (int dtype = NEAP_DTYPE_F32; dtype <= NEAP_DTYPE_F64; dtype++) {
            const function *f = &functions[k];
            double at = 0, at_b = 0, error = worst_error(f, dtype, &at, &at_b);
            bool ok = CHECK(error <= (dtype == NEAP_DTYPE_F32 ? f->f32 : f->f64));
            if (argc > 1 || !ok)
                fprintf(stderr, "  %-10s %s  %.3f ulp  at %a %a\n", lazy_ops[f->op]->name, neap_dtype_name(dtype),
                        error, at, at_b);
        }
    return check_end();
}
