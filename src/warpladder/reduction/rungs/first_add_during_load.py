"""First addition while loading: half as many blocks.

Idea: a block takes twice as many elements as it has threads. Each thread loads two of them, a block
size apart, and stores their sum in shared memory, where the tree begins.

Below: in the first step of the tree half of the threads rested, and each thread had been started
to load one element.

Expect: half the blocks for the same array, and everything that costs per block halves with them. At
n = 8192, blocks of 256 threads: 32 + 1 blocks become 16 + 1, each with 9 barriers for 8 warps, so
17 / 33 of the barriers. The array is read as before, 1024 sectors and the partial sums' few: 32 of
them lay in 4 sectors, 16 lie in 2.

Source: RD 7; GR optimizations

Question: With eight elements for a thread in place of two, how many blocks would 8,192 numbers
take, both passes together?
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

__all__ = ["PER_THREAD", "RUNG", "add_pairs_and_halves", "load_two", "run"]

PER_THREAD = 2


@cuda.jit(device=True)
def load_two(shared, data, n):
    """Store the sum of two elements of ``data``, as far as there are two."""
    t = uint32(cuda.threadIdx.x)
    i = PER_THREAD * cuda.blockIdx.x * cuda.blockDim.x + t
    if i + cuda.blockDim.x < n:
        shared[t] = data[i] + data[i + cuda.blockDim.x]
    elif i < n:
        shared[t] = data[i]
    else:
        shared[t] = 0


@cuda.jit
def add_pairs_and_halves(data, partial, n):
    """Let each block add two elements per thread, then those sums."""
    shared = cuda.shared.array(0, data.dtype)
    t = uint32(cuda.threadIdx.x)
    load_two(shared, data, n)
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
    return reduce_in_passes(device, add_pairs_and_halves, problem, threads, per_thread=PER_THREAD)


RUNG = Rung(
    name="first-add-during-load",
    title="Two elements per thread, added while loading",
    source="RD 7; GR optimizations",
    run=run,
    task=SUM,
    bound=Bound(
        "latency", "log2 of the block size steps, each a barrier, for two elements a thread"
    ),
    kernels=(add_pairs_and_halves,),
    predicts=(
        Prediction(
            "barriers",
            "==",
            Ratio(17, 33),
            8192,
            "17 blocks do what 33 did",
            than="sequential-shared",
            tolerance=1e-9,
        ),
        Prediction(
            "shared_load_requests",
            "==",
            Ratio(17, 33),
            8192,
            "and each saves the same steps",
            than="sequential-shared",
            tolerance=1e-9,
        ),
        Prediction("global_load_sectors", "==", 1024 + 2, 8192, "the array, and 16 partial sums"),
    ),
)
