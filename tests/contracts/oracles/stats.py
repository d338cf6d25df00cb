"""stats.py: what contracts of np.stats and np.metrics compare with."""

MODULES = """laws fits stats metrics"""


def law(name, functions, x, *parameters, **o):
    """Functions of a distribution of scipy.stats, by their names; the logarithms of discrete ones with their digits."""
    one = getattr(scipy.stats, name)

    def value(f):
        pair = {"logcdf": (one.cdf, one.sf), "logsf": (one.sf, one.cdf)}.get(f)
        if pair and hasattr(one, "pmf"):
            part, other = (g(x, *parameters, **o) for g in pair)
            return np.where(other < 0.5, np.log1p(-other), np.log(part))
        return getattr(one, f)(x, *parameters, **o)

    return [value(f) for f in functions.split()]


def fitted(name, x, o):
    """scipy.stats: the fit of a law, by a search that goes on until numbers stand still; the likelihood's size, too."""
    def search(f, start, args=(), disp=0):
        for _ in range(2):
            start = scipy.optimize.fmin(f, start, args, disp=disp, xtol=1e-9, ftol=1e-13, maxiter=9999, maxfun=9999)
        return start

    one = getattr(scipy.stats, name)
    found = one.fit(x.reshape(-1), **o, optimizer=search)
    return [*found, np.mean(one.logpdf(x, *found))]


def t_tail(x, df):
    """The probability that a number of the t distribution exceeds x."""
    return mp.betainc(df / 2, mp.mpf(1) / 2, 0, df / (df + x * x), regularized=True) / 2


def normal_vectors(x, mean, root):
    law = scipy.stats.multivariate_normal(np.broadcast_to(mean, root.shape[-1:]), root @ root.T + np.eye(len(root)))
    return law.logpdf(x), law.pdf(x)


def described(x, o):
    d = scipy.stats.describe(x, **o)
    return [d.minmax[0], d.minmax[1], d.mean, d.variance, d.skewness, d.kurtosis]


def regressed(x, y, o):
    """scipy.stats.linregress: five results, and the standard error of the intercept."""
    fit = scipy.stats.linregress(x, y, **o)
    return [fit.slope, fit.intercept, fit.rvalue, fit.pvalue, fit.stderr, fit.intercept_stderr]


def kendall(x, y, o):
    """scipy.stats.kendalltau along the axis of the options, or the first."""
    o = {k: v for k, v in o.items() if k != "free"}
    axis = o.pop("axis", 0)
    return tuple(scipy.stats.kendalltau(x, y, axis=axis, **o))


def kolmogorov(x, y, o):
    """scipy.stats.kstest; of both sides the p-value by the distribution function, whose error is that of rounding."""
    o = dict(o)
    two, axis = o.pop("two", False), o.pop("axis", 0)
    limit = o.get("method") == "asymptotic"
    if limit:
        o["method"] = "asymp"
    columns = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]), np.moveaxis(y, axis, -1).reshape(-1, y.shape[axis])
    found = []
    for a, b in zip(*columns):
        d, p = scipy.stats.kstest(a, b if two else scipy.stats.norm.cdf, **o)[:2]
        n = round(len(a) * len(b) / (len(a) + len(b))) if two else len(a)
        if o.get("alternative", "two-sided") == "two-sided" and two == limit:
            p = 1 - scipy.stats.kstwo.cdf(d, n)
        found.append((d, p))
    shape = np.delete(x.shape, axis)
    return [np.reshape(part, shape) for part in zip(*found)]


def bootstrapped(key, x, y, o):
    """scipy.stats.bootstrap of samples that are drawn as by JAX."""
    keys = jax.random.split(jnp.asarray(key, jnp.uint32), 2)
    a, b = (v[np.asarray(jax.random.randint(k, (200, len(v)), 0, len(v), jnp.int32))] for k, v in zip(keys, (x, y)))

    def difference(u, v, axis=-1):
        return u.mean(axis=axis) - 2 * v.mean(axis=axis)

    class Drawn:
        bootstrap_distribution = difference(a, b)

    found = scipy.stats.bootstrap((x, y), difference, n_resamples=0, bootstrap_result=Drawn, vectorized=True, **o)
    return found.confidence_interval.low, found.confidence_interval.high, found.standard_error


def classes(score, y, p, o):
    """A score of classes of scikit-learn, which calls "none" None."""
    o = dict(o, average=None if o["average"] == "none" else o["average"])
    if o["average"] == "binary":
        return score(y == o["pos_label"], p == o["pos_label"], zero_division=0)
    return score(y, p, **{"zero_division": 0, **o})
