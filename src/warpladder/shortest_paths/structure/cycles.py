"""Finding a cycle among links, of which every vertex has at most one."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.device.subroutines import subroutine

__all__ = ["vertex_on_cycle"]


@subroutine
def vertex_on_cycle(links: Any, root: Any) -> Any:
    """Return a vertex on a cycle, -1 where there is none; cost O(n).

    Parameters
    ----------
    links
        For each vertex the one it leads to, negative for none, shape (n,).
    root
        A vertex whose own link does not count, or -1.
    """
    n = links.size
    walk_of = np.zeros(n, np.int64)
    for start in range(n):
        vertex = start
        while vertex >= 0 and vertex != root and walk_of[vertex] == 0:
            walk_of[vertex] = start + 1
            vertex = links[vertex]
        if vertex >= 0 and vertex != root and walk_of[vertex] == start + 1:
            return vertex
    return -1
