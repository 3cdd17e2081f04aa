"""Closing a symmetric matrix by half of its tiles, in rounds that overlap.

What is relaxed is the half that the rung `half-tiles` relaxes, and when is told in `deep-rounds`:
the urgent stream relaxes the next round's rows and columns, on and below the diagonal, while the
usual one is at the rest of this round. What is above the diagonal serves for copies of a round's
rows and columns until the end.

Why nothing races. Of tiles on and below the diagonal, and of those above it that are read, each is
named by two tiles of the diagonal, row and column. While the rest of a round is relaxed, the urgent
stream writes tiles of whose names one is of the next round, on both sides of the diagonal: it
relaxes them through this round's, and then through each other. The rest writes tiles on and below
the diagonal, reads these and the rows and columns of its round on both sides, and has nothing of
the next round in its names. The urgent stream reads, besides its own tiles, this round's rows and
columns, which the rest does not write. What either needs of earlier rounds it waits for: the rest
for the rows and columns of its round, the urgent stream for the rest of the round before. In one
launch no block writes what another one reads: a tile that is relaxed through p is read by its own
block alone, or by its four strips, each its own part; panels of p are relaxed in a launch of their
own, through (p, p) and themselves. Until a round's last tile nothing is read above the diagonal but
panels, so other copies are written only then.

The bits are those of the whole. By induction a round leaves a symmetric matrix symmetric, bit for
bit: (i, j) and (j, i) meet the same sums, ``a + b`` and ``b + a``, which are equal to the last bit
as neither is NaN, in the same order of the vertices between; the diagonal's tile is closed whole,
by the same kernel. So what is relaxed here has the operands that it has in `whole`, as long as
rounds are as deep there, and what is not is a copy of what it would be. Zeros keep their signs.

With t tiles in a row the rest of a round of one is (t - 2) (t - 1) / 2 tiles where it was
(t - 2)**2. The way of the urgent stream is as long as before: the next row and column, the
diagonal, the panels, one after another. At t = 32 the rest is 465 tiles, and an H200 has places for
264 at a time, so that two turns of them are all there is to hide that way behind. So for numbers of
4 bytes rows and columns go in `strips`: of int32 an H100 takes 3.5 ms for 4,096 vertices so, 4.2 by
whole tiles, 6.0 for all tiles of the matrix. Where there are more tiles, whole ones cost less work.
The rest does not wait for the next row and column, though it takes places from them: where it
waited, 4,096 took 0.5 ms longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.gpu.strips import blocks_of_strips, place_of_half, relax_strips
from warpladder.shortest_paths.gpu_tiles import large
from warpladder.shortest_paths.gpu_tiles.large import TILE, TWO_BLOCKS
from warpladder.shortest_paths.rungs import register_tiles_int16 as pairs
from warpladder.shortest_paths.rungs.deep_rounds import DeepRounds, Operands, Tiles
from warpladder.shortest_paths.rungs.half_tiles import (
    grid_of_pairs,
    mirror_all,
    mirror_tile,
    pair_of,
)
from warpladder.shortest_paths.rungs.overlapped_panels import overlap_rounds
from warpladder.shortest_paths.rungs.register_tiles import close_diagonal

if TYPE_CHECKING:
    from collections.abc import Callable

    from warpladder.device.base import Device

__all__ = ["close_half", "one_block_each", "tile_of_half_of_rest"]


@cuda.jit(device=True)
def tile_of_half_of_rest(pivot: Any, skipped: Any) -> Any:
    """Return the row and column of tiles that a block has of the rest; -1, -1 for none."""
    row, column = pair_of(cuda.blockIdx.x, cuda.blockIdx.y, cuda.gridDim.x)
    if row >= pivot:
        row += skipped
    if column >= pivot:
        column += skipped
    return row, column


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_half_of_deep_rest(dist: Any, pivot: Any, depth: Any, skipped: Any) -> None:
    """Do as `relax_deep_rest`, on and below the diagonal."""
    row, column = tile_of_half_of_rest(pivot, skipped)
    if row >= 0:
        pivots = pivot * TILE, pivot * TILE, depth * TILE
        large.relax_tile(dist, dist, dist, row * TILE, column * TILE, pivots)


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_half_of_deep_cross(dist: Any, pivot: Any, depth: Any, cross: Any) -> None:
    """Do as `relax_strips`, by whole tiles."""
    other, mine, mirrored = place_of_half(
        pivot, depth, cross, cuda.gridDim.y, cuda.blockIdx.x, cuda.blockIdx.y
    )
    if other < 0:
        return
    row, column = max(mine, other) * TILE, min(mine, other) * TILE
    large.relax_tile(dist, dist, dist, row, column, (pivot * TILE, pivot * TILE, depth * TILE))
    if mirrored:
        cuda.syncthreads()
        mirror_tile(dist, row, column, TILE, large.THREADS)


@cached
@cuda.jit(max_registers=pairs.FOUR_BLOCKS)
def relax_half_of_rest_in_pairs(words: Any, pivot: Any, depth: Any, skipped: Any) -> None:
    """Do as `relax_half_of_deep_rest`; ``words`` is the matrix by two numbers of int16."""
    row, column = tile_of_half_of_rest(pivot, skipped)
    if row >= 0:
        pairs.relax_tile(words, row, column, pivot, depth * TILE)


@cached
@cuda.jit(max_registers=pairs.FOUR_BLOCKS)
def relax_half_of_cross_in_pairs(words: Any, dist: Any, pivot: Any, depth: Any, cross: Any) -> None:
    """Do as `relax_strips`, by whole tiles; ``words`` is ``dist`` by two numbers of int16."""
    other, mine, mirrored = place_of_half(
        pivot, depth, cross, cuda.gridDim.y, cuda.blockIdx.x, cuda.blockIdx.y
    )
    if other < 0:
        return
    row, column = max(mine, other), min(mine, other)
    pairs.relax_tile(words, row, column, pivot, depth * TILE)
    if mirrored:
        cuda.syncthreads()
        mirror_tile(dist, row * TILE, column * TILE, TILE, pairs.THREADS)


def one_block_each(others: int, crosses: int) -> tuple[int, int]:
    """Return the blocks of whole tiles for so many other tiles, and rows and columns."""
    return others, crosses


def _half(cross: Any, rest: Any, threads: int, blocks: Any = one_block_each) -> Tiles:
    return Tiles(close_diagonal, cross, rest, threads, large.THREADS, blocks, grid_of_pairs)


_STRIPS = _half(relax_strips, relax_half_of_deep_rest, large.THREADS, blocks_of_strips)
_TILES = _half(relax_half_of_deep_cross, relax_half_of_deep_rest, large.THREADS)
_PAIRS = _half(relax_half_of_cross_in_pairs, relax_half_of_rest_in_pairs, pairs.THREADS)
# Of tiles in a row. H100, int32: 4,096 vertices (32) take 3.50 ms by strips and 4.15 by tiles,
# 8,192 (64) 21.5 and 21.3; 6,144 took 9.87 and 10.4, 16,384 165 and 160.
_TILES_FROM = 64


def close_half(
    device: Device, dist: Any, depth: int, progress: Callable[[float], None] | None = None
) -> None:
    """Replace weights by distances, in place: `close_whole` for a symmetric matrix.

    Parameters
    ----------
    device
        Where the matrix is.
    dist
        As for `close_whole`, and the same as its transpose, bit for bit.
    depth
        Tiles of the diagonal in a round.
    progress
        Called now and then with the fraction done.

    Notes
    -----
    The last launch may still be at work on return.
    """
    count = dist.shape[0] // TILE
    if dist.dtype == np.int16:
        words = dist.view(np.int32)
        tiles, operands = _PAIRS, Operands((dist,), (words, dist), (words,))
    else:
        tiles = _TILES if count >= _TILES_FROM else _STRIPS
        operands = Operands((dist,), (dist,), (dist,))
    rounds = DeepRounds(device, count, operands, tiles, depth)
    overlap_rounds(device, rounds, progress)
    if count > 1:
        device.launch(mirror_all, (count, count), large.THREADS, dist)
