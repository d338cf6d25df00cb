"""peers.py: the expressions of bench/rows in other systems; started by bench/peers, which documents the options.

Writes lines "row name<TAB>system<TAB>value" in the unit of neap's row (us, or images/s). Each system runs in processes
of its own: the kernels pinned to one core, the training step free to use all. Timing ends when the result is on the
host. Values are medians over rounds of about 4 ms each.
"""

import os
import statistics
import subprocess
import sys
import time

SLICE = 4e-3
COLUMNS = 512
SIZES = {"1e3": 10**3, "1e5": 10**5, "1e7": 10**7}
BATCH, PIXELS, HIDDEN, CLASSES = 128, 784, 256, 10
TRAINING_ROW = "training step, 784-256-10, batch 128"


def median_seconds(f, repeats):
    f()
    count = 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            f()
        spent = time.perf_counter() - start
        if spent > SLICE / 2:
            break
        count *= 2
    count = max(1, int(count * SLICE / spent))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(count):
            f()
        times.append((time.perf_counter() - start) / count)
    return statistics.median(times)


def inputs(size, in_rows):
    import numpy as np

    if in_rows:
        size = -(-size // COLUMNS) * COLUMNS
    x = (np.arange(size) % 2000).astype(np.float32) / np.float32(700) - np.float32(1.4)
    return (x.reshape(-1, COLUMNS) if in_rows else x), (x + np.float32(0.25))


def numpy_kernels():
    import numpy as np

    def softmax(x, _):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    f = np.float32
    return {
        "a*x+b": lambda x, _: x * f(1.5) + f(0.25),
        "polynomial, 8 ops": lambda x, _: (((x * f(0.1) + f(0.2)) * x + f(0.3)) * x + f(0.4)) * x + f(0.5),
        "tanh(a*x+b)*exp(-x*x)": lambda x, _: np.tanh(x * f(1.5) + f(0.25)) * np.exp(-x * x),
        "sum((x-y)^2)": lambda x, y: float(((x - y) ** 2).sum()),
        "softmax of rows of 512": softmax,
    }, lambda a: a


def numexpr_kernels():
    import numexpr
    import numpy as np

    numexpr.set_num_threads(1)
    a, b, c, d, e = (np.float32(v) for v in (0.1, 0.2, 0.3, 0.4, 0.5))
    p, q = np.float32(1.5), np.float32(0.25)
    return {
        "a*x+b": lambda x, _: numexpr.evaluate("x * p + q", {"x": x, "p": p, "q": q}),
        "polynomial, 8 ops": lambda x, _: numexpr.evaluate(
            "(((x * a + b) * x + c) * x + d) * x + e", {"x": x, "a": a, "b": b, "c": c, "d": d, "e": e}),
        "tanh(a*x+b)*exp(-x*x)": lambda x, _: numexpr.evaluate(
            "tanh(x * p + q) * exp(-x * x)", {"x": x, "p": p, "q": q}),
        "sum((x-y)^2)": lambda x, y: float(numexpr.evaluate("sum((x - y) ** 2)", {"x": x, "y": y})),
    }, lambda a: a


def jax_kernels():
    import jax
    import jax.numpy as jnp

    plain = {
        "a*x+b": lambda x, _: x * 1.5 + 0.25,
        "polynomial, 8 ops": lambda x, _: (((x * 0.1 + 0.2) * x + 0.3) * x + 0.4) * x + 0.5,
        "tanh(a*x+b)*exp(-x*x)": lambda x, _: jnp.tanh(x * 1.5 + 0.25) * jnp.exp(-x * x),
        "sum((x-y)^2)": lambda x, y: ((x - y) ** 2).sum(),
        "softmax of rows of 512": lambda x, _: jax.nn.softmax(x, axis=-1),
    }

    def ready(f):
        compiled = jax.jit(f)
        return lambda x, y: compiled(x, y).block_until_ready()

    return {name: ready(f) for name, f in plain.items()}, jnp.asarray


def torch_kernels():
    import torch

    torch.set_num_threads(1)
    return {
        "a*x+b": lambda x, _: x * 1.5 + 0.25,
        "polynomial, 8 ops": lambda x, _: (((x * 0.1 + 0.2) * x + 0.3) * x + 0.4) * x + 0.5,
        "tanh(a*x+b)*exp(-x*x)": lambda x, _: torch.tanh(x * 1.5 + 0.25) * torch.exp(-x * x),
        "sum((x-y)^2)": lambda x, y: ((x - y) ** 2).sum().item(),
        "softmax of rows of 512": lambda x, _: torch.softmax(x, -1),
    }, torch.from_numpy


def run_kernels(system, repeats):
    kernels, convert = globals()[system + "_kernels"]()
    for name, f in kernels.items():
        for label, size in SIZES.items():
            x, y = (convert(v) for v in inputs(size, name.startswith("softmax")))
            print("%s, %s\t%s\t%.6g" % (name, label, system, median_seconds(lambda: f(x, y), repeats) * 1e6))


def jax_training():
    import jax
    import jax.numpy as jnp
    import numpy as np

    rng = np.random.default_rng(0)
    params = [rng.normal(0, 0.05, s).astype(np.float32)
              for s in ((PIXELS, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,))]
    x = jnp.asarray(rng.random((BATCH, PIXELS), np.float32))
    labels = jnp.asarray(rng.integers(0, CLASSES, BATCH))

    def loss(p):
        logits = jax.nn.relu(x @ p[0] + p[1]) @ p[2] + p[3]
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    @jax.jit
    def step(p, m, v, t):
        value, g = jax.value_and_grad(loss)(p)
        m = [0.9 * a + 0.1 * b for a, b in zip(m, g)]
        v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g)]
        p = [a - 1e-3 * (b / (1 - 0.9**t)) / (jnp.sqrt(c / (1 - 0.999**t)) + 1e-8) for a, b, c in zip(p, m, v)]
        return value, p, m, v

    state = [0.0, [jnp.asarray(p) for p in params], [jnp.zeros_like(p) for p in params],
             [jnp.zeros_like(p) for p in params], 0]

    def once():
        state[4] += 1
        state[0:4] = step(state[1], state[2], state[3], float(state[4]))
        float(state[0])

    return once


def torch_training():
    import torch

    torch.manual_seed(0)
    x, labels = torch.rand(BATCH, PIXELS), torch.randint(0, CLASSES, (BATCH,))
    model = torch.nn.Sequential(torch.nn.Linear(PIXELS, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, CLASSES))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    cross_entropy = torch.nn.CrossEntropyLoss()

    def once():
        optimizer.zero_grad()
        loss = cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        loss.item()

    return once


def run_training(system, repeats):
    make = globals().get(system + "_training")
    if make:
        print("%s\t%s\t%.6g" % (TRAINING_ROW, system, BATCH / median_seconds(make(), repeats)))


def main():
    words = sys.argv[1:]
    repeats = 15
    if words[:1] == ["--repeats"]:
        repeats, words = int(words[1]), words[2:]
    if words[:1] in (["kernels"], ["training"]):
        if words[0] == "kernels":
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            run_kernels(words[1], repeats)
        else:
            run_training(words[1], repeats)
        return
    for system in words:
        for part in ("kernels", "training"):
            subprocess.run([sys.executable, __file__, "--repeats", str(repeats), part, system], check=True)


main()
