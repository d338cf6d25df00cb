"""make_printing.py: NumPy's str() of arrays, with its default print options (printing.txt).

Records:   array <tab> text     with newlines of the text written as \\n.

neap's tostring(x) gives the same text. Defaults of NumPy: precision 8, threshold 1000, edgeitems 3, linewidth 75,
shortest digits that distinguish a float from its neighbours in its own dtype ('maxprec').
"""

import numpy as np

from records import Writer, dtype, linear, text

NAN, INF = float("nan"), float("inf")


def arrays():
    """Arrays that are written out in full."""
    yield np.array(5, np.int32)
    yield np.array(-2.5, np.float32)
    yield np.array(0.1, np.float32)
    yield np.array(1 / 3, np.float64)
    yield np.array(1e20, np.float32)
    yield np.array(1e-5, np.float64)
    yield np.array(1e16, np.float64)
    yield np.array(123456789.0, np.float32)
    yield np.array(True)
    yield np.array(NAN, np.float32)
    yield np.array(-INF, np.float64)
    yield np.array(-0.0, np.float32)
    yield np.array(2**53 - 1, np.int64)
    for name in ("bool", "i32", "f32", "f64"):
        yield np.zeros((0,), dtype(name))
        yield np.zeros((2, 0), dtype(name))
        yield np.zeros((0, 3), dtype(name))
        yield np.ones((1,), dtype(name))
        yield np.ones((2, 3), dtype(name))
        yield np.zeros((1, 1, 1), dtype(name))
    yield np.array([1, -2, 300, 0], np.int32)
    yield np.array([[1, -200], [30000, 4]], np.int64)
    yield np.array([0, 255, 7], np.uint8)
    yield np.array([0, 4294967295], np.uint32)
    yield np.array([-2147483648, 2147483647], np.int32)
    yield np.array([[True, False, True], [False, False, False]])
    for name in ("f32", "f64"):
        for values in ([1, 2, 3], [1.5, -2.25, 1000], [0.1, 0.2, 0.3], [1 / 3, 2 / 3, 1], [-1, 1], [-0.0, 0.0], [0.5],
                       [1e-3, 1], [1e-4, 1], [1e-5, 1], [1e-5, 1e-6], [1e8, 1], [1e7, 0.1], [123456.789, 0.001],
                       [1e10, 1e-10], [1e15, 1], [1e16, 1e16], [1e17, 2], [12345678, 1.5], [1e30, -1e-30],
                       [NAN, 1, 2.5], [INF, 1.25], [-INF, NAN, INF], [NAN], [-INF, -1.5], [NAN, 1e20],
                       [3.14159265358979, 2.718281828459045], [100, 1e5, 1e-2], [99999.5, 0.5], [16777216, 1],
                       [1e-40, 1], [5e-45], [3.4028234e38], [0.30000001192092896, 1.1], [1e2, 1e3, 1e4, 1e5, 1e6, 1e7],
                       [0.001, 0.999], [1e-8, 1e-7], [999999.9, 1], [0, 1e-3], [0, 1e-5], [0.0001234, 123.4],
                       [1e8, 1e9], [99999999, 1], [100000000, 1.5], [-1e-3, 5e4]):
            yield np.array(values, dtype(name))
        yield (np.arange(12) / 7).astype(dtype(name)).reshape(3, 4)
        yield ((np.arange(24) - 12) * 1.25).astype(dtype(name)).reshape(2, 3, 4)
        yield (np.arange(30) ** 3 / 9).astype(dtype(name))
        yield np.exp(np.arange(-8, 8)).astype(dtype(name))
    yield np.arange(40, dtype=np.int32)
    yield np.arange(100, 140, dtype=np.int64).reshape(2, 20)
    yield (np.arange(60) * 7919 % 1000).astype(np.int32).reshape(2, 30)
    yield np.arange(2 * 2 * 2 * 2, dtype=np.int32).reshape(2, 2, 2, 2)
    yield np.arange(8, dtype=np.float32).reshape(2, 1, 2, 2)
    yield np.array([True] * 20)
    yield (np.arange(24) % 3 == 0).reshape(2, 12)


def long_arrays():
    """Arrays of a formula, mostly summarised with `...`."""
    for name, shape, step, start in [
            ("i32", (1000,), 1, 0), ("i32", (1001,), 1, 0), ("f32", (1001,), 0.5, -100), ("f64", (2000,), 0.25, 0),
            ("i32", (40, 30), 1, -5), ("f32", (40, 30), 0.125, -3), ("i32", (7, 200), 1, 0), ("i32", (200, 7), 1, 0),
            ("f32", (5, 6, 50), 0.5, 0), ("i32", (20, 20, 20), 1, 0), ("f32", (10, 10, 10), 1, 0),
            ("i32", (2, 2, 500), 1, 0), ("i64", (1500, 1), 3, 0), ("i32", (1, 1500), 3, 0),
            ("f32", (3, 4, 5, 20), 0.25, 0), ("i32", (100000,), 10, 0), ("f32", (8, 250), 1024, 0),
            ("f64", (25, 41), 0.0009765625, 0), ("i32", (6, 6), 1, 0), ("u8", (16, 16), 1, 0), ("i32", (0, 2000), 1, 0),
            ("i32", (7, 7, 7, 7), 1, 0)]:
        yield linear(name, shape, step, start)


def make():
    with Writer("printing.txt", __doc__) as out:
        for array in arrays():
            out.record(text(array), str(array).replace("\n", "\\n"))
        for array, written in long_arrays():
            out.record(written, str(array).replace("\n", "\\n"))


if __name__ == "__main__":
    make()
