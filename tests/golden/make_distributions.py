"""make_distributions.py: golden values of JAX's distributions (distributions.txt).

For equal keys np.random uses the bits, keys and formulas of jax.random (make_random.py says how JAX was set up), so
numbers agree within what functions round; those that are drawn by rejection, and counts, do but where a comparison
falls on another side, for which one of these few keys would have to be unlucky. Where an array of Poisson or binomial
numbers is drawn by rejection, JAX keeps on drawing for all elements until the last one is accepted, and neap keeps each
element's first: such numbers are drawn one by one here. Parameters and results of f32 are drawn with 64-bit types off,
as neap's defaults have 32 bits.

Records:   function <tab> key data <tab> options <tab> tolerance <tab> parameter … <tab> = <tab> result
A parameter is a number or an array; `shape` in the options follows the parameters, the others are options. `keys` says
that the key is split into as many, of which each draws one number.
"""

import jax
import jax.numpy as jnp
import numpy as np

from records import Writer, dtype, number, options, text

KEYS = (0, 7, 2**40 + 5)
NEAR = {"f32": "rel 2e-05", "f64": "rel 1e-12"}
# Function, parameters; drawn in shape (7,).
PLAIN = [
    ("laplace",), ("logistic",), ("cauchy",), ("rayleigh", 2.0), ("weibull_min", 1.5, 2.0),
    ("triangular", -1.0, 0.5, 2.0), ("pareto", 3.0), ("lognormal", 0.5), ("maxwell",),
    ("double_sided_maxwell", 1.0, 2.0), ("wald", 2.0), ("gamma", 0.3), ("gamma", 2.5),
    ("loggamma", 0.01), ("loggamma", 3.0), ("chisquare", 4.0), ("f", 4.0, 6.0), ("t", 5.0),
    ("beta", 2.0, 3.0), ("beta", 0.1, 0.2), ("generalized_normal", 3.0),
]
COUNTS = [("geometric", 0.25), ("poisson", 0.5), ("poisson", 9.99)]
BINOMIALS = [(10.0, 0.5), (10.0, 0.05), (7.0, 1.0), (7.0, 0.0)]
# By rejection; each number is drawn alone, under a key of its own.
REJECTED_COUNTS = [("poisson", 10.0), ("poisson", 50.0), ("poisson", 1000.0)]
REJECTED_BINOMIALS = [(100.0, 0.3), (1000.0, 0.9)]


def write(out, name, key, result, tolerance, parameters=(), **option):
    parameters = [number(float(p)) if np.ndim(p) == 0 else text(np.asarray(p)) for p in parameters]
    out.record(name, text(np.asarray(jax.random.key_data(key))), options(**option), tolerance, *parameters, "=",
               text(np.asarray(result)))


def draws(out, seed, kind):
    key, real = jax.random.key(seed), dtype(kind)
    for name, *parameters in PLAIN:
        result = getattr(jax.random, name)(key, *[real.type(p) for p in parameters], shape=(7,), dtype=real)
        write(out, name, key, result, NEAR[kind], parameters, shape=(7,), dtype=kind)
    alphas = np.array([0.5, 1, 20, 1e4, 0.05], real)
    write(out, "gamma", key, jax.random.gamma(key, alphas, dtype=real), NEAR[kind], [alphas], dtype=kind)
    write(out, "gamma", key, jax.random.gamma(key, alphas, (2, 5), real), NEAR[kind], [alphas], shape=(2, 5),
          dtype=kind)
    alphas = np.array([[1, 2, 3], [0.1, 0.1, 5]], real)
    write(out, "dirichlet", key, jax.random.dirichlet(key, alphas, dtype=real), NEAR[kind], [alphas], dtype=kind)
    mean, root = np.array([1, -2, 0.5], real), np.array([[2, 0, 0], [0.5, 1, 0], [-1, 0.25, 1.5]], real)
    cov = (root @ root.T).astype(real)
    write(out, "multivariate_normal", key, jax.random.multivariate_normal(key, mean, cov, (2,), real),
          "abs 2e-05" if kind == "f32" else "abs 1e-12", [mean, cov], shape=(2,), dtype=kind)
    for n, m in ((3, 3), (2, 4), (4, 2)):
        write(out, "orthogonal", key, jax.random.orthogonal(key, n, (2,), real, m=m),
              "abs 2e-05" if kind == "f32" else "abs 1e-12", [n], shape=(2,), dtype=kind, m=m)
    for p in (1.5, 2):
        write(out, "ball", key, jax.random.ball(key, 3, p, (2,), real), NEAR[kind], [3], shape=(2,), dtype=kind,
              p=float(p))
    for n, p in BINOMIALS:
        result = jax.random.binomial(key, real.type(n), real.type(p), (9,), real)
        write(out, "binomial", key, result, "exact", [n, p], shape=(9,), dtype=kind)
    for n, p in REJECTED_BINOMIALS:
        result = jax.vmap(lambda k: jax.random.binomial(k, real.type(n), real.type(p), (), real))(
            jax.random.split(key, 9))
        write(out, "binomial", key, result, "exact", [n, p], keys=9, dtype=kind)
    odds = np.array([[0.2, 0.3, 0.5], [0.9, 0.1, 0]], real)
    write(out, "multinomial", key, jax.random.multinomial(key, np.array([10, 12], real), odds, dtype=real), "exact",
          [np.array([10, 12], real), odds], dtype=kind)


def counts(out, seed):
    key = jax.random.key(seed)
    write(out, "rademacher", key, jax.random.rademacher(key, (9,), dtype=jnp.int32), "exact", shape=(9,))
    for name, parameter in COUNTS:
        result = getattr(jax.random, name)(key, np.float32(parameter), shape=(9,), dtype=jnp.int32)
        write(out, name, key, result, "exact", [parameter], shape=(9,))
    for name, parameter in REJECTED_COUNTS:
        result = jax.vmap(lambda k: jax.random.poisson(k, np.float32(parameter), (), jnp.int32))(
            jax.random.split(key, 9))
        write(out, name, key, result, "exact", [parameter], keys=9)
    means = np.array([0, 3, 9, -1], np.float32)
    write(out, "poisson", key, jax.random.poisson(key, means, dtype=jnp.int32), "exact", [means])
    write(out, "categorical", key, jax.random.categorical(
        key, jnp.log(np.array([0.1, 0.2, 0.3, 0.4], np.float32)), shape=(3,), replace=False).astype(jnp.int32), "exact",
        shape=(3,))
    for axis in (0, 1, -1):
        rows = jnp.arange(12, dtype=jnp.int32).reshape(3, 4)
        write(out, "permutation", key, jax.random.permutation(key, rows, axis), "exact", [np.asarray(rows)], axis=axis)
        write(out, "permutation", key, jax.random.permutation(key, rows, axis, independent=True), "exact",
              [np.asarray(rows)], axis=axis, independent=True)
    odds = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    for replace in (True, False):
        write(out, "choice", key, jax.random.choice(key, 4, (3,), replace, odds).astype(jnp.int32), "exact", [4],
              shape=(3,), replace=replace, odds=True)
    rows = jnp.arange(12, dtype=jnp.int32).reshape(3, 4)
    write(out, "choice", key, jax.random.choice(key, rows, (2,), axis=1), "exact", [np.asarray(rows)], shape=(2,),
          axis=1)


def make():
    with Writer("distributions.txt", __doc__) as out:
        for seed in KEYS:
            draws(out, seed, "f64")
            with jax.enable_x64(False):
                draws(out, seed, "f32")
                counts(out, seed)


if __name__ == "__main__":
    make()
