"""integrals.py: definitions for integrals, differential equations, and splines."""

MODULES = """integrate interpolate"""

import jax.scipy.ndimage  # noqa: E402
import scipy.integrate  # noqa: E402
from jax.experimental.ode import odeint  # noqa: E402


def sampled(f, y, x, o):
    """An integral of samples by SciPy, with coordinates where the options say so."""
    o = dict(o)
    return f(y, x=x if o.pop("x", None) else None, **o)


def integrated(f, a, b, p):
    """The integral of f(x, p), whose values are arrays, with all digits that floats have."""
    return scipy.integrate.quad_vec(lambda x: f(x, p), float(a), float(b), epsabs=1e-14, epsrel=1e-14)[0]


def doubled(a, b, p):
    """The double integral of the tests, for each p."""

    def one(q):
        f = lambda y, x: np.exp(-q * x * y) * np.cos(x - y) + y  # noqa: E731
        return scipy.integrate.dblquad(f, float(a), float(b), -1, lambda x: x * x, epsabs=1e-12, epsrel=1e-12)[0]

    return np.reshape([one(q) for q in np.ravel(p)], np.shape(p))


def solved(y0, p, o):
    """solve_ivp of the equation of the tests: times and states by the same method, or by a tight one. BDF takes the
    Jacobian, as neap does: differences would lead to other steps."""

    def f(t, y):
        return y * (p - y) + 0.5 * np.sin(3 * t)

    o = dict(o)
    if o.get("method") in ("Rodas4", "Radau"):
        o |= {"method": "DOP853", "rtol": 1e-12, "atol": 1e-12}
    if o.get("method") == "BDF":
        o["jac"] = lambda t, y: np.diag(p - 2 * y)
    for name in ("max_steps", "all", "back"):
        o.pop(name, None)
    o.setdefault("t_eval", [0, 0.5, 2])
    r = scipy.integrate.solve_ivp(f, (o["t_eval"][0], o["t_eval"][-1]), y0, **o)
    return r.y


def adjoint(y0, t, p):
    """jax.experimental.ode.odeint of that equation, and its gradients by all arguments."""

    def loss(y0, t, p):
        rows = odeint(lambda y, t, p: y * (p - y) + 0.5 * jnp.sin(3 * t), y0, t, p, rtol=1e-11, atol=1e-11)
        return (rows * rows * (1 + jnp.arange(rows.shape[0])[:, None])).sum(), rows

    arguments = [jnp.asarray(v, jnp.float64) for v in (y0, t, p)]
    gradients, rows = jax.grad(loss, (0, 1, 2), has_aux=True)(*arguments)
    return (rows,) + tuple(gradients)


def between(make, x, y, o):
    """Values, derivatives and an integral of what SciPy makes of points; -7 for NaN."""
    places = np.array([-0.4, 0.3, 1.7, 2.2, 3.6, 9.8])
    p = make(np.real(x), np.moveaxis(y, 0, -1) if "axis" in o else y, **o)
    results = p(places), p(places, 1), p(places[0], 2), p.integrate(-0.6, 4.3)
    return [np.where(np.isnan(r), -7, r) for r in results]


def cubic_of(x, y, o):
    pair, y = o.get("bc_type"), np.array(y)
    if pair == "periodic":
        y[-1] = y[0]
    if isinstance(pair, tuple):
        o["bc_type"] = tuple(c if isinstance(c, str) else (c[0], np.full(y.shape[1:], c[1])) for c in pair)
    return between(scipy.interpolate.CubicSpline, x, y, o)


def gridded(values, xi, o):
    """interpn of the grid of the tests; -7 for NaN."""
    o = dict(o)
    if o.get("fill_value") is False:
        o["fill_value"] = None
    result = scipy.interpolate.interpn(([0, 1, 2], [0, 0.5, 1.5, 2]), values, xi, **o)
    result = result[0] if xi.ndim == 1 else result
    return np.where(np.isnan(result), -7, result)


def mapped(x, t, o):
    o = dict(o)
    return jax.scipy.ndimage.map_coordinates(jnp.asarray(x), list(t), o.pop("order"), **o)
