"""make_conv.py: convolutions and pooling by JAX, with derivatives of first to third order (conv.txt).

Records:   name <tab> tolerance <tab> inputs… <tab> = <tab> results… <tab> gradients… <tab> second <tab> third

Names and options are written twice: here for jax.lax, and in conv_test.lua for neap. The derivatives are those of the
weighted sum of the squared first result (`weigh`, as in make_gradients.py); second and third along directions, as in
make_linalg.py. Inputs are multiples of 1/16, distinct where the largest is asked for.
"""

import jax
import jax.numpy as jnp
import numpy as np

from make_linalg import direction, weigh
from records import Writer, text

RNG = np.random.default_rng(8)
CASES = []


def normal(*shape):
    return np.round(RNG.standard_normal(shape) * 16) / 16


def distinct(*shape):
    return RNG.permutation(int(np.prod(shape))).reshape(shape) / 16 - 1


def case(*inputs):
    def register(function):
        CASES.append((function.__name__, function, [np.asarray(x, np.float64) for x in inputs]))
        return function
    return register


LAYOUTS = {1: ("NWC", "WIO", "NWC"), 2: ("NHWC", "HWIO", "NHWC"), 3: ("NDHWC", "DHWIO", "NDHWC")}


def conv(x, w, strides=1, padding="SAME", input_dilation=1, kernel_dilation=1, groups=1, layout=None):
    n = x.ndim - 2

    def each(v):
        return (v,) * n if isinstance(v, int) else v
    return jax.lax.conv_general_dilated(x, w, each(strides), padding, each(input_dilation), each(kernel_dilation),
                                        layout or LAYOUTS[n], groups, precision="highest")


@case(normal(2, 7, 3), normal(3, 3, 2))
def line(x, w):
    return conv(x, w), conv(x, w, 2, "VALID"), conv(x, w, 3, [(0, 4)])


@case(normal(2, 5, 6, 2), normal(3, 2, 2, 3))
def plane(x, w):
    return conv(x, w, (2, 1)), conv(x, w, 1, "VALID"), conv(x, w, 2, "SAME"), conv(x, w, 1, [(2, 0), (1, 3)])


@case(normal(1, 3, 4, 3, 2), normal(2, 2, 3, 2, 2))
def space(x, w):
    return conv(x, w), conv(x, w, (1, 2, 1), "VALID")


@case(normal(1, 6, 7, 4), normal(3, 3, 2, 6))
def dilated_groups(x, w):
    return (conv(x, w, 1, "SAME", 1, (2, 1), 2), conv(x, w, (2, 3), [(1, 2), (0, 1)], 1, 2, 2),
            conv(x, w, 1, [(0, 0), (0, 0)], (2, 3), 1, 2), conv(x, w, 2, [(3, -1), (-2, 2)], (1, 2), 1, 2))


@case(normal(2, 4, 4, 3), normal(2, 2, 1, 6))
def depthwise(x, w):
    return (conv(x, w, groups=3),)


@case(normal(2, 3, 4, 5), normal(4, 3, 3, 2))
def channels_first(x, w):
    return (conv(x, w, 2, layout=("NCHW", "OIHW", "NCHW")),)


@case(normal(1, 2, 2, 1), normal(3, 3, 1, 1))
def kernel_larger_than_images(x, w):
    return conv(x, w), conv(x, w, 1, "VALID"), conv(x, w, 1, [(3, 3), (0, 1)])


@case(normal(1, 3, 4, 2), normal(3, 2, 2, 3))
def transposed(x, w):
    def each(strides, padding, dilation=(1, 1)):
        return jax.lax.conv_transpose(x, w, strides, padding, dilation, LAYOUTS[2], precision="highest")
    return (each((2, 3), "SAME"), each((2, 1), "VALID"), each((1, 2), [(1, 0), (2, 1)]), each((3, 2), "SAME", (1, 2)),
            each((1, 1), "SAME"))


def pool(x, start, combine, window, strides, padding):
    return jax.lax.reduce_window(x, start, combine, (1, *window, 1), (1, *strides, 1), padding)


@case(distinct(2, 5, 6, 2))
def pooling(x):
    top = pool(x, -jnp.inf, jax.lax.max, (2, 2), (2, 2), "VALID")
    total = pool(x, 0.0, jax.lax.add, (3, 2), (2, 1), "SAME")
    counts = pool(jnp.ones_like(x), 0.0, jax.lax.add, (3, 2), (2, 1), "SAME")
    return (top + pool(x, 0.0, jax.lax.add, (2, 2), (2, 2), "VALID") / 4,
            pool(x, -jnp.inf, jax.lax.max, (3, 2), (1, 2), "SAME"), total / 6, total / counts)


def make():
    with Writer("conv.txt", __doc__) as out:
        for name, function, inputs in CASES:
            given = [jnp.asarray(x) for x in inputs]

            def scalar(xs):
                return weigh(function(*xs)[0]**2)

            def along(t):
                return scalar([x + t * direction(x) for x in given])

            results = jax.jit(function)(*given)
            gradients = jax.jit(jax.grad(scalar))(given)
            first = jax.grad(along)
            second, third = jax.jit(jax.jacfwd(first))(0.0), jax.jit(jax.jacfwd(jax.jacfwd(first)))(0.0)
            fields = [text(np.asarray(y)) for y in (*results, *gradients, second, third)]
            out.record(name, "scaled 1e-11", *[text(x) for x in inputs], "=", *fields)
