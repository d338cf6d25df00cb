"""make_explicit.py: how results lie on a mesh whose axes are explicit, and what is refused (explicit.txt), by JAX on 8
CPU devices, a mesh {i=4, j=2}.

Records `case <tab> spec of the first array <tab> of the second <tab> spec of the result, or refused`. A spec has a name
or - for each axis. Not here: products over an axis that is divided in both operands, of which JAX wants to be told how
the result lies, while neap adds up the parts; and over one that is divided in one operand, which JAX gathers silently,
and neap refuses to.
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

from records import Writer  # noqa: E402  (sets up JAX, after the devices)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax.sharding import AxisType, PartitionSpec  # noqa: E402

CASES = {
    "add": lambda a, b: a + b,
    "matmul": lambda a, b: a @ b,
    "sum 0": lambda a, b: a.sum(0),
    "sum 1": lambda a, b: a.sum(1),
    "tanh": lambda a, b: jnp.tanh(a),
    "transpose": lambda a, b: a.T,
    "sort 0": lambda a, b: jnp.sort(a, axis=0),
    "sort 1": lambda a, b: jnp.sort(a, axis=1),
    "reshard": lambda a, b: jax.sharding.reshard(a, PartitionSpec(None, "i")),
}
PAIRS = [("i -", "i -"), ("i -", "- i"), ("i j", "j"), ("i j", "i"), ("i -", "- j"), ("- -", "- j"), ("i -", "- -")]


def put(spec):
    names = [None if name == "-" else name for name in spec.split()]
    shape = (8,) * len(names)
    return jax.device_put(jnp.ones(shape, jnp.float32), PartitionSpec(*names))


def lies(f, first, second):
    try:
        spec = f(put(first), put(second)).sharding.spec
    except Exception:  # of several kinds
        return "refused"
    return " ".join(name or "-" for name in spec)


def make():
    mesh = jax.make_mesh((4, 2), ("i", "j"), axis_types=(AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh), Writer("explicit.txt", __doc__) as out:
        for name, f in CASES.items():
            for first, second in PAIRS:
                if name != "add" and len(second.split()) < 2:
                    continue
                if name == "matmul" and second == "i -":
                    continue
                out.record(name, first, second, lies(f, first, second))


if __name__ == "__main__":
    make()
