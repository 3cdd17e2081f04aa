"""Interleaved addressing in global memory: pairs, then pairs of pairs.

Idea: one thread per element. In the first step every second thread adds its right neighbour's
element to its own, in the next step every fourth thread the one two places away, then every eighth.
After log2(B) steps the first element of a block of B is the sum of all. The blocks leave one number
each, and the next launch adds those up in the same way, until one is left.

Below: additions one after the other. Here half of the elements are added at once, then half of what
is left.

The steps need a barrier between them, and guards: the last block of the array has fewer elements,
and a block that is no power of two has no partner for some. The sums go to an array of their own;
in place, a block would write where another still reads (the wrong rung `sums-in-place`). Numbers
within a block are uint32 throughout: Numba would compute in 64 bits and allow for negative indices,
with two to three times the instructions.

Expect: every warp takes part in the first five steps, with 16, 8, 4, 2 and 1 of its 32 threads: the
branch on the remainder splits it. In a block of 256 it splits 8 warps in steps 1 to 5, then 4, 2
and 1: 47 of 64 times. Of all 191 branches (72 of the loop, 64 on the remainder, 47 on the end of
the data, 8 at the end) 72 + 17 + 47 + 7 = 143 are uniform, 74.9 %. Each of those 47 reads two
elements of each active thread: 2 * 47 + 1 = 95 requests. Four sectors hold what a warp reads while
it has 4 threads or more, then a sector per thread: 2 * (32 + 32 + 32 + 16 + 8 + 4 + 2 + 1) + 1 =
255 sectors, where the data are 32.

Source: RD 1

Question: Half of the threads rest from the first step on. In which step do whole warps rest for the
first time, and how many of the 8 are still at work in it?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda, uint32

from warpladder.reduction.rungs._launching import THREADS, reduce_in_passes
from warpladder.reduction.rungs._tasks import SUM
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "add_interleaved", "run"]


@cuda.jit
def add_interleaved(data, partial, n):
    """Let each block add up its elements in place; their sum goes to ``partial``."""
    t, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
    i = cuda.grid(1)
    end = min(n, i - t + threads)
    stride = uint32(1)
    while stride < threads:
        if t % uint32(2 * stride) == 0 and i + stride < end:
            data[i] += data[i + stride]
        cuda.syncthreads()
        stride = uint32(2 * stride)
    if t == 0:
        partial[cuda.blockIdx.x] = data[i]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    return reduce_in_passes(device, add_interleaved, problem, threads, shared=False)


RUNG = Rung(
    name="interleaved-global",
    title="Interleaved addressing in global memory: every warp diverges",
    source="RD 1",
    run=run,
    task=SUM,
    bound=Bound("latency", "log2 of the block size steps, each a trip to memory and a barrier"),
    kernels=(add_interleaved,),
    predicts=(
        Prediction(
            "branch_uniformity",
            "==",
            100 * 143 / 191,
            256,
            "the remainder splits a warp 47 times, the last test once",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_requests", "==", 95, 256, "two for each of 47 warps, one to finish"
        ),
        Prediction(
            "global_load_sectors", "==", 255, 256, "eight steps read again what was just written"
        ),
        Prediction(
            "threads_per_instruction",
            "<",
            24,
            256,
            "in most steps a warp works with few of its threads",
        ),
        Prediction("launches", "==", 2, 8192, "32 blocks leave 32 numbers, one block adds those"),
    ),
)
