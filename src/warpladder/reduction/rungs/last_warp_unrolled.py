"""The last warp unrolled: below 32 sums, no barriers for the block.

Idea: once 32 sums or fewer are left, one warp is at work. The others need not be asked to wait at
every step; they are done. The last five steps are written out for the first warp alone.

Below: all warps went through all steps and met at a barrier after each, though from the fourth on
one of eight had something to do.

The threads of one warp need an order too. The source relies on a warp running in lockstep, with
`volatile` to keep the compiler from holding sums in registers. That was true of GPUs before Volta;
since then each thread has its own program counter, and only `syncwarp` makes what one thread wrote
known to the others. The source's form is the wrong rung `last-warp-without-sync`.

Expect: in a block of 256 barriers after loading and after the steps that leave 128, 64 and 32
sums: 4 instead of 9, each for 8 warps. Five `syncwarp` in one warp take the place of the others.
That is 4 / 9 of the barriers; the additions are the same.

Source: RD 8

Question: How many barriers does a warp of a block of 1,024 threads pass here, and how many in
`first-add-during-load`?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda, uint32

from warpladder.reduction.rungs._launching import THREADS, reduce_in_passes
from warpladder.reduction.rungs._tasks import SUM
from warpladder.reduction.rungs.first_add_during_load import PER_THREAD, load_two
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "add_last_warp", "add_to_one_warp", "run"]


@cuda.jit(device=True)
def add_pairs(shared, t, pairs, distance):
    """Add so many sums to those that lie a distance below them: a step of one warp."""
    if t < pairs:
        shared[t] += shared[t + distance]
    cuda.syncwarp()


@cuda.jit(device=True)
def add_last_warp(shared, t, width):
    """Let the first warp add up the last 17 to 32 sums."""
    if t < 32:
        add_pairs(shared, t, width - 16, 16)
        add_pairs(shared, t, 8, 8)
        add_pairs(shared, t, 4, 4)
        add_pairs(shared, t, 2, 2)
        add_pairs(shared, t, 1, 1)


@cuda.jit
def add_to_one_warp(data, partial, n):
    """Let each block add up until one warp holds all, and that warp the rest."""
    shared = cuda.shared.array(0, data.dtype)
    t = uint32(cuda.threadIdx.x)
    load_two(shared, data, n)
    cuda.syncthreads()
    width = uint32(cuda.blockDim.x)
    while width > 32:
        pairs = uint32(width // 2)
        width = uint32(width - pairs)
        if t < pairs:
            shared[t] += shared[t + width]
        cuda.syncthreads()
    add_last_warp(shared, t, width)
    if t == 0:
        partial[cuda.blockIdx.x] = shared[0]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    return reduce_in_passes(device, add_to_one_warp, problem, threads, per_thread=PER_THREAD)


RUNG = Rung(
    name="last-warp-unrolled",
    title="The last five steps written out for one warp",
    source="RD 8",
    run=run,
    task=SUM,
    bound=Bound("latency", "barriers until 32 sums are left, for two elements a thread"),
    kernels=(add_to_one_warp,),
    predicts=(
        Prediction(
            "barriers",
            "==",
            Ratio(4, 9),
            512,
            "five of nine steps concern one warp",
            than="first-add-during-load",
            tolerance=1e-9,
        ),
        Prediction("warp_syncs", "==", 5, 512, "one for each step of the last warp"),
        Prediction(
            "shared_load_requests",
            "==",
            1,
            512,
            "the same additions",
            than="first-add-during-load",
        ),
    ),
)
