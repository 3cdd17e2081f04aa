"""Runs of pairs, brought into the order of the rows that they belong to.

Thread blocks finish in any order, so the runs of pairs that they leave stand in any order, each run
in order within. There is a table of runs, by left row and block of right rows. Running sums of
their lengths tell where each belongs.
"""

from __future__ import annotations

from numba import cuda

from warpladder.device.grids import WARP
from warpladder.device.kernel_cache import cached

__all__ = ["copy_runs"]


@cached
@cuda.jit
def copy_runs(begins, lengths, ends, right, shared, ordered_right, ordered_shared):
    """Copy each run to where it belongs, a warp for each."""
    lane = cuda.threadIdx.x % WARP
    run = cuda.grid(1) // WARP
    while run < lengths.size:
        length = lengths[run]
        if length:
            begin, target = begins[run], ends[run] - length
            i = lane
            while i < length:
                ordered_right[target + i] = right[begin + i]
                ordered_shared[target + i] = shared[begin + i]
                i += WARP
        run += cuda.gridsize(1) // WARP
