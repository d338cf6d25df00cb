"""make_complex_more.py: sorted complex numbers, products, roots and functions of matrices by NumPy and SciPy, normal
numbers by JAX (complex_more.txt).

Records:   name <tab> input <tab> result

Inputs are multiples of 1/8, exact in f32; complex arrays are written as make_complex.py writes them, as real ones whose
last axis has the two parts. Of `argsort`, `searchsorted_left` and `isin`, which look for all of the input among every
second element of it, the result is real; `normal` has a dtype for its input, and the key of 3.
"""

import jax
import numpy as np
import scipy.linalg

import records
from make_complex import pairs

SORTED = np.array([1 + 2j, np.nan + 1j, 1 - 1j, 0.5 + 9j, complex(1, np.nan), 1 + 2j, -3, complex(np.nan, np.nan), -3j,
                   complex(-2, np.nan), np.nan - 1j, np.inf, complex(0, -np.inf)])
FUNCTIONS = {"sqrtm": scipy.linalg.sqrtm, "logm": scipy.linalg.logm, "expm": scipy.linalg.expm}


def matrices(rng):
    """Of any kind: complex, real but not symmetric, near the identity, with equal eigenvalues, of one element."""
    def draw(n):
        return (rng.integers(-16, 16, (n, n)) + 1j * rng.integers(-16, 16, (n, n))) / 8
    yield draw(4)
    yield draw(3).real + 3 * np.eye(3) + 0j
    yield np.eye(3) + draw(3) / 64
    yield np.array([[2, 1, 0], [0, 2, 1], [0, 0, 2]]) + 0j
    yield np.array([[-4 + 0.5j]])
    yield 40 * draw(5)


def make():
    rng = np.random.default_rng(5)
    z = (rng.integers(-8, 8, (4, 6)) + 1j * rng.integers(-8, 8, (4, 6))) / 8
    with records.Writer("complex_more.txt", __doc__) as out:
        for x in (SORTED, z[0]):
            out.record("sort", records.text(pairs(x)), records.text(pairs(np.sort(x))))
            out.record("argsort", records.text(pairs(x)), records.text(np.argsort(x, kind="stable")))
            for side in ("left", "right"):
                found = np.searchsorted(np.sort(x[::2]), x, side)
                out.record("searchsorted_" + side, records.text(pairs(x)), records.text(found.astype(np.int32)))
            out.record("isin", records.text(pairs(x)), records.text(np.isin(x, x[::2])))
        twice = np.concatenate([z[1], z[1][::-1], z[1][:2]])
        out.record("unique", records.text(pairs(twice)), records.text(pairs(np.unique(twice))))
        out.record("cumprod", records.text(pairs(z)), records.text(pairs(np.cumprod(z, axis=1))))
        out.record("cumsum", records.text(pairs(z)), records.text(pairs(np.cumsum(z, axis=1))))
        for p in ([1, -6, 11, -6], [2, 0, 8], [1 + 1j, 2, -3j, 0.5], [0, 1, 2, 0, 0]):
            p = np.array(p, complex)
            out.record("roots", records.text(pairs(p)), records.text(pairs(np.sort_complex(np.roots(p)))))
        for matrix in matrices(rng):
            if np.isfinite(np.poly(matrix)).all():
                out.record("poly", records.text(pairs(matrix)), records.text(pairs(np.poly(matrix) + 0j)))
            for name, f in FUNCTIONS.items():
                if name != "expm" or np.abs(matrix).max() < 20:
                    out.record(name, records.text(pairs(matrix)), records.text(pairs(np.asarray(f(matrix), complex))))
        for dtype in (np.complex64, np.complex128):
            drawn = jax.random.normal(jax.random.key(3), (8,), dtype)
            out.record("normal", records.NAMES[np.dtype(dtype)], records.text(pairs(drawn)))
        a, b = z[:, :3], z[:, 3:5]
        out.record("lstsq", records.text(pairs(z[:, :5])), records.text(pairs(np.linalg.lstsq(a, b, rcond=None)[0])))


if __name__ == "__main__":
    make()
