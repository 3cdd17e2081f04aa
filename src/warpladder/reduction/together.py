"""Whether a tile is gone through together with threads that stand by, and from which size on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Lock
from time import perf_counter
from typing import Any

from warpladder.device.standby import DONE, LATE, Standby, standby

__all__ = ["BRIEF", "Together"]

# Bytes from which others are called for one tile. One call alone on 4, 8 and 16 MB took 72, 90 and
# 167 us with a thread that was woken for it, 45, 83 and 187 without.
_LONG = 12 << 20
BRIEF = 2 << 20
"""Others are waited for longer than so many bytes take anyway (`benchmarks/choices.py`:
`brief-work`)."""
# Seconds for a byte, as long as nothing is known of a loop.
_SLOW = 1e-9
# What is fixed for a loop lies at one address, whatever thread is first.
_making = Lock()


class Together(ABC):
    """What goes through tiles by one loop together with who stands by."""

    _fold: Any
    _same: int

    def __init__(self, workers: int) -> None:
        self._workers, self._has_been_asked = workers, False
        self._standby: Standby | None = None
        # The least that a byte has taken.
        self._pace = _SLOW

    def is_attended(self) -> bool:
        """Tell whether others are there, and free, for the tiles of work that is long.

        As where a tile is shared, they are summoned, and what it takes is made ready.
        """
        team = self._team(_LONG)
        return team is not None and team.is_free()

    def _team(self, size: int) -> Standby | None:
        """Return the board if others are there for a tile of so many bytes, else None."""
        team = self._standby
        if team is None:
            if not self._has_been_asked:
                # Who calls once is spared the compiling of what is for many.
                self._has_been_asked = True
                return None
            with _making:
                if self._standby is None:
                    self._make_ready()
                    self._standby = standby(self._workers)
                team = self._standby
        return team if team.attended[0] or team.is_attended(size >= _LONG) else None

    def _shares(
        self, team: Standby, size: int, fold: Any, given: tuple[Any, ...], kept: Any
    ) -> bool:
        """Go through a tile of so many bytes by a compiled function; tell whether it was done.

        Others are waited for as long as such a tile takes at its best. After that they may go on
        for a while with what is kept.
        """
        # Where an interrupt takes the answer's place.
        answer = LATE
        try:
            if size <= BRIEF:
                answer = fold(team.board, self._same, 0, *given)
            else:
                began = perf_counter()
                answer = fold(team.board, self._same, team.rounds(self._pace * size), *given)
                if answer == DONE:
                    self._pace = min(self._pace, (perf_counter() - began) / size)
        finally:
            if answer != DONE:
                team.keep(kept, answer)
        if answer != DONE:
            return False
        if team.crowded[0]:
            team.spread()
        return True

    @abstractmethod
    def _make_ready(self) -> None:
        """Compile `_fold`, what a tile is shared by, and find the address of what is `_same`."""
