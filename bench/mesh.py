"""mesh.py: collectives and ops over many devices in JAX, as bench/rows/mesh.lua has them for neap.

The devices are 8 that XLA makes of the host's CPU: `prepare` asks for them, and must come before jax is imported.
make(what, devices, elements, used) is a function that runs once and returns the result, an array of blocks. `elements`,
f32, are those of each device's block. What: a collective, as one jitted shard_map; with `used` each device multiplies
what it got by a number of its own. Or "ops": OPS ops on the block, op by op (shard_map without jit), of which JAX
compiles each again in each call.
"""

import os

DEVICES, OPS = 8, 10
CHECKED = 1 << 20  # up to so many elements results are compared


def prepare():
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=%d" % DEVICES


def blocks(mesh, devices, elements):
    """What bench/rows/mesh.lua makes: 0, 1, … 250, 0, … as parts of 251; laid out in blocks."""
    import jax
    import numpy as np

    row = (np.arange(elements) % 251 / np.float32(251)).astype(np.float32)
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
    x = jax.make_array_from_callback((devices * elements,), sharding, lambda index: row)
    return jax.block_until_ready(x)


def bodies(devices):
    from jax import lax

    ring = [(k, (k + 1) % devices) for k in range(devices)]
    return {
        "psum": lambda x: lax.psum(x, "i"),
        "all_gather": lambda x: lax.all_gather(x, "i", tiled=True),
        "psum_scatter": lambda x: lax.psum_scatter(x, "i", tiled=True),
        "ppermute": lambda x: lax.ppermute(x, "i", ring),
        "all_to_all": lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True),
    }


def ops(x):
    for _ in range(OPS // 2):
        x = x * 1.5 + 0.25
    return x


def make(what, devices, elements, used):
    import jax
    import numpy as np
    from jax.sharding import PartitionSpec as P

    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]), ("i",))
    x = blocks(mesh, devices, elements)
    if what == "ops":
        body, out = ops, P("i")
    else:
        collective = bodies(devices)[what]
        body = (lambda x: collective(x) * (jax.lax.axis_index("i") + 1.0)) if used else collective
        out = P() if what == "psum" and not used else P("i")
    function = jax.shard_map(body, mesh=mesh, in_specs=P("i"), out_specs=out)
    if what != "ops":
        function = jax.jit(function)
    return lambda: jax.block_until_ready(function(x))
