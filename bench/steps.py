"""steps.py: whole steps in other systems, as bench/steps.lua has them for neap.

make(system, name, sizes) is a function that makes one step and returns when its result is on the host; sizes: words
NAME=NUMBER, those of bench/steps.lua. Systems: "jax jit", "torch", "torch compile"; on a GPU "jax gpu", "torch gpu",
"torch compile gpu". Steps: "fori" and "scan", loops of SCAN turns over small arrays, and more such loops with a branch,
draws, a mean, a product, and an array that they fill; "mlp", "transformer", "lstm" and "cnn", a training step each:
loss, gradients, Adam.
"""

import functools
import types

size = types.SimpleNamespace()  # those that bench/steps.lua tells; FLAT: elements of an image behind the convolutions


def resize(text):
    """Takes sizes: words NAME=NUMBER."""
    for word in text.split():
        name, _, value = word.partition("=")
        setattr(size, name, int(value))
    size.FLAT = (size.SIDE // 4) ** 2 * size.SECOND


def shapes(name):
    """Of the parameters."""
    s = size
    return {
        "mlp": [(s.PIXELS, s.HIDDEN), (s.HIDDEN,), (s.HIDDEN, s.CLASSES), (s.CLASSES,)],
        "transformer": [(s.WIDTH,), (s.WIDTH,), (s.WIDTH, 3 * s.WIDTH), (s.WIDTH, s.WIDTH), (s.WIDTH,), (s.WIDTH,),
                        (s.WIDTH, 4 * s.WIDTH), (4 * s.WIDTH,), (4 * s.WIDTH, s.WIDTH), (s.WIDTH,)],
        "lstm": [(s.WIDTH, 4 * s.WIDTH), (s.WIDTH, 4 * s.WIDTH), (4 * s.WIDTH,), (s.WIDTH, s.CLASSES), (s.CLASSES,)],
        "cnn": [(3, 3, 1, s.FIRST), (s.FIRST,), (3, 3, s.FIRST, s.SECOND), (s.SECOND,), (s.FLAT, s.CLASSES),
                (s.CLASSES,)],
    }[name]


def drawn(name):
    """Parameters and data, as NumPy arrays."""
    import numpy as np

    rng = np.random.default_rng(0)
    params = [rng.normal(0, 0.05, s).astype(np.float32) for s in shapes(name)]
    if name == "mlp":
        return params, rng.random((size.BATCH, size.PIXELS), np.float32), rng.integers(0, size.CLASSES, size.BATCH)
    if name == "lstm":
        xs = rng.normal(0, 1, (size.TURNS, size.ROWS, size.WIDTH)).astype(np.float32)
        return params, xs, rng.integers(0, size.CLASSES, size.ROWS)
    if name == "cnn":
        images = rng.random((size.BATCH, size.SIDE, size.SIDE, 1), np.float32)
        return params, images, rng.integers(0, size.CLASSES, size.BATCH)
    return params, *(rng.normal(0, 1, (size.EXAMPLES, size.LENGTH, size.WIDTH)).astype(np.float32) for _ in range(2))


def jax_scan():
    import jax
    import jax.numpy as jnp

    @jax.jit
    def run(c, xs):
        def body(c, x):
            c = jnp.tanh(c * 0.9 + x)
            return c, c

        return jax.lax.scan(body, c, xs)

    c, xs = jnp.zeros(size.CARRY), jnp.ones((size.SCAN, size.CARRY)) * 0.1
    def once():
        last, each = run(c, xs)
        each.block_until_ready()
        return float(last[0])

    return once


def jax_fori():
    import jax
    import jax.numpy as jnp

    run = jax.jit(lambda c: jax.lax.fori_loop(0, size.SCAN, lambda _, x: x * 0.999 + 0.5, c))
    c = jnp.float32(1)
    return lambda: float(run(c))


def jax_loop(step, *first):
    """A loop whose turn k is step(k, x); it begins with an array of this value and shape, or of a key's numbers."""
    import jax
    import jax.numpy as jnp

    run = jax.jit(lambda c: jax.lax.fori_loop(0, size.SCAN, step, c))
    c = jnp.full(first[1], first[0], jnp.float32)
    return lambda: float(run(c).reshape(-1)[0])


def jax_branch():
    import jax

    return jax_loop(lambda k, x: jax.lax.cond(x > 1, lambda y: y * 0.25, lambda y: y * 1.5 + 0.125, x), 0.5, ())


def jax_draws():
    import jax

    key = jax.random.key(0)
    few = (size.CARRY,)
    return jax_loop(lambda k, x: x * 0.5 + jax.random.normal(jax.random.fold_in(key, k), few), 0, few)


def jax_mean():
    return jax_loop(lambda k, x: x * 0.999 - x.mean() * 0.5 + 0.25, 1, (300,))


def jax_product():
    import jax.numpy as jnp

    w = jnp.full((30, 30), 0.01)
    return jax_loop(lambda k, x: jnp.tanh(w @ x + 0.5), 0, (30,))


def jax_fill():
    return jax_loop(lambda k, x: x.at[k + 1].set(x[k] * 0.999 + 0.5), 1, (size.SCAN + 1,))


def jax_mlp_loss(p, x, labels):
    import jax

    return jax_cross_entropy(jax.nn.relu(x @ p[0] + p[1]) @ p[2] + p[3], labels)


def jax_transformer_loss(p, x, wanted):
    import jax
    import jax.numpy as jnp

    def norm(x, scale, shift):
        c = x - x.mean(-1, keepdims=True)
        return c * jax.lax.rsqrt((c * c).mean(-1, keepdims=True) + 1e-5) * (scale + 1) + shift

    def heads(part):
        return part.reshape(size.EXAMPLES, size.LENGTH, size.HEADS, -1).swapaxes(1, 2)

    q, k, v = map(heads, jnp.split(norm(x, p[0], p[1]) @ p[2], 3, -1))
    scores = q @ k.swapaxes(-1, -2) / (size.WIDTH / size.HEADS) ** 0.5
    scores = jnp.where(jnp.tri(size.LENGTH, dtype=bool), scores, -1e9)
    x = x + (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(x.shape) @ p[3]
    x = x + jax.nn.gelu(norm(x, p[4], p[5]) @ p[6] + p[7]) @ p[8] + p[9]
    return jnp.square(x - wanted).mean()


def jax_cross_entropy(logits, labels):
    import jax
    import jax.numpy as jnp

    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


def jax_lstm_loss(p, xs, labels):
    import jax
    import jax.numpy as jnp

    def turn(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x @ p[0] + h @ p[1] + p[2], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((size.ROWS, size.WIDTH))
    (h, _), _ = jax.lax.scan(turn, (zeros, zeros), xs)
    return jax_cross_entropy(h @ p[3] + p[4], labels)


def jax_cnn_loss(p, x, labels):
    import jax
    import jax.numpy as jnp

    for w, b in (p[0:2], p[2:4]):
        x = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.lax.reduce_window(jax.nn.relu(x + b), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jax_cross_entropy(x.reshape(size.BATCH, size.FLAT) @ p[4] + p[5], labels)


def jax_training(name):
    import jax
    import jax.numpy as jnp

    params, *data = drawn(name)
    params, data = [jnp.asarray(p) for p in params], [jnp.asarray(d) for d in data]
    loss = {"mlp": jax_mlp_loss, "transformer": jax_transformer_loss, "lstm": jax_lstm_loss, "cnn": jax_cnn_loss}[name]

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def step(p, m, v, t):
        value, g = jax.value_and_grad(loss)(p, *data)
        m = [0.9 * a + 0.1 * b for a, b in zip(m, g)]
        v = [0.999 * a + 0.001 * b * b for a, b in zip(v, g)]
        p = [a - 1e-3 * (b / (1 - 0.9**t)) / (jnp.sqrt(c / (1 - 0.999**t)) + 1e-8) for a, b, c in zip(p, m, v)]
        return value, p, m, v

    state = [0.0, params, [jnp.zeros_like(p) for p in params], [jnp.zeros_like(p) for p in params], 0]

    def once():
        state[4] += 1
        state[0:4] = step(*state[1:4], float(state[4]))
        return float(state[0])

    return once


def torch_scan():
    import torch

    xs = torch.full((size.SCAN, size.CARRY), 0.1)

    def once():
        c, each = torch.zeros(size.CARRY), []
        for x in xs:
            c = torch.tanh(c * 0.9 + x)
            each.append(c)
        torch.stack(each)
        return float(c[0])

    return once


def torch_fori():
    import torch

    def once():
        c = torch.ones(())
        for _ in range(size.SCAN):
            c = c * 0.999 + 0.5
        return float(c)

    return once


def torch_mlp_loss(p, x, labels):
    import torch

    return torch.nn.functional.cross_entropy(torch.relu(x @ p[0] + p[1]) @ p[2] + p[3], labels)


def torch_transformer_loss(p, x, wanted):
    import torch

    f = torch.nn.functional
    q, k, v = (part.reshape(size.EXAMPLES, size.LENGTH, size.HEADS, -1).transpose(1, 2)
               for part in (f.layer_norm(x, (size.WIDTH,), p[0] + 1, p[1]) @ p[2]).chunk(3, -1))
    y = f.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + y.transpose(1, 2).reshape(x.shape) @ p[3]
    x = x + f.gelu(f.layer_norm(x, (size.WIDTH,), p[4] + 1, p[5]) @ p[6] + p[7], approximate="tanh") @ p[8] + p[9]
    return (x - wanted).square().mean()


def torch_lstm_loss(p, xs, labels):
    import torch

    h = c = torch.zeros(size.ROWS, size.WIDTH)
    for x in xs:
        i, f, g, o = (x @ p[0] + h @ p[1] + p[2]).chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return torch.nn.functional.cross_entropy(h @ p[3] + p[4], labels)


def torch_cnn_loss(p, x, labels):
    import torch

    f = torch.nn.functional
    x = x.permute(0, 3, 1, 2)
    for w, b in (p[0:2], p[2:4]):
        x = f.max_pool2d(torch.relu(f.conv2d(x, w.permute(3, 2, 0, 1), b, padding=1)), 2)
    return f.cross_entropy(x.reshape(size.BATCH, size.FLAT) @ p[4] + p[5], labels)


def torch_training(name, compiled, device):
    import torch

    params, *data = drawn(name)
    params = [torch.nn.Parameter(torch.from_numpy(p).to(device)) for p in params]
    data = [torch.from_numpy(d).to(device) for d in data]
    loss = {"mlp": torch_mlp_loss, "transformer": torch_transformer_loss, "lstm": torch_lstm_loss,
            "cnn": torch_cnn_loss}[name]
    if compiled:
        loss = torch.compile(loss)
    optimizer = torch.optim.Adam(params, lr=1e-3)

    def once():
        optimizer.zero_grad()
        value = loss(params, *data)
        value.backward()
        optimizer.step()
        return value.item()

    return once


def make(system, name, sizes):
    resize(sizes)
    loops = {"fori": {"jax jit": jax_fori, "torch": torch_fori}, "scan": {"jax jit": jax_scan, "torch": torch_scan},
             "branch": {"jax jit": jax_branch}, "draws": {"jax jit": jax_draws}, "mean": {"jax jit": jax_mean},
             "product": {"jax jit": jax_product}, "fill": {"jax jit": jax_fill}}
    if name in loops and system not in loops[name]:
        raise NotImplementedError("there is no such loop")
    if name in loops:
        return loops[name][system]()
    if system.startswith("jax"):
        return jax_training(name)
    if (system, name) == ("torch compile", "lstm"):
        raise NotImplementedError("compiling the turns, one after the other, takes minutes")
    return torch_training(name, "compile" in system, "cuda" if "gpu" in system else "cpu")
