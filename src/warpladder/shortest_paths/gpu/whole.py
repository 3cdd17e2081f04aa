"""Closing a matrix by all of its tiles, in deep rounds: what `halves` does by half of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cuda

from warpladder.device.kernel_cache import cached
from warpladder.shortest_paths.gpu_tiles.large import TILE
from warpladder.shortest_paths.rungs import register_tiles_int16 as pairs
from warpladder.shortest_paths.rungs.deep_rounds import (
    SINGLES,
    DeepRounds,
    Operands,
    Tiles,
    tile_of_cross,
    tile_of_rest,
)
from warpladder.shortest_paths.rungs.overlapped_panels import overlap_rounds
from warpladder.shortest_paths.rungs.register_tiles import close_diagonal

if TYPE_CHECKING:
    from collections.abc import Callable

    from warpladder.device.base import Device

__all__ = ["close_whole"]


@cached
@cuda.jit(max_registers=pairs.FOUR_BLOCKS)
def relax_cross_in_pairs(words: Any, pivot: Any, depth: Any, cross: Any) -> None:
    """Do as `relax_deep_cross`; ``words`` is the matrix by two numbers of int16."""
    row, column = tile_of_cross(pivot, depth, cross)
    if row >= 0:
        pairs.relax_tile(words, row, column, pivot, depth * TILE)


@cached
@cuda.jit(max_registers=pairs.FOUR_BLOCKS)
def relax_rest_in_pairs(words: Any, pivot: Any, depth: Any, skipped: Any) -> None:
    """Do as `relax_deep_rest`."""
    row, column = tile_of_rest(pivot, skipped)
    pairs.relax_tile(words, row, column, pivot, depth * TILE)


_PAIRS = Tiles(close_diagonal, relax_cross_in_pairs, relax_rest_in_pairs, pairs.THREADS)


def close_whole(
    device: Device, dist: Any, depth: int, progress: Callable[[float], None] | None = None
) -> None:
    """Replace weights by distances, in place.

    Parameters
    ----------
    device
        Where the matrix is.
    dist
        Shape (m, m), m a multiple of `TILE`; numbers of 4 bytes, or int16, which go in pairs.
    depth
        Tiles of the diagonal in a round.
    progress
        Called now and then with the fraction done.
    """
    given = (dist.view(np.int32),) if dist.dtype == np.int16 else (dist,)
    tiles = _PAIRS if dist.dtype == np.int16 else SINGLES
    operands = Operands((dist,), given, given)
    rounds = DeepRounds(device, dist.shape[0] // TILE, operands, tiles, depth)
    overlap_rounds(device, rounds, progress)
