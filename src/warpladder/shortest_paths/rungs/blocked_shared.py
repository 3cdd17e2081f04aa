"""Blocked in three phases, with tiles in shared memory.

Idea: take 32 intermediate vertices at a time, and cut the matrix into tiles of 32 x 32. A round
closes the tile on the diagonal (shortest paths inside the block of 32 vertices), then relaxes the
tiles of its row and column through it, then all others through those two. A tile is brought into
shared memory once and then serves 32 steps.

Why it is right: a path through vertices of the block enters it, moves inside and leaves it. The
closed diagonal tile knows the best way inside, the row panel the best ways from inside to j, the
column panel those from i to inside. Such a joining of ways is a product of matrices, with a sum in
the place of each product and the least in the place of the sum (*min-plus*). The closed tile has
zeros on its diagonal, so the product of the *old* values with it is already the new tile; no order
of steps has to be kept.

Why nothing races. Diagonal: step k reads row k and column k of the tile, which do not change in
step k; a barrier separates the steps. Panels and rest: a block reads tiles that nobody else writes
in this launch, and writes its own tile after a barrier behind its last read of it. The launches
keep the phases apart.

Below: each step read the whole matrix from memory, n times in all.

Expect: traffic falls by the width of a tile. At n = 128 there are 4 rounds of 1 diagonal tile and
6 + 9 others that load three tiles each: 46 tiles of 32 rows of 4 sectors, 23,552 sectors where
`pivot-in-register` loads 540,672. Now shared memory is the limit: two loads from it per relaxation.
The lanes of a warp read neighbours of one row and the same entry of the other: no bank conflicts.

Source: beyond

Question: How many sectors do the tiles load at n = 64? Count as above, then try `warpladder explain
shortest-paths/blocked-shared --n 64`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, int32

from warpladder.device.grids import round_up
from warpladder.rung import Bound, Prediction, Ratio, Rung
from warpladder.shortest_paths.rungs._launching import padded
from warpladder.shortest_paths.rungs._tasks import DISTANCES_IN_SHARED_TILES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from warpladder.device.base import Device
    from warpladder.shortest_paths.rungs._tasks import Weights

__all__ = ["RUNG", "close_diagonal", "relax_panels", "relax_rest", "run"]

TILE = 32
SHAPE = (TILE, TILE)


@cuda.jit
def close_diagonal(dist, pivot):
    """Close tile ``pivot`` of the diagonal."""
    tile = cuda.shared.array(SHAPE, int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = pivot * TILE + y, pivot * TILE + x
    best = dist[i, j]
    tile[y, x] = best
    for k in range(TILE):
        cuda.syncthreads()
        through = int32(tile[y, k] + tile[k, x])
        if through < best:
            best = through
            tile[y, x] = best
    dist[i, j] = best


@cuda.jit(device=True)
def relax_tile(dist, row, pivot, column):
    """Relax tile (row, column) through tiles (row, pivot) and (pivot, column)."""
    left = cuda.shared.array(SHAPE, int32)
    right = cuda.shared.array(SHAPE, int32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = row * TILE + y, column * TILE + x
    left[y, x] = dist[i, pivot * TILE + x]
    right[y, x] = dist[pivot * TILE + y, j]
    best = dist[i, j]
    cuda.syncthreads()
    for k in range(TILE):
        # Numba adds in 64 bits; the cast drops what a 32-bit register would.
        best = min(best, int32(left[y, k] + right[k, x]))
    dist[i, j] = best


@cuda.jit
def relax_panels(dist, pivot):
    """Relax the tiles of row ``pivot`` (blocks with y = 0) and of column ``pivot`` (y = 1)."""
    other = cuda.blockIdx.x
    if other >= pivot:
        other += 1
    if cuda.blockIdx.y == 0:
        relax_tile(dist, pivot, pivot, other)
    else:
        relax_tile(dist, other, pivot, pivot)


@cuda.jit
def relax_rest(dist, pivot):
    """Relax the tiles outside row and column ``pivot``."""
    row, column = cuda.blockIdx.y, cuda.blockIdx.x
    if row >= pivot:
        row += 1
    if column >= pivot:
        column += 1
    relax_tile(dist, row, pivot, column)


def run(device: Device, problem: Weights) -> NDArray[Any]:
    """Return the distances."""
    n = len(problem.matrix)
    side = round_up(n, TILE)
    dist = device.to_device(padded(problem, side, side))
    others = side // TILE - 1
    for pivot in range(side // TILE):
        device.launch(close_diagonal, 1, SHAPE, dist, pivot)
        if others:
            device.launch(relax_panels, (others, 2), SHAPE, dist, pivot)
            device.launch(relax_rest, (others, others), SHAPE, dist, pivot)
    return np.ascontiguousarray(device.to_host(dist)[:n, :n])


RUNG = Rung(
    name="blocked-shared",
    title="Three phases over 32 x 32 tiles in shared memory",
    source="beyond",
    run=run,
    task=DISTANCES_IN_SHARED_TILES,
    bound=Bound("shared", "two 4-byte loads per relaxation; 12 n**3 / 32 bytes to and from memory"),
    kernels=(close_diagonal, relax_panels, relax_rest),
    predicts=(
        Prediction(
            "global_load_sectors", "==", 23_552, 128, "4 rounds of 46 tiles of 32 rows of 4 sectors"
        ),
        Prediction(
            "global_load_sectors",
            "==",
            Ratio(23_552, 540_672),
            128,
            "a tile in shared memory serves 32 steps",
            than="pivot-in-register",
            tolerance=1e-9,
        ),
        Prediction("launches", "==", 12, 128, "three for each of 4 rounds"),
        Prediction("shared_bank_conflicts", "==", 0, 128, "neighbours, or one word for all"),
    ),
    limits="a grid has at most 65,535 blocks along y, and a row of tiles takes one",
    max_n=65535 * TILE,
)
