"""The wrong rung of the two stages: blocks leave their sums in the array that others still read.

Idea: as in `host-finish`, each block adds up its elements, and the host adds up what the blocks
leave. As in the source, block b leaves its sum in element b of the array itself, which saves a
second array.

Fault: the first elements are also those of the first block. Nothing orders blocks: one of the
others may be done before the first has read, and its sum is then taken for an element. Blocks
mostly start in the order of their numbers, which hides it. The array is also lost to the caller.

Mended by: `host-finish`.

Source: GR reduction

Question: At n = 1025 there are five blocks. Which elements do their sums overwrite, which block
reads these, and up to which n can nothing go wrong?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, uint32

from warpladder.device.grids import blocks_for
from warpladder.reduction.rungs._launching import THREADS, check_threads
from warpladder.reduction.rungs._tasks import SUM
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["WRONG", "add_halves_in_place", "run"]


@cuda.jit
def add_halves_in_place(data, n):
    """Let each block add up its elements; their sum goes to the front of the same array."""
    shared = cuda.shared.array(0, data.dtype)
    t = uint32(cuda.threadIdx.x)
    i = cuda.grid(1)
    shared[t] = data[i] if i < n else 0
    cuda.syncthreads()
    width = uint32(cuda.blockDim.x)
    while width > 1:
        pairs = uint32(width // 2)
        width = uint32(width - pairs)
        if t < pairs:
            shared[t] += shared[t + width]
        cuda.syncthreads()
    if t == 0:
        data[cuda.blockIdx.x] = shared[0]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return what is taken for the sum."""
    values = problem.values
    blocks = blocks_for(values.size, check_threads(threads))
    if blocks == 0:
        return np.zeros(1, values.dtype)
    data = device.to_device(values)
    shared_bytes = threads * values.dtype.itemsize
    device.launch(
        add_halves_in_place, blocks, threads, data, values.size, shared_bytes=shared_bytes
    )
    return np.array([device.to_host(data)[:blocks].sum(dtype=values.dtype)])


WRONG = WrongRung(
    rung=Rung(
        name="sums-in-place",
        title="Blocks leave their sums where other blocks still read",
        source="GR reduction",
        run=run,
        task=SUM,
        bound=Bound(
            "latency", "one launch, then n / 256 numbers over the bus and added by one core"
        ),
        kernels=(add_halves_in_place,),
    ),
    caught_by="racecheck",
    n=1025,
    visible_under=("warps-reverse",),
)
