"""Pairs of a left row and a counter, each looked at by its ids.

Where several right rows are folded into one counter, it tells how many ids the left row shares with
all of them together. If that is enough, each of them may be one that counts, and has to be compared
with the left row.

A block takes the candidates of one left row. It sets a bit in shared memory for each id of the row,
at a place that follows from the id. Then a warp goes along the ids of a right row. Most find no bit
set, and are done. The others are looked up in the left row, by halving.
"""

from __future__ import annotations

from numba import cuda, int32, uint32

from warpladder.device.grids import WARP
from warpladder.device.kernel_cache import cached
from warpladder.overlap_join.gpu_counters.counting import ALL, LATER
from warpladder.overlap_join.gpu_counters.prefix import sum_warp
from warpladder.overlap_join.measures import counts

__all__ = ["THREADS", "check_candidates"]

THREADS = 256
#: Bits in shared memory, 4 KiB of them: of a row of 1,000 ids one in 33 is set.
_BITS = 15
_WORDS = 1 << (_BITS - 5)
#: Multiplied by this, the golden ratio's part of 2**32, ids that are near end up far apart.
_GOLDEN = 2654435769


@cuda.jit(device=True)
def bit_of(code):
    """Return which bit stands for an id."""
    return uint32(uint32(code * _GOLDEN) >> (32 - _BITS))


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
    runs, run_begins, run_lengths, their_counters, their_rows, counters, fold,
    starts, items, right_starts, right_items,
    meeting, offset, right_first, measure, threshold, of_left, of_right,
):  # fmt: skip
    """Count the pairs among candidates, which stand in runs, for the rows of both sides."""
    bits = cuda.shared.array(_WORDS, uint32)
    t = cuda.threadIdx.x
    lane, warp = t % WARP, t // WARP
    right_rows = right_starts.shape[0] - 1
    run = cuda.blockIdx.x
    while run < runs:
        first_candidate, candidates = run_begins[run], run_lengths[run]
        row = their_rows[first_candidate]
        begin, end = starts[row], starts[row + 1]
        word = t
        while word < _WORDS:
            bits[word] = 0
            word += THREADS
        cuda.syncthreads()
        i = begin + t
        while i < end:
            bit = bit_of(items[i])
            cuda.atomic.or_(bits, bit >> 5, uint32(uint32(1) << (bit & 31)))
            i += THREADS
        cuda.syncthreads()
        me = row + offset
        turn = warp
        while turn < candidates * fold:
            which = first_candidate + turn // fold
            right = their_counters[which] + turn % fold * counters
            met = meeting == ALL or right > me or (meeting != LATER and right < me)
            if right < right_rows and met:
                right_begin, right_end = right_starts[right], right_starts[right + 1]
                shared = int32(0)
                i = right_begin + lane
                while i < right_end:
                    code = right_items[i]
                    bit = bit_of(code)
                    if (bits[bit >> 5] >> (bit & 31)) & 1:
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
            turn += THREADS // WARP
        cuda.syncthreads()
        run += cuda.gridDim.x
