"""The wrong rung of shared flags: thread 0 adds them up without waiting for the others.

Idea: as in `shared-flags`, each thread notes in shared memory whether the other row has its id, and
thread 0 adds the flags up. The flags are cleared before, with a barrier; the one before the sum is
left out.

Fault: thread 0 waits for nobody. What its own warp has found it mostly sees, as a GPU keeps a warp
together where it can. With 36 ids to a row the second warp has the last four. If thread 0 adds
before they are done they count as not found; if the second warp happens to come first, the count is
right. In lockstep it always is, and for rows of up to 32 ids, which have one warp: a test with
short rows passes.

Mended by: `shared-flags`.

Source: IM shared flags

Question: With 36 ids to a row, by how much can a count be too small at the most if the first warp
runs first, and by how much with 1,000?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, int32

from warpladder.overlap_join.rungs._launching import (
    MAX_THREADS,
    count_pairs,
    rows_apart,
    threads_for,
)
from warpladder.overlap_join.rungs._tasks import SHARED_IDS
from warpladder.overlap_join.rungs.shared_flags import added_up
from warpladder.overlap_join.rungs.unrolled import count_in
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["WRONG", "add_up_too_early", "run"]


@cuda.jit
def add_up_too_early(heap, at, room, shared):
    """Count the ids that those warps have found that happen to be done."""
    flags = cuda.shared.array(MAX_THREADS, int32)
    i, j, t = cuda.blockIdx.y, cuda.blockIdx.x, cuda.threadIdx.x
    if i >= j:
        return
    flags[t] = 0
    cuda.syncthreads()
    if t < room:
        wanted = heap[at[i] + 1 + t]
        if wanted != 0:
            flags[t] = count_in(heap, at[j] + 1, room, wanted)
    if t == 0:
        count = added_up(flags)
        shared[i, j] = count
        shared[j, i] = count


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return the counts of the flags that thread 0 saw."""
    n = len(problem.rows)
    layout = rows_apart(device, problem.rows)
    return count_pairs(device, add_up_too_early, n, (n, n), threads_for(layout.room), *layout)


WRONG = WrongRung(
    rung=Rung(
        name="sum-without-barrier",
        title="Flags added up without the barrier",
        source="IM shared flags",
        run=run,
        task=SHARED_IDS,
        bound=Bound("issue", "n**2 / 2 pairs, each id with each, then the flags one by one"),
        kernels=(add_up_too_early,),
        limits="a grid has at most 65,535 blocks along y, and a row takes one",
        max_n=65535,
    ),
    caught_by="racecheck",
    n=5,
    visible_under=("warps", "warps-random"),
)
