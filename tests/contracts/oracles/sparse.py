"""sparse.py: oracles of np.sparse: SciPy's sparse arrays."""

MODULES = """sparse sparse_solvers sparse_direct"""

import numpy as np  # noqa: E402
import scipy.sparse  # noqa: E402
import scipy.sparse.linalg  # noqa: E402

INDICES, INDPTR, SHAPE = [0, 3, 1, 1, 2, 3, 0], [0, 2, 3, 3, 6, 7], (5, 4)
ROW, COL = [4, 0, 0, 3, 0, 2, 4], [1, 3, 0, 2, 3, 1, 0]


def matrix(format, d):
    """The matrix of sparse_test.lua in a format, of data d."""
    if format == "coo":
        return scipy.sparse.coo_array((d, (ROW, COL)), shape=SHAPE)
    if format == "csc":
        return scipy.sparse.csc_array((d, INDICES, INDPTR), shape=SHAPE[::-1])
    return scipy.sparse.csr_array((d, INDICES, INDPTR), shape=SHAPE)


def tridiagonal(below, main, above):
    """The matrix of three diagonals."""
    return np.diag(below, -1) + np.diag(main) + np.diag(above, 1)


def solved(below, main, above, b):
    """The solution of a tridiagonal system, by a dense one."""
    return np.linalg.solve(tridiagonal(below, main, above), b)


def triangular(o, d, b):
    """SciPy's solution of the triangular system of sparse_solvers_test.lua, of a vector or a matrix."""
    a = scipy.sparse.csr_array((d, [0, 0, 1, 1, 2, 0, 3], [0, 1, 3, 5, 7]), shape=(4, 4))
    a = a if o.get("lower", True) else a.T.tocsr()
    unit = o.get("unit_diagonal", False)
    return scipy.sparse.linalg.spsolve_triangular(a.astype(np.result_type(a.dtype, b.dtype)), b,
                                                  lower=o.get("lower", True), unit_diagonal=unit)


DIRECT_ROW, DIRECT_COL = [0, 1, 2, 3, 0, 0, 1, 2, 2, 3, 3, 3], [2, 0, 3, 1, 0, 1, 3, 1, 2, 0, 3, 3]


def direct_solution(o, d, b):
    """SciPy's solution of the system of sparse_direct_test.lua, by SuperLU."""
    data = np.concatenate([np.array([4, -5, 6, 3.5], d.dtype), d])
    a = scipy.sparse.coo_array((data, (DIRECT_ROW, DIRECT_COL)), shape=(4, 4)).tocsc()
    return scipy.sparse.linalg.splu(a).solve(b.astype(a.dtype), trans=o.get("trans", "N"))


def direct_product(d):
    """The matrix of sparse_direct_test.lua, from the factors of SuperLU."""
    data = np.concatenate([np.array([4, -5, 6, 3.5], d.dtype), d])
    lu = scipy.sparse.linalg.splu(scipy.sparse.coo_array((data, (DIRECT_ROW, DIRECT_COL)), shape=(4, 4)).tocsc())
    return (lu.L @ lu.U).toarray()[lu.perm_r][:, lu.perm_c]


def dense_solution(jnp, o, d, b):
    """The same by JAX and a dense matrix."""
    a = jnp.zeros((4, 4), d.dtype).at[jnp.array(DIRECT_ROW), jnp.array(DIRECT_COL)].add(
        jnp.concatenate([jnp.array([4, -5, 6, 3.5], d.dtype), d]))
    a = a if o.get("trans", "N") == "N" else a.T
    return jnp.linalg.solve(jnp.conj(a) if o.get("trans") == "H" else a, b)


def extremes(o, main, above):
    """Two eigenvalues of a symmetric tridiagonal matrix."""
    w = np.linalg.eigvalsh(tridiagonal(above, main, above))
    keys = {"LM": -np.abs(w), "SM": np.abs(w), "LA": -w, "SA": w}[o.get("which", "LM")]
    return np.sort(w[np.argsort(keys)[:2]])


def block_extremes(o, main, above):
    """SciPy's lobpcg of a symmetric tridiagonal matrix: two eigenvalues, the most extreme one first."""
    start = np.random.default_rng(0).normal(size=(len(main), 2))
    w, _ = scipy.sparse.linalg.lobpcg(tridiagonal(above, main, above), start, tol=1e-12, maxiter=500,
                                      largest=o.get("largest", True))
    return w


def facts(format, d, x, y):
    """Products, dense forms and sums of a matrix of 5 × 4; that of csc is the transpose of that of csr."""
    a = matrix(format, d)
    a = a.T if format == "csc" else a
    return [a @ x, a.T @ y, a.toarray(), a.sum(axis=0), (a.multiply(x) if x.ndim == 1 else a).toarray(), a.diagonal()]
