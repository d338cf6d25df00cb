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

    rmsprop (Hinton 2012, eps in the root as in optax)  v = d v + (1-d) g²;  m = mu m + lr g / sqrt(v + eps);  p -= m
    adagrad (Duchi et al. 2011)  v += g², from `start` on;  p -= lr g / sqrt(v + eps)
    lion    (Chen et al. 2023)  p -= lr (sign(b1 m + (1-b1) g) + wd p);  m = b2 m + (1-b2) g
    lamb    (You et al. 2020)  adam's direction plus wd p, times |p| / |direction|, 1 where one is 0;  p -= lr that
    adafactor (Shazeer and Stern 2018, as in optax)  k = 1 - t^-decay_rate; s = g² + eps;  of a matrix whose axes have
            both min_dim_size_to_factor:  r = k r + (1-k) mean of s along the largest axis,  c the same along the other,
            u = g / sqrt(r / mean r) / sqrt(c);  else  v = k v + (1-k) s, u = g / sqrt(v).  u /= max(1, rms u /
            clipping_threshold);  u *= lr max(1e-3, rms p);  m = mu m + (1-mu) u;  p -= m + wd p

optax and Torch agree with these. Defaults: b1 0.9, b2 0.999, eps 1e-8; every record names all its options.

np.nn: records `name <tab> options <tab> tolerance <tab> inputs… <tab> = <tab> result`. gelu is x Φ(x) exactly, or
its tanh form (Hendrycks and Gimpel 2016): 0.5 x (1 + tanh(sqrt(2/π) (x + 0.044715 x³))). cross_entropy takes logits
and integer labels and is the mean over rows of logsumexp(row) - row[label]. An initializer's record is its bound or
standard deviation for the shape {fan in, fan out}: glorot_uniform draws from ±sqrt(6/(in+out)), he_uniform from
±sqrt(6/in), glorot_normal and he_normal have variance 2/(in+out) and 2/in.
"""

import jax
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


def rmsprop(p, gradients, lr, decay, eps, momentum=0.0):
    m, v = np.zeros_like(p), np.zeros_like(p)
    for g in gradients:
        v = decay * v + (1 - decay) * g * g
        m = momentum * m + lr * g / np.sqrt(v + eps)
        p = p - m
        yield p


def adagrad(p, gradients, lr, start, eps):
    v = np.full_like(p, start)
    for g in gradients:
        v = v + g * g
        p = p - lr * g / np.sqrt(v + eps)
        yield p


def lion(p, gradients, lr, b1, b2, weight_decay):
    m = np.zeros_like(p)
    for g in gradients:
        p = p - lr * (np.sign(b1 * m + (1 - b1) * g) + weight_decay * p)
        m = b2 * m + (1 - b2) * g
        yield p


def lamb(p, gradients, lr, b1, b2, eps, weight_decay):
    m, v = np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gradients, 1):
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        direction = (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps) + weight_decay * p
        lengths = np.linalg.norm(p), np.linalg.norm(direction)
        p = p - lr * direction * (lengths[0] / lengths[1] if all(lengths) else 1)
        yield p


def rms(x):
    return np.sqrt((x * x).mean())


def adafactor(p, gradients, lr, decay_rate=0.8, min_dim_size_to_factor=128, clipping_threshold=1.0, momentum=0.0,
              weight_decay=0.0, eps=1e-30, multiply_by_parameter_scale=True, factored=True):
    split = factored and p.ndim == 2 and min(p.shape) >= min_dim_size_to_factor
    largest = 1 if p.ndim == 2 and p.shape[1] >= p.shape[0] else 0
    r, c, v, m = 0.0, 0.0, np.zeros_like(p), np.zeros_like(p)
    for t, g in enumerate(gradients, 1):
        k = 1 - float(t) ** -decay_rate
        s = g * g + eps
        if split:
            r = k * r + (1 - k) * s.mean(largest, keepdims=True)
            c = k * c + (1 - k) * s.mean(1 - largest, keepdims=True)
            u = g / np.sqrt(r / r.mean()) / np.sqrt(c)
        else:
            v = k * v + (1 - k) * s
            u = g / np.sqrt(v)
        if clipping_threshold:
            u = u / max(1, rms(u) / clipping_threshold)
        u = u * lr * (max(1e-3, rms(p)) if multiply_by_parameter_scale else 1)
        m = momentum * m + (1 - momentum) * u
        p = p - (m + weight_decay * p)
        yield p


def adafactors(out):
    """Behind all others, so that the random numbers of these stay what they are."""
    small = dict(min_dim_size_to_factor=2)
    runs = [((SIZE,), dict(lr=0.1)), ((3, 4), dict(lr=0.1)),
            ((3, 4), dict(lr=0.1, **small)), ((4, 3), dict(lr=0.1, **small)),
            ((3, 3), dict(lr=0.02, decay_rate=0.5, clipping_threshold=False, **small)),
            ((3, 4), dict(lr=0.1, momentum=0.9, weight_decay=0.01, **small)),
            ((3, 4), dict(lr=0.1, clipping_threshold=0.5, multiply_by_parameter_scale=False, factored=False, **small)),
            ((SIZE,), dict(lr=0.1, eps=1e-3))]
    for shape, chosen in runs:
        start = np.round(RNG.standard_normal(shape) * 64) / 64
        gradients = np.round(RNG.standard_normal((STEPS, *shape)) * 64) / 64
        after = np.stack(list(adafactor(start, gradients, **chosen)))
        out.record("adafactor", options(**chosen), "-", text(start), text(gradients), "=", text(after))


def optimisers(out):
    runs = [("sgd", sgd, dict(lr=0.1)), ("sgd", sgd, dict(lr=0.05, momentum=0.9)),
            ("sgd", sgd, dict(lr=0.05, momentum=0.9, nesterov=True)),
            ("adam", adam, dict(lr=0.01, b1=0.9, b2=0.999, eps=1e-8)),
            ("adam", adam, dict(lr=0.1, b1=0.5, b2=0.9, eps=1e-3)),
            ("adamw", adam, dict(lr=0.01, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.01)),
            ("adamw", adam, dict(lr=0.1, b1=0.8, b2=0.95, eps=1e-6, weight_decay=0.3)),
            ("rmsprop", rmsprop, dict(lr=0.01, decay=0.9, eps=1e-8)),
            ("rmsprop", rmsprop, dict(lr=0.1, decay=0.5, eps=1e-3, momentum=0.8)),
            ("adagrad", adagrad, dict(lr=0.1, start=0.1, eps=1e-7)),
            ("lion", lion, dict(lr=0.01, b1=0.9, b2=0.99, weight_decay=0.001)),
            ("lion", lion, dict(lr=0.1, b1=0.5, b2=0.75, weight_decay=0.0)),
            ("lamb", lamb, dict(lr=0.01, b1=0.9, b2=0.999, eps=1e-6, weight_decay=0.0)),
            ("lamb", lamb, dict(lr=0.1, b1=0.5, b2=0.75, eps=1e-3, weight_decay=0.1))]
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
            ("tanh", "-", np.tanh(x)), ("elu", "-", np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
            ("celu", "-", np.where(x > 0, x, np.expm1(np.minimum(x, 0)))), ("selu", "-", np.asarray(jax.nn.selu(x))),
            ("mish", "-", x * np.tanh(np.logaddexp(x, 0))), ("soft_sign", "-", x / (1 + np.abs(x))),
            ("log_sigmoid", "-", -np.logaddexp(-x, 0)), ("relu6", "-", np.clip(x, 0, 6)),
            ("hard_tanh", "-", np.clip(x, -1, 1)), ("hard_sigmoid", "-", np.clip(x + 3, 0, 6) / 6),
            ("hard_swish", "-", x * np.clip(x + 3, 0, 6) / 6), ("glu", "-", x[:7] * scipy.special.expit(x[7:])),
            ("standardize", "-", np.asarray(jax.nn.standardize(x)))]:
        out.record(name, option, "abs 4e-06", text(x), "=", text(value))
    logits = np.round(RNG.standard_normal((6, 4)) * 128) / 64
    logits[5] = [1000, -1000, 0, 0]
    labels = np.array([0, 3, 1, 1, 2, 1], np.int32)
    rows = scipy.special.logsumexp(logits, axis=1) - logits[np.arange(6), labels]
    for count in (6, 5, 1):
        out.record("cross_entropy", "-", "rel 1e-06", text(logits[:count]), text(labels[:count]), "=",
                   text(np.array(rows[:count].mean())))
    a, b = np.round(RNG.standard_normal((2, 3, 4)) * 64) / 64
    rows = a / np.sqrt((a * a).mean(-1, keepdims=True) + 1e-6)
    groups = a.reshape(3, 2, 2)
    groups = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-6)
    p, q = scipy.special.softmax(a, 1), scipy.special.softmax(b, 1)
    off = np.abs(a - b)
    chosen = np.array([0, 3, 1], np.int32)
    for name, inputs, value in [
            ("rms_norm", (a,), rows), ("group_norm2", (a,), groups.reshape(3, 4)), ("l1_loss", (a, b), off.mean()),
            ("huber_loss", (a, b), np.where(off < 1, off * off / 2, off - 0.5).mean()),
            ("binary_cross_entropy", (a, q), -(q * scipy.special.log_expit(a)
                                               + (1 - q) * scipy.special.log_expit(-a)).mean()),
            ("kl_div", (np.log(p), q), (q * np.log(q / p)).mean()),
            ("nll_loss", (np.log(p), chosen), -np.log(p)[np.arange(3), chosen].mean()),
            ("cosine_similarity", (a, b), (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1))]:
        out.record(name, "-", "abs 4e-06", *(text(i) for i in inputs), "=", text(np.array(value)))
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
        adafactors(out)


if __name__ == "__main__":
    make()
