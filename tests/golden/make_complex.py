"""make_complex.py: complex numbers (complex.txt): functions and arithmetic by NumPy, in the precision of long doubles
where it has them; text by NumPy's str; sums, products and gradients by JAX.

Records:   function <tab> name <tab> inputs… <tab> result            each a c128 array; neap in both dtypes
           gradient <tab> name <tab> inputs… <tab> gradients…     of the sum of real parts and twice imaginary ones
           text <tab> array <tab> str of it in quotes as JSON

The function of a name is written twice: here, and in complex_test.lua. A complex array is written as records.py writes
a real one whose last axis has the two parts.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np

import records

UNARY = ("sqrt exp exp2 expm1 log log1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
         "square reciprocal negative conj sign").split()
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
         "atanh": "arctanh"}
PARTS = {"abs": np.abs, "real": np.real, "imag": np.imag, "angle": np.angle}
BINARY = "add subtract multiply divide pow".split()

# Multiples of 1/64, exact in f32: in all quadrants, on both axes, near branch points and the unit circle, large, small.
POINTS = [0.5 + 0.25j, -0.5 + 0.75j, -1.25 - 0.5j, 1.5 - 2j, 2 + 0j, -2 + 0j, 0 + 2j, 0 - 2j, 0.5 + 0j, -0.5 + 0j,
          0.75 + 0.671875j, -0.59375 + 0.796875j, 10 + 3j, -7 - 12j, 0.015625 - 0.015625j, 1 + 0.015625j,
          0.984375 + 0.015625j, 100 - 64j]


def pairs(array):
    """A complex array as a real one with a last axis of two."""
    array = np.asarray(array)
    return np.stack([array.real, array.imag], -1) if array.dtype.kind == "c" else array


def precise(name, *inputs):
    function = PARTS.get(name) or getattr(np, "power" if name == "pow" else NUMPY.get(name, name))
    wide = [np.asarray(x).astype(np.clongdouble) for x in inputs]
    with np.errstate(all="ignore"):
        result = function(*wide)
    return result.astype(np.complex128 if result.dtype.kind == "c" else np.float64)


def functions(out):
    z = np.array(POINTS)
    w = np.array(POINTS[5:] + POINTS[:5]) * 0.5 + 0.375
    for name in UNARY + list(PARTS):
        out.record("function", name, records.text(pairs(z)), records.text(pairs(precise(name, z))))
    for name in BINARY:
        out.record("function", name, records.text(pairs(z)), records.text(pairs(w)),
                   records.text(pairs(precise(name, z, w))))


def weigh(y):
    return jnp.sum(jnp.real(y)) + 2 * jnp.sum(jnp.imag(y))


GRADIENTS = {
    "product": lambda a, b: a * b * jnp.conj(a),
    "quotient": lambda a, b: a / b,
    "power": lambda a, b: a ** b,
    "size": lambda a, b: jnp.abs(a) * jnp.angle(b),
    "functions": lambda a, b: jnp.exp(a) + jnp.log(b) + jnp.sqrt(a) + jnp.sin(b) + jnp.tanh(a),
    "parts": lambda a, b: jax.lax.complex(jnp.real(a) * jnp.imag(b), jnp.real(b)),
    "sums": lambda a, b: jnp.sum(a) * jnp.prod(b) + jnp.mean(a) + jnp.var(b),
    "matmul": lambda a, b: a.reshape(2, 3) @ b.reshape(3, 2),
    "chosen": lambda a, b: jnp.where(jnp.real(a) > 0, a, b * b) * a.real,
}


def gradients(out):
    a, b = np.array(POINTS[:6]), np.array([1 + 1j, -0.5 + 0.25j, 0.75 - 0.5j, 0.25 + 0.5j, -1 - 0.75j, 1.5 + 0.5j])
    for name, function in GRADIENTS.items():
        found = jax.grad(lambda x, y: weigh(function(x, y)), (0, 1))(a, b)
        out.record("gradient", name, records.text(pairs(a)), records.text(pairs(b)),
                   *[records.text(pairs(np.asarray(x))) for x in found])


def texts(out):
    nan, inf = float("nan"), float("inf")
    arrays = [[1, 2j, 3 - 4j], [0.1 + 0.25j, -1.5j], [1e10 + 1j, 1], [1 + 1e-10j, 2], [nan + 1j, complex(1, nan)],
              [complex(inf, -inf), 1j], [complex(-0.0, -0.0)], [[1, 2], [3j, 4 + 5.125j]], [123456 + 0.001j, 1 / 3]]
    for values in arrays:
        for kind in (np.complex64, np.complex128):
            x = np.array(values, kind)
            out.record("text", records.NAMES[x.dtype], records.text(pairs(x.astype(np.complex128))), json.dumps(str(x)))
    for value in (1 + 2j, 2j, 0.5 - 0.25j, -1 + 0j, complex(0, -0.0), complex(nan, 1), complex(1, inf), 1e20 + 1e-7j):
        for kind in (np.complex64, np.complex128):
            x = np.array(value, kind)
            out.record("text", records.NAMES[x.dtype], records.text(pairs(x.astype(np.complex128))),
                       json.dumps(str(x[()])))


def make():
    with records.Writer("complex.txt", __doc__) as out:
        functions(out)
        gradients(out)
        texts(out)
