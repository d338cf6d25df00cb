/* math.c: functions of real numbers. bool and integers are computed as their row says (dtype.h). They are neap's own
 * (lazy/vm/simd/vmath*.h, where sources of the formulas and measured errors stand), so they give the same bits on every
 * instruction set; special values are those of C's Annex F. */
#include "lazy/derive/build.h"

GRAD1(grad_sqrt, BUILD2(divide, BUILD2(multiply, ct, NUMBER(0.5)), y))
GRAD1(grad_rsqrt, BUILD2(multiply, ct, BUILD2(multiply, NUMBER(-0.5), BUILD2(divide, y, x))))
GRAD1(grad_cbrt, BUILD2(divide, BUILD2(multiply, ct, NUMBER(1.0 / 3)), BUILD1(square, y)))
GRAD1(grad_exp, BUILD2(multiply, ct, y))
GRAD1(grad_exp2, BUILD2(multiply, ct, BUILD2(multiply, y, NUMBER(0.693147180559945309417))))
GRAD1(grad_expm1, BUILD2(multiply, ct, BUILD2(add, y, NUMBER(1))))
GRAD1(grad_log, BUILD2(divide, ct, x))
GRAD1(grad_log1p, BUILD2(divide, ct, BUILD2(add, x, NUMBER(1))))
GRAD1(grad_log2, BUILD2(divide, ct, BUILD2(multiply, x, NUMBER(0.693147180559945309417))))
GRAD1(grad_log10, BUILD2(divide, ct, BUILD2(multiply, x, NUMBER(2.302585092994045684018))))
GRAD1(grad_sin, BUILD2(multiply, ct, BUILD1(cos, x)))
GRAD1(grad_cos, BUILD1(negative, BUILD2(multiply, ct, BUILD1(sin, x))))
GRAD1(grad_tan, BUILD2(multiply, ct, BUILD2(add, BUILD1(square, y), NUMBER(1))))
/* Products of two roots, not the root of a product: of complex numbers it stays on the sheet of the function, and none
 * overflows where its argument is large. */
static bool is_complex(neap_node *x) {
    return neap_dtype_kind(graph_node_aval(x).dtype) == 'c';
}
static neap_node *two_roots(lazy_grad *g, neap_node *a, neap_node *b) {
    if (!is_complex(a))
        return BUILD1(rsqrt, BUILD2(multiply, a, b));
    return BUILD2(multiply, BUILD1(rsqrt, a), BUILD1(rsqrt, b));
}
static neap_node *quotient_of_two(lazy_grad *g, neap_node *a, neap_node *b) {
    if (!is_complex(a))
        return BUILD2(divide, g->ct, BUILD2(multiply, a, b));
    return BUILD2(divide, BUILD2(divide, g->ct, a), b);
}
static neap_node *one_plus(lazy_grad *g, neap_node *x) {
    return BUILD2(add, x, NUMBER(1));
}
static neap_node *one_less(lazy_grad *g, neap_node *x) {
    return BUILD2(subtract, NUMBER(1), x);
}
/* i x, of complex x. */
static neap_node *turned(lazy_grad *g, neap_node *x) {
    return BUILD2(complex, BUILD1(negative, BUILD1(imag, x)), BUILD1(real, x));
}
GRAD1(grad_asin, BUILD2(multiply, ct, two_roots(g, one_less(g, x), one_plus(g, x))))
GRAD1(grad_acos, BUILD1(negative, BUILD2(multiply, ct, two_roots(g, one_less(g, x), one_plus(g, x)))))
GRAD1(grad_atan, is_complex(x) ? quotient_of_two(g, one_plus(g, turned(g, x)), one_less(g, turned(g, x)))
                               : BUILD2(divide, ct, one_plus(g, BUILD1(square, x))))
GRAD1(grad_sinh, BUILD2(multiply, ct, BUILD1(cosh, x)))
GRAD1(grad_cosh, BUILD2(multiply, ct, BUILD1(sinh, x)))
GRAD1(grad_tanh, BUILD2(multiply, ct, BUILD2(subtract, NUMBER(1), BUILD1(square, y))))
GRAD1(grad_asinh, is_complex(x)
                      ? BUILD2(multiply, ct, two_roots(g, one_plus(g, turned(g, x)), one_less(g, turned(g, x))))
                      : BUILD2(divide, ct, BUILD2(hypot, x, NUMBER(1))))
GRAD1(grad_acosh,
      BUILD2(multiply, ct,
             BUILD2(multiply, BUILD1(rsqrt, BUILD2(subtract, x, NUMBER(1))), BUILD1(rsqrt, one_plus(g, x)))))
GRAD1(grad_atanh, quotient_of_two(g, one_less(g, x), one_plus(g, x)))
GRAD1(grad_erf,
      BUILD2(multiply, ct,
             BUILD2(multiply, NUMBER(1.128379167095512573896), BUILD1(exp, BUILD1(negative, BUILD1(square, x))))))
GRAD1(grad_erf_inv,
      BUILD2(multiply, ct, BUILD2(multiply, NUMBER(0.886226925452758013649), BUILD1(exp, BUILD1(square, y)))))
GRAD1(grad_sigmoid, BUILD2(multiply, ct, BUILD2(multiply, y, BUILD2(subtract, NUMBER(1), y))))

/* With r = a² + b² for y = atan2(a, b): b / r and -a / r. */
GRAD2(grad_atan2, BUILD2(multiply, ct, BUILD2(divide, b, BUILD2(add, BUILD1(square, a), BUILD1(square, b)))),
      BUILD1(negative, BUILD2(multiply, ct, BUILD2(divide, a, BUILD2(add, BUILD1(square, a), BUILD1(square, b))))))

/* 0 at the origin. */
static neap_node *hypot_part(lazy_grad *g, neap_node *x) {
    return BUILD2(multiply, g->ct,
                  BUILD3(where, BUILD2(equal, g->node, NUMBER(0)), NUMBER(0), BUILD2(divide, x, g->node)));
}
GRAD2(grad_hypot, hypot_part(g, a), hypot_part(g, b))

/* The share of x: sigmoid(x - other), half of the whole where both are the same infinity. */
static neap_node *logaddexp_part(lazy_grad *g, neap_node *x, neap_node *other) {
    neap_node *tie = BUILD2(logical_and, BUILD2(equal, x, other), BUILD1(isinf, x));
    return BUILD2(multiply, g->ct, BUILD1(sigmoid, BUILD3(where, tie, NUMBER(0), BUILD2(subtract, x, other))));
}
GRAD2(grad_logaddexp, logaddexp_part(g, a, b), logaddexp_part(g, b, a))

/* Rows read as tables. */
/* clang-format off */
NEAP_OP(sqrt,
    .doc = "The square root, correctly rounded; NaN below 0.",
    .example = "np.sqrt(np.array{4, 2, -1})\n[2.        1.4142135       nan]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT,
    .flags = LAZY_OP_CHAINS, .dtype = graph_dtype_real, .grad = grad_sqrt,
    .residual = LAZY_RESIDUAL_OUT,
    .kernel = {.real = "F(sqrt)(a)", .complex = "F(sqrt)(a)"}, .ns = 0.1,
    .domain = {0.1, 9}, .reference = "math.sqrt(a)")

NEAP_OP(rsqrt,
    .doc = "1 / sqrt(a).",
    .example = "np.rsqrt(np.array{4, 16})\n[0.5  0.25]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_rsqrt,
    .residual = LAZY_RESIDUAL_OUT | LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(rsqrt)(a)", .complex = "F(rsqrt)(a)"}, .ns = 0.37,
    .domain = {0.1, 9}, .reference = "1 / math.sqrt(a)", .ulp = 1)

NEAP_OP(cbrt,
    .doc = "The cube root, of negative numbers too.",
    .example = "np.cbrt(np.array{8, -27})\n[ 2. -3.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_cbrt,
    .residual = LAZY_RESIDUAL_OUT,
    .kernel = {.real = "F(cbrt)(a)"}, .ns = 0.5,
    .domain = {0.1, 9}, .reference = "a ^ (1 / 3)", .ulp = 1)

NEAP_OP(exp,
    .doc = "e to the power a.",
    .example = "np.exp(np.array{0, 1})\n[1.        2.7182817]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_exp,
    .residual = LAZY_RESIDUAL_OUT,
    .kernel = {.real = "F(exp)(a)", .complex = "F(exp)(a)"}, .ns = 0.27,
    .domain = {-5, 5}, .reference = "math.exp(a)", .ulp = 1)

NEAP_OP(exp2,
    .doc = "2 to the power a.",
    .example = "np.exp2(np.array{0, 1, 10})\n[1.000e+00 2.000e+00 1.024e+03]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_exp2,
    .residual = LAZY_RESIDUAL_OUT,
    .kernel = {.real = "F(exp2)(a)", .complex = "F(exp2)(a)"}, .ns = 0.21,
    .domain = {-5, 5}, .reference = "2 ^ a", .ulp = 1)

NEAP_OP(expm1,
    .doc = "exp(a) - 1 without cancellation near 0.",
    .example = "np.expm1(np.array{0, 1e-5})\n[0.000000e+00 1.000005e-05]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_expm1,
    .residual = LAZY_RESIDUAL_OUT,
    .kernel = {.real = "F(expm1)(a)", .complex = "F(expm1)(a)"}, .ns = 0.33,
    .domain = {0.5, 5}, .reference = "math.exp(a) - 1", .ulp = 2)

NEAP_OP(log,
    .doc = "The natural logarithm; -inf at 0, NaN below.",
    .example = "np.log(np.array{1, np.e, 0})\n[  0.   1. -inf]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_log,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(log)(a)", .complex = "F(log)(a)"}, .ns = 0.34,
    .domain = {0.1, 9}, .reference = "math.log(a)", .ulp = 1)

NEAP_OP(log1p,
    .doc = "log(1 + a) without cancellation near 0.",
    .example = "np.log1p(np.array{0, 1e-5})\n[0.00000e+00 9.99995e-06]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_log1p,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(log1p)(a)", .complex = "F(log1p)(a)"}, .ns = 0.49,
    .domain = {0.5, 5}, .reference = "math.log(1 + a)", .ulp = 2)

NEAP_OP(log2,
    .doc = "The logarithm to base 2.",
    .example = "np.log2(np.array{1, 8})\n[0. 3.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_log2,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(log2)(a)", .complex = "F(log2)(a)"}, .ns = 0.35,
    .domain = {2, 9}, .reference = "math.log(a) / math.log(2)", .ulp = 2)

NEAP_OP(log10,
    .doc = "The logarithm to base 10.",
    .example = "np.log10(np.array{1, 1000})\n[0. 3.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_log10,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(log10)(a)", .complex = "F(log10)(a)"}, .ns = 0.36,
    .domain = {2, 9}, .reference = "math.log10(a)", .ulp = 2)

NEAP_OP(sin,
    .doc = "The sine of a in radians, for arguments of any size.",
    .example = "np.sin(np.array{0, np.pi / 2})\n[0. 1.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_sin,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(sin)(a)", .complex = "F(sin)(a)"}, .ns = 0.57,
    .domain = {-5, 5}, .reference = "math.sin(a)", .ulp = 1)

NEAP_OP(cos,
    .doc = "The cosine of a in radians, for arguments of any size.",
    .example = "np.cos(np.array{0, np.pi})\n[ 1. -1.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_cos,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(cos)(a)", .complex = "F(cos)(a)"}, .ns = 0.56,
    .domain = {-5, 5}, .reference = "math.cos(a)", .ulp = 2)

NEAP_OP(tan,
    .doc = "The tangent of a in radians, for arguments of any size.",
    .example = "np.tan(np.array{0, 1})\n[0.        1.5574079]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_tan,
    .residual = LAZY_RESIDUAL_OUT,
    .kernel = {.real = "F(tan)(a)", .complex = "F(tan)(a)"}, .ns = 0.48,
    .domain = {-1.4, 1.4}, .reference = "math.tan(a)", .ulp = 3)

NEAP_OP(asin,
    .doc = "The angle in [-pi/2, pi/2] whose sine is a; NaN outside [-1, 1].",
    .example = "np.asin(np.array{0, 1})\n[0.        1.5707964]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_asin,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(asin)(a)", .complex = "F(asin)(a)"}, .ns = 0.41,
    .domain = {-0.9, 0.9}, .reference = "math.asin(a)", .ulp = 2)

NEAP_OP(acos,
    .doc = "The angle in [0, pi] whose cosine is a; NaN outside [-1, 1].",
    .example = "np.acos(np.array{1, 0, -1})\n[0.        1.5707964 3.1415927]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_acos,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(acos)(a)", .complex = "F(acos)(a)"}, .ns = 0.48,
    .domain = {-0.9, 0.9}, .reference = "math.acos(a)", .ulp = 2)

NEAP_OP(atan,
    .doc = "The angle in [-pi/2, pi/2] whose tangent is a.",
    .example = "np.atan(np.array{0, 1})\n[0.        0.7853981]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_atan,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(atan)(a)", .complex = "F(atan)(a)"}, .ns = 0.52,
    .domain = {-5, 5}, .reference = "math.atan(a)", .ulp = 2)

NEAP_OP(sinh,
    .doc = "The hyperbolic sine.",
    .example = "np.sinh(np.array{0, 1})\n[0.        1.1752012]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_sinh,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(sinh)(a)", .complex = "F(sinh)(a)"}, .ns = 0.41,
    .domain = {-5, 5}, .reference = "math.sinh(a)", .ulp = 3)

NEAP_OP(cosh,
    .doc = "The hyperbolic cosine.",
    .example = "np.cosh(np.array{0, 1})\n[1.        1.5430806]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_cosh,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(cosh)(a)", .complex = "F(cosh)(a)"}, .ns = 0.39,
    .domain = {-5, 5}, .reference = "math.cosh(a)", .ulp = 2)

NEAP_OP(tanh,
    .doc = "The hyperbolic tangent.",
    .example = "np.tanh(np.array{0, 1, 100})\n[0.        0.7615942 1.       ]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_tanh,
    .residual = LAZY_RESIDUAL_OUT,
    .kernel = {.real = "F(tanh)(a)", .complex = "F(tanh)(a)"}, .ns = 0.48,
    .domain = {-3, 3}, .reference = "math.tanh(a)", .ulp = 3)

NEAP_OP(asinh,
    .doc = "The inverse hyperbolic sine.",
    .example = "np.asinh(np.array{0, 1})\n[0.        0.8813736]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_asinh,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(asinh)(a)", .complex = "F(asinh)(a)"}, .ns = 0.94,
    .domain = {0.5, 5}, .reference = "math.log(a + math.sqrt(a * a + 1))", .ulp = 4)

NEAP_OP(acosh,
    .doc = "The inverse hyperbolic cosine; NaN below 1.",
    .example = "np.acosh(np.array{1, 2})\n[0.       1.316958]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_acosh,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(acosh)(a)", .complex = "F(acosh)(a)"}, .ns = 0.79,
    .domain = {1.5, 5}, .reference = "math.log(a + math.sqrt(a * a - 1))", .ulp = 4)

NEAP_OP(atanh,
    .doc = "The inverse hyperbolic tangent; NaN outside [-1, 1].",
    .example = "np.atanh(np.array{0, 0.5})\n[0.         0.54930615]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT, .dtype = graph_dtype_real, .grad = grad_atanh,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(atanh)(a)", .complex = "F(atanh)(a)"}, .ns = 0.72,
    .domain = {0.2, 0.8}, .reference = "0.5 * math.log((1 + a) / (1 - a))", .ulp = 4)

NEAP_OP(erf,
    .doc = "The error function, 2 / sqrt(pi) times the integral of exp(-t * t) from 0 to a.",
    .example = "np.erf(np.array{0, 1})\n[0.        0.8427008]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_erf,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.real = "F(erf)(a)"}, .ns = 0.7,
    .domain = {-2, 2}, .ulp = 2)

NEAP_OP(erf_inv,
    .doc = "The inverse of the error function; infinite at -1 and 1, NaN outside.",
    .example = "np.erf_inv(np.array{0, 0.5})\n[0.         0.47693628]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_erf_inv,
    .residual = LAZY_RESIDUAL_OUT,
    .kernel = {.real = "F(erf_inv)(a)"}, .ns = 1.36,
    .domain = {-0.9, 0.9}, .ulp = 4)

NEAP_OP(sigmoid,
    .doc = "1 / (1 + exp(-a)).",
    .example = "np.sigmoid(np.array{-100, 0, 100})\n[3.8e-44 5.0e-01 1.0e+00]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_sigmoid,
    .residual = LAZY_RESIDUAL_OUT,
    .kernel = {.real = "F(sigmoid)(a)"}, .ns = 0.38,
    .domain = {-5, 5}, .reference = "1 / (1 + math.exp(-a))", .ulp = 3)

NEAP_OP(atan2,
    .doc = "The angle of the point (b, a) in [-pi, pi], with signed zeros and infinities as C's atan2.",
    .example = "np.atan2(np.array{1, 1}, np.array{1, -1})\n[0.7853981 2.3561945]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_atan2,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .kernel = {.real = "F(atan2)(a, b)"}, .ns = 0.63,
    .domain = {0.5, 3}, .reference = "math.atan2(a, b)", .ulp = 2)

NEAP_OP(hypot,
    .doc = "sqrt(a * a + b * b) without overflow or underflow in between.",
    .example = "np.hypot(np.array{3, 5}, np.array{4, 12})\n[ 5. 13.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL,
    .flags = LAZY_OP_COMMUTES, .dtype = graph_dtype_real, .grad = grad_hypot,
    .residual = LAZY_RESIDUAL_OUT | LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .kernel = {.real = "F(hypot)(a, b)"}, .ns = 0.53,
    .domain = {0.5, 3}, .reference = "math.sqrt(a * a + b * b)", .ulp = 1)

NEAP_OP(logaddexp,
    .doc = "log(exp(a) + exp(b)) without overflow.",
    .example = "np.logaddexp(np.array{0, 1000}, np.array{0, 1000})\n[6.9314718e-01 1.0006932e+03]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL,
    .flags = LAZY_OP_COMMUTES, .dtype = graph_dtype_real, .grad = grad_logaddexp,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .kernel = {.real = "F(logaddexp)(a, b)"}, .ns = 1.15,
    .domain = {1, 3}, .reference = "math.log(math.exp(a) + math.exp(b))", .ulp = 4)
/* clang-format on */
