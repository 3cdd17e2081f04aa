"""A warp for each pair, which counts by ballots.

Idea: a *ballot* gives every thread of a warp a word with one bit for each of them: who has found
its id. `popc` counts the bits. So a warp can count without memory: it takes the first row 32 ids at
a time, and adds up the ballots. With a pair to a warp there is nobody else to wait for.

Below: flags went through shared memory, the block met at a barrier, and one thread added them up,
one by one, while all others waited.

All threads of a warp must be there to vote. IM's block of 1,000 threads ends in a warp of 8: for
such a one the mask of a ballot would have to name those 8. Here a block is 8 whole warps, for 8
pairs of one row; a thread beyond the end of its row looks for nothing and votes no.

Expect: neither barriers nor shared memory. At n = 2 the pair takes 2 ballots, one for 32 ids and
one for the other 4. Loads remain: each warp reads the whole other row for every 32 ids of its own.

Source: beyond

Question: Two rows have 100 ids each. How many ballots does their pair take, and how many load
requests?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.device.grids import WARP, blocks_for
from warpladder.overlap_join.rungs._launching import count_pairs, flat_rows
from warpladder.overlap_join.rungs._tasks import SHARED_IDS
from warpladder.overlap_join.rungs.unrolled import count_in
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["RUNG", "count_by_ballots", "run"]

EVERYBODY = 0xFFFFFFFF
WARPS = 8


@cuda.jit
def count_by_ballots(ids, width, room, shared):
    """Count what row ``blockIdx.y`` shares with the row of this warp."""
    i = cuda.blockIdx.y
    j = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    lane = cuda.threadIdx.x
    if i < j < len(shared):
        count = 0
        for first in range(0, width, WARP):
            wanted = ids[i * width + first + lane]
            found = 0
            if wanted != 0:
                found = count_in(ids, j * width, room, wanted)
            count += cuda.popc(cuda.ballot_sync(EVERYBODY, found != 0))
        if lane == 0:
            shared[i, j] = count
            shared[j, i] = count


def run(device: Device, problem: Problem, warps: int = WARPS) -> NDArray[np.int32]:
    """Return how many ids each two rows share."""
    n = len(problem.rows)
    layout = flat_rows(device, problem.rows)
    grid, block = (blocks_for(n, warps), n), (WARP, warps)
    return count_pairs(device, count_by_ballots, n, grid, block, *layout)


RUNG = Rung(
    name="ballot-count",
    title="A warp for each pair, counting by ballots",
    source="beyond",
    run=run,
    task=SHARED_IDS,
    bound=Bound("issue", "n**2 / 2 pairs, each id with each, over the rate of comparisons"),
    kernels=(count_by_ballots,),
    predicts=(
        Prediction("shuffles", "==", 2, 2, "a ballot for every 32 of 36 ids"),
        Prediction("barriers", "==", 0, 2, "a warp waits for no other"),
        Prediction("shared_load_requests", "==", 0, 2, "no flags"),
        Prediction("global_load_requests", "==", 1, 2, "the same comparisons", than="flat-rows"),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row takes one",
    max_n=65535,
)
