"""Distances in graphs whose edges all have the same length: breadth-first searches, 512 at a time.

What a search does is told in `levels` (the compiled loops) and `masks` (their vector steps), and
for long thin graphs, where one at a time is faster, in `queues`; here are the arcs and the order of
the searches, the estimate, and the start of the team.

Work: ``n / 512`` times as many visits of vertices and arcs as levels are found on: the more alike
the distances to neighbouring sources, the fewer. Traffic: ``n^2`` numbers, each written once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from warpladder.device.environment import worker_count
from warpladder.device.host_memory import require_memory
from warpladder.device.team import new_state, run_team
from warpladder.shortest_paths.arcs import Arcs, arcs_of, in_order
from warpladder.shortest_paths.dense import inner_no_path, outer_no_path
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.level_hops import hops_from_levels
from warpladder.shortest_paths.levels import PLANES, search_team
from warpladder.shortest_paths.masks import BITS
from warpladder.shortest_paths.queues import search_one_by_one
from warpladder.shortest_paths.widening import DoesNotFitError

__all__ = ["Searches", "hop_counts", "least_seconds", "workers_for"]

# Measured on an Intel Xeon of 2.5 GHz with AVX-512, on one core: a vertex that is found on a level,
# an arc on the way, a byte of the answer; the start of a team, or of one batch without one; and how
# many levels find a vertex for each level that there is.
_VERTEX_SECONDS = 20e-9
_ARC_SECONDS = 8e-9
_BYTE_SECONDS = 0.5e-9
_TEAM_SECONDS = 0.3e-3
_BATCH_SECONDS = 0.05e-3
_LEVELS_PER_DEPTH = 0.43
# A vertex or an arc of one search alone. On one core of an EPYC with AVX-512, as the path of 4,000
# vertices: 1.9 ns, 91 ms in all, by levels 241; LAGraph's 1,000 with 500 levels: 1.4, 5.7 and 7.2;
# power grid: 2.2, 200 and 42; random, 5,000 vertices: 3.3, 918 and 25.
_QUEUED_SECONDS = 2.5e-9
# Rows of a task.
_FEW = 16
# To compare a pair's distance with that of a neighbour, for next hops.
_COMPARED_SECONDS = 0.7e-9
# To list an arc that is given, an entry of a matrix, or to mark an arc in a matrix.
_LISTED_SECONDS = 30e-9
_ENTRY_SECONDS = 3e-9
_MARKED_SECONDS = 4e-9


@dataclass(frozen=True, slots=True)
class Searches:
    """A graph made ready for `hop_counts`.

    Attributes
    ----------
    arcs
        Its arcs.
    order
        The vertices in the order in which they are searched from.
    depth
        About how many levels there are.
    length
        Of every arc.
    one_by_one
        Whether one search at a time is faster than 512.
    """

    arcs: Arcs
    order: NDArray[np.int32]
    depth: float
    length: float
    one_by_one: bool

    @classmethod
    def of(cls, given: Edges | Matrix, length: float) -> Self:
        """Return a graph made ready whose edges all have one length."""
        arcs = arcs_of(given)
        order, depth = in_order(arcs)
        n, m = given.n, arcs.ends.size
        by_levels = _seconds(n, m, depth, np.dtype(np.int16))
        return cls(arcs, order, depth, length, _seconds_of_queues(n, m) < by_levels)

    @property
    def batch(self) -> int:
        """How many searches are one task."""
        if self.one_by_one:
            return _FEW
        n = self.order.size
        # As many in each, so that the last batch is not the only one that is short.
        return max(-(-n // max(-(-n // BITS), 1)), 1)

    def seconds(self, dtype: np.dtype[Any], *, next_hops: bool = False) -> float:
        """Estimate the time of `hop_counts`."""
        n, m = self.order.size, self.arcs.ends.size
        compared = n * m * _COMPARED_SECONDS / worker_count() if next_hops else 0.0
        if self.one_by_one:
            return _seconds_of_queues(n, m) + compared
        return _seconds(n, m, self.depth, dtype) + compared


def least_seconds(given: Edges | Matrix, dtype: np.dtype[Any]) -> float:
    """Estimate the time to make a graph ready and answer, if no vertex is far from another."""
    n, m = given.n, given.edge_count
    ready = n * n * _ENTRY_SECONDS
    if isinstance(given, Edges):
        ready = min(m * _LISTED_SECONDS, ready + m * _MARKED_SECONDS)
    return ready + _seconds(n, m, 1, dtype)


def _seconds_of_queues(n: int, m: int) -> float:
    return _TEAM_SECONDS + n * (n + m) * _QUEUED_SECONDS / worker_count()


def _seconds(n: int, m: int, depth: float, dtype: np.dtype[Any]) -> float:
    levels = min(1 + _LEVELS_PER_DEPTH * depth, BITS)
    visits = -(-n // BITS) * levels * (n * _VERTEX_SECONDS + m * _ARC_SECONDS)
    written = n * n * dtype.itemsize * _BYTE_SECONDS
    workers = workers_for(n)
    start = _TEAM_SECONDS if workers > 1 else _BATCH_SECONDS
    return start + (visits + written) / workers


def hop_counts(
    searches: Searches,
    dtype: np.dtype[Any],
    *,
    next_hops: bool,
    progress: Callable[[float], None] | None = None,
) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
    """Return distances and, if wanted, next hops.

    Parameters
    ----------
    searches
        The graph; multiples of its length are exact in a floating-point ``dtype``.
    dtype
        Of the distances.
    next_hops
        Whether next hops are wanted.
    progress
        Called with the fraction done.

    Raises
    ------
    DoesNotFitError
        A distance does not fit an integer dtype.
    """
    n, length, batch = searches.order.size, searches.length, searches.batch
    workers = workers_for(n, batch)
    require_memory(
        n * n * (dtype.itemsize + 4 * next_hops) + workers * _bytes_per_worker(n),
        f"graph: all distances between {n:,} vertices, and what finds them,",
    )
    dist = np.empty((n, n), dtype)
    step = dtype.type(length)
    batches = -(-n // batch)
    deepest = np.zeros(workers, np.int64)
    state = new_state()
    search = search_one_by_one if searches.one_by_one else search_team

    def work(worker: int) -> None:
        search(
            searches.arcs, searches.order, dist, step, outer_no_path(dtype), batch, deepest,
            worker, state,
        )  # fmt: skip

    if batches <= 1:
        work(0)
    else:
        # Next hops take about as long as the searches.
        share = batches * (2 if next_hops else 1)
        tell = None if progress is None else lambda done: progress(done / share)
        run_team(work, workers, state, tell)
    farthest = int(deepest.max()) * length
    if dtype.kind == "i" and farthest >= inner_no_path(dtype):
        raise DoesNotFitError(f"there is a distance of {farthest}")
    if not next_hops:
        return dist, None
    later = None if progress is None else lambda done: progress((1 + done) / 2)
    return dist, hops_from_levels(searches.arcs, dist, step, later)


def workers_for(n: int, batch: int = BITS) -> int:
    """Return how many workers `hop_counts` takes for n vertices: each batch is for one.

    Examples
    --------
    >>> workers_for(BITS)
    1
    """
    return max(1, min(worker_count(), -(-n // batch)))


def _bytes_per_worker(n: int) -> int:
    """Return the memory that each worker takes: masks, digits of levels, and lists."""
    return n * ((3 + PLANES) * BITS // 8 + 12)
