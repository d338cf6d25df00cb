"""make_draws.py: distribution functions by SciPy (draws.txt), which many numbers of np.random are held to.

Of continuous distributions the points are quantiles, tails included; of counts, integers between such.

Records:   function <tab> parameter … <tab> = <tab> points <tab> the distribution function there
"""

import numpy as np
import scipy.stats as st

from records import Writer, number, text

LEVELS = np.array([1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999])
CONTINUOUS = [
    ("uniform", (), st.uniform()), ("normal", (), st.norm()), ("exponential", (), st.expon()),
    ("gumbel", (), st.gumbel_r()), ("laplace", (), st.laplace()), ("logistic", (), st.logistic()),
    ("cauchy", (), st.cauchy()), ("maxwell", (), st.maxwell()), ("rayleigh", (2,), st.rayleigh(scale=2)),
    ("weibull_min", (1.5, 0.7), st.weibull_min(0.7, scale=1.5)),
    ("triangular", (-1, 0.5, 2), st.triang(0.5, loc=-1, scale=3)), ("pareto", (3,), st.pareto(3)),
    ("lognormal", (0.5,), st.lognorm(0.5)), ("wald", (2,), st.invgauss(2)), ("wald", (1e6,), st.invgauss(1e6)),
    ("truncated_normal", (-1, 2), st.truncnorm(-1, 2)), ("truncated_normal", (2, 3), st.truncnorm(2, 3)),
    ("truncated_normal", (-float("inf"), 0), st.truncnorm(-np.inf, 0)),
    ("gamma", (0.3,), st.gamma(0.3)), ("gamma", (2.5,), st.gamma(2.5)), ("gamma", (1000,), st.gamma(1000)),
    ("loggamma", (0.5,), st.loggamma(0.5)), ("loggamma", (3,), st.loggamma(3)), ("chisquare", (4,), st.chi2(4)),
    ("chisquare", (0.5,), st.chi2(0.5)), ("f", (4, 6), st.f(4, 6)), ("t", (5,), st.t(5)), ("t", (1,), st.cauchy()),
    ("beta", (2, 3), st.beta(2, 3)), ("beta", (0.3, 0.2), st.beta(0.3, 0.2)),
    ("generalized_normal", (3,), st.gennorm(3)), ("generalized_normal", (1,), st.laplace()),
    ("generalized_normal", (60,), st.gennorm(60)),
]
COUNTS = [
    ("poisson", (0.5,), st.poisson(0.5)), ("poisson", (9.9,), st.poisson(9.9)), ("poisson", (10,), st.poisson(10)),
    ("poisson", (37.5,), st.poisson(37.5)), ("poisson", (1e5,), st.poisson(1e5)), ("geometric", (0.25,), st.geom(0.25)),
    ("geometric", (0.9,), st.geom(0.9)), ("binomial", (10, 0.5), st.binom(10, 0.5)),
    ("binomial", (40, 0.02), st.binom(40, 0.02)), ("binomial", (100, 0.3), st.binom(100, 0.3)),
    ("binomial", (1000, 0.95), st.binom(1000, 0.95)), ("binomial", (100000, 0.4), st.binom(100000, 0.4)),
]


def make():
    with Writer("draws.txt", __doc__) as out:
        for name, parameters, law in CONTINUOUS:
            points = law.ppf(LEVELS)
            out.record(name, *(number(float(p)) for p in parameters), "=", text(points), text(LEVELS))
        for name, parameters, law in COUNTS:
            points = np.unique(law.ppf(LEVELS))
            out.record(name, *(number(float(p)) for p in parameters), "=", text(points), text(law.cdf(points)))


if __name__ == "__main__":
    make()
