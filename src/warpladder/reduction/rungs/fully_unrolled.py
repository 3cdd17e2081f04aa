"""All steps unrolled: the block size is known when the kernel is compiled.

Idea: the number of steps follows from the block size. If that is a constant of the kernel, all
steps can be written out, and no loop asks whether there is another one. `adder_of` writes them: a
device function for one step, which goes on to the function for the next. So there is a kernel for
each block size, compiled when it is first used. (C++ does it with a template parameter.)

Below: the loop compared, halved and jumped for each step that was not the last warp's.

Expect: in a block of 256 each of 8 warps asked the loop 4 times, 32 branches that go. Left are 8
for loading, 3 * 8 for the steps, 8 to find the first warp, 5 in it and 8 at the end: 53 instead
of 85. Barriers and additions are the same.

Source: RD 9

Question: How many branches do the 4 warps of a block of 128 threads execute, counted as the 53 of 8
warps are?
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from numba import cuda, uint32

from warpladder.reduction.rungs._launching import THREADS, check_threads, reduce_in_passes
from warpladder.reduction.rungs._tasks import SUM
from warpladder.reduction.rungs.first_add_during_load import PER_THREAD, load_two
from warpladder.reduction.rungs.last_warp_unrolled import add_last_warp
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.reduction.rungs._tasks import Numbers

__all__ = ["RUNG", "adder_of", "kernel_for", "run"]


@cache
def adder_of(width: int) -> Any:
    """Return a device function that adds up ``width`` numbers in shared memory, all steps of it."""
    if width <= 32:

        @cuda.jit(device=True)
        def add_in_warp(shared, t):
            add_last_warp(shared, t, width)

        return add_in_warp

    pairs = width // 2
    left = width - pairs
    add_the_rest = adder_of(left)

    @cuda.jit(device=True)
    def add_step(shared, t):
        if t < pairs:
            shared[t] += shared[t + left]
        cuda.syncthreads()
        add_the_rest(shared, t)

    return add_step


@cache
def kernel_for(threads: int) -> Any:
    """Return the kernel for blocks of so many threads."""
    add_up = adder_of(threads)

    @cuda.jit
    def add_without_loops(data, partial, n):
        """Let each block add two elements per thread, then those sums."""
        shared = cuda.shared.array(0, data.dtype)
        t = uint32(cuda.threadIdx.x)
        load_two(shared, data, n)
        cuda.syncthreads()
        add_up(shared, t)
        if t == 0:
            partial[cuda.blockIdx.x] = shared[0]

    return add_without_loops


def run(device: Device, problem: Numbers, threads: int = THREADS) -> NDArray[Any]:
    """Return the sum in an array of one."""
    kernel = kernel_for(check_threads(threads))
    return reduce_in_passes(device, kernel, problem, threads, per_thread=PER_THREAD)


RUNG = Rung(
    name="fully-unrolled",
    title="All steps written out for a known block size",
    source="RD 9",
    run=run,
    task=SUM,
    bound=Bound("latency", "barriers until 32 sums are left, for two elements a thread"),
    kernels=(kernel_for(THREADS),),
    predicts=(
        Prediction(
            "branches",
            "==",
            Ratio(53, 85),
            512,
            "no warp asks four times whether there is another step",
            than="last-warp-unrolled",
            tolerance=1e-9,
        ),
        Prediction("barriers", "==", 1, 512, "the steps are the same", than="last-warp-unrolled"),
    ),
)
