"""The pivot entry stays in a register along a run of consecutive cells.

Idea: a thread has a run of cells, one behind the other, and all of a row share `dist[i, k]`. So it
reads that entry when it begins and whenever it comes to another row, and keeps it in between. This
is the source's last version as it stands: its runs, its grid that is as large as the GPU, its flags
between steps, of which only the flaw is mended (`flag-barrier`).

What is kept must not change. In step k it does not: `dist[i, k]` would have to improve by way of
k itself, and `dist[k, k]` is not below 0. At the next step all of it is read anew.

The source moves on behind the last cell of a run too, and reads the entry of the row that comes
there, which nobody needs. It keeps the row within the matrix for that, and so does this kernel.

Below: a thread's next cell lay in another row, so that each cell cost three loads. That is how
`grid-sync` and `flag-barrier` walk; the source never did, and its gain is measured against runs
that load three times.

Expect: at n = 128 a run has 16 cells, an eighth of a row. A warp loads its pivots once, two numbers
for each of 16 cells, and once more for the four lanes whose run ends with a row: 34 requests where
`consecutive-cells` makes 48. What is saved are the cheap ones, of 4 sectors where a cell takes
32 + 8 + 4, so that 22,528 sectors of a step become 20,735 and no fewer. The source gained more than
that: a load that is not made does not wait either.

Found: it loses. On an NVIDIA H200 (2026-11-27), at n = 2048, it takes 416 ms, `flag-barrier` 374 ms
and `grid-sync`, which meets otherwise, 46.2 ms: in the first two most of it is meetings. Nor does
the register gain anything: with three loads for each cell and nothing kept the same runs take 98 %
of the time (`benchmarks/gpu_variants.py`). The loads that it saves find their sectors in a cache,
and the compiler puts a branch around the reload at a row's end, in every step of the loop (BSSY and
BSYNC in `warpladder sass --full`), where without the register there is none. For the source, on a
GTX 960, it won: 2,730 against 3,206, taken for ms.

Source: CF E, listing 7

Question: Which of the 34 requests that a warp makes in a step at n = 128 does nobody need, and
which lanes make it?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung
from warpladder.shortest_paths.rungs._launching import MAX_REGISTERS, THREADS, resident_together
from warpladder.shortest_paths.rungs._tasks import DISTANCES_BY_SPINNING
from warpladder.shortest_paths.rungs.consecutive_cells import SHORTEST_RUN
from warpladder.shortest_paths.rungs.flag_barrier import meet

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "close_by_runs", "run"]


@cuda.jit(max_registers=MAX_REGISTERS)
def close_by_runs(dist, n, length, flags):
    """Replace weights by distances, in place; ``flags`` has a zero for every block."""
    first = cuda.grid(1) * length
    cells = min(length, n * n - first)
    for k in range(n):
        if cells > 0:
            i = first // n
            j = first - i * n
            pivot = dist[i, k]
            for _ in range(cells):
                through = pivot + dist[k, j]
                known = dist[i, j]
                if through < known:
                    dist[i, j] = through
                j += 1
                if j == n:
                    i = min(i + 1, n - 1)
                    j = 0
                    pivot = dist[i, k]
        meet(flags, k + 1)


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    if n:
        length = max(SHORTEST_RUN, blocks_for(n * n, resident_together(device) * THREADS))
        blocks = blocks_for(n * n, length * THREADS)
        flags = device.full(blocks, 0, np.int32)
        device.launch(close_by_runs, blocks, THREADS, dist, n, length, flags)
    return device.to_host(dist)


RUNG = Rung(
    name="pivot-in-run",
    title="A run of consecutive cells per thread, the pivot entry in a register",
    source="CF E, listing 7",
    run=run,
    task=DISTANCES_BY_SPINNING,
    bound=Bound("latency", "n meetings of all blocks, or n times the matrix read: 4 n**3 bytes"),
    kernels=(close_by_runs,),
    predicts=(
        Prediction("launches", "==", 1, 128, "the grid meets inside the kernel"),
        Prediction(
            "global_load_requests",
            "==",
            Ratio(34, 48),
            128,
            "a pivot per run, and one behind the last run of a row, instead of one per cell",
            than="consecutive-cells",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(20_735, 22_528),
            128,
            "what is saved are loads of 4 sectors, where a cell takes 32; the last row comes twice",
            than="consecutive-cells",
            tolerance=1e-9,
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-27",
            2048,
            (("pivot-in-run", 416.0), ("flag-barrier", 374.0), ("grid-sync", 46.2)),
        ),
    ),
)
