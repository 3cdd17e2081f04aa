"""The wrong rung of counting together: `count[0] += 1` from many threads.

Idea: each thread that finds its id adds one to the count. What reads as one step is three, a load,
an addition and a store, and between one thread's load and its store others load the same old count.

Fault: a data race. All threads of a warp load together, so of the 11 finds of a warp one survives;
when all warps move together, one of all. On a GPU the count differs from run to run, and with few
threads it may even come out right, which is how such a kernel passes its first test.

Mended by: `shared-flags` inside a block, `atomic-count` between blocks.

Source: IM unsynchronised increment

Question: At n = 96 three warps find 11, 11 and 10 ids. What is the count if one warp runs after the
other, and what if all move in lockstep?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import COMMON_IDS
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Rows

__all__ = ["WRONG", "count_by_races", "run"]


@cuda.jit
def count_by_races(row, other, count, n):
    """Lose count of the ids of ``row`` that are in ``other``."""
    i = cuda.grid(1)
    if i < n:
        found = False
        for k in range(n):
            if other[k] == row[i]:
                found = True
        if found:
            count[0] += 1


def run(device: Device, problem: Rows) -> NDArray[np.int32]:
    """Return what the race left of the count, in an array of one."""
    n = problem.row.size
    row, other = device.to_device(problem.row), device.to_device(problem.other)
    count = device.full(1, 0, np.int32)
    launch(device, count_by_races, blocks_for(n, THREADS), THREADS, row, other, count, n)
    return device.to_host(count)


WRONG = WrongRung(
    rung=Rung(
        name="racy-increment",
        title="Counting by an unsynchronised increment",
        source="IM unsynchronised increment",
        run=run,
        task=COMMON_IDS,
        bound=Bound("issue", "n^2 comparisons over the rate at which they are issued"),
        kernels=(count_by_races,),
    ),
    caught_by="racecheck",
    n=96,
    visible_under=("lockstep", "warps"),
)
