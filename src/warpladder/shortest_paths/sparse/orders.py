"""Orders of vertices in which neighbours are near each other: who is searched from together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.shortest_paths.sparse.arcs import Arcs

__all__ = ["in_balls", "in_order"]


def in_balls(arcs: Arcs, size: int) -> NDArray[np.int32]:
    """Return the vertices in rows of ``size``, each of which are near to each other.

    A row is filled with what is nearest, by arcs of either direction, to the first vertex in
    `in_order` that no row has yet; where that has too few around it, by more such vertices. Rows
    have the same number of vertices but the last, which may have less; then comes -1.

    Examples
    --------
    >>> from warpladder.shortest_paths.sparse.arcs import arcs_of
    >>> from warpladder.shortest_paths.forms import Edges
    >>> ends = np.arange(4), np.arange(1, 5)
    >>> in_balls(arcs_of(Edges(5, *ends, None, directed=False)), 3).tolist()
    [[4, 3, 2], [1, 0, -1]]
    """
    n = arcs.starts.size - 1
    rows = -(-n // size)
    order, _ = in_order(arcs)
    each = -(-n // max(rows, 1))
    balls = np.full(rows * each, -1, np.int32)
    _fill_balls(*arcs, order, each, balls)
    padded = np.full((rows, size), -1, np.int32)
    padded[:, :each] = balls.reshape(rows, each)
    return padded


def in_order(arcs: Arcs) -> tuple[NDArray[np.int32], float]:
    """Return the vertices so that neighbours are near, and how far apart the ends of pieces are.

    The order is that of a breadth-first search without regard to direction, from an end of each
    piece; how far is the mean over vertices of the last level in their piece.
    """
    n = arcs.starts.size - 1
    order = np.empty(n, np.int32)
    if arcs.into is arcs.ends:
        # All neighbours are among the ends.
        arcs = arcs._replace(into_starts=np.zeros_like(arcs.starts), into=arcs.ends[:0])
    depths = _breadth_first(*arcs, order)
    return order, depths / max(n, 1)


@cached
@njit(nogil=True)
def _fill_balls(
    starts: Any, ends: Any, into_starts: Any, into: Any, order: Any, size: Any, balls: Any
) -> None:
    n = order.size
    taken = np.zeros(n, np.uint8)
    tail = 0
    for root in order:
        if taken[root]:
            continue
        taken[root] = 1
        head = tail
        balls[tail] = root
        tail += 1
        stop = min((head // size + 1) * size, n)
        while head < tail < stop:
            u = balls[head]
            head += 1
            for side in range(2):
                bounds, others = (into_starts, into) if side else (starts, ends)
                for arc in range(bounds[u], bounds[u + 1]):
                    v = others[arc]
                    if tail < stop and not taken[v]:
                        taken[v] = 1
                        balls[tail] = v
                        tail += 1


@cached
@njit(nogil=True)
def _breadth_first(starts: Any, ends: Any, into_starts: Any, into: Any, order: Any) -> Any:
    """Fill the order; return the sum over vertices of the last level in their piece."""
    n = order.size
    seen = np.zeros(n, np.uint8)
    count = 0
    total = 0
    for vertex in range(n):
        if seen[vertex]:
            continue
        first = count
        # The vertex found last is at an end: from there once more.
        count, _ = _spread(starts, ends, into_starts, into, order, vertex, first, seen, 1)
        count, level = _spread(
            starts, ends, into_starts, into, order, order[count - 1], first, seen, 2
        )
        total += level * (count - first)
    return total


@subroutine
def _spread(
    starts: Any, ends: Any, into_starts: Any, into: Any, order: Any, root: Any, first: Any,
    seen: Any, mark: Any,
) -> Any:  # fmt: skip
    """Put a piece into the order from a place on; return where it ends, and its last level.

    Once every vertex is in the order the arcs that are left cannot tell more: where there are many,
    that is soon.
    """
    order[first] = root
    seen[root] = mark
    head = first
    tail = first + 1
    level = 0
    while True:
        stop = tail
        while head < stop:
            u = order[head]
            head += 1
            if tail == order.size:
                return tail, level + (tail > stop)
            for arc in range(starts[u], starts[u + 1]):
                v = ends[arc]
                if seen[v] != mark:
                    seen[v] = mark
                    order[tail] = v
                    tail += 1
            for arc in range(into_starts[u], into_starts[u + 1]):
                v = into[arc]
                if seen[v] != mark:
                    seen[v] = mark
                    order[tail] = v
                    tail += 1
        if tail == stop:
            return tail, level
        level += 1
