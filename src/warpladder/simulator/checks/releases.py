"""What fences and atomic operations order: what blocks have released, and who has seen it.

Every block has a clock that advances with each fence. It *releases* what it did before a fence when
it performs an atomic operation behind that: this is then visible to blocks that perform an atomic
operation later. In the block itself it is visible to the threads that do, and to lanes that meet
these at a ``syncwarp``; so is what was done before a fence for the block alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.machine.lanes import WARP_SIZE, Geometry, Lanes

__all__ = ["Releases"]


class Releases:
    """The fences of one launch, and the atomic operations behind them.

    Attributes
    ----------
    clock
        Of each block.
    common_clock
        That of all blocks; None where they differ.
    """

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self.clock = np.zeros(geometry.blocks, dtype=np.int32)
        self.common_clock: int | None = 0
        #: Before which clock each block has a fence for all, and for itself.
        self._fenced = np.zeros(geometry.blocks, dtype=np.int32)
        self._fenced_within = np.zeros(geometry.blocks, dtype=np.int32)
        #: From which clock on each block has released nothing to others, and nothing at all.
        self._kept = np.zeros(geometry.blocks, dtype=np.int32)
        self._kept_within = np.zeros(geometry.blocks, dtype=np.int32)
        #: Number of the last release that each block has seen.
        self._seen = np.zeros(geometry.blocks, dtype=np.int64)
        #: The same for each thread, by its own atomic operations, from the first release on.
        self._own_seen: NDArray[np.int64] | None = None
        #: Number of each release, by clock and block: to all, and within the block.
        self._released: dict[int, NDArray[np.int64]] = {}
        self._released_within: dict[int, NDArray[np.int64]] = {}
        self._count = 0

    def fence(self, lanes: Lanes, *, within: bool = False) -> None:
        """Note that blocks have executed a memory fence, for the device or ``within`` them."""
        blocks = np.unique(lanes.slot) + lanes.first_block
        self.clock[blocks] += 1
        first = int(self.clock[0])
        self.common_clock = first if (self.clock == first).all() else None
        fenced = self._fenced_within if within else self._fenced
        fenced[blocks] = self.clock[blocks]

    def synchronise(self, lanes: Lanes) -> None:
        """Release, where a fence came before, and acquire: in the order of the threads."""
        blocks = np.unique(lanes.slot) + lanes.first_block
        to_all = self._fenced[blocks] > self._kept[blocks]
        within = ~to_all & (self._fenced_within[blocks] > self._kept_within[blocks])
        numbers = self._count + np.cumsum(to_all | within)
        if np.count_nonzero(to_all):
            of_all = blocks[to_all]
            self._release(self._released, of_all, numbers[to_all], self._kept, self._fenced)
            self._kept_within[of_all] = np.maximum(self._kept_within[of_all], self._kept[of_all])
        if np.count_nonzero(within):
            self._release(
                self._released_within, blocks[within], numbers[within],
                self._kept_within, self._fenced_within,
            )  # fmt: skip
        self._count += int(np.count_nonzero(to_all | within))
        self._seen[blocks] = numbers
        if self._count:
            if self._own_seen is None:
                threads = self.geometry.blocks * self.geometry.threads_per_block
                self._own_seen = np.zeros(threads, dtype=np.int64)
            self._own_seen[lanes.ident] = numbers[
                np.searchsorted(blocks, lanes.slot + lanes.first_block)
            ]

    def meet(self, lanes: Lanes, masks: NDArray[np.int64]) -> None:
        """Let threads that pass a ``syncwarp`` with the lanes in their masks see what these do."""
        if self._own_seen is None:
            return
        _, group = np.unique(lanes.warp << WARP_SIZE | masks, return_inverse=True)
        seen = np.zeros(int(group.max()) + 1, dtype=np.int64)
        np.maximum.at(seen, group, self._own_seen[lanes.ident])
        self._own_seen[lanes.ident] = seen[group]

    def are_visible(
        self,
        before: NDArray[np.int64],
        clocks: NDArray[Any],
        now: NDArray[np.int64],
        blocks: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Return which of the accesses of blocks before, at these clocks, threads now have seen.

        ``now`` are the threads, ``blocks`` theirs.
        """
        if not self._count:
            return np.zeros(len(now), dtype=bool)
        own, seen = before == blocks, self._seen[blocks]
        if self._own_seen is not None:
            seen = np.where(own, self._own_seen[now], seen)
        visible = _visible(self._released, before, clocks, seen)
        if self._released_within:
            visible |= own & _visible(self._released_within, before, clocks, seen)
        return visible

    def _release(
        self,
        table: dict[int, NDArray[np.int64]],
        blocks: NDArray[Any],
        numbers: NDArray[np.int64],
        kept: NDArray[np.int32],
        fenced: NDArray[np.int32],
    ) -> None:
        """Note releases, of all that blocks did from one clock on and before another."""
        clocks, end = kept[blocks], fenced[blocks]
        while np.count_nonzero(left := clocks < end):
            for clock in np.unique(clocks[left]):
                here = left & (clocks == clock)
                self._times(table, clock)[blocks[here]] = numbers[here]
            clocks += 1
        kept[blocks] = end

    def _times(self, table: dict[int, NDArray[np.int64]], clock: int) -> NDArray[np.int64]:
        return table.setdefault(int(clock), np.zeros(self.geometry.blocks, dtype=np.int64))


def _visible(
    released: dict[int, NDArray[np.int64]],
    blocks: NDArray[Any],
    clocks: NDArray[Any],
    seen: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return whether what blocks did at these clocks was released and then seen."""
    result = np.zeros(len(blocks), dtype=bool)
    for clock in np.unique(clocks):
        times = released.get(int(clock))
        if times is not None:
            here = clocks == clock
            time = times[blocks[here]]
            result[here] = (time > 0) & (time <= seen[here])
    return result
