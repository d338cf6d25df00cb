"""format_golden.py: writes format_golden.h, the texts that NumPy's str() gives for the arrays below.

    python3 tests/lazy/format_golden.py > tests/lazy/format_golden.h

Made with NumPy 2.4; any version from 2.3 on gives the same texts. An array is either listed whole or is a ramp (start,
step), whose elements the test computes.
"""

import numpy as np

TYPES = {"bool": np.bool_, "u8": np.uint8, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "f32": np.float32,
         "f64": np.float64}
CTYPES = {"bool": "uint8_t", "u8": "uint8_t", "i32": "int32_t", "u32": "uint32_t", "i64": "int64_t", "f32": "float",
          "f64": "double"}
NAN, INF = np.nan, np.inf


def listed():
    """Pairs of dtype and value."""
    for dtype in ("f32", "f64"):
        for value in (0.0, -0.0, 1.0, 0.1, 1 / 3, -2.5, 1e-4, 9.99e-5, 999999.0, 1e6, 16777216.0, 1e15, 1e16, 1e17, NAN,
                      INF, -INF, 2.0**-44, 2.0**-20, 2.0**90, 1e-40, 3.4e38):
            yield dtype, value
        yield dtype, [1, 2, 3]
        yield dtype, [0.1, 0.25, -3]
        yield dtype, [1 / 3, 2 / 3, 1e-3]
        yield dtype, [0.0, -0.0]
        yield dtype, [1e-4, 0.05]
        yield dtype, [9e-5, 0.05]
        yield dtype, [1, 1000]
        yield dtype, [1, 1001]
        yield dtype, [999999, 1e6]
        yield dtype, [99999999.0]
        yield dtype, [1e8, 1]
        yield dtype, [0.1, 1.2345678e-9]
        yield dtype, [1e30, 1e-30]
        yield dtype, [NAN]
        yield dtype, [INF, -INF, NAN]
        yield dtype, [1.5, NAN, -INF]
        yield dtype, [1e10, NAN, -INF]
        yield dtype, [[1.5, NAN], [-1e-7, 12]]
        yield dtype, np.sin(np.arange(1, 31)) * 10
        yield dtype, np.exp(np.arange(-12, 13)).reshape(5, 5)
        yield dtype, (np.arange(24) / 7 - 1).reshape(2, 3, 4)
        yield dtype, [[[[[[[0.5]]]]]]]
        yield dtype, np.zeros((0, 3))
        yield dtype, np.zeros((3, 0))
    yield "f64", [1e-5, 1e100, -1]
    yield "f64", [5e-324, 1.7976931348623157e308]
    yield "f64", [123456.123456789, 0.000123456789]
    for dtype, low, high in (("i32", -(2**31), 2**31 - 1), ("i64", -(2**63), 2**63 - 1), ("u8", 0, 255),
                             ("u32", 0, 2**32 - 1)):
        yield dtype, high
        yield dtype, [low, 0, high]
        yield dtype, [[1, 10], [100, 7]]
    yield "i32", -7
    yield "i32", [-1, 10, -100]
    yield "bool", True
    yield "bool", False
    yield "bool", [True, False]
    yield "bool", [[True], [True]]


def ramps():
    """Rows of dtype, shape, start, step."""
    yield "i32", (40,), -20, 1
    yield "i32", (1000,), 0, 1
    yield "i32", (1001,), 0, 1
    yield "i64", (3, 400), -5, 3
    yield "i64", (400, 3), 10**12, -(10**9)
    yield "f32", (12, 9, 11), -64, 0.125
    yield "f32", (1001,), 0, 1024
    yield "f64", (2, 2, 2, 200), 1, 0.5
    yield "f64", (5, 5, 50), 0, 1e-6
    yield "u8", (2000,), 0, 1
    yield "f32", (7, 7, 7, 7), 0, 0.25
    yield "f32", (6, 6, 6, 6), 0, 0.5
    yield "i32", (2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1), 0, 1
    yield "bool", (40, 30), 0, 1


def number(dtype, value):
    if dtype in ("f32", "f64"):
        if np.isnan(value):
            return "NAN"
        if np.isinf(value):
            return "INFINITY" if value > 0 else "-INFINITY"
        return float(value).hex()
    if dtype == "i64" and int(value) == -(2**63):
        return "INT64_MIN"
    return str(int(value)) + {"i64": "LL", "u32": "U"}.get(dtype, "")


def quoted(text):
    """A C string literal, one line of the text a line."""
    lines = text.split("\n")
    return "\n     ".join('"%s%s"' % (line, "\\n" if k + 1 < len(lines) else "") for k, line in enumerate(lines))


def row(dtype, array, data, start=0, step=0):
    shape = ", ".join(str(n) for n in array.shape) or "0"
    ramp = "%r, %r" % (float(start), float(step))
    print("    {NEAP_DTYPE_%s, %d, {%s}, %s, %s," % (dtype.upper(), array.ndim, shape, data, ramp))
    print("     %s}," % quoted(str(array)))


def main():
    print("/* format_golden.h: texts of NumPy's str(), written by format_golden.py; included by format_test.c. */")
    print("/* clang-format off */")
    arrays = [(dtype, np.asarray(value).astype(TYPES[dtype])) for dtype, value in listed()]
    for k, (dtype, array) in enumerate(arrays):
        numbers = [number(dtype, value) for value in array.ravel()] or ["0"]
        print("static const %s golden_%d[] = {" % (CTYPES[dtype], k))
        for at in range(0, len(numbers), 4):
            print("    %s," % ", ".join(numbers[at:at + 4]))
        print("};")
    print("static const golden goldens[] = {")
    for k, (dtype, array) in enumerate(arrays):
        row(dtype, array, "golden_%d" % k)
    for dtype, shape, start, step in ramps():
        size = int(np.prod(shape))
        values = start + step * np.arange(size, dtype=np.float64 if dtype[0] == "f" else np.int64)
        array = (values % 2 if dtype == "bool" else values).astype(TYPES[dtype]).reshape(shape)
        row(dtype, array, "NULL", start, step)
    print("};")


main()
