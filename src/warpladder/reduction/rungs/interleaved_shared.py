"""Interleaved addressing in shared memory.

Idea: every thread first copies its element to shared memory, zero where there is none. The block
adds up there, in the same steps as before, and writes its sum to global memory.

Below: each step of a block read its elements from global memory and wrote them back.

Expect: global memory is read once. The 8 warps of a block of 256 read 4 sectors each: 32 instead of
255. Nothing else changes: the warps diverge as before, and that is what counts. The source found
this rung even slower; the caches explain why there is little to gain: in `interleaved-global` a
block's steps after the first find their elements in L1.

Shared memory has 32 banks, one word wide, and threads that want different words of one bank wait
for each other. Here they never do: the active threads of a warp read words 2, 4, 8 .. apart within
32 neighbours, each in a bank of its own.

Source: RD 2; GR shared memory

Question: In the third step, how many of the 256 threads add, in how many warps do they sit, and how
many warps would hold them side by side?
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

__all__ = ["RUNG", "add_interleaved", "run"]


@cuda.jit
def add_interleaved(data, partial, n):
    """Let each block add up its elements in shared memory."""
    shared = cuda.shared.array(0, data.dtype)
    t, threads = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
    i = cuda.grid(1)
    shared[t] = data[i] if i < n else 0
    cuda.syncthreads()
    stride = uint32(1)
    while stride < threads:
        if t % uint32(2 * stride) == 0 and t + stride < threads:
            shared[t] += shared[t + stride]
        cuda.syncthreads()
        stride = uint32(2 * stride)
    if t == 0:
        partial[cuda.blockIdx.x] = shared[0]


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    return reduce_in_passes(device, add_interleaved, problem, threads)


RUNG = Rung(
    name="interleaved-shared",
    title="Interleaved addressing in shared memory",
    source="RD 2; GR shared memory",
    run=run,
    task=SUM,
    bound=Bound("latency", "log2 of the block size steps, each a divergent branch and a barrier"),
    kernels=(add_interleaved,),
    predicts=(
        Prediction("global_load_sectors", "==", 32, 256, "the data, once: 8 warps of 4 sectors"),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(32, 255),
            256,
            "the steps go to shared memory instead",
            than="interleaved-global",
            tolerance=1e-9,
        ),
        Prediction("shared_bank_conflicts", "==", 0, 256, "active threads meet different banks"),
        Prediction("shared_load_requests", "==", 95, 256, "the same steps of the same 47 warps"),
    ),
)
