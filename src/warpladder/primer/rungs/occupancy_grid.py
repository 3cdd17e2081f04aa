"""Latency hidden by other warps: as many blocks as a multiprocessor holds.

Idea: while one warp waits, the multiprocessor issues instructions of another that has what it
needs. So it should hold many warps at a time. How many fit is the occupancy: a block stays on its
multiprocessor from its first instruction to its last, and takes places for its warps, registers for
each thread and its shared memory. What runs out first decides. `device.max_active_blocks` asks the
driver, which knows the registers of the compiled kernel. The grid is that times the number of
multiprocessors, and each thread walks on as far as it must: no block ever waits for a place.

Below: one warp with many loads under way hides latency by itself, for as long as its registers
last; the other way is to have other warps. `vector-add-grid-stride` counted places for threads
only.

Expect: for compute capability 9.0 and blocks of 256 threads, which are 8 of 64 warps:

    registers per thread   32    40    64   128    32    32
    shared KiB of a block   0     0     0     0    24    48
    blocks that fit         8     6     4     2     8     4
    occupancy, %          100    75    50    25   100    50

This kernel has no more than 32 registers and no shared memory: 8 blocks, 2048 threads on each
multiprocessor, with 16 KiB of loads under way where one warp has 256 bytes. The sectors are the
same as ever. At n = 16896 there are 66 blocks, 528 warps, each of which asks twice whether to go
on. A launch over no elements comes first, so that there is a compiled kernel to ask about; its 8
warps ask once: 1064 branches in all. The simulator compiles nothing and leaves registers out of
account. More occupancy does not always mean more speed, as later ladders show.

Found: other warps hide it. On an NVIDIA H200 (2026-11-23), at n = 2**24, this takes 66.8 us, both
launches together, where `few-warps` takes 1,730 us. It is no faster than `vector-add-grid-stride`
with 64.6 us: for a kernel of so few registers places for threads are what runs out first, and the
grids are the same.

Source: CF choosing blocks and threads

Question: How many blocks of 256 threads fit if each has 32 registers per thread and 100 KiB of
shared memory? `doctor --capabilities` has the limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import VECTOR_ADD
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Addends

__all__ = ["RUNG", "add", "run"]


@cuda.jit
def add(a, b, out, n):
    """Add every element that lies a whole number of grids behind this thread's number."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = a[i] + b[i]


def run(device: Device, problem: Addends) -> NDArray[np.float32]:
    """Return the sum of the two vectors."""
    n = problem.a.size
    a, b = device.to_device(problem.a), device.to_device(problem.b)
    out = device.empty(n, problem.a.dtype)
    # Only of a compiled kernel is it known how many registers it takes.
    launch(device, add, 1, THREADS, a, b, out, 0)
    resident = device.max_active_blocks(add, THREADS) * device.properties.multiprocessors
    launch(device, add, min(blocks_for(n, THREADS), resident), THREADS, a, b, out, n)
    return device.to_host(out)


RUNG = Rung(
    name="occupancy-grid",
    title="Latency hidden by other warps: a grid of as many blocks as fit",
    source="CF choosing blocks and threads",
    run=run,
    task=VECTOR_ADD,
    bound=Bound("dram", "12 n bytes over the memory bandwidth"),
    kernels=(add,),
    predicts=(
        Prediction(
            "branches",
            "==",
            1064,
            16896,
            "66 blocks x 8 warps ask twice, and the 8 warps of the launch before once",
        ),
        Prediction("launches", "==", 2, 16896, "one over no elements, to have the kernel compiled"),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            16896,
            "more warps read the same elements",
            than="few-warps",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 24,
            (("occupancy-grid", 0.0668), ("few-warps", 1.73), ("vector-add-grid-stride", 0.0646)),
        ),
    ),
)
