"""Row and column of a symmetric matrix in strips: what the urgent stream of `halves` relaxes.

Of t tiles in a row few are in one row and column, and until they are relaxed nothing of the next
round can begin. If a block has one of them whole, most multiprocessors have none.
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

__all__ = ["blocks_of_strips", "place_of_half", "relax_strips"]

ROWS = SLAB = 32
#: Registers that a thread may have if two blocks of 256 are to fit where one of the rest does.
BESIDE_REST = 64
#: Four numbers more than rows, so that a thread's four rows begin at a multiple of 16 bytes.
LEFT = (SLAB, ROWS + 4)
RIGHT = (SLAB, TILE)


def blocks_of_strips(others: int, crosses: int) -> tuple[int, int, int]:
    """Return the blocks of `relax_strips` for so many other tiles, and rows and columns."""
    return TILE // ROWS, others, crosses


@cuda.jit(device=True)
def place_of_half(pivot: Any, depth: Any, cross: Any, crosses: Any, other: Any, mine: Any) -> Any:
    """Return the two tiles that name one of rows and columns, and whether it is to be mirrored.

    That is tile ``other`` of those that are not pivots, in row or column ``mine`` of ``crosses``
    from ``cross`` on; -1, -1 where another block has it, or where it is a panel among several rows.
    """
    if other >= pivot:
        other += depth
    mine += cross
    is_panel = crosses > 1 and pivot <= mine < pivot + depth
    is_twin = cross <= other < mine
    if is_panel or is_twin:
        return -1, -1, False
    return other, mine, pivot == cross + crosses - 1 and other != mine


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
def relax_strips(dist: Any, pivot: Any, depth: Any, cross: Any) -> None:
    """Do what `relax_deep_cross` does, on and below the diagonal.

    Block (x, y, z) has strip x of tile y beside the pivots, in row or column z. Panels are written
    on both sides of the diagonal, and what is relaxed through the last tile of a round.
    """
    left = cuda.shared.array(LEFT, dist.dtype, 16)
    right = cuda.shared.array(RIGHT, dist.dtype, 16)
    best = cuda.local.array(CELLS, dist.dtype)
    other, mine, mirrored = place_of_half(
        pivot, depth, cross, cuda.gridDim.z, cuda.blockIdx.y, cuda.blockIdx.z
    )
    if other < 0:
        return
    # The mask tells the compiler that no index is negative. A warp is 4 x 8 threads.
    t = cuda.threadIdx.x & (THREADS - 1)
    y, x = ((t >> 7) << 2) + ((t >> 3) & 3), (((t >> 5) & 3) << 3) + (t & 7)
    row, column = other * TILE + cuda.blockIdx.x * ROWS, mine * TILE
    i, j = row + (y << 2), column + (x << 2)
    lies_below = other >= mine
    for u in range(4):
        if lies_below:
            cells = load_four(dist, i + u, j)
            for v in range(4):
                best[u, v] = cells[v]
        else:
            cells = load_four(dist, j + u, i)
            for v in range(4):
                best[v, u] = cells[v]
    for first in range(pivot * TILE, (pivot + depth) * TILE, SLAB):
        load_slab(dist, left, right, row, first, column, other > pivot, t)
        cuda.syncthreads()
        for k in range(0, SLAB, 8):
            relax_group(best, left, right, k & (SLAB - 8), y, x)
        cuda.syncthreads()
    # Addresses are found anew, as by `large.relax_tile`: kept, they would cost registers.
    i = cuda.shfl_sync(EVERYBODY, int32(row), 0) + (y << 2)
    j = cuda.shfl_sync(EVERYBODY, int32(column), 0) + (x << 2)
    for u in range(4):
        if lies_below or mirrored:
            store_four(dist, i + u, j, (best[u, 0], best[u, 1], best[u, 2], best[u, 3]))
        if mirrored or not lies_below:
            store_four(dist, j + u, i, (best[0, u], best[1, u], best[2, u], best[3, u]))
