"""The wrong rung of row blocks: threads beyond the matrix return before the barrier.

Idea: as in `row-blocks`, a block relaxes a piece of a row and shares the pivot entry. The source
first sends the threads away that have no column, then fetches the pivot, then waits.

Fault: a barrier waits for all threads of a block. At n = 97 the last 159 of 256 have returned. CUDA
says only that a barrier in conditional code is allowed if all threads come to the same decision;
here they do not. GPUs of today count threads that have exited as arrived, so that it works as often
as it is tried, until a compiler moves something, or a barrier that counts is used.

Mended by: `row-blocks`.

Source: HB fwStepK

Question: At n = 97, which warps of the block have left as a whole and which in part, and for which
n does nobody leave?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda, int32

from warpladder.device.grids import blocks_for
from warpladder.rung import Bound, Rung, WrongRung
from warpladder.shortest_paths.rungs._launching import THREADS
from warpladder.shortest_paths.rungs._tasks import DISTANCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["WRONG", "relax_row_or_leave", "run"]


@cuda.jit
def relax_row_or_leave(dist, n, k):
    """Relax a piece of row ``blockIdx.y``; threads without a column leave at once."""
    pivot = cuda.shared.array(1, int32)
    i = cuda.blockIdx.y
    j = cuda.grid(2)[0]
    if j >= n:
        return
    if cuda.threadIdx.x == 0:
        pivot[0] = dist[i, k]
    cuda.syncthreads()
    through = pivot[0] + dist[k, j]
    known = dist[i, j]
    if through < known:
        dist[i, j] = through


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances, where the barrier forgives."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    for k in range(n):
        device.launch(relax_row_or_leave, (blocks_for(n, THREADS), n), THREADS, dist, n, k)
    return device.to_host(dist)


WRONG = WrongRung(
    rung=Rung(
        name="return-before-barrier",
        title="Row blocks whose idle threads return before the barrier",
        source="HB fwStepK",
        run=run,
        task=DISTANCES,
        bound=Bound("dram", "n times the matrix read: 4 n**3 bytes, and n launches"),
        kernels=(relax_row_or_leave,),
        limits="a grid has at most 65,535 blocks along y, and a row takes one",
        max_n=65535,
    ),
    caught_by="synccheck",
    n=97,
)
