"""places.py: definitions for shapes, joins, selections, sets and indices."""

MODULES = """applied choices index pads pieces places select sets shape"""


def pad(x, width, mode="constant", value=0, **o):
    """np.pad, whose value has a name of its own only with mode constant; extrema are of real numbers."""
    if mode in ("maximum", "minimum") and x.dtype.kind == "c":
        mode = "mean"
    if mode == "constant":
        o.setdefault("constant_values", value)
    if x.dtype == bool and mode == "constant":
        o["constant_values"] = (np.array(o["constant_values"]) != 0).tolist()
    return np.pad(x, width, mode, **o)


def take(x, i, axis=None, mode=None, fill_value=None):
    """np.take, in which negative indices count from the end with all modes but clip."""
    return np.take(x, i, axis, mode="clip" if mode == "clip" else "raise")


def order(x, name, axis=-1, descending=False, stable=True):
    """np.sort and np.argsort, stable; descending: the greatest first, equal ones in place, NaN last."""
    x = x.reshape(1) if x.ndim == 0 else x
    axis = axis if axis < x.ndim else -1
    places = np.argsort(x, axis, kind="stable")
    if descending:  # the order of what is turned around, whose places count from the end
        n = x.shape[axis]
        turned = np.argsort(np.flip(x, axis), axis, kind="stable")
        places = n - 1 - np.flip(turned, axis)
        missing = np.isnan(np.take_along_axis(x, places, axis)) if x.dtype.kind in "fc" else np.zeros(places.shape)
        places = np.take_along_axis(places, np.argsort(missing, axis, kind="stable"), axis)
        if x.dtype.kind in "fc":  # several NaN in their order
            count = np.sum(np.isnan(x), axis, keepdims=True)
            position = np.moveaxis(np.arange(n).reshape((n,) + (1,) * (x.ndim - 1)), 0, axis)
            key = np.where(position >= n - count, places + n * n, position)
            places = np.take_along_axis(places, np.argsort(key, axis, kind="stable"), axis)
    return places if name == "argsort" else np.take_along_axis(x, places, axis)


def top_k(x, k, axis=-1, largest=True):
    """The first k of the order."""
    places = np.take(order(x, "argsort", axis, descending=largest), np.arange(k), axis)
    return np.take_along_axis(x, places, axis), places


def put(x, i, v):
    """np.put as a function."""
    x = x.copy()
    np.put(x, i, v)
    return x


def along(x, i, v, axis, how):
    """np.put_along_axis as a function, which may combine what is there with the new values, one after another."""
    combine = {"set": lambda a, b: b, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[how]
    x, shape = x.copy(), list(x.shape)
    shape[axis] = i.shape[axis]
    i, v = np.broadcast_to(i, shape), np.broadcast_to(v, shape)
    for place in np.ndindex(*shape):
        to = list(place)
        to[axis] = i[place]
        old, new = x[tuple(to)], v[place]
        if x.dtype.kind == "c" and how in ("min", "max"):
            x[tuple(to)] = new
        else:
            x[tuple(to)] = combine(old, new)
    return x


def changed(f):
    """A function that gives what f makes of its first argument."""
    def g(x, *more, **named):
        x = x.copy()
        f(x, *more, **named)
        return x
    return g


place, putmask, fill_diagonal = changed(np.place), changed(np.putmask), changed(np.fill_diagonal)


def unique(x, size=None, fill_value=None, return_index=False, return_inverse=False, return_counts=False, **o):
    """np.unique; with a size as jnp.unique. Of c128 and bool alike."""
    if size is None:
        return np.unique(x, return_index=return_index, return_inverse=return_inverse, return_counts=return_counts, **o)
    values, index, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, **o)
    n = min(size, len(values))
    first = values[:1] if fill_value is None else np.array([fill_value]).astype(x.dtype)
    values = np.concatenate([values[:n], np.repeat(first if len(values) else np.zeros(1, x.dtype), size - n)])
    index = np.concatenate([index[:n], np.repeat(index[:1] if len(index) else np.zeros(1, int), size - n)])
    counts = np.concatenate([counts[:n], np.zeros(size - n, int)])
    parts = [values] + [index] * return_index + [inverse] * return_inverse + [counts] * return_counts
    return parts


def unique_kin(x, name, **o):
    """np.unique_values and its kin, with a size too."""
    parts = name.split("_")[1]
    return unique(x, return_index=parts == "all", return_inverse=parts in ("all", "inverse"),
                  return_counts=parts in ("all", "counts"), **o)


def at(x, index, v, how):
    """x with the part that an index in NumPy's writing names changed, where an element is named several times, too."""
    x, index = x.copy(), eval("np.s_[" + index + "]", {"np": np})
    if how == "set":
        x[index] = v
    elif x.dtype == bool and how == "add":
        np.logical_or.at(x, index, v)
    else:
        {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[how].at(x, index, v)
    return x
