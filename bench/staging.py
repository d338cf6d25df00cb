"""staging.py: what bench/rows/staging.lua measures, in another system.

`staging.py SYSTEM` ("jax jit" or "torch") prints lines "row name<TAB>ns", the best of several rounds. A call returns
without waiting for its result; what was called is waited for between the rounds, outside of the measured time.
"""

import sys
import time

ROUNDS, CALLS, OPS, ELEMENTS = 20, 300, 1000, 10


def best(f, count, settle=lambda: None):
    """ns of one of `count` calls of f in a row, the best of all rounds."""
    least = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(count):
            f()
        least = min(least, (time.perf_counter_ns() - start) / count)
        settle()
    return least


def total(*arguments):
    result = arguments[0]
    for x in arguments[1:]:
        result = result + x
    return result


def chain(x):
    for _ in range(OPS):
        x = x * 0.5
    return x


def jax_rows():
    import jax
    import jax.numpy as jnp

    for n in (1, 10, 100, 1000):
        arguments = [jnp.ones(ELEMENTS) for _ in range(n)]
        function = jax.jit(lambda *xs: total(*xs) * 2)
        function(*arguments).block_until_ready()
        yield "cached call, %d" % n, best(lambda: function(*arguments), max(3, CALLS // n),
                                         lambda: function(*arguments).block_until_ready())
    x = jnp.ones(ELEMENTS)
    yield "trace", best(lambda: jax.make_jaxpr(lambda y: chain(y))(x), 1) / OPS
    yield "first call", best(lambda: jax.jit(lambda y: jnp.tanh(y * 2 + 1).sum())(x).block_until_ready(), 1)


def torch_rows():
    import torch

    torch.set_num_threads(1)
    for n in (1, 10, 100, 1000):
        arguments = [torch.ones(ELEMENTS) for _ in range(n)]
        yield "cached call, %d" % n, best(lambda: total(*arguments) * 2, max(3, CALLS // n))
    x = torch.ones(ELEMENTS)
    yield "first call", best(lambda: torch.tanh(x * 2 + 1).sum().item(), 1)


for row, ns in {"jax jit": jax_rows, "torch": torch_rows}[sys.argv[1]]():
    print("%s\t%.6g" % (row, ns), flush=True)
