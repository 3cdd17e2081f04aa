"""Closing a matrix of int32 with next hops in large tiles: all of it, or half.

The tiles are those of `tagged-distances`, which is as fast as closing without next hops, as long as
all distances are below `tagged.MOST`, which `length_bound` tells. Of a symmetric matrix half of the
tiles is relaxed, as told in `halves`. Notes are symmetric as distances are: (i, j) improves through
the vertex through which (j, i) does. So they are written below the diagonal, and mirrored in the
end; next hops are made of them after that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import cuda

from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.gpu.halves import one_block_each, tile_of_half_of_rest
from warpladder.shortest_paths.gpu.strips import place_of_half
from warpladder.shortest_paths.gpu_tiles import tagged
from warpladder.shortest_paths.gpu_tiles.large import THREADS, TILE, TWO_BLOCKS
from warpladder.shortest_paths.rungs.deep_rounds import DeepRounds, Operands
from warpladder.shortest_paths.rungs.half_tiles import grid_of_pairs, mirror_all, mirror_tile
from warpladder.shortest_paths.rungs.overlapped_panels import overlap_rounds
from warpladder.shortest_paths.rungs.tagged_distances import TAGGED, close_with_tags

if TYPE_CHECKING:
    from collections.abc import Callable

    from warpladder.device.base import Device

__all__ = ["close_in_tagged_tiles"]


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_half_of_tagged_cross(dist: Any, notes: Any, pivot: Any, depth: Any, cross: Any) -> None:
    """Do as `halves.relax_half_of_deep_cross`, and note what improved."""
    other, mine, mirrored = place_of_half(
        pivot, depth, cross, cuda.gridDim.y, cuda.blockIdx.x, cuda.blockIdx.y
    )
    if other < 0:
        return
    row, column = max(mine, other) * TILE, min(mine, other) * TILE
    tagged.relax_tile(dist, notes, row, column, pivot, depth)
    if mirrored:
        cuda.syncthreads()
        mirror_tile(dist, row, column, TILE, THREADS)


@cached
@cuda.jit(max_registers=TWO_BLOCKS)
def relax_half_of_tagged_rest(dist: Any, notes: Any, pivot: Any, depth: Any, skipped: Any) -> None:
    """Do as `halves.relax_half_of_deep_rest`, and note what improved."""
    row, column = tile_of_half_of_rest(pivot, skipped)
    if row >= 0:
        tagged.relax_tile(dist, notes, row * TILE, column * TILE, pivot, depth)


_HALF = TAGGED._replace(
    cross=relax_half_of_tagged_cross,
    rest=relax_half_of_tagged_rest,
    blocks_of_cross=one_block_each,
    blocks_of_rest=grid_of_pairs,
)


def close_in_tagged_tiles(
    device: Device,
    dist: Any,
    hops: Any,
    depth: int,
    no_path: int,
    progress: Callable[[float], None] | None = None,
    *,
    half: bool = False,
) -> None:
    """Replace weights by distances, and what is in ``hops`` by next hops.

    Parameters
    ----------
    device, dist, hops, no_path
        As for `close_with_tags`.
    depth
        Tiles of the diagonal in a round.
    progress
        Called now and then with the fraction done.
    half
        Whether the weights are the same as their transpose: then half of the tiles is relaxed.
    """
    count = dist.shape[0] // TILE

    def close_tiles(operands: Operands) -> None:
        tiles = _HALF if half else TAGGED
        overlap_rounds(device, DeepRounds(device, count, operands, tiles, depth), progress)
        if half and count > 1:
            for matrix in (dist, hops):
                device.launch(mirror_all, (count, count), THREADS, matrix)

    close_with_tags(device, dist, hops, no_path, close_tiles)
