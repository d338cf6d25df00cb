"""networks.py: definitions for layers, losses and optimizers."""

MODULES = """activations convolutions data layers losses optimizers"""


def gelu(v, approximate):
    """x Φ(x), or its approximation by tanh, of an mpmath number."""
    if mp.isinf(v):
        return v if v > 0 else mp.nan  # as -inf * 0 is
    if approximate:
        return v / 2 * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (v + mp.mpf("0.044715") * v**3)))
    return v / 2 * mp.erfc(-v / mp.sqrt(2))


def squareplus(v, b):
    """(x + sqrt(x² + b)) / 2 of an mpmath number."""
    return v if v == mp.inf else (mp.mpf(0) if v == -mp.inf else (v + mp.sqrt(v * v + b)) / 2)


def log1mexp(v):
    """log(1 - exp(-x)) of an mpmath number."""
    return mp.nan if v < 0 or mp.isnan(v) else mp.log(-mp.expm1(-v)) if v > 0 else -mp.inf


def real(x):
    """Integers and bools as f64; others as they are."""
    return x.astype(np.float64) if x.dtype.kind in "biu" else x


def reduced(x, o):
    """What a loss with the option `reduction` makes of its elements."""
    how = o.get("reduction", "mean")
    return x if how == "none" else x.sum() if how == "sum" else x.mean()


def huber(d, delta):
    """The Huber loss of a magnitude."""
    return np.where(d <= delta, d * d / 2, delta * (d - delta / 2))


def class_axis(x):
    """Scores as PyTorch takes them: classes along axis 1 of more than one."""
    return T(x) if x.ndim < 2 else T(x).movedim(-1, 1)


def label_options(o):
    """PyTorch's options of losses of labels."""
    given = {k: o[k] for k in ("ignore_index", "label_smoothing", "reduction") if k in o}
    if "weight" in o:
        given["weight"] = T(np.array(o["weight"], np.float64))
    return given


def cross_entropy(x, labels, o):
    return F.cross_entropy(class_axis(x), T(labels).long(), **label_options(o))


def nll_loss(x, labels, o):
    return F.nll_loss(class_axis(x), T(labels).long(), **label_options(o))


def standardized(x, axis, epsilon):
    """x with mean 0 and variance 1 along axes."""
    off = x - x.mean(axis, keepdims=True)
    return off / np.sqrt((np.abs(off) ** 2).mean(axis, keepdims=True) + epsilon)


def group_norm(x, groups, epsilon):
    """x of shape (batch, …, n), standardized over each group of features and the axes between."""
    parts = x.reshape(x.shape[0], -1, groups, x.shape[-1] // groups)
    return standardized(parts, (1, 3), epsilon).reshape(x.shape)


def product(x, w):
    """x @ w: of complex numbers by the plain formula, whose parts OpenBLAS multiplies by 0 once more."""
    return (x[..., :, None] * w).sum(-2) if x.dtype.kind == "c" else x @ w


def batch_norm(x, scale, bias, mean, var, o):
    """Flax's BatchNorm: the result and the next moments."""
    axes, keep = tuple(range(x.ndim - 1)), o.get("momentum", 0.99)
    now, new = (mean, var), (mean, var)
    if o.get("training", True):
        now = x.mean(axes), x.var(axes)
        new = mean * keep + now[0] * (1 - keep), var * keep + now[1] * (1 - keep)
    return (x - now[0]) / np.sqrt(now[1] + o.get("epsilon", 1e-5)) * scale + bias, *new


def attention(q, k, v, o):
    """Attention with the mask and the bias of tests/contracts/layers_test.lua; each head of fewer serves neighbours."""
    k, v = (np.repeat(x, q.shape[-2] // x.shape[-2], -2) for x in (k, v))
    n, m = np.arange(q.shape[-3])[:, None], np.arange(k.shape[-3])
    scores = np.einsum("...nhd,...mhd->...hnm", q, k) * o.get("scale", q.shape[-1] ** -0.5)
    kept = np.ones((n.size, m.size), bool)
    if o.get("bias"):
        scores = scores + (n - m) * 0.25
    if o.get("mask"):
        kept = kept & ((n + m) % 2 == 0) & (n > 0)
    if o.get("is_causal"):
        kept = kept & (n >= m)
    weights = scipy.special.softmax(np.where(kept, scores, -1e300), -1)
    return np.einsum("...hnm,...mhe->...nhe", weights, v)


def multi_head(x, c, q, k, v, w, b, o):
    """Attention of two heads with dense layers before and behind it; with `mask` the first query sees no key."""
    bias = b if o.get("bias", True) else 0 * b
    source = c if o.get("context") else x

    def heads(y):
        return np.swapaxes(y.reshape(y.shape[:-1] + (2, 2)), -2, -3)

    queries, keys, values = heads(x @ q + bias), heads(source @ k + bias), heads(source @ v + bias)
    scores = queries @ np.swapaxes(keys, -1, -2) / np.sqrt(2)
    if o.get("mask"):
        n = np.arange(scores.shape[-2])[:, None]
        scores = np.where((n >= np.arange(scores.shape[-1])) & (n > 0), scores, -1e300)
    y = np.swapaxes(scipy.special.softmax(scores, -1) @ values, -2, -3)
    return y.reshape(y.shape[:-2] + (4,)) @ w + bias


def spatial(x, o, key):
    """An option with one number for each spatial axis of images."""
    value = o.get(key, 1)
    return value if isinstance(value, tuple) else (value,) * (x.ndim - 2)


def conv(x, w, o):
    """np.nn.conv with channels last; of groups, w is the first half along its channels."""
    w = w[..., : w.shape[-2] // o.get("groups", 1), :]
    letters = "DHW"[2 - x.ndim :]
    padding = o.get("padding", "SAME")
    padding = ((padding, padding),) * (x.ndim - 2) if isinstance(padding, int) else padding.upper()
    x, w = (jnp.asarray(v, float if v.dtype == bool else v.dtype) for v in (x, w))
    return jax.lax.conv_general_dilated(x, w, spatial(x, o, "strides"), padding, spatial(x, o, "input_dilation"),
                                        spatial(x, o, "kernel_dilation"), feature_group_count=o.get("groups", 1),
                                        dimension_numbers=("N" + letters + "C", letters + "IO", "N" + letters + "C"))


def conv_transpose(x, w, o):
    letters = "DHW"[2 - x.ndim :]
    x, w = (jnp.asarray(v, float if v.dtype == bool else v.dtype) for v in (x, w))
    return jax.lax.conv_transpose(x, w, spatial(x, o, "strides"), o.get("padding", "SAME"),
                                  spatial(x, o, "kernel_dilation"),
                                  dimension_numbers=("N" + letters + "C", letters + "IO", "N" + letters + "C"))


def lowest(x):
    """What no element of x's dtype is below."""
    return -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min


def pooled(x, o, f):
    """f(windows, their axes, what is no padding) for windows of images with channels last."""
    n, axes = x.ndim - 2, tuple(range(1, x.ndim - 1))
    window, padding = o.get("window", 2), o.get("padding", 0)
    stride = o.get("strides", window)
    kept = np.ones(x.shape, bool)
    if padding == "SAME":
        total = [max((-(-x.shape[k] // stride) - 1) * stride + window - x.shape[k], 0) for k in axes]
        widths = [(t // 2, t - t // 2) for t in total]
    else:
        widths = [(max(padding, 0),) * 2] * n
        cut = max(-padding, 0)
        x, kept = (v[(slice(None),) + (slice(cut, -cut or None),) * n] for v in (x, kept))
    widths = [(0, 0)] + widths + [(0, 0)]
    steps = (slice(None),) + (slice(None, None, stride),) * n
    view = np.lib.stride_tricks.sliding_window_view
    x, kept = (view(np.pad(v, widths), (window,) * n, axes)[steps] for v in (x, kept))
    return f(x, tuple(range(-n, 0)), kept)


def two_updates(optimizer, p, g, h):
    """The parameters after each of two updates by an optimizer of optax."""
    params, results = {"w": jnp.asarray(p)}, []
    state = optimizer.init(params)
    for gradient in (g, h):
        updates, state = optimizer.update({"w": jnp.asarray(gradient)}, state, params)
        params = optax.apply_updates(params, updates)
        results.append(np.asarray(params["w"]))
    return results


def adafactor(o):
    threshold = o.get("clipping_threshold", 1.0)
    return optax.adafactor(
        o["lr"], o.get("min_dim_size_to_factor", 128), o.get("decay_rate", 0.8), 0,
        o.get("multiply_by_parameter_scale", True), threshold or None, o.get("momentum"), jnp.float64,
        o.get("weight_decay"), o.get("eps", 1e-30), o.get("factored", True))


def average(p, q, decay, debias):
    """Two updates of an average of parameters."""
    first = p * (1 - decay)
    second = first * decay + q * (1 - decay)
    return (first / (1 - decay), second / (1 - decay**2)) if debias else (first, second)


def clipped(x, y, most):
    """Two arrays scaled down to a common norm."""
    norm = np.sqrt((np.abs(x) ** 2).sum() + (np.abs(y) ** 2).sum())
    scale = 1.0 if norm <= most else most / norm
    return x * scale, y * scale


def piecewise(o, step):
    """lr times the factors of the steps that are reached."""
    return o["lr"] * np.prod([np.where(step < at, 1, by) for at, by in zip(o["at"], o["by"])], axis=0)


def batches(arrays, size, o):
    """All minibatches of arrays in order: np.data.batches."""
    n = len(arrays[0])
    order = jax.random.permutation(jax.random.key(o["key"]), n) if "key" in o else np.arange(n)
    ends = range(0, n - size + 1 if o.get("drop_last") else n, size)
    return [x[np.asarray(order)[k : k + size]] for k in ends for x in arrays]


def moons(key, n, o):
    """np.data.moons: points of two half circles, and which they are on."""
    keys = jax.random.split(jax.random.wrap_key_data(key))
    labels, angle = np.arange(n) % 2, np.pi * np.asarray(jax.random.uniform(keys[0], (n,), "float32"), float)
    points = np.where(labels == 0, [np.cos(angle), np.sin(angle)], [1 - np.cos(angle), 0.5 - np.sin(angle)]).T
    return points + np.asarray(jax.random.normal(keys[1], (n, 2), "float32"), float) * o.get("noise", 0.1), labels
