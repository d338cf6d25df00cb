"""tables.py: definitions for tables, files, collectives and loops."""

MODULES = """around collectives files page table_dates table_rows table_shapes table_texts tables transforms tree"""


def argnums(o):
    """The option argnums, from 1, a number or several, as JAX has it."""
    numbers = o.get("argnums", 1)
    return tuple(n - 1 for n in (numbers if isinstance(numbers, tuple) else (numbers,)))


def printed(x, o):
    """An array as NumPy's str with the options of np.array2string."""
    with np.printoptions(**o):
        return str(x)


def joined(t, u, how):
    """Tables of k, v and of k, w joined by k: k, v, w, by default inner; where one of them is missing, NaN."""
    if how is None:
        m = pd.merge(t, u, on="k")
        return [m.k, m.v, m.w.astype(float)]
    if how in ("semi", "anti"):
        t = t[t.k.isin(u.k) == (how == "semi")]
        return [t.k, t.v.astype(float), np.arange(len(t)).astype(float)]
    m = pd.merge(t, u, on="k", how="left" if how == "outer" else how)
    k, v, w = m.k.to_numpy(t.k.dtype), m.v.astype(float), m.w.astype(float)
    if how == "outer":
        rest = u[~u.k.isin(t.k)]
        k = np.concatenate([k, rest.k])
        v, w = np.concatenate([v, np.full(len(rest), np.nan)]), np.concatenate([w, rest.w])
    return [k, v, w]


def one(x):
    """A column of one row."""
    return np.array([x])


def ranked(k, v, o):
    v = pd.Series(v.astype(int) if v.dtype == bool else v)
    s = v.groupby(pd.Series(k)) if "by" in o else v
    return s.rank(method=o.get("method", "average"), ascending=o.get("ascending", True), pct=o.get("pct", False))


def intervals(c):
    """The numbers of the categories of a column, and these as a text."""
    def text(label):
        if isinstance(label, str):
            return label
        ends = [repr(float("%.15g" % x)) if isinstance(x, float) else str(x) for x in (label.left, label.right)]
        return ("(%s, %s]" if label.closed == "right" else "[%s, %s)") % tuple(ends)

    return [c.codes, " ".join(text(label) for label in c.categories)]


def carried(k, j, o, way):
    s, j = pd.Series(k), pd.Series(j)
    if "by" not in o:
        return getattr(s, way)()
    return getattr(s.groupby(j), way)().where(j.notna(), s)


def in_groups(k, s, o, f):
    """f of a series, or of its rows by k one by one; NaN where that is missing."""
    if "by" not in o:
        return f(s)
    out = pd.Series(np.full(len(s), np.nan))
    for _, rows in pd.Series(k).groupby(k).groups.items():
        out[rows] = f(s[rows]).astype(float)
    return out


def rolled(k, v, o, window):
    how = o.get("how", "mean")

    def one(s):
        least = o.get("min_periods", 0 if how == "count" else None)
        if window is None:
            return getattr(s.expanding(1 if least is None else least), how)()
        return getattr(s.rolling(window, min_periods=least, center=o.get("center", False)), how)()

    return in_groups(k, pd.Series(v.astype(float)), o, one)


def running(k, v, o, method):
    """cumsum and its kin in 64 bits."""
    if v.dtype.kind in "biu" and method in ("cumsum", "cumprod"):
        v = v.astype(np.uint64 if v.dtype.kind == "u" else np.int64)
    elif v.dtype == bool:
        v = v.astype(int)
    s = pd.Series(v)
    return getattr(s.groupby(pd.Series(k)) if "by" in o else s, method)()


def cells(t):
    """A table's columns as names and an array of f64."""
    name = lambda c: c if isinstance(c, str) else "%.14g" % c  # noqa: E731
    return [" ".join(name(c) for c in t.columns), t.to_numpy(float)]


UNITS = {"us": "us", "ms": "ms", "s": "s", "min": "m", "h": "h", "D": "D", "W": "W"}
LENGTHS = {"us": 1, "ms": 1000, "s": 10**6, "min": 6 * 10**7, "h": 36 * 10**8, "D": 864 * 10**8, "W": 7 * 864 * 10**8}
PARTS = "year month day hour minute second microsecond weekday dayofyear quarter".split()
FREQS = {"M": "M", "Q": "Q", "Y": "Y", "W": "W-SUN"}
BINS = {"M": "MS", "Q": "QS", "Y": "YS", "W": "W-MON"}


def ticks(n, unit="s"):
    """Dates in microseconds, as pandas has them, of numbers of a unit since 1970; NaT where one is the least i64."""
    n = np.asarray(n, np.int64)
    nat = n == np.iinfo(np.int64).min
    return pd.Series(np.where(nat, n, n * LENGTHS[unit])).astype("datetime64[us]")


def of_dates(s):
    """The ticks of dates."""
    return s.to_numpy("datetime64[us]").astype(np.int64)


def floored(s, freq):
    if freq in FREQS:
        if freq == "M":
            return s.to_numpy("datetime64[us]").astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)
        if freq == "Y":
            return s.to_numpy("datetime64[us]").astype("datetime64[Y]").astype("datetime64[us]").astype(np.int64)
        if freq == "W":
            days = s.dt.normalize() - pd.to_timedelta(s.dt.weekday, unit="D")
            return of_dates(days)
        months = s.to_numpy("datetime64[us]").astype("datetime64[M]")
        number = months.astype(np.int64)
        return (number // 3 * 3).astype("datetime64[M]").astype("datetime64[us]").astype(np.int64)
    return of_dates(s.dt.floor(freq))


def moved(s, n, unit):
    if unit in ("M", "Q", "Y"):
        return np.array([of_dates(pd.Series([t + pd.DateOffset(months=n * {"M": 1, "Q": 3, "Y": 12}[unit])]))[0]
                         for t in s], np.int64)
    return of_dates(s) + n * LENGTHS[unit]


def resampled(n, v, freq):
    """The begins of periods, how many rows each has, and sums, means, least and last values."""
    t = pd.DataFrame({"n": ticks(n), "v": v.astype(float)})
    r = t.sort_values("n", kind="stable").set_index("n").resample(BINS.get(freq, freq), label="left", closed="left")
    return [r.size().index.to_numpy("datetime64[us]").astype(np.int64), r.size(), r.v.sum(), r.v.mean(), r.v.min(),
            r.v.last(), r.v.median(), r.v.nunique()]


def stepped(first, n, freq):
    """n dates from one on, by a number of a unit."""
    count = int("".join(c for c in freq if c.isdigit()) or 1)
    unit = "".join(c for c in freq if not c.isdigit())
    start = pd.Timestamp(first).as_unit("us")
    return np.concatenate([moved(pd.Series([start]), k * count, unit) for k in range(n)] or [np.zeros(0, np.int64)])
