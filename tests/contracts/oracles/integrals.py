"""integrals.py: definitions for integrals, differential equations, and splines."""

MODULES = """integrate interpolate"""

import jax.scipy.ndimage  # noqa: E402
import scipy.integrate  # noqa: E402
import scipy.ndimage  # noqa: E402
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


def path_with_noise(y0, dw, p, o):
    """torchsde's path of the equation of the tests, with noise, along given increments of 4 steps of length 1/4."""
    import torchsde

    y0, dw, p = (torch.as_tensor(np.array(v, np.float64)) for v in (y0, dw, p))
    columns = torch.cos(torch.arange(len(y0), dtype=torch.float64))

    class Equation:
        noise_type = o.get("noise", "diagonal")
        sde_type = "stratonovich" if o.get("method") == "heun" else "ito"

        def f(self, t, y):
            return y * (p - y) + 0.5 * torch.sin(3 * t)

        def g(self, t, y):
            if self.noise_type == "general":
                return y[:, :, None] * (p * 0.3) * columns
            return y * p * 0.3 + torch.cos(t) * 0.1

    def increment(t, until=None, **_):
        return dw[round(float(t) * 4)][None]

    increment.levy_area_approximation = "none"
    increment.shape = (1, len(y0))
    increment.dtype, increment.device = torch.float64, y0.device
    times = torch.arange(0, 1.01, o.get("steps", 2) / 4, dtype=torch.float64)
    return torchsde.sdeint(Equation(), y0[None], times, bm=increment, dt=0.25,
                           method=o.get("method", "euler"))[:, 0].detach().numpy()


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


def spline_values(p, places=(-0.4, 0.3, 1.7, 2.2, 3.6, 9.8)):
    """Values, derivatives, integrals of a B-spline of SciPy; -7 for NaN."""
    places = np.array(places)
    slope, whole = (p.derivative(), p.antiderivative()) if p.k else (p, p.antiderivative())
    results = p(places), slope(places), whole(places[1:4]), p.integrate(-0.6, 4.3)
    return [np.where(np.isnan(r), -7, r) for r in results]


def b_spline(t, c, o):
    """SciPy's BSpline, of complex numbers for each part; where both are NaN there is -7 alone."""
    if np.iscomplexobj(c):
        pairs = zip(b_spline(np.real(t), np.real(c), o), b_spline(np.real(t), np.imag(c), o))
        return [np.where((a == -7) & (b == -7), -7, a + 1j * b) for a, b in pairs]
    return spline_values(scipy.interpolate.BSpline(t, np.moveaxis(c, 0, -1) if "axis" in o else c, o["k"],
                                                   **{k: v for k, v in o.items() if k in ("axis", "extrapolate")}))


def through_points(x, y, o, size=1):
    """SciPy's make_interp_spline, of complex numbers for each part; derivatives at the ends, times `size`, are numbers
    for all elements."""
    if np.iscomplexobj(y):
        return [a + 1j * b for a, b in zip(through_points(np.real(x), np.real(y), o),
                                           through_points(np.real(x), np.imag(y), o, 0))]

    def conditions(end):
        if isinstance(end, str):
            return end
        return [(order, np.full(y.shape[1:], value * size)) for order, value in end]

    o, pair = dict(o), o.get("bc_type")
    if isinstance(pair, tuple):
        o["bc_type"] = tuple(conditions(end) for end in pair)
    if o.pop("knots", False):
        k = o["k"]
        o["t"] = np.concatenate([[x[0]] * (k + 1), (x[1:-k] + x[k:-1]) / 2, [x[-1]] * (k + 1)])
    return spline_values(scipy.interpolate.make_interp_spline(x, np.moveaxis(y, 0, -1) if "axis" in o else y, **o))


def near_points(x, y, w, o):
    t = np.array([-1] * 3 + [6.5] + [23] * 3 if o.get("k") == 2 else [-1] * 4 + [5.25] + [23] * 4)
    w = w if o.get("w") else None
    o = {k: v for k, v in o.items() if k in ("k", "axis")}
    return spline_values(scipy.interpolate.make_lsq_spline(np.real(x), np.moveaxis(y, 0, -1) if "axis" in o else y, t,
                                                           w=w, **o))


def smoothed(x, y, w, lam, o):
    """SciPy's make_smoothing_spline. With gcv, lam is where the criterion of each column is smallest, by the matrix
    that makes values of y."""
    x, lam, w = np.asarray(x, float), float(lam), np.asarray(w, float) if o.get("w") else None
    y = np.asarray(y, float)

    def made(y, lam, axis=0):
        return scipy.interpolate.make_smoothing_spline(x, y, w=w, lam=lam, axis=axis)

    def criterion(log_lam, y):
        matrix = made(np.eye(len(x)), np.exp(log_lam))(x)
        return np.sum((y - matrix @ y) ** 2) / (len(x) - np.trace(matrix)) ** 2

    def chosen(y):
        tries = np.linspace(np.log(1e-6), np.log(1e9), 400)
        best = np.argmin([criterion(at, y) for at in tries])
        around = tries[max(best - 1, 0)], tries[min(best + 1, 399)]
        return np.exp(scipy.optimize.minimize_scalar(criterion, bounds=around, args=(y,), method="bounded",
                                                     options={"xatol": 1e-8}).x)

    if not o.get("gcv"):
        return spline_values(made(np.moveaxis(y, 0, -1), lam, -1) if "axis" in o else made(y, lam))
    if y.ndim == 1:
        return spline_values(made(y, chosen(y)))
    columns = [spline_values(made(column, chosen(column))) for column in y.T]
    return [np.stack(parts, 0 if "axis" in o else -1) for parts in zip(*columns)]


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
    order = o.pop("order")
    if order < 2:
        return jax.scipy.ndimage.map_coordinates(jnp.asarray(x), list(t), order, **o)
    o["mode"] = {"constant": "grid-constant", "wrap": "grid-wrap"}.get(o["mode"], o["mode"])
    x, t = np.asarray(x), np.asarray(t, np.float64)
    grid = x
    if o["mode"] == "reflect":  # whose filter begins with a wrong sum on a short axis (oracles/images.py)
        more = [n * (-(-40 // n)) for n in x.shape]
        grid = np.pad(x, [(m, m) for m in more], "symmetric")
        t = t + np.reshape(more, (-1,) + (1,) * (t.ndim - 1))
    result = scipy.ndimage.map_coordinates(grid, t, order=order, output=np.float64, **o)
    if x.dtype.kind not in "iu":
        return result
    span = np.iinfo(x.dtype)
    return np.clip(np.sign(result) * np.floor(np.abs(result) + 0.5) + 0.0, span.min, span.max)
