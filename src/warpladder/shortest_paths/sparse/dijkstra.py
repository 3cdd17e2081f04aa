"""Dijkstra's algorithm from every vertex, on all cores: for sparse graphs with weights.

The searches, 32 sources at a time, are told in `by_source` (the compiled loops) and `lanes` (their
vector steps); here are the choice of lanes, the estimate, and the start of the team.

Work: for each batch of 32 sources as many visits of vertices and arcs as their ways differ. How
many these are nobody can see from the edges; so a few batches are searched beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from warpladder.device.environment import worker_count
from warpladder.device.host_memory import require_memory
from warpladder.device.team import new_state, run_briefly, run_team
from warpladder.shortest_paths.dense import inner_no_path, outer_no_path
from warpladder.shortest_paths.forms import Edges
from warpladder.shortest_paths.paths import leads_in_circles, may_loop, mend_loops
from warpladder.shortest_paths.prepare import weights_as
from warpladder.shortest_paths.sparse.arcs import weighted_arcs_of
from warpladder.shortest_paths.sparse.by_source import search_by_source, search_some
from warpladder.shortest_paths.sparse.lanes import LANES
from warpladder.shortest_paths.sparse.orders import in_balls
from warpladder.shortest_paths.widening import DoesNotFitError

__all__ = [
    "Counts",
    "SourceSearches",
    "dijkstra",
    "least_seconds",
    "obstacle",
    "work_seconds",
    "workers_for",
]

# Fitted to the record of benchmarks/weighted_paths.py: 15 graphs of 453 to 10,000 vertices and
# 3,000 to 500,000 arcs (power grid, air routes, a metabolic network, LAGraph's test, random, dense,
# roads, hubs, a path), lanes of 32 and 64 bits, on an EPYC with AVX-512. Given what the searches
# counted it is between 0.75 and 1.36 times right; tests/benchmarks holds it against that record.
# Seconds for each doubling of the heap, of a visit and of a change; for 32 bits a lane, of an arc;
# for a byte of the answer, which is "no path" in a lane first.
_VISIT_SECONDS = 13.5e-9
_CHANGE_SECONDS = 4e-9
_ARC_SECONDS = 1.8e-9
_BYTE_SECONDS = 0.48e-9
# So much of a heap takes no time worth speaking of.
_SHALLOW = 8
_NARROW = 4
_WITH_NEXT_HOPS = 1.25
# Of the batches, so many are searched to estimate the time of all, at most these.
_SAMPLED_SHARE = 1 / 32
_MOST_SAMPLED = 4
# To list an arc that is given.
_LISTED_SECONDS = 60e-9
_TEAM_SECONDS = 0.3e-3
# From so many vertices this thread searches too, with threads that are kept, for up to 0.2 s if
# every pair has an edge. By two cores of an EPYC, between calls of SciPy's, 100, 300 and 500 with
# four arcs each take 0.4, 1.3 and 2.8 ms; with new threads 0.7, 1.9 and 3.9.
_BRIEF_UP_TO = 1024


class Counts(NamedTuple):
    """What all batches do together, as `by_source.COUNTED` says."""

    visits: float
    arcs: float
    changes: float
    waiting: float


@dataclass(frozen=True, slots=True)
class SourceSearches:
    """A graph made ready for `dijkstra`.

    Attributes
    ----------
    given
        The graph.
    arcs
        Where the arcs of each vertex start, their ends and weights, these of the dtype of lanes.
    batches
        All vertices, those that go together in a row; -1 where there is none.
    """

    given: Edges
    arcs: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]
    batches: NDArray[np.int32]

    @classmethod
    def of(cls, given: Edges, dtype: np.dtype[Any]) -> Self:
        """Return a graph made ready for distances of a dtype to which there is no `obstacle`."""
        arcs, weights = weighted_arcs_of(given, _lane_dtype(given, dtype))
        batches = in_balls(arcs, LANES)
        return cls(given, (arcs.starts, arcs.ends, weights), batches)

    def sample(self) -> Counts:
        """Search from some batches, and return what all of them would do if they are like these."""
        batches = len(self.batches)
        some = max(1, min(int(batches * _SAMPLED_SHARE), _MOST_SAMPLED, batches))
        picked = (np.arange(some) * 2 + 1) * batches // (2 * some)
        counted = search_some(self.arcs, self.batches[picked], self._none)
        return Counts(*(counted * (batches / some)).tolist())

    def seconds(self, dtype: np.dtype[Any], *, next_hops: bool = False) -> float:
        """Estimate the time of `dijkstra`, by searching from some of the vertices."""
        lanes = self.arcs[2].dtype
        work = work_seconds(self.sample(), self.given.n, lanes, dtype, next_hops=next_hops)
        return _on_all_cores(work, self.given.n)

    @property
    def _none(self) -> Any:
        """What no distance in a lane reaches."""
        return inner_no_path(self.arcs[2].dtype)


def work_seconds(
    counts: Counts, n: int, lanes: np.dtype[Any], dtype: np.dtype[Any], *, next_hops: bool = False
) -> float:
    """Estimate the time of `dijkstra` on one core in seconds, from what its searches do.

    Parameters
    ----------
    counts
        Of all batches.
    n
        Number of vertices.
    lanes, dtype
        Of the lanes, and of the distances.
    next_hops
        Whether next hops are wanted.
    """
    height = math.log2(1 + counts.waiting / max(counts.visits, 1) / _SHALLOW)
    queued = height * (counts.visits * _VISIT_SECONDS + counts.changes * _CHANGE_SECONDS)
    searched = queued + counts.arcs * _ARC_SECONDS * lanes.itemsize / _NARROW
    written = n * n * (dtype.itemsize + (_NARROW if next_hops else 0)) * _BYTE_SECONDS
    return searched * (_WITH_NEXT_HOPS if next_hops else 1) + written


def least_seconds(given: Edges, dtype: np.dtype[Any]) -> float:
    """Estimate the time to make a graph ready and answer, if every vertex is visited but once."""
    n, arcs = given.n, given.edge_count * (1 if given.directed else 2)
    batches = -(-n // LANES)
    least = Counts(batches * n, batches * arcs, batches * n, batches * n)
    work = work_seconds(least, n, _lane_dtype(given, dtype), dtype)
    return arcs * _LISTED_SECONDS + _on_all_cores(work, n)


def obstacle(given: Edges, dtype: np.dtype[Any]) -> str:
    """Return why `dijkstra` cannot answer for a graph, or nothing."""
    lightest, heaviest = _extreme_weights(given)
    if lightest < 0:
        return "there are negative weights"
    limit = _limit(np.dtype(np.int64)) if dtype.kind == "i" else float(np.finfo(dtype).max)
    if heaviest * given.n >= limit:
        return f"distances might exceed {limit:.3g}, up to which it is exact"
    if dtype.kind == "i" and given.weights is not None and given.weights.dtype.kind == "f":
        return "the weights are floats and the dtype an integer"
    return ""


def dijkstra(
    searches: SourceSearches,
    dtype: np.dtype[Any],
    *,
    next_hops: bool,
    progress: Callable[[float], None] | None = None,
) -> tuple[NDArray[Any], NDArray[np.int32] | None]:
    """Return distances and, if wanted, next hops.

    Distances are summed up in float64 where ``dtype`` is a float, and rounded once.

    Parameters
    ----------
    searches
        The graph.
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
    n, arcs, batches = searches.given.n, searches.arcs, searches.batches
    lanes = arcs[2].dtype
    workers = workers_for(n)
    require_memory(
        n * n * (dtype.itemsize + 4 * next_hops) + workers * _bytes_per_worker(n, lanes, next_hops),
        f"graph: all distances between {n:,} vertices, and what finds them,",
    )
    dist = np.empty((n, n), dtype)
    hops = np.empty((n, n) if next_hops else (0, 0), np.int32)
    longest = np.zeros(workers, lanes)
    carry = True if next_hops else None
    none = inner_no_path(lanes)
    state = new_state()

    def work(worker: int) -> None:
        search_by_source(
            arcs, batches, carry, none, dist, outer_no_path(dtype), hops, longest, worker, state
        )

    if n <= _BRIEF_UP_TO:
        run_briefly(work, workers, state)
        if progress is not None:
            progress(1)
    else:
        tell = None if progress is None else lambda done: progress(done / len(batches))
        run_team(work, workers, state, tell)
    farthest = longest.max(initial=0).item()
    if dtype.kind == "i" and farthest >= inner_no_path(dtype):
        raise DoesNotFitError(f"there is a distance of {farthest}")
    if not next_hops:
        return dist, None
    # Each row of next hops is right by itself; together they may lead in circles of length 0.
    lightest = float(arcs[2].min(initial=lanes.type(1)))
    if may_loop(lightest, n, lanes, float(farthest)) and leads_in_circles(hops):
        weights, _, _ = weights_as(searches.given, dtype)
        mend_loops(dist, hops, weights)
    return dist, hops


def workers_for(n: int) -> int:
    """Return how many workers `dijkstra` takes for n vertices: each batch is for one.

    Examples
    --------
    >>> workers_for(LANES)
    1
    """
    return max(1, min(worker_count(), -(-n // LANES)))


def _on_all_cores(work: float, n: int) -> float:
    workers = workers_for(n)
    return (_TEAM_SECONDS if workers > 1 else 0.0) + work / workers


def _lane_dtype(given: Edges, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return in which dtype distances are summed up: the narrowest that surely holds them."""
    if dtype.kind == "f":
        return np.dtype(np.float64)
    narrow = np.dtype(np.int32)
    _, heaviest = _extreme_weights(given)
    return narrow if heaviest * given.n < _limit(narrow) else np.dtype(np.int64)


def _limit(dtype: np.dtype[Any]) -> int:
    return int(inner_no_path(dtype))


def _extreme_weights(given: Edges) -> tuple[Any, Any]:
    """Return the lightest and the heaviest weight, as numbers of Python, which do not overflow."""
    if given.weights is None:
        return 1, 1
    counted = given.weights[given.counted()]
    return counted.min(initial=0).item(), counted.max(initial=0).item()


def _bytes_per_worker(n: int, lanes: np.dtype[Any], next_hops: bool) -> int:
    """Return the memory that each worker takes: rows of lanes, and the heap."""
    return n * (LANES * (lanes.itemsize + 4 * next_hops) + lanes.itemsize + 8)
