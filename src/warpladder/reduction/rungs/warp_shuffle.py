"""Warp shuffles: the threads of a warp read each other's registers.

Idea: `shfl_down` gives a thread what the thread so many places higher in its warp holds. Five of
them, 16, 8, 4, 2 and 1 places, add up a warp without memory and without a barrier. Each warp leaves
its sum in shared memory, the block meets once, and the first warp adds up those sums by five more.

Below: the block's tree went through shared memory: stored, barrier, loaded, for every step.

A shuffle names the threads that take part, and all of them must be there. So a block has whole
warps here: the host rounds its threads up to a multiple of 32, as the hardware does anyway.

Expect: in a block of 256, 8 stores and one load of shared memory where it was 8 + 12 and
2 * 12 + 1; one barrier instead of four; 8 * 5 + 5 = 45 shuffles. They pass through the same unit as
shared memory, at the same rate. The source saw no gain: behind the loop over the array, the end of
a block hardly shows.

Found: nor does an NVIDIA H200 (2026-11-23) show much of one. For 2**20 numbers this takes 9.82 us
and `wide-loads` 9.95 us, for 2**28 it is 249 us and 250 us.

Source: RD 12

Question: In the first step thread 20 asks for the total of thread 36, which its warp does not have.
What does it get, and why does that not matter?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda, uint32

from warpladder.device.grids import WARP
from warpladder.reduction.rungs._launching import (
    STEPS,
    THREADS,
    reduce_in_passes,
    resident_blocks,
    whole_warps,
)
from warpladder.reduction.rungs._tasks import SUM
from warpladder.reduction.rungs.wide_loads import add_groups
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "add_across_block", "add_with_shuffles", "run"]

EVERYBODY = 0xFFFFFFFF


@cuda.jit(device=True)
def add_across_warp(total):
    """Let thread 0 of the warp find the sum of all 32 totals in its own."""
    places = WARP // 2
    while places:
        total[0] += cuda.shfl_down_sync(EVERYBODY, total[0], places)
        places //= 2


@cuda.jit(device=True)
def add_across_block(total):
    """Let thread 0 of the block find the sum of all totals in its own; there is one barrier."""
    sums = cuda.shared.array(WARP, total.dtype)
    t = uint32(cuda.threadIdx.x)
    add_across_warp(total)
    if t % WARP == 0:
        sums[t // WARP] = total[0]
    cuda.syncthreads()
    if t < WARP:
        total[0] = sums[t] if t < cuda.blockDim.x // WARP else 0
        add_across_warp(total)


@cuda.jit
def add_with_shuffles(data, partial, n):
    """Let each thread add up groups of four, then each warp, then the block."""
    total = cuda.local.array(1, data.dtype)
    total[0] = 0
    add_groups(total, data, n)
    add_across_block(total)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = total[0]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    full = whole_warps(threads)
    return reduce_in_passes(
        device,
        add_with_shuffles,
        problem,
        full,
        per_thread=STEPS,
        most_blocks=resident_blocks(device, full),
        shared=False,
    )


RUNG = Rung(
    name="warp-shuffle",
    title="Warps add up by shuffles, a block by one barrier",
    source="RD 12",
    run=run,
    task=SUM,
    bound=Bound("dram", "4 n bytes over the memory bandwidth"),
    kernels=(add_with_shuffles,),
    predicts=(
        Prediction(
            "shared_load_requests",
            "==",
            Ratio(1, 25),
            2048,
            "the sums of 8 warps, read once",
            than="wide-loads",
            tolerance=1e-9,
        ),
        Prediction("shuffles", "==", 45, 2048, "5 in each of 8 warps, and 5 in the first again"),
        Prediction("barriers", "==", Ratio(1, 4), 2048, "one, not four", than="wide-loads"),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 20,
            (("warp-shuffle", 0.00982), ("wide-loads", 0.00995)),
        ),
        Found(
            "NVIDIA H200", "2026-11-23", 1 << 28, (("warp-shuffle", 0.249), ("wide-loads", 0.25))
        ),
    ),
)
