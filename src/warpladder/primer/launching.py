"""How the primer's host code cuts work into blocks and chunks, and launches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warpladder.device.grids import blocks_for

if TYPE_CHECKING:
    from warpladder.device.base import Device, Grid

__all__ = ["THREADS", "chunks_of", "launch"]

#: Threads in a block where nothing asks for another number: eight warps, which every GPU takes.
THREADS = 256

#: Chunks start at multiples of so many elements: 256 bytes of 4-byte words, as allocations do.
_CHUNK_STEP = 64


def launch(
    device: Device,
    kernel: Any,
    grid: Grid,
    block: Grid,
    *args: Any,
    shared_bytes: int = 0,
    stream: Any = None,
) -> None:
    """Launch ``kernel`` unless there is nothing to do: CUDA refuses a grid of no blocks."""
    if _count(grid) and _count(block):
        device.launch(kernel, grid, block, *args, shared_bytes=shared_bytes, stream=stream)


def _count(shape: Grid) -> int:
    return shape if isinstance(shape, int) else min(shape)


def chunks_of(n: int, count: int) -> list[slice]:
    """Return at most ``count`` slices that cover ``n`` elements, each start well aligned.

    Examples
    --------
    >>> chunks_of(130, 8)
    [slice(0, 64, None), slice(64, 128, None), slice(128, 130, None)]
    """
    length = _CHUNK_STEP * blocks_for(n, _CHUNK_STEP * count)
    return [slice(start, min(start + length, n)) for start in range(0, n, length or 1)]
