"""The loop unrolled: four comparisons to a step.

Idea: take four ids of the other row at a time. The loads do not depend on one another, so all four
are on their way before the first has come (instruction-level parallelism), and the question whether
the loop goes on is asked once for four. What a comparison says is added as 0 or 1, without asking
whether to add.

Below: each step of the loop had one load, waited for it, and two branches. And it had an address of
its own to work out: an index may be negative, as in Python, and then counts from the end. Four
neighbours have one address, and an unsigned index is never negative.

The host fills every row up to a multiple of four. A filler is 0, and 0 is never looked for.

Expect: the same loads. For an id that is looked for, at n = 2, the inner loop had 36 + 1 branches
to go on and 36 to count; now it has 9 + 1. IM found 20 % by `#pragma unroll`, with 1.7 s for 1,000
rows. Compilers unroll such loops by themselves today, but they must keep to what the loop says: of
25 instructions to a comparison (`warpladder sass`, for 9.0) the address costs most, and here it is
6 instructions in all. That shows only where instructions limit: the loads of a warp still come from
31 rows, and the next step is about them.

Source: IM unroll

Question: A row has 37 ids. How many places does it take, and how many branches to go on does the
inner loop over it have, here and one id at a time?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, int32, uint32

from warpladder.device.grids import blocks_for
from warpladder.overlap_join.rungs._launching import count_pairs, rows_apart
from warpladder.overlap_join.rungs._tasks import SHARED_IDS_BY_ONE_THREAD
from warpladder.overlap_join.rungs.pair_per_thread import BLOCK
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["RUNG", "compare_half_unrolled", "count_in", "run"]


@cuda.jit(device=True)
def count_in(ids, first, room, wanted):
    """Return how often an id is among the ``room`` ids from ``first`` on, four at a time."""
    count = int32(0)
    for m in range(first, first + room, 4):
        k = uint32(m)
        a, b, c, d = ids[k], ids[k + 1], ids[k + 2], ids[k + 3]
        count = int32(count + (a == wanted) + (b == wanted) + (c == wanted) + (d == wanted))
    return count


@cuda.jit
def compare_half_unrolled(heap, at, room, shared):
    """Compare the two rows of this thread, if the first one comes first."""
    j, i = cuda.grid(2)
    if i < j < len(shared):
        left, right = at[i] + 1, at[j] + 1
        count = 0
        for k in range(room):
            wanted = heap[left + k]
            if wanted != 0:
                count += count_in(heap, right, room, wanted)
        shared[i, j] = count
        shared[j, i] = count


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return how many ids each two rows share."""
    n = len(problem.rows)
    grid = blocks_for(n, BLOCK[0]), blocks_for(n, BLOCK[1])
    layout = rows_apart(device, problem.rows)
    return count_pairs(device, compare_half_unrolled, n, grid, BLOCK, *layout)


RUNG = Rung(
    name="unrolled",
    title="Four comparisons to a step of the loop",
    source="IM unroll",
    run=run,
    task=SHARED_IDS_BY_ONE_THREAD,
    bound=Bound("shared", "a line of L1 for each comparison of n**2 / 2 pairs, one a clock"),
    kernels=(compare_half_unrolled,),
    predicts=(
        Prediction(
            "branches",
            "==",
            Ratio(449, 2717),
            2,
            "36 ids: 10 + 2 to each where it was 73 + 2; and 17 besides",
            than="upper-triangle",
            tolerance=1e-9,
        ),
        Prediction("global_load_requests", "==", 1, 32, "the same ids", than="upper-triangle"),
    ),
)
