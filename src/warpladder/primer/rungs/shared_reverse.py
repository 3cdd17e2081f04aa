"""Shared memory for the first time: threads of a block hand elements to each other.

Idea: what a thread has in its registers no other thread can see. Shared memory lies on the chip,
beside the multiprocessor, and belongs to a block: each block has its own piece, all its threads
read and write it, and it is gone when the block ends. `cuda.shared.array(256, float32)` asks for
256 floats. Here each thread puts its element there, and takes out the one of the thread at the
other end.

The threads of a block do not run at the same pace: one warp may be done with writing when another
has not begun. `cuda.syncthreads()` is the barrier that makes all threads of the block wait until
the last one has arrived; what was written before it may be read behind it. All threads have to
reach it, so it stands outside the guard. Without it there are days on which the result is right:
that is the wrong rung `reverse-without-barrier`.

Below: all threads so far worked for themselves alone.

Expect: at n = 256, one block of 8 warps: 8 requests store to shared memory, 8 load from it, and 8
warps pass the barrier. Both global accesses stay coalesced. To be honest, reading global memory
backwards would cost as little, as the permuted reads have shown; shared memory pays where an
element is read more than once or where the order would tear sectors apart, as in the rungs to come.

Source: GR variables in shared memory

Question: The last run of 1000 elements has 232 of them; which of the block's threads pass the
barrier, and which write a result?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, float32

from warpladder.device.grids import blocks_for
from warpladder.primer.further_tasks import REVERSAL, REVERSED
from warpladder.primer.launching import launch
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Values

__all__ = ["RUNG", "reverse", "run"]


@cuda.jit
def reverse(values, out, n):
    """Reverse one run of elements, which is the block's."""
    run_of_block = cuda.shared.array(REVERSED, float32)
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * REVERSED
    length = min(REVERSED, n - first)
    if t < length:
        run_of_block[t] = values[first + t]
    cuda.syncthreads()
    if t < length:
        out[first + t] = run_of_block[length - 1 - t]


def run(device: Device, problem: Values) -> NDArray[np.float32]:
    """Return the elements with each run in reverse order."""
    n = problem.values.size
    values = device.to_device(problem.values)
    out = device.empty(n, problem.values.dtype)
    launch(device, reverse, blocks_for(n, REVERSED), REVERSED, values, out, n)
    return device.to_host(out)


RUNG = Rung(
    name="shared-reverse",
    title="An array in shared memory, and one barrier",
    source="GR variables in shared memory",
    run=run,
    task=REVERSAL,
    bound=Bound("dram", "8 n bytes over the memory bandwidth"),
    kernels=(reverse,),
    predicts=(
        Prediction("shared_store_requests", "==", 8, 256, "8 warps put their elements there"),
        Prediction("shared_load_requests", "==", 8, 256, "8 warps take others out"),
        Prediction("barriers", "==", 8, 256, "8 warps pass one barrier"),
        Prediction(
            "global_load_sectors_per_request", "==", 4, 256, "a warp still loads 128 bytes in a row"
        ),
    ),
)
