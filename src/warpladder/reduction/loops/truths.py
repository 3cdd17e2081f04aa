"""Booleans of which every true one is 1, as loops that count or compare them take it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from warpladder.device.kernel_cache import cached
from warpladder.reduction.memory.layout import Tile

__all__ = ["plain_truths", "with_plain_truths"]


def plain_truths(data: NDArray[Any]) -> NDArray[Any]:
    """Return booleans, given as bytes, in which every true one is 1.

    Memory that something else than NumPy wrote may have other bytes in it. To look for them costs
    a pass, which is less than to ask at every element of every loop.

    Examples
    --------
    >>> plain_truths(np.array([0, 2, 1, 9], np.uint8))
    array([0, 1, 1, 1], dtype=uint8)
    """
    return np.minimum(data, 1) if _all_bits(data) > 1 else data


@cached
@njit(nogil=True)
def _all_bits(data):  # type: ignore[no-untyped-def]
    # NumPy's maximum of few bytes takes 1 us, this a quarter.
    bits = np.uint8(0)
    for byte in data:
        bits = np.uint8(bits | byte)
    return bits


def with_plain_truths(tile: Tile) -> Tile:
    """Return a tile of `plain_truths`, and of no more memory than its rows have."""
    lines = tile.rows // tile.across * tile.length if tile.across else tile.rows
    extent = (lines - 1) * tile.pitch + (tile.across or tile.length) if tile.rows else 0
    return tile._replace(data=plain_truths(tile.data[:extent]))
