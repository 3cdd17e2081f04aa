"""A grid that fits the GPU: threads add up many elements before they meet.

Idea: launch no more blocks than the GPU holds at a time, and none for fewer than 8 elements per
thread. Each thread walks over the array in steps of the whole grid and adds what it meets in a
register; only then come shared memory and the tree. An array of any size is brought down to the
size of the grid in one launch.

Below: a block was started for every 512 elements, and a tree of 4 barriers ran for just two
elements per thread. The array grew smaller by a factor of 512 with each launch, so that more than
512 * 512 elements took three.

Expect: at n = 2048 one block instead of 4 + 1, hence 1 / 5 of the barriers, and one launch instead
of two. For any larger array it is two launches. The array itself is read once, and neighbours read
neighbours in every step: nothing changes for memory, which is now what limits.

Source: RD 10; GR optimizations

Question: A GPU holds 2,048 threads on each of 132 multiprocessors. How many of 2**28 numbers does
each of them add up for itself, and how many steps does the tree of its block take after that?
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from numba import cuda, uint32

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

__all__ = ["RUNG", "kernel_for", "run"]


@cache
def kernel_for(threads: int) -> Any:
    """Return the kernel for blocks of so many threads."""
    add_up = adder_of(threads)

    @cuda.jit
    def add_in_strides(data, partial, n):
        """Let each thread add every element that lies a whole number of grids ahead."""
        shared = cuda.shared.array(0, data.dtype)
        # Numba adds integers in 64 bits; a cell of an array keeps what a register of 32 would.
        total = cuda.local.array(1, data.dtype)
        total[0] = 0
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            total[0] += data[i]
        t = uint32(cuda.threadIdx.x)
        shared[t] = total[0]
        cuda.syncthreads()
        add_up(shared, t)
        if t == 0:
            partial[cuda.blockIdx.x] = shared[0]

    return add_in_strides


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    kernel = kernel_for(check_threads(threads))
    most = resident_blocks(device, threads)
    return reduce_in_passes(device, kernel, problem, threads, per_thread=STEPS, most_blocks=most)


RUNG = Rung(
    name="grid-stride",
    title="A grid-stride loop: the array brought down to the size of the grid",
    source="RD 10; GR optimizations",
    run=run,
    task=SUM,
    bound=Bound("dram", "4 n bytes over the memory bandwidth"),
    kernels=(kernel_for(THREADS),),
    predicts=(
        Prediction(
            "barriers",
            "==",
            Ratio(1, 5),
            2048,
            "one block does what 4 + 1 did",
            than="fully-unrolled",
            tolerance=1e-9,
        ),
        Prediction(
            "launches",
            "==",
            Ratio(1, 2),
            2048,
            "and nothing is left for another",
            than="fully-unrolled",
        ),
        Prediction("global_load_sectors_per_request", "==", 4, 2048, "neighbours in every step"),
    ),
)
