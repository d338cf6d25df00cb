"""make_groups.py: collectives over groups along an axis (axis_index_groups), by JAX on 4 CPU devices (groups.txt).

Records `collective <tab> groups <tab> what all devices get, one after the other <tab> the gradient of its sum with
weights 1, 2, 3, …`, or - where JAX gives none. Groups are written like 0 3/2 1. All of the array 0.5, 1.5, … 15.5, of
which each device has four elements.
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

from records import Writer, text  # noqa: E402  (sets up JAX, after the devices)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import AxisType, PartitionSpec  # noqa: E402

CASES = {
    "psum": lambda x, g: lax.psum(x, "i", axis_index_groups=g),
    "pmean": lambda x, g: lax.pmean(x, "i", axis_index_groups=g),
    "pmax": lambda x, g: lax.pmax(x, "i", axis_index_groups=g),
    "pmin": lambda x, g: lax.pmin(x, "i", axis_index_groups=g),
    "all_gather": lambda x, g: lax.all_gather(x, "i", axis=1, axis_index_groups=g),
    "all_gather tiled": lambda x, g: lax.all_gather(x, "i", tiled=True, axis_index_groups=g),
    "psum_scatter": lambda x, g: lax.psum_scatter(x.reshape(2, 2), "i", axis_index_groups=g),
    "psum_scatter tiled": lambda x, g: lax.psum_scatter(x, "i", tiled=True, axis_index_groups=g),
    "all_to_all": lambda x, g: lax.all_to_all(x.reshape(2, 2), "i", 0, 1, axis_index_groups=g),
    "all_to_all tiled": lambda x, g: lax.all_to_all(x, "i", 0, 0, tiled=True, axis_index_groups=g),
}
EVEN = ([[0, 1], [2, 3]], [[0, 3], [2, 1]])
UNEVEN = ([[1], [3, 0, 2]],)
ONLY_VALUES = ("pmax", "pmin", "all_to_all")  # JAX 0.10 mixes up the axes of the last one's cotangent


def make():
    mesh = jax.make_mesh((4,), ("i",), axis_types=(AxisType.Auto,))
    x = jnp.arange(16, dtype=jnp.float32) + 0.5
    with Writer("groups.txt", __doc__) as out:
        for name, f in CASES.items():
            reduces = name in ("psum", "pmax", "pmin")
            for groups in EVEN + (UNEVEN if reduces else ()):
                g = jax.shard_map(lambda v, f=f, groups=groups: f(v, groups).reshape(-1), mesh=mesh,
                                  in_specs=PartitionSpec("i"), out_specs=PartitionSpec("i"), check_vma=False)
                y = g(x)
                slope = "-"
                if name not in ONLY_VALUES:
                    weights = jnp.arange(y.size, dtype=jnp.float32) + 1
                    slope = text(jax.grad(lambda v, g=g, weights=weights: (g(v) * weights).sum())(x))
                out.record(name, "/".join(" ".join(map(str, group)) for group in groups), text(y), slope)


if __name__ == "__main__":
    make()
