"""Which threads a batch of blocks has: their indices, warps and lanes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["WARP_SIZE", "Geometry", "Lanes"]

WARP_SIZE = 32


@dataclass(frozen=True, slots=True)
class Geometry:
    """The shape of a launch: blocks per grid and threads per block, along x, y and z."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]

    @property
    def threads_per_block(self) -> int:
        """Threads in a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def warps_per_block(self) -> int:
        """Warps in a block; the last may be part-filled."""
        return -(-self.threads_per_block // WARP_SIZE)

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]


class Lanes:
    """The threads of ``blocks`` consecutive blocks, in the order of block, then thread.

    Every attribute is one value per thread, or a NumPy scalar where all threads have the same. Of
    some of the threads, each is picked out of all when it is first asked for.

    Attributes
    ----------
    thread
        ``threadIdx`` along x, y, z (int32).
    block
        ``blockIdx`` along x, y, z (int32).
    rank
        Linear index of the thread in its block (int64).
    lane
        Its place in its warp.
    slot
        Its block, counted from the batch's first.
    warp
        Its warp, counted from the batch's first.
    place
        ``32 * warp + lane``: its place in a row of warps.
    ident
        Its linear index in the whole grid (int64).
    """

    __slots__ = (
        "_all",
        "_pattern",
        "_row_count",
        "_rows",
        "_where",
        "block",
        "count",
        "first_block",
        "ident",
        "lane",
        "place",
        "rank",
        "slot",
        "thread",
        "warp",
        "warps",
    )

    def __init__(self, geometry: Geometry, first_block: int, blocks: int) -> None:
        tpb = geometry.threads_per_block
        self.first_block = first_block
        self.count = blocks * tpb
        self.warps = blocks * geometry.warps_per_block
        pattern = _pattern(geometry, blocks)
        self.thread: tuple[Any, ...] = pattern.thread
        self.rank: Any = pattern.rank
        self.lane: Any = pattern.lane
        self.slot: Any = pattern.slot
        self.warp: Any = pattern.warp
        self.place: Any = pattern.place
        self.ident: Any = pattern.ident + np.int64(first_block * tpb)
        self.block: tuple[Any, ...] = _block_indices(geometry, first_block, pattern.slot, blocks)
        #: Those of whom these are some, and where they are among them.
        self._all: Lanes | None = None
        self._where: NDArray[Any] | None = None
        self._row_count: int | None = self.warps
        self._rows: NDArray[np.int64] | None = pattern.warp
        self._pattern: Any = (tpb, blocks)

    def take(self, where: NDArray[Any]) -> Lanes:
        """Return the threads at positions ``where`` only."""
        part = object.__new__(Lanes)
        part._all, part._where = self, where
        part._rows = part._row_count = part._pattern = None
        part.first_block, part.warps, part.count = self.first_block, self.warps, len(where)
        return part

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_EACH_THREAD:
            raise AttributeError(name)
        whole, where = getattr(self._all, name), self._where

        def pick(value: Any) -> Any:
            return value[where] if isinstance(value, np.ndarray) else value

        value = tuple(map(pick, whole)) if isinstance(whole, tuple) else pick(whole)
        setattr(self, name, value)
        return value

    def ballot(self, chosen: Any = slice(None)) -> NDArray[np.int64]:
        """Return, per warp, a mask of these threads, or of those of them that are ``chosen``."""
        bits = np.zeros(self.warps * WARP_SIZE, dtype=np.int64)
        bits[self.place[chosen]] = np.int64(1) << self.lane[chosen]
        masks: NDArray[np.int64] = bits.reshape(-1, WARP_SIZE).sum(axis=1)
        return masks

    @property
    def row_count(self) -> int:
        """How many warps these threads are of."""
        if self._row_count is None:
            changes = np.count_nonzero(self.warp[1:] != self.warp[:-1])
            self._row_count = int(changes) + 1 if self.count else 0
        return self._row_count

    def rows(self) -> tuple[NDArray[np.int64], int]:
        """Return each thread's warp, numbered without gaps, and how many warps there are."""
        if self._rows is None:
            self._rows = np.zeros(self.count, dtype=np.int64)
            np.cumsum(self.warp[1:] != self.warp[:-1], out=self._rows[1:])
        return self._rows, self.row_count

    @property
    def pattern(self) -> Any:
        """Something that is equal where as many threads have the same places in their warps."""
        if self._pattern is None:
            self._pattern = self.place.tobytes()
        return self._pattern


#: What `Lanes` has for each thread.
_OF_EACH_THREAD = frozenset({"thread", "block", "rank", "lane", "slot", "warp", "place", "ident"})


class _Pattern:
    """What all batches of as many blocks have in common."""

    def __init__(self, geometry: Geometry, blocks: int) -> None:
        tpb = geometry.threads_per_block
        rank = np.tile(np.arange(tpb, dtype=np.int64), blocks)
        bx, by, _ = geometry.block
        extents = (bx, by, geometry.block[2])
        parts = (rank % bx, rank // bx % by, rank // (bx * by))
        self.thread = tuple(
            part.astype(np.int32) if extent > 1 else np.int32(0)
            for part, extent in zip(parts, extents, strict=True)
        )
        self.rank = rank
        self.lane = rank % WARP_SIZE
        self.slot = np.repeat(np.arange(blocks, dtype=np.int64), tpb)
        self.warp = self.slot * geometry.warps_per_block + rank // WARP_SIZE
        self.place = self.warp * WARP_SIZE + self.lane
        self.ident = np.arange(blocks * tpb, dtype=np.int64)
        for array in (*self.thread, rank, self.lane, self.slot, self.warp, self.place, self.ident):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False


@lru_cache(maxsize=16)
def _pattern(geometry: Geometry, blocks: int) -> _Pattern:
    return _Pattern(Geometry((1, 1, 1), geometry.block), blocks)


def _block_indices(
    geometry: Geometry, first_block: int, slot: NDArray[np.int64], blocks: int
) -> tuple[Any, ...]:
    gx, gy, gz = geometry.grid
    number: Any = np.int64(first_block) if blocks == 1 else slot + np.int64(first_block)
    if gy == gz == 1:
        return number.astype(np.int32), np.int32(0), np.int32(0)
    parts = (number % gx, number // gx % gy, number // (gx * gy))
    return tuple(
        part.astype(np.int32) if extent > 1 else np.int32(0)
        for part, extent in zip(parts, geometry.grid, strict=True)
    )
