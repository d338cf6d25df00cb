"""make_ops.py: golden values of elementwise ops, comparisons, casts, promotion, reductions and products (ops.txt).

Values come from NumPy, computed wider where it can matter (f32 in f64, f64 in long double, then rounded once), and
are checked against JAX; result dtypes are JAX's, with neap's 32-bit defaults (as JAX has them without x64): integer
sums keep i32, narrow ones are summed as i32 (u8, u16: u32), argmax is i32. Functions with real results take bool and
integers to f32, but i64 to f64.

What JAX and NumPy do, as found here (both follow Python): floor_divide rounds towards minus infinity, remainder has
the sign of the divisor, for integers and floats alike; x/inf with opposite signs floors to -1 and leaves inf as the
remainder. right_shift of a signed integer is arithmetic; integer arithmetic wraps. round goes to even. maximum and
minimum hand NaN on, argmax and argmin stop at the first NaN. `-` and unary minus are errors for bool.

Left out, since every op row of neap defines them itself: integer division by zero, MIN // -1, shifts past the width,
negative integer powers, casts of floats that the target cannot hold. The sign of a zero is left free where JAX and
NumPy disagree about it: maximum, minimum, floor_divide, remainder, sums.
"""

import itertools
import warnings

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np
import scipy.special

from records import DTYPES, Writer, dtype, linear, options, text, ulps

FLOATS = ("f32", "f64")
INTS = [name for name in DTYPES if dtype(name).kind in "ui"]
SIGNED = [name for name in DTYPES if dtype(name).kind == "i"]
LONG = ("i64", "u64")  # their results may leave the 53 bits of a Lua number: integers.txt has those
WIDER = {"f32": np.float64, "f64": np.longdouble}

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.5, 3.5, 0.1, -0.7, 1e-3, 7.25, -11.0, 30.5, -100.5, 1e10,
           float("inf"), float("-inf"), float("nan")]
PAIRS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 0.1, -7.25, 1e-3, 1e10, float("inf"), float("-inf"), float("nan")]
EXTREMES = {"f32": [3.4028235e38, 1.17549435e-38, 1e-40, -1e-45], "f64": [1.7976931348623157e308, 2.5e-308, 5e-324]}


def integers(name):
    """Values that wrap, in the dtype."""
    info = np.iinfo(dtype(name))
    small = [0, 1, 2, 3, 5, 7, 10, 100] + ([-1, -2, -3, -7, -100] if info.min < 0 else [])
    # Within 53 bits, so that every value is also a Lua number.
    big = [info.max, info.min] if info.bits < 64 else [2**53 - 1, max(-2**40, info.min)]
    return np.array(sorted(set(small + big)), dtype(name))


def floats(name, values=SPECIAL, extremes=False):
    return np.array(list(values) + (EXTREMES[name] if extremes else []), dtype(name))


# name, NumPy's function, JAX's function, ulp (0: exact)
UNARY_FLOAT = [
    ("negative", np.negative, jnp.negative, 0), ("abs", np.abs, jnp.abs, 0), ("sign", np.sign, jnp.sign, 0),
    ("floor", np.floor, jnp.floor, 0), ("ceil", np.ceil, jnp.ceil, 0), ("trunc", np.trunc, jnp.trunc, 0),
    ("round", np.round, jnp.round, 0), ("sqrt", np.sqrt, jnp.sqrt, 0), ("square", np.square, jnp.square, 0),
    ("reciprocal", np.reciprocal, jnp.reciprocal, 0),
    ("exp", np.exp, jnp.exp, 4), ("expm1", np.expm1, jnp.expm1, 4), ("exp2", np.exp2, jnp.exp2, 4),
    ("log", np.log, jnp.log, 4), ("log1p", np.log1p, jnp.log1p, 4), ("log2", np.log2, jnp.log2, 4),
    ("log10", np.log10, jnp.log10, 4),
    ("sin", np.sin, jnp.sin, 4), ("cos", np.cos, jnp.cos, 4), ("tan", np.tan, jnp.tan, 4),
    ("asin", np.arcsin, jnp.arcsin, 4), ("acos", np.arccos, jnp.arccos, 4), ("atan", np.arctan, jnp.arctan, 4),
    ("sinh", np.sinh, jnp.sinh, 4), ("cosh", np.cosh, jnp.cosh, 4), ("tanh", np.tanh, jnp.tanh, 4),
    ("asinh", np.arcsinh, jnp.arcsinh, 4), ("acosh", np.arccosh, jnp.arccosh, 4),
    ("atanh", np.arctanh, jnp.arctanh, 4), ("cbrt", np.cbrt, jnp.cbrt, 4),
    ("erf", scipy.special.erf, jax.scipy.special.erf, 8),
    ("rsqrt", lambda x: 1 / np.sqrt(x), jax.lax.rsqrt, 4),
    ("sigmoid", scipy.special.expit, jax.nn.sigmoid, 8),
]
PREDICATES = [("isnan", np.isnan), ("isinf", np.isinf), ("isfinite", np.isfinite), ("signbit", np.signbit)]
UNARY_INT = [("negative", np.negative), ("abs", np.abs), ("sign", np.sign), ("square", np.square),
             ("floor", np.floor), ("ceil", np.ceil), ("trunc", np.trunc), ("round", np.round),
             ("bitwise_invert", np.bitwise_invert), ("logical_not", np.logical_not)]
BINARY_FLOAT = [
    ("add", np.add, 0), ("subtract", np.subtract, 0), ("multiply", np.multiply, 0), ("divide", np.divide, 0),
    ("maximum", np.maximum, "zero"), ("minimum", np.minimum, "zero"), ("floor_divide", np.floor_divide, "zero"),
    ("remainder", np.remainder, "zero"), ("pow", np.power, 4), ("atan2", np.arctan2, 4), ("hypot", np.hypot, 4),
    ("copysign", np.copysign, 0), ("logaddexp", np.logaddexp, 4),
]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
BINARY_INT = ["add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"]
LOGICAL = ["logical_and", "logical_or", "logical_xor"]


def tolerance(ulp):
    return ulp if isinstance(ulp, str) else "exact" if ulp == 0 else "ulp " + str(ulp)


def wide(function, name, *args):
    """function over float arrays of one dtype, computed wider, rounded once. Only for functions that are allowed an
    error: an op that must be exact is computed in its dtype, since rounding twice is not rounding once."""
    if function in (scipy.special.erf, scipy.special.expit):  # no long double there; a few ulp are allowed
        return np.asarray(function(*(a.astype(np.float64) for a in args))).astype(dtype(name))
    return np.asarray(function(*(a.astype(WIDER[name]) for a in args))).astype(dtype(name))


def check(what, got, want, ulp):
    """JAX must agree; the sign of zero is not compared. XLA's own functions may be a few ulp off, and it flushes
    subnormal numbers to zero, so what is or starts from one is not compared."""
    got = np.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape, (what, got.dtype, want.dtype, got.shape, want.shape)
    if want.dtype.kind == "f":
        tiny = np.abs(want) < 4 * np.finfo(want.dtype).tiny
        got, want = np.where(tiny, 0, got), np.where(tiny, 0, want)
        assert ulps(got, want) <= ulp, (what, got, want, ulps(got, want))
    else:
        assert (got == want).all(), (what, got, want)


def unary(out):
    for name in FLOATS:
        x = floats(name)
        edge = floats(name, extremes=True)
        for op, reference, jax_op, ulp in UNARY_FLOAT:
            arg, label = (edge, "edge_") if ulp == 0 and op != "reciprocal" else (x, "special_")
            if op in ("sin", "cos", "tan"):
                arg, label = floats(name, [v for v in SPECIAL if abs(v) < 1e5 or v != v]), "angles_"
            want = wide(reference, name, arg) if ulp else np.asarray(reference(arg))
            at = np.abs(arg) >= np.finfo(arg.dtype).tiny if ulp == 0 else np.ones(arg.shape, bool)
            check((op, name), np.asarray(jax_op(jnp.asarray(arg)))[at], want[at], max(64, ulp))
            out.record("op", op, "-", tolerance(ulp), out.let(label + name, arg), "=", text(want))
        for op, reference in PREDICATES:
            # A NaN's sign means nothing here.
            arg, label = (edge[~np.isnan(edge)], "signed_") if op == "signbit" else (edge, "edge_")
            out.record("op", op, "-", "exact", out.let(label + name, arg), "=", text(reference(arg)))
        out.record("op", "logical_not", "-", "exact", out.let("special_" + name, x), "=", text(np.logical_not(x)))
    for name in INTS:
        x = integers(name)
        for op, reference in UNARY_INT:
            if op == "sign" and name[0] == "u":
                reference = lambda v: (v != 0).astype(v.dtype)
            want = np.asarray(reference(x))
            if op in ("floor", "ceil", "trunc", "round"):
                want = want.astype(x.dtype)
            check((op, name), getattr(jnp, op)(jnp.asarray(x)), want, 0)
            out.record("op", op, "-", "exact", out.let("int_" + name, x), "=", text(want))
    b = np.array([True, False])
    for op in ("logical_not", "bitwise_invert", "abs"):
        out.record("op", op, "-", "exact", out.let("pair_bool", b), "=", text(getattr(np, op)(b)))
    # Functions with real results take integers to f32, i64 to f64.
    for source, target in (("i32", "f32"), ("u8", "f32"), ("i64", "f64")):
        small = np.array([0, 1, 2, 3, 4, 10], dtype(source))
        for op, reference, jax_op, ulp in UNARY_FLOAT:
            if ulp and op not in ("asin", "acos", "atanh", "acosh", "rsqrt", "sigmoid"):
                want = wide(reference, target, small.astype(dtype(target)))
                check((op, source), jax_op(jnp.asarray(small)), want, 64)
                out.record("op", op, "-", tolerance(ulp), out.let("small_" + source, small), "=", text(want))
    out.record("op", "sqrt", "-", "exact", out.let("pair_bool", b), "=", text(np.sqrt(b.astype(np.float32))))


def column_and_row(out, label, values):
    """All pairs of values, as a column and a row that broadcast against each other."""
    return (values[:, None], values[None, :], out.let("column_" + label, values[:, None]),
            out.let("row_" + label, values[None, :]))


def binary(out):
    for name in FLOATS:
        a, b, ref_a, ref_b = column_and_row(out, name, floats(name, PAIRS))
        for op, reference, ulp in BINARY_FLOAT:
            # floor_divide and remainder are exact only when not computed wider, and NumPy has them in the dtype.
            if op in ("floor_divide", "remainder"):
                want = reference(a, b)
                # Past the dtype's integers, quotients round; only what JAX and NumPy agree on is kept out of doubt.
                got = np.asarray(getattr(jnp, op)(jnp.asarray(a), jnp.asarray(b)))
                doubt = ~((got == want) | (np.isnan(got) & np.isnan(want)))
                assert doubt.sum() <= 8, (op, name, np.argwhere(doubt))
                rows = ~doubt.any(axis=1)
                kept = np.asarray(a[rows])
                out.record("op", op, "-", "zero", text(kept), ref_b, "=", text(want[rows]))
                continue
            if op == "copysign":  # a NaN's sign means nothing here
                signs = b[~np.isnan(b)][None, :]
                out.record("op", op, "-", "exact", ref_a, text(signs), "=", text(reference(a, signs)))
                continue
            want = wide(reference, name, a, b) if ulp else reference(a, b)
            check((op, name), getattr(jnp, op)(jnp.asarray(a), jnp.asarray(b)), want, 64)
            out.record("op", op, "-", tolerance(ulp), ref_a, ref_b, "=", text(want))
        for op in COMPARISONS + LOGICAL:
            want = getattr(np, op)(a, b)
            check((op, name), getattr(jnp, op)(jnp.asarray(a), jnp.asarray(b)), want, 0)
            out.record("op", op, "-", "exact", ref_a, ref_b, "=", text(want))
        # Arithmetic keeps subnormal numbers (XLA flushes them; NumPy is the oracle).
        tiny = np.finfo(dtype(name)).tiny
        x = np.array([tiny, -tiny, tiny * 3, 0], dtype(name))
        y = np.array([0.5, 0.25, 0.75, 2], dtype(name))
        for op in ("multiply", "divide", "add", "subtract"):
            second = x[::-1] / 2 if op in ("add", "subtract") else y if op == "multiply" else 1 / y
            out.record("op", op, "-", "exact", text(x), text(second), "=", text(getattr(np, op)(x, second)))
    for name in INTS:
        a, b, ref_a, ref_b = column_and_row(out, name, integers(name))
        for op in BINARY_INT + COMPARISONS + LOGICAL:
            if name in LONG and op == "multiply" or name == "u64" and op == "subtract":
                continue  # past 53 bits; below with values that fit
            want = getattr(np, op)(a, b)
            check((op, name), getattr(jnp, op)(jnp.asarray(a), jnp.asarray(b)), want, 0)
            out.record("op", op, "-", "exact", ref_a, ref_b, "=", text(want))
        top, nonzero = np.asarray(a[a != np.iinfo(dtype(name)).min])[:, None], np.asarray(b[b != 0])[None, :]
        for op in ("floor_divide", "remainder"):
            want = getattr(np, op)(top, nonzero)
            check((op, name), getattr(jnp, op)(jnp.asarray(top), jnp.asarray(nonzero)), want, 0)
            out.record("op", op, "-", "exact", out.let("top_" + name, top), out.let("nonzero_" + name, nonzero), "=",
                       text(want))
        bits = np.iinfo(dtype(name)).bits
        counts = np.array([[0, 1, 3, min(bits - 1, 20)]], dtype(name))
        base = a if name not in LONG else np.array([[-5 if name == "i64" else 5], [1], [1000]], dtype(name))
        for op, reference in (("bitwise_left_shift", np.left_shift), ("bitwise_right_shift", np.right_shift)):
            want = reference(base, counts)
            check((op, name), getattr(jnp, op)(jnp.asarray(base), jnp.asarray(counts)), want, 0)
            out.record("op", op, "-", "exact", text(base), text(counts), "=", text(want))
        powers = np.array([[0, 1, 2, 3, 5]], dtype(name))
        base = a if name not in LONG else np.array([[-5 if name == "i64" else 5], [0], [3], [1000]], dtype(name))
        want = np.power(base, powers)
        check(("pow", name), jnp.power(jnp.asarray(base), jnp.asarray(powers)), want, 0)
        out.record("op", "pow", "-", "exact", text(base), text(powers), "=", text(want))
    wrap = np.array([[-3, 2, 94906265]], np.int64)
    out.record("op", "multiply", "-", "exact", text(wrap), text(wrap.T), "=", text(wrap * wrap.T))
    for source, target in (("i32", "f32"), ("i64", "f64")):
        a, b = np.array([1, -7, 0], dtype(source)), np.array([3, 2, 5], dtype(source))
        want = a.astype(dtype(target)) / b.astype(dtype(target))
        check(("divide", source), jnp.divide(jnp.asarray(a), jnp.asarray(b)), want, 0)
        out.record("op", "divide", "-", "exact", text(a), text(b), "=", text(want))
    b, _, ref_b, ref_r = column_and_row(out, "bool", np.array([False, True]))
    for op in LOGICAL + COMPARISONS + ["bitwise_and", "bitwise_or", "bitwise_xor", "add", "multiply", "maximum",
                                       "minimum"]:
        want = getattr(np, op)(b, b.T)
        check((op, "bool"), getattr(jnp, op)(jnp.asarray(b), jnp.asarray(b.T)), want, 0)
        out.record("op", op, "-", "exact", ref_b, ref_r, "=", text(want))


def broadcasting(out):
    """Shapes: scalars, empties, ones, odd lengths, pairs that broadcast; one exact op each."""
    pairs = [((), ()), ((), (3,)), ((1,), (7,)), ((7,), (1,)), ((0,), (1,)), ((0,), ()), ((3, 0, 2), (2,)),
             ((3, 0, 2), (1, 1, 2)), ((2, 3, 4), (4,)), ((2, 3, 4), (3, 1)), ((2, 1, 4), (3, 1)),
             ((1, 3, 1), (2, 1, 4)),
             ((5, 1), (1, 6)), ((2, 3, 4), (2, 3, 4)), ((1, 1, 1, 2), (3, 1, 1)), ((17,), (17,)), ((33, 65), (65,))]
    for left, right in pairs:
        a, text_a = linear("f32", left, 0.5, -3)
        b, text_b = linear("f32", right, -0.25, 2)
        for op in ("add", "multiply"):
            out.record("op", op, "-", "exact", text_a, text_b, "=", text(getattr(np, op)(a, b)))
    for shape in ((), (0,), (1,), (3, 0, 2), (7,), (2, 3, 4), (1031,)):
        a, text_a = linear("f32", shape, 0.5, -3)
        out.record("op", "negative", "-", "exact", text_a, "=", text(-a))
        out.record("op", "where", "-", "exact", text(a > 0), text_a, text(np.float32(-9)), "=",
                   text(np.where(a > 0, a, np.float32(-9))))
    condition = np.array([[True], [False]])
    a, text_a = linear("i32", (3,), 1, 0)
    b, text_b = linear("f32", (2, 1), 0.5, 10)
    out.record("op", "where", "-", "exact", text(condition), text_a, text_b, "=",
               text(np.where(condition, a.astype(np.float32), b)))
    x = floats("f32", PAIRS)
    low, high = np.float32(-2), np.float32(3)
    out.record("op", "clip", "-", "zero", out.let("pairs_f32", x), text(low), text(high), "=",
               text(np.clip(x, low, high)))


def promotion(out):
    """The dtype of a + b between arrays; JAX's table. u32 with i64 is i64, an integer with f32 is f32."""
    for left, right in itertools.product(DTYPES, DTYPES):
        a, b = np.array([1, 0], dtype(left)), np.array([1, 1], dtype(right))
        want = np.asarray(jnp.add(jnp.asarray(a), jnp.asarray(b)))
        # Where no integer dtype holds both, JAX takes its default float: f32, as it has it without x64.
        default = "u64" in (left, right) and {left, right} & set(SIGNED)
        want = want.astype(np.float32) if default else want
        out.record("op", "add", "-", "exact", text(a), text(b), "=", text(want))
        values = np.asarray(jnp.where(jnp.asarray([True, False]), jnp.asarray(a), jnp.asarray(b))).astype(want.dtype)
        out.record("op", "where", "-", "exact", text(np.array([True, False])), text(a), text(b), "=", text(values))
    # A Lua number takes the dtype of the array that it meets: `number` records hold the number as text.
    for name in INTS:
        a = np.array([1, 2, 100 if name == "i8" else 250], dtype(name))
        out.record("number", "add", "7", text(a), "=", text(a + np.array(7, dtype(name))))
        out.record("number", "multiply", "3", text(a), "=", text(a * np.array(3, dtype(name))))
    for name in FLOATS:
        a = np.array([1, 0.3, -250], dtype(name))
        for op, value in (("add", 0.1), ("multiply", -3.7), ("subtract", 1e-3), ("divide", 3.0)):
            out.record("number", op, number_text(value), text(a), "=",
                       text(getattr(np, op)(a, np.array(value, dtype(name)))))


def number_text(value):
    return repr(value)


def casts(out):
    """astype between all dtypes, of values that the target holds; wrapping between integers."""
    for source, target in itertools.product(DTYPES, DTYPES):
        if source in FLOATS:
            values = [0, -0.0, 1, 2.5, 3.99, 100.7 if target == "i8" else 200.7, 0.1]
            if target == "bool" or target in FLOATS:
                values += [float("nan"), float("inf"), -1e-3, 1e-45]
            elif target in SIGNED:
                values += [-0.9, -7.9, -100]
            if target in FLOATS or target in LONG:
                values += [3e9] + ([-2**31 - 1e3] if target != "u64" else [])
            a = np.array(values, dtype(source))
        elif source == "bool":
            a = np.array([True, False])
        else:
            a = integers(source)
            if source == "i64":
                a = np.append(a, [2**24 + 1, -2**33 - 3])
        want = a.astype(dtype(target))
        finite = np.ones(a.shape, bool) if a.dtype.kind != "f" else np.abs(a) > 1e-30
        check(("astype", source, target), np.asarray(jnp.asarray(a).astype(dtype(target)))[finite], want[finite], 0)
        out.record("astype", target, text(a), "=", text(want))


def accumulate(name):
    """The dtype of a sum: bool and narrow signed integers as i32, narrow unsigned ones as u32, else its own."""
    return dtype({"bool": "i32", "u8": "u32", "i8": "i32", "i16": "i32", "u16": "u32"}.get(name, name))


def reductions(out):
    shapes = [((), [None]), ((1,), [None, 0]), ((7,), [None, -1]), ((2, 3, 4), [None, 0, 1, 2, -1, -2, (0, 2), (1, 2)]),
              ((3, 0, 2), [0, 2]), ((1031,), [None]), ((5, 300), [1, 0])]
    rng = np.random.default_rng(11)
    for name in DTYPES:
        for shape, axes in shapes:
            size = int(np.prod(shape))
            if name == "bool":
                a = rng.integers(0, 2, shape).astype(bool)
            elif name in FLOATS:
                a = (rng.integers(-64, 65, shape) / 8).astype(dtype(name))  # sums of these are exact
            else:
                a = rng.integers(0 if name[0] == "u" else -9, 10, shape).astype(dtype(name))
            label = "reduce_" + name + "_" + "x".join(str(n) for n in shape)
            for axis, keep in itertools.product(axes, (False, True)):
                if keep and size > 100:
                    continue
                reduction(out, out.let(label, a), a, name, axis, keep)
    empties(out)
    nans(out)
    # Sums that round: the tree is neap's own, so within a bound.
    for name, rel in (("f32", 2e-6), ("f64", 4e-15)):
        big = (rng.random(20011) + 0.5).astype(dtype(name))
        seed_text = out.let("uniform_" + name, big[:500])
        total = big[:500].astype(np.longdouble)
        for op, value in (("sum", total.sum()), ("mean", total.mean()), ("var", total.var()), ("std", total.std()),
                          ("prod", total.prod()), ("logsumexp", np.log(np.exp(total).sum()))):
            out.record("op", op, "-", "rel " + str(rel * (20 if op == "prod" else 1)), seed_text, "=",
                       text(np.array(value, dtype(name))))
    for name in FLOATS:
        a, text_a = linear(name, (100003,), 1 / 64, -700)
        total = a.astype(np.longdouble)
        out.record("op", "sum", "-", "rel 1e-05" if name == "f32" else "rel 1e-13", text_a, "=",
                   text(np.array(total.sum(), dtype(name))))
        out.record("op", "max", "-", "exact", text_a, "=", text(a.max()))
        out.record("op", "argmax", "-", "exact", text_a, "=", text(np.int32(a.argmax())))


def reduction(out, ref, a, name, axis, keep):
    """Records every reduction that suits the dtype, over one choice of axes."""
    option = options(axis=axis, keepdims=keep or None)
    extent = a.size if axis is None else int(np.prod([a.shape[k] for k in np.atleast_1d(axis)]))
    where = dict(axis=axis, keepdims=keep)
    out.record("op", "sum", option, "zero", ref, "=", text(np.sum(a, dtype=accumulate(name), **where)))
    out.record("op", "any", option, "exact", ref, "=", text(np.any(a, **where)))
    out.record("op", "all", option, "exact", ref, "=", text(np.all(a, **where)))
    if extent == 0:
        return
    if name != "bool":
        out.record("op", "max", option, "exact", ref, "=", text(np.max(a, **where)))
        out.record("op", "min", option, "exact", ref, "=", text(np.min(a, **where)))
    if extent <= 12 and name in ("i32", "f64", "f32"):
        near = np.where(a == 0, np.ones((), a.dtype), a)
        if (near == a).all():
            out.record("op", "prod", option, "rel 1e-06", ref, "=", text(np.prod(a, dtype=accumulate(name), **where)))
    if axis is None or isinstance(axis, int):
        out.record("op", "argmax", option, "exact", ref, "=", text(np.argmax(a, **where).astype(np.int32)))
        out.record("op", "argmin", option, "exact", ref, "=", text(np.argmin(a, **where).astype(np.int32)))
    if name in FLOATS or name == "i32":
        to = dtype(name) if name in FLOATS else dtype("f32")
        real = a.astype(np.longdouble)
        near = "rel 1e-06" if to == np.float32 else "rel 1e-14"
        out.record("op", "mean", option, near, ref, "=", text(np.mean(real, **where).astype(to)))
        if extent > 1 and name in FLOATS:
            out.record("op", "var", option, near, ref, "=", text(np.var(real, **where).astype(to)))
            out.record("op", "std", option, near, ref, "=", text(np.std(real, **where).astype(to)))
            out.record("op", "var", options(axis=axis, keepdims=keep or None, correction=1), near, ref, "=",
                       text(np.var(real, ddof=1, **where).astype(to)))
            top = real.max(axis=axis, keepdims=True)
            total = np.sum(np.exp(real - top), axis=axis, keepdims=True)
            value = np.log(total) + top
            value = value if keep else np.squeeze(value, axis=axis)
            # Cancellation: a result near 0 is as good as its row's largest element allows.
            out.record("op", "logsumexp", option, near.replace("rel", "scaled"), ref, "=", text(value.astype(to)))


def empties(out):
    """Reductions over nothing: the neutral element, and a positive zero."""
    for name in DTYPES:
        a = np.zeros((0,), dtype(name))
        out.record("op", "sum", "-", "exact", text(a), "=", text(np.sum(a, dtype=accumulate(name))))
        out.record("op", "prod", "-", "exact", text(a), "=", text(np.prod(a, dtype=accumulate(name))))
        out.record("op", "any", "-", "exact", text(a), "=", text(np.any(a)))
        out.record("op", "all", "-", "exact", text(a), "=", text(np.all(a)))
    a = np.zeros((3, 0, 2), np.float32)
    out.record("op", "sum", options(axis=1), "exact", text(a), "=", text(a.sum(axis=1)))
    out.record("op", "mean", "-", "exact", text(np.zeros(0, np.float32)), "=", text(np.float32("nan")))


def nans(out):
    nan, inf = float("nan"), float("inf")
    for name in FLOATS:
        a = np.array([[1, nan, 3], [inf, -inf, 2], [-inf, -inf, -inf], [inf, 5, 1], [-0.0, -0.0, -0.0]], dtype(name))
        ref = out.let("nans_" + name, a)
        for op in ("max", "min", "sum", "argmax", "argmin", "any", "all", "mean"):
            want = getattr(np, op)(a, axis=1)
            got = np.asarray(getattr(jnp, op)(jnp.asarray(a), axis=1))
            want = want.astype(np.int32) if op.startswith("arg") else want
            check((op, "nans"), got.astype(want.dtype), want, 1)
            out.record("op", op, options(axis=1), "zero", ref, "=", text(want))
        want = np.asarray(jax.scipy.special.logsumexp(jnp.asarray(a), axis=1))
        out.record("op", "logsumexp", options(axis=1), "ulp 4", ref, "=", text(want))
    ties = np.array([3, 7, 7, 1, 1], np.int32)
    out.record("op", "argmax", "-", "exact", text(ties), "=", text(np.int32(1)))
    out.record("op", "argmin", "-", "exact", text(ties), "=", text(np.int32(3)))


def rowwise(out):
    """softmax and log_softmax over an axis."""
    rng = np.random.default_rng(12)
    for name in FLOATS:
        a = (rng.integers(-200, 200, (4, 9)) / 16).astype(dtype(name))
        a[3] = 1000
        ref = out.let("logits_" + name, a)
        for axis in (0, -1):
            real = a.astype(np.longdouble)
            top = real - real.max(axis=axis, keepdims=True)
            log = top - np.log(np.exp(top).sum(axis=axis, keepdims=True))
            eps = np.finfo(a.dtype).eps
            out.record("op", "softmax", options(axis=axis), "rel " + str(float(eps) * 64), ref, "=",
                       text(np.exp(log).astype(a.dtype)))
            out.record("op", "log_softmax", options(axis=axis), "scaled " + str(float(eps) * 16), ref, "=",
                       text(log.astype(a.dtype)))


def products(out):
    """matmul and tensor products of small integers, which are exact in any order; and some that round."""
    rng = np.random.default_rng(13)
    shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((5, 2, 3), (3, 4)),
              ((5, 2, 3), (5, 3, 4)), ((2, 1, 2, 3), (4, 3, 2)), ((4, 2, 3), (3,)), ((3,), (4, 3, 2)), ((2, 0), (0, 3)),
              ((0, 3), (3, 2)), ((17, 33), (33, 9)), ((1, 70), (70, 1)), ((64, 1), (1, 3))]
    for name in ("f32", "f64", "i32"):
        for left, right in shapes:
            if name == "i32" and len(left) > 3:
                continue
            a = rng.integers(-7, 8, left).astype(dtype(name))
            b = rng.integers(-7, 8, right).astype(dtype(name))
            want = np.matmul(a, b)
            check(("matmul", name), jnp.matmul(jnp.asarray(a), jnp.asarray(b)), want, 0)
            out.record("op", "matmul", "-", "zero", text(a), text(b), "=", text(want))
    for name, near in (("f32", "rel 1e-05"), ("f64", "rel 1e-14")):
        a = (rng.random((11, 60)) + 0.1).astype(dtype(name))
        b = (rng.random((60, 7)) + 0.1).astype(dtype(name))
        want = (a.astype(np.longdouble) @ b.astype(np.longdouble)).astype(dtype(name))
        out.record("op", "matmul", "-", near, text(a), text(b), "=", text(want))
    a, b = np.float32([1, float("inf"), 0]), np.float32([2, 0, float("nan")])
    out.record("op", "matmul", "-", "exact", text(a), text(b), "=", text(np.float32("nan")))


def make():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of the very cases that are wanted here
        with Writer("ops.txt", __doc__) as out:
            unary(out)
            binary(out)
            broadcasting(out)
            promotion(out)
            casts(out)
            reductions(out)
            rowwise(out)
            products(out)


if __name__ == "__main__":
    make()
