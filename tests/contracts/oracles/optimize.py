"""optimize.py: oracles of np.optimize: SciPy's solvers on the functions of optimize_test.lua."""

MODULES = """optimize"""

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
