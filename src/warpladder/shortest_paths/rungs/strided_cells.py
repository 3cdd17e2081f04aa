"""The same number of cells per thread, but dealt out like cards.

Idea: with T threads in the grid, thread t takes cells t, t + T, t + 2 T and so on. Each has as many
cells as before, and the lanes of a warp always stand side by side.

Below: a run of 16 cells per thread put the lanes of a warp 64 bytes apart. What is good for one CPU
core, to walk along memory, is the wrong shape here: not the next iteration of a thread should be
next door, but the next thread.

Expect: at n = 128, 4 sectors of own cells, 4 of row k, 1 of column k: 9 sectors in 3 requests where
there were 44. The division is back, one per cell, and it is cheap beside a load.

Found: the sectors are gone, the time is not. On an NVIDIA H200 (2026-11-27), at n = 2048, this
takes 41.0 ms and `consecutive-cells` 42.5 ms: its neighbours in a sector were in the caches when
their turn came. For its registers this kernel has six blocks on each multiprocessor there, the
other eight.

Source: beyond

Question: At n = 128 the grid has 1,024 threads, eight whole rows. Which of its three loads does a
thread repeat for each of its cells, for nothing?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung
from warpladder.shortest_paths.rungs._launching import THREADS, resident_with
from warpladder.shortest_paths.rungs._tasks import DISTANCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "relax_every_nth", "run"]

#: As in the rung below, so that only the order differs.
FEWEST_CELLS = 16


@cuda.jit
def relax_every_nth(dist, n, k):
    """Relax the cells whose number is this thread's, counted round the grid."""
    for cell in range(cuda.grid(1), n * n, cuda.gridsize(1)):
        i = cell // n
        j = cell - i * n
        through = dist[i, k] + dist[k, j]
        known = dist[i, j]
        if through < known:
            dist[i, j] = through


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    if n == 0:
        return device.to_host(dist)
    resident = resident_with(device, relax_every_nth, dist, 0, 0)
    blocks = min(resident, blocks_for(n * n, FEWEST_CELLS * THREADS))
    for k in range(n):
        device.launch(relax_every_nth, blocks, THREADS, dist, n, k)
    return device.to_host(dist)


RUNG = Rung(
    name="strided-cells",
    title="A grid as large as the GPU, every T-th cell per thread",
    source="beyond",
    run=run,
    task=DISTANCES,
    bound=Bound("dram", "n times the matrix read: 4 n**3 bytes, and n launches"),
    kernels=(relax_every_nth,),
    predicts=(
        Prediction(
            "global_load_sectors_per_request", "==", 3, 128, "4 + 4 + 1 sectors in three requests"
        ),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(9, 44),
            128,
            "the same loads by the same number of threads, side by side",
            than="consecutive-cells",
            tolerance=1e-9,
        ),
    ),
    found=(
        Found(
            "NVIDIA H200",
            "2026-11-27",
            2048,
            (("strided-cells", 41.0), ("consecutive-cells", 42.5)),
        ),
    ),
)
