"""A flag for each id in shared memory, a barrier, and one thread that adds.

Idea: each thread notes in shared memory whether the other row has its id. Each writes to a place of
its own, so none can undo what another one did. After a barrier all flags are there; thread 0 adds
them up and writes the count.

Below: threads that had found their ids queued at two places of global memory.

Expect: no atomics; two writes for a pair, not two for every id in common. At n = 2 the block has 2
warps: 2 requests write flags, 2 warps pass the barrier, and then one thread reads 64 flags, one by
one, while 63 wait. With 1,000 ids to a row it reads 1,024: beside the 1,000 comparisons that each
thread has done before, a second loop of the same length.

IM measured the same as with atomics, 1.5 s for 1,000 rows and 24 s for 4,000, and with flat rows
0.66 s where atomics took 0.87 s. A compiler for newer GPUs may add once for a warp, as
`warpladder explain primer/atomic-count` tells, and then flags may well lose.

Found: on an NVIDIA H200 (2026-11-23), with 1000 rows, flags take 107 ms and `atomics` 92.6 ms: a
warp's additions go out as one today, while thread 0 still adds up the flags alone.

Source: IM shared flags

Question: Thread 0 adds 1,024 flags one by one. In how many steps would the tree of
`reduction/sequential-shared` add them?
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
from warpladder.overlap_join.rungs.unrolled import count_in
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["RUNG", "added_up", "count_by_flags", "run"]


@cuda.jit(device=True)
def added_up(flags):
    """Return the sum of a flag for each thread of the block."""
    total = 0
    for t in range(cuda.blockDim.x):
        total += flags[t]
    return total


@cuda.jit
def count_by_flags(heap, at, room, shared):
    """Look for one id of row ``blockIdx.y`` in row ``blockIdx.x``."""
    flags = cuda.shared.array(MAX_THREADS, int32)
    i, j, t = cuda.blockIdx.y, cuda.blockIdx.x, cuda.threadIdx.x
    # The whole block returns, so that nobody is left to wait at the barrier.
    if i >= j:
        return
    flags[t] = 0
    if t < room:
        wanted = heap[at[i] + 1 + t]
        if wanted != 0:
            flags[t] = count_in(heap, at[j] + 1, room, wanted)
    cuda.syncthreads()
    if t == 0:
        count = added_up(flags)
        shared[i, j] = count
        shared[j, i] = count


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return how many ids each two rows share."""
    n = len(problem.rows)
    layout = rows_apart(device, problem.rows)
    threads = threads_for(layout.room)
    return count_pairs(device, count_by_flags, n, (n, n), threads, *layout)


RUNG = Rung(
    name="shared-flags",
    title="Flags in shared memory, a barrier, and thread 0 adds",
    source="IM shared flags",
    run=run,
    task=SHARED_IDS,
    bound=Bound("issue", "n**2 / 2 pairs, each id with each, then the flags one by one"),
    kernels=(count_by_flags,),
    predicts=(
        Prediction("atomic_requests", "==", 0, 2, "no two threads write to one place"),
        Prediction("barriers", "==", 2, 2, "2 warps pass one barrier"),
        Prediction("shared_load_requests", "==", 64, 2, "thread 0 reads a flag of each thread"),
        Prediction("global_store_requests", "==", 2, 2, "thread 0 writes the count twice"),
        Prediction("global_load_requests", "==", 1, 2, "the same comparisons", than="atomics"),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row takes one",
    max_n=65535,
    found=(Found("NVIDIA H200", "2026-11-23", 1000, (("shared-flags", 107.0), ("atomics", 92.6))),),
)
