"""Vector addition with a grid-stride loop: a grid that fits the GPU, for data of any size.

Idea: launch no more blocks than the GPU holds at a time, and so few that a thread has about four
elements or more. Each thread starts at its own number and walks on in steps of the whole grid,
`cuda.gridsize(1)`, until the data end. Neighbouring threads read neighbouring elements in every
step.

Below: in `vector-add-grid` one thread per element starts a block for every 256 elements, and each
thread computes its index, asks its guard and ends after one addition. Here a thread begins once for
many elements, and no n is too large for the grid.

Expect: exactly the same traffic. The loop asks once for each element, as the guard did, and once
more to leave. At n = 1000 there is one block of 8 warps, which walk in steps of 256 and ask 5 times
each: 40 branches where guards take 32. The fourth step ends at 1000 = 3 x 256 + 7 x 32 + 8 and
splits the last warp, so 39 / 40 = 97.5 % are uniform. What is gained with large n, fewer threads to
start, is seen by the clock and not by these counters, and it is little: memory limits both.

Found: little it is. On an NVIDIA H200 (2026-11-23), at n = 2**24, this takes 64.6 us and
`vector-add-grid` 67.7 us.

Source: beyond

Question: Suppose that thread t took elements 4 t to 4 t + 3, neighbours, in place of elements a
whole grid apart. How many sectors would the first load of a warp take?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.primer.launching import THREADS, launch
from warpladder.primer.tasks import VECTOR_ADD
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Addends

__all__ = ["RUNG", "add", "run"]

#: With fewer elements for each thread there would be nothing to walk.
STEPS = 4


@cuda.jit
def add(a, b, out, n):
    """Add every element that lies a whole number of grids behind this thread's number."""
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = a[i] + b[i]


def run(device: Device, problem: Addends) -> NDArray[np.float32]:
    """Return the sum of the two vectors."""
    n = problem.a.size
    a, b = device.to_device(problem.a), device.to_device(problem.b)
    out = device.empty(n, problem.a.dtype)
    gpu = device.properties
    resident = gpu.multiprocessors * (gpu.max_threads_per_multiprocessor // THREADS)
    grid = min(blocks_for(n, STEPS * THREADS), resident)
    launch(device, add, grid, THREADS, a, b, out, n)
    return device.to_host(out)


RUNG = Rung(
    name="vector-add-grid-stride",
    title="Vector addition with a grid-stride loop",
    source="beyond",
    run=run,
    task=VECTOR_ADD,
    bound=Bound("dram", "12 n bytes over the memory bandwidth"),
    kernels=(add,),
    predicts=(
        Prediction(
            "global_load_sectors",
            "==",
            1,
            1000,
            "the same elements are read by the same warps",
            than="vector-add-grid",
        ),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            4096,
            "4 blocks, and no element is read by two of them",
            than="vector-add-grid",
        ),
        Prediction(
            "branches",
            "==",
            40,
            1000,
            "8 warps ask before each of 4 steps and once more to leave",
        ),
        Prediction(
            "branch_uniformity",
            "==",
            97.5,
            1000,
            "the last step splits one warp, 8 threads in and 24 out: 39 of 40 are uniform",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 24,
            (("vector-add-grid-stride", 0.0646), ("vector-add-grid", 0.0677)),
        ),
    ),
)
