"""One launch, and CUDA's own grid barrier.

Idea: *cooperative groups* have the barrier ready. `this_grid().sync()` returns when all threads of
the grid have called it, and what they wrote before is visible to all after. The launch has to be
cooperative: the driver then refuses a grid that is not resident at once, instead of hanging.

Below: the barrier was made of flags, each block reading all of them. CUDA's takes one counter that
each block increments once, and one word that it watches.

Expect: the same loads and no atomic operation in the kernel's source. Nothing else changes: a step
still reads the whole matrix, row k and column k.

Found: the better barrier, but still no gain. On an NVIDIA H200 (2026-11-27), at n = 2048, it takes
46.2 ms, an eighth of the 374 ms of `flag-barrier`, and more than the 41.0 ms that `strided-cells`
takes for the same loads in 2048 launches.

Source: beyond

Question: By the times above, how much longer does a meeting of the whole grid take than the border
between two launches?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.rung import Bound, Found, Prediction, Rung
from warpladder.shortest_paths.rungs._launching import MAX_REGISTERS, THREADS, resident_together
from warpladder.shortest_paths.rungs._tasks import DISTANCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "close_together", "run"]


@cuda.jit(max_registers=MAX_REGISTERS)
def close_together(dist, n):
    """Replace weights by distances, in place."""
    grid = cuda.cg.this_grid()
    for k in range(n):
        for cell in range(cuda.grid(1), n * n, cuda.gridsize(1)):
            i = cell // n
            j = cell - i * n
            through = dist[i, k] + dist[k, j]
            known = dist[i, j]
            if through < known:
                dist[i, j] = through
        grid.sync()


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    blocks = min(resident_together(device), blocks_for(n * n, THREADS))
    if blocks:
        device.launch(close_together, blocks, THREADS, dist, n, cooperative=True)
    return device.to_host(dist)


RUNG = Rung(
    name="grid-sync",
    title="One cooperative launch, CUDA's grid barrier",
    source="beyond",
    run=run,
    task=DISTANCES,
    bound=Bound("dram", "n times the matrix read: 4 n**3 bytes, and n grid barriers"),
    kernels=(close_together,),
    predicts=(
        Prediction("launches", "==", 1, 128, "the grid meets inside the kernel"),
        Prediction("atomic_requests", "==", 0, 128, "the barrier is not the kernel's business"),
        Prediction(
            "global_load_requests",
            "==",
            1,
            128,
            "the steps themselves are the same",
            than="flag-barrier",
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-27",
            2048,
            (("grid-sync", 46.2), ("flag-barrier", 374), ("strided-cells", 41.0)),
        ),
    ),
)
