"""The wrong rung of the flag barrier: flags that are set and cleared again.

Idea: as in `flag-barrier`, one launch does all steps. At the start of a step a block clears its
flag; at the end its first thread sets it and waits until the sum of all flags is their number.

Fault: three. The block that is first to see all flags set goes on and clears its own; a block that
looks only then never sees the sum complete, and waits for ever: it cannot set its own flag again,
and the other will not come back before it has. Or a block that finds the flags of the *previous*
meeting still set passes too early and reads rows that are not finished. And flags and distances are
plain loads and stores, without fences: a compiler may read a flag once and wait on a register, and
a block may see the flag before the distances. All threads of a block clear its flag, moreover, with
nothing to keep a slow warp from clearing what the first thread has set. In
lockstep all goes well; warp by warp it never ends, or passes early and is wrong.

Mended by: `flag-barrier`.

Source: CF D

Question: Suppose that flags were epochs that only grow, but still plain loads and stores. Which of
the three faults would be left?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.rung import Bound, Rung, WrongRung
from warpladder.shortest_paths.rungs._launching import THREADS, resident_together
from warpladder.shortest_paths.rungs._tasks import DISTANCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["WRONG", "close_with_cleared_flags", "run"]


@cuda.jit
def close_with_cleared_flags(dist, n, flags):
    """Take all steps, with a barrier between them that sometimes holds."""
    for k in range(n):
        flags[cuda.blockIdx.x] = 0
        for cell in range(cuda.grid(1), n * n, cuda.gridsize(1)):
            i = cell // n
            j = cell - i * n
            through = dist[i, k] + dist[k, j]
            known = dist[i, j]
            if through < known:
                dist[i, j] = through
        if cuda.threadIdx.x == 0:
            flags[cuda.blockIdx.x] = 1
            there = 0
            while there != cuda.gridDim.x:
                there = 0
                for block in range(cuda.gridDim.x):
                    there += flags[block]
        cuda.syncthreads()


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return what becomes of the distances, if it ends."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    blocks = min(resident_together(device), blocks_for(n * n, THREADS))
    if blocks:
        flags = device.full(blocks, 0, np.int32)
        device.launch(close_with_cleared_flags, blocks, THREADS, dist, n, flags)
    return device.to_host(dist)


WRONG = WrongRung(
    rung=Rung(
        name="cleared-flags",
        title="A grid barrier whose flags are cleared for the next step",
        source="CF D",
        run=run,
        task=DISTANCES,
        bound=Bound("latency", "n meetings of all blocks"),
        kernels=(close_with_cleared_flags,),
    ),
    caught_by="racecheck",
    n=33,
    visible_under=("warps", "warps-reverse"),
)
