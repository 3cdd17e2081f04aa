"""Register tiles in int16: two relaxations in one instruction.

Idea: distances below 16,383 fit into 16 bits, so a word of 32 bits has room for two neighbours of a
row. From compute capability 9.0 on, a GPU adds and compares the halves of words; Numba has no name
for that, but `relax_pairs` is one. The matrix stays where it is and is viewed as words. What comes
from the left serves a whole row, so it goes to shared memory doubled, in both halves of a word. A
thread has 8 x 8 words, twice the cells it had; a tile of 128 x 128 cells takes 128 threads, and
four blocks share a multiprocessor where two did.

A word of the left operand holds two steps. The even one goes to the first half of the operand in
shared memory, the odd one to the second, and the rows of the right operand follow: any order of
the steps will do. The diagonal is left to the kernel of `register-tiles`, one block of a round.

"No path" is 16,383, so that the sum of two of them fits. The weights of the task become smaller as
n grows, so that no distance comes so far.

Below: for int32 a relaxation is one instruction, but half of the bits that it moves are zeros.

Expect: half of everything outside the diagonal. The eight steps of the inner loop are again 512
VIADDMNMX, 32 shared loads and 16 others, but now for 1024 relaxations: if the units take a pair as
fast as a number, 128 per multiprocessor and clock. At n = 256 two tiles of eight are diagonal, so
shared loads fall to (2 + 6 / 2) / 8; bytes to and from memory fall to a half. On 12.0, adding and
comparing pairs are two instructions; before 9.0 a pair takes nine, so that int32 is faster there.

Source: beyond

Question: At n = 384 there are 27 tiles over all rounds, 3 of them on the diagonal. To what part do
shared loads fall there, and to what part as n grows?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, int32, uint32

from warpladder.device.grids import EVERYBODY, round_up
from warpladder.device.instructions import relax_pairs
from warpladder.device.kernel_cache import cached
from warpladder.rung import Bound, Prediction, Ratio, Rung
from warpladder.shortest_paths.gpu_tiles import large
from warpladder.shortest_paths.gpu_tiles.four_cells import load_four, store_four
from warpladder.shortest_paths.gpu_tiles.large import TILE, cell_of
from warpladder.shortest_paths.rungs._launching import padded
from warpladder.shortest_paths.rungs._tasks import DISTANCES_INT16
from warpladder.shortest_paths.rungs.register_tiles import close_diagonal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "THREADS", "relax_cross", "relax_rest", "run"]

WORDS = TILE // 2
THREADS, DEPTH = 128, 16
#: Registers that a thread may have if four blocks of 128 are to share 65,536.
FOUR_BLOCKS = 128
#: Four words more than a tile has rows: threads that transpose 4 x 8 words meet 32 banks.
LEFT = (DEPTH, TILE + 4)
RIGHT = (DEPTH, WORDS)
CELLS = (8, 8)
#: Puts the lower half of a word into both.
BOTH = 0x00010001


@cuda.jit(device=True)
def word_of(place, c):
    """Return which word of a row of the tile is number ``c`` of the 8 at this place."""
    return ((c >> 2) << 5) + (place << 2) + (c & 3)


@cuda.jit(device=True)
def relax_step(best, left, right, k, y, x):
    """Relax the thread's words through row ``k`` of both operands."""
    a = cuda.local.array(8, int32)
    b = cuda.local.array(8, int32)
    for r in range(8):
        a[r] = left[k, cell_of(y, r)]
    for c in range(8):
        b[c] = right[k, word_of(x, c)]
    for r in range(8):
        for c in range(8):
            best[r, c] = relax_pairs(best[r, c], a[r], b[c])


@cuda.jit(device=True)
def relax_tile(words, row, column, pivot, vertices):
    """Relax tile (row, column) through so many vertices from tile ``pivot`` on."""
    left = cuda.shared.array(LEFT, int32, 16)
    right = cuda.shared.array(RIGHT, int32, 16)
    best = cuda.local.array(CELLS, int32)
    # The mask tells the compiler that no index is negative.
    t = cuda.threadIdx.x & (THREADS - 1)
    y, x = t >> 3, t & 7
    # As of single numbers: read before anything is written, addresses found anew in the end.
    for r in range(8):
        i = row * TILE + cell_of(y, r)
        for c in range(0, 8, 4):
            cells = load_four(words, i, column * WORDS + word_of(x, c))
            for u in range(4):
                best[r, c + u] = cells[u]
    for first in range(0, vertices, DEPTH):
        # Eight words of a row are a sector: a warp reads four full sectors of four rows.
        for skipped in range(0, TILE, THREADS // 8):
            i = skipped + (t >> 3)
            word = words[uint32(row * TILE + i), uint32(pivot * WORDS + first // 2 + (t & 7))]
            left[t & 7, i] = (word & 0xFFFF) * BOTH
            left[8 + (t & 7), i] = ((word >> 16) & 0xFFFF) * BOTH
        for skipped in range(0, DEPTH, THREADS // WORDS):
            k = skipped + (t >> 6)
            source = pivot * TILE + first + ((k & 7) << 1) + (k >> 3)
            right[k, t & 63] = words[uint32(source), uint32(column * WORDS + (t & 63))]
        cuda.syncthreads()
        for step in range(0, DEPTH, 8):
            k = step & 8
            relax_step(best, left, right, k, y, x)
            relax_step(best, left, right, k + 1, y, x)
            relax_step(best, left, right, k + 2, y, x)
            relax_step(best, left, right, k + 3, y, x)
            relax_step(best, left, right, k + 4, y, x)
            relax_step(best, left, right, k + 5, y, x)
            relax_step(best, left, right, k + 6, y, x)
            relax_step(best, left, right, k + 7, y, x)
        cuda.syncthreads()
    row = cuda.shfl_sync(EVERYBODY, int32(row), 0)
    column = cuda.shfl_sync(EVERYBODY, int32(column), 0)
    for r in range(8):
        i = row * TILE + cell_of(y, r)
        for c in range(0, 8, 4):
            cells = best[r, c], best[r, c + 1], best[r, c + 2], best[r, c + 3]
            store_four(words, i, column * WORDS + word_of(x, c), cells)


@cached
@cuda.jit(max_registers=FOUR_BLOCKS)
def relax_cross(words, pivot, cross):
    """Relax the tiles of row ``cross`` (blocks with y = 0) and of column ``cross`` (y = 1)."""
    other = cuda.blockIdx.x
    if other >= pivot:
        other += 1
    in_row = cuda.blockIdx.y == 0
    if other == cross and not in_row:
        return
    row = cross if in_row else other
    column = other if in_row else cross
    relax_tile(words, row, column, pivot, TILE)


@cached
@cuda.jit(max_registers=FOUR_BLOCKS)
def relax_rest(words, pivot, skipped):
    """Relax all tiles but those of ``skipped`` rows and columns from ``pivot`` on."""
    row, column = cuda.blockIdx.y, cuda.blockIdx.x
    if row >= pivot:
        row += skipped
    if column >= pivot:
        column += skipped
    relax_tile(words, row, column, pivot, TILE)


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    side = round_up(n, TILE)
    dist = device.to_device(padded(problem, side, side))
    words = dist.view(np.int32)
    others = side // TILE - 1
    for pivot in range(side // TILE):
        device.launch(close_diagonal, 1, large.THREADS, dist, pivot)
        if others:
            device.launch(relax_cross, (others, 2), THREADS, words, pivot, pivot)
            device.launch(relax_rest, (others, others), THREADS, words, pivot, 1)
    return np.ascontiguousarray(device.to_host(dist)[:n, :n])


RUNG = Rung(
    name="register-tiles-int16",
    title="Register tiles in int16, two relaxations per instruction",
    source="beyond",
    run=run,
    task=DISTANCES_INT16,
    bound=Bound("issue", "n**3 relaxations at 128 per multiprocessor and clock"),
    kernels=(close_diagonal, relax_cross, relax_rest),
    predicts=(
        Prediction(
            "shared_load_requests",
            "==",
            Ratio(5, 8),
            256,
            "16 loads feed 128 relaxations, where they fed 64, in six tiles of eight",
            than="register-tiles",
        ),
        Prediction(
            "global_load_bytes",
            "==",
            Ratio(1, 2),
            256,
            "numbers half as wide",
            than="register-tiles",
        ),
        Prediction("shared_bank_conflicts", "==", 0, 256, "a warp is 4 x 8 threads, 4 words apart"),
    ),
    limits="from 16,384 vertices on, a path of edges of 1 may be as long as no path",
    max_n=16383,
)
