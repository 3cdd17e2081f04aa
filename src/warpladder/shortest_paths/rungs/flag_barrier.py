"""One launch: the blocks wait for one another by flags in global memory.

Idea: keep the threads and let them walk through all steps themselves. Between two steps the whole
grid must meet. Every block has a flag; its first thread writes there the number of steps that the
block has finished, then reads the flags of all blocks until none is behind. The others wait for
that thread at a block barrier.

What makes it sound. The flag is an *epoch* that only grows: the source sets flags to 1 and clears
them again, and a fast block may clear its flag before a slow one has seen it (the wrong rung
`cleared-flags`). Flags are read and written by atomics, which are never kept in a register or a
stale cache. A fence before the write makes what the block wrote visible first: the block barrier
has brought it to the first thread, and the fence passes it on. A fence after the wait keeps later
loads from being served early. And all blocks must be resident: one that waits for a place while
the others wait for it never comes. So there are only as many as the GPU surely holds at a time,
four blocks of 256 threads per multiprocessor, and the compiler is held to 64 registers a thread.

Below: the border between two of n launches was the barrier, and a launch costs some microseconds,
n times.

Expect: 1 launch instead of n. The loads of the steps are those of `strided-cells`, to the request.
Each of the 64 * 8 warps passes two block barriers per step: 2 * 512 * 128 at n = 128. B blocks read
B flags each, so the traffic of one meeting grows with B**2.

Found: it loses. On an NVIDIA H200 (2026-11-27), at n = 2048, the one launch takes 374 ms and the
2048 launches of `strided-cells` 41.0 ms. Launches are cheap there, and meetings are not: at each of
them 528 blocks read 528 flags. For the source, on a GTX 960, the flags won: 3,206 against
5,623.5, in a unit that it does not name and that must be ms.

Source: CF D

Question: At n = 2048 an H200 has 528 blocks. How many flags are read at one meeting, at the least,
and how many additions would it take with one counter for all blocks?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.rung import Bound, Found, Prediction, Rung
from warpladder.shortest_paths.rungs._launching import MAX_REGISTERS, THREADS, resident_together
from warpladder.shortest_paths.rungs._tasks import DISTANCES_BY_SPINNING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "close_with_flags", "meet", "run"]


@cuda.jit(device=True)
def meet(flags, epoch):
    """Return when every block of the grid has come to its meeting number ``epoch``."""
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.exch(flags, cuda.blockIdx.x, epoch)
        for block in range(cuda.gridDim.x):
            # Adding nothing is how to read atomically.
            while cuda.atomic.add(flags, block, 0) < epoch:
                pass
        cuda.threadfence()
    cuda.syncthreads()


@cuda.jit(max_registers=MAX_REGISTERS)
def close_with_flags(dist, n, flags):
    """Replace weights by distances, in place; ``flags`` has a zero for every block."""
    for k in range(n):
        for cell in range(cuda.grid(1), n * n, cuda.gridsize(1)):
            i = cell // n
            j = cell - i * n
            through = dist[i, k] + dist[k, j]
            known = dist[i, j]
            if through < known:
                dist[i, j] = through
        meet(flags, k + 1)


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    blocks = min(resident_together(device), blocks_for(n * n, THREADS))
    if blocks:
        flags = device.full(blocks, 0, np.int32)
        device.launch(close_with_flags, blocks, THREADS, dist, n, flags)
    return device.to_host(dist)


RUNG = Rung(
    name="flag-barrier",
    title="One launch, a grid barrier from a flag per block",
    source="CF D",
    run=run,
    task=DISTANCES_BY_SPINNING,
    bound=Bound("latency", "n meetings of all blocks, or n times the matrix read: 4 n**3 bytes"),
    kernels=(close_with_flags,),
    predicts=(
        Prediction("launches", "==", 1, 128, "the grid meets inside the kernel"),
        Prediction(
            "global_load_requests",
            "==",
            1,
            128,
            "the steps themselves are the same",
            than="strided-cells",
        ),
        Prediction(
            "barriers", "==", 2 * 512 * 128, 128, "512 warps pass two barriers for each meeting"
        ),
        Prediction(
            "atomic_requests",
            ">=",
            128 * (64 + 64 * 64),
            128,
            "64 blocks write a flag and read 64, at least once each",
        ),
    ),
    found=(
        Found("NVIDIA H200", "2026-11-27", 2048, (("flag-barrier", 374), ("strided-cells", 41.0))),
    ),
)
