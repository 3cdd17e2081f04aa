"""One launch per step, one thread per cell.

Idea: within step k no cell depends on what the others become, only on row k and column k. So a
launch gives every cell a thread, and the next launch begins when the last one has ended: the border
between two launches is the barrier that the algorithm needs.

Row k and column k are read while cells are written. Is that a race? A cell of row k could only
become `dist[k, k] + dist[k, j]`, which is no improvement as long as no cycle is negative; likewise
for column k. So what all others read does not change during the step, in whatever order the threads
run. The three guards say it outright: cells of row k and column k are left alone, and so is the
diagonal, which is 0 already.

Below: one thread had everything to itself. Now there are n**2 of them, in n launches.

Expect: n launches. At n = 128 a warp is a quarter of a row: its own cells are 4 sectors, its piece
of row k is 4, and `dist[i, k]` is one for all 32 lanes. The 4 warps of row k itself are stopped by
the guard. That makes 508 * (4 + 4 + 1) = 4572 sectors for each of 128 steps, 585,216 in all, and
508 stores a step, since every cell is written back whether it has changed or not.

Source: GR Floyd-Warshall

Question: How many warps store in each step at n = 64, and how many sectors do all steps load? Try
`warpladder explain shortest-paths/launch-per-k --n 64`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.rung import Bound, Prediction, Rung
from warpladder.shortest_paths.rungs._launching import THREADS
from warpladder.shortest_paths.rungs._tasks import DISTANCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "relax_cell", "run"]


@cuda.jit
def relax_cell(dist, n, k):
    """Relax the cell of this thread's number through vertex k."""
    cell = cuda.grid(1)
    if cell < n * n:
        i = cell // n
        j = cell - i * n
        if i != j and i != k and j != k:  # noqa: PLR1714 - three guards, as the source has them
            dist[i, j] = min(dist[i, j], dist[i, k] + dist[k, j])


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    for k in range(n):
        device.launch(relax_cell, blocks_for(n * n, THREADS), THREADS, dist, n, k)
    return device.to_host(dist)


RUNG = Rung(
    name="launch-per-k",
    title="One launch per intermediate vertex, one thread per cell",
    source="GR Floyd-Warshall",
    run=run,
    task=DISTANCES,
    bound=Bound("dram", "n times the matrix read and written: 8 n**3 bytes, and n launches"),
    kernels=(relax_cell,),
    predicts=(
        Prediction("launches", "==", 128, 128, "one for each intermediate vertex"),
        Prediction(
            "global_load_sectors",
            "==",
            128 * 508 * 9,
            128,
            "508 warps read 4 sectors of their own, 4 of row k and 1 of column k",
        ),
        Prediction(
            "global_store_requests", "==", 128 * 508, 128, "all warps but the 4 of row k store"
        ),
        Prediction(
            "threads_per_instruction", ">", 30, 128, "nearly all lanes have a cell to relax"
        ),
    ),
)
