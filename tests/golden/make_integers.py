"""make_integers.py: golden values of integer dtypes over their whole range (integers.txt), whose elements need not be
Lua numbers: arithmetic, comparisons, casts, shifts, reductions, products, orders, indexing and printing.

Values come from NumPy; arithmetic, casts and promotion are checked against JAX. Where neap has rules of its own
(division by zero, shifts past the width, floats out of range, indices out of range) they are spelled out here. What is
printed is NumPy's str().
"""

import itertools
import warnings

import jax.numpy as jnp
import numpy as np

from records import DTYPES, Writer, dtype, options, text

INTS = [name for name in DTYPES if dtype(name).kind in "ui"]
FLOATS = [name for name in DTYPES if dtype(name).kind == "f"]
SUMS = {"u8": "u32", "i8": "i32", "i16": "i32", "u16": "u32"}
BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor", "equal",
          "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and"]


def ends(name):
    """Small values, the ends of the range, and what lies next to the ends of narrower ranges and of the 53 bits of a
    float: all in the dtype."""
    info = np.iinfo(dtype(name))
    values = {0, 1, 2, 3, 100, -1, -2, -3, -100, info.max // 3}
    for bits in (7, 8, 15, 16, 31, 32, 53, 63, 64):
        values |= {2**bits - 1, 2**bits + (bits == 53), -2**bits}
    return np.array(sorted(v for v in values if info.min <= v <= info.max), dtype(name))


def agrees(what, got, want):
    got = np.asarray(got)
    assert got.dtype == want.dtype and (got == want).all(), (what, got, want)


def elementwise(out, name, x):
    column, row = out.let("column_" + name, x[:, None]), out.let("row_" + name, x[None, :])
    a, b = x[:, None], x[None, :]
    for op in BINARY:
        want = getattr(np, op)(a, b)
        agrees((op, name), getattr(jnp, op)(jnp.asarray(a), jnp.asarray(b)), want)
        out.record("op", op, "-", column, row, "=", text(want))
    nonzero, inner = b[b != 0][None, :], a[a != np.iinfo(x.dtype).min][:, None]
    for op in ("floor_divide", "remainder"):
        want = getattr(np, op)(inner, nonzero)
        agrees((op, name), getattr(jnp, op)(jnp.asarray(inner), jnp.asarray(nonzero)), want)
        out.record("op", op, "-", text(inner), text(nonzero), "=", text(want))
    bits = np.iinfo(x.dtype).bits
    counts = np.array([[0, 1, 3, bits // 2, bits - 1]], x.dtype)
    for op, reference in (("bitwise_left_shift", np.left_shift), ("bitwise_right_shift", np.right_shift)):
        out.record("op", op, "-", column, text(counts), "=", text(reference(a, counts)))
    powers = np.array([[0, 1, 2, 3, 7]], x.dtype)
    out.record("op", "pow", "-", column, text(powers), "=", text(np.power(a, powers)))
    for op in ("negative", "abs", "square", "bitwise_invert"):
        out.record("op", op, "-", column, "=", text(getattr(np, op)(a)))
    # neap's own rules (the rows of lazy/ops/arith.c and logic.c) where C and NumPy have none.
    zero, low = np.zeros((1, 1), x.dtype), np.iinfo(x.dtype).min
    for op in ("floor_divide", "remainder"):
        out.record("op", op, "-", column, text(zero), "=", text(np.zeros_like(a)))
    wide = np.array([[bits, bits + 1, 127]], x.dtype)
    out.record("op", "bitwise_left_shift", "-", column, text(wide), "=", text(np.zeros((len(x), 3), x.dtype)))
    out.record("op", "bitwise_right_shift", "-", column, text(wide), "=",
               text(np.where(a < 0, -1, 0).astype(x.dtype) + np.zeros((1, 3), x.dtype)))
    if low < 0:
        minus = np.full((1, 1), -1, x.dtype)
        out.record("op", "floor_divide", "-", column, text(minus), "=", text(np.negative(a)))
        out.record("op", "remainder", "-", column, text(minus), "=", text(np.zeros_like(a)))
        out.record("op", "bitwise_left_shift", "-", column, text(minus), "=", text(np.zeros_like(a)))


def casts(out, name, x):
    for target in DTYPES:
        want = x.astype(dtype(target))
        agrees(("astype", name, target), jnp.asarray(x).astype(dtype(target)), want)
        out.record("astype", target, text(x), "=", text(want))


def real_casts(out):
    """Towards zero; out of range the nearest end, NaN 0: neap's rule."""
    for source, target in itertools.product(FLOATS, INTS):
        info = np.iinfo(dtype(target))
        values = [0.0, -0.0, 0.9, -0.9, 1.5, -1.5, 100.7, float("inf"), float("-inf"), float("nan"), 1e30, -1e30]
        for end in (info.min, info.max, info.max + 1):
            values += [float(end), float(end) * (1 + 2**-20), float(end) * (1 - 2**-20), end + 0.5, end - 0.5]
        x = np.array(values, dtype(source))
        exact = [0 if v != v else info.max if v == np.inf else info.min if v == -np.inf
                 else max(info.min, min(info.max, int(v))) for v in x.tolist()]
        out.record("astype", target, text(x), "=", text(np.array(exact, dtype(target))))


def reductions(out, name, x):
    rng = np.random.default_rng(5)
    long = rng.choice(x, 303)
    for label, a in (("ends", x), ("long", long), ("box", long[:300].reshape(4, 25, 3))):
        ref = out.let(label + "_" + name, a)
        for axis in [None] if a.ndim == 1 else [None, 0, 1, 2]:
            option, total = options(axis=axis), dtype(SUMS.get(name, name))
            out.record("op", "sum", option, ref, "=", text(np.sum(a, axis=axis, dtype=total)))
            out.record("op", "prod", option, ref, "=", text(np.prod(a | 1, axis=axis, dtype=total)), "odd")
            for op in ("max", "min", "any", "all"):
                out.record("op", op, option, ref, "=", text(getattr(np, op)(a, axis=axis)))
            for op in ("argmax", "argmin"):
                out.record("op", op, option, ref, "=", text(getattr(np, op)(a, axis=axis).astype(np.int32)))
    for label, a in (("ends", x), ("long", long)):
        ref = out.let(label + "_" + name, a)
        out.record("op", "sort", "-", ref, "=", text(np.sort(a)))
        out.record("op", "argsort", "-", ref, "=", text(np.argsort(a, stable=True).astype(np.int32)))
        out.record("op", "flip_sort", "-", ref, "=", text(np.sort(a)[::-1]))
        out.record("op", "cumsum", "-", ref, "=", text(np.cumsum(a, dtype=dtype(SUMS.get(name, name)))))
        out.record("op", "searchsorted", "-", text(np.sort(x)), ref, "=",
                   text(np.searchsorted(np.sort(x), a).astype(np.int32)))
    a, b = rng.choice(x, (5, 7)), rng.choice(x, (7, 3))
    want = np.matmul(a, b)
    out.record("op", "matmul", "-", text(a), text(b), "=", text(want))


def indexing(out, name):
    table = np.arange(300, dtype=np.int32) * 3
    info = np.iinfo(dtype(name))
    index = [v for v in (0, 1, 2, 127, -1, -2, -128, 255, 299, -300) if info.min <= v <= info.max]
    index = np.array(index, dtype(name))
    out.record("op", "take", "-", out.let("table", table), text(index), "=", text(table[index]))
    # Out of range the nearest end is read (JAX's rule of x[i]).
    short = np.arange(5, dtype=np.int32)
    far = np.array([1, 4, info.max, 1, info.min], dtype(name))
    near = [1, 4, 4, 1, 0]
    out.record("op", "take", "-", text(short), text(far), "=", text(short[near]))
    # Nothing is written there (JAX's rule).
    want = np.zeros(5, np.float32)
    np.add.at(want, [int(i) for i in far if -5 <= int(i) < 5], np.float32(1))
    out.record("add_at", "-", text(far), "=", text(want))


def printing(out, name, x):
    out.record("print", text(x[:1].reshape(())), "=", str(x[0]))
    for a in (x[-2:], x[:2]):
        out.record("print", text(a), "=", str(a))


def promotion(out):
    """JAX's table; where it takes its default float, f32, as without x64."""
    for left, right in itertools.product(DTYPES, DTYPES):
        want = str(np.dtype(jnp.promote_types(dtype(left), dtype(right))))
        name = {full: short for short, full in DTYPES.items()}[want]
        default = left in INTS and right in INTS and name in FLOATS
        out.record("promote", left, right, "f32" if default else name)


def make():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns of the very cases that are wanted here
        with Writer("integers.txt", __doc__) as out:
            promotion(out)
            real_casts(out)
            for name in INTS:
                x = ends(name)
                elementwise(out, name, x)
                casts(out, name, x)
                reductions(out, name, x)
                indexing(out, name)
                printing(out, name, x)


if __name__ == "__main__":
    make()
