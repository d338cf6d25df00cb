"""make_statistics.py: golden values of statistics, histograms, sets and choices, by NumPy and JAX (statistics.txt).

Records:   name <tab> tolerance <tab> options <tab> arrays… <tab> = <tab> results…
           grad <tab> tolerance <tab> name <tab> options <tab> array <tab> = <tab> gradient of the result times 1, 2, …

Real arguments are f32, whose values NumPy gets as f64; results are rounded to f32. So tolerances are those of f32.
"""

import jax
import jax.numpy as jnp
import numpy as np

from records import Writer, options, text

NAN, INF = np.nan, np.inf
RNG = np.random.default_rng(5)


def real(*values):
    return np.array(values, np.float32)


def ints(*values):
    return np.array(values, np.int32)


X = np.round(RNG.normal(size=(2, 3, 5)) * 8).astype(np.float32) / 4
GAPS = X.copy()
GAPS[0, 0, :2] = NAN
GAPS[:, 1, 3] = NAN
GAPS[1, 2, :] = NAN
MASK = np.arange(5) % 2 == 0
EDGES = real(-3, -1, -0.25, 0.5, 2)
LABELS = ints(2, 0, 1, 2, 5)


def narrow(result):
    """A result of NumPy as neap has it: f32, i32 or bool."""
    result = np.asarray(result)
    kind = result.dtype.kind
    return result.astype({"f": np.float32, "i": np.int32, "u": np.int32, "b": np.bool_}[kind])


def wide(argument):
    return argument.astype(np.float64) if argument.dtype == np.float32 else argument


class Cases:
    def __init__(self, out):
        self.out = out

    def add(self, name, arrays, results, tolerance="rel 2e-6", **given):
        results = results if isinstance(results, tuple) else (results,)
        self.out.record(name, tolerance, options(**given), *(text(a) for a in arrays), "=",
                        *(text(narrow(r)) for r in results))

    def same(self, name, *arrays, tolerance="rel 2e-6", neap=None, **given):
        """A function whose options are NumPy's, but for those in `neap`."""
        result = getattr(np, name)(*(wide(a) for a in arrays), **given)
        self.add(name, arrays, tuple(result) if isinstance(result, (tuple, list)) else result, tolerance,
                 **{**given, **(neap or {})})


def reductions(c):
    for axis in (None, 0, -1, (0, 2)):
        for name in ("sum", "prod", "mean", "std", "var"):
            c.add(name + "_where", (X, MASK), getattr(np, name)(wide(X), axis=axis, where=MASK), axis=axis)
        for name in ("max", "min"):
            c.add(name + "_where", (X, MASK), getattr(np, name)(wide(X), axis=axis, where=MASK, initial=0.5), axis=axis,
                  initial=0.5)
            c.same("nan" + name, GAPS, axis=axis, keepdims=True)
        for name in ("nansum", "nanprod", "nanmean", "nanstd", "nanvar"):
            c.same(name, GAPS, axis=axis)
        for name in ("ptp", "median"):
            c.same(name, X, axis=axis, keepdims=True)
        c.same("nanmedian", GAPS, axis=axis)
        c.same("median", GAPS, axis=axis)
        c.same("count_nonzero", X, axis=axis)
        c.same("average", X, axis=axis)
    c.same("nanvar", GAPS, axis=2, ddof=1)
    c.same("sum", X, initial=3.5, axis=1)
    c.same("prod", ints(1, 2, 3), initial=7)
    c.same("max", np.zeros((0, 3), np.float32), axis=0, initial=2.0)
    for axis in (None, 0, -1):
        c.same("nancumsum", GAPS, axis=axis)
        c.same("nancumprod", GAPS, axis=axis)
        for name in ("nanargmax", "nanargmin"):
            c.add(name, (GAPS,), np.asarray(getattr(jnp, name)(GAPS, axis=axis)), axis=axis)
        if axis is not None:
            c.same("cumulative_sum", X, axis=axis, include_initial=True)
            c.same("cumulative_prod", X, axis=axis)
        big = X * 100
        c.add("logcumsumexp", (big,), np.logaddexp.accumulate(wide(big if axis is not None else big.ravel()),
                                                              axis=axis or 0), "rel 3e-6", axis=axis)
    c.same("average", X, axis=0, weights=None)
    c.add("average_weights", (X, real(1, 2, 0.5, 3, 1)), np.average(wide(X), axis=2, weights=[1, 2, 0.5, 3, 1]), axis=2)
    c.same("argmax", X)
    c.add("argmax", (X,), X.transpose(1, 0, 2).reshape(3, 10).argmax(1), axis=(0, 2))


def quantiles(c):
    q = real(0, 0.125, 0.5, 0.75, 1)
    for method in ("linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull", "median_unbiased",
                   "normal_unbiased", "interpolated_inverted_cdf"):
        c.same("quantile", X, q, method=method, axis=2)
        c.same("quantile", X, q, method=method, axis=(0, 1))
        c.same("nanquantile", GAPS, q, method=method, axis=2)
    c.same("quantile", GAPS, q, axis=1)
    c.same("percentile", X, real(10, 90), keepdims=True, axis=(0, 2))
    c.same("nanpercentile", GAPS, real(10, 90), axis=0)
    c.same("quantile", X, np.float32(0.25))
    c.same("quantile", ints(3, 1, 7, 7, 2), q)
    c.same("quantile", X, real(0.25, 0.5).reshape(2, 1), axis=1)


def covariances(c):
    m = X[0]
    c.same("cov", m, tolerance="abs 1e-6")
    c.same("cov", m, X[1], tolerance="abs 1e-6")
    c.same("cov", m, tolerance="abs 1e-6", rowvar=False, bias=True)
    c.same("cov", m[0], tolerance="abs 1e-6")
    c.same("corrcoef", m, tolerance="abs 1e-6")
    c.same("corrcoef", m, X[1], tolerance="abs 1e-6")
    c.add("cov_weights", (m, ints(1, 2, 3, 1, 1), real(1, 0.5, 1, 2, 1)),
          np.cov(wide(m), fweights=[1, 2, 3, 1, 1], aweights=[1, 0.5, 1, 2, 1]), "abs 1e-6")


def histograms(c):
    flat = X.ravel()
    weights = real(*range(1, 31))
    for bins in (1, 4, 7):
        c.same("histogram", flat, bins=bins)
    c.same("histogram", X, bins=6, range=(-2, 1), neap={"range": (-2, 1)})
    c.same("histogram", flat, EDGES)
    c.same("histogram", flat, EDGES, density=True)
    c.same("histogram", real(2, 2, 2), bins=3)
    c.same("histogram", ints(1, 2, 2, 5, 9), bins=4)
    c.same("histogram", np.zeros(0, np.float32), bins=2)
    c.add("histogram_weights", (X, weights.reshape(X.shape)), np.histogram(wide(flat), 5, weights=weights.astype("f8")),
          bins=5)
    for rule in ("auto", "sturges", "fd", "doane", "scott", "stone", "rice", "sqrt"):
        c.same("histogram_bin_edges", flat, bins=rule)
    counts, *edges = np.histogram2d(wide(flat), wide(weights / 7), 3)
    c.add("histogram2d", (flat, weights / 7), (counts.astype(np.int32), *edges), bins=3)
    c.same("histogram2d", flat, weights / 7, bins=2, density=True)
    c.add("histogramdd", (X.reshape(10, 3),), np.histogramdd(wide(X.reshape(10, 3)), 2)[0].astype(np.int32), bins=2)
    c.same("bincount", LABELS)
    c.same("bincount", LABELS, minlength=9)
    c.add("bincount_weights", (LABELS, real(1, 2, 3, 4, 5)), np.bincount(LABELS, [1, 2, 3, 4, 5]))
    for right in (False, True):
        c.same("digitize", X, EDGES, right=right)
        c.same("digitize", X, EDGES[::-1], right=right)
    ids = ints(1, 0, 4, 1, -1, 3)
    data = np.round(RNG.normal(size=(6, 2)) * 4).astype(np.float32)
    for name in ("sum", "prod", "max", "min"):
        for values in (data, data.astype(np.int32)):
            result = getattr(jax.ops, "segment_" + name)(jnp.asarray(values), jnp.asarray(ids), 4)
            c.add("segment_" + name, (values, ids), np.asarray(result), num_segments=4)


def neighbours(c):
    c.same("gradient", X, axis=2)
    c.same("gradient", X)
    c.same("gradient", X[0], axis=1, edge_order=2)
    c.add("gradient_at", (X[0], real(0, 1, 1.5, 3, 7)), np.gradient(wide(X[0]), [0, 1, 1.5, 3, 7], axis=1), axis=1)
    c.add("gradient_at", (X[0], real(0, 1, 1.5, 3, 7)),
          np.gradient(wide(X[0]), [0, 1, 1.5, 3, 7], axis=1, edge_order=2), "abs 2e-6", axis=1, edge_order=2)
    c.same("trapezoid", X, axis=1)
    c.same("trapezoid", X, dx=0.5)
    c.same("trapezoid", X, real(0, 1, 1.5, 3, 7), tolerance="abs 2e-6")
    c.same("ediff1d", X, neap={"to_begin": 1, "to_end": (5, 6)}, to_begin=1, to_end=[5, 6])
    c.same("diff", X, axis=1, prepend=1.5)
    c.same("diff", ints(1, 4, 9), n=2, prepend=0, append=20)
    for mode in ("full", "same", "valid"):
        for a, v in ((X[0, 0], real(1, 0.5, -2)), (real(1, 0.5, -2, 4), X[0, 0]), (ints(1, 2, 3), ints(0, 4)),
                     (real(1, 2, 3), real(1, 5, 25))):
            c.same("convolve", a, v, mode=mode)
            c.same("correlate", a, v, mode=mode)


def sets(c):
    a, b = real(3, 1, 3, 0, -2, 1), real(1, 7, -2, -2)
    n = real(2, NAN, 1, NAN, 2)
    rows = ints(1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0).reshape(4, 3)
    every = dict(return_index=True, return_inverse=True, return_counts=True)
    c.same("unique", a, **every)
    c.same("unique", n, **every)
    c.same("unique", n, equal_nan=False, **every)
    c.same("unique", rows, axis=0, **every)
    c.same("unique", rows, axis=1, **every)
    c.same("unique", rows, **every)
    c.same("unique", np.array([True, False, True]), **every)
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        c.same(name, n)
        c.same(name, rows)
    for size in (2, 6):
        result = jnp.unique(n, size=size, **every)
        c.add("unique", (n,), tuple(np.asarray(r) for r in result), size=size, **every)
        c.add("nonzero", (rows,), tuple(np.asarray(r) for r in jnp.nonzero(rows, size=size, fill_value=-1)), size=size,
              fill_value=-1)
    for name in ("union1d", "setdiff1d", "setxor1d", "intersect1d", "isin"):
        c.same(name, a, b)
        c.same(name, ints(5, 1, 1, 9), ints(1, 2, 9, 9))
    c.same("isin", n, n, invert=True)
    c.same("intersect1d", a, b, return_indices=True)
    c.same("argwhere", rows)
    c.same("flatnonzero", rows)
    c.same("lexsort", np.stack([rows[:, 0], rows[:, 2], rows[:, 1]]))
    c.same("lexsort", rows, axis=0)


def places(c):
    x, i = real(10, 20, 30, 40, 50), ints(7, -9, 2, -1, -5, 5)
    for mode in ("fill", "clip", "wrap"):
        c.add("take", (x, i), np.asarray(jnp.take(x, i, mode=mode)), mode=mode)
    c.add("take", (X, i), np.asarray(jnp.take(X, i, axis=1, mode="fill")), mode="fill", axis=1)
    for name, method in (("set", "set"), ("add", "add"), ("mul", "multiply"), ("min", "min"), ("max", "max")):
        index = ints(7, -9, 2, -1, 4, -5) if name != "set" else ints(7, -9, 2, -1, -5)
        values = real(3, 4, 25, 60, 70, 2)[:index.size]
        c.add("at_" + name, (x, index, values), np.asarray(getattr(jnp.asarray(x).at[index], method)(values)))
    table = X[0].copy()
    j = ints(1, 4, -1, -9, 2)
    k = ints(2, 2, 4, 1, 5)
    five = real(1, 2, 3, 4, 5)
    c.add("at2_add", (table, j, k, five), np.asarray(jnp.asarray(table).at[j, k].add(five)))
    c.add("at2_mul", (table, j, k, five), np.asarray(jnp.asarray(table).at[j, k].multiply(five)))
    put = x.copy()
    np.put(put, [0, -1, 2], [7, 8])
    c.add("put", (x, ints(0, -1, 2), real(7, 8)), put)
    along = X[0].copy()
    np.put_along_axis(along, np.array([[1], [0], [4]]), 9, 1)
    c.add("put_along_axis", (X[0], ints(1, 0, 4).reshape(3, 1), np.float32(9)), along, axis=1)
    c.same("choose", ints(0, 1, 2, 0, 1), X[0], mode="clip")
    c.add("compress", (MASK, X), np.compress(MASK, X, axis=2), axis=2)
    c.same("extract", X > 0, X)
    c.add("nan_to_num", (real(1, NAN, INF, -INF),), np.nan_to_num(real(1, NAN, INF, -INF)))
    c.same("nan_to_num", real(1, NAN, INF, -INF), nan=3.0, posinf=4.0, neginf=5.0)
    c.add("repeat_", (X[0], ints(1, 0, 2)), np.repeat(X[0], [1, 0, 2], axis=0), axis=0)
    c.same("searchsorted", real(3, 1, 2), real(1.5, 2, 9), sorter=[1, 2, 0], neap={"sorter": (1, 2, 0)})
    c.same("searchsorted", real(3, 1, 2), real(1.5, 2, 9), sorter=[1, 2, 0], side="right", neap={"sorter": (1, 2, 0)})


def gradients(c):
    x = jnp.asarray(RNG.permutation(15).reshape(3, 5).astype(np.float32) / 4)

    def one(name, f, tolerance="abs 2e-6", **given):
        def loss(x):
            result = f(x).ravel()
            return (result * jnp.arange(1, result.size + 1)).sum()
        c.out.record("grad", tolerance, name, options(**given), text(np.asarray(x)), "=",
                     text(np.asarray(jax.grad(loss)(x))))
    one("median", lambda x: jnp.median(x, axis=1), axis=1)
    one("nanmean", lambda x: jnp.nanmean(x, axis=0), axis=0)
    one("nanvar", lambda x: jnp.nanvar(x, axis=0), axis=0)
    one("ptp", lambda x: jnp.ptp(x, axis=0), axis=0)
    one("cov", jnp.cov)
    one("corrcoef", jnp.corrcoef, "abs 1e-5")
    one("logcumsumexp", lambda x: jax.lax.cumlogsumexp(x, axis=1), axis=1)
    one("gradient", lambda x: jnp.gradient(x, axis=1), axis=1)
    one("trapezoid", lambda x: jnp.trapezoid(x, axis=0), axis=0)
    one("nanmedian", lambda x: jnp.nanmedian(x, axis=1), axis=1)


def make():
    with Writer("statistics.txt", __doc__) as out:
        c = Cases(out)
        with np.errstate(all="ignore"):
            import warnings
            warnings.simplefilter("ignore")
            for part in (reductions, quantiles, covariances, histograms, neighbours, sets, places, gradients):
                part(c)


if __name__ == "__main__":
    make()
