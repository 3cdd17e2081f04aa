"""Rows as bitmaps: 32 ids to a word, and 64 x 64 pairs to a block.

Idea: write a row as one bit for each id that there is. What two rows share is then an AND of words
and a count of bits (`popc`), 32 ids at a time and without a search. And now it is a product of
matrices, with AND for the multiplication: a block takes 64 x 64 pairs, brings 16 words of all their
rows to shared memory, and each thread has 4 x 4 counts in registers: 8 loads feed 16 ANDs.

Below: a warp compared 32 ids of one row with one of the other: 1,000 * 1,000 comparisons to a pair.
Each pair read its rows anew.

Bitmaps lie word by word, not row by row: word w of all rows, one behind the other. So warps read 32
neighbouring words, from both memories, without conflicts. A first kernel sets the bits.

Expect: the work follows the universe, not the rows: 50,000 ids are 1,563 words to a pair, where
rows of 1,000 ids would be 31,250 comparisons of a warp. That is 20 times less. `popc` runs at 16
per clock and multiprocessor, half a warp's, and so it limits. At n = 64 one block has all pairs: 2
words, filled up to 16, of 64 rows and once more of 64, 64 requests, each of 4 sectors.

Where rows are short and the universe is large most words are 0, and all of them are counted: the
rungs above count only what is there.

Source: beyond

Question: A row of 1,000 ids is 4,000 bytes as a list. From how many ids in the universe on does it
take more as a bitmap?
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import cuda, int32, uint32

from warpladder.device.grids import WARP, blocks_for, round_up
from warpladder.overlap_join.rungs._tasks import SHARED_IDS_BY_TILES
from warpladder.rung import Bound, Prediction, Ratio, Rung

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.overlap_join.forms import Rows
    from warpladder.overlap_join.rungs._tasks import Problem

__all__ = ["RUNG", "bitmaps", "count_tiles", "run", "set_bits"]

#: Rows of a tile, and words that are brought at a time.
TILE, DEPTH = 64, 16
#: Threads along either side of the block, and counts along either side of a thread's tile.
SIDE, CELLS = 16, 4
THREADS = SIDE * SIDE


@cuda.jit
def set_bits(starts, items, bitmaps):
    """Set the bits of one row for each warp."""
    i = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    if i < len(starts) - 1:
        for k in range(starts[i] + cuda.threadIdx.x, starts[i + 1], WARP):
            item = items[k]
            cuda.atomic.or_(bitmaps, (item >> 5, i), uint32(1 << (item & 31)))


@cuda.jit
def count_tiles(bitmaps, shared):
    """Count what 64 rows share with 64 others, or with themselves."""
    left = cuda.shared.array((DEPTH, TILE), uint32)
    right = cuda.shared.array((DEPTH, TILE), uint32)
    counts = cuda.local.array((CELLS, CELLS), int32)
    others = cuda.local.array(CELLS, uint32)
    if cuda.blockIdx.y > cuda.blockIdx.x:
        return
    row, column = uint32(cuda.blockIdx.y * TILE), uint32(cuda.blockIdx.x * TILE)
    x, y = uint32(cuda.threadIdx.x), uint32(cuda.threadIdx.y)
    # Of a row of the tile in shared memory, a warp brings one half.
    t = y * SIDE + x
    word, place = t // TILE, t % TILE
    for r in range(CELLS):
        for c in range(CELLS):
            counts[r, c] = 0
    for first in range(0, len(bitmaps), DEPTH):
        for skipped in range(0, DEPTH, THREADS // TILE):
            w = uint32(first + skipped) + word
            left[skipped + word, place] = bitmaps[w, row + place]
            right[skipped + word, place] = bitmaps[w, column + place]
        cuda.syncthreads()
        for k in range(DEPTH):
            for c in range(CELLS):
                others[c] = right[k, x + c * SIDE]
            for r in range(CELLS):
                one = left[k, y + r * SIDE]
                for c in range(CELLS):
                    counts[r, c] += cuda.popc(one & others[c])
        cuda.syncthreads()
    for r in range(CELLS):
        i = row + y + r * SIDE
        for c in range(CELLS):
            j = column + x + c * SIDE
            if i < j < len(shared):
                shared[i, j] = counts[r, c]
                shared[j, i] = counts[r, c]


def bitmaps(device: Device, rows: Rows) -> Any:
    """Return word w of row i at [w, i], rows filled up to whole tiles, on the device."""
    n = len(rows)
    words = round_up(blocks_for(rows.universe, WARP), DEPTH)
    made = device.full((words, round_up(n, TILE)), 0, np.uint32)
    starts, items = device.to_device(rows.starts), device.to_device(rows.items)
    device.launch(set_bits, blocks_for(n, 8), (WARP, 8), starts, items, made)
    return made


def run(device: Device, problem: Problem) -> NDArray[np.int32]:
    """Return how many ids each two rows share."""
    n = len(problem.rows)
    shared = device.full((n, n), 0, np.int32)
    if n:
        made = bitmaps(device, problem.rows)
        tiles = blocks_for(n, TILE)
        device.launch(count_tiles, (tiles, tiles), (SIDE, SIDE), made, shared)
    return device.to_host(shared)


RUNG = Rung(
    name="bitmap-tiles",
    title="Bitmaps in shared tiles, 4 x 4 counts to a thread",
    source="beyond",
    run=run,
    task=SHARED_IDS_BY_TILES,
    bound=Bound("issue", "n**2 / 2 pairs * universe / 32 words, at 16 popc per clock"),
    kernels=(set_bits, count_tiles),
    predicts=(
        Prediction(
            "global_load_requests",
            "==",
            Ratio(253, 17_280),
            64,
            "64 for the words of one tile, 189 to set their bits; 9 to each pair of 1,908 before",
            than="ballot-count",
            tolerance=1e-9,
        ),
        Prediction(
            "shared_load_requests", "==", 1024, 64, "8 for each of 16 words in each of 8 warps"
        ),
        Prediction("shared_bank_conflicts", "==", 0, 64, "neighbours, or one word for half a warp"),
        Prediction("barriers", "==", 16, 64, "8 warps before and behind the 16 words"),
    ),
)
