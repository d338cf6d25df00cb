"""make_complex_linalg.py: linear algebra of complex matrices: values by NumPy, gradients by JAX (complex_linalg.txt).

Records:   value <tab> name <tab> inputs… <tab> result
           gradient <tab> name <tab> inputs… <tab> gradient by the first one

A complex array is written as make_complex.py does. Functions of a name are written twice: here, and in
complex_linalg_test.lua; those of factors do not depend on the phases that these leave open.
"""

import jax
import jax.numpy as jnp
import numpy as np

import records
from make_complex import pairs, weigh

L, J = np.linalg, jnp.linalg
VALUES = {
    "solve": L.solve, "inv": lambda a, b: L.inv(a), "det": lambda a, b: L.det(a),
    "sign": lambda a, b: L.slogdet(a)[0], "logdet": lambda a, b: L.slogdet(a)[1],
    "cholesky": lambda a, b: L.cholesky(a @ a.conj().T), "eigvalsh": lambda a, b: L.eigvalsh(a + a.conj().T),
    "svdvals": lambda a, b: L.svd(b, compute_uv=False), "pinv": lambda a, b: L.pinv(b),
    "norm": lambda a, b: L.norm(a), "norm1": lambda a, b: L.norm(a, 1), "norm2": lambda a, b: L.norm(b, 2),
    "power": lambda a, b: L.matrix_power(a, 3), "rank": lambda a, b: np.float64(L.matrix_rank(b)),
}
GRADIENTS = {
    "solve": J.solve, "inv": lambda a, b: J.inv(a), "det": lambda a, b: J.det(a),
    "logdet": lambda a, b: J.slogdet(a)[1], "sign": lambda a, b: J.slogdet(a)[0],
    "cholesky": lambda a, b: J.cholesky(a @ a.conj().T + jnp.eye(3)),
    "eigvalsh": lambda a, b: J.eigvalsh(a + a.conj().T) * jnp.arange(1, 4),
    "qr_r": lambda a, b: jnp.abs(J.qr(a)[1]), "qr_q": lambda a, b: jnp.abs(J.qr(a)[0]),
    "eigh_vectors": lambda a, b: jnp.abs(J.eigh(a + a.conj().T)[1]) ** 2,
    "svdvals": lambda a, b: J.svd(a, compute_uv=False), "norm": lambda a, b: J.norm(a),
}


def make():
    rng = np.random.default_rng(3)
    a = (rng.integers(-16, 16, (3, 3)) + 1j * rng.integers(-16, 16, (3, 3))) / 8
    b = (rng.integers(-16, 16, (3, 2)) + 1j * rng.integers(-16, 16, (3, 2))) / 8
    with records.Writer("complex_linalg.txt", __doc__) as out:
        both = [records.text(pairs(a)), records.text(pairs(b))]
        for name, function in VALUES.items():
            out.record("value", name, *both, records.text(pairs(function(a, b))))
        for name, function in GRADIENTS.items():
            found = jax.grad(lambda x: weigh(function(x, b)))(jnp.array(a))
            out.record("gradient", name, *both, records.text(pairs(np.asarray(found))))
