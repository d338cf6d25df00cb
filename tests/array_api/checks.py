"""What the tests share: arrays of all dtypes, shapes and layouts, and comparisons with array_api_strict."""
import array_api_strict as strict
import numpy
from hypothesis import strategies as st

import neap_array_api as xp

strict.set_array_api_strict_flags(api_version="2024.12")
numpy.seterr(all="ignore")

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
FLOATS = ["float32", "float64"]
NUMERIC = INTEGERS + FLOATS
ALL = ["bool"] + NUMERIC
KINDS = {"all": ALL, "numeric": NUMERIC, "integer": INTEGERS, "floating": FLOATS, "boolean": ["bool"],
         "integer or boolean": ["bool"] + INTEGERS}
LAYOUTS = ["plain", "reversed", "transposed", "strided"]

dtypes = {kind: st.sampled_from(names) for kind, names in KINDS.items()}
layouts = st.sampled_from(LAYOUTS)
seeds = st.integers(0, 2 ** 32 - 1)


def shapes(least=0, most=4, extents=(0, 5)):
    return st.lists(st.integers(*extents), min_size=least, max_size=most).map(tuple)


def broadcasting(n):
    """n shapes that broadcast."""
    @st.composite
    def draw_shapes(draw):
        common = draw(shapes(0, 3, (0, 4)))
        result = []
        for _ in range(n):
            shape = tuple(1 if draw(st.booleans()) and draw(st.booleans()) else extent for extent in common)
            result.append(shape[draw(st.integers(0, len(shape))) if draw(st.booleans()) else 0:])
        return result
    return draw_shapes()


def values(dtype, shape, seed, special=True):
    """Numbers of every magnitude, with equal, special and extreme ones among them."""
    draw = numpy.random.default_rng(seed)
    dtype = numpy.dtype(dtype)
    if dtype.kind == "b":
        return draw.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = numpy.iinfo(dtype)
        wide = draw.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        small = draw.integers(0 if dtype.kind == "u" else -5, 6, shape).astype(dtype)
        ends = draw.choice(numpy.array([info.min, info.max, 0, 1], dtype), shape)
        return numpy.asarray(numpy.choose(draw.integers(0, 3 if special else 2, shape), [small, wide, ends]), dtype)
    near = draw.normal(0, 3, shape)
    if not special:
        return near.astype(dtype)
    wide = draw.normal(0, 1, shape) * 10.0 ** draw.integers(-30, 30, shape)
    whole = draw.integers(-6, 7, shape) / 2
    ends = draw.choice(numpy.array(SPECIAL), shape)
    return numpy.asarray(numpy.choose(draw.integers(0, 4, shape), [near, wide, whole, ends]), dtype)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.0, -2.0, 3.0, -3.0, numpy.inf, -numpy.inf, numpy.nan, 1e-40, -1e-40,
           1e30, -1e30, numpy.pi, numpy.pi / 2, 2.0 ** 24 + 2]


def place(data, layout="plain"):
    """An array of neap with these values, in one piece or as a view of another one."""
    data = numpy.asarray(data)
    if data.ndim == 0 or layout == "plain":
        return xp.from_numpy(data)
    if layout == "reversed":
        return xp.from_numpy(data[::-1])[::-1]
    if layout == "transposed":
        return xp.permute_dims(xp.from_numpy(data.T), tuple(range(data.ndim))[::-1])
    return xp.from_numpy(numpy.repeat(data, 2, axis=-1))[(..., slice(None, None, 2))]


def name_of(dtype):
    return str(dtype).replace("array_api_strict.", "")


def ulps(ours, exact):
    """How many units in the last place of `ours`' dtype it is off; equal where both are NaN, or the same infinity."""
    ours, dtype = numpy.asarray(ours), numpy.asarray(ours).dtype
    wide = numpy.longdouble if dtype == numpy.float64 else numpy.float64
    exact = numpy.asarray(exact).astype(wide)
    rounded = exact.astype(dtype)
    same = (ours == rounded) | (numpy.isnan(ours) & numpy.isnan(rounded))
    unit = numpy.spacing(numpy.abs(numpy.where(numpy.isfinite(rounded), rounded, 1)).astype(dtype))
    away = numpy.abs(ours.astype(wide) - exact) / unit.astype(wide)
    # The greatest numbers and the infinities are neighbours.
    largest = numpy.finfo(dtype).max
    edge = (numpy.isinf(ours) ^ numpy.isinf(rounded)) & (numpy.sign(ours) == numpy.sign(rounded)) & (
        numpy.minimum(numpy.abs(ours), numpy.abs(rounded)) > largest * (1 - 2.0 ** -20))
    return numpy.where(same | edge, 0, numpy.where(numpy.isnan(away), numpy.inf, away))


def compare(ours, theirs, dtype=None, ulp=None, exact=None, atol=None, zeros=True):
    """Asserts that an array of neap is like one of array_api_strict (or a NumPy array): dtype, shape and values.

    ulp: floats may be so many units off `exact` (what `theirs` holds without it); atol: or so far, scaled by the
    greatest; zeros: signs of zeros count.
    """
    reference = numpy.asarray(theirs)
    assert isinstance(ours, xp.Array), f"not an array: {ours!r}"
    assert ours.shape == reference.shape, f"shape {ours.shape}, expected {reference.shape}"
    expected = dtype or reference.dtype.name
    assert ours.dtype.name == expected, f"dtype {ours.dtype.name}, expected {expected}"
    got = xp.to_numpy(ours)
    if got.size == 0:
        return
    if ulp is not None and got.dtype.kind == "f":
        off = ulps(got, reference if exact is None else exact)
        worst = numpy.unravel_index(numpy.argmax(off), off.shape)
        wanted = numpy.asarray(reference if exact is None else exact)
        assert off[worst] <= ulp, f"{got[worst]!r}, expected {wanted[worst]!r}: {off[worst]:.3g} ulp off, at {worst}"
    elif atol is not None and got.dtype.kind in "fc":
        scale = numpy.max(numpy.abs(reference[numpy.isfinite(reference)]), initial=1)
        numpy.testing.assert_allclose(got, reference.astype(got.dtype), rtol=0, atol=atol * scale)
    else:
        numpy.testing.assert_array_equal(got, reference.astype(got.dtype))
    if zeros and got.dtype.kind == "f" and atol is None:
        zero = (got == 0) & (reference == 0)
        signs = numpy.signbit(got) != numpy.signbit(reference)
        assert not numpy.any(zero & signs), f"a zero of the other sign: {got[zero & signs]!r}"


def refuses(function, *args, **options):
    """Asserts that a call is an error of neap, of one line that names a place or a function."""
    try:
        result = function(*args, **options)
    except xp.NeapError as error:
        assert str(error)
        return
    raise AssertionError(f"no error, but {result!r}")
