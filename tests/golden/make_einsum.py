"""make_einsum.py: golden values of einsum with ellipses and repeated labels, by NumPy and JAX (einsum.txt).

Records:   einsum <tab> spec <tab> arrays… <tab> = <tab> result [gradients of the arrays]

Exact: all values are small integers. Gradients are those of the sum of the result times 0, 1, 2, …, for f32.
"""

import jax
import jax.numpy as jnp
import numpy as np

from records import Writer, linear, text

CASES = (
    ("...ij,jk->...ik", (2, 3, 4), (4, 5)), ("...ij,jk->...ik", (3, 4), (4, 5)), ("...ij,jk", (2, 1, 3, 4), (4, 2)),
    ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 2)), ("...ij,...jk->...ik", (5, 1, 3, 4), (2, 4, 2)),
    ("...ij,...jk->ik...", (2, 3, 4), (1, 4, 2)), ("...i,...i", (2, 3, 4), (3, 4)), ("i...,i...->...", (3, 2), (3, 2)),
    ("...->...", (2, 3)), ("...ij->...ji", (2, 2, 3)), ("...j->j...", (2, 3, 4)), ("i...->...", (3, 4)), ("...", ()),
    ("b...d,hd->b...h", (2, 3, 2, 4), (3, 4)), ("...a,...b,...c->...abc", (2, 2), (1, 3), (2, 2)),
    ("..., ...->...", (2, 1), (1, 3)), ("...i,i->...", (4,), (4,)), ("a...b,b...a->...", (2, 3, 4), (4, 3, 2)),
    ("ii->i", (3, 3)), ("ii", (3, 3)), ("iij->j", (2, 2, 3)), ("iji->ij", (2, 3, 2)), ("...ii->...i", (2, 3, 3)),
    ("...ii", (2, 3, 3)), ("iii->i", (2, 2, 2)), ("iijj->ij", (2, 2, 3, 3)), ("ijij->", (2, 3, 2, 3)),
    ("ii,ij->j", (3, 3), (3, 2)), ("iij,jk->ik", (2, 2, 3), (3, 2)), ("ii...,i->...", (2, 2, 3), (2,)),
    ("ij...,jk...->ik...", (2, 3, 2), (3, 2, 2)), ("...ij,...ij->...", (0, 2, 3), (0, 2, 3)),
)


def weighted(result):
    return (result.ravel() * jnp.arange(result.size, dtype=result.dtype)).sum()


def make():
    with Writer("einsum.txt", __doc__) as out:
        for name in ("f32", "i32"):
            for spec, *shapes in CASES:
                arrays = [linear(name, shape, 1, k - 2)[0] for k, shape in enumerate(shapes)]
                result = np.einsum(spec, *arrays)
                assert (result == jnp.einsum(spec, *arrays)).all()
                fields = [text(np.asarray(result))]
                if name == "f32":
                    gradients = jax.grad(lambda *a: weighted(jnp.einsum(spec, *a)), tuple(range(len(arrays))))(*arrays)
                    fields += [text(np.asarray(g)) for g in gradients]
                out.record("einsum", spec, *(text(a) for a in arrays), "=", *fields)


if __name__ == "__main__":
    make()
