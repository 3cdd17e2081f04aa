"""The wrong rung of the last warp: its threads do not wait for each other.

Idea: as in `last-warp-unrolled`, the first warp takes the last five steps alone. As in the source,
nothing stands between them: a warp is taken to run in lockstep, so that what one thread wrote in
one step all others find in the next.

Fault: since Volta every thread of a warp has its own program counter, and CUDA promises no order
between them without `syncwarp` or a shuffle. A thread may read its neighbour's sum before the
neighbour has made it, and the compiler may let it: `volatile` only makes it read memory each time.
The simulator runs warps in lockstep, as GPUs mostly still do, so under each of its schedules the
sum comes out right. The race check knows what is promised, and finds it in one run.

Mended by: `last-warp-unrolled`; without shared memory, `warp-shuffle`.

Source: RD 8

Question: The rung that mends it has a `syncwarp` after each of five steps. Which of the five could
be left out?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda, uint32

from warpladder.reduction.rungs._launching import THREADS, reduce_in_passes
from warpladder.reduction.rungs._tasks import SUM
from warpladder.reduction.rungs.first_add_during_load import PER_THREAD, load_two
from warpladder.rung import Bound, Rung, WrongRung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["WRONG", "add_in_supposed_lockstep", "run"]


@cuda.jit
def add_in_supposed_lockstep(data, partial, n):
    """Let each block add up until one warp holds all, and that warp go on without waiting."""
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
    while width > 1:
        pairs = uint32(width // 2)
        width = uint32(width - pairs)
        if t < pairs:
            shared[t] += shared[t + width]
    if t == 0:
        partial[cuda.blockIdx.x] = shared[0]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return what is taken for the sum."""
    return reduce_in_passes(
        device, add_in_supposed_lockstep, problem, threads, per_thread=PER_THREAD
    )


WRONG = WrongRung(
    rung=Rung(
        name="last-warp-without-sync",
        title="The last warp's steps with nothing in between",
        source="RD 8",
        run=run,
        task=SUM,
        bound=Bound("latency", "barriers until 32 sums are left, for two elements a thread"),
        kernels=(add_in_supposed_lockstep,),
    ),
    caught_by="racecheck",
    n=33,
)
