"""Tiles of 128 x 128 for 256 threads, 8 x 8 cells in each: what `register-tiles` is made of.

The rungs that follow it and the engine relax with the same tiles.
"""

from __future__ import annotations

from numba import cuda, int32

from warpladder.device.grids import EVERYBODY
from warpladder.shortest_paths.gpu_tiles.four_cells import load_four, store_four
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
def relax_slab(best, left, right, y, x):
    """Relax the thread's cells through all rows of both operands."""
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


@cuda.jit(device=True)
def load_left(lefts, left, row, first, t):
    """Bring some columns of a tile's rows, transposed."""
    # Two threads bring the eight entries of a row that are a sector.
    i, k = t >> 1, (t & 1) << 2
    near = load_four(lefts, row + i, first + k)
    far = load_four(lefts, row + i, first + k + 8)
    for u in range(4):
        left[k + u, i] = near[u]
        left[k + u + 8, i] = far[u]


@cuda.jit(device=True)
def load_right(rights, right, first, column, t):
    """Bring as many rows of a tile's columns."""
    below, j = t >> 5, (t & 31) << 2
    upper = load_four(rights, first + below, column + j)
    lower = load_four(rights, first + below + 8, column + j)
    for u in range(4):
        right[below, j + u] = upper[u]
        right[below + 8, j + u] = lower[u]


@cuda.jit(device=True)
def load_cells(best, target, row, column, y, x):
    """Take the thread's cells of a tile into registers."""
    # Read before anything is written: a load behind a store would have to wait for it, as the
    # compiler cannot know that they are of different cells. For 8,192 vertices that took 45.3 ms on
    # an H200, cell by cell in the end; this takes 42.6, with operands 16 bytes at a time 41.3.
    for r in range(8):
        i = row + cell_of(y, r)
        for c in range(0, 8, 4):
            cells = load_four(target, i, column + cell_of(x, c))
            for u in range(4):
                best[r, c + u] = cells[u]


@cuda.jit(device=True)
def store_cells(best, target, row, column, y, x):
    """Write the thread's cells of a tile."""
    # Addresses are found anew. Kept over all relaxations they would cost registers, so the compiler
    # must not see that it has them. The times above are of two words of shared memory in place of
    # the shuffles, which spill less: 8,192 vertices take 41.0 ms, in float32 49.1 in place of 49.9.
    row = cuda.shfl_sync(EVERYBODY, int32(row), 0)
    column = cuda.shfl_sync(EVERYBODY, int32(column), 0)
    for r in range(8):
        i = row + cell_of(y, r)
        for c in range(0, 8, 4):
            cells = best[r, c], best[r, c + 1], best[r, c + 2], best[r, c + 3]
            store_four(target, i, column + cell_of(x, c), cells)


@cuda.jit(device=True)
def relax_tile(target, lefts, rights, row, column, pivots):
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
    load_cells(best, target, row, column, y, x)
    for first in range(0, depth, DEPTH):
        load_left(lefts, left, row, first_left + first, t)
        load_right(rights, right, first_right + first, column, t)
        cuda.syncthreads()
        relax_slab(best, left, right, y, x)
        cuda.syncthreads()
    store_cells(best, target, row, column, y, x)
