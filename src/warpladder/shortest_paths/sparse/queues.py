"""Breadth-first searches one at a time, compiled: for graphs that are long and thin.

Searches that go together by `levels` visit a vertex on every level on which one of them finds it.
On a path these are as many as there are searches, and nothing is gained by masks of 512 bits. A
search by itself visits each vertex and each arc once, in the order of a queue; the row of the
answer tells which vertices have been found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.team import finish_task, is_aborted, next_task, report_progress

__all__ = ["search_one_by_one"]


@cached
@njit(nogil=True)
def search_one_by_one(
    arcs: Any, order: Any, dist: Any, step: Any, no_path: Any, batch: Any, deepest: Any,
    worker: Any, state: Any,
) -> None:  # fmt: skip
    """Do what `levels.search_team` does, whose parameters these are."""
    starts, ends, _, _ = arcs
    n = dist.shape[0]
    batches = (n + batch - 1) // batch
    queue = np.empty(n, np.int32)
    number = next_task(state)
    while number < batches and not is_aborted(state):
        for s in order[number * batch : (number + 1) * batch]:
            row = dist[s]
            row[:] = no_path
            row[s] = 0
            queue[0] = s
            head, stop, tail = 0, 1, 1
            level = 0
            while head < stop:
                level += 1
                length = level * step
                if length >= no_path:
                    # An integer that does not fit; it could be taken for "no path" in the row.
                    break
                while head < stop:
                    u = queue[head]
                    head += 1
                    for arc in range(starts[u], starts[u + 1]):
                        v = ends[arc]
                        if row[v] == no_path:
                            row[v] = length
                            queue[tail] = v
                            tail += 1
                stop = tail
            deepest[worker] = max(deepest[worker], level - 1 if head == stop else level)
        report_progress(state, finish_task(state) + 1)
        number = next_task(state)
