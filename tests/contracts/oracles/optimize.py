"""optimize.py: oracles of np.optimize: SciPy's solvers on the functions of optimize_test.lua and linear_test.lua."""

MODULES = """optimize linear"""

import numpy as np  # noqa: E402
import scipy.optimize  # noqa: E402


def cubic_root(o, c):
    """The root of x**3 - c."""
    given = dict(o)
    if given.get("method") in ("newton", "halley") or set(given) == {"x0"}:
        given |= {"fprime": lambda x: 3 * x * x, "fprime2": lambda x: 6 * x}
    return scipy.optimize.root_scalar(lambda x: x**3 - c, **given).root


def quartic_minimum(o, c):
    """The minimum of |x - c|**2 + (x0 x1)**2 from (1/2, 1/2), within bounds."""

    def f(x):
        return ((x - c) ** 2).sum() + (x[0] * x[1]) ** 2

    def gradient(x):
        return 2 * (x - c) + 2 * x[0] * x[1] * x[::-1]

    bounds = [o["bounds"]] * 2 if "bounds" in o else None
    if o.get("method") == "nelder-mead":
        return scipy.optimize.minimize(f, np.full(2, 0.5), method="Nelder-Mead",
                                       options={"xatol": 1e-10, "fatol": 1e-18, "maxiter": 2000}).x
    return scipy.optimize.minimize(f, np.full(2, 0.5), jac=gradient, method="L-BFGS-B", bounds=bounds,
                                   options={"gtol": 1e-12, "ftol": 1e-18}).x


def valley_minimum(o, a):
    """The minimum of (x - a)**2 + x**4 + exp(-x)."""
    bounds = tuple(o["bounds"]) if "bounds" in o else None
    options = {"xatol": 1e-12} if bounds else {"xtol": 1e-12}
    return scipy.optimize.minimize_scalar(lambda x: (x - a) ** 2 + x**4 + np.exp(-x), bounds=bounds,
                                          bracket=tuple(o["bracket"]) if "bracket" in o else None, options=options).x


def equations_root(c):
    """The root of x**3 + reversed x - c near 1."""
    return scipy.optimize.root(lambda x: x**3 + x[::-1] - c, np.ones_like(c), tol=1e-14).x


def residuals_fit(o, y):
    """The least squares of four residuals, and their cost."""

    def f(x):
        return np.array([x[0] + 0.2 * x[0] ** 2, x[1] - 0.3 * x[0], 0.5 * x[0] * x[1], x[0] + x[1]]) - y

    r = scipy.optimize.least_squares(f, np.ones(2), ftol=1e-15, xtol=1e-15, gtol=1e-15, loss=o.get("loss", "linear"),
                                     f_scale=o.get("f_scale", 1.0), bounds=o.get("bounds", (-np.inf, np.inf)),
                                     method="dogbox" if o.get("method") == "dogbox" else "trf")
    return r.x, r.cost


def decay_fit(o, y, sigma):
    """The fit of a exp(-t / 2) + b, and the covariance."""
    t = np.arange(6.0)
    return scipy.optimize.curve_fit(lambda t, a, b: a * np.exp(-t / 2) + b, t, y, [1, 1], sigma=sigma, ftol=1e-14,
                                    xtol=1e-14, absolute_sigma=o.get("absolute_sigma", False),
                                    bounds=o.get("bounds", (-np.inf, np.inf)))


def pairs_of(bounds, n):
    """Bounds as SciPy takes them: a pair for each number."""
    return np.stack([np.broadcast_to(np.asarray(end, float), (n,)) for end in bounds], 1)


def linear_solution(o, c, A, b):
    """The solution of a linear program, what is left of limits, and marginals; with integers these are 0."""
    given = {key: o[key] for key in ("A_eq", "b_eq", "integrality") if key in o}
    r = scipy.optimize.linprog(c, A, b, bounds=pairs_of(o.get("bounds", (0, np.inf)), len(c)),
                               options={"mip_rel_gap": 0} if "mip_rel_gap" in o else {}, **given)
    return (r.x, r.fun, r.slack, r.con, r.ineqlin.marginals, r.eqlin.marginals, r.lower.marginals, r.upper.marginals,
            r.lower.residual, r.upper.residual)


def whole_solution(o, c, A, b):
    """The status and the least value of a linear program with integers; NaN: there is none."""
    bounds = pairs_of(o["bounds"], len(c))
    constraints = [scipy.optimize.LinearConstraint(A, -np.inf, b),
                   scipy.optimize.LinearConstraint(np.ones((1, 4)), -4, 12)]
    r = scipy.optimize.milp(c, integrality=np.broadcast_to(o.get("integrality", 0), (len(c),)),
                            bounds=scipy.optimize.Bounds(bounds[:, 0], bounds[:, 1]), constraints=constraints,
                            options={"mip_rel_gap": 0, "time_limit": 10})
    return float(r.status), np.nan if r.fun is None else r.fun
