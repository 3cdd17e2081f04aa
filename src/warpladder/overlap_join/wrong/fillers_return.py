"""The wrong rung of part-filled blocks: threads without an id return before the barrier.

Idea: as in `shared-flags`, a thread for each id, flags, a barrier, and thread 0 adds. A row with
fewer ids than the longest is filled up with zeros, and a thread that has one of them has nothing to
look for: it notes that it has found nothing, and leaves.

Fault: a barrier is for all threads of a block, and CUDA allows it in conditional code only where
all of them come to the same decision. With 36 ids to a row 28 of the 64 threads have left before
it. GPUs of today count threads that have exited as arrived, so that it works as often as it is
tried, until a compiler moves something. And where the row is empty thread 0 has left, too: the
count is never written, and right only because the host has written zeros.

Mended by: `shared-flags`, in which threads without an id wait with the others.

Source: IM shared flags

Question: How many threads return before the barrier if every row has 1,000 ids, and for which
lengths of rows does none?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, int32

from warpladder.overlap_join.rungs._launching import (
    MAX_THREADS,
    count_pairs,
    flat_rows,
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

__all__ = ["WRONG", "count_or_leave", "run"]


@cuda.jit
def count_or_leave(ids, width, room, shared):
    """Look for one id of row ``blockIdx.y`` in row ``blockIdx.x``; leave where there is none."""
    flags = cuda.shared.array(MAX_THREADS, int32)
    i, j, t = cuda.blockIdx.y, cuda.blockIdx.x, cuda.threadIdx.x
    if i >= j:
        return
    flags[t] = 0
    wanted = ids[i * width + t]
    if wanted == 0:
        return
    flags[t] = count_in(ids, j * width, room, wanted)
    cuda.syncthreads()
    if t == 0:
        count = added_up(flags)
        shared[i, j] = count
        shared[j, i] = count


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return the counts, where the barrier forgives."""
    n = len(problem.rows)
    layout = flat_rows(device, problem.rows)
    return count_pairs(device, count_or_leave, n, (n, n), threads_for(layout.width), *layout)


WRONG = WrongRung(
    rung=Rung(
        name="fillers-return",
        title="Threads without an id return before the barrier",
        source="IM shared flags",
        run=run,
        task=SHARED_IDS,
        bound=Bound("issue", "n**2 / 2 pairs, each id with each, then the flags one by one"),
        kernels=(count_or_leave,),
        limits="a grid has at most 65,535 blocks along y, and a row takes one",
        max_n=65535,
    ),
    caught_by="synccheck",
    n=5,
)
