"""Few warps: a multiprocessor that waits for its own loads.

Idea: a load from global memory takes hundreds of clocks from the request to the answer: its
latency. A warp that needs the answer cannot go on meanwhile. Here each multiprocessor is given one
warp, which walks over the vectors in steps of the whole grid.

Below: `vector-add-grid-stride` launched as many blocks as the GPU holds. This is the same kernel to
the letter, with as little as can be launched: one block of 32 threads for each multiprocessor.

Expect: not one sector more or less than before, and yet a small part of the speed. In every step a
warp asks for 128 bytes of each vector, adds, stores, and then asks for more; the whole
multiprocessor has 256 bytes on their way, and memory could bring many more in the same time. How
many it takes is Little's law: bytes under way = bandwidth x latency. The counters cannot show
waiting. At n = 16896 on 132 multiprocessors each warp asks five times whether to go on: 4 steps,
since 16896 = 4 x 132 x 32, and once to leave, 660 branches in all.

Found: a small part it is. On an NVIDIA H200 (2026-11-23), at n = 2**24, this takes 1,730 us and
`vector-add-grid-stride`, the same kernel, 64.6 us.

Source: GR thread scheduling

Question: On a memory of 4 TB/s with a latency of 600 ns, how many bytes have to be under way at any
moment, and how many are with 132 warps that have 256 bytes each?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import WARP, blocks_for
from warpladder.primer.launching import launch
from warpladder.primer.tasks import VECTOR_ADD
from warpladder.rung import Bound, Found, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.primer.tasks import Addends

__all__ = ["RUNG", "add", "run"]


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
    grid = min(blocks_for(n, WARP), device.properties.multiprocessors)
    launch(device, add, grid, WARP, a, b, out, n)
    return device.to_host(out)


RUNG = Rung(
    name="few-warps",
    title="Latency in full sight: one warp on each multiprocessor",
    source="GR thread scheduling",
    run=run,
    task=VECTOR_ADD,
    bound=Bound("latency", "n / (32 x multiprocessors) times the latency of a load"),
    kernels=(add,),
    predicts=(
        Prediction("branches", "==", 660, 16896, "132 warps ask before 4 steps, and to leave"),
        Prediction(
            "global_load_sectors",
            "==",
            1,
            16896,
            "who reads an element makes no difference to how many sectors hold it",
            than="vector-add-grid",
        ),
        Prediction(
            "global_load_requests", "==", 1056, 16896, "132 warps x 4 steps x 2 vectors, in turn"
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-23",
            1 << 24,
            (("few-warps", 1.73), ("vector-add-grid-stride", 0.0646)),
        ),
    ),
)
