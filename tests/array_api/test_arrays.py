"""Functions of whole arrays: reductions, sorts, sets, searches, shapes."""
import array_api_strict as strict
import numpy
import pytest
from hypothesis import assume, given, strategies as st

import neap_array_api as xp
from checks import (ALL, FLOATS, INTEGERS, NUMERIC, broadcasting, compare, dtypes, layouts, name_of, place, refuses,
                    seeds, shapes, values)

TOLERANCE = {"float32": 2e-6, "float64": 1e-14}


def axes_of(draw, ndim, none=True, several=True):
    """An axis, several, or None."""
    kinds = ([None] if none else []) + (["one"] if ndim else []) + (["several"] if several and ndim else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "one":
        return draw(st.integers(-ndim, ndim - 1))
    if kind == "several":
        chosen = draw(st.lists(st.integers(0, ndim - 1), unique=True, min_size=0, max_size=ndim))
        return tuple(axis - ndim if draw(st.booleans()) else axis for axis in chosen)
    return None


# ---- Reductions ------------------------------------------------------------------------------------------------------

def wide_dtype(name):
    """What sums and products of a dtype have."""
    return {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}.get(name, name)


@pytest.mark.parametrize("name", ["sum", "prod"])
@given(data=st.data(), shape=shapes(0, 4), keepdims=st.booleans(), seed=seeds, layout=layouts)
def test_sums(name, data, shape, keepdims, seed, layout):
    axis = axes_of(data.draw, len(shape))
    for dtype in NUMERIC:
        x = values(dtype, shape, seed, special=dtype in INTEGERS)
        ours = getattr(xp, name)(place(x, layout), axis=axis, keepdims=keepdims)
        result = wide_dtype(dtype)
        if dtype in FLOATS:
            exact = getattr(numpy, name)(x.astype(numpy.longdouble), axis=axis, keepdims=keepdims)
            scale = getattr(numpy, name)(numpy.abs(x.astype(numpy.longdouble)), axis=axis, keepdims=keepdims)
            assert ours.shape == numpy.shape(exact) and ours.dtype.name == dtype
            assert numpy.all(numpy.abs(xp.to_numpy(ours) - exact) <= 40 * numpy.finfo(dtype).eps * scale)
        else:
            compare(ours, getattr(numpy, name)(x, axis=axis, keepdims=keepdims, dtype=result), dtype=result)
        other = data.draw(st.sampled_from(["int64", "float64"])) if dtype in INTEGERS else "float64"
        ours = getattr(xp, name)(place(x, layout), axis=axis, keepdims=keepdims, dtype=getattr(xp, other))
        expected = getattr(numpy, name)(x.astype(other), axis=axis, keepdims=keepdims)
        if other == "int64":
            compare(ours, expected)
        else:
            assert ours.dtype.name == other and ours.shape == numpy.shape(expected)


@pytest.mark.parametrize("name", ["max", "min", "all", "any", "argmax", "argmin", "count_nonzero"])
@given(data=st.data(), shape=shapes(0, 4), keepdims=st.booleans(), seed=seeds, layout=layouts)
def test_choices(name, data, shape, keepdims, seed, layout):
    axis = axes_of(data.draw, len(shape), several=not name.startswith("arg"))
    if name in ("max", "min", "argmax", "argmin"):
        assume(0 not in shape)
    for dtype in ALL if name in ("all", "any", "count_nonzero") else NUMERIC:
        x = values(dtype, shape, seed)
        if name in ("argmax", "argmin") and dtype in FLOATS:
            x = numpy.where(numpy.isnan(x), 2, x).astype(dtype)
        expected = numpy.asarray(getattr(numpy, name)(x, axis=axis, keepdims=keepdims))
        result = "int32" if name.startswith("arg") or name.startswith("count") else expected.dtype.name
        compare(getattr(xp, name)(place(x, layout), axis=axis, keepdims=keepdims), expected, dtype=result, zeros=False)


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin"])
def test_nothing_to_choose_from(name):
    refuses(getattr(xp, name), place(numpy.zeros((0,), "float32")))
    refuses(getattr(xp, name), place(numpy.zeros((2, 0), "int32")), axis=1)
    if name in ("max", "min"):
        compare(getattr(xp, name)(place(numpy.zeros((0, 2), "int32")), axis=1), numpy.zeros((0,), "int32"))


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@given(data=st.data(), shape=shapes(0, 4, (1, 5)), keepdims=st.booleans(), seed=seeds, layout=layouts)
def test_moments(name, data, shape, keepdims, seed, layout):
    axis = axes_of(data.draw, len(shape))
    for dtype in FLOATS:
        x = values(dtype, shape, seed, special=False)
        options = {} if name == "mean" else {"correction": data.draw(st.sampled_from([0, 0.0, 1, 0.5]))}
        counted = numpy.sum(numpy.ones(shape), axis=axis).min()
        if options and counted <= options["correction"]:
            options = {"correction": 0.0}
        expected = getattr(numpy, name)(x.astype("float64"), axis=axis, keepdims=keepdims, **options)
        compare(getattr(xp, name)(place(x, layout), axis=axis, keepdims=keepdims, **options),
                numpy.asarray(expected).astype(dtype), atol=4 * TOLERANCE[dtype])


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_moments_of_special_values(name):
    for dtype in FLOATS:
        assert numpy.isnan(xp.to_numpy(getattr(xp, name)(place(numpy.zeros((0,), dtype)))))
        assert numpy.isnan(xp.to_numpy(getattr(xp, name)(place(numpy.array([1, numpy.nan], dtype)))))
        result = xp.to_numpy(getattr(xp, name)(place(numpy.array([1, numpy.inf], dtype))))
        assert numpy.isinf(result) if name == "mean" else numpy.isnan(result)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@given(data=st.data(), shape=shapes(1, 4), initial=st.booleans(), seed=seeds, layout=layouts)
def test_cumulative(name, data, shape, initial, seed, layout):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    if len(shape) == 1 and data.draw(st.booleans()):
        axis = None
    for dtype in NUMERIC:
        x = values(dtype, shape, seed, special=dtype in INTEGERS)
        for other in [None, "int64" if dtype in INTEGERS else "float64"]:
            result = other or wide_dtype(dtype)
            expected = numpy.__dict__[name](x, axis=axis, include_initial=initial, dtype=result)
            ours = getattr(xp, name)(place(x, layout), axis=axis, include_initial=initial,
                                     dtype=getattr(xp, other) if other else None)
            compare(ours, expected, atol=20 * TOLERANCE.get(result, 0) or None)
    refuses(getattr(xp, name), place(numpy.zeros((2, 2), "float32")))


@given(data=st.data(), shape=shapes(1, 4), n=st.integers(0, 3), ends=st.tuples(st.booleans(), st.booleans()),
       seed=seeds)
def test_diff(data, shape, n, ends, seed):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    for dtype in NUMERIC:
        x = values(dtype, shape, seed, special=dtype in INTEGERS)
        side = list(shape)
        side[axis] = 2
        extra = values(dtype, side, seed + 1, special=False)
        options = {k: extra for k, there in zip(("prepend", "append"), ends) if there}
        compare(xp.diff(place(x), axis=axis, n=n, **{k: place(v) for k, v in options.items()}),
                numpy.diff(x, axis=axis, n=n, **options))


# ---- Sorting, searching, sets ----------------------------------------------------------------------------------------

@given(data=st.data(), shape=shapes(1, 3, (0, 9)), descending=st.booleans(), stable=st.booleans(), seed=seeds,
       layout=layouts)
def test_sort(data, shape, descending, stable, seed, layout):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    for dtype in ALL:
        x = values(dtype, shape, seed)
        if dtype in FLOATS:  # where NaN goes is the implementation's choice, and zeros are equal
            x = numpy.where(numpy.isnan(x) | (x == 0), 2, x).astype(dtype)
        expected = numpy.sort(x, axis=axis)
        expected = numpy.flip(expected, axis) if descending else expected
        compare(xp.sort(place(x, layout), axis=axis, descending=descending, stable=stable), expected)
        order = xp.argsort(place(x, layout), axis=axis, descending=descending, stable=stable)
        assert order.dtype.name == "int32" and order.shape == x.shape
        mirrored = numpy.flip(x, axis) if descending else x
        theirs = numpy.argsort(mirrored, axis=axis, stable=True)
        if descending:  # equal elements keep their order
            theirs = numpy.flip(x.shape[axis] - 1 - theirs, axis)
        numpy.testing.assert_array_equal(xp.to_numpy(order), theirs)


@given(n=st.integers(0, 9), shape=shapes(0, 3), side=st.sampled_from(["left", "right"]), sorter=st.booleans(),
       seed=seeds)
def test_searchsorted(n, shape, side, sorter, seed):
    for dtype in NUMERIC:
        x = numpy.nan_to_num(values(dtype, (n,), seed))
        order = numpy.argsort(x, kind="stable")
        v = numpy.nan_to_num(values(dtype, shape, seed + 1))
        expected = numpy.searchsorted(x[order], v, side=side)
        if sorter:
            ours = xp.searchsorted(place(x), place(v), side=side, sorter=place(order.astype("int32")))
        else:
            ours = xp.searchsorted(place(x[order]), place(v), side=side)
        compare(ours, expected, dtype="int32")


@given(shape=shapes(0, 3), seed=seeds, layout=layouts)
def test_unique(shape, seed, layout):
    for dtype in ALL:
        x = values(dtype, shape, seed)
        if dtype in FLOATS:
            x = numpy.where(x == 0, 0, x).astype(dtype)
        found, index, inverse, counts = numpy.unique(x, return_index=True, return_inverse=True, return_counts=True,
                                                     equal_nan=False)
        everything = xp.unique_all(place(x, layout))
        compare(everything.values, found)
        compare(everything.counts, counts, dtype="int32")
        compare(everything.inverse_indices, inverse.reshape(shape), dtype="int32")
        if not numpy.any(numpy.isnan(x)):
            compare(everything.indices, index, dtype="int32")
        compare(xp.unique_values(place(x, layout)), found)
        compare(xp.unique_counts(place(x, layout)).values, found)
        compare(xp.unique_counts(place(x, layout)).counts, counts, dtype="int32")
        compare(xp.unique_inverse(place(x, layout)).values, found)
        compare(xp.unique_inverse(place(x, layout)).inverse_indices, inverse.reshape(shape), dtype="int32")


@given(both=st.tuples(shapes(0, 3), shapes(0, 2)), invert=st.booleans(), seed=seeds)
def test_isin(both, invert, seed):
    for dtype in INTEGERS + FLOATS:
        a, b = values(dtype, both[0], seed), values(dtype, both[1], seed + 1)
        compare(xp.isin(place(a), place(b), invert=invert), numpy.isin(a, b, invert=invert))


@given(shape=shapes(1, 4), seed=seeds, layout=layouts)
def test_nonzero(shape, seed, layout):
    for dtype in ALL:
        x = values(dtype, shape, seed)
        ours, theirs = xp.nonzero(place(x, layout)), numpy.nonzero(x)
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs):
            compare(mine, other, dtype="int32")


@given(data=st.data(), shape=shapes(1, 4, (1, 5)), n=st.integers(0, 5), seed=seeds, layout=layouts)
def test_take(data, shape, n, seed, layout):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    for dtype in ALL:
        x = values(dtype, shape, seed)
        for kind in ("int32", "int64", "uint8"):
            low = 0 if kind == "uint8" else -shape[axis]
            indices = numpy.random.default_rng(seed).integers(low, shape[axis], n).astype(kind)
            compare(xp.take(place(x, layout), place(indices), axis=axis), numpy.take(x, indices, axis=axis))
            if len(shape) == 1:
                compare(xp.take(place(x, layout), place(indices)), numpy.take(x, indices))
        side = list(shape)
        side[axis] = n
        indices = numpy.random.default_rng(seed).integers(-shape[axis], shape[axis], side)
        compare(xp.take_along_axis(place(x, layout), place(indices.astype("int32")), axis=axis),
                numpy.take_along_axis(x, indices, axis))


# ---- Shapes ----------------------------------------------------------------------------------------------------------

def same(name, x, layout, *args, **options):
    """A function that moves elements, against array_api_strict."""
    theirs = getattr(strict, name)(strict.asarray(x), *args, **options)
    compare(getattr(xp, name)(place(x, layout), *args, **options), theirs)


@given(data=st.data(), shape=shapes(0, 4), dtype=dtypes["all"], seed=seeds, layout=layouts)
def test_moves(data, shape, dtype, seed, layout):
    x, ndim = values(dtype, shape, seed), len(shape)
    place_of_axis = st.integers(-ndim - 1, ndim)
    same("expand_dims", x, layout, data.draw(place_of_axis))
    same("flip", x, layout, axis=axes_of(data.draw, ndim))
    order = data.draw(st.permutations(range(ndim)))
    same("permute_dims", x, layout, tuple(axis - ndim if seed % 2 else axis for axis in order))
    same("reshape", x, layout, (x.size,))
    if x.size:
        same("reshape", x, layout, (-1, 1))
    same("reshape", x, layout, shape[::-1], copy=True)
    same("reshape", x, layout, shape[::-1], copy=None)
    axis = axes_of(data.draw, ndim)
    if isinstance(axis, tuple):
        same("roll", x, layout, tuple(data.draw(st.integers(-9, 9)) for _ in axis), axis=axis)
    same("roll", x, layout, data.draw(st.integers(-9, 9)), axis=axis)
    same("tile", x, layout, tuple(data.draw(st.lists(st.integers(0, 3), max_size=4))))
    if ndim:
        source = data.draw(st.integers(-ndim, ndim - 1))
        same("moveaxis", x, layout, source, data.draw(st.integers(-ndim, ndim - 1)))
        same("moveaxis", x, layout, tuple(order), tuple(range(ndim)))
        parts = strict.unstack(strict.asarray(x), axis=source)
        ours = xp.unstack(place(x, layout), axis=source)
        assert len(ours) == len(parts)
        for mine, other in zip(ours, parts):
            compare(mine, other)
    if ndim >= 2:
        same("matrix_transpose", x, layout)
    ones = [axis for axis, extent in enumerate(shape) if extent == 1]
    same("squeeze", x, layout, tuple(ones))
    for axis in ones:
        same("squeeze", x, layout, axis - ndim)


@given(data=st.data(), shape=shapes(0, 3), dtype=dtypes["all"], seed=seeds, layout=layouts)
def test_repeat(data, shape, dtype, seed, layout):
    x = values(dtype, shape, seed)
    axis = axes_of(data.draw, len(shape), several=False)
    n = x.size if axis is None else shape[axis]
    same("repeat", x, layout, data.draw(st.integers(0, 3)), axis=axis)
    counts = numpy.random.default_rng(seed).integers(0, 4, n)
    for kind in ("int32", "int64"):
        compare(xp.repeat(place(x, layout), place(counts.astype(kind)), axis=axis), numpy.repeat(x, counts, axis=axis))


@given(data=st.data(), shape=shapes(1, 3), n=st.integers(1, 4), seed=seeds, layout=layouts)
def test_joins(data, shape, n, seed, layout):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    for dtype in ALL:
        parts = []
        for k in range(n):
            side = list(shape)
            side[axis] = (side[axis] + k) % 4
            parts.append(values(dtype, side, seed + k))
        ours = xp.concat([place(part, layout) for part in parts], axis=axis)
        compare(ours, numpy.concatenate(parts, axis=axis))
        compare(xp.concat(tuple(place(part) for part in parts), axis=None), numpy.concatenate(parts, axis=None))
        parts = [values(dtype, shape, seed + k) for k in range(n)]
        where = data.draw(st.integers(-len(shape) - 1, len(shape)))
        compare(xp.stack([place(part, layout) for part in parts], axis=where), numpy.stack(parts, axis=where))


def test_joins_of_pairs():
    for a in ALL:
        for b in ALL:
            try:
                result = name_of(strict.result_type(getattr(strict, a), getattr(strict, b)))
            except TypeError:
                continue
            x, y = numpy.array([0, 1], a), numpy.array([1, 1], b)
            compare(xp.concat([place(x), place(y)]), numpy.array([0, 1, 1, 1], result))
            compare(xp.stack([place(x), place(y)]), numpy.array([[0, 1], [1, 1]], result))


@given(some=broadcasting(3), dtype=dtypes["all"], seed=seeds, layout=layouts)
def test_broadcasts(some, dtype, seed, layout):
    parts = [values(dtype, shape, seed) for shape in some]
    for ours, theirs in zip(xp.broadcast_arrays(*(place(part, layout) for part in parts)),
                            numpy.broadcast_arrays(*parts), strict=True):
        compare(ours, theirs)
    common = numpy.broadcast_shapes(*some)
    assert xp.broadcast_shapes(*some) == common
    compare(xp.broadcast_to(place(parts[0], layout), common), numpy.broadcast_to(parts[0], common))
    compare(xp.broadcast_to(place(parts[0]), (2, 1, *common)), numpy.broadcast_to(parts[0], (2, 1, *common)))


def test_refusals():
    x, y = place(numpy.zeros((2, 3), "float32")), place(numpy.zeros((4,), "float32"))
    for name in ("sum", "prod", "max", "min", "any", "all", "mean", "std", "var", "argmax", "argmin", "count_nonzero",
                 "sort", "argsort", "flip", "cumulative_sum", "cumulative_prod", "diff", "unstack"):
        refuses(getattr(xp, name), x, axis=2)
        refuses(getattr(xp, name), x, axis=-3)
    for name in ("sum", "max", "any", "mean"):
        refuses(getattr(xp, name), x, axis=(0, 0))
        refuses(getattr(xp, name), x, axis=(1, -1))
    for name in ("add", "less", "atan2", "maximum", "matmul"):
        refuses(getattr(xp, name), x, y)
    for function, *args in [(xp.expand_dims, 3), (xp.expand_dims, -4), (xp.squeeze, 0), (xp.squeeze, 2),
                            (xp.reshape, (4, 2)), (xp.reshape, (-1, 4)), (xp.reshape, (-1, -1)), (xp.reshape, (-2, -3)),
                            (xp.permute_dims, (0,)), (xp.permute_dims, (0, 0)), (xp.permute_dims, (0, 2)),
                            (xp.moveaxis, 2, 0), (xp.moveaxis, 0, 2), (xp.moveaxis, (0, 0), (0, 1)),
                            (xp.broadcast_to, (2, 4)), (xp.broadcast_to, (3,)), (xp.tile, (-1,)),
                            (xp.where, x, y)]:
        refuses(function, x, *args)
    refuses(xp.concat, [x, y])
    refuses(xp.concat, [])
    refuses(xp.concat, [x, x], axis=2)
    refuses(xp.stack, [x, y])
    refuses(xp.stack, [x, x], axis=3)
    refuses(xp.broadcast_arrays, x, y)
    refuses(xp.broadcast_shapes, (2, 3), (4,))
    refuses(xp.meshgrid, y, y, indexing="yx")
    refuses(xp.repeat, y, -1)
    refuses(xp.repeat, y, xp.asarray([1, 2]))
    refuses(xp.roll, x, (1, 2, 3), axis=(0, 1))
    refuses(xp.searchsorted, y, y, side="middle")
    refuses(xp.take, x, xp.asarray([0.5]), axis=0)
    refuses(xp.take_along_axis, x, xp.asarray([[0.5]]), axis=0)
    refuses(xp.triu, place(numpy.zeros(())))
    refuses(xp.nonzero, place(numpy.zeros(())))
    refuses(xp.zeros, (-1,))
    refuses(xp.eye, -1)
    refuses(xp.linspace, 0, 1, -1)
    refuses(xp.matrix_transpose, y)
    refuses(xp.bitwise_and, x, x)
    refuses(xp.bitwise_invert, x)
    refuses(xp.bitwise_left_shift, x, x)


# ---- Products --------------------------------------------------------------------------------------------------------

@given(batch=broadcasting(2), sizes=st.tuples(*[st.integers(0, 5)] * 3), seed=seeds, layout=layouts)
def test_matmul(batch, sizes, seed, layout):
    n, k, m = sizes
    for dtype in NUMERIC:
        a = values(dtype, (*batch[0], n, k), seed, special=dtype in INTEGERS)
        b = values(dtype, (*batch[1], k, m), seed + 1, special=dtype in INTEGERS)
        row, column = values(dtype, (k,), seed + 2, special=False), values(dtype, (k,), seed + 3, special=False)
        for x, y in [(a, b), (a, column), (row, b), (row, column)]:
            expected = numpy.matmul(x, y)
            tolerance = 10 * TOLERANCE[dtype] if dtype in FLOATS else None
            compare(xp.matmul(place(x, layout), place(y)), expected, atol=tolerance)
            compare(place(x) @ place(y, layout), expected, atol=tolerance)
    refuses(xp.matmul, place(numpy.array(1.0)), place(numpy.zeros((2, 2))))


@given(data=st.data(), shape=shapes(1, 3), seed=seeds)
def test_vecdot(data, shape, seed):
    for dtype in NUMERIC:
        a, b = values(dtype, shape, seed, special=False), values(dtype, shape, seed + 1, special=False)
        axis = data.draw(st.integers(-len(shape), -1))
        expected = numpy.vecdot(a, b, axis=axis)
        for function in (xp.vecdot, xp.linalg.vecdot):
            compare(function(place(a), place(b), axis=axis), expected,
                    atol=10 * TOLERANCE[dtype] if dtype in FLOATS else None)


@given(data=st.data(), shape=shapes(0, 3), more=st.tuples(shapes(0, 2), shapes(0, 2)), seed=seeds)
def test_tensordot(data, shape, more, seed):
    n = len(shape)
    order = data.draw(st.permutations(range(n)))
    for dtype in NUMERIC:
        a = values(dtype, (*more[0], *shape), seed, special=False)
        b = values(dtype, (*shape, *more[1]), seed + 1, special=False)
        tolerance = 10 * TOLERANCE[dtype] if dtype in FLOATS else None
        for function in (xp.tensordot, xp.linalg.tensordot):
            compare(function(place(a), place(b), axes=n), numpy.tensordot(a, b, n), atol=tolerance)
            axes = (tuple(axis - n for axis in order), tuple(order))
            compare(function(place(a), place(b), axes=axes), numpy.tensordot(a, b, axes), atol=tolerance)
