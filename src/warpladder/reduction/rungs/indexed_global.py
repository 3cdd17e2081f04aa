"""Interleaved addressing, indexed: the pairs are numbered, and the first threads take them.

Idea: the same pairs as in `interleaved-global`, given to other threads. In the step of stride s,
thread t takes pair t, which begins at element 2 s t. The threads at work are then neighbours: whole
warps work and whole warps rest. And there is no remainder to compute, a slow operation on a GPU.

Below: the threads at work were spread thinly over all warps.

Expect: with 256 threads 128, 64, 32, 16 .. 1 of them work: 4, 2, 1, 1, 1, 1, 1, 1 warps, 12 where
there were 47. So 2 * 12 + 1 = 25 requests instead of 95. The branch splits a warp only in the last
5 steps: 138 of 144 branches (72 of the loop, 64, 8) are uniform, 95.8 %.

What a warp reads is spread wider instead: its 32 threads read words 2 s apart. The same elements
lie in the same sectors, 255 of them, so a request now takes 10.2 on average, and 32 at worst.

Source: RD 3

Question: In which step does a request take 32 sectors, and why do requests take fewer in the steps
after it?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda, uint32

from warpladder.reduction.rungs._launching import THREADS, reduce_in_passes
from warpladder.reduction.rungs._tasks import SUM
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "add_indexed", "run"]


@cuda.jit
def add_indexed(data, partial, n):
    """Let each block add up its elements in place, its first threads the pairs."""
    t, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
    first = cuda.grid(1) - t
    end = min(n, first + threads)
    stride = uint32(1)
    while stride < threads:
        i = first + uint32(2 * stride * t)
        if i + stride < end:
            data[i] += data[i + stride]
        cuda.syncthreads()
        stride = uint32(2 * stride)
    if t == 0:
        partial[cuda.blockIdx.x] = data[first]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    return reduce_in_passes(device, add_indexed, problem, threads, shared=False)


RUNG = Rung(
    name="indexed-global",
    title="The pairs numbered in global memory: whole warps work or rest",
    source="RD 3",
    run=run,
    task=SUM,
    bound=Bound("latency", "log2 of the block size steps, each a trip to memory and a barrier"),
    kernels=(add_indexed,),
    predicts=(
        Prediction(
            "branch_uniformity",
            "==",
            100 * 138 / 144,
            256,
            "a warp is split in the last five steps, and by the last test",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_requests",
            "==",
            Ratio(25, 95),
            256,
            "12 warps work where 47 did",
            than="interleaved-global",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            256,
            "the same elements lie in the same sectors",
            than="interleaved-global",
        ),
        Prediction(
            "global_load_sectors_per_request",
            "==",
            10.2,
            256,
            "neighbouring threads read ever farther apart",
            tolerance=1e-9,
        ),
        Prediction(
            "threads_per_instruction",
            ">",
            1,
            256,
            "a warp that works has all its threads at work, until 32 are left",
            than="interleaved-global",
        ),
    ),
)
