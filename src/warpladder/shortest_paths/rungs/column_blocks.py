"""The same with columns: a block per piece of a column.

Idea: turn it round. A block has 256 neighbouring rows of one column j, and shares `dist[k, j]`. The
arithmetic is the same, the shared entry is as good as before, and there are as many blocks.

Below: the threads of a block stood side by side in a row, and rows lie along memory.

Expect: disaster. The lanes of a warp read `dist[i, k]` and `dist[i, j]` for 32 rows i, each in a
sector of its own: 32 sectors per request instead of 4, 1 + 4 * (32 + 32) = 257 per column instead
of 33. Which index belongs to `threadIdx.x` is not a matter of taste.

Source: HB exploration 4

Question: Suppose that the matrix lay in memory column by column. Which of `row-blocks` and this
rung would then load 33 sectors where the other loads 257?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda, int32

from warpladder.device.grids import blocks_for
from warpladder.rung import Bound, Prediction, Ratio, Rung
from warpladder.shortest_paths.rungs._launching import THREADS
from warpladder.shortest_paths.rungs._tasks import DISTANCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "relax_column", "run"]


@cuda.jit
def relax_column(dist, n, k):
    """Relax a piece of column ``blockIdx.y`` through vertex k."""
    pivot = cuda.shared.array(1, int32)
    j = cuda.blockIdx.y
    i = cuda.grid(2)[0]
    if cuda.threadIdx.x == 0:
        pivot[0] = dist[k, j]
    cuda.syncthreads()
    if i < n:
        through = dist[i, k] + pivot[0]
        known = dist[i, j]
        if through < known:
            dist[i, j] = through


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    for k in range(n):
        device.launch(relax_column, (blocks_for(n, THREADS), n), THREADS, dist, n, k)
    return device.to_host(dist)


RUNG = Rung(
    name="column-blocks",
    title="A block per piece of a column: a step back",
    source="HB exploration 4",
    run=run,
    task=DISTANCES,
    bound=Bound("dram", "n times the matrix, a sector for every number: 64 n**3 bytes"),
    kernels=(relax_column,),
    predicts=(
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(257, 33),
            128,
            "every lane reads from a row, and so a sector, of its own",
            than="row-blocks",
            tolerance=1e-9,
        ),
        Prediction(
            "load_utilisation_32", "==", 12.5, 128, "4 of 32 bytes of each sector are asked for"
        ),
    ),
    limits="a grid has at most 65,535 blocks along y, and a column takes one",
    max_n=65535,
)
