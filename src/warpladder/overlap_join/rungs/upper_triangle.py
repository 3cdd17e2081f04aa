"""The upper triangle: what row i shares with row j, row j shares with row i.

Idea: of the two threads that have the pairs (i, j) and (j, i), only the one with i < j compares. It
writes the count to both places.

Below: every pair was compared twice, once from either side.

Expect: half of the comparisons. The time follows warps, not threads: one that has pairs on both
sides of the diagonal runs for those on the one side. At n = 64 the warps with rows 0 to 31 along x
run for the first 31 rows along y, the others for the first 63: 94 of 128. For n in the thousands
nearly all warps lie on one side, and half of them return at once.

IM, with a block for each pair, found the same half; the time of this step and the next together,
1.7 s for 1,000 rows and 25 s for 4,000, was less than half of 3.6 s and 58 s.

Source: IM upper triangle

Question: At n = 64 the warps with pairs to compare are 94 of 128. How many of 512 are they at n =
128, and where does their part go as n grows?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.overlap_join.rungs._launching import count_pairs, rows_apart
from warpladder.overlap_join.rungs._tasks import SHARED_IDS_BY_ONE_THREAD
from warpladder.overlap_join.rungs.pair_per_thread import BLOCK
from warpladder.overlap_join.rungs.row_against_chunk import shared_by
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["RUNG", "compare_half", "run"]


@cuda.jit
def compare_half(heap, at, room, shared):
    """Compare the two rows of this thread, if the first one comes first."""
    j, i = cuda.grid(2)
    if i < j < len(shared):
        count = shared_by(heap, at[i], at[j], room)
        shared[i, j] = count
        shared[j, i] = count


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return how many ids each two rows share."""
    n = len(problem.rows)
    grid = blocks_for(n, BLOCK[0]), blocks_for(n, BLOCK[1])
    return count_pairs(device, compare_half, n, grid, BLOCK, *rows_apart(device, problem.rows))


RUNG = Rung(
    name="upper-triangle",
    title="Each pair compared once, its count written twice",
    source="IM upper triangle",
    run=run,
    task=SHARED_IDS_BY_ONE_THREAD,
    bound=Bound("shared", "a line of L1 for each comparison of n**2 / 2 pairs, one a clock"),
    kernels=(compare_half,),
    predicts=(
        Prediction(
            "global_load_requests",
            "==",
            Ratio(6428, 8784),
            64,
            "94 of 128 warps have pairs above the diagonal; tends to half",
            than="pair-per-thread",
            tolerance=1e-9,
        ),
    ),
)
