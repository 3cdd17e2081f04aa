"""Next hops from distances that are counted steps.

A neighbour u of s is a next hop on the way to t where ``dist[u, t]`` is less than ``dist[s, t]`` by
the length of the arc from s to u. So the row of next hops from s takes a comparison of two rows of
distances for each arc from s, O(n m) in all, in vectors; for each part of a row it ends with the
neighbour that completes it. Of several next hops it takes that of the first arc: where all have the
same length, the neighbour with the least number. Every hop goes down, so following them ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

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
from warpladder.shortest_paths.dense import NO_HOP, outer_no_path

__all__ = ["hops_from_levels"]

# Of a row, so that its distances and hops stay in the first-level cache.
_PART = 1024
# Rows of a task: few, for their vertices may have many arcs.
_ROWS = 16
# Entries that one core goes through in the time that a team takes to start.
_BY_ONE = 1 << 18
# Entries that are compared in 0.2 s: nobody waits that long to be told of progress.
_BRIEFLY = 1 << 28


def hops_from_levels(
    starts: NDArray[np.int64],
    ends: NDArray[np.int32],
    lengths: NDArray[Any],
    dist: NDArray[Any],
    progress: Callable[[float], None] | None = None,
) -> NDArray[np.int32]:
    """Return the next hops of a graph whose distances are exact.

    Parameters
    ----------
    starts, ends
        Where the arcs of each vertex start, and their other ends.
    lengths
        Theirs, above zero, of the dtype of ``dist``: shape (m,), or a number for all of them.
    dist
        Distances, shape (n, n).
    progress
        Called with the fraction done; not for a few rows.

    Examples
    --------
    >>> chain = np.array([0, 1, 2, 2]), np.array([1, 2], "int32")
    >>> far = np.iinfo("int16").max
    >>> dist = np.array([[0, 1, 3], [far, 0, 2], [far, far, 0]], "int16")
    >>> hops_from_levels(*chain, np.array([1, 2], "int16"), dist).tolist()
    [[0, 1, 1], [-1, 1, 2], [-1, -1, 2]]
    """
    n = len(dist)
    lengths = np.broadcast_to(lengths, ends.shape).copy()
    hops = np.empty((n, n), np.int32)
    no_path = outer_no_path(dist.dtype)

    chunks = -(-n // _ROWS)
    state = new_state()

    def work(_worker: int = 0) -> None:
        while not is_aborted(state) and (chunk := next_task(state)) < chunks:
            first = chunk * _ROWS
            last = min(first + _ROWS, n)
            _hops_of_rows(starts, ends, lengths, dist, no_path, hops, first, last)
            report_progress(state, finish_task(state) + 1)

    if n * n <= _BY_ONE:
        work()
    elif n * ends.size <= _BRIEFLY:
        run_briefly(work, min(worker_count(), chunks), state)
        if progress is not None:
            progress(1)
    else:
        tell = None if progress is None else lambda done: progress(done / chunks)
        run_team(work, min(worker_count(), chunks), state, tell)
    return hops


@cached
@njit(nogil=True)
def _hops_of_rows(
    starts: Any, ends: Any, lengths: Any, dist: Any, no_path: Any, hops: Any, first: Any, last: Any
) -> None:
    n = dist.shape[0]
    for s in range(first, last):
        for low in range(0, n, _PART):
            own = dist[s, low : low + _PART]
            row = hops[s, low : low + _PART]
            missing = 0
            for t in range(own.size):
                row[t] = NO_HOP
                missing += own[t] != no_path
            if low <= s < low + _PART:
                row[s - low] = s
                missing -= 1
            for arc in range(starts[s], starts[s + 1]):
                if not missing:
                    break
                u = ends[arc]
                length = lengths[arc]
                near = dist[u, low : low + _PART]
                found = 0
                for t in range(own.size):
                    is_next = (
                        (row[t] == NO_HOP) & (own[t] != no_path) & (near[t] + length == own[t])
                    )
                    row[t] = u if is_next else row[t]
                    found += is_next
                missing -= found
