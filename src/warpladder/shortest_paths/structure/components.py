"""How many pieces a graph falls into when the direction of its edges is ignored."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.host_memory import require_memory
from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine

__all__ = ["count_components"]


def count_components(n: int, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> int:
    """Return the number of connected components of ``n`` vertices, directions ignored.

    Raises
    ------
    TooLargeError
        A number for each vertex would not fit the memory that this process may still take.

    Examples
    --------
    >>> count_components(5, np.array([0, 3]), np.array([1, 4]))
    3
    """
    require_memory(n * np.dtype(np.int64).itemsize, f"graph: components of {n:,} vertices")
    return int(_count(n, sources, targets))


@cached
@njit(nogil=True)
def _count(n: Any, sources: Any, targets: Any) -> Any:
    leader = np.arange(n)
    count = n
    for edge in range(sources.size):
        u = _find(leader, sources[edge])
        v = _find(leader, targets[edge])
        if u != v:
            leader[max(u, v)] = min(u, v)
            count -= 1
    return count


@subroutine
def _find(leader: Any, vertex: Any) -> Any:
    while leader[vertex] != vertex:
        leader[vertex] = leader[leader[vertex]]
        vertex = leader[vertex]
    return vertex
