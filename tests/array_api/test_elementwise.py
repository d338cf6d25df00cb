"""Functions of elements and operators: dtypes of all pairs, shapes, layouts, values in ulps, special values."""
import operator

import array_api_strict as strict
import numpy
import pytest
from hypothesis import given, strategies as st

import neap_array_api as xp
from checks import (ALL, FLOATS, KINDS, SPECIAL, broadcasting, compare, layouts, name_of, place, seeds, shapes, values)

# name: what it takes, and how many ulps a float result may be off (0: exact).
UNARY = {
    "abs": ("numeric", 0), "acos": ("floating", 2), "acosh": ("floating", 4), "asin": ("floating", 2),
    "asinh": ("floating", 4), "atan": ("floating", 2), "atanh": ("floating", 4), "bitwise_invert": (
        "integer or boolean", 0), "ceil": ("numeric", 0), "cos": ("floating", 2), "cosh": ("floating", 3),
    "exp": ("floating", 2), "expm1": ("floating", 2), "floor": ("numeric", 0), "isfinite": ("numeric", 0),
    "isinf": ("numeric", 0), "isnan": ("numeric", 0), "log": ("floating", 2), "log10": ("floating", 2),
    "log1p": ("floating", 2), "log2": ("floating", 2), "logical_not": ("boolean", 0), "negative": ("numeric", 0),
    "positive": ("numeric", 0), "reciprocal": ("floating", 0), "round": ("numeric", 0), "sign": ("numeric", 0),
    "signbit": ("floating", 0), "sin": ("floating", 2), "sinh": ("floating", 3), "sqrt": ("floating", 0),
    "square": ("numeric", 0), "tan": ("floating", 3), "tanh": ("floating", 3), "trunc": ("numeric", 0),
}
BINARY = {
    "add": ("numeric", 0), "atan2": ("floating", 3), "bitwise_and": ("integer or boolean", 0),
    "bitwise_left_shift": ("integer", 0), "bitwise_or": ("integer or boolean", 0),
    "bitwise_right_shift": ("integer", 0), "bitwise_xor": ("integer or boolean", 0), "copysign": ("floating", 0),
    "divide": ("floating", 0), "equal": ("all", 0), "floor_divide": ("numeric", 0), "greater": ("numeric", 0),
    "greater_equal": ("numeric", 0), "hypot": ("floating", 1), "less": ("numeric", 0), "less_equal": ("numeric", 0),
    "logaddexp": ("floating", None), "logical_and": ("boolean", 0), "logical_or": ("boolean", 0),
    "logical_xor": ("boolean", 0), "maximum": ("numeric", 0), "minimum": ("numeric", 0), "multiply": ("numeric", 0),
    "nextafter": ("floating", 0), "not_equal": ("all", 0), "pow": ("numeric", 1), "remainder": ("numeric", 0),
    "subtract": ("numeric", 0),
}
OPERATORS = {
    "__add__": "add", "__sub__": "subtract", "__mul__": "multiply", "__truediv__": "divide",
    "__floordiv__": "floor_divide", "__mod__": "remainder", "__pow__": "pow", "__and__": "bitwise_and",
    "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift", "__eq__": "equal", "__ne__": "not_equal", "__lt__": "less",
    "__le__": "less_equal", "__gt__": "greater", "__ge__": "greater_equal",
}
UNARY_OPERATORS = {"__abs__": "abs", "__neg__": "negative", "__pos__": "positive", "__invert__": "bitwise_invert"}
NUMPY = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
         "atan2": "arctan2", "atanh": "arctanh", "bitwise_left_shift": "left_shift",
         "bitwise_right_shift": "right_shift", "pow": "power"}


def reference(name, *data):
    """What NumPy computes in more digits: f32 as f64, f64 as long double."""
    function = getattr(numpy, NUMPY.get(name, name))
    if name == "nextafter":
        return function(*data)
    wide = numpy.float64 if data[0].dtype == numpy.float32 else numpy.longdouble
    return function(*(x.astype(wide) for x in data))


def in_domain(name, *data):
    """Operands whose result the standard defines, and that NumPy has: shifts by the width, powers and quotients of
    integers."""
    a, b = data
    if a.dtype.kind not in "iu" or b.dtype.kind not in "iu":
        return data
    if name.endswith("shift"):
        b = (b.astype(numpy.int64) % (8 * min(a.dtype.itemsize, b.dtype.itemsize))).astype(b.dtype)
    elif name == "pow":
        b = numpy.minimum(b & 7, 7).astype(b.dtype)
    elif name in ("floor_divide", "remainder"):
        b = numpy.where((b == 0) | (b.astype(numpy.float64) == -1), 3, b).astype(b.dtype)
    return a, b


def strict_result(name, *data):
    return getattr(strict, name)(*(strict.asarray(x) for x in data))


def check(name, ours, data, bound):
    """Compares a result: exact ones with array_api_strict, others with more digits."""
    theirs = strict_result(name, *data)
    if bound is None:
        # A difference of numbers near 1: in ulps of 1 where it is small.
        compare(ours, theirs, atol=None, ulp=numpy.inf)
        exact = reference(name, *data)
        got = xp.to_numpy(ours)
        eps = numpy.finfo(got.dtype).eps
        close = numpy.abs(got - exact) <= 4 * eps * numpy.maximum(numpy.abs(exact), 1)
        assert numpy.all(close | (got == exact) | (numpy.isnan(got) & numpy.isnan(exact)))
    elif bound and name_of(theirs.dtype) in FLOATS:
        # NumPy's zeros may have another sign where a number too small for the dtype was rounded.
        compare(ours, theirs, ulp=bound, exact=reference(name, *data), zeros=False)
    else:
        compare(ours, theirs)


@pytest.mark.parametrize("name", UNARY)
@given(shape=shapes(0, 3), seed=seeds, layout=layouts)
def test_unary(name, shape, seed, layout):
    kind, bound = UNARY[name]
    for dtype in KINDS[kind]:
        data = values(dtype, shape, seed)
        check(name, getattr(xp, name)(place(data, layout)), [data], bound)


@pytest.mark.parametrize("name", BINARY)
@given(both=broadcasting(2), seed=seeds, layout=layouts)
def test_binary(name, both, seed, layout):
    kind, bound = BINARY[name]
    for dtype in KINDS[kind]:
        a, b = in_domain(name, values(dtype, both[0], seed), values(dtype, both[1], seed + 1))
        check(name, getattr(xp, name)(place(a, layout), place(b)), [a, b], bound)


def pairs(kind):
    """The pairs of dtypes that the standard lets meet, and what comes of them."""
    result = []
    for a in KINDS[kind]:
        for b in KINDS[kind]:
            try:
                result.append((a, b, name_of(strict.result_type(getattr(strict, a), getattr(strict, b)))))
            except TypeError:
                pass
    return result


@pytest.mark.parametrize("name", BINARY)
def test_dtype_pairs(name):
    kind, bound = BINARY[name]
    for a, b, _ in pairs(kind):
        data = in_domain(name, values(a, (7,), 1, special=False), values(b, (7,), 2, special=False))
        ours = getattr(xp, name)(place(data[0]), place(data[1]))
        theirs = strict_result(name, *data)
        assert ours.dtype.name == name_of(theirs.dtype), f"{a} and {b} give {ours.dtype}"
        if a != b and not bound and bound is not None:
            compare(ours, theirs)


def test_result_type():
    for a, b, result in pairs("all"):
        assert xp.result_type(getattr(xp, a), getattr(xp, b)).name == result
        assert xp.result_type(place(numpy.zeros(2, a)), getattr(xp, b)).name == result
        assert xp.result_type(getattr(xp, a), getattr(xp, b), getattr(xp, a)).name == result


def same_special(got, expected):
    """Whether floats are the same where they are NaN, infinite or 0 (with its sign), and of one sign elsewhere."""
    nans = numpy.isnan(expected)
    special = nans | numpy.isinf(expected) | (expected == 0)
    equal = numpy.isnan(got) & nans | (got == expected) & (numpy.signbit(got) == numpy.signbit(expected)) & ~nans
    return numpy.where(special, equal, numpy.isclose(got, expected, rtol=1e-5, atol=0))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [name for name, (kind, _) in UNARY.items() if kind in ("numeric", "floating")])
def test_special_values(name, dtype):
    data = numpy.array(SPECIAL, dtype)
    expected = numpy.asarray(strict_result(name, data))
    got = xp.to_numpy(getattr(xp, name)(place(data)))
    if expected.dtype.kind == "b":
        wrong = got != expected
    else:
        wrong = ~same_special(got, expected)
        if name in ("cos", "sin", "tan"):  # of huge numbers only the sizes are compared: see test_unary
            wrong &= numpy.abs(data) < 1e6
    assert not numpy.any(wrong), [(name, x, y, z) for x, y, z in zip(data[wrong], got[wrong], expected[wrong])]


def defined(name, a, b):
    """Pairs of which the standard says what NumPy does too."""
    if name == "floor_divide":  # implementation-defined in the standard
        return ~((numpy.isinf(a) & numpy.isfinite(b)) | (b == 0) | (numpy.isinf(b) & numpy.isfinite(a)))
    if name == "remainder":
        return ~(numpy.isinf(b) & numpy.isfinite(a))
    if name in ("maximum", "minimum"):
        return ~((a == 0) & (b == 0))
    return numpy.ones(a.shape, bool)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [name for name, (kind, _) in BINARY.items() if kind in ("numeric", "floating")])
def test_special_pairs(name, dtype):
    a, b = (x.ravel() for x in numpy.meshgrid(numpy.array(SPECIAL, dtype), numpy.array(SPECIAL, dtype)))
    expected = numpy.asarray(strict_result(name, a, b))
    got = xp.to_numpy(getattr(xp, name)(place(a), place(b)))
    wrong = got != expected if expected.dtype.kind == "b" else ~same_special(got, expected)
    wrong &= defined(name, a, b)
    assert not numpy.any(wrong), [(name, *row) for row in zip(a[wrong], b[wrong], got[wrong], expected[wrong])][:12]


def test_floor_divide_and_remainder_of_infinities():
    # The standard leaves a choice between Python's results and C's; these are Python's.
    inf, nan = numpy.inf, numpy.nan
    for a, b, quotient, rest in [(1.0, inf, 0.0, 1.0), (-1.0, inf, -1.0, inf), (1.0, -inf, -1.0, -inf),
                                 (-1.0, -inf, 0.0, -1.0), (inf, 2.0, nan, nan), (0.0, 0.0, nan, nan),
                                 (0.0, inf, 0.0, 0.0), (-0.0, -inf, 0.0, -0.0)]:
        a, b = numpy.array([a]), numpy.array([b])
        numpy.testing.assert_array_equal(xp.to_numpy(xp.floor_divide(place(a), place(b))), [quotient])
        numpy.testing.assert_array_equal(xp.to_numpy(xp.remainder(place(a), place(b))), [rest])


# ---- Operators and Python's numbers ----------------------------------------------------------------------------------

@pytest.mark.parametrize("method", OPERATORS)
@given(both=broadcasting(2), seed=seeds)
def test_operators(method, both, seed):
    name = OPERATORS[method]
    for dtype in KINDS[BINARY[name][0]]:
        a, b = in_domain(name, values(dtype, both[0], seed), values(dtype, both[1], seed + 1))
        ours = getattr(place(a), method)(place(b))
        numpy.testing.assert_array_equal(xp.to_numpy(ours), xp.to_numpy(getattr(xp, name)(place(a), place(b))))
        assert ours.dtype == getattr(xp, name)(place(a), place(b)).dtype
        if method[2:-2] not in ("eq", "ne", "lt", "le", "gt", "ge"):
            flipped = getattr(place(b), "__r" + method[2:])(place(a))
            numpy.testing.assert_array_equal(xp.to_numpy(flipped), xp.to_numpy(ours))
            if numpy.broadcast_shapes(*both) == both[0]:
                x = place(a)
                x = getattr(operator, {"__and__": "iand", "__or__": "ior"}.get(method, "i" + method[2:-2]))(x, place(b))
                numpy.testing.assert_array_equal(xp.to_numpy(x), xp.to_numpy(ours))


@pytest.mark.parametrize("method", UNARY_OPERATORS)
def test_unary_operators(method):
    name = UNARY_OPERATORS[method]
    for dtype in KINDS[UNARY[name][0]]:
        data = values(dtype, (3, 4), 5)
        compare(getattr(place(data), method)(), strict_result(name, data))


@pytest.mark.parametrize("method", OPERATORS)
def test_operators_with_numbers(method):
    kind = BINARY[OPERATORS[method]][0]
    for dtype in KINDS[kind]:
        data = numpy.array([1, 2, 3, 0, 1], dtype)
        for number in [True] if dtype == "bool" else [2, 1] if dtype in KINDS["integer"] else [2, 0.5, -1.5]:
            theirs = getattr(strict.asarray(data), method)(number)
            compare(getattr(place(data), method)(number), theirs, ulp=1)
            if method[2:-2] in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor"):
                if dtype in KINDS["numeric"]:
                    data = numpy.where(data == 0, 1, data).astype(dtype)
                theirs = getattr(strict.asarray(data), "__r" + method[2:])(number)
                compare(getattr(place(data), "__r" + method[2:])(number), theirs, ulp=1)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_numbers(name):
    for dtype in KINDS[BINARY[name][0]]:
        data = numpy.array([1, 2, 3], dtype)
        number = True if dtype == "bool" else 2 if dtype in KINDS["integer"] else 1.5
        ours, theirs = getattr(xp, name), getattr(strict, name)
        compare(ours(place(data), number), theirs(strict.asarray(data), number), ulp=4)
        compare(ours(number, place(data)), theirs(number, strict.asarray(data)), ulp=4)


# ---- clip, where, astype ---------------------------------------------------------------------------------------------

@given(both=broadcasting(3), seed=seeds, layout=layouts)
def test_where(both, seed, layout):
    condition = values("bool", both[0], seed)
    for dtype in ALL:
        a, b = values(dtype, both[1], seed), values(dtype, both[2], seed + 1)
        compare(xp.where(place(condition), place(a, layout), place(b)),
                strict.where(strict.asarray(condition), strict.asarray(a), strict.asarray(b)))


def test_where_of_pairs_and_numbers():
    condition = numpy.array([True, False, True])
    for a, b, result in pairs("all"):
        x, y = numpy.ones(3, a), numpy.zeros(3, b)
        compare(xp.where(place(condition), place(x), place(y)), numpy.where(condition, x, y).astype(result))
    compare(xp.where(place(condition), place(numpy.ones(3, "float64")), 2.5), numpy.array([1, 2.5, 1]))
    compare(xp.where(place(condition), 7, place(numpy.ones(3, "int8"))), numpy.array([7, 1, 7], "int8"))


@given(shape=shapes(0, 3), seed=seeds, limits=st.tuples(st.booleans(), st.booleans()))
def test_clip(shape, seed, limits):
    for dtype in KINDS["numeric"]:
        data = values(dtype, shape, seed)
        lo, hi = numpy.sort(values(dtype, (2,) + shape, seed + 1, special=False), axis=0)
        lo, hi = (lo if limits[0] else None), (hi if limits[1] else None)
        expected = numpy.clip(data, lo, hi) if limits != (False, False) else data
        compare(xp.clip(place(data), None if lo is None else place(lo), None if hi is None else place(hi)), expected)
        compare(xp.clip(place(data), 1, 3), numpy.clip(data, numpy.array(1, dtype), numpy.array(3, dtype)))


@pytest.mark.parametrize("dtype", ALL)
def test_astype(dtype):
    for other in ALL:
        data = numpy.array([0, 1, 2, 100], "uint8").astype(dtype)
        for copy in (True, False):
            compare(xp.astype(place(data), getattr(xp, other), copy=copy), data.astype(other))
        wide = values(dtype, (40,), 3)
        if numpy.dtype(dtype).kind != "f" or numpy.dtype(other).kind in "fb":
            compare(xp.astype(place(wide), getattr(xp, other)), wide.astype(other))
