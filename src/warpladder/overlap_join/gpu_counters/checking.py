"""Pairs of a left row and a counter, each looked at by its ids.

Where several right rows are folded into one counter, it tells how many ids the left row shares with
all of them together. If that is enough, each of them may be one that counts. A warp takes each: it
goes along the right row's ids and looks each of them up in the left row, by halving.
"""

from __future__ import annotations

from numba import cuda, int32

from warpladder.device.grids import WARP
from warpladder.device.kernel_cache import cached
from warpladder.overlap_join.gpu_counters.counting import ALL, LATER
from warpladder.overlap_join.gpu_counters.prefix import sum_warp
from warpladder.overlap_join.measures import counts

__all__ = ["check_candidates"]


@cuda.jit(device=True)
def place_among(items, begin, end, code):
    """Return where an id stands among ascending ones, or would."""
    while begin < end:
        middle = (begin + end) // 2
        if items[middle] < code:
            begin = middle + 1
        else:
            end = middle
    return begin


@cached
@cuda.jit
def check_candidates(
    candidates, their_counters, their_rows, counters, fold,
    starts, items, right_starts, right_items,
    meeting, offset, right_first, measure, threshold, of_left, of_right,
):  # fmt: skip
    """Count the pairs among candidates for the rows of both sides."""
    lane = cuda.threadIdx.x % WARP
    right_rows = right_starts.shape[0] - 1
    turn = cuda.grid(1) // WARP
    while turn < candidates * fold:
        which = turn // fold
        right = their_counters[which] + turn % fold * counters
        row = their_rows[which]
        me = row + offset
        met = meeting == ALL or right > me or (meeting != LATER and right < me)
        if right < right_rows and met:
            begin, end = starts[row], starts[row + 1]
            right_begin, right_end = right_starts[right], right_starts[right + 1]
            shared = int32(0)
            i = right_begin + lane
            while i < right_end:
                code = right_items[i]
                place = place_among(items, begin, end, code)
                if place < end and items[place] == code:
                    shared = int32(shared + 1)
                i += WARP
            shared = sum_warp(shared)
            if lane == 0 and shared > 0:
                sizes = end - begin, right_end - right_begin
                if counts(measure, threshold, shared, sizes[0], sizes[1]):
                    cuda.atomic.add(of_left, row, 1)
                    cuda.atomic.add(of_right, right_first + right, 1)
        turn += cuda.gridsize(1) // WARP
