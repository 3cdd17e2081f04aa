"""What threads that are suspected of waiting find in memory, time and again."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpladder.simulator.machine.program import Site

__all__ = ["ReadLog"]

#: Places whose values are kept; who reads more of them is not waiting.
_PLACES = 4096


class ReadLog:
    """The last value found at each place, and how often in a row it was the same.

    Attributes
    ----------
    longest
        The most times that a read has found what it had found before.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._reads: dict[Any, tuple[bytes, int]] = {}
        self.longest = 0

    def read(self, key: tuple[Site, str, int, int], position: Any, value: Any) -> None:
        """Take note of what a load or an atomic operation found."""
        place, found = np.asarray(position).tobytes(), np.asarray(value).tobytes()
        last, times = self._reads.get((key, place), (b"", 0))
        times = times + 1 if last == found else 0
        if len(self._reads) > _PLACES:
            self._reads.clear()
        self._reads[key, place] = found, times
        self.longest = max(self.longest, times)
