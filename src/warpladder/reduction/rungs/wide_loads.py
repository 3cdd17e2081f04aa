"""Four elements per load: a thread asks for 16 bytes at once.

Idea: the widest load that every GPU has brings 16 bytes to a thread, four int32, if they begin at a
multiple of 16. The array is seen as groups of four, and threads walk over groups. Up to three
elements are left at the end; the first threads take one each. Every array here begins on a
boundary, as all memory does that CUDA hands out.

Below: a load instruction, an index and a test for each element.

Expect: the same sectors by a quarter of the requests. At n = 2048 a block of 256 threads loads two
groups per thread: 16 requests of 16 sectors, 512 bytes, where it was 64 of 4. Issue slots are
saved, and more bytes are on their way at a time: from a multiprocessor with 2048 threads 8 KiB if
each waits for 4 bytes, 32 KiB if for 16. To be busy all the time, memory needs as many bytes asked
for as it delivers until the first answer comes: suppose 4.8 TB/s and 700 ns, and that is 25 KiB
from each of 132 multiprocessors. On its laptop the source saw little difference.

Source: RD 11

Question: At n = 2047 the last group is not full. How many load requests are made, and how many
sectors do they take? Try `warpladder explain reduction/wide-loads --n 2047`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from numba import cuda, uint32

from warpladder.device.wide_loads import load_16_bytes
from warpladder.reduction.rungs._launching import (
    STEPS,
    THREADS,
    check_threads,
    reduce_in_passes,
    resident_blocks,
)
from warpladder.reduction.rungs._tasks import SUM
from warpladder.reduction.rungs.fully_unrolled import adder_of
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "add_groups", "kernel_for", "run"]


@cuda.jit(device=True)
def add_groups(total, data, n):
    """Add this thread's groups of four elements to ``total[0]``, and one of those left over."""
    groups = n // 4
    for group in range(cuda.grid(1), groups, cuda.gridsize(1)):
        four = load_16_bytes(data, 4 * group)
        total[0] += four[0] + four[1] + four[2] + four[3]
    rest = 4 * groups + cuda.grid(1)
    if rest < n:
        total[0] += data[rest]


@cache
def kernel_for(threads: int) -> Any:
    """Return the kernel for blocks of so many threads."""
    add_up = adder_of(threads)

    @cuda.jit
    def add_fours(data, partial, n):
        """Let each thread add up groups of four, then the block its sums."""
        shared = cuda.shared.array(0, data.dtype)
        total = cuda.local.array(1, data.dtype)
        total[0] = 0
        add_groups(total, data, n)
        t = uint32(cuda.threadIdx.x)
        shared[t] = total[0]
        cuda.syncthreads()
        add_up(shared, t)
        if t == 0:
            partial[cuda.blockIdx.x] = shared[0]

    return add_fours


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    kernel = kernel_for(check_threads(threads))
    most = resident_blocks(device, threads)
    return reduce_in_passes(device, kernel, problem, threads, per_thread=STEPS, most_blocks=most)


RUNG = Rung(
    name="wide-loads",
    title="Four elements per load",
    source="RD 11",
    run=run,
    task=SUM,
    bound=Bound("dram", "4 n bytes over the memory bandwidth"),
    kernels=(kernel_for(THREADS),),
    predicts=(
        Prediction(
            "global_load_sectors_per_request", "==", 16, 2048, "32 threads of 16 bytes: 512 bytes"
        ),
        Prediction(
            "global_load_requests",
            "==",
            Ratio(1, 4),
            2048,
            "four elements each",
            than="grid-stride",
        ),
        Prediction("global_load_sectors", "==", 1, 2048, "the same bytes", than="grid-stride"),
    ),
)
