"""signals.py: oracles of filters and peaks: SciPy's, of floats."""

MODULES = """filters smoothing"""

import numpy as np  # noqa: E402
import scipy.signal  # noqa: E402


def floats(x):
    """An array as f64 or c128."""
    x = np.asarray(x)
    return x if x.dtype.kind == "c" else x.astype(np.float64)


def given(o, *names):
    """Those of the options that are there; a padtype of false is None."""
    kept = {k: o[k] for k in names if k in o}
    return {k: (None if k == "padtype" and v is False else v) for k, v in kept.items()}


def filtered(b, a, x, zi, o):
    """lfilter, with a state where the options say so."""
    b, a, x = np.atleast_1d(b), np.atleast_1d(a), floats(x)
    if not o.get("state"):
        return scipy.signal.lfilter(b, a, x, **given(o, "axis"))
    return scipy.signal.lfilter(b, a, x, zi=state(zi, x, o), **given(o, "axis"))


def state(zi, x, o):
    """The numbers zi as a state of x: along the axis, the same for all signals."""
    axis = o.get("axis", -1) % x.ndim
    rows = np.broadcast_to(floats(zi), x.shape[:axis] + x.shape[axis + 1:] + (len(zi),))
    return np.moveaxis(rows, -1, axis)


def in_sections(sos, x, zi, o):
    """sosfilt, with states where the options say so."""
    x, sos = floats(x), floats(sos) / floats(sos)[:, 3:4]
    if not o.get("state"):
        return scipy.signal.sosfilt(sos, x, **given(o, "axis"))
    states = np.stack([state(row, x, o) for row in floats(zi)])
    return scipy.signal.sosfilt(sos, x, zi=states, **given(o, "axis"))


def response(b, a, o):
    """freqz."""
    return scipy.signal.freqz(np.atleast_1d(b), np.atleast_1d(a), **given(o, "worN", "whole", "fs", "include_nyquist"))


def resampled_poly(x, o):
    """resample_poly along the last axis."""
    kept = {"axis": -1} | given(o, "axis", "window", "padtype")
    return scipy.signal.resample_poly(floats(x), o["up"], o["down"], **kept)


def median_of(x, kernel):
    """medfilt; of halves and integers as of f64."""
    return scipy.signal.medfilt(np.asarray(x).astype(np.float64), kernel)


def found(x, o):
    """The peaks and their properties, by name."""
    places, properties = scipy.signal.find_peaks(floats(x), **o)
    return (places,) + tuple(np.asarray(properties[k]) for k in sorted(properties))


def smoothed(x, o):
    """savgol_filter, which SciPy has of real numbers."""
    if np.asarray(x).dtype.kind == "c":
        return smoothed(x.real, o) + 1j * smoothed(x.imag, o)
    return scipy.signal.savgol_filter(floats(x), o["window"], o["degree"],
                                      **given(o, "deriv", "delta", "mode", "cval", "axis"))


def decimated(x, o):
    """decimate."""
    return scipy.signal.decimate(floats(x), o["q"], **({"axis": -1} | given(o, "n", "ftype", "zero_phase", "axis")))
