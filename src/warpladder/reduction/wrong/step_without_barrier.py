"""The wrong rung of the tree: no barrier between its steps.

Idea: as in `sequential-shared`, the upper half of a block's sums is added to the lower, again and
again. The barrier after loading is there, those between the steps are left out.

Fault: the second step reads what the first has made, and other warps make most of it. A warp that
runs ahead adds elements that the others have not added to yet, and their sums are lost. In lockstep
all is well, and so it is on a GPU as often as the warps keep pace: a test that passes proves
nothing.

Mended by: `sequential-shared`.

Source: RD 6; GR reduction

Question: A block of 32 threads is a single warp. Is this kernel right with such blocks?
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

__all__ = ["WRONG", "add_halves_in_a_hurry", "run"]


@cuda.jit
def add_halves_in_a_hurry(data, partial, n):
    """Let each block add up its elements in shared memory, without waiting between the steps."""
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
    if t == 0:
        partial[cuda.blockIdx.x] = shared[0]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return what is taken for the sum."""
    return reduce_in_passes(device, add_halves_in_a_hurry, problem, threads)


WRONG = WrongRung(
    rung=Rung(
        name="step-without-barrier",
        title="Steps of the tree that do not wait for one another",
        source="RD 6; GR reduction",
        run=run,
        task=SUM,
        bound=Bound("latency", "log2 of the block size steps, for one element a thread"),
        kernels=(add_halves_in_a_hurry,),
    ),
    caught_by="racecheck",
    n=256,
    visible_under=("warps",),
)
