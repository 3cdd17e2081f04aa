"""The wrong rung of a thread for each id: `+= 1` from many threads.

Idea: to be rid of one of the two loops, a block takes a pair of rows and each of its threads one id
of the first row. Thread 0 clears the count, as the single thread of a block did in the step before,
and whoever finds its id adds one.

Fault: two data races at one place. `+= 1` is a load, an addition and a store; the threads of a warp
load together, so that of all that they find one addition survives. And nothing says that thread 0
clears the place before another warp adds to it. In lockstep each count ends as 1; warp by warp as
the number of warps that found something, or less where the warp of thread 0 is not the first. So it
differs from one order of the warps to the next, which on a GPU is from launch to launch: IM saw
right results for small data, and for 1,000 rows others every time.

IM measured 3.6 s for 1,000 rows and 14 s for 2,000; 58 s for 4,000 follow from its equation.

Mended by: `atomics` between blocks too, `shared-flags` inside a block.

Source: IM 2-D grid

Question: Two blocks compare rows i and j, one for the pair (i, j) and one for (j, i). Do they race
with each other?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.overlap_join.rungs._launching import count_pairs, rows_apart, threads_for
from warpladder.overlap_join.rungs._tasks import SHARED_IDS
from warpladder.overlap_join.rungs.unrolled import count_in
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["WRONG", "count_by_races", "run"]


@cuda.jit
def count_by_races(heap, at, room, shared):
    """Lose count of the ids of row ``blockIdx.y`` that are in row ``blockIdx.x``."""
    i, j, t = cuda.blockIdx.y, cuda.blockIdx.x, cuda.threadIdx.x
    if i != j and t < room:
        if t == 0:
            shared[i, j] = 0
        wanted = heap[at[i] + 1 + t]
        if wanted != 0 and count_in(heap, at[j] + 1, room, wanted):
            shared[i, j] += 1


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return what the races left of the counts."""
    n = len(problem.rows)
    layout = rows_apart(device, problem.rows)
    return count_pairs(device, count_by_races, n, (n, n), threads_for(layout.room), *layout)


WRONG = WrongRung(
    rung=Rung(
        name="id-per-thread",
        title="A thread for each id, counting by an unsynchronised increment",
        source="IM 2-D grid",
        run=run,
        task=SHARED_IDS,
        bound=Bound("issue", "n**2 pairs, each id with each, over the rate of comparisons"),
        kernels=(count_by_races,),
        limits="a grid has at most 65,535 blocks along y, and a row takes one",
        max_n=65535,
    ),
    caught_by="racecheck",
    n=5,
    visible_under=("lockstep", "warps", "warps-reverse", "warps-random"),
)
