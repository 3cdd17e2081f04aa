"""Arcs in compressed rows, out of each vertex and into it.

Loops, and of parallel arcs all but the lightest, are left out. Arcs are sorted by counting, once by
each end: O(n + m); many of them are marked in matrices, and listed from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.crew import in_background
from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.forms import Edges, Matrix
from warpladder.shortest_paths.no_edge import is_absent

__all__ = [
    "MANY",
    "Arcs",
    "SteppedArcs",
    "arcs_of",
    "has_many",
    "marked",
    "present_rows",
    "stepped",
    "weighted_arcs_of",
]

#: The first ends of edges, and the second.
Ends = tuple[NDArray[Any], NDArray[Any]]

# Entries of a matrix that are looked at together, so that what is made of them stays in the cache.
_ENTRIES = 1 << 18

MANY = 16
"""Where there is at least one edge for so many pairs, they are marked in a matrix of bytes for each
direction, which takes less time than to sort them, and at most a little more memory."""


class Arcs(NamedTuple):
    """Arcs by the vertex that they leave, and by the vertex that they enter.

    Attributes
    ----------
    starts, into_starts
        Where the arcs of each vertex start, shape (n + 1,), int64.
    ends, into
        Their other ends, shape (m,), int32; one and the same array where edges have no direction.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int32]
    into_starts: NDArray[np.int64]
    into: NDArray[np.int32]


class SteppedArcs(NamedTuple):
    """Arcs that are some whole steps long, by the vertex that they leave, and by that they enter.

    Attributes
    ----------
    starts
        Where those of each vertex and length start, the short ones first, shape (n * k + 1,) where
        the longest has k steps, int64.
    into_starts
        Where those into each vertex start, shape (n + 1,), int64.
    ends, into
        Their other ends, shape (m,), int32.
    steps
        How many steps those of ``into`` have, uint8.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int32]
    into_starts: NDArray[np.int64]
    into: NDArray[np.int32]
    steps: NDArray[np.uint8]

    @property
    def longest(self) -> int:
        """How many steps the longest arc may have."""
        return (self.starts.size - 1) // max(self.into_starts.size - 1, 1)

    @property
    def steps_out(self) -> NDArray[np.int64]:
        """How many steps those of ``ends`` have."""
        counts = np.diff(self.starts)
        return np.repeat(np.arange(counts.size) % max(self.longest, 1) + 1, counts)


def arcs_of(given: Edges | Matrix) -> Arcs:
    """Return the arcs of a graph, whatever they weigh.

    Examples
    --------
    >>> graph = Edges(3, np.array([0, 0, 1]), np.array([1, 1, 1]), None, directed=True)
    >>> arcs_of(graph).starts.tolist(), arcs_of(graph).ends.tolist()
    ([0, 1, 1, 1], [1])
    """
    n = given.n
    if isinstance(given, Matrix):
        starts, ends = _of_matrix(given)
        return Arcs(starts, ends, *_by_first(*_flat(starts, ends), n))
    if has_many(given):
        return _of_many(given)
    sources, targets = given.sources, given.targets
    if given.weights is not None:
        kept = given.weights != np.inf
        sources, targets = sources[kept], targets[kept]
    if not given.directed:
        both = _sorted(sources, targets, False, n)
        return Arcs(*both, *both)
    return Arcs(*_sorted_both_ways(sources, targets, n))


def weighted_arcs_of(given: Edges, dtype: np.dtype[Any]) -> tuple[Arcs, NDArray[Any]]:
    """Return the arcs of a graph, and their weights in a dtype that holds them.

    Examples
    --------
    >>> graph = Edges(2, np.array([0, 0]), np.array([1, 1]), np.array([3, 2]), directed=True)
    >>> arcs, weights = weighted_arcs_of(graph, np.dtype("int32"))
    >>> arcs.ends.tolist(), weights.tolist()
    ([1], [2])
    """
    n = given.n
    kept = given.sources != given.targets
    if given.weights is not None:
        kept &= given.weights != np.inf
    sources, targets = (side[kept].astype(np.int32) for side in (given.sources, given.targets))
    listed = np.ones(sources.size, dtype)
    if given.weights is not None:
        listed = given.weights[kept].astype(dtype)
    if not given.directed:
        sources, targets = np.r_[sources, targets], np.r_[targets, sources]
        listed = np.r_[listed, listed]
    _, by_target = _by_first(targets, np.arange(targets.size, dtype=np.int32), n)
    starts, by_both = _by_first(sources[by_target], by_target, n)
    starts, ends, weights = _keep_lightest(starts, targets[by_both], listed[by_both])
    into_starts, into = _by_first(*_flat(starts, ends), n)
    return Arcs(starts, ends, into_starts, into), weights


def stepped(given: Edges | Matrix, step: float, longest: int) -> tuple[Arcs, SteppedArcs]:
    """Return the arcs of a graph, whatever they weigh, and in steps.

    Parameters
    ----------
    given
        The graph.
    step, longest
        The length of a step, and how many the longest edge has.

    Examples
    --------
    >>> graph = Edges(2, np.array([0, 1]), np.array([1, 0]), np.array([6, 2]), directed=True)
    >>> arcs = stepped(graph, 2, 3)[1]
    >>> arcs.starts.tolist(), arcs.ends.tolist(), arcs.steps.tolist()
    ([0, 0, 0, 1, 2, 2, 2], [1, 0], [1, 3])
    """
    if isinstance(given, Matrix):
        sources, targets = np.nonzero(given.present)
        given = Edges(given.n, sources, targets, given.weights[sources, targets], directed=True)
    assert given.weights is not None  # noqa: S101 - else there are no lengths
    kept = (given.sources != given.targets) & (given.weights != np.inf)
    sources, targets = given.sources[kept], given.targets[kept]
    counted = Edges(given.n, sources, targets, given.weights[kept] // step, given.directed)
    arcs, steps = weighted_arcs_of(counted, np.dtype(np.int32))
    _, sources = _flat(arcs.starts, arcs.ends)
    starts, ends = _by_first(
        sources * np.int64(longest) + (steps - 1), arcs.ends, longest * given.n
    )
    _, steps_into = _by_first(arcs.ends, steps, given.n)
    into = arcs.into_starts, arcs.into, steps_into.astype(np.uint8)
    return arcs, SteppedArcs(starts, ends, *into)


def has_many(given: Edges) -> bool:
    """Return whether there is an edge for every few pairs of vertices."""
    return MANY * given.edge_count >= given.n**2


def marked(given: Edges, *, turned: bool = False) -> NDArray[np.bool_]:
    """Return where there are arcs, loops aside, as a matrix; or with all of them ``turned``."""
    sources, targets = given.sources, given.targets
    if given.weights is not None:
        kept = given.weights != np.inf
        sources, targets = sources[kept], targets[kept]
    if turned:
        sources, targets = targets, sources
    present = np.zeros((given.n, given.n), np.bool_)
    _mark(present, sources, targets)
    if not given.directed:
        _mark(present, targets, sources)
    np.fill_diagonal(present, False)
    return present


def _of_many(given: Edges) -> Arcs:
    """Return the arcs of a graph that has many, those into vertices by a thread of their own."""
    if not given.directed:
        both = _listed(marked(given))
        return Arcs(*both, *both)
    into = in_background(lambda: _listed(marked(given, turned=True)))
    return Arcs(*_listed(marked(given)), *into.result())


def _listed(present: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where each vertex's arcs start, and their ends."""
    starts, ends = _columns_of_rows(present, np.count_nonzero(present))
    return starts, ends


@cached
@njit(nogil=True)
def _mark(present: Any, sources: Any, targets: Any) -> None:
    for edge in range(sources.size):
        present[sources[edge], targets[edge]] = True


@cached
@njit(nogil=True)
def _columns_of_rows(present: Any, most: Any) -> Any:
    """Return where the columns of each row start, and the columns of what is set."""
    starts = np.zeros(present.shape[0] + 1, np.int64)
    columns = np.empty(most + 1, np.int32)
    place = 0
    for i in range(present.shape[0]):
        row = present[i]
        # Without a branch for each entry.
        for j in range(row.size):
            columns[place] = j
            place += row[j]
        starts[i + 1] = place
    return starts, columns[:place].copy()


def present_rows(given: Matrix) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Give where a matrix has arcs, loops aside: some rows at a time, and the first's number."""
    n = given.n
    step = max(1, _ENTRIES // max(n, 1))
    for first in range(0, n, step):
        present = ~is_absent(given.weights[first : first + step], given.no_edge)
        rows = np.arange(len(present))
        present[rows, rows + first] = False
        yield first, present


def _of_matrix(given: Matrix) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return where the arcs of each vertex start, and their ends."""
    starts = np.zeros(given.n + 1, np.int64)
    ends = [np.empty(0, np.int32)]
    for first, present in present_rows(given):
        bounds, columns = _listed(present)
        starts[first + 1 : first + len(present) + 1] = np.diff(bounds)
        ends.append(columns)
    return np.cumsum(starts), np.concatenate(ends)


@cached
@njit(nogil=True)
def _by_first(first: Any, second: Any, n: Any) -> Any:
    """Sort pairs by their first member; return where each starts, and the second members."""
    starts = np.zeros(n + 1, np.int64)
    for pair in range(first.size):
        starts[first[pair] + 1] += 1
    for vertex in range(n):
        starts[vertex + 1] += starts[vertex]
    place = starts.copy()
    others = np.empty(first.size, np.int32)
    for pair in range(first.size):
        vertex = first[pair]
        others[place[vertex]] = second[pair]
        place[vertex] += 1
    return starts, others


@cached
@njit(nogil=True)
def _flat(starts: Any, others: Any) -> Any:
    """Return compressed rows as pairs: the others, and whose they are."""
    owners = np.empty(others.size, np.int32)
    for vertex in range(starts.size - 1):
        owners[starts[vertex] : starts[vertex + 1]] = vertex
    return others, owners


@cached
@njit(nogil=True)
def _drop_parallel(starts: Any, ends: Any) -> Any:
    """Return sorted rows without what is twice in them."""
    kept = np.zeros_like(starts)
    count = 0
    for vertex in range(starts.size - 1):
        last = -1
        for arc in range(starts[vertex], starts[vertex + 1]):
            if ends[arc] != last:
                last = ends[arc]
                ends[count] = last
                count += 1
        kept[vertex + 1] = count
    return kept, ends[:count].copy()


@cached
@njit(nogil=True)
def _sorted(sources: Any, targets: Any, directed: Any, n: Any) -> Any:
    """Return arcs, or edges as arcs both ways, in compressed sorted rows."""
    most = sources.size if directed else 2 * sources.size
    first, second = np.empty(most, np.int32), np.empty(most, np.int32)
    count = 0
    for edge in range(sources.size):
        if sources[edge] != targets[edge]:
            first[count], second[count] = sources[edge], targets[edge]
            count += 1
            if not directed:
                first[count], second[count] = targets[edge], sources[edge]
                count += 1
    target_starts, by_target = _by_first(second[:count], first[:count], n)
    first, second = _flat(target_starts, by_target)
    starts, ends = _by_first(first, second, n)
    return _drop_parallel(starts, ends)


@cached
@njit(nogil=True)
def _sorted_both_ways(sources: Any, targets: Any, n: Any) -> Any:
    """Return arcs in compressed sorted rows, and the same by the vertices that they enter."""
    starts, ends = _sorted(sources, targets, True, n)
    others, owners = _flat(starts, ends)
    into_starts, into = _by_first(others, owners, n)
    return starts, ends, into_starts, into


@cached
@njit(nogil=True)
def _keep_lightest(starts: Any, ends: Any, weights: Any) -> Any:
    """Return sorted rows with the lightest of what is in them several times."""
    kept = np.zeros_like(starts)
    count = 0
    for vertex in range(starts.size - 1):
        last = -1
        for arc in range(starts[vertex], starts[vertex + 1]):
            if ends[arc] != last:
                last = ends[arc]
                ends[count] = last
                weights[count] = weights[arc]
                count += 1
            else:
                weights[count - 1] = min(weights[count - 1], weights[arc])
        kept[vertex + 1] = count
    return kept, ends[:count].copy(), weights[:count].copy()
