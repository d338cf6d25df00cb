"""algebra.py: definitions for reductions, statistics, products and linear algebra."""

MODULES = """linalg product reduce statistics"""


def least_32(x):
    """The dtype of sums of x: that of 32 bits of narrower integers."""
    if x.dtype.kind == "b" or x.dtype.kind == "i" and x.dtype.itemsize < 4:
        return np.int32
    return np.uint32 if x.dtype.kind == "u" and x.dtype.itemsize < 4 else x.dtype


def reduced(f, x, where, o):
    """NumPy's reduction f with neap's options; sums of integers have 32 bits at least, and wrap."""
    known = {k: v for k, v in o.items() if k not in ("where", "dtype")}
    if o.get("where"):
        known["where"] = where
    if f.__name__.removeprefix("nan") in ("sum", "prod", "cumsum", "cumprod", "cumulative_sum", "cumulative_prod"):
        known["dtype"] = np.float64 if o.get("dtype") and x.dtype.kind != "c" else least_32(x)
    if f.__name__ in ("nanvar", "nanstd") and "ddof" in known:
        known["correction"] = known.pop("ddof")
    if f.__name__ in ("nanmax", "nanmin") and x.dtype.kind != "f":
        f = {"nanmax": np.max, "nanmin": np.min}[f.__name__]
    if f.__name__ in ("mean", "nanmean") and o.get("dtype") == "f16":  # x is cast first
        x = x.astype(np.float16).astype(np.float64)
    result = f(x, **known)
    return result.astype(known["dtype"]) if known.get("dtype") else result


def placed(f, x, o):
    """An index of an extremum: the last one of equals where the option `last` says so."""
    axis, keep = o.get("axis"), o.get("keepdims", False)
    if not o.get("last"):
        return f(x, axis=axis, keepdims=keep)
    count = x.size if axis is None else x.shape[axis]
    return count - 1 - f(np.flip(x, axis), axis=axis, keepdims=keep)


def accumulated(f, x, o):
    return f.accumulate(np.ravel(x) if o.get("axis") is None else x, axis=o.get("axis", 0))


def log_sum(x, o):
    if x.size == 0:
        return np.float64(-np.inf)
    return sp.logsumexp(x, axis=o.get("axis"), keepdims=o.get("keepdims", False))


def log_cumulative_sum(x, o):
    return np.logaddexp.accumulate(np.ravel(x) if o.get("axis") is None else x, axis=o.get("axis", 0))


def finite(x):
    return np.nan_to_num(x)


def weighted(x, w, o):
    """np.average with neap's options."""
    axis, keep = o.get("axis"), o.get("keepdims", False)
    if w.ndim < x.ndim:
        axis, o = 0, dict(o, weights=True)
    if not o.get("weights"):
        return np.mean(x, axis=axis, keepdims=keep)
    result = np.average(x, axis=axis, weights=w, keepdims=keep, returned=o.get("returned", False))
    return result


def covariance(x, y, f, a, o):
    known = {k: o[k] for k in ("bias", "ddof") if k in o}
    if o.get("fweights"):
        known["fweights"] = f.astype(np.int64)
    if o.get("aweights"):
        known["aweights"] = np.real(a).astype(np.float64)
    return np.cov(x, y if o.get("both") else None, **known)


def quantiles(name, x, o):
    q = np.array(o["q"], np.float64)
    known = {k: o[k] for k in ("axis", "keepdims", "method") if k in o}
    return getattr(np, name.replace("percentile", "quantile"))(x, q, **known)


def middle(f, x, o):
    return np.float64(np.nan) if x.size == 0 else f(x, **o)


def most_frequent(x, o):
    axis, keep, x = o.get("axis"), o.get("keepdims", False), x * 1
    if isinstance(axis, tuple):
        dims = [1 if k in [a % x.ndim for a in axis] else n for k, n in enumerate(x.shape)]
        rest = [k for k in range(x.ndim) if dims[k] != 1 or x.shape[k] == 1 and k not in [a % x.ndim for a in axis]]
        gone = [k for k in range(x.ndim) if k not in rest]
        flat = np.transpose(x, rest + gone).reshape([x.shape[k] for k in rest] + [-1])
        both = scipy.stats.mode(flat, axis=-1)
        return [np.reshape(part, dims if keep else [x.shape[k] for k in rest]) for part in both]
    return list(scipy.stats.mode(np.ravel(x) if axis is None else x, axis=0 if axis is None else axis, keepdims=keep))


def histogram(x, w, o):
    return np.histogram(x, np.array(o["bins"]) if isinstance(o["bins"], tuple) else o["bins"], range=o.get("range"),
                        density=o.get("density", False), weights=w if o.get("weights") else None)


def histogram2d(x, y, w, o):
    return np.histogram2d(x, y, o["bins"], range=o.get("range"), density=o.get("density", False),
                          weights=w if o.get("weights") else None)


def histogramdd(x, w, o):
    bins, ranges = o["bins"], o.get("range")
    if x.shape[1] == 1:
        bins = bins[:1] if isinstance(bins, tuple) else bins
        ranges = ranges and ranges[:1]
    counts, edges = np.histogramdd(x, bins, range=ranges, density=o.get("density", False),
                                   weights=w if o.get("weights") else None)
    return [counts, *edges]


def binned(labels, w, o):
    n = o["length"]
    inside = labels < n
    labels = labels.astype(np.int64)[inside]
    if not o.get("weights"):
        return np.bincount(labels, minlength=n)
    out = np.zeros(n, w.dtype)
    np.add.at(out, labels, w[inside])
    return out


def segments(f, x, labels, o):
    """JAX's segment sums, in the dtype of neap's sums."""
    if f.__name__ in ("segment_sum", "segment_prod"):
        x = x.astype(least_32(x)) if x.dtype.kind in "iu" else x
    return f(x, labels, o["num_segments"])


def labelled(spec, a, b):
    """np.einsum; ellipses that the result has not are summed, as JAX's are."""
    if "..." in spec and "..." not in spec.split("->")[1]:
        return np.asarray(jnp.einsum(spec, a, b))
    return np.einsum(spec, a, b)


def planned(spec, *arrays):
    """The pairs in which NumPy contracts, and neap's text about them: with the products' multiplications."""
    pairs = np.einsum_path(spec, *arrays, optimize="optimal")[0][1:]
    left, right = spec.split("->")
    left, cost = left.split(","), 0
    sizes = {label: n for labels, x in zip(left, arrays) for label, n in zip(labels, x.shape)}
    for i, j in pairs:
        union = set(left[i]) | set(left[j])
        cost += int(np.prod([sizes[label] for label in union]))
        rest = [labels for k, labels in enumerate(left) if k not in (i, j)]
        left = rest + ["".join(sorted(u for u in union if u in right or any(u in labels for labels in rest)))]
    text = " ".join("(%d, %d)" % pair for pair in pairs)
    return [np.array(pairs), "%s: %d multiplications" % (text, cost)]


def triangular(a, b, o):
    return scipy.linalg.solve_triangular(a, b, lower=o.get("lower", False), trans=1 if o.get("trans") else 0,
                                         unit_diagonal=o.get("unit_diagonal", False))


def cholesky_solution(c, b, o):
    """x with a x = b, for a = c cᴴ, or cᴴ c: of the triangle of c that counts."""
    lower = o.get("lower", True)
    c = np.tril(c) if lower else np.triu(c)
    other = np.conj(np.swapaxes(c, -1, -2))
    return np.linalg.solve(c @ other if lower else other @ c, b)


def leibniz(x):
    """The determinant as a sum over permutations: a polynomial, whose derivatives are right everywhere."""
    import itertools
    n, total = x.shape[-1], 0.0
    for order in itertools.permutations(range(n)):
        sign = (-1) ** sum(order[i] > order[j] for i in range(n) for j in range(i + 1, n))
        term = sign
        for k in range(n):
            term = term * x[k, order[k]]
        total = total + term
    return total


def hermitian(f, x):
    result = f(x)
    return result if isinstance(result, np.ndarray) else [result[0], np.abs(result[1]) ** 2]


def general(f, x):
    result = f(x)
    if isinstance(result, np.ndarray):
        return np.sort(result.real)
    w, v = result
    return [np.sort(w.real), (np.abs(v) ** 2) @ w.real[..., None]]


def singular(x, o):
    if not o.get("compute_uv", True):
        return np.linalg.svdvals(x)
    u, s, vh = np.linalg.svd(x, full_matrices=o.get("full_matrices", True))
    return [np.abs(u) ** 2, s, np.abs(vh) ** 2]


def least_squares(a, b, o):
    """The smallest x with the least |a x - b|, the squared rest of each column, the rank and the singular values."""
    if a.ndim == 2:
        x = np.linalg.lstsq(a, b, rcond=o.get("rcond"))[0]
    else:
        x = np.linalg.pinv(a, rtol=o.get("rcond", 1e-12)) @ b
    rest = (np.abs(b - a @ x) ** 2).sum(axis=0 if a.ndim == 2 else -2)
    return [x, rest, np.linalg.matrix_rank(a), np.linalg.svdvals(a)]


def ordered(o):
    """Options with infinities for their texts."""
    return {k: {"inf": np.inf, "-inf": -np.inf}.get(v, v) if isinstance(v, str) else v for k, v in o.items()}


def traced(x, o):
    kind = None if o.get("dtype") and x.dtype.kind == "c" else np.float64 if o.get("dtype") else least_32(x)
    return np.asarray(np.trace(x, offset=o.get("offset", 0), axis1=-2, axis2=-1, dtype=kind))


def root(x):
    """The square root of a symmetric matrix, by Newton's method: its derivatives do not depend on eigenvalues' gaps."""
    x = (x + x.T) / 2
    y, z = x, jnp.eye(x.shape[0])
    for _ in range(30):
        y, z = (y + jnp.linalg.inv(z)) / 2, (z + jnp.linalg.inv(y)) / 2
    return y
