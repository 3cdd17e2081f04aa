"""Row and column of a symmetric matrix in strips: what the urgent stream of `halves` relaxes.

Of t tiles in a row few are in one row and column, and until they are relaxed nothing of the next
round can begin. A block of `half-tiles` has one of them whole, and most multiprocessors have none.
Here a block has 32 of its rows: four times as many blocks with a quarter of the work each. What
that saves is told in `halves`.

A symmetric matrix lets every tile (other, cross) be taken by rows of ``other``, wherever it lies.
If ``other`` is the lesser it lies below the diagonal as (cross, other), so its cells are read and
written by columns; likewise the operand beside it. Then a strip of a panel needs nothing but itself
and the tile of the diagonal, and no other block reads or writes it: so strips may be relaxed in
place, which quarters of panels could not. A thread has 4 x 4 cells, so four of a column are written
at once, and the mirror image of a panel goes straight from the registers to the other side.

The bits are those of a whole tile: the same operands in the same order of the vertices between.
"""

from __future__ import annotations

from typing import Any

from numba import cuda, int32

from warpladder.device.grids import EVERYBODY
from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.gpu_tiles.four_cells import load_four, store_four
from warpladder.shortest_paths.gpu_tiles.large import THREADS, TILE
from warpladder.shortest_paths.gpu_tiles.small import CELLS, relax_group

__all__ = ["blocks_of_strips", "relax_strips"]

ROWS = SLAB = 32
#: Registers that a thread may have if two blocks of 256 are to fit where one of the rest does.
BESIDE_REST = 64
#: Four numbers more than rows, so that a thread's four rows begin at a multiple of 16 bytes.
LEFT = (SLAB, ROWS + 4)
RIGHT = (SLAB, TILE)


def blocks_of_strips(others: int) -> tuple[int, int]:
    """Return the blocks of `relax_strips` for so many tiles beside the pivot."""
    return TILE // ROWS, others


@cuda.jit(device=True)
def load_slab(
    dist: Any, left: Any, right: Any, row: Any, pivot: Any, column: Any, by_rows: Any, t: Any
) -> None:
    """Bring the strip's way to `SLAB` vertices from ``pivot`` on, transposed, and theirs."""
    i, k = t >> 3, (t & 7) << 2
    if by_rows:
        beside = load_four(dist, row + i, pivot + k)
        for u in range(4):
            left[k + u, i] = beside[u]
    else:
        beside = load_four(dist, pivot + i, row + k)
        for u in range(4):
            left[i, k + u] = beside[u]
    j = (t & 31) << 2
    for k in range(t >> 5, SLAB, THREADS // 32):
        above = load_four(dist, pivot + k, column + j)
        for u in range(4):
            right[k, j + u] = above[u]


@cached
@cuda.jit(max_registers=BESIDE_REST)
def relax_strips(dist: Any, pivot: Any, cross: Any) -> None:
    """Do what `relax_half_of_cross` does; block (x, y) has strip x of tile y there.

    Panels, where ``cross`` = ``pivot``, are written on both sides of the diagonal.
    """
    left = cuda.shared.array(LEFT, dist.dtype, 16)
    right = cuda.shared.array(RIGHT, dist.dtype, 16)
    best = cuda.local.array(CELLS, dist.dtype)
    other = cuda.blockIdx.y
    if other >= pivot:
        other += 1
    # The mask tells the compiler that no index is negative. A warp is 4 x 8 threads.
    t = cuda.threadIdx.x & (THREADS - 1)
    y, x = ((t >> 7) << 2) + ((t >> 3) & 3), (((t >> 5) & 3) << 3) + (t & 7)
    row, column = other * TILE + cuda.blockIdx.x * ROWS, cross * TILE
    i, j = row + (y << 2), column + (x << 2)
    lies_below, is_panel = other >= cross, cross == pivot
    for u in range(4):
        if lies_below:
            cells = load_four(dist, i + u, j)
            for v in range(4):
                best[u, v] = cells[v]
        else:
            cells = load_four(dist, j + u, i)
            for v in range(4):
                best[v, u] = cells[v]
    for first in range(pivot * TILE, pivot * TILE + TILE, SLAB):
        load_slab(dist, left, right, row, first, column, other > pivot, t)
        cuda.syncthreads()
        for k in range(0, SLAB, 8):
            relax_group(best, left, right, k & (SLAB - 8), y, x)
        cuda.syncthreads()
    # Addresses are found anew, as by `large.relax_tile`: kept, they would cost registers.
    i = cuda.shfl_sync(EVERYBODY, int32(row), 0) + (y << 2)
    j = cuda.shfl_sync(EVERYBODY, int32(column), 0) + (x << 2)
    for u in range(4):
        if lies_below or is_panel:
            store_four(dist, i + u, j, (best[u, 0], best[u, 1], best[u, 2], best[u, 3]))
        if is_panel or not lies_below:
            store_four(dist, j + u, i, (best[0, u], best[1, u], best[2, u], best[3, u]))
