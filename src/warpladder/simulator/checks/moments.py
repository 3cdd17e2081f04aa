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
        self._last: dict[int, tuple[tuple[Any, ...], Any]] = {}
        self._used = 0

    def number(self, site: int, epoch: Any, time: Any, clock: Any) -> Any:
        """Return the number of a moment; one for each thread where something differs."""
        # In loops nothing has changed at a site since it was last come to, of many blocks neither.
        here = tuple(
            part.tobytes() if isinstance(part, np.ndarray) else part
            for part in (epoch, time, clock)
        )
        known, number = self._last.get(site, (None, 0))
        if known != here:
            number = self._added(site, epoch, time, clock)
            self._last[site] = here, number
        return number

    def _added(self, site: int, epoch: Any, time: Any, clock: Any) -> Any:
        if not any(isinstance(part, np.ndarray) for part in (epoch, time, clock)):
            return self._append(np.array([[site, epoch, time, clock]]))
        parts = np.stack(np.broadcast_arrays(np.int64(site), epoch, time, clock), axis=1)
        low = parts.min(axis=0)
        high = parts.max(axis=0) - low + 1
        # No launch has so many barriers that this does not fit.
        key = (parts - low) @ np.array([0, high[2] * high[3], high[3], 1])
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        return self._append(parts[first]) + which

    def _append(self, rows: NDArray[Any]) -> int:
        first, self._used = self._used, self._used + len(rows)
        while self._used > len(self.table):
            self.table = np.concatenate([self.table, np.zeros_like(self.table)])
        self.table[first : self._used] = rows
        return first
