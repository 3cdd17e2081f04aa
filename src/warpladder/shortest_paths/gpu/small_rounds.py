"""Closing a large matrix in deep rounds of small tiles: numbers of 8 bytes, and with next hops.

The tiles are those of `one-launch`. A matrix that is not large is closed in one launch, which
spares the launches; of a large one each round loads and stores every tile, and takes `depth` tiles
of the diagonal so that there are fewer rounds. Next hops are looked up slab by slab, as there;
those of short distances of int32 are found faster by `tagged_rounds`.

Of a symmetric matrix half of the tiles is relaxed, with next hops too. These are not symmetric,
but a path and the way back go through the same vertex: (i, j) improves through k where (j, i) does,
and takes the next hop of (i, k) as that takes the next hop of (j, k). So a block notes k, and in
the end looks up both and writes both. Next hops are right on both sides of the diagonal at any
time, and are the same as if all tiles were relaxed. What `halves` says of races holds for them:
they are looked up in a round's rows and columns alone, and belong to the tile whose distances do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda, int32

from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.gpu.halves import one_block_each, tile_of_half_of_rest
from warpladder.shortest_paths.gpu.strips import place_of_half
from warpladder.shortest_paths.gpu_tiles.small import (
    CELLS,
    SLABS_AND_REGISTERS,
    THREADS,
    TILE,
    VERTICES,
    close_tile,
    load_tile,
    relaxing,
    store_tile,
)
from warpladder.shortest_paths.rungs.deep_rounds import (
    DeepRounds,
    Operands,
    Tiles,
    tile_of_cross,
    tile_of_rest,
)
from warpladder.shortest_paths.rungs.half_tiles import grid_of_pairs, mirror_tile
from warpladder.shortest_paths.rungs.overlapped_panels import overlap_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from warpladder.device.base import Device

__all__ = ["close_in_small_tiles"]


def _kernels(carry: bool, slab: int, registers: int) -> Tiles:
    """Return the kernels with or without next hops, for so many registers in a thread."""
    relax = relaxing(carry, slab)

    @cached
    @cuda.jit
    def close_small_diagonal(dist: Any, hops: Any, pivot: Any) -> None:
        """Close tile ``pivot`` of the diagonal."""
        best = cuda.local.array(CELLS, dist.dtype)
        hop = cuda.local.array(CELLS, int32)
        load_tile(best, hop, dist, hops, pivot * TILE, pivot * TILE, carry)
        close_tile(best, hop, carry)
        store_tile(best, hop, dist, hops, pivot * TILE, pivot * TILE, carry)

    @cached
    @cuda.jit(max_registers=registers)
    def relax_small_cross(
        dist: Any, hops: Any, no_path: Any, pivot: Any, depth: Any, cross: Any
    ) -> None:
        """Do as `relax_deep_cross`, and write the next hops of what improved."""
        row, column = tile_of_cross(pivot, depth, cross)
        if row >= 0:
            pivots = pivot * TILE, pivot * TILE, depth * TILE
            relax(dist, hops, dist, hops, dist, row * TILE, column * TILE, pivots, no_path)

    @cached
    @cuda.jit(max_registers=registers)
    def relax_small_rest(
        dist: Any, hops: Any, no_path: Any, pivot: Any, depth: Any, skipped: Any
    ) -> None:
        """Do as `relax_deep_rest`, and write the next hops of what improved."""
        row, column = tile_of_rest(pivot, skipped)
        pivots = pivot * TILE, pivot * TILE, depth * TILE
        relax(dist, hops, dist, hops, dist, row * TILE, column * TILE, pivots, no_path)

    return Tiles(close_small_diagonal, relax_small_cross, relax_small_rest, THREADS)


_TILES = {
    kind: _kernels(kind[1], slab, registers)
    for kind, (slab, registers) in SLABS_AND_REGISTERS.items()
}


def _halves(whole: Tiles, carry: bool, slab: int, registers: int) -> Tiles:
    """Return the kernels for half of a symmetric matrix."""
    relax = relaxing(VERTICES if carry else False, slab)

    @cached
    @cuda.jit(max_registers=registers)
    def relax_half_of_small_cross(
        dist: Any, hops: Any, no_path: Any, pivot: Any, depth: Any, cross: Any
    ) -> None:
        """Do as `halves.relax_half_of_deep_cross`, and write next hops on both sides."""
        other, mine, mirrored = place_of_half(
            pivot, depth, cross, cuda.gridDim.y, cuda.blockIdx.x, cuda.blockIdx.y
        )
        if other < 0:
            return
        row, column = max(mine, other), min(mine, other)
        row, column = row * TILE, column * TILE
        pivots = pivot * TILE, pivot * TILE, depth * TILE
        relax(dist, hops, dist, hops, dist, row, column, pivots, no_path)
        if mirrored:
            cuda.syncthreads()
            mirror_tile(dist, row, column, TILE, THREADS)

    @cached
    @cuda.jit(max_registers=registers)
    def relax_half_of_small_rest(
        dist: Any, hops: Any, no_path: Any, pivot: Any, depth: Any, skipped: Any
    ) -> None:
        """Do as `halves.relax_half_of_deep_rest`, and write next hops on both sides."""
        row, column = tile_of_half_of_rest(pivot, skipped)
        if row >= 0:
            pivots = pivot * TILE, pivot * TILE, depth * TILE
            relax(dist, hops, dist, hops, dist, row * TILE, column * TILE, pivots, no_path)

    return whole._replace(
        cross=relax_half_of_small_cross,
        rest=relax_half_of_small_rest,
        blocks_of_cross=one_block_each,
        blocks_of_rest=grid_of_pairs,
    )


@cached
@cuda.jit
def mirror_small(dist: Any) -> None:
    """Copy all tiles below the diagonal to the other side of it."""
    if cuda.blockIdx.x < cuda.blockIdx.y:
        mirror_tile(dist, cuda.blockIdx.y * TILE, cuda.blockIdx.x * TILE, TILE, THREADS)


_HALVES = {
    kind: _halves(_TILES[kind], kind[1], slab, registers)
    for kind, (slab, registers) in SLABS_AND_REGISTERS.items()
}


def close_in_small_tiles(
    device: Device,
    dist: Any,
    hops: Any,
    depth: int,
    no_path: Any,
    progress: Callable[[float], None] | None = None,
    *,
    half: bool = False,
) -> None:
    """Replace weights by distances, in place.

    Parameters
    ----------
    device
        Where the arrays are.
    dist
        Shape (m, m), m a multiple of 64; of 8 bytes, or of 4 with next hops.
    hops
        Next hops of the same shape, int32, or None where they are not wanted.
    depth
        Tiles of the diagonal in a round.
    no_path
        Not less than any distance, and twice it fits the dtype.
    progress
        Called now and then with the fraction done.
    half
        Whether the weights are the same as their transpose, bit for bit: then half of the tiles is
        relaxed, as told in `halves`.
    """
    tiles = (_HALVES if half else _TILES)[dist.dtype.itemsize, hops is not None]
    # Where no next hops are wanted, any matrix of them will do.
    links = device.empty((1, 1), np.int32) if hops is None else hops
    operands = Operands((dist, links), (dist, links, no_path), (dist, links, no_path))
    count = dist.shape[0] // TILE
    overlap_rounds(device, DeepRounds(device, count, operands, tiles, depth), progress)
    if half and count > 1:
        device.launch(mirror_small, (count, count), THREADS, dist)
