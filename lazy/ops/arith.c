/* arith.c: arithmetic rows. Integers wrap around; bool adds as `or` and multiplies as `and`. */
#include "lazy/derive/build.h"
#include "lazy/dtype/scalar.h"

GRAD2(grad_add, ct, ct)
GRAD2(grad_subtract, ct, BUILD1(negative, ct))
GRAD2(grad_multiply, BUILD2(multiply, ct, b), BUILD2(multiply, ct, a))
GRAD2(grad_divide, BUILD2(divide, ct, b), BUILD1(negative, BUILD2(multiply, ct, BUILD2(divide, y, b))))
GRAD2(grad_fmod, ct, BUILD1(negative, BUILD2(multiply, ct, BUILD1(trunc, BUILD2(divide, a, b)))))
GRAD2(grad_remainder, ct, BUILD1(negative, BUILD2(multiply, ct, BUILD2(floor_divide, a, b))))

/* b a^(b-1), and 0 where b is 0 and the power is none: elsewhere b has derivatives of its own. */
static neap_node *slope_of_base(lazy_grad *g, neap_node *a, neap_node *b) {
    neap_node *power = BUILD2(pow, a, BUILD2(subtract, b, NUMBER(1)));
    neap_node *none = BUILD2(logical_and, BUILD2(equal, b, NUMBER(0)), BUILD1(logical_not, BUILD1(isfinite, power)));
    return BUILD2(multiply, b, BUILD3(where, none, NUMBER(0), power));
}

/* d/da = b a^(b-1); d/db = log(a) a^b, 0 where a is 0. */
GRAD2(grad_pow, BUILD2(multiply, ct, slope_of_base(g, a, b)),
      BUILD2(multiply, ct, BUILD2(multiply, y, BUILD1(log, BUILD3(where, BUILD2(equal, a, NUMBER(0)), NUMBER(1), a)))))

GRAD1(grad_negative, BUILD1(negative, ct))
GRAD1(grad_positive, ct)
/* |x| of complex numbers, and 1 where that is 0. */
static neap_node *size_of_complex(neap_ctx *ctx, neap_node *x) {
    neap_node *size = graph_build1(ctx, LAZY_OP_abs, x), *one = graph_build_number(ctx, 1);
    neap_node *zero = graph_build2(ctx, LAZY_OP_equal, size, graph_build_number(ctx, 0));
    return graph_build3(ctx, LAZY_OP_where, zero, one, size);
}

/* The sign of x, of a complex one conj(x) / abs(x), as a function that has derivatives of its own. */
static neap_node *slope_of_abs(neap_ctx *ctx, neap_node *x) {
    if (neap_dtype_kind(graph_node_aval(x).dtype) != 'c')
        return graph_build1(ctx, LAZY_OP_sign, x);
    return graph_build2(ctx, LAZY_OP_divide, graph_build1(ctx, LAZY_OP_conj, x), size_of_complex(ctx, x));
}
GRAD1(grad_abs, BUILD2(multiply, ct, slope_of_abs(g->ctx, x)))

static int jvp_abs(lazy_tangent *g) {
    g->out = BUILD1(real, BUILD2(multiply, g->in[0], slope_of_abs(g->ctx, INPUT(0))));
    return jvp_done(g);
}

/* Of real numbers 0. With w = z / |z| the change of w is i w Im(conj(w) dz) / |z|; 0 at 0. */
static int grad_sign(lazy_grad *g) {
    neap_node *w = g->node, *turned = BUILD1(imag, BUILD2(multiply, g->ct, w));
    neap_node *part = BUILD2(divide, turned, size_of_complex(g->ctx, INPUT(0)));
    g->out[0] = BUILD2(complex, BUILD2(multiply, BUILD1(imag, w), part), BUILD2(multiply, BUILD1(real, w), part));
    return grad_done(g, 1);
}
static int jvp_sign(lazy_tangent *g) {
    neap_node *w = g->node, *turned = BUILD1(imag, BUILD2(multiply, BUILD1(conj, w), g->in[0]));
    neap_node *part = BUILD2(divide, turned, size_of_complex(g->ctx, INPUT(0)));
    neap_node *back = BUILD1(negative, BUILD2(multiply, BUILD1(imag, w), part));
    g->out = BUILD2(complex, back, BUILD2(multiply, BUILD1(real, w), part));
    return jvp_done(g);
}

GRAD1(grad_square, BUILD2(multiply, ct, BUILD2(multiply, x, NUMBER(2))))
GRAD1(grad_reciprocal, BUILD1(negative, BUILD2(multiply, ct, BUILD1(square, y))))

/* The sign operand has no gradient. */
static int grad_copysign(lazy_grad *g) {
    if (!g->wants[0])
        return NEAP_OK;
    neap_node *sign = BUILD2(multiply, BUILD1(sign, INPUT(0)), BUILD2(copysign, NUMBER(1), INPUT(1)));
    g->out[0] = BUILD2(multiply, g->ct, sign);
    return grad_done(g, 1);
}

/* The exponent is an integer and has no gradient. */
static int grad_ldexp(lazy_grad *g) {
    if (!g->wants[0])
        return NEAP_OK;
    g->out[0] = BUILD2(ldexp, g->ct, INPUT(1));
    return grad_done(g, 1);
}

/* Rows read as tables. */
/* clang-format off */
NEAP_OP(add,
    .doc = "a + b. Integers wrap around; bool: or.",
    .example = "np.add(np.array{1, 2}, 10)\n[11. 12.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ALL,
    .flags = LAZY_OP_INTEGRAL | LAZY_OP_CHEAP | LAZY_OP_COMMUTES | LAZY_OP_CHAINS,
    .dtype = graph_dtype_promote, .undone = LAZY_UNDONE_LINEAR, .grad = grad_add,
    .collective = "psum",
    .kernel = {.boolean = "a | b", .integer = "(T)((U)a + (U)b)", .real = "a + b", .complex = "a + b"},
    .domain = {-10, 10}, .reference = "a + b")

NEAP_OP(subtract,
    .doc = "a - b. Integers wrap around; not for bool.",
    .example = "np.subtract(np.array{1, 2}, 1)\n[0. 1.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_NUMERIC | LAZY_COMPLEX,
    .flags = LAZY_OP_INTEGRAL | LAZY_OP_CHEAP | LAZY_OP_CHAINS,
    .dtype = graph_dtype_promote, .undone = LAZY_UNDONE_LINEAR, .grad = grad_subtract,
    .kernel = {.integer = "(T)((U)a - (U)b)", .real = "a - b", .complex = "a - b"},
    .domain = {-10, 10}, .reference = "a - b")

NEAP_OP(multiply,
    .doc = "a * b. Integers wrap around; bool: and.",
    .example = "np.multiply(np.array{1, 2}, 3)\n[3. 6.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_ALL,
    .flags = LAZY_OP_INTEGRAL | LAZY_OP_CHEAP | LAZY_OP_COMMUTES | LAZY_OP_CHAINS,
    .dtype = graph_dtype_promote, .undone = LAZY_UNDONE_FACTORS, .grad = grad_multiply,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .kernel = {.boolean = "a & b", .integer = "(T)((U)a * (U)b)", .real = "a * b", .complex = "F(multiply)(a, b)"},
    .domain = {-10, 10}, .reference = "a * b")

NEAP_OP(divide,
    .doc = "a / b, the real quotient. bool and integers divide as f32, those of 64 bits as f64.",
    .example = "np.divide(np.array{1, 2}, 4)\n[0.25 0.5 ]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_INEXACT,
    .flags = LAZY_OP_CHAINS, .dtype = graph_dtype_real, .undone = LAZY_UNDONE_FIRST, .grad = grad_divide,
    .residual = LAZY_RESIDUAL_OUT | LAZY_RESIDUAL_IN1,
    .kernel = {.real = "a / b", .complex = "F(divide)(a, b)"}, .ns = 0.1,
    .domain = {0.5, 4}, .reference = "a / b")

NEAP_OP(floor_divide,
    .doc = "The floor of a / b, as Python's //. Integers: x // 0 is 0 and the smallest // -1 is the smallest. Real: "
           "the quotient whose remainder has b's sign, rounded; x // 0 is a / b.",
    .example = "np.floor_divide(np.array{7, -7}, 2)\n[ 3. -4.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_NUMERIC, .flags = LAZY_OP_INTEGRAL | LAZY_OP_ZERO_GRAD,
    .dtype = graph_dtype_promote,
    .kernel = {.any = "F(floor_divide)(a, b)"}, .ns = 1,
    .domain = {1, 20}, .reference = "math.floor(a / b)")

NEAP_OP(remainder,
    .doc = "a - b * floor(a / b), exactly, with b's sign, as Python's %. Integers: x % 0 is 0. Real: x % 0 is NaN, and "
           "the remainder of a finite a by an infinite b is a, or b where the signs differ.",
    .example = "np.remainder(np.array{7, -7}, 3)\n[1. 2.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_NUMERIC, .flags = LAZY_OP_INTEGRAL,
    .dtype = graph_dtype_promote, .grad = grad_remainder,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .kernel = {.any = "F(remainder)(a, b)"}, .ns = 1,
    .domain = {1, 20}, .reference = "a - b * math.floor(a / b)")

NEAP_OP(fmod,
    .doc = "a - b * trunc(a / b), exactly, with a's sign, as C's fmod. Integers: x fmod 0 is 0. Real: NaN where b is 0 "
           "or a infinite; a where b is infinite.",
    .example = "np.fmod(np.array{7, -7}, 3)\n[ 1. -1.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_NUMERIC, .flags = LAZY_OP_INTEGRAL,
    .dtype = graph_dtype_promote, .grad = grad_fmod,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .kernel = {.any = "F(fmod)(a, b)"}, .ns = 1,
    .domain = {1, 20}, .reference = "math.fmod(a, b)")

NEAP_OP(gcd,
    .doc = "The greatest common divisor of a and b, from 0 up; gcd(a, 0) is the magnitude of a.",
    .example = "np.gcd(np.arange(6), 4)\n[4 1 2 1 4 1]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_INT, .flags = LAZY_OP_INTEGRAL | LAZY_OP_ZERO_GRAD | LAZY_OP_COMMUTES,
    .dtype = graph_dtype_promote,
    .kernel = {.integer = "F(gcd)(a, b)"}, .ns = 20,
    .domain = {-60, 60})

NEAP_OP(lcm,
    .doc = "The least common multiple of a and b, from 0 up; 0 where one of them is 0. It wraps around.",
    .example = "np.lcm(np.arange(6), 4)\n[ 0  4  4 12  4 20]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_INT, .flags = LAZY_OP_INTEGRAL | LAZY_OP_ZERO_GRAD | LAZY_OP_COMMUTES,
    .dtype = graph_dtype_promote,
    .kernel = {.integer = "F(lcm)(a, b)"}, .ns = 22,
    .domain = {-11, 11})

NEAP_OP(nextafter,
    .doc = "The neighbour of a on the way to b; b where they are equal; NaN if one is NaN. Its gradient counts as 0.",
    .example = "np.nextafter(np.array{0, 1}, 2) - np.array{0, 1}\n[1.4012985e-45 1.1920929e-07]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .flags = LAZY_OP_ZERO_GRAD, .dtype = graph_dtype_real,
    .kernel = {.real = "F(nextafter)(a, b)"}, .ns = 0.3,
    .domain = {-3, 3})

NEAP_OP(ldexp,
    .doc = "a times 2 to the power b, rounded once; fractions of b are dropped.",
    .example = "np.ldexp(np.array{1, 3}, np.array({4, -1}, {dtype=\"i32\"}))\n[16.   1.5]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .dtype = graph_dtype_real, .undone = LAZY_UNDONE_FIRST,
    .grad = grad_ldexp,
    .residual = LAZY_RESIDUAL_IN1,
    .kernel = {.real = "F(ldexp)(a, b)"}, .ns = 0.4,
    .domain = {-3, 3}, .reference = "a * 2 ^ (b < 0 and math.ceil(b) or math.floor(b))")

NEAP_OP(pow,
    .doc = "a to the power b, with the special values of C's pow. Integers wrap around; a negative exponent gives the "
           "quotient rounded towards zero: 0 unless a is 1 or -1 (and 0 for a = 0).",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_NUMERIC | LAZY_COMPLEX, .dtype = graph_dtype_promote, .grad = grad_pow,
    .residual = LAZY_RESIDUAL_OUT | LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .kernel = {.any = "F(pow)(a, b)"}, .ns = 0.95,
    .domain = {0.5, 3}, .reference = "a ^ b", .ulp = 2)

NEAP_OP(negative,
    .doc = "-a. Integers wrap around; not for bool.",
    .example = "np.negative(np.array{1, -2})\n[-1.  2.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_NUMERIC | LAZY_COMPLEX,
    .flags = LAZY_OP_INTEGRAL | LAZY_OP_CHEAP | LAZY_OP_CHAINS,
    .dtype = graph_dtype_promote, .undone = LAZY_UNDONE_LINEAR, .grad = grad_negative,
    .kernel = {.integer = "(T)(0 - (U)a)", .real = "-a", .complex = "-a"},
    .domain = {-10, 10}, .reference = "-a")

NEAP_OP(positive,
    .doc = "a itself.",
    .example = "np.positive(np.array{1, -2})\n[ 1. -2.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_NUMERIC | LAZY_COMPLEX, .flags = LAZY_OP_INTEGRAL | LAZY_OP_IDENTITY,
    .dtype = graph_dtype_promote, .undone = LAZY_UNDONE_LINEAR, .grad = grad_positive,
    .kernel = {.any = "a", .half = "a"},
    .domain = {-10, 10}, .reference = "a")

NEAP_OP(abs,
    .doc = "The absolute value, of a complex number a real one. Integers: that of the smallest is itself.",
    .example = "np.abs(np.array{-2, 0, 3})\n[2. 0. 3.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_ALL, .flags = LAZY_OP_INTEGRAL | LAZY_OP_CHAINS,
    .dtype = graph_dtype_part, .grad = grad_abs, .jvp = jvp_abs,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.boolean = "a", .integer = "(T)(a < 0 ? 0 - (U)a : (U)a)", .real = "F(abs)(a)",
               .complex = "F(abs)(a)"},
    .domain = {-10, 10}, .reference = "math.abs(a)")

NEAP_OP(sign,
    .doc = "-1, 0 or 1 by the sign of a; 0 for -0 too, NaN for NaN. Complex: a / abs(a), and 0 for 0.",
    .example = "np.sign(np.array{-2, 0, 3})\n[-1.  0.  1.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_NUMERIC | LAZY_COMPLEX, .flags = LAZY_OP_INTEGRAL | LAZY_OP_ZERO_GRAD,
    .dtype = graph_dtype_promote, .grad = grad_sign, .jvp = jvp_sign, .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_OUT,
    .kernel = {.integer = "(T)((a > 0) - (a < 0))", .real = "a > 0 ? 1 : a < 0 ? -1 : a + 0",
               .complex = "F(sign)(a)"},
    .domain = {-10, 10}, .reference = "a > 0 and 1 or a < 0 and -1 or a + 0")

NEAP_OP(square,
    .doc = "a * a. Integers wrap around.",
    .example = "np.square(np.array{2, -3})\n[4. 9.]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_NUMERIC | LAZY_COMPLEX, .flags = LAZY_OP_INTEGRAL | LAZY_OP_CHAINS,
    .dtype = graph_dtype_promote, .grad = grad_square,
    .residual = LAZY_RESIDUAL_IN0,
    .kernel = {.integer = "(T)((U)a * (U)a)", .real = "a * a", .complex = "F(multiply)(a, a)"},
    .domain = {-10, 10}, .reference = "a * a")

NEAP_OP(reciprocal,
    .doc = "1 / a.",
    .example = "np.reciprocal(np.array{2, 4})\n[0.5  0.25]",
    .kind = LAZY_MAP, .arity = 1, .types = LAZY_INEXACT,
    .flags = LAZY_OP_CHAINS, .dtype = graph_dtype_real, .grad = grad_reciprocal,
    .residual = LAZY_RESIDUAL_OUT,
    .kernel = {.real = "1 / a", .complex = "F(divide)(1, a)"}, .ns = 0.1,
    .domain = {0.5, 4}, .reference = "1 / a")

NEAP_OP(copysign,
    .doc = "The magnitude of a with the sign of b (also of a zero).",
    .example = "np.copysign(np.array{1, 2}, np.array{-1, 0})\n[-1.  2.]",
    .kind = LAZY_MAP, .arity = 2, .types = LAZY_REAL, .dtype = graph_dtype_real, .grad = grad_copysign,
    .residual = LAZY_RESIDUAL_IN0 | LAZY_RESIDUAL_IN1,
    .kernel = {.real = "F(copysign)(a, b)"},
    .domain = {0.5, 4}, .reference = "math.abs(a) * (b < 0 and -1 or 1)")
/* clang-format on */
