"""cluster.py: oracles of np.cluster: scikit-learn, from the centers that neap's help says are drawn."""

MODULES = """cluster"""

import numpy as np  # noqa: E402
import sklearn.cluster  # noqa: E402
import sklearn.decomposition  # noqa: E402
import sklearn.neighbors  # noqa: E402


def first_centers(key, x, k, restarts):
    """Points that are drawn by the squares of their distances, with JAX's uniform numbers: (restarts, k, features)."""
    uniform = np.asarray(jax.random.uniform(jnp.asarray(key, jnp.uint32), (k, restarts), jnp.float64))
    weight, chosen = np.ones((restarts, len(x))), []
    for u in uniform:
        sums = np.cumsum(weight, axis=1)
        at = np.minimum((sums <= (u * sums[:, -1])[:, None]).sum(1), len(x) - 1)
        squares = ((x[None] - x[at][:, None]) ** 2).sum(-1)
        weight = np.minimum(weight, squares) if chosen else squares
        chosen.append(x[at])
    return np.stack(chosen, axis=1)


def kmeans(key, x, o):
    """The best of scikit-learn's runs from each of the centers to begin with."""
    if "far" in o:
        starts = [x[:3] + np.array([[0.0], [0.0], [o["far"]]])]
    else:
        starts = first_centers(key, x, 3, o.get("n_init", 10))
    runs = [sklearn.cluster.KMeans(3, init=start, n_init=1, max_iter=o.get("max_iter", 300), tol=o.get("tol", 1e-4),
                                   algorithm="lloyd").fit(x) for start in starts]
    best = runs[int(np.argmin([run.inertia_ for run in runs]))]
    return best.cluster_centers_, best.labels_, best.inertia_, best.n_iter_


def dbscan(x, o):
    found = sklearn.cluster.DBSCAN(eps=1.5, min_samples=o.get("min_samples", 5)).fit(x)
    core = np.zeros(len(x), bool)
    core[found.core_sample_indices_] = True
    return found.labels_, core


def kneighbors(x, queries, k):
    return sklearn.neighbors.NearestNeighbors(n_neighbors=k, algorithm="brute").fit(x).kneighbors(queries)


def principal(x, k):
    found = sklearn.decomposition.PCA(k, svd_solver="full").fit(x)
    return [found.components_, found.mean_, found.explained_variance_ratio_, found.transform(x),
            found.explained_variance_]
