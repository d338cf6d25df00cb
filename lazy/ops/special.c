/* special.c: special functions: what is left of the error function, gamma and beta functions, incomplete ones, zeta,
 * Bessel functions. They are computed in f64 and rounded (lazy/vm/simd/vmath_erfc.h, vmath_gamma.h, vmath_incomplete.h,
 * vmath_bessel.h, where formulas and sources stand), so they give the same bits on every instruction set. Those that
 * NumPy, JAX and PyTorch have among their common functions are np's; the others are hidden rows, which np.special
 * names (stdlib/neap/arrays/special.lua).
 *
 * Derivatives are JAX's. Some are known to nobody as a function: they raise. */
#include "lazy/derive/build.h"

#define SQRT_PI 1.772453850905516027298

static neap_node *no_derivative(const char *name, const char *argument) {
    neap_error(NEAP_E_ARGUMENT, "%s has no derivative with respect to %s", name, argument);
    return NULL;
}

/* The end of a rule that may have refused. */
static int refused(const lazy_grad *g, bool refuses) {
    return refuses ? neap_error_code() : grad_done(g, 2);
}

GRAD1(grad_erfc,
      BUILD2(multiply, ct, BUILD2(multiply, NUMBER(-2 / SQRT_PI), BUILD1(exp, BUILD1(negative, BUILD1(square, x))))))
/* c[0] + c[1] x + … + c[n-1] x^(n-1). */
static neap_node *polynomial(lazy_grad *g, const double *c, int n, neap_node *x) {
    neap_node *sum = NUMBER(c[n - 1]);
    for (int k = n - 2; k >= 0; k--)
        sum = BUILD2(add, BUILD2(multiply, sum, x), NUMBER(c[k]));
    return sum;
}

/* 2 x y - 2 / sqrt(pi), which has no digits left where x is large: there the derivative of the asymptotic series,
 * -u / sqrt(pi) times the sum of (-1)^k (2k + 1)!! / 2^k u^k with u = 1 / x². */
static neap_node *slope_of_erfcx(lazy_grad *g, neap_node *x, neap_node *y) {
    enum { TERMS = 12 };
    double c[TERMS] = {-1 / SQRT_PI};
    for (int k = 1; k < TERMS; k++)
        c[k] = c[k - 1] * -(2 * k + 1) / 2;
    neap_node *far = BUILD2(greater, x, NUMBER(10));
    neap_node *u = BUILD1(reciprocal, BUILD1(square, BUILD3(where, far, x, NUMBER(10))));
    neap_node *near = BUILD2(subtract, BUILD2(multiply, BUILD2(multiply, NUMBER(2), x), y), NUMBER(2 / SQRT_PI));
    return BUILD3(where, far, BUILD2(multiply, u, polynomial(g, c, TERMS, u)), near);
}
GRAD1(grad_erfcx, BUILD2(multiply, ct, slope_of_erfcx(g, x, y)))
GRAD1(grad_erfcinv, BUILD2(multiply, ct, BUILD2(multiply, NUMBER(-0.5 * SQRT_PI), BUILD1(exp, BUILD1(square, y)))))
GRAD1(grad_lgamma, BUILD2(multiply, ct, BUILD1(digamma, x)))
GRAD1(grad_gamma, BUILD2(multiply, ct, BUILD2(multiply, y, BUILD1(digamma, x))))
GRAD1(grad_digamma, BUILD2(multiply, ct, BUILD2(zeta, NUMBER(2), x)))
GRAD2(grad_betaln, BUILD2(multiply, ct, BUILD2(subtract, BUILD1(digamma, a), BUILD1(digamma, BUILD2(add, a, b)))),
      BUILD2(multiply, ct, BUILD2(subtract, BUILD1(digamma, b), BUILD1(digamma, BUILD2(add, a, b)))))

static int grad_zeta(lazy_grad *g) {
    neap_node *s = INPUT(0), *next = BUILD2(add, s, NUMBER(1));
    if (g->wants[0])
        g->out[0] = no_derivative("zeta", "s");
    if (g->wants[1])
        g->out[1] = BUILD2(multiply, g->ct, BUILD1(negative, BUILD2(multiply, s, BUILD2(zeta, next, INPUT(1)))));
    return refused(g, g->wants[0]);
}

/* The density x^(a - 1) exp(-x) / gamma(a). */
static neap_node *gamma_density(lazy_grad *g) {
    neap_node *a = INPUT(0), *x = INPUT(1), *power = BUILD2(subtract, a, NUMBER(1));
    neap_node *logs = BUILD2(subtract, BUILD2(multiply, power, BUILD1(log, x)), BUILD2(add, x, BUILD1(lgamma, a)));
    return BUILD1(exp, logs);
}
GRAD2(grad_gammainc, BUILD2(multiply, ct, BUILD2(gammainc_da, a, b)), BUILD2(multiply, ct, gamma_density(g)))
GRAD2(grad_gammaincc, BUILD1(negative, BUILD2(multiply, ct, BUILD2(gammainc_da, a, b))),
      BUILD1(negative, BUILD2(multiply, ct, gamma_density(g))))

static int grad_gammainc_da(lazy_grad *g) {
    neap_node *change = BUILD2(subtract, BUILD1(log, INPUT(1)), BUILD1(digamma, INPUT(0)));
    if (g->wants[0])
        g->out[0] = no_derivative("the derivative of gammainc by a", "a");
    if (g->wants[1])
        g->out[1] = BUILD2(multiply, g->ct, BUILD2(multiply, gamma_density(g), change));
    return refused(g, g->wants[0]);
}

/* x^(a - 1) (1 - x)^(b - 1) / beta(a, b). */
static int grad_betainc(lazy_grad *g) {
    neap_node *a = INPUT(0), *b = INPUT(1), *x = INPUT(2), *one = NUMBER(1);
    neap_node *left = BUILD2(multiply, BUILD2(subtract, a, one), BUILD1(log, x));
    neap_node *right = BUILD2(multiply, BUILD2(subtract, b, one), BUILD1(log1p, BUILD1(negative, x)));
    for (int k = 0; k < 2; k++)
        if (g->wants[k])
            g->out[k] = no_derivative("betainc", k ? "b" : "a");
    if (g->wants[2])
        g->out[2] =
            BUILD2(multiply, g->ct, BUILD1(exp, BUILD2(subtract, BUILD2(add, left, right), BUILD2(betaln, a, b))));
    return g->wants[0] || g->wants[1] ? neap_error_code() : grad_done(g, 3);
}

/* y / x for y that is a function of order 1: j1 (sign -1), i1 or i1e. From -1 to 1 it is its series, the sum of
 * (±x²/4)^k / (2 k! (k + 1)!), since derivatives of the quotient have few digits there; i1e has a factor exp(-|x|). */
static neap_node *slope_part(lazy_grad *g, neap_node *x, neap_node *y, int sign, bool scaled) {
    enum { TERMS = 10 };
    double c[TERMS] = {0.5};
    for (int k = 1; k < TERMS; k++)
        c[k] = c[k - 1] * sign / (4.0 * k * (k + 1));
    neap_node *size = BUILD1(abs, x), *near = BUILD2(less, size, NUMBER(1));
    neap_node *small = BUILD3(where, near, x, NUMBER(0)), *series = polynomial(g, c, TERMS, BUILD1(square, small));
    if (scaled)
        series = BUILD2(multiply, series, BUILD1(exp, BUILD1(negative, BUILD1(abs, small))));
    return BUILD3(where, near, series, BUILD2(divide, y, BUILD3(where, near, NUMBER(1), x)));
}
GRAD1(grad_i0, BUILD2(multiply, ct, BUILD1(i1, x)))
GRAD1(grad_i1, BUILD2(multiply, ct, BUILD2(subtract, BUILD1(i0, x), slope_part(g, x, y, 1, false))))
GRAD1(grad_i0e, BUILD2(multiply, ct, BUILD2(subtract, BUILD1(i1e, x), BUILD2(multiply, BUILD1(sign, x), y))))
GRAD1(grad_i1e, BUILD2(multiply, ct,
                       BUILD2(subtract, BUILD2(subtract, BUILD1(i0e, x), slope_part(g, x, y, 1, true)),
                              BUILD2(multiply, BUILD1(sign, x), y))))
GRAD1(grad_j0, BUILD1(negative, BUILD2(multiply, ct, BUILD1(j1, x))))
GRAD1(grad_j1, BUILD2(multiply, ct, BUILD2(subtract, BUILD1(j0, x), slope_part(g, x, y, -1, false))))

/* a / b, and 0 where both are 0. */
static neap_node *ratio(lazy_grad *g, neap_node *a, neap_node *b) {
    neap_node *none = BUILD2(logical_and, BUILD2(equal, a, NUMBER(0)), BUILD2(equal, b, NUMBER(0)));
    return BUILD2(divide, a, BUILD3(where, none, NUMBER(1), b));
}
GRAD2(grad_xlogy, BUILD2(multiply, ct, BUILD1(log, b)), BUILD2(multiply, ct, ratio(g, a, b)))
GRAD2(grad_xlog1py, BUILD2(multiply, ct, BUILD1(log1p, b)),
      BUILD2(multiply, ct, ratio(g, a, BUILD2(add, b, NUMBER(1)))))
GRAD1(grad_entr, BUILD2(multiply, ct, BUILD2(subtract, NUMBER(-1), BUILD1(log, x))))

/* Rows read as tables. */
/* clang-format off */
NEAP_OP(erfc,
    .doc = "1 - erf(a), without cancellation for large a.",
    .example = "np.erfc(np.array{0, 5})\n[1.0000000e+00 1.5374598e-12]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_erfc,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(erfc)(a)"}, .ns = 4,
    .domain = {-2, 4}, .ulp = 4)

NEAP_OP(xlogy,
    .doc = "a * log(b), and 0 for a = 0 unless b is NaN.",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_xlogy,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(xlogy)(a, b)"}, .ns = 0.4,
    .domain = {0.5, 3}, .reference = "a * math.log(b)", .ulp = 3)

NEAP_OP(xlog1py,
    .doc = "a * log1p(b), and 0 for a = 0 unless b is NaN.",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_xlog1py,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(xlog1py)(a, b)"}, .ns = 0.5,
    .domain = {0.5, 3}, .reference = "a * math.log(1 + b)", .ulp = 4)

NEAP_OP(entr,
    .doc = "-a * log(a), 0 at 0, -infinite below.",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_entr,
    .residual = LAZY_RESIDUAL_IN0, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(entr)(a)"}, .ns = 0.4,
    .domain = {0.5, 3}, .reference = "-a * math.log(a)", .ulp = 3)

NEAP_OP(erfcx,
    .doc = "exp(a * a) * erfc(a), without overflow or underflow in between; infinite from -26.7 down.",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_erfcx,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(erfcx)(a)"}, .ns = 12,
    .domain = {-2, 4}, .ulp = 4)

NEAP_OP(erfcinv,
    .doc = "The inverse of erfc: infinite at 0, -infinite at 2, NaN outside.",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_erfcinv,
    .residual = LAZY_RESIDUAL_OUT, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(erfc_inv)(a)"}, .ns = 25,
    .domain = {0.2, 1.8}, .ulp = 4)

NEAP_OP(lgamma,
    .doc = "The logarithm of |gamma(a)|; infinite at 0 and the negative integers. Left of 0, where it has further "
           "zeros, the error is that many ulp of 1 or of the result, whichever is larger.",
    .example = "np.lgamma(np.array{0.5, 1, 100})\n[  0.5723649   0.        359.13422  ]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_lgamma,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(lgamma)(a)"}, .ns = 15,
    .domain = {0.2, 5}, .ulp = 6)

NEAP_OP(gamma,
    .doc = "The gamma function; exact at the integers up to 19, infinite at 0 with its sign, NaN at the negative "
           "integers.",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_gamma,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(gamma)(a)"}, .ns = 20,
    .domain = {0.2, 5}, .ulp = 4)

NEAP_OP(digamma,
    .doc = "The derivative of lgamma; -infinite at 0, NaN at the negative integers. Left of 0, where it has a zero "
           "between any two poles, the error is that many ulp of 4 or of the result, whichever is larger.",
    .example = "np.digamma(np.array{1, 2})\n[-0.5772157   0.42278433]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_digamma,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(digamma)(a)"}, .ns = 15,
    .domain = {0.2, 5}, .ulp = 4)

NEAP_OP(zeta,
    .doc = "The zeta function of Hurwitz: the sum of (b + k)^-a over k from 0. Infinite for a = 1, for b = 0 and the "
           "negative integers; NaN for a below 1, and for other negative b unless a is an integer.",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_zeta,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(zeta)(a, b)"}, .ns = 300,
    .domain = {1.5, 6}, .ulp = 4)

NEAP_OP(betaln,
    .doc = "The logarithm of |gamma(a) gamma(b) / gamma(a + b)|.",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_betaln,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .flags = LAZY_OP_HIDDEN | LAZY_OP_COMMUTES,
    .kernel = {.real = "F(betaln)(a, b)"}, .ns = 45,
    .domain = {0.2, 2}, .ulp = 16)

NEAP_OP(gammainc,
    .doc = "The regularized lower incomplete gamma function P(a, b): the integral of t^(a - 1) exp(-t) from 0 to b, "
           "divided by gamma(a). NaN for a or b below 0.",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_gammainc,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(gammainc)(a, b)"}, .ns = 200,
    .domain = {0.5, 4}, .ulp = 32)

NEAP_OP(gammaincc,
    .doc = "1 - gammainc(a, b), the upper one, without cancellation.",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_gammaincc,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(gammaincc)(a, b)"}, .ns = 200,
    .domain = {0.5, 4}, .ulp = 32)

NEAP_OP(gammainc_da,
    .doc = "The derivative of gammainc with respect to a, with a relative error near 1e-10.",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_gammainc_da,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(gammainc_da)(a, b)"}, .ns = 500,
    .domain = {0.5, 4})

NEAP_OP(betainc,
    .doc = "The regularized incomplete beta function: the integral of t^(a - 1) (1 - t)^(b - 1) from 0 to c, over "
           "beta(a, b). NaN for a or b below 0 and for c outside [0, 1].",
    .kind = LAZY_MAP, .arity = 3, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_betainc,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1 | LAZY_RESIDUAL_IN2, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(betainc)(a, b, c)"}, .ns = 300,
    .domain = {0.1, 0.9}, .ulp = 64)

NEAP_OP(i0,
    .doc = "The modified Bessel function of the first kind of order 0.",
    .example = "np.i0(np.array{0, 1, 10})\n[1.0000000e+00 1.2660658e+00 2.8157166e+03]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_i0,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(i0)(a)"}, .ns = 30,
    .domain = {-5, 5}, .ulp = 5)

NEAP_OP(i0e,
    .doc = "exp(-|a|) * i0(a).",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_i0e,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(i0e)(a)"}, .ns = 25,
    .domain = {0.5, 5}, .ulp = 5)

NEAP_OP(i1,
    .doc = "The modified Bessel function of the first kind of order 1.",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_i1,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(i1)(a)"}, .ns = 30,
    .domain = {0.5, 5}, .ulp = 5)

NEAP_OP(i1e,
    .doc = "exp(-|a|) * i1(a).",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_i1e,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(i1e)(a)"}, .ns = 25,
    .domain = {0.5, 5}, .ulp = 5)

NEAP_OP(j0,
    .doc = "The Bessel function of the first kind of order 0, with an absolute error of at most 2e-15 (f64).",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_j0,
    .residual = LAZY_RESIDUAL_IN0, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(j0)(a)"}, .ns = 45,
    .domain = {0.5, 2}, .ulp = 10)

NEAP_OP(j1,
    .doc = "The Bessel function of the first kind of order 1, with an absolute error of at most 2e-15 (f64).",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_j1,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT, .flags = LAZY_OP_HIDDEN,
    .kernel = {.real = "F(j1)(a)"}, .ns = 45,
    .domain = {0.5, 2}, .ulp = 10)
/* clang-format on */
