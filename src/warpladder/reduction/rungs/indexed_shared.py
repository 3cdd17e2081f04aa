"""The pairs numbered, in shared memory: bank conflicts.

Idea: as in `indexed-global`, with the elements in shared memory.

Below: the steps went through global memory.

Expect: words 2 s apart meet in few of the 32 banks, and threads that want different words of one
bank are served one after the other. In a block of 256, stride by stride:

    stride        1   2   4   8  16  32  64 128
    threads     128  64  32  16   8   4   2   1
    requests      4   2   1   1   1   1   1   1   sum 12
    degree        2   4   8   8   8   4   2   1
    wavefronts    8   8   8   8   8   4   2   1   sum 47

A step reads two words per thread and writes one: with one load at the end, 95 wavefronts for 25
load requests; with 8 stores at the start, 55 for 20 store requests; 105 wavefronts too many.

Those 95 are exactly the requests of `interleaved-shared`. Thinly spread, the threads at work sat in
different warps; gathered in one warp, they queue for the same bank. For shared memory nothing is
gained by gathering them; what is gained is that the other warps have nothing to do.

Source: RD 4

Question: Suppose that word w stood at place w + w // 32 of shared memory, so that one place in 33
is free. In which banks do the 8 threads of stride 16 then find their left words, and how many
wavefronts does that take?
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
    """Let each block add up its elements in shared memory, its first threads the pairs."""
    shared = cuda.shared.array(0, data.dtype)
    t, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
    i = cuda.grid(1)
    shared[t] = data[i] if i < n else 0
    cuda.syncthreads()
    stride = uint32(1)
    while stride < threads:
        left = uint32(2 * stride * t)
        if left + stride < threads:
            shared[left] += shared[left + stride]
        cuda.syncthreads()
        stride = uint32(2 * stride)
    if t == 0:
        partial[cuda.blockIdx.x] = shared[0]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    return reduce_in_passes(device, add_indexed, problem, threads)


RUNG = Rung(
    name="indexed-shared",
    title="The pairs numbered in shared memory: bank conflicts",
    source="RD 4",
    run=run,
    task=SUM,
    bound=Bound("latency", "log2 of the block size steps, of up to 8 wavefronts for a request"),
    kernels=(add_indexed,),
    predicts=(
        Prediction(
            "shared_load_conflict_degree",
            "==",
            Ratio(95, 25),
            256,
            "degrees 2, 4, 8, 8, 8, 4, 2, 1 from step to step",
            tolerance=1e-9,
        ),
        Prediction("shared_bank_conflicts", "==", 105, 256, "95 - 25 of loads, 55 - 20 of stores"),
        Prediction(
            "shared_load_wavefronts",
            "==",
            1,
            256,
            "what divergence spread over warps, conflicts spread over time",
            than="interleaved-shared",
        ),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(32, 255),
            256,
            "the data, once",
            than="indexed-global",
            tolerance=1e-9,
        ),
    ),
)
