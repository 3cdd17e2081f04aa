"""Sequential addressing in global memory: the upper half is added to the lower half.

Idea: choose other pairs. Thread t adds the element half the block away to its own; then half of
that half; until one is left. Threads at work are neighbours, and so is what they read. Of an odd
number of elements the one in the middle has no partner and stays.

Below: neighbouring threads read words ever farther apart.

Expect: as many requests as before, 2 * 12 + 1 = 25 in a block of 256, but each reads neighbours:
steps of 128, 64, 32 pairs take 4 sectors for a warp, then 2, and 1 from 8 pairs on:
2 * (16 + 8 + 4 + 2 + 1 + 1 + 1 + 1) + 1 = 69 sectors instead of 255.

Found: the order pays where blocks are many. On an NVIDIA H200 (2026-11-23), this takes 1,620 us for
2**28 numbers, and `indexed-global` 1,870 us; it comes up to `indexed-shared`, with 1,630 us,
without any shared memory. For 2**10, of which a few blocks are made, it is 8.26 us and 8.03 us with
`indexed-shared`.

Source: RD 5

Question: Of the 69 sectors that a block of 256 threads loads, how many does it load for the first
time, and what do the others hold?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda, uint32

from warpladder.reduction.rungs._launching import THREADS, reduce_in_passes
from warpladder.reduction.rungs._tasks import SUM
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "add_halves", "run"]


@cuda.jit
def add_halves(data, partial, n):
    """Let each block add up its elements in place, the upper half to the lower."""
    t = uint32(cuda.threadIdx.x)
    i = cuda.grid(1)
    width = uint32(cuda.blockDim.x)
    while width > 1:
        pairs = uint32(width // 2)
        width = uint32(width - pairs)
        if t < pairs and i + width < n:
            data[i] += data[i + width]
        cuda.syncthreads()
    if t == 0:
        partial[cuda.blockIdx.x] = data[i]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    return reduce_in_passes(device, add_halves, problem, threads, shared=False)


RUNG = Rung(
    name="sequential-global",
    title="Sequential addressing in global memory: neighbours read neighbours",
    source="RD 5",
    run=run,
    task=SUM,
    bound=Bound("latency", "log2 of the block size steps, each a trip to memory and a barrier"),
    kernels=(add_halves,),
    predicts=(
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(69, 255),
            256,
            "32 neighbours lie in 4 sectors",
            than="indexed-global",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_requests",
            "==",
            1,
            256,
            "as many pairs, taken by as many warps",
            than="indexed-global",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 28,
            (("sequential-global", 1.62), ("indexed-global", 1.87), ("indexed-shared", 1.63)),
        ),
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 10,
            (("sequential-global", 0.00826), ("indexed-shared", 0.00803)),
        ),
    ),
)
