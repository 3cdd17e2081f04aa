"""Per-source Dijkstra by SciPy, on all cores.

A large sparse graph has far fewer than n^2 edges, and ``n (m + n log n)`` steps are then fewer than
``n^3``, though each takes about 400 times as long as one vectorised 32-bit relaxation. SciPy keeps
the interpreter lock while it runs, so the sources are dealt out to processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.device.environment import worker_count
from warpladder.errors import MissingExtraError
from warpladder.shortest_paths.dense import inner_no_path, outer_no_path
from warpladder.shortest_paths.forms import Edges
from warpladder.shortest_paths.widening import DoesNotFitError

__all__ = ["dijkstra", "is_installed", "sparse_seconds"]

# Measured on the machine named in benchmarks/results: SciPy's Dijkstra per edge or heap level of a
# vertex on one core, and the start of the processes.
_STEP_SECONDS = 10e-9
_START_SECONDS = 0.8


def is_installed() -> bool:
    """Return whether the extra ``sparse`` is there."""
    from importlib.util import find_spec

    return find_spec("scipy") is not None and find_spec("joblib") is not None


def sparse_seconds(n: int, m: int) -> float:
    """Estimate the time of `dijkstra` for n vertices and m directed edges, in seconds."""
    steps = n * (m + n * math.log2(max(n, 2)))
    return _START_SECONDS + steps * _STEP_SECONDS / worker_count()


def dijkstra(
    given: Edges,
    dtype: np.dtype[Any],
    *,
    next_hops: bool,
    progress: Callable[[float], None] | None = None,
) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
    """Return distances and, if wanted, predecessors (negative where there is none).

    Parameters
    ----------
    given
        Without negative weights. Distances must be below 2**53 where ``dtype`` is
        an integer: SciPy computes in float64.
    dtype
        Of the distances.
    next_hops
        Whether predecessors are wanted.
    progress
        Called with the fraction done.

    Raises
    ------
    MissingExtraError
        SciPy or joblib is not installed.
    DoesNotFitError
        A distance does not fit an integer dtype.
    """
    if not is_installed():
        raise MissingExtraError('method="dijkstra"', "scipy with joblib", "sparse")
    from joblib import Parallel, delayed

    edges = _compressed_rows(given)
    dist = np.empty((given.n, given.n), dtype)
    predecessors = np.empty((given.n, given.n), np.int32) if next_hops else None
    workers = worker_count()
    step = max(1, min(256, given.n // (4 * workers) or 1))
    starts = range(0, given.n, step)
    tasks = (
        delayed(_rows)(edges, start, min(start + step, given.n), dtype, next_hops)
        for start in starts
    )
    results = Parallel(n_jobs=workers, return_as="generator")(tasks)
    for start, (rows, links) in zip(starts, results, strict=True):
        dist[start : start + len(rows)] = rows
        if predecessors is not None:
            predecessors[start : start + len(rows)] = links
        if progress is not None:
            progress((start + len(rows)) / given.n)
    return dist, predecessors


def _rows(
    edges: Any, start: int, stop: int, dtype: np.dtype[Any], next_hops: bool
) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
    from scipy.sparse.csgraph import dijkstra as scipy_dijkstra

    found = scipy_dijkstra(edges, indices=np.arange(start, stop), return_predecessors=next_hops)
    dist, links = found if next_hops else (found, None)
    if dtype.kind == "f":
        return dist.astype(dtype), links
    reached = np.isfinite(dist)
    longest = dist.max(where=reached, initial=0)
    if longest >= inner_no_path(dtype):
        raise DoesNotFitError(f"there is a distance of {longest:.0f}")
    rows = np.full(dist.shape, outer_no_path(dtype), dtype)
    np.copyto(rows, dist, where=reached, casting="unsafe")
    return rows, links


def _compressed_rows(given: Edges) -> Any:
    """Return the edges in compressed rows: the lightest of parallel ones, no loops, none absent."""
    from scipy.sparse import csr_array

    u, v = given.sources, given.targets
    weights = np.ones(u.size) if given.weights is None else given.weights.astype(np.float64)
    if not given.directed:
        u, v, weights = np.r_[u, v], np.r_[v, u], np.r_[weights, weights]
    kept = (u != v) & (weights != np.inf)
    u, v, weights = u[kept], v[kept], weights[kept]
    order = np.lexsort((weights, v, u))
    u, v, weights = u[order], v[order], weights[order]
    first = np.ones(u.size, np.bool_)
    first[1:] = (u[1:] != u[:-1]) | (v[1:] != v[:-1])
    row_starts = np.searchsorted(u[first], np.arange(given.n + 1))
    return csr_array((weights[first], v[first], row_starts), shape=(given.n, given.n))
