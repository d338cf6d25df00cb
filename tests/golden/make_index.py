"""make_index.py: random indices of arrays, by NumPy (index.txt).

Records:   index <tab> extents <tab> item; item; … <tab> = <tab> result
           index <tab> extents <tab> item; item; … <tab> error

The array has the elements 0, 1, 2, … of dtype i32. An item is an integer, a slice from:to:step, ..., None, a list
[1, 0] of integers or bools, or the name of an array in ARRAYS below, whose values are small enough for every axis of
extent 2 and more.
"""

import random

import numpy as np

from records import Writer, text

ARRAYS = {
    "p": np.array([1, 0, 1], np.int32), "r": np.array([[0], [1]], np.int32), "k": np.array([[-1, 0, 1]], np.int32),
    "o": np.array(1, np.int32), "none": np.zeros((0,), np.int32), "yes": np.array(True), "no": np.array(False),
    "mask": np.array([[True, False, True], [False, False, True]]), "empty": np.zeros((0, 0), bool),
}
SHAPES = ((5,), (2, 3), (3, 4, 2), (2, 3, 4, 3), (4, 0, 3), (2, 2, 2, 2, 2))


def item(draw, n):
    kind = draw.choice(("integer", "slice", "slice", "whole", "list", "array"))
    if kind == "integer":
        return str(draw.randint(-n - (draw.random() < 0.05), max(n - 1, 0)))
    if kind == "whole":
        return ":"
    if kind == "slice":
        def end():
            return "" if draw.random() < 0.4 else str(draw.randint(-n - 1, n + 1))
        step = draw.choice(("", "", ":", ":-1", ":2", ":-2", ":3"))
        return end() + ":" + end() + step
    if kind == "list":
        if draw.random() < 0.3:
            return "[" + ", ".join(draw.choice(("True", "False")) for _ in range(n)) + "]" if n else "[]"
        return "[" + ", ".join(str(draw.randint(-n, n - 1)) for _ in range(3)) + "]" if n else "[]"
    return draw.choice(("p", "r", "k", "o", "none")) if n >= 2 else "none"


def value(token):
    if token in ARRAYS:
        return ARRAYS[token]
    if token == "[]":
        return np.zeros((0,), np.int32)
    return eval("np.s_[" + token + "]", {"np": np})


def expression(draw, shape):
    """A list of items: for some of the axes, in order, with new axes, an ellipsis and masks among them."""
    tokens, axis = [], 0
    count = draw.randint(0, len(shape) + (draw.random() < 0.05))
    while axis < count:
        if shape[axis:axis + 2] == (2, 3) and draw.random() < 0.3:
            tokens.append("mask")
            axis += 2
        elif draw.random() < 0.03 and axis + 2 <= len(shape):
            tokens.append("empty")
            axis += 2
        else:
            tokens.append(item(draw, shape[axis] if axis < len(shape) else 1))
            axis += 1
    if draw.random() < 0.25:
        tokens.insert(draw.randint(0, len(tokens)), "...")
    for chance, token in ((0.25, "None"), (0.1, "None"), (0.06, "yes"), (0.03, "no")):
        if draw.random() < chance:
            tokens.insert(draw.randint(0, len(tokens)), token)
    return tokens or ["..."]


def make():
    draw = random.Random(3)
    with Writer("index.txt", __doc__) as out:
        for name, array in ARRAYS.items():
            out.record("array", name, text(array))
        seen, left = set(), 420
        while left:
            shape = draw.choice(SHAPES)
            tokens = expression(draw, shape)
            spelled = ("index", ",".join(map(str, shape)), "; ".join(tokens))
            if spelled in seen:
                continue
            seen.add(spelled)
            x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
            try:
                result = x[tuple(value(t) for t in tokens)]
            except IndexError as error:
                # neap clamps index arrays that are out of range.
                if "out of bounds for axis" in str(error) and any(t[0] == "[" or t in ARRAYS for t in tokens):
                    continue
                out.record(*spelled, "error")
                left -= 1
                continue
            if result.size > 60 or np.ndim(result) > 12:
                continue
            out.record(*spelled, "=", text(result))
            left -= 1


if __name__ == "__main__":
    make()
