"""The extension linalg: shapes, dtypes, and what defines each result."""
import numpy
from hypothesis import given, strategies as st

import neap_array_api as xp
from checks import ALL, FLOATS, NUMERIC, compare, layouts, place, refuses, seeds, shapes, values

L = xp.linalg
TOLERANCE = {"float32": 2e-4, "float64": 1e-11}

batches = shapes(0, 2, (0, 3))


def matrices(dtype, shape, seed):
    return numpy.random.default_rng(seed).normal(0, 1, shape).astype(dtype)


def near(ours, expected, dtype, atol=1.0):
    assert ours.dtype.name == dtype
    compare(ours, numpy.asarray(expected).astype(dtype), atol=atol * TOLERANCE[dtype])


@given(batch=batches, n=st.integers(0, 5), seed=seeds, layout=layouts)
def test_square(batch, n, seed, layout):
    for dtype in FLOATS:
        x = matrices(dtype, (*batch, n, n), seed) + (3 * numpy.eye(n)).astype(dtype)
        wide = x.astype("float64")
        near(L.det(place(x, layout)), numpy.linalg.det(wide), dtype)
        sign, logabsdet = L.slogdet(place(x, layout))
        near(sign, numpy.linalg.slogdet(wide)[0], dtype)
        near(logabsdet, numpy.linalg.slogdet(wide)[1], dtype)
        near(L.inv(place(x, layout)), numpy.linalg.inv(wide), dtype, 100)
        for power in (-2, -1, 0, 1, 2, 5):
            near(L.matrix_power(place(x, layout), power), numpy.linalg.matrix_power(wide, power), dtype, 100)
        positive = numpy.matmul(x, numpy.swapaxes(x, -1, -2)) + numpy.eye(n, dtype=dtype)
        lower = numpy.linalg.cholesky(positive.astype("float64"))
        near(L.cholesky(place(positive, layout)), lower, dtype)
        near(L.cholesky(place(positive, layout), upper=True), numpy.swapaxes(lower, -1, -2), dtype)
        symmetric = x + numpy.swapaxes(x, -1, -2)
        expected = numpy.linalg.eigvalsh(symmetric.astype("float64"))
        near(L.eigvalsh(place(symmetric, layout)), expected, dtype)
        w, v = L.eigh(place(symmetric, layout))
        near(w, expected, dtype)
        near(v @ (xp.expand_dims(w, -1) * xp.matrix_transpose(v)), symmetric, dtype, 10)
        vector, several = matrices(dtype, (n,), seed + 1), matrices(dtype, (*batch, n, 3), seed + 2)
        near(L.solve(place(x, layout), place(vector)), numpy.linalg.solve(wide, vector), dtype, 100)
        near(L.solve(place(x, layout), place(several)), numpy.linalg.solve(wide, several), dtype, 100)


@given(batch=batches, n=st.integers(1, 5), m=st.integers(1, 5), seed=seeds, layout=layouts)
def test_factors(batch, n, m, seed, layout):
    k = min(n, m)
    for dtype in FLOATS:
        x = matrices(dtype, (*batch, n, m), seed)
        for mode, size in (("reduced", k), ("complete", n)):
            q, r = L.qr(place(x, layout), mode=mode)
            assert q.shape == (*batch, n, size) and r.shape == (*batch, size, m)
            near(q @ r, x, dtype)
            near(xp.matrix_transpose(q) @ q, numpy.broadcast_to(numpy.eye(size), (*batch, size, size)), dtype)
            assert numpy.all(numpy.tril(xp.to_numpy(r), -1) == 0)
        expected = numpy.linalg.svdvals(x.astype("float64"))
        near(L.svdvals(place(x, layout)), expected, dtype)
        for whole in (True, False):
            u, s, vh = L.svd(place(x, layout), full_matrices=whole)
            assert u.shape == (*batch, n, n if whole else k) and vh.shape == (*batch, m if whole else k, m)
            near(s, expected, dtype)
            near((u[(..., slice(k))] * xp.expand_dims(s, -2)) @ vh[(..., slice(k), slice(None))], x, dtype)
        near(L.pinv(place(x, layout)), numpy.linalg.pinv(x.astype("float64")), dtype, 100)
        near(L.pinv(place(x, layout), rtol=1e-3), numpy.linalg.pinv(x.astype("float64"), rtol=1e-3), dtype, 100)
        low = x.copy()
        low[..., -1, :] = 0
        for options in ({}, {"rtol": 1e-3}):
            ours = L.matrix_rank(place(low, layout), **options)
            compare(ours, numpy.linalg.matrix_rank(low, **options), dtype="int32")


@given(batch=batches, n=st.integers(0, 5), m=st.integers(0, 5), offset=st.integers(-6, 6), seed=seeds, layout=layouts)
def test_elements(batch, n, m, offset, seed, layout):
    for dtype in ALL:
        x = values(dtype, (*batch, n, m), seed, special=dtype not in FLOATS)
        compare(L.diagonal(place(x, layout), offset=offset), numpy.diagonal(x, offset, -2, -1))
        compare(L.matrix_transpose(place(x, layout)), numpy.swapaxes(x, -1, -2))
        if dtype in NUMERIC:
            result = {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}.get(dtype, dtype)
            expected = numpy.trace(x.astype(result), offset, -2, -1, dtype=result)
            compare(L.trace(place(x, layout), offset=offset), expected, dtype=result,
                    atol=1e-6 if dtype in FLOATS else None)
            compare(L.trace(place(x, layout), offset=offset, dtype=xp.float64),
                    numpy.trace(x.astype("float64"), offset, -2, -1), dtype="float64", atol=1e-6)


@given(batch=batches, n=st.integers(1, 5), m=st.integers(1, 5), keepdims=st.booleans(), seed=seeds)
def test_norms(batch, n, m, keepdims, seed):
    for dtype in FLOATS:
        x = matrices(dtype, (*batch, n, m), seed)
        for order in ("fro", "nuc", numpy.inf, -numpy.inf, 1, -1, 2, -2):
            expected = numpy.linalg.matrix_norm(x.astype("float64"), ord=order, keepdims=keepdims)
            near(L.matrix_norm(place(x), ord=order, keepdims=keepdims), expected, dtype)
        for order in (numpy.inf, -numpy.inf, 0, 1, 2, 3, 0.5, -1, -2):
            for axis in (None, -1, 0, (-2, -1)):
                if axis == 0 and not all(x.shape) or axis is None and not x.size or axis == (-2, -1) and not x.size:
                    continue
                expected = numpy.linalg.vector_norm(x.astype("float64"), ord=order, axis=axis, keepdims=keepdims)
                near(L.vector_norm(place(x), ord=order, axis=axis, keepdims=keepdims), expected, dtype,
                     max(1, numpy.max(numpy.abs(expected), initial=0)) if order in (0.5, -1, -2) else 1)


@given(shape=shapes(1, 3, (1, 4)), seed=seeds, data=st.data())
def test_cross_and_outer(shape, seed, data):
    axis = data.draw(st.integers(-len(shape), -1))
    side = list(shape)
    side[axis] = 3
    for dtype in NUMERIC:
        a, b = values(dtype, side, seed, special=False), values(dtype, side, seed + 1, special=False)
        compare(L.cross(place(a), place(b), axis=axis), numpy.linalg.cross(a, b, axis=axis),
                atol=1e-6 if dtype in FLOATS else None)
        a, b = values(dtype, (4,), seed, special=False), values(dtype, (shape[0],), seed, special=False)
        compare(L.outer(place(a), place(b)), numpy.linalg.outer(a, b))
        compare(L.matmul(place(a), place(a)), numpy.matmul(a, a), atol=1e-5 if dtype in FLOATS else None)


def test_refusals():
    square, flat, vector = (place(numpy.ones(shape, "float32")) for shape in [(2, 2), (2, 3), (3,)])
    for function in (L.det, L.inv, L.cholesky, L.eigh, L.eigvalsh, L.slogdet):
        refuses(function, flat)
        refuses(function, vector)
    for function in (L.qr, L.svd, L.svdvals, L.pinv, L.matrix_rank, L.matrix_norm, L.trace, L.diagonal,
                     L.matrix_transpose):
        refuses(function, vector)
    refuses(L.solve, flat, vector)
    refuses(L.solve, square, vector)
    refuses(L.matrix_power, flat, 2)
    refuses(L.cross, flat, place(numpy.ones((2, 4), "float32")))
    refuses(L.outer, square, vector)
    refuses(L.qr, square, mode="raw")
    refuses(L.vecdot, vector, place(numpy.ones(2, "float32")))
    refuses(L.tensordot, square, vector, axes=1)
