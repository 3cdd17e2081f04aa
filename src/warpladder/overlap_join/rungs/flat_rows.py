"""Flat rows: one matrix in place of pointers to rows.

Idea: put all rows into one array, each as long as the longest and filled up to whole warps, and
leave the id of the row out of it. Where an id is then follows from its row and place. The warps of
a block read 32 neighbouring ids that begin at a line of 128 bytes: accesses are *coalesced*.

Below: a warp first loaded two pointers, and then waited for them to know where to read. The ids of
a row stood behind the id of the row itself, so the 128 bytes of a warp began in the middle of a
sector and touched a fifth one.

Expect: little. At n = 2 a warp makes 2 of 39 requests fewer. All but one of the other 37 fetch one
id for the whole warp, in a sector that serves eight steps, however rows are laid out. The one that
is coalesced is for the ids of the first row: 4 sectors where it was 5; and 4 where it was 1 for the
last 4 ids of 36, because their warp reads the fillers, too.

IM saw no change either, until the program was compiled for the card: then 0.66 s for 1,000 rows
with flags and 0.87 s with atomics, and 26 minutes for 50,000 rows. Its flat rows keep their own id,
1,001 numbers each, so that only one in eight begins at a sector.

Found: on an NVIDIA H200 (2026-11-23), with 1000 rows, this takes 112 ms and `shared-flags` 107 ms.
The pointers that are saved were in the cache; what limits is how threads count, not where rows lie.

Source: IM coalesced access

Question: Rows are filled up to whole warps. What part of its places is fillers in a row of 36 ids,
and what part in one of 1,000?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba import cuda, int32

from warpladder.overlap_join.rungs._launching import (
    MAX_THREADS,
    count_pairs,
    flat_rows,
    threads_for,
)
from warpladder.overlap_join.rungs._tasks import SHARED_IDS
from warpladder.overlap_join.rungs.shared_flags import added_up
from warpladder.overlap_join.rungs.unrolled import count_in
from warpladder.rung import Bound, Found, Prediction, Ratio, Rung

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["RUNG", "count_in_flat_rows", "run"]


@cuda.jit
def count_in_flat_rows(ids, width, room, shared):
    """Look for one id of row ``blockIdx.y`` in row ``blockIdx.x``."""
    flags = cuda.shared.array(MAX_THREADS, int32)
    i, j, t = cuda.blockIdx.y, cuda.blockIdx.x, cuda.threadIdx.x
    if i >= j:
        return
    flags[t] = 0
    wanted = ids[i * width + t]
    if wanted != 0:
        flags[t] = count_in(ids, j * width, room, wanted)
    cuda.syncthreads()
    if t == 0:
        count = added_up(flags)
        shared[i, j] = count
        shared[j, i] = count


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return how many ids each two rows share."""
    n = len(problem.rows)
    layout = flat_rows(device, problem.rows)
    threads = threads_for(layout.width)
    return count_pairs(device, count_in_flat_rows, n, (n, n), threads, *layout)


RUNG = Rung(
    name="flat-rows",
    title="One matrix in place of pointers to rows",
    source="IM coalesced access",
    run=run,
    task=SHARED_IDS,
    bound=Bound("issue", "n**2 / 2 pairs, each id with each, then the flags one by one"),
    kernels=(count_in_flat_rows,),
    predicts=(
        Prediction(
            "global_load_requests",
            "==",
            Ratio(74, 78),
            2,
            "2 warps, and neither loads pointers",
            than="shared-flags",
            tolerance=1e-9,
        ),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(80, 82),
            2,
            "4 pointers less; 4 sectors for 32 ids, not 5; 4 for 4 ids and fillers, not 1",
            than="shared-flags",
            tolerance=1e-9,
        ),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row takes one",
    max_n=65535,
    found=(
        Found("NVIDIA H200", "2026-11-23", 1000, (("flat-rows", 112.0), ("shared-flags", 107.0))),
    ),
)
