"""make_half.py: golden values of f16 and bf16 (half.txt): arithmetic on special values, casts from all dtypes, sums,
products, promotion, random numbers, derivatives and printing.

Arithmetic is NumPy's and ml_dtypes', which compute in f32 and round once; casts are rounded here, from exact
fractions. Promotion, uniform numbers and derivatives are JAX's; f16 is printed as NumPy prints it. bf16 is written by
its values: NumPy prints no digits of it that read back.
"""

import itertools
import warnings
from fractions import Fraction

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from records import DTYPES, HALVES, Writer, dtype, number

DTYPE = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
NAME = {of: name for name, of in DTYPE.items()}
DIGITS = {"f16": (11, -24, 65504.0), "bf16": (8, -133, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max))}
EVERY = list(DTYPES) + list(HALVES)


def full(name):
    return DTYPE[name] if name in DTYPE else dtype(name)


def text(array):
    """records.text, for halves too."""
    array = np.asarray(array)
    name = NAME.get(array.dtype) or {full(n): n for n in DTYPES}[array.dtype]
    shape = "[" + ",".join(str(n) for n in array.shape) + "]"
    flat = array.reshape(-1)
    if array.dtype.kind in "biu":
        return " ".join([name + shape] + [str(int(v)) for v in flat])
    return " ".join([name + shape] + [number(float(v)) for v in flat])


def rounded(value, name):
    """An exact number as the nearest half, ties to the even one."""
    digits, last, largest = DIGITS[name]
    if not isinstance(value, int) and (value != value or value in (float("inf"), float("-inf")) or value == 0):
        return float(value)
    exact = abs(Fraction(value))
    exponent = 0
    while Fraction(2) ** exponent <= exact:
        exponent += 1
    while exact and Fraction(2) ** (exponent - 1) > exact:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - digits, last)
    result = float(round(exact / unit) * unit)  # round() of a Fraction takes ties to even
    result = float("inf") if result > largest else result
    return -result if value < 0 else result


def special(name):
    digits, last, largest = DIGITS[name]
    tiny, eps = 2.0**last, 2.0 ** (1 - digits)
    values = [0.0, tiny, 3 * tiny, tiny / eps, tiny / eps * (1 - eps), 0.1, 0.5, 1.0, 1 + eps, 3.0, 7.0, 100.0,
              largest / 2, largest, float("inf")]
    x = np.array(values + [-v for v in values] + [float("nan")], np.float32)
    return x.astype(DTYPE[name])


def arithmetic(out, name):
    x = special(name)
    a, b = x[:, None], x[None, :]
    for op in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
        want = getattr(np, op)(a.astype(np.float32), b.astype(np.float32)).astype(DTYPE[name])
        native = getattr(np, op)(a, b).astype(DTYPE[name])
        assert ((native == want) | (np.isnan(native) & np.isnan(want))).all(), op
        if op in ("maximum", "minimum"):  # of zeros -0 is the smaller one: neap's rule
            zeros, minus = (a == 0) & (b == 0), np.signbit(a) & np.signbit(b)
            if op == "minimum":
                minus = np.signbit(a) | np.signbit(b)
            want = np.where(zeros, np.where(minus, DTYPE[name].type(-0.0), DTYPE[name].type(0)), want)
        out.record("op", op, text(a), text(b), "=", text(want))
    for op in ("equal", "less", "greater_equal", "not_equal"):
        out.record("op", op, text(a), text(b), "=", text(getattr(np, op)(a, b)))
    for op in ("sqrt", "square", "negative", "abs", "floor", "ceil", "trunc", "isnan", "isinf", "signbit"):
        want = getattr(np, op)(x.astype(np.float32))
        out.record("op", op, text(x), "=", text(want if want.dtype == bool else want.astype(DTYPE[name])))


def casts(out, name):
    _, last, largest = DIGITS[name]
    for source in EVERY:
        of = full(source)
        if source == name or of.kind == "b":
            continue
        if of.kind in "iu":
            info = np.iinfo(of)
            near = [2**k + d for k in range(0, 64, 3) for d in (-1, 0, 1)] + [2**24 + 2**16 + 1, 2**40 + 2**32 + 1]
            values = sorted({v * s for v in near for s in (1, -1) if info.min <= v * s <= info.max})
            x = np.array(values, of)
            exact = [rounded(int(v), name) for v in x]
        else:
            values = [0.0, -0.0, 1 / 3, 1e-8, -1e-8, 1e-40, largest, largest * 1.0001, largest * 1.01, 1e5,
                      float("inf"), float("nan"), 2.0**last, 2.0**last * 0.5, 2.0**last * 0.51, 2049.0, 2051.0, 257.0,
                      259.0]
            with np.errstate(all="ignore"):
                x = np.array(values, np.float64).astype(of)
            exact = [rounded(float(v), name) for v in x]
        out.record("astype", name, text(x), "=", text(np.array(exact, np.float64).astype(DTYPE[name])))


def reductions(out, name):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(5, 40)).astype(np.float32).astype(DTYPE[name])
    wide = x.astype(np.float64)
    for op in ("sum", "mean", "max", "min"):
        exact = getattr(np, op)(wide, axis=1)  # far more digits than f32 loses
        out.record("reduce", op, text(x), "=", text(exact.astype(np.float32).astype(DTYPE[name])))
    a, b = x[:, :8], x[:, 8:40].reshape(8, 20)
    out.record("op", "matmul", text(a), text(b), "=",
               text((a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32).astype(DTYPE[name])))
    out.record("op", "sort", text(x[0]), "=", text(np.sort(x[0])))
    out.record("op", "argsort", text(x[0]), "=", text(np.argsort(x[0], stable=True).astype(np.int32)))


def random(out, name):
    for seed in (0, 7):
        key = jax.random.key(seed, impl="threefry2x32")
        out.record("uniform", str(seed), text(np.asarray(jax.random.uniform(key, (9,), dtype=DTYPE[name]))))
        out.record("normal", str(seed), text(np.asarray(jax.random.normal(key, (9,), dtype=DTYPE[name]))))


def derivatives(out, name):
    """In f32 of the same numbers: each derivative here is within a few units of a half of that."""
    x = jnp.asarray(special(name)[5:10])
    for op in ("sin", "exp", "log", "square", "sqrt"):
        got = jax.grad(lambda v, op=op: getattr(jnp, op)(v).sum())(x.astype(jnp.float32))
        out.record("grad", op, text(np.asarray(x)), "=", text(np.asarray(got)))


def printing(out):
    for values in ([1.0, 65504.0], [0.1, 0.25], [0.1, 999.0], [1.5, 1000.0], [1e-4], [6e-8, 1.0], [float("nan"), -1.0],
                   [2049.0, 3.0], [0.333, -7.0, float("-inf")], [100.5], [1.0, 2.0, 3.0]):
        x = np.array(values, np.float16)
        out.record("print", text(x), "=", str(x))
        out.record("print", text(x[0]), "=", str(x[0]))


def promotion(out):
    for left, right in itertools.product(EVERY, HALVES):
        want = np.dtype(jnp.promote_types(full(left), full(right)))
        out.record("promote", left, right, NAME.get(want) or {full(n): n for n in DTYPES}[want])


def make():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Writer("half.txt", __doc__) as out:
            promotion(out)
            printing(out)
            for name in HALVES:
                arithmetic(out, name)
                casts(out, name)
                reductions(out, name)
                random(out, name)
                derivatives(out, name)


if __name__ == "__main__":
    make()
