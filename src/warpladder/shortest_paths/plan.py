"""What is done for a graph unless something else is asked for: the dtype and the method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from warpladder.device.foreign import numpy_dtype
from warpladder.errors import InputError
from warpladder.shortest_paths.batch import Batch
from warpladder.shortest_paths.dtypes import distance_dtype
from warpladder.shortest_paths.forms import Edges, Matrix

__all__ = ["Method", "choose_method", "default_dtype"]

# Below this even the start of processes for Dijkstra costs more than Floyd-Warshall.
_SPARSE_FROM = 2048
_EXACT_IN_FLOAT64 = 2.0**53


class Method(NamedTuple):
    """Floyd-Warshall or Dijkstra, and why that one, for people."""

    name: str
    why: str


def default_dtype(given: Edges | Matrix | Batch) -> np.dtype[Any]:
    """Return the dtype in which `shortest_paths` computes unless another is asked for.

    Examples
    --------
    >>> from warpladder.shortest_paths.graph import Graph
    >>> default_dtype(Graph.from_edges([0, 1], [1, 2]).given)
    dtype('int16')
    """
    if given.weights is not None:
        return distance_dtype(numpy_dtype(given.weights), "graph")
    # Without weights no distance exceeds n - 1.
    return np.dtype(np.int16 if given.n <= np.iinfo(np.int16).max // 2 else np.int32)


def choose_method(
    given: Edges | Matrix,
    dtype: np.dtype[Any],
    asked: str,
    seconds: Callable[[int, np.dtype[Any]], float],
) -> Method:
    """Return the method that is asked for, if it can answer, or for ``"auto"`` the faster one.

    ``seconds`` estimates the time of Floyd-Warshall.
    """
    obstacle = _obstacle_to_dijkstra(given, dtype)
    if asked == "dijkstra":
        if obstacle:
            raise InputError(f'method="dijkstra": {obstacle}; use "floyd-warshall"')
        return Method("dijkstra", "as asked")
    if asked == "floyd-warshall":
        return Method("floyd-warshall", "")
    if isinstance(given, Matrix) or given.n < _SPARSE_FROM:
        return Method("floyd-warshall", "")
    from warpladder.shortest_paths.sparse import is_installed, sparse_seconds

    arcs = given.edge_count * (1 if given.directed else 2)
    by_blocks = seconds(given.n, dtype)
    by_source = sparse_seconds(given.n, arcs)
    if by_blocks <= by_source:
        why = f"estimated {by_blocks:.1f} s, Dijkstra from every vertex {by_source:.1f} s"
        return Method("floyd-warshall", why)
    if obstacle:
        return Method("floyd-warshall", f"Dijkstra would be faster but {obstacle}")
    if not is_installed():
        why = "Dijkstra would be faster but needs scipy: pip install 'warpladder[sparse]'"
        return Method("floyd-warshall", why)
    return Method("dijkstra", f"estimated {by_source:.1f} s, Floyd-Warshall {by_blocks:.1f} s")


def _obstacle_to_dijkstra(given: Edges | Matrix, dtype: np.dtype[Any]) -> str:
    """Return why Dijkstra cannot answer for this graph, or nothing."""
    if isinstance(given, Matrix):
        return "the graph is a dense matrix"
    weights = np.ones(1) if given.weights is None else given.weights
    finite = weights[weights != np.inf]
    if finite.size and finite.min() < 0:
        return "there are negative weights"
    longest = float(finite.max(initial=0)) * given.n
    limit = _EXACT_IN_FLOAT64 if dtype.kind == "i" else float(np.finfo(dtype).max)
    if longest >= limit:
        return f"distances might exceed {limit:.3g}, up to which it is exact"
    if dtype.kind == "i" and weights.dtype.kind == "f" and given.weights is not None:
        return "the weights are floats and the dtype an integer"
    return ""
