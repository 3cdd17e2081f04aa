"""Strong components: vertices that lie on cycles together.

Source: Tarjan, "Depth-first search and linear graph algorithms" (1972).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.dense import inner_no_path

__all__ = ["strong_components"]


def strong_components(dist: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each vertex a number that it shares with its component, shape (n,); cost O(n^2).

    Parameters
    ----------
    dist
        Weights prepared by `dense.import_weights`.

    Examples
    --------
    >>> there_and_back = np.array([[0, 1, np.inf], [1, 0, 1], [np.inf, np.inf, 0]])
    >>> strong_components(there_and_back).tolist()
    [0, 0, 2]
    """
    component: NDArray[np.int64] = _components(dist, inner_no_path(dist.dtype))
    return component


@cached
@njit(nogil=True)
def _components(dist: Any, no_path: Any) -> Any:
    n = dist.shape[0]
    component = np.full(n, -1)
    # When a vertex was found, from 1 on, and the first found that it leads back to.
    found, earliest = np.zeros(n, np.int64), np.zeros(n, np.int64)
    column = np.zeros(n, np.int64)
    path, waiting = np.empty(n, np.int64), np.empty(n, np.int64)
    count = waits = 0
    for root in range(n):
        length = 0
        following = root if found[root] == 0 else -1
        while length > 0 or following >= 0:
            if following >= 0:
                count += 1
                found[following] = earliest[following] = count
                path[length] = waiting[waits] = following
                length += 1
                waits += 1
            u = path[length - 1]
            following = -1
            while column[u] < n and following < 0:
                v = column[u]
                if dist[u, v] != no_path and component[v] < 0:
                    if found[v] == 0:
                        following = v
                    else:
                        # On the way back from v, too: what that leads to is known by then.
                        earliest[u] = min(earliest[u], earliest[v])
                if following < 0:
                    column[u] += 1
            if following >= 0:
                continue
            length -= 1
            if earliest[u] == found[u]:
                vertex = -1
                while vertex != u:
                    waits -= 1
                    vertex = waiting[waits]
                    component[vertex] = u
    return component
