"""make_costs.py: golden values of program:cost (costs.txt), by cost_analysis and memory_analysis of programs that JAX
has compiled from shapes, in f32.

Records `name <tab> flops <tab> bytes read and written <tab> bytes of arguments <tab> of results <tab> temporary`.
"""

import jax
import jax.numpy as jnp

from records import Writer

CASES = {
    "product": (lambda a, b: a @ b, [(32, 64), (64, 16)]),
    "products": (lambda a, b, c: (a @ b) @ c, [(8, 16), (16, 32), (32, 4)]),
    "maps": (lambda x, y: x * 2 + y, [(64, 32), (64, 32)]),
    "product and map": (lambda a, b: jnp.maximum(a @ b, 0), [(256, 16), (16, 256)]),
}


def make():
    with Writer("costs.txt", __doc__) as out:
        for name, (f, shapes) in CASES.items():
            specs = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
            compiled = jax.jit(f).lower(*specs).compile()
            cost, memory = compiled.cost_analysis(), compiled.memory_analysis()
            sizes = (memory.argument_size_in_bytes, memory.output_size_in_bytes, memory.temp_size_in_bytes)
            out.record(name, "%d" % cost["flops"], "%d" % cost["bytes accessed"], *("%d" % size for size in sizes))


if __name__ == "__main__":
    make()
