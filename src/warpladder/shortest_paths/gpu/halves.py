"""Closing a symmetric matrix by half of its tiles, in rounds that overlap.

What a round relaxes is that of the rung `half-tiles`, and when is that of `overlapped-panels`: the
urgent stream relaxes the next tile of the diagonal and the next panels, on and below the diagonal,
while the usual one is at the rest of this round. What is above the diagonal serves for copies of
panels until the end.

Why nothing races. Of tiles on and below the diagonal, and of those above it that are read, each is
named by two vertices of tiles, row and column. While the rest of round p is relaxed, the urgent
stream writes tiles of which p + 1 is one, on both sides of the diagonal: it relaxes them through p,
closes (p + 1, p + 1), relaxes the panels and mirrors them. The rest writes tiles on and below the
diagonal, reads these and the panels of round p on both sides, and has p + 1 nowhere: not in its
tiles, so not in what it reads of the panels. The urgent stream reads, besides its own tiles, the
panels of round p, which the rest does not write. What either needs of earlier rounds it waits for:
the rest for the panels of round p, the urgent stream for the rest of round p - 1. In one launch, no
block writes the mirror image of a panel that another one reads: the panels of round p + 1 are
relaxed through (p + 1, p + 1) and themselves.

The bits are those of the whole. By induction a round leaves a symmetric matrix symmetric, bit for
bit: (i, j) and (j, i) meet the same sums, ``a + b`` and ``b + a``, which are equal to the last bit
as neither is NaN, in the same order of the vertices between; the diagonal's tile is closed whole,
by the same kernel. So what is relaxed here has the operands that it has in `overlapped-panels`, and
what is not is a copy of what it would be. Zeros keep their signs, too.

With t tiles in a row the rest of a round is (t - 2) (t - 1) / 2 tiles where it was (t - 2)**2. The
way of the urgent stream is as long as before: the next row and column, the diagonal, the panels,
one after another. At t = 32 the rest is 465 tiles, and an H200 has places for 264 at a time, so
that two turns of them are all there is to hide that way behind. So for numbers of 4 bytes rows and
columns go in `strips`: of int32 an H200 takes 3.7 ms for 4,096 vertices so, 4.5 by the whole tiles
of the rung, 6.0 for all tiles of the matrix; for 8,192 these are 22.1, 22.0 and 41.3. The rest does
not wait for the next row and column, though it takes places from them: 4,096 took 0.5 ms longer so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.gpu.strips import blocks_of_strips, relax_strips
from warpladder.shortest_paths.gpu_tiles.large import THREADS, TILE
from warpladder.shortest_paths.rungs import register_tiles_int16 as pairs
from warpladder.shortest_paths.rungs.half_tiles import (
    grid_of_pairs,
    mirror_all,
    mirror_tile,
    pair_of,
    relax_half_of_rest,
)
from warpladder.shortest_paths.rungs.overlapped_panels import Tiles, overlap_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from warpladder.device.base import Device

__all__ = ["SINGLES", "close_half", "one_block_each"]


@cached
@cuda.jit(max_registers=pairs.FOUR_BLOCKS)
def relax_half_of_cross_in_pairs(words: Any, dist: Any, pivot: Any, cross: Any) -> None:
    """Do as the rung's `relax_half_of_cross`; ``words`` is ``dist`` by two numbers of int16."""
    other = cuda.blockIdx.x
    if other >= pivot:
        other += 1
    row, column = max(cross, other), min(cross, other)
    pairs.relax_tile(words, row, pivot, column)
    if cross == pivot:
        cuda.syncthreads()
        mirror_tile(dist, row * TILE, column * TILE, pairs.THREADS)


@cached
@cuda.jit(max_registers=pairs.FOUR_BLOCKS)
def relax_half_of_rest_in_pairs(words: Any, pivot: Any, skipped: Any) -> None:
    """Do as `relax_half_of_rest` does."""
    row, column = pair_of(cuda.blockIdx.x, cuda.blockIdx.y, cuda.gridDim.x)
    if row < 0:
        return
    if row >= pivot:
        row += skipped
    if column >= pivot:
        column += skipped
    pairs.relax_tile(words, row, pivot, column)


def one_block_each(others: int) -> int:
    """Return the blocks of `relax_half_of_cross`, for so many tiles beside the pivot."""
    return others


#: How numbers of 4 bytes are relaxed.
SINGLES = Tiles(relax_strips, relax_half_of_rest, THREADS, blocks_of_strips, grid_of_pairs)
_PAIRS = Tiles(
    relax_half_of_cross_in_pairs, relax_half_of_rest_in_pairs, pairs.THREADS, one_block_each,
    grid_of_pairs,
)  # fmt: skip


def close_half(device: Device, dist: Any, progress: Callable[[float], None] | None = None) -> None:
    """Replace weights by distances, in place: `close_overlapped` for a symmetric matrix.

    Parameters
    ----------
    device
        Where the matrix is.
    dist
        As for `close_overlapped`, and the same as its transpose, bit for bit.
    progress
        Called now and then with the fraction done.

    Notes
    -----
    The last launch may still be at work on return.
    """
    if dist.dtype == np.int16:
        overlap_rounds(device, dist, (dist.view(np.int32), dist), _PAIRS, progress)
    else:
        overlap_rounds(device, dist, (dist,), SINGLES, progress)
    count = dist.shape[0] // TILE
    if count > 1:
        device.launch(mirror_all, (count, count), THREADS, dist)
