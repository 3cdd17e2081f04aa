"""The wrong rung of shared flags: thread 0 adds them up without waiting for the others.

Idea: as in `shared-flags`, every thread notes in shared memory whether its id was found, and thread
0 adds the flags. The flags are cleared first, with a barrier; the barrier before the addition is
left out.

Fault: the threads of thread 0's warp are mostly with it, the other warps need not be. At n = 96
thread 0 adds the 11 finds of its own warp and, if it comes early, 0 for the 21 of the other two
warps. If it comes late, the sum is right: in lockstep, and on a GPU as often as the other warps
happen to be first. A test that passes proves nothing here; a race check finds it in one run.

Mended by: `shared-flags`.

Source: IM shared flags

Question: Let the warps run in reverse order, the one of thread 0 last. What is the count then, and
what does that say of a test that passes?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda, int32

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import launch
from warpladder.primer.tasks import COMMON_IDS
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Rows

__all__ = ["WRONG", "count_too_early", "run"]

MAX_THREADS = 1024


@cuda.jit
def count_too_early(row, other, count, n):
    """Add up the flags of those warps that happen to be done."""
    flags = cuda.shared.array(MAX_THREADS, int32)
    t = cuda.threadIdx.x
    flags[t] = 0
    cuda.syncthreads()
    if t < n:
        for k in range(n):
            if other[k] == row[t]:
                flags[t] = 1
    if t == 0:
        total = 0
        for k in range(cuda.blockDim.x):
            total += flags[k]
        count[0] = total


def run(device: Device, problem: Rows) -> NDArray[np.int32]:
    """Return the count of the flags that thread 0 saw, in an array of one."""
    n = problem.row.size
    row, other = device.to_device(problem.row), device.to_device(problem.other)
    count = device.full(1, 0, np.int32)
    launch(device, count_too_early, 1, 32 * blocks_for(n, 32), row, other, count, n)
    return device.to_host(count)


WRONG = WrongRung(
    rung=Rung(
        name="flags-without-barrier",
        title="Counting by flags, without the barrier",
        source="IM shared flags",
        run=run,
        task=COMMON_IDS,
        bound=Bound("latency", "one block compares, and one thread adds n flags"),
        kernels=(count_too_early,),
        limits="n is at most 1024: the flags of one block are not seen by another",
        max_n=MAX_THREADS,
    ),
    caught_by="racecheck",
    n=96,
    visible_under=("warps",),
)
