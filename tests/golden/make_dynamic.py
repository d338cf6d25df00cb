"""make_dynamic.py: golden values of slices at places that are data, by JAX (dynamic.txt).

Records:   name <tab> parameters <tab> x <tab> starts [<tab> update] <tab> = <tab> result [gradients of x and update]

All exact. Gradients are those of the sum of the result times 0, 1, 2, … in row-major order, for floats.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from records import Writer, linear, options, text


def counting(name, shape, start=0):
    """start, start + 1, …, and its text; as a bool whether it is a multiple of 3."""
    if name != "bool":
        return linear(name, shape, 1, start)
    array = (np.arange(np.prod(shape)) % 3 == 0).reshape(shape)
    return array, text(array)


def weighted(result):
    return (result.ravel() * jnp.arange(result.size, dtype=result.dtype)).sum()


def gradients(f, *arrays):
    if arrays[0].dtype.kind != "f":
        return []
    return [text(np.asarray(g)) for g in jax.grad(lambda *a: weighted(f(*a)), tuple(range(len(arrays))))(*arrays)]


def slices(out):
    for name in ("f32", "f64", "i32", "u8", "bool"):
        x, ref = counting(name, (4, 5))
        ref = out.let("x_" + name, x, ref)
        for starts in ((0, 0), (1, 2), (3, 4), (9, -9), (-1, -2), (-4, -5), (-5, 2), (2, 100)):
            for sizes in ((2, 3), (4, 1), (1, 5), (0, 2), (4, 5)):
                at = np.array(starts, np.int32)

                def f(a):
                    return lax.dynamic_slice(a, at, sizes)

                out.record("dynamic_slice", options(sizes=sizes), ref, text(at), "=", text(np.asarray(f(x))),
                           *gradients(f, x))
    vector, ref = linear("f32", (7,), 0.5, -1)
    for start in (0, 3, -2, -8, 7):
        at = np.int64(start)
        out.record("dynamic_slice_in_dim", options(size=3, axis=0), ref, text(at), "=",
                   text(np.asarray(lax.dynamic_slice_in_dim(vector, at, 3))))
    cube, ref = linear("f32", (2, 3, 4), 1, 0)
    for axis in (0, 1, -1):
        for index in (0, 1, -1, 5):
            at = np.int32(index)
            for keepdims in (0, 1):
                out.record("dynamic_index_in_dim", options(axis=axis, keepdims=keepdims), ref, text(at), "=",
                           text(np.asarray(lax.dynamic_index_in_dim(cube, at, axis, bool(keepdims)))))


def updates(out):
    for name in ("f32", "f64", "i64", "bool"):
        x, ref = counting(name, (4, 5))
        ref = out.let("y_" + name, x, ref)
        for shape in ((2, 3), (4, 1), (1, 5), (0, 2), (4, 5)):
            update, update_ref = counting(name, shape, 30)
            for starts in ((0, 0), (1, 2), (9, -9), (-1, -2), (-5, 2)):
                at = np.array(starts, np.int32)

                def f(a, u):
                    return lax.dynamic_update_slice(a, u, at)

                out.record("dynamic_update_slice", "-", ref, text(at), update_ref, "=", text(np.asarray(f(x, update))),
                           *gradients(f, x, update))
    cube, ref = linear("f32", (2, 3, 4), 1, 0)
    for axis in (0, 1, 2):
        for index in (0, -1, 5):
            at = np.int32(index)
            part = np.full([n for k, n in enumerate(cube.shape) if k != axis], -1, np.float32)
            out.record("dynamic_update_index_in_dim", options(axis=axis), ref, text(at), text(part), "=",
                       text(np.asarray(lax.dynamic_update_index_in_dim(cube, part, at, axis))))
            wide = np.stack([part, part - 1], axis)
            out.record("dynamic_update_slice_in_dim", options(axis=axis), ref, text(at), text(wide), "=",
                       text(np.asarray(lax.dynamic_update_slice_in_dim(cube, wide, at, axis))))


def make():
    with Writer("dynamic.txt", __doc__) as out:
        slices(out)
        updates(out)


if __name__ == "__main__":
    make()
