"""Tiles of 128 x 128 for 256 threads, 8 x 8 cells in each: what `register-tiles` is made of.

The rungs that follow it and the engine relax with the same tiles.
"""

from __future__ import annotations

from numba import cuda, uint32

from warpladder.shortest_paths.gpu_tiles.relaxing import lesser

__all__ = ["THREADS", "TILE", "cell_of", "place_of", "relax_step", "relax_tile"]

TILE, THREADS, DEPTH = 128, 256, 16
#: Registers that a thread may have if two blocks of 256 are to share 65,536.
TWO_BLOCKS = 128
#: Four numbers more than a tile has rows: threads that transpose 4 x 8 entries meet 32 banks.
LEFT = (DEPTH, TILE + 4)
RIGHT = (DEPTH, TILE)
CELLS = (8, 8)


@cuda.jit(device=True)
def place_of(thread):
    """Return the row and column of a thread among 16 x 16; warps are 4 x 8 of them."""
    warp, lane = thread >> 5, thread & 31
    return ((warp >> 1) << 2) + (lane >> 3), ((warp & 1) << 3) + (lane & 7)


@cuda.jit(device=True)
def cell_of(place, r):
    """Return which row (or column) of the tile is number ``r`` of the 8 at this place."""
    return ((r >> 2) << 6) + (place << 2) + (r & 3)


@cuda.jit(device=True)
def relax_step(best, left, right, k, y, x):
    """Relax the thread's cells through row ``k`` of both operands."""
    a = cuda.local.array(8, best.dtype)
    b = cuda.local.array(8, best.dtype)
    through = cuda.local.array(1, best.dtype)
    for r in range(8):
        a[r] = left[k, cell_of(y, r)]
    for c in range(8):
        b[c] = right[k, cell_of(x, c)]
    for r in range(8):
        to_k = a[r]
        for c in range(8):
            # Numba adds integers in 64 bits; a cell of an array drops what a register would.
            through[0] = to_k + b[c]
            best[r, c] = lesser(best[r, c], through[0])


@cuda.jit(device=True)
def relax_tile(target, lefts, rights, row, column, pivots, no_path):
    """Relax the tile of ``target`` whose first cell is (row, column).

    ``pivots`` are the first column in ``lefts``, the first row in ``rights``, and how many of them.
    """
    first_left, first_right, depth = pivots
    left = cuda.shared.array(LEFT, target.dtype, 16)
    right = cuda.shared.array(RIGHT, target.dtype, 16)
    best = cuda.local.array(CELLS, target.dtype)
    # The mask tells the compiler that no index is negative.
    t = cuda.threadIdx.x & (THREADS - 1)
    y, x = place_of(t)
    for r in range(8):
        for c in range(8):
            best[r, c] = no_path
    for first in range(0, depth, DEPTH):
        # Eight entries of a row are a sector: a warp reads four full sectors of four rows.
        for skipped in range(0, TILE, THREADS // 8):
            i = skipped + (t >> 3)
            for k in range(0, DEPTH, 8):
                source = lefts[uint32(row + i), uint32(first_left + first + k + (t & 7))]
                left[k + (t & 7), i] = source
        for skipped in range(0, DEPTH, THREADS // TILE):
            k = skipped + (t >> 7)
            source = rights[uint32(first_right + first + k), uint32(column + (t & 127))]
            right[k, t & 127] = source
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
    for r in range(8):
        i = uint32(row + cell_of(y, r))
        for c in range(8):
            j = uint32(column + cell_of(x, c))
            known = target[i, j]
            if best[r, c] < known:
                target[i, j] = best[r, c]
