"""How threads come in warps, grids in whole blocks, sides in whole tiles."""

from __future__ import annotations

__all__ = ["EVERYBODY", "WARP", "blocks_for", "round_up"]

#: Threads that a GPU steps together.
WARP = 32
#: The mask of all of them, for what the threads of a warp do together.
EVERYBODY = 0xFFFFFFFF


def blocks_for(count: int, threads: int) -> int:
    """Return how many blocks of ``threads`` threads have at least ``count`` of them together.

    Examples
    --------
    >>> blocks_for(1000, 256), blocks_for(0, 256)
    (4, 0)
    """
    return -(-count // threads)


def round_up(count: int, unit: int) -> int:
    """Return the next multiple of ``unit``.

    Examples
    --------
    >>> round_up(97, 32)
    128
    """
    return -(-count // unit) * unit
