"""What the race checker remembers of one buffer: the last access of each kind to every place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shadow"]

#: So many threads' reads wait at most for somebody to write there.
_MOST_WAITING = 1 << 20

_KINDS = (
    "writer", "writer_beside", "rewriter", "rewriter_before", "atomic", "reader", "reader_before",
)  # fmt: skip


class Shadow:
    """The last accesses; None where there was no such access yet.

    The thread and the number of the moment stand in one number, since what takes time is to fetch
    and to put: the thread in its upper half, -1 for nobody, and the moment in the lower.

    Reads wait until somebody writes: before that nobody asks for them. Tiles in shared memory are
    read over and over until a barrier lets all of that be forgotten: with both, the race checker
    takes a third of the time in `register-tiles` (0.29 s instead of 0.94).
    """

    __slots__ = (
        "_epoch",
        "_places",
        "_reads",
        "_spare",
        "_waiting",
        "atomic",
        "reader",
        "reader_before",
        "rewriter",
        "rewriter_before",
        "writer",
        "writer_beside",
    )

    def __init__(self, places: int) -> None:
        self.writer: NDArray[np.int64] | None = None
        #: Another thread that wrote the same in the same instruction.
        self.writer_beside: NDArray[np.int64] | None = None
        #: Of what was there already.
        self.rewriter: NDArray[np.int64] | None = None
        self.rewriter_before: NDArray[np.int64] | None = None
        self.atomic: NDArray[np.int64] | None = None
        self.reader: NDArray[np.int64] | None = None
        self.reader_before: NDArray[np.int64] | None = None
        self._places = places
        self._epoch: int | None = None
        self._spare: list[NDArray[np.int64]] = []
        self._reads: list[tuple[NDArray[np.int64], NDArray[np.int64], Any]] = []
        self._waiting = 0

    def made(self, kind: str) -> NDArray[np.int64]:
        """Return the last accesses of this kind, made if need be."""
        past: NDArray[np.int64] | None = getattr(self, kind)
        if past is None:
            past = self._spare.pop() if self._spare else np.empty(self._places, dtype=np.int64)
            past.fill(-1)
            setattr(self, kind, past)
        return past

    def begin(self, epoch: int | None) -> None:
        """Forget what a barrier of all blocks has put behind them, each on memory of its own.

        ``epoch`` is that of all blocks; None where they differ.
        """
        if self._epoch is not None and epoch is not None and epoch != self._epoch:
            for kind in _KINDS:
                past = getattr(self, kind)
                if past is not None:
                    self._spare.append(past)
                    setattr(self, kind, None)
            self._reads.clear()
            self._waiting = 0
        self._epoch = epoch

    def read(self, place: NDArray[np.int64], ident: NDArray[np.int64], moment: Any) -> None:
        """Take note of threads that read, each its place."""
        self._reads.append((place, ident, moment))
        self._waiting += len(place)
        if self._waiting > _MOST_WAITING:
            self.settle_reads()

    def settle_reads(self) -> None:
        """Find out who has read each place last, and who before: somebody writes."""
        for place, ident, moment in self._reads:
            self.note("reader", place, ident, ident << 32 | moment)
        self._reads.clear()
        self._waiting = 0

    def note(
        self,
        kind: str,
        place: NDArray[np.int64],
        ident: NDArray[np.int64],
        now: NDArray[np.int64],
    ) -> None:
        """Note accesses of a kind that do not race with each other: the last, and one before.

        That one is of another thread, since the last one's own further accesses race with it.
        """
        last: NDArray[np.int64] | None = getattr(self, kind)
        if last is not None:
            known = last[place]
            others = known >> 32 != ident
            # Of 256 threads, `any` takes four times as long.
            if np.count_nonzero(others):
                self.made(f"{kind}_before")[place[others]] = known[others]
        last = self.made(kind)
        last[place] = now
        outdone = last[place] != now
        if np.count_nonzero(outdone):
            self.made(f"{kind}_before")[place[outdone]] = now[outdone]
