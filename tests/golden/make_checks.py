"""make_checks.py: golden values of np.check_grads (checks.txt), by jax.test_util.check_grads, in f64.

Records `order <tab> modes <tab> slope of the first derivative <tab> of the second <tab> passes`: 1 where JAX finds
nothing wrong in f(x) = g(sin(x) x) at x = (0.5, -1, 2). g(y) = y has the derivative slope (1 + (second - 1) (y - c)),
where c is y as a constant: the first derivative is wrong by one factor, its own derivative by the other.
"""

import itertools

import jax
import jax.numpy as jnp
from jax.test_util import check_grads

from records import Writer


def function(slope, second):
    @jax.custom_jvp
    def g(y):
        return y

    @g.defjvp
    def _(primals, tangents):
        (y,), (t,) = primals, tangents
        return g(y), slope * (1 + (second - 1) * (y - jax.lax.stop_gradient(y))) * t

    return lambda x: g(jnp.sin(x) * x)


def passes(f, order, modes):
    try:
        check_grads(f, (jnp.array([0.5, -1.0, 2.0]),), order, modes=modes)
    except AssertionError:
        return "0"
    return "1"


def make():
    with Writer("checks.txt", __doc__) as out:
        for order, modes in itertools.product((1, 2), (("fwd",), ("rev",), ("fwd", "rev"))):
            for slope, second in ((1, 1), (1 + 1e-8, 1), (1.001, 1), (-1, 1), (0, 1), (1, 1.01), (1, 2)):
                found = passes(function(slope, second), order, modes)
                out.record(str(order), " ".join(modes), repr(slope), repr(second), found)


if __name__ == "__main__":
    make()
