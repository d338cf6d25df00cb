"""draws.py: definitions for random numbers and new arrays."""

MODULES = """create distributions dtypes grids random"""


def words_key(words):
    """A key of JAX, of the two words that neap's has."""
    return jax.random.wrap_key_data(jnp.asarray(words).astype(jnp.uint32))


def drawn(name, key, o, *parameters, **more):
    """jax.random.NAME as neap is asked for it: in the dtype of the options and in their shape; halves are drawn in f32,
    or with `halves` as such. With results of f32 64-bit types are off, as neap's defaults have 32 bits."""
    wide = o.get("dtype", more.pop("usual", "f32")) in ("f64", "c128", "i64", "u64")
    shape = o["shape"] if "shape" in o else more.pop("otherwise", None)
    more.pop("otherwise", None)
    if isinstance(shape, (int, dict)):
        shape = () if isinstance(shape, dict) else (shape,)
    halves = {"f16": jnp.float16, "bf16": jnp.bfloat16} if more.pop("halves", False) else {}
    with jax.enable_x64(wide):
        real = halves.get(o.get("dtype"), jnp.float64 if wide else jnp.float32)
        parameters = [jnp.asarray(p, real) for p in parameters]
        more.setdefault("dtype", real)
        if more["dtype"] is None:
            del more["dtype"]
        result = getattr(jax.random, name)(words_key(key), *parameters, shape=shape, **more)
        return np.asarray(result if result.dtype != jnp.bfloat16 else result.astype(jnp.float32))


def complex_of(o):
    """The dtype of a draw that may be complex."""
    kinds = {"c64": jnp.complex64, "c128": jnp.complex128, "f16": jnp.float16, "bf16": jnp.bfloat16, "f64": jnp.float64}
    return kinds.get(o.get("dtype"), jnp.float32)


def both(*arrays):
    """The shape to which arrays broadcast."""
    return np.broadcast_shapes(*(np.shape(a) for a in arrays))


def integers_drawn(key, low, high, o):
    kinds = {"u8": "uint8", "i64": "int64", "u32": "uint32", "i16": "int16", "u64": "uint64"}
    name = kinds.get(o.get("dtype"), "int32")
    ends = np.iinfo(name)
    fits = [np.array([min(max(int(v), int(ends.min)), int(ends.max)) for v in np.ravel(a)], object).reshape(np.shape(a))
            for a in (low, high)]
    low, high = (a.astype("int64" if ends.bits < 32 else name) for a in fits)
    return jax.random.randint(words_key(key), o["shape"], jnp.asarray(low), jnp.asarray(high), jnp.dtype(name))


def chosen(key, x, o):
    with jax.enable_x64(False):
        p = None if o.get("p") is None else jnp.asarray(o["p"], jnp.float32)
        places = jax.random.choice(words_key(key), np.shape(x)[o.get("axis", 0) if np.ndim(x) > 1 else 0],
                                   o.get("shape", ()), o.get("replace", True), p)
    return np.take(x, np.asarray(places), o.get("axis", 0) if np.ndim(x) > 1 else 0)


def categories(key, logits, o):
    shape = o.get("shape")
    return jax.random.categorical(words_key(key), jnp.asarray(logits), axis=o.get("axis", -1), shape=shape,
                                  replace=o.get("replace", True)).astype(jnp.int32)


def streamed(seed):
    """Three draws of a stream: under the second key of each split, the first one stays."""
    results, key = [], jax.random.key(seed)
    for k in range(3):
        key, own = jax.random.split(key)
        if k == 0:
            results.append(jax.random.normal(own, (3,), jnp.float32))
        elif k == 1:
            results.append(jax.random.uniform(own, (2,), jnp.float64))
        else:
            results.append(jax.random.key_data(own))
    return results


def spread(o, *arrays):
    """Arrays broadcast to each other and to the shape of the options, where jax.random.f does not."""
    return [np.broadcast_to(a, o.get("shape", both(*arrays))) for a in arrays]


def extents(o):
    """The shape that the arguments of a constructor say."""
    given = o.get("args", ())
    first = given[0] if given else ()
    if isinstance(first, dict):
        return ()
    return tuple(int(n) for n in first) if isinstance(first, tuple) else tuple(int(n) for n in given)


def columns(o):
    return o.get("m", o["args"][1] if len(o["args"]) > 1 else None)


def diagonal(o):
    return o.get("k", o["args"][2] if len(o["args"]) > 2 else 0)


def spaced(start, stop, o, f=np.linspace, **more):
    kinds = {"i32": np.int64, "u8": np.int64}
    start, stop = (np.asarray(v) for v in np.broadcast_arrays(start, stop))
    return f(start, stop, o.get("n", 50), endpoint=o.get("endpoint", True), axis=o.get("axis", 0),
             dtype=kinds.get(o.get("dtype")), **more)


def kronecker(o):
    """Ones where the indices along the axes are the same."""
    places = np.indices(extents(o))
    axes = o.get("axes", range(len(places)))
    return np.all([places[k] == places[axes[0]] for k in axes], axis=0) if len(places) else np.ones(())


def normal_vectors(key, mean, root, o):
    cov = root @ np.swapaxes(root, -1, -2) + np.eye(root.shape[-1])
    shape = o.get("shape") if mean.ndim + root.ndim <= 3 else None
    if shape is None:
        shape = np.broadcast_shapes(mean.shape[:-1], cov.shape[:-2])
    return drawn("multivariate_normal", key, {"dtype": o.get("dtype"), "shape": shape}, mean, cov,
                 method=o.get("method", "cholesky"))


def ranges(grid, o):
    """np.mgrid or np.ogrid of ranges, which are texts, numbers or lists."""
    def part(text):
        return float(text) if "." in text else int(text) if text.strip() else None

    slices = []
    for given in o["args"]:
        if isinstance(given, str):
            for text in given.split(","):
                words = text.split(":")
                step = words[2].strip() if len(words) > 2 else ""
                step = complex(step) if step.endswith("j") else part(step) if step else None
                slices.append(slice(part(words[0]) or 0, part(words[1]), step))
        else:
            slices.append(slice(*given) if isinstance(given, tuple) else slice(0, given))
    result = grid[tuple(slices)] if len(slices) > 1 else grid[slices[0]]
    return result[None] if grid is np.mgrid and len(slices) == 1 else result


NAMES = "bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 c64 c128".split()


def kind_of(name):
    """A dtype of JAX by neap's name."""
    if name in ("bool", "bf16", "f16"):
        return {"bool": jnp.bool_, "bf16": jnp.bfloat16, "f16": jnp.float16}[name]
    kinds = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
    return jnp.dtype(kinds[name[0]] + name[1:])


def numpy_of(name):
    return np.dtype(kind_of(name))


def wide_of(name):
    return jnp.float64 if name in ("f16", "bf16", "f32") else kind_of(name)


def named(dtype):
    dtype = np.dtype(dtype)
    return next(n for n in NAMES if numpy_of(n) == dtype)


def promoted(a, b):
    """JAX's rule; but u64 with signed integers is f32, as all integers of neap that have no common dtype."""
    if {a, b} in [{"u64", s} for s in ("i8", "i16", "i32", "i64")]:
        return "f32"
    return named(jnp.promote_types(kind_of(a), kind_of(b)))


def resulting(*args):
    """Of names and numbers: a whole number is i32 of bool; a fraction f32 of integers, f64 of 64-bit ones."""
    names = [a for a in args if isinstance(a, str)]
    result = names[0]
    for name in names[1:]:
        result = promoted(result, name)
    for number in (a for a in args if not isinstance(a, str)):
        if number == int(number):
            result = "i32" if result == "bool" else result
        elif result in ("i64", "u64"):
            result = "f64"
        elif result[0] in "iu" or result == "bool":
            result = "f32"
    return result


def castable(a, b, rule):
    real = b == "bf16" and a[0] == "c" and rule != "unsafe"  # which NumPy's bf16 allows
    return str(bool(np.can_cast(numpy_of(a), numpy_of(b), rule)) and not real).lower()


def limits(name):
    facts = jnp.finfo(kind_of(name))
    values = [facts.bits, facts.eps, facts.epsneg, facts.max, facts.min, facts.smallest_normal, facts.tiny,
              facts.smallest_subnormal, facts.nmant, facts.precision, facts.resolution]
    return [np.float64(v) for v in values]


def cast(x, name):
    """Casts as docs/numbers.md says: floats to integers towards zero, to the nearest end, NaN to 0; integers wrap."""
    if name == "bool":
        return x != 0
    dtype = numpy_of(name)
    if name[0] in "fbc":
        rounded = x.astype(dtype)
        return rounded.astype(np.complex128 if name[0] == "c" else np.float64)
    if x.dtype.kind == "f":
        ends = np.iinfo(dtype)
        values = [0 if v != v else max(min(v, float(ends.max)), float(ends.min)) for v in np.ravel(x).tolist()]
        return np.array([min(int(v), int(ends.max)) for v in values], dtype).reshape(x.shape)
    return x.astype(dtype)
