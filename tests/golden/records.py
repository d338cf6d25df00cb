"""records.py: the text format of golden values, and what the makers share.

A golden file is text: lines starting with `#` are comments, every other line is a record of fields separated by tabs.
tests/lib/golden_reader.lua reads it with nothing but Lua's string functions. An array is written as

    dtype[d0,d1,…] v0 v1 …          all elements, row-major
    dtype[d0,d1,…] lin STEP START   element i of the flattened array is i*STEP + START (exact in the dtype)

Integers and bools (0, 1) are decimal; floats are decimal or hexadecimal, whichever is shorter, and always read back
to the same bits; inf, -inf, nan and -0 are spelled so. NaN has no sign and no payload here.

A file of thousands of records that nobody reads is stored as NAME.npz: the same text as an array of bytes, `text`.

Invariants: a maker is deterministic (its only randomness is a seeded generator), so making twice gives the same bytes.
"""

import os
import re

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

import numpy as np  # noqa: E402  (JAX must be configured first)

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = re.findall(r"X\([A-Z0-9]+, (\w+), '(\w)', \w+, (\d+),",
                  open(os.path.join(HERE, "../../lazy/dtype/dtype.h"), encoding="utf-8").read())
HALVES = ("f16", "bf16")  # which make_half.py is about
FULL = {"b": "bool", "u": "uint", "i": "int", "f": "float", "c": "complex"}
# NumPy's name by neap's; the complex ones, which only make_complex.py writes, in NAMES alone.
FULL_NAMES = {name: FULL[kind] + (bits if kind != "b" else "") for name, kind, bits in ROWS if name not in HALVES}
DTYPES = {name: FULL_NAMES[name] for name, kind, _ in ROWS if name in FULL_NAMES and kind != "c"}
NAMES = {np.dtype(full): short for short, full in FULL_NAMES.items()}


def dtype(name):
    """NumPy's dtype for neap's name of it."""
    return np.dtype(DTYPES[name])


def number(value):
    """The shortest exact text of a Python float."""
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    decimal = repr(value)
    if decimal.endswith(".0"):
        decimal = decimal[:-2]
    mantissa, exponent = value.hex().split("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    hexadecimal = mantissa + "p" + exponent
    return decimal if len(decimal) <= len(hexadecimal) else hexadecimal


def head(array):
    """dtype[shape] of an array."""
    array = np.asarray(array)
    return NAMES[array.dtype] + "[" + ",".join(str(n) for n in array.shape) + "]"


def text(array):
    """An array as text."""
    array = np.asarray(array)
    flat = array.reshape(-1)
    if array.dtype.kind == "f":
        values = [number(float(v)) for v in flat]
    else:
        values = [str(int(v)) for v in flat]
    return " ".join([head(array)] + values)


def linear(name, shape, step, start):
    """(array, text) of the lin form; refuses values that the dtype cannot hold exactly."""
    size = int(np.prod(shape, dtype=np.int64))
    exact = np.arange(size, dtype=np.float64) * step + start
    array = exact.astype(dtype(name)).reshape(shape)
    assert (array.reshape(-1).astype(np.float64) == exact).all()
    return array, head(array) + " lin " + number(float(step)) + " " + number(float(start))


def options(**values):
    """Options as `axis=0;keepdims=true`: numbers, booleans, strings, and lists as `axis=0,2,` (each item is followed
    by a comma). `-` stands for none."""
    def one(value):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (tuple, list)):
            return "".join(str(v) + "," for v in value) or ","
        return number(value) if isinstance(value, float) else str(value)
    return ";".join(key + "=" + one(value) for key, value in sorted(values.items()) if value is not None) or "-"


class Writer:
    """Collects the lines of one golden file; `with Writer("ops.txt", "what it is") as out:` writes it at the end; as
    bytes if its name ends with .npz."""

    def __init__(self, name, about):
        self.name = name
        self.lines = [("# " + line).rstrip() for line in about.strip().splitlines()]
        self.lets = {}

    def __enter__(self):
        return self

    def record(self, *fields):
        assert all("\t" not in field and "\n" not in field for field in fields), fields
        self.lines.append("\t".join(fields))

    def let(self, name, array, written=None):
        """Names an array that several records use; returns the reference `@name`."""
        if name not in self.lets:
            self.lets[name] = True
            self.record("let", name, written or text(array))
        return "@" + name

    def __exit__(self, kind, value, trace):
        if kind is None:
            lines = ("\n".join(self.lines) + "\n").encode("utf-8")
            path = os.path.join(HERE, self.name)
            if self.name.endswith(".npz"):
                np.savez_compressed(path, text=np.frombuffer(lines, np.uint8))
            else:
                with open(path, "wb") as file:
                    file.write(lines)


def ulps(got, want):
    """The largest distance of two float arrays in units of the last place of `want`; NaN equals NaN."""
    got, want = np.asarray(got), np.asarray(want)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    finite = np.isfinite(got) & np.isfinite(want)
    if not (same | finite).all():
        return np.inf
    unit = np.spacing(np.abs(np.where(finite, want, 1)))
    difference = np.abs(np.where(finite, got, 0).astype(np.longdouble) - np.where(finite, want, 0))
    return float(np.max(np.where(same, 0, difference / unit), initial=0))
