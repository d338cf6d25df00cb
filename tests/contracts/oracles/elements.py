"""elements.py: definitions for functions of elements, polynomials, transforms and signals."""

MODULES = """differences elementwise fft kernel polynomials signal special"""


def smooth(f, order=0):
    """The derivative number `order` of a function of one mpmath number, for JAX, which derives it further."""

    def values(x):
        with mp.workdps(80):
            return np.vectorize(lambda v: float(mp.diff(f, mp.mpf(float(v)), order)), otypes=[np.float64])(x)

    @jax.custom_jvp
    def g(x):
        return jax.pure_callback(values, jax.ShapeDtypeStruct(jnp.shape(x), jnp.float64), x)

    g.defjvp(lambda x, t: (g(x[0]), smooth(f, order + 1)(x[0]) * t[0]))
    return g


def multigammaln(x, d):
    """scipy.special.multigammaln, which raises outside its domain, by its formula."""
    return sum(sp.gammaln(x - j / 2) for j in range(d)) + d * (d - 1) / 4 * np.log(np.pi)


def sinc(x):
    """sin(pi x) / (pi x): of real numbers with the digits of mpmath."""
    if np.iscomplexobj(x):
        return np.sinc(x)
    size = np.where(np.isfinite(x), x, 0)
    return np.where(np.isfinite(x), exact(mp.sincpi, size), np.nan)


def kl_div(p, q):
    """scipy.special.kl_div, with the digits of mpmath where both are above 0."""
    plain = (p > 0) & (q > 0) & np.isfinite(p) & np.isfinite(q)
    digits = exact(lambda p, q: p * mp.log(p / q) - p + q, np.where(plain, p, 1), np.where(plain, q, 1))
    return np.where(plain, digits, sp.kl_div(p, q))


def known(values, *cases):
    """values, which SciPy gives, but for cases (condition, value) in which it errs or hides a NaN."""
    for condition, value in cases:
        values = np.where(condition, value, values)
    return values


def own(x, dtype):
    """x in the dtype that a case has, halves too."""
    import ml_dtypes

    kinds = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "c64": np.complex64}
    narrow = {"i8": "f32", "u8": "f32", "i16": "f32", "u16": "f32", "i32": "f32", "u32": "f32", "bool": "f32"}
    return x.astype(kinds.get(narrow.get(dtype, dtype), x.dtype))


def nearest(x, dtype):
    """x rounded to the dtype that a case has, or that its integers become, in f64."""
    return own(x, dtype).astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def overflows(x, dtype):
    """Whether values in f64 are infinite where the dtype's functions compute, halves in f32; not of complex numbers."""
    return np.isinf(x if dtype == "f64" else nearest(x, "f32")) if x.dtype.kind != "c" else False


def spacing(x):
    """np.spacing by its definition: NumPy's of f16 goes the other way below 0."""
    size = np.abs(x)
    return np.where(x < 0, -1.0, 1.0) * (np.nextafter(size, np.array(np.inf, x.dtype)).astype(np.float64) - size)


def polyder(p, m):
    """np.polyder; of integers modulo 2^bits, without NumPy's floats of unsigned ones."""
    if p.dtype.kind not in "iu":
        return np.polyder(p, m) if len(p) else p
    values = [int(v) for v in p]
    for _ in range(m):
        values = [v * (len(values) - 1 - k) for k, v in enumerate(values[:-1])]
    bits, least = p.dtype.itemsize * 8, 2 ** (p.dtype.itemsize * 8 - 1) if p.dtype.kind == "i" else 0
    return np.array([(v + least) % 2**bits - least for v in values], p.dtype)


def slid(a, v, mode, turned):
    """np.convolve, or np.correlate; products of complex numbers by the plain formula, which a BLAS has not."""
    if a.dtype.kind != "c" or np.all(np.isfinite(a)) and np.all(np.isfinite(v)):
        return (np.convolve if turned else np.correlate)(a, v, mode)
    v = v if turned else np.conj(v[::-1])
    sums = [complex(0)] * (len(a) + len(v) - 1)
    for i, x in enumerate(a.tolist()):
        for j, y in enumerate(v.tolist()):
            sums[i + j] += complex(x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real)
    edge = 0 if mode == "full" else len(v) - 1
    return np.array(sums[edge:len(sums) - edge])


def divmod_of(x, y):
    """Python's quotient and remainder; of integers by 0 both are 0; docs/numbers.md says what infinities give."""
    quotient, rest = np.floor_divide(x, y), np.remainder(x, y)
    if x.dtype.kind == "f":
        quotient = np.where(np.isinf(x) & (y != 0), np.nan, quotient)
    return quotient, rest


def rounded(x, decimals, dtype):
    """np.round; of integers tens by whole arithmetic, halves to the even one."""
    if x.dtype.kind in "iu" and decimals < 0:
        power = 10**-decimals
        values = [int(v) for v in x.reshape(-1)]
        values = [(v // power + (2 * (v % power) + (v // power) % 2 > power)) * power for v in values]
        bits = x.dtype.itemsize * 8
        values = [((v + 2 ** (bits - 1)) % 2**bits) - 2 ** (bits - 1) if x.dtype.kind == "i" else v % 2**bits
                  for v in values]
        return np.array(values, x.dtype).reshape(x.shape)
    y = x if dtype in ("f16", "bf16") else own(x, dtype) if x.dtype.kind in "fc" else x
    if x.dtype.kind in "iu" and decimals > 0:
        return x
    with np.errstate(all="ignore"):
        result = np.round(y, decimals)
    if x.dtype.kind == "f":
        result = np.where(np.isfinite(result), result, y)
    return result.astype(x.dtype)


def lerp(a, b, t, dtype):
    """torch.lerp, in the dtype that the case has (halves in f32)."""
    kind = "f32" if dtype in ("f16", "bf16") else dtype
    a, b, t = np.broadcast_arrays(*(own(v, kind) for v in (a, b, t)))
    if a.dtype.kind == "c":
        near = np.abs(t) < 0.5
        return np.where(near, a + t * (b - a), b - (1 - t) * (b - a))
    return torch.lerp(T(a), T(b), T(t)).double()


def unwrapped(x, o, dtype):
    """np.unwrap; of integers in whole numbers without an end, taken into the dtype at last."""
    o = {k: v for k, v in o.items()}
    period = o.get("period", 2 * np.pi)
    if x.dtype.kind == "f" or period != int(period):
        return np.unwrap(x.astype(np.float64), **o)
    wide = np.vectorize(int, otypes=[object])(x) if x.size else x
    lines = np.moveaxis(wide, o.get("axis", -1), -1)
    out = np.array(lines)
    for line, new in zip(lines.reshape(-1, lines.shape[-1]), out.reshape(-1, lines.shape[-1])):
        for k in range(1, len(line)):
            jump = line[k] - line[k - 1]
            near = (jump + period // 2) % period - period // 2
            if period % 2 == 0 and near == -period // 2 and jump > 0:
                near = period // 2
            if abs(jump) < o.get("discont", period / 2):
                near = jump
            new[k] = new[k - 1] + near
    bits = x.dtype.itemsize * 8
    out = np.moveaxis(out, -1, o.get("axis", -1))
    if x.size == 0:
        return x
    least = 2 ** (bits - 1) if x.dtype.kind == "i" else 0
    return np.array([(v + least) % 2**bits - least for v in out.reshape(-1)], dtype=x.dtype).reshape(out.shape)


def power_of(x, y):
    """np.power; of integers modulo 2^bits, and the quotient rounded towards zero for negative exponents."""
    if x.dtype.kind not in "iu":
        return np.power(x, y)
    x, y = np.broadcast_arrays(x, y)
    bits, least = x.dtype.itemsize * 8, 2 ** (x.dtype.itemsize * 8 - 1) if x.dtype.kind == "i" else 0
    out = []
    for a, b in zip(map(int, x.reshape(-1)), map(int, y.reshape(-1))):
        if b < 0:
            value = a**(-b % 2 + 2) if a in (1, -1) else 0
        else:
            value = pow(a, b, 2**bits)
        out.append((value + least) % 2**bits - least)
    return np.array(out, dtype=x.dtype).reshape(x.shape)


def diff_of(x, more, o):
    ends = {}
    if more.ndim == 0:
        more = more.reshape((1,) * x.ndim) + np.zeros(x.shape[:-1] + (1,), x.dtype)
    for name in ("prepend", "append"):
        if name in o:
            ends[name] = more
    return np.diff(x, n=o.get("n", 1), axis=o.get("axis", -1), **ends)


def gradient_of(x, at, o):
    order, axis, x = o.get("edge_order", 1), o.get("axis"), x.astype(np.float64)
    spacings = [at.astype(np.float64)] if "spacing" in o else [o["h"]] if "h" in o else []
    if x.ndim == 2 and x.shape[0] < 3:
        order = 1
    return np.gradient(x, *spacings, axis=axis, edge_order=order)


def trapezoid_of(y, x, o):
    return np.trapezoid(y, x if "x" in o else None, dx=o.get("dx", 1.0), axis=o.get("axis", -1))


def polydiv_of(u, v):
    """np.polydiv in floats; the remainder with as many coefficients as v less one, at least one."""
    u, v = np.atleast_1d(u * np.float64(1)), np.atleast_1d(v * np.float64(1))
    n, m = len(u), len(v)
    if n < m:
        return np.zeros(1, u.dtype), u
    quotient, rest = np.zeros(n - m + 1, (u * v[0]).dtype), u.astype((u * v[0]).dtype)
    for k in range(n - m + 1):
        quotient[k] = rest[k] / v[0]
        rest[k:k + m] -= quotient[k] * v
    return quotient, rest[n - m + 1:] if m > 1 else np.zeros(1, rest.dtype)


def box(f, x, o):
    """A transform along several axes of NumPy."""
    o = dict(o)
    if "s" in o and "axes" not in o:
        o["axes"] = (-2, -1)
    return f(x, **o)


def spectrum(f, o, *signals):
    """A function of scipy.signal; of signals as floats, since it keeps the integers' dtype here and there."""
    o = {k: v for k, v in o.items()}
    if o.get("boundary") is False and f is not scipy.signal.istft:
        o["boundary"] = None
    signals = [s if s.dtype.kind == "c" else s.astype(np.float64) for s in signals]
    results = f(*signals, **o)
    if f is scipy.signal.istft: # whose times count the signals where there are several
        return np.arange(results[1].shape[-1]) / o.get("fs", 1), results[1]
    return results


def kernel(name, a, b):
    """The formulas of kernel_test.lua by their names."""
    if name == "gap":
        return np.where(a > b, a - b, 0.0)
    if name == "softer":
        return np.log1p(np.exp(-np.abs(a - b))) + np.maximum(a, b)
    if name == "parts":
        return np.where((a * b > 0) & (b > -9), a * b * (a * b), a * b / 2)
    return np.sin(a) * np.cos(b) + np.tanh(a * b) / np.sqrt(1 + b * b)
