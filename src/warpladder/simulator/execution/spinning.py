"""Threads that wait by reading memory again and again: noticed, so that others get their turn.

A GPU runs all warps side by side. Here the threads that come first in the program run first, so one
that waits for a later one in a loop would wait for ever. Two signs give it away: everything is
exactly as it was some steps ago, which proves that it only repeats itself; or, in a loop that ends
by what is found in memory, it has found the same at the same places for a long time, which is
suspicion enough to let others run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from warpladder.simulator.execution.reads import ReadLog
from warpladder.simulator.execution.state import BatchState
from warpladder.simulator.machine.program import Block
from warpladder.simulator.machine.values import kept, same

__all__ = ["SpinWatch"]

#: Steps without a change of memory before the state is first kept for comparison.
_FIRST_LOOK = 8
#: Steps of the same threads, with others waiting for their turn, before reads are watched.
_SUSPICION = 128
#: Times that a read has to find the same at the same place.
_SAME_READS = 16


class SpinWatch:
    """What the threads of a batch have done since memory last changed.

    The batch, which has this watch, is handed in: each knowing the other would be a ring of objects
    that keeps the arrays of all threads until the garbage collector comes by.

    Attributes
    ----------
    proven
        Whether the threads that last gave up their turn were exactly where they had been.
    idle_steps
        Steps spent by threads that were under suspicion, since memory last changed or they had
        other values of what decides when they leave their loop.
    """

    def __init__(self, batch: BatchState) -> None:
        self.proven = False
        self.idle_steps = 0
        #: Where they gave up their turn, and what they had of that.
        self._waited_by: dict[int, tuple[Any, ...]] = {}
        self.ran: NDArray[np.bool_] | None = None
        self._reads = ReadLog()
        #: The variable by which a step was last told from the state kept: mostly the next is, too.
        self._telling = 0
        self.restart(batch)

    def restart(self, batch: BatchState) -> None:
        """Begin anew: memory has changed, or others have had their turn."""
        self._changes = batch.launch.changes
        self._quiet = 0
        self._next_look = _FIRST_LOOK
        self._seen: tuple[Any, ...] | None = None
        self._streak = 0
        self._reads.clear()
        self.ran = None
        if batch.launch.watch is self._reads:
            batch.launch.watch = None

    def changed(self, batch: BatchState) -> bool:
        """Whether memory has changed since this was last asked."""
        if batch.launch.changes == self._changes:
            return False
        self._changes = batch.launch.changes
        self._quiet, self._next_look, self._seen = 0, _FIRST_LOOK, None
        self.idle_steps = 0
        return True

    def give_up(self, batch: BatchState, where: NDArray[np.intp] | None, block: Block) -> bool:
        """Take note of a step; return whether the threads that ran should let others run."""
        self._quiet += 1
        if where is None and self._quiet < _FIRST_LOOK and block.waits_by is None:
            self._streak = 0
            return False
        self._streak = 0 if block.waits_by is None else self._streak + 1
        if where is not None:
            if self.ran is None or len(self.ran) != batch.count:
                self.ran = np.zeros(batch.count, dtype=bool)
            self.ran[where] = True
        if self._quiet >= _FIRST_LOOK and self._repeats(batch):
            self.proven = True
            return True
        if self._streak < _SUSPICION:
            return False
        batch.launch.watch = self._reads
        if self._reads.longest >= _SAME_READS:
            self.proven = False
            self.idle_steps = self.idle_steps + self._streak if self._idles(batch, block) else 0
            return True
        return False

    def _idles(self, batch: BatchState, block: Block) -> bool:
        """Whether all that decides when threads leave a loop is what it was when last here."""
        values = tuple(kept(batch.environment[slot]) for slot in block.waits_by or ())
        before = self._waited_by.get(block.order, values)
        self._waited_by[block.order] = values
        return all(map(same, before, values))

    def _repeats(self, batch: BatchState) -> bool:
        """Whether all threads are exactly where they were, and no memory has changed since."""
        if self._seen is not None:
            converged, counters, environment = self._seen
            if (
                converged == batch.converged
                and same(environment[self._telling], batch.environment[self._telling])
                and np.array_equal(counters, batch.counters)
            ):
                pairs = enumerate(zip(environment, batch.environment, strict=True))
                differing = (slot for slot, (old, new) in pairs if not same(old, new))
                first = next(differing, None)
                if first is None:
                    return True
                self._telling = first
        if self._quiet >= self._next_look:
            self._next_look = 2 * self._quiet
            # Kept arrays must not be changed in place from here on.
            batch.owned.clear()
            self._seen = (batch.converged, batch.counters.copy(), list(batch.environment))
            self.ran = None
        return False
