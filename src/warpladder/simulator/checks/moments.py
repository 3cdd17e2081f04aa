"""When and where in the source a launch accesses memory, in numbers that the race checker keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Moments"]


class Moments:
    """When and where in the source accesses were made, numbered.

    Threads that access memory together mostly have one moment in common. So a place remembers a
    number; what it stands for is looked up where two accesses meet, not at every one.

    Attributes
    ----------
    table
        By number: the site, the block's epoch, the lane's time, the block's clock of releases.
    """

    SITE, EPOCH, TIME, CLOCK = range(4)

    def __init__(self) -> None:
        self.table = np.zeros((64, 4), dtype=np.int32)
        self._last: dict[int, tuple[tuple[int, int, int], int]] = {}
        self._used = 0

    def number(self, site: int, epoch: Any, time: Any, clock: Any) -> Any:
        """Return the number of a moment; one for each thread where something differs."""
        if any(isinstance(part, np.ndarray) for part in (epoch, time, clock)):
            parts = np.stack(np.broadcast_arrays(np.int64(site), epoch, time, clock), axis=1)
            low = parts.min(axis=0)
            high = parts.max(axis=0) - low + 1
            # No launch has so many barriers that this does not fit.
            key = (parts - low) @ np.array([0, high[2] * high[3], high[3], 1])
            _, first, which = np.unique(key, return_index=True, return_inverse=True)
            return self._append(parts[first]) + which
        here, number = self._last.get(site, (None, 0))
        if here != (epoch, time, clock):
            number = self._append(np.array([[site, epoch, time, clock]]))
            self._last[site] = (epoch, time, clock), number
        return number

    def _append(self, rows: NDArray[Any]) -> int:
        first, self._used = self._used, self._used + len(rows)
        while self._used > len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        self.table[first : self._used] = rows
        return first
