"""make_gradients.py: values and derivatives to the third order by JAX, in f64 (gradients.txt).

Records:   name <tab> tolerance <tab> inputs… <tab> = <tab> value <tab> gradients, one per input
           <tab> second derivatives, one per input <tab> third derivatives, one per input

The second derivative is the gradient of the derivative along a direction v, the third that of the second derivative
along v twice; element k of input i of v is `direction` of them. So each is as large as a gradient, and a wrong element
shows.

The function of a name is written twice: here for JAX and in gradients_test.lua for neap. It takes the list of inputs
and returns a scalar; results that are arrays are first reduced by `weigh`, which gives every element another weight, so
that a gradient that lands in the wrong place shows. Inputs are multiples of 1/64, hence exact in f32 too, and the test
runs every case in both dtypes. `scaled T` allows an error of T times the largest magnitude of the array.

What JAX does at kinks, which neap follows: maximum, minimum and max, min over axes share the cotangent evenly between
ties; relu (jax.nn.relu) has gradient 0 at 0; clip is a maximum and a minimum, so a tie with a bound is shared. abs is
left out at 0: this JAX gives 1 there (0 counts as positive), Torch 0, and so does neap.
"""

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np

from records import Writer, text

RNG = np.random.default_rng(21)
CASES = []


def weigh(y):
    return jnp.sum(y * (jnp.arange(y.size, dtype=y.dtype) * 0.125 + 0.5).reshape(y.shape))


def normal(*shape):
    """About normal, in multiples of 1/64."""
    return np.round(RNG.standard_normal(shape) * 64) / 64


def positive(*shape):
    """In [1/2, 3)."""
    return np.round(RNG.uniform(0.5, 2.9, shape) * 64) / 64


def case(*inputs, near="scaled 1e-11"):
    """Registers a function under its own name."""
    def register(function):
        CASES.append((function.__name__, function, [np.asarray(x, np.float64) for x in inputs], near))
        return function
    return register


def direction(k, i):
    """Between -5/8 and 5/8."""
    return ((7 * k + 3 * i) % 11 - 5) / 8


def unary(name, function, values):
    """A case `unary_NAME`."""
    def f(x):
        return weigh(function(x))
    f.__name__ = "unary_" + name
    case(values)(f)


for _name, _function in [("exp", jnp.exp), ("expm1", jnp.expm1), ("tanh", jnp.tanh), ("sin", jnp.sin), ("cos", jnp.cos),
                         ("square", jnp.square), ("negative", jnp.negative), ("atan", jnp.atan),
                         ("sigmoid", jax.nn.sigmoid), ("relu", jax.nn.relu), ("erf", jax.scipy.special.erf),
                         ("softplus", jax.nn.softplus), ("silu", jax.nn.silu), ("sinh", jnp.sinh), ("cosh", jnp.cosh),
                         ("gelu", lambda x: jax.nn.gelu(x, approximate=False)),
                         ("gelu_tanh", lambda x: jax.nn.gelu(x, approximate=True)),
                         ("floor", jnp.floor), ("sign", jnp.sign), ("asinh", jnp.arcsinh), ("exp2", jnp.exp2)]:
    unary(_name, _function, np.concatenate([normal(6), [0, 1, -2.5]]))
unary("abs", jnp.abs, np.array([0.75, -1.5, 2, -0.125]))
for _name, _function in [("log", jnp.log), ("log1p", jnp.log1p), ("log2", jnp.log2), ("sqrt", jnp.sqrt),
                         ("reciprocal", jnp.reciprocal), ("log10", jnp.log10), ("rsqrt", jax.lax.rsqrt),
                         ("cbrt", jnp.cbrt)]:
    unary(_name, _function, positive(7))
for _name, _function in [("asin", jnp.arcsin), ("acos", jnp.arccos), ("atanh", jnp.arctanh), ("tan", jnp.tan),
                         ("erf_inv", jax.scipy.special.erfinv)]:
    unary(_name, _function, np.round(RNG.uniform(-0.8, 0.8, 6) * 64) / 64)
unary("acosh", jnp.arccosh, 1 + positive(5))


@case(normal(7))
def sum_of_squares(x):
    return (x * x).sum()


@case(np.array(1.25))
def scalar_argument(x):
    return x * x * x - 2 * x


@case(normal(3, 4), normal(3, 4))
def arithmetic(x, y):
    return weigh((x + y) * (x - y) * 0.5 - 3 * x + (2 - y))


@case(normal(3, 4), positive(3, 4))
def division(x, y):
    return weigh(x / y + 2 / y + x / 4)


@case(positive(5), normal(5))
def power(x, y):
    return weigh(x**y)


@case(normal(5))
def power_number(x):
    return weigh(x**2 + x**3)


@case(positive(5))
def power_half(x):
    return weigh(x**0.5 + x**-1.5)


@case(normal(5))
def number_power(x):
    return weigh(2.0**x)


@case(normal(3, 1), normal(4), normal(2, 1, 1), np.array(0.75))
def broadcasting(x, y, z, s):
    return weigh(x * y * z * s + y - x)


@case(normal(4, 3), positive(4, 3))
def where_branches(x, y):
    return weigh(jnp.where(x > 0, x * y, x / y))


@case(np.array([1.0, -2.0, 0.5, 0.0]))
def where_guarded(x):
    safe = jnp.where(x > 0, x, 1.0)
    return weigh(jnp.where(x > 0, jnp.log(safe), 0.0))


@case(np.array([[1, 5, 5, 2], [3, 3, 3, 3], [-1, -2, -1, 0]]))
def max_ties(x):
    return weigh(x.max(axis=1)) + 2 * x.max()


@case(np.array([[1, 5, 5, 2], [3, 3, 3, 3], [-1, -2, -1, -2]]))
def min_ties(x):
    return weigh(x.min(axis=0)) + 2 * x.min()


@case(np.array([1.0, 2, 3, -1]), np.array([1.0, 3, 2, -1]))
def maximum_ties(x, y):
    return weigh(jnp.maximum(x, y)) + 3 * weigh(jnp.minimum(x, y))


@case(np.array([-1.0, 0, 2, 0.5]))
def maximum_number(x):
    return weigh(jnp.maximum(x, 0.0))


@case(np.array([-3.0, -0.5, 0.25, 7]))
def clipped(x):
    return weigh(jnp.clip(x, -1.0, 2.0))


@case(normal(3, 5))
def reductions(x):
    return weigh(x.sum(axis=0)) + 2 * weigh(x.mean(axis=1)) + x.mean() + weigh(x.sum(axis=1, keepdims=True) * x)


@case(normal(4, 5))
def variance(x):
    return weigh(x.var(axis=1)) + x.std() + weigh(x.var(axis=0, keepdims=True))


@case(positive(2, 3))
def product(x):
    return weigh(x.prod(axis=1)) + x.prod()


@case(normal(3, 5))
def logsumexp(x):
    return weigh(jax.scipy.special.logsumexp(x, axis=1)) + jax.scipy.special.logsumexp(x)


@case(normal(3, 5))
def softmax(x):
    return weigh(jax.nn.softmax(x, axis=-1)) + weigh(jax.nn.log_softmax(x, axis=0))


@case(normal(4, 5))
def normalisation(x):
    m = x.mean(axis=1, keepdims=True)
    v = ((x - m) ** 2).mean(axis=1, keepdims=True)
    return weigh((x - m) / jnp.sqrt(v + 1e-3))


@case(normal(4, 6))
def slicing(x):
    return weigh(x[1:3, ::-1]) + 2 * weigh(x[::2]) + 3 * weigh(x[-1]) + weigh(x[:, 1:6:2] * x[:, :3]) + x[2, 3]


@case(normal(2, 3, 4))
def views(x):
    y = x.transpose(2, 0, 1).reshape(4, 6)
    z = jnp.flip(x, axis=1).reshape(6, 4)
    w = jnp.broadcast_to(x[:, None, 0, :1], (2, 5, 1))
    return weigh(y * y) + weigh(z @ y) + weigh(w) + weigh(jnp.squeeze(x[:, 1:2, :], axis=1).T)


@case(normal(2, 3), normal(2, 2), normal(2, 3))
def joining(x, y, z):
    return weigh(jnp.concatenate([x, y, x], axis=1)) + weigh(jnp.stack([x, z, x * z], axis=1))


@case(normal(5, 3))
def take_repeated(x):
    rows = jnp.take(x, jnp.array([0, 3, 3, 1, 3]), axis=0)
    columns = jnp.take(x, jnp.array([[2, 0], [2, 2]]), axis=1)
    return weigh(rows * rows) + weigh(columns)


@case(normal(4), normal(4))
def matmul_1d_1d(x, y):
    return jnp.matmul(x, y) ** 2


@case(normal(4), normal(4, 3), normal(3))
def matmul_1d_2d(x, a, y):
    return weigh(x @ a) + weigh(a @ y)


@case(normal(2, 4), normal(4, 3))
def matmul_2d_2d(a, b):
    return weigh(jnp.tanh(a @ b))


@case(normal(5, 2, 4), normal(4, 3), normal(5, 4, 2))
def matmul_batched(a, b, c):
    return weigh(a @ b) + weigh(jnp.matmul(a, c) ** 2)


@case(normal(2, 1, 3, 2), normal(4, 2, 3))
def matmul_broadcast(a, b):
    return weigh(a @ b)


@case(normal(4, 3), normal(4), normal(2, 4))
def matmul_transposed(a, x, b):
    return weigh(a.T @ x) + weigh(a.T @ b.T)


@case(normal(3, 4))
def sorting(x):
    return weigh(jnp.sort(x, axis=1) ** 2) + weigh(jnp.sort(x, axis=0) * x)


@case(normal(3, 4))
def cumulative(x):
    return weigh(jnp.cumsum(x, axis=0) ** 2) + weigh(jnp.cumprod(x, axis=1))


@case(np.array([[1.5, 0, -2, 0.5], [0, 3, 0, 0.25], [0, 0, 0, 2]]))
def product_zeros(x):
    return weigh(x.prod(axis=1)) + weigh(x.prod(axis=0)) + (x + 1).prod()


@case(normal(4, 3), normal(5, 3), normal(2, 3))
def scatter(x, y, z):
    added = x.at[jnp.array([0, 2, 2, 1, 0])].add(y * y)
    return weigh(added * added) + weigh((x * x).at[jnp.array([3, 1])].set(z) ** 2)


@case(normal(4, 3), positive(2, 3))
def scatter_others(x, z):
    at = jnp.array([3, 1])
    multiplied, least = x.at[at].set(x[at] * z), x.at[at].set(jnp.minimum(x[at], z - 1))
    return weigh(multiplied) + weigh(x.at[at].set(jnp.maximum(x[at], z)) ** 2) + weigh(least)


@case(normal(3, 4))
def along_axis(x):
    order = jnp.array([[2, 0, 0], [1, 1, 3], [0, 3, 2]])
    rows = jnp.array([[2, 0, 0, 1]])
    return weigh(jnp.take_along_axis(x, order, axis=1) ** 2) + weigh(jnp.take_along_axis(x * x, rows, axis=0))


@case(normal(2, 3))
def rearranged(x):
    y = jnp.pad(x * x, ((1, 2), (0, 1)))
    return (weigh(jnp.roll(y, 2, axis=1) * y) + weigh(jnp.repeat(x, 2, axis=0) ** 2) + weigh(jnp.tile(x, (2, 2)))
            + weigh(jnp.diag(x[0])) + weigh(jnp.tril(y) * jnp.triu(y, -1)))


@case(np.array([0.0, -1.5, 2, 0.0, 0.5]))
def power_edges(x):
    return weigh(x**3.0) + weigh(x ** jnp.array([3.0, 2, 0, 3, 2])) + weigh(x**4)


@case(np.array([0.0, -1.5, 2, 4]), np.array([1.0, -0.5, 3, 0.25]))
def division_edges(x, y):
    return weigh(x / y) + weigh(x * x / (y * y)) + weigh(jnp.sqrt(x * x + 1) / y)


@case(normal(5), positive(5))
def binary_functions(x, y):
    return weigh(jnp.arctan2(x, y)) + weigh(jnp.hypot(x, y)) + weigh(jnp.logaddexp(x, y)) + weigh(y**x)


@case(positive(5), positive(5))
def remainders(x, y):
    return weigh(jnp.remainder(x, y) * x) + weigh(jnp.copysign(x, -y) * y)


@case(np.array([-3.0, -0.5, 0.25, 7]), np.array([-1.0, -0.5, 0, 1]), np.array([1.0, 2, 0.5, 3]))
def clipped_by_arrays(x, low, high):
    return weigh(jnp.clip(x * x, low, high) * x)


@case(normal(2, 3, 4), normal(4, 5))
def contractions(x, y):
    products = weigh(jnp.einsum("abc,cd->dba", x, y)) ** 2 + weigh(jnp.tensordot(x[0], y, axes=1))
    return products + weigh(jnp.outer(x[0, 0], y[1]))


@case(normal(4, 3), normal(4, 3), normal(4, 3))
def attention(q, k, v):
    scores = q @ k.T / np.sqrt(3.0)
    scores = jnp.where(jnp.tri(4, dtype=bool), scores, -1e9)
    return weigh(jax.nn.softmax(scores, axis=-1) @ v)


@case(normal(6))
def stopped(x):
    return (x * jax.lax.stop_gradient(x) * x).sum()


@case(normal(3))
def norm_of(x):
    return jnp.sqrt((x * x).sum()) + jnp.exp(-(x * x).sum())


LABELS = jnp.array([2, 0, 1, 2, 2])


@case(normal(5, 6), normal(6, 8) * 0.5, normal(8), normal(8, 3) * 0.5, normal(3))
def mlp_cross_entropy(x, w1, b1, w2, b2):
    h = jnp.tanh(x @ w1 + b1)
    logits = h @ w2 + b2
    log_probability = logits - jax.scipy.special.logsumexp(logits, axis=1, keepdims=True)
    return -(jax.nn.one_hot(LABELS, 3, dtype=x.dtype) * log_probability).sum(axis=1).mean()


@case(normal(3, 4), normal(4, 4) * 0.5)
def loop(x, w):
    for _ in range(10):
        x = jnp.tanh(x @ w) + x * 0.5
    return (x * x).mean()


@case(normal(4), normal(3))
def unused_argument(x, y):
    return (x * x).sum()


@case(normal(4))
def used_many_times(x):
    y = x * x
    return (y * y + y * x + jnp.exp(y * 0.25) * y).sum()


@case(normal(4))
def second_order(x):
    return weigh(jax.grad(lambda v: (v**3 * jnp.tanh(v)).sum())(x))


@case(np.array(0.75))
def third_order(x):
    f = lambda v: v**4 * jnp.tanh(v) + jnp.exp(v)
    return jax.grad(jax.grad(f))(x)


@case(normal(3, 3), normal(3))
def hessian_vector(a, v):
    f = lambda u: jnp.tanh(a @ u).sum() + (u * u * u).sum()
    return weigh(jax.grad(lambda u: (jax.grad(f)(u) * v).sum())(v))


@case(normal(3), normal(3))
def nested_captured(x, y):
    inner = jax.grad(lambda v: (v * y * jnp.sin(v * x)).sum())
    return (inner(y) * x).sum()


@case(normal(4), normal(4))
def linear_product(w, w0):
    return (w * w0).sum()


@case(normal(4, 3))
def integer_path(x):
    order = jnp.argmax(x, axis=1)
    return weigh(jax.nn.one_hot(order, 3, dtype=x.dtype) * x)


def make():
    with Writer("gradients.txt", __doc__) as out:
        for name, function, inputs, near in CASES:
            arguments = [jnp.asarray(x) for x in inputs]
            value, gradients = jax.value_and_grad(function, argnums=tuple(range(len(inputs))))(*arguments)
            along = tuple(jnp.asarray([direction(k, i) for k in range(x.size)]).reshape(x.shape)
                          for i, x in enumerate(inputs))
            derivatives, slope = list(gradients), function
            for _ in range(2):
                slope = (lambda f: lambda *xs: jax.jvp(f, xs, along)[1])(slope)
                derivatives += jax.grad(slope, argnums=tuple(range(len(inputs))))(*arguments)
            assert np.isfinite(value) and all(np.isfinite(d).all() for d in derivatives), name
            out.record(name, near, *[text(x) for x in inputs], "=", text(value), *[text(d) for d in derivatives])


if __name__ == "__main__":
    make()
