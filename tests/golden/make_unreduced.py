"""make_unreduced.py: arrays that are unreduced or reduced over an axis of a mesh (unreduced.txt), by JAX on 8 CPU
devices, an explicit mesh {i=4, j=2}.

Records `case <tab> type <tab> values`: how the result lies, `U:j`, `R:j`, `-`, or refused; and, if it is not refused,
the values of the result resharded to P(), which does the sum. The cases are functions of a, f32 (4, 4) of a[k] = k / 8,
as x P(None, "j"), y P("j", None), r P(reduced={"j"}), u = x @ y P(unreduced={"j"}). Those whose name begins with `body`
are under shard_map.
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

from records import Writer, text  # noqa: E402  (sets up JAX, after the devices)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import AxisType, PartitionSpec as P  # noqa: E402

UNREDUCED, REDUCED, WHOLE = P(None, None, unreduced={"j"}), P(None, None, reduced={"j"}), P(None, None)


def arrays():
    a = jnp.arange(16, dtype=jnp.float32).reshape(4, 4) / 8
    x, y = jax.device_put(a, P(None, "j")), jax.device_put(a, P("j", None))
    whole = jax.device_put(a, WHOLE)
    return {"a": whole, "x": x, "y": y, "r": jax.reshard(whole, REDUCED),
            "u": jnp.dot(x, y, out_sharding=UNREDUCED)}


def loss(w, x):
    return jnp.tanh(x @ w).sum()


def body(f, ins, out):
    return jax.shard_map(f, in_specs=ins, out_specs=out)


CASES = {
    "dot": lambda v: v["u"],
    "einsum": lambda v: jnp.einsum("ij,jk->ki", v["x"], v["y"], out_sharding=UNREDUCED),
    "sum": lambda v: v["u"].sum(),
    "sum 0": lambda v: lax.reduce_sum(v["y"], axes=(0,), out_sharding=P(None, unreduced={"j"})),
    "transpose": lambda v: v["u"].T,
    "reshape": lambda v: v["u"].reshape(2, 8),
    "concatenate": lambda v: jnp.concatenate([v["u"], v["u"]]),
    "slice": lambda v: lax.slice_in_dim(v["u"], 1, 3),
    "cast": lambda v: v["u"].astype(jnp.float64),
    "add": lambda v: v["u"] + v["u"],
    "add whole": lambda v: v["u"] + v["a"],
    "multiply": lambda v: v["u"] * v["r"],
    "multiply two": lambda v: v["u"] * v["u"],
    "exp": lambda v: jnp.exp(v["u"]),
    "product": lambda v: v["u"] @ v["u"],
    "exp reduced": lambda v: jnp.exp(v["r"]),
    "number reduced": lambda v: v["r"] * 2,
    "divided to unreduced": lambda v: jax.reshard(v["x"], UNREDUCED),
    "whole to unreduced": lambda v: jax.reshard(v["a"], UNREDUCED),
    "reduced to unreduced": lambda v: jax.reshard(v["r"], UNREDUCED),
    "reduced to whole": lambda v: jax.reshard(v["r"], WHOLE),
    "divided to reduced": lambda v: jax.reshard(v["x"], REDUCED),
    "unreduced to reduced": lambda v: jax.reshard(v["u"], REDUCED),
    "gradient": lambda v: jax.jit(jax.grad(loss))(v["r"], v["y"]),
    "gradient of sum": lambda v: jax.grad(lambda x: jax.reshard(
        jnp.dot(x, v["y"], out_sharding=UNREDUCED) * v["r"], WHOLE).sum())(v["x"]),
    "gradient through reduced": lambda v: jax.grad(lambda a: jnp.tanh(v["y"] @ jax.reshard(a, REDUCED)).sum())(v["a"]),
    "body cast": lambda v: body(lambda x, y: lax.pcast(x @ y, "j", to="unreduced"), (P(None, "j"), P("j", None)),
                                UNREDUCED)(v["x"], v["y"]),
    "body psum": lambda v: body(lambda u: lax.psum(u, "j"), UNREDUCED, WHOLE)(v["u"]),
    "body psum_scatter": lambda v: body(lambda u: lax.psum_scatter(u, "j", tiled=True), UNREDUCED, P("j", None))(
        v["u"]),
    "body all_gather": lambda v: body(lambda x: lax.all_gather(x, "j", tiled=True, to="reduced"), P("j", None),
                                      REDUCED)(v["y"]),
    "body exp": lambda v: body(jnp.exp, UNREDUCED, UNREDUCED)(v["u"]),
    "body gradient": lambda v: body(lambda w, x: jax.grad(loss)(w, x), (REDUCED, P("j", None)), UNREDUCED)(
        v["r"], v["y"]),
    "body gradient cast": lambda v: body(lambda w, x: jax.grad(loss)(lax.pcast(w, "j", to="reduced"), x),
                                         (WHOLE, P("j", None)), UNREDUCED)(v["a"], v["y"]),
    "body gradient gather": lambda v: jax.grad(lambda y: jax.reshard(body(
        lambda x: lax.all_gather(x, "j", tiled=True, to="reduced"), P("j", None), REDUCED)(y), WHOLE).sum())(v["y"]),
}


def kind(result):
    spec = jax.typeof(result).sharding.spec
    return " ".join(["U:" + name for name in spec.unreduced] + ["R:" + name for name in spec.reduced]) or "-"


def make():
    mesh = jax.make_mesh((4, 2), ("i", "j"), axis_types=(AxisType.Explicit,) * 2)
    with jax.set_mesh(mesh), Writer("unreduced.txt", __doc__) as out:
        for name, f in CASES.items():
            try:
                result = f(arrays())
            except Exception:  # of several kinds
                out.record(name, "refused")
                continue
            out.record(name, kind(result), text(jax.reshard(result, P(*(None,) * result.ndim))))


if __name__ == "__main__":
    make()
