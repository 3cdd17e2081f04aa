"""What the CPU does for each graph of a batch, compiled: weights in, closed, distances out.

A graph of 32 vertices is closed in 7 us, and the interpreter does little in that time. So it only
deals out *chunks* of graphs to the cores, and for each of them makes three calls, whose loops over
graphs are compiled. A chunk is small enough for what one call wrote to be in the cache for the
next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from warpladder.device.environment import worker_count
from warpladder.device.kernel_cache import cached
from warpladder.device.team import (
    finish_task,
    is_aborted,
    new_state,
    next_task,
    report_progress,
    run_briefly,
    run_team,
)
from warpladder.shortest_paths.cpu_tiles.blocked import close_range
from warpladder.shortest_paths.dense import export_rows, import_rows, longest_in_rows
from warpladder.shortest_paths.paths import any_loop

__all__ = ["close_graphs", "deal", "export_graphs", "find_longest", "import_graphs", "workers_for"]

# Numbers in a chunk: small enough for most second-level caches. From 2^14 to 2^17 no difference
# could be measured.
_CHUNK_CELLS = 1 << 17
# Per worker, so that a slower core takes fewer.
_CHUNKS = 8
# Relaxations of a chunk: each takes the interpreter some 80 us, in which all others wait, so the
# share of a core is one if it lies between these. In as many chunks as there are for large ones 14
# cores of a Xeon took 15 ms for 200 graphs of 32 vertices, 19 for 1,000 of 64 and 15 for 100 of
# 128, two of them 2, 22 and 10. So they take 1, 5 and 4.
_LEAST_WORK, _MOST_WORK = 1 << 21, 1 << 23
# Up to so many relaxations this thread does its part, with threads that are kept.
_BRIEF_UP_TO = 1 << 30


def workers_for(graphs: int, n: int) -> int:
    """Return how many cores `deal` takes for so many graphs of n vertices.

    Examples
    --------
    >>> workers_for(7, 32)
    1
    """
    return max(1, min(worker_count(), -(-graphs // _graphs_in_chunk(graphs, n))))


def _graphs_in_chunk(graphs: int, n: int) -> int:
    if not graphs:
        return 1
    workers, work = worker_count(), max(n**3, 1)
    least = -(-min(max(graphs * work // workers, _LEAST_WORK), _MOST_WORK) // work)
    wanted = max(-(-graphs // (_CHUNKS * workers)), least)
    most = max(1, min(wanted, _CHUNK_CELLS // max(n * n, 1)))
    # All of one size: one that is left over would be waited for.
    return -(-graphs // -(-graphs // most))


def deal(
    task: Callable[[int, int], None],
    graphs: int,
    n: int,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Call ``task(first, last)`` for chunks that make up all graphs, on all cores.

    Parameters
    ----------
    task
        Takes graphs ``first`` to ``last``, in functions that release the interpreter lock.
    graphs
        How many there are.
    n
        Vertices in each.
    progress
        Called about ten times a second, from this thread, with the fraction done; at the end alone
        of what is brief, and not at all where one core does it.
    """
    workers, chunk = workers_for(graphs, n), _graphs_in_chunk(graphs, n)
    chunks = -(-graphs // chunk)
    state = new_state()

    def work(_worker: int = 0) -> None:
        while not is_aborted(state) and (number := next_task(state)) < chunks:
            task(number * chunk, min((number + 1) * chunk, graphs))
            report_progress(state, finish_task(state) + 1)

    if workers == 1:
        work()
    elif graphs * n**3 <= _BRIEF_UP_TO:
        run_briefly(work, workers, state)
        if progress is not None:
            progress(1)
    else:
        run_team(work, workers, state, None if progress is None else lambda k: progress(k / chunks))


@cached
@njit(nogil=True)
def import_graphs(
    source: Any,
    dist: Any,
    hops: Any,
    carry: Any,
    absent: Any,
    no_path: Any,
    ends: Any,
    first: Any,
    last: Any,
    lightest: Any,
    heaviest: Any,
    totals: Any,
) -> None:
    """Copy weights into the engine's form, as `dense.import_weights` does for one graph.

    Parameters
    ----------
    source, dist, hops
        Shape (b, n, n); ``hops`` may be empty and ``dist`` be ``source``.
    carry
        True for next hops, else None.
    absent, no_path
        What means "no edge" in ``source``, and what is to stand for it.
    ends
        The least and the greatest value of the dtype, infinities included.
    first, last
        Which graphs.
    lightest
        Receives the lightest edge of each graph, shape (b,), float64.
    heaviest
        Receives the heaviest, 0 if there is none above, of the dtype of ``dist``.
    totals
        Receives the sum over vertices of the heaviest edge that leaves each; NaN where a weight is.
    """
    n = dist.shape[1]
    largest = np.empty(n, dist.dtype)
    smallest = np.empty(n, dist.dtype)
    nan_columns = np.empty(n, np.int64)
    for graph in range(first, last):
        largest[:] = ends[0]
        smallest[:] = ends[1]
        nan_columns[:] = -1
        import_rows(
            source[graph], dist[graph], hops[graph], carry, absent, no_path, 0, n,
            largest, smallest, nan_columns,
        )  # fmt: skip
        least = float(ends[1])
        heaviest[graph] = 0
        total = 0.0
        for i in range(n):
            least = min(least, float(smallest[i]))
            heaviest[graph] = max(heaviest[graph], largest[i])
            total += max(float(largest[i]), 0.0)
            if nan_columns[i] >= 0:
                total = np.nan
        lightest[graph] = least
        totals[graph] = total


@cached
@njit(nogil=True)
def close_graphs(
    dist: Any, hops: Any, carry: Any, panel: Any, no_path: Any, plain: Any, first: Any, last: Any
) -> None:
    """Replace weights by distances in those graphs that are ``plain``."""
    for graph in range(first, last):
        if plain[graph]:
            close_range((dist[graph], hops[graph]), carry, 0, dist.shape[1], panel, no_path, False)


@cached
@njit(nogil=True)
def find_longest(
    dist: Any, no_path: Any, sought: Any, first: Any, last: Any, longest: Any, misses: Any
) -> None:
    """Find the longest distance in graphs that are ``sought``, and whether a pair has no path."""
    n = dist.shape[1]
    for graph in range(first, last):
        if sought[graph]:
            longest[graph], misses[graph] = longest_in_rows(dist[graph], no_path, 0, n)


@cached
@njit(nogil=True)
def export_graphs(
    dist: Any,
    hops: Any,
    carry: Any,
    integer: Any,
    no_path: Any,
    outer: Any,
    plain: Any,
    first: Any,
    last: Any,
) -> None:
    """Give "no path" its outer value; take graphs whose next hops lead in circles out of ``plain``.

    ``carry`` and ``integer`` are True or None.
    """
    for graph in range(first, last):
        if not plain[graph]:
            continue
        if integer is not None:
            export_rows(dist[graph], hops[graph], carry, no_path, outer, 0, dist.shape[1])
        if carry is not None and any_loop(hops[graph]):
            plain[graph] = False
