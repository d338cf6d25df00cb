"""The namespace: names, signatures, constants, dtypes, what it says of itself; creation, conversion, indexing."""
import inspect
import math

import array_api_strict as strict
import numpy
import pytest
from hypothesis import given, strategies as st

import neap_array_api as xp
from checks import ALL, FLOATS, INTEGERS, broadcasting, compare, layouts, place, refuses, seeds, shapes, values

DTYPES = [*ALL, "complex64", "complex128"]


def names(part):
    space = {"": strict, "linalg.": strict.linalg, "fft.": strict.fft}[part]
    if part:
        return [part + name for name in space.__all__]
    return [name for name in strict.__all__ if not name.startswith("__") and "flags" not in name.lower() and
            name not in ("Device", "linalg", "fft")]


def find(space, name):
    for part in name.split("."):
        space = getattr(space, part)
    return space


EVERY = names("") + names("linalg.") + names("fft.")


@pytest.mark.parametrize("name", EVERY)
def test_name_and_signature(name):
    ours, theirs = find(xp, name), find(strict, name)
    if not inspect.isfunction(theirs):
        return
    theirs = inspect.signature(theirs).parameters.values()
    ours = inspect.signature(ours).parameters.values()
    assert [(p.name, p.kind) for p in ours] == [(p.name, p.kind) for p in theirs]
    for mine, other in zip(ours, theirs):
        if "UNDEF" not in str(other.default):
            assert mine.default == other.default


def test_methods():
    x = xp.asarray([[1, 2]])
    theirs = {name for name in dir(strict.asarray([1, 2])) if name.startswith("__") and name not in dir(object)}
    theirs |= {"T", "mT", "device", "dtype", "ndim", "shape", "size", "to_device"}
    # These are Python's own or NumPy's: the standard does not name them.
    theirs -= {"__array__", "__buffer__", "__annotations__", "__module__", "__slots__", "__weakref__", "__iter__"}
    theirs -= {"__dlpack__"}  # capsules are Python's; test_dlpack asks the function below
    missing = sorted(name for name in theirs if not hasattr(x, name))
    assert not missing, missing


def test_constants():
    for name in ("e", "inf", "nan", "pi"):
        value = xp.PROCESS.run(f"return np.{name}")
        assert value == getattr(math, name) or name == "nan" and value != value
    assert xp.asarray([1, 2])[(xp.newaxis, slice(None))].shape == (1, 2)


def test_dtype_names():
    for name in DTYPES:
        assert xp.PROCESS.run(f'return np.zeros(1,{{dtype="{name}"}}).dtype').decode() == getattr(xp, name).short
        lua = "bool_" if name == "bool" else name
        assert xp.PROCESS.run(f"return np.zeros(1,{{dtype=np.{lua}}}).dtype").decode() == getattr(xp, name).short


# ---- Inspection and dtype functions ----------------------------------------------------------------------------------

def test_namespace_info():
    info = xp.__array_namespace_info__()
    assert {"boolean indexing", "data-dependent shapes", "max dimensions"} <= set(info.capabilities())
    assert info.capabilities()["boolean indexing"] is True and info.capabilities()["data-dependent shapes"] is True
    assert info.default_device() in info.devices() and xp.zeros(2).device == info.default_device()
    defaults = info.default_dtypes()
    assert defaults["real floating"] == xp.float32 and defaults["integral"] == xp.int32
    assert defaults["indexing"] == xp.int32
    kinds = ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric")
    for kind in (*kinds, None):
        assert set(info.dtypes(kind=kind)) >= set(strict.__array_namespace_info__().dtypes(kind=kind))
        assert all(getattr(xp, name) is dtype for name, dtype in info.dtypes(kind=kind).items())
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}


def test_isdtype():
    kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]
    for name in ALL:
        for kind in kinds + [("bool", "integral"), ("real floating",)]:
            assert xp.isdtype(getattr(xp, name), kind) == strict.isdtype(getattr(strict, name), kind), (name, kind)
        for other in ALL:
            assert xp.isdtype(getattr(xp, name), getattr(xp, other)) == (name == other)
    refuses(xp.isdtype, xp.float32, "no such kind")


def test_can_cast():
    for a in ALL:
        for b in ALL:
            expected = numpy.can_cast(a, b)
            assert xp.can_cast(getattr(xp, a), getattr(xp, b)) == expected, (a, b)
            assert xp.can_cast(place(numpy.zeros(2, a)), getattr(xp, b)) == expected


def test_finfo_and_iinfo():
    for name in FLOATS:
        theirs = numpy.finfo(name)
        for ours in (xp.finfo(getattr(xp, name)), xp.finfo(place(numpy.zeros(2, name)))):
            assert ours.dtype.name == name
            for field in ("bits", "eps", "max", "min", "smallest_normal"):
                assert getattr(ours, field) == getattr(theirs, field), field
    for name in INTEGERS:
        theirs = numpy.iinfo(name)
        for ours in (xp.iinfo(getattr(xp, name)), xp.iinfo(place(numpy.zeros(2, name)))):
            assert (ours.bits, ours.min, ours.max, ours.dtype.name) == (theirs.bits, theirs.min, theirs.max, name)
    refuses(xp.finfo, xp.int32)
    refuses(xp.iinfo, xp.float32)
    refuses(xp.iinfo, xp.DTYPES["bool"])


def test_result_type_refuses():
    refuses(xp.result_type)


# ---- Creation --------------------------------------------------------------------------------------------------------

@given(shape=shapes(0, 4))
def test_filled(shape):
    """zeros, ones, empty, and as others are."""
    for name in ALL + [None]:
        dtype = getattr(xp, name) if name else None
        for function, value in (("zeros", 0), ("ones", 1)):
            expected = numpy.full(shape, value, name or "float32")
            compare(getattr(xp, function)(shape, dtype=dtype), expected)
            like = numpy.zeros(shape, name or "int16")
            compare(getattr(xp, function + "_like")(place(like), dtype=dtype), numpy.full(shape, value, like.dtype))
            compare(getattr(xp, function + "_like")(place(like), dtype=xp.float64), numpy.full(shape, value, "float64"))
        assert xp.empty(shape, dtype=dtype).shape == shape
        assert xp.empty(shape, dtype=dtype).dtype.name == (name or "float32")
        like = xp.empty_like(place(numpy.zeros(shape, name or "uint8")))
        assert like.shape == shape and like.dtype.name == (name or "uint8")


def test_full():
    for name in ALL:
        info = numpy.iinfo(name) if name in INTEGERS else None
        for value in [True, False] if name == "bool" else [info.min, info.max, 3] if info else [
                0.5, -0.0, numpy.inf, numpy.nan, 3]:
            compare(xp.full((2, 3), value, dtype=getattr(xp, name)), numpy.full((2, 3), value, name))
            compare(xp.full_like(place(numpy.zeros((3, 0, 2), name)), value), numpy.full((3, 0, 2), value, name))
            compare(xp.full_like(place(numpy.zeros(4, "bool")), value, dtype=getattr(xp, name)),
                    numpy.full(4, value, name))
    compare(xp.full((2,), True), numpy.full(2, True))
    compare(xp.full((2,), 7), numpy.full(2, 7, "int32"))
    compare(xp.full((), 7.5), numpy.array(7.5, "float32"))
    compare(xp.full(3, 7.5), numpy.full(3, 7.5, "float32"))


@given(start=st.integers(-50, 50), stop=st.integers(-50, 50), step=st.integers(-9, 9).filter(bool),
       scale=st.sampled_from([1, 0.5, 0.25]), dtype=st.sampled_from([None, "int8", "int64", "float32", "float64"]))
def test_arange(start, stop, step, scale, dtype):
    numbers = [start, stop, step] if scale == 1 else [start * scale, stop * scale, step * scale]
    if dtype and "int" in dtype and scale != 1:
        dtype = None
    kind = dtype or ("int32" if scale == 1 else "float32")
    expected = numpy.arange(*numbers).astype(kind)
    given_dtype = getattr(xp, dtype) if dtype else None
    compare(xp.arange(*numbers, dtype=given_dtype), expected, zeros=False)
    compare(xp.arange(numbers[1], dtype=given_dtype), numpy.arange(numbers[1]).astype(kind), zeros=False)


def test_arange_refuses():
    refuses(xp.arange, 0, 5, 0)


@given(start=st.floats(-100, 100, width=32), stop=st.floats(-100, 100, width=32), n=st.integers(0, 30),
       endpoint=st.booleans())
def test_linspace(start, stop, n, endpoint):
    for dtype in (None, "float32", "float64"):
        ours = xp.linspace(start, stop, n, endpoint=endpoint, dtype=getattr(xp, dtype) if dtype else None)
        compare(ours, numpy.linspace(start, stop, n, endpoint=endpoint).astype(dtype or "float32"),
                atol=1e-6 if dtype != "float64" else 1e-13)
        if n and endpoint and n > 1:
            assert xp.to_numpy(ours)[-1] == numpy.asarray(stop).astype(dtype or "float32")


@given(n=st.integers(0, 6), m=st.one_of(st.none(), st.integers(0, 6)), k=st.integers(-8, 8))
def test_eye(n, m, k):
    for dtype in (None, *ALL):
        compare(xp.eye(n, m, k=k, dtype=getattr(xp, dtype) if dtype else None),
                numpy.eye(n, m, k, dtype=dtype or "float32"))


@given(shape=shapes(2, 4, (0, 5)), k=st.integers(-6, 6), seed=seeds, layout=layouts)
def test_triangles(shape, k, seed, layout):
    for dtype in ALL:
        data = values(dtype, shape, seed)
        compare(xp.tril(place(data, layout), k=k), numpy.tril(data, k))
        compare(xp.triu(place(data, layout), k=k), numpy.triu(data, k))


@given(sizes=st.lists(st.integers(0, 4), max_size=4), indexing=st.sampled_from(["xy", "ij"]), seed=seeds)
def test_meshgrid(sizes, indexing, seed):
    for dtype in ("int32", "float64", "bool"):
        data = [values(dtype, (n,), seed) for n in sizes]
        ours = xp.meshgrid(*map(place, data), indexing=indexing)
        theirs = numpy.meshgrid(*data, indexing=indexing)
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs):
            compare(mine, other)


def test_asarray():
    for nested in [[], [[], []], [1, 2], [[1, 2], [3, 4]], [True, False], [0.5, 2.0], [[[1.5]]]]:
        kind = numpy.asarray(nested).dtype.kind
        expected = numpy.asarray(nested).astype({"i": "int32", "f": "float32", "b": "bool"}[kind])
        compare(xp.asarray(nested), expected)
    for number in (3, 0.5, True):
        kind = numpy.asarray(number).dtype.kind
        compare(xp.asarray(number), numpy.asarray(number).astype({"i": "int32", "f": "float32", "b": "bool"}[kind]))
    for name in ALL:
        compare(xp.asarray([0, 1, 1], dtype=getattr(xp, name)), numpy.array([0, 1, 1], name))
        data = values(name, (2, 3), 1)
        for copy in (None, True, False):
            compare(xp.asarray(place(data), copy=copy), data)
        refuses(xp.asarray, [0, 1], dtype=getattr(xp, name), copy=False)
        if name != "float64":
            refuses(xp.asarray, place(data), dtype=xp.float64, copy=False)
        nested = [v.item() for v in values(name, (5,), 4)]
        compare(xp.asarray(nested, dtype=getattr(xp, name)), numpy.array(nested, name))
    refuses(xp.asarray, [[1, 2], [3]])


def test_devices():
    device = xp.__array_namespace_info__().default_device()
    x = xp.asarray([1, 2])
    for made in [xp.zeros(2, device=device), xp.ones((2,), device=device), xp.empty(2, device=device),
                 xp.full(2, 3, device=device), xp.arange(3, device=device), xp.linspace(0, 1, 3, device=device),
                 xp.linspace(x, 1, 3), xp.eye(2, device=device), xp.zeros_like(x, device=device),
                 xp.ones_like(x, device=device), xp.empty_like(x, device=device), xp.full_like(x, 3, device=device),
                 xp.asarray([1, 2], device=device), xp.asarray(x, device=device),
                 xp.astype(x, xp.float32, device=device), xp.from_dlpack(x, device=device, copy=True)]:
        assert made.device == device
    for function, *args in [(xp.zeros, 2), (xp.full, 2, 3), (xp.arange, 2), (xp.asarray, [1]), (xp.ones_like, x)]:
        refuses(function, *args, device="cpu:99")


def test_dlpack():
    for name in ALL:
        data = values(name, (3, 4), 7)
        compare(xp.from_dlpack(place(data, "transposed")), data)
    assert xp.asarray([1]).__dlpack_device__() == (1, 0)


# ---- Numbers out of arrays, indexing ---------------------------------------------------------------------------------

def test_scalars():
    for name in ALL:
        for value in values(name, (20,), 9):
            if value != value:
                continue
            x = place(numpy.asarray(value))
            assert bool(x) == bool(value) and float(x) == float(value)
            if numpy.isfinite(value):
                assert int(x) == int(value)
            if name in INTEGERS:
                assert x.__index__() == int(value)
    for wrong in (place(numpy.zeros(2)), place(numpy.zeros((0,)))):
        refuses(bool, wrong)
        refuses(float, wrong)
        refuses(int, wrong)
    refuses(lambda: place(numpy.array(1.5)).__index__())


@st.composite
def indices(draw, shape):
    """What the standard lets stand in x[…]: integers, slices, None and … ."""
    def item(extent):
        if extent and draw(st.booleans()):
            return draw(st.integers(-extent, extent - 1))
        ends = st.one_of(st.none(), st.integers(-extent - 2, extent + 2))
        return slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, 3, -1, -2])))

    first = draw(st.integers(0, len(shape)))
    last = draw(st.integers(first, len(shape)))
    items = [item(extent) for extent in shape[:first]]
    if draw(st.booleans()):
        items += [Ellipsis] + [item(extent) for extent in shape[last:]]
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)


@given(data=st.data(), shape=shapes(0, 4), seed=seeds, layout=layouts)
def test_indexing(data, shape, seed, layout):
    key = data.draw(indices(shape))
    for dtype in ("int32", "float64", "bool"):
        x = values(dtype, shape, seed)
        compare(place(x, layout)[key], x[key])
        new = values(dtype, x[key].shape, seed + 1)
        ours, theirs = place(x, layout), x.copy()
        ours[key] = place(numpy.asarray(new))
        theirs[key] = new
        compare(ours, theirs)
        ours[key] = True if dtype == "bool" else 3
        theirs[key] = True if dtype == "bool" else 3
        compare(ours, theirs)


@given(data=st.data(), shape=shapes(0, 3), seed=seeds, layout=layouts)
def test_masks(data, shape, seed, layout):
    leading = data.draw(st.integers(0, len(shape)))
    mask = values("bool", shape[:leading], seed + 2)
    for dtype in ("int32", "float32"):
        x = values(dtype, shape, seed)
        compare(place(x, layout)[place(mask)], x[mask])
        if leading == len(shape):
            ours, theirs = place(x, layout), x.copy()
            ours[place(mask)] = 1
            theirs[mask] = 1
            compare(ours, theirs)


@given(data=st.data(), shape=shapes(1, 3, (1, 5)), picked=broadcasting(3), seed=seeds)
def test_integer_arrays(data, shape, picked, seed):
    key = []
    for axis, extent in enumerate(shape):
        if axis and data.draw(st.booleans()):
            key.append(data.draw(st.integers(-extent, extent - 1)))
        else:
            key.append(numpy.random.default_rng(seed + axis).integers(-extent, extent, picked[axis]))
    x = values("float32", shape, seed)
    ours = place(x)[tuple(place(part) if isinstance(part, numpy.ndarray) else part for part in key)]
    compare(ours, x[tuple(key)])


def test_indexing_refuses():
    x = xp.asarray([[1, 2, 3], [4, 5, 6]])
    for key in [(2,), (-3,), (0, 3), (0, 0, 0), (Ellipsis, Ellipsis), (1.5,)]:
        refuses(lambda: x[key])
    refuses(lambda: x[place(numpy.array([True, False, True]))])

    def put():
        x[(0,)] = xp.asarray([1, 2])
    refuses(put)


def test_attributes():
    for shape in [(), (0,), (3,), (2, 3), (2, 0, 4), (2, 3, 4)]:
        x = place(numpy.zeros(shape))
        assert (x.shape, x.ndim, x.size) == (shape, len(shape), math.prod(shape))
        handle = xp.lua(x)
        assert xp.PROCESS.run(f"return {handle}.ndim, {handle}.size") == (len(shape), math.prod(shape))
        assert x.to_device(x.device).device == x.device and x.device in xp.__array_namespace_info__().devices()
        if len(shape) >= 2:
            assert x.mT.shape == shape[:-2] + (shape[-1], shape[-2])
    compare(place(numpy.arange(6).reshape(2, 3)).T, numpy.arange(6).reshape(2, 3).T)
    refuses(lambda: place(numpy.zeros(3)).mT)


def test_sixteen_axes():
    x = values("float32", (2, 1) * 8, 1)
    compare(xp.sum(place(x), axis=tuple(range(0, 16, 2))), x.sum(tuple(range(0, 16, 2))), atol=1e-5)
    assert xp.permute_dims(place(x), tuple(range(16))[::-1]).shape == (1, 2) * 8
