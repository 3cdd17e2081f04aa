"""Independent answers to compare with, and graphs to ask about."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import csgraph_from_dense
from scipy.sparse.csgraph import floyd_warshall as scipy_floyd_warshall

DTYPES = ("int16", "int32", "int64", "float32", "float64")
#: Dtypes, and whether there are next hops: what a GPU runs for each takes seconds to translate, so
#: by default there is each dtype, and an integer and a float of either kind.
ON_A_GPU = {
    *(("int16", False), ("int32", True), ("int64", True)),
    *(("float32", False), ("float64", False)),
}


def absent(dtype: str) -> Any:
    """What means "no edge" and "no path" for a dtype."""
    kind = np.dtype(dtype)
    return kind.type(np.inf if kind.kind == "f" else np.iinfo(kind).max)


def random_weights(
    n: int, dtype: str, *, density: float = 1.0, low: int = 1, high: int = 99, seed: int = 0
) -> NDArray[Any]:
    """A dense matrix of whole weights, `absent` where there is no edge."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(low, high + 1, (n, n)).astype(dtype)
    weights[rng.random((n, n)) >= density] = absent(dtype)
    return weights


def distances(weights: NDArray[Any]) -> NDArray[np.float64]:
    """SciPy's answer in float64, infinite where there is no path."""
    plain = np.where(weights == absent(weights.dtype.name), np.inf, weights).astype(np.float64)
    np.fill_diagonal(plain, 0)
    # In a dense matrix SciPy would take an edge of weight 0 for none.
    edges = csgraph_from_dense(plain, null_value=np.inf)
    return scipy_floyd_warshall(edges) if len(plain) else plain


def as_float(dist: NDArray[Any]) -> NDArray[np.float64]:
    """Our matrix as float64, infinite where there is no path."""
    return np.where(dist == absent(dist.dtype.name), np.inf, dist).astype(np.float64)


def check_hops(weights: NDArray[Any], dist: NDArray[Any], hops: NDArray[Any]) -> None:
    """Walk every pair at once: the edges walked must exist and add up to the distance."""
    n = len(dist)
    edges = np.where(weights == absent(weights.dtype.name), np.inf, weights).astype(np.float64)
    source, target = np.indices((n, n))
    reached = dist != absent(dist.dtype.name)
    assert (hops[~reached] == -1).all()
    assert (np.diagonal(hops) == np.arange(n)).all()
    at = source.copy()
    total = np.zeros((n, n))
    for _ in range(n):
        walking = reached & (at != target)
        if not walking.any():
            break
        step = hops[at[walking], target[walking]]
        assert (step >= 0).all()
        total[walking] += edges[at[walking], step]
        at[walking] = step
    assert (at == target)[reached].all()
    if dist.dtype.kind == "i":
        assert (total[reached] == dist[reached]).all()
    else:
        tolerance = 2 * n * np.finfo(dist.dtype).eps
        assert np.allclose(total[reached], dist[reached], rtol=tolerance, atol=0)
