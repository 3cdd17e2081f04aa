"""Sequential addressing in shared memory: no bank conflicts.

Idea: the halves of `sequential-global`, with the elements in shared memory. Neighbouring words lie
in neighbouring banks, so a warp is served in one wavefront.

Below: in shared memory the numbered pairs met in few banks; in global memory every step is a long
way.

Expect: as many wavefronts as requests, 2 * 12 + 1 = 25 loads where `indexed-shared` took 95
wavefronts for the same 25 requests. Each of the 8 warps waits at 9 barriers, one after loading and
one for each of 8 steps: 72. A step is 11 instructions, where a remainder alone takes twice as many.

Source: RD 6; GR reduction

Question: How many of the 8 warps have something to add, on average over the 8 steps, and how many
of them come to each barrier?
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

__all__ = ["RUNG", "add_halves", "run"]


@cuda.jit
def add_halves(data, partial, n):
    """Let each block add up its elements in shared memory, the upper half to the lower."""
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
        partial[cuda.blockIdx.x] = shared[0]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    return reduce_in_passes(device, add_halves, problem, threads)


RUNG = Rung(
    name="sequential-shared",
    title="Sequential addressing in shared memory: no bank conflicts",
    source="RD 6; GR reduction",
    run=run,
    task=SUM,
    bound=Bound(
        "latency", "log2 of the block size steps, each a barrier, for one element a thread"
    ),
    kernels=(add_halves,),
    predicts=(
        Prediction("shared_bank_conflicts", "==", 0, 256, "neighbours lie in neighbouring banks"),
        Prediction(
            "shared_load_wavefronts",
            "==",
            Ratio(25, 95),
            256,
            "one for each request",
            than="indexed-shared",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(32, 69),
            256,
            "the data, once",
            than="sequential-global",
            tolerance=1e-9,
        ),
        Prediction("barriers", "==", 72, 256, "8 warps, after loading and after each of 8 steps"),
    ),
)
