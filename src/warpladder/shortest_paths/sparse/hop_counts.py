"""Distances in graphs whose edges have few whole lengths: breadth-first searches, 512 at a time.

What a search does is told in `levels` (the compiled loops) and `masks` (their vector steps), and
for graphs with many of all arcs, where it takes few steps, in `bit_rows`. Long thin graphs take
less time otherwise: those from which vertices can be taken out without many new arcs, as
`elimination` and `sweeps` tell, without any search; others by searches one at a time, told in
`queues`. All but `levels` are for edges of one length. Here are the arcs and the order of the
searches, the estimates, and the start of the team.

Work: ``n / 512`` times as many visits of vertices and arcs as levels are found on: the more alike
the distances to neighbouring sources, the fewer. Traffic: ``n^2`` numbers, each written once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from warpladder.device.environment import worker_count
from warpladder.device.host_memory import require_memory
from warpladder.device.team import new_state, run_briefly, run_team
from warpladder.shortest_paths.dense import empty_matrix, inner_no_path, outer_no_path
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.sparse.arcs import MANY, Arcs, SteppedArcs, arcs_of, stepped
from warpladder.shortest_paths.sparse.bit_rows import BitRows, bit_rows, search_bit_rows
from warpladder.shortest_paths.sparse.elimination import Eliminated, eliminate, steps_dtype
from warpladder.shortest_paths.sparse.level_hops import hops_from_levels
from warpladder.shortest_paths.sparse.levels import PLANES, search_team
from warpladder.shortest_paths.sparse.masks import BITS
from warpladder.shortest_paths.sparse.orders import in_order
from warpladder.shortest_paths.sparse.queues import search_one_by_one
from warpladder.shortest_paths.sparse.strips import ROW_BYTES
from warpladder.shortest_paths.sparse.sweeps import sweep_team
from warpladder.shortest_paths.sparse.whole_lengths import WholeLengths
from warpladder.shortest_paths.widening import DoesNotFitError

__all__ = ["Searches", "hop_counts", "least_seconds", "workers_for"]

# Fitted to 12 graphs of 453 to 10,000 vertices (metabolic, power grid, air routes, random, dense,
# hubs, grids), each with edges of up to 1, 2, 3, 5, 10, 20, 40 and 64 steps, on two cores of a Xeon
# with AVX-512 that others used, too: between 0.55 and 1.7 times right from 2 ms on. A vertex or an
# arc on a level, this once more for each doubling of the masks that are kept beyond a size; a byte
# of the answer; the start of a team, or of one batch without one; how many levels go through all
# vertices and arcs for each level that there is; and how many arcs into a vertex complete its mask.
_VERTEX_SECONDS = 15e-9
_ARC_SECONDS = 2.2e-9
_MASK_BYTES = 1e6
_BYTE_SECONDS = 0.5e-9
_TEAM_SECONDS = 0.3e-3
_BATCH_SECONDS = 0.05e-3
_LEVELS_PER_DEPTH = 0.5
_MOST_PULLED = 64
# A vertex or an arc of one search alone. On one core of an EPYC with AVX-512, as the path of 4,000
# vertices: 1.9 ns, 91 ms in all, by levels 241; LAGraph's 1,000 with 500 levels: 1.4, 5.7 and 7.2;
# power grid: 2.2, 200 and 42; random, 5,000 vertices: 3.3, 918 and 25.
_QUEUED_SECONDS = 2.5e-9
# Nobody waits that long for Ctrl-C, nor to be told of progress.
_BRIEF_SECONDS = 0.2
# Rows of a task.
_FEW = 16
# Both relaxations of a row of a strip by way of a neighbour, a byte that sweeps write, and a step
# of eliminating. On one core of the EPYC: path of 4,000 vertices: 0.3 ms to eliminate, 5.0 to
# sweep; LAGraph's: 0.1 and 0.3; power grid: 1.0 and 15; grid of 70 by 70: 8 and 27.
_RELAXED_SECONDS = 6e-9
_SWEPT_BYTE_SECONDS = 0.2e-9
_STEP_SECONDS = 13e-9
# Graphs of less depth would become full of arcs, or are answered as fast by levels. Where others do
# eliminating may take this share of the time in which they are answered otherwise, then it ends.
_DEPTH_TO_ELIMINATE = 16
_SHARE_TO_TRY = 1 / 4
# What is kept of a vertex then takes less memory than its distances.
_MOST_NEIGHBOURS = 64
# A search over rows of bits, and a mask of a row: on one core of the EPYC with half of all arcs,
# where a dozen rows bring together all vertices. And how many rows it takes for a share of arcs.
_ROW_SECONDS = 0.4e-6
_MASK_SECONDS = 3e-9
_ROWS_PER_SHARE = 8
# To compare a pair's distance with that of a neighbour, for next hops.
_COMPARED_SECONDS = 0.7e-9
# To list an arc that is given, an entry of a matrix, or to mark an arc in a matrix.
_LISTED_SECONDS = 30e-9
_STEPPED_SECONDS = 60e-9
_ENTRY_SECONDS = 3e-9
_MARKED_SECONDS = 4e-9


@dataclass(frozen=True, slots=True)
class Searches:
    """A graph made ready for `hop_counts`.

    Attributes
    ----------
    given
        The graph as it is given.
    length
        Of every arc, or of the steps that arcs have.
    marked
        Its arcs as bits, if there are so many that nobody lists them.
    listed
        Its arcs, if they are listed.
    order
        The vertices in the order in which they are searched from, if that matters.
    depth
        About how many levels there are.
    one_by_one
        Whether one search at a time is faster than 512.
    eliminated
        The graph without its vertices, if that is faster than either.
    in_steps
        Its arcs in steps, if some have several.
    """

    given: Edges | Matrix
    length: float
    marked: BitRows | None = None
    listed: Arcs | None = None
    order: NDArray[np.int32] | None = None
    depth: float = 1
    one_by_one: bool = False
    eliminated: Eliminated | None = None
    in_steps: SteppedArcs | None = None

    @classmethod
    def of(cls, given: Edges | Matrix, lengths: WholeLengths) -> Self:
        """Return a graph made ready whose edges have certain lengths."""
        length, longest = lengths
        if longest > 1:
            arcs, in_steps = stepped(given, length, longest)
            order, depth = in_order(arcs)
            depth *= float(in_steps.steps.mean())
            return cls(given, length, None, arcs, order, depth, in_steps=in_steps)
        marked = bit_rows(given)
        if marked is not None:
            return cls(given, length, marked)
        arcs = arcs_of(given)
        order, depth = in_order(arcs)
        n, m = given.n, arcs.ends.size
        together, one_by_one = (
            _seconds(n, m, 1, depth, np.dtype(np.int16)),
            _seconds_of_queues(n, m),
        )
        eliminated = None
        if depth >= _DEPTH_TO_ELIMINATE:
            eliminated = _eliminated(arcs, min(together, one_by_one))
        return cls(given, length, None, arcs, order, depth, one_by_one < together, eliminated)

    @property
    def arcs(self) -> Arcs:
        """Its arcs, which are listed now if they are not yet."""
        return arcs_of(self.given) if self.listed is None else self.listed

    @property
    def longest(self) -> int:
        """How many steps the longest of them may have."""
        return 1 if self.in_steps is None else self.in_steps.longest

    @property
    def batch(self) -> int:
        """How many searches, or columns of the answer, are one task."""
        if self.eliminated is not None:
            return ROW_BYTES // self.eliminated.out.itemsize
        if self.one_by_one or self.marked is not None:
            return _FEW
        n = self.given.n
        # As many in each, so that the last batch is not the only one that is short.
        return max(-(-n // max(-(-n // BITS), 1)), 1)

    @property
    def how(self) -> str:
        """How distances are found, for people."""
        if self.eliminated is not None:
            return "elimination of vertices"
        if self.in_steps is not None:
            return f"breadth-first searches along edges of up to {self.longest} steps"
        return f"breadth-first searches{' one by one' if self.one_by_one else ''}"

    def workers(self, dtype: np.dtype[Any]) -> int:
        """Return how many workers `hop_counts` takes: each task is for one."""
        return 1 if self.is_short(dtype) else workers_for(self.given.n, self.batch)

    def is_short(self, dtype: np.dtype[Any]) -> bool:
        """Return whether a team would take longer to start than it saves."""
        on_one = self._seconds_on_one(dtype)
        return self.given.n <= self.batch if on_one is None else on_one < 2 * _TEAM_SECONDS

    def is_brief(self, dtype: np.dtype[Any]) -> bool:
        """Return whether it ends too soon to be told of progress, or to be stopped."""
        return self.seconds(dtype) < _BRIEF_SECONDS

    def seconds(self, dtype: np.dtype[Any], *, next_hops: bool = False) -> float:
        """Estimate the time of `hop_counts`."""
        n = self.given.n
        m = self.marked.arcs if self.marked is not None else self.arcs.ends.size
        compared = n * m * _COMPARED_SECONDS / worker_count() if next_hops else 0.0
        on_one = self._seconds_on_one(dtype)
        if on_one is not None:
            is_short = self.is_short(dtype)
            return (on_one if is_short else _TEAM_SECONDS + on_one / worker_count()) + compared
        if self.one_by_one:
            return _seconds_of_queues(n, m) + compared
        return _seconds(n, m, self.longest, self.depth, dtype) + compared

    def _seconds_on_one(self, dtype: np.dtype[Any]) -> float | None:
        """Estimate the time on one core, without a team, where that is known; else None."""
        if self.eliminated is not None:
            return _seconds_of_sweeps(self.eliminated, dtype)
        return None if self.marked is None else _seconds_of_bits(self.given.n, self.marked.arcs)


def least_seconds(given: Edges | Matrix, longest: int, dtype: np.dtype[Any]) -> float:
    """Estimate the time to make a graph ready and answer, if no vertex is far from another.

    ``longest`` is how many steps the longest edge has.
    """
    n, m = given.n, given.edge_count
    ready = n * n * _ENTRY_SECONDS
    if longest > 1:
        ready = m * _STEPPED_SECONDS + (ready if isinstance(given, Matrix) else 0)
        return ready + _seconds(n, m, 1, 1, dtype)
    if isinstance(given, Edges):
        ready = min(m * _LISTED_SECONDS, ready + m * _MARKED_SECONDS)
    are_marked = MANY * m >= n * n
    return ready + (_seconds_of_bits(n, m) if are_marked else _seconds(n, m, 1, 1, dtype))


def _eliminated(arcs: Arcs, searched: float) -> Eliminated | None:
    """Return a graph without its vertices, if its sweeps take less time than its searches."""
    n = arcs.starts.size - 1
    lanes = ROW_BYTES // steps_dtype(n).itemsize
    if n < lanes:
        return None
    as_fast = searched * worker_count() / (-(-n // lanes) * _RELAXED_SECONDS)
    most = int(min(as_fast, n * _MOST_NEIGHBOURS))
    return eliminate(arcs, most, int(searched * _SHARE_TO_TRY / _STEP_SECONDS))


def _seconds_of_bits(n: int, m: int) -> float:
    """Estimate the time that searches over rows of bits take on one core."""
    rows = min(_ROWS_PER_SHARE * n * n / max(m, 1), n)
    return n * (_ROW_SECONDS + rows * -(-n // BITS) * _MASK_SECONDS)


def _seconds_of_sweeps(eliminated: Eliminated, dtype: np.dtype[Any]) -> float:
    """Estimate the time that sweeps take on one core, without a team."""
    n = eliminated.order.size
    strips = -(-n * eliminated.out.itemsize // ROW_BYTES)
    relaxed = strips * eliminated.later.size * _RELAXED_SECONDS
    return relaxed + n * n * dtype.itemsize * _SWEPT_BYTE_SECONDS


def _seconds_of_queues(n: int, m: int) -> float:
    return _TEAM_SECONDS + n * (n + m) * _QUEUED_SECONDS / worker_count()


def _seconds(n: int, m: int, longest: int, depth: float, dtype: np.dtype[Any]) -> float:
    levels = 1 + _LEVELS_PER_DEPTH * depth
    if longest == 1:
        # Then vertices found push along their arcs, and a vertex is found so often at most.
        levels = min(levels, BITS)
    doublings = math.log2(max((longest + 1) * n * BITS / 8 / _MASK_BYTES, 1))
    arcs = min(m, _MOST_PULLED * n) * (1 + doublings) * _ARC_SECONDS
    visits = -(-n // BITS) * levels * (n * _VERTEX_SECONDS + arcs)
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
    n, length, batch = searches.given.n, searches.length, searches.batch
    workers, in_steps, longest = searches.workers(dtype), searches.in_steps, searches.longest
    require_memory(
        n * n * (dtype.itemsize + 4 * next_hops) + workers * _bytes_per_worker(n, longest),
        f"graph: all distances between {n:,} vertices, and what finds them,",
    )
    dist = empty_matrix(n, dtype)
    step, no_path = dtype.type(length), outer_no_path(dtype)
    batches = -(-n // batch)
    deepest = np.zeros(workers, np.int64)
    state = new_state()
    marked, gone = searches.marked, searches.eliminated

    def work(worker: int) -> None:
        told = dist, step, no_path, batch, deepest, worker, state
        if marked is not None:
            search_bit_rows(marked.rows, *told)
        elif gone is not None:
            sweep_team(gone, inner_no_path(gone.out.dtype), *told)
        elif searches.one_by_one:
            search_one_by_one(searches.arcs, searches.order, *told)
        else:
            search_team(in_steps or (*searches.arcs, None), searches.order, *told)

    # Next hops take about as long as the searches.
    share = batches * (2 if next_hops else 1)
    tell = None if progress is None else lambda done: progress(done / share)
    if searches.is_brief(dtype):
        run_briefly(work, workers, state)
        if tell is not None and batches > 1:
            tell(batches)
    else:
        run_team(work, workers, state, tell)
    farthest = max(deepest.tolist()) * length
    if dtype.kind == "i" and farthest >= inner_no_path(dtype):
        raise DoesNotFitError(f"there is a distance of {farthest}")
    if not next_hops:
        return dist, None
    later = None if progress is None else lambda done: progress((1 + done) / 2)
    if in_steps is None:
        arcs = searches.arcs
        return dist, hops_from_levels(arcs.starts, arcs.ends, step, dist, later)
    steps = in_steps.steps_out
    lengths = (steps * length).astype(dtype)
    if dtype.kind == "i":
        # One that the dtype does not hold is on no shortest way.
        lengths[steps > int(no_path) // int(length)] = no_path
    return dist, hops_from_levels(in_steps.starts[::longest], in_steps.ends, lengths, dist, later)


def workers_for(n: int, batch: int = BITS) -> int:
    """Return how many workers `hop_counts` takes for n vertices: each batch is for one.

    Examples
    --------
    >>> workers_for(BITS)
    1
    """
    return max(1, min(worker_count(), -(-n // batch)))


def _bytes_per_worker(n: int, longest: int) -> int:
    """Return the memory that each worker takes: masks, digits of levels, and lists."""
    return n * ((2 + longest + PLANES) * BITS // 8 + 4 * (2 + longest))
