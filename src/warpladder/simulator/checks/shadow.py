"""What the race checker remembers of one buffer: the last access of each kind to every place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.machine.lanes import WARP_SIZE

__all__ = ["Shadow", "several"]

#: So many threads' reads wait at most for somebody to write there.
_MOST_WAITING = 1 << 20

_BESIDE_THE_LAST = ("before", "of_warp", "of_block")


def several(kind: str) -> tuple[str, ...]:
    """Return what is remembered of a kind of accesses that do not race with each other.

    The last, and the last of another thread than that, of another warp and of another block.
    """
    return kind, *(f"{kind}_{which}" for which in _BESIDE_THE_LAST)


_KINDS = ("writer", "writer_beside", "atomic", *several("rewriter"), *several("reader"))


class Shadow:
    """The last accesses; None where there was no such access yet.

    The thread and the number of the moment stand in one number, since what takes time is to fetch
    and to put: the thread in its upper half, -1 for nobody, and the moment in the lower.

    Reads wait until somebody writes: before that nobody asks for them. Tiles in shared memory are
    read over and over until a barrier lets all of that be forgotten: with both, the race checker
    takes a third of the time in `register-tiles` (0.29 s instead of 0.94).
    """

    __slots__ = (*_KINDS, "_epoch", "_places", "_reads", "_spare", "_threads", "_waiting")

    def __init__(self, places: int, threads_per_block: int) -> None:
        self.writer: NDArray[np.int64] | None = None
        #: Another thread that wrote the same in the same instruction.
        self.writer_beside: NDArray[np.int64] | None = None
        #: Of what was there already.
        self.rewriter: NDArray[np.int64] | None = None
        self.atomic: NDArray[np.int64] | None = None
        self.reader: NDArray[np.int64] | None = None
        for kind in (*several("rewriter"), *several("reader")):
            setattr(self, kind, None)
        self._places = places
        self._threads = threads_per_block
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
        """Note accesses of a kind that do not race with each other, as `several` says."""
        last: NDArray[np.int64] | None = getattr(self, kind)
        if last is not None:
            known = last[place]
            others = known >> 32 != ident
            others &= known >= 0
            # Of 256 threads, `any` takes four times as long.
            if np.count_nonzero(others):
                self._keep(kind, place[others], known[others], ident[others])
        last = self.made(kind)
        last[place] = now
        winner = last[place]
        outdone = winner != now
        if np.count_nonzero(outdone):
            self._keep(kind, place[outdone], now[outdone], winner[outdone] >> 32)

    def _keep(
        self,
        kind: str,
        place: NDArray[np.int64],
        access: NDArray[np.int64],
        last: NDArray[np.int64],
    ) -> None:
        """Keep accesses beside the last ones at their places, which are of other threads."""
        self.made(f"{kind}_before")[place] = access
        ident = access >> 32
        block, block_of_last = ident // self._threads, last // self._threads
        far = block != block_of_last
        if np.count_nonzero(far):
            self.made(f"{kind}_of_block")[place[far]] = access[far]
        if self._threads > WARP_SIZE:
            rank = (ident - block * self._threads) // WARP_SIZE
            far |= rank != (last - block_of_last * self._threads) // WARP_SIZE
            if np.count_nonzero(far):
                self.made(f"{kind}_of_warp")[place[far]] = access[far]
