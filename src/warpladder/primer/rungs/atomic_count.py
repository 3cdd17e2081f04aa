"""Counting together, mended for any grid: an atomic addition.

Idea: `cuda.atomic.add` loads, adds and stores as one step that no other thread can come between.
It needs neither flags nor a barrier, and it works between blocks, where there are no barriers.

Below: flags in shared memory count inside one block of at most 1024 threads. For more than that,
the blocks' counts have to meet in global memory.

Expect: an address takes one addition at a time, so threads of a warp that meet there take turns.
That is how the source reads, and what the simulator counts. At n = 96 every third id is found,
those at places 0, 3, ..., 93. The three warps have 11, 11 and 10 of them, so 3 atomic requests with
32 threads take 32 passes, 32 / 3 each. The warps of the block behind the data take no part. No
shared memory, no barrier.

A compiler may do better. Here all threads add 1 at the same address and ask for nothing back. So
for compute capability 9.0 a warp counts its finds by a vote and a count of bits, and one thread
adds them all: VOTEU, POPC, and one REDG for a warp (`warpladder sass --full` shows them). Where the
addresses come from data, as in a histogram, threads that meet do take turns.

Source: IM atomics

Question: At n = 200 every third id is found again, from the first one on. How many atomic requests
are there, and how many passes do they take? Try `warpladder explain primer/atomic-count --n 200`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import COMMON_IDS
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Rows

__all__ = ["RUNG", "count_by_atomics", "run"]


@cuda.jit
def count_by_atomics(row, other, count, n):
    """Count the ids of ``row`` that are in ``other``."""
    i = cuda.grid(1)
    if i < n:
        found = False
        for k in range(n):
            if other[k] == row[i]:
                found = True
        if found:
            cuda.atomic.add(count, 0, 1)


def run(device: Device, problem: Rows) -> NDArray[np.int32]:
    """Return the number of ids in common, in an array of one."""
    n = problem.row.size
    row, other = device.to_device(problem.row), device.to_device(problem.other)
    count = device.full(1, 0, np.int32)
    launch(device, count_by_atomics, blocks_for(n, THREADS), THREADS, row, other, count, n)
    return device.to_host(count)


RUNG = Rung(
    name="atomic-count",
    title="Counting by atomic additions",
    source="IM atomics",
    run=run,
    task=COMMON_IDS,
    bound=Bound("issue", "n^2 comparisons over the rate at which they are issued"),
    kernels=(count_by_atomics,),
    predicts=(
        Prediction("atomic_requests", "==", 3, 96, "each of 3 warps has finds, and adds them once"),
        Prediction("atomic_threads", "==", 32, 96, "every third of 96 ids is found"),
        Prediction(
            "atomic_passes", "==", 32, 96, "11, 11 and 10 threads of a warp meet at one address"
        ),
        Prediction(
            "atomic_serialisation",
            "==",
            Ratio(32, 3),
            96,
            "32 passes of 3 requests",
            tolerance=1e-9,
        ),
        Prediction("barriers", "==", 0, 96, "nobody waits for a block"),
    ),
)
