"""One row against a chunk: a block of one thread for every row of the chunk.

Idea: the source begins with what fits: it loads a chunk of rows and compares one row with all of
them in a launch. Each block takes one row of the chunk and has a single thread, which runs through
two loops: for every id of the one row, over all ids of the other. Then the next row has its launch.

Below: one core walked through all pairs, one after the other. Here n pairs are under way at a time.
In exchange a pair costs more: the merge of two rows becomes a comparison of each id with each.

Expect: n launches, and warps in which 1 of 32 threads works, because a warp belongs to one block:
31/32 of what the GPU can issue is lost. Each load brings a sector of 32 bytes for one number of 4.
At n = 2 either launch has one pair: two starts of rows, 36 ids, and 36 * 36 ids to compare them
with, 1334 loads.

IM measured 6.65 s for 50 rows and 315 s for 1,000, with the file read again for every row, on a GTX
1080 Ti.

Source: IM row against chunk

Question: With 32 threads in a block and n = 32, which part of the load requests is left?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda

from warpladder.device.grids import blocks_for
from warpladder.overlap_join.rungs._launching import rows_apart
from warpladder.overlap_join.rungs._tasks import SHARED_IDS_ROW_BY_ROW
from warpladder.rung import Bound, Prediction, Rung

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["RUNG", "compare_with_chunk", "run", "shared_by"]


@cuda.jit(device=True)
def shared_by(heap, left, right, room):
    """Return how many ids of the row that begins at ``left`` the one at ``right`` has."""
    count = 0
    for k in range(1, room + 1):
        wanted = heap[left + k]
        if wanted != 0:
            for m in range(1, room + 1):
                if heap[right + m] == wanted:
                    count += 1
    return count


@cuda.jit
def compare_with_chunk(heap, at, room, shared, i):
    """Compare row i with the row of this thread."""
    j = cuda.grid(1)
    if j < len(at) and j != i:
        shared[i, j] = shared_by(heap, at[i], at[j], room)


def run(device: Device, problem: Problem, threads: int = 1) -> NDArray[np.int32]:
    """Return how many ids each two rows share."""
    n = len(problem.rows)
    shared = device.full((n, n), 0, np.int32)
    layout = rows_apart(device, problem.rows)
    for i in range(n):
        device.launch(compare_with_chunk, blocks_for(n, threads), threads, *layout, shared, i)
    return device.to_host(shared)


RUNG = Rung(
    name="row-against-chunk",
    title="One row against all, in blocks of one thread",
    source="IM row against chunk",
    run=run,
    task=SHARED_IDS_ROW_BY_ROW,
    bound=Bound("latency", "n launches, each as long as a thread takes for 1,000,000 comparisons"),
    kernels=(compare_with_chunk,),
    predicts=(
        Prediction("launches", "==", 2, 2, "one for each row"),
        Prediction("threads_per_instruction", "==", 1, 2, "a block has one thread, a warp one too"),
        Prediction(
            "global_load_requests", "==", 2668, 2, "2 pairs: 2 starts, 36 ids, 36 * 36 ids each"
        ),
        Prediction("global_load_sectors_per_request", "==", 1, 2, "32 bytes for 4"),
    ),
)
