"""make_fft.py: discrete Fourier transforms by NumPy, in long doubles (fft.txt).

Records:   name <tab> options <tab> input <tab> result

Inputs are multiples of 1/8, exact in f32; complex arrays are written as make_complex.py writes them, as real ones whose
last axis has the two parts. `kind` among the options says whether the input is complex.
"""

import numpy as np

import records
from make_complex import pairs

LINES = [("fft", c, n) for c in (True, False) for n in (1, 2, 6, 7, 12, 37)]
LINES += [("ifft", True, n) for n in (1, 5, 8, 74)]
REAL = [(name, c, n) for name, c in (("rfft", False), ("irfft", True), ("hfft", True), ("ihfft", False))
        for n in (2, 5, 8, 14)]
BOXES = ["fftn", "ifftn", "fft2", "ifft2", "rfftn", "irfftn", "rfft2", "irfft2"]


def draw(rng, shape, is_complex):
    x = rng.integers(-40, 40, shape) / 8
    return x + 1j * rng.integers(-40, 40, shape) / 8 if is_complex else x


def record(out, name, x, **options):
    wide = x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)
    result = getattr(np.fft, name)(wide, **{key: value for key, value in options.items() if value is not None})
    result = result.astype(np.complex128 if result.dtype.kind == "c" else np.float64)
    text = records.options(kind="complex" if x.dtype.kind == "c" else "real", **options)
    out.record(name, text, records.text(pairs(x)), records.text(pairs(result)))


def make():
    rng = np.random.default_rng(7)
    with records.Writer("fft.txt", __doc__) as out:
        for name, is_complex, n in LINES + REAL:
            record(out, name, draw(rng, n, is_complex))
        x, z = draw(rng, (2, 3, 4), False), draw(rng, (2, 3, 4), True)
        for name in ("fft", "ifft", "irfft", "hfft"):
            for norm in ("ortho", "forward"):
                record(out, name, z, axis=1, norm=norm)
            record(out, name, z, n=5, axis=0)
            record(out, name, z, n=3)
        for name in ("rfft", "ihfft"):
            record(out, name, x, axis=-2, norm="ortho")
            record(out, name, x, n=9, norm="forward")
        for name in BOXES:
            y = x if name.startswith("rfft") else z
            record(out, name, y)
            record(out, name, y, norm="ortho", axes=(0, 2))
            record(out, name, y, s=(5, 4), axes=(2, 1))
