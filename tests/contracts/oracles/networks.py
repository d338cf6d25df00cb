"""networks.py: definitions for layers, losses and optimizers."""

MODULES = """activations convolutions data layers losses optimizers recurrent resampling"""


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


def hard_sigmoid(x, o):
    return np.clip(x * o["slope"] + o["offset"], 0, 1) if o else np.clip(x + 3, 0, 6) / 6


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


def multi_margin_loss(x, labels, o):
    """PyTorch's, but NaN stays NaN, and the mean of nothing is one."""
    x, n, labels = np.asarray(x, float), x.shape[-1], labels.astype(int)
    own = np.take_along_axis(x, labels[..., None], -1)
    each = np.maximum(o.get("margin", 1) - own + x, 0) ** o.get("p", 1)
    if "weight" in o:
        each = each * np.asarray(o["weight"], float)[labels][..., None]
    return reduced(np.where(np.arange(n) == labels[..., None], 0, each).sum(-1) / n, o)


def standardized(x, axis, epsilon):
    """x with mean 0 and variance 1 along axes."""
    off = x - x.mean(axis, keepdims=True)
    return off / np.sqrt((np.abs(off) ** 2).mean(axis, keepdims=True) + epsilon)


def rms_norm(x, scale, o):
    square = (np.abs(x) ** 2).mean(o.get("axis", -1), keepdims=True)
    by = 1 / np.sqrt(square + o.get("epsilon", 1e-6))
    return [x * by * scale, by] if o.get("return_stats") else x * by * scale


def layer_norm(x, scale, bias, o):
    axis = 0 if x.ndim == 1 else o.get("axis", -1)
    y = standardized(x, axis, o.get("epsilon", 1e-5)) * scale + bias
    by = 1 / np.sqrt(x.var(axis, keepdims=True) + o.get("epsilon", 1e-5))
    return [y, x.mean(axis, keepdims=True), by] if o.get("return_stats") else y


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
    stage = {"products": scores}
    if "softcap" in o:
        scores = o["softcap"] * np.tanh(scores / o["softcap"])
    stage["capped"] = scores
    kept, place = np.ones((n.size, m.size), bool), n + o.get("offset", 0)
    if o.get("bias"):
        scores = scores + (n - m) * 0.25
    if o.get("mask"):
        kept = kept & ((n + m) % 2 == 0) & (n > 0)
    if o.get("is_causal"):
        kept = kept & (place >= m)
    if "local_window_size" in o:
        size = o["local_window_size"]
        left, right = size if isinstance(size, tuple) else (size, size)
        kept = kept & (m >= place - left) & (m <= place + right)
    if o.get("lengths"):
        kept = kept & (m < 3)
    weights = scipy.special.softmax(np.where(kept, scores, -1e300), -1)
    if o.get("lengths"):
        weights = weights * (n < 1)
    stage["weights"] = weights
    y = np.einsum("...hnm,...mhe->...nhe", weights, v)
    return [y, stage[o["scores"]]] if "scores" in o else y


def rotary(x, c, s, o):
    """Each pair of features as a complex number, turned."""
    r = c.shape[-1]
    together = o.get("interleaved")
    one, other = (x[..., 0 : 2 * r : 2], x[..., 1 : 2 * r : 2]) if together else (x[..., :r], x[..., r : 2 * r])
    z = (one + 1j * other) * (c + 1j * s)[..., None, :]
    parts = np.stack([z.real, z.imag], -1).reshape(*z.shape[:-1], 2 * r)
    if not together:
        parts = np.concatenate([z.real, z.imag], -1)
    return np.concatenate([parts, x[..., 2 * r :]], -1)


def cached(a, b):
    """A cache of 5 with a and b, and the other way round, behind each other."""
    rest = np.zeros_like(a[..., :1, :, :])
    return [np.concatenate([a, b, rest], -3), np.concatenate([b, a, rest], -3), np.array(4)]


def multi_head(x, c, q, k, v, w, b, o):
    """Attention of two heads with dense layers before and behind it; with `mask` the first query sees no key."""
    bias = b if o.get("bias", True) else 0 * b
    source = c if o.get("context") else x

    def heads(y):
        return np.swapaxes(y.reshape(y.shape[:-1] + (2, 2)), -2, -3)

    queries, keys, values = heads(x @ q + bias), heads(source @ k + bias), heads(source @ v + bias)
    if "kv_heads" in o:
        keys, values = (np.repeat(y[..., :1, :, :], 2, -3) for y in (keys, values))
    scores = queries @ np.swapaxes(keys, -1, -2) / np.sqrt(2)
    if o.get("mask"):
        n = np.arange(scores.shape[-2])[:, None]
        scores = np.where((n >= np.arange(scores.shape[-1])) & (n > 0), scores, -1e300)
    if o.get("is_causal"):
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -1e300)
    weights = scipy.special.softmax(scores, -1)
    y = np.swapaxes(weights @ values, -2, -3)
    y = y.reshape(y.shape[:-2] + (4,)) @ w + bias
    return [y, weights] if o.get("return_weights") else y


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


def first(x):
    """Images as PyTorch has them, and back."""
    return T(np.ascontiguousarray(np.moveaxis(x, -1, 1)))


def last(y):
    return np.moveaxis(np.asarray(y), 1, -1)


def conv_transpose(x, w, o):
    n, letters, groups = x.ndim - 2, "DHW"[2 - x.ndim :], o.get("groups", 1)
    if o.get("transpose_kernel"):  # w: the first features of each group
        w = w[..., : w.shape[-1] // groups]
        f = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
        dtype, kernel = x.dtype, np.moveaxis(w, (-2, -1), (0, 1))
        y = last(f(first(x).double(), T(np.ascontiguousarray(kernel)).double(), None, o.get("strides", 1),
                   o.get("padding"), o.get("output_padding", 0), groups, o.get("kernel_dilation", 1)))
        return y.astype(dtype) if dtype.kind in "iu" else y
    if groups > 1:
        return conv(x, w, {"padding": o["padding"], "groups": groups})
    x, w = (jnp.asarray(v, float if v.dtype == bool else v.dtype) for v in (x, w))
    return jax.lax.conv_transpose(x, w, spatial(x, o, "strides"), o.get("padding", "SAME"),
                                  spatial(x, o, "kernel_dilation"),
                                  dimension_numbers=("N" + letters + "C", letters + "IO", "N" + letters + "C"))


def torch_max_pool(x, o):
    f = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[x.ndim - 3]
    y = f(first(x).double(), o.get("window", 2), o.get("strides"), o.get("padding", 0), o.get("dilation", 1),
          o["ceil_mode"], o.get("return_indices", False))
    return [last(v) for v in y] if o.get("return_indices") else last(y)


def torch_avg_pool(x, o):
    f = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[x.ndim - 3]
    return last(f(first(x).double(), o["window"], o["strides"], o["padding"], o["ceil_mode"],
                  o.get("count_include_pad", True)))


def max_unpool(x, at, o):
    n = x.ndim - 2
    size = ((5,), (4, 7))[n - 1] if o.get("extents") else None
    return last((F.max_unpool1d, F.max_unpool2d)[n - 1](first(x).double(), first(at).long(), 2, output_size=size))


def adaptive_pool(x, kind, n, indices):
    pool = getattr(F, f"adaptive_{kind}_pool{x.ndim - 2}d")
    if not indices:
        return last(pool(first(x).double(), n))
    values, at = pool(first(x).double(), n, return_indices=True)
    return last(values), last(at)


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
    apart = o.get("dilation", 1)
    inner = (Ellipsis,) + (slice(None, None, apart),) * n
    x, kept = (view(np.pad(v, widths), ((window - 1) * apart + 1,) * n, axes)[steps][inner] for v in (x, kept))
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


def scaled_updates(o, p, g, h):
    """Adam in a loss scale like that of PyTorch's GradScaler: an update that is not finite is left out."""
    optimizer, scale, good = optax.adam(o["lr"]), o["scale"], 0
    params, results = {"w": jnp.asarray(p)}, []
    state = optimizer.init(params)
    for gradient in (g, h):
        if np.all(np.isfinite(gradient)):
            updates, state = optimizer.update({"w": jnp.asarray(gradient) / scale}, state, params)
            params = optax.apply_updates(params, updates)
            good += 1
            if good == o.get("interval", 2000):
                scale, good = scale * o.get("growth", 2), 0
        else:
            scale, good = scale * o.get("backoff", 0.5), 0
        results.append(np.asarray(params["w"]))
    return results


def one_cycle(o, step):
    schedule = optax.cosine_onecycle_schedule(
        o["steps"], o["lr"], o.get("pct_start", 0.3), o.get("div_factor", 25), o.get("final_div_factor", 1e4)
    )
    return jnp.vectorize(schedule)(step)


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


def shapes(key, n, o):
    """np.data.shapes: pictures of squares, discs, crosses and diamonds, and which they are."""
    keys, size, noise = jax.random.split(jax.random.wrap_key_data(key), 3), o.get("size", 16), o.get("noise", 0.4)
    centre, radius, grain = (np.asarray(jax.random.uniform(k, shape, "float32"), float) for k, shape in
                             zip(keys, [(2, n, 1, 1), (n, 1, 1), (n, size, size)]))
    centre, radius = (centre + 1.5) * size / 4, (radius + 1.4) * size / 6
    x, y = abs(np.arange(size) - centre[0]), abs(np.arange(size)[:, None] - centre[1])
    far, near, labels = np.maximum(x, y), np.minimum(x, y), np.arange(n) % 4
    kinds = [far < radius, x**2 + y**2 < radius**2, (far < radius) & (near < radius / 3), x + y < radius]
    inside = np.choose(labels[:, None, None], kinds)
    return np.floor((inside * (1 - noise) + grain * noise) * 255).astype(np.uint8)[..., None], labels


def windows(x, size, step):
    """Pieces of neighbours along the first axis: np.data.windows."""
    starts = range(0, len(x) - size + 1, step)
    return np.stack([x[k : k + size] for k in starts]) if starts else np.empty((0, size) + x.shape[1:], x.dtype)


def packed(sequences, length, pad):
    """Sequences in rows, each in the first row that has room: np.data.pack."""
    rows = []
    for x in sequences:
        row = next((row for row in rows if sum(map(len, row)) + len(x) <= length), None)
        if row is None:
            rows.append(row := [])
        row.append(x)
    tokens = np.full((len(rows), length), pad, sequences[0].dtype)
    segments, positions = np.zeros((len(rows), length), np.int32), np.zeros((len(rows), length), np.int32)
    for r, row in enumerate(rows):
        at = 0
        for s, x in enumerate([x for x in row if len(x)]):
            tokens[r, at : at + len(x)], segments[r, at : at + len(x)] = x, s + 1
            positions[r, at : at + len(x)] = np.arange(len(x))
            at += len(x)
    return tokens, segments, positions


def random_flip(key, x, o):
    """Images, each mirrored or not: np.data.random_flip."""
    p = np.float32(o.get("p", 0.5))
    flips = jax.random.bernoulli(jax.random.wrap_key_data(jnp.asarray(key, "uint32")), p, (len(x),))
    axis = 1 if o.get("vertical") else 2
    return np.where(np.asarray(flips).reshape((-1,) + (1,) * (x.ndim - 1)), np.flip(x, axis), x)


def random_crop(key, x, size, padding):
    """A part of each image at a random place: np.data.random_crop."""
    keys = jax.random.split(jax.random.wrap_key_data(jnp.asarray(key, "uint32")))
    x = np.pad(x, [(0, 0), (padding, padding), (padding, padding)] + [(0, 0)] * (x.ndim - 3))
    first = [
        np.asarray(jax.random.randint(k, (len(x),), 0, n - m + 1, "int32"))
        for k, n, m in zip(keys, x.shape[1:3], size)
    ]
    return np.stack([y[i : i + size[0], j : j + size[1]] for y, i, j in zip(x, *first)])


def quantized(x, scale, o):
    """ONNX's QuantizeLinear: np.nn.quantize."""
    info = np.iinfo({"i": "int", "u": "uint"}[o.get("dtype", "i8")[0]] + o.get("dtype", "i8")[1:])
    if "axis" in o and x.ndim < 2:
        scale = scale.reshape(())
    with np.errstate(all="ignore"):
        y = np.rint(np.asarray(x, float) / scale)
    y = np.where(np.isnan(y), 0, y) + o.get("zero", 0)
    return np.clip(y, info.min, info.max).astype(info.dtype)


def integer_product(a, b, o):
    """A product of bytes: np.nn.matmul_integer."""
    wide = np.matmul(a.astype(np.int64) - o.get("a_zero", 0), b.astype(np.int64) - o.get("b_zero", 0))
    return np.asarray(wide).astype(np.int32)


def integer_conv(x, w, o):
    """A convolution of bytes: np.nn.conv_integer."""
    n = x.ndim - 2
    wide = [jnp.asarray(v.astype(np.int64) - o.get(zero, 0)) for v, zero in ((x, "x_zero"), (w, "w_zero"))]
    letters = "N" + "HWD"[:n] + "C", "HWD"[:n] + "IO", "N" + "HWD"[:n] + "C"
    return np.asarray(jax.lax.conv_general_dilated(*wide, (o.get("strides", 1),) * n, o.get("padding", "SAME"),
                                                   dimension_numbers=letters)).astype(np.int32)


def coded_weights(x, o):
    """Codes and scales, in blocks."""
    bits, block = o.get("bits", 8), o.get("block", 32)
    blocks = np.asarray(x, np.float32).reshape(-1, block, x.shape[1])
    if bits == 8:
        most = np.abs(blocks).max(1, keepdims=True) / np.float32(127)
    else:
        most = np.take_along_axis(blocks, np.abs(blocks).argmax(1)[:, None], 1) / np.float32(-8)
    scale = np.where(np.abs(most) < 6e-8, 0, most).astype(np.float16)
    codes = np.rint(blocks / np.where(scale == 0, 1, scale).astype(np.float32))
    return np.clip(codes, -127 if bits == 8 else -8, 127 if bits == 8 else 7).astype(np.int8), scale


def quantized_weights(x, o):
    """Blocks of weights as q8_0 and q4_0 of GGUF: np.nn.quantize_weights."""
    codes, scale = coded_weights(x, o)
    if o.get("bits", 8) == 4:
        half = codes.shape[1] // 2
        codes = (codes + 8).astype(np.uint8)
        return (codes[:, :half] | codes[:, half:] << 4).reshape(-1, x.shape[1]), scale[:, 0]
    return codes.astype(np.int8).reshape(x.shape), scale[:, 0]


def weights_back(x, o):
    """The weights of codes: np.nn.dequantize_weights."""
    codes, scale = coded_weights(x, o)
    return (codes.astype(np.float32) * scale.astype(np.float32)).reshape(x.shape)


def qparams(x, o):
    """Scale and zero point of a range: np.nn.choose_qparams."""
    info = np.iinfo({"i": "int", "u": "uint"}[o.get("dtype", "i8")[0]] + o.get("dtype", "i8")[1:])
    axes = tuple(k for k in range(x.ndim) if "axis" not in o or k != o["axis"] % x.ndim)
    low, high = x.min(axes, initial=0), x.max(axes, initial=0)
    if o.get("symmetric", True):
        middle = 0 if info.min else (info.max + 1) // 2
        scale = np.maximum(-low, high) / (info.max - middle)
        return np.where(scale == 0, 1, scale), np.full(np.shape(scale), middle, np.int32)
    scale = (high - low) / (info.max - info.min)
    scale = np.where(scale == 0, 1, scale)
    return scale, np.clip(info.min - np.rint(low / scale), info.min, info.max).astype(np.int32)


GATES = {"lstm": 4, "gru": 3, "rnn": 1}


def gate_parts(kind, v):
    return np.split(v, GATES[kind], -1)


def one_turn(kind, sums, wh, bh, h, c, o):
    """A turn as ONNX has it, with its activations, clip, peepholes and linear_before_reset: the next h and c."""
    names = {"tanh": np.tanh, "relu": lambda v: np.maximum(v, 0), "sigmoid": scipy.special.expit}
    usual = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh"), "rnn": ("tanh",)}[kind]
    most = o.get("clip", np.inf)
    fs = [lambda v, f=names[n]: f(np.clip(v, -most, most)) for n in o.get("activations", usual)]
    if kind == "rnn":
        return fs[0](sums + h @ wh.T + bh), c
    if kind == "lstm":
        p = o.get("p", np.zeros((3, 1)))
        i, f, g, out = gate_parts(kind, sums + h @ wh.T + bh)
        c = fs[0](f + p[1] * c) * c + fs[0](i + p[0] * c) * fs[1](g)
        return fs[0](out + p[2] * c) * names[o.get("activations", usual)[2]](c), c
    (sr, sz, sn), (wr, wz, wn), (br, bz, bn) = gate_parts(kind, sums), np.split(wh, 3), np.split(bh, 3)
    r, z = fs[0](sr + h @ wr.T + br), fs[0](sz + h @ wz.T + bz)
    add = r * (h @ wn.T + bn) if o.get("linear_before_reset", True) else (r * h) @ wn.T + bn
    return (1 - z) * fs[1](sn + add) + z * h, c


def by_turns(kind, x, wi, wh, bi, bh, h, c, o):
    """One layer, turn by turn: y and the last states."""
    ys = []
    for k in range(x.shape[1])[:: -1 if o.get("reverse") else 1]:
        h, c = one_turn(kind, x[:, k] @ wi.T + bi, wh, bh, h, c, o)
        ys.append(h)
    ys = ys[::-1] if o.get("reverse") else ys
    return [np.stack(ys, 1), h[None]] + ([c[None]] if kind == "lstm" else [])


def torch_recurrent(kind, x, wi, wh, bi, bh, h, c, o):
    """PyTorch's layers with the weights of tests/contracts/recurrent_test.lua."""
    layers, ways = o.get("layers", 1), 2 if o.get("bidirectional") else 1
    build = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn": torch.nn.RNN}[kind]
    module = build(wi.shape[1], wh.shape[1], layers, bias=o.get("bias", True), batch_first=True,
                   bidirectional=ways == 2, dtype=torch.float64)
    tree = {}
    for k in range(layers):
        for way, end in enumerate(["", "_reverse"][:ways]):
            into = wi if k == 0 else np.concatenate([wh] * ways, 1)
            for name, v in ("weight_ih", into), ("weight_hh", wh), ("bias_ih", bi), ("bias_hh", bh):
                if o.get("bias", True) or name[0] == "w":
                    tree[f"{name}_l{k}{end}"] = T((v[::-1] if way else v).copy() / (k + 1))
    module.load_state_dict(tree)
    count, given, inputs = layers * ways, None, T(x)
    if o.get("state"):
        h, c = (T(np.repeat(v[None], count, 0)) for v in (h, c))
        given = (h, c) if kind == "lstm" else h
    if "lengths" in o:
        inputs = torch.nn.utils.rnn.pack_padded_sequence(inputs, list(o["lengths"]), True, False)
    y, last = module(inputs, given)
    if "lengths" in o:
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, True, total_length=x.shape[1])
    return [y, *last] if kind == "lstm" else [y, last]


def recurrent(kind, x, wi, wh, bi, bh, h, c, o):
    if not o.get("state"):
        h, c = 0 * h, 0 * c
    if {"activations", "clip", "reverse", "linear_before_reset", "peephole"} & set(o):
        extra = {"p": np.stack([bh[: wh.shape[1]] * k for k in (1, 2, 3)])} if o.get("peephole") else {}
        return by_turns(kind, x, wi, wh, bi, bh, h, c, o | extra)
    return torch_recurrent(kind, x, wi, wh, bi, bh, h, c, o)


def cell_turn(kind, x, wi, wh, bi, bh, h, c, o):
    """PyTorch's cells."""
    f = {"lstm": torch.lstm_cell, "gru": torch.gru_cell, "rnn": torch.rnn_tanh_cell}[kind]
    if not o.get("state"):
        h, c = 0 * h, 0 * c
    state = (T(h), T(c)) if kind == "lstm" else T(h)
    bias = [T(bi), T(bh)] if o.get("bias", True) else []
    got = f(T(x), state, T(wi), T(wh), *bias)
    return list(got) if kind == "lstm" else [got]


def onnx_recurrent(kind, x, w, r, b, p):
    """ONNX's LSTM, GRU (linear_before_reset = 1) and RNN of x (time, batch, features) in two directions, by the
    formulas of its operators: y (time, batch, 2 * hidden) and the last states."""
    n, sigmoid, tanh = 2, scipy.special.expit, np.tanh
    ys, hs, cs = [], [], []
    for way in range(2):
        rows = GATES[kind] * n
        wt, rt, wb, rb = w[way, :rows].T, r[way, :rows].T, b[way, :rows], b[way, rows : 2 * rows]
        pi, po, pf = np.split(p[way], 3)
        h, c, y = np.zeros((x.shape[1], n)), np.zeros((x.shape[1], n)), []
        for v in x[::-1] if way else x:
            if kind == "rnn":
                h = tanh(v @ wt + h @ rt + wb + rb)
            elif kind == "gru":
                sz, sr, sh = np.split(v @ wt + wb, 3, -1)
                hz, hr, hh = np.split(h @ rt + rb, 3, -1)
                z = sigmoid(sz + hz)
                h = (1 - z) * tanh(sh + sigmoid(sr + hr) * hh) + z * h
            else:
                i, o, f, g = np.split(v @ wt + h @ rt + wb + rb, 4, -1)
                c = sigmoid(f + pf * c) * c + sigmoid(i + pi * c) * tanh(g)
                h = sigmoid(o + po * c) * tanh(c)
            y.append(h)
        ys.append(np.stack(y[::-1] if way else y))
        hs.append(h)
        cs.append(c)
    return [np.concatenate(ys, -1), np.stack(hs)] + ([np.stack(cs)] if kind == "lstm" else [])


def moved(f, x):
    """What a function that moves elements makes of x: of the indices of its elements, from 1; 0 is a new zero."""
    index = np.arange(1.0, x.size + 1).reshape(x.shape)
    return np.insert(x.ravel(), 0, 0)[np.asarray(f(index)).astype(int)]


def unfold(x, o):
    y = F.unfold(first(x).double(), o["window"], o.get("dilation", 1), o.get("padding", 0), o.get("strides", 1)).numpy()
    if "layout" not in o:  # (batch, channels * window, places)
        y = np.moveaxis(y.reshape(y.shape[0], x.shape[-1], -1, y.shape[-1]), 1, 2)
        y = np.swapaxes(y.reshape(y.shape[0], -1, y.shape[-1]), 1, 2)
    return y


def fold(x, o):
    """Images of 4 x 5 of patches (batch, places, window * channels)."""
    if "layout" not in o:
        y = x.reshape(*x.shape[:2], 4, -1)
        x = np.swapaxes(y, 2, 3).reshape(x.shape)
    y = F.fold(T(np.ascontiguousarray(np.swapaxes(x, 1, 2))).double(), (4, 5), 2).numpy()
    return y if "layout" in o else np.moveaxis(y, 1, -1)


def resized(x, o):
    """jax.image.resize to 7 x 3, or what of PyTorch has the options."""
    if "exclude_outside" not in o:
        if o["method"] == "nearest":
            return nearest(x)
        return jax.image.resize(jnp.asarray(real(x)), (7, 3), o["method"], o.get("antialias", True))
    mode = {"cubic": "bicubic", "linear": "bilinear"}.get(o["method"], "nearest")
    given = {} if mode == "nearest" else {"align_corners": o.get("coordinates") == "align_corners"}
    if "scales" in o:
        s = 1 / o["scales"][0]
        at = (np.arange(7) + 0.5) * s - 0.5
        low = np.floor(at)
        rows = [np.clip(low + k, 0, x.shape[0] - 1).astype(int) for k in (0, 1)]
        x = real(x)[rows[0]] * (1 - at + low)[:, None] + real(x)[rows[1]] * (at - low)[:, None]
    return F.interpolate(T(x).double()[None, None], (7, 3), mode=mode, **given)[0, 0]


def nearest(x):
    rows, columns = (np.floor((np.arange(n) + 0.5) * e / n).astype(int) for n, e in zip((7, 3), x.shape))
    return x[rows][:, columns]


def interpolated(x, o):
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(o.get("mode"), o.get("mode", "nearest"))
    given = {"align_corners": o.get("align_corners", False)} if mode[:2] == "bi" else {}
    return last(F.interpolate(first(x).double(), o.get("to"), o.get("scale"), mode, antialias=o.get("antialias", False),
                              **given))


def grid_sampled(x, grid, o):
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(o.get("method", "linear"), "nearest")
    return last(F.grid_sample(first(x), T(grid), mode, o.get("padding", "zeros"), o.get("align_corners", False)))


def binary(x, y, o):
    """Binary cross entropy of logits, whose weights are numbers."""
    loss = y * np.logaddexp(0, -x) * o.get("pos_weight", 1) + (1 - y) * np.logaddexp(0, x)
    return reduced(loss * o.get("weight", 1), o)


def focal(x, y, o):
    loss = optax.sigmoid_focal_loss(jnp.asarray(x), jnp.asarray(y), alpha=o.get("alpha"), gamma=o.get("gamma", 2))
    return reduced(np.asarray(loss), o)


def torch_loss(name, o, *arrays):
    """A loss of PyTorch of broadcast arrays."""
    names = {"epsilon": "eps"}
    return getattr(F, name)(*(T(np.array(v, float)) for v in arrays), **{names.get(k, k): v for k, v in o.items()})


def ctc(x, labels, o):
    n, time = x.shape[:2]
    log_p = F.log_softmax(T(np.swapaxes(x, 0, 1).copy()), -1)
    cut = o.get("cut")
    lengths = [torch.full((n,), 4 if cut else time), torch.full((n,), 1 if cut else labels.shape[1])]
    return F.ctc_loss(log_p, T(labels).long() - (1 if cut else 0), *lengths, 2 if cut else 0,
                      o.get("reduction", "mean"), o.get("zero_infinity", False))
