"""make_linalg.py: linear algebra: values by NumPy and JAX, derivatives of first to third order by JAX (linalg.txt).

Records:   value <tab> name <tab> tolerance <tab> inputs… <tab> = <tab> results…
           derivative <tab> name <tab> tolerance <tab> inputs… <tab> = <tab> value <tab> gradients… <tab> second
           <tab> third (in one line)

The function of a name is written twice: here, and in linalg_test.lua. A `value` case returns one array or several; a
`derivative` case a scalar (arrays are reduced by `weigh`, as in make_gradients.py). Its second and third derivatives
are those of t -> f(inputs + t * directions) at 0, with directions of small multiples of 1/8, made alike on both sides.
Inputs are multiples of 1/64, exact in f32; the test runs every case in both dtypes.

What has a free sign (vectors of qr, eigh, svd) is compared by magnitude, or by functions that do not depend on it.
Where NumPy raises (singular, not positive definite) JAX gives nan or inf, and so does neap.
"""

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np

from records import Writer, text

RNG = np.random.default_rng(5)
VALUES, DERIVATIVES = [], []


def weigh(y):
    return jnp.sum(y * (jnp.arange(y.size, dtype=y.dtype) * 0.125 + 0.5).reshape(y.shape))


def normal(*shape):
    return np.round(RNG.standard_normal(shape) * 64) / 64


def definite(*shape):
    """Symmetric, positive definite."""
    a = np.round(RNG.standard_normal(shape) * 8) / 8
    return a @ np.swapaxes(a, -1, -2) + np.eye(shape[-1])


def apart(n):
    """Symmetric, with eigenvalues well apart."""
    a = normal(n, n) * 0.25
    return a + a.T + np.diag(np.arange(n) * 3.0 - 2)


def value(*inputs, near="scaled 1e-12"):
    def register(function):
        VALUES.append((function.__name__, function, [np.asarray(x, np.float64) for x in inputs], near))
        return function
    return register


def derivative(*inputs, near="scaled 1e-9"):
    def register(function):
        DERIVATIVES.append((function.__name__, function, [np.asarray(x, np.float64) for x in inputs], near))
        return function
    return register


L = jnp.linalg


@value(definite(2, 3, 3))
def cholesky(a):
    return L.cholesky(a), jnp.swapaxes(L.cholesky(a), -1, -2)


@value(np.array([[[4.0, 2.0], [2.0, 3.0]], [[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]]))
def cholesky_not_definite(a):
    return L.cholesky(a)


@value(np.array([[4.0, 1.0], [2.0, 3.0]]))
def cholesky_symmetrized(a):
    return L.cholesky(a), L.cholesky(a, symmetrize_input=False)


@value(normal(2, 4, 4) + 3 * np.eye(4), normal(4, 3), normal(4))
def solve(a, b, v):
    return L.solve(a, b), L.solve(a[0], v), jnp.stack([L.solve(m, v) for m in a])


@value(normal(3, 3) + 3 * np.eye(3), normal(3, 2), normal(3))
def solve_triangular(a, b, v):
    s = jax.scipy.linalg.solve_triangular
    return (s(a, b), s(a, b, lower=True), s(a, b, trans=1), s(a, v, lower=True, trans=1),
            s(a, b, unit_diagonal=True), s(a, b, lower=True, trans=1, unit_diagonal=True))


@value(normal(2, 3, 3) + 2 * np.eye(3))
def inverse(a):
    return L.inv(a)


@value(np.stack([normal(4, 4), np.eye(4), np.diag([1.0, -2, 3, 4])[[1, 0, 2, 3]], np.ones((4, 4))]))
def determinants(a):
    sign, logarithm = L.slogdet(a)
    return L.det(a), sign, logarithm


@value(normal(4, 3), normal(3, 4), normal(2, 3, 3))
def qr_magnitudes(a, b, c):
    results = []
    for x in (a, b, c):
        results += [jnp.abs(y) for y in L.qr(x)]
    return (*results, *[jnp.abs(y) for y in L.qr(b, mode="complete")], jnp.abs(L.qr(a, mode="complete")[1]),
            jnp.abs(L.qr(a, mode="r")))


@value(apart(4), np.stack([apart(3), apart(3)]))
def eigh(a, b):
    w, v = L.eigh(a)
    many, vectors = L.eigh(b)
    return w, jnp.abs(v), many, jnp.abs(vectors), L.eigvalsh(b)


@value(normal(3, 3))
def eigh_triangles(a):
    lower, upper = np.linalg.eigvalsh(np.asarray(a), "L"), np.linalg.eigvalsh(np.asarray(a), "U")
    return jnp.asarray(lower), jnp.asarray(upper), L.eigvalsh(a)


@value(normal(4, 3), normal(2, 2, 4))
def svd(a, b):
    results = []
    for x in (a, b):
        results += [jnp.abs(y) for y in L.svd(x, full_matrices=False)]
    return (*results, L.svdvals(a), jnp.abs(L.svd(a)[0][:, :3]), jnp.abs(L.svd(b)[2][:, :2]))


@value(normal(2, 4, 3), np.array([[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]]))
def by_singular_values(a, b):
    return (L.pinv(a), L.pinv(b), L.matrix_rank(a).astype(a.dtype), L.matrix_rank(b).astype(a.dtype), L.cond(a),
            jnp.asarray(np.linalg.cond(np.asarray(a), -2)))


@value(normal(5, 3), normal(5), normal(5, 2), normal(3, 5), normal(3))
def lstsq(a, v, b, wide, u):
    x, squares, rank, s = L.lstsq(a, v)
    many, more, _, _ = L.lstsq(a, b)
    short, _, _, _ = L.lstsq(wide, u)
    return x, squares[0], rank.astype(a.dtype), s, many, more, short


@value(normal(2, 3, 3) + 2 * np.eye(3), normal(4))
def norms(a, v):
    results = [L.matrix_norm(a, ord=p) for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)]
    results += [L.vector_norm(v, ord=p) for p in (2, 1, 0, np.inf, -np.inf, 3, 0.5)]
    results += [L.norm(a), L.norm(a, axis=1), L.norm(a, axis=(0, 2)), L.norm(a[0], ord=1), L.norm(v, ord=1),
                L.norm(a, axis=(2, 0), ord="nuc", keepdims=True), L.vector_norm(a, axis=(0, 1), keepdims=True)]
    results += [L.cond(a, p) for p in ("fro", 1, -1, np.inf, -np.inf)]
    return tuple(results)


@value(normal(2, 3, 3), normal(3, 4), normal(4, 2), normal(2))
def products(a, b, c, v):
    return (L.matrix_power(a, 0), L.matrix_power(a, 1), L.matrix_power(a, 5), L.matrix_power(a, -3),
            L.multi_dot([a[0], b, c]), L.multi_dot([a[0, 0], b, c, v]), L.multi_dot([b, c]))


@value(normal(3, 4), normal(2, 3, 4), normal(2, 3), normal(3))
def elements(a, b, c, v):
    return (L.trace(b), L.trace(a, offset=1), L.trace(a, offset=-2), L.diagonal(b, offset=-1), L.diagonal(a, offset=9),
            jnp.diagonal(b, 1, 2, 0), L.cross(c, v), jnp.kron(a, c), jnp.kron(v, a), jnp.vecdot(c, v))


@value(normal(2, 6), np.array([1.0, 3.0, 2.0, 3.0, 0.5]), np.array([0.0, 1.0, 2.5, 2.5, 4.0]),
       np.array([-1.0, 0.0, 0.5, 2.5, 3.0, 4.0, 9.0]), normal(5))
def along_axes(a, v, grid, x, f):
    return (jax.lax.cummax(a, 1), jax.lax.cummin(a, 0), jax.lax.cummax(v), jnp.diff(a), jnp.diff(a, 2, axis=1),
            jnp.diff(a, axis=0), *[y.astype(a.dtype) for y in jax.lax.top_k(a, 3)],
            jax.lax.top_k(v, 4)[1].astype(a.dtype), jnp.searchsorted(grid, x).astype(a.dtype),
            jnp.searchsorted(grid, x, side="right").astype(a.dtype), jnp.interp(x, grid, f),
            jnp.interp(x, grid, f, left=-5.0, right=7.0))


# ---- Derivatives: of functions that do not depend on free signs ----------------------------------------------------

@derivative(definite(2, 3, 3))
def of_cholesky(a):
    return weigh(L.cholesky(a))


@derivative(normal(2, 3, 3) + 3 * np.eye(3), normal(3, 2))
def of_solve(a, b):
    return weigh(L.solve(a, b)) + weigh(L.solve(a[0], b[:, 0]))


@derivative(normal(3, 3) + 3 * np.eye(3), normal(3, 2))
def of_solve_triangular(a, b):
    s = jax.scipy.linalg.solve_triangular
    return weigh(s(a, b)) + 2 * weigh(s(a, b, lower=True, trans=1)) + weigh(s(a, b, unit_diagonal=True))


@derivative(normal(2, 3, 3) + 2 * np.eye(3))
def of_inverse(a):
    return weigh(L.inv(a))


@derivative(normal(2, 3, 3) + 2 * np.eye(3))
def of_determinants(a):
    return weigh(L.det(a)) + weigh(L.slogdet(a)[1]) + weigh(L.slogdet(a)[0])


@derivative(normal(4, 3), normal(2, 3, 3))
def of_qr(a, b):
    q, r = L.qr(a)
    other, upper = L.qr(b)
    return weigh(q**2) + weigh(r**2) + weigh(other * other) + weigh(jnp.abs(upper))


@derivative(normal(2, 4))
def of_qr_wide(a):
    """Of the factors of the first columns: this JAX has no derivative of wide ones."""
    q, r = L.qr(a[:, :2])
    return weigh(q**2) + weigh(jnp.concatenate([r, q.T @ a[:, 2:]], 1)**2)


@derivative(apart(4))
def of_eigh(a):
    w, v = L.eigh(a)
    return weigh(w) + weigh(v * v) + weigh(L.eigvalsh(a)**2)


@derivative(normal(4, 3), normal(2, 4))
def of_svd(a, b):
    u, s, vh = L.svd(a, full_matrices=False)
    x, t, yh = L.svd(b, full_matrices=False)
    return weigh(u**2) + weigh(s) + weigh(vh**2) + weigh(x**2) + weigh(t**2) + weigh(yh**2)


@derivative(normal(4, 3), normal(2, 4))
def of_pinv(a, b):
    return weigh(L.pinv(a)) + weigh(L.pinv(b))


@derivative(normal(5, 3), normal(5))
def of_lstsq(a, b):
    x, squares, _, s = L.lstsq(a, b)
    return weigh(x) + weigh(squares) + weigh(s)


@derivative(normal(3, 3) + 2 * np.eye(3), normal(4))
def of_norms(a, v):
    total = sum(k * L.matrix_norm(a, ord=p) for k, p in enumerate(("fro", "nuc", 1, 2, -2, np.inf), 1))
    return total + L.vector_norm(v) + L.vector_norm(v, ord=3) + L.vector_norm(v, ord=1) + L.cond(a)


@derivative(normal(3, 3) + 2 * np.eye(3))
def of_powers(a):
    return weigh(L.matrix_power(a, 3)) + weigh(L.matrix_power(a, -2)) + L.trace(a @ a, offset=1)


@derivative(definite(3, 3), normal(3))
def gaussian_log_density(a, x):
    lower = L.cholesky(a)
    z = jax.scipy.linalg.solve_triangular(lower, x, lower=True)
    return -0.5 * jnp.sum(z * z) - jnp.sum(jnp.log(jnp.diag(lower)))


@derivative(normal(2, 6), np.array([0.0, 1.0, 2.25, 3.0]), np.array([0.5, 1.5, 2.5, 7.0]), normal(4))
def of_axes(a, grid, x, f):
    return (weigh(jax.lax.cummax(a, 1)**2) + weigh(jnp.diff(a, 2)**2) + weigh(jax.lax.top_k(a, 3)[0]**2)
            + weigh(jnp.interp(x, grid, f)**2) + weigh(jnp.kron(a, grid)) + weigh(jnp.cross(a[:, :3], f[:3])**2))


def direction(x):
    """Small multiples of 1/8, by position."""
    return ((np.arange(x.size) * 5 % 7 - 3) / 8.0).reshape(x.shape)


def make():
    with Writer("linalg.txt", __doc__) as out:
        for name, function, inputs, near in VALUES:
            results = function(*[jnp.asarray(x) for x in inputs])
            results = results if isinstance(results, tuple) else (results,)
            out.record("value", name, near, *[text(x) for x in inputs], "=", *[text(np.asarray(y)) for y in results])
        for name, function, inputs, near in DERIVATIVES:
            given = [jnp.asarray(x) for x in inputs]
            y, gradients = jax.jit(jax.value_and_grad(lambda xs: function(*xs)))(given)

            def along(t):
                return function(*[x + t * direction(x) for x in given])

            first = jax.grad(along)
            second = jax.jit(jax.jacfwd(first))(0.0)
            third = jax.jit(jax.jacfwd(jax.jacfwd(first)))(0.0)
            out.record("derivative", name, near, *[text(x) for x in inputs], "=", text(np.asarray(y)),
                       *[text(np.asarray(g)) for g in gradients], text(np.asarray(second)), text(np.asarray(third)))
