"""make_fields.py: values in fields of Python's str.format (fields.txt).

Records:   field <tab> specification <tab> array or "text" <tab> |what format() writes|, or error

np.debug.print writes the same in {:specification}. Left out is what neap has otherwise: types c and n, the option z,
integers of floats (an integral one is taken), and # of a float without a type.
"""

import random

import numpy as np

from records import Writer, text

FILLS = ["*", "0", "_", "·", "x", " ", "="]
FLOATS = [0.0, -0.0, 1.0, -1.5, 0.1, 2.5, 9.996, 123.0, 1234.5, 99999.5, -12345678.25, 1e16, 1e-5, 1 / 3, 1e300,
          -5e-324, float("inf"), float("-inf"), float("nan")]
INTEGERS = [0, 7, -42, 255, 1000, -999999, 12345678, 2**53 - 1, -(2**53)]
TEXTS = ["", "a", "name", "ä·é", "two words"]


def specification(draw, kind):
    letters = {"f": "eEfFgG%", "i": "bdoxXeEfFgG%", "s": "s"}[kind]
    spec = ""
    if draw.random() < 0.5:
        spec += (draw.choice(FILLS) if draw.random() < 0.6 else "") + draw.choice("<>^=")
    if draw.random() < 0.4:
        spec += draw.choice("+- ")
    letter = draw.choice(letters) if draw.random() < 0.6 else ""
    if draw.random() < 0.2 and not (kind == "f" and letter == ""):
        spec += "#"
    if draw.random() < 0.3:
        spec += "0"
    if draw.random() < 0.7:
        spec += str(draw.randint(1, 25))
    if draw.random() < 0.25:
        spec += draw.choice(",_")
    if draw.random() < (0.1 if kind == "i" else 0.4):
        spec += "." + str(draw.randint(0, 12))
    return spec + letter


def value(draw, kind, spec):
    if kind == "s":
        return draw.choice(TEXTS)
    if kind == "i":
        return np.array(draw.choice(INTEGERS), np.int64)
    chosen = draw.choice(FLOATS) if draw.random() < 0.7 else draw.uniform(-1, 1) * 10.0 ** draw.randint(-8, 12)
    fits = not 1e38 < abs(chosen) < float("inf")
    single = fits and spec[-1:].isalpha() and draw.random() < 0.3
    return np.array(chosen, np.float32 if single else np.float64)


def make():
    draw = random.Random(7)
    with Writer("fields.txt", __doc__) as out:
        for _ in range(900):
            kind = draw.choice("ffis")
            spec = specification(draw, kind)
            given = value(draw, kind, spec)
            try:
                written = "|" + format(given if kind == "s" else given.item(), spec) + "|"
            except ValueError:
                written = "error"
            out.record("field", spec, '"' + given + '"' if kind == "s" else text(given), written)


if __name__ == "__main__":
    make()
