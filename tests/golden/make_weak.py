"""make_weak.py: dtypes that JAX gives to what is computed of numbers alone, and to what that meets (weak.txt).

Records:   expression <tab> dtype

An expression is Lua and Python at once, on names that are written twice, here for JAX and in weak_test.lua for neap:
`m` is a mask, `whole` and `half` are where(m, …) of whole numbers and of fractions, `a_f16` and its kin are arrays. A
dtype is `weak` where JAX's result is weakly typed. What neap does otherwise has no record (docs/numbers.md): fractions
that meet integers, numbers that meet bools, and the dtype that a weak array shows.
"""

import jax.numpy as jnp

from records import DTYPES, Writer

NAMES = {**DTYPES, "f16": "float16", "bf16": "bfloat16"}
SHORT = {jnp.dtype(full).name: short for short, full in NAMES.items()}

m = jnp.array([True, False, True])
whole, half = jnp.where(m, 1, 0), jnp.where(m, 0.5, 0)
SCOPE = {
    "m": m, "whole": whole, "half": half, "three": jnp.where(m[0], 3, 2),
    "where": jnp.where, "maximum": jnp.maximum, "sin": jnp.sin, "absolute": jnp.abs, "clip": jnp.clip,
    "concat": lambda a, b: jnp.concatenate([a, b]), "stack": lambda a, b: jnp.stack([a, b]), "flip": jnp.flip,
    "matmul": jnp.matmul, "divide": jnp.divide, "first": lambda x: x[0], "rest": lambda x: x[1:],
    "turned": lambda x: x.reshape(3, 1), "picked": lambda x: x[jnp.array([2, 0])], "sum": jnp.sum, "mean": jnp.mean,
    "cumsum": jnp.cumsum, "spread": lambda x: jnp.broadcast_to(x, (2, 3)),
}
for short, full in NAMES.items():
    SCOPE["a_" + short] = jnp.ones(3, full)

KEPT = ["whole", "half", "three", "whole + half", "whole + 1", "whole * 0.5", "-half", "divide(whole, 2)", "sin(half)",
        "absolute(whole)", "maximum(whole, half)", "where(m, whole, half)", "where(m, half, 1)", "first(half)",
        "rest(half)", "turned(whole)", "picked(whole)", "concat(whole, half)", "stack(whole, whole)", "flip(half)",
        "spread(half)", "clip(whole, 0, 1)"]
MET = ["{} * {}", "{1} - {0}", "maximum({}, {})", "where(m, {}, {})", "concat({}, {})"]
WIDE = ["matmul({}, {})", "divide({}, {})"]

if __name__ == "__main__":
    with Writer("weak.txt", __doc__) as out:
        def record(expression):
            result = eval(expression, SCOPE)  # noqa: S307 (of the lists above)
            out.record(expression, "weak" if result.weak_type else SHORT[result.dtype.name])

        for expression in KEPT:
            record(expression)
        for name in NAMES:
            for weak in ("whole", "half", "three"):
                real = name in ("f16", "bf16", "f32", "f64")
                if name == "bool" or (weak == "half" and not real):
                    continue
                for form in MET + (WIDE if real else []):
                    if weak != "three" or "concat" not in form and "matmul" not in form:
                        record(form.format(weak, "a_" + name))
