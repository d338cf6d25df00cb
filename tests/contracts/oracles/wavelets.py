"""wavelets.py: oracles of wavelet transforms: PyWavelets' in its mode "periodization", of floats."""

MODULES = """wavelets"""

import numpy as np  # noqa: E402
import pywt  # noqa: E402


def wide(x):
    """An array as f64 or c128."""
    x = np.asarray(x)
    return x if x.dtype.kind == "c" else x.astype(np.float64)


def transformed(x, o):
    """A transform of one level or several, along one axis or two: all parts in order."""
    o = {"mode": "periodization"} | o
    f = getattr(pywt, o.pop("f"))
    with np.testing.suppress_warnings() as quiet:
        quiet.filter(UserWarning)
        return f(wide(x), **o)


def inverse(parts, o):
    """The inverse of one level: of approximations and details."""
    o = {"mode": "periodization"} | o
    f = getattr(pywt, o.pop("f"))
    return f(*[wide(p) for p in parts], **o) if f is pywt.idwt else f([wide(p) for p in parts], **o)
