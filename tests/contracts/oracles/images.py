"""images.py: oracles of np.image: scipy.ndimage, of floats, and formulas of colors."""

MODULES = """image"""

import colorsys  # noqa: E402

import numpy as np  # noqa: E402
import scipy.ndimage as ndi  # noqa: E402


def real(x):
    """An array of floats as it is, another one as f64."""
    x = np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def kept(o, *names):
    """Those of the options that are there."""
    return {k: o[k] for k in names if k in o}


def ends(o):
    return kept(o, "mode", "cval")


def warped_ends(o):
    """The modes of warps, whose "constant" and "wrap" SciPy calls otherwise."""
    mode = {"constant": "grid-constant", "wrap": "grid-wrap"}.get(o.get("mode", "constant"), o.get("mode"))
    return {"order": o.get("order", 1), "mode": mode, "cval": o.get("cval", 0)}


def coefficients(x, o):
    """spline_filter, whose "wrap" SciPy calls "grid-wrap". On a short axis SciPy's filter begins with a wrong sum for
    "reflect" and "nearest" (_init_causal_reflect reads the element that it changes): there x comes several times."""
    mode = {"wrap": "grid-wrap", "constant": "grid-constant"}.get(o.get("mode"), o.get("mode", "mirror"))
    if mode not in ("reflect", "nearest"):
        return ndi.spline_filter(x, o["order"], mode=mode)
    more = [n * (-(-40 // n)) for n in x.shape]
    wide = ndi.spline_filter(np.pad(x, [(m, m) for m in more], "symmetric"), o["order"], mode=mode)
    return wide[tuple(slice(m, m + n) for m, n in zip(more, x.shape))]


def complex_parts(f, x):
    """f of both parts of complex x."""
    x = np.asarray(x)
    return f(x.real) + 1j * f(x.imag) if x.dtype.kind == "c" else f(real(x))


def gaussian_gradient(x, o):
    if np.asarray(x).dtype.kind == "c":
        return np.hypot(gaussian_gradient(x.real, o), gaussian_gradient(x.imag, o))
    return ndi.gaussian_gradient_magnitude(real(x), o["sigma"], **ends(o), **kept(o, "truncate"))


def masked(f, x, o, *names):
    """A function of masks; iterations 0 is SciPy's -1, too."""
    return f(np.asarray(x) != 0, **kept(o, *names))


def boxes(labels):
    """The ends of the boxes of find_objects, -1 where there is none."""
    found = [[] if b is None else [v for s in b for v in (s.start, s.stop)] for b in ndi.find_objects(labels)]
    return np.array([b or [-1] * (2 * labels.ndim) for b in found]).reshape(-1, 2 * labels.ndim)


def numbers_of(x):
    """Regions by the remainder of the place, 0 to 3."""
    return (np.arange(x.size) % 4).reshape(x.shape)


def of_regions(f, x, o):
    """A measure of regions; of complex images part by part, but for the center, which is a ratio."""
    x = real(x)
    labels = numbers_of(x) if o else None
    if x.dtype.kind == "c" and f is ndi.center_of_mass:
        def total(v):
            return of_regions(ndi.sum_labels, v, o)
        places = np.indices(x.shape)
        return np.stack([total(x * p) / total(x) for p in places], axis=-1)
    if x.dtype.kind == "c":
        return of_regions(f, x.real, o) + 1j * of_regions(f, x.imag, o)
    found = f(x, labels, o.get("index")) if o else f(x)
    return np.asarray(found)


def hsv(x, f):
    """A function of colorsys on colors from 0 to 1."""
    x = np.asarray(x, np.float64)
    return np.array([f(*row) for row in x.reshape(-1, 3)]).reshape(x.shape)


def equalized(x, bins):
    """The histogram's running sum, read between the middles of bins."""
    x = real(x)
    counts, edges = np.histogram(x, bins)
    sums = np.cumsum(counts)
    return np.interp(x, (edges[1:] + edges[:-1]) / 2, sums / sums[-1])
