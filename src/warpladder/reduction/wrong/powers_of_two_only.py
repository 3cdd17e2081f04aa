"""The wrong rung of the sizes: everything is taken for a power of two.

Idea: as in `first-add-during-load`, a thread loads two elements and the block halves what it has
until one is left. As in the source, the array fills all blocks and the block is a power of two, so
there are no guards, and a half is a half.

Fault: two in one. At n = 33 there is one block, and most of its threads read behind the array: the
memory check stops at the first. And a block of 96 threads is halved to 48, 24, 12, 6, 3 and 1: of
the last three sums the third is never added. No check of memory or of races can see that, as every
access is in order; only a result that is compared with another one can.

Mended by: `first-add-during-load`, which guards its loads and keeps what has no partner.

Source: RD 7

Question: A block of 96 threads that is given 192 elements reads nothing behind the array. How many
of the 192 are missing from its sum?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda, uint32

from warpladder.reduction.rungs._launching import THREADS, reduce_in_passes
from warpladder.reduction.rungs._tasks import SUM
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["WRONG", "add_without_guards", "run"]


@cuda.jit
def add_without_guards(data, partial, n):  # noqa: ARG001 - it never asks
    """Let each block add up twice as many elements as it has threads, whether or not there are."""
    shared = cuda.shared.array(0, data.dtype)
    t = uint32(cuda.threadIdx.x)
    i = 2 * cuda.blockIdx.x * cuda.blockDim.x + t
    shared[t] = data[i] + data[i + cuda.blockDim.x]
    cuda.syncthreads()
    half = uint32(cuda.blockDim.x // 2)
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half = uint32(half // 2)
    if t == 0:
        partial[cuda.blockIdx.x] = shared[0]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return what is taken for the sum."""
    return reduce_in_passes(device, add_without_guards, problem, threads, per_thread=2)


WRONG = WrongRung(
    rung=Rung(
        name="powers-of-two-only",
        title="No guards: right for powers of two alone",
        source="RD 7",
        run=run,
        task=SUM,
        bound=Bound(
            "latency", "log2 of the block size steps, each a barrier, for two elements a thread"
        ),
        kernels=(add_without_guards,),
    ),
    caught_by="memcheck",
    n=33,
)
