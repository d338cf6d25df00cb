"""make_optim.py: golden values of np.nn and np.optim (optim.txt), from the papers' formulas in plain NumPy, in f64.

Optimisers: records `optimiser <tab> options <tab> - <tab> start <tab> gradients g[steps,n] <tab> = <tab>
parameters p[steps,n] after each step`. With p parameters, g gradient, lr rate, t step counted from 1:

    sgd     p -= lr g
            momentum m (heavy ball, Torch's convention with dampening 0):  v = m v + g;  p -= lr v   (v starts at 0)
            nesterov:                                                       p -= lr (g + m v)  with the new v
    adam    (Kingma and Ba 2015, algorithm 1)  m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g²
            p -= lr (m / (1-b1^t)) / (sqrt(v / (1-b2^t)) + eps)            (eps outside the root)
    adamw   (Loshchilov and Hutter 2019)  adam's step plus decay wd that does not pass through m and v and is scaled
            by the rate:  p -= lr (adam's direction + wd p), with p before the step

optax and Torch agree with these. Defaults: b1 0.9, b2 0.999, eps 1e-8; every record names all its options.

np.nn: records `name <tab> options <tab> tolerance <tab> inputs… <tab> = <tab> result`. gelu is x Φ(x) exactly, or
its tanh form (Hendrycks and Gimpel 2016): 0.5 x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))). cross_entropy takes logits
and integer labels and is the mean over rows of logsumexp(row) - row[label]. An initializer's record is its bound or
standard deviation for the shape {fan in, fan out}: glorot_uniform draws from ±sqrt(6/(in+out)), he_uniform from
±sqrt(6/in), glorot_normal and he_normal have variance 2/(in+out) and 2/in.
"""

import numpy as np
import scipy.special

from records import Writer, options, text

RNG = np.random.default_rng(31)
STEPS, SIZE = 6, 5


def sgd(p, gradients, lr, momentum=0.0, nesterov=False):
    v = np.zeros_like(p)
    for g in gradients:
        v = momentum * v + g
        p = p - lr * (g + momentum * v if nesterov else v)
        yield p


def adam(p, gradients, lr, b1, b2, eps, weight_decay=0.0):
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gradients, 1):
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        direction = (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
        p = p - lr * (direction + weight_decay * p)
        yield p


def optimisers(out):
    runs = [("sgd", sgd, dict(lr=0.1)), ("sgd", sgd, dict(lr=0.05, momentum=0.9)),
            ("sgd", sgd, dict(lr=0.05, momentum=0.9, nesterov=True)),
            ("adam", adam, dict(lr=0.01, b1=0.9, b2=0.999, eps=1e-8)),
            ("adam", adam, dict(lr=0.1, b1=0.5, b2=0.9, eps=1e-3)),
            ("adamw", adam, dict(lr=0.01, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.01)),
            ("adamw", adam, dict(lr=0.1, b1=0.8, b2=0.95, eps=1e-6, weight_decay=0.3))]
    for name, function, chosen in runs:
        start = np.round(RNG.standard_normal(SIZE) * 64) / 64
        gradients = np.round(RNG.standard_normal((STEPS, SIZE)) * 64) / 64
        gradients[:, 0] = 0  # a parameter without gradient: no division by zero
        after = np.stack(list(function(start, gradients, **chosen)))
        out.record(name, options(**chosen), "-", text(start), text(gradients), "=", text(after))


def functions(out):
    x = np.array([-30, -5, -2.5, -1, -0.5, -1e-3, 0, 1e-3, 0.25, 0.75, 1, 3, 6, 40], np.float64)
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    for name, option, value in [
            ("gelu", options(approximate=False), x * scipy.special.ndtr(x)),
            ("gelu", options(approximate=True), 0.5 * x * (1 + np.tanh(inner))),
            ("relu", "-", np.maximum(x, 0)), ("sigmoid", "-", scipy.special.expit(x)),
            ("silu", "-", x * scipy.special.expit(x)), ("softplus", "-", np.logaddexp(x, 0)),
            ("tanh", "-", np.tanh(x))]:
        out.record(name, option, "abs 2e-06", text(x), "=", text(value))
    logits = np.round(RNG.standard_normal((6, 4)) * 128) / 64
    logits[5] = [1000, -1000, 0, 0]
    labels = np.array([0, 3, 1, 1, 2, 1], np.int32)
    rows = scipy.special.logsumexp(logits, axis=1) - logits[np.arange(6), labels]
    for count in (6, 5, 1):
        out.record("cross_entropy", "-", "rel 1e-06", text(logits[:count]), text(labels[:count]), "=",
                   text(np.array(rows[:count].mean())))
    out.record("one_hot", options(n=4), "exact", text(labels), "=", text(np.eye(4, dtype=np.float32)[labels]))
    a = np.round(RNG.standard_normal((3, 4)) * 64) / 64
    w, b = np.round(RNG.standard_normal((4, 2)) * 64) / 64, np.array([0.5, -0.25])
    out.record("dense", "-", "rel 1e-06", text(a), text(w), text(b), "=", text(a @ w + b))


def initializers(out):
    for fan_in, fan_out in ((4, 4), (300, 200), (784, 10)):
        shape = options(shape=(fan_in, fan_out))
        for name, value in (("glorot_uniform", np.sqrt(6 / (fan_in + fan_out))), ("he_uniform", np.sqrt(6 / fan_in)),
                            ("glorot_normal", np.sqrt(2 / (fan_in + fan_out))), ("he_normal", np.sqrt(2 / fan_in))):
            out.record(name, shape, "rel 1e-06", "=", text(np.array(value)))


def make():
    with Writer("optim.txt", __doc__) as out:
        optimisers(out)
        functions(out)
        initializers(out)


if __name__ == "__main__":
    make()
