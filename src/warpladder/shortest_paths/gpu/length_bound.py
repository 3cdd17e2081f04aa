"""A bound for all distances of a graph, on a GPU, before they are known.

A shortest path passes no vertex twice, so it is no longer than the heaviest edges that leave each
vertex are together. That says little of a graph with long edges, few of which are on shortest
paths. There a way through one vertex, here vertex 0, says more: no distance from i to j is above
that from i to it and that from it to j. All of these are bounded by some rounds of Bellman and
Ford, in both directions at a time, each of which reads the matrix once: little work for a large
graph. A vertex that no edge leads to is the end of no path, and one that no edge leaves the
beginning of none; they need no way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.device.grids import EVERYBODY, WARP
from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.gpu.kernels import THREADS
from warpladder.shortest_paths.gpu_tiles.four_cells import load_four

if TYPE_CHECKING:
    from warpladder.device.base import Device

__all__ = ["all_below"]

#: Rounds between two looks at how long ways are, and looks.
_ROUNDS, _LOOKS = 4, 3
#: Vertices. With tags an H200 takes 2.8 ms for 2,560 and without 3.4; to find ways took as long as
#: that spares.
_WAYS_FROM = 4096
#: Of the rows that `find_ends` looks through.
_PARTS = 16
_NO_EDGE, _NEGATIVE = -1, -2


@cached
@cuda.jit
def find_heaviest(dist: Any, no_path: Any, found: Any) -> None:
    """Find the heaviest edge of each row, -1 if there is none, -2 if a weight is negative.

    A warp takes a row.
    """
    lane = cuda.threadIdx.x & 31
    for i in range(cuda.grid(1) >> 5, found.shape[0], cuda.gridsize(1) >> 5):
        heaviest, negative = _NO_EDGE, 0
        for first in range(lane << 2, dist.shape[1], 4 * WARP):
            four = load_four(dist, i, first)
            for u in range(4):
                if four[u] < 0:
                    negative = 1
                elif four[u] < no_path and i != first + u:
                    heaviest = max(heaviest, four[u])
        negative = cuda.any_sync(EVERYBODY, negative)
        step = 16
        while step:
            heaviest = max(heaviest, cuda.shfl_down_sync(EVERYBODY, heaviest, step))
            step >>= 1
        if lane == 0:
            found[i] = _NEGATIVE if negative else heaviest


@cached
@cuda.jit
def find_ends(dist: Any, no_path: Any, found: Any) -> None:
    """Find whether an edge leads to a vertex; block (x, y) looks through one row in `_PARTS`."""
    n = found.shape[1]
    j = cuda.grid(1)
    if j < n:
        is_end = 0
        for i in range(cuda.blockIdx.y, n, _PARTS):
            if dist[i, j] < no_path and i != j:
                is_end = 1
                break
        found[cuda.blockIdx.y, j] = is_end


@cached
@cuda.jit
def begin_ways(dist: Any, ways: Any) -> None:
    """Take the edges from and to vertex 0 for ways, in both of two copies."""
    for j in range(cuda.grid(1), ways.shape[2], cuda.gridsize(1)):
        for copy in range(2):
            ways[copy, 0, j] = dist[0, j]
            ways[copy, 1, j] = dist[j, 0]


@cached
@cuda.jit
def shorten_ways(dist: Any, ways: Any, old: Any, no_path: Any) -> None:
    """Make ways from and to vertex 0 shorter by an edge, from copy ``old`` to the other one.

    A warp takes the edges that leave a vertex. A vertex has an edge of weight 0 to itself, so that
    no way becomes longer.
    """
    lane, new = cuda.threadIdx.x & 31, 1 - old
    n = ways.shape[2]
    for i in range(cuda.grid(1) >> 5, n, cuda.gridsize(1) >> 5):
        here, home = ways[old, 0, i], no_path
        for first in range(lane << 2, dist.shape[1], 4 * WARP):
            four = load_four(dist, i, first)
            for u in range(4):
                j, weight = first + u, four[u]
                if weight < no_path:
                    home = min(home, weight + ways[old, 1, j])
                    if weight + here <= ways[old, 0, j]:
                        cuda.atomic.min(ways, (new, 0, j), weight + here)
        step = 16
        while step:
            home = min(home, cuda.shfl_down_sync(EVERYBODY, home, step))
            step >>= 1
        if lane == 0:
            ways[new, 1, i] = home


def all_below(device: Device, dist: Any, n: int, no_path: int, limit: int) -> bool:
    """Return whether all distances are certainly below a limit, and no weight is negative.

    Parameters
    ----------
    device
        Where the matrix is.
    dist
        Weights, int32, 0 on the diagonal. Its side is a multiple of 4; vertices beyond n have no
        edges.
    n
        How many vertices, at least 1.
    no_path
        Where there is no edge; twice it fits int32.
    limit
        Not above ``no_path``.

    Notes
    -----
    The matrix is read once, from `_WAYS_FROM` vertices on up to 14 times.
    """
    blocks = min(n, 32 * device.properties.multiprocessors)
    heaviest = device.empty(n, np.int32)
    device.launch(find_heaviest, blocks, THREADS, dist, no_path, heaviest)
    of_rows = device.to_host(heaviest)
    if of_rows.min() == _NEGATIVE:
        return False
    if of_rows.sum(dtype=np.int64, where=of_rows > 0) < limit:
        return True
    if n < _WAYS_FROM:
        return False
    found = device.empty((_PARTS, n), np.int32)
    device.launch(find_ends, (-(-n // THREADS), _PARTS), THREADS, dist, no_path, found)
    are_ends = device.to_host(found).any(axis=0)
    ways = device.empty((2, 2, n), np.int32)
    device.launch(begin_ways, blocks, THREADS, dist, ways)
    for _ in range(_LOOKS):
        for number in range(_ROUNDS):
            device.launch(shorten_ways, blocks, THREADS, dist, ways, number & 1, no_path)
        there, back = device.to_host(ways)[0]
        longest = there.max(where=are_ends, initial=0).item()
        longest += back.max(where=of_rows != _NO_EDGE, initial=0).item()
        # All are found, and some more edges will hardly make them half as long.
        if longest < limit or 2 * limit <= longest < no_path:
            break
    return bool(longest < limit)
