"""Next hops: made safe, turned into predecessors, and walked.

A matrix of next hops is right when following it always ends. Distances that fall at every step
guarantee that; an edge of weight 0 (or one that rounding swallows) does not: on a cycle of weight 0
two vertices can each name the other as the next hop to a third, both correctly by the distances.
The blocked algorithm is open to this because it relaxes in another order than the textbook's. So
where a cycle of weight 0 is possible, `mend_loops` searches every column for a loop and rebuilds
those that have one.

HB exploration 8 asks for the matrix of next hops and the walk along it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.host_memory import require_memory
from warpladder.device.kernel_cache import cached
from warpladder.device.subroutines import subroutine
from warpladder.shortest_paths.dense import NO_HOP, inner_no_path
from warpladder.shortest_paths.structure.cycles import vertex_on_cycle

__all__ = [
    "any_loop",
    "leads_in_circles",
    "may_loop",
    "mend_loops",
    "predecessors_from_hops",
    "walk_pairs",
]


def may_loop(lightest: float, n: int, dtype: np.dtype[Any], longest: float) -> bool:
    """Return whether distances might fail to fall along the next hops.

    Integer distances fall by at least the lightest edge. A rounded one is off by at most ``2 n``
    units in the last place of the longest distance, so a lightest edge above twice that still makes
    every step a step down.
    """
    if lightest <= 0:
        return True
    return dtype.kind == "f" and bool(lightest <= 4 * n * float(np.finfo(dtype).eps) * longest)


def leads_in_circles(links: NDArray[Any]) -> bool:
    """Return whether following some column of ``links`` never ends; cost O(n^2).

    Examples
    --------
    >>> leads_in_circles(np.array([[0, 1, 1], [0, 1, 0], [0, 0, 2]]))
    True
    """
    return bool(any_loop(links))


def mend_loops(dist: NDArray[Any], links: NDArray[Any], weights: NDArray[Any]) -> int:
    """Rebuild, in place, every column of ``links`` that leads in circles; return how many did.

    Parameters
    ----------
    dist
        Distances, shape (n, n).
    links
        ``links[i, j]``: the vertex after i on the way to j, `NO_HOP` where there is none.
    weights
        Of the edges, shape (n, n), `inner_no_path` where there is none.

    Notes
    -----
    A column is rebuilt as a tree by Dijkstra's algorithm on the slack
    ``weights[i, x] + dist[x, j] - dist[i, j]``, which is 0 along every shortest path whatever the
    signs of the weights, and a few roundings at most otherwise. Cost O(n^2) per column rebuilt.
    """
    return int(_mend(dist, links, weights, inner_no_path(dist.dtype)))


def predecessors_from_hops(dist: NDArray[Any], hops: NDArray[Any]) -> NDArray[np.int32]:
    """Return for each pair the vertex before the last, by following the next hops.

    `NO_HOP` where there is no path and on the diagonal.
    """
    needed = hops.size * (4 + dist.itemsize)
    require_memory(needed, f"predecessors: those of all pairs of {len(hops):,} vertices")
    result = np.empty(hops.shape, np.int32)
    _last_edges(hops, result)
    # Only edges that some next hop takes: every pair is joined by such, and they are real ones.
    weights = np.full(dist.shape, inner_no_path(dist.dtype), dist.dtype)
    for vertex, row in enumerate(hops):
        ends = row[row != NO_HOP]
        weights[vertex, ends] = dist[vertex, ends]
    mend_loops(dist.T, result.T, weights.T)
    np.fill_diagonal(result, NO_HOP)
    return result


def walk_pairs(hops: NDArray[Any], pairs: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the vertices along the path of each pair (source, target); none without a path."""
    lengths = _path_lengths(hops, pairs)
    ends = np.cumsum(lengths)
    vertices = np.empty(int(ends[-1]) if ends.size else 0, np.int64)
    _fill_paths(hops, pairs, ends - lengths, lengths, vertices)
    return np.split(vertices, ends[:-1]) if ends.size else []


@cached
@njit(nogil=True)
def _mend(dist: Any, links: Any, weights: Any, no_edge: Any) -> Any:
    mended = 0
    for target in range(links.shape[0]):
        if vertex_on_cycle(links[:, target], target) >= 0:
            _grow_tree(dist, links, weights, no_edge, target)
            mended += 1
    return mended


@cached
@njit(nogil=True)
def any_loop(links: Any) -> Any:
    """Return whether following some column of ``links`` never ends, for compiled callers."""
    for target in range(links.shape[0]):  # noqa: SIM110 - Numba compiles no generator expression
        if vertex_on_cycle(links[:, target], target) >= 0:
            return True
    return False


@subroutine
def _grow_tree(dist: Any, links: Any, weights: Any, no_edge: Any, target: Any) -> None:
    n = links.shape[0]
    slack = np.full(n, np.inf)
    slack[target] = 0.0
    settled = np.zeros(n, np.bool_)
    for _ in range(n):
        nearest = -1
        least = np.inf
        for vertex in range(n):
            if not settled[vertex] and slack[vertex] < least:
                nearest = vertex
                least = slack[vertex]
        if nearest < 0:
            return
        settled[nearest] = True
        for vertex in range(n):
            weight = weights[vertex, nearest]
            if not settled[vertex] and weight < no_edge and links[vertex, target] >= 0:
                excess = weight + dist[nearest, target] - dist[vertex, target]
                total = slack[nearest] + max(float(excess), 0.0)
                if total < slack[vertex]:
                    slack[vertex] = total
                    links[vertex, target] = nearest


@cached
@njit(nogil=True)
def _last_edges(hops: Any, result: Any) -> None:
    n = hops.shape[0]
    trail = np.empty(n, np.int64)
    for target in range(n):
        for i in range(n):
            result[i, target] = -2
        for start in range(n):
            length = 0
            vertex = start
            last: Any = -2
            while last == -2:
                hop = hops[vertex, target]
                if vertex == target or hop < 0:
                    last = NO_HOP
                elif result[vertex, target] != -2:
                    last = result[vertex, target]
                elif hop == target:
                    last = vertex
                    result[vertex, target] = last
                else:
                    if length == n:
                        raise ValueError("next hops lead in a circle")
                    trail[length] = vertex
                    length += 1
                    vertex = hop
            for step in range(length):
                result[trail[step], target] = last
            result[start, target] = last


@cached
@njit(nogil=True)
def _path_lengths(hops: Any, pairs: Any) -> Any:
    lengths = np.zeros(len(pairs), np.int64)
    for index in range(len(pairs)):
        vertex, target = pairs[index]
        if hops[vertex, target] < 0:
            continue
        lengths[index] = 1
        while vertex != target:
            if lengths[index] > len(hops):
                raise ValueError("next hops lead in a circle")
            vertex = hops[vertex, target]
            lengths[index] += 1
    return lengths


@cached
@njit(nogil=True)
def _fill_paths(hops: Any, pairs: Any, starts: Any, lengths: Any, vertices: Any) -> None:
    for index in range(len(pairs)):
        vertex, target = pairs[index]
        for step in range(lengths[index]):
            vertices[starts[index] + step] = vertex
            vertex = hops[vertex, target]
