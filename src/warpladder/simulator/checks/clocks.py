"""What barriers order: which accesses of others a thread knows to be over.

Every block has an epoch that advances when its threads pass a ``syncthreads``. Every lane has a
clock that advances whenever it passes a ``syncwarp``. A barrier of the whole warp tells everyone
everyone's time. One of a part of the warp tells it to that part only, and with it what its lanes
had been told before: vector clocks, kept from the first such barrier on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.machine.lanes import WARP_SIZE, Lanes

__all__ = ["Clocks"]


class Clocks:
    """The epochs and clocks of a batch of blocks.

    Attributes
    ----------
    epoch
        The epoch of each block.
    now
        The time of each lane, by warp and lane.
    """

    def __init__(self, blocks: int, warps: int) -> None:
        self.epoch = np.zeros(blocks, dtype=np.int64)
        self.now = np.ones((warps, WARP_SIZE), dtype=np.int32)
        #: Up to which time all lanes of the warp know of a lane.
        self._by_all = np.zeros((warps, WARP_SIZE), dtype=np.int32)
        #: By warp, lane and other lane: up to which time the one knows of the other.
        self._by_each: NDArray[np.int32] | None = None
        self._common: tuple[int | None, int | None] | None = None

    @property
    def common(self) -> tuple[int | None, int | None]:
        """The epoch of all blocks and the time of all lanes; None where they differ."""
        if self._common is None:
            self._common = _one(self.epoch), _one(self.now)
        return self._common

    def pass_barrier(self, blocks: Any = slice(None)) -> None:
        """Let the threads of these blocks pass a barrier of their block."""
        self.epoch[blocks] += 1
        self._common = None

    def meet(self, lanes: Lanes, masks: Any, alive: NDArray[np.int64]) -> None:
        """Let threads pass a barrier of the lanes in their masks; ``alive`` has those of a warp."""
        self._common = None
        warp, everyone = lanes.warp, alive[lanes.warp]
        whole = (masks & everyone) == everyone
        together = np.zeros(len(self.now), dtype=bool)
        together[warp[whole]] = True
        self._by_all[together] = self.now[together]
        self.now[together] += 1
        if not whole.all():
            apart = ~whole
            self._meet_apart(warp[apart], lanes.lane[apart], masks[apart])

    def _meet_apart(
        self, warp: NDArray[np.int64], lane: NDArray[np.int64], mask: NDArray[np.int64]
    ) -> None:
        if self._by_each is None:
            self._by_each = np.zeros((*self.now.shape, WARP_SIZE), dtype=np.int32)
        _, group = np.unique(warp << WARP_SIZE | mask, return_inverse=True)
        told = self._by_each[warp, lane]
        told[np.arange(len(lane)), lane] = self.now[warp, lane]
        shared = np.zeros((int(group.max()) + 1, WARP_SIZE), dtype=np.int32)
        np.maximum.at(shared, group, told)
        self._by_each[warp, lane] = shared[group]
        self.now[warp, lane] += 1

    def known(
        self, warp: NDArray[np.int64], lane: NDArray[np.int64], other: NDArray[Any]
    ) -> NDArray[np.int32]:
        """Return up to which time each lane knows what an ``other`` of its warp has done."""
        time: NDArray[np.int32] = self._by_all[warp, other]
        if self._by_each is not None:
            np.maximum(time, self._by_each[warp, lane, other], out=time)
        return time


def _one(numbers: NDArray[Any]) -> int | None:
    first = int(numbers.flat[0])
    return first if (numbers == first).all() else None
