/* vm_math.c (sanitized with --long): the vector math against libm in long double: over random numbers of
 * all sizes and over the range where each function is interesting, special values among them, no error exceeds the
 * bound of the op's row; every instruction set gives the same bits; and so does an argument alone, whose chunk has no
 * rare arguments but itself.
 *
 *     vm_math [--table] [--batches N] [--every NAME]
 *
 * --table prints the largest errors; --batches N draws N times 1024 arguments for each function, 250 if nothing is said
 * (40 with sanitizers); --every NAME tries all values that an f32 may have on one function of one operand, against what
 * it is in f64, which takes a minute; --every all on all such functions. */
#include <math.h>
#include <stdlib.h>

#include "lazy/vm/vm.h"
#include "ops_gen.h"
#include "tests/check.h"

enum { BATCH = 1024 };

static int batches;

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
static wide xlogy(wide x, wide y) {
    return x == 0 && y == y ? 0 : x * logl(y);
}
static wide xlog1py(wide x, wide y) {
    return x == 0 && y == y ? 0 : x * log1pl(y);
}
static wide entr(wide x) {
    return x < 0 ? -HUGE_VALL : x == 0 ? 0 : -x * logl(x);
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
} function;

static const function functions[] = {
    {LAZY_OP_exp, expl, 0, -105, 90},
    {LAZY_OP_exp2, exp2l, 0, -151, 129},
    {LAZY_OP_expm1, expm1l, 0, -5, 5},
    {LAZY_OP_log, logl, 0, 0, 3},
    {LAZY_OP_log1p, log1pl, 0, -1, 2},
    {LAZY_OP_log2, log2l, 0, 0, 3},
    {LAZY_OP_log10, log10l, 0, 0, 3},
    {LAZY_OP_sin, sinl, 0, -100, 100},
    {LAZY_OP_cos, cosl, 0, -100, 100},
    {LAZY_OP_tan, tanl, 0, -10, 10},
    {LAZY_OP_asin, asinl, 0, -1, 1},
    {LAZY_OP_acos, acosl, 0, -1, 1},
    {LAZY_OP_atan, atanl, 0, -4, 4},
    {LAZY_OP_sinh, sinhl, 0, -5, 5},
    {LAZY_OP_cosh, coshl, 0, -5, 5},
    {LAZY_OP_tanh, tanhl, 0, -5, 5},
    {LAZY_OP_asinh, asinhl, 0, -5, 5},
    {LAZY_OP_acosh, acoshl, 0, 1, 5},
    {LAZY_OP_atanh, atanhl, 0, -1, 1},
    {LAZY_OP_erf, erfl, 0, -6, 6},
    {LAZY_OP_erf_inv, erf_inv, 0, -1, 1},
    {LAZY_OP_sigmoid, sigmoid, 0, -20, 20},
    {LAZY_OP_cbrt, cbrtl, 0, -10, 10},
    {LAZY_OP_rsqrt, rsqrt, 0, 0, 10},
    {LAZY_OP_sqrt, sqrtl, 0, 0, 10},
    {LAZY_OP_pow, 0, powl, 0, 10},
    {LAZY_OP_atan2, 0, atan2l, -4, 4},
    {LAZY_OP_hypot, 0, hypotl, -4, 4},
    {LAZY_OP_logaddexp, 0, logaddexp, -4, 4},
    {LAZY_OP_erfc, erfcl, 0, -6, 28},
    {LAZY_OP_lgamma, lgammal, 0, -20, 20},
    {LAZY_OP_gamma, tgammal, 0, -20, 40},
    {LAZY_OP_xlogy, 0, xlogy, 0, 3},
    {LAZY_OP_xlog1py, 0, xlog1py, -1, 2},
    {LAZY_OP_entr, entr, 0, 0, 3},
};

/* Rows whose bounds tests/golden/special_test.lua tries. */
static const int golden[] = {
    LAZY_OP_erfcx,    LAZY_OP_erfcinv,   LAZY_OP_digamma, LAZY_OP_zeta, LAZY_OP_betaln,
    LAZY_OP_gammainc, LAZY_OP_gammaincc, LAZY_OP_betainc, LAZY_OP_i0,   LAZY_OP_i0e,
    LAZY_OP_i1,       LAZY_OP_i1e,       LAZY_OP_j0,      LAZY_OP_j1,
};

static uint64_t seed = 0x9e3779b97f4a7c15ull;
static uint64_t next(void) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed * 0x2545f4914f6cdd1dull;
}

static bool is_trigonometric(int op) {
    return op == LAZY_OP_sin || op == LAZY_OP_cos || op == LAZY_OP_tan;
}

/* At most 8 times the smallest number. */
static double tiny_number(int dtype) {
    return ((double)(next() % 17) - 8) * (dtype == NEAP_DTYPE_F32 ? 0x1p-149 : 0x1p-1074);
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
    if (style % 4 == 3 && is_trigonometric(f->op)) { /* next to a multiple of pi / 2 */
        wide quarter = (wide)(next() >> (34 + next() % 30)) * acosl(-1) / 2 * (bits & 1 ? 1 : -1);
        return dtype == NEAP_DTYPE_F32 ? (double)(float)quarter : (double)quarter;
    }
    if (style % 4 == 3 && f->op == LAZY_OP_erf_inv) /* beside an end */
        return (1 - exp2(-52 * unit - 1)) * (bits & 1 ? 1 : -1);
    if (style % 3 == 0)
        return dtype == NEAP_DTYPE_F32 ? (double)any32 : any;
    if (style % 3 == 1)
        return f->low + (f->high - f->low) * unit;
    return (f->low + (f->high - f->low) * unit) * exp2(-(double)(next() % 40)); /* near 0 */
}

/* The error of `got` in units of the last place of the exact result, or of `least` if that is larger; the overflow
 * threshold rounds as IEEE says. */
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

/* Arguments in the dtype, from those in t->a and t->b, which are rounded to it. */
static void round_arguments(int dtype, batch *t) {
    lazy_loop to = lazy_simd_baseline.cast[NEAP_DTYPE_F64][dtype],
              from = lazy_simd_baseline.cast[dtype][NEAP_DTYPE_F64];
    to(t->in_a, t->a, t->a, t->a, BATCH), to(t->in_b, t->b, t->b, t->b, BATCH);
    from(t->a, t->in_a, t->in_a, t->in_a, BATCH), from(t->b, t->in_b, t->in_b, t->in_b, BATCH);
}

static void run_alone(int op, int dtype, batch *t) {
    static char alone[BATCH * 8];
    int width = neap_dtype_bytes(dtype);
    for (int k = 0; k < nsets; k++) {
        for (int i = 0; i < BATCH; i++)
            loop_of(sets[k], op, dtype)(alone + i * width, t->in_a + i * width, t->in_b + i * width,
                                        t->in_b + i * width, 1);
        if (!CHECK(same_bits(dtype, t->out[k], alone)))
            fprintf(stderr, "  %s of %s depends on its neighbours on %s\n", lazy_ops[op]->name, neap_dtype_name(dtype),
                    sets[k]->name);
    }
}

static void run_batch(const function *f, int dtype, batch *t) {
    for (int k = 0; k < nsets; k++) {
        loop_of(sets[k], f->op, dtype)(t->out[k], t->in_a, t->in_b, t->in_b, BATCH);
        if (!CHECK(same_bits(dtype, t->out[0], t->out[k])))
            fprintf(stderr, "  %s of %s differs from baseline to %s\n", lazy_ops[f->op]->name, neap_dtype_name(dtype),
                    sets[k]->name);
    }
}

typedef struct error { /* the largest so far, and where it was */
    double ulp, a, b;
} error;

static void find_error(const function *f, int dtype, const batch *t, error *worst) {
    double results[BATCH];
    wide least = f->op == LAZY_OP_logaddexp || f->op == LAZY_OP_lgamma ? 1 : 0; /* cancellation lies in its nature */
    lazy_simd_baseline.cast[dtype][NEAP_DTYPE_F64](results, t->out[0], t->out[0], t->out[0], BATCH);
    for (int i = 0; i < BATCH; i++) {
        wide exact = f->one ? f->one(t->a[i]) : f->two(t->a[i], t->b[i]);
        double ulp = ulp_error(dtype, results[i], exact, least);
        if (ulp > worst->ulp)
            *worst = (error){ulp, t->a[i], t->b[i]};
    }
}

/* An exact function is rounded once. */
static void check_error(const function *f, int dtype, const error *worst, bool table) {
    double bound = lazy_ops[f->op]->ulp > 0 ? lazy_ops[f->op]->ulp : 0.5;
    if (!CHECK(worst->ulp <= bound) || table)
        fprintf(stderr, "  %-10s %s  %.3f ulp  at %a %a\n", lazy_ops[f->op]->name, neap_dtype_name(dtype), worst->ulp,
                worst->a, worst->b);
}

static void try_samples(const function *f, int dtype, bool table) {
    static batch t;
    error worst = {0};
    for (int style = 0; style < batches; style++) {
        for (int i = 0; i < BATCH; i++)
            t.a[i] = random_number(dtype, style, f), t.b[i] = random_number(dtype, style / 3, f);
        for (int i = 0; i < BATCH; i += 16)
            t.a[i] = tiny_number(dtype), t.b[i] = tiny_number(dtype);
        round_arguments(dtype, &t);
        run_batch(f, dtype, &t);
        if (style % 30 < 3) /* one of each style */
            run_alone(f->op, dtype, &t);
        find_error(f, dtype, &t, &worst);
    }
    check_error(f, dtype, &worst, table);
}

/* Quotients rounded down, exactly: the remainder is that of fmod, brought to b's side, and the quotient, where it is
 * exact, the number of times that b was taken away. */
static void try_division(int dtype) {
    static const function from = {LAZY_OP_remainder, 0, 0, -30, 30};
    static batch t;
    double rests[BATCH], quotients[BATCH];
    lazy_loop to_double = lazy_simd_baseline.cast[dtype][NEAP_DTYPE_F64];
    for (int style = 0; style < batches; style++) {
        for (int i = 0; i < BATCH; i++) {
            t.a[i] = random_number(dtype, style, &from), t.b[i] = random_number(dtype, style / 3, &from);
            if (i % 4 == 0) /* at a multiple, or beside one */
                t.a[i] = t.b[i] * (double)(next() % 1000) *
                         (1 + (double)(next() % 3) * (dtype == NEAP_DTYPE_F32 ? 0x1p-24 : 0x1p-53));
        }
        round_arguments(dtype, &t);
        run_batch(&from, dtype, &t);
        if (style % 30 < 9)
            run_alone(LAZY_OP_remainder, dtype, &t);
        to_double(rests, t.out[0], t.out[0], t.out[0], BATCH);
        run_batch(&(function){.op = LAZY_OP_floor_divide}, dtype, &t);
        if (style % 30 < 9)
            run_alone(LAZY_OP_floor_divide, dtype, &t);
        to_double(quotients, t.out[0], t.out[0], t.out[0], BATCH);
        int wrong = 0;
        for (int i = 0; i < BATCH; i++) {
            double a = t.a[i], b = t.b[i], rest = fmod(a, b), side = (b < 0) != (rest < 0) ? rest + b : rest;
            side = rest == 0 ? copysign(0, b) : dtype == NEAP_DTYPE_F32 ? (double)(float)side : side;
            wrong += side == side ? memcmp(&side, &rests[i], sizeof side) != 0 : rests[i] == rests[i];
            wide times = floorl(((wide)a - (wide)rest) / (wide)b + 0.5L) - (rest != 0 && (b < 0) != (rest < 0));
            if (fabsl(times) < 0x1p22L && isfinite(b))
                wrong += (wide)quotients[i] != times || (times == 0 && !signbit(quotients[i]) != !signbit(a / b));
        }
        CHECK_EQ(wrong, 0);
    }
}

/* The errors of f32 results against f64 ones, whose own are below 2^-26 ulp of f32. Most are seen at once to be no
 * larger than the largest so far; what is left goes the long way. */
static void find_error_f32(const float *got, const double *exact, const batch *t, error *worst) {
    for (int i = 0; i < BATCH; i++) {
        double value = (double)got[i], miss = fabs(value - exact[i]);
        uint64_t bits, lowest = UINT64_C(897) << 52; /* 2^-126 */
        memcpy(&bits, &exact[i], sizeof bits);
        bits &= UINT64_C(0x7ff) << 52;
        bits = (bits < lowest ? lowest : bits) - (UINT64_C(23) << 52);
        double unit;
        memcpy(&unit, &bits, sizeof unit);
        if (miss <= worst->ulp * unit && fabs(exact[i]) < 0x1p127 && exact[i] != 0)
            continue;
        double ulp = ulp_error(NEAP_DTYPE_F32, value, (wide)exact[i], 0);
        if (ulp > worst->ulp)
            *worst = (error){ulp, t->a[i], t->b[i]};
    }
}

static void try_every(const function *f) {
    static batch t;
    static double exact[BATCH];
    static float singles[BATCH];
    error worst = {0};
    for (uint64_t bits = 0; bits < 1ull << 32; bits += BATCH) {
        for (int i = 0; i < BATCH; i++) {
            uint32_t pattern = (uint32_t)bits + (uint32_t)i;
            float x;
            memcpy(&x, &pattern, sizeof x);
            t.a[i] = (double)x, singles[i] = x;
        }
        memcpy(t.in_a, singles, sizeof singles);
        if (bits / BATCH % 64 == 0) /* all instruction sets */
            run_batch(f, NEAP_DTYPE_F32, &t);
        loop_of(sets[nsets - 1], f->op, NEAP_DTYPE_F32)(t.out[0], t.in_a, t.in_a, t.in_a, BATCH);
        loop_of(sets[nsets - 1], f->op, NEAP_DTYPE_F64)(exact, t.a, t.a, t.a, BATCH);
        find_error_f32((const float *)t.out[0], exact, &t, &worst);
    }
    check_error(f, NEAP_DTYPE_F32, &worst, true);
}

/* A bound that is stated is tried. */
static void check_complete(void) {
    for (int op = 0; op < LAZY_OP_COUNT; op++) {
        bool found = lazy_ops[op]->ulp == 0;
        for (size_t k = 0; k < sizeof functions / sizeof *functions; k++)
            found |= functions[k].op == op;
        for (size_t k = 0; k < sizeof golden / sizeof *golden; k++)
            found |= golden[k] == op;
        if (!CHECK(found))
            fprintf(stderr, "  %s has a bound and no reference here\n", lazy_ops[op]->name);
    }
}

int main(int argc, char **argv) {
    const char *every = NULL;
    bool table = false;
    batches = check_times(250, 40);
    for (int k = 1; k < argc; k++)
        if (strcmp(argv[k], "--batches") == 0 && k + 1 < argc)
            batches = atoi(argv[++k]);
        else if (strcmp(argv[k], "--every") == 0 && k + 1 < argc)
            every = argv[++k];
        else
            table = true;
    static const char *const names[] = {"baseline", "avx2", "avx512"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (vm_isa_set(names[k]) == NEAP_OK)
            sets[nsets++] = vm_simd();
    check_complete();
    for (size_t k = 0; k < sizeof functions / sizeof *functions; k++) {
        const function *f = &functions[k];
        if (!every) {
            try_samples(f, NEAP_DTYPE_F32, table);
            try_samples(f, NEAP_DTYPE_F64, table);
        } else if (f->one && (strcmp(every, "all") == 0 || strcmp(lazy_ops[f->op]->name, every) == 0)) {
            try_every(f);
        }
    }
    if (!every)
        try_division(NEAP_DTYPE_F32), try_division(NEAP_DTYPE_F64);
    return check_end();
}
