"""All pairs in one launch: a thread for each, in whole warps.

Idea: the pairs of rows form a square, so the grid is one: along y the one row, along x the other. A
block has 32 x 8 threads, and a warp compares one row with 32 neighbouring ones. No two threads
write to one place, so that nothing has to be synchronised.

Below: each launch had one row, and each warp one thread. Here there is one launch, and 31 or 32
threads of a warp have a pair.

Expect: at n = 32 a warp does what 31 warps did, in 1/31 of the requests. The sectors remain as many
as before: threads of a warp read 31 rows at the same place, and rows lie far apart. So a request
for ids to compare with takes 31 sectors, 27 on average over all requests, where one for 32
neighbouring ids takes 4. Caches help, for the other ids of a sector are next; but the cache, too,
takes a line of 128 bytes at a time, and so a clock for each thread. That limits, not instructions.

Source: beyond

Question: How many pairs do the threads compare at n = 64, and how many would be enough?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.overlap_join.rungs._launching import count_pairs, rows_apart
from warpladder.overlap_join.rungs._tasks import SHARED_IDS_BY_ONE_THREAD
from warpladder.overlap_join.rungs.row_against_chunk import shared_by
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["BLOCK", "RUNG", "compare_all", "run"]

#: Threads along x, one warp, and along y.
BLOCK = (32, 8)


@cuda.jit
def compare_all(heap, at, room, shared):
    """Compare the two rows of this thread."""
    j, i = cuda.grid(2)
    if max(i, j) < len(shared) and i != j:
        shared[i, j] = shared_by(heap, at[i], at[j], room)


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return how many ids each two rows share."""
    n = len(problem.rows)
    grid = blocks_for(n, BLOCK[0]), blocks_for(n, BLOCK[1])
    return count_pairs(device, compare_all, n, grid, BLOCK, *rows_apart(device, problem.rows))


RUNG = Rung(
    name="pair-per-thread",
    title="A thread for each pair, in one launch",
    source="beyond",
    run=run,
    task=SHARED_IDS_BY_ONE_THREAD,
    bound=Bound("shared", "a line of L1 for each comparison of n**2 pairs, one a clock"),
    kernels=(compare_all,),
    predicts=(
        Prediction("launches", "==", 1, 32, "all pairs at once"),
        Prediction(
            "global_load_requests",
            "==",
            Ratio(1, 31),
            32,
            "a warp reads for 31 threads at a time",
            than="row-against-chunk",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_sectors_per_request",
            "==",
            Ratio(58_328, 2_184),
            32,
            "31 rows far apart where ids are compared, one row where they are taken",
            tolerance=1e-9,
        ),
    ),
)
