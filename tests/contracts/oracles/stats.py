"""stats.py: what contracts of np.stats and np.metrics compare with."""

MODULES = """laws stats metrics"""


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


def classes(score, y, p, o):
    """A score of classes of scikit-learn, which calls "none" None."""
    o = dict(o, average=None if o["average"] == "none" else o["average"])
    if o["average"] == "binary":
        return score(y == o["pos_label"], p == o["pos_label"], zero_division=0)
    return score(y, p, **{"zero_division": 0, **o})
