"""A thread for each id, counting by atomic additions.

Idea: a block for each pair, and in it a thread for each id of the first row: the outer loop is
gone. All threads of a block count into one place. What one of them does to it, load, add and store,
must not come between another one's: an atomic addition does the three as one.

Below: threads of a warp compared ids of 31 rows, which lie far apart in memory. Here all of them
compare with the same id of one row: one sector serves the warp.

The source's kernel added without atomics, and its counts varied from launch to launch: that is the
wrong rung `id-per-thread`. This mends it by the change of one line. Blocks below the diagonal
return at once. A block has whole warps: 1,000 ids take 1,024 threads, 36 take 64.

Expect: at n = 32 about as many requests as before, for here a request serves one pair and 32 of its
ids, there it served 31 pairs and one id of each; but in one sector, with 5 for the ids of the first
row, which begin behind its own id and so inside a sector. At n = 2 rows share 10 ids: 20 threads
add, one after the other at either place.

IM measured 1.5 s for 1,000 rows and 24 s for 4,000.

Source: IM atomics

Question: At n = 2 the two rows share 10 ids, so 20 threads add. How many additions would be left if
each warp counted its own finds first and one thread added them?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda

from warpladder.overlap_join.rungs._launching import count_pairs, rows_apart, threads_for
from warpladder.overlap_join.rungs._tasks import SHARED_IDS
from warpladder.overlap_join.rungs.unrolled import count_in
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["RUNG", "count_by_atomics", "run"]


@cuda.jit
def count_by_atomics(heap, at, room, shared):
    """Look for one id of row ``blockIdx.y`` in row ``blockIdx.x``."""
    i, j, t = cuda.blockIdx.y, cuda.blockIdx.x, cuda.threadIdx.x
    if i < j and t < room:
        wanted = heap[at[i] + 1 + t]
        if wanted != 0 and count_in(heap, at[j] + 1, room, wanted):
            cuda.atomic.add(shared, (i, j), 1)
            cuda.atomic.add(shared, (j, i), 1)


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return how many ids each two rows share."""
    n = len(problem.rows)
    layout = rows_apart(device, problem.rows)
    threads = threads_for(layout.room)
    return count_pairs(device, count_by_atomics, n, (n, n), threads, *layout)


RUNG = Rung(
    name="atomics",
    title="A block for each pair, a thread for each id, atomic additions",
    source="IM atomics",
    run=run,
    task=SHARED_IDS,
    bound=Bound("issue", "n**2 / 2 pairs, each id with each, over the rate of comparisons"),
    kernels=(count_by_atomics,),
    predicts=(
        Prediction(
            "global_load_sectors_per_request",
            "==",
            Ratio(82, 78),
            2,
            "5 for 32 ids of the first row, 1 for the last 4, and 1 for each of 76 others",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_sectors_per_request",
            "<",
            1 / 10,
            32,
            "a warp reads from one row, not from up to 31",
            than="unrolled",
        ),
        Prediction("atomic_threads", "==", 20, 2, "10 ids in common, each added at two places"),
        Prediction("atomic_passes", "==", 20, 2, "all at one address take turns"),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row takes one",
    max_n=65535,
)
