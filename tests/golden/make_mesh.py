"""make_mesh.py: random programs under shard_map, with values and derivatives by JAX on 8 CPU devices (mesh.txt).

Records:   mesh <tab> inputs <tab> program <tab> outputs <tab> tolerance <tab> values, one per output
           and for whole f64 programs and f64 ones: <tab> gradients, one per input <tab> second derivatives, too

The first four fields are a case of tests/lib/mesh_programs.lua, which says what they mean. make_mesh.lua draws the
cases; the environment variable NEAP names the executable that runs it. What JAX refuses (the carry of a loop that
does not vary as its result does, say) is left out.

The gradients are those of the sum of all outputs, each of its elements with another weight. The second derivatives are
those of the sum of the products of gradients and a direction. Programs of whole numbers give whole numbers and are
exact.
"""

import os
import subprocess
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"

from records import HERE, Writer, text  # noqa: E402  (sets up JAX, after the devices)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import Mesh, PartitionSpec  # noqa: E402

MOST = 420  # elements of all results of a case together

# ---- Instructions ----------------------------------------------------------------------------------------------------


def size(names):
    return lax.axis_size(names)


def varying(a, names):
    """a as one that varies over all these axes: JAX wants it so where it varies over some."""
    missing = tuple(name for name in names if name not in jax.typeof(a).mat.varying)
    return lax.pcast(a, missing, to="varying") if missing else a


def psum(a, names):
    return lax.psum(varying(a, names), names)


def ring(n, shift):
    return [(k, (k + shift) % n) for k in range(n)]


def total(a, **options):
    return a.sum(dtype=a.dtype, **options)


def scan(a, names):
    def turn(carry, x):
        carry = carry - x
        return carry, psum(carry, names) + x
    last, rows = lax.scan(turn, a[0] * 0, a)
    return rows + last


def loop(a, name, turns):
    perm = ring(size(name), 1)
    return lax.fori_loop(0, turns, lambda _, carry: a - lax.ppermute(carry, name, perm), a)


INSTRUCTIONS = {
    "add": (2, lambda a, b: a + b),
    "sub": (2, lambda a, b: a - b),
    "mul": (2, lambda a, b: a * b),
    "max": (2, jnp.maximum),
    "neg": (1, lambda a: -a),
    "scale": (1, lambda a, k: a * k),
    "shift": (1, lambda a, k: a + k),
    "sin": (1, jnp.sin),
    "sum": (1, lambda a, axis: total(a, axis=axis)),
    "keep": (1, lambda a, axis: total(a, axis=axis, keepdims=True)),
    "flip": (1, jnp.flip),
    "perm": (1, lambda a, *axes: jnp.transpose(a, axes)),
    "newaxis": (1, jnp.expand_dims),
    "cut": (1, lambda a, start, stop: a[start:stop]),
    "cat": (2, lambda a, b, axis: jnp.concatenate([a, b], axis)),
    "dot": (2, jnp.matmul),
    "psum": (1, psum),
    "pmean": (1, lambda a, names: lax.pmean(varying(a, names), names)),
    "pmax": (1, lax.pmax),
    "pmin": (1, lax.pmin),
    "gather": (1, lambda a, names, axis, tiled: lax.all_gather(a, names, axis=axis, tiled=tiled == 1)),
    "scatter": (1, lambda a, names, axis, tiled: lax.psum_scatter(varying(a, names), names,
                                                                 scatter_dimension=axis, tiled=tiled == 1)),
    "ring": (1, lambda a, name, shift: lax.ppermute(a, name, ring(size(name), shift))),
    "send": (1, lambda a, name, start, stop: lax.ppermute(a, name, [(start, stop)])),
    "shuffle": (1, lambda a, name: lax.pshuffle(a, name, list(range(size(name)))[::-1])),
    "swap": (1, lambda a, name, split, concat, tiled: lax.all_to_all(a, name, split, concat, tiled=tiled == 1)),
    "index": (1, lambda a, names: a * (lax.axis_index(names) + 1).astype(a.dtype)),
    "scan": (1, scan),
    "loop": (1, loop),
    "cond": (1, lambda a, names: lax.cond(psum(total(a), names) > 0, lambda x: x - psum(x, names),
                                          lambda x: x * 2 + 1, a)),
    "pick": (1, lambda a: lax.cond(total(a) > 0, lambda x: x * 3, lambda x: 1 - x, a)),
    "check": (1, lambda a, names: jax.checkpoint(lambda x: x * 2 - psum(x, names))(a)),
    "jit": (1, lambda a, names: jax.jit(lambda x: x - psum(x, names))(a)),
    "vmap": (1, lambda a, names: jax.vmap(lambda row: psum(row, names) - row * 2)(a)),
    "grad": (1, lambda a, names: jax.grad(lambda x: psum((x * x * x).sum(), names))(a)),
}

# ---- Cases -----------------------------------------------------------------------------------------------------------


def names_of(letters):
    return letters if len(letters) == 1 else tuple(letters)


def spec_of(entries):
    if entries == ".":
        return PartitionSpec()
    return PartitionSpec(*[None if entry == "-" else names_of(entry) for entry in entries.split(",")])


def array_of(head, seed, kind):
    name, dims = head[:-1].split("[")
    shape = [int(n) for n in dims.split(",") if n]
    values = []
    for _ in range(int(np.prod(shape))):
        seed = seed * 16807 % 2147483647
        values.append(seed % 5 - 2 if kind == "whole" else (seed % 2097153 - 1048576) / 1048576)
    return np.array(values, {"f64": np.float64, "f32": np.float32, "i32": np.int32}[name]).reshape(shape)


def body_of(program, outputs):
    def body(*blocks):
        registers = list(blocks)
        for instruction in program.split():
            name, rest = instruction.split(":")
            count, function = INSTRUCTIONS[name]
            operands = [names_of(word) if word.isalpha() else int(word) for word in rest.split(",")]
            registers.append(function(*[registers[k] for k in operands[:count]], *operands[count:]))
        return tuple(registers[k] for k in outputs)
    return body


def weigh(results):
    """The sum of all elements with weights from -5 to 5."""
    return sum(jnp.sum(y * ((jnp.arange(y.size) * 7 % 11 - 5).astype(y.dtype)).reshape(y.shape)) for y in results)


def direction(array, k):
    return ((np.arange(array.size) * 5 + 3 * k) % 7 - 3).astype(array.dtype).reshape(array.shape)


def evaluate(mesh, inputs, program, outputs):
    """The arrays of a case's inputs and of its record, and the tolerance."""
    axes = [axis.split("=") for axis in mesh.split(",")]
    sizes = [int(n) for _, n in axes]
    devices = np.array(jax.devices()[:int(np.prod(sizes))]).reshape(sizes)
    specs, arrays, kinds = [], [], []
    for one in inputs.split(";"):
        head, spec, seed, kind = one.split(" ")
        specs.append(spec_of(spec))
        arrays.append(array_of(head, int(seed), kind))
        kinds.append(kind)
    registers, out_specs = zip(*[one.split(" ") for one in outputs.split(";")])
    f = jax.shard_map(body_of(program, [int(k) for k in registers]), mesh=Mesh(devices, [name for name, _ in axes]),
                      in_specs=tuple(specs), out_specs=tuple(spec_of(spec) for spec in out_specs))

    def everything(*arrays):
        def gradients(*arrays):
            return jax.grad(lambda list: weigh(f(*list)))(arrays)

        def along(list):
            return sum(jnp.sum(g * direction(g, k)) for k, g in enumerate(gradients(*list)))
        return f(*arrays) + gradients(*arrays) + jax.grad(along)(arrays)
    derivatives = arrays[0].dtype == np.float64
    results = [np.asarray(y) for y in jax.jit(everything if derivatives else f)(*arrays)]
    whole = kinds[0] == "whole"
    if whole and max(np.abs(y.astype(float)).max(initial=0) for y in results) > 2**40:
        raise OverflowError("numbers become too large to be exact")
    return results, "zero" if whole else ("scaled 1e-12" if derivatives else "scaled 2e-05")


def main():
    cases = subprocess.run([os.environ["NEAP"], os.path.join(HERE, "make_mesh.lua")], check=True, text=True,
                           stdout=subprocess.PIPE, cwd=os.path.join(HERE, "../..")).stdout
    refused = 0
    with Writer("mesh.txt", __doc__) as out:
        for line in cases.splitlines():
            case = line.split("\t")
            try:
                results, tolerance = evaluate(*case)
            except Exception as problem:
                refused += 1
                print(case, str(problem).splitlines()[0][:300], file=sys.stderr)
                continue
            if sum(y.size for y in results) <= MOST:
                out.record(*case, tolerance, *[text(y) for y in results])
    print(refused, "refused", file=sys.stderr)


if __name__ == "__main__":
    main()
