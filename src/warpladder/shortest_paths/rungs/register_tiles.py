"""Blocked with register tiles: each thread relaxes 8 x 8 cells.

Idea: a thread that has 8 entries of a column and 8 of a row relaxes 64 cells with them. So 16 loads
from shared memory feed 64 relaxations, where one cell per thread needs 2 for each. The 64 best
values stay in registers for a whole round. Tiles are 128 x 128: 256 threads of 8 x 8 cells. The two
operands come through shared memory 16 steps at a time, the left one transposed, so that a thread
finds its 8 rows and its 8 columns each in two groups of four neighbours: the compiler makes one
16-byte load of each four. From the matrix they come 16 bytes at a time, too, and so do the tile's
own cells, all of which are read before the first is written. A warp is 4 x 8 threads, 16 rows by
32 columns in each group. `relax_step` and `relax_tile` do that; they stand in `gpu_tiles/large.py`,
for the engine multiplies matrices that do not fit with the same tiles.

On the diagonal the tile stays in registers. The threads that own vertex k's row and column publish
them in shared memory, all relax, and the next vertex goes to the other of two buffers: one barrier
per step. Vertices are taken in the order in which a thread numbers its rows; any order will do.

Race-free for the reasons told in `blocked-shared`; a tile is written after the barrier that ends
the last reads of it. The other buffer of the diagonal is free because everybody has passed the
barrier of the step before last.

Below: two shared loads per relaxation were the limit.

Expect: an eighth of the shared loads, and for int32 one instruction per relaxation on compute
capability 9.0: an addition and a minimum in one (VIADDMNMX), as the sum goes through a 32-bit cell.
The eight steps of the inner loop are 512 of these, 32 shared loads and 14 or 15 others: nine
instructions in ten relax. The simulator counts shared loads as written, four where the compiler
makes one. It counts stores so, too: those of the right operand lie 4 words apart from lane to
lane, so that four lanes meet in a bank. Of half of them the compiler makes stores of 16 bytes,
which do not; the others meet, once in 1,024 relaxations of a thread.

Source: beyond

Question: How many shared loads does a relaxation take with 4 x 4 cells to a thread, and why does
nobody take 16 x 16?
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, uint32

from warpladder.device.grids import round_up
from warpladder.device.kernel_cache import cached
from warpladder.rung import Bound, Prediction, Ratio, Rung
from warpladder.shortest_paths.gpu_tiles.large import (
    CELLS,
    THREADS,
    TILE,
    TWO_BLOCKS,
    cell_of,
    place_of,
    relax_step,
    relax_tile,
)
from warpladder.shortest_paths.rungs._launching import padded
from warpladder.shortest_paths.rungs._tasks import DISTANCES_BY_TILES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["KERNELS", "MAX_N", "RUNG", "close_in_tiles", "run"]

#: A grid has at most 65,535 blocks along y, and a row of tiles takes one.
MAX_N = 65535 * TILE
PUBLISHED = (2, TILE)


@cuda.jit(device=True)
def relax_through_owned(best, rows, columns, y, x, r):
    """Relax the diagonal tile through the 16 vertices that are number ``r`` at some place."""
    for place in range(16):
        now = place & 1
        if y == place:
            for c in range(8):
                rows[now, cell_of(x, c)] = best[r, c]
        if x == place:
            for c in range(8):
                columns[now, cell_of(y, c)] = best[c, r]
        cuda.syncthreads()
        relax_step(best, columns, rows, now, y, x)


@cached
@cuda.jit
def close_diagonal(dist, pivot):
    """Close tile ``pivot`` of the diagonal, in registers."""
    rows = cuda.shared.array(PUBLISHED, dist.dtype, 16)
    columns = cuda.shared.array(PUBLISHED, dist.dtype, 16)
    best = cuda.local.array(CELLS, dist.dtype)
    y, x = place_of(cuda.threadIdx.x & (THREADS - 1))
    corner = pivot * TILE
    for r in range(8):
        for c in range(8):
            best[r, c] = dist[uint32(corner + cell_of(y, r)), uint32(corner + cell_of(x, c))]
    # One by one: a register cannot be chosen by a number that is not known when compiling.
    relax_through_owned(best, rows, columns, y, x, 0)
    relax_through_owned(best, rows, columns, y, x, 1)
    relax_through_owned(best, rows, columns, y, x, 2)
    relax_through_owned(best, rows, columns, y, x, 3)
    relax_through_owned(best, rows, columns, y, x, 4)
    relax_through_owned(best, rows, columns, y, x, 5)
    relax_through_owned(best, rows, columns, y, x, 6)
    relax_through_owned(best, rows, columns, y, x, 7)
    for r in range(8):
        for c in range(8):
            dist[uint32(corner + cell_of(y, r)), uint32(corner + cell_of(x, c))] = best[r, c]


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_cross(dist, pivot, cross):
    """Relax the tiles of row ``cross`` (blocks with y = 0) and of column ``cross`` (y = 1).

    With ``cross`` = ``pivot`` these are the panels.
    """
    other = cuda.blockIdx.x
    if other >= pivot:
        other += 1
    # One call, not one for each case: a second copy of the tile's code costs registers.
    in_row = cuda.blockIdx.y == 0
    if other == cross and not in_row:
        return
    row = cross if in_row else other
    column = other if in_row else cross
    pivots = pivot * TILE, pivot * TILE, TILE
    relax_tile(dist, dist, dist, row * TILE, column * TILE, pivots)


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_rest(dist, pivot, skipped):
    """Relax all tiles but those of ``skipped`` rows and columns from ``pivot`` on."""
    row, column = cuda.blockIdx.y, cuda.blockIdx.x
    if row >= pivot:
        row += skipped
    if column >= pivot:
        column += skipped
    pivots = pivot * TILE, pivot * TILE, TILE
    relax_tile(dist, dist, dist, row * TILE, column * TILE, pivots)


def close_in_tiles(device: Device, problem: Weights, kernels: tuple[Any, ...]) -> NDArray[Any]:
    """Return the distances by these kernels: for the diagonal, the panels and the rest."""
    diagonal, cross, rest = kernels
    n = len(problem.matrix)
    side = round_up(n, TILE)
    dist = device.to_device(padded(problem, side, side))
    others = side // TILE - 1
    for pivot in range(side // TILE):
        device.launch(diagonal, 1, THREADS, dist, pivot)
        if others:
            device.launch(cross, (others, 2), THREADS, dist, pivot, pivot)
            device.launch(rest, (others, others), THREADS, dist, pivot, 1)
    return np.ascontiguousarray(device.to_host(dist)[:n, :n])


KERNELS = (close_diagonal, relax_cross, relax_rest)


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    return close_in_tiles(device, problem, KERNELS)


RUNG = Rung(
    name="register-tiles",
    title="Three phases over 128 x 128 tiles, 8 x 8 cells in each thread's registers",
    source="beyond",
    run=run,
    task=DISTANCES_BY_TILES,
    bound=Bound("issue", "n**3 relaxations at 64 per multiprocessor and clock"),
    kernels=KERNELS,
    predicts=(
        Prediction(
            "shared_load_requests",
            "==",
            Ratio(1, 8),
            128,
            "16 loads feed 64 relaxations, where 2 fed one",
            than="blocked-shared",
        ),
        Prediction(
            "shared_bank_conflicts", "==", 0, 128, "to close a tile: a warp is 4 x 8 threads"
        ),
        Prediction("launches", "==", 1, 128, "the diagonal tile is all there is"),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row of tiles takes one",
    max_n=MAX_N,
)
