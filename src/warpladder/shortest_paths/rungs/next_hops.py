"""The path itself: a matrix of next hops beside the distances.

Idea: `hops[i, j]` is the vertex to step to from i on the way to j: at first j where there is an
edge. When the way through k is better, the way to j begins like the way to k, so
`hops[i, j] = hops[i, k]`. To walk a path, follow the hops: i, then h = hops[i, j], then hops[h, j],
until j. There is no need to store more than one vertex per pair.

Ties: of ways that are equally short the first one found stays, because only a strictly shorter way
replaces another. An edge wins over a detour of the same length, and of two detours the one that
could be put together after fewer steps. The oracle obeys the same rule, so hops are compared
exactly and not merely as *some* shortest path.

In place, this is as safe as before: in step k no cell of column k improves, so `hops[i, k]` is not
written while others read it.

Below: the distances alone tell how far it is, not which way to go.

Expect: one more load per row, of the hop that all its cells would copy: 10 requests where there
were 9 at n = 128. Each improvement stores two numbers instead of one: exactly twice the stores.

Source: HB exploration 8

Question: Suppose that only the weights and the distances were kept. How could the first step of a
shortest path from i to j be found from them, and at what cost?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.rung import Bound, Prediction, Ratio, Rung
from warpladder.shortest_paths.rungs._launching import MAX_REGISTERS, THREADS, resident_together
from warpladder.shortest_paths.rungs._tasks import NEXT_HOPS, first_hops

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "close_with_hops", "run"]


@cuda.jit(max_registers=MAX_REGISTERS)
def close_with_hops(dist, hops, n):
    """Replace weights by distances and first hops by next hops, in place."""
    grid = cuda.cg.this_grid()
    lane = cuda.laneid
    first = cuda.grid(1) >> 5
    warps = cuda.gridsize(1) >> 5
    for k in range(n):
        # Ranges in place of these loops would need more registers than there are for four blocks.
        i = first
        while i < n:
            pivot = dist[i, k]
            hop = hops[i, k]
            j = lane
            while j < n:
                through = pivot + dist[k, j]
                if through < dist[i, j]:
                    dist[i, j] = through
                    hops[i, j] = hop
                j += 32
            i += warps
        grid.sync()


def run(device: Device, problem: Weights) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Return the distances and the next hops, -1 where there is no path."""
    n = len(problem.matrix)
    dist = device.to_device(problem.matrix)
    hops = device.to_device(first_hops(problem))
    blocks = min(resident_together(device), blocks_for(32 * n, THREADS))
    if blocks:
        device.launch(close_with_hops, blocks, THREADS, dist, hops, n, cooperative=True)
    return device.to_host(dist), device.to_host(hops)


RUNG = Rung(
    name="next-hops",
    title="Next hops carried along with the distances",
    source="HB exploration 8",
    run=run,
    task=NEXT_HOPS,
    bound=Bound("dram", "n times the matrix of distances read: 4 n**3 bytes, and n grid barriers"),
    kernels=(close_with_hops,),
    predicts=(
        Prediction(
            "global_load_requests",
            "==",
            Ratio(10, 9),
            128,
            "one more load per row",
            than="pivot-in-register",
            tolerance=1e-9,
        ),
        Prediction(
            "global_store_requests",
            "==",
            2,
            128,
            "an improvement stores a distance and a hop",
            than="pivot-in-register",
        ),
    ),
)
