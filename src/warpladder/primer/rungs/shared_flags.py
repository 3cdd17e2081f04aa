"""Counting together, mended inside a block: a flag per thread, a barrier, and one thread that adds.

Idea: each thread compares one id of the first row with all ids of the second one, and notes in
shared memory whether it was found. Each thread writes to its own place, so none can overwrite what
another one wrote. After a barrier all flags are there, and thread 0 adds them up.

Below: threads handed elements to each other through shared memory, behind a barrier; here they hand
over what they found. The obvious kernel, without shared memory, lets all threads do `count[0] +=
1`. That is a load, an addition and a store, and threads that load the same old count store the same
new one: increments are lost. That kernel is kept as the wrong rung `racy-increment`, and
`flags-without-barrier` is this one with its barrier left out.

Expect: at n = 96, 3 warps write 3 requests of flags and pass 1 barrier each. Then one thread reads
96 flags, one request each, while 95 threads wait. No atomics. Flags are seen by their own block
only, so n ends at 1024.

Source: IM shared flags

Question: Thread 0 reads 96 flags by 96 requests. How many requests would do if a warp read 32 flags
at a time, and how could its threads bring together what each has read?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda, int32

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import launch
from warpladder.primer.tasks import COMMON_IDS
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Rows

__all__ = ["RUNG", "count_by_flags", "run"]

MAX_THREADS = 1024


@cuda.jit
def count_by_flags(row, other, count, n):
    """Count the ids of ``row`` that are in ``other``, in one block."""
    flags = cuda.shared.array(MAX_THREADS, int32)
    t = cuda.threadIdx.x
    found = 0
    if t < n:
        for k in range(n):
            if other[k] == row[t]:
                found = 1
    flags[t] = found
    cuda.syncthreads()
    if t == 0:
        total = 0
        for k in range(cuda.blockDim.x):
            total += flags[k]
        count[0] = total


def run(device: Device, problem: Rows) -> NDArray[np.int32]:
    """Return the number of ids in common, in an array of one."""
    n = problem.row.size
    row, other = device.to_device(problem.row), device.to_device(problem.other)
    count = device.full(1, 0, np.int32)
    threads = 32 * blocks_for(n, 32)
    launch(device, count_by_flags, 1, threads, row, other, count, n)
    return device.to_host(count)


RUNG = Rung(
    name="shared-flags",
    title="Counting by flags in shared memory and a barrier",
    source="IM shared flags",
    run=run,
    task=COMMON_IDS,
    bound=Bound("latency", "one block compares, and one thread adds n flags"),
    kernels=(count_by_flags,),
    predicts=(
        Prediction("shared_store_requests", "==", 3, 96, "3 warps write their flags once"),
        Prediction("barriers", "==", 3, 96, "3 warps pass one barrier"),
        Prediction("shared_load_requests", "==", 96, 96, "thread 0 reads 96 flags, one by one"),
        Prediction("atomic_requests", "==", 0, 96, "no two threads write to one place"),
    ),
    limits="n is at most 1024: the flags of one block are not seen by another",
    max_n=MAX_THREADS,
)
