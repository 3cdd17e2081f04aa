"""The pivot entry stays in a register for a whole row.

Idea: `dist[i, k]` is the same for all cells of row i, and it does not change in step k. A thread
that stays in its row reads it once and keeps it. So a warp takes whole rows: its lanes stand side
by side, walk along the row 32 cells at a time, and take another row when they are through.

Below: the source keeps the entry along runs of consecutive cells, and pays for them with 32 sectors
per request. `grid-sync`, whose warps read side by side, loads three numbers for each cell.

Expect: two loads per cell and one per row. At n = 128 a row is 1 + 4 * 2 = 9 requests instead of
4 * 3 = 12; at n = 2048 it is 129 instead of 192, a third less. The rest is row k, which caches
hold, and the cell itself, which is the traffic that no rearrangement of one step can save.

Found: faster than the rung below, and slower than one further down. On an NVIDIA H200 (2026-11-27),
at n = 2048, it takes 34.1 ms and `grid-sync` 46.2 ms; but `row-blocks`, which shares the entry in
2048 launches, takes 30.4 ms. As many requests; it is the barrier of the grid that costs more than
the launches.

Source: CF E

Question: How many load requests does a row take at n = 64, here and in `grid-sync`, and which part
of them can this rung save at the most?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung
from warpladder.shortest_paths.rungs._launching import MAX_REGISTERS, THREADS, resident_together
from warpladder.shortest_paths.rungs._tasks import DISTANCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "close_by_rows", "run"]


@cuda.jit(max_registers=MAX_REGISTERS)
def close_by_rows(dist, n):
    """Replace weights by distances, in place; a warp relaxes whole rows."""
    grid = cuda.cg.this_grid()
    lane = cuda.laneid
    first = cuda.grid(1) >> 5
    warps = cuda.gridsize(1) >> 5
    for k in range(n):
        # Ranges in place of these loops would need more registers than there are for four blocks.
        i = first
        while i < n:
            pivot = dist[i, k]
            j = lane
            while j < n:
                through = pivot + dist[k, j]
                known = dist[i, j]
                if through < known:
                    dist[i, j] = through
                j += 32
            i += warps
        grid.sync()


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    blocks = min(resident_together(device), blocks_for(32 * n, THREADS))
    if blocks:
        device.launch(close_by_rows, blocks, THREADS, dist, n, cooperative=True)
    return device.to_host(dist)


RUNG = Rung(
    name="pivot-in-register",
    title="A warp per row, the pivot entry in a register",
    source="CF E",
    run=run,
    task=DISTANCES,
    bound=Bound("dram", "n times the matrix read: 4 n**3 bytes, and n grid barriers"),
    kernels=(close_by_rows,),
    predicts=(
        Prediction(
            "global_load_requests",
            "==",
            Ratio(9, 12),
            128,
            "one load of the pivot per row instead of one per 32 cells",
            than="grid-sync",
        ),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(33, 36),
            128,
            "what is saved are loads of one sector",
            than="grid-sync",
            tolerance=1e-9,
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-27",
            2048,
            (("pivot-in-register", 34.1), ("grid-sync", 46.2), ("row-blocks", 30.4)),
        ),
    ),
)
