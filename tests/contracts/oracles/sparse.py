"""sparse.py: oracles of np.sparse: SciPy's sparse arrays."""

MODULES = """sparse"""

import numpy as np  # noqa: E402
import scipy.sparse  # noqa: E402

INDICES, INDPTR, SHAPE = [0, 3, 1, 1, 2, 3, 0], [0, 2, 3, 3, 6, 7], (5, 4)
ROW, COL = [4, 0, 0, 3, 0, 2, 4], [1, 3, 0, 2, 3, 1, 0]


def matrix(format, d):
    """The matrix of sparse_test.lua in a format, of data d."""
    if format == "coo":
        return scipy.sparse.coo_array((d, (ROW, COL)), shape=SHAPE)
    if format == "csc":
        return scipy.sparse.csc_array((d, INDICES, INDPTR), shape=SHAPE[::-1])
    return scipy.sparse.csr_array((d, INDICES, INDPTR), shape=SHAPE)


def facts(format, d, x, y):
    """Products, dense forms and sums of a matrix of 5 × 4; that of csc is the transpose of that of csr."""
    a = matrix(format, d)
    a = a.T if format == "csc" else a
    return [a @ x, a.T @ y, a.toarray(), a.sum(axis=0), (a.multiply(x) if x.ndim == 1 else a).toarray(), a.diagonal()]
