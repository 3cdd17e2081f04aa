"""All distances from an eliminated graph, compiled: two sweeps over its vertices.

`elimination` has taken all vertices out, one after another, and kept the neighbours that each had
then. On a way from u to v let w be the first vertex that was taken out later than u. Then it is
``out`` steps from u to w, and from there on it is a way from w. If there is no such w the whole way
is among vertices taken out before u, and with the latest of those after u it is again ``back``
steps there and a way from there. So with all distances but those from a vertex to itself unknown at
first

* a sweep through the order brings the distances from w down to ``back`` plus those from v, for each
  neighbour w that v had: all ways among vertices taken out no later than w;
* a sweep the other way brings the distances from v down to ``out`` plus those from w, which are
  final: all ways.

Distances to different vertices do not depend on each other. A worker takes a strip of columns of
the answer and sweeps through all rows in it; the first sweep leaves out rows that have nothing yet,
which are most, and in the second a row is written as soon as it is final.

Work: a relaxation of a row of a strip for each neighbour, and another in the second sweep. Traffic:
``n^2`` numbers, each written once; a strip itself, ``256 n`` bytes, stays in the caches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from warpladder.device.kernel_cache import cached
from warpladder.device.team import finish_task, is_aborted, next_task, report_progress
from warpladder.shortest_paths.sparse.strips import (
    expect_row,
    relax_from,
    relax_from_all,
    write_row,
)

__all__ = ["sweep_team"]

# Rows of a strip lie pages apart in the answer, where no hardware foresees them. On one core of an
# EPYC with AVX-512, ms for a path of 4,000 vertices, power grid, grid of 70 by 70: 4.6, 10.1, 19.3
# without; 3.6, 7.3, 16.1 with 4 rows ahead; 3.5, 7.2, 17.1 with 8; 3.3, 9.0, 17.9 with 16.
_AHEAD = 8


@cached
@njit(nogil=True)
def sweep_team(
    eliminated: Any, none: Any, dist: Any, step: Any, no_path: Any, lanes: Any, deepest: Any,
    worker: Any, state: Any,
) -> None:  # fmt: skip
    """Find the distances to all vertices, as one worker of a team.

    Parameters
    ----------
    eliminated
        An `elimination.Eliminated`.
    none
        What there stands for no way, of the dtype of its steps.
    dist
        Receives the distances, shape (n, n), C-contiguous.
    step, no_path
        Length of an arc, and what stands where there is no path, of the dtype of ``dist``.
    lanes
        Columns of a strip: as many as of these numbers go into `strips.ROW_BYTES`, and no more than
        there are vertices.
    deepest
        Receives at ``worker`` how many steps the farthest vertex is away, int64.
    """
    order, places, starts, later, out, back = eliminated
    n = dist.shape[0]
    # The last row is no vertex's but has what is farthest.
    strip = np.empty((n + 1, lanes), out.dtype)
    strip[n] = 0
    is_reached = np.empty(n, np.bool_)
    strips = (n + lanes - 1) // lanes
    number = next_task(state)
    while number < strips and not is_aborted(state):
        # The last two overlap: both write the same.
        low = min(number * lanes, n - lanes)
        strip[:n] = none
        is_reached[:] = False
        for lane in range(lanes):
            strip[places[low + lane], lane] = 0
            is_reached[places[low + lane]] = True
        for place in range(n):
            if is_reached[place]:
                for arc in range(starts[place], starts[place + 1]):
                    if back[arc] < none:
                        relax_from(strip, place, back[arc], later[arc])
                        is_reached[later[arc]] = True
        for place in range(n - 1, -1, -1):
            relax_from_all(strip, later, out, starts[place], starts[place + 1], place)
            if place >= _AHEAD:
                expect_row(strip, dist, order[place - _AHEAD], low)
            write_row(strip, place, n, none, dist, order[place], low, step, no_path)
        report_progress(state, finish_task(state) + 1)
        number = next_task(state)
    deepest[worker] = strip[n].max()
