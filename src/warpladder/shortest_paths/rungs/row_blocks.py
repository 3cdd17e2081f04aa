"""A block per piece of a row, with the entry they all need in shared memory.

Idea: give each block 256 neighbouring columns of one row i. All its threads need the same
`dist[i, k]`, the *pivot entry*. One thread fetches it into shared memory, a barrier makes it known,
and then every thread reads it there. Blocks are numbered by row and piece, so no thread divides.

Threads whose column lies beyond the matrix must not leave before the barrier: a barrier waits for
all threads of the block, and what happens otherwise is undefined. The source's kernel does leave;
it is kept as the wrong rung `return-before-barrier`. It also asks twice whether an entry is "no
path" before it adds. Here "no path" is half the largest integer: the sum fits, and is no
improvement.

Below: each warp read the pivot entry from global memory for itself, and each thread had to divide
to find its row.

Expect: at n = 128 a row is 4 warps (the other 4 of the block are idle): one request for the pivot
and two for each warp, 9 where there were 12; sectors 1 + 4 * (4 + 4) = 33 where there were 36. In
exchange every warp stops at a barrier. When n is no multiple of 32 rows begin anywhere in a sector,
and warps touch five of them: the next rung.

Source: HB fwStepK

Question: At n = 97, how many of a block's 8 warps have columns, and how many come to the barrier?
Try `warpladder explain shortest-paths/row-blocks --n 97`.
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

__all__ = ["RUNG", "relax_row", "run"]


@cuda.jit
def relax_row(dist, n, k):
    """Relax a piece of row ``blockIdx.y`` through vertex k."""
    pivot = cuda.shared.array(1, int32)
    i = cuda.blockIdx.y
    j = cuda.grid(2)[0]
    if cuda.threadIdx.x == 0:
        pivot[0] = dist[i, k]
    cuda.syncthreads()
    if j < n:
        through = pivot[0] + dist[k, j]
        known = dist[i, j]
        if through < known:
            dist[i, j] = through


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    for k in range(n):
        device.launch(relax_row, (blocks_for(n, THREADS), n), THREADS, dist, n, k)
    return device.to_host(dist)


RUNG = Rung(
    name="row-blocks",
    title="A block per piece of a row, the pivot entry in shared memory",
    source="HB fwStepK",
    run=run,
    task=DISTANCES,
    bound=Bound("dram", "n times the matrix read: 4 n**3 bytes, and n launches"),
    kernels=(relax_row,),
    predicts=(
        Prediction(
            "global_load_requests",
            "==",
            Ratio(9, 12),
            128,
            "one load of the pivot per row instead of one per warp",
            than="strided-cells",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(33, 36),
            128,
            "per row 1 + 4 * (4 + 4) sectors",
            than="strided-cells",
            tolerance=1e-9,
        ),
        Prediction(
            "barriers", "==", 128 * 128 * 8, 128, "8 warps of each of 128 blocks, in 128 launches"
        ),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row takes one",
    max_n=65535,
)
