"""The extension fft, and complex numbers: against NumPy in twice the precision."""
import numpy
from hypothesis import given, strategies as st

import neap_array_api as xp
from checks import compare, layouts, place, refuses, seeds

PAIRS = {"float32": "complex64", "float64": "complex128"}
EPS = {"float32": 2 ** -23, "float64": 2 ** -52}
NORMS = ("backward", "ortho", "forward")


def drawn(dtype, shape, seed):
    rng = numpy.random.default_rng(seed)
    x = rng.normal(0, 1, shape)
    return (x + 1j * rng.normal(0, 1, shape) if dtype.startswith("complex") else x).astype(dtype)


def near(ours, expected, dtype, eps):
    assert ours.dtype.name == dtype
    wide = numpy.asarray(expected)
    scale = 1 + numpy.max(numpy.abs(wide), initial=0)
    compare(ours, wide.astype(dtype), atol=64 * eps * scale)


@given(shape=st.lists(st.integers(1, 6), min_size=1, max_size=3), n=st.integers(1, 9), seed=seeds, layout=layouts,
       norm=st.sampled_from(NORMS), data=st.data())
def test_one_axis(shape, n, seed, layout, norm, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    for real, complex_ in PAIRS.items():
        z, x = drawn(complex_, shape, seed), drawn(real, shape, seed)
        for length in (None, n):
            options = {"n": length, "axis": axis, "norm": norm}
            for name in ("fft", "ifft"):
                near(getattr(xp.fft, name)(place(z, layout), **options),
                     getattr(numpy.fft, name)(z.astype("complex128"), **options), complex_, EPS[real])
            for name in ("rfft", "ihfft"):
                near(getattr(xp.fft, name)(place(x, layout), **options),
                     getattr(numpy.fft, name)(x.astype("float64"), **options), complex_, EPS[real])
            if length or shape[axis] > 1:
                for name in ("irfft", "hfft"):
                    near(getattr(xp.fft, name)(place(z, layout), **options),
                         getattr(numpy.fft, name)(z.astype("complex128"), **options), real, EPS[real])


@given(shape=st.lists(st.integers(2, 5), min_size=2, max_size=3), seed=seeds, norm=st.sampled_from(NORMS),
       data=st.data())
def test_several_axes(shape, seed, norm, data):
    axes = data.draw(st.permutations(range(len(shape))).map(lambda p: list(p[:2])))
    sizes = data.draw(st.sampled_from([None, [3, 4]]))
    options = {"s": sizes, "axes": axes, "norm": norm}
    for real, complex_ in PAIRS.items():
        z, x = drawn(complex_, shape, seed), drawn(real, shape, seed)
        for name, given_, result in (("fftn", z, complex_), ("ifftn", z, complex_), ("rfftn", x, complex_),
                                     ("irfftn", z, real)):
            wide = given_.astype("complex128" if given_ is z else "float64")
            near(getattr(xp.fft, name)(place(given_), **options), getattr(numpy.fft, name)(wide, **options), result,
                 EPS[real])


@given(n=st.integers(1, 12), d=st.sampled_from([1.0, 0.25, 3.0]))
def test_frequencies_and_shifts(n, d):
    for name in ("fftfreq", "rfftfreq"):
        for dtype in ("float32", "float64"):
            compare(getattr(xp.fft, name)(n, d=d, dtype=getattr(xp, dtype)),
                    getattr(numpy.fft, name)(n, d=d).astype(dtype), atol=2 * EPS[dtype])
        assert getattr(xp.fft, name)(n).dtype == xp.float32
    x = numpy.arange(n * 3, dtype="float32").reshape(n, 3)
    for axes in (None, 0, [0, 1]):
        compare(xp.fft.fftshift(place(x), axes=axes), numpy.fft.fftshift(x, axes=axes))
        compare(xp.fft.ifftshift(place(x), axes=axes), numpy.fft.ifftshift(x, axes=axes))


def test_refusals():
    x = xp.ones((2, 3))
    refuses(lambda: xp.fft.fft(x, axis=2))
    refuses(lambda: xp.fft.fft(x, n=0))
    refuses(lambda: xp.fft.fft(x, norm="other"))
    refuses(lambda: xp.fft.fftn(x, s=[2], axes=[0, 1]))


@given(seed=seeds, layout=layouts)
def test_complex_arithmetic(seed, layout):
    for real, complex_ in PAIRS.items():
        a, b, x = (drawn(dtype, (3, 4), seed + k) for k, dtype in enumerate((complex_, complex_, real)))
        wide_a, wide_b = a.astype("complex128"), b.astype("complex128")
        ours, other, third = place(a, layout), place(b, layout), place(x, layout)
        for name in ("add", "subtract", "multiply", "divide"):
            near(getattr(xp, name)(ours, other), getattr(numpy, name)(wide_a, wide_b), complex_, EPS[real] * 8)
            near(getattr(xp, name)(ours, third), getattr(numpy, name)(wide_a, x.astype("float64")), complex_,
                 EPS[real] * 8)
        for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "square", "negative", "conj", "sign"):
            near(getattr(xp, name)(ours), getattr(numpy, name)(wide_a), complex_, EPS[real] * 8)
        for name in ("abs", "real", "imag"):
            near(getattr(xp, name)(ours), getattr(numpy, name)(wide_a), real, EPS[real])
        near(xp.sum(ours), numpy.sum(wide_a), complex_, EPS[real] * 4)
        near(xp.mean(ours, axis=0), numpy.mean(wide_a, axis=0), complex_, EPS[real] * 4)
        near(xp.matmul(ours, xp.matrix_transpose(other)), wide_a @ wide_b.T, complex_, EPS[real] * 4)
        near(xp.vecdot(ours, other), numpy.sum(wide_a.conj() * wide_b, -1), complex_, EPS[real] * 4)
        assert xp.result_type(ours, third).name == complex_
        refuses(lambda: xp.less(ours, other))
        refuses(lambda: xp.astype(ours, getattr(xp, real)))
