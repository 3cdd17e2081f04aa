"""The wrong rung of row blocks: the barrier behind the pivot entry is left out.

Idea: the source asks to leave the barrier out and see. One thread fetches the pivot entry into
shared memory, and the others read it there, without waiting.

Fault: nobody waits for the fetch. The first warp mostly comes after it, as a GPU keeps a warp
together where it can, though CUDA does not promise that. The others read what shared memory held
before, which is the pivot of another row, or of the step before, or nothing. If they are late
enough all is well: the smaller the block, the later they are. A block of one warp hardly ever
fails, which is how such a kernel passes its tests; the race check reports it there, too.

Mended by: `row-blocks`.

Source: HB exploration 2

Question: In forward order, one warp after the other, the result is right, and in reverse order it
is wrong. Why?
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

__all__ = ["WRONG", "relax_row_at_once", "run"]


@cuda.jit
def relax_row_at_once(dist, n, k):
    """Relax a piece of row ``blockIdx.y`` with whatever stands in shared memory."""
    pivot = cuda.shared.array(1, int32)
    i = cuda.blockIdx.y
    j = cuda.grid(2)[0]
    if cuda.threadIdx.x == 0:
        pivot[0] = dist[i, k]
    if j < n:
        through = pivot[0] + dist[k, j]
        known = dist[i, j]
        if through < known:
            dist[i, j] = through


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return what becomes of the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    for k in range(n):
        device.launch(relax_row_at_once, (blocks_for(n, THREADS), n), THREADS, dist, n, k)
    return device.to_host(dist)


WRONG = WrongRung(
    rung=Rung(
        name="pivot-without-barrier",
        title="Row blocks without the barrier behind the pivot entry",
        source="HB exploration 2",
        run=run,
        task=DISTANCES,
        bound=Bound("dram", "n times the matrix read: 4 n**3 bytes, and n launches"),
        kernels=(relax_row_at_once,),
        limits="a grid has at most 65,535 blocks along y, and a row takes one",
        max_n=65535,
    ),
    caught_by="racecheck",
    n=33,
    visible_under=("warps-reverse",),
)
